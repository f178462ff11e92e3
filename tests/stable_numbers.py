"""A number changes only if it was wrong: the answers of each public function, as they were last reviewed.

Other tests say why a number is right; `test_stable_numbers.py` notices that a number has moved, with any option. The
answers are in `stable_numbers.json`, a call in a line; numbers that depend on the seed have a range. If some change on
purpose, run `python tests/stable_numbers.py`, perhaps with names of functions, or with `new` for calls that have no
answer yet: the difference belongs in the review.
"""

import json
import math
import re
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from stable_calls import CALLS, result_of

import trueness as tn
from trueness.results._record import Record

FILE = Path(__file__).with_name("stable_numbers.json")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SEEDS = 12
FEW_SEEDS = 3
"""Where these agree, no number depends on the seed."""


def group_of(name, _, options):
    """The calls that are tested together: a function and its method, measure or criterion."""
    return "-".join([name, *(value for value in options.values() if isinstance(value, str))][:2])


def moved(group):
    """The numbers of a group of calls that are not those last reviewed."""
    calls = {
        text: call
        for text, call in named_calls().items()
        if group_of(*call) == group and text in stored()
    }
    return [
        one
        for text, call in calls.items()
        for one in differences(answer(*call), stored()[text], text)
    ]


@cache
def named_calls():
    """Each call by its text."""
    return {text_of(*call): call for call in CALLS}


@cache
def stored():
    """The answers last reviewed."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def differences(new, old, where=""):
    """Where a new answer differs from the stored one by more than rounding; it may have numbers that are not stored."""
    if isinstance(new, float) and isinstance(old, dict) and old.keys() == {"from", "to"}:
        return (
            []
            if old["from"] <= new <= old["to"]
            else [f"{where}: {new} lies outside {old['from']} to {old['to']}"]
        )
    if isinstance(new, dict) and isinstance(old, dict):
        return [
            one for name in old for one in differences(new.get(name), old[name], f"{where}.{name}")
        ]
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [
            one
            for i, pair in enumerate(zip(new, old, strict=True))
            for one in differences(*pair, f"{where}[{i}]")
        ]
    both = isinstance(new, float) and isinstance(old, float)
    same = math.isclose(new, old, rel_tol=1e-5, abs_tol=1e-9) if both else new == old
    return [] if same else [f"{where}: {old} became {new}"]


def answer(name, sample, options, seed=0):
    """The numbers of a call and its warnings, or the argument that is refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = {"answer": numbers(result_of(name, sample, options, seed))}
        except tn.InputError as error:
            found = {"refused": error.argument}
        except tn.TruenessError as error:
            found = {"refused": type(error).__name__}
    names = sorted({one.category.__name__ for one in said})
    return {**found, "warnings": names} if names else found


def numbers(value):
    """The numbers of a result, ready for JSON: long arrays by their size, ends and two means.

    Of texts, single words and the numbers in sentences.
    """
    if hasattr(value, "to_dict"):  # of records what JSON would leave out, too
        value = value._entries() if isinstance(value, Record) else value.to_dict()
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
                array = np.array(
                    [array.size, array[0], array[-1], finite.mean(), (finite * ranks).mean()]
                )
            return [numbers(float(one)) for one in array]
        return [one for one in map(numbers, value) if one not in ({}, [], None)]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.number):
        return float(f"{float(value):.7g}") if math.isfinite(value) else str(float(value))
    return words(value) if isinstance(value, str) else None


def words(text):
    """A single word, such as an outcome; of a sentence its numbers."""
    if text.isidentifier():
        return text
    return numbers([float(one.replace(",", "")) for one in NUMBER.findall(text)])


def without_luck(call):
    """The answer to a call; numbers that another seed changes lie within twice the range of twelve seeds."""
    few = [answer(*call, seed) for seed in range(FEW_SEEDS)]
    if not any(differences(one, few[0]) for one in few):
        return few[0]
    return _common([*few, *(answer(*call, seed) for seed in range(FEW_SEEDS, SEEDS))]) or {}


def _common(answers):
    first = answers[0]
    if all(isinstance(one, dict) for one in answers):
        both = {
            name: _common([one[name] for one in answers])
            for name in first
            if all(name in one for one in answers)
        }
        return {name: value for name, value in both.items() if value is not None} or None
    if all(isinstance(one, list) and len(one) == len(first) for one in answers):
        items = [_common(list(some)) for some in zip(*answers, strict=True)]
        return None if None in items else items
    if not any(differences(one, first) for one in answers):
        return first
    if not all(isinstance(one, float) for one in answers):
        return None
    low, high = min(answers), max(answers)
    return {"from": float(f"{2 * low - high:.7g}"), "to": float(f"{2 * high - low:.7g}")}


def text_of(name, sample, options):
    """A call in words."""
    shown = ", ".join(f"{option}={value!r}" for option, value in options.items())
    return f"{name}({', '.join(filter(None, [sample, shown]))})"


def is_kept(text, name, wanted):
    """Whether the stored answer stays: it is not wanted anew."""
    if wanted == ["new"]:
        return text in stored()
    return bool(wanted) and name not in wanted


if __name__ == "__main__":
    some = sys.argv[1:]
    answers = {
        text: stored().get(text) if is_kept(text, call[0], some) else without_luck(call)
        for text, call in named_calls().items()
    }
    lines = [
        f"{json.dumps(text)}: {json.dumps(one, separators=(',', ':'))}"
        for text, one in answers.items()
        if one
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
