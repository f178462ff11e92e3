"""Random effects: a published meta-analysis, a slow reference, laws, messages."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import chi2, t

import trueness as tn

# Thirteen trials of the BCG vaccine (Colditz et al. 1994): cases and others, treated and control.
TREATED = ([4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27],)
TREATED += ([119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886],)
CONTROL = ([11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29],)
CONTROL += ([128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825],)


def bcg():
    """Log risk ratios and their standard errors."""
    sick, well = np.array(TREATED, dtype=float)
    control_sick, control_well = np.array(CONTROL, dtype=float)
    n, m = sick + well, control_sick + control_well
    variance = 1 / sick - 1 / n + 1 / control_sick - 1 / m
    return np.log(sick / n / (control_sick / m)), np.sqrt(variance)


def slow_reml(y, v):
    """tau² by a search for the largest restricted likelihood, from every start."""

    def minus(tau2):
        w = 1 / (v + tau2)
        mean = (w * y).sum() / w.sum()
        return 0.5 * (-np.log(w).sum() + math.log(w.sum()) + (w * (y - mean) ** 2).sum())

    ends = np.geomspace(1e-8, 100, 60)
    found = [0.0]
    for low, high in pairwise(ends):
        options = {"xatol": 1e-13}
        found.append(
            minimize_scalar(minus, bounds=(low, high), method="bounded", options=options).x
        )
    return min(found, key=minus)


def test_the_published_meta_analysis_of_the_bcg_vaccine():
    """The numbers that metafor's documentation prints, with Hartung and Knapp's limits."""
    found = tn.heterogeneity(*bcg())
    assert round(found.mean, 4) == -0.7145
    assert round(found.tau2, 4) == 0.3132
    assert round(found.standard_error, 4) == 0.1808
    assert (round(found.low, 4), round(found.high, 4)) == (-1.1084, -0.3206)
    assert (round(found.tau2_low, 4), round(found.tau2_high, 4)) == (0.1197, 1.1115)
    plain = math.sqrt(1 / (1 / (bcg()[1] ** 2 + found.tau2)).sum())
    assert round(plain, 4) == 0.1798


@pytest.mark.parametrize("seed", range(4))
def test_every_number_is_that_of_a_slow_reference(seed):
    rng = np.random.default_rng(seed)
    k = 3 + 4 * seed
    v = rng.gamma(2.0, 0.05, k)
    y = rng.normal(0.3, np.sqrt(v + [0, 0.1, 0.02, 0.4][seed]))
    found = tn.heterogeneity(y, np.sqrt(v), level=0.9)
    tau2 = slow_reml(y, v)
    w = 1 / (v + tau2)
    mean = (w * y).sum() / w.sum()
    factor = max(1.0, (w * (y - mean) ** 2).sum() / (k - 1))
    error = math.sqrt(factor / w.sum())
    reach = t.ppf(0.95, k - 1)
    assert found.tau2 == pytest.approx(tau2, abs=1e-6)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.standard_error == pytest.approx(error, abs=1e-6)
    assert found.high == pytest.approx(mean + reach * error, abs=1e-6)
    new = reach * math.sqrt(tau2 + error**2)
    assert found.prediction_low == pytest.approx(mean - new, abs=1e-6)
    for end, probability in ((found.tau2_low, 0.95), (found.tau2_high, 0.05)):
        u = 1 / (v + end)
        spread = (u * (y - (u * y).sum() / u.sum()) ** 2).sum()
        limit = chi2.ppf(probability, k - 1)
        assert spread == pytest.approx(limit, rel=1e-8) or (end == 0 and spread <= limit)


def test_other_units_and_another_zero_change_nothing_else():
    y, error = bcg()
    plain = tn.heterogeneity(y, error)
    moved = tn.heterogeneity(1e-3 * (y + 50), 1e-3 * error)
    assert moved.tau2 == pytest.approx(1e-6 * plain.tau2, rel=1e-7)
    assert moved.low == pytest.approx(1e-3 * (plain.low + 50), rel=1e-9)
    assert moved.pvalue == pytest.approx(plain.pvalue, rel=1e-7)


def test_centres_that_agree_too_well_have_limits_of_one_true_value():
    found = tn.heterogeneity([0.2, 0.2, 0.2], [0.1, 0.1, 0.1])
    assert found.tau2 == found.tau2_high == 0
    assert found.standard_error == pytest.approx(0.1 / math.sqrt(3))
    assert found.pvalue == 1


@pytest.mark.parametrize(
    ("values", "errors", "message"),
    [
        ([1.0], [0.1], "`values` must be of at least 2 centres"),
        (
            [1.0, 2.0],
            [0.1],
            "`standard_errors` must have one entry per entry of `values`; got 1 for 2",
        ),
        ([1.0, 2.0], [0.1, 0.0], "`standard_errors` must be above 0; got 0"),
        ([1.0, math.nan], [0.1, 0.1], "`values` must be finite"),
        ([[1.0, 2.0]], [0.1, 0.1], "`values` must be one number per centre"),
    ],
)
def test_what_cannot_be_pooled_is_refused_by_name(values, errors, message):
    with pytest.raises(tn.InputError, match=message):
        tn.heterogeneity(values, errors)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "tau"), [(5, 0.0), (5, 0.5), (20, 0.2)])
def test_limits_of_the_mean_hold_as_often_as_their_level_says(k, tau):
    rng = np.random.default_rng(12)
    runs = 700
    held = 0
    for _ in range(runs):
        error = rng.uniform(0.1, 0.5, k)
        found = tn.heterogeneity(rng.normal(1, np.hypot(error, tau)), error)
        held += found.low <= 1 <= found.high
    assert held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def test_the_smallest_standard_error_is_taken_and_one_below_it_refused():
    assert tn.heterogeneity([0.0, 1.0, 2.0], [1e-20] * 3).mean == pytest.approx(1)
    with pytest.raises(tn.InputError, match="`standard_errors` must be at least 1e-20; got 9e-21"):
        tn.heterogeneity([0.0, 1.0, 2.0], [9e-21] * 3)
