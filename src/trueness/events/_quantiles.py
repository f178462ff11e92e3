"""Quantile forecasts as events: whether the outcome is at most the quantile."""

from typing import Any

import numpy as np

from trueness._input.arguments import Seed, whole_seed
from trueness._input.columns import column, refuse_bad
from trueness._input.numbers import numbers, refuse, refuse_nan
from trueness._input.scores import numeric
from trueness._level import level_percent
from trueness._numerics.streams import stream
from trueness._tally.clusters import codes_of
from trueness._tally.events import Events
from trueness.errors import InputError
from trueness.typing import ArrayLike, Bools, Floats


def quantiles(
    y: ArrayLike,
    q: ArrayLike,
    *,
    levels: ArrayLike,
    cluster: ArrayLike | None = None,
    seed: Seed = 0,
) -> Events:
    r"""Quantile forecasts: at level :math:`\tau`, the outcome is at most the quantile.

    Parameters
    ----------
    y : array-like of shape (n,)
        The outcomes.
    q : array-like of shape (n, L)
        The forecast quantiles of each row, a column per level.
    levels : array-like of shape (L,)
        The levels of the columns, ascending, between 0 and 1.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other. By default each
        row is one cluster of L events.
    seed : int or numpy.random.Generator, default 0
        For outcomes that equal a quantile: see Notes.

    Returns
    -------
    Events
        L events per row, in place of labels and scores. ``calibration_test(events,
        method="quantiles")`` tests all levels jointly.

    Notes
    -----
    Outcomes that equal a quantile are what happens with counts and other discrete outcomes. The
    share of outcomes at most the quantile should then be at least the level, and the share below it
    (`strictly_below`) at most. Between the two, equal outcomes are drawn to one side, so that the
    shares between successive levels are as near to what is stated as these limits allow; a note
    says so. Tests then reject forecasts that hold at most as often as they should, also where many
    levels have one quantile.

    Successive outcomes of a time series depend on each other, and so do forecasts for one origin at
    several horizons: pass `cluster`, such as the origin. Without it tests are too sure.

    Examples
    --------
    >>> import trueness as tn
    >>> events = tn.events.quantiles([1.5, 7.0], [[1, 2], [3, 4]], levels=[0.25, 0.75])
    >>> events.event.tolist(), events.p.tolist(), events.cluster.tolist()
    ([0, 1, 0, 0], [0.25, 0.75, 0.25, 0.75], [0, 0, 1, 1])
    """
    outcome = numbers(y, "y")
    refuse("y", "must be finite", np.isinf(outcome), outcome)
    n = outcome.size
    stated = numbers(levels, "levels")
    refuse("levels", "must lie strictly between 0 and 1", (stated <= 0) | (stated >= 1), stated)
    if (np.diff(stated) <= 0).any():
        remedy = "Sort them, and the columns of `q` with them."
        raise InputError("levels", "must ascend", f"got {stated.tolist()}", remedy=remedy)
    forecast = _matrix(q, n, stated.size)
    _refuse_crossings(forecast, stated)
    event, notes = _events(outcome, forecast, stated, whole_seed(seed))
    row = np.repeat(np.arange(n), stated.size)
    clusters = codes_of(cluster, n)
    return Events(
        kind="quantiles",
        event=event.astype(np.uint8).reshape(-1),
        p=np.tile(stated, n),
        weight=None,
        cluster=row if clusters is None else clusters[row],
        words=_words(stated),
        n_input=n,
        row=row,
        notes=notes,
        levels=stated,
        strictly_below=(outcome[:, np.newaxis] < forecast).mean(axis=0),
    )


def _words(levels: Floats) -> str:
    if levels.size == 1:
        return f"{level_percent(levels[0])} quantiles"
    return f"quantiles at {levels.size} levels"


def _matrix(q: ArrayLike, n: int, size: int) -> Floats:
    """The forecasts, a row per outcome and a column per level."""
    read = numeric(column(q, "q"), "q")
    values: Any = read.values
    if values.ndim == 1 and size == 1:
        values = values[:, np.newaxis]
    if values.ndim != 2 or values.shape != (n, size):
        demand = f"must have a row per outcome and a column per level, ({n:,}, {size})"
        remedy = "Transpose it: `q.T`." if values.shape == (size, n) else ""
        raise InputError("q", demand, f"got shape {values.shape}", remedy=remedy)
    forecasts: Floats = np.asarray(values, np.float64)
    refuse_nan(forecasts, "q", read.missing)
    return forecasts


def _refuse_crossings(q: Floats, levels: Floats) -> None:
    """Raise if a quantile is above that of a higher level."""
    crosses = q[:, 1:] < q[:, :-1]
    bad: Bools = np.asarray(crosses.any(axis=1))
    if not bad.any():
        return
    row = int(np.argmax(bad))
    place = int(np.argmax(crosses[row]))
    words = (
        f"rows do not, the first has {q[row, place]:.6g} at level {levels[place]:g} and "
        f"{q[row, place + 1]:.6g} at level {levels[place + 1]:g}"
    )
    remedy = "Sort the quantiles of each row: `np.sort(q, axis=1)`."
    refuse_bad("q", "must ascend in each row", bad, words, remedy=remedy)


def _events(y: Floats, q: Floats, levels: Floats, seed: int) -> tuple[Bools, tuple[str, ...]]:
    """Whether each outcome is at most each quantile, of shape (n, L), and a note if any is equal.

    An outcome that equals its quantile may count on either side. At each level, a share of the
    equal ones counts as at most the quantile: the share that takes all outcomes from `below` to
    the place between `below` and `upto` where differences between successive levels are nearest to
    the stated ones. One random number per row decides for all levels. In the end, rows are made
    monotone over the levels.
    """
    at_most = y[:, np.newaxis] <= q
    equal = y[:, np.newaxis] == q
    rows = int(equal.any(axis=1).sum())
    if rows == 0:
        return at_most, ()
    note = (
        f"{rows:,} of {y.size:,} outcomes equal a quantile and were drawn to one side of it: the "
        "share below it and the share of at most it say how much that leaves open."
    )
    below = (at_most & ~equal).mean(axis=0)
    upto = at_most.mean(axis=0)
    wanted = _straightest(levels, below, upto) - below
    share = np.divide(wanted, upto - below, out=np.ones(levels.size), where=upto > below)
    drawn = stream(seed, "ties").random(y.size)
    event = np.where(equal, drawn[:, np.newaxis] <= share, at_most)
    # An outcome that is at most one quantile is at most the next one, too.
    return np.logical_or.accumulate(event, axis=1), (note,)


def _straightest(levels: Floats, low: Floats, high: Floats) -> Floats:
    """Shares between `low` and `high` whose differences are nearest to those of the levels.

    Their distances from the levels are a string that is pulled tight between the limits. Were each
    share as near to its level as its own limits allow, the gap between a level that is reached and
    one that is not would have all the error of both, and forecasts that hold were rejected in .6 of
    samples.
    """
    x = np.concatenate([[0.0], levels, [1.0]])
    lowest = np.concatenate([[0.0], low - levels, [0.0]])
    highest = np.concatenate([[0.0], high - levels, [0.0]])
    corners = [0]
    heights = [0.0]
    while corners[-1] < x.size - 1:
        corner, height = _next_corner(x, lowest, highest, corners[-1], heights[-1])
        corners.append(corner)
        heights.append(height)
    distance = np.interp(levels, x[corners], heights)
    return np.asarray(np.clip(levels + distance, low, high))


def _next_corner(
    x: Floats, lowest: Floats, highest: Floats, start: int, height: float
) -> tuple[int, float]:
    """The next place where a string from `start` bends, or its end."""
    steepest, low_corner = np.inf, start
    flattest, high_corner = -np.inf, start
    for i in range(start + 1, x.size):
        up = (highest[i] - height) / (x[i] - x[start])
        down = (lowest[i] - height) / (x[i] - x[start])
        if down > steepest:
            return low_corner, float(highest[low_corner])
        if up < flattest:
            return high_corner, float(lowest[high_corner])
        if up <= steepest:
            steepest, low_corner = up, i
        if down >= flattest:
            flattest, high_corner = down, i
    return x.size - 1, 0.0
