"""A keyword that a function does not have is an error that names the nearest one."""

import pickle

import pytest

import trueness as tn
from trueness import simulate

Y, P = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.6]
MISTAKES = {
    "ece, as other libraries call it": (lambda: tn.ece(Y, P, n_bins=15), "ece", "n_bins", "bins"),
    "ece of a tally": (lambda: tn.ece(tn.tally(Y, P), n_bins=15), "ece", "n_bins", "bins"),
    "ace, which calls ece": (lambda: tn.ace(Y, P, num_bins=2), "ace", "num_bins", "bins"),
    "a typing error": (lambda: tn.ece(Y, P, norms="l2"), "ece", "norms", "norm"),
    "weights": (lambda: tn.brier(Y, P, weights=[1, 1, 1, 1]), "brier", "weights", "sample_weight"),
    "tally": (lambda: tn.tally(Y, P, weight=[1, 1, 1, 1]), "tally", "weight", "sample_weight"),
    "interval": (
        lambda: tn.ece_interval(Y, P, random_state=1),
        "ece_interval",
        "random_state",
        "seed",
    ),
    "test": (lambda: tn.calibration_test(Y, P, groups=Y), "calibration_test", "groups", "cluster"),
    "estimate": (lambda: tn.estimate("ece", Y, P, n_bins=3), "ece", "n_bins", "bins"),
    "no rows": (lambda: tn.epsilon(100, bins=3), "epsilon", "bins", "n_bins"),
    "scan": (
        lambda: tn.scan("rows.csv", label="y", prob="p", weights="w"),
        "scan",
        "weights",
        "weight",
    ),
    "simulate": (lambda: simulate.demo(100, random_state=0), "demo", "random_state", "seed"),
    "bin rule": (lambda: tn.EqualMass(n_bins=5), "EqualMass", "n_bins", "n"),
    "calibrator": (lambda: tn.HistogramBinning(bins=5), "HistogramBinning", "bins", "n_bins"),
    "fit": (
        lambda: tn.PlattScaling().fit(P, Y, weights=P),
        "Calibrator.fit",
        "weights",
        "sample_weight",
    ),
    "accumulator": (lambda: tn.Accumulator(n_bins=10), "Accumulator", "n_bins", "bins"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_unknown_keyword_is_an_error_that_names_the_nearest(mistake):
    call, function, keyword, near = MISTAKES[mistake]
    text = rf"^{function}\(\) got an unexpected keyword argument '{keyword}'. Did you mean `{near}=`\?$"
    with pytest.raises(TypeError, match=text):
        call()


def test_a_keyword_like_no_other_is_answered_with_all_there_are():
    with pytest.raises(TypeError, match=r"'zzz'. Its arguments are `n`, `seed`\.$"):
        simulate.demo(zzz=1)


def test_a_rule_without_options_takes_none():
    with pytest.raises(
        TypeError, match=r"^Distinct\(\) got an unexpected keyword argument 'n_bins'"
    ):
        tn.Distinct(n_bins=3)


def test_functions_that_suggest_keywords_can_be_pickled():
    assert pickle.loads(pickle.dumps(tn.epsilon)) is tn.epsilon
