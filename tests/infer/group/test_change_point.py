"""The change point of calibration is found; constant miscalibration and drifting scores are none."""

import numpy as np
import pytest
from grids import slow
from scipy.special import expit, logit

import trueness as tn


def day(rng, n=300, *, slope=1.0, shift=0.0, a=1.0, b=3.0, weight=None):
    p = rng.beta(a, b, n)
    y = rng.random(n) < expit(slope * logit(np.clip(p, 1e-12, 1 - 1e-12)) + shift)
    return tn.tally(y, p, sample_weight=None if weight is None else rng.choice(weight, n))


def series(days, draws=39, level=0.9, seed=0):
    return tn.calibration_series(
        {f"{i}": one for i, one in enumerate(days)}, resamples=draws, level=level, seed=seed
    )


def run_of(found):
    """The first day of the run that differs, and the day after its last."""
    return found.change.start, found.change.start + found.change.days


CHANGES = {
    "slope from the tenth day on": (lambda d: {"slope": 0.4} if d >= 9 else {}, (9, 14)),
    "shift from the tenth day on": (lambda d: {"shift": 0.7} if d >= 9 else {}, (9, 14)),
    "recovery on the tenth day": (lambda d: {} if d >= 9 else {"slope": 0.4}, (9, 14)),
    "the tenth day only": (lambda d: {"slope": 0.2} if d == 9 else {}, (9, 10)),
    "the last day only": (lambda d: {"slope": 0.2} if d == 13 else {}, (13, 14)),
    "four days": (lambda d: {"shift": 0.9} if 5 <= d < 9 else {}, (5, 9)),
}
WEIGHTS = (None, [1, 2, 3], [0.5, 1.0, 1.5])


@pytest.mark.parametrize(
    "what",
    [pytest.param(one, marks=[pytest.mark.slow] * (i % 5 > 0)) for i, one in enumerate(CHANGES)],
)
def test_the_days_that_differ_are_found(what):
    change, run = CHANGES[what]
    rng = np.random.default_rng(6)
    weight = WEIGHTS[list(CHANGES).index(what) % 3]
    found = series([day(rng, weight=weight, **change(d)) for d in range(14)])
    assert run_of(found) == run
    assert found.change.lasting == (run[1] == 14)
    assert found.change_pvalue == found.change.pvalue == 2 / 40


def two_scores(rng, shift):
    p = rng.choice([0.3, 0.7], 80)
    return tn.binned(rng.random(80) < expit(logit(p) + shift), p, bins=2)


@pytest.mark.slow
def test_many_days_of_few_rows_have_their_change():
    rng = np.random.default_rng(0)
    assert run_of(
        series([day(rng, 10, shift=2.5 * (10 <= d < 16), a=2, b=2) for d in range(30)])
    ) == (10, 16)


@pytest.mark.slow
@pytest.mark.parametrize(("days", "whole"), [(200, True), (201, False)])
def test_up_to_200_days_every_run_is_tried(days, whole):
    rng = np.random.default_rng(0)
    start, stop = run_of(series([two_scores(rng, 2.5 * (90 <= d < 97)) for d in range(days)]))
    assert (start, stop) == (90, 97) if whole else stop in (start + 1, days)


@pytest.mark.slow
def test_more_days_than_can_be_scanned_in_every_run_still_have_their_change():
    rng = np.random.default_rng(2)
    assert run_of(series([two_scores(rng, 1.5 * (d >= 150)) for d in range(230)])) == (150, 230)


def test_days_that_are_constant_in_score_and_label_have_no_change():
    constant, even = tn.tally(np.zeros(20), np.zeros(20)), tn.tally([0, 1] * 10, np.full(20, 0.5))
    assert series([constant] * 3, 19).change_pvalue == 1.0
    assert series([even] * 4).change_pvalue == 1.0


NULLS = {
    "calibrated": lambda rng, d: day(rng),
    "few rows": lambda rng, d: day(rng, 20),
    "rare events": lambda rng, d: day(rng, 500, a=0.3, b=30),
    "slope 0.5 on all days": lambda rng, d: day(rng, slope=0.5),
    "slope 0.3 on all days, scores drift": lambda rng, d: day(rng, 600, slope=0.3, a=1 + 0.25 * d),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", NULLS)
def test_the_level_is_kept_under_constant_miscalibration_and_drift(what):
    rng, runs, bins = (
        np.random.default_rng(3),
        100,
        tn.EqualWidth(50),
    )  # the l2 errors of tallies would cost most
    drawn = ([NULLS[what](rng, d).coarsen(bins) for d in range(8)] for _ in range(runs))
    found = [series(days, 59, seed=i).change_pvalue for i, days in enumerate(drawn)]
    assert np.mean(np.array(found) <= 0.1) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def by_stratum(days, strata):
    """Weight, events, sum of scores and of squared weights of each day in cells cut by the pooled scores."""
    pooled = sum(days)
    edges = pooled.coarsen(tn.measure.MassAndWidth(strata, strata)).parts[0].edges
    sums = np.zeros((4, len(days), edges.size - 1))
    for d, one in enumerate(days):
        (cells,) = one.parts
        at = np.clip(np.searchsorted(edges, cells.score, side="right") - 1, 0, edges.size - 2)
        squares = cells.weight if cells.whole else cells.squares
        for values, total in zip(
            (cells.weight, cells.events, cells.weight * cells.score, squares), sums, strict=True
        ):
            np.add.at(total[d], at, values)
    return sums


def largest_run(n, m, s2, rate, excess):
    """The largest statistic over all runs and its run, day by day and stratum by stratum."""
    days, strata = n.shape
    centre = m.sum(axis=0) / n.sum(axis=0)
    v = (s2 * rate * (1 - rate)).sum(axis=0)
    x = np.log((m.sum(axis=0) + 0.5) / ((n - m).sum(axis=0) + 0.5))
    x = x - v @ x / v.sum()
    gap = excess.sum(axis=0) / n.sum(axis=0)
    score = np.divide(m, n, out=np.tile(centre, (days, 1)), where=n > 0)
    rest = excess - n * np.interp(score, centre, gap)
    best, total = (-np.inf, 0, 0), np.array([rest.sum(), (rest @ x).sum()])
    for i in range(1, days):
        for j in range(i + 1, days + 1):
            share = n[i:j].sum(axis=0) / n.sum(axis=0)
            left = (
                np.array([share @ v / v.sum(), share @ (v * x**2) / max(v @ x**2, 1e-300)]) * total
            )
            both = np.array([rest[i:j].sum(), (rest[i:j] @ x).sum()]) - left
            free = share * (1 - share) * v
            V = np.array([[free.sum(), free @ x], [free @ x, free @ x**2]])
            value = both @ np.linalg.solve(V, both) if strata > 1 else both[0] ** 2 / V[0, 0]
            best = max(best, (value - (2 * np.log(days) if j < days else 0), i, j))
    return best


@pytest.mark.parametrize(("rows", "strata"), [(14, 2), (120, 10)])
@pytest.mark.parametrize("weight", [[0.5, 1.0, 1.5], *slow(None)])
def test_the_p_value_is_that_of_all_runs_one_by_one(weight, rows, strata):
    rng = np.random.default_rng(4)
    days = [
        day(rng, rows, weight=weight, slope=0.4 if d > 2 else 1.0, a=1 + 0.2 * d) for d in range(5)
    ]
    n, e, m, s2 = by_stratum(days, strata)
    expected = m.sum()
    assert strata == min(
        10, int(min(expected, n.sum() - expected) / 10)
    )  # ten events or non-events for each
    centre, gap = m.sum(axis=0) / n.sum(axis=0), (e - m).sum(axis=0) / n.sum(axis=0)
    score = np.divide(m, n, out=np.tile(centre, (5, 1)), where=n > 0)
    rate = np.clip(score + np.interp(score, centre, gap), 0, 1)
    value, start, stop = largest_run(n, m, s2, rate, e - m)
    spread, drawn = np.sqrt(s2 * rate * (1 - rate)), []
    for _ in range(100):
        events = (
            rng.binomial(n.astype(int), rate)
            if weight is None
            else n * rate + spread * rng.normal(size=n.shape)
        )
        drawn.append(largest_run(n, m, s2, rate, events - m)[0])
    share = np.mean(np.array(drawn) >= value)
    found = series(days, 399, level=0.501)
    assert found.change_pvalue / 2 == pytest.approx(
        share, abs=4 * np.sqrt(max(share * (1 - share), 0.01) / 100)
    )
    assert found.change is None or run_of(found) == (start, stop)


def test_a_p_value_of_a_tenth_rejects_at_the_level_nine_tenths():
    # 1 − 0.9 is 0.09999999999999998; with 19 draws the p-value of a change is at least 2 / 20.
    p = np.arange(1, 200) / 200
    rng = np.random.default_rng(0)
    days = {}
    for day in range(8):
        truth = p if day < 4 else p**4
        days[str(day)] = tn.tally((rng.random(p.size) < truth).astype(int), p)
    found = tn.calibration_series(days, level=0.9, resamples=19)
    assert found.change_pvalue == 0.1
    assert found.change is not None
    assert found.notes == ()
