"""The change point of calibration is found; constant miscalibration and drifting scores are none."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness.infer._change_point import change_point


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
