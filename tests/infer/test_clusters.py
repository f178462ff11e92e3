"""Rows in clusters: intervals and tests that do not take them for independent."""

import itertools
import math
import warnings
from functools import partial

import numpy as np
import omnibus_transcription as slow
import pytest
from scipy.special import betaincinv, expit, logit, ndtr

import trueness as tn
from trueness import calibration_test, ece_interval

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.FewClustersWarning", "ignore::trueness.errors.OneClassWarning"
)
METHODS = ("omnibus", "exact", "ks", "kuiper", "spiegelhalter")
LAWS = {"uniform": (1, 1), "near 1": (12, 0.25), "rare": (0.3, 20)}


def draw(
    rng, clusters, *, law="uniform", alike=0.5, shared=0.5, slope=1.0, shift=0.0, most=10, large=0.0
):
    """Clusters of 1 to `most` rows; labels and scores of a cluster go together, by normal numbers that they share.

    The first cluster has the share `large` of the rows, if that is said. The score of a row has the given law and its
    label the probability expit(slope · logit p + shift), whatever the other rows are.
    """
    sizes = rng.integers(1, most + 1, clusters)
    if large:
        sizes[0] = round(large / (1 - large) * sizes[1:].sum())
    cluster = np.repeat(np.arange(clusters), sizes)

    def uniform(share):
        own = rng.normal(size=cluster.size)
        return ndtr(
            math.sqrt(share) * rng.normal(size=clusters)[cluster] + math.sqrt(1 - share) * own
        )

    p = betaincinv(*LAWS[law], uniform(shared)).clip(1e-9, 1 - 1e-9)
    y = (uniform(alike) < expit(slope * logit(p) + shift)).astype(int)
    return y, p, cluster


def by_pairs(u, cluster, bin_of):
    """T as a double sum over rows of one bin and different clusters."""
    total = 0.0
    for b in np.unique(bin_of):
        rows = np.flatnonzero(bin_of == b)
        products = [u[i] * u[j] for i in rows for j in rows if cluster[i] != cluster[j]]
        total += rows.size * np.mean(products) if products else 0.0
    return total / u.size


def ask_all(y, p, cluster, **options):
    """What every method says."""
    found = ece_interval(y, p, cluster=cluster, seed=3, squared=True, **options)
    tests = [
        calibration_test(y, p, method=m, cluster=cluster, resamples=49, seed=3, **options)
        for m in METHODS
    ]
    return [found.estimate, found.low, found.high], [
        (test.statistic, test.pvalue) for test in tests
    ]


def test_the_estimate_is_the_mean_over_pairs_of_different_clusters():
    for seed in range(3):
        y, p, cluster = draw(np.random.default_rng(seed), 12, most=6)
        expected = by_pairs(y - p, cluster, np.minimum((p * 4).astype(int), 3))
        found = ece_interval(y, p, cluster=cluster, bins=4, squared=True)
        assert (found.estimate, found.n) == (pytest.approx(expected, abs=1e-14), y.size)
        found = calibration_test(y, p, method="exact", cluster=cluster, bins=4)
        assert found.statistic == pytest.approx(expected, abs=1e-14)
    # u = .5, .5 against −.5: all pairs of different clusters have the product −1/4.
    found = ece_interval(
        [1, 1, 0], [0.5] * 3, cluster=["a", "a", "b"], bins=1, squared=True, seed=0
    )
    assert found.estimate == pytest.approx(-0.25)
    assert found.includes_zero


def test_neither_row_order_nor_names_change_anything():
    rng = np.random.default_rng(1)
    y, p, cluster = draw(rng, 41, slope=0.5)
    p[:20] = np.where(np.arange(20) % 2, 0.0, p[:20])
    y[:20] = 0
    expected, order = ask_all(y, p, cluster), rng.permutation(y.size)
    assert ask_all(y[order], p[order], cluster[order]) == expected
    objects = np.array([(int(i), "x") for i in cluster] + [None], dtype=object)[:-1]
    for named in (
        -3 * cluster,
        np.array([f"p{(7 * i) % 41}" for i in cluster]),
        list(cluster),
        objects,
    ):
        assert ask_all(y, p, named) == expected
    assert ask_all(y, np.where(p == 0, -0.0, p), cluster) == expected


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_that_differ_in_labels_or_weights_only_are_told_apart_by_them(weighted):
    p = np.tile([0.2, 0.7], 30)
    y = np.random.default_rng(0).integers(0, 2, 60) if not weighted else np.tile([0, 1], 30)
    how = (
        {"sample_weight": np.random.default_rng(1).uniform(0.5, 3, 60), "weight_type": "importance"}
        if weighted
        else {}
    )
    names = np.arange(30)
    found = [
        ece_interval(y, p, cluster=np.repeat(some, 2), bins=2, level=0.6, seed=0, **how)
        for some in (names, names[::-1], np.random.default_rng(2).permutation(30))
    ]
    assert found[0] == found[1] == found[2]


def test_a_weight_of_two_is_the_row_twice_in_its_cluster():
    rng = np.random.default_rng(2)
    y, p, cluster = draw(rng, 30, most=4)
    w = rng.integers(0, 3, y.size)
    at = np.repeat(np.arange(y.size), w)
    assert ask_all(y, p, cluster, sample_weight=w, weight_type="frequency") == ask_all(
        y[at], p[at], cluster[at]
    )


def test_the_largest_score_of_a_matrix_has_clusters_too():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1, 1, 1], 200)
    y, cluster = np.array([rng.choice(3, p=row) for row in p]), rng.integers(0, 50, 200)
    assert ask_all(y, p, cluster) == ask_all(
        (p.argmax(axis=1) == y).astype(int), p.max(axis=1), cluster
    )


def test_copies_of_a_row_in_its_cluster_add_no_evidence():
    """Every row six times: the result is that of the row once."""
    rng = np.random.default_rng(3)
    p = rng.random(100)
    y = (rng.random(100) < p).astype(int)
    cluster = np.tile(np.arange(100), 6)
    once = ece_interval(y, p, cluster=np.arange(100), bins=5, squared=True, seed=0)
    copies = ece_interval(
        np.tile(y, 6), np.tile(p, 6), cluster=cluster, bins=5, squared=True, seed=0
    )
    assert copies.estimate == pytest.approx(once.estimate, abs=1e-12)
    assert copies.high == pytest.approx(once.high, rel=0.05)
    for method in METHODS:
        bins = {"bins": 5} if method == "exact" else {}
        alone = calibration_test(y, p, method=method, cluster=np.arange(100), seed=0, **bins)
        found = calibration_test(
            np.tile(y, 6), np.tile(p, 6), method=method, cluster=cluster, seed=0, **bins
        )
        assert found.pvalue > alone.pvalue - 0.06


def path_of(p, u):
    """Cumulated residuals after each distinct score, from 0."""
    return np.array([0.0, *(u[p <= score].sum() for score in np.unique(p))]) / p.size


STATISTICS = {
    "ks": lambda p, u, _: np.abs(path_of(p, u)).max(),
    "kuiper": lambda p, u, _: np.ptp(path_of(p, u)),
    "spiegelhalter": lambda p, u, _: abs(((1 - 2 * p) * u).sum()),
    "exact": lambda p, u, cluster: by_pairs(u, cluster, p >= 0.5),
}


@pytest.mark.parametrize("method", STATISTICS)
@pytest.mark.parametrize("labels", [[1, 1, 0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 1, 0, 0]])
def test_the_pvalue_is_the_larger_share_of_all_signs_and_of_all_labels(method, labels):
    p = np.array([0.2, 0.2, 0.3, 0.35, 0.45, 0.6, 0.6, 0.85])
    y, cluster = np.array(labels), np.array([0, 1, 2, 0, 3, 1, 4, 2])
    statistic, bins = STATISTICS[method], {"bins": 2} if method == "exact" else {}
    observed = statistic(p, y - p, cluster) - 1e-9
    signs = np.array(list(itertools.product([-1, 1], repeat=5)))
    by_signs = np.mean(
        [statistic(p, (y - p) * sign[cluster], cluster) >= observed for sign in signs]
    )
    every = np.array(list(itertools.product([0, 1], repeat=8)))
    chance = np.where(every == 1, p, 1 - p).prod(axis=1)
    by_labels = chance @ [statistic(p, one - p, cluster) >= observed for one in every]
    found = calibration_test(y, p, method=method, cluster=cluster, resamples=3_999, seed=0, **bins)
    assert found.pvalue == pytest.approx(max(by_signs, by_labels), abs=0.035)
    if method != "exact":
        plain = calibration_test(y, p, method=method).statistic
        assert found.statistic == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("digits", [1, 6])
def test_the_omnibus_of_clusters_is_the_larger_of_two(digits):
    """Labels of independent rows, and signs of clusters, by the transcription with other draws."""
    rng, draws = np.random.default_rng(3), 1_999
    y, p, cluster = draw(rng, 40, most=5, slope=0.75)
    p = p.round(digits).clip(0.05, 0.95)
    found = calibration_test(y, p, cluster=cluster, resamples=draws, seed=0)
    labels = np.column_stack([y, rng.random((p.size, draws)) < p[:, None]]).astype(float)
    signs = np.column_stack([np.ones(40), rng.choice([-1.0, 1.0], (40, draws))])
    both = [slow.answers(slow.values(labels, p), p.mean())]
    both.append(
        slow.answers(slow.values((y - p)[:, None] * signs[cluster], p, symmetric=True), p.mean())
    )
    for name in slow.NAMES:
        assert found.alone[name] == pytest.approx(
            max(alone[name] for _, alone, _ in both), abs=0.07
        ), name
    assert found.pvalue == pytest.approx(max(pvalue for pvalue, _, _ in both), abs=0.07)
    assert found.too_good == pytest.approx(max(too_good for _, _, too_good in both), abs=0.07)


def test_the_z_of_clusters_may_be_infinite():
    ask = partial(
        calibration_test, method="spiegelhalter", resamples=19, seed=0, cluster=[0, 0, 1, 1]
    )
    assert (
        ask([1, 0, 1, 1], [0.5] * 4).statistic
        == ask([1, 0, 1, 1], [1.0, 0.0, 1.0, 1.0]).statistic
        == 0
    )
    assert ask([1, 0, 1, 0], [1.0, 0.0, 1.0, 1.0]).statistic == math.inf


def test_scores_of_0_and_1_leave_nothing_to_chance():
    for method in METHODS:
        ask = {"method": method, "cluster": [0, 0, 1, 2], "seed": 0, "resamples": 19}
        ask |= {"bins": 1} if method == "exact" else {}
        assert calibration_test([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], **ask).pvalue == 1
        contradicted = calibration_test([0, 1, 1, 1], [0.0, 1.0, 1.0, 0.0], **ask)
        assert contradicted.pvalue == (0 if method == "omnibus" else 0.05)


def test_gross_errors_are_rejected_and_assumptions_say_what_clusters_mean():
    y, p, cluster = draw(np.random.default_rng(6), 200, shift=-1.5)
    found = ece_interval(y, p, cluster=cluster, seed=0)
    assert not found.includes_zero
    assert found.low < math.sqrt(truth("uniform", 1, -1.5)) < found.high
    for method in METHODS:
        test = calibration_test(y, p, method=method, cluster=cluster, seed=0)
        assert test.pvalue <= 0.001 or method == "spiegelhalter"
        assert test.smallest_pvalue == 0.001
        assert "Clusters are independent" in test.assumptions
        assert "many clusters and is not exact for few (200 here): 999 times" in test.assumptions
        few = calibration_test(
            y, p, method=method, cluster=cluster, seed=0, resamples=9
        ).assumptions
        assert ": 9 times" in few


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([5] * 19, "19 clusters, worth 19.0 of equal size. Below 20"),
        ([60] + [1] * 60, r"61 clusters, worth 3\.9"),
        ([3] * 20, None),
    ],
)
def test_few_clusters_or_a_large_one_are_warned_of(sizes, words):
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    p = rng.random(cluster.size)
    y = (rng.random(p.size) < p).astype(int)
    for ask in (ece_interval, calibration_test):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ask(y, p, cluster=cluster)
        assert [w.category for w in said] == (
            [] if words is None else [tn.errors.FewClustersWarning]
        )
        if words is not None:
            with pytest.warns(tn.errors.FewClustersWarning, match=words):
                ask(y, p, cluster=cluster)


def test_rows_without_a_cluster_are_dropped_on_request():
    y, p, cluster = draw(np.random.default_rng(9), 30)
    names = cluster.astype(float)
    names[:3] = np.nan
    with pytest.warns(
        tn.errors.DroppedRowsWarning, match="3 of .* rows have a missing value and were dropped"
    ):
        found = ece_interval(y, p, cluster=names, missing="drop", seed=0)
    assert found == ece_interval(y[3:], p[3:], cluster=cluster[3:], seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"cluster": [0, 0, 0, 0]},
            "`cluster` must name at least 2 clusters; all 4 rows are in one",
        ),
        ({"cluster": [0, 1, 2]}, r"`cluster` must have one entry per row \(4\); got shape \(3,\)"),
        ({"cluster": [0.0, 1.0, np.nan, 1.0]}, "`cluster` must not have missing values"),
        ({"cluster": [0, 1, 0, 1], "bins": 2}, "No bin holds rows of two clusters"),
        ({"kind": "top-label"}, "`kind` must be 'confidence' for|needs a matrix"),
        ({"y_prob": None}, "`y_prob` is missing"),
        ({"y_prob": [0.2, 0.8, 0.3, 1.6]}, r"`y_prob` must lie in \[0, 1\]"),
        ({"bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        (
            {"y_true": tn.tally([0, 1], [0.2, 0.3]), "y_prob": None},
            "`cluster` needs labels and scores; a Tally holds",
        ),
    ],
)
def test_what_clusters_refuse(options, message):
    asked = {
        "y_true": [0, 1, 0, 1],
        "y_prob": [0.2, 0.8, 0.3, 0.6],
        "cluster": [0, 0, 1, 1],
    } | options
    y, p = asked.pop("y_true"), asked.pop("y_prob")
    for ask in (ece_interval, partial(calibration_test, method="exact")):
        with pytest.raises(tn.InputError, match=message):
            ask(y, p, **asked)


def test_the_interval_takes_sampling_weights_of_clusters_and_the_exact_test_does_not():
    y, p, w = [0, 1, 0, 1] * 6, [0.2, 0.8, 0.3, 0.6] * 6, [0.5, 1, 1, 1] * 6
    cluster = np.arange(24) // 2
    with pytest.warns(tn.errors.FewClustersWarning):
        found = ece_interval(y, p, sample_weight=w, cluster=cluster, bins=1)
    assert "sampling weights" in found.note
    with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers"):
        calibration_test(y, p, sample_weight=w, cluster=np.arange(24), method="exact")


def test_other_methods_name_those_that_take_clusters():
    for method in ("analytic", "bootstrap", "hulc", "subsampling"):
        with pytest.raises(
            tn.InputError, match=f"`cluster` is only accepted by `method='score'`; '{method}' needs"
        ):
            ece_interval([0, 1], [0.2, 0.8], cluster=[0, 1], method=method)
    with pytest.raises(tn.InputError, match="`k` must be 1; got 2"):
        ece_interval([0, 1], np.full((2, 3), 1 / 3), cluster=[0, 1], k=2)
    takers = "'omnibus', 'exact', 'ks', 'kuiper' or 'spiegelhalter'"
    for method in ("analytic", "t-cal", "adaptive-t-cal", "cox", "hosmer-lemeshow"):
        with pytest.raises(
            tn.InputError,
            match=f"`cluster` is only accepted by {takers}; `method='{method}'` needs",
        ):
            calibration_test([0, 1], [0.2, 0.8], cluster=[0, 1], method=method)


# ---- level and coverage


def truth(law, slope, shift):
    """The squared error, over quantiles of the scores."""
    p = betaincinv(*LAWS[law], (np.arange(100_000) + 0.5) / 100_000).clip(1e-9, 1 - 1e-9)
    return float(np.mean((expit(slope * logit(p) + shift) - p) ** 2))


def slack(alpha, runs, deviations=4.0):
    """What a share of `runs` may differ from `alpha` by chance."""
    return deviations * math.sqrt(alpha * (1 - alpha) / runs) + 1 / runs


def pvalues(method, runs, *, cluster=True, seed=0, clusters=100, **how):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        y, p, c = draw(rng, clusters, **how)
        given = {"cluster": c} if cluster else {}
        found.append(calibration_test(y, p, method=method, resamples=99, seed=rng, **given).pvalue)
    return np.array(found)


def coverage(
    runs, *, law="uniform", slope=1.0, shift=0.0, clusters=100, cluster=True, seed=0, **how
):
    """Share of sets that hold the truth."""
    target = 0.0 if (slope, shift) == (1, 0) else truth(law, slope, shift)
    rng, held = np.random.default_rng(seed), 0
    for _ in range(runs):
        y, p, c = draw(rng, clusters, law=law, slope=slope, shift=shift, **how)
        given = {"cluster": c} if cluster else {}
        held += target in ece_interval(y, p, level=0.9, squared=True, seed=rng, **given)
    return held / runs


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "rare"])
@pytest.mark.parametrize("method", METHODS)
def test_signs_keep_the_level_and_rows_taken_for_independent_do_not(method, law):
    found = pvalues(method, 400, law=law, seed=11)
    for alpha in (0.1, 0.05, 0.01):
        assert np.mean(found <= alpha) <= alpha + slack(alpha, 400), alpha
    assert np.mean(pvalues(method, 400, law=law, seed=11, cluster=False) <= 0.05) > 0.07


@pytest.mark.slow
@pytest.mark.parametrize(("alike", "shared"), [(0.5, 0.5), (0.8, 0.0)])
@pytest.mark.parametrize(("slope", "shift"), [(1, 0), (1, 0.3), (0.5, 0), (1, 0.8), (1, -1.5)])
@pytest.mark.parametrize("law", LAWS)
def test_the_set_covers(law, slope, shift, alike, shared):
    held = coverage(150, law=law, slope=slope, shift=shift, alike=alike, shared=shared, seed=12)
    assert held >= 0.87 - slack(0.87, 150, 3.5)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "large"), [(10, 0.0), (30, 0.0), (80, 0.2), (80, 0.5)])
@pytest.mark.parametrize("method", METHODS)
def test_few_clusters_or_a_large_one_keep_the_level_of_uniform_scores(method, clusters, large):
    found = pvalues(method, 250, clusters=clusters, large=large, seed=14)
    for alpha in (0.1, 0.05):
        assert np.mean(found <= alpha) <= 1.2 * alpha + slack(alpha, 250, 3.5), alpha
    if large == 0.5:  # what the warning speaks of
        rare = pvalues(method, 250, law="rare", alike=0.9, clusters=80, large=0.5, seed=15)
        assert 0.1 < np.mean(rare <= 0.1) < 0.35


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "large", "least"), [(10, 0.0, 0.85), (30, 0.0, 0.85), (80, 0.5, 0.8)]
)
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_the_set_covers_with_few_clusters_and_less_with_a_large_one(clusters, large, least, shift):
    held = coverage(200, clusters=clusters, large=large, shift=shift, seed=16)
    assert held >= least - slack(least, 200, 3)


ASKED_OF_CLUSTERS = {
    "estimate": partial(tn.estimate, "brier"),
    "observed_expected": partial(tn.estimate, "observed_expected"),
    "net_benefit": partial(tn.net_benefit, thresholds=[0.2, 0.5]),
    "decide": partial(tn.decide, cost_fp=1, cost_fn=3),
    "prior_shift": tn.prior_shift,
    "curve_band": tn.curve_band,
    "accept_threshold": partial(tn.accept_threshold, accuracy=0.3),
    "risk_coverage": tn.risk_coverage,
}


@pytest.mark.parametrize("ask", ASKED_OF_CLUSTERS.values(), ids=ASKED_OF_CLUSTERS)
def test_a_cluster_without_weight_is_no_cluster(ask):
    rng = np.random.default_rng(3)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    cluster = np.repeat(np.arange(24), 5)
    weight = rng.integers(1, 3, 120) * (cluster < 21)
    counts = {"weight_type": "frequency"}
    some = cluster < 21
    with_zeros = ask(y, p, cluster=cluster, sample_weight=weight, **counts)
    without = ask(y[some], p[some], cluster=cluster[some], sample_weight=weight[some], **counts)
    assert str(with_zeros) == str(without)
    with pytest.raises(tn.InputError, match="must name at least 2 clusters"):
        ask(y, p, cluster=cluster, sample_weight=weight * (cluster == 0), **counts)


def test_segments_of_rows_in_a_cluster_without_weight_are_those_of_the_other_rows():
    """The column of segments has all rows of the input, also those that are left out."""
    rng = np.random.default_rng(0)
    cluster = np.arange(200) // 4
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    group = rng.integers(0, 3, 200)
    w = np.where(cluster < 5, 0, rng.integers(1, 3, 200))
    some = w > 0
    kept = tn.segments(y[some], p[some], group[some], cluster=cluster[some], sample_weight=w[some])
    found = tn.segments(y, p, group, cluster=cluster, sample_weight=w)
    assert found.value == kept.value
    assert np.array_equal(found.adjusted_pvalue, kept.adjusted_pvalue)
