"""`Tally` and `Binned`: sums that answer every question about calibration, and that add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import numpy as np

from trueness._tally.bins import Bins
from trueness._tally.buckets import Buckets, fullest, starts_in
from trueness._tally.cells import Cells
from trueness._tally.grid import GridCells
from trueness._tally.multiclass import EACH_ROW, View
from trueness._tally.rules import BinRule, BinsLike, Distinct, Groups, as_rule, edges_of
from trueness.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


# Rows of one binary problem, or their sums: they have a `size` and `totals`.
Part = TypeVar("Part", bound=Any)
Value = TypeVar("Value", float, list[float])
AnySums = TypeVar("AnySums", bound="Parts[Any]")


class Parts(Generic[Part]):  # not a dataclass: making one costs a millisecond of every first call
    """Sums in parts: one for a binary problem or the top label, else one per class."""

    __slots__ = ("buckets", "classes", "kind", "parts")
    _cells = "cells"
    _key = "cell"
    _as_bins: Any  # the function that makes bins of a part and of groups of its cells

    def __init__(
        self,
        kind: View,
        parts: tuple[Part, ...],
        classes: tuple[Any, ...] | None = None,
        buckets: Buckets[Part] | None = None,
    ) -> None:
        self.kind = kind
        """'binary', or the `kind` of a matrix of scores."""
        self.parts: tuple[Part, ...] = parts
        """One part, or one per class in column order."""
        self.classes = classes
        """The classes in column order; None for a binary problem."""
        self.buckets = buckets
        """The sums of each bucket of clusters; None if rows are independent."""

    @classmethod
    def of_buckets(cls, sums: Sequence[Self], largest: int) -> Self:
        """The sums of all buckets of clusters, which remember each; there is one score per row."""
        return sums[0]._with_buckets(Buckets(tuple(bucket.parts[0] for bucket in sums), largest))

    @property
    def largest_cluster(self) -> int | None:
        """Rows of the largest cluster, or more; None if the sums were made without `cluster`."""
        if self.buckets is None:
            return None
        return self.buckets.largest

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = (
            (side.kind, side.classes, side.parts, side.buckets) for side in (self, other)
        )
        return mine == theirs

    @property
    def n(self) -> int:
        """Rows of positive weight."""
        return sum(part.totals.rows for part in self._disjoint_parts())

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(sum(part.totals.weight for part in self._disjoint_parts()))

    def _disjoint_parts(self) -> tuple[Part, ...]:
        """Parts that hold every row once.

        Each class of a class-wise view, and each label, sees all rows.
        """
        if self.kind in EACH_ROW:
            return self.parts[:1]
        return self.parts

    @property
    def one_class(self) -> bool:
        """Whether all labels are known to be equal."""
        if self.kind == "binary":
            total = self.parts[0].totals
            return total.rows > 0 and total.events in (0, total.weight)
        return self.kind == "classwise" and sum(part.totals.events > 0 for part in self.parts) == 1

    def average(self, of: Callable[[Part], Value]) -> Value:
        """The mean of one number or of several over classes or labels.

        All count alike, or by how often each was predicted.
        """
        if len(self.parts) == 1:
            return of(self.parts[0])
        if self.kind in EACH_ROW:
            filled = self.parts
        else:
            filled = tuple(part for part in self.parts if part.totals.rows > 0)
        weights = None if self.kind in EACH_ROW else [part.totals.weight for part in filled]
        values = np.ascontiguousarray(np.transpose([of(part) for part in filled]))
        # As `of` does.
        return np.average(values, axis=-1, weights=weights).tolist()  # type: ignore[no-any-return]

    @property
    def class_factor(self) -> int:
        """The sum over classes over their mean, for scores that Brier defined as a sum.

        1 for two classes, where the second error repeats the first: their score is the binary one.
        """
        if self.kind == "classwise" and len(self.parts) > 2:
            return len(self.parts)
        return 1

    def coarsen(self, bins: BinsLike) -> Binned:
        """Sum the cells of each bin; `bins` is an int, a sequence of edges or a bin rule.

        A cell of a sketch that an edge cuts goes whole to the bin of its mean score.
        """
        rule = checked_rule(as_rule(bins), self)
        none = Bins.empty(edges_of(rule))
        make = type(self)._as_bins
        filled = tuple(
            make(part, rule.group(part.at_means())) if part.size else none for part in self.parts
        )
        buckets: Buckets[Bins] | None = None
        if self.buckets is not None and self.parts[0].size:
            edges, start = rule.group(self.parts[0].at_means())
            starts = starts_in(self.buckets, self.parts[0], start, self._key)
            made = map(make, self.buckets.parts, (Groups(edges, s) for s in starts))
            buckets = Buckets(tuple(made), self.buckets.largest)
        return Binned(self.kind, filled, self.classes, buckets)

    def __add__(self, other: object) -> Self:
        """The sums of both; 0 is nothing, so that `sum` works.

        An error unless kind and classes are the same, and both have buckets of clusters or neither
        has; sums without rows may lack them.
        """
        if isinstance(other, int) and other == 0:
            return self
        if type(other) is not type(self):
            return NotImplemented
        if (self.kind, self.classes) != (other.kind, other.classes):
            mine, theirs = (
                f"{sums.kind} of {list_classes(sums.classes)}" for sums in (self, other)
            )
            raise InputError(
                "",
                "Only sums of the same kind can be added or subtracted",
                f"got {mine} and {theirs}",
            )
        if self.buckets is not None and other.buckets is not None:
            buckets = self.buckets + other.buckets
            if any(
                not part.whole or getattr(part, "table", 0) is None
                for part in (*self.parts, *other.parts)
            ):
                # Floats are added in one order, also when they are read again.
                return self._with_buckets(buckets)
            return type(self)(self.kind, (self.parts[0] + other.parts[0],), self.classes, buckets)
        if (self.buckets is None) != (other.buckets is None):
            if self.n and other.n:
                demand = (
                    "Sums with buckets of clusters cannot be added to, or subtracted from, sums "
                    "without"
                )
                raise InputError(
                    "", demand, remedy="Make both with the same `cluster` and `buckets`."
                )
            if self.n:
                return self
            return other
        return type(self)(self.kind, tuple(map(add, self.parts, other.parts)), self.classes)

    def _with_buckets(self, buckets: Buckets[Part]) -> Self:
        pool = GridCells.pooled if isinstance(buckets.parts[0], GridCells) else partial(reduce, add)
        total = cast(Part, pool(buckets.parts))
        return type(self)(self.kind, (total,), self.classes, buckets)

    __radd__ = __add__

    def __sub__(self, other: object) -> Self:
        """The sums without some of their rows, such as those of a wrong day.

        Rounded sums are refused.
        """
        if type(other) is not type(self):
            return NotImplemented
        self + other  # refuses other kinds, classes, edges and buckets
        parts = tuple(map(_store().subtract, self.parts, other.parts))
        buckets = self.buckets
        if buckets is not None and other.buckets is not None:
            left = tuple(map(_store().subtract, buckets.parts, other.buckets.parts))
            buckets = Buckets(left, min(buckets.largest, fullest(left)))
        return type(self)(self.kind, parts, self.classes, buckets)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON; the key ``schema`` numbers the format."""
        stored: dict[str, Any] = _store().to_dict(
            type(self).__name__.lower(), _store().describe(self)
        )
        return stored

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the result of :meth:`to_dict`."""
        return cls(*_store().from_dict(cls.__name__.lower(), data))

    def to_bytes(self) -> bytes:
        """The sums in few bytes.

        Without weights, the same for the same rows in any order and partition.
        """
        return bytes(
            _store().pack({"what": type(self).__name__.lower(), **_store().describe(self)})
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of :meth:`to_bytes`.

        Nothing in it is executed; other bytes are an error.
        """
        form = cls.__name__.lower()
        return cls(*_store().restore(form, _store().unpack(data, form)))

    def save(self, path: str | Path) -> None:
        """Write the bytes to a file; a failed write leaves the old file."""
        _store().save(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote."""
        loaded: Self = _store().load(path, cls.from_bytes)
        return loaded

    def __repr__(self) -> str:
        """The kind, and the numbers of rows, of cells or bins, and of buckets of clusters."""
        cells = sum(part.size for part in self.parts)
        clusters = (
            "" if self.buckets is None else f", {len(self.buckets.parts)} buckets of clusters"
        )
        return (
            f"{type(self).__name__}({self.kind}, {self.n:,} rows, {cells:,} "
            f"{self._cells}{clusters})"
        )


def _store() -> ModuleType:
    """The stored form, imported on use.

    It needs JSON, zlib and files, which most calls do not.
    """
    from trueness._tally import store

    return store


class Tally(Parts[Cells]):
    """The sums of the rows of each distinct score.

    Tallies can be added: the tally of two batches is the sum of their tallies. Every measure takes
    a tally in place of labels and scores. Unweighted tallies are identical, bit for bit, for any
    order and any split of the rows. :func:`trueness.tally` makes one.

    Examples
    --------
    >>> import trueness as tn
    >>> monday = tn.tally([0, 1], [0.2, 0.7])
    >>> tuesday = tn.tally([1, 1], [0.7, 0.9])
    >>> monday + tuesday
    Tally(binary, 4 rows, 3 distinct scores)
    >>> tn.brier(monday + tuesday) == tn.brier([0, 1, 1, 1], [0.2, 0.7, 0.7, 0.9])
    True
    """

    __slots__ = ()
    _cells = "distinct scores"
    _key = "score"
    _as_bins = Bins.from_cells


class Binned(Parts[Bins]):
    """The sums of the rows of each bin. Sums over the same edges can be added.

    :func:`trueness.binned` makes one in a single pass that does not sort, so that scores need not
    fit in memory at once. Every measure of fixed bins takes it in place of labels and scores.

    Examples
    --------
    >>> import trueness as tn
    >>> monday = tn.binned([0, 1], [0.2, 0.7], bins=2)
    >>> tuesday = tn.binned([1, 1], [0.7, 0.9], bins=2)
    >>> tn.ece(monday + tuesday, bins=2) == tn.ece([0, 1, 1, 1], [0.2, 0.7, 0.7, 0.9], bins=2)
    True
    """

    __slots__ = ()
    _cells = "bins"

    def coarsen(self, bins: BinsLike) -> Binned:
        """Merge neighbouring bins; the edges of `bins` must be among the existing edges."""
        rule = as_rule(bins)
        buckets = (
            None if self.buckets is None else self.buckets.map(lambda part: part.coarsen(rule))
        )
        return Binned(
            self.kind, tuple(part.coarsen(rule) for part in self.parts), self.classes, buckets
        )


def binary_of_two_classes(sums: AnySums) -> AnySums:
    """Class-wise sums of two classes as the sums of the second against the first.

    Any others unchanged.
    """
    if sums.kind != "classwise" or len(sums.parts) != 2:
        return sums
    return type(sums)("binary", sums.parts[1:])


def need_moments(bins: Binned) -> None:
    """Raise for bins that were made without Σwp²."""
    if not all(part.moments for part in bins.parts):
        remedy = "Pass a Tally, or labels and scores."
        raise InputError("", "These bins were made without second moments", remedy=remedy)


def checked_rule(rule: BinRule, sums: Parts[Any]) -> BinRule:
    """The rule, unless the sums do not keep what it needs."""
    what = type(sums).__name__.lower()
    if what == "sketch" and isinstance(rule, Distinct):
        demand = "`Distinct()` bins need every distinct score, which a sketch does not keep"
        raise InputError("", demand, remedy="Pass a Tally.")
    if rule.splits_ties:
        demand = '`ties="split"` and `ties="printed"` need the rows in order'
        remedy = "Pass `y_true` and `y_prob`."
        raise InputError("", demand, f"a {what} has none", remedy=remedy)
    return rule


def list_classes(classes: tuple[Any, ...] | None) -> str:
    """Their number, and the first of them."""
    if classes is None:
        return "two classes"
    shown = ", ".join(map(repr, classes[:4]))
    if len(classes) > 4:
        shown += ", …"
    return f"{len(classes)} classes ({shown})"


def each_class(sums: AnySums) -> Iterator[tuple[Any, AnySums]]:
    """The name of each class, or label, and its sums as a problem of their own."""
    for name, part in zip(sums.classes or (), sums.parts, strict=True):
        yield name, type(sums)("binary", (part,))


def tally_of_sums(sums: Parts[Any], what: str = "This measure") -> Tally:
    """The sums per distinct score.

    The rows of a sketch are at mean scores, and bins are refused.
    """
    if isinstance(sums, Binned):
        remedy = "Pass a Tally, or labels and scores."
        raise InputError(
            "", f"{what} needs every distinct score", "bins do not keep them", remedy=remedy
        )
    if isinstance(sums, Tally):
        return sums
    return Tally(sums.kind, tuple(part.at_means() for part in sums.parts), sums.classes)


def class_of_lines(sums: Tally | Binned, sizes: Iterable[int]) -> tuple[Any, ...] | None:
    """The class of each line of a table, from the number of lines per class.

    None for a single problem.
    """
    if len(sums.parts) == 1 or sums.classes is None:
        return None
    return tuple(name for name, size in zip(sums.classes, sizes, strict=True) for _ in range(size))
