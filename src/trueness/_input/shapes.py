"""The shapes that labels and scores come in, and the columns that are made of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input import scores
from trueness._input.columns import Column, by_row
from trueness._input.labels import refuse_swapped
from trueness._input.pixels import flatten
from trueness.errors import InputError, Remedy
from trueness.typing import Ints


class Rows(NamedTuple):
    """Labels, scores and weights with an entry per row."""

    y: Column
    p: Column
    w: Column | None = None
    pixels: int = 0
    """The pixels of an image; 0 if scores are not dense."""
    note: str = ""
    """How a single column was read."""
    numbers: Ints | None = None
    """The user's row numbers; None if no row was left out."""


def rows_of_columns(y: Column, p: Column, *, multilabel: bool) -> Rows:
    """Labels and scores in their final shape: images flat, and a single column as a vector."""
    if multilabel:
        return Rows(_label_matrix(y, p), p)
    if p.values.ndim > 2:
        flat_labels, flat_scores = flatten(y, p)
        pixels = p.values[0, 0].size if p.values.size else 1
        return Rows(flat_labels, flat_scores, pixels=pixels)
    if p.values.ndim < 2 or p.values.shape[1] != 1 or y.values.ndim not in (1, 2):
        return Rows(y, p)
    if y.values.shape[1:] == (1,):
        y = y._replace(values=y.values[:, 0])
    note = "The only column of scores is P(positive) of a binary problem."
    return Rows(y, Column(p.values[:, 0], p.missing), note=note)


def _label_matrix(y: Column, p: Column) -> Column:
    """Labels with a column for each label, as numbers; a row is missing if any entry is.

    They must have the shape of the scores.
    """
    if y.values.ndim != 2 or y.values.shape != p.values.shape:
        demand = (
            "`y_true` and `y_prob` must have a column per label and one shape if "
            "`kind='multilabel'`"
        )
        remedy = "Class labels, one per row, need no `kind`." if y.values.ndim == 1 else ""
        raise InputError("", demand, f"got {y.values.shape} and {p.values.shape}", remedy=remedy)
    if p.values.shape[1] == 0:
        raise InputError(
            "y_prob", "must have a column per label, at least 1", f"got shape {p.values.shape}"
        )
    labels = scores.numeric(y, "y_true")
    if labels.values.dtype.kind != "f":
        return labels
    gone = by_row(np.isnan(labels.values))
    if not gone.any():
        return labels
    if labels.missing is not None:
        gone = gone | labels.missing
    return labels._replace(missing=gone)


def check_rows(rows: Rows, *, are_described: bool, multilabel: bool, may_be_empty: bool) -> None:
    """Raise for labels and scores that are swapped, have other shapes, or are empty."""
    y = rows.y.values
    p = rows.p.values
    # Of other rows, the pass over them notices it.
    if are_described or y.ndim == 2 or p.dtype.kind not in "biuf":
        refuse_swapped(y, p)
    if not multilabel:
        _check_shapes(y, p)
    if y.shape[0] == 0 and not may_be_empty:
        raise InputError("", "`y_true` and `y_prob` must have at least one row", "both are empty")


def _check_shapes(y: NDArray[Any], p: NDArray[Any]) -> None:
    """Raise unless labels are a vector and scores have a row for each, of two columns at least."""
    if y.ndim != 1:
        got = f"got {y.ndim} (shape {y.shape})"
        remedy = _vector_remedy(y, p)
        raise InputError("y_true", "must have one dimension", got, remedy=remedy)
    if p.ndim == 0:
        raise InputError(
            "y_prob",
            "must have one or two dimensions, or dense ones (B, C, …)",
            "got a single number",
        )
    if y.shape[0] != p.shape[0]:
        what = "scores" if p.ndim == 1 else "rows of scores"
        remedy = ""
        if p.shape[0] < p.shape[-1] == y.shape[0]:
            remedy = "Transpose `y_prob` if it has a row per class."
        demand = "`y_true` and `y_prob` must have one entry per row"
        got = f"got {y.shape[0]:,} labels and {p.shape[0]:,} {what}"
        raise InputError("", demand, got, remedy=remedy)
    if p.ndim == 2 and p.shape[1] < 2:
        raise InputError(
            "y_prob", "must have a column per class, at least 2", f"got shape {p.shape}"
        )


def _vector_remedy(y: NDArray[Any], p: NDArray[Any]) -> Remedy | str:
    """How to pass labels that have more than one dimension; empty if nothing is known."""
    if y.ndim != 2:
        return ""
    if 1 in y.shape:
        return "`np.ravel(y_true)` makes a vector of it."
    hints = []
    if y.dtype.kind in "biuf" and bool((y.sum(axis=1) == 1).all()):
        hints.append("`np.argmax(y_true, axis=1)` turns one-hot rows into labels.")
    if y.shape == p.shape:
        hints.append("`kind='multilabel'` reads each column as a label of its own.")
    return Remedy("multilabel", " ".join(hints))
