"""The score interval."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import trueness as tn
from trueness import FewClustersWarning, InputError, simulate
from trueness.infer import ece_interval
from trueness.infer._clustered_rows import clustered_rows
from trueness.infer.interval._residuals import residuals_in
from trueness.infer.interval._score_interval import (
    DefaultParts,
    Partitions,
    label_variance,
    score_ends,
    sign_variance,
    upper_limit,
)
from trueness.infer.test._clustered_tests import pair_statistic

Z05, Z10 = 1.6448536269514722, 1.2815515655446004


@pytest.mark.parametrize("statistic", [-0.01, 0.0, 0.001, 0.02, 0.3])
@pytest.mark.parametrize("unevenness", [0.0, 1.0, 60.0])
def test_score_ends_are_the_values_that_are_not_rejected(statistic, unevenness):
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


def test_the_lower_end_is_zero_when_zero_is_not_rejected():
    d = simulate.binary(300, seed=1)
    found = ece_interval(d.y_true, d.y_prob, seed=0)
    assert (found.includes_zero, found.low, found.low_closed, found.is_interval) == (True, 0.0, True, True)
    assert found.bins == "MassAndWidth(mass=10, width=10): 18 bins with rows"


def test_wrong_scores_are_rejected_and_the_truth_is_covered():
    d = simulate.binary(3000, distortion=simulate.Logit(slope=0.4), seed=1)
    for method in ("score", "analytic"):
        found = ece_interval(d.y_true, d.y_prob, method=method, seed=0)
        assert not found.includes_zero
        assert d.true_ece("l2") in found
        assert found.low < found.estimate < found.high


def ask(y, p, w, **options):
    return ece_interval(
        y, p, sample_weight=w, weight_type="importance", squared=True, **({"seed": 3, "bins": 5} | options)
    )


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    d = simulate.binary(n, distortion=simulate.Logit(slope=0.5), seed=rng)
    return d.y_true, d.y_prob, rng.lognormal(0, 1, n)


def test_the_estimate_is_the_weighted_mean_over_pairs():
    y, p, w = rows(40)
    u, b = y - p, np.minimum((p * 4).astype(int), 3)
    total = 0.0
    for bin_ in range(4):
        at = np.flatnonzero(b == bin_)
        pairs = [(i, j) for i in at for j in at if i != j]
        products = sum(w[i] * w[j] * u[i] * u[j] for i, j in pairs)
        total += w[at].sum() * products / sum(w[i] * w[j] for i, j in pairs)
    found = ask(y, p, w, bins=4).estimate
    assert found == pytest.approx(total / w.sum(), abs=1e-14)
    assert found == pytest.approx(tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=4), abs=1e-14)


def test_the_variance_over_labels_is_that_over_all_labels():
    y, p, w = rows(8)
    with pytest.warns(FewClustersWarning, match=r"There are 8 rows by `sample_weight`, worth 3\.\d of equal weight"):
        found = clustered_rows(y, p, None, {"sample_weight": w}, importance=True)
    residuals = residuals_in(found, tn.EqualWidth(2))
    every = np.array(list(itertools.product([0, 1], repeat=8))).T
    wild = pair_statistic(residuals, found.p)
    chance = np.prod(np.where(every == 1, wild.p[:, None], 1 - wild.p[:, None]), axis=0)
    values = wild.of_labels(every)
    assert chance @ values == pytest.approx(0, abs=1e-15)
    assert chance @ values**2 == pytest.approx(label_variance(residuals, found.p), rel=1e-10)


def test_the_unit_of_the_weights_and_the_order_of_rows_change_nothing():
    y, p, w = rows()
    order = np.random.default_rng(1).permutation(y.size)
    assert ask(y[order], p[order], w[order]) == ask(y, p, w)
    found = ask(y, p, w)
    for unit in (3, 1e-4):
        scaled = ask(y, p, unit * w)
        assert (scaled.includes_zero, scaled.note) == (found.includes_zero, found.note)
        assert (scaled.estimate, scaled.low, scaled.high) == pytest.approx((found.estimate, found.low, found.high))


def test_a_row_of_weight_zero_is_left_out():
    y, p, w = rows()
    w[::3] = 0
    kept = w > 0
    assert ask(y, p, w) == ask(y[kept], p[kept], w[kept])


def test_equal_weights_are_rows_in_clusters_of_their_own():
    y, p, _ = rows()
    plain = ece_interval(y, p, cluster=np.arange(y.size), squared=True, seed=3, bins=5)
    found = ask(y, p, np.full(y.size, 0.5))
    assert (found.estimate, found.low, found.high) == pytest.approx((plain.estimate, plain.low, plain.high), rel=1e-12)


@pytest.mark.parametrize("unit", [0.3, 3.7])
def test_the_mean_weight_is_one_row_where_events_are_few(unit):
    p, y = np.linspace(0.02, 0.4, 80), np.arange(80) >= 79
    w = np.random.default_rng(0).lognormal(0, 0.3, 80)
    found, scaled = ask(y, p, w, bins=None), ask(y, p, unit * w, bins=None)
    assert found.note == scaled.note == f"Exact binomial limits: one class has {w[-1] / w.mean():.6g} of 80 rows."
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (scaled.estimate, scaled.low, scaled.high), rel=1e-9
    )


def test_clusters_may_have_weights():
    y, p, w = rows()
    alone = ask(y, p, w, cluster=np.arange(y.size))
    assert alone == ask(y, p, w)
    assert ask(y, p, w, cluster=np.arange(y.size) // 3).high != alone.high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "analytic"}, "`weight_type='importance'` is only accepted by `method='score'`; 'analytic' needs"),
        ({"weight_type": "survey"}, "`weight_type` must be 'frequency' or 'importance'; got 'survey'"),
        ({"k": 2}, "`k` must be 1; got 2"),
    ],
)
def test_options_that_conflict_with_importance_weights_are_refused(options, message):
    y, p, w = rows()
    with pytest.raises(InputError, match=message):
        ece_interval(y, p, **({"sample_weight": w, "weight_type": "importance"} | options))


def test_sums_are_refused_with_importance_weights():
    with pytest.raises(InputError, match="needs labels and scores; a Tally holds only sums"):
        ece_interval(tn.tally([0, 1], [0.2, 0.6]), weight_type="importance")


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.5])
@pytest.mark.parametrize("how", ["chance", "score", "label"])
def test_the_set_covers_the_error_of_the_population(how, slope):
    """Weights by chance, or one over a chance to be sampled that depends on the score, or on the label."""
    rng = np.random.default_rng(7)
    runs, n, hits = 120, 1000, 0
    for _ in range(runs):
        d = simulate.binary(4 * n, distortion=simulate.Logit(slope=slope), seed=rng)
        chance = {
            "chance": np.full(4 * n, 0.25),
            "score": 0.1 + 0.3 * d.y_prob,
            "label": np.where(d.y_true == 1, 0.4, 0.1),
        }[how]
        kept = rng.random(4 * n) < chance
        w = rng.lognormal(0, 0.7, kept.sum()) if how == "chance" else 1 / chance[kept]
        found = ask(d.y_true[kept], d.y_prob[kept], w, level=0.9, seed=rng, bins=None)
        hits += d.true_squared_ece() in found
    # A method that covered 0.87 would fail in one of some thousand such tests.
    assert hits >= binom.ppf(2e-4, runs, 0.87)
    assert hits <= binom.isf(2e-4, runs, 0.97)


def bump(share, height, seed=7):
    """Scores of a Beta law, and the truth: too high or too low by `height` over a share of the rows."""

    def make(law, n, rng):
        low, high = np.quantile(np.random.default_rng(seed).beta(*law, 100_000), [0.7 - share / 2, 0.7 + share / 2])
        p = rng.beta(*law, n)
        return p, p + np.where(high < 0.6, 1, -1) * height * ((low <= p) & (p <= high))

    return make


def coverage(make, n, runs):
    """The share of sets at level 0.9 that contain the l2 error."""
    p, truth = make(200_000, np.random.default_rng(1))
    error, hits = float(np.sqrt(np.mean((truth - p) ** 2))), 0
    for i in range(runs):
        rng = np.random.default_rng([2, i])
        p, truth = make(n, rng)
        hits += error in ece_interval((rng.random(n) < truth).astype(int), p, level=0.9, seed=i)
    return hits / runs


@pytest.mark.slow
@pytest.mark.parametrize(("law", "n"), [((1, 1), 1500), ((0.3, 3), 6000), ((20, 1), 400)])
def test_a_bump_of_three_percent_is_covered(law, n):
    """Equal-mass cells alone covered 0.75, 0.26 and 0.55."""
    runs = 150
    assert coverage(lambda size, rng: bump(0.03, 0.35)(law, size, rng), n, runs) >= 0.88 - 3 * (0.1 / runs) ** 0.5


@pytest.mark.slow
def test_one_value_off_among_verbal_confidences_is_covered():
    """Equal-mass cells covered 0.74."""

    def make(n, rng):
        p = rng.integers(0, 21, n) / 20
        return p, np.where(p == 0.8, 0.55, p)

    assert coverage(make, 1000, 200) >= 0.88 - 3 * (0.1 / 200) ** 0.5


def test_scores_of_few_values_are_their_own_cells():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 21, 1000) / 20
    found = ece_interval(rng.random(1000) < p, p, seed=0)
    assert found.bins == "Distinct(): 21 bins with rows"
    assert found.finer == found.estimate


def test_errors_of_both_signs_do_not_cancel_in_bimodal_scores():
    """Gaussian naive Bayes: equal-mass cells joined the scores between, and the set contained zero."""
    x, y = load_breast_cancer(return_X_y=True)
    train, test, known, unknown = train_test_split(x, y, test_size=0.5, random_state=0)
    p = GaussianNB().fit(train, known).predict_proba(test)[:, 1]
    found = ece_interval(unknown, p, seed=0)
    assert not found.includes_zero
    assert found.estimate == pytest.approx(0.13, abs=0.01)
    assert found.low > 0.05


def some_clusters(n=36, clusters=6, seed=0, *, weighted=False):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, n)
    y = (rng.random(n) < np.sqrt(p)).astype(int)
    cluster = np.sort(rng.integers(0, clusters, n))
    weights = {"sample_weight": rng.uniform(0.3, 3, n)} if weighted else {}
    return clustered_rows(y, p, cluster, weights, importance=weighted)


def by_bin(found, rule_bins):
    """Residuals, weights, bins and clusters of the rows, as arrays."""
    w = np.ones(found.n) if found.weight is None else found.weight
    return found.u, w, np.minimum((found.p * rule_bins).astype(int), rule_bins - 1), found.cluster


def coefficients(w, b, cluster):
    """The factor of products of different clusters in each bin."""
    result = {}
    for bin_ in set(b.tolist()):
        sizes = np.array([w[(b == bin_) & (cluster == g)].sum() for g in set(cluster.tolist())])
        pairs = sizes.sum() ** 2 - (sizes**2).sum()
        result[bin_] = sizes.sum() / w.sum() / pairs if pairs > 1e-12 else 0.0
    return result


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.all_cases
@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_over_signs_is_that_over_all_signs(weighted):
    found = some_clusters(weighted=weighted)
    u, w, b, cluster = by_bin(found, 4)
    factor = coefficients(w, b, cluster)
    names = sorted(set(cluster.tolist()))
    sums = {k: np.array([(w * u)[(b == k) & (cluster == g)].sum() for g in names]) for k in factor}
    signs = [np.array(s) for s in itertools.product([-1, 1], repeat=len(names))]
    values = [sum(c * ((s @ sums[k]) ** 2 - (sums[k] ** 2).sum()) for k, c in factor.items()) for s in signs]
    assert sign_variance(residuals_in(found, tn.EqualWidth(4))) == pytest.approx(np.var(values), rel=1e-9)


def slow_noise(u, w, b, cluster):
    """R₁ by its docstring, row by row."""
    w = w / w.mean()
    along, error, rest = {}, np.empty(u.size), np.empty(u.size)
    own = len(set(zip(b.tolist(), cluster.tolist(), strict=True))) == u.size
    for i in range(u.size):
        same, others = b == b[i], (b == b[i]) & (cluster != cluster[i])
        error[i] = np.average(u[same], weights=w[same])
        rest[i] = u[i] - (np.average(u[others], weights=w[others]) if others.any() else 0)
        rest[i] *= w[i] * (np.sqrt(1 - w[i] / w[same].sum()) if own else 1)
        along[cluster[i]] = along.get(cluster[i], 0) + error[i] * rest[i]
    groups = {}
    for i in range(u.size):
        groups[cluster[i], b[i]] = groups.get((cluster[i], b[i]), 0) + rest[i]
    first = sum(v**2 for v in along.values()) / (w * error**2).sum()
    return max(first, sum(v**2 for v in groups.values()) / u.size)


def slow_unevenness(u, w, b, cluster):
    w = w / w.mean()
    square = np.array([np.average(u[b == k], weights=w[b == k]) ** 2 for k in b])
    mean = np.average(square, weights=w)
    sums = [(w * (square - mean))[cluster == g].sum() for g in set(cluster.tolist())]
    return sum(v**2 for v in sums) / (u.size * mean**2)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.all_cases
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clusters", [6, 12, 200])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_set_of_clusters_has_the_ends_of_its_definition(weighted, clusters, level):
    n = 60 if clusters < 200 else 36
    rng = np.random.default_rng(clusters)
    p = rng.uniform(0.05, 0.95, n)
    y = (rng.random(n) < p**3).astype(int)
    cluster = rng.integers(0, clusters, n) if clusters < 200 else np.arange(n)
    options = {"sample_weight": rng.uniform(0.3, 3, n)} if weighted else {}
    kind = {"weight_type": "importance"} if weighted else {}
    rows = clustered_rows(y, p, cluster, options, importance=weighted)
    u, w, b, names = by_bin(rows, 3)
    residuals = residuals_in(rows, tn.EqualWidth(3))
    null = max(sign_variance(residuals), label_variance(residuals, rows.p))
    z = student.ppf(1 - (1 - level) / 2, 30)
    estimate = residuals.estimate
    low, high = score_ends(estimate, null, slow_noise(u, w, b, names), slow_unevenness(u, w, b, names), n, z)
    found = ece_interval(y, p, cluster=cluster, bins=3, squared=True, level=level, seed=0, **options, **kind)
    assert found.high == pytest.approx(high, rel=1e-9)
    assert found.low == pytest.approx(0 if found.includes_zero else low, rel=1e-9)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("n", "coarse", "fine"), [(1, 1, 1), (2, 1, 1), (8, 4, 4), (10, 5, 5), (60, 5, 14), (300, 10, 41), (5000, 30, 254)]
)
def test_default_cells_are_powers_of_the_rows(n, coarse, fine):
    cells = tn.tally(np.arange(n) % 2, (np.arange(n) + 0.5) / n).parts[0]
    expected = tn.MassAndWidth(coarse, coarse), tn.MassAndWidth(fine, coarse), tn.EqualMass(coarse)
    assert Partitions.of(cells, n) == expected


@pytest.mark.all_cases
@pytest.mark.parametrize(("repeats", "distinct"), [(1, False), (2, True), (50, True)])
def test_scores_that_are_repeated_and_few_are_cells_of_their_own(repeats, distinct):
    p = np.repeat(np.linspace(0.1, 0.9, 9), repeats)
    rules = Partitions.of(tn.tally(np.arange(p.size) % 2, p).parts[0], p.size)
    assert [isinstance(rule, tn.Distinct) for rule in rules] == [distinct] * 3


def test_twice_as_many_scores_as_cells_are_cells_of_their_own_and_more_are_not():
    for size in range(20, 60):
        p = np.repeat((np.arange(size) + 0.5) / size, 10)
        cells = tn.tally(np.arange(p.size) % 2, p).parts[0]
        mass = max(5, round(p.size**0.4))
        cut = tn.MassAndWidth(mass, mass).group(cells).edges.size - 1
        assert isinstance(Partitions.of(cells, p.size).coarse, tn.Distinct) == (size <= 2 * cut)


@pytest.mark.all_cases
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_default_set_has_the_lower_end_of_coarse_and_the_upper_end_of_fine_cells(level):
    d = simulate.binary(800, distortion=simulate.Logit(slope=0.3), seed=2)
    y, p = d.y_true, d.y_prob
    rules = Partitions.of(tn.tally(y, p).parts[0], 800)
    found = ece_interval(y, p, level=level, seed=0)
    coarse, fine = (ece_interval(y, p, bins=rule, level=level, seed=0) for rule in rules[:2])
    assert not found.includes_zero
    assert (found.low, found.estimate) == pytest.approx((coarse.low, coarse.estimate), rel=1e-12)
    assert (found.high, found.finer) == pytest.approx((fine.high, fine.estimate), rel=1e-12)


def test_the_ends_of_given_cells_use_students_quantile_with_30_degrees_of_freedom():
    d = simulate.binary(400, distortion=simulate.Logit(slope=0.3), seed=2)
    u, b = d.y_true - d.y_prob, np.minimum((d.y_prob * 4).astype(int), 3)
    n = np.bincount(b)
    mean = np.bincount(b, u) / n
    share, squares = n / 400, mean**2
    variance = np.array([u[b == k].var(ddof=1) for k in range(4)])
    statistic = (n * (mean**2 - variance / n)).sum() / 400
    v = d.y_prob * (1 - d.y_prob)
    null = sum(2 * (v[b == k].sum() ** 2 - (v[b == k] ** 2).sum()) / (n[k] - 1) ** 2 for k in range(4)) / 400**2
    noise = max((n * squares * variance).sum() / (n * squares).sum(), (u**2).mean() - statistic)
    unevenness = (share * squares**2).sum() / (share @ squares) ** 2 - 1
    found = ece_interval(d.y_true, d.y_prob, bins=4, level=0.9, squared=True, seed=0)
    low, high = score_ends(statistic, null, noise, unevenness, 400, student.ppf(0.95, 30))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.all_cases
@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("events", [1, 2, 60])
def test_the_one_sided_limit_is_the_end_of_a_set_of_twice_its_error_rate(events, alpha):
    p = np.linspace(0.02, 0.4, 200)
    y = np.arange(200) >= 200 - events
    parts = DefaultParts.of_cells(tn.tally(y, p).parts[0])
    found = ece_interval(y, p, level=1 - 2 * alpha, squared=True, seed=0)
    assert upper_limit(parts)(alpha) == pytest.approx(found.high, rel=1e-12)
    assert bool(found.note) == (events < 3)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_notes_say_which_label_is_rare():
    p = np.linspace(0.02, 0.4, 1200)
    y = np.arange(1200) >= 1198
    assert ece_interval(y, p, seed=0).note == "Exact binomial limits: one class has 2 of 1,200 rows."
    p, y = np.tile([0.03, 0.97], 100), np.tile([0, 1], 100)
    y[0] = 1
    assert ece_interval(y, p, seed=0).note == "Exact binomial limits: 1 of 200 labels are the less probable one."
    assert (
        ece_interval(y, p, bins=2, seed=0).note == "Exact binomial limits: 1 of 200 labels are the less probable one."
    )
    y[[2, 4]] = 1
    assert ece_interval(y, p, seed=0).note == ece_interval(y, p, bins=2, seed=0).note == ""


def test_exact_limits_replace_the_lower_end_and_raise_the_upper_one():
    p, y = np.full(100, 0.3), np.zeros(100, dtype=int)
    for rare in (1, 2):
        y[:rare] = 1
        found = ece_interval(y, p, bins=1, squared=True, level=0.9, seed=0)
        rate_high = binomtest(rare, 100).proportion_ci(0.9).high
        statistic = tn.squared_ece(y, p, bins=1)
        exact = 0.3**2 + rate_high * max(0, rate_high - 0.6)
        assert found.low == pytest.approx(min((0.3 - rate_high) ** 2, statistic))
        assert found.high >= exact
        assert found.estimate == pytest.approx(statistic)


def test_rows_without_any_error_have_the_noise_of_their_labels():
    y, p = np.tile([0, 1], 30), np.full(60, 0.5)  # the mean residual is exactly 0
    found = ece_interval(y, p, cluster=np.arange(60), bins=1, squared=True, level=0.9, seed=0)
    null = 2 * 60 * 59 * 0.25**2 / (60 * 59) ** 2  # all products of two rows are ±1/4
    high = score_ends(found.estimate, null, 0.25 * 60 / 59, 0.0, 60, student.ppf(0.95, 30))[1]
    assert found.high == pytest.approx(high, rel=1e-9)
