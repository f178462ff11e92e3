"""``trueness segments``."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import level_percent, signed, span, total
from trueness._text.table import Cell, Column, Table
from trueness.cli._columns import Request
from trueness.cli._dataset import Arguments, Rows, read_rows
from trueness.cli._writing import Output, Target


@opt.command("segments")
@opt.data()
@opt.count("--crossed", "With several --by: cross up to this many columns; 2 adds every pair of values.", 1)
@opt.cluster
@opt.level(0.95, "Confidence level of the limits and of the joint test, over all segments together.", least=0.5)
@opt.rounded_to("The scores were rounded to multiples of this")
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.seed()
@opt.output()
def command(**options: Any) -> None:
    """Find the segments in which a model is wrong.

    Every value of the columns that --by names is a segment. All are tested jointly: if the scores are calibrated, the
    probability that any segment is flagged is at most 1 - level. The costliest segment comes first.

    \b
      trueness segments rows.csv --label churned --prob model --by region
      trueness segments rows.csv --label y --prob p --by shop --by age --crossed 2

    Exit code 0: tested, whatever the result (to fail a build, use `trueness gate --by`). 2: the options or the data are
    wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    if not options["by"]:
        raise click.UsageError("Give a column of segments: --by NAME.")
    target = Target.pop_from(options)
    settings = {name: options[name] for name in ("crossed", "level", "rounded_to", "resamples", "seed")}
    rows = read_rows(Request.pop_from(options), gaps=True)
    by = {name: rows.columns.groups[name] for name in rows.choice.by}
    models = of_models(rows, tn.segments, by, settings, "Testing the segments")
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
    target.deliver(gap_output(rows, models, lead, ("n", "events", "adjusted_pvalue"), gap))


def of_models(
    rows: Rows, test: Callable[..., Any], columns: Any, settings: dict[str, Any], doing: str
) -> dict[str, Any]:
    """The segments or slices of each model, all rows at once."""
    from trueness.recalibrate._segment import advice  # imports scikit-learn, which help does not need

    def ask(one: Arguments, part: Rows) -> Any:
        found = test(one.y_true, one.y_prob, columns, cluster=part.cluster, **settings, **one.rows)
        own: Any = {name: one.rows.get(name) for name in ("labels", "pos_label", "sample_weight")}
        said = advice(found, one.y_prob, one.y_true, columns, cluster=part.cluster, **own)
        return replace(found, notes=(*found.notes, *said))

    whole = replace(rows, choice=replace(rows.choice, by=()))
    return {model.name: found for _, model, found in whole.each(doing, ask)}


def gap_output(
    rows: Rows,
    models: dict[str, Any],
    lead: Sequence[Column],
    keys: tuple[str, str, str],
    gap: str,
    most: int | None = None,
) -> Output:
    """A line for each segment or slice, for up to `most` of those to be shown; CSV and JSON have all.

    `keys` are those of rows, events and adjusted p-value. Of slices, those to be shown are all flagged, or none.
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
    every = [[{"model": name, **_cells(row, events)} for row in one.rows()] for name, one in models.items()]
    some = [[lines[i] for i in one.shown[:most]] for lines, one in zip(every, models.values(), strict=True)]
    found = [f"{name}: {one.sentence}" if several else one.sentence for name, one in models.items()]
    notes = [f"{rows.choice.in_words(rows.source)}.", *found, gap, *first.notes]
    whole, table = (Table(columns, [line for lines in parts for line in lines], notes) for parts in (every, some))
    entries = [{"model": name, **one.to_dict()} for name, one in models.items()]
    return Output(table, {"data": rows.choice.about(rows.source), "models": entries}, csv=whole)


def _cells(row: dict[str, Any], events: str) -> dict[str, Any]:
    def points(value: float) -> str:
        return signed(100 * value, 1)

    texts = {events: total(row[events]), "expected": f"{row['expected']:,.1f}", "gap": points(row["gap"])}
    cells = {key: Cell(row[key], text) for key, text in texts.items()}
    limits = Cell(row["gap_low"], span(row["gap_low"], row["gap_high"], points))
    return {**row, **cells, "limits": limits, "finding": row["finding"] or None}
