"""The exact test and T-Cal: sums over pairs, their null spread, resolutions, and zero in the score interval."""

import math

import numpy as np
import pytest
from grids import slow
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import arrays, rows

import trueness as tn
from trueness import calibration_test, ece_interval

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def plain_t(y, p, place, divide_by_rows):
    """The double sum over pairs."""
    total = 0.0
    for b in set(place):
        u = [yi - pi for yi, pi, where in zip(y, p, place, strict=True) if where == b]
        pairs = sum(a * c for i, a in enumerate(u) for j, c in enumerate(u) if i != j)
        total += pairs / (len(u) if divide_by_rows else max(1, len(u) - 1))
    return total / len(y)


@given(pairs=rows, n_bins=st.integers(1, 6))
def test_the_statistic_is_the_sum_over_pairs(pairs, n_bins):
    y, p = arrays(pairs)
    place = [
        min(int(np.searchsorted(np.arange(n_bins + 1) / n_bins, v, side="right")) - 1, n_bins - 1)
        for v in p
    ]
    for method, divide_by_rows in (("t-cal", True), ("exact", False)):
        found = calibration_test(y, p, method=method, bins=n_bins, resamples=1, seed=0)
        assert found.statistic == pytest.approx(plain_t(y, p, place, divide_by_rows), abs=1e-13)
    assert found.statistic == pytest.approx(tn.squared_ece(y, p, bins=n_bins), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "width", "mass"), [(1, 2, 5), (9, 2, 5), (10, 3, 5), (80, 6, 6), (300, 10, 10)]
)
def test_default_bins_are_the_rows_to_the_power_two_fifths(n, width, mass):
    p, y = (np.arange(n) + 0.5) / n, np.arange(n) % 2
    for method, rule in (("t-cal", tn.EqualWidth(width)), ("exact", tn.EqualMass(mass))):
        found = calibration_test(y, p, method=method, resamples=19, seed=0)
        assert f"Bins: {rule!r}." in found.assumptions
        chosen = calibration_test(y, p, method=method, bins=rule, resamples=19, seed=0)
        assert (found.statistic, found.pvalue, found.smallest_pvalue) == (
            chosen.statistic,
            chosen.pvalue,
            1 / 20,
        )


@pytest.mark.parametrize(
    "shape", ["near ties", *slow("few pairs", "ties", "near ties of one bin", "several scores")]
)
def test_drawn_statistics_have_the_spread_of_the_null(shape):
    """A statistic at some null deviations has the p-value of slow draws; near ties are drawn together."""
    rng = np.random.default_rng(1)
    if shape == "several scores":
        P = rng.dirichlet(np.ones(3), 40_000)
        y = (P.cumsum(axis=1) > rng.random((40_000, 1))).argmax(axis=1)
        u = (np.argsort(-P, axis=1)[:, :2] == y[:, None]) - np.sort(P, axis=1)[:, :0:-1]
        # One cell: T is nearly (‖Σu‖² − Σ‖u‖²)/n², of which the first part is a sum of two squares.
        found = calibration_test(y, P, method="exact", k=2, bins=1, resamples=999, seed=2)
        top = np.sort(P, axis=1)[:, :0:-1]
        cov = np.diag((top * (1 - top)).sum(axis=0))
        cov[0, 1] = cov[1, 0] = -(top[:, 0] * top[:, 1]).sum()
        slow = (rng.multivariate_normal([0, 0], cov, 4_000) ** 2).sum(axis=1)
        expected = np.mean(slow >= (u.sum(axis=0) ** 2).sum())
    else:
        n, bins = {
            "few pairs": (5, 5),
            "ties": (60, 2),
            "near ties": (6_000, 20),
            "near ties of one bin": (5_000, 1),
        }[shape]
        p = {
            "few pairs": np.array([0.1, 0.12, 0.5, 0.52, 0.9]),
            "ties": np.tile([0.2, 0.7], 30),
        }.get(shape, rng.random(n))
        y = (rng.random(n) < p).astype(int)
        found = calibration_test(y, p, method="exact", bins=bins, resamples=999, seed=2)
        cell = np.minimum((p * bins).astype(int), bins - 1)
        labels = rng.random((n, 2_000)) < p[:, None]
        u, size = labels - p[:, None], np.maximum(np.bincount(cell, minlength=bins) - 1, 1)
        sums = np.stack(
            [u[cell == b].sum(axis=0) ** 2 - (u[cell == b] ** 2).sum(axis=0) for b in range(bins)]
        )
        alone = np.bincount(cell, minlength=bins) < 2
        slow = (sums[~alone] / size[~alone, None]).sum(axis=0) / n
        expected = np.mean(slow >= found.statistic - 1e-12)
    assert found.pvalue == pytest.approx(
        expected, abs=4.5 * math.sqrt(expected * (1 - expected) / 600) + 0.004
    )


def test_rows_that_are_all_alone_have_a_statistic_of_0():
    found = calibration_test(
        [0, 1, 1], [0.1, 0.5, 0.9], method="exact", bins=tn.Distinct(), resamples=7, seed=0
    )
    assert (found.statistic, found.pvalue) == (0, 1)


# ---- zero in the score interval, which this test decides in given bins


@pytest.mark.parametrize("shift", [0.05, *slow(0.0, 0.1, 0.2)])
def test_zero_is_excluded_where_the_pvalue_is_at_most_alpha(shift):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        p = rng.random(400)
        y = (rng.random(p.size) < p * (1 - shift)).astype(int)
        for alpha, draws in ((0.1, 999), (0.05, 999), (0.01, 1_999)):
            pvalue = calibration_test(
                y, p, method="exact", bins=tn.EqualMass(8), resamples=draws, seed=seed
            ).pvalue
            found = ece_interval(y, p, bins=tn.EqualMass(8), level=1 - alpha, seed=seed)
            assert found.includes_zero == (pvalue > alpha)


def test_no_labels_are_drawn_where_none_could_reach_the_statistic(monkeypatch):
    made, make = [], np.random.default_rng

    def watched(seed):
        rng = make(seed)
        made.append((rng, rng.bit_generator.state))
        return rng

    def draws(y, p, bins):
        made.clear()
        ece_interval(y, p, bins=bins)
        return any(rng.bit_generator.state != before for rng, before in made)

    monkeypatch.setattr(np.random, "default_rng", watched)
    p = np.linspace(0.3, 0.4, 2000)
    assert not ece_interval(np.arange(2000) % 10 < 9, p, bins=tn.EqualMass(5)).includes_zero
    assert not draws(np.arange(2000) % 10 < 9, p, tn.EqualMass(5))
    assert draws(np.arange(2000) % 10 < 4, p, tn.EqualMass(5))
    # Hoeffding: only events in n rows of 1/2 have T = 1/4, and e^(−n/16 + log(4/3)/2) is below e⁻⁶⁰ from 963 rows on.
    for n, drawn in ((962, True), (963, False)):
        assert draws(np.ones(n), np.full(n, 0.5), 1) == drawn


# ---- all resolutions


def resolutions(n):
    return math.ceil(2 * math.log2(n / math.sqrt(math.log(n)))) if n > 1 else 1


@pytest.mark.parametrize("ties", [False, True])
def test_adaptive_t_cal_is_the_smallest_of_its_resolutions(ties):
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.random(60), np.full(5, 0.3), [1.0, 1.0]])
    p = p.round(1) if ties else p
    for power in (1, 3):
        y = (rng.random(67) < p**power).astype(int)
        levels = resolutions(67)
        each = [
            calibration_test(y, p, method="t-cal", bins=2**b, resamples=499, seed=8)
            for b in range(1, levels + 1)
        ]
        found = calibration_test(y, p, method="adaptive-t-cal", resamples=499, seed=8)
        best = min(range(levels), key=lambda b: each[b].pvalue)
        assert found.pvalue == pytest.approx(min(1, levels * each[best].pvalue))
        assert found.statistic == pytest.approx(each[best].statistic)


def test_two_rows_of_each_score_have_pairs_where_every_score_has_a_bin():
    """Four bins tell three scores apart; each pair of rows is off in the same direction."""
    p, y = np.repeat([0.1, 0.4, 0.9], 2), np.array([1, 1, 0, 1, 0, 0])
    each = {
        bins: calibration_test(y, p, method="t-cal", bins=bins, resamples=499, seed=8)
        for bins in (2, 4, 8, 16)
    }
    found = calibration_test(y, p, method="adaptive-t-cal", resamples=499, seed=8)
    best = min(each, key=lambda bins: each[bins].pvalue)
    assert best == 4
    assert found.statistic == pytest.approx(each[4].statistic)
    assert found.pvalue == pytest.approx(min(1, resolutions(6) * each[4].pvalue))


def test_many_batches_of_labels_have_the_statistics_of_few():
    """Fine resolutions of 3,000 rows, drawn in many batches, with an error over eighths."""
    rng = np.random.default_rng(3)
    p = rng.random(3_000)
    y = (rng.random(3_000) < np.clip(p + 0.06 * np.sign(np.sin(8 * np.pi * p)), 0, 1)).astype(
        int
    )  # wrong over eighths
    one = calibration_test(y, p, method="t-cal", bins=8, resamples=999, seed=0)
    found = calibration_test(y, p, method="adaptive-t-cal", resamples=2_999, seed=0)
    assert f"times {resolutions(3_000)}: that of 8 bins of equal width" in found.assumptions
    assert found.statistic == pytest.approx(one.statistic)


@pytest.mark.parametrize(("n", "levels"), [(1, 1), (2, 3), (3, 4), (10, 6), (100, 12)])
def test_the_resolutions_of_adaptive_t_cal_are_those_of_its_paper(n, levels):
    """⌈2 log₂(n / √log n)⌉, by hand for 2 rows: 2 log₂(2 / 0.8326) = 2.53."""
    found = calibration_test(
        np.arange(n) % 2, np.full(n, 0.5), method="adaptive-t-cal", resamples=99, seed=0
    )
    assert found.smallest_pvalue == pytest.approx(levels / 100)
    default = calibration_test(np.arange(n) % 2, np.full(n, 0.5), method="adaptive-t-cal", seed=0)
    assert default.smallest_pvalue == pytest.approx(levels / max(1_000, 100 * levels))


def test_adaptive_t_cal_says_what_it_drew_and_which_bins_were_best():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    y = (p > 0.5).astype(int)
    levels = resolutions(200)
    found = calibration_test(y, p, method="adaptive-t-cal", seed=0)
    assert found.pvalue == found.smallest_pvalue == pytest.approx(0.01)
    assert f"{100 * levels - 1:,} sets of labels were drawn" in found.assumptions
    assert (
        f"The smallest of {levels} p-values, times {levels}: that of 2 bins of equal width."
        in found.assumptions
    )
    fewer = calibration_test(y[:9], p[:9], method="adaptive-t-cal", resamples=2, seed=0)
    assert (fewer.smallest_pvalue, fewer.pvalue) == (1, 1)
    nothing = calibration_test([1, 0], [0.2, 0.8], method="adaptive-t-cal", resamples=99, seed=0)
    assert (nothing.statistic, nothing.pvalue, nothing.smallest_pvalue) == (
        0,
        1,
        pytest.approx(3 / 100),
    )
    assert "at any of 3 resolutions, so the test has no power" in nothing.assumptions


def test_a_null_statistic_of_many_rows_is_chi_squared_in_one_bin():
    """nT + 1 is a squared normal number: the p-value of the exact test is that of the mean."""
    rng = np.random.default_rng(4)
    p = rng.random(2_000)
    y = (rng.random(2_000) < p + 0.02 * (1 - p)).astype(int)
    z = (y - p).sum() / math.sqrt((p * (1 - p)).sum())
    found = calibration_test(y, p, method="exact", bins=1, resamples=1_999, seed=0)
    expected = 2 * stats.norm.sf(abs(z))
    assert found.pvalue == pytest.approx(expected, abs=4 * math.sqrt(expected / 2_000) + 0.004)


def test_rows_that_are_alone_in_their_bin_change_no_pvalue_of_several_scores():
    same = np.tile([0.5, 0.3, 0.2], (30, 1))
    top = 0.44 + 0.026 * np.arange(20)
    alone = np.stack([top, 0.7 * (1 - top), 0.3 * (1 - top)], axis=1)
    y = np.concatenate([np.arange(30) % 3, np.arange(20) % 2])
    options = {"method": "exact", "k": 2, "bins": 40, "resamples": 999, "seed": 0}
    together = calibration_test(y, np.vstack([same, alone]), **options)
    few = calibration_test(y[:30], same, **options)
    assert together.statistic == pytest.approx(few.statistic * 30 / 50)
    assert 0.02 < few.pvalue < 0.9
    assert together.pvalue == pytest.approx(few.pvalue, abs=0.08)


def test_the_omnibus_test_draws_999_sets_of_labels():
    rng = np.random.default_rng(7)
    p = rng.random(30)
    y = (rng.random(30) < p).astype(int)
    found = calibration_test(y, p, seed=0)
    assert "999 sets of labels were drawn" in found.assumptions
    assert found.pvalue * 1000 == pytest.approx(round(found.pvalue * 1000))
