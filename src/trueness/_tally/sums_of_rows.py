"""`Sums`: what is known about one model of which only sums were passed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trueness._input.sample import Sample
from trueness._numerics.units import Units, units_of
from trueness._tally import rows_or_sums
from trueness._tally.clusters import ClusteredRows
from trueness._tally.evidence import AnySums, Evidence, TwoColumns, Weights
from trueness._tally.multiclass import EACH_ROW, View, two_columns_in_words
from trueness._tally.rules import BinRule, BinsLike, BySize, Edges, EqualWidth
from trueness._tally.sketch import Sketch
from trueness._tally.tally import (
    Binned,
    Parts,
    Tally,
    binary_of_two_classes,
    checked_rule,
    each_class,
    need_moments,
    tally_of_sums,
)
from trueness.errors import InputError
from trueness.typing import WeightType


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums(Evidence):
    """The sums of the rows of one model: a tally, a sketch or bins, with or without buckets."""

    given: AnySums
    """The sums as they were passed; of two classes, those of the second."""

    rows = None
    events = None
    dropped = 0
    weightless = 0

    @classmethod
    def read(
        cls, sums: AnySums, *, two_columns: TwoColumns = "binary", weight_type: WeightType = "auto"
    ) -> "Sums":
        """Take sums as they are.

        Class-wise sums of two classes are the binary problem of the second.
        """
        notes = []
        if isinstance(sums, Sketch):
            notes.append("From a sketch: all scores of a cell are at their mean.")
        is_two = two_columns != "keep" and sums.kind == "classwise" and len(sums.parts) == 2
        if is_two:
            notes.append(two_columns_in_words(sums.classes))
            sums = binary_of_two_classes(sums)
        return cls(
            given=sums,
            cluster=None if sums.buckets is None else np.arange(len(sums.buckets.parts)),
            weight_type=weight_type,
            two_columns=is_two,
            notes=tuple(notes),
        )

    @property
    def view(self) -> View:
        """The kind of the sums."""
        return self.given.kind

    @property
    def is_binned(self) -> bool:
        """Whether these are bins, which do not keep the scores."""
        return isinstance(self.given, Binned)

    @property
    def has_class_sums(self) -> bool:
        """Whether these are the sums of each class."""
        return self.is_classwise

    @property
    def keeps_scores(self) -> bool:
        """Whether every distinct score is known: that of a tally is."""
        return isinstance(self.given, Tally)

    @cached_property
    def sums(self) -> AnySums:
        """The sums that were passed."""
        self.warn_one_class()
        return self.given

    @cached_property
    def tally(self) -> Tally | None:
        """The sums per distinct score; a sketch has its rows at mean scores, and bins have none."""
        sums = self.sums  # warns of labels that are all equal, of bins too
        if self.is_binned:
            return None
        return tally_of_sums(sums)

    def tally_in(self, rule: BinRule | None = None, what: str = "This measure") -> Tally:
        """The sums per distinct score; bins, and rules that need rows, are refused."""
        if rule is not None:
            self.warn_few_rows(rule)
            checked_rule(rule, self.given)
        if self.tally is None:
            return tally_of_sums(self.sums, what)
        return self.tally

    def binned(self, bins: BinsLike | BySize, *, moments: bool = True) -> Binned:
        """The sums per bin."""
        rule = self.rule(bins)
        binned_sums = self.given.coarsen(rule)
        if moments:
            need_moments(binned_sums)
        self._warn_one_class_in(binned_sums)
        self.warn_few_rows(rule)
        return binned_sums

    @cached_property
    def classwise(self) -> Tally | None:
        """The sums of every class against the rest, or of every label; None of other kinds."""
        if self.view in EACH_ROW:
            return self.tally
        return None

    @cached_property
    def every_class(self) -> Evidence:
        """The sums of every class per distinct score; of other kinds these sums."""
        if self.classwise is None:
            return self
        return replace(self, given=self.classwise, said=replace(self.said))

    def each_class(self) -> Iterator[tuple[Any, Evidence]]:
        """Each label as a binary problem; classes need their rows."""
        if self.view != "multilabel":
            self.need_rows("This needs whole rows of scores")
        for name, sums in each_class(self.given):
            yield name, replace(self, given=sums)

    def problems(self) -> dict[Any, Evidence] | None:
        """Each class or label that has rows; None for one problem."""
        if len(self.given.parts) == 1:
            return None
        return {name: Sums.read(sums) for name, sums in each_class(self.given) if sums.n}

    def seen_as(self, view: View, two_columns: TwoColumns = "binary") -> Evidence:  # noqa: ARG002
        """These sums; of two classes the second, unless they are to be kept."""
        if two_columns == "binary" and self.given.kind == "classwise":
            return Sums.read(self.given, weight_type=self.weight_type)
        return self

    def need_rows(self, demand: str) -> Sample:
        """An error that says what needs the rows."""
        got = f"a {type(self.given).__name__} has none"
        raise InputError("", demand, got, remedy="Pass labels and scores.")

    @property
    def default_rule(self) -> BinRule:
        """The bins that were passed, else ten of equal width."""
        return own_rule(self.given) or EqualWidth(10)

    def with_bins_as_cells(self, fewest: int) -> Evidence:
        """Bins, if there are enough of whole rows, as cells at the mean scores of their rows."""
        sums = self.given
        if not isinstance(sums, Binned) or sums.parts[0].size < fewest or not sums.parts[0].whole:
            return self
        buckets = None if sums.buckets is None else sums.buckets.map(lambda part: part.at_means())
        cells = Tally(sums.kind, self.cells_at_means, sums.classes, buckets)
        return replace(self, given=cells)

    @cached_property
    def weight(self) -> float:
        """The sum of the weights."""
        return self.given.weight

    @cached_property
    def weights(self) -> Weights:
        """Whether rows had weights, and whether these were whole numbers that count rows."""
        if not all(part.whole for part in self.parts):
            return "fractional"
        if self.sums.weight == self.sums.n:
            return "none"
        return "whole"

    @property
    def units(self) -> Units:
        """What is independent: buckets of clusters, or rows."""
        return units_of(self.cluster, self.sums.n)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes of a matrix in column order."""
        return self.given.classes

    @cached_property
    def clustered(self) -> ClusteredRows:
        """A row for each distinct score, label and bucket of clusters."""
        self.require_one("a matrix with `cluster`")
        buckets = self.given.buckets
        if buckets is None:
            self.need_rows("This needs the rows")
        assert buckets is not None
        self.warn_one_class()
        top, bucket = buckets.cells()
        # Some buckets may have no rows.
        codes = np.unique(bucket, return_inverse=True)[1].reshape(-1)
        if bucket.size and (bucket == bucket[0]).all():
            got = f"all {self.sums.n:,} rows are in one, so their variation is unknown"
            raise InputError("", "The clusters of sums must fall into at least 2 buckets", got)
        return self._in_order_of_content(top, codes, "buckets", counts=self.whole)

    def clustered_for(self, rule: BinRule | None) -> ClusteredRows:
        """A row for each distinct score, label and bucket; bins are refused."""
        self.tally_in(rule)
        return self.clustered

    def warn_one_class(self) -> None:
        """Warn of labels that are all equal, once."""
        self._warn_one_class_in(self.given)

    def warn_few_clusters(self) -> None:
        """Nothing: that buckets are few is said when they are used."""

    def _warn_one_class_in(self, sums: Parts[Any]) -> None:
        if self.said.one_class:
            return
        self.said.one_class = True
        if sums.one_class:
            rows_or_sums.warn_one_class(sums.n)


def own_rule(sums: AnySums) -> BinRule | None:
    """The bins that were summed; None if any bins can be computed from the sums."""
    if not isinstance(sums, Binned):
        return None
    edges = sums.parts[0].edges
    equal = EqualWidth(edges.size - 1)
    if np.array_equal(edges, equal.fixed_edges):
        return equal
    return Edges(edges)
