"""Finitely many scores with known rates: binned predictors, and outcomes for your own scores."""

import numpy as np

from trueness._input.arguments import Seed, generator
from trueness._keywords import suggests_keywords
from trueness.errors import InputError
from trueness.simulate import _simulated as base
from trueness.typing import ArrayLike, Floats


def binned(
    n: int, scores: ArrayLike, rates: ArrayLike, *, weights: ArrayLike | None = None, seed: Seed = None
) -> base.Simulated:
    """A binned predictor: each bin has one score and one known event rate.

    Parameters
    ----------
    n : int
        Number of rows.
    scores : array-like of shape (B,) or (B, K)
        The prediction of each bin: P(positive), or one probability per class.
    rates : array-like of the shape of `scores`
        The true rate of each bin. Bins with equal scores may differ; the truth given the score is then their mean.
    weights : array-like of shape (B,), optional
        Relative frequencies of the bins, in any unit; equal by default.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        All true errors are finite sums, for every kind and every k.

    References
    ----------
    Gupta, Ramdas. Distribution-free calibration guarantees for histogram binning without sample
    splitting. ICML 2021. The example below is its Example 1.

    Examples
    --------
    Nine predictions in ten are 0.1 too low, the others 0.2 too high.

    >>> from trueness import simulate
    >>> d = simulate.binned(1000, [0.2, 0.8], [0.3, 0.6], weights=[0.9, 0.1], seed=0)
    >>> round(d.true_ece("l1"), 4), round(d.true_ece("l2"), 4)
    (0.11, 0.114)
    """
    n = base.check_rows(n)
    rng = generator(seed)
    z, t = _pair(scores, rates, "scores", "rates")
    w = base.check_shares(weights, len(z), "weights")
    rows = rng.choice(len(z), n, p=w)
    truth = _truth_given_score(z, t, w)[rows]
    return base.Simulated(base.draw_labels(truth, rng), z[rows], truth, f"{len(z)} bins", base.Finite(z, t, w))


@suggests_keywords
def outcomes(y_prob: ArrayLike, truth: ArrayLike | None = None, *, seed: Seed = None) -> base.Simulated:
    """Random outcomes for your own scores.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, K)
        The scores, which are kept in their order.
    truth : array-like of the shape of `y_prob`, optional
        The true probability of the event, or of each class, in each row. By default the scores are calibrated: the
        outcomes that your model would see if it were perfectly calibrated.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        The population is the rows themselves, equally weighted. True errors are finite sums that pool rows with equal
        scores.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.outcomes([0.0, 0.5, 1.0], truth=[0.0, 0.2, 1.0], seed=0)
    >>> round(d.true_ece(), 6)
    0.1
    """
    rng = generator(seed)
    z = base.check_array(y_prob, "y_prob", dimensions=(1, 2))
    t = z.copy() if truth is None else _pair(y_prob, truth, "y_prob", "truth")[1]
    weight = np.full(len(z), 1 / len(z))
    name = f"given scores, {'calibrated' if truth is None else 'given truth'}"
    return base.Simulated(base.draw_labels(t, rng), z, t, name, base.Finite(z, t, weight))


def _pair(scores: ArrayLike, rates: ArrayLike, first: str, second: str) -> tuple[Floats, Floats]:
    z = base.check_array(scores, first, dimensions=(1, 2))
    t = base.check_array(rates, second, dimensions=(1, 2))
    if z.shape != t.shape:
        raise InputError(second, f"must have the shape of `{first}`, {z.shape}", f"got {t.shape}")
    return z, t


def _truth_given_score(z: Floats, t: Floats, w: Floats) -> Floats:
    """Truth given the score: the rate of the bin, or the mean rate of the bins with that score."""
    group, gaps, _ = base.pool_scores(z.reshape(len(z), -1), t.reshape(len(z), -1), w)
    shared = np.bincount(group)[group] > 1
    truth = t.copy()
    truth[shared] = np.clip(z + gaps[group].reshape(z.shape), 0.0, 1.0)[shared]
    return truth
