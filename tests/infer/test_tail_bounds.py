"""Proven tails: never below the exact probability, and valid p-values."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness.infer._tail_bounds import _bound_of_direction, _bounds_of_cells, tail_bound

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
WHOLE = np.zeros(1, dtype=np.int64)


def cells_of(y, p):
    return tn.tally(np.asarray(y), np.asarray(p)).parts[0]


def test_the_bound_of_one_cell_is_chernoffs():
    """8 events among 10 rows of score 1/2: twice exp(-10 KL(0.8, 0.5))."""
    (bound,) = _bounds_of_cells(cells_of([1] * 8 + [0] * 2, [0.5] * 10), WHOLE)
    assert bound == pytest.approx(2 * math.exp(-10 * (0.8 * math.log(1.6) + 0.2 * math.log(0.4))))
    assert bound >= stats.binomtest(8, 10).pvalue


@pytest.mark.parametrize("seed", range(4))
def test_every_bound_is_a_valid_pvalue_by_enumeration(seed):
    """Under calibration P(bound ≤ α) ≤ α for every α: all label vectors, each with its probability."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.beta(0.5, 1, 9).clip(0.01, 0.99))
    first, slope = np.array([0, 3, 6]), rng.normal(size=9)
    every = np.array(list(itertools.product([0, 1], repeat=9)))
    chance = np.where(every == 1, p, 1 - p).prod(axis=1)
    cells = [cells_of(y, p) for y in every]
    bounds = {
        "whole": [_bounds_of_cells(c, WHOLE)[0] for c in cells],
        "sum": [_bounds_of_cells(c, first)[0] for c in cells],
        "largest": [_bounds_of_cells(c, first)[1] for c in cells],
        "direction": [_bound_of_direction(c, slope) for c in cells],
        "all": [tail_bound(c, (WHOLE, first), (slope,)) for c in cells],
    }
    for name, values in bounds.items():
        order = np.argsort(values)
        reached = np.cumsum(chance[order])
        assert (reached <= np.asarray(values)[order] + 1e-9).all() or name == "sum", name
        last = np.append(np.diff(np.asarray(values)[order]) > 0, True)  # ties belong together
        assert (reached[last] <= np.asarray(values)[order][last] + 1e-9).all(), name


def test_the_bound_of_a_direction_is_near_the_exact_tail_of_a_sum():
    p = np.linspace(0.05, 0.95, 19)
    cells = cells_of(np.ones(19, dtype=int), p)
    exact = math.prod(p)
    assert exact <= _bound_of_direction(cells, np.ones(19)) <= 2.01 * exact


def test_nearly_impossible_labels_give_a_tiny_positive_bound():
    y, p = [1, 1, 0, 0], [1e-320, 1e-200, 1 - 1e-16, 0.5]
    cells = cells_of(y, p)
    found = tail_bound(cells, (WHOLE, np.arange(4)), (np.log(p),))
    assert 0 < found < 1e-150


def test_a_direction_in_which_nothing_deviates_has_the_bound_one():
    assert _bound_of_direction(cells_of([0, 1], [0.4, 0.6]), np.array([1.0, 1.0])) == 1
    assert _bound_of_direction(cells_of([0, 1, 1], [0.4, 0.6, 0.7]), np.zeros(3)) == 1
    assert _bound_of_direction(cells_of([0, 1, 1], [0.0, 0.6, 1.0]), np.array([1.0, 0.0, 1.0])) == 1
