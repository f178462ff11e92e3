"""Reliability curves."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import arrays, matrices, rows, weighted_rows

import trueness as tn
from trueness.measure import reliability_curve

METHODS = ["binned", "isotonic", "smooth", "spline", "loess"]
COLUMNS = ["x", "y", "n", "weight", "low_edge", "high_edge"]
every_method = pytest.mark.parametrize("method", METHODS)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def differ(a, b, columns=COLUMNS, tolerance=0.0):
    return [
        c
        for c in columns
        if not np.allclose(getattr(a, c), getattr(b, c), rtol=0, atol=tolerance, equal_nan=True)
    ]


@every_method
@settings(max_examples=6)
@given(pairs=rows, seed=st.integers(0, 9))
def test_a_curve_ignores_the_order_of_the_rows(method, pairs, seed):
    y, p = arrays(pairs)
    order = np.random.default_rng(seed).permutation(y.size)
    curve = reliability_curve(y, p, method=method)
    assert not differ(curve, reliability_curve(y[order], p[order], method=method))
    there = np.isfinite(curve.x)
    assert (np.diff(curve.x[there]) >= -1e-6).all()
    assert method in ("loess", "spline") or ((curve.y[there] >= 0) & (curve.y[there] <= 1)).all()


@every_method
@settings(max_examples=6)
@given(sample=weighted_rows())
def test_weight_two_is_the_row_twice(method, sample):
    y, p, w = sample
    times = w.astype(int)
    weighted = reliability_curve(y, p, method=method, sample_weight=w)
    repeated = reliability_curve(np.repeat(y, times), np.repeat(p, times), method=method)
    assert not differ(weighted, repeated, [c for c in COLUMNS if c != "n"], tolerance=1e-9)


@given(pairs=rows)
def test_a_binned_curve_has_the_points_of_the_table(pairs):
    y, p = arrays(pairs)
    curve, table = reliability_curve(y, p, bins=5), tn.bin_table(y, p, bins=5)
    assert np.array_equal(curve.x, table.score, equal_nan=True)
    assert np.array_equal(curve.y, table.rate, equal_nan=True)
    assert curve.bins == "EqualWidth(n=5)"


@given(pairs=rows)
def test_an_isotonic_curve_is_the_isotonic_regression(pairs):
    isotonic = pytest.importorskip("scipy.optimize").isotonic_regression  # SciPy 1.12 or later
    y, p = arrays(pairs)
    distinct, which = np.unique(p, return_inverse=True)
    weight = np.bincount(which)
    fitted = isotonic(np.bincount(which, y) / weight, weights=weight).x
    curve = reliability_curve(y, p, method="isotonic")
    ends = np.searchsorted(distinct, [curve.low_edge, curve.high_edge])
    np.testing.assert_allclose(fitted[ends], [curve.y, curve.y], atol=1e-12)
    assert (np.diff(curve.y) > 0).all()


@every_method
@settings(max_examples=6)
@given(sample=matrices())
def test_the_curve_of_a_matrix_is_that_of_each_class(method, sample):
    y, P = sample
    parts = list(reliability_curve(y, P, method=method).parts())
    assert [name for name, _ in parts] == list(range(P.shape[1]))
    for name, part in parts:
        assert not differ(
            part, reliability_curve((y == name).astype(int), P[:, name], method=method)
        )
        assert part.kind == "classwise"


def test_a_curve_can_be_written_as_plain_python():
    found = reliability_curve([0, 1, 1], [0.1, 0.6, 0.7], bins=2)
    assert found.to_dict()["y"] == [0.0, 1.0]
    assert "label" not in found.to_dict()
    assert str(found) == "reliability curve (2 bins of equal width, binary): 2 points of 3 rows"
    assert str(reliability_curve([0, 1], [0.1, 0.6], method="isotonic")).startswith(
        "reliability curve (isotonic,"
    )
    assert reliability_curve([0, 1], [[0.7, 0.3], [0.2, 0.8]], bins=1).to_dict()["label"] == [0, 1]


def test_messages():
    with pytest.raises(
        tn.InputError,
        match="`method` must be 'binned', 'isotonic', 'smooth', 'spline' or 'loess'; got 'line'",
    ):
        reliability_curve([0, 1], [0.1, 0.9], method="line")
    with pytest.raises(
        tn.InputError, match="`bins` is only for `method='binned'`; the method is 'smooth'"
    ):
        reliability_curve([0, 1], [0.1, 0.9], method="smooth", bins=10)


def some_rows(weights):
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.beta(1, 3, 90), rng.random(30).round(1), [0.0, 1.0]])
    y = (rng.random(p.size) < p**2).astype(int)
    return (
        y,
        p,
        {"none": None, "whole": rng.integers(0, 4, p.size), "any": rng.uniform(0.1, 2, p.size)}[
            weights
        ],
    )


def sums_between(p, w, edges):
    """Rows and weight from each edge up to the next, the last one included."""
    within = [
        (p >= a) & (p < b) if i < edges.size - 2 else (p >= a)
        for i, (a, b) in enumerate(pairwise(edges))
    ]
    return [(here & (w > 0)).sum() for here in within], [w[here].sum() for here in within]


@pytest.mark.parametrize("weights", ["none", "any"])
def test_a_smooth_curve_has_the_rows_of_512_places_and_kernel_means_there(weights):
    y, p, given = some_rows(weights)
    w = np.ones(p.size) if given is None else given
    curve = reliability_curve(y, p, method="smooth", sample_weight=given)
    places = (np.arange(512) + 0.5) / 512
    assert curve.low_edge == pytest.approx(places, abs=1e-12)
    assert curve.high_edge == pytest.approx(places, abs=1e-12)
    n, weight = sums_between(p, w, np.arange(513) / 512)
    assert curve.n.tolist() == n
    assert curve.weight == pytest.approx(weight, rel=1e-12)
    (sigma,) = curve.bandwidth
    assert sigma == pytest.approx(tn.smooth_ece(y, p, sample_weight=given), abs=1e-6)
    used = w > 0
    near = np.abs(places[:, None] - p[used]).min(axis=1) <= max(sigma, 1 / 1024)
    assert np.isfinite(curve.y).tolist() == near.tolist()
    assert np.isfinite(curve.x).tolist() == near.tolist()
    # The kernel is reflected at 0 and 1; sums on a grid differ a little from sums over the rows.
    kernel = sum(
        np.exp(-0.5 * ((places[:, None] - q) / sigma) ** 2)
        for shift in (-2, 0, 2)
        for q in (shift + p, shift - p)
    )
    for found, value in ((curve.x, p), (curve.y, y)):
        expected = kernel @ (w * value) / (kernel @ w)
        assert found[near] == pytest.approx(expected[near], abs=2e-3)


def test_a_smooth_curve_of_one_score_is_drawn_within_one_width_of_it():
    for score, label in ((0.3, 0.3), (0.0, 0), (1.0, 1)):
        y = np.arange(100) < 100 * label
        curve = reliability_curve(y, np.full(100, score), method="smooth")
        near = np.abs(curve.low_edge - score) <= max(curve.bandwidth[0], 1 / 1024)
        assert np.isfinite(curve.y).tolist() == near.tolist()
        assert near.sum() >= 1


@pytest.mark.parametrize("method", ["spline", "loess"])
@pytest.mark.parametrize("weights", ["none", "any"])
def test_a_flexible_curve_has_the_rows_nearest_to_each_place(method, weights):
    y, p, given = some_rows(weights)
    w = np.ones(p.size) if given is None else given
    curve = reliability_curve(y, p, method=method, sample_weight=given)
    used = (w > 0) & ((p > 0) & (p < 1) if method == "spline" else True)
    assert (curve.x[0], curve.x[-1]) == (p[used].min(), p[used].max())
    assert 400 < curve.x.size <= 512
    assert curve.low_edge.tolist() == curve.high_edge.tolist() == curve.x.tolist()
    edges = np.concatenate([[0], (curve.x[1:] + curve.x[:-1]) / 2, [1]])
    n, weight = sums_between(p[used], w[used], edges)
    assert curve.n.tolist() == n
    assert curve.weight == pytest.approx(weight, rel=1e-12)
    assert (curve.bandwidth, curve.bins, curve.label) == (None, "", None)
    assert (curve.knots is None) == (method == "loess")


@pytest.mark.parametrize("weights", ["none", "whole", "any"])
def test_an_isotonic_curve_has_the_rows_of_its_blocks(weights):
    y, p, given = some_rows(weights)
    w = np.ones(p.size) if given is None else given
    curve = reliability_curve(y, p, method="isotonic", sample_weight=given)
    for i in range(len(curve)):
        here = (p >= curve.low_edge[i]) & (p <= curve.high_edge[i]) & (w > 0)
        assert {curve.low_edge[i], curve.high_edge[i]} == {p[here].min(), p[here].max()}
        assert curve.n[i] == here.sum()
        assert curve.weight[i] == pytest.approx(w[here].sum(), rel=1e-12)
        assert curve.x[i] == pytest.approx(np.average(p[here], weights=w[here]), rel=1e-12)
        assert curve.y[i] == pytest.approx(np.average(y[here], weights=w[here]), rel=1e-12)
    assert curve.n.sum() == (w > 0).sum()


def test_a_binned_curve_has_ten_bins_by_default_and_the_edges_of_its_bins():
    y, p, _ = some_rows("none")
    curve = reliability_curve(y, p)
    assert curve.low_edge.tolist() == [b / 10 for b in range(10)]
    assert curve.high_edge.tolist() == [b / 10 for b in range(1, 11)]
    n, weight = sums_between(p, np.ones(p.size), np.arange(11) / 10)
    assert (curve.n.tolist(), curve.weight.tolist()) == (n, weight)


def test_a_spline_has_five_knots_by_default():
    y, p, _ = some_rows("none")
    default, five, four = (
        reliability_curve(y, p, method="spline", **k) for k in ({}, {"knots": 5}, {"knots": 4})
    )
    assert default.y.tolist() == five.y.tolist() != four.y.tolist()
    assert [len(curve.knots[0]) for curve in (default, five, four)] == [5, 5, 4]
    with pytest.raises(
        tn.InputError, match="`knots` is only for `method='spline'`; the method is 'loess'"
    ):
        reliability_curve(y, p, method="loess", knots=5)


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_a_curve_of_a_matrix_names_the_class_of_each_point(kind):
    rng = np.random.default_rng(4)
    P = rng.dirichlet([2, 2, 0.01], 60)  # the third class is hardly ever predicted
    P[:, 2] = np.minimum(P[:, 2], 0.3)
    P /= P.sum(axis=1, keepdims=True)
    y = rng.integers(0, 3, 60)
    for method in METHODS:
        curve = reliability_curve(y, P, method=method, kind=kind)
        assert (curve.method, curve.kind) == (method, kind)
        parts = 1 if kind == "confidence" else 3
        if kind == "confidence":
            assert curve.label is None
        else:
            assert len(curve.label) == len(curve)
            assert list(curve.label) == sorted(curve.label)
        for name, wanted in (("bandwidth", method == "smooth"), ("knots", method == "spline")):
            value = getattr(curve, name)
            assert (value is None) == (not wanted)
            assert value is None or len(value) == parts
        if kind == "top-label" and method == "smooth":
            assert np.isnan(curve.bandwidth[2])
            assert np.isfinite(curve.bandwidth[:2]).all()
        if kind == "top-label" and method == "spline":
            assert [len(knots) > 0 for knots in curve.knots] == [True, True, False]
