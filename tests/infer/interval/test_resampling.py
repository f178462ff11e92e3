"""Resampling of binned measures from sums."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp
from strategies import arrays, rows

import trueness as tn
from trueness import simulate
from trueness._input.sample import read_sample
from trueness._tally.binned_scores import of_cells, of_matrix
from trueness._tally.bins import Bins
from trueness.infer.interval._ece_interval import BOOTSTRAPS, RESAMPLING
from trueness.infer.interval._resampling import (
    BinSums,
    RowKinds,
    _distinct_rows,
    _resample_counts,
    basic_interval,
    bootstrap,
    bootstrap_squared_ece,
    centred_interval,
    parallel_draws,
    percentile_interval,
    politis_romano,
    resampled_bins,
    subsamples,
    subsampling,
)

PERCENTILE, BASIC, CENTRED = (
    partial(bootstrap, rule) for rule in (percentile_interval, basic_interval, centred_interval)
)
METHODS = [PERCENTILE, BASIC, CENTRED, subsampling, politis_romano]

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
def test_resampled_sums_have_the_distribution_of_resampled_rows(draw, n, power):
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


def test_resampled_bins_have_the_moments_of_resampled_rows():
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


def test_bootstrap_intervals_of_eleven_values():
    drawn = np.arange(11.0)
    assert percentile_interval(2.0, drawn, 0.8) == pytest.approx((1.0, 9.0))
    assert basic_interval(2.0, drawn, 0.8) == pytest.approx((-5.0, 3.0))
    assert centred_interval(2.0, drawn, 0.8) == pytest.approx((-2.0, 6.0))


def test_subsampling_scales_the_quantiles():
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
def test_every_bin_rule_is_accepted(method, rule):
    y, p = some(3_000)
    p = np.round(p, 3)
    low, high = method(outcomes_of(y, p, rule), level=0.9, resamples=200, rng=np.random.default_rng(1))
    assert np.isfinite([low, high]).all()
    assert low < high


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_of_2_repeats_the_row(method):
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


@pytest.mark.parametrize(
    "method",
    [PERCENTILE, BASIC, CENTRED],
)
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
def test_a_weight_of_2_repeats_the_row_for_several_scores(method):
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
    ("method", "level"),
    [
        (PERCENTILE, 0.85),
        (BASIC, 0.85),
        (CENTRED, 0.9),
    ],
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


every_method = pytest.mark.parametrize("method", RESAMPLING)


@pytest.fixture(scope="module")
def wrong():
    return simulate.binary(600, distortion=simulate.Logit(slope=0.3), seed=4)


@pytest.fixture(scope="module")
def right():
    return simulate.binary(600, seed=4)


@every_method
def test_an_error_far_from_zero_is_found(method, wrong):
    found = tn.ece_interval(wrong.y_true, wrong.y_prob, method=method, seed=1)
    assert found.method == method
    assert not found.includes_zero
    assert 0.05 < found.low < found.high < 0.35  # the truth is 0.17
    assert found.estimate == pytest.approx(tn.squared_ece(wrong.y_true, wrong.y_prob) ** 0.5)
    assert "EqualWidth(n=13)" in found.bins  # 600 ** 0.4 = 12.9


@every_method
def test_an_error_is_never_negative(method, right):
    found = tn.ece_interval(right.y_true, right.y_prob, method=method, squared=True, seed=1)
    assert 0 <= found.low <= found.high
    assert found.is_interval
    assert found.includes_zero == (found.low == 0)


@every_method
def test_a_seed_gives_the_same_interval_again_and_a_tally_serves(method, wrong):
    y, p = wrong.y_true, wrong.y_prob
    found = tn.ece_interval(y, p, method=method, seed=3)
    order = np.random.default_rng(0).permutation(y.size)
    assert tn.ece_interval(y[order], p[order], method=method, seed=3) == found
    assert tn.ece_interval(tn.tally(y, p), method=method, seed=3) == found


@every_method
def test_the_interval_is_that_of_its_own_function(method, wrong):
    tally = tn.tally(wrong.y_true, wrong.y_prob)
    options = {} if method == "hulc" else {"resamples": 50}
    found = tn.ece_interval(tally, method=method, bins=8, level=0.8, squared=True, seed=2, **options)
    rng = np.random.default_rng(2)
    rows = RowKinds(of_cells(tally.parts[0], tn.EqualWidth(8), None))
    low, high = RESAMPLING[method](rows, level=0.8, resamples=50, rng=rng)
    assert (found.low, found.high) == (max(0, low), max(0, high))


@pytest.mark.parametrize("method", BOOTSTRAPS)
@pytest.mark.parametrize("n", [2_000, 2_001])
def test_rows_a_tally_and_weights_agree_on_either_side_of_2000_rows(method, n):
    d = simulate.binary(n, distortion=simulate.Logit(slope=0.5), seed=1)
    y, p = d.y_true, d.y_prob
    options = {"method": method, "bins": 10, "resamples": 99, "seed": 2}
    found = tn.ece_interval(y, p, **options)
    assert tn.ece_interval(y[::-1], p[::-1], **options) == found
    assert tn.ece_interval(tn.tally(y, p), **options) == found
    assert tn.ece_interval(y, p, sample_weight=np.ones(n), **options) == found
    twice = tn.ece_interval(y, p, sample_weight=np.full(n, 2), **options)
    assert tn.ece_interval(np.repeat(y, 2), np.repeat(p, 2), **options) == twice


@pytest.mark.parametrize("method", BOOTSTRAPS)
def test_bins_serve_the_bootstrap(method):
    d = simulate.binary(5_000, seed=1)
    options = {"method": method, "bins": 10, "resamples": 99, "seed": 2}
    binned = tn.binned(d.y_true, d.y_prob, bins=10)
    assert tn.ece_interval(binned, **options) == tn.ece_interval(d.y_true, d.y_prob, **options)


@pytest.mark.parametrize("method", [name for name in RESAMPLING if name not in BOOTSTRAPS])
def test_bins_do_not_serve_where_rows_are_drawn(method, right):
    with pytest.raises(tn.InputError, match="bins do not keep them"):
        tn.ece_interval(tn.binned(right.y_true, right.y_prob), method=method, bins=10)


@pytest.mark.parametrize("n", [500, 3_000])
def test_fractional_weights_are_refused(n):
    d = simulate.binary(n, seed=1)
    with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers"):
        tn.ece_interval(d.y_true, d.y_prob, method="bootstrap", sample_weight=np.full(n, 1.5))


def test_fixed_bins_of_many_rows_are_not_sorted(monkeypatch):
    d = simulate.binary(3_000, seed=1)

    def refuse(*_args, **_options):
        raise AssertionError("sorted")

    monkeypatch.setattr("trueness._tally.rows_or_sums.cells_of_rows", refuse)
    tn.ece_interval(d.y_true, d.y_prob, method="bootstrap", seed=0)
    with pytest.raises(AssertionError, match="sorted"):
        tn.ece_interval(d.y_true[:2_000], d.y_prob[:2_000], method="bootstrap", seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "score", "resamples": 10}, "'score' takes none"),
        ({"method": "analytic", "resamples": 10}, "'analytic' takes none"),
        ({"method": "hulc", "resamples": 10}, "'hulc' takes none"),
        ({"method": "bootstrap", "resamples": 0}, "`resamples` must be a whole number ≥ 1; got 0"),
        ({"method": "jackknife"}, "`method` must be .* got 'jackknife'"),
        ({"method": "bootstrap", "bins": tn.Isotonic()}, "must not depend on the labels"),
        ({"method": "bootstrap", "support": "reachable"}, "`support` is only for"),
    ],
)
def test_options_of_other_methods_are_refused(options, message, right):
    with pytest.raises(tn.InputError, match=message):
        tn.ece_interval(right.y_true, right.y_prob, **options)


@pytest.mark.all_cases
@every_method
@pytest.mark.parametrize("k", [2, 3])
def test_several_scores_per_row_are_resampled(method, k):
    """Labels that do not depend on the scores: the error is far from zero."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(3, 0.3), 800)
    y = rng.integers(0, 3, 800)
    found = tn.ece_interval(y, P, k=k, bins=4, method=method, seed=1)
    assert found.estimate == pytest.approx(tn.squared_ece(y, P, k=k, bins=4) ** 0.5)
    assert 0 < found.low <= found.estimate <= found.high
    assert "cubes" in found.bins or "simplices" in found.bins
    assert tn.ece_interval(y, P, k=k, bins=4, method=method, seed=1) == found


@pytest.mark.slow
def test_the_percentile_bootstrap_misses_zero_and_the_score_interval_does_not():
    """The numbers in the docstring of `ece_interval`: 1,000 rows, two classes, uniform scores, calibrated."""
    runs = 300
    methods = ("bootstrap", "centred-bootstrap", "hulc", "score")
    covered = dict.fromkeys(methods, 0)
    for seed in range(runs):
        data = simulate.multiclass(1_000, 2, seed=seed)
        for method in methods:
            bins = 50 if method != "score" else None
            # Another seed than that of the data, whose draws would otherwise be those of the split.
            found = tn.ece_interval(data.y_true, data.y_prob, method=method, bins=bins, level=0.9, seed=1_000 + seed)
            covered[method] += found.includes_zero
    share = {method: count / runs for method, count in covered.items()}
    assert share["bootstrap"] < 0.25
    assert share["centred-bootstrap"] > 0.95
    error = 4 * (0.09 / runs) ** 0.5
    assert abs(share["hulc"] - 0.9) < error + 0.02
    assert abs(share["score"] - 0.9) < error


@pytest.mark.parametrize("workers", [1, 3])
def test_draws_in_parallel_have_streams_of_sixteen_in_order(workers):
    reports = []

    def draw(rng, size):
        first = int(rng.integers(10**6))
        return [(first, i) for i in range(size)]

    found = parallel_draws(draw, 40, np.random.default_rng(1), workers, lambda *done: reports.append(done))
    streams = np.random.default_rng(1).spawn(3)
    firsts = [int(rng.integers(10**6)) for rng in streams]
    assert found == [(first, i) for first, size in zip(firsts, (16, 16, 8), strict=True) for i in range(size)]
    assert reports == [(16, 40), (32, 40), (40, 40)]


def test_sums_of_bins_have_the_squared_error_of_their_rows():
    y, p = some(60)
    b = np.minimum((p * 4).astype(int), 3)
    columns = [np.bincount(b, values, 4)[np.newaxis] for values in (np.ones(60), y, p, p**2, y * p)]
    found = BinSums(columns[0].astype(np.int64), columns[1].astype(np.int64), *columns[2:]).squared_ece()
    assert found == pytest.approx([tn.squared_ece(y, p, bins=4)])


def test_bins_whose_rows_share_a_score_are_resampled_as_rows():
    p = np.repeat([0.125, 0.625, 0.875], [30, 40, 10])
    y = np.arange(80) % 3 == 0
    sums = list(resampled_bins(tn.binned(y, p, bins=10).parts[0], 300, np.random.default_rng(0)))
    score = np.array([0.125, 0.625, 0.875])
    for batch in sums:
        assert (batch.n.sum(axis=1) == 80).all()
        np.testing.assert_allclose(batch.sum_score, batch.n * score, atol=1e-9)
        np.testing.assert_allclose(batch.sum_square, batch.n * score**2, atol=1e-9)
        np.testing.assert_allclose(batch.sum_event_score, batch.events * score, atol=1e-9)
        u2 = batch.events * (1 - score) ** 2 + (batch.n - batch.events) * score**2
        pairs = ((batch.events - batch.n * score) ** 2 - u2) / np.maximum(batch.n - 1, 1)
        np.testing.assert_allclose(batch.squared_ece(), np.where(batch.n > 1, pairs, 0).sum(axis=1) / 80, atol=1e-9)
    assert sum(len(batch.n) for batch in sums) == 300


def test_resampled_squares_of_scores_follow_their_sums():
    """Given Σp of m rows of a bin and label, Σp² has the mean 2μΣp − mμ² + mσ²."""
    y, p = some(400)
    (found,) = resampled_bins(tn.binned(y, p, bins=1).parts[0], 4_000, np.random.default_rng(1))
    expected = np.zeros(4_000)
    events, others = found.events[:, 0], (found.n - found.events)[:, 0]
    sums = found.sum_event_score[:, 0], (found.sum_score - found.sum_event_score)[:, 0]
    for label, m, total in zip((True, False), (events, others), sums, strict=True):
        mean, variance = p[y == label].mean(), p[y == label].var()
        expected += 2 * mean * total - m * mean**2 + m * variance
        error = (total - m * mean) / np.sqrt(m * variance)  # standard normal
        assert abs(error.mean()) < 5 / np.sqrt(4_000)
        assert error.var() == pytest.approx(1, abs=5 * np.sqrt(2 / 4_000))
    np.testing.assert_allclose(found.sum_square[:, 0], expected, rtol=1e-6)


def test_bins_of_fractional_weights_are_refused():
    y, p = some(50)
    bins = tn.binned(y, p, bins=10, sample_weight=np.full(50, 0.5)).parts[0]
    with pytest.raises(
        tn.InputError, match="`sample_weight` must be whole numbers that sum to less than 2³⁵ to resample"
    ):
        bootstrap_squared_ece(bins, 10, np.random.default_rng(1))


@pytest.mark.parametrize("batch", [1, 100, 1 << 19])
def test_as_many_resamples_as_asked_for_whatever_fits_in_a_batch(monkeypatch, batch):
    y, p = some(60)
    monkeypatch.setattr("trueness.infer.interval._resampling._BATCH", batch)
    for kinds in (outcomes_of(y, p), outcomes_of(y, p.round(1))):
        assert bootstrap_squared_ece(kinds, 37, np.random.default_rng(0)).shape == (37,)
        assert subsamples(kinds, 7, 37, np.random.default_rng(0), replace=True).shape == (37,)
        assert subsamples(kinds, 7, 37, np.random.default_rng(0), replace=False).shape == (37,)
    assert bootstrap_squared_ece(tn.binned(y, p).parts[0], 37, np.random.default_rng(0)).shape == (37,)


@pytest.mark.parametrize("decimals", [1, 12])
def test_every_resample_draws_as_many_rows_as_there_are(decimals):
    y, p = some(60)
    count = outcomes_of(y, p.round(decimals)).count
    drawn = _resample_counts(count, 2_000, np.random.default_rng(0))
    assert (drawn.sum(axis=1) == 60).all()
    error = np.sqrt(count * (1 - count / 60) / 2_000)  # binomial
    assert (np.abs(drawn.mean(axis=0) - count) < 5 * error).all()


def test_kinds_of_rows_are_scores_with_labels_in_the_order_of_bins():
    found = outcomes_of([0, 1, 1, 0, 0], [0.1, 0.1, 0.6, 0.3, 0.1], tn.EqualWidth(2))
    assert found.count.tolist() == [2, 1, 1, 1]  # 0.1 without and with the event, 0.3 without, 0.6 with it
    assert found.u[:, 0] == pytest.approx([-0.1, 0.9, -0.3, 0.4])
    assert found.square == pytest.approx([0.01, 0.81, 0.09, 0.16])
    assert (found.first.tolist(), found.bin.tolist(), found.n) == ([0, 3], [0, 0, 0, 1], 5)


@pytest.mark.parametrize("rule", [percentile_interval, basic_interval, centred_interval])
def test_the_bootstrap_of_bins_is_around_their_own_estimate(rule):
    y, p = some(300)
    bins, options = tn.binned(y, p, bins=10).parts[0], {"level": 0.8, "resamples": 99}
    drawn = bootstrap_squared_ece(bins, 99, np.random.default_rng(4))
    found = bootstrap(rule, bins, rng=np.random.default_rng(4), **options)
    assert found == pytest.approx(rule(tn.squared_ece(y, p, bins=10), drawn, 0.8))
    rows = outcomes_of(y, p)
    drawn = bootstrap_squared_ece(rows, 99, np.random.default_rng(4))
    assert bootstrap(rule, rows, rng=np.random.default_rng(4), **options) == rule(rows.estimate, drawn, 0.8)
