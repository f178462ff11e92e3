"""Sums per bucket of clusters: dependent rows stay together, so that sums can be judged too.

A cluster (a user, a patient, a prompt) belongs to one bucket, wherever and whenever it is summed:
the first byte of the MD5 digest of its name as UTF-8 text, modulo the number of buckets. A whole
number is its decimal digits, so that 7 and "7" are one cluster. Every engine computes the same, and
buckets of different days add. Clusters are independent, and so are the buckets, which take their
place in every interval and test.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness._tally.clusters import cluster_column, distinct_clusters
from trueness.errors import InputError
from trueness.typing import ArrayLike, Floats, Ints

CHOICES = (32, 64, 128, 256)  # below 32 no level would be kept, above 256 one byte does not suffice

MISSING = -1  # the bucket of a cluster without a name

Part = TypeVar("Part", bound=Any)


def _sum_of_parts(part: Part, other: Part) -> Part:
    """The sum; a part without rows is not added."""
    if not part.totals.rows:
        return other
    if not other.totals.rows:
        return part
    total: Part = part + other
    return total


class Buckets(NamedTuple, Generic[Part]):
    """The sums of each bucket, in order."""

    parts: tuple[Part, ...]
    # Rows of the largest cluster, or more: sums do not show whether they share a cluster.
    largest: int

    # Unlike a tuple's, it adds the parts.
    def __add__(self, other: "Buckets[Part]") -> "Buckets[Part]":  # type: ignore[override]
        """The sum bucket by bucket; an error if their numbers differ.

        The largest cluster may have rows in both, so its bound is the sum, or the fullest bucket if
        that is less.
        """
        if len(self.parts) != len(other.parts):
            got = f"got {len(self.parts)} and {len(other.parts)}"
            raise InputError(
                "buckets", "must be the same in sums that are added or subtracted", got
            )
        parts = tuple(map(_sum_of_parts, self.parts, other.parts))
        return Buckets(parts, min(self.largest + other.largest, fullest(parts)))

    def map(self, change: Callable[[Part], Any]) -> "Buckets[Any]":
        """The same buckets of other sums."""
        return Buckets(tuple(map(change, self.parts)), self.largest)

    def cells(self) -> tuple[Sample, Ints]:
        """A row for each score, label and bucket, whose weight is that of its rows.

        And the bucket of each.
        """
        cells: list[Cells] = [part.at_means() for part in self.parts]
        bucket = np.repeat(np.arange(len(cells)), [part.size for part in cells])
        score, weight, events = (
            np.concatenate([np.asarray(getattr(part, name), dtype=np.float64) for part in cells])
            for name in ("score", "weight", "events")
        )
        w = np.concatenate([events, weight - events])
        kept = w > 0
        y = np.repeat(np.array([1, 0], dtype=np.uint8), score.size)
        return Sample(y[kept], np.tile(score, 2)[kept], w[kept]), np.tile(bucket, 2)[kept]


def fullest(parts: Sequence[Any]) -> int:
    """The weight of the fullest bucket, which no cluster exceeds."""
    return int(max(math.ceil(part.totals.weight) for part in parts))


def check_buckets(buckets: object) -> int:
    """The number of buckets, if it is one of those allowed."""
    if (
        isinstance(buckets, bool)
        or not isinstance(buckets, int | np.integer)
        or buckets not in CHOICES
    ):
        raise InputError(
            "buckets", f"must be one of {', '.join(map(str, CHOICES))}", f"got {buckets!r}"
        )
    return int(buckets)


def refuse_unused(buckets: object) -> None:
    """Raise for a number of buckets that was chosen without clusters."""
    if check_buckets(buckets) != 64:
        raise InputError("buckets", "needs `cluster`", f"got {buckets!r} without clusters")


def bucket_of(name: str | int, buckets: int) -> int:
    """The bucket of one cluster."""
    text = name if isinstance(name, str) else str(int(name))
    return (
        int(_md5()(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()[0])
        % buckets
    )


def buckets_of(start: Ints, text: NDArray[np.uint8], buckets: int) -> Ints:
    """The buckets of many names, text[start[i]:start[i + 1]] in UTF-8."""
    md5 = _md5()
    raw = text.tobytes()
    first = (md5(raw[a:b], usedforsecurity=False).digest()[0] for a, b in pairwise(start.tolist()))
    return np.fromiter(first, np.int64, start.size - 1) % buckets


def _md5() -> "Callable[..., Hash]":
    """The function that hashes the name of a cluster."""
    try:
        # Twice as fast on short names as hashlib's.
        from _md5 import md5  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import md5
    hasher: Callable[..., Hash] = md5
    return hasher


class Hash(Protocol):
    """What hashlib makes."""

    def digest(self) -> bytes: ...


class Hashed:
    """The buckets of many names, each hashed once."""

    def __init__(self, buckets: int, argument: str = "`cluster`") -> None:
        self.buckets = buckets
        self.argument = argument
        self.known: dict[Any, int] = {}

    def of(self, names: Sequence[Any]) -> Ints:
        """The bucket of each name; of None it is `MISSING`."""
        codes = self.known
        try:
            return np.fromiter((codes[name] for name in names), np.int64, len(names))
        except (KeyError, TypeError):
            for name in names:
                self._learn(name)
        return np.fromiter((codes[name] for name in names), np.int64, len(names))

    def _learn(self, name: str | int | None) -> None:
        """Remember the bucket of a name that was not met before.

        None is a missing name; names other than text and whole numbers are refused.
        """
        if isinstance(name, str) or (
            isinstance(name, int | np.integer) and not isinstance(name, bool)
        ):
            self.known[name] = bucket_of(name, self.buckets)
        elif name is None:
            self.known[name] = MISSING
        else:
            demand = (
                f"{self.argument} must hold text or whole numbers, whose buckets are the same "
                "everywhere"
            )
            raise InputError(
                "", demand, f"got {name!r} ({type(name).__name__})", remedy="Write names as text."
            )


class RowClusters(NamedTuple):
    """The cluster of each row, and the bucket of each cluster."""

    code: Ints
    bucket: Ints
    buckets: int

    def at(self, some: Ints) -> "RowClusters":
        """Those of some of the rows."""
        return self._replace(code=self.code[some])

    def rows(self) -> list[Ints]:
        """The rows of each bucket."""
        bucket = self.bucket[self.code].astype(np.uint8)
        ends = np.cumsum(np.bincount(bucket, minlength=self.buckets))
        return np.split(np.argsort(bucket, kind="stable"), ends[:-1])

    def largest(self, weight: Floats | None) -> int:
        """The size of the largest cluster."""
        if not self.code.size:
            return 0
        largest: float = np.bincount(self.code, weight).max()
        return math.ceil(largest)


def read_clusters(
    y_true: ArrayLike, cluster: ArrayLike, sample: Sample, buckets: object, kind: str
) -> RowClusters:
    """The clusters of the rows of a sample; `kind` is the view of a matrix."""
    number = check_buckets(buckets)
    refuse_several("binary" if sample.p.ndim == 1 else kind)
    n = sample.n + sample.dropped
    position = np.arange(n) if sample.rows is None else sample.rows
    distinct, code = distinct_clusters(cluster_column(y_true, cluster, n), position)
    return RowClusters(code, Hashed(number).of(distinct), number)


def refuse_several(kind: str) -> None:
    """Raise for a view of several scores per row, whose clusters no interval or test takes."""
    if kind not in ("binary", "confidence"):
        demand = "must be 'confidence' with `cluster`, which needs one score per row"
        raise InputError(
            "kind", demand, f"got {kind!r}", remedy="For one class pass its column as a vector."
        )


def starts_in(buckets: Buckets[Part], total: Part, start: Ints, name: str) -> list[Ints]:
    """Where the bins that start at `start` in the total start in each bucket.

    Cells ascend by the column `name`.
    """
    key = getattr(total, name)
    clipped = np.minimum(start, key.size - 1)
    keys = [getattr(part, name) for part in buckets.parts]
    return [
        np.where(
            start == key.size, bucket_key.size, np.searchsorted(bucket_key, key[clipped])
        ).astype(np.int64)
        for bucket_key in keys
    ]
