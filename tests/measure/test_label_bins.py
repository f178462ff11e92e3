"""Limits of measures of a sketch in bins that look at the labels hold the measure of the rows."""

import numpy as np
import pytest
from crowded_cells import ORDERS, block_rules, crowds, rows_of_cell
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness as tn
from trueness.measure import _block_chains, _label_bins

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

MEASURES = {
    "ece": (tn.ece, {}),
    "ece, l2": (tn.ece, {"norm": "l2"}),
    "ece, power": (tn.ece, {"norm": 3}),
    "mce": (tn.mce, {}),
    "gce, squared": (tn.gce, {"loss": "squared"}),
    "gce, squared, max": (tn.gce, {"loss": "squared", "norm": "max"}),
}
TESTED = {
    "tce": (tn.tce, {}),
    "tce, 0.3": (tn.tce, {"alpha": 0.3}),
    "tce, 0.7": (tn.tce, {"alpha": 0.7}),
    "gce, rejection": (tn.gce, {"loss": "rejection", "alpha": 0.2}),
    "gce, rejection, l2": (tn.gce, {"loss": "rejection", "alpha": 0.2, "norm": "l2"}),
    "gce, rejection, max": (tn.gce, {"loss": "rejection", "alpha": 0.2, "norm": "max"}),
}


def inside(measure, y, p, **options):
    found, exact = tn.bounded(measure, tn.sketch(y, p), **options), measure(y, p, **options)
    assert found.low <= exact <= found.high
    assert abs(found.value - exact) <= found.error * (1 + 1e-9)
    return found


@pytest.mark.parametrize("case", MEASURES)
@settings(max_examples=25)
@given(data=st.data(), rows=crowds(), fuse=st.booleans())
def test_the_error_of_the_rows_lies_within_the_limits(case, data, rows, fuse):
    measure, options = MEASURES[case]
    rule = data.draw(block_rules(rows[0].size))
    inside(measure, *rows, bins=tn.BlockIsotonic(rule.n_min, rule.n_max, fuse=fuse), **options)
    inside(measure, *rows, bins=tn.Isotonic(), **options)


@pytest.mark.parametrize("case", TESTED)
@settings(max_examples=10)
@given(data=st.data(), rows=crowds(), fuse=st.booleans())
def test_so_does_the_percentage_that_a_test_refutes(case, data, rows, fuse):
    measure, options = TESTED[case]
    rule = data.draw(block_rules(rows[0].size))
    inside(measure, *rows, bins=tn.BlockIsotonic(rule.n_min, rule.n_max, fuse=fuse), **options)
    inside(measure, *rows, bins=tn.Isotonic(), **options)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [8, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("bins", [tn.BlockIsotonic(), tn.Isotonic(), tn.BlockIsotonic(fuse=True)])
def test_an_order_that_all_cells_share_stays_within_the_limits(order, n, bins):
    """Events that come last in every cell are as unlike a tie as can be."""
    rng = np.random.default_rng(n)
    pieces = [rows_of_cell(c, n, rng.binomial(n, (c - 3300) / 1000), order, c) for c in range(3320, 4300, 25)]
    y, p = (np.concatenate(column) for column in zip(*pieces, strict=True))
    for measure, options in ((tn.ece, {}), (tn.ece, {"norm": "l2"}), (tn.mce, {}), (tn.tce, {})):
        inside(measure, y, p, bins=bins, **options)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**20))
def test_every_arrangement_of_one_sketch_lies_within_its_limits(seed):
    """0, 3, 5, 6 and 1, 2, 4, 7 have the same number, sum and sum of squares: which are events a sketch cannot tell."""
    rng = np.random.default_rng(seed)
    place = np.arange(8)
    first = np.isin(place, [0, 3, 5, 6])
    cells = np.sort(rng.choice(np.arange(8, 24), 7, replace=False))
    times = rng.integers(1, 5, cells.size)
    p = np.concatenate([np.repeat(c / 32 + (1 + place) * 2.0**-14, t) for c, t in zip(cells, times, strict=True)])

    def arrangement():
        return np.concatenate([np.repeat(first ^ (rng.random() < 0.5), t) for t in times]).astype(int)

    sketch, bins = tn.sketch(arrangement(), p), tn.BlockIsotonic(9, 25)
    limits = {measure: tn.bounded(measure, sketch, bins=bins) for measure in (tn.ece, tn.mce, tn.tce)}
    for _ in range(20):
        y = arrangement()
        assert tn.sketch(y, p) == sketch
        for measure, found in limits.items():
            assert found.low <= measure(y, p, bins=bins) <= found.high


@settings(max_examples=8)
@given(rows=crowds(), seed=st.integers(0, 99))
def test_whole_weights_are_repetition(rows, seed):
    y, p = rows
    w = np.random.default_rng(seed).integers(1, 6, y.size)
    for bins in (tn.BlockIsotonic(), tn.Isotonic()):
        for measure in (tn.ece, tn.mce, tn.tce):
            found = tn.bounded(measure, tn.sketch(y, p, sample_weight=w), bins=bins)
            assert found.low <= measure(np.repeat(y, w), np.repeat(p, w), bins=bins) <= found.high


@settings(max_examples=30)
@given(rows=crowds(), seed=st.integers(0, 99))
def test_isotonic_bins_have_limits_with_any_weights(rows, seed):
    y, p = rows
    w = 10.0 ** np.random.default_rng(seed).uniform(-12, 2, y.size)
    for measure in (tn.ece, tn.mce):
        found = tn.bounded(measure, tn.sketch(y, p, sample_weight=w), bins=tn.Isotonic())
        assert found.low <= measure(y, p, sample_weight=w, bins=tn.Isotonic()) <= found.high


def spread(n, power, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**power).astype(int), p


@pytest.mark.parametrize(
    ("measure", "bins", "power", "most"),
    [
        (tn.ece, tn.BlockIsotonic(), 1.5, 1e-9),  # all gaps have one sign, so that no chain of blocks matters
        (tn.ece, tn.BlockIsotonic(), 1.0, 0.02),
        (tn.ece, tn.Isotonic(), 1.5, 0.02),
        (tn.ece, tn.Isotonic(), 1.0, 0.02),
        (tn.mce, tn.BlockIsotonic(), 1.0, 0.06),
        (tn.tce, tn.BlockIsotonic(), 1.5, 5),
        (tn.tce, tn.BlockIsotonic(), 1.0, 45),
        (tn.tce, tn.Isotonic(), 1.0, 60),
    ],
)
def test_limits_are_of_use_for_spread_scores(measure, bins, power, most):
    """Where a sketch does not know the order of rows that matters, but knows enough of it."""
    assert inside(measure, *spread(10_000, power), bins=bins).error <= most


def test_blocks_that_cannot_have_equal_rates_do_not_fuse():
    """Two neighbours with more than `n_max` rows would have to share a rate over a fifth of all scores."""
    y, p = spread(10_000, 1.5)
    plain, fused = (inside(tn.tce, y, p, bins=tn.BlockIsotonic(fuse=fuse)) for fuse in (False, True))
    assert (fused.low, fused.high) == pytest.approx((plain.low, plain.high), abs=0.5)


@pytest.mark.parametrize(("norm", "most"), [("l2", 0.006), (4, 0.015)])
def test_other_norms_know_what_neighbouring_bins_share(norm, most):
    """Rows that one block gains its neighbour loses; without that the error would be thrice as large."""
    assert inside(tn.ece, *spread(10_000, 1.5), bins=tn.BlockIsotonic(), norm=norm).error <= most


def test_tce_has_limits_by_default_that_narrow_with_the_number_of_rows():
    found = inside(tn.tce, *spread(300_000, 1.0))
    assert found.high - found.low < 35


def test_more_chains_than_can_be_looked_at_leave_the_widest_limits(monkeypatch):
    y, p = spread(3000, 1.2)
    monkeypatch.setattr(_block_chains, "MOST_ARROWS", 10)
    for bins in (tn.BlockIsotonic(), tn.BlockIsotonic(fuse=True), tn.Isotonic()):
        assert inside(tn.ece, y, p, bins=bins).low == pytest.approx(abs(y.mean() - p.mean()))
        inside(tn.ece, y, p, bins=bins, norm="l2")
        inside(tn.mce, y, p, bins=bins)
        found = inside(tn.tce, y, p, bins=bins)
        assert (found.low, found.high) == pytest.approx((0, 100), abs=1e-9)


def test_more_arrows_than_can_be_tested_leave_the_widest_limits(monkeypatch):
    monkeypatch.setattr(_label_bins, "_MOST_TESTED", 10)
    found = inside(tn.tce, *spread(3000, 1.2))
    assert (found.low, found.high) == pytest.approx((0, 100), abs=1e-9)


def test_t_tests_in_such_bins_have_the_widest_limits():
    found = inside(tn.tce, *spread(3000, 1.2), test="t")
    assert (found.low, found.high) == pytest.approx((0, 100), abs=1e-9)


def test_classes_are_averaged():
    rng = np.random.default_rng(1)
    P = rng.dirichlet([0.5, 1, 2], 600)
    y = np.array([rng.choice(3, p=row) for row in P])
    for kind in ("classwise", "confidence"):
        for measure in (tn.ece, tn.tce):
            found = tn.bounded(measure, tn.sketch(y, P, kind=kind), bins=tn.BlockIsotonic())
            assert found.low <= measure(y, P, kind=kind, bins=tn.BlockIsotonic()) <= found.high
