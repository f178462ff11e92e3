"""The tables of a report."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._report.clusters import with_cluster_notes
from trueness._report.records import (
    Blocks,
    ClassRow,
    Contents,
    Model,
    Remedies,
    Remedy,
    Segment,
    Segments,
    Summary,
    TopK,
)
from trueness._report.series import files_table
from trueness._text.bins import bin_name
from trueness._text.numbers import (
    confidence_set,
    count,
    level_percent,
    number,
    p_value,
    percent,
    percentage,
    ratio,
    signed,
    span,
)
from trueness._text.strings import shorten
from trueness._text.table import Cell, Column, Table
from trueness.measure._slope import contradicted_in_words
from trueness.results import Comparison, Estimate, Interval

Form: TypeAlias = Callable[[float], str]
_LONGEST_RESULT = 24
_FLAG, _N = Column("flag", "Flag"), Column("n", "Rows", "count")
_SCORE, _RATE = Column("score", "Mean score", "number"), Column("rate", "Rate", "number")
_GAP, _ECE = Column("gap", "Gap", "signed"), Column("ece", "ECE", "number")
_P, _ADJUSTED_P = Column("pvalue", "p", "p"), Column("adjusted_pvalue", "Adjusted p", "p")
_L2 = Column("l2", "l2 error", "number")


def report_tables(contents: Contents) -> dict[str, Table]:
    """The tables of the whole report, by name."""
    comparison = contents.comparison
    tables = {
        "files": _files(contents) if contents.files else None,
        "models": _models(contents) if len(contents.models) > 1 else None,
        "comparison": None if comparison is None else _comparison(comparison),
    }
    return {name: with_cluster_notes(table, contents.clusters) for name, table in tables.items() if table}


def model_tables(model: Model, contents: Contents) -> dict[str, Table]:
    """The tables of one model, by name."""
    settings = contents.settings
    tables = {
        "summary": _summary(model, contents.view, settings.level),
        "panel": _panel(model, contents.view, settings.level),
        "bins": _bins(model),
        "blocks": None if model.blocks is None else _blocks(model.blocks),
        "segments": None if model.segments is None else _segments(model.segments, model.summary.brier),
        "classes": None if model.classes is None else _classes(model.classes),
        "top_k": _top_k(model.top_k) if model.top_k else None,
        "remedies": None if model.remedies is None else _remedies(model.remedies, settings.level, _views(model)),
    }
    return {name: with_cluster_notes(table, contents.clusters) for name, table in tables.items() if table}


class _Line(NamedTuple):
    """One measure, in words."""

    key: str
    measure: str
    value: str
    interval: str = ""
    calibrated: str = ""
    """The value of a calibrated model with these scores."""
    meaning: str = ""


def _summary(model: Model, view: str, level: float) -> Table:
    """Rows, rates and calibration errors: a line each."""
    return _measures(_errors(model, _is_top_label(view)), model, level, "summary", "Calibration errors")


def _panel(model: Model, view: str, level: float) -> Table:
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
        *([Column("limits", "Exact value within")] if s.limits else []),
    )
    shown = [one for one in lines if one.value != "–" or not s.absent]
    texts = ("value", "interval", "calibrated")
    rows = [one._asdict() | {key: _text_cell(getattr(one, key)) for key in texts} for one in shown]
    rows = [row | {"limits": _limits(s, row["key"]), "floor": _has_floor(s, row["key"])} for row in rows]
    unbounded = [one.measure.removeprefix("– ") for one in shown if one.interval == "–" and _has_floor(s, one.key)]
    floor = (
        "If calibrated: the mean over labels drawn from the scores, and the value that such labels exceed with "
        f"probability {level_percent(1 - level)}."
    )
    unknown = f"No valid interval is known for {', '.join(unbounded)}: compare with the value if calibrated."
    notes = [floor] * any(_has_floor(s, one.key) for one in shown) + [unknown] * bool(unbounded)
    exact = "Exact value within: range of the value of the rows (not a confidence interval), to the digits shown."
    notes += [exact] * bool(s.limits)
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
    if math.isnan(found.floor):
        return ""
    return f"{form(found.floor)}, up to {form(found.floor_high)}"


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
    if _has_floor(s, "tce"):  # without its floor the TCE misleads: a calibrated model, too, has one above 0
        yield _line(s, "tce", f"TCE{view}", "share of rows whose score a test rejects", form=percentage)
    yield _line(s, "ace", f"ACE{view}", "mean gap in bins of equal mass")
    yield _line(s, "mce", f"MCE{view}", "largest gap of any bin")
    yield _line(s, "smooth_ece", f"Smooth ECE{view}", "mean gap after smoothing, without bins")


def _set(found: Interval) -> str:
    """A confidence set, as an interval if it is one."""
    return span(found.low, found.high) if found.is_interval and found.low_closed else confidence_set(found)


def _has_floor(s: Summary, key: str) -> bool:
    return key in s.estimates and not math.isnan(s.estimates[key].floor)


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
    if not math.isnan(model.summary.within) and "miscalibrated" not in model.verdict.code:
        held = "95 % of the rows are that near their event rate, if it rises with the score (monotone band)"
        yield _Line("within", "Shown to be right within", f"± {number(model.summary.within)}", meaning=held)
    meanings = {"spiegelhalter": "Brier score against its expectation, z = ", "cox": "slope 1 and intercept 0, χ² = "}
    for test in () if model.panel is None else model.panel.tests:
        meaning = f"{meanings[test.method]}{number(test.statistic, 2)}"
        yield _Line("test", _TESTS[test.method], p_value(test.pvalue), meaning=meaning)


def held_out_gain(remedies: Remedies | None) -> Remedy | None:
    """Isotonic regression, cross-fitted; for a matrix of scores, the map with the smallest Brier score."""
    after = [one for one in (remedies.after if remedies else ()) if not math.isnan(one.gain)]
    isotonic = [one for one in after if one.calibrator.startswith("IsotonicCalibration")]
    return min(isotonic or after, key=lambda one: one.brier, default=None)


def _limits(s: Summary, key: str) -> str:
    if key not in s.limits:
        return ""
    low, high = s.limits[key]
    decimals = 3 if key in ("slope", "intercept", "free_intercept", "observed_expected") else 4
    texts = number(low, decimals), number(high, decimals)
    return f"{texts[0]} to {texts[1]}" if texts[0] != texts[1] else "exact"


def _models(contents: Contents) -> Table:
    """One line per model."""
    confidence, all_classes = _views(contents.models[0])
    columns = (
        Column("model", "Model", "name"),
        Column("verdict", "Verdict"),
        _ECE._replace(title=f"ECE{confidence}"),
        Column("floor", "Noise floor", "number"),
        _L2,
        Column("set", "Confidence set"),
        Column("p", "p", "p"),
        Column("brier", f"Brier{all_classes}", "number"),
        Column("slope", "Slope", "number"),
        Column("ratio", "Obs./exp.", "number"),
    )
    rows = []
    for model in contents.models:
        s, code = model.summary, model.verdict.code
        interval = s.ece_interval
        rows.append(
            {
                "model": model.name,
                "verdict": Cell(code, code.replace("-", " "), "flag" if "miscalibrated" in code else ""),
                "ece": s.ece,
                "floor": None if s.noise_floor is None else s.noise_floor.mean,
                "l2": None if interval is None else interval.estimate,
                "set": None if interval is None else confidence_set(interval),
                "p": None if s.test is None else s.test.pvalue,
                "brier": s.brier,
                "slope": Cell(s.slope, number(s.slope, 3)),
                "ratio": Cell(s.observed_expected, number(s.observed_expected, 3)),
            }
        )
    return Table(columns, rows, name="models", caption="On the same rows")


def _views(model: Model) -> tuple[str, str]:
    """Suffixes for the names of calibration errors and of proper scores of a matrix."""
    return ("", "") if model.summary.ece_classwise is None else (" (confidence)", " (all classes)")


def _files(contents: Contents) -> Table:
    """One line per file of sums, and one for all."""
    by = contents.models[0].segments
    titles = {
        "file": "File",
        "flag": "Flag",
        "group": by.rows[0].column if by and by.rows else "Group",
        "n": "Rows",
        "ece": "ECE",
        "ece_interval": "interval",
        "ece_floor": "Noise floor",
        "l2_error": "l2 error",
        "confidence_set": "set",
        "observed_expected": "Obs./exp.",
        "observed_expected_interval": "interval",
        "adjusted_pvalue": "Adjusted p",
        "prevalence": "Prevalence",
        "ace": "ACE",
        "brier": "Brier score",
    }
    return files_table(contents.files or (), contents.series, titles)


def _bins(model: Model) -> Table:
    """One line per bin that has rows."""
    b = model.bins
    damage = b.weight * np.abs(b.gap)
    total = float(np.nansum(damage))
    ratio_low, ratio_high = (b.over_score(np.array(ends)) for ends in (model.interval_low, model.interval_high))
    columns = (
        Column("bin", "Bin", "number"),
        *(_FLAG, _N, _SCORE, _RATE),
        Column("interval", f"{level_percent(b.level)} interval", "number"),
        _GAP,
        Column("ratio", "Obs./exp.", "number"),
        Column("share", "Share of ECE", "share"),
    )
    lines = [
        (
            Cell(b.low_edge[i], bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)),
            _flag(bool(b.outside[i]), "too high" if b.gap[i] < 0 else "too low") if b.band else None,
            b.n[i],
            b.score[i],
            b.rate[i],
            Cell(model.interval_low[i], span(model.interval_low[i], model.interval_high[i])),
            b.gap[i],
            Cell(b.ratio[i], f"{ratio(b.ratio[i])} [{span(ratio_low[i], ratio_high[i], ratio)}]"),
            float(damage[i]) / total if total else 0.0,
        )
        for i in np.flatnonzero(b.n > 0)
    ]
    empty = int((b.n == 0).sum())
    flagged = (
        f"Flagged: the rate lies outside the band that would contain the rates of all bins {level_percent(b.level)} of "
        "the time if the scores were calibrated. "
        if b.band
        else ""
    )
    omitted = f" {count(empty, 'bin')} without rows {'is' if empty == 1 else 'are'} omitted." if empty else ""
    return Table.from_lines(
        columns,
        lines,
        notes=[f"{flagged}Gap: rate − mean score. Obs./exp.: rate / mean score, with the limits of the rate.{omitted}"],
        name="bins",
        caption=f"Bins: {model.picture.words}",
    )


_MOST_SEGMENTS = 40
_SEGMENT_TERMS = (
    "Shrunk gap: small segments are pulled towards the gap of all rows. Cost: share of the rows × shrunk gap², in "
    "percent of the Brier score: what a correct mean in this segment would save."
)


def _flag(flagged: bool, word: str) -> Cell:
    return Cell(word if flagged else "", None, "flag" if flagged else "")


def _blocks(blocks: Blocks) -> Table:
    """One line per isotonic block."""
    columns = (
        Column("block", "Block", "number"),
        *(_N, _RATE),
        Column("scores", "Scores", "number"),
        Column("median", "Median score", "number"),
        Column("rejected", "Rejected", "share"),
    )
    last = len(blocks.n) - 1
    lines = (
        (Cell(low, bin_name(low, high, last=i == last)), n, rate, Cell(least, span(least, most)), median, rejected)
        for i, (low, high, n, rate, least, most, median, rejected) in enumerate(
            zip(
                *(blocks.low_edge, blocks.high_edge, blocks.n, blocks.rate),
                *(blocks.score_min, blocks.score_max, blocks.score_median, blocks.refuted),
                strict=True,
            )
        )
    )
    return Table.from_lines(columns, lines, name="blocks", caption="Isotonic blocks")


def _segments(segments: Segments, brier: float) -> Table:
    """One line per segment, the costliest first; flagged ones are always shown."""
    columns = (
        Column("column", "Column", "name"),
        Column("value", "Value", "name"),
        *(_FLAG, _N, _SCORE, _RATE, _GAP),
        Column("shrunk", "Shrunk gap", "number"),
        Column("ratio", "Obs./exp.", "number"),
        _ADJUSTED_P,
        Column("share", "Cost", "share"),
    )
    order = sorted(range(len(segments.rows)), key=lambda i: (not segments.rows[i].flagged, i))
    shown = [segments.rows[i] for i in sorted(order[:_MOST_SEGMENTS])]
    rows = [
        vars(one)
        | {"share": one.cost / brier if brier > 0 else math.nan}
        | {"flag": _flag(one.flagged, one.finding), "shrunk": _shrunk_gap(one)}
        | {"ratio": Cell(one.ratio, f"{ratio(one.ratio)} [{span(one.ratio_low, one.ratio_high, ratio)}]")}
        for one in shown
    ]
    notes = [f"Tested: {segments.test} {_SEGMENT_TERMS}"]
    others = len(segments.rows) - len(shown)
    if others:
        notes.append(
            f"{count(others, 'segment')} that cost less and are not flagged are left out here; the JSON has all."
        )
    return Table(columns, rows, notes, "segments", "Segments, the costliest first")


def _shrunk_gap(one: Segment) -> Cell:
    """The shrunk gap with its limits."""
    limits = span(one.shrunk_low, one.shrunk_high, lambda value: signed(value, 3))
    return Cell(one.shrunk_gap, f"{signed(one.shrunk_gap, 3)} [{limits}]")


def _remedies(remedies: Remedies, level: float, views: tuple[str, str]) -> Table:
    """The scores as they are, then after each calibrator."""
    confidence, all_classes = views
    columns = (
        Column("name", "Scores"),
        Column("note", "Note"),
        *(_ECE._replace(title=f"ECE{confidence}"), _L2),
        Column("set", f"{level_percent(level)} set"),
        Column("brier", f"Brier score{all_classes}", "number"),
        Column("gain", f"Gain, {level_percent(level)} interval", "number"),
        Column("log_loss", "Log loss", "number"),
    )
    rows = [_remedy_row(one, remedies.best) for one in (remedies.before, *remedies.after)]
    note = (
        f"{count(remedies.n, 'row')}, {remedies.folds} folds: each row is scored by a calibrator fitted without it. "
        "Gain: reduction of the Brier score, compared row by row."
    )
    return Table(columns, rows, [note], "remedies", "Before and after, on held-out data")


def _remedy_row(one: Remedy, best: str | None) -> dict[str, Any]:
    gain = "" if math.isnan(one.gain) else span(one.gain_low, one.gain_high, lambda value: signed(value, 5))
    return vars(one) | {
        "name": f"{one.name[0].upper()}{one.name[1:]}",
        "note": Cell("best", None, "good") if one.name == best else "",
        "l2": math.nan if one.ece_interval is None else one.ece_interval.estimate,
        "set": confidence_set(one.ece_interval),
        "gain": Cell(one.gain, gain),
    }


def _classes(classes: Iterable[ClassRow]) -> Table:
    """One line per class, the largest ECE first."""
    columns = (
        Column("label", "Class", "name"),
        _FLAG,
        Column("share", "Share", "share"),
        _SCORE,
        *(_GAP, _ECE),
        Column("damage", "Share of ECE", "share"),
        *(_P, _ADJUSTED_P),
    )
    rows = [vars(one) | {"flag": _flag(one.flagged, "miscalibrated")} for one in classes]
    note = "Share of ECE: of the class-wise ECE. Flags use p-values adjusted by Holm's method."
    return Table(columns, rows, [note], "classes", "Each class against the rest, largest ECE first")


def _top_k(found: tuple[TopK, ...]) -> Table:
    """One line per k."""
    columns = (
        Column("k", "k", "count"),
        _L2,
        Column("set", f"{percent(found[0].interval.level)} set"),
        Column("bins", "Bins"),
    )
    lines = ((one.k, one.interval.estimate, confidence_set(one.interval), one.interval.bins) for one in found)
    return Table.from_lines(
        columns,
        lines,
        notes=["The k largest scores of each row, taken jointly."],
        name="top-k",
        caption="The largest scores jointly",
    )


def _comparison(comparison: Comparison) -> Table:
    """One line per pair of models."""
    columns = (
        Column("first", "First", "name"),
        Column("second", "Second", "name"),
        Column("result", "Result"),
        Column("difference", "Difference", "number"),
        Column("interval", f"{level_percent(comparison.level)} interval", "number"),
        *(_P, _ADJUSTED_P),
    )
    rows = []
    for pair in comparison.pairs:
        better = pair.first if pair.difference < 0 else pair.second
        differs = pair.adjusted_pvalue <= 1 - comparison.level
        result = Cell(f"{shorten(better, _LONGEST_RESULT)} is better", None, "good") if differs else ""
        difference = Cell(pair.difference, signed(pair.difference, 5))
        interval = Cell(pair.low, span(pair.low, pair.high, lambda value: signed(value, 5)))
        rows.append(vars(pair) | {"result": result, "difference": difference, "interval": interval})
    adjusted = " P-values are adjusted by Holm's method." if len(comparison) > 1 else ""
    note = f"Squared l2 calibration error, first − second, debiased.{adjusted}"
    return Table(columns, rows, [note], "comparison", "Differences between models")
