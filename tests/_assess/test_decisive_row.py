"""A rejection that rests on one row: it is named first, with its score."""

import numpy as np
import pytest

import trueness as tn


def with_one_extreme_row(score=1e-12, label=1, n=300):
    """Calibrated rows, and one whose label has next to no probability."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, n)
    y = (rng.random(n) < p).astype(int)
    return np.append(y, label), np.append(p, score)


@pytest.mark.parametrize(("score", "label"), [(1e-12, 1), (1 - 1e-12, 0)])
def test_a_row_that_decides_alone_is_named_first(score, label):
    a = tn.assess(*with_one_extreme_row(score, label))
    found = a.verdict.decisive
    assert (found.score, found.happened) == (score, label == 1)
    y, p = with_one_extreme_row(score, label)
    rest = tn.assess(y[:-1], p[:-1])
    assert found.pvalue == rest.verdict.test.pvalue > 0.05
    assert found.slope == rest.estimate("slope").value
    text = str(a)
    assert "one of 301 rows decides that: its score is" in text
    assert "Check this value first." in " ".join(text.split())
    assert "Check the row that decides" in text
    assert "without it p = " in a.verdict.evidence
    assert a.advice.kind == "check-labels"


@pytest.mark.slow
def test_an_extreme_row_is_not_decisive_where_the_others_are_wrong_too():
    y, p = with_one_extreme_row(n=4_000)
    wrong = np.where(p < 1e-6, p, np.clip(0.5 + 2 * (p - 0.5), 0.01, 0.99))
    verdict = tn.verdict(y, wrong)
    assert verdict.rejected
    assert verdict.decisive is None


def test_a_surprise_that_chance_explains_is_not_decisive():
    y, p = with_one_extreme_row(score=0.01)
    assert tn.verdict(y, p).decisive is None


@pytest.mark.slow
def test_sums_name_no_row():
    verdict = tn.verdict(tn.tally(*with_one_extreme_row()))
    assert verdict.rejected
    assert verdict.decisive is None
