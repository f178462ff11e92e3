"""Confidence bands around splines and loess."""

import csv
import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness.infer._curve_bands import band_of_cells, critical_value

DATA = Path(os.environ.get("TRUENESS_DATA", "../shared/data"))
CLINICAL = DATA / "clinical_r.json"
CURVES = ["spline", "loess"]


def simulated(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
@pytest.mark.filterwarnings("ignore::trueness.CertainScoresWarning")
def test_pointwise_limits_of_splines_are_those_of_r():
    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["set"], []).append((int(row["y"]), float(row["p"])))
    for name, from_r in json.loads(CLINICAL.read_text()).items():
        if "at" in from_r["rcs5"]:
            band = tn.curve_band(*np.array(rows[name]).T, at=from_r["rcs5"]["at"])
            for found, key in ((band.y, "curve"), (band.low, "low"), (band.high, "high")):
                assert found == pytest.approx(from_r["rcs5"][key], abs=1e-9)


@pytest.mark.parametrize("curve", CURVES)
def test_bands_contain_the_curve_and_simultaneous_ones_are_wider(curve):
    y, p = simulated()
    each, whole = (tn.curve_band(y, p, curve=curve, band=band) for band in ("pointwise", "simultaneous"))
    assert np.array_equal(each.y, tn.reliability_curve(y, p, method=curve).y)
    assert (each.low <= each.y).all()
    assert (each.y <= each.high).all()
    assert (whole.low <= each.low).all()
    assert (whole.high >= each.high).all()
    assert ((whole.low >= 0) & (whole.high <= 1)).all()
    assert str(whole).startswith(
        f"95 % simultaneous confidence band of a {curve} curve at {whole.x.size} scores, at most"
    )


def test_the_simultaneous_quantile_is_that_of_the_largest_t():
    t = np.linspace(-1, 1, 200)
    path = np.stack([np.ones(200), t, t**2, t**3], axis=1)
    c = critical_value(path, 0.95, math.inf, simultaneous=True)
    unit = path / np.linalg.norm(path, axis=1)[:, None]
    largest = np.abs(np.random.default_rng(0).standard_normal((20_000, 4)) @ unit.T).max(axis=1)
    assert np.mean(largest <= c) == pytest.approx(0.95, abs=0.008)
    assert critical_value(path, 0.95, math.inf, simultaneous=False) == pytest.approx(1.959964)
    assert critical_value(path, 0.95, 5.0, simultaneous=True) > c
    # A path that turns round and round is bounded by Scheffé's method.
    turns = np.stack([np.cos(50 * t), np.sin(50 * t)], axis=1)
    assert critical_value(turns, 0.95, math.inf, simultaneous=True) == pytest.approx(math.sqrt(-2 * math.log(0.05)))


@pytest.mark.parametrize("curve", CURVES)
def test_clusters_of_copies_give_the_band_of_one_copy(curve):
    y, p = simulated(160)
    at = [0.2, 0.5, 0.8]
    one = tn.curve_band(y, p, curve=curve, at=at, cluster=np.arange(160))
    four = tn.curve_band(np.tile(y, 4), np.tile(p, 4), curve=curve, at=at, cluster=np.tile(np.arange(160), 4))
    assert four.low == pytest.approx(one.low, abs=1e-3)
    assert four.high == pytest.approx(one.high, abs=1e-3)
    # One row per cluster: nearly the band of independent rows.
    plain = tn.curve_band(y, p, curve=curve, at=at)
    assert one.high - one.low == pytest.approx(plain.high - plain.low, rel=0.15)


@pytest.mark.parametrize("curve", CURVES)
def test_weights(curve):
    y, p = simulated(100)
    w = np.random.default_rng(1).integers(1, 4, 100)
    at = [0.2, 0.6]
    repeated = tn.curve_band(np.repeat(y, w), np.repeat(p, w), curve=curve, at=at)
    assert tn.curve_band(y, p, curve=curve, at=at, sample_weight=w).low == pytest.approx(repeated.low, abs=1e-9)
    halves, plain = (tn.curve_band(y, p, curve=curve, at=at, **o) for o in ({"sample_weight": np.full(100, 0.5)}, {}))
    assert halves.high - halves.low == pytest.approx(plain.high - plain.low, rel=0.15)
    own = {"cluster": np.arange(100) // 2, "curve": curve, "at": at}
    clustered = [tn.curve_band(y, p, sample_weight=np.full(100, w), **own).low for w in (1, 0.5)]
    assert clustered[1] == pytest.approx(clustered[0], abs=0.01)


@pytest.mark.filterwarnings("ignore::trueness.CertainScoresWarning")
def test_no_curve_has_no_band():
    with pytest.warns(tn.NoEstimateWarning):
        band = tn.curve_band([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert np.isnan(band.low).all()
    y, p = simulated(60)
    assert np.isnan(tn.curve_band(y, p, at=[0.0, 0.5]).low).tolist() == [True, False]
    assert np.isnan(tn.curve_band(y, p, curve="loess", at=[0.001, 0.5]).low).tolist() == [True, False]


def test_a_matrix_of_two_columns_is_the_binary_problem_of_the_second():
    y, p = simulated(60)
    assert np.array_equal(tn.curve_band(y, np.stack([1 - p, p], axis=1)).low, tn.curve_band(y, p).low)


def test_messages():
    y, p = simulated(60)
    with pytest.raises(tn.InputError, match=r"`at` must be scores in \[0, 1\]; the first other one is 1.5"):
        tn.curve_band(y, p, at=[0.5, 1.5])
    with pytest.raises(tn.InputError, match="`at` must be a list of scores; got an array of 2 dimensions"):
        tn.curve_band(y, p, at=[[0.5]])
    with pytest.raises(tn.InputError, match=r"`at` must be scores in \[0, 1\]; got 'half'"):
        tn.curve_band(y, p, at="half")
    with pytest.raises(tn.InputError, match="`knots` must be a whole number from 3 to 7; got 0"):
        tn.curve_band(y, p, knots=0)
    with pytest.raises(tn.InputError, match="`band` must be 'pointwise' or 'simultaneous'; got 'both'"):
        tn.curve_band(y, p, band="both")
    with pytest.raises(tn.InputError, match="`knots` is only for `curve='spline'`; the curve is 'loess'"):
        tn.curve_band(y, p, curve="loess", knots=4)


LAWS = {"uniform": (1, 1), "rare": (0.5, 10), "confident": (0.3, 0.3)}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(("n", "runs"), [(100, 200), (1000, 300)])
@pytest.mark.parametrize("slope", [1.0, 0.6])
def test_coverage_of_splines(law, n, runs, slope):
    rng = np.random.default_rng(0)
    each, whole = [], []
    for _ in range(runs):
        p = np.clip(rng.beta(*law, n), 1e-9, 1 - 1e-9)
        cells = tn.tally((rng.random(n) < expit(slope * logit(p))).astype(int), p).parts[0]
        band = band_of_cells(cells, "spline", "pointwise", 0.95)
        if np.isnan(band.low).any():
            continue
        at = rng.choice(p, 30)
        truth = expit(slope * logit(at))
        each.append(np.mean((np.interp(at, band.x, band.low) <= truth) & (truth <= np.interp(at, band.x, band.high))))
        band = band_of_cells(cells, "spline", "simultaneous", 0.95)
        truth = expit(slope * logit(band.x))
        whole.append(((band.low <= truth) & (truth <= band.high)).all())
    assert np.mean(each) == pytest.approx(0.955, abs=0.025)
    assert np.mean(whole) > 0.93 - 3 * math.sqrt(0.07 / runs) * (1 if n == 1000 else 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_coverage_of_loess(law):
    rng = np.random.default_rng(0)
    whole = []
    for _ in range(200):
        p = np.clip(rng.beta(*law, 500), 1e-9, 1 - 1e-9)
        band = tn.curve_band((rng.random(500) < p).astype(int), p, curve="loess", band="simultaneous")
        whole.append(((band.low <= band.x) & (band.x <= band.high)).all())
    assert np.mean(whole) > 0.95 - 3 * math.sqrt(0.05 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("curve", CURVES)
def test_coverage_in_clusters_of_five(curve):
    rng = np.random.default_rng(0)
    cluster, each, naive = np.repeat(np.arange(200), 5), [], []
    at = np.array([0.1, 0.2, 0.3, 0.5])
    for _ in range(200):
        p = np.repeat(rng.beta(2, 4, 200), 5)
        y = (np.repeat(rng.random(200), 5) < p).astype(int)
        y = np.where(rng.random(1000) < 0.4, (rng.random(1000) < p).astype(int), y)
        for kept, options in ((each, {"cluster": cluster}), (naive, {})):
            band = tn.curve_band(y, p, curve=curve, at=at, **options)
            kept.append(np.mean((band.low <= at) & (at <= band.high)))
    assert np.mean(each) == pytest.approx(0.955, abs=0.03)
    assert np.mean(naive) < 0.9


def test_a_band_without_estimate_says_so():
    with pytest.warns(tn.TruenessWarning):
        band = tn.curve_band([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    assert str(band) == "95 % pointwise confidence band of a spline curve at 512 scores: no finite estimate"
