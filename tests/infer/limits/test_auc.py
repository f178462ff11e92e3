"""Area under the ROC curve and its limits: all pairs, R's answers, DeLong by hand, laws, simulated coverage."""

import csv
import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from scipy.stats import beta, t

import trueness as tn
from trueness._input.sample import Sample
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer.limits._auc import auc_interval

DATA = Path(os.environ.get("TRUENESS_DATA", ""))
CLINICAL = DATA / "clinical_r.json"

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def some_rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 1)
    return (rng.random(n) < p).astype(int), p


def all_pairs(y, p):
    """Whether each event (rows) is above each non-event (columns); half for a tie."""
    events, others = p[y == 1][:, None], p[y == 0][None, :]
    return (events > others) + (events == others) / 2


def test_the_area_and_its_standard_error_are_those_of_all_pairs():
    y, p = some_rows()
    pairs = all_pairs(y, p)
    found = auc_interval(cells_of(y, p), 0.95)
    v, w = pairs.mean(axis=1), pairs.mean(axis=0)
    assert tn.auc(y, p) == found.value == pytest.approx(pairs.mean(), rel=1e-12)
    assert found.standard_error**2 == pytest.approx(v.var(ddof=1) / v.size + w.var(ddof=1) / w.size, rel=1e-12)
    assert 0 < found.low < found.value < found.high < 1


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
def test_the_c_of_val_prob_is_the_area_of_truncated_scores_between_0_and_1():
    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(line["set"], []).append((int(line["y"]), float(line["p"])))
    for name, r in json.loads(CLINICAL.read_text(encoding="utf-8")).items():
        y, p = map(np.array, zip(*rows[name], strict=True))
        inside = (p > 0) & (p < 1)
        y, p = y[inside], p[inside]
        # rms truncates scores to multiples of 0.0002, which ties some pairs.
        assert tn.auc(y, np.floor(p * 5000) / 5000) == pytest.approx(r["val_prob"]["C (ROC)"], abs=1e-12), name
        assert tn.auc(y, p) == pytest.approx(r["val_prob"]["C (ROC)"], abs=2e-4), name


def test_an_increasing_map_changes_neither_the_area_nor_its_limits():
    y, p = some_rows()
    assert auc_interval(cells_of(y, p), 0.9) == auc_interval(cells_of(y, p**3), 0.9)


def test_weight_two_is_the_row_twice_and_equal_fractions_are_nearly_rows():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    repeated = auc_interval(cells_of(y.repeat(w), p.repeat(w)), 0.9)
    assert auc_interval(cells_of(y, p, w), 0.9) == pytest.approx(repeated, rel=1e-12)
    plain, half = auc_interval(cells_of(y, p), 0.9), auc_interval(cells_of(y, p, np.full(y.size, 0.5)), 0.9)
    assert half == pytest.approx(plain, abs=0.01)


def test_clusters_of_one_row_agree_with_rows_and_copies_in_clusters_change_nothing():
    y, p = some_rows(400)
    alone = auc_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(y.size)))
    assert alone == pytest.approx(auc_interval(cells_of(y, p), 0.95), abs=0.002)
    yy, pp, cluster = np.tile(y, 5), np.tile(p, 5), np.tile(np.arange(y.size), 5)
    copies = auc_interval(cells_of(yy, pp), 0.95, ClusteredRows(Sample(yy, pp, None), cluster))
    assert copies == pytest.approx(alone, rel=1e-9)


def test_a_class_that_is_absent_leaves_no_area():
    assert all(math.isnan(x) for x in auc_interval(cells_of([1, 1], [0.2, 0.3]), 0.95))
    with pytest.warns(tn.NoEstimateWarning, match="events and non-events"):
        assert math.isnan(tn.auc([0, 0], [0.2, 0.3]))


def test_separated_classes_have_the_limit_of_as_many_pairs():
    found = auc_interval(cells_of([0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.8, 0.9]), 0.95)
    assert found[:3] == pytest.approx((1, 0.025**0.5, 1))
    turned = auc_interval(cells_of([1, 1, 1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.8, 0.9]), 0.95)
    assert turned[:3] == pytest.approx((0, 0, 1 - 0.025**0.5), abs=1e-12)
    one = auc_interval(cells_of([0, 1, 0], [0.1, 0.2, 0.3]), 0.95)
    assert 0 <= one.low < 0.05
    assert 0.95 < one.high <= 1


def test_a_matrix_averages_its_classes_and_top_scores_are_ranked_by_correctness():
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    each = [tn.auc(y == k, matrix[:, k]) for k in range(3)]
    assert tn.auc(y, matrix) == pytest.approx(np.mean(each))
    right = y == matrix.argmax(axis=1)
    assert tn.auc(y, matrix, kind="confidence") == tn.auc(right, matrix.max(axis=1))


def coverage(runs, n, rate, area, *, clusters=False, seed=0):
    """How often the limits include the area of normal scores whose difference has standard deviation √2."""
    rng = np.random.default_rng(seed)
    distance = math.sqrt(2) * ndtri(area)
    hits = 0
    for _ in range(runs):
        y = np.zeros(n, int)
        y[: round(rate * n)] = 1
        x = rng.normal(size=n)
        rows = None
        if clusters:  # rows of a cluster share half of their variance, whatever their class
            cluster = np.arange(n) % (n // 5)
            x = math.sqrt(0.5) * (x + rng.normal(size=n // 5)[cluster])
        p = 1 / (1 + np.exp(-x - distance * y))
        if clusters:
            rows = ClusteredRows(Sample(y, p, None), cluster)
        found = auc_interval(cells_of(y, p), 0.95, rows)
        hits += found.low <= area <= found.high
    return hits / runs


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("area", [0.6, 0.8, 0.95, 0.99])
def test_the_limits_cover(n, rate, area):
    assert coverage(1000, n, rate, area) > 0.93 - 3 * math.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 500])
@pytest.mark.parametrize("area", [0.6, 0.9])
def test_the_limits_of_clustered_rows_cover(n, area):
    found = coverage(600, n, 0.3, area, clusters=True)
    assert abs(found - 0.955) < 0.025 + 3 * math.sqrt(0.05 * 0.95 / 600)


def limits_by_formula(auc, variance, events, others, level, freedom=math.inf, pseudo=1.0):
    """Limits of the log-odds of the area, within the exact ones of as many pairs as the smaller class has rows."""
    tail, pairs = (1 - level) / 2, min(events, others)
    added = variance + pseudo * auc * (1 - auc) * (1 / events**2 + 1 / others**2)
    quantile = -ndtri(tail) if math.isinf(freedom) else t.isf(tail, freedom)
    reach = quantile * math.sqrt(added) / (auc * (1 - auc))
    agreeing = auc * pairs
    exact = beta.ppf(tail, agreeing, pairs - agreeing + 1), beta.isf(tail, agreeing + 1, pairs - agreeing)
    return max(exact[0], expit(logit(auc) - reach)), min(exact[1], expit(logit(auc) + reach))


@pytest.mark.all_cases
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [8, 30, 200])
def test_the_limits_are_those_of_the_formula(n, level):
    y, p = some_rows(n, seed=3)
    pairs = all_pairs(y, p)
    v, w = pairs.mean(axis=1), pairs.mean(axis=0)
    found = auc_interval(cells_of(y, p), level)
    variance = v.var(ddof=1) / v.size + w.var(ddof=1) / w.size
    assert found[1:3] == pytest.approx(limits_by_formula(pairs.mean(), variance, *pairs.shape, level))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_limits_of_fractional_weights_are_those_of_the_formula(level):
    y, p = some_rows(40, seed=3)
    w = np.random.default_rng(2).choice([0.5, 1.5, 2.25], y.size)
    pairs, a, b = all_pairs(y, p), w[y == 1], w[y == 0]
    area = a @ pairs @ b / (a.sum() * b.sum())
    events, others = a.sum() ** 2 / (a @ a), b.sum() ** 2 / (b @ b)
    of_events = a**2 @ (pairs @ b / b.sum() - area) ** 2 / a.sum() ** 2 * events / (events - 1)
    of_others = b**2 @ (a @ pairs / a.sum() - area) ** 2 / b.sum() ** 2 * others / (others - 1)
    found = auc_interval(cells_of(y, p, w), level)
    freedom = w.sum() ** 2 / (w @ w) - 1
    assert found.value == pytest.approx(area)
    assert found.standard_error == pytest.approx(math.sqrt(of_events + of_others))
    expected = limits_by_formula(area, of_events + of_others, events, others, level, freedom)
    assert found[1:3] == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_limits_of_clusters_are_those_of_the_formula(level, weighted):
    y, p = some_rows(60, seed=3)
    rng = np.random.default_rng(2)
    cluster = np.sort(rng.integers(0, 9, y.size) ** 2 // 8)
    cluster = np.unique(cluster, return_inverse=True)[1]
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
    rows = ClusteredRows(Sample(y, p, w if weighted else None), cluster)
    found = auc_interval(cells_of(y, p, w if weighted else None), level, rows)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert found[1:3] == pytest.approx(limits_by_formula(area, variance, events, others, level, units - 1, 0.25))


def test_a_single_event_has_the_largest_variance_it_may_have():
    found = auc_interval(cells_of([0, 0, 1, 0], [0.1, 0.2, 0.3, 0.4]), 0.9)
    # One placement 2/3 of the event; those of the others are 1, 1 and 0.
    variance = 2 / 9 + np.var([1, 1, 0], ddof=1) / 3
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert found[1:3] == pytest.approx(limits_by_formula(2 / 3, variance, 1, 3, 0.9))


def test_a_single_cluster_says_nothing_about_the_area():
    y, p = some_rows(20)
    found = auc_interval(cells_of(y, p), 0.9, ClusteredRows(Sample(y, p, None), np.zeros(20, int)))
    assert found[1:3] == (0, 1)


def test_two_events_have_a_spread_of_their_own():
    y, p = np.array([0, 0, 1, 0, 1, 0]), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    v, w = np.array([2 / 4, 3 / 4]), np.array([1, 1, 0.5, 0])
    variance = v.var(ddof=1) / 2 + w.var(ddof=1) / 4
    found = auc_interval(cells_of(y, p), 0.9)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert found[1:3] == pytest.approx(limits_by_formula(0.625, variance, 2, 4, 0.9))


def test_two_clusters_have_one_degree_of_freedom():
    y, p = np.array([0, 1, 0, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    cluster = np.array([0, 0, 0, 1, 1, 1])
    # Placements 1/3, 2/3, 1 of the events and 1, 2/3, 1/3 of the others; the area is 2/3.
    sums = np.array([-1 / 3 + 1 / 3, 1 / 3 - 1 / 3]) / 3
    found = auc_interval(cells_of(y, p), 0.6, ClusteredRows(Sample(y, p, None), cluster))
    assert found.standard_error == pytest.approx(math.sqrt(2 * (sums**2).sum()), abs=1e-9)
    shares = [4 + 1, 1 + 4]  # events and others in the two clusters: 1 and 2, 2 and 1
    expected = limits_by_formula(2 / 3, 0.0, 9 / shares[0], 9 / shares[1], 0.6, 1.0, 0.25)
    assert found[1:3] == pytest.approx(expected)


def test_weights_have_at_least_one_degree_of_freedom():
    y, p, w = np.array([0, 1, 0, 1]), np.array([0.2, 0.3, 0.4, 0.5]), np.array([0.5, 0.5, 0.25, 10.5])
    a, b = w[y == 1], w[y == 0]
    pairs = all_pairs(y, p)
    area = a @ pairs @ b / (a.sum() * b.sum())
    events, others = a.sum() ** 2 / (a @ a), b.sum() ** 2 / (b @ b)
    assert w.sum() ** 2 / (w @ w) < 2
    variance = a**2 @ (pairs @ b / b.sum() - area) ** 2 / a.sum() ** 2 * events / (events - 1)
    variance += b**2 @ (a @ pairs / a.sum() - area) ** 2 / b.sum() ** 2 * others / (others - 1)
    found = auc_interval(cells_of(y, p, w), 0.6)
    assert found[1:3] == pytest.approx(limits_by_formula(area, variance, events, others, 0.6, 1.0))
