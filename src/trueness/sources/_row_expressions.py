"""The rows of a frame in the form that is summed: a score, a label 0/1, a weight, and whether all three are good.

Everything here is expressions that the engine evaluates; no row is fetched. Casts come first and
once: Spark cannot sum booleans and rounds products of float32; `floor` comes before every cast to
integers, because some engines round. A bad row keeps its place with harmless values, so that no
engine meets a cast or a logarithm it cannot compute.

Columns are renamed c0, c1, …, because engines do not take all names literally: Polars reads `*` and
`^p$` as patterns, DuckDB reads `*` so, Spark looks into `a.b`; DuckDB and Spark take `p` and `P`
for one name.
"""

import functools
import operator
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from trueness._input.columns import Categories, categories_of, some
from trueness._input.labels import list_labels, refuse_contradiction, refuse_permuted_codes
from trueness._input.scores import format_value
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.sources._question import Question, absent_column, column_error, refuse_repeated

# The squares of weights are summed, which must neither overflow nor vanish.
MOST_WEIGHT = 1e100
LEAST_EXPONENT = -332
FLOATS = ("Float32", "Float64")


class Rows(NamedTuple):
    """A frame with the columns p, y and ok and, where they are needed, w, part, by0, by1 and so on."""

    frame: Any
    source: Any
    question: Question
    classes: tuple[Any, ...] | None
    by: list[str]
    keys: list[str]  # the columns that separate the sums: those of groups, then the part

    @property
    def weighted(self) -> bool:
        return self.question.weight is not None

    @property
    def n_parts(self) -> int:
        if self.classes is None:
            return 1
        return len(self.classes)


def check_columns(frame: Any, question: Question) -> Any:
    """The schema, once every column is known to exist, once, and to be of a type that can be read."""
    schema = frame.collect_schema()
    for argument, name in question.named:
        if name not in schema:
            raise absent_column(argument, repr(name), schema)
    refuse_repeated(_column_names(frame), question, "`source`")  # DuckDB allows it
    for argument in ("prob", "weight"):
        for name in question.columns[argument]:
            if not _is_number(schema[name]):
                raise column_error(
                    argument, name, "must hold numbers", f"its type is {schema[name]}"
                )
    for name in question.by:
        if str(schema[name]).startswith(("List", "Array", "Struct")):
            raise column_error("by", name, "must hold single values", f"its type is {schema[name]}")
    for name in question.columns["cluster"]:
        if not (
            schema[name].is_integer() or _is_text(schema[name]) or str(schema[name]) == "Object"
        ):
            demand = "must hold text or whole numbers"
            remedy = "Cast it to text."
            raise column_error("cluster", name, demand, f"its type is {schema[name]}", remedy)
    return schema


def _is_number(dtype: Any) -> bool:
    return dtype.is_numeric() or str(dtype) in ("Boolean", "Unknown")


def _column_names(frame: Any) -> list[Any]:
    """The names of all columns in order, as the engine has them."""
    native = frame.to_native()
    if frame.implementation.is_duckdb():
        return list(native.columns)
    return list(frame.collect_schema())


def plain_names(frame: Any) -> dict[Any, str]:
    """The name of each column in :func:`select_plainly`."""
    return {name: f"c{i}" for i, name in enumerate(_column_names(frame))}


def select_plainly(frame: Any, question: Question, schema: Any, *, opaque: bool = True) -> Any:
    """The columns of the question, each called c and its position."""
    # DuckDB decides comparisons by the least and greatest value that a Parquet file states for a
    # column, even though these leave nan out, and looks through most functions. `opaque` hides the
    # column behind a random number.
    wanted = {name for _, name in question.named}
    places = [(i, name) for i, name in enumerate(_column_names(frame)) if name in wanted]
    floats = {name for name in wanted - set(question.by) if opaque and str(schema[name]) in FLOATS}
    native = frame.to_native()
    if frame.implementation.is_polars():
        import polars as pl

        return nw.from_native(native.select(*[pl.nth(i).alias(f"c{i}") for i, _ in places]))
    if frame.implementation.is_duckdb():
        hidden = [
            f"#{i + 1}{' + 0 * random()' if name in floats else ''} AS c{i}" for i, name in places
        ]
        return nw.from_native(native.project(", ".join(hidden)))
    if frame.implementation.is_spark_like():
        frame = nw.from_native(native.toDF(*[f"c{i}" for i in range(len(native.columns))]))
        return frame.select(*[f"c{i}" for i, _ in places])
    if frame.implementation.is_ibis() and floats and native.get_backend().name == "duckdb":
        import ibis

        frame = nw.from_native(
            native.mutate([(native[x] + ibis.random() * 0).name(x) for x in sorted(floats)])
        )
    return frame.select(*[nw.col(name).alias(f"c{i}") for i, name in places])


def raw_rows(frame: Any, question: Question) -> tuple[Any, tuple[Any, ...]]:
    """The columns as x0, x1, …, t (the label), w and by0, by1, ….

    And the labels in order of their codes.
    """
    schema = check_columns(frame, question)
    named = {name: nw.col(plain) for name, plain in plain_names(frame).items()}
    columns = [
        _as_float(named[name], schema[name]).alias(f"x{i}")
        for i, name in enumerate(question.scores)
    ]
    label = _as_label(named[question.label], schema[question.label], question.label)
    columns.append(label.alias("t"))
    if question.weight is not None:
        columns.append(_as_float(named[question.weight], schema[question.weight]).alias("w"))
    columns += [named[name].alias(f"by{i}") for i, name in enumerate(question.by)]
    raw = select_plainly(frame, question, schema).select(*columns)
    categories = _categories(frame, schema[question.label], question.label)
    return raw, _label_order(raw, question, str(schema[question.label]), categories)


def _categories(frame: Any, dtype: Any, name: str) -> Categories | None:
    """The categories of text labels that have an order of their own."""
    found = None
    if str(dtype).startswith("Enum"):
        found = Categories(tuple(dtype.categories), ordered=True)
    elif isinstance(frame, nw.DataFrame):
        found = categories_of(frame.get_column(name).to_native())
    if found is not None and all(isinstance(one, str) for one in found.names):
        return found
    return None


def _as_label(column: Any, dtype: Any, name: str) -> Any:
    if _is_number(dtype):
        return _as_float(column, dtype)
    if _is_text(dtype):
        return column.cast(nw.String)
    if str(dtype) == "Object":  # pandas' booleans with gaps, and mixtures: compared as they are
        return column
    raise column_error(
        "label", name, "must hold 0/1, bool, integers or strings", f"its type is {dtype}"
    )


def _as_float(column: Any, dtype: Any) -> Any:
    if str(dtype) != "Boolean":
        return column.cast(nw.Float64)
    return nw.when(column).then(nw.lit(1.0)).otherwise(nw.when(~column).then(nw.lit(0.0)))


def _is_text(dtype: Any) -> bool:
    return str(dtype).startswith(("String", "Categorical", "Enum"))


def _label_order(
    raw: Any, question: Question, dtype: str, categories: Categories | None
) -> tuple[Any, ...]:
    text = _is_text(dtype)
    for named in question.labels or (() if question.pos_label is None else (question.pos_label,)):
        if dtype != "Object" and isinstance(named, str) != text:
            argument = "pos_label" if question.labels is None else "labels"
            holds = "strings" if text else "numbers"
            demand = f"must be values of `label` column {question.label!r}, which holds {holds}"
            raise InputError(argument, demand, f"got {named!r}")
        if isinstance(named, int) and abs(named) > 2**53:
            got = "cast it to strings, since engines compare numbers as floats"
            raise column_error("label", question.label, f"has numbers beyond 2^53 ({named})", got)
    if question.labels is not None:
        refuse_contradiction(question.labels, question.scores, "`prob` columns")
        return question.labels
    if question.binary:
        if (
            question.pos_label is None
            and categories is not None
            and categories.ordered
            and len(categories.names) == 2
        ):
            return categories.names
        return _two_labels(raw, question, text)
    if not text:
        refuse_permuted_codes(question.scores, argument="prob")
        return tuple(range(len(question.scores)))
    return _class_names(raw, question, categories)


def _two_labels(raw: Any, question: Question, text: bool) -> tuple[Any, ...]:
    if question.pos_label is None:
        if not text:
            return (0, 1)
        found = _distinct(raw, 4)
        if not found:
            return ("0", "1")
        got = f"it holds strings ({list_labels(found)})"
        remedy = f"Say which of them the scores refer to: `pos_label={found[-1]!r}`."
        raise column_error("label", question.label, "must be 0 or 1", got, remedy)
    others = _distinct(raw.filter(nw.col("t") != question.pos_label), 4)
    if len(others) > 1:
        got = f"beside {question.pos_label!r} it holds {list_labels(others)}"
        raise column_error(
            "label", question.label, "must hold two values when `prob` is one column", got
        )
    if others:
        return (others[0], question.pos_label)
    if isinstance(question.pos_label, str):
        return (question.pos_label + "?", question.pos_label)  # some other string; none is there
    return (question.pos_label - 1, question.pos_label)


def _class_names(raw: Any, question: Question, categories: Categories | None) -> tuple[Any, ...]:
    """The classes of string labels: the names of the score columns, the categories, or the labels, sorted."""
    n_classes = len(question.scores)
    found = _distinct(raw, n_classes + 1) if categories is None else list(categories.names)
    if set(found) & set(question.scores) or not found:
        return question.scores
    if len(found) != n_classes:
        more = "more" if len(found) > n_classes else len(found)
        demand = "must have one distinct value per `prob` column"
        got = f"got {more} ({list_labels(found)}) for {n_classes} columns"
        raise column_error(
            "label", question.label, demand, got, "`labels=` names the columns in order."
        )
    return tuple(found)


def _distinct(raw: Any, most: int) -> list[Any]:
    found = (
        raw.select("t")
        .filter(~nw.col("t").is_null())
        .unique()
        .sort("t")
        .head(most)
        .lazy()
        .collect()
    )
    return [value for value in found.get_column("t").to_list() if value == value]


def label_code(order: tuple[Any, ...], text: bool) -> Any:
    """The position of the label t in the order as Float64; −1 for any other value."""
    t = nw.col("t")
    if not text and order == tuple(range(len(order))) and len(order) > 2:
        return (
            nw.when((t >= 0) & (t < len(order)) & (t == t.floor())).then(t).otherwise(nw.lit(-1.0))
        )
    code = nw.lit(-1.0)
    for place in reversed(range(len(order))):
        code = nw.when(t == order[place]).then(nw.lit(float(place))).otherwise(code)
    return code


def rows_of(frame: Any, question: Question) -> Rows:
    raw, order = raw_rows(frame, question)
    scores = [f"x{i}" for i in range(len(question.scores))]
    by = [f"by{i}" for i in range(len(question.by))]
    weight = [] if question.weight is None else ["w"]
    coded = raw.with_columns(label_code(order, isinstance(order[0], str)).alias("code"))
    good = nw.col("code") >= 0
    gap = score_sum(scores) - 1.0
    ok = nw.col("ok")
    for x, most in (dict.fromkeys(scores, 1) | dict.fromkeys(weight, MOST_WEIGHT)).items():
        good = good & (nw.col(x) >= 0) & (nw.col(x) <= most)
    if not question.binary:
        good = good & (gap <= question.tolerance) & (gap >= -question.tolerance)
    flagged = coded.with_columns(good.alias("ok"))
    kept = {
        x: nw.when(ok).then(nw.col(x)).otherwise(nw.lit(0.0)) for x in (*scores, *weight, "code")
    }
    kept |= {"code": kept["code"].cast(nw.Int64), "ok": flag(ok)}
    safe = flagged.select(*[x.alias(name) for name, x in kept.items()], *by)
    viewed = _view_rows(safe, question, scores, [*weight, *by])
    part = ["part"] if question.split else []
    return Rows(
        viewed, frame, question, None if question.binary else tuple(order), by, [*by, *part]
    )


def score_sum(scores: list[str]) -> Any:
    return functools.reduce(operator.add, map(nw.col, scores))


def _view_rows(safe: Any, question: Question, scores: list[str], kept: list[str]) -> Any:
    """The scores and labels of the binary problems that the view derives from a row."""
    if question.view == "binary":
        return safe.select(nw.col("x0").alias("p"), nw.col("code").alias("y"), "ok", *kept)
    hit = flag(nw.col("part") == nw.col("code"))
    if question.view == "classwise":
        return _unpivot(safe, scores, ["code", "ok", *kept]).select(
            "p", hit.alias("y"), "ok", "part", *kept
        )
    top = safe.with_columns(nw.max_horizontal(*scores).alias("p"))
    # The smallest index among those that reach the top: a tie goes to the first.
    reach = {
        f"k{i}": nw.when(nw.col(x) == nw.col("p")).then(nw.lit(i)) for i, x in enumerate(scores)
    }
    top = top.with_columns(
        *[place.otherwise(nw.lit(len(scores))).alias(k) for k, place in reach.items()]
    )
    top = top.with_columns(nw.min_horizontal(*reach).cast(nw.Int64).alias("part"))
    part = ["part"] if question.split else []
    return top.select("p", hit.alias("y"), "ok", *part, *kept)


def _unpivot(safe: Any, scores: list[str], index: list[str]) -> Any:
    """A row per class, with its position and score as part and p."""
    if safe.implementation is nw.Implementation.DUCKDB:
        # narwhals unpivots on DuckDB's default connection, where the tables of another one are not
        # known.
        parts = f"unnest(range({len(scores)})) AS part, unnest([{', '.join(scores)}]) AS p"
        return nw.from_native(nw.to_native(safe).project(f"{', '.join(index)}, {parts}"))
    if safe.implementation.is_ibis() and safe.to_native().get_backend().name != "duckdb":
        # PostgreSQL gets names in quotation marks from an unpivot; a union of the classes is
        # written alike everywhere.
        each = [(x, nw.lit(i).cast(nw.Int64).alias("part")) for i, x in enumerate(scores)]
        return nw.concat(
            [safe.select(*index, nw.col(x).alias("p"), part) for x, part in each], how="vertical"
        )
    long = safe.unpivot(on=scores, index=index, variable_name="name", value_name="p")
    return long.with_columns(nw.col("name").str.slice(1).cast(nw.Int64).alias("part"))


def explain_bad_rows(frame: Any, question: Question) -> None:
    """Raise an error about bad values.

    Warn if rows only have a missing value and may be dropped.
    """
    flagged, found = _faulty_rows(frame, question)
    rows = found["rows"]
    if found["incomplete"] and question.missing == "raise":
        for argument, names in question.columns.items():
            if found.get(f"no_{argument}"):
                demand = f"`{argument}` {_which(names)} must not have missing values"
                got = some(found[f"no_{argument}"], rows, "rows have one")
                raise InputError("", demand, got, remedy='`missing="drop"` leaves such rows out.')
    if found["outside"]:
        low, high = ends_of(flagged, "outside", "low", "high")
        ends = [f"the smallest is {format_value(low)}"] if low < 0 else []
        ends += [f"the largest is {format_value(high)}"] if high > 1 else []
        remedy = "If they are percentages, divide them by 100." if 1.5 < high <= 100 else ""
        remedy = (
            "If they are logits, turn them into probabilities first." if low < -1e-3 else remedy
        )
        got = some(found["outside"], rows, f"rows do not, {' and '.join(ends)}")
        raise InputError(
            "", f"`prob` {_which(question.scores)} must lie in [0, 1]", got, remedy=remedy
        )
    if found["unsummed"]:
        largest = max(abs(end - 1) for end in ends_of(flagged, "unsummed", "total", "total"))
        demand = f"Rows of the `prob` columns must sum to 1 within {question.tolerance:g}"
        got = some(found["unsummed"], rows, f"do not, the largest difference is {largest:.3g}")
        raise InputError("", demand, got, remedy="`sum_tolerance=` allows more.")
    if found["mislabelled"]:
        _refuse_labels(found, question)
    if found["misweighed"]:
        got = some(found["misweighed"], rows, "weights are not")
        raise column_error(
            "weight", str(question.weight), f"must be at least 0 and at most {MOST_WEIGHT:g}", got
        )
    if found["incomplete"] == rows:
        raise InputError(
            "source", "must have at least one complete row", f"all {rows:,} have a missing value"
        )
    warn(dropped_rows(found["incomplete"], rows), DroppedRowsWarning)


def ends_of(frame: Any, fault: str, low: str, high: str) -> tuple[float, float]:
    """The least and the greatest value of two columns among the rows with a fault."""
    both = nw.col(low).min().alias("low"), nw.col(high).max().alias("high")
    found = frame.filter(nw.col(fault) == 1).select(*both).lazy().collect().rows(named=True)[0]
    return float(found["low"]), float(found["high"])


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
        ends = [nw.col("x0")] * 2
    else:
        ends = [nw.min_horizontal(*scores), nw.max_horizontal(*scores)]
    added = {name: flag(when) for name, when in gaps.items()} | dict(
        zip(("low", "high"), ends, strict=True)
    )
    added |= {"code": label_code(order, text), "total": score_sum(scores)}
    flagged = raw.with_columns(*[value.alias(name) for name, value in added.items()])
    flagged = flagged.with_columns(
        flag(_any([nw.col(name) == 1 for name in gaps])).alias("incomplete")
    )
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


def flag(when: Any) -> Any:
    """1 where a condition holds, else 0; PostgreSQL casts no boolean to a number."""
    # A comparison with NULL is NULL, which as a condition means no.
    return nw.when(when).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def _which(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"column {names[0]!r}"
    return "columns"


def _refuse_labels(found: dict[str, int], question: Question) -> None:
    remedy = ""
    if question.labels is not None or question.pos_label is not None:
        demand = (
            f"must hold values named in `labels` ({', '.join(map(repr, question.labels or ()))})"
        )
    elif question.binary:
        demand = "must be 0 or 1"
        remedy = "Say which value is the event: `pos_label=`, or `labels=[other, event]`."
    else:
        demand = (
            f"must hold class codes 0 to {len(question.scores) - 1} or names of the `prob` columns"
        )
        remedy = "Name other labels in column order: `labels=`."
    got = some(found["mislabelled"], found["rows"], "labels are not")
    raise column_error("label", question.label, demand, got, remedy)
