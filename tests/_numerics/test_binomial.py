import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from trueness._numerics.binomial import _at_most, _Side, binomial_rejections

ALPHAS = [0.05, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.001, 0.5))]
HOLES = [(1, 30), (1, 31), (2, 34), (2, 35)]


def scipy_pvalues(k, n, scores):
    return np.array([binomtest(int(k), int(n), float(p)).pvalue for p in scores])


def pvalue(k, n, p):
    """The p-value from the tails that the decisions are based on."""
    k, n, p = np.broadcast_arrays(
        np.asarray(k, np.int64), np.asarray(n, np.int64), np.asarray(p, np.float64)
    )
    value = np.ones(p.shape)
    unequal = k != p * n
    side = _Side.of(k[unequal], n[unequal], p[unequal], (p * n > k)[unequal])
    value[unequal] = np.minimum(side.near() + _at_most(side.far_end()[0], side.n, side.q), 1.0)
    return value


def bins_of(cases):
    """One bin per (k, n, scores), as the arguments of `binomial_rejections`."""
    k, n, scores = zip(*cases, strict=True)
    starts = np.cumsum([0, *(len(s) for s in scores[:-1])])
    return np.array(k), np.array(n), starts, np.concatenate(scores)


def neighbours(p):
    """P, the floats next to it, and some a little farther."""
    return np.clip(
        [p, np.nextafter(p, 0), np.nextafter(p, 2), p * (1 + 1e-9), p * (1 - 1e-9)], 0, 1
    )


def around_changes(counts, alpha):
    """Cases for `bins_of` with the scores around every change of decision that a grid can see."""
    k, n = np.array(counts).T[:, :, None]
    near = k / n + np.linspace(-8, 8, 401) * np.sqrt((k + 1) * (n - k + 1) / n) / n
    grid = np.sort(
        np.clip(np.hstack([np.broadcast_to(np.linspace(0, 1, 401), near.shape), near]), 0, 1),
        axis=1,
    )
    reject = pvalue(k, n, grid) <= alpha
    case, at = np.nonzero(reject[:, 1:] != reject[:, :-1])
    low, high, before = grid[case, at], grid[case, at + 1], reject[case, at]
    k, n = k[case, 0], n[case, 0]
    for _ in range(60):
        middle = (low + high) / 2
        same = (pvalue(k, n, middle) <= alpha) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [
        (*counts[c], np.unique(np.concatenate([neighbours(p) for p in low[case == c]])))
        for c in np.unique(case)
    ]


def assert_decisions_are_scipys(cases, alpha):
    reference = np.concatenate([scipy_pvalues(*case) for case in cases]) <= alpha
    np.testing.assert_array_equal(binomial_rejections(*bins_of(cases), alpha), reference)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_decisions_are_scipys_right_at_the_ends_of_what_is_accepted(alpha):
    counts = [(k, n) for n in (1, 2, 3, 7, 16, 40) for k in range(0, n + 1, 1 + n // 8)]
    assert_decisions_are_scipys(around_changes(counts, alpha), alpha)


def test_decisions_are_scipys_around_holes():
    cases = around_changes(HOLES, 0.05)
    reject = binomial_rejections(*bins_of(cases), 0.05)
    assert np.count_nonzero(np.diff(reject.astype(int))) >= 4 * len(HOLES)
    assert_decisions_are_scipys(cases, 0.05)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_decisions_are_scipys_for_large_counts(alpha):
    rng = np.random.default_rng(int(alpha * 1000))
    n = (10 ** rng.uniform(2, 6, 8)).astype(int)
    k = rng.binomial(n, np.where(rng.random(8) < 0.7, rng.random(8), 8 / n))
    counts = list(zip(k.tolist(), n.tolist(), strict=True))
    spread = np.sqrt((k + 1) * (n - k + 1) / n) / n
    scores = np.sort(
        np.clip((k / n)[:, None] + spread[:, None] * rng.normal(0, 3, (8, 8)), 0, 1), axis=1
    )
    assert_decisions_are_scipys([(*c, s) for c, s in zip(counts, scores, strict=True)], alpha)
    assert_decisions_are_scipys(around_changes(counts, alpha), alpha)


@given(
    n=st.integers(1, 10**6),
    share=st.floats(0, 1),
    scores=st.lists(st.floats(0, 1).filter(lambda p: p == 0 or p > 1e-300), min_size=1, max_size=6),
    alpha=st.floats(1e-6, 0.999),
)
def test_decisions_are_scipys_for_any_counts_scores_and_level(n, share, scores, alpha):
    assert_decisions_are_scipys([(round(n * share), n, np.sort(scores))], alpha)


def test_the_far_tail_ends_at_the_last_count_that_is_no_likelier():
    rng = np.random.default_rng(0)
    n = rng.integers(1, 300, 2_000)
    p = rng.beta(0.3, 1, 2_000)  # many counts below one are expected: Newton's step misses there
    k = np.minimum(n, np.floor(n * p).astype(int) + rng.integers(1, 9, 2_000))
    above = k > n * p
    n, p, k = n[above], p[above], k[above]
    end, doubtful = _Side.of(k, n, p, np.zeros(n.size, bool)).far_end()
    for i in np.flatnonzero(~doubtful):
        counts = np.arange(np.floor(n[i] * p[i]) + 1)
        is_in = binom.pmf(counts, n[i], p[i]) <= binom.pmf(k[i], n[i], p[i]) * (1 + 1e-7)
        assert end[i] == is_in.sum() - 1


@pytest.mark.parametrize("n_bins", [1, 20, 5_000])
@pytest.mark.parametrize("alpha", [1e-9, 0.05, 0.999])
def test_whole_ranges_are_decided_as_each_score_would_be(n_bins, alpha):
    rng = np.random.default_rng(n_bins)
    m = 20_000
    scores = np.sort(rng.beta(0.7, 0.5, m))
    starts = np.sort(np.append(0, rng.integers(0, m, n_bins - 1)))
    stops = np.append(starts[1:], m)
    n = 3 * (stops - starts) + 1
    k = rng.binomial(n, rng.beta(0.7, 0.5, n_bins))
    row = np.repeat(np.arange(n_bins), stops - starts)
    values = pvalue(k[row], n[row], scores)
    assert np.abs(values / alpha - 1).min() > 1e-7
    np.testing.assert_array_equal(binomial_rejections(k, n, starts, scores, alpha), values <= alpha)


def test_a_score_on_the_very_level_is_decided_by_scipy():
    assert binomtest(1, 1, 0.05).pvalue == 0.05
    assert binomial_rejections([1, 1], [1, 1], [0, 1], [0.05, 0.05], 0.05).tolist() == [True, True]


@pytest.mark.parametrize(("k", "n"), [(0, 1), (5, 5), (49, 98)])
def test_a_score_equal_to_the_rate_is_accepted(k, n):
    assert pvalue(k, n, k / n) == 1
    assert binomial_rejections([k], [n], [0], [k / n], 0.999).tolist() == [False]


@pytest.mark.parametrize("n", [10**6, 10**7])
def test_the_pvalue_is_scipys_for_large_counts(n):
    rng = np.random.default_rng(n)
    for rate in (2 / n, 1e-4, 0.3, 0.5, 0.999):
        k = int(n * rate)
        scores = np.clip(rate + np.sqrt(rate * (1 - rate) / n) * rng.normal(0, 2, 20), 0, 1)
        np.testing.assert_allclose(pvalue(k, n, scores), scipy_pvalues(k, n, scores), rtol=1e-9)


def test_at_level_one_everything_is_rejected():
    assert binomial_rejections([1], [2], [0], [0.0, 0.5, 1.0], 1.0).all()


def test_bins_may_be_empty():
    assert binomial_rejections([0, 5, 0], [0, 5, 0], [0, 0, 2], [0.01, 0.9], 0.05).tolist() == [
        True,
        False,
    ]
    assert binomial_rejections([], [], [], [], 0.05).tolist() == []


@pytest.mark.parametrize("n", [2 * 10**8, 2**40, 2**62])
@pytest.mark.parametrize(
    ("k", "p"), [("none", 1.0), ("all", 0.0), ("none", 1 - 2**-53), ("all", 5e-324)]
)
def test_impossible_counts_of_any_size_are_refuted_without_a_word(n, k, p):
    k = n if k == "all" else 0
    assert binomial_rejections([k], [n], [0], [p], 0.05).tolist() == [True]
    assert pvalue(k, n, p) == 0
