"""Confidence limits of the calibration slope: R's answers, laws, extremes, simulated coverage."""

import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

import trueness as tn
from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer.limits import _slope as _slope_interval
from trueness.infer.limits._slope import (
    LineCovariance,
    _best_slope,
    fit_line,
    free_intercept_interval,
    likelihood_crossing,
    slope_interval,
    slope_limits_in_words,
)

DATA = Path(os.environ.get("TRUENESS_DATA", ""))
CLINICAL = DATA / "clinical_r.json"

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def clinical():
    """Labels and scores of each set, and R's answers."""
    import csv

    rows = {}
    with gzip.open(DATA / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(line["set"], []).append((int(line["y"]), float(line["p"])))
    answers = json.loads(CLINICAL.read_text(encoding="utf-8"))
    return {name: (*map(np.array, zip(*rows[name], strict=True)), answers[name]) for name in answers}


@pytest.mark.skipif(not CLINICAL.is_file(), reason="needs clinical_r.json of TRUENESS_DATA")
def test_slope_and_limits_are_those_of_r_without_the_scores_of_0_and_1():
    for name, (y, p, r) in clinical().items():
        found = slope_interval(cells_of(y, p), 0.95)
        assert found.slope == pytest.approx(r["slope"], rel=1e-6), name
        # R interpolates the profile by a spline, which moves its limits by up to 3e-5.
        assert (found.slope_low, found.slope_high) == pytest.approx(r["slope_profile"], abs=5e-5), name
        assert tn.calibration_slope(y, p) == found.slope
        assert tn.calibration_intercept(y, p) == pytest.approx(r["intercept_offset"], abs=1e-6), name
        assert tn.observed_expected(y, p) == pytest.approx(r["oe"], rel=1e-9), name
        assert tn.brier(y, p) == pytest.approx(r["brier"], rel=1e-9), name
        assert (found.n_certain, found.n_inside) == (r["dropped"], y.size - r["dropped"]), name
        assert found.n_certain_wrong == int((((p == 0) & (y == 1)) | ((p == 1) & (y == 0))).sum()), name


def some_rows(n=200, seed=0, slope=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(slope * np.log(p / (1 - p)))).astype(int), p


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted, repeated = slope_interval(cells_of(y, p, w), 0.9), slope_interval(cells_of(y.repeat(w), p.repeat(w)), 0.9)
    assert weighted == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_at_the_limits_of_the_free_intercept_the_best_likelihood_has_fallen_by_half_a_quantile_of_chi_square(scale):
    y, p = some_rows(120)
    p = scale * p
    y = (np.random.default_rng(2).random(120) < p).astype(int)
    x = np.log(p / (1 - p))

    def likelihood(a):
        def loss(b):
            return np.logaddexp(0, np.where(y, -1, 1) * (a + b * x)).sum()

        return -minimize_scalar(loss, bracket=(0, 1), tol=1e-12).fun

    value, low, high, _ = free_intercept_interval(cells_of(y, p), 0.95)
    drops = [likelihood(value) - likelihood(a) for a in (low, high)]
    assert drops == pytest.approx([3.841458820694124 / 2] * 2, rel=1e-5)


@pytest.mark.parametrize("label", [0, 1])
def test_weighted_rows_have_no_more_degrees_of_freedom_than_rows_of_the_rarer_class(label):
    p = np.linspace(0.01, 0.2, 100)
    y = np.where(np.isin(np.arange(100), [20, 60, 75, 97]), label, 1 - label)
    assert fit_line(cells_of(y, p, np.full(100, 0.5))).covariance.freedom == pytest.approx(3)


def test_two_clusters_have_twice_the_squares_of_their_sums():
    y, p, _, _ = weighted_rows(6)
    _, bread, scores, inside = logistic_fit(y, p, np.ones(y.size))
    cluster = np.arange(y.size) % 2
    sums = np.array([scores[:, cluster[inside] == c].sum(axis=1) for c in (0, 1)]).T
    found = fit_line(cells_of(y, p), ClusteredRows(Sample(y, p, None), cluster)).covariance
    assert found.matrix == pytest.approx(bread @ (2 * sums @ sums.T) @ bread, rel=1e-6)
    assert 0.9 < found.freedom <= 1


def test_many_rows_have_wald_limits_close_to_the_profile(monkeypatch):
    y, p = some_rows(20_000)
    profile = slope_interval(cells_of(y, p), 0.95)
    monkeypatch.setattr("trueness.infer.limits._slope.MANY", 0)
    wald = slope_interval(cells_of(y, p), 0.95)
    assert wald == pytest.approx(profile, abs=0.01 * (profile.slope_high - profile.slope_low))


def test_weights_of_one_half_and_clusters_of_one_row_agree_with_independent_rows():
    y, p = some_rows(2_000)
    plain = slope_interval(cells_of(y, p), 0.95)
    half = slope_interval(cells_of(y, p, np.full(y.size, 0.5)), 0.95)
    alone = slope_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(y.size)))
    width = plain.slope_high - plain.slope_low
    for found in (half, alone):
        assert found.slope == pytest.approx(plain.slope, rel=1e-9)
        assert (found.slope_low, found.slope_high) == pytest.approx(
            (plain.slope_low, plain.slope_high), abs=0.1 * width
        )


def test_rows_ten_times_over_in_clusters_have_the_limits_of_the_rows():
    y, p = some_rows(500)
    once = slope_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(500)))
    yy, pp, cluster = np.tile(y, 10), np.tile(p, 10), np.tile(np.arange(500), 10)
    copies = slope_interval(cells_of(yy, pp), 0.95, ClusteredRows(Sample(yy, pp, None), cluster))
    assert copies[:3] == pytest.approx(once[:3], rel=1e-9)


def test_separated_classes_have_one_finite_limit():
    low = slope_interval(cells_of([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), 0.95)
    assert math.isnan(low.slope)
    assert 0 < low.slope_low < 2
    assert low.slope_high == math.inf
    tied = slope_interval(cells_of([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.5, 0.5, 0.8, 0.9]), 0.95)
    assert -1 < tied.slope_low < low.slope_low
    turned = slope_interval(cells_of([1, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), 0.95)
    assert turned.slope_low == -math.inf
    assert turned.slope_high == pytest.approx(-low.slope_low, rel=1e-6)


@pytest.mark.parametrize(("y", "p"), [([1, 1], [0.3, 0.6]), ([0, 1], [0.4, 0.4]), ([0, 1, 1], [0.0, 1.0, 1.0])])
def test_rows_that_say_nothing_have_no_limits(y, p):
    found = slope_interval(cells_of(y, p), 0.95)
    assert math.isnan(found.slope)
    assert (found.slope_low, found.slope_high) == (-math.inf, math.inf)


def test_scores_of_0_and_1_are_counted_and_change_nothing_else():
    y, p = some_rows()
    more = slope_interval(cells_of([*y, 0, 1, 0, 1, 1], [*p, 0.0, 0.0, 1.0, 1.0, 1.0]), 0.95)
    assert more[:4] == slope_interval(cells_of(y, p), 0.95)[:4]
    assert (more.n_certain, more.n_certain_wrong) == (5, 2)


def covered(runs, n, law, slope, *, clusters=False, seed=0):
    """Shares of limits that lie above and below the true slope."""
    rng = np.random.default_rng(seed)
    above = below = 0
    for _ in range(runs):
        if clusters:
            cluster = np.repeat(np.arange(n // 5), 5)
            p = law(rng, n // 5)[cluster]
            u = np.where(rng.random(n) < 0.5, rng.random(n // 5)[cluster], rng.random(n))
        else:
            p, u = law(rng, n), rng.random(n)
        y = (u < expit(slope * (np.log(p) - np.log1p(-p)))).astype(int)
        rows = ClusteredRows(Sample(y, p, None), cluster) if clusters else None
        order = np.argsort(p, kind="stable")
        one = np.ones(n, np.int64)
        cells = cells_of(y, p) if clusters else Cells(p[order], one, one, y[order])
        found = slope_interval(cells, 0.95, rows)
        above += found.slope_low > slope
        below += found.slope_high < slope
    return above / runs, below / runs


LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(1, 15, n),
    "bimodal": lambda rng, n: np.clip(rng.beta(0.2, 0.3, n), 1e-9, 1 - 1e-9),
}


def allowed(runs):
    """A tail of 2.5 % that misses up to 3.2 % by approximation, plus four standard errors."""
    return 0.032 + 4 * math.sqrt(0.025 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_roughly_as_often_as_it_may(law):
    assert max(covered(60, 200, LAWS[law], 0.7)) < allowed(60)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.4, 1.0, 1.6])
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_as_often_as_it_may(law, slope):
    assert max(covered(400, 300, LAWS[law], slope)) < allowed(400)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("slope", [0.4, 1.0, 1.6])
def test_with_50_rows_each_limit_misses_as_often_as_it_may(law, slope):
    assert max(covered(300, 50, LAWS[law], slope)) < allowed(300)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "bimodal"])
def test_each_limit_of_clustered_rows_misses_as_often_as_it_may(law):
    assert max(covered(600, 500, LAWS[law], 0.7, clusters=True)) < allowed(600)


@pytest.mark.parametrize("turned", [False, True])
def test_at_the_limit_of_separated_classes_the_likelihood_has_fallen_from_that_of_the_tied_rows(turned):
    """By hand: as the slope grows, only the 20 of 60 rows on the threshold keep the likelihood below 1."""
    p, events = np.array([0.2, 0.5, 0.8]), np.array([0, 20, 60])
    cells = Cells(p, np.full(3, 60), np.full(3, 60), events[::-1] if turned else events)
    found = slope_interval(cells, 0.95)
    near, far = (found.slope_high, found.slope_low) if turned else (found.slope_low, found.slope_high)
    x, e = np.log(p / (1 - p)), cells.events
    best = -minimize_scalar(lambda a: (np.logaddexp(0, a + near * x) * 60 - e * (a + near * x)).sum()).fun
    assert best == pytest.approx(20 * math.log(1 / 3) + 40 * math.log(2 / 3) - 1.959964**2 / 2, abs=1e-4)
    assert far == (-math.inf if turned else math.inf)


def weighted_rows(seed, n=200):
    """Few distinct scores, 0 and 1 among them, weights that are not whole numbers, and clusters."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.1, 0.3, 0.45, 0.8, 0.95, 1.0], n)
    y = np.where((p > 0) & (p < 1), rng.random(n) < 0.2 + 0.5 * p, p > 0.5).astype(int)
    return y, p, rng.uniform(0.2, 3, n), rng.integers(0, 25, n)


def logistic_fit(y, p, w):
    """By brute force, from the rows strictly inside (0, 1): (a, b), the inverse information and the rows' scores."""
    inside = (p > 0) & (p < 1)
    y, p, w = y[inside], p[inside], w[inside]
    X = np.stack([np.ones(y.size), np.log(p / (1 - p))])
    line = np.zeros(2)
    for _ in range(30):
        q = expit(line @ X)
        bread = np.linalg.inv((X * (w * q * (1 - q))) @ X.T)
        line = line + bread @ (X @ (w * (y - q)))
    return line, bread, X * (w * (y - q)), inside


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("seed", range(2))
def test_real_weights_have_the_sandwich_of_the_rows_and_students_t(seed, level):
    y, p, w, _ = weighted_rows(seed)
    line, bread, scores, inside = logistic_fit(y, p, w)
    errors = np.sqrt(np.diag(bread @ (scores @ scores.T) @ bread))
    classes = [w[inside & (y == label)] for label in (0, 1)]
    freedom = min(v.sum() ** 2 / (v**2).sum() for v in classes) - 1
    low, high = line + np.array([[-1], [1]]) * stats.t.ppf((1 + level) / 2, freedom) * errors
    cells = cells_of(y, p, w)
    assert slope_interval(cells, level)[:3] == pytest.approx((line[1], low[1], high[1]), rel=1e-8)
    assert free_intercept_interval(cells, level) == pytest.approx((line[0], low[0], high[0], errors[0]), rel=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_clusters_have_the_sandwich_of_their_sums_and_students_t(weighted, level):
    y, p, w, cluster = weighted_rows(3)
    w = w if weighted else np.ones(y.size)
    line, bread, scores, inside = logistic_fit(y, p, w)
    code = cluster[inside]
    sums = np.array([scores[:, code == c].sum(axis=1) for c in range(25)]).T
    sizes = np.array([w[inside][code == c].sum() for c in range(25)])
    errors = np.sqrt(np.diag(bread @ (sums @ sums.T * 25 / 24) @ bread))
    with_class = [len(set(code[y[inside] == label])) for label in (0, 1)]
    freedom = min(sizes.sum() ** 2 / (sizes @ sizes), *with_class) - 1
    reach = stats.t.ppf((1 + level) / 2, freedom) * errors
    weights = w if weighted else None
    cells, rows = cells_of(y, p, weights), ClusteredRows(Sample(y, p, weights), cluster)
    found = slope_interval(cells, level, rows)
    assert found[:3] == pytest.approx((line[1], line[1] - reach[1], line[1] + reach[1]), rel=1e-8)
    found = free_intercept_interval(cells, level, rows)
    assert found == pytest.approx((line[0], line[0] - reach[0], line[0] + reach[0], errors[0]), rel=1e-8)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("having", "freedom"), [(1, 1), (2, 1), (3, 2), (6, 5)])
def test_clusters_with_the_rarer_class_bound_the_degrees_of_freedom(having, freedom, label):
    """The other class is in all ten clusters of ten rows."""
    cluster, p = np.arange(100) // 10, np.tile(np.linspace(0.1, 0.8, 10), 10)
    y = np.where((cluster < having) & np.isin(np.arange(100) % 10, [2, 5, 7]), label, 1 - label)
    line = fit_line(cells_of(y, p), ClusteredRows(Sample(y, p, None), cluster))
    assert line.covariance.freedom == freedom


def test_two_rows_of_the_rarer_class_leave_one_degree_of_freedom():
    p = np.linspace(0.1, 0.8, 20)
    y = np.isin(np.arange(20), [5, 9]).astype(int)
    w = np.where(y == 1, [0.01, 1.0] * 10, 0.5)
    assert fit_line(cells_of(y, p, w)).covariance.freedom == 1


@pytest.mark.parametrize(
    ("matrix", "freedom", "estimate"),
    [
        ([[0.0, 0.0], [0.0, 1.0]], 3.0, 0.5),
        ([[math.nan, 0.0], [0.0, 1.0]], 3.0, 0.5),
        ([[1.0, 0.0], [0.0, 1.0]], 0, 0.5),
    ],
)
def test_no_variance_or_no_freedom_means_no_limits(matrix, freedom, estimate):
    covariance = LineCovariance(np.array(matrix), freedom)
    assert covariance.limits(estimate, 0, 0.95) == (-math.inf, math.inf)
    assert covariance.limits(math.nan, 1, 0.95) == (-math.inf, math.inf)


def test_limits_have_the_quantile_of_students_t_or_the_normal_law():
    matrix = np.array([[4.0, 1.0], [1.0, 9.0]])
    for freedom, law in ((math.inf, stats.norm), (2.5, stats.t(2.5)), (1, stats.t(1))):
        found = [LineCovariance(matrix, freedom).limits(0.5, i, 0.9) for i in (0, 1)]
        expected = [(0.5 - law.ppf(0.95) * error, 0.5 + law.ppf(0.95) * error) for error in (2, 3)]
        assert found == [pytest.approx(pair) for pair in expected]


def best(y, p, w, penalised=False):
    """The largest log-likelihood of a given slope, or that with half the log-determinant of the information added."""
    inside = (p > 0) & (p < 1)
    y, x, w = y[inside], np.log(p[inside] / (1 - p[inside])), w[inside]
    X = np.stack([np.ones(x.size), x])

    def loss(a, b):
        eta = a + b * x
        v = w / (2 + 2 * np.cosh(eta))
        plain = w @ np.logaddexp(0, np.where(y, -1, 1) * eta)
        return plain - 0.5 * np.linalg.slogdet((X * v) @ X.T)[1] if penalised else plain

    def of_slope(b):
        start = -b * (w @ x) / w.sum() + math.log((w @ y) / (w @ (1 - y)))
        return -minimize_scalar(loss, bracket=(start - 1, start + 1), args=(b,), tol=1e-10).fun

    return of_slope


def drops(of_slope, limits, middle):
    top = -minimize_scalar(lambda b: -of_slope(b), bracket=(middle - 0.5, middle + 0.5), tol=1e-6).fun
    return np.array([top - of_slope(limit) for limit in limits])


@pytest.mark.parametrize(("events", "level"), [(30, 0.95), (60, 0.8)])
def test_thirty_rows_of_each_class_have_the_limits_of_the_profile(events, level):
    rng = np.random.default_rng(events)
    p = rng.uniform(0.02, 0.9, 3 * events)
    y = np.zeros(p.size, dtype=int)
    y[rng.choice(p.size, events, replace=False, p=p / p.sum())] = 1
    w = np.ones(p.size)
    for labels in (y, 1 - y):
        found = slope_interval(cells_of(labels, p), level)
        fallen = drops(best(labels, p, w), (found.slope_low, found.slope_high), found.slope)
        assert fallen == pytest.approx([stats.chi2.ppf(level, 1) / 2] * 2, rel=1e-5)


@pytest.mark.parametrize(
    ("events", "level", "seed"), [(29, 0.95, 0), (12, 0.8, 1), (5, 0.95, 2), (3, 0.9, 3), (1, 0.9, 5)]
)
def test_fewer_rows_of_a_class_have_the_outer_limits_of_both_likelihoods(events, level, seed):
    """At each limit both have fallen by half the quantile, and one of them by no more."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.9, 120)
    y, w = np.zeros(120, dtype=int), rng.integers(1, 4, 120)
    at = rng.choice(120, events, replace=False, p=p / p.sum())
    y[at], w[at] = 1, 1
    y = y if seed % 2 else 1 - y
    found = slope_interval(cells_of(y, p, w), level)
    limits, drop = (found.slope_low, found.slope_high), stats.chi2.ppf(level, 1) / 2
    both = np.array([drops(best(y, p, w, penalised), limits, found.slope) for penalised in (False, True)])
    assert both.min(axis=0) == pytest.approx([drop, drop], rel=1e-3)


def test_the_words_for_the_limits_of_the_slope_follow_the_rows_of_the_rarer_class():
    p, n = np.array([0.2, 0.4, 0.6]), np.full(3, 50_000)
    profile = "profile likelihood"
    for rarer, words in ((29, f"{profile}, penalised"), (30, profile), (20_000, profile), (20_001, "Wald")):
        for events in (np.array([0, 1, rarer - 1]), n - np.array([rarer - 2, 1, 1])):
            line = fit_line(Cells(p, n, n, events))
            assert line.rarer == rarer
            assert slope_limits_in_words(line) == words


def test_wald_limits_begin_with_more_than_20_000_rows_of_the_rarer_class():
    """Wald limits lie at equal distances; those of the profile do not."""
    p, n = np.array([0.001, 0.01, 0.02]), np.full(3, 10**6)
    for extra in (0, 1):
        cells = Cells(p, n, n, np.array([3_000, 7_000, 10_000 + extra]))
        for value, low, high in (slope_interval(cells, 0.95)[:3], free_intercept_interval(cells, 0.95)[:3]):
            assert (abs((high - value) / (value - low) - 1) < 1e-9) == bool(extra)
            assert abs((high - value) / (value - low) - 1) < 0.03


def test_wald_limits_begin_with_more_distinct_scores_than_the_profile_is_worth(monkeypatch):
    monkeypatch.setattr(_slope_interval, "_MANY_SCORES", 200)
    for n in (200, 201):
        y, p = some_rows(n)
        line = fit_line(cells_of(y, p))
        value, low, high = slope_interval(cells_of(y, p), 0.95)[:3]
        assert (abs((high - value) / (value - low) - 1) < 1e-9) == (n == 201)
        assert slope_limits_in_words(line) == ("Wald" if n == 201 else "profile likelihood")


@pytest.mark.parametrize(("events", "each"), [([50, 51, 97], 5), ([20, 45, 70, 85, 97], 1)])
def test_clusters_with_few_events_have_the_outer_limits_of_both_ways(events, each):
    p, y = np.linspace(0.01, 0.2, 100), np.isin(np.arange(100), events).astype(int)
    cells, rows = cells_of(y, p), ClusteredRows(Sample(y, p, None), np.arange(100) // each)
    line = fit_line(cells, rows)
    for i, interval, value in ((0, free_intercept_interval, line.intercept), (1, slope_interval, line.slope)):
        low, high = line.covariance.limits(value, i, 0.95)
        alone = interval(cells, 0.95)
        assert interval(cells, 0.95, rows)[1:3] == (min(low, alone[1]), max(high, alone[2]))


def test_clusters_with_thirty_rows_of_each_class_keep_the_limits_of_the_sandwich():
    p = np.tile(np.linspace(0.1, 0.9, 10), 6)
    y = (np.arange(60) % 10 >= 5).astype(int) ^ np.isin(np.arange(60) % 20, [3, 6])
    rows = ClusteredRows(Sample(y, p, None), np.arange(60) // 2)
    cells = cells_of(y, p)
    line = fit_line(cells, rows)
    assert line.rarer == 30
    assert slope_interval(cells, 0.95, rows)[1:3] == line.covariance.limits(line.slope, 1, 0.95)
    assert free_intercept_interval(cells, 0.95, rows)[1:3] == line.covariance.limits(line.intercept, 0, 0.95)


def test_scores_by_the_thousand_are_pooled_without_harm_to_the_limits():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.001, 0.02, 2_500)
    y = np.zeros(p.size, dtype=int)
    y[rng.choice(p.size, 20, replace=False, p=p / p.sum())] = 1
    found = slope_interval(cells_of(y, p), 0.95)
    w = np.ones(p.size)
    both = np.array(
        [drops(best(y, p, w, each), (found.slope_low, found.slope_high), found.slope) for each in (False, True)]
    )
    assert both.min(axis=0) == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 2, rel=1e-3)


@pytest.mark.parametrize(
    ("start", "step", "expected"),
    [(0.0, -0.1, -1), (0.0, 0.1, 2), (-3.0, 0.1, -1), (5.0, -0.1, 2), (-3.0, -0.1, -math.inf), (5.0, 0.1, math.inf)],
)
@pytest.mark.all_cases
def test_a_crossing_is_the_first_one_in_the_direction_of_the_step(start, step, expected):
    """A parabola that is 0 at −1 and 2."""
    assert likelihood_crossing(lambda b: (b + 1) * (2 - b), 0.0, start, step) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("step", [-2.0, 2.0])
def test_a_likelihood_that_never_crosses_has_an_infinite_limit(step):
    assert likelihood_crossing(lambda b: -math.tanh(abs(b)), -1.5, 0.0, step) == math.copysign(math.inf, step)
    # It is searched over more than ten orders of magnitude.
    assert likelihood_crossing(lambda b: -abs(b), -1e10, 0.0, step) == pytest.approx(math.copysign(1e10, step))


@pytest.mark.all_cases
@pytest.mark.parametrize("intercept", [-300.0, -4.0, 0.0, 3.0, 50.0])
@pytest.mark.parametrize("start", [-20.0, 0.3, 1.0, 40.0])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_the_best_slope_beside_an_intercept_has_no_gradient(intercept, start, scale):
    """The residuals of the best slope are uncorrelated with the log-odds, on both of whose sides both labels lie."""
    x = scale * np.array([-2.0, -1.0, 0.5, 1.5])
    w, e = np.array([10.0, 20.0, 30.0, 5.0]), np.array([1.0, 8.0, 12.0, 4.0])

    def gradient(b):
        return ((e - w * expit(intercept + b * x)) * x).sum()

    expected = brentq(gradient, -1e5, 1e5, xtol=1e-12, rtol=1e-12)
    assert _best_slope(intercept, x, w, e, start) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_without_a_finite_line_there_is_no_standard_error_and_no_limit():
    cells = cells_of([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7])
    found = free_intercept_interval(cells, 0.95)
    assert found[1:3] == (-math.inf, math.inf)
    assert math.isnan(found.intercept)
    assert math.isnan(found.standard_error)
    assert np.isnan(fit_line(cells).covariance.matrix).all()
    assert math.isinf(fit_line(cells).covariance.freedom)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("level", [0.6, 0.95])
def test_at_the_limit_of_separated_classes_the_likelihood_has_fallen_from_one(level, turned):
    """Thirty events above forty non-events: the supremum is 1, and its logarithm falls by half the quantile."""
    p = np.concatenate([np.linspace(0.1, 0.4, 40), np.linspace(0.5, 0.9, 30)])
    y = (np.arange(70) >= 40).astype(int) ^ turned
    found = slope_interval(cells_of(y, p), level)
    near, far = (found.slope_high, found.slope_low) if turned else (found.slope_low, found.slope_high)
    assert math.isinf(far)
    assert best(y, p, np.ones(70))(near) == pytest.approx(-stats.chi2.ppf(level, 1) / 2, rel=1e-5)


def test_the_best_slope_beside_its_own_intercept_is_the_start():
    """By hand: symmetric counts, so that the gradient at a slope of 0 is 0."""
    x, w = np.array([-1.0, 1.0]), np.full(2, 10.0)
    assert _best_slope(0.0, x, w, np.full(2, 5.0), 0.0) == 0


@pytest.mark.parametrize("label", [0, 1])
def test_one_score_with_all_events_has_limits_on_both_sides(label):
    """35 of 40 rows of one score among three are events, and no others; or the same of non-events."""
    p = np.repeat([0.2, 0.5, 0.7], 40)
    y = np.where((np.arange(120) >= 40) & (np.arange(120) < 75), label, 1 - label)
    found = slope_interval(cells_of(y, p), 0.95)
    fallen = drops(best(y, p, np.ones(120)), (found.slope_low, found.slope_high), found.slope)
    assert fallen == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 2, rel=1e-5)


def test_six_rows_have_the_covariance_of_their_information():
    """The determinant of so little information is far below 1."""
    y, p = np.array([0, 1, 0, 1, 0, 1]), np.array([0.45, 0.46, 0.5, 0.52, 0.54, 0.55])
    _, bread, _, _ = logistic_fit(y, p, np.ones(6))
    assert 1 / np.linalg.det(bread) < 0.1
    found = fit_line(cells_of(y, p)).covariance
    assert found.matrix == pytest.approx(bread, rel=1e-6)
    assert found.freedom == math.inf


@pytest.mark.parametrize("way", ["plain", "weighted", "clustered"])
@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-10])
@pytest.mark.all_cases
def test_the_unit_of_log_odds_that_are_nearly_equal_does_not_matter(step, way):
    """Log-odds of 0.3 + step · k have the line of k: its slope over the step, and the intercept that follows."""
    rng = np.random.default_rng(0)
    k = np.arange(200) % 10
    y = (rng.random(200) < expit(0.5 * (k - 5))).astype(int)
    w = rng.uniform(0.5, 2, 200) if way == "weighted" else None

    def fitted(p):
        rows = ClusteredRows(Sample(y, p, None), np.arange(200) // 4) if way == "clustered" else None
        cells = cells_of(y, p, w)
        return fit_line(cells, rows), slope_interval(cells, 0.95, rows)

    (line, interval), (unit, expected) = fitted(expit(0.3 + step * k)), fitted(expit(1.0 * k))
    turn = np.array([[1, -0.3 / step], [0, 1 / step]])
    assert [line.intercept, line.slope] == pytest.approx(turn @ [unit.intercept, unit.slope], rel=1e-4)
    assert line.covariance.matrix == pytest.approx(turn @ unit.covariance.matrix @ turn.T, rel=1e-4)
    assert line.covariance.freedom == pytest.approx(unit.covariance.freedom)
    assert [step * value for value in interval[:3]] == pytest.approx(expected[:3], rel=1e-4)
