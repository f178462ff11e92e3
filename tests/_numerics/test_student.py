import numpy as np
import pytest
from scipy import stats

from trueness._numerics.student import rejected_t


def labels(k, n):
    return np.repeat([1.0, 0.0], [k, n - k])


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.4])
@pytest.mark.parametrize(("k", "n"), [(1, 2), (2, 3), (3, 10), (49, 50), (700, 2000)])
def test_decisions_are_scipys(k, n, alpha):
    scores = np.linspace(0, 1, 57)
    pvalues = np.array([stats.ttest_1samp(labels(k, n), p).pvalue for p in scores])
    assert np.abs(pvalues / alpha - 1).min() > 1e-9
    np.testing.assert_array_equal(rejected_t([k], [n], [0], scores, alpha), pvalues <= alpha)


def test_each_bin_is_tested_with_its_own_labels():
    k, n, starts = [3, 1, 8], [10, 4, 9], [0, 5, 5]
    scores = np.array([0.0, 0.1, 0.3, 0.6, 0.9, 0.2, 0.6, 0.88])
    rows = np.array([0, 0, 0, 0, 0, 2, 2, 2])
    pvalues = [stats.ttest_1samp(labels(k[b], n[b]), p).pvalue for b, p in zip(rows, scores, strict=True)]
    np.testing.assert_array_equal(rejected_t(k, n, starts, scores, 0.05), np.array(pvalues) <= 0.05)


@pytest.mark.parametrize(("k", "n"), [(0, 2), (0, 50), (2, 2), (50, 50)])
def test_equal_labels_reject_every_score_but_their_rate(k, n):
    scores = [0.0, 1e-300, 0.5, 1 - 2**-53, 1.0]
    assert rejected_t([k], [n], [0], scores, 0.05).tolist() == [p != k / n for p in scores]


@pytest.mark.parametrize("k", [0, 1])
def test_one_row_rejects_nothing(k):
    assert not rejected_t([k], [1], [0], [0.0, 0.5, 1.0], 0.999).any()


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 7), (7, 7)])
def test_the_published_code_rejects_everything_where_labels_are_equal(k, n):
    assert rejected_t([k], [n], [0], [0.0, 0.5, 1.0], 0.05, deviation="variance").all()


def test_the_variance_in_place_of_the_deviation_rejects_more():
    k, n, scores = 30, 100, np.linspace(0, 1, 401)
    variance = 0.3 * 0.7
    pvalues = 2 * stats.t.sf(np.abs(0.3 - scores) * 10 / variance, 99)
    slip = rejected_t([k], [n], [0], scores, 0.05, deviation="variance")
    np.testing.assert_array_equal(slip, pvalues <= 0.05)
    assert slip.sum() > rejected_t([k], [n], [0], scores, 0.05).sum()


def test_no_score_gives_no_decision():
    assert rejected_t([], [], [], [], 0.05).tolist() == []
    assert rejected_t([0], [0], [0], [], 0.05).tolist() == []
