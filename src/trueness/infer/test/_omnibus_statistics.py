"""The statistics of the omnibus test, for many sets of labels at once.

Their formulas are in docs/methods/omnibus-test.md.

Mean, slope, variance and cosines are replaced by the normal scores of their ranks among all sets of
labels, because their distributions are skewed when events are rare.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from trueness._tally.binned_scores import BinnedScores, bin_starts, near_ties
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule, Distinct, EqualMass, EqualWidth, MassAndWidth
from trueness.infer.null._redrawn_labels import label_batches
from trueness.infer.test._method import Entries, require_counts
from trueness.typing import Floats, Ints

NAMES = ("error", "width", "cells", "trend", "mean", "slope", "variance", "waves")
WORDS = {
    "error": "squared error in cells of equal mass",
    "width": "squared error in cells of equal width",
    "cells": "standardised residuals in fine cells",
    "trend": "deviance in coarse cells",
    "mean": "observed against expected events",
    "slope": "slope of the log-odds",
    "variance": "observed against expected events, weighted by the variance of the labels",
    "waves": "smooth departures along the scores",
}
# In the order of the names: chosen for power by the simulations of docs/methods/omnibus-test.md.
_WEIGHTS = np.array([0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
_MORE_IF_RARE = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0])


def weights_at(mean: float) -> Floats:
    """The weights of the statistics when they are combined, for scores of this mean.

    The two errors share one weight. If events, or non-events, are rare, fine cells expect less than
    one of them, and too few show only in sums over many rows: the number of events, and 'variance'
    and 'error', which the least certain scores dominate, count for more.
    """
    return _WEIGHTS + (1 - 2 * mean) ** 2 * _MORE_IF_RARE


FORMS = 4
"""Values before the forms: error, width, cells and trend."""
MANY = 4096
"""With more entries than this, near ties are drawn together."""
# Scores within this of each other in the angle arcsin √p are near ties. As the angles add up to
# π/2, the joint distribution of all drawn sums changes by about a sixth of the step times π in
# total variation, 0.0008 (see :func:`trueness.infer.test._pair_tests.pair_test`).
_ANGLE = 1 / 640
_COSINES = 12
# The least variance: scores down to 5e-324 must not overflow its inverse.
_LEAST = 1e-290
# Digits of a statistic that count: the same labels in another order of summation may differ in the
# last ones.
_DIGITS = 9
# Draws whose sums are taken together, and entries of one product of matrices: these stay in the
# cache, and in one thread of BLAS (OpenBLAS starts a second one from 2¹⁸ multiplications on, of
# 16 forms here; it would only spin).
_DRAWS = 64
_BLOCK = 192


def _rules(cells: Cells, n: float, limit: int | None) -> tuple[BinRule, ...]:
    """The rules of four groupings: fine cells, cells of equal mass, of equal width, coarse cells.

    For `n` rows. Fine cells are the distinct scores, if these are few. With a `limit`, there are at
    most that many fine cells.
    """
    coarse = EqualMass(max(3, round(n**0.25)))
    size = max(5, round(n**0.4))
    cut = MassAndWidth(max(5, round(n**0.5)), size)
    fine = Distinct() if cells.size <= 2 * cut.group(cells).edges.size else cut
    if limit is not None and bin_starts(cells, fine).size > limit:
        return (
            EqualMass(limit),
            EqualMass(limit),
            EqualWidth(min(size, limit)),
            EqualMass(min(coarse.n, limit // 2)),
        )
    mass = fine if isinstance(fine, Distinct) else EqualMass(size)
    return fine, mass, EqualWidth(size), coarse


def entries_of_cells(cells: Cells) -> Entries:
    """One entry per distinct score, of cells whose weights are counts."""
    count = cells.weight.astype(np.int64, copy=False)
    hits = cells.events.astype(np.int64, copy=False)
    return Entries(cells.score, count, np.ones(cells.size), hits)


class Statistics:
    """The statistics of sets of labels of the same scores.

    They are functions of sums of residuals u = w(y − p) over the finest cells, those between the
    edges of all four groupings, and of forms, which are weighted sums of u over all entries.
    """

    def __init__(
        self,
        cells: Cells,
        entries: Entries | None = None,
        *,
        pooled: bool = True,
        cell_limit: int | None = None,
    ) -> None:
        """Prepare the statistics of rows with these scores.

        `entries` are the rows if weights do not count them. Otherwise an entry is a cell or, above
        4,096 cells if they may be `pooled`, a run of near ties. `cell_limit` is the largest number
        of cells of a grouping.
        """
        n = float(cells.weight.sum() if cells.whole else cells.count.sum())
        starts = [bin_starts(cells, rule) for rule in _rules(cells, n, cell_limit)]
        every = np.unique(np.concatenate(starts))
        self.low: Floats = cells.score[every]
        """The lowest score of each finest cell."""
        self.partitions = starts[0], starts[3]
        """The first of `cells` in each fine, and in each coarse cell."""
        if entries is None and pooled and cells.size > MANY:
            self.entries, self.first = _pooled(cells, every)
        else:
            self.entries = entries_of_cells(cells) if entries is None else entries
            self.first = np.searchsorted(self.entries.z, self.low)
        z, count, w, _ = self.entries
        # The first finest cell of each cell of the four groupings.
        self.fine_at, mass_at, width_at, self.coarse_at = (
            np.searchsorted(every, start) for start in starts
        )
        # The variance of the events of each entry.
        v = count * w * w * z * (1 - z)
        self.expected = np.add.reduceat(count * w * z, self.first)
        self.variance = np.add.reduceat(v, self.first)
        self.total = np.add.reduceat(count * w, self.first)
        squares = np.add.reduceat(count * w * w, self.first)
        self.scale = float(self.total.sum() / squares.sum())
        """Rows of weight 1, per unit of weight, that carry as much information as these."""
        self.errors = [_Error(self, mass_at), _Error(self, width_at)]
        fine_variance = np.add.reduceat(self.variance, self.fine_at)
        self.inverse = np.where(fine_variance > 0, 1 / np.maximum(fine_variance, _LEAST), 0.0)
        """One over the variance of each fine cell; 0 where labels cannot vary."""
        self.forms = _forms(z, v)
        """The coefficients of each form, of shape (forms, entries)."""
        self.centre = _centre(z, v)
        """The mean log-odds of the scores."""
        self.deviation = np.sqrt(self.forms**2 @ v)
        """The standard deviation of each form."""
        self.expected_forms = self.forms @ (count * w * z)
        self.unweighted = bool((w == 1).all())
        self._of_entries = run_matrix(self.first, z.size)
        self._groups = [
            run_matrix(first, every.size)
            for first in (self.fine_at, mass_at, width_at, self.coarse_at)
        ]
        self.linear = np.vstack([self.forms * w, *(error.slope for error in self.errors)])
        """What an event of each entry adds to the forms and to the squares of the errors."""

    @property
    def weights(self) -> Floats:
        """The weights of the statistics when they are combined."""
        return weights_at(float(self.expected.sum() / self.total.sum()))

    def observed_and_drawn(self, draws: int, rng: np.random.Generator) -> Floats:
        """The values of the observed labels, in the first column, and of `draws` drawn ones."""
        observed = self(self.entries.hits[:, np.newaxis])
        return np.concatenate([observed, self.drawn(draws, rng)], axis=1)

    def drawn(self, draws: int, rng: np.random.Generator, z: Floats | None = None) -> Floats:
        """The values of labels drawn from the scores, or from other probabilities of entries."""
        if z is None:
            z = self.entries.z
        batches = label_batches(z[:, np.newaxis], self.entries.rows, draws, rng)
        return np.concatenate([self(hits) for (hits,) in batches], axis=1)

    def mean_of_entries(self, cells: Cells, values: Floats) -> Floats:
        """One value per entry from one value per cell: the weighted mean over the entry's cells.

        The values themselves if every cell is an entry.
        """
        if cells.size == self.entries.rows.size:
            return values
        last = np.searchsorted(np.cumsum(cells.weight), np.cumsum(self.entries.rows), side="left")
        start = np.concatenate([[0], last[:-1] + 1])
        return np.add.reduceat(cells.weight * values, start) / self.entries.rows

    def __call__(self, hits: NDArray[Any]) -> Floats:
        """The values of sets of labels, in columns: see :meth:`of_sums`.

        `hits` are the events in each entry, of shape (entries, sets).
        """
        parts = [
            self._of_hits(hits[:, i : i + _DRAWS].astype(np.float64))
            for i in range(0, hits.shape[1], _DRAWS)
        ]
        return np.concatenate(parts, axis=1)

    def _of_hits(self, hits: Floats) -> Floats:
        """The values of a few sets of labels, from events of shape (entries, sets)."""
        linear = np.zeros((len(self.linear), hits.shape[1]))
        for start in range(0, len(hits), _BLOCK):
            block = slice(start, start + _BLOCK)
            linear += self.linear[:, block] @ hits[block]
        # The last two rows are those of the errors.
        forms = linear[:-2] - self.expected_forms[:, np.newaxis]
        by_mass, by_width = linear[-2:]
        events = hits if self.unweighted else hits * self.entries.weight[:, np.newaxis]
        residuals = self._of_entries @ events - self.expected[:, np.newaxis]
        squares = [self.errors[0].square + by_mass, self.errors[1].square + by_width]
        return self.of_sums(residuals, forms, squares)

    def of_sums(
        self,
        residuals: Floats,
        forms: Floats,
        squares: Sequence[Floats | float],
        *,
        symmetric: bool = False,
    ) -> Floats:
        """The two errors, cells, trend and standardised forms of sets of labels, in rows.

        `residuals` are the sums of u in the finest cells and `forms` the weighted sums, both with a
        column for each set; `squares` are the sums of squares that the two errors subtract. The
        trend is a deviance or, with `symmetric`, Σ S²/V, to which both signs of residuals are the
        same.
        """
        fine, mass, width, coarse = (group @ residuals for group in self._groups)
        by_mass, by_width = self.errors
        errors = [by_mass.share @ mass**2 - squares[0], by_width.share @ width**2 - squares[1]]
        cells = self.inverse @ fine**2
        if symmetric:
            variance = np.add.reduceat(self.variance, self.coarse_at)[:, np.newaxis]
            trend = (coarse**2 / np.maximum(variance, _LEAST)).sum(axis=0)
        else:
            expected = np.add.reduceat(self.expected, self.coarse_at)[:, np.newaxis]
            total = np.add.reduceat(self.total, self.coarse_at)[:, np.newaxis]
            events = np.clip(coarse + expected, 0, total)
            ratios = log_ratio(events, expected) + log_ratio(total - events, total - expected)
            trend = (2 * self.scale * ratios).sum(axis=0)
        standardised = forms / np.maximum(self.deviation, _LEAST)[:, np.newaxis]
        return np.vstack([*errors, cells, trend, standardised])


class _Error:
    """The debiased squared error of some cells, Σ (S² − Q)/(N − 1).

    S is the sum of the residuals u of a cell, N its rows, and Q = Σu², which is linear in the
    events: an event adds 1 − 2p to Σp².

    With weights, N is an effective number: N − 1 counts as at least 1, and cells of N ≤ 1 do not
    count; nor do those of one row, where S² − Q is 0 but for rounding.
    """

    def __init__(self, statistics: Statistics, first: Ints) -> None:
        """Prepare the error of cells that begin at these finest cells."""
        z, rows, w, _ = statistics.entries
        size = np.add.reduceat(statistics.total, first) * statistics.scale
        first_entry = statistics.first[first]
        several = np.add.reduceat(rows, first_entry) > 1
        self.share = np.where((size > 1) & several, 1 / np.maximum(size - 1, 1), 0.0)
        share = np.repeat(self.share, np.diff(np.append(first_entry, z.size))) * w * w
        self.square = float(share @ (rows * z * z))
        self.slope = share * (1 - 2 * z)


def log_ratio(observed: Floats, expected: Floats | float) -> Floats:
    """O log(O/E), with O observed and E expected; zero for O = 0."""
    positive = observed > 0
    numerator = np.log(np.where(positive, observed, 1))
    denominator = np.log(np.where(positive, np.maximum(expected, _LEAST), 1))
    return np.asarray(observed * (numerator - denominator))


def _forms(z: Floats, v: Floats) -> Floats:
    """The coefficients of the residuals in mean, slope, cosines and variance, one row each.

    The residual of an entry is its events less the expected ones. `z` are the scores of the
    entries, and `v` the variances of their events. The coefficients are 1 (mean), the log-odds of z
    less their mean weighted by v (slope), cosines of the share of the variance below an entry, t,
    and z (1 − z) (variance). If all log-odds are equal, those of the slope are 0.
    """
    total = max(float(v.sum()), _LEAST)
    t = (np.cumsum(v) - v / 2) / total
    cosines = np.cos(np.pi * np.arange(2, _COSINES + 1)[:, np.newaxis] * t)
    away = log_odds(z, _centre(z, v))
    # Log-odds that differ by rounding only are equal.
    if float(v @ away**2) <= 1e-12 * total:
        away = np.zeros(z.size)
    return np.vstack([np.ones(z.size), away, cosines, z * (1 - z)])


def _centre(z: Floats, v: Floats) -> float:
    """The mean log-odds of the scores `z`, weighted by `v`."""
    return float(v @ log_odds(z, 0.0)) / max(float(v.sum()), _LEAST)


def log_odds(z: Floats, centre: float) -> Floats:
    """The log-odds of the scores `z`, minus `centre`; zero for scores of 0 and 1."""
    inside = (z > 0) & (z < 1)
    z = np.where(inside, z, 0.5)
    return np.where(inside, np.log(z) - np.log1p(-z) - centre, 0.0)


def evidence(values: Floats, among: Floats | None = None) -> Floats:
    """The statistics of :data:`NAMES` in rows, large ones being evidence against calibration.

    `values` are the numbers of sets of labels in columns, as :meth:`Statistics.of_sums` gives them:
    the first `FORMS` rows are kept. The others are weighted sums of residuals (forms). They become
    normal scores, by their ranks among all columns or, with `among`, one at a time among its
    columns. Mean, slope and variance are the absolute scores of three of them. The last statistic,
    for waves, is the largest standardised sum of squares of the first k scores, for k from 2 on;
    the variance is not among these.
    """
    null = values if among is None else among
    forms = np.array(
        [
            _normal_scores(form, drawn, alone=among is not None)
            for form, drawn in zip(values[FORMS:], null[FORMS:], strict=True)
        ]
    )
    # How far the sum of squares of the first k forms is from its mean, in standard deviations.
    k = np.arange(2, len(forms))[:, np.newaxis]
    squares = np.cumsum(forms[:-1] ** 2, axis=0)[1:]
    waves = ((squares - k) / np.sqrt(2 * k)).max(axis=0)
    mean_slope_variance = np.abs(forms[[0, 1, -1]])
    return np.vstack([values[:FORMS], mean_slope_variance, waves])


def _normal_scores(values: Floats, among: Floats, *, alone: bool) -> Floats:
    """Each value as the normal quantile of its rank, with ties at their middle rank.

    `values` are ranked among `among`, which they are themselves unless `alone`. With `alone`, each
    is ranked by itself among those of `among`. Ranks alone would bound the scores, so the largest
    and the smallest value are moved out by their distance from the next; with `alone`, values
    beyond all others are. Values are rounded first, so that those that differ by rounding are ties.
    """
    scale = 10.0**_DIGITS / max(float(np.abs(among).max()), _LEAST)
    rounded = np.rint(values * scale)
    ordered = np.sort(np.rint(among * scale))
    below = np.searchsorted(ordered, rounded, side="left")
    upto = np.searchsorted(ordered, rounded, side="right")
    rank = (below + upto) / 2
    if alone:
        beyond = rounded - np.clip(rounded, ordered[0], ordered[-1])
        return np.asarray(ndtri((rank + 0.5) / (ordered.size + 1)) + beyond / scale)
    scores = ndtri(rank / ordered.size)
    scores[rounded == ordered[-1]] += (ordered[-1] - ordered[-2]) / scale
    scores[rounded == ordered[0]] -= (ordered[1] - ordered[0]) / scale
    return np.asarray(scores)


def _pooled(cells: Cells, first: Ints) -> tuple[Entries, Ints]:
    """Entries in which near ties of a finest cell are drawn together, and each cell's first entry.

    `first` is the first of the `cells` in each finest cell.
    """
    require_counts(cells, "redrawing labels")
    entries = entries_of_cells(cells)
    scores = BinnedScores(
        entries.z[:, np.newaxis], entries.rows, entries.hits[:, np.newaxis], first, None, ""
    )
    pooled = near_ties(scores, _ANGLE)
    ones = np.ones(pooled.count.size)
    return Entries(pooled.z[:, 0], pooled.count, ones, pooled.hits[:, 0]), pooled.first


def run_matrix(start: Ints, size: int) -> sparse.csr_array:
    """The sparse matrix that sums `size` rows over runs of them, which begin at `start`."""
    return sparse.csr_array(
        (np.ones(size), np.arange(size), np.append(start, size)), shape=(start.size, size)
    )
