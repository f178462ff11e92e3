"""`Problem`: the rows of one model with one score each; `Rows`: what it shares with classes."""

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._input.segment_columns import GROUPS, SegmentColumn, WholeNumbers, read_by
from trueness._numerics.units import Units, units_of
from trueness._tally import rows_or_sums
from trueness._tally.clusters import ClusteredRows, warn_few_clusters
from trueness._tally.events import Events
from trueness._tally.evidence import Evidence, Said, Weights
from trueness._tally.multiclass import View
from trueness._tally.row_sums import bins_of_rows, count_rows
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule, BinsLike, BySize
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.typing import ArrayLike, Columns, Ints

_MOST_ROWS = 1 << 28
SameRows = TypeVar("SameRows", bound="Rows")


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows(Evidence):
    """The rows of one model: one score per row, or several."""

    rows: Sample
    """The rows as read, in input order; of two columns, the binary problem."""
    kept: Ints | None = None
    """The place of each row in the input; None if all are there."""
    dropped: int = 0
    """Rows dropped because a value was missing."""
    weightless: int = 0
    """Rows of weight 0 that were left out."""
    events: Events | None = None
    """The statements that took the place of labels and scores."""
    given: Tally | None = None
    """The sums per distinct score, where they are known already."""

    @abstractmethod
    def _tally_of_rows(self, rule: BinRule | None = None) -> Tally:
        """Sum the rows of each distinct score, without a warning.

        A rule that splits ties keeps every row, in stable order.
        """

    @abstractmethod
    def _binned_rows(self, rule: BinRule, *, moments: bool) -> Binned:
        """Sum the rows of each bin, without a warning."""

    @cached_property
    def sums(self) -> Tally:
        """The sums per distinct score."""
        self.warn_about_rows()
        if self.given is not None:
            return self.given
        return self._tally_of_rows()

    @property
    def tally(self) -> Tally:
        """The sums per distinct score."""
        return self.sums

    def tally_in(self, rule: BinRule | None = None, what: str = "This measure") -> Tally:  # noqa: ARG002
        """The sums per distinct score, in the order that a rule may need."""
        if rule is not None:
            self.warn_few_rows(rule)
            if rule.splits_ties:
                return self._tally_of_rows(rule)
        return self.sums

    def binned(self, bins: BinsLike | BySize, *, moments: bool = True) -> Binned:
        """The sums per bin.

        Rows in bins of fixed edges are not sorted, unless their tally is there already.
        """
        rule = self.rule(bins)
        tally = self._tally_for_bins()
        if tally is None or rule.splits_ties:
            binned_sums = self._binned_rows(rule, moments=moments)
        else:
            binned_sums = tally.coarsen(rule)
        self.warn_one_class()
        self.warn_few_rows(rule)
        return binned_sums

    def _tally_for_bins(self) -> Tally | None:
        """The tally if it is there, or must be made: sums of weighted rows in bins are rounded."""
        if self.given is not None:
            return self.given
        if "sums" in self.__dict__ or self.weights == "whole":
            return self.sums
        return None

    def need_rows(self, demand: str) -> Sample:  # noqa: ARG002
        """The rows."""
        return self.rows

    @property
    def has_rows(self) -> bool:
        """They are the rows."""
        return True

    @property
    def position(self) -> Ints:
        """The place of each row in the input."""
        if self.kept is not None:
            return self.kept
        return np.arange(self.rows.n)

    def columns(
        self,
        by: Columns,
        y_true: ArrayLike,
        crossed: int = 1,
        *,
        whole: WholeNumbers = "guess",
        groups: int = GROUPS,
    ) -> tuple[SegmentColumn, ...]:
        """The columns `by` of the rows that were kept, as segments.

        `by` has a value for each row of `y_true`, the labels as they were passed; rows that were
        dropped are left out. Combinations of up to `crossed` columns are further columns. `whole`
        says what whole numbers are: names, numbers to be cut into up to `groups` groups, or a
        guess.
        """
        position = self.position
        kept = np.zeros(position.size + self.weightless + self.dropped, dtype=bool)
        kept[position] = True
        row = None if self.events is None else self.events.row
        if self.events is None or row is None:
            weight = self.rows.w
            return read_by(by, y_true, kept, crossed, whole=whole, groups=groups, weight=weight)
        every = np.ones(self.events.n_input, dtype=bool)
        of_input = read_by(by, every, every, crossed, whole=whole, groups=groups)
        return tuple(group_column.at(row[position]) for group_column in of_input)

    def has_weight(self, some: NDArray[Any]) -> bool:
        """Whether any of these rows has a weight."""
        w = self.rows.w
        return w is None or bool(w[some].any())

    @cached_property
    def weight(self) -> float:
        """The sum of the weights; the number of rows without."""
        if self.rows.w is None:
            return float(self.rows.n)
        return float(self.rows.w.sum())

    @cached_property
    def weights(self) -> Weights:
        """Whether rows have weights, and whether these are whole numbers that count rows."""
        if self.rows.w is None:
            return "none"
        if count_rows(self.rows):
            return "whole"
        return "fractional"

    @cached_property
    def units(self) -> Units:
        """What is independent: clusters, or rows without clusters."""
        return units_of(self.cluster, self.rows.n)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes of a matrix in column order."""
        return self.rows.classes

    @cached_property
    def expanded(self) -> Self:
        """The rows of positive weight.

        Weights that count rows as repetitions, other weights kept.
        """
        w = self.rows.w
        if w is None:
            return self
        if self.whole:
            if w.sum() > _MOST_ROWS:
                raise InputError(
                    "sample_weight",
                    f"must sum to at most {_MOST_ROWS:,} rows",
                    f"got {w.sum():,.0f}",
                )
            return self.at(np.repeat(np.arange(w.size), w.astype(np.int64)), weighted=False)
        if w.all():
            return self
        return self.at(np.flatnonzero(w))

    def at(self, chosen: NDArray[Any], *, weighted: bool = True) -> Self:
        """Some of the rows, perhaps repeated, with or without their weights."""
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        w = self.rows.w[chosen] if weighted and self.rows.w is not None else None
        return replace(
            self,
            rows=self.rows.at(chosen, w),
            given=None,
            cluster=self.units.at(chosen).renumbered().cluster,
            kept=chosen if self.kept is None else self.kept[chosen],
            said=replace(self.said),
        )

    def to_keep(self, *, copied: bool) -> Self:
        """The rows that count, which many questions are asked about.

        Weights that are all 1 are no weights, and clusters are numbered as they appear. Warnings of
        all rows are given here.
        """
        kept = self.with_scores(self.rows.copied()) if copied else self
        kept = kept.without_weight_0()
        if kept.cluster is not None:
            first = np.unique(kept.cluster, return_index=True)[1]
            number = np.argsort(np.argsort(first))
            kept = replace(kept, cluster=number[kept.cluster], said=Said())
        kept.warn_one_class()
        kept.warn_few_clusters()
        kept.said.few_clusters = True
        return kept

    def without_weight_0(self) -> Self:
        """The rows of positive weight; weights that are all 1 are no weights."""
        w = self.rows.w
        if w is None or (w.all() and (w != 1).any()):
            return self
        counted = np.flatnonzero(w)
        rows = self.at(counted, weighted=bool((w[counted] != 1).any()))
        return replace(rows, weightless=self.weightless + w.size - counted.size)

    def with_scores(self, rows: Sample) -> Self:
        """The same rows with other scores, of which nothing has been said."""
        return replace(self, rows=rows, given=None, said=Said())

    @cached_property
    def clustered(self) -> ClusteredRows:
        """One score per row in clusters; without `cluster`, every row is its own."""
        self.require_one("a matrix with `cluster`")
        expanded = self.expanded
        top = expanded.sample
        self.warn_one_class()
        if expanded.cluster is None:
            return self._in_order_of_content(top, np.arange(top.n), "rows by `sample_weight`")
        return self._in_order_of_content(top, expanded.cluster, "clusters")

    def warn_about_rows(self) -> None:
        """Warn of labels that are all equal, and of few clusters, which are found by content."""
        _ = self.in_clusters
        self.warn_one_class()

    def warn_one_class(self) -> None:
        """Warn of labels that are all equal, once."""
        if self.said.one_class:
            return
        self.said.one_class = True
        y = self.rows.y if self.rows.w is None else self.rows.y[self.rows.w > 0]
        # Most rows are settled by the first few.
        if bool((y[:99] == y[0]).all() and (y == y[0]).all()):
            rows_or_sums.warn_one_class(y.size)

    def warn_few_clusters(self) -> None:
        """Warn of clusters that are worth fewer than 20 of equal size."""
        warn_few_clusters(self.units, None if self.whole else self.rows.w)

    def as_type(self, kind: type[SameRows], **changes: object) -> SameRows:
        """The same rows as another type, with some fields changed."""
        same = {known.name: getattr(self, known.name) for known in fields(Rows)}
        return kind(**(same | {"given": None, "said": replace(self.said)} | changes))


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem(Rows):
    """Labels, scores, weights and clusters of one event."""

    @property
    def view(self) -> View:
        """One event per row."""
        return "binary"

    @property
    def sample(self) -> Sample:
        """The rows."""
        return self.rows

    @property
    def matrix(self) -> Sample:
        """The rows."""
        self.warn_one_class()
        return self.rows

    def _tally_of_rows(self, rule: BinRule | None = None) -> Tally:
        tally = tally_of(self.sample, "classwise", rule)
        return Tally(self.view, tally.parts, self.classes)

    def _binned_rows(self, rule: BinRule, *, moments: bool) -> Binned:
        part = bins_of_rows(self.sample, rule, moments=moments)
        return Binned(self.view, (part,), self.classes)
