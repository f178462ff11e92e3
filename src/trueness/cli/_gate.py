"""``trueness gate``: bounds that calibration errors must keep."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli._command import command
from trueness.cli._gate_judgement import BOUNDS, Criteria, Judged, judge, judge_sums
from trueness.cli._printing import (
    Output,
    Target,
    check_different,
    check_writable,
    data_columns,
    group_columns,
    model_column,
    note,
    reword_messages,
    wording,
)
from trueness.cli._receipt import receipt_of, write_receipt
from trueness.errors import InputError
from trueness.sources._request import Group, Request

if TYPE_CHECKING:
    from trueness.results import Finding

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
_SAID_BY_POLICY = (*BOUNDS, "require", "level", "seed", "by", "groups")


@command("gate")
@opt.data(label="own", events=True)
@opt.cluster
@_criteria
@opt.stream
@opt.output()
def gate(
    request: Request, target: Target, *, stream: bool | None, receipt: str | None, **values: object
) -> None:
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
    options: dict[str, Any] = values
    _check_outputs(target, receipt, request.files, options["policy"])
    criteria = Criteria(**_with_policy(options))
    if receipt is not None:
        stream = False
    _finish(judge(request, criteria, stream), target, criteria, receipt)


@command("gate")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@_criteria
@opt.output()
def gate_of_sums(
    files: tuple[str, ...], target: Target, *, receipt: str | None, **values: object
) -> None:
    """Fail, with exit code 1, if a calibration error of the rows in .tally files is too large.

    Sums of bins give the ECE in these bins, and observed/expected; the typical error needs a
    sketch or distinct scores.

    \b
      trueness gate monday.tally tuesday.tally --max-ece 0.03
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    _check_outputs(target, receipt, files, options["policy"])
    criteria = Criteria(**_with_policy(options))
    _finish(judge_sums(files, criteria, target.path), target, criteria, receipt)


def _check_outputs(
    target: Target, receipt: str | None, files: Sequence[str], policy: str | None
) -> None:
    """Refuse outputs that would replace the rows, the policy or each other."""
    policies = () if policy is None else (policy,)
    check_writable(target.path, *policies)
    check_writable(receipt, *files, *policies, option="--receipt")
    check_different("--receipt", receipt, "--output", target.path)


def _with_policy(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the content of the policy in place of its file.

    Without any bound, the policy of pyproject.toml is used if there is one, and a note says so.
    Options that a policy states must not be given beside it.
    """
    from trueness.infer.decision._policy import Policy, is_in_pyproject

    path = options["policy"]
    if path is None and all(options[name] is None for name in BOUNDS) and is_in_pyproject():
        path = "pyproject.toml"
        note("the bounds are those of [tool.trueness.gate] in pyproject.toml.")
    if path is None:
        return options
    for name in _SAID_BY_POLICY:
        if opt.is_typed(name):
            demand = "must not be given beside `--policy`, which says it"
            raise InputError(f"--{name.replace('_', '-')}", demand)
    with reword_messages(wording(options={"policy": "--policy", "level": "level"})):
        policy = Policy.of(path).to_dict()
    return {**options, "policy": policy}


def _finish(judged: Judged, target: Target, criteria: Criteria, receipt: str | None) -> None:
    """Print a gate, keep its receipt, and exit by its outcome."""
    output = output_of(judged, criteria)
    if receipt is not None:
        asked = asked_of(click.get_current_context().params, criteria)
        write_receipt(receipt, receipt_of(judged.gate, asked, judged.digest(), output))
    target.deliver(output)
    code = EXIT_CODES[judged.gate.outcome]
    if code:
        raise click.exceptions.Exit(code)


def asked_of(options: Mapping[str, Any], criteria: Criteria) -> dict[str, Any]:
    """The options of a command as a receipt keeps them, without those of its output."""
    kept = {}
    for name, value in options.items():
        if name not in ("form", "output", "receipt", "stream"):
            kept[name] = list(value) if isinstance(value, tuple) else value
    return kept | {"policy": criteria.policy}


def output_of(judged: Judged, criteria: Criteria) -> Output:
    """The table and the JSON of a gate."""
    from trueness.results._gate_words import sentences_of

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
    policy = criteria.policy
    summary = {
        **(criteria.bounds if policy is None else {"policy": policy}),
        "require": gate.require,
        "level": gate.level,
        "passed": gate.passed,
        "outcome": gate.outcome,
        "needed": gate.needed,
    }
    data = {"data": judged.source, "gate": summary, "findings": table.to_dict()}
    return Output(replace(table, notes=[*judged.notes, *gate.notes, *sentences_of(gate)]), data)


def _group_of(judged: Judged, finding: "Finding") -> Group:
    known = judged.groups.get((finding.group, finding.model))
    return known or Group("group", finding.group)


def _line(finding: "Finding", group: Group) -> dict[str, Any]:
    """The line of one finding of the gate in the table and in the data.

    For observed over expected events, the column "judged" gives the allowed range; other findings
    state their demand, and those about labels nothing. A finding without an estimate leaves rows,
    estimate and limits empty.
    """
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
