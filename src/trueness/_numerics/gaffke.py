"""Gaffke's upper limit of a mean: the quantile of a mean with Dirichlet-distributed weights."""

import numpy as np

from trueness._numerics.roots import bracketed_root
from trueness.typing import Floats

_MANY = 512
"""Above this number of values, neighbours are pooled; the largest are kept."""
_KEPT = 64
_POOLS = 256
_ROUNDS = 200
_STEP = 0.12
_REACH = 7.6
"""Of the integral, in the arcsinh of standard deviations."""


def gaffke_limit(values: Floats, shape: Floats, q: float) -> float:
    r"""Quantile q of :math:`\sum G_i x_i / \sum G_i`, independent :math:`G_i \sim \Gamma(a_i)`.

    For independent rows of a bounded law with :math:`a_i = 1`, and the largest possible value as
    one row more, this is Gaffke's upper limit of the mean. With two different values it is a
    quantile of a beta distribution. At least the mean is returned.

    The probability that :math:`\sum_i G_i (x_i - t) \le 0` is the integral of the moment generating
    function, :math:`\prod_i (1 - z (x_i - t))^{-a_i} / z`, along a hyperbola through its
    saddlepoint that leans as the law is skewed.

    N. Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable, Mathematical Methods of Statistics 14 (2005), 451-467.
    """
    has_weight = shape > 0
    values, shape = _pooled(values[has_weight], shape[has_weight])
    low = float(values.min())
    high = float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return high
    unit = (values - low) / (high - low)
    return low + (high - low) * _unit_limit(unit, shape, q)


def _unit_limit(x: Floats, shape: Floats, q: float) -> float:
    """The quantile q of Σ G·x / Σ G, for values `x` from 0 to 1 and independent Gamma variables G.

    `shape` holds the shape of each G. The search begins at the mean of `x`, weighted by the shapes,
    which is returned if the quantile is not above it.
    """
    total = float(shape.sum())
    mean = float(x @ shape) / total
    spread = float(np.sqrt(shape @ (x - mean) ** 2)) / total

    def excess(point: float) -> float:
        return _probability_below(x - point, shape) - q

    if excess(mean) >= 0:
        return mean
    near = mean
    far = mean + 2 * spread
    while far < 1 and excess(far) < 0:
        near = far
        far = far + (far - mean)
    return bracketed_root(excess, near, min(far, 1.0), xtol=1e-14, rtol=1e-12)


def _pooled(values: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Fewer values for the same bound: all but the largest, replaced by the means of neighbours.

    Up to `_MANY` values are returned as they are. Beyond, the `_KEPT` largest are kept, and the
    others are pooled in ascending order: a pool has the mean of its values, weighted by their
    shapes, and the sum of these shapes.
    """
    if values.size <= _MANY:
        return values, shape
    order = np.argsort(values, kind="stable")  # often a few sorted runs
    values = values[order]
    shape = shape[order]
    pooled_values = values.size - _KEPT
    pools = np.unique(np.linspace(0, pooled_values, _POOLS).astype(np.int64)[:-1])
    start = np.concatenate([pools, np.arange(pooled_values, values.size)])
    total = np.add.reduceat(shape, start)
    return np.add.reduceat(shape * values, start) / total, total


def _probability_below(distance: Floats, shape: Floats) -> float:
    """P(Σ G·d ≤ 0), for independent Gamma variables G and distances d, by numerical integration.

    `shape` holds the shape of each G. The mean of the sum must be at most 0. If no distance is
    positive, the probability is 1. Otherwise the moment generating function, divided by its
    argument, is integrated by the trapezoidal rule along a hyperbola through the saddlepoint.
    """
    largest = float(distance.max())
    if largest <= 0:
        return 1.0
    s = _saddlepoint(distance, shape, largest)
    ratio = distance / (1 - s * distance)
    scale = 1 / np.sqrt(float(shape @ ratio**2))
    skewness = scale**3 * float(shape @ ratio**3)
    t = np.arange(0, _REACH, _STEP)
    # A hyperbola that leans towards the longer tail: there all factors fall, and none turns fast.
    # Where the left tail is longer, one that leans to the right meets values beyond the largest
    # float.
    lean = min(max(skewness, -1.0), 1.0)
    step = scale * (lean * (np.cosh(t) - 1) + 1j * np.sinh(t))
    log_height = -float(shape @ np.log1p(-s * distance))
    log_ratio = -np.log1p(-np.multiply.outer(step, ratio)) @ shape
    slope = scale * (lean * np.sinh(t) + 1j * np.cosh(t))
    terms = (np.exp(log_height + log_ratio) / (s + step) * slope).imag
    return 1 - float(terms.sum() - terms[0] / 2) * _STEP / np.pi


def _saddlepoint(distance: Floats, shape: Floats, largest: float) -> float:
    """The s between 0 and 1 / `largest` at which Σ a·d / (1 − s·d) is zero.

    `distance` holds d, `shape` holds a, and `largest` is the largest d, which is positive. The sum
    is the derivative of the log of the moment generating function of Σ G·d, with G Gamma variables
    of shape a. Newton's steps that leave the enclosing interval are replaced by its middle.
    """
    low = 0.0
    high = 1 / largest
    s = high / 2
    for _ in range(_ROUNDS):
        ratio = distance / (1 - s * distance)
        slope = float(shape @ ratio)
        if slope < 0:
            low = s
        else:
            high = s
        new = s - slope / float(shape @ ratio**2)
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - s) <= 1e-6 * new:
            break
        s = new
    return s
