import numpy as np
from scipy.stats import binom


def tables(kernels, trials, odds, mode, low, size):
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    columns = (np.asarray(part, np.int64) for part in (mode, low))
    cdf = kernels.outcome_tables(
        np.asarray(trials, np.int64), np.asarray(odds, np.float64), *columns, start
    )
    return np.split(cdf, start[1:-1])


def test_tables_are_distribution_functions(kernels):
    n, p, least = [30, 400, 9], [0.2, 0.97, 0.5], [0, 300, 0]
    found = tables(kernels, n, [q / (1 - q) for q in p], [6, 388, 5], least, [30, 100, 9])
    for own, m, q, low in zip(found, n, p, least, strict=True):
        np.testing.assert_allclose(
            own / 65536, binom(m, q).cdf(low + np.arange(own.size)), rtol=0, atol=1e-13
        )


def test_words_select_outcomes_by_the_thresholds_below_them(kernels):
    words = np.array([[0, 9, 10, 11, 65535], [0, 1, 2, 3, 65535], [0, 1, 2, 3, 65535]], np.uint16)
    thresholds, start = np.array([10, 10, 500, 65535], np.uint16), np.array([0, 3, 3, 4])
    found = kernels.outcomes(words, thresholds, start, np.array([7, 40, 0]))
    # Words that are equal to a threshold are undecided: minus one, minus the thresholds below.
    assert found.tolist() == [[7, 7, -1, 9, 10], [40] * 5, [0, 0, 0, 0, -1]]
