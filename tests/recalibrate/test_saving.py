"""Maps that were damaged on their way are refused when they are read."""

import copy
import json

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


CHANGED = "`stored` must be what a calibrator's `to_dict` returned; its checksum is wrong: a value was changed"


@pytest.mark.parametrize("kind", sorted(MADE))
def test_a_damaged_map_is_refused(kind):
    for part in ("learnt", "parameters"):
        for name in MADE[kind][part]:
            stored = copy.deepcopy(MADE[kind])
            stored[part][name] = {"value": "other", "about": stored["learnt"].get(name, {}).get("about")}
            with pytest.raises(InputError, match=CHANGED):
                calibrator_from_dict(stored)


@pytest.mark.parametrize(
    ("kind", "attribute", "value", "message"),
    [
        ("HistogramBinning", "values_", np.array([0.1, 0.2, 1.2]), "some probabilities are no probabilities"),
        ("TemperatureScaling", "temperature_", 5e-324, "some probabilities are no probabilities"),
        ("PlattScaling", "slope_", None, "TypeError"),
        ("AutoCalibration", "knots_", None, "AttributeError"),
        ("AutoCalibration", "weights_", np.ones(3), "ValueError"),
    ],
)
def test_values_that_make_no_map_are_refused(kind, attribute, value, message):
    fitted = calibrator_from_dict(MADE[kind])
    setattr(fitted, attribute, value)
    with pytest.raises(
        InputError, match=rf"a complete {kind}; its 'parameters' and 'learnt' do not make a map .{message}"
    ):
        calibrator_from_dict(fitted.to_dict())


def test_maps_of_another_version_are_refused(monkeypatch):
    class Later(PlattScaling):
        pass

    with pytest.raises(InputError, match="must name a calibrator of this version as its type; got 'Later'"):
        calibrator_from_dict(Later().fit(P, Y).to_dict())
    monkeypatch.setattr(PlattScaling, "_state", {"slope": "", "more": ""})
    with pytest.raises(InputError, match="its 'learnt' lacks more and has the unknown eps, intercept"):
        calibrator_from_dict(MADE["PlattScaling"])


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"schema": schema}, "must have schema 1") for schema in (0, 2, 1.0, True, "1")),
        ({"type": "os"}, CHANGED),
        ({"parameters": {}}, CHANGED),
        ({"learnt": []}, CHANGED),
        ({"about": "p"}, CHANGED),
    ],
)
def test_a_damaged_outline_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        PlattScaling.from_dict({**MADE["PlattScaling"], **change})
    with pytest.raises(InputError, match="must be a BetaCalibration; it is a PlattScaling"):
        BetaCalibration.from_dict(MADE["PlattScaling"])
