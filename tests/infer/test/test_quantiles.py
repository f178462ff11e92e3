"""The joint test of quantile forecasts: against an enumeration, its level, and its power."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, chisquare, norm

import trueness as tn
from trueness.errors import InputError

LEVELS = np.array([0.2, 0.5, 0.9])
STATED = np.array([0.2, 0.3, 0.4, 0.1])


def events_in_gaps(gaps, levels=LEVELS):
    """Events whose outcomes lie in these gaps, numbered from 0."""
    q = np.tile(np.arange(levels.size) + 0.5, (len(gaps), 1))
    return tn.events.quantiles(gaps, q, levels=levels)


def joint(events, **options):
    return tn.calibration_test(events, method="quantiles", **options)


def statistics(count, n):
    residual = count - n * STATED
    middle = norm.ppf(np.cumsum(STATED) - STATED / 2)
    square = (middle - STATED @ middle) ** 2
    return np.array(
        [
            (residual**2 / (n * STATED)).sum(),
            abs(residual @ middle),
            abs(residual @ (square - STATED @ square)),
        ]
    )


def exact_pvalues(gaps):
    """The p-values over all ways in which n outcomes fall into four gaps."""
    n = len(gaps)
    counts = [np.array(one) for one in itertools.product(range(n + 1), repeat=4) if sum(one) == n]
    chance = np.array(
        [
            math.factorial(n)
            / math.prod(math.factorial(k) for k in one)
            * math.prod(p ** int(k) for p, k in zip(STATED, one, strict=True))
            for one in counts
        ]
    )
    values = np.round([statistics(one, n) for one in counts], 9)
    alone = np.array([[(chance * (column >= v)).sum() for v in column] for column in values.T]).T
    smallest = alone.min(axis=1)
    own = int(np.argmax([(one == np.bincount(gaps, minlength=4)).all() for one in counts]))
    return alone[own], float(chance[smallest <= smallest[own] + 1e-12].sum())


@pytest.mark.filterwarnings("ignore:There are 5 clusters")  # the test is exact for five rows, too
@pytest.mark.parametrize("gaps", [[0, 0, 0, 1, 2], [3, 3, 0, 0, 3], [2, 2, 1, 0, 2]])
def test_pvalues_are_those_of_all_ways_in_which_outcomes_may_fall(gaps):
    alone, pvalue = exact_pvalues(gaps)
    found = joint(events_in_gaps(gaps), resamples=20_000)
    tolerance = 4 * 0.5 / np.sqrt(20_000)
    np.testing.assert_allclose(list(found.alone.values()), alone, atol=tolerance)
    assert found.pvalue == pytest.approx(pvalue, abs=2 * tolerance)


def test_the_order_of_rows_does_not_matter():
    gaps = np.random.default_rng(0).integers(0, 4, 200)
    assert joint(events_in_gaps(gaps)).pvalue == joint(events_in_gaps(gaps[::-1])).pvalue


def test_the_strongest_statistic_is_named():
    low = joint(events_in_gaps([0] * 28 + [1] * 34 + [2] * 31 + [3] * 7))
    assert low.strongest == "the location of the outcomes among the quantiles"
    wide = joint(events_in_gaps(([0] * 9 + [1] * 3 + [2] * 5 + [3] * 8) * 8))
    assert wide.alone["spread"] < 0.01


def test_clusters_of_rows_and_other_events_are_refused():
    events = events_in_gaps([0, 1, 2, 3] * 10)
    with pytest.raises(InputError, match="`method='omnibus'` takes clusters"):
        joint(events, cluster=np.arange(40) // 2)
    with pytest.raises(InputError, match="needs quantile forecasts"):
        tn.calibration_test([0, 1], [0.2, 0.7], method="quantiles")
    for option in ({"bins": 5}, {"fitted": True}):
        with pytest.raises(InputError, match="is not used by `method='quantiles'`"):
            joint(events, **option)


def forecasts(rng, n, levels, shift=0.0, spread=1.0):
    y = shift + spread * rng.normal(size=n)
    return tn.events.quantiles(y, np.tile(norm.ppf(levels), (n, 1)), levels=levels)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "number"), [(50, 3), (100, 9), (500, 39)])
def test_the_level_is_kept_and_limits_cover_jointly(n, number):
    runs = 400
    rng = np.random.default_rng(n)
    levels = np.arange(1, number + 1) / (number + 1)
    rejected = covered = 0
    for seed in range(runs):
        events = forecasts(rng, n, levels)
        rejected += joint(events, resamples=199, seed=seed).pvalue <= 0.05
        found = tn.assess(events).coverage
        covered += bool(((found.low <= levels) & (levels <= found.high)).all())
    assert rejected <= binom.ppf(0.999, runs, 0.05)
    assert covered >= binom.ppf(0.001, runs, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "spread"), [(0.1, 1.0), (0.0, 1.15)])
def test_it_notices_shifts_and_spreads_more_often_than_pearsons_test_alone(shift, spread):
    runs = 200
    rng = np.random.default_rng(5)
    levels = np.arange(1, 10) / 10
    both = alone = 0
    for seed in range(runs):
        events = forecasts(rng, 500, levels, shift, spread)
        both += joint(events, resamples=199, seed=seed).pvalue <= 0.05
        gaps = 9 - events.event.reshape(-1, 9).sum(axis=1).astype(int)
        alone += chisquare(np.bincount(gaps, minlength=10)).pvalue <= 0.05
    assert both > alone + 0.03 * runs
    assert both >= binom.ppf(0.001, runs, 0.9 if spread > 1 else 0.36)


@pytest.mark.slow
def test_discrete_outcomes_are_not_rejected_more_often_than_the_level():
    from scipy.stats import poisson

    runs = 200
    rng = np.random.default_rng(6)
    levels = np.arange(1, 10) / 10
    rejected = noticed = 0
    for seed in range(runs):
        mean = rng.gamma(4, 2.5, 300)
        q = poisson.ppf(levels, mean[:, None])
        right = tn.events.quantiles(rng.poisson(mean), q, levels=levels)
        wrong = tn.events.quantiles(rng.poisson(1.2 * mean), q, levels=levels)
        rejected += joint(right, resamples=199, seed=seed).pvalue <= 0.05
        noticed += joint(wrong, resamples=199, seed=seed).pvalue <= 0.05
    assert rejected <= binom.ppf(0.999, runs, 0.05)
    assert noticed >= 0.9 * runs
