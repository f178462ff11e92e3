"""Loess: local quadratics, as a linear map from events to a curve."""

import math
from typing import NamedTuple

import numpy as np

from trueness.typing import Floats, Numbers

SPAN = 0.75
"""Share of the rows in each neighbourhood."""
_CELL = 0.2
# The outer vertices lie beyond the data by this share of their range.
_MARGIN = 0.005
# Squared distances, relative to that of the farthest row: below the first the weight is 1, above
# the second 0.
_NEAR = 0.001
_FAR = 0.999
_DEPENDENT = 1e-12


class Loess(NamedTuple):
    """A linear smoother: the curve is a linear function of the events of the cells."""

    vertices: Floats
    """Places of the local regressions, ascending; the curve is a cubic between them."""
    operator: Floats
    """Maps events of the cells to heights at the vertices, then to slopes there; of shape (2 V,
    cells)."""

    def design(self, x: Floats) -> Floats:
        """The matrix that turns heights and slopes at the vertices into the curve at `x`.

        Of shape (m, 2 V), for m places and V vertices: the first V columns multiply heights, the
        others slopes. Between two vertices the curve is the cubic with their heights and slopes
        (Hermite interpolation). Rows of places beyond the first or last vertex are nan.
        """
        v = self.vertices
        i = np.clip(np.searchsorted(v, x, side="right") - 1, 0, v.size - 2)
        width = v[i + 1] - v[i]
        t = (x - v[i]) / width
        t = np.where((t < 0) | (t > 1), np.nan, t)
        rows = np.arange(x.size)
        matrix = np.zeros((x.size, 2 * v.size))
        matrix[rows, i] = (1 + 2 * t) * (1 - t) ** 2
        matrix[rows, i + 1] = t * t * (3 - 2 * t)
        matrix[rows, v.size + i] = width * t * (1 - t) ** 2
        matrix[rows, v.size + i + 1] = width * t * t * (t - 1)
        return matrix


def loess(x: Floats, weight: Numbers) -> Loess:
    r"""The smoother of labels at ascending, distinct `x` in weighted cells: span 0.75, degree 2.

    At each vertex :math:`v` a quadratic is fitted with weights :math:`(1 - |x - v|^3 / h^3)^3`,
    where :math:`h` is the distance of the nearest 75 % of the rows. Vertices are found by halving:
    at the median of the rows until no more than 15 % of them lie between two vertices. In between,
    the curve is the cubic with the fitted heights and slopes. Where 75 % of the rows are tied at a
    vertex, the height is their mean and the slope 0.

    W. S. Cleveland, S. J. Devlin, Locally weighted regression: an approach to regression analysis
    by local fitting, Journal of the American Statistical Association 83 (1988), 596-610.
    """
    vertices = _vertices(x, weight)
    local = [_local_operator(x, weight, float(v)) for v in vertices]
    return Loess(
        vertices, np.array([height for height, _ in local] + [slope for _, slope in local])
    )


def _vertices(x: Floats, weight: Numbers) -> Floats:
    """The places, ascending, at which loess fits its local quadratics.

    `x` are distinct scores, ascending, and `weight` their weights. The range of the scores, widened
    a little at both ends, is halved at the median of its rows. Each part is halved again until it
    holds at most 15 % of all rows (`SPAN` times `_CELL`). The cuts and the two ends are the
    vertices. A part whose median row has the score of one of its ends is not cut.
    """
    reached = np.concatenate([[0], np.cumsum(weight)])
    whole = weight.dtype.kind == "i"
    total = float(reached[-1])
    limit = math.floor(total * SPAN * _CELL) if whole else total * SPAN * _CELL
    low = float(x[0])
    high = float(x[-1])
    margin = _MARGIN * max(high - low, 1e-3 * max(abs(low), abs(high)) + 1e-30)
    ends = low - margin, high + margin
    vertices = set(ends)
    waiting = [(0.0, total, *ends)]
    while waiting:
        first, last, left, right = waiting.pop()
        if last - first <= limit:
            continue
        middle = (first + 1 + last) // 2 if whole else (first + last) / 2
        cell = int(np.searchsorted(reached, middle, side="left")) - 1
        if not left < x[cell] < right:
            continue
        middle = _untied(middle, float(reached[cell]), float(reached[cell + 1]), first, last)
        cut = float(x[int(np.searchsorted(reached, middle, side="left")) - 1])
        if left < cut < right:
            vertices.add(cut)
            waiting += [(first, middle, left, cut), (middle, last, cut, right)]
    return np.array(sorted(vertices))


def _untied(middle: float, below: float, above: float, first: float, last: float) -> float:
    """The rank at which to cut a part of the rows: `middle`, or the end of a run of ties near it.

    Ranks count rows in ascending order of score. `below` and `above` are the ranks at which the run
    of equal scores around `middle` begins and ends; `first` and `last` are those of the part. The
    nearer end of the run is taken if it lies inside the part, and is nearer to `middle` than the
    end of the part on the other side (or just as near, when the run ends above). Otherwise it is
    `middle`.
    """
    if above - middle <= middle - below:
        if above < last and 2 * middle - above >= first:
            return above
        return middle
    if below > first and 2 * middle - below < last:
        return below
    return middle


def _local_operator(x: Floats, weight: Numbers, at: float) -> tuple[Floats, Floats]:
    """The linear maps from the events of all cells to height and slope of the curve at `at`.

    Height and slope are the scalar products of these two arrays with the events. They come from the
    least-squares quadratic in `x`, with tricube weights :math:`(1 - |x - v|^3 / h^3)^3` times the
    weights of the cells, where :math:`v` is `at` and :math:`h` the distance within which 75 % of
    the rows lie. Cells farther away have 0 in both arrays. If the nearest score alone has 75 % of
    the rows, only cells at that distance count, all in full.
    """
    squares = (x - at) ** 2
    reach = _reach(squares, weight)
    nearest = float(squares.min())
    scale = math.sqrt(reach) or 1.0
    tied = nearest >= _FAR * reach  # the nearest score alone has 75 % of the rows
    used = np.flatnonzero(squares == nearest) if tied else np.flatnonzero(squares < _FAR * reach)
    near = squares[used]
    kernel = np.where(near > _NEAR * reach, (1 - (near / (reach or 1.0)) ** 1.5) ** 3, 1.0)
    if tied:
        kernel[:] = 1
    z = (x[used] - at) / scale
    root = np.sqrt(kernel * weight[used])
    inverse = np.linalg.pinv(np.stack([root, root * z, root * z * z], axis=1), rcond=_DEPENDENT)
    height = np.zeros(x.size)
    slope = np.zeros(x.size)
    height[used] = inverse[0] * root / weight[used]
    slope[used] = inverse[1] * root / weight[used] / scale
    return height, slope


def _reach(squares: Floats, weight: Numbers) -> float:
    """The squared distance within which the nearest 75 % of the rows lie.

    `squares` are the squared distances of the cells from a place, in any order, and `weight` their
    weights. Whole weights count rows: 75 % of them is rounded down, and is at least one row.
    """
    order = np.argsort(squares, kind="stable")
    reached = np.cumsum(weight[order])
    share = SPAN * float(reached[-1])
    if weight.dtype.kind == "i":
        share = max(math.floor(share + 1e-5), 1)
    return float(squares[order][np.searchsorted(reached, share)])
