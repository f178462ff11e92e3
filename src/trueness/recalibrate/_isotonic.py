"""Isotonic calibration: the best non-decreasing map."""

from typing import Any, ClassVar, Literal

import numpy as np

from trueness._input.arguments import checked_word
from trueness._tally.cells import pool_runs
from trueness._tally.rules import Isotonic, midpoints
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, check_number, with_parameters
from trueness.recalibrate._formula import Lines, Steps
from trueness.recalibrate._saving import Field, all_of, fractions, meets


def _blocks(calibrator: Any) -> int:
    return int(calibrator.low_.size)


_last_scores = meets(
    "the last scores of blocks that follow each other",
    lambda c, high: (c.low_ <= high).all() and (high[:-1] < c.low_[1:]).all(),
)
_inside = meets(
    "between the first and the last score of each block",
    lambda c, centre: (c.low_ <= centre).all() and (centre <= c.high_).all(),
)


@with_parameters
class IsotonicCalibration(Calibrator):
    r"""Isotonic calibration: the isotonic regression of labels on scores.

    Among all non-decreasing maps, the one with the smallest squared error on the calibration set; it also minimises the
    log loss. Adjacent scores are pooled until the event rates increase.

    Parameters
    ----------
    interpolation : {'linear', 'step', 'centred'}, default 'linear'
        How scores between two blocks are mapped. 'linear': linearly from the last score of one block to the first of
        the next, as in scikit-learn. 'step': to the value of the nearer block, the upper one at the midpoint.
        'centred': blocks are points at their mean scores, joined by lines (centred isotonic regression). Scores below
        the first or above the last get the value of the outermost block.
    prior : float, default 0
        Number of pseudo-rows added to each block, at its mean score and with the events that this score predicts. They
        keep values away from 0 and 1, and pull the values of small blocks towards the scores.
    y_min, y_max : float, default 0 and 1
        Bounds to which predicted values are clipped.

    Notes
    -----
    Rows of equal score are pooled first, so that the order of the rows does not matter. With :math:`W_i` and
    :math:`E_i` the weight and the events of the :math:`i`-th distinct score,

    .. math:: g(s_j) = \max_{a \le j} \min_{b \ge j} \frac{E_a + \dots + E_b}{W_a + \dots + W_b} .

    Without weights, or with whole-number weights, the blocks are found exactly, in integer arithmetic. The outer blocks
    often have the values 0 and 1, and a single contrary outcome then makes the log loss infinite: `y_min` and `y_max`,
    or :class:`VennAbers`, avoid that.

    References
    ----------
    Oron, Flournoy, "Centered isotonic regression: point and interval estimation for dose-response studies", Statistics
    in Biopharmaceutical Research 9, 2017.

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

    _state: ClassVar = {
        "low": Field("first score of each block", fractions(rising=True, at_least=1)),
        "high": Field("last score of each block", all_of(fractions(_blocks, rising=True), _last_scores)),
        "centre": Field("mean score of each block", all_of(fractions(_blocks, rising=True), _inside)),
        "values": Field("event rate of each block, within y_min and y_max", fractions(_blocks, rising=True)),
    }

    interpolation: Literal["linear", "step", "centred"] = "linear"
    prior: float = 0.0
    y_min: float = 0.0
    y_max: float = 1.0

    def _check_parameters(self) -> None:
        checked_word(self.interpolation, "interpolation", ("linear", "step", "centred"))
        check_number("prior", self.prior, "be a finite number ≥ 0", lambda prior: 0 <= prior < np.inf)
        for name, bound in (("y_min", self.y_min), ("y_max", self.y_max)):
            check_number(name, bound, "be a number in [0, 1]", lambda bound: 0 <= bound <= 1)
        if self.y_min > self.y_max:
            raise InputError("y_min", "must not be above `y_max`", f"got {self.y_min!r} and {self.y_max!r}")

    def _fit(self, rows: CalibrationSet) -> None:
        cells, prior = rows.cells(), float(self.prior)
        start = Isotonic().group(cells).start
        blocks = pool_runs(cells, start[:-1])
        rate = (blocks.events + prior * blocks.score) / (blocks.weight + prior)
        # Weighted sums are rounded: a block of events alone may sum to 1 + 2⁻⁵², and increasing rates may become equal.
        rate = np.maximum.accumulate(np.clip(rate, self.y_min, self.y_max))
        self.low_, self.high_, self.values_ = cells.score[start[:-1]], cells.score[start[1:] - 1], rate
        self.centre_ = blocks.score

    def _formula(self) -> Steps | Lines:
        if self.interpolation == "step":
            return Steps(midpoints(self.high_[:-1], self.low_[1:]), self.values_)
        if self.interpolation == "centred":
            return Lines(self.centre_, self.values_)
        wide = self.low_ < self.high_
        x = np.column_stack([self.low_, self.high_])[np.column_stack([np.ones_like(wide), wide])]
        return Lines(x, np.repeat(self.values_, 1 + wide))
