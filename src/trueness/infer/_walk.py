"""The walk behind the tests of Kolmogorov-Smirnov and Kuiper."""

import math
from functools import partial
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._numerics.brownian import largest_distance_sf
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_tally, takes_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer._cumulative import Path, ks_and_kuiper
from trueness.infer._finding import squared_weights
from trueness.infer._significance import reported
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
        raise InputError("kind", "must be 'confidence' here, or be left out", f"got {tally.kind!r}")
    return walk_of_cells(tally.parts[0], whole)


def walk_of_cells(cells: Cells, level: float) -> Walk:
    """The walk of one binary problem."""
    from scipy.special import ndtri

    if not cells.size:
        raise InputError("A walk needs rows; there are none.")
    total = float(cells.weight.sum())
    path = np.cumsum(cells.events - cells.weight * cells.score)
    variances = squared_weights(cells) * cells.score
    variances *= 1 - cells.score
    found = ks_and_kuiper(Path(max(path.max(), 0.0), min(path.min(), 0.0), float(variances.sum()), total))
    path /= total
    np.cumsum(variances, out=variances)
    kept = _telling(path)
    passed = kept[1:] - 1
    deviation = _from_zero(np.sqrt(variances[passed]) / total)
    return Walk(
        share=_from_zero(np.cumsum(cells.weight)[passed] / total),
        score=cells.score[np.concatenate([[0], passed])],
        height=_from_zero(path[passed]),
        half=float(ndtri((1 + level) / 2)) * deviation,
        level=level,
        reach=_quantile(level) * float(deviation[-1]),
        ks=reported(cells, "ks", found[0]),
        kuiper=reported(cells, "kuiper", found[1]),
        n=int(cells.weight.sum() if cells.exact else cells.count.sum()),
    )


def _from_zero(values: Any) -> Floats:
    return np.concatenate([[0.0], values])


def _telling(path: Floats) -> Ints:
    """The start, which is 0, the last step, and the highest and lowest of each stretch, in order."""
    size = path.size + 1
    if size <= 2 * _STRETCHES:
        return np.arange(size)
    ends = np.linspace(0, size, _STRETCHES + 1).astype(np.int64)
    heights = [_from_zero(path[: ends[1] - 1]), *(path[a - 1 : b - 1] for a, b in pairwise(ends[1:]))]
    found = [a + at for a, part in zip(ends, heights, strict=False) for at in (part.argmin(), part.argmax())]
    return np.unique(np.array([0, size - 1, *found], dtype=np.int64))


def _quantile(level: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda x: math.log(float(largest_distance_sf(x)) / (1 - level)), 1e-2, 30.0))
