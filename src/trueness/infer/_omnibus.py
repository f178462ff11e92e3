r"""The omnibus test of calibration: five statistics, the same redrawn labels, one p-value.

No single statistic detects every kind of miscalibration. Each of these is the best, or close to it, for one kind:

- ``error``: the debiased squared error T in cells of equal mass (local errors, waves);
- ``cells``: :math:`\sum_b S_b^2 / V_b` in cells cut by mass and by width, with the sum S of the residuals y − p and
  its variance V (errors where events are rare or nearly certain);
- ``trend``: the same in a few cells of equal mass (slow waves);
- ``cox``: the score of intercept and slope of the log-odds (shifts, scores too extreme or too moderate);
- ``kuiper``: the range of the cumulated residuals (shifts of a part of the scores).

Let the R + 1 label vectors be the observed one and R drawn from the scores. Each of them has a p-value for each
statistic, its rank among all R + 1. Two combinations follow, the smallest of the five and their product, and each of
these is ranked again among the R + 1; the smaller rank of the two is the final statistic, and its rank among all is the
p-value. Under calibration all R + 1 vectors are exchangeable, so the level holds at any n, with ties and rare events.
"""

from typing import NamedTuple

import numpy as np

from trueness._tally.binned_scores import BinnedScores, near_ties, of_cells
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule, Distinct, EqualMass, MassAndWidth
from trueness.infer._certain_scores import contradictions, contradictions_in_words, grid_unit, moved_inside
from trueness.infer._redrawn_labels import label_batches
from trueness.infer._tail_bounds import tail_bound
from trueness.infer._test_method import Options, Outcome, bin_starts, require_counts
from trueness.typing import Floats, Ints

NAMES = ("error", "cells", "trend", "cox", "kuiper")
_MANY, _ANGLE = 4096, 1 / 1024
# Values that differ by less than this part of the largest are equal: the same labels in another order of summation.
_EQUAL = 1e-9
# The least variance: scores down to 5e-324 must not overflow its inverse.
_LEAST = 1e-290
# Labels that are drawn at most for the lower tail.
_MOST_LABELS = 5 * 10**7


def mass_and_width_cells(cells: Cells, n: float, mass: float, width: float) -> BinRule:
    """About n^mass cells of equal mass, cut at n^width edges too; one cell per score if the scores are few."""
    rule = MassAndWidth(max(5, round(n**mass)), max(5, round(n**width)))
    return Distinct() if cells.size <= 2 * rule.group(cells).edges.size else rule


class OmnibusTest(NamedTuple):
    """The outcome: the p-value, that of each statistic alone, and that of the lower tail."""

    pvalue: float
    alone: dict[str, float]
    too_good: float | None
    draws: int
    contradicted: int = 0
    """Rows whose label a score of exactly 0 or 1 rules out."""
    impossible: str = ""
    """The same in words."""
    unit: float = 0.0
    """The unit of rounded scores, if scores of 0 and 1 had to be moved by half of it."""

    @property
    def strongest(self) -> str:
        """The statistic with the smallest p-value of its own."""
        return min(self.alone, key=self.alone.__getitem__)


def omnibus(cells: Cells, options: Options) -> Outcome:
    """The omnibus test as a method of :func:`trueness.calibration_test`."""
    draws = options.resamples or 999
    result = omnibus_test(require_counts(cells, "`method='omnibus'`"), draws, options.rng)
    exactly = "exact at any n" if cells.size <= _MANY else "exact within 0.001, near ties being drawn together"
    drawn = f"Rows are independent; the level is {exactly}: {draws:,} sets of labels were drawn from the scores."
    return omnibus_outcome(result, drawn)


def omnibus_outcome(result: OmnibusTest, assumptions: str) -> Outcome:
    """The outcome with its details in words."""
    known = {"contradicted": result.contradicted}
    if not result.alone:
        details = known | {"strongest": "labels that are impossible under the scores"}
        return Outcome(0.0, 0.0, f"Labels are impossible under the scores: {result.impossible}.", details=details)
    strongest, smallest = WORDS[result.strongest], min(result.alone.values())
    words = f"{assumptions} Strongest evidence: {strongest} (p = {smallest:.3g} alone)."
    if result.contradicted:
        words = (
            f"Labels are impossible under the scores as they stand (p = 0): {result.impossible}. But all scores are "
            f"multiples of {_as_unit(result.unit)}, so rounding may have made them 0 and 1; with these moved by half a "
            f"unit, the p-value is the one reported. {words}"
        )
    details = known | {"alone": result.alone, "strongest": strongest, "too_good": result.too_good}
    return Outcome(smallest, result.pvalue, words, 1 / (result.draws + 1), details)


def _as_unit(unit: float) -> str:
    if unit < 1e-6:
        return "the spacing of 32-bit floats"
    return f"{unit:g}" if round(unit, 4) == unit else f"1/{round(1 / unit)}"


WORDS = {
    "error": "squared error in cells of equal mass",
    "cells": "standardised residuals in fine cells",
    "trend": "standardised residuals in coarse cells",
    "cox": "intercept and slope of the log-odds",
    "kuiper": "range of the cumulated residuals",
}


def omnibus_test(cells: Cells, draws: int, rng: np.random.Generator) -> OmnibusTest:
    """The omnibus test of whole-number weights.

    A label that a score of 0 or 1 rules out has probability zero: the p-value is 0, unless the scores are visibly
    rounded. Then scores of 0 and 1 are moved by half the unit of their grid.
    """
    contradicted = contradictions(cells)
    if contradicted:
        unit, words = grid_unit(cells.score), contradictions_in_words(cells)
        if unit is None:
            return OmnibusTest(0.0, {}, None, draws, contradicted, words)
        moved = omnibus_test(moved_inside(cells, unit / 2), draws, rng)
        return moved._replace(contradicted=contradicted, impossible=words, unit=unit)
    statistics = Statistics(cells)
    values = statistics.observed_and_drawn(draws, rng)
    alone, combined = combined_pvalues(values)
    too_good = lower_tail(values)
    # At its floor the lower tail is ranked among more, fresh draws. Valid: below the floor, the p-value is small only
    # if that of the fresh draws is.
    more = 10 * (draws + 1) - 1
    if too_good * (draws + 1) < 1.5 and statistics.scores.count.size * more <= _MOST_LABELS:
        too_good = min(too_good, lower_tail(statistics.observed_and_drawn(more, rng)))
    pvalue = float(combined[0])
    if pvalue * (draws + 1) < 1.5:  # for the same reason, a proven tail may replace the p-value at its floor
        whole, directions = np.zeros(1, dtype=np.int64), (log_odds(cells.score, statistics.centre), 1 - 2 * cells.score)
        pvalue = min(pvalue, tail_bound(cells, (whole, *statistics.partitions), directions))
    return OmnibusTest(pvalue, dict(zip(NAMES, alone[:, 0].tolist(), strict=True)), too_good, draws)


def omnibus_power(
    cells: Cells,
    alternative: Floats,
    alpha: float,
    *,
    draws: int = 199,
    null_draws: int = 999,
    rng: np.random.Generator,
) -> float:
    """Power of the test at level `alpha` for the scores of these cells if `alternative` were the true probabilities.

    Labels are drawn from the alternative `draws` times; all of them are ranked among the same `null_draws` sets of
    labels drawn from the scores.
    """
    statistics = Statistics(cells)
    null = statistics.drawn(null_draws, rng)
    drawn = statistics.drawn(draws, rng, statistics.mean_of_entries(cells, alternative))
    two, two_null = (
        _combinations(-np.log([_ranks(row, among) for row, among in zip(v, null, strict=True)])) for v in (drawn, null)
    )
    better, better_null = (
        np.min([_ranks(row, among) for row, among in zip(v, two_null, strict=True)], axis=0) for v in (two, two_null)
    )
    return float(np.mean(_ranks(-better, -better_null) <= alpha))


def combined_pvalues(values: Floats) -> tuple[Floats, Floats]:
    """P-values of vectors of labels, from their statistics of shape (J, vectors): of each statistic, and combined.

    The p-value of a statistic is its rank. The combination is the minimum or the product of these p-values, whichever
    has the smaller rank, ranked once more. The largest value of a statistic counts for more than its rank by the ratio
    to the second largest: vectors that lead in one statistic each would otherwise all be equal.
    """
    alone = np.array([_ranks(row) for row in values])
    logs, (second, largest) = -np.log(alone), np.sort(values, axis=1)[:, -2:].T
    lead = np.log(np.where(second > 0, largest, 1)) - np.log(np.where(second > 0, second, 1))
    logs[np.arange(lead.size), values.argmax(axis=1)] += lead
    better = np.min([_ranks(row) for row in _combinations(logs)], axis=0)
    return alone, _ranks(-better)


def lower_tail(values: Floats) -> float:
    """The p-value of the first vector if small values are evidence.

    Without the debiased error, which is lowest where large residuals of both signs cancel.
    """
    return float(combined_pvalues(-values[1:])[1][0])


def _combinations(logs: Floats) -> Floats:
    """Minimum and product of the p-values of each vector, from their negative logarithms; large values are evidence."""
    return np.array([logs.max(axis=0), logs.sum(axis=0)])


def _ranks(values: Floats, among: Floats | None = None) -> Floats:
    """The p-value of each value: the share of all values that are at least as large.

    With `among`, the values are ranked one at a time among these, each counting itself.
    """
    ordered = np.sort(values if among is None else among)
    finite = ordered[np.isfinite(ordered)]
    slack = _EQUAL * max(abs(finite[0]), abs(finite[-1])) if finite.size else 0.0
    itself = 0 if among is None else 1
    above = ordered.size - np.searchsorted(ordered, values - slack, side="left")
    return np.asarray((above + itself) / (ordered.size + itself))


class Statistics:
    """The five statistics of many sets of labels at once. All are functions of sums over the finest cells."""

    def __init__(self, cells: Cells) -> None:
        n = float(cells.weight.sum())
        fine = mass_and_width_cells(cells, n, 0.5, 0.4)
        mass = fine if isinstance(fine, Distinct) else EqualMass(max(5, round(n**0.4)))
        starts = [bin_starts(cells, rule) for rule in (fine, mass, EqualMass(max(3, round(n**0.25))))]
        every = np.unique(np.concatenate(starts))
        self.low: Floats = cells.score[every]
        self.partitions = starts[0], starts[2]
        self.scores = _with_few_entries(cells, every)
        z, count, first = self.scores.z[:, 0], self.scores.count, self.scores.first
        fine_at, mass_at, coarse_at = (np.searchsorted(every, start) for start in starts)
        v = count * z * (1 - z)
        self.first, self.expected = first, np.add.reduceat(count * z, first)
        self.variance = np.add.reduceat(v, first)
        self.fine, self.coarse = _Standardised(self.variance, fine_at), _Standardised(self.variance, coarse_at)
        # T = Σ (S² − Q) / (N − 1), and Q = Σu² is linear in the events: an event adds 1 − 2p to Σp².
        size = np.add.reduceat(np.add.reduceat(count, first), mass_at)
        self.mass_at, self.share = mass_at, np.where(size > 1, 1 / np.maximum(size - 1, 1), 0.0)
        entries = np.diff(np.append(first[mass_at], z.size))
        share = np.repeat(self.share, entries)
        self.square, self.square_slope = float(share @ (count * z * z)), share * (1 - 2 * z)
        self.information = float(v.sum())
        self.centre = float(v @ log_odds(z, 0.0)) / self.information if self.information > 0 else 0.0
        self.away = log_odds(z, self.centre)
        self.second = float(v @ self.away**2)
        self.expected_away = float((count * z) @ self.away)

    def observed_and_drawn(self, draws: int, rng: np.random.Generator) -> Floats:
        """The statistics of the observed labels, in the first column, and of labels drawn from the scores."""
        return np.concatenate([self(self.scores.hits), self.drawn(draws, rng)], axis=1)

    def drawn(self, draws: int, rng: np.random.Generator, z: Floats | None = None) -> Floats:
        """The statistics of labels drawn from the scores, or from other probabilities of the entries."""
        z = self.scores.z if z is None else z[:, np.newaxis]
        return np.concatenate([self(hits) for (hits,) in label_batches(z, self.scores.count, draws, rng)], axis=1)

    def mean_of_entries(self, cells: Cells, values: Floats) -> Floats:
        """The means of one value per cell over the entries, which are cells or runs of them."""
        if cells.size == self.scores.count.size:
            return values
        ends = np.searchsorted(np.cumsum(cells.weight), np.cumsum(self.scores.count), side="left") + 1
        start = np.concatenate([[0], ends[:-1]])
        return np.asarray(np.add.reduceat(cells.weight * values, start) / self.scores.count)

    def __call__(self, hits: Ints) -> Floats:
        """The statistics of each column of `hits`, of shape (5, draws)."""
        events = hits.astype(np.float64)
        excess = np.add.reduceat(events, self.first, axis=0) - self.expected[:, np.newaxis]
        return self.of_sums(excess, self.away @ events - self.expected_away, self.square + self.square_slope @ events)

    def of_sums(self, excess: Floats, line: Floats, squares: Floats | float) -> Floats:
        """The statistics, from the sums of u = y − p in the finest cells, of u (x − x̄), and of u² / (N − 1)."""
        error = self.share @ np.add.reduceat(excess, self.mass_at, axis=0) ** 2 - squares
        path = np.cumsum(excess, axis=0)
        kuiper = np.maximum(path.max(axis=0), 0) - np.minimum(path.min(axis=0), 0)
        cox = path[-1] ** 2 / max(self.information, _LEAST)
        if self.second > 1e-12 * self.information:
            cox = cox + line**2 / max(self.second, _LEAST)
        return np.array([error, self.fine(excess), self.coarse(excess), cox, kuiper])


def log_odds(z: Floats, centre: float) -> Floats:
    """The log-odds minus `centre`; zero where they are infinite."""
    inside = (z > 0) & (z < 1)
    z = np.where(inside, z, 0.5)
    return np.where(inside, np.log(z) - np.log1p(-z) - centre, 0.0)


class _Standardised:
    """Σ S² / V over cells that are unions of the finest ones; cells without variance say nothing."""

    def __init__(self, variance: Floats, at: Ints) -> None:
        total = np.add.reduceat(variance, at)
        self.at, self.inverse = at, np.where(total > 0, 1 / np.maximum(total, _LEAST), 0.0)

    def __call__(self, excess: Floats) -> Floats:
        return np.asarray(self.inverse @ np.add.reduceat(excess, self.at, axis=0) ** 2)


def _with_few_entries(cells: Cells, first: Ints) -> BinnedScores:
    """The cells as entries that labels are drawn for; above 4,096 of them, near ties are drawn together."""
    scores = of_cells(cells, Distinct(), None)
    scores = BinnedScores(scores.z, scores.count, scores.hits, first, None, "")
    return near_ties(scores, _ANGLE) if cells.size > _MANY else scores
