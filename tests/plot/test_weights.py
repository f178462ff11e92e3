"""Weights, through every display: whole ones repeat rows, those of zero remove them, others draw or say the way out."""

from functools import partial

import numpy as np
import pytest
from awkward_rows import usual
from grids import fast

import trueness as tn
from trueness.infer import cumulative_walk
from trueness.measure import reliability_curve
from trueness.plot import (
    BinsDisplay,
    CumulativeDisplay,
    IntervalDisplay,
    ReliabilityDisplay,
    TestReliabilityDisplay,
    ValidityDisplay,
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

reliability = partial(ReliabilityDisplay.from_predictions, resamples=19)


def records(drawn):
    """The numbers that a display holds."""
    if isinstance(drawn, ReliabilityDisplay):
        return [
            (r.curve.x, r.curve.y, r.curve.weight, r.value, r.histogram.weight)
            for r in drawn.series
        ]
    if isinstance(drawn, TestReliabilityDisplay):
        r = drawn.record
        return [r.low_edge, r.weight, r.rejected, r.rate, r.score, r.tce, drawn.histogram.weight]
    if isinstance(drawn, BinsDisplay):
        return [(t.low_edge, t.weight, t.rate) for t in drawn.tables.values()]
    if isinstance(drawn, CumulativeDisplay):
        return [
            (w.share, w.height, w.half, w.ks.statistic, w.ks.pvalue, w.reach)
            for w in drawn.walks.values()
        ]
    if isinstance(drawn, IntervalDisplay):
        return [(i.low, i.high, i.estimate) for i in drawn.intervals.values()]
    return [(c.jumps, c.share) for c in drawn.curves.values()]


def flat(drawn):
    found = []

    def walk(part):
        if isinstance(part, tuple | list):
            for each in part:
                walk(each)
        else:
            found.append(np.ravel(np.asarray(part, dtype=float)))

    walk(records(drawn))
    return np.concatenate(found)


DRAWS = {
    "binned": reliability,
    "isotonic": partial(reliability, curve="isotonic"),
    "smooth": partial(reliability, curve="smooth"),
    "simultaneous": partial(reliability, band="simultaneous"),
    "consistency": partial(reliability, band="consistency"),
    "t test": partial(TestReliabilityDisplay.from_predictions, test="t", bins=tn.EqualMass(10)),
    "given bins": partial(
        BinsDisplay.from_predictions, bins={"PAVA": tn.Isotonic(), "quantiles": tn.EqualMass(10)}
    ),
    "walk": CumulativeDisplay.from_predictions,
    "validity": partial(ValidityDisplay.from_predictions, bins=10),
}
COUNTS = {
    "PAVA-BC": (
        partial(reliability, bins=tn.BlockIsotonic()),
        r"bins that do not, such as `EqualMass\(10\)`",
    ),
    "binomial test": (
        TestReliabilityDisplay.from_predictions,
        r"`test='t'` and bins that do not count them",
    ),
    "binomial test, bins": (
        partial(TestReliabilityDisplay.from_predictions, bins=10),
        r"Others need `test='t'`\.",
    ),
    "three rules": (BinsDisplay.from_predictions, r"such as `EqualMass\(10\)`"),
    "forest": (IntervalDisplay.from_predictions, r"weight_type='importance'"),
}
EVERY = DRAWS | {name: make for name, (make, _) in COUNTS.items()}


@pytest.mark.parametrize(
    "make", fast(EVERY, "binned", "t test", "three rules", "walk", "validity", "forest")
)
def test_whole_weights_repeat_rows_and_zero_removes_them(make):
    y, p = usual()
    w = np.arange(y.size) % 3
    weighted, repeated = make(y, p, sample_weight=w), make(np.repeat(y, w), np.repeat(p, w))
    np.testing.assert_allclose(flat(weighted.plot()), flat(repeated), rtol=1e-9, atol=1e-12)
    assert np.array_equal(flat(make(y, p, sample_weight=w.astype(float))), flat(weighted))


def test_fractional_weights_draw_the_numbers_of_the_measures():
    y, p = usual()
    w = 0.3 + p
    for name in ("binned", "isotonic", "smooth"):
        (record,) = DRAWS[name](y, p, sample_weight=w).series
        curve = reliability_curve(y, p, method=name, sample_weight=w)
        np.testing.assert_allclose(record.curve.y, curve.y, rtol=1e-12)
        assert record.histogram.weight.sum() == pytest.approx(w.sum())
        assert record.floor is not None
        assert record.interval is None
        assert "Pass labels and scores" in record.note
    (walk,) = CumulativeDisplay.from_predictions(y, p, sample_weight=w).walks.values()
    assert np.array_equal(walk.height, cumulative_walk(y, p, sample_weight=w).height)
    record = DRAWS["t test"](y, p, sample_weight=w).record
    assert record.tce == pytest.approx(
        tn.tce(y, p, test="t", bins=tn.EqualMass(10), sample_weight=w)
    )
    tables = DRAWS["given bins"](y, p, sample_weight=w).tables
    table = tn.bin_table(y, p, bins=tn.EqualMass(10), sample_weight=w)
    np.testing.assert_allclose(tables["quantiles"].rate, table.rate, rtol=1e-12)


@pytest.mark.parametrize(("make", "way_out"), COUNTS.values(), ids=COUNTS)
def test_what_counts_rows_says_where_other_weights_go(make, way_out):
    y, p = usual()
    with pytest.raises(
        tn.InputError,
        match=r"`sample_weight` must be whole numbers that sum to less than 2³⁵ for .*, which counts rows[.;] ",
    ) as error:
        make(y, p, sample_weight=0.3 + p)
    assert error.match(way_out)
