"""The certificate: κ by brute force, an upper limit that covers, and what it promises about decisions."""

import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn


def slow_kappa(y, p):
    """The largest |Σ (y − p)| / n over intervals of scores."""
    values = np.unique(p)
    return max(
        abs((y - p)[(p >= a) & (p <= b)].sum()) / y.size
        for i, a in enumerate(values)
        for b in values[i:]
    )


def slow_high(y, p, level):
    n, best, values = y.size, 0.0, np.unique(p)
    z = stats.norm.ppf(level)
    for i, a in enumerate(values):
        for b in values[i:]:
            inside = (p >= a) & (p <= b)
            r = np.where(inside, y - p, 0.0)
            for sign in (1, -1):
                end = sign * r.mean() + z * math.sqrt(max((r**2).mean() - r.mean() ** 2, 0) / n)
                rare = int((inside & (y == (sign > 0))).sum())
                if rare < 50:
                    limit = 1.0 if rare == n else stats.beta.ppf(level, rare + 1, n - rare)
                    end = max(end, limit - np.where(inside, p if sign > 0 else 1 - p, 0).mean())
                best = max(best, end)
    return best


@pytest.mark.parametrize("n", [1, 3, 8])
def test_fewer_rows_than_few_events_have_the_limits_of_so_few_rows(n):
    y, p = np.ones(n, dtype=int), np.linspace(0.3, 0.6, n)
    assert tn.decision_certificate(y, p).high == pytest.approx(slow_high(y, p, 0.95), abs=1e-12)


@pytest.mark.parametrize("digits", [1, 9])
def test_value_and_limit_by_brute_force(digits):
    rng = np.random.default_rng(digits)
    p = rng.uniform(size=40).round(digits)
    y = (rng.uniform(size=40) < p**2).astype(int)
    found = tn.decision_certificate(y, p)
    assert found.value == pytest.approx(slow_kappa(y, p), abs=1e-14)
    assert found.high == pytest.approx(min(slow_high(y, p, 0.95), 1), abs=1e-12)
    assert tn.decision_certificate(tn.tally(y, p)).high == pytest.approx(found.high, abs=1e-12)
    assert found.low == 0


def test_many_scores_have_a_bound_that_is_hardly_larger():
    rng = np.random.default_rng(3)
    p = rng.uniform(size=2_900)
    y = rng.uniform(size=2_900) < 0.8 * p
    every = tn.decision_certificate(y, p)
    more = tn.decision_certificate(
        np.append(y, y), np.append(p, p + 1e-9 * (1 - p))
    )  # 5,800 distinct scores
    assert more.value == pytest.approx(every.value, rel=1e-4)
    assert every.value < more.high < every.high


def test_no_monotone_map_gains_more_at_any_threshold():
    rng = np.random.default_rng(4)
    p = rng.uniform(size=400)
    y = (rng.uniform(size=400) < np.clip(1.4 * p - 0.1, 0, 1)).astype(int)
    kappa = tn.decision_certificate(y, p).value
    for t in (0.1, 0.3, 0.5, 0.8):

        def cost(cut, t=t):
            accept = p >= cut
            return t * (accept & (y == 0)).mean() + (1 - t) * (~accept & (y == 1)).mean()

        # Decisions after an increasing map are decisions at another cut of the scores.
        best = min(cost(cut) for cut in np.append(p, 2.0))
        assert cost(t) - best <= kappa + 1e-12


def test_bernstein_is_wider_and_clusters_and_weights_count():
    rng = np.random.default_rng(5)
    p = rng.uniform(size=500).round(2)
    y = rng.uniform(size=500) < p
    plain = tn.decision_certificate(y, p)
    bernstein = tn.decision_certificate(y, p, method="bernstein")
    assert bernstein.high > plain.high
    assert (plain.method, bernstein.method) == (
        "normal, exact where events are few",
        "empirical Bernstein",
    )
    twice = [np.repeat(v, 2) for v in (y, p, np.arange(500))]
    clustered = tn.decision_certificate(twice[0], twice[1], cluster=twice[2])
    assert clustered.value == pytest.approx(plain.value)
    assert clustered.high >= plain.high * 0.99
    weighted = tn.decision_certificate(y, p, sample_weight=np.full(500, 2))
    assert weighted.high == pytest.approx(tn.decision_certificate(twice[0], twice[1]).high)
    with pytest.raises(tn.InputError, match="must have every distinct score"):
        tn.decision_certificate(tn.binned(y, p))
    with pytest.raises(tn.InputError, match="`method` must be"):
        tn.decision_certificate(y, p, method="exact")


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "rare", "tied", "wrong"])
def test_the_limit_covers(law):
    rng, runs, n = np.random.default_rng(6), 200, 300

    def draw(size):
        if law == "rare":
            return np.full(size, 0.001), np.full(size, 0.01)
        p = rng.uniform(size=size)
        p = p.round(1) if law == "tied" else p
        return p, 0.7 * p if law == "wrong" else p

    p, truth = draw(200_000)
    order = np.argsort(p, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum((truth - p)[order])]) / p.size
    kappa = np.ptp(reached)
    covered = 0
    for _ in range(runs):
        p, truth = draw(n)
        covered += (
            tn.decision_certificate((rng.uniform(size=n) < truth).astype(int), p).high >= kappa
        )
    assert covered / runs >= 0.94 - 2 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_the_limit_covers_clusters_that_are_alike_inside():
    rng, runs, covered = np.random.default_rng(7), 200, 0
    for _ in range(runs):
        y, cluster = np.repeat(rng.uniform(size=100) < 0.05, 5), np.repeat(np.arange(100), 5)
        covered += tn.decision_certificate(y, np.full(500, 0.01), cluster=cluster).high >= 0.04
    assert covered / runs >= 0.94 - 2 * math.sqrt(0.05 * 0.95 / runs)


def limits_by_hand(y, p, w, size, level, bernstein=False):
    """The largest limit over intervals, of rows with weights and clusters of these sizes."""
    w = w / w.sum()
    largest = size.max()
    n = 1 / (w**2).sum() / largest
    log = math.log(2 / (1 - level))
    z = math.sqrt(2 * log) if bernstein else stats.norm.ppf(level)
    added = 14 * log / 3 / max(n - 1, 1) if bernstein else 0.0
    best, values = 0.0, np.unique(p)
    for i, a in enumerate(values):
        for b in values[i:]:
            inside = (p >= a) & (p <= b)
            square = (w**2 * (y - p) ** 2 * size)[inside].sum()
            for sign in (1, -1):
                total = sign * (w * (y - p))[inside].sum()
                best = max(best, total + z * math.sqrt(max(square - total**2 / n, 0)) + added)
                rare = math.ceil((inside & (y == (sign > 0))).sum() / largest - 1e-9)
                if rare < 50 and not bernstein:
                    two_sided = max(level, 0.75)
                    k = min(rare, n)
                    limit = stats.beta.ppf(two_sided, k + 1, n - k) if k < n else 1.0
                    expected = (w * np.where(sign > 0, p, 1 - p))[inside].sum()
                    best = max(best, limit - expected)
    return min(best, 1)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("method", ["normal", "bernstein"])
@pytest.mark.parametrize("kind", ["clusters", "weights", "both"])
def test_clusters_and_weights_by_brute_force(kind, method, level):
    rng = np.random.default_rng(8)
    p = rng.uniform(size=90).round(1)
    y = (rng.uniform(size=90) < 0.8 * p).astype(int)
    w = rng.uniform(0.5, 2, 90) if kind != "clusters" else np.ones(90)
    cluster = np.sort(rng.integers(0, 40, 90)) if kind != "weights" else np.arange(90)
    options = {} if kind == "clusters" else {"sample_weight": w}
    if kind != "weights":
        options["cluster"] = cluster
    found = tn.decision_certificate(y, p, level=level, method=method, **options)
    size = np.bincount(cluster)[cluster].astype(float)
    value = max(
        abs((w * (y - p))[(p >= a) & (p <= b)].sum() / w.sum())
        for a in np.unique(p) for b in np.unique(p)
    )  # fmt: skip
    expected = limits_by_hand(y, p, w, size, level, bernstein=method == "bernstein")
    assert (found.value, found.high) == pytest.approx((value, max(expected, value)), abs=1e-12)


@pytest.mark.parametrize("level", [0.6, 0.9])
def test_bernsteins_limit_of_rows_by_brute_force(level):
    rng = np.random.default_rng(9)
    p = rng.uniform(size=400).round(1)
    y = (rng.uniform(size=400) < 0.7 * p).astype(int)
    found = tn.decision_certificate(y, p, level=level, method="bernstein")
    one = np.ones(400)
    assert found.high == pytest.approx(limits_by_hand(y, p, one, one, level, bernstein=True))


def test_more_than_3_000_scores_have_the_best_of_25_bounds():
    """√V is at most λV + 1/(4λ): the largest sum over neighbours, for each of 25 values of λ."""
    n = 3_200
    p = (np.arange(n) + 0.5) / n
    rng = np.random.default_rng(1)
    for power, level in ((1.6, 0.9), (0.7, 0.99), (1.0, 0.6)):
        y = (rng.random(n) < p**power).astype(int)
        found = tn.decision_certificate(y, p, level=level)
        squares = (y - p) ** 2 / n**2
        limits = []
        for sign in (1, -1):
            bounds = []
            for rate in np.geomspace(0.5, 50, 25) / math.sqrt(squares.sum()):
                terms = sign * (y - p) / n + stats.norm.ppf(level) * rate * squares
                reached = np.append(0.0, np.cumsum(terms))
                best = (reached - np.minimum.accumulate(reached)).max()
                bounds.append(best + stats.norm.ppf(level) / (4 * rate))
            limits.append(min(bounds))
        assert found.high == pytest.approx(max(limits), rel=1e-9)
