"""Locally weighted lines, as R's ``lowess`` without robustness steps draws them."""

import numpy as np

from trueness.typing import Floats

_SPAN = 2 / 3
# The share of the range of x that is crossed by a straight line from one fit to the next.
_STEP = 0.01
# Distances in units of the radius from which on, and up to which, a row has weight 0 and 1.
_OUTSIDE = 0.999
_INSIDE = 0.001


def lowess(x: Floats, y: Floats) -> Floats:
    """The smooth curve at each x, in the order of the rows: ``lowess(x, y, iter = 0)`` of R.

    Lines are fitted to two thirds of the rows with tricube weights, at points a hundredth of the
    range apart, and joined linearly. The rows of a neighbourhood are counted, so that among equal x
    the order of the rows can matter, as it does in R.

    W. S. Cleveland, LOWESS: a program for smoothing scatterplots by robust locally weighted
    regression, The American Statistician 35 (1981), 54.
    """
    order = np.argsort(x, kind="stable")
    curve = np.empty(x.size)
    curve[order] = _of_sorted(x[order], y[order])
    return curve


def _of_sorted(x: Floats, y: Floats) -> Floats:
    """The height of the lowess curve at each row, of rows sorted by `x`.

    At a row, a line is fitted to the nearest rows, `_SPAN` of all. The next fit is at the last row
    within `_STEP` of the range, or at the next row if none is so near; heights between two fits are
    interpolated linearly. Rows with equal `x` share a height.
    """
    n = x.size
    size = max(2, min(n, int(_SPAN * n + 1e-7)))
    step = _STEP * (x[-1] - x[0])
    curve = np.empty(n)
    left = 0
    last = -1  # the last row whose place on the curve is known
    i = 0
    while True:
        while left + size < n and x[i] - x[left] > x[left + size] - x[i]:
            left += 1
        curve[i] = _line_at(x, y, float(x[i]), left, min(left + size, n) - 1)
        between = slice(last + 1, i)
        if last + 1 < i:
            share = (x[between] - x[last]) / (x[i] - x[last])
            curve[between] = share * curve[i] + (1 - share) * curve[last]
        last = int(np.searchsorted(x, x[i], side="right")) - 1
        curve[i : last + 1] = curve[i]
        if last >= n - 1:
            return curve
        beyond = int(np.searchsorted(x, x[last] + step, side="right"))
        i = max(last + 1, beyond - 1)


def _line_at(x: Floats, y: Floats, place: float, left: int, right: int) -> float:
    """The height at `place` of a line fitted to the rows around it.

    The neighbourhood is the rows from `left` to `right`; its radius is the larger distance to its
    ends. Rows have tricube weights: 1 at the place, and 0 at the radius. Where nearly all weight is
    at one value of `x`, their weighted mean is taken; if the radius is 0, the plain mean of the
    rows at that place.
    """
    radius = max(place - x[left], x[right] - place)
    if radius <= 0:
        right = int(np.searchsorted(x, place, side="right"))
        return float(y[left:right].mean())
    # Rows beyond the neighbourhood that are as near as its rows count, too.
    end = int(np.searchsorted(x, place + radius, side="right"))
    near = x[left:end]
    distance = np.abs(near - place)
    weight = (1 - (distance / radius) ** 3) ** 3
    weight[distance <= _INSIDE * radius] = 1.0
    weight[distance > _OUTSIDE * radius] = 0.0
    weight /= weight.sum()
    centre = float((weight * near).sum())
    spread = float((weight * (near - centre) ** 2).sum())
    if spread**0.5 > _INSIDE * (x[-1] - x[0]):
        weight *= 1 + (place - centre) / spread * (near - centre)
    return float((weight * y[left:end]).sum())
