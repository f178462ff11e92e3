"""Confidence limits of mean losses: by hand, against slow references, extremes, simulated coverage."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, binomtest, sem

import trueness as tn
from trueness._tally.cells import Cells
from trueness.infer._row_means import (
    mean_loss_interval,
    mean_row_interval,
    rate_interval,
    scaled_brier_interval,
    uncertainty_interval,
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
MEASURES = {"brier": tn.brier, "log": tn.log_loss}


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def some_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize("loss", MEASURES)
def test_the_standard_error_is_that_of_the_mean_of_rows(loss):
    y, p = some_rows()
    losses = (p - y) ** 2 if loss == "brier" else -np.log(np.where(y, p, 1 - p))
    found = mean_loss_interval(cells_of(y, p), loss, losses.mean(), 0.95)
    assert found.standard_error == pytest.approx(sem(losses), rel=1e-9)
    assert found.low < losses.mean() - 1.5 * sem(losses) < losses.mean() + 1.5 * sem(losses) < found.high


@pytest.mark.parametrize("events", [0, 1, 3, 10, 50])
def test_at_one_score_the_brier_score_has_jeffreys_limits(events):
    p, n = 0.01, 200
    one = Cells(np.array([p]), np.array([n]), np.array([n]), np.array([events]))
    rate = events / n
    found = mean_loss_interval(one, "brier", p**2 + (1 - 2 * p) * rate, 0.95)
    jeffreys = [p**2 + (1 - 2 * p) * beta.ppf(q, events + 0.5, n - events + 0.5) for q in (0.025, 0.975)]
    width = jeffreys[1] - jeffreys[0]
    assert found.high == pytest.approx(jeffreys[1], abs=0.06 * width)
    assert found.low == pytest.approx(jeffreys[0] if events else 0.0, abs=0.06 * width)


@pytest.mark.parametrize("loss", MEASURES)
def test_limits_from_rows_from_sums_and_from_clusters_of_one_row_agree(loss):
    y, p = some_rows()
    losses = (p - y) ** 2 if loss == "brier" else -np.log(np.where(y, p, 1 - p))
    m = np.minimum(p, 1 - p)
    surprise = np.average((1 - m) ** 2 if loss == "brier" else -np.log(m), weights=m)
    of_sums = mean_loss_interval(cells_of(y, p), loss, losses.mean(), 0.9)
    assert of_sums == pytest.approx(mean_row_interval(losses, surprise, 0.9), rel=1e-9)
    alone = mean_row_interval(losses, surprise, 0.9, cluster=np.arange(y.size))
    assert of_sums == pytest.approx(alone, rel=1e-9)


def test_bins_know_the_brier_score_nearly_as_well_as_rows():
    y, p = some_rows(2_000)
    value = tn.brier(y, p)
    rows = mean_loss_interval(cells_of(y, p), "brier", value, 0.95)
    bins = mean_loss_interval(tn.binned(y, p, bins=10).parts[0], "brier", value, 0.95)
    assert bins.standard_error == pytest.approx(rows.standard_error, rel=0.02)


def test_the_scaled_score_and_its_standard_error_by_the_jackknife():
    y, p = some_rows(150)
    value = tn.scaled_brier(y, p)
    found = scaled_brier_interval(cells_of(y, p), tn.brier(y, p), 0.95)
    left = np.array([tn.scaled_brier(np.delete(y, i), np.delete(p, i)) for i in range(y.size)])
    jackknife = math.sqrt((y.size - 1) / y.size * ((left - left.mean()) ** 2).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.03)
    assert found.low < value < found.high < 1


def test_limits_of_the_rate_are_those_of_clopper_and_pearson_and_carry_over_to_its_score():
    y = np.repeat([0, 1], [80, 20])
    found = rate_interval(cells_of(y, np.full(100, 0.3)), 0.95)
    exact = binomtest(20, 100).proportion_ci(0.95)
    assert found[:2] == pytest.approx((exact.low, exact.high), rel=1e-9)
    low, high, _ = uncertainty_interval(cells_of(y, np.full(100, 0.3)), 0.95)
    assert (low, high) == pytest.approx((exact.low * (1 - exact.low), exact.high * (1 - exact.high)), rel=1e-9)
    assert uncertainty_interval(cells_of([0, 1] * 20, [0.5] * 40), 0.95).high == 0.25
    assert uncertainty_interval(cells_of([0, 1] * 20, [0.5] * 40), 0.95, score="log").high == math.log(2)


def test_certain_scores_that_are_all_right_leave_the_upper_limit_of_the_log_loss_open():
    sure = cells_of([0, 1] * 10, [0.0, 1.0] * 10)
    assert mean_loss_interval(sure, "log", 0.0, 0.95)[:2] == (0.0, math.inf)
    assert 0 < mean_loss_interval(sure, "brier", 0.0, 0.95).high < 0.2


LAWS = {
    "uniform": lambda rng, size: rng.random(size),
    "rare": lambda rng, size: rng.beta(1, 40, size),
    "confident": lambda rng, size: rng.beta(0.1, 0.1, size).clip(1e-9, 1 - 1e-9),
    "tied": lambda rng, size: rng.choice([0.05, 0.2, 0.5, 0.8, 0.95], size),
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", MEASURES)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.6, 0.0), (1.0, -0.7)])
def test_limits_cover_the_mean_loss_of_the_population(loss, law, slope, shift):
    rng, runs, n = np.random.default_rng(0), 800, 100
    grid = LAWS[law](rng, 400_000)
    q = expit(slope * logit(grid) + shift)
    event, other = ((1 - grid) ** 2, grid**2) if loss == "brier" else (-np.log(grid), -np.log1p(-grid))
    truth, held = float((q * event + (1 - q) * other).mean()), 0
    for _ in range(runs):
        p = LAWS[law](rng, n)
        y = (rng.random(n) < expit(slope * logit(p) + shift)).astype(int)
        tally = tn.tally(y, p)
        low, high, _ = mean_loss_interval(tally.parts[0], loss, MEASURES[loss](tally), 0.95)
        held += low <= truth <= high
    # Three standard errors, 0.023, beyond 0.93 to 0.98.
    assert 0.907 <= held / runs <= 0.998


def test_scores_without_an_error_have_no_lower_limit_of_the_scaled_score():
    found = scaled_brier_interval(cells_of([0, 1, 1], [0.0, 1.0, 1.0]), 0.0, 0.95)
    assert found[:2] == (-math.inf, 1.0)


def test_one_event_leaves_one_degree_of_freedom_and_finite_limits():
    y, p = np.arange(16) == 0, np.linspace(0.02, 0.2, 16)
    found = scaled_brier_interval(cells_of(y, p), tn.brier(y, p), 0.5)
    ratio = tn.brier(y, p) * 256 / 15
    reach = 1.0 * found.standard_error  # the upper quartile of Student's t with one degree of freedom is 1
    assert found.low == pytest.approx(1 - max(ratio + reach, ratio * math.exp(reach / ratio)))
    assert found.high == pytest.approx(1 - max(min(ratio - reach, ratio * math.exp(-reach / ratio)), 0))


def limits_of(found):
    return found.low, found.high, found.standard_error


NAMES = {"brier": "brier", "log": "log_loss"}


def matrix_rows(n=50, K=3, seed=2):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), n)
    return np.array([rng.choice(K, p=row) for row in P]), P


@pytest.mark.parametrize("loss", NAMES)
def test_a_weight_of_two_is_the_row_twice_for_several_classes(loss):
    y, P = matrix_rows()
    w = np.arange(y.size) % 3
    found = tn.estimate(NAMES[loss], y, P, sample_weight=w)
    twice = tn.estimate(NAMES[loss], np.repeat(y, w), np.repeat(P, w, axis=0))
    assert limits_of(found) == pytest.approx(limits_of(twice), rel=1e-12)
