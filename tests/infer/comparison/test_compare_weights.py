"""Comparisons of rows that matter unequally."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.errors import InputError

MEASURES = ("brier", "log_loss", "squared_ece")


def drawn(n, seed):
    """Two models of the same labels, and weights that go with the scores."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, n)
    y = (rng.random(n) < p).astype(int)
    return y, {"a": 0.5 + 0.6 * (p - 0.5), "b": p**1.2}, rng.uniform(0.2, 1, n) + 2 * (p > 0.7)


def numbers(found):
    pair = found["a", "b"]
    return [
        *found.estimates.values(),
        pair.difference,
        pair.standard_error,
        pair.low,
        pair.high,
        pair.pvalue,
    ]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("cluster", [None, np.arange(200) // 3])
def test_equal_weights_are_no_weights(measure, cluster):
    y, models, _ = drawn(200, 0)
    asked = {"measure": measure, "cluster": cluster}
    weighted = tn.compare(
        y, models, sample_weight=np.full(200, 0.3), weight_type="importance", **asked
    )
    np.testing.assert_allclose(
        numbers(weighted), numbers(tn.compare(y, models, **asked)), rtol=1e-9
    )
    assert "weights are importance weights" in weighted.assumptions


@pytest.mark.parametrize("measure", MEASURES)
@given(factor=st.floats(1e-3, 1e3), seed=st.integers(0, 5))
def test_only_ratios_of_weights_matter_and_weight_zero_is_no_row(measure, factor, seed):
    y, models, w = drawn(120, seed)
    w[::7] = 0
    asked = {"measure": measure, "weight_type": "importance"}
    found = numbers(tn.compare(y, models, sample_weight=w, **asked))
    np.testing.assert_allclose(
        numbers(tn.compare(y, models, sample_weight=factor * w, **asked)), found, rtol=1e-7
    )
    left = w > 0
    fewer = {name: p[left] for name, p in models.items()}
    np.testing.assert_allclose(
        numbers(tn.compare(y[left], fewer, sample_weight=w[left], **asked)), found, rtol=1e-12
    )


def test_the_variance_is_that_of_weighted_influences():
    # Brier losses 0.04, 0.25, 0.09 and 0.16, 0.25, 0.01: differences -0.12, 0, 0.08; weighted mean 0.01.
    models = {"a": [0.2, 0.5, 0.7], "b": [0.4, 0.5, 0.9]}
    w = np.array([0.5, 1.0, 1.0])
    found = tn.compare(
        [0, 1, 1], models, measure="brier", sample_weight=w, weight_type="importance"
    )["a", "b"]
    d = np.array([-0.12, 0, 0.08])
    mean = (w * d).sum() / 2.5
    assert found.difference == pytest.approx(mean)
    assert found.standard_error == pytest.approx(np.sqrt(1.5 * ((w * (d - mean)) ** 2).sum()) / 2.5)


def test_estimates_are_those_of_the_measures():
    y, models, w = drawn(300, 1)
    for measure, function in (("brier", tn.brier), ("log_loss", tn.log_loss)):
        found = tn.compare(y, models, measure=measure, sample_weight=w, weight_type="importance")
        for name, p in models.items():
            assert found.estimates[name] == pytest.approx(
                function(y, p, sample_weight=w), rel=1e-12
            )
    found = tn.compare(y, models, sample_weight=w, weight_type="importance")
    for name, p in models.items():
        expected = tn.squared_ece(y, p, sample_weight=w, weight_type="importance")
        assert found.estimates[name] == pytest.approx(expected, rel=1e-9)


def test_fractional_weights_count_no_rows():
    y, models, w = drawn(50, 0)
    with pytest.raises(
        InputError,
        match=r"sum to less than 2³⁵, which count rows\. For other weights use `weight_type='importance'`\.",
    ):
        tn.compare(y, models, sample_weight=w, weight_type="frequency")
    with pytest.raises(
        InputError,
        match=r"`weight_type` must be 'auto', 'frequency' or 'importance'; got 'other'\.",
    ):
        tn.compare(y, models, weight_type="other")
    with pytest.raises(
        InputError,
        match=r"`sample_weight` must count rows for `method='bootstrap'`.*; got sampling weights",
    ):
        tn.compare(y, models, sample_weight=w, weight_type="importance", method="bootstrap")


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_the_standard_error_is_the_spread_over_samples(measure):
    runs = 400
    found = [
        tn.compare(y, models, measure=measure, sample_weight=w, weight_type="importance")["a", "b"]
        for y, models, w in (drawn(600, seed) for seed in range(runs))
    ]
    spread = np.std([one.difference for one in found], ddof=1)
    ratio = np.mean([one.standard_error for one in found]) / spread
    # The deviation of a standard deviation of 400 normal values is 3.5 %; errors of squared_ece are known to be large.
    assert 0.87 < ratio < (1.5 if measure == "squared_ece" else 1.13)


def test_a_row_with_one_partner_in_its_bin_has_the_same_influence_in_any_unit_of_the_weights():
    p = np.array([0.3, 0.658, 0.7, 0.05])
    w = np.array([1.55e-9, 7.498e-9, 9.723e-12, 1e-12])
    asked = {"measure": "squared_ece", "bins": 4, "weight_type": "importance"}
    errors = [
        tn.compare([0, 0, 0, 1], {"a": p, "b": 0.9 * p}, sample_weight=unit * w, **asked)
        .pairs[0]
        .standard_error
        for unit in (1, 1 / 3, 0.1, 3, 37.5, 1e9)
    ]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-6)
