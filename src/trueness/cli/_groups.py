"""``trueness segments``, ``trueness slices`` and ``trueness grades``: rows in groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import level_percent, signed_with_limits, total
from trueness._text.table import Cell, Column, Table
from trueness.cli._command import command
from trueness.cli._printing import (
    Output,
    Target,
    data_columns,
    group_columns,
    model_if,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._reading import ask_each, read_rows
from trueness.cli._tally import file_names, read_total
from trueness.errors import InputError
from trueness.sources._columns import as_numbers
from trueness.sources._data_set import DataSet
from trueness.sources._request import Group, Request

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule
    from trueness.results import Segments, Slices
    from trueness.typing import Columns

_CORRELATION = "Asset correlation: how strongly events depend on each other."
_PORTFOLIO = "With a correlation: limits for infinitely many rows, or for the actual number."
_BINS = (
    "Grades by score: names with upper cut-offs, A=0.01,B=0.05,C=1; or edges 0,0.01,0.05,1, or "
    "mass:10."
)
_KINDS: dict[str, Any] = {"grade": "name", "light": "text", "few": "text"}


@command("segments")
@opt.data(events=True)
@opt.count(
    "--crossed", "With several --by: cross up to this many columns; 2 adds every pair of values.", 1
)
@opt.cluster
@opt.level(
    0.95,
    "Confidence level of the limits and of the joint test, over all segments together.",
    minimum=0.5,
)
@opt.rounded_to("The scores were rounded to multiples of this")
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.seed()
@opt.output()
def segments(request: Request, target: Target, **options: object) -> None:
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
    if not request.by:
        raise click.UsageError("Give a column of segments: --by NAME.")
    rows = read_rows(request, gaps=True)
    models = _of_models(rows, tn.segments, rows.by, options, "Testing the segments")
    first = next(iter(models.values()))
    if len(set(first.column)) == 1:
        lead = [Column("column", "by", "name", "data"), Column("value", first.column[0], "name")]
    else:
        lead = [Column("column", "by", "name"), Column("value", "segment", "name")]
    gap = (
        "Gap: observed minus expected rate of events, in percentage points; its limits hold for "
        "all segments together. Flagged: the gap or the slope is wrong (adjusted p). Sorted by "
        "cost, the share of the rows times the squared gap (that of a small segment shrunk): what "
        "a correct mean would save of the Brier score."
    )
    target.deliver(_gap_output(rows, models, lead, ("n", "events", "adjusted_pvalue"), gap))


@command("slices")
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
    "The least number of rows in a slice, or each half.  "
    "[default: a thousandth of all, at least 50]",
)
@opt.count("--most", "The most slices to show.", 10)
@opt.cluster
@opt.level(
    0.95,
    "Confidence level of the limits and of the joint test, over all slices together.",
    minimum=0.5,
)
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.seed()
@opt.output()
def slices(request: Request, target: Target, **values: object) -> None:
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
    options: dict[str, Any] = values
    listed = (name.strip() for name in ",".join(request.by).split(","))
    request = replace(request, by=tuple(dict.fromkeys(name for name in listed if name)))
    if not request.by:
        raise click.UsageError("Give the columns to look at: --by NAME,NAME.")
    limit = options.pop("most")
    rows = read_rows(request, gaps=True)
    columns = {name: as_numbers(column) for name, column in rows.by.items()}
    models = _of_models(rows, tn.worst_slices, columns, options, "Testing the slices")
    gap = (
        "Gap: observed minus expected rate of events, in percentage points; its limits hold for "
        "all slices that were tested, also for the worst. "
        f"Method: {next(iter(models.values())).method}."
    )
    keys = ("rows", "observed", "adjusted_p")
    target.deliver(_gap_output(rows, models, [Column("rule", "slice")], keys, gap, limit))


def _of_models(
    rows: DataSet,
    test: "Callable[..., Segments | Slices]",
    columns: "Columns",
    settings: dict[str, Any],
    doing: str,
) -> dict[str, Any]:
    """The segments or slices of each model, all rows at once."""
    # Imports scikit-learn, which help does not need.
    from trueness.recalibrate._segment import advice

    def ask(part: DataSet) -> "Segments | Slices":
        """The segments or slices of one model; of labels and scores, with advice in sentences."""
        segments = test(
            part.y_true, part.y_prob, columns, cluster=part.cluster, **settings, **part.options
        )
        if part.statements is not None:
            return segments
        named = ("labels", "pos_label", "sample_weight")
        options: dict[str, Any] = {
            name: value for name, value in part.options.items() if name in named
        }
        sentences = advice(
            segments, part.y_prob, part.y_true, columns, cluster=part.cluster, **options
        )
        return replace(segments, notes=(*segments.notes, *sentences))

    answers = ask_each(rows.whole(), doing, ask, options={"columns": "--by"})
    return {part.model.name: segments for part, segments in answers}


def _gap_output(
    rows: DataSet,
    models: dict[str, Any],
    lead: Sequence[Column],
    keys: Sequence[str],
    gap: str,
    limit: int | None = None,
) -> Output:
    """A line for each segment or slice; the table shows at most `limit`, CSV and JSON have all.

    `keys` are those of rows, events and adjusted p-value. Of slices, those to be shown are all
    flagged, or none.
    """
    first = next(iter(models.values()))
    several = len(models) > 1
    n, events, pvalue = keys
    columns = [
        model_if(several),
        *lead,
        Column(n, "rows", "count", optional=limit is None),
        Column(events, "observed", "number"),
        Column("expected", "expected", "number", optional=limit is None),
        Column("gap", "gap", "number"),
        Column("limits", f"{level_percent(first.level)} limits", "number", "table"),
        Column(pvalue, "adjusted p", "p"),
        Column("finding", "flagged", optional=limit is not None),
    ]
    named = {column.key for column in columns}
    columns += data_columns(*(key for key in first.columns() if key not in named))
    lines = []
    shown = []
    sentences = []
    entries = []
    for name, segments in models.items():
        model_lines = [{"model": name, **_cells(row, events)} for row in segments.rows()]
        lines += model_lines
        shown += [model_lines[i] for i in segments.shown[:limit]]
        sentences.append(f"{name}: {segments.sentence}" if several else segments.sentence)
        entries.append({"model": name, **segments.to_dict()})
    notes = [rows.sentence, *sentences, gap, *first.notes]
    return Output(
        Table(columns, shown, notes),
        {"data": rows.entry, "models": entries},
        csv=Table(columns, lines, notes),
    )


def _cells(row: dict[str, Any], events: str) -> dict[str, Any]:
    """The cells of one segment as printed: the gap and its limits in percentage points.

    `row` holds its numbers, and `events` is the name of the column of events.
    """
    gap, low, high = signed_with_limits(
        100 * row["gap"], 100 * row["gap_low"], 100 * row["gap_high"], decimals=1
    )
    return {
        **row,
        events: Cell(row[events], total(row[events])),
        "expected": Cell(row["expected"], f"{row['expected']:,.1f}"),
        "gap": Cell(row["gap"], gap),
        "limits": Cell(row["gap_low"], f"{low} to {high}"),
        "finding": row["finding"] or None,
    }


@command("grades")
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
@opt.level(0.95, "Confidence level of the other limits.", minimum=0.5)
@opt.output()
def grades(
    request: Request,
    target: Target,
    *,
    bins: str | None,
    amber: float,
    red: float,
    **options: object,
) -> None:
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
    if not 0 < amber < red < 1:
        raise click.UsageError("--amber must lie above 0 and below --red, and --red below 1.")
    rule = _cut_offs(bins)
    del options["seed"]  # of the demo data
    settings = {**options, "bins": rule, "lights": (amber, red)}
    if any(name.endswith(".tally") for name in request.files):
        if request.grades is not None:
            raise click.UsageError(
                "--grades needs rows; a .tally file has none. --bins makes grades of cut-offs."
            )
        return target.deliver(_grades_output(*_of_sums(request.files, target.path, settings)))
    if request.grades is not None and "=" in request.grades and rule is None:
        remedy = "Pass cut-offs with `--bins`."
        raise InputError("--grades", "must name a column", f"got {request.grades!r}", remedy=remedy)
    if request.grades is not None and rule is not None:
        raise click.UsageError("Give --grades or --bins, not both.")
    rows = read_rows(request)
    data = rows.entry | {"grades": rows.request.grades}

    def ask(part: DataSet) -> "tn.results.GradeTable":
        return part.ask(tn.grade_table, grades=part.grades, **settings)

    results = []
    for part, table in ask_each(rows, "Grading", ask):
        results.append(_Graded(part.group, part.model.name, table))
    return target.deliver(_grades_output(results, data))


def _cut_offs(typed: str | None) -> "BinRule | dict[str, float] | None":
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
            got = f"got {name!r} twice" if name else f"got {part.strip()!r}"
            raise InputError("--bins", demand, got)
        cuts[name] = cut
    return cuts


class _Graded(NamedTuple):
    """The grades of one model in one group."""

    group: Group
    model: str
    table: "tn.results.GradeTable"


def _of_sums(
    files: Sequence[str], output: str | None, settings: dict[str, Any]
) -> tuple[list[_Graded], dict[str, Any]]:
    """The grade tables of stored sums, and what is known of their source.

    There is one for all rows, and one for each group that the sums keep apart. `settings` are the
    options of `grade_table`. The output file must not be one of those that are read.
    """
    from trueness.sources._stored_sums import groups_of

    sums, total = read_total(files, output)
    results = []
    model = str(total.about.get("prob", ""))
    for group, part in [(Group(), total.total), *groups_of(total)]:
        with reword_messages(wording(), group.name(file_names(sums))) as warned:
            results.append(_Graded(group, model, tn.grade_table(part, **settings)))
        warning(*warned, about=group.name(model))
    return results, {"source": file_names(sums), "label": total.about.get("label")}


def _grades_output(results: Sequence[_Graded], data: dict[str, Any]) -> Output:
    """What `grades` prints, and its data: one table, with the grades of each group and model.

    `data` describes the source. Findings that all tables share are printed once, at the end; others
    are headed by their group and model.
    """
    first = results[0].table
    columns = group_columns(graded.group.by for graded in results)
    columns.append(model_if(len({graded.model for graded in results}) > 1))
    columns += _grade_columns(first.titles)
    # Findings that all tables share stand once, at the end.
    shared = []
    for finding in first.findings:
        if all(finding in graded.table.findings for graded in results):
            shared.append(finding)
    notes = [f"Data: {data['source']}, labels {data['label']!r}.", first.rule]
    rows = []
    tables = []
    for group, model, table in results:
        named = {**group.entry(), "model": model}
        lines = zip((*table.grades, table.total), table.texts(), strict=True)
        rows += [named | _grade_cells(line, text) for line, text in lines]
        tables.append(named | table.to_dict())
        head = f"{group.name(model)}: " if len(results) > 1 else ""
        notes += [f"{head}{text}" for text in table.findings if text not in shared]
    notes = [wording().spell(text) for text in (*notes, *shared)]
    return Output(Table(columns, rows, notes), {"data": data, "tables": tables})


def _grade_columns(titles: Mapping[str, str]) -> list[Column]:
    """A column for each field of a grade; a table shows those with a title."""
    columns = []
    for field in fields(tn.results.Grade):
        name = field.name
        columns.append(
            Column(
                name,
                titles.get(name, name),
                _KINDS.get(name, "number"),
                forms="all" if name in titles else "data",
                optional=name.endswith("_above"),
            )
        )
    return columns


def _grade_cells(grade: "tn.results.Grade", texts: Mapping[str, str]) -> dict[str, Cell]:
    cells = {key: Cell(value, texts.get(key)) for key, value in grade.to_dict().items()}
    if grade.light in ("amber", "red"):
        cells["light"] = cells["light"]._replace(mark="flag")
    return cells
