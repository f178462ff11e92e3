"""Bad inputs are refused by name, and no public function raises a raw error."""

import itertools
import sys
from fractions import Fraction

import inputs
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import trueness as tn
from trueness import plot

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

RNG = np.random.default_rng(0)
P = RNG.random(30)
Y = (RNG.random(30) < P).astype(int)
LOGITS = np.log(RNG.dirichlet([1, 1, 1], 30))
CLASS = np.arange(30) % 3
BAND = tn.curve_band(Y, P, method="monotone")
FRAME = pd.DataFrame({"y": Y, "p": P, "q": 1 - P})


def noted(value):
    watch = tn.Watch()
    watch.about["of"] = value
    return watch


WRONG = {
    "0-d labels of a report": (
        lambda: tn.report(np.array(1), P),
        "`y_true` must have one dimension; got 0",
    ),
    "0-d labels of a comparison": (
        lambda: tn.compare(np.array(1), {"a": P, "b": P}),
        "`y_true` must have one dimension; got 0",
    ),
    "edges with a mask": (
        lambda: tn.ece(Y, P, bins=np.ma.array([0, 0.3, 0.5, 1], mask=[0, 0, 1, 0])),
        "`bins` as edges must be numbers",
    ),
    "an edge beyond all floats": (
        lambda: tn.ece(Y, P, bins=[0, 10**400]),
        "`bins` as edges must be numbers",
    ),
    "a seed of a display": (
        lambda: plot.ReliabilityDisplay.from_predictions(Y, P, seed="x"),
        "`seed` must be",
    ),
    "a matrix without columns": (
        lambda: tn.recalibrate.prior_correction([[]], weight=2.0),
        "`y_prob` must be a vector, or a matrix of at least two columns",
    ),
    "an object of no dimension": (lambda: tn.ece(Y, np.array(object())), "`y_prob` must"),
    "segments without columns": (
        lambda: tn.segments(Y, P, by=np.zeros((0, 0))),
        "`by` must hold at least one column",
    ),
    "no path": (lambda: tn.load_calibrator(None), "`path` must be the name of a file"),
    "a function that is no measure": (
        lambda: tn.estimate(np.mean, Y, P),
        "`measure` must be a function of a Tally; called with one, it raised TypeError",
    ),
    "a function that has no noise floor": (
        lambda: tn.noise_floor(np.mean, P),
        "`measure` must be a function of a Tally",
    ),
    "a distance below 0": (
        lambda: BAND.within(-1),
        "`eps` must be a number between 0 and 1; got -1",
    ),
    "a distance of text": (
        lambda: BAND.share_within("x"),
        "`eps` must be a number between 0 and 1; got 'x'",
    ),
    "a share above 1": (
        lambda: BAND.within(0.1, share=2),
        "`share` must be a number between 0 and 1; got 2",
    ),
    "a level beyond all floats": (
        lambda: tn.curve_band(Y, P, level=10**400, method="monotone"),
        "`level` must lie",
    ),
    "a cost beyond all floats": (
        lambda: tn.decide(Y, P, cost_fp=10**400, cost_fn=1),
        "`cost_fp` must be a number",
    ),
    "a shift beyond all floats": (
        lambda: tn.Watch(alternatives=[(10**400, 1)]),
        "`alternatives` must be pairs",
    ),
    "a threshold beyond all floats": (
        lambda: tn.net_benefit(Y, P, thresholds=[10**400]),
        "`thresholds` must be",
    ),
    "a norm beyond all floats": (lambda: tn.ece(Y, P, norm=10**400), "`norm` must be"),
    "a penalty beyond all floats": (
        lambda: tn.TemperatureScaling(ridge=10**400).fit(P, Y),
        "`ridge` must be a finite number",
    ),
    "more rows than there can be": (
        lambda: tn.max_bins(10**400, 0.1),
        "`n` must be at most 9,007,199,254,740,992",
    ),
    "an array as kind of a report": (
        lambda: tn.report(CLASS, np.exp(LOGITS), kind=np.array([1, 2])),
        "`kind` must be",
    ),
    "no kind of a risk": (lambda: tn.risk_coverage(Y, P, kind=pd.NA), "`kind` must be"),
    "no kind of a scan": (
        lambda: tn.scan(FRAME, label="y", prob=["p", "q"], kind=pd.NA),
        "`kind` must be",
    ),
    "a dict as positive label": (
        lambda: tn.scan(FRAME, label="y", prob="p", pos_label={"a": 1}),
        "`pos_label` must be",
    ),
    "an array as positive label": (
        lambda: tn.Accumulator(pos_label=np.array([1, 2])),
        "`pos_label` must be one label",
    ),
    "an array as position": (
        lambda: tn.Accumulator().update([0], [0.5], position=P),
        "`position` must be ready",
    ),
    "an array as floor of a panel": (
        lambda: tn.panel(Y, P, floor=np.array([1, 2])),
        "`floor` must be True or False",
    ),
    "an array as buckets": (
        lambda: tn.tally(Y, P, cluster=Y, buckets=np.array([64, 32])),
        "`buckets` must be one of",
    ),
    "no scores at all": (lambda: tn.noise_floor(tn.ece, pd.NA), "`y_prob` must"),
    "labels of other models": (
        lambda: tn.report({"a": Y}, {"b": P}),
        "by the names of `y_prob`, if it is a dict",
    ),
    "an array as kind": (
        lambda: tn.ece(CLASS, np.exp(LOGITS), kind=np.array([1, 2])),
        "`kind` must be",
    ),
    "pd.NA as kind": (lambda: tn.ece(CLASS, np.exp(LOGITS), kind=pd.NA), "`kind` must be"),
    "an array as floor": (
        lambda: tn.estimate("ece", Y, P, bins=1, floor=np.array([1, 2])),
        "`floor` must be True or",
    ),
    "an array as number of bins": (
        lambda: tn.HistogramBinning(n_bins=np.array([1, 2])).fit(P, Y),
        "`n_bins` must be",
    ),
    "no calibrator": (
        lambda: tn.recalibrate.apply_calibrator(pd.DataFrame({"p": P}), None),
        "`calibrator` must be a fitted",
    ),
    "more knots than rows can have": (
        lambda: tn.SplineCalibration(n_knots=2**63).fit(P, Y),
        "`n_knots` must be",
    ),
    "an error to detect that is negative": (
        lambda: tn.validation_size(prevalence=0.2, c_statistic=0.7, detect_oe=-1.2),
        "`detect_oe` must be",
    ),
    "a step of a curve that is a list": (
        lambda: tn.estimate("ici", Y, P, curve=[0.1]),
        "`curve` must be 'spline' or 'loess'",
    ),
    "a position beyond all floats": (
        lambda: tn.Watch().update(Y, P, position=10**400),
        "`position` must be a number",
    ),
    "a position that JSON has not": (
        lambda: tn.Watch().update(Y, P, position=Fraction(1, 3)),
        "`position` must be a number",
    ),
    "notes that JSON has not": (
        lambda: noted(object()).to_json(),
        "`about` must be ready for JSON",
    ),
    "a place beyond all floats": (
        lambda: tn.curve_band(Y, P, at=10**400),
        r"`at` must be scores in \[0, 1\]",
    ),
    "0-d labels of humans": (
        lambda: tn.powered(np.array(1), Y, P),
        "`y_human` must have one value per row",
    ),
    "one-hot labels of humans": (
        lambda: tn.powered(np.eye(2)[Y], Y, P),
        "`y_human` must have one value per row",
    ),
    "0-d labels of a judge": (
        lambda: tn.powered(Y, np.array(1), P),
        "`judge` must have one value per row",
    ),
    "0-d labels of segments": (
        lambda: tn.SegmentCalibration().fit(P, np.array(1), by=CLASS),
        "`y_true` must have one dimension",
    ),
    "0-d labels of a validation": (
        lambda: tn.validate(LogisticRegression(), P[:, None], np.array(1)),
        "`X` and `y` must have one entry per row",
    ),
    "no rows of a validation": (
        lambda: tn.validate(LogisticRegression(), None, Y),
        "`X` must be rows of features",
    ),
    "words as row numbers of a fold": (
        lambda: tn.validate(LogisticRegression(), P[:, None], Y, cv=[(["a"], ["b"])]),
        "`cv` must have row numbers from 0 to 29; got array",
    ),
    "a number as name of a model, of net benefit": (
        lambda: tn.net_benefit(Y, {1: P, 2: P}),
        "`y_prob` must have strings as names; got 1. Use '1'",
    ),
    "a number as name of a model, of risk and coverage": (
        lambda: tn.risk_coverage(Y, {"a": P, 2: P}),
        "`y_prob` must have strings as names; got 2",
    ),
    "a number as name of a model, of a gate": (
        lambda: tn.gate(Y, {1: P}, max_ece=0.5),
        "`y_prob` must have strings as names; got 1",
    ),
    "scores of a judge too large to be squared": (
        lambda: tn.powered(Y, np.full(30, 1e308), P),
        "`judge` must be a number within ±1e100 in every row",
    ),
    "records as segments": (
        lambda: tn.segments(Y, P, by=P.view([("p", float)])),
        "`by` must hold names or numbers; 'by' holds records",
    ),
    "a label to ignore beyond all floats": (
        lambda: tn.ece(Y * 1.0, P, ignore_index=10**400),
        "`ignore_index` must be a whole number of 64 bits or None",
    ),
    "a positive label beyond all floats": (
        lambda: tn.ece(Y * 1.0, P, pos_label=10**400),
        "`pos_label` must be",
    ),
    "a level below all others": (
        lambda: tn.net_benefit(Y, P, level=1e-300),
        "`level` must lie strictly between 0.5",
    ),
    "scores too small to be squared": (
        lambda: tn.powered(Y, Y, np.full(30, 5e-324)),
        "`y_prob` must have a score above 1e-100; all 30 are below",
    ),
    "labels of an unknown kind": (lambda: tn.ece([*P, 10**400], [*P, 0.5]), "`y_true` must"),
}


def test_wrong_arguments_are_refused_by_name():
    for call, message in WRONG.values():
        with pytest.raises(tn.InputError, match=message):
            call()


def test_one_label_that_is_not_the_positive_one_is_no_event():
    assert tn.observed_expected(np.zeros(30), P, pos_label=10**400) == 0


def test_a_segment_without_weight_is_as_one_without_rows():
    weight = np.where(CLASS == 0, 0, 1 + Y)
    findings = tn.gate(Y, P, by=CLASS, sample_weight=weight, max_ece=0.5).findings
    assert [one.group for one in findings] == ["by = 1", "by = 2"]


def test_memory_that_is_not_aligned_is_read_as_any_other():
    def moved(values):
        room = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
        room[...] = values
        return room

    fitted = tn.TemperatureScaling(from_logits=True).fit(moved(LOGITS), moved(CLASS))
    assert (
        fitted.temperature_
        == tn.TemperatureScaling(from_logits=True).fit(LOGITS, CLASS).temperature_
    )
    for options in ({}, {"kind": "confidence"}):
        found = tn.ece(CLASS, moved(LOGITS), from_logits=True, **options)
        assert found == tn.ece(CLASS, LOGITS, from_logits=True, **options)


@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
def test_no_bad_input_raises_a_raw_error():
    faults = [
        f"{call}: {fault}"
        for call in itertools.islice(inputs.calls(1), 400)
        if (fault := inputs.fault_of(call.run))
    ]
    assert not faults, "\n".join(faults)


def test_the_calls_that_are_spoilt_are_valid():
    quick = [name for name in inputs.FUNCTIONS if name != "load_calibrator"]
    for name in quick:
        inputs.Call(name, inputs.valid_arguments(name), ()).run()
