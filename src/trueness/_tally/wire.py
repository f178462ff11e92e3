"""The wire format of sums: plain lists with a schema number, as JSON or npz. Loading executes nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._tally.atomic import replace_file
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.multiclass import View
from trueness._tally.tally import written_classes
from trueness.errors import InputError

__all__ = ["SCHEMA", "from_dict", "from_json", "from_npz", "to_dict", "to_json", "to_npz"]

SCHEMA = 1
"""Raised when the meaning of a key changes; a reader refuses numbers it does not know."""

_VIEWS = ("binary", "classwise", "confidence", "top-label")


def to_dict(what: str, kind: View, classes: tuple[Any, ...] | None, parts: tuple[Any, ...]) -> dict[str, Any]:
    """Sums part by part; `what` is 'tally' (cells) or 'binned' (bins)."""
    return _envelope(what, kind, classes, [_cells_columns(p) if what == "tally" else _bins_columns(p) for p in parts])


def _cells_columns(part: Cells) -> dict[str, Any]:
    return {name: values.tolist() for name, values in part.columns().items()}


def _bins_columns(part: Bins) -> dict[str, Any]:
    """`table` holds integers, `floats` the sums of weights that are not."""
    sums = {"table": part.table} if part.table is not None else {"floats": part.floats}
    named: dict[str, Any] = {"edges": part.edges, "count": part.count, **sums}
    flags = {"moments": part.moments, "whole": part.whole}
    return flags | {name: values.tolist() for name, values in named.items()}


def _envelope(what: str, kind: View, classes: tuple[Any, ...] | None, parts: list[Any]) -> dict[str, Any]:
    named = written_classes(classes)
    return {"schema": SCHEMA, "what": f"trueness.{what}", "kind": kind, "classes": named, "parts": parts}


def from_dict(what: str, data: dict[str, Any]) -> tuple[View, tuple[Any, ...], tuple[Any, ...] | None]:
    """Read and check what :func:`to_dict` wrote."""
    kind, parts, classes = _opened(data, what, _cells if what == "tally" else _bins)
    return kind, parts, classes


def _opened(data: Any, what: str, read: Callable[[dict[str, Any]], Any]) -> Any:
    if not isinstance(data, dict) or data.get("what") != f"trueness.{what}":
        _refuse(f"it is not a trueness {what}")
    if data.get("schema") != SCHEMA:
        _refuse(f"its schema is {data.get('schema')!r}, and this version reads schema {SCHEMA}")
    kind, classes, parts = data.get("kind"), data.get("classes"), data.get("parts")
    if kind not in _VIEWS or not isinstance(parts, list) or not all(isinstance(p, dict) for p in parts):
        _refuse("its kind or parts are not what they should be")
    if not (classes is None or isinstance(classes, list)) or (kind == "binary") != (classes is None):
        _refuse("its classes do not fit its kind")
    if classes is not None and not all(isinstance(name, str | int | float | bool) for name in classes):
        _refuse("its classes are not strings or numbers")
    expected = len(classes) if classes is not None and kind in ("classwise", "top-label") else 1
    if len(parts) != expected:
        _refuse(f"it should have {expected} parts and has {len(parts)}")
    return kind, tuple(read(part) for part in parts), None if classes is None else tuple(classes)


def _refuse(reason: str) -> None:
    raise InputError(f"The sums cannot be read: {reason}.")


def _cells(part: dict[str, Any]) -> Cells:
    needed = {"score", "count", "weight", "events"}
    extra = {"squares", "event_squares"}
    if not needed <= part.keys() <= needed | extra or len(part.keys() & extra) == 1:
        _refuse(f"a part has the columns {sorted(part)}")
    columns = {name: _numbers(values, 1, name) for name, values in part.items()}
    score = columns["score"].astype(np.float64)
    count = columns["count"]
    if columns["weight"].dtype.kind != columns["events"].dtype.kind and score.size:
        _refuse("weight and events must be of one type")
    good = (
        len({c.size for c in columns.values()}) == 1
        and count.dtype.kind == "i"
        and bool(((score >= 0) & (score <= 1)).all() and (np.diff(score) > 0).all() and (count > 0).all())
        and bool((columns["weight"] > 0).all())
        and bool(((columns["events"] >= 0) & (columns["events"] <= columns["weight"])).all())
    )
    if not good:
        _refuse("its columns contradict each other")
    squares = [columns[name].astype(np.float64) for name in ("squares", "event_squares") if name in columns]
    return Cells(score, count, columns["weight"], columns["events"], *squares).settled()


def _bins(part: dict[str, Any]) -> Bins:
    sums = part.keys() & {"table", "floats"}
    if part.keys() - sums != {"edges", "count", "moments", "whole"} or len(sums) != 1:
        _refuse(f"a part has the columns {sorted(part)}")
    if not isinstance(part["moments"], bool) or not isinstance(part["whole"], bool):
        _refuse("its flags are not true or false")
    edges = _numbers(part["edges"], 1, "edges").astype(np.float64)
    count = _numbers(part["count"], 1, "count")
    table = _numbers(part["table"], 3, "table") if "table" in part else None
    floats = _numbers(part["floats"], 2, "floats").astype(np.float64) if "floats" in part else None
    good = (
        count.dtype.kind == "i"
        and edges.size == count.size + 1
        and bool((np.diff(edges) >= 0).all() and edges[0] >= 0 and edges[-1] <= 1 and (count >= 0).all())
        and (
            table is None
            or (table.shape == (count.size, 2, 5) and table.dtype.kind == "i" and bool((table >= 0).all()))
        )
        and (floats is None or (floats.shape == (count.size, 6) and bool((floats >= 0).all())))
    )
    if not good:
        _refuse("its columns contradict each other")
    return Bins(edges, table, floats, count, moments=part["moments"], whole=part["whole"])


def _numbers(values: Any, ndim: int, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.size == 0 and array.ndim == 1 and ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != ndim or array.dtype.kind not in "if" or not np.isfinite(array).all():
        _refuse(f"its column {name!r} does not hold plain numbers")
    return array.astype(np.int64 if array.dtype.kind == "i" else np.float64)


def to_json(data: dict[str, Any]) -> str:
    """Compact text; floats are written so that they read back to the same bits."""
    return json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> dict[str, Any]:
    """Read JSON, or say that it is none."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as reason:
        raise InputError(f"The sums cannot be read: the text is not JSON ({reason}).") from None
    return data if isinstance(data, dict) else {}


def to_npz(path: str | Path, data: dict[str, Any]) -> None:
    """Write columns as arrays beside a JSON header, through a temporary file that replaces the old one."""
    header = dict(data, parts=[{k: v for k, v in part.items() if not isinstance(v, list)} for part in data["parts"]])
    arrays = {
        f"{i}.{name}": np.asarray(values)
        for i, part in enumerate(data["parts"])
        for name, values in part.items()
        if isinstance(values, list)
    }
    arrays["header"] = np.frombuffer(to_json(header).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    replace_file(Path(path), lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]  # names are ours


def from_npz(path: str | Path) -> dict[str, Any]:
    """Read what :func:`to_npz` wrote; objects in the file are refused, not loaded."""
    with Path(path).open("rb") as raw:
        try:
            with np.load(raw, allow_pickle=False) as file:
                data = from_json(bytes(file["header"]).decode("utf-8", "surrogatepass"))
                for key in file.files:
                    index, dot, name = key.partition(".")
                    if dot:
                        data["parts"][int(index)][name] = file[key].tolist()
        except InputError:
            raise
        except Exception as reason:  # damaged archives raise a dozen kinds, of zlib, of NumPy and of the system
            raise InputError(
                f"The sums cannot be read: {str(path)!r} is not a file that trueness wrote ({reason})."
            ) from None
    return data
