"""Prediction intervals as events: whether the outcome is inside."""

import numpy as np

from trueness._input.arguments import checked_fraction, is_real
from trueness._input.numbers import numbers, probabilities, refuse
from trueness._level import level_percent
from trueness._tally.clusters import codes_of
from trueness._tally.events import Events
from trueness.typing import ArrayLike, Bools, Floats


def interval(
    y: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    coverage: float | ArrayLike = 0.9,
    cluster: ArrayLike | None = None,
) -> Events:
    r"""Prediction intervals: the statement is that the outcome lies between the ends.

    Parameters
    ----------
    y : array-like of shape (n,)
        The outcomes.
    lower, upper : array-like of shape (n,)
        The ends of the intervals, which belong to them; an end may be infinite.
    coverage : float or array-like of shape (n,), default 0.9
        The stated probability that the outcome is inside, for all rows or for each.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.

    Returns
    -------
    Events
        In place of labels and scores. `below` and `above` are the shares of outcomes outside on
        each side; `mean_width` and `interval_score` stand beside coverage, which endless intervals
        would win.

    Notes
    -----
    The interval score of a row is

    .. math:: (u - l) + \frac{2}{1 - g} (l - y)_+ + \frac{2}{1 - g} (y - u)_+

    at the coverage :math:`g`; its mean is smallest for the true central interval (Gneiting and
    Raftery 2007).

    Outcomes with few distinct values, such as counts, rarely allow a coverage of exactly the stated
    one: the smallest interval that covers 90 % covers more.

    References
    ----------
    T. Gneiting, A. E. Raftery, Strictly proper scoring rules, prediction, and estimation, Journal
    of the American Statistical Association 102 (2007).

    Examples
    --------
    >>> import trueness as tn
    >>> events = tn.events.interval([1, 2, 9], [0, 0, 0], [4, 4, 4], coverage=0.8)
    >>> events.event.tolist(), events.above
    ([1, 1, 0], 0.3333333333333333)
    """
    outcome = numbers(y, "y")
    n = outcome.size
    low = numbers(lower, "lower", n)
    high = numbers(upper, "upper", n)
    refuse("lower", "must lie at or below `upper`", low > high, low)
    refuse("lower", "must lie below infinity", low == np.inf, low)
    refuse("upper", "must lie above minus infinity", high == -np.inf, high)
    refuse("y", "must be finite", np.isinf(outcome), outcome)
    stated, level = _stated(coverage, n)
    words, levels = "intervals", None
    if level is not None:
        words, levels = f"{level_percent(level)} intervals", np.array([level])
    below = outcome < low
    above = outcome > high
    return Events(
        kind="interval",
        event=(~(below | above)).astype(np.uint8),
        p=stated,
        weight=None,
        cluster=codes_of(cluster, n),
        words=words,
        n_input=n,
        levels=levels,
        below=float(below.mean()),
        above=float(above.mean()),
        mean_width=float((high - low).mean()),
        interval_score=_interval_score(outcome, low, high, stated, below, above),
    )


def _stated(coverage: float | ArrayLike, n: int) -> tuple[Floats, float | None]:
    """The coverage of each row, and the level if all have the same."""
    if is_real(coverage):
        level = checked_fraction(coverage, "coverage")
        return np.full(n, level), level
    stated = probabilities(coverage, "coverage", n)
    refuse("coverage", "must lie strictly between 0 and 1", (stated == 0) | (stated == 1), stated)
    if (stated == stated[0]).all():
        return stated, float(stated[0])
    return stated, None


def _interval_score(
    y: Floats, low: Floats, high: Floats, stated: Floats, below: Bools, above: Bools
) -> float:
    """The mean interval score: the width, and 2 / (1 − stated) times the distance of each miss."""
    penalty = 2 / (1 - stated)
    missed = np.zeros(y.size)
    missed[below] = (low - y)[below]
    missed[above] = (y - high)[above]
    return float((high - low + penalty * missed).mean())
