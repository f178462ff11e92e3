"""T-Cal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows

import trueness as tn
from trueness.infer import calibration_test
from trueness.infer._t_cal import NestedPairs, _partitions, number_of_resolutions

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
