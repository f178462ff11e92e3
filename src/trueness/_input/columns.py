"""Any container a user has → a NumPy array and a mask of its missing rows."""

import math
import numbers
import re
import reprlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError, Place, Remedy
from trueness.typing import ArrayLike, Bools, Ints

Number: TypeAlias = Any
"""A ``numbers.Real`` or a ``decimal.Decimal``, which share no type."""

if TYPE_CHECKING:
    from decimal import Decimal

    import narwhals.stable.v2 as nw
    from narwhals import Series

DROP_MISSING = Remedy("drop-missing", '`missing="drop"` leaves such rows out.')
LEAVE_OUT = "Leave such rows out of every argument."
"""The remedy where there is no `missing`."""

# Libraries whose containers narwhals reads. The type of a container names its library, so that none
# is imported here.
_FRAME_LIBRARIES = frozenset(
    {"pandas", "polars", "pyarrow", "modin", "cudf", "duckdb", "dask", "ibis", "pyspark"}
)
_TEXT = str | bytes | bytearray
_SINGULAR = {"do": "does", "are": "is", "have": "has"}
_EXACT = 2.0**53  # whole numbers up to here are floats


class Column(NamedTuple):
    """An array, the mask of its missing rows, and the names of its columns."""

    values: NDArray[Any]
    missing: Bools | None = None  # None if no row is known to be missing
    names: tuple[Any, ...] | None = None


class Categories(NamedTuple):
    """The categories of a categorical column, in its order, those without rows included."""

    names: tuple[Any, ...]
    # Whether the order was declared: by an ordered categorical, an Enum or an ordered dictionary.
    ordered: bool


def categories_of(passed: object) -> Categories | None:
    """The categories of a pandas Categorical, a Polars Enum or an ordered Arrow dictionary.

    None for a Polars Categorical and an unordered Arrow dictionary, whose order is that in which
    values first occurred.
    """
    dtype: Any = getattr(passed, "dtype", None)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype" and dtype.categories is not None:
        return Categories(tuple(dtype.categories.tolist()), bool(dtype.ordered))
    if kind == "Enum":
        return Categories(tuple(dtype.categories.to_list()), True)
    is_ordered = getattr(getattr(passed, "type", None), "ordered", False)
    if is_ordered and hasattr(passed, "dictionary_encode"):
        chunks = getattr(passed, "chunks", [passed])
        orders = {tuple(chunk.dictionary.to_pylist()) for chunk in chunks}
        if len(orders) == 1:
            return Categories(orders.pop(), True)
        return None
    return None


def column(passed: object, name: str) -> Column:
    """The argument `name` as an array, without a copy where none is needed.

    Arrays, lists, Series, frames and tensors are read; anything else is an error with a way out.
    """
    if isinstance(passed, np.ndarray):
        return _from_numpy(passed)
    libraries = {base.__module__.partition(".")[0] for base in type(passed).__mro__}
    if "torch" in libraries and hasattr(passed, "detach"):
        return Column(_from_torch(passed, name))
    if libraries & _FRAME_LIBRARIES:
        return _from_frame(passed, name)
    if isinstance(passed, Sequence) and not isinstance(passed, _TEXT | memoryview):
        return _from_sequence(passed, name)
    if hasattr(passed, "__array__") or isinstance(passed, memoryview) or "array" in libraries:
        return _from_numpy(_as_array(passed, name))
    what = "None" if passed is None else _a(type(passed).__name__)
    demand = "must be an array, a list, a Series, a frame or a tensor"
    raise InputError(name, demand, f"got {what}", remedy=_remedy(passed, name))


def _remedy(passed: object, name: str) -> str:
    """How to pass what was passed as a column, in a sentence; empty if nothing is known."""
    if isinstance(passed, numbers.Number):
        return f"One row is a list of one: `[{passed!r}]`."
    if isinstance(passed, set | frozenset):
        return "A set has no order, so its entries belong to no row."
    if hasattr(passed, "toarray"):
        return f"Use `{name}.toarray()`."
    if isinstance(passed, dict):
        for values in passed.values():
            if hasattr(values, "__len__") and not isinstance(values, _TEXT):
                return f"Pass one of its {len(passed):,} entries."
        return f"Use `list({name}.values())`."
    if hasattr(passed, "__iter__") and not isinstance(passed, _TEXT):
        return f"Use `list({name})`."
    return ""


def _from_numpy(array: NDArray[Any]) -> Column:
    """A column of an array; its missing entries are masked ones and dates that are not a time."""
    missing = None
    # A masked array; numpy.ma need not be imported.
    if hasattr(array, "filled") and hasattr(array, "mask"):
        mask = np.broadcast_to(np.asarray(array.mask, dtype=bool), array.shape)
        missing = by_row(mask) if mask.any() else None
    array = np.asarray(array)
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype.kind in "mM" and np.isnat(array).any():
        no_time = by_row(np.isnat(array))
        missing = no_time if missing is None else missing | no_time
    return Column(array, missing)


def _from_torch(tensor: ArrayLike, name: str) -> NDArray[Any]:
    """The values of a tensor on any device; brain floats become float32.

    Sparse and nested tensors, those without values, and types unknown to NumPy are errors.
    """
    layout = "nested" if getattr(tensor, "is_nested", False) else str(tensor.layout)
    if layout != "torch.strided":
        way_out = "Pad or stack its parts." if layout == "nested" else "Use `.to_dense()`."
        raise InputError(name, "must be a dense tensor", f"got layout {layout}", remedy=way_out)
    if tensor.device.type == "meta":
        raise InputError(
            name, "must hold values", "got a tensor on the device 'meta', which holds none"
        )
    tensor = tensor.detach().cpu()
    kept_as_it_is = ("torch.float16", "torch.float64")
    if tensor.dtype.is_floating_point and str(tensor.dtype) not in kept_as_it_is:
        tensor = tensor.float()  # NumPy has no bfloat16 and no float8; each of them is a float32
    try:
        return np.asarray(tensor.resolve_conj().resolve_neg().numpy())
    except (TypeError, RuntimeError):
        raise InputError(
            name, "must be a tensor that NumPy can read", f"got dtype {tensor.dtype}"
        ) from None


def _from_sequence(passed: ArrayLike, name: str) -> Column:
    """A column of a list; its entries stay objects where NumPy would change them."""
    array = _as_array(passed, name)
    is_changed = array.dtype.kind in "US"
    if array.dtype == np.float64:
        size = np.abs(array)
        is_changed = bool(((size > _EXACT) & (size < math.inf)).any())
    if array.ndim == 1 and is_changed:
        # NumPy writes ["a", nan] as ["a", "nan"], [1, "a"] as ["1", "a"], and rounds [-1, 2**63 +
        # 1]: keep the objects.
        array = np.empty(len(passed), dtype=object)
        array[:] = passed
    return _from_numpy(array)


def _as_array(passed: object, name: str) -> NDArray[Any]:
    try:
        return np.asarray(passed)
    except (ValueError, TypeError, RuntimeError, OverflowError) as reason:
        _refuse_ragged(passed, name)
        got = f"NumPy cannot make one: {str(reason).rstrip('.')}"
        raise InputError(name, "must be an array of numbers or labels", got) from reason


def _refuse_ragged(passed: object, name: str) -> None:
    """Raise if the rows of a list have different lengths, and name the first that differs."""
    if not isinstance(passed, Sequence):
        return
    lengths = [len(row) if isinstance(row, Sequence | np.ndarray) else 1 for row in passed]
    place = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if place is not None:
        got = f"the first row has length {lengths[0]}, another has length {lengths[place]}"
        raise InputError(name, "must have rows of equal length", got, place=Place(place))


def _from_frame(passed: object, name: str) -> Column:
    """A column of a frame or a Series of any library, or of an index that converts itself.

    Lazy frames and frames with two columns of one name are errors.
    """
    import narwhals.stable.v2 as nw

    arrow = sys.modules.get("pyarrow")
    # narwhals wraps the chunked ones only.
    if arrow is not None and isinstance(passed, arrow.Array):
        passed = arrow.chunked_array([passed])
    try:
        wrapped = nw.from_native(passed, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise InputError(
            name, "must have columns of different names", "some have the same"
        ) from None
    if isinstance(wrapped, nw.LazyFrame):
        raise InputError(name, "must be in memory", "got a lazy frame", remedy="Collect it first.")
    if isinstance(wrapped, nw.DataFrame):
        return _from_columns(wrapped, name)
    if isinstance(wrapped, nw.Series):
        return _from_series(wrapped)
    return _from_numpy(_as_array(passed, name))  # an Index or a Categorical converts itself


def _from_columns(frame: "nw.DataFrame[Any]", name: str) -> Column:
    """The columns of a frame side by side, with their names; a row is missing if any entry is."""
    parts = [_from_series(series) for series in frame.iter_columns()]
    if not parts:
        raise InputError(name, "must have at least one column", "got a frame without any")
    names = tuple(frame.columns)
    masks = [part.missing for part in parts if part.missing is not None]
    if not masks:
        return Column(frame.to_numpy(), None, names)
    values = np.column_stack([part.values for part in parts])
    return Column(values, np.logical_or.reduce(masks), names)


def _from_series(series: "Series[Any]") -> Column:
    """The entries of a Series, and which are missing; those are 0, False or None in the values."""
    series = series.alias("values")  # Polars reads some names as patterns, also of a Series
    missing = series.is_null().to_numpy().astype(bool)
    if not missing.any():
        return Column(series.to_numpy())
    dtype = series.dtype
    if dtype.is_numeric():
        values = series.fill_null(0).to_numpy()
    elif str(dtype) == "Boolean":
        values = series.fill_null(False).to_numpy().astype(bool)
    else:
        values = np.empty(len(missing), dtype=object)
        values[:] = series.to_list()
    return Column(values, missing)


def by_row(mask: Bools) -> Bools:
    """Which rows have a True."""
    if mask.ndim > 1:
        return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))
    return np.array(mask, ndmin=1)


def is_missing(entry: object) -> bool:
    """None, nan, pandas' NA and NaT."""
    if entry is None:
        return True
    if isinstance(entry, float | np.floating):
        return bool(entry != entry)
    if is_decimal(entry):
        return bool(entry.is_nan())
    return type(entry).__name__ in ("NAType", "NaTType")


def is_decimal(entry: object) -> "TypeGuard[Decimal]":
    """Whether this is a `decimal.Decimal`, without importing that module, which is slow to load."""
    decimal = sys.modules.get("decimal")
    return decimal is not None and isinstance(entry, decimal.Decimal)


def refuse_missing(name: str, missing: Bools, remedy: Remedy | str = DROP_MISSING) -> NoReturn:
    """Raise for rows with missing values."""
    demand = "must not have missing values"
    refuse_bad(name, demand, missing, "rows have one, the first", remedy=remedy)


def refuse_bad(
    name: str,
    demand: str,
    bad: Bools,
    words: str,
    rows: Ints | None = None,
    remedy: Remedy | str = "",
) -> NoReturn:
    """Raise for bad values: how many there are, and where the first is.

    `rows` are the user's row numbers.
    """
    raise InputError(
        name,
        demand,
        some(int(bad.sum()), bad.size, words),
        place=first_place(bad, rows),
        remedy=remedy,
    )


def some(count: int, total: int, words: str) -> str:
    """How many of how many, with a verb that agrees.

    >>> some(2, 3, "values do not"), some(1, 3, "values do not")
    ('2 of 3 values do not', '1 of 3 values does not')
    """
    if count == 1:
        words = re.sub(r"\b(do|are|have)\b", lambda verb: _SINGULAR[verb[0]], words, count=1)
    return f"{count:,} of {total:,} {words}"


def numbers_of(objects: NDArray[Any], name: str) -> Column:
    """An array of Python objects as numbers; strings are an error."""
    flat = objects.ravel()
    values = np.zeros(flat.shape)
    missing = np.zeros(flat.shape, dtype=bool)
    for i, entry in enumerate(flat):
        if is_missing(entry):
            missing[i] = True
        elif isinstance(entry, numbers.Real | np.bool_) or is_decimal(entry):
            values[i] = _as_float(entry)
        else:
            _refuse_entry(entry, np.unravel_index(i, objects.shape), name)
    by = by_row(missing.reshape(objects.shape)) if missing.any() else None
    return Column(values.reshape(objects.shape), by)


def _as_float(entry: Number) -> float:
    """The nearest float, except that rounding never moves a number into [0, 1]."""
    try:
        value = float(entry)
    except OverflowError:
        if entry > 0:
            return math.inf
        return -math.inf
    if value == 1 and entry > 1:
        return math.nextafter(1, 2)
    if value == 0 and entry < 0:
        return -math.nextafter(0, 1)
    return value


def _refuse_entry(entry: object, at: tuple[Any, ...], name: str) -> NoReturn:
    is_row = isinstance(entry, list | tuple | np.ndarray) and len(at) == 1
    remedy = "Stack the rows into a matrix (`np.stack`)." if is_row else ""
    place = Place(*map(int, at)) if at else None
    got = f"got {_a(type(entry).__name__)}, {reprlib.repr(entry)},"
    raise InputError(name, "must hold numbers", got, place=place, remedy=remedy)


def first_place(bad: Bools, rows: Ints | None = None) -> Place:
    """Where the first bad value is.

    `rows` are the user's row numbers, if some rows were dropped.
    """
    row, *column = np.unravel_index(int(np.argmax(bad)), bad.shape)
    if rows is not None:
        row = rows[row]
    return Place(int(row), *map(int, column))


def _a(noun: str) -> str:
    if noun.endswith("s"):
        return noun
    article = "an" if noun[:1].lower() in "aeiou" else "a"
    return f"{article} {noun}"
