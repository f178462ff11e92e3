"""The tables of a report."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._assess.page_parts import adjusted_pvalues
from trueness._level import Level
from trueness._report.measure_tables import (
    bracketed,
    measure_with_limits,
    other_errors_table,
    panel_table,
    summary_table,
)
from trueness._text import numbers
from trueness._text.numbers import (
    bin_name,
    confidence_set,
    count,
    level_percent,
    ratio,
    signed_with_limits,
    small_share,
    span,
)
from trueness._text.strings import capitalized, shorten
from trueness._text.table import Cell, Column, Kind, Table
from trueness.results import Comparison, Interval, Judge, Series
from trueness.results._first_screen import Picture
from trueness.results._page import Blocks, Clusters, Contents, Model, Segments
from trueness.results._remedies import Remedies, Remedy
from trueness.results._segments import ClassRow, Slices
from trueness.results._verdict_words import typical_error

_KINDS: dict[str, Kind] = {
    "file": "name",
    "group": "name",
    "n": "count",
    "flag": "text",
    "adjusted_pvalue": "p",
}
# A narrow terminal omits these.
_OPTIONAL = {
    "prevalence",
    "prevalence_interval",
    "l2_error",
    "confidence_set",
    "observed_expected_interval",
}
_LONGEST_RESULT = 24
_LEAST_LIMIT = 1e-6
INDEPENDENT = "as if rows were independent: clusters are not taken into account"
_MEASURES = {"test": "yes", "tce": "no, nor its floor"}
_TABLES = {
    "summary": (
        "Clusters: whether they are taken into account. Averages over all rows do not need to."
    ),
    "models": (
        "Verdict, typical error and p take clusters into account; the noise floor does not. The "
        "other columns are averages over rows."
    ),
    "bins": (
        f"Intervals and flags are computed {INDEPENDENT}, so more bins may be flagged than "
        "should be."
    ),
    "blocks": f"Rejected: {INDEPENDENT}.",
    "classes": "P-values take clusters into account.",
    "top-k": "The set takes clusters into account.",
    "remedies": "Sets and gains take clusters into account, and no cluster is in two folds.",
    "comparison": "Intervals and p-values take clusters into account.",
}
# The columns of all tables, by how their values are written: key and title.
_COLUMNS: dict[Kind, str] = {
    "text": (
        "flag Flag, verdict Verdict, source Source, rule Slice, name Scores, note Note, bins "
        "Bins, result Result"
    ),
    "name": (
        "model Model, task Task, column Column, value Value, label Class, first First, second "
        "Second"
    ),
    "count": "n Rows, k k, questions Questions",
    "number": (
        "set Set, bin Bin, block Block, score Mean score, rate Rate, interval Interval, ratio "
        "Obs./exp., l2 Typical error, ece ECE, floor Noise floor, brier Brier score, log_loss "
        "Log loss, slope Slope, observed_expected Obs./exp., accuracy Accuracy, mean_confidence "
        "Confidence, aurc AURC, accept_from Accept from, accepted Accepted, scores Scores, "
        "median Median score, shrunk Shrunk gap, expected Expected, observed Observed, limits "
        "Limits, gain Gain, chance Chance, difference Difference"
    ),
    "signed": "gap Gap",
    "share": "share Share, cost Cost, damage Share of ECE, rejected Rejected",
    "p": "p p, adjusted Adjusted p, overall p against all rows",
}


def _titles(text: str) -> dict[str, str]:
    """Titles by key, from a list of keys and titles as above."""
    titles = {}
    for entry in text.split(", "):
        key, _, title = entry.partition(" ")
        titles[key] = title
    return titles


_BY_KEY = {
    key: Column(key, title, kind)
    for kind, text in _COLUMNS.items()
    for key, title in _titles(text).items()
}


def _columns(keys: str, **titles: str) -> list[Column]:
    """Columns by their keys, some with a title of their own."""
    return [
        _BY_KEY[key]._replace(title=titles.get(key, _BY_KEY[key].title)) for key in keys.split()
    ]


def report_tables(contents: Contents) -> dict[str, Table]:
    """The tables of the whole report, by name."""
    tables = {}
    if contents.files:
        tables["files"] = _files(contents)
    if contents.confidences:
        tables["confidences"] = _confidences(contents.confidences)
    if contents.judge is not None:
        tables["judge"] = _judge(contents.judge)
    if len(contents.models) > 1:
        tables["models"] = _models(contents)
    if contents.comparison is not None:
        tables["comparison"] = _comparison(contents.comparison)
    return _with_cluster_notes(tables, contents.clusters)


def model_tables(model: Model, contents: Contents) -> dict[str, Table]:
    """The tables of one model, by name."""
    level = contents.settings.level
    top_label = contents.view in ("confidence", "top-label")
    tables = {
        "summary": summary_table(model, level, top_label=top_label),
        "summary_more": other_errors_table(model, level, top_label=top_label),
        "panel": panel_table(model, level, top_label=top_label),
        "bins": _bins(model),
    }
    if model.blocks is not None:
        tables["blocks"] = _blocks(model.blocks)
    if model.segments is not None:
        tables["segments"] = _segments(model.segments, model.summary.brier)
    if model.slices is not None:
        tables["slices"] = _slices(model.slices)
    if model.classes is not None:
        tables["classes"] = _classes(model.classes, level)
    if model.top_k:
        tables["top_k"] = _top_k(model.top_k)
    if model.remedies is not None:
        tables["remedies"] = _remedies(model.remedies, model, level, _views(model))
    return _with_cluster_notes(tables, contents.clusters)


def _models(contents: Contents) -> Table:
    confidence, all_classes = _views(contents.models[0])
    are_labels = contents.view == "multilabel"
    titles = {"model": "Model", "ece": f"ECE{confidence}", "brier": f"Brier{all_classes}"}
    keys = "model verdict l2 p ece floor brier slope observed_expected"
    notes = [f"Brackets: {level_percent(contents.settings.level)} interval."]
    if are_labels:
        titles["model"] = "Label"
        keys = keys.replace(" p ", " p adjusted ")
        notes.append(
            "Verdicts are about one label each; the headline and adjusted p-values (Holm) about "
            "all together."
        )
    rows = []
    for model, adjusted in zip(contents.models, adjusted_pvalues(contents.models), strict=True):
        s = model.summary
        code = model.verdict.code
        verdict = Cell(code, code.replace("-", " "), "flag" if "miscalibrated" in code else "")
        rows.append(
            {
                "model": model.name,
                "verdict": verdict,
                "l2": _error_cell(model),
                "p": s.pvalue,
                "adjusted": adjusted,
                "ece": s.ece,
                "floor": None if s.noise_floor is None else s.noise_floor.mean,
                "brier": measure_with_limits(s, "brier"),
                "slope": measure_with_limits(s, "slope"),
                "observed_expected": measure_with_limits(s, "observed_expected"),
            }
        )
    return Table(_columns(keys, **titles), rows, notes, name="models", caption="On the same rows")


def _error_cell(model: Model) -> Cell | None:
    """The typical error in percentage points, as the first screen says it."""
    interval = model.summary.ece_interval
    if interval is None:
        return None
    words = typical_error(interval, rejected=model.verdict.rejected, unit="points")
    return Cell(interval.estimate, words.removeprefix("typically "))


def _views(model: Model) -> tuple[str, str]:
    """Suffixes for the names of calibration errors and of proper scores of a matrix."""
    if model.summary.ece_classwise is None:
        return ("", "")
    return (" (confidence)", " (all classes)")


def _files(contents: Contents) -> Table:
    titles = _titles(
        "file File, flag Flag, group Group, n Rows, ece ECE, ece_interval interval, "
        "ece_floor Noise floor, l2_error Typical error, confidence_set set, "
        "observed_expected Obs./exp., observed_expected_interval interval, "
        "adjusted_pvalue Adjusted p, prevalence Prevalence, ace ACE, brier Brier score"
    )
    segments = contents.models[0].segments
    if segments is not None and segments.rows:
        titles["group"] = segments.rows[0]["column"]
    return files_table(contents.files or (), contents.series, titles)


def _confidences(confidences: Mapping[str, Any]) -> Table:
    notes = []
    if confidences["missing"]:
        lost = ", ".join(f"{reason} ({n:,})" for reason, n in confidences["missing"].items())
        notes.append(f"Samples that do not count: {lost}.")
    notes.append(
        "AURC: share of errors among the most confident answers, averaged over how many are "
        "accepted. Accept from: the lowest confidence from which on at least 95 % of answers are "
        "right, at 95 % confidence; Accepted: share of the answers above it."
    )
    keys = "source model task n questions accuracy mean_confidence aurc accept_from accepted"
    return Table(
        _columns(keys, n="Answers"), confidences["origins"], [*notes, *confidences["notes"]]
    )


def _judge(judge: Judge) -> Table:
    """The judge beside human labels: each rate with its limits."""
    estimates = {
        "Sensitivity": judge.sensitivity,
        "Specificity": judge.specificity,
        "Positive predictive value": judge.ppv,
        "Negative predictive value": judge.npv,
        "Cohen's kappa": judge.kappa,
        "Bias: the judge's rate of events less that of people": judge.bias,
        "Rate of events, corrected": judge.event_rate,
    }
    columns = [
        Column("measure", "Measure"),
        Column("value", "Value", "number"),
        Column("limits", f"{level_percent(judge.level)} limits", "number"),
        Column("n", "Rows", "count"),
    ]
    lines = []
    for name, estimate in estimates.items():
        limits = Cell(estimate.low, span(estimate.low, estimate.high))
        lines.append((name, estimate.value, limits, estimate.n))
    return Table.from_lines(columns, lines, notes=[judge.sentence])


def _bins(model: Model) -> Table:
    picture = model.picture
    b = picture.bins
    level = level_percent(b.level)
    ratio_low, ratio_high = picture.ratio_limits
    columns = _columns(
        "bin flag n score rate interval gap ratio share",
        interval=f"{level} interval",
        share="Share of ECE",
    )
    lines = []
    for i in np.flatnonzero(b.n > 0):
        name = bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)
        flag = None
        if b.band:
            flag = _flag(bool(b.outside[i]), "too high" if b.gap[i] < 0 else "too low")
        low = picture.interval_low[i]
        lines.append(
            (
                Cell(b.low_edge[i], name),
                flag,
                b.n[i],
                b.score[i],
                b.rate[i],
                Cell(low, span(_or_zero(low), picture.interval_high[i])),
                _gap_of_bin(picture, int(i)),
                _ratio_of_bin(float(b.ratio[i]), ratio_low[i], ratio_high[i]),
                _share(float(picture.shares[i])),
            )
        )
    sentences = [
        "Gap: rate − mean score. Obs./exp.: rate / mean score, with the limits of the rate."
    ]
    if b.band:
        sentences.insert(
            0,
            "Flagged: the rate lies outside the band that would contain the rates of all bins "
            f"{level} of the time if the scores were calibrated.",
        )
    n_empty = int((b.n == 0).sum())
    if n_empty:
        verb = "is" if n_empty == 1 else "are"
        sentences.append(f"{count(n_empty, 'bin')} without rows {verb} omitted.")
    return Table.from_lines(
        columns,
        lines,
        notes=[" ".join(sentences)],
        name="bins",
        caption=f"Bins: {picture.words}",
    )


def _or_zero(limit: float) -> float:
    """A limit, or 0 where its digits would only show how an exact limit is computed."""
    return 0.0 if abs(limit) < _LEAST_LIMIT else limit


def _ratio_of_bin(value: float, low: float, high: float) -> Cell:
    """Observed/expected with its limits; of events that had no chance at all, without."""
    if math.isinf(value):
        return Cell(value, ratio(value))
    return bracketed(value, _or_zero(low), _or_zero(high), ratio)


def _gap_of_bin(picture: Picture, i: int) -> Cell:
    """The gap of a bin, with the digits that the limits of its rate justify."""
    bins = picture.bins
    score = float(bins.score[i])
    ends = picture.interval_low[i] - score, picture.interval_high[i] - score
    return Cell(bins.gap[i], signed_with_limits(float(bins.gap[i]), *ends)[0])


def _share(value: float) -> Cell:
    return Cell(value, small_share(value))


_MOST_SEGMENTS = 40
_SEGMENT_TERMS = (
    "P against all rows: whether the segment has an error of its own. Shrunk gap: small segments "
    "are pulled towards the gap of all rows; its brackets hold at {level} for one segment alone, "
    "those of obs./exp. for all together. Cost: share of the rows × shrunk gap², in percent of "
    "the Brier score: what a correct mean in this segment would save."
)


def _flag(flagged: bool, word: str) -> Cell:
    return Cell(word, None, "flag") if flagged else Cell("")


def _blocks(blocks: Blocks) -> Table:
    lines = []
    for i, n in enumerate(blocks.n):
        low = blocks.low_edge[i]
        name = bin_name(low, blocks.high_edge[i], last=i == len(blocks.n) - 1)
        lowest = blocks.score_min[i]
        lines.append(
            (
                Cell(low, name),
                n,
                blocks.rate[i],
                Cell(lowest, span(lowest, blocks.score_max[i])),
                blocks.score_median[i],
                blocks.refuted[i],
            )
        )
    columns = _columns("block n rate scores median rejected")
    return Table.from_lines(columns, lines, name="blocks", caption="Isotonic blocks")


def shown_segments(segments: Segments) -> list[Mapping[str, Any]]:
    """As many of the costliest segments as a page can show; flagged ones come before others."""
    order = sorted(range(len(segments.rows)), key=lambda i: (not segments.rows[i]["flagged"], i))
    return [segments.rows[i] for i in sorted(order[:_MOST_SEGMENTS])]


def _with_limits(value: float, low: float, high: float, decimals: int) -> Cell:
    """A difference with its limits in brackets."""
    text, *limits = signed_with_limits(value, low, high, decimals)
    return Cell(value, f"{text} [{limits[0]} to {limits[1]}]")


def _segments(segments: Segments, brier: float) -> Table:
    columns = _columns("column value flag n score rate gap shrunk ratio adjusted overall cost")
    shown = shown_segments(segments)
    rows = []
    for row in shown:
        gap, *_ = signed_with_limits(row["gap"], row["gap_low"], row["gap_high"])
        cost = row["cost"] / brier if brier > 0 else math.nan
        cells = {
            "flag": _flag(row["flagged"], row["finding"]),
            "gap": Cell(row["gap"], gap),
            "shrunk": _with_limits(row["shrunk_gap"], row["shrunk_low"], row["shrunk_high"], 3),
            "ratio": bracketed(row["ratio"], row["ratio_low"], row["ratio_high"], ratio),
            "adjusted": row["adjusted_pvalue"],
            "overall": row["overall_pvalue"],
            "cost": _share(cost),
        }
        rows.append({**row, **cells})
    terms = _SEGMENT_TERMS.format(level=level_percent(Level.of_alpha(segments.alpha).confidence))
    notes = [f"Tested: {segments.test} {terms}"]
    n_left_out = len(segments.rows) - len(shown)
    if n_left_out:
        left_out = count(n_left_out, "segment")
        notes.append(
            f"{left_out} that cost less and are not flagged are left out here; the JSON has all."
        )
    return Table(columns, rows, notes, "segments", "Segments, the costliest first")


def _slices(slices: Slices) -> Table:
    limits = f"Gap, {level_percent(slices.level)} limits"
    columns = _columns("rule flag n expected observed limits adjusted overall share", limits=limits)
    all_rows = slices.rows()
    rows = []
    for i in slices.shown:
        row = all_rows[i]
        cells = {
            "n": row["rows"],
            "adjusted": row["adjusted_p"],
            "overall": row["overall_p"],
            "flag": _flag(row["flagged"], row["finding"]),
            "limits": _with_limits(row["gap"], row["gap_low"], row["gap_high"], 3),
            "expected": Cell(row["expected"], f"{row['expected']:,.1f}"),
            "observed": Cell(row["observed"], numbers.total(row["observed"])),
            "share": _share(row["share"]),
        }
        rows.append({**row, **cells})
    terms = (
        "Slices of one or two columns, the score among them; flagged ones that share the rows of "
        "one above are left out here. Limits hold for all slices that were tested, also for the "
        "worst. Share: of the Brier score, what a correct mean in this slice would save."
    )
    notes = [slices.sentence, f"Tested: {slices.method}. {terms}"]
    return Table(columns, rows, notes, "slices", "Slices, the most reliable finding first")


def _remedies(remedies: Remedies, model: Model, level: float, views: tuple[str, str]) -> Table:
    confidence, all_classes = views
    columns = _columns(
        "name note ece l2 set brier gain chance log_loss",
        ece=f"ECE{confidence}",
        set=f"{level_percent(level)} interval",
        brier=f"Brier score{all_classes}",
        gain=f"Gain, {level_percent(level)} interval",
    )
    word = "optional" if model.advice.kind == "optional" else "recommended"
    rows = []
    for remedy in (remedies.before, *remedies.after):
        row = _remedy_row(remedy)
        if remedy is model.advised:
            row["note"] = Cell(word, None, "good")
        rows.append(row)
    dealt = ", dealt twice" if remedies.deals > 1 else ""
    note = (
        f"{count(remedies.n, 'row')}, {remedies.folds} folds{dealt}: each row is scored by a "
        "calibrator fitted without it. Gain: reduction of the Brier score, compared row by row. "
        "Chance: how often the map would have the lower Brier score in a new sample of as many "
        "rows."
    )
    return Table(columns, rows, [note], "remedies", "Before and after, on held-out data")


def _remedy_row(remedy: Remedy) -> dict[str, Any]:
    gain = ""
    if not math.isnan(remedy.gain):
        _, low, high = signed_with_limits(remedy.gain, remedy.gain_low, remedy.gain_high, 5)
        gain = f"{low} to {high}"
    if math.isnan(remedy.chance):
        chance = ""
    elif remedy.chance > 0.99:
        chance = "> 99 %"
    elif remedy.chance < 0.01:
        chance = "< 1 %"
    else:
        chance = numbers.percent(remedy.chance, 0)
    return vars(remedy) | {
        "name": capitalized(remedy.name),
        "note": "",
        "l2": _points_cell(remedy.ece_interval),
        "set": Cell(math.nan, _set_in_words(remedy.ece_interval)),
        "gain": Cell(remedy.gain, gain),
        "chance": Cell(remedy.chance, chance),
    }


def _points_cell(interval: Interval | None) -> Cell | None:
    if interval is None:
        return None
    return Cell(interval.estimate, _one_in_points(interval.estimate))


def _set_in_words(interval: Interval | None) -> str:
    """A confidence set in percentage points: "0 to 3.4", and "above 0 to 3.4" without zero."""
    if interval is None or not interval.is_interval or interval.high == 0:
        return confidence_set(interval, _one_in_points)
    low, high = numbers.points(interval.low, interval.high)
    if interval.low == 0:
        low = "0" if interval.low_closed else "above 0"
    return f"{low} to {high}"


def _one_in_points(error: float) -> str:
    return numbers.points(error)[0]


def _classes(classes: Iterable[ClassRow], level: float) -> Table:
    columns = _columns("label flag share score gap ratio ece damage p adjusted")
    rows = []
    for row in classes:
        cells = {
            "flag": _flag(row.flagged, "miscalibrated"),
            "p": row.pvalue,
            "adjusted": row.adjusted_pvalue,
            "ratio": bracketed(row.ratio, row.ratio_low, row.ratio_high, ratio),
        }
        rows.append(vars(row) | cells)
    note = (
        f"Obs./exp.: share / mean score, with its {level_percent(level)} interval. Share of ECE: "
        "of the class-wise ECE. Flags use p-values adjusted by Holm's method."
    )
    return Table(columns, rows, [note], "classes", "Each class against the rest, largest ECE first")


def _top_k(by_k: tuple[Mapping[str, Any], ...]) -> Table:
    columns = _columns("k l2 set bins", set=f"{level_percent(by_k[0]['interval'].level)} interval")
    lines = []
    for entry in by_k:
        interval = entry["interval"]
        limits = Cell(math.nan, _set_in_words(interval))
        lines.append(
            (entry["k"], _points_cell(interval), limits, numbers.cells_in_words(interval.bins))
        )
    note = "The k largest scores of each row, taken jointly. Errors are in percentage points."
    return Table.from_lines(
        columns, lines, notes=[note], name="top-k", caption="The largest scores jointly"
    )


def _comparison(comparison: Comparison) -> Table:
    interval = f"{level_percent(comparison.level)} interval"
    columns = _columns("first second result difference interval p adjusted", interval=interval)
    rows = []
    for pair in comparison.pairs:
        result: Cell | str = "not shown to differ"
        if pair.adjusted_pvalue <= 1 - comparison.level:
            better = pair.first if pair.difference < 0 else pair.second
            result = Cell(f"{shorten(better, _LONGEST_RESULT)} is better", None, "good")
        difference, low, high = signed_with_limits(pair.difference, pair.low, pair.high, 5)
        cells = {
            "p": pair.pvalue,
            "adjusted": pair.adjusted_pvalue,
            "result": result,
            "difference": Cell(pair.difference, difference),
            "interval": Cell(pair.low, f"{low} to {high}"),
        }
        rows.append(vars(pair) | cells)
    note = "Difference: squared typical error of the first − that of the second, debiased."
    if len(comparison) > 1:
        note = f"{note} P-values are adjusted by Holm's method."
    return Table(columns, rows, [note], "comparison", "Differences between models")


def files_table(
    rows: Sequence[Mapping[str, Any]], series: Series | None, titles: Mapping[str, str]
) -> Table:
    """A line per file and group, and lines for all files; `titles` are the columns, by key.

    Keys that are not in the rows: 'flag', 'confidence_set' and '<key>_interval', the confidence
    interval of a measure.
    """
    lines = [{key: _cell(row, key) for key in titles} for row in rows]
    columns = []
    for key, title in titles.items():
        if series and key.endswith(("_interval", "_set")):
            title = f"{level_percent(series.level)} {title}"
        columns.append(Column(key, title, _KINDS.get(key, "number"), optional=key in _OPTIONAL))
    notes: list[str] = []
    if series is not None:
        doubled = ""
        if series.change_pvalue is not None:
            doubled = " and doubled (the other half is for the change)"
        note = (
            f"A file is flagged if the p-value of its test, adjusted by Holm's method{doubled}, is "
            f"at most {level_percent(1 - series.level)}. The files are a series in the order given."
        )
        if "ece_floor" in titles:
            floor = "Noise floor: mean ECE of a calibrated model with the same scores."
            note = f"{floor} {note}"
        notes = [note, *series.notes]
    return Table(columns, lines, notes, "files", "Each file, and all together")


def _cell(row: Mapping[str, Any], key: str) -> Any:
    if key == "flag":
        return Cell("miscalibrated", None, "flag") if row.get("flagged") else None
    if key == "confidence_set":
        low = 0.0 if row.get("l2_includes_zero") else row.get("l2_low")
        return _span(low, row.get("l2_high"))
    if key.endswith("_interval"):
        measure = key.removesuffix("_interval")
        return _span(row.get(f"{measure}_low"), row.get(f"{measure}_high"))
    value = row.get(key)
    if value != value:  # a column without any number is left out
        return None
    return value


def _span(low: float | None, high: float | None) -> Cell | None:
    if low is None or high is None or high != high:
        return None
    return Cell(high, span(low, high))


def _with_cluster_notes(tables: dict[str, Table], clusters: Clusters | None) -> dict[str, Table]:
    """The tables with a note on which of their numbers account for clusters."""
    if clusters is None:
        return tables
    column = Column("clusters", "Clusters")
    for key, table in tables.items():
        if table.name in ("summary", "panel"):
            rows = [{**row, "clusters": _measure_entry(row)} for row in table.rows]
            table = replace(table, columns=[*table.columns, column], rows=rows)
        if table.name in _TABLES:
            table = replace(table, notes=[*table.notes, _TABLES[table.name]])
        tables[key] = table
    return tables


def _measure_entry(row: Mapping[str, Any]) -> str:
    """Whether the interval, or the value if calibrated, takes clusters into account."""
    if row["value"].text == "–":
        return "–"
    if row["key"] in _MEASURES:
        return _MEASURES[row["key"]]
    if row["floor"]:
        return "not the noise floor"
    if row["interval"] is None or row["interval"].text == "–":
        return "no need"
    return "yes"
