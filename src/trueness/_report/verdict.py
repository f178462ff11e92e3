"""The verdict: one sentence, decided by the confidence set of the l2 error, with its evidence."""

import math
from collections.abc import Sequence

from trueness._report.inference import FEW_ROWS
from trueness._report.records import Code, Model, Summary, Verdict
from trueness._text.numbers import level_percent, number, p_value
from trueness._text.strings import quoted
from trueness.results import Interval

_SMALL, _SMALL_SHARE = 0.02, 0.1
_WIDE, _WIDE_SHARE = 0.05, 0.5
_MOST_NAMES = 6
# One model, several models.
_CLAUSES: dict[Code, tuple[str, str]] = {
    "miscalibrated": ("is miscalibrated", "are miscalibrated"),
    "slightly-miscalibrated": ("is slightly miscalibrated", "are slightly miscalibrated"),
    "no-evidence": ("shows no miscalibration", "show no miscalibration"),
    "too-few-rows": ("has too few rows to tell", "have too few rows to tell"),
    "too-good": ("is too good to be true", "are too good to be true"),
    "undetermined": ("could not be tested", "could not be tested"),
}
_PRECEDENCE: tuple[Code, ...] = (
    *("miscalibrated", "too-good", "undetermined", "too-few-rows", "slightly-miscalibrated", "no-evidence"),
)
"""The worst first."""


def verdict(name: str, summary: Summary, level: float, *, several: bool, clustered: bool = False) -> Verdict:
    """Judge one model. With clusters, set and test take them into account, the noise floor does not."""
    code = _code(summary, level)
    rows = "One row is" if summary.n == 1 else f"These {summary.n:,} rows are"
    direction = _direction(summary)
    headline = {
        "miscalibrated": f"Not calibrated{direction or ': predicted and observed rates differ'}",
        "slightly-miscalibrated": f"Slightly miscalibrated{direction}",
        "no-evidence": "No sign of miscalibration",
        "too-few-rows": f"{rows} too few to tell whether the predictions are calibrated",
        "too-good": "Too good to be true for new rows: the labels agree with the predictions better than chance allows",
        "undetermined": "Calibration could not be tested",
    }[code]
    return compose(code, f"{headline}.", _evidence(summary, clustered), name if several else None)


def compose(code: Code, headline: str, certainty: str, name: str | None = None) -> Verdict:
    """The verdict with its whole sentence, which begins with the name of one of several models.

    `certainty` has no capital and no full stop.
    """
    certainty = f"{certainty[0].upper()}{certainty[1:]}." if certainty else ""
    opening = headline if name is None else f"{quoted(name)}: {headline[0].lower()}{headline[1:]}"
    return Verdict(code, headline, certainty, f"{opening} {certainty}".rstrip())


def _code(summary: Summary, level: float) -> Code:
    rare = min(summary.rate, 1 - summary.rate)
    found = summary.ece_interval
    if found is None:
        if summary.n < FEW_ROWS:
            return "too-few-rows"
        if summary.test is None:
            return "undetermined"
        return "miscalibrated" if summary.test.pvalue <= 1 - level else "no-evidence"
    if not found.includes_zero:
        return "slightly-miscalibrated" if found.high <= min(_SMALL, _SMALL_SHARE * rare) else "miscalibrated"
    return "too-few-rows" if found.high > min(_WIDE, _WIDE_SHARE * rare) else "no-evidence"


def _direction(summary: Summary) -> str:
    """The kind of error, if the slope or the ratio shows it clearly."""
    ratio, slope = summary.observed_expected, summary.slope
    words = []
    if math.isfinite(slope) and abs(slope - 1) > 0.1:
        how = "unrelated to the labels" if slope <= 0.02 else "too extreme" if slope < 1 else "too timid"
        words.append(f"{how} (slope {slope:.2f})")
    if math.isfinite(ratio) and abs(ratio - 1) > 0.05:
        side = "too high" if ratio < 1 else "too low"
        words.append(f"{side} on average (observed/expected {ratio:.2f})")
    return f": the predictions are {' and '.join(words)}" if words else ""


def _evidence(summary: Summary, clustered: bool) -> str:
    parts = []
    if summary.ece_interval is not None:
        parts.append(_interval_in_words(summary.ece_interval))
    if summary.test is not None:
        how = ", which takes clusters into account," if clustered else ""
        parts.append(f"the test of calibration{how} gives {p_value(summary.test.pvalue)}")
    if summary.noise_floor is not None:
        floor = summary.noise_floor
        whose = "a calibrated model with independent rows" if clustered else "a calibrated model"
        parts.append(f"the ECE is {number(summary.ece)}, and {whose} would show about {number(floor.mean)}")
    return "; ".join(parts) if parts else f"the ECE is {number(summary.ece)}, without a reference value"


def _interval_in_words(found: Interval) -> str:
    level, error = level_percent(found.level), "the l2 calibration error"
    between = f"lies between {number(found.low)} and {number(found.high)} ({level} confidence)"
    if found.high == 0:
        return f"{error} is 0 ({level} confidence set {{0}})"
    if not found.includes_zero:
        return f"{error} {between}"
    if found.is_interval:
        return f"{error} may be 0 and is at most {number(found.high)} ({level} confidence)"
    return f"{error} is 0 or {between}"


def overall_verdict(models: Sequence[Model]) -> Verdict:
    """The verdict at the top: that of the only model, or one clause per kind of verdict."""
    if len(models) == 1:
        return models[0].verdict
    by_code: dict[Code, list[str]] = {}
    for model in models:
        by_code.setdefault(model.verdict.code, []).append(quoted(model.name))
    clauses = [
        f"{_joined(by_code[code])} {_CLAUSES[code][len(by_code[code]) > 1]}" for code in _CLAUSES if code in by_code
    ]
    return compose(next(code for code in _PRECEDENCE if code in by_code), f"{'; '.join(clauses)}.", "")


def _joined(names: list[str]) -> str:
    shown = names[:_MOST_NAMES] + ([f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
