"""Isotonic calibration: the best map that never falls."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.steps import interpolate, steps
from trueness._tally.cells import segment_sums
from trueness._tally.rules import Isotonic, midpoints
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import Rows, cells_of
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_edges, refuse_learnt
from trueness.typing import Floats

__all__ = ["IsotonicCalibration"]


class IsotonicCalibration(Calibrator):
    r"""Isotonic regression of labels on scores.

    Of all maps that never fall, the one with the least squared error on the rows (and the least log loss: it is the
    same map). It is learnt by pooling neighbouring scores until the event rates rise.

    Parameters
    ----------
    interpolation : {'linear', 'step'}, default 'linear'
        What scores between two blocks get: a value on the line from the last score of one block to the first of
        the next, as in scikit-learn; or the value of the nearer block, a score exactly midway that of the upper one.
        Scores of the fitted rows get the same value either way, and so do scores beyond the first and last row:
        the value of the outermost block, never nan.
    y_min, y_max : float, default 0 and 1
        Bounds of the predicted values, which are moved to them where they lie beyond.

    Attributes
    ----------
    low_, high_ : arrays of shape (B,)
        The first and the last score of each block.
    values_ : array of shape (B,)
        The event rate of each block, within the bounds; before that it increases strictly.

    Notes
    -----
    Rows of equal score are pooled first, so that the map does not depend on the order of the rows: with :math:`W_i` and
    :math:`E_i` the weight and the events of the :math:`i`-th distinct score,

    .. math:: g(s_j) = \max_{a \le j} \min_{b \ge j} \frac{E_a + \dots + E_b}{W_a + \dots + W_b} .

    Without weights, or with whole ones, blocks are found with whole numbers, exactly. The values 0 and 1 are common in
    the outer blocks, and then one surprise makes the log loss infinite: `y_min` and `y_max`, or :class:`VennAbers`,
    avoid that.

    References
    ----------
    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability estimates", Knowledge
    Discovery and Data Mining, 2002.

    Examples
    --------
    The second and the third row contradict each other and are pooled.

    >>> from trueness.recalibrate import IsotonicCalibration
    >>> fitted = IsotonicCalibration().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted.predict([0.0, 0.2, 0.35, 0.6, 1.0]).round(6).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    _learnt: ClassVar = {
        "low": "first score of each block",
        "high": "last score of each block",
        "values": "share of events in each block, within y_min and y_max",
    }

    low_: Floats
    high_: Floats
    values_: Floats

    def __init__(
        self, *, interpolation: Literal["linear", "step"] = "linear", y_min: float = 0.0, y_max: float = 1.0
    ) -> None:
        self.interpolation = interpolation
        self.y_min = y_min
        self.y_max = y_max

    def _check_parameters(self) -> None:
        if not isinstance(self.interpolation, str) or self.interpolation not in ("linear", "step"):
            raise InputError("interpolation", "must be 'linear' or 'step'", f"got {self.interpolation!r}")
        for name, bound in (("y_min", self.y_min), ("y_max", self.y_max)):
            if isinstance(bound, bool) or not isinstance(bound, int | float | np.number) or not 0 <= bound <= 1:
                raise InputError(name, "must be a number in [0, 1]", f"got {bound!r}")
        if self.y_min > self.y_max:
            raise InputError("y_min", "must not be above `y_max`", f"got {self.y_min!r} and {self.y_max!r}")

    def _check_learnt(self) -> None:
        n = check_edges(self, "low")
        if n == 0:
            refuse_learnt(self, "low", "of one block at least", self.low_)
        check_edges(self, "high", n)
        check_edges(self, "values", n)
        if (self.low_ > self.high_).any() or (self.high_[:-1] >= self.low_[1:]).any():
            refuse_learnt(self, "high", "the last scores of blocks that follow each other", self.high_)

    def _fit(self, rows: Rows) -> None:
        cells = cells_of(rows)
        start = Isotonic().group(cells).start
        first = start[:-1]
        rate = segment_sums(cells.events, first) / segment_sums(cells.weight, first)
        # Weighted sums are rounded: a block of events alone may come to 1 + 2⁻⁵², and rates that rose to equal ones.
        rate = np.maximum.accumulate(np.clip(rate, self.y_min, self.y_max))
        self.low_, self.high_, self.values_ = cells.score[first], cells.score[start[1:] - 1], rate

    def _map(self, p: NDArray[Any]) -> Floats:
        if self.interpolation == "step":
            return steps(midpoints(self.high_[:-1], self.low_[1:]), self.values_, p)
        wide = self.low_ < self.high_
        x = np.column_stack([self.low_, self.high_])[np.column_stack([np.ones_like(wide), wide])]
        return interpolate(x, np.repeat(self.values_, 1 + wide), p)
