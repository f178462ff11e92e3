"""The exact test: by enumeration of all labels."""

import itertools
import math

import numpy as np
import pytest

import trueness as tn
from trueness._numerics.pairs import null_moments, pair_sums
from trueness._tally.binned_scores import of_cells, of_matrix
from trueness.infer.test._pair_tests import (
    PairStatistic,
    _log_chance,
    exact_pvalue,
    null_statistics,
    out_of_reach,
    rejects_calibration,
    required_draws,
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def exact_law(z, groups):
    """T of every vector of labels, and its probability."""
    k = z.shape[1]
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    chances = np.column_stack([z, 1 - z.sum(axis=1)])
    values, weights = [], []
    for label in itertools.product(range(k + 1), repeat=len(z)):
        hits = (np.array(label)[:, None] == np.arange(k)).astype(np.int64)
        values.append(pair_sums(z, np.ones(len(z), dtype=np.int64), hits, first).statistic)
        weights.append(chances[np.arange(len(z)), label].prod())
    return np.array(values), np.array(weights)


def small(k):
    if k == 1:
        p = np.array([0.1, 0.15, 0.3, 0.35, 0.5, 0.6, 0.8, 0.9])
        return of_cells(tn.tally([0, 1, 0, 1, 0, 1, 1, 0], p).parts[0], tn.Edges([0, 0.2, 0.4, 1]), None)
    P = np.array([[0.5, 0.3, 0.2], [0.55, 0.3, 0.15], [0.1, 0.8, 0.1], [0.1, 0.15, 0.75], [0.4, 0.35, 0.25], [1, 0, 0]])
    from trueness._input.sample import read_sample

    return of_matrix(read_sample([0, 1, 2, 2, 0, 0], P), 2, 3)


@pytest.mark.parametrize("k", [1, 2])
def test_drawn_statistics_follow_the_law_over_all_label_vectors(k):
    scores = small(k)
    groups = np.repeat(np.arange(scores.first.size), np.diff(np.append(scores.first, len(scores.z))))
    value, chance = exact_law(scores.z, groups)
    R = 20_000
    drawn = null_statistics(scores, R, np.random.default_rng(5))
    for t in np.quantile(value, [0.1, 0.3, 0.5, 0.7, 0.9, 0.99]):
        p = chance[value >= t - 1e-12].sum()
        assert abs((drawn >= t - 1e-12).mean() - p) < 5 * math.sqrt(p * (1 - p) / R) + 1e-12
    variance, _ = null_moments(scores.z, scores.count, scores.first, np.zeros((scores.first.size, k)))
    assert variance == pytest.approx(chance @ value**2, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_the_pvalue_is_that_of_the_law_over_all_label_vectors_and_keeps_every_level(k):
    scores = small(k)
    groups = np.repeat(np.arange(scores.first.size), np.diff(np.append(scores.first, len(scores.z))))
    value, chance = exact_law(scores.z, groups)
    seen = np.unique(value.round(12))[::7]
    tails = []
    for t in seen:
        exact = chance[value >= t - 1e-11].sum()
        p = exact_pvalue(scores, float(t), 1999, np.random.default_rng(6))
        assert abs(p - exact) < 5 * math.sqrt(exact * (1 - exact) / 1999) + 1e-3
        tails.append(p)
    assert min(tails) > 0


def test_rows_of_equal_scores_are_drawn_together():
    y = [0, 1] * 30
    scores = of_cells(tn.tally(y, [0.2, 0.2, 0.7, 0.7] * 15).parts[0], tn.EqualMass(2), None)
    assert scores.z.size == 2
    drawn = null_statistics(scores, 20_000, np.random.default_rng(0))
    variance, _ = null_moments(scores.z, scores.count, scores.first, np.zeros((2, 1)))
    assert abs(drawn.mean()) < 5 * math.sqrt(variance / drawn.size)
    assert drawn.var() == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_many_rows_are_drawn_with_the_right_variance(k):
    n = {1: 20_000, 2: 40_000, 3: 40_000}[k]
    if k == 1:
        p = np.random.default_rng(1).random(n)
        scores = of_cells(tn.tally(np.arange(n) % 2, p).parts[0], tn.EqualMass(40), None)
    else:
        from trueness._input.sample import read_sample

        P = np.random.default_rng(1).dirichlet(np.ones(3), n)
        scores = of_matrix(read_sample(np.arange(n) % 3, P), k, 6)
    drawn = null_statistics(scores, 1000, np.random.default_rng(2))
    variance, _ = null_moments(scores.z, scores.count, scores.first, np.zeros((scores.first.size, k)))
    assert abs(drawn.mean()) < 5 * math.sqrt(variance / drawn.size)
    assert drawn.std() == pytest.approx(math.sqrt(variance), rel=0.15)


def test_rows_that_are_alone_change_nothing_but_the_number_of_rows():
    p = [0.1, 0.12, 0.15, 0.5, 0.9]
    scores = of_cells(tn.tally([0, 1, 0, 1, 1], p).parts[0], tn.EqualWidth(5), None)
    pair = of_cells(tn.tally([0, 1, 0], p[:3]).parts[0], tn.EqualWidth(5), None)
    a, b = (null_statistics(x, 50, np.random.default_rng(3)) for x in (scores, pair))
    assert a * 5 == pytest.approx(b * 3)


def test_draws_are_enough_for_the_level_and_make_it_exact():
    assert required_draws(0.1) == 999
    assert required_draws(0.05) == 999
    assert required_draws(0.01) == 1999
    assert required_draws(0.001) == 19_999


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.1, 0.2, 0.5])
def test_calibration_is_rejected_where_the_pvalue_is_at_most_alpha(shift):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p = rng.random(400)
        y = (rng.random(p.size) < p * (1 - shift)).astype(int)
        scores = of_cells(tn.tally(y, p).parts[0], tn.EqualMass(8), None)
        statistic = pair_sums(scores.z, scores.count, scores.hits, scores.first).statistic
        for alpha in 0.1, 0.05, 0.4:
            pvalue = exact_pvalue(scores, statistic, required_draws(alpha), np.random.default_rng(seed))
            assert rejects_calibration(scores, statistic, alpha, np.random.default_rng(seed)) == (pvalue <= alpha)


def test_a_p_value_of_exactly_alpha_rejects_and_one_more_draw_does_not():
    p = np.random.default_rng(0).random(60)
    scores = of_cells(tn.tally(np.arange(60) % 2, p).parts[0], tn.EqualMass(4), None)
    largest_first = np.sort(null_statistics(scores, 999, np.random.default_rng(3)))[::-1]
    for alpha, reached in ((0.05, 49), (0.1, 99)):
        assert rejects_calibration(scores, largest_first[reached - 1], alpha, np.random.default_rng(3))
        assert not rejects_calibration(scores, largest_first[reached], alpha, np.random.default_rng(3))


def test_no_labels_are_drawn_where_none_could_reach_the_statistic():
    p = np.linspace(0.3, 0.4, 2000)
    scores = of_cells(tn.tally(np.arange(2000) % 10 < 9, p).parts[0], tn.EqualMass(5), None)
    statistic = pair_sums(scores.z, scores.count, scores.hits, scores.first).statistic
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert rejects_calibration(scores, statistic, 0.1, rng)
    assert rng.bit_generator.state == before
    assert exact_pvalue(scores, statistic, 999, rng) == 0.001


def test_the_bound_on_the_chance_to_reach_a_value_holds_over_all_labels():
    p = np.array([0.1, 0.4, 0.5, 0.5, 0.6, 0.9, 0.95, 0.2, 0.7])
    first, size = np.array([0, 2, 5]), np.array([2, 3, 4])
    labels = np.array(list(itertools.product([0, 1], repeat=p.size)))
    chance = np.where(labels == 1, p, 1 - p).prod(axis=1)
    one = np.ones(p.size, dtype=np.int64)
    value = p.size * np.array([pair_sums(p[:, None], one, y[:, None], first).statistic for y in labels])
    for x in np.linspace(0, value.max(), 40):
        assert np.log(chance[value >= x - 1e-12].sum()) <= _log_chance(size, x)


def test_draws_follow_20_over_alpha_and_are_never_fewer_than_999():
    assert [required_draws(alpha) for alpha in (0.4, 0.0201, 0.02, 0.0199, 0.003)] == [999, 999, 999, 1005, 6666]


def test_the_bound_on_the_chance_is_markov_s_with_hoeffding_s_lemma():
    """With 1/(2(N − 1)) in each bin: exp(−x/2) times (1 − N/(4(N − 1)))^(−1/2) over the bins."""
    for x in (0.0, 7.0):
        by_hand = math.exp(-x / 2) / math.sqrt((1 - 2 / 4) * (1 - 3 / 8) * (1 - 11 / 40))
        assert _log_chance(np.array([2, 3, 11]), x) == pytest.approx(math.log(by_hand))


def test_a_statistic_is_out_of_reach_where_half_of_it_has_a_chance_below_e_to_the_minus_60():
    p = np.concatenate([np.full(2, 0.1), np.full(3, 0.3), [0.5], np.full(11, 0.7)])  # the third bin has one row
    scores = of_cells(tn.tally(np.arange(17) % 2, p).parts[0], tn.Distinct(), None)
    log_bins = -0.5 * math.log((1 - 2 / 4) * (1 - 3 / 8) * (1 - 11 / 40))
    limit = 4 * (60 + log_bins) / 17
    assert out_of_reach(scores, limit * 1.0001)
    assert not out_of_reach(scores, limit * 0.9999)
    from trueness._input.sample import read_sample

    matrix = of_matrix(read_sample([0, 1, 2], np.full((3, 3), 1 / 3)), 2, 2)
    assert not out_of_reach(matrix, 1e6)  # the bound is for one score per row


def spread_of_draws(scores, draws):
    drawn = null_statistics(scores, draws, np.random.default_rng(2))
    variance, _ = null_moments(scores.z, scores.count, scores.first, np.zeros((scores.first.size, 1)))
    return drawn.std() / math.sqrt(variance)


def test_bins_of_two_rows_have_pairs():
    p = np.array([0.1, 0.12, 0.5, 0.52, 0.9])
    scores = of_cells(tn.tally([0, 1, 0, 1, 1], p).parts[0], tn.EqualWidth(5), None)
    assert spread_of_draws(scores, 2_000) == pytest.approx(1, rel=0.1)
    pairs = of_cells(tn.tally([0, 1, 0, 1], p[:4]).parts[0], tn.EqualWidth(5), None)
    assert spread_of_draws(pairs, 2_000) == pytest.approx(1, rel=0.1)


def test_near_ties_of_wide_bins_keep_their_variance():
    """One score for a whole bin would make the spread one and a half times as large."""
    p = (np.arange(5_000) + 0.5) / 5_000
    scores = of_cells(tn.tally(np.arange(5_000) % 2, p).parts[0], tn.Edges([0, 1]), None)
    assert spread_of_draws(scores, 400) == pytest.approx(1, rel=0.3)


def test_rows_that_are_all_alone_have_a_statistic_of_0():
    scores = of_cells(tn.tally([0, 1, 1], [0.1, 0.5, 0.9]).parts[0], tn.Distinct(), None)
    assert null_statistics(scores, 7, np.random.default_rng(0)).tolist() == [0] * 7


@pytest.mark.parametrize("divisor", ["pairs", "rows"])
def test_the_statistic_sums_over_pairs_of_rows(divisor):
    """Σ over bins of two rows or more of Σ_{i≠j} u_i·u_j / (N − 1), or N, over n."""
    rng = np.random.default_rng(0)
    z = rng.dirichlet(np.ones(3), 9)[:, :2]
    label = rng.integers(0, 3, 9)
    u = (label[:, np.newaxis] == [0, 1]) - z
    first, bins = np.array([0, 4, 5, 7]), np.repeat([0, 1, 2, 3], [4, 1, 2, 2])
    value = 0.0
    for b, size in ((0, 4), (2, 2), (3, 2)):
        some = u[bins == b]
        products = sum(some[i] @ some[j] for i, j in itertools.permutations(range(size), 2))
        value += products / (size - (divisor == "pairs")) / 9
    hits = [(label == j).astype(int)[:, np.newaxis] for j in (0, 1)]
    found = PairStatistic(z, np.ones(9, dtype=np.int64), first, divisor)(hits)
    assert found.tolist() == pytest.approx([value])


@pytest.mark.parametrize(("n", "bins"), [(30, 5), (80, 6), (1_000, 16)])
def test_the_default_bins_are_n_to_the_0_4_of_equal_mass_and_at_least_five(n, bins):
    p = (np.arange(n) + 0.5) / n
    found = tn.calibration_test(np.arange(n) % 2, p, method="exact", resamples=19, seed=0)
    assert found.assumptions == (
        "Rows are independent; the level is exact at any n: 19 sets of labels were drawn from the scores. "
        f"Bins: EqualMass(n={bins})."
    )
    assert found.smallest_pvalue == 1 / 20


def test_of_more_than_4096_scores_near_ties_are_drawn_together():
    for n, words in ((4096, "exact at any n"), (4097, "exact within 0.001, near ties being drawn together")):
        found = tn.calibration_test(np.arange(n) % 2, (np.arange(n) + 0.5) / n, method="exact", resamples=9, seed=0)
        assert f"the level is {words}: 9 sets" in found.assumptions


def test_the_two_largest_scores_of_a_row_have_their_own_sentence_and_999_draws():
    P = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    found = tn.calibration_test(np.arange(60) % 3, P, method="exact", k=2, seed=0)
    assert found.assumptions.startswith(
        "Rows are independent; the level is exact at any n: 999 sets of classes were drawn from the scores. "
        "The 2 largest scores of each row; "
    )
    assert found.smallest_pvalue == 1 / 1000
    assert tn.calibration_test(np.arange(60) % 2, P[:, 0], method="exact", seed=0).smallest_pvalue == 1 / 1000


@pytest.mark.parametrize("method", ["exact", "t-cal"])
def test_scores_of_0_and_1_alone_are_either_right_or_impossible(method):
    y = np.arange(12) % 3
    P = np.eye(3)[y]
    assert tn.calibration_test(y, P, method=method, k=2, resamples=19, seed=0).pvalue == 1
    y[0] = 1
    impossible = tn.calibration_test(y, P, method=method, k=2, resamples=19, seed=0)
    assert (impossible.pvalue, impossible.pvalue_in_words) == (1 / 20, "p ≤ 0.05")


@pytest.mark.parametrize("options", [{"kind": "classwise"}, {"kind": "top-label"}, {"k": 2}])
def test_the_smallest_p_value_of_redrawn_labels_is_a_bound_for_every_view_of_a_matrix(options):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 300)
    found = tn.calibration_test(P.argmax(axis=1), P, resamples=99, seed=0, **options)
    assert (found.pvalue, found.smallest_pvalue, found.pvalue_in_words) == (0.01, 0.01, "p ≤ 0.01")
