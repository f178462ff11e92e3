"""Measures by segment."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, cast, overload

import numpy as np

from trueness._tally.rows_or_sums import ROW_OPTIONS, takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, WeightsWarning, collected_warnings, in_context, quietly
from trueness.typing import ArrayLike, Kind

Arguments = ParamSpec("Arguments")


class Measured(Protocol[Arguments]):
    """A measure, which with `by` has a value in each segment."""

    __name__: str

    @overload
    def __call__(self, *arguments: Arguments.args, **options: Arguments.kwargs) -> float: ...
    @overload
    def __call__(
        self, y_true: ArrayLike, y_prob: ArrayLike, *, by: ArrayLike, **options: Any
    ) -> dict[str, float]: ...


def measured(
    measure: Callable[Arguments, float], *, kind: Kind = "classwise"
) -> Measured[Arguments]:
    """Let a measure take rows, and `by`."""

    @wraps(measure)
    def asked(
        y_true: Any, y_prob: Any = None, *, by: ArrayLike | None = None, **options: Any
    ) -> Any:
        if by is not None:
            return _by_segment(partial(measure, **options), kind, by, y_true, y_prob)
        return measure(y_true, y_prob, **options)

    found: Any = takes_rows(asked, kind=kind, by=True)
    return cast(Measured[Arguments], found)


def _by_segment(
    measure: "partial[float]", kind: Kind, by: ArrayLike, y_true: ArrayLike, y_prob: ArrayLike
) -> dict[str, float]:
    """The measure in each segment, of rows that are read once."""
    from trueness._tally.evidence import Evidence  # which a measure of all rows does not need

    options = measure.keywords
    rows: Any = {name: options.pop(name) for name in ROW_OPTIONS if name in options}
    if isinstance(y_true, Tally | Binned | Sketch):
        got = f"a {type(y_true).__name__} holds only sums of rows"
        raise InputError(
            "by", "needs labels and scores", got, remedy="`scan_groups` keeps sums by group."
        )
    with collected_warnings(WeightsWarning):  # a measure is the same whatever weights stand for
        evidence = Evidence.of(y_true, y_prob, rows, kind=kind, two_columns="keep", cluster=None)
    column, *others = evidence.columns(by, y_true)
    if others:
        raise InputError(
            "by", "must be one column", f"got {1 + len(others)}", remedy="`segments` takes several."
        )
    found = {}
    for code, value in enumerate(column.values):
        rows_of_segment = np.flatnonzero(column.code == code)
        if not evidence.has_weight(rows_of_segment):
            continue
        with in_context(f"Segment {value!r}"):
            found[value] = measure(quietly(lambda some=rows_of_segment: evidence.at(some).sums))
    return found
