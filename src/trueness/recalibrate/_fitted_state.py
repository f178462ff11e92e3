"""What a stored map must have learnt to be a map: numbers of the right kind, size and order."""

import reprlib
import sys
from typing import Any, NoReturn

import numpy as np

from trueness.errors import InputError

__all__ = [
    "check_array",
    "check_common",
    "check_edges",
    "check_learnt_whole",
    "check_nested",
    "check_numbers",
    "check_plain",
    "check_shares",
    "refuse_learnt",
]

_SLACK = 1e-9  # sums of weighted rows are rounded, and a map of an earlier version may exceed 1 by that


def refuse_learnt(calibrator: Any, name: str, demand: str, value: Any) -> NoReturn:
    """Raise for a field of a stored map."""
    raise InputError(
        "stored",
        f"must be a whole {type(calibrator).__name__}",
        f"its {name!r} must be {demand}; got "
        f"{reprlib.repr(value.tolist() if isinstance(value, np.ndarray) else value)}",
    )


def check_numbers(calibrator: Any, *names: str, least: float = -np.inf, above: float = -np.inf) -> None:
    """Raise unless each is one finite number."""
    for name in names:
        value = getattr(calibrator, f"{name}_")
        if not _is_finite(value) or not least <= value or not above < value:
            limit = f" ≥ {least:g}" if least > -np.inf else f" above {above:g}" if above > -np.inf else ""
            refuse_learnt(calibrator, name, f"a finite number{limit}", value)


def check_learnt_whole(calibrator: Any, *names: str, least: int = 0) -> None:
    """Raise unless each is one whole number."""
    for name in names:
        value = getattr(calibrator, f"{name}_")
        if not _is_whole(value) or value < least:
            refuse_learnt(calibrator, name, f"a whole number ≥ {least}", value)


def check_array(calibrator: Any, name: str, shape: tuple[int, ...], *, kinds: str = "f") -> None:
    """Raise unless it is an array of that shape, of finite numbers."""
    value = getattr(calibrator, f"{name}_")
    kind = {"f": np.float64, "i": np.int64}
    if not isinstance(value, np.ndarray) or value.dtype not in [kind[k] for k in kinds] or value.shape != shape:
        refuse_learnt(
            calibrator, name, f"an array of shape {shape} of {' or '.join(kind[k].__name__ for k in kinds)}", value
        )
    if not np.isfinite(value).all():
        refuse_learnt(calibrator, name, "finite", value)


def check_shares(calibrator: Any, size: int, *names: str) -> None:
    """Raise unless each is a vector of that size of numbers in [0, 1]."""
    for name in names:
        check_array(calibrator, name, (size,))
        value = getattr(calibrator, f"{name}_")
        if size and not (value.min() >= -_SLACK and value.max() <= 1 + _SLACK):
            refuse_learnt(calibrator, name, "in [0, 1]", value)


def check_edges(calibrator: Any, name: str = "edges", size: int | None = None) -> int:
    """Raise unless it is a vector of scores that do not fall; how many they are."""
    value = getattr(calibrator, f"{name}_")
    n = value.size if isinstance(value, np.ndarray) and size is None else size or 0
    check_shares(calibrator, n, name)
    if (np.diff(value) < 0).any():
        refuse_learnt(calibrator, name, "rising", value)
    return n


def check_nested(calibrator: Any, name: str, value: Any, *, kind: type) -> None:
    """Raise unless it is a fitted calibrator of a vector."""
    if not isinstance(value, kind) or getattr(value, "n_classes_", 0) is not None:
        refuse_learnt(calibrator, name, "fitted calibrators of a vector of scores", value)


def check_common(calibrator: Any) -> None:
    """Raise unless what every calibrator keeps agrees with itself and with what the calibrator takes."""
    check_learnt_whole(calibrator, "n_rows", least=1)
    if not _is_whole(calibrator._seen):
        refuse_learnt(calibrator, "seen", "a whole number", calibrator._seen)
    columns = calibrator.columns_
    if columns is not None and not (isinstance(columns, tuple) and len(columns) == calibrator.n_classes_):
        refuse_learnt(calibrator, "columns", "null, or a tuple of names, one per class", columns)
    n, names, takes = calibrator.n_classes_, calibrator.classes_, calibrator._shape
    if n is None and takes != "matrix":
        if names is not None:
            refuse_learnt(calibrator, "classes", "null for a vector", names)
        return
    if takes == "vector":
        refuse_learnt(calibrator, "n_classes", "null, as it takes a vector", n)
    check_learnt_whole(calibrator, "n_classes", least=2)
    if not isinstance(names, tuple) or len(names) != n:
        refuse_learnt(calibrator, "classes", f"a tuple of {n} names", names)


def check_plain(calibrator: Any, name: str) -> None:
    """Raise if a number, or one of an array, is not finite."""
    value = getattr(calibrator, f"{name}_")
    floats = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    if floats and not np.isfinite(value).all():
        refuse_learnt(calibrator, name, "finite", value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and abs(value) <= sys.float_info.max
