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
    percentage,
    points,
    signed_with_limits,
    span,
    total,
)
from trueness._text.strings import capitalized
from trueness._text.table import Cell, Column, Table
from trueness.infer._catalogue import MEASURES
from trueness.results import Estimate
from trueness.results._inference import INDEPENDENT_FLOOR, contradicted_in_words
from trueness.results._page import Model, Summary
from trueness.results._panel import WRONG_CERTAINTIES

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


def shown_estimates(model: Model) -> list[Estimate]:
    """The estimates of the summary that the page shows: of intervals and quantiles the ECE alone.

    Their probabilities are stated, one or a few for all rows: nothing ranks these.
    """
    estimates = model.summary.estimates
    if model.coverage is None:
        return list(estimates.values())
    return [estimate for key, estimate in estimates.items() if key in _FIRST]


def _measures(lines: Iterable[_Line], model: Model, level: float, name: str, caption: str) -> Table:
    """The table of measures: value, interval, value if calibrated, and meaning.

    Lines without a value are left out where the page says why it is absent. Notes below explain
    what the table holds: floors, measures without a valid interval, and where the largest gap lies.
    """
    s = model.summary
    columns = (
        Column("measure", "Measure"),
        Column("value", "Value", "number"),
        Column("interval", f"{level_percent(level)} interval", "number"),
        Column("calibrated", "If calibrated", "number"),
        Column("meaning", "Meaning", optional=True),
    )
    shown = [line for line in lines if line.value != "–" or not s.absent]
    rows = []
    for line in shown:
        rows.append(
            line._asdict()
            | {
                "value": _text_cell(line.value),
                "interval": _text_cell(line.interval),
                "calibrated": _text_cell(line.calibrated),
                "floor": _has_floor(s, line.key),
            }
        )
    notes = _notes_on_measures(shown, model, level)
    return Table(columns, rows, notes, name, caption, sortable=False)


def _notes_on_measures(lines: list[_Line], model: Model, level: float) -> list[str]:
    """Notes: how the value if calibrated is made, measures without interval, largest gaps."""
    s = model.summary
    with_floor = [line for line in lines if _has_floor(s, line.key)]
    unbounded = [line.measure.removeprefix("– ") for line in with_floor if line.interval == "–"]
    notes = []
    if with_floor:
        floor = (
            "If calibrated: the mean over labels drawn from the scores, and the value that such "
            f"labels exceed with probability {level_percent(1 - level)}."
        )
        if model.panel is not None and model.panel.clusters is not None:
            floor = f"{floor} {INDEPENDENT_FLOOR}"
        notes.append(floor)
    above = [line.measure.removeprefix("– ") for line in with_floor if _exceeds_chance(s, line)]
    if above and model.verdict.code == "no-evidence":
        verb = "exceeds" if len(above) == 1 else "exceed"
        notes.append(
            f"{', '.join(above)} {verb} the value that calibrated labels exceed with probability "
            f"{level_percent(1 - level)}: one of several measures does so more often than each "
            "alone. The verdict rests on the test of calibration."
        )
    ece = s.estimates.get("ece")
    has_ece = any(line.key == "ece" for line in lines)
    if has_ece and ece is not None and model.verdict.rejected and ece.low == 0:
        notes.append(
            "The limits of the ECE are found apart from the test, are wider, and may include 0 "
            "where the test rejects."
        )
    if unbounded:
        measures = ", ".join(unbounded)
        notes.append(
            f"No valid interval is known for {measures}: compare with the value if calibrated."
        )
    for line in lines:
        estimate = s.estimates.get(line.key)
        if estimate is not None and estimate.where:
            notes.append(f"{estimate.measure}: the gap of {estimate.where}.")
    return notes


def _exceeds_chance(s: Summary, line: _Line) -> bool:
    estimate = s.estimates[line.key]
    return estimate.value > estimate.floor_high


def _text_cell(text: str) -> Cell | None:
    return Cell(math.nan, text) if text else None


def _line(
    s: Summary, key: str, measure: str, meaning: str, ideal: str = "", form: Form = number
) -> _Line:
    """A measure by its field, with its interval, and with its noise floor or the ideal value."""
    estimate = s.estimates.get(key)
    if estimate is None:
        value = form(getattr(s, key, math.nan))
        return _Line(key, measure, value, calibrated=ideal, meaning=meaning)
    value = form(getattr(s, key, estimate.value))
    interval = "–"
    if _is_limited(estimate):
        interval = span(estimate.low, estimate.high, form)
    return _Line(key, measure, value, interval, _floor(estimate, form) or ideal, meaning)


def _listed(s: Summary, section: str, view: str = "") -> Iterator[_Line]:
    """The measures of the catalogue in one section that are known, as it describes them."""
    for measure in MEASURES.values():
        key = measure.key
        if section not in measure.shown.split() or not (key in s.estimates or hasattr(s, key)):
            continue
        if key in _SHORT:
            name = f"– {measure.name} ({_SHORT[key]})"
        else:
            name = f"{capitalized(measure.name)}{view}"
        ideal = "" if math.isnan(measure.ideal) else f"{measure.ideal:g}"
        yield _line(s, key, name, measure.meaning, ideal, _FORMS[measure.unit])


def _is_limited(estimate: Estimate) -> bool:
    return estimate.bounded and (math.isfinite(estimate.low) or math.isfinite(estimate.high))


def _floor(estimate: Estimate, form: Form) -> str:
    """The mean of the measure for a calibrated model, and how large it is at most."""
    if math.isnan(estimate.floor):
        return ""
    bound = f"up to {form(estimate.floor_high)}"
    if estimate.floor > estimate.floor_high:  # a few draws decide the mean
        return bound
    return f"{form(estimate.floor)}, {bound}"


_thousandths: Form = partial(number, decimals=3)
_FORMS: dict[str, Form] = {"fraction": number, "number": _thousandths, "percent": percentage}
_SHORT = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}


def _errors(model: Model, top_label: bool) -> Iterator[_Line]:
    """The rows, their means, and the calibration errors; those of a matrix name their view."""
    s = model.summary
    if top_label:
        view = " (confidence)"
        rate = MEASURES["accuracy"]
        mean = "Mean confidence"
    else:
        view = ""
        rate = MEASURES["prevalence"]
        mean = "Mean score"
    yield _Line("n", "Rows", f"{s.n:,}")
    yield _line(s, "rate", rate.name.capitalize(), rate.meaning, number(s.mean_score))
    yield _line(s, "mean_score", mean, f"equals the {rate.name} if right on average")
    first, *rest = _listed(s, "errors", view)
    yield first
    if s.ece_classwise is not None:
        yield _line(
            s, "ece_classwise", "ECE (class-wise)", "mean over classes, each against the rest"
        )
    yield _typical_error(model, view)
    test = "" if s.test is None else f"{s.test.method} test: "
    yield _Line(
        "test",
        f"Test of calibration{view}",
        s.pvalue_in_words,
        meaning=f"{test}could the labels have been drawn from the scores?",
    )
    # Without its floor the TCE misleads: even a calibrated model has one above 0.
    yield from (line for line in rest if line.key != "tce" or _has_floor(s, "tce"))


def _typical_error(model: Model, view: str) -> _Line:
    """The size that was shown with its limits, or the bound; an open end stays open."""
    name = f"Typical error{view}"
    meaning = "root mean squared gap, debiased"
    interval = model.summary.ece_interval
    if interval is None:
        return _Line("ece_interval", name, number(None), meaning=meaning)
    typical, low, high = points(interval.estimate, *interval.hull)
    if not model.verdict.rejected:
        value = f"at most {high} points"
        limits = f"0 to {high} points"
    else:
        value = f"{typical} points" if float(typical) > 0 else "above 0"
        limits = f"above 0 to {high} points"
        if float(low) > 0:
            limits = f"{low} to {high} points"
    return _Line("ece_interval", name, value, limits, "0", meaning)


def _has_floor(s: Summary, key: str) -> bool:
    return key in s.estimates and not math.isnan(s.estimates[key].floor)


def _line_measures(model: Model, top_label: bool) -> Iterator[_Line]:
    """The lines of slope, intercepts and O/E, and how many scores were left out of them."""
    s = model.summary
    yield from _listed(s, "line", " (confidence)" if top_label else "")
    if s.n_certain:
        counted = model.blocks is not None  # there are blocks where weights count rows
        wrong = contradicted_in_words(s.n_certain_wrong, counted=counted)
        left_out = f"left out of slope and intercepts; {wrong}"
        yield _Line("n_certain", "Scores of exactly 0 or 1", total(s.n_certain), meaning=left_out)


def _proper_scores(model: Model) -> Iterator[_Line]:
    """The lines of the proper scores, their decomposition, and what recalibration gains."""
    s = model.summary
    view = "" if s.ece_classwise is None else " (all classes)"
    gain = _gain_line(model)
    for line in _listed(s, "scores", view):
        if line.key == "brier" and not math.isnan(s.uncertainty):
            line = line._replace(meaning=f"{line.meaning} = MCB − DSC + UNC")
        if line.key == "log_loss" and s.log_loss == math.inf:
            zero = "an observed outcome had predicted probability 0"
            line = line._replace(meaning=f"{line.meaning}; {zero}")
        if line.key == "miscalibration" and not line.calibrated:
            line = line._replace(calibrated="above 0")
        yield line
        if line.key == "uncertainty" and gain is not None:
            yield gain


def _gain_line(model: Model) -> _Line | None:
    """The gain of the automatic map, cross-fitted; where it was not tried, of the best map.

    None if no gain was measured. Equal outcomes show none.
    """
    if model.remedies is None or model.summary.rate in (0, 1):
        return None
    measured = [remedy for remedy in model.remedies.after if not math.isnan(remedy.gain)]
    if not measured:
        return None
    remedy = min(measured, key=lambda remedy: (remedy.name != AUTOMATIC, remedy.brier))
    gain, low, high = signed_with_limits(remedy.gain, remedy.gain_low, remedy.gain_high)
    return _Line(
        "gain",
        "– gain on held-out rows",
        gain,
        f"{low} to {high}",
        meaning=f"cross-fitted {remedy.name}",
    )


_TESTS = {
    "spiegelhalter": ("Spiegelhalter's test", "Brier score against its expectation, z = "),
    "cox": ("Cox's test", "slope 1 and intercept 0, χ² = "),
}


def _curve_measures(model: Model) -> Iterator[_Line]:
    """The distances from the calibration curve, and the tests of the panel."""
    yield from _listed(model.summary, "curve")
    within = model.summary.within
    if not math.isnan(within) and model.verdict.all_rows in ("no-evidence", "too-few-rows"):
        yield _Line(
            "within",
            "Shown to be right within",
            f"± {number(within)}",
            meaning="95 % of the rows are that near their event rate, if it rises with the score "
            "(monotone band)",
        )
    panel = model.panel
    if panel is None:
        return
    for test in panel.tests:
        name, meaning = _TESTS[test.method]
        if math.isinf(test.statistic):
            meaning = f"{meaning}∞, {WRONG_CERTAINTIES}"
        elif model.verdict.clusters is None:
            meaning = f"{meaning}{number(test.statistic, 2)}"
        else:  # the p-value is that of clusters, which no number beside it explains
            meaning = meaning.rpartition(",")[0]
        yield _Line("test", name, test.pvalue_in_words, meaning=meaning)


def measure_with_limits(s: Summary, key: str) -> Cell:
    """A measure, and its limits in brackets."""
    value = getattr(s, key)
    estimate = s.estimates.get(key)
    if estimate is None or not _is_limited(estimate):
        return Cell(value, _thousandths(value))
    return bracketed(value, estimate.low, estimate.high, _thousandths)


def bracketed(value: float, low: float, high: float, form: Form) -> Cell:
    """A number with its limits."""
    return Cell(value, f"{form(value)} [{span(low, high, form)}]")
