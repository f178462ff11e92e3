"""Limits of the l2 error if one class is nearly absent."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta, binomtest

import trueness as tn
from trueness.infer import ece_interval
from trueness.infer.interval._few_events import few_events_limits, has_few_events

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@pytest.mark.parametrize(
    ("y", "p", "high"),
    [([1] * 25, 1.0, 0.1129), ([0] * 60, 1e-4, 0.0486), ([0] * 25, 0.0, 0.1129), ([1] * 60, 1 - 1e-4, 0.0486)],
)
def test_rows_of_one_class_with_one_score_have_the_clopper_pearson_limit(y, p, high):
    found = ece_interval(y, [p] * len(y), level=0.9, seed=0)
    assert (found.includes_zero, found.low) == (True, 0)
    assert found.high == pytest.approx(high, abs=1e-4)
    limit = binomtest(0, len(y)).proportion_ci(0.9).high
    assert found.high == pytest.approx(limit - min(p, 1 - p), abs=1e-12)
    assert found.note == f"Exact binomial limits: one class has 0 of {len(y)} rows."
    assert ece_interval(y, [p] * len(y), level=0.9, bins=10, seed=0).high == found.high


@pytest.mark.parametrize(("certain", "high"), [(0.0, 0.0173), (1e-4, 0.0172)])
def test_confident_scores_that_are_always_right_have_exact_limits(certain, high):
    """Half the rows 0, half 1: rates of 2.4 % in one half are possible, as (1 - 0.0122)^300 = 0.025."""
    y = np.repeat([0, 1], 150)
    found = ece_interval(y, np.where(y == 1, 1 - certain, certain), seed=0)
    assert found.includes_zero
    assert found.high == pytest.approx(high, abs=1e-4)
    assert found.note == "Exact binomial limits: 0 of 300 labels are the less probable one."


@pytest.mark.parametrize("bins", [2, 10, tn.Distinct()])
def test_given_bins_of_scores_that_are_always_right_have_exact_limits(bins):
    y = np.repeat([0, 1], 150)
    for certain in (0.0, 1e-4, 0.03):
        p = np.where(y == 1, 1 - certain, certain)
        found, default = (ece_interval(y, p, seed=0, **options) for options in ({"bins": bins}, {}))
        assert (found.low, found.high) == pytest.approx((default.low, default.high))
        assert found.note == default.note == "Exact binomial limits: 0 of 300 labels are the less probable one."


def test_one_class_that_contradicts_its_scores_is_rejected_with_exact_limits():
    found = ece_interval([0] * 60, [0.9] * 60, seed=0)
    limit = binomtest(0, 60).proportion_ci(0.95).high
    assert not found.includes_zero
    assert (found.low, found.high) == pytest.approx((0.9 - limit, 0.9))


@pytest.mark.parametrize("events", [0, 1, 2])
def test_no_rates_that_the_share_of_events_allows_have_a_larger_error(events):
    """Every choice of rates in three bins on a grid, with a mean below the upper limit."""
    p = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.4])
    weight = np.array([20, 10, 10, 5, 3, 2])
    first, hits = np.array([0, 2, 4]), np.array([0, 0, 0, 0, 0, events])
    limits = few_events_limits(p, weight, hits, first, 0.1)
    n, of_bin = weight.sum(), np.repeat([0, 1, 2], 2)
    most = binomtest(events, n).proportion_ci(0.9).high
    grid = np.linspace(0, 1, 51)
    errors = [
        weight @ (np.array(rates)[of_bin] - p) ** 2 / n
        for rates in itertools.product(grid, repeat=3)
        if weight @ np.array(rates)[of_bin] / n <= most
    ]
    assert max(errors) <= limits.high + 1e-12
    assert limits.high < 0.15
    assert limits.rarer == events


def test_swapping_the_classes_changes_nothing():
    p, weight, hits = np.array([0.01, 0.3]), np.array([40, 10]), np.array([0, 2])
    first = np.array([0, 1])
    found = few_events_limits(p, weight, hits, first, 0.05)
    swapped = few_events_limits(1 - p, weight, weight - hits, first, 0.05)
    assert (swapped.low, swapped.high, swapped.rarer) == pytest.approx((found.low, found.high, found.rarer))


def test_dependent_rows_have_wider_limits():
    y, p = np.zeros(60, int), np.full(60, 1e-4)
    alone = ece_interval(y, p, seed=0)
    found = ece_interval(y, p, cluster=np.arange(60) // 2, seed=0)
    assert found.high == pytest.approx(binomtest(0, 30).proportion_ci(0.95).high - 1e-4)
    assert found.high > alone.high


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.6, 1.0, 0.6])
@pytest.mark.parametrize("law", [(0.3, 60), (60, 0.3), (0.3, 30)])
def test_rare_events_are_covered(law, slope):
    runs, n, misses = 400, 400, 0
    d = tn.simulate.binary(n, scores=tn.simulate.Beta(*law), distortion=tn.simulate.Logit(slope=slope), seed=0)
    truth = d.true_ece("l2")
    for i in range(runs):
        d = tn.simulate.binary(n, scores=tn.simulate.Beta(*law), distortion=tn.simulate.Logit(slope=slope), seed=i)
        misses += truth not in ece_interval(d.y_true, d.y_prob, level=0.9, seed=i)
    assert misses / runs <= 0.1 + 3 * (0.09 / runs) ** 0.5


def clopper_pearson(successes, trials, alpha):
    low = beta.ppf(alpha / 2, successes, trials - successes + 1) if successes > 0 else 0.0
    return low, beta.isf(alpha / 2, successes + 1, trials - successes) if successes < trials else 1.0


def limits_by_hand(p, y, bins, alpha, effective=None):
    """The docstring's formula, row by row: the rarer class, or the less probable label of each bin if that is rarer."""
    n = len(p)
    of_bin = [np.flatnonzero(bins == b) for b in np.unique(bins)]
    unlikely = np.empty(n, int)
    for rows in of_bin:
        unlikely[rows] = 0 if p[rows].mean() > 0.5 else 1
    surprises, events = (y == unlikely).sum(), y.sum()
    folded = surprises < min(events, n - events)
    rarer = unlikely if folded else np.full(n, int(events <= n / 2))
    score, count = np.where(rarer == 1, p, 1 - p), (y == rarer).sum()
    trials = n if effective is None else min(n, effective)
    low, high = clopper_pearson(count * trials / n, trials, alpha)
    reach = max(max(min(1, n * high / rows.size) - 2 * score[rows].mean(), 0) for rows in of_bin)
    away = max(low - score.mean(), score.mean() - high, 0)
    return away**2, (score**2).mean() + high * reach, count, folded


CASES = {
    "rare events": ([0.01, 0.02, 0.05, 0.1], [0, 0, 1, 1]),
    "frequent events": ([0.9, 0.95, 0.97, 0.99], [17, 20, 18, 20]),
    "confident and right": ([0.01, 0.03, 0.98, 0.99], [0, 1, 19, 20]),
    "confident and wrong": ([0.01, 0.03, 0.98, 0.99], [20, 19, 1, 0]),
    "half of the rows": ([0.4, 0.5, 0.5, 0.6], [9, 10, 10, 11]),
    "no events at high scores": ([0.6, 0.7, 0.8, 0.9], [0, 0, 0, 0]),
    "only events at low scores": ([0.1, 0.2, 0.3, 0.4], [20, 20, 20, 20]),
    "two bins about one half": ([0.2, 0.3, 0.45, 0.55], [0, 2, 1, 0]),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("effective", [None, 30.5, 500.0])
@pytest.mark.parametrize(("p", "events"), CASES.values(), ids=CASES)
def test_the_limits_are_those_of_the_formula_row_by_row(p, events, effective):
    p, hits, weight = np.array(p), np.array(events), np.full(4, 20)
    y = np.concatenate([np.arange(20) < k for k in events]).astype(int)
    for first in ([0], [0, 2], [0, 1, 3], [0, 1, 2, 3]):
        number = np.cumsum(np.isin(np.arange(4), first))
        found = few_events_limits(p, weight, hits, np.array(first), 0.1, effective)
        expected = limits_by_hand(p.repeat(20), y, number.repeat(20), 0.1, effective)
        assert tuple(found) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("p", "hits", "few"),
    [
        ([0.1, 0.2], [1, 1], True),
        ([0.1, 0.2], [1, 2], False),
        ([0.8, 0.9], [9, 9], True),
        ([0.8, 0.9], [9, 8], False),
        ([0.1, 0.9], [1, 9], True),  # two surprises
        ([0.1, 0.9], [1, 8], False),
        ([0.5, 0.9], [2, 10], True),  # at one half the event is the surprise
        ([0.5, 0.9], [8, 10], True),  # two rows have no event
        ([0.5, 0.1], [8, 1], False),
    ],
)
def test_events_are_few_below_three_of_the_rarer_label(p, hits, few):
    assert has_few_events(np.array(p), np.array([10, 10]), np.array(hits), np.array([0, 1])) == few
