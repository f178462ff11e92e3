"""The words that pictures and terminals share."""

import math

from trueness._text.bins import rule_in_words
from trueness._text.numbers import confidence_set, percent
from trueness._text.numbers import short_number as number
from trueness.results import NoiseFloor, Reliability

__all__ = ["axis_names", "number_lines", "panel_title", "probability"]

_AXES = {
    "binary": ("predicted probability", "event rate"),
    "classwise": ("predicted probability of the class", "share of the class"),
    "confidence": ("confidence", "accuracy"),
    "top-label": ("confidence", "accuracy"),
}


def axis_names(kind: str) -> tuple[str, str]:
    """What is on the axes of a diagram."""
    return _AXES[kind]


def probability(value: float) -> str:
    """A place on an axis in few signs, near 1 by its distance from 1: 1e-05, 0.25, 0.999, 1−2e-5."""
    rest = 1 - value
    if 0 < rest < 0.95e-4:
        digit, _, power = f"{rest:.0e}".partition("e-")
        return f"1−{digit}e-{int(power)}"
    if 0 < rest < 0.095:
        return f"{value:.{math.ceil(-math.log10(rest) - 0.02)}f}"
    return f"{value:.2g}"


def panel_title(record: Reliability) -> str:
    """The class of a panel."""
    if record.label is None:
        return ""
    return f"predicted: {record.label}" if record.kind == "top-label" else f"class {record.label}"


def number_lines(record: Reliability, *, brief: bool = False) -> list[str]:
    """The number, what a calibrated model would show, the interval and the rows; what is not known is left out."""
    if record.n == 0:
        return ["no rows"]
    floor = record.floor
    if brief:
        return [
            f"{record.measure} {number(record.value)}",
            *([f"floor {number(floor.mean)}"] if floor else []),
        ]
    lines = _first(record)
    of = "" if record.decomposition is None else f" of {record.measure}"
    if floor is not None:
        lines.append(f"noise floor{of} {number(floor.mean)}, {_p(floor)}")
    if record.interval is not None:
        found = record.interval
        lines.append(f"l2 error {number(found.estimate)}, {percent(found.level)} {confidence_set(found, number)}")
    return [*lines, f"n = {record.n:,}"]


def _first(record: Reliability) -> list[str]:
    d = record.decomposition
    if d is not None:
        parts = f"MCB {number(d.miscalibration)} − DSC {number(d.discrimination)} + UNC {number(d.uncertainty)}"
        return [f"Brier score {number(d.score)} =", parts]
    line = f"{record.measure} {number(record.value)}"
    return [f"{line}  ({rule_in_words(record.curve.bins)})" if record.curve.bins else line]


def _p(floor: NoiseFloor) -> str:
    assert floor.pvalue is not None
    least = 1 / (floor.resamples + 1)
    return f"p ≤ {least:.2g}" if floor.pvalue <= least * 1.001 else f"p = {floor.pvalue:.2g}"
