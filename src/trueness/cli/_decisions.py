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
from trueness.cli._columns import Group, Model, Request, group_columns, model_column, model_if
from trueness.cli._dataset import (
    Arguments,
    Dataset,
    Rows,
    as_numbers,
    open_dataset,
    read_rows,
)
from trueness.cli._printing import (
    VALUE_AND_LIMITS,
    Output,
    Target,
    data_columns,
    note,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._receipt import receipt_of, write_receipt
from trueness.cli._tally import ModelSums, file_names, own_bins, read_total, stream_sums
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.evidence import Evidence
    from trueness.results import Finding, Gate

_BOUNDS = ("max_ece", "max_l2", "oe_within")
_TOP = (
    "For several classes: the error of the largest score as the probability that its class is "
    "right."
)
_LATTICE = 4096  # bins of equal width that stand for distinct scores if there are too many
_SHOWN = 6  # sentences below the table
EXIT_CODES = {"pass": 0, "fail": 1, "investigate": 3}
_REQUIRE = (
    "Fail unless an equivalence test shows that every quantity is within its bound: its p-value is "
    "at most 1 - level, and its upper confidence limit is within the bound. Without --require, the "
    "gate fails if a quantity is shown to exceed its bound (its lower limit does), or if there are "
    "too few rows to detect even a gross excess. Either way it fails if labels agree with the "
    "scores better than chance allows, as on the rows that fitted them."
)
_LEVEL = (
    "Confidence level of the gate: if every bound is kept it fails in at most 1 - level of "
    "samples, over all models, groups and quantities together. With --require, each limit that "
    "certifies a quantity has this level."
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
    opt.level(0.95, _LEVEL, minimum=0.75),
    opt.seed(),
    click.option(
        "--groups",
        is_flag=True,
        help="Judge each group of .tally files instead of all their rows together.",
    ),
    opt.text(
        "--policy",
        "A TOML file with the bounds: level, require, min_rows, max_ece, max_l2, oe_within, by "
        "with segment_gap, columns with slice_gap, baseline with margin, seed. Of pyproject.toml, "
        "the section [tool.trueness.gate], which is also read if no bound is given.",
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
    plain = plain_options(options)
    if options.pop("groups"):
        raise click.UsageError("--groups is for .tally files; for rows, use --by.")
    stream = options.pop("stream")
    receipt = options.pop("receipt")
    policy = options.pop("policy")
    rule = _checked_rule(options, policy)
    request = Request.pop_from(options)
    if policy is not None:
        return _by_policy(request, policy, rule, plain)
    with open_dataset(request) as data:
        digest = ""
        if receipt is None and data.streamed(stream):
            ece_rule = None if options["max_ece"] is None else rule
            subjects = _from_stream(data, ece_rule, requested=stream is not None)
        else:
            rows = data.rows().validate()
            if receipt is not None:
                digest = digest_of(rows)
            subjects = _from_rows(rows)
        return _judged(
            list(subjects),
            rule,
            options,
            source=data.choice.about(data.source.name),
            notes=[f"{data.choice.in_words(data.source.name)}."],
            digest=digest,
            plain=plain,
        )


@opt.command("gate")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@_criteria
@opt.output()
def gate_of_sums(**options: Any) -> None:
    """Fail, with exit code 1, if a calibration error of the rows in .tally files is too large.

    Sums of bins give the ECE in these bins, and observed/expected; the typical error needs a
    sketch or distinct scores.

    \b
      trueness gate monday.tally tuesday.tally --max-ece 0.03
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    target = Target.pop_from(options)
    _finish(judged_sums(_with_policy(options), target.path), target, options["receipt"])


def judged_sums(options: dict[str, Any], path: str | None = None) -> "Judged":
    """What the gate finds in stored sums."""
    plain = plain_options(options)
    policy = options["policy"]
    rule = _checked_rule(options, policy)
    sums, total = read_total(options["files"], path)
    rule = rule if options["bins"] else own_bins(total)
    labels, scores = (total.about.get(key) for key in ("label", "prob"))
    notes = [f"{file_names(sums)}: {total.n:,} rows; labels {labels!r}, scores {scores!r}."]
    if total.bins == "sketch" and options["max_l2"] is not None:
        notes.append("The typical error of a sketch takes all rows of a cell at their mean score.")
    source = {"sources": list(sums), **total.about, "by": total.by}
    # The models and sources of logs are not pooled.
    in_groups = options["groups"] or total.by == "origin"
    subjects = list(_from_sums(total, in_groups=in_groups))
    digest = hashlib.sha256(total.total.to_bytes()).hexdigest()
    if policy is None:
        return _judged(
            subjects, rule, options, source=source, notes=notes, digest=digest, plain=plain
        )
    from trueness.infer.decision._gate import judge_by_policy
    from trueness.infer.decision._policy import Policy

    evidence = {subject.group.name(subject.model): subject.data for subject in subjects}
    checked = Policy.of(policy)
    if checked.needs_columns:
        demand = "needs rows for 'by', 'columns' and 'baseline'"
        raise InputError("--policy", demand, f"{file_names(sums)} holds sums")
    with reword_messages(wording()) as warned:
        gate = judge_by_policy(checked, evidence, bins=rule)
    warning(*warned)
    return Judged(gate, {}, source, notes, {"policy": policy}, digest, plain)


class Judged(NamedTuple):
    """A gate, and what is printed and kept of it."""

    gate: "Gate"
    groups: dict[tuple[str, str], Group]
    """The group of each finding, by its name and model."""
    source: dict[str, Any]
    """The data, as JSON describes them."""
    notes: list[str]
    bounds: dict[str, Any]
    digest: str
    options: dict[str, Any]
    """The options of the command, as a receipt keeps them."""
    model: str = ""
    """The name of a model that findings leave out."""


class Subject(NamedTuple):
    group: Group
    model: str
    data: "Evidence"
    context: Callable[[], AbstractContextManager[list[str]]]


def plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as JSON keeps them, without those that say where the answer goes."""
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in options.items()}
    plain.pop("receipt", None)
    plain.pop("stream", None)
    return plain


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
    request: Request, policy: dict[str, Any], rule: Any, plain: dict[str, Any]
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
    only = next(iter(models)) if len(models) == 1 else ""  # sentences need not name it
    with whole.about(*rows.choice.models) as warned:
        gate = tn.gate(
            first.y_true,
            models[only] if only else models,
            policy=policy,
            data=frame or None,
            bins=rule,
            cluster=whole.cluster,
            **first.rows,
        )
    warning(*warned)
    return Judged(
        gate,
        {},
        source=rows.entry,
        notes=[rows.sentence],
        bounds={"policy": policy},
        digest=digest_of(rows),
        options=plain,
        model=only,
    )


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
    from trueness._tally import reading

    rows.warn_of_dropped()
    rows.note_importance()

    def ask(model: Arguments, part: Rows) -> "tuple[Rows, Evidence]":
        return part, reading.read_rows(
            model.y_true, model.y_prob, model.rows, kind="confidence", cluster=part.cluster
        )

    first = None
    for group, model, (part, data) in rows.each("Reading the groups", ask):
        first = first or group
        if data.note and group == first:
            note(f"{model.name}: {data.note}")
        yield Subject(group, model.name, data, partial(part.about, model, group=group))


def _from_stream(data: Dataset, rule: Any, *, requested: bool) -> Iterator[Subject]:
    """The sums of each model, or those of fine bins if there are too many distinct scores."""
    from trueness._tally.sums_of_rows import Sums

    lost = (
        f"Rows within 1/{_LATTICE} of each other are taken at their mean score; "
        "`--no-stream` keeps them apart."
    )
    total = stream_sums(data, _tally, _fine_bins(rule), lost, requested=requested)
    for model in data.choice.models:
        sums = total[model.name]
        (tally,) = sums.parts.values()
        warning(*sums.warnings, about=model.name)
        yield Subject(Group(), model.name, Sums.read(tally), partial(data.about, model))


def _fine_bins(rule: Any) -> Any:
    """Fine bins whose edges include those of the ECE; its own rule if its edges are not fixed."""
    import numpy as np

    lattice = tn.EqualWidth(_LATTICE)
    if rule is None:
        return lattice
    edges = rule.fixed_edges
    if edges is None:
        return rule
    return tn.Edges(np.union1d(lattice.fixed_edges, edges).tolist())


def _tally(rows: Rows, model: Model) -> ModelSums:
    from trueness._tally.tally import binary_of_two_classes

    arguments = rows.arguments(model)
    if rows.is_matrix(model) and arguments.y_prob.shape[1] > 2:
        arguments.rows["kind"] = "confidence"
    tally = tn.tally(arguments.y_true, arguments.y_prob, **arguments.rows)
    return ModelSums({"one": binary_of_two_classes(tally)}, arguments.remark)


def _from_sums(total: "tn.Accumulator", *, in_groups: bool) -> Iterator[Subject]:
    from trueness._tally.sums_of_rows import Sums
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
        for name, tally in problems.items():
            evidence = Sums.read(tally)
            yield Subject(group, name, evidence, partial(reword_messages, wording()))


def _judged(
    subjects: Sequence[Subject],
    rule: Any,
    options: dict[str, Any],
    *,
    source: dict[str, Any],
    notes: list[str],
    digest: str,
    plain: dict[str, Any],
) -> Judged:
    """Judge as the library does."""
    from trueness.infer.decision._gate import checked_bounds, gate_of

    # By group and model, as the library has them.
    named = {(str(subject.group), subject.model): subject for subject in subjects}

    @contextmanager
    def warn_of(names: tuple[str, str]) -> Iterator[None]:
        with named[names].context() as warned:
            yield
        warning(*warned, about=named[names].group.name(names[1]))

    bounds = {name: options[name] for name in _BOUNDS}
    with progress_bar("Judging"):
        gate = gate_of(
            {names: subject.data for names, subject in named.items()},
            checked_bounds(**bounds, bins=rule),
            about=warn_of,
            require=options["require"],
            level=options["level"],
            seed=options["seed"],
        )
    if any(subject.data.view == "confidence" for subject in subjects):
        notes = [*notes, _TOP]
    groups = {names: subject.group for names, subject in named.items()}
    return Judged(gate, groups, source, notes, bounds, digest, plain)


def output_of(judged: Judged) -> Output:
    """The table and the JSON of a gate."""
    gate = judged.gate
    by = group_columns(group.by for group in judged.groups.values())
    if not judged.groups and any(finding.group for finding in gate.findings):
        by = [Column("group", "group", "name")]
    columns = [
        *by,
        model_column((finding.model or judged.model for finding in gate.findings), by),
        Column("n", "rows", "count", optional=True),
        Column("quantity", "judged", forms="data"),
        Column("judged", "judged", forms="table"),
        *data_columns("bins", "bound"),
        Column("estimate", "value", "number"),
        Column("low", "lower", "number"),
        Column("high", "upper", "number"),
        Column("pvalue", "p", "p", forms="all" if gate.require else "data"),
        Column("verdict", "verdict"),
        *data_columns("passed", "level", "needed", "reason"),
    ]
    lines = []
    for finding in gate.findings:
        line = _line(finding, _group_of(judged, finding))
        lines.append(line | {"model": finding.model or judged.model})
    table = Table(columns, lines)
    summary = {
        **judged.bounds,
        "require": gate.require,
        "level": gate.level,
        "passed": gate.passed,
        "outcome": gate.outcome,
        "needed": gate.needed,
    }
    data = {"data": judged.source, "gate": summary, "findings": table.to_dict()}
    return Output(replace(table, notes=[*judged.notes, *gate.notes, *_in_words(gate)]), data)


def _group_of(judged: Judged, finding: "Finding") -> Group:
    group = judged.groups.get((finding.group, finding.model))
    if group is not None:
        return group
    return Group("group", finding.group)


def _finish(judged: Judged, target: Target, receipt: str | None) -> None:
    """Print a gate, keep its receipt, and exit by its outcome."""
    output = output_of(judged)
    if receipt is not None:
        write_receipt(receipt, receipt_of(judged.gate, judged.options, judged.digest, output))
    target.deliver(output)
    code = EXIT_CODES[judged.gate.outcome]
    if code:
        raise click.exceptions.Exit(code)


def _in_words(gate: "Gate") -> list[str]:
    """The limits, the findings that decide, and the outcome."""
    decisive: Sequence[Finding] = [finding for finding in gate.findings if not finding.passed]
    if not decisive and len(gate.findings) <= _SHOWN:
        decisive = gate.findings
    several = len({(finding.group, finding.model) for finding in gate.findings}) > 1
    sentences = []
    for finding in decisive[:_SHOWN]:
        sentences.append(str(finding) if several else f"{finding.sentence}.")
    if len(decisive) > _SHOWN:
        sentences.append(f"{len(decisive) - _SHOWN} more did not pass.")
    return [_limits_in_words(gate, named=bool(decisive)), *sentences, gate.headline]


def _limits_in_words(gate: "Gate", *, named: bool) -> str:
    """The level of the limits and the risk of a wrong outcome.

    Also the bins of the ECE, unless sentences that follow name them.
    """
    first = gate.findings[0]
    bins = f"{first.words}. " if first.quantity == "ece" and not named else ""
    level = f"{100 * max(finding.level for finding in gate.findings):.4g} %"
    limits = f"{bins}Limits are one-sided, each with {level} confidence. "
    alpha = f"{100 * (1 - gate.level):.4g} %"
    if gate.require:
        return (
            f"{limits}p: equivalence test of each bound; p ≤ {1 - gate.level:.4g} certifies it. "
            f"If a bound is not kept, the gate passes with a probability of at most {alpha}."
        )
    risk = f"If every bound is kept, the gate fails with a probability of at most {alpha}"
    judged = gate.tests or len(gate.findings)
    if judged > 1:
        return f"{limits}{risk}: one error rate for all {judged} findings together."
    return f"{limits}{risk}."


def _line(finding: "Finding", group: Group) -> dict[str, Any]:
    if finding.quantity == "oe":
        allowed = f"{1 - finding.bound:g} to {1 + finding.bound:g}"
    elif finding.quantity == "labels":
        allowed = ""
    else:
        allowed = finding.demand
    line = {
        **group.entry(),
        **finding.to_dict(),
        "passed": finding.passed,
        "reason": finding.sentence,
        "verdict": finding.outcome,
        "group": group.value,
        "bins": finding.bins or None,
        "judged": f"{finding.name} {allowed}".rstrip(),
    }
    if math.isnan(finding.estimate):
        line |= dict.fromkeys(("n", "estimate", "low", "high"))
    return line


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

    def answer(model: Arguments, part: Rows) -> dict[str, Any]:
        y = model.y_true
        p = model.y_prob
        common = {"level": level, "cluster": part.cluster, **model.rows}
        answers: dict[str, Any] = {"certificate": tn.decision_certificate(y, p, **common)}
        if costs["cost_fp"] is not None:
            answers["decision"] = tn.decide(y, p, **costs, **common)
        if goal is not None:
            answers["accept"] = tn.accept_threshold(y, p, accuracy=goal, **common)
        return answers

    models = {model.name: answers for _, model, answers in rows.each("Deciding", answer)}
    target.deliver(_decision_output(rows, models))


def _decision_output(rows: Rows, models: dict[str, dict[str, Any]]) -> Output:
    several = len(models) > 1
    has_costs = "decision" in next(iter(models.values()))
    lines = []
    notes = []
    for name, answers in models.items():
        head = f"{name}: " if several else ""
        if has_costs:
            decision = answers["decision"]
            for key, words in _COSTS:
                lines.append({"model": name, "what": words, **getattr(decision, key).to_dict()})
            act, *rest = str(decision).splitlines()
            notes += [head + act, *rest[1:]]
        else:
            kappa = answers["certificate"]
            what = "most that an increasing map saves (κ)"
            lines.append({"model": name, "what": what, **kappa.to_dict()})
            notes.append(
                f"{head}No increasing map lowers t·FP/n + (1 − t)·FN/n by more than "
                f"{kappa.high:.4f} at any threshold t ({100 * kappa.level:g} % confidence)."
            )
        if "accept" in answers:
            notes.append(f"{head}{answers['accept']}")
    columns = [
        model_if(several),
        Column("what", "mean cost per row" if has_costs else "quantity"),
        *VALUE_AND_LIMITS,
    ]
    entries = []
    for name, answers in models.items():
        records = {key: answer.to_dict() for key, answer in answers.items()}
        entries.append({"model": name, **records})
    table = Table(columns, lines, [rows.sentence, *notes])
    return Output(table, {"data": rows.entry, "models": entries})
