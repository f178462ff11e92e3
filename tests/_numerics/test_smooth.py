import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from trueness._numerics import smooth
from trueness._numerics.smooth import KernelMeans


def smooth_error(p, r):
    """The error of residuals, and its width."""
    p, r = np.asarray(p, np.float64), np.asarray(r, np.float64)
    w = np.full(p.size, 1 / p.size)
    return smooth.smooth_error(p, w, r + w * p)


def smooth_error_at(p, r, sigma):
    """The error of residuals at a given width."""
    p, r = np.asarray(p, np.float64), np.asarray(r, np.float64)
    (deposit,) = smooth._deposits(p, lambda few: r[few][None], smooth._enough_points(sigma))
    return smooth._blurred_integrals(smooth.dct(deposit)[None] / 2, [0], [sigma])[0]


def blurred(t, p, r, sigma):
    """The formula itself: Gaussians at the scores and at all their images that matter."""
    images = np.arange(-int(6 * sigma) - 2, int(6 * sigma) + 3)
    centres = np.concatenate([2 * images + p[:, None], 2 * images - p[:, None]], axis=1)
    density = np.exp(-0.5 * ((t - centres) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    return float((r[:, None] * density).sum())


def by_quadrature(p, r, sigma):
    grid = np.linspace(0, 1, 2001)
    values = [blurred(t, p, r, sigma) for t in grid]
    zeros = [
        brentq(blurred, a, b, args=(p, r, sigma), xtol=1e-14)
        for a, b, u, v in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True)
        if np.sign(u) != np.sign(v)
    ]
    breaks = (p + sigma * np.arange(-9, 10, 3)[:, None]).ravel()
    ends = np.unique([0, *zeros, *np.clip(breaks, 0, 1), 1])
    return sum(
        abs(quad(blurred, a, b, args=(p, r, sigma), epsabs=1e-11, limit=200)[0])
        for a, b in itertools.pairwise(ends)
    )


def random_cells(seed, m, narrow=False):
    rng = np.random.default_rng(seed)
    p = np.clip(rng.random() + 0.02 * rng.normal(size=m), 0, 1) if narrow else rng.random(m)
    p[0] = rng.choice([0.0, p[0], 1.0])
    r = rng.normal(size=m)
    return np.sort(p), r / np.abs(r).sum()


@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.7])
@pytest.mark.parametrize(("seed", "m", "narrow"), [(0, 1, False), (2, 9, False), (3, 5, True)])
def test_the_error_at_a_width_is_the_integral(seed, m, narrow, sigma):
    p, r = random_cells(seed, m, narrow)
    assert smooth_error_at(p, r, sigma) == pytest.approx(by_quadrature(p, r, sigma), abs=2e-7)


@pytest.mark.parametrize("seed", range(2))
def test_the_error_is_the_integral_at_its_own_width(seed):
    p, r = random_cells(seed + 10, 6, narrow=seed % 2 == 1)
    value, sigma = smooth_error(p, r)
    assert value == pytest.approx(sigma, abs=1e-9)
    assert value == pytest.approx(by_quadrature(p, r, sigma), abs=2e-7)


def test_one_score_always_wrong_is_wrong_by_that_score():
    value, sigma = smooth_error([0.95], [-0.95])
    assert value == pytest.approx(0.95, abs=1e-12)
    assert sigma == pytest.approx(0.95, abs=1e-9)


def test_residuals_of_one_sign_simply_add():
    p, r = random_cells(5, 30)
    assert smooth_error(p, np.abs(r))[0] == pytest.approx(1.0, abs=1e-9)


def test_no_residual_no_error():
    assert smooth_error([0.2, 0.7], [0.0, 0.0]) == (0.0, 0.0)
    assert smooth_error_at([0.2], [0.0], 0.1) == 0.0


cells = st.lists(
    st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=30, unique_by=lambda c: c[0]
)


def scaled(cells):
    p, r = np.array(sorted(cells)).T
    assume(np.abs(r).sum() > 1e-3)
    return p, r / np.abs(r).sum()


@settings(max_examples=10)
@given(cells)
def test_it_lies_between_the_absolute_total_and_the_total_of_absolute_values(cells):
    p, r = scaled(cells)
    value, sigma = smooth_error(p, r)
    assert abs(r.sum()) - 1e-6 <= value <= np.abs(r).sum() + 1e-6
    assert value == pytest.approx(sigma, abs=1e-9)


@settings(max_examples=10)
@given(cells)
def test_swapping_the_classes_changes_nothing(cells):
    p, r = scaled(cells)
    assert smooth_error(1 - p, -r)[0] == pytest.approx(smooth_error(p, r)[0], abs=1e-6)


@settings(max_examples=10)
@given(cells, st.floats(0.001, 1), st.floats(0.001, 1))
def test_it_falls_with_the_width(cells, a, b):
    p, r = scaled(cells)
    narrow, wide = sorted([a, b])
    assert smooth_error_at(p, r, wide) <= smooth_error_at(p, r, narrow) + 1e-6


def test_a_narrow_width_is_resolved():
    rng = np.random.default_rng(1)
    p = np.sort(rng.random(100_000))
    r = ((rng.random(p.size) < p) - p) / p.size
    value, sigma = smooth_error(p, r)
    assert 0.002 < sigma < 0.01
    assert value == pytest.approx(smooth_error_at(p, r, sigma), abs=1e-9)


@pytest.mark.parametrize("residual", [5e-324, -1e-300, 1e-11])
def test_residuals_next_to_nothing_give_an_error_next_to_nothing(residual):
    value, sigma = smooth_error([0.25], [residual])
    assert value == pytest.approx(abs(residual), abs=1e-9)
    assert sigma == pytest.approx(value, abs=1e-9)


def test_the_error_of_sums_is_that_of_their_residuals():
    rng = np.random.default_rng(8)
    p = np.sort(rng.random(70_000))
    w = rng.integers(1, 4, p.size)
    e = rng.binomial(w, p**1.1)
    expected = smooth_error(p, (e - w * p) / w.sum())
    assert smooth.smooth_error(p, w, e) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_rows_is_the_integral_at_its_own_width(seed):
    rng = np.random.default_rng(seed)
    p = np.append(rng.random(9), [0.0, 1.0])
    y = rng.integers(0, 2, p.size)
    value, sigma = smooth.smooth_error(p, None, y)
    assert value == pytest.approx(sigma, abs=1e-9)
    assert value == pytest.approx(by_quadrature(p, (y - p) / p.size, sigma), abs=2e-7)


@pytest.mark.parametrize(("n", "digits"), [(300, 17), (40_000, 3), (100_000, 17)])
def test_rows_in_any_order_and_their_sums_have_the_same_error(n, digits):
    rng = np.random.default_rng(n)
    p = np.round(rng.beta(0.3, 0.4, n), digits)
    y = rng.random(n) < p**1.02
    expected, order = pytest.approx(smooth.smooth_error(p, None, y), rel=1e-10), rng.permutation(n)
    assert smooth.smooth_error(p[order], None, y[order]) == expected
    score, cell, w = np.unique(p, return_inverse=True, return_counts=True)
    e = np.bincount(cell, y).astype(np.int64)
    assert smooth.smooth_error(score, w, e) == expected
    assert smooth.smooth_error(score, 2.0**40 * w, 2.0**40 * e) == pytest.approx(
        expected.expected, abs=2e-7
    )


def test_scores_in_single_precision_are_the_numbers_that_they_denote():
    rng = np.random.default_rng(2)
    p = rng.random(500).astype(np.float32)
    y = rng.random(500) < p
    expected = smooth.smooth_error(p.astype(np.float64), None, y.astype(int))
    assert smooth.smooth_error(p, None, y) == expected


def test_labels_can_be_drawn_again_and_again():
    rng = np.random.default_rng(9)
    p, w = np.sort(rng.random(300)), rng.integers(1, 9, 300)
    means = KernelMeans(p, w, 0.03, 64)
    for _ in range(3):
        e = rng.binomial(w, p)
        alone = KernelMeans(p, w, 0.03, 64)
        assert np.array_equal(means.labels(e), alone.labels(e))
        assert np.array_equal(means.scores(), alone.scores())
        gap = np.nansum(np.abs(means.labels(e) - means.scores()) * means.density) / 64
        assert gap == pytest.approx(smooth_error_at(p, (e - w * p) / w.sum(), 0.03), abs=1e-3)


@pytest.mark.parametrize("n", [3, 40, 4_000])
def test_errors_taken_together_have_the_bits_of_errors_taken_alone(n):
    rng = np.random.default_rng(n)
    score = np.sort(rng.random(n))
    weight = rng.integers(1, 4, n)
    shares = [0.0, 1e-12, 1e-4, 0.03, 0.5, 1.0]
    events = [weight * ((1 - share) * score + share * rng.random(n)) for share in shares]
    events += [rng.binomial(weight, score).astype(float) for _ in range(40)]
    samples = [smooth.Residuals(score, weight, each) for each in events]
    alone = [smooth.smooth_errors([sample])[0] for sample in samples]
    assert smooth.smooth_errors(samples) == alone
    assert smooth.smooth_errors(samples[:7]) == alone[:7]
