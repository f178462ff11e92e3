"""Restricted cubic splines, and logistic regression on them."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from trueness.typing import Bools, Floats, Numbers

PERCENTILES = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
    6: (0.05, 0.23, 0.41, 0.59, 0.77, 0.95),
    7: (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975),
}
"""Harrell's percentiles for each number of knots."""

_MOST_STEPS = 60
_MOST_HALVINGS = 30
# Newton's method has converged when no log-odds move by more than this, relative to their size:
# then the error of the next step is about the square of it.
_CONVERGED = 1e-7
# The estimate is infinite in directions of smaller curvature, relative to the largest, than this.
_FLAT = 1e-14
# Columns that differ by less, relative to their size, are linearly dependent; rates that differ by
# less are equal.
_DEPENDENT = 1e-10
_EQUAL = 1e-12
# Log-odds that are computed at a time.
_BLOCK = 2**20


class SplineFit(NamedTuple):
    """A logistic regression on a restricted cubic spline."""

    knots: Floats
    """The knots; empty for a straight line or a constant."""
    coefficients: Floats
    """Maximum-likelihood coefficients of the columns of :meth:`columns`."""
    root: Floats
    """A square root of the inverse of the Fisher information, which is the covariance of the
    coefficients for independent rows: in the columns times this root, the information is the
    identity."""

    def columns(self, x: Floats) -> Floats:
        """The basis at `x`, of shape (m, number of coefficients)."""
        return spline_basis(x, self.knots)[:, : self.coefficients.size]

    def probability(self, x: Floats) -> Floats:
        return np.asarray(expit(self.columns(x) @ self.coefficients))


def spline_basis(x: Floats, knots: Floats) -> Floats:
    r"""Columns 1, x and k − 2 restricted cubic splines with k knots; 1 and x without knots.

    The splines are cubic between the knots :math:`t_1 < \dots < t_k` and straight beyond them,

    .. math:: s_j(x) = \Big( (x - t_j)_+^3 - (x - t_{k-1})_+^3 \frac{t_k - t_j}{t_k - t_{k-1}}
              + (x - t_k)_+^3 \frac{t_{k-1} - t_j}{t_k - t_{k-1}} \Big) \Big/ (t_k - t_1)^2 .
    """
    columns = np.empty((x.size, max(2, knots.size)), order="F")
    columns[:, 0] = 1
    columns[:, 1] = x
    if knots.size > 2:
        *inner, before, last = (float(t) for t in knots)
        beyond = _cubes(x, last)
        ahead = _cubes(x, before)
        scale = (last - float(knots[0])) ** 2
        for j, knot in enumerate(inner):
            ends = ((before - knot) * beyond - (last - knot) * ahead) / (last - before)
            columns[:, j + 2] = (_cubes(x, knot) + ends) / scale
    return columns


def _cubes(x: Floats, knot: float) -> Floats:
    over = np.maximum(x - knot, 0)
    return np.asarray(over * over * over)


def fit_spline(
    x: Floats, weight: Numbers, events: Numbers, knots: Iterable[Floats]
) -> SplineFit | None:
    """The maximum-likelihood fit of events on a spline of ascending log-odds `x`, in cells.

    The log-odds are distinct.

    It uses the first of the given sets of knots with a finite estimate: the spline must not
    separate the labels, nor have more coefficients than there are log-odds. If there is none it is
    a straight line, and None if a straight line has no finite estimate either. The fit at a single
    `x` is its event rate.
    """
    for candidate in _candidates(x, knots):
        columns = _columns(x, candidate)
        (coefficients,) = _maximum_likelihood(columns, x, weight, events[None, :])
        if not np.isnan(coefficients).any():
            _, _, v = _likelihood(columns @ coefficients)
            # The information has the square of this condition number: up to 1e15 for rare events.
            root = np.linalg.inv(np.linalg.qr(columns * np.sqrt(weight * v)[:, None]).R)
            return SplineFit(candidate, coefficients, root)
    return None


def fitted_probabilities(
    x: Floats, weight: Numbers, events: Numbers, knots: Iterable[Floats]
) -> Floats:
    """The fits of many sets of events of shape (draws, m), as :func:`fit_spline` chooses them.

    Nan if there is none.
    """
    fitted = np.full(events.shape, np.nan)
    waiting = np.arange(len(events))
    for candidate in _candidates(x, knots):
        columns = _columns(x, candidate)
        for rows in np.array_split(waiting, -(-waiting.size * x.size // _BLOCK)):
            fitted[rows] = expit(_maximum_likelihood(columns, x, weight, events[rows]) @ columns.T)
        waiting = waiting[np.isnan(fitted[waiting, 0])]
        if not waiting.size:
            break
    return fitted


def _candidates(x: Floats, knots: Iterable[Floats]) -> Iterator[Floats]:
    return chain((k for k in knots if 2 < k.size <= x.size), [x[:0]])


def _columns(x: Floats, knots: Floats) -> Floats:
    return spline_basis(x, knots)[:, : min(2, x.size) if not knots.size else None]


def _maximum_likelihood(columns: Floats, x: Floats, weight: Numbers, events: Numbers) -> Floats:
    """Coefficients for each set of events, of shape (draws, k); nan where they are not finite.

    Newton's method with step halving on columns that are orthonormal for the weights.
    """
    total = float(weight.sum())
    w = weight / total
    e = events / total
    Q, R = np.linalg.qr(columns * np.sqrt(w)[:, None])
    coefficients = np.full((len(e), R.shape[0]), np.nan)
    if (np.abs(np.diag(R)) <= _DEPENDENT * np.linalg.norm(R, axis=0)).any():
        return coefficients
    Q = Q / np.sqrt(w)[:, None]
    rate = e.sum(axis=1)
    active = np.flatnonzero((rate > _EQUAL) & (rate < 1 - _EQUAL))
    if active.size:
        theta, finite = _newton(Q, w, e[active], _start(Q, x, w, e[active]))
        coefficients[active[finite]] = np.linalg.solve(R, theta[finite].T).T
    return coefficients


def _start(Q: Floats, x: Floats, w: Floats, e: Floats) -> Floats:
    """The log-odds themselves or those of the rate, whichever are more likely.

    As coefficients of Q.
    """
    rate = e.sum(axis=1)
    log_rate = np.log(rate)
    log_rest = np.log1p(-rate)
    loss_of_rate = -(rate * log_rate + (1 - rate) * log_rest)
    loss_of_scores = _likelihood(x)[0] @ w - e @ x
    are_scores_better = loss_of_rate > loss_of_scores
    as_they_are = Q.T @ (w * x)
    constant = (log_rate - log_rest)[:, None] * (Q.T @ w)
    return np.where(are_scores_better[:, None], as_they_are, constant)


def _newton(Q: Floats, w: Floats, e: Floats, theta: Floats) -> tuple[Floats, Bools]:
    """Coefficients of Q for each set of events, and whether they are finite."""
    k = Q.shape[1]
    products = (Q[:, :, None] * Q[:, None, :]).reshape(-1, k * k)
    finite = np.zeros(len(e), np.bool_)
    active = np.arange(len(e))
    eta = theta @ Q.T
    entropy, q, v = _likelihood(eta)
    loss = entropy @ w - (e * eta).sum(axis=1)
    for _ in range(_MOST_STEPS):
        values, vectors = np.linalg.eigh(((v * w) @ products).reshape(-1, k, k))
        curved = values[:, 0] > _FLAT * values[:, -1]
        if not curved.all():
            active = active[curved]
            eta, q, v, loss = (array[curved] for array in (eta, q, v, loss))
            values = values[curved]
            vectors = vectors[curved]
        gradient = (e[active] - w * q) @ Q
        step = np.einsum("dij,dj->di", vectors, np.einsum("dji,dj->di", vectors, gradient) / values)
        change = step @ Q.T
        size = np.ones(active.size)
        for _ in range(_MOST_HALVINGS):
            entropy, q, v = _likelihood(eta + size[:, None] * change)
            trial = entropy @ w - (e[active] * (eta + size[:, None] * change)).sum(axis=1)
            # Near the maximum the likelihood is too flat to compare; Newton's step is still
            # accurate.
            worse = trial > loss + 1e-13
            if not worse.any():
                break
            size[worse] /= 2
        theta[active] += size[:, None] * step
        eta = eta + size[:, None] * change
        loss = trial
        moved = np.abs(change).max(axis=1, initial=0) > _CONVERGED * (
            1 + np.abs(eta).max(axis=1, initial=0)
        )
        finite[active[~moved]] = True
        active = active[moved]
        eta, q, v, loss = (array[moved] for array in (eta, q, v, loss))
        if not active.size:
            break
    return theta, finite


def _likelihood(eta: Floats) -> tuple[Floats, Floats, Floats]:
    """log(1 + exp η), the probability and its derivative."""
    decay = np.exp(-np.abs(eta))
    above = 1 / (1 + decay)
    return (
        np.maximum(eta, 0) + np.log1p(decay),
        np.where(eta >= 0, 1.0, decay) * above,
        decay * above * above,
    )
