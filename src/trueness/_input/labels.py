"""Labels: 0/1 for a vector of scores, class codes for a matrix."""

import numbers
import reprlib
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import (
    Categories,
    Column,
    column,
    is_missing,
    refuse_bad,
    refuse_missing,
)
from trueness._input.scores import format_value
from trueness.errors import InputError, Remedy, did_you_mean
from trueness.typing import Bools, Ints

NAME = "y_true"
_NEED_MATRIX = Remedy("matrix", "Several classes need a matrix of scores, one column per class.")
_KINDS: dict[str, Any] = {"strings": str, "bytes": bytes, "numbers": numbers.Number | np.bool_}


def labels_missing(labels: Column) -> Bools | None:
    """Mask of the missing labels: masked, null, None or nan."""
    values = labels.values
    if values.dtype.kind == "f":
        is_nan: Bools = np.isnan(values)
    elif values.dtype.kind == "O" and not _are_plain(values):
        is_nan = np.fromiter((is_missing(v) for v in values), dtype=bool, count=values.size)
    else:
        return labels.missing
    if not is_nan.any():
        return labels.missing
    if labels.missing is None:
        return is_nan
    return np.asarray(is_nan | labels.missing)


def _are_plain(values: NDArray[Any]) -> bool:
    """Whether all are text or whole numbers, which are never missing."""
    return values.ndim == 1 and set(map(type, values.tolist())) <= {str, int, bool}


def binary_labels(
    values: NDArray[Any],
    labels: Sequence[Any] | None,
    pos_label: object,
    rows: Ints | None = None,
    categories: Categories | None = None,
) -> NDArray[Any]:
    """Labels as 0/1.

    Numbers without `labels` or `pos_label` are returned as they are, to be checked in the pass. Of
    two ordered text categories, the last is the event.
    """
    values = _simplest(values)
    is_open = labels is None and pos_label is None and values.dtype.kind not in "biuf"
    if is_open and categories is not None and categories.ordered and len(categories.names) == 2:
        labels = categories.names
    if labels is not None:
        return _positions(values, two_classes(labels, pos_label), rows).astype(np.uint8)
    if pos_label is not None:
        return _events(values, pos_label)
    if values.dtype.kind in "biuf":
        return values
    if values.size == 0:
        return np.zeros(0, dtype=np.uint8)
    distinct = _distinct_labels(values)
    remedy = _NEED_MATRIX
    if len(distinct) < 3:
        last = distinct[-1]
        text = (
            f"With a vector of scores, say which of them the scores predict: `pos_label={last!r}`."
        )
        remedy = Remedy("pos-label", text, last)
    got = f"it holds {_kind_of(values)} ({list_labels(distinct)})"
    raise InputError(NAME, "must be 0 or 1", got, remedy=remedy)


def two_classes(labels: Sequence[Any], pos_label: object) -> list[Any]:
    """`labels` of a vector of scores, which must agree with `pos_label`."""
    order = checked_order(labels)
    if len(order) != 2:
        demand = "must name two classes for a vector of scores, the positive one last"
        raise InputError("labels", demand, f"got {len(order)}")
    if pos_label is not None and pos_label != order[1]:
        demand = f"puts {order[1]!r} last, as the positive class, but `pos_label` is {pos_label!r}"
        raise InputError("labels", demand, remedy="One of the two is enough.")
    return order


def check_pos_label(pos_label: object) -> None:
    """Raise for several labels, and for one that is missing."""
    if not isinstance(pos_label, Hashable) or is_missing(pos_label):
        raise InputError("pos_label", "must be one label", f"got {reprlib.repr(pos_label)}")


def _events(values: NDArray[Any], pos_label: object) -> NDArray[np.uint8]:
    """Labels as 0 and 1, where 1 is `pos_label`.

    Labels that have more than one other value, or never `pos_label` beside two others, are errors.
    All 0 if one value other than `pos_label` occurs.
    """
    check_pos_label(pos_label)
    kind = _kind_of(values)
    if values.size == 0:  # whose type is not known
        return np.zeros(0, dtype=np.uint8)
    if kind in _KINDS and not isinstance(pos_label, _KINDS[kind]):
        demand = f"must be a value of `{NAME}`, which holds {kind}"
        remedy = did_you_mean(pos_label, _distinct_labels(values))
        raise InputError("pos_label", demand, f"got {pos_label!r}", remedy=remedy)
    distinct = _distinct_labels(values)
    negative = [v for v in distinct if v != pos_label]
    if len(negative) > 1:
        if len(negative) == len(distinct):
            demand = f"must be a value of `{NAME}` ({list_labels(distinct)})"
            remedy = did_you_mean(pos_label, distinct)
            raise InputError("pos_label", demand, f"got {pos_label!r}", remedy=remedy)
        got = f"got {len(distinct):,} ({list_labels(distinct)})"
        raise InputError(
            NAME, "must hold two values when the scores are a vector", got, remedy=_NEED_MATRIX
        )
    if pos_label not in distinct:  # it may be a number that the array cannot hold
        return np.zeros(values.size, np.uint8)
    if kind == "objects":  # a pos_label such as a tuple would be compared as an array
        return np.fromiter((v == pos_label for v in values), dtype=np.uint8, count=values.size)
    return np.asarray(values == pos_label).astype(np.uint8)


def class_labels(
    values: NDArray[Any],
    n_classes: int,
    labels: Sequence[Any] | None,
    names: tuple[Any, ...] | None,
    rows: Ints | None = None,
    categories: Categories | None = None,
) -> tuple[Ints, tuple[Any, ...]]:
    """Labels as column indices, and the classes in column order.

    The order is that of `labels`, else of the names of the columns, else of the categories, else of
    sorted labels.
    """
    values = _simplest(values)
    if labels is not None:
        order = checked_order(labels)
        if len(order) != n_classes:
            demand = f"must name the {n_classes} columns of `y_prob` in order"
            raise InputError("labels", demand, f"got {len(order)} names")
        refuse_contradiction(order, names)
        return _positions(values, order, rows), tuple(order)
    if values.size == 0 and names is not None:
        return np.zeros(0, dtype=np.int64), names
    if categories is not None and _serve_as_columns(categories.names, n_classes, names):
        return _positions(values, list(categories.names), rows), categories.names
    if values.size == 0 or values.dtype.kind in "biuf":
        refuse_permuted_codes(names)
        return _codes(values, n_classes, rows), tuple(range(n_classes))
    distinct = _distinct_labels(values)
    if names is not None and set(distinct) & set(names):
        return _positions(values, list(names), rows, "the columns of `y_prob`"), names
    if len(distinct) != n_classes:
        got = f"got {len(distinct):,} ({list_labels(distinct)}) for {n_classes} columns"
        remedy = Remedy("labels-order", "`labels=` names the columns in order.")
        raise InputError(
            NAME, "must have one distinct value per column of `y_prob`", got, remedy=remedy
        )
    return _positions(values, distinct, rows), tuple(distinct)


def multilabel_names(
    n_labels: int,
    labels: Sequence[Any] | None,
    of_scores: tuple[Any, ...] | None,
    of_labels: tuple[Any, ...] | None,
) -> tuple[Any, ...]:
    """The names of the labels in column order.

    These are `labels`, else the names of the columns of the labels or scores, else numbers.
    """
    if labels is not None:
        order = checked_order(labels)
        if len(order) != n_labels:
            raise InputError(
                "labels",
                f"must name the {n_labels} labels in column order",
                f"got {len(order)} names",
            )
        refuse_contradiction(order, of_scores)
        refuse_contradiction(order, of_labels, f"columns of `{NAME}`")
        return tuple(order)
    if of_scores != of_labels and set(of_scores or ()) == set(of_labels or ()):
        got = f"they are named {list_labels(of_labels or ())} and {list_labels(of_scores or ())}"
        raise InputError("", f"`{NAME}` and `y_prob` must have their labels in the same order", got)
    return of_labels or of_scores or tuple(range(n_labels))


def refuse_contradiction(
    order: Sequence[Any], names: tuple[Any, ...] | None, columns: str = "columns of `y_prob`"
) -> None:
    """Raise if `labels` are the names of the columns in another order."""
    if names is not None and set(order) == set(names) and tuple(order) != names:
        got = f"it says {list_labels(order)}, they are named {list_labels(names)}"
        remedy = "Leave `labels` out to match columns by name."
        raise InputError("labels", f"must name the {columns} in their order", got, remedy=remedy)


def _serve_as_columns(
    categories: tuple[Any, ...], n_classes: int, names: tuple[Any, ...] | None
) -> bool:
    """Whether columns are in the order of the categories.

    Columns named after classes are matched by name instead.
    """
    if set(categories) & set(names or ()):
        return False
    if len(categories) == n_classes:
        refuse_permuted_codes(names, categories)
        return True
    if all(isinstance(name, numbers.Number) for name in categories):
        return False  # class codes, some of which may not occur
    got = f"got {len(categories):,} ({list_labels(categories)}) for {n_classes} columns"
    remedy = Remedy(
        "labels-order", "Categories without rows count too; `labels=` names the columns in order."
    )
    raise InputError(NAME, "must have one category per column of `y_prob`", got, remedy=remedy)


def refuse_permuted_codes(
    names: tuple[Any, ...] | None, order: Sequence[Any] | None = None, argument: str = "y_prob"
) -> None:
    """Refuse columns named 2, 0, 1 for labels 0, 1, 2.

    Matching by name and by position would differ.
    """
    names = names or ()
    if order is None:
        order = range(len(names))
    codes = [str(label) for label in order]
    written = [str(name) for name in names]
    if written == codes or sorted(written) != sorted(codes):
        return
    shown = ", ".join(written[:4])
    if len(written) > 4:
        shown = f"{shown}, …"
    text = f"Say `labels=[{shown}]` to match columns by name."
    if argument == "y_prob":
        way_out = "or pass the frame's `.to_numpy()` to match by position"
        text = f"Say `labels=[{shown}]` to match columns by name, {way_out}."
    remedy = Remedy("labels-order", text, list(names))
    demand = "must have the columns of class codes in order"
    raise InputError(argument, demand, f"they are named {shown}", remedy=remedy)


def _codes(values: NDArray[Any], n_classes: int, rows: Ints | None) -> Ints:
    """Labels as class codes, which they are already; others are an error.

    The error names the labels that would have to be passed, if there are as many as classes.
    """
    bad = (values < 0) | (values >= n_classes)
    if values.dtype.kind == "f":
        bad |= values != np.floor(values)
    if bad.any():
        distinct = _distinct_labels(values)
        named = "Other labels are named in column order"
        wrong = np.unique(values[bad])
        if len(distinct) == n_classes:
            text = f"{named}: `labels=[{list_labels(distinct)}]`."
            remedy = Remedy("labels-order", text, distinct)
        else:
            text = f"{named}: `labels=` with their names."
            if wrong.size == 1:
                text = f"`ignore_index={wrong[0]}` leaves rows without a class out. {text}"
            remedy = Remedy("labels-order", text, None)
        demand = f"must hold class codes 0 to {n_classes - 1}, one per column of `y_prob`"
        _refuse_labels(demand, values, bad, rows, remedy)
    return np.require(values, dtype=np.int64, requirements=["C", "A"])


def refuse_shifted(codes: Ints, n_classes: int) -> None:
    """Raise for codes whose smallest is 1: classes that count from 1, or a sample without class 0.

    The scores do not tell: in small samples they would have suited the wrong reading in up to 73 %
    of draws.
    """
    if codes.size == 0 or codes.min() != 1:
        return
    got = f"the smallest is 1 and the largest {codes.max()}, as of classes that count from 1"
    text = (
        f"If they do, say so: `labels=range(1, {n_classes + 1})`. "
        f"If class 0 is merely absent: `labels=range({n_classes})`."
    )
    demand = f"must hold class codes 0 to {n_classes - 1}, one per column of `y_prob`"
    remedy = Remedy("labels-order", text, list(range(1, n_classes + 1)))
    raise InputError(NAME, demand, got, remedy=remedy)


def explain_labels(y: NDArray[Any], p: NDArray[Any], rows: Ints | None = None) -> None:
    """Raise for labels that are not 0/1, by the user's row number; return if all are."""
    if y.dtype.kind == "f" and np.isnan(y).any():
        refuse_missing(NAME, np.isnan(y))
    bad = (y != 0) & (y != 1)
    if not bad.any():
        return
    refuse_swapped(y, p)
    distinct = _distinct_labels(y)
    last = distinct[-1]
    remedy: Remedy | str = _NEED_MATRIX
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        remedy = "Labels say what happened, not how likely it was."
    elif len(distinct) == 2:
        text = f"Say which value is the event: `pos_label={last}`."
        remedy = Remedy("pos-label", text, last)
    elif len(distinct) == 1:
        text = f"Say what it means: `pos_label={last}`, or `labels=[…]` with the event last."
        remedy = Remedy("pos-label", text, last)
    _refuse_labels("must be 0 or 1", y, bad, rows, remedy)


def _refuse_labels(
    demand: str, y: NDArray[Any], bad: Bools, rows: Ints | None, remedy: Remedy | str = ""
) -> NoReturn:
    first = y[np.argmax(bad)]
    value = first.item() if isinstance(first, np.generic) else first  # 2, not np.int64(2)
    shown = format_value(value) if isinstance(value, float) else reprlib.repr(value)
    refuse_bad(NAME, demand, bad, f"labels are not, the first is {shown}", rows, remedy)


def refuse_swapped(y: NDArray[Any], p: NDArray[Any]) -> None:
    """Raise if labels look like scores and scores like labels."""
    if y.dtype.kind != "f" or p.ndim != 1 or p.size == 0:
        return
    if not (((y >= 0) & (y <= 1)).all() and (y != np.floor(y)).any()):
        return
    whole = p.dtype.kind in "biuf" and bool((p == np.floor(p)).all())
    if whole or p.dtype.kind in "US" or isinstance(p[0], str):
        demand = "looks like scores and `y_prob` like labels: the arguments seem swapped"
        raise InputError(NAME, demand, remedy=Remedy("swapped", "Labels come first."))


def _simplest(values: NDArray[Any]) -> NDArray[Any]:
    """The labels with the simplest dtype that holds them: bool, numbers, text, or objects.

    Dates, and objects that cannot be looked up in a table, are errors.
    """
    kind = values.dtype.kind
    if kind in "biufUS":
        return values
    if kind != "O":
        raise InputError(
            NAME, "must hold 0/1, bool, integers or strings", f"got dtype {values.dtype}"
        )
    kinds = {type(v) for v in values}
    if all(issubclass(t, bool | np.bool_) for t in kinds):
        return values.astype(bool)
    if all(issubclass(t, int | float | np.integer | np.floating | np.bool_) for t in kinds):
        return column(values.tolist(), NAME).values
    loose = [t.__name__ for t in kinds if not issubclass(t, Hashable)]
    if loose:
        raise InputError(
            NAME, "must hold 0/1, bool, integers or strings", f"got entries of type {loose[0]}"
        )
    return values


def _distinct_labels(values: NDArray[Any]) -> list[Any]:
    """The distinct labels, sorted; objects of types that cannot be compared are an error."""
    if values.dtype.kind != "O":
        return list(np.unique(values).tolist())
    try:
        return sorted(set(values.tolist()))
    except (TypeError, OverflowError):  # the latter of a whole number beyond all floats
        types = sorted({type(v).__name__ for v in values})
        raise InputError(NAME, "must hold labels of one type", f"got {', '.join(types)}") from None


def checked_order(labels: Sequence[Any]) -> list[Any]:
    """`labels` as a list of different names, none of them missing; anything else is an error."""
    demand = "must be a list of the classes in column order"
    if isinstance(labels, str | bytes | Set | Mapping) or not hasattr(labels, "__len__"):
        raise InputError("labels", demand, f"got {reprlib.repr(labels)}")
    names = column(labels, "labels")
    if names.values.ndim != 1:
        raise InputError("labels", demand, f"got shape {names.values.shape}")
    order: list[Any] = names.values.tolist()
    if names.missing is not None or any(is_missing(v) for v in order):
        raise InputError("labels", demand, f"got {list_labels(order)}, of which one is missing")
    if len(set(order)) != len(order):
        raise InputError("labels", "must name each class once", f"got {list_labels(order)}")
    return order


def _positions(
    values: NDArray[Any], order: list[Any], rows: Ints | None, source: str = "`labels`"
) -> Ints:
    """The place of each label in the order of the classes; unknown labels are an error."""
    position = {name: i for i, name in enumerate(order)}
    if values.dtype.kind == "O":
        codes = np.fromiter(
            (position.get(v, -1) for v in values), dtype=np.int64, count=values.size
        )
    else:
        distinct, inverse = np.unique(values, return_inverse=True)
        of_distinct = [position.get(v, -1) for v in distinct.tolist()]
        codes = np.array(of_distinct, dtype=np.int64)[inverse.ravel()]
    bad = codes < 0
    if bad.any():
        demand = f"must hold values named in {source} ({list_labels(order)})"
        _refuse_labels(demand, values, bad, rows)
    return np.asarray(codes)


def _kind_of(values: NDArray[Any]) -> str:
    types = {type(v) for v in values} if values.dtype.kind == "O" else {values.dtype.type}
    for name, base in _KINDS.items():
        if all(issubclass(t, base) for t in types):
            return name
    return "objects"


def list_labels(labels: Sequence[Any]) -> str:
    """The first four labels in a message."""
    head = ", ".join(reprlib.repr(v) for v in list(labels)[:4])
    if len(labels) > 4:
        return f"{head}, …"
    return head
