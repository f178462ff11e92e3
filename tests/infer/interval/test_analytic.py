"""The published confidence set, against plain transcriptions."""

import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness import simulate
from trueness._numerics.pairs import null_variance, pair_sums
from trueness._tally.binned_scores import of_cells
from trueness.infer import ece_interval
from trueness.infer.interval._analytic import analytic_region, sums_of_bins, upper_quantile, zero_threshold

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

Z05, Z10 = 1.6448536269514722, 1.2815515655446004


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("statistic", "deviation", "threshold", "expected"),
    [
        # Far from zero: the two-sided interval.
        (1.0, 0.1, 0.5, (1 - Z05 * 0.1, 1 + Z05 * 0.1, True, False)),
        (1.0, 0.1, 2.0, (1 - Z05 * 0.1, 1 + Z05 * 0.1, True, True)),
        # One-sided below: above zero, and cut there.
        (1.0, 0.5, 0.5, (1 - Z10 * 0.5, 1 + Z05 * 0.5, True, False)),
        (1.0, 0.5, 2.0, (1 - Z10 * 0.5, 1 + Z05 * 0.5, True, True)),
        (1.0, 1.0, 0.5, (0.0, 1 + Z05, False, False)),
        (1.0, 1.0, 2.0, (0.0, 1 + Z05, True, True)),
        # In between: half of the estimate.
        (1.0, 0.35, 0.5, (0.5, 1 + Z05 * 0.35, True, False)),
        (1.0, 0.35, 2.0, (0.5, 1 + Z05 * 0.35, True, True)),
        # A negative estimate counts as zero; without spread only zero is left.
        (-1.0, 0.5, 2.0, (0.0, Z05 * 0.5, True, True)),
        (-1.0, 0.0, 2.0, (0.0, 0.0, True, True)),
        # Zero is in the set only below the threshold, not at it.
        (1.0, 1.0, 1.0, (0.0, 1 + Z05, False, False)),
    ],
)
def test_every_branch_of_the_published_interval(statistic, deviation, threshold, expected):
    n = 7
    found = analytic_region(statistic, deviation**2 * n, n, threshold, 0.1)
    assert found[:2] == pytest.approx(expected[:2])
    assert found[2:] == expected[2:]


def transcription(u, cell, sigma0, volume, alpha):
    """Algorithm 1 once more, bin by bin; `u` is (n, k)."""
    n = len(u)
    T = s4 = s2 = inner = 0.0
    for c in sorted(set(cell)):
        part = u[[other == c for other in cell]]
        N = len(part)
        if N >= 2:
            T += sum(a @ b for i, a in enumerate(part) for j, b in enumerate(part) if i != j) / (N - 1) / n
        mean = part.mean(axis=0)
        C = part.T @ part / N - np.outer(mean, mean)
        s4 += N / n * (mean @ mean) ** 2
        s2 += N / n * (mean @ mean)
        inner += N / n * mean @ C @ mean
    s = math.sqrt(max(0.0, s4 - s2**2 + 4 * inner) / n)
    za, z2 = stats.norm.isf(alpha), stats.norm.isf(alpha / 2)
    t = max(T, 0.0)
    high = t + z2 * s
    if t / 2 <= t - z2 * s:
        low = t - z2 * s
    elif t - za * s < t / 2:
        low = max(0.0, t - za * s)
    else:
        low = t / 2
    return T, low, high, t < za * sigma0 / (n * math.sqrt(volume))


def same_set(found, expected):
    T, low, high, zero = expected
    assert found.squared
    assert (found.estimate, found.low, found.high) == pytest.approx((T, low, high), abs=1e-12)
    assert found.includes_zero == (zero or high == 0)


@pytest.mark.all_cases
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("level", [0.8, 0.9, 0.99])
def test_binary_scores_against_the_transcription(seed, level):
    d = simulate.binary(60, distortion=simulate.Logit(slope=(0.3, 1.0)[seed % 2]), seed=seed)
    B = 3 + seed
    cell = np.minimum(np.searchsorted(np.arange(B + 1) / B, d.y_prob, side="right") - 1, B - 1).tolist()
    u = (d.y_true - d.y_prob)[:, None]
    expected = transcription(u, cell, math.sqrt(1 / 15), 1 / B, 1 - level)
    found = ece_interval(d.y_true, d.y_prob, method="analytic", bins=B, level=level, squared=True)
    same_set(found, expected)


@pytest.mark.all_cases
@pytest.mark.parametrize("support", ["published", "reachable"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_several_classes_against_the_transcription(seed, k, support):
    d = simulate.multiclass(50, 3, distortion=simulate.LabelNoise((0.6, 0.0)[seed % 2]), seed=seed)
    m = 2 + seed
    y, P = d.y_true, d.y_prob
    if k == 3:
        u = np.eye(3)[y] - P
        x = m * np.cumsum(P[:, :2], axis=1)
        a = np.minimum(np.floor(x), m - 1)
        f = x - a
        cell = [(*row, bool(left[1] < left[0])) for row, left in zip(a.tolist(), f.tolist(), strict=True)]
        volume = 1 / (2 * m**2)
    else:
        order = np.argsort(-P, axis=1, kind="stable")[:, :k]
        z = np.take_along_axis(P, order, axis=1)
        u = (order == y[:, None]) - z
        cell = [tuple(min(int(v * m), m - 1) for v in row) for row in z]
        volume = m**-k
    expected = transcription(u, cell, math.sqrt(null_variance(3, k, support)), volume, 0.1)
    found = ece_interval(y, P, k=k, method="analytic", bins=m, level=0.9, squared=True, support=support)
    same_set(found, expected)


def test_the_threshold_of_zero_is_the_quantile_times_the_null_deviation():
    assert zero_threshold(100, 0.1, 20, None) == pytest.approx(Z10 * math.sqrt(20 / 15) / 100)
    assert zero_threshold(100, 0.1, 20, 2) == pytest.approx(Z10 * math.sqrt(20 / 30) / 100)
    assert zero_threshold(50, 0.1, 4, 3, 3) == pytest.approx(Z10 * math.sqrt(1 / 6 * 2 * 16) / 50)
    assert math.isfinite(zero_threshold(50, 0.1, 10, 1000, 999))


def test_the_published_set_takes_bins():
    d = simulate.binary(500, distortion=simulate.Logit(slope=0.5), seed=2)
    binned = tn.binned(d.y_true, d.y_prob, bins=24)
    assert ece_interval(binned, method="analytic", bins=12) == ece_interval(
        d.y_true, d.y_prob, method="analytic", bins=12
    )


def test_the_upper_quantile_is_that_of_the_normal_distribution():
    assert upper_quantile(0.05) == pytest.approx(Z05)
    assert upper_quantile(1e-300) == pytest.approx(stats.norm.isf(1e-300))


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


def test_sums_over_pairs_are_the_same_from_bins_and_from_rows():
    d = simulate.binary(60, seed=1)
    p = np.append(d.y_prob[d.y_prob < 0.7], 0.95)  # an empty bin and one of a single row
    y = np.append(d.y_true[d.y_prob < 0.7], 1)
    scores = of_cells(tn.tally(y, p).parts[0], tn.EqualWidth(10), None)
    of_rows = pair_sums(scores.z, scores.count, scores.hits, scores.first)
    of_bins = sums_of_bins(tn.binned(y, p, bins=10).parts[0])
    for name in ("n", "s", "q", "along", "outer", "paired"):
        assert getattr(of_bins, name) == pytest.approx(getattr(of_rows, name), abs=1e-9), name
