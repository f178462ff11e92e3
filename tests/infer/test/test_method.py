"""What all tests of calibration share."""

import numpy as np
import pytest

import trueness as tn
from trueness._tally.cells import Cells
from trueness._tally.evidence import bin_starts
from trueness.infer.test._method import Outcome, any_uncertain, significance, squared_weights

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("p", "uncertain"),
    [
        ([0.0], False),
        ([1.0], False),
        ([0.0, 1.0], False),
        ([0.5], True),
        ([0.0, 1e-320], True),
        ([1 - 2**-53, 1.0], True),
        ([0.0, 0.5, 1.0], True),
    ],
)
def test_scores_strictly_between_0_and_1_are_uncertain(p, uncertain):
    assert any_uncertain(np.array(p)) == uncertain


def test_the_record_of_an_outcome_holds_its_numbers():
    outcome = Outcome(2.5, 0.04, "Rows are independent.", 0.01, {"strongest": "mean"})
    found = significance(cells_of([0, 1, 1], [0.2, 0.3, 0.3], [2, 3, 1]), "some", outcome)
    assert (found.statistic, found.pvalue, found.method, found.n) == (2.5, 0.04, "some", 6)
    assert (found.assumptions, found.smallest_pvalue, found.strongest) == ("Rows are independent.", 0.01, "mean")
    # Weights that are not whole do not count rows.
    assert significance(cells_of([0, 1, 1], [0.2, 0.3, 0.3], [2, 3, 1.5]), "some", outcome).n == 3


@pytest.mark.parametrize("w", [None, [0.3, 0.7]])
def test_certain_scores_are_right_with_pvalue_1_or_wrong_with_the_smallest(w):
    outcome = Outcome(1.0, 0.5, "", 0.02)
    assert significance(cells_of([0, 1], [0.0, 1.0], w), "some", outcome).pvalue == 1
    for y in ([1, 1], [0, 0], [1, 0]):
        assert significance(cells_of(y, [0.0, 1.0], w), "some", outcome).pvalue == 0.02
    assert significance(cells_of([0, 1], [0.0, 0.9], w), "some", outcome).pvalue == 0.5
    assert Outcome(1.0, 0.5, "").smallest == 0


def test_the_variance_of_whole_weights_is_theirs_and_of_others_their_squares():
    assert squared_weights(cells_of([0, 1, 1], [0.2, 0.3, 0.3], [2, 3, 1])).tolist() == [2, 4]
    assert squared_weights(cells_of([0, 1, 1], [0.2, 0.3, 0.3], [2, 3, 1.5])).tolist() == [4, 9 + 1.5**2]


def test_bins_begin_at_the_first_cell_of_each_bin_that_has_one():
    one = np.ones(5, dtype=np.int64)
    cells = Cells(np.array([0.05, 0.11, 0.12, 0.5, 0.95]), one, one, 0 * one)
    assert bin_starts(cells, tn.EqualWidth(10)).tolist() == [0, 1, 3, 4]
    assert bin_starts(cells, tn.EqualWidth(1)).tolist() == [0]
    assert bin_starts(cells, tn.Edges([0.0, 0.3, 0.4, 1.0])).tolist() == [0, 3]
