"""Noise floors: the values of measures if the scores were the true probabilities.

All measures read the same redrawn labels: those of the stream 'labels'. A measure of gaps needs
only the events of its bins, so that it is computed for all draws at once; any other function is
called with one tally per draw.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from trueness._tally.binned_scores import BinnedScores, near_ties
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_cells, segment_sums
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, Distinct
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Tally
from trueness.errors import InputError, quietly
from trueness.infer._questions import Question, values_of_tallies
from trueness.infer.limits._curve_errors import CURVE_ERRORS, curve_draws
from trueness.infer.limits._ece import Gaps, gaps_of
from trueness.infer.null._redrawn_labels import (
    PartEntries,
    Redraw,
    WeightType,
    hits_of_parts,
    pooled_redraw,
    redraw_of,
    redraw_of_tally,
)
from trueness.infer.test._method import entries_of_rows
from trueness.typing import Floats, Ints

# Sets of labels, by the number of distinct scores that each of them takes. Their number plus one,
# times 0.95, is whole: the upper value at the level 0.95 is then one of the draws, and exceeded
# with probability 0.05.
_DRAWS = {4_096: 999, 200_000: 99, math.inf: 19}
# Cells of all classes that are drawn for one floor; with fewer draws than the second number there
# is none.
_MOST_CELLS = 2e7
_FEWEST_DRAWS = 19
# With more scores than this, near ties of a bin are drawn together: within this angle, see the
# omnibus test.
_MANY = 4_096
_ANGLE = 1 / 640
# Sets of labels that are kept at a time.
_TOGETHER = 32
# Pools of scores for the smooth ECE and the TCE: with 4,096, floors of 20,000 scores differ by less
# than their error, those of 100,000 by 2 %.
_POOLS = 1_024
_NONE = np.zeros(0)


class Floor(NamedTuple):
    """Mean and upper value of a measure for a calibrated model; nan if unknown."""

    mean: float
    high: float


NO_FLOOR = Floor(math.nan, math.nan)


def floor_of(draws: Floats, level: float, *, mean_only: bool = False) -> Floor:
    """Mean and upper value of simulated values; those that are nan are left out.

    nan if all are, and the upper value if only the mean is known.
    """
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return NO_FLOOR
    high = math.nan if mean_only else upper_value(defined, level)
    return Floor(float(defined.mean()), high)


def upper_value(draws: Floats, level: float) -> float:
    """The one-sided upper value: another draw is at most this with probability `level`.

    It is the ⌈level · (R + 1)⌉-th smallest of R draws, so that exceeding it and p ≤ 1 − level are
    the same. With too few draws it is the largest.
    """
    place = math.ceil(round(level * (draws.size + 1), 9))
    last = min(place, draws.size) - 1
    return float(np.partition(draws, last)[last])


def floor_draws(
    questions: Mapping[str, Question],
    evidence: Evidence,
    seed: int,
    *,
    resamples: int | None = None,
    workers: int = 1,
    report: Callable[[int, int], None] | None = None,
) -> dict[str, Floats]:
    """The values of each measure for redrawn labels, by the keys of the questions.

    There are `resamples` of them, by default as many as the number of distinct scores allows; none
    where labels cannot be redrawn, or would be too many. `report` gets the draws that are done, and
    all of them.
    """
    values: dict[str, Floats] = {}
    drawn: dict[bool, dict[str, Question]] = {}
    for key, question in questions.items():
        kind = question.measure.floor
        gaps = gaps_of(question.measure.key, question.options) if kind == "gaps" else None
        if not kind:
            values[key] = _NONE
        elif kind == "curve" and isinstance(evidence.one, Cells):
            draws = resamples or number_of_draws(evidence.one.size)
            distances = curve_draws(evidence, question.options, seed, draws)
            values[key] = distances[:, CURVE_ERRORS.index(question.measure.key)]
        elif gaps is not None and gaps.blind and not evidence.is_classwise:
            values[key] = gap_draws(evidence, gaps, seed, resamples)
        else:
            drawn.setdefault(kind in ("pooled", "curve"), {})[key] = question
        if report is not None and key in values:
            report(values[key].size, values[key].size)
    for pooled, group in drawn.items():
        if resamples is None and _has_too_many_cells(evidence):
            values |= dict.fromkeys(group, _NONE)
            continue
        redraw = _redraw(evidence, pooled=pooled)
        values |= _drawn_values(group, evidence, redraw, seed, resamples, workers, report)
    return {key: values[key] for key in questions}


def require_whole_floor(evidence: Evidence) -> None:
    """Raise for class-wise sums: only the mean of their floor is known.

    They do not keep the dependence of the classes.
    """
    if is_mean_only(evidence):
        demand = "must keep the scores of a row together"
        remedy = "Pass the matrix of scores."
        raise InputError("y_prob", demand, "a class-wise Tally does not", remedy=remedy)


def is_mean_only(evidence: Evidence) -> bool:
    """Whether draws give the mean of a floor, but neither its quantiles nor a p-value.

    That is so for class-wise sums.
    """
    return evidence.has_class_sums


def number_of_draws(entries: int, cells: int = 0) -> int:
    """How many sets of labels are drawn for a floor.

    `entries` are the numbers that each set takes, and `cells` those of all classes of a matrix
    together: with too many the answer is 0.
    """
    enough = next(draws for size_limit, draws in _DRAWS.items() if entries <= size_limit)
    affordable = min(enough, int(_MOST_CELLS / max(1, cells)))
    if affordable < _FEWEST_DRAWS:
        return 0
    return affordable


def _has_too_many_cells(evidence: Evidence) -> bool:
    """Whether the classes of a matrix have too many cells for the fewest draws.

    A redraw would hold the cells of all classes at a time; here the classes after the limit are not
    even read.
    """
    tally = evidence.tally
    if tally is None or not evidence.has_class_rows:
        return False
    cells = 0
    for part in tally.parts:
        cells += part.size
        if cells * _FEWEST_DRAWS > _MOST_CELLS:
            return True
    return False


# ---- measures of gaps


class _GapEntries(NamedTuple):
    """What is drawn for the gaps of one part: rows of nearly one score, by bin."""

    part: PartEntries
    scale: Floats
    """The weight of each row of an entry."""
    first: Ints
    """The first entry of each bin."""
    weight: Floats
    """The weight of each bin."""

    def values(self, hits: Floats, gaps: Gaps) -> Floats:
        """The measure of each set of labels, from events of shape (entries, draws)."""
        expected = self.part.rows * self.part.score
        noise = (hits - expected[:, np.newaxis]) * self.scale[:, np.newaxis]
        gap = np.abs(np.add.reduceat(noise, self.first, axis=0).T / self.weight)
        return _power_means(gap**gaps.power, self.weight, gaps.norm)


def gap_draws(evidence: Evidence, gaps: Gaps, seed: int, resamples: int | None = None) -> Floats:
    """The power mean of gaps (rate − mean score) over bins, for redrawn labels.

    The bins must not depend on the labels. Not for class-wise rows, where the classes of a row
    depend on each other.
    """
    filled = [part for part in evidence.parts if part.totals.rows > 0]
    entries = [_gap_entries(part, gaps.rule, evidence) for part in filled]
    draws = resamples or number_of_draws(max(entry.part.rows.size for entry in entries))
    values = []
    for hits in hits_of_parts([entry.part for entry in entries], draws, seed):
        pairs = zip(entries, hits, strict=True)
        values.append([entry.values(part_hits, gaps) for entry, part_hits in pairs])
    of_parts = np.concatenate(values, axis=1)
    return np.average(of_parts, axis=0, weights=[entry.weight.sum() for entry in entries])


def _gap_entries(part: Cells | Bins, rule: BinRule, evidence: Evidence) -> _GapEntries:
    """What is drawn for the gaps of one part, in the bins of a rule.

    An entry is a cell, rows of one score and weight where weights do not count rows, or a bin. With
    more than 4,096 cells, near ties are one entry.
    """
    if isinstance(part, Bins):
        return _entries_of_bins(part.coarsen(rule))
    start = rule.group(part).start
    first = np.asarray(start[:-1][np.diff(start) > 0], np.int64)
    weight = segment_sums(part.weight, first).astype(np.float64)
    rows = evidence.rows
    counted = part.whole and evidence.weight_type != "importance"
    if counted and part.size <= _MANY:
        count = part.weight.astype(np.int64, copy=False)
        drawn = PartEntries(part, part.score, count)
        return _GapEntries(drawn, np.ones(part.size), first, weight)
    if part.size <= _MANY and rows is not None and rows.w is not None and evidence.one is not None:
        top = evidence.sample
        entries = entries_of_rows(np.asarray(top.y), np.asarray(top.p, np.float64), rows.w)
        begin = np.searchsorted(entries.z, part.score[first])
        drawn = PartEntries(part, entries.z, entries.rows)
        return _GapEntries(drawn, entries.weight, begin, weight)
    return _pooled_entries(part, first, weight, counted=counted)


def _pooled_entries(cells: Cells, first: Ints, weight: Floats, *, counted: bool) -> _GapEntries:
    """The entries of cells of which near ties of a bin are drawn together.

    `first` is the first cell of each bin, `weight` that of each bin, and `counted` says that
    weights count rows. Rows of several weights are drawn as rows of equal weight that give the sum
    its variance.
    """
    count = cells.weight.astype(np.int64, copy=False) if counted else cells.count
    scores = BinnedScores(
        cells.score[:, np.newaxis], count, np.zeros((cells.size, 1), np.int64), first, None, ""
    )
    pooled = near_ties(scores, _ANGLE)
    scale = np.ones(pooled.count.size)
    if not counted:
        ends = np.searchsorted(np.cumsum(count), np.cumsum(pooled.count), side="left") + 1
        squares = np.add.reduceat(cells.square_sums[0], np.concatenate([[0], ends[:-1]]))
        scale = np.sqrt(squares / pooled.count)
    return _GapEntries(
        PartEntries(cells, pooled.z[:, 0], pooled.count), scale, pooled.first, weight
    )


def _entries_of_bins(bins: Bins) -> _GapEntries:
    """The entries of bins: one per bin that has rows, at its mean score.

    Labels of unequal scores vary less than labels at their mean. Bins that know the mean square of
    their scores know how much less, and the entry gets a smaller weight.
    """
    cells = bins.at_means()
    rows = cells.weight.astype(np.int64) if cells.whole else cells.count
    scale = np.sqrt(cells.square_sums[0] / rows)
    if bins.moments:
        filled = bins.weight > 0
        p = bins.score[filled]
        variance = np.clip(p - bins.sum_square[filled] / bins.weight[filled], 0, None)
        # A bin of scores 0 or 1 alone has no variance at all.
        share = variance / np.maximum(p * (1 - p), 1e-300)
        scale = scale * np.sqrt(np.minimum(share, 1.0))
    first = np.asarray(Distinct().group(cells).start[:-1], np.int64)
    weight = cells.weight.astype(np.float64)
    return _GapEntries(PartEntries(cells, cells.score, rows), scale, first, weight)


def _power_means(values: Floats, weight: Floats, q: float) -> Floats:
    """The weighted power mean of each row of `values`, with the exponent `q`.

    For an infinite exponent it is the largest value.
    """
    if q == math.inf:
        return np.asarray(values.max(axis=1))
    # Row by row: a product of matrices could depend, in its last bit, on how many draws there are.
    shares = weight / weight.sum()
    if q == 1:
        return np.asarray((values * shares).sum(axis=1))
    return np.asarray((values**q * shares).sum(axis=1) ** (1 / q))


# ---- any function of a tally


def _drawn_values(
    questions: Mapping[str, Question],
    evidence: Evidence,
    redraw: Redraw | None,
    seed: int,
    resamples: int | None,
    workers: int,
    report: Callable[[int, int], None] | None,
) -> dict[str, Floats]:
    """The values of each question's function, one for each drawn set of labels.

    All functions are computed of the same sets. A function that is not defined for the tally has no
    values, and none has any if labels cannot be redrawn. `report` gets the draws that are done, and
    all of them.
    """
    tally = evidence.tally
    if tally is not None and evidence.has_class_sums:
        return {
            key: _means_over_classes(question, tally, seed, resamples)
            for key, question in questions.items()
        }
    if redraw is None:
        return dict.fromkeys(questions, _NONE)
    tally = redraw.tally
    cells = sum(part.size for part in tally.parts) if tally.kind == "classwise" else 0
    draws = resamples or number_of_draws(max(part.size for part in evidence.parts), cells)
    allowed = {key: question for key, question in questions.items() if _is_defined(question, tally)}
    values: dict[str, list[float]] = {key: [] for key in allowed}
    if not allowed:
        return dict.fromkeys(questions, _NONE)

    def measured(labels: Sequence[Tally]) -> list[list[float]]:
        functions = (question.function for question in allowed.values())
        return [quietly(values_of_tallies, function, labels) for function in functions]

    done = 0
    for batch in _in_threads(measured, redraw.tallies(draws, seed), workers):
        for key, batch_values in zip(allowed, batch, strict=True):
            values[key] += batch_values
        done += len(batch[0])
        if report is not None:
            report(done, draws)
    arrays = {key: np.array(drawn) for key, drawn in values.items()}
    return dict.fromkeys(questions, _NONE) | arrays


def _is_defined(question: Question, tally: Tally) -> bool:
    """Whether a measure takes these weights: the TCE takes no fractional ones.

    Other errors are left to the caller.
    """
    if not question.measure.key:
        return True
    try:
        quietly(question.value_of_tally, tally)
    except InputError as error:
        return error.argument != "sample_weight"
    return True


def _in_threads(
    function: Callable[[Sequence[Tally]], Any], tallies: Iterator[Tally], workers: int
) -> Iterator[Any]:
    """The results of a function of batches of up to 32 tallies, in the order of the tallies.

    `function` takes the tallies of one batch. With one worker, batches are computed one by one in
    the calling thread, as they are asked for. Otherwise `workers` batches are taken at a time and
    each is computed in a thread of its own, in a copy of the caller's context.
    """
    batches = iter(lambda: list(islice(tallies, _TOGETHER)), [])
    if workers == 1:
        yield from map(function, batches)
        return
    context = copy_context()  # which says where warnings go
    with ThreadPoolExecutor(workers) as pool:
        while labels_of_workers := list(islice(batches, workers)):
            yield from pool.map(
                lambda labels: context.copy().run(function, labels), labels_of_workers
            )


def _redraw(evidence: Evidence, *, pooled: bool) -> Redraw | None:
    """How labels are redrawn for functions of a tally.

    `pooled` takes up to 1,024 pools of neighbouring scores, for functions that do not depend on
    single scores. None without distinct scores, and where rows of one score may differ in weight.
    """
    tally = evidence.tally
    if tally is None or evidence.has_class_sums:
        return None
    if evidence.has_class_rows:  # one class is drawn per row
        return redraw_of(evidence)
    weight_type: WeightType = "frequency" if evidence.whole else "importance"
    pools = pooled_tally(tally) if pooled else tally
    if evidence.rows is not None and evidence.rows.w is not None and weight_type == "importance":
        if evidence.dependent:
            return None
        return redraw_of(evidence)
    if (
        pools is not tally
        and weight_type == "frequency"
        and max(part.size for part in tally.parts) <= _MANY
    ):
        return pooled_redraw(tally, pools)
    try:
        return redraw_of_tally(pools, weight_type)
    except InputError:
        return None


def pooled_tally(tally: Tally) -> Tally:
    """The tally with at most 1,024 pools of neighbouring scores; itself if it has so few scores."""
    if max(part.size for part in tally.parts) <= _POOLS:
        return tally
    return Tally(tally.kind, tuple(pool_cells(part, _POOLS) for part in tally.parts), tally.classes)


def _means_over_classes(
    question: Question, tally: Tally, seed: int, resamples: int | None
) -> Floats:
    """The mean over classes of a measure of class-wise sums.

    The sums do not keep the dependence of the classes.
    """
    class_draws = []
    for part in tally.parts:
        alone = Sums.read(Tally("binary", (part,)))
        class_draws.append(floor_draws({"": question}, alone, seed, resamples=resamples)[""])
    fewest = min(draws.size for draws in class_draws)
    factor = tally.class_factor if question.measure.summed else 1
    return np.asarray(factor * np.mean([draws[:fewest] for draws in class_draws], axis=0))
