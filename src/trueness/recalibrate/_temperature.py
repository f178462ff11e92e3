"""Temperature scaling: all logits divided by one number."""

import sys
from typing import ClassVar

import numpy as np

from trueness._numerics.softmax import inverse_temperature
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet, Shape
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._formula import LogOdds, Softmax, line
from trueness.recalibrate._logit_map import EPS_STATE, LogitMap
from trueness.recalibrate._saving import Field, number


@with_parameters
class TemperatureScaling(LogitMap):
    r"""Temperature scaling: divide all logits by one temperature.

    The temperature minimises the log loss. Above 1, predictions were over-confident and are softened; below 1, they
    were under-confident and are sharpened. The order of the classes in a row never changes.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits. A vector is P(positive) or its logit; a matrix has one column per class.
    eps : float, optional
        Smaller probabilities are set to this, and those of a vector above 1 − eps to 1 − eps; `fit` warns if some are
        exactly 0 or 1. Default: 1 / (K (n + 1)) for n rows and K classes, or less if some scores are nearer to 0 or 1,
        but at least the square of that.
    limits : bool, default False
        Whether `predict` uses scores outside [eps, 1 − eps] unchanged, so that 0 stays 0 and 1 stays 1.
    ridge : float, default 0
        Half this, times the squared distance of 1/T from 1, is added to the log loss summed over rows: it shrinks the
        map towards the identity where rows are few. 1 is a good choice.

    Notes
    -----
    A row of logits :math:`z` becomes

    .. math:: \frac{e^{z_k / T}}{\sum_j e^{z_j / T}} , \qquad z = \log p \text{ for probabilities},

    and P(positive) :math:`p` becomes :math:`1 / (1 + e^{-x / T})`, :math:`x = \log(p / (1 - p))`.
    The log loss is convex in 1/T; a safeguarded search by its derivatives finds the minimum to a relative 1e-8.

    In three cases there is no minimum, and a :class:`~trueness.errors.SeparableWarning` is given. If every label has
    the largest score of its row, labels are smoothed by Platt's rule: in its own rows, a class of weight N has the
    target (N + 1) / (N + K). If no finite T is better than T = ∞, T is 10⁶ times the spread of the logits (the root
    mean square of their deviations from the row mean), which makes all classes nearly equally likely. If the logits of
    every row are equal, T is 1.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, ICML 2017.

    Examples
    --------
    Odds of 3:1 were predicted, 2:1 were observed.

    >>> from trueness.recalibrate import TemperatureScaling
    >>> fitted = TemperatureScaling().fit([0.75] * 9, [1] * 6 + [0] * 3)
    >>> round(fitted.temperature_, 4)
    1.585
    >>> fitted.predict([0.75, 0.5, 1.0]).round(4)
    array([0.6667, 0.5   , 0.865 ])
    """

    _shape: ClassVar[Shape] = "any"
    _state: ClassVar = {**EPS_STATE, "temperature": Field("number that all logits are divided by", number(above=0))}

    from_logits: bool = False
    eps: float | None = None
    limits: bool = False
    ridge: float = 0.0

    def _fit(self, rows: CalibrationSet) -> None:
        logits = self._fit_logits(rows)
        if logits.ndim == 1:
            logits = np.column_stack([np.zeros_like(logits), logits])
        found = inverse_temperature(logits, rows.y, rows.w, self.ridge)
        self.temperature_ = min(1 / found.value, sys.float_info.max)  # logits may be that large
        message = {
            "separable": "Every label has the largest score of its row: no temperature is small enough. "
            "Labels were smoothed by Platt's rule",
            "reversed": "Labels are not likelier where scores are higher: no temperature is high enough. "
            "It was set to 10⁶ times the spread of the logits",
            "constant": "The logits of every row are equal: the temperature is not determined",
        }.get(found.verdict)
        if message:
            warn(f"{message}; T = {self.temperature_:.4g}.", SeparableWarning)

    def _formula(self) -> LogOdds | Softmax:
        if self.n_classes_ is None:
            return self._log_odds(line(0, 1 / self.temperature_))
        return Softmax(self._logs(), temperature=self.temperature_)
