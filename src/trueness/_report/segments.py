"""Segments: the rows that share a value of a column, each tested, with a correction for their number."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column
from trueness._input.labels import labels_missing
from trueness._input.sample import Sample, refuse_shuffled_index
from trueness._report.budget import FLOOR_DRAWS, Clustered, Notes, heard, tested, tests_by_drawing
from trueness._report.clusters import FEW_CLUSTERS, effective
from trueness._report.records import Segment, Segments
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule, EqualMass
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer._compare import holm
from trueness.measure import ece
from trueness.typing import ArrayLike, Bools, Ints

__all__ = ["SegmentColumn", "adjusted", "read_by", "segments"]

_MOST_SEGMENTS = 40
_MOST_NUMBERS = 12
_GROUPS = 5
_MISSING = "(missing)"
_OTHERS = "(all others)"
_SHOWN = 6


class SegmentColumn(NamedTuple):
    """A column cut into segments."""

    name: str
    code: Ints
    """The segment of each row."""
    values: tuple[str, ...]
    """The name of each segment."""
    note: str


def read_by(by: Any, y_true: ArrayLike, kept: Bools) -> tuple[SegmentColumn, ...]:
    """Read ``by=``: one column, a dict of columns or a frame; rows that were dropped are dropped here too."""
    if by is None:
        return ()
    if isinstance(by, Mapping):
        if not by:
            raise InputError("by", "must hold at least one column", "the dict is empty")
        return tuple(_read(str(name), values, y_true, kept) for name, values in by.items())
    given = column(by, "by")
    if given.values.ndim == 2:
        names = given.names or tuple(f"column {j}" for j in range(given.values.shape[1]))
        return tuple(_read(str(name), given.values[:, j], y_true, kept) for j, name in enumerate(names))
    return (_read(str(getattr(by, "name", None) or "by"), by, y_true, kept),)


def _read(name: str, values: Any, y_true: ArrayLike, kept: Bools) -> SegmentColumn:
    refuse_shuffled_index(y_true, {f"by[{name!r}]": values})
    given = column(values, "by")
    if given.values.ndim != 1 or given.values.shape[0] != kept.size:
        raise InputError(
            "by",
            "must have one entry per row",
            f"{name!r} has shape {given.values.shape} and there are {kept.size:,} rows",
        )
    gone = labels_missing(given)
    gone = np.zeros(kept.size, dtype=bool) if gone is None else gone
    code, names, note = _cut(name, given.values[kept], gone[kept])
    return SegmentColumn(name, code, names, note)


def _cut(name: str, values: NDArray[Any], gone: Bools) -> tuple[Ints, tuple[str, ...], str]:
    there = values[~gone]
    note = ""
    if there.dtype.kind in "iuf" and np.unique(there).size > _MOST_NUMBERS:
        inner, names = _number_groups(there.astype(np.float64))
        note = f"{name!r} has many different numbers and was cut into {len(names)} groups of about equal size."
    else:
        texts, inner = np.unique(there.astype(str), return_inverse=True)
        inner, names = inner.reshape(-1), tuple(str(text) for text in texts)
        if len(names) > _MOST_SEGMENTS:
            inner, names, note = _largest(name, inner, names)
    code = np.full(values.size, len(names), dtype=np.int64)
    code[~gone] = inner
    return code, (*names, _MISSING) if gone.any() else names, note


def _number_groups(values: Any) -> tuple[Ints, tuple[str, ...]]:
    distinct, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    reached = np.cumsum(count)
    cuts = np.unique(np.searchsorted(reached, np.arange(1, _GROUPS) * values.size / _GROUPS, side="left") + 1)
    first = np.concatenate([[0], cuts[cuts < distinct.size]])
    last = np.append(first[1:], distinct.size) - 1
    code = np.searchsorted(first, inverse.reshape(-1), side="right") - 1
    return code, tuple(f"{distinct[a]:.6g} to {distinct[b]:.6g}" for a, b in zip(first, last, strict=True))


def _largest(name: str, code: Ints, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...], str]:
    size = np.bincount(code, minlength=len(names))
    kept = np.sort(np.argsort(-size, kind="stable")[: _MOST_SEGMENTS - 1])
    new = np.full(len(names), kept.size)
    new[kept] = np.arange(kept.size)
    note = f"{name!r} has {len(names):,} different values: the {kept.size} largest are shown, the others together."
    return new[code], (*(names[i] for i in kept), _OTHERS), note


def segments(
    view: Sample, by: tuple[SegmentColumn, ...], rule: BinRule, level: float, seed: int, cluster: Ints | None = None
) -> Segments:
    """Measure and test every segment of one model."""
    notes = Notes()
    places = [(col, i) for col in by for i in range(len(col.values))]
    tallies = [tally_of(_rows_of(view, col.code == i), "classwise") for col, i in places]
    draws = tests_by_drawing(tallies, 1 - level)
    pvalues: list[float | None] = []
    for (col, i), tally in zip(places, tallies, strict=True):
        some = col.code == i
        grouped = None if cluster is None else Clustered(_rows_of(view, some), cluster[some])
        found = notes.tried(
            f"The test of {col.name!r} = {col.values[i]!r}",
            lambda t=tally, g=grouped: tested(t, draws, seed, g),  # type: ignore[misc]
        )
        pvalues.append(None if found is None else found.pvalue)
    corrected = adjusted(pvalues)
    rows = tuple(
        _segment(col, i, tally, rule, p, q, level)
        for (col, i), tally, p, q in zip(places, tallies, pvalues, corrected, strict=True)
    )
    # What else a small segment lacks is plain from its number of rows.
    said = (*(col.note for col in by if col.note), *(s for s in notes.said if "could not" in s), *_few(by, cluster))
    return Segments(
        rows, f"{_test(draws, cluster)}; p-values adjusted by Holm's method over {len(rows)} segments", said
    )


def _test(draws: int | None, cluster: Ints | None) -> str:
    if cluster is not None:
        return f"the exact test, which allows for clusters, {draws or FLOOR_DRAWS:,} draws"
    return "the cumulative (Kolmogorov–Smirnov) test" if draws is None else f"the exact test, {draws:,} draws"


def _few(by: tuple[SegmentColumn, ...], cluster: Ints | None) -> list[str]:
    """Which segments have too few clusters for the test to keep its level."""
    if cluster is None:
        return []
    places = [(col, i) for col in by for i in range(len(col.values))]
    few = [f"{col.name} = {col.values[i]}" for col, i in places if effective(cluster[col.code == i]) < FEW_CLUSTERS]
    if not few:
        return []
    shown = ", ".join(few[:_SHOWN]) + (f" and {len(few) - _SHOWN} more" if len(few) > _SHOWN else "")
    return [f"Fewer than {FEW_CLUSTERS} clusters of equal size, so that a flag may be chance more often: {shown}."]


def adjusted(pvalues: list[float | None]) -> list[float | None]:
    """Holm's adjustment over those that are there."""
    known = np.array([p for p in pvalues if p is not None], dtype=np.float64)
    done = iter(holm(known).tolist())
    return [None if p is None else next(done) for p in pvalues]


def _rows_of(view: Sample, some: Bools) -> Sample:
    return Sample(view.y[some], view.p[some], None if view.w is None else view.w[some])


def _segment(
    col: SegmentColumn, i: int, tally: Tally, rule: BinRule, p: float | None, q: float | None, level: float
) -> Segment:
    whole = tally.coarsen(EqualMass(1)).parts[0]
    with heard(Notes()):
        error = ece(tally, bins=rule)
    return Segment(
        column=col.name,
        value=col.values[i],
        n=tally.n,
        score=float(whole.score[0]),
        rate=float(whole.rate[0]),
        gap=float(whole.gap[0]),
        ece=error,
        pvalue=p,
        adjusted_pvalue=q,
        flagged=q is not None and q <= 1 - level,
    )
