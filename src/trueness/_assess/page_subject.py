"""The models of a report: the evidence about each, and the number of rows.

Its options, and notes for the reader.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._assess.asked import CLASSES, Asked
from trueness._assess.makers import MAKERS
from trueness._assess.parts_of_rows import joint_levels
from trueness._assess.rows import ModelRows, column_name, columns_of, labels_of, model_rows
from trueness._input.arguments import checked_whole
from trueness._input.segment_columns import GROUPS
from trueness._level import Level
from trueness._numerics.units import Units
from trueness._tally.accumulator import Accumulator
from trueness._tally.evidence import AnySums, Evidence
from trueness._tally.group_keys import names_of
from trueness._tally.models import check_names, model_context
from trueness._tally.multiclass import View
from trueness._tally.reading import read_models
from trueness._tally.rules import BinRule
from trueness._tally.sketch import Sketch
from trueness._tally.sums_of_rows import Sums, own_rule
from trueness._tally.tally import AnySums as OneType
from trueness._tally.tally import Binned, Tally, binary_of_two_classes, each_class
from trueness.errors import DroppedRowsWarning, InputError, collected_warnings, quietly
from trueness.infer.group._segment_rows import of_groups
from trueness.measure import ece
from trueness.results._page import RowCounts, Source
from trueness.typing import ArrayLike, Columns, Floats, RowOptions

_SOURCES: dict[type, Source] = {Tally: "tally", Sketch: "sketch", Binned: "bins"}
Groups: TypeAlias = Mapping[tuple[str, ...], AnySums]
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
    by: tuple[str, ...] = ()
    """The columns of the groups of an Accumulator."""
    groups: Mapping[str, Groups] = field(default_factory=dict)
    """Their sums, by model and by the names of the group."""
    notes: tuple[str, ...] = ()
    event: Hashable | None = None
    """The label that the scores predict; None for sums and for several classes."""
    other: Hashable | None = None
    """The other label, if it occurs."""

    @property
    def first(self) -> Evidence:
        """The first model; what is true of its rows is true of all."""
        return next(iter(self.models.values()))

    @property
    def units(self) -> Units:
        """What is independent: rows, or clusters numbered in order of appearance."""
        return self.first.units

    @property
    def has_labels(self) -> bool:
        """Whether there are several labels per row, each a model of its own."""
        return self.view == "multilabel"

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


def read_sums(sums: AnySums | Accumulator, rule: BinRule, notes: Iterable[str] = ()) -> Subject:
    """Take sums apart: one model, or one per class or label.

    Of very many those with the largest ECE are kept.
    """
    by: tuple[str, ...] = ()
    total: AnySums
    if isinstance(sums, Accumulator):
        total = sums.total
        by = names_of(sums.by) if sums.by is not None else ()
    else:
        total = sums
    if total.n == 0:
        raise InputError(
            "y_true", "must hold at least one row", f"this {type(total).__name__} is empty"
        )
    whole = Sums.read(total)
    notes = [*notes]
    if whole.two_columns:
        notes += whole.notes
    total = quietly(lambda: whole.sums)
    parts = "labels" if total.kind == "multilabel" else "classes"
    models, more = _fewer(_problems(total), parts, rule)
    notes += more
    groups: dict[str, dict[tuple[str, ...], AnySums]] = {name: {} for name in models}
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
    evidence = {name: Sums.read(problem) for name, problem in models.items()}
    return Subject(
        evidence,
        counts,
        _SOURCES[type(total)],
        total.kind,
        by=by,
        groups=groups,
        notes=tuple(notes),
    )


def _problems(sums: OneType) -> dict[str, OneType]:
    """The binary problems in the sums: one, or one per class that has rows."""
    if len(sums.parts) == 1:
        return {"scores": type(sums)("binary", sums.parts, None, sums.buckets)}
    what = "label" if sums.kind == "multilabel" else "class"
    return {f"{what} {name}": part for name, part in each_class(sums) if part.n}


def kept_bins(sums: AnySums | Accumulator) -> BinRule | None:
    """The bins that were summed; None if any bins can be computed from the sums."""
    return own_rule(sums.total if isinstance(sums, Accumulator) else sums)


def asked_of_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    rows: RowOptions,
    options: Options,
    *,
    by: Columns | None,
    crossed: int,
    cluster: ArrayLike | None,
    rounded_to: float | None,
) -> dict[str, Asked]:
    """What is asked about each model.

    A row with a missing value in any model, or without a cluster, is dropped for all.
    """
    kind = rows.get("kind")
    if isinstance(kind, str) and kind == "multilabel":
        models: Mapping[str, Any] = {"scores": y_prob}
    else:
        _check_kind(kind)
        models = _models(y_prob)
    # Errors name the model if there are several.
    are_named = len(models) > 1 or isinstance(y_true, Mapping)
    named = models if are_named else {"": next(iter(models.values()))}
    with collected_warnings(DroppedRowsWarning):  # the report counts them
        passed = read_models(
            y_true, named, rows, two_columns="keep", cluster=cluster, argument="y_prob"
        )
    rounded = [data.rounded(rounded_to) for data in passed.values()]
    by_model = dict(zip(models, rounded, strict=True))
    first = rounded[0]
    true_labels = first_labels(y_true)
    crossed = checked_whole(crossed, "crossed")
    columns, slice_columns = columns_of(first, true_labels, by, crossed, GROUPS)
    labels = labels_of(first, true_labels, rows)._replace(cluster=column_name(cluster))
    asked = {}
    for name, data in by_model.items():
        # What is unusual about the rows becomes a note.
        with model_context(name if are_named else ""), collected_warnings():
            kept = model_rows(
                data, columns=columns, slice_columns=slice_columns, labels=labels, copied=False
            )
        asked[name] = Asked(kept, MAKERS, options.level, options.seed, options.rule)
    return asked


def _check_kind(kind: object) -> None:
    if kind is not None:
        demand = (
            "must be 'multilabel' or be left out: the report of a matrix shows the top label and "
            "every class"
        )
        raise InputError("kind", demand, f"got {kind!r}")


def require_same_labels(by_model: Mapping[str, Asked]) -> None:
    """Raise unless assessments are of the same labels, or of statements, which have their own."""
    models = {name: asked.view("confidence") for name, asked in by_model.items()}
    first = next(iter(models.values()))
    for name, model in models.items():
        have_events = first.events is not None and model.events is not None
        are_equal = model.has_rows and np.array_equal(model.need_rows("").y, first.need_rows("").y)
        if not (have_events or are_equal):
            demand = "must hold assessments of the same labels"
            raise InputError("y_true", demand, f"{name!r} has others")


def subject_of(by_model: Mapping[str, Asked]) -> Subject:
    """The models of a report, from what is asked about them."""
    first = next(iter(by_model.values()))
    models: Mapping[str, Evidence] = {
        name: asked.view("confidence") for name, asked in by_model.items()
    }
    evidence = next(iter(models.values()))
    assert evidence.rows is not None
    if evidence.asked and not (evidence.has_labels or evidence.is_top_label):
        _check_kind(evidence.view)
    _check_order(models)
    notes = evidence.notes
    if evidence.has_labels:
        if len(by_model) > 1:
            demand = "must be one assessment of several labels"
            raise InputError("y_true", demand, f"got {len(by_model)}")
        by_label = {
            f"label {name}": label.view("confidence") for name, label in first.ask(CLASSES).items()
        }
        models, fewer = _fewer(by_label, "labels")
        notes = (*notes, *fewer)
    classes = evidence.classes
    if evidence.has_labels:
        classes = None  # every label is a model
    counts = RowCounts(
        given=evidence.rows.n + evidence.weightless + evidence.dropped,
        used=evidence.rows.n,
        dropped=evidence.dropped,
        weight=evidence.weight,
        weights=evidence.weights,
        classes=classes,
    )
    labels = first.rows.labels
    return Subject(
        models, counts, "rows", evidence.view, notes=notes, event=labels.event, other=labels.other
    )


def first_labels(y_true: ArrayLike) -> ArrayLike:
    """The labels, or those of the first model if models have their own."""
    if isinstance(y_true, Mapping):
        return next(iter(y_true.values()))
    return y_true


def _models(y_prob: ArrayLike) -> Mapping[str, Any]:
    if not isinstance(y_prob, Mapping):
        return {str(getattr(y_prob, "name", None) or "scores"): y_prob}
    if not y_prob:
        raise InputError("y_prob", "must hold at least one model", "the dict is empty")
    check_names(y_prob, "y_prob")
    return y_prob


def _check_order(models: Mapping[str, Evidence]) -> None:
    """Raise unless all models have the same classes in the same order, and the same event."""
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


def asked_of_sums(subject: Subject, options: Options) -> dict[str, Asked]:
    """What is asked about each model; several labels are judged at the levels of Holm's method."""
    by_model = {}
    for name, evidence in subject.models.items():
        groups = subject.groups.get(name)
        rows = ModelRows(evidence, groups=of_groups(subject.by, groups) if groups else None)
        by_model[name] = Asked(rows, MAKERS, options.level, options.seed, options.rule)
    if subject.has_labels:
        return joint_levels(by_model, options.level)
    return by_model


def are_paired(models: Mapping[str, Evidence]) -> bool:
    """Whether models can be compared row by row.

    Events by several horizons have weights of their own.
    """
    first, *others = models.values()
    if first.events is None:
        return True
    rows = first.need_rows("A comparison")
    for other in others:
        rows_of_other = other.need_rows("A comparison")
        if rows_of_other.n != rows.n or not _is_same(rows_of_other.w, rows.w):
            return False
    return True


def _is_same(first: Floats | None, second: Floats | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)
