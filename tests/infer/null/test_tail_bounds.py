"""Proven tails: never below the exact probability, and valid p-values."""

import itertools
import math
import sys

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

import trueness as tn
from trueness._tally.cells import Cells
from trueness.infer.test._omnibus import _bound_of_direction, _bounds_of_cells, tail_bound

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


def cells_by_group(seed, groups=5, weight=40):
    """Whole weights, with scores that are all, or none, events among them."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.uniform(0.02, 0.98, 3 * groups))
    n = rng.integers(1, weight, p.size)
    events = rng.binomial(n, rng.uniform(0, 1, p.size))
    events[:3], events[-3:] = 0, n[-3:]
    return Cells(p, n, n, events), np.arange(0, p.size, 3)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_cells_are_those_of_the_page(seed):
    """D = O log(O / Np) + (N − O) log((N − O) / N(1 − p)): a Gamma tail of the sum, and Bonferroni of the largest."""
    cells, first = cells_by_group(seed)
    divergences = []
    for at in np.split(np.arange(cells.size), first[1:]):
        n, o, e = cells.weight[at].sum(), cells.events[at].sum(), cells.weight[at] @ cells.score[at]
        divergences.append(sum(a * math.log(a / b) for a, b in ((o, e), (n - o, n - e)) if a))
    total = sum(divergences) - len(first) * math.log(2)
    whole, largest = _bounds_of_cells(cells, first)
    assert whole == pytest.approx(stats.gamma.sf(max(0.0, total), len(first)), rel=1e-9)
    assert largest == pytest.approx(2 * len(first) * math.exp(-max(divergences)), rel=1e-9)


@pytest.mark.parametrize("weight", [2, 40, 10**9])
@pytest.mark.parametrize("excess", [-4.0, -0.3, 0.3, 4.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
@pytest.mark.all_cases
def test_the_bound_of_a_direction_is_the_smallest_of_chernoffs(weight, excess, scale):
    """By brute force: the smallest exponent over t, for sums some standard deviations from 0; a of either sign."""
    rng = np.random.default_rng(weight)
    p, n, a = np.sort(rng.uniform(0.01, 0.9, 12)), np.full(12, weight), scale * rng.normal(size=12)
    a[3] = 0.0
    deviation = excess * np.sqrt(n * p * (1 - p)) * np.sign(a)
    events = np.clip(np.round(n * p + deviation), 0, n).astype(np.int64)
    s = float(((events - n * p) * a).sum())
    way = math.copysign(1.0, s)

    def exponent(log_t):
        t = way * math.exp(log_t) * a
        return float((n * (np.log1p(p * np.expm1(t)) - t * p)).sum()) - math.exp(log_t) * abs(s)

    best = minimize_scalar(exponent, bounds=(-25 - math.log(scale), 5 - math.log(scale)), options={"xatol": 1e-9}).fun
    assert _bound_of_direction(Cells(p, n, n, events), a) == pytest.approx(min(1.0, 2 * math.exp(best)), rel=1e-6)


@pytest.mark.parametrize("label", [0, 1])
def test_the_most_extreme_labels_have_twice_their_probability(label):
    p = np.linspace(0.05, 0.95, 10)
    exact = math.prod(p if label else 1 - p)
    assert _bound_of_direction(cells_of(np.full(10, label), p), np.ones(10)) == pytest.approx(2 * exact, rel=1e-9)
    mixed = _bound_of_direction(cells_of((p > 0.5).astype(int), p), np.where(p > 0.5, 1.0, -1.0))
    assert mixed == pytest.approx(2 * math.prod(np.maximum(p, 1 - p)), rel=1e-9)


def test_certain_scores_and_rows_without_influence_do_not_change_a_direction():
    """Not even if their labels contradict them: such rows are counted elsewhere."""
    p, y, a = np.array([0.2, 0.4, 0.7]), np.array([1, 1, 1]), np.array([1.0, 2.0, -0.5])
    few = _bound_of_direction(cells_of(y, p), a)
    many = _bound_of_direction(cells_of([1, *y, 0, 0], [0.0, *p, 0.8, 1.0]), np.array([3.0, *a, 0.0, 5.0]))
    assert few < 1
    assert many == pytest.approx(few, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_events_far_rarer_than_expected_have_the_smallest_of_chernoffs_bounds(scale):
    """Three events where 0.03 are expected: the best t is far below the ratio of sum and variance."""
    p, n, a = np.array([1e-5, 1e-4, 1e-3]), np.full(3, 10), scale * np.array([1.0, 1.2, 0.8])
    s = float(((1 - n * p) * a).sum())

    def exponent(log_t):
        t = math.exp(log_t) * a / scale
        return float((n * (np.log1p(p * np.expm1(t)) - t * p)).sum()) - math.exp(log_t) * s / scale

    best = minimize_scalar(exponent, bounds=(-3, 5), options={"xatol": 1e-9}).fun
    assert _bound_of_direction(Cells(p, n, n, np.ones(3, dtype=int)), a) == pytest.approx(2 * math.exp(best), rel=1e-6)


def test_a_direction_too_small_for_the_arithmetic_has_the_bound_one():
    assert _bound_of_direction(cells_of([1, 0], [1e-300, 0.5]), np.array([1e-20, 0.0])) == 1


def test_bounds_are_combined_by_their_number_times_the_smallest():
    cells, first = cells_by_group(1)
    slope, one = np.linspace(-1, 1, cells.size), np.ones(cells.size)
    each = [*_bounds_of_cells(cells, WHOLE), *_bounds_of_cells(cells, first)]
    each += [_bound_of_direction(cells, slope), _bound_of_direction(cells, one)]
    assert len(each) == 5
    assert tail_bound(cells, (WHOLE, first), (slope, one)) == pytest.approx(min(1.0, 5 * min(each)), rel=1e-12)
    calm = cells_of([0, 1] * 10, [0.4, 0.6] * 10)
    assert tail_bound(calm, (WHOLE,), (np.ones(2),)) == 1
    impossible = cells_of(np.ones(4_000, dtype=int), np.full(4_000, 0.1))
    assert tail_bound(impossible, (WHOLE,), ()) == sys.float_info.min
