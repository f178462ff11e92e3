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
    """The problems with the largest ECE, as many as a page can hold, and a note if others exist."""
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
    by: tuple[str, ...] = ()
    total: Sums
    if isinstance(sums, Accumulator):
        total = sums.total
        by = names_of(sums.by) if sums.by is not None else ()
    else:
        total = sums
    if total.n == 0:
        raise InputError(
            "y_true", "must hold at least one row", f"this {type(total).__name__} is empty"
        )
    whole = Evidence.of_sums(total)
    notes = [*notes]
    if whole.two_columns:
        notes += whole.notes
    total = quietly(lambda: whole.sums)
    parts = "labels" if total.kind == "multilabel" else "classes"
    models, more = _fewer(_problems(total), parts, rule)
    notes += more
    groups: dict[str, dict[tuple[str, ...], Sums]] = {name: {} for name in models}
    if by and total.buckets is not None:
        notes.append(
            "Groups are not compared: their tests would take rows as independent, and these are in "
            "clusters."
        )
    elif by and isinstance(sums, Accumulator):
        for group, part in sums.groups.items():
            values = tuple(str(value) or "''" for value in names_of(group))
            for name, problem in _problems(binary_of_two_classes(part)).items():
                if name in groups:
                    groups[name][values] = problem
    counts = RowCounts(
        given=total.n,
        used=total.n,
        dropped=0,
        weight=float(total.weight),
        weights=quietly(lambda: whole.weights),
        classes=total.classes,
    )
    evidence = {name: Evidence.of_sums(problem) for name, problem in models.items()}
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
    """Check labels and scores.

    A row with a missing value in any model, or without a cluster, is dropped for all.
    """
    kind = rows.get("kind")
    if isinstance(kind, str) and kind == "multilabel":
        return _read_labels(y_true, y_prob, rows, cluster, rounded_to)
    if kind is not None:
        demand = (
            "must be 'multilabel' or be left out: the report of a matrix shows the top label and "
            "every class"
        )
        raise InputError("kind", demand, f"got {kind!r}")
    models = _models(y_prob)
    # Errors name the model if there are several.
    if len(models) > 1 or isinstance(y_true, Mapping):
        named = models
    else:
        named = {"": next(iter(models.values()))}
    with collected_warnings(DroppedRowsWarning):  # the report counts them
        passed = Evidence.several(
            y_true, named, rows, kind="confidence", cluster=cluster, argument="y_prob"
        )
    _check_order(passed)
    given = next(iter(passed.values()))
    counted = {name: _counted(data.rounded(rounded_to)) for name, data in passed.items()}
    for name, data in counted.items():
        with model_context(name):
            # Checks every value, so that nothing after needs to.
            bins_of_rows(data.sample, EqualWidth(1))
    first = next(iter(counted.values()))
    assert first.position is not None
    values = column(first_labels(y_true), "y_true").values.reshape(-1)
    kept = np.zeros(values.shape[0], dtype=bool)
    kept[first.position] = True
    counts = RowCounts(
        given=kept.size,
        used=first.position.size,
        dropped=first.dropped,
        weight=first.weight,
        weights=given.weights,
        classes=first.classes,
    )
    event = first.event
    other = None
    if first.classes is None:
        if not first.two_columns:
            event = _predicted_label(values, rows)
        other = next((label for label in values[kept] if label != event), None)
        if isinstance(other, np.generic):
            other = other.item()
    return Subject(
        dict(zip(models, counted.values(), strict=True)),
        counts,
        "rows",
        first.view,
        kept,
        notes=given.notes,
        event=event,
        other=other,
    )


def _predicted_label(values: Any, rows: RowOptions) -> Any:
    """The label that a vector of scores predicts."""
    if rows.get("pos_label") is not None:
        return rows["pos_label"]
    labels = rows.get("labels")
    if labels is not None:
        return list(labels)[-1]
    return True if values.dtype.kind == "b" else 1


def subject_of(by_model: Mapping[str, Asked]) -> Subject:
    """The models of a report from assessments of the same rows."""
    first = next(iter(by_model.values()))
    models: Mapping[str, Evidence] = {
        name: asked.view("confidence") for name, asked in by_model.items()
    }
    evidence = next(iter(models.values()))
    assert evidence.rows is not None
    for name, model in models.items():
        has_events = evidence.events is not None and model.events is not None
        if model.rows is None or not (has_events or np.array_equal(model.rows.y, evidence.rows.y)):
            demand = "must hold assessments of the same labels"
            raise InputError("y_true", demand, f"{name!r} has others")
    notes = evidence.notes
    if evidence.view == "multilabel":
        if len(by_model) > 1:
            demand = "must be one assessment of several labels"
            raise InputError("y_true", demand, f"got {len(by_model)}")
        by_label = {
            f"label {name}": label.view("confidence")
            for name, label in first.ask("classes").items()
        }
        models, fewer = _fewer(by_label, "labels")
        notes = (*notes, *fewer)
    counts = RowCounts(
        given=evidence.rows.n + evidence.dropped,
        used=evidence.rows.n,
        dropped=evidence.dropped,
        weight=evidence.weight,
        weights="none" if evidence.rows.w is None else evidence.weights,
        classes=evidence.classes,
    )
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
    by_label = {f"label {name}": label for name, label in whole.each_class()}
    models, notes = _fewer(by_label, "labels")
    assert whole.position is not None
    n = whole.position.size
    kept = np.zeros(n + whole.dropped, dtype=bool)
    kept[whole.position] = True
    counts = RowCounts(
        given=kept.size,
        used=n,
        dropped=whole.dropped,
        weight=whole.weight,
        weights=whole.weights,
        classes=None,
    )
    counted = {name: _counted(label.rounded(rounded_to)) for name, label in models.items()}
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
    mine = models[first]
    for name in rest:
        theirs = models[name]
        if (mine.classes, mine.event) != (theirs.classes, theirs.event):
            demand = "must hold models of the same classes in the same order"
            got = f"{first!r} has {_order(mine)} and {name!r} {_order(theirs)}"
            raise InputError("y_prob", demand, got)


def _order(data: Evidence) -> str:
    if data.classes is None:
        return f"{data.event!r} last"
    return str(list(data.classes))


def _counted(data: Evidence) -> Evidence:
    """The rows that count, with clusters in order of appearance.

    Weights that are all 1 are no weights.
    """
    w = data.need_rows("").w
    if w is not None:
        data = data.at(np.flatnonzero(w), weighted=bool((w[w > 0] != 1).any()))
    data = replace(data, memory={})
    if data.cluster is None:
        return data
    first = np.unique(data.cluster, return_index=True)[1]
    return replace(data, cluster=np.argsort(np.argsort(first))[data.cluster], memory={})
