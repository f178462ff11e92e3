"""The tables of measures: calibration errors, and the panel.

Each with its interval or its value if calibrated.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from trueness._assess.remedies import AUTOMATIC
from trueness._text.numbers import (
    level_percent,
    number,
    p_value,
    percentage,
    points,
    signed_with_limits,
    span,
)
from trueness._text.table import Cell, Column, Table
from trueness.infer._catalogue import MEASURES
from trueness.results import Estimate, Interval
from trueness.results._inference import INDEPENDENT_FLOOR, contradicted_in_words
from trueness.results._page import Model, Summary

Form: TypeAlias = Callable[[float], str]


_FIRST = ("ece_interval", "test", "ece", "ece_classwise")
"""The lines of the first table; the others are in a fold."""


class _Line(NamedTuple):
    """One measure, in words."""

    key: str
    measure: str
    value: str
    interval: str = ""
    calibrated: str = ""
    """The value of a calibrated model with these scores."""
    meaning: str = ""


def summary_table(model: Model, level: float, *, top_label: bool) -> Table:
    """The typical error, the test and the ECE: what the first screen says, a line each."""
    lines = {line.key: line for line in _errors(model, top_label)}
    first = [lines[key] for key in _FIRST if key in lines]
    return _measures(first, model, level, "summary", "The headline in numbers")


def other_errors_table(model: Model, level: float, *, top_label: bool) -> Table:
    """The rows, their means, and the other calibration errors: a line each."""
    lines = [line for line in _errors(model, top_label) if line.key not in _FIRST]
    return _measures(lines, model, level, "summary", "Rows, and other calibration errors")


def panel_table(model: Model, level: float, *, top_label: bool) -> Table:
    """The calibration line, the proper scores and what the panel adds: a line each."""
    lines = [*_line_measures(model, top_label), *_curve_measures(model), *_proper_scores(model)]
    return _measures(lines, model, level, "panel", "Right on average, spread, accuracy")


def _measures(lines: Iterable[_Line], model: Model, level: float, name: str, caption: str) -> Table:
    s = model.summary
    columns = (
        Column("measure", "Measure"),
        Column("value", "Value", "number"),
        Column("interval", f"{level_percent(level)} interval", "number"),
        Column("calibrated", "If calibrated", "number"),
        Column("meaning", "Meaning", optional=True),
    )
    shown = [one for one in lines if one.value != "–" or not s.absent]
    rows = []
    for one in shown:
        texts = {"value": one.value, "interval": one.interval, "calibrated": one.calibrated}
        cells = {key: Cell(math.nan, text) if text else None for key, text in texts.items()}
        rows.append(one._asdict() | cells | {"floor": _has_floor(s, one.key)})
    unbounded = [
        one.measure.removeprefix("– ")
        for one in shown
        if one.interval == "–" and _has_floor(s, one.key)
    ]
    floor = (
        "If calibrated: the mean over labels drawn from the scores, and the value that such labels exceed with "
        f"probability {level_percent(1 - level)}."
    )
    if model.panel is not None and model.panel.clusters is not None:
        floor = f"{floor} {INDEPENDENT_FLOOR}"
    unknown = f"No valid interval is known for {', '.join(unbounded)}: compare with the value if calibrated."
    notes = [floor] * any(_has_floor(s, one.key) for one in shown) + [unknown] * bool(unbounded)
    known = (s.estimates[one.key] for one in shown if one.key in s.estimates)
    notes += [f"{one.measure}: the gap of {one.where}." for one in known if one.where]
    return Table(columns, rows, notes, name, caption, sortable=False)


def _line(
    s: Summary, key: str, measure: str, meaning: str, ideal: str = "", form: Form = number
) -> _Line:
    """A measure by its field, with its interval, and with its noise floor or the ideal value."""
    found = s.estimates.get(key)
    value = getattr(s, key, math.nan if found is None else found.value)
    if found is None:
        return _Line(key, measure, form(value), "", ideal, meaning)
    interval = span(found.low, found.high, form) if _is_limited(found) else "–"
    return _Line(key, measure, form(value), interval, _floor(found, form) or ideal, meaning)


def _listed(s: Summary, section: str, view: str = "") -> Iterator[_Line]:
    """The measures of the catalogue in one section that are known, as it describes them."""
    for one in MEASURES.values():
        if section in one.shown.split() and (one.key in s.estimates or hasattr(s, one.key)):
            short = _SHORT.get(one.key)
            name = (
                f"– {one.name} ({short})" if short else f"{one.name[0].upper()}{one.name[1:]}{view}"
            )
            ideal = "" if math.isnan(one.ideal) else f"{one.ideal:g}"
            yield _line(s, one.key, name, one.meaning, ideal, _FORMS[one.unit])


def _is_limited(found: Estimate) -> bool:
    return found.bounded and (math.isfinite(found.low) or math.isfinite(found.high))


def _floor(found: Estimate, form: Form) -> str:
    """The mean of the measure for a calibrated model, and how large it is at most."""
    if math.isnan(found.floor):
        return ""
    most = f"up to {form(found.floor_high)}"
    # A few draws may decide the mean.
    return most if found.floor > found.floor_high else f"{form(found.floor)}, {most}"


_thousandths: Form = partial(number, decimals=3)
_FORMS: dict[str, Form] = {"fraction": number, "number": _thousandths, "percent": percentage}
_SHORT = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}


def _errors(model: Model, top_label: bool) -> Iterator[_Line]:
    """The rows, their means, and the calibration errors; those of a matrix name their view."""
    s = model.summary
    view = " (confidence)" if top_label else ""
    rate = MEASURES["accuracy" if top_label else "prevalence"]
    yield _Line("n", "Rows", f"{s.n:,}")
    yield _line(s, "rate", rate.name.capitalize(), rate.meaning, number(s.mean_score))
    mean = "Mean confidence" if top_label else "Mean score"
    yield _line(s, "mean_score", mean, f"equals the {rate.name} if right on average")
    first, *others = _listed(s, "errors", view)
    yield first
    if s.ece_classwise is not None:
        yield _line(
            s, "ece_classwise", "ECE (class-wise)", "mean over classes, each against the rest"
        )
    l2 = f"Typical error{view}"
    found = s.ece_interval
    value = number(None)
    interval = ""
    meaning = "root mean squared gap, debiased"
    if found is not None:
        value, interval = _error_and_limits(found, rejected=model.verdict.rejected)
    yield _Line("ece_interval", l2, value, interval, "0" if interval else "", meaning)
    test = "" if s.test is None else f"{s.test.method} test: "
    p = p_value(None) if s.test is None else s.test.pvalue_in_words
    asked = "could the labels have been drawn from the scores?"
    yield _Line("test", f"Test of calibration{view}", p, meaning=f"{test}{asked}")
    # Without its floor the TCE misleads: even a calibrated model has one above 0.
    yield from (one for one in others if one.key != "tce" or _has_floor(s, "tce"))


def _error_and_limits(found: Interval, *, rejected: bool) -> tuple[str, str]:
    """The size that was shown with its limits, or the bound; an open end stays open."""
    typical, low, high = points(found.estimate, *found.hull)
    if not rejected:
        return f"at most {high} points", f"0 to {high} points"
    value = f"{typical} points" if float(typical) > 0 else "above 0"
    if float(low) > 0:
        return value, f"{low} to {high} points"
    return value, f"above 0 to {high} points"


def _has_floor(s: Summary, key: str) -> bool:
    return key in s.estimates and not math.isnan(s.estimates[key].floor)


def _line_measures(model: Model, top_label: bool) -> Iterator[_Line]:
    s = model.summary
    yield from _listed(s, "line", " (confidence)" if top_label else "")
    if s.n_certain:
        left_out = f"left out of slope and intercepts; {contradicted_in_words(s.n_certain_wrong)}"
        yield _Line(
            "n_certain", "Scores of exactly 0 or 1", f"{s.n_certain:,.6g}", meaning=left_out
        )


def _proper_scores(model: Model) -> Iterator[_Line]:
    s = model.summary
    view = "" if model.summary.ece_classwise is None else " (all classes)"
    more = {"brier": "" if math.isnan(s.uncertainty) else " = MCB − DSC + UNC"}
    # Of the automatic map, cross-fitted; where it was not tried, of the map with the smallest Brier
    # score.
    after = [
        one for one in (model.remedies.after if model.remedies else ()) if not math.isnan(one.gain)
    ]
    gain = min(after, key=lambda one: (one.name != AUTOMATIC, one.brier), default=None)
    more["log_loss"] = (
        "; an observed outcome had predicted probability 0" if s.log_loss == math.inf else ""
    )
    for line in _listed(s, "scores", view):
        calibrated = line.calibrated or ("above 0" if line.key == "miscalibration" else "")
        yield line._replace(
            meaning=f"{line.meaning}{more.get(line.key, '')}", calibrated=calibrated
        )
        # Equal outcomes show no gain.
        if line.key == "uncertainty" and gain is not None and s.rate not in (0, 1):
            value, low, high = signed_with_limits(gain.gain, gain.gain_low, gain.gain_high)
            yield _Line(
                "gain",
                "– gain on held-out rows",
                value,
                f"{low} to {high}",
                "",
                f"cross-fitted {gain.name}",
            )


_TESTS = {
    "spiegelhalter": ("Spiegelhalter's test", "Brier score against its expectation, z = "),
    "cox": ("Cox's test", "slope 1 and intercept 0, χ² = "),
}


def _curve_measures(model: Model) -> Iterator[_Line]:
    """The distances from the calibration curve, and the tests of the panel."""
    yield from _listed(model.summary, "curve")
    if not math.isnan(model.summary.within) and model.verdict.all_rows in (
        "no-evidence",
        "too-few-rows",
    ):
        held = "95 % of the rows are that near their event rate, if it rises with the score (monotone band)"
        yield _Line(
            "within", "Shown to be right within", f"± {number(model.summary.within)}", meaning=held
        )
    for test in () if model.panel is None else model.panel.tests:
        name, meaning = _TESTS[test.method]
        if model.verdict.clusters is None:
            meaning = f"{meaning}{number(test.statistic, 2)}"
        else:  # the p-value is that of clusters, which no number beside it explains
            meaning = meaning.rpartition(",")[0]
        yield _Line("test", name, test.pvalue_in_words, meaning=meaning)


def measure_with_limits(s: Summary, key: str) -> Cell:
    """A measure, and its limits in brackets."""
    value = getattr(s, key)
    found = s.estimates.get(key)
    if found is None or not _is_limited(found):
        return Cell(value, _thousandths(value))
    return bracketed(value, found.low, found.high, _thousandths)


def bracketed(value: float, low: float, high: float, form: Form) -> Cell:
    """A number with its limits."""
    return Cell(value, f"{form(value)} [{span(low, high, form)}]")
