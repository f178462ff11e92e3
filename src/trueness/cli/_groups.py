"""``trueness segments``, ``trueness slices`` and ``trueness grades``: rows in groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import level_percent, signed_with_limits, total
from trueness._text.table import Cell, Column, Table
from trueness.cli._columns import Group, Request, group_columns
from trueness.cli._dataset import Arguments, Rows, as_numbers, read_rows
from trueness.cli._printing import Output, Target, reword_messages, warning, wording
from trueness.cli._tally import file_names, read_total
from trueness.errors import InputError

_CORRELATION = "Asset correlation: how strongly events depend on each other."
_PORTFOLIO = "With a correlation: limits for infinitely many rows, or for the actual number."
_BINS = "Grades by score: names with upper cut-offs, A=0.01,B=0.05,C=1; or edges 0,0.01,0.05,1, or mass:10."
_KINDS: dict[str, Any] = {"grade": "name", "light": "text", "few": "text"}


@opt.command("segments")
@opt.data(events=True)
@opt.count(
    "--crossed", "With several --by: cross up to this many columns; 2 adds every pair of values.", 1
)
@opt.cluster
@opt.level(
    0.95,
    "Confidence level of the limits and of the joint test, over all segments together.",
    least=0.5,
)
@opt.rounded_to("The scores were rounded to multiples of this")
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.seed()
@opt.output()
def segments(**options: Any) -> None:
    """Find the segments in which a model is wrong.

    Every value of the columns that --by names is a segment. All are tested jointly: if the scores
    are calibrated, the probability that any segment is flagged is at most 1 - level. The costliest
    segment comes first.

    \b
      trueness segments rows.csv --label churned --prob model --by region
      trueness segments rows.csv --label y --prob p --by shop --by age --crossed 2

    Exit code 0: tested, whatever the result (to fail a build, use `trueness gate --by`). 2: the
    options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if not options["by"]:
        raise click.UsageError("Give a column of segments: --by NAME.")
    target = Target.pop_from(options)
    settings = {
        name: options[name] for name in ("crossed", "level", "rounded_to", "resamples", "seed")
    }
    rows = read_rows(Request.pop_from(options), gaps=True)
    by = {name: rows.columns.groups[name] for name in rows.choice.by}
    models = _of_models(rows, tn.segments, by, settings, "Testing the segments")
    first = next(iter(models.values()))
    one_column = len(set(first.column)) == 1
    lead = [
        Column("column", "by", "name", "data" if one_column else "all"),
        Column("value", first.column[0] if one_column else "segment", "name"),
    ]
    gap = (
        "Gap: observed minus expected rate of events, in percentage points; its limits hold for all segments together. "
        "Flagged: the gap or the slope is wrong (adjusted p). Sorted by cost, the share of the rows times the squared "
        "gap (that of a small segment shrunk): what a correct mean would save of the Brier score."
    )
    target.deliver(_gap_output(rows, models, lead, ("n", "events", "adjusted_pvalue"), gap))


@opt.command("slices")
@opt.data(by=False, events=True)
@opt.text(
    "--by",
    "Columns to look at, separated by commas. Repeatable.",
    metavar="NAMES",
    multiple=True,
)
@opt.count(
    "--depth",
    "The most columns in a slice; from 3 on, found in one half of the rows, tested on the other.",
    2,
)
@opt.count(
    "--min-rows",
    "The least number of rows in a slice, or each half.  [default: a thousandth of all, at least 50]",
)
@opt.count("--most", "The most slices to show.", 10)
@opt.cluster
@opt.level(
    0.95,
    "Confidence level of the limits and of the joint test, over all slices together.",
    least=0.5,
)
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.seed()
@opt.output()
def slices(**options: Any) -> None:
    """Find the slices where a model is wrong, among many columns.

    A slice is a value of a column, or values of two columns: "age < 25 and region = north". All are
    tested jointly: if the scores are calibrated, the probability that any slice is flagged is at
    most 1 - level. Slices that share the rows of a slice above them are left out of the table; CSV
    and JSON have them.

    \b
      trueness slices rows.csv --label y --prob p --by age,region,shop
      trueness slices rows.csv --label y --prob p --by age,region --depth 3

    Exit code 0: tested, whatever the result. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    listed = (name.strip() for name in ",".join(options["by"]).split(","))
    options["by"] = tuple(dict.fromkeys(name for name in listed if name))
    if not options["by"]:
        raise click.UsageError("Give the columns to look at: --by NAME,NAME.")
    target = Target.pop_from(options)
    most = options.pop("most")
    settings = {name: options[name] for name in ("depth", "min_rows", "level", "resamples", "seed")}
    rows = read_rows(Request.pop_from(options), gaps=True)
    columns = {name: as_numbers(rows.columns.groups[name]) for name in rows.choice.by}
    found = _of_models(rows, tn.worst_slices, columns, settings, "Testing the slices")
    gap = (
        "Gap: observed minus expected rate of events, in percentage points; its limits hold for all slices that were "
        f"tested, also for the worst. Method: {next(iter(found.values())).method}."
    )
    keys = ("rows", "observed", "adjusted_p")
    target.deliver(_gap_output(rows, found, [Column("rule", "slice")], keys, gap, most))


def _of_models(
    rows: Rows, test: Callable[..., Any], columns: Any, settings: dict[str, Any], doing: str
) -> dict[str, Any]:
    """The segments or slices of each model, all rows at once."""
    from trueness.recalibrate._segment import (
        advice,
    )  # imports scikit-learn, which help does not need

    def ask(one: Arguments, part: Rows) -> Any:
        found = test(one.y_true, one.y_prob, columns, cluster=part.cluster, **settings, **one.rows)
        if part.choice.statements is not None:
            return found
        own: Any = {name: one.rows.get(name) for name in ("labels", "pos_label", "sample_weight")}
        said = advice(found, one.y_prob, one.y_true, columns, cluster=part.cluster, **own)
        return replace(found, notes=(*found.notes, *said))

    whole = replace(rows, choice=replace(rows.choice, by=()))
    return {model.name: found for _, model, found in whole.each(doing, ask)}


def _gap_output(
    rows: Rows,
    models: dict[str, Any],
    lead: Sequence[Column],
    keys: Sequence[str],
    gap: str,
    most: int | None = None,
) -> Output:
    """A line for each segment or slice, for up to `most` of those to be shown.

    CSV and JSON have all.

    `keys` are those of rows, events and adjusted p-value. Of slices, those to be shown are all
    flagged, or none.
    """
    first, several, (n, events, pvalue) = next(iter(models.values())), len(models) > 1, keys
    columns = [
        Column("model", "model", "name", "all" if several else "data"),
        *lead,
        Column(n, "rows", "count", optional=most is None),
        Column(events, "observed", "number"),
        Column("expected", "expected", "number", optional=most is None),
        Column("gap", "gap", "number"),
        Column("limits", f"{level_percent(first.level)} limits", "number", "table"),
        Column(pvalue, "adjusted p", "p"),
        Column("finding", "flagged", optional=most is not None),
    ]
    named = {column.key for column in columns}
    columns += [Column(key, key, forms="data") for key in first.columns() if key not in named]
    every = [
        [{"model": name, **_cells(row, events)} for row in one.rows()]
        for name, one in models.items()
    ]
    some = [
        [lines[i] for i in one.shown[:most]]
        for lines, one in zip(every, models.values(), strict=True)
    ]
    found = [f"{name}: {one.sentence}" if several else one.sentence for name, one in models.items()]
    notes = [f"{rows.choice.in_words(rows.source)}.", *found, gap, *first.notes]
    whole, table = (
        Table(columns, [line for lines in parts for line in lines], notes)
        for parts in (every, some)
    )
    entries = [{"model": name, **one.to_dict()} for name, one in models.items()]
    return Output(table, {"data": rows.choice.about(rows.source), "models": entries}, csv=whole)


def _cells(row: dict[str, Any], events: str) -> dict[str, Any]:
    gap, low, high = signed_with_limits(
        100 * row["gap"], 100 * row["gap_low"], 100 * row["gap_high"], decimals=1
    )
    texts = {
        events: total(row[events]),
        "expected": f"{row['expected']:,.1f}",
        "gap": gap,
    }
    cells = {key: Cell(row[key], text) for key, text in texts.items()}
    limits = Cell(row["gap_low"], f"{low} to {high}")
    return {**row, **cells, "limits": limits, "finding": row["finding"] or None}


@opt.command("grades")
@opt.data()
@opt.seed("Seed of the demo data.")
@opt.text("--grades", "Column with the grade of each row.")
@opt.text("--bins", _BINS, metavar="CUT-OFFS")
@opt.number("--correlation", _CORRELATION, 0.0, opt.Between(0, 1, max_open=True))
@opt.choice("--portfolio", "infinite finite", _PORTFOLIO, default="infinite")
@opt.number(
    "--amber", "A grade is amber above the one-sided limit of this level.", 0.95, opt.Between(0, 1)
)
@opt.number(
    "--red", "A grade is red above the one-sided limit of this level.", 0.999, opt.Between(0, 1)
)
@opt.level(0.95, "Confidence level of the other limits.", least=0.5)
@opt.output()
def grades(**options: Any) -> None:
    """Compare predicted and observed events by rating grade.

    Prints, for each grade and in total, a traffic light, the predicted probability of default (PD),
    events expected and observed, the observed rate with exact limits, the largest numbers of events
    that are still green and still not red, and the probability of at least as many events if the PD
    is right. Without --grades and --bins each distinct score is a grade. A .tally file can be used
    instead of rows; it needs --bins.

    \b
      trueness grades loans.csv --label default --prob pd --grades rating
      trueness grades loans.csv --label default --prob pd --bins A=0.01,B=0.1,C=1
      trueness grades 2025.tally --bins A=0.01,B=0.1,C=1 -o grades.csv

    Exit code 0: compared, whatever the lights; 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_only_demo("seed")
    target = Target.pop_from(options)
    lights = options.pop("amber"), options.pop("red")
    if not 0 < lights[0] < lights[1] < 1:
        raise click.UsageError("--amber must lie above 0 and below --red, and --red below 1.")
    settings: dict[str, Any] = {
        name: options.pop(name) for name in ("level", "correlation", "portfolio")
    }
    settings |= {"bins": _cut_offs(options.pop("bins")), "lights": lights}
    if any(name.endswith(".tally") for name in options["files"]):
        if options["grades"] is not None:
            raise click.UsageError(
                "--grades needs rows; a .tally file has none. --bins makes grades of cut-offs."
            )
        return target.deliver(_grades_output(*_of_sums(options["files"], target.path, settings)))
    request = Request.pop_from(options)
    if request.grades is not None and "=" in request.grades and settings["bins"] is None:
        remedy = "Pass cut-offs with `--bins`."
        raise InputError("--grades", "must name a column", f"got {request.grades!r}", remedy=remedy)
    if request.grades is not None and settings["bins"] is not None:
        raise click.UsageError("Give --grades or --bins, not both.")
    rows = read_rows(request)
    data = rows.choice.about(rows.source) | {"grades": rows.choice.grades}

    def ask(one: Arguments, part: Rows) -> "tn.results.GradeTable":
        grades = None if part.choice.grades is None else part.columns.groups[part.choice.grades]
        return tn.grade_table(one.y_true, one.y_prob, grades=grades, **settings, **one.rows)

    results = [(group, model.name, table) for group, model, table in rows.each("Grading", ask)]
    return target.deliver(_grades_output(results, data))


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
            demand = (
                "must have a name and an upper cut-off for each grade, such as A=0.01,B=0.05,C=1"
            )
            raise InputError("--bins", demand, f"got {part.strip()!r}") from None
        if name in cuts or not name:
            demand = "must have a different name for each grade"
            raise InputError(
                "--bins", demand, f"got {name!r} twice" if name else f"got {part.strip()!r}"
            )
        cuts[name] = cut
    return cuts


def _of_sums(
    files: Sequence[str], output: str | None, settings: dict[str, Any]
) -> "tuple[list[tuple[Group, str, tn.results.GradeTable]], dict[str, Any]]":
    sums, total = read_total(files, output)
    parts: dict[Group, Any] = {Group(): total.total}
    parts |= (
        {Group.of_sums(total.by, key): part for key, part in total.groups.items()}
        if total.by
        else {}
    )
    results = []
    model = str(total.about.get("prob", ""))
    for group, part in parts.items():
        with reword_messages(wording(), group.name(file_names(sums))) as warned:
            results.append((group, model, tn.grade_table(part, **settings)))
        warning(*warned, about=group.name(model))
    return results, {"source": file_names(sums), "label": total.about.get("label")}


def _grades_output(
    results: "Sequence[tuple[Group, str, tn.results.GradeTable]]", data: dict[str, Any]
) -> Output:
    first = results[0][2]
    columns = group_columns(group.by for group, *_ in results)
    titles = first.titles
    several = len({model for _, model, _ in results}) > 1
    columns.append(Column("model", "model", "name", "all" if several else "data"))
    for name in (field.name for field in fields(tn.results.Grade)):
        shown: Any = {
            "forms": "all" if name in titles else "data",
            "optional": name.endswith("_above"),
        }
        columns.append(Column(name, titles.get(name, name), _KINDS.get(name, "number"), **shown))
    notes = [f"Data: {data['source']}, labels {data['label']!r}.", first.rule]
    shared = [
        text for text in first.findings if all(text in table.findings for *_, table in results)
    ]
    rows = []
    tables = []
    for group, model, table in results:
        named = {**group.entry(), "model": model}
        lines = zip((*table.grades, table.total), table.texts(), strict=True)
        rows += [named | _grade_cells(line, text) for line, text in lines]
        tables.append(named | table.to_dict())
        about = f"{group.name(model)}: " if len(results) > 1 else ""
        notes += [f"{about}{text}" for text in table.findings if text not in shared]
    notes = [wording().spell(text) for text in (*notes, *shared)]
    return Output(Table(columns, rows, notes), {"data": data, "tables": tables})


def _grade_cells(grade: "tn.results.Grade", texts: Mapping[str, str]) -> dict[str, Cell]:
    cells = {key: Cell(value, texts.get(key)) for key, value in grade.to_dict().items()}
    return cells | {
        "light": cells["light"]._replace(mark="flag" if grade.light in ("amber", "red") else "")
    }
