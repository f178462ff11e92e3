"""``trueness compare``."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.table import Column, Table
from trueness.cli._columns import Group, Request, group_columns
from trueness.cli._messages import note, warning
from trueness.cli._rows import IMPORTANCE, Rows, read_rows
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

_KNOWN = ("squared-ece", "brier", "log-loss")
_DRAWN = ("ece", "ace", "smooth-ece", "tce")


@click.command("compare", no_args_is_help=True)
@opt.data()
@opt.cluster
@opt.choice("--measure", (*_KNOWN, *_DRAWN), "squared-ece", "The measure compared.")
@opt.choice(
    "--method",
    ("influence", "bootstrap"),
    None,
    "How the uncertainty is computed: from the influence of each row, or by resampling rows.  "
    "[default: influence; for ece, ace, smooth-ece and tce bootstrap, the only one]",
)
@opt.bins(None, "Bins of squared-ece, ece and ace", blind=True)
@opt.level(0.95, "Confidence level of the intervals.")
@opt.count("--resamples", "Number of bootstrap samples.", 999)
@opt.seed()
@opt.output()
def command(**options: Any) -> None:
    """Compare two or more models on the same rows, pair by pair.

    A negative difference means that the first model has the smaller error. With three or more models, p-values are
    adjusted for the number of pairs by Holm's method.

    \b
      trueness compare --demo
      trueness compare predictions.csv --label churned --prob old --prob new --measure brier
      trueness compare answers.jsonl --label correct --prob a --prob b --cluster question

    Exit code 0: compared, whatever the result. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    measure = options["measure"]
    target = Target.pop_from(options)
    settings = {
        **_measure(measure, opt.bin_rule(options["bins"])),
        "method": options["method"] or ("bootstrap" if measure in _DRAWN else "influence"),
        **{name: options[name] for name in ("level", "resamples", "seed")},
    }
    rows = read_rows(Request.pop_from(options))
    if len(rows.choice.models) < 2:
        demand, got = "must name two models or more to compare", f"got {rows.choice.models[0].name!r} alone"
        raise InputError("--prob", demand, got)
    if rows.weight_type == "importance" and settings["method"] == "influence":
        settings["weight_type"] = rows.weight_type
        note(IMPORTANCE)
    target.deliver(_output(rows, list(_comparisons(rows, settings))))


def _measure(name: str, bins: Any) -> dict[str, Any]:
    """The measure as the library takes it, with its bins."""
    key, fixed = name.replace("-", "_"), {} if bins is None else {"bins": bins}
    if name in _KNOWN:
        return {"measure": key, **fixed}
    if fixed and name not in ("ece", "ace"):
        raise InputError("--bins", "is for squared-ece, ece and ace", f"{name} has no such bins")
    function: Callable[..., float] = getattr(tn, key)

    def measure(tally: Any) -> float:
        return function(tally, **fixed)

    measure.__name__ = key
    return {"measure": measure}


def _comparisons(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[Group, "tn.Comparison"]]:
    compare: Any = tn.compare
    for group, part in rows.groups():
        with part.about(*rows.choice.models, group=group) as warned, progress_bar("Resampling rows") as report:
            scores, one = part.model_scores()
            result = compare(one.y_true, scores, cluster=part.cluster, progress=report, **settings, **one.rows)
        warning(*warned, about=str(group))
        yield group, result


def _output(rows: Rows, results: Sequence[tuple[Group, "tn.Comparison"]]) -> Output:

    first = results[0][1]
    columns = [
        *group_columns(rows.choice.by),
        *(Column(key, key, "name") for key in ("first", "second")),
        Column("first_estimate", "of first", "fraction"),
        Column("second_estimate", "of second", "fraction"),
        Column("difference", "difference", "fraction"),
        Column("low", f"{100 * first.level:g} % from", "fraction"),
        Column("high", "to", "fraction"),
        Column("pvalue", "p", "p"),
        Column("adjusted_pvalue", "adjusted p", "p", "all" if len(first.pairs) > 1 else "data"),
        *(Column(key, key, "fraction", "data") for key in ("standard_error", "simultaneous_low", "simultaneous_high")),
    ]
    lines = [
        {
            **group.entry(),
            **pair.to_dict(),
            "first_estimate": one.estimates[pair.first],
            "second_estimate": one.estimates[pair.second],
        }
        for group, one in results
        for pair in one.pairs
    ]
    number = "" if rows.choice.by else f", {first.n:,} rows"
    bins = f", {first.bins}" if first.bins else ""
    notes = [
        f"Data: {rows.source}, labels {rows.choice.label!r}{number}.",
        f"{first.measure} ({first.method}{bins}). {first.multiplicity} {first.assumptions}",
    ]
    data = {
        "data": rows.choice.about(rows.source),
        "comparisons": [{**group.entry(), **_entry(one)} for group, one in results],
    }
    return Output(Table(columns, lines, notes), data)


def _entry(one: "tn.Comparison") -> dict[str, Any]:
    """A comparison with its pairs as a list of objects."""
    pairs = one.columns().keys()
    rest = {key: value for key, value in one.to_dict().items() if key not in pairs}
    return {**rest, "pairs": one.rows()}
