"""The lemmas and inequalities that the guarantees of Gupta & Ramdas 2021 rest on."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest

from trueness.recalibrate import epsilon, sample_size

RUNS, N = 4_000, 11


@pytest.fixture(scope="module")
def samples():
    """Samples of a distribution that is not uniform, unordered, and the same sorted."""
    scores = np.random.default_rng(0).random((RUNS, N)) ** 3
    return scores, np.sort(scores, axis=1)


def between(scores, low, high):
    """The unordered scores strictly between two order statistics, on the scale of the distribution given the bin."""
    inside = scores[(scores > low) & (scores < high)].reshape(RUNS, -1)
    return (np.cbrt(inside) - np.cbrt(low)) / (np.cbrt(high) - np.cbrt(low))


def test_lemma_1_scores_between_two_order_statistics_are_independent_draws(samples):
    scores, ordered = samples
    inside = between(scores, ordered[:, [3]], ordered[:, [7]])
    assert inside.shape == (RUNS, 3)
    for column in inside.T:
        assert kstest(column, "uniform").pvalue > 1e-3
    correlation = np.corrcoef(inside.T)[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 4 / np.sqrt(RUNS)


def test_lemma_2_they_do_not_depend_on_the_other_order_statistics(samples):
    scores, ordered = samples
    inside = between(scores, ordered[:, [3]], ordered[:, [7]]).mean(axis=1)
    for others in (
        ordered[:, 0],
        ordered[:, 2],
        ordered[:, 8],
        ordered[:, 10],
        ordered[:, 3],
        ordered[:, 7],
    ):
        assert abs(np.corrcoef(inside, others)[0, 1]) < 4 / np.sqrt(RUNS)


def test_the_boundary_row_itself_is_no_draw_from_the_bin(samples):
    # Its score is always the largest: why Algorithm 1 leaves it out.
    _, ordered = samples
    scale = np.cbrt(ordered[:, [8]]) - np.cbrt(ordered[:, [3]])
    assert (
        kstest(
            ((np.cbrt(ordered[:, [7]]) - np.cbrt(ordered[:, [3]])) / scale).ravel(), "uniform"
        ).pvalue
        < 1e-9
    )


def test_fact_9_one_more_label_changes_a_mean_by_at_most_one_over_their_number():
    for b in range(1, 25):
        for a in range(b + 1):
            mean = Fraction(a, b)
            assert max(
                abs(Fraction(a, b + 1) - mean), abs(Fraction(a + 1, b + 1) - mean)
            ) <= Fraction(1, b + 1)


def test_every_bin_averages_enough_labels_with_ceilings_and_with_floors():
    for n in (4, 5, 19, 29, 49, 60, 97):
        for B in range(1, n // 2 + 1):
            above = -(-np.arange(B + 1) * (n + 1) // B)
            below = np.arange(B + 1) * (n + 1) // B
            for ranks in (above, below):
                assert ranks[0] == 0
                assert ranks[-1] == n + 1
                assert (np.diff(ranks) - 1).min() >= n // B - 1


def test_the_rows_left_out_cost_nothing_in_the_limit():
    with_all = np.sqrt(np.log(2 * 10 / 0.1) / (2 * 10_000))
    assert epsilon(100_000, 10) == pytest.approx(with_all, rel=1e-4)


def test_the_step_of_the_expected_error_fails_where_few_labels_are_averaged():
    n, B = 29, 10
    assert n >= 2 * B
    assert n // B - 1 < n / (2 * B)


def test_the_largest_term_of_corollary_1():
    per_bin = [
        sample_size(B, 0.1, alpha=alpha) // B for B in (5, 7, 20) for alpha in (0.5, 0.2, 0.01)
    ]
    assert min(per_bin) == 151
    assert 1 / min(per_bin) < 0.007
