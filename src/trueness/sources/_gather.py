"""What a group-by brought back → `Bins` and `Cells`, one per group and part."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import is_missing
from trueness._tally.bins import Bins
from trueness._tally.cells import MOST_WHOLE, Cells
from trueness._tally.rules import BinRule, EqualWidth, refuse_uncovered
from trueness.errors import InputError
from trueness.sources._cells import BAD, UNWEIGHED
from trueness.sources._rows import Rows
from trueness.typing import Floats, Ints

__all__ = [
    "MOST_WHOLE",
    "Columns",
    "Group",
    "bins_of",
    "cells_of",
    "collected",
    "good_of",
    "of_groups",
    "of_parts",
    "rank_of",
    "value_of",
]

Columns: TypeAlias = dict[str, NDArray[Any]]
Group: TypeAlias = tuple[Hashable, ...]
Part = TypeVar("Part")


def collected(query: Any, rows: Rows) -> tuple[Columns, list[Group]]:
    """The rows of the answer: numbers as arrays, and the group of each."""
    lazy = query.lazy()
    answer = lazy.collect(**_how(lazy))
    by = [f"by{i}" for i in range(rows.n_by)]
    columns = {name: np.asarray(answer.get_column(name).to_numpy()) for name in answer.columns if name not in by}
    numbers = {
        name: v.astype(np.float64 if name in ("p", "least", "greatest") else np.int64) for name, v in columns.items()
    }
    keys = [[None if is_missing(v) else v for v in answer.get_column(name).to_list()] for name in by]
    return numbers, list(zip(*keys, strict=True)) if by else [()] * len(answer)


def _how(lazy: Any) -> dict[str, Any]:
    if not lazy.implementation.is_polars():
        return {}
    import polars as pl

    streams = tuple(int(part) for part in pl.__version__.split(".")[:2]) >= (1, 23)
    return {"engine": "streaming"} if streams else {}


def of_groups(numbers: Columns, groups: list[Group]) -> Iterator[tuple[Group, Columns]]:
    """The rows of each group, groups in the order of their keys where they have one."""
    places: dict[Group, int] = {}
    which = np.array([places.setdefault(key, len(places)) for key in groups], dtype=np.int64)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(places) + 1))
    for key in sorted(places, key=rank_of):
        rows = order[ends[places[key]] : ends[places[key] + 1]]
        yield key, {name: values[rows] for name, values in numbers.items()}


def rank_of(key: Group) -> tuple[Any, ...]:
    """Numbers by size, the rest as text, missing values last."""
    numeric = (bool, int, float)
    return tuple((v is None, not isinstance(v, numeric), v if isinstance(v, numeric) else 0, str(v)) for v in key)


def of_parts(numbers: Columns, n_parts: int, make: Callable[[Columns], Part]) -> tuple[Part, ...]:
    """Make something of the rows of each part."""
    if "part" not in numbers:
        return (make(numbers),)
    order = np.argsort(numbers["part"], kind="stable")
    ends = np.searchsorted(numbers["part"][order], np.arange(n_parts + 1))
    return tuple(
        make({name: values[order[ends[k] : ends[k + 1]]] for name, values in numbers.items()}) for k in range(n_parts)
    )


def bins_of(numbers: Columns, rule: BinRule) -> Bins:
    """The sums of each bin."""
    edges = rule.fixed_edges
    assert edges is not None
    good = good_of(numbers, numbers["cell"])
    place, label = good["cell"] >> 1, good["cell"] & 1
    if isinstance(rule, EqualWidth):
        place = np.minimum(place, edges.size - 2)  # a score of 1 belongs to the last bin, which is closed
    return summed_bins(good, place, label, edges)


def good_of(numbers: Columns, marked: NDArray[Any]) -> Columns:
    """The rows of the answer that stand for good rows of positive weight."""
    keep = (marked != BAD) & (marked != UNWEIGHED)
    return {name: values[keep] for name, values in numbers.items()}


def summed_bins(good: Columns, place: Ints, label: Ints, edges: Floats) -> Bins:
    """Add up rows of an answer, whose bins and labels are known."""
    size = edges.size - 1
    if "m0" in good:
        return _weighted_bins(good, place, label, edges)
    refuse_overflow(good["n"])
    table = np.zeros((size, 2, 5), dtype=np.int64)
    sums = np.column_stack([good[name] for name in ("n", "hi", "lo", "hi2", "lo2")])
    np.add.at(table, (place, label), sums)
    return Bins(edges, table, moments=True)


def refuse_overflow(n: Ints) -> None:
    """Raise if a sum may have passed 64 bits: engines do not say so."""
    if n.size and n.max() > MOST_WHOLE:
        raise InputError(
            f"A bin must have at most 2**35 rows to be summed exactly; one has {int(n.max()):,}. Ask for more bins."
        )


def _weighted_bins(good: Columns, place: Ints, label: Ints, edges: Floats) -> Bins:
    # Engines answer in any order; floats are added in one.
    order = np.lexsort((good["e"], label, place))
    good = {name: values[order] for name, values in good.items()}
    place, label = place[order], label[order]
    refuse_overflow(good["n"])
    floats, count = np.zeros((edges.size - 1, 6)), np.zeros(edges.size - 1, dtype=np.int64)
    w, ww, wp, wpp = (value_of(good, term) for term in ("m", "mm", "mp", "mpp"))
    np.add.at(floats, place, np.column_stack([w, ww, w * label, wp, wpp, wp * label]))
    np.add.at(count, place, good["n"])
    whole = not good["broken"].any()
    return Bins(edges, None, floats, count, moments=True, whole=whole)


def value_of(good: Columns, term: str) -> Floats:
    """The sum of a term of weighted rows, from the sums of its parts."""
    exponent = good["e"] * (2 if term == "mm" else 1)
    parts = [(name, 26 + 27 * i) for i in (2, 1, 0) if (name := f"{term}{i}") in good]
    return np.asarray(sum(np.ldexp(good[name].astype(np.float64), exponent - bits) for name, bits in parts))


def cells_of(numbers: Columns) -> Cells:
    """The sums of each distinct score."""
    good = good_of(numbers, numbers["p"])
    if good["p"].size == 0:
        return Cells.empty()
    weighted = "m0" in good
    # -0.0 and 0.0 are one score; engines may group them apart.
    score = good["p"] + 0.0
    order = np.lexsort((good["e"], good["y"], score)) if weighted else np.argsort(score, kind="stable")
    score = score[order]
    first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    good = {name: values[order] for name, values in good.items()}
    pooled = [np.add.reduceat(column, first) for column in _cell_columns(good, weighted)]
    if weighted and not good["broken"].any() and pooled[1].sum() < MOST_WHOLE:
        pooled[1:3] = [np.rint(column).astype(np.int64) for column in pooled[1:3]]
    return Cells(score[first], *pooled)


def _cell_columns(good: Columns, weighted: bool) -> list[NDArray[Any]]:
    if not weighted:
        return [good["n"], good["n"], good["y"]]
    w, ww = value_of(good, "m"), value_of(good, "mm")
    return [good["n"], w, w * good["y"], ww, ww * good["y"]]


def refuse_outside(numbers: Columns, rule: BinRule, extremes: Callable[[], tuple[float, float]]) -> None:
    """Raise if a good score lies outside the edges."""
    edges = rule.fixed_edges
    if edges is None or isinstance(rule, EqualWidth):
        return
    place = good_of(numbers, numbers["cell"])["cell"] >> 1
    if place.size and (place.min() < 0 or place.max() > edges.size - 2):
        low, high = extremes()
        refuse_uncovered(edges, low if low < edges[0] else high)
