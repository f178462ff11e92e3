"""JSON Schemas of what `--format json` prints and files hold, made from the records.

    python docs/schemas/make.py

writes them; a test compares the stored files, and validates what commands print.
"""

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueness import results
from trueness._tally import store
from trueness.infer.decision._policy import Policy
from trueness.recalibrate import _saving
from trueness.results import _page as records
from trueness.results._gate import DEFINITIONS, Decision, Finding

FOLDER = Path(__file__).parent
DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
NUMBER: Schema = {"type": ["number", "null"]}
"""Undefined and infinite numbers are null."""
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY_OBJECT: Schema = {"type": "object"}


def or_null(schema: Schema) -> Schema:
    if not schema or schema == NUMBER:
        return schema
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def of_type(hint: Any) -> Schema:
    """The schema of an annotation."""
    plain = {float: NUMBER, int: WHOLE, str: TEXT, bool: FLAG, Any: {}, object: {}}
    if hint in plain:
        return plain[hint]
    origin = typing.get_origin(hint)
    inner = typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin in (typing.Union, types.UnionType):
        parts = [of_type(one) for one in inner if one is not types.NoneType]
        schema = parts[0] if len(parts) == 1 else {"anyOf": parts}
        return or_null(schema) if types.NoneType in inner else schema
    if origin is np.ndarray:
        return {"type": "array"}
    if origin in (tuple, list):
        return {"type": "array", "items": of_type(inner[0])} if inner else {"type": "array"}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": of_type(inner[1])}
    if dataclasses.is_dataclass(hint):
        return of_record(hint)
    return {}


def described(record: type) -> dict[str, Schema]:
    """The schema of each field of a record."""
    hints = typing.get_type_hints(record)
    return {field.name: of_type(hints[field.name]) for field in dataclasses.fields(record)}


def of_record(record: type) -> Schema:
    """A record of the report; the library's own are named, and described where they are made."""
    title = record.__name__
    if hasattr(record, "to_dict"):
        return {"type": "object", "title": title}
    return whole(described(record), title=title)


def whole(properties: dict[str, Schema], optional: tuple[str, ...] = (), **more: Any) -> Schema:
    """An object with these keys and no others."""
    return {
        "type": "object",
        **more,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def headed(name: str, title: str, schema: Schema) -> Schema:
    return {"$schema": DRAFT, "$id": f"{name}.schema.json", "title": title, **schema}


# ---- what is printed


def data_schema() -> Schema:
    names = ("label", "weight", "cluster")
    properties: dict[str, Schema] = {"by": {"type": ["array", "string", "null"]}}
    properties |= {name: {"type": ["string", "array", "null"]} for name in names}
    return {"type": "object", "properties": properties}


def finding_schema() -> Schema:
    fields = described(Finding)
    names = ("n", "quantity", "bound", "level", "pvalue", "needed")
    properties = {name: fields[name] for name in names}
    properties |= dict.fromkeys(("estimate", "low", "high"), NUMBER)
    properties |= {
        "model": TEXT,
        "by": {"type": ["string", "null"]},
        "group": {},
        "bins": {"type": ["string", "null"]},
        "verdict": fields["outcome"],
        "passed": FLAG,
        "reason": TEXT,
    }
    properties["n"] = {"type": ["integer", "null"]}
    return whole(properties, optional=("by", "group"))


def gate_properties() -> dict[str, Schema]:
    bounds = ("max_ece", "max_l2", "oe_within")
    policy = whole(described(Policy), optional=tuple(described(Policy)))
    gate: dict[str, Schema] = dict.fromkeys(bounds, NUMBER)
    gate |= {
        "policy": policy,
        "require": FLAG,
        "level": NUMBER,
        "passed": FLAG,
        "outcome": of_type(Decision),
        "needed": {"type": ["integer", "null"]},
    }
    return {
        "data": data_schema(),
        "gate": whole(gate, optional=(*bounds, "policy")),
        "findings": {"type": "array", "items": finding_schema()},
    }


def gate() -> Schema:
    printed = {"schema": {"const": 1}, "version": TEXT, **gate_properties()}
    return headed("gate", "trueness gate --format json", whole(printed))


def receipt() -> Schema:
    definition = whole(dict.fromkeys(DEFINITIONS, TEXT))
    properties: dict[str, Schema] = {
        "schema": {"const": 1},
        "what": {"const": "trueness gate receipt"},
        "version": TEXT,
        "versions": {"type": "object", "additionalProperties": TEXT},
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "asked": {"type": "object", "required": ["files", "policy"]},
        "definition": definition,
        **gate_properties(),
        "outcome": of_type(Decision),
        "headline": TEXT,
    }
    return headed("receipt", "trueness gate --receipt", whole(properties))


def watch() -> Schema:
    position: Schema = {"type": ["number", "string", "null"]}
    segment = {**described(results.WatchedSegment), "since": position}
    properties: dict[str, Schema] = {
        "schema": {"const": 1},
        "version": TEXT,
        "name": TEXT,
        "alpha": NUMBER,
        "by": {"type": "array", "items": TEXT},
        "looks": WHOLE,
        "alarm": FLAG,
        "position": position,
        "since": position,
        "direction": TEXT,
        "resets": WHOLE,
        "late_rows": WHOLE,
        "dropped_rows": WHOLE,
        "segments": {"type": "array", "items": whole(segment, title="WatchedSegment")},
    }
    return headed("watch", "trueness watch --format json", whole(properties))


def report() -> Schema:
    properties = {"schema": {"const": records.SCHEMA}, **described(records.Contents)}
    left_out = ("commands", "arguments", "cluster", "cluster_name", "other", "of_answers")
    provenance = {
        name: schema
        for name, schema in described(records.Provenance).items()
        if name not in left_out
    }
    model = {
        "bins" if name == "picture" else name: schema
        for name, schema in described(records.Model).items()
        if name not in ("explorers", "coverage", "level_histogram", "advice")
    }
    panel = whole({"tests": ANY_OBJECT, "text": TEXT})
    model |= {"summary": ANY_OBJECT, "bins": ANY_OBJECT, "panel": or_null(panel)}
    properties |= {
        "provenance": whole(provenance, title="Provenance"),
        "models": {"type": "array", "items": whole(model, title="Model")},
    }
    return headed("report", "trueness report --format json", whole(properties))


# ---- what files hold


def a_map() -> Schema:
    learnt = whole({"value": {}, "about": TEXT})
    properties: dict[str, Schema] = {
        "trueness": TEXT,
        "schema": {"type": "integer", "minimum": 1, "maximum": _saving.SCHEMA},
        "type": TEXT,
        "parameters": ANY_OBJECT,
        "learnt": {"type": "object", "additionalProperties": learnt},
        "about": ANY_OBJECT,
        "checksum": TEXT,
    }
    return headed(
        "map", "A fitted map: `to_dict()`, `save`", whole(properties, optional=("about",))
    )


def sums() -> Schema:
    kinds = [_sums_of(what, form) for what, form in store._FORMS.items()]
    title = "Sums: `to_dict()` of tallies, bins and sketches"
    return headed("sums", title, {"oneOf": kinds})


def _sums_of(what: str, form: Any) -> Schema:
    parts = []
    for layout in form.layouts:
        columns: dict[str, Schema] = {name: {"type": "array"} for name in sorted(layout)}
        columns |= dict.fromkeys(sorted(form.flags), FLAG)
        parts.append(whole(columns))
    properties: dict[str, Schema] = {
        "schema": {"const": store.FORMAT},
        "what": {"const": f"trueness.{what}"},
        "kind": TEXT,
        "classes": {"type": ["array", "null"]},
        "largest_cluster": {},
        "parts": {"type": "array", "items": {"anyOf": parts}},
    }
    return whole(properties)


SCHEMAS = {
    "report": report,
    "gate": gate,
    "receipt": receipt,
    "map": a_map,
    "sums": sums,
    "watch": watch,
}


def text(name: str) -> str:
    """The file of a schema."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    for name in SCHEMAS:
        (FOLDER / f"{name}.schema.json").write_text(text(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
