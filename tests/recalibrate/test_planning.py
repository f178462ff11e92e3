"""Planning: the published numbers, monotone where bounds are, and inverse functions that are inverses."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness as tn
from trueness import InputError
from trueness.recalibrate import epsilon, max_bins, sample_size
from trueness.recalibrate._planning import DELTA, usual_bins

RANKED = ("umd", "randomized", "original")
CASES = [
    *itertools.product(("umd", "randomized", "original", "split"), ("conditional", "marginal"), ("hoeffding",)),
    *itertools.product(RANKED, ("conditional", "marginal"), ("exact",)),
    *itertools.product((*RANKED, "split", "fixed-width"), ("expected-ece",), ("hoeffding",)),
]
cases = pytest.mark.parametrize(("scheme", "kind", "bound"), CASES)


# ---------------------------------------------------------------------------------- by hand and as published


def test_theorem_3_and_corollary_1():
    assert epsilon(2900, 10) == pytest.approx(math.sqrt(math.log(200) / (2 * 289)), rel=1e-15)
    assert epsilon(2900, 10) == pytest.approx(0.09574, abs=5e-6)
    assert epsilon(2900, 10, scheme="original") == pytest.approx(0.09919, abs=5e-6)


def test_the_least_rows_for_a_tenth():
    assert [sample_size(B, 0.1) for B in (5, 10, 15, 20)] == [1160, 2660, 4305, 6020]


def test_the_marginal_bound_holds_from_1510_rows_not_1500():
    assert epsilon(1500, 10, kind="marginal") == pytest.approx(0.1003, abs=5e-5)
    assert epsilon(1510, 10, kind="marginal") < 0.1
    assert sample_size(10, 0.1, kind="marginal") == 1510


def test_the_ranges_of_the_exact_bound():
    def kept(kind, rows):
        return [n for n in rows if epsilon(n, 10, kind=kind, bound="exact") <= 0.1]

    assert kept("marginal", range(690, 800)) == [*range(709, 730), *range(759, 800)]
    assert kept("conditional", range(1640, 1760)) == [*range(1659, 1670), *range(1709, 1760)]
    assert sample_size(10, 0.1, kind="marginal", bound="exact") == 759
    assert sample_size(10, 0.1, bound="exact") == 1709


def test_figure_2_advises_bins_that_keep_its_errors():
    for n, B, e in ((1_000, 5, 0.12), (5_000, 10, 0.08), (20_000, 22, 0.06)):
        assert usual_bins(n) == B
        assert epsilon(n, B) <= e
        assert B <= max_bins(n, e) <= B + 1


def test_the_usual_number_of_bins_grows_and_leaves_two_rows_a_bin():
    found = [usual_bins(n) for n in range(2, 60_000, 7)]
    assert found == sorted(found)
    assert all(usual_bins(n) <= n // 2 for n in range(2, 2_000))
    assert usual_bins(1) == 1
    assert usual_bins(2_000_000) == 220


def test_sample_splitting_needs_about_twice_the_rows_and_not_17_500():
    for kind, needed in (("conditional", 5_393), ("marginal", 3_031)):  # the published 17,500 are marginal
        assert sample_size(10, 0.1, scheme="split", kind=kind) == needed
        assert 2 * sample_size(10, 0.1, kind=kind) < needed < 3 * sample_size(10, 0.1, kind=kind)


def test_example_1_of_the_paper():
    p = np.repeat([0.2, 0.8], [900, 100])
    y = np.concatenate([np.arange(900) < 0.3 * 900, np.arange(100) < 0.6 * 100])
    assert tn.ece(y, p, bins=2) == pytest.approx(0.11)
    assert tn.ece(y, p, bins=2, norm="l2") == pytest.approx(0.1140, abs=5e-5)


def test_the_expected_error_is_below_the_published_bound_also_where_its_proof_fails():
    for B in (1, 2, 10, 22):
        for n in (2 * B, 3 * B - 1, 3 * B, 10 * B + 3, 49):
            if n >= 2 * B:
                found = epsilon(n, B, kind="expected-ece")
                assert found <= math.sqrt(B / (2 * (n + 1))) * (1 + 1e-12) < math.sqrt(B / (2 * n))
    # n = 3B − 1: every bin averages two labels.
    assert epsilon(29, 10, kind="expected-ece") == pytest.approx(math.sqrt(10 * 3 / (4 * 2 * 30)))


# ---------------------------------------------------------------------------------------------------- laws


@cases
@settings(max_examples=10)
@given(n=st.integers(20, 3_000), B=st.integers(1, 10), alpha=st.floats(0.01, 0.5))
def test_more_bins_and_more_certainty_cost(scheme, kind, bound, n, B, alpha):
    plan = {"scheme": scheme, "kind": kind, "bound": bound}
    here = epsilon(n, B, alpha=alpha, **plan)
    if bound == "hoeffding" and scheme != "split":
        assert epsilon(n + 1, B, alpha=alpha, **plan) <= here
        if n >= 2 * (B + 1):
            assert epsilon(n, B + 1, alpha=alpha, **plan) >= here
    assert epsilon(n, B, alpha=min(0.9, 2 * alpha), **plan) <= here + 1e-11
    assert epsilon(4 * n, B, alpha=alpha, **plan) < here or here == 1  # a split may be too small for any promise


@cases
@pytest.mark.parametrize("e", [0.08, 0.15, 0.3])
@pytest.mark.parametrize("B", [1, 3, 10])
def test_sample_size_is_the_inverse_of_epsilon(scheme, kind, bound, e, B):
    plan = {"scheme": scheme, "kind": kind, "bound": bound}
    n = sample_size(B, e, **plan)
    assert all(epsilon(m, B, **plan) <= e * (1 + 1e-9) for m in range(n, n + 3 * B))
    assert n == 2 * B or epsilon(n - 1, B, **plan) > e * (1 - 1e-9)


@cases
@pytest.mark.parametrize("e", [0.08, 0.15, 0.3])
@pytest.mark.parametrize("n", [60, 200])
def test_max_bins_is_the_inverse_of_epsilon(scheme, kind, bound, e, n):
    plan = {"scheme": scheme, "kind": kind, "bound": bound}
    B = max_bins(n, e, **plan)
    assert max((b for b in range(1, n // 2 + 1) if epsilon(n, b, **plan) <= e), default=0) == B


@settings(max_examples=15)
@given(n=st.integers(20, 2_000), B=st.integers(1, 10), alpha=st.floats(0.01, 0.4))
def test_the_exact_bound_is_never_above_hoeffdings(n, B, alpha):
    for kind in ("conditional", "marginal"):
        assert epsilon(n, B, alpha=alpha, kind=kind, bound="exact") <= epsilon(n, B, alpha=alpha, kind=kind)


def test_no_row_and_no_bin_is_enough_for_a_tiny_error():
    assert max_bins(1, 0.5) == 0
    assert max_bins(100, 0.01) == 0
    assert max_bins(100, 0.01, bound="exact") == 0


def test_planning_loads_no_scikit_learn():
    code = (
        "import sys; from trueness.recalibrate import epsilon; epsilon(2900, 10, bound='exact');"
        "assert not {'sklearn', 'pandas', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------------------------ messages


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: epsilon(19, 10), r"`n` must be at least 20, two rows per bin; got 19"),
        (lambda: epsilon(0, 1), "`n` must be a whole number ≥ 1; got 0"),
        (lambda: epsilon(100, 2.5), "`n_bins` must be a whole number ≥ 1; got 2.5"),
        (lambda: epsilon(100, 2, alpha=1), "`alpha` must lie strictly between 0 and 1; got 1"),
        (
            lambda: epsilon(100, 2, kind="both"),
            "`kind` must be 'conditional', 'marginal' or 'expected-ece'; got 'both'",
        ),
        (lambda: epsilon(100, 2, scheme="ums"), "`scheme` must be 'umd', .*; got 'ums'"),
        (lambda: epsilon(100, 2, bound="tight"), "`bound` must be 'hoeffding' or 'exact'; got 'tight'"),
        (lambda: epsilon(100, 2, bound="clopper-pearson"), "'clopper-pearson' depends on the labels"),
        (lambda: epsilon(100, 2, scheme="fixed-width"), "`kind` must be 'expected-ece' for `scheme='fixed-width'`"),
        (lambda: epsilon(100, 2, scheme="split", bound="exact"), "`bound` must be 'hoeffding' for `scheme='split'`"),
        (lambda: epsilon(100, 2, split=0.3), "`split` is only for `scheme='split'`; got split=0.3 with scheme='umd'"),
        (lambda: epsilon(100, 2, scheme="split", split=1.0), "`split` must lie strictly between 0 and 1"),
        (lambda: sample_size(10, 1.5), "`epsilon` must lie strictly between 0 and 1; got 1.5"),
        (lambda: sample_size(10, 1e-10, scheme="randomized"), "`epsilon` must exceed δ = 1e-09"),
        (lambda: sample_size(10, 1e-9), "too small for any number of rows"),
        (lambda: max_bins(True, 0.1), "`n` must be a whole number ≥ 1; got True"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_exact_bounds_that_would_take_minutes_are_refused():
    with pytest.raises(
        InputError, match=r"available for up to 1,000,000 rows per bin; got .*'hoeffding' takes any number"
    ):
        epsilon(10**9, 10, bound="exact")
    with pytest.raises(InputError, match=r"`epsilon` is too small for `bound='exact'`.*'hoeffding' takes any epsilon"):
        sample_size(10, 1e-4, bound="exact")
    assert epsilon(10**9, 10) > 0


def test_values_that_may_be_moved_add_the_distance():
    """By hand: the bound of Theorem 3, and how far the values of bins that share one are moved apart."""
    for bound in ("hoeffding", "exact"):
        assert epsilon(900, 3, scheme="randomized", bound=bound) == epsilon(900, 3, bound=bound) + DELTA
