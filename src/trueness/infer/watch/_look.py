"""Reading one look: rows, sums or sums by segment become entries; its position comes after the last one."""

import math
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import checked_whole, is_real
from trueness._input.segment_columns import MISSING, read_by
from trueness._tally.accumulator import Accumulator
from trueness._tally.clusters import cluster_codes, cluster_column
from trueness._tally.evidence import Evidence
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.watch._process import NOTHING, Look
from trueness.typing import Floats, Ints, RowOptions

Position: TypeAlias = int | float | str
_TIMES = " × "


class Piece(NamedTuple):
    """One look, read: the entries of all rows, and the entries of the segments."""

    whole: Look
    parts: Look
    names: tuple[str, ...]
    counts: Floats
    """Rows, events and Σp of all rows, then of each segment."""
    binned: bool


class _Sums(NamedTuple):
    """The cells of sums: score, weight and events."""

    cells: Floats
    totals: tuple[float, float, float]
    """Rows, events and Σp."""
    binned: bool


def read_look(
    data: Any, y_prob: Any, by: Any, cluster: Any, largest_cluster: int, rows: RowOptions, eps: float | None
) -> Piece:
    """Read the arguments of one look."""
    divisor = checked_whole(largest_cluster, "largest_cluster")
    if isinstance(data, Accumulator):
        data = data.groups if data.by else data.total
    if isinstance(data, Mapping):
        for name, value in (("by", by), ("y_prob", y_prob), ("cluster", cluster)):
            if value is not None:
                raise InputError(name, "must not be given beside a dict of sums")
        if not data:
            raise InputError("y_true", "must hold the sums of at least one segment", "the dict is empty")
        sums = {_segment_name(key): _read_sums(one, divisor) for key, one in data.items()}
        if len(sums) < len(data):
            raise InputError("y_true", "must have names that differ as text", f"got {list(data)[:9]}")
        return _of_sums(list(sums.values()), tuple(sums), eps)
    if isinstance(data, Tally | Binned | Sketch):
        if by is not None:
            raise InputError("by", "needs rows", f"a {type(data).__name__} has none", remedy="Pass a dict of sums.")
        Evidence.of(data, y_prob, rows, cluster=cluster)
        return _of_sums([_read_sums(data, divisor)], (), eps)
    if divisor > 1:
        raise InputError("largest_cluster", "is for sums", "got rows", remedy="Pass `cluster`.")
    return _of_rows(data, y_prob, by, cluster, rows, eps)


def _of_sums(parts: list[_Sums], names: tuple[str, ...], eps: float | None) -> Piece:
    """A look of sums: one of all rows, or one of each segment."""
    score, weight, events = np.concatenate([part.cells for part in parts], axis=1)
    code = np.repeat(np.arange(len(parts)), [part.cells.shape[1] for part in parts])
    whole = Look(_moved(score, eps), weight, events, np.zeros(code.size, dtype=np.int64))
    counts = np.array([part.totals for part in parts])
    total = np.concatenate([counts.sum(axis=0)[np.newaxis], counts[: len(names)]])
    segments = whole._replace(code=code) if names else NOTHING
    return Piece(whole, segments, names, total, any(part.binned for part in parts))


def _of_rows(y_true: Any, y_prob: Any, by: Any, cluster: Any, rows: RowOptions, eps: float | None) -> Piece:
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence")
    evidence.require_one("a watch")
    if not evidence.whole:
        raise InputError("sample_weight", "must be whole numbers, which count rows", "got fractions")
    position, sample = evidence.position, evidence.sample
    assert position is not None
    kept = np.zeros(position.size + evidence.dropped, dtype=bool)
    kept[position] = True
    columns = read_by(by, y_true, kept, codes=True)
    codes = None
    if cluster is not None:
        codes = cluster_codes(cluster_column(y_true, cluster, kept.size), position, least=1)
    cells = cells_of_rows(sample)  # checks every value
    y, p = (np.asarray(v, dtype=np.float64) for v in (sample.y, _moved(sample.p, eps)))
    w = np.ones(y.size) if sample.w is None else np.asarray(sample.w, dtype=np.float64)
    zero = np.zeros(y.size, dtype=np.int64)
    if codes is None:
        weight, events = (np.asarray(v, dtype=np.float64) for v in (cells.weight, cells.events))
        whole = Look(_moved(cells.score, eps), weight, events, zero[: cells.size])
    else:
        whole = _look(y, p, w, codes, zero)
    counts, looks, names = [_totals(y, sample.p, w, zero, 1)], [NOTHING], list[str]()
    for column in columns:
        if column.note:
            remedy = "Cut them yourself, at the same places at every look."
            raise InputError("by", "must hold names or whole numbers", f"{column.name!r} has fractions", remedy=remedy)
        counts.append(_totals(y, sample.p, w, column.code, len(column.values)))
        look = _look(y, p, w, codes, column.code)
        looks.append(look._replace(code=look.code + len(names)))
        names += [v if len(columns) == 1 else f"{column.name} = {v}" for v in column.values]
    if "" in names:
        raise InputError("by", "must not hold empty names", "'' stands for all rows")
    entries: Any = (np.concatenate(values) for values in zip(*looks, strict=True))
    parts = Look(*entries)
    return Piece(whole, parts, tuple(names), np.concatenate(counts), False)


def _totals(y: Floats, p: Any, w: Floats, code: Ints, size: int) -> Floats:
    """Rows, events and Σp of each segment."""
    return np.stack([np.bincount(code, v, size) for v in (w, w * y, w * p)], axis=1)


def _look(y: Floats, p: Floats, w: Floats, cluster: Ints | None, code: Ints) -> Look:
    """Rows; those of one cluster in a segment count as their mean."""
    if cluster is not None:
        pair = np.unique(np.stack([cluster, code]), axis=1, return_inverse=True)[1].reshape(-1)
        size = np.bincount(pair, w)[pair]
        w = np.divide(w, size, out=np.zeros(w.size), where=size > 0)
    return Look(p, w, w * y, code)


def _moved(score: Floats, eps: float | None) -> Floats:
    return score if eps is None else np.clip(score, eps, 1 - eps)


def _read_sums(sums: Any, divisor: int) -> _Sums:
    """The cells of sums; every log-ratio is divided by the size of the largest cluster."""
    if isinstance(sums, Accumulator):
        sums = sums.total
    if not isinstance(sums, Tally | Binned | Sketch):
        remedy = "`tn.tally(y_true, y_prob)` makes sums of rows."
        raise InputError("y_true", "must be rows, sums or a dict of sums", f"got {type(sums).__name__}", remedy=remedy)
    evidence = Evidence.of_sums(sums)
    evidence.memory["one class"] = True  # small looks are expected
    evidence.require_one("a watch")
    (part,) = evidence.cells_at_means
    if not part.whole:
        raise InputError("y_true", "must have weights that count rows", "got sums with fractional weights")
    there = part.weight > 0
    score, weight, events = (np.asarray(v[there], dtype=np.float64) for v in (part.score, part.weight, part.events))
    totals = float(weight.sum()), float(events.sum()), float(weight @ score)
    return _Sums(np.stack([score, weight / divisor, events / divisor]), totals, isinstance(sums, Binned))


def by_time(groups: Any, time: str, before: Any, after: Any) -> list[tuple[Any, Any]]:
    """The groups of each position, in order."""
    names = getattr(groups, "names", None)
    if not isinstance(groups, Mapping) or names is None:
        raise InputError(
            "time", "needs the result of `scan_groups`, which names its keys", f"got {type(groups).__name__}"
        )
    if time not in names:
        raise InputError("time", f"must be one of the keys {list(names)}", f"got {time!r}")
    k = names.index(time)
    end, start = (None if one is None else plain_position(one) for one in (before, after))
    looks: dict[Position, dict[Any, Any]] = {}
    for key, sums in groups.items():
        parts = key if isinstance(key, tuple) else (key,)
        if parts[k] is None:
            raise InputError("time", "must not be missing", f"{sums.n:,} rows have no {time!r}")
        place = plain_position(parts[k])
        if (end is not None and place >= end) or (start is not None and place <= start):  # type: ignore[operator]  # of one column
            continue
        rest = parts[:k] + parts[k + 1 :]
        looks.setdefault(place, {})[rest] = sums
    return [(place, looks[place] if len(names) > 1 else looks[place][()]) for place in sorted(looks)]


def _segment_name(key: Any) -> str:
    """The text of a key; several values are joined."""
    parts = key if isinstance(key, tuple) else (key,)
    name = _TIMES.join(MISSING if one is None else str(one) for one in parts)
    if not name:
        raise InputError("y_true", "must not have an empty name", "'' stands for all rows")
    return name


def checked_position(given: Any, last: Position | None) -> Position:
    """The position of a look, which comes after the last one."""
    if given is None:
        if last is not None and not isinstance(last, int):
            raise InputError("position", "must be given: earlier looks have one", f"the last is {last!r}")
        return 1 if last is None else last + 1
    place = plain_position(given)
    if last is not None and isinstance(place, str) is not isinstance(last, str):
        raise InputError("position", f"must be of the type of the last one, {last!r}", f"got {place!r}")
    if last is not None and place <= last:  # type: ignore[operator]  # both text or both numbers
        remedy = "Each look counts once; rows whose labels come late belong to a later look."
        raise InputError("position", f"must be later than the last look, {last!r}", f"got {place!r}", remedy=remedy)
    return place


def plain_position(given: Any) -> Position:
    if isinstance(given, date | np.datetime64) and given == given:  # not a time that is missing
        return str(given) if isinstance(given, np.datetime64) else given.isoformat()
    if isinstance(given, np.generic):
        given = given.item()
    if (isinstance(given, str) and given) or (is_real(given) and not isinstance(given, bool) and math.isfinite(given)):
        return given
    raise InputError("position", "must be a number, text or a date", f"got {given!r}")
