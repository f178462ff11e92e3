"""The walk behind the tests of Kolmogorov-Smirnov and Kuiper."""

import math
from functools import partial
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._numerics.brownian import largest_distance_sf
from trueness._tally.accept import as_tally, takes_rows
from trueness._tally.cells import Cells
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer._finding import squared_weights
from trueness.infer._significance import calibration_test
from trueness.results import Walk
from trueness.typing import ArrayLike, Floats, Ints, RowOptions

__all__ = ["cumulative_walk", "walk_of_cells"]

# Steps that are kept: two for each of so many stretches, the highest and the lowest.
_STRETCHES = 1000


@partial(takes_rows, kind="confidence")
def cumulative_walk(
    y_true: ArrayLike | Tally, y_prob: ArrayLike | None = None, *, level: float = 0.95, **rows: Unpack[RowOptions]
) -> Walk:
    r"""How far labels run ahead of scores, cumulated over the rows in the order of their scores.

    Where the walk climbs, events come more often than predicted; its slope is the miscalibration there. No bins, no
    kernel.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.calibration_test`; for a matrix, the top label.
    level : float, default 0.95
        Level of the band.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    Walk
        At most some 2,000 points, among them the highest and the lowest of all, and the tests 'ks' and 'kuiper'.

    Notes
    -----
    Equal scores are one step. With :math:`W = \sum w`, the height after score :math:`s` and its variance are

    .. math:: C(s) = \frac1W \sum_{p_i \le s} w_i (y_i - p_i), \qquad
              \frac{1}{W^2} \sum_{p_i \le s} w_i^2 p_i (1 - p_i) ,

    the latter for calibrated scores. `reach` is the quantile of the largest distance of Brownian motion from 0, times
    the last deviation: right for many rows, none with much of the variance.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic predictions", Journal of
    Machine Learning Research, 2022.

    Examples
    --------
    >>> from trueness.infer import cumulative_walk
    >>> walk = cumulative_walk([0, 1, 1, 1], [0.25, 0.5, 0.5, 1.0])
    >>> walk.share.tolist(), walk.height.tolist()
    ([0.0, 0.25, 0.75, 1.0], [0.0, -0.0625, 0.1875, 0.1875])
    """
    whole = checked_fraction(level, "level")
    tally = as_tally(y_true, y_prob, rows, kind="confidence")
    if len(tally.parts) > 1:
        raise InputError(f"`kind` must be 'confidence' here, or be left out; got {tally.kind!r}.")
    return walk_of_cells(tally.parts[0], whole)


def walk_of_cells(cells: Cells, level: float) -> Walk:
    """The walk of one binary problem."""
    from scipy.special import ndtri

    tally = Tally("binary", (cells,))
    total = float(cells.weight.sum())
    height = _from_zero(np.cumsum(cells.events - cells.weight * cells.score) / total)
    deviation = _from_zero(np.sqrt(np.cumsum(squared_weights(cells) * cells.score * (1 - cells.score))) / total)
    kept = _telling(height)
    return Walk(
        share=_from_zero(np.cumsum(cells.weight) / total)[kept],
        score=np.concatenate([cells.score[:1], cells.score])[kept],
        height=height[kept],
        half=float(ndtri((1 + level) / 2)) * deviation[kept],
        level=level,
        reach=_quantile(level) * float(deviation[-1]),
        ks=calibration_test(tally, method="ks"),
        kuiper=calibration_test(tally, method="kuiper"),
        n=int(cells.weight.sum() if cells.exact else cells.count.sum()),
    )


def _from_zero(values: Any) -> Floats:
    return np.concatenate([[0.0], values])


def _telling(height: Floats) -> Ints:
    """The first and last step, and the highest and lowest of each stretch, in order."""
    if height.size <= 2 * _STRETCHES:
        return np.arange(height.size)
    ends = np.linspace(0, height.size, _STRETCHES + 1).astype(np.int64)
    found = [a + at for a, b in pairwise(ends) for at in (height[a:b].argmin(), height[a:b].argmax())]
    return np.unique(np.array([0, height.size - 1, *found], dtype=np.int64))


def _quantile(level: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda x: math.log(float(largest_distance_sf(x)) / (1 - level)), 1e-2, 30.0))
