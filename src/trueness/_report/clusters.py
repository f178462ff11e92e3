"""Dependent rows: how many clusters there are, and which numbers of a report account for them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trueness._report.records import Clusters
from trueness._tally.clusters import effective_number
from trueness._text.table import Column, Table
from trueness.typing import Ints

INDEPENDENT = "as if rows were independent: clusters are not taken into account"
_MEASURES = {"test": "yes", "tce": "no, nor its floor"}
_TABLES = {
    "summary": "Clusters: whether they are taken into account. Averages over all rows do not need to.",
    "panel": "",
    "models": "Verdict, l2 error, confidence set and p take clusters into account; the noise floor does not. The other "
    "columns are averages over rows.",
    "bins": f"Intervals and flags are computed {INDEPENDENT}, so more bins may be flagged than should be.",
    "blocks": f"Rejected: {INDEPENDENT}.",
    "segments": "",
    "classes": "P-values take clusters into account.",
    "top-k": "The set takes clusters into account.",
    "remedies": "Sets and gains take clusters into account, and no cluster is in two folds.",
    "comparison": "Intervals and p-values take clusters into account.",
}
_CONSIDERED = ("verdict", "confidence sets", "test", "segments", "gain of a calibrator", "folds")
_IGNORED = ("noise floors", "TCE", "intervals of bins", "flagged bins", "test-based diagram")


def cluster_counts(cluster: Ints | None, models: int, multiclass: bool) -> Clusters | None:
    """The number of clusters, and which results account for them; None without clusters."""
    if cluster is None:
        return None
    considered = (*_CONSIDERED, *(["classes"] if multiclass else []), *(["comparison"] if models > 1 else []))
    return Clusters(int(cluster.max()) + 1, effective_number(cluster), considered, _IGNORED)


def with_cluster_notes(table: Table, clusters: Clusters | None) -> Table:
    """The table with a note on which of its numbers account for clusters."""
    if clusters is None:
        return table
    if table.name in ("summary", "panel"):
        rows = [row | {"clusters": _measure_entry(row)} for row in map(dict, table.rows)]
        table = replace(table, columns=[*table.columns, Column("clusters", "Clusters")], rows=rows)
    note = _TABLES.get(table.name, "")
    return replace(table, notes=[*table.notes, note]) if note else table


def _measure_entry(row: Mapping[str, Any]) -> str:
    """Whether the interval, or the value if calibrated, takes clusters into account."""
    if row["value"].text == "–":
        return "–"
    if row["key"] in _MEASURES:
        return _MEASURES[row["key"]]
    if row["floor"]:
        return "not the noise floor"
    return "no need" if row["interval"] is None or row["interval"].text == "–" else "yes"


def clusters_in_words(clusters: Clusters) -> str:
    """How many there are, and which results account for them."""
    return (
        f"{clusters.number:,}, equivalent to {clusters.effective:,.1f} of equal size. Taken into account by: "
        f"{', '.join(clusters.considered)}. As if rows were independent: {', '.join(clusters.ignored)}."
    )
