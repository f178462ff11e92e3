"""Area under the ROC curve and its limits: all pairs, R's answers, DeLong by hand, laws, simulated coverage."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from scipy.stats import beta, t

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def limits(y, p, level=0.95, w=None, cluster=None):
    """Value, limits and standard error."""
    found = tn.estimate("auc", y, p, level=level, sample_weight=w, cluster=cluster)
    return found.value, found.low, found.high, found.standard_error


def some_rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 1)
    return (rng.random(n) < p).astype(int), p


def all_pairs(y, p):
    """Whether each event (rows) is above each non-event (columns); half for a tie."""
    events, others = p[y == 1][:, None], p[y == 0][None, :]
    return (events > others) + (events == others) / 2


def test_the_c_of_val_prob_is_the_area_of_truncated_scores_between_0_and_1(clinical):
    for name, (y, p, r) in clinical.items():
        inside = (p > 0) & (p < 1)
        y, p = y[inside], p[inside]
        # rms truncates scores to multiples of 0.0002, which ties some pairs.
        assert tn.auc(y, np.floor(p * 5000) / 5000) == pytest.approx(
            r["val_prob"]["C (ROC)"], abs=1e-12
        ), name
        assert tn.auc(y, p) == pytest.approx(r["val_prob"]["C (ROC)"], abs=2e-4), name


def test_an_increasing_map_changes_neither_the_area_nor_its_limits():
    y, p = some_rows()
    assert limits(y, p) == limits(y, p**3)


def test_copies_in_clusters_change_nothing():
    y, p = some_rows(400)
    alone = limits(y, p, cluster=np.arange(400))
    assert alone == pytest.approx(limits(y, p), abs=0.002)
    assert limits(
        np.tile(y, 5), np.tile(p, 5), cluster=np.tile(np.arange(400), 5)
    ) == pytest.approx(alone, rel=1e-9)


def test_a_class_that_is_absent_leaves_no_area():
    with pytest.warns(tn.errors.NoEstimateWarning, match="events and non-events"):
        assert math.isnan(tn.auc([0, 0], [0.2, 0.3]))


def test_separated_classes_have_the_limit_of_as_many_pairs():
    assert limits([0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.8, 0.9])[:3] == pytest.approx(
        (1, 0.025**0.5, 1)
    )
    turned = limits([1, 1, 1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.8, 0.9])
    assert turned[:3] == pytest.approx((0, 0, 1 - 0.025**0.5), abs=1e-12)


def test_a_matrix_averages_its_classes_and_top_scores_are_ranked_by_correctness():
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    each = [tn.auc(y == k, matrix[:, k]) for k in range(3)]
    assert tn.auc(y, matrix) == pytest.approx(np.mean(each))
    right = y == matrix.argmax(axis=1)
    assert tn.auc(y, matrix, kind="confidence") == tn.auc(right, matrix.max(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rate", "area", "clustered"),
    [
        *(
            (n, rate, area, False)
            for n in (100, 1000)
            for rate in (0.1, 0.5)
            for area in (0.6, 0.8, 0.95, 0.99)
        ),
        *((n, 0.3, area, True) for n in (100, 500) for area in (0.6, 0.9)),
    ],
)
def test_the_limits_cover(n, rate, area, clustered):
    """The area of normal scores whose difference has standard deviation √2."""
    rng, runs = np.random.default_rng(0), 600
    distance, hits = math.sqrt(2) * ndtri(area), 0
    y, cluster = (
        (np.arange(n) < round(rate * n)).astype(int),
        np.arange(n) % (n // 5) if clustered else None,
    )
    for _ in range(runs):
        x = rng.normal(size=n)
        if clustered:  # rows of a cluster share half of their variance, whatever their class
            x = math.sqrt(0.5) * (x + rng.normal(size=n // 5)[cluster])
        _, low, high, _ = limits(y, 1 / (1 + np.exp(-x - distance * y)), cluster=cluster)
        hits += low <= area <= high
    assert hits / runs > 0.93 - 3 * math.sqrt(0.05 * 0.95 / runs)


def limits_by_formula(auc, variance, events, others, level, freedom=math.inf, pseudo=1.0):
    """Limits of the log-odds of the area, within the exact ones of as many pairs as the smaller class has rows."""
    tail, pairs = (1 - level) / 2, min(events, others)
    added = variance + pseudo * auc * (1 - auc) * (1 / events**2 + 1 / others**2)
    quantile = -ndtri(tail) if math.isinf(freedom) else t.isf(tail, freedom)
    reach = quantile * math.sqrt(added) / (auc * (1 - auc))
    agreeing = auc * pairs
    exact = (
        beta.ppf(tail, agreeing, pairs - agreeing + 1),
        beta.isf(tail, agreeing + 1, pairs - agreeing),
    )
    return max(exact[0], expit(logit(auc) - reach)), min(exact[1], expit(logit(auc) + reach))


@pytest.mark.parametrize("level", [0.6, 0.99])
@pytest.mark.parametrize("n", [8, 60])
def test_the_limits_are_those_of_all_pairs(n, level):
    y, p = some_rows(n, seed=3)
    pairs = all_pairs(y, p)
    v, w = pairs.mean(axis=1), pairs.mean(axis=0)
    value, low, high, error = limits(y, p, level)
    variance = v.var(ddof=1) / v.size + w.var(ddof=1) / w.size
    assert tn.auc(y, p) == value
    assert (value, error) == pytest.approx((pairs.mean(), math.sqrt(variance)), rel=1e-12)
    assert (low, high) == pytest.approx(
        limits_by_formula(pairs.mean(), variance, *pairs.shape, level)
    )


def weighted_variance(y, p, w):
    """Area, variance and effective numbers of events and of others."""
    pairs, a, b = all_pairs(y, p), w[y == 1], w[y == 0]
    area = a @ pairs @ b / (a.sum() * b.sum())
    events, others = a.sum() ** 2 / (a @ a), b.sum() ** 2 / (b @ b)
    of_events = a**2 @ (pairs @ b / b.sum() - area) ** 2 / a.sum() ** 2 * events / (events - 1)
    of_others = b**2 @ (a @ pairs / a.sum() - area) ** 2 / b.sum() ** 2 * others / (others - 1)
    return area, of_events + of_others, events, others


@pytest.mark.parametrize("few", [False, True])
def test_the_limits_of_fractional_weights_are_those_of_the_formula(few):
    """Weights have at least one degree of freedom."""
    y, p = some_rows(40, seed=3)
    w = np.random.default_rng(2).choice([0.5, 1.5, 2.25], y.size)
    if few:
        y, p, w = (
            np.array([0, 1, 0, 1]),
            np.array([0.2, 0.3, 0.4, 0.5]),
            np.array([0.5, 0.5, 0.25, 10.5]),
        )
    area, variance, events, others = weighted_variance(y, p, w)
    expected = limits_by_formula(
        area, variance, events, others, 0.6, max(1.0, w.sum() ** 2 / (w @ w) - 1)
    )
    assert limits(y, p, 0.6, w) == pytest.approx((area, *expected, math.sqrt(variance)))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_limits_of_clusters_are_those_of_the_formula(weighted):
    y, p = some_rows(60, seed=3)
    rng = np.random.default_rng(2)
    cluster = np.unique(np.sort(rng.integers(0, 9, y.size) ** 2 // 8), return_inverse=True)[1]
    w = rng.choice([0.5, 1.5, 2.25], y.size) if weighted else np.ones(y.size)
    pairs, a, b = all_pairs(y, p), w[y == 1], w[y == 0]
    area = a @ pairs @ b / (a.sum() * b.sum())
    part = np.empty(y.size)
    part[y == 1] = a * (pairs @ b / b.sum() - area) / a.sum()
    part[y == 0] = b * (a @ pairs / a.sum() - area) / b.sum()
    sums, g = np.bincount(cluster, part), cluster.max() + 1
    variance = sums @ sums * g / (g - 1)
    totals = [np.bincount(cluster, one, g) for one in (w * y, w * (1 - y), w)]
    events, others, units = (one.sum() ** 2 / (one @ one) for one in totals)
    expected = limits_by_formula(area, variance, events, others, 0.9, units - 1, 0.25)
    found = limits(y, p, 0.9, w if weighted else None, cluster)
    assert found == pytest.approx((area, *expected, math.sqrt(variance)))


@pytest.mark.parametrize(
    ("y", "variance", "area"),
    [
        # One placement 2/3 of the event, whose variance is the largest it may have; those of the others: 1, 1 and 0.
        ([0, 0, 1, 0], 2 / 9 + np.var([1, 1, 0], ddof=1) / 3, 2 / 3),
        (
            [0, 0, 1, 0, 1, 0],
            np.var([2 / 4, 3 / 4], ddof=1) / 2 + np.var([1, 1, 0.5, 0], ddof=1) / 4,
            0.625,
        ),
    ],
)
def test_one_or_two_events_by_hand(y, variance, area):
    _, low, high, error = limits(y, np.arange(1, len(y) + 1) / 10, 0.9)
    assert error == pytest.approx(math.sqrt(variance))
    assert (low, high) == pytest.approx(
        limits_by_formula(area, variance, sum(y), len(y) - sum(y), 0.9)
    )


def test_two_clusters_have_one_degree_of_freedom():
    """Placements 1/3, 2/3, 1 of the events and 1, 2/3, 1/3 of the others: both sums of clusters are 0."""
    _, low, high, error = limits(
        [0, 1, 0, 1, 0, 1], np.arange(1, 7) / 10, 0.6, cluster=[0, 0, 0, 1, 1, 1]
    )
    assert error == pytest.approx(0, abs=1e-9)
    # Events and others in the two clusters: 1 and 2, 2 and 1.
    assert (low, high) == pytest.approx(limits_by_formula(2 / 3, 0.0, 9 / 5, 9 / 5, 0.6, 1.0, 0.25))
