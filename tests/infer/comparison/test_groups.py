"""Differences between groups: by formula, laws, messages, and how often the limits hold."""

import math

import numpy as np
import pytest
from grids import slow
from scipy.stats import beta, norm

import trueness as tn


def two_groups(seed=0, n=300, factor=1.0):
    rng = np.random.default_rng(seed)
    p, by = rng.uniform(0.1, 0.4, 2 * n), np.repeat(["a", "b"], n)
    return rng.random(2 * n) < np.where(by == "b", factor * p, p), p, by


def test_the_limits_of_a_ratio_are_those_of_the_formula():
    """One score, so that the exact limits are Clopper and Pearson's of the event rate."""
    n, k = np.array([40, 60]), np.array([9, 24])
    y = np.concatenate([np.arange(size) < count for size, count in zip(n, k, strict=True)])
    by = np.repeat(["a", "b"], n)
    (pair,) = tn.group_difference("observed_expected", y, np.full(100, 0.3), by=by, level=0.9).pairs
    low = np.log(beta.ppf(0.05, k, n - k + 1))
    high = np.log(beta.ppf(0.95, k + 1, n - k))
    rate = np.log(k / n)
    difference = rate[0] - rate[1]
    assert pair.difference == pytest.approx(difference, rel=1e-12)
    below = math.hypot(rate[0] - low[0], high[1] - rate[1])
    above = math.hypot(high[0] - rate[0], rate[1] - low[1])
    # The effective number of rows is that of the rows but for the last digits.
    assert pair.low == pytest.approx(difference - below, abs=2e-2)
    assert pair.high == pytest.approx(difference + above, abs=2e-2)
    alone = [
        tn.estimate("observed_expected", y[by == name], np.full(size, 0.3), level=0.9)
        for name, size in zip("ab", n, strict=True)
    ]
    below = math.hypot(
        math.log(alone[0].value / alone[0].low), math.log(alone[1].high / alone[1].value)
    )
    assert pair.low == pytest.approx(difference - below, rel=1e-9)


def test_the_limits_of_a_slope_are_walds():
    y, p, by = two_groups()
    (pair,) = tn.group_difference("slope", y, p, by=by).pairs
    a, b = (tn.estimate("slope", y[by == name], p[by == name]) for name in "ab")
    error = math.hypot(a.standard_error, b.standard_error)
    assert pair.difference == pytest.approx(a.value - b.value)
    assert pair.high == pytest.approx(a.value - b.value + 1.959963985 * error)
    assert pair.pvalue == pytest.approx(2 * norm.sf(abs(a.value - b.value) / error), rel=1e-6)


def test_the_limits_of_a_typical_error_come_from_both_sets():
    y, p, by = two_groups(factor=1.6)
    (pair,) = tn.group_difference("l2", y, p, by=by).pairs
    a, b = (tn.ece_interval(y[by == name], p[by == name]) for name in "ab")
    assert pair.difference == a.estimate - b.estimate
    below = math.hypot(a.estimate - min(a.hull[0], a.estimate), b.hull[1] - b.estimate)
    assert pair.low == pytest.approx(pair.difference - below)


@pytest.mark.parametrize("measure", ["observed_expected", "slope"])
def test_the_pvalue_is_the_level_at_which_the_limits_touch_no_difference(measure):
    y, p, by = two_groups(factor=1.3)
    y = np.where((by == "b") & (p < 0.15), 0, y)
    (pair,) = tn.group_difference(measure, y, p, by=by).pairs
    (at,) = tn.group_difference(measure, y, p, by=by, level=1 - pair.pvalue).pairs
    assert min(abs(at.low), abs(at.high)) < 1e-6


def test_exchanged_groups_have_the_opposite_difference():
    y, p, by = two_groups(factor=1.2)
    other = np.where(by == "a", "b", "a")
    for measure in ("observed_expected", "slope"):
        found = tn.group_difference(measure, y, p, by=by)
        turned = tn.group_difference(measure, y, p, by=other)
        assert found["a", "b"].low == pytest.approx(-turned["a", "b"].high)
        assert found["a", "b"].pvalue == pytest.approx(turned["a", "b"].pvalue)


def test_a_group_without_events_has_no_lower_limit():
    y, p, by = two_groups()
    found = tn.group_difference("observed_expected", np.where(by == "a", 0, y), p, by=by)
    assert found["a", "b"].low == -math.inf
    assert found.estimates["a"] == pytest.approx(math.log(0.5 / p[by == "a"].sum()))
    assert "which has no events" in found.sentence
    assert "counts half an event" in found.assumptions


def test_several_groups_are_adjusted_together():
    y, p, _ = two_groups()
    found = tn.group_difference("observed_expected", y, p, by=np.tile(["x", "y", "z"], 200))
    assert len(found) == 3
    assert found.compared == "groups"
    assert all(pair.adjusted_pvalue >= pair.pvalue for pair in found.pairs)
    assert all(pair.simultaneous_low < pair.low for pair in found.pairs)
    assert "3 comparisons of 3 groups" in str(found)
    assert "there may be one" in found.sentence


@pytest.mark.parametrize(
    ("measure", "change", "message"),
    [
        ("auc", {}, "`measure` must be 'observed_expected', 'slope' or 'l2'"),
        ("slope", {"by": ["a"] * 600}, "`by` must have 2 to 20 groups; got 1"),
        ("slope", {"by": None}, "`by` must have a group for each row"),
        ("slope", {"y_true": [0] * 300 + [0, 1] * 150}, "a: `y_true` must have at least 3 events"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(measure, change, message):
    y, p, by = two_groups()
    asked = {"y_true": y, "y_prob": p, "by": by} | change
    with pytest.raises(tn.InputError, match=message):
        tn.group_difference(measure, **asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "n", "laws", "runs"),
    [
        ("observed_expected", 150, (2, 5), 1_000),
        ("observed_expected", 1_000, (1, 30), 600),
        ("slope", 400, (2, 5), 1_000),
        ("l2", 500, (2, 5), 120),
    ],
)
def test_limits_hold_as_often_as_their_level_says(measure, n, laws, runs):
    rng = np.random.default_rng(21)
    by = np.repeat([0, 1], n)
    truth = {"observed_expected": 0.0, "slope": 0.0, "l2": -0.1}[measure]
    held = 0
    for _ in range(runs):
        p = rng.beta(*laws, 2 * n)
        rate = p if measure != "l2" else np.where(by == 1, np.minimum(p + 0.1, 1), p)
        y = rng.random(2 * n) < rate
        if measure == "slope" and min(y[by == g].sum() for g in (0, 1)) < 3:
            continue
        (pair,) = tn.group_difference(measure, y, p, by=by, seed=rng).pairs
        held += pair.low <= truth <= pair.high
    assert held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("factor", [2.2, *slow(1.0)])
def test_the_pvalue_of_a_typical_error_is_the_last_level_that_excludes_no_difference(factor):
    y, p, by = two_groups(seed=2, n=120, factor=factor)
    (pair,) = tn.group_difference("l2", y, p, by=by).pairs
    sets = [(y[by == name], p[by == name]) for name in "ab"]
    last = 1.0
    steps = (0.45, 0.3, 0.2, 0.15, 0.1, 0.075, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)
    for alpha in steps:
        a, b = (tn.ece_interval(*rows, level=1 - alpha) for rows in sets)
        ends = [(min(one.hull[0], one.estimate), max(one.hull[1], one.estimate)) for one in (a, b)]
        value = a.estimate - b.estimate
        low = value - math.hypot(a.estimate - ends[0][0], ends[1][1] - b.estimate)
        high = value + math.hypot(ends[0][1] - a.estimate, b.estimate - ends[1][0])
        if low <= 0 <= high:
            break
        last = alpha
    assert pair.pvalue == last


def test_half_an_event_counts_for_a_group_whose_scores_differ():
    p = np.concatenate([np.linspace(0.05, 0.3, 40), np.linspace(0.1, 0.5, 60)])
    y = np.concatenate([np.zeros(40, int), np.arange(60) % 3 == 0])
    found = tn.group_difference("observed_expected", y, p, by=np.repeat(["a", "b"], [40, 60]))
    assert found.estimates["a"] == pytest.approx(math.log(0.5 / p[:40].sum()))
