"""What all measures share: scores of 0 and 1, warnings, options and signatures."""

import math

import pytest

import trueness as tn

ONES_AND_ZEROS = ([0, 1, 1, 0], [0.0, 1.0, 0.0, 1.0])  # two right, two as wrong as can be


def test_scores_of_exactly_0_and_1():
    y, p = ONES_AND_ZEROS
    assert tn.ece(y, p, bins=2) == 0.5  # each bin is right for one of its two rows
    assert tn.mce(y, p, bins=2) == 0.5
    assert tn.brier(y, p) == 0.5
    assert tn.log_loss(y, p) == math.inf
    assert tn.tce(y, p, bins=2) == 100
    assert tn.smooth_ece(y, p) == pytest.approx(tn.smooth_ece(y[::-1], p[::-1]))
    assert tn.observed_expected(y, p) == 1
    d = tn.corp(y, p, score="log")
    assert (d.score, d.miscalibration) == (math.inf, math.inf)
    assert d.uncertainty == pytest.approx(math.log(2))


def test_one_class_is_a_warning():
    with pytest.warns(tn.errors.OneClassWarning, match="All 3 labels are equal"):
        assert tn.ece([0, 0, 0], [0.1, 0.2, 0.3], bins=1) == pytest.approx(0.2)
    with pytest.warns(tn.errors.OneClassWarning):
        tn.ece([0, 0], [[0.5, 0.5], [0.5, 0.5]], bins=2)
    with pytest.warns(tn.errors.OneClassWarning):
        tn.ece([0, 0], [[0.5, 0.5], [0.5, 0.5]], bins=2, kind="confidence")


def test_fewer_rows_than_bins_is_a_warning():
    with pytest.warns(tn.errors.FewRowsWarning, match=r"fewer rows \(2\) than bins \(10\)") as said:
        tn.ece([0, 1], [0.1, 0.9])
    assert said[0].filename == __file__  # it points at the caller


def test_signatures_spell_out_the_row_options():
    import inspect

    for name in ("ece", "tce", "brier", "bin_table", "tally"):
        parameters = inspect.signature(getattr(tn, name)).parameters
        assert parameters["kind"].default is None
        assert {
            "labels",
            "pos_label",
            "sample_weight",
            "missing",
            "from_logits",
        } <= parameters.keys()
        assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
