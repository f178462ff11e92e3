"""The classes that the columns of a matrix of scores stand for."""

from __future__ import annotations  # the types of arrays, which help does not need

from typing import TYPE_CHECKING, Any, NamedTuple

from trueness.errors import InputError
from trueness.sources._columns import seen_values
from trueness.sources._request import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ClassOrder(NamedTuple):
    """The classes in column order if the names of the columns say so, and a remark about it."""

    classes: list[Any] | None = None
    remark: str | None = None


def class_order(labels: NDArray[Any], model: Model) -> ClassOrder:
    """The classes in column order if the names of the columns say so."""
    seen = seen_values(labels) if labels.ndim == 1 else set()
    is_text = any(isinstance(v, str) for v in seen)
    if model.classes is None:
        if not is_text:
            return ClassOrder()
        shown = ", ".join(map(str, sorted(seen, key=str)[:12]))
        remark = f"Columns of {model.name!r} are taken to be the labels in sorted order: {shown}."
        return ClassOrder(None, remark)
    if is_text:
        for names in (model.classes, model.columns):
            if seen <= set(names):
                return ClassOrder(list(names))
        shown = ", ".join(map(repr, model.classes[:6]))
        demand = f"labels of `y_true` are not the names of the score columns ({shown})"
        raise InputError("", demand, "`labels=` must name the classes in the order of the columns")
    if not model.starred or not all(part.isdecimal() for part in model.classes):
        return ClassOrder()
    numbers = [int(part) for part in model.classes]
    if not seen <= set(numbers) or numbers == list(range(len(numbers))):
        return ClassOrder()
    shown = ", ".join(map(str, numbers[:12]))
    return ClassOrder(list(numbers), f"Classes are taken from the names of the columns: {shown}.")
