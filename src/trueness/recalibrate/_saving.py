"""Fitted maps as JSON: numbers with their meaning, and no code that runs when they are read."""

import json
import math
import reprlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from trueness._tally.atomic import replace_file
from trueness._version import __version__
from trueness.errors import InputError
from trueness.recalibrate._fitted_state import check_common, check_plain

__all__ = ["SCHEMA", "Stored", "calibrator_from_dict", "load_calibrator"]

SCHEMA = 1
"""The number of the form that is written; a reader refuses one that is newer."""


class Stored:
    """A calibrator that can be written down and read again.

    `_learnt` names what `fit` leaves behind, without the trailing underscore, and says what it is. Values may be None,
    bool, int, float, str, arrays of numbers, tuples of plain values, calibrators and lists of calibrators.
    """

    _learnt: ClassVar[Mapping[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """The fitted map as plain Python, each number beside its meaning.

        Returns
        -------
        dict
            Keys `trueness` (version), `schema`, `type`, `parameters` and `learnt`; the latter has a `value` and
            an `about` for each name; `about` as well, if `about_` is not empty. JSON holds it without loss.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        about = _notes(self.about_)  # type: ignore[attr-defined]
        return {
            "trueness": __version__,
            "schema": SCHEMA,
            "type": type(self).__name__,
            "parameters": {name: _plain(value) for name, value in self.get_params(deep=False).items()},  # type: ignore[attr-defined]
            "learnt": {
                name: {"value": _plain(getattr(self, _attribute(name))), "about": meaning}
                for name, meaning in self._all_learnt().items()
            },
            **({"about": about} if about else {}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The map that `to_dict` wrote.

        Parameters
        ----------
        stored : mapping
            What :meth:`to_dict` returned, or JSON made of it.

        Returns
        -------
        calibrator
            Predicts the same numbers, to the bit.
        """
        made = calibrator_from_dict(stored)
        if not isinstance(made, cls):
            raise InputError("stored", f"must be a {cls.__name__}", f"it is a {type(made).__name__}")
        return made

    def save(self, path: str | Path) -> None:
        """Write the fitted map to a JSON file; if that fails, an older file stays as it was."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        replace_file(Path(path), lambda file: file.write(f"{text}\n".encode()))

    @classmethod
    def _all_learnt(cls) -> dict[str, str]:
        return {
            "n_rows": "rows of positive weight that it was fitted on",
            "n_classes": "columns of the scores; null for a vector of P(positive)",
            "classes": "names of the columns in order; null for a vector",
            "columns": "what the frame that it was fitted on calls its columns; null for an array",
            "seen": "checksum (CRC-32) of some of the scores it was fitted on, to warn when it is judged on them",
            **cls._learnt,
        }

    def _check_stored(self) -> None:
        """Raise if what was read cannot be a map: a number out of place could otherwise be predicted, or worse."""
        self._check_parameters()  # type: ignore[attr-defined]
        check_common(self)
        for name in self._learnt:
            check_plain(self, name)
        self._check_learnt()

    def _check_learnt(self) -> None:
        """Raise if a learnt value is not of its kind, size or order."""


def calibrator_from_dict(stored: Mapping[str, Any]) -> Any:
    """The calibrator, of whatever class, that `to_dict` wrote down.

    Parameters
    ----------
    stored : mapping
        What a calibrator's `to_dict` returned, or JSON made of it.

    Returns
    -------
    calibrator
        Fitted.
    """
    _check_form(stored)
    cls = _class_of(stored["type"])
    parameters, learnt = stored["parameters"], stored["learnt"]
    known = set(cls._get_param_names())  # type: ignore[attr-defined]
    _check_names("parameters", set(parameters), known)
    learnt = {"columns": {"value": None}} | dict(learnt)  # which earlier versions did not write
    _check_names("learnt", set(learnt), set(cls._all_learnt()))
    made = cls(**{key: _unplain(value, key) for key, value in parameters.items()})
    for key, entry in learnt.items():
        setattr(made, _attribute(key), _unplain(entry["value"], key))
    made._check_stored()
    made.about_ = _notes(stored.get("about", {}))  # type: ignore[attr-defined]
    return made


def load_calibrator(path: str | Path) -> Any:
    """The calibrator that `save` wrote to a file.

    Parameters
    ----------
    path : path
        A JSON file.

    Returns
    -------
    calibrator
        Fitted; of the class that was saved.
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as reason:
        raise InputError("path", "must be a JSON file of a calibrator", f"{str(path)!r} is not: {reason}") from None
    return calibrator_from_dict(stored)


def _attribute(name: str) -> str:
    return "_seen" if name == "seen" else f"{name}_"


def _check_form(stored: Any) -> None:
    demand = "`stored` must be what a calibrator's `to_dict` returned"
    if not isinstance(stored, Mapping):
        raise InputError(f"{demand}; got {type(stored).__name__}.")
    absent = {"schema", "type", "parameters", "learnt"} - stored.keys()
    if absent:
        raise InputError(f"{demand}; it has no {', '.join(map(repr, sorted(absent)))}.")
    if type(stored["schema"]) is not int or not 1 <= stored["schema"] <= SCHEMA:
        raise InputError(
            "stored", f"must have schema {SCHEMA}, which this version of trueness reads", f"it has {stored['schema']!r}"
        )
    if not isinstance(stored["parameters"], Mapping) or not isinstance(stored["learnt"], Mapping):
        raise InputError(f"{demand}; its 'parameters' and 'learnt' must be objects.")
    if any(not isinstance(entry, Mapping) or "value" not in entry for entry in stored["learnt"].values()):
        raise InputError(f"{demand}; each entry of its 'learnt' must have a 'value'.")


def _notes(about: Any) -> dict[str, Any]:
    """A copy of the free notes about a map, as JSON holds them."""
    if not isinstance(about, Mapping) or not all(isinstance(key, str) for key in about):
        raise InputError("about_", "must be a mapping with string keys", f"got {reprlib.repr(about)}")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError("about_", "must hold only what JSON can", f"it does not: {reason}") from None
    return copy


def _check_names(where: str, found: set[str], known: set[str]) -> None:
    if found != known:
        what = [f"lacks {', '.join(sorted(known - found))}"] if known - found else []
        what += [f"has the unknown {', '.join(sorted(found - known))}"] if found - known else []
        raise InputError("stored", "must be whole", f"its {where!r} {' and '.join(what)}")


def _plain(value: Any) -> Any:
    if isinstance(value, Stored):
        return {"calibrator": value.to_dict()} if _is_fitted(value) else {"unfitted": _outline(value)}
    if isinstance(value, np.random.Generator):
        return None  # it decided what was learnt and has no part in what is predicted
    if isinstance(value, np.ndarray):
        return {"array": _plain_list(value.tolist()), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [_plain(v) for v in value]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"A calibrator with a {type(value).__name__} among its parameters cannot be written as JSON.")


def _plain_list(values: Any) -> Any:
    if isinstance(values, list):
        return [_plain_list(v) for v in values]
    return values if not isinstance(values, float) or math.isfinite(values) else repr(values)


def _unplain(value: Any, name: str) -> Any:
    """What `_plain` was given; `name` is the field, for messages."""
    if not isinstance(value, Mapping):
        if isinstance(value, list):
            _refuse(name, value)
        return value
    kind = next((key for key in ("calibrator", "unfitted", "array", "tuple", "list", "float") if key in value), None)
    if kind is None:
        _refuse(name, dict(value))
    inside = value[kind]
    if kind == "calibrator":
        return calibrator_from_dict(inside)
    if kind == "unfitted":
        return _from_outline(inside, name)
    if kind == "array":
        return _array(inside, value.get("dtype"), name)
    if kind == "float":
        if inside not in ("inf", "-inf", "nan"):
            _refuse(name, dict(value))
        return float(inside)
    if not isinstance(inside, list):
        _refuse(name, dict(value))
    found = [_unplain(v, name) for v in inside]
    return tuple(found) if kind == "tuple" else found


def _refuse(name: str, value: Any) -> NoReturn:
    raise InputError(
        "stored",
        "must be what a calibrator's `to_dict` returned",
        f"its {name!r} is not a value that it writes: {reprlib.repr(value)}",
    )


_ENTRIES: Mapping[str, frozenset[type]] = {
    "b": frozenset({bool}),
    "i": frozenset({int}),
    "u": frozenset({int}),
    "f": frozenset({int, float}),
}
"""What JSON holds for an array of each kind of number; NumPy would read 0.5 as the whole number 0, and "1" as 1."""


def _array(values: Any, dtype: Any, name: str) -> NDArray[Any]:
    demand = f"`stored` must have arrays of numbers; its {name!r}"
    try:
        kind = np.dtype(dtype) if isinstance(dtype, str) else None
    except TypeError:
        kind = None
    if kind is None or kind.kind not in _ENTRIES or kind.itemsize > 8 or not kind.isnative:
        raise InputError(f"{demand} is of {dtype!r}.")
    if not isinstance(values, list):
        raise InputError(f"{demand} is {reprlib.repr(values)}, which is no list.")
    strange = _types(values) - _ENTRIES[kind.kind]
    if strange:
        what = ", ".join(sorted(t.__name__ for t in strange))
        raise InputError(f"{demand} is said to be of {kind} and has entries of type {what}.")
    try:
        return np.array(values, dtype=kind)
    except (ValueError, OverflowError) as reason:
        raise InputError(f"{demand} is none: {reason}.") from None


def _types(values: list[Any]) -> set[type]:
    """Of the entries at the bottom of nested lists."""
    found = set(map(type, values))
    if list in found:
        return set().union(*(_types(v) if isinstance(v, list) else {type(v)} for v in values))
    return found


def _is_fitted(calibrator: Any) -> bool:
    return hasattr(calibrator, "n_rows_")


def _class_of(name: Any) -> type[Stored]:
    home = import_module("trueness.recalibrate")
    cls = getattr(home, name) if isinstance(name, str) and name in home.__all__ else None
    if not (isinstance(cls, type) and issubclass(cls, Stored)):
        raise InputError("stored", "must name a calibrator of this version as its type", f"got {name!r}")
    return cls


def _outline(calibrator: Any) -> dict[str, Any]:
    parameters = calibrator.get_params(deep=False)
    return {"type": type(calibrator).__name__, "parameters": {k: _plain(v) for k, v in parameters.items()}}


def _from_outline(outline: Any, name: str) -> Any:
    if not isinstance(outline, Mapping) or not isinstance(outline.get("parameters"), Mapping):
        _refuse(name, outline)
    cls, parameters = _class_of(outline.get("type")), outline["parameters"]
    _check_names("parameters", set(parameters), set(cls._get_param_names()))  # type: ignore[attr-defined]
    made: Any = cls(**{k: _unplain(v, k) for k, v in parameters.items()})
    made._check_parameters()
    return made
