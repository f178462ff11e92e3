"""The tables of measures: calibration errors, and the panel; each with its interval or its value if calibrated."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from trueness._report.records import Model, Remedies, Remedy, Summary
from trueness._report.remedies import AUTOMATIC
from trueness._text.numbers import confidence_set, level_percent, number, p_value, percentage, signed, span
from trueness._text.table import Cell, Column, Table
from trueness.measure._slope import contradicted_in_words
from trueness.results import Estimate, Interval
from trueness.results._estimate import INDEPENDENT_FLOOR

Form: TypeAlias = Callable[[float], str]


class _Line(NamedTuple):
    """One measure, in words."""

    key: str
    measure: str
    value: str
    interval: str = ""
    calibrated: str = ""
    """The value of a calibrated model with these scores."""
    meaning: str = ""


def summary_table(model: Model, view: str, level: float) -> Table:
    """Rows, rates and calibration errors: a line each."""
    return _measures(_errors(model, _is_top_label(view)), model, level, "summary", "Calibration errors")


def panel_table(model: Model, view: str, level: float) -> Table:
    """The calibration line, the proper scores and what the panel adds: a line each."""
    lines = [*_line_measures(model, _is_top_label(view)), *_curve_measures(model), *_proper_scores(model)]
    return _measures(lines, model, level, "panel", "Right on average, spread, accuracy")


def _is_top_label(view: str) -> bool:
    return view in ("confidence", "top-label")


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
    texts = ("value", "interval", "calibrated")
    rows = [one._asdict() | {key: _text_cell(getattr(one, key)) for key in texts} for one in shown]
    rows = [row | {"floor": _has_floor(s, row["key"])} for row in rows]
    unbounded = [one.measure.removeprefix("– ") for one in shown if one.interval == "–" and _has_floor(s, one.key)]
    floor = (
        "If calibrated: the mean over labels drawn from the scores, and the value that such labels exceed with "
        f"probability {level_percent(1 - level)}."
    )
    if model.panel is not None and model.panel.clusters is not None:
        floor = f"{floor} {INDEPENDENT_FLOOR}"
    unknown = f"No valid interval is known for {', '.join(unbounded)}: compare with the value if calibrated."
    notes = [floor] * any(_has_floor(s, one.key) for one in shown) + [unknown] * bool(unbounded)
    return Table(columns, rows, notes, name, caption, sortable=False)


def _text_cell(text: str) -> Cell | None:
    return Cell(math.nan, text) if text else None


def _line(s: Summary, key: str, measure: str, meaning: str, ideal: str = "", form: Form = number) -> _Line:
    """A measure by its field, with its interval, and with its noise floor or the ideal value."""
    found = s.estimates.get(key)
    value = getattr(s, key, math.nan if found is None else found.value)
    if found is None:
        return _Line(key, measure, form(value), "", ideal, meaning)
    interval = span(found.low, found.high, form) if _is_limited(found) else "–"
    return _Line(key, measure, form(value), interval, _floor(found, form) or ideal, meaning)


def _is_limited(found: Estimate) -> bool:
    return found.bounded and (math.isfinite(found.low) or math.isfinite(found.high))


def _floor(found: Estimate, form: Form) -> str:
    """The mean of the measure for a calibrated model, and how large it is at most."""
    if math.isnan(found.excess):
        return ""
    most = f"up to {form(found.floor_high)}"
    return most if found.floor > found.floor_high else f"{form(found.floor)}, {most}"  # a few draws may decide the mean


def _thousandths(value: float) -> str:
    return number(value, 3)


def _errors(model: Model, top_label: bool) -> Iterator[_Line]:
    """The rows, their means, and the calibration errors; those of a matrix name their view."""
    s, view = model.summary, " (confidence)" if top_label else ""
    rate, meaning = ("Accuracy", "share of correct top labels") if top_label else ("Prevalence", "share of events")
    yield _Line("n", "Rows", f"{s.n:,}")
    yield _line(s, "rate", rate, meaning, number(s.mean_score))
    mean = "Mean confidence" if top_label else "Mean score"
    yield _line(s, "mean_score", mean, f"equals the {rate.lower()} if right on average")
    yield _line(s, "ece", f"ECE{view}", "mean gap between score and rate")
    if s.ece_classwise is not None:
        yield _line(s, "ece_classwise", "ECE (class-wise)", "mean over classes, each against the rest")
    l2, found = f"l2 calibration error{view}", s.ece_interval
    interval = "" if found is None else _set(found)
    value = number(math.nan if found is None else found.estimate)
    yield _Line("ece_interval", l2, value, interval, "0" * bool(interval), "root mean squared gap, debiased")
    test = "" if s.test is None else f"{s.test.method} test: "
    p, asked = p_value(None if s.test is None else s.test.pvalue), "could the labels have been drawn from the scores?"
    yield _Line("test", f"Test of calibration{view}", p, meaning=f"{test}{asked}")
    if _has_floor(s, "tce"):  # without its floor the TCE misleads: even a calibrated model has one above 0
        yield _line(s, "tce", f"TCE{view}", "share of rows whose score a test rejects", form=percentage)
    yield _line(s, "ace", f"ACE{view}", "mean gap in bins of equal mass")
    yield _line(s, "mce", f"MCE{view}", "largest gap of any bin")
    yield _line(s, "smooth_ece", f"Smooth ECE{view}", "mean gap after smoothing, without bins")


def _set(found: Interval) -> str:
    """A confidence set, as an interval if it is one."""
    return span(found.low, found.high) if found.is_interval and found.low_closed else confidence_set(found)


def _has_floor(s: Summary, key: str) -> bool:
    return key in s.estimates and not math.isnan(s.estimates[key].excess)


def _line_measures(model: Model, top_label: bool) -> Iterator[_Line]:
    """Observed/expected, slope and intercepts."""
    s, view, form = model.summary, " (confidence)" if top_label else "", _thousandths
    ratio = f"Observed/expected{view}"
    yield _line(s, "observed_expected", ratio, "below 1: scores too high on average", "1", form)
    in_the_large = f"Calibration in the large{view}"
    yield _line(s, "intercept", in_the_large, "intercept at slope 1; below 0: too high on average", "0", form)
    spread = "below 1: too extreme; above 1: not extreme enough"
    yield _line(s, "slope", f"Slope{view}", spread, "1", form)
    yield _line(s, "free_intercept", f"Intercept (free slope){view}", "of the same fit as the slope", "0", form)
    if s.n_certain:
        wrong = contradicted_in_words(s.n_certain_wrong)
        left_out = f"left out of slope and intercepts; {wrong}"
        yield _Line("n_certain", "Scores of exactly 0 or 1", f"{s.n_certain:,.6g}", meaning=left_out)


def _proper_scores(model: Model) -> Iterator[_Line]:
    """Brier score, its parts, the gain on held-out rows, and log loss."""
    s, view = model.summary, "" if model.summary.ece_classwise is None else " (all classes)"
    parts = "" if math.isnan(s.uncertainty) else " = MCB − DSC + UNC"
    yield _line(s, "brier", f"Brier score{view}", f"mean squared error{parts}")
    fitted = "gap to isotonic regression fitted on these rows"
    yield _line(s, "miscalibration", "– miscalibration (MCB)", fitted, "above 0")
    yield _line(s, "discrimination", "– discrimination (DSC)", "gain over the base rate")
    yield _line(s, "uncertainty", "– uncertainty (UNC)", "Brier score of the base rate")
    gain = held_out_gain(model.remedies)
    if gain is not None:
        limits = span(gain.gain_low, gain.gain_high, signed)
        yield _Line("gain", "– gain on held-out rows", signed(gain.gain), limits, "", f"cross-fitted {gain.name}")
    if "scaled_brier" in s.estimates:
        yield _line(s, "scaled_brier", "Scaled Brier score", "1 − Brier score / UNC: 1 at best, 0 for the base rate")
    infinite = "; an observed outcome had predicted probability 0" if s.log_loss == math.inf else ""
    yield _line(s, "log_loss", f"Log loss{view}", f"negative log-likelihood, in nats{infinite}")
    if "auc" in s.estimates:
        yield _line(s, "auc", "AUC", "for orientation: discrimination, not calibration")


_CURVE = {
    "ici": ("ICI", "mean distance between scores and calibration curve"),
    "e50": ("E50", "median of these distances"),
    "e90": ("E90", "distance that 90 % of the rows do not exceed"),
    "emax": ("Emax", "largest of these distances"),
}
_TESTS = {"spiegelhalter": "Spiegelhalter's test", "cox": "Cox's test"}


def _curve_measures(model: Model) -> Iterator[_Line]:
    """The distances from the calibration curve, and the tests of the panel."""
    for key, (name, meaning) in _CURVE.items():
        if key in model.summary.estimates:
            yield _line(model.summary, key, name, meaning)
    if not math.isnan(model.summary.within) and model.verdict.code in ("no-evidence", "too-few-rows"):
        held = "95 % of the rows are that near their event rate, if it rises with the score (monotone band)"
        yield _Line("within", "Shown to be right within", f"± {number(model.summary.within)}", meaning=held)
    meanings = {"spiegelhalter": "Brier score against its expectation, z = ", "cox": "slope 1 and intercept 0, χ² = "}
    for test in () if model.panel is None else model.panel.tests:
        meaning = f"{meanings[test.method]}{number(test.statistic, 2)}"
        yield _Line("test", _TESTS[test.method], test.pvalue_in_words, meaning=meaning)


def held_out_gain(remedies: Remedies | None) -> Remedy | None:
    """The automatic map, cross-fitted; where it was not tried, the map with the smallest Brier score."""
    after = [one for one in (remedies.after if remedies else ()) if not math.isnan(one.gain)]
    automatic = [one for one in after if one.name == AUTOMATIC]
    return min(automatic or after, key=lambda one: one.brier, default=None)


def measure_with_limits(s: Summary, key: str) -> Cell:
    """A measure, and its limits in brackets."""
    value, found = getattr(s, key), s.estimates.get(key)
    if found is None or not _is_limited(found):
        return Cell(value, _thousandths(value))
    return Cell(value, f"{_thousandths(value)} [{span(found.low, found.high, _thousandths)}]")
