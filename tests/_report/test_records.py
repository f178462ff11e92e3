"""The JSON of a report has the keys of its schema, and each of them is described."""

import json
from pathlib import Path

import numpy as np
import pytest

import trueness as tn

jsonschema = pytest.importorskip("jsonschema")
FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
SCHEMAS = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.schema.json"))
]
# Names of the user or of the library stand under these keys, or columns of sums.
NAMES = ("definition", "learnt", "parts", "parameters")


def undescribed(schema, path=""):
    """Keys without a word on what they mean."""
    for name, one in schema.get("properties", {}).items():
        if "description" not in one:
            yield f"{path}.{name}"
        if name not in NAMES:
            yield from undescribed(one, f"{path}.{name}")
    inner = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    inner += [schema[key] for key in ("items", "additionalProperties") if schema.get(key)]
    for one in inner:
        if isinstance(one, dict):
            yield from undescribed(one, path)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema["$id"])
def test_every_key_of_a_schema_is_described(schema):
    assert list(undescribed(schema)) == []


@pytest.fixture(scope="module")
def clustered():
    d = tn.simulate.demo(60)
    return tn.report(d.y_true, d.y_prob, cluster=np.arange(60) // 2, intervals=False)


@pytest.mark.parametrize("name", ["multiclass", "off", "few", "two", "clustered"])
def test_a_report_has_the_keys_of_the_schema_and_no_others(name, request):
    (schema,) = (one for one in SCHEMAS if one["$id"] == "report.schema.json")
    found = json.loads(request.getfixturevalue(name).to_json())
    jsonschema.Draft202012Validator(schema).validate(found)


def test_the_first_keys_say_what_the_json_is(few):
    assert list(few.to_dict())[:5] == ["schema", "title", "version", "task", "verdict"]
