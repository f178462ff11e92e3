"""What all measures share: scores of 0 and 1, warnings, options and signatures."""

import math

import numpy as np
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
    with pytest.warns(tn.OneClassWarning, match="All 3 labels are equal"):
        assert tn.ece([0, 0, 0], [0.1, 0.2, 0.3], bins=1) == pytest.approx(0.2)
    with pytest.warns(tn.OneClassWarning):
        tn.ece([1, 1], [[0.5, 0.5], [0.5, 0.5]], bins=2)
    with pytest.warns(tn.OneClassWarning):
        tn.ece([1, 1], [[0.5, 0.5], [0.5, 0.5]], bins=2, kind="confidence")


def test_fewer_rows_than_bins_is_a_warning():
    with pytest.warns(tn.FewRowsWarning, match=r"fewer rows \(2\) than bins \(10\)") as said:
        tn.ece([0, 1], [0.1, 0.9])
    assert said[0].filename == __file__  # it points at the caller


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, p: tn.squared_ece(y, p, k=2), "`k` must be None or 1"),
        (lambda y, p: tn.squared_ece(y, p, bins=tn.Isotonic()), "must not depend on the labels"),
        (
            lambda y, p: tn.squared_ece(y, p, sample_weight=[0.5, 1.5, 1]),
            "must be whole numbers .* For other weights use `weight_type='importance'`",
        ),
        (lambda y, p: tn.gce(y, p, alpha=7), "`alpha` must lie between 0 and 1; got 7"),
        (lambda y, p: tn.gce(y, p, test=np.arange(3)), "`test` must be"),
        (lambda y, p: tn.ece(y, p, norm=np.arange(3)), "`norm` must be"),
        (lambda y, p: tn.squared_ece(y, p, weight_type="x"), "'frequency' or 'importance'"),
        (lambda y, p: tn.tce(y, p, sample_weight=[0.5, 1, 1]), "`test='t'`"),
        (lambda y, p: tn.tce(y, p, test="z"), "`test` must be"),
        (lambda y, p: tn.tce(y, p, alpha=-0.01), "`alpha` must lie between 0 and 1; got -0.01"),
        (lambda y, p: tn.corp(y, p, score="crps"), "`score` must be 'brier' or 'log'"),
        (lambda y, p: tn.ece(y, p, norm=True), "`norm` must be"),
        (lambda y, p: tn.ece(y, p, norm="rms"), "got 'rms'"),
        (lambda y, p: tn.ece(y, p, norm=0.5), "a number ≥ 1; got 0.5"),
        (lambda y, p: tn.ace(y, p, bins=[0, 1]), "or an EqualMass rule"),
        (lambda y, p: tn.bin_table(y, p, interval="wald"), "'exact', 'wilson' or 'jeffreys'; got 'wald'"),
    ],
)
def test_an_invalid_option_is_refused(call, message):
    with pytest.raises(tn.InputError, match=message):
        call(np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]))


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        tn.ece([0, 1], [0.1, 0.9], weights=[1, 1])


def test_signatures_spell_out_the_row_options():
    import inspect

    for name in ("ece", "tce", "brier", "bin_table", "tally"):
        parameters = inspect.signature(getattr(tn, name)).parameters
        assert parameters["kind"].default == "classwise"
        assert {"labels", "pos_label", "sample_weight", "missing", "from_logits"} <= parameters.keys()
        assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
