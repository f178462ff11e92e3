"""Flexible calibration curves by splines and loess, and ICI, E50, E90, Emax."""

import csv
import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

import trueness as tn
from trueness.measure._flexible_curve import curve_places, distances, few_cells, fit_curve

DATA = Path(os.environ.get("TRUENESS_DATA", "../shared/data"))
CLINICAL = DATA / "clinical_r.json"
MEASURES = {"ici": tn.ici, "e50": tn.e50, "e90": tn.e90, "emax": tn.emax}
CURVES = ["spline", "loess"]

pytestmark = pytest.mark.filterwarnings("ignore::trueness.CertainScoresWarning")


def simulated(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, n)
    return (rng.random(n) < p**1.2).astype(int), p


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
def test_all_four_are_those_of_r():
    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["set"], []).append((int(row["y"]), float(row["p"])))
    for name, from_r in json.loads(CLINICAL.read_text()).items():
        tally = tn.tally(*np.array(rows[name]).T)
        for key, measure in MEASURES.items():
            assert measure(tally, curve="loess") == pytest.approx(from_r[f"loess_{key}"], abs=2e-6)
            if key in from_r["rcs5"]:  # R fails on one set: its spline of five knots separates the labels
                assert measure(tally) == pytest.approx(from_r["rcs5"][key], abs=1e-9)
    (few,) = tn.reliability_curve(tally, method="spline", knots=5).knots
    assert len(few) == 5


@pytest.mark.parametrize("curve", CURVES)
def test_the_mean_distance_from_the_diagonal_and_its_quantiles(curve):
    y, p = simulated()
    # The curve at the scores themselves, from its 512 points.
    found = tn.reliability_curve(y, p, method=curve)
    gaps = np.abs(np.interp(p, found.x, found.y) - p)
    expected = [gaps.mean(), *np.quantile(gaps, [0.5, 0.9, 1])]
    assert [m(y, p, curve=curve) for m in MEASURES.values()] == pytest.approx(expected, abs=1e-4)
    assert found.n.sum() == y.size
    assert (found.x[0], found.x[-1]) == (p.min(), p.max())


def reference_loess(p, y, at):
    """Local quadratics at each place, row by row."""
    reach = np.sort(np.abs(p - at))[int(0.75 * p.size) - 1]
    root = np.sqrt(np.clip(1 - (np.abs(p - at) / reach) ** 3, 0, 1) ** 3)
    columns = np.stack([np.ones(p.size), p - at, (p - at) ** 2], axis=1)
    return np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0][0]


def test_loess_is_a_local_quadratic_at_the_median_and_near_it_elsewhere():
    y, p = simulated()
    curve = fit_curve(tn.tally(y, p).parts[0], "loess")
    middle = np.sort(p)[p.size // 2 - 1]
    assert curve.at(np.array([middle]))[0] == pytest.approx(reference_loess(p, y, middle), abs=2e-5)
    places = np.quantile(p, [0.1, 0.3, 0.7, 0.9])
    assert curve.at(places) == pytest.approx([reference_loess(p, y, at) for at in places], abs=0.02)
    assert np.isnan(curve.at(np.array([p.min() - 0.1, 0.999]))).all()


@pytest.mark.parametrize("curve", CURVES)
def test_whole_weights_repeat_rows_and_the_scale_of_others_does_not_matter(curve):
    y, p = simulated(80)
    w = np.random.default_rng(1).integers(1, 4, 80)
    repeated = [m(np.repeat(y, w), np.repeat(p, w), curve=curve) for m in MEASURES.values()]
    assert [m(y, p, curve=curve, sample_weight=w) for m in MEASURES.values()] == pytest.approx(repeated, rel=1e-9)
    for scale in (0.25, 1 / 3):
        found = [m(y, p, curve=curve, sample_weight=scale * w) for m in MEASURES.values()]
        assert found == pytest.approx(repeated, abs=0.03)


@pytest.mark.parametrize("curve", CURVES)
def test_many_scores_are_pooled_and_hardly_differ(curve, monkeypatch):
    cells = tn.tally(*simulated(40_000)).parts[0]
    pooled = distances(fit_curve(cells, curve))
    monkeypatch.setattr("trueness.measure._flexible_curve._MANY", 10**6)
    assert pooled == pytest.approx(distances(fit_curve(cells, curve)), abs=3e-5)


def test_a_spline_leaves_out_certain_scores_and_says_so():
    y, p = simulated(60)
    with pytest.warns(tn.CertainScoresWarning, match=r"3 of 63 scores .* The spline leaves them out, .* 1 of them con"):
        assert tn.ici([*y, 0, 1, 1], [*p, 0.0, 1.0, 0.0]) == tn.ici(y, p)


def test_a_spline_that_separates_the_labels_has_fewer_knots_or_is_nan():
    y, p = simulated(200)
    (knots,) = tn.reliability_curve(y, p, method="spline").knots
    assert len(knots) == 5
    # No event below 0.3: a spline may fall to minus infinity there without limit.
    low = np.linspace(0.001, 0.3, 300)
    (few,) = tn.reliability_curve([*np.zeros(300, int), *y], [*low, *(0.4 + p / 2)], method="spline").knots
    assert len(few) < 5
    with pytest.warns(tn.NoEstimateWarning, match="curve has no finite estimate"):
        assert math.isnan(tn.ici([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))
    with pytest.warns(tn.NoEstimateWarning):
        assert np.isnan(tn.reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], method="spline").y).all()


@pytest.mark.parametrize("curve", CURVES)
def test_one_score_is_its_rate(curve):
    assert tn.ici([0, 1, 1, 1], [0.5] * 4, curve=curve) == pytest.approx(0.25)
    assert tn.emax([0, 1, 1, 1], [0.5] * 4, curve=curve) == pytest.approx(0.25)


def test_bad_options():
    with pytest.raises(tn.InputError, match="`curve` must be 'spline' or 'loess'; got 'lowess'"):
        tn.ici([0, 1], [0.1, 0.9], curve="lowess")
    for knots in (2, 8, 3.5, True):
        with pytest.raises(tn.InputError, match="`knots` must be a whole number from 3 to 7; got"):
            tn.e90([0, 1], [0.1, 0.9], knots=knots)
    with pytest.raises(tn.InputError, match="`knots` is only for `method='spline'`; the method is 'loess'"):
        tn.reliability_curve([0, 1], [0.1, 0.9], method="loess", knots=5)


def test_loess_of_scores_that_are_nearly_all_tied():
    y, p = [1] * 20 + [0] * 80 + [0, 1, 1], [0.2] * 100 + [0.5, 0.7, 0.9]
    curve = fit_curve(tn.tally(y, p).parts[0], "loess")
    assert curve.at(np.array([0.2]))[0] == pytest.approx(0.2)
    assert np.isfinite(curve.at(np.array([0.3, 0.6, 0.9]))).all()


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("law", ["tiny", "tied", "confident"])
def test_quantiles_are_in_order_for_any_weights(curve, law):
    rng = np.random.default_rng(4)
    p = {
        "tiny": 10.0 ** -rng.uniform(0, 300, 40),
        "tied": rng.integers(1, 4, 40) / 4,
        "confident": rng.beta(0.1, 0.1, 40),
    }[law]
    y = rng.integers(0, 2, 40)
    for w in (None, rng.integers(1, 10**6, 40), 10.0 ** rng.uniform(-8, 8, 40)):
        mean, *ranks = (m(y, p, curve=curve, sample_weight=w) for m in MEASURES.values())
        assert ranks == sorted(ranks)
        assert 0 <= mean <= ranks[-1] * (1 + 1e-9)


def test_places_are_even_in_scores_and_in_log_odds():
    rng = np.random.default_rng(6)
    for p in (
        rng.uniform(0.02, 0.7, 300),
        np.concatenate([[0.0, 1.0], rng.uniform(0.02, 0.7, 300)]),
        np.array([0.2, 0.9]),
    ):
        inside = p[(p > 0) & (p < 1)]
        ends = np.log(inside / (1 - inside))
        even = 1 / (1 + np.exp(-np.linspace(ends.min(), ends.max(), 256)[1:-1]))
        expected = np.unique(np.concatenate([np.linspace(p.min(), p.max(), 258), even]))
        found = curve_places(tn.tally(np.arange(p.size) % 2, p).parts[0])
        assert found == pytest.approx(expected, abs=1e-12)
        assert found.size == 512
    assert curve_places(tn.tally([0, 1], [0.3, 0.3]).parts[0]).tolist() == [0.3]
    certain = curve_places(tn.tally([0, 1], [0.0, 1.0]).parts[0])
    assert certain == pytest.approx(np.linspace(0, 1, 258), abs=1e-12)


def test_up_to_32768_scores_are_used_as_they_are_and_more_are_pooled_but_for_the_outermost():
    p = np.arange(1, 32_771) / 32_771
    at = tn.tally(np.arange(32_768) % 2, p[:32_768]).parts[0]
    assert few_cells(at) is at
    more = few_cells(tn.tally(np.arange(32_769) % 2, p[:32_769]).parts[0])
    assert more.weight.sum() == 32_769
    assert 3500 < more.size <= 4100
    assert more.score[:256].tolist() == p[:256].tolist()
    assert more.score[-256:].tolist() == p[32_769 - 256 : 32_769].tolist()
    assert more.weight[300:-300].min() > 1


@pytest.mark.parametrize("measure", [tn.ici, tn.e50, tn.e90, tn.emax])
def test_the_default_is_a_spline_with_five_knots(measure):
    rng = np.random.default_rng(7)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    assert measure(y, p) == measure(y, p, curve="spline", knots=5)
    assert measure(y, p) != measure(y, p, knots=6)
    for knots in (2, 8, True, 4.0, "5"):
        with pytest.raises(tn.InputError, match="`knots` must be a whole number from 3 to 7"):
            measure(y, p, knots=knots)
    measure(y, p, knots=3)
    measure(y, p, knots=7)


@pytest.mark.parametrize("curve", ["spline", "loess"])
def test_distances_are_the_mean_and_quantiles_over_rows_and_weights(curve):
    rng = np.random.default_rng(8)
    p = rng.random(150).round(2).clip(0.01, 0.99)
    y, w = (rng.random(150) < p**2).astype(int), rng.integers(1, 5, 150)
    cells = tn.tally(y, p, sample_weight=w).parts[0]
    fit = fit_curve(cells, curve)
    away = np.sort(np.repeat(np.abs(fit.at(cells.score) - cells.score), cells.weight))
    options = {"curve": curve, "sample_weight": w}
    assert tn.ici(y, p, **options) == pytest.approx(away.mean(), rel=1e-9)
    assert tn.emax(y, p, **options) == pytest.approx(away[-1], rel=1e-9)
    for measure, share in ((tn.e50, 0.5), (tn.e90, 0.9)):
        assert measure(y, p, **options) == pytest.approx(np.quantile(away, share), abs=2e-3)
    assert fit.at(np.array([0.0, 1.0])).size == 2
    if curve == "spline":
        assert np.isnan(fit.at(np.array([0.0, 1.0]))).all()
        assert np.isfinite(fit.at(np.array([1e-9, 1 - 1e-9]))).all()
