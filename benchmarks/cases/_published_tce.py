"""TCE as printed in its paper, line by line: the reference for values and times.

Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error", Uncertainty in
Artificial Intelligence, 2023: Algorithm 2 (PAVA-BC) makes blocks, Algorithm 3 draws an edge where their rate
changes, Algorithm 1 tests every prediction against the labels of its bin. Scores must be distinct: the paper
does not say how to treat ties.
"""

import numpy as np

ALPHA = 0.05


def tce(y: np.ndarray, p: np.ndarray) -> float:
    """Percentage of the predictions that a binomial test rejects."""
    from scipy.stats import binomtest

    order = np.argsort(p)
    labels, scores = y[order].tolist(), p[order].tolist()
    rejected, begin = 0, 0
    for events, size in bins(labels, n_min=len(labels) // 20, n_max=len(labels) // 5):
        for score in scores[begin : begin + size]:
            rejected += binomtest(events, size, score).pvalue <= ALPHA
        begin += size
    return 100 * rejected / len(labels)


def bins(labels: list[int], n_min: int, n_max: int) -> list[tuple[int, int]]:
    """Events and rows of the bins: neighbouring blocks of equal rate are one."""
    found: list[tuple[int, int]] = []
    for events, size in blocks(labels, n_min, n_max):
        if found and found[-1][0] * size == events * found[-1][1]:
            events, size = events + found[-1][0], size + found.pop()[1]
        found.append((events, size))
    return found


def blocks(labels: list[int], n_min: int, n_max: int) -> list[tuple[int, int]]:
    """Events and rows of the PAVA-BC blocks of labels in ascending order of score."""
    found: list[tuple[int, int]] = []
    tail = labels[len(labels) - n_min :]
    for label in labels[: len(labels) - n_min]:
        found.append((label, 1))
        while len(found) > 1 and _merge(found[-2], found[-1], n_min, n_max):
            (right_sum, right), (left_sum, left) = found.pop(), found.pop()
            found.append((left_sum + right_sum, left + right))
    if found[-1][1] + n_min <= n_max:
        last_sum, last = found.pop()
        found.append((last_sum + sum(tail), last + n_min))
    else:
        found.append((sum(tail), n_min))
    return found


def _merge(left: tuple[int, int], right: tuple[int, int], n_min: int, n_max: int) -> bool:
    size = left[1] + right[1]
    return size <= n_min or (size <= n_max and left[0] / left[1] >= right[0] / right[1])
