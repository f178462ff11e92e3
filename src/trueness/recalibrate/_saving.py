"""Fitted maps as JSON: numbers with their meaning and checks, and no code that runs when read."""

import json
import math
import reprlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from trueness._keywords import suggests_keywords
from trueness._tally.atomic import as_path, replace_file
from trueness._version import __version__
from trueness.errors import InputError, visible_json

SCHEMA = 1  # version of the stored form; newer versions are refused when read
_DEMAND = "must be what a calibrator's `to_dict` returned"

Fitted: TypeAlias = Any
"""A fitted calibrator of any class: which fields it has, its class and `fit` decide."""

Stored: TypeAlias = Any
"""A value from a file, of any type until it is checked."""

Check: TypeAlias = Callable[[Fitted, Stored], str]
"""A function of the calibrator and a value that returns the demand the value does not meet; empty
if it is fine."""

Size: TypeAlias = Callable[[Fitted], int]  # a length that depends on what the calibrator has learnt

_LARGEST = 1e300  # of a stored number: of a logit, too
_ROUNDED = 1e-6  # how far from one probabilities may sum
# Weighted sums are rounded, and a map of an earlier version may exceed 1 by that much.
_SLACK = 1e-9


def meets(demand: str, good: Callable[[Fitted, Stored], object]) -> Check:
    """The check that a function of the calibrator and the value holds."""
    return lambda calibrator, value: "" if good(calibrator, value) else demand


@dataclass(frozen=True)
class Field:
    """One attribute of a fitted calibrator."""

    about: str  # what it means, for readers of the file
    demand: Check
    optional: bool = False  # whether it may be None

    def check(self, calibrator: Fitted, name: str) -> None:
        """Raise unless the calibrator's value is one that `fit` could have left."""
        value = getattr(calibrator, f"{name}_")
        demand = "" if self.optional and value is None else self.demand(calibrator, value)
        if demand:
            if isinstance(value, np.ndarray):
                value = value.tolist()
            got = f"its {name!r} must be {demand}; got {reprlib.repr(value)}"
            raise InputError("stored", f"must be a complete {type(calibrator).__name__}", got)


boolean = meets("true or false", lambda _, value: isinstance(value, bool))
real = meets("a number", lambda _, value: isinstance(value, float))
sums_to_one = meets("numbers that sum to one", lambda _, value: abs(value.sum() - 1) <= _ROUNDED)
fitted_calibrator = meets(
    "a fitted calibrator of a vector of scores",
    lambda _, value: hasattr(value, "predict") and getattr(value, "n_classes_", 0) is None,
)


def _is_whole(value: Stored) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def number(*, least: float = -_LARGEST, above: float = -np.inf, below: float = np.inf) -> Check:
    """The check that a stored value is a finite number within these limits."""
    if least > -_LARGEST:
        limit = f" ≥ {least:g}"
    elif above > -np.inf:
        limit = f" above {above:g}"
    else:
        limit = ""
    limit += f" and below {below:g}" if below < np.inf else f" of size up to {_LARGEST:g}"

    def good(_: Fitted, value: Stored) -> bool:
        is_number = _is_whole(value) or isinstance(value, float)
        # Of large numbers, only floats are written.
        largest = 2**63 if isinstance(value, int) else _LARGEST
        return is_number and abs(value) <= largest and least <= value and above < value < below

    return meets(f"a finite number{limit}", good)


def whole(least: int = 0) -> Check:
    return meets(f"a whole number ≥ {least}", lambda _, value: _is_whole(value) and value >= least)


def one_of(words: Sequence[str]) -> Check:
    return meets(f"one of {', '.join(map(repr, words))}", lambda _, value: value in words)


def array(*sizes: Size, dtypes: Sequence[str] = ("float64",), least: float = -_LARGEST) -> Check:
    """The check that a stored value is a finite array of this shape and type, at least `least`.

    Each of `sizes` is a function of the calibrator.
    """

    def check(calibrator: Fitted, value: Stored) -> str:
        """The first demand that is not met: shape and type, finite, large enough; else empty."""
        shape = tuple(size(calibrator) for size in sizes)
        if not isinstance(value, np.ndarray) or value.dtype not in dtypes or value.shape != shape:
            return f"an array of shape {shape} of {' or '.join(dtypes)}"
        if not (np.abs(value) <= _LARGEST).all():
            return f"finite and of size up to {_LARGEST:g}"
        if (value < least).any():
            return f"at least {least:g}"
        return ""

    return check


def fractions(size: Size | None = None, *, rising: bool = False, at_least: int = 0) -> Check:
    """A vector of numbers in [0, 1], of any length from `at_least` on unless `size` is given."""

    def check(calibrator: Fitted, value: Stored) -> str:
        """The first demand that is not met: an array, its length, range and order; else empty."""
        demand = array(size or (lambda _: np.size(value)))(calibrator, value)
        if demand:
            return demand
        if value.size < at_least:
            return f"of length {at_least} at least"
        if value.size and not (value.min() >= -_SLACK and value.max() <= 1 + _SLACK):
            return "in [0, 1]"
        if rising and (np.diff(value) < 0).any():
            return "ascending"
        return ""

    return check


def all_of(*checks: Check) -> Check:
    """All of several checks; the first demand that is not met counts."""
    return lambda calibrator, value: next(
        (demand for check in checks if (demand := check(calibrator, value))), ""
    )


def names_of(demand: str) -> Check:
    return meets(
        demand, lambda _, value: isinstance(value, tuple) and value and {*map(type, value)} == {str}
    )


def n_classes(calibrator: Fitted) -> int:
    """The number of classes; 0 for a vector."""
    return calibrator.n_classes_ or 0


def n_steps(calibrator: Fitted) -> int:
    """The number of steps of a map that is cut at `edges_`."""
    return int(calibrator.edges_.size) + 1


def fitted_calibrators(*, gaps: bool = False) -> Check:
    """A list of such calibrators, one per class; `gaps` allows None among them."""

    def check(calibrator: Fitted, value: Stored) -> str:
        """The demand that is not met: one entry per class, each fitted; empty if both are."""
        if not isinstance(value, list) or len(value) != calibrator.n_classes_:
            return f"a list of {calibrator.n_classes_} calibrators"
        bad = any(
            fitted_calibrator(calibrator, inner) for inner in value if inner is not None or not gaps
        )
        if bad:
            return "a list of fitted calibrators of a vector of scores"
        return ""

    return check


def _number_of_classes(calibrator: Fitted, value: Stored) -> str:
    if value is None and calibrator._shape != "matrix":
        return ""
    if calibrator._shape == "vector":
        return "null, as it takes a vector"
    return whole(2)(calibrator, value)


_class_names = meets(
    "a tuple of names, one per class; null for a vector",
    lambda c, value: (
        value is None
        if c.n_classes_ is None
        else isinstance(value, tuple) and len(value) == c.n_classes_
    ),
)
_text = meets("null, or text", lambda _, value: isinstance(value, str))
_one_per_class = meets(
    "null, or a tuple of names, one per class",
    lambda c, value: isinstance(value, tuple) and len(value) == c.n_classes_,
)

COMMON = {
    "n_rows": Field("rows of positive weight that it was fitted on", whole(1)),
    "n_classes": Field(
        "columns of the scores; null for a vector of P(positive)", _number_of_classes
    ),
    "classes": Field("names of the columns in order; null for a vector", _class_names),
    "columns": Field(
        "column names of the frame that it was fitted on; null for an array", _one_per_class, True
    ),
    "score_names": Field(
        "columns of the scores; null if they had no names",
        names_of("null, or a tuple of names"),
        True,
    ),
    "label_name": Field("column that the labels were in; null if it had no name", _text, True),
    "date": Field("day of the fit, in UTC", _text, True),
    "version": Field("version of trueness that fitted it", _text, True),
    "seen": Field(
        "CRC-32 of some of the scores it was fitted on, to warn when it is evaluated on them",
        whole(),
    ),
}
"""What every calibrator keeps."""


class Savable:
    """A calibrator that can be saved and loaded.

    `_state` describes what `fit` leaves behind, by name without the trailing underscore. Values may
    be None, bool, int, float, str, arrays of numbers, tuples of plain values, calibrators and lists
    of calibrators.
    """

    _state: ClassVar[Mapping[str, Field]] = {}

    def to_dict(self) -> dict[str, Any]:
        """The fitted map as plain Python, each number with its meaning.

        JSON stores it without loss.

        Its keys are `trueness` (version), `schema`, `type`, `parameters` and `learnt`, which has a
        `value` and an `about` for each name; also `about`, if `about_` is not empty. `checksum`
        tells whether anything was changed.
        """
        described = self._described()
        return {**described, "checksum": _checksum(described)}

    def _described(self) -> dict[str, Any]:
        """The type, parameters and fitted values as plain values, with notes if there are any.

        A calibrator that has not been fitted is an error.
        """
        check_is_fitted(self)
        notes = _notes(self.about_)  # type: ignore[attr-defined]
        return {
            "trueness": __version__,
            "schema": SCHEMA,
            **_outline(self),
            "learnt": {
                name: {"value": _plain(getattr(self, f"{name}_")), "about": field.about}
                for name, field in self._fields().items()
            },
            **({"about": notes} if notes else {}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The map that :meth:`to_dict` wrote, perhaps by way of JSON.

        It predicts the same numbers, to the bit.
        """
        calibrator = calibrator_from_dict(stored)
        if not isinstance(calibrator, cls):
            raise InputError(
                "stored", f"must be a {cls.__name__}", f"it is a {type(calibrator).__name__}"
            )
        return calibrator

    def to_json(self) -> str:
        """The text that :meth:`save` writes."""
        return (
            visible_json(json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
            + "\n"
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted map to a JSON file.

        If that fails, an existing file is left unchanged.
        """
        target = as_path(path)
        text = self.to_json()
        replace_file(target, lambda file: file.write(text.encode("utf-8", "backslashreplace")))

    def _is_whole(self) -> bool:
        """Whether what was stored makes a map, beyond the checks of each value."""
        return _predicts(self)

    @classmethod
    def _fields(cls) -> dict[str, Field]:
        return {**COMMON, **cls._state}


@suggests_keywords
def calibrator_from_dict(stored: Mapping[str, Any]) -> Fitted:
    """The fitted calibrator of any class that `to_dict` described, perhaps by way of JSON."""
    # The checksum fails for what is nested too deeply, or too long, to be read.
    kept = stored.items() if isinstance(stored, Mapping) else ()
    content = {name: value for name, value in kept if name != "checksum"}
    expected = _checksum(content)
    calibrator = _restored(stored)
    if stored.get("checksum") != expected:
        if "checksum" in stored:
            fault = "its checksum is wrong: a value was changed"
        else:
            fault = "it has no 'checksum'"
        raise InputError("stored", _DEMAND, fault, remedy="Save the calibrator again.")
    return calibrator


def _restored(stored: Stored) -> Fitted:
    """The fitted calibrator of a stored form; every part is checked before it is returned.

    Parts that do not belong together are one error, whatever exception they would have caused.
    """
    _check_form(stored)
    try:
        calibrator = _unfitted_calibrator(stored)
        learnt = stored["learnt"]
        _check_names("learnt", set(learnt), set(calibrator._fields()))
        for name, entry in learnt.items():
            setattr(calibrator, f"{name}_", _from_plain(entry["value"], name))
        calibrator._check()
        for name, field in calibrator._fields().items():
            field.check(calibrator, name)
        fault = "" if calibrator._is_whole() else "some probabilities are no probabilities"
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        StopIteration,
        TypeError,
        ValueError,
    ) as why:
        if isinstance(why, InputError):
            raise
        fault = f"{type(why).__name__}: {why}"
    if fault:
        got = f"its 'parameters' and 'learnt' do not make a map ({fault})"
        raise InputError("stored", f"must be a complete {stored['type']}", got)
    calibrator.about_ = _notes(stored.get("about", {}))
    return calibrator


def _predicts(calibrator: Fitted) -> bool:
    """Whether a map makes probabilities of the smallest, the largest and some other scores."""
    k = calibrator.n_classes_
    between = np.linspace(0.0, 1.0, 101)
    scores = np.concatenate([between, [5e-324, 1e-300, 1e-9, 1 - 1e-9, 1 - 2**-53]])
    if k is not None:
        corners = np.eye(min(k, 4), k)
        scores = np.vstack([corners, np.full((1, k), 1 / k), 0.9 * corners + 0.1 / k])
    if calibrator._scale == "logits":
        scores = 100 * (scores - 0.5)
    with np.errstate(all="ignore"):
        scores_back = np.asarray(calibrator._formula()(scores))
    summed = (
        k is not None
        and getattr(calibrator, "normalize", True)
        and calibrator._rows_shape != "labels"
    )
    sums = scores_back.sum(axis=1) if summed else np.ones(1)
    return bool(
        ((scores_back >= -_SLACK) & (scores_back <= 1 + _SLACK)).all()
        and (np.abs(sums - 1) <= _ROUNDED).all()
    )


@suggests_keywords
def load_calibrator(path: str | Path) -> Fitted:
    """Load a fitted calibrator of any class from the JSON file that `save` wrote."""
    data = as_path(path).read_bytes()
    try:
        stored = json.loads(data.decode("utf-8"))
    except (
        ValueError,
        RecursionError,
    ) as reason:  # not UTF-8, not JSON, too long a number, too deep
        if isinstance(reason, RecursionError):
            got = "nested too deeply"
        else:
            got = str(reason).partition(";")[0]
        raise InputError(
            "path", "must be a JSON file of a calibrator", f"{str(path)!r} is not: {got}"
        ) from None
    return calibrator_from_dict(stored)


def _checksum(described: Mapping[str, Any]) -> str:
    """CRC-32 of the content, for any order of keys, and whether 1.0 is written as 1.0 or 1."""
    try:
        text = json.dumps(
            _canonical(described), sort_keys=True, ensure_ascii=True, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError("stored", _DEMAND, f"JSON cannot store it: {reason}") from None
    return f"{zlib.crc32(text.encode()):08x}"


def _canonical(value: Stored) -> Stored:
    """The same value with whole floats as integers and tuples as lists, for a checksum."""
    if isinstance(value, Mapping):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _check_form(stored: Stored) -> None:
    """Raise unless it is an object with the parts and the schema of a stored calibrator."""
    if not isinstance(stored, Mapping):
        raise InputError("stored", _DEMAND, f"got {type(stored).__name__}")
    absent = {"schema", "type", "parameters", "learnt"} - stored.keys()
    if absent:
        raise InputError("stored", _DEMAND, f"it has no {', '.join(map(repr, sorted(absent)))}")
    if type(stored["schema"]) is not int or not 1 <= stored["schema"] <= SCHEMA:
        demand = f"must have schema {SCHEMA}, which this version of trueness reads"
        raise InputError("stored", demand, f"it has {stored['schema']!r}")
    if not isinstance(stored["parameters"], Mapping) or not isinstance(stored["learnt"], Mapping):
        raise InputError("stored", _DEMAND, "its 'parameters' and 'learnt' must be objects")
    if any(
        not isinstance(entry, Mapping) or "value" not in entry
        for entry in stored["learnt"].values()
    ):
        raise InputError("stored", _DEMAND, "each entry of its 'learnt' must have a 'value'")


def _notes(about: object) -> dict[str, Any]:
    """A copy of the free notes about a map, as JSON stores them."""
    if not isinstance(about, Mapping) or not all(isinstance(key, str) for key in about):
        raise InputError(
            "about_", "must be a mapping with string keys", f"got {reprlib.repr(about)}"
        )
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError("about_", "must hold only what JSON can store", str(reason)) from None
    return copy


def _check_names(where: str, names: set[str], known: set[str]) -> None:
    """Raise unless the names are those that are known; the error lists both kinds of difference."""
    if names != known:
        faults = []
        if known - names:
            faults.append(f"lacks {', '.join(sorted(known - names))}")
        if names - known:
            faults.append(f"has the unknown {', '.join(sorted(names - known))}")
        raise InputError("stored", "must be complete", f"its {where!r} {' and '.join(faults)}")


def _outline(calibrator: Fitted) -> dict[str, Any]:
    parameters = calibrator.get_params(deep=False)
    return {
        "type": type(calibrator).__name__,
        "parameters": {k: _plain(v) for k, v in parameters.items()},
    }


def _unfitted_calibrator(outline: Mapping[str, Any]) -> Fitted:
    """A new calibrator of the stored type with the stored parameters.

    A type that is no calibrator of this version, and absent or unknown parameters, are errors.
    """
    home = import_module("trueness.recalibrate")
    name = outline.get("type")
    cls = getattr(home, name) if isinstance(name, str) and name in home.__all__ else None
    if not (isinstance(cls, type) and issubclass(cls, Savable)):
        raise InputError(
            "stored", "must name a calibrator of this version as its type", f"got {name!r}"
        )
    parameters = outline["parameters"]
    expected = set(cls._get_param_names())  # type: ignore[attr-defined]
    _check_names("parameters", set(parameters), expected)
    return cls(**{key: _from_plain(value, key) for key, value in parameters.items()})


def _plain(value: Stored) -> Stored:
    """A value as JSON stores it; containers, arrays and calibrators are marked by a key.

    A generator of random numbers is not stored; a value of any other type is an error.
    """
    if isinstance(value, Savable):
        if hasattr(value, "n_rows_"):
            return {"calibrator": value._described()}
        return {"unfitted": _outline(value)}
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
    raise InputError(
        "",
        "A calibrator's parameters must be plain values to be saved",
        f"got a {type(value).__name__}",
    )


def _from_plain(value: Stored, name: str) -> Stored:
    """The value that `_plain` was given; `name` is the field, for messages."""
    match value:
        case {"calibrator": inside}:
            try:
                return _restored(inside)
            except InputError as error:
                raise error.within(repr(name)) from error
        case {"unfitted": {"parameters": Mapping()} as outline}:
            calibrator = _unfitted_calibrator(outline)
            calibrator._check()
            return calibrator
        case {"array": inside}:
            return _array(inside, value.get("dtype"), name)
        case {"tuple": [*inside]}:
            return tuple(_from_plain(v, f"{name}[{i}]") for i, v in enumerate(inside))
        case {"list": [*inside]}:
            return [_from_plain(v, f"{name}[{i}]") for i, v in enumerate(inside)]
        case {"float": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case Mapping() | list():
            got = f"its {name!r} is not a value that it writes: {reprlib.repr(value)}"
            raise InputError("stored", _DEMAND, got)
    return value


_ENTRIES: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}
"""What JSON holds for an array of each kind of number; NumPy would read 0.5 as the whole number 0,
and "1" as 1."""


def _array(values: object, dtype: object, name: str) -> NDArray[Any]:
    """The array of a stored list and the name of its type; anything else is an error."""
    try:
        kind = np.dtype(dtype) if isinstance(dtype, str) else None
    except (TypeError, ValueError):
        kind = None
    fault = ""
    if kind is None or kind.kind not in _ENTRIES or kind.itemsize > 8 or not kind.isnative:
        fault = f"has the dtype {dtype!r}"
    elif not isinstance(values, list):
        fault = f"is {reprlib.repr(values)}, which is not a list"
    elif strange := _types(values) - _ENTRIES[kind.kind]:
        fault = (
            f"has the dtype {kind} and entries of type "
            f"{', '.join(sorted(t.__name__ for t in strange))}"
        )
    else:
        try:
            return np.array(values, dtype=kind)
        except (ValueError, OverflowError) as reason:
            fault = f"is not an array: {reason}"
    raise InputError("stored", "must have arrays of numbers", f"its {name!r} {fault}")


def _types(values: list[Any]) -> set[type]:
    """The types of the entries of nested lists."""
    return set().union(*(_types(v) if isinstance(v, list) else {type(v)} for v in values))
