"""Rows in clusters: intervals and tests that do not take them for independent."""

import itertools
import math
import re
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.special import betaincinv, expit, logit, ndtr

import trueness as tn
from trueness.infer import calibration_test, ece_interval
from trueness.infer._clustered_rows import clustered_rows, effective_number
from trueness.infer.interval._residuals import residuals_in
from trueness.infer.interval._score_interval import label_variance, sign_variance
from trueness.infer.test._clustered_tests import CLUSTERED_TESTS, ClusterStatistic, pair_statistic, wild_pvalue

pytestmark = pytest.mark.filterwarnings("ignore::trueness.FewClustersWarning")
METHODS = tuple(CLUSTERED_TESTS)
LAWS = {"uniform": (1, 1), "near 1": (12, 0.25), "rare": (0.3, 20)}


def draw(rng, clusters, *, law="uniform", alike=0.5, shared=0.5, slope=1.0, shift=0.0, most=10, large=0.0):
    """Clusters of 1 to `most` rows; labels and scores of a cluster go together, by normal numbers that they share.

    The first cluster has the share `large` of the rows, if that is said.

    The score of a row has the given law and its label the probability expit(slope · logit p + shift), whatever the
    other rows are.
    """
    sizes = rng.integers(1, most + 1, clusters)
    if large:
        sizes[0] = round(large / (1 - large) * sizes[1:].sum())
    cluster = np.repeat(np.arange(clusters), sizes)

    def uniform(share):
        own = rng.normal(size=cluster.size)
        return ndtr(math.sqrt(share) * rng.normal(size=clusters)[cluster] + math.sqrt(1 - share) * own)

    p = betaincinv(*LAWS[law], uniform(shared)).clip(1e-9, 1 - 1e-9)
    y = (uniform(alike) < expit(slope * logit(p) + shift)).astype(int)
    return y, p, cluster


def truth(law, slope, shift):
    """The squared error, over quantiles of the scores."""
    p = betaincinv(*LAWS[law], (np.arange(100_000) + 0.5) / 100_000).clip(1e-9, 1 - 1e-9)
    return float(np.mean((expit(slope * logit(p) + shift) - p) ** 2))


def by_pairs(y, p, cluster, bin_of):
    """T as a double sum over rows of one bin and different clusters."""
    u, total = y - p, 0.0
    for b in np.unique(bin_of):
        rows = np.flatnonzero(bin_of == b)
        products = [u[i] * u[j] for i in rows for j in rows if cluster[i] != cluster[j]]
        total += rows.size * np.mean(products) if products else 0.0
    return total / y.size


def ask_all(y, p, cluster, **options):
    """What every method says."""
    found = ece_interval(y, p, cluster=cluster, seed=3, squared=True, **options)
    tests = [calibration_test(y, p, method=m, cluster=cluster, resamples=99, seed=3, **options) for m in METHODS]
    return [found.estimate, found.low, found.high], [(test.statistic, test.pvalue) for test in tests]


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_the_mean_over_pairs_of_different_clusters(seed):
    y, p, cluster = draw(np.random.default_rng(seed), 12, most=6)
    expected = by_pairs(y, p, cluster, np.minimum((p * 4).astype(int), 3))
    assert ece_interval(y, p, cluster=cluster, bins=4, squared=True).estimate == pytest.approx(expected, abs=1e-14)
    found = calibration_test(y, p, method="exact", cluster=cluster, bins=4)
    assert found.statistic == pytest.approx(expected, abs=1e-14)


def test_two_clusters_in_one_bin_give_one_product():
    """u = .5, .5 against −.5: all pairs of different clusters have the product −1/4."""
    found = ece_interval([1, 1, 0], [0.5, 0.5, 0.5], cluster=["a", "a", "b"], bins=1, squared=True, seed=0)
    assert found.estimate == pytest.approx(-0.25)
    assert found.includes_zero


def test_row_order_changes_nothing():
    rng = np.random.default_rng(0)
    y, p, cluster = draw(rng, 40, slope=0.5)
    order = rng.permutation(y.size)
    assert ask_all(y, p, cluster) == ask_all(y[order], p[order], cluster[order])


@pytest.mark.parametrize("named", [lambda c: -3 * c, lambda c: np.array([f"p{(7 * i) % 41}" for i in c]), list])
def test_names_of_clusters_change_nothing(named):
    y, p, cluster = draw(np.random.default_rng(1), 41, slope=0.5)
    assert ask_all(y, p, cluster) == ask_all(y, p, named(cluster))
    objects = np.array([(int(i), "x") for i in cluster] + [None], dtype=object)[:-1]
    assert ask_all(y, p, cluster) == ask_all(y, p, objects)


def test_a_weight_of_two_is_the_row_twice_in_its_cluster():
    rng = np.random.default_rng(2)
    y, p, cluster = draw(rng, 30, most=4)
    w = rng.integers(0, 3, y.size)
    ends, tests = ask_all(y, p, cluster, sample_weight=w)
    at = np.repeat(np.arange(y.size), w)
    assert (ends, tests) == ask_all(y[at], p[at], cluster[at])


def test_copies_of_a_row_in_its_cluster_add_no_evidence():
    """Every row ten times: the result is that of the row once."""
    rng = np.random.default_rng(3)
    p = rng.random(100)
    y = (rng.random(100) < p).astype(int)
    cluster = np.tile(np.arange(100), 10)
    once = ece_interval(y, p, cluster=np.arange(100), bins=5, squared=True, seed=0)
    copies = ece_interval(np.tile(y, 10), np.tile(p, 10), cluster=cluster, bins=5, squared=True, seed=0)
    assert copies.estimate == pytest.approx(once.estimate, abs=1e-12)
    assert copies.high == pytest.approx(once.high, rel=0.05)
    for method in METHODS:
        alone = calibration_test(y, p, method=method, cluster=np.arange(100), seed=0, **binned(method))
        found = calibration_test(
            np.tile(y, 10), np.tile(p, 10), method=method, cluster=cluster, seed=0, **binned(method)
        )
        assert found.pvalue > alone.pvalue - 0.06


def binned(method):
    return {"bins": 5} if method == "exact" else {}


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_clusters_of_one_row_give_nearly_the_plain_result(slope):
    data = tn.simulate.binary(2_000, distortion=tn.simulate.Logit(slope=slope), seed=1)
    y, p, alone = data.y_true, data.y_prob, np.arange(2_000)
    plain, found = (ece_interval(y, p, squared=True, seed=1, **how) for how in ({}, {"cluster": alone}))
    assert found.estimate == pytest.approx(plain.estimate, abs=1e-12)
    assert found.low == pytest.approx(plain.low, abs=0.05 * (plain.high - plain.low))
    # In fine cells of few rows the two estimates of the spread differ more.
    assert found.high == pytest.approx(plain.high, abs=0.08 * (plain.high - plain.low))
    assert (found.includes_zero, found.bins, found.n) == (plain.includes_zero, plain.bins, plain.n)
    for method in METHODS:
        drawn = calibration_test(y, p, method=method, cluster=alone, seed=1)
        expected = calibration_test(y, p, method=method, resamples=999, seed=1)
        if method != "omnibus":  # its statistic is a p-value
            assert drawn.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert drawn.pvalue == pytest.approx(expected.pvalue, abs=0.08)


def test_the_spread_under_signs_is_that_of_all_signs():
    y, p, cluster = draw(np.random.default_rng(4), 8, most=6)
    residuals = residuals_in(clustered_rows(y, p, cluster, {}), tn.EqualWidth(3))
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    every = pair_statistic(residuals, clustered_rows(y, p, cluster, {}).p).of_signs(signs.T.astype(float))
    assert every.mean() == pytest.approx(0, abs=1e-14)
    assert sign_variance(residuals) == pytest.approx(every.var(), rel=1e-9)
    assert every[-1] == pytest.approx(residuals.estimate)


def test_the_spread_of_independent_labels_is_that_of_all_labels():
    rng = np.random.default_rng(5)
    p, cluster = rng.random(8), np.array([0, 0, 0, 1, 1, 2, 3, 3])
    found = clustered_rows([0, 1] * 4, p, cluster, {})
    residuals = residuals_in(found, tn.EqualWidth(2))
    labels = np.array(list(itertools.product([0.0, 1.0], repeat=8)))
    chance = np.where(labels == 1, found.p, 1 - found.p).prod(axis=1)
    statistic = pair_statistic(residuals, found.p)
    order = np.argsort(residuals.entry, kind="stable")
    assert statistic.p.tolist() == found.p[order].tolist()
    every = statistic.of_labels(labels[:, order].T)
    assert chance @ every == pytest.approx(0, abs=1e-14)
    assert label_variance(residuals, found.p) == pytest.approx(chance @ every**2, rel=1e-9)


@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
def test_the_pvalue_is_the_larger_of_signs_and_labels():
    rows = clustered_rows([1, 1, 1, 1], [0.5] * 4, [0, 0, 1, 1], {})
    pvalue = wild_pvalue(total(rows), 2, 3_999, np.random.default_rng(0))
    assert pvalue == pytest.approx(1 / 4, abs=0.03)  # two signs; four labels would give 1/16
    rows = clustered_rows([1, 1], [0.9, 0.9], [0, 1], {})
    assert wild_pvalue(total(rows), 2, 3_999, np.random.default_rng(0)) == pytest.approx(0.81, abs=0.03)
    nothing = ClusterStatistic(0.0, rows.p, lambda signs: signs[0] * 0, lambda labels: labels[0] * 0.0)
    assert wild_pvalue(nothing, 2, 19, np.random.default_rng(0)) == 1


def total(rows):
    """The sum of the residuals."""
    sums = np.bincount(rows.cluster, rows.u)
    return ClusterStatistic(
        rows.u.sum(), rows.p, lambda signs: sums @ signs, lambda labels: (labels - rows.p[:, None]).sum(axis=0)
    )


def test_batches_do_not_change_the_pvalue(monkeypatch):
    monkeypatch.setattr("trueness.infer.test._clustered_tests._BATCH", 8)
    monkeypatch.setattr("trueness.infer.test._clustered_tests._LEAST", 1)
    seen = []
    rows = clustered_rows([0, 1], [0.9, 0.9], [0, 1], {})

    def noted(drawn):
        seen.append(drawn.shape[1])
        return drawn[0].astype(float)

    wild_pvalue(ClusterStatistic(0.0, rows.p, noted, noted), rows.clusters, 10, np.random.default_rng(0))
    assert seen == [4, 4, 2, 4, 4, 2]


def test_every_statistic_is_that_of_unchanged_signs_and_of_the_labels_seen():
    y, p, cluster = draw(np.random.default_rng(6), 30)
    rows = clustered_rows(y, p, cluster, {})
    residuals = residuals_in(rows, tn.EqualMass(4))
    statistic = pair_statistic(residuals, rows.p)
    order = np.argsort(residuals.entry, kind="stable")
    seen = np.asarray(rows.top.y)[order, None]
    assert statistic.of_signs(np.ones((30, 1)))[0] == pytest.approx(residuals.estimate, abs=1e-14)
    assert statistic.of_labels(seen)[0] == pytest.approx(residuals.estimate, abs=1e-14)


def test_statistics_are_those_of_independent_rows():
    y, p, cluster = draw(np.random.default_rng(5), 50)
    p = p.round(1)
    for method in ("ks", "kuiper", "spiegelhalter"):
        plain = calibration_test(y, p, method=method).statistic
        assert calibration_test(y, p, method=method, cluster=cluster).statistic == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("ask", [ece_interval, calibration_test])
@pytest.mark.parametrize(
    ("sizes", "words"),
    [([5] * 19, "19 clusters, worth 19.0"), ([60] + [1] * 60, r"61 clusters, worth 3\.9")],
)
def test_few_clusters_or_a_large_one_are_warned_of(ask, sizes, words):
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    p = rng.random(cluster.size)
    with pytest.warns(tn.FewClustersWarning, match=words):
        ask((rng.random(p.size) < p).astype(int), p, cluster=cluster)


def test_twenty_clusters_of_one_size_are_not_warned_of():
    rng = np.random.default_rng(0)
    p = rng.random(60)
    with warnings.catch_warnings():  # not a mark: that of the module would come first
        warnings.simplefilter("error", tn.FewClustersWarning)
        ece_interval((rng.random(60) < p).astype(int), p, cluster=np.arange(60) % 20)


def test_gross_errors_are_rejected():
    y, p, cluster = draw(np.random.default_rng(6), 200, shift=-1.5)
    found = ece_interval(y, p, cluster=cluster, seed=0)
    assert not found.includes_zero
    assert found.low < math.sqrt(truth("uniform", 1, -1.5)) < found.high
    for method in ("exact", "ks", "kuiper"):
        assert calibration_test(y, p, method=method, cluster=cluster, seed=0).pvalue == 0.001
    assert calibration_test(y, p, cluster=cluster, seed=0).pvalue <= 0.001


def test_assumptions_say_what_clusters_mean():
    y, p, cluster = draw(np.random.default_rng(7), 30)
    for method in METHODS:
        said = calibration_test(y, p, method=method, cluster=cluster, resamples=19, seed=0).assumptions
        assert "Clusters are independent" in said
        assert "many clusters and is not exact for few (30 here): 19 times" in said
        assert "exact at any n" not in said


def test_scores_of_0_and_1_leave_nothing_to_chance():
    for method in METHODS:
        ask = {"method": method, "cluster": [0, 0, 1, 2], "seed": 0, "resamples": 19}
        ask |= {"bins": 1} if method == "exact" else {}
        assert calibration_test([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], **ask).pvalue == 1
        contradicted = calibration_test([0, 1, 1, 1], [0.0, 1.0, 1.0, 0.0], **ask)
        assert contradicted.pvalue == (0 if method == "omnibus" else 0.05)


def test_the_largest_score_of_a_matrix_has_clusters_too():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    cluster = rng.integers(0, 50, 200)
    top, hit = p.max(axis=1), (p.argmax(axis=1) == y).astype(int)
    assert ask_all(y, p, cluster) == ask_all(hit, top, cluster)


def test_rows_without_a_cluster_are_dropped_on_request():
    y, p, cluster = draw(np.random.default_rng(9), 30)
    names = cluster.astype(float)
    names[:3] = np.nan
    with pytest.warns(tn.DroppedRowsWarning, match="3 of .* rows have a missing value and were dropped"):
        found = ece_interval(y, p, cluster=names, missing="drop", seed=0)
    assert found == ece_interval(y[3:], p[3:], cluster=cluster[3:], seed=0)


ASKS = {"interval": ece_interval, "test": partial(calibration_test, method="exact")}
BAD = [
    ([0, 0, 0, 0], "`cluster` must name at least 2 clusters; all 4 rows are in one"),
    ([0, 1, 2], r"`cluster` must have one entry per row \(4\); got shape \(3,\)"),
    ([0.0, 1.0, np.nan, 1.0], "`cluster`"),
]


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(("cluster", "message"), BAD)
def test_clusters_that_say_nothing_are_refused(ask, cluster, message):
    with pytest.raises(tn.InputError, match=message):
        ask([0, 1, 0, 1], [0.2, 0.8, 0.3, 0.6], cluster=cluster, bins=1)


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_sums_and_fractional_weights_are_refused(ask):
    y, p = [0, 1, 0, 1], [0.2, 0.8, 0.3, 0.6]
    with pytest.raises(tn.InputError, match=r"`cluster` needs labels and scores; a Tally holds only sums of rows"):
        ask(tn.tally(y, p), cluster=[0, 0, 1, 1])
    with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers with `cluster`"):
        ask(y, p, cluster=[0, 0, 1, 1], sample_weight=[0.5, 1, 1, 1])
    with pytest.raises(tn.InputError, match="No bin holds rows of two clusters"):
        ask(y, p, cluster=[0, 1, 0, 1], bins=2)
    with pytest.raises(tn.InputError, match="`kind` must be 'confidence' for"):
        ask(y, np.column_stack([p, 1 - np.array(p)]), cluster=[0, 0, 1, 1], kind="top-label")
    with pytest.raises(tn.InputError, match="`y_prob` is missing"):
        ask(y, cluster=[0, 0, 1, 1])
    with pytest.raises(tn.InputError, match=r"`y_prob` must lie in \[0, 1\]"):
        ask(y, [0.2, 0.8, 0.3, 1.6], cluster=[0, 0, 1, 1])
    with pytest.raises(tn.InputError, match="`bins` must not depend on the labels"):
        ask(y, p, cluster=[0, 0, 1, 1], bins=tn.Isotonic())


@pytest.mark.parametrize("method", ["analytic", "bootstrap", "hulc", "subsampling"])
def test_other_intervals_name_the_one_that_takes_clusters(method):
    with pytest.raises(tn.InputError, match=f"`cluster` is only accepted by `method='score'`; '{method}' needs"):
        ece_interval([0, 1], [0.2, 0.8], cluster=[0, 1], method=method)


def test_several_scores_per_row_are_refused():
    with pytest.raises(tn.InputError, match="`k` must be 1; got 2"):
        ece_interval([0, 1], np.full((2, 3), 1 / 3), cluster=[0, 1], k=2)


@pytest.mark.parametrize("method", ["analytic", "t-cal", "adaptive-t-cal", "cox", "hosmer-lemeshow"])
def test_other_tests_name_those_that_take_clusters(method):
    takers = "'omnibus', 'exact', 'ks', 'kuiper' or 'spiegelhalter'"
    message = f"`cluster` is only accepted by {takers}; `method='{method}'` needs"
    with pytest.raises(tn.InputError, match=message):
        calibration_test([0, 1], [0.2, 0.8], cluster=[0, 1], method=method)


RUNS = 400
LEVELS = (0.1, 0.05, 0.01)


def slack(alpha, runs, deviations=4.0):
    """What a share of `runs` may differ from `alpha` by chance."""
    return deviations * math.sqrt(alpha * (1 - alpha) / runs) + 1 / runs


def pvalues(method, runs, *, cluster=True, seed=0, clusters=100, resamples=199, **how):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        y, p, c = draw(rng, clusters, **how)
        given = {"cluster": c} if cluster else {}
        found.append(calibration_test(y, p, method=method, resamples=resamples, seed=rng, **given).pvalue)
    return np.array(found)


def coverage(runs, *, law="uniform", slope=1.0, shift=0.0, clusters=100, cluster=True, seed=0, **how):
    """Share of sets that hold the truth."""
    target = 0.0 if (slope, shift) == (1, 0) else truth(law, slope, shift)
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(runs):
        y, p, c = draw(rng, clusters, law=law, slope=slope, shift=shift, **how)
        given = {"cluster": c} if cluster else {}
        held += target in ece_interval(y, p, level=0.9, squared=True, seed=rng, **given)
    return held / runs


@pytest.mark.parametrize("method", METHODS)
def test_signs_keep_the_level_in_few_runs(method):
    found = pvalues(method, 150, resamples=99)
    assert np.mean(found <= 0.1) <= 0.1 + slack(0.1, 150)
    assert np.mean(found > 0.5) == pytest.approx(0.5, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_the_set_covers_in_few_runs(shift):
    assert coverage(30, shift=shift) >= 0.88 - slack(0.88, 30)


def printed():
    """The table of the page: {(method, law, with clusters): share}."""
    columns = [(law, cluster) for law in ("uniform", "rare") for cluster in (True, False)]
    found = {}
    for line in calibration_test.__doc__.splitlines():
        match = re.fullmatch(r"\s*'([a-z-]+)'((?:\s+\.\d{3}){4})\s*", line)
        if match:
            shares = map(float, match[2].split())
            found |= {(match[1], *column): share for column, share in zip(columns, shares, strict=True)}
    return found


def test_the_page_prints_the_level_of_every_test_with_clusters():
    assert {method for method, _, _ in printed()} == set(METHODS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
@pytest.mark.parametrize("cluster", [True, False])
@pytest.mark.parametrize("law", ["uniform", "rare"])
@pytest.mark.parametrize("method", METHODS)
def test_levels_are_those_of_the_page(method, law, cluster):
    found = pvalues(method, RUNS, law=law, cluster=cluster, seed=11, resamples=99)
    share = printed()[method, law, cluster]
    # The page has 1,000 runs, which adds to the error.
    assert np.mean(found <= 0.05) == pytest.approx(share, abs=slack(share, RUNS) + slack(share, 1_000, 1))
    for alpha in LEVELS if cluster else ():
        assert np.mean(found <= alpha) <= alpha + slack(alpha, RUNS), alpha


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
@pytest.mark.parametrize(("alike", "shared"), [(0.5, 0.5), (0.8, 0.0)])
@pytest.mark.parametrize(("slope", "shift"), [(1, 0), (1, 0.3), (0.5, 0), (1, 0.8), (1, -1.5)])
@pytest.mark.parametrize("law", LAWS)
def test_the_set_covers(law, slope, shift, alike, shared):
    runs = 150
    held = coverage(runs, law=law, slope=slope, shift=shift, alike=alike, shared=shared, seed=12)
    assert held >= 0.87 - slack(0.87, runs, 3.5)


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.80), (0.8, 0.73), (-1.5, 0.68)])
def test_rows_taken_for_independent_are_covered_as_seldom_as_the_page_says(shift, share):
    runs = 150
    assert coverage(runs, shift=shift, cluster=False, seed=13) == pytest.approx(share, abs=slack(share, runs) + 0.03)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
@pytest.mark.parametrize(("clusters", "large"), [(10, 0.0), (30, 0.0), (80, 0.2), (80, 0.5)])
@pytest.mark.parametrize("method", METHODS)
def test_few_clusters_or_a_large_one_keep_the_level_of_uniform_scores(method, clusters, large):
    found = pvalues(method, 250, clusters=clusters, large=large, seed=14, resamples=99)
    for alpha in (0.1, 0.05):
        assert np.mean(found <= alpha) <= 1.2 * alpha + slack(alpha, 250, 3.5), alpha


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
@pytest.mark.parametrize("method", METHODS)
def test_rare_events_and_half_of_the_rows_in_one_cluster_break_the_level(method):
    """What the warning speaks of."""
    found = pvalues(method, 250, law="rare", alike=0.9, clusters=80, large=0.5, seed=15, resamples=99)
    assert 0.1 < np.mean(found <= 0.1) < 0.35


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
@pytest.mark.parametrize(("clusters", "large"), [(10, 0.0), (30, 0.0), (80, 0.5)])
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_the_set_covers_with_few_clusters_or_a_large_one(clusters, large, shift):
    runs = 200
    assert coverage(runs, clusters=clusters, large=large, shift=shift, seed=16) >= 0.85 - slack(0.85, runs, 3)


def path_of(p, u):
    """Cumulated residuals after each distinct score, from 0."""
    return np.array([0.0, *(u[p <= score].sum() for score in np.unique(p))]) / p.size


STATISTICS = {
    "ks": lambda p, u, _: np.abs(path_of(p, u)).max(),
    "kuiper": lambda p, u, _: np.ptp(path_of(p, u)),
    "spiegelhalter": lambda p, u, _: abs(((1 - 2 * p) * u).sum()),
    "exact": lambda p, u, cluster: by_pairs(u + p, p, cluster, p >= 0.5),
}


@pytest.mark.parametrize("method", STATISTICS)
@pytest.mark.parametrize("labels", [[1, 1, 0, 1, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0, 0, 0]])
def test_the_pvalue_is_the_larger_share_of_all_signs_and_of_all_labels(method, labels):
    p = np.array([0.2, 0.2, 0.3, 0.35, 0.45, 0.6, 0.6, 0.7, 0.85])
    y, cluster = np.array(labels), np.array([0, 1, 2, 0, 3, 1, 4, 2, 3])
    statistic, bins = STATISTICS[method], {"bins": 2} if method == "exact" else {}
    observed = statistic(p, y - p, cluster) - 1e-9
    signs = np.array(list(itertools.product([-1, 1], repeat=5)))
    by_signs = np.mean([statistic(p, (y - p) * sign[cluster], cluster) >= observed for sign in signs])
    every = np.array(list(itertools.product([0, 1], repeat=9)))
    chance = np.where(every == 1, p, 1 - p).prod(axis=1)
    by_labels = chance @ [statistic(p, one - p, cluster) >= observed for one in every]
    found = calibration_test(y, p, method=method, cluster=cluster, resamples=1_999, seed=0, **bins)
    assert found.pvalue == pytest.approx(max(by_signs, by_labels), abs=0.045)


def test_the_z_of_clusters_is_that_of_independent_rows_and_may_be_infinite():
    y, p, cluster = np.array([1, 0, 1, 1, 0]), np.array([0.2, 0.4, 0.7, 0.9, 0.6]), [0, 0, 1, 2, 1]
    z = ((1 - 2 * p) * (y - p)).sum() / math.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    ask = partial(calibration_test, method="spiegelhalter", resamples=19, seed=0)
    assert ask(y, p, cluster=cluster).statistic == pytest.approx(z)
    assert ask([1, 0, 1, 1], [0.5] * 4, cluster=[0, 0, 1, 1]).statistic == 0
    assert ask([1, 0, 1, 1], [1.0, 0.0, 1.0, 1.0], cluster=[0, 0, 1, 1]).statistic == 0
    assert ask([1, 0, 1, 0], [1.0, 0.0, 1.0, 1.0], cluster=[0, 0, 1, 1]).statistic == math.inf


def test_importance_weights_without_clusters_are_warned_of_by_their_number():
    rng = np.random.default_rng(0)
    p = rng.random(40)
    y, w = (rng.random(40) < p).astype(int), np.append(np.full(39, 0.5), 20.5)
    with pytest.warns(tn.FewClustersWarning, match="There are 40 rows by `sample_weight`, worth 3.7 of equal weight"):
        clustered_rows(y, p, None, {"sample_weight": w}, importance=True)
    with pytest.warns(tn.FewClustersWarning, match="There are 20 clusters, worth 3.5 of equal weight"):
        clustered_rows(y, p, np.arange(40) // 2, {"sample_weight": w}, importance=True)


def test_rows_are_sorted_by_cluster_then_score_then_label():
    rows = clustered_rows([1, 0, 1, 0, 1], [0.3, 0.3, 0.1, 0.9, 0.2], list("abbab"), {})
    for name in range(2):
        own = rows.cluster == name
        pairs = list(zip(rows.p[own], np.asarray(rows.top.y)[own], strict=True))
        assert pairs == sorted(pairs)
    assert rows.cluster.tolist() == sorted(rows.cluster)
    assert (rows.n, rows.clusters) == (5, 2)
    assert rows.u.sum() == pytest.approx(3 - 1.8)


def test_weighted_statistics_are_those_of_unchanged_signs_and_of_the_labels_seen():
    rng = np.random.default_rng(6)
    y, p, cluster = draw(rng, 30)
    w = rng.choice([0.5, 1.25, 3.0], y.size)
    rows = clustered_rows(y, p, cluster, {"sample_weight": w}, importance=True)
    residuals = residuals_in(rows, tn.EqualWidth(3))
    statistic = pair_statistic(residuals, rows.p)
    seen = np.asarray(rows.top.y)[np.argsort(residuals.entry, kind="stable"), None]
    assert statistic.observed == pytest.approx(residuals.estimate)
    assert statistic.of_signs(np.ones((30, 1)))[0] == pytest.approx(residuals.estimate, abs=1e-14)
    assert statistic.of_signs(-np.ones((30, 1)))[0] == pytest.approx(residuals.estimate, abs=1e-14)
    assert statistic.of_labels(seen)[0] == pytest.approx(residuals.estimate, abs=1e-14)
    drawn = (rng.random((y.size, 4_000)) < statistic.p[:, None]).astype(np.int8)
    values = statistic.of_labels(drawn)
    assert abs(values.mean()) < 5 * values.std() / math.sqrt(4_000)


def test_the_omnibus_of_clusters_is_the_larger_of_two():
    """Copies of each row in a cluster of their own: labels of independent rows are far too sure, signs are not."""
    y, p, _ = draw(np.random.default_rng(3), 60, most=1, shift=0.7)
    one = calibration_test(y, p, cluster=np.arange(60), resamples=999, seed=0)
    plain = calibration_test(y, p, resamples=999, seed=0)
    assert one.pvalue >= plain.pvalue - 0.03
    many = calibration_test(np.tile(y, 6), np.tile(p, 6), cluster=np.tile(np.arange(60), 6), resamples=999, seed=0)
    sure = calibration_test(np.tile(y, 6), np.tile(p, 6), resamples=999, seed=0)
    assert sure.pvalue < many.pvalue
    assert many.pvalue == pytest.approx(one.pvalue, abs=0.05)
    for name, alone in sure.alone.items():
        assert many.alone[name] >= min(alone, 1) - 0.03, name


def test_rows_in_twenty_equal_clusters_are_read_without_a_warning():
    p = np.linspace(0.1, 0.9, 60)
    y = np.arange(60) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", tn.FewClustersWarning)
        clustered_rows(y, p, np.arange(60) % 20, {})
    with pytest.warns(tn.FewClustersWarning, match="There are 20 clusters, worth 19.9 of equal size. Below 20"):
        clustered_rows(y[1:], p[1:], np.arange(59) % 20, {})


def content(rows):
    """Labels, scores and clusters in the order in which they are kept."""
    return np.asarray(rows.top.y).tolist(), rows.p.tolist(), rows.cluster.tolist()


@pytest.mark.parametrize("w", [None, [0.5, 1.5, 0.5, 1.5, 2.5, 0.5, 1.5, 0.5, 1.5, 2.5]])
def test_clusters_that_differ_in_labels_or_weights_only_are_numbered_by_them(w):
    p = np.array([0.2, 0.7] * 5)
    y = np.array([0, 0, 0, 1, 1, 0, 1, 1, 0, 0]) if w is None else np.array([0, 1] * 5)
    weights = {} if w is None else {"sample_weight": np.array(w)}
    some = [
        clustered_rows(y, p, np.repeat(names, 2), weights, importance=w is not None)
        for names in (list("abcde"), list("edcba"), list("cadbe"))
    ]
    assert content(some[0]) == content(some[1]) == content(some[2])


def test_a_score_of_minus_zero_is_zero():
    rng = np.random.default_rng(0)
    p = np.where(rng.random(40) < 0.5, 0.0, rng.random(40))
    y, cluster = rng.integers(0, 2, 40), np.arange(40) // 4
    assert content(clustered_rows(y, p, cluster, {})) == content(
        clustered_rows(y, np.where(p == 0, -0.0, p), cluster, {})
    )


def test_the_effective_number_of_clusters():
    assert effective_number(np.array([0, 0, 1, 2, 2, 2])) == pytest.approx(36 / 14)
    assert effective_number(np.array([0, 0, 1]), np.array([0.5, 0.5, 3.0])) == pytest.approx(16 / 10)
    assert effective_number(np.zeros(0, int)) == 0
