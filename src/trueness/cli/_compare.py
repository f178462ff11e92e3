"""``trueness compare``."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, note, warning
from trueness.cli._options import (
    bins_option,
    check_input,
    cluster_option,
    data_options,
    level_option,
    output_options,
    seed_option,
)
from trueness.cli._writing import check_writable, deliver, form_of
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.cli._rows import Group, Rows
    from trueness.cli._sheet import Sheet
    from trueness.results import Comparison

__all__ = ["command"]

_KNOWN = ("squared-ece", "brier", "log-loss")
_DRAWN = ("ece", "ace", "smooth-ece", "tce")


@click.command("compare", no_args_is_help=True)
@data_options(several=True)
@cluster_option
@click.option(
    "--measure",
    type=click.Choice([*_KNOWN, *_DRAWN]),
    default="squared-ece",
    show_default=True,
    help="What is compared.",
)
@click.option(
    "--method",
    type=click.Choice(["influence", "bootstrap"]),
    help="How sure: from how much each row moves the difference, or by drawing rows again.  "
    "[default: influence; for ece, ace, smooth-ece and tce bootstrap, the only one]",
)
@bins_option(None, "Bins of squared-ece, ece and ace", blind=True)
@level_option(0.9, "Level of the intervals.")
@click.option(
    "--resamples", type=click.IntRange(min=1), metavar="N", default=999, show_default=True, help="Draws of bootstrap."
)
@seed_option()
@output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Compare two or more models on the same rows, pair by pair.

    A difference below zero means that the first model errs less. With three models or more p-values are adjusted for
    the number of pairs by Holm's method.

    \b
      trueness compare --demo
      trueness compare predictions.csv --label churned --prob old --prob new --measure brier
      trueness compare answers.jsonl --label correct --prob a --prob b --cluster question

    Exit code 0: compared, whatever came out. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo)
    with errors_as_messages(debug):
        _compare(files, **options)


def _compare(files: tuple[str, ...], *, form: str | None, output: str | None, measure: str, **asked: Any) -> None:
    from trueness.cli._bins import bin_rule
    from trueness.cli._reading import Request, read_rows
    from trueness.cli._rows import IMPORTANCE

    check_writable(output, *files)
    form = form_of(form, output)
    bins = None if asked["bins"] is None else bin_rule(asked["bins"])
    settings = {
        **_measure(measure, bins),
        "method": asked["method"] or ("bootstrap" if measure in _DRAWN else "influence"),
        "level": asked["level"],
        "resamples": asked["resamples"],
        "seed": asked["seed"],
    }
    rows = read_rows(Request.taken_from({"files": files, **asked}))
    if len(rows.choice.models) < 2:
        raise InputError(f"`--prob` must name two models or more to compare; got {rows.choice.models[0].name!r} alone.")
    for line in rows.said_dropped:
        warning(f"{line}")
    if rows.weight_type == "importance" and settings["method"] == "influence":
        settings["weight_type"] = rows.weight_type
        note(f"{IMPORTANCE}")
    deliver(_sheet(rows, list(_comparisons(rows, settings))), form, output)


def _measure(name: str, bins: Any) -> dict[str, Any]:
    """The measure as the library takes it, with its bins."""
    import trueness as tn

    if name in _KNOWN:
        return {"measure": name.replace("-", "_")} | ({} if bins is None else {"bins": bins})
    if bins is not None and name not in ("ece", "ace"):
        raise InputError(f"`--bins` is for squared-ece, ece and ace; {name} has none of that kind.")
    function: Callable[..., float] = getattr(tn, name.replace("-", "_"))
    fixed = {} if bins is None else {"bins": bins}

    def measure(tally: Any) -> float:
        return function(tally, **fixed)

    measure.__name__ = name.replace("-", "_")
    return {"measure": measure}


def _comparisons(rows: "Rows", settings: dict[str, Any]) -> Iterator[tuple["Group", "Comparison"]]:
    import trueness as tn
    from trueness._progress import progress_bar

    compare: Any = tn.compare
    for group, part in rows.groups():
        with (
            part.about(*rows.choice.models, group=group),
            collect_warnings() as warned,
            progress_bar("Drawing rows") as report,
        ):
            given = {model.name: part.arguments(model) for model in rows.choice.models}
            first = next(iter(given.values()))
            if any(other.rows.get("labels") != first.rows.get("labels") for other in given.values()):
                raise InputError("All models must have their columns in the same order of classes.")
            found = compare(
                first.y_true,
                {name: one.y_prob for name, one in given.items()},
                cluster=part.cluster,
                progress=report,
                **settings,
                **first.rows,
            )
        for message in warned:
            warning(f"{f'{group}: ' if str(group) else ''}{message}")
        yield group, found


def _sheet(rows: "Rows", found: Sequence[tuple["Group", "Comparison"]]) -> "Sheet":
    from trueness.cli._groups import group_columns, group_entry
    from trueness.cli._sheet import Column, Sheet, stamped

    first = found[0][1]
    several = len(first.pairs) > 1
    percent = f"{100 * first.level:g} %"
    columns = [
        *group_columns(rows.choice.by),
        Column("first", "first", "name"),
        Column("second", "second", "name"),
        Column("first_estimate", "of first", "fraction"),
        Column("second_estimate", "of second", "fraction"),
        Column("difference", "difference", "fraction"),
        Column("low", f"{percent} from", "fraction"),
        Column("high", "to", "fraction"),
        Column("pvalue", "p", "pvalue"),
        Column("adjusted_pvalue", "adjusted p", "pvalue"),
    ]
    lines = [
        {
            **group_entry(group),
            **pair.to_dict(),
            "first_estimate": one.estimates[pair.first],
            "second_estimate": one.estimates[pair.second],
        }
        for group, one in found
        for pair in one.pairs
    ]
    more = [Column(key, key, "fraction") for key in ("standard_error", "simultaneous_low", "simultaneous_high")]
    shown = [column for column in columns if several or column.key != "adjusted_pvalue"]
    bins = f", {first.bins}" if first.bins else ""
    notes = [
        f"Data: {rows.source}, labels {rows.choice.label!r}, {sum(one.n for _, one in found[:1]):,} rows."
        if not rows.choice.by
        else f"Data: {rows.source}, labels {rows.choice.label!r}.",
        f"{first.measure} ({first.method}{bins}). {first.multiplicity} {first.assumptions}",
    ]
    data = stamped(
        data={
            "source": rows.source,
            "label": rows.choice.label,
            "weight": rows.choice.weight,
            "cluster": rows.choice.cluster,
            "by": list(rows.choice.by),
        },
        comparisons=[{**group_entry(group), **_entry(one)} for group, one in found],
    )
    return Sheet([*columns, *more], lines, data, notes, shown)


def _entry(one: "Comparison") -> dict[str, Any]:
    """A comparison with its pairs as a list of objects."""
    pairs = one.columns().keys()
    rest = {key: value for key, value in one.to_dict().items() if key not in pairs}
    return {**rest, "pairs": one.rows()}
