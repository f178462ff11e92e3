"""Reading one look: rows, sums or sums by segment become entries; and its position."""

import hashlib
import json
from collections.abc import Hashable, Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from trueness._input.arguments import checked_fraction, checked_whole, is_number
from trueness._input.segment_columns import SegmentColumn, crossing
from trueness._tally.accumulator import Accumulator
from trueness._tally.clusters import read_units
from trueness._tally.events import Events, clusters_of
from trueness._tally.evidence import AnySums, counts_needed
from trueness._tally.group_keys import group_text, names_of
from trueness._tally.models import INDEPENDENT
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import are_sums
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.infer.watch._process import Look
from trueness.typing import ArrayLike, Columns, Floats, Ints, Json, RowOptions

Position: TypeAlias = int | float | str
_Shares: TypeAlias = tuple[float | Floats, float | Floats]
"""The share of a row in its cluster, among all rows and in its segment."""


class Piece(NamedTuple):
    """One look, read."""

    whole: Look
    """The entries of all rows."""
    entries: Look
    """The same as stream 0, then those of the segments, numbered from 1."""
    names: tuple[str, ...]
    is_text: tuple[tuple[bool, ...], ...]
    """For each name: whether it was text in each column; 1 and "1" have one name."""
    counts: Floats
    """Rows, events and Σp of each stream."""
    binned: bool
    keys: tuple[str, ...] = ()
    """The columns whose values name the segments, if they have names."""
    parts: tuple[tuple[str, ...], ...] = ()
    """For each name: its value in each of these columns."""
    digest: str = ""
    """A digest of the content, which is equal for equal rows or sums in any order."""
    scores: int = 0
    """Distinct scores."""

    @property
    def rows(self) -> int:
        """Rows of the look."""
        return int(self.counts[0, 0])


def read_look(
    data: ArrayLike,
    y_prob: ArrayLike,
    by: Columns | None,
    cluster: ArrayLike | None,
    largest_cluster: int,
    rows: RowOptions,
    eps: float | None,
    keys: tuple[str, ...] = (),
) -> Piece:
    """Read the arguments of one look: what a watch needs of it.

    `data` are rows, sums, an Accumulator, or a dict of the sums of each segment. `by` has the
    segment of each row, `cluster` its cluster, `rows` the options of rows. `largest_cluster` is the
    size of the largest cluster of sums, and 1 for rows. With `eps`, scores are moved into [eps, 1 −
    eps]. `keys` names the columns whose values are the keys of a dict. Arguments that do not fit
    the type of `data` are refused.
    """
    share = 1 / checked_whole(largest_cluster, "largest_cluster")
    if isinstance(data, Accumulator):
        if data.by:
            keys = names_of(data.by)
            data = data.groups
        else:
            keys = ()
            data = data.total
    if are_sums(data):
        if by is not None:
            raise InputError(
                "by",
                "needs rows",
                f"a {type(data).__name__} has none",
                remedy="Pass a dict of sums.",
            )
        read_rows(data, y_prob, rows, cluster=cluster)  # refuses the arguments of rows
        share = min(share, 1 / _largest(data))
        cells = _cells(data)
        return _piece(cells, 0, _Names(), eps, (share, share), isinstance(data, Binned))
    if isinstance(data, Mapping):
        for name, value in (("by", by), ("y_prob", y_prob), ("cluster", cluster)):
            if value is not None:
                raise InputError(name, "must not be given beside a dict of sums")
        return _read_groups(data, share, eps, keys)
    if share < 1:
        raise InputError("largest_cluster", "is for sums", "got rows", remedy="Pass `cluster`.")
    return _read_rows(data, y_prob, by, clusters_of(data, cluster), rows, eps, keys)


class _Names(NamedTuple):
    """The segments of a look, as in :class:`Piece`: names, types, columns, and values of these."""

    names: tuple[str, ...] = ()
    is_text: tuple[tuple[bool, ...], ...] = ()
    keys: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()


def _read_groups(
    data: Mapping[Any, Any], share: float, eps: float | None, keys: tuple[str, ...]
) -> Piece:
    """Read the sums of each segment from a dict by segment; an empty dict is refused.

    `keys` names the columns whose values are the keys of the dict, and `eps` is the least distance
    of scores from 0 and 1. Labels in clusters count less, since they depend on each other: as
    `share`, which is one over the size of the largest cluster. If `share` is 1, but the sums know
    of larger clusters, one over that size is taken for each segment, and one over the sum of these
    sizes for all rows, as a cluster may have rows in every segment.
    """
    if not data:
        raise InputError(
            "y_true", "must hold the sums of at least one segment", "the dict is empty"
        )
    groups = [sums.total if isinstance(sums, Accumulator) else sums for sums in data.values()]
    parts = [_cells(sums) for sums in groups]
    code = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    largest = np.array([_largest(sums) for sums in groups])
    shares: _Shares = (share, share)
    if share == 1 and largest.max() > 1:
        # A cluster may have rows in every segment.
        shares = (1 / largest.sum(), 1 / largest[code])
    keys = tuple(keys or getattr(data, "names", ()))
    values = [names_of(key) for key in data]
    named = _Names(
        names=tuple(map(group_text, data)),
        is_text=tuple(tuple(isinstance(value, str) for value in key) for key in values),
        keys=keys,
        parts=tuple(tuple(map(group_text, key)) for key in values) if keys else (),
    )
    binned = any(isinstance(sums, Binned) for sums in groups)
    return _piece(np.concatenate(parts, axis=1), code, named, eps, shares, binned)


def _read_rows(
    data: ArrayLike,
    y_prob: ArrayLike,
    by: Columns | None,
    cluster: ArrayLike | None,
    rows: RowOptions,
    eps: float | None,
    keys: tuple[str, ...],
) -> Piece:
    """Read the rows of one look.

    `data` are labels or Events. `by` has the columns that name the segment of each row, `cluster`
    its cluster, `rows` the options of rows, and `eps` the least distance of scores from 0 and 1.
    `keys` are the names of the columns of `by` if they have none. Labels of a cluster count as one
    over its size. Weights must count rows, except those of Events.
    """
    beside = None if isinstance(data, Events) else INDEPENDENT
    evidence = read_rows(data, y_prob, rows, kind="confidence", cluster=beside)
    evidence.require_one("a watch")
    if not evidence.whole and not isinstance(data, Events):
        raise counts_needed(evidence.weight_type)
    sample = evidence.sample
    y = np.asarray(sample.y, dtype=np.float64)
    p = np.asarray(sample.p, dtype=np.float64)
    w = np.ones(y.size) if sample.w is None else np.asarray(sample.w, dtype=np.float64)
    code = np.zeros(y.size, dtype=np.int64)
    named = _Names(keys=keys)
    if by is not None:
        code, named = _segments(evidence.columns(by, data, whole="names"), keys)
    heaviest = 1.0
    size = w
    if isinstance(data, Events) and data.kind == "horizon" and data.weight is not None:
        # A power of a ratio has a mean of at most 1 if it is at most 1. Weights of censoring depend
        # on the labels, so that a cluster is as large as its rows are many.
        heaviest = data.largest_weight
        size = np.ones(y.size)
    shares: _Shares = (1 / heaviest, 1 / heaviest)
    units = read_units(data, cluster, y.size + evidence.dropped, evidence.position, least=1)
    if units.clustered:
        inside = units.code * (code.max() + 1) + code
        shares = (_share(units.code, size) / heaviest, _share(inside, size) / heaviest)
    return _piece(np.stack([p, w, w * y]), code, named, eps, shares, False)


def _segments(columns: tuple[SegmentColumn, ...], keys: tuple[str, ...]) -> tuple[Ints, _Names]:
    """The segment of each row, and the segments: the combinations of the values of the columns.

    `keys` are the names of the columns if these have none. Columns of fractions are refused.
    """
    for column in columns:
        if column.note:
            raise InputError(
                "by",
                "must hold names or whole numbers",
                f"{column.name!r} has fractions",
                remedy="Cut them yourself, at the same places at every look.",
            )
    crossed = crossing(columns) if len(columns) > 1 else columns[0]
    column_names = tuple(column.name for column in columns)
    if column_names != ("by",):  # the name of an array without a name
        keys = column_names
    parts = crossed.parts or tuple((name,) for name in crossed.values)
    return crossed.code, _Names(crossed.values, crossed.is_text, keys, parts if keys else ())


def _with_digest(piece: Piece, cells: Floats, code: Ints | int) -> Piece:
    """The piece with a digest, by which the same look is recognised when it comes again.

    `cells` has the rows of score, weight and events, and `code` the segment of each cell. The
    digest covers names of segments and the sums of weight and events of each score in each segment.
    Neither the order of cells nor that of segments matters. `scores` becomes the number of
    different scores.
    """
    present = cells[1] > 0
    score, weight, events = cells[:, present]
    order_of_names = np.argsort(np.array(piece.names or ("",), dtype=object))
    rank = np.empty(order_of_names.size, dtype=np.int64)
    rank[order_of_names] = np.arange(order_of_names.size)
    stream = rank[(code + np.zeros(present.size, dtype=np.int64))[present]]
    order = np.lexsort((score, stream))
    stream = stream[order]
    score = score[order]
    is_new = (np.diff(stream, prepend=-1) != 0) | (np.diff(score, prepend=np.nan) != 0)
    first = np.flatnonzero(is_new)
    total = hashlib.blake2b(json.dumps(sorted(piece.names)).encode(), digest_size=16)
    total.update(stream[first].astype("<i8").tobytes())
    total.update(score[first].astype("<f8").tobytes())
    if first.size:
        for values in (weight[order], events[order]):
            total.update(np.add.reduceat(values, first).astype("<f8").tobytes())
    scores = int(np.unique(score).size)
    return piece._replace(digest=total.hexdigest(), scores=scores)


def _piece(
    cells: Floats,
    code: Ints | int,
    named: _Names,
    eps: float | None,
    shares: _Shares,
    binned: bool,
) -> Piece:
    """What a watch needs of one look, from its sums.

    `cells` has three rows: score, weight and events. `code` is the segment of each cell, and
    `named` has the segments' names, which must differ and not be empty. With `eps`, scores are
    moved into [eps, 1 − eps]. `shares` says how much a label counts, less than 1 in a cluster:
    first in the stream of all rows, then in that of its segment. `binned` says that scores are
    means of bins.
    """
    names = named.names
    if "" in names or len(set(names)) < len(names):
        demand = "must have names that are not empty, and that differ as text"
        raise InputError("by", demand, f"got {list(names)[:9]}; '' stands for all rows")
    score, weight, events = cells
    zero = np.zeros(score.size, dtype=np.int64)
    counts = _counts(score, weight, events, zero, 1)
    if names:
        of_segments = _counts(score, weight, events, code + zero, len(names))
        counts = np.concatenate([counts, of_segments])
    if eps is not None:
        score = np.clip(score, eps, 1 - eps)
    whole = Look(score, weight * shares[0], events * shares[0], zero).pooled
    entries = whole
    if names:
        segments = Look(score, weight * shares[1], events * shares[1], code + zero + 1)
        entries = Look._make(map(np.concatenate, zip(whole, segments, strict=True)))
    piece = Piece(
        whole=whole,
        entries=entries,
        names=names,
        is_text=named.is_text,
        counts=counts,
        binned=binned,
        keys=named.keys,
        parts=named.parts,
    )
    return _with_digest(piece, cells, code)


def _counts(score: Floats, weight: Floats, events: Floats, code: Ints, size: int) -> Floats:
    """Rows, events and Σp of each code below `size`, of shape (size, 3)."""
    sums = (weight, events, weight * score)
    return np.stack([np.bincount(code, values, size) for values in sums], axis=1)


def _share(cluster: Ints, w: Floats) -> Floats:
    """For each row, one over the sum of the weights `w` of its cluster, which is at least 1."""
    code = np.unique(cluster, return_inverse=True)[1]
    return 1 / np.maximum(np.bincount(code, w), 1)[code]


def _largest(sums: object) -> int:
    """The rows of the largest cluster, if the sums say so; otherwise 1."""
    return max(getattr(sums, "largest_cluster", None) or 1, 1)


def _cells(sums: object) -> Floats:
    """Scores, weights and events of the cells of sums, in rows; a bin is at its mean score.

    Anything but sums of one problem whose weights count rows is refused.
    """
    if not are_sums(sums):
        remedy = "`tn.tally(y_true, y_prob)` makes sums of rows."
        raise InputError(
            "y_true",
            "must be rows, sums or a dict of sums",
            f"got {type(sums).__name__}",
            remedy=remedy,
        )
    evidence = Sums.read(sums)
    evidence.said.one_class = True  # small looks are expected
    evidence.require_one("a watch")
    (part,) = evidence.cells_at_means
    if not part.whole:
        raise InputError(
            "y_true", "must have weights that count rows", "got sums with fractional weights"
        )
    return np.stack([part.score, part.weight, part.events], dtype=np.float64)[:, part.weight > 0]


def keys_beside(groups: object, time: str) -> tuple[str, ...]:
    """The keys of sums other than the time."""
    return tuple(name for name in getattr(groups, "names", ()) if name != time)


def pooled(looks: list[ArrayLike]) -> ArrayLike:
    """The sums of several looks as those of one: sums, or dicts of sums by segment, are added."""
    if not isinstance(looks[0], Mapping):
        return sum(looks[1:], looks[0])
    total: dict[Any, Any] = {}
    for look in looks:
        for key, sums in look.items():
            _add(total, key, sums)
    return total


def _add(groups: dict[Any, Any], key: Hashable, sums: AnySums) -> None:
    """Add sums to those of their group."""
    if key in groups:
        sums = groups[key] + sums
    groups[key] = sums


def by_time(groups: object, time: str, before: Json, after: Json) -> list[tuple[Any, Any]]:
    """The sums of each position in time, in order: pairs of a position and its sums.

    `groups` are those of :func:`trueness.sources.scan_groups`, and `time` is the key that holds the
    position. If there are other keys, a position has a dict of sums by these. Only positions after
    `after` and before `before` are kept; None sets no limit. A missing position is refused.
    """
    names = getattr(groups, "names", None)
    if not isinstance(groups, Mapping) or names is None:
        got = f"got {type(groups).__name__}"
        raise InputError("time", "needs the result of `scan_groups`, which names its keys", got)
    if time not in names:
        raise InputError("time", f"must be one of the keys {list(names)}", f"got {time!r}")
    k = names.index(time)
    end = None if before is None else plain_position(before, "before")
    start = None if after is None else plain_position(after, "after")
    looks: dict[Any, dict[Any, Any]] = {}
    for key, sums in groups.items():
        parts = key if isinstance(key, tuple) else (key,)
        if parts[k] is None:
            raise InputError("time", "must not be missing", f"{sums.n:,} rows have no {time!r}")
        place = plain_position(parts[k])
        rest = parts[:k] + parts[k + 1 :]
        late = end is not None and not precedes(place, end, "before")
        if not late and (start is None or precedes(start, place, "after")):
            # One instant may have several texts.
            _add(looks.setdefault(place, {}), rest, sums)
    if len(names) == 1:
        return [(place, looks[place][()]) for place in sorted(looks)]
    return [(place, looks[place]) for place in sorted(looks)]


def checked_eps(eps: float) -> float:
    """How far scores stay away from 0 and 1."""
    distance = checked_fraction(eps, "eps")
    if distance >= 0.5:
        raise InputError("eps", "must be below 1/2", f"got {distance}")
    return distance


def checked_position(position: object, last: Position | None) -> Position:
    """The position of a look, which must come after `last`, the position of the look before.

    None stands for the next whole number, beginning at 1. It is refused if earlier looks had
    positions that are not whole numbers.
    """
    if position is None:
        if last is not None and not isinstance(last, int):
            raise InputError(
                "position", "must be given: earlier looks have one", f"the last is {last!r}"
            )
        if last is None:
            return 1
        return last + 1
    place = plain_position(position)
    if last is not None and not precedes(last, place, "position"):
        remedy = "Each look counts once; rows whose labels come late belong to a later look."
        raise InputError(
            "position",
            f"must be later than the last look, {last!r}",
            f"got {place!r}",
            remedy=remedy,
        )
    return place


def precedes(a: Position, b: Position, argument: str) -> bool:
    """Whether a position comes before another; both must be numbers, text, or times with a zone."""
    if _kind_of_position(a) != _kind_of_position(b):
        earlier, position = (b, a) if argument == "after" else (a, b)
        demand = (
            f"must be of the kind of other positions, such as {earlier!r}: "
            "a number, text, or a time with a zone"
        )
        raise InputError(argument, demand, f"got {position!r}")
    return cast(float, a) < cast(float, b)  # or both are text


def _kind_of_position(position: Position) -> tuple[bool, bool]:
    """Whether it is text, and whether it is a time with a zone."""
    return isinstance(position, str), str(position).endswith("+00:00")


def plain_position(position: object, argument: str = "position") -> Position:
    """A number or text; times are written in one way.

    Times with a zone are in UTC, and midnight without a zone is the date.
    """
    if isinstance(position, np.datetime64) and not np.isnat(position):
        position = str(position)
    elif isinstance(position, date) and position == position:  # not pandas' missing time
        position = position.isoformat()
    elif isinstance(position, np.generic):
        position = position.item()
    if isinstance(position, str) and position:
        return _plain_text(position)
    if isinstance(position, int | float) and is_number(position):  # which JSON keeps
        number: Position = position
        return number
    raise InputError(argument, "must be a number, text or a date", f"got {position!r}")


def _plain_text(text: str) -> str:
    """A time in one way of writing; other text, and a date, as it is."""
    if len(text) <= len("2025-01-31"):
        return text
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return text
    return moment.isoformat().removesuffix("T00:00:00")
