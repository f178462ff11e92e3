"""Gaps of small segments are shrunk towards the whole; limits cover on average."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit

import trueness as tn
from trueness._numerics.shrinkage import shrink


def simulate(segments, rows, tau, rng, base=(1.0, 4.0), mu=0.0):
    code = np.repeat(np.arange(segments), rng.integers(rows[0], rows[1] + 1, segments))
    p = rng.beta(*base, code.size).clip(1e-6, 1 - 1e-6)
    shift = mu + tau * rng.normal(size=segments)
    truth = expit(logit(p) + shift[code])
    gap = np.bincount(code, truth - p) / np.bincount(code)
    return p, (rng.random(p.size) < truth).astype(float), code, gap


def test_large_segments_keep_their_gap_and_small_ones_take_that_of_all():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(21), [20_000] + [10] * 20)
    p = rng.uniform(0.2, 0.4, code.size)
    y = (rng.random(p.size) < np.where(code == 0, p + 0.1, p)).astype(float)
    found = shrink(p, np.ones(p.size), y, code, np.ones(21), 0.95)
    gaps = np.bincount(code, y - p) / np.bincount(code)
    assert found.gap[0] == pytest.approx(gaps[0], abs=0.002)
    assert np.abs(found.gap[1:] - gaps[0]).mean() < np.abs(gaps[1:] - gaps[0]).mean() / 3
    assert (found.low < found.gap).all()
    assert (found.gap < found.high).all()


@pytest.mark.parametrize("labels", [0.0, 1.0])
def test_one_label_only_gives_finite_limits(labels):
    p, code = np.linspace(0.01, 0.99, 30), np.arange(30) % 3
    found = shrink(p, np.ones(30), np.full(30, labels), code, np.ones(3), 0.95)
    assert np.isfinite([*found.gap, *found.low, *found.high]).all()


def test_certain_scores_do_not_move():
    p, y, code = (
        np.array([0.0, 1.0, 1.0, 0.5]),
        np.array([0.0, 1.0, 0.0, 1.0]),
        np.array([0, 0, 1, 2]),
    )
    found = shrink(p, np.ones(4), y, code, np.ones(3), 0.95)
    assert found.gap[:2].tolist() == [0.0, 0.0]


def test_shrunk_gaps_are_nearer_to_the_truth():
    rng = np.random.default_rng(1)
    raw, shrunk = [], []
    for _ in range(20):
        p, y, code, gap = simulate(40, (5, 60), 0.3, rng)
        found = shrink(p, np.ones(p.size), y, code, np.ones(40), 0.95)
        raw.append(((np.bincount(code, y - p) / np.bincount(code) - gap) ** 2).mean())
        shrunk.append(((found.gap - gap) ** 2).mean())
    assert np.mean(shrunk) < 0.4 * np.mean(raw)


def test_segments_are_sorted_by_cost():
    rng = np.random.default_rng(2)
    p, y, code, _ = simulate(30, (20, 400), 0.5, rng)
    found = tn.segments(y, p, code.astype(str), seed=0)
    assert (np.diff(found.cost) <= 0).all()
    np.testing.assert_allclose(found.cost, found.n / found.n.sum() * found.shrunk_gap**2)


def test_one_segment_that_is_far_off_is_left_there():
    rng = np.random.default_rng(6)
    code = np.repeat(np.arange(60), 400)
    p = rng.beta(1, 9, code.size)
    truth = np.where(code == 54, np.minimum(1, 2.2 * p), p)
    y = (rng.random(p.size) < truth).astype(float)
    found = shrink(p, np.ones(p.size), y, code, np.ones(60), 0.95)
    gaps = np.bincount(code, y - p) / 400
    assert found.gap[54] > 0.7 * gaps[54]
    assert (np.abs(np.delete(found.gap, 54)) < 0.5 * np.abs(np.delete(gaps, 54)) + 0.005).all()


@pytest.mark.slow
@pytest.mark.parametrize("segments", [3, 10, 60])
@pytest.mark.parametrize("tau", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("base", [(1.0, 4.0), (0.5, 20.0)], ids=["common", "rare"])
def test_limits_cover_on_average(segments, tau, base):
    rng = np.random.default_rng(segments)
    covered = []
    for _ in range(1_200 // segments):
        p, y, code, gap = simulate(segments, (5, 300), tau, rng, base, mu=0.1)
        found = shrink(p, np.ones(p.size), y, code, np.ones(segments), 0.95)
        covered.append(((found.low <= gap) & (gap <= found.high)).mean())
    assert np.mean(covered) >= 0.90 - 3 * np.std(covered) / len(covered) ** 0.5


def by_quadrature(score, weight, events, code, effective, level):
    """The module's formulas with dense grids for τ and λ, and roots by bisection; slow."""
    segments = range(effective.size)
    inside = (score > 0) & (score < 1)
    x = logit(np.where(inside, score, 0.5))
    w = np.where(inside, weight, 0.0)
    e = np.where(inside, events, 0.0)
    z = stats.norm.ppf((1 + level) / 2)

    def expected(s, a):
        return (w * expit(x + a))[code == s].sum()

    goal = min(max(e.sum(), 0.5), w.sum() - 0.5) if w.sum() > 1 else w.sum() / 2
    mu = brentq(lambda a: sum(expected(s, a) for s in segments) - goal, -40, 40, xtol=1e-12)
    q = expit(x + mu)
    info = np.array([effective[s] * (w * q * (1 - q))[code == s].sum() for s in segments])[:, None]
    excess = np.array([effective[s] * (e[code == s].sum() - expected(s, mu)) for s in segments])[
        :, None
    ]
    # 1/λ is a χ² of 4 degrees of freedom over 4, in equal steps of its logarithm.
    inverse = np.exp(np.linspace(-9, 3, 1_201))
    mass = stats.chi2.pdf(4 * inverse, 4) * inverse

    def given(tau):
        b = 1 / (1 + tau**2 * info / inverse)
        density = stats.norm.pdf(excess, 0, np.sqrt(info / b)) * mass
        return b, density

    taus = np.linspace(0.005, 1.995, 200)
    likelihood = np.array([np.log(given(tau)[1].sum(axis=1)).sum() for tau in taus])
    posterior = np.exp(likelihood - likelihood.max())
    tau = math.sqrt(posterior @ taus**2 / posterior.sum())
    b, density = given(tau)
    chance = density / density.sum(axis=1, keepdims=True)
    share, squares = (chance * b).sum(axis=1), (chance * b * b).sum(axis=1)
    info, excess = info[:, 0], excess[:, 0]
    variance = (1 - share) / info + (squares - share**2) * (excess / info) ** 2

    def mode(s, prior):
        seen = e[code == s].sum()
        return brentq(lambda a: effective[s] * (seen - expected(s, a)) - (a - mu) * prior, -40, 40)

    found = []
    for s in segments:
        at = code == s
        prior = info[s] * share[s] / (1 - share[s])
        shift = mode(s, prior)
        q = expit(x[at] + shift)
        nearer = (info[s] + prior) / (effective[s] * (w[at] * q * (1 - q)).sum() + prior)
        reach = z * math.sqrt(variance[s] * nearer + share[s] ** 2 / info.sum())
        ends = (shift, shift - reach, shift + reach)
        found.append([(expected(s, a) - (w * score)[at].sum()) / weight[at].sum() for a in ends])
    return (*np.array(found).T, tau)


def some_segments(case):
    rng = np.random.default_rng(len(case))
    sizes = {
        "few": [30, 60, 90],
        "many": rng.integers(3, 80, 15),
        "rare": [400, 900, 250, 600],
        "two": [12, 2_000],
    }[case]
    code = np.repeat(np.arange(len(sizes)), sizes)
    p = rng.beta(0.5, 20, code.size) if case == "rare" else rng.beta(1, 2, code.size)
    shift = rng.normal(0.3, 0.8, len(sizes))
    y = (rng.random(p.size) < expit(logit(p) + shift[code])).astype(float)
    p = np.where(rng.random(p.size) < 0.05, y, p)  # certain and right
    w = rng.uniform(0.5, 3, p.size) if case in ("many", "two") else np.ones(p.size)
    effective = (
        rng.uniform(0.2, 1.2, len(sizes)) if case in ("few", "many") else np.ones(len(sizes))
    )
    return p, w, w * y, code, effective


@pytest.mark.parametrize(
    ("case", "level"), [("few", 0.95), ("many", 0.8), ("rare", 0.95), ("two", 0.9)]
)
def test_gaps_and_limits_are_those_of_dense_quadrature(case, level):
    rows = some_segments(case)
    found, (gap, low, high, tau) = shrink(*rows, level), by_quadrature(*rows, level)
    assert found.tau == pytest.approx(tau, rel=1e-3)
    for one, other in ((found.gap, gap), (found.low, low), (found.high, high)):
        assert (np.abs(one - other) < 3e-4 * (high - low)).all()


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_equal_labels_are_shrunk_as_if_half_a_label_were_changed(label):
    """Equal segments of one score: all have the shift of half an event, or half a non-event, among all rows."""
    code = np.repeat([0, 1], 50)
    rows = np.full(100, 0.3), np.ones(100), np.full(100, label), code, np.ones(2)
    found, (gap, low, high, _) = shrink(*rows, 0.95), by_quadrature(*rows, 0.95)
    assert found.gap == pytest.approx(gap, abs=0.01 * (high - low).max())
    assert found.low == pytest.approx(low, abs=0.01 * (high - low).max())
    assert found.high == pytest.approx(high, abs=0.01 * (high - low).max())


@pytest.mark.parametrize("unit", [0.1, 0.2, 0.35])
def test_weights_that_sum_to_less_than_a_row_or_two_are_shrunk_towards_a_rate_within_reach(unit):
    """Half a label, of a total weight of 1.4; half of the weight, of less than 1."""
    w, code = np.full(4, unit), np.array([0, 0, 1, 1])
    rows = np.array([0.1, 0.2, 0.1, 0.3]), w, w * np.array([1, 0, 0, 0]), code, np.ones(2)
    found, (gap, low, high, _) = shrink(*rows, 0.95), by_quadrature(*rows, 0.95)
    for one, other in ((found.gap, gap), (found.low, low), (found.high, high)):
        assert one == pytest.approx(other, abs=0.01 * (high - low).max())
