"""A number changes only if it was wrong: the answers of each public function, as they were last reviewed.

Other tests say why a number is right; those that use this module notice that a number has moved, with any option. The
answers are in `stable_numbers.json` beside the tests of a package, a call in a line. If some change on purpose, run
`python tests/stable_numbers.py`, perhaps with names of functions: the difference belongs in the review.
"""

import json
import math
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from stable_calls import CALLS, result_of

import trueness as tn


def stable(package):
    """Parametrise a test by the function and the sample of a package's calls."""
    groups = sorted({call[:2] for call in CALLS[package]})
    ids = ["-".join(filter(None, group)) for group in groups]
    return lambda test: pytest.mark.all_cases(pytest.mark.parametrize(("name", "sample"), groups, ids=ids)(test))


def moved(package, name, sample):
    """The numbers of a function and a sample that are not those last reviewed."""
    calls = {text_of(*call): call for call in CALLS[package] if call[:2] == (name, sample)}
    return [one for text, call in calls.items() for one in differences(answer(*call), stored(package)[text], text)]


@cache
def stored(package):
    """The answers last reviewed."""
    return json.loads(_file(package).read_text(encoding="utf-8"))


def _file(package):
    return Path(__file__).parent / package / "stable_numbers.json"


def differences(new, old, where=""):
    """Where two answers differ by more than rounding."""
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        return [one for name in new for one in differences(new[name], old[name], f"{where}.{name}")]
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [one for i, pair in enumerate(zip(new, old, strict=True)) for one in differences(*pair, f"{where}[{i}]")]
    both = isinstance(new, float) and isinstance(old, float)
    same = math.isclose(new, old, rel_tol=1e-5, abs_tol=1e-9) if both else new == old
    return [] if same else [f"{where}: {old} became {new}"]


def answer(name, sample, options):
    """The numbers of a call and its warnings, or the argument that is refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = {"answer": numbers(result_of(name, sample, options))}
        except tn.InputError as error:
            found = {"refused": error.argument}
        except tn.TruenessError as error:
            found = {"refused": type(error).__name__}
    names = sorted({one.category.__name__ for one in said})
    return {**found, "warnings": names} if names else found


def numbers(value):
    """The numbers of a result, ready for JSON: long arrays by their size, ends and two means."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        found = {str(name): numbers(one) for name, one in value.items()}
        return {name: one for name, one in found.items() if one not in ({}, [], None, "nan")}
    if isinstance(value, list | tuple | np.ndarray):
        flat = list(value.ravel()) if isinstance(value, np.ndarray) else list(value)
        if flat and all(isinstance(one, int | float | np.number) for one in flat):
            array = np.asarray(flat, np.float64)
            if array.size > 6:
                finite = np.where(np.isfinite(array), array, 0.0)
                ranks = np.arange(array.size) / array.size
                array = np.array([array.size, array[0], array[-1], finite.mean(), (finite * ranks).mean()])
            return [numbers(float(one)) for one in array]
        return [one for one in map(numbers, value) if one not in ({}, [], None)]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.number):
        return float(f"{float(value):.7g}") if math.isfinite(value) else str(float(value))
    return None


def _answer_or_stored(package, call, some):
    return answer(*call) if not some or call[0] in some else stored(package)[text_of(*call)]


def text_of(name, sample, options):
    """A call in words."""
    shown = ", ".join(f"{option}={value!r}" for option, value in options.items())
    return f"{name}({', '.join(filter(None, [sample, shown]))})"


if __name__ == "__main__":
    some = sys.argv[1:]
    for package, calls in CALLS.items():
        lines = [
            f"{json.dumps(text_of(*call))}: {json.dumps(_answer_or_stored(package, call, some), separators=(',', ':'))}"
            for call in {text_of(*call): call for call in calls}.values()
        ]
        _file(package).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
