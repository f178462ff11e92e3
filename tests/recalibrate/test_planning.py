"""Planning: the published numbers, monotone where bounds are, and inverse functions that are inverses."""

import itertools
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from grids import slow
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from trueness import HistogramBinning, InputError, epsilon, max_bins, sample_size
from trueness.errors import OneClassWarning

RANKED = ("umd", "randomized", "original")
CASES = [
    *itertools.product(
        ("umd", "randomized", "original", "split"), ("conditional", "marginal"), ("hoeffding",)
    ),
    *itertools.product(RANKED, ("conditional", "marginal"), ("exact",)),
    *itertools.product((*RANKED, "split", "fixed-width"), ("expected-ece",), ("hoeffding",)),
]
cases = pytest.mark.parametrize(("scheme", "kind", "bound"), CASES)


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


def usual_bins(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneClassWarning)
        return HistogramBinning("auto").fit(np.arange(n) / n, np.arange(n) % 2).n_bins_


def test_figure_2_advises_bins_that_keep_its_errors():
    for n, B, e in ((1_000, 5, 0.12), (5_000, 10, 0.08), (20_000, 22, 0.06)):
        assert usual_bins(n) == B
        assert epsilon(n, B) <= e
        assert B <= max_bins(n, e) <= B + 1


def test_sample_splitting_needs_about_twice_the_rows_and_not_17_500():
    for kind, needed in (
        ("conditional", 5_393),
        ("marginal", 3_031),
    ):  # the published 17,500 are marginal
        assert sample_size(10, 0.1, scheme="split", kind=kind) == needed
        assert 2 * sample_size(10, 0.1, kind=kind) < needed < 3 * sample_size(10, 0.1, kind=kind)


def test_the_expected_error_is_below_the_published_bound_also_where_its_proof_fails():
    for B in (1, 2, 10, 22):
        for n in (2 * B, 3 * B - 1, 3 * B, 10 * B + 3, 49):
            if n >= 2 * B:
                found = epsilon(n, B, kind="expected-ece")
                assert found <= math.sqrt(B / (2 * (n + 1))) * (1 + 1e-12) < math.sqrt(B / (2 * n))
    # n = 3B − 1: every bin averages two labels.
    assert epsilon(29, 10, kind="expected-ece") == pytest.approx(math.sqrt(10 * 3 / (4 * 2 * 30)))


@cases
@settings(max_examples=4)
@given(n=st.integers(20, 3_000), B=st.integers(1, 10), alpha=st.floats(0.01, 0.5))
def test_more_bins_and_more_certainty_cost(scheme, kind, bound, n, B, alpha):
    plan = {"scheme": scheme, "kind": kind, "bound": bound}
    here = epsilon(n, B, alpha=alpha, **plan)
    if bound == "hoeffding" and scheme != "split":
        assert epsilon(n + 1, B, alpha=alpha, **plan) <= here
        if n >= 2 * (B + 1):
            assert epsilon(n, B + 1, alpha=alpha, **plan) >= here
    assert epsilon(n, B, alpha=min(0.9, 2 * alpha), **plan) <= here + 1e-11
    assert (
        epsilon(4 * n, B, alpha=alpha, **plan) < here or here == 1
    )  # a split may be too small for any promise


@given(n=st.integers(20, 2_000), B=st.integers(1, 10), alpha=st.floats(0.01, 0.4))
def test_the_exact_bound_is_never_above_hoeffdings(n, B, alpha):
    for kind in ("conditional", "marginal"):
        assert epsilon(n, B, alpha=alpha, kind=kind, bound="exact") <= epsilon(
            n, B, alpha=alpha, kind=kind
        )


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
        (
            lambda: epsilon(100, 2, bound="tight"),
            "`bound` must be 'hoeffding' or 'exact'; got 'tight'",
        ),
        (
            lambda: epsilon(100, 2, bound="clopper-pearson"),
            "'clopper-pearson' depends on the labels",
        ),
        (
            lambda: epsilon(100, 2, scheme="fixed-width"),
            "`kind` must be 'expected-ece' for `scheme='fixed-width'`",
        ),
        (
            lambda: epsilon(100, 2, scheme="split", bound="exact"),
            "`bound` must be 'hoeffding' for `scheme='split'`",
        ),
        (
            lambda: epsilon(100, 2, split=0.3),
            "`split` is only for `scheme='split'`; got split=0.3 with scheme='umd'",
        ),
        (
            lambda: epsilon(100, 2, scheme="split", split=1.0),
            "`split` must lie strictly between 0 and 1",
        ),
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
        InputError,
        match=r"available for up to 1,000,000 rows per bin; got .*'hoeffding' takes any number",
    ):
        epsilon(10**9, 10, bound="exact")
    with pytest.raises(
        InputError,
        match=r"`epsilon` is too small for `bound='exact'`.*'hoeffding' takes any epsilon",
    ):
        sample_size(10, 1e-4, bound="exact")
    assert epsilon(10**9, 10) > 0


def cuts(n, B):
    """Ranks at which histogram binning cuts n untied scores into B bins; 0 and n + 1 are the ends."""
    return [math.ceil(b * (n + 1) / B) for b in range(B + 1)]


def labels_inside(n, B):
    return [high - low - 1 for low, high in itertools.pairwise(cuts(n, B))]


SIZES = [(2, 1), (3, 1), (7, 3), (11, 4), (20, 10), (29, 10), (100, 7), (1003, 4)]


@pytest.mark.parametrize("alpha", [0.01, 0.3])
@pytest.mark.parametrize(("n", "B"), SIZES)
def test_hoeffdings_bounds_are_the_published_formulas(n, B, alpha):
    m = n // B - 1
    for kind, tails in (("conditional", 2 * B), ("marginal", 2)):
        e = math.sqrt(math.log(tails / alpha) / (2 * m))
        for scheme, more in (("umd", 0), ("original", 1 / (m + 1)), ("randomized", 1e-9)):
            assert epsilon(n, B, alpha=alpha, kind=kind, scheme=scheme) == pytest.approx(
                e + more, rel=1e-13
            )


@pytest.mark.parametrize(("n", "B"), SIZES)
def test_the_expected_error_is_the_sum_over_bins(n, B):
    """A bin is hit with probability (N + 1) / (n + 1), and its mean of N labels has a variance of at most 1 / 4N.

    'original' averages the label of the boundary, too, except in the last bin; that label may be off by 1.
    """
    inside = labels_inside(n, B)
    mass = [(N + 1) / (n + 1) for N in inside]
    plain = math.sqrt(sum(m / (4 * N) for m, N in zip(mass, inside, strict=True)))
    ends = [(N / 4 + 1) / (N + 1) ** 2 for N in inside[:-1]] + [1 / (4 * inside[-1])]
    assert epsilon(n, B, kind="expected-ece") == pytest.approx(plain, rel=1e-13)
    assert epsilon(n, B, kind="expected-ece", scheme="randomized") == pytest.approx(
        plain + 1e-9, rel=1e-13
    )
    with_ends = math.sqrt(sum(m * e for m, e in zip(mass, ends, strict=True)))
    assert epsilon(n, B, kind="expected-ece", scheme="original") == pytest.approx(
        with_ends, rel=1e-13
    )


@pytest.mark.parametrize(
    ("n", "B", "split"), [(2, 1, 0.5), (9, 4, 0.5), (50, 7, 0.2), (51, 3, 0.7), (400, 10, 0.99)]
)
def test_the_expected_error_of_random_bin_sizes_is_the_worst_over_their_masses(n, B, split):
    """Given its mass, a bin of N labels has the squared error 1 / 4N, or 1 if N = 0; E[1/N] ≤ 2 / ((n + 1) mass)."""
    mass = np.linspace(0, 1, 200_001)
    for scheme, rows in (("fixed-width", n), ("split", n - min(int(n * split), n - 1))):
        empty = (mass * (1 - mass) ** rows).max()
        worst = math.sqrt(B * (1 / (2 * (rows + 1)) + empty))
        options = {"split": split} if scheme == "split" else {}
        assert epsilon(n, B, kind="expected-ece", scheme=scheme, **options) == pytest.approx(
            worst, rel=1e-7
        )


def exact_deviation(N, alpha):
    """What two bins of N labels have; one label misses a rate of 1/2 by 1/2, and others by more, but less often."""
    return (
        max(1 - alpha, 0.5)
        if N == 1
        else epsilon(2 * N + 1, 2, alpha=alpha, kind="marginal", bound="exact")
    )


@pytest.mark.parametrize("alpha", [0.05, 0.6])
@pytest.mark.parametrize("N", [1, 2, 3, 8])
def test_the_exact_deviation_fails_as_often_as_alpha_at_the_worst_rate(N, alpha):
    p, count = np.linspace(0, 1, 10_001), np.arange(N + 1)[:, None]
    away, chance = np.abs(count / N - p), binom.pmf(count, N, p)
    e = exact_deviation(N, alpha)
    assert (chance * (away > e + 1e-9)).sum(axis=0).max() <= alpha + 1e-12
    assert (chance * (away > e - 1e-3)).sum(axis=0).max() > alpha


@pytest.mark.parametrize("alpha", [0.05, 0.4])
@pytest.mark.parametrize(("n", "B"), SIZES)
def test_the_exact_bound_is_that_of_the_worst_of_the_bin_sizes(n, B, alpha):
    """The label at a boundary, which 'original' averages with the others, may be off by 1."""
    sizes = set(labels_inside(n, B))
    for kind, level in (("conditional", 1 - (1 - alpha) ** (1 / B)), ("marginal", alpha)):
        errors = {N: exact_deviation(N, level) for N in sizes}
        expected = {
            "umd": max(errors.values()),
            "randomized": max(errors.values()) + 1e-9,
            "original": max((N * e + (B > 1)) / (N + (B > 1)) for N, e in errors.items()),
        }
        for scheme, e in expected.items():
            found = epsilon(n, B, alpha=alpha, kind=kind, scheme=scheme, bound="exact")
            assert found == pytest.approx(e, rel=1e-9), (kind, scheme)


@pytest.mark.parametrize(
    ("n", "B", "split"), [(20, 1, 0.5), (40, 3, 0.5), (41, 4, 0.3), (60, 4, 0.7)]
)
def test_the_bound_of_a_split_fails_with_probability_alpha_over_random_bins(n, B, split):
    """The rows that place bins cut [0, 1] into spacings; a bin of s of c spacings has a Beta(s, c − s) mass."""
    placing = int(n * split)
    counting, spacings = n - placing, placing + 1
    spans = [high - low for low, high in itertools.pairwise(cuts(placing, B))]
    nodes, weights = np.polynomial.legendre.leggauss(60)
    mass, weights = (nodes + 1) / 2, weights / 2
    N = np.arange(counting + 1)[:, None]

    def fails(span, e, by_mass):
        hoeffding = np.minimum(1, 2 * np.exp(-2 * N * e**2))
        if span == spacings:
            return hoeffding[-1, 0]
        given_mass = (binom.pmf(N, counting, mass) * hoeffding).sum(axis=0)
        return (
            weights * beta.pdf(mass, span, spacings - span) * given_mass * (mass if by_mass else 1)
        ).sum()

    for kind in ("conditional", "marginal"):
        alpha = 0.7
        e = epsilon(n, B, scheme="split", split=split, kind=kind, alpha=alpha)
        assert e < 1
        assert sum(fails(span, e, kind == "marginal") for span in spans) == pytest.approx(
            alpha, rel=1e-9
        )


def test_a_split_that_leaves_a_bin_empty_too_often_promises_nothing():
    assert epsilon(8, 4, scheme="split") == 1
    assert epsilon(40, 10, scheme="split", split=0.1) == 1  # 4 rows cannot place 10 bins
    assert (
        epsilon(2, 1, scheme="split", split=0.999) == 1
    )  # at least one row is averaged: 2 exp(−2) > 0.1
    assert epsilon(2, 1, scheme="split", split=0.999, alpha=0.5) == pytest.approx(
        math.sqrt(math.log(4) / 2)
    )


@pytest.mark.parametrize("kind", ["conditional", *slow("marginal", "expected-ece")])
@pytest.mark.parametrize(
    ("split", "B", "e"), [(0.5, 3, 0.6), (0.3, 2, 0.4), (0.8, 3, 0.55), (0.85, 1, 0.7)]
)
def test_sample_size_of_a_split_is_the_first_from_which_all_suffice(kind, split, B, e):
    plan = {"scheme": "split", "kind": kind, "split": split, "alpha": 0.3}
    n = sample_size(B, e, **plan)
    kept = [epsilon(m, B, **plan) <= e for m in range(2 * B, n + 40)]
    assert all(kept[n - 2 * B :])
    assert n == 2 * B or not kept[n - 2 * B - 1]


@pytest.mark.parametrize("alpha", [0.1, 0.9])
@cases
def test_max_bins_is_the_largest_that_suffices(scheme, kind, bound, alpha):
    plan = {"scheme": scheme, "kind": kind, "bound": bound, "alpha": alpha}
    for n in (1, 2, 3, 4, 5, 8, 21, 33):
        errors = [epsilon(n, B, **plan) for B in range(1, n // 2 + 1)]
        for e in (0.2, 0.4, 0.6, 0.8, 0.99):
            assert max_bins(n, e, **plan) == max(
                (B for B, this in enumerate(errors, 1) if this <= e), default=0
            )


@pytest.mark.parametrize("alpha", [0.02, 0.5])
@pytest.mark.parametrize(
    ("kind", "scheme"), [("marginal", "umd"), ("marginal", "original"), ("conditional", "umd")]
)
def test_max_bins_of_the_exact_bound_finds_the_largest_of_many(kind, scheme, alpha):
    plan = {"scheme": scheme, "kind": kind, "bound": "exact", "alpha": alpha}
    errors = [epsilon(150, B, **plan) for B in range(1, 76)]
    for e in (0.04, 0.07, 0.1, 0.13, 0.16, 0.25, 0.35, 0.45, 0.55):
        assert max_bins(150, e, **plan) == max(
            (B for B, this in enumerate(errors, 1) if this <= e), default=0
        )


def test_the_paper_s_bins_lie_on_lines_of_logarithms():
    """Halfway between 1,000 and 5,000 rows, √(5 · 10) bins; between 5,000 and 20,000, √(10 · 22); else ∝ √n."""
    assert usual_bins(round(math.sqrt(1_000 * 5_000))) == 7
    assert usual_bins(10_000) == 15
    assert (usual_bins(999), usual_bins(360), usual_bins(160), usual_bins(40), usual_bins(9)) == (
        5,
        3,
        2,
        1,
        1,
    )
    assert (usual_bins(1), usual_bins(2), usual_bins(20_001), usual_bins(80_000)) == (1, 1, 22, 44)
    assert (usual_bins(489), usual_bins(490), usual_bins(20_919), usual_bins(20_920)) == (
        3,
        4,
        22,
        23,
    )  # 3.5 and 22.5
    power = math.log(22 / 10) / math.log(20_000 / 5_000)
    assert all(usual_bins(n) == round(10 * (n / 5_000) ** power) for n in range(5_300, 5_600, 20))


def test_a_bin_has_two_rows_however_little_is_demanded():
    for scheme, bound in (("umd", "hoeffding"), ("umd", "exact"), ("split", "hoeffding")):
        for kind in ("marginal", "expected-ece"):
            plan = {"scheme": scheme, "bound": bound, "kind": kind, "alpha": 0.97}
            assert [sample_size(B, 0.999, **plan) for B in (2, 3)] == [4, 6]


def test_the_most_rows_are_those_that_floats_can_count():
    most = 2**53
    assert epsilon(most, 1) == pytest.approx(math.sqrt(math.log(20) / (2 * most)))
    assert max_bins(most, 0.5) > 1
    assert sample_size(most // 2**20, 0.5) > most // 2**20
    for call in (lambda: epsilon(most + 1, 1), lambda: max_bins(most + 1, 0.5)):
        with pytest.raises(InputError, match="`n` must be at most 9,007,199,254,740,992"):
            call()
    for call in (lambda: epsilon(100, most + 1), lambda: sample_size(most + 1, 0.5)):
        with pytest.raises(InputError, match="`n_bins` must be at most 9,007,199,254,740,992"):
            call()


def test_a_long_exact_search_is_refused_with_hoeffdings_rows():
    """√(log(2 / level) / 2m) = ε, solved for the rows m of a bin."""
    for kind, level in (("conditional", 1 - 0.8 ** (1 / 5)), ("marginal", 0.2)):
        rows = math.log(2 / level) / (2 * 0.003**2)
        with pytest.raises(
            InputError, match=f"up to 100,000 rows per bin; 0.003 needs about {rows:,.0f}"
        ):
            sample_size(5, 0.003, kind=kind, alpha=0.2, bound="exact")


def test_no_bins_are_found_for_errors_that_no_number_of_labels_achieves():
    assert (
        max_bins(1_500_000, 5e-4, bound="exact") == 0
    )  # more labels than have an exact bound, but certainly too few
    with pytest.raises(InputError, match="available for up to 1,000,000 rows per bin"):
        max_bins(10**9, 5e-4, bound="exact")
    with pytest.raises(InputError, match="`epsilon` must exceed δ = 1e-09"):
        sample_size(2, 1e-9, scheme="randomized")


def test_two_rows_are_enough_for_one_bin_of_a_large_error():
    assert sample_size(1, 0.9, scheme="split", alpha=0.5) == 2
