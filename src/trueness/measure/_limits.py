"""Limits that the sums of a sketch set to the measures of its rows.

A sketch knows the sums of each cell and the smallest and largest score in it, but not the order of its rows. Sums over
whole cells are exact. When an edge cuts a cell, the part of the cell that lies in each bin is unknown: the excess
Σw(y − p) of any part lies between −Σwp of its non-events and Σw(1 − p) of its events. Everything below follows
from that.
"""

import math
from typing import NamedTuple

import numpy as np

from trueness._tally.cells import Cells, segment_sums
from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, EqualMass, Isotonic
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

# Scores are truncated to multiples of this before they are added.
_UNIT = 2.0**-53
# Bounds on the rounding error of float sums: relative to a bin's weight, and to the weight of all rows.
_BIN_ROUNDING, _MASS_ROUNDING = 2.0**-40, 2.0**-36


class Limits(NamedTuple):
    """The smallest and the largest value that a measure of the rows can have."""

    low: float
    high: float


class _Range(NamedTuple):
    """The smallest and the largest value that each of several sums can have."""

    low: Floats
    high: Floats

    def sizes(self) -> "_Range":
        """Limits of the absolute values."""
        nearest = np.maximum(0, np.maximum(self.low, -self.high))
        return _Range(nearest, np.maximum(np.abs(self.low), np.abs(self.high)))


class _Layout(NamedTuple):
    """The bins that the rows of each cell can lie in, from `first` to `last`."""

    first: Ints
    last: Ints
    n_bins: int

    def per_bin(self, whole: Numbers, low: Numbers, high: Numbers) -> _Range:
        """Limits of the sums of each bin, from the sums of whole cells and the limits of any part of a cell."""
        alone = self.first == self.last
        exact = self._sum(self.first[alone], whole[alone])
        cell, bin_ = self._shared_pairs()
        return _Range(*(exact + self._sum(bin_, part[cell]) for part in (low, high)))

    def below_edges(self, whole: Numbers, low: Numbers, high: Numbers) -> _Range:
        """Limits of the sums over all rows below each edge, beginning with 0 and ending with the total."""
        exact = np.cumsum(self._sum(self.last, whole))
        cell, bin_ = self._shared_pairs()
        cut = bin_ < self.last[cell]
        ends = (exact + self._sum(bin_[cut], part[cell[cut]]) for part in (low, high))
        return _Range(*(np.concatenate([[0.0], end]) for end in ends))

    def _shared_pairs(self) -> tuple[Ints, Ints]:
        """All pairs of a cell that several bins may share and one of these bins."""
        cells = np.flatnonzero(self.last > self.first)
        number = (self.last - self.first + 1)[cells]
        cell = np.repeat(cells, number)
        return cell, np.arange(cell.size) - np.repeat(np.cumsum(number) - number, number) + self.first[cell]

    def _sum(self, bin_: Ints, values: Numbers) -> Floats:
        return np.asarray(np.bincount(bin_, values, minlength=self.n_bins), dtype=np.float64)


def rounding(part: GridCells, least: float) -> float:
    """A bound on the relative rounding error of float sums over the rows, added one after another at worst."""
    return max(least, float(part.count.sum()) * 2.0**-52)


def _layout(part: GridCells, rule: BinRule) -> _Layout:
    if isinstance(rule, EqualMass):
        return _equal_mass_layout(part, rule)
    edges = rule.fixed_edges
    assert edges is not None  # bins that follow the labels have no limits
    if float(part.low[0]) < edges[0] or float(part.high[-1]) > edges[-1]:
        raise InputError(
            "bins",
            "must cover every cell of the sketch",
            f"the edges run from {edges[0]:g} to {edges[-1]:g} and the scores from {part.low[0]:g} to "
            f"{part.high[-1]:g}",
        )
    first, last = (np.searchsorted(edges[1:-1], end, side="right") for end in (part.low, part.high))
    return _Layout(first, last, edges.size - 1)


def _equal_mass_layout(part: GridCells, rule: EqualMass) -> _Layout:
    """Cut j falls in one of the cells from low[j] to high[j]; they differ only if rounding decides between them."""
    weight, reached = np.asarray(part.weight), np.cumsum(part.weight)
    tied = part.low == part.high
    if part.exact:
        units = np.unique(np.arange(1, rule.n, dtype=object) * int(reached[-1]) // rule.n).astype(np.int64)
        units = units[units > 0]
        low = high = np.searchsorted(reached, units, side="left")
        splits = (units < reached[low]) & ~tied[low]
    else:
        units, off = np.arange(1, rule.n) * reached[-1] / rule.n, rounding(part, _MASS_ROUNDING) * reached[-1]
        low, high = (np.minimum(np.searchsorted(reached, units + d, side="left"), part.size - 1) for d in (-off, off))
        splits = ~tied[low]
    cell = np.arange(weight.size)
    first, last = (np.searchsorted(np.sort(cuts), cell, side="left") for cuts in (high, low))
    return _Layout(first, last + np.bincount(low[splits], minlength=weight.size), units.size + 1)


def _excess(part: GridCells) -> tuple[Floats, Floats, Floats]:
    """Σw(y − p) of each cell, and its smallest and largest value over parts of the cell."""
    others, events = part.scores_by_label.T
    return np.asarray(part.events - part.sum_score), -others, np.asarray(part.events - events)


def norm(part: GridCells, rule: BinRule, loss: int, degree: float) -> Limits:
    """Limits of (Σ(w_b/W) gap_b^(loss·degree))^(1/degree), or of the largest gap_b^loss."""
    layout = _layout(part, rule)
    if loss * degree == 1:
        below = layout.below_edges(*_excess(part))
        total = float(part.weight.sum())
        return Limits(_shortest(below) / total, _longest(below) / total)
    weight, gaps = _bin_windows(part, layout)
    if degree == math.inf:
        filled = weight.low > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(filled, gaps.low / weight.high, 0)
            high = np.where(filled, np.minimum(gaps.high / weight.low, 1), weight.high > 0)
        return Limits(float(low.max()) ** loss, float(high.max()) ** loss)
    # w·(excess / w)^q falls in w where |excess| ≤ w, which always holds.
    lightest = np.clip(gaps.high, weight.low, weight.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(weight.high > 0, gaps.low / weight.high, 0)
        high = np.where(lightest > 0, np.minimum(gaps.high / lightest, 1), 0)
    total = float(part.weight.sum())
    ends = (_root_mean(gap, w, total, loss * degree) ** loss for gap, w in ((low, weight.high), (high, lightest)))
    return Limits(*ends)


def _shortest(windows: _Range) -> float:
    """The length of the shortest walk through the windows: all places in [a, b] are reached at the same, least cost."""
    (a, b), *others = np.transpose(windows).tolist()
    length = 0.0
    for c, d in others:
        if c > b:
            length, a, b = length + c - b, c, c
        elif d < a:
            length, a, b = length + a - d, d, d
        else:
            a, b = max(a, c), min(b, d)
    return length


def _longest(windows: _Range) -> float:
    """The length of the longest walk, which turns at ends of the windows because its length is convex."""
    (a, b), *others = np.transpose(windows).tolist()
    at_low = at_high = 0.0
    for c, d in others:
        to_low = max(at_low + abs(c - a), at_high + abs(c - b))
        to_high = max(at_low + abs(d - a), at_high + abs(d - b))
        at_low, at_high, a, b = to_low, to_high, c, d
    return max(at_low, at_high)


def _bin_windows(part: GridCells, layout: _Layout) -> tuple[_Range, _Range]:
    """Limits of the weight and of |Σw(y − p)| of each bin, with room for rounding."""
    cells = np.asarray(part.weight, dtype=np.float64)
    weight, excess = layout.per_bin(cells, np.zeros(part.size), cells), layout.per_bin(*_excess(part))
    room = weight.high * (_BIN_ROUNDING if part.exact else rounding(part, _BIN_ROUNDING))
    if not part.exact:
        weight = _Range(np.maximum(weight.low - room, 0), weight.high + room)
    gaps = _Range(excess.low - room, excess.high + room).sizes()
    return weight, _Range(gaps.low, np.minimum(gaps.high, weight.high))  # each |y − p| is at most 1


def _root_mean(gap: Floats, weight: Floats, total: float, degree: float) -> float:
    """(Σw gap^q / W)^(1/q), in units of the largest gap: high powers of small numbers would vanish."""
    largest = float(gap.max(initial=0.0))
    if largest == 0:
        return 0.0
    mean = float((weight * (gap / largest) ** degree).sum()) / total
    return float(largest * mean ** (1 / degree))


def squared_error(part: GridCells, rule: BinRule) -> Limits:
    """Limits of Σ((Σu)² − Σu²)/(n_b − 1)/n over bins with two rows or more, u = y − p."""
    layout, nothing = _layout(part, rule), np.zeros(part.size)
    weight, gaps = _bin_windows(part, layout)
    of_cells = np.asarray(part.events - 2 * part.scores_by_label[:, 1] + part.sum_square)
    squares = layout.per_bin(of_cells, nothing, of_cells)
    above, below = gaps.high**2 - np.maximum(squares.low, 0), gaps.low**2 - squares.high
    fewest, most = np.maximum(weight.low, 2) - 1, np.maximum(weight.high, 2) - 1
    # (Σu)² ≤ n Σu², so that no bin adds more than Σu².
    high = np.minimum(np.maximum(above / fewest, above / most), squares.high)
    low = np.minimum(below / fewest, below / most)
    paired, alone = weight.low >= 2, weight.high < 2
    high = np.where(alone, 0, np.where(paired, high, np.maximum(high, 0)))
    low = np.where(alone, 0, np.where(paired, low, np.minimum(low, 0)))
    total = float(part.weight.sum())
    return Limits(float(low.sum()) / total, float(high.sum()) / total)


def brier(part: GridCells) -> Limits:
    """The mean of (y − p)², for which a sketch has every sum."""
    squares = part.events.sum() - 2 * part.scores_by_label[:, 1].sum() + part.sum_square.sum()
    return Limits(*(2 * [float(squares / part.weight.sum())]))


def log_loss(part: GridCells, *, events_only: bool = False) -> Limits:
    """Limits of Σ −w log(probability of the label)."""
    n, scores = part.by_label.astype(np.float64), part.scores_by_label
    events = _convex(n[:, 1], scores[:, 1], part.low, part.high)
    if events_only:
        return events
    others = _convex(n[:, 0], n[:, 0] - scores[:, 0], 1 - part.high, 1 - part.low, complement=True)
    return Limits(events.low + others.low, events.high + others.high)


def _convex(n: Floats, total: Floats, low: Floats, high: Floats, *, complement: bool = False) -> Limits:
    """Limits of Σ −log p: given the mean, least with all scores there, largest with all at the ends of the cell.

    Truncation makes the sum of the scores too small by less than a unit per row; that of complements, too large.
    """
    some = n > 0
    n, low, high, mean = n[some], low[some], high[some], total[some] / n[some]
    # The complement of a tiny score may be off by half a unit as well.
    least, most = (mean - 2 * _UNIT, mean) if complement else (mean, mean + 2 * _UNIT)
    least, most = np.clip(least, low, high), np.clip(most, low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(high > low, (high - least) / (high - low), 0)
        chord = np.where(share > 0, share * -np.log(low), 0) + np.where(share < 1, (1 - share) * -np.log(high), 0)
        return Limits(float((n * -np.log(most)).sum()), float((n * np.maximum(chord, -np.log(least))).sum()))


def ratio(part: GridCells) -> Limits:
    """Limits of observed over expected events."""
    observed, expected, n = (float(column.sum()) for column in (part.events, part.sum_score, part.weight))
    off = rounding(part, _BIN_ROUNDING)
    around = 1 if part.exact else 1 + off
    # Truncation makes the sum too small, which shows in the ratio if all scores are tiny.
    most = min((expected + n * 2 * _UNIT) * around, float((part.weight * part.high).sum()) * (1 + off))
    least = max(expected / around, float((part.weight * part.low).sum()) * (1 - off))
    if observed == 0 and least == 0:
        return Limits(*(2 * [math.nan if most == 0 else 0.0]))
    return Limits(*(observed / end if end > 0 else math.inf for end in (most, least)))


def area(part: GridCells) -> Limits:
    """Limits of the area under the ROC curve: only pairs inside a cell with several scores have an unknown order."""
    events = np.asarray(part.events, np.float64)
    others = part.weight - events
    pairs = float(events.sum()) * float(others.sum())
    if pairs == 0:
        return Limits(math.nan, math.nan)
    tied = part.low == part.high
    ranked = float(events @ (np.cumsum(others) - others)) + float((events * others)[tied].sum()) / 2
    return Limits(ranked / pairs, (ranked + float((events * others)[~tied].sum())) / pairs)


def walk(part: GridCells) -> tuple[Limits, Limits]:
    """Limits of the largest distance from 0, and of the range, of the cumulative sum of y − p over Σw.

    The walk is known at the ends of cells. Inside a cell it climbs by at most Σw(1 − p) of the events and falls by at
    most Σwp of the non-events; equal scores are one step.
    """
    total, tied = float(part.weight.sum()), part.low == part.high
    excess, fall, climb = (column / total for column in _excess(part))
    ends = np.concatenate([[0.0], np.cumsum(excess)])
    top, bottom = float(ends.max()), float(ends.min())
    highest = max(top, float((ends[:-1] + np.where(tied, 0, climb)).max()))
    lowest = min(bottom, float((ends[:-1] + np.where(tied, 0, fall)).min()))
    return Limits(max(top, -bottom), max(highest, -lowest)), Limits(top - bottom, highest - lowest)


def corp(part: GridCells, score: str) -> tuple[Limits, Limits]:
    """Limits of miscalibration and discrimination.

    The isotonic fit of the rows is at least as good as if each cell were one tie, and no better than if the non-events
    of each cell came first, the order that suits a rising fit best.
    """
    (n0, n1), tied = part.by_label.T.astype(np.float64), part.low == part.high
    first = np.column_stack([np.where(tied, n0 + n1, n0), np.where(tied, n1, 0)])
    second = np.column_stack([np.where(tied, 0, n1), np.where(tied, 0, n1)])
    split = np.stack([first, second], axis=1).reshape(-1, 2)
    fit = Limits(*(_fitted_score(pairs[pairs[:, 0] > 0], score) for pairs in (split, np.column_stack([n0 + n1, n1]))))
    base = _fitted_score(np.array([[n0.sum() + n1.sum(), n1.sum()]]), score)
    total = float(part.weight.sum())
    own = brier(part) if score == "brier" else Limits(*(end / total for end in log_loss(part)))
    return Limits(own.low - fit.high, own.high - fit.low), Limits(base - fit.high, base - fit.low)


def _fitted_score(pairs: Floats, score: str) -> float:
    """The mean score of the isotonic regression of events on the order of pairs of weight and events."""
    whole = bool((pairs == np.rint(pairs)).all())  # whole numbers are compared exactly
    weight, events = (column.astype(np.int64 if whole else np.float64) for column in pairs.T)
    start = Isotonic().group(Cells(np.arange(weight.size, dtype=np.float64), weight, weight, events)).start[:-1]
    n, k = (np.asarray(segment_sums(column, start), dtype=np.float64) for column in (weight, events))
    if score == "brier":
        return float((k * (1 - k / n)).sum() / n.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(k > 0, k * np.log(k / n), 0) + np.where(k < n, (n - k) * np.log1p(-k / n), 0)
    return float(-logs.sum() / n.sum())
