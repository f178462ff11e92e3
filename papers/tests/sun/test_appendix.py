"""Formulas of the appendices of Sun et al. 2025, by sums over all cases."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from trueness.measure import squared_ece
from trueness_papers.sun.bias import expected_statistics
from trueness_papers.sun.limit_laws import cells_for, limiting_variance, simulate_estimates

COUNTS = np.arange(400)


def poisson_mean(values, c):
    return float(values @ stats.poisson.pmf(COUNTS, c))


@pytest.mark.parametrize("a", [0.05, 0.5, 1, 3, 10, 60])
def test_lemma_b1_bounds_the_mean_of_the_inverse(a):
    inverse = np.where(COUNTS >= 2, 1 / np.maximum(COUNTS - 1, 1), 0)
    assert abs(poisson_mean(inverse, a) - 1 / a) <= 9 / a**2


@pytest.mark.parametrize("c", [0.3, 2, 9, 40])
def test_moments_of_poisson_counts(c):
    """The factors of (17), (18) and (22), and the central moments before (24)."""
    paired = np.where(COUNTS >= 2, COUNTS, 0)
    mean, tail = poisson_mean(paired, c), math.exp(-c)
    assert mean == pytest.approx(c * (1 - tail))
    assert poisson_mean(COUNTS * paired, c) - c * mean == pytest.approx(c * (1 + (c - 1) * tail))
    variance = poisson_mean(paired**2, c) - mean**2
    assert variance - c == pytest.approx(tail * (2 * c**2 - c - c**2 * tail), abs=1e-9)
    central = [c, c, 3 * c**2 + c, 10 * c**2 + c, 15 * c**3 + 25 * c**2 + c]
    assert [poisson_mean((COUNTS - c) ** float(j), c) for j in range(2, 7)] == pytest.approx(
        central
    )


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_mean_and_variance_of_the_pairs_of_a_cell(rows):
    """(15) and (16), over all samples of a law of three residuals in two dimensions."""
    v, p = np.array([[0.7, -0.2], [-0.3, 0.5], [-0.3, -0.5]]), np.array([0.5, 0.3, 0.2])
    values, weights = [], []
    for chosen in product(range(3), repeat=rows):
        u = v[list(chosen)]
        total = u.sum(axis=0)
        values.append((total @ total - (u**2).sum()) / (rows - 1))
        weights.append(p[list(chosen)].prod())
    mean = np.average(values, weights=weights)
    variance = np.average((np.array(values) - mean) ** 2, weights=weights)
    centre, second = p @ v, (v * p[:, None]).T @ v
    along = centre @ (second - np.outer(centre, centre)) @ centre
    square = centre @ centre
    pairs = 2 * rows / (rows - 1) * ((second**2).sum() - square**2)
    assert mean == pytest.approx(rows * square)
    assert variance == pytest.approx(pairs + 4 * rows * (rows - 2) / (rows - 1) * along)


def test_the_estimate_is_a_quadratic_functional_of_step_functions():
    """Appendix A.1: a sum over pairs of rows with step functions of height ((N − 1)/(n − 1))^(−1/2)."""
    rng = np.random.default_rng(0)
    p = rng.random(30)
    y = (rng.random(30) < p).astype(int)
    cell, u, n = (p * 4).astype(int), y - p, p.size
    size = np.bincount(cell)[cell]
    phi = [np.where(cell == i, np.sqrt((n - 1) / np.maximum(size - 1, 1)), 0) for i in range(4)]
    pairs = sum(u[a] * u[b] * f[a] * f[b] for f in phi for a in range(n) for b in range(a))
    assert 2 / (n * (n - 1)) * pairs == pytest.approx(squared_ece(y, p, bins=4))


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize("m", [1, 3, 10])
def test_remark_b7_the_bias_of_binning(m):
    """Uniform confidences on [1/2, 1] that are never right: binning loses 1/(48 m²)."""
    middle = 0.5 + (np.arange(m) + 0.5) / (2 * m)
    assert 7 / 12 - (middle**2).mean() == pytest.approx(1 / (48 * m**2))
    p = 0.5 + (np.arange(6000 * m) + 0.5) / (12_000 * m)  # as many rows in every cell
    found = squared_ece(np.zeros(p.size, dtype=int), p, bins=2 * m)
    assert 7 / 12 - found == pytest.approx(1 / (48 * m**2), rel=0.01)


@pytest.mark.parametrize("n", [20, 200])
def test_the_bias_of_t_cal_is_larger(n):
    """(51), (52) and Remark B.8."""
    found = expected_statistics(1, 0.5, n, 20)
    assert found.true > found.binned > found.estimate > found.t_cal


def test_the_limiting_variance_of_a_miscalibrated_model():
    """(11) by adaptive quadrature, and (7) and Theorem 3.4 on one large data set each."""
    beta = 0.5

    def mean_of(value):
        def integrand(c):
            t = 1 / (1 + ((1 - c) / c) ** beta)
            return 2 * value((t - c) ** 2, t * (1 - t))

        return integrate.quad(integrand, 0.5, 1)[0]

    moments = [mean_of(f) for f in (lambda d, v: d * d, lambda d, v: d, lambda d, v: d * v)]
    assert limiting_variance(beta) == pytest.approx(
        moments[0] - moments[1] ** 2 + 4 * moments[2], rel=1e-5
    )
    n = 400_000
    ((t, variance),) = simulate_estimates(beta, n, 1, [0])
    assert variance == pytest.approx(limiting_variance(beta), rel=0.1)
    mean = expected_statistics(1, beta, n, cells_for(n)).estimate
    assert abs(t - mean) < 4 * math.sqrt(limiting_variance(beta) / n)


def test_the_limiting_variance_of_a_calibrated_model_is_zero():
    """(11) with a conditional mean of zero: Theorem 3.4 needs an error above zero for a variance above zero."""
    assert limiting_variance(1) == pytest.approx(0, abs=1e-12)
    assert limiting_variance(0.9) > 0


def test_the_delta_method_of_section_2_2():
    """√n (X² − θ²) has the limiting variance 4 θ² (the paper prints 2)."""
    theta, n = 0.7, 1_000_000
    variance = 4 * theta**2 / n + 2 / n**2  # of X² for X normal with mean θ and variance 1/n
    assert n * variance == pytest.approx(4 * theta**2, rel=1e-5)
