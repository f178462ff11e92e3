"""Confidence limits of the calibration slope and of the intercept beside it: references, laws, extremes, coverage."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import expit

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def limits(y, p, level=0.95, w=None, cluster=None, name="slope"):
    """Value, limits and standard error."""
    found = tn.estimate(name, y, p, level=level, sample_weight=w, cluster=cluster, floor=False)
    return found.value, found.low, found.high, found.standard_error


def counted(p, n, events):
    """Rows as scores, numbers of rows and of events: labels, scores and weights."""
    n, events = np.asarray(n), np.asarray(events)
    return np.tile([1, 0], len(p)), np.repeat(p, 2), np.column_stack([events, n - events]).ravel()


def some_rows(n=200, seed=0, slope=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(slope * np.log(p / (1 - p)))).astype(int), p


def quantile(found):
    """By how many standard errors the upper limit is above the value."""
    value, _, high, error = found
    return (high - value) / error


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_at_the_limits_of_the_free_intercept_the_best_likelihood_has_fallen_by_half_a_quantile_of_chi_square(
    scale,
):
    p = scale * some_rows(120)[1]
    y = (np.random.default_rng(2).random(120) < p).astype(int)
    x = np.log(p / (1 - p))

    def likelihood(a):
        def loss(b):
            return np.logaddexp(0, np.where(y, -1, 1) * (a + b * x)).sum()

        return -minimize_scalar(loss, bracket=(0, 1), tol=1e-12).fun

    value, low, high, _ = limits(y, p, name="free_intercept")
    drops = [likelihood(value) - likelihood(a) for a in (low, high)]
    assert drops == pytest.approx([3.841458820694124 / 2] * 2, rel=1e-5)


@pytest.mark.parametrize("place", [1, 2, 10])
def test_one_event_among_the_highest_of_very_many_scores_has_the_limits_of_all_rows(place):
    p = 10.0 ** -np.linspace(1, 300, 60_000)
    y = (np.arange(p.size) == place).astype(int)
    x = np.log(p) - np.log1p(-p)
    value, low, high, _ = limits(y, p, name="free_intercept")

    def likelihood(a):
        def loss(b):
            return np.logaddexp(0, a + b * x).sum() - (a + b * x[place])

        return -minimize_scalar(loss, bracket=(0, (1 + abs(a)) / 2), tol=1e-12).fun

    drops = [likelihood(value) - likelihood(a) for a in (low, high)]
    assert drops == pytest.approx([3.841458820694124 / 2] * 2, rel=0.02)


def test_separated_classes_have_one_finite_limit():
    value, low, high, _ = limits([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9])
    assert math.isnan(value)
    assert 0 < low < 2
    assert high == math.inf
    assert -1 < limits([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.5, 0.5, 0.8, 0.9])[1] < low
    turned = limits([1, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9])
    assert turned[1:3] == (-math.inf, pytest.approx(-low, rel=1e-6))
    none = pytest.approx((math.nan, -math.inf, math.inf, math.nan), nan_ok=True)
    assert limits([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7], name="free_intercept") == none
    assert limits([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7], w=[0.5] * 4) == none


@pytest.mark.parametrize(
    ("y", "p"), [([1, 1], [0.3, 0.6]), ([0, 1], [0.4, 0.4]), ([0, 1, 1], [0.0, 1.0, 1.0])]
)
def test_rows_that_say_nothing_have_no_limits(y, p):
    assert limits(y, p) == pytest.approx((math.nan, -math.inf, math.inf, math.nan), nan_ok=True)


def test_scores_of_0_and_1_are_counted_and_change_nothing_else():
    y, p = some_rows()
    more = tn.estimate("slope", [*y, 0, 1, 0, 1, 1], [*p, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert (more.value, more.low, more.high, more.standard_error) == limits(y, p)
    assert more.note == (
        "5 scores of exactly 0 or 1 are left out, since their log-odds are infinite; 2 of them contradict their label."
    )


def test_whole_sampling_weights_are_not_called_scores():
    """Four scores, one of them wrong: its weight of 7 is no number of scores."""
    y, p = some_rows()
    weight = np.r_[np.full(len(y), 2), 3, 7, 4, 5]
    with pytest.warns(tn.errors.CertainScoresWarning, match="have a weight of 19 of "):
        tn.calibration_slope(
            [*y, 0, 1, 1, 1],
            [*p, 0.0, 0.0, 1.0, 1.0],
            sample_weight=weight,
            weight_type="importance",
        )
    found = tn.estimate(
        "slope",
        [*y, 0, 1, 1, 1],
        [*p, 0.0, 0.0, 1.0, 1.0],
        sample_weight=weight,
        weight_type="importance",
    )
    assert found.note.startswith(
        "4 scores of exactly 0 or 1 are left out, since their log-odds are infinite; "
        "some, with a weight of 7, contradict their label."
    )


def test_of_sampling_weights_scores_of_0_and_1_are_counted_not_weighed():
    """Sampling weights of 1,000 on average: five scores, not 5,000."""
    y, p = some_rows()
    n = len(y)
    weight = np.r_[np.linspace(500.5, 1_500.25, n), 900.5, 1_000.5, 1_100.5, 900.5, 1_000.5]
    found = tn.estimate(
        "slope", [*y, 0, 1, 0, 1, 1], [*p, 0.0, 0.0, 1.0, 1.0, 1.0], sample_weight=weight
    )
    assert found.note.startswith("5 scores of exactly 0 or 1 are left out")


LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(1, 15, n),
    "bimodal": lambda rng, n: np.clip(rng.beta(0.2, 0.3, n), 1e-9, 1 - 1e-9),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "n", "slope", "clustered"),
    [
        *((400, 300, b, False) for b in (0.4, 1.0, 1.6)),
        *((300, 50, b, False) for b in (0.4, 1.6)),
        (600, 500, 0.7, True),
    ],
)
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_as_often_as_it_may(law, runs, n, slope, clustered):
    """A tail of 2.5 % that misses up to 3.2 % by approximation, plus four standard errors."""
    rng, cluster = np.random.default_rng(0), np.repeat(np.arange(n // 5), 5) if clustered else None
    above = below = 0
    for _ in range(runs):
        p, u = LAWS[law](rng, n), rng.random(n)
        if clustered:
            p = p[: n // 5][cluster]
            u = np.where(rng.random(n) < 0.5, rng.random(n // 5)[cluster], u)
        y = (u < expit(slope * (np.log(p) - np.log1p(-p)))).astype(int)
        _, low, high, _ = limits(y, p, cluster=cluster)
        above += low > slope
        below += high < slope
    assert max(above, below) / runs < 0.032 + 4 * math.sqrt(0.025 / runs)


@pytest.mark.parametrize("turned", [False, True])
def test_at_the_limit_of_separated_classes_the_likelihood_has_fallen_from_that_of_the_tied_rows(
    turned,
):
    """By hand: as the slope grows, only the 20 of 60 rows on the threshold keep the likelihood below 1."""
    p, e = np.array([0.2, 0.5, 0.8]), np.array([0, 20, 60])
    e = e[::-1] if turned else e
    y, rows, w = counted(p, np.full(3, 60), e)
    _, low, high, _ = limits(y, rows, w=w)
    near, far = (high, low) if turned else (low, high)
    x = np.log(p / (1 - p))
    best = -minimize_scalar(
        lambda a: (np.logaddexp(0, a + near * x) * 60 - e * (a + near * x)).sum()
    ).fun
    assert best == pytest.approx(
        20 * math.log(1 / 3) + 40 * math.log(2 / 3) - 1.959964**2 / 2, abs=1e-4
    )
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
def test_real_weights_have_the_sandwich_of_the_rows_and_students_t(level):
    y, p, w, _ = weighted_rows(0)
    line, bread, scores, inside = logistic_fit(y, p, w)
    errors = np.sqrt(np.diag(bread @ (scores @ scores.T) @ bread))
    classes = [w[inside & (y == label)] for label in (0, 1)]
    reach = (
        stats.t.ppf((1 + level) / 2, min(v.sum() ** 2 / (v**2).sum() for v in classes) - 1) * errors
    )
    for i, name in enumerate(("free_intercept", "slope")):
        expected = line[i], line[i] - reach[i], line[i] + reach[i], errors[i]
        assert limits(y, p, level, w, name=name) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("weighted", "groups"), [(False, 25), (True, 25), (False, 2)])
def test_clusters_have_the_sandwich_of_their_sums_and_students_t(weighted, groups):
    y, p, w, cluster = weighted_rows(3)
    w, cluster = w if weighted else np.ones(y.size), cluster % groups
    line, bread, scores, inside = logistic_fit(y, p, w)
    code = cluster[inside]
    sums = np.array([scores[:, code == c].sum(axis=1) for c in range(groups)]).T
    sizes = np.array([w[inside][code == c].sum() for c in range(groups)])
    errors = np.sqrt(np.diag(bread @ (sums @ sums.T * groups / (groups - 1)) @ bread))
    with_class = [len(set(code[y[inside] == label])) for label in (0, 1)]
    reach = stats.t.ppf(0.9, min(sizes.sum() ** 2 / (sizes @ sizes), *with_class) - 1) * errors
    for i, name in enumerate(("free_intercept", "slope")):
        expected = line[i], line[i] - reach[i], line[i] + reach[i], errors[i]
        assert limits(y, p, 0.8, w if weighted else None, cluster, name) == pytest.approx(
            expected, rel=1e-6
        )


@pytest.mark.parametrize("label", [0, 1])
def test_the_rarer_class_bounds_the_degrees_of_freedom(label):
    p = np.linspace(0.01, 0.2, 100)
    y = np.where(np.isin(np.arange(100), [20, 60, 75, 97]), label, 1 - label)
    assert quantile(limits(y, p, w=np.full(100, 0.5))) == pytest.approx(stats.t.ppf(0.975, 3))
    # Two rows, of which one has nearly no weight, leave one; and so do two clusters of ten.
    y = np.where(np.isin(np.arange(100), [20, 60]), label, 1 - label)
    w = np.where(y == label, np.where(p < 0.1, 0.01, 1.0), 0.5)
    assert quantile(limits(y, p, w=w)) == pytest.approx(stats.t.ppf(0.975, 1))
    cluster, p = np.arange(400) // 40, np.tile(np.linspace(0.1, 0.8, 40), 10)
    for having in (2, 3, 6):
        y = np.where((cluster < having) & (np.arange(400) % 40 < 16), label, 1 - label)
        assert quantile(limits(y, p, cluster=cluster)) == pytest.approx(
            stats.t.ppf(0.975, having - 1)
        )


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


def drops(of_slope, ends, middle):
    top = -minimize_scalar(
        lambda b: -of_slope(b), bracket=(middle - 0.5, middle + 0.5), tol=1e-6
    ).fun
    return np.array([top - of_slope(limit) for limit in ends])


@pytest.mark.parametrize(("events", "level"), [(30, 0.95), (60, 0.8)])
def test_thirty_rows_of_each_class_have_the_limits_of_the_profile(events, level):
    rng = np.random.default_rng(events)
    p = rng.uniform(0.02, 0.9, 3 * events)
    y = np.zeros(p.size, dtype=int)
    y[rng.choice(p.size, events, replace=False, p=p / p.sum())] = 1
    for labels in (y, 1 - y):
        value, low, high, _ = limits(labels, p, level)
        fallen = drops(best(labels, p, np.ones(p.size)), (low, high), value)
        assert fallen == pytest.approx([stats.chi2.ppf(level, 1) / 2] * 2, rel=1e-5)


@pytest.mark.parametrize(
    ("events", "level", "seed"), [(29, 0.95, 0), (5, 0.95, 2), (3, 0.9, 3), (1, 0.9, 5)]
)
def test_fewer_rows_of_a_class_have_the_outer_limits_of_both_likelihoods(events, level, seed):
    """At each limit both have fallen by half the quantile, and one of them by no more."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.9, 120)
    y, w = np.zeros(120, dtype=int), rng.integers(1, 4, 120)
    at = rng.choice(120, events, replace=False, p=p / p.sum())
    y[at], w[at] = 1, 1
    y = y if seed % 2 else 1 - y
    value, low, high, _ = limits(y, p, level, w)
    both = np.array(
        [drops(best(y, p, w, penalised), (low, high), value) for penalised in (False, True)]
    )
    assert both.min(axis=0) == pytest.approx([stats.chi2.ppf(level, 1) / 2] * 2, rel=1e-3)


def test_the_words_for_the_limits_of_the_slope_follow_the_rows_of_the_rarer_class():
    p, n = np.array([0.2, 0.4, 0.6]), np.full(3, 50_000)
    profile = "profile likelihood"
    for rarer, words in (
        (29, f"{profile}, penalised"),
        (30, profile),
        (20_000, profile),
        (20_001, "Wald"),
    ):
        for events in (np.array([0, 1, rarer - 1]), n - np.array([rarer - 2, 1, 1])):
            y, rows, w = counted(p, n, events)
            assert tn.estimate("slope", y, rows, sample_weight=w).method == words
    p = np.linspace(0.001, 0.01, 100_001)
    assert tn.estimate("slope", np.arange(p.size) % 200 == 0, p).method == "Wald"


@pytest.mark.parametrize("extra", [0, 1])
def test_wald_limits_begin_with_more_than_20_000_rows_of_the_rarer_class(extra):
    """Wald limits lie at equal distances; those of the profile do not."""
    y, p, w = counted(
        [0.001, 0.01, 0.02], np.full(3, 10**6), np.array([3_000, 7_000, 10_000 + extra])
    )
    for name in ("slope", "free_intercept"):
        value, low, high, _ = limits(y, p, w=w, name=name)
        assert (abs((high - value) / (value - low) - 1) < 1e-9) == bool(extra)
        assert abs((high - value) / (value - low) - 1) < 0.03


@pytest.mark.parametrize(("events", "each"), [([50, 51, 97], 5), ([20, 45, 70, 85, 97], 1)])
def test_clusters_with_few_events_have_the_outer_limits_of_both_ways(events, each):
    p, y, cluster = (
        np.linspace(0.01, 0.2, 100),
        np.isin(np.arange(100), events).astype(int),
        np.arange(100) // each,
    )
    freedom = min(100 / each, len(set(cluster[y == 1]))) - 1
    for name in ("free_intercept", "slope"):
        value, low, high, error = limits(y, p, cluster=cluster, name=name)
        alone, reach = limits(y, p, name=name), stats.t.ppf(0.975, freedom) * error
        assert (low, high) == pytest.approx(
            (min(value - reach, alone[1]), max(value + reach, alone[2]))
        )


def test_clusters_with_thirty_rows_of_each_class_keep_the_limits_of_the_sandwich():
    p = np.tile(np.linspace(0.1, 0.9, 10), 6)
    y = (np.arange(60) % 10 >= 5).astype(int) ^ np.isin(np.arange(60) % 20, [3, 6])
    assert y.sum() == 30
    for name in ("slope", "free_intercept"):
        found = limits(y, p, cluster=np.arange(60) // 2, name=name)
        assert quantile(found) == pytest.approx((found[0] - found[1]) / found[3])


def test_scores_by_the_thousand_are_pooled_without_harm_to_the_limits():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.001, 0.02, 2_500)
    y = np.zeros(p.size, dtype=int)
    y[rng.choice(p.size, 20, replace=False, p=p / p.sum())] = 1
    value, low, high, _ = limits(y, p)
    both = np.array(
        [drops(best(y, p, np.ones(p.size), each), (low, high), value) for each in (False, True)]
    )
    assert both.min(axis=0) == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 2, rel=1e-3)


@pytest.mark.parametrize("turned", [False, True])
def test_at_the_limit_of_separated_classes_the_likelihood_has_fallen_from_one(turned):
    """Thirty events above forty non-events: the supremum is 1, and its logarithm falls by half the quantile."""
    p = np.concatenate([np.linspace(0.1, 0.4, 40), np.linspace(0.5, 0.9, 30)])
    y = (np.arange(70) >= 40).astype(int) ^ turned
    _, low, high, _ = limits(y, p, 0.6)
    near, far = (high, low) if turned else (low, high)
    assert math.isinf(far)
    assert best(y, p, np.ones(70))(near) == pytest.approx(-stats.chi2.ppf(0.6, 1) / 2, rel=1e-5)


@pytest.mark.parametrize("label", [0, 1])
def test_one_score_with_all_events_has_limits_on_both_sides(label):
    """35 of 40 rows of one score among three are events, and no others; or the same of non-events."""
    p = np.repeat([0.2, 0.5, 0.7], 40)
    y = np.where((np.arange(120) >= 40) & (np.arange(120) < 75), label, 1 - label)
    value, low, high, _ = limits(y, p)
    fallen = drops(best(y, p, np.ones(120)), (low, high), value)
    assert fallen == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 2, rel=1e-5)


def test_six_rows_have_the_standard_errors_of_their_information():
    """The determinant of so little information is far below 1."""
    y, p = np.array([0, 1, 0, 1, 0, 1]), np.array([0.45, 0.46, 0.5, 0.52, 0.54, 0.55])
    _, bread, _, _ = logistic_fit(y, p, np.ones(6))
    errors = [limits(y, p, name=name)[3] for name in ("free_intercept", "slope")]
    assert errors == pytest.approx(np.sqrt(np.diag(bread)), rel=1e-6)


@pytest.mark.parametrize("way", ["plain", "weighted", "clustered"])
@pytest.mark.parametrize("step", [1e-3, 1e-10])
def test_the_unit_of_log_odds_that_are_nearly_equal_does_not_matter(step, way):
    """Log-odds of 0.3 + step · k have the line of k, its slope over the step."""
    rng = np.random.default_rng(0)
    k = np.arange(200) % 10
    y = (rng.random(200) < expit(0.5 * (k - 5))).astype(int)
    options = {
        "weighted": {"w": rng.uniform(0.5, 2, 200)},
        "clustered": {"cluster": np.arange(200) // 4},
    }.get(way, {})
    found, expected = (
        limits(y, expit(0.3 + step * k), **options),
        limits(y, expit(1.0 * k), **options),
    )
    assert [step * value for value in found] == pytest.approx(expected, rel=1e-4)
