"""The bins behind the test-based calibration error."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from strategies import arrays, rows

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def record_of(y, p, bins, alpha=0.05, test="t", **options):
    """The record that a diagram of tested bins shows."""
    shown = tn.plot.TestReliabilityDisplay.from_predictions(
        y, p, bins=bins, alpha=alpha, test=test, **options
    )
    plt.close(shown.figure_)
    return shown.record


@settings(max_examples=6)
@given(pairs=rows)
@pytest.mark.parametrize("rule", [tn.BlockIsotonic(), tn.EqualWidth(4), tn.EqualMass(3)], ids=str)
def test_the_rejected_share_is_the_tce_and_empty_bins_are_left_out(rule, pairs):
    y, p = arrays(pairs)
    found = record_of(y, p, rule, test="binomial")
    assert found.tce == tn.tce(y, p, bins=rule)
    table = tn.bin_table(y, p, bins=rule)
    filled = table.n > 0
    assert found.n.tolist() == table.n[filled].tolist()
    assert found.rate.tolist() == table.rate[filled].tolist()
    assert found.low_edge.tolist() == table.low_edge[filled].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_t_tests_of_weighted_rows_with_equal_labels_reject_every_score_but_one(seed):
    """The effective number of events is that of rows, to the last bit."""
    y, p = np.repeat([0, 1], 9), np.repeat([1e-10, 1 - 1e-10], 9)
    w = np.random.default_rng(seed).random(18)
    assert tn.tce(y, p, sample_weight=w, bins=2, test="t") == pytest.approx(100)


LABELS = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, *[0] * 5]
SCORES = [0.0, *[0.3] * 8, 0.4, 0.9, 0.9, 0.9, 1.0, 1.0]  # bins=2: 3 events in 10 rows, 0 in 5


@pytest.mark.parametrize("alpha", [0, 0.05, 1])
def test_a_function_tests_as_the_named_test_does(alpha):
    def test(events, n, scores):
        return [stats.binomtest(events, n, p).pvalue for p in scores]

    rng = np.random.default_rng(3)
    p = rng.random(60).round(2)
    y = (rng.random(60) < p**2).astype(int)
    for options in (
        {"bins": 4},
        {},
        {"bins": 4, "norm": "l2"},
        {"bins": 4, "sample_weight": rng.integers(0, 3, 60)},
    ):
        assert tn.tce(y, p, test=test, alpha=alpha, **options) == tn.tce(
            y, p, alpha=alpha, **options
        )
    assert tn.gce(y, p, loss="rejection", test=test, alpha=alpha) == tn.gce(
        y, p, loss="rejection", alpha=alpha
    )

    def rejected(events, n, scores):
        return np.array(test(events, n, scores)) <= alpha

    assert tn.tce(y, p, bins=4, test=rejected, alpha=0.5) == tn.tce(y, p, bins=4, alpha=alpha)


@pytest.mark.parametrize(
    ("test", "refuted"),
    [
        ("binomial", 1 + 2),  # 0 where events happened, 1 where not all rows were events
        ("t", 0 + 5),  # labels that are all 0 have no variance, and none of their scores is 0
        ("t-variance-for-deviation", 0 + 5),
    ],
)
def test_levels_of_zero_and_one(test, refuted):
    assert tn.tce(LABELS, SCORES, bins=2, test=test, alpha=0) == pytest.approx(
        100 * refuted / 15, rel=1e-15
    )
    assert tn.tce(LABELS, SCORES, bins=2, test=test, alpha=1) == 100
    assert (
        tn.tce([0, 0], [0.0, 0.0], bins=2, test=test, alpha=1) == 100
    )  # a p-value of 1 is at most 1


def test_norms_of_the_percentages():
    each = np.array([10.0, 40.0])  # α = 0: 1 of 10 rows, 2 of 5
    weights = np.array([10, 5]) / 15
    for norm, value in {
        "l2": np.sqrt(weights @ each**2),
        "max": 40,
        3: (weights @ each**3) ** (1 / 3),
        np.dot: weights @ each,
        (lambda loss, _: np.linalg.norm(loss)): np.linalg.norm(each),
    }.items():
        options = {"bins": 2, "alpha": 0, "norm": norm}
        assert tn.tce(LABELS, SCORES, **options) == pytest.approx(value, rel=1e-12)
        assert tn.gce(LABELS, SCORES, loss="rejection", **options) == pytest.approx(
            value, rel=1e-12
        )
    gaps = [abs(0.3 - np.mean(SCORES[:10])), np.mean(SCORES[10:])]
    assert tn.gce(
        LABELS, SCORES, bins=[0, 0.5, 0.8, 1], norm=lambda loss, _: loss.sum()
    ) == pytest.approx(sum(gaps), rel=1e-12)


def test_blocks_without_a_least_size():
    """Algorithm 2 with N_min = 0 by hand: rows pool while rates fall, up to n_max, and none is kept back."""
    y, p = [1, 0, 0, 1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    for n_max, sizes in {7: [3, 4], 3: [3, 2, 2], 2: [2, 1, 2, 2], 1: [1] * 7}.items():
        assert tn.bin_table(y, p, bins=tn.BlockIsotonic(0, n_max, fuse=False)).n.tolist() == sizes
    apart = tn.BlockIsotonic(0, fuse=False)
    assert tn.bin_table(y, p, bins=apart).n.tolist() == [1] * 7  # ⌊7/5⌋ rows at most
    assert tn.bin_table(y, p, bins=tn.BlockIsotonic(0)).n.tolist() == [
        1,
        2,
        1,
        1,
        1,
        1,
    ]  # two zeros are one bin
    assert tn.bin_table([1], [0.5], bins=tn.BlockIsotonic(0)).n.tolist() == [1]


def rows_with_gaps(seed, n=240):
    """Scores with two decimals in [0, 0.4) and [0.75, 1], labels that contradict some of them, and weights 1 to 3."""
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.integers(0, 40, n // 2), rng.integers(75, 101, n - n // 2)]) / 100
    return (rng.random(n) < 0.15 + 0.5 * p).astype(int), p, rng.integers(1, 4, n)


def test_each_bin_of_the_record_has_the_sums_of_its_rows():
    y, p, w = rows_with_gaps(1)
    edges = np.arange(6) / 5
    found = record_of(y, p, 5, 0.2, "binomial", sample_weight=w)
    filled = [b for b in range(5) if ((p >= edges[b]) & (p < edges[b + 1])).any()]
    assert filled == [0, 1, 3, 4]
    assert found.low_edge.tolist() == [edges[b] for b in filled]
    assert found.high_edge.tolist() == [edges[b + 1] for b in filled]
    total = 0
    for row, b in enumerate(filled):
        here = (p >= edges[b]) & ((p < edges[b + 1]) | (b == 4))
        events, n = int(w[here] @ y[here]), int(w[here].sum())
        rejected = np.array([stats.binomtest(events, n, score).pvalue <= 0.2 for score in p[here]])
        assert found.n[row] == here.sum()
        assert found.weight[row] == n
        assert found.rejected[row] == w[here][rejected].sum()
        assert found.rate[row] == pytest.approx(events / n, rel=1e-14)
        assert found.score[row] == pytest.approx(np.average(p[here], weights=w[here]), rel=1e-14)
        total += w[here][rejected].sum()
    assert 0 < total < w.sum()
    assert found.tce == pytest.approx(100 * total / w.sum(), rel=1e-14)
    assert (found.alpha, found.test, found.bins) == (0.2, "binomial", "EqualWidth(n=5)")


def reflected_density(score, weight):
    """64 bars from the smallest to the largest score; each smooths to both sides and is reflected at both ends."""
    low, high = score.min(), score.max()
    bars, edges = np.histogram((score - low) / (high - low), bins=64, range=(0, 1), weights=weight)
    at = (edges[1:] + edges[:-1]) / 2
    mean = np.average(at, weights=bars)
    deviation = np.sqrt(np.average((at - mean) ** 2, weights=bars))
    rows = max(weight.sum(), 1)
    width = max(0.9 * deviation / rows ** (1 / 5), 1 / 64)
    density = np.zeros(64)
    for bar, place in zip(bars, at, strict=True):
        for centre in (place, -place, 2 - place):
            density += bar * stats.norm.pdf(at, centre, width)
    return low + at * (high - low), density / density.max()


@pytest.mark.parametrize("scale", [1, 1.5 / 120, 0.4 / 120])
def test_the_density_of_a_bin_is_a_kernel_mean_reflected_at_both_ends(scale):
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.beta(2, 5, 60) * 0.5, 0.5 + 0.4 * rng.beta(0.7, 0.7, 60)])
    w = rng.uniform(0.5, 1.5, 120) * scale
    found = record_of(rng.integers(0, 2, 120), p, 2, sample_weight=w)
    assert found.places.shape == found.density.shape == (2, 64)
    for b, here in enumerate((p < 0.5, p >= 0.5)):
        places, density = reflected_density(p[here], w[here])
        assert found.places[b] == pytest.approx(places, abs=1e-12)
        assert found.density[b] == pytest.approx(density, abs=1e-9)


def test_a_narrow_peak_is_never_narrower_than_a_bar():
    p = np.concatenate([np.full(5000, 0.2), [0.4]])
    found = record_of(np.arange(5001) % 2, p, 1)
    density = reflected_density(p, np.ones(5001))[1]
    assert found.density[0] == pytest.approx(density, abs=1e-9)
    assert density[1] == pytest.approx(
        np.exp(-0.5) * (1 + np.exp(-1.5)) / (1 + np.exp(-0.5)), rel=1e-3
    )


@pytest.mark.parametrize(("apart", "flat"), [(1e-13, True), (1e-9, False)])
def test_scores_of_a_bin_that_all_but_agree_have_one_place(apart, flat):
    found = record_of([0, 1], [0.3, 0.3 + apart], 1)
    assert (np.ptp(found.places[0]) == 0) == flat
    assert (set(found.density[0]) == {1.0}) == flat


def test_a_record_names_the_test_that_was_used():
    def all_one(events, n, scores):
        return np.ones(scores.size)

    assert [record_of([0, 1], [0.2, 0.9], 2, test=test).test for test in ("t", all_one)] == [
        "t",
        "all_one",
    ]


def t_pvalues(events, n, scores):
    """Student's t test of a mean of n labels, with n − 1 in the variance."""
    rate = events / n
    error = np.sqrt(rate * (1 - rate) / (n - 1))
    return 2 * stats.t.sf(np.abs(rate - scores) / error, n - 1)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_t_test_of_weighted_rows_has_their_effective_number(alpha, norm):
    y, p, w = rows_with_gaps(4)
    w = w + np.random.default_rng(4).random(w.size)
    bins = (p * 4).astype(int).clip(0, 3)
    percentages, weights = [], []
    for b in np.unique(bins):
        here = bins == b
        n = w[here].sum() ** 2 / (w[here] ** 2).sum()
        rejected = t_pvalues(n * np.average(y[here], weights=w[here]), n, p[here]) <= alpha
        percentages.append(100 * w[here][rejected].sum() / w[here].sum())
        weights.append(w[here].sum())
    expected = np.average(np.power(percentages, 1 if norm == "l1" else 2), weights=weights) ** (
        1 if norm == "l1" else 0.5
    )
    assert 0 < expected < 100
    for test in ("t", t_pvalues):
        found = tn.tce(y, p, sample_weight=w, bins=4, alpha=alpha, norm=norm, test=test)
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_t_test_of_the_published_code_takes_the_variance_for_the_deviation():
    y, p, _ = rows_with_gaps(5)
    rejected = 0
    for b in range(4):
        here = (p >= b / 4) & ((p < (b + 1) / 4) | (b == 3))
        n = here.sum()
        if n:
            rate = y[here].mean()
            variance = rate * (1 - rate) * n / (n - 1)
            t = np.abs(rate - p[here]) / (variance / np.sqrt(n))
            rejected += (2 * stats.t.sf(t, n - 1) <= 0.05).sum()
    assert tn.tce(y, p, bins=4, test="t-variance-for-deviation") == pytest.approx(
        100 * rejected / y.size, rel=1e-14
    )
    assert tn.tce(y, p, bins=4, test="t-variance-for-deviation") != tn.tce(y, p, bins=4, test="t")


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_parts_of_unlike_weights_are_tested_each_by_itself(norm):
    """Whole weights, which count rows, where class 0 was predicted; others where class 1 or 2 was."""
    rng = np.random.default_rng(6)
    P = rng.dirichlet([1, 1, 1], 300)
    y, top = rng.integers(0, 3, 300), P.argmax(axis=1)
    y = np.where(rng.random(300) < 0.35, top, y)
    w = np.where(top == 0, rng.choice([1, 9], 300), rng.uniform(0.5, 2, 300))
    options = {"bins": 3, "test": "t", "norm": norm}
    each = [
        tn.tce(y[top == k] == k, P[top == k].max(axis=1), sample_weight=w[top == k], **options)
        for k in range(3)
    ]
    shares = [w[top == k].sum() for k in range(3)]
    found = tn.tce(y, P, kind="top-label", sample_weight=w, **options)
    assert found == pytest.approx(np.average(each, weights=shares), rel=1e-12)
    assert len({round(x, 6) for x in each}) == 3
    zero = top == 0
    effective = tn.tce(
        y[zero] == 0, P[zero].max(axis=1), sample_weight=w[zero] * (1 + 1e-9), **options
    )
    assert effective < each[0] - 10


@pytest.mark.parametrize("p_value", [0.0, 1.0])
def test_p_values_of_exactly_0_and_1_are_taken(p_value):
    def test(events, n, scores):
        return np.full(scores.size, p_value)

    assert tn.tce([0, 1, 1], [0.2, 0.4, 0.9], bins=2, test=test, alpha=0.05) == 100 * (p_value == 0)
    assert (
        tn.tce([0, 1, 1], [0.2, 0.4, 0.9], bins=2, test=test, alpha=p_value) == 100
    )  # rejected at its own level


def test_whole_numbers_are_rejections_and_floats_of_0_and_1_are_not_guessed():
    y, p = [0, 1, 0, 1, 1, 1, 1, 1], [0.1, 0.2, 0.2, 0.5, 0.9, 0.9, 0.95, 0.99]
    for call in (tn.tce, partial(tn.gce, loss="rejection")):
        for kind in (bool, int, np.uint8):
            assert (
                call(
                    y,
                    p,
                    bins=2,
                    test=lambda events, n, scores, kind=kind: (scores > 0.3).astype(kind),
                )
                == 62.5
            )
        with pytest.raises(
            tn.InputError, match=r"it returned 0\.0 and 1\.0 only, which may be either"
        ):
            call(y, p, bins=2, test=lambda events, n, scores: (scores > 0.3).astype(float))
        with pytest.raises(
            tn.InputError, match=r"p-values, as floats, or rejections, .* returned both"
        ):
            call(
                y,
                p,
                bins=2,
                test=lambda events, n, scores: (scores > 0.3).astype(int if n > 3 else float),
            )


def test_a_t_test_of_one_row_refutes_no_score():
    """One label has no variance, but no degree of freedom either."""
    assert tn.tce([1], [0.4], bins=1, test="t", alpha=0) == 0
    assert tn.tce([1, 1], [0.4, 0.4], bins=1, test="t", alpha=0) == 100
    assert tn.tce([1, 1], [1.0, 1.0], bins=1, test="t", alpha=0) == 0


def test_the_binomial_test_needs_whole_weights_and_the_others_do_not():
    rows = ([0, 1, 1], [0.2, 0.4, 0.9])
    with pytest.raises(
        tn.InputError, match=r"must be whole numbers .* for the binomial test.*`test='t'`"
    ):
        tn.tce(*rows, bins=2, sample_weight=[0.5, 1, 1])
    with pytest.raises(tn.InputError, match=r"must be whole numbers .* for the binomial test"):
        tn.gce(*rows, bins=2, loss="rejection", sample_weight=[0.5, 1, 1])
    for test in ("t", "t-variance-for-deviation", lambda k, n, p: np.ones(p.size)):
        assert 0 <= tn.tce(*rows, bins=2, sample_weight=[0.5, 1, 1], test=test) <= 100
    assert tn.tce(*rows, bins=2, sample_weight=[2, 1, 1]) == tn.tce(
        [0, 0, 1, 1], [0.2, 0.2, 0.4, 0.9], bins=2
    )


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_at_level_0_a_score_of_0_or_1_is_refuted_by_the_other_label_only():
    for label, score, expected in (
        (1, 1.0, 0.0),
        (0, 0.0, 0.0),
        (0, 1.0, 100.0),
        (1, 0.0, 100.0),
        (1, 0.5, 0.0),
    ):
        assert tn.tce([label] * 4, [score] * 4, bins=1, alpha=0) == expected
