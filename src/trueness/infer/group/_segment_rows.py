"""Rows and the segments that they belong to: one table for rows, weighted rows and sums of rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from trueness.typing import Bools, Floats, Ints


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
    def inside(self) -> Bools:
        """Whether the score lies strictly between 0 and 1."""
        return np.asarray((self.score > 0) & (self.score < 1))

    @cached_property
    def away(self) -> tuple[Any, Floats]:
        """The log-odds inside (0, 1) less their mean, by variance, in each segment as a sparse matrix; those means."""
        members = self.members
        inside = self.inside
        x = self.log_odds
        total = members @ np.where(inside, self.variance, 0.0)
        mean = np.divide(
            members @ (self.variance * x), total, out=np.zeros(total.size), where=total > 0
        )
        centred = x[members.indices] - np.repeat(mean, np.diff(members.indptr))
        values = np.where(inside[members.indices], centred, 0.0)
        return sparse.csr_array(
            (values, members.indices, members.indptr), shape=members.shape
        ), mean

    @cached_property
    def members(self) -> Any:
        """Which entries belong to which segment: a sparse 0/1 matrix of shape (segments, entries)."""
        order = np.concatenate([np.argsort(one.code, kind="stable") for one in self.columns])
        sizes = np.concatenate(
            [np.bincount(one.code, minlength=len(one.values)) for one in self.columns]
        )
        start = np.concatenate([[0], np.cumsum(sizes)])
        shape = (sizes.size, self.size)
        return sparse.csr_array((np.ones(order.size, dtype=np.int64), order, start), shape=shape)

    def at(self, some: Ints) -> "SegmentRows":
        """Some of the entries; segments keep their codes."""
        columns = tuple(one._replace(code=one.code[some]) for one in self.columns)
        names = ("score", "count", "scale", "rows", "weight", "events")
        values: Any = {name: getattr(self, name)[some] for name in names}
        if self.cluster is None:
            cluster = None
        else:
            cluster = np.unique(self.cluster[some], return_inverse=True)[1].reshape(-1)
        return SegmentRows(**values, columns=columns, cluster=cluster)

    def without_overall_error(self) -> "SegmentRows | None":
        """Scores after the shift and slope of all rows are undone.

        None if these cannot be estimated.
        """
        inside = self.inside
        cells = tuple(values[inside] for values in (self.log_odds, self.weight, self.events))
        slope, intercept = recalibration_line(*cells)
        if math.isnan(slope):
            slope = 1.0
            intercept = recalibration_shift(*cells)
        if not math.isfinite(intercept):
            return None
        # Nine digits do not depend on the order of rows.
        slope, intercept = (float(f"{one:.9g}") for one in (slope, intercept))
        return replace(
            self, score=np.where(inside, expit(intercept + slope * self.log_odds), self.score)
        )

    def moved_inside(self, unit: float | None) -> "SegmentRows":
        """Scores of 0 and 1 moved by up to half the unit to which they were rounded, if labels contradict them."""
        wrong = ((self.score == 0) & (self.events > 0)) | (
            (self.score == 1) & (self.events < self.weight)
        )
        if unit is None or not wrong.any():
            return self
        order = np.argsort(self.score)
        hits = np.rint(self.events / self.scale)
        score = np.empty(self.size)
        score[order] = moved_scores(self.score[order], self.count[order], hits[order], unit)
        return replace(self, score=score)

    def pooled(self, angle: float | None = None) -> "SegmentRows":
        """Entries that share score, weight and segments as one, in an order that ignores names and the order of rows.

        Entries of the same segments are neighbours. With `angle`, scores share an entry if arcsin
        √p falls into the same step, and have their mean; weights then have their root mean square.
        """
        if angle is None:
            scores = [self.scale, self.score]
        else:
            scores = [np.floor(np.arcsin(np.sqrt(self.score)) / angle)]
        keys = [*scores, *self._codes_by_content]
        order = np.lexsort(keys)
        first = np.flatnonzero(
            np.append(True, np.any([np.diff(key[order]) != 0 for key in keys], axis=0))
        )
        terms = (
            self.count,
            self.rows,
            self.weight,
            self.events,
            self.count * self.score,
            self.count * self.scale**2,
        )
        count, rows, weight, events, expected, squares = (
            np.add.reduceat(one[order], first) for one in terms
        )
        columns = tuple(one._replace(code=one.code[order][first]) for one in self.columns)
        if angle is None:
            score = self.score[order][first]
            scale = self.scale[order][first]
        else:
            score = np.clip(expected / count, 0, 1)
            scale = np.sqrt(squares / count)
        return SegmentRows(score, count, scale, rows, weight, events, columns)

    @cached_property
    def _codes_by_content(self) -> list[Ints]:
        """The segment of each entry in each column, numbered by content."""
        content = self._content()
        return [rank_by_sum(one.code, content)[one.code] for one in self.columns]

    @cached_property
    def cluster_by_content(self) -> Ints:
        """The cluster of each entry, numbered by content, so that results depend neither on names nor on order."""
        assert self.cluster is not None
        return rank_by_sum(self.cluster, self._content(*self._codes_by_content))[self.cluster]

    def with_columns_by_content(self) -> "tuple[SegmentRows, list[int]]":
        """The same, with columns and their values in an order that ignores names, and where each column was before.

        A value is known by its labels; then also by what its labels have in other columns. Groups
        of numbers keep their order.
        """
        labels = self._content()
        for _ in range(2):
            sums = [sums_by_code(one.code, labels) for one in self.columns]
            of_column = [mix_bits(one).sum(dtype=np.uint64) for one in sums]
            joint = np.zeros(self.size, dtype=np.uint64)
            for one, of_value, of_values in zip(self.columns, sums, of_column, strict=True):
                joint += mix_bits(of_value ^ of_values)[one.code]
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
    """The column with its values in the order of their labels, unless they are groups of numbers."""
    if column.edges:
        return column
    rank = rank_by_sum(column.code, labels)
    order = np.argsort(rank)
    unused = range(rank.size, len(column.values))
    values = tuple(column.values[i] for i in (*order.tolist(), *unused))
    return column._replace(code=rank[column.code], values=values, is_text=())


def of_rows(evidence: Evidence, columns: tuple[SegmentColumn, ...], what: str) -> SegmentRows:
    """Rows with one score each; those of weight zero are left out."""
    evidence.require_one(f"the {what} of a matrix")
    cells_of_rows(evidence.sample)  # checks every value
    w = evidence.sample.w
    if evidence.cluster is not None and "few clusters" not in evidence.memory:
        warn_few_clusters(evidence.cluster, w)
    if w is not None and not w.all():
        at = np.flatnonzero(w)
        evidence = evidence.at(at)
        columns = tuple(one.at(at) for one in columns)
        w = evidence.sample.w
    y, p = (
        np.asarray(values, dtype=np.float64) for values in (evidence.sample.y, evidence.sample.p)
    )
    ones = np.ones(p.size, dtype=np.int64)
    one = np.ones(p.size)
    w = one if w is None else np.asarray(w, dtype=np.float64)
    count, scale = (ones, w) if evidence.weights == "fractional" else (w.astype(np.int64), one)
    return SegmentRows(p, count, scale, ones, w, w * y, columns, evidence.cluster)


def of_groups(
    names: Sequence[str], groups: Mapping[Any, Tally | Sketch | Binned], crossed: int = 1
) -> SegmentRows:
    """The cells of the sums of each group.

    A score of which only the mean over a cell or bin is known has that mean.

    With several names the keys are tuples, and every entry of them is a column.
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
        known = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        columns.append(
            SegmentColumn(name, np.array([known[text] for text in texts])[group], tuple(known))
        )
    return SegmentRows(
        score, count, scale, rows, weight, events, with_crossings(tuple(columns), crossed)
    )


def _names(values: Sequence[Any]) -> list[str]:
    """Names as text; one that another value writes, too, is quoted, as in columns of rows: 1 and "1" are different."""
    others = {
        MISSING if value is None else str(value) for value in values if not isinstance(value, str)
    }
    texts = (
        repr(value) if isinstance(value, str) and value in others else value for value in values
    )
    return [MISSING if text is None else str(text) or "''" for text in texts]


def _of_sums(sums: Tally | Sketch | Binned) -> tuple[Any, ...]:
    """Scores, labels, weight of a label, rows, Σw and Σwy."""
    if sums.buckets is not None:
        got = "these have buckets of clusters, whose dependence tests of segments do not allow for"
        raise InputError(
            "y_true", "must be sums of independent rows", got, remedy="Pass rows with `cluster`."
        )
    (part,) = Evidence.of_sums(sums).cells_at_means
    there = part.count > 0
    rows, weight, events, score = (
        np.asarray(v[there]) for v in (part.count, part.weight, part.events, part.score)
    )
    if part.whole:
        ones = np.ones(rows.size)
        return (
            score,
            weight.astype(np.int64),
            ones,
            rows,
            weight.astype(np.float64),
            events.astype(np.float64),
        )
    return score, rows, np.sqrt(part.square_sums[0][there] / rows), rows, weight, events
