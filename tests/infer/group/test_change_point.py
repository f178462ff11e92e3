"""The change point of calibration is found; constant miscalibration and drifting scores are none."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness._tally.rules import MassAndWidth
from trueness.infer.group._change_point import _edges, _Scan, _Strata, change_point


def cells(rng, n=300, *, slope=1.0, shift=0.0, a=1.0, b=3.0, weight=None):
    p = rng.beta(a, b, n)
    y = rng.random(n) < expit(slope * logit(np.clip(p, 1e-12, 1 - 1e-12)) + shift)
    return tn.tally(y, p, sample_weight=None if weight is None else rng.choice(weight, n)).parts[0]


CHANGES = {
    "slope from the tenth day on": (lambda d: {"slope": 0.4} if d >= 9 else {}, (9, 30)),
    "shift from the tenth day on": (lambda d: {"shift": 0.7} if d >= 9 else {}, (9, 30)),
    "recovery on the tenth day": (lambda d: {} if d >= 9 else {"slope": 0.4}, (9, 30)),
    "the tenth day only": (lambda d: {"slope": 0.2} if d == 9 else {}, (9, 10)),
    "the last day only": (lambda d: {"slope": 0.2} if d == 29 else {}, (29, 30)),
    "a week": (lambda d: {"shift": 0.9} if 9 <= d < 16 else {}, (9, 16)),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("weight", [None, [1, 2, 3], [0.5, 1.0, 1.5]])
def test_the_days_that_differ_are_found(what, weight):
    change, run = CHANGES[what]
    rng = np.random.default_rng(6)
    found = change_point([cells(rng, weight=weight, **change(d)) for d in range(30)], 99, rng)
    assert found == (1 / 100, *run)


def test_more_days_than_can_be_scanned_in_every_run_still_have_their_change():
    rng = np.random.default_rng(2)
    days = [cells(rng, 40, shift=1.5 if d >= 150 else 0.0) for d in range(230)]
    assert change_point(days, 39, rng)[1:] == (150, 230)


def test_days_that_are_constant_in_score_and_label_have_no_change():
    day = tn.tally(np.zeros(20), np.zeros(20)).parts[0]
    strata = _Strata([day] * 3)
    assert _Scan(strata)(strata.observed[None])[0] == 0
    assert change_point([day] * 3, 19, np.random.default_rng(0)).pvalue == 1.0
    one = tn.tally([0, 1] * 10, np.full(20, 0.5)).parts[0]
    assert change_point([one] * 4, 99, np.random.default_rng(0)).pvalue > 0.5


NULLS = {
    "calibrated": lambda rng, d: cells(rng),
    "few rows": lambda rng, d: cells(rng, 20),
    "rare events": lambda rng, d: cells(rng, 500, a=0.3, b=30),
    "slope 0.5 on all days": lambda rng, d: cells(rng, slope=0.5),
    "slope 0.3 on all days, scores drift": lambda rng, d: cells(rng, 600, slope=0.3, a=1 + 0.1 * d),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", NULLS)
def test_the_level_is_kept_under_constant_miscalibration_and_drift(what):
    rng, runs = np.random.default_rng(3), 200
    found = [change_point([NULLS[what](rng, d) for d in range(20)], 99, rng).pvalue for _ in range(runs)]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def largest_run(days, edges, excess=None):
    """The largest statistic over all runs and its run, day by day and stratum by stratum, and the null law."""
    strata = edges.size - 1
    n, e, m, s2 = np.zeros((4, len(days), strata))
    for d, day in enumerate(days):
        at = np.clip(np.searchsorted(edges, day.score, side="right") - 1, 0, strata - 1)
        for k, w, events, score, square in zip(
            at, day.weight, day.events, day.score, day.weight if day.whole else day.squares, strict=True
        ):
            n[d, k], e[d, k], m[d, k] = n[d, k] + w, e[d, k] + events, m[d, k] + w * score
            s2[d, k] += square
    centre, found = m.sum(axis=0) / n.sum(axis=0), e - m
    excess = found if excess is None else excess
    gap = found.sum(axis=0) / n.sum(axis=0)
    rate = np.array([[
        np.clip(at + np.interp(at, centre, gap), 0, 1)
        for at in (m[d, k] / n[d, k] if n[d, k] else centre[k] for k in range(strata))
    ] for d in range(len(days))])  # fmt: skip
    v = (s2 * rate * (1 - rate)).sum(axis=0)
    x = np.log((m.sum(axis=0) + 0.5) / ((n - m).sum(axis=0) + 0.5))
    x = x - v @ x / v.sum()
    new_gap = excess.sum(axis=0) / n.sum(axis=0)
    rest = np.array([[
        excess[d, k] - (n[d, k] * np.interp(m[d, k] / n[d, k], centre, new_gap) if n[d, k] else 0.0)
        for k in range(strata)
    ] for d in range(len(days))])  # fmt: skip
    best = (-np.inf, 0, 0)
    for i in range(1, len(days)):
        for j in range(i + 1, len(days) + 1):
            both = np.array([rest[i:j].sum(), (rest[i:j] @ x).sum()])
            share = n[i:j].sum(axis=0) / n.sum(axis=0)
            free = share * (1 - share) * v
            V = np.array([[free.sum(), free @ x], [free @ x, free @ x**2]])
            value = both @ np.linalg.solve(V, both) if strata > 1 else both[0] ** 2 / V[0, 0]
            best = max(best, (value - (2 * np.log(len(days)) if j < len(days) else 0), i, j))
    return best, n * rate - m, np.sqrt(s2 * rate * (1 - rate))


@pytest.mark.parametrize("weight", [None, [1, 2, 3], [0.5, 1.0, 1.5]])
@pytest.mark.parametrize("n", [6, 120])
def test_the_statistic_is_that_of_all_runs_one_by_one(weight, n):
    rng = np.random.default_rng(4)
    days = [cells(rng, n, weight=weight, slope=0.6 if d > 3 else 1.0, a=1 + 0.2 * d) for d in range(7)]
    days.append(tn.tally([0, 1, 0, 1, 1], [0.0, 1.0, 0.3, 0.4, 1.0]).parts[0])
    edges = _edges(days)
    assert edges.size > (2 if n == 120 else 1)
    strata = _Strata(days)
    scan = _Scan(strata)
    value, start, stop = scan(strata.observed[None])
    expected, mean, spread = largest_run(days, edges)
    assert (value[0], start[0], stop[0]) == pytest.approx(expected, rel=1e-6)
    drawn = strata.draw(400, rng)
    assert drawn.shape == (400, *mean.shape)
    assert np.abs(drawn.mean(axis=0) - mean).max() < 5 * spread.max() / 20
    assert drawn.std(axis=0).sum() == pytest.approx(spread.sum(), rel=0.05)
    value, start, stop = scan(drawn[:3])
    for draw in range(3):
        expected = largest_run(days, edges, drawn[draw])[0]
        assert (value[draw], start[draw], stop[draw]) == pytest.approx(expected, rel=1e-6)


def test_strata_are_ten_by_mass_and_ten_by_width_and_fewer_for_few_events():
    for scale, n_strata in ((0.3, 10), (0.098, 9), (0.034, 3), (0.002, 1)):
        score = np.linspace(0.0, 2 * scale, 1_000)
        days = [tn.tally(np.arange(500) % 2, score[half::2]).parts[0] for half in (0, 1)]
        whole = tn.tally(np.arange(1_000) % 2, score).parts[0]
        expected = MassAndWidth(n_strata, n_strata).group(whole).edges
        assert _edges(days) == pytest.approx(expected)
        # As few non-events as events before.
        whole = tn.tally(np.arange(1_000) % 2, 1 - score).parts[0]
        mirrored = [tn.tally(np.arange(500) % 2, 1 - score[half::2]).parts[0] for half in (0, 1)]
        assert _edges(mirrored) == pytest.approx(MassAndWidth(n_strata, n_strata).group(whole).edges)


@pytest.mark.parametrize(("days", "whole"), [(200, True), (201, False)])
def test_up_to_200_days_every_run_is_tried(days, whole):
    rng = np.random.default_rng(0)
    some = [cells(rng, 30, shift=2.5 if 90 <= d < 97 else 0.0, a=2, b=2) for d in range(days)]
    found = change_point(some, 9, rng)
    assert (found.start, found.stop) == (90, 97) if whole else found.stop in (found.start + 1, days)


def test_the_pvalue_counts_the_draws_that_reach_the_statistic(monkeypatch):
    rng = np.random.default_rng(0)
    some = [cells(rng, 40) for _ in range(5)]
    strata = _Strata(some)
    scan = _Scan(strata)
    observed = scan(strata.observed[None])[0][0]
    drawn = scan(strata.draw(60, np.random.default_rng(1)))[0]
    found = change_point(some, 60, np.random.default_rng(1))
    assert found.pvalue == pytest.approx((1 + (drawn >= observed).sum()) / 61)
    monkeypatch.setattr("trueness.infer.group._change_point._BATCH", 25 * strata.count.size)
    assert change_point(some, 60, np.random.default_rng(1)) == found
