"""``trueness grades``."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Cell, Column, Table
from trueness.cli._columns import Group, Request, group_columns
from trueness.cli._dataset import Arguments, Rows, read_rows
from trueness.cli._messages import reword_messages, warning, wording
from trueness.cli._sums import file_names, read_total
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

_BINS = "Grades by score: names with upper cut-offs, A=0.01,B=0.05,C=1; or edges 0,0.01,0.05,1, or mass:10."


_KINDS: dict[str, Any] = {"grade": "name", "light": "text", "few": "text"}


@opt.command("grades")
@opt.data()
@opt.seed("Seed of the demo data.")
@opt.text("--grades", "Column with the grade of each row.")
@opt.text("--bins", _BINS, metavar="CUT-OFFS")
@opt.number(
    "--correlation",
    "Asset correlation: how strongly events depend on each other.",
    0.0,
    opt.Between(0, 1, max_open=True),
)
@opt.choice(
    "--portfolio",
    ("infinite", "finite"),
    "infinite",
    "With a correlation: limits for infinitely many rows, or for the actual number.",
)
@opt.number("--amber", "A grade is amber above the one-sided limit of this level.", 0.95, opt.Between(0, 1))
@opt.number("--red", "A grade is red above the one-sided limit of this level.", 0.999, opt.Between(0, 1))
@opt.level(0.95, "Confidence level of the other limits.", least=0.5)
@opt.output()
def command(**options: Any) -> None:
    """Compare predicted and observed events by rating grade.

    Prints, for each grade and in total, a traffic light, the predicted probability of default (PD), events expected and
    observed, the observed rate with exact limits, the largest numbers of events that are still green and still not red,
    and the probability of at least as many events if the PD is right. Without --grades and --bins each distinct score
    is a grade. A .tally file can be used instead of rows; it needs --bins.

    \b
      trueness grades loans.csv --label default --prob pd --grades rating
      trueness grades loans.csv --label default --prob pd --bins A=0.01,B=0.1,C=1
      trueness grades 2025.tally --bins A=0.01,B=0.1,C=1 -o grades.csv

    Exit code 0: compared, whatever the lights; 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input(only_demo=("rows", "seed"))
    target = Target.pop_from(options)
    lights = options.pop("amber"), options.pop("red")
    if not 0 < lights[0] < lights[1] < 1:
        raise click.UsageError("--amber must lie above 0 and below --red, and --red below 1.")
    settings: dict[str, Any] = {
        "bins": _cut_offs(options.pop("bins")),
        "lights": lights,
        **{name: options.pop(name) for name in ("level", "correlation", "portfolio")},
    }
    if any(name.endswith(".tally") for name in options["files"]):
        if options["grades"] is not None:
            raise click.UsageError("--grades needs rows; a .tally file has none. --bins makes grades of cut-offs.")
        results, data = _of_sums(options["files"], target.path, settings)
        target.deliver(_output(results, data))
        return
    request = Request.pop_from(options)
    if request.grades is not None and "=" in request.grades and settings["bins"] is None:
        remedy = "Pass cut-offs with `--bins`."
        raise InputError("--grades", "must name a column", f"got {request.grades!r}", remedy=remedy)
    if request.grades is not None and settings["bins"] is not None:
        raise click.UsageError("Give --grades or --bins, not both.")
    rows = read_rows(request)
    data = rows.choice.about(rows.source) | {"grades": rows.choice.grades}

    def ask(one: Arguments, part: Rows) -> "tn.GradeTable":
        grades = None if part.choice.grades is None else part.columns.groups[part.choice.grades]
        return tn.grade_table(one.y_true, one.y_prob, grades=grades, **settings, **one.rows)

    target.deliver(_output([(group, model.name, table) for group, model, table in rows.each("Grading", ask)], data))


def _cut_offs(typed: str | None) -> Any:
    """Read ``--bins``: names with upper cut-offs, or what other commands take.

    >>> _cut_offs("A=0.01, B=1")
    {'A': 0.01, 'B': 1.0}
    """
    if typed is None or "=" not in typed:
        return opt.bin_rule(typed)
    cuts: dict[str, float] = {}
    for part in typed.split(","):
        name, _, number = (piece.strip() for piece in part.rpartition("="))
        try:
            cut = float(number)
        except ValueError:
            demand = "must have a name and an upper cut-off for each grade, such as A=0.01,B=0.05,C=1"
            raise InputError("--bins", demand, f"got {part.strip()!r}") from None
        if name in cuts or not name:
            demand = "must have a different name for each grade"
            raise InputError("--bins", demand, f"got {name!r} twice" if name else f"got {part.strip()!r}")
        cuts[name] = cut
    return cuts


def _of_sums(
    files: Sequence[str], output: str | None, settings: dict[str, Any]
) -> "tuple[list[tuple[Group, str, tn.GradeTable]], dict[str, Any]]":
    sums, total = read_total(files, output)
    names = [name for name, _ in sums]
    parts: dict[Group, Any] = {Group(): total.total}
    parts |= {Group.of_sums(total.by, key): part for key, part in total.groups.items()} if total.by else {}
    results, model = [], str(total.about.get("prob", ""))
    for group, part in parts.items():
        with reword_messages(wording(), group.name(file_names(names))) as warned:
            results.append((group, model, tn.grade_table(part, **settings)))
        warning(*warned, about=group.name(model))
    return results, {"source": file_names(names), "label": total.about.get("label")}


def _output(results: "Sequence[tuple[Group, str, tn.GradeTable]]", data: dict[str, Any]) -> Output:
    first = results[0][2]
    titles = first.titles
    several = len({model for _, model, _ in results}) > 1
    columns = [
        *group_columns(group.by for group, *_ in results),
        Column("model", "model", "name", "all" if several else "data"),
        *(
            Column(name, titles.get(name, name), _KINDS.get(name, "number"), "all" if name in titles else "data", more)
            for name, more in ((f.name, f.name.endswith("_above")) for f in fields(tn.Grade))
        ),
    ]
    notes = [f"Data: {data['source']}, labels {data['label']!r}.", first.rule]
    shared = [text for text in first.findings if all(text in table.findings for *_, table in results)]
    rows, tables = [], []
    for group, model, table in results:
        named = {**group.entry(), "model": model}
        lines = zip((*table.grades, table.total), table.texts(), strict=True)
        rows += [named | _cells(line, text) for line, text in lines]
        tables.append(named | table.to_dict())
        about = f"{group.name(model)}: " if len(results) > 1 else ""
        notes += [f"{about}{text}" for text in table.findings if text not in shared]
    notes = [wording().spell(text) for text in (*notes, *shared)]
    return Output(Table(columns, rows, notes), {"data": data, "tables": tables})


def _cells(grade: "tn.Grade", texts: Mapping[str, str]) -> dict[str, Cell]:
    cells = {key: Cell(value, texts.get(key)) for key, value in grade.to_dict().items()}
    return cells | {"light": cells["light"]._replace(mark="flag" if grade.light in ("amber", "red") else "")}
