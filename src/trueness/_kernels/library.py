"""The shared library of compiled loops: its calls, its status codes, and threads.

The C functions take arrays as the structs of NumPy's array interface, then numbers. They release
the GIL, so from a few million rows on several Python threads can work on rows of their own.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from typing import Any, Final, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")

# A pass over the rows returns a status: the bits of everything that is wrong with them.
BAD_SCORE: Final = 1  # a score is nan or lies outside [0, 1]
BAD_LABEL: Final = 2  # a label is neither 0 nor 1, or a class code is not one of 0 .. K-1
OUTSIDE_EDGES: Final = 4  # a score in [0, 1] lies below the first or above the last edge
BAD_WEIGHT: Final = 8  # a weight is negative, infinite or nan
BAD_SUM: Final = 16  # a row of valid probabilities does not sum to one within the tolerance

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

_PATH = __file__.removesuffix("library.py") + "_loops" + _SUFFIX


def _load() -> ctypes.CDLL | None:
    """The compiled loops; None if they were not built for this installation."""
    try:
        library = ctypes.CDLL(_PATH)
    except OSError:
        return None
    # As wide as the machine has them; tests choose narrower ones.
    library.choose_vectors(ctypes.c_int64(2))
    return library


_library = _load()

# Finds the struct inside the capsule that `array.__array_struct__` returns. The usual
# `array.ctypes.data` takes five times as long, longer than everything else in a call on ten rows.
_struct_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

# What C takes for the numbers of Python; anything else is an address.
_TYPES: dict[type, type] = {bool: ctypes.c_int, int: ctypes.c_int64, float: ctypes.c_double}

# Returned by the loops instead of a status or a number.
_NO_MEMORY = -1
_WRONG_ARRAY = -2

# Below this number of entries a second thread costs more than it saves.
_WORTH_SHARING = 5_000_000
_MOST_WORKERS = 8


def available() -> bool:
    """Whether the library was built for this installation and can be loaded.

    Else nothing bound here may be called.
    """
    return _library is not None


@cache
def _function(name: str, n_arrays: int, *numbers: type) -> Callable[..., int]:
    function = _library[name]  # type: ignore[index]  # without a library nothing is called
    function.argtypes = [ctypes.c_void_p] * n_arrays + [
        _TYPES.get(kind, ctypes.c_void_p) for kind in numbers
    ]
    function.restype = ctypes.c_int64
    return function


def call(name: str, arrays: tuple[NDArray[Any], ...], *numbers: object) -> int:
    """Call a function of the library with contiguous arrays of its types, then numbers."""
    held = [array.__array_struct__ for array in arrays]
    function = _function(name, len(arrays), *map(type, numbers))
    returned = function(*[_struct_in(capsule, None) for capsule in held], *numbers)
    if returned == _NO_MEMORY:
        raise MemoryError
    if returned == _WRONG_ARRAY:
        kinds = ", ".join(f"{array.dtype}{array.shape}" for array in arrays)
        raise TypeError(
            f"a kernel got arrays of other types, sizes or layouts than it reads: {kinds}"
        )
    return returned


def workers(n_entries: int) -> int:
    """Number of threads for this many entries: 1, or up to 8 for millions.

    Entries are rows, or rows times classes.
    """
    if n_entries < _WORTH_SHARING:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST_WORKERS)
    return min(os.cpu_count() or 1, _MOST_WORKERS)


def shares(n_rows: int, n_workers: int) -> list[tuple[int, int]]:
    """Cut the rows into one range (start, stop) per worker, of nearly equal length.

    >>> shares(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    if n_workers == 1:
        return [(0, n_rows)]
    cuts = [n_rows * i // n_workers for i in range(n_workers + 1)]
    return list(pairwise(cuts))


def in_threads(work: Callable[[int], T], n_workers: int) -> list[T]:
    """The results of ``work(0) … work(n_workers - 1)``, each called in its own thread.

    One worker needs no thread.
    """
    if n_workers == 1:
        return [work(0)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(work, range(n_workers)))


def over_rows(
    name: str,
    rows: list[tuple[int, int]],
    arrays: Callable[[int], tuple[NDArray[Any], ...]],
    *numbers: object,
) -> int:
    """Call a function for each range of rows in its own thread, with the arrays of that thread.

    Every fault.
    """
    return every_fault(in_threads(lambda i: call(name, arrays(i), *rows[i], *numbers), len(rows)))


def every_fault(statuses: Iterable[int]) -> int:
    """The bits of all statuses."""
    return reduce(or_, statuses, 0)
