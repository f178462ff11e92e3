"""``trueness compare``."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.numbers import TOO_SMALL, common_decimals, level_percent, points, rule_in_words
from trueness._text.table import Cell, Column, Kind, Table, written
from trueness.cli._command import command
from trueness.cli._printing import (
    LIMITS,
    Output,
    Target,
    group_columns,
    interval_cell,
    warning,
    with_limits,
)
from trueness.cli._reading import about, note_importance, paired_rows, read_rows
from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._request import Group, Request


@command("compare")
@opt.data(label="own", events=True)
@opt.cluster
@opt.text(
    "--measure",
    "The measure to compare: squared-ece, brier, log-loss, ece, ace, auc, slope, ... "
    "(any name of `tn.estimate`).",
    default="squared-ece",
)
@opt.choice(
    "--method",
    "influence bootstrap",
    "How the uncertainty is computed: from the influence of each row, or by resampling rows.  "
    "[default: influence for squared-ece, brier and log-loss, else bootstrap]",
)
@opt.bins(None, "Bins of a measure in bins", blind=True)
@opt.level(0.95, "Confidence level of all intervals.")
@opt.intervals
@opt.count("--resamples", "Number of bootstrap samples.", 999)
@opt.seed()
@opt.output()
def compare(
    request: Request,
    target: Target,
    *,
    measure: str,
    method: str | None,
    bins: str | None,
    level: float,
    intervals: bool,
    resamples: int,
    seed: int,
) -> None:
    """Compare two or more models on the same rows, pair by pair.

    The models err on the same rows, so the interval of a difference is far narrower than the
    intervals of the models.

    A negative difference means that the first model has the smaller value. With three or more
    models, p-values are adjusted for the number of pairs by Holm's method. The last line names the
    winner, or says that there is none.

    \b
      trueness compare --demo
      trueness compare rows.csv --label churned --prob old --prob new
      trueness compare rows.csv --label churned --prob a --prob b --measure brier
      trueness compare rows.csv --label correct --prob a --prob b --cluster user
      trueness compare a.eval b.eval

    Exit code 0: compared, whatever the result. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources.logs._command_logs import uses_logs

    rule = opt.bin_rule(bins)
    settings = {
        "measure": measure.replace("-", "_"),
        "bins": rule,
        "method": method or "auto",
        "level": level,
        "resamples": resamples,
        "seed": seed,
    }
    estimated: dict[str, Any] | None = None
    if intervals:
        estimated = {"level": level, "seed": seed}
        if rule is not None:
            estimated["bins"] = rule
    if request.files and uses_logs(request):
        rows = paired_rows(request)
    else:
        rows = read_rows(request, compared=True)
    if len(rows.models) < 2:
        demand = "must name two models or more to compare"
        got = f"got {rows.models[0].name!r} alone"
        raise InputError("--prob", demand, got)
    note_importance(rows)
    results = [_compared(part, settings, estimated) for part in rows.groups()]
    target.deliver(_output(rows, results))


class _Compared(NamedTuple):
    group: Group
    comparison: "tn.results.Comparison"
    estimates: "Mapping[str, tn.results.Estimate]"
    """The measure of each model with its limits, unless only the differences are needed."""


def _compared(
    part: DataSet, settings: dict[str, Any], estimated: dict[str, Any] | None
) -> _Compared:
    """The comparison of the models on a part of the rows.

    `settings` are its options. `estimated` holds options of `estimate`; with them, each model's own
    measure and limits are added, and with None they are not.
    """
    with about(part) as warned, progress_bar("Resampling rows") as report:
        result = part.ask(tn.compare, cluster=part.cluster, progress=report, **settings)
    warning(*warned, about=str(part.group))
    if estimated is None:
        return _Compared(part.group, result, {})
    estimates = {}
    with about(part):  # the comparison has given its warnings
        for rows in part.by_model():
            estimate = partial(tn.estimate, settings["measure"])
            estimates[rows.model.name] = rows.ask(estimate, cluster=rows.cluster, **estimated)
    return _Compared(part.group, result, estimates)


def _output(rows: DataSet, results: Sequence[_Compared]) -> Output:
    """What `compare` prints, and its data.

    `results` has one comparison per group. The table has one line per group and pair of models: the
    difference of the measure with limits and p-value. Adjusted p-values are shown if there are
    several pairs. A second table has the values of each model. Standard errors, simultaneous limits
    and the models' values are columns of the data alone.
    """
    from trueness.results._limits_words import limits_notes

    first = results[0].comparison
    level = level_percent(first.level)
    several = len(first.pairs) > 1
    difference = "difference of squares" if first.measure == "squared_ece" else "difference"
    columns = [
        *group_columns(rows.request.by),
        Column("first", "first", "name"),
        Column("second", "second", "name"),
        Column("difference", difference, "fraction"),
        Column("low", f"{level} from", "fraction"),
        Column("high", "to", "fraction"),
        Column("pvalue", "p", "p"),
        Column("adjusted_pvalue", "adjusted p", "p", "all" if several else "data"),
        Column("standard_error", "standard_error", "fraction", "data"),
        Column("simultaneous_low", "simultaneous_low", "fraction", "data"),
        Column("simultaneous_high", "simultaneous_high", "fraction", "data"),
    ]
    for key in ("first_estimate", "second_estimate"):
        columns.append(Column(key, "", forms="data"))
        if results[0].estimates:
            columns += [Column(f"{key}_{end}", "", forms="data") for end in LIMITS]
    lines = list[dict[str, Any]]()
    for compared in results:
        lines += _pair_lines(compared)
    number = "" if rows.request.by else f", {first.n:,} rows"
    bins = f", {rule_in_words(first.bins)}" if first.bins else ""
    notes = [
        f"{rows.sentence.removesuffix('.')}{number}.",
        f"{first.measure} ({first.method}{bins}). {first.multiplicity} {first.assumptions}",
    ]
    estimates = [estimate for compared in results for estimate in compared.estimates.values()]
    notes += limits_notes([(first.measure, estimate) for estimate in estimates])
    for compared in results:
        words = filter(None, [str(compared.group), compared.comparison.sentence])
        notes.append(": ".join(words))
    data = {"data": rows.entry, "comparisons": list(map(_entry, results))}
    return Output(
        Table(columns, lines, notes), data, [("Each model:", _models_table(rows, results))]
    )


def _pair_lines(compared: _Compared) -> Iterator[dict[str, Any]]:
    """A line for each pair of models of one group, with the values of both."""
    for pair in compared.comparison.pairs:
        line = compared.group.entry() | pair.to_dict()
        for key, name in (("first_estimate", pair.first), ("second_estimate", pair.second)):
            line[key] = compared.comparison.estimates[name]
            if compared.estimates:
                line |= with_limits(key, compared.estimates[name])
        yield line


def _models_table(rows: DataSet, results: Sequence[_Compared]) -> Table:
    """The table of each model's value, by group, with its interval and noise floor if known.

    The floor is the value to be expected if the model were calibrated. A squared error is shown as
    its root, the typical error.
    """
    first = results[0].comparison
    kind: Kind = "percent" if first.measure == "tce" else "fraction"
    values = [value for result in results for value in result.comparison.estimates.values()]
    decimals = common_decimals(values)
    is_squared = first.measure == "squared_ece"
    columns = [
        *group_columns(rows.request.by),
        Column("model", "model", "name"),
        Column("value", "typical error" if is_squared else first.measure, "number"),
        Column("interval", f"{level_percent(first.level)} interval", "number"),
        Column("floor", "if calibrated", "number"),
    ]

    def cells(value: float, estimate: "tn.results.Estimate | None") -> dict[str, Cell]:
        """The cells of one model; there is no interval if `estimate` is None."""
        if is_squared:
            return _typical_error(value, estimate)
        line = {"value": Cell(value, written(value, kind, decimals))}
        if estimate is not None:
            line["interval"] = interval_cell(estimate.low, estimate.high, kind)
            if not math.isnan(estimate.floor):
                line["floor"] = Cell(estimate.floor, written(estimate.floor, kind, decimals))
        return line

    lines = []
    for result in results:
        for name, value in result.comparison.estimates.items():
            line = cells(value, result.estimates.get(name))
            lines.append({**result.group.entry(), "model": name, **line})
    return Table(columns, lines)


def _typical_error(square: float, estimate: "tn.results.Estimate | None") -> dict[str, Cell]:
    """The root of a squared error in percentage points, with its limits if `estimate` has them.

    A square below 0 counts as 0; an error that would be printed as 0 is called too small.
    """
    squares = (square,) if estimate is None else (square, estimate.low, estimate.high)
    error, *limits = points(*(max(0.0, value) ** 0.5 for value in squares))
    cells = {"value": Cell(square, f"{error} points" if float(error) > 0 else TOO_SMALL)}
    if estimate is None or not math.isfinite(estimate.high):
        return cells
    low, high = limits
    # Whether zero is among the values is said by the verdict, from a test.
    span = f"{low} to {high}" if float(low) > 0 else f"at most {high}"
    cells["interval"] = Cell(estimate.low, span)
    return cells


def _entry(compared: _Compared) -> dict[str, Any]:
    """A comparison with its pairs as a list of objects, and the limits of the models."""
    comparison = compared.comparison
    columns = comparison.columns()
    entry = compared.group.entry()
    entry |= {key: value for key, value in comparison.to_dict().items() if key not in columns}
    if compared.estimates:
        for end in LIMITS:
            limits = {name: getattr(x, end) for name, x in compared.estimates.items()}
            entry[f"estimates_{end}"] = limits
    return entry | {"pairs": comparison.rows()}
