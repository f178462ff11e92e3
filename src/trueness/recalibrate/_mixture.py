"""Weights of candidates from their cross-fitted losses, and the gain of their mixture."""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from trueness.typing import Floats, Ints

_IDENTITY_SHARE = 0.5


class Gain(NamedTuple):
    """By how much a loss falls, per row, with confidence limits."""

    value: float
    low: float
    high: float


def mixture_weights(loss: Floats, design_effect: float = 1.0) -> Floats:
    """Weights of candidates with these summed losses, of which the first leaves the scores alone.

    It has half of the weight to begin with.

    >>> mixture_weights(np.array([3.0, 3.0, 3.0])).round(6).tolist()
    [0.5, 0.25, 0.25]
    """
    prior = np.full(loss.size, (1 - _IDENTITY_SHARE) / (loss.size - 1))
    prior[0] = _IDENTITY_SHARE
    power = np.log(prior) - loss / design_effect
    weight = np.exp(power - power.max())
    return np.asarray(weight / weight.sum())


def held_out_weights(loss: Floats, design_effect: float = 1.0) -> Floats:
    """Weights for each fold from the losses in the other ones; arrays (candidates, deals, folds)."""
    others = loss.sum(axis=2, keepdims=True) - loss
    columns = others.reshape(loss.shape[0], -1).T
    return np.column_stack([mixture_weights(one, design_effect) for one in columns]).reshape(loss.shape)


def mean_gain(difference: Floats, weight: Floats, level: float, rows: float) -> Gain:
    """Mean of differences of independent rows, with limits by Student's t; `rows` is how many they are worth."""
    total = float(weight.sum())
    mean = float((weight * difference).sum()) / total
    if rows <= 1:
        return Gain(mean, -np.inf, np.inf)
    variance = float((weight * (difference - mean) ** 2).sum()) / total / (rows - 1)
    return _limits(mean, variance, rows - 1, level)


def clustered_gain(difference: Floats, weight: Floats, cluster: Ints, level: float) -> Gain:
    """The same for rows in clusters."""
    total = float(weight.sum())
    mean = float((weight * difference).sum()) / total
    sums = np.bincount(cluster, weight * (difference - mean))
    size = np.bincount(cluster, weight)
    effective = float(size.sum() ** 2 / (size @ size))
    if effective <= 1:
        return Gain(mean, -np.inf, np.inf)
    variance = float(sums @ sums) / total**2 * sums.size / (sums.size - 1)
    return _limits(mean, variance, effective - 1, level)


def design_effect(difference: Floats, weight: Floats, cluster: Ints) -> float:
    """How much clusters enlarge the variance of a mean; at least 1."""
    away = difference - float((weight * difference).sum()) / float(weight.sum())
    alone = float(((weight * away) ** 2).sum())
    together = np.bincount(cluster, weight * away)
    return max(1.0, float(together @ together) / alone) if alone > 0 else 1.0


def _limits(mean: float, variance: float, freedom: float, level: float) -> Gain:
    reach = float(stdtrit(freedom, (1 + level) / 2)) * variance**0.5
    return Gain(mean, mean - reach, mean + reach)
