"""Segments: rows with one value of a column, or one group of sums, each tested, with a correction for their number."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column
from trueness._input.labels import labels_missing
from trueness._input.sample import Sample, refuse_shuffled_index
from trueness._report.evidence import Evidence, Sums, means
from trueness._report.inference import (
    FLOOR_DRAWS,
    Clustered,
    Notes,
    Options,
    collect_warnings,
    draws_for_tests,
    significance,
)
from trueness._report.records import Segment, Segments
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule
from trueness._text.numbers import count
from trueness.errors import InputError
from trueness.infer._clustered_rows import FEW_CLUSTERS, effective_number
from trueness.infer._compare import holm
from trueness.infer._paired_rows import some_rows
from trueness.measure import ece
from trueness.typing import ArrayLike, Bools, Ints

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
    """Read ``by=``: one column, a dict of columns or a frame, without the rows that were dropped."""
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
    return _cut(name, given.values[kept], gone[kept])


def _cut(name: str, values: NDArray[Any], gone: Bools) -> SegmentColumn:
    there = values[~gone]
    note = ""
    if there.dtype.kind in "iuf" and np.unique(there).size > _MOST_NUMBERS:
        inner, names = _number_groups(there.astype(np.float64))
        note = f"{name!r} has many distinct numbers and was cut into {len(names)} groups of about equal size."
    else:
        texts, inner = np.unique(there.astype(str), return_inverse=True)
        inner, names = inner.reshape(-1), tuple(str(text) for text in texts)
        if len(names) > _MOST_SEGMENTS:
            inner, names, note = _largest(name, inner, names)
    code = np.full(values.size, len(names), dtype=np.int64)
    code[~gone] = inner
    return SegmentColumn(name, code, (*names, _MISSING) if gone.any() else names, note)


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
    note = f"{name!r} has {len(names):,} distinct values: the {kept.size} largest are shown, the others are combined."
    return new[code], (*(names[i] for i in kept), _OTHERS), note


class _Slice(NamedTuple):
    """The sums of one segment, and its rows if they have clusters."""

    column: str
    value: str
    sums: Sums
    clustered: Clustered | None


def segments(evidence: Evidence, by: tuple[SegmentColumn, ...], options: Options, group_name: str = "") -> Segments:
    """Measure and test every segment of one model."""
    notes, (rule, level, seed, cluster) = Notes(), options
    if evidence.view is None:
        slices = _group_slices(evidence, group_name, notes)
    else:
        slices = [_row_slice(evidence.view, col, i, cluster) for col in by for i in range(len(col.values))]
        for col in by:
            notes.add(col.note)
    tallies = [Evidence(one.sums).tally for one in slices]
    draws = draws_for_tests([tally for tally in tallies if tally is not None], 1 - level)
    pvalues: list[float | None] = []
    for one, tally in zip(slices, tallies, strict=True):
        found = None
        if tally is not None:
            found = notes.attempt(
                f"The test of {one.column!r} = {one.value!r}",
                lambda t=tally, c=one.clustered: significance(t, draws, seed, c),  # type: ignore[misc]
                warn=False,  # the table shows which segments are small
            )
        pvalues.append(None if found is None else found.pvalue)
    rows = tuple(
        _segment(one, rule, p, q, level) for one, p, q in zip(slices, pvalues, holm_adjusted(pvalues), strict=True)
    )
    test = f"{_test(draws, cluster)}; p-values adjusted by Holm's method over {count(len(rows), 'segment')}"
    return Segments(rows, test, tuple(filter(None, [*notes.sentences, *_few_clusters(slices)])))


def _group_slices(evidence: Evidence, name: str, notes: Notes) -> list[_Slice]:
    """One slice per group of the sums, the largest if there are very many."""
    groups = evidence.groups
    if len(groups) > _MOST_SEGMENTS:
        largest = sorted(groups, key=lambda group: -groups[group].n)[:_MOST_SEGMENTS]
        notes.add(f"{name!r} has {len(groups):,} groups: the {_MOST_SEGMENTS} largest are shown.")
        groups = {group: groups[group] for group in largest}
    return [_Slice(name, group, sums, None) for group, sums in groups.items()]


def _row_slice(view: Sample, col: SegmentColumn, i: int, cluster: Ints | None) -> _Slice:
    some = col.code == i
    rows = some_rows(view, some)
    clustered = None if cluster is None else Clustered(rows, cluster[some])
    return _Slice(col.name, col.values[i], tally_of(rows, "classwise"), clustered)


def _test(draws: int | None, cluster: Ints | None) -> str:
    if cluster is not None:
        return f"the exact test, which takes clusters into account, {draws or FLOOR_DRAWS:,} draws"
    return "the cumulative (Kolmogorov–Smirnov) test" if draws is None else f"the exact test, {draws:,} draws"


def _few_clusters(slices: Sequence[_Slice]) -> list[str]:
    """Which segments have too few clusters for the test to keep its level."""
    few = [
        f"{one.column} = {one.value}"
        for one in slices
        if one.clustered is not None and effective_number(one.clustered.cluster) < FEW_CLUSTERS
    ]
    if not few:
        return []
    shown = ", ".join(few[:_SHOWN]) + (f" and {len(few) - _SHOWN} more" if len(few) > _SHOWN else "")
    return [f"Equivalent to fewer than {FEW_CLUSTERS} clusters of equal size, so flags are less reliable: {shown}."]


def holm_adjusted(pvalues: list[float | None]) -> list[float | None]:
    """Holm's adjustment over the p-values that exist."""
    known = np.array([p for p in pvalues if p is not None], dtype=np.float64)
    done = iter(holm(known).tolist())
    return [None if p is None else next(done) for p in pvalues]


def _segment(one: _Slice, rule: BinRule, p: float | None, q: float | None, level: float) -> Segment:
    with collect_warnings(Notes()):
        error = ece(one.sums, bins=rule)
    flagged = q is not None and q <= 1 - level
    return Segment(one.column, one.value, one.sums.n, *means(one.sums), error, p, q, flagged)
