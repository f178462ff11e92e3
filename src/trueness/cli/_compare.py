"""``trueness compare``."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.numbers import (
    TOO_SMALL,
    common_decimals,
    level_percent,
    points,
    rule_in_words,
)
from trueness._text.table import Cell, Column, Kind, Table, written
from trueness.cli._answers import paired_rows
from trueness.cli._columns import Group, Request, group_columns
from trueness.cli._dataset import Rows, read_rows, uses_logs
from trueness.cli._printing import (
    Output,
    Target,
    interval_cell,
    limits_notes,
    warning,
    with_limits,
)
from trueness.errors import InputError


@opt.command("compare")
@opt.data(label="own", events=True)
@opt.cluster
@opt.text(
    "--measure",
    "The measure to compare: squared-ece, brier, log-loss, ece, ace, auc, slope, ... (any name of `tn.estimate`).",
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
def compare(**options: Any) -> None:
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
    target = Target.pop_from(options)
    measure = options["measure"]
    bins = opt.bin_rule(options["bins"])
    settings = {name: options[name] for name in ("level", "resamples", "seed")}
    settings |= {
        "measure": measure.replace("-", "_"),
        "bins": bins,
        "method": options["method"] or "auto",
    }
    request = Request.pop_from(options)
    if request.files and uses_logs(request):
        rows = paired_rows(request)
    else:
        rows = read_rows(request, compared=True)
    if len(rows.choice.models) < 2:
        demand = "must name two models or more to compare"
        got = f"got {rows.choice.models[0].name!r} alone"
        raise InputError("--prob", demand, got)
    rows.note_importance()
    own = {"level": options["level"], "seed": options["seed"]} | (
        {} if bins is None else {"bins": bins}
    )
    results = [
        _compared(part, group, settings, own if options["intervals"] else None)
        for group, part in rows.groups()
    ]
    target.deliver(_output(rows, results))


class _Compared(NamedTuple):
    group: Group
    comparison: "tn.results.Comparison"
    estimates: "Mapping[str, tn.results.Estimate]"
    """The measure of each model with its limits, unless only the differences are needed."""


def _compared(
    part: Rows, group: Group, settings: dict[str, Any], own: dict[str, Any] | None
) -> _Compared:
    """The comparison and, with options of their `own`, the measure of each model with its limits."""
    with (
        part.about(*part.choice.models, group=group) as warned,
        progress_bar("Resampling rows") as report,
    ):
        scores, one = part.model_scores()
        labels = part.own_labels()
        result = tn.compare(
            labels, scores, cluster=part.cluster, progress=report, **settings, **one.rows
        )
    warning(*warned, about=str(group))
    if own is None:
        return _Compared(group, result, {})
    how: dict[str, Any] = {**own, "cluster": part.cluster, **one.rows}
    with part.about(*part.choice.models, group=group):  # the comparison has given its warnings
        own_labels = labels if isinstance(labels, dict) else dict.fromkeys(scores, labels)
        each = {
            name: tn.estimate(settings["measure"], own_labels[name], p, **how)
            for name, p in scores.items()
        }
    return _Compared(group, result, each)


def _output(rows: Rows, results: Sequence[_Compared]) -> Output:
    first = results[0].comparison
    level = level_percent(first.level)
    difference = "difference of squares" if first.measure == "squared_ece" else "difference"
    columns = [
        *group_columns(rows.choice.by),
        *(Column(key, key, "name") for key in ("first", "second")),
        Column("difference", difference, "fraction"),
        *(
            Column(key, title, "fraction")
            for key, title in (("low", f"{level} from"), ("high", "to"))
        ),
        Column("pvalue", "p", "p"),
        Column("adjusted_pvalue", "adjusted p", "p", "all" if len(first.pairs) > 1 else "data"),
        *(
            Column(key, key, "fraction", "data")
            for key in ("standard_error", "simultaneous_low", "simultaneous_high")
        ),
    ]
    ends = ("", *(("_low", "_high", "_floor") if results[0].estimates else ()))
    columns += [
        Column(f"{place}_estimate{end}", "", forms="data")
        for place in ("first", "second")
        for end in ends
    ]
    lines = []
    for group, one, own in results:
        for pair in one.pairs:
            lines.append(group.entry() | pair.to_dict())
            for key, name in (("first_estimate", pair.first), ("second_estimate", pair.second)):
                lines[-1] |= {key: one.estimates[name]} | (
                    with_limits(key, own[name]) if own else {}
                )
    number = "" if rows.choice.by else f", {first.n:,} rows"
    bins = f", {rule_in_words(first.bins)}" if first.bins else ""
    notes = [
        f"{rows.choice.in_words(rows.source)}{number}.",
        f"{first.measure} ({first.method}{bins}). {first.multiplicity} {first.assumptions}",
    ]
    notes += limits_notes(
        [(first.measure, one) for each in results for one in each.estimates.values()]
    )
    notes += [": ".join(filter(None, [str(one.group), one.comparison.sentence])) for one in results]
    data = {"data": rows.choice.about(rows.source), "comparisons": list(map(_entry, results))}
    return Output(
        Table(columns, lines, notes), data, [("Each model:", _models_table(rows, results))]
    )


def _models_table(rows: Rows, results: Sequence[_Compared]) -> Table:
    first = results[0].comparison
    values = [value for one in results for value in one.comparison.estimates.values()]
    kind: Kind = "percent" if first.measure == "tce" else "fraction"
    decimals = common_decimals(values)
    is_squared = first.measure == "squared_ece"
    columns = [
        *group_columns(rows.choice.by),
        Column("model", "model", "name"),
        Column("value", "typical error" if is_squared else first.measure, "number"),
        Column("interval", f"{level_percent(first.level)} interval", "number"),
        Column("floor", "if calibrated", "number"),
    ]
    lines = []
    for group, one, own in results:
        for name, value in one.estimates.items():
            line = {
                **group.entry(),
                "model": name,
                "value": Cell(value, written(value, kind, decimals)),
            }
            if is_squared:
                line |= _typical_error(value, own.get(name))
            elif own:
                line["interval"] = interval_cell(own[name].low, own[name].high, kind)
                floor = own[name].floor
                line |= (
                    {}
                    if math.isnan(floor)
                    else {"floor": Cell(floor, written(floor, kind, decimals))}
                )
            lines.append(line)
    return Table(columns, lines)


def _typical_error(square: float, own: "tn.results.Estimate | None") -> dict[str, Cell]:
    """The root of a squared error in percentage points, with its limits."""
    squares = (square,) if own is None else (square, own.low, own.high)
    error, *limits = points(*(max(0.0, value) ** 0.5 for value in squares))
    cells = {"value": Cell(square, f"{error} points" if float(error) > 0 else TOO_SMALL)}
    if own is None or not math.isfinite(own.high):
        return cells
    low, high = limits
    # Whether zero is among the values is said by the verdict, from a test.
    cells["interval"] = Cell(own.low, f"{low} to {high}" if float(low) > 0 else f"at most {high}")
    return cells


def _entry(compared: _Compared) -> dict[str, Any]:
    """A comparison with its pairs as a list of objects, and the limits of the models."""
    one = compared.comparison
    own = compared.estimates
    ends = ("low", "high", "floor") if own else ()
    limits = {
        f"estimates_{end}": {name: getattr(each, end) for name, each in own.items()} for end in ends
    }
    about = {key: value for key, value in one.to_dict().items() if key not in one.columns()}
    return {**compared.group.entry(), **about, **limits, "pairs": one.rows()}
