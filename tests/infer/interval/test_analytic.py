"""The published confidence set and test, against plain transcriptions."""

import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness import ece_interval, simulate
from trueness._numerics.pairs import null_variance

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def transcription(u, cell, sigma0, volume, alpha):
    """Algorithm 1 once more, bin by bin, and the branch of its interval (8) that was taken; `u` is (n, k)."""
    n = len(u)
    T = s4 = s2 = inner = 0.0
    for c in sorted(set(cell)):
        part = u[[other == c for other in cell]]
        N = len(part)
        if N >= 2:
            T += (
                sum(a @ b for i, a in enumerate(part) for j, b in enumerate(part) if i != j)
                / (N - 1)
                / n
            )
        mean = part.mean(axis=0)
        C = part.T @ part / N - np.outer(mean, mean)
        s4 += N / n * (mean @ mean) ** 2
        s2 += N / n * (mean @ mean)
        inner += N / n * mean @ C @ mean
    s = math.sqrt(max(0.0, s4 - s2**2 + 4 * inner) / n)
    za, z2 = stats.norm.isf(alpha), stats.norm.isf(alpha / 2)
    t = max(T, 0.0)
    if t / 2 <= t - z2 * s:
        low, branch = t - z2 * s, "two-sided"
    elif t - za * s < t / 2:
        low, branch = max(0.0, t - za * s), "one-sided" if t > za * s else "cut at zero"
    else:
        low, branch = t / 2, "half"
    return T, low, t + z2 * s, t < za * sigma0 / (n * math.sqrt(volume)), branch


def same_set(found, expected):
    T, low, high, zero, _ = expected
    assert (found.estimate, found.low, found.high) == pytest.approx((T, low, high), abs=1e-12)
    assert found.includes_zero == (zero or high == 0)
    assert found.low_closed == (low > 0 or zero or high == 0)


def test_every_branch_of_the_published_interval():
    """Binary scores from calibrated to far off, at three levels."""
    branches = set()
    for seed in range(24):
        d = simulate.binary(
            60, distortion=simulate.Logit(slope=(0.1, 0.3, 0.6, 1.0)[seed % 4]), seed=seed
        )
        bins, level = 3 + seed % 12, (0.6, 0.9, 0.99)[seed % 3]
        cell = np.minimum((d.y_prob * bins).astype(int), bins - 1).tolist()
        expected = transcription(
            (d.y_true - d.y_prob)[:, None], cell, math.sqrt(1 / 15), 1 / bins, 1 - level
        )
        same_set(
            ece_interval(
                d.y_true, d.y_prob, method="analytic", bins=bins, level=level, squared=True
            ),
            expected,
        )
        branches.add(expected[-1])
    assert branches == {"two-sided", "one-sided", "cut at zero", "half"}


@pytest.mark.parametrize("support", ["published", "reachable"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_several_classes_against_the_transcription(k, support):
    zeros = set()
    for seed in range(8):
        noise, m = (0.9, 0.3, 0.15, 0.0)[seed % 4], 2 + seed % 3
        d = simulate.multiclass(50, 3, distortion=simulate.LabelNoise(noise), seed=seed)
        y, P = d.y_true, d.y_prob
        if k == 3:
            u = np.eye(3)[y] - P
            x = m * np.cumsum(P[:, :2], axis=1)
            a = np.minimum(np.floor(x), m - 1)
            f = x - a
            cell = [
                (*row, bool(left[1] < left[0]))
                for row, left in zip(a.tolist(), f.tolist(), strict=True)
            ]
            volume = 1 / (2 * m**2)
        else:
            order = np.argsort(-P, axis=1, kind="stable")[:, :k]
            z = np.take_along_axis(P, order, axis=1)
            u = (order == y[:, None]) - z
            cell = [tuple(min(int(v * m), m - 1) for v in row) for row in z]
            volume = m**-k
        for level in (0.9, 0.6):
            expected = transcription(
                u, cell, math.sqrt(null_variance(3, k, support)), volume, 1 - level
            )
            found = ece_interval(
                y, P, k=k, method="analytic", bins=m, level=level, squared=True, support=support
            )
            same_set(found, expected)
            zeros.add(found.includes_zero)
            if (
                support == "published"
            ):  # the test leaves zero out where the set does, at the same level
                test = tn.calibration_test(y, P, k=k, method="analytic", bins=m)
                z = 50 * math.sqrt(volume) * expected[0] / math.sqrt(null_variance(3, k))
                assert (test.statistic, test.pvalue) == pytest.approx(
                    (z, stats.norm.sf(z)), rel=1e-9
                )
                assert (test.pvalue <= 1 - level) == (not expected[3])
    assert zeros == {True, False}


def test_very_many_classes_have_a_finite_set():
    P = np.full((5, 1000), 1e-3)
    assert math.isfinite(ece_interval(np.arange(5), P, k=999, bins=10, method="analytic").high)


def test_the_published_set_takes_bins():
    d = simulate.binary(60, distortion=simulate.Logit(slope=0.5), seed=2)
    p = np.append(d.y_prob[d.y_prob < 0.7], 0.95)  # an empty bin and one of a single row
    y = np.append(d.y_true[d.y_prob < 0.7], 1)
    for bins in (12, 24):
        found = ece_interval(tn.binned(y, p, bins=24), method="analytic", bins=bins)
        assert found == ece_interval(y, p, method="analytic", bins=bins)


@pytest.mark.parametrize(("n", "bins"), [(2, 2), (3, 2), (60, 5), (400, 11)])
def test_the_test_divides_by_the_limiting_deviation(n, bins):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    y = (rng.random(n) < p**2).astype(int)
    cell = np.minimum((p * bins).astype(int), bins - 1).tolist()
    T = transcription((y - p)[:, None], cell, 1.0, 1.0, 0.1)[0]
    found = tn.calibration_test(y, p, method="analytic")
    assert found.statistic == pytest.approx(n * T / math.sqrt(bins / 15))
    assert found.pvalue == pytest.approx(stats.norm.sf(found.statistic))
    assert f"EqualWidth(n={bins})" in found.assumptions


def test_the_test_of_a_matrix_has_its_own_deviation():
    d = simulate.multiclass(200, 3, seed=0)
    top, right = d.y_prob.max(axis=1), d.y_prob.argmax(axis=1) == d.y_true
    plain = tn.calibration_test(right, top, method="analytic", bins=6)
    found = tn.calibration_test(d.y_true, d.y_prob, method="analytic", bins=6)
    ratio = math.sqrt(null_variance(None) / null_variance(3))
    assert found.statistic == pytest.approx(plain.statistic * ratio)


@pytest.mark.slow
def test_the_test_of_several_scores_by_hand():
    """Two of three rows share a cell of the two largest scores; σ₀² is that of equation (10), by quadrature."""
    P = np.array([[0.5, 0.3, 0.2], [0.3, 0.55, 0.15], [0.8, 0.1, 0.1]])
    found = tn.calibration_test([0, 1, 2], P, method="analytic", k=2, bins=4)
    T = (
        (0.5 * 0.45 + 0.3 * 0.3) * 2 / 3
    )  # U = (1 − 0.5, −0.3) and (1 − 0.55, −0.3): 2 U·U' / (2 − 1) / n
    grid = (np.arange(2000) + 0.5) / 2000
    a, b = np.meshgrid(grid, grid)
    inside = (b <= a) & (a + b <= 1) & (a + b >= 2 / 3)
    variance = 2 * np.mean(inside * (a**2 + b**2 - 2 * (a**3 + b**3) + (a**2 + b**2) ** 2))
    assert found.statistic == pytest.approx(3 / 4 * T / math.sqrt(variance), rel=1e-3)
    assert "The 2 largest scores" in found.assumptions
    with pytest.raises(tn.InputError, match="`k` must be at most 3"):
        tn.calibration_test([0, 1, 2], P, method="analytic", k=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classes", "k", "bins", "n", "low", "high"),
    [(3, 3, 6, 1000, 0.1, 0.125), (3, 2, 30, 2000, 0.1, 0.125), (10, 2, 20, 1000, 0.02, 0.03)],
)
def test_the_level_of_the_analytic_test(classes, k, bins, n, low, high):
    """At 0.1, for uniform scores, it is a little above the level; with ten classes the two largest rarely reach the
    domain of equation (10), and it is far below."""
    rng, rejected, runs = np.random.default_rng(7), 0, 1000
    for _ in range(runs):
        P = rng.dirichlet(np.ones(classes), n)
        y = np.minimum((rng.random(n)[:, None] > P.cumsum(axis=1)).sum(axis=1), classes - 1)
        rejected += tn.calibration_test(y, P, method="analytic", k=k, bins=bins).pvalue <= 0.1
    slack = 3 * math.sqrt(high * (1 - high) / runs)
    assert low - slack < rejected / runs < high + slack
