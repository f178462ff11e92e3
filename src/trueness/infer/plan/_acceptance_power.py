"""Power of the equivalence test: how many rows it takes to accept a calibrated model."""

import math
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.tally import Tally
from trueness.errors import collected_warnings
from trueness.infer.band._monotone_band import BandRuns
from trueness.infer.interval._score_interval import DefaultParts, upper_limit
from trueness.infer.limits._ece import bin_gaps
from trueness.infer.plan._score_law import ScoreLaw
from trueness.infer.test._equivalence import SHARE
from trueness.typing import Floats, Ints

Accepted: TypeAlias = Literal["l2", "ece", "band"]
# Sets of labels for each number of rows, or the first few if all or none of these are accepted.
_DRAWS: Final[dict[str, int]] = {"l2": 100, "ece": 100, "band": 40}
_FEW_DRAWS, _HIGH_POWER = 20, 0.9
_FACTOR = 1.1
_LEAST_ROWS, _FIRST, MOST_ROWS = 20, 2_000, 10**7
# The interval cuts n scores into n^0.65 cells (_FINE); the simulation keeps _PER_CELL scores for each of them.
_PER_CELL, _FINE = 4, 0.65
# If no score is shared by more rows than this, scores are taken to have a density.
_TIED = 0.02


def acceptance_size(
    law: ScoreLaw,
    criterion: Accepted,
    within: float,
    level: float,
    power: float,
    rng: np.random.Generator,
    step: Callable[[], None] = lambda: None,
) -> int | None:
    """Rows with which calibrated scores are accepted with probability `power`; None if there are too many.

    `step` is called after each number of rows that is tried: about ten times.
    """
    few = _FEW_DRAWS if power <= _HIGH_POWER else _DRAWS[criterion]

    def share(n: int) -> float:
        found = acceptance_power(law, criterion, within, n, 1 - level, rng, few)
        step()
        return found

    return rows_for(share, power, _FIRST, least=_LEAST_ROWS, times=4, draws=_DRAWS[criterion])


def rows_for(
    power_at: Callable[[int], float], power: float, first: float, *, least: int, times: int, draws: int
) -> int | None:
    """Rows with which a simulated power, which rises with their number, is `power`; None if there are too many.

    From the `first` number on, numbers are multiplied or divided by `times` until two have the power between them, and
    the interval is halved until they differ by 10 %. Near its target, the normal quantile of the power is about linear
    in log n.
    """
    target, n = float(ndtri(power)), max(first, float(least))
    seen: list[tuple[float, float]] = []

    def reached(n: float) -> bool:
        share = power_at(math.ceil(n))
        seen.append((math.log(n), float(ndtri(min(max(share, 0.5 / draws), 1 - 0.5 / draws)))))
        return share >= power

    if n <= MOST_ROWS and reached(n):
        while n > least and reached(max(n / times, least)):
            n = max(n / times, least)
        low, high = max(n / times, least), n
    else:
        while n < MOST_ROWS and not reached(min(times * n, MOST_ROWS)):
            n *= times
        if n >= MOST_ROWS:
            return None
        low, high = n, min(times * n, MOST_ROWS)
    while high > low * _FACTOR:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    # The nearest four smooth the noise of the simulation.
    near = sorted(seen, key=lambda point: abs(point[1] - target))[:4]
    x, z = np.array(near).T
    slope, intercept = np.polyfit(x, z, 1) if len(near) > 1 else (0.0, 0.0)
    # Equal powers have no slope but that of rounding.
    if np.ptp(z) > 0 and slope > 0:
        fitted = math.exp(min((target - intercept) / slope, 700.0))
        high = min(max(fitted, low / _FACTOR), high * _FACTOR)
    return math.ceil(high)


def acceptance_power(
    law: ScoreLaw,
    criterion: Accepted,
    within: float,
    n: int,
    alpha: float,
    rng: np.random.Generator,
    few: int = 0,
) -> float:
    """Simulated share of data sets of n calibrated rows that the equivalence test accepts.

    If all or none of the first `few` are accepted, there are no more.
    """
    score, count = _rows(law, n)
    kept, draws = 0, _DRAWS[criterion]
    with collected_warnings():
        for done in range(draws):
            if done == few > 0 and kept in (0, few):
                return kept / few
            cells = Cells(score, count, count, rng.binomial(count, score))
            kept += _keeps(cells, criterion, within, alpha)
    return kept / draws


def _keeps(cells: Cells, criterion: Accepted, within: float, alpha: float) -> bool:
    if criterion == "l2":
        return upper_limit(DefaultParts.of_cells(cells))(alpha) <= within**2
    if criterion == "band":
        return BandRuns(cells).share_within(within, alpha) >= SHARE - 1e-12
    return bin_gaps(Evidence.of_sums(Tally("binary", (cells,))), 10).high(alpha) <= within


def _rows(law: ScoreLaw, n: int) -> tuple[Floats, Ints]:
    """Scores at quantiles of the law, and the number of rows with each."""
    most = max(1024, math.ceil(_PER_CELL * n**_FINE))
    if law.share.max() > _TIED:
        return law.rows(n, most)
    m = min(n, most)
    middle = np.cumsum(law.share) - law.share / 2
    score = np.interp((np.arange(m) + 0.5) / m, middle, law.score)
    score, place = np.unique(score, return_inverse=True)
    return score, np.bincount(place, np.diff(np.arange(m + 1) * n // m)).astype(np.int64)
