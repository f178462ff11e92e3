"""Levels and coverage of risks by a horizon, by simulation."""

import numpy as np
import pytest
from scipy.stats import binom

import trueness as tn

RATES = {0.1: 0.022, 0.3: 0.09, 0.6: 0.28}
"""Rates of censoring by the share of rows that they lose before the horizon."""


def calibrated(rng, n, lost, censoring):
    """Times of a calibrated model."""
    risk = rng.beta(2, 5, n)
    time = -np.log(rng.random(n)) / -np.log1p(-risk) * 5
    rate = np.full(n, RATES[lost])
    if censoring == "by score":
        rate = rate * np.exp(3 * (risk - 0.28))
    censored = rng.exponential(1 / rate)
    return np.minimum(time, censored), (time <= censored).astype(int), risk


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The largest weight is")
@pytest.mark.parametrize("censoring", ["independent", "by score"])
@pytest.mark.parametrize(("n", "lost"), [(300, 0.3), (300, 0.6), (1000, 0.3), (1000, 0.6)])
def test_risks_by_a_horizon_keep_their_level_and_limits_cover(n, lost, censoring):
    runs = 200
    rng = np.random.default_rng([n, round(10 * lost), len(censoring)])
    rejected = ratio = slope = 0
    for seed in range(runs):
        events = tn.events.at_horizon(*calibrated(rng, n, lost, censoring), horizon=5)
        rejected += tn.calibration_test(events, resamples=199, seed=seed).pvalue <= 0.05
        found = tn.estimate("observed_expected", events)
        ratio += found.low <= 1 <= found.high
        found = tn.estimate("slope", events)
        slope += found.low <= 1 <= found.high
    assert rejected <= binom.ppf(0.999, runs, 0.085 if n == 300 else 0.065)
    least = 0.90 if n == 300 else 0.93
    assert ratio >= binom.ppf(0.001, runs, least)
    assert slope >= binom.ppf(0.001, runs, least)


@pytest.mark.slow
def test_competing_events_keep_the_level():
    runs = 300
    rng = np.random.default_rng(3)
    rejected = 0
    for seed in range(runs):
        risk = rng.beta(2, 5, 500)
        happens = rng.random(500) < risk
        other = ~happens & (rng.random(500) < 0.3)
        time = np.where(happens | other, rng.uniform(0, 5, 500), 6.0)
        cause = np.where(happens, 1, np.where(other, 2, 0))
        censored = rng.exponential(15, 500)
        rows = np.minimum(time, censored), np.where(time <= censored, cause, 0), risk
        events = tn.events.at_horizon(*rows, horizon=5)
        rejected += tn.calibration_test(events, resamples=199, seed=seed).pvalue <= 0.05
    assert rejected <= binom.ppf(0.999, runs, 0.065)
