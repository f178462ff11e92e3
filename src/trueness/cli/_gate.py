"""``trueness gate``."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, note, warning
from trueness.cli._options import (
    Between,
    bins_option,
    check_input,
    cluster_option,
    data_options,
    level_option,
    output_options,
    seed_option,
    stream_option,
)
from trueness.cli._writing import check_writable, deliver, form_of

if TYPE_CHECKING:
    from trueness.cli._columns import Choice, Model
    from trueness.cli._measurements import Sums
    from trueness.cli._reading import Opened
    from trueness.cli._rows import Group, Rows
    from trueness.cli._sheet import Sheet
    from trueness.results import Interval

__all__ = ["command"]

_TOP = " Of several classes: the largest score, and whether its class came."
_FAILED = 1
_LATTICE = 4096


@click.command("gate", no_args_is_help=True)
@data_options(several=True)
@cluster_option
@click.option(
    "--max-ece",
    type=Between(0, 1),
    required=True,
    metavar="ERROR",
    help="The largest l2 calibration error that is allowed, between 0 and 1.",
)
@click.option(
    "--require",
    is_flag=True,
    help="Fail unless the error is shown to be small enough: when the upper limit exceeds ERROR. "
    "Otherwise the gate fails only if it is shown to be too large: when the lower limit does.",
)
@bins_option(None, "Bins of the error", blind=True)
@level_option(0.9, "Level of the limits; over several models and groups they hold together.", least=0.5)
@seed_option()
@stream_option
@output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Fail, with exit code 1, if the calibration error is too large.

    What is compared with ERROR is not the estimate, which chance moves, but the confidence limits of the l2
    calibration error. Several models, or groups of --by, must all pass.

    \b
      trueness gate predictions.csv --label churned --prob model --max-ece 0.03
      trueness gate predictions.csv --label churned --prob model --max-ece 0.05 --require --by region

    Exit code 0: passed. 1: failed. 2: the options or the data are wrong, or there is nothing to judge.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo)
    for name in ("by", "cluster"):
        if options["stream"] and options[name]:
            raise click.UsageError(f"--{name} needs all rows at once; leave --stream out.")
    with errors_as_messages(debug):
        passed = _gate(files, **options)
    if not passed:
        context.exit(_FAILED)


class Finding(NamedTuple):
    """The limits of one model, in one group."""

    group: "Group"
    model: str
    interval: "Interval"
    top: bool
    """Whether it is the error of the largest score of several classes."""


class Rule(NamedTuple):
    """What the limits must keep."""

    most: float
    require: bool

    def passes(self, interval: "Interval") -> bool:
        """Whether the gate is open."""
        low, high = interval.hull
        return bool((high if self.require else low) <= self.most)

    def verdict(self, interval: "Interval") -> str:
        """In words."""
        low, high = interval.hull
        seen = "above" if low > self.most else "below" if high <= self.most else "undecided"
        return f"{'passes' if self.passes(interval) else 'fails'}: {seen}"


def _gate(files: tuple[str, ...], *, form: str | None, output: str | None, stream: bool | None, **asked: Any) -> bool:
    from trueness.cli._bins import bin_rule
    from trueness.cli._reading import Request, opening

    check_writable(output, *files)
    form = form_of(form, output)
    rule = Rule(asked["max_ece"], asked["require"])
    settings = {
        "bins": None if asked["bins"] is None else bin_rule(asked["bins"]),
        "level": asked["level"],
        "seed": asked["seed"],
    }
    request = Request.taken_from({"files": files, **asked})
    with opening(request) as opened:
        if stream or (stream is None and opened.large and not request.by and not request.cluster):
            found = list(_streamed(opened, settings, asked=stream is not None))
        else:
            found = list(_findings(opened.rows().checked(), settings))
    deliver(_sheet(opened.choice, opened.source.name, found, rule), form, output)
    return all(rule.passes(one.interval) for one in found)


def _together(settings: dict[str, Any], number: int) -> dict[str, Any]:
    """Bonferroni: with so many intervals the chance that any is wrong stays that of one."""
    return settings | {"level": 1 - (1 - settings["level"]) / number}


def _findings(rows: "Rows", settings: dict[str, Any]) -> Iterator[Finding]:
    import trueness as tn
    from trueness.cli._rows import IMPORTANCE

    for line in rows.said_dropped:
        warning(f"{line}")
    if rows.weight_type == "importance":
        settings = settings | {"weight_type": rows.weight_type}
        note(f"{IMPORTANCE}")
    groups = rows.groups()
    settings = _together(settings, len(groups) * len(rows.choice.models))
    interval: Any = tn.ece_interval
    for group, part in groups:
        for model in rows.choice.models:
            with part.about(model, group=group), collect_warnings() as warned:
                given = part.arguments(model)
                found = interval(given.y_true, given.y_prob, cluster=part.cluster, **settings, **given.rows)
            for message in warned:
                warning(f"{', '.join(filter(None, [model.name, str(group)]))}: {message}")
            yield Finding(group, model.name, found, rows.is_matrix(model))


def _streamed(opened: "Opened", settings: dict[str, Any], *, asked: bool) -> Iterator[Finding]:
    import trueness as tn
    from trueness.cli._rows import Group
    from trueness.cli._stream import MOST_CELLS, streamed

    if not asked:
        note(f"{opened.source.name} is large and is read by stream; `--no-stream` reads it whole.")
    total = streamed(opened, _tally, settings["bins"] or tn.EqualWidth(_LATTICE))
    if total.binned:
        note(
            f"there are more than {MOST_CELLS:,} distinct scores. The limits are those of the analytic method, "
            "in bins of equal width; `--no-stream` uses the usual one."
        )
    settings = _together(settings, len(total.sums))
    interval: Any = tn.ece_interval
    for name, sums in total.sums.items():
        (t,) = sums.parts.values()
        chosen = settings if not total.binned else settings | {"method": "analytic"}
        if total.binned and settings["bins"] is None:
            # The usual n^0.4 as a power of two: only such bins can be made of the lattice.
            chosen |= {"bins": min(_LATTICE, 1 << round(0.4 * (t.n - 1).bit_length()))}
        with opened.about(name), collect_warnings() as warned:
            found = interval(t, **chosen)
        for message in (*total.said, *warned):
            warning(f"{name}: {message}")
        yield Finding(Group(), name, found, t.kind == "confidence")


def _tally(rows: "Rows", model: "Model") -> "Sums":
    import trueness as tn
    from trueness.cli._measurements import Sums

    given = rows.arguments(model)
    kind: Any = {"kind": "confidence"} if rows.is_matrix(model) else {}
    return Sums({"one": tn.tally(given.y_true, given.y_prob, **given.rows, **kind)}, given.remark)


def _limits(found: Sequence[Finding]) -> list[str]:
    """Method and bins, of each where they differ: they depend on the number of rows."""
    made: dict[str, list[str]] = {}
    for one in found:
        said = f"{one.interval.method} limits; {one.interval.bins}"
        made.setdefault(said, []).append(", ".join(filter(None, [one.model, str(one.group)])))
    top = _TOP if found[0].top else ""
    if len(made) == 1:
        return [f"{said}.{top}" for said in made]
    return [f"{said}: {'; '.join(names)}." for said, names in made.items()] + ([top.strip()] if top else [])


def _sheet(choice: "Choice", source: str, found: Sequence[Finding], rule: Rule) -> "Sheet":
    from trueness.cli._groups import group_columns, group_entry
    from trueness.cli._sheet import Column, Sheet, stamped

    first = found[0].interval
    columns = [
        *group_columns(choice.by),
        Column("model", "model", "name"),
        Column("n", "rows", "count"),
        Column("estimate", "ECE, l2", "fraction"),
        Column("low", f"{100 * first.level:.4g} % from", "fraction"),
        Column("high", "to", "fraction"),
        Column("verdict", "verdict", "text"),
    ]
    lines = [
        {
            **group_entry(one.group),
            "model": one.model,
            **one.interval.to_dict(),
            "low": one.interval.hull[0],
            "high": one.interval.hull[1],
            "verdict": rule.verdict(one.interval),
            "passed": rule.passes(one.interval),
        }
        for one in found
    ]
    failed = sum(not line["passed"] for line in lines)
    demand = "upper" if rule.require else "lower"
    notes = [
        f"Data: {source}, labels {choice.label!r}.",
        *_limits(found),
        f"{'Passed' if not failed else f'Failed: {failed} of {len(lines)}'}; "
        f"the {demand} limit must be at most {rule.most:g}.",
    ]
    data = stamped(
        data={
            "source": source,
            "label": choice.label,
            "weight": choice.weight,
            "cluster": choice.cluster,
            "by": list(choice.by),
        },
        gate={"max_ece": rule.most, "require": rule.require, "passed": not failed},
        findings=lines,
    )
    return Sheet([*columns, Column("passed", "passed", "text")], lines, data, notes, columns)
