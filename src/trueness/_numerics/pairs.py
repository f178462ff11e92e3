r"""Means over pairs of rows in a bin, from sums: the debiased squared error T and its variance.

A row has the residual :math:`U = Y - z`: the indicators of the k classes under study minus their
scores. Rows with equal scores form a cell: `z` of shape (m, k), `count` (m,) rows, of which `hits`
(m, k) had the j-th class; the remaining rows had none of the k. Bins are runs of cells that begin
at `first`.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from trueness import _kernels
from trueness._numerics.runs import whole_runs
from trueness.typing import Floats, Ints, Numbers

_ENTRIES = 1 << 15  # numbers of a temporary array, so that it stays in the processor's cache
_TRUSTED = 5  # rows of a bin from which its own covariance is used


def pair_mean(n: Numbers, s: Floats, q: Floats) -> Floats:
    r"""The debiased squared error, :math:`T = n^{-1} \sum_{N \ge 2} (\|S\|^2 - Q) / (N - 1)`.

    From N, the rows of each bin, of shape (..., B), S = ΣU of shape (..., B, k) and Q = Σ‖U‖² of
    shape (..., B).
    """
    inner = np.einsum("...j,...j->...", s, s) - q
    return np.asarray(
        np.where(n >= 2, inner / np.maximum(n - 1, 1), 0.0).sum(axis=-1) / n.sum(axis=-1)
    )


@dataclass(frozen=True)
class PairSums:
    """Sums of the residuals U, per bin and in total, that determine T and its variance.

    No k × k matrix is kept per bin: of ΣUUᵀ only its value along S is needed.
    """

    n: Numbers
    """Rows of each bin, N; none is empty."""
    s: Floats
    """ΣU, of shape (B, k)."""
    q: Floats
    """Σ‖U‖²."""
    along: Floats
    """Σ (U·S)²."""
    outer: Floats
    """ΣUUᵀ over all rows, of shape (k, k)."""
    paired: Floats
    """ΣUUᵀ/(N − 1) over the rows that are not alone in their bin."""

    @property
    def total(self) -> float:
        return float(self.n.sum())

    @property
    def statistic(self) -> float:
        """T, the debiased squared error."""
        return float(pair_mean(self.n, self.s, self.q))

    @property
    def matrix(self) -> Floats:
        """The k × k matrix whose trace is T: means over pairs of the products U Uᵀ."""
        pairs = self.n >= 2
        s = self.s[pairs]
        return np.asarray((s.T @ (s / (self.n[pairs] - 1)[:, None]) - self.paired) / self.total)

    @property
    def _share(self) -> Floats:
        return np.asarray(self.n / self.total)

    @property
    def _square(self) -> Floats:
        """‖Ū‖² of each bin."""
        return np.asarray((self.s**2).sum(axis=1) / self.n**2.0)

    @property
    def variance(self) -> float:
        r"""Estimated variance of √n T away from zero.

        .. math:: \hat\sigma_1^2 = \sum w \|\bar U\|^4 - \Big( \sum w \|\bar U\|^2 \Big)^2
            + 4 \sum w \, \bar U^\top \hat C \bar U ,

        w = N/n, over all bins, with the covariance of divisor N (zero in bins of one row). About
        twice the true variance where that is near zero; cut at zero, since rounding can make it
        negative.
        """
        w = self._share
        square = self._square
        within = self.along / self.n**3.0 - square**2
        return max(0.0, float(w @ square**2 - (w @ square) ** 2 + 4 * (w @ within)))

    def noise(self, implied: Floats) -> float:
        """R₁: the variance of a row along the error.

        At least the largest over all directions without error.

        `implied` is Σ SᵀCS of each bin, with C the covariance implied by the scores, used for bins
        of fewer than 5 rows.
        """
        n = self.n.astype(np.float64)
        is_small = n < _TRUSTED
        with np.errstate(divide="ignore", invalid="ignore"):
            unbiased = (self.along / n**3 - self._square**2) * n / (n - 1)
        along = np.where(is_small, implied / n**3, unbiased)
        weight = n @ self._square
        mean = float(n @ along / weight) if weight > 0 else 0.0
        largest = float(np.linalg.eigvalsh(self.outer / self.total - self.matrix)[-1])
        return max(mean, largest, 0.0)

    @property
    def unevenness(self) -> float:
        """R₂: how unevenly the squared error ‖Ū‖² is spread over bins; Ū is a bin's mean residual.

        The variance over rows divided by the square of the mean. 0 without any error.
        """
        w = self._share
        square = self._square
        mean = float(w @ square)
        # Divided first: the square of a mean below 1e-162 is 0.
        if mean > 0:
            return max(0.0, float(w @ (square / mean) ** 2) - 1)
        return 0.0


def pair_sums(z: Floats, count: Numbers, hits: Numbers, first: Ints) -> PairSums:
    """Sum the residuals U = Y − z of all rows, per bin and in total.

    Y has a 1 for the class of the row, among the k classes under study, and otherwise 0. `z`, of
    shape (m, k), holds the distinct scores; `count` the rows with each, and `hits` how many of
    these had each class. Bins begin at the cells `first`. Work is done in pieces of whole bins that
    fit the cache.
    """
    k = z.shape[1]
    runs = whole_runs(first, len(z), max(1, _ENTRIES // k))
    n, s, q, along = (
        np.concatenate(column)
        for column in zip(
            *(_bin_sums(z[part], count[part], hits[part], starts) for part, _, starts in runs),
            strict=True,
        )
    )
    share = np.where(n >= 2, 1 / np.maximum(n - 1, 1), 0)
    outer, paired = np.zeros((2, k, k))
    for part, bins, starts in runs:
        of_cell = np.repeat(share[bins], np.diff(np.append(starts, part.stop - part.start)))
        outer += _outer(z[part], count[part], hits[part])
        paired += _outer(z[part], count[part] * of_cell, hits[part] * of_cell[:, None])
    return PairSums(n, s, q, along, outer, paired)


def score_pair_sums(
    p: Floats, count: Ints, hits: Ints, first: Ints
) -> tuple[PairSums, float, Floats]:
    """The sums of residuals of one score per row, and the variance of T if it is calibrated.

    `p` are the distinct scores, ascending, `count` the rows with each, `hits` those with an event,
    and `first` the cells at which bins begin. T is the debiased squared error; its variance is that
    under labels drawn from the scores. The third result is Σ SᵀCS of each bin, with S the sum of
    its residuals and C the covariance of a label that the scores imply. All come from one pass.
    """
    n, _, _, s, q, v, squares = _kernels.residual_sums(p, count, hits, first)
    share = np.where(n >= 2, 1 / np.maximum(n - 1, 1), 0)
    sums = PairSums(
        n, s[:, None], q, s**2 * q, np.array([[q.sum()]]), np.array([[(q * share).sum()]])
    )
    return sums, _null_variance(n, v**2, squares), s**2 * v


def _bin_sums(
    z: Floats, count: Numbers, hits: Numbers, first: Ints
) -> tuple[Numbers, Floats, Floats, Floats]:
    """N, ΣU, Σ‖U‖² and Σ (U·S)² of each bin: S is ΣU, and U = Y − z the residual of a row.

    Row by row they need no more than the cells: `z` the scores, `count` their rows, `hits` the rows
    of each class. Bins begin at the cells `first`.
    """
    n = np.add.reduceat(count, first)
    s = np.add.reduceat(hits - count[:, None] * z, first, axis=0)
    # ‖e_j − z‖² = ‖z‖² + 1 − 2 z_j
    q = np.add.reduceat(count * _inner(z, z) + _inner(hits, 1 - 2 * z), first)
    of_cell = np.repeat(s, np.diff(np.append(first, len(z))), axis=0)
    level = _inner(of_cell, z)
    # A row of the j-th class contributes (S_j − level)², one of none of the k classes level².
    squares = _inner(hits, of_cell * (of_cell - 2 * level[:, None])) + count * level**2
    return n, s, q, np.add.reduceat(squares, first)


def _inner(a: Numbers, b: Floats) -> Floats:
    """Products of the rows; einsum because a sum over a short last axis is slow."""
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _outer(z: Floats, count: Numbers, hits: Numbers) -> Floats:
    """ΣUUᵀ: a row of class j has (e_j − z)(e_j − z)ᵀ, one of another class has z zᵀ."""
    cross = hits.T @ z
    return np.asarray(np.diag(hits.sum(axis=0)) - cross - cross.T + (count[:, None] * z).T @ z)


def null_moments(z: Floats, count: Numbers, first: Ints, s: Floats) -> tuple[float, Floats]:
    r"""The variance of T under calibration, given the scores, and Σ SᵀCS of each bin's S.

    The exact variance of T, whose mean is zero, when labels are drawn from the scores:
    :math:`n^{-2} \sum_b 2 (N-1)^{-2} ( \|\sum C\|_F^2 - \sum \|C\|_F^2 )` with
    :math:`C = \mathrm{diag}(z) - z z^\top`.
    """
    n = np.add.reduceat(count, first)
    joint, single, implied = np.empty((3, len(first)))
    for part, bins, starts in whole_runs(first, len(z), max(1, _ENTRIES // z.shape[1] ** 2)):
        summed = _covariances(z[part], count[part], starts)
        single[bins] = _square_norms(z[part], count[part], starts)
        joint[bins] = (summed**2).sum(axis=(1, 2))
        implied[bins] = np.einsum("bi,bij,bj->b", s[bins], summed, s[bins])
    return _null_variance(n, joint, single), implied


def _null_variance(n: Numbers, joint: Floats, single: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(n >= 2, 2 * (joint - single) / (n - 1.0) ** 2, 0)
    return max(0.0, float(terms.sum())) / float(n.sum()) ** 2


def _square_norms(z: Floats, count: Numbers, first: Ints) -> Floats:
    """Σ count ‖diag(z) − z zᵀ‖² of each bin."""
    square = z * z
    norms = _inner(z, z)
    return np.asarray(
        np.add.reduceat(count * (norms - 2 * _inner(square, z) + norms * norms), first)
    )


def _covariances(z: Floats, count: Numbers, first: Ints) -> Floats:
    """Σ count (diag(z) − z zᵀ) of each bin, of shape (B, k, k)."""
    k = z.shape[1]
    weighted = count[:, None] * z
    if len(first) == 1:
        products = (weighted.T @ z)[None]
    else:
        products = np.add.reduceat(weighted[:, :, None] * z[:, None, :], first, axis=0)
    sums = -products
    sums[:, np.arange(k), np.arange(k)] += np.add.reduceat(weighted, first, axis=0)
    return np.asarray(sums)


Support: TypeAlias = Literal["published", "reachable"]


def null_variance(classes: int | None, k: int = 1, support: Support = "published") -> float:
    r"""Limit variance of n √w T for a calibrated model, with all cells (volume w) occupied.

    `classes` is K, or None for a vector of P(positive) on [0, 1]; `k` the number of largest scores
    that are used, for k = K all of them in class order. `support` is the domain of the integral
    when 1 < k < K: the set printed in the paper, or the smaller one that the k largest of K
    probabilities can reach.

    For the k scores :math:`z`,

    .. math:: \sigma_0^2 = 2 \int_\Delta \left( \|z\|_2^2 - 2 \|z\|_3^3 + \|z\|_2^4 \right) dz ,

    the integrand being the squared Frobenius norm of the covariance :math:`\mathrm{diag}(z) - z
    z^\top` of a calibrated label. The published domain is :math:`z_1 \ge \dots \ge z_k \ge 0,\ k/K
    \le \sum z \le 1`; reachable are those that also satisfy :math:`\sum z + (K - k) z_k \ge 1`, a
    simplex with the corners :math:`e_1, (e_1 + e_2)/2, \dots` and :math:`(1/K, \dots, 1/K)`. Both
    are the same for k = 1.

    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration
    error", 2025.

    >>> round(1 / null_variance(None), 9), round(1 / null_variance(2), 9)
    (15.0, 30.0)
    """
    return math.exp(log_null_variance(classes, k, support))


def log_null_variance(classes: int | None, k: int = 1, support: Support = "published") -> float:
    """Logarithm of :func:`null_variance`: the limit variance of n √w T for a calibrated model.

    For k so large that the variance itself underflows. `classes` is the number K of classes, or
    None for one probability on [0, 1]; `k` is the number of largest scores in use; `support`
    chooses the domain of the integral if 1 < k < K.
    """
    if classes is None:
        return -math.log(15)
    if k == classes:
        return math.log(4 * (k - 1) / ((k + 1) * (k + 3))) - math.lgamma(k)
    if support == "published" or k == 1:
        return (
            math.log(2 * _published_integral(k, k / classes)) - math.lgamma(k + 1) - math.lgamma(k)
        )
    return (
        math.log(2 * _reachable_mean(classes, k))
        + math.log1p(-k / classes)
        - 2 * math.lgamma(k + 1)
    )


def _published_integral(k: int, c: float) -> float:
    """k!(k−1)! times the integral of the shares' moments, over the sum of scores from c to 1."""
    second, third, fourth = (-math.expm1((k + power) * math.log(c)) for power in (2, 3, 4))
    divisor = (k + 1) * (k + 2)
    return (2 * second - (12 * third - (4 * k + 20) * fourth / (k + 4)) / (k + 3)) / divisor


def _reachable_mean(classes: int, k: int) -> float:
    """Mean of the integrand over the reachable simplex.

    There z = ΣW_j v_j with W uniform on the shares of k + 1 corners.

    A linear form c of uniform shares has the moments p! k! / (k + p)! h_p(c), with h_p the complete
    symmetric polynomial; that of two forms, each squared, is a coefficient of h_4 of their sum.
    """
    corners = np.triu(np.broadcast_to(1 / np.arange(1, k + 2), (k, k + 1)))
    corners[:, k] = 1 / classes
    a1, a2, a3 = ((corners**power).sum(axis=1) for power in (1, 2, 3))
    h2 = (a1**2 + a2) / 2
    h3 = (a1**3 + 3 * a1 * a2 + 2 * a3) / 6
    square = 2 * h2.sum() / ((k + 1) * (k + 2))
    cube = 6 * h3.sum() / ((k + 1) * (k + 2) * (k + 3))
    fourth = 4 * _both_squared(corners, a1, a2).sum() / ((k + 1) * (k + 2) * (k + 3) * (k + 4))
    return float(square - 2 * cube + fourth)


def _both_squared(forms: Floats, a1: Floats, a2: Floats) -> Floats:
    """The coefficient of s²t² in h_4(s·a + t·b), for every two rows a and b of `forms`.

    h_4 is the complete symmetric polynomial of degree 4. `a1` and `a2` hold the sums of the entries
    and of the squared entries of each row. The result is a matrix with one row and one column per
    form.
    """
    ab = forms @ forms.T
    abb = forms @ (forms**2).T
    aabb = forms**2 @ (forms**2).T
    first_squared = np.multiply.outer(a1, a1)
    two = np.multiply.outer(a1**2, a2)
    mixed = a1[:, None] * abb
    fourth = (
        6 * first_squared**2
        + 6 * (two + two.T + 4 * first_squared * ab)
        + 6 * np.multiply.outer(a2, a2)
        + 12 * ab**2
    )
    total: Floats = (fourth + 24 * (mixed + mixed.T) + 36 * aabb) / 24
    return total
