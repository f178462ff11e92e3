"""What a gate judges: rows, rows in pieces or sums, by bounds or by a policy."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness.cli._printing import (
    note,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._reading import (
    about,
    ask_each,
    note_importance,
    open_data,
    read,
    read_rows,
    warn_of_dropped,
)
from trueness.cli._tally import (
    file_names,
    own_bins,
    read_total,
    stream_sums,
    sums_entry,
    sums_sentence,
)
from trueness.errors import InputError
from trueness.sources._columns import as_numbers
from trueness.sources._data_set import DataSet
from trueness.sources._request import Group, Request

if TYPE_CHECKING:
    from trueness._tally.evidence import Evidence
    from trueness._tally.rules import BinRule
    from trueness.results import Gate
    from trueness.sources._pieces import ModelSums

BOUNDS = ("max_ece", "max_l2", "oe_within")
_TOP = (
    "For several classes: the error of the largest score as the probability that its class is "
    "right."
)
_LATTICE = 4096  # bins of equal width that stand for distinct scores if there are too many


class Criteria(NamedTuple):
    """What is allowed, and how it is judged: the options of a gate."""

    max_ece: float | None
    max_l2: float | None
    oe_within: float | None
    require: bool
    bins: str | None
    level: float
    seed: int
    groups: bool
    policy: dict[str, Any] | None
    """The content of the policy, not its file."""

    @property
    def bounds(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in BOUNDS}

    @property
    def rule(self) -> "BinRule | None":
        """The bins of the ECE; one bound at least must be given, unless a policy has them."""
        if self.policy is None:
            if all(bound is None for bound in self.bounds.values()):
                raise click.UsageError(
                    "Give at least one bound: --max-ece, --max-l2 or --oe-within."
                )
            if self.bins is not None and self.max_ece is None:
                raise click.UsageError("--bins needs --max-ece.")
        return opt.bin_rule(self.bins or "10")


class Judged(NamedTuple):
    """A gate, and what is printed and kept of it."""

    gate: "Gate"
    groups: Mapping[tuple[str, str], Group] = MappingProxyType({})
    """The group of each finding, by its name and model."""
    source: Mapping[str, Any] = MappingProxyType({})
    """The data, as JSON describes them."""
    notes: Sequence[str] = ()
    digest: Callable[[], str] = str
    """The digest of what was judged, for a receipt; empty if it was read in pieces."""
    model: str = ""
    """The name of a model that findings leave out."""


class Subject(NamedTuple):
    group: Group
    model: str
    data: "Evidence"
    context: Callable[[], AbstractContextManager[list[str]]]


def judge(request: Request, criteria: Criteria, stream: bool | None = False) -> Judged:
    """Judge rows by the bounds or the policy in `criteria`.

    With `stream`, or if that is None for large files, rows are read in pieces; the receipt then has
    no digest of them.
    """
    if criteria.groups:
        raise click.UsageError("--groups is for .tally files; for rows, use --by.")
    rule = criteria.rule
    if criteria.policy is not None:
        return _by_policy(request, criteria.policy, rule)
    with open_data(request) as data:
        if data.request.reads_pieces(stream, data.origin.size):
            ece_rule = None if criteria.max_ece is None else rule
            subjects = _from_stream(data, ece_rule, requested=stream is not None)
            digest: Callable[[], str] = str
        else:
            rows = read(data).validate()
            digest = rows.digest
            subjects = _from_rows(rows)
        gate = _judged(list(subjects), criteria, rule)
    return gate._replace(source=data.entry, notes=[data.sentence, *gate.notes], digest=digest)


def judge_sums(files: Sequence[str], criteria: Criteria, path: str | None = None) -> Judged:
    """Judge stored sums by the bounds or the policy in `criteria`.

    `path` is the output file, which must not be one of the `files`. Without `--bins`, the bins are
    those of the sums. Models or sources of logs are judged one by one.
    """
    rule = criteria.rule
    sums, total = read_total(files, path)
    if not criteria.bins:
        rule = own_bins(total)
    notes = [sums_sentence(total, sums)]
    if total.bins == "sketch" and criteria.max_l2 is not None:
        notes.append("The typical error of a sketch takes all rows of a cell at their mean score.")
    # The models and sources of logs are not pooled.
    subjects = list(_from_sums(total, in_groups=criteria.groups or total.by == "origin"))
    if criteria.policy is None:
        gate = _judged(subjects, criteria, rule)
    else:
        gate = Judged(_by_policy_of_sums(subjects, criteria.policy, rule, file_names(sums)))
    return gate._replace(
        source=sums_entry(total, sums),
        notes=[*notes, *gate.notes],
        digest=lambda: hashlib.sha256(total.total.to_bytes()).hexdigest(),
    )


def _by_policy_of_sums(
    subjects: Sequence[Subject], policy: dict[str, Any], rule: "BinRule | None", files: str
) -> "Gate":
    """Judge sums, which hold no rows, by the demands of a policy file.

    `policy` is the table read from that file, `rule` the bin rule, and `files` names the files of
    sums for the message. A policy that needs columns of rows (groups, slices or a baseline) is
    refused.
    """
    from trueness.infer.decision._gate import judge_by_policy
    from trueness.infer.decision._policy import Policy

    evidence = {subject.group.name(subject.model): subject.data for subject in subjects}
    checked = Policy.of(policy)
    if checked.needs_columns:
        demand = "needs rows for 'by', 'columns' and 'baseline'"
        raise InputError("--policy", demand, f"{files} holds sums")
    with reword_messages(wording()) as warned:
        gate = judge_by_policy(checked, evidence, bins=rule)
    warning(*warned)
    return gate


def _by_policy(request: Request, policy: dict[str, Any], rule: "BinRule | None") -> Judged:
    """Judge rows by a policy, with the columns that it names."""
    columns = tuple(dict.fromkeys((*policy.get("by", ()), *policy.get("columns", ()))))
    baseline = policy.get("baseline")
    if baseline is not None and not request.probs:
        raise click.UsageError("Name the scores: --prob is needed beside a baseline.")
    if baseline is not None and baseline not in request.probs:
        request = replace(request, probs=(*request.probs, baseline))
    rows = read_rows(replace(request, by=columns), gaps=True)
    if rows.request.model_column is not None or rows.models[0].label is not None:
        raise InputError("--policy", "needs one column of labels for all models")
    frame: dict[str, Any] = {name: as_numbers(column) for name, column in rows.by.items()}
    whole = rows.whole()
    models = whole.scores
    if baseline is not None:
        frame[baseline] = models.pop(baseline)
    only = next(iter(models)) if len(models) == 1 else ""  # sentences need not name it
    with about(whole) as warned:
        gate = tn.gate(
            rows.y_true,
            models[only] if only else models,
            policy=policy,
            data=frame or None,
            bins=rule,
            cluster=whole.cluster,
            **whole.options,
        )
    warning(*warned)
    return Judged(
        gate,
        source=rows.entry,
        notes=[rows.sentence],
        digest=rows.digest,
        model=only,
    )


def _from_rows(rows: DataSet) -> Iterator[Subject]:
    """The evidence of each model in each group, from rows in memory, as the gate needs it.

    Several classes are judged by the confidence in the class with the largest score. Notes about
    the data are printed for the first group only.
    """
    from trueness._tally import reading

    warn_of_dropped(rows)
    note_importance(rows)

    def ask(part: DataSet) -> "Evidence":
        return reading.read_rows(
            part.y_true, part.y_prob, part.options, kind="confidence", cluster=part.cluster
        )

    first = None
    for part, data in ask_each(rows, "Reading the groups", ask):
        first = first or part.group
        if data.note and part.group == first:
            note(f"{part.model.name}: {data.note}")
        yield Subject(part.group, part.model.name, data, partial(about, part))


def _from_stream(data: DataSet, rule: "BinRule | None", *, requested: bool) -> Iterator[Subject]:
    """The evidence of each model, from rows that are read in pieces.

    Scores are kept apart unless there are too many distinct ones; then they are summed in fine
    bins, and a note says what that changes. `requested` says that streaming was asked for.
    """
    from trueness._tally.sums_of_rows import Sums

    lost = (
        f"Rows within 1/{_LATTICE} of each other are taken at their mean score; "
        "`--no-stream` keeps them apart."
    )
    total = stream_sums(data, _tally, _fine_bins(rule), lost, requested=requested)
    for part in data.by_model():
        name = part.model.name
        (tally,) = total.models[name].parts.values()
        warning(*total.warnings, about=name)
        yield Subject(Group(), name, Sums.read(tally), partial(about, part))


def _fine_bins(rule: "BinRule | None") -> "BinRule":
    """The bins of streamed scores: fine ones of equal width, cut also at the edges of `rule`.

    `rule` is the rule of the ECE, or None if no ECE is wanted. If its edges depend on the scores,
    it is returned as it is.
    """
    import numpy as np

    lattice = tn.EqualWidth(_LATTICE)
    if rule is None:
        return lattice
    edges = rule.fixed_edges
    if edges is None:
        return rule
    return tn.Edges(np.union1d(lattice.fixed_edges, edges).tolist())


def _tally(part: DataSet) -> "ModelSums":
    """The sums of a part of the rows, which is one model, as one binary problem.

    For more than two classes, it is the confidence in the class with the largest score.
    """
    from trueness._tally.tally import binary_of_two_classes
    from trueness.sources._pieces import ModelSums

    is_multiclass = part.is_matrix() and part.y_prob.shape[1] > 2
    options = {"kind": "confidence"} if is_multiclass else {}
    tally = part.ask(tn.tally, **options)
    return ModelSums({"one": binary_of_two_classes(tally)}, part.order.remark)


def _from_sums(total: "tn.Accumulator", *, in_groups: bool) -> Iterator[Subject]:
    """The evidence in stored sums: of all rows, or with `in_groups` of each group.

    Sums of several classes give one binary problem per class that has rows, named "class" and its
    label. Otherwise the problem is named after the column of scores. InputError if groups are
    wanted and the sums were not kept apart by group.
    """
    from trueness._tally.sums_of_rows import Sums
    from trueness._tally.tally import binary_of_two_classes
    from trueness.sources._stored_sums import groups_of

    if in_groups and not total.by:
        raise InputError(
            "--groups", "needs sums in groups", remedy="`trueness tally --by` keeps them apart."
        )
    for group, sums in groups_of(total) if in_groups else [(Group(), total.total)]:
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


def _judged(subjects: Sequence[Subject], criteria: Criteria, rule: "BinRule | None") -> Judged:
    """Judge as the library does."""
    from trueness.infer.decision._gate import checked_bounds, gate_of

    # By group and model, as the library has them.
    named = {(str(subject.group), subject.model): subject for subject in subjects}

    @contextmanager
    def warn_of(names: tuple[str, str]) -> Iterator[None]:
        with named[names].context() as warned:
            yield
        warning(*warned, about=named[names].group.name(names[1]))

    with progress_bar("Judging"):
        gate = gate_of(
            {names: subject.data for names, subject in named.items()},
            checked_bounds(**criteria.bounds, bins=rule),
            about=warn_of,
            require=criteria.require,
            level=criteria.level,
            seed=criteria.seed,
        )
    is_top = any(subject.data.is_top_label for subject in subjects)
    groups = {names: subject.group for names, subject in named.items()}
    return Judged(gate, groups, notes=[_TOP] if is_top else [])
