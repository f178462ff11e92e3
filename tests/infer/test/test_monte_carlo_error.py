"""P-values from redrawn labels: their Monte-Carlo error, and draws that settle the decision."""

import math

import numpy as np
import pytest

import trueness as tn


def rows(seed, n=30):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, n).round(1).clip(0.1, 0.9)
    return (rng.random(n) < p) * 1, p


def test_labels_are_drawn_until_the_decision_is_settled_or_20_000_are_there():
    first = tn.calibration_test(*rows(63), method="spiegelhalter", resamples=999)
    assert first.is_open
    settled = tn.calibration_test(*rows(63), method="spiegelhalter")
    assert settled.smallest_pvalue == 1 / 20_000
    assert not settled.is_open
    clear = tn.calibration_test(*rows(0), method="spiegelhalter")
    assert clear.smallest_pvalue == 1 / 1_000


def test_a_pvalue_that_stays_open_is_printed_with_its_error():
    found = tn.calibration_test(*rows(14), method="cox")
    assert found.pvalue_error == pytest.approx(
        math.sqrt(found.pvalue * (1 - found.pvalue) / 20_000)
    )
    assert found.is_open
    assert found.pvalue_in_words == "p = 0.049 ± 0.002, simulated"
    assert "p = 0.049 ± 0.002, simulated" in str(found)
    assert found.to_dict()["pvalue_error"] == found.pvalue_error


def test_the_level_says_which_decision_is_to_be_settled():
    strict = tn.calibration_test(*rows(14), method="cox", level=0.8)
    assert strict.level == 0.8
    assert strict.smallest_pvalue == 1 / 1_000
    assert not strict.is_open


def test_a_pvalue_without_draws_has_no_error():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    found = tn.calibration_test((rng.random(2_000) < p) * 1, p, method="cox")
    assert (found.pvalue_error, found.is_open) == (0, False)
    assert "simulated" not in found.pvalue_in_words
    exact = tn.calibration_test([1, 0, 1], [1.0, 0.0, 0.0])
    assert exact.pvalue_error == 0


def test_test_set_and_verdict_decide_by_the_same_draws():
    y, p = rows(12)
    test = tn.calibration_test(y, p)
    assert test.smallest_pvalue < 1 / 1_000
    assert tn.ece_interval(y, p).includes_zero == (test.pvalue > 0.05)
    assert tn.assess(y, p).test == test
