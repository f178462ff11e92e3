"""Means over pairs, from sums, against sums over pairs in exact fractions."""

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics.pairs import (
    log_null_variance,
    null_moments,
    null_variance,
    pair_mean,
    pair_sums,
)


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def bins_of(groups):
    return [[i for i, g in enumerate(groups) if g == b] for b in sorted(set(groups))]


def pairwise(u, groups):
    """T: the mean product over ordered pairs of a bin, bins weighted by their rows."""
    total = Fraction(0)
    for members in bins_of(groups):
        if len(members) > 1:
            pairs = sum(
                (dot(u[a], u[b]) for a, b in itertools.permutations(members, 2)), Fraction(0)
            )
            total += pairs / (len(members) - 1)
    return total / len(u)


def spread(u, groups):
    """σ̂₁² as printed, the covariance with divisor N."""
    n, k = len(u), len(u[0])
    fourth = second = inner = Fraction(0)
    for members in bins_of(groups):
        N = len(members)
        mean = [sum((u[a][j] for a in members), Fraction(0)) / N for j in range(k)]
        cov = [
            [
                sum((u[a][i] * u[a][j] for a in members), Fraction(0)) / N - mean[i] * mean[j]
                for j in range(k)
            ]
            for i in range(k)
        ]
        share = Fraction(N, n)
        fourth += share * dot(mean, mean) ** 2
        second += share * dot(mean, mean)
        inner += share * dot(mean, [dot(row, mean) for row in cov])
    return fourth - second**2 + 4 * inner


@st.composite
def labelled(draw, most=14):
    """Rows of k scores with a sum of at most one, a label each (k: none of them), sorted by bin."""
    k = draw(st.integers(1, 3))
    size = draw(st.integers(2, most))
    parts = [draw(st.lists(st.integers(0, 5), min_size=k, max_size=k)) for _ in range(size)]
    z = np.array([[x / 16 for x in row] for row in parts])
    label = np.array(draw(st.lists(st.integers(0, k), min_size=size, max_size=size)))
    groups = np.sort(np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))))
    return z, label, groups


def arrange(z, label, groups):
    hits = (label[:, None] == np.arange(z.shape[1])).astype(np.int64)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    return z, np.ones(len(z), dtype=np.int64), hits, first


def residuals(z, label):
    return [
        [Fraction(int(y == j)) - Fraction(float(x)) for j, x in enumerate(row)]
        for row, y in zip(z, label, strict=True)
    ]


@given(labelled())
def test_the_statistic_is_the_sum_over_pairs(rows):
    z, label, groups = rows
    sums = pair_sums(*arrange(*rows))
    assert sums.statistic == pytest.approx(float(pairwise(residuals(z, label), groups)), abs=1e-13)
    assert np.trace(sums.matrix) == pytest.approx(sums.statistic, abs=1e-13)


@given(labelled())
def test_the_spread_is_the_printed_one(rows):
    z, label, groups = rows
    found = pair_sums(*arrange(*rows)).variance
    assert found == pytest.approx(float(spread(residuals(z, label), groups)), abs=1e-13)
    assert found >= 0


@given(labelled())
def test_the_parts_of_the_score_interval_are_what_their_formulas_say(rows):
    z, label, groups = rows
    sums = pair_sums(*arrange(*rows))
    u = np.array(residuals(z, label), dtype=float)
    _, implied = null_moments(
        z, np.ones(len(z)), np.flatnonzero(np.diff(groups, prepend=-1)), sums.s
    )
    top = bottom = fourth = second = 0.0
    matrix = np.zeros((z.shape[1], z.shape[1]))
    for members in bins_of(groups.tolist()):
        U, N = u[members], len(members)
        mean = U.mean(axis=0)
        own = np.cov(U.T, ddof=1).reshape(len(mean), -1) if N >= 5 else 0
        said = np.mean([np.diag(x) - np.outer(x, x) for x in z[members]], axis=0)
        top += N * mean @ (own if N >= 5 else said) @ mean
        bottom += N * mean @ mean
        second += N / len(u) * mean @ mean
        fourth += N / len(u) * (mean @ mean) ** 2
        if N > 1:
            s = U.sum(axis=0)
            matrix += (np.outer(s, s) - U.T @ U) / (N - 1) / len(u)
    assert sums.matrix == pytest.approx(matrix, abs=1e-13)
    largest = np.linalg.eigvalsh(u.T @ u / len(u) - matrix)[-1]
    assert sums.noise(implied) == pytest.approx(
        max(0, largest, top / bottom if bottom else 0), abs=1e-12
    )
    assert sums.unevenness == pytest.approx(
        max(0, fourth / second**2 - 1) if second else 0, abs=1e-9
    )


@given(labelled(), st.randoms(use_true_random=False))
def test_cells_of_equal_scores_are_as_good_as_their_rows(rows, random):
    z, label, groups = rows
    times = np.array([random.randint(1, 3) for _ in label])
    z1, count, hits, first = arrange(z, label, groups)
    a = pair_sums(z1, count * times, hits * times[:, None], first)
    b = pair_sums(
        *arrange(np.repeat(z, times, axis=0), np.repeat(label, times), np.repeat(groups, times))
    )
    for name in ("n", "s", "q", "along", "outer", "paired"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), abs=1e-11)


def test_many_sets_of_sums_at_once():
    rng = np.random.default_rng(0)
    n, s, q = np.array([3, 1, 4]), rng.normal(size=(5, 3, 2)), rng.random((5, 3))
    assert pair_mean(n, s, q) == pytest.approx(
        [float(pair_mean(n, a, b)) for a, b in zip(s, q, strict=True)]
    )


def every_labelling(z, groups):
    """Each vector of labels with its probability, and T of it."""
    k = z.shape[1]
    chances = np.column_stack([z, 1 - z.sum(axis=1)])
    for label in itertools.product(range(k + 1), repeat=len(z)):
        label = np.array(label)
        yield (
            chances[np.arange(len(z)), label].prod(),
            pair_sums(*arrange(z, label, groups)).statistic,
        )


@pytest.mark.parametrize(
    ("z", "groups"),
    [
        (
            np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])[:, None],
            [0, 0, 0, 1, 1, 1, 1, 2, 3, 3],
        ),
        (
            np.array(
                [[0.5, 0.3], [0.6, 0.3], [0.4, 0.35], [0.9, 0.1], [0.5, 0.25], [0.7, 0.2], [1, 0]]
            ),
            [0, 0, 0, 1, 1, 1, 2],
        ),
    ],
    ids=["binary, 10 rows", "K = 3, k = 2, 7 rows"],
)
def test_mean_and_variance_over_all_label_vectors(z, groups):
    groups = np.array(groups)
    chance, value = np.array(list(every_labelling(z, groups))).T
    assert chance.sum() == pytest.approx(1)
    assert chance @ value == pytest.approx(0, abs=1e-14)
    _, count, _, first = arrange(z, np.zeros(len(z)), groups)
    variance, _ = null_moments(z, count, first, np.zeros((len(first), z.shape[1])))
    assert variance == pytest.approx(chance @ value**2, rel=1e-12)


@given(labelled(30))
def test_sums_do_not_depend_on_how_the_work_is_cut(rows):
    arranged = arrange(*rows)
    whole = pair_sums(*arranged)
    with mock.patch("trueness._numerics.pairs._ENTRIES", 5):
        parts = pair_sums(*arranged)
    for name in ("n", "s", "q", "along"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name))
    for name in ("outer", "paired"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12, abs=1e-14)


@given(labelled(30))
def test_the_null_variance_does_not_depend_on_how_the_work_is_cut(rows):
    z, count, _, first = arrange(*rows)
    s = np.ones((len(first), z.shape[1]))
    whole, implied = null_moments(z, count, first, s)
    with mock.patch("trueness._numerics.pairs._ENTRIES", 20):
        parts, implied_parts = null_moments(z, count, first, s)
    assert parts == pytest.approx(whole, rel=1e-9, abs=1e-15)
    assert implied_parts == pytest.approx(implied, abs=1e-12)


def integrand(z):
    square = (z**2).sum(axis=-1)
    return square - 2 * (z**3).sum(axis=-1) + square**2


def ordered_sums(rng, n, k):
    """Points spread evenly over the ordered scores with a sum up to 1, and the volume of that set."""
    shares = rng.dirichlet(np.ones(k + 1), n)[:, :k]
    return -np.sort(-shares, axis=1), 1 / math.factorial(k) ** 2


@pytest.mark.parametrize(
    ("arguments", "value"),
    [((None, 1), 1 / 15), ((2, 1), 1 / 30), ((2, 2), 4 / 15), ((3, 3), 1 / 6)],
)
def test_values_known_by_hand(arguments, value):
    # K = 3: 4 · 2 / (4 · 6 · 2!)
    assert null_variance(*arguments) == pytest.approx(value, rel=1e-14)


def test_the_integrand_is_the_squared_norm_of_the_covariance_of_a_label():
    z = np.array([0.5, 0.2])
    assert integrand(z) == pytest.approx(((np.diag(z) - np.outer(z, z)) ** 2).sum(), rel=1e-14)


@pytest.mark.parametrize("K", [2, 3, 10])
def test_one_score_is_an_integral_over_a_segment(K):
    x, w = np.polynomial.legendre.leggauss(8)
    low = 1 / K
    z = (low + (1 - low) * (x + 1) / 2)[:, None]
    value = 2 * (w @ integrand(z)) * (1 - low) / 2
    assert null_variance(K, 1) == pytest.approx(value, rel=1e-13)
    assert null_variance(K, 1, "reachable") == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("K", [3, 4, 10])
@pytest.mark.parametrize("support", ["published", "reachable"])
def test_two_scores_by_quadrature(K, support):
    x, w = np.polynomial.legendre.leggauss(12)

    def segment(low, high):
        return low + (high - low) * (x + 1) / 2, w * (high - low) / 2

    total = 0.0
    # In t = z₁ + z₂ the reachable set and the published one are cut from the same triangle.
    for t, weight in zip(*segment(2 / K, 1), strict=True):
        least = max(0.0, (1 - t) / (K - 2)) if support == "reachable" else 0.0
        second, inner = segment(least, t / 2)
        total += weight * (inner @ integrand(np.stack([t - second, second], axis=1)))
    assert null_variance(K, 2, support) == pytest.approx(2 * total, rel=1e-10)


@pytest.mark.parametrize("K", [3, 5, 12])
def test_the_reachable_values_of_two_scores_are_a_polynomial_in_one_over_the_classes(K):
    value = (
        2 / 45 - 1 / (30 * K) - 1 / (30 * K**2) - 2 / (9 * K**3) + 4 / (15 * K**4) - 4 / (15 * K**5)
    )
    assert null_variance(K, 2, "reachable") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("K", [4, 6, 12])
def test_the_reachable_values_of_three_scores_are_a_polynomial_in_one_over_the_classes(K):
    value = (
        2 / 315
        - 1 / (90 * K)
        - 4 / (315 * K**2)
        - 1 / (28 * K**3)
        + 3 / (140 * K**4)
        - 3 / (70 * K**5)
    )
    assert null_variance(K, 3, "reachable") == pytest.approx(value, rel=1e-12)


def test_published_reachable_values():
    assert null_variance(10, 4, "reachable") == pytest.approx(2.940952e-4, rel=1e-6)
    assert null_variance(10, 5, "reachable") == pytest.approx(9.927984e-6, rel=1e-6)


def monte_carlo(K, k, support, n):
    rng = np.random.default_rng(K * 100 + k)
    if k == K:
        return 2 * integrand(rng.dirichlet(np.ones(K), n)) / math.factorial(K - 1)
    z, volume = ordered_sums(rng, n, k)
    inside = z.sum(axis=1) >= k / K
    if support == "reachable":
        inside &= z.sum(axis=1) + (K - k) * z[:, -1] >= 1
    return 2 * volume * inside * integrand(z)


@pytest.mark.parametrize(("K", "k"), [(2, 2), (4, 4), (4, 3), (6, 4), (10, 4), (10, 3)])
@pytest.mark.parametrize("support", ["published", "reachable"])
def test_closed_forms_agree_with_monte_carlo(K, k, support):
    values = monte_carlo(K, k, support, 20_000)
    error = values.std() / math.sqrt(values.size)
    assert abs(values.mean() - null_variance(K, k, support)) < 5 * error


def test_no_number_of_classes_is_too_large():
    assert all(math.isfinite(log_null_variance(1000, k, "reachable")) for k in (2, 999, 1000))
