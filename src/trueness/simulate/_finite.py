"""Scores that take finitely many values, each with a known rate."""

import numpy as np

from trueness.errors import InputError
from trueness.simulate._arguments import Seed, check_array, check_count, check_shares, generator
from trueness.simulate._population import Finite, pooled
from trueness.simulate._simulated import Simulated, categories
from trueness.typing import ArrayLike, Floats

__all__ = ["binned", "outcomes"]


def binned(
    n: int, scores: ArrayLike, rates: ArrayLike, *, weights: ArrayLike | None = None, seed: Seed = None
) -> Simulated:
    """
    A binned predictor: each bin has one score and one known rate of events.

    Parameters
    ----------
    n : int
        How many rows to draw.
    scores : array-like of shape (B,) or (B, K)
        What is predicted in each bin: P(positive), or one probability per class.
    rates : array-like of the shape of `scores`
        What is true in each bin. Bins with equal scores may differ; given the score, their mean is true.
    weights : array-like of shape (B,), optional
        How often each bin occurs, in any unit; equally often when not given.
    seed : int or numpy.random.Generator, optional
        Where the randomness comes from. The same seed gives the same bytes.

    Returns
    -------
    Simulated
        All its true errors are finite sums, for every kind and every k.

    References
    ----------
    Gupta, Ramdas. Distribution-free calibration guarantees for histogram binning without sample
    splitting. ICML 2021. The example below has the errors of its Example 1.

    Examples
    --------
    Off by 0.1 nine times in ten, and by 0.2 else.

    >>> from trueness import simulate
    >>> d = simulate.binned(1000, [0.3, 0.6], [0.4, 0.8], weights=[0.9, 0.1], seed=0)
    >>> round(d.true_ece("l1"), 4), round(d.true_ece("l2"), 4)
    (0.11, 0.114)
    """
    n = check_count(n, "n")
    rng = generator(seed)
    z, t = _pair(scores, rates, "scores", "rates")
    w = check_shares(weights, len(z), "weights")
    rows = rng.choice(len(z), n, p=w)
    truth = _given_score(z, t, w)[rows]
    return Simulated(categories(truth, rng), z[rows], truth, f"{len(z)} bins", Finite(z, t, w))


def outcomes(y_prob: ArrayLike, truth: ArrayLike | None = None, *, seed: Seed = None) -> Simulated:
    """
    Outcomes for scores that you have, with probabilities that you choose.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, K)
        The scores; they are kept, in their order.
    truth : array-like of the shape of `y_prob`, optional
        The probability of the event, or of each class, in each row. Without it the scores are
        calibrated: what your model would look like if its word were true.
    seed : int or numpy.random.Generator, optional
        Where the randomness comes from. The same seed gives the same bytes.

    Returns
    -------
    Simulated
        Its population is the rows themselves, each as often as the other. Its true errors are finite
        sums; they take rows with equal scores together.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.outcomes([0.0, 0.5, 1.0], truth=[0.0, 0.2, 1.0], seed=0)
    >>> round(d.true_ece(), 6)
    0.1
    """
    rng = generator(seed)
    z = check_array(y_prob, "y_prob", dimensions=(1, 2))
    t = z.copy() if truth is None else _pair(y_prob, truth, "y_prob", "truth")[1]
    weight = np.full(len(z), 1 / len(z))
    name = f"given scores, {'calibrated' if truth is None else 'given truth'}"
    return Simulated(categories(t, rng), z, t, name, Finite(z, t, weight))


def _pair(scores: ArrayLike, rates: ArrayLike, first: str, second: str) -> tuple[Floats, Floats]:
    z = check_array(scores, first, dimensions=(1, 2))
    t = check_array(rates, second, dimensions=(1, 2))
    if z.shape != t.shape:
        raise InputError(second, f"must have the shape of `{first}`, {z.shape}", f"got {t.shape}")
    return z, t


def _given_score(z: Floats, t: Floats, w: Floats) -> Floats:
    """Truth given the score alone: the rate of the bin, or the mean rate of the bins that share the score."""
    group, gaps, _ = pooled(z.reshape(len(z), -1), t.reshape(len(z), -1), w)
    shared = np.bincount(group)[group] > 1
    truth = t.copy()
    truth[shared] = np.clip(z + gaps[group].reshape(z.shape), 0.0, 1.0)[shared]
    return truth
