"""`Classes`: rows with several scores each; `TopLabel`: the largest of each row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.multiclass import (
    TOP_OF_TWO_COLUMNS,
    ClassParts,
    View,
    binary_of_two_columns,
    parts_of,
    two_columns_in_words,
    with_probabilities,
)
from trueness._tally.problem import Problem, Rows
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rows_or_sums import binned_of, tally_of
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned, Tally

# Scores of a matrix from which on the sums of its classes, six times its memory, are made when
# needed.
_LARGE = 4 * 10**6


class Matrix(Rows):
    """A matrix of scores, whatever is asked about it."""

    @cached_property
    def matrix(self) -> Sample:
        """The probabilities of all classes."""
        self.warn_one_class()
        rows = self.rows
        if rows.logits:
            return with_probabilities(rows)
        if not rows.pixels:
            return rows
        return Sample(
            rows.y,
            np.asarray(rows.p),
            rows.w,
            rows.classes,
            rows.tolerance,
            rows.rows,
            rows.dropped,
            importance=rows.importance,
        )

    @cached_property
    def classwise(self) -> Tally:
        """The sums of every class against the rest."""
        if self._is_large:
            # A sequence that is summed when it is read, for a tuple.
            parts = cast(tuple[Cells, ...], ClassParts(self.rows, cells_of_rows))
            return Tally("classwise", parts, self.rows.classes)
        return tally_of(self.rows, "classwise", piece=True)

    @property
    def _is_large(self) -> bool:
        """Whether classes are summed one by one, when they are read."""
        return not self.rows.pixels and self.rows.p.size > _LARGE

    @cached_property
    def every_class(self) -> Evidence:
        """The same rows, every class against the rest."""
        return self.as_type(Classes, given=self.classwise)

    def each_class(self) -> Iterator[tuple[Any, Evidence]]:
        """Each class against the rest as a binary problem of the same rows."""
        tally = self.classwise
        self.warn_one_class()
        samples: Sequence[Sample]
        if isinstance(tally.parts, ClassParts):
            samples = ClassParts(self.rows, _same)
        else:
            samples = parts_of(self.rows, tally.kind, _same)  # type: ignore[arg-type]  # of a matrix
        for label, part, class_rows in zip(tally.classes or (), tally.parts, samples, strict=True):
            given = Tally("binary", (part,)) if self.cluster is None else None
            yield label, self.as_type(Problem, rows=class_rows, given=given)

    @property
    def has_choice_of_views(self) -> bool:
        """Whether questions read these rows in several ways: they do."""
        return True

    def problems(self) -> dict[Any, Evidence] | None:
        """Each class or label, to be judged on its own."""
        return {name: replace(problem, notes=()) for name, problem in self.each_class()}

    def in_views(self, views: Iterable[View]) -> dict[str, Evidence]:
        """The same rows in several views, whichever was asked for."""
        return {view: as_view(self, view) for view in views}

    def seen_as(self, view: View, two_columns: TwoColumns = "binary") -> Evidence:
        """The same rows as another question reads them.

        Two columns are the binary problem of the second, unless they are to be kept, the top label
        is asked for, or another view was.
        """
        own_view = self.asked and self.view != "classwise"
        if own_view or self.rows.p.shape[1] != 2 or two_columns == "keep":
            return as_view(self, self.view if self.asked else view)
        if two_columns == "binary":
            return second_of_two(self)
        top = as_view(self, self.view if self.asked else view)
        return replace(top, notes=(*self.notes, TOP_OF_TWO_COLUMNS))


@dataclass(frozen=True, kw_only=True, eq=False)
class TopLabel(Matrix, Problem):
    """The largest score of each row, and whether it was right."""

    @property
    def view(self) -> View:
        """The top label."""
        return "confidence"

    @cached_property
    def sample(self) -> Sample:
        """The largest score of each row, and whether it was right."""
        (top,) = parts_of(self.rows, "confidence", _same)
        return top

    def _binned_rows(self, rule: BinRule, *, moments: bool) -> Binned:
        # Images are summed in blocks, so that nothing is kept of each pixel.
        if self.rows.pixels:
            return binned_of(self.rows, "confidence", rule, moments=moments)
        return super()._binned_rows(rule, moments=moments)


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes(Matrix):
    """Every class of a matrix against the rest, or the top label by predicted class."""

    view: View = "classwise"

    @property
    def has_class_rows(self) -> bool:
        """Whether every class is asked about."""
        return self.is_classwise

    @property
    def has_images(self) -> bool:
        """Whether every class of images is asked about."""
        return self.is_classwise and bool(self.rows.pixels)

    @cached_property
    def sample(self) -> Sample:
        """The largest score of each row, and whether it was right."""
        return self.as_type(TopLabel).sample

    @cached_property
    def classwise(self) -> Tally:
        """The sums of every class against the rest."""
        if self.is_classwise and (self.given is not None or not self._is_large):
            return self.sums
        return super().classwise

    def _tally_of_rows(self, rule: BinRule | None = None) -> Tally:
        return tally_of(self.rows, self.view, rule, piece=True)  # type: ignore[arg-type]  # no binary

    def _binned_rows(self, rule: BinRule, *, moments: bool) -> Binned:
        return binned_of(self.rows, self.view, rule, moments=moments)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, eq=False)
class SeveralLabels(Classes):
    """A column of labels and one of scores per label, each a binary problem of its own."""

    view: View = "multilabel"

    @property
    def sample(self) -> Sample:
        """An error: there is no top label."""
        self.require_one("this question")
        return self.rows

    @property
    def matrix(self) -> Sample:
        """An error: there is no label that all scores share."""
        return self.sample

    @property
    def classwise(self) -> Tally:
        """The sums of every label."""
        return self.sums

    def seen_as(self, view: View, two_columns: TwoColumns = "binary") -> Evidence:  # noqa: ARG002
        """These labels, which have one view only."""
        return self

    @property
    def has_choice_of_views(self) -> bool:
        """Whether questions read these rows in several ways: they do not."""
        return False

    def in_views(self, views: Iterable[View]) -> dict[str, Evidence]:  # noqa: ARG002
        """These labels, which have one view only."""
        return {self.view: self}

    def warn_one_class(self) -> None:
        """Nothing: a label that no row has is not unusual."""


def as_view(rows: Rows, view: View) -> Evidence:
    """The rows of a matrix in one view."""
    if view == "confidence":
        return rows.as_type(TopLabel)
    seen = rows.as_type(Classes, view=view)
    # Of very many scores the sums of each class are made when they are needed.
    if view == "classwise" and rows.rows.p.size > _LARGE:
        return seen.every_class
    return seen


def second_of_two(rows: Rows) -> Problem:
    """Two columns as the binary problem of the second."""
    classes = rows.rows.classes
    return rows.as_type(
        Problem,
        rows=binary_of_two_columns(rows.rows),
        two_columns=True,
        event=(classes or (0, 1))[1],
        notes=(*rows.notes, two_columns_in_words(classes)),
    )


def _same(part: Sample) -> Sample:
    return part
