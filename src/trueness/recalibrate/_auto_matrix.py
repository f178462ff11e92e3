"""Candidates for scores of several classes, and their mixture on the logarithms."""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from trueness._numerics.multinomial import log_softmax
from trueness._numerics.ridge_logistic import ridge_logistic
from trueness._numerics.softmax import inverse_temperature
from trueness.recalibrate._cross_fit import deal_rows, number_of_deals
from trueness.recalibrate._logit_shapes import LogScores
from trueness.recalibrate._mixture import (
    Gain,
    clustered_gain,
    design_effect,
    held_out_weights,
    mean_gain,
    mixture_weights,
)
from trueness.recalibrate._structured import Structure, StructuredFit, fit_structured
from trueness.typing import Bools, Floats, Ints

# With more classes than this, candidates with parameters for pairs of classes, or fitted class by class, are left out.
_MOST_CLASSES = 100
# With more entries than this, all but the temperature is learnt from some of the rows.
_MOST_ENTRIES = 5_000_000
_MAX_ITER = 100


class Rows(NamedTuple):
    """Log-probabilities (n, K), classes, and weights."""

    z: Floats
    y: Ints
    w: Floats

    def take(self, some: Bools) -> "Rows":
        """Some of the rows."""
        return Rows(self.z[some], self.y[some], self.w[some])


class Temperature(NamedTuple):
    """All logarithms times one number."""

    beta: Floats

    def __call__(self, z: Floats) -> Floats:
        return log_softmax(self.beta * z)


class OneVsRestBeta(NamedTuple):
    """Beta calibration of each class against all others, normalised; a row of coefficients per class."""

    theta: Floats

    def __call__(self, z: Floats) -> Floats:
        found = np.column_stack([LogScores().basis(own_log_odds(z, k)) @ self.theta[k] for k in range(z.shape[1])])
        return log_softmax(-np.logaddexp(0, -found))


class Affine(NamedTuple):
    """Log-odds that mix centred logarithms: a row of coefficients and a shift per class."""

    theta: Floats

    def __call__(self, z: Floats) -> Floats:
        fit = StructuredFit(1.0, self.theta[:, :-1], self.theta[:, -1], 0, True)
        return fit(z)


MatrixMap: TypeAlias = Temperature | OneVsRestBeta | Affine


def own_log_odds(z: Floats, k: int) -> Floats:
    """Log-odds of one class, from log-probabilities; those of classes that leave nothing to others are finite."""
    rest = np.exp(np.delete(z, k, axis=1)).sum(axis=1)
    return np.asarray(z[:, k] - np.log(np.maximum(rest, np.finfo(np.float64).tiny)))


def _temperature(rows: Rows) -> MatrixMap:
    return Temperature(np.array([inverse_temperature(rows.z, rows.y, rows.w, 1.0).value]))


def _one_vs_rest(rows: Rows) -> MatrixMap:
    shape = LogScores()
    theta = [
        ridge_logistic(
            shape.basis(own_log_odds(rows.z, k)),
            rows.w[None],
            (rows.w * (rows.y == k))[None],
            shape.identity,
            shape.ridge,
            shape.bounded,
        )[0]
        for k in range(rows.z.shape[1])
    ]
    return OneVsRestBeta(np.array(theta))


def _structured(structure: Structure) -> Callable[[Rows], MatrixMap]:
    def fit(rows: Rows) -> MatrixMap:
        found = fit_structured(rows.z, rows.y, rows.w, structure, 1.0, _MAX_ITER)
        return Affine(np.column_stack([found.matrix, found.intercept]))

    return fit


MAPS: dict[str, tuple[type[MatrixMap], Callable[[Rows], MatrixMap]]] = {
    "temperature scaling": (Temperature, _temperature),
    "structured vector scaling": (Affine, _structured("vector")),
    "structured matrix scaling": (Affine, _structured("matrix")),
    "beta calibration of each class": (OneVsRestBeta, _one_vs_rest),
}
"""The type of each candidate, and how it is fitted."""


def candidate_names(k: int) -> list[str]:
    """The candidates for that number of classes."""
    return list(MAPS) if k <= _MOST_CLASSES else ["temperature scaling", "structured vector scaling"]


class MatrixChoice(NamedTuple):
    """The candidates, their weights in the map, and what the map gains."""

    maps: dict[str, MatrixMap]
    weights: Floats
    gain: Gain
    brier_gain: Gain


def fit_matrix(rows: Rows, cluster: Ints | None, number: int, level: float, rows_worth: float) -> MatrixChoice:
    """Fit the candidates on all rows and without each fold, and weigh them."""
    every = rows
    if rows.z.size > _MOST_ENTRIES:
        some = deal_rows(rows.z, rows.y, rows.w, cluster, math.ceil(rows.z.size / _MOST_ENTRIES), 1)[0] == 0
        rows, rows_worth = rows.take(some), rows_worth * float(rows.w[some].sum() / rows.w.sum())
        cluster = None if cluster is None else np.unique(cluster[some], return_inverse=True)[1]
    fits = {name: MAPS[name][1] for name in candidate_names(rows.z.shape[1])}
    maps = {name: fit(every if name == "temperature scaling" else rows) for name, fit in fits.items()}
    if number < 2:  # nothing can be held out
        nothing = Gain(0.0, -np.inf, np.inf)
        return MatrixChoice(maps, mixture_weights(np.zeros(1 + len(maps))), nothing, nothing)
    deals = [
        _held_out(rows, fits, fold)
        for fold in deal_rows(rows.z, rows.y, rows.w, cluster, number, number_of_deals(rows_worth))
    ]
    loss = np.stack([one.loss for one in deals], axis=1)
    best = 1 + int(loss[1:].sum(axis=(1, 2)).argmin())
    effect = 1.0 if cluster is None else design_effect(deals[0].own[0] - deals[0].own[best], rows.w, cluster)
    weights = held_out_weights(loss, effect)
    differences = np.mean([one.differences(rows.y, weights[:, i]) for i, one in enumerate(deals)], axis=0)
    gains = [
        mean_gain(one, rows.w, level, rows_worth) if cluster is None else clustered_gain(one, rows.w, cluster, level)
        for one in differences
    ]
    return MatrixChoice(maps, mixture_weights(loss.sum(axis=2).mean(axis=1), effect), *gains)


class _Held(NamedTuple):
    """Rows that were held out, in one deal."""

    fold: Ints
    log: Floats
    """Log-probabilities: (candidates, n, K)."""
    own: Floats
    """Losses: (candidates, n)."""
    loss: Floats
    """Losses summed over the rows of a fold: (candidates, folds)."""

    def differences(self, y: Ints, weights: Floats) -> tuple[Floats, Floats]:
        """Log losses and Brier scores of the rows as they are, minus those of the mixture with these weights."""
        mixed = log_softmax(np.einsum("cn,cnk->nk", weights[:, self.fold], self.log))
        return self.own[0] + mixed[np.arange(y.size), y], _brier(self.log[0], y) - _brier(mixed, y)


def _held_out(rows: Rows, fits: dict[str, Callable[[Rows], MatrixMap]], fold: Ints) -> _Held:
    number = int(fold.max()) + 1
    log = np.empty((1 + len(fits), *rows.z.shape))
    log[0] = log_softmax(rows.z)
    for f in range(number):
        out = fold == f
        inside = rows.take(~out)
        if not inside.y.size:  # a cluster of all rows
            log[1:, out] = log[0, out]
            continue
        for i, fit in enumerate(fits.values()):
            log[i + 1, out] = fit(inside)(rows.z[out])
    own = -log[:, np.arange(rows.y.size), rows.y]
    loss = np.stack([np.bincount(fold, rows.w * one, number).astype(np.float64) for one in own])
    return _Held(fold, log, own, loss)


def _brier(log: Floats, y: Ints) -> Floats:
    """Squared errors summed over classes."""
    p = np.exp(log)
    p[np.arange(y.size), y] -= 1
    return np.asarray((p * p).sum(axis=1))


def mixed_log_probabilities(z: Floats, weights: Floats, maps: list[MatrixMap]) -> Floats:
    """The weighted mean of the logarithms, the scores as they are first."""
    total = weights[0] * log_softmax(z)
    for weight, one in zip(weights[1:], maps, strict=True):
        total += weight * one(z)
    return log_softmax(total)
