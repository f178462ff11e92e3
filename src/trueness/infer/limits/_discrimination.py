"""Confidence limits for the discrimination component of the CORP decomposition."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from trueness._tally.cells import Cells, pool_cells, segment_sums
from trueness._tally.rules import Isotonic
from trueness.infer.limits._row_means import MeanInterval
from trueness.typing import Floats

# Sets of labels that estimate how much an isotonic fit gains on its own rows.
_DRAWS = 39


def discrimination_interval(cells: Cells, value: float, level: float, rng: np.random.Generator) -> MeanInterval:
    r"""Confidence interval for the Brier score of the event rate minus that of the true recalibration.

    Parameters
    ----------
    cells : Cells
        Sums of independent rows per distinct score, with whole weights.
    value : float
        The discrimination of :func:`trueness.corp`.
    level : float
        Confidence level, two-sided.
    rng : numpy.random.Generator
        For redrawn labels.

    Notes
    -----
    The isotonic fit is judged on its own rows, so `value` is too high, by about as much as the fit to labels drawn from
    :math:`\hat p` gains over :math:`\hat p`. The lower limit subtracts that; the upper one does not, so that
    neither depends on the estimate of the bias being good. Both are Student's t limits of the mean of
    :math:`(\bar y - y_i)^2 - (\hat p_i - y_i)^2`. The event probability is assumed to rise with the score. In
    simulations at 95 % (16 scenarios, 250 data sets each) they cover 0.88 to 0.98 of the time with 100 rows, 0.95 to
    0.99 with 1,000.

    Examples
    --------
    >>> import trueness as tn
    >>> n, events = np.full(9, 40), np.array([2, 6, 11, 17, 19, 26, 28, 31, 37])
    >>> cells = Cells(np.arange(1, 10) / 10, n, n, events)
    >>> value = tn.corp(tn.Tally("binary", (cells,))).discrimination
    >>> low, high, _ = discrimination_interval(cells, value, 0.95, np.random.default_rng(0))
    >>> round(value, 3), round(low, 2), round(high, 2)
    (0.078, 0.05, 0.1)
    """
    cells = pool_cells(cells)
    fit = _isotonic(cells)
    total, events = float(cells.weight.sum()), float(cells.events.sum())
    rate = events / total
    freedom = total - fit.blocks
    if freedom <= 0 or rate in (0, 1):
        return MeanInterval(0.0, 0.25, math.nan)
    event, other = (1 - rate) ** 2 - (1 - fit.rate) ** 2, rate**2 - fit.rate**2
    e, o = cells.events, cells.weight - cells.events
    mean = float(e @ event + o @ other) / total
    error = math.sqrt(float(e @ (event - mean) ** 2 + o @ (other - mean) ** 2) / freedom / total)
    reach = float(stdtrit(freedom, (1 + level) / 2)) * error
    gains = [_gain(cells, fit.rate, rng) for _ in range(_DRAWS)]
    return MeanInterval(max(value - float(np.mean(gains)) - reach, 0.0), min(value + reach, 0.25), error)


class _Fit(NamedTuple):
    rate: Floats
    """The isotonic regression at each cell."""
    blocks: int


def _isotonic(cells: Cells) -> _Fit:
    first = Isotonic().group(cells).start[:-1]
    rate = segment_sums(cells.events, first) / segment_sums(cells.weight, first)
    return _Fit(np.repeat(rate, np.diff(np.append(first, cells.size))), first.size)


def _gain(cells: Cells, rate: Floats, rng: np.random.Generator) -> float:
    """By how much the isotonic fit to labels drawn from a rate beats that rate."""
    drawn = rng.binomial(cells.weight.astype(np.int64), rate)
    fitted = _isotonic(Cells(cells.score, cells.count, cells.weight, drawn)).rate
    event, other = (1 - rate) ** 2 - (1 - fitted) ** 2, rate**2 - fitted**2
    return float(drawn @ event + (cells.weight - drawn) @ other) / float(cells.weight.sum())
