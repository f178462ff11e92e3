"""Every measure against its definition, written out row by row in `oracle`."""

import math

import numpy as np
import oracle
import pytest
from grids import slow
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import arrays, matrices, rows, weighted_rows

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

GROUPINGS = {
    "10 bins": (10, lambda y, p, w: oracle.equal_width_groups(p, 10)),
    "7 bins": (7, lambda y, p, w: oracle.equal_width_groups(p, 7)),
    "edges": (
        tn.Edges([0, 0.1, 0.35, 1]),
        lambda y, p, w: oracle.edge_groups(p, [0, 0.1, 0.35, 1]),
    ),
    "equal mass 3": (tn.EqualMass(3), lambda y, p, w: oracle.equal_mass_groups(y, p, w, 3)),
    "equal mass 10": (tn.EqualMass(10), lambda y, p, w: oracle.equal_mass_groups(y, p, w, 10)),
    "distinct": (tn.Distinct(), lambda y, p, w: oracle.tie_groups(p, w)),
    "isotonic": (tn.Isotonic(), oracle.isotonic_groups),
    "block isotonic 2 5": (
        tn.BlockIsotonic(2, 5),
        lambda y, p, w: oracle.fused_groups(y, p, 2, 5, w),
    ),
    "blocks apart": (
        tn.BlockIsotonic(2, 5, fuse=False),
        lambda y, p, w: oracle.block_groups(y, p, 2, 5, w),
    ),
}
grouping = pytest.mark.parametrize(("rule", "groups"), GROUPINGS.values(), ids=GROUPINGS)
fractions = st.integers(0, 12).map(lambda i: i / 4)


def lists(*columns):
    return [np.asarray(c).tolist() for c in columns]


def enough_rows(rule, w, size):
    if isinstance(rule, tn.BlockIsotonic):
        assume((size if w is None else sum(w)) > 2)


@grouping
@pytest.mark.parametrize("norm", ["l1", *slow("l2", 2.5, "max")])
@given(pairs=rows)
def test_ece(rule, groups, norm, pairs):
    y, p = arrays(pairs)
    enough_rows(rule, None, y.size)
    ly, lp = lists(y, p)
    expected = oracle.ece(ly, lp, groups(ly, lp, None), norm)
    assert tn.ece(y, p, bins=rule, norm=norm) == pytest.approx(expected, abs=2e-15)


@grouping
@given(data=st.one_of(weighted_rows(), weighted_rows(fractions)))
def test_weighted_ece(rule, groups, data):
    y, p, w = data
    if isinstance(rule, tn.BlockIsotonic):
        assume((w == np.floor(w)).all())
    enough_rows(rule, w, y.size)
    ly, lp, lw = lists(y, p, w)
    expected = oracle.ece(ly, lp, groups(ly, lp, lw), "l2", lw)
    assert tn.ece(y, p, bins=rule, norm="l2", sample_weight=w) == pytest.approx(expected, abs=1e-13)
    assert tn.ece(tn.tally(y, p, sample_weight=w), bins=rule, norm="l2") == pytest.approx(
        expected, abs=1e-13
    )


@grouping
@pytest.mark.parametrize("test", ["binomial", *slow("t")])
@settings(max_examples=8)
@given(data=weighted_rows(), alpha=st.sampled_from([0.01, 0.05, 0.3]))
def test_tce_and_rejection(rule, groups, test, data, alpha):
    y, p, w = data
    enough_rows(rule, w, y.size)
    p = np.where(p < 1e-290, 0, p)  # SciPy's test overflows on such scores
    ly, lp, lw = lists(y, p, w)
    parts = groups(ly, lp, lw)
    expected = oracle.tce(ly, lp, parts, alpha, test, lw)
    assert tn.tce(y, p, bins=rule, alpha=alpha, test=test, sample_weight=w) == pytest.approx(
        expected, abs=1e-10
    )
    expected = oracle.gce(ly, lp, parts, "rejection", "l2", lw, alpha, test)
    found = tn.gce(
        y, p, loss="rejection", norm="l2", bins=rule, alpha=alpha, test=test, sample_weight=w
    )
    assert found == pytest.approx(expected, abs=1e-10)


@grouping
@given(data=weighted_rows(), norm=st.sampled_from(["l1", "l2", "max", 3]))
def test_gce(rule, groups, data, norm):
    y, p, w = data
    enough_rows(rule, w, y.size)
    ly, lp, lw = lists(y, p, w)
    parts = groups(ly, lp, lw)
    expected = oracle.gce(ly, lp, parts, "squared", norm, lw)
    assert tn.gce(y, p, loss="squared", norm=norm, bins=rule, sample_weight=w) == pytest.approx(
        expected, abs=1e-13
    )
    own = tn.gce(y, p, loss=lambda b: abs(b.rate - b.score), norm=norm, bins=rule, sample_weight=w)
    assert own == pytest.approx(oracle.gce(ly, lp, parts, "absolute", norm, lw), abs=1e-13)


@pytest.mark.parametrize(
    ("rule", "groups"), [v for v in GROUPINGS.values() if "Isotonic" not in type(v[0]).__name__]
)
@given(data=weighted_rows())
def test_squared_ece(rule, groups, data):
    y, p, w = data
    ly, lp, lw = lists(y, p, w)
    expected = oracle.squared_ece(ly, lp, groups(ly, lp, lw), lw)
    assert tn.squared_ece(y, p, bins=rule, sample_weight=w) == pytest.approx(expected, abs=1e-13)


@given(data=weighted_rows(fractions))
def test_squared_ece_with_importance_weights(data):
    y, p, w = data
    ly, lp, lw = lists(y, p, w)
    expected = oracle.squared_ece_importance(ly, lp, oracle.equal_width_groups(lp, 4), lw)
    found = tn.squared_ece(y, p, bins=4, sample_weight=w, weight_type="importance")
    assert found == pytest.approx(expected, abs=1e-12)


@given(data=st.one_of(weighted_rows(), weighted_rows(fractions)))
def test_scores_and_their_parts(data):
    y, p, w = data
    ly, lp, lw = lists(y, p, w)
    assert tn.brier(y, p, sample_weight=w) == pytest.approx(oracle.brier(ly, lp, lw), abs=1e-15)
    assert tn.log_loss(y, p, sample_weight=w) == pytest.approx(
        oracle.log_loss(ly, lp, lw), rel=1e-12, abs=1e-15
    )
    for score in ("brier", "log"):
        found = tn.corp(y, p, score=score, sample_weight=w)
        expected = oracle.corp(ly, lp, score, lw)
        parts = (found.miscalibration, found.discrimination, found.uncertainty)
        assert parts == pytest.approx(expected, rel=1e-9, abs=1e-12)
        if math.isfinite(found.score):
            assert found.score == pytest.approx(parts[0] - parts[1] + parts[2], abs=1e-12)


@given(data=st.one_of(weighted_rows(), weighted_rows(fractions)))
def test_observed_over_expected(data):
    y, p, w = data
    ly, lp, lw = lists(y, p, w)
    if p @ w > 1e-9:  # below, the 2⁻⁵³ with which scores enter shows in the ratio
        assert tn.observed_expected(y, p, sample_weight=w) == pytest.approx(
            oracle.observed_expected(ly, lp, lw), rel=1e-6
        )


@settings(max_examples=6)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 20).map(lambda i: i / 20)),
        min_size=1,
        max_size=8,
    )
)
def test_smooth_ece(pairs):
    y, p = arrays(pairs)
    assert tn.smooth_ece(y, p) == pytest.approx(oracle.smooth_ece(*lists(y, p)), abs=1e-6)


@settings(max_examples=8)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 19).map(lambda i: i / 20)),
        min_size=8,
        max_size=40,
    )
)
def test_slope_and_intercept(pairs):
    y, p = arrays(pairs)
    slope, shift = tn.calibration_slope(y, p), tn.calibration_intercept(y, p)
    assume(math.isfinite(slope) and abs(slope) < 20)
    ly, lp = lists(y, p)
    assert slope == pytest.approx(oracle.slope_intercept(ly, lp)[0], abs=1e-5, rel=1e-5)
    assert shift == pytest.approx(oracle.intercept_at_slope_one(ly, lp), abs=1e-5)


@grouping
@given(pairs=rows)
def test_bin_table_and_estimation_error(rule, groups, pairs):
    y, p = arrays(pairs)
    enough_rows(rule, None, y.size)
    ly, lp = lists(y, p)
    parts = [g for g in groups(ly, lp, None) if g]
    for method, name in (
        ("exact", "clopper-pearson"),
        ("wilson", "wilson"),
        ("jeffreys", "jeffreys"),
    ):
        table = tn.bin_table(y, p, bins=rule, interval=method, level=0.9)
        filled = table.n > 0
        assert table.n[filled].tolist() == [len(g) for g in parts]
        assert table.rate[filled] == pytest.approx([np.mean(y[g]) for g in parts])
        assert table.score[filled] == pytest.approx([np.mean(p[g]) for g in parts], abs=1e-15)
        expected = [oracle.rate_interval(int(y[g].sum()), len(g), 0.9, name) for g in parts]
        assert np.column_stack([table.low, table.high])[filled] == pytest.approx(
            np.array(expected), abs=1e-9
        )
    found = tn.measure.estimation_error(y, p, bins=rule)
    assert (found.total, found.average) == pytest.approx(
        oracle.estimation_error(ly, parts), abs=1e-14
    )
    assert found.n_bins == len(parts)


@given(data=matrices())
def test_matrices(data):
    y, P = data
    ly, lP = lists(y, P)

    def ece(labels, scores, w):
        return oracle.ece(labels, scores, oracle.equal_width_groups(scores, 10), "l1", w)

    assert tn.ece(y, P) == pytest.approx(oracle.classwise(lP, ly, ece), abs=1e-14)
    assert tn.ece(y, P, kind="top-label") == pytest.approx(oracle.toplabel(lP, ly, ece), abs=1e-14)
    correct, confidence = oracle.confidence_view(lP, ly)
    assert tn.ece(y, P, kind="confidence") == pytest.approx(
        ece(correct, confidence, None), abs=1e-14
    )
    assert tn.brier(y, P) == pytest.approx(oracle.brier_multiclass(lP, ly), abs=1e-14)
    assert tn.log_loss(y, P) == pytest.approx(oracle.log_loss_multiclass(lP, ly), rel=1e-12)

    def tce(labels, scores, w):
        return oracle.tce(labels, scores, oracle.equal_mass_groups(labels, scores, w, 3))

    assert tn.tce(y, P, bins=tn.EqualMass(3)) == pytest.approx(
        oracle.classwise(lP, ly, tce), abs=1e-10
    )
