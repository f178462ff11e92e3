"""Numbers that others have printed."""

from fractions import Fraction

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pytest
from r_random import r_example
from scipy.stats import binomtest

import trueness as tn
from trueness import _kernels
from trueness._kernels import reference


def test_four_rows_in_two_bins():
    assert tn.ece([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2) == pytest.approx(0.15, abs=1e-16)


def test_ece_is_zero_where_scores_and_rates_agree_in_every_bin():
    assert tn.ece([0, 0, 1, 1], [0, 0, 1, 1], bins=2) == 0
    assert (
        tn.ece(
            [0, 0, 0, 1, 0, 1, 1, 1],
            [0.125, 0.125, 0.375, 0.375, 0.625, 0.625, 0.875, 0.875],
            bins=2,
        )
        == 0
    )


def test_the_example_in_r():
    y, P = r_example()
    assert tn.ece(y, P) == pytest.approx(0.2264213525, abs=5e-11)
    assert round(tn.ece(y, P), 7) == 0.2264214
    assert tn.ece(y, P, kind="confidence") == pytest.approx(0.4602838696, abs=5e-11)


def test_the_example_in_r_with_a_factor():
    """Column k is levels(y)[k], whatever the alphabet says."""
    codes, P = r_example()
    levels = ["low", "medium", "high"]
    y = pd.Categorical.from_codes(np.asarray(codes), levels)
    assert tn.ece(y, P) == pytest.approx(0.2264213525, abs=5e-11)
    assert tn.ece(pl.Series(y.tolist(), dtype=pl.Enum(levels)), P) == tn.ece(y, P)
    assert tn.ece(y.tolist(), P) == pytest.approx(
        0.3247, abs=5e-5
    )  # strings are sorted: high, low, medium


def test_corp_of_six_rows():
    """Dimitriadis, Gneiting, Jordan 2021, as the R package reliabilitydiag prints it."""
    y, p = [0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9]
    brier, log = tn.corp(y, p), tn.corp(y, p, score="log")
    parts = (brier.miscalibration, brier.discrimination, brier.uncertainty)
    assert parts == pytest.approx((0.1016667, 0.125, 0.25), abs=5e-8)
    parts = (log.miscalibration, log.discrimination, log.uncertainty)
    assert parts == pytest.approx((0.3237327, 0.3182571, 0.6931472), abs=5e-8)


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_smooth_ece_of_one_score():
    assert tn.smooth_ece([0] * 20, [0.95] * 20) == pytest.approx(0.95, abs=1e-9)


# Matsubara et al. 2023, Table 5: TCE, TCE(Q), ECE, ACE, MCE, MCE(Q). The last of ResNet152 is printed
# as 0.0102; the predictions give 0.0101.
TABLE_5 = {
    "alexnet": ("42.736", "43.792", "0.0070", "0.0070", "0.1496", "0.0528"),
    "resnet152": ("16.086", "22.160", "0.0012", "0.0013", "0.1882", "0.0101"),
}


@pytest.mark.parametrize("model", TABLE_5)
def test_table_5_of_tce(model, data_folder):
    with np.load(data_folder / "imagenet_dogs.npz") as data:
        y, p = data["y_true"], data[model]
    quantiles = tn.EqualMass(10)
    tces = [tn.tce(y, p), tn.tce(y, p, bins=quantiles)]
    errors = [tn.ece(y, p), tn.ace(y, p), tn.mce(y, p), tn.mce(y, p, bins=quantiles)]
    assert tuple([f"{v:.3f}" for v in tces] + [f"{v:.4f}" for v in errors]) == TABLE_5[model]
    assert f"{tn.tce(y, p, bins=tn.BlockIsotonic(ties='split')):.3f}" == TABLE_5[model][0]


def test_blocks_of_resnet152_fuse_where_algorithm_3_draws_no_edge(data_folder):
    with np.load(data_folder / "imagenet_dogs.npz") as data:
        y, p = data["y_true"], data["resnet152"]
    sizes = tn.bin_table(y, p, bins=tn.BlockIsotonic(fuse=False)).n.tolist()
    assert sizes[:3] == [10_000, 10_000, 10_000]
    assert tn.bin_table(y, p, bins=tn.BlockIsotonic()).n.tolist() == [30_000, *sizes[3:]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "runs", "expected"),
    [(10**3, 500, 13.2), (10**4, 60, 51), (10**5, 10, 84), (10**6, 2, 95)],
)
def test_tce_of_a_calibrated_model_grows_with_the_rows(n, runs, expected):
    """The percentages quoted in the docstring of `tce`; the spread of one run falls from 5 points to below 1."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        p = rng.random(n)
        found.append(tn.tce(rng.random(n) < p, p, bins=tn.EqualMass(10)))
    spread = np.std(found, ddof=1) / np.sqrt(runs)
    assert abs(np.mean(found) - expected) < 4 * spread + 0.6


def printed_bins(y, p, n_min, n_max):
    """Algorithms 2 and 3 and equation (2) as printed, line by line: (low, high, labels, scores) of every bin."""
    N = len(y)
    order = sorted(range(N), key=lambda i: p[i])  # "any algorithm that sorts": a stable one
    y, p = [y[i] for i in order], [p[i] for i in order]
    Y, W, B = [None], [None], 0
    for i in range(1, N - n_min + 1):
        B += 1
        Y[B:], W[B:] = [y[i - 1]], [1]
        while B > 1:
            if W[B - 1] + W[B] > n_min:
                if W[B - 1] + W[B] > n_max:
                    break
                if Fraction(Y[B - 1], W[B - 1]) < Fraction(Y[B], W[B]):
                    break
            Y[B - 1], W[B - 1] = Y[B - 1] + Y[B], W[B - 1] + W[B]
            B -= 1
    if B and W[B] + n_min <= n_max:
        Y[B], W[B] = Y[B] + sum(y[N - n_min :]), W[B] + n_min
    else:
        B += 1
        Y[B:], W[B:] = [sum(y[N - n_min :])], [n_min]
    fitted = [Fraction(Y[j], W[j]) for j in range(1, B + 1) for _ in range(W[j])]
    bins, L = [], 0.0
    for i in range(1, N):
        if fitted[i - 1] != fitted[i]:
            R = (p[i - 1] + p[i]) / 2
            bins.append((L, R, [j for j in range(N) if L <= p[j] < R]))
            L = R
    bins.append((L, 1.0, [j for j in range(N) if L <= p[j] <= 1]))
    return [
        (L, R, [y[j] for j in rows], [p[j] for j in rows]) for L, R, rows in bins if L < R or rows
    ]


def printed_tce(y, p, n_min, n_max, alpha=0.05):
    """Algorithm 1 as printed, on the bins of Algorithms 2 and 3."""
    bins = printed_bins(y, p, n_min, n_max)
    rejected = sum(binomtest(sum(b[2]), len(b[2]), s).pvalue <= alpha for b in bins for s in b[3])
    return 100 * rejected / len(y)


def rare_rows(rng):
    """Scores without ties and labels of which few are events, some of them miscalibrated."""
    n = int(rng.integers(20, 200))
    p = rng.beta(0.5, rng.choice([5, 15, 60]), n)
    y = rng.random(n) < np.minimum(p * rng.choice([0.5, 1, 3]), 1)
    return y.astype(int).tolist(), p.tolist()


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize("kernels", ["in use", "reference"])
@pytest.mark.parametrize("sets", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_tce_is_algorithms_1_to_3_where_no_scores_tie(sets, kernels, monkeypatch):
    if kernels == "reference":
        monkeypatch.setattr(_kernels, "block_pava", reference.block_pava)
    rng, apart = np.random.default_rng(44), 0
    for _ in range(sets):
        y, p = rare_rows(rng)
        n = len(y)
        limits = n // 20, n // 5
        expected = printed_tce(y, p, *limits)
        found = [tn.tce(y, p), tn.tce(y, p, bins=tn.BlockIsotonic(*limits)), tn.tce(tn.tally(y, p))]
        found.append(tn.tce(y, p, bins=tn.BlockIsotonic(ties="split")))
        found.append(tn.tce(y, p, bins=tn.BlockIsotonic(ties="printed")))
        assert found == pytest.approx([expected] * 5)
        assert tn.gce(y, p, loss="rejection", bins=tn.BlockIsotonic()) == pytest.approx(expected)
        apart += tn.tce(y, p, bins=tn.BlockIsotonic(fuse=False)) != pytest.approx(expected)
    assert apart > sets / 4
    tested = tn.plot.TestReliabilityDisplay.from_predictions(y, p).record
    printed = printed_bins(y, p, *limits)
    assert tested.n.tolist() == [len(labels) for _, _, labels, _ in printed]
    assert tested.high_edge.tolist() == [high for _, high, _, _ in printed]


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize("sets", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_printed_ties_follow_algorithms_2_and_3_and_equation_2(sets):
    rule = tn.BlockIsotonic(1, 2, ties="printed")
    table = tn.bin_table([0, 0, 1, 1], [0.25, 0.5, 0.5, 0.75], bins=rule)
    assert (table.low_edge.tolist(), table.high_edge.tolist(), table.n.tolist()) == (
        [0, 0.5],
        [0.5, 1],
        [1, 3],
    )
    rng, differ = np.random.default_rng(11), 0
    for case in range(sets):
        n, steps = int(rng.integers(2, 25)), 2 ** int(rng.integers(0, 4))  # midpoints are floats
        p = (rng.integers(0, steps + 1, n) / steps).tolist()
        y = rng.integers(0, 2, n).tolist()
        n_min = int(rng.integers(0, n))
        n_max = int(rng.integers(max(n_min, 1), n + 1))
        expected = printed_bins(y, p, n_min, n_max)
        table = tn.bin_table(y, p, bins=tn.BlockIsotonic(n_min, n_max, ties="printed"))
        found = list(
            zip(table.low_edge.tolist(), table.high_edge.tolist(), table.n.tolist(), strict=True)
        )
        assert found == [(low, high, len(labels)) for low, high, labels, _ in expected]
        assert table.rate[table.n > 0].tolist() == pytest.approx(
            [np.mean(b[2]) for b in expected if b[2]], rel=1e-12
        )
        split = tn.bin_table(y, p, bins=tn.BlockIsotonic(n_min, n_max, ties="split"))
        differ += split.n.tolist() != [size for *_, size in found]
        if case % 10 == 0:  # Algorithm 1 on these bins
            rejected = sum(
                binomtest(sum(b[2]), len(b[2]), s).pvalue <= 0.05 for b in expected for s in b[3]
            )
            found = tn.tce(y, p, bins=tn.BlockIsotonic(n_min, n_max, ties="printed"))
            assert found == pytest.approx(100 * rejected / n)
    assert differ > sets / 4


def test_split_ties_follow_algorithm_2_row_by_row():
    rng = np.random.default_rng(5)
    p = rng.integers(0, 12, 300) / 12
    y = (rng.random(300) < p).astype(int)
    order = np.argsort(p, kind="stable")
    groups = oracle.block_groups_rowwise(y[order].tolist(), 15, 60)
    rule = tn.BlockIsotonic(15, 60, fuse=False, ties="split")
    assert tn.bin_table(y, p, bins=rule).n.tolist() == [len(g) for g in groups]
    assert tn.tce(y, p, bins=rule) == pytest.approx(
        oracle.tce(y[order].tolist(), p[order].tolist(), groups)
    )
