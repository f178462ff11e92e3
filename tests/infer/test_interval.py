"""Confidence sets for the calibration error: laws, by hand, against plain transcriptions, by enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from strategies import arrays, rows, weighted_rows

import trueness as tn
from trueness import simulate
from trueness._numerics.pairs import null_moments, null_variance, pair_sums
from trueness._tally.binned_scores import of_cells, of_matrix
from trueness.infer import ece_interval
from trueness.infer._analytic import analytic_region, upper_quantile, zero_threshold
from trueness.infer._exact import _log_chance, exact_pvalue, null_statistics, rejects_calibration, required_draws
from trueness.infer._score_interval import score_ends

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

Z05, Z10 = 1.6448536269514722, 1.2815515655446004


def asked(*args, **options):
    """The interval, or None where the rows say nothing."""
    try:
        return ece_interval(*args, **options)
    except tn.InputError as error:
        if "No bin holds two rows" not in str(error):
            raise
        return None


# ---------------------------------------------------------------------------------------- the published set


@pytest.mark.parametrize(
    ("statistic", "deviation", "threshold", "expected"),
    [
        # Far from zero: the two-sided interval.
        (1.0, 0.1, 0.5, (1 - Z05 * 0.1, 1 + Z05 * 0.1, True, False)),
        (1.0, 0.1, 2.0, (1 - Z05 * 0.1, 1 + Z05 * 0.1, True, True)),
        # One-sided below: above zero, and cut there.
        (1.0, 0.5, 0.5, (1 - Z10 * 0.5, 1 + Z05 * 0.5, True, False)),
        (1.0, 0.5, 2.0, (1 - Z10 * 0.5, 1 + Z05 * 0.5, True, True)),
        (1.0, 1.0, 0.5, (0.0, 1 + Z05, False, False)),
        (1.0, 1.0, 2.0, (0.0, 1 + Z05, True, True)),
        # In between: half of the estimate.
        (1.0, 0.35, 0.5, (0.5, 1 + Z05 * 0.35, True, False)),
        (1.0, 0.35, 2.0, (0.5, 1 + Z05 * 0.35, True, True)),
        # A negative estimate counts as zero; without spread only zero is left.
        (-1.0, 0.5, 2.0, (0.0, Z05 * 0.5, True, True)),
        (-1.0, 0.0, 2.0, (0.0, 0.0, True, True)),
        # Zero is in the set only below the threshold, not at it.
        (1.0, 1.0, 1.0, (0.0, 1 + Z05, False, False)),
    ],
)
def test_every_branch_of_the_published_interval(statistic, deviation, threshold, expected):
    n = 7
    found = analytic_region(statistic, deviation**2 * n, n, threshold, 0.1)
    assert found[:2] == pytest.approx(expected[:2])
    assert found[2:] == expected[2:]


def transcription(u, cell, sigma0, volume, alpha):
    """Algorithm 1 once more, bin by bin; `u` is (n, k)."""
    n = len(u)
    T = s4 = s2 = inner = 0.0
    for c in sorted(set(cell)):
        part = u[[other == c for other in cell]]
        N = len(part)
        if N >= 2:
            T += sum(a @ b for i, a in enumerate(part) for j, b in enumerate(part) if i != j) / (N - 1) / n
        mean = part.mean(axis=0)
        C = part.T @ part / N - np.outer(mean, mean)
        s4 += N / n * (mean @ mean) ** 2
        s2 += N / n * (mean @ mean)
        inner += N / n * mean @ C @ mean
    s = math.sqrt(max(0.0, s4 - s2**2 + 4 * inner) / n)
    za, z2 = stats.norm.isf(alpha), stats.norm.isf(alpha / 2)
    t = max(T, 0.0)
    high = t + z2 * s
    if t / 2 <= t - z2 * s:
        low = t - z2 * s
    elif t - za * s < t / 2:
        low = max(0.0, t - za * s)
    else:
        low = t / 2
    return T, low, high, t < za * sigma0 / (n * math.sqrt(volume))


def same_set(found, expected):
    T, low, high, zero = expected
    assert found.squared
    assert (found.estimate, found.low, found.high) == pytest.approx((T, low, high), abs=1e-12)
    assert found.includes_zero == (zero or high == 0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("level", [0.8, 0.9, 0.99])
def test_binary_scores_against_the_transcription(seed, level):
    d = simulate.binary(60, distortion=simulate.Logit(slope=(0.3, 1.0)[seed % 2]), seed=seed)
    B = 3 + seed
    cell = np.minimum(np.searchsorted(np.arange(B + 1) / B, d.y_prob, side="right") - 1, B - 1).tolist()
    u = (d.y_true - d.y_prob)[:, None]
    expected = transcription(u, cell, math.sqrt(1 / 15), 1 / B, 1 - level)
    found = ece_interval(d.y_true, d.y_prob, method="analytic", bins=B, level=level, squared=True)
    same_set(found, expected)


@pytest.mark.parametrize("support", ["published", "reachable"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_several_classes_against_the_transcription(seed, k, support):
    d = simulate.multiclass(50, 3, distortion=simulate.LabelNoise((0.6, 0.0)[seed % 2]), seed=seed)
    m = 2 + seed
    y, P = d.y_true, d.y_prob
    if k == 3:
        u = np.eye(3)[y] - P
        x = m * np.cumsum(P[:, :2], axis=1)
        a = np.minimum(np.floor(x), m - 1)
        f = x - a
        cell = [(*row, bool(left[1] < left[0])) for row, left in zip(a.tolist(), f.tolist(), strict=True)]
        volume = 1 / (2 * m**2)
    else:
        order = np.argsort(-P, axis=1, kind="stable")[:, :k]
        z = np.take_along_axis(P, order, axis=1)
        u = (order == y[:, None]) - z
        cell = [tuple(min(int(v * m), m - 1) for v in row) for row in z]
        volume = m**-k
    expected = transcription(u, cell, math.sqrt(null_variance(3, k, support)), volume, 0.1)
    found = ece_interval(y, P, k=k, method="analytic", bins=m, squared=True, support=support)
    same_set(found, expected)


def test_the_threshold_of_zero():
    assert zero_threshold(100, 0.1, 20, None) == pytest.approx(Z10 * math.sqrt(20 / 15) / 100)
    assert zero_threshold(100, 0.1, 20, 2) == pytest.approx(Z10 * math.sqrt(20 / 30) / 100)
    assert zero_threshold(50, 0.1, 4, 3, 3) == pytest.approx(Z10 * math.sqrt(1 / 6 * 2 * 16) / 50)
    assert math.isfinite(zero_threshold(50, 0.1, 10, 1000, 999))


# ------------------------------------------------------------------------------------------- the exact test


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


# ------------------------------------------------------------------------------------------ the score interval


@pytest.mark.parametrize("statistic", [-0.01, 0.0, 0.001, 0.02, 0.3])
@pytest.mark.parametrize("unevenness", [0.0, 1.0, 60.0])
def test_score_ends_are_the_values_that_are_not_refuted(statistic, unevenness):
    n, tau, noise, z = 100, 0.004, 0.2, Z05
    low, high = score_ends(statistic, tau**2, noise, unevenness, n, z)
    leading = max(0.2, 1 - z * z * unevenness / n)
    theta = np.linspace(0, 4, 400_001)

    def kept(t):
        # (T − θ)² ≤ z² (τ² + 4 R₁ θ/n + R₂ θ²/n), with the coefficient of θ² kept away from zero
        return leading * theta**2 - 2 * t * theta + t * t <= z * z * (tau**2 + 4 * noise * theta / n)

    inside = theta[kept(max(statistic, 0))]
    assert high == pytest.approx(inside.max(), abs=2e-5)
    assert low == pytest.approx(theta[kept(statistic)].min() if statistic > 0 else 0, abs=2e-5)


def test_the_lower_end_is_zero_when_zero_is_not_refuted():
    d = simulate.binary(300, seed=1)
    found = ece_interval(d.y_true, d.y_prob, seed=0)
    assert (found.includes_zero, found.low, found.low_closed, found.is_interval) == (True, 0.0, True, True)
    assert found.bins == "EqualMass(n=10): 10 bins"


def test_wrong_scores_are_refuted_and_the_truth_is_covered():
    d = simulate.binary(3000, distortion=simulate.Logit(slope=0.4), seed=1)
    for method in ("score", "analytic"):
        found = ece_interval(d.y_true, d.y_prob, method=method, seed=0)
        assert not found.includes_zero
        assert d.true_ece("l2") in found
        assert found.low < found.estimate < found.high


# ------------------------------------------------------------------------------------------------------ laws

METHODS = pytest.mark.parametrize("method", ["score", "analytic"])


@METHODS
@settings(max_examples=40)
@given(pairs=rows, cut=st.integers(0, 40), seed=st.integers(0, 99))
def test_a_tally_in_any_order_and_split_gives_the_same_bits(method, pairs, cut, seed):
    y, p = arrays(pairs)
    order = np.random.default_rng(seed).permutation(y.size)
    cut %= y.size
    merged = tn.tally(y[:cut], p[:cut]) + tn.tally(y[cut:], p[cut:])
    found = asked(y, p, bins=3, method=method, seed=seed)
    assert asked(merged, bins=3, method=method, seed=seed) == found
    assert asked(y[order], p[order], bins=3, method=method, seed=seed) == found


@METHODS
@settings(max_examples=40)
@given(data=weighted_rows())
def test_a_weight_is_so_many_rows(method, data):
    y, p, w = data
    times = w.astype(int)
    weighted = asked(y, p, sample_weight=w, bins=4, method=method, seed=1)
    repeated = asked(np.repeat(y, times), np.repeat(p, times), bins=4, method=method, seed=1)
    if repeated is None:
        assert weighted is None
        return
    assert (weighted.n, weighted.includes_zero, weighted.bins) == (repeated.n, repeated.includes_zero, repeated.bins)
    assert (weighted.estimate, weighted.low, weighted.high) == pytest.approx(
        (repeated.estimate, repeated.low, repeated.high), abs=1e-7
    )


@METHODS
def test_a_weight_is_so_many_rows_of_a_matrix(method):
    d = simulate.multiclass(80, 3, distortion=simulate.LabelNoise(0.9), seed=3)
    w = np.random.default_rng(0).integers(0, 3, 80)
    options = {"k": 2, "bins": 3, "method": method, "squared": True, "seed": 1}
    a = ece_interval(d.y_true, d.y_prob, sample_weight=w, **options)
    b = ece_interval(np.repeat(d.y_true, w), np.repeat(d.y_prob, w, axis=0), **options)
    assert (a.n, a.includes_zero, a.bins) == (b.n, b.includes_zero, b.bins)
    assert (a.estimate, a.low, a.high) == pytest.approx((b.estimate, b.low, b.high), abs=1e-12)


@METHODS
@settings(max_examples=40)
@given(pairs=rows)
def test_the_estimate_is_the_squared_error_and_lies_within(method, pairs):
    y, p = arrays(pairs)
    found = asked(y, p, bins=3, method=method, squared=True, seed=0)
    if found is None:
        return
    assert found.estimate == pytest.approx(tn.squared_ece(y, p, bins=3), abs=1e-12)
    assert found.low <= max(found.estimate, 0) + 1e-15
    assert max(found.estimate, 0) <= found.high + 1e-15
    rooted = ece_interval(y, p, bins=3, method=method, seed=0)
    assert rooted == found.root()


@METHODS
def test_the_confidence_of_two_classes_is_that_of_a_tally_of_confidences(method):
    d = simulate.multiclass(400, 2, distortion=simulate.Temperature(2), seed=2)
    tally = tn.tally(d.y_true, d.y_prob, kind="confidence")
    for k in (None, 1):
        assert ece_interval(d.y_true, d.y_prob, k=k, method=method, seed=4) == ece_interval(
            tally, method=method, seed=4
        )


def test_the_published_set_takes_bins():
    d = simulate.binary(500, distortion=simulate.Logit(slope=0.5), seed=2)
    binned = tn.binned(d.y_true, d.y_prob, bins=24)
    assert ece_interval(binned, method="analytic", bins=12) == ece_interval(
        d.y_true, d.y_prob, method="analytic", bins=12
    )


def test_the_same_seed_gives_the_same_set_and_a_generator_moves_on():
    d = simulate.multiclass(120, 3, seed=3)
    first = ece_interval(d.y_true, d.y_prob, k=3, seed=7)
    assert first == ece_interval(d.y_true, d.y_prob, k=3, seed=7)
    assert first == ece_interval(d.y_true, d.y_prob, k=3, seed=np.random.default_rng(7))


def test_a_higher_level_gives_a_larger_set():
    d = simulate.binary(400, distortion=simulate.Logit(slope=0.4), seed=2)
    for method in ("score", "analytic"):
        sets = [ece_interval(d.y_true, d.y_prob, method=method, level=level, seed=0) for level in (0.6, 0.8, 0.9, 0.99)]
        assert all(a.hull[0] >= b.hull[0] and a.high <= b.high for a, b in itertools.pairwise(sets))


def test_what_was_chosen_is_said():
    d = simulate.binary(1000, seed=1)
    assert ece_interval(d.y_true, d.y_prob, seed=0).bins == "EqualMass(n=16): 16 bins"
    assert ece_interval(d.y_true, d.y_prob, method="analytic").bins.startswith("EqualWidth(n=16)")
    e = simulate.multiclass(1000, 4, seed=1)
    assert ece_interval(e.y_true, e.y_prob, k=2, seed=0).bins.startswith("cubes, 10 cells per axis: ")
    assert ece_interval(e.y_true, e.y_prob, k=4, bins=3, seed=0).bins.startswith(
        "simplices of equal volume, 3 per edge"
    )


def test_a_score_of_one_counts():
    y, p = [0, 1, 1, 0], [1.0, 1.0, 1.0, 0.97]
    found = ece_interval(y, p, bins=20, method="analytic", squared=True)
    assert found.n == 4
    assert found.estimate == pytest.approx(tn.squared_ece(y, p, bins=20))


# -------------------------------------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0.5}, "`level` must lie strictly between 0.5 and 1; got 0.5"),
        ({"level": 1}, "`level` must lie"),
        ({"level": True}, "`level` must lie"),
        ({"method": "magic"}, "`method` must be"),
        ({"seed": -1}, "`seed` must be"),
        ({"seed": "a"}, "`seed` must be"),
        ({"squared": 1}, "`squared` must be True or False"),
        ({"support": "all"}, "`support` must be 'published' or 'reachable'"),
        ({"support": "reachable"}, "`support` is for `method='analytic'`"),
        ({"k": 2}, "`k` must be None or 1 for a vector"),
        ({"k": 1.0}, "`k` must be a whole number"),
        ({"bins": tn.Isotonic()}, "must not look at the labels"),
        ({"bins": tn.BlockIsotonic()}, "must not look at the labels"),
        ({"bins": tn.EqualMass(3), "method": "analytic"}, "cells of equal volume for `method='analytic'`"),
        ({"bins": tn.Edges([0, 0.5, 1]), "method": "analytic"}, "cells of equal volume"),
        ({"sample_weight": [0.5, 1, 1, 1]}, "must be whole numbers"),
        ({"sample_weight": [0.5, 1, 1, 1], "method": "analytic"}, "must be whole numbers"),
        ({"bins": 1000}, "No bin holds two rows"),
        ({"bins": 1000, "method": "analytic"}, "No bin holds two rows"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(tn.InputError, match=message):
        ece_interval([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.8], **options)


def test_other_views_of_a_matrix_are_refused():
    d = simulate.multiclass(30, 3, seed=0)
    for kind in ("classwise", "top-label"):
        with pytest.raises(tn.InputError, match="`kind` must be 'confidence'"):
            ece_interval(d.y_true, d.y_prob, kind=kind)
        with pytest.raises(tn.InputError, match="`kind` must be 'confidence'"):
            ece_interval(tn.tally(d.y_true, d.y_prob, kind=kind), method="analytic")


@pytest.mark.filterwarnings("error::trueness.TruenessWarning")
def test_rows_that_are_mostly_alone_are_a_warning():
    p = [0.01, 0.011, 0.3, 0.5, 0.7, 0.9]
    with pytest.warns(tn.FewRowsWarning, match="4 of 6 rows are alone in their bin"):
        ece_interval([0, 1, 0, 1, 0, 1], p, bins=6, seed=0)


def test_quantiles():
    assert upper_quantile(0.05) == pytest.approx(Z05)
    assert upper_quantile(1e-300) == pytest.approx(stats.norm.isf(1e-300))


@pytest.mark.parametrize("score", [1e-93, 1e-160, 1e-200, 5e-324])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_residuals_whose_squares_vanish_give_a_set_next_to_zero(score):
    found = tn.ece_interval([0, 0, 0, 0], [score] * 4, seed=0)
    assert found.includes_zero
    assert 0 <= found.low <= found.high < 1e-40


@pytest.mark.parametrize("squared", [False, True])
def test_no_error_is_larger_than_one(squared):
    assert ece_interval([0, 1], [0.4, 0.4], seed=0, squared=squared).high == 1


def test_a_level_that_no_number_of_draws_can_keep_is_refused():
    with pytest.raises(tn.InputError, match=r"`level` must be at most 0.9999 for `method='score'`.*got 0.9999999"):
        ece_interval([0, 1, 1, 0], [0.2, 0.4, 0.6, 0.3], level=0.9999999)
    assert ece_interval([0, 1, 1, 0], [0.2, 0.4, 0.6, 0.3], level=0.9999999, method="analytic", bins=2).level < 1


def test_small_numbers_are_printed_with_their_digits():
    y = [1] * 40 + [0] * 19_960
    printed = str(ece_interval(y, [0.004] * 20_000, squared=True, seed=0))
    assert "[2.27e-06, 6.61e-06]" in printed
    assert "0.0000" not in printed


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.1, 0.2, 0.5])
def test_zero_is_refuted_exactly_where_its_pvalue_says_so(shift):
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
