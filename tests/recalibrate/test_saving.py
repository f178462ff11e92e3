"""Maps that were damaged on their way are refused when they are read."""

import copy
import json
import zlib

import numpy as np
import pytest

from trueness import InputError
from trueness.recalibrate import (
    AutoCalibration,
    BayesianBinning,
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
        BayesianBinning(),
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


def with_checksum(stored):
    """The same with a right checksum, as another version or a writer of one's own may make it."""
    content = {name: one for name, one in stored.items() if name != "checksum"}
    text = json.dumps(canonical(content), sort_keys=True, separators=(",", ":"))
    return {**content, "checksum": f"{zlib.crc32(text.encode()):08x}"}


def canonical(value):
    if isinstance(value, dict):
        return {key: canonical(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("HistogramBinning", "edges", {"array": None, "dtype": "float64"}),
        ("HistogramBinning", "edges", array(0, 1, dtype="no type")),
        ("HistogramBinning", "edges", array([0, 1], [0])),
        ("HistogramBinning", "values", array(0.1, 0.2, 1.2)),
        ("HistogramBinning", "values", [0.1, 0.2, 0.3]),
        ("IsotonicCalibration", "values", array(0.5)),
        ("PlattScaling", "slope", None),
        ("PlattScaling", "slope", {"float": "nan"}),
        ("PlattScaling", "slope", {"float": "seven"}),
        ("TemperatureScaling", "temperature", 0),
        ("TemperatureScaling", "temperature", 5e-324),
        ("VectorScaling", "scale", array(1.0, 1.0)),
        ("OneVsRest", "calibrators", {"list": [1, 2, 3]}),
        ("TopLabel", "calibrators", {"list": [None, None, None]}),
        ("AutoCalibration", "weights", array(1.0)),
        ("AutoCalibration", "points", None),
        ("AutoCalibration", "curves", {"list": []}),
    ],
)
def test_a_damaged_value_is_refused(kind, field, value):
    stored = copy.deepcopy(MADE[kind])
    stored["learnt"][field]["value"] = value
    with pytest.raises(InputError, match="its checksum is wrong: a value was changed"):
        calibrator_from_dict(stored)
    with pytest.raises(InputError, match="'parameters' and 'learnt' do not make a map"):
        calibrator_from_dict(with_checksum(stored))


@pytest.mark.parametrize(
    ("kind", "parameter", "value", "message"),
    [
        ("HistogramBinning", "n_bins", -3, "`n_bins` must be a whole number"),
        ("VennAbers", "merge", "both", "`merge` must be 'log' or 'brier'"),
        ("ScalingBinning", "scaler", {"unfitted": {}}, "must name a calibrator of this version as its type; got None"),
        ("ScalingBinning", "scaler", {"unfitted": {"type": "epsilon", "parameters": {}}}, "must name a calibrator"),
        ("ScalingBinning", "scaler", {"unfitted": {"type": "PlattScaling", "parameters": {}}}, "lacks eps"),
    ],
)
def test_a_damaged_parameter_is_refused(kind, parameter, value, message):
    stored = copy.deepcopy(MADE[kind])
    stored["parameters"][parameter] = value
    with pytest.raises(InputError, match=message):
        calibrator_from_dict(with_checksum(stored))


@pytest.mark.all_cases
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
        calibrator_from_dict(with_checksum({**MADE["PlattScaling"], "about": "p"}))


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
        with pytest.raises(InputError, match="`path` must be the name of a file, as text or a Path; got"):
            call(path)


def test_curves_of_a_default_map_of_classes_have_a_row_per_class():
    made = AutoCalibration().fit(P3[:30], Y3[:30])
    assert [np.shape(one) for one in made.curves_] == [(1,), (3, 4), (3, 4), (3, 3)]
    stored = made.to_dict()
    again = calibrator_from_dict(copy.deepcopy(stored))
    assert np.array_equal(again.predict(P3[30:]), made.predict(P3[30:]))


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"schema": schema}, "must have schema 1") for schema in (0, 2, 1.0, True, "1")),
        ({"type": "os"}, "must name a calibrator of this version as its type; got 'os'"),
        ({"type": "load_calibrator"}, "must name a calibrator"),
        ({"parameters": {}}, "its 'parameters' lacks eps, "),
        ({"parameters": {**MADE["PlattScaling"]["parameters"], "more": 1}}, "its 'parameters' has the unknown more"),
    ],
)
def test_a_damaged_outline_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        PlattScaling.from_dict(with_checksum({**MADE["PlattScaling"], **change}))
    with pytest.raises(InputError, match="must be a BetaCalibration; it is a PlattScaling"):
        BetaCalibration.from_dict(MADE["PlattScaling"])
