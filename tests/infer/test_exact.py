"""The exact test: by enumeration of all labels."""

import itertools
import math

import numpy as np
import pytest

import trueness as tn
from trueness._numerics.pairs import null_moments, pair_sums
from trueness._tally.binned_scores import of_cells, of_matrix
from trueness.infer._exact import _log_chance, exact_pvalue, null_statistics, rejects_calibration, required_draws

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
