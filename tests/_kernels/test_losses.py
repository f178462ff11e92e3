import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import reference
from trueness._kernels.library import BAD_LABEL, BAD_SCORE

UNITS = (2.0**-14, 2.0**-38, 2.0**-62)
EDGES = (0.0, 5e-324, 2.0**-1022, 1e-300, 2.0**-54, 2.0**-53, 0.25, math.sqrt(0.5), 0.5, 0.75, 1 - 2.0**-53, 1.0)
score = st.one_of(st.floats(0, 1), st.sampled_from(EDGES))


def exact_loss(p, event):
    with localcontext(prec=60):
        return -(Decimal(p) if event else 1 - Decimal(p)).ln()


@given(score, st.booleans())
def test_one_loss_is_right_to_the_last_place(kernels, p, event):
    status, sums = kernels.loss_sums(np.array([p]), np.array([event]))
    assert status == 0
    if p == (0 if event else 1):
        assert sums.tolist() == [0, 0, 0, 1]
        return
    found = sum(Decimal(int(n)) * Decimal(unit) for n, unit in zip(sums, UNITS, strict=False))
    expected = exact_loss(p, event)
    assert sums[3] == 0
    assert abs(found - expected) <= Decimal(2.0**-62) + Decimal(2.0**-52) * expected


def rows(n, seed):
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.random(n), rng.beta(0.05, 0.05, n), np.exp(-745 * rng.random(n)), EDGES])
    return p, rng.random(p.size) < 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 170, 171, 1000, 20_000])
def test_it_equals_the_reference_to_the_bit(kernels, dtype, n):
    p, y = rows(n, n)
    p = p.astype(dtype)
    status, sums = kernels.loss_sums(p, y)
    assert status == 0
    assert sums.tolist() == reference.loss_sums(p, y)[1].tolist()


@pytest.mark.parametrize("n", [0, 1, 170, 1000, 20_000])
def test_cells_are_their_rows(kernels, n):
    p, _ = rows(n, n)
    rng = np.random.default_rng(n)
    weight = rng.integers(1, 5, p.size)
    events = rng.integers(0, weight + 1)
    found = kernels.cell_loss_sums(p, weight, events)
    assert found.tolist() == reference.cell_loss_sums(p, weight, events).tolist()
    long_y = np.concatenate([np.arange(w) < e for w, e in zip(weight, events, strict=True)])
    assert found.tolist() == kernels.loss_sums(np.repeat(p, weight), long_y)[1].tolist()


def test_sums_of_large_weights_are_exact(kernels):
    p, weight, events = np.array([1e-300, 0.3]), np.array([2**37, 2**37]), np.array([2**37, 2**36 + 1])
    once = [kernels.loss_sums(p[[i]], np.array([y]))[1].astype(object) for i, y in ((0, 1), (1, 1), (1, 0))]
    expected = 2**37 * once[0] + (2**36 + 1) * once[1] + (2**36 - 1) * once[2]
    assert kernels.cell_loss_sums(p, weight, events).tolist() == expected.tolist()


def test_the_order_of_the_rows_does_not_matter(kernels):
    p, y = rows(3000, 1)
    order = np.random.default_rng(0).permutation(p.size)
    assert kernels.loss_sums(p[order], y[order])[1].tolist() == kernels.loss_sums(p, y)[1].tolist()


def test_threads_share_the_rows(three_threads):
    p, y = rows(1000, 2)
    assert three_threads.loss_sums(p, y)[1].tolist() == reference.loss_sums(p, y)[1].tolist()


@pytest.mark.parametrize("n", [1, 600])
def test_bad_scores_and_labels_are_reported(kernels, n):
    p, y = np.full(n, 0.5), np.ones(n, np.int64)
    assert kernels.loss_sums(np.append(p, np.nan), np.append(y, 1))[0] == BAD_SCORE
    assert kernels.loss_sums(np.append(p, 1.5), np.append(y, 2))[0] == BAD_SCORE | BAD_LABEL
