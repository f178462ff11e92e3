"""What the debiased estimate and T-Cal's statistic are on average: exact, for settings 1 and 2 of Sun et al. 2025."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import special

from trueness.typing import Floats

__all__ = ["Expected", "expected", "true_with_intercept"]

_SHAPES = {1: (1.0, 1.0), 2: (5.0, 0.5)}
_NODES = 200


class Expected(NamedTuple):
    """Means over data sets, squared errors all."""

    true: float
    """Without bins."""
    binned: float
    """With bins and very many rows."""
    estimate: float
    """E T: rows that are alone in their bin are lost."""
    t_cal: float
    """The mean of T-Cal's statistic: a pair's sum by N, not by N − 1."""


def expected(setting: int, beta: float, n: int, cells: int) -> Expected:
    r"""Means of the estimate T and of T-Cal's statistic, in closed form but for the integrals of each bin.

    Notes
    -----
    Of the N rows of a bin any two have residuals with mean δ and independent of each other, so that a sum over the
    N (N − 1) ordered pairs has mean N (N − 1) δ², N being binomial (n, p). Hence

    .. math:: \mathrm{E}\, T = \sum_b p_b \delta_b^2 \left(1 - (1 - p_b)^{n-1}\right), \qquad
        \mathrm{E}\, T_{\mathrm{T\text{-}Cal}} = \sum_b \delta_b^2 \left(p_b - \frac{1 - (1 - p_b)^n}{n}\right) .
    """
    # The larger of two scores is at least 1/2; a cell with 1/2 inside, if their number is odd, begins there.
    edges = np.unique(np.append(np.arange(-(-cells // 2), cells + 1) / cells, 0.5))
    p, shift, true = np.transpose([_moments(setting, beta, low, high) for low, high in pairwise(edges)])
    square = (shift / p) ** 2
    alone = (1 - p) ** (n - 1)
    return Expected(
        float(true.sum()),
        float(p @ square),
        float(p * (1 - alone) @ square),
        float((p - (1 - (1 - p) ** n) / n) @ square),
    )


def true_with_intercept(setting: int, beta: float, intercept: float) -> float:
    """The squared error of the larger score if the log-odds of the first class have this intercept.

    The larger score is that of the first class in half of the rows, and of the second in the other half, where the
    intercept counts the other way.
    """
    return _moments(setting, beta, 0.5, 1.0, intercept)[2]


def _moments(setting: int, beta: float, low: float, high: float, intercept: float = 0.0) -> tuple[float, float, float]:
    """P(bin), E[(truth − score) 1{bin}] and E[(truth − score)² 1{bin}] of the larger score."""
    a, b = _SHAPES[setting]
    # With 1 − c = t² the density, which has a pole at 1, becomes smooth.
    x, weight = _gauss()
    begin, end = np.sqrt(1 - high), np.sqrt(1 - low)
    t = begin + (end - begin) * (x + 1) / 2
    c = 1 - t * t
    constant = special.beta(a, b)
    density = (c ** (a - 1) * t ** (2 * b - 1) + t ** (2 * a - 1) * c ** (b - 1)) * 2 / constant
    mass = weight * (end - begin) / 2 * density
    odds = beta * (np.log(c) - 2 * np.log(t))
    gap = (special.expit(odds + intercept) + special.expit(odds - intercept)) / 2 - c
    return float(mass.sum()), float(mass @ gap), float(mass @ gap**2)


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights on [−1, 1]: as slow to find as they are quick to use."""
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    return x, weight
