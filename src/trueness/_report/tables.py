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
from trueness._text.strings import shorten
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
INDEPENDENT = "as if rows were independent: clusters are not taken into account"
_MEASURES = {"test": "yes", "tce": "no, nor its floor"}
_TABLES = {
    "summary": "Clusters: whether they are taken into account. Averages over all rows do not need to.",
    "models": "Verdict, typical error and p take clusters into account; the noise floor does not. The other "
    "columns are averages over rows.",
    "bins": f"Intervals and flags are computed {INDEPENDENT}, so more bins may be flagged than should be.",
    "blocks": f"Rejected: {INDEPENDENT}.",
    "classes": "P-values take clusters into account.",
    "top-k": "The set takes clusters into account.",
    "remedies": "Sets and gains take clusters into account, and no cluster is in two folds.",
    "comparison": "Intervals and p-values take clusters into account.",
}
# The columns of all tables, by how their values are written: key and title.
_COLUMNS: dict[Kind, str] = {
    "text": "flag Flag, verdict Verdict, source Source, rule Slice, name Scores, note Note, bins Bins, "
    "result Result",
    "name": "model Model, task Task, column Column, value Value, label Class, first First, second Second",
    "count": "n Rows, k k, questions Questions",
    "number": "set Set, bin Bin, block Block, score Mean score, rate Rate, interval Interval, ratio Obs./exp., l2 Typical error, "
    "ece ECE, floor Noise floor, brier Brier score, log_loss Log loss, slope Slope, observed_expected Obs./exp., "
    "accuracy Accuracy, mean_confidence Confidence, aurc AURC, accept_from Accept from, accepted Accepted, "
    "scores Scores, median Median score, shrunk Shrunk gap, expected Expected, observed Observed, limits Limits, "
    "gain Gain, chance Chance, difference Difference",
    "signed": "gap Gap",
    "share": "share Share, cost Cost, damage Share of ECE, rejected Rejected",
    "p": "p p, adjusted Adjusted p, overall p against all rows",
}


def _titles(text: str) -> dict[str, str]:
    """Titles by key, from a list of keys and titles as above."""
    return {key: title for key, _, title in (one.partition(" ") for one in text.split(", "))}


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
    tables = {
        "files": _files(contents) if contents.files else None,
        "confidences": _confidences(contents.confidences) if contents.confidences else None,
        "judge": None if contents.judge is None else _judge(contents.judge),
        "models": _models(contents) if len(contents.models) > 1 else None,
        "comparison": None if contents.comparison is None else _comparison(contents.comparison),
    }
    return {
        name: _with_cluster_notes(table, contents.clusters)
        for name, table in tables.items()
        if table
    }


def model_tables(model: Model, contents: Contents) -> dict[str, Table]:
    """The tables of one model, by name."""
    level = contents.settings.level
    top_label = contents.view in ("confidence", "top-label")
    tables = {
        "summary": summary_table(model, level, top_label=top_label),
        "summary_more": other_errors_table(model, level, top_label=top_label),
        "panel": panel_table(model, level, top_label=top_label),
        "bins": _bins(model),
        "blocks": None if model.blocks is None else _blocks(model.blocks),
        "segments": None
        if model.segments is None
        else _segments(model.segments, model.summary.brier),
        "slices": None if model.slices is None else _slices(model.slices),
        "classes": None if model.classes is None else _classes(model.classes, level),
        "top_k": _top_k(model.top_k) if model.top_k else None,
        "remedies": None
        if model.remedies is None
        else _remedies(model.remedies, model, level, _views(model)),
    }
    return {
        name: _with_cluster_notes(table, contents.clusters)
        for name, table in tables.items()
        if table
    }


def _models(contents: Contents) -> Table:
    (confidence, all_classes), labels = _views(contents.models[0]), contents.view == "multilabel"
    titles = {
        "model": "Label" if labels else "Model",
        "ece": f"ECE{confidence}",
        "brier": f"Brier{all_classes}",
    }
    keys = (
        f"model verdict l2 p {'adjusted' if labels else ''} ece floor brier slope observed_expected"
    )
    rows = []
    for model, adjusted in zip(contents.models, adjusted_pvalues(contents.models), strict=True):
        s = model.summary
        code = model.verdict.code
        row: dict[str, Any] = {"model": model.name, "ece": s.ece, "adjusted": adjusted}
        row["verdict"] = Cell(
            code, code.replace("-", " "), "flag" if "miscalibrated" in code else ""
        )
        row["floor"] = None if s.noise_floor is None else s.noise_floor.mean
        row["l2"] = _error_cell(model)
        row["p"] = None if s.test is None else s.test.pvalue
        rows.append(
            row
            | {key: measure_with_limits(s, key) for key in ("brier", "slope", "observed_expected")}
        )
    notes = [f"Brackets: {level_percent(contents.settings.level)} interval."]
    if labels:
        notes.append(
            "Verdicts are about one label each; the headline and adjusted p-values (Holm) about all together."
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
    by = contents.models[0].segments
    titles = _titles(
        "file File, flag Flag, group Group, n Rows, ece ECE, ece_interval interval, ece_floor Noise floor, "
        "l2_error Typical error, confidence_set set, observed_expected Obs./exp., observed_expected_interval interval, "
        "adjusted_pvalue Adjusted p, prevalence Prevalence, ace ACE, brier Brier score"
    )
    titles["group"] = by.rows[0]["column"] if by and by.rows else "Group"
    return files_table(contents.files or (), contents.series, titles)


def _confidences(found: Mapping[str, Any]) -> Table:
    lost = ", ".join(f"{reason} ({number:,})" for reason, number in found["missing"].items())
    notes = [f"Samples that do not count: {lost}."] if lost else []
    notes.append(
        "AURC: share of errors among the most confident answers, averaged over how many are accepted. Accept from: the "
        "lowest confidence from which on at least 95 % of answers are right, at 95 % confidence; Accepted: share of "
        "the answers above it."
    )
    keys = "source model task n questions accuracy mean_confidence aurc accept_from accepted"
    return Table(_columns(keys, n="Answers"), found["origins"], [*notes, *found["notes"]])


def _judge(found: Judge) -> Table:
    """The judge beside human labels: each rate with its limits."""
    named = {
        "Sensitivity": found.sensitivity,
        "Specificity": found.specificity,
        "Positive predictive value": found.ppv,
        "Negative predictive value": found.npv,
        "Cohen's kappa": found.kappa,
        "Bias: the judge's rate of events less that of people": found.bias,
        "Rate of events, corrected": found.event_rate,
    }
    columns = [
        Column("measure", "Measure"),
        Column("value", "Value", "number"),
        Column("limits", f"{level_percent(found.level)} limits", "number"),
        Column("n", "Rows", "count"),
    ]
    lines = [
        {
            "measure": name,
            "value": one.value,
            "limits": Cell(one.low, span(one.low, one.high)),
            "n": one.n,
        }
        for name, one in named.items()
    ]
    return Table(columns, lines, [found.sentence])


def _bins(model: Model) -> Table:
    picture = model.picture
    b = model.picture.bins
    ratio_low, ratio_high = picture.ratio_limits
    titles = {"interval": f"{level_percent(b.level)} interval", "share": "Share of ECE"}
    columns = _columns("bin flag n score rate interval gap ratio share", **titles)
    lines = [
        (
            Cell(b.low_edge[i], bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)),
            _flag(bool(b.outside[i]), "too high" if b.gap[i] < 0 else "too low")
            if b.band
            else None,
            b.n[i],
            b.score[i],
            b.rate[i],
            Cell(picture.interval_low[i], span(picture.interval_low[i], picture.interval_high[i])),
            _gap_of_bin(picture, int(i)),
            bracketed(b.ratio[i], ratio_low[i], ratio_high[i], ratio),
            _share(float(picture.shares[i])),
        )
        for i in np.flatnonzero(b.n > 0)
    ]
    empty = int((b.n == 0).sum())
    band = f"the band that would contain the rates of all bins {level_percent(b.level)} of the time"
    flagged = (
        f"Flagged: the rate lies outside {band} if the scores were calibrated. " if b.band else ""
    )
    if empty:
        omitted = f" {count(empty, 'bin')} without rows {'is' if empty == 1 else 'are'} omitted."
    else:
        omitted = ""
    note = f"{flagged}Gap: rate − mean score. Obs./exp.: rate / mean score, with the limits of the rate.{omitted}"
    return Table.from_lines(
        columns, lines, notes=[note], name="bins", caption=f"Bins: {picture.words}"
    )


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
    "P against all rows: whether the segment has an error of its own. "
    "Shrunk gap: small segments are pulled towards the gap of all rows; its brackets hold at {level} for one segment "
    "alone, those of obs./exp. for all together. Cost: share of the rows × shrunk gap², in "
    "percent of the Brier score: what a correct mean in this segment would save."
)


def _flag(flagged: bool, word: str) -> Cell:
    return Cell(word if flagged else "", None, "flag" if flagged else "")


def _blocks(blocks: Blocks) -> Table:
    ends = enumerate(zip(blocks.low_edge, blocks.high_edge, strict=True), 1)
    first = (Cell(low, bin_name(low, high, last=i == len(blocks.n))) for i, (low, high) in ends)
    scores = (
        Cell(least, span(least, most))
        for least, most in zip(blocks.score_min, blocks.score_max, strict=True)
    )
    lines = zip(
        first, blocks.n, blocks.rate, scores, blocks.score_median, blocks.refuted, strict=True
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
    for one in shown:
        cells = {"adjusted": one["adjusted_pvalue"], "overall": one["overall_pvalue"]}
        cells["flag"] = _flag(one["flagged"], one["finding"])
        cells["ratio"] = bracketed(one["ratio"], one["ratio_low"], one["ratio_high"], ratio)
        gap, *_ = signed_with_limits(one["gap"], one["gap_low"], one["gap_high"])
        cells["gap"] = Cell(one["gap"], gap)
        cells["shrunk"] = _with_limits(one["shrunk_gap"], one["shrunk_low"], one["shrunk_high"], 3)
        cells["cost"] = _share(one["cost"] / brier if brier > 0 else math.nan)
        rows.append({**one, **cells})
    terms = _SEGMENT_TERMS.format(level=level_percent(Level.of_alpha(segments.alpha).confidence))
    notes = [f"Tested: {segments.test} {terms}"]
    others = len(segments.rows) - len(shown)
    if others:
        left_out = (
            f"{count(others, 'segment')} that cost less and are not flagged are left out here"
        )
        notes.append(f"{left_out}; the JSON has all.")
    return Table(columns, rows, notes, "segments", "Segments, the costliest first")


def _slices(slices: Slices) -> Table:
    limits = f"Gap, {level_percent(slices.level)} limits"
    columns = _columns("rule flag n expected observed limits adjusted overall share", limits=limits)
    every = slices.rows()
    rows = []
    for one in (every[i] for i in slices.shown):
        cells = {"n": one["rows"], "adjusted": one["adjusted_p"], "overall": one["overall_p"]}
        cells["flag"] = _flag(one["flagged"], one["finding"])
        cells["limits"] = _with_limits(one["gap"], one["gap_low"], one["gap_high"], 3)
        cells["share"] = _share(one["share"])
        cells["expected"] = Cell(one["expected"], f"{one['expected']:,.1f}")
        rows.append(
            {**one, **cells, "observed": Cell(one["observed"], numbers.total(one["observed"]))}
        )
    terms = (
        "Slices of one or two columns, the score among them; flagged ones that share the rows of one above are left "
        "out here. Limits hold for all slices that were tested, also for the worst. Share: of the Brier score, what a "
        "correct mean in this slice would save."
    )
    method = f"Tested: {slices.method}. {terms}"
    return Table(
        columns,
        rows,
        [slices.sentence, method],
        "slices",
        "Slices, the most reliable finding first",
    )


def _remedies(remedies: Remedies, model: Model, level: float, views: tuple[str, str]) -> Table:
    (confidence, all_classes), sure = views, level_percent(level)
    word = "optional" if model.advice.kind == "optional" else "recommended"
    titles = {
        "ece": f"ECE{confidence}",
        "brier": f"Brier score{all_classes}",
        "gain": f"Gain, {sure} interval",
    }
    columns = _columns(
        "name note ece l2 set brier gain chance log_loss", set=f"{sure} set", **titles
    )
    rows = [
        _remedy_row(remedy, word if remedy is model.advised else "")
        for remedy in (remedies.before, *remedies.after)
    ]
    note = (
        f"{count(remedies.n, 'row')}, {remedies.folds} folds{', dealt twice' * (remedies.deals > 1)}: each row is "
        "scored by a calibrator fitted without it. "
        "Gain: reduction of the Brier score, compared row by row. Chance: how often the map would have the lower Brier "
        "score in a new sample of as many rows."
    )
    return Table(columns, rows, [note], "remedies", "Before and after, on held-out data")


def _remedy_row(one: Remedy, word: str) -> dict[str, Any]:
    gain = ""
    if not math.isnan(one.gain):
        _, low, high = signed_with_limits(one.gain, one.gain_low, one.gain_high, 5)
        gain = f"{low} to {high}"
    if math.isnan(one.chance):
        chance = ""
    elif one.chance > 0.99:
        chance = "> 99 %"
    elif one.chance < 0.01:
        chance = "< 1 %"
    else:
        chance = numbers.percent(one.chance, 0)
    return vars(one) | {
        "name": f"{one.name[0].upper()}{one.name[1:]}",
        "note": Cell(word, None, "good") if word else "",
        "l2": _points_cell(one.ece_interval),
        "set": Cell(math.nan, confidence_set(one.ece_interval, _one_in_points)),
        "gain": Cell(one.gain, gain),
        "chance": Cell(one.chance, chance),
    }


def _points_cell(interval: Interval | None) -> Cell | None:
    if interval is None:
        return None
    return Cell(interval.estimate, _one_in_points(interval.estimate))


def _one_in_points(error: float) -> str:
    return numbers.points(error)[0]


def _classes(classes: Iterable[ClassRow], level: float) -> Table:
    columns = _columns("label flag share score gap ratio ece damage p adjusted")
    rows = []
    for one in classes:
        cells = {
            "flag": _flag(one.flagged, "miscalibrated"),
            "p": one.pvalue,
            "adjusted": one.adjusted_pvalue,
        }
        rows.append(
            vars(one)
            | cells
            | {"ratio": bracketed(one.ratio, one.ratio_low, one.ratio_high, ratio)}
        )
    note = (
        f"Obs./exp.: share / mean score, with its {level_percent(level)} interval. Share of ECE: of the class-wise "
        "ECE. Flags use p-values adjusted by Holm's method."
    )
    return Table(columns, rows, [note], "classes", "Each class against the rest, largest ECE first")


def _top_k(found: tuple[Mapping[str, Any], ...]) -> Table:
    columns = _columns("k l2 set bins", set=f"{level_percent(found[0]['interval'].level)} set")
    sets = ((one["k"], one["interval"]) for one in found)
    lines = (
        (
            k,
            _points_cell(one),
            Cell(math.nan, confidence_set(one, _one_in_points)),
            numbers.cells_in_words(one.bins),
        )
        for k, one in sets
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
        better = pair.first if pair.difference < 0 else pair.second
        differs = pair.adjusted_pvalue <= 1 - comparison.level
        cells: dict[str, Any] = {"p": pair.pvalue, "adjusted": pair.adjusted_pvalue}
        cells["result"] = "not shown to differ"
        if differs:
            words = f"{shorten(better, _LONGEST_RESULT)} is better"
            cells["result"] = Cell(words, None, "good")
        difference, low, high = signed_with_limits(pair.difference, pair.low, pair.high, 5)
        cells["difference"] = Cell(pair.difference, difference)
        cells["interval"] = Cell(pair.low, f"{low} to {high}")
        rows.append(vars(pair) | cells)
    adjusted = " P-values are adjusted by Holm's method." if len(comparison) > 1 else ""
    note = (
        f"Difference: squared typical error of the first − that of the second, debiased.{adjusted}"
    )
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
            words = f"{level_percent(series.level)} {title}"
        else:
            words = title
        columns.append(Column(key, words, _KINDS.get(key, "number"), optional=key in _OPTIONAL))
    if series is None:
        return Table(columns, lines, (), "files", "Each file, and all together")
    if series.change_pvalue is not None:
        doubled = " and doubled (the other half is for the change)"
    else:
        doubled = ""
    if "ece_floor" in titles:
        note = "Noise floor: mean ECE of a calibrated model with the same scores. "
    else:
        note = ""
    note += f"A file is flagged if the p-value of its test, adjusted by Holm's method{doubled}, is at most "
    note += f"{level_percent(1 - series.level)}. The files are a series in the order given."
    return Table(columns, lines, [note, *series.notes], "files", "Each file, and all together")


def _cell(row: Mapping[str, Any], key: str) -> Any:
    if key == "flag":
        if row.get("flagged"):
            return Cell("miscalibrated", None, "flag")
        return None
    if key == "confidence_set":
        return _span(0.0 if row.get("l2_includes_zero") else row.get("l2_low"), row.get("l2_high"))
    if key.endswith("_interval"):
        of = key.removesuffix("_interval")
        return _span(row.get(f"{of}_low"), row.get(f"{of}_high"))
    value = row.get(key)
    return None if value != value else value  # a column without any number is left out


def _span(low: float | None, high: float | None) -> Cell | None:
    if low is None or high is None or high != high:
        return None
    return Cell(high, span(low, high))


def _with_cluster_notes(table: Table, clusters: Clusters | None) -> Table:
    """The table with a note on which of its numbers account for clusters."""
    if clusters is None:
        return table
    if table.name in ("summary", "panel"):
        rows = [row | {"clusters": _measure_entry(row)} for row in map(dict, table.rows)]
        table = replace(table, columns=[*table.columns, Column("clusters", "Clusters")], rows=rows)
    if table.name in _TABLES:
        return replace(table, notes=[*table.notes, _TABLES[table.name]])
    return table


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
