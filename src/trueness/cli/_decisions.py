"""``trueness gate`` and ``trueness decide``: decisions."""

import hashlib
import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.table import Column, Table
from trueness.cli._columns import Group, Model, Request, group_columns, model_column
from trueness.cli._dataset import (
    Arguments,
    Dataset,
    Rows,
    as_numbers,
    open_dataset,
    read_rows,
)
from trueness.cli._printing import Output, Target, note, reword_messages, warning, wording
from trueness.cli._receipt import receipt_of, write_receipt
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
EXIT_CODES = {"pass": 0, "fail": 1, "investigate": 3}
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
    _share("--max-l2", "The largest typical error (l2) allowed."),
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
    opt.text(
        "--policy",
        "A TOML file with the bounds: level, require, min_rows, max_ece, max_l2, oe_within, by with "
        "segment_gap, columns with slice_gap, baseline with margin, seed. Of pyproject.toml, the "
        "section [tool.trueness.gate], which is also read if no bound is given.",
        metavar="FILE",
    ),
    opt.text(
        "--receipt",
        "Write what was asked, found and decided, for `trueness verify`.",
        metavar="FILE",
    ),
)
_SAID_BY_POLICY = (*_BOUNDS, "require", "level", "seed", "by", "groups")


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
      trueness gate rows.csv --label churned --prob p --policy calibration.toml
      trueness gate rows.csv --policy calibration.toml --receipt receipt.json

    Exit code 0: passed. 1: failed. 3: these rows cannot decide, or do not show what --require
    demands. 2: the options or the data are wrong, or there is nothing to judge.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    target = Target.pop_from(options)
    _finish(judged(_with_policy(options)), target, options["receipt"])


def judged(options: dict[str, Any]) -> "Judged":
    """What the gate finds in rows; `options` are those of the command, with a policy as a dict."""
    options = dict(options)
    asked = plain_options(options)
    if options.pop("groups"):
        raise click.UsageError("--groups is for .tally files; for rows, use --by.")
    stream = options.pop("stream")
    receipt = options.pop("receipt")
    policy = options.pop("policy")
    rule = _checked_rule(options, policy)
    request = Request.pop_from(options)
    if policy is not None:
        return _by_policy(request, policy, rule, asked)
    with open_dataset(request) as data:
        digest = ""
        if receipt is None and data.streamed(stream):
            subjects = _from_stream(
                data, rule if options["max_ece"] is not None else None, asked=stream is not None
            )
        else:
            rows = data.rows().validate()
            digest = digest_of(rows) if receipt is not None else ""
            subjects = _from_rows(rows)
        about = data.choice.about(data.source.name)
        notes = [f"{data.choice.in_words(data.source.name)}."]
        return _judged(list(subjects), rule, options, about, notes, digest, asked)


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
    _finish(judged_sums(_with_policy(options), target.path), target, options["receipt"])


def judged_sums(options: dict[str, Any], path: str | None = None) -> "Judged":
    """What the gate finds in stored sums."""
    asked = plain_options(options)
    policy = options["policy"]
    rule = _checked_rule(options, policy)
    sums, total = read_total(options["files"], path)
    rule = rule if options["bins"] else own_bins(total)
    labels, scores = (total.about.get(key) for key in ("label", "prob"))
    notes = [f"{file_names(sums)}: {total.n:,} rows; labels {labels!r}, scores {scores!r}."]
    if total.bins == "sketch" and options["max_l2"] is not None:
        notes.append("The typical error of a sketch takes all rows of a cell at their mean score.")
    about = {"sources": list(sums), **total.about, "by": total.by}
    # Of logs, whose models and sources are not pooled.
    in_groups = options["groups"] or total.by == "origin"
    subjects = list(_from_sums(total, in_groups=in_groups))
    digest = hashlib.sha256(total.total.to_bytes()).hexdigest()
    if policy is None:
        return _judged(subjects, rule, options, about, notes, digest, asked)
    from trueness.infer.decision._gate import judge_by_policy
    from trueness.infer.decision._policy import Policy

    models = {one.group.name(one.model): one for one in subjects}
    evidence = {name: one.data for name, one in models.items()}
    checked = Policy.of(policy)
    if checked.needs_columns:
        demand = "needs rows for 'by', 'columns' and 'baseline'"
        raise InputError("--policy", demand, f"{file_names(sums)} holds sums")
    with reword_messages(wording()) as warned:
        found = judge_by_policy(checked, evidence, bins=rule)
    warning(*warned)
    return Judged(found, {}, about, notes, {"policy": policy}, digest, asked)


class Judged(NamedTuple):
    """A gate, and what is printed and kept of it."""

    found: "Gate"
    groups: dict[tuple[str, str], Group]
    """The group of each finding, by its name and model."""
    about: dict[str, Any]
    notes: list[str]
    bounds: dict[str, Any]
    digest: str
    asked: dict[str, Any]
    model: str = ""
    """The name of a model that findings leave out."""


class Subject(NamedTuple):
    group: Group
    model: str
    data: "Evidence"
    context: Callable[[], AbstractContextManager[list[str]]]


def plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as JSON keeps them, without those that say where the answer goes."""
    left_out = ("receipt", "stream")
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if name not in left_out
    }


def _with_policy(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the content of the policy in place of its file."""
    from trueness.infer.decision._policy import Policy

    path = options["policy"]
    if path is None and all(options[name] is None for name in _BOUNDS) and _has_section():
        path = "pyproject.toml"
        note("the bounds are those of [tool.trueness.gate] in pyproject.toml.")
    if path is None:
        return options
    for name in _SAID_BY_POLICY:
        if name in options and opt.is_typed(name):
            demand = "must not be given beside `--policy`, which says it"
            raise InputError(f"--{name.replace('_', '-')}", demand)
    with reword_messages(wording(options={"policy": "--policy"})):
        policy = Policy.of(path).to_dict()
    return {**options, "policy": policy}


def _has_section() -> bool:
    """Whether the folder has a pyproject.toml with a policy."""
    try:
        table = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return "gate" in table.get("tool", {}).get("trueness", {})


def _by_policy(
    request: Request, policy: dict[str, Any], rule: Any, asked: dict[str, Any]
) -> Judged:
    """Judge rows by a policy, with the columns that it names."""
    columns = tuple(dict.fromkeys((*policy.get("by", ()), *policy.get("columns", ()))))
    baseline = policy.get("baseline")
    if baseline is not None and not request.probs:
        raise click.UsageError("Name the scores: --prob is needed beside a baseline.")
    if baseline is not None and baseline not in request.probs:
        request = replace(request, probs=(*request.probs, baseline))
    rows = read_rows(replace(request, by=columns), gaps=True)
    if rows.choice.long or rows.choice.models[0].label is not None:
        raise InputError("--policy", "needs one column of labels for all models")
    frame: dict[str, Any] = {name: as_numbers(rows.columns.groups[name]) for name in columns}
    whole = replace(rows, choice=replace(rows.choice, by=()))
    models, first = whole.model_scores()
    if baseline is not None:
        frame[baseline] = models.pop(baseline)
    alone = next(iter(models)) if len(models) == 1 else ""  # sentences need not name it
    with whole.about(*rows.choice.models) as warned:
        found = tn.gate(
            first.y_true,
            models[alone] if alone else models,
            policy=policy,
            data=frame or None,
            bins=rule,
            cluster=whole.cluster,
            **first.rows,
        )
    warning(*warned)
    notes = [f"{rows.choice.in_words(rows.source)}."]
    about = rows.choice.about(rows.source)
    return Judged(found, {}, about, notes, {"policy": policy}, digest_of(rows), asked, alone)


def digest_of(rows: Rows) -> str:
    """The digest of the rows that were judged: labels, scores, weights, clusters and groups."""
    from trueness._input.digest import rows_digest

    columns = rows.columns
    return rows_digest({**columns.groups, **columns.numbers, **columns.labels})


def _checked_rule(options: dict[str, Any], policy: dict[str, Any] | None) -> Any:
    """The bins of the ECE; one option at least must be a bound, unless a policy has them."""
    if policy is not None:
        return opt.bin_rule(options["bins"] or "10")
    if all(options[name] is None for name in _BOUNDS):
        raise click.UsageError("Give at least one bound: --max-ece, --max-l2 or --oe-within.")
    if options["bins"] is not None and options["max_ece"] is None:
        raise click.UsageError("--bins needs --max-ece.")
    return opt.bin_rule(options["bins"] or "10")


def _from_rows(rows: Rows) -> Iterator[Subject]:
    from trueness._tally.evidence import Evidence

    rows.warn_of_dropped()
    rows.note_importance()

    def ask(one: Arguments, part: Rows) -> "tuple[Rows, Evidence]":
        return part, Evidence.of(
            one.y_true, one.y_prob, one.rows, kind="confidence", cluster=part.cluster
        )

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


def _judged(
    subjects: Sequence[Subject],
    rule: Any,
    options: dict[str, Any],
    data: dict[str, Any],
    notes: list[str],
    digest: str,
    asked: dict[str, Any],
) -> Judged:
    """Judge as the library does."""
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
    if any(one.data.view == "confidence" for one in subjects):
        notes = [*notes, _TOP]
    groups = {names: one.group for names, one in named.items()}
    return Judged(found, groups, data, notes, bounds, digest, asked)


def output_of(judged: Judged) -> Output:
    """The table and the JSON of a gate."""
    found = judged.found
    of_finding = [_group_of(judged, finding) for finding in found.findings]
    by = group_columns(group.by for group in judged.groups.values())
    if not judged.groups and any(finding.group for finding in found.findings):
        by = [Column("group", "group", "name")]
    columns = [
        *by,
        model_column((finding.model or judged.model for finding in found.findings), by),
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
        *(Column(key, key, forms="data") for key in ("passed", "level", "needed", "reason")),
    ]
    lines = [
        _line(one, group) | {"model": one.model or judged.model}
        for one, group in zip(found.findings, of_finding, strict=True)
    ]
    table = Table(columns, lines)
    gate = {
        **judged.bounds,
        "require": found.require,
        "level": found.level,
        "passed": found.passed,
        "outcome": found.outcome,
        "needed": found.needed,
    }
    data = {"data": judged.about, "gate": gate, "findings": table.to_dict()}
    return Output(replace(table, notes=[*judged.notes, *found.notes, *_in_words(found)]), data)


def _group_of(judged: Judged, finding: "Finding") -> Group:
    known = judged.groups.get((finding.group, finding.model))
    if known is not None:
        return known
    return Group("group", finding.group)


def _finish(judged: Judged, target: Target, receipt: str | None) -> None:
    """Print a gate, keep its receipt, and exit by its outcome."""
    output = output_of(judged)
    if receipt is not None:
        write_receipt(receipt, receipt_of(judged.found, judged.asked, judged.digest, output))
    target.deliver(output)
    code = EXIT_CODES[judged.found.outcome]
    if code:
        raise click.exceptions.Exit(code)


def _in_words(found: "Gate") -> list[str]:
    """The limits, the findings that decide, and the outcome."""
    failed = [one for one in found.findings if not one.passed]
    shown = failed or (found.findings if len(found.findings) <= _SHOWN else ())
    several = len({(one.group, one.model) for one in found.findings}) > 1
    sentences = [str(one) if several else f"{one.sentence}." for one in shown[:_SHOWN]]
    if len(shown) > _SHOWN:
        sentences.append(f"{len(shown) - _SHOWN} more did not pass.")
    return [_limits_in_words(found, named=bool(shown)), *sentences, found.headline]


def _limits_in_words(found: "Gate", *, named: bool) -> str:
    """The level of the limits, what the gate risks and, unless sentences that follow name them, the bins of the ECE."""
    first = found.findings[0]
    judged = found.tests or len(found.findings)
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
    if one.quantity == "oe":
        allowed = f"{1 - one.bound:g} to {1 + one.bound:g}"
    else:
        allowed = "" if one.quantity == "labels" else one.demand
    line = {
        **group.entry(),
        **one.to_dict(),
        "passed": one.passed,
        "reason": one.sentence,
        "verdict": one.outcome,
    }
    line |= {
        "group": group.value,
        "bins": one.bins or None,
        "judged": f"{one.name} {allowed}".rstrip(),
    }
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
