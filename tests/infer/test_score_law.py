"""The distribution of scores that a validation is planned for."""

import numpy as np
import pytest

import trueness as tn
from trueness.infer._score_law import score_law


def test_prevalence_and_c_statistic_give_normal_log_odds_that_have_them():
    for rate, c in ((0.1, 0.8), (0.5, 0.55), (0.001, 0.97)):
        law = score_law(rate, c, None, None)
        assert (law.prevalence, law.c_statistic) == pytest.approx((rate, c), abs=1e-6)


def test_the_c_statistic_of_scores_counts_pairs():
    p = np.random.default_rng(1).random(40).round(1).clip(0.05, 0.95)
    pairs = [(a * (1 - b), (a > b) + (a == b) / 2) for a in p for b in p]
    brute = sum(w * right for w, right in pairs) / sum(w for w, _ in pairs)
    assert score_law(None, None, None, p).c_statistic == pytest.approx(brute)


def test_a_shift_gives_the_ratio_and_certain_scores_stay():
    law = score_law(None, None, None, [0.0, 0.2, 0.3, 0.6, 1.0])
    a = law.shift(1.2, 0.7)
    inside = np.array([0.2, 0.3, 0.6])
    events = (1 / (1 + np.exp(-(0.7 * np.log(inside / (1 - inside)) + a)))).sum() + 1
    assert events == pytest.approx(1.2 * 2.1)


@pytest.mark.parametrize("n", [7, 100, 5000])
def test_rows_are_at_quantiles_and_as_many_as_asked_for(n):
    law = score_law(None, None, (-1, 1.5), None)
    score, count = law.rows(n, 1024)
    assert count.sum() == n
    assert (np.diff(score) > 0).all()
    assert count @ score / n == pytest.approx(law.prevalence, abs=0.3 / n + 1e-3)


def test_a_single_score_is_a_law_and_no_score_is_none():
    assert score_law(None, None, None, [0.3]).prevalence == pytest.approx(0.3)
    with pytest.raises(tn.InputError, match=r"`scores` must be a vector of probabilities; got shape \(0,\)"):
        score_law(None, None, None, [])
