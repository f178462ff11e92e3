"""Any container a user has → a NumPy array and a mask of its missing entries."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.typing import Bools

__all__ = ["Column", "column", "is_missing", "numbers_of"]

# Containers that narwhals reads; each is recognised by the package its type comes from, so
# that none of them is imported here.
_FRAME_LIBRARIES = frozenset({"pandas", "polars", "pyarrow", "modin", "cudf", "duckdb", "dask", "ibis", "pyspark"})


class Column(NamedTuple):
    """An array, which of its rows are missing (None: none is known to be), and the names of its columns."""

    values: NDArray[Any]
    missing: Bools | None = None
    names: tuple[Any, ...] | None = None


def column(given: Any, name: str) -> Column:
    """Turn what was passed as argument `name` into an array, without a copy where none is needed."""
    if isinstance(given, np.ndarray):
        return _from_numpy(given)
    library = type(given).__module__.partition(".")[0]
    if library == "torch" and hasattr(given, "detach"):
        return Column(_from_torch(given, name))
    if library in _FRAME_LIBRARIES:
        return _from_frame(given, name)
    if isinstance(given, list | tuple):
        return _from_sequence(given, name)
    if hasattr(given, "__array__") or isinstance(given, range | memoryview) or library == "array":
        return _from_numpy(_as_array(given, name))
    raise InputError(
        f"`{name}` must be an array, a list, a Series, a frame or a tensor; got {_a(type(given).__name__)}."
    )


def _from_numpy(array: NDArray[Any]) -> Column:
    if hasattr(array, "filled") and hasattr(array, "mask"):  # a masked array; numpy.ma need not be imported
        mask = np.broadcast_to(np.asarray(array.mask, dtype=bool), array.shape)
        return Column(np.asarray(array.data), mask.copy() if mask.any() else None)
    return Column(np.asarray(array))


def _from_torch(tensor: Any, name: str) -> NDArray[Any]:
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        raise InputError(f"`{name}` must be a dense tensor; got layout {tensor.layout}. Use `.to_dense()`.")
    tensor = tensor.cpu()
    if str(tensor.dtype) == "torch.bfloat16":  # NumPy has no such type; every bfloat16 is a float32
        tensor = tensor.float()
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


def _as_array(given: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except (ValueError, TypeError) as reason:
        raise InputError(f"`{name}` must be a rectangular array of numbers or labels; NumPy says: {reason}") from reason


def _from_sequence(given: Any, name: str) -> Column:
    array = _as_array(given, name)
    if array.dtype.kind in "US" and array.ndim == 1:
        # NumPy writes ["a", nan] as ["a", "nan"] and [1, "a"] as ["1", "a"]: keep the objects.
        objects = np.empty(len(given), dtype=object)
        objects[:] = given
        array = objects
    return _from_numpy(array)


def _from_frame(given: Any, name: str) -> Column:
    import narwhals.stable.v2 as nw

    if (
        type(given).__module__.startswith("pyarrow")
        and not hasattr(given, "column_names")
        and not hasattr(given, "chunks")
    ):
        # A pyarrow.Array, which narwhals does not wrap.
        return Column(np.asarray(given.to_numpy(zero_copy_only=False)))
    wrapped = nw.from_native(given, allow_series=True, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        raise InputError(f"`{name}` must be in memory; got a lazy frame. Collect it first.")
    if isinstance(wrapped, nw.DataFrame):
        parts = [_from_series(wrapped[c]) for c in wrapped.columns]
        if not parts:
            raise InputError(f"`{name}` must have at least one column; got a frame without any.")
        masks = [m for _, m, _ in parts if m is not None]
        values = wrapped.to_numpy() if not masks else np.column_stack([v for v, _, _ in parts])
        return Column(values, np.logical_or.reduce(masks) if masks else None, tuple(wrapped.columns))
    if isinstance(wrapped, nw.Series):
        return _from_series(wrapped)
    return _from_numpy(_as_array(given, name))  # an Index, a Categorical: they know how to be arrays


def _from_series(series: Any) -> Column:
    missing = series.is_null().to_numpy().astype(bool)
    if not missing.any():
        return Column(series.to_numpy())
    dtype = series.dtype
    if dtype.is_numeric():
        values = series.fill_null(0).to_numpy()
    elif str(dtype) == "Boolean":
        values = series.fill_null(False).to_numpy().astype(bool)
    else:
        values = np.asarray(series.to_list(), dtype=object)
    return Column(values, missing)


def is_missing(entry: Any) -> bool:
    """None, nan, pandas' NA and NaT."""
    if entry is None:
        return True
    if isinstance(entry, float | np.floating):
        return bool(entry != entry)
    return type(entry).__name__ in ("NAType", "NaTType")


def numbers_of(objects: NDArray[Any], name: str) -> Column:
    """Read an array of Python objects as numbers; strings are not read."""
    from decimal import Decimal

    flat = objects.ravel()
    values = np.zeros(flat.shape)
    missing = np.zeros(flat.shape, dtype=bool)
    for i, entry in enumerate(flat):
        if is_missing(entry):
            missing[i] = True
        elif isinstance(entry, numbers.Real | Decimal | np.bool_):
            values[i] = float(entry)
        else:
            where = f"row {i // max(1, objects[0].size)}" if objects.ndim > 1 else f"row {i}"
            raise InputError(f"`{name}` must hold numbers; got {_a(type(entry).__name__)} {entry!r} at {where}.")
    by_row = missing.reshape(objects.shape[0], -1).any(axis=1) if missing.any() else None
    return Column(values.reshape(objects.shape), by_row)


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
