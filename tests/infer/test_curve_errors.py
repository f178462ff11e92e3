"""ICI and its relatives with their noise floors."""

import numpy as np
import pytest

import trueness as tn
from trueness._tally.cells import Cells
from trueness.infer import _curve_errors as home
from trueness.infer._curve_errors import curve_errors, drawn_events
from trueness.measure._flexible_curve import distance_summary, distances, fit_curve


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
