"""`BinnedScores`: the k largest scores of each row, their outcomes, and the bins they fall into."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_whole, is_real
from trueness._input.sample import Sample
from trueness._numerics.runs import whole_runs
from trueness._tally import rules
from trueness._tally.cells import Cells
from trueness._tally.multiclass import top_of
from trueness._tally.row_sums import as_float, cells_of_rows
from trueness._tally.rules import (
    MOST_BINS,
    BinRule,
    BinsLike,
    Distinct,
    EqualWidth,
    MassAndWidth,
    as_rule,
)
from trueness.errors import InputError, Remedy
from trueness.typing import Bools, Floats, Ints

_ENTRIES = 1 << 18
_ROUNDS = 8  # up to this many of the largest are picked one by one
_KEYS = 2**62


@dataclass(frozen=True)
class BinnedScores:
    """Scores and labels, sorted by the bin of the scores. Rows of equal scores may share an entry.

    Neither the bins nor the order depend on the labels.
    """

    z: Floats  # the k scores of each entry, of shape (m, k)
    count: Ints  # rows of each entry, (m,); a row of weight 2 is two
    hits: Ints  # how many of them have the class of the j-th score as their label, (m, k)
    first: Ints  # where the bins begin; none is empty
    classes: int | None  # K, or None when the score is P(positive)
    bins: str  # description of the bins

    @property
    def k(self) -> int:
        """Number of scores of a row."""
        return int(self.z.shape[1])

    @property
    def n(self) -> int:
        return int(self.count.sum())

    def of_bins(self, kept: Bools) -> "BinnedScores":
        """The marked bins alone."""
        size = np.diff(np.append(self.first, len(self.z)))
        rows = np.repeat(kept, size)
        first = np.concatenate([[0], np.cumsum(size[kept])[:-1]]).astype(np.int64)
        return replace(
            self, z=self.z[rows], count=self.count[rows], hits=self.hits[rows], first=first
        )


def checked_k(k: int | None) -> int:
    """The number of largest scores to look at; 1 by default."""
    if k is None:
        return 1
    return checked_whole(k, "k")


def default_cells(n: float, k: int, classes: int | None, smoothness: float = 1.0) -> int:
    """Cells per axis for an error of smoothness s: max(2, round(n^{2/(4s + d)})).

    d is the number of dimensions of the scores.
    """
    d = 1 if classes is None else min(k, classes - 1)
    cells = max(2, round(math.pow(n, 2 / (4 * smoothness + d))))
    if cells > MOST_BINS and smoothness < 1:
        demand = (
            f"must be larger for {n:,.0f} rows: it makes {cells:,} bins, and {MOST_BINS:,} are the "
            "limit"
        )
        raise InputError("smoothness", demand, f"got {smoothness!r}")
    return min(cells, MOST_BINS)


def default_rule(cells: Cells, n: float, power: float = 0.4) -> BinRule:
    """The default cells of the l2 error of n rows.

    Scores are cut into n^power cells of equal mass, and also at the edges of n^0.4 cells of equal
    width. Each distinct score is a cell of its own if there are few of them: at most twice as many
    as these cells, with two rows each on average.
    """

    def number(exponent: float) -> int:  # at least five where each can hold two rows
        return max(1, min(max(5, round(math.pow(n, exponent))), int(n) // 2, rules.MOST_MASS_BINS))

    cut = MassAndWidth(number(power), min(number(0.4), MOST_BINS))
    has_few_values = 2 * cells.size <= n and cells.size <= 2 * bin_starts(cells, cut).size
    if has_few_values:
        return Distinct()
    return cut


def bin_starts(cells: Cells, rule: BinRule) -> Ints:
    """The first cell of each non-empty bin."""
    start = rule.group(cells).start
    return start[:-1][start[1:] > start[:-1]]


def checked_smoothness(smoothness: float | None, bins: BinsLike | None) -> float:
    """Hölder's exponent of the error as a function of the scores, which sets the default bins.

    1 by default.
    """
    if smoothness is None:
        return 1.0
    if not is_real(smoothness) or not 0 < smoothness <= 1:
        raise InputError("smoothness", "must lie in (0, 1]", f"got {smoothness!r}")
    if bins is not None:
        raise InputError("smoothness", "sets the default number of bins", f"`bins` is {bins!r}")
    return float(smoothness)


def cells_per_axis(bins: BinsLike) -> int:
    """Read `bins=` for several scores per row, where only equal cells have a meaning."""
    rule = as_rule(bins)
    if not isinstance(rule, EqualWidth):
        raise InputError(
            "bins", "must be a whole number, the cells per axis, when k > 1", f"got {bins!r}"
        )
    return rule.n


def of_cells(cells: Cells, rule: BinRule, classes: int | None) -> BinnedScores:
    """One score per row: the cells of a tally, in the bins of a rule."""
    if not cells.whole:
        demand = (
            "must be whole numbers that sum to less than 2³⁵ (3·10¹⁰): a weight of 2 counts the "
            "row twice"
        )
        raise InputError(
            "sample_weight", demand, remedy="For other weights use `weight_type='importance'`."
        )
    first = bin_starts(cells, rule)
    count, hits = (np.asarray(column, dtype=np.int64) for column in (cells.weight, cells.events))
    return BinnedScores(
        cells.score[:, None], count, hits[:, None], first, classes, bins_in_words(rule, first.size)
    )


def bins_in_words(rule: BinRule, filled: int) -> str:
    """Description of the bins, and how many of them have rows."""
    bins = "bin" if filled == 1 else "bins"
    if filled == rule.n_requested:
        return f"{rule!r}: {filled:,} {bins}"
    return f"{rule!r}: {filled:,} {bins} with rows"


def near_ties(scores: BinnedScores, angle: float) -> BinnedScores:
    """The entries joined within each bin where their angles arcsin √p fall into the same step.

    A joined entry has the mean of the scores and the sum of the rows; `angle` is the width of a
    step. In that angle, a step is the same fraction of a label's standard deviation everywhere.
    """
    # Scores of one column in ascending order need no sorting.
    if scores.k == 1 and (scores.z[1:] >= scores.z[:-1]).all():
        start = np.union1d(scores.first, _where_steps_begin(scores.z[:, 0], angle))
        return _joined(scores, start, np.searchsorted(start, scores.first))
    entries = np.diff(np.append(scores.first, len(scores.z)))
    bin_of = np.repeat(np.arange(scores.first.size), entries)
    cell = _numbered([bin_of, *_step(scores.z, angle).T])
    order = np.argsort(cell, kind="stable")
    start = np.flatnonzero(np.diff(cell[order], prepend=-1))
    first = np.flatnonzero(np.diff(bin_of[order][start], prepend=-1))
    sorted_scores = replace(
        scores, z=scores.z[order], count=scores.count[order], hits=scores.hits[order]
    )
    return _joined(sorted_scores, start, first)


def _joined(scores: BinnedScores, start: Ints, first: Ints) -> BinnedScores:
    """One entry for each run that begins at `start`; the bins begin at the entries `first`."""
    count = np.add.reduceat(scores.count, start)
    sums = [
        np.add.reduceat(scores.count[part, None] * scores.z[part], starts, axis=0)
        for part, _, starts in whole_runs(start, len(scores.z), max(1, _ENTRIES // scores.k))
    ]
    z = np.clip(np.concatenate(sums) / count[:, None], 0, 1)
    return replace(
        scores, z=z, count=count, hits=np.add.reduceat(scores.hits, start, axis=0), first=first
    )


def _step(z: Floats, angle: float) -> Ints:
    return np.floor(np.arcsin(np.sqrt(z)) / angle).astype(np.int64)


def _where_steps_begin(z: Floats, angle: float) -> Ints:
    """The first of the ascending scores in each step but the first.

    By bisection, so that few angles are computed.
    """
    steps = np.arange(_step(z[-1:], angle).item()) + 1  # the last score has reached them all
    low = np.zeros(steps.size, dtype=np.int64)
    high = np.full(steps.size, z.size - 1)
    for _ in range(z.size.bit_length()):
        middle = (low + high) // 2
        reached = _step(z[middle], angle) >= steps
        low = np.where(reached, low, middle + 1)
        high = np.where(reached, middle, high)
    return high


def of_matrix(sample: Sample, k: int, bins: int | None, smoothness: float = 1.0) -> BinnedScores:
    """The rows of a matrix in bins of their k largest scores, or of all scores.

    The k largest are binned in cubes, the largest first and, of equal ones, the smallest class
    first. All scores, in class order, are binned in simplices of equal volume. `bins` is the number
    of cells per axis; by default it follows from the rows and the `smoothness` of the error.

    Time is O(n log n) for each of the k scores and memory O(n) scores, whatever the number of
    cells: only occupied cells are ever seen.
    """
    if sample.p.ndim == 1:
        remedy = Remedy(
            "column-stack", "`np.column_stack([1 - y_prob, y_prob])` makes a matrix of it."
        )
        raise InputError("k", "must be None or 1 for a vector of scores", f"got {k}", remedy=remedy)
    classes = sample.p.shape[1]
    if k > classes:
        raise InputError("k", f"must be at most {classes}, the number of classes", f"got {k}")
    predicted = top_of(sample).predicted  # every value is checked there
    if k < classes:
        z, hits = _largest(sample, k, predicted)
    else:
        z = np.asarray(sample.p, dtype=np.float64)
        hits = (sample.y[:, None] == np.arange(k)).astype(np.int64)
    count = np.ones(len(z), dtype=np.int64)
    if sample.w is not None:
        kept = sample.w > 0
        if not kept.any():
            sample.explain()
        w = sample.w[kept]
        if sample.importance or (w != np.floor(w)).any():
            raise InputError(
                "sample_weight",
                "must be whole numbers that count rows when k > 1: a weight of 2 is two rows",
            )
        z = z[kept]
        hits = hits[kept]
        count = w.astype(np.int64)
        hits = hits * count[:, None]
    m = default_cells(float(count.sum()), k, classes, smoothness) if bins is None else bins
    cell = _simplices(z, m) if k == classes else _cubes(z, m)
    if cell.max() <= np.iinfo(np.uint16).max:  # numbers of 16 bits are sorted by counting them
        cell = cell.astype(np.uint16)
    order = np.argsort(cell, kind="stable")
    cell = np.take(cell, order)
    z = np.take(z, order, axis=0)
    hits = np.take(hits, order, axis=0)
    if sample.w is not None:
        count = count[order]
    first = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]])).astype(np.int64)
    shape = (
        f"simplices of equal volume, {m} per edge" if k == classes else f"cubes, {m} cells per axis"
    )
    return BinnedScores(z, count, hits, first, classes, f"{shape}: {first.size:,} bins with rows")


def _largest(sample: Sample, k: int, predicted: Ints) -> tuple[Floats, Ints]:
    """The k largest scores of each row, largest first, and whether the class of each was the label.

    `predicted` is the class of the largest score, which decides ties. Rows are taken in blocks.
    """
    n = sample.p.shape[0]
    step = max(1, _ENTRIES // sample.p.shape[1])
    z = np.empty((n, k))
    hits = np.empty((n, k), dtype=np.int64)
    for rows in (slice(i, i + step) for i in range(0, n, step)):
        block = as_float(sample.p[rows])
        which = _ranked(block, predicted[rows], k)
        z[rows] = np.take_along_axis(block, which, axis=1)
        hits[rows] = which == sample.y[rows, None]
    return z, hits


def _ranked(block: NDArray[Any], predicted: Ints, k: int) -> Ints:
    """Columns of the k largest entries, largest first; of equal ones the smallest column first."""
    if k > _ROUNDS:
        return np.argsort(-block, axis=1, kind="stable")[:, :k]
    rest = block.copy()
    rows = np.arange(len(block))
    which = np.empty((len(block), k), dtype=np.int64)
    which[:, 0] = predicted
    for j in range(1, k):
        rest[rows, which[:, j - 1]] = -1
        which[:, j] = rest.argmax(axis=1)
    return which


def _cubes(z: Floats, m: int) -> Ints:
    """The cell of each row: per axis [b/m, (b + 1)/m), the last one closed."""
    b = np.minimum((z * m).astype(np.int64), m - 1)
    # The product may round across an edge, which is the float b/m.
    b -= z < b / m
    b += (z >= (b + 1) / m) & (b < m - 1)
    return _numbered(list(b.T))


def _simplices(z: Floats, m: int) -> Ints:
    """The cell of each row: partial sums cut into m parts each, and the order of the remainders."""
    # The last partial sum is 1. Rounding may push the others above it; they belong to the last
    # part.
    x = m * np.cumsum(z[:, :-1], axis=1)
    part = np.minimum(np.floor(x), m - 1)
    order = np.argsort(x - part, axis=1, kind="stable")
    return _numbered([*part.T.astype(np.int64), *order.T[:-1]])


def _numbered(digits: list[Any]) -> Ints:
    """A number for each combination of digits that occurs, in the order of the digits."""
    key = np.zeros(len(digits[0]), dtype=np.int64)
    span = 1
    for digit in digits:
        size = int(digit.max()) + 1
        if span * size > _KEYS:
            distinct, key = np.unique(key, return_inverse=True)
            key = key.reshape(-1).astype(np.int64)
            span = distinct.size
        key = key * size + digit
        span *= size
    return key


def bin_numbers(top: Sample, rule: BinRule, cells: Cells | None = None) -> Ints:
    """The bin of each row, numbered from 0 over the non-empty bins.

    `cells` are the sums of the rows, if known.
    """
    if cells is None:
        cells = cells_of_rows(top)
    lowest = cells.score[bin_starts(cells, rule)]
    return np.searchsorted(lowest, np.asarray(top.p, dtype=np.float64), side="right") - 1
