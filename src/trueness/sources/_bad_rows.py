"""What is wrong with the rows of a source, counted by the engine in one aggregate."""

from typing import Any, NamedTuple

from trueness._input.scores import format_value
from trueness.errors import DroppedRowsWarning, InputError, warn
from trueness.sources._question import Question, column_error
from trueness.sources._rows import MOST_WEIGHT, label_code, raw_rows, score_sum

__all__ = ["explain_bad_rows", "score_range"]


def explain_bad_rows(frame: Any, question: Question) -> None:
    """Raise an error about bad values; warn if rows only miss a value and may be dropped."""
    found = _count(frame, question)
    if found["incomplete"] and question.missing == "raise":
        _refuse_missing(found, question)
    if found["outside"]:
        _refuse_range(found, question)
    if found["unsummed"]:
        largest = max(abs(found["most"] - 1), abs(found["fewest"] - 1))
        raise InputError(
            "",
            f"Rows of the `score` columns must sum to 1 within {question.tolerance:g}",
            f"{found['unsummed']:,} of {found['rows']:,} {_do(found['unsummed'])} not, the largest difference is "
            f"{largest:.3g}",
            remedy="`sum_tolerance=` allows more.",
        )
    if found["mislabelled"]:
        _refuse_labels(found, question)
    if found["misweighed"]:
        raise column_error(
            "weight",
            str(question.weight),
            f"must be at least 0 and at most {MOST_WEIGHT:g}",
            f"{found['misweighed']:,} of {found['rows']:,} weights {_are(found['misweighed'])} not",
        )
    if found["incomplete"] == found["rows"]:
        raise InputError("source", "must have at least one complete row", f"all {found['rows']:,} miss a value")
    warn(f"{found['incomplete']:,} of {found['rows']:,} rows miss a value and were dropped.", DroppedRowsWarning)


def score_range(rows: Any) -> tuple[float, float]:
    """The smallest and the largest good score."""
    import narwhals.stable.v2 as nw

    p = nw.col("p")
    found = rows.frame.filter(nw.col("ok") == 1).select(p.min().alias("low"), p.max().alias("high")).lazy().collect()
    return float(found.get_column("low").to_list()[0]), float(found.get_column("high").to_list()[0])


class _Flag(NamedTuple):
    name: str
    when: Any


def _count(frame: Any, question: Question) -> dict[str, Any]:
    import narwhals.stable.v2 as nw

    raw, order = raw_rows(frame, question)
    scores = [f"x{i}" for i in range(len(question.scores))]
    text = isinstance(order[0], str)
    is_object = str(frame.collect_schema()[question.label]) == "Object"
    gone = [_absent(nw.col(x)) for x in scores]
    flags = [_Flag("no_score", _any(gone)), _Flag("no_label", _absent(nw.col("t"), text or is_object))]
    if question.weight is not None:
        flags.append(_Flag("no_weight", _absent(nw.col("w"))))
    flagged = raw.with_columns(
        *[_as_int(flag.when, nw).alias(flag.name) for flag in flags],
        label_code(order, text).alias("code"),
        score_sum(scores, nw).alias("total"),
        _extreme(scores, nw.min_horizontal, nw).alias("low"),
        _extreme(scores, nw.max_horizontal, nw).alias("high"),
    )
    flagged = flagged.with_columns(_as_int(_any([nw.col(f.name) == 1 for f in flags]), nw).alias("incomplete"))
    complete = nw.col("incomplete") == 0
    faults = _faults(scores, question, nw)
    flagged = flagged.with_columns(*[_as_int(complete & f.when, nw).alias(f.name) for f in faults])
    for low, high, of, where, neutral in (
        ("lowest", "highest", ("low", "high"), "outside", (1.0, 0.0)),
        ("fewest", "most", ("total", "total"), "unsummed", (1.0, 1.0)),
    ):
        bad = nw.col(where) == 1
        flagged = flagged.with_columns(
            nw.when(bad).then(nw.col(of[0])).otherwise(nw.lit(neutral[0])).alias(low),
            nw.when(bad).then(nw.col(of[1])).otherwise(nw.lit(neutral[1])).alias(high),
        )
    counts = [f.name for f in (*flags, *faults)] + ["incomplete"]
    answer = flagged.select(
        nw.len().alias("rows"),
        *[nw.col(name).sum().alias(name) for name in counts],
        nw.col("lowest").min(),
        nw.col("fewest").min(),
        nw.col("highest").max(),
        nw.col("most").max(),
    )
    row = answer.lazy().collect()
    ends = ("lowest", "fewest", "highest", "most")
    return {name: _number(row.get_column(name).to_list()[0], name in ends) for name in row.columns}


def _extreme(scores: list[str], of: Any, nw: Any) -> Any:
    # Spark has no least or greatest of one column.
    return nw.col(scores[0]) if len(scores) == 1 else of(*scores)


def _number(value: Any, is_float: bool) -> float:
    return float(value) if is_float else int(value)


def _faults(scores: list[str], question: Question, nw: Any) -> list[_Flag]:
    outside = _any([(nw.col(x) < 0) | (nw.col(x) > 1) for x in scores])
    far = nw.lit(False)
    if not question.binary:
        gap = nw.col("total") - 1.0
        far = (gap > question.tolerance) | (gap < -question.tolerance)
    faults = [
        _Flag("outside", outside),
        _Flag("unsummed", far & ~outside),
        _Flag("mislabelled", nw.col("code") < 0),
    ]
    if question.weight is None:
        return [*faults, _Flag("misweighed", nw.lit(False))]
    return [*faults, _Flag("misweighed", (nw.col("w") < 0) | (nw.col("w") > MOST_WEIGHT))]


def _absent(column: Any, text: bool = False) -> Any:
    return column.is_null() if text else column.is_null() | column.is_nan()


def _any(flags: list[Any]) -> Any:
    found = flags[0]
    for flag in flags[1:]:
        found = found | flag
    return found


def _as_int(flag: Any, nw: Any) -> Any:
    # A comparison with NULL is NULL; as a condition that is no.
    return nw.when(flag).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def _refuse_missing(found: dict[str, Any], question: Question) -> None:
    for argument, names in question.columns.items():
        count = found.get(f"no_{argument}", 0)
        if count:
            raise InputError(
                "",
                f"`{argument}` {_which(names)} must not have missing values",
                f"{count:,} of {found['rows']:,} rows {'have' if count > 1 else 'has'} one",
                remedy='`missing="drop"` leaves such rows out.',
            )


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
    raise InputError(
        "",
        f"`score` {_which(question.scores)} must lie in [0, 1]",
        f"{count:,} of {found['rows']:,} rows {_do(count)} not, {' and '.join(ends)}",
        remedy=remedy,
    )


def _refuse_labels(found: dict[str, Any], question: Question) -> None:
    count, remedy = found["mislabelled"], ""
    if question.labels is not None or question.pos_label is not None:
        demand = f"must hold values named in `labels` ({', '.join(map(repr, question.labels or ()))})"
    elif question.binary:
        demand, remedy = "must be 0 or 1", "Say which value is the event: `pos_label=`, or `labels=[other, event]`."
    else:
        demand = f"must hold class codes 0 to {len(question.scores) - 1} or names of the score columns"
        remedy = "Name other labels in column order: `labels=`."
    got = f"{count:,} of {found['rows']:,} labels {_are(count)} not"
    raise column_error("label", question.label, demand, got, remedy)


def _do(count: int) -> str:
    return "do" if count > 1 else "does"


def _are(count: int) -> str:
    return "are" if count > 1 else "is"
