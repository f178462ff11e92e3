"""``trueness gate`` and ``trueness decide``: decisions."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.table import Column, Table
from trueness.cli._columns import Group, Model, Request, group_columns, model_column
from trueness.cli._dataset import IMPORTANCE, Arguments, Dataset, Rows, open_dataset, read_rows
from trueness.cli._printing import Output, Target, note, reword_messages, warning, wording
from trueness.cli._tally import ModelSums, file_names, own_bins, read_total, stream_sums
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.evidence import Evidence
    from trueness.results import Finding, Gate

_NUMBERS = ("estimate", "low", "high")
_BOUNDS = ("max_ece", "max_l2", "oe_within")
_TOP = "For several classes: the error of the largest score as the probability that its class is right."
_LATTICE = 4096
_SHOWN = 6
_REQUIRE = (
    "Fail unless an equivalence test shows that every quantity is within its bound: its p-value is at most 1 - level, "
    "and its upper confidence limit is within the bound. Without --require, the gate fails if a quantity is shown to "
    "exceed its bound (its lower limit does), or if there are too few rows to detect even a gross excess. Either way "
    "it fails if labels agree with the scores better than chance allows, as on the rows that fitted them."
)
_LEVEL = (
    "Confidence level of the gate: if every bound is kept it fails in at most 1 - level of samples, over all models, "
    "groups and quantities together. With --require, each limit that certifies a quantity has this level."
)
_COSTS = (
    ("cost", "at the threshold of the costs"),
    ("recalibrated_cost", "after recalibration, held out"),
    ("best_cost", "at the best threshold, held out"),
    ("always", "always acting"),
    ("never", "never acting"),
)
_ABOVE_0 = click.FloatRange(0, 1, min_open=True)
_share = partial(opt.number, kind=opt.Between(0, 1), metavar="X")
_criteria = opt.combine(
    _share("--max-ece", "The largest ECE allowed, in the bins of --bins."),
    _share("--max-l2", "The largest l2 calibration error allowed."),
    _share("--oe-within", "How far observed/expected events may be from 1: 0.1 allows 0.9 to 1.1."),
    click.option("--require", is_flag=True, help=_REQUIRE),
    opt.bins(None, "Bins of the ECE; by default 10 of equal width", blind=True),
    opt.level(0.95, _LEVEL, least=0.75),
    opt.seed(),
    click.option(
        "--groups",
        is_flag=True,
        help="Judge each group of .tally files instead of all their rows together.",
    ),
)


@opt.command("gate")
@opt.data(label="own", events=True)
@opt.cluster
@_criteria
@opt.stream
@opt.output()
def gate(**options: Any) -> None:
    """Fail, with exit code 1, if a calibration error is too large.

    Each bound is compared with confidence limits, not with the estimate, which varies by chance.
    Several models, groups of --by and quantities must all pass, with one error rate for all of them
    together. Files may be .tally files.

    \b
      trueness gate rows.csv --label churned --prob model --max-ece 0.03
      trueness gate rows.csv --label churned --prob model --max-ece 0.05 --require
      trueness gate rows.csv --label churned --prob p --oe-within 0.1 --by region

    Exit code 0: passed. 1: failed or undecided. 2: the options or the data are wrong, or there is
    nothing to judge.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    stream = options["stream"]
    if options["groups"]:
        raise click.UsageError("--groups is for .tally files; for rows, use --by.")
    target = Target.pop_from(options)
    rule = _checked_rule(options)
    with open_dataset(Request.pop_from(options)) as data:
        if data.streamed(stream):
            subjects = _from_stream(
                data, rule if options["max_ece"] is not None else None, asked=stream is not None
            )
        else:
            subjects = _from_rows(data.rows().validate())
        about = data.choice.about(data.source.name)
        notes = [f"{data.choice.in_words(data.source.name)}."]
        _deliver(list(subjects), rule, options, about, notes, target)


@opt.command("gate")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@_criteria
@opt.output()
def gate_of_sums(**options: Any) -> None:
    """Fail, with exit code 1, if a calibration error of the rows that .tally files sum up is too large.

    Sums of bins give the ECE in these bins, and observed/expected; the l2 error needs a sketch or
    distinct scores.

    \b
      trueness gate monday.tally tuesday.tally --max-ece 0.03
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    target = Target.pop_from(options)
    rule = _checked_rule(options)
    sums, total = read_total(options["files"], target.path)
    rule = rule if options["bins"] else own_bins(total)
    labels, scores = (total.about.get(key) for key in ("label", "prob"))
    notes = [f"{file_names(sums)}: {total.n:,} rows; labels {labels!r}, scores {scores!r}."]
    if total.bins == "sketch" and options["max_l2"] is not None:
        notes.append("The l2 error of a sketch takes all rows of a cell at their mean score.")
    about = {"sources": list(sums), **total.about, "by": total.by}
    in_groups = (
        options["groups"] or total.by == "origin"
    )  # of logs, whose models and sources are not pooled
    _deliver(list(_from_sums(total, in_groups=in_groups)), rule, options, about, notes, target)


class Subject(NamedTuple):
    group: Group
    model: str
    data: "Evidence"
    context: Callable[[], AbstractContextManager[list[str]]]


def _checked_rule(options: dict[str, Any]) -> Any:
    """The bins of the ECE; one option at least must be a bound."""
    if all(options[name] is None for name in _BOUNDS):
        raise click.UsageError("Give at least one bound: --max-ece, --max-l2 or --oe-within.")
    if options["bins"] is not None and options["max_ece"] is None:
        raise click.UsageError("--bins needs --max-ece.")
    return opt.bin_rule(options["bins"] or "10")


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


def _from_stream(data: Dataset, rule: Any, *, asked: bool) -> Iterator[Subject]:
    """The sums of each model, or of fine bins whose edges include those of the ECE, if these are fixed."""
    import numpy as np

    from trueness._tally.evidence import Evidence

    fine: Any = tn.EqualWidth(_LATTICE)
    if rule is not None:
        edges = rule.fixed_edges
        fine = rule if edges is None else tn.Edges(np.union1d(fine.fixed_edges, edges).tolist())
    lost = f"Rows within 1/{_LATTICE} of each other are taken at their mean score; `--no-stream` keeps them apart."
    total = stream_sums(data, _tally, fine, lost, asked=asked)
    for model in data.choice.models:
        sums = total[model.name]
        (one,) = sums.parts.values()
        warning(*sums.warnings, about=model.name)
        yield Subject(Group(), model.name, Evidence.of_sums(one), partial(data.about, model))


def _tally(rows: Rows, model: Model) -> ModelSums:
    from trueness._tally.tally import binary_of_two_classes

    one = rows.arguments(model)
    several = rows.is_matrix(model) and one.y_prob.shape[1] > 2
    kind: Any = {"kind": "confidence"} if several else {}
    return ModelSums(
        {"one": binary_of_two_classes(tn.tally(one.y_true, one.y_prob, **one.rows, **kind))},
        one.remark,
    )


def _from_sums(total: "tn.Accumulator", *, in_groups: bool) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence
    from trueness._tally.tally import binary_of_two_classes

    if in_groups and not total.by:
        raise InputError(
            "--groups", "needs sums in groups", remedy="`trueness tally --by` keeps them apart."
        )
    groups: dict[Group, Any] = {Group(): total.total}
    if in_groups:
        groups = {Group.of_sums(total.by, key): sums for key, sums in total.groups.items()}
    for group, sums in groups.items():
        whole = binary_of_two_classes(sums)
        problems = {str(total.about.get("prob") or "scores"): whole}
        if len(whole.parts) > 1:  # one per class that has rows
            parts = zip(whole.classes or (), whole.parts, strict=True)
            problems = {
                f"class {label}": type(whole)("binary", (part,))
                for label, part in parts
                if part.totals.rows
            }
        for name, one in problems.items():
            yield Subject(group, name, Evidence.of_sums(one), partial(reword_messages, wording()))


def _deliver(
    subjects: Sequence[Subject],
    rule: Any,
    options: dict[str, Any],
    data: dict[str, Any],
    notes: list[str],
    to: Target,
) -> None:
    """Judge as the library does, print the findings, and exit with 1 unless all pass."""
    from trueness.infer.decision._gate import checked_bounds, gate_of

    named = {
        (str(one.group), one.model): one for one in subjects
    }  # group and model, as the library has them

    @contextmanager
    def about(names: tuple[str, str]) -> Iterator[None]:
        with named[names].context() as warned:
            yield
        warning(*warned, about=named[names].group.name(names[1]))

    bounds = {name: options[name] for name in _BOUNDS}
    how: Any = {name: options[name] for name in ("require", "level", "seed")}
    with progress_bar("Judging"):
        evidence = {names: one.data for names, one in named.items()}
        found = gate_of(evidence, checked_bounds(**bounds, bins=rule), about=about, **how)
    by = group_columns(one.group.by for one in subjects)
    columns = [
        *by,
        model_column((one.model for one in subjects), by),
        Column("n", "rows", "count", optional=True),
        Column("quantity", "judged", forms="data"),
        Column("judged", "judged", forms="table"),
        *(Column(key, key, forms="data") for key in ("bins", "bound")),
        *(
            Column(key, title, "number")
            for key, title in zip(_NUMBERS, ("value", "lower", "upper"), strict=True)
        ),
        Column("pvalue", "p", "p", forms="all" if found.require else "data"),
        Column("verdict", "verdict"),
        *(Column(key, key, forms="data") for key in ("passed", "level", "reason")),
    ]
    top = [_TOP] if any(one.data.view == "confidence" for one in subjects) else []
    table = Table(
        columns, [_line(one, named[one.group, one.model].group) for one in found.findings]
    )
    gate = {**bounds, "require": found.require, "level": found.level, "passed": found.passed}
    output = {"data": data, "gate": gate, "findings": table.to_dict()}
    to.deliver(Output(replace(table, notes=[*notes, *_in_words(found, top)]), output))
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
    return [
        _limits_in_words(found, named=bool(shown)),
        *top,
        *sentences,
        failure if failed else "Passed.",
    ]


def _limits_in_words(found: "Gate", *, named: bool) -> str:
    """The level of the limits, what the gate risks and, unless sentences that follow name them, the bins of the ECE."""
    first = found.findings[0]
    judged = len(found.findings)
    bins = f"{first.words}. " if first.quantity == "ece" and not named else ""
    level, alpha = (
        f"{100 * v:.4g} %" for v in (max(one.level for one in found.findings), 1 - found.level)
    )
    risk = f"If every bound is kept, the gate fails with a probability of at most {alpha}"
    risk += f": one error rate for all {judged} findings together." if judged > 1 else "."
    if found.require:
        risk = f"p: equivalence test of each bound; p ≤ {1 - found.level:.4g} certifies it. "
        risk += f"If a bound is not kept, the gate passes with a probability of at most {alpha}."
    return f"{bins}Limits are one-sided, each with {level} confidence. {risk}"


def _line(one: "Finding", group: Group) -> dict[str, Any]:
    allowed = one.demand if one.quantity != "oe" else f"{1 - one.bound:g} to {1 + one.bound:g}"
    line = {
        **group.entry(),
        **one.to_dict(),
        "passed": one.passed,
        "reason": one.sentence,
        "verdict": one.outcome,
    }
    line |= {"group": group.value, "bins": one.bins or None, "judged": f"{one.name} {allowed}"}
    return line | (dict.fromkeys(("n", *_NUMBERS)) if math.isnan(one.estimate) else {})


@opt.command("decide")
@opt.data(by=False)
@opt.cluster
@opt.number("--cost-fp", "Cost of acting on a row without the event.", metavar="X")
@opt.number("--cost-fn", "Cost of not acting on a row with the event.", metavar="X")
@opt.number(
    "--accept-accuracy",
    "Share that must be right among accepted rows: certify a threshold.",
    kind=_ABOVE_0,
)
@opt.level(0.95, "Confidence level of all limits and certificates.")
@opt.seed()
@opt.output()
def decide(**options: Any) -> None:
    """From probabilities to the action they justify.

    With costs: the threshold that they imply, what decisions by it cost, and what miscalibration
    costs there. With --accept-accuracy: the lowest score from which on that share of the rows has
    the event (or the answer is right), certified. Always: how much no increasing map of the scores
    could save.

    \b
      trueness decide x.csv --label default --prob p --cost-fp 1 --cost-fn 5
      trueness decide x.csv --label correct --prob p --accept-accuracy 0.95

    Exit code 0: answered, whatever the answer. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if (options["cost_fp"] is None) is not (options["cost_fn"] is None):
        raise click.UsageError("Give both costs: --cost-fp and --cost-fn.")
    target = Target.pop_from(options)
    costs = {name: options[name] for name in ("cost_fp", "cost_fn", "seed")}
    goal = options["accept_accuracy"]
    level = options["level"]
    rows = read_rows(Request.pop_from(options))

    def answers(one: Arguments, part: Rows) -> dict[str, Any]:
        common: Any = {"level": level, "cluster": part.cluster, **one.rows}
        found: dict[str, Any] = {
            "certificate": tn.decision_certificate(one.y_true, one.y_prob, **common)
        }
        if costs["cost_fp"] is not None:
            found["decision"] = tn.decide(one.y_true, one.y_prob, **costs, **common)
        if goal is not None:
            found["accept"] = tn.accept_threshold(one.y_true, one.y_prob, accuracy=goal, **common)
        return found

    target.deliver(
        _decision_output(
            rows, {model.name: found for _, model, found in rows.each("Deciding", answers)}
        )
    )


def _decision_output(rows: Rows, models: dict[str, dict[str, Any]]) -> Output:
    several = len(models) > 1
    lines = []
    notes = []
    for name, found in models.items():
        head = f"{name}: " if several else ""
        if "decision" in found:
            decision = found["decision"]
            lines += [
                {"model": name, "what": words, **getattr(decision, key).to_dict()}
                for key, words in _COSTS
            ]
            act, *rest = str(decision).splitlines()
            notes += [head + act, *rest[1:]]
        else:
            kappa = found["certificate"]
            lines.append(
                {"model": name, "what": "most that an increasing map saves (κ)", **kappa.to_dict()}
            )
            cost = f"{head}No increasing map lowers t·FP/n + (1 − t)·FN/n by more than {kappa.high:.4f}"
            notes.append(f"{cost} at any threshold t ({100 * kappa.level:g} % confidence).")
        if "accept" in found:
            notes.append(f"{head}{found['accept']}")
    columns = [
        Column("model", "model", "name", "all" if several else "data"),
        Column(
            "what", "mean cost per row" if "decision" in next(iter(models.values())) else "quantity"
        ),
        *(Column(key, key, "number") for key in ("value", "low", "high")),
    ]
    data = [
        {"model": name, **{key: one.to_dict() for key, one in found.items()}}
        for name, found in models.items()
    ]
    table = Table(columns, lines, [f"{rows.choice.in_words(rows.source)}.", *notes])
    return Output(table, {"data": rows.choice.about(rows.source), "models": data})
