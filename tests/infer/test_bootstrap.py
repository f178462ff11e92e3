"""Resampling of binned measures from sums."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp
from strategies import arrays, rows

import trueness as tn
from trueness._input.sample import read_sample
from trueness._tally.binned_scores import of_cells, of_matrix
from trueness._tally.bins import Bins
from trueness.infer._resampling import (
    RowKinds,
    _distinct_rows,
    basic_bootstrap,
    basic_interval,
    bootstrap_squared_ece,
    centred_bootstrap,
    centred_interval,
    percentile_bootstrap,
    percentile_interval,
    politis_romano,
    resampled_bins,
    subsamples,
    subsampling,
)

METHODS = [percentile_bootstrap, basic_bootstrap, centred_bootstrap, subsampling, politis_romano]
RULE = tn.EqualWidth(10)


def cells_of(y, p, **options):
    return tn.tally(y, p, **options).parts[0]


def outcomes_of(y, p, rule=RULE, **options):
    return RowKinds(of_cells(cells_of(y, p, **options), rule, None))


def some(n, seed=1, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**power, p


def row_bootstrap(y, p, edges, resamples, seed):
    """Copies rows, one resample after the other."""
    rng = np.random.default_rng(seed)
    drawn = (rng.integers(0, y.size, y.size) for _ in range(resamples))
    return np.array([tn.squared_ece(y[i], p[i], bins=edges) for i in drawn])


@given(pairs=rows)
def test_the_squared_error_of_all_rows_is_that_of_the_measure(pairs):
    y, p = arrays(pairs)
    outcomes = outcomes_of(y, p, tn.EqualWidth(3))
    expected = _measured(y, p)
    assert float(outcomes.of_counts(outcomes.count)) == pytest.approx(expected, abs=1e-12)
    every_row = np.arange(outcomes.n)[np.newaxis]
    assert float(outcomes.of_rows(every_row)[0]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("draw", ["rows", "moments"])
@pytest.mark.parametrize(("n", "power"), [(300, 1.0), (300, 2.0), (1_000, 1.3)])
def test_resampled_sums_cannot_be_told_from_resampled_rows(draw, n, power):
    y, p = some(n, power=power)
    expected = row_bootstrap(y, p, RULE, 600, seed=2)
    sums = outcomes_of(y, p) if draw == "rows" else tn.binned(y, p, bins=10).parts[0]
    found = bootstrap_squared_ece(sums, 4_000, np.random.default_rng(3))
    assert ks_2samp(expected, found).pvalue > 0.001


def test_the_bootstrap_of_three_rows_is_that_of_all_their_resamples():
    y, p = np.array([0, 1, 1]), np.array([0.2, 0.4, 0.9])
    values = [_measured(y[list(i)], p[list(i)], bins=1) for i in itertools.product(range(3), repeat=3)]
    found = bootstrap_squared_ece(outcomes_of(y, p, tn.EqualWidth(1)), 20_000, np.random.default_rng(1))
    assert sorted(set(np.round(found, 9))) == sorted(set(np.round(values, 9)))
    assert abs(found.mean() - np.mean(values)) < 4 * np.std(values) / np.sqrt(found.size)


def test_ties_are_drawn_as_rows():
    y, p = some(400)
    p = np.round(p, 1)
    expected = row_bootstrap(y, p, RULE, 600, seed=2)
    found = bootstrap_squared_ece(outcomes_of(y, p), 4_000, np.random.default_rng(3))
    assert ks_2samp(expected, found).pvalue > 0.001


def test_moments_of_the_sums_of_resampled_bins():
    y, p = some(500)
    bins = tn.binned(y, p, bins=4).parts[0]
    (found,) = resampled_bins(bins, 20_000, np.random.default_rng(1))
    for name, sums in (
        ("events", bins.events),
        ("sum_score", bins.sum_score),
        ("sum_event_score", bins.sum_event_score),
    ):
        drawn = getattr(found, name)
        assert np.abs(drawn.mean(axis=0) - sums).max() < 5 * drawn.std(axis=0).max() / np.sqrt(20_000)
    # Var Σp over n rows drawn, of which some fall in the bin: n Var(p·1{in the bin}).
    inside = np.stack([(p >= b / 4) & (p < (b + 1) / 4) for b in range(4)])
    assert np.allclose(found.sum_score.var(axis=0), 500 * (p * inside).var(axis=1), rtol=0.06)
    assert found.n.sum(axis=1).tolist() == [500] * 20_000


def test_intervals_by_hand():
    drawn = np.arange(11.0)
    assert percentile_interval(2.0, drawn, 0.8) == pytest.approx((1.0, 9.0))
    assert basic_interval(2.0, drawn, 0.8) == pytest.approx((-5.0, 3.0))
    assert centred_interval(2.0, drawn, 0.8) == pytest.approx((-2.0, 6.0))


def test_subsampling_by_hand():
    y, p = some(900)
    outcomes = outcomes_of(y, p)
    estimate = tn.squared_ece(y, p, bins=10)
    drawn = subsamples(outcomes, 30, 200, np.random.default_rng(1), replace=True)
    low, high = np.quantile(drawn, [0.05, 0.95])
    found = subsampling(outcomes, level=0.9, resamples=200, rng=np.random.default_rng(1))
    scale = np.sqrt(30 / 900)
    assert found == pytest.approx((estimate + scale * (low - estimate), estimate + scale * (high - estimate)))
    drawn = subsamples(outcomes, 30, 200, np.random.default_rng(1), replace=False)
    low, high = np.quantile(drawn, [0.05, 0.95])
    found = politis_romano(outcomes, level=0.9, resamples=200, rng=np.random.default_rng(1))
    assert found == pytest.approx((estimate - scale * (high - estimate), estimate - scale * (low - estimate)))


def test_a_subsample_of_all_rows_without_replacement_is_the_sample():
    y, p = some(50)
    found = subsamples(outcomes_of(y, p), 50, 3, np.random.default_rng(1), replace=False)
    assert found == pytest.approx([tn.squared_ece(y, p, bins=10)] * 3)


@pytest.mark.parametrize("size", [2, 3, 5])  # drawn at once up to about √n rows, one by one from more
def test_every_set_of_rows_is_equally_likely_without_replacement(size):
    drawn = np.sort(_distinct_rows(6, size, 6_000, np.random.default_rng(3)), axis=1)
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert [tuple(rows) for rows in sets] == list(itertools.combinations(range(6), size))
    assert chisquare(counts).pvalue > 0.001


def test_subsamples_are_draws_of_rows():
    y, p = some(200)
    p = np.round(p, 2)
    outcomes = outcomes_of(y, p)
    rng = np.random.default_rng(4)
    for replace in (True, False):
        drawn = (rng.choice(200, 40, replace=replace) for _ in range(600))
        expected = [_measured(y[i], p[i], bins=10) for i in drawn]
        found = subsamples(outcomes, 40, 4_000, rng, replace=replace)
        assert ks_2samp(expected, found).pvalue > 0.001


@pytest.mark.parametrize("method", METHODS)
@given(n=st.integers(4, 60), seed=st.integers(0, 1_000))
def test_an_interval_is_ordered_reproducible_and_blind_to_the_order_of_rows(method, n, seed):
    y, p = some(n, seed)
    options = {"level": 0.9, "resamples": 50}
    low, high = method(outcomes_of(y, p), rng=np.random.default_rng(seed), **options)
    assert low <= high
    again = method(outcomes_of(y[::-1], p[::-1]), rng=np.random.default_rng(seed), **options)
    assert (low, high) == again


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rule", [tn.EqualWidth(7), tn.EqualMass(7), tn.Distinct()])
def test_every_rule_will_do(method, rule):
    y, p = some(3_000)
    p = np.round(p, 3)
    low, high = method(outcomes_of(y, p, rule), level=0.9, resamples=200, rng=np.random.default_rng(1))
    assert np.isfinite([low, high]).all()
    assert low < high


@pytest.mark.parametrize("method", METHODS)
def test_weight_2_is_the_row_twice(method):
    y, p = some(80)
    w = np.random.default_rng(1).integers(0, 4, 80)
    options = {"level": 0.9, "resamples": 50}
    weighted = method(outcomes_of(y, p, sample_weight=w), rng=np.random.default_rng(1), **options)
    assert weighted == method(outcomes_of(np.repeat(y, w), np.repeat(p, w)), rng=np.random.default_rng(1), **options)
    with pytest.raises(tn.InputError, match="must be whole numbers"):
        outcomes_of(y, p, sample_weight=w + 0.5)


def test_bins_without_second_moments_are_refused():
    y, p = some(50)
    bins = tn.binned(y, p, bins=10).parts[0]
    bins.moments = False
    with pytest.raises(tn.InputError, match="without second moments"):
        bootstrap_squared_ece(bins, 10, np.random.default_rng(1))


@pytest.mark.parametrize("method", [percentile_bootstrap, basic_bootstrap, centred_bootstrap])
def test_bins_of_cells_and_of_rows_have_the_same_resamples(method):
    y, p = some(500)
    cells = cells_of(y, p)
    options = {"level": 0.9, "resamples": 50}
    found = method(Bins.from_cells(cells, RULE.group(cells)), rng=np.random.default_rng(1), **options)
    assert found == method(tn.binned(y, p, bins=10).parts[0], rng=np.random.default_rng(1), **options)


def classes(n, K, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), n)
    return np.array([rng.choice(K, p=row) for row in P]), P


def several(n=120, K=4, k=2, bins=3, **options):
    return RowKinds(of_matrix(read_sample(*classes(n, K), **options), k, bins))


def by_pairs(u, place):
    """The double sum over pairs of rows of one bin."""
    total = 0.0
    for b in set(place):
        rows = [row for row, where in zip(u, place, strict=True) if where == b]
        pairs = sum(float(a @ c) for i, a in enumerate(rows) for j, c in enumerate(rows) if i != j)
        total += pairs / max(1, len(rows) - 1)
    return total / len(u)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_resample_of_several_scores_is_the_double_sum_over_its_pairs(k):
    outcomes = several(k=k)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, outcomes.n, (3, 50))
    counts = np.stack([np.bincount(row, minlength=outcomes.n) for row in rows])
    expected = [by_pairs(outcomes.u[row], outcomes.bin[row].tolist()) for row in rows]
    assert outcomes.of_rows(rows) == pytest.approx(expected, abs=1e-12)
    assert outcomes.of_counts(counts) == pytest.approx(expected, abs=1e-12)


def test_one_score_of_a_matrix_is_a_vector_of_scores():
    """Rows of a matrix, k = 1, and the tally of their largest scores: the same kinds of rows, in another order."""
    y, P = classes(150, 3)
    P = np.round(P, 2) + (1 - np.round(P, 2).sum(axis=1, keepdims=True)) / 3
    general = RowKinds(of_matrix(read_sample(y, P), 1, 6))
    cells = tn.tally(y, P, kind="confidence").parts[0]
    binary = RowKinds(of_cells(cells, tn.EqualWidth(6), 3))
    assert general.estimate == pytest.approx(binary.estimate, abs=1e-12)
    resamples = [bootstrap_squared_ece(rows, 3_000, np.random.default_rng(2)) for rows in (general, binary)]
    assert ks_2samp(*resamples).pvalue > 0.001
    parts = [subsamples(rows, 40, 3_000, np.random.default_rng(2), replace=False) for rows in (general, binary)]
    assert ks_2samp(*parts).pvalue > 0.001


@pytest.mark.parametrize("method", METHODS)
def test_weight_2_is_the_row_twice_for_several_scores(method):
    y, P = classes(60, 3)
    w = np.random.default_rng(1).integers(0, 3, 60)
    weighted = RowKinds(of_matrix(read_sample(y, P, sample_weight=w), 2, 3))
    repeated = RowKinds(of_matrix(read_sample(np.repeat(y, w), np.repeat(P, w, axis=0)), 2, 3))
    assert weighted.n == repeated.n
    assert weighted.estimate == pytest.approx(repeated.estimate, abs=1e-12)
    low, high = method(weighted, level=0.9, resamples=50, rng=np.random.default_rng(3))
    assert low <= high


def test_the_percentile_interval_lies_above_a_calibrated_sample():
    """A row drawn twice makes a pair with itself, so that resamples err upwards; centring mends it."""
    y, p = some(500, power=1.0)
    estimate = tn.squared_ece(y, p, bins=10)
    drawn = bootstrap_squared_ece(outcomes_of(y, p), 2_000, np.random.default_rng(1))
    assert drawn.mean() > estimate + 0.001
    low, high = centred_interval(estimate, drawn, 0.9)
    assert low < estimate < high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "level"), [(percentile_bootstrap, 0.85), (basic_bootstrap, 0.85), (centred_bootstrap, 0.9)]
)
def test_bootstrap_intervals_cover_a_large_error(method, level):
    """Labels against scores: the error is far from zero, the estimate nearly normal.

    Resampled estimates lie above the estimate, since a row is then paired with its copies; unless they are centred,
    that costs some coverage.
    """
    rng = np.random.default_rng(5)
    runs, covered = 400, 0
    for _ in range(runs):
        p = rng.random(1_000)
        y = rng.random(1_000) < 0.5
        low, high = method(outcomes_of(y, p, tn.EqualWidth(20)), level=0.9, resamples=300, rng=rng)
        # Within bins of width 1/20 the mean gap is what is estimated: 1/12 less the variance within a bin.
        covered += low <= 1 / 12 - 1 / (12 * 400) <= high
    assert abs(covered / runs - level) < 0.06


def _measured(y, p, bins=3):
    outcomes_of_bins = tn.tally(y, p).coarsen(bins).parts[0]
    total = 0.0
    for b in range(outcomes_of_bins.size):
        low, high = outcomes_of_bins.edges[b : b + 2]
        inside = (p >= low) & ((p < high) | (b == outcomes_of_bins.size - 1))
        u = (np.asarray(y, float) - p)[inside]
        if u.size >= 2:
            total += (u.sum() ** 2 - (u**2).sum()) / (u.size - 1)
    return total / len(p)
