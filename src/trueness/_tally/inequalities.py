"""The inequalities that the sums of any rows satisfy; stored sums that break one are refused by its name."""

from typing import Any, NoReturn, TypeAlias

import numpy as np

from trueness._input.weights import LARGEST
from trueness._kernels.grid import GRID_CELLS, cell_of
from trueness._tally.bins import MOST_EXACT, Bins
from trueness._tally.cells import MOST_ROWS, Cells
from trueness._tally.grid import GridCells
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

Part: TypeAlias = Cells | Bins | GridCells
Fields: TypeAlias = dict[str, Any]

_SLACK = 1e-9  # what rounding may do to sums of floats, relative to their weight
# A cell of a sketch goes whole to the bin of its mean score: single scores may lie this far beyond the edges.
_WIDEST_CELL = 2.0**-8
_SQUARES_BELOW = "Σw² must lie between (Σw)² / rows and (Σw)²"


def refuse(reason: str, remedy: str = "") -> NoReturn:
    """Raise because sums cannot be read."""
    raise InputError("", f"The sums cannot be read: {reason}", remedy=remedy) from None


def _require(fact: Any, law: str) -> None:
    """Refuse sums that break a law in some cell, and name the law and the first such cell."""
    good = np.asarray(fact)
    if good.all():
        return
    where = f", which fails in cell {int(np.argwhere(~good)[0, 0])}" if good.ndim else ""
    refuse(f"its columns contradict each other: {law}{where}")


def _check_weights(count: Ints, weight: Numbers, events: Numbers, squares: Floats | None) -> None:
    """Rows, Σw, Σwy and Σw² of each cell; by Cauchy-Schwarz, (Σw)² ≤ n Σw²."""
    w = weight.astype(np.float64)
    _require(count >= 0, "rows must not be below 0")
    _require((count > 0) == (w > 0), "a cell has rows if and only if it has weight")
    _require(float(count.sum(dtype=np.float64)) <= MOST_ROWS, f"there must be at most {MOST_ROWS:,} rows")
    _require(w <= count * LARGEST, f"no weight may exceed {LARGEST:g}")
    _require((events >= 0) & (events <= weight), "Σwy must lie between 0 and Σw")
    if squares is not None:
        # Squares of tiny weights are rounded coarsely, or to 0.
        most = w * w * (1 + _SLACK) + 1e-300
        _require((squares * count >= w * w * (1 - _SLACK) - 1e-300) & (squares <= most), _SQUARES_BELOW)


def _check_scores(weight: Numbers, score: Floats, square: Floats | None, low: Floats, high: Floats, what: str) -> None:
    """Σwp and Σwp² of each cell, whose scores lie between `low` and `high`.

    (Σwp)² ≤ Σw Σwp² by Cauchy-Schwarz; no score makes (p − low)(high − p) negative.
    """
    w = weight.astype(np.float64)
    slack = _SLACK * w
    within = (score >= low * w - slack) & (score <= high * w + slack)
    _require(within, f"Σwp of {what} must lie within the edges")
    if square is not None:
        _require(square * w >= score * score - slack * w, f"(Σwp)² of {what} must be at most Σw Σwp²")
        most = (low + high) * score - low * high * w
        _require(square <= most + slack, f"Σwp² of {what} is too large for scores within the edges")


def _is_empty(fields: Fields, *columns: str) -> bool:
    """Whether there are no cells and no other columns than these; classes without rows should cost nothing."""
    if any(len(fields.get(name, " ")) for name in columns):
        return False
    return fields.get("exact", True) is True and len(fields) == len(columns) + ("exact" in fields)


def _check_columns(fields: Fields, extra: str | None = None) -> None:
    """Columns have one length, but for one entry more in `extra`, and no inf or nan."""
    columns = {name: values for name, values in fields.items() if isinstance(values, np.ndarray)}
    lengths = {len(values) - (name == extra) for name, values in columns.items()}
    _require(len(lengths) == 1, "columns must have one length")
    for name, values in columns.items():
        _require(np.isfinite(values), f"{name!r} must be finite")


def read_cells(fields: Fields) -> Cells:
    """One part of a tally."""
    if _is_empty(fields, "score", "count", "weight", "events"):
        return Cells.empty()
    _check_columns(fields)
    score, count, weight, events = (fields[name] for name in ("score", "count", "weight", "events"))
    squares, event_squares = fields.get("squares"), fields.get("event_squares")
    _require((score >= 0) & (score <= 1), "scores must lie in [0, 1]")
    _require(np.diff(score) > 0, "scores must ascend")
    _require(count > 0, "each score must have rows")
    _check_weights(count, weight, events, squares)
    if squares is None or event_squares is None:
        _require(fields["exact"], "weights that are not whole numbers need 'squares'")
        _require(count == weight, "without 'squares', rows must have weight 1")
        return Cells(score, count, weight, events)
    _require((event_squares >= 0) & (event_squares <= squares), "Σw²y must lie between 0 and Σw²")
    if fields["exact"]:
        _require(count <= weight, "whole weights must be at least 1")
        _require(float(weight.sum(dtype=np.float64)) <= MOST_ROWS, f"whole weights must sum to at most {MOST_ROWS:,}")
    return Cells(score, count, weight, events, squares, event_squares).settled()


def _check_table(table: Ints) -> None:
    """Whole sums of scores in [0, 1], in two parts of 26 and 27 bits, that still add up within 64 bits."""
    _require(table >= 0, "sums must not be below 0")
    rows = table[:, :, :1]
    _require(rows <= MOST_EXACT, f"a cell with whole sums must have at most {MOST_EXACT:,} rows")
    _require(table[:, :, 1::2] <= rows * 2.0**26, "Σp must be at most the number of rows")
    _require(table[:, :, 2::2] <= rows * 2.0**27, "the lower bits of Σp must be fewer than 28 per row")


def read_bins(fields: Fields) -> Bins:
    """One part of a `Binned`."""
    _check_columns(fields, "edges")
    edges, count, table, floats = (fields.get(name) for name in ("edges", "count", "table", "floats"))
    assert edges is not None
    _require(len(edges) > 1 and edges[0] >= 0 and edges[-1] <= 1, "edges must lie in [0, 1]")
    _require(np.diff(edges) >= 0, "edges must ascend")
    moments, whole = fields["moments"], fields["whole"]
    if table is not None:
        _check_table(table)
        _require(table[:, :, 0].sum(axis=1) <= MOST_EXACT, f"a bin with whole sums has at most {MOST_EXACT:,} rows")
        _require(whole, "whole sums need whole weights")
    elif floats is not None:
        _require(floats >= 0, "sums must not be below 0")
    part = Bins(edges, table, floats, count, moments=moments, whole=whole)
    weight, events = part.weight, part.events
    # A row of whole weight 2 may be two rows, so that whole weights need not have the Σw² of their rows.
    _check_weights(part.count, weight, events, None if whole else part.squares)
    if whole:
        _require(part.count <= weight, "whole weights must be at least 1")
    if whole and floats is not None:
        w = floats[:, 0]
        between = (floats[:, 1] >= w * (1 - _SLACK)) & (floats[:, 1] <= w * w * (1 + _SLACK))
        _require(between, "Σw² of whole weights must lie between Σw and (Σw)²")
    low, high = edges[:-1], edges[1:]
    _check_scores(weight, part.sum_score, None, low, high, "a bin")
    low, high = np.maximum(low - _WIDEST_CELL, 0), np.minimum(high + _WIDEST_CELL, 1)
    if moments:
        _check_scores(weight, part.sum_score, part.sum_square, low, high, "a bin")
    _check_event_scores(part, low, high)
    return part


def _check_event_scores(part: Bins, low: Floats, high: Floats) -> None:
    """Σwyp of events, and the rest, Σw(1 − y)p, of the others; Σwp² of both is at least what their means have."""
    slack = _SLACK * part.weight
    least = np.zeros(part.size)
    for name, weight, score in (
        ("events", part.events, part.sum_event_score),
        ("non-events", part.weight - part.events, part.sum_score - part.sum_event_score),
    ):
        within = (score >= low * weight - slack) & (score <= high * weight + slack)
        _require(within, f"Σwp of {name} must lie within the edges")
        mean = np.divide(score, weight, out=np.zeros(part.size), where=weight > 0)
        least += mean.clip(0, 1) * score  # clipped, as what rounding leaves of no weight has any mean
    if part.moments:
        _require(
            part.sum_square >= least - slack, "Σwp² must be at least (Σwp)² / Σw of events plus that of non-events"
        )


def read_grid(fields: Fields) -> GridCells:
    """One part of a sketch."""
    if _is_empty(fields, "cell", "count", "ends", "table"):
        return GridCells.empty()
    _check_columns(fields)
    part = GridCells(*(fields.get(name) for name in ("cell", "count", "ends", "table", "floats", "squares")))  # type: ignore[arg-type]  # checked layout
    _require((part.cell >= 0) & (part.cell < GRID_CELLS), f"cells must be numbers from 0 to {GRID_CELLS - 1:,}")
    _require(np.diff(part.cell) > 0, "cells must ascend")
    _require(part.count > 0, "each cell must have rows")
    _require((part.low >= 0) & (part.low <= part.high) & (part.high <= 1), "'ends' must ascend within [0, 1]")
    _require(cell_of(part.ends) == part.cell[:, None], "'ends' must lie in their cell")
    if part.table is not None:
        _check_table(part.table)
    else:
        _require(part.floats >= 0, "sums must not be below 0")  # type: ignore[operator]  # there is one of the two
    if part.squares is None:
        _require(part.count == part.weight, "without 'squares', rows must have weight 1")
    elif part.exact:
        _require(part.count <= part.weight, "whole weights must be at least 1")
    _check_weights(part.count, part.weight, part.events, None if part.squares is None else part.squares.sum(axis=1))
    for label, what in enumerate(("non-events", "events")):
        weight = part.by_label[:, label]
        score, square = part.scores_by_label[:, label], part.squares_by_label[:, label]
        _check_scores(weight, score, square, part.low, part.high, what)
        if part.squares is not None:
            _require((part.squares[:, label] > 0) <= (weight > 0), f"Σw² of {what} needs {what}")
    return part.settled()


def check_weight(parts: tuple[Part, ...]) -> None:
    """Rows have a largest weight that is not tiny, as :func:`trueness._input.weights.check_weights` demands."""
    totals = [part.totals for part in parts if part.size]
    if any(one.rows for one in totals) and max(one.weight for one in totals) < 1 / LARGEST:
        refuse(f"its columns contradict each other: some weight must be at least {1 / LARGEST:g}")


def check_classes(parts: tuple[Part, ...]) -> None:
    """The parts of a class-wise view: each holds all rows, and each row is an event of one class.

    The scores of a row sum to at most 2, for which `sum_tolerance` has to be 1.
    """
    if not any(part.size for part in parts):
        return
    totals = [part.totals for part in parts]
    rows, weight = totals[0].rows, totals[0].weight
    slack = _SLACK * weight
    if any(one.rows != rows or abs(one.weight - weight) > slack for one in totals):
        refuse("its classes contradict each other: each class must hold all rows")
    if abs(sum(one.events for one in totals) - weight) > slack:
        refuse("its classes contradict each other: each row must be an event of one class")
    if sum(_sum_of_scores(part) for part in parts) > 2 * weight + slack:
        refuse("its classes contradict each other: the scores of a row must sum to at most 2")


def _sum_of_scores(part: Part) -> float:
    return float(part.weight @ part.score if isinstance(part, Cells) else part.sum_score.sum())
