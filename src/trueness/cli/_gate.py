"""``trueness gate``."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli import _sums
from trueness.cli._columns import Choice, Group, Model, Request, group_columns
from trueness.cli._messages import note, warning
from trueness.cli._rows import IMPORTANCE, Dataset, Rows, open_dataset
from trueness.cli._sums import ModelSums
from trueness.cli._writing import Output, Target

_TOP = "For several classes: the error of the largest score as the probability that its class is right."
_MOST = "The largest l2 calibration error allowed, between 0 and 1."
_FAILED = 1
_LATTICE = 4096


@click.command("gate", no_args_is_help=True)
@opt.data()
@opt.cluster
@opt.number("--max-ece", _MOST, kind=opt.Between(0, 1), metavar="ERROR", required=True)
@click.option(
    "--require",
    is_flag=True,
    help="Fail unless the error is shown to be small enough, that is, if the upper confidence limit exceeds ERROR. "
    "Without it, the gate fails only if the error is shown to be too large: if the lower limit exceeds ERROR.",
)
@opt.bins(None, "Bins of the error", blind=True)
@opt.level(0.95, "Confidence level of the limits, jointly over all models and groups.", least=0.5)
@opt.seed()
@opt.stream
@opt.output()
def command(**options: Any) -> None:
    """Fail, with exit code 1, if the calibration error is too large.

    ERROR is compared with the confidence limits of the l2 calibration error, not with the estimate, which varies by
    chance. Several models, or groups of --by, must all pass.

    \b
      trueness gate predictions.csv --label churned --prob model --max-ece 0.03
      trueness gate predictions.csv --label churned --prob model --max-ece 0.05 --require --by region

    Exit code 0: passed. 1: failed. 2: the options or the data are wrong, or there is nothing to judge.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    stream = options["stream"]
    for name in ("by", "cluster"):
        if stream and options[name]:
            raise click.UsageError(f"--{name} needs all rows at once; leave --stream out.")
    target = Target.pop_from(options)
    rule = Rule(options["max_ece"], options["require"])
    settings = {"bins": opt.bin_rule(options["bins"]), "level": options["level"], "seed": options["seed"]}
    request = Request.pop_from(options)
    with open_dataset(request) as data:
        if stream or (stream is None and data.large and not request.by and not request.cluster):
            findings = list(_from_stream(data, settings, asked=stream is not None))
        else:
            findings = list(_findings(data.rows().validate(), settings))
    target.deliver(_output(data.choice, data.source.name, findings, rule))
    if not all(rule.passes(one.interval) for one in findings):
        raise click.exceptions.Exit(_FAILED)


class Finding(NamedTuple):
    """The confidence limits of one model, in one group."""

    group: Group
    model: str
    interval: "tn.Interval"
    top: bool
    """Whether it is the error of the largest score of several classes."""


class Rule(NamedTuple):
    """The largest error allowed, and which limit must keep it."""

    most: float
    require: bool

    def passes(self, interval: "tn.Interval") -> bool:
        return bool(interval.hull[self.require] <= self.most)

    def verdict(self, interval: "tn.Interval") -> str:
        low, high = interval.hull
        evidence = "above" if low > self.most else "below" if high <= self.most else "undecided"
        return f"{'passes' if self.passes(interval) else 'fails'}: {evidence}"


def _bonferroni(settings: dict[str, Any], number: int) -> dict[str, Any]:
    """Bonferroni: all intervals hold together at the level of one."""
    return settings | {"level": 1 - (1 - settings["level"]) / number}


def _findings(rows: Rows, settings: dict[str, Any]) -> Iterator[Finding]:

    rows.warn_of_dropped()
    if rows.weight_type == "importance":
        settings = settings | {"weight_type": rows.weight_type}
        note(IMPORTANCE)
    groups = rows.groups()
    settings = _bonferroni(settings, len(groups) * len(rows.choice.models))
    ece_interval: Any = tn.ece_interval
    for group, part in groups:
        for model in rows.choice.models:
            with part.about(model, group=group) as warned:
                one = part.arguments(model)
                interval = ece_interval(one.y_true, one.y_prob, cluster=part.cluster, **settings, **one.rows)
            warning(*warned, about=group.name(model.name))
            yield Finding(group, model.name, interval, rows.is_matrix(model))


def _from_stream(data: Dataset, settings: dict[str, Any], *, asked: bool) -> Iterator[Finding]:

    total = _sums.stream_sums(data, _tally, settings["bins"] or tn.EqualWidth(_LATTICE), asked=asked)
    binned = any(sums.binned for sums in total.values())
    if binned:
        note(
            f"there are more than {_sums.MOST_CELLS:,} distinct scores. The limits are those of the analytic method, "
            "in bins of equal width; `--no-stream` uses the usual one."
        )
        settings = settings | {"method": "analytic"}
    settings = _bonferroni(settings, len(total))
    ece_interval: Any = tn.ece_interval
    for name, sums in total.items():
        (t,) = sums.parts.values()
        own = {}
        if binned and settings["bins"] is None:
            # The usual n^0.4 as a power of two: only such bins can be made from the lattice.
            own = {"bins": min(_LATTICE, 1 << round(0.4 * (t.n - 1).bit_length()))}
        with data.about(name) as warned:
            interval = ece_interval(t, **settings | own)
        warning(*sums.warnings, *warned, about=name)
        yield Finding(Group(), name, interval, t.kind == "confidence")


def _tally(rows: Rows, model: Model) -> ModelSums:

    arguments = rows.arguments(model)
    kind: Any = {"kind": "confidence"} if rows.is_matrix(model) else {}
    return ModelSums({"one": tn.tally(arguments.y_true, arguments.y_prob, **arguments.rows, **kind)}, arguments.remark)


def _limits(findings: Sequence[Finding]) -> list[str]:
    """Method and bins of the limits; for each finding where they differ, as they depend on the number of rows."""
    names: dict[str, list[str]] = {}
    for one in findings:
        names.setdefault(f"{one.interval.method} limits; {one.interval.bins}", []).append(one.group.name(one.model))
    top = [_TOP] if findings[0].top else []
    if len(names) == 1:
        return [" ".join([f"{limits}." for limits in names] + top)]
    return [f"{limits}: {'; '.join(own)}." for limits, own in names.items()] + top


def _output(choice: Choice, source: str, findings: Sequence[Finding], rule: Rule) -> Output:

    columns = [
        *group_columns(choice.by),
        Column("model", "model", "name"),
        Column("n", "rows", "count"),
        Column("estimate", "ECE, l2", "fraction"),
        Column("low", f"{100 * findings[0].interval.level:.4g} % from", "fraction"),
        Column("high", "to", "fraction"),
        Column("verdict", "verdict"),
        Column("passed", "passed", forms="data"),
    ]
    lines = [
        {
            **one.group.entry(),
            "model": one.model,
            **one.interval.to_dict(),
            **dict(zip(("low", "high"), one.interval.hull, strict=True)),
            "verdict": rule.verdict(one.interval),
            "passed": rule.passes(one.interval),
        }
        for one in findings
    ]
    failed = sum(not line["passed"] for line in lines)
    limit = "upper" if rule.require else "lower"
    notes = [
        f"Data: {source}, labels {choice.label!r}.",
        *_limits(findings),
        f"{'Passed' if not failed else f'Failed: {failed} of {len(lines)}'}; "
        f"the {limit} limit must be at most {rule.most:g}.",
    ]
    data = {
        "data": choice.about(source),
        "gate": {"max_ece": rule.most, "require": rule.require, "passed": not failed},
        "findings": lines,
    }
    return Output(Table(columns, lines, notes), data)
