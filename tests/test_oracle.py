"""The oracle against published numbers, against SciPy, and on data that fit in the head."""

import math
import os
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from r_random import r_example, r_runif
from scipy import optimize, stats


def ece10(y, p, w=None):
    return oracle.ece(y, p, oracle.equal_width_groups(p, 10), "l1", w)


def sizes(groups):
    return [len(members) for members in groups]


rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 12).map(lambda j: j / 12), st.integers(0, 3)),
    min_size=1,
    max_size=40,
).filter(lambda found: sum(w for _, _, w in found) > 0)


def columns(found):
    return [list(column) for column in zip(*found, strict=True)]


def test_the_r_example_has_the_published_errors():
    assert r_runif(30, 1)[0] == pytest.approx(0.09878282, abs=5e-9)
    y, P = r_example()
    assert oracle.classwise(P, y, ece10) == pytest.approx(0.2264213525, abs=5e-11)
    correct, confidence = oracle.confidence_view(P, y)
    assert correct == [1] * 150
    assert ece10(correct, confidence) == pytest.approx(0.4602838696, abs=5e-11)
    assert ece10(correct, confidence) == pytest.approx(1 - math.fsum(confidence) / 150, abs=1e-15)


def test_a_score_equal_to_an_edge_falls_in_the_bin_on_its_right():
    assert math.floor(0.29 * 100) == 28
    assert oracle.place(0.29, oracle.equal_width_edges(100)) == 29
    for B in (1, 2, 3, 7, 10, 15, 49, 100):
        edges = oracle.equal_width_edges(B)
        assert [oracle.place(b / B, edges) for b in [*range(B), B]] == [*range(B), B - 1]


def test_swapping_the_classes_changes_the_error_when_a_score_sits_on_an_edge():
    y, p = [0, 1], [0.25, 0.5]
    swapped_y, swapped_p = [1, 0], [0.75, 0.5]
    two = oracle.equal_width_groups
    assert oracle.ece(y, p, two(p, 2)) == 0.375
    assert oracle.ece(swapped_y, swapped_p, two(swapped_p, 2)) == 0.125


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


@given(rows, st.integers(1, 12))
def test_equal_mass_treats_a_weight_as_repetition(found, B):
    y, p, w = columns(found)
    long_y, long_p = oracle.expand(y, p, w)
    short = [{p[i] for i in members} for members in oracle.equal_mass_groups(y, p, w, B)]
    assert short == [{long_p[i] for i in m} for m in oracle.equal_mass_groups(long_y, long_p, None, B)]


def test_pooling_adjacent_violators_by_hand():
    y, p = [0, 1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert oracle.isotonic_groups(y, p) == [[0], [1, 2, 3], [4, 5]]
    assert oracle.isotonic_fit(y, p) == [0, 1 / 3, 1 / 3, 1 / 3, 1, 1]


@given(rows)
def test_the_isotonic_fit_is_that_of_scipy(found):
    y, p, w = columns(found)
    groups = oracle.tie_groups(p, w)
    pooled = [oracle.bin_sums(y, p, members, w) for members in groups]
    theirs = optimize.isotonic_regression(
        [float(events / weight) for weight, events, _ in pooled],
        weights=[float(weight) for weight, _, _ in pooled],
    ).x
    ours = oracle.isotonic_fit(y, p, w)
    assert [ours[members[0]] for members in groups] == pytest.approx(theirs, abs=1e-12)


def test_blocks_by_hand_row_by_row():
    # 0 0 | 1 0 pool freely up to two rows; 1/2 >= 0 pulls in the fifth; the sixth has room for the last two.
    assert oracle.block_groups_rowwise([0, 0, 1, 0, 0, 1, 1, 1], 2, 3) == [[0, 1], [2, 3, 4], [5, 6, 7]]


limits = st.integers(1, 6).flatmap(lambda n_min: st.tuples(st.just(n_min), st.integers(2 * n_min - 1, 15)))


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


@given(rows, limits)
def test_blocks_never_split_a_tie_and_ignore_the_order_of_rows(found, limit):
    y, p, w = columns(found)
    blocks = oracle.block_groups(y, p, *limit, w)
    scores = [sorted({p[i] for i in members}) for members in blocks]
    assert all(sum(w[i] for i in members) >= min(limit[0], sum(w)) for members in blocks)
    assert [score for members in scores for score in members] == sorted({p[i] for i in range(len(p)) if w[i]})
    backwards = oracle.block_groups(y[::-1], p[::-1], *limit, w[::-1])
    assert scores == [sorted({p[::-1][i] for i in members}) for members in backwards]
    long_y, long_p = oracle.expand(y, p, w)
    written_out = oracle.block_groups(long_y, long_p, *limit)
    assert scores == [sorted({long_p[i] for i in members}) for members in written_out]


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
    assert oracle.ece(y, p, groups, 3) == pytest.approx((0.75 / 8 + 0.25 / 64) ** (1 / 3), abs=1e-15)
    assert oracle.ece(y, p, groups, "max") == 0.5
    assert oracle.gce(y, p, groups, "absolute", "l2") == oracle.ece(y, p, groups, "l2")
    assert oracle.gce(y, p, groups, "squared", "l1") == 0.203125
    assert oracle.gce(y, p, groups, "squared", "max") == 0.25


@given(rows, st.sampled_from(["l1", "l2", "max", 1.5]))
def test_a_weight_is_repetition(found, norm):
    y, p, w = columns(found)
    long_y, long_p = oracle.expand(y, p, w)
    short, long = oracle.equal_width_groups(p, 5), oracle.equal_width_groups(long_p, 5)
    assert oracle.ece(y, p, short, norm, w) == pytest.approx(oracle.ece(long_y, long_p, long, norm), abs=1e-15)
    assert oracle.squared_ece(y, p, short, w) == oracle.squared_ece(long_y, long_p, long)
    assert oracle.brier(y, p, w) == oracle.brier(long_y, long_p)
    assert oracle.log_loss(y, p, w) == pytest.approx(oracle.log_loss(long_y, long_p), rel=1e-13)


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
        assert oracle.squared_ece_importance(y, p, groups, [weight] * 5) == pytest.approx(plain, abs=1e-16)
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


@pytest.mark.parametrize(("k", "n", "inside"), [(1, 30, 0.17), (2, 35, 0.1885)])
def test_the_accepted_scores_can_have_a_hole(k, n, inside):
    runs = []
    for j in range(-40, 41):
        rejected = oracle.rejects(k, n, inside + j * 5e-4)
        if not runs or runs[-1] != rejected:
            runs.append(rejected)
    assert runs == [False, True, False, True]


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
    assert oracle.rate_interval(k, n, 0.95, method) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_scores_by_hand():
    assert oracle.brier([1, 0], [0.75, 0.5]) == (0.0625 + 0.25) / 2
    assert oracle.log_loss([1, 0], [0.75, 0.5]) == pytest.approx(-(math.log(0.75) + math.log(0.5)) / 2)
    assert oracle.log_loss([1, 0], [1.0, 0.0]) == 0
    assert oracle.log_loss([0, 0], [1.0, 0.0]) == math.inf
    assert oracle.log_loss([0, 0], [1.0, 0.0], [0, 1]) == 0


def test_corp_has_the_published_numbers():
    y, p = [0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9]
    assert oracle.corp(y, p, "brier") == pytest.approx((0.1016667, 0.125, 0.25), abs=5e-8)
    assert oracle.corp(y, p, "log") == pytest.approx((0.3237327, 0.3182571, 0.6931472), abs=5e-8)


@given(rows)
def test_corp_parts_are_not_negative_and_add_up(found):
    y, p, w = columns(found)
    for score, mean_score in (("brier", oracle.brier), ("log", oracle.log_loss)):
        mcb, dsc, unc = oracle.corp(y, p, score, w)
        assert min(mcb, dsc, unc) >= -1e-12
        assert mcb - dsc + unc == pytest.approx(mean_score(y, p, w), abs=1e-12)


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


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 0, 0], [0.1, 0.2, 0.3]),
        ([0, 0, 1], [0.1, 0.2, 0.3]),
        ([0, 1, 1], [0.5, 0.5, 0.7]),
        ([0, 1], [0.4, 0.4]),
    ],
)
def test_separated_labels_have_no_finite_slope(y, p):
    assert all(math.isnan(value) for value in oracle.slope_intercept(y, p))


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


PUBLISHED = {
    # TCE, TCE(Q), ECE, ACE, MCE, MCE(Q); the paper prints 0.0102 for the last, its data give 0.0101
    "alexnet": (42.736, 43.792, 0.0070, 0.0070, 0.1496, 0.0528),
    "resnet152": (16.086, 22.160, 0.0012, 0.0013, 0.1882, 0.0101),
}


@pytest.fixture(scope="module")
def dogs():
    path = Path(os.environ.get("TRUENESS_DATA", "")) / "imagenet_dogs.npz"
    if not path.is_file():
        pytest.skip("TRUENESS_DATA must name a folder with imagenet_dogs.npz (TCE paper, Table 5)")
    with np.load(path) as data:
        return {name: data[name].tolist() for name in data.files}


@pytest.mark.slow
@pytest.mark.parametrize("model", PUBLISHED)
def test_the_errors_of_imagenet_are_the_published_ones(dogs, model):
    y, p = dogs["y_true"], dogs[model]
    wide, mass = oracle.equal_width_groups(p, 10), oracle.equal_mass_groups(y, p, None, 10)
    blocks = oracle.block_groups(y, p, 2500, 10_000)
    if model == "resnet152":  # three blocks without an event stay three
        assert sizes(blocks) == [10_000, 10_000, 10_000, 7955, 4587, 2502, 4956]
    errors = oracle.ece(y, p, wide), oracle.ece(y, p, mass), *(oracle.ece(y, p, of, "max") for of in (wide, mass))
    assert tuple(round(value, 4) for value in errors) == PUBLISHED[model][2:]
    found = oracle.tce(y, p, blocks), oracle.tce(y, p, mass)
    assert tuple(round(value, 3) for value in found) == PUBLISHED[model][:2]
