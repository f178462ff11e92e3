"""The rows of a frame as they are summed: a score, a label 0/1, a weight, and whether all are good.

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
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import narwhals.stable.v2 as nw

from trueness._input.columns import Categories, categories_of
from trueness._input.labels import list_labels, refuse_contradiction, refuse_permuted_codes
from trueness.errors import InputError
from trueness.sources.engines._question import (
    Question,
    absent_column,
    column_error,
    refuse_repeated,
)

# The squares of weights are summed, which must neither overflow nor vanish.
MOST_WEIGHT = 1e100
LEAST_EXPONENT = -332
FLOATS = ("Float32", "Float64")


class Rows(NamedTuple):
    """A frame with the columns p, y and ok and, where needed, w, part, by0, by1 and so on."""

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
    """The schema, once every column is known to exist once and to have a readable type."""
    schema = frame.collect_schema()
    for argument, name in question.named:
        if name not in schema:
            raise absent_column(argument, repr(name), schema)
    refuse_repeated(_column_names(frame), question, "`source`")  # DuckDB allows it
    for argument in ("prob", "weight"):
        for name in question.columns[argument]:
            if not _is_number(schema[name]):
                raise _type_error(argument, name, "must hold numbers", schema[name])
    for name in question.by:
        if str(schema[name]).startswith(("List", "Array", "Struct")):
            raise _type_error("by", name, "must hold single values", schema[name])
    for name in question.columns["cluster"]:
        if not _can_be_cluster(schema[name]):
            demand = "must hold text or whole numbers"
            raise _type_error("cluster", name, demand, schema[name], remedy="Cast it to text.")
    return schema


def _type_error(
    argument: str, name: str, demand: str, dtype: Any, *, remedy: str = ""
) -> InputError:
    return column_error(argument, name, demand, f"its type is {dtype}", remedy)


def _can_be_cluster(dtype: Any) -> bool:
    return dtype.is_integer() or _is_text(dtype) or str(dtype) == "Object"


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
        projections = []
        for i, name in places:
            hidden = " + 0 * random()" if name in floats else ""
            projections.append(f"#{i + 1}{hidden} AS c{i}")
        return nw.from_native(native.project(", ".join(projections)))
    if frame.implementation.is_spark_like():
        frame = nw.from_native(native.toDF(*[f"c{i}" for i in range(len(native.columns))]))
        return frame.select(*[f"c{i}" for i, _ in places])
    if frame.implementation.is_ibis() and floats and native.get_backend().name == "duckdb":
        import ibis

        hidden_columns = [(native[name] + ibis.random() * 0).name(name) for name in sorted(floats)]
        frame = nw.from_native(native.mutate(hidden_columns))
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
    if str(dtype).startswith("Enum"):
        categories: Categories | None = Categories(tuple(dtype.categories), ordered=True)
    elif isinstance(frame, nw.DataFrame):
        categories = categories_of(frame.get_column(name).to_native())
    else:
        return None
    if categories is None or not all(isinstance(label, str) for label in categories.names):
        return None
    return categories


def _as_label(column: Any, dtype: Any, name: str) -> Any:
    """The column of labels as numbers or strings; an error for other types."""
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
    """The values of the labels: the other and the event, or one for each column of scores.

    `labels` decides if it was passed, then the order of categories, then `pos_label`, and else the
    values themselves: 0 and 1, codes of classes, or the names of the columns.
    """
    text = _is_text(dtype)
    _check_named_labels(question, dtype)
    if question.labels is not None:
        refuse_contradiction(question.labels, question.scores, "`prob` columns")
        return question.labels
    if question.binary:
        if question.pos_label is None and _are_two_in_order(categories):
            return categories.names
        return _two_labels(raw, question, text)
    if not text:
        refuse_permuted_codes(question.scores, argument="prob")
        return tuple(range(len(question.scores)))
    return _class_names(raw, question, categories)


def _check_named_labels(question: Question, dtype: str) -> None:
    """Refuse labels of another type than the column's, which no row could have."""
    argument = "labels"
    named: Sequence[Any] = question.labels or ()
    if question.labels is None and question.pos_label is not None:
        argument = "pos_label"
        named = (question.pos_label,)
    text = _is_text(dtype)
    for label in named:
        if dtype != "Object" and isinstance(label, str) != text:
            holds = "strings" if text else "numbers"
            demand = f"must be values of `label` column {question.label!r}, which holds {holds}"
            raise InputError(argument, demand, f"got {label!r}")
        if isinstance(label, int) and abs(label) > 2**53:
            demand = f"has numbers beyond 2^53 ({label})"
            got = "cast it to strings, since engines compare numbers as floats"
            raise column_error("label", question.label, demand, got)


def _are_two_in_order(categories: Categories | None) -> TypeGuard[Categories]:
    return categories is not None and categories.ordered and len(categories.names) == 2


def _two_labels(raw: Any, question: Question, text: bool) -> tuple[Any, ...]:
    """The other label and the event, when no order was stated.

    Without `pos_label` labels are 0 and 1; strings are then refused. With it, all other labels must
    be equal; if no row has another one, a value is made up that no row has.
    """
    if question.pos_label is None:
        if not text:
            return (0, 1)
        labels = _distinct(raw, 4)
        if not labels:
            return ("0", "1")
        got = f"it holds strings ({list_labels(labels)})"
        remedy = f"Say which of them the scores refer to: `pos_label={labels[-1]!r}`."
        raise column_error("label", question.label, "must be 0 or 1", got, remedy)
    event = question.pos_label
    other_labels = _distinct(raw.filter(nw.col("t") != event), 4)
    if len(other_labels) > 1:
        demand = "must hold two values when `prob` is one column"
        got = f"beside {event!r} it holds {list_labels(other_labels)}"
        raise column_error("label", question.label, demand, got)
    if other_labels:
        return (other_labels[0], event)
    if isinstance(event, str):
        return (f"{event}?", event)  # another string, which no row has
    return (event - 1, event)


def _class_names(raw: Any, question: Question, categories: Categories | None) -> tuple[Any, ...]:
    """The classes of string labels.

    They are the names of the score columns, the categories, or the labels, sorted.
    """
    n_classes = len(question.scores)
    names = _distinct(raw, n_classes + 1) if categories is None else list(categories.names)
    if set(names) & set(question.scores) or not names:
        return question.scores
    if len(names) != n_classes:
        count = "more" if len(names) > n_classes else len(names)
        demand = "must have one distinct value per `prob` column"
        got = f"got {count} ({list_labels(names)}) for {n_classes} columns"
        remedy = "`labels=` names the columns in order."
        raise column_error("label", question.label, demand, got, remedy)
    return tuple(names)


def _distinct(raw: Any, limit: int) -> list[Any]:
    """The first few distinct labels, sorted; without missing values and nan."""
    labels = raw.select("t").filter(~nw.col("t").is_null()).unique().sort("t").head(limit)
    values = labels.lazy().collect().get_column("t").to_list()
    return [value for value in values if value == value]


def label_code(order: tuple[Any, ...], text: bool) -> Any:
    """The position of the label t in the order as Float64; −1 for any other value."""
    t = nw.col("t")
    n = len(order)
    if not text and n > 2 and order == tuple(range(n)):
        is_code = (t >= 0) & (t < n) & (t == t.floor())
        return nw.when(is_code).then(t).otherwise(nw.lit(-1.0))
    code = nw.lit(-1.0)
    for place in reversed(range(n)):
        code = nw.when(t == order[place]).then(nw.lit(float(place))).otherwise(code)
    return code


def rows_of(frame: Any, question: Question) -> Rows:
    """The rows as they are summed; a bad row has harmless values and ok = 0."""
    raw, order = raw_rows(frame, question)
    scores = [f"x{i}" for i in range(len(question.scores))]
    by = [f"by{i}" for i in range(len(question.by))]
    weight = [] if question.weight is None else ["w"]
    coded = raw.with_columns(label_code(order, isinstance(order[0], str)).alias("code"))
    flagged = coded.with_columns(_is_good(question, scores).alias("ok"))
    ok = nw.col("ok")
    kept = []
    for name in (*scores, *weight):
        kept.append(nw.when(ok).then(nw.col(name)).otherwise(nw.lit(0.0)).alias(name))
    code = nw.when(ok).then(nw.col("code")).otherwise(nw.lit(0.0)).cast(nw.Int64)
    safe = computed_once(flagged.select(*kept, code.alias("code"), flag(ok).alias("ok"), *by))
    part = ["part"] if question.split else []
    return Rows(
        frame=_view_rows(safe, question, scores, [*weight, *by]),
        source=frame,
        question=question,
        classes=None if question.binary else tuple(order),
        by=by,
        keys=[*by, *part],
    )


_ALL_ROWS = 2**63 - 1


def computed_once(frame: Any) -> Any:
    """The frame, whose columns PostgreSQL computes once per row."""
    # PostgreSQL merges nested queries, and writes out each column wherever it is used: five steps
    # that use a column three times each compute it 243 times. It keeps a query with a limit.
    if frame.implementation.is_ibis() and frame.to_native().get_backend().name == "postgres":
        return frame.head(_ALL_ROWS)
    return frame


def _is_good(question: Question, scores: list[str]) -> Any:
    """Whether label, scores and weight are all good; NULL, as no, where one is missing."""
    good = nw.col("code") >= 0
    for name in scores:
        good = good & (nw.col(name) >= 0) & (nw.col(name) <= 1)
    if question.weight is not None:
        good = good & (nw.col("w") >= 0) & (nw.col("w") <= MOST_WEIGHT)
    if not question.binary:
        gap = score_sum(scores) - 1.0
        good = good & (gap <= question.tolerance) & (gap >= -question.tolerance)
    return good


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
    places = [f"k{i}" for i in range(len(scores))]
    reached = [
        nw.when(nw.col(score) == nw.col("p")).then(nw.lit(i)).otherwise(nw.lit(len(scores)))
        for i, score in enumerate(scores)
    ]
    named = [place.alias(name) for name, place in zip(places, reached, strict=True)]
    first = nw.min_horizontal(*places).cast(nw.Int64)
    top = top.with_columns(*named).with_columns(first.alias("part"))
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
        classes = []
        for number, score in enumerate(scores):
            part = nw.lit(number).cast(nw.Int64).alias("part")
            classes.append(safe.select(*index, nw.col(score).alias("p"), part))
        return nw.concat(classes, how="vertical")
    long = safe.unpivot(on=scores, index=index, variable_name="name", value_name="p")
    return long.with_columns(nw.col("name").str.slice(1).cast(nw.Int64).alias("part"))


def flag(when: Any) -> Any:
    """1 where a condition holds, else 0; PostgreSQL casts no boolean to a number."""
    # A comparison with NULL is NULL, which as a condition means no.
    return nw.when(when).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)
