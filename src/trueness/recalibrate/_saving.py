"""Fitted maps as JSON: numbers with their meaning, their checks, and no code that runs when they are read."""

import json
import math
import reprlib
import zlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from trueness._keywords import suggests_keywords
from trueness._tally.atomic import as_path, replace_file
from trueness._version import __version__
from trueness.errors import InputError, visible_json

SCHEMA = 1
"""Version of the stored form; newer versions are refused when read."""

_DEMAND = "must be what a calibrator's `to_dict` returned"

_ROUNDED = 1e-6  # how far from one probabilities may sum
_SLACK = 1e-9  # weighted sums are rounded, and a map of an earlier version may exceed 1 by that much

COMMON = {
    "n_rows": "rows of positive weight that it was fitted on",
    "n_classes": "columns of the scores; null for a vector of P(positive)",
    "classes": "names of the columns in order; null for a vector",
    "columns": "column names of the frame that it was fitted on; null for an array",
    "score_names": "columns that the scores were in; null if they had no names",
    "label_name": "column that the labels were in; null if it had no name",
    "date": "day of the fit, in UTC",
    "version": "version of trueness that fitted it",
    "seen": "CRC-32 of some of the scores it was fitted on, to warn when it is evaluated on them",
}
"""What every calibrator keeps."""


class Savable:
    """A calibrator that can be saved and loaded.

    `_state` describes what `fit` leaves behind, by name without the trailing underscore. Values may be None, bool, int,
    float, str, arrays of numbers, tuples of plain values, calibrators and lists of calibrators.
    """

    _state: ClassVar[Mapping[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """The fitted map as plain Python, each number with its meaning; JSON stores it without loss.

        Its keys are `trueness` (version), `schema`, `type`, `parameters` and `learnt`, which has a `value` and an
        `about` for each name; also `about`, if `about_` is not empty. `checksum` tells whether anything was changed.
        """
        described = self._described()
        return {**described, "checksum": _checksum(described)}

    def _described(self) -> dict[str, Any]:
        check_is_fitted(self)
        notes = _notes(self.about_)  # type: ignore[attr-defined]
        return {
            "trueness": __version__,
            "schema": SCHEMA,
            **_outline(self),
            "learnt": {
                name: {"value": _plain(getattr(self, f"{name}_")), "about": about}
                for name, about in {**COMMON, **self._state}.items()
            },
            **({"about": notes} if notes else {}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The map that :meth:`to_dict` wrote, perhaps by way of JSON; it predicts the same numbers, to the bit."""
        calibrator = calibrator_from_dict(stored)
        if not isinstance(calibrator, cls):
            raise InputError("stored", f"must be a {cls.__name__}", f"it is a {type(calibrator).__name__}")
        return calibrator

    def to_json(self) -> str:
        """The text that :meth:`save` writes."""
        return visible_json(json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the fitted map to a JSON file; if that fails, an existing file is left unchanged."""
        target, text = as_path(path), self.to_json()
        replace_file(target, lambda file: file.write(text.encode("utf-8", "backslashreplace")))


@suggests_keywords
def calibrator_from_dict(stored: Mapping[str, Any]) -> Any:
    """The fitted calibrator of any class that `to_dict` described, perhaps by way of JSON."""
    if not isinstance(stored, Mapping):
        raise InputError("stored", _DEMAND, f"got {type(stored).__name__}")
    # The checksum fails for what is nested too deeply, or too long, to be read.
    expected = _checksum({name: one for name, one in stored.items() if name != "checksum"})
    absent = {"schema", "type", "parameters", "learnt"} - stored.keys()
    if absent:
        raise InputError("stored", _DEMAND, f"it has no {', '.join(map(repr, sorted(absent)))}")
    if type(stored["schema"]) is not int or not 1 <= stored["schema"] <= SCHEMA:
        demand = f"must have schema {SCHEMA}, which this version of trueness reads"
        raise InputError("stored", demand, f"it has {stored['schema']!r}")
    if stored.get("checksum") != expected:
        found = "its checksum is wrong: a value was changed" if "checksum" in stored else "it has no 'checksum'"
        raise InputError("stored", _DEMAND, found, remedy="Save the calibrator again.")
    return _restored(stored)


def _restored(stored: Mapping[str, Any]) -> Any:
    """The calibrator of a description whose checksum is right; one of another version may still make no map."""
    try:
        calibrator = _unfitted_calibrator(stored)
        _check_names("learnt", set(stored["learnt"]), {*COMMON, *calibrator._state})
        for name, entry in stored["learnt"].items():
            setattr(calibrator, f"{name}_", _from_plain(entry["value"]))
        calibrator.about_ = _notes(stored.get("about", {}))
        calibrator._check_parameters()
        fault = "" if _predicts(calibrator) else "some probabilities are no probabilities"
    except (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as why:
        if isinstance(why, InputError):
            raise
        fault = f"{type(why).__name__}: {why}"
    if fault:
        got = f"its 'parameters' and 'learnt' do not make a map ({fault})"
        raise InputError("stored", f"must be a complete {stored['type']}", got)
    return calibrator


def _predicts(calibrator: Any) -> bool:
    """Whether a map makes probabilities of a few scores: the smallest, the largest and some between."""
    k = calibrator.n_classes_
    between = np.linspace(0.0, 1.0, 101)
    scores = np.concatenate([between, [5e-324, 1e-300, 1e-9, 1 - 1e-9, 1 - 2**-53]])
    if k is not None:
        corners = np.eye(min(k, 4), k)
        scores = np.vstack([corners, np.full((1, k), 1 / k), 0.9 * corners + 0.1 / k])
    if calibrator._scale == "logits":
        scores = 100 * (scores - 0.5)
    with np.errstate(all="ignore"):
        found = np.asarray(calibrator._formula()(scores))
    summed = k is not None and getattr(calibrator, "normalize", True) and calibrator._rows_shape != "labels"
    sums = found.sum(axis=1) if summed else np.ones(1)
    return bool(((found >= -_SLACK) & (found <= 1 + _SLACK)).all() and (np.abs(sums - 1) <= _ROUNDED).all())


@suggests_keywords
def load_calibrator(path: str | Path) -> Any:
    """Load a fitted calibrator of any class from the JSON file that `save` wrote."""
    data = as_path(path).read_bytes()
    try:
        stored = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as reason:  # not UTF-8, not JSON, too long a number, too deep
        got = "nested too deeply" if isinstance(reason, RecursionError) else str(reason).partition(";")[0]
        raise InputError("path", "must be a JSON file of a calibrator", f"{str(path)!r} is not: {got}") from None
    return calibrator_from_dict(stored)


def _checksum(described: Mapping[str, Any]) -> str:
    """CRC-32 of the content, whatever the order of keys, and whether whole floats are written as 1.0 or 1."""
    try:
        text = json.dumps(_canonical(described), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError("stored", _DEMAND, f"JSON cannot store it: {reason}") from None
    return f"{zlib.crc32(text.encode()):08x}"


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _notes(about: Any) -> dict[str, Any]:
    """A copy of the free notes about a map, as JSON stores them."""
    if not isinstance(about, Mapping) or not all(isinstance(key, str) for key in about):
        raise InputError("about_", "must be a mapping with string keys", f"got {reprlib.repr(about)}")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError("about_", "must hold only what JSON can store", str(reason)) from None
    return copy


def _check_names(where: str, names: set[str], known: set[str]) -> None:
    if names != known:
        faults = [f"lacks {', '.join(sorted(known - names))}"] if known - names else []
        faults += [f"has the unknown {', '.join(sorted(names - known))}"] if names - known else []
        raise InputError("stored", "must be complete", f"its {where!r} {' and '.join(faults)}")


def _outline(calibrator: Any) -> dict[str, Any]:
    parameters = calibrator.get_params(deep=False)
    return {"type": type(calibrator).__name__, "parameters": {k: _plain(v) for k, v in parameters.items()}}


def _unfitted_calibrator(outline: Mapping[str, Any]) -> Any:
    home, name = import_module("trueness.recalibrate"), outline.get("type")
    cls = getattr(home, name) if isinstance(name, str) and name in home.__all__ else None
    if not (isinstance(cls, type) and issubclass(cls, Savable)):
        raise InputError("stored", "must name a calibrator of this version as its type", f"got {name!r}")
    parameters = outline["parameters"]
    _check_names("parameters", set(parameters), set(cls._get_param_names()))  # type: ignore[attr-defined]
    return cls(**{key: _from_plain(value) for key, value in parameters.items()})


def _plain(value: Any) -> Any:
    """A value as JSON stores it; containers and calibrators are marked by a key."""
    if isinstance(value, Savable):
        return {"calibrator": value._described()} if hasattr(value, "n_rows_") else {"unfitted": _outline(value)}
    if isinstance(value, np.random.Generator):
        return None  # it decided what was learnt and has no part in what is predicted
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [_plain(v) for v in value]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError("", "A calibrator's parameters must be plain values to be saved", f"got a {type(value).__name__}")


def _from_plain(value: Any) -> Any:
    """The value that `_plain` was given."""
    match value:
        case {"calibrator": inner}:
            return _restored(inner)
        case {"unfitted": outline}:
            return _unfitted_calibrator(outline)
        case {"array": values, "dtype": dtype}:
            return np.array(values, dtype=dtype)
        case {"tuple": values}:
            return tuple(map(_from_plain, values))
        case {"list": values}:
            return list(map(_from_plain, values))
        case {"float": text}:
            return float(text)
    return value
