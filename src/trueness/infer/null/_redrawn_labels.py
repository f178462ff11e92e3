"""Labels redrawn from the scores, as if these were the true probabilities.

Two forms: counts of events for many draws at once, for statistics that are arrays
(:func:`label_batches`), and whole tallies one at a time, for any function of a tally
(:class:`Redraw`). Scores of exactly 0 and 1 rule labels out, unless rounding has produced them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._numerics.binomial import MOST_OUTCOMES, binomial_outcomes, binomial_tables
from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.clusters import order_by_content
from trueness._tally.evidence import Evidence
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.test._method import (
    Options,
    Outcome,
    entries_of_equal_weights,
    entries_of_rows,
    require_counts,
)
from trueness.typing import Floats, Ints, Numbers

Statistic = TypeVar("Statistic", float, Floats)
Hits: TypeAlias = list[NDArray[Any]]
WeightType: TypeAlias = Literal["frequency", "importance"]
_Generator: TypeAlias = np.random.Generator

# Numbers drawn at a time, so that they stay in the processor's cache; but at least 32 draws, which
# are summed together, as long as memory stays small.
_BATCH = 1 << 16
_DRAWS = 32
_MOST = 1 << 22
# Blocks are drawn whole, so they must not be much larger than the usual number of draws, 999.
_MOST_AT_ONCE = 1024
# Up to this many rows of one score, drawing them one by one is faster than one binomial number.
_LIGHT = 8
# Tables of binomial numbers pay off from this many draws, and from this many numbers in all.
_TABLE_DRAWS = 100
_TABLE_NUMBERS = 1 << 17
# Tables have outcomes of 32 bits.
_TABLE_ROWS = (1 << 31) - 1
# Statistics that differ by less, relative to their spread, are equal: different labels may give the
# same number with a different last digit, and an observed value must not beat its equals.
_EQUAL = 1e-7
_STEPS = 1 << 16
# The largest Lyapunov ratio of a sum that is taken for normal, and the number of labels drawn by
# default.
_LYAPUNOV = 0.2
_MOST_LABELS = 2 * 10**8


def monte_carlo_outcome(
    statistic: Callable[[Hits], Floats],
    cells: Cells,
    options: Options,
    *,
    rows: str = "Rows are independent",
    detail: str = "",
) -> Outcome:
    """The outcome of a test by redrawn labels; large values are evidence against calibration.

    `statistic` maps the events of the cells, one array of shape (cells, draws), to values of shape
    (draws,). By default there are 999 draws. `rows` and `detail` are the first and the last part of
    the assumptions.
    """
    resamples = options.resamples or 999
    (observed,) = statistic([cells.events[:, np.newaxis]])
    drawn = [statistic(hits) for hits in _event_batches(cells, options, resamples)]
    pvalue = float(monte_carlo_pvalue(observed, np.concatenate(drawn)))
    level = f"the level is exact at any n: {resamples:,} sets of labels were drawn from the scores."
    assumptions = f"{rows}; {level} {detail}".rstrip()
    return Outcome(float(observed), pvalue, assumptions, 1 / (resamples + 1))


def _event_batches(cells: Cells, options: Options, resamples: int) -> Iterator[Hits]:
    """The events of each cell in `resamples` sets of drawn labels, in batches of some sets.

    Where weights do not count rows, one label is drawn per row and multiplied by its weight.
    """
    entries = options.entries
    rng = stream(options.seed, "labels")
    if cells.whole or entries is None:
        score, count = count_entries(require_counts(cells, "redrawing labels"))
        yield from label_batches(score, count, resamples, rng)
        return
    first = np.searchsorted(entries.z, cells.score)
    for (hits,) in label_batches(entries.z[:, np.newaxis], entries.rows, resamples, rng):
        yield [np.add.reduceat(hits * entries.weight[:, np.newaxis], first, axis=0)]


def with_draws(cells: Cells, options: Options, *, accurate: bool) -> Options:
    """The options of a test, with 999 draws if its limiting distribution is not accurate.

    They stay as they are if that distribution is `accurate`, if draws were requested, if 999 draws
    would be too many labels, or if labels cannot be drawn: the last is so for sums of rows with
    different weights at one score. The test then uses its limiting distribution.
    """
    if options.resamples or accurate:
        return options
    if options.entries is not None:
        labels = options.entries.rows.size
    elif cells.whole:
        labels = cells.size
    else:
        return options
    if labels * 999 > _MOST_LABELS:
        return options
    return options._replace(resamples=999)


def caveat(*, accurate: bool) -> str:
    """A sentence for the assumptions if labels should have been redrawn and were not."""
    if accurate:
        return ""
    return " The approximation is not accurate here, and the p-value may be too small."


def is_nearly_normal(cells: Cells, *coefficients: Floats) -> bool:
    r"""Whether each sum of c(y − p) over rows is close enough to normal.

    Each of the `coefficients` is one c, a number per cell. The criterion is Lyapunov's ratio, the
    sum of the third absolute moments over the standard deviation cubed: at most 0.2. In simulations
    of 20 to 2,000 rows, rare, confident, tied and lumpy, tests at 0.05 and 0.01 then rejected at
    most 0.06 and 0.015 of calibrated data sets.
    """
    p = cells.score
    squares = cells.square_sums[0]
    v = squares * p * (1 - p)
    # Σw³, if rows of one score have equal weights.
    third = v * (p * p + (1 - p) ** 2) * (1.0 if cells.whole else squares / cells.weight)
    for c in coefficients:
        variance = float(v @ c**2)
        if not float(third @ np.abs(c) ** 3) <= _LYAPUNOV * variance**1.5:
            return False
    return True


def of_events(statistic: Callable[[Floats], Floats]) -> Callable[[Hits], Floats]:
    """A statistic of events of shape (draws, cells) as one of arrays of shape (cells, draws)."""
    return lambda hits: statistic(hits[0].T.astype(np.float64, order="C"))


def monte_carlo_pvalue(observed: Statistic, drawn: Floats) -> Statistic:
    """The Monte-Carlo p-value (1 + #{drawn ≥ observed}) / (draws + 1), but for rounding.

    Under calibration the observed and the drawn statistics are exchangeable given the scores. So
    P(p-value ≤ α) ≤ α for every α and number of rows, with equality, except for ties, if α ·
    (draws + 1) is whole. The first axis of `drawn` is draws; further axes are statistics that share
    the draws.
    """
    with np.errstate(invalid="ignore"):  # nearly impossible labels may give an infinite statistic
        deviation = np.nan_to_num(drawn.std(axis=0))
    rounding_error = _EQUAL * np.maximum(np.abs(observed), deviation)
    slack = np.where(np.isfinite(observed), rounding_error, 0.0)
    beyond: Statistic = (drawn >= observed - slack).sum(axis=0)
    return (1 + beyond) / (len(drawn) + 1)


def count_entries(cells: Cells) -> tuple[Floats, Ints]:
    """Scores, of shape (m, 1), and counts of cells whose weights are whole numbers."""
    return cells.score[:, np.newaxis], cells.weight.astype(np.int64, copy=False)


def label_batches(
    z: Floats, count: Ints, resamples: int, rng: _Generator, at_most: int | None = None
) -> Iterator[Hits]:
    """Labels drawn from scores, in batches of at most `at_most` draws, `resamples` draws in total.

    `z` are the scores of entries of `count` independent rows each, with a column for each class. A
    batch is a list with an array for each column: the rows of that class, of shape (entries,
    draws). The first draws depend neither on the number of draws that follow nor on the size of the
    batches: a test of 999 draws and a noise floor of 99 of the same scores read the same labels.
    """
    size = _labels_at_once(z, count)
    for hits, width in _blocks(resamples, size, lambda draws: draw_hits(z, count, draws, rng)):
        for begin, end in _pieces(width, at_most):
            yield [column[:, begin:end] for column in hits]


def sign_batches(
    units: int, draws: int, rng: _Generator, at_most: int | None = None
) -> Iterator[Floats]:
    """Random signs of units, 1 or −1, in batches of shape (units, draws).

    There are `draws` of them in total, in batches of at most `at_most`, and the first do not depend
    on the number that follow, as in :func:`label_batches`.
    """

    def signs(size: int) -> NDArray[np.int8]:
        """Draws of 0 or 1, as many as `size`."""
        return rng.integers(0, 2, (units, size), dtype=np.int8)

    for drawn, width in _blocks(draws, _draws_at_once(units), signs):
        for begin, end in _pieces(width, at_most):
            yield 2.0 * drawn[:, begin:end].astype(np.float64) - 1.0


_Block = TypeVar("_Block")


def _blocks(draws: int, size: int, draw: Callable[[int], _Block]) -> Iterator[tuple[_Block, int]]:
    """Whole blocks of `size` draws, and the number of draws of each that are needed."""
    for begin in range(0, draws, size):
        yield draw(size), min(size, draws - begin)


def _pieces(width: int, at_most: int | None) -> Iterator[tuple[int, int]]:
    """Begin and end of the stretches of at most this length that a width is cut into."""
    step = width if at_most is None else max(1, at_most)
    for begin in range(0, width, step):
        yield begin, min(width, begin + step)


def _draws_at_once(entries: int) -> int:
    """Draws in a block: numbers that stay in the cache, or 32 draws if memory allows these."""
    in_cache = max(_DRAWS, _BATCH // entries)
    in_memory = max(1, _MOST // entries)
    return min(in_cache, in_memory, _MOST_AT_ONCE)


def _labels_at_once(z: Floats, count: Ints) -> int:
    """Draws in a block: more where binomial tables are made, since each block makes its own."""
    draws = min(max(1, _MOST // len(z)), _MOST_AT_ONCE)
    if z.shape[1] == 1 and _tabulated(count, z[:, 0], draws).size > len(z) // 2:
        return draws
    return _draws_at_once(len(z))


def draw_hits(z: Floats, count: Ints, draws: int, rng: _Generator) -> Hits:
    """How many rows of each entry have each class, in `draws` sets of drawn labels.

    `z`, of shape (entries, k), are the probabilities of k classes, and `count` the independent rows
    of each entry. The result has an array of shape (entries, draws) for each class. One class is
    binomial; of several, each row has one at most, so that the second is drawn among the rows that
    do not have the first, and so on.
    """
    if z.shape[1] == 1:
        return [_binomials(count, z[:, 0], draws, rng)]
    above = np.minimum(np.cumsum(z, axis=1), 1.0)
    if (count == 1).all():
        u = rng.random((len(z), draws))
        reached = [u < above[:, j, np.newaxis] for j in range(z.shape[1])]
        further = [new & ~old for old, new in pairwise(reached)]
        return [reached[0], *further]
    hits = [_binomials(count, above[:, 0], draws, rng).astype(np.int64)]
    left = count[:, np.newaxis] - hits[0]
    for j in range(1, z.shape[1]):
        rest = 1 - above[:, j - 1]
        chance = np.clip(np.divide(z[:, j], rest, out=np.zeros(len(z)), where=rest > 0), 0, 1)
        hits.append(rng.binomial(left, chance[:, np.newaxis]))
        left -= hits[-1]
    return hits


def _binomials(n: Ints, p: Floats, draws: int, rng: _Generator) -> NDArray[Any]:
    """Binomial numbers of n trials of probability p for each entry, of shape (entries, draws)."""
    tabulated = _tabulated(n, p, draws)
    if not tabulated.size:
        return _separate_binomials(n, p, draws, rng)
    drawn = binomial_tables(n[tabulated], p[tabulated]).draw(draws, rng)
    if tabulated.size == n.size:
        return drawn
    events = np.empty((n.size, draws), np.min_scalar_type(int(n.max())))
    events[tabulated] = drawn
    separate = np.delete(np.arange(n.size), tabulated)
    events[separate] = _separate_binomials(n[separate], p[separate], draws, rng)
    return events


def _tabulated(n: Ints, p: Floats, draws: int) -> Ints:
    """The entries whose binomial numbers are drawn by tables.

    They have many rows `n`, but not too many likely outcomes. There are none if fewer than a
    hundred draws, or not very many numbers, are drawn: tables would not pay off.
    """
    if draws < _TABLE_DRAWS or n.size * draws < _TABLE_NUMBERS:
        return np.zeros(0, dtype=np.int64)
    several = np.flatnonzero((n > _LIGHT) & (n <= _TABLE_ROWS))
    outcomes = binomial_outcomes(n[several], p[several])
    several = several[outcomes <= min(MOST_OUTCOMES, 8 * draws)]
    if several.size * draws >= _TABLE_NUMBERS:
        return several
    return several[:0]


def _separate_binomials(n: Ints, p: Floats, draws: int, rng: _Generator) -> NDArray[Any]:
    """Binomial numbers without tables, of shape (entries, draws).

    Up to 8 rows of an entry are drawn one by one, more as one number of NumPy's.
    """
    largest = int(n.max())
    events = _trials(p, draws, rng).astype(np.min_scalar_type(largest), copy=False)
    for trial in range(2, min(largest, _LIGHT) + 1):
        entry = np.flatnonzero((n >= trial) & (n <= _LIGHT))
        events[entry] += _trials(p[entry], draws, rng)
    heavy = np.flatnonzero(n > _LIGHT)
    if heavy.size:  # entry by entry, so that the generator is set up once for each pair (n, p)
        size = (heavy.size, draws)
        events[heavy] = rng.binomial(n[heavy, np.newaxis], p[heavy, np.newaxis], size)
    return events


def _trials(p: Floats, draws: int, rng: _Generator) -> NDArray[np.uint8]:
    """One label for each entry and draw, 1 with probability p, decided by 16 random bits or more.

    A uniform number U is below p if ⌊2¹⁶ U⌋ is below ⌊2¹⁶ p⌋; if they are equal, once in 65,536
    times, the remainder of U is compared with that of p. The distribution is that of comparing U
    itself, at a third of the cost.
    """
    scaled = p * _STEPS
    step = np.minimum(scaled, _STEPS - 1).astype(np.uint16)
    # Little-endian, so that a seed gives the same labels on every machine.
    words = rng.integers(0, 1 << 64, -(-p.size * draws // 4), dtype=np.uint64)
    bits = words.astype("<u8", copy=False).view("<u2")
    first = bits[: p.size * draws].reshape(p.size, draws)
    hits = np.less(first, step[:, np.newaxis])
    undecided = np.flatnonzero(first == step[:, np.newaxis])
    rest = (scaled - step)[undecided // draws]
    hits.reshape(-1)[undecided] = rng.random(undecided.size) < rest
    return np.asarray(hits.view(np.uint8))


class PartEntries(NamedTuple):
    """The entries of one part of a tally: rows of one score, each with the same weight."""

    cells: Cells
    score: Floats
    rows: Ints
    """Rows of each entry, whose labels are independent."""
    weight: Floats | None = None
    """The weight of each of these rows; None where weights count rows."""
    start: Ints | None = None
    """The first entry of each cell, where a cell is a pool of several scores; None where each has
    its own."""

    @property
    def first(self) -> Ints:
        """The first entry of each cell."""
        return np.searchsorted(self.score, self.cells.score)

    def with_hits(self, hits: NDArray[Any]) -> Cells:
        """The cells, the sums per distinct score, with other labels.

        `hits` is the number of events in each entry, the rows that share a score and a weight. The
        events of a cell are the sum over its entries. Where weights do not count rows, they are
        sums of weights, at most the weight of the cell, and the sums of squared weights of events
        are set too.
        """
        cells = self.cells
        if self.weight is None:
            counted = hits.astype(np.int64)
            if self.start is not None:
                counted = np.add.reduceat(counted, self.start)
            return Cells(cells.score, cells.count, cells.weight, counted)
        heavy = hits * self.weight
        events: Numbers = np.add.reduceat(heavy, self.first)
        if cells.whole:
            events = np.rint(events).astype(np.int64)
        # Sums in another order may exceed the cell's total in the last digit.
        events = np.minimum(events, cells.weight)
        squares: Floats = np.add.reduceat(heavy * self.weight, self.first)
        return Cells(cells.score, cells.count, cells.weight, events, cells.squares, squares)


@dataclass(frozen=True)
class Redraw:
    """Draws tallies that have the scores of a given one and labels resampled from them."""

    tally: Tally
    parts: tuple[PartEntries, ...] | None
    """The entries of each part; None where one class is drawn for each row."""
    sample: Sample | None = None
    """The rows for each of which one class is drawn."""
    importance: bool = False
    """Whether weights of these rows do not count rows."""

    @property
    def entries(self) -> int:
        """The numbers that are drawn for one set of labels."""
        if self.parts is None:
            return max(part.size for part in self.tally.parts)
        return max(part.rows.size for part in self.parts)

    def tallies(self, resamples: int, seed: int) -> Iterator[Tally]:
        """The tally of each set of labels."""
        if self.parts is not None:
            drawn = self._of_parts(resamples, seed)
        else:
            drawn = self._of_rows(resamples, seed)
        for parts in drawn:
            yield Tally(self.tally.kind, parts, self.tally.classes)

    def _of_parts(self, resamples: int, seed: int) -> Iterator[tuple[Cells, ...]]:
        """The cells of every part with drawn events, for each set of labels.

        Parts share no rows: the number of events of each entry is drawn.
        """
        assert self.parts is not None
        for batch in hits_of_parts(self.parts, resamples, seed):
            for draw in range(batch[0].shape[1]):
                pairs = zip(self.parts, batch, strict=True)
                yield tuple(part.with_hits(hits[:, draw]) for part, hits in pairs)

    def _of_rows(self, resamples: int, seed: int) -> Iterator[tuple[Cells, ...]]:
        """The cells of every class with drawn events, for each of `resamples` sets of labels.

        A cell is the sums of rows of one score of a class. One class is drawn per row, from its
        scores divided by their sum, because the columns of a row depend on each other. Rows of
        weight 0 are left out. A row whose weight counts rows gets that many labels; a row of
        importance weight gets one, with its weight. `seed` gives the same labels for any order of
        the rows.
        """
        sample = self.sample
        assert sample is not None
        P = np.asarray(sample.p, dtype=np.float64)
        w = sample.w
        if w is not None:
            P = P[w > 0]
            w = w[w > 0]
        # Random numbers go to rows and columns in an order that depends on the scores alone: labels
        # for a seed must not depend on the order of the input.
        rows, columns = order_by_content(P, w if self.importance else None)
        if w is not None and not self.importance:
            # A row of frequency weight 2 gets two labels.
            rows = np.repeat(rows, w[rows].astype(np.int64))
        of_columns = zip(self.tally.parts, P.T, strict=True)
        cell = np.stack([np.searchsorted(part.score, p) for part, p in of_columns], axis=1)
        cumulative = np.cumsum(P[:, columns], axis=1)[rows]
        cumulative /= cumulative[:, -1:]
        rng = stream(seed, "labels")
        for _ in range(resamples):
            drawn = columns[draw_classes(cumulative, rng.random((rows.size, 1)))[:, 0]]
            place = cell[rows, drawn]
            if w is not None and self.importance:
                yield self._with_weights(drawn, place, w[rows])
            else:
                yield self._with_counts(drawn, place)

    def _with_counts(self, drawn: Ints, place: Ints) -> tuple[Cells, ...]:
        """The cells of every class with one event per row of the redraw.

        `drawn` is the class of each row, and `place` its cell among those of that class.
        """
        parts = self.tally.parts
        bounds = np.cumsum([0] + [part.size for part in parts])
        counts = np.bincount(place + bounds[drawn], minlength=bounds[-1])
        pairs = zip(parts, np.split(counts, bounds[1:-1]), strict=True)
        return tuple(Cells(part.score, part.count, part.weight, events) for part, events in pairs)

    def _with_weights(self, drawn: Ints, place: Ints, w: Floats) -> tuple[Cells, ...]:
        """The cells of every class with one event of weight `w` per row, as `_with_counts`."""
        parts = []
        for k, part in enumerate(self.tally.parts):
            is_event = drawn == k
            parts.append(_with_events(part, place[is_event], w[is_event]))
        return tuple(parts)


def hits_of_parts(
    parts: Sequence[PartEntries], resamples: int, seed: int, at_most: int | None = None
) -> Iterator[Hits]:
    """Drawn events in the entries of each part, in batches of at most `at_most` draws.

    A batch has an array of shape (entries, draws) for each part. Parts share no rows: they are
    drawn one after another, in an order that ignores that of the classes.
    """
    order = sorted(range(len(parts)), key=lambda j: parts[j].cells.content)
    score = np.concatenate([parts[j].score for j in order])[:, np.newaxis]
    rows = np.concatenate([parts[j].rows for j in order])
    ends = np.cumsum([parts[j].rows.size for j in order])[:-1]
    place = np.argsort(order)
    for (hits,) in label_batches(score, rows, resamples, stream(seed, "labels"), at_most):
        split = np.split(hits, ends)
        yield [split[j] for j in place]


def redraw_of_tally(tally: Tally, weight_type: WeightType) -> Redraw:
    """A redraw from sums: it makes tallies with labels drawn from their scores.

    `weight_type` says whether weights count rows ('frequency') or not ('importance'). Fractional
    frequency weights are refused with InputError. So are empty sums, and sums per class, because
    they do not keep the scores of a row together. With importance weights all rows of one score
    must have the same weight.
    """
    if tally.n == 0:
        raise InputError("y_prob", "must have scores", "got an empty Tally")
    if tally.kind == "classwise":
        demand = "must keep the scores of a row together"
        remedy = "Pass the matrix of scores."
        raise InputError("y_prob", demand, "a class-wise Tally does not", remedy=remedy)
    if weight_type == "importance":
        return Redraw(tally, tuple(map(_entries_of_equal_weight, tally.parts)))
    tally = _frequency_tally(tally)
    return Redraw(tally, tuple(map(_entries_of_counts, tally.parts)))


def redraw_of(evidence: Evidence) -> Redraw:
    """A redraw of the labels of rows: it makes tallies with labels drawn from the scores.

    For a matrix that is compared class by class, one class is drawn for each row. Other rows must
    have importance weights: each weight belongs to a single label, and the number of events is
    drawn for the rows of equal score and weight. Logits are first turned into probabilities.
    """
    sample = evidence.need_rows("")
    if sample.logits:
        # The cell of a row is found by its probability.
        sample = evidence.matrix
        evidence = evidence.with_scores(sample)
    tally = evidence.tally_in()
    if tally.kind == "classwise":
        counts_rows = evidence.whole or evidence.weight_type == "frequency"
        if counts_rows:
            tally = _frequency_tally(tally)
        return Redraw(tally, None, sample, importance=not counts_rows)
    if tally.kind == "binary":
        return Redraw(tally, (_entries_of_rows(sample),))
    return Redraw(tally, tuple(parts_of(sample, tally.kind, _entries_of_rows)))


def pooled_redraw(tally: Tally, pools: Tally) -> Redraw:
    """A redraw of pools of the scores of a tally whose weights count rows.

    Labels are drawn for each score, as for other questions, and summed over the pools, which are
    the runs of scores that `pools` was made of.
    """
    parts = []
    for every, pooled in zip(tally.parts, pools.parts, strict=True):
        last = np.searchsorted(np.cumsum(every.weight), np.cumsum(pooled.weight))
        start = np.concatenate([[0], last[:-1] + 1])
        count = every.weight.astype(np.int64, copy=False)
        parts.append(PartEntries(pooled, every.score, count, start=start))
    return Redraw(pools, tuple(parts))


def _frequency_tally(tally: Tally) -> Tally:
    """The tally with its weights as counts: a weight of 2 counts the row twice.

    Weights that are not whole numbers are refused.
    """
    if not all(part.whole for part in tally.parts):
        remedy = "For other weights use `weight_type='importance'`, with one label per row."
        raise InputError(
            "sample_weight", "must be whole numbers that sum to less than 2³⁵", remedy=remedy
        )
    parts = []
    for part in tally.parts:
        parts.append(Cells(part.score, cast(Ints, part.weight), part.weight, part.events))
    return Tally(tally.kind, tuple(parts), tally.classes)


def _entries_of_counts(cells: Cells) -> PartEntries:
    """Rows of a cell share their score, so the number of events is binomial."""
    return PartEntries(cells, cells.score, cells.count)


def _entries_of_equal_weight(cells: Cells) -> PartEntries:
    """One label per row; all rows of a cell must have the same weight.

    Sums do not tell them apart.
    """
    if cells.squares is None:
        return _entries_of_counts(cells)
    return PartEntries(cells, cells.score, cells.count, entries_of_equal_weights(cells).weight)


def _entries_of_rows(sample: Sample) -> PartEntries:
    """One label per row, whatever its weight; rows of equal score and weight are drawn together."""
    assert sample.w is not None
    p = np.asarray(sample.p, dtype=np.float64)
    entries = entries_of_rows(np.asarray(sample.y), p, sample.w)
    return PartEntries(cells_of_rows(sample), entries.z, entries.rows, entries.weight)


def _with_events(cells: Cells, place: Ints, w: Floats) -> Cells:
    """The cells, the sums per distinct score, with other labels.

    There is one entry of `place` and of `w` for each event: the number of its cell and its weight.
    The events of a cell are the sum of these weights, at most the weight of the cell.
    """
    events: Numbers = np.bincount(place, w, cells.size)
    if cells.whole:
        events = events.astype(np.int64)
    # Sums in another order may exceed the cell's total in the last digit.
    events = np.minimum(events, cells.weight)
    squares: Floats = np.asarray(np.bincount(place, w * w, cells.size))
    return Cells(cells.score, cells.count, cells.weight, events, cells.squares, squares)


def draw_classes(cumulative: Floats, chance: Floats) -> Ints:
    """The class that each random number falls into, of shape (rows, draws).

    `cumulative` are the cumulative scores of each row, of shape (rows, K), and `chance` the random
    numbers between 0 and 1. By bisection; K stands for none of the K classes.
    """
    classes = cumulative.shape[1]
    low = np.zeros(chance.shape, dtype=np.int64)
    high = np.full(chance.shape, classes)
    rows = np.arange(len(cumulative))[:, np.newaxis]
    for _ in range(classes.bit_length()):
        middle = (low + high) // 2
        beyond = cumulative[rows, np.minimum(middle, classes - 1)] <= chance
        undecided = low < high
        low = np.where(undecided & beyond, middle + 1, low)
        high = np.where(undecided & ~beyond, middle, high)
    return low


_IF_ROUNDED = (
    "If scores were rounded, say to 0.01, pass `rounded_to=0.01`: "
    "those of 0 and 1 are then moved by up to half of it."
)


def contradictions(cells: Cells) -> int:
    """Rows whose label has probability zero: events at score 0, non-events at score 1."""
    return sum(certain.wrong for certain in _certain_rows(cells))


def contradictions_in_words(cells: Cells) -> str:
    """The numbers of rows of score 0 and 1 that have the impossible label, in words."""
    places = []
    for score, wrong, rows in _certain_rows(cells):
        if wrong:
            have = "has" if wrong == 1 else "have"
            shares = f"{wrong:,} of {rows:,} rows"
            places.append(f"{shares} with score exactly {score} {have} label {1 - score}")
    return " and ".join(places)


class _CertainRows(NamedTuple):
    """Rows whose score is exactly 0 or 1, and those of them with the other label."""

    score: int
    wrong: int
    rows: int


def _certain_rows(cells: Cells) -> tuple[_CertainRows, _CertainRows]:
    """The rows of score 0, then those of score 1."""
    # Scores ascend.
    end = int(np.searchsorted(cells.score, 0.0, side="right"))
    start = int(np.searchsorted(cells.score, 1.0, side="left"))
    events = cells.events[:end].sum()
    non_events = (cells.weight[start:] - cells.events[start:]).sum()
    return (
        _CertainRows(0, int(events), int(cells.weight[:end].sum())),
        _CertainRows(1, int(non_events), int(cells.weight[start:].sum())),
    )


def moved_inside(cells: Cells, unit: float) -> Cells:
    """The cells with scores of 0 and 1 moved: see :func:`moved_scores`."""
    score = moved_scores(cells.score, cells.weight, cells.events, unit)
    return Cells(score, cells.count, cells.weight, cells.events, cells.squares, cells.event_squares)


def moved_scores(score: Floats, rows: NDArray[Any], hits: NDArray[Any], unit: float) -> Floats:
    """Ascending scores, those of 0 and 1 moved to their event rates, by at most half a unit.

    `rows` and `hits` are the rows and the events of each score. A rounded score may be anything
    within half a unit; among many rows, the end of that range would be refuted as well. Moved
    scores do not pass others that are nearer to 0 or 1.
    """
    is_zero = score == 0
    is_one = score == 1
    inside = score[~(is_zero | is_one)]
    lowest = inside[0] if inside.size else 1.0
    highest = inside[-1] if inside.size else 0.0
    event_rate = hits[is_zero].sum() / max(rows[is_zero].sum(), 1)
    non_event_rate = (rows - hits)[is_one].sum() / max(rows[is_one].sum(), 1)
    from_zero = min(unit / 2, lowest / 2, event_rate)
    from_one = min(unit / 2, (1 - highest) / 2, non_event_rate)
    moved = np.where(is_zero, from_zero, score)
    return np.where(is_one, 1 - from_one, moved)


def impossible_outcome(impossible: str, contradicted: int) -> Outcome:
    """The outcome of labels that scores of exactly 0 or 1 rule out: a p-value of 0.

    `impossible` says in words which they are, and `contradicted` is their number.
    """
    details = {
        "contradicted": contradicted,
        "strongest": "labels that are impossible under the scores",
    }
    assumptions = f"Labels are impossible under the scores: {impossible}. {_IF_ROUNDED}"
    return Outcome(0.0, 0.0, assumptions, details=details)


def impossible_in_words(impossible: str, unit: float) -> str:
    """The sentences about labels that are impossible only because scores were rounded.

    `impossible` says in words which they are, and `unit` is that to which scores were rounded.
    """
    return (
        f"Labels are impossible under the scores as they stand (p = 0): {impossible}. "
        f"But scores were rounded to multiples of {unit:.4g}; with those of 0 and 1 moved by up to "
        "half of it, as their labels suggest, the p-value is the one reported."
    )
