"""The rows or sums of one model, as every question reads them, and the answers given."""

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column
from trueness._input.segment_columns import SegmentColumn
from trueness._tally.accumulator import Accumulator
from trueness._tally.binned_scores import checked_k
from trueness._tally.evidence import AnySums, Evidence, TwoColumns
from trueness._tally.multiclass import View
from trueness.errors import TruenessWarning, collected_warnings, warn
from trueness.infer.group._segment_rows import SegmentRows
from trueness.typing import ArrayLike, Columns, RowOptions

Answer = TypeVar("Answer")


class Answered(NamedTuple):
    """An answer, and the warnings that go with it."""

    record: object
    warnings: tuple[tuple[type[TruenessWarning], str], ...]


class Labels(NamedTuple):
    """What labels, of a vector of scores, and clusters are called."""

    event: Hashable | None = None
    """The label that the scores predict; None for sums and for several classes."""
    other: Hashable | None = None
    """The other label, if it occurs."""
    named: bool = False
    """Whether `labels` named them, so that a map needs these names to be fitted."""
    cluster: str = ""
    """The name of the column of clusters, if it has one."""
    column: str = ""
    """That of the column of labels."""
    scores: str = ""
    """That of the column of scores."""


class ModelRows:
    """The rows of one model in every view, and the memo of its answers.

    Assessments of one model at several levels share it. It is safe to be asked from several
    threads.
    """

    def __init__(
        self,
        evidence: Evidence,
        *,
        columns: tuple[SegmentColumn, ...] = (),
        slice_columns: tuple[SegmentColumn, ...] = (),
        groups: SegmentRows | None = None,
        labels: Labels | None = None,
        given: AnySums | Accumulator | None = None,
    ) -> None:
        self.evidence = evidence
        self.columns = columns
        self.slice_columns = slice_columns
        self.groups = groups
        self.labels = Labels() if labels is None else labels
        self.given = given
        self._views: dict[tuple[View, TwoColumns], Evidence] = {}
        self._memo: dict[Hashable, Answered] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """The rows; what has been answered is answered again, to the same number."""
        kept = {"evidence", "columns", "slice_columns", "groups", "labels", "given"}
        return {name: value for name, value in vars(self).items() if name in kept}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        ModelRows.__init__(self, **state)

    def view(self, view: View, two_columns: TwoColumns = "binary") -> Evidence:
        """The rows as a question reads them: of a matrix every class, or the largest score."""
        with self._lock:
            if (view, two_columns) not in self._views:
                self._views[view, two_columns] = self.evidence.seen_as(view, two_columns)
            return self._views[view, two_columns]

    def answer(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        """The answer to a question, found once; its warnings are given each time it is asked."""
        with self._lock:
            if question not in self._memo:
                with collected_warnings() as warnings:
                    record = compute()
                self._memo[question] = Answered(record, tuple(dict.fromkeys(warnings)))
            memo = self._memo[question]
        for kind, message in memo.warnings:
            warn(message, kind)
        return cast(Answer, memo.record)  # the memo holds anything

    def has_answered(self, question: Hashable) -> bool:
        """Whether a question has been answered."""
        return question in self._memo


def column_name(values: ArrayLike) -> str:
    """The name of a column that has one."""
    return str(getattr(values, "name", None) or "")


def columns_of(
    read: Evidence,
    y_true: ArrayLike,
    by: Columns | None,
    crossed: int,
    slice_groups: int | None,
    slices_from: int = 2,
) -> tuple[tuple[SegmentColumn, ...], tuple[SegmentColumn, ...]]:
    """The columns `by` as segments and as slices, of the rows that were read."""
    columns: tuple[SegmentColumn, ...] = ()
    if by is not None:
        columns = read.columns(by, y_true, crossed)
    if slice_groups is None or sum(column.crossed == 1 for column in columns) < slices_from:
        return columns, ()
    return columns, read.columns(by, y_true, whole="measured", groups=slice_groups)


def labels_of(evidence: Evidence, y_true: ArrayLike, rows: RowOptions) -> Labels:
    """What the labels are called, of rows that have been read."""
    if not evidence.has_rows:
        return Labels()
    if evidence.has_labels:
        return Labels(1, 0)
    evidence = evidence.seen_as("confidence")
    named = rows.get("labels") is not None
    if evidence.classes is not None:
        return Labels(named=named)
    values = column(y_true, "y_true").values.reshape(-1)
    event = evidence.event if evidence.two_columns else _predicted_label(values, rows)
    assert evidence.position is not None
    other = next((label for label in values[evidence.position] if label != event), None)
    return Labels(event, _plain(other), named)


def _predicted_label(values: NDArray[Any], rows: RowOptions) -> Hashable:
    """The label that a vector of scores predicts."""
    labels = rows.get("labels")
    if rows.get("pos_label") is not None:
        label: Hashable = rows["pos_label"]
        return label
    if labels is not None:
        return _plain(list(labels)[-1])
    return True if values.dtype.kind == "b" else 1


def _plain(label: Hashable) -> Hashable:
    """A label as Python has it."""
    return label.item() if isinstance(label, np.generic) else label


def model_rows(
    read: Evidence,
    *,
    columns: tuple[SegmentColumn, ...] = (),
    slice_columns: tuple[SegmentColumn, ...] = (),
    groups: SegmentRows | None = None,
    labels: Labels | None = None,
    given: AnySums | Accumulator | None = None,
    copied: bool,
) -> ModelRows:
    """The rows of one model with their columns, every value checked, without rows of weight 0."""
    weight = None if read.rows is None else read.rows.w
    if weight is not None and not weight.all():
        counted = np.flatnonzero(weight)
        columns = tuple(column.at(counted) for column in columns)
        slice_columns = tuple(column.at(counted) for column in slice_columns)
    return ModelRows(
        read.to_keep(copied=copied),
        columns=columns,
        slice_columns=slice_columns,
        groups=groups,
        labels=labels,
        given=given,
    )


def two_columns_for(k: int | None) -> TwoColumns:
    """What a matrix of two columns is where the `k` largest scores of each row are asked for."""
    if k is None:
        return "binary"
    if checked_k(k) == 1:
        return "top-label"
    return "keep"
