"""ICI and its relatives with their noise floors."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness._numerics.splines import spline_basis
from trueness._tally.cells import Cells
from trueness.infer.limits import _curve_errors as home
from trueness.infer.limits._curve_errors import curve_errors, drawn_events
from trueness.measure._flexible_curve import distance_summary, distances, fit_curve, knot_candidates


@pytest.mark.parametrize("curve", ["spline", "loess"])
@pytest.mark.parametrize("law", [(1, 1), (0.2, 0.2), (0.5, 10)])
def test_floors_are_full_fits_of_drawn_labels(curve, law):
    p = np.clip(np.random.default_rng(1).beta(*law, 200), 1e-6, 1 - 1e-6)
    cells = tn.tally((p > 0.3).astype(int), p).parts[0]
    found = curve_errors(cells, curve, 5, np.random.default_rng(2))
    assert found.values == pytest.approx(distances(fit_curve(cells, curve)), nan_ok=True)
    drawn = drawn_events(cells, 5, np.random.default_rng(2)).astype(int)
    each = [distances(fit_curve(Cells(cells.score, cells.count, cells.weight, e), curve)) for e in drawn]
    assert found.floors == pytest.approx(np.array(each), abs=1e-7, nan_ok=True)


def test_floors_of_pooled_scores_and_of_fractional_weights():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 4000)
    y = (rng.random(4000) < p).astype(int)
    cells = tn.tally(y, p).parts[0]
    whole = np.mean(curve_errors(cells, "spline", 50, np.random.default_rng(1)).floors, axis=0)
    part = tn.tally(y, p, sample_weight=np.full(4000, 0.5)).parts[0]
    half = np.mean(curve_errors(part, "spline", 50, np.random.default_rng(1)).floors, axis=0)
    assert half == pytest.approx(whole, rel=0.25)
    assert (np.diff(whole[1:]) > 0).all()


def test_floors_of_fractional_weights_of_few_rows_are_those_of_rows_of_weight_one():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 6, 200)
    y = (rng.random(200) < p).astype(int)
    ones = curve_errors(tn.tally(y, p).parts[0], "spline", 100, np.random.default_rng(1)).floors
    part = tn.tally(y, p, sample_weight=np.full(200, 0.5)).parts[0]
    half = curve_errors(part, "spline", 100, np.random.default_rng(2)).floors
    assert np.nanmean(half, axis=0)[:3] == pytest.approx(np.nanmean(ones, axis=0)[:3], rel=0.2)


def test_no_rows_inside_give_no_floors():
    cells = tn.tally([0, 1], [0.0, 1.0]).parts[0]
    found = curve_errors(cells, "spline", 3, np.random.default_rng(0))
    assert np.isnan(found.values).all()
    assert found.floors.shape == (3, 4)
    assert np.isnan(found.floors).all()


def test_the_normal_limit_of_many_rows_has_the_floors_of_full_fits(monkeypatch):
    """Both are means of 199 draws of the same law, so they differ by a few standard errors at most."""
    rng = np.random.default_rng(3)
    p = np.sort(rng.beta(0.4, 0.6, 400))
    cells = Cells(p, *[np.full(400, 400)] * 2, rng.binomial(400, p))
    normal = curve_errors(cells, "spline", 199, np.random.default_rng(1)).floors
    monkeypatch.setattr(home, "_SKEWED", 0.0)
    full = curve_errors(cells, "spline", 199, np.random.default_rng(1)).floors
    assert not np.array_equal(normal, full)
    error = np.hypot(normal.std(axis=0), full.std(axis=0)) / np.sqrt(199)
    assert (np.abs(normal.mean(axis=0) - full.mean(axis=0)) < 4 * error).all()


def test_summaries_are_those_of_each_row():
    rng = np.random.default_rng(0)
    distance = rng.random((5, 30))
    for weight in (rng.integers(1, 9, 30), rng.random(30)):
        each = [distance_summary(row, weight) for row in distance]
        np.testing.assert_allclose(home._summaries(distance, weight), each, rtol=1e-13)


def weighted_cells(n_scores=40, rows=300, weights=(0.5, 1.5, 3.0)):
    """Rows of unequal weights at a few scores around 1/2, which determine a spline well."""
    rng = np.random.default_rng(0)
    p = np.repeat(np.linspace(0.3, 0.7, n_scores), rows)
    y = (rng.random(p.size) < p).astype(int)
    return tn.tally(y, p, sample_weight=None if weights is None else rng.choice(weights, p.size)).parts[0]


@pytest.mark.parametrize("weights", [None, (1, 2, 5), (0.5, 1.5, 3.0)])
def test_drawn_events_have_the_mean_and_the_variance_of_calibrated_labels(weights):
    cells = weighted_cells(6, 40, weights)
    drawn = drawn_events(cells, 4_000, np.random.default_rng(1))
    squares = cells.weight if cells.exact else cells.squares
    variance = squares * cells.score * (1 - cells.score)
    assert drawn.shape == (4_000, 6)
    assert np.abs(drawn.mean(axis=0) - cells.weight * cells.score).max() < 5 * np.sqrt(variance.max() / 4_000)
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.12)


def test_drawn_events_lie_between_none_and_all():
    cells = tn.tally([0, 1, 0, 1], [0.5, 0.5, 1.0, 0.0], sample_weight=[0.25, 7.5, 2.5, 2.5]).parts[0]
    drawn = drawn_events(cells, 500, np.random.default_rng(1))
    assert drawn[:, [0, 2]].tolist() == [[0.0, 2.5]] * 500
    assert (drawn[:, 1].min(), drawn[:, 1].max()) == (0, 7.75)


@pytest.mark.parametrize("weights", [None, (0.5, 1.5, 3.0)])
def test_the_normal_limit_has_the_covariance_of_the_sandwich(weights):
    cells = weighted_cells(weights=weights)
    x = logit(cells.score)
    curves = home._normal_curves(cells, knot_candidates(cells, 5), 3_000, np.random.default_rng(1))
    X = spline_basis(x, next(knot_candidates(cells, 5)))
    v = cells.score * (1 - cells.score)
    bread = np.linalg.inv(X.T @ (X * (cells.weight * v)[:, None]))
    squares = cells.weight if cells.exact else cells.squares
    covariance = X @ bread @ (X.T @ (X * (squares * v)[:, None])) @ bread @ X.T
    found = logit(curves)
    assert np.abs(found.mean(axis=0) - x).max() < 5 * np.sqrt(np.diag(covariance).max() / 3_000)
    assert np.cov(found.T) == pytest.approx(covariance, abs=0.1 * np.diag(covariance).max())
    assert np.diag(np.cov(found.T)) == pytest.approx(np.diag(covariance), rel=0.12)


def test_rows_that_do_not_determine_a_spline_have_no_normal_limit():
    few = tn.tally([0, 1, 1], [0.2, 0.5, 0.8]).parts[0]
    assert home._normal_curves(few, iter([np.array([-1.0, -0.5, 0.0, 0.5, 1.0])]), 3, np.random.default_rng(0)) is None
    rare = weighted_cells(40, 2, None)
    assert home._normal_curves(rare, knot_candidates(rare, 5), 3, np.random.default_rng(0)) is None


def test_no_draws_have_no_floors():
    found = curve_errors(weighted_cells(10, 20, None), "loess", 0, np.random.default_rng(0))
    assert found.floors.shape == (0, 4)
    assert np.isfinite(found.values).all()


def test_the_number_of_knots_is_five_unless_given():
    cells = weighted_cells(30, 10, None)
    some = [curve_errors(cells, "spline", 2, np.random.default_rng(0), **o) for o in ({}, {"knots": 5}, {"knots": 3})]
    for found, knots in zip(some, (5, 5, 3), strict=True):
        assert found.values == pytest.approx(distances(fit_curve(cells, "spline", knots)))
    assert np.array_equal(some[0].floors, some[1].floors)


def test_the_normal_limit_is_for_curves_with_nearly_symmetric_limits():
    """At two standard errors the limits may be skewed by a tenth of the largest distance between them."""
    used = []
    for rows in (4, 10, 25, 60, 150, 400, 1_000, 3_000):
        score, weight = np.linspace(0.05, 0.4, 20), np.full(20, rows)
        cells = Cells(score, weight, weight, np.rint(rows * score).astype(int))
        X = spline_basis(logit(score), next(knot_candidates(cells, 4)))
        covariance = np.linalg.inv(X.T @ (X * (rows * score * (1 - score))[:, None]))
        reach = 2 * np.sqrt(np.einsum("ij,jk,ik->i", X, covariance, X))
        low, high = expit(logit(score) - reach), expit(logit(score) + reach)
        skewed = np.abs(low + high - 2 * score).max() > 0.1 * (high - low).max()
        found = home._normal_curves(cells, knot_candidates(cells, 4), 2, np.random.default_rng(0))
        assert (found is None) == skewed
        used.append(not skewed)
    assert used == sorted(used)
    assert 2 <= sum(used) <= 6
