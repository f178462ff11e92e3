import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueness._numerics.averages import exponent, power_mean, weighted_quantiles

sizes = st.floats(-1e3, 1e3).filter(lambda v: v == 0 or abs(v) > 1e-6)
norms = st.one_of(st.sampled_from(["l1", "l2", "max"]), st.floats(1, 500))
pairs = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        arrays(float, n, elements=sizes), arrays(float, n, elements=st.integers(1, 9))
    )
)


@pytest.mark.parametrize(
    ("norm", "p"), [("l1", 1), ("l2", 2), ("max", math.inf), (1, 1), (2.5, 2.5)]
)
def test_a_norm_has_its_exponent(norm, p):
    assert exponent(norm) == p
    assert type(exponent(norm)) is float


@pytest.mark.parametrize("norm", ["rms", "L1", 0.5, -1, math.nan])
def test_an_unknown_norm_is_named_in_the_message(norm):
    with pytest.raises(ValueError, match=r"`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got"):
        power_mean([1.0], [1.0], norm)


@pytest.mark.parametrize(
    ("norm", "expected"),
    [("l1", 11 / 8), ("l2", math.sqrt(17 / 8)), (3, (29 / 8) ** (1 / 3)), ("max", 2.0)],
)
def test_by_hand(norm, expected):
    assert power_mean([0.0, 0.0], [1, 2], norm) == 0
    assert power_mean([-1.0, 1.0, 2.0], [1.0, 4.0, 3.0], norm) == pytest.approx(expected, rel=1e-15)


@given(pairs, st.floats(1, 50), st.floats(1, 50))
def test_it_grows_with_the_exponent(pair, p, q):
    low, high = sorted([p, q])
    assert (
        power_mean(*pair, low)
        <= power_mean(*pair, high) * (1 + 1e-12)
        <= power_mean(*pair, "max") * (1 + 1e-11)
    )


@given(pairs, norms)
def test_weight_is_repetition(pair, norm):
    values, weight = pair
    repeated = np.repeat(values, weight.astype(int))
    assert power_mean(values, weight, norm) == pytest.approx(
        power_mean(repeated, np.ones_like(repeated), norm), rel=1e-12
    )


@given(pairs, norms)
def test_an_entry_without_weight_is_ignored_even_if_nan(pair, norm):
    values, weight = pair
    assert power_mean(np.append(values, np.nan), np.append(weight, 0), norm) == power_mean(
        values, weight, norm
    )


@pytest.mark.parametrize("p", [1e3, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_a_large_exponent_neither_overflows_nor_underflows(p, scale):
    assert power_mean([scale, scale / 2], [1, 1], p) == pytest.approx(
        scale * 0.5 ** (1 / p), rel=1e-12
    )


def test_no_weight_gives_nan():
    assert math.isnan(power_mean([1.0], [0.0], "l2"))
    assert math.isnan(power_mean([], [], "max"))


SHARES = [0.0, 0.05, 0.275, 0.5, 0.9, 1.0]


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 4)), min_size=1, max_size=12))
def test_whole_weights_repeat_the_values(pairs):
    values, weight = np.array(sorted(pairs)).T
    weight = weight.astype(np.int64)
    expected = np.quantile(np.repeat(values, weight), SHARES)
    assert weighted_quantiles(values, weight, SHARES) == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(1e-6, 1e6)), min_size=1, max_size=12),
    st.floats(1e-3, 1e3),
)
def test_other_weights(pairs, scale):
    values, weight = np.array(sorted(pairs)).T
    found = weighted_quantiles(values, weight, SHARES)
    assert (found[0], found[-1]) == (values[0], values[-1])
    assert (np.diff(found) >= -1e-9).all()
    assert found == pytest.approx(weighted_quantiles(values, scale * weight, SHARES), abs=1e-6)
    equal = weighted_quantiles(values, np.full(values.size, scale), SHARES)
    assert equal == pytest.approx(np.quantile(values, SHARES), abs=1e-6)


def test_quantiles_of_a_function_of_the_values():
    values, weight = np.array([0.1, 0.2, 0.7]), np.array([1, 1, 1])
    found = weighted_quantiles(values, weight, SHARES, np.log)
    assert found == pytest.approx(np.quantile(np.log(values), SHARES))
