"""The bytes of a sketch: the same for the same rows in any order and partition. Reading them executes nothing.

``TNSKETCH``, a byte with the number of the format, the length of a header in JSON (varint) and the header, then the
parts one after the other, and the CRC-32 of all that (4 bytes, the lowest first). A part has columns of whole numbers
as varints: the distance of each cell from the one before, its rows, the bits of its least score less those of the start
of the cell and of its greatest less those of its least, and for each label Σw and four sums, less what they would be if
every score lay at the start of the cell. Sums that are not whole numbers are float64, the lowest byte first.
"""

import json
import zlib
from typing import Any, NoReturn

import numpy as np

from trueness._kernels.fixed import parts as score_parts
from trueness._kernels.fixed import square_parts
from trueness._kernels.grid import GRID_CELLS, cell_of, grid_edges
from trueness._tally.grid import MOST_IN_A_CELL, GridCells
from trueness._tally.multiclass import View
from trueness._tally.tally import written_classes
from trueness._tally.varint import packed, unpacked
from trueness.errors import InputError
from trueness.typing import Floats, Ints

__all__ = ["from_bytes", "header_bytes", "read_header", "refuse", "sealed", "to_bytes", "unsealed"]

_MAGIC = b"TNSKETCH"
_VERSION = 1
_VIEWS = ("binary", "classwise", "confidence", "top-label")


def to_bytes(kind: View, classes: tuple[Any, ...] | None, parts: tuple[GridCells, ...]) -> bytes:
    """Write the parts of a sketch."""
    described = [[part.size, part.exact, part.squares is not None] for part in parts]
    header = {"kind": kind, "classes": written_classes(classes), "parts": described}
    return sealed(_MAGIC, _VERSION, header_bytes(header) + b"".join(map(_part_bytes, parts)))


def from_bytes(data: bytes) -> tuple[View, tuple[GridCells, ...], tuple[Any, ...] | None]:
    """Read and check what :func:`to_bytes` wrote."""
    header, rest = read_header(unsealed(_MAGIC, _VERSION, data, "sketch"))
    if not isinstance(header, dict) or header.keys() != {"kind", "classes", "parts"}:
        refuse("its header is not that of a sketch")
    kind, classes, described = header["kind"], header["classes"], header["parts"]
    if (
        kind not in _VIEWS
        or not (classes is None or isinstance(classes, list))
        or (kind == "binary") != (classes is None)
    ):
        refuse("its classes do not fit its kind")
    if classes is not None and not all(isinstance(name, str | int | float | bool) for name in classes):
        refuse("its classes are not strings or numbers")
    expected = len(classes) if classes is not None and kind in ("classwise", "top-label") else 1
    if not isinstance(described, list) or len(described) != expected:
        refuse(f"it should have {expected} parts")
    parts = []
    for one in described:
        part, rest = _read_part(one, rest)
        parts.append(part)
    if rest:
        refuse(f"{len(rest):,} bytes follow its end")
    return kind, tuple(parts), None if classes is None else tuple(classes)


def sealed(magic: bytes, version: int, body: bytes) -> bytes:
    """Between a name with a number, and a checksum."""
    whole = magic + bytes([version]) + body
    return whole + zlib.crc32(whole).to_bytes(4, "little")


def unsealed(magic: bytes, version: int, data: bytes, what: str) -> memoryview:
    """What lies between the two, if both are right."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"The bytes of a {what} must be bytes; got {type(data).__name__}.")
    view = memoryview(data)
    if not (view.format == "B" and view.ndim == 1 and view.contiguous):
        view = memoryview(view.tobytes())
    if bytes(view[: len(magic)]) != magic:
        refuse(f"these bytes are not a trueness {what}{_what_else(bytes(view[:64]))}")
    if len(view) < len(magic) + 5:
        refuse("it is cut off")
    if view[len(magic)] != version:
        which = "a newer" if view[len(magic)] > version else "an older"
        refuse(f"its format is number {view[len(magic)]}, of {which} trueness; this version reads number {version}")
    if zlib.crc32(view[:-4]) != int.from_bytes(view[-4:], "little"):
        refuse("its checksum is wrong: bytes were changed or lost")
    return view[len(magic) + 1 : -4]


def _what_else(start: bytes) -> str:
    """What the bytes are instead, if their beginning says so."""
    known = {
        b"TNSKETCH": "a sketch, which `Sketch.load` reads",
        b"TNTALLYS": "a tally file, which `Accumulator.load` reads",
        b"PK\x03\x04": "an npz file; one of sums is read by `Tally.from_npz` or `Binned.from_npz`",
        b"{": "JSON; sums in JSON are read by `Tally.from_json` or `Binned.from_json`",
    }
    if not start:
        return ": there are none"
    return next((f" but {what}" for begin, what in known.items() if start.lstrip().startswith(begin)), "")


def header_bytes(header: Any) -> bytes:
    """JSON, after its length."""
    json_text = json.dumps(header, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    # Lone surrogates stand for bytes that are not UTF-8, as in names of files; escaped, two of them would become one.
    text = json_text.encode("utf-8", "surrogatepass")
    return packed(np.array([len(text)])) + text


def read_header(data: memoryview) -> tuple[Any, memoryview]:
    """What :func:`header_bytes` wrote, and the bytes after it."""
    (length,), rest = unpacked(data, 1)
    if not 0 < length <= len(rest):
        refuse("its header is cut off")
    try:
        return json.loads(bytes(rest[:length]), parse_constant=_refuse_constant), rest[length:]
    except (ValueError, RecursionError):
        refuse("its header is not JSON")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def refuse(reason: object) -> NoReturn:
    """Raise, with the reason."""
    raise InputError(f"The sums cannot be read: {str(reason).rstrip('.')}.") from None


def _part_bytes(part: GridCells) -> bytes:
    low, high = part.ends.T.copy().view(np.int64)
    columns = packed(np.diff(part.cell, prepend=0)) + packed(part.count)
    columns += packed(low - _bits_at_start(part.cell)) + packed(high - low)
    if part.table is None:
        assert part.floats is not None
        columns += part.floats.astype("<f8").tobytes()
    else:
        columns += packed(part.table[:, :, 0].ravel())
        columns += packed((part.table[:, :, 1:] - _at_low_end(part.cell, part.table)).ravel())
    return columns if part.squares is None else columns + part.squares.astype("<f8").tobytes()


def _bits_at_start(cell: Ints) -> Ints:
    """The starts of cells as whole numbers, in the order of the scores."""
    return grid_edges()[cell].view(np.int64)


def _at_low_end(cell: Ints, table: Ints) -> Ints:
    """The four sums of scores if every score lay at the start of its cell."""
    low = grid_edges()[cell]
    pieces = np.stack([*score_parts(low), *square_parts(low)], axis=1).astype(np.int64)
    # The lower parts of a larger score may be smaller: only the upper ones are sure to grow.
    pieces[:, [1, 3]] = 0
    return np.asarray(table[:, :, :1] * pieces[:, None, :])


def _read_part(described: Any, data: memoryview) -> tuple[GridCells, memoryview]:
    good = isinstance(described, list) and [type(v) for v in described] == [int, bool, bool]
    if not good or not 0 <= described[0] <= GRID_CELLS:
        refuse("its parts are not described as they should be")
    size, exact, squared = described
    steps, data = unpacked(data, size)
    count, data = unpacked(data, size)
    cell = np.cumsum(steps)
    if size and (bool((steps[1:] <= 0).any()) or int(steps.max()) >= GRID_CELLS or int(cell[-1]) >= GRID_CELLS):
        refuse("its cells are not in order")
    ends, data = _read_ends(cell, data)
    table = floats = squares = None
    if exact:
        table, data = _read_table(cell, data)
    else:
        floats, data = _read_floats(data, (size, 2, 3))
    if squared:
        squares, data = _read_floats(data, (size, 2))
    part = GridCells(cell, count, ends, table, floats, squares)
    _check(part)
    return part.settled(), data


def _read_ends(cell: Ints, data: memoryview) -> tuple[Floats, memoryview]:
    low, data = unpacked(data, cell.size)
    apart, data = unpacked(data, cell.size)
    if cell.size and (int(low.max()) >= 2**62 or int(apart.max()) >= 2**62):
        refuse("its scores lie outside their cells")
    bits = np.stack([low + _bits_at_start(cell), low + _bits_at_start(cell) + apart], axis=1)
    ends = bits.view(np.float64)
    good = np.isfinite(ends).all() and (ends >= 0).all() and (ends <= 1).all()
    if not good or not (cell_of(ends) == cell[:, None]).all():
        refuse("its scores lie outside their cells")
    return ends, data


def _read_table(cell: Ints, data: memoryview) -> tuple[Ints, memoryview]:
    size = cell.size
    weight, data = unpacked(data, 2 * size)
    sums, data = unpacked(data, 8 * size)
    table = np.zeros((size, 2, 5), dtype=np.int64)
    table[:, :, 0] = weight.reshape(size, 2)
    if size and (int(weight.max()) > MOST_IN_A_CELL or int(sums.max()) > 2**62):
        refuse("its sums are larger than any rows make them")
    table[:, :, 1:] = sums.reshape(size, 2, 4)
    table[:, :, 1:] += _at_low_end(cell, table)
    return table, data


def _read_floats(data: memoryview, shape: tuple[int, ...]) -> tuple[Floats, memoryview]:
    length = 8 * int(np.prod(shape))
    if len(data) < length:
        refuse("it is cut off")
    values = np.frombuffer(data[:length], dtype="<f8").reshape(shape).astype(np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        refuse("its sums are not numbers ≥ 0")
    return values, data[length:]


def _check(part: GridCells) -> None:
    """Sums that some rows could have."""
    weight, scores = part.by_label.astype(np.float64), part.scores_by_label
    slack = 1e-9 * weight
    low, high = (end[:, None] * weight for end in (part.low, part.high))
    good = (
        bool((part.count > 0).all() and (part.weight > 0).all())
        and (not part.exact or bool((part.count <= part.weight).all()))
        and (part.exact and part.squares is None) == bool((part.count == part.weight).all() and part.squares is None)
        and bool(((scores >= low - slack - 2.0**-53 * weight) & (scores <= high + slack)).all())
        and bool((part.sum_square <= part.sum_score + slack.sum(axis=1)).all())
        and (part.exact or part.squares is not None)
    )
    if not good:
        refuse("its columns contradict each other")
