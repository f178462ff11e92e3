"""Tables of where rows came from: files, logs of evaluations, and a judge beside people."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness._report.columns import columns_of, titles_of
from trueness._text.numbers import level_percent, span
from trueness._text.table import Cell, Column, Kind, Table
from trueness.results import Judge, Series
from trueness.results._page import Contents

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


def files_of_report(contents: Contents) -> Table:
    """The table of the files of a report, each with its measures."""
    titles = titles_of(
        "file File, flag Flag, group Group, n Rows, ece ECE, ece_interval interval, "
        "ece_floor Noise floor, l2_error Typical error, confidence_set set, "
        "observed_expected Obs./exp., observed_expected_interval interval, "
        "adjusted_pvalue Adjusted p, prevalence Prevalence, ace ACE, brier Brier score"
    )
    segments = contents.models[0].segments
    if segments is not None and segments.rows:
        titles["group"] = segments.rows[0]["column"]
    return files_table(contents.files or (), contents.series, titles)


def confidences_table(confidences: Mapping[str, Any]) -> Table:
    """The table of the answers of language models by source, with the samples that do not count."""
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
        columns_of(keys, n="Answers"), confidences["origins"], [*notes, *confidences["notes"]]
    )


def judge_table(judge: Judge) -> Table:
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


def _cell(row: Mapping[str, Any], key: str) -> object:
    """The cell of a file in the column `key`: a flag, an interval or a number.

    A number that is not known is None, so that a column without any is left out.
    """
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
