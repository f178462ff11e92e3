"""Laws that every measure obeys, whatever the data."""

import itertools
import math
import warnings
from functools import partial

import numpy as np
import pytest
from grids import fast
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import arrays, matrices, rows, rows32, weighted_rows

import trueness as tn

RULES = {
    "10 bins": 10,
    "3 bins": 3,
    "edges": tn.Edges([0, 0.3, 0.5, 1]),
    "equal mass": tn.EqualMass(4),
    "distinct": tn.Distinct(),
    "isotonic": tn.Isotonic(),
    "block isotonic": tn.BlockIsotonic(),
}
BINNED = {
    **{f"ece, {name}": partial(tn.ece, bins=rule) for name, rule in RULES.items()},
    **{
        f"tce, {name}": partial(tn.tce, bins=RULES[name])
        for name in ("10 bins", "equal mass", "block isotonic")
    },
    "ece l2": partial(tn.ece, norm="l2"),
    "ece l3.5": partial(tn.ece, norm=3.5),
    "ace": tn.ace,
    "mce": tn.mce,
    "mce, equal mass": partial(tn.mce, bins=tn.EqualMass(5)),
    "tce, t": partial(tn.tce, test="t"),
    "gce squared": partial(tn.gce, loss="squared"),
    "gce rejection": partial(tn.gce, loss="rejection", norm="l2"),
    "gce own": partial(tn.gce, loss=lambda b: b.rate**2 - b.score, bins=tn.EqualMass(3)),
    "squared_ece": partial(tn.squared_ece, bins=5),
    "squared_ece, default bins": tn.squared_ece,
    "squared_ece, equal mass": partial(tn.squared_ece, bins=tn.EqualMass(3)),
}
WHOLE = {
    "auc": tn.auc,
    "brier": tn.brier,
    "scaled_brier": tn.scaled_brier,
    "log_loss": tn.log_loss,
    "smooth_ece": tn.smooth_ece,
    "ici": tn.ici,
    "emax, loess": partial(tn.measure.emax, curve="loess"),
    "observed_expected": tn.observed_expected,
    "calibration_slope": tn.calibration_slope,
    "calibration_intercept": tn.calibration_intercept,
    "corp miscalibration": lambda *a, **k: tn.corp(*a, **k).miscalibration,
    "corp discrimination, log": lambda *a, **k: tn.corp(*a, score="log", **k).discrimination,
    "estimation error": lambda *a, **k: tn.measure.estimation_error(*a, bins=4, **k).average,
}
MEASURES = BINNED | WHOLE
ONE_OF_EACH_SORT = (  # bins, tests, losses of bins, pairs; ranks, rows, kernels, fits, isotonic
    "ece, 10 bins",
    "ece, isotonic",
    "tce, equal mass",
    "gce rejection",
    "squared_ece, default bins",
    "auc",
    "log_loss",
    "smooth_ece",
    "emax, loess",
    "calibration_slope",
    "corp miscalibration",
)
every_measure = pytest.mark.parametrize("measure", fast(MEASURES, *ONE_OF_EACH_SORT))

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def close(a: float, b: float, tolerance: float = 1e-12) -> bool:
    return same(a, b) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def as_exact(measure: object, a: float, b: float) -> bool:
    """The same bits, except for sums of logarithms, powers of e and kernels, which are floats in any order."""
    if measure in (tn.calibration_slope, tn.calibration_intercept):
        return close(a, b, 1e-6)
    return close(a, b) if measure in (tn.log_loss, tn.smooth_ece) else same(a, b)


@every_measure
@given(pairs=rows, seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter(measure, pairs, seed):
    y, p = arrays(pairs)
    order = np.random.default_rng(seed).permutation(y.size)
    assert as_exact(measure, measure(y, p), measure(y[order], p[order]))


@every_measure
@given(pairs=rows, cut=st.integers(0, 40))
def test_a_tally_of_split_rows_gives_the_same_number(measure, pairs, cut):
    y, p = arrays(pairs)
    cut %= y.size
    merged = tn.tally(y[:cut], p[:cut]) + tn.tally(y[cut:], p[cut:])
    assert merged == tn.tally(y, p)
    assert as_exact(measure, measure(merged), measure(y, p))


@every_measure
@given(data=weighted_rows())
def test_weight_is_repetition(measure, data):
    y, p, w = data
    times = w.astype(int)
    repeated = measure(np.repeat(y, times), np.repeat(p, times))
    tolerance = 1e-6 if measure in (tn.calibration_slope, tn.calibration_intercept) else 1e-12
    assert close(measure(y, p, sample_weight=w), repeated, tolerance)
    assert close(measure(tn.tally(y, p, sample_weight=w)), repeated, tolerance)


@every_measure
@given(pairs=rows)
def test_weight_one_changes_nothing_and_weight_zero_is_absence(measure, pairs):
    y, p = arrays(pairs)
    expected = measure(y, p)
    tolerance = 1e-6 if measure in (tn.calibration_slope, tn.calibration_intercept) else 1e-12
    assert close(measure(y, p, sample_weight=np.ones(y.size)), expected, tolerance)
    more_y, more_p = np.append(y, [0, 1]), np.append(p, [1.0, 0.0])
    weight = np.append(np.ones(y.size), [0, 0])
    assert close(measure(more_y, more_p, sample_weight=weight), expected, tolerance)


@every_measure
@given(pairs=rows32)
def test_float32_is_the_float64_it_denotes(measure, pairs):
    y, p = arrays(pairs)
    narrow = p.astype(np.float32)
    assert (narrow.astype(float) == p).all()
    assert same(measure(y, narrow), measure(y, p))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(pairs=rows)
def test_every_row_is_counted_once_zeros_and_ones_included(rule, pairs):
    y, p = arrays(pairs)
    y, p = np.append(y, [0, 1]), np.append(p, [0.0, 1.0])
    table = tn.bin_table(y, p, bins=rule)
    assert table.n.sum() == y.size
    assert (table.low_edge[0], table.high_edge[-1]) == (0, 1)
    inside = table.n > 0
    assert np.nansum(table.rate[inside] * table.n[inside]) == pytest.approx(y.sum())
    assert np.nansum(table.score[inside] * table.n[inside]) == pytest.approx(p.sum(), abs=1e-12)


@pytest.mark.parametrize(
    "rule",
    [r for r in RULES.values() if not isinstance(r, int)],
    ids=[n for n in RULES if " bins" not in n],
)
@given(pairs=rows)
def test_ties_are_never_split(rule, pairs):
    y, p = arrays(pairs)
    table = tn.bin_table(y, p, bins=rule)
    counts = {float(s): int((p == s).sum()) for s in p}
    # Walking up the distinct scores, the bins must end exactly where some score ends.
    ends = set(np.cumsum([counts[s] for s in sorted(counts)]).tolist())
    assert set(np.cumsum(table.n[table.n > 0]).tolist()) <= ends


@given(pairs=rows, coarse=st.integers(1, 8), factor=st.integers(1, 5))
def test_finer_bins_never_lower_the_l1_error(pairs, coarse, factor):
    y, p = arrays(pairs)
    assert tn.ece(y, p, bins=coarse) <= tn.ece(y, p, bins=coarse * factor) + 1e-12
    assert tn.ece(y, p, bins=coarse * factor) <= tn.ece(y, p, bins=tn.Distinct()) + 1e-12


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(pairs=rows)
def test_norms_are_ordered(rule, pairs):
    y, p = arrays(pairs)
    errors = [tn.ece(y, p, bins=rule, norm=norm) for norm in ("l1", 1.5, "l2", 7, "max")]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(errors))
    assert 0 <= errors[0] <= errors[-1] <= 1


SYMMETRIC = {
    "ece": (tn.ece, 1e-12),
    "ece, distinct": (partial(tn.ece, bins=tn.Distinct()), 1e-12),
    "ece, isotonic": (partial(tn.ece, bins=tn.Isotonic()), 1e-12),
    "mce": (tn.mce, 1e-12),
    "tce": (partial(tn.tce, bins=10), 1e-9),
    "auc": (tn.auc, 1e-12),
    "brier": (tn.brier, 1e-12),
    "scaled_brier": (tn.scaled_brier, 1e-9),
    "log_loss": (tn.log_loss, 1e-9),
    "smooth_ece": (tn.smooth_ece, 2e-6),
    "squared_ece": (partial(tn.squared_ece, bins=5), 1e-12),
    "corp": (lambda y, p: tn.corp(y, p).miscalibration, 1e-12),
    "calibration_slope": (tn.calibration_slope, 1e-6),
    "minus calibration_intercept": (lambda y, p: abs(tn.calibration_intercept(y, p)), 1e-6),
}


@pytest.mark.parametrize(("measure", "tolerance"), SYMMETRIC.values(), ids=SYMMETRIC)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 255).map(lambda i: i / 256)),
        min_size=1,
        max_size=40,
    )
)
def test_swapping_the_classes_changes_nothing_off_the_edges(measure, tolerance, pairs):
    y, p = arrays(pairs)
    # Multiples of 1/256, so that 1 − p is exact; 0.5 is the only edge of 10 (and 5) bins among them.
    assume(not (p == 0.5).any())
    assert close(measure(y, p), measure(1 - y, 1 - p), tolerance)


def test_left_closed_edges_break_the_swap_where_a_score_sits_on_one():
    y, p = np.array([0, 1, 1]), np.array([0.25, 0.5, 0.5])
    assert tn.ece(y, p, bins=2) == pytest.approx((0.25 + 1) / 3)  # 0.25 | 0.5 0.5
    assert tn.ece(1 - y, 1 - p, bins=2) == pytest.approx((1.75 - 1) / 3)  # | 0.5 0.5 0.75


@given(pairs=rows, other=rows, more=rows)
def test_tallies_add_like_numbers(pairs, other, more):
    a, b, c = (tn.tally(*arrays(x)) for x in (pairs, other, more))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c) == sum([a, b, c])
    assert a + tn.tally([], []) == a


@given(pairs=rows, other=rows)
def test_binned_sums_add_and_agree_with_the_tally(pairs, other):
    (y1, p1), (y2, p2) = arrays(pairs), arrays(other)
    both = tn.binned(y1, p1, bins=30) + tn.binned(y2, p2, bins=30)
    y, p = np.append(y1, y2), np.append(p1, p2)
    assert both == tn.binned(y, p, bins=30) == tn.tally(y, p).coarsen(30)
    assert both.coarsen(10) == tn.binned(y, p, bins=10)
    assert tn.ece(both) == tn.ece(y, p)
    assert tn.brier(both) == tn.brier(y, p)


KINDS = ("classwise", "confidence", "top-label")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "measure", fast(MEASURES, "ece, 10 bins", "squared_ece, equal mass", "log_loss")
)
@given(data=matrices(), cut=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_laws_hold_for_matrices(measure, kind, data, cut, seed):
    y, P = data
    cut %= y.size
    expected = measure(y, P, kind=kind)
    order = np.random.default_rng(seed).permutation(y.size)
    assert as_exact(measure, measure(y[order], P[order], kind=kind), expected)
    merged = tn.tally(y[:cut], P[:cut], kind=kind) + tn.tally(y[cut:], P[cut:], kind=kind)
    assert as_exact(measure, measure(merged), expected)
    assert close(measure(y, P, kind=kind, sample_weight=np.ones(y.size)), expected, 1e-6)


@given(data=matrices(max_classes=5))
def test_classwise_bins_of_one_pass_are_those_of_each_column(data):
    y, P = data
    whole = tn.binned(y, P, bins=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = [tn.ece((y == k).astype(int), P[:, k], bins=7) for k in range(P.shape[1])]
    assert tn.ece(y, P, bins=7) == pytest.approx(np.mean(columns), abs=1e-15)
    assert [tn.sources.Binned("binary", (part,)) for part in whole.parts] == [
        tn.binned((y == k).astype(int), P[:, k], bins=7) for k in range(P.shape[1])
    ]
