"""The tables of a report, by name, with notes on which numbers account for clusters."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trueness._assess.page_parts import adjusted_pvalues
from trueness._level import Level
from trueness._report.columns import columns_of
from trueness._report.file_tables import confidences_table, files_of_report, judge_table
from trueness._report.measure_tables import (
    measure_with_limits,
    other_errors_table,
    panel_table,
    summary_table,
)
from trueness._report.part_tables import (
    bins_table,
    blocks_table,
    classes_table,
    coverage_table,
    segments_table,
    slices_table,
    top_k_table,
)
from trueness._report.remedies_table import remedies_table
from trueness._text.numbers import level_percent, signed_with_limits
from trueness._text.strings import shorten
from trueness._text.table import Cell, Column, Table
from trueness.results import Comparison
from trueness.results._page import Clusters, Contents, Model
from trueness.results._verdict_words import typical_error

_LONGEST_RESULT = 24
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


def report_tables(contents: Contents) -> dict[str, Table]:
    """The tables of the whole report, by name."""
    tables = {}
    if contents.files:
        tables["files"] = files_of_report(contents)
    if contents.confidences:
        tables["confidences"] = confidences_table(contents.confidences)
    if contents.judge is not None:
        tables["judge"] = judge_table(contents.judge)
    if len(contents.models) > 1:
        tables["models"] = _models(contents)
    if contents.comparison is not None:
        tables["comparison"] = _comparison(contents.comparison)
    return _with_cluster_notes(tables, contents.clusters)


def model_tables(model: Model, contents: Contents) -> dict[str, Table]:
    """The tables of one model, by name."""
    level = contents.settings.level
    top_label = contents.view in ("confidence", "top-label")
    tables = {"summary": summary_table(model, level, top_label=top_label)}
    if model.coverage is None:
        tables["summary_more"] = other_errors_table(model, level, top_label=top_label)
        tables["panel"] = panel_table(model, level, top_label=top_label)
        tables["bins"] = bins_table(model)
    else:
        tables["bins"] = coverage_table(model.coverage)
    if model.blocks is not None and model.coverage is None:
        tables["blocks"] = blocks_table(model.blocks)
    if model.segments is not None:
        tables["segments"] = segments_table(model.segments, model.summary.brier, model.coverage)
    if model.slices is not None:
        tables["slices"] = slices_table(model.slices)
    if model.classes is not None:
        tables["classes"] = classes_table(model.classes, level)
    if model.top_k:
        tables["top_k"] = top_k_table(model.top_k)
    if model.remedies is not None:
        tables["remedies"] = remedies_table(model.remedies, model, level, views_of(model))
    return _with_cluster_notes(tables, contents.clusters)


def _models(contents: Contents) -> Table:
    """The table of several models on the same rows, or of several labels.

    Labels have p-values adjusted for all of them.
    """
    confidence, all_classes = views_of(contents.models[0])
    are_labels = contents.view == "multilabel"
    titles = {"model": "Model", "ece": f"ECE{confidence}", "brier": f"Brier{all_classes}"}
    keys = "model verdict l2 p ece floor brier slope observed_expected"
    if all(model.coverage is not None for model in contents.models):
        keys = "model verdict l2 p ece floor"  # the others are of scores
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
                "p": _pvalue_cell(model),
                "adjusted": adjusted,
                "ece": s.ece,
                "floor": None if s.noise_floor is None else s.noise_floor.mean,
                "brier": measure_with_limits(s, "brier"),
                "slope": measure_with_limits(s, "slope"),
                "observed_expected": measure_with_limits(s, "observed_expected"),
            }
        )
    return Table(columns_of(keys, **titles), rows, notes, name="models", caption="On the same rows")


def _pvalue_cell(model: Model) -> Cell | float | None:
    """The p-value of what decided; with a word on it if that is not the test of all rows."""
    if model.verdict.is_of_parts:
        return Cell(model.summary.pvalue, model.verdict.pvalue)
    return model.summary.pvalue


def _error_cell(model: Model) -> Cell | None:
    """The typical error in percentage points, as the first screen says it."""
    interval = model.summary.ece_interval
    if interval is None:
        return None
    if model.verdict.is_of_parts:
        return Cell(interval.estimate, model.verdict.error_in_short)
    words = typical_error(interval, rejected=model.verdict.rejected, unit="points")
    return Cell(interval.estimate, words.removeprefix("typically "))


def views_of(model: Model) -> tuple[str, str]:
    """Suffixes for the names of calibration errors and of proper scores of a matrix."""
    if model.summary.ece_classwise is None:
        return ("", "")
    return (" (confidence)", " (all classes)")


def _comparison(comparison: Comparison) -> Table:
    """The table of the pairs of models: the difference of each, and which model is better.

    A pair whose adjusted p-value does not reject is not shown to differ.
    """
    interval = f"{level_percent(comparison.level)} interval"
    columns = columns_of("first second result difference interval p adjusted", interval=interval)
    rows = []
    for pair in comparison.pairs:
        result: Cell | str = "not shown to differ"
        if pair.adjusted_pvalue <= Level(comparison.level).alpha:
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
