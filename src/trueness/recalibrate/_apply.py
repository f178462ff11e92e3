"""Fitted maps applied where the rows are: in a frame, a lazy query or a database."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from trueness._keywords import suggests_keywords
from trueness.errors import InputError
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._sql import WRITERS, Dialect, check_columns, sql_in_steps
from trueness.typing import Floats

Frame: TypeAlias = Any
"""A frame, relation or query; each library has types of its own."""


@suggests_keywords
def apply_calibrator(
    frame: Frame,
    calibrator: Calibrator,
    *,
    prob: str | Sequence[str] | None = None,
    name: str | None = None,
) -> Frame:
    """Add calibrated scores to a frame, query or relation, in new columns.

    Parameters
    ----------
    frame : frame
        Polars (eager or lazy), pandas, PyArrow, a DuckDB relation or a Spark frame. Lazy frames,
        relations and Spark frames stay lazy: nothing is computed or loaded here.
    calibrator : Calibrator
        The fitted map. DuckDB and Spark evaluate its
        :meth:`~trueness.recalibrate.Calibrator.to_sql`, so it must have one.
    prob : str or sequence of str, optional
        The column of the scores, or the columns of a matrix. Default: those that the map was fitted
        on.
    name : str, optional
        Name of the new column. Default, and always for a matrix: the name of the scores and
        ``_calibrated``.

    Returns
    -------
    frame
        Of the same kind. Rows without a score have none in the new column. Scores outside [0, 1]
        are an error; DuckDB and Spark make them NULL.

    Examples
    --------
    >>> import polars as pl
    >>> import trueness as tn
    >>> fitted = tn.PriorCorrection(weight=3).fit([0.1, 0.9], [0, 1])
    >>> lazy = pl.LazyFrame({"p": [0.0, 0.5, 0.75, None]})
    >>> tn.recalibrate.apply_calibrator(lazy, fitted, prob="p", name="q").collect()["q"].to_list()
    [0.0, 0.25, 0.5, None]
    """
    demand = "must be a fitted calibrator, such as `load_calibrator` returns"
    if not isinstance(calibrator, Calibrator):
        raise InputError("calibrator", demand, f"got {calibrator!r}")
    check_is_fitted(calibrator)
    demand = "must be a Polars, pandas or PyArrow frame, a DuckDB relation or a Spark frame"
    try:
        native_frame = nw.from_native(frame)
    except TypeError:
        raise InputError("frame", demand, f"got {type(frame).__name__}") from None
    columns, new = _names(prob, name, calibrator, native_frame.collect_schema().names())
    kind = native_frame.implementation
    if kind.is_duckdb() or kind.is_spark_like():
        dialect: Dialect = "duckdb" if kind.is_duckdb() else "spark"
        for step in _sql(calibrator, dialect, columns, new, frame.columns):
            frame = frame.project(", ".join(step)) if kind.is_duckdb() else frame.selectExpr(*step)
        return frame
    if kind.is_polars():
        return _with_polars(frame, calibrator, columns, new)
    if not isinstance(native_frame, nw.DataFrame):
        raise InputError(
            "frame",
            demand,
            f"got {type(frame).__name__}",
            remedy="Apply the map to its partitions.",
        )
    scores = _scores(calibrator, native_frame.select(columns).to_numpy())
    pairs = zip(new, np.atleast_2d(scores.T), strict=True)
    series = [nw.new_series(column, values, nw.Float64, backend=kind) for column, values in pairs]
    if kind.is_pandas_like():  # by position, whatever the index is
        series = [
            nw.maybe_set_index(column, index=nw.maybe_get_index(native_frame)) for column in series
        ]
    return native_frame.with_columns(*series).to_native()


def _names(
    prob: str | Sequence[str] | None,
    name: str | None,
    calibrator: Calibrator,
    present: Sequence[str],
) -> tuple[list[str], list[str]]:
    """The columns of the scores and the names of the new ones, checked against the frame.

    Without `prob` the columns are those that the calibrator was fitted on; it is an error if these
    had no names. `present` are the columns of the frame: scores must be among them, new columns
    must not. Without `name`, new columns end in "_calibrated"; a matrix allows nothing else.
    """
    if prob is None and calibrator.score_names_ is None:
        raise InputError(
            "prob", "must be given: the map was fitted on scores without names", "got None"
        )
    columns = check_columns(prob, calibrator, "prob")
    for column in columns:
        if column not in present:
            raise InputError("prob", "must name columns of the frame", f"it has no {column!r}")
    if name is not None and not isinstance(name, str):
        raise InputError("name", "must be the name of the new column", f"got {name!r}")
    if name is not None and len(columns) > 1:
        raise InputError(
            "name",
            "must be None for a matrix, whose new columns end in _calibrated",
            f"got {name!r}",
        )
    new = [f"{column}_calibrated" for column in columns] if name is None else [name]
    for column in new:
        if column in present:
            raise InputError(
                "name", "must be that of no other column", f"the frame has {column!r} already"
            )
    return columns, new


def _sql(
    calibrator: Calibrator,
    dialect: Dialect,
    columns: list[str],
    new: list[str],
    present: Sequence[str],
) -> list[list[str]]:
    """The columns to select in each step: one step, or two if the map needs helper columns.

    The second step leaves the helper columns of the first one out.
    """
    first, last = sql_in_steps(calibrator._formula(), columns, dialect)
    quoted = WRITERS[dialect].name
    calibrated = [f"{text} AS {quoted(column)}" for text, column in zip(last, new, strict=True)]
    if not first:
        return [["*", *calibrated]]
    helpers = [f"{text} AS {quoted(name)}" for name, text in first.items()]
    return [["*", *helpers], [*map(quoted, present), *calibrated]]


def _with_polars(frame: Frame, calibrator: Calibrator, columns: list[str], new: list[str]) -> Frame:
    """Add the new columns to a Polars frame, computed in batches of rows.

    Missing scores, and results that are nan, are missing values in the new columns.
    """
    polars: Any = nw.get_native_namespace(frame)

    def mapped(struct: Frame) -> Frame:
        scores = _scores(calibrator, struct.struct.unnest().cast(polars.Float64).to_numpy())
        series = [
            polars.Series(column, values)
            for column, values in zip(new, np.atleast_2d(scores.T), strict=True)
        ]
        return polars.DataFrame([column.fill_nan(None) for column in series]).to_struct()

    # Struct fields: names that Polars would take for patterns are passed as lists.
    scores = polars.struct(polars.col(columns))
    types = polars.Struct(dict.fromkeys(new, polars.Float64))
    free = "calibrated"
    while free in [*frame.lazy().collect_schema().names(), *new]:
        free += "_"
    column = scores.map_batches(mapped, return_dtype=types, is_elementwise=True).alias(free)
    return frame.with_columns(column).unnest(free)


def _scores(calibrator: Calibrator, values: NDArray[Any]) -> Floats:
    """Predictions for the rows that have scores; nan for the others."""
    p = values[:, 0] if calibrator.n_classes_ is None else values
    p = np.ascontiguousarray(p, np.float64)
    complete = ~np.isnan(p if p.ndim == 1 else p.sum(axis=1))
    scores = np.full(p.shape, np.nan)
    if complete.any():
        scores[complete] = calibrator.predict(p[complete])
    return scores
