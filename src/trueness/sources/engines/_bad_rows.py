"""Which rows of a frame are bad, how many, and the error that says so."""

import functools
import operator
from typing import Any

import narwhals.stable.v2 as nw

from trueness._input.columns import some
from trueness._input.scores import format_value
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.sources.engines._question import Question, column_error
from trueness.sources.engines._row_expressions import (
    MOST_WEIGHT,
    flag,
    label_code,
    raw_rows,
    score_sum,
)


def explain_bad_rows(frame: Any, question: Question) -> None:
    """Raise an error about bad values.

    Warn if rows only have a missing value and may be dropped.
    """
    flagged, counts = _faulty_rows(frame, question)
    rows = counts["rows"]
    if counts["incomplete"] and question.missing == "raise":
        _refuse_missing(counts, question)
    if counts["outside"]:
        _refuse_outside(flagged, counts, question)
    if counts["unsummed"]:
        low, high = ends_of(flagged, "unsummed", "total", "total")
        largest = max(abs(low - 1), abs(high - 1))
        demand = f"Rows of the `prob` columns must sum to 1 within {question.tolerance:g}"
        got = some(counts["unsummed"], rows, f"do not, the largest difference is {largest:.3g}")
        raise InputError("", demand, got, remedy="`sum_tolerance=` allows more.")
    if counts["mislabelled"]:
        _refuse_labels(counts, question)
    if counts["misweighed"]:
        demand = f"must be at least 0 and at most {MOST_WEIGHT:g}"
        got = some(counts["misweighed"], rows, "weights are not")
        raise column_error("weight", str(question.weight), demand, got)
    if counts["incomplete"] == rows:
        got = f"all {rows:,} have a missing value"
        raise InputError("source", "must have at least one complete row", got)
    warn(dropped_rows(counts["incomplete"], rows), DroppedRowsWarning)


def _refuse_missing(counts: dict[str, int], question: Question) -> None:
    for argument, names in question.columns.items():
        missing = counts.get(f"no_{argument}")
        if missing:
            demand = f"`{argument}` {_which(names)} must not have missing values"
            got = some(missing, counts["rows"], "rows have one")
            raise InputError("", demand, got, remedy='`missing="drop"` leaves such rows out.')


def _refuse_outside(flagged: Any, counts: dict[str, int], question: Question) -> None:
    """Raise because scores lie outside [0, 1]: how many, and the most extreme of them."""
    low, high = ends_of(flagged, "outside", "low", "high")
    ends = []
    if low < 0:
        ends.append(f"the smallest is {format_value(low)}")
    if high > 1:
        ends.append(f"the largest is {format_value(high)}")
    remedy = ""
    if low < -1e-3:
        remedy = "If they are logits, turn them into probabilities first."
    elif 1.5 < high <= 100:
        remedy = "If they are percentages, divide them by 100."
    got = some(counts["outside"], counts["rows"], f"rows do not, {' and '.join(ends)}")
    demand = f"`prob` {_which(question.scores)} must lie in [0, 1]"
    raise InputError("", demand, got, remedy=remedy)


def ends_of(frame: Any, fault: str, low: str, high: str) -> tuple[float, float]:
    """The least and the greatest value of two columns among the rows with a fault."""
    ends = frame.filter(nw.col(fault) == 1).select(
        nw.col(low).min().alias("low"), nw.col(high).max().alias("high")
    )
    row = ends.lazy().collect().rows(named=True)[0]
    return float(row["low"]), float(row["high"])


def _faulty_rows(frame: Any, question: Question) -> tuple[Any, dict[str, int]]:
    """The rows with a flag for each fault, and how many rows have it."""
    raw, order = raw_rows(frame, question)
    scores = [f"x{i}" for i in range(len(question.scores))]
    text = isinstance(order[0], str)
    is_object = str(frame.collect_schema()[question.label]) == "Object"
    gaps = {
        "no_prob": _any([_is_missing(x) for x in scores]),
        "no_label": _is_missing("t", text or is_object),
    }
    if question.weight is not None:
        gaps["no_weight"] = _is_missing("w")
    # Spark has no least or greatest of one column.
    if question.binary:
        low = nw.col("x0")
        high = nw.col("x0")
    else:
        low = nw.min_horizontal(*scores)
        high = nw.max_horizontal(*scores)
    added = {name: flag(when) for name, when in gaps.items()}
    added |= {"low": low, "high": high}
    added |= {"code": label_code(order, text), "total": score_sum(scores)}
    flagged = raw.with_columns(*[value.alias(name) for name, value in added.items()])
    is_incomplete = _any([nw.col(name) == 1 for name in gaps])
    flagged = flagged.with_columns(flag(is_incomplete).alias("incomplete"))
    outside = _any([(nw.col(x) < 0) | (nw.col(x) > 1) for x in scores])
    gap = nw.col("total") - 1.0
    w = nw.col("w")
    far = (gap > question.tolerance) | (gap < -question.tolerance)
    faults = {
        "outside": outside,
        "unsummed": nw.lit(False) if question.binary else far & ~outside,
        "mislabelled": nw.col("code") < 0,
        "misweighed": nw.lit(False) if question.weight is None else (w < 0) | (w > MOST_WEIGHT),
    }
    complete = nw.col("incomplete") == 0
    flagged = flagged.with_columns(
        *[flag(complete & when).alias(name) for name, when in faults.items()]
    )
    counts = [nw.col(name).sum().alias(name) for name in (*gaps, *faults, "incomplete")]
    row = flagged.select(nw.len().alias("rows"), *counts).lazy().collect().rows(named=True)[0]
    return flagged, {name: int(value) for name, value in row.items()}


def _is_missing(name: str, text: bool = False) -> Any:
    column = nw.col(name)
    if text:
        return column.is_null()
    return column.is_null() | column.is_nan()


def _any(flags: list[Any]) -> Any:
    return functools.reduce(operator.or_, flags)


def _which(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"column {names[0]!r}"
    return "columns"


def _refuse_labels(counts: dict[str, int], question: Question) -> None:
    """Raise because labels are not among those that were named, or are no codes of classes."""
    remedy = ""
    if question.labels is not None or question.pos_label is not None:
        named = ", ".join(map(repr, question.labels or ()))
        demand = f"must hold values named in `labels` ({named})"
    elif question.binary:
        demand = "must be 0 or 1"
        remedy = "Say which value is the event: `pos_label=`, or `labels=[other, event]`."
    else:
        last = len(question.scores) - 1
        demand = f"must hold class codes 0 to {last} or names of the `prob` columns"
        remedy = "Name other labels in column order: `labels=`."
    got = some(counts["mislabelled"], counts["rows"], "labels are not")
    raise column_error("label", question.label, demand, got, remedy)
