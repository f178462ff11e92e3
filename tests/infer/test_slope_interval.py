"""Confidence limits of the calibration slope: R's answers, laws, extremes, simulated coverage."""

import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

import trueness as tn
from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._slope_interval import fit_line, free_intercept_interval, slope_interval

DATA = Path(os.environ.get("TRUENESS_DATA", ""))
CLINICAL = DATA / "clinical_r.json"

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def clinical():
    """Labels and scores of each set, and R's answers."""
    import csv

    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(line["set"], []).append((int(line["y"]), float(line["p"])))
    answers = json.loads(CLINICAL.read_text(encoding="utf-8"))
    return {name: (*map(np.array, zip(*rows[name], strict=True)), answers[name]) for name in answers}


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
def test_slope_and_limits_are_those_of_r_without_the_scores_of_0_and_1():
    for name, (y, p, r) in clinical().items():
        found = slope_interval(cells_of(y, p), 0.95)
        assert found.slope == pytest.approx(r["slope"], rel=1e-6), name
        # R interpolates the profile by a spline, which moves its limits by up to 3e-5.
        assert (found.slope_low, found.slope_high) == pytest.approx(r["slope_profile"], abs=5e-5), name
        assert tn.calibration_slope(y, p) == found.slope
        assert tn.calibration_intercept(y, p) == pytest.approx(r["intercept_offset"], abs=1e-6), name
        assert tn.observed_expected(y, p) == pytest.approx(r["oe"], rel=1e-9), name
        assert tn.brier(y, p) == pytest.approx(r["brier"], rel=1e-9), name
        assert (found.n_certain, found.n_inside) == (r["dropped"], y.size - r["dropped"]), name
        assert found.n_certain_wrong == int((((p == 0) & (y == 1)) | ((p == 1) & (y == 0))).sum()), name


def some_rows(n=200, seed=0, slope=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(slope * np.log(p / (1 - p)))).astype(int), p


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted, repeated = slope_interval(cells_of(y, p, w), 0.9), slope_interval(cells_of(y.repeat(w), p.repeat(w)), 0.9)
    assert weighted == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_at_the_limits_of_the_free_intercept_the_best_likelihood_has_fallen_by_half_a_quantile_of_chi_square(scale):
    y, p = some_rows(120)
    p = scale * p
    y = (np.random.default_rng(2).random(120) < p).astype(int)
    x = np.log(p / (1 - p))

    def likelihood(a):
        def loss(b):
            return np.logaddexp(0, np.where(y, -1, 1) * (a + b * x)).sum()

        return -minimize_scalar(loss, bracket=(0, 1), tol=1e-12).fun

    value, low, high, _ = free_intercept_interval(cells_of(y, p), 0.95)
    drops = [likelihood(value) - likelihood(a) for a in (low, high)]
    assert drops == pytest.approx([3.841458820694124 / 2] * 2, rel=1e-5)


def test_clusters_with_few_events_have_limits_no_closer_than_independent_rows():
    p = np.linspace(0.01, 0.2, 100)
    y = np.isin(np.arange(100), [50, 51, 97]).astype(int)
    rows = ClusteredRows(Sample(y, p, None), np.arange(100) // 5)
    for interval in (slope_interval, free_intercept_interval):
        alone, grouped = interval(cells_of(y, p), 0.95), interval(cells_of(y, p), 0.95, rows)
        assert grouped[1] <= alone[1] < alone[2] <= grouped[2]


def test_weighted_rows_have_no_more_degrees_of_freedom_than_rows_of_the_rarer_class():
    p = np.linspace(0.01, 0.2, 100)
    y = np.isin(np.arange(100), [20, 60, 75, 97]).astype(int)
    assert fit_line(cells_of(y, p, np.full(100, 0.5))).covariance.freedom == pytest.approx(3)


def test_many_rows_have_wald_limits_close_to_the_profile(monkeypatch):
    y, p = some_rows(20_000)
    profile = slope_interval(cells_of(y, p), 0.95)
    monkeypatch.setattr("trueness.infer._slope_interval.MANY", 0)
    wald = slope_interval(cells_of(y, p), 0.95)
    assert wald == pytest.approx(profile, abs=0.01 * (profile.slope_high - profile.slope_low))


def test_weights_of_one_half_and_clusters_of_one_row_agree_with_independent_rows():
    y, p = some_rows(2_000)
    plain = slope_interval(cells_of(y, p), 0.95)
    half = slope_interval(cells_of(y, p, np.full(y.size, 0.5)), 0.95)
    alone = slope_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(y.size)))
    width = plain.slope_high - plain.slope_low
    for found in (half, alone):
        assert found.slope == pytest.approx(plain.slope, rel=1e-9)
        assert (found.slope_low, found.slope_high) == pytest.approx(
            (plain.slope_low, plain.slope_high), abs=0.1 * width
        )


def test_rows_ten_times_over_in_clusters_have_the_limits_of_the_rows():
    y, p = some_rows(500)
    once = slope_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(500)))
    yy, pp, cluster = np.tile(y, 10), np.tile(p, 10), np.tile(np.arange(500), 10)
    copies = slope_interval(cells_of(yy, pp), 0.95, ClusteredRows(Sample(yy, pp, None), cluster))
    assert copies[:3] == pytest.approx(once[:3], rel=1e-9)


def test_separated_classes_have_one_finite_limit():
    low = slope_interval(cells_of([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), 0.95)
    assert math.isnan(low.slope)
    assert 0 < low.slope_low < 2
    assert low.slope_high == math.inf
    tied = slope_interval(cells_of([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.5, 0.5, 0.8, 0.9]), 0.95)
    assert -1 < tied.slope_low < low.slope_low
    turned = slope_interval(cells_of([1, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), 0.95)
    assert turned.slope_low == -math.inf
    assert turned.slope_high == pytest.approx(-low.slope_low, rel=1e-6)


@pytest.mark.parametrize(("y", "p"), [([1, 1], [0.3, 0.6]), ([0, 1], [0.4, 0.4]), ([0, 1, 1], [0.0, 1.0, 1.0])])
def test_rows_that_say_nothing_have_no_limits(y, p):
    found = slope_interval(cells_of(y, p), 0.95)
    assert math.isnan(found.slope)
    assert (found.slope_low, found.slope_high) == (-math.inf, math.inf)


def test_scores_of_0_and_1_are_counted_and_change_nothing_else():
    y, p = some_rows()
    more = slope_interval(cells_of([*y, 0, 1, 0, 1, 1], [*p, 0.0, 0.0, 1.0, 1.0, 1.0]), 0.95)
    assert more[:4] == slope_interval(cells_of(y, p), 0.95)[:4]
    assert (more.n_certain, more.n_certain_wrong) == (5, 2)


def covered(runs, n, law, slope, *, clusters=False, seed=0):
    """Shares of limits that lie above and below the true slope."""
    rng = np.random.default_rng(seed)
    above = below = 0
    for _ in range(runs):
        if clusters:
            cluster = np.repeat(np.arange(n // 5), 5)
            p = law(rng, n // 5)[cluster]
            u = np.where(rng.random(n) < 0.5, rng.random(n // 5)[cluster], rng.random(n))
        else:
            p, u = law(rng, n), rng.random(n)
        y = (u < expit(slope * (np.log(p) - np.log1p(-p)))).astype(int)
        rows = ClusteredRows(Sample(y, p, None), cluster) if clusters else None
        order = np.argsort(p, kind="stable")
        one = np.ones(n, np.int64)
        cells = cells_of(y, p) if clusters else Cells(p[order], one, one, y[order])
        found = slope_interval(cells, 0.95, rows)
        above += found.slope_low > slope
        below += found.slope_high < slope
    return above / runs, below / runs


LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(1, 15, n),
    "bimodal": lambda rng, n: np.clip(rng.beta(0.2, 0.3, n), 1e-9, 1 - 1e-9),
}


def allowed(runs):
    """A tail of 2.5 % that misses up to 3.2 % by approximation, plus four standard errors."""
    return 0.032 + 4 * math.sqrt(0.025 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_roughly_as_often_as_it_may(law):
    assert max(covered(60, 200, LAWS[law], 0.7)) < allowed(60)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.4, 1.0, 1.6])
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_as_often_as_it_may(law, slope):
    assert max(covered(400, 300, LAWS[law], slope)) < allowed(400)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("slope", [0.4, 1.0, 1.6])
def test_with_50_rows_each_limit_misses_as_often_as_it_may(law, slope):
    assert max(covered(300, 50, LAWS[law], slope)) < allowed(300)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "bimodal"])
def test_each_limit_of_clustered_rows_misses_as_often_as_it_may(law):
    assert max(covered(600, 500, LAWS[law], 0.7, clusters=True)) < allowed(600)


@pytest.mark.parametrize("turned", [False, True])
def test_at_the_limit_of_separated_classes_the_likelihood_has_fallen_from_that_of_the_tied_rows(turned):
    """By hand: as the slope grows, only the 20 of 60 rows on the threshold keep the likelihood below 1."""
    p, events = np.array([0.2, 0.5, 0.8]), np.array([0, 20, 60])
    cells = Cells(p, np.full(3, 60), np.full(3, 60), events[::-1] if turned else events)
    found = slope_interval(cells, 0.95)
    near, far = (found.slope_high, found.slope_low) if turned else (found.slope_low, found.slope_high)
    x, e = np.log(p / (1 - p)), cells.events
    best = -minimize_scalar(lambda a: (np.logaddexp(0, a + near * x) * 60 - e * (a + near * x)).sum()).fun
    assert best == pytest.approx(20 * math.log(1 / 3) + 40 * math.log(2 / 3) - 1.959964**2 / 2, abs=1e-4)
    assert far == (-math.inf if turned else math.inf)
