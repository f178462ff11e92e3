"""Confidence limits of the calibration intercept: R's answers, laws, extremes, simulated coverage."""

import csv
import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import trueness as tn
from trueness._input.sample import Sample
from trueness.infer import _shift_interval
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._shift_interval import shift_interval

DATA = Path(os.environ.get("TRUENESS_DATA", ""))
CLINICAL = DATA / "clinical_r.json"

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def some_rows(n=200, seed=0, shift=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(np.log(p / (1 - p)) + shift)).astype(int), p


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
def test_intercept_and_limits_are_those_of_r():
    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(line["set"], []).append((int(line["y"]), float(line["p"])))
    for name, r in json.loads(CLINICAL.read_text(encoding="utf-8")).items():
        y, p = map(np.array, zip(*rows[name], strict=True))
        found = shift_interval(cells_of(y, p), 0.95)
        assert found.shift == pytest.approx(r["intercept_offset"], abs=1e-6), name
        # R interpolates the profile by a spline, which moves its limits by up to 3e-5.
        assert (found.low, found.high) == pytest.approx(r["intercept_offset_profile"], abs=5e-5), name


def test_limits_are_where_the_likelihood_has_fallen_by_half_the_chi_squared_quantile():
    y, p = some_rows()
    x = np.log(p / (1 - p))
    grid = np.linspace(-2, 3, 5001)
    eta = x + grid[:, None]
    likelihood = (y * -np.logaddexp(0, -eta) + (1 - y) * -np.logaddexp(0, eta)).sum(axis=1)
    inside = grid[likelihood >= likelihood.max() - 3.841458820694124 / 2]
    found = shift_interval(cells_of(y, p), 0.95)
    assert (found.shift, found.low, found.high) == pytest.approx(
        (grid[likelihood.argmax()], inside[0], inside[-1]), abs=1.1e-3
    )


def test_weight_two_is_the_row_twice_and_swapping_the_classes_swaps_the_limits():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted, repeated = shift_interval(cells_of(y, p, w), 0.9), shift_interval(cells_of(y.repeat(w), p.repeat(w)), 0.9)
    assert weighted == pytest.approx(repeated, rel=1e-9)
    shift, low, high, error = shift_interval(cells_of(1 - y, 1 - p, w), 0.9)
    assert (-shift, -high, -low, error) == pytest.approx(tuple(weighted), rel=1e-8)


def test_many_rows_halved_weights_and_clusters_of_one_row_have_nearly_the_same_limits(monkeypatch):
    y, p = some_rows(2_000)
    plain = shift_interval(cells_of(y, p), 0.95)
    half = shift_interval(cells_of(y, p, np.full(y.size, 0.5)), 0.95)
    alone = shift_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(y.size)))
    monkeypatch.setattr("trueness.infer._shift_interval._MANY", 0)
    wald = shift_interval(cells_of(y, p), 0.95)
    for found in (half, alone, wald):
        assert tuple(found) == pytest.approx(tuple(plain), abs=0.03 * (plain.high - plain.low))


def test_pooled_scores_have_the_same_limits(monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.beta(0.3, 15, 20_000)
    y = (rng.random(p.size) < expit(np.log(p) - np.log1p(-p) - 1)).astype(int)
    pooled = shift_interval(cells_of(y, p), 0.95)
    monkeypatch.setattr("trueness.infer._shift_interval._MANY_SCORES", 10**6)
    assert tuple(pooled) == pytest.approx(tuple(shift_interval(cells_of(y, p), 0.95)), abs=1e-6)


@pytest.mark.parametrize("label", [0, 1])
def test_equal_labels_have_one_finite_limit(label):
    side = 1 if label else -1
    shift, low, high, _ = shift_interval(cells_of([label] * 50, np.linspace(0.2, 0.8, 50)), 0.95)
    assert math.isnan(shift)
    near, far = (low, high) if label else (high, low)
    assert far == side * math.inf
    # At the limit, labels that are all equal have probability 2.5 %.
    x = np.log(np.linspace(0.2, 0.8, 50) / np.linspace(0.8, 0.2, 50))
    assert np.logaddexp(0, -side * (x + near)).sum() == pytest.approx(-math.log(0.025), rel=1e-9)


@pytest.mark.parametrize("p", [[0.0, 1.0], [1e-300, 1e-300], [0.5, 1 - 2**-53]])
def test_scores_near_or_at_the_ends_do_no_harm(p):
    shift, low, high, _ = shift_interval(cells_of([0, 1], p), 0.95)
    assert (math.isnan(shift) and (low, high) == (-math.inf, math.inf)) or low < shift < high


@pytest.mark.slow
@pytest.mark.parametrize(("n", "scale"), [(100, 1.0), (1000, 0.1), (100, 0.1), (100, 0.065)])
def test_the_interval_covers_the_shift_as_often_as_stated(n, scale):
    rng, runs, missed = np.random.default_rng(5), 1000, 0
    for _ in range(runs):
        p = scale * rng.random(n)
        y = rng.random(n) < expit(np.log(p) - np.log1p(-p) - 0.5)
        found = shift_interval(cells_of(y.astype(int), p), 0.95)
        missed += not found.low <= -0.5 <= found.high
    tolerance = 3.5 * math.sqrt(0.05 * 0.95 / runs)
    assert missed / runs < 0.05 + tolerance
    if n * scale > 50:  # with two or three expected events there are often none, and the limit is exact
        assert missed / runs > 0.05 - tolerance


@pytest.mark.parametrize("length", [1, 2, 3])
def test_sums_of_runs_are_those_of_their_rows(monkeypatch, length):
    monkeypatch.setattr(_shift_interval, "_BLOCK", 6)
    x, w, e = np.linspace(-3, 3, 13), np.arange(1, 14), np.arange(13) % 3
    q = expit(x + 0.5)
    columns = w, e, w * q, w * (1 - q), w * q * (1 - q)
    expected = [[column[i : i + length].sum() for i in range(0, 13, length)] for column in columns]
    np.testing.assert_allclose(_shift_interval._run_sums(x, w, e, 0.5, length), expected, rtol=1e-12)


def test_two_weighted_rows_have_one_degree_of_freedom():
    """By hand: log-odds of 0, so that the information is Σw/4 and the meat Σw²/4; Student's t of 1."""
    cells = cells_of([0, 1], [0.5, 0.5], [0.7, 0.9])
    found = _shift_interval._precision(np.zeros(1), cells, 0.0, None)
    assert found == (pytest.approx(0.4**2 / ((0.7**2 + 0.9**2) / 4)), 1.0)


def test_runs_with_much_information_are_pooled_score_by_score(monkeypatch):
    """Ten of 100 scores have nearly all rows: pools must not join them with each other."""
    monkeypatch.setattr(_shift_interval, "_MANY_SCORES", 20)
    monkeypatch.setattr(_shift_interval, "_SHORT_RUN", 4)
    x, w = np.linspace(-2, 2, 101), np.ones(101, dtype=np.int64)
    w[40:50] = 1_000
    e = np.round(w * expit(x)).astype(np.int64)
    pooled, weight, events = _shift_interval._pool(x, w, e, 0.0)
    assert (weight.sum(), events.sum()) == (w.sum(), e.sum())
    assert pooled[weight >= 1_000][1:-1] == pytest.approx(x[41:49])
    assert (np.diff(pooled) > 0).all()
    assert weight @ expit(pooled) == pytest.approx(w @ expit(x), rel=1e-12)
