"""Limits of the isotonic fit of a sketch hold the fit of the rows."""

import numpy as np
from crowded_cells import crowds
from hypothesis import given, settings

import trueness as tn
from trueness._kernels.grid import cell_of
from trueness.measure._cuts import spread_of
from trueness.measure._isotonic_bounds import isotonic_fit


@settings(max_examples=200)
@given(rows=crowds(most_cells=10))
def test_the_fit_of_every_row_lies_within_the_limits_of_its_cell(rows):
    y, p = rows
    part = tn.sketch(y, p).parts[0]
    fit = isotonic_fit(spread_of(part))
    cells = tn.tally(y, p).parts[0]
    start = tn.Isotonic().group(cells).start
    rate = np.add.reduceat(cells.events, start[:-1]) / np.add.reduceat(cells.weight, start[:-1])
    fitted, at = np.repeat(rate, np.diff(start)), np.searchsorted(part.cell, cell_of(cells.score))
    assert (fit.low[at] <= fitted).all()
    assert (fitted <= fit.high[at]).all()
    assert (np.diff(fit.low) >= 0).all()
    assert (np.diff(fit.high) >= 0).all()


def test_by_hand():
    """Two ties and a cell of two scores between them: 0 and 1 inside it may come in either order."""
    p = np.array([0.2, 0.2, 0.5, 0.5001, 0.8])
    fit = isotonic_fit(spread_of(tn.sketch([0, 0, 0, 1, 1], p).parts[0]))
    assert fit.low.round(9).tolist() == [0, 0, 1]
    assert fit.high.round(9).tolist() == [0, 1, 1]


def test_limits_are_narrow_for_spread_scores():
    rng = np.random.default_rng(0)
    p = rng.random(10_000)
    part = tn.sketch(rng.random(10_000) < p, p).parts[0]
    fit = isotonic_fit(spread_of(part))
    assert np.average(fit.high - fit.low, weights=part.weight) < 0.03
