"""The score interval, against its definition row by row; default cells, few events, coverage."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, binom, binomtest, chi2, ncx2, norm
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import trueness as tn
from trueness import ece_interval, simulate

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def score_ends(statistic, null, noise, unevenness, n, level):
    """(T − θ)² ≤ z² (τ² + 4 R₁ θ/n + R₂ θ²/n) on a grid, with the coefficient of θ² kept away from zero."""
    z = student.ppf((1 + level) / 2, 30)
    leading, theta = max(0.2, 1 - z * z * unevenness / n), np.linspace(0, 1, 1_000_001)
    spread = z * z * (null + 4 * noise * theta / n)
    low, high = (
        leading * theta**2 - 2 * t * theta + t * t <= spread for t in (statistic, max(statistic, 0))
    )
    return theta[low].min() if statistic > 0 and low.any() else 0.0, theta[high].max()


def slow_ends(y, p, b, level):
    """The ends for independent rows in bins `b`."""
    u, v, n = y - p, p * (1 - p), y.size
    size = np.bincount(b)
    filled = size > 0
    mean = np.bincount(b, u)[filled] / size[filled]
    parts = [(u[b == k], v[b == k]) for k in np.flatnonzero(filled)]
    size, squares = size[filled], mean**2
    variance = np.array([part.var(ddof=1) if part.size > 1 else 0.0 for part, _ in parts])
    statistic = (
        sum(
            (part.sum() ** 2 - (part**2).sum()) / (part.size - 1)
            for part, _ in parts
            if part.size > 1
        )
        / n
    )
    null = (
        sum(2 * (q.sum() ** 2 - (q**2).sum()) / (q.size - 1) ** 2 for _, q in parts if q.size > 1)
        / n**2
    )
    along = (size * squares * variance).sum() / (size * squares).sum()
    noise = max(along, (u**2).mean() - statistic)
    unevenness = (size / n * squares**2).sum() / (size / n @ squares) ** 2 - 1
    return statistic, *score_ends(statistic, null, noise, unevenness, n, level)


@pytest.mark.parametrize(("slope", "level"), [(0.3, 0.9), (0.2, 0.8), (1.0, 0.95)])
def test_the_set_in_given_bins_has_the_ends_of_its_definition(slope, level):
    d = simulate.binary(400, distortion=simulate.Logit(slope=slope), seed=2)
    y, p = d.y_true, d.y_prob
    found = ece_interval(y, p, bins=4, level=level, squared=True, seed=0)
    statistic, low, high = slow_ends(y, p, np.minimum((p * 4).astype(int), 3), level)
    assert found.estimate == pytest.approx(statistic)
    assert (found.low, found.high) == pytest.approx(
        (0 if found.includes_zero else low, high), abs=2e-6
    )
    assert found.includes_zero == (slope == 1)


def slow_clustered_ends(y, p, w, b, cluster, level):
    """The same for rows in clusters: every sum of the docstrings, with loops."""
    u, w, n = y - p, w / w.mean(), y.size
    names, bins = np.unique(cluster), np.unique(b)
    at = {(k, g): (b == k) & (cluster == g) for k in bins for g in names}
    S, N, V = (
        np.array([[part[at[k, g]].sum() for g in names] for k in bins])
        for part in (w * u, w, w * w * p * (1 - p))
    )
    size, pairs = N.sum(axis=1), N.sum(axis=1) ** 2 - (N**2).sum(axis=1)
    c = np.where(pairs > 1e-12, size / w.sum() / np.maximum(pairs, 1e-12), 0)
    statistic = c @ (S.sum(axis=1) ** 2 - (S**2).sum(axis=1))
    kernel = S.T @ (c[:, None] * S)
    signs = 2 * ((kernel**2).sum() - (np.diag(kernel) ** 2).sum())
    labels = 2 * (c**2 @ (V.sum(axis=1) ** 2 - (V**2).sum(axis=1)))
    own = len({(k, g) for k, g in zip(b, cluster, strict=True)}) == n
    error, rest = np.empty(n), np.empty(n)
    for i in range(n):
        same, others = b == b[i], (b == b[i]) & (cluster != cluster[i])
        error[i] = np.average(u[same], weights=w[same])
        rest[i] = u[i] - (np.average(u[others], weights=w[others]) if others.any() else 0)
        rest[i] *= w[i] * (np.sqrt(1 - w[i] / w[same].sum()) if own else 1)
    along = [(error * rest)[cluster == g].sum() ** 2 for g in names]
    noise = max(
        sum(along) / (w * error**2).sum(), sum(rest[some].sum() ** 2 for some in at.values()) / n
    )
    square = np.average(error**2, weights=w)
    unevenness = sum((w * (error**2 - square))[cluster == g].sum() ** 2 for g in names) / (
        n * square**2
    )
    return statistic, *score_ends(statistic, max(signs, labels), noise, unevenness, n, level)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("clusters", "level"), [(6, 0.8), (12, 0.95), (None, 0.95)])
def test_the_set_of_clusters_has_the_ends_of_its_definition(weighted, clusters, level):
    n = 60 if clusters else 36
    rng = np.random.default_rng(clusters or 200)
    p = rng.uniform(0.05, 0.95, n)
    y = (rng.random(n) < p**3).astype(int)
    cluster = rng.integers(0, clusters, n) if clusters else np.arange(n)
    w = rng.uniform(0.3, 3, n) if weighted else np.ones(n)
    weights = {"sample_weight": w, "weight_type": "importance"} if weighted else {}
    found = ece_interval(
        y, p, cluster=cluster, bins=3, squared=True, level=level, seed=0, **weights
    )
    statistic, low, high = slow_clustered_ends(
        y, p, w, np.minimum((p * 3).astype(int), 2), cluster, level
    )
    assert found.estimate == pytest.approx(statistic)
    assert found.high == pytest.approx(high, abs=2e-6)
    assert found.low == pytest.approx(0 if found.includes_zero else low, abs=2e-6)


def test_rows_without_any_error_have_the_noise_of_their_labels():
    y, p = np.tile([0, 1], 30), np.full(60, 0.5)  # the mean residual is exactly 0
    found = ece_interval(y, p, cluster=np.arange(60), bins=1, squared=True, level=0.9, seed=0)
    null = 2 * 60 * 59 * 0.25**2 / (60 * 59) ** 2  # all products of two rows are ±1/4
    assert found.high == pytest.approx(
        score_ends(found.estimate, null, 0.25 * 60 / 59, 0.0, 60, 0.9)[1], abs=2e-6
    )


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    d = simulate.binary(n, distortion=simulate.Logit(slope=0.5), seed=rng)
    return d.y_true, d.y_prob, rng.lognormal(0, 1, n)


def weighted(y, p, w, **options):
    how = {"seed": 3, "bins": 5, "sample_weight": w, "weight_type": "importance"}
    return ece_interval(y, p, squared=True, **(how | options))


def same_numbers(one, other):
    assert (one.estimate, one.low, one.high) == pytest.approx(
        (other.estimate, other.low, other.high), rel=1e-9
    )
    assert one.includes_zero == other.includes_zero


def test_neither_unit_nor_order_nor_weights_of_zero_change_a_weighted_set():
    y, p, w = rows()
    order, found = np.random.default_rng(1).permutation(y.size), weighted(y, p, w)
    assert weighted(y[order], p[order], w[order]) == found
    for unit in (3, 1e-4):
        same_numbers(weighted(y, p, unit * w), found)
    w = np.ceil(w)  # whole numbers, too, whose cuts by mass were those of counts
    for bins in (None, 5, tn.EqualMass(7)):
        one, other, found = (weighted(y, p, unit * w, bins=bins) for unit in (1, 3, 0.1))
        same_numbers(one, found)
        same_numbers(other, found)
        expected = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=bins)
        assert found.estimate == pytest.approx(expected, abs=1e-14)
    options = {"weight_type": "importance", "measure": "squared_ece"}
    one, other = (
        tn.compare(y, {"a": p, "b": p**2}, sample_weight=w * c, **options).pairs[0]
        for c in (1, 0.1)
    )
    assert (one.difference, one.pvalue) == pytest.approx((other.difference, other.pvalue), rel=1e-9)
    y, p, w = rows()
    found = weighted(y, p, w)
    some = np.where(np.arange(y.size) % 3, w, 0)
    assert weighted(y, p, some) == weighted(y[some > 0], p[some > 0], some[some > 0])
    same_numbers(
        weighted(y, p, np.full(y.size, 0.5)),
        ece_interval(y, p, cluster=np.arange(300), squared=True, seed=3, bins=5),
    )
    assert weighted(y, p, w, cluster=np.arange(300)) == found
    assert weighted(y, p, w, cluster=np.arange(300) // 3).high != found.high
    expected = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=5)
    assert found.estimate == pytest.approx(expected, abs=1e-14)


@pytest.mark.filterwarnings("error::trueness.TruenessWarning")
def test_few_rows_by_weight_are_a_warning():
    y, p, w = rows(8)
    with pytest.warns(
        tn.errors.FewClustersWarning,
        match=r"There are 8 rows by `sample_weight`, worth 3\.\d of equal weight",
    ):
        weighted(y, p, w, bins=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "analytic"},
            "`weight_type='importance'` is only accepted by `method='score'`; 'analytic' needs",
        ),
        (
            {"weight_type": "survey"},
            "`weight_type` must be 'auto', 'frequency' or 'importance'; got 'survey'",
        ),
        ({"k": 2}, "`k` must be 1; got 2"),
    ],
)
def test_options_that_conflict_with_importance_weights_are_refused(options, message):
    with pytest.raises(tn.InputError, match=message):
        weighted(*rows(), **options)
    with pytest.raises(tn.InputError, match="needs labels and scores; a Tally holds only sums"):
        ece_interval(tn.tally([0, 1], [0.2, 0.6]), weight_type="importance")


# ---- default cells


@pytest.mark.parametrize(
    ("n", "coarse", "fine"),
    [(2, 1, 1), (8, 4, 4), (10, 5, 5), (60, 5, 14), (300, 10, 41), (5000, 30, 254)],
)
def test_the_default_set_has_the_lower_end_of_coarse_and_the_upper_end_of_fine_cells(
    n, coarse, fine
):
    p = (np.arange(n) + 0.5) / n
    y = (np.random.default_rng(n).random(n) < 0.9 - 0.8 * p).astype(int)  # the wrong way round
    found = ece_interval(y, p, level=0.8, seed=0)
    assert found.bins.startswith(f"MassAndWidth(mass={coarse}, width={coarse})")
    rules = tn.measure.MassAndWidth(coarse, coarse), tn.measure.MassAndWidth(fine, coarse)
    low, high = (ece_interval(y, p, bins=rule, level=0.8, seed=0) for rule in rules)
    if n >= 60:  # labels are not few, and calibration is refuted
        assert (found.low, found.estimate) == pytest.approx((low.low, low.estimate), rel=1e-12)
        assert (found.high, found.finer) == pytest.approx((high.high, high.estimate), rel=1e-12)


def test_scores_that_are_repeated_and_few_are_cells_of_their_own():
    """At most twice as many scores as cells cut by mass and width, and two rows for each on average."""
    equal = set()
    for size, repeats in [(11, 4), (12, 4), (13, 4), (9, 1), (9, 2)]:
        p = np.repeat((np.arange(size) + 0.5) / size, repeats)
        mass = max(1, min(max(5, round(p.size**0.4)), p.size // 2))
        cells = tn.measure.MassAndWidth(mass, mass).group(tn.tally(p > 0.5, p).parts[0]).start
        few, found = (
            2 * np.unique(cells[:-1]).size,
            ece_interval(np.arange(p.size) % 2, p, seed=0).bins,
        )
        assert found.startswith("Distinct()") == (repeats > 1 and size <= few), (size, repeats)
        equal.add(size == few)
    assert equal == {False, True}
    p = np.random.default_rng(0).integers(0, 21, 1000) / 20
    found = ece_interval(np.random.default_rng(1).random(1000) < p, p, seed=0)
    assert (found.bins, found.finer) == ("Distinct(): 21 bins with rows", found.estimate)


def test_errors_of_both_signs_do_not_cancel_in_bimodal_scores():
    """Gaussian naive Bayes: equal-mass cells joined the scores between, and the set contained zero."""
    x, y = load_breast_cancer(return_X_y=True)
    train, test, known, unknown = train_test_split(x, y, test_size=0.5, random_state=0)
    found = ece_interval(unknown, GaussianNB().fit(train, known).predict_proba(test)[:, 1], seed=0)
    assert not found.includes_zero
    assert found.estimate == pytest.approx(0.13, abs=0.01)
    assert found.low > 0.05


# ---- few events


def limits_by_hand(y, p, b, alpha):
    """The exact limits, row by row: the rarer class, or the less probable label of each bin if that is rarer."""
    n, of_bin = y.size, [np.flatnonzero(b == k) for k in np.unique(b)]
    unlikely = np.empty(n, int)
    for some in of_bin:
        unlikely[some] = 0 if p[some].mean() > 0.5 else 1
    surprises, events = (y == unlikely).sum(), y.sum()
    rarer = unlikely if surprises < min(events, n - events) else np.full(n, int(events <= n / 2))
    score, count = np.where(rarer == 1, p, 1 - p), (y == rarer).sum()
    low = beta.ppf(alpha / 2, count, n - count + 1) if count else 0.0
    high = beta.isf(alpha / 2, count + 1, n - count)
    reach = max(max(min(1, n * high / some.size) - 2 * score[some].mean(), 0) for some in of_bin)
    away = max(low - score.mean(), score.mean() - high, 0)
    return away**2, (score**2).mean() + high * reach, count


@pytest.mark.parametrize(
    ("p", "events"),
    [
        ([0.01, 0.02, 0.05, 0.1], [0, 0, 1, 1]),
        ([0.9, 0.95, 0.97, 0.99], [19, 20, 20, 20]),
        ([0.01, 0.03, 0.98, 0.99], [0, 1, 19, 20]),  # confident and right
        ([0.01, 0.03, 0.98, 0.99], [20, 19, 1, 0]),  # and wrong: the labels are not few
        ([0.6, 0.7, 0.8, 0.9], [0, 0, 0, 0]),
        ([0.1, 0.2, 0.3, 0.4], [20, 20, 20, 20]),
        ([0.2, 0.3, 0.5, 0.55], [0, 0, 1, 20]),  # at one half the event is the surprise
        ([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 2]),  # three are not few
    ],
)
def test_fewer_than_three_rows_of_the_rarer_label_have_exact_limits(p, events):
    p, y = np.repeat(p, 20), np.concatenate([np.arange(20) < k for k in events]).astype(int)
    for edges in ([0, 1], [0, 0.25, 0.75, 1], [0, 0.025, 0.15, 0.6, 0.96, 1]):
        b = np.searchsorted(edges[1:-1], p, side="right")
        found = ece_interval(y, p, bins=edges, level=0.9, squared=True, seed=0)
        exact_low, exact_high, rarer = limits_by_hand(y, p, b, 0.1)
        statistic, low, high = slow_ends(y, p, b, 0.9)
        assert bool(found.note) == (rarer < 3)
        if rarer < 3:
            low, high = exact_low, exact_high if rarer == 0 else max(high, exact_high)
        low, high = min(low, max(statistic, 0)), max(high, statistic)
        assert found.high == pytest.approx(high, abs=2e-6)
        assert found.low == pytest.approx(0 if found.includes_zero else low, abs=2e-6)


@pytest.mark.parametrize(("y", "p"), [([1] * 25, 1.0), ([0] * 60, 1e-4), ([1] * 60, 1 - 1e-4)])
def test_rows_of_one_class_with_one_score_have_the_clopper_pearson_limit(y, p):
    found = ece_interval(y, [p] * len(y), level=0.9, seed=0)
    assert (found.includes_zero, found.low) == (True, 0)
    limit = binomtest(0, len(y)).proportion_ci(0.9).high
    assert found.high == pytest.approx(limit - min(p, 1 - p), abs=1e-12)
    assert found.note == f"Exact binomial limits: one class has 0 of {len(y)} rows."
    if p == 1:
        assert found.high == pytest.approx(0.1129, abs=1e-4)  # as documented


@pytest.mark.parametrize("bins", [None, 2, 10, tn.Distinct()])
def test_confident_scores_that_are_always_right_have_exact_limits(bins):
    """Half the rows 0, half 1: rates of 2.4 % in one half are possible, as (1 - 0.0122)^300 = 0.025."""
    y = np.repeat([0, 1], 150)
    found = ece_interval(y, y.astype(float), bins=bins, seed=0)
    assert found.includes_zero
    assert found.high == pytest.approx(0.0173, abs=1e-4)
    assert found.note == "Exact binomial limits: 0 of 300 labels are the less probable one."


def test_one_class_that_contradicts_its_scores_is_rejected_with_exact_limits():
    found = ece_interval([0] * 60, [0.9] * 60, seed=0)
    assert not found.includes_zero
    assert (found.low, found.high) == pytest.approx(
        (0.9 - binomtest(0, 60).proportion_ci(0.95).high, 0.9)
    )


def test_dependent_and_weighted_rows_count_as_fewer():
    y, p = np.zeros(60, int), np.full(60, 1e-4)
    found = ece_interval(y, p, cluster=np.arange(60) // 2, seed=0)
    assert found.high == pytest.approx(binomtest(0, 30).proportion_ci(0.95).high - 1e-4)
    p, y, w = (
        np.linspace(0.02, 0.4, 80),
        np.arange(80) >= 79,
        np.random.default_rng(0).lognormal(0, 0.3, 80),
    )
    found = weighted(y, p, w, bins=None)
    assert found.note == f"Exact binomial limits: one class has {w[-1] / w.mean():.6g} of 80 rows."
    same_numbers(weighted(y, p, 3.7 * w, bins=None), found)


# ---- few distinct scores


def end_of_squares(p, rows, events, level):
    """The upper end, if every score is its own cell, from the distribution of the sum of squares."""
    n, rate, null = rows.sum(), events / rows, p * (1 - p)
    gap, own = rate - p, rate * (1 - rate) * rows / (rows - 1)
    bias = (null * rows / (rows - 1)).sum() / n
    statistic = (rows * (gap**2 - own / rows)).sum() / n
    variance = 2 * (null**2 * rows / (rows - 1)).sum() / n**2
    square = (rows * gap**2).sum() / n
    fixed = max(
        (rows * gap**2 * own).sum() / n / square,
        (rows * (rate - 2 * rate * p + p * p)).sum() / n - statistic,
    )
    uneven = (rows * gap**4).sum() / n / square**2 - 1
    beyond = np.maximum(rows * gap**2 - null, 0)
    beyond = beyond / beyond.sum() if beyond.any() else rows * gap**2 / n / square
    scale = variance / (2 * bias)
    observed = max(statistic + bias, scale * chi2.ppf(0.05, bias / scale))

    def beyond_level(theta):
        moved = np.clip(p + gap * np.sqrt(theta / square), 0, 1)
        noise = max(fixed, beyond @ (moved * (1 - moved)))
        spread = (variance + (4 * noise * theta + uneven * theta**2) / n) / (2 * bias + 4 * theta)
        tail = norm.cdf(-student.ppf((1 + level) / 2, 30))
        return ncx2.cdf(observed / spread, bias / spread, theta / spread) - tail

    return brentq(beyond_level, 1e-12, 1, xtol=1e-15)


@pytest.mark.parametrize(
    ("p", "rows", "events"),
    [
        ([0.5], [100], [57]),
        ([0.3], [80], [24]),
        ([0.2, 0.6], [40, 90], [7, 57]),
        ([0.05, 0.1, 0.3, 0.8], [60, 50, 30, 20], [8, 6, 10, 9]),
        ([0.2, 0.45, 0.9], [40, 2, 30], [12, 1, 22]),
    ],
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_upper_end_of_few_scores_is_that_of_a_noncentral_chi_square(p, rows, events, level):
    if np.array_equal(events, np.multiply(rows, p)):
        level = 0.95  # at lower ones the end is that of the luckiest calibrated rows
    y = np.concatenate([np.arange(n) < k for n, k in zip(rows, events, strict=True)]).astype(int)
    found = ece_interval(y, np.repeat(p, rows), level=level, squared=True, seed=0)
    p, rows, events = map(np.asarray, (p, rows, events))
    if (events == rows * p).all():
        events = events + 1e-9  # a rate that equals its score is wrong towards 1/2, if at all
    assert found.high == pytest.approx(end_of_squares(p, rows, events, level), rel=1e-6)


def test_the_upper_end_of_one_score_is_about_that_of_the_binomial():
    """57 of 100 events for 0.5: the exact binomial limits allow a gap of 0.17, normal ones of the square 0.217."""
    y, p = np.repeat([1, 0], [57, 43]), np.full(100, 0.5)
    assert ece_interval(y, p, seed=0).high == pytest.approx(0.17, abs=0.01)
    # Clusters of one row each have the normal ends.
    assert ece_interval(y, p, cluster=np.arange(100), seed=0).high == pytest.approx(
        0.217, abs=0.001
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "values", [[0.5], [0.05, 0.08], [0.1, 0.3, 0.5, 0.7, 0.9], np.linspace(0.02, 0.1, 11)]
)
@pytest.mark.parametrize("shift", [0.3, 0.8])
def test_few_scores_are_covered_by_the_upper_end(values, shift):
    """At least 0.96 of the upper ends of sets of level 0.95 hold."""
    values, rng, runs, held = np.asarray(values), np.random.default_rng(3), 400, 0
    truth = 1 / (1 + (1 / values - 1) * np.exp(-shift))
    for _ in range(runs):
        at = rng.integers(0, values.size, 600)
        y = (rng.random(600) < truth[at]).astype(int)
        held += ece_interval(y, values[at], seed=rng).high >= np.sqrt(
            np.mean((truth - values) ** 2)
        )
    assert held >= binom.ppf(1e-3, runs, 0.96)


# ---- coverage


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
        found = weighted(d.y_true[kept], d.y_prob[kept], w, level=0.9, seed=rng, bins=None)
        hits += d.true_squared_ece() in found
    # A method that covered 0.87 would fail in one of some thousand such tests.
    assert hits >= binom.ppf(2e-4, runs, 0.87)
    assert hits <= binom.isf(2e-4, runs, 0.97)


def bump(law, n, rng, share=0.03, height=0.35):
    """Scores of a Beta law, and the truth: too high or too low by `height` over a share of the rows."""
    low, high = np.quantile(
        np.random.default_rng(7).beta(*law, 100_000), [0.7 - share / 2, 0.7 + share / 2]
    )
    p = rng.beta(*law, n)
    return p, p + np.where(high < 0.6, 1, -1) * height * ((low <= p) & (p <= high))


def one_value_off(_, n, rng):
    p = rng.integers(0, 21, n) / 20
    return p, np.where(p == 0.8, 0.55, p)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "law", "n"),
    [
        (bump, (1, 1), 1500),
        (bump, (0.3, 3), 6000),
        (bump, (20, 1), 400),
        (one_value_off, None, 1000),
    ],
)
def test_local_errors_are_covered(make, law, n):
    """Equal-mass cells alone covered 0.75, 0.26, 0.55 and 0.74."""
    p, truth = make(law, 200_000, np.random.default_rng(1))
    error, hits, runs = float(np.sqrt(np.mean((truth - p) ** 2))), 0, 150
    for i in range(runs):
        rng = np.random.default_rng([2, i])
        p, truth = make(law, n, rng)
        hits += error in ece_interval((rng.random(n) < truth).astype(int), p, level=0.9, seed=i)
    assert hits / runs >= 0.88 - 3 * (0.1 / runs) ** 0.5


LAWS = {
    "uniform": {},
    "rare": {"scores": simulate.Beta(0.3, 60)},
    "confident": {"scores": simulate.Beta(12, 0.25)},
    "very confident": {"scores": simulate.Beta(50, 1)},
    "two digits": {"scores": simulate.Discrete(np.arange(101) / 100)},
}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "runs"), [(50, 600), (400, 400)])
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_zero_and_other_errors_are_covered(law, wrong, n, runs):
    shift = {"distortion": simulate.Logit(shift=1.0 if law == "rare" else -0.8)} if wrong else {}
    truth, least = (
        simulate.binary(n, seed=0, **shift, **LAWS[law]).true_ece("l2"),
        0.88 if wrong else 0.9,
    )
    held = 0
    for seed in range(runs):
        d = simulate.binary(n, seed=seed, **shift, **LAWS[law])
        held += truth in ece_interval(d.y_true, d.y_prob, level=0.9, seed=seed + 10**6)
    assert held / runs > least - 4 * np.sqrt(least * (1 - least) / runs)
