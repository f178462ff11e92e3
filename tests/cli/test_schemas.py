"""What commands print keeps the JSON Schemas of docs/schemas, which are made from the records."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import trueness as tn

jsonschema = pytest.importorskip("jsonschema")
FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
NAMES = ("report", "gate", "receipt", "map", "sums", "watch")


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("schemas_make", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keeps(name, value):
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(value)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 300).round(3)
    return (rng.uniform(size=300) < p).astype(int), p


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_schema_is_the_one_of_the_records(made, name):
    stored = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert stored == made.text(name), "run `python docs/schemas/make.py`"


@pytest.mark.slow
def test_the_page_of_keys_is_the_one_of_the_schemas(made):
    stored = made.PAGE.read_text(encoding="utf-8")
    assert stored == made.page(), "run `python docs/schemas/make.py`"


def test_a_gate_and_its_receipt_keep_their_schemas(call, tmp_path):
    words = ["gate", "--demo", "--rows", "300", "--prob", "recalibrated", "--max-ece", "0.1"]
    keeps("gate", json.loads(call(*words, "--format", "json").stdout))
    (tmp_path / "p.toml").write_text("max_l2 = 0.2\nrequire = true\nmin_rows = 400\n")
    policy = [*words[:6], "--policy", "p.toml", "--receipt", "r.json", "--format", "json"]
    keeps("gate", json.loads(call(*policy).stdout))
    receipt = json.loads((tmp_path / "r.json").read_text())
    keeps("receipt", receipt)
    with pytest.raises(jsonschema.ValidationError):
        keeps("receipt", {**receipt, "outcome": "perhaps"})


def test_a_watch_keeps_its_schema(call, tmp_path, rows):
    y, p = rows
    watch = tn.Watch(name="x")
    watch.update(y, p, by=np.arange(300) % 2)
    watch.save(tmp_path / "s.json")
    keeps("watch", json.loads(call("watch", "s.json", "--format", "json").stdout))


@pytest.mark.parametrize("make", [tn.tally, tn.sketch, tn.binned])
def test_sums_keep_their_schema(make, rows):
    options = {"bins": 5} if make is tn.binned else {}
    keeps("sums", make(*rows, **options).to_dict())
    keeps("sums", make(*rows, sample_weight=np.linspace(0.5, 1, 300), **options).to_dict())


@pytest.mark.parametrize("calibrator", [tn.PlattScaling, tn.IsotonicCalibration])
def test_a_map_keeps_its_schema(calibrator, rows):
    y, p = rows
    keeps("map", calibrator().fit(p, y).to_dict())


@pytest.mark.slow
def test_a_report_keeps_its_schema(rows):
    y, p = rows
    by = {"g": np.where(np.arange(300) % 2, "a", "b")}
    keeps("report", json.loads(tn.report(y, p, by=by).to_json()))
    keeps("report", json.loads(tn.report(y, {"a": p, "b": p**2}).to_json()))
    keeps("report", json.loads(tn.report(tn.sketch(y, p)).to_json()))
