"""What is wrong with the rows of a source, counted by the engine in one aggregate."""

import functools
import operator
from typing import Any

import narwhals.stable.v2 as nw

from trueness._input.columns import is_or_are
from trueness._input.scores import format_value
from trueness.errors import DroppedRowsWarning, InputError, warn
from trueness.sources._question import Question, column_error
from trueness.sources._rows import MOST_WEIGHT, label_code, raw_rows, score_sum


def explain_bad_rows(frame: Any, question: Question) -> None:
    """Raise an error about bad values; warn if rows only have a missing value and may be dropped."""
    found = _count(frame, question)
    if found["incomplete"] and question.missing == "raise":
        _refuse_missing(found, question)
    if found["outside"]:
        _refuse_range(found, question)
    if found["unsummed"]:
        n, largest = found["unsummed"], max(abs(found["most"] - 1), abs(found["fewest"] - 1))
        demand = f"Rows of the `prob` columns must sum to 1 within {question.tolerance:g}"
        got = f"{n:,} of {found['rows']:,} {_do(n)} not, the largest difference is {largest:.3g}"
        raise InputError("", demand, got, remedy="`sum_tolerance=` allows more.")
    if found["mislabelled"]:
        _refuse_labels(found, question)
    if found["misweighed"]:
        got = f"{found['misweighed']:,} of {found['rows']:,} weights {is_or_are(found['misweighed'])} not"
        raise column_error("weight", str(question.weight), f"must be at least 0 and at most {MOST_WEIGHT:g}", got)
    if found["incomplete"] == found["rows"]:
        raise InputError("source", "must have at least one complete row", f"all {found['rows']:,} have a missing value")
    warn(
        f"{found['incomplete']:,} of {found['rows']:,} rows have a missing value and were dropped.", DroppedRowsWarning
    )


def score_range(rows: Any) -> tuple[float, float]:
    """The smallest and the largest good score."""
    p = nw.col("p")
    found = rows.frame.filter(nw.col("ok") == 1).select(p.min().alias("low"), p.max().alias("high")).lazy().collect()
    return float(found.get_column("low").to_list()[0]), float(found.get_column("high").to_list()[0])


def _count(frame: Any, question: Question) -> dict[str, Any]:
    """How many rows have each fault, and how far the worst scores are out."""
    raw, order = raw_rows(frame, question)
    scores = [f"x{i}" for i in range(len(question.scores))]
    text = isinstance(order[0], str)
    is_object = str(frame.collect_schema()[question.label]) == "Object"
    gaps = {"no_prob": _any([_is_missing(x) for x in scores]), "no_label": _is_missing("t", text or is_object)}
    if question.weight is not None:
        gaps["no_weight"] = _is_missing("w")
    flagged = raw.with_columns(
        *[_flag(when).alias(name) for name, when in gaps.items()],
        label_code(order, text).alias("code"),
        score_sum(scores).alias("total"),
        # Spark has no least or greatest of one column.
        (nw.col("x0") if question.binary else nw.min_horizontal(*scores)).alias("low"),
        (nw.col("x0") if question.binary else nw.max_horizontal(*scores)).alias("high"),
    )
    flagged = flagged.with_columns(_flag(_any([nw.col(name) == 1 for name in gaps])).alias("incomplete"))
    faults = _faults(scores, question)
    complete = nw.col("incomplete") == 0
    flagged = flagged.with_columns(*[_flag(complete & when).alias(name) for name, when in faults.items()])
    extremes = {
        "lowest": ("low", "outside", 1.0),
        "fewest": ("total", "unsummed", 1.0),
        "highest": ("high", "outside", 0.0),
        "most": ("total", "unsummed", 1.0),
    }
    flagged = flagged.with_columns(
        nw.when(nw.col(fault) == 1).then(nw.col(column)).otherwise(nw.lit(neutral)).alias(name)
        for name, (column, fault, neutral) in extremes.items()
    )
    answer = flagged.select(
        nw.len().alias("rows"),
        *[nw.col(name).sum().alias(name) for name in (*gaps, *faults, "incomplete")],
        *[nw.col(name).min() for name in ("lowest", "fewest")],
        *[nw.col(name).max() for name in ("highest", "most")],
    )
    row = answer.lazy().collect().rows(named=True)[0]
    return {name: float(value) if name in extremes else int(value) for name, value in row.items()}


def _faults(scores: list[str], question: Question) -> dict[str, Any]:
    outside = _any([(nw.col(x) < 0) | (nw.col(x) > 1) for x in scores])
    gap, w = nw.col("total") - 1.0, nw.col("w")
    far = (gap > question.tolerance) | (gap < -question.tolerance)
    return {
        "outside": outside,
        "unsummed": nw.lit(False) if question.binary else far & ~outside,
        "mislabelled": nw.col("code") < 0,
        "misweighed": nw.lit(False) if question.weight is None else (w < 0) | (w > MOST_WEIGHT),
    }


def _is_missing(name: str, text: bool = False) -> Any:
    column = nw.col(name)
    return column.is_null() if text else column.is_null() | column.is_nan()


def _any(flags: list[Any]) -> Any:
    return functools.reduce(operator.or_, flags)


def _flag(when: Any) -> Any:
    # A comparison with NULL is NULL, which as a condition means no.
    return nw.when(when).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def _refuse_missing(found: dict[str, Any], question: Question) -> None:
    for argument, names in question.columns.items():
        count = found.get(f"no_{argument}", 0)
        if count:
            demand = f"`{argument}` {_which(names)} must not have missing values"
            got = f"{count:,} of {found['rows']:,} rows {'have' if count > 1 else 'has'} one"
            raise InputError("", demand, got, remedy='`missing="drop"` leaves such rows out.')


def _which(names: tuple[str, ...]) -> str:
    return f"column {names[0]!r}" if len(names) == 1 else "columns"


def _refuse_range(found: dict[str, Any], question: Question) -> None:
    low, high, count = found["lowest"], found["highest"], found["outside"]
    ends = [f"the smallest is {format_value(low)}"] if low < 0 else []
    ends += [f"the largest is {format_value(high)}"] if high > 1 else []
    remedy = ""
    if low < -1e-3:
        remedy = "If they are logits, turn them into probabilities first."
    elif 1.5 < high <= 100:
        remedy = "If they are percentages, divide them by 100."
    got = f"{count:,} of {found['rows']:,} rows {_do(count)} not, {' and '.join(ends)}"
    raise InputError("", f"`prob` {_which(question.scores)} must lie in [0, 1]", got, remedy=remedy)


def _refuse_labels(found: dict[str, Any], question: Question) -> None:
    count, remedy = found["mislabelled"], ""
    if question.labels is not None or question.pos_label is not None:
        demand = f"must hold values named in `labels` ({', '.join(map(repr, question.labels or ()))})"
    elif question.binary:
        demand, remedy = "must be 0 or 1", "Say which value is the event: `pos_label=`, or `labels=[other, event]`."
    else:
        demand = f"must hold class codes 0 to {len(question.scores) - 1} or names of the `prob` columns"
        remedy = "Name other labels in column order: `labels=`."
    got = f"{count:,} of {found['rows']:,} labels {is_or_are(count)} not"
    raise column_error("label", question.label, demand, got, remedy)


def _do(count: int) -> str:
    return "do" if count > 1 else "does"
