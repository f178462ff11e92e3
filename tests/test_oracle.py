"""The oracle against SciPy, and on data that fit in the head; its laws are those of what is compared with it."""

import math
import random
from fractions import Fraction

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


def sizes(groups):
    return [len(members) for members in groups]


def test_a_score_equal_to_an_edge_falls_in_the_bin_on_its_right():
    assert math.floor(0.29 * 100) == 28
    assert oracle.place(0.29, oracle.equal_width_edges(100)) == 29
    for B in (1, 2, 3, 7, 10, 15, 49, 100):
        edges = oracle.equal_width_edges(B)
        assert [oracle.place(b / B, edges) for b in [*range(B), B]] == [*range(B), B - 1]


def test_equal_mass_cuts_after_the_floor_of_jn_over_b_rows():
    p = [i / 10 for i in range(10)]
    assert sizes(oracle.equal_mass_groups([0] * 10, p, None, 3)) == [3, 3, 4]


def test_a_tie_group_on_a_cut_goes_whole_to_the_lower_bin():
    p = [0.1, 0.5, 0.5, 0.5, 0.8, 0.9]
    assert oracle.equal_mass_groups([0] * 6, p, None, 2) == [[0, 1, 2, 3], [4, 5]]
    assert oracle.equal_mass_groups([0] * 6, p, None, 3) == [[0, 1, 2, 3], [4, 5]]
    assert oracle.equal_mass_groups([0] * 6, [0.5] * 6, None, 3) == [[0, 1, 2, 3, 4, 5]]


def test_fractional_weights_are_cut_without_the_floor():
    p = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert sizes(oracle.equal_mass_groups([0] * 5, p, None, 2)) == [2, 3]
    assert sizes(oracle.equal_mass_groups([0] * 5, p, [0.5] * 5, 2)) == [3, 2]


def test_pooling_adjacent_violators_by_hand():
    y, p = [0, 1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert oracle.isotonic_groups(y, p) == [[0], [1, 2, 3], [4, 5]]
    assert oracle.isotonic_fit(y, p) == [0, 1 / 3, 1 / 3, 1 / 3, 1, 1]


def test_blocks_by_hand_row_by_row():
    # 0 0 | 1 0 pool freely up to two rows; 1/2 >= 0 pulls in the fifth; the sixth has room for the last two.
    assert oracle.block_groups_rowwise([0, 0, 1, 0, 0, 1, 1, 1], 2, 3) == [
        [0, 1],
        [2, 3, 4],
        [5, 6, 7],
    ]


limits = st.integers(1, 6).flatmap(
    lambda n_min: st.tuples(st.just(n_min), st.integers(2 * n_min - 1, 15))
)


@given(st.lists(st.integers(0, 1), min_size=7, max_size=60), limits)
def test_row_by_row_blocks_keep_both_limits(labels, limit):
    n_min, n_max = limit
    groups = oracle.block_groups_rowwise(labels, n_min, n_max)
    assert [i for members in groups for i in members] == list(range(len(labels)))
    assert all(n_min <= size <= n_max for size in sizes(groups))


@given(st.lists(st.integers(0, 1), min_size=7, max_size=60), limits)
def test_without_ties_the_tie_rule_is_algorithm_2(labels, limit):
    p = [i / len(labels) for i in range(len(labels))]
    assert oracle.block_groups(labels, p, *limit) == oracle.block_groups_rowwise(labels, *limit)


def tied(*groups):
    """Rows of tie groups given as (events, size)."""
    y = [label for events, size in groups for label in [1] * events + [0] * (size - events)]
    p = [(g + 1) / (len(groups) + 1) for g, (_, size) in enumerate(groups) for _ in range(size)]
    return y, p


def test_the_tail_is_every_group_not_wholly_before_the_last_n_min_rows():
    # 10 rows, n_min 2: the group over rows 6 to 9 reaches past row 8, so the tail has five rows.
    assert sizes(oracle.block_groups(*tied((0, 3), (1, 2), (4, 4), (1, 1)), 2, 3)) == [3, 2, 5]


def test_a_tie_group_above_n_max_is_its_own_block():
    assert sizes(oracle.block_groups(*tied((0, 3), (2, 8), (3, 3)), 2, 4)) == [3, 8, 3]


def test_a_small_block_before_a_large_tie_group_joins_the_block_on_its_left_if_there_is_room():
    # Means 0, 1 and 0.5: the single row cannot stand and the group of 8 is full.
    assert sizes(oracle.block_groups(*tied((0, 3), (1, 1), (4, 8), (3, 3)), 2, 4)) == [4, 8, 3]
    assert sizes(oracle.block_groups(*tied((0, 4), (1, 1), (4, 8), (3, 3)), 2, 4)) == [4, 9, 3]
    assert sizes(oracle.block_groups(*tied((1, 1), (4, 8), (3, 3)), 2, 4)) == [9, 3]


def test_a_small_block_before_the_tail_follows_the_same_rule():
    assert sizes(oracle.block_groups(*tied((0, 3), (1, 1), (3, 8)), 2, 4)) == [4, 8]
    assert sizes(oracle.block_groups(*tied((0, 4), (1, 1), (3, 8)), 2, 4)) == [4, 9]
    assert sizes(oracle.block_groups(*tied((0, 4), (1, 1), (3, 3)), 2, 4)) == [4, 4]


def test_norms_by_hand():
    # Gaps 1/2 on three quarters of the weight and 1/4 on the rest.
    y, p, groups = [1, 1, 1, 0], [0.5, 0.5, 0.5, 0.25], [[3], [0, 1, 2], []]
    assert oracle.ece(y, p, groups, "l1") == 0.4375
    assert oracle.ece(y, p, groups, "l2") == math.sqrt(0.203125)
    assert oracle.ece(y, p, groups, 3) == pytest.approx(
        (0.75 / 8 + 0.25 / 64) ** (1 / 3), abs=1e-15
    )
    assert oracle.ece(y, p, groups, "max") == 0.5
    assert oracle.gce(y, p, groups, "absolute", "l2") == oracle.ece(y, p, groups, "l2")
    assert oracle.gce(y, p, groups, "squared", "l1") == 0.203125
    assert oracle.gce(y, p, groups, "squared", "max") == 0.25


def test_the_squared_error_is_the_sum_over_pairs():
    y, p = [1, 0, 1, 1, 0], [0.25, 0.5, 0.5, 0.75, 0.125]
    groups = [[0, 1, 2], [3, 4]]
    u = [Fraction(label) - Fraction(score) for label, score in zip(y, p, strict=True)]
    pairs = sum(u[a] * u[b] / (len(g) - 1) for g in groups for a in g for b in g if a != b)
    assert oracle.squared_ece(y, p, groups) == float(pairs / 5)
    assert oracle.squared_ece([1, 0], [0.5, 0.5], [[0], [1]]) == 0
    assert oracle.squared_ece([1, 0], [0.5, 0.5], [[0, 1]]) == -0.25


def test_importance_weights_that_are_equal_change_nothing():
    y, p, groups = [1, 0, 1, 1, 0], [0.25, 0.5, 0.5, 0.75, 0.125], [[0, 1, 2], [3, 4]]
    plain = oracle.squared_ece(y, p, groups)
    for weight in (0.3, 1, 2):
        assert oracle.squared_ece_importance(y, p, groups, [weight] * 5) == pytest.approx(
            plain, abs=1e-16
        )
    # Two rows: whatever their weights, the only pair is the estimate.
    assert oracle.squared_ece_importance([1, 1], [0.5, 0.75], [[0, 1]], [0.2, 3.1]) == 0.125


def test_tce_by_hand():
    # Five of five: the p-value is .4^5 = .010 at .4, .6^5 + .0768 + .4^5 = .165 at .6, and 1 at .9 and 1.
    y, p = [1, 1, 1, 1, 1, 0], [0.4, 0.4, 0.6, 0.9, 1.0, 0.2]
    assert oracle.tce(y, p, [[0, 1, 2, 3, 4], [5]]) == pytest.approx(100 / 3)
    assert oracle.gce(y, p, [[0, 1, 2, 3, 4], [5]], "rejection", "max") == 40
    assert oracle.tce(y, p, [[0, 1, 2, 3, 4], [5]], alpha=0.6) == 50


def test_the_binomial_pvalue_sums_outcomes_no_likelier_than_the_one_seen():
    for k, n, p in ((3, 7, 0.2), (0, 4, 0.5), (9, 10, 0.35)):
        chances = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]
        by_hand = math.fsum(q for q in chances if q <= chances[k] * (1 + 1e-7))
        assert oracle.rejects(k, n, p, by_hand * (1 + 1e-9))
        assert not oracle.rejects(k, n, p, by_hand * (1 - 1e-9))


@pytest.mark.parametrize(("k", "n", "p"), [(3, 10, 0.5), (1, 4, 0.9), (40, 77, 0.43), (1, 2, 0.1)])
def test_the_t_test_is_that_of_scipy(k, n, p):
    theirs = stats.ttest_1samp([1] * k + [0] * (n - k), p).pvalue
    assert oracle.t_pvalue(k, n, p) == pytest.approx(theirs, rel=1e-12)


def test_the_t_test_of_equal_labels_rejects_every_other_score_and_one_row_rejects_none():
    assert oracle.rejects(0, 5, 1e-9, test="t")
    assert not oracle.rejects(0, 5, 0.0, test="t")
    assert oracle.rejects(5, 5, 0.999, test="t")
    assert not oracle.rejects(5, 5, 1.0, test="t")
    assert not oracle.rejects(1, 1, 0.0, test="t")


def test_estimation_error_by_hand():
    # Variances 1/4 (four rows) and 0 (one row).
    assert oracle.estimation_error([0, 1, 0, 1, 1], [[0, 1, 2, 3], [], [4]]) == (0.2, 0.125)


@pytest.mark.parametrize(("method", "theirs"), [("clopper-pearson", "exact"), ("wilson", "wilson")])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (9, 9), (4, 9)])
def test_intervals_are_those_of_scipy(method, theirs, k, n):
    expected = stats.binomtest(k, n).proportion_ci(0.95, theirs)
    assert oracle.rate_interval(k, n, 0.95, method) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def test_scores_by_hand():
    assert oracle.brier([1, 0], [0.75, 0.5]) == (0.0625 + 0.25) / 2
    assert oracle.log_loss([1, 0], [0.75, 0.5]) == pytest.approx(
        -(math.log(0.75) + math.log(0.5)) / 2
    )
    assert oracle.log_loss([1, 0], [1.0, 0.0]) == 0
    assert oracle.log_loss([0, 0], [1.0, 0.0]) == math.inf
    assert oracle.log_loss([0, 0], [1.0, 0.0], [0, 1]) == 0


@pytest.mark.parametrize("sigma", [0.1, 0.9])
def test_smooth_error_of_opposite_gaps_has_a_closed_form(sigma):
    # Residuals +1/8 at 1/4 and -1/8 at 3/4: odd about 1/2, so the integral is twice that over [0, 1/2].
    def mass(centre):
        return sum(
            stats.norm.cdf(0.5, image, sigma) - stats.norm.cdf(0, image, sigma)
            for k in range(-8, 9)
            for image in (centre + 2 * k, -centre + 2 * k)
        )

    y, p = [1, 0, 1, 1, 0, 0], [0.25, 0.25, 0.25, 0.75, 0.75, 0.75]
    residual = (2 - 0.75) / 6
    expected = 2 * residual * (mass(0.25) - mass(0.75))
    assert oracle.smooth_ece_at(sigma, y, p) == pytest.approx(expected, abs=1e-8)


def test_smooth_error_is_the_fixed_point():
    assert oracle.smooth_ece([0] * 5, [0.95] * 5) == pytest.approx(0.95, abs=1e-7)
    generator = random.Random(3)
    p = [generator.random() ** 2 for _ in range(20)]
    y = [int(generator.random() < score**0.5) for score in p]
    sigma = oracle.smooth_ece(y, p)
    assert oracle.smooth_ece_at(sigma, y, p) == pytest.approx(sigma, abs=1e-6)
    grid = [oracle.smooth_ece_at(s, y, p) for s in (0.01, 0.03, 0.1, 0.3, 1.0)]
    assert grid == sorted(grid, reverse=True)
    bias = abs(math.fsum(label - score for label, score in zip(y, p, strict=True))) / 20
    assert bias <= grid[-1] + 1e-8


def test_slope_and_intercept_of_two_scores_fit_both_rates():
    # With two distinct scores the fit passes through both rates: 1/4 at .2 and 2/3 at .6.
    y, p = [1, 0, 0, 0, 1, 1, 0], [0.2] * 4 + [0.6] * 3
    slope, intercept = oracle.slope_intercept(y, p)
    expected = (math.log(2) + math.log(3)) / (math.log(1.5) + math.log(4))
    assert slope == pytest.approx(expected, rel=1e-9)
    assert intercept == pytest.approx(math.log(2) - expected * math.log(1.5), rel=1e-9)


def test_the_intercept_at_slope_one_equates_expected_and_observed():
    p, y = [0.2, 0.4, 0.7], [1, 0, 1]
    a = oracle.intercept_at_slope_one(y, p)
    moved = [1 / (1 + (1 - score) / score * math.exp(-a)) for score in p]
    assert math.fsum(moved) == pytest.approx(2, abs=1e-12)
    assert oracle.intercept_at_slope_one([0, 0, 0], p) == -math.inf


def test_observed_over_expected_by_hand():
    assert oracle.observed_expected([1, 0, 1], [0.5, 0.25, 0.25]) == 2
    assert oracle.observed_expected([1, 0, 1], [0.5, 0.25, 0.25], [2, 0, 4]) == 3
    assert oracle.observed_expected([1], [0.0]) == math.inf


def test_top_label_by_hand():
    # Class 0 is predicted twice (.6 right, .8 wrong), class 1 once (.7 right), class 2 never.
    P, y = [[0.6, 0.4, 0.0], [0.8, 0.2, 0.0], [0.2, 0.7, 0.1]], [0, 1, 1]

    def one_bin(labels, scores, w):
        return oracle.ece(labels, scores, oracle.equal_width_groups(scores, 1), "l1", w)

    assert oracle.toplabel(P, y, one_bin) == pytest.approx(2 / 3 * 0.2 + 1 / 3 * 0.3)
    assert oracle.toplabel(P, y, one_bin, [1, 0, 3]) == pytest.approx(1 / 4 * 0.4 + 3 / 4 * 0.3)
