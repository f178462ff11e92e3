"""What histogram binning promises, by the data of its artists."""

import numpy as np
import pytest

import trueness as tn
from trueness import recalibrate
from trueness.plot import GuaranteeDisplay
from trueness.results import GuaranteePlan

PLAN = GuaranteePlan(
    np.array([1000, 5000]),
    np.array([5, 10, 20]),
    np.array([[0.1, 0.2, np.nan], [0.05, 0.08, 0.12]]),
    np.array([5, 0]),
    0.1,
    "conditional",
    "umd",
    "hoeffding",
)


def test_a_line_per_number_of_rows_and_a_mark_for_the_chosen_bins():
    drawn = GuaranteeDisplay(PLAN).plot()
    assert [line.get_ydata().tolist() for line in drawn.lines_[1:]] == [[0.05, 0.08, 0.12]]
    (mark,) = drawn.marks_
    assert (mark.get_xdata().tolist(), mark.get_ydata().tolist()) == ([5], [0.1])
    names = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert names == ["n = 1,000: B = 5, ε = 0.100", "n = 5,000"]
    assert drawn.ax_.get_title(loc="left") == "scheme umd, bound hoeffding, with probability 90 %"


def test_the_lines_are_epsilon():
    found = GuaranteeDisplay.from_sizes(
        [1000, 5000], [5, 10, 600], chosen={5000: 10}, kind="marginal"
    ).plan
    assert found.epsilon[1, 1] == recalibrate.epsilon(5000, 10, kind="marginal")
    assert np.isnan(found.epsilon[0, 2])
    assert found.chosen.tolist() == [0, 10]
    assert GuaranteeDisplay.from_sizes(1000, chosen=7).plan.chosen.tolist() == [7]


def test_the_most_bins_that_keep_a_wanted_epsilon_are_marked():
    plan = GuaranteeDisplay.from_sizes([100, 2660], range(2, 30), wanted=0.1).plan
    assert plan.chosen.tolist() == [0, 10]
    assert recalibrate.max_bins(2660, 0.1) == 10


def test_bad_arguments_are_named():
    with pytest.raises(tn.InputError, match=r"`n` must be whole numbers ≥ 4; got 2\.5"):
        GuaranteeDisplay.from_sizes(2.5)
    with pytest.raises(tn.InputError, match="`n_bins` must be whole numbers ≥ 1"):
        GuaranteeDisplay.from_sizes(100, [0, 1])
    with pytest.raises(tn.InputError, match="`chosen` must be among `n_bins`"):
        GuaranteeDisplay.from_sizes(1000, [5, 10], chosen=7)
    with pytest.raises(tn.InputError, match="`chosen` and `wanted` both choose"):
        GuaranteeDisplay.from_sizes(1000, chosen=7, wanted=0.1)
