"""T-Cal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows

import trueness as tn
from trueness._tally.cells import Cells
from trueness.infer import calibration_test
from trueness.infer.test._pair_tests import NestedPairs, _partitions, number_of_resolutions

pytestmark = pytest.mark.filterwarnings("ignore::trueness.OneClassWarning", "ignore::trueness.FewRowsWarning")


def plain_t(y, p, place, divide_by_rows):
    """The double sum over pairs."""
    total = 0.0
    for b in set(place):
        u = [yi - pi for yi, pi, where in zip(y, p, place, strict=True) if where == b]
        pairs = sum(a * c for i, a in enumerate(u) for j, c in enumerate(u) if i != j)
        total += pairs / (len(u) if divide_by_rows else max(1, len(u) - 1))
    return total / len(y)


@given(pairs=rows, n_bins=st.integers(1, 6))
def test_t_cal_is_the_sum_over_pairs(pairs, n_bins):
    y, p = arrays(pairs)
    place = [min(int(np.searchsorted(np.arange(n_bins + 1) / n_bins, v, side="right")) - 1, n_bins - 1) for v in p]
    for method, divide_by_rows in (("t-cal", True), ("exact", False)):
        found = calibration_test(y, p, method=method, bins=n_bins, resamples=1, seed=0)
        assert found.statistic == pytest.approx(plain_t(y, p, place, divide_by_rows), abs=1e-13)


def test_adaptive_t_cal_is_the_smallest_of_its_resolutions():
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.random(60), np.full(5, 0.3), [1.0, 1.0]])
    y = (rng.random(67) < p).astype(int)
    levels = number_of_resolutions(67)
    assert levels == math.ceil(2 * math.log2(67 / math.sqrt(math.log(67))))
    each = [calibration_test(y, p, method="t-cal", bins=2**b, resamples=499, seed=8) for b in range(1, levels + 1)]
    found = calibration_test(y, p, method="adaptive-t-cal", resamples=499, seed=8)
    best = min(range(levels), key=lambda b: each[b].pvalue)
    assert found.pvalue == pytest.approx(min(1, levels * each[best].pvalue))
    assert found.statistic == pytest.approx(each[best].statistic)


def test_adaptive_t_cal_has_no_power_for_rows_that_share_no_bin():
    found = calibration_test([1, 0], [0.2, 0.8], method="adaptive-t-cal", seed=0)
    assert (found.statistic, found.pvalue) == (0, 1)
    assert "the test has no power" in found.assumptions


def test_adaptive_t_cal_draws_enough_to_reach_a_hundredth():
    p = np.linspace(0.01, 0.99, 2_000)
    found = calibration_test((p < 0.5).astype(int), p, method="adaptive-t-cal", seed=0)
    assert found.pvalue <= 0.01


@given(pairs=rows)
def test_every_resolution_of_adaptive_t_cal_is_the_sum_over_pairs(pairs):
    y, p = arrays(pairs)
    cells = tn.tally(y, p).parts[0]
    depth, partitions = _partitions(cells, 8)
    if not partitions:
        return
    found = NestedPairs(cells.score, cells.weight, partitions)(cells.events[:, None])
    expected = [plain_t(y, p, np.minimum(np.floor(p * 2**b), 2**b - 1), True) for b in depth]
    assert found[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n", "bins"), [(1, 2), (2, 2), (9, 2), (10, 3), (300, 10)])
def test_bins_that_are_not_given_are_as_many_as_the_rows_to_the_power_two_fifths(n, bins):
    p = (np.arange(n) + 0.5) / n
    y = np.arange(n) % 2
    found = calibration_test(y, p, method="t-cal", resamples=9, seed=0)
    assert bins == max(2, round(n**0.4))
    assert f"Bins: EqualWidth(n={bins})." in found.assumptions
    given = calibration_test(y, p, method="t-cal", bins=bins, resamples=9, seed=0)
    assert (found.statistic, found.pvalue) == (given.statistic, given.pvalue)


@pytest.mark.all_cases
@pytest.mark.parametrize(("n", "levels"), [(1, 1), (2, 3), (3, 4), (10, 6), (100, 12), (10**6, 37)])
def test_the_resolutions_of_adaptive_t_cal_are_those_of_its_paper(n, levels):
    """⌈2 log₂(n / √log n)⌉, by hand for 2 rows: 2 log₂(2 / 0.8326) = 2.53."""
    assert number_of_resolutions(n) == levels


def test_adaptive_t_cal_says_what_it_drew_and_which_bins_were_best():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    y = (p > 0.5).astype(int)
    levels = number_of_resolutions(200)
    found = calibration_test(y, p, method="adaptive-t-cal", seed=0)
    draws = 100 * levels - 1
    assert draws > 999
    assert found.pvalue == found.smallest_pvalue == pytest.approx(0.01)
    assert f"{draws:,} sets of labels were drawn" in found.assumptions
    assert f"The smallest of {levels} p-values, times {levels}: that of 2 bins of equal width." in found.assumptions
    few = calibration_test(y[:9], p[:9], method="adaptive-t-cal", seed=0)
    assert "999 sets of labels" in few.assumptions
    assert few.smallest_pvalue == pytest.approx(number_of_resolutions(9) / 1_000)
    fewer = calibration_test(y[:9], p[:9], method="adaptive-t-cal", resamples=2, seed=0)
    assert (fewer.smallest_pvalue, fewer.pvalue) == (1, 1)


def test_adaptive_t_cal_names_the_bins_whose_pvalue_is_smallest():
    """Labels that agree with their scores on average over quarters, but not over eighths."""
    middle = (np.arange(8) + 0.5) / 8
    p = np.repeat(middle, 100) + np.tile(np.linspace(-0.05, 0.05, 100), 8)
    rate = np.repeat(middle.reshape(4, 2)[:, ::-1].ravel(), 100)
    y = (np.tile(np.arange(100) * 37 % 100, 8) < 100 * rate).astype(int)
    found = calibration_test(y, p, method="adaptive-t-cal", resamples=199, seed=0)
    assert "that of 8 bins of equal width" in found.assumptions
    assert found.statistic == pytest.approx(plain_t(y, p, np.floor(8 * p), True))


def test_rows_that_share_no_bin_have_no_smaller_pvalue_than_their_resolutions_allow():
    found = calibration_test([1, 0], [0.2, 0.8], method="adaptive-t-cal", resamples=99, seed=0)
    assert found.smallest_pvalue == pytest.approx(3 / 100)
    assert f"at any of {number_of_resolutions(2)} resolutions" in found.assumptions


@pytest.mark.parametrize("most", [1, 4])
def test_batches_of_labels_have_the_statistics_of_each_alone(most):
    """Batches of several sizes, which share memory, of entries with one row or several."""
    rng = np.random.default_rng(most)
    p = np.sort(rng.random(30))
    count = rng.integers(1, most + 1, 30)
    cells = Cells(p, count, count, np.zeros(30, dtype=np.int64))
    depth, partitions = _partitions(cells, 6)
    pairs = NestedPairs(p, count, partitions)
    for draws in (3, 3, 5, 2):
        events = rng.binomial(count[:, None], p[:, None], (30, draws))
        found = pairs(events)
        assert found.shape == (draws, len(depth))
        for column, values in zip(events.T, found, strict=True):
            y = np.concatenate([np.arange(n) < k for n, k in zip(count, column, strict=True)]).astype(int)
            rows = np.repeat(p, count)
            expected = [plain_t(y, rows, np.floor(rows * 2**b), True) for b in depth]
            assert values == pytest.approx(expected, abs=1e-12)


def test_partitions_end_where_every_row_has_a_bin_of_its_own():
    """By hand: 0.1 and 0.3 part at the second step, 0.3 and 0.45 at the third; 0.9 and 1 only at the fourth."""
    one = np.ones(5, dtype=np.int64)
    p = np.array([0.1, 0.3, 0.45, 0.9, 1.0])
    depth, partitions = _partitions(Cells(p, one, one, 0 * one), 8)
    assert depth == [1, 2, 3]
    assert [first.tolist() for first in partitions] == [[0, 3], [0, 1, 3], [0, 1, 2, 3]]
    # Two rows of one score share every bin.
    two = np.array([1, 2, 1, 1, 1])
    depth, partitions = _partitions(Cells(p, two, two, 0 * two), 8)
    assert depth == [1, 2, 3, 4]
    assert partitions[-1].tolist() == [0, 1, 2, 3, 4]
    assert _partitions(Cells(p, two, two, 0 * two), 2)[0] == [1, 2]
