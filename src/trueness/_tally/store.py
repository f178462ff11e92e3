"""The stored form of sums: one format for tallies, bins, sketches and accumulators.

Reading it executes nothing.

A file holds ``TNTALLYS``, the number of the format (one byte), the length of the body (8 bytes),
the body packed by zlib, and the CRC-32 of everything before it (4 bytes). The body is the length of
a header (8 bytes), the header in JSON, and the columns. The header is the dict of `to_dict`, with
the length of each column in place of its numbers. Columns of one name and type form one array; the
first bytes of all its rows come first, then the second bytes, and so on, which packs better.
Numbers are little-endian: int64, or float64.
"""

import json
import math
import reprlib
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from trueness._tally.atomic import as_path, replace_file
from trueness._tally.bins import Bins
from trueness._tally.buckets import CHOICES, Buckets
from trueness._tally.buckets import Part as PartOf
from trueness._tally.cells import MOST_ROWS, Cells
from trueness._tally.grid import GridCells
from trueness._tally.multiclass import View
from trueness._tally.possible_sums import Part, check_parts, check_sums, refuse
from trueness.errors import InputError, in_context

FORMAT = 5  # the number of the format; a reader refuses every other

_MAGIC = b"TNTALLYS"
_START = struct.Struct("<8sBQ")
_LENGTH = struct.Struct("<Q")
_CHECKSUM = 4
_LEVEL = 4  # of zlib; 6 saves one percent and takes three times as long
# A body may be this long, plus this many times the packed bytes: enough for any sums, too little to
# fill a memory.
_ROOM = 1 << 26
_RATIO = 256
_MOST_CLASSES = 1 << 18  # each part of a class is read by itself, in about 0.1 ms

Fields: TypeAlias = dict[str, Any]
_Read: TypeAlias = tuple[View, tuple[Any, ...], tuple[Any, ...] | None, Buckets[Any] | None]
_Column: TypeAlias = tuple[
    str, tuple[int, ...]
]  # type and shape of a row; '?' is int64 or float64, as `whole` says


class _Form(NamedTuple):
    """How the parts of one kind of sums are written.

    A layout is a set of columns that may stand together.
    """

    flags: set[str]
    layouts: tuple[set[str], ...]
    columns: dict[str, _Column]


_INT: _Column = ("<i8", ())
_FLOAT: _Column = ("<f8", ())
_OWN: _Column = ("?", ())
_CELL_NAMES = {"score", "count", "weight", "events"}
_FORMS = {
    "tally": _Form(
        {"whole"},
        (_CELL_NAMES, _CELL_NAMES | {"squares", "event_squares"}),
        {"count": _INT, "weight": _OWN, "events": _OWN}
        | dict.fromkeys(("score", "squares", "event_squares"), _FLOAT),
    ),
    "binned": _Form(
        {"moments", "whole"},
        ({"edges", "count", "table"}, {"edges", "count", "floats"}),
        {"edges": _FLOAT, "count": _INT, "table": ("<i8", (2, 5)), "floats": ("<f8", (6,))},
    ),
    "sketch": _Form(
        set(),
        tuple(
            {"cell", "count", "ends", *sums}
            for sums in (["table"], ["table", "squares"], ["floats", "squares"])
        ),
        {"cell": _INT, "count": _INT, "table": ("<i8", (2, 5)), "floats": ("<f8", (2, 3))}
        | dict.fromkeys(("ends", "squares"), ("<f8", (2,))),
    ),
}


def save(path: str | Path, data: bytes) -> None:
    """Replace a file in one step; a failed write leaves the old one."""
    replace_file(as_path(path), lambda file: file.write(data))


Read = TypeVar("Read")


def load(path: str | Path, read: Callable[[bytes], Read]) -> Read:
    """Apply `read` to the bytes of a file; errors name the file."""
    data = as_path(path).read_bytes()
    with in_context(repr(str(path))):
        return read(data)


class SumsInParts(Protocol):
    """A tally, a sketch or bins."""

    kind: View
    parts: tuple[Any, ...]
    classes: tuple[Any, ...] | None
    buckets: Buckets[Any] | None


def describe(sums: SumsInParts) -> Fields:
    """The sums as a dict of flags and arrays, part by part.

    The parts of buckets in place of their sum.
    """
    classes = sums.classes
    buckets = sums.buckets
    for name in classes or ():
        if not isinstance(name, str | int | float | bool) or (
            isinstance(name, float) and not math.isfinite(name)
        ):
            demand = "A class written to a file must be a string or a finite number"
            raise InputError("", demand, f"got {reprlib.repr(name)}")
    named = None if classes is None else list(classes)
    parts = sums.parts if buckets is None else buckets.parts
    largest = None if buckets is None else buckets.largest
    return {
        "kind": sums.kind,
        "classes": named,
        "largest_cluster": largest,
        "parts": [_fields(part) for part in parts],
    }


def _fields(part: Part) -> Fields:
    if isinstance(part, Cells):
        return {"whole": part.whole, **part.columns()}
    flags = {"moments": part.moments, "whole": part.whole} if isinstance(part, Bins) else {}
    names = ("edges", "count", "table", "floats") if isinstance(part, Bins) else GridCells.__slots__
    columns = {name: getattr(part, name) for name in names}
    return flags | {name: values for name, values in columns.items() if values is not None}


def _with_parts(header: Fields, change: Callable[[Fields], Fields]) -> Fields:
    """A copy of a header in which every part is changed; an accumulator has parts in each group."""
    if "groups" in header:
        return {
            **header,
            "groups": [[key, _with_parts(sums, change)] for key, sums in header["groups"]],
        }
    if len(header["parts"]) > _MOST_CLASSES:
        demand = f"Sums of at most {_MOST_CLASSES:,} classes can be written or read"
        raise InputError("", demand, f"these have {len(header['parts']):,}")
    return {**header, "parts": [change(fields) for fields in header["parts"]]}


def to_dict(what: str, described: Fields) -> Fields:
    """Plain lists and numbers, ready for JSON."""

    def lists(fields: Fields) -> Fields:
        return {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in fields.items()}

    return {"schema": FORMAT, "what": f"trueness.{what}", **_with_parts(described, lists)}


def from_dict(what: str, data: object) -> _Read:
    """Read and check what :func:`to_dict` returned."""
    if not isinstance(data, dict) or data.get("what") != f"trueness.{what}":
        refuse(f"this is not a trueness {what}")
    if data.get("schema") != FORMAT:
        refuse(f"its schema is {data.get('schema')!r}, and this version reads {FORMAT}")
    described = {name: data[name] for name in data.keys() - {"what", "schema"}}
    with _well_formed():
        return restore(what, _with_parts(described, lambda fields: _columns_of_lists(what, fields)))


def _columns_of_lists(form: str, fields: Fields) -> Fields:
    """The columns of a stored form as arrays of their types.

    Columns that are missing, or hold other numbers than they should, are refused.
    """
    _check_layout(form, fields)
    columns = dict(fields)
    for name, (dtype, shape) in _types(form, fields).items():
        values = np.asarray(fields[name]) if len(fields[name]) else np.zeros((0, *shape), dtype)
        if values.dtype.kind not in ("i" if dtype == "<i8" else "if") or values.shape[1:] != shape:
            refuse(f"its column {name!r} does not hold the numbers that it should")
        columns[name] = values.astype(dtype)
    return columns


def pack(header: Fields) -> bytes:
    """The bytes of a header whose parts hold arrays."""
    streams: dict[tuple[str, str], list[NDArray[Any]]] = {}

    def lengths(fields: Fields) -> Fields:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                dtype = value.dtype.newbyteorder("<")
                streams.setdefault((name, dtype.str), []).append(np.asarray(value, dtype))
        return {name: len(v) if isinstance(v, np.ndarray) else v for name, v in fields.items()}

    described = _with_parts(header, lengths)
    # Lone surrogates stand for bytes that are not UTF-8, as in names of files; escaped, two of them
    # would become one.
    text = json.dumps(described, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    encoded = text.encode("utf-8", "surrogatepass")
    body = _LENGTH.pack(len(encoded)) + encoded + b"".join(map(_by_byte, streams.values()))
    whole = _START.pack(_MAGIC, FORMAT, len(body)) + zlib.compress(body, _LEVEL)
    return whole + zlib.crc32(whole).to_bytes(_CHECKSUM, "little")


def _by_byte(arrays: list[NDArray[Any]]) -> bytes:
    rows = np.ascontiguousarray(np.concatenate(arrays))
    if rows.size:
        return rows.view(np.uint8).reshape(len(rows), -1).T.tobytes()
    return b""


def unpack(data: bytes, what: str) -> Fields:
    """The header and arrays that :func:`pack` wrote, if they are those of a `what`."""
    body = _read_body(data)
    with _well_formed():
        (length,) = _LENGTH.unpack_from(body)
        text = bytes(body[_LENGTH.size : _LENGTH.size + length])
        header = json.loads(text)
        kind = header["what"]
        if kind != what:
            commands = "`Accumulator.save` and `trueness tally` write what commands read."
            reason = f"it holds a trueness {kind}, which `{kind.capitalize()}.load` reads"
            refuse(reason, commands if what == "accumulator" else "")
        return _with_columns(header, body[_LENGTH.size + length :])


def _read_body(data: object) -> memoryview:
    """The body, if name, number, length and checksum are right."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError("data", "must be bytes", f"got {type(data).__name__}")
    view = memoryview(bytes(data))
    if bytes(view[: len(_MAGIC)]) != _MAGIC:
        refuse("these bytes are not the sums of trueness" if len(view) else "there are no bytes")
    if len(view) < _START.size + _CHECKSUM:
        refuse("it is cut off")
    _, number, length = _START.unpack_from(view)
    if number != FORMAT:
        which = "a newer" if number > FORMAT else "an older"
        refuse(
            f"its format is number {number}, of {which} trueness; "
            f"this version reads number {FORMAT}"
        )
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


@contextmanager
def _well_formed() -> Iterator[None]:
    """Refuse a header that has another shape than ours, wherever that shows."""
    try:
        yield
    except InputError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
        struct.error,
    ):
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
        column = data[:size]
        data = data[size:]
        n = rows[name, dtype, shape]
        if n:
            by_byte = np.frombuffer(column, np.uint8).reshape(-1, n)
        else:
            by_byte = np.zeros((8 * math.prod(shape), 0), np.uint8)
        streams[name + dtype] = (
            np.ascontiguousarray(by_byte.T).view(dtype).reshape(n, *shape).astype(dtype[1:])
        )

    def take(fields: Fields) -> Fields:
        """A part with its columns in place of their lengths, cut off the front of the streams."""
        columns = dict(fields)
        for name, (dtype, _) in _types(form, fields).items():
            n = fields[name]
            stream = streams[name + dtype]
            columns[name] = stream[:n]
            streams[name + dtype] = stream[n:]
        return columns

    return _with_parts(header, take)


def _check_layout(form: str, fields: Fields) -> None:
    flags = {name for name, value in fields.items() if isinstance(value, bool)}
    columns = fields.keys() - flags
    if flags != _FORMS[form].flags or columns not in _FORMS[form].layouts:
        refuse(f"a part has the columns {sorted(fields)}")


def _types(form: str, fields: Fields) -> dict[str, _Column]:
    """Type and shape of each column that a part has, in the order of its fields."""
    types = {name: _FORMS[form].columns[name] for name in fields if name not in _FORMS[form].flags}
    counts = "<i8" if fields.get("whole") else "<f8"
    return {
        name: (counts if dtype == "?" else dtype, shape) for name, (dtype, shape) in types.items()
    }


def restore(form: str, described: Fields) -> _Read:
    """Kind, parts, classes and buckets of sums that rows could have."""
    if described.keys() - {"what"} != {"kind", "classes", "largest_cluster", "parts"}:
        refuse("its header is damaged")
    kind = described["kind"]
    classes = described["classes"]
    parts = described["parts"]
    if kind not in get_args(View):
        refuse(f"its kind is {kind!r}")
    if not (classes is None or isinstance(classes, list)) or (kind == "binary") != (
        classes is None
    ):
        refuse("its classes do not fit its kind")
    if classes is not None and not all(
        isinstance(name, str | int | float | bool) for name in classes
    ):
        refuse("its classes are not strings or numbers")
    if classes is not None and len(set(classes)) < len(classes):
        refuse("it names a class twice")
    if classes is not None and len(classes) < (1 if kind == "multilabel" else 2):
        refuse("it has too few classes")
    largest = described["largest_cluster"]
    several = classes is not None and kind != "confidence"
    expected: tuple[int, ...] = CHOICES
    if largest is None:
        expected = (len(classes or ()) if several else 1,)
    if len(parts) not in expected or (several and largest is not None):
        refuse(f"it should have {' or '.join(map(str, expected))} parts and has {len(parts)}")
    restored = tuple(_part(form, fields) for fields in parts)
    named = None if classes is None else tuple(classes)
    check_parts(kind, restored, largest)
    if largest is None:
        return kind, restored, named, None
    return kind, (reduce(add, restored),), named, Buckets(restored, largest)


def _part(form: str, fields: Fields) -> Part:
    """The sums of one class from stored columns, in the form named `form`.

    Columns of different lengths are refused, and so are sums that no rows can have.
    """
    columns = {name: values for name, values in fields.items() if name not in _FORMS[form].flags}
    if len({len(values) - (name == "edges") for name, values in columns.items()}) > 1:
        refuse("its columns have different lengths")
    part: Part
    if form == "tally":
        part = Cells(**columns)
    elif form == "binned":
        part = Bins(**{"table": None, **fields})
    else:
        part = GridCells(**{"table": None, **columns})
    check_sums(part)
    _cut_events(part)
    return part


def _cut_events(part: Part) -> None:
    """Cap the events of a cell at its rows, which rounding may exceed.

    By less than `check_sums` accepts, but their rate would exceed 1.
    """
    if not part.whole and not isinstance(part, GridCells):
        np.minimum(part.events, part.weight, out=part.events)


def subtract(part: PartOf, other: PartOf) -> PartOf:
    """The sums without rows that they hold.

    Cells of a sketch keep the range of all scores that they had.
    """
    mine, less = (
        {k: v for k, v in _fields(arrays).items() if isinstance(v, np.ndarray)}
        for arrays in (part, other)
    )
    rounded = any(
        "floats" in arrays or np.max(arrays.get("squares", 0), initial=0) >= MOST_ROWS
        for arrays in (mine, less)
    )
    if rounded or not (part.whole and other.whole):
        got = "these are of fractional weights, of weights in bins, or of too many rows"
        remedy = "Add up the sums of the other rows again."
        raise InputError("", "Only sums without rounding can be subtracted", got, remedy=remedy)
    for name in less.keys() - {"score", "edges", "cell"}:
        less[name] = np.full_like(less[name], (np.inf, -np.inf)) if name == "ends" else -less[name]
    left: PartOf = part + type(part)(
        **less, **({"moments": other.moments} if isinstance(other, Bins) else {})
    )
    got = "what is left are sums that no rows have"
    i = left.count.argmin() if left.size else 0
    try:
        if left.size and left.count[i] < 0:
            if isinstance(left, Cells):
                where = f"score {left.score[i]:.6g}"
            else:
                where = f"bin or cell {i + 1:,}"
            got = f"{where} would have {left.count[i]:,} rows"
            refuse(got)
        if not isinstance(left, Bins):
            left = cast(PartOf, _filled(left))
        check_sums(left)
    except InputError:
        raise InputError("", "Only rows that the sums hold can be subtracted", got) from None
    return left


def _filled(left: Cells | GridCells) -> Cells | GridCells:
    """The cells that still have rows; the others must have nothing else."""
    kept = left.count > 0
    columns = {name: values for name, values in _fields(left).items() if name != "whole"}
    sums = columns.keys() - {"score", "cell", "ends"}
    if any(columns[name][~kept].any() for name in sums):
        refuse("cells without rows have weight")
    if not kept.any():
        return type(left).empty()
    if kept.all():
        return left
    return type(left)(**{name: values[kept] for name, values in columns.items()})
