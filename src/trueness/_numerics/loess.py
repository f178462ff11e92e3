"""Local quadratic regression (loess) of one predictor, as R computes it by default."""

import math
from typing import NamedTuple

import numpy as np

from trueness.typing import Floats, Numbers

SPAN = 0.75
"""Share of the rows in each neighbourhood."""
_CELL = 0.2
# The outer vertices lie beyond the data by this share of their range.
_MARGIN = 0.005
# Squared distances, relative to that of the farthest row: below the first the weight is 1, above the second 0.
_NEAR, _FAR = 0.001, 0.999
_DEPENDENT = 1e-12


class Loess(NamedTuple):
    """A linear smoother: the curve is a linear function of the events of the cells."""

    vertices: Floats
    """Places of the local regressions, ascending; the curve is a cubic between them."""
    operator: Floats
    """Maps events of the cells to heights at the vertices, then to slopes there; of shape (2 V, cells)."""

    def design(self, x: Floats) -> Floats:
        """Weights of heights and slopes at `x`, of shape (m, 2 V): cubic Hermite interpolation; nan beyond the ends."""
        v = self.vertices
        i = np.clip(np.searchsorted(v, x, side="right") - 1, 0, v.size - 2)
        width = v[i + 1] - v[i]
        t = (x - v[i]) / width
        t = np.where((t < 0) | (t > 1), np.nan, t)
        rows, found = np.arange(x.size), np.zeros((x.size, 2 * v.size))
        found[rows, i], found[rows, i + 1] = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
        found[rows, v.size + i], found[rows, v.size + i + 1] = width * t * (1 - t) ** 2, width * t * t * (t - 1)
        return found


def loess(x: Floats, weight: Numbers) -> Loess:
    r"""The smoother of labels at ascending, distinct `x` in cells of the given weights: span 0.75, degree 2.

    At each vertex :math:`v` a quadratic is fitted with weights :math:`(1 - |x - v|^3 / h^3)^3`, where :math:`h` is the
    distance of the nearest 75 % of the rows. Vertices are found by halving: at the median of the rows until no more
    than 15 % of them lie between two vertices. In between, the curve is the cubic with the fitted heights and slopes.
    Where 75 % of the rows are tied at a vertex, the height is their mean and the slope 0.

    W. S. Cleveland, S. J. Devlin, Locally weighted regression: an approach to regression analysis by local fitting,
    Journal of the American Statistical Association 83 (1988), 596-610.
    """
    vertices = _vertices(x, weight)
    local = [_local_operator(x, weight, float(v)) for v in vertices]
    return Loess(vertices, np.array([height for height, _ in local] + [slope for _, slope in local]))


def _vertices(x: Floats, weight: Numbers) -> Floats:
    reached = np.concatenate([[0], np.cumsum(weight)])
    whole, total = weight.dtype.kind == "i", float(reached[-1])
    most = math.floor(total * SPAN * _CELL) if whole else total * SPAN * _CELL
    low, high = float(x[0]), float(x[-1])
    margin = _MARGIN * max(high - low, 1e-3 * max(abs(low), abs(high)) + 1e-30)
    ends = low - margin, high + margin
    found, waiting = set(ends), [(0.0, total, *ends)]
    while waiting:
        first, last, left, right = waiting.pop()
        if last - first <= most:
            continue
        middle = (first + 1 + last) // 2 if whole else (first + last) / 2
        cell = int(np.searchsorted(reached, middle, side="left")) - 1
        if not left < x[cell] < right:
            continue
        middle = _untied(middle, float(reached[cell]), float(reached[cell + 1]), first, last)
        cut = float(x[int(np.searchsorted(reached, middle, side="left")) - 1])
        if left < cut < right:
            found.add(cut)
            waiting += [(first, middle, left, cut), (middle, last, cut, right)]
    return np.array(sorted(found))


def _untied(middle: float, below: float, above: float, first: float, last: float) -> float:
    """The rank nearest to `middle` after which the scores change, unless an end of the range is nearer."""
    if above - middle <= middle - below:
        return above if above < last and 2 * middle - above >= first else middle
    return below if below > first and 2 * middle - below < last else middle


def _local_operator(x: Floats, weight: Numbers, at: float) -> tuple[Floats, Floats]:
    """The linear maps from the events of all cells to height and slope at one place."""
    squares = (x - at) ** 2
    reach = _reach(squares, weight)
    nearest, scale = float(squares.min()), math.sqrt(reach) or 1.0
    tied = nearest >= _FAR * reach  # the nearest score alone has 75 % of the rows
    used = np.flatnonzero(squares == nearest if tied else squares < _FAR * reach)
    near = squares[used]
    kernel = np.where(near > _NEAR * reach, (1 - (near / (reach or 1.0)) ** 1.5) ** 3, 1.0)
    if tied:
        kernel[:] = 1
    z = (x[used] - at) / scale
    root = np.sqrt(kernel * weight[used])
    inverse = np.linalg.pinv(np.stack([root, root * z, root * z * z], axis=1), rcond=_DEPENDENT)
    height, slope = np.zeros(x.size), np.zeros(x.size)
    height[used] = inverse[0] * root / weight[used]
    slope[used] = inverse[1] * root / weight[used] / scale
    return height, slope


def _reach(squares: Floats, weight: Numbers) -> float:
    """The squared distance of the nearest 75 % of the rows."""
    order = np.argsort(squares, kind="stable")
    reached = np.cumsum(weight[order])
    share = SPAN * float(reached[-1])
    wanted = math.floor(share + 1e-5) if weight.dtype.kind == "i" else share
    return float(squares[order][np.searchsorted(reached, max(wanted, 1 if weight.dtype.kind == "i" else 0.0))])
