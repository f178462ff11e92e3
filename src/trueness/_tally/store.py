"""The stored form of sums: one format for tallies, bins, sketches and accumulators. Reading it executes nothing.

A file holds ``TNTALLYS``, the number of the format (one byte), the length of the body (8 bytes), the body packed by
zlib, and the CRC-32 of everything before it (4 bytes). The body is the length of a header (8 bytes), the header in
JSON, and the columns. The header is the dict of `to_dict`, with the length of each column in place of its numbers.
Columns of one name and type form one array; the first bytes of all its rows come first, then the second bytes, and so
on, which packs better. Numbers are little-endian: int64, or float64.
"""

import json
import math
import reprlib
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.grid import GRID_CELLS, cell_of
from trueness._tally.atomic import Stamp, read_file, replace_file
from trueness._tally.bins import MOST_EXACT, Bins
from trueness._tally.cells import Cells
from trueness._tally.grid import GridCells
from trueness._tally.multiclass import View
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

FORMAT = 3
"""The number of the format; a reader refuses every other."""

_MAGIC = b"TNTALLYS"
_START, _LENGTH = struct.Struct("<8sBQ"), struct.Struct("<Q")
_CHECKSUM = 4
_LEVEL = 4  # of zlib; 6 saves one percent and takes three times as long
# A body may be this long, plus this many times the packed bytes: enough for any sums, too little to fill a memory.
_ROOM, _RATIO = 1 << 26, 256
_SLACK = 1e-9  # what rounding may do to sums of floats, relative to their weight
_VIEWS = ("binary", "classwise", "confidence", "top-label")

Part: TypeAlias = Cells | Bins | GridCells
Fields: TypeAlias = dict[str, Any]
_Column: TypeAlias = tuple[str, tuple[int, ...]]
"""Type and shape of a row; int64 or float64 ('?') as the flag `exact` says."""


class _Form(NamedTuple):
    """How the parts of one kind of sums are written."""

    flags: set[str]
    layouts: tuple[set[str], ...]
    """The columns that may stand together."""
    columns: dict[str, _Column]


_INT: _Column = ("<i8", ())
_FLOAT: _Column = ("<f8", ())
_OWN: _Column = ("?", ())
_CELL_NAMES = {"score", "count", "weight", "events"}
_FORMS = {
    "tally": _Form(
        {"exact"},
        (_CELL_NAMES, _CELL_NAMES | {"squares", "event_squares"}),
        {"count": _INT, "weight": _OWN, "events": _OWN} | dict.fromkeys(("score", "squares", "event_squares"), _FLOAT),
    ),
    "binned": _Form(
        {"moments", "whole"},
        ({"edges", "count", "table"}, {"edges", "count", "floats"}),
        {"edges": _FLOAT, "count": _INT, "table": ("<i8", (2, 5)), "floats": ("<f8", (6,))},
    ),
    "sketch": _Form(
        set(),
        tuple({"cell", "count", "ends", *sums} for sums in (["table"], ["table", "squares"], ["floats", "squares"])),
        {"cell": _INT, "count": _INT, "table": ("<i8", (2, 5)), "floats": ("<f8", (2, 3))}
        | dict.fromkeys(("ends", "squares"), ("<f8", (2,))),
    ),
}


def refuse(reason: str) -> NoReturn:
    """Raise because sums cannot be read."""
    raise InputError("", f"The sums cannot be read: {reason}") from None


def json_ready(value: Any, name: str) -> Any:
    """The value as JSON brings it back, or an error that names the argument."""
    try:
        back = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        back = None
    if back != value:
        demand = "must be ready for JSON: text, numbers, lists and dicts of these"
        raise InputError(name, demand, f"got {reprlib.repr(value)}")
    return back


def save(path: str | Path, data: bytes, *, known: Stamp | None = None) -> Stamp:
    """Replace a file in one step; a failed write leaves the old one, and so does one that changed since `known`."""
    return replace_file(Path(path), lambda file: file.write(data), known=known)


def load(path: str | Path, read: Callable[[bytes], Any]) -> tuple[Any, Stamp]:
    """Apply `read` to the bytes of a file; errors name the file."""
    data, stamp = read_file(Path(path))
    try:
        return read(data), stamp
    except InputError as error:
        raise error.within(repr(str(path))) from error


def describe(kind: View, parts: tuple[Part, ...], classes: tuple[Any, ...] | None) -> Fields:
    """The sums as a dict of flags and arrays, part by part."""
    for name in classes or ():
        if not isinstance(name, str | int | float | bool) or (isinstance(name, float) and not math.isfinite(name)):
            demand = "A class written to a file must be a string or a finite number"
            raise InputError("", demand, f"got {reprlib.repr(name)}")
    named = None if classes is None else list(classes)
    return {"kind": kind, "classes": named, "parts": [_fields(part) for part in parts]}


def _fields(part: Part) -> Fields:
    if isinstance(part, Cells):
        return {"exact": part.exact, **part.columns()}
    flags = {"moments": part.moments, "whole": part.whole} if isinstance(part, Bins) else {}
    names = ("edges", "count", "table", "floats") if isinstance(part, Bins) else GridCells.__slots__
    columns = {name: getattr(part, name) for name in names}
    return flags | {name: values for name, values in columns.items() if values is not None}


def _with_parts(header: Fields, change: Callable[[Fields], Fields]) -> Fields:
    """A copy of a header in which every part is changed; an accumulator has parts in each group."""
    if "groups" in header:
        return {**header, "groups": [[key, _with_parts(sums, change)] for key, sums in header["groups"]]}
    return {**header, "parts": [change(fields) for fields in header["parts"]]}


def to_dict(what: str, described: Fields) -> Fields:
    """Plain lists and numbers, ready for JSON."""

    def lists(fields: Fields) -> Fields:
        return {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in fields.items()}

    return {"schema": FORMAT, "what": f"trueness.{what}", **_with_parts(described, lists)}


def from_dict(what: str, data: Any) -> tuple[View, tuple[Any, ...], tuple[Any, ...] | None]:
    """Read and check what :func:`to_dict` returned."""
    if not isinstance(data, dict) or data.get("what") != f"trueness.{what}":
        refuse(f"this is not a trueness {what}")
    if data.get("schema") != FORMAT:
        refuse(f"its schema is {data.get('schema')!r}, and this version reads {FORMAT}")
    described = {name: value for name, value in data.items() if name not in ("what", "schema")}
    with _well_formed():
        return restore(what, _with_parts(described, lambda fields: _columns_of_lists(what, fields)))


def _columns_of_lists(form: str, fields: Fields) -> Fields:
    _check_layout(form, fields)
    found = dict(fields)
    for name, (dtype, shape) in _types(form, fields).items():
        values = np.asarray(fields[name]) if len(fields[name]) else np.zeros((0, *shape), dtype)
        if values.dtype.kind not in ("i" if dtype == "<i8" else "if") or values.shape[1:] != shape:
            refuse(f"its column {name!r} does not hold the numbers that it should")
        found[name] = values.astype(dtype)
    return found


def pack(header: Fields) -> bytes:
    """The bytes of a header whose parts hold arrays."""
    streams: dict[tuple[str, str], list[NDArray[Any]]] = {}

    def lengths(fields: Fields) -> Fields:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                dtype = value.dtype.newbyteorder("<")
                streams.setdefault((name, dtype.str), []).append(value.astype(dtype, copy=False))
        return {name: len(v) if isinstance(v, np.ndarray) else v for name, v in fields.items()}

    described = _with_parts(header, lengths)
    # Lone surrogates stand for bytes that are not UTF-8, as in names of files; escaped, two of them would become one.
    text = json.dumps(described, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    encoded = text.encode("utf-8", "surrogatepass")
    body = _LENGTH.pack(len(encoded)) + encoded + b"".join(map(_by_byte, streams.values()))
    whole = _START.pack(_MAGIC, FORMAT, len(body)) + zlib.compress(body, _LEVEL)
    return whole + zlib.crc32(whole).to_bytes(_CHECKSUM, "little")


def _by_byte(arrays: list[NDArray[Any]]) -> bytes:
    rows = np.ascontiguousarray(np.concatenate(arrays))
    return rows.view(np.uint8).reshape(len(rows), -1).T.tobytes() if rows.size else b""


def unpack(data: bytes, what: str) -> Fields:
    """The header and arrays that :func:`pack` wrote, if they are those of a `what`."""
    body = _read_body(data)
    with _well_formed():
        (length,) = _LENGTH.unpack_from(body)
        text = bytes(body[_LENGTH.size : _LENGTH.size + length])
        header = json.loads(text, parse_constant=_refuse_constant)
        found = header["what"]
        if found != what:
            refuse(f"it holds a trueness {found}, which `{found.capitalize()}.load` reads")
        return _with_columns(header, body[_LENGTH.size + length :])


def _read_body(data: Any) -> memoryview:
    """The body, if name, number, length and checksum are right."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError("data", "must be bytes", f"got {type(data).__name__}")
    view = memoryview(bytes(data))
    if bytes(view[: len(_MAGIC)]) != _MAGIC:
        refuse(f"these bytes are not the sums of trueness{_guess(view)}" if len(view) else "there are no bytes")
    if len(view) < _START.size + _CHECKSUM:
        refuse("it is cut off")
    _, number, length = _START.unpack_from(view)
    if number != FORMAT:
        which = "a newer" if number > FORMAT else "an older"
        way_out = "tally the rows again with it"
        refuse(f"its format is number {number}, of {which} trueness; this version reads number {FORMAT}: {way_out}")
    if zlib.crc32(view[:-_CHECKSUM]) != int.from_bytes(view[-_CHECKSUM:], "little"):
        refuse("its checksum is wrong: bytes were changed or lost")
    packed = view[_START.size : -_CHECKSUM]
    if length > _ROOM + _RATIO * len(packed):
        refuse(f"it claims to hold {length:,} bytes")
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(packed, length + 1)
    except zlib.error:
        refuse("it is not packed as it should be")
    if len(body) != length or not unpacker.eof or unpacker.unused_data:
        refuse("its length is not what it says")
    return memoryview(body)


def _guess(start: memoryview) -> str:
    """A guess from the first bytes of a foreign file."""
    known = {b"TNSKETCH": "a sketch of an older trueness", b"PK\x03\x04": "an npz file", b"{": "JSON"}
    return next((f" but {what}" for begin, what in known.items() if bytes(start[:8]).lstrip().startswith(begin)), "")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def _well_formed() -> Iterator[None]:
    """Refuse a header that has another shape than ours, wherever that shows."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, struct.error):
        refuse("its header is damaged")


def _with_columns(header: Fields, data: memoryview) -> Fields:
    """The header with the columns in place of their lengths."""
    form: str = header["form"] if "form" in header else header["what"]
    rows: dict[tuple[str, str, tuple[int, ...]], int] = {}

    def count(fields: Fields) -> Fields:
        _check_layout(form, fields)
        for name, (dtype, shape) in _types(form, fields).items():
            if type(fields[name]) is not int or fields[name] < 0:
                refuse("the length of a column is not a whole number")
            rows[name, dtype, shape] = rows.get((name, dtype, shape), 0) + fields[name]
        return fields

    _with_parts(header, count)
    sizes = {key: n * 8 * math.prod(key[2]) for key, n in rows.items()}
    if sum(sizes.values()) != len(data):
        refuse("its columns are not as long as it says")
    streams: dict[str, NDArray[Any]] = {}
    for (name, dtype, shape), size in sizes.items():
        column, data = data[:size], data[size:]
        n = rows[name, dtype, shape]
        by_byte = np.frombuffer(column, np.uint8).reshape(-1, n) if n else np.zeros((8 * math.prod(shape), 0), np.uint8)
        streams[name + dtype] = np.ascontiguousarray(by_byte.T).view(dtype).reshape(n, *shape).astype(dtype[1:])

    def take(fields: Fields) -> Fields:
        found = dict(fields)
        for name, (dtype, _) in _types(form, fields).items():
            n = fields[name]
            found[name], streams[name + dtype] = streams[name + dtype][:n], streams[name + dtype][n:]
        return found

    return _with_parts(header, take)


def _check_layout(form: str, fields: Fields) -> None:
    flags = {name for name, value in fields.items() if isinstance(value, bool)}
    columns = fields.keys() - flags
    if flags != _FORMS[form].flags or columns not in _FORMS[form].layouts:
        refuse(f"a part has the columns {sorted(fields)}")


def _types(form: str, fields: Fields) -> dict[str, _Column]:
    """Type and shape of each column that a part has, in the order of its fields."""
    found = {name: _FORMS[form].columns[name] for name in fields if name not in _FORMS[form].flags}
    own = "<i8" if fields.get("exact") else "<f8"
    return {name: (own if dtype == "?" else dtype, shape) for name, (dtype, shape) in found.items()}


def restore(form: str, described: Fields) -> tuple[View, tuple[Any, ...], tuple[Any, ...] | None]:
    """Kind, parts and classes of sums that rows could have."""
    if described.keys() - {"what"} != {"kind", "classes", "parts"}:
        refuse("its header is damaged")
    kind, classes, parts = described["kind"], described["classes"], described["parts"]
    if kind not in _VIEWS:
        refuse(f"its kind is {kind!r}")
    if not (classes is None or isinstance(classes, list)) or (kind == "binary") != (classes is None):
        refuse("its classes do not fit its kind")
    if classes is not None and not all(isinstance(name, str | int | float | bool) for name in classes):
        refuse("its classes are not strings or numbers")
    expected = len(classes) if classes is not None and kind in ("classwise", "top-label") else 1
    if len(parts) != expected:
        refuse(f"it should have {expected} parts and has {len(parts)}")
    read = {"tally": _read_cells, "binned": _read_bins, "sketch": _read_grid}[form]
    with np.errstate(over="ignore"):
        return kind, tuple(read(fields) for fields in parts), None if classes is None else tuple(classes)


def _require(fact: Any) -> None:
    if not np.all(fact):
        refuse("its columns contradict each other")


def check_sums(
    count: Ints,
    weight: Numbers,
    events: Numbers,
    *,
    low: Floats | float = 0.0,
    high: Floats | float = 1.0,
    score: Floats | None = None,
    square: Floats | None = None,
    squares: Floats | None = None,
) -> None:
    """Refuse sums that no rows could have: n, Σw, Σwy and, where known, Σwp, Σwp² and Σw² of each cell.

    Scores lie between `low` and `high`. By Cauchy-Schwarz, (Σwp)² ≤ Σw Σwp² and (Σw)² ≤ n Σw².
    """
    w = weight.astype(np.float64)
    _require(count >= 0)
    _require((count > 0) == (w > 0))
    _require((events >= 0) & (events <= weight))
    if score is not None:
        _require((score >= (low - _SLACK) * w) & (score <= (high + _SLACK) * w))
    if score is not None and square is not None:
        _require((square <= score + _SLACK * w) & (square * w >= score * score - _SLACK * w * w))
    if squares is not None:
        # Squares of tiny weights are rounded coarsely, or to 0.
        _require((squares * count >= w * w * (1 - _SLACK) - 1e-300) & (squares <= w * w * (1 + _SLACK) + 1e-300))


def _finite(fields: Fields, lengths: dict[str, int] | None = None) -> int:
    """The number of cells, if columns have one length and no inf or nan."""
    columns = {name: values for name, values in fields.items() if isinstance(values, np.ndarray)}
    _require(len({len(values) - (lengths or {}).get(name, 0) for name, values in columns.items()}) == 1)
    for values in columns.values():
        _require(np.isfinite(values))
    return len(columns["count"])


def _read_cells(fields: Fields) -> Cells:
    _finite(fields)
    score, count, weight, events = (fields[name] for name in ("score", "count", "weight", "events"))
    squares, event_squares = fields.get("squares"), fields.get("event_squares")
    _require((score >= 0) & (score <= 1))
    _require(np.diff(score) > 0)
    _require(count > 0)
    _require(float(count.sum(dtype=np.float64)) < 2**62)
    check_sums(count, weight, events, squares=squares)
    if squares is None or event_squares is None:
        _require(fields["exact"] and np.array_equal(count, weight))
        return Cells(score, count, weight, events)
    _require((event_squares >= 0) & (event_squares <= squares))
    if fields["exact"]:
        _require((count <= weight) & (float(weight.sum(dtype=np.float64)) < 2**62))
    return Cells(score, count, weight, events, squares, event_squares).settled()


def _check_table(table: Ints) -> None:
    """Whole sums of scores in [0, 1), in two parts of 26 and 27 bits, that still add up within 64 bits."""
    _require((table >= 0) & (table[:, :, :1] <= MOST_EXACT))
    _require(table[:, :, 1:] <= table[:, :, :1] * 2.0**27)


def _read_bins(fields: Fields) -> Bins:
    _finite(fields, {"edges": 1})
    edges, count, table, floats = (fields.get(name) for name in ("edges", "count", "table", "floats"))
    assert edges is not None
    _require(len(edges) > 1 and edges[0] >= 0 and edges[-1] <= 1)
    _require(np.diff(edges) >= 0)
    if table is not None:
        _check_table(table)
        _require(table[:, :, 0].sum(axis=1) <= MOST_EXACT)
    elif floats is not None:
        _require(floats >= 0)
    moments, whole = fields["moments"], fields["whole"]
    _require(whole or table is None)
    part = Bins(edges, table, floats, count, moments=moments, whole=whole)
    check_sums(
        part.count,
        part.weight,
        part.events,
        low=edges[:-1],
        high=edges[1:],
        score=part.sum_score,
        square=part.sum_square if moments else None,
        squares=None if whole else part.squares,  # a row of whole weight 2 may be one of two rows
    )
    if whole:
        _require(part.count <= part.weight)
    _require(part.sum_event_score <= np.minimum(part.events, part.sum_score) + _SLACK * part.weight)
    return part


def _read_grid(fields: Fields) -> GridCells:
    _finite(fields)
    part = GridCells(*(fields.get(name) for name in ("cell", "count", "ends", "table", "floats", "squares")))  # type: ignore[arg-type]  # checked layout
    _require((part.cell >= 0) & (part.cell < GRID_CELLS) & (part.count > 0))
    _require(np.diff(part.cell) > 0)
    _require((part.low >= 0) & (part.low <= part.high) & (part.high <= 1))
    _require(cell_of(part.ends) == part.cell[:, None])
    if part.table is not None:
        _check_table(part.table)
    else:
        _require(part.floats >= 0)  # type: ignore[operator]  # there is one of the two
    if part.squares is None:
        _require(part.count == part.weight)
    elif part.exact:
        _require(part.count <= part.weight)
    total = None if part.squares is None else part.squares.sum(axis=1)
    check_sums(part.count, part.weight, part.events, squares=total)
    for label in (0, 1):
        weight = part.by_label[:, label]
        check_sums(
            (weight > 0).astype(np.int64),
            weight,
            weight,
            low=part.low,
            high=part.high,
            score=part.scores_by_label[:, label],
            square=part.squares_by_label[:, label],
        )
    return part.settled()
