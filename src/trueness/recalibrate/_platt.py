"""Platt scaling: logistic regression on the logit."""

import math
from typing import ClassVar, Literal

import numpy as np

from trueness._input.arguments import checked_word
from trueness._numerics.logistic import recalibration_line, recalibration_shift
from trueness._numerics.ridge_logistic import ridge_logistic
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._formula import LogOdds, line
from trueness.recalibrate._logit_map import EPS_STATE, LogitMap
from trueness.recalibrate._saving import Field, number
from trueness.typing import Floats, Ints

# Outside these magnitudes the squares of logits could overflow, or their differences count as none.
_SMALL, _LARGE = 1e-3, 1e100
_VANISHING = 1e-300


@with_parameters
class PlattScaling(LogitMap):
    r"""Platt scaling: logistic regression of the labels on the logits of the scores.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits or other real numbers, such as the margins of a support vector machine, which are
        used unchanged. Otherwise they are P(positive), whose logit is taken.
    targets : {'labels', 'platt'}, default 'labels'
        What is regressed: the labels, or Platt's smoothed targets, which prevent overconfidence in small samples.
    ridge : float, default 0
        Half this, times the squared distance of intercept and slope from 0 and 1, is added to the log loss summed over
        rows: it shrinks the map towards the identity where rows are few. 1 is a good choice.

    Notes
    -----
    A score with logit :math:`x` becomes :math:`1 / (1 + e^{-(a + b x)})`; intercept :math:`a` and slope :math:`b`
    maximise the likelihood. With `limits`, scores 0 and 1 become 0 and 1 for a positive slope, 1 and 0 for a negative
    one, and :math:`1 / (1 + e^{-a})` for slope 0.

    Platt's targets are :math:`(N_1 + 1) / (N_1 + 2)` for events and :math:`1 / (N_0 + 2)` for non-events, with
    :math:`N_1` and :math:`N_0` their numbers (weights). The optimum is found by Newton's method with step halving.

    If a threshold separates the labels, or all are equal, the likelihood has no finite maximum: Platt's targets, for
    which it has one, replace the labels, with a :class:`~trueness.errors.SeparableWarning`. If all scores are equal,
    the slope is not determined and is set to 1, with the same warning.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods, 1999.

    H.-T. Lin, C.-J. Lin, R. C. Weng, A note on Platt's probabilistic outputs for support vector machines, Machine
    Learning 68 (2007).

    Examples
    --------
    Odds of 1:3 and 3:1 were predicted, 1:2 and 2:1 were observed: the logits shrink to 63 %.

    >>> from trueness.recalibrate import PlattScaling
    >>> fitted = PlattScaling().fit([0.25] * 6 + [0.75] * 6, [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1])
    >>> round(fitted.slope_, 4), round(abs(fitted.intercept_), 4)
    (0.6309, 0.0)
    >>> fitted.predict([0.0, 0.25, 0.5]).round(4)
    array([0.116 , 0.3333, 0.5   ])
    """

    _state: ClassVar = {
        **EPS_STATE,
        "slope": Field("factor of the logit of a score", number()),
        "intercept": Field("number added to it, which gives the log-odds of the prediction", number()),
    }

    from_logits: bool = False
    targets: Literal["labels", "platt"] = "labels"
    eps: float | None = None
    limits: bool = False
    ridge: float = 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checked_word(self.targets, "targets", ("labels", "platt"))

    def _fit(self, rows: CalibrationSet) -> None:
        x, w = self._fit_logits(rows).astype(np.float64), rows.weights
        unit = _unit(x)
        x = x * unit
        smooth = smoothed_events(rows.y, w)
        events = w * rows.y if self.targets == "labels" else smooth
        if self.ridge:
            X, ridge = np.column_stack([np.ones_like(x), x]), self.ridge * np.diag([1, unit * unit])
            ((intercept, slope),) = ridge_logistic(X, w[None], events[None], np.array([0, 1 / unit]), ridge)
            self.slope_, self.intercept_ = float(slope) * unit, float(intercept)
            return
        slope, intercept = recalibration_line(x, w, events)
        if math.isnan(slope):
            slope, intercept = recalibration_line(x, w, smooth)
            if math.isnan(slope):
                shift = recalibration_shift(x / unit, w, events)
                shift = recalibration_shift(x / unit, w, smooth) if math.isnan(shift) else shift
                slope, intercept = 1 / unit, shift
                message = "All scores are equal: the slope is not determined; it is set to 1."
            else:
                message = (
                    "The scores separate the labels, so the likelihood has no finite maximum. Platt's smoothed targets "
                    f"replaced the labels; the slope is {slope * unit:.4g}."
                )
            warn(message, SeparableWarning)
        self.slope_, self.intercept_ = slope * unit, intercept

    def _formula(self) -> LogOdds:
        return self._log_odds(line(self.intercept_, self.slope_))


def smoothed_events(y: Ints, w: Floats) -> Floats:
    """Platt's targets times the weights."""
    ones = float(np.sum(w * y))
    zeros = float(np.sum(w)) - ones
    return np.asarray(w * np.where(y == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2)))


def _unit(x: Floats) -> float:
    """A power of two that brings huge or tiny logits near 1."""
    largest = float(np.max(np.abs(x)))
    if _SMALL <= largest <= _LARGE or largest < _VANISHING:
        return 1.0
    return math.ldexp(1.0, -math.frexp(largest)[1])
