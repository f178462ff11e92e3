"""JSON Schemas of what `--format json` prints and files hold, made from the records.

    python docs/schemas/make.py

writes them, and their keys as tables to docs/reference/json.md; a test compares the stored files,
and validates what commands print.
"""

import ast
import dataclasses
import inspect
import json
import re
import sys
import tempfile
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from trueness import results
from trueness._tally import store
from trueness.cli._main import main as command_line
from trueness.infer._catalogue import MEASURES
from trueness.infer.decision._policy import Policy
from trueness.recalibrate import _saving
from trueness.results import _page as records
from trueness.results._gate import DEFINITIONS, Decision, Finding

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "reference" / "json.md"
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


def docstrings(record: type) -> dict[str, str]:
    """The first paragraph of the docstring of each field and property of a record."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__[:-1]):
        if base.__module__.startswith("trueness"):
            found |= own_docstrings(base)
    return found


def own_docstrings(record: type) -> dict[str, str]:
    """Those of the names that this class itself defines."""
    (tree,) = ast.parse(inspect.getsource(record)).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = ast.get_docstring(statement) or ""
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[statement.target.id] = inspect.cleandoc(text.value)
    return {name: in_json(text) for name, text in found.items()}


def in_json(docstring: str) -> str:
    """The first paragraph of a docstring, in the words of JSON."""
    text = " ".join(docstring.partition("\n\n")[0].split())
    text = re.sub(r":\w+:`[\w.~]*?(\w+)`", r"`\1`", text).replace("``", "`")
    return re.sub(r"\b(?:None|nan)\b", "null", text)


def about(schema: Schema, meaning: str) -> Schema:
    """The schema with what the value means."""
    return {**schema, "description": meaning} if meaning else schema


def described(record: type) -> dict[str, Schema]:
    """The schema of each field of a record."""
    hints = typing.get_type_hints(record)
    meanings = docstrings(record)
    return {
        field.name: about(of_type(hints[field.name]), meanings.get(field.name, ""))
        for field in dataclasses.fields(record)
    }


def of_record(record: type) -> Schema:
    """A record of the report; public ones are named, and described where they are made."""
    title = record.__name__
    if getattr(results, title, None) is record:
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


def number_of_schema(number: int) -> Schema:
    meaning = "Number of this schema; raised when a key is removed or changes its meaning."
    return about({"const": number}, meaning)


VERSION = about(TEXT, "Version of trueness.")


def data_schema() -> Schema:
    columns: Schema = {"type": ["string", "array", "null"]}
    properties = {
        "by": about({"type": ["array", "string", "null"]}, "Columns of groups."),
        "label": about(columns, "The column of labels, or one for each model."),
        "weight": about(columns, "The column of weights."),
        "cluster": about(columns, "The column of clusters."),
    }
    return about({"type": "object", "title": "Data", "properties": properties}, "What was read.")


def finding_schema() -> Schema:
    fields = described(Finding)
    names = ("n", "quantity", "bound", "level", "pvalue", "needed")
    properties = {name: fields[name] for name in names}
    properties |= {name: fields[name] for name in ("estimate", "low", "high")}
    properties |= {
        "model": fields["model"],
        "by": about({"type": ["string", "null"]}, "The column of the group."),
        "group": about({}, "The group, or the rule of a slice."),
        "bins": about({"type": ["string", "null"]}, fields["bins"]["description"]),
        "verdict": fields["outcome"],
        "passed": about(FLAG, "Whether this finding passes."),
        "reason": about(TEXT, "A sentence with the limit and the bound."),
    }
    properties["n"] = about({"type": ["integer", "null"]}, fields["n"]["description"])
    return whole(properties, optional=("by", "group"), title="Finding of a gate")


def gate_properties() -> dict[str, Schema]:
    bounds = ("max_ece", "max_l2", "oe_within")
    fields = described(Policy)
    policy = whole(fields, optional=tuple(fields), title="Policy")
    gate = {name: about(NUMBER, fields[name]["description"]) for name in bounds}
    gate |= {
        "policy": about(policy, "The policy, in place of the three bounds."),
        "require": fields["require"],
        "level": fields["level"],
        "passed": about(FLAG, "Whether the gate passes."),
        "outcome": about(of_type(Decision), DEFINITIONS["outcome"]),
        "needed": about({"type": ["integer", "null"]}, "About how many rows would decide."),
    }
    asked = whole(gate, optional=(*bounds, "policy"), title="Decision of a gate")
    findings: Schema = {"type": "array", "items": finding_schema()}
    return {
        "data": data_schema(),
        "gate": about(asked, "What was asked and decided."),
        "findings": about(findings, "One entry for each model, group and bound."),
    }


def gate() -> Schema:
    printed = {"schema": number_of_schema(1), "version": VERSION, **gate_properties()}
    return headed("gate", "trueness gate --format json", whole(printed))


def receipt() -> Schema:
    definition = whole(dict.fromkeys(DEFINITIONS, TEXT))
    digest: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    versions: Schema = {"type": "object", "additionalProperties": TEXT}
    properties: dict[str, Schema] = {
        "schema": number_of_schema(1),
        "what": about({"const": "trueness gate receipt"}, "What the file is."),
        "version": VERSION,
        "versions": about(versions, "Versions of Python and of libraries."),
        "digest": about(digest, DEFINITIONS["digest"]),
        "asked": about(
            {"type": "object", "required": ["files", "policy"]},
            "The files and the policy, with which `trueness verify` repeats the gate.",
        ),
        "definition": about(definition, "What each number means."),
        **gate_properties(),
        "outcome": about(of_type(Decision), DEFINITIONS["outcome"]),
        "headline": about(TEXT, "The decision in a sentence."),
    }
    return headed("receipt", "trueness gate --receipt", whole(properties))


def watch() -> Schema:
    position: Schema = {"type": ["number", "string", "null"]}
    fields = described(results.WatchedSegment)
    segment = {**fields, "since": about(position, fields["since"]["description"])}
    segments: Schema = {"type": "array", "items": whole(segment, title="Watched segment")}
    properties: dict[str, Schema] = {
        "schema": number_of_schema(1),
        "version": VERSION,
        "name": about(TEXT, "The name of the watch."),
        "alpha": about(NUMBER, "The largest probability of a false alarm, over all looks."),
        "by": about({"type": "array", "items": TEXT}, "Columns of segments."),
        "looks": about(WHOLE, "How many looks were entered."),
        "alarm": about(FLAG, "Whether the alarm rings."),
        "position": about(position, "That of the last look."),
        "since": about(position, "When the error probably began, of the clearest segment."),
        "direction": about(TEXT, "That error in words."),
        "resets": about(WHOLE, "How often the watch began again."),
        "late_rows": about(WHOLE, "Rows that came late and were counted."),
        "dropped_rows": about(WHOLE, "Rows that came late and were left out."),
        "segments": about(segments, "All rows, then the segments that are alarms."),
    }
    return headed("watch", "trueness watch --format json", whole(properties))


def report() -> Schema:
    properties = {"schema": number_of_schema(records.SCHEMA), **described(records.Contents)}
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
    tests = about(ANY_OBJECT, "Spiegelhalter's and Cox's tests, by name.")
    text = about(TEXT, "The panel in sentences for a paper.")
    panel = about(
        whole({"tests": tests, "text": text}, title="Panel"), model["panel"]["description"]
    )
    summary = about(whole(summary_properties(), title="Summary"), model["summary"]["description"])
    bins = about(
        whole(bins_properties(), optional=("label",), title="Bins"),
        "The bins of the first picture, as lists with one entry per bin, empty ones included.",
    )
    model |= {"summary": summary, "bins": bins, "panel": or_null(panel)}
    models: Schema = {"type": "array", "items": whole(model, title="Model")}
    properties |= {
        "provenance": about(
            whole(provenance, title="Provenance"), properties["provenance"]["description"]
        ),
        "models": about(models, properties["models"]["description"]),
    }
    return headed("report", "trueness report --format json", whole(properties))


LIMITS = {
    "low": "Lower limit",
    "high": "Upper limit",
    "floor": "Noise floor",
    "floor_high": "What the noise floor exceeds with probability 1 − level",
}


def summary_properties() -> dict[str, Schema]:
    """The numbers of a summary, each measure with its limits and its noise floor."""
    fields = described(records.Summary)
    del fields["estimates"]
    for key in records.MEASURED:
        measure = MEASURES.get(key)
        schema = fields.get(key, NUMBER)
        if "description" not in schema and measure is not None:
            schema = about(schema, measure.definition)
        fields[key] = schema
        name = measure.name if measure else key
        for end, words in LIMITS.items():
            fields[f"{key}_{end}"] = about(NUMBER, f"{words} of {name}; null if there is none.")
    return fields


def bins_properties() -> dict[str, Schema]:
    """The columns of a table of bins with its band, and the intervals of the rates."""
    meanings = docstrings(results.Bands)
    column: Schema = {"type": "array"}
    names = [name for name in results.Bands._columns if name != "label"]
    found = {name: about(column, meanings[name]) for name in names}
    found |= {
        "low": about(column, "Lower end of the band around the mean score."),
        "high": about(column, "Upper end of it."),
        "label": about({"type": ["array", "null"]}, meanings["label"]),
        "interval_low": about(column, "Lower limit of the event rate."),
        "interval_high": about(column, "Upper limit of the event rate."),
        "ratio_low": about(column, "Lower limit of the rate over the mean score."),
        "ratio_high": about(column, "Upper limit of it."),
    }
    texts = {name: about(TEXT, meanings[name]) for name in ("kind", "interval", "band")}
    levels = {name: about(NUMBER, meanings[name]) for name in ("level", "level_each")}
    return found | texts | levels


# ---- what files hold


def a_map() -> Schema:
    learnt = whole({"value": {}, "about": TEXT})
    number: Schema = {"type": "integer", "minimum": 1, "maximum": _saving.SCHEMA}
    properties: dict[str, Schema] = {
        "trueness": about(TEXT, "Version of trueness that wrote the map."),
        "schema": about(number, number_of_schema(1)["description"]),
        "type": about(TEXT, "The class of the calibrator."),
        "parameters": about(ANY_OBJECT, "The options of the calibrator, by name."),
        "learnt": about(
            {"type": "object", "additionalProperties": learnt},
            "What was learnt, by name: the `value`, and what it is `about`.",
        ),
        "about": about(ANY_OBJECT, "Notes of your own."),
        "checksum": about(TEXT, "CRC-32 of all else: a changed number is refused."),
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
    several: Schema = {"type": "array", "items": {"anyOf": parts}}
    properties: dict[str, Schema] = {
        "schema": number_of_schema(store.FORMAT),
        "what": about({"const": f"trueness.{what}"}, "Which sums these are."),
        "kind": about(TEXT, "How scores were compared with labels: 'binary', 'classwise', …"),
        "classes": about({"type": ["array", "null"]}, "The classes in column order."),
        "largest_cluster": about({}, "Rows of the largest cluster, of sums in buckets."),
        "parts": about(several, "Columns of each class, or of the one problem; as in tally files."),
    }
    return whole(properties, title=what)


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


# ---- the page

TITLES = {
    "report": "trueness report",
    "gate": "trueness gate",
    "receipt": "trueness gate --receipt",
    "watch": "trueness watch",
    "map": "A fitted map",
    "sums": "Sums",
}
BEGINNING = """# JSON: what commands print and files hold

`--format json` prints one object; `to_dict()`, `to_json()` and `save` give the same. A number that is undefined or infinite
is null, and tables are lists by column. The tables on this page are made from the records by `python docs/schemas/make.py`,
and so are the JSON Schemas that each section names. Beside a measure stand its limits, `ece_low` and `ece_high`, and its noise floor,
`ece_floor` on average and `ece_floor_high` as the value that it exceeds with probability 1 − level; null where there is none.
"""
PRINTED = {
    "measure": ["measure", "rows.csv"],
    "measure --by": ["measure", "rows.csv", "--by", "region"],
    "measure --panel": ["measure", "rows.csv", "--panel"],
    "test": ["test", "rows.csv"],
    "segments": ["segments", "rows.csv", "--by", "region"],
    "grades": ["grades", "rows.csv", "--bins", "a=0.5,b=1"],
    "compare": ["compare", "rows.csv", "--prob", "p", "--prob", "q"],
    "gate": ["gate", "rows.csv", "--max-ece", "0.9"],
    "plan": ["plan", "--n", "500", "--bins", "2"],
}
"""A call of each further command, from which its keys are read."""
KEYS = {
    "bins": "The bins of each measure, in words.",
    "comparisons": "The fields of `Comparison`, with `estimates_low`, `estimates_high` and `estimates_floor`.",
    "data": "What was read: `source`, `label`, `weight`, `cluster` and `by`.",
    "findings": "See [trueness gate](#trueness-gate).",
    "gate": "See [trueness gate](#trueness-gate).",
    "groups": "`by`, `group` and the `models` of each group.",
    "level": "Level of all limits; left out without limits.",
    "models": "Of `measure`: `name`, `columns`, `classes`, `measures` by key (`ece`, `ece_low`, `ece_floor`; of a matrix "
    "with their view, `ece_classwise`), `infinite`, `methods` of the limits and `notes`. Of `segments`: the fields of `Segments`.",
    "panels": "`model`, and the fields of `Panel`.",
    "plan": "The fields of `GuaranteePlan`, or of `ValidationSize`.",
    "tables": "`model`, and the fields of `GradeTable`, those of a grade as lists.",
    "tests": "`model`, and the fields of `Significance`.",
}


def in_words(title: str) -> str:
    """The name of a record in words."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f" {found[0].lower()}", title)


def type_in_words(schema: Schema) -> str:
    """What a value is, with links to the tables of records."""
    parts = schema.get("anyOf")
    if parts:
        return " or ".join(type_in_words(part) for part in parts)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    kinds = schema.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(kind_in_words(kind, schema) for kind in kinds)


def kind_in_words(kind: str, schema: Schema) -> str:
    """One of the types that a value may have."""
    if kind == "array" and schema.get("items"):
        return f"list of {type_in_words(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        values = type_in_words(schema["additionalProperties"])
        return "object" if values == "any" else f"object of {values}"
    title = schema.get("title", "")
    if kind == "object" and title:
        if "properties" in schema:
            return f"[{in_words(title)}](#{in_words(title).lower().replace(' ', '-')})"
        return f"[{title}](generated/trueness.results.{title}.rst)"
    return {
        "string": "text",
        "integer": "whole number",
        "boolean": "true or false",
        "array": "list",
    }.get(kind, kind)


def records_in(schema: Schema) -> dict[str, Schema]:
    """Records with a table of their own, inside of a schema, by title."""
    found: dict[str, Schema] = {}
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [
        schema[key]
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), dict)
    ]
    for one in inner:
        if "properties" in one and "title" in one:
            found[one["title"]] = one
        found |= records_in(one)
    return found


def rows_of(schema: Schema) -> list[str]:
    """A line for each key; the limits and the floor of a measure share its line."""
    properties = schema["properties"]
    measures = [name for name in properties if f"{name}_floor_high" in properties]
    ends = {name: [f"{name}_{end}" for end in LIMITS] for name in measures}
    beside = {key for keys in ends.values() for key in keys}
    lines = ["| key | type | meaning |", "|---|---|---|"]
    for name, one in properties.items():
        if name in beside:
            continue
        keys = ", ".join(f"`{key}`" for key in [name, *ends.get(name, [])])
        cells = [keys, type_in_words(one), one.get("description", "")]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return lines


def page() -> str:
    """The tables of all schemas."""
    parts = [BEGINNING]
    shown: set[str] = set()
    for name, title in TITLES.items():
        schema = SCHEMAS[name]()
        link = f"Schema: {{download}}`{name}.schema.json <../schemas/{name}.schema.json>`."
        parts += [f"## {title}\n", link + "\n"]
        kinds = schema.get("oneOf", [schema])
        parts += ["\n".join(rows_of(kinds[0])) + "\n"]
        for record, inner in records_in(schema).items():
            if record not in shown:
                shown.add(record)
                parts += [f"### {in_words(record)}\n", "\n".join(rows_of(inner)) + "\n"]
    return "\n".join([*parts, other_commands()])


def other_commands() -> str:
    """The keys of what further commands print."""
    lines = ["| command | keys besides `schema` and `version` |", "|---|---|"]
    runner = CliRunner()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        table = [
            f"{i % 2},{(i % 5 + 1) / 6},{(i % 3 + 1) / 4},{'ab'[i % 4 < 2]}" for i in range(60)
        ]
        rows.write_text("\n".join(["y,p,q,region", *table]), encoding="utf-8")
        for command, words in PRINTED.items():
            given = [str(rows) if word == "rows.csv" else word for word in words]
            printed = runner.invoke(command_line, [*given, "--format", "json"]).stdout
            keys = [key for key in json.loads(printed) if key not in ("schema", "version")]
            lines.append(f"| `{command}` | {', '.join(f'`{key}`' for key in keys)} |")
    meanings = ["| key | meaning |", "|---|---|"]
    meanings += [f"| `{key}` | {meaning} |" for key, meaning in KEYS.items()]
    return "\n".join(["## Other commands", "", *lines, "", *meanings, ""])


def main() -> int:
    for name in SCHEMAS:
        (FOLDER / f"{name}.schema.json").write_text(text(name), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
