"""The distribution of scores that a validation is planned for."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit

import trueness as tn
from trueness.infer.plan._score_law import log_odds_of, score_law


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


def normal_mean(of, mean, deviation):
    """The mean of a function of normal log-odds, by quadrature."""
    return quad(lambda z: of(mean + deviation * z) * np.exp(-z * z / 2), -10, 10, epsabs=1e-12)[0] / np.sqrt(2 * np.pi)


@pytest.mark.all_cases
@pytest.mark.parametrize("pair", [(0, 1), [-2.5, 0.4], np.array([1.0, 3.0])])
def test_normal_log_odds_have_the_moments_of_the_normal_law(pair):
    law = score_law(None, None, pair, None)
    powers = [normal_mean(lambda x, k=k: expit(x) * expit(-x) * x**k, *pair) for k in range(3)]
    assert law.prevalence == pytest.approx(normal_mean(expit, *pair), abs=1e-10)
    assert law.information == pytest.approx(powers, abs=1e-10)


def test_the_information_of_scores_is_a_mean_to_which_certain_ones_add_nothing():
    p = np.array([0.0, 0.2, 0.2, 0.7, 1.0])
    x, v = np.log(p[1:4] / (1 - p[1:4])), p[1:4] * (1 - p[1:4])
    found = score_law(None, None, None, p)
    assert found.information == pytest.approx((v.sum() / 5, (v * x).sum() / 5, (v * x**2).sum() / 5))
    assert (found.prevalence, found.score.tolist()) == (pytest.approx(2.1 / 5), [0, 0.2, 0.7, 1])


def test_log_odds_of_certain_scores_are_zero():
    assert log_odds_of(np.array([0.0, 0.2, 0.5, 1.0])) == pytest.approx([0, np.log(0.25), 0, 0])


@pytest.mark.all_cases
@pytest.mark.parametrize("c", [0.5, 1, 1.2, True, np.nan, "0.7"])
def test_a_c_statistic_lies_between_one_half_and_one(c):
    with pytest.raises(tn.InputError, match=r"`c_statistic` must be above 0.5 and below 1; got"):
        score_law(0.3, c, None, None)
    with pytest.raises(tn.InputError, match=r"`c_statistic` must be above 0.5 and below 1; got"):
        score_law(None, c, None, [0.3, 0.6])


@pytest.mark.all_cases
@pytest.mark.parametrize("rate", [1e-9, 0.2, 1 - 1e-9])
@pytest.mark.parametrize("c", [0.5003, 0.999])
def test_extreme_prevalences_and_c_statistics_are_met(rate, c):
    law = score_law(rate, c, None, None)
    assert law.prevalence == pytest.approx(rate, rel=1e-6)
    assert law.c_statistic == pytest.approx(c, abs=1e-7)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None, None, None), "`prevalence` must be given, or `log_odds` or `scores`; got none of them"),
        ((None, None, (0, 1), [0.5]), "`scores` must be given without `log_odds`; got both"),
        ((0.0, None, None, None), "`prevalence` must lie strictly between 0 and 1; got 0.0"),
        ((1.5, None, (0, 1), None), "`prevalence` must lie strictly between 0 and 1; got 1.5"),
        ((0.9e-9, 0.7, None, None), "`prevalence` must not be so near 0 or 1"),
        ((1 - 0.9e-9, 0.7, None, None), "`prevalence` must not be so near 0 or 1"),
        ((0.3, 0.50001, None, None), "`c_statistic` must not be so near 0.5 or 1; got 0.50001"),
        ((0.3, 1 - 1e-15, None, None), "`c_statistic` must not be so near 0.5 or 1"),
        ((None, None, None, [[0.5]]), r"`scores` must be a vector of probabilities; got shape \(1, 1\)"),
        ((None, None, None, [0.5, 1.5]), "`scores` must lie in"),
        ((None, None, None, [0.0, 1.0]), "`scores` must not all be 0 or 1"),
    ],
)
def test_a_law_that_cannot_be_made_is_refused(arguments, message):
    with pytest.raises(tn.InputError, match=message):
        score_law(*arguments)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    "pair",
    [(0,), (0, 1, 2), 3, "01", (0, 0), (0, -1), (0, 1e3), (700, 1), (-700, 1), (np.nan, 1), (0, np.inf), (True, 1)],
)
def test_log_odds_are_a_mean_and_a_positive_deviation(pair):
    with pytest.raises(tn.InputError, match="`log_odds` must be the mean and the standard deviation of the log-odds"):
        score_law(None, None, pair, None)


@pytest.mark.all_cases
@pytest.mark.parametrize("pair", [(699, 1), (-699, 1), (0, 999), (np.float32(0), np.int64(2))])
def test_log_odds_may_be_far_apart(pair):
    law = score_law(None, None, pair, None)
    assert law.share.sum() == pytest.approx(1)
    assert 0 <= law.prevalence <= 1


def test_a_prevalence_alone_is_no_law():
    assert score_law(0.3, None, None, None) is None
    assert score_law(0.3, 0.7, None, [0.2, 0.4]).prevalence == pytest.approx(0.3)  # scores have their own


@pytest.mark.all_cases
@pytest.mark.parametrize(("n", "most"), [(5, 9), (9, 9), (10, 4), (23, 5), (1, 1)])
def test_rows_of_a_law_are_its_quantiles_at_the_middles_of_equal_shares(n, most):
    law = score_law(None, None, None, [0.0, 0.1, 0.1, 0.1, 0.4, 0.7, 0.7, 1.0])
    m = min(n, most)
    expected = {}
    for i in range(m):
        score = next(s for s, below in zip(law.score, np.cumsum(law.share), strict=True) if below >= (i + 0.5) / m)
        expected[score] = expected.get(score, 0) + (i + 1) * n // m - i * n // m
    score, count = law.rows(n, most)
    assert dict(zip(score.tolist(), count.tolist(), strict=True)) == expected


@pytest.mark.all_cases
@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("ratio", [0.55, 1.0, 1.3, 1.9])
def test_a_shift_gives_any_ratio_between_that_of_no_and_of_every_uncertain_event(ratio, slope):
    p = np.array([0.0, 0.2, 0.3, 0.5, 1.0])
    law = score_law(None, None, None, p)
    a = law.shift(ratio, slope)
    assert expit(slope * logit(p[1:4]) + a).sum() + 1 == pytest.approx(2 * ratio)


@pytest.mark.all_cases
@pytest.mark.parametrize("ratio", [0.5, 2.0, 2.5])
def test_a_ratio_that_no_shift_gives_is_refused(ratio):
    law = score_law(None, None, None, [0.0, 0.2, 0.3, 0.5, 1.0])  # the last is an event in any case; two are expected
    with pytest.raises(
        tn.InputError, match=f"`detect_oe` must be below 2, at which every row is an event; got {ratio:g}"
    ):
        law.shift(ratio, 1.0)
