"""Maps that were damaged on their way are refused when they are read, by the name of the damaged field."""

import copy
import json

import numpy as np
import pytest

from trueness import InputError
from trueness.recalibrate import (
    AutoCalibration,
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    ScalingBinning,
    TemperatureScaling,
    TopLabel,
    VectorScaling,
    VennAbers,
    calibrator_from_dict,
    load_calibrator,
)

_RNG = np.random.default_rng(0)
P = _RNG.random(90)
Y = (_RNG.random(90) < P).astype(int)
P3 = _RNG.dirichlet([1, 1, 1], 90)
Y3 = np.arange(90) % 3

MADE = {
    made.__class__.__name__: made.fit(P, Y).to_dict()
    for made in (
        AutoCalibration(),
        BetaCalibration(),
        HistogramBinning(3),
        IsotonicCalibration(),
        PlattScaling(),
        ScalingBinning(3, split="none", scaler=BetaCalibration()),
        TemperatureScaling(),
        VennAbers(),
    )
} | {
    made.__class__.__name__: made.fit(P3, Y3).to_dict()
    for made in (
        DirichletCalibration(),
        MatrixScaling(),
        OneVsRest(),
        TopLabel(PlattScaling(), min_rows=10),
        VectorScaling(),
    )
}


def array(*values, dtype="float64"):
    return {"array": list(values), "dtype": dtype}


DAMAGES = [
    (
        "HistogramBinning",
        "edges",
        {"array": None, "dtype": "float64"},
        "'edges' is None, which is not a list",
    ),
    ("HistogramBinning", "edges", {"array": [0.0, 1.0]}, "'edges' has the dtype None"),
    ("HistogramBinning", "edges", array(0, 1, dtype="object"), "'edges' has the dtype 'object'"),
    ("HistogramBinning", "edges", array(0, 1, dtype="\ud800"), "'edges' has the dtype"),
    ("HistogramBinning", "edges", array(0, 1, dtype=">f8"), "'edges' has the dtype '>f8'"),
    (
        "HistogramBinning",
        "edges",
        array(0, None, 0.5, 1),
        "'edges' has the dtype float64 .* of type NoneType",
    ),
    ("HistogramBinning", "edges", array(0, "0.2", 0.5, 1), "entries of type str"),
    ("HistogramBinning", "edges", array([0, 1], [0]), "'edges' is not an array: "),
    ("HistogramBinning", "edges", array(0.0, 0.6, 0.5, 1.0), "'edges' must be ascending; got"),
    (
        "HistogramBinning",
        "edges",
        array(0.0, 0.5, 1.0),
        r"'edges' must be an array of shape \(4,\) of float64",
    ),
    ("HistogramBinning", "edges", array(0.0, 0.5, 0.6, float("nan")), "'edges' must be finite"),
    ("HistogramBinning", "edges", 0.5, "'edges' must be an array"),
    ("HistogramBinning", "edges", {}, "'edges' is not a value that it writes: {}"),
    (
        "HistogramBinning",
        "edges",
        [0.0, 0.5],
        r"'edges' is not a value that it writes: \[0.0, 0.5\]",
    ),
    ("HistogramBinning", "values", array(0.1, 0.2, 1.2), r"'values' must be in \[0, 1\]"),
    (
        "HistogramBinning",
        "counts",
        array(0.5, 1, 1, dtype="int64"),
        "'counts' has the dtype int64 .* type float",
    ),
    ("HistogramBinning", "counts", array(1, 1, 2**70, dtype="int64"), "'counts' is not an array"),
    ("HistogramBinning", "counts", array(1, 1, -2, dtype="int64"), "'counts' must be at least 0"),
    ("HistogramBinning", "n_bins", 3.0, "'n_bins' must be a whole number ≥ 1; got 3.0"),
    ("HistogramBinning", "scheme", "best", "'scheme' must be one of 'umd', .*; got 'best'"),
    ("HistogramBinning", "whole", 1, "'whole' must be true or false; got 1"),
    ("HistogramBinning", "ties", array(0.5), "'ties' must be an array of shape"),
    ("HistogramBinning", "n_rows", 0, "'n_rows' must be a whole number ≥ 1; got 0"),
    ("HistogramBinning", "n_classes", 3, "'n_classes' must be null, as it takes a vector; got 3"),
    ("HistogramBinning", "classes", {"tuple": ["a"]}, "'classes' must be .*null for a vector"),
    ("HistogramBinning", "seen", None, "'seen' must be a whole number ≥ 0; got None"),
    ("ScalingBinning", "edges", array(0.5, 0.1), "'edges' must be ascending"),
    ("ScalingBinning", "scaler", 1.0, "'scaler' must be a fitted calibrator of a vector"),
    ("VennAbers", "edges", array(), "'p0' must be an array of shape"),
    ("IsotonicCalibration", "values", array(0.5), "'values' must be an array of shape"),
    ("IsotonicCalibration", "low", array(), "'low' must be of length 1 at least"),
    ("IsotonicCalibration", "low", array(0.5, 0.2), "'low' must be ascending"),
    ("PlattScaling", "slope", None, "'slope' must be a finite number of size up to .*; got None"),
    (
        "PlattScaling",
        "slope",
        {"float": "nan"},
        "'slope' must be a finite number of size up to .*; got nan",
    ),
    ("PlattScaling", "slope", {"float": "seven"}, "'slope' is not a value that it writes"),
    ("PlattScaling", "slope", 10**400, "'slope' must be a finite number"),
    ("PlattScaling", "intercept", {"tuple": 1}, "'intercept' is not a value that it writes"),
    ("BetaCalibration", "a", -1.0, "'a' must be a finite number ≥ 0 of size up to .*; got -1.0"),
    (
        "TemperatureScaling",
        "temperature",
        0,
        "'temperature' must be a finite number above 0 of size up to .*; got 0",
    ),
    ("VectorScaling", "scale", array(1.0, 1.0), r"'scale' must be an array of shape \(3,\)"),
    ("VectorScaling", "n_classes", 1, "'n_classes' must be a whole number ≥ 2; got 1"),
    (
        "VectorScaling",
        "classes",
        {"tuple": [0, 1]},
        "'classes' must be a tuple of names, one per class",
    ),
    (
        "VectorScaling",
        "columns",
        {"tuple": ["a", "b"]},
        "'columns' must be null, or a tuple of names, one per class",
    ),
    ("OneVsRest", "calibrators", {"list": []}, "'calibrators' must be a list of 3 calibrators"),
    (
        "OneVsRest",
        "calibrators",
        {"list": [1, 2, 3]},
        "'calibrators' must be a list of fitted calibrators",
    ),
    (
        "TopLabel",
        "calibrators",
        {"list": [None, None, None]},
        "'pooled' must be a fitted calibrator",
    ),
    ("TopLabel", "calibrators", {"tuple": []}, "'calibrators' must be a list of 3"),
    ("AutoCalibration", "candidates", {"tuple": []}, "'candidates' must be a tuple of names"),
    (
        "AutoCalibration",
        "candidates",
        {"list": ["identity"]},
        "'candidates' must be a tuple of names",
    ),
    ("AutoCalibration", "candidates", {"tuple": [1]}, "'candidates' must be a tuple of names"),
    ("AutoCalibration", "weights", array(1.0), r"'weights' must be an array of shape \(7,\)"),
    (
        "AutoCalibration",
        "weights",
        array(1.0, 0.5, -0.5, 0, 0, 0, 0),
        "'weights' must be at least 0",
    ),
    (
        "AutoCalibration",
        "reach",
        0.0,
        "'reach' must be a finite number above 0 of size up to .*; got 0.0",
    ),
    ("AutoCalibration", "knots", array([0.5]), "'knots' must be an array of shape"),
    (
        "AutoCalibration",
        "curves",
        {"list": []},
        "'curves' must be a tuple of arrays of coefficients",
    ),
    (
        "AutoCalibration",
        "curves",
        {"tuple": [array(0.0, 1.0)]},
        "'curves' must be a tuple of arrays of coefficients",
    ),
    (
        "AutoCalibration",
        "points",
        array(0.0, 1.0),
        "'points' must be two rows of ascending numbers",
    ),
    (
        "AutoCalibration",
        "points",
        array([0.0, 1.0], [2.0, 1.0]),
        "'points' must be two rows of ascending numbers",
    ),
    (
        "AutoCalibration",
        "points",
        array([1.0, 0.0], [1.0, 2.0]),
        "'points' must be two rows of ascending numbers",
    ),
    (
        "AutoCalibration",
        "points",
        array([0.0], [0.0], [0.0]),
        "'points' must be two rows of ascending numbers",
    ),
    (
        "AutoCalibration",
        "points",
        array([0.0, 1.0], [0.0, float("inf")]),
        "'points' must be two rows of ascending numbers",
    ),
    ("AutoCalibration", "gain", 1, "'gain' must be a number; got 1"),
    ("AutoCalibration", "weights", array(*[1.0] * 7), "'weights' must be numbers that sum to one"),
    ("AutoCalibration", "reach", None, "'parameters' and 'learnt' do not make a map .TypeError"),
    (
        "AutoCalibration",
        "knots",
        None,
        "'parameters' and 'learnt' do not make a map .AttributeError",
    ),
    ("AutoCalibration", "points", None, "'parameters' and 'learnt' do not make a map .TypeError"),
    (
        "AutoCalibration",
        "knots",
        array(-1.0, 0.0, 1.0, 2.0, 1e308),
        "'knots' must be finite and of size up to 1e.300",
    ),
    ("PlattScaling", "eps", 1.5, "'eps' must be a finite number above 0 and below 0.5; got 1.5"),
    ("TemperatureScaling", "temperature", 2**70, "'temperature' must be a finite number above 0"),
    (
        "TemperatureScaling",
        "temperature",
        5e-324,
        "do not make a map .some probabilities are no probabilities",
    ),
    (
        "ScalingBinning",
        "scaler",
        {
            "calibrator": {
                **MADE["BetaCalibration"],
                "learnt": {**MADE["BetaCalibration"]["learnt"], "a": {"value": -1}},
            }
        },
        "'scaler': `stored` must be a complete BetaCalibration; its 'a' must be",
    ),
]


@pytest.mark.parametrize(("kind", "field", "value", "message"), DAMAGES)
def test_a_damaged_value_is_refused(kind, field, value, message):
    stored = copy.deepcopy(MADE[kind])
    stored["learnt"][field]["value"] = value
    with pytest.raises(InputError, match=message):
        calibrator_from_dict(stored)


@pytest.mark.parametrize(
    ("kind", "parameter", "value", "message"),
    [
        ("HistogramBinning", "n_bins", {}, "'n_bins' is not a value that it writes"),
        ("HistogramBinning", "n_bins", array(), "`n_bins` must be a whole number"),
        ("HistogramBinning", "n_bins", -3, "`n_bins` must be a whole number"),
        ("VennAbers", "merge", "both", "`merge` must be 'log' or 'brier'"),
        ("ScalingBinning", "scaler", {"unfitted": {}}, "'scaler' is not a value that it writes"),
        (
            "ScalingBinning",
            "scaler",
            {"unfitted": {"type": "os", "parameters": {}}},
            "must name a calibrator",
        ),
        (
            "ScalingBinning",
            "scaler",
            {"unfitted": {"type": "epsilon", "parameters": {}}},
            "must name a calibrator",
        ),
        (
            "ScalingBinning",
            "scaler",
            {"unfitted": {"type": "PlattScaling", "parameters": {}}},
            "lacks eps",
        ),
    ],
)
def test_a_damaged_parameter_is_refused(kind, parameter, value, message):
    stored = copy.deepcopy(MADE[kind])
    stored["parameters"][parameter] = value
    with pytest.raises(InputError, match=message):
        calibrator_from_dict(stored)


@pytest.mark.parametrize("kind", sorted(MADE))
def test_an_undamaged_map_is_read(kind):
    again = calibrator_from_dict(copy.deepcopy(MADE[kind]))
    assert again.to_dict() == MADE[kind]


def test_notes_about_a_map_are_saved_and_loaded(tmp_path):
    fitted = PlattScaling().fit(P, Y)
    assert fitted.about_ == {}
    assert "about" not in fitted.to_dict()
    fitted.about_ = {"score": "p_churn", "rows": 90, "not UTF-8": "a\udc80"}
    fitted.save(tmp_path / "map.json")
    assert load_calibrator(tmp_path / "map.json").about_ == fitted.about_
    assert fitted.fit(P, Y).about_ == {}
    with pytest.raises(InputError, match="`about_` must be a mapping"):
        calibrator_from_dict({**MADE["PlattScaling"], "about": "p"})


@pytest.mark.parametrize("about", ["p", {1: "p"}, {"p": {1, 2}}, {"p": float("nan")}])
def test_notes_that_json_cannot_hold_are_refused(about):
    fitted = PlattScaling().fit(P, Y)
    fitted.about_ = about
    with pytest.raises(InputError, match="`about_` must"):
        fitted.to_dict()


def test_every_changed_digit_of_a_file_is_noticed(tmp_path):
    fitted = HistogramBinning(3).fit(P, Y)
    text = fitted.to_json()
    at = [i for i, letter in enumerate(text) if letter.isdigit()]
    grid, changed = np.linspace(0, 1, 101), 0
    before = fitted.predict(grid)
    for i in at[::7]:
        spoilt = f"{text[:i]}{(int(text[i]) + 1) % 10}{text[i + 1 :]}"
        (tmp_path / "map.json").write_text(spoilt)
        try:
            found = load_calibrator(tmp_path / "map.json")
        except InputError as error:
            changed += "its checksum is wrong: a value was changed" in str(error)
        else:  # a last digit that makes the same float
            assert (found.predict(grid) == before).all()
            assert found.to_json() == text
    assert changed > 10


def test_a_map_without_a_checksum_is_refused():
    stored = {name: value for name, value in MADE["PlattScaling"].items() if name != "checksum"}
    with pytest.raises(InputError, match=r"it has no 'checksum'\. Save the calibrator again\."):
        calibrator_from_dict(stored)


def test_the_order_of_keys_and_the_form_of_whole_numbers_are_no_changes():
    def as_elsewhere(value):
        if isinstance(value, dict):
            return {key: as_elsewhere(value[key]) for key in sorted(value)}
        if isinstance(value, list):
            return [as_elsewhere(one) for one in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    for stored in MADE.values():
        assert calibrator_from_dict(as_elsewhere(stored)).to_dict() == stored


def nested(depth):
    stored = copy.deepcopy(MADE["ScalingBinning"])
    for _ in range(depth):
        outer = copy.copy(MADE["ScalingBinning"])
        outer["learnt"] = {**outer["learnt"], "scaler": {"value": {"calibrator": stored}}}
        stored = outer
    return stored


RAW = {
    "UTF-16": json.dumps(MADE["PlattScaling"]).encode("utf-16"),
    "nothing": b"",
    "bytes that are no text": b"\xff\xfe\x00{",
    "deep nesting": b"[" * 100_000,
    "deep lists": b"[" * 500 + b"]" * 500,
    "5,000 digits": b'{"schema": ' + b"1" * 5_000 + b"}",
    "nan": b"NaN",
    "a list": b"[1, 2]",
    "a map in 400 maps": json.dumps(nested(100)).encode(),
}


def test_no_file_raises_a_raw_error(tmp_path):
    path = tmp_path / "map.json"
    for content in RAW.values():
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"map\.json' is not: |^`stored` must be"):
            load_calibrator(path)


def test_no_dict_raises_a_raw_error():
    within = copy.deepcopy(MADE["PlattScaling"])
    within["learnt"]["slope"]["value"] = within
    for stored, fault in (
        (nested(400), "JSON cannot store it: maximum recursion"),
        (within, "JSON cannot store it: maximum recursion"),
        ({**MADE["PlattScaling"], "more": 10**5000}, "JSON cannot store it: Exceeds the limit"),
        ({**MADE["PlattScaling"], "schema": 10**5000}, "JSON cannot store it: Exceeds the limit"),
        ({**MADE["PlattScaling"], "more": {1, 2}}, "JSON cannot store it"),
    ):
        with pytest.raises(InputError, match=fault):
            calibrator_from_dict(stored)


@pytest.mark.parametrize("path", [None, 3, b"map.json", "a\0b", ["map.json"]])
def test_a_path_that_is_none_is_refused(path):
    fitted = PlattScaling().fit(P, Y)
    for call in (load_calibrator, fitted.save):
        with pytest.raises(
            InputError, match="`path` must be the name of a file, as text or a Path; got"
        ):
            call(path)


EXTREMES = [
    ("HistogramBinning", "counts", array(0, 1, 2, dtype="int64")),
    ("HistogramBinning", "values", array(0.0, 0.5, 1.0)),
    ("HistogramBinning", "edges", array(0.0, 0.5, 0.5, 1.0)),
    ("HistogramBinning", "n_rows", 1),
    ("HistogramBinning", "n", 1),
    ("HistogramBinning", "date", None),
    ("HistogramBinning", "version", None),
    ("HistogramBinning", "seen", 0),
    ("BetaCalibration", "a", 0.0),
    ("PlattScaling", "slope", -3.0),
    ("TemperatureScaling", "temperature", 1e-300),
    ("ScalingBinning", "edges", array(0.5, 0.5)),
    ("AutoCalibration", "points", array([0.0], [1.0])),
    ("AutoCalibration", "points", array([0.0, 0.0], [1.0, 1.0])),
    ("HistogramBinning", "values", array(0.0, 0.5, 1 + 1e-10)),
]


@pytest.mark.parametrize(("kind", "field", "value"), EXTREMES)
def test_the_most_extreme_value_that_a_fit_can_give_is_read(kind, field, value):
    """Nothing but the checksum, which comes last, is against it."""
    stored = copy.deepcopy(MADE[kind])
    stored["learnt"][field]["value"] = value
    with pytest.raises(InputError, match="checksum"):
        calibrator_from_dict(stored)


def test_curves_of_a_default_map_of_classes_have_a_row_per_class():
    made = AutoCalibration().fit(P3[:30], Y3[:30])
    assert [np.shape(one) for one in made.curves_] == [(1,), (3, 4), (3, 4), (3, 3)]
    stored = made.to_dict()
    again = calibrator_from_dict(copy.deepcopy(stored))
    assert np.array_equal(again.predict(P3[30:]), made.predict(P3[30:]))
    for at in range(4):
        spoilt = copy.deepcopy(stored)
        old = np.array(spoilt["learnt"]["curves"]["value"]["tuple"][at]["array"])
        spoilt["learnt"]["curves"]["value"]["tuple"][at] = array(
            *(old * np.nan).tolist() if at else [1.0] * 4
        )
        with pytest.raises(InputError, match="'curves' must be a tuple of arrays of coefficients"):
            calibrator_from_dict(spoilt)


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        (
            "high",
            lambda low, high: [*low[1:2], *high[1:]],
            "'high' must be the last scores of blocks that follow each",
        ),
        (
            "high",
            lambda low, high: [low[0] - 1e-3, *high[1:]],
            "'high' must be the last scores of blocks that follow",
        ),
        (
            "centre",
            lambda low, high: [low[0] - 1e-3, *high[1:]],
            "'centre' must be between the first and the last sco",
        ),
        (
            "centre",
            lambda low, high: [high[0] + 1e-3, *high[1:]],
            "'centre' must be between the first and the last sc",
        ),
        ("centre", lambda low, high: low, "checksum"),
        ("centre", lambda low, high: high, "checksum"),
        ("high", lambda low, high: low, "'centre' must be between"),
    ],
)
def test_blocks_of_isotonic_regression_follow_each_other(field, change, message):
    stored = copy.deepcopy(MADE["IsotonicCalibration"])
    low, high = (stored["learnt"][name]["value"]["array"] for name in ("low", "high"))
    stored["learnt"][field]["value"]["array"] = change(low, high)
    with pytest.raises(InputError, match=message):
        calibrator_from_dict(stored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"schema": schema}, "must have schema 1") for schema in (0, 2, 1.0, True, "1")),
        ({"type": "os"}, "must name a calibrator of this version as its type; got 'os'"),
        ({"type": "load_calibrator"}, "must name a calibrator"),
        ({"parameters": {}}, "its 'parameters' lacks eps, "),
        (
            {"parameters": {**MADE["PlattScaling"]["parameters"], "more": 1}},
            "its 'parameters' has the unknown more",
        ),
        ({"learnt": {"slope": 1}}, "must have a 'value'"),
        ({"learnt": []}, "its 'parameters' and 'learnt' must be objects"),
        ({"parameters": [1]}, "its 'parameters' and 'learnt' must be objects"),
    ],
)
def test_a_damaged_outline_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        PlattScaling.from_dict({**MADE["PlattScaling"], **change})
    with pytest.raises(InputError, match="must be a BetaCalibration; it is a PlattScaling"):
        BetaCalibration.from_dict(MADE["PlattScaling"])
