"""Platt scaling: a straight line of log-odds."""

import math
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trueness._numerics.logistic import recalibration_line, recalibration_shift
from trueness.errors import InputError, SeparableWarning, warn
from trueness.recalibrate._calibration_set import Rows, Scale
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_numbers
from trueness.recalibrate._logit_map import check_eps, check_input, logits_of, movable_logits
from trueness.typing import Floats, Ints

__all__ = ["PlattScaling", "smoothed_events"]

Targets: TypeAlias = Literal["labels", "platt"]

# Outside these magnitudes the squares of logits could overflow, or their differences count as none.
_SMALL, _LARGE = 1e-3, 1e100
_VANISHING = 1e-300


class PlattScaling(Calibrator):
    r"""Logistic regression of the labels on the logits of the scores.

    Parameters
    ----------
    input : {'probabilities', 'logits'}, default 'probabilities'
        What the scores are: P(positive), of which the logit is taken, or any real number, such as the margin of a
        support vector machine, which is used as it is.
    targets : {'labels', 'platt'}, default 'labels'
        What is regressed: the labels, or Platt's smoothed ones, which guard small samples against overconfidence.
    eps : float, default 1e-12
        In `fit`, probabilities of exactly 0 or 1 are moved inwards by this much, with a warning.

    Attributes
    ----------
    slope_, intercept_ : float
        Of the line of log-odds. A slope below 1 says that scores were too extreme; below 0, that they are reversed.

    Notes
    -----
    A score of logit :math:`x` becomes :math:`1 / (1 + e^{-(a + b x)})`, with intercept :math:`a` and slope
    :math:`b` of the largest likelihood. Scores 0 and 1 become the limits: 0 and 1 for a positive slope, 1 and 0 for a
    negative one, :math:`1 / (1 + e^{-a})` for slope 0.

    Platt's targets are :math:`(N_1 + 1) / (N_1 + 2)` for events and :math:`1 / (N_0 + 2)` for the rest, with
    :math:`N_1` and :math:`N_0` their numbers (weights). Platt (1999) proposed them; Lin, Lin and Weng (2007) showed how
    to reach the optimum safely. Newton's method with step halving finds it here.

    Labels that a threshold separates (or that are all equal) have no finite line of largest likelihood: Platt's
    targets, which always have one, take their place, with a :class:`~trueness.errors.SeparableWarning`. If all scores
    are equal the slope is not determined: it is 1, with the same warning.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods, 1999.

    H.-T. Lin, C.-J. Lin, R. C. Weng, A note on Platt's probabilistic outputs for support vector machines, Machine
    Learning 68 (2007).

    Examples
    --------
    Predicted odds of 1:3 and 3:1 where 1:2 and 2:1 came true: the line halves the logits, nearly.

    >>> from trueness.recalibrate import PlattScaling
    >>> fitted = PlattScaling().fit([0.25] * 6 + [0.75] * 6, [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1])
    >>> round(fitted.slope_, 4), round(abs(fitted.intercept_), 4)
    (0.6309, 0.0)
    >>> fitted.predict([0.0, 0.25, 0.5]).round(4)
    array([0.    , 0.3333, 0.5   ])
    """

    _learnt: ClassVar[dict[str, str]] = {
        "slope": "factor of the logit of a score",
        "intercept": "number added to it, which gives the log-odds of the prediction",
    }

    slope_: float
    intercept_: float

    def __init__(self, *, input: Scale = "probabilities", targets: Targets = "labels", eps: float = 1e-12) -> None:
        self.input = input
        self.targets = targets
        self.eps = eps

    @property
    def _scale(self) -> Scale:
        return self.input

    def _check_parameters(self) -> None:
        check_input(self.input)
        check_eps(self.eps)
        if not (isinstance(self.targets, str) and self.targets in ("labels", "platt")):
            raise InputError("targets", "must be 'labels' or 'platt'", f"got {self.targets!r}")

    def _check_learnt(self) -> None:
        check_numbers(self, "slope", "intercept")

    def _fit(self, rows: Rows) -> None:
        x, w = movable_logits(rows.p, self.input, self.eps).astype(np.float64), rows.weights
        unit = _unit(x)
        x = x * unit
        smooth = smoothed_events(rows.y, w)
        events = w * rows.y if self.targets == "labels" else smooth
        slope, intercept = recalibration_line(x, w, events)
        if math.isnan(slope):
            slope, intercept = recalibration_line(x, w, smooth)
            if math.isnan(slope):
                slope, intercept = 1 / unit, _shift(x / unit, w, events, smooth)
                told = "All scores are equal: any slope is as good; it is 1"
            else:
                told = "The scores separate the labels: no line of log-odds is steep enough. Platt's targets took the "
                told += f"place of the labels; the slope is {slope * unit:.4g}"
            warn(f"{told}.", SeparableWarning)
        self.slope_, self.intercept_ = slope * unit, intercept

    def _map(self, p: NDArray[Any]) -> Floats:
        x = logits_of(p, self.input).astype(np.float64)
        # 0 · ∞ is no number, but a slope of 0 leaves the intercept wherever the score is.
        with np.errstate(over="ignore"):
            line = self.slope_ * x if self.slope_ else np.zeros_like(x)
            return np.asarray(expit(line + self.intercept_))


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


def _shift(x: Floats, w: Floats, events: Floats, smooth: Floats) -> float:
    found = recalibration_shift(x, w, events)
    return recalibration_shift(x, w, smooth) if math.isnan(found) else found
