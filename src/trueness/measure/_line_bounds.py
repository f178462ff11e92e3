r"""Limits of the calibration slope and intercept: where the likelihood equations can have their solution.

The rows of one label in one cell have a known number and mean score m and lie between known ends. What they add to an
equation is :math:`\sum h(p)`, which differs from :math:`n h(m)` by at most :math:`\max|h''| \sum (p - m)^2 / 2`; and
it lies between n times the least and the greatest value of h in the cell. The narrower of the two is used.
"""

import math
from typing import NamedTuple

import numpy as np

from trueness._tally.grid import GridCells
from trueness.measure._bin_bounds import Ends
from trueness.measure._cuts import Range, spread_of
from trueness.measure._line import logits
from trueness.measure._mass_cuts import doubt_of
from trueness.typing import Bools, Floats

__all__ = ["shift", "slope"]

# What the searches for the line of the rows, and for that of the cells, leave open: room to spare.
_CONVERGED = 1e-9
# Above what a mean is off by: absolutely where scores are cut to 2⁻⁵³, relatively where sums are floats.
_CUT, _FLOAT = 2.0**-51, 2.0**-36
# Above what adding up does to a sum, relative to the sum of absolute values.
_ADDING = 1e-13
# Above the share of a label in the weight of a score from which it counts, and where rounding of it shows.
_COUNTS, _BLURRED = 1.001e-12, 1e-11
# A box of standardised lines so wide holds all there are.
_MAX_STEPS, _HOPELESS = 60, 1e6


class _Groups(NamedTuple):
    """Rows of one label in one cell: what is known of their scores and log-odds x."""

    weight: Floats
    event: Bools
    x: Floats
    """At their mean score."""
    ends: Range
    """The least and the greatest."""
    steepest: Floats
    """The most that dx/dp can be."""
    variance: Floats
    """Σw(p − m)², at most."""
    drift: Floats
    """|Σw(p − m)|, at most, for rounding of the mean m."""

    def standardised(self, centre: float, scale: float) -> "_Groups":
        ends = Range(*((end - centre) / scale for end in self.ends))
        return self._replace(x=(self.x - centre) / scale, ends=ends)


class _Sums(NamedTuple):
    """The two likelihood equations at a line: where their values can lie."""

    middle: Floats
    radius: Floats


def _groups(part: GridCells, eps: float) -> _Groups:
    cells = spread_of(part)
    some = cells.n > 0
    n, low, high = (np.asarray(column[some]) for column in (cells.n, cells.low, cells.high))
    mean = np.clip(cells.sum_score[some] / n, low, high)
    relative = doubt_of(part, _FLOAT)
    off = np.where(low < high, _CUT if part.exact else relative * mean, 0.0)
    variance = (high - mean) * (mean - low) + off * (high - low) + off**2
    around = 2.0**-49 if part.exact else 4 * relative * mean**2
    variance = np.minimum(variance, np.maximum(cells.square[some] / n - mean**2, 0) + around)
    with np.errstate(divide="ignore", over="ignore"):
        steepest = np.maximum(*(1 / (end * (1 - end)) for end in (low, high)))
    share = n / n.sum()
    event = np.broadcast_to(np.array([False, True]), some.shape)[some]
    ends = _log_odds(low, high, eps)
    return _Groups(share, event, logits(mean, eps), ends, steepest, share * variance, share * off)


def _log_odds(low: Floats, high: Floats, eps: float) -> Range:
    """Limits of the log-odds between two scores: 0 and 1 are moved inwards, past scores that lie nearer to them."""
    first, last = logits(low, eps), logits(high, eps)
    nought, one = (low == 0) & (high > 0), (high == 1) & (low < 1)
    least = np.where(nought, np.minimum(first, logits(np.array(5e-324), eps)), np.minimum(first, last))
    most = np.where(one, np.maximum(last, logits(np.array(1 - 2.0**-53), eps)), np.maximum(first, last))
    return Range(np.minimum(least, last), np.maximum(most, first))


def slope(part: GridCells, eps: float) -> Ends:
    """Limits of the slope; infinite where it cannot be excluded that the rows have none, nan where they have none."""
    from trueness._numerics.logistic import recalibration_line

    rows = _groups(part, eps)
    if _surely_apart(rows):
        return Ends(math.nan, math.nan)
    b, a = recalibration_line(rows.x, rows.weight, rows.weight * rows.event)
    if math.isnan(b):
        return Ends(-math.inf, math.inf)
    centre = float((rows.weight * rows.x).sum())
    scale = math.sqrt(float((rows.weight * (rows.x - centre) ** 2).sum()))
    reach = _reach(rows.standardised(centre, scale), np.array([a + b * centre, b * scale]), scale)
    room = _CONVERGED * (1 + abs(b))
    return Ends(b - reach / scale - room, b + reach / scale + room)


def shift(part: GridCells, eps: float) -> Ends:
    """Limits of the shift with slope 1, narrowed: the equation rises with the shift, whatever the rows."""
    from trueness._numerics.logistic import recalibration_shift

    widest, blurred = _widest_shift(part, eps)
    rows = _groups(part, eps)
    middle = recalibration_shift(rows.x, rows.weight, rows.weight * rows.event)
    if blurred or math.isnan(middle):
        return widest
    middle = min(max(middle, widest.low), widest.high)
    at = np.array([middle, 1.0])
    sums, curvature = _gradient(rows, at, 1.0), _curvature(rows, at, np.zeros(2)).low[0, 0]
    step = 2 * float(sums.radius[0] + abs(sums.middle[0])) / max(float(curvature), 1e-300) + _CONVERGED
    ends = []
    for sign, end in ((-1, widest.low), (1, widest.high)):
        found = _gradient(rows, np.array([middle + sign * step, 1.0]), 1.0)
        sure = sign * found.middle[0] > found.radius[0]
        ends.append(middle + sign * step if sure else end)
    return Ends(max(ends[0], widest.low), min(ends[1], widest.high))


def _widest_shift(part: GridCells, eps: float) -> tuple[Ends, bool]:
    """Limits of the shift from rows at either end of their cells, and whether rounding of the weights shows in it.

    The shift falls if a score rises or an event is lost. Rows know one sum of weights per score, and what is left of it
    without the events is rounded: where that is next to nothing it may be too small to count, and there is no shift.
    """
    from trueness._numerics.logistic import recalibration_shift

    by_label = np.asarray(part.by_label, dtype=np.float64)
    weight = by_label.sum(axis=1, keepdims=True)
    mixed = (by_label > 0).all(axis=1, keepdims=True)
    several = (part.count > 1)[:, None] & (not part.exact)
    off = np.where(several, part.count[:, None] * 2.0**-52, 0.0) * np.where(mixed, weight, by_label)
    counts = (by_label > 0) & (~mixed | (by_label - off > _COUNTS * weight))
    least, most = np.where(counts.any(axis=0), np.maximum(by_label - off, 0), 0.0), by_label + off

    def at(x: Floats, others: Floats, events: Floats) -> float:
        x = np.concatenate([x, x])
        weights = np.concatenate([others, events])
        return recalibration_shift(x, weights, np.concatenate([np.zeros(others.size), events]))

    x = _log_odds(part.low, part.high, eps)
    low, high = at(x.high, most[:, 0], least[:, 1]), at(x.low, least[:, 0], most[:, 1])
    if not (by_label[:, 0].any() and by_label[:, 1].any()):
        return Ends(math.nan, math.nan), True
    ends = Ends(
        -math.inf if math.isnan(low) else low - _room(low), math.inf if math.isnan(high) else high + _room(high)
    )
    return ends, not counts.any(axis=0).all() or bool((off > _BLURRED * by_label).any())


def _room(value: float) -> float:
    return _CONVERGED * (10 + abs(value))


def _surely_apart(rows: _Groups) -> bool:
    """Whether there is one class only, or a threshold between the classes wherever in their cells the rows lie."""
    event = rows.event
    if event.all() or not event.any():
        return True
    low, high = rows.ends
    return bool(high[event].max() <= low[~event].min() or high[~event].max() <= low[event].min())


def _reach(rows: _Groups, line: Floats, scale: float) -> float:
    """How far from a line the slope of any rows in these cells can be, after Krawczyk; inf if that cannot be told.

    If c − Y·g(c) + (1 − Y·H)(B − c) lies inside the box B around c for all values that the equations g and their
    derivatives H can have, every such g has a zero there; being the gradient of a convex function, it has no other.
    """
    sums = _gradient(rows, line, scale)
    at_line = _curvature(rows, line, np.zeros(2))
    inverse = _inverse((at_line.low + at_line.high) / 2)
    if inverse is None:
        return math.inf
    first = np.abs(inverse @ sums.middle) + np.abs(inverse) @ sums.radius
    box = 1.25 * first + 1e-14
    for _ in range(_MAX_STEPS):
        curvature = _curvature(rows, line, box)
        middle, radius = (curvature.low + curvature.high) / 2, (curvature.high - curvature.low) / 2
        left = np.abs(np.eye(2) - inverse @ middle) + np.abs(inverse) @ radius
        image = first + left @ box
        if not (image < _HOPELESS).all():
            break
        if (image < box).all():
            return float(image[1])
        box = 1.25 * image
    return math.inf


def _inverse(matrix: Floats) -> Floats | None:
    (aa, ab), (_, bb) = matrix
    determinant = aa * bb - ab * ab
    return np.array([[bb, -ab], [-ab, aa]]) / determinant if determinant > 1e-12 * aa * bb else None


def _gradient(rows: _Groups, line: Floats, scale: float) -> _Sums:
    """Σw(σ(η) − y)·(1, z), η = a + bz: around its value at the mean scores, or between its values at the ends."""
    (a, b), w, event, beta = line, rows.weight, rows.event, abs(float(line[1])) / scale
    z_low, z_high = rows.ends
    eta = np.sort(np.stack([a + b * z_low, a + b * z_high]), axis=0)
    e_low, e_high = (_residual(end, event) for end in eta)
    v, z, e = _steepness(*eta)[1], np.maximum(np.abs(z_low), np.abs(z_high)), np.maximum(np.abs(e_low), np.abs(e_high))
    corners = np.stack([e_low * z_low, e_low * z_high, e_high * z_low, e_high * z_high])
    direct = (Range(e_low, e_high), Range(corners.min(axis=0), corners.max(axis=0)))
    first = (v * beta, v * beta * z + e / scale)
    second = (v * (beta**2 + beta), v * (beta**2 + beta) * z + (2 * v * beta + e) / scale)
    centre = _residual(a + b * rows.x, event)
    lows, highs = [], []
    with np.errstate(invalid="ignore", over="ignore"):
        for value, ends, d1, d2 in zip((centre, centre * rows.x), direct, first, second, strict=True):
            off = d2 * rows.steepest**2 * rows.variance / 2 + d1 * rows.steepest * rows.drift
            # Where the slope of the log-odds has no limit, `off` is nan or inf, and the ends decide.
            low, high = np.fmax(w * ends.low, w * value - off), np.fmin(w * ends.high, w * value + off)
            room = _ADDING * float(np.maximum(np.abs(low), np.abs(high)).sum())
            lows.append(float(low.sum()) - room)
            highs.append(float(high.sum()) + room)
    low, high = np.array(lows), np.array(highs)
    return _Sums((low + high) / 2, (high - low) / 2)


def _curvature(rows: _Groups, line: Floats, box: Floats) -> Range:
    """Limits of Σwσ′(η)·(1, z, z²) as a matrix, for lines within a box."""
    (a, b), (da, db), w = line, box, rows.weight
    z_low, z_high = rows.ends
    corners = np.stack([steep * z for steep in (b - db, b + db) for z in (z_low, z_high)])
    least, most = _steepness(a - da + corners.min(axis=0), a + da + corners.max(axis=0))
    ones = np.ones(w.size)
    squares = np.sort(np.stack([z_low**2, z_high**2]), axis=0)
    squares[0] = np.where((z_low < 0) & (z_high > 0), 0, squares[0])
    pieces = []
    for low, high in ((ones, ones), (z_low, z_high), (squares[0], squares[1])):
        below, above = np.where(low < 0, most, least) * low, np.where(high > 0, most, least) * high
        room = _ADDING * float((w * np.maximum(np.abs(below), np.abs(above))).sum())
        pieces.append((float((w * below).sum()) - room, float((w * above).sum()) + room))
    low, high = (np.array([[aa, ab], [ab, bb]]) for aa, ab, bb in zip(*pieces, strict=True))
    return Range(low, high)


def _residual(eta: Floats, event: Bools) -> Floats:
    """σ(η) − y, to the last digits where it is small."""
    sign = np.where(event, -1.0, 1.0)
    t = sign * eta
    decay = np.exp(-np.abs(t))
    return np.asarray(sign * np.where(t >= 0, 1.0, decay) / (1 + decay))


def _steepness(low: Floats, high: Floats) -> Range:
    """Limits of σ′ between two log-odds."""
    sizes = np.sort(np.abs(np.stack([low, high])), axis=0)
    decay = np.exp(-np.stack([sizes[1], np.where((low <= 0) & (high >= 0), 0, sizes[0])]))
    least, most = decay / (1 + decay) ** 2
    return Range(least, most)
