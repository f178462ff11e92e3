"""Softmax of rows of logits: NumPy's and every compiled kind, to the last bit."""

import numpy as np
import pytest
from grids import slow

from trueness._kernels import BAD_LABEL, BAD_SCORE

SHAPES = [
    (1, 1),
    (900, 2),
    (300, 4),
    (40, 15),
    (40, 17),
    (9, 1023),
    (9, 1025),
    (3, 5000),
    (2, 200_000),
]


def logits(n, n_classes, dtype=np.float64, scale=3.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = (scale * rng.standard_normal((n, n_classes))).astype(dtype)
    if n_classes > 1:
        Z[::5, 0] = -np.inf
    Z[1::7] = Z[1::7].round()
    return Z, rng.integers(0, n_classes, n)


def probabilities(kernels, Z, y):
    status, top, total, *_ = kernels.logit_tops(Z, y)
    assert status == 0
    P = np.empty(Z.shape)
    kernels.softmax(Z, top, total, P)
    return P


@pytest.mark.parametrize(
    "shape", [(300, 4), (40, 17), *slow(*sorted({*SHAPES} - {(300, 4), (40, 17)}))]
)
@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float64, 3.0), (np.float32, 0.1), (np.float64, 200.0)]
)
def test_softmax_is_right_to_fourteen_digits(kernels, shape, dtype, scale):
    Z, y = logits(*shape, dtype, scale)
    difference = Z.astype(np.float64) - Z.max(
        axis=1, keepdims=True
    )  # rounded, as any softmax in float64 has it
    powers = np.exp(difference.astype(np.longdouble))
    expected = powers / powers.sum(axis=1, keepdims=True)
    P = probabilities(kernels, Z, y)
    normal = expected > 1e-300
    assert np.max(np.abs(P[normal] / expected[normal] - 1)) < 1e-14
    np.testing.assert_allclose(P[~normal], expected[~normal].astype(float), rtol=0, atol=1e-313)


@pytest.mark.parametrize("n_classes", [2, 3, 17, 1100])
def test_the_top_label_is_the_first_with_the_largest_probability(kernels, n_classes):
    for scale in 1e-17, 1e-16, 1e-15, 1.0:
        for dtype in np.float64, np.float32:
            Z, y = logits(50, n_classes, dtype, scale)
            P = probabilities(kernels, Z, y)
            _, _, total, predicted, correct = kernels.logit_tops(Z, y)
            assert np.array_equal(predicted, P.argmax(axis=1))
            assert np.array_equal(correct, P.argmax(axis=1) == y)
            assert np.array_equal(1 / total, P.max(axis=1))


@pytest.mark.parametrize("n_classes", [3, 65, 2000])
def test_a_tie_goes_to_the_smallest_class(kernels, n_classes):
    Z = np.zeros((4, n_classes))
    Z[1, [n_classes // 2, n_classes - 1]] = 7
    Z[2] = -np.inf
    Z[2, -1] = -1e308
    Z[3] = -0.0
    Z[3, -1] = 0.0
    _, _, total, predicted, _ = kernels.logit_tops(Z, np.zeros(4, np.int64))
    assert predicted.tolist() == [0, n_classes // 2, n_classes - 1, 0]
    assert total[0] == total[3] == n_classes
    assert total[2] == 1


def test_far_logits_have_probability_zero_and_near_ones_never_do(kernels):
    Z = np.array([[0, -np.inf, -746, -745, -700, -1e308], [1.7e308, -1.7e308, 0, 0, 0, 0]])
    P = probabilities(kernels, Z, np.zeros(2, np.int64))
    assert P[0].tolist() == [1, 0, 0, 5e-324, pytest.approx(np.exp(-700), rel=1e-14), 0]
    assert P[1].tolist() == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("shape", "dtype"), [((1, 2), np.float64), ((700, 3), np.float32), ((3, 3000), np.float64)]
)
@pytest.mark.parametrize("place", [(0, -1), (-1, 0)])
def test_faults_are_found_anywhere(kernels, shape, place, dtype):
    for bad in np.nan, -np.nan, np.inf:
        Z, y = logits(*shape, dtype)
        Z[place] = bad
        assert kernels.logit_tops(Z, y)[0] == BAD_SCORE
    Z, y = logits(*shape, dtype)
    Z[place[0]] = -np.inf
    assert kernels.logit_tops(Z, y)[0] == BAD_SCORE
    for label in -1, shape[1], 2**40:
        Z, y = logits(*shape, dtype)
        y[place[0]] = label
        assert kernels.logit_tops(Z, y)[0] == BAD_LABEL
        Z[place] = np.nan
        assert kernels.logit_tops(Z, y)[0] == BAD_LABEL | BAD_SCORE


def test_some_columns_are_those_of_the_whole(kernels):
    Z, y = logits(40, 50)
    P = probabilities(kernels, Z, y)
    _, top, total, *_ = kernels.logit_tops(Z, y)
    some = np.empty((40, 7))
    kernels.softmax(Z[:, 20:27].copy(), top, total, some)
    assert np.array_equal(some, P[:, 20:27])
