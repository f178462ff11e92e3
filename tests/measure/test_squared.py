"""The debiased squared error: default bins, views of a matrix, importance weights."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn

unequal = st.tuples(st.booleans(), st.floats(0, 1), st.integers(-20, 20))


def test_squared_ece_chooses_bins_by_the_number_of_rows():
    rng = np.random.default_rng(0)
    p = rng.random(1_000)
    y = rng.random(1_000) < p
    cells = tn.measure.MassAndWidth(16, 16)  # 1000 ** 0.4 = 15.8
    assert tn.squared_ece(y, p) == tn.squared_ece(y, p, bins=cells)
    assert tn.squared_ece(tn.tally(y, p)) == tn.squared_ece(y, p, bins=cells)
    few = np.round(30 * p) / 30
    assert (
        tn.squared_ece(y, few)
        == tn.squared_ece(y, few, bins=tn.Distinct())
        != tn.squared_ece(y, few, bins=cells)
    )
    assert tn.squared_ece(tn.binned(y, p, bins=7)) == tn.squared_ece(y, p, bins=7)
    # Never more cells than pairs of rows, and five where there are so many.
    assert tn.squared_ece(y[:6], p[:6]) == tn.squared_ece(
        y[:6], p[:6], bins=tn.measure.MassAndWidth(3, 3)
    )
    assert tn.squared_ece(y[:40], p[:40]) == tn.squared_ece(
        y[:40], p[:40], bins=tn.measure.MassAndWidth(5, 5)
    )
    # Importance weights that are all equal have a plain estimate over pairs of rows.
    equal = tn.squared_ece(
        y, p, bins=16, sample_weight=np.full(1_000, 0.5), weight_type="importance"
    )
    assert equal == pytest.approx(tn.squared_ece(y, p, bins=16))


def test_squared_ece_of_a_matrix_uses_the_largest_probability():
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1, 1, 1], size=300)
    y = rng.integers(0, 3, 300)
    right = (P.argmax(axis=1) == y).astype(int)
    assert tn.squared_ece(y, P) == tn.squared_ece(right, P.max(axis=1))
    columns = [tn.squared_ece((y == c).astype(int), P[:, c], bins=5) for c in range(3)]
    assert tn.squared_ece(y, P, kind="classwise", bins=5) == pytest.approx(np.mean(columns))


@pytest.mark.parametrize(
    ("y", "p", "w", "bins", "pairs"),
    [
        ([0, 1], [0.2, 0.7], [1.0, 1e-17], 1, [(1, -0.2 * 0.3)]),
        ([0, 1], [0.3, 0.301], [1e8, 1e-8], 1, [(1, -0.3 * 0.699)]),
        ([1, 0], [0.3, 0.301], [1e-30, 1e30], 1, [(1, -0.7 * 0.301)]),
        (
            [0, 1, 0, 1],
            [0.2, 0.2003, 0.7, 0.7003],
            [1, 1e-17, 1, 1],
            2,
            [(1, -0.2 * 0.7997), (2, -0.7 * 0.2997)],
        ),
    ],
)
def test_a_pair_of_rows_counts_however_unequal_their_weights(y, p, w, bins, pairs):
    by_hand = sum(weight * product for weight, product in pairs) / sum(
        weight for weight, _ in pairs
    )
    found = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=bins)
    assert found == pytest.approx(by_hand, rel=1e-13)


def test_tied_rows_whose_pairs_are_lost_in_rounding_are_one_row():
    assert (
        tn.squared_ece(
            [0, 1], [0.3, 0.3], sample_weight=[1.0, 1e-17], weight_type="importance", bins=1
        )
        == 0
    )
    y, p, w = [0, 1, 1], [0.3, 0.3, 0.6], [1.0, 1e-17, 1e-10]
    found = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=1)
    assert found == pytest.approx(-0.3 * 0.4, rel=1e-9)


@given(st.lists(unequal, min_size=2, max_size=8, unique_by=lambda row: row[1]))
def test_importance_is_the_mean_over_pairs_in_whole_fractions(rows):
    y, p, w = [r[0] for r in rows], [r[1] for r in rows], [2.0 ** r[2] for r in rows]
    u = [Fraction(int(a)) - Fraction(b) for a, b in zip(y, p, strict=True)]
    both = [(Fraction(w[i]) * Fraction(w[j]), u[i] * u[j]) for i in range(len(u)) for j in range(i)]
    mean = sum(a * b for a, b in both) / sum(a for a, _ in both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        found = tn.squared_ece(y, p, sample_weight=w, weight_type="importance", bins=1)
    assert found == pytest.approx(float(mean), rel=1e-12, abs=1e-12)


def mean_over_pairs(y, p, w, bins):
    """Per bin, the weighted mean of products over pairs of different rows; bins count by their weight."""
    total, bin_of = 0.0, np.minimum((p * bins).astype(int), bins - 1)
    for b in np.unique(bin_of):
        rows = np.flatnonzero((bin_of == b) & (w > 0))
        pairs = [(w[i] * w[j], (y[i] - p[i]) * (y[j] - p[j])) for i in rows for j in rows if i != j]
        if pairs:
            total += w[rows].sum() * np.average(
                [product for _, product in pairs], weights=[a for a, _ in pairs]
            )
    return total / w.sum()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("seed", range(2))
def test_importance_is_the_mean_over_pairs_with_ties_in_several_bins(seed):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 12, 40) / 11  # ties, and scores of 0 and 1
    y, w = rng.integers(0, 2, 40), rng.choice([0, 0.3, 1, 2.7, 20], 40)
    for bins in (1, 4, 9):
        exact = mean_over_pairs(y, p, w, bins)
        for scale in (1, 2.0**-70, 2.0**70):
            found = tn.squared_ece(
                y, p, bins=bins, weight_type="importance", sample_weight=w * scale
            )
            assert found == pytest.approx(exact, rel=1e-10, abs=1e-13)
        equal = mean_over_pairs(y, p, np.ones(40), bins)
        assert tn.squared_ece(y, p, bins=bins, weight_type="importance") == pytest.approx(
            equal, rel=1e-10, abs=1e-13
        )
        assert tn.squared_ece(y, p, bins=bins) == pytest.approx(equal, rel=1e-10, abs=1e-13)
        whole = rng.integers(0, 4, 40)
        repeated = mean_over_pairs(
            np.repeat(y, whole), np.repeat(p, whole), np.ones(whole.sum()), bins
        )
        assert tn.squared_ece(y, p, bins=bins, sample_weight=whole) == pytest.approx(
            repeated, rel=1e-10, abs=1e-13
        )
        counted = mean_over_pairs(y, p, whole, bins)
        found = tn.squared_ece(y, p, bins=bins, sample_weight=whole, weight_type="importance")
        assert found == pytest.approx(counted, rel=1e-10, abs=1e-13)


def test_two_tied_rows_are_a_pair_down_to_the_smallest_weights_that_floats_resolve():
    for small in (1e-3, 1e-6, 1e-12):
        for scale in (1.0, 2.0**-70, 2.0**70):
            w = np.array([1.0, small]) * scale
            found = tn.squared_ece(
                [0, 1], [0.3, 0.3], sample_weight=w, weight_type="importance", bins=1
            )
            assert found == pytest.approx(-0.3 * 0.7, rel=1e-3)


def test_the_default_bins_of_importance_weights_follow_the_number_of_rows():
    rng = np.random.default_rng(9)
    p = rng.random(200)
    y, w = rng.integers(0, 2, 200), rng.uniform(5, 9, 200)
    options = {"sample_weight": w, "weight_type": "importance"}
    assert tn.squared_ece(y, p, **options) == tn.squared_ece(
        y, p, bins=tn.measure.MassAndWidth(8, 8), **options
    )  # 200^0.4


@pytest.mark.parametrize("bins", [None, 20, tn.EqualMass(8)], ids=str)
def test_two_columns_are_the_binary_problem_of_the_second_for_estimate_and_interval(bins):
    rng = np.random.default_rng(1)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    P = np.column_stack([1 - p, p])
    second = tn.squared_ece(y, p, bins=bins)
    assert tn.squared_ece(y, P, bins=bins) == second
    assert tn.squared_ece(tn.tally(y, P), bins=bins) == second
    interval = tn.ece_interval(y, P, bins=bins, squared=True)
    assert interval.estimate == pytest.approx(second, abs=1e-15)
    assert "the event is the second, 1." in str(interval)
    top = tn.squared_ece(y, P, k=1, bins=bins)
    assert top == tn.squared_ece(y, P, kind="confidence", bins=bins) != second
    assert tn.ece_interval(y, P, k=1, bins=bins, squared=True).estimate == pytest.approx(top)
    assert "binary problem" not in str(tn.ece_interval(y, P, k=1, bins=bins))


@pytest.mark.parametrize("weight_type", ["auto", "importance"])
def test_bins_of_other_weights_say_that_rows_or_a_tally_are_needed(weight_type):
    sums = tn.binned(
        [0, 1, 1],
        [0.2, 0.4, 0.9],
        bins=2,
        sample_weight=[0.5, 1.5, 2],
        weight_type=weight_type,
    )
    with pytest.raises(tn.InputError, match=r"weights pass a Tally, or labels and scores\.$"):
        tn.squared_ece(sums)
