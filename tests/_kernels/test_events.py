import numpy as np
import pytest

from trueness._kernels.library import BAD_LABEL, BAD_SCORE


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float32, np.float64]
)
def test_labels_of_one_are_counted(kernels, dtype):
    for n in 0, 1, 511, 513, 5000:
        y = np.random.default_rng(n).integers(0, 2, n).astype(dtype)
        assert kernels.events(np.full(n, 0.5), y) == (0, int(y.sum()))


@pytest.mark.parametrize("n", [1, 600])
def test_bad_scores_and_labels_are_reported_together(kernels, n):
    p, y = np.full(n, 0.5), np.ones(n, np.int64)
    assert kernels.events(np.append(p, np.nan), np.append(y, 1))[0] == BAD_SCORE
    assert kernels.events(np.append(p, 0.5), np.append(y, 2))[0] == BAD_LABEL
    assert kernels.events(np.append(p, 1.5), np.append(y, -1))[0] == BAD_SCORE | BAD_LABEL


def test_threads_share_the_rows(three_threads):
    y = np.arange(101) % 2
    assert three_threads.events(np.linspace(0, 1, 101), y) == (0, 50)
