"""The sums that decide the temperature: NumPy's and every compiled kind against their definition."""

import numpy as np
import pytest

from trueness._kernels import BAD_LABEL

NONE = np.empty(0)
SHAPES = [(0, 3), (1, 1), (7, 3), (90, 10), (40, 63), (40, 65), (20, 1000)]


def logits(n, n_classes, dtype=np.float64, scale=3.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = (scale * rng.standard_normal((n, n_classes))).astype(dtype)
    return Z, rng.integers(0, n_classes, n), rng.exponential(size=n)


def by_definition(Z, y, w, beta):
    Z = Z.astype(np.float64)
    w = w if w.size else np.ones(y.size)
    loss = slope = curvature = third = fourth = 0.0
    for z, own, weight in zip(Z, y, w, strict=True):
        powers = np.exp(beta * (z - z.max()))
        p = powers / powers.sum()
        mean = p @ z
        loss -= weight * (beta * (z[own] - z.max()) - np.log(powers.sum()))
        slope += weight * (mean - z[own])
        curvature += weight * (p @ (z - mean) ** 2)
        third += weight * (p @ (z - mean) ** 3)
        fourth += weight * (p @ (z - mean) ** 4)
    return [loss, slope, curvature, third, fourth]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("dtype", "beta"), [(np.float64, 0.0), (np.float32, 0.7), (np.float64, 40.0)]
)
def test_the_sums_are_their_definition(kernels, shape, dtype, beta):
    Z, y, w = logits(*shape, dtype)
    for weights in NONE, w:
        status, sums = kernels.softmax_derivatives(Z, y, weights, beta)
        assert status == 0
        np.testing.assert_allclose(sums, by_definition(Z, y, weights, beta), rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 100])
def test_far_logits_neither_overflow_nor_lose_the_loss(kernels, n_classes):
    for dtype, far in (np.float32, 3e38), (np.float64, 1e100):
        Z = np.zeros((2, n_classes), dtype)
        Z[:, -1] = -far
        status, sums = kernels.softmax_derivatives(Z, np.array([0, n_classes - 1]), NONE, 1.0)
        assert status == 0
        expected = [
            2 * np.log(n_classes - 1) + float(Z[1, 0] - Z[1, -1]),
            float(Z[1, 0] - Z[1, -1]),
            0,
        ]
        np.testing.assert_allclose(sums[:3], expected, rtol=1e-12, atol=1e-100)
        assert abs(sums[3]) < 1e-6  # e^-708 times the cube of 1e100


def test_equal_logits_have_no_slope(kernels):
    for n_classes in 1, 3, 200:
        Z = np.full((4, n_classes), 1.5)
        status, sums = kernels.softmax_derivatives(Z, np.zeros(4, np.int64), NONE, 2.0)
        assert status == 0
        np.testing.assert_allclose(sums, [4 * np.log(n_classes), 0, 0, 0, 0], rtol=1e-14)


@pytest.mark.parametrize("label", [-1, 5, 2**40])
def test_a_label_that_is_no_column_is_found(kernels, label):
    Z, y, _ = logits(9, 5)
    y[7] = label
    assert kernels.softmax_derivatives(Z, y, NONE, 1.0)[0] == BAD_LABEL
