"""Temperature scaling: one number that makes all predictions bolder or more timid."""

import sys
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trueness._numerics.softmax import inverse_temperature, softmax
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate._calibration_set import Rows, Scale, Shape
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_numbers
from trueness.recalibrate._logit_map import check_eps, check_input, logits_of, movable_logits
from trueness.typing import Floats

__all__ = ["TemperatureScaling"]


class TemperatureScaling(Calibrator):
    r"""Divide all logits by one temperature.

    The temperature is the one under which the labels are most likely. Above 1 the predictions were too bold and become
    more timid; below 1, the reverse. The order of the classes in a row never changes.

    Parameters
    ----------
    input : {'probabilities', 'logits'}, default 'probabilities'
        What the scores are. A vector is P(positive) or its logit; a matrix has a column per class.
    eps : float, default 1e-12
        In `fit`, probabilities of exactly 0 (in a vector also 1) are moved inwards by this much, with a warning.

    Attributes
    ----------
    temperature_ : float
        T, positive and finite.

    Notes
    -----
    A row of logits :math:`z` becomes

    .. math:: \frac{e^{z_k / T}}{\sum_j e^{z_j / T}} , \qquad z = \log p \text{ for probabilities},

    and P(positive) :math:`p` becomes :math:`1 / (1 + e^{-x / T})`, :math:`x = \log(p / (1 - p))`. Probabilities 0 and 1
    stay what they are. Newton's method finds the minimum of the log loss, which is convex in 1/T, to a relative 1e-8.

    Three kinds of data have no such minimum, and a :class:`~trueness.errors.SeparableWarning`:

    * Every label has the largest score of its row: the loss falls for ever as T goes to 0. The labels are smoothed by
      Platt's rule: a class of weight N is taken to have come true with probability (N + 1) / (N + K) in its own rows.
    * The scores say less than nothing (no T > 0 is better than T = ∞): T is 10⁶ times the spread of the logits, which
      makes all classes nearly equally likely. The spread is the root mean square of their deviations from the mean of
      the row.
    * The logits of every row are equal: T is 1.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, ICML 2017.

    Examples
    --------
    Odds of 1:3 were predicted where 1:2 came true.

    >>> from trueness.recalibrate import TemperatureScaling
    >>> fitted = TemperatureScaling().fit([0.75] * 9, [1] * 6 + [0] * 3)
    >>> round(fitted.temperature_, 4)
    1.585
    >>> fitted.predict([0.75, 0.5, 1.0]).round(4)
    array([0.6667, 0.5   , 1.    ])
    """

    _shape: ClassVar[Shape] = "any"
    _learnt: ClassVar[dict[str, str]] = {"temperature": "number that all logits are divided by"}

    temperature_: float

    def __init__(self, *, input: Scale = "probabilities", eps: float = 1e-12) -> None:
        self.input = input
        self.eps = eps

    @property
    def _scale(self) -> Scale:
        return self.input

    def _check_parameters(self) -> None:
        check_input(self.input)
        check_eps(self.eps)

    def _check_learnt(self) -> None:
        check_numbers(self, "temperature", above=0)

    def _fit(self, rows: Rows) -> None:
        logits = movable_logits(rows.p, self.input, self.eps)
        if logits.ndim == 1:
            logits = np.column_stack([np.zeros_like(logits), logits])
        found = inverse_temperature(logits, rows.y, rows.w)
        self.temperature_ = min(1 / found.value, sys.float_info.max)  # logits may be that large
        told = {
            "separable": "Every label has the largest score of its row: no temperature is small enough. "
            "Labels were smoothed by Platt's rule",
            "reversed": "Labels are no likelier where scores are higher: no temperature is high enough. "
            "It is 10⁶ times the spread of the logits",
            "constant": "The logits of every row are equal: any temperature is as good",
        }.get(found.verdict)
        if told:
            warn(f"{told}; T = {self.temperature_:.4g}.", SeparableWarning)

    def _map(self, p: NDArray[Any]) -> Floats:
        logits = logits_of(p, self.input)
        if logits.ndim == 1:
            with np.errstate(over="ignore"):
                return np.asarray(expit(logits.astype(np.float64) / self.temperature_))
        return softmax(logits, self.temperature_)
