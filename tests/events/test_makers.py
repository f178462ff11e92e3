"""Intervals, quantiles, shares and preferences as events."""

import numpy as np
import pytest
from scipy.stats import poisson

import trueness as tn
from trueness.errors import InputError


def test_an_interval_holds_its_ends_and_counts_what_lies_outside_on_each_side():
    found = tn.events.interval([0, 1, 2, 3, -1], [0] * 5, [2] * 5, coverage=0.5)
    assert found.event.tolist() == [1, 1, 1, 0, 0]
    assert (found.below, found.above, found.mean_width) == (0.2, 0.2, 2.0)
    assert found.interval_score == pytest.approx(2 + 4 * (1 + 1) / 5)
    assert found.words == "50 % intervals"


def test_endless_intervals_cover_everything_and_have_an_endless_score():
    found = tn.events.interval([0, 1], [-np.inf] * 2, [np.inf] * 2)
    assert found.event.tolist() == [1, 1]
    assert found.mean_width == found.interval_score == np.inf


def test_the_coverage_may_differ_by_row():
    found = tn.events.interval([1, 5], [0, 0], [2, 2], coverage=[0.5, 0.9])
    assert found.p.tolist() == [0.5, 0.9]
    assert found.levels is None
    assert tn.events.interval([1, 5], [0, 0], [2, 2], coverage=[0.5, 0.5]).levels.tolist() == [0.5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lower": [0, 3]}, "`lower` must lie at or below `upper`; 1 of 2 values does not.*row 1"),
        ({"lower": [np.inf] * 2, "upper": [np.inf] * 2}, "`lower` must lie below infinity; 2 of 2"),
        ({"y": [np.inf, 1]}, "`y` must be finite; 1 of 2 values is not, the first is inf at row 0"),
        (
            {"cluster": ["a", None]},
            "`cluster` must not have .* row 1. Leave such rows out of every",
        ),
        ({"coverage": 90}, "`coverage` must lie strictly between 0 and 1; got 90"),
        ({"coverage": [0.9, 1.0]}, "`coverage` must lie strictly between 0 and 1"),
        ({"y": [np.nan, 1]}, "`y` must not have missing values; 1 of 2 rows has one.*row 0"),
        ({"y": []}, "`y` must have at least one row"),
        ({"y": ["a", "b"]}, "`y` must hold numbers"),
        ({"upper": [2]}, r"`upper` must have one entry per row \(2\); got 1"),
        ({"cluster": ["a", "a"]}, "`cluster` must name at least 2 clusters"),
    ],
)
def test_bad_intervals_are_refused(changes, message):
    given = {"y": [1, 2], "lower": [0, 0], "upper": [2, 2]}
    with pytest.raises(InputError, match=message):
        tn.events.interval(**{**given, **changes})


def test_quantiles_are_one_cluster_per_row_unless_a_coarser_one_is_passed():
    y, q = [1.5, 7.0, 0.0], [[1, 2], [3, 4], [5, 6]]
    found = tn.events.quantiles(y, q, levels=[0.25, 0.75])
    assert found.cluster.tolist() == [0, 0, 1, 1, 2, 2]
    coarse = tn.events.quantiles(y, q, levels=[0.25, 0.75], cluster=["a", "b", "a"])
    assert len(np.unique(coarse.cluster)) == 2
    assert (coarse.cluster[:2] == coarse.cluster[4:]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"q": [[2, 1], [3, 4]]},
            r"must ascend in each row; 1 of 2 rows does not, the first has 2 at level 0.2",
        ),
        ({"levels": [0.8, 0.2]}, "`levels` must ascend; got"),
        ({"levels": [0.0, 0.5]}, "`levels` must lie strictly between 0 and 1"),
        ({"levels": [10, 90]}, "`levels` must lie strictly between 0 and 1"),
        (
            {"levels": [0.1, 0.5, 0.9]},
            r"must have a row per outcome and a column per level, \(2, 3\)",
        ),
        ({"q": [[1, np.nan], [3, 4]]}, "`q` must not have missing values"),
        ({"y": [1, np.inf]}, "`y` must be finite"),
    ],
)
def test_bad_quantiles_are_refused(changes, message):
    given = {"y": [1, 2], "q": [[1, 2], [3, 4]], "levels": [0.2, 0.8]}
    with pytest.raises(InputError, match=message):
        tn.events.quantiles(**{**given, **changes})


def test_outcomes_that_equal_a_quantile_are_drawn_to_the_side_that_is_missing():
    y = np.tile([0.0, 1.0, 2.0, 3.0], 500)
    q = np.tile([1.0, 2.0], (2000, 1))
    found = tn.events.quantiles(y, q, levels=[0.4, 0.6])
    share = found.event.reshape(-1, 2).mean(axis=0)
    np.testing.assert_allclose(share, [0.4, 0.6], atol=0.03)
    assert found.strictly_below.tolist() == [0.25, 0.5]
    assert "1,000 of 2,000 outcomes equal a quantile" in found.notes[0]
    out_of_reach = tn.events.quantiles(y, q, levels=[0.1, 0.9])
    assert out_of_reach.event.reshape(-1, 2).mean(axis=0).tolist() == [0.25, 0.75]


def test_shares_are_the_trials_one_by_one_in_a_cluster_per_row():
    y = [1, 1, 1, 0, 0, 0, 1, 1]
    p = [0.7] * 4 + [0.2] * 2 + [0.9] * 2
    row = [0] * 4 + [1] * 2 + [2] * 2
    found = tn.events.counts([3, 0, 2] * 10, [4, 2, 2] * 10, [0.7, 0.2, 0.9] * 10)
    assert tn.ece(found) == pytest.approx(tn.ece(y * 10, p * 10), rel=1e-12)
    assert tn.brier(found) == pytest.approx(tn.brier(y * 10, p * 10), rel=1e-12)
    clusters = [r + 3 * k for k in range(10) for r in row]
    alone = tn.estimate("observed_expected", y * 10, p * 10, cluster=clusters)
    both = tn.estimate("observed_expected", found)
    assert (both.low, both.high) == pytest.approx((alone.low, alone.high))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"successes": [0.9, 0.5]},
            "`successes` must be whole numbers.*A share without its number",
        ),
        ({"successes": [5, 1]}, "`successes` must be at most `trials`"),
        ({"trials": [0, 0], "successes": [0, 0]}, "`trials` must not all be 0"),
        ({"p": [1.5, 0.2]}, r"`p` must lie in \[0, 1\]"),
    ],
)
def test_bad_shares_are_refused(changes, message):
    given = {"successes": [3, 1], "trials": [4, 2], "p": [0.7, 0.2]}
    with pytest.raises(InputError, match=message):
        tn.events.counts(**{**given, **changes})


def test_pairs_do_not_depend_on_which_one_is_called_the_first():
    rng = np.random.default_rng(0)
    preferred, p = rng.choice([0, 0.5, 1], 300), rng.integers(0, 65, 300) / 64
    swapped = rng.random(300) < 0.5
    one = tn.events.pairs(preferred, p)
    other = tn.events.pairs(
        np.where(swapped, 1 - preferred, preferred), np.where(swapped, 1 - p, p)
    )
    assert tn.brier(one) == pytest.approx(tn.brier(other), rel=1e-12)
    assert tn.ece_interval(one).high == pytest.approx(tn.ece_interval(other).high, rel=1e-9)


@pytest.mark.parametrize("measure", ["observed_expected", "intercept"])
def test_measures_that_depend_on_the_order_of_a_pair_are_refused(measure):
    found = tn.events.pairs([1, 0, 1, 0.5] * 10, [0.8, 0.7, 0.6, 0.9] * 10)
    with pytest.raises(InputError, match="called the first"):
        tn.estimate(measure, found)
    assert np.isnan(tn.assess(found).estimate(measure).value)


def test_other_preferences_than_0_half_and_1_are_refused():
    with pytest.raises(InputError, match=r"`first_preferred` must be 0, 0.5 or 1; 1 of 2"):
        tn.events.pairs([1, 0.7], [0.5, 0.5])


def test_events_say_what_they_are():
    found = tn.events.at_horizon([1, 5, 2, 5], [1, 0, 0, 0], [0.2, 0.1, 0.3, 0.2], horizon=5)
    assert repr(found) == "Events(risk within 5: 4 rows, 1 censored before the horizon)"
    assert len(found) == 4


def test_of_equal_outcomes_as_many_fall_between_two_levels_as_the_limits_allow():
    # 30 of 100 outcomes are 0 and 70 are 1; the quantiles of 0.2 and 0.3 are 0, the others 1.
    y = np.repeat([0.0, 1.0], [30, 70])
    levels = [0.2, 0.3, 0.4, 0.6, 0.8]
    q = np.tile([0.0, 0.0, 1.0, 1.0, 1.0], (100, 1))
    shares = np.mean(
        [
            tn.events.quantiles(y, q, levels=levels, seed=seed).event.reshape(-1, 5).mean(axis=0)
            for seed in range(200)
        ],
        axis=0,
    )
    assert shares == pytest.approx(levels, abs=0.02)


@pytest.mark.parametrize(("mean", "n"), [(3, 60), (30, 300)])
def test_counts_that_follow_39_quantiles_are_rejected_as_often_as_they_should_be(mean, n):
    rng = np.random.default_rng(0)
    levels = np.arange(1, 40) / 40
    q = np.tile(poisson.ppf(levels, mean), (n, 1))
    rejected = 0
    for seed in range(100):
        events = tn.events.quantiles(rng.poisson(mean, n), q, levels=levels, seed=seed)
        test = tn.calibration_test(events, method="quantiles", resamples=99, seed=seed)
        rejected += test.pvalue <= 0.05
    assert rejected <= 11  # of 100, 5 are allowed: standard error 2.2
