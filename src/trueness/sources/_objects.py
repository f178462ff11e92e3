"""Columns of frames in memory that hold Python objects, decimals, or types that no engine has."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from trueness._input.columns import is_decimal, is_missing, numbers_of
from trueness.errors import InputError
from trueness.sources._question import Question

__all__ = ["without_objects"]


def without_objects(frame: Any, question: Question) -> Any:
    """The frame, with columns of numbers as such: Decimals, or floats among objects. What cannot be is refused.

    Only frames in memory have such columns; a frame of an engine comes back as it is.
    """
    import narwhals.stable.v2 as nw

    numbers = dict.fromkeys(question.scores, "score") | {question.label: "label"}
    numbers |= {} if question.weight is None else {question.weight: "weight"}
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pyarrow():
        return nw.from_native(_without_decimals(frame.to_native(), set(numbers)))
    if not isinstance(frame, nw.DataFrame) or not frame.implementation.is_pandas_like():
        return frame
    schema = frame.collect_schema()
    read = {}
    for name, argument in numbers.items():
        kind = str(schema.get(name))
        if kind == "Unknown":
            _refuse_foreign(frame.get_column(name), argument)
        elif kind == "Object" and (argument != "label" or _are_numbers(frame.get_column(name))):
            read[name] = _as_numbers(frame.get_column(name), argument)
    for name in question.by:
        if str(schema.get(name)) == "Object":
            _refuse_unhashable(frame.get_column(name))
    made = [nw.new_series(name, values, nw.Float64, backend=frame.implementation) for name, values in read.items()]
    return frame.with_columns(*made) if made else frame


def _without_decimals(table: Any, numbers: set[str]) -> Any:
    """The nearest float of each decimal: Arrow's own cast is one off in the last digit for a third of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if field.name in numbers and pa.types.is_decimal(field.type):
            written = pc.cast(table.column(i), pa.string())
            table = table.set_column(i, field.name, pc.cast(written, pa.float64()))
    return table


def _as_numbers(series: Any, argument: str) -> Any:
    found = numbers_of(series.to_numpy(), f"{argument}` column `{series.name}")
    return found.values if found.missing is None else np.where(found.missing, np.nan, found.values)


def _are_numbers(series: Any) -> bool:
    """Whether labels are Decimals or floats; booleans with gaps stay what they are."""
    entries = [entry for entry in series.to_list() if not is_missing(entry)]
    return bool(entries) and all(
        is_decimal(e) or (isinstance(e, int | float) and not isinstance(e, bool)) for e in entries
    )


def _refuse_foreign(series: Any, argument: str) -> None:
    dtype = series.to_native().dtype
    if getattr(dtype, "kind", "O") in "biuf":
        return
    raise InputError(f"`{argument}` column {series.name!r} must hold numbers; its type is {dtype}.")


def _refuse_unhashable(series: Any) -> None:
    for entry in series.to_list():
        if not isinstance(entry, Hashable):
            raise InputError(f"`by` column {series.name!r} must hold single values; it holds a {type(entry).__name__}.")
