"""Confidence limits of mean losses: by hand, against slow references, extremes, simulated coverage."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, binomtest, entropy, norm, pearson3
from scipy.stats import t as student

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
NAMES = {"brier": "brier", "log": "log_loss"}


def some_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < p).astype(int), p


def limits_of(found):
    return found.low, found.high, found.standard_error


@pytest.mark.parametrize("events", [0, 1, 3, 10, 50])
def test_at_one_score_the_brier_score_has_jeffreys_limits(events):
    p, n = 0.01, 200
    found = tn.estimate("brier", np.arange(n) < events, np.full(n, p))
    jeffreys = [
        p**2 + (1 - 2 * p) * beta.ppf(q, events + 0.5, n - events + 0.5) for q in (0.025, 0.975)
    ]
    width = jeffreys[1] - jeffreys[0]
    assert found.high == pytest.approx(jeffreys[1], abs=0.06 * width)
    assert found.low == pytest.approx(jeffreys[0] if events else 0.0, abs=0.06 * width)


def test_the_scaled_score_and_its_standard_error_by_the_jackknife():
    y, p = some_rows(60)
    found = tn.estimate("scaled_brier", y, p)
    left = np.array([tn.scaled_brier(np.delete(y, i), np.delete(p, i)) for i in range(y.size)])
    jackknife = math.sqrt((y.size - 1) / y.size * ((left - left.mean()) ** 2).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.05)
    assert found.low < found.value < found.high < 1


def test_limits_of_the_rate_are_those_of_clopper_and_pearson():
    exact = binomtest(20, 100).proportion_ci(0.9)
    found = tn.estimate("prevalence", np.repeat([0, 1], [80, 20]), np.full(100, 0.3), level=0.9)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_certain_scores_that_are_all_right_leave_the_upper_limit_of_the_log_loss_open():
    sure = [0, 1] * 10, [0.0, 1.0] * 10
    assert limits_of(tn.estimate("log_loss", *sure))[:2] == (0.0, math.inf)
    assert 0 < tn.estimate("brier", *sure).high < 0.2


LAWS = {
    "uniform": lambda rng, size: rng.random(size),
    "rare": lambda rng, size: rng.beta(1, 40, size),
    "confident": lambda rng, size: rng.beta(0.1, 0.1, size).clip(1e-9, 1 - 1e-9),
    "tied": lambda rng, size: rng.choice([0.05, 0.2, 0.5, 0.8, 0.95], size),
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.6, 0.0), (1.0, -0.7)])
def test_limits_cover_the_mean_loss_of_the_population(loss, law, slope, shift):
    rng, runs, n = np.random.default_rng(0), 800, 100
    grid = LAWS[law](rng, 400_000)
    q = expit(slope * logit(grid) + shift)
    event, other = (
        ((1 - grid) ** 2, grid**2) if loss == "brier" else (-np.log(grid), -np.log1p(-grid))
    )
    truth, held = float((q * event + (1 - q) * other).mean()), 0
    for _ in range(runs):
        p = LAWS[law](rng, n)
        found = tn.estimate(
            NAMES[loss], (rng.random(n) < expit(slope * logit(p) + shift)).astype(int), p
        )
        held += found.low <= truth <= found.high
    # Three standard errors, 0.023, beyond 0.93 to 0.98.
    assert 0.907 <= held / runs <= 0.998


def test_the_scaled_score_of_little_data():
    """By hand: no error, one event with one degree of freedom, and two rows."""
    assert limits_of(tn.estimate("scaled_brier", [0, 1, 1], [0.0, 1.0, 1.0]))[:2] == (
        -math.inf,
        1.0,
    )
    y, p = np.arange(16) == 0, np.linspace(0.02, 0.2, 16)
    found = tn.estimate("scaled_brier", y, p, level=0.8)
    ratio, reach = tn.brier(y, p) * 256 / 15, student.ppf(0.9, 1) * found.standard_error
    assert found.low == pytest.approx(1 - max(ratio + reach, ratio * math.exp(reach / ratio)))
    assert found.high == pytest.approx(
        1 - max(min(ratio - reach, ratio * math.exp(-reach / ratio)), 0)
    )
    low, high, _ = limits_of(tn.estimate("scaled_brier", [0, 1], [0.2, 0.7]))
    assert -math.inf < low < 0 < high == 1


def test_the_scaled_score_of_two_clusters_has_no_lower_limit():
    data = tn.simulate.demo(400)
    cluster = np.arange(400) % 2
    found = tn.estimate("scaled_brier", data.y_true, data.y_prob, cluster=cluster, floor=False)
    assert limits_of(found)[:2] == (-math.inf, 1.0)
    assert "No lower limit" in found.note


def slow_limits(losses, surprise, level, w=None, cluster=None, possible=None):
    """Row by row: half a row with a wrong label, then a gamma law with the moments of the sums of units.

    With `possible` losses the upper limit is at least Gaffke's, by drawn weights.
    """
    w = np.ones(losses.size) if w is None else w
    names = np.arange(losses.size) if cluster is None else cluster
    total, mean = w.sum(), np.average(losses, weights=w)
    sums = np.array([(w * (losses - mean))[names == name].sum() for name in np.unique(names)])
    sizes = np.array([w[names == name].sum() for name in np.unique(names)])
    units, unit = total**2 / (sizes**2).sum(), (w**2).sum() / total
    alike = (sums**2).sum() / max(((w * (losses - mean)) ** 2).sum(), 1e-300)
    unit *= min(max(alike, 1), total / units / unit)
    centre = (total * mean + unit / 2 * surprise) / (total + unit / 2)
    added = unit * (surprise - centre)
    second, third = (sums**2).sum() + added**2 / 2, (sums**3).sum() + added**3 / 2
    factor, upper = np.sqrt(units / (units - 1)) / total, (1 + level) / 2
    spread = np.sqrt(second) * factor * student.ppf(upper, units - 1) / norm.ppf(upper)
    low, high = pearson3.ppf([1 - upper, upper], 2 * third / second**1.5, centre, spread)
    if possible is not None:
        high = max(high, drawn_gaffke(losses, possible, w, unit, upper))
    return max(min(low, mean), 0), max(high, mean), np.sqrt((sums**2).sum()) * factor


def drawn_gaffke(losses, possible, w, unit, upper):
    """Half a row more has the mean possible loss of the four rows, by weight, that could lose most."""
    left, worst = 4 * unit, 0.0
    for i in np.argsort(-possible):
        worst += min(w[i], left) * possible[i] / (4 * unit)
        left -= min(w[i], left)
    weight = np.random.default_rng(0).gamma(np.append(w / unit, 0.5), size=(100_000, w.size + 1))
    return np.quantile(weight @ np.append(losses, worst) / weight.sum(axis=1), upper)


def losses_of(y, p, loss):
    return (p - y) ** 2 if loss == "brier" else -np.log(np.where(y == 1, p, 1 - p))


def wrong_loss(p, loss, w=None):
    m = np.minimum(p, 1 - p)
    return np.average(losses_of(1, m, loss), weights=m if w is None else m * w)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("what", ["rows", "left", "whole", "weights", "clusters", "both"])
def test_limits_of_a_mean_loss_are_those_of_its_rows(what, level, loss):
    rng = np.random.default_rng(3)
    y, p = some_rows(60, seed=5)
    w, cluster = None, None
    if what == "left":  # most labels are the less probable one: the losses are skewed to the left
        y, p = (np.arange(60) % 7 > 0).astype(int), 0.2 + 0.2 * p
    if what == "whole":
        w = rng.integers(1, 4, 60)
        found = tn.estimate(NAMES[loss], y, p, level=level, sample_weight=w)
        y, p, w = np.repeat(y, w), np.repeat(p, w), None
    else:
        w = rng.uniform(0.2, 3, 60) if what in ("weights", "both") else None
        cluster = np.sort(rng.integers(0, 25, 60)) if what in ("clusters", "both") else None
        found = tn.estimate(NAMES[loss], y, p, level=level, sample_weight=w, cluster=cluster)
    possible = np.maximum(-np.log(p), -np.log(1 - p)) if loss == "log" else None
    low, high, error = slow_limits(
        losses_of(y, p, loss), wrong_loss(p, loss, w), level, w, cluster, possible
    )
    assert (found.low, found.standard_error) == pytest.approx((low, error), rel=1e-9)
    assert found.high == pytest.approx(high, rel=5e-3 if loss == "log" else 1e-9)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize(("score", "every"), [(0.0, 99), (0.02, 99), (0.3, 99), (0.3, 4)])
def test_copies_of_rows_are_one_row(score, every, loss):
    """Without an event, or with an event in every few rows."""
    y, p, cluster = (
        (np.arange(60) % every == every - 1).astype(int),
        np.full(60, score),
        np.arange(60),
    )
    rows = tn.estimate(NAMES[loss], y, p, cluster=cluster)
    copies = tn.estimate(
        NAMES[loss], *(np.repeat(x, 8) for x in (y, p)), cluster=np.repeat(cluster, 8)
    )
    assert limits_of(copies)[:2] == pytest.approx(limits_of(rows)[:2], rel=1e-9)
    assert rows.high == pytest.approx(tn.estimate(NAMES[loss], y, p).high, rel=1e-9)


def test_one_row_leaves_every_loss_possible():
    assert limits_of(tn.estimate("brier", [1], [0.3])) == pytest.approx(
        (0, 1, math.nan), nan_ok=True
    )
    assert limits_of(tn.estimate("log_loss", [1], [0.3])) == pytest.approx(
        (0, math.inf, math.nan), nan_ok=True
    )
    two = tn.estimate("log_loss", [1, 0], [0.3, 0.4])
    assert two.low < two.value < two.high < math.inf


def test_without_a_surprise_half_a_row_may_lose_what_the_four_boldest_could():
    p = np.r_[1e-9, 1e-5, 1e-4, 1e-3, np.full(296, 0.01)]
    found = tn.estimate("log_loss", np.zeros(300, int), p)
    usual, worst = -np.log1p(-0.01), -np.log([1e-9, 1e-5, 1e-4, 1e-3]).mean()
    assert found.high == pytest.approx(
        usual + (worst - usual) * beta.ppf(0.975, 0.5, 300), rel=1e-2
    )
    assert "Gaffke" in found.method


def test_certain_scores_are_taken_for_right_in_the_upper_limit_and_a_note_says_so():
    y, p = some_rows(100)
    sure = np.r_[p, 0.0, 1.0], np.r_[y, 0, 1]
    found, without = tn.estimate("log_loss", sure[1], sure[0]), tn.estimate("log_loss", y, p)
    assert "0 and 1 (0.02 of the rows) for right" in found.note
    assert without.note == ""
    assert found.high < without.high


BOLD = {
    "1e-6 to 1e-3, rate .02": (
        100,
        lambda rng, n: 10 ** rng.uniform(-6, -3, n),
        lambda p: np.full(p.size, 0.02),
    ),
    "logit-normal, slope .5": (
        100,
        lambda rng, n: expit(rng.normal(-8, 2, n)),
        lambda p: expit(0.5 * logit(p)),
    ),
    "1 % at 1e-6, rate .3": (
        400,
        lambda rng, n: np.where(rng.random(n) < 0.01, 1e-6, rng.uniform(0.1, 0.9, n)),
        lambda p: np.where(p < 0.01, 0.3, p),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", BOLD)
def test_limits_of_the_log_loss_cover_where_sure_scores_are_wrong(law):
    """Student's limits covered .84 to .90 here."""
    n, draw, truth = BOLD[law]
    rng, runs = np.random.default_rng(12), 400
    many = draw(rng, 10**6)
    goal = -(truth(many) * np.log(many) + (1 - truth(many)) * np.log1p(-many)).mean()
    covered = 0
    for _ in range(runs):
        p = draw(rng, n)
        covered += goal in tn.estimate(
            "log_loss", (rng.random(n) < truth(p)).astype(int), p, floor=False
        )
    assert covered / runs >= 0.94 - 3 * np.sqrt(0.94 * 0.06 / runs)


def test_rows_that_can_only_have_one_loss_have_it_for_sure():
    found = tn.estimate("brier", [0, 1, 1, 0], [0.5] * 4)
    assert limits_of(found) == (0.25, 0.25, 0.0)


def test_the_upper_limit_of_the_brier_score_is_at_most_one_and_that_of_the_log_loss_may_exceed_it():
    y, p = np.ones(4), np.array([0.001, 0.002, 0.003, 0.7])
    assert tn.estimate("brier", y, p).high == 1
    assert tn.estimate("log_loss", y, p).high > 5


def matrix_rows(n=50, K=3, seed=2):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), n)
    return np.array([rng.choice(K, p=row) for row in P]), P


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("K", [2, 3, 5])
def test_limits_of_the_loss_of_several_classes_are_those_of_its_rows(K, loss):
    y, P = matrix_rows(K=K)
    every = ((np.eye(K) - P[:, np.newaxis]) ** 2).sum(axis=2) if loss == "brier" else -np.log(P)
    every = every / 2 if (loss, K) == ("brier", 2) else every
    lesser = np.where(P.max(axis=1, keepdims=True) == P, 0, P)
    surprise = np.average(every, weights=lesser)
    losses = every[np.arange(y.size), y]
    # Two classes are a binary problem, of which the largest possible loss is known.
    possible = every.max(axis=1) if (loss, K) == ("log", 2) else None
    w, cluster = np.random.default_rng(1).uniform(0.5, 2, y.size), np.arange(y.size) // 2
    weighted = np.average(every, weights=lesser * w[:, np.newaxis])
    for found, expected in (
        (tn.estimate(NAMES[loss], y, P), slow_limits(losses, surprise, 0.95, possible=possible)),
        (
            tn.estimate(NAMES[loss], y, P, sample_weight=w),
            slow_limits(losses, weighted, 0.95, w, possible=possible),
        ),
        (
            tn.estimate(NAMES[loss], y, P, cluster=cluster),
            slow_limits(losses, surprise, 0.95, cluster=cluster, possible=possible),
        ),
    ):
        assert limits_of(found) == pytest.approx(expected, rel=1e-9 if possible is None else 5e-3)


def test_certain_scores_of_several_classes_fear_the_worst_loss():
    y, P = np.tile([0, 1, 2], 8), np.tile(np.eye(3), (8, 1))
    found = tn.estimate("brier", y, P)
    assert limits_of(found)[:2] == pytest.approx(slow_limits(np.zeros(24), 2.0, 0.95)[:2])
    assert tn.estimate("log_loss", y, P).high == math.inf
    P[0] = [0.6, 0.4, 0]
    assert (
        tn.estimate("log_loss", y, P).high < math.inf
    )  # a class of probability 0 is not expected to occur


@pytest.mark.parametrize("weighted", [False, True])
def test_class_wise_sums_have_the_limits_of_the_scores_of_the_true_classes(weighted):
    y, P = matrix_rows(80, 4)
    w = np.random.default_rng(1).uniform(0.5, 2, y.size) if weighted else np.ones(y.size)
    tally = tn.tally(y, P, sample_weight=w, kind="classwise")
    lesser = np.where(P <= 0.5, P, 0) * w[:, np.newaxis]
    surprise = (lesser * -np.log(P)).sum() / lesser.sum()
    losses = -np.log(P[np.arange(y.size), y])
    found = tn.estimate("log_loss", tally)
    assert limits_of(found) == pytest.approx(slow_limits(losses, surprise, 0.95, w), rel=1e-9)


@pytest.mark.parametrize("loss", NAMES)
def test_top_labels_of_weighted_and_other_rows_can_be_added(loss):
    y, P = matrix_rows(80)
    some, w = P.argmax(axis=1) != 2, 1 + np.arange(80) % 3
    options = {"kind": "top-label", "labels": [0, 1, 2]}
    both = tn.tally(y, P, **options) + tn.tally(y[some], P[some], sample_weight=w[some], **options)
    every = tn.estimate(NAMES[loss], y, P, sample_weight=1 + np.where(some, w, 0), **options)
    assert limits_of(tn.estimate(NAMES[loss], both)) == pytest.approx(limits_of(every), rel=1e-12)


def test_class_wise_sums_of_certain_scores_leave_the_log_loss_open():
    found = tn.estimate("log_loss", tn.tally([0, 1, 2], np.eye(3), kind="classwise"))
    assert (found.low, found.high) == (0, math.inf)
    halves = tn.tally(
        [0, 1, 2] * 4, [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]] * 4, kind="classwise"
    )
    assert limits_of(tn.estimate("log_loss", halves))[:2] == pytest.approx(
        (math.log(2), math.log(2))
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_add_the_spread_of_their_scores(weighted):
    y, p = some_rows(200)
    p, b = p / 2, np.minimum((2.5 * p).astype(int), 2)  # the upper bins are empty
    p[0], b[0] = 0.7, 3  # and one has a single row
    w = np.random.default_rng(1).uniform(0.2, 2, 200) if weighted else np.ones(200)
    w[0] = 0.3 if weighted else 1
    binned = tn.binned(y, p, bins=5, sample_weight=w if weighted else None)
    brier, total, squares = np.average((p - y) ** 2, weights=w), w.sum(), (w**2).sum()
    second = 0.0
    for each in range(4):
        at = b == each
        mean, rate = np.average(p[at], weights=w[at]), np.average(y[at], weights=w[at])
        spread = np.average((p[at] - mean) ** 2, weights=w[at])
        for share, gap in ((rate, 1 - mean), (1 - rate, mean)):  # (gap ± δ)² varies by 4 gap² Var δ
            second += (w[at] ** 2).sum() * share * ((gap**2 - brier) ** 2 + 4 * gap**2 * spread)
    units = total**2 / squares
    found = tn.estimate("brier", binned)
    assert found.standard_error == pytest.approx(
        np.sqrt(second * units / (units - 1)) / total, rel=1e-6
    )


@pytest.mark.parametrize("level", [0.6, 0.95])
@pytest.mark.parametrize("what", ["rows", "weights", "clusters"])
@pytest.mark.parametrize("often", [False, True])
def test_limits_of_the_scaled_score_are_those_of_the_ratio_and_of_its_logarithm(what, level, often):
    rng = np.random.default_rng(8)
    p = rng.uniform(0.05, 0.5, 70)
    p = 1 - p if often else p
    y = (rng.random(70) < p).astype(int)
    w = rng.uniform(0.2, 3, 70) if what == "weights" else None
    cluster = np.arange(70) // 3 if what == "clusters" else None
    found = tn.estimate("scaled_brier", y, p, level=level, sample_weight=w, cluster=cluster)
    w = np.ones(70) if w is None else w
    names = np.arange(70) if cluster is None else cluster
    rate, total = np.average(y, weights=w), w.sum()
    unit, brier = rate * (1 - rate), np.average((p - y) ** 2, weights=w)
    # The derivative of B / (r (1 - r)) by the weight of a row.
    move = ((p - y) ** 2 - brier) / unit - brier * (1 - 2 * rate) * (y - rate) / unit**2
    sums = np.bincount(names, w * move)
    units = total**2 / (np.bincount(names, w) ** 2).sum()
    error = np.sqrt((sums**2).sum() * units / (units - 1)) / total
    reach = student.ppf((1 + level) / 2, min(units - 1, min(rate, 1 - rate) * units)) * error
    ratio = brier / unit
    low, high = (
        1 - max(ratio + reach, ratio * np.exp(reach / ratio)),
        1 - min(ratio - reach, ratio * np.exp(-reach / ratio)),
    )
    assert limits_of(found) == pytest.approx((low, high, error), rel=1e-9)


@pytest.mark.parametrize("binned", [False, True])
def test_a_rate_of_weighted_rows_has_the_limits_of_korn_and_graubard(binned):
    """Bins take the weights of events to be like the others."""
    rng = np.random.default_rng(2)
    y, p, w = (rng.random(50) < 0.3).astype(int), rng.uniform(0.1, 0.6, 50), rng.uniform(0.2, 3, 50)
    rate, total, squares = np.average(y, weights=w), w.sum(), (w**2).sum()
    residual = rate * (1 - rate) * squares if binned else (w**2 * (y - rate) ** 2).sum()
    # Variance of a weighted rate, and a pseudo-row of mean square weight.
    variance = residual * 50 / 49 + rate * (1 - rate) * squares / 50
    rows, freedom = total**2 * rate * (1 - rate) / variance, total**2 / squares - 1
    rows *= (norm.ppf(0.95) / student.ppf(0.95, freedom)) ** 2
    k = rate * rows
    expected = beta.ppf(0.05, k, rows - k + 1), beta.ppf(0.95, k + 1, rows - k)
    sums = (
        (tn.binned(y, p, bins=1, sample_weight=w),)
        if binned
        else (tn.tally(y, p, sample_weight=w),)
    )
    found = tn.estimate("prevalence", *sums, level=0.9)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-6)
    assert found.standard_error == pytest.approx(
        np.sqrt(rate * (1 - rate) * squares) / total, rel=1e-6
    )


def test_the_standard_error_of_a_rate_is_that_of_rows_or_clusters():
    y, p = some_rows(60)
    rate, cluster = y.mean(), np.arange(60) // 4
    assert tn.estimate("prevalence", y, p).standard_error == pytest.approx(
        math.sqrt(rate * (1 - rate) / 60)
    )
    assert tn.estimate("prevalence", tn.binned(y, p)).standard_error == pytest.approx(
        math.sqrt(rate * (1 - rate) / 60)
    )
    sums = np.bincount(cluster, y - rate)
    expected = math.sqrt((sums @ sums) * 15 / 14) / 60
    assert tn.estimate("prevalence", y, p, cluster=cluster).standard_error == pytest.approx(
        expected
    )
    w = np.random.default_rng(0).uniform(0.5, 2, 60)
    rate = np.average(y, weights=w)
    sums, sizes = np.bincount(cluster, w * (y - rate)), np.bincount(cluster, w)
    units = w.sum() ** 2 / (sizes @ sizes)
    expected = math.sqrt((sums @ sums) * units / (units - 1)) / w.sum()
    found = tn.estimate("prevalence", y, p, cluster=cluster, sample_weight=w)
    assert found.standard_error == pytest.approx(expected)


@pytest.mark.parametrize("events", [0, 1, 9, 15, 20])
@pytest.mark.parametrize("score", ["brier", "log"])
def test_limits_of_the_uncertainty_are_its_range_over_the_limits_of_the_rate(score, events):
    y, p = (np.arange(20) < events).astype(int), np.full(20, 0.4)
    low, high, error = limits_of(tn.estimate("prevalence", y, p, level=0.9))
    rates = np.append(np.linspace(low, high, 2001), 0.5 if low <= 0.5 <= high else low)

    def of(r):
        return r * (1 - r) if score == "brier" else entropy([r, 1 - r], axis=0)

    found = tn.estimate("uncertainty", y, p, level=0.9, score=score)
    assert limits_of(found)[:2] == pytest.approx((of(rates).min(), of(rates).max()), rel=1e-9)
    rate = events / 20
    if 0 < rate < 1:
        steepness = abs(of(rate + 1e-6) - of(rate - 1e-6)) / 2e-6
        assert found.standard_error == pytest.approx(steepness * error, abs=1e-8)
    else:
        assert found.standard_error == pytest.approx(
            0.0 if score == "brier" else math.nan, nan_ok=True
        )
