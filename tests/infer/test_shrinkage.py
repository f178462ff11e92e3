"""Gaps of small segments are shrunk towards the whole; limits cover on average."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness.infer._shrinkage import shrink


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
    p, y, code = np.array([0.0, 1.0, 1.0, 0.5]), np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 2])
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
