r"""Gaps of many segments, shrunk towards the whole (empirical Bayes).

Each segment s of a column has its own shift of the log-odds, :math:`\mathrm{logit}\,P(Y = 1) = \mathrm{logit}\,p + a_s`
with :math:`a_s \sim N(\mu, \tau^2)`. :math:`\mu` is the shift that makes the expected events of all rows equal to the
observed ones (if all labels are equal, half a label is changed). :math:`\tau` has a uniform prior on [0, 2]; given the
scores :math:`U_s = \sum (y - p_\mu)` and the information :math:`I_s = \sum p_\mu (1 - p_\mu)`, its posterior is
proportional to :math:`\prod_s N(U_s; 0, I_s + \tau^2 I_s^2)`, and :math:`\tau^2` is replaced by its posterior mean.
(The estimate of DerSimonian and Laird is often 0 for few segments, and intervals would then have no width.)
:math:`a_s` is the mode of its posterior, with the curvature there as precision and the error of :math:`\mu` added.
Its limits give those of the gap, :math:`\sum w\,(\mathrm{expit}(\mathrm{logit}\,p + a_s) - p) / \sum w`. Dependent
rows and fractional weights count by their effective number. Scores of 0 and 1 do not move.

References: Efron, "Large-Scale Inference", Cambridge, 2010; Gelman, "Prior distributions for variance parameters in
hierarchical models", Bayesian Analysis 1, 2006.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtri

from trueness.typing import Floats, Ints

_Expected: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
_STEPS = 60
_LARGEST_STEP = 2.0
_PRECISE = 1e-9
_LARGEST_TAU = 2.0
_TAUS = 81


class Shrunk(NamedTuple):
    """Shrunk gaps of the segments of one column, with limits."""

    gap: Floats
    low: Floats
    high: Floats
    tau: float
    """Standard deviation of the shifts between segments, in log-odds."""


def shrink(score: Floats, weight: Floats, events: Floats, code: Ints, effective: Floats, level: float) -> Shrunk:
    """Shrink the gaps of segments; `effective` is the number of independent labels per unit of weight, by segment."""
    inside = (score > 0) & (score < 1)
    x = logit(np.where(inside, score, 0.5))
    total, moving = np.bincount(code, weight), np.where(inside, weight, 0.0)

    def expected(shift: Floats) -> tuple[Floats, Floats]:
        """Σw·expit(x + a) and its derivative, by segment, over scores strictly inside (0, 1)."""
        q = expit(x + shift[code])
        return np.bincount(code, moving * q), np.bincount(code, moving * q * (1 - q))

    observed, movable = np.bincount(code, np.where(inside, events, 0.0)), np.bincount(code, moving)
    mu = _common_shift(observed.sum(), movable.sum(), expected, total.size)
    at_mu, information = (effective * one for one in expected(np.full(total.size, mu)))
    tau2 = _spread(effective * observed - at_mu, information)
    shift = _modes(effective, observed, expected, mu, tau2)
    precision = effective * expected(shift)[1] + 1 / tau2
    share = 1 / tau2 / precision
    deviation = np.sqrt(1 / precision + share**2 / max(float(information.sum()), 1e-300))
    reach = float(ndtri((1 + level) / 2)) * deviation
    scores = np.bincount(code, moving * score)
    gap, low, high = ((expected(shift + step)[0] - scores) / total for step in (0.0, -reach, reach))
    return Shrunk(gap, low, high, float(np.sqrt(tau2)))


def _common_shift(observed: float, movable: float, expected: _Expected, segments: int) -> float:
    goal = min(max(observed, 0.5), movable - 0.5) if movable > 1 else movable / 2
    mu = 0.0
    for _ in range(_STEPS):
        events, slope = (float(one.sum()) for one in expected(np.full(segments, mu)))
        step = float(np.clip((goal - events) / max(slope, 1e-300), -_LARGEST_STEP, _LARGEST_STEP))
        mu += step
        if abs(step) < _PRECISE:
            break
    return mu


def _spread(excess: Floats, information: Floats) -> float:
    """The posterior mean of τ²."""
    tau2 = (np.arange(1, _TAUS) / (_TAUS - 1) * _LARGEST_TAU) ** 2
    some = information > 0
    u2, info = (excess[some] ** 2)[:, np.newaxis], information[some, np.newaxis]
    inflation = 1 + tau2 * info
    log_density = -0.5 * (np.log(inflation) + u2 / (info * inflation)).sum(axis=0)
    density = np.exp(log_density - log_density.max())
    return float(density @ tau2 / density.sum())


def _modes(effective: Floats, observed: Floats, expected: _Expected, mu: float, tau2: float) -> Floats:
    """The modes of the shifts, by Newton's method; the posterior is log-concave."""
    shift = np.full(observed.size, mu)
    for _ in range(_STEPS):
        events, slope = expected(shift)
        gradient = effective * (observed - events) - (shift - mu) / tau2
        step = np.clip(gradient / (effective * slope + 1 / tau2), -_LARGEST_STEP, _LARGEST_STEP)
        shift = shift + step
        if np.abs(step).max() < _PRECISE:
            break
    return shift
