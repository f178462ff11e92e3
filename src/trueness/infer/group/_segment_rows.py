"""Rows and the segments that they belong to: one table for rows, weighted rows and sums of rows."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from trueness._input.segment_columns import MISSING, SegmentColumn, with_crossings
from trueness._numerics.logistic import recalibration_line, recalibration_shift
from trueness._numerics.units import ClusterUnits, Units, units_of
from trueness._tally.clusters import mix_bits, rank_by_sum, sums_by_code, warn_few_clusters
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.sketch import Sketch
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import moved_scores
from trueness.infer.plan._power import log_odds_of
from trueness.typing import ArrayLike, Bools, Floats, Ints, RowOptions


class CentredLogOdds(NamedTuple):
    """The log-odds of the scores less their mean in each segment."""

    log_odds: sparse.csr_array
    """The centred log-odds of the entries of each segment, of shape (segments, entries); 0 for
    scores of 0 and 1."""
    mean: Floats
    """The mean in each segment, weighted by the variance of labels; 0 where there is none."""


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
    """Each says to which of its segments every entry belongs."""
    cluster: Ints | None = None
    """The cluster of each entry; None if rows are independent."""

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
        return self.scale**2 * self.count * self.score * (1 - self.score)

    @property
    def log_odds(self) -> Floats:
        """Log p/(1 − p), and 0 where that is infinite."""
        return log_odds_of(self.score)

    @property
    def residual(self) -> Floats:
        """Σw(y − p)."""
        return self.events - self.weight * self.score

    @property
    def inside(self) -> Bools:
        """Whether the score lies strictly between 0 and 1."""
        return (self.score > 0) & (self.score < 1)

    @property
    def common_residuals(self) -> Floats:
        """Σw(y − p) and Σw(y − p)x of all rows, x being the log-odds of the score p.

        Rows with scores of 0 and 1 are left out.
        """
        residual = self.residual * self.inside
        return np.array([residual.sum(), residual @ self.log_odds])

    @property
    def common_residuals_by_unit(self) -> Floats:
        """The sums of :attr:`common_residuals` over each unit, of shape (2, units)."""
        terms = np.stack([self.inside, self.log_odds]) * self.residual
        return self.units_by_content.sums(terms)

    @property
    def units(self) -> Units:
        """What is independent: entries, or clusters of them."""
        return units_of(self.cluster, self.size)

    @cached_property
    def centred(self) -> CentredLogOdds:
        """The log-odds of the scores less their mean in each segment.

        Only scores strictly between 0 and 1 count.
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
        return CentredLogOdds(sparse.csr_array(entries, shape=members.shape), mean)

    @cached_property
    def members(self) -> sparse.csr_array:
        """Which entries belong to which segment: a sparse matrix of ones.

        Its shape is (segments, entries): the segments of the first column, then those of the next.
        """
        orders = []
        counts = []
        for column in self.columns:
            orders.append(np.argsort(column.code, kind="stable"))
            counts.append(np.bincount(column.code, minlength=len(column.values)))
        order = np.concatenate(orders)
        sizes = np.concatenate(counts)
        start = np.concatenate([[0], np.cumsum(sizes)])
        ones = np.ones(order.size, dtype=np.int64)
        return sparse.csr_array((ones, order, start), shape=(sizes.size, self.size))

    def at(self, place: Ints) -> "SegmentRows":
        """The entries at these places; segments keep their codes, clusters are numbered anew."""
        return SegmentRows(
            score=self.score[place],
            count=self.count[place],
            scale=self.scale[place],
            rows=self.rows[place],
            weight=self.weight[place],
            events=self.events[place],
            columns=tuple(column._replace(code=column.code[place]) for column in self.columns),
            cluster=self.units.at(place).renumbered().cluster,
        )

    def without_overall_error(self) -> "SegmentRows | None":
        """The same rows with scores from which the shift and slope of all rows are removed.

        The log-odds x of a score become a + bx, the logistic regression of all labels on x. If it
        has no finite slope, b is 1 and only a is fitted. None if a is not finite either, as for
        labels that are all equal. Scores of 0 and 1 stay.
        """
        inside = self.inside
        x = self.log_odds[inside]
        weight = self.weight[inside]
        events = self.events[inside]
        slope, intercept = recalibration_line(x, weight, events)
        if math.isnan(slope):
            slope = 1.0
            intercept = recalibration_shift(x, weight, events)
        if not math.isfinite(intercept):
            return None
        # Nine digits do not depend on the order of rows.
        slope = float(f"{slope:.9g}")
        intercept = float(f"{intercept:.9g}")
        score = expit(intercept + slope * self.log_odds)
        return replace(self, score=np.where(inside, score, self.score))

    def moved_inside(self, unit: float | None) -> "SegmentRows":
        """The same rows with scores of 0 and 1 moved inside, if labels contradict them.

        Scores were rounded to multiples of `unit`, so that a score of 0 may stand for one up to
        half a unit above: these scores move by up to half a unit. If `unit` is None, or no label
        contradicts a score of 0 or 1, the rows themselves come back.
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
        """Entries of the same score, weight and segments as one entry, without clusters.

        Their order ignores names and the order of rows; entries of the same segments are
        neighbours. With `angle`, near ties are one entry, too: scores p of the same segments whose
        arcsin √p falls into the same step of this width. They get their mean score, and their
        weights the root of their mean square.
        """
        if angle is None:
            keys = [self.scale, self.score, *self._codes_by_content]
        else:
            step = np.floor(np.arcsin(np.sqrt(self.score)) / angle)
            keys = [step, *self._codes_by_content]
        order = np.lexsort(keys)
        changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        start = np.flatnonzero(np.append(True, changes))
        first = order[start]

        def sums(values: NDArray[Any]) -> NDArray[Any]:
            """The sum of the values of each new entry."""
            return np.add.reduceat(values[order], start)

        count = sums(self.count)
        if angle is None:
            score = self.score[first]
            scale = self.scale[first]
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
            columns=tuple(column._replace(code=column.code[first]) for column in self.columns),
        )

    @cached_property
    def _codes_by_content(self) -> list[Ints]:
        """The segment of each entry in each column, numbered by its scores and labels."""
        content = self._content()
        return [rank_by_sum(column.code, content)[column.code] for column in self.columns]

    @cached_property
    def units_by_content(self) -> Units:
        """The units; clusters are numbered by the scores, labels and segments of their rows.

        The numbers depend neither on the names of clusters nor on the order of rows.
        """
        if not self.units.clustered:
            return self.units
        content = self._content(*self._codes_by_content)
        return ClusterUnits(self.units.spread(rank_by_sum(self.units.code, content)))

    def with_columns_by_content(self) -> "tuple[SegmentRows, list[int]]":
        """These rows with columns and their values in an order that ignores names.

        The place that each column had before comes with them. A value is known by the scores and
        labels of its rows, and in a second round also by their values in the other columns. Groups
        of numbers keep their order.
        """
        content = self._content()
        for _ in range(2):
            of_values = [sums_by_code(column.code, content) for column in self.columns]
            of_columns = [mix_bits(sums).sum(dtype=np.uint64) for sums in of_values]
            all_columns = np.zeros(self.size, dtype=np.uint64)
            for i, column in enumerate(self.columns):
                all_columns += mix_bits(of_values[i] ^ of_columns[i])[column.code]
            content = self._content(all_columns)
        place = sorted(range(len(self.columns)), key=of_columns.__getitem__)
        columns = (_values_by_content(self.columns[i], content) for i in place)
        return replace(self, columns=tuple(columns)), place

    def _content(self, *more: NDArray[Any]) -> NDArray[np.uint64]:
        """A hash of the score, weight and labels of each entry, and of `more` of its values.

        It is a sum over labels, modulo 2⁶⁴: the numbers of equal rows add up to that of the entry
        that holds them together.
        """
        of_label = np.zeros(self.size, dtype=np.uint64)
        for values in (self.score, self.scale, *more):
            bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # −0 becomes 0
            of_label = mix_bits(of_label ^ bits)
        labels = self.count.astype(np.uint64)
        events = np.rint(self.events / self.scale).astype(np.uint64)
        return labels * of_label + events * mix_bits(of_label)


def _values_by_content(column: SegmentColumn, labels: NDArray[np.uint64]) -> SegmentColumn:
    """The column with its values in the order of their rows' `labels`, numbers made of labels.

    A column of numbers that were cut into groups stays as it is. Values without rows come last.
    """
    if column.edges:
        return column
    rank = rank_by_sum(column.code, labels)
    order = np.argsort(rank)
    unused = range(rank.size, len(column.values))
    values = tuple(column.values[i] for i in (*order.tolist(), *unused))
    return column._replace(code=rank[column.code], values=values, is_text=())


def event_rows(y_true: ArrayLike, y_prob: ArrayLike | None, rows: RowOptions) -> Evidence:
    """Rows or sums of the probability of one event; several classes are refused."""
    evidence = read_rows(y_true, y_prob, rows)
    if not evidence.is_binary:
        demand = "must be the probability of an event, or have two columns"
        got = f"got {len(evidence.classes or ())} classes"
        remedy = "For one class against the rest pass its column as a vector."
        raise InputError("y_prob", demand, got, remedy=remedy)
    return evidence


def places_by_value(column: SegmentColumn, evidence: Evidence) -> Iterator[tuple[str, Ints]]:
    """Each value of a column with the numbers of its rows.

    `column` has the value of each row of `evidence`. Values without rows, or whose rows all have
    weight 0, are left out.
    """
    order = order_by_code(column.code, len(column.values))
    sizes = np.bincount(column.code, minlength=len(column.values))
    ends = np.append(0, np.cumsum(sizes)).tolist()
    for name, (start, stop) in zip(column.values, pairwise(ends), strict=True):
        place = order[start:stop]
        if start < stop and evidence.has_weight(place):
            yield name, place


def order_by_code(code: Ints, values: int) -> Ints:
    """The places of entries in the order of their codes, which are below `values`.

    Entries of one code keep their order. NumPy sorts small integers by radix, in linear time.
    """
    small = np.uint16 if values < 1 << 16 else np.int64
    return np.argsort(code.astype(small), kind="stable")


def of_rows(evidence: Evidence, columns: tuple[SegmentColumn, ...], what: str) -> SegmentRows:
    """One entry per row, with its segments; rows of weight 0 are left out.

    `columns` has the segment of each row in each column. `what` is "segments" or "slices", for
    messages. Weights that count rows become numbers of labels, other weights the scale of one
    label. Several scores per row are refused; few clusters give a warning.
    """
    evidence.require_one(f"the {what} of a matrix")
    w = evidence.sample.w
    if not evidence.said.few_clusters:
        warn_few_clusters(evidence.units, w)
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
    """One entry per cell of the sums of each group; a cell is the rows of one score.

    `groups` has the sums by key, and `names` are the names of the columns whose values are the
    keys: with several, keys are tuples. Combinations of up to `crossed` columns are further
    columns. Rows of a bin or a pooled cell are taken at their mean score.
    """
    parts = [_cells_of_group(sums) for sums in groups.values()]
    group = np.repeat(np.arange(len(parts)), [part.score.size for part in parts])
    keys = [key if isinstance(key, tuple) else (key,) for key in groups]
    columns = []
    for name, values in zip(names, zip(*keys, strict=True), strict=True):
        texts = _texts(values)
        codes = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        code = np.array([codes[text] for text in texts])
        columns.append(SegmentColumn(name, code[group], tuple(codes)))
    cells = _GroupCells._make(map(np.concatenate, zip(*parts, strict=True)))
    return SegmentRows(
        score=cells.score,
        count=cells.labels,
        scale=cells.scale,
        rows=cells.rows,
        weight=cells.weight,
        events=cells.events,
        columns=with_crossings(tuple(columns), crossed),
    )


def _texts(values: Sequence[Hashable]) -> list[str]:
    """The values of a column of keys as text, None as "(missing)".

    Text that reads like a value of another type is quoted, as in columns of rows: 1 and "1" are
    different. So is the empty text.
    """
    other_texts = {
        MISSING if value is None else str(value) for value in values if not isinstance(value, str)
    }

    def text_of(value: Hashable) -> str:
        if value is None:
            return MISSING
        if isinstance(value, str) and value in other_texts:
            return repr(value)
        return str(value) or "''"

    return [text_of(value) for value in values]


class _GroupCells(NamedTuple):
    """The cells of one group that have rows: `labels` is their `count` in :class:`SegmentRows`."""

    score: Floats
    labels: Ints
    scale: Floats
    rows: Ints
    weight: Floats
    events: Floats


def _cells_of_group(sums: Tally | Sketch | Binned) -> _GroupCells:
    """The cells of the sums of one group that have rows; sums of clusters are refused.

    If weights count rows, a row of weight w is w labels of scale 1. Otherwise each row is one
    label, and all labels of a cell have the same scale: the root of their mean squared weight,
    which keeps the variance.
    """
    if sums.buckets is not None:
        got = "these have buckets of clusters, whose dependence tests of segments do not allow for"
        raise InputError(
            "y_true", "must be sums of independent rows", got, remedy="Pass rows with `cluster`."
        )
    (part,) = Sums.read(sums).cells_at_means
    filled = part.count > 0
    rows = np.asarray(part.count[filled])
    weight = np.asarray(part.weight[filled])
    if part.whole:
        labels = weight.astype(np.int64)
        scale = np.ones(rows.size)
    else:
        labels = rows
        scale = np.sqrt(part.square_sums[0][filled] / rows)
    return _GroupCells(
        score=np.asarray(part.score[filled]),
        labels=labels,
        scale=scale,
        rows=rows,
        weight=weight.astype(np.float64),
        events=part.events[filled].astype(np.float64),
    )
