"""Confidence limits of the calibration intercept: R's answers, laws, extremes, simulated coverage."""

import csv
import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

import trueness as tn
from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer.limits import _shift as _shift_interval
from trueness.infer.limits._shift import shift_interval

DATA = Path(os.environ.get("TRUENESS_DATA", ""))
CLINICAL = DATA / "clinical_r.json"

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def some_rows(n=200, seed=0, shift=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(np.log(p / (1 - p)) + shift)).astype(int), p


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
def test_intercept_and_limits_are_those_of_r():
    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(line["set"], []).append((int(line["y"]), float(line["p"])))
    for name, r in json.loads(CLINICAL.read_text(encoding="utf-8")).items():
        y, p = map(np.array, zip(*rows[name], strict=True))
        found = shift_interval(cells_of(y, p), 0.95)
        assert found.shift == pytest.approx(r["intercept_offset"], abs=1e-6), name
        # R interpolates the profile by a spline, which moves its limits by up to 3e-5.
        assert (found.low, found.high) == pytest.approx(r["intercept_offset_profile"], abs=5e-5), name


def test_limits_are_where_the_likelihood_has_fallen_by_half_the_chi_squared_quantile():
    y, p = some_rows()
    x = np.log(p / (1 - p))
    grid = np.linspace(-2, 3, 5001)
    eta = x + grid[:, None]
    likelihood = (y * -np.logaddexp(0, -eta) + (1 - y) * -np.logaddexp(0, eta)).sum(axis=1)
    inside = grid[likelihood >= likelihood.max() - 3.841458820694124 / 2]
    found = shift_interval(cells_of(y, p), 0.95)
    assert (found.shift, found.low, found.high) == pytest.approx(
        (grid[likelihood.argmax()], inside[0], inside[-1]), abs=1.1e-3
    )


def test_weight_two_is_the_row_twice_and_swapping_the_classes_swaps_the_limits():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted, repeated = shift_interval(cells_of(y, p, w), 0.9), shift_interval(cells_of(y.repeat(w), p.repeat(w)), 0.9)
    assert weighted == pytest.approx(repeated, rel=1e-9)
    shift, low, high, error = shift_interval(cells_of(1 - y, 1 - p, w), 0.9)
    assert (-shift, -high, -low, error) == pytest.approx(tuple(weighted), rel=1e-8)


def test_many_rows_halved_weights_and_clusters_of_one_row_have_nearly_the_same_limits(monkeypatch):
    y, p = some_rows(2_000)
    plain = shift_interval(cells_of(y, p), 0.95)
    half = shift_interval(cells_of(y, p, np.full(y.size, 0.5)), 0.95)
    alone = shift_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(y.size)))
    monkeypatch.setattr("trueness.infer.limits._shift._MANY", 0)
    wald = shift_interval(cells_of(y, p), 0.95)
    for found in (half, alone, wald):
        assert tuple(found) == pytest.approx(tuple(plain), abs=0.03 * (plain.high - plain.low))


def test_pooled_scores_have_the_same_limits(monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.beta(0.3, 15, 20_000)
    y = (rng.random(p.size) < expit(np.log(p) - np.log1p(-p) - 1)).astype(int)
    pooled = shift_interval(cells_of(y, p), 0.95)
    monkeypatch.setattr("trueness.infer.limits._shift._MANY_SCORES", 10**6)
    assert tuple(pooled) == pytest.approx(tuple(shift_interval(cells_of(y, p), 0.95)), abs=1e-6)


@pytest.mark.parametrize("label", [0, 1])
def test_equal_labels_have_one_finite_limit(label):
    side = 1 if label else -1
    shift, low, high, _ = shift_interval(cells_of([label] * 50, np.linspace(0.2, 0.8, 50)), 0.95)
    assert math.isnan(shift)
    near, far = (low, high) if label else (high, low)
    assert far == side * math.inf
    # At the limit, labels that are all equal have probability 2.5 %.
    x = np.log(np.linspace(0.2, 0.8, 50) / np.linspace(0.8, 0.2, 50))
    assert np.logaddexp(0, -side * (x + near)).sum() == pytest.approx(-math.log(0.025), rel=1e-9)


@pytest.mark.parametrize("p", [[0.0, 1.0], [1e-300, 1e-300], [0.5, 1 - 2**-53]])
def test_scores_near_or_at_the_ends_do_no_harm(p):
    shift, low, high, _ = shift_interval(cells_of([0, 1], p), 0.95)
    assert (math.isnan(shift) and (low, high) == (-math.inf, math.inf)) or low < shift < high


@pytest.mark.slow
@pytest.mark.parametrize(("n", "scale"), [(100, 1.0), (1000, 0.1), (100, 0.1), (100, 0.065)])
def test_the_interval_covers_the_shift_as_often_as_stated(n, scale):
    rng, runs, missed = np.random.default_rng(5), 1000, 0
    for _ in range(runs):
        p = scale * rng.random(n)
        y = rng.random(n) < expit(np.log(p) - np.log1p(-p) - 0.5)
        found = shift_interval(cells_of(y.astype(int), p), 0.95)
        missed += not found.low <= -0.5 <= found.high
    tolerance = 3.5 * math.sqrt(0.05 * 0.95 / runs)
    assert missed / runs < 0.05 + tolerance
    if n * scale > 50:  # with two or three expected events there are often none, and the limit is exact
        assert missed / runs > 0.05 - tolerance


@pytest.mark.parametrize("length", [1, 2, 3])
def test_sums_of_runs_are_those_of_their_rows(monkeypatch, length):
    monkeypatch.setattr(_shift_interval, "_BLOCK", 6)
    x, w, e = np.linspace(-3, 3, 13), np.arange(1, 14), np.arange(13) % 3
    q = expit(x + 0.5)
    columns = w, e, w * q, w * (1 - q), w * q * (1 - q)
    expected = [[column[i : i + length].sum() for i in range(0, 13, length)] for column in columns]
    np.testing.assert_allclose(_shift_interval._run_sums(x, w, e, 0.5, length), expected, rtol=1e-12)


def test_two_weighted_rows_have_one_degree_of_freedom():
    """By hand: log-odds of 0, so that the information is Σw/4 and the meat Σw²/4; Student's t of 1."""
    cells = cells_of([0, 1], [0.5, 0.5], [0.7, 0.9])
    found = _shift_interval._precision(np.zeros(1), cells, 0.0, None)
    assert found == (pytest.approx(0.4**2 / ((0.7**2 + 0.9**2) / 4)), 1.0)


def test_runs_with_much_information_are_pooled_score_by_score(monkeypatch):
    """Ten of 100 scores have nearly all rows: pools must not join them with each other."""
    monkeypatch.setattr(_shift_interval, "_MANY_SCORES", 20)
    monkeypatch.setattr(_shift_interval, "_SHORT_RUN", 4)
    x, w = np.linspace(-2, 2, 101), np.ones(101, dtype=np.int64)
    w[40:50] = 1_000
    e = np.round(w * expit(x)).astype(np.int64)
    pooled, weight, events = _shift_interval._pool(x, w, e, 0.0)
    assert (weight.sum(), events.sum()) == (w.sum(), e.sum())
    assert pooled[weight >= 1_000][1:-1] == pytest.approx(x[41:49])
    assert (np.diff(pooled) > 0).all()
    assert weight @ expit(pooled) == pytest.approx(w @ expit(x), rel=1e-12)


def weighted_rows(seed, n=60):
    """Few distinct scores, 0 and 1 among them, weights that are not whole numbers, and clusters."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.1, 0.3, 0.45, 0.8, 0.95, 1.0], n)
    y = np.where((p > 0) & (p < 1), rng.random(n) < 0.4 + 0.3 * p, p > 0.5).astype(int)
    return y, p, rng.uniform(0.2, 3, n), rng.integers(0, 12, n)


def score_parts(y, p, w):
    """By brute force, from the rows strictly inside (0, 1): the shift, the information and the rows' scores."""
    inside = (p > 0) & (p < 1)
    y, p, w = y[inside], p[inside], w[inside]
    x = np.log(p / (1 - p))
    shift = brentq(lambda a: w @ (y - expit(x + a)), -20, 20, xtol=1e-13)
    q = expit(x + shift)
    return shift, w @ (q * (1 - q)), w * (y - q), inside


@pytest.mark.all_cases
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_real_weights_have_the_sandwich_of_the_rows_and_students_t(seed, level):
    y, p, w, _ = weighted_rows(seed)
    shift, information, scores, inside = score_parts(y, p, w)
    error = math.sqrt(scores @ scores) / information
    freedom = w[inside].sum() ** 2 / (w[inside] ** 2).sum() - 1
    reach = stats.t.ppf((1 + level) / 2, freedom) * error
    found = shift_interval(cells_of(y, p, w), level)
    assert tuple(found) == pytest.approx((shift, shift - reach, shift + reach, error), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_clusters_have_the_sandwich_of_their_sums_and_students_t(weighted, level):
    y, p, w, cluster = weighted_rows(4)
    w = w if weighted else np.ones(y.size)
    shift, information, scores, inside = score_parts(y, p, w)
    sums, sizes = (np.array([v[cluster[inside] == c].sum() for c in range(12)]) for v in (scores, w[inside]))
    error = math.sqrt(sums @ sums * 12 / 11) / information
    reach = stats.t.ppf((1 + level) / 2, sizes.sum() ** 2 / (sizes @ sizes) - 1) * error
    rows = ClusteredRows(Sample(y, p, w if weighted else None), cluster)
    found = shift_interval(cells_of(y, p, w if weighted else None), level, rows)
    assert tuple(found) == pytest.approx((shift, shift - reach, shift + reach, error), rel=1e-9)


@pytest.mark.parametrize("cluster", [[0, 0, 0, 0], [0, 0, 1, 1]])
def test_clusters_that_leave_no_freedom_or_no_variance_have_no_limits(cluster):
    """An event and a non-event of score 1/2 in each cluster: all sums of residuals are 0."""
    y, p = np.array([0, 1, 0, 1]), np.full(4, 0.5)
    found = shift_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.array(cluster)))
    assert found[:3] == (0, -math.inf, math.inf)
    assert math.isnan(found.standard_error)


def test_two_clusters_have_twice_the_squares_of_their_sums():
    """By hand: at the shift the sums of two clusters are opposite, and Student's t has one degree of freedom."""
    y, p, cluster = np.array([1, 1, 1, 0, 1, 1]), np.full(6, 0.5), np.array([0, 0, 0, 1, 1, 1])
    found = shift_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), cluster))
    q = 5 / 6
    error = math.sqrt(2 * 2 * (3 - 3 * q) ** 2) / (6 * q * (1 - q))
    assert (found.shift, found.standard_error) == pytest.approx((math.log(5), error))
    assert found.high - found.shift == pytest.approx(stats.t.ppf(0.975, 1) * error)


def test_two_rows_have_an_error_and_limits():
    """By hand: the information of two rows at log-odds of 0 is 1/2; with real weights it is Σw/4, and one is free."""
    found = shift_interval(cells_of([0, 1], [0.5, 0.5]), 0.95)
    assert (found.shift, found.standard_error) == pytest.approx((0, math.sqrt(2)))
    # log(q (1 − q)) has fallen from log(1/4) by half of 3.84.
    assert expit(found.high) * expit(-found.high) == pytest.approx(math.exp(-stats.chi2.ppf(0.95, 1) / 2) / 4)
    assert found.low == pytest.approx(-found.high)
    weighted = shift_interval(cells_of([0, 1], [0.5, 0.5], [0.7, 0.7]), 0.95)
    assert weighted.standard_error == pytest.approx(math.sqrt(2))
    assert weighted.high == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt(2))


def test_one_cluster_has_no_limits():
    y, p = some_rows(20)
    found = shift_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.zeros(20, dtype=int)))
    assert found[1:3] == (-math.inf, math.inf)


@pytest.mark.parametrize("label", [0, 1])
def test_equal_labels_in_clusters_or_with_real_weights_have_no_limits(label):
    y, p = np.full(6, label), np.linspace(0.2, 0.8, 6)
    for w, rows in ((None, ClusteredRows(Sample(y, p, None), np.arange(6))), (np.full(6, 0.5), None)):
        found = shift_interval(cells_of(y, p, w), 0.95, rows)
        assert found[1:3] == (-math.inf, math.inf)
        assert math.isnan(found.shift)
        assert math.isnan(found.standard_error)


@pytest.mark.all_cases
@pytest.mark.parametrize("level", [0.6, 0.95, 0.999])
@pytest.mark.parametrize("seed", range(3))
def test_at_both_limits_the_likelihood_has_fallen_by_half_the_quantile(seed, level):
    y, p, _, _ = weighted_rows(seed)
    w = np.random.default_rng(seed).integers(0, 5, y.size)
    shift, information, _, inside = score_parts(y, p, w)
    x, drop = np.log(p[inside] / (1 - p[inside])), stats.chi2.ppf(level, 1) / 2

    def likelihood(a):
        return -(w[inside] @ np.logaddexp(0, np.where(y[inside], -1, 1) * (x + a)))

    found = shift_interval(cells_of(y, p, w), level)
    assert (found.shift, found.standard_error) == pytest.approx((shift, 1 / math.sqrt(information)), rel=1e-9)
    assert found.low < shift < found.high
    fallen = [likelihood(shift) - likelihood(limit) for limit in (found.low, found.high)]
    assert fallen == pytest.approx([drop, drop], rel=1e-8)


@pytest.mark.all_cases
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("score", [1e-300, 1e-9, 0.3, 0.999])
@pytest.mark.parametrize("n", [1, 40, 10**6])
def test_the_limit_of_equal_labels_of_one_score_is_that_of_clopper_and_pearson(n, score, level):
    """Without events, (1 − q)ⁿ = (1 − level)/2 at the upper limit; with events only, the same of q at the lower."""
    n = np.array([n])
    far = np.log(-np.expm1(math.log((1 - level) / 2) / n[0])) - math.log((1 - level) / 2) / n[0]
    x = math.log(score) - math.log1p(-score)
    none = shift_interval(Cells(np.array([score]), n, n, 0 * n), level)
    assert none[1:3] == (-math.inf, pytest.approx(far - x, rel=1e-9, abs=1e-9))
    every = shift_interval(Cells(np.array([score]), n, n, n), level)
    assert every[1:3] == (pytest.approx(-far - x, rel=1e-9, abs=1e-9), math.inf)


def test_wald_limits_begin_with_more_than_20_000_rows_of_the_rarer_class():
    """Wald limits lie at equal distances; those of the likelihood of 1 % events do not."""
    p, n = np.array([0.01]), np.array([2_000_000])
    for events, words in ((20_000, "profile likelihood"), (20_001, "Wald"), (0, "exact, one class")):
        for e, score in ((events, p), (n[0] - events, 1 - p)):
            cells = Cells(score, n, n, np.array([e]))
            shift, low, high, error = shift_interval(cells, 0.95)
            assert _shift_interval.limits_in_words(cells) == words
            if events:
                q = events / n[0]
                assert error == pytest.approx(1 / math.sqrt(n[0] * q * (1 - q)), rel=1e-9)
                assert (abs((high - shift) / (shift - low) - 1) < 1e-9) == (words == "Wald")
                assert high - low == pytest.approx(2 * 1.959964 * error, rel=1e-4)


def test_five_thousand_scores_are_pooled_without_harm_to_the_limits():
    rng = np.random.default_rng(7)
    p = expit(rng.normal(-2, 1.5, 5_000))
    y = (rng.random(p.size) < expit(np.log(p / (1 - p)) + 0.5)).astype(int)
    shift, _, _, _ = score_parts(y, p, np.ones(p.size))
    x = np.log(p / (1 - p))

    def fallen(a):
        return (np.logaddexp(0, np.where(y, -1, 1) * (x + a)) - np.logaddexp(0, np.where(y, -1, 1) * (x + shift))).sum()

    found = shift_interval(cells_of(y, p), 0.95)
    assert [fallen(found.low), fallen(found.high)] == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 2, rel=1e-5)


@pytest.mark.all_cases
@pytest.mark.parametrize("shift", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("run", [1, 4])
def test_pools_are_runs_of_neighbours_with_about_equal_information(monkeypatch, run, shift):
    """Each pool has its rows, its events and, at the shift, their expected events; no pool is much above its share."""
    monkeypatch.setattr(_shift_interval, "_MANY_SCORES", 20)
    monkeypatch.setattr(_shift_interval, "_SHORT_RUN", run)
    rng = np.random.default_rng(1)
    x, w = np.sort(rng.normal(0, 1.5, 203)), rng.integers(1, 30, 203)
    w[100:104], w[-1] = 500, 5_000  # the last of 203 scores is alone in its run
    e = rng.integers(0, w + 1)
    pooled, weight, events = _shift_interval._pool(x, w, e, shift)
    ends = np.searchsorted(np.cumsum(w), np.cumsum(weight)) + 1
    pools = np.split(np.arange(203), ends[:-1])
    assert [w[at].sum() for at in pools] == weight.tolist()
    assert [e[at].sum() for at in pools] == events.tolist()
    q = expit(x + shift)
    assert weight * expit(pooled + shift) == pytest.approx([w[at] @ q[at] for at in pools], rel=1e-9)
    information = w * q * (1 - q)
    share = information.sum() / 20
    within = np.array([information[at].sum() for at in pools])
    assert 8 <= len(pools) <= 20
    # A pool ends with the score, or the run, that would take it beyond its share; that one begins the next.
    begun = [max(information[at[0]], share if run > 1 else 0.0) for at in pools]
    assert (within - begun < share).all()


@pytest.mark.parametrize("sign", [-1, 1])
def test_pools_of_certain_log_odds_stay_finite(monkeypatch, sign):
    monkeypatch.setattr(_shift_interval, "_MANY_SCORES", 2)
    x = np.sort(sign * np.array([800.0, 810.0, 820.0, 830.0]))
    pooled, weight, _ = _shift_interval._pool(x, np.full(4, 2), np.ones(4, dtype=int), 0.0)
    assert weight.sum() == 8
    assert (sign * pooled > 600).all()
    assert np.isfinite(pooled).all()
