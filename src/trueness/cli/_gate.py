"""``trueness gate``."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.table import Column, Table
from trueness.cli import _sums
from trueness.cli._columns import Group, Model, Request, group_columns, model_column
from trueness.cli._dataset import IMPORTANCE, Arguments, Dataset, Rows, open_dataset
from trueness.cli._messages import note, reword_messages, warning, wording
from trueness.cli._sums import ModelSums
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.evidence import Evidence
    from trueness.results import Finding, Gate

_TOP = "For several classes: the error of the largest score as the probability that its class is right."
_LATTICE = 4096
_SHOWN = 6
_REQUIRE = (
    "Fail unless an equivalence test shows that every quantity is within its bound: its p-value is at most 1 - level, "
    "and its upper confidence limit is within the bound. Without --require, the gate fails if a quantity is shown to "
    "exceed its bound (its lower limit does), or if there are too few rows to detect even a gross excess. Either way "
    "it fails if labels agree with the scores better than chance allows, as on the rows that fitted them."
)
_share = partial(opt.number, kind=opt.Between(0, 1), metavar="X")
_criteria = opt.combine(
    _share("--max-ece", "The largest ECE allowed, in the bins of --bins."),
    _share("--max-l2", "The largest l2 calibration error allowed."),
    _share("--oe-within", "How far observed/expected events may be from 1: 0.1 allows 0.9 to 1.1."),
    click.option("--require", is_flag=True, help=_REQUIRE),
    opt.bins(None, "Bins of the ECE; by default 10 of equal width", blind=True),
    opt.level(
        0.95,
        "Confidence level of the gate: if every bound is kept it fails in at most 1 - level of samples, over all "
        "models, groups and quantities together. With --require, each limit that certifies a quantity has this level.",
        least=0.75,
    ),
    opt.seed(),
    click.option("--groups", is_flag=True, help="Judge each group of .tally files instead of all their rows together."),
)


@opt.command("gate")
@opt.data(label="own")
@opt.cluster
@_criteria
@opt.stream
@opt.output()
def command(**options: Any) -> None:
    """Fail, with exit code 1, if a calibration error is too large.

    Each bound is compared with confidence limits, not with the estimate, which varies by chance. Several models, groups
    of --by and quantities must all pass, with one error rate for all of them together. Files may be .tally files.

    \b
      trueness gate rows.csv --label churned --prob model --max-ece 0.03
      trueness gate rows.csv --label churned --prob model --max-ece 0.05 --require
      trueness gate rows.csv --label churned --prob p --oe-within 0.1 --by region

    Exit code 0: passed. 1: failed or undecided. 2: the options or the data are wrong, or there is nothing to judge.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    stream = options["stream"]
    if options.pop("groups"):
        raise click.UsageError("--groups is for .tally files; for rows, use --by.")
    target = Target.pop_from(options)
    bounds = Bounds.from_options(options)
    request = Request.pop_from(options)
    with open_dataset(request) as data:
        if data.streamed(stream):
            subjects = _from_stream(data, bounds, asked=stream is not None)
        else:
            subjects = _from_rows(data.rows().validate())
        about, notes = data.choice.about(data.source.name), [f"{data.choice.in_words(data.source.name)}."]
        _deliver(list(subjects), bounds, about, notes, target)


@opt.command("gate")
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
    bounds = Bounds.from_options(options)
    sums, total = _sums.read_total(options["files"], target.path)
    if not options["bins"]:
        bounds = bounds._replace(rule=_sums.own_bins(total))
    names = [name for name, _ in sums]
    labels, scores = (total.about.get(key) for key in ("label", "prob"))
    notes = [f"{_sums.file_names(names)}: {total.n:,} rows; labels {labels!r}, scores {scores!r}."]
    if total.bins == "sketch" and bounds.bounds["max_l2"] is not None:
        notes.append("The l2 error of a sketch takes all rows of a cell at their mean score.")
    about = {"sources": names, **total.about, "by": total.by}
    in_groups = options["groups"] or total.by == "origin"  # of logs, whose models and sources are not pooled
    _deliver(list(_from_sums(total, in_groups=in_groups)), bounds, about, notes, target)


class Subject(NamedTuple):
    group: Group
    model: str
    data: "Evidence"
    context: Callable[[], AbstractContextManager[list[str]]]


class Bounds(NamedTuple):
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

    def judge(self, named: Mapping[tuple[str, str], Subject]) -> "Gate":
        """The gate of the library, with its errors and warnings worded for each subject."""
        from trueness.infer.decision._gate import checked_bounds, gate_of

        @contextmanager
        def about(names: tuple[str, str]) -> Iterator[None]:
            one = named[names]
            with one.context() as warned:
                yield
            warning(*warned, about=one.group.name(one.model))

        evidence = {names: one.data for names, one in named.items()}
        bounds = checked_bounds(**self.bounds, bins=self.rule)
        return gate_of(evidence, bounds, require=self.require, level=self.level, seed=self.seed, about=about)


def _from_rows(rows: Rows) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence

    rows.warn_of_dropped()
    if rows.weight_type == "importance":
        note(IMPORTANCE)

    def ask(one: Arguments, part: Rows) -> "tuple[Rows, Evidence]":
        how: Any = {"kind": "confidence", "cluster": part.cluster, "weight_type": rows.weight_type}
        return part, Evidence.of(one.y_true, one.y_prob, one.rows, **how)

    first = None
    for group, model, (part, data) in rows.each("Reading the groups", ask):
        first = first or group
        if data.note and group == first:
            note(f"{model.name}: {data.note}")
        yield Subject(group, model.name, data, partial(part.about, model, group=group))


def _from_stream(data: Dataset, bounds: Bounds, *, asked: bool) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence

    lost = f"Rows within 1/{_LATTICE} of each other are taken at their mean score; `--no-stream` keeps them apart."
    total = _sums.stream_sums(data, _tally, _lattice(bounds), lost, asked=asked)
    for model in data.choice.models:
        sums = total[model.name]
        (one,) = sums.parts.values()
        warning(*sums.warnings, about=model.name)
        yield Subject(Group(), model.name, Evidence.of_sums(one), partial(data.about, model))


def _lattice(bounds: Bounds) -> Any:
    """Fine bins whose edges include those of the ECE, if these are fixed."""
    import numpy as np

    fine, own = tn.EqualWidth(_LATTICE), bounds.rule.fixed_edges
    if bounds.bounds["max_ece"] is None:
        return fine
    return bounds.rule if own is None else tn.Edges(np.union1d(fine.fixed_edges, own).tolist())


def _tally(rows: Rows, model: Model) -> ModelSums:
    from trueness._tally.tally import binary_of_two_classes

    one = rows.arguments(model)
    several = rows.is_matrix(model) and one.y_prob.shape[1] > 2
    kind: Any = {"kind": "confidence"} if several else {}
    return ModelSums({"one": binary_of_two_classes(tn.tally(one.y_true, one.y_prob, **one.rows, **kind))}, one.remark)


def _from_sums(total: "tn.Accumulator", *, in_groups: bool) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence
    from trueness._tally.tally import binary_of_two_classes

    if in_groups and not total.by:
        raise InputError("--groups", "needs sums in groups", remedy="`trueness tally --by` keeps them apart.")
    groups: dict[Group, Any] = {Group(): total.total}
    if in_groups:
        groups = {Group.of_sums(total.by, key): sums for key, sums in total.groups.items()}
    for group, sums in groups.items():
        whole = binary_of_two_classes(sums)
        problems = {str(total.about.get("prob") or "scores"): whole}
        if len(whole.parts) > 1:  # one per class that has rows
            parts = zip(whole.classes or (), whole.parts, strict=True)
            problems = {f"class {label}": type(whole)("binary", (part,)) for label, part in parts if part.totals.rows}
        for name, one in problems.items():
            yield Subject(group, name, Evidence.of_sums(one), partial(reword_messages, wording()))


def _deliver(
    subjects: Sequence[Subject], bounds: Bounds, about: dict[str, Any], notes: Sequence[str], target: Target
) -> None:
    """Judge, print the findings, and exit with 1 unless all pass."""
    with progress_bar("Judging"):
        named = {(str(one.group), one.model): one for one in subjects}  # group and model, as the library has them
        found = bounds.judge(named)
    by = group_columns(one.group.by for one in subjects)
    columns = [
        *by,
        model_column((one.model for one in subjects), by),
        Column("n", "rows", "count", optional=True),
        Column("quantity", "judged", forms="data"),
        Column("judged", "judged", forms="table"),
        Column("bins", "bins", forms="data"),
        Column("bound", "bound", forms="data"),
        Column("estimate", "value", "number"),
        Column("low", "lower", "number"),
        Column("high", "upper", "number"),
        Column("pvalue", "p", "p", forms="all" if found.require else "data"),
        Column("verdict", "verdict"),
        *(Column(key, key, forms="data") for key in ("passed", "level", "reason")),
    ]
    top = [_TOP] if any(one.data.view == "confidence" for one in subjects) else []
    table = Table(columns, [_line(one, named[one.group, one.model].group) for one in found.findings])
    gate = {**bounds.bounds, "require": found.require, "level": found.level, "passed": found.passed}
    data = {"data": about, "gate": gate, "findings": table.to_dict()}
    target.deliver(Output(replace(table, notes=[*notes, *_in_words(found, top)]), data))
    if not found.passed:
        raise click.exceptions.Exit(1)


def _in_words(found: "Gate", top: Sequence[str]) -> list[str]:
    """The limits, the findings that decide, and the outcome."""
    failed = [one for one in found.findings if not one.passed]
    shown = failed or (found.findings if len(found.findings) <= _SHOWN else ())
    several = len({(one.group, one.model) for one in found.findings}) > 1
    sentences = [str(one) if several else f"{one.sentence}." for one in shown[:_SHOWN]]
    if len(shown) > _SHOWN:
        sentences.append(f"{len(shown) - _SHOWN} more did not pass.")
    share = f"{len(failed)} of {len(found.findings)}"
    unknown = all(one.outcome == "unknown" for one in failed)
    failure = f"Not passed: {share} cannot be determined." if unknown else f"Failed: {share}."
    return [_limits_in_words(found, named=bool(shown)), *top, *sentences, failure if failed else "Passed."]


def _limits_in_words(found: "Gate", *, named: bool) -> str:
    """The level of the limits, what the gate risks and, unless sentences that follow name them, the bins of the ECE."""
    first, judged = found.findings[0], len(found.findings)
    bins = f"{first.words}. " if first.quantity == "ece" and not named else ""
    level, alpha = (f"{100 * v:.4g} %" for v in (max(one.level for one in found.findings), 1 - found.level))
    risk = f"If every bound is kept, the gate fails with a probability of at most {alpha}"
    risk += f": one error rate for all {judged} findings together." if judged > 1 else "."
    if found.require:
        risk = f"p: equivalence test of each bound; p ≤ {1 - found.level:.4g} certifies it. "
        risk += f"If a bound is not kept, the gate passes with a probability of at most {alpha}."
    return f"{bins}Limits are one-sided, each with {level} confidence. {risk}"


def _line(one: "Finding", group: Group) -> dict[str, Any]:
    allowed = one.demand if one.quantity != "oe" else f"{1 - one.bound:g} to {1 + one.bound:g}"
    line = {**group.entry(), **one.to_dict(), "passed": one.passed, "reason": one.sentence, "verdict": one.outcome}
    line |= {"group": group.value, "bins": one.bins or None, "judged": f"{one.name} {allowed}"}
    return line | (dict.fromkeys(("n", "estimate", "low", "high")) if math.isnan(one.estimate) else {})
