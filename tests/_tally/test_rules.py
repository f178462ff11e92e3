"""Bin rules by hand."""

from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness._tally.rules import as_rule, check_class_bins

Y = [0, 1, 0, 1, 1, 0, 1, 1]
P = [0.05, 0.1, 0.1, 0.3, 0.3, 0.3, 0.9, 1.0]


def sizes(bins, y=Y, p=P, **options):
    return tn.bin_table(y, p, bins=bins, **options).n.tolist()


def test_bins_of_equal_width_are_closed_on_the_left_and_the_last_on_both_sides():
    table = tn.bin_table([0, 1, 1], [0.0, 0.5, 1.0], bins=2)
    assert table.n.tolist() == [1, 2]
    assert table.low_edge.tolist() == [0, 0.5]


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_an_edge_is_the_float_that_its_decimal_denotes():
    # 0.29 * 100 is 28.999999999999996, and linspace(0, 1, 101)[29] is not 0.29 everywhere.
    edges = tn.EqualWidth(100).fixed_edges
    assert [float(f"0.{i:02d}") for i in range(100)] == edges[:-1].tolist()
    assert np.flatnonzero(tn.bin_table([0, 1], [0.29, 0.29], bins=100).n).tolist() == [29]


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_equal_mass_puts_a_split_tie_in_the_lower_bin_and_drops_empty_bins():
    assert sizes(tn.EqualMass(2)) == [6, 2]  # the cut after row 4 falls among the three 0.3
    assert sizes(tn.EqualMass(4)) == [3, 3, 2]  # cuts after 2, 4, 6: 0.1 whole, 0.3 whole
    assert sizes(tn.EqualMass(8)) == [1, 2, 3, 1, 1]
    assert sizes(tn.EqualMass(100)) == [1, 2, 3, 1, 1]
    assert sizes(tn.EqualMass(1)) == [8]


def test_distinct_has_a_bin_for_each_score_with_edges_midway():
    table = tn.bin_table(Y, P, bins=tn.Distinct())
    assert table.n.tolist() == [1, 2, 3, 1, 1]
    assert table.low_edge == pytest.approx([0, 0.075, 0.2, 0.6, 0.95])


def test_isotonic_pools_until_rates_rise():
    y, p = [0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    table = tn.bin_table(y, p, bins=tn.Isotonic())
    assert table.n.tolist() == [1, 2, 3, 1]
    assert (np.diff(table.rate) > 0).all()


ERRORS = {
    "variance": lambda k, n: k * (n - k) / n**2,
    "variance of the rate": lambda k, n: (k + 0.5) * (n - k + 0.5) / n**3,
    "largest distance": lambda k, n: np.where((k == 0) | (k == n), 0, np.maximum(k, n - k) / n),
    "few rows": lambda k, n: (n < 3) + k * (n - k) / n**2,
    "convex": lambda k, n: (k / n - 0.4) ** 2,
}


def total_error(error, y, sizes_of_bins):
    """Equation (8) of Matsubara et al. 2023."""
    bins = np.split(np.asarray(y), np.cumsum(sizes_of_bins)[:-1])
    return sum(
        part.size * float(error(np.array([part.sum()]), np.array([part.size]))[0]) for part in bins
    ) / len(y)


def least_error(error, y, groups):
    """The least of (8) over all cuts between groups of ties whose rates do not fall."""
    ends, best = np.cumsum(groups), np.inf
    for count in range(len(groups)):
        for cuts in combinations(ends[:-1], count):
            parts = np.split(np.asarray(y), cuts)
            rates = [Fraction(int(part.sum()), part.size) for part in parts]
            if rates == sorted(rates):
                best = min(best, total_error(error, y, [part.size for part in parts]))
    return best


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("seed", range(3))
def test_isotonic_bins_have_the_least_of_any_error_among_all_cuts(error, seed):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 2, 11), np.sort(rng.integers(0, 9, 11)) / 8
    groups = np.unique(p, return_counts=True)[1]
    table = tn.bin_table(y, p, bins=tn.Isotonic(error=error))
    assert (np.diff(table.rate) >= 0).all()
    assert total_error(error, y, table.n) == pytest.approx(least_error(error, y, groups), abs=1e-12)
    w = rng.integers(1, 4, 11)
    heavy = tn.bin_table(y, p, bins=tn.Isotonic(error=error), sample_weight=w)
    again = tn.bin_table(np.repeat(y, w), np.repeat(p, w), bins=tn.Isotonic(error=error))
    assert heavy.weight.tolist() == again.n.tolist()


def test_another_concave_error_has_the_isotonic_bins_and_a_rule_names_its_error():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    rule = tn.Isotonic(error=lambda k, n: np.sqrt(k * (n - k)) / n)
    assert sizes(rule, y, p) == sizes(tn.Isotonic(), y, p)
    assert repr(tn.Isotonic()) == "Isotonic()"
    assert repr(rule).startswith("Isotonic(error=<function")
    assert rule != tn.Isotonic()
    with pytest.raises(tn.InputError, match="must not depend on the labels"):
        tn.ece_interval(y, p, bins=rule)


def test_isotonic_agrees_with_scipy():
    from scipy.optimize import isotonic_regression

    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    table = tn.bin_table(y, p, bins=tn.Isotonic())
    fitted = isotonic_regression(y[np.argsort(p)]).x
    assert np.repeat(table.rate, table.n) == pytest.approx(fitted, abs=1e-12)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30)), min_size=20, max_size=120),
    n_min=st.integers(1, 9),
    extra=st.integers(0, 20),
)
def test_block_sizes_stay_within_the_limits_up_to_a_group_of_ties(pairs, n_min, extra):
    y, p = map(np.array, zip(*pairs, strict=True))
    n_max = 2 * n_min - 1 + extra
    largest = np.bincount(p).max()
    rule = tn.BlockIsotonic(n_min, n_max, fuse=False)
    found = np.array(sizes(rule, y, p / 30)) if y.min() != y.max() else np.array([n_min])
    assert (found >= min(n_min, y.size)).all()
    assert (found <= n_max + largest + n_min).all()


def test_blocks_without_ties_keep_both_limits():
    rng = np.random.default_rng(1)
    for n in (20, 55, 333, 1_000):
        p = rng.random(n)
        y = (rng.random(n) < p**2).astype(int)
        rule = tn.BlockIsotonic(fuse=False)
        n_min, n_max = rule.limits(n)
        found = np.array(sizes(rule, y, p))
        assert (n_min, n_max) == (max(1, n // 20), max(n // 5, 2 * max(1, n // 20) - 1))
        assert found.min() >= n_min
        assert found.max() <= n_max


def test_limits_that_leave_no_room_for_each_other_are_taken_as_in_the_paper():
    # Algorithm 2 allows every 0 ≤ N_min ≤ N_max ≤ N. Five rows, three at least and four at most: two rows are left
    # before the three kept back, and 2 + 3 is too many for one bin.
    assert sizes(tn.BlockIsotonic(3, 4), [0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5]) == [2, 3]
    assert sizes(tn.BlockIsotonic(3, 5), [0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5]) == [5]
    assert sizes(tn.BlockIsotonic(8, 8)) == [8]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tn.EqualWidth(2.0), "whole number"),
        (lambda: tn.EqualMass(True), "whole number ≥ 1; got True"),
        (lambda: tn.Edges([0.5]), "at least 2 numbers"),
        (lambda: tn.Edges([0, 0.5, 0.5, 1]), "increase strictly"),
        (lambda: tn.Edges([-0.1, 1]), "inside \\[0, 1\\]"),
        (lambda: tn.Edges([0, float("nan"), 1]), "increase strictly"),
        (lambda: tn.Edges(["a", "b"]), "must be numbers"),
        (lambda: tn.BlockIsotonic(-1, 5), "`n_min` must be a whole number ≥ 0"),
        (lambda: tn.BlockIsotonic(ties="first"), "'pool', 'split' or 'printed'"),
        (lambda: tn.BlockIsotonic(fuse=1), "`fuse` must be True or False"),
        (
            lambda: tn.Isotonic("variance"),
            "`error` must be a function of the events and rows of bins; got 'variance'",
        ),
        (
            lambda: sizes(tn.Isotonic(lambda k, n: 1.0)),
            "must return a finite number for each bin; it returned 1.0 for",
        ),
        (
            lambda: sizes(tn.Isotonic(lambda k, n: k * np.nan)),
            "must return a finite number for each bin",
        ),
        (
            lambda: sizes(
                tn.Isotonic(lambda k, n: k), np.arange(2001) % 2, np.linspace(0, 1, 2001)
            ),
            "`error` is for at most 2,000 distinct scores, .*; got 2,001. Round the scores",
        ),
        (lambda: sizes(tn.BlockIsotonic(5, 4)), "`n_max` must be at least `n_min` \\(5\\); got 4"),
        (lambda: sizes(tn.BlockIsotonic(9, 20)), "at most the number of rows \\(8\\); got 9"),
        (lambda: sizes(tn.BlockIsotonic(), sample_weight=[0.5] * 8), "must be whole numbers"),
        (
            lambda: sizes([0.1, 1.0]),
            "must cover every score; its edges run from 0.1 to 1 and a score is 0.05",
        ),
        (lambda: tn.ece(tn.tally(Y, P), bins=tn.Edges([0.1, 1])), "must cover every score"),
        (
            lambda: tn.tce(tn.tally(Y, P), bins=tn.BlockIsotonic(ties="printed")),
            "need the rows in order",
        ),
        (
            lambda: sizes(tn.BlockIsotonic(ties="printed"), sample_weight=[1] * 8),
            "`sample_weight` cannot be combined with",
        ),
        (lambda: tn.binned(Y, P, bins=10) + tn.binned(Y, P, bins=5), "edges agree"),
        (lambda: tn.ece(tn.tally([], [])), "An empty Tally has no calibration error"),
        (lambda: tn.ece(tn.tally(Y, P), P), "`y_prob` must be left out"),
        (lambda: tn.tce(tn.binned(Y, P)), "needs every distinct score"),
    ],
)
def test_what_a_rule_refuses(make, message):
    with pytest.raises(tn.InputError, match=message):
        make()


def test_rules_are_equal_if_they_are_of_one_kind_with_the_same_numbers():
    assert tn.EqualWidth(3) == tn.EqualWidth(3)
    assert tn.EqualWidth(3) != tn.EqualWidth(4)
    assert tn.EqualWidth(3) != tn.EqualMass(3)
    assert hash(tn.EqualMass(3)) == hash(tn.EqualMass(3))


@given(n=st.integers(1, 40), n_rows=st.integers(0, 60))
def test_equal_mass_cuts_after_rows_that_differ_and_leave_rows_on_both_sides(n, n_rows):
    wanted = {j * n_rows // n for j in range(1, n)} - {0, n_rows}
    assert tn.EqualMass(n).ranks(n_rows).tolist() == sorted(wanted)


@given(st.integers(1, 60), st.lists(st.integers(1, 2**45), min_size=1, max_size=30))
def test_cuts_of_equal_mass_are_those_of_whole_numbers_without_limit(n, weights):
    reached = np.cumsum(weights)
    units = {j * int(reached[-1]) // n for j in range(1, n)} - {0}
    first = {sum(int(r) < unit for r in reached) + 1 for unit in units}
    assert tn.EqualMass(n).first_cells(reached).tolist() == sorted(
        {0, *(i for i in first if i < reached.size)}
    )


@pytest.mark.parametrize(
    ("accepted", "refused", "message"),
    [
        (lambda: tn.EqualWidth(1), lambda: tn.EqualWidth(0), "`bins` must be a whole number ≥ 1"),
        (
            lambda: tn.EqualWidth(2**20),
            lambda: tn.EqualWidth(2**20 + 1),
            "at most 1,048,576; got 1,048,577",
        ),
        (lambda: tn.EqualMass(1), lambda: tn.EqualMass(0), "`n` must be a whole number ≥ 1"),
        (
            lambda: tn.EqualMass(2**24),
            lambda: tn.EqualMass(2**24 + 1),
            "at most 16,777,216; got 16,777,217",
        ),
        (
            lambda: tn.measure.MassAndWidth(1, 1),
            lambda: tn.measure.MassAndWidth(0, 1),
            "`mass` must be a whole number ≥ 1",
        ),
        (
            lambda: tn.measure.MassAndWidth(2, 1),
            lambda: tn.measure.MassAndWidth(2, 0),
            "`width` must be a whole number ≥ 1",
        ),
        (
            lambda: tn.measure.MassAndWidth(2**24, 1),
            lambda: tn.measure.MassAndWidth(2**24 + 1, 1),
            "`mass` must be at most 16,777,216",
        ),
        (
            lambda: tn.measure.MassAndWidth(1, 2**20),
            lambda: tn.measure.MassAndWidth(1, 2**20 + 1),
            "`width` must be at most 1,048,576",
        ),
        (
            lambda: tn.BlockIsotonic(0, 1),
            lambda: tn.BlockIsotonic(0, 0),
            "`n_max` must be a whole number ≥ 1",
        ),
        (
            lambda: tn.Edges([0, 1]),
            lambda: tn.Edges([[0, 1]]),
            r"at least 2 numbers; got shape \(1, 2\)",
        ),
        (lambda: tn.Edges([0, 1]), lambda: tn.Edges([0, 1 + 1e-9]), "increase strictly inside"),
        (lambda: tn.Edges([0.2, 0.8]), lambda: tn.Edges([0.8, 0.2]), "increase strictly inside"),
        (lambda: tn.Edges([False, True]), lambda: tn.Edges([0, 1j]), "as edges must be numbers"),
        *(
            (
                lambda: as_rule(np.int8(3)),
                partial(as_rule, bad),
                "a sequence of edges or a bin rule",
            )
            for bad in (3.0, None, {0, 1}.__iter__(), True, "10")
        ),
        (
            lambda: check_class_bins(2**20, 8),
            lambda: check_class_bins(2**20, 9),
            "at most 932,067 with 9 classes, 8,388,608",
        ),
        (
            lambda: check_class_bins(2**22, 2),
            lambda: check_class_bins(2**22 + 1, 2),
            "at most 4,194,304 with 2 classes",
        ),
        (lambda: check_class_bins(2**24, 1), lambda: check_class_bins(2**24, 2), "got 16,777,216"),
    ],
)
def test_the_limit_of_a_rule_is_accepted_and_one_more_refused(accepted, refused, message):
    accepted()
    with pytest.raises(tn.InputError, match=message):
        refused()


def test_edges_are_equal_if_their_numbers_are():
    assert tn.Edges([0, 0.5, 1]) == tn.Edges((0.0, 0.5, 1.0))
    assert tn.Edges([0, 0.5, 1]) != tn.Edges([0, 0.6, 1])
    assert tn.Edges([0, 0.5, 1]) != tn.Edges([0, 1])
    assert tn.Edges([0, 0.5, 1]) != tn.EqualWidth(2)
    assert hash(tn.Edges([-0.0, 1])) == hash(tn.Edges([0.0, 1]))
    assert str(tn.Edges([-0.0, 1]).edges[0]) == "0.0"


def test_a_rule_knows_how_many_bins_were_asked_for():
    rules = [
        tn.EqualWidth(3),
        tn.EqualMass(4),
        tn.Edges([0, 0.2, 0.5, 1]),
        tn.Distinct(),
        tn.Isotonic(),
    ]
    assert [rule.n_requested for rule in rules] == [3, 4, 3, 0, 0]
    with pytest.warns(tn.errors.FewRowsWarning, match=r"fewer rows \(2\) than bins \(3\)"):
        tn.ece([0, 1], [0.1, 0.9], bins=[0, 0.2, 0.5, 1])
    tn.ece([0, 1, 1], [0.1, 0.9, 0.9], bins=[0, 0.2, 0.5, 1])


@pytest.mark.parametrize("sums", [tn.tally, lambda y, p: (y, p)])
@pytest.mark.parametrize(
    ("p", "bad"), [([0.1, 0.95], 0.95), ([0.9, 0.05], 0.05), ([0.05, 0.06, 0.5], 0.05)]
)
def test_a_score_in_no_bin_is_named(sums, p, bad):
    found = sums(np.arange(len(p)) % 2, p)
    rows = found if isinstance(found, tuple) else (found,)
    with pytest.raises(tn.InputError, match=f"its edges run from 0.1 to 0.9 and a score is {bad}"):
        tn.ece(*rows, bins=[0.1, 0.5, 0.9])
    inside = sums([0, 1, 1], [0.1, 0.5, 0.9])
    assert tn.bin_table(
        *(inside if isinstance(inside, tuple) else (inside,)), bins=[0.1, 0.5, 0.9]
    ).n.tolist() == [
        1,
        2,
    ]


def test_equal_mass_of_real_weights_cuts_by_weight_even_if_they_sum_to_the_number_of_rows():
    p, w = [0.1, 0.2, 0.3, 0.4], np.array([0.5, 0.5, 0.5, 2.5])
    assert sizes(tn.EqualMass(2), [0, 1, 0, 1], p, sample_weight=w) == [
        4
    ]  # half of the weight is inside the last row
    assert sizes(tn.EqualMass(2), [0, 1, 0, 1], p, sample_weight=w[::-1]) == [1, 3]
    assert sizes(tn.EqualMass(4), [0, 1, 0, 1], p, sample_weight=w) == [
        2,
        2,
    ]  # at 1, 2 and 3 of 4: after rows 2 and 4


def mass_bins(p, w, n):
    """The bin of each row: how many cuts lie before its score; cut j lies after the row that contains unit jW/n."""
    order = np.argsort(p, kind="stable")
    reached = np.cumsum(w[order])
    cuts = [
        p[order][np.flatnonzero(reached >= unit)[0]]
        for unit in (j * reached[-1] // n for j in range(1, n))
        if unit > 0
    ]
    return (p[:, None] > np.array(cuts)).sum(axis=1) if cuts else np.zeros(p.size, int)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("mass", "width"), [(1, 1), (1, 4), (3, 1), (3, 4), (5, 9)])
def test_mass_and_width_cut_wherever_either_does(mass, width, weighted):
    rng = np.random.default_rng(mass * width)
    for top in (1.0, 0.6):
        p = (rng.beta(0.6, 2, 80) * top).round(2)
        w = rng.integers(1, 5, 80) if weighted else np.ones(80, int)
        by_width = np.searchsorted(np.arange(1, width) / width, p, side="right")
        pairs = sorted(zip(by_width, mass_bins(p, w, mass), strict=True))
        expected = [pairs.count(pair) for pair in sorted(set(pairs))]
        assert (
            sizes(tn.measure.MassAndWidth(mass, width), rng.integers(0, 2, 80), p, sample_weight=w)
            == expected
        )


@pytest.mark.parametrize(
    ("n_min", "n_max", "rows", "limits"),
    [
        (None, None, 100, (5, 20)),
        (None, None, 39, (1, 7)),
        (None, None, 40, (2, 8)),
        (None, None, 1, (1, 1)),
        (None, None, 19, (1, 3)),
        (3, None, 10, (3, 5)),  # 2 · 3 − 1
        (3, None, 25, (3, 5)),
        (3, None, 30, (3, 6)),  # ⌊30/5⌋
        (0, None, 4, (0, 1)),
        (0, None, 14, (0, 2)),
        (None, 5, 100, (5, 5)),
        (7, 9, 7, (7, 9)),
    ],
)
def test_block_limits_by_the_number_of_rows(n_min, n_max, rows, limits):
    assert tn.BlockIsotonic(n_min, n_max).limits(rows) == limits


@pytest.mark.parametrize("seed", range(4))
def test_fused_blocks_are_neighbours_of_equal_rate(seed):
    rng = np.random.default_rng(seed)
    p, y = np.sort(rng.random(60)), np.tile([0, 1], 30)
    y[40:] = rng.integers(0, 2, 20)
    plain, fused = [], []
    for n in sizes(tn.BlockIsotonic(2, 6, fuse=False), y, p):
        begin = sum(count for count, _ in plain)
        plain.append((n, int(y[begin : begin + n].sum())))
    for n, events in plain:
        if fused and Fraction(fused[-1][1], fused[-1][0]) == Fraction(events, n):
            fused[-1] = fused[-1][0] + n, fused[-1][1] + events
        else:
            fused.append((n, events))
    assert sizes(tn.BlockIsotonic(2, 6), y, p) == [n for n, _ in fused]
    assert len(fused) < len(plain)
