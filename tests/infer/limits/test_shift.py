"""Confidence limits of the calibration intercept: references, laws, extremes, simulated coverage."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def limits(y, p, level=0.95, w=None, cluster=None):
    """Value, limits and standard error."""
    found = tn.estimate(
        "intercept", y, p, level=level, sample_weight=w, cluster=cluster, floor=False
    )
    return found.value, found.low, found.high, found.standard_error


def some_rows(n=200, seed=0, shift=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(np.log(p / (1 - p)) + shift)).astype(int), p


def test_swapping_the_classes_swaps_the_limits():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    shift, low, high, error = limits(1 - y, 1 - p, 0.9, w)
    assert (-shift, -high, -low, error) == pytest.approx(limits(y, p, 0.9, w), rel=1e-8)


@pytest.mark.parametrize("label", [0, 1])
def test_equal_labels_have_one_finite_limit(label):
    p, side = np.linspace(0.2, 0.8, 50), 1 if label else -1
    shift, low, high, _ = limits([label] * 50, p)
    assert math.isnan(shift)
    near, far = (low, high) if label else (high, low)
    assert far == side * math.inf
    # At the limit, labels that are all equal have probability 2.5 %.
    assert np.logaddexp(0, -side * (np.log(p / (1 - p)) + near)).sum() == pytest.approx(
        -math.log(0.025), rel=1e-9
    )
    for more in ({"cluster": np.arange(50)}, {"w": np.full(50, 0.5)}):
        found = limits([label] * 50, p, **more)
        assert found == pytest.approx((math.nan, -math.inf, math.inf, math.nan), nan_ok=True)


@pytest.mark.parametrize("p", [[0.0, 1.0], [1e-300, 1e-300], [0.5, 1 - 2**-53]])
def test_scores_near_or_at_the_ends_do_no_harm(p):
    shift, low, high, _ = limits([0, 1], p)
    assert (math.isnan(shift) and (low, high) == (-math.inf, math.inf)) or low < shift < high


@pytest.mark.slow
@pytest.mark.parametrize(("n", "scale"), [(100, 1.0), (1000, 0.1), (100, 0.1), (100, 0.065)])
def test_the_interval_covers_the_shift_as_often_as_stated(n, scale):
    rng, runs, missed = np.random.default_rng(5), 1000, 0
    for _ in range(runs):
        p = scale * rng.random(n)
        y = rng.random(n) < expit(np.log(p) - np.log1p(-p) - 0.5)
        _, low, high, _ = limits(y.astype(int), p)
        missed += not low <= -0.5 <= high
    tolerance = 3.5 * math.sqrt(0.05 * 0.95 / runs)
    assert missed / runs < 0.05 + tolerance
    if (
        n * scale > 50
    ):  # with two or three expected events there are often none, and the limit is exact
        assert missed / runs > 0.05 - tolerance


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


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_real_weights_have_the_sandwich_of_the_rows_and_students_t(level):
    y, p, w, _ = weighted_rows(1)
    shift, information, scores, inside = score_parts(y, p, w)
    error = math.sqrt(scores @ scores) / information
    reach = stats.t.ppf((1 + level) / 2, w[inside].sum() ** 2 / (w[inside] ** 2).sum() - 1) * error
    assert limits(y, p, level, w) == pytest.approx(
        (shift, shift - reach, shift + reach, error), rel=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_have_the_sandwich_of_their_sums_and_students_t(weighted):
    y, p, w, cluster = weighted_rows(4)
    w = w if weighted else np.ones(y.size)
    shift, information, scores, inside = score_parts(y, p, w)
    sums, sizes = (
        np.array([v[cluster[inside] == c].sum() for c in range(12)]) for v in (scores, w[inside])
    )
    error = math.sqrt(sums @ sums * 12 / 11) / information
    reach = stats.t.ppf(0.9, sizes.sum() ** 2 / (sizes @ sizes) - 1) * error
    found = limits(y, p, 0.8, w if weighted else None, cluster)
    assert found == pytest.approx((shift, shift - reach, shift + reach, error), rel=1e-9)


def test_clusters_that_leave_no_variance_have_no_limits():
    """An event and a non-event of score 1/2 in each cluster: all sums of residuals are 0."""
    found = limits([0, 1, 0, 1], np.full(4, 0.5), cluster=[0, 0, 1, 1])
    assert found == pytest.approx((0, -math.inf, math.inf, math.nan), nan_ok=True)


def test_two_clusters_have_twice_the_squares_of_their_sums():
    """By hand: at the shift the sums of two clusters are opposite, and Student's t has one degree of freedom."""
    shift, _, high, error = limits([1, 1, 1, 0, 1, 1], np.full(6, 0.5), cluster=[0, 0, 0, 1, 1, 1])
    q = 5 / 6
    expected = math.sqrt(2 * 2 * (3 - 3 * q) ** 2) / (6 * q * (1 - q))
    assert (shift, error, high - shift) == pytest.approx(
        (math.log(5), expected, stats.t.ppf(0.975, 1) * expected)
    )


def test_two_rows_have_an_error_and_limits():
    """By hand: the information of two rows at log-odds of 0 is 1/2; with real weights it is Σw/4, and one is free."""
    shift, low, high, error = limits([0, 1], [0.5, 0.5])
    assert (shift, error) == pytest.approx((0, math.sqrt(2)))
    # log(q (1 − q)) has fallen from log(1/4) by half of 3.84.
    assert expit(high) * expit(-high) == pytest.approx(math.exp(-stats.chi2.ppf(0.95, 1) / 2) / 4)
    assert low == pytest.approx(-high)
    _, _, high, error = limits([0, 1], [0.5, 0.5], w=[0.7, 0.7])
    assert (high, error) == pytest.approx((stats.t.ppf(0.975, 1) * math.sqrt(2), math.sqrt(2)))


@pytest.mark.parametrize("level", [0.6, 0.95, 0.999])
def test_at_both_limits_the_likelihood_has_fallen_by_half_the_quantile(level):
    y, p, _, _ = weighted_rows(2)
    w = np.random.default_rng(2).integers(0, 5, y.size)
    shift, information, _, inside = score_parts(y, p, w)
    x, drop = np.log(p[inside] / (1 - p[inside])), stats.chi2.ppf(level, 1) / 2

    def likelihood(a):
        return -(w[inside] @ np.logaddexp(0, np.where(y[inside], -1, 1) * (x + a)))

    value, low, high, error = limits(y, p, level, w)
    assert (value, error) == pytest.approx((shift, 1 / math.sqrt(information)), rel=1e-9)
    assert low < shift < high
    assert [likelihood(shift) - likelihood(limit) for limit in (low, high)] == pytest.approx(
        [drop, drop], rel=1e-8
    )


@pytest.mark.parametrize("score", [1e-300, 1e-9, 0.3, 0.999])
@pytest.mark.parametrize("n", [1, 40, 10**6])
def test_the_limit_of_equal_labels_of_one_score_is_that_of_clopper_and_pearson(n, score):
    """Without events, (1 − q)ⁿ = (1 − level)/2 at the upper limit; with events only, the same of q at the lower."""
    far = np.log(-np.expm1(math.log(0.025) / n)) - math.log(0.025) / n
    x = math.log(score) - math.log1p(-score)
    assert limits([0], [score], w=[n])[1:3] == (
        -math.inf,
        pytest.approx(far - x, rel=1e-9, abs=1e-9),
    )
    assert limits([1], [score], w=[n])[1:3] == (
        pytest.approx(-far - x, rel=1e-9, abs=1e-9),
        math.inf,
    )


@pytest.mark.parametrize(
    ("events", "words"), [(20_000, "profile likelihood"), (20_001, "Wald"), (0, "exact, one class")]
)
def test_wald_limits_begin_with_more_than_20_000_rows_of_the_rarer_class(events, words):
    """Wald limits lie at equal distances; those of the likelihood of 1 % events do not."""
    n, q = 2_000_000, events / 2_000_000
    for e, score in ((events, 0.01), (n - events, 0.99)):
        found = tn.estimate("intercept", [1, 0], [score, score], sample_weight=[e, n - e])
        assert found.method == words
        if events:
            assert found.standard_error == pytest.approx(1 / math.sqrt(n * q * (1 - q)), rel=1e-9)
            ends = (found.high - found.value) / (found.value - found.low)
            assert (abs(ends - 1) < 1e-9) == (words == "Wald")
            assert found.high - found.low == pytest.approx(
                2 * 1.959964 * found.standard_error, rel=1e-4
            )


@pytest.mark.parametrize("n", [5_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_many_scores_are_pooled_without_harm_to_the_limits(n):
    """Ten scores have many rows each: pools must not join them with each other."""
    rng = np.random.default_rng(7)
    p = expit(rng.normal(-4, 1.5, n))
    w = np.where(np.arange(n) < 10, 500, 1)
    y = (rng.random(n) < expit(np.log(p / (1 - p)) + 0.5)).astype(int)
    shift, _, _, _ = score_parts(y, p, w)
    x = np.log(p / (1 - p))

    def fallen(a):
        return w @ (
            np.logaddexp(0, np.where(y, -1, 1) * (x + a))
            - np.logaddexp(0, np.where(y, -1, 1) * (x + shift))
        )

    value, low, high, _ = limits(y, p, w=w)
    assert value == pytest.approx(shift, rel=1e-8)
    assert [fallen(low), fallen(high)] == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 2, rel=1e-4)
