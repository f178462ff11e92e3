from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import compiled, library, reference

BITS = (44, 34, 44, 36, 26)
LINE = (0.9, 0.1, -0.3)


def whole(sums):
    """Each sum as one whole number."""
    return [(a << 22) + b for a, b in sums.tolist()]


@given(st.floats(5e-324, 1 - 2.0**-53))
def test_log_odds_are_right_to_the_last_places(kernels, p):
    with localcontext(prec=60):
        expected = Decimal(p).ln() - (1 - Decimal(p)).ln()
        larger = max(-Decimal(p).ln(), -(1 - Decimal(p)).ln())
    assert abs(Decimal(float(kernels.logits(np.array([p]))[0])) - expected) <= Decimal(2.0**-51) * larger


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_odds_of_certain_scores_are_infinite(kernels, dtype):
    p = np.tile(np.array([0.0, -0.0, 1.0, 0.5, 2.0**-149], dtype), 300)
    found = kernels.logits(p).reshape(300, 5)
    assert (found == found[0]).all()
    assert found[0, :4].tolist() == [-np.inf, -np.inf, np.inf, 0.0]
    assert found[0, 4] == pytest.approx(-149 * np.log(2), rel=1e-15)


def rows(n):
    rng = np.random.default_rng(n)
    spread = [rng.random(n), np.exp(-740 * rng.random(n)), 1 - np.exp(-36 * rng.random(n)), [5e-324, 0.5, 1 - 2.0**-53]]
    p = np.clip(np.concatenate(spread), 5e-324, 1 - 2.0**-53)
    return p, rng.random(p.size) < p


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 170, 5000])
def test_it_equals_the_reference_to_the_bit(kernels, dtype, n):
    p, y = rows(n)
    p = p.astype(dtype)[(p.astype(dtype) > 0) & (p.astype(dtype) < 1)]
    y = y[: p.size]
    x = kernels.logits(p)
    assert np.array_equal(x, reference.logits(p))
    assert whole(kernels.row_line_sums(x, y, *LINE)) == whole(reference.row_line_sums(x, y, *LINE))


@pytest.mark.parametrize("label", [np.bool_, np.int8, np.int64, np.float32, np.float64])
def test_the_sums_are_those_of_floats(kernels, label):
    rng = np.random.default_rng(3)
    x = rng.normal(size=3000)
    y = (rng.random(x.size) < 0.3).astype(label)
    found = [n / 2**k for n, k in zip(whole(kernels.row_line_sums(x, y, *LINE)), BITS, strict=True)]
    plain = reference.line_sums(x, np.ones(x.size), y.astype(float), *LINE)
    assert found == pytest.approx(plain.tolist(), rel=1e-9, abs=1e-7)
    assert found[:2] == pytest.approx(plain[:2].tolist(), abs=x.size * 2.0**-35)


@pytest.mark.parametrize("n", [0, 1, 170, 1000])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_cells_are_their_rows_in_any_order(kernels, n, most):
    x = reference.logits(rows(n)[0])
    rng = np.random.default_rng(n)
    weight = rng.integers(1, most + 1, x.size)
    events = rng.integers(0, weight + 1)
    found = whole(kernels.cell_line_sums(x, weight, events, *LINE))
    assert found == whole(reference.cell_line_sums(x, weight, events, *LINE))
    long_x = np.repeat(x, weight)
    long_y = np.concatenate([np.arange(w) < e for w, e in zip(weight, events, strict=True)])
    order = rng.permutation(long_x.size)
    assert found == whole(kernels.row_line_sums(long_x[order], long_y[order], *LINE))


@pytest.mark.parametrize("weight", [2**20 - 1, 2**20, 2**20 + 1, 2**34])
def test_sums_of_large_weights_are_exact(kernels, weight):
    x = np.array([-700.0, 2.0])
    once = [[whole(kernels.row_line_sums(x[[i]], np.array([y]), *LINE)) for y in (0, 1)] for i in (0, 1)]
    expected = [weight * a + (weight - 3) * b + 3 * c for a, b, c in zip(once[0][1], *once[1], strict=True)]
    w = np.full(2, weight)
    assert whole(kernels.cell_line_sums(x, w, np.array([weight, 3]), *LINE)) == expected


def test_threads_share_the_rows(three_threads):
    p, y = rows(1000)
    x = three_threads.logits(p)
    assert np.array_equal(x, reference.logits(p))
    assert whole(three_threads.row_line_sums(x, y, *LINE)) == whole(reference.row_line_sums(x, y, *LINE))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -2000.0])
def test_log_odds_of_no_score_are_refused(bad):
    if not library.available():
        pytest.skip("the compiled kernels were not built")
    x, one = np.append(np.zeros(600), bad), np.ones(601, np.int64)
    with pytest.raises(TypeError, match="other types, sizes or layouts"):
        compiled.row_line_sums(x, one, *LINE)
    with pytest.raises(TypeError, match="other types, sizes or layouts"):
        compiled.cell_line_sums(x, one, one, *LINE)
