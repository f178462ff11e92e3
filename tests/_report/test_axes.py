"""Axes that show where the scores are."""

import numpy as np
import pytest

import trueness as tn
from trueness._report.axes import fitted_axes, whole_axes
from trueness._tally.rules import EqualMass


def axes_of(p, y=None, rng=None):
    y = (np.random.default_rng(1).random(p.size) < p).astype(int) if y is None else y
    tally = tn.tally(y, p)
    return fitted_axes(tally.parts[0], tally.coarsen(EqualMass(10)).parts[0], 0.95)


def test_scores_that_fill_the_unit_interval_have_linear_axes_in_percent():
    axes = axes_of(np.random.default_rng(0).random(2_000))
    assert (axes.scale, axes.low, axes.high) == ("linear", 0, 1)
    assert axes.labels == ("0 %", "20 %", "40 %", "60 %", "80 %", "100 %")


@pytest.mark.parametrize(("scale", "most"), [(1, 1.0), (0.001, 0.003), (0.1, 0.15)])
def test_small_scores_are_looked_at_closely(scale, most):
    axes = axes_of(np.random.default_rng(0).random(20_000) * scale)
    assert axes.scale == "linear"
    assert (axes.low, axes.high) == (0, pytest.approx(most))
    assert sum(axes.histogram) == 20_000


def test_confidences_near_one_are_looked_at_closely():
    axes = axes_of(1 - np.random.default_rng(0).random(20_000) * 0.1)
    assert (axes.scale, axes.low, axes.high) == ("linear", pytest.approx(0.85), 1)
    assert axes.labels[-2:] == ("97 %", "100 %")
    assert sum(axes.histogram) == 20_000


@pytest.mark.parametrize("side", ["rare", "frequent"])
def test_scores_over_many_decades_have_logit_axes(side):
    rng = np.random.default_rng(0)
    rare = 1 / (1 + np.exp(-rng.normal(-7, 2, 20_000)))
    axes = axes_of(rare if side == "rare" else 1 - rare)
    assert axes.scale == "logit"
    assert ("0.1 %" if side == "rare" else "99.9 %") in axes.labels
    assert sum(axes.histogram) == 20_000
    assert np.count_nonzero(axes.histogram) > 40


def test_certain_scores_keep_linear_axes():
    p = np.r_[np.zeros(900), np.linspace(0.01, 0.99, 100)]
    assert axes_of(p).scale == "linear"


def test_sums_of_bins_have_axes_too():
    p = np.random.default_rng(0).random(20_000) * 0.1
    (bins,) = tn.binned((p > 0.05).astype(int), p).parts
    assert whole_axes(bins).high == 1
    assert sum(whole_axes(bins).histogram) == pytest.approx(20_000)
    assert fitted_axes(bins, bins, 0.95).scale == "linear"


def test_a_long_tail_does_not_push_the_points_into_a_corner():
    p = np.random.default_rng(0).beta(1, 700, 20_000)
    axes, tenths = axes_of(p), tn.bin_table(np.arange(20_000) % 2, p, bins=tn.EqualMass(10))
    assert axes.scale == "linear"
    assert 0.25 * axes.high < tenths.score[-1] < axes.high < 0.02


@pytest.mark.parametrize("score", [0.0, 1.0, 1e-12, 1 - 1e-12, 0.5, 3e-9])
def test_a_single_score_has_axes(score):
    axes = axes_of(np.full(20, score), y=np.full(20, round(score)))
    assert axes.low <= score <= axes.high
    assert len(axes.ticks) >= 4
