"""The models of a report: the evidence about each, and the number of rows.

Its options, and notes for the reader.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._assess.asked import Asked
from trueness._input.columns import column
from trueness._level import Level
from trueness._report.records import RowCounts, Source
from trueness._tally.accumulator import Accumulator
from trueness._tally.evidence import Evidence, Sums
from trueness._tally.group_keys import names_of
from trueness._tally.models import check_names, model_context
from trueness._tally.multiclass import View
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rules import BinRule, Edges, EqualWidth
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally, binary_of_two_classes
from trueness.errors import DroppedRowsWarning, InputError, collected_warnings, quietly
from trueness.measure import ece
from trueness.typing import ArrayLike, Bools, Ints, RowOptions

_SOURCES: dict[type, Source] = {Tally: "tally", Sketch: "sketch", Binned: "bins"}
Groups: TypeAlias = Mapping[tuple[str, ...], Sums]
_MOST_CLASSES = 24  # as many tabs and pictures as a page can hold


class Options(NamedTuple):
    """The bins, level and seed for every number of a report."""

    rule: BinRule
    level: float
    seed: int
    intervals: bool = True
    """Whether every measure has its limits or noise floor, or only those that the verdict needs."""

    @property
    def alpha(self) -> float:
        """The error rate of each question: all rows, segments, classes."""
        return Level(self.level).alpha


@dataclass(frozen=True)
class Subject:
    """The models of a report, all of the same rows."""

    models: Mapping[str, Evidence]
    counts: RowCounts
    source: Source
    view: View
    """The question asked about every model."""
    kept: Bools | None = None
    """Which of the rows passed are used; None for sums."""
    by: tuple[str, ...] = ()
    """The columns of the groups of an Accumulator."""
    groups: Mapping[str, Groups] = field(default_factory=dict)
    """Their sums, by model and by the names of the group."""
    notes: tuple[str, ...] = ()
    event: Any = None
    """The label that the scores predict; None for sums and for several classes."""
    other: Any = None
    """The other label, if it occurs."""

    @property
    def first(self) -> Evidence:
        """The first model; what is true of its rows is true of all."""
        return next(iter(self.models.values()))

    @property
    def cluster(self) -> Ints | None:
        """The cluster of each row, numbered from 0 in order of appearance."""
        return self.first.cluster

    @property
    def top_label(self) -> bool:
        """Whether the scores are the largest of a matrix."""
        return self.view in ("confidence", "top-label")


def _fewer(
    models: Mapping[str, Any], what: str, rule: BinRule | None = None
) -> tuple[Mapping[str, Any], list[str]]:
    """The sums or evidence with the largest ECE, as many as a page can hold, and a note if there are others."""
    if len(models) <= _MOST_CLASSES:
        return models, []
    errors = {
        name: float(ece(getattr(problem, "sums", problem), bins=rule or 10))
        for name, problem in models.items()
    }
    worst = sorted(models, key=lambda name: -errors[name])[:_MOST_CLASSES]
    note = f"The {_MOST_CLASSES} {what} with the largest ECE are shown, of {len(models):,}."
    return {name: models[name] for name in models if name in worst}, [note]


def read_sums(sums: Sums | Accumulator, rule: BinRule, notes: Iterable[str] = ()) -> Subject:
    """Take sums apart: one model, or one per class or label.

    Of very many those with the largest ECE are kept.
    """
    by = names_of(sums.by) if isinstance(sums, Accumulator) and sums.by is not None else ()
    total = sums.total if isinstance(sums, Accumulator) else sums
    if total.n == 0:
        raise InputError(
            "y_true", "must hold at least one row", f"this {type(total).__name__} is empty"
        )
    whole = Evidence.of_sums(total)
    notes = [*notes, *(note for note in whole.notes if whole.two_columns)]
    total = quietly(lambda: whole.sums)
    models, more = _fewer(
        _problems(total), "labels" if total.kind == "multilabel" else "classes", rule
    )
    notes += more
    groups: dict[str, dict[tuple[str, ...], Sums]] = {name: {} for name in models}
    if by and total.buckets is not None:
        notes.append(
            "Groups are not compared: their tests would take rows as independent, and these are in clusters."
        )
    for group, part in (
        sums.groups.items()
        if isinstance(sums, Accumulator) and by and total.buckets is None
        else ()
    ):
        for name, problem in _problems(binary_of_two_classes(part)).items():
            if name in groups:
                groups[name][tuple(str(one) or "''" for one in names_of(group))] = problem
    counts = RowCounts(
        total.n, total.n, 0, float(total.weight), quietly(lambda: whole.weights), total.classes
    )
    evidence = {name: Evidence.of_sums(one) for name, one in models.items()}
    return Subject(
        evidence,
        counts,
        _SOURCES[type(total)],
        total.kind,
        by=by,
        groups=groups,
        notes=tuple(notes),
    )


def _problems(sums: Sums) -> dict[str, Sums]:
    """The binary problems in the sums: one, or one per class that has rows."""
    parts: tuple[Any, ...] = sums.parts
    make: Any = type(sums)
    if len(parts) == 1:
        return {"scores": make("binary", parts, None, sums.buckets)}
    named = zip(sums.classes or (), parts, strict=True)
    what = "label" if sums.kind == "multilabel" else "class"
    return {f"{what} {label}": make("binary", (part,)) for label, part in named if part.totals.rows}


def kept_bins(sums: Any) -> BinRule | None:
    """The bins that were summed; None if any bins can be computed from the sums."""
    total = sums.total if isinstance(sums, Accumulator) else sums
    if not isinstance(total, Binned):
        return None
    edges = total.parts[0].edges
    equal = EqualWidth(edges.size - 1)
    if np.array_equal(edges, equal.fixed_edges):
        return equal
    return Edges(edges)


def read_rows(
    y_true: ArrayLike,
    y_prob: Any,
    rows: RowOptions,
    cluster: Any = None,
    rounded_to: float | None = None,
) -> Subject:
    """Check labels and scores. A row with a missing value in any model, or without a cluster, is dropped for all."""
    if isinstance(rows.get("kind"), str) and rows["kind"] == "multilabel":
        return _read_labels(y_true, y_prob, rows, cluster, rounded_to)
    if rows.get("kind") is not None:
        demand = "must be 'multilabel' or be left out: the report of a matrix shows the top label and every class"
        raise InputError("kind", demand, f"got {rows['kind']!r}")
    models = _models(y_prob)
    # Errors name the model if there are several.
    if len(models) > 1 or isinstance(y_true, Mapping):
        named = models
    else:
        named = {"": next(iter(models.values()))}
    with collected_warnings(DroppedRowsWarning):  # the report counts them
        found = Evidence.several(
            y_true, named, rows, kind="confidence", cluster=cluster, argument="y_prob"
        )
    _check_order(found)
    given = next(iter(found.values()))
    found = {name: _counted(one.rounded(rounded_to)) for name, one in found.items()}
    for name, one in found.items():
        with model_context(name):
            bins_of_rows(
                one.sample, EqualWidth(1)
            )  # checks every value, so that nothing after needs to
    first = next(iter(found.values()))
    assert first.position is not None
    values = column(first_labels(y_true), "y_true").values.reshape(-1)
    classes = first.classes
    kept = np.zeros(values.shape[0], dtype=bool)
    kept[first.position] = True
    counts = RowCounts(
        kept.size, first.position.size, first.dropped, first.weight, given.weights, classes
    )
    event = first.event
    if classes is None and not first.two_columns:  # what a vector of scores predicts
        labels = rows.get("labels")
        usual = (values.dtype.kind == "b" or 1) if labels is None else list(labels)[-1]
        event = usual if rows.get("pos_label") is None else rows["pos_label"]
    models = dict(zip(models, found.values(), strict=True))
    other = next((one for one in values[kept] if one != event), None) if classes is None else None
    other = other.item() if isinstance(other, np.generic) else other
    return Subject(
        models, counts, "rows", first.view, kept, notes=given.notes, event=event, other=other
    )


def subject_of(by_model: Mapping[str, Asked]) -> Subject:
    """The models of a report from assessments of the same rows."""
    first = next(iter(by_model.values()))
    evidence = first.view("confidence")
    assert evidence.rows is not None
    for name, one in by_model.items():
        other = one.view("confidence")
        own = evidence.events is not None and other.events is not None
        if other.rows is None or not (own or np.array_equal(other.rows.y, evidence.rows.y)):
            raise InputError(
                "y_true", "must hold assessments of the same labels", f"{name!r} has others"
            )
    models: Mapping[str, Evidence] = {
        name: one.view("confidence") for name, one in by_model.items()
    }
    notes = evidence.notes
    if evidence.view == "multilabel":
        if len(by_model) > 1:
            raise InputError(
                "y_true", "must be one assessment of several labels", f"got {len(by_model)}"
            )
        each = {
            f"label {name}": label.view("confidence")
            for name, label in first.ask("classes").items()
        }
        models, fewer = _fewer(each, "labels")
        notes = (*notes, *fewer)
    used = evidence.rows.n
    dropped = evidence.dropped
    weights = "none" if evidence.rows.w is None else evidence.weights
    counts = RowCounts(used + dropped, used, dropped, evidence.weight, weights, evidence.classes)
    labels = first.rows.labels
    return Subject(
        models, counts, "rows", evidence.view, notes=notes, event=labels.event, other=labels.other
    )


def first_labels(y_true: Any) -> Any:
    """The labels, or those of the first model if models have their own."""
    if isinstance(y_true, Mapping):
        return next(iter(y_true.values()))
    return y_true


def _read_labels(
    y_true: Any, y_prob: Any, rows: RowOptions, cluster: Any, rounded_to: float | None
) -> Subject:
    """Every label as a problem of its own, of the same rows."""
    with collected_warnings(DroppedRowsWarning):  # the report counts them
        whole = Evidence.of(y_true, y_prob, rows, cluster=cluster)
    models, notes = _fewer({f"label {name}": one for name, one in whole.each_class()}, "labels")
    assert whole.position is not None
    n = whole.position.size
    dropped = whole.dropped
    kept = np.zeros(n + dropped, dtype=bool)
    kept[whole.position] = True
    counted = {name: _counted(one.rounded(rounded_to)) for name, one in models.items()}
    counts = RowCounts(n + dropped, n, dropped, whole.weight, whole.weights, None)
    return Subject(
        counted, counts, "rows", "multilabel", kept, notes=(*whole.notes, *notes), event=1, other=0
    )


def _models(y_prob: Any) -> Mapping[str, Any]:
    if not isinstance(y_prob, Mapping):
        return {str(getattr(y_prob, "name", None) or "scores"): y_prob}
    if not y_prob:
        raise InputError("y_prob", "must hold at least one model", "the dict is empty")
    check_names(y_prob, "y_prob")
    return y_prob


def _check_order(models: Mapping[str, Evidence]) -> None:
    first, *rest = models
    for name in rest:
        mine = models[first]
        theirs = models[name]
        if (mine.classes, mine.event) != (theirs.classes, theirs.event):
            both = [
                f"{one.event!r} last" if one.classes is None else list(one.classes)
                for one in (mine, theirs)
            ]
            got = f"{first!r} has {both[0]} and {name!r} {both[1]}"
            raise InputError(
                "y_prob", "must hold models of the same classes in the same order", got
            )


def _counted(one: Evidence) -> Evidence:
    """The rows that count, with clusters in order of appearance.

    Weights that are all 1 are no weights.
    """
    w = one.need_rows("").w
    if w is not None:
        one = one.at(np.flatnonzero(w), weighted=bool((w[w > 0] != 1).any()))
    one = replace(one, memory={})
    if one.cluster is None:
        return one
    first = np.unique(one.cluster, return_index=True)[1]
    return replace(one, cluster=np.argsort(np.argsort(first))[one.cluster], memory={})
