"""Confidence bands around splines and loess."""

import csv
import gzip
import json
import math
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, f, norm, t

import trueness as tn
from trueness.infer.band._curve_bands import band_of_cells, critical_value
from trueness.measure._flexible_curve import fit_curve

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


def rows_with_ends(n=120):
    """Labels, scores with ties and some that are 0 or 1, weights, and clusters of unequal size."""
    rng = np.random.default_rng(5)
    p = rng.choice(np.linspace(0.02, 0.98, 40), n)
    p[:3], p[3:6] = 0.0, 1.0
    y = (rng.random(n) < p).astype(int)
    return y, p, rng.choice([0.5, 1.25, 2.0, 3.5], n), rng.integers(0, 30, n) ** 2 // 40


def independent_units(w, cluster):
    sums = np.bincount(np.unique(cluster, return_inverse=True)[1], w)
    return sums.sum() ** 2 / (sums**2).sum()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.all_cases
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("knots", [3, 5])
def test_limits_of_splines_are_those_of_the_sandwich_row_by_row(clustered, weighted, knots):
    y, p, w, cluster = rows_with_ends()
    options = ({"sample_weight": w} if weighted else {}) | ({"cluster": cluster} if clustered else {})
    at = np.array([0.05, 0.3, 0.7, 0.97])
    band = tn.curve_band(y, p, at=at, level=0.8, knots=knots, **options)
    if not weighted:
        w = np.ones(y.size)
    fit = fit_curve(tn.tally(y, p, sample_weight=w if weighted else None).parts[0], "spline", knots).fit
    kept = (p > 0) & (p < 1)
    X, b = fit.columns(logit(p[kept])), fit.coefficients
    q = expit(X @ b)
    bread = np.linalg.inv(X.T @ (X * (w[kept] * q * (1 - q))[:, None]))
    terms = X * (w[kept] * (y[kept] - q))[:, None]
    meat, quantile = terms.T @ terms, t.ppf(0.9, w[kept].sum() ** 2 / (w[kept] ** 2).sum() - 1)
    if clustered:
        names = np.unique(cluster[kept])
        sums = np.array([terms[cluster[kept] == g].sum(axis=0) for g in names])
        meat = sums.T @ sums * names.size / (names.size - 1)
        quantile = t.ppf(0.9, independent_units(w, cluster) - 1)
    variance = bread @ meat @ bread
    if not weighted and not clustered:
        variance, quantile = bread, norm.ppf(0.9)
    S = fit.columns(logit(at))
    error = np.sqrt(np.einsum("ij,jk,ik->i", S, variance, S))
    assert band.y == pytest.approx(expit(S @ b), rel=1e-6)
    assert band.low == pytest.approx(expit(S @ b - quantile * error), rel=1e-5)
    assert band.high == pytest.approx(expit(S @ b + quantile * error), rel=1e-5)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_limits_of_loess_are_the_wider_of_two_row_by_row(clustered, weighted):
    y, p, w, cluster = rows_with_ends()
    y[p < 0.3] = 0
    options = ({"sample_weight": w} if weighted else {}) | ({"cluster": cluster} if clustered else {})
    at = np.array([0.0, 0.05, 0.3, 0.7, 1.0])
    band = tn.curve_band(y, p, curve="loess", at=at, level=0.8, **options)
    if not weighted:
        w = np.ones(y.size)
    cells = tn.tally(y, p, sample_weight=w if weighted else None).parts[0]
    fit = fit_curve(cells, "loess")
    cell = np.searchsorted(cells.score, p)
    share = (fit.smoother.design(at) @ fit.smoother.operator)[:, cell] * w
    height, end = fit.at(cells.score)[cell], 0.5 / (y.size + 1)
    assert band.y == pytest.approx(share @ y, abs=1e-9)
    if clustered:
        names = np.unique(cluster)
        terms = share * (y - height)
        sums = np.array([terms[:, cluster == g].sum(axis=1) for g in names])
        variance, c = (sums**2).sum(axis=0) * names.size / (names.size - 1), independent_units(w, cluster) - 1
    else:
        inner = np.clip(height, end, 1 - end)
        variance, c = share**2 @ (inner * (1 - inner)), w.sum() ** 2 / (w**2).sum() - 1
    c = t.ppf(0.9, c) if weighted or clustered else norm.ppf(0.9)
    middle, error = np.clip(band.y, end, 1 - end), np.sqrt(variance)
    for i, (m, e) in enumerate(zip(middle, error, strict=True)):
        n = m * (1 - m) / e**2
        # Wilson: the rates r with n (m − r)² = c² r (1 − r).
        low, high = sorted(np.roots([n + c**2, -2 * n * m - c**2, n * m**2]).real)
        assert band.low[i] == pytest.approx(max(0, min(low, m - c * e)), abs=1e-7)
        assert band.high[i] == pytest.approx(min(1, max(high, m + c * e)), abs=1e-7)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("curve", CURVES)
def test_whole_weights_repeat_the_rows_of_a_cluster(curve):
    y, p, _, cluster = rows_with_ends()
    y[p < 0.3] = 0
    w = 1 + np.arange(y.size) % 4
    again = [np.repeat(column, w) for column in (y, p, cluster)]
    weighted = tn.curve_band(y, p, curve=curve, sample_weight=w, cluster=cluster, at=[0.05, 0.1, 0.5])
    repeated = tn.curve_band(*again[:2], curve=curve, cluster=again[2], at=[0.05, 0.1, 0.5])
    assert weighted.low == pytest.approx(repeated.low, abs=1e-9)
    assert weighted.high == pytest.approx(repeated.high, abs=1e-9)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_two_columns_are_binary_unless_their_kind_is_given():
    y, p = simulated(80)
    P, cluster = np.stack([1 - p, p], axis=1), np.arange(80) // 2
    assert np.array_equal(tn.curve_band(y, P, cluster=cluster).low, tn.curve_band(y, p, cluster=cluster).low)
    top = tn.curve_band(y, P, kind="confidence", at=[0.6, 0.9])
    expected = tn.curve_band((y == (p > 0.5)).astype(int), np.maximum(p, 1 - p), at=[0.6, 0.9])
    assert top.low == pytest.approx(expected.low)


def test_one_cluster_that_outweighs_all_others_leaves_no_band():
    y, p = simulated(60)
    w = np.full(60, 1e-12)
    w[30] = 1e9
    with pytest.warns(tn.TruenessWarning) as seen:
        band = tn.curve_band(y, p, curve="loess", cluster=np.arange(60), sample_weight=w, at=[0.2, 0.5])
    assert any(issubclass(one.category, tn.NoEstimateWarning) for one in seen)
    assert np.isnan(band.low).all()
    assert np.isnan(band.high).all()
    assert np.isfinite(band.y).all()
    assert (band.resamples, band.level, band.method, band.band) == (0, 0.95, "loess", "pointwise")


def test_scores_of_0_and_1_may_be_asked_for():
    y, p = simulated(60)
    assert np.isnan(tn.curve_band(y, p, at=[0, 0.5, 1]).low).tolist() == [True, False, True]


def length_of(path):
    """Of the path on the unit sphere, from the angles between its steps."""
    unit = path / np.linalg.norm(path, axis=1)[:, None]
    return np.arccos(np.clip((unit[1:] * unit[:-1]).sum(axis=1), -1, 1)).sum()


@pytest.mark.all_cases
@pytest.mark.parametrize("level", [0.1, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("freedom", [3.0, 40.0, math.inf])
def test_the_simultaneous_quantile_solves_the_equation_of_the_tube(level, freedom):
    x, angle, axes = np.linspace(-1, 1, 150), np.linspace(0, math.pi / 2, 12)[:, None], np.eye(12)
    around = np.concatenate([np.cos(angle) * one + np.sin(angle) * next_ for one, next_ in pairwise(axes)])
    # Few dimensions have a small bound by Scheffé, many a large one.
    for path in (np.stack([2 + x, x**2, x**3], axis=1), around * 3):
        c, k = critical_value(path, level, freedom, simultaneous=True), path.shape[1]
        inf = math.isinf(freedom)
        scheffe = math.sqrt(chi2.ppf(level, k) if inf else k * f.ppf(level, k, freedom))
        density = math.exp(-(c**2) / 2) if inf else (1 + c**2 / freedom) ** (-freedom / 2)
        beyond = length_of(path) / math.pi * density + 2 * (norm if inf else t(freedom)).sf(c)
        assert c <= scheffe * (1 + 1e-9)
        if c < scheffe * (1 - 1e-9):
            assert beyond == pytest.approx(1 - level, rel=1e-6)
        else:
            assert beyond >= (1 - level) * (1 - 1e-6)
        assert critical_value(path, level, freedom, simultaneous=False) == pytest.approx(
            (norm if inf else t(freedom)).ppf((1 + level) / 2)
        )


def test_a_path_that_stands_still_has_the_pointwise_quantile():
    still = np.outer([1.0, 2.0, 5.0], [0.6, 0.8])
    assert critical_value(still, 0.9, math.inf, simultaneous=True) == pytest.approx(norm.ppf(0.95))
    assert critical_value(still[:1], 0.9, 7.0, simultaneous=True) == pytest.approx(t.ppf(0.95, 7))
    # There and back by half a turn at once: of length π.
    turned = np.array([[1.0, 0.0], [-1.0, 0.0]])
    c = critical_value(turned, 0.9, math.inf, simultaneous=True)
    assert c == pytest.approx(norm.ppf(0.95))


def test_one_row_that_outweighs_all_others_leaves_a_band_from_0_to_1():
    y, p = simulated(60)
    w = np.full(60, 1e-6)
    w[30] = 1e6
    with pytest.warns(tn.TruenessWarning):
        band = tn.curve_band(y, p, curve="loess", sample_weight=w, cluster=np.arange(60), at=[p[0], p[1]])
    assert band.low == pytest.approx([0, 0], abs=1e-6)
    assert band.high == pytest.approx([1, 1], abs=1e-6)


def test_the_band_of_cells_has_five_knots_by_default():
    y, p = simulated(200)
    cells, at = tn.tally(y, p).parts[0], np.array([0.2, 0.6])
    one, other = (band_of_cells(cells, "spline", "pointwise", 0.95, at=at), tn.curve_band(y, p, at=at, knots=5))
    assert np.array_equal(one.low, other.low)
    assert not np.array_equal(one.low, tn.curve_band(y, p, at=at, knots=6).low)
    assert (one.resamples, one.level, one.method, one.band) == (0, 0.95, "spline", "pointwise")


def test_only_splines_leave_out_scores_of_0_and_1():
    y, p = simulated(60)
    p[:2] = 0.0, 1.0
    with pytest.warns(tn.CertainScoresWarning):
        tn.curve_band(y, p)
    assert np.isfinite(tn.curve_band(y, p, curve="loess", at=[0.0, 1.0]).low).all()


def test_the_largest_score_of_three_columns_is_examined():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 100)
    y = np.array([rng.choice(3, p=row) for row in P])
    found = tn.curve_band(y, P, at=[0.5, 0.7])
    expected = tn.curve_band((y == P.argmax(axis=1)).astype(int), P.max(axis=1), at=[0.5, 0.7])
    assert np.array_equal(found.low, expected.low)
    with pytest.raises(tn.InputError, match="must be 'confidence' for the band of a matrix"):
        tn.curve_band(y, P, kind="classwise")
