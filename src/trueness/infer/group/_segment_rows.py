"""Rows and the segments that they belong to: one table for rows, weighted rows and sums of rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from trueness._input.segment_columns import MISSING, SegmentColumn, with_crossings
from trueness._numerics.logistic import recalibration_line, recalibration_shift
from trueness._tally.clusters import mix_bits, rank_by_sum, sums_by_code, warn_few_clusters
from trueness._tally.evidence import Evidence
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import moved_scores
from trueness.infer.plan._power import log_odds_of
from trueness.typing import Bools, Floats, Ints, RowOptions


@dataclass(frozen=True)
class SegmentRows:
    """Entries of one score each: a row, or rows of the same score and the same segments."""

    score: Floats
    count: Ints
    """Independent labels: rows, or weights that count rows."""
    scale: Floats
    """The weight of one label: 1 unless weights are fractional."""
    rows: Ints
    """Rows of positive weight."""
    weight: Floats
    """Σw."""
    events: Floats
    """Σwy."""
    columns: tuple[SegmentColumn, ...]
    cluster: Ints | None = None

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.score.size

    @property
    def whole(self) -> bool:
        """Whether every label has weight 1, so that events are counts."""
        return bool((self.scale == 1).all())

    @property
    def variance(self) -> Floats:
        """Variance of Σwy in each entry if the scores are calibrated."""
        return np.asarray(self.scale**2 * self.count * self.score * (1 - self.score))

    @property
    def log_odds(self) -> Floats:
        """Logit p, and 0 where that is infinite."""
        return log_odds_of(self.score)

    @property
    def residual(self) -> Floats:
        """Σw(y − p)."""
        return np.asarray(self.events - self.weight * self.score)

    @property
    def common_excess(self) -> Floats:
        """Σw(y − p) and Σw(y − p) logit p of all rows with scores strictly between 0 and 1."""
        residual = self.residual * self.inside
        return np.array([residual.sum(), residual @ self.log_odds])

    @property
    def inside(self) -> Bools:
        """Whether the score lies strictly between 0 and 1."""
        return np.asarray((self.score > 0) & (self.score < 1))

    @cached_property
    def away(self) -> tuple[Any, Floats]:
        """The log-odds less their mean in each segment, as a sparse matrix; and those means.

        Only scores inside (0, 1) count; the means are weighted by variance.
        """
        members = self.members
        inside = self.inside
        x = self.log_odds
        total = members @ np.where(inside, self.variance, 0.0)
        weighted = members @ (self.variance * x)
        mean = np.divide(weighted, total, out=np.zeros(total.size), where=total > 0)
        centred = x[members.indices] - np.repeat(mean, np.diff(members.indptr))
        values = np.where(inside[members.indices], centred, 0.0)
        entries = (values, members.indices, members.indptr)
        return sparse.csr_array(entries, shape=members.shape), mean

    @cached_property
    def members(self) -> Any:
        """Which entries belong to which segment.

        A sparse 0/1 matrix of shape (segments, entries).
        """
        order = np.concatenate([np.argsort(column.code, kind="stable") for column in self.columns])
        sizes = np.concatenate(
            [np.bincount(column.code, minlength=len(column.values)) for column in self.columns]
        )
        start = np.concatenate([[0], np.cumsum(sizes)])
        shape = (sizes.size, self.size)
        return sparse.csr_array((np.ones(order.size, dtype=np.int64), order, start), shape=shape)

    def at(self, place: Ints) -> "SegmentRows":
        """Some of the entries; segments keep their codes."""
        cluster = None
        if self.cluster is not None:
            cluster = np.unique(self.cluster[place], return_inverse=True)[1].reshape(-1)
        return SegmentRows(
            score=self.score[place],
            count=self.count[place],
            scale=self.scale[place],
            rows=self.rows[place],
            weight=self.weight[place],
            events=self.events[place],
            columns=tuple(column._replace(code=column.code[place]) for column in self.columns),
            cluster=cluster,
        )

    def without_overall_error(self) -> "SegmentRows | None":
        """Scores after the shift and slope of all rows are undone.

        None if these cannot be estimated.
        """
        inside = self.inside
        cells = (self.log_odds[inside], self.weight[inside], self.events[inside])
        slope, intercept = recalibration_line(*cells)
        if math.isnan(slope):
            slope = 1.0
            intercept = recalibration_shift(*cells)
        if not math.isfinite(intercept):
            return None
        # Nine digits do not depend on the order of rows.
        slope = float(f"{slope:.9g}")
        intercept = float(f"{intercept:.9g}")
        score = expit(intercept + slope * self.log_odds)
        return replace(self, score=np.where(inside, score, self.score))

    def moved_inside(self, unit: float | None) -> "SegmentRows":
        """Scores of 0 and 1 moved inside, if labels contradict them.

        They move by up to half the unit to which they were rounded.
        """
        too_low = (self.score == 0) & (self.events > 0)
        too_high = (self.score == 1) & (self.events < self.weight)
        if unit is None or not (too_low | too_high).any():
            return self
        order = np.argsort(self.score)
        hits = np.rint(self.events / self.scale)
        score = np.empty(self.size)
        score[order] = moved_scores(self.score[order], self.count[order], hits[order], unit)
        return replace(self, score=score)

    def pooled(self, angle: float | None = None) -> "SegmentRows":
        """Entries of the same score, weight and segments as one entry.

        Their order ignores names and the order of rows; entries of the same segments are
        neighbours. With `angle`, scores share an entry if arcsin √p falls into the same step, and
        have their mean; weights then have their root mean square.
        """
        if angle is None:
            scores = [self.scale, self.score]
        else:
            scores = [np.floor(np.arcsin(np.sqrt(self.score)) / angle)]
        keys = [*scores, *self._codes_by_content]
        order = np.lexsort(keys)
        changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        first = np.flatnonzero(np.append(True, changes))

        def sums(values: Any) -> Any:
            return np.add.reduceat(values[order], first)

        count = sums(self.count)
        if angle is None:
            score = self.score[order][first]
            scale = self.scale[order][first]
        else:
            score = np.clip(sums(self.count * self.score) / count, 0, 1)
            scale = np.sqrt(sums(self.count * self.scale**2) / count)
        return SegmentRows(
            score=score,
            count=count,
            scale=scale,
            rows=sums(self.rows),
            weight=sums(self.weight),
            events=sums(self.events),
            columns=tuple(
                column._replace(code=column.code[order][first]) for column in self.columns
            ),
        )

    @cached_property
    def _codes_by_content(self) -> list[Ints]:
        """The segment of each entry in each column, numbered by content."""
        content = self._content()
        return [rank_by_sum(column.code, content)[column.code] for column in self.columns]

    @cached_property
    def cluster_by_content(self) -> Ints:
        """The cluster of each entry, numbered by content.

        Results then depend neither on names nor on order.
        """
        assert self.cluster is not None
        return rank_by_sum(self.cluster, self._content(*self._codes_by_content))[self.cluster]

    def with_columns_by_content(self) -> "tuple[SegmentRows, list[int]]":
        """These rows with columns and their values in an order that ignores names.

        The place that each column had before comes with it. A value is known by its labels; then
        also by what its labels have in other columns. Groups of numbers keep their order.
        """
        labels = self._content()
        for _ in range(2):
            sums = [sums_by_code(column.code, labels) for column in self.columns]
            of_column = [mix_bits(value_sums).sum(dtype=np.uint64) for value_sums in sums]
            joint = np.zeros(self.size, dtype=np.uint64)
            for column, of_value, of_values in zip(self.columns, sums, of_column, strict=True):
                joint += mix_bits(of_value ^ of_values)[column.code]
            labels = self._content(joint)
        place = sorted(range(len(self.columns)), key=of_column.__getitem__)
        columns = (_values_by_content(self.columns[i], labels) for i in place)
        return replace(self, columns=tuple(columns)), place

    def _content(self, *more: NDArray[Any]) -> NDArray[np.uint64]:
        """A number for the labels of each entry.

        Those of equal rows add up to that of their entry.
        """
        bits = np.zeros(self.size, dtype=np.uint64)
        for values in (self.score, self.scale, *more):
            bits = mix_bits(bits ^ (values.astype(np.float64) + 0.0).view(np.uint64))
        events = np.rint(self.events / self.scale).astype(np.uint64)
        return self.count.astype(np.uint64) * bits + events * mix_bits(bits)


def _values_by_content(column: SegmentColumn, labels: NDArray[np.uint64]) -> SegmentColumn:
    """The column with its values in the order of their labels; groups of numbers stay."""
    if column.edges:
        return column
    rank = rank_by_sum(column.code, labels)
    order = np.argsort(rank)
    unused = range(rank.size, len(column.values))
    values = tuple(column.values[i] for i in (*order.tolist(), *unused))
    return column._replace(code=rank[column.code], values=values, is_text=())


def event_rows(y_true: Any, y_prob: Any, rows: RowOptions) -> Evidence:
    """Rows or sums of the probability of one event; several classes are refused."""
    evidence = Evidence.of(y_true, y_prob, rows)
    if evidence.view != "binary":
        demand = "must be the probability of an event, or have two columns"
        got = f"got {len(evidence.classes or ())} classes"
        remedy = "For one class against the rest pass its column as a vector."
        raise InputError("y_prob", demand, got, remedy=remedy)
    return evidence


def places_by_value(column: SegmentColumn, evidence: Evidence) -> Iterator[tuple[str, Ints]]:
    """The values of a column that have rows of any weight, each with the places of its rows."""
    # NumPy sorts small integers by radix, in linear time.
    small = np.uint16 if len(column.values) < 1 << 16 else np.int64
    order = np.argsort(column.code.astype(small), kind="stable")
    sizes = np.bincount(column.code, minlength=len(column.values))
    ends = np.append(0, np.cumsum(sizes)).tolist()
    for name, (start, stop) in zip(column.values, pairwise(ends), strict=True):
        place = order[start:stop]
        if start < stop and evidence.has_weight(place):
            yield name, place


def of_rows(evidence: Evidence, columns: tuple[SegmentColumn, ...], what: str) -> SegmentRows:
    """Rows with one score each; those of weight zero are left out."""
    evidence.require_one(f"the {what} of a matrix")
    cells_of_rows(evidence.sample)  # checks every value
    w = evidence.sample.w
    if evidence.cluster is not None and "few clusters" not in evidence.memory:
        warn_few_clusters(evidence.cluster, w)
    if w is not None and not w.all():
        weighted = np.flatnonzero(w)
        evidence = evidence.at(weighted)
        columns = tuple(column.at(weighted) for column in columns)
        w = evidence.sample.w
    y = np.asarray(evidence.sample.y, dtype=np.float64)
    p = np.asarray(evidence.sample.p, dtype=np.float64)
    ones = np.ones(p.size, dtype=np.int64)
    unit = np.ones(p.size)
    w = unit if w is None else np.asarray(w, dtype=np.float64)
    is_fractional = evidence.weights == "fractional"
    return SegmentRows(
        score=p,
        count=ones if is_fractional else w.astype(np.int64),
        scale=w if is_fractional else unit,
        rows=ones,
        weight=w,
        events=w * y,
        columns=columns,
        cluster=evidence.cluster,
    )


def of_groups(
    names: Sequence[str], groups: Mapping[Any, Tally | Sketch | Binned], crossed: int = 1
) -> SegmentRows:
    """The cells of the sums of each group.

    Scores that are known only by their mean over a cell or bin have that mean. With several names
    the keys are tuples, and every entry of them is a column.
    """
    parts = [_of_sums(sums) for sums in groups.values()]
    group = np.repeat(np.arange(len(parts)), [part[0].size for part in parts])
    score, count, scale, rows, weight, events = (
        np.concatenate(values) for values in zip(*parts, strict=True)
    )
    keys = [key if isinstance(key, tuple) else (key,) for key in groups]
    columns = []
    for name, values in zip(names, zip(*keys, strict=True), strict=True):
        texts = _names(values)
        codes = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        code = np.array([codes[text] for text in texts])
        columns.append(SegmentColumn(name, code[group], tuple(codes)))
    return SegmentRows(
        score, count, scale, rows, weight, events, with_crossings(tuple(columns), crossed)
    )


def _names(values: Sequence[Any]) -> list[str]:
    """Names as text.

    Text that is written like another value is quoted, as in columns of rows: 1 and "1" are
    different.
    """
    other_texts = {
        MISSING if value is None else str(value) for value in values if not isinstance(value, str)
    }

    def text_of(value: Any) -> str:
        if value is None:
            return MISSING
        if isinstance(value, str) and value in other_texts:
            return repr(value)
        return str(value) or "''"

    return [text_of(value) for value in values]


def _of_sums(sums: Tally | Sketch | Binned) -> tuple[Any, ...]:
    """Scores, labels, weight of a label, rows, Σw and Σwy."""
    if sums.buckets is not None:
        got = "these have buckets of clusters, whose dependence tests of segments do not allow for"
        raise InputError(
            "y_true", "must be sums of independent rows", got, remedy="Pass rows with `cluster`."
        )
    (part,) = Evidence.of_sums(sums).cells_at_means
    filled = part.count > 0
    rows = np.asarray(part.count[filled])
    weight = np.asarray(part.weight[filled])
    events = np.asarray(part.events[filled])
    score = np.asarray(part.score[filled])
    if not part.whole:
        return score, rows, np.sqrt(part.square_sums[0][filled] / rows), rows, weight, events
    labels = weight.astype(np.int64)
    scale = np.ones(rows.size)
    return score, labels, scale, rows, weight.astype(np.float64), events.astype(np.float64)
