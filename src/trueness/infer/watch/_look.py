"""Reading one look: rows, sums or sums by segment become entries.

Its position comes after the last one.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import checked_whole, is_number
from trueness._input.segment_columns import crossing
from trueness._tally.accumulator import Accumulator
from trueness._tally.clusters import cluster_codes, cluster_column
from trueness._tally.events import Events, clusters_of
from trueness._tally.evidence import Evidence, counts_needed
from trueness._tally.group_keys import group_text, names_of
from trueness._tally.models import INDEPENDENT
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.watch._process import Look
from trueness.typing import Floats, Ints, RowOptions

Position: TypeAlias = int | float | str


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
    """The same for the same rows or sums in any order."""
    scores: int = 0
    """Distinct scores."""

    @property
    def rows(self) -> int:
        """Rows of the look."""
        return int(self.counts[0, 0])


def read_look(
    data: Any,
    y_prob: Any,
    by: Any,
    cluster: Any,
    largest_cluster: int,
    rows: RowOptions,
    eps: float | None,
    keys: tuple[str, ...] = (),
) -> Piece:
    """Read the arguments of one look; `keys` names the columns of a dict of sums."""
    share = 1 / checked_whole(largest_cluster, "largest_cluster")
    if isinstance(data, Accumulator):
        keys = names_of(data.by) if data.by else ()
        data = data.groups if data.by else data.total
    if isinstance(data, Tally | Binned | Sketch):
        if by is not None:
            raise InputError(
                "by",
                "needs rows",
                f"a {type(data).__name__} has none",
                remedy="Pass a dict of sums.",
            )
        Evidence.of(data, y_prob, rows, cluster=cluster)  # refuses the arguments of rows
        share = min(share, 1 / _largest(data))
        cells = _cells(data)
        piece = _piece(cells, 0, (), (), eps, (share, share), isinstance(data, Binned))
        return _with_digest(piece, cells, 0)
    if isinstance(data, Mapping):
        for name, value in (("by", by), ("y_prob", y_prob), ("cluster", cluster)):
            if value is not None:
                raise InputError(name, "must not be given beside a dict of sums")
        if not data:
            raise InputError(
                "y_true", "must hold the sums of at least one segment", "the dict is empty"
            )
        names = tuple(map(group_text, data))
        keys = keys or getattr(data, "names", ())
        is_text = tuple(tuple(isinstance(one, str) for one in names_of(key)) for key in data)
        groups = [sums.total if isinstance(sums, Accumulator) else sums for sums in data.values()]
        parts = [_cells(sums) for sums in groups]
        code = np.repeat(np.arange(len(parts)), [one.shape[1] for one in parts])
        cells = np.concatenate(parts, axis=1)
        binned = any(isinstance(sums, Binned) for sums in groups)
        largest = np.array([_largest(sums) for sums in groups])
        # A cluster may have rows in every segment.
        shares: Any = (
            (share, share)
            if share < 1 or largest.max() == 1
            else (1 / largest.sum(), 1 / largest[code])
        )
        piece = _piece(cells, code, names, is_text, eps, shares, binned)
        if keys:
            texts = tuple(tuple(map(group_text, names_of(key))) for key in data)
            piece = piece._replace(keys=tuple(keys), parts=texts)
        return _with_digest(piece, cells, code)
    if share < 1:
        raise InputError("largest_cluster", "is for sums", "got rows", remedy="Pass `cluster`.")
    beside = None if isinstance(data, Events) else INDEPENDENT
    cluster = clusters_of(data, cluster)
    evidence = Evidence.of(data, y_prob, rows, kind="confidence", cluster=beside)
    evidence.require_one("a watch")
    if not evidence.whole and not isinstance(data, Events):
        raise counts_needed(evidence.weight_type)
    cells_of_rows(evidence.sample)  # checks every value
    y, p = (np.asarray(v, dtype=np.float64) for v in (evidence.sample.y, evidence.sample.p))
    if evidence.sample.w is None:
        w = np.ones(y.size)
    else:
        w = np.asarray(evidence.sample.w, dtype=np.float64)
    code = np.zeros(y.size, dtype=np.int64)
    names = ()
    is_text = ()
    values: tuple[tuple[str, ...], ...] = ()
    if by is not None:
        columns = evidence.columns(by, data, whole="names")
        if cut := [one.name for one in columns if one.note]:
            remedy = "Cut them yourself, at the same places at every look."
            raise InputError(
                "by", "must hold names or whole numbers", f"{cut[0]!r} has fractions", remedy=remedy
            )
        column = crossing(columns) if len(columns) > 1 else columns[0]
        code = column.code
        names = column.values
        is_text = column.is_text
        values = column.parts or tuple((name,) for name in names)
        if [one.name for one in columns] != ["by"]:  # an array without a name
            keys = tuple(one.name for one in columns)
    heaviest = 1.0
    size = w
    if isinstance(data, Events) and data.kind == "horizon" and data.weight is not None:
        # A power of a ratio has a mean of at most 1 if it is at most 1. Weights of censoring depend
        # on the labels, so that a cluster is as large as its rows are many.
        heaviest = data.largest_weight
        size = np.ones(y.size)
    shares = (1 / heaviest, 1 / heaviest)
    if cluster is not None:
        assert evidence.position is not None
        given = cluster_column(data, cluster, y.size + evidence.dropped)
        clusters = cluster_codes(given, evidence.position, least=1)
        inside = clusters * (code.max() + 1) + code
        shares = _share(clusters, size) / heaviest, _share(inside, size) / heaviest
    cells = np.stack([p, w, w * y])
    piece = _piece(cells, code, names, is_text, eps, shares, False)
    piece = piece._replace(keys=keys, parts=values if keys else ())
    return _with_digest(piece, cells, code)


def _with_digest(piece: Piece, cells: Floats, code: Any) -> Piece:
    """Describe the content of a look: the sums of each score in each segment, in one order."""
    there = cells[1] > 0
    score, weight, events = cells[:, there]
    order_of_names = np.argsort(np.array(piece.names or ("",), dtype=object))
    rank = np.empty(order_of_names.size, dtype=np.int64)
    rank[order_of_names] = np.arange(order_of_names.size)
    stream = rank[(code + np.zeros(there.size, dtype=np.int64))[there]]
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
    code: Any,
    names: tuple[str, ...],
    is_text: tuple[tuple[bool, ...], ...],
    eps: float | None,
    shares: Any,
    binned: bool,
) -> Piece:
    """Scores, weights and events become entries.

    A label in a cluster counts as its share, of all rows or a segment.
    """
    if "" in names or len(set(names)) < len(names):
        demand = "must have names that are not empty, and that differ as text"
        raise InputError("by", demand, f"got {list(names)[:9]}; '' stands for all rows")
    score, weight, events = cells
    zero = np.zeros(score.size, dtype=np.int64)
    sums = weight, events, weight * score
    streams = ((zero, 1), (code + zero, len(names))) if names else ((zero, 1),)
    counts = np.concatenate(
        [np.stack([np.bincount(at, v, size) for v in sums], axis=1) for at, size in streams]
    )
    if eps is not None:
        score = np.clip(score, eps, 1 - eps)
    whole = Look(score, weight * shares[0], events * shares[0], zero).pooled
    if names:
        both = [whole, Look(score, weight * shares[1], events * shares[1], code + zero + 1)]
    else:
        both = [whole]
    return Piece(
        whole, Look(*map(np.concatenate, zip(*both, strict=True))), names, is_text, counts, binned
    )


def _share(cluster: Ints, w: Floats) -> Floats:
    """One over the rows of its cluster, for each row."""
    code = np.unique(cluster, return_inverse=True)[1]
    return 1 / np.maximum(np.bincount(code, w), 1)[code]


def _largest(sums: Any) -> int:
    """The rows of the largest cluster, as far as sums know; 1 if they know of none."""
    return max(getattr(sums, "largest_cluster", None) or 1, 1)


def _cells(sums: Any) -> Floats:
    """Scores, weights and events of sums, with the rows of a bin at their mean score."""
    if not isinstance(sums, Tally | Binned | Sketch):
        remedy = "`tn.tally(y_true, y_prob)` makes sums of rows."
        raise InputError(
            "y_true",
            "must be rows, sums or a dict of sums",
            f"got {type(sums).__name__}",
            remedy=remedy,
        )
    evidence = Evidence.of_sums(sums)
    evidence.memory["one class"] = True  # small looks are expected
    evidence.require_one("a watch")
    (part,) = evidence.cells_at_means
    if not part.whole:
        raise InputError(
            "y_true", "must have weights that count rows", "got sums with fractional weights"
        )
    return np.stack([part.score, part.weight, part.events], dtype=np.float64)[:, part.weight > 0]


def keys_beside(groups: Any, time: str) -> tuple[str, ...]:
    """The keys of sums other than the time."""
    return tuple(name for name in getattr(groups, "names", ()) if name != time)


def pooled(looks: list[Any]) -> Any:
    """The sums of several looks as those of one; sums of one segment are added."""
    if not isinstance(looks[0], Mapping):
        return sum(looks[1:], looks[0])
    total: dict[Any, Any] = {}
    for look in looks:
        for key, sums in look.items():
            total[key] = total[key] + sums if key in total else sums
    return total


def by_time(groups: Any, time: str, before: Any, after: Any) -> list[tuple[Any, Any]]:
    """The groups of each position, in order."""
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
            look = looks.setdefault(place, {})
            # One instant may have several texts.
            look[rest] = look[rest] + sums if rest in look else sums
    return [
        (place, looks[place] if len(names) > 1 else looks[place][()]) for place in sorted(looks)
    ]


def checked_position(given: Any, last: Position | None) -> Position:
    """The position of a look, which comes after the last one."""
    if given is None:
        if last is not None and not isinstance(last, int):
            raise InputError(
                "position", "must be given: earlier looks have one", f"the last is {last!r}"
            )
        if last is None:
            return 1
        return last + 1
    place = plain_position(given)
    if last is not None and not precedes(last, place, "position"):
        remedy = "Each look counts once; rows whose labels come late belong to a later look."
        raise InputError(
            "position",
            f"must be later than the last look, {last!r}",
            f"got {place!r}",
            remedy=remedy,
        )
    return place


def precedes(a: Any, b: Any, argument: str) -> bool:
    """Whether a position comes before another; both must be numbers, text, or times with a zone."""
    kinds = [(isinstance(one, str), str(one).endswith("+00:00")) for one in (a, b)]
    if kinds[0] != kinds[1]:
        other, given = (b, a) if argument == "after" else (a, b)
        demand = f"must be of the kind of other positions, such as {other!r}: a number, text, or a time with a zone"
        raise InputError(argument, demand, f"got {given!r}")
    return bool(a < b)


def plain_position(given: Any, argument: str = "position") -> Position:
    """A number or text; times are written in one way, those with a zone in UTC, and midnight without as the date."""
    if isinstance(given, date | np.datetime64) and given == given:  # not a time that is missing
        given = str(given) if isinstance(given, np.datetime64) else given.isoformat()
    elif isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, str) and given:
        try:
            moment = datetime.fromisoformat(given if len(given) > len("2025-01-31") else "")
            moment = moment if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            return given
        return moment.isoformat().removesuffix("T00:00:00")
    if isinstance(given, int | float) and is_number(given):  # which JSON keeps
        number: Position = given
        return number
    raise InputError(argument, "must be a number, text or a date", f"got {given!r}")
