"""How far the debiased squared error of a calibrated model spreads around zero, for scores that fill their space."""

import math
from typing import Literal, TypeAlias

import numpy as np

from trueness.typing import Floats

__all__ = ["Support", "log_null_variance", "null_variance"]

Support: TypeAlias = Literal["published", "reachable"]


def null_variance(classes: int | None, k: int = 1, support: Support = "published") -> float:
    r"""Limit variance of n √w T for a calibrated model, with cells of volume w that are all occupied.

    Parameters
    ----------
    classes : int or None
        K, the number of classes; None for a vector of P(positive) on [0, 1].
    k : int, default 1
        How many of the largest scores are looked at; for k = K all of them, in class order.
    support : {'published', 'reachable'}, default 'published'
        Over which scores the integral runs when 1 < k < K: the set that the paper prints, or the smaller
        one that the k largest of K probabilities can reach.

    Returns
    -------
    float
        σ₀².

    Notes
    -----
    With :math:`z` the k scores in question,

    .. math:: \sigma_0^2 = 2 \int_\Delta \left( \|z\|_2^2 - 2 \|z\|_3^3 + \|z\|_2^4 \right) dz ,

    the squared Frobenius norm of the covariance :math:`\mathrm{diag}(z) - z z^\top` of a calibrated label. The
    published domain is :math:`z_1 \ge \dots \ge z_k \ge 0,\ k/K \le \sum z \le 1`; reachable is what also has
    :math:`\sum z + (K - k) z_k \ge 1`, a simplex with the corners :math:`e_1, (e_1 + e_2)/2, \dots` and
    :math:`(1/K, \dots, 1/K)`. Both are the same for k = 1.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration error", 2025.

    Examples
    --------
    >>> round(1 / null_variance(None), 9), round(1 / null_variance(2), 9)
    (15.0, 30.0)
    """
    return math.exp(log_null_variance(classes, k, support))


def log_null_variance(classes: int | None, k: int = 1, support: Support = "published") -> float:
    """Logarithm of :func:`null_variance`, for k so large that the volume of the scores is below any float."""
    if classes is None:
        return -math.log(15)
    if k == classes:
        return math.log(4 * (k - 1) / ((k + 1) * (k + 3))) - math.lgamma(k)
    if support == "published" or k == 1:
        return math.log(2 * _published(k, k / classes)) - math.lgamma(k + 1) - math.lgamma(k)
    return math.log(2 * _reachable_mean(classes, k)) + math.log1p(-k / classes) - 2 * math.lgamma(k + 1)


def _published(k: int, c: float) -> float:
    """k!(k−1)! times the integral: that of the moments of the shares, over the sum of the scores from c to 1."""
    second, third, fourth = (-math.expm1((k + power) * math.log(c)) for power in (2, 3, 4))
    divisor = (k + 1) * (k + 2)
    return (2 * second - (12 * third - (4 * k + 20) * fourth / (k + 4)) / (k + 3)) / divisor


def _reachable_mean(classes: int, k: int) -> float:
    """Mean of the integrand over the reachable simplex: z = ΣW_j v_j with W uniform on the shares of k + 1 corners.

    A linear form c of uniform shares has the moments p! k! / (k + p)! h_p(c), with h_p the complete symmetric
    polynomial; that of two forms, each squared, is a coefficient of h_4 of their sum.
    """
    corners = np.triu(np.broadcast_to(1 / np.arange(1, k + 2), (k, k + 1)))
    corners[:, k] = 1 / classes
    a1, a2, a3 = ((corners**power).sum(axis=1) for power in (1, 2, 3))
    h2, h3 = (a1**2 + a2) / 2, (a1**3 + 3 * a1 * a2 + 2 * a3) / 6
    square = 2 * h2.sum() / ((k + 1) * (k + 2))
    cube = 6 * h3.sum() / ((k + 1) * (k + 2) * (k + 3))
    fourth = 4 * _both_squared(corners, a1, a2).sum() / ((k + 1) * (k + 2) * (k + 3) * (k + 4))
    return float(square - 2 * cube + fourth)


def _both_squared(forms: Floats, a1: Floats, a2: Floats) -> Floats:
    """The coefficient of s²t² in h_4(s·a + t·b), for every two forms a and b."""
    ab, abb, aabb = forms @ forms.T, forms @ (forms**2).T, forms**2 @ (forms**2).T
    one, two = np.multiply.outer(a1, a1), np.multiply.outer(a1**2, a2)
    mixed = a1[:, None] * abb
    fourth = 6 * one**2 + 6 * (two + two.T + 4 * one * ab) + 6 * np.multiply.outer(a2, a2) + 12 * ab**2
    total: Floats = (fourth + 24 * (mixed + mixed.T) + 36 * aabb) / 24
    return total
