import numpy as np
import pytest

from trueness._kernels import BAD_LABEL, BAD_SCORE, BAD_SUM, reference

SHAPES = [(0, 3), (1, 2), (600, 3), (200, 32), (200, 33), (30, 1000)]


def simplex(n, n_classes, dtype=np.float64, concentration=0.5, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n_classes, concentration), n).astype(dtype)
    return P, rng.integers(0, n_classes, n)


def classwise(kernels, P, y, n_bins, tolerance=1e-6):
    table = np.zeros((P.shape[1], n_bins, 2, 3), np.int64)
    assert kernels.classwise_sums(P, y, n_bins, table, tolerance) == 0
    return table


def same(found, expected):
    assert found[0] == expected[0]
    for a, b in zip(found[1:], expected[1:], strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_top1_is_the_maximum_and_where_it_is(kernels, shape, dtype):
    for concentration in 0.01, 0.5, 5:
        P, y = simplex(*shape, dtype, concentration)
        found = kernels.top1(P, y, 1e-5)
        expected = 0, P.max(axis=1), P.argmax(axis=1), (P.argmax(axis=1) == y).astype(np.uint8)
        same(found, expected)


@pytest.mark.parametrize("n_classes", [2, 64, 200])
def test_a_tie_goes_to_the_smallest_class(kernels, n_classes):
    P = np.full((3, n_classes), 1 / n_classes)
    P[1] = 0
    P[1, [n_classes // 2, n_classes - 1]] = 0.5
    P[2, :] = -0.0
    P[2, -1] = 1
    _, confidence, predicted, _ = kernels.top1(P, np.zeros(3, np.int64), 1e-6)
    assert predicted.tolist() == [0, n_classes // 2, n_classes - 1]
    assert confidence.tolist() == [1 / n_classes, 0.5, 1]


@pytest.mark.parametrize("n_classes", [2, 64, 100, 128])
def test_a_confidence_is_never_minus_zero(kernels, n_classes):
    P = np.full((2, n_classes), -0.0)
    P[0, 1] = 0.0
    status, confidence, predicted, _ = kernels.top1(P, np.zeros(2, np.int64), 2.0)
    assert (status, predicted.tolist()) == (0, [0, 0])
    assert not np.signbit(confidence).any()


@pytest.mark.parametrize("score", [-1.0, np.nan, np.inf])
def test_a_row_of_nothing_valid_is_a_fault_and_nothing_outside_it_is_read(kernels, score):
    P = np.full((1, 128), score)
    status, _, predicted, _ = kernels.top1(P, np.zeros(1, np.int64), 1e-6)
    assert status == BAD_SCORE
    assert 0 <= predicted[0] < 128


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classwise_sums_are_the_binned_sums_of_each_column(kernels, shape, dtype):
    for concentration, n_bins in (0.5, 1), (0.5, 10), (0.02, 15), (0.02, 100):
        P, y = simplex(*shape, dtype, concentration)
        table = classwise(kernels, P, y, n_bins, 1e-5)
        for j in range(0, shape[1], 1 + shape[1] // 10):
            column = np.zeros((n_bins, 2, 5), np.int64)
            edges = np.arange(n_bins + 1) / n_bins
            reference.bin_sums(P[:, j].copy(), y == j, edges, column, uniform=True, moments=False)
            assert np.array_equal(table[j], column[..., :3])


@pytest.mark.parametrize("n_classes", [2, 70])
@pytest.mark.parametrize("n_bins", [3, 10, 1000])
def test_certain_predictions_fill_the_outer_bins(kernels, n_classes, n_bins):
    n = 200
    y = np.arange(n) % n_classes
    P = np.zeros((n, n_classes))
    P[np.arange(n), y] = 1
    P[P == 0] = -0.0
    table = classwise(kernels, P, y, n_bins)
    own = np.bincount(y, minlength=n_classes)
    assert np.array_equal(table[:, -1, 1, 0], own)
    assert np.array_equal(table[:, 0, 0, 0], n - own)
    assert np.array_equal(table[:, -1, 1, 1], own * 2**26)
    assert table[..., 0].sum() == n * n_classes


def test_the_sums_are_added_to_the_table(kernels):
    for n_classes in 5, 90:
        P, y = simplex(300, n_classes)
        table = classwise(kernels, P, y, 10)
        kernels.classwise_sums(P, y, 10, table, 1e-6)
        assert np.array_equal(table, 2 * classwise(kernels, P, y, 10))


@pytest.mark.parametrize("shape", [(1, 2), (700, 3), (90, 200)])
@pytest.mark.parametrize("place", [(0, -1), (-1, 0)])
def test_faults_are_found_anywhere(kernels, shape, place):
    for dtype in np.float64, np.float32:
        every_fault(kernels, shape, place, dtype)


def every_fault(kernels, shape, place, dtype):
    P, y = simplex(*shape, dtype)

    def status():
        table = np.zeros((shape[1], 10, 2, 3), np.int64)
        found = kernels.classwise_sums(P, y, 10, table, 1e-5)
        assert kernels.top1(P, y, 1e-5)[0] == found
        return found

    for score in (
        np.nan,
        np.inf,
        -np.inf,
        np.nextafter(dtype(1), dtype(2)),
        -np.nextafter(dtype(0), dtype(1)),
    ):
        P, y = simplex(*shape, dtype)
        P[place] = score
        assert status() == BAD_SCORE
    for label in -1, shape[1], 2**40:
        P, y = simplex(*shape, dtype)
        y[place[0]] = label
        assert status() == BAD_LABEL
    P, y = simplex(*shape, dtype)
    P[place[0]] /= 2
    assert status() == BAD_SUM
    P[place], y[place[0]] = 2, -1
    assert status() == BAD_SCORE | BAD_LABEL


def test_the_tolerance_decides_which_sums_will_do(kernels):
    P, y = np.array([[0.5, 0.5 + 1e-4]]), np.array([0])
    assert kernels.top1(P, y, 2e-4)[0] == 0
    assert kernels.top1(P, y, 5e-5)[0] == BAD_SUM
    assert kernels.top1(1 - P, y, 5e-5)[0] == BAD_SUM
