"""``trueness gate``."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli import _sums
from trueness.cli._columns import Group, Model, Request, group_columns
from trueness.cli._messages import note, warning
from trueness.cli._rows import IMPORTANCE, Dataset, Rows, open_dataset
from trueness.cli._sums import ModelSums
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.evidence import Evidence
    from trueness.results import Finding, Gate

_TOP = "For several classes: the error of the largest score as the probability that its class is right."
_FAILED = 1
_LATTICE = 4096
_SHOWN = 6
_REQUIRE = (
    "Fail unless an equivalence test shows that every quantity is within its bound: its p-value is at most 1 - level, "
    "and its upper confidence limit is within the bound. Without --require, the gate fails if a quantity is shown to "
    "exceed its bound (its lower limit does), or if there are too few rows to detect even a gross excess."
)
_criteria = opt.combine(
    opt.number("--max-ece", "The largest ECE allowed, in the bins of --bins.", kind=opt.Between(0, 1), metavar="X"),
    opt.number("--max-l2", "The largest l2 calibration error allowed.", kind=opt.Between(0, 1), metavar="X"),
    opt.number(
        "--oe-within",
        "How far observed/expected events may be from 1: 0.1 allows 0.9 to 1.1.",
        kind=opt.Between(0, 1),
        metavar="X",
    ),
    click.option("--require", is_flag=True, help=_REQUIRE),
    opt.bins(None, "Bins of the ECE; by default 10 of equal width", blind=True),
    opt.level(
        0.95,
        "Confidence level of the one-sided limits. Each limit that certifies a quantity has this level; the limits "
        "that fail one have it jointly, over all models, groups and quantities.",
        least=0.75,
    ),
    opt.seed(),
    click.option("--groups", is_flag=True, help="Judge each group of .tally files instead of all their rows together."),
)


@click.command("gate", no_args_is_help=True)
@opt.data()
@opt.cluster
@_criteria
@opt.stream
@opt.output()
def command(**options: Any) -> None:
    """Fail, with exit code 1, if a calibration error is too large.

    Each bound is compared with confidence limits, not with the estimate, which varies by chance. Several models, groups
    of --by and quantities must all pass. Files may be .tally files.

    \b
      trueness gate predictions.csv --label churned --prob model --max-ece 0.03
      trueness gate predictions.csv --label churned --prob model --max-ece 0.05 --oe-within 0.1 --require --by region

    Exit code 0: passed. 1: failed or undecided. 2: the options or the data are wrong, or there is nothing to judge.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    stream = options["stream"]
    for name in ("by", "cluster"):
        if stream and options[name]:
            raise click.UsageError(f"--{name} needs all rows at once; leave --stream out.")
    if options.pop("groups"):
        raise click.UsageError("--groups is for .tally files; for rows, use --by.")
    target = Target.pop_from(options)
    gate = Bounds.from_options(options)
    request = Request.pop_from(options)
    with open_dataset(request) as data:
        if stream or (stream is None and data.large and not request.by and not request.cluster):
            subjects = list(_from_stream(data, gate, asked=stream is not None))
        else:
            subjects = list(_from_rows(data.rows().validate()))
    choice = data.choice
    notes = [f"Data: {data.source.name}, labels {choice.label!r}."]
    _deliver(gate.judge(subjects), subjects, gate, choice.about(data.source.name), notes, target)


@click.command("gate")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@_criteria
@opt.output()
def gate(**options: Any) -> None:
    """Fail, with exit code 1, if a calibration error of the rows that .tally files sum up is too large.

    Sums of bins give the ECE in these bins, and observed/expected; the l2 error needs a sketch or distinct scores.

    \b
      trueness gate monday.tally tuesday.tally --max-ece 0.03
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    target = Target.pop_from(options)
    bins = options["bins"]
    judged = Bounds.from_options(options)
    sums, total = _sums.read_total(options["files"], target.path)
    judged = judged._replace(rule=judged.rule if bins else _sums.own_bins(total))
    names = [name for name, _ in sums]
    about = {"sources": names, **total.about, "by": total.by}
    subjects = list(_from_sums(total, in_groups=options["groups"]))
    first = f"{_sums.file_names(names)}: {total.n:,} rows; labels {total.about.get('label')!r}"
    notes = [f"{first}, scores {total.about.get('score')!r}."]
    if total.bins == "sketch" and judged.bounds["max_l2"] is not None:
        notes.append("The l2 error of a sketch takes all rows of a cell at their mean score.")
    _deliver(judged.judge(subjects), subjects, judged, about, notes, target)


class Subject(NamedTuple):
    """One model in one group."""

    group: Group
    model: str
    data: "Evidence"
    context: Any
    """A function that returns the context in which errors and warnings are worded."""


class Bounds(NamedTuple):
    """The bounds, and whether they must be shown to be kept."""

    bounds: dict[str, float | None]
    require: bool
    level: float
    seed: int
    rule: Any

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> "Bounds":
        """Read the options, of which at least one must be a bound."""
        bounds = {name: options[name] for name in ("max_ece", "max_l2", "oe_within")}
        if all(bound is None for bound in bounds.values()):
            raise click.UsageError("Give at least one bound: --max-ece, --max-l2 or --oe-within.")
        if options["bins"] is not None and bounds["max_ece"] is None:
            raise click.UsageError("--bins needs --max-ece.")
        rule = opt.bin_rule(options["bins"] or "10")
        return cls(bounds, options["require"], options["level"], options["seed"], rule)

    def judge(self, subjects: Sequence[Subject]) -> "Gate":
        """The gate of the library, with its errors and warnings worded for each subject."""
        from trueness.infer.decision._gate import checked_bounds, gate_of

        named = {(str(one.group), one.model): one for one in subjects}

        @contextmanager
        def about(names: tuple[str, str]) -> Iterator[None]:
            one = named[names]
            with one.context() as warned:
                yield
            warning(*warned, about=one.group.name(one.model))

        bounds = checked_bounds(**self.bounds, bins=self.rule)
        evidence = {names: one.data for names, one in named.items()}
        same: Any = {"require": self.require, "level": self.level, "seed": self.seed}
        return gate_of(evidence, bounds, **same, about=about)


def _from_rows(rows: Rows) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence

    rows.warn_of_dropped()
    if rows.weight_type == "importance":
        note(IMPORTANCE)
    groups = rows.groups()
    first = groups[0][0]
    for group, part in groups:
        for model in rows.choice.models:
            with part.about(model, group=group) as warned:
                one = part.arguments(model)
                weight_type: Any = rows.weight_type
                data = Evidence.of(
                    *(one.y_true, one.y_prob, one.rows),
                    kind="confidence",
                    cluster=part.cluster,
                    weight_type=weight_type,
                )
            warning(*warned, about=group.name(model.name))
            if data.note and group is first:
                note(f"{model.name}: {data.note}")
            yield Subject(group, model.name, data, _context(part, model, group))


def _context(part: Rows, model: Model, group: Group) -> Any:
    return lambda: part.about(model, group=group)


def _from_stream(data: Dataset, gate: Bounds, *, asked: bool) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence

    total = _sums.stream_sums(data, _tally, _lattice(gate), asked=asked)
    if any(sums.binned for sums in total.values()):
        note(
            f"there are more than {_sums.MOST_CELLS:,} distinct scores. Rows within 1/{_LATTICE} of each other are "
            "taken at their mean score; `--no-stream` keeps them apart."
        )
    for name, sums in total.items():
        (one,) = sums.parts.values()
        warning(*sums.warnings, about=name)
        yield Subject(Group(), name, Evidence.of_sums(one), _stream_context(data, name))


def _stream_context(data: Dataset, name: str) -> Any:
    return lambda: data.about(name)


def _lattice(gate: Bounds) -> Any:
    """Fine bins whose edges include those of the ECE, if these are fixed."""
    import numpy as np

    fine, own = tn.EqualWidth(_LATTICE).fixed_edges, gate.rule.fixed_edges
    if gate.bounds["max_ece"] is None:
        return tn.EqualWidth(_LATTICE)
    return gate.rule if own is None else tn.Edges(np.union1d(fine, own).tolist())


def _tally(rows: Rows, model: Model) -> ModelSums:
    from trueness._tally.tally import binary_of_two_classes

    one = rows.arguments(model)
    several = rows.is_matrix(model) and one.y_prob.shape[1] > 2
    kind: Any = {"kind": "confidence"} if several else {}
    return ModelSums({"one": binary_of_two_classes(tn.tally(one.y_true, one.y_prob, **one.rows, **kind))}, one.remark)


def _from_sums(total: "tn.Accumulator", *, in_groups: bool) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence
    from trueness.cli._messages import reword_messages, wording

    if in_groups and not total.by:
        raise InputError("--groups", "needs sums in groups", remedy="`trueness tally --by` keeps them apart.")
    parts: Iterable[tuple[Group, Any]] = [(Group(), total.total)]
    if in_groups:
        parts = [(Group(total.by, key), sums) for key, sums in total.groups.items()]
    for group, sums in parts:
        for name, one in _problems(sums, str(total.about.get("score") or "scores")):
            yield Subject(group, name, Evidence.of_sums(one), lambda: reword_messages(wording()))


def _problems(sums: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The binary problems in the sums: one, or one per class that has rows."""
    from trueness._tally.tally import binary_of_two_classes

    sums = binary_of_two_classes(sums)
    if len(sums.parts) == 1:
        yield name, sums
        return
    for label, part in zip(sums.classes or (), sums.parts, strict=True):
        if part.totals.rows:
            yield f"class {label}", type(sums)("binary", (part,))


def _deliver(
    found: "Gate",
    subjects: Sequence[Subject],
    gate: Bounds,
    about: dict[str, Any],
    notes: Sequence[str],
    target: Target,
) -> None:
    """Print the findings, and exit with 1 unless all pass."""
    target.deliver(_output(found, subjects, gate, about, notes))
    if not found.passed:
        raise click.exceptions.Exit(_FAILED)


def _output(
    found: "Gate", subjects: Sequence[Subject], gate: Bounds, about: dict[str, Any], notes: Sequence[str]
) -> Output:
    groups = {(str(one.group), one.model): one.group for one in subjects}
    columns = [
        *group_columns([one.group.by for one in subjects if one.group.by][:1]),
        Column("model", "model", "name"),
        Column("n", "rows", "count"),
        Column("quantity", "judged", "text", forms="data"),
        Column("judged", "judged", forms="table"),
        Column("bins", "bins", forms="data"),
        Column("bound", "bound", forms="data"),
        Column("estimate", "value", "number"),
        Column("low", "lower limit", "number"),
        Column("high", "upper limit", "number"),
        Column("pvalue", "p", "p", forms="all" if gate.require else "data"),
        Column("verdict", "verdict"),
        Column("passed", "passed", forms="data"),
    ]
    lines = [_line(one, groups[one.group, one.model]) for one in found.findings]
    failed = [one for one in found.findings if not one.passed]
    shown = failed or (found.findings if len(lines) <= _SHOWN else [])
    sentences = [f"{_name(one, groups)}{one.sentence}." for one in shown[:_SHOWN]]
    if len(shown) > _SHOWN:
        sentences.append(f"{len(shown) - _SHOWN} more did not pass.")
    top = any(one.data.view == "confidence" for one in subjects)
    notes = [*notes, _limits_in_words(found, named=bool(shown)), *([_TOP] if top else [])]
    share = f"{len(failed)} of {len(lines)}"
    unknown = all(one.outcome == "unknown" for one in failed)
    outcome = (
        "Passed." if not failed else f"Not passed: {share} cannot be determined." if unknown else f"Failed: {share}."
    )
    data = {
        "data": about,
        "gate": {**gate.bounds, "require": gate.require, "level": gate.level, "passed": not failed},
        "findings": [
            {
                **{key: value for key, value in line.items() if key != "judged"},
                "level": one.level,
                "reason": one.sentence,
            }
            for line, one in zip(lines, found.findings, strict=True)
        ],
    }
    return Output(Table(columns, lines, [*notes, *sentences, outcome]), data)


def _limits_in_words(found: "Gate", *, named: bool) -> str:
    """The level of the limits and, unless sentences that follow name them, the bins of the ECE."""
    first = found.findings[0]
    bins = f"{first.words}. " if first.quantity == "ece" and not named else ""
    each = max(one.level for one in found.findings)
    level, together = (f"{100 * value:.4g} %" for value in (each, found.level))
    joint = "" if level == together else f", so that all {len(found.findings)} hold together with {together}"
    limits = f"{bins}Limits are one-sided, each with {level} confidence{joint}."
    if not found.require:
        return limits
    return f"{limits} p: equivalence test of each bound, certified if p ≤ {1 - found.level:.4g}."


def _name(one: "Finding", groups: dict[tuple[str, str], Group]) -> str:
    """The model and group of a finding, if there are several."""
    return f"{groups[one.group, one.model].name(one.model)}: " if len(groups) > 1 else ""


def _line(one: "Finding", group: Group) -> dict[str, Any]:
    known = not math.isnan(one.estimate)
    return {
        **group.entry(),
        "model": one.model,
        "n": one.n if known else None,
        "quantity": one.quantity,
        "judged": f"{one.name} {one.demand}",
        "bins": one.bins or None,
        "bound": one.bound,
        **{key: getattr(one, key) if known else None for key in ("estimate", "low", "high")},
        "pvalue": one.pvalue,
        "verdict": one.outcome,
        "passed": one.passed,
    }
