"""Rows that depend on each other: how many clusters there are, and which numbers of a report allow for them."""

import numpy as np

from trueness._report.records import Clusters
from trueness._report.tables import Cell, Table
from trueness.typing import Ints

__all__ = ["FEW_CLUSTERS", "INDEPENDENT", "clusters_of", "effective", "in_words", "told"]

FEW_CLUSTERS = 20
"""Below, the library warns that a level may not be kept."""
INDEPENDENT = "as if rows were independent: clusters are not taken into account"
_NO_NEED = "no need"
_SUMMARY = {
    "ECE": "not the noise floor",
    "l2 calibration error": "yes",
    "Test of calibration": "yes",
    "TCE": "no, nor its floor",
}
_TABLES = {
    "summary": "Last column: whether clusters are taken into account. A plain average of all rows has no need.",
    "models": "Verdict, l2 error, confidence set and p take clusters into account; the noise floor does not. The other "
    "columns are plain averages.",
    "bins": f"Intervals and flags are {INDEPENDENT}, so that more bins may be flagged than should be.",
    "blocks": f"Refuted: {INDEPENDENT}.",
    "segments": "",
    "classes": "p-values take clusters into account.",
    "top-k": "The set takes clusters into account.",
    "remedies": "Sets and gains take clusters into account, and no cluster is in two folds.",
    "comparison": "Intervals and p-values take clusters into account.",
}
_CONSIDERED = ("verdict", "confidence sets", "test", "segments", "gain of a calibrator", "folds")
_IGNORED = ("noise floors", "TCE", "intervals of bins", "flagged bins", "test-based diagram")


def clusters_of(cluster: Ints | None, models: int, multiclass: bool) -> Clusters | None:
    """What is said of clusters; None without."""
    if cluster is None:
        return None
    considered = (*_CONSIDERED, *(["classes"] if multiclass else []), *(["comparison"] if models > 1 else []))
    return Clusters(int(cluster.max()) + 1, effective(cluster), considered, _IGNORED)


def effective(cluster: Ints) -> float:
    """How many clusters of equal size would be as uneven."""
    sizes = np.bincount(cluster).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes)) if sizes.size else 0.0


def told(table: Table, clusters: Clusters | None) -> Table:
    """A table that says of its numbers whether clusters are taken into account."""
    if clusters is None:
        return table
    if table.name == "summary":
        cells = [_cell(row) for row in table.rows]
        rows = tuple((*row, cell) for row, cell in zip(table.rows, cells, strict=True))
        table = table._replace(head=(*table.head, "Clusters"), rows=rows)
    return table._replace(note=f"{table.note} {_TABLES[table.name]}".strip())


def _cell(row: tuple[Cell, ...]) -> Cell:
    said = "–" if row[1].text == "–" else _SUMMARY.get(row[0].text, _NO_NEED)
    return Cell(said, said)


def in_words(clusters: Clusters) -> str:
    """How many there are, and what takes them into account."""
    return (
        f"{clusters.number:,}, worth {clusters.effective:,.1f} of equal size. Taken into account by: "
        f"{', '.join(clusters.considered)}. As if rows were independent: {', '.join(clusters.ignored)}."
    )
