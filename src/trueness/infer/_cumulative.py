"""Kolmogorov-Smirnov and Kuiper: how far labels run ahead of scores, cumulated over the scores."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueness._numerics.brownian import largest_distance_sf, range_sf
from trueness._tally.cells import Cells
from trueness.infer._finding import Ask, Finding, events_of, squared_weights, whole
from trueness.infer._null_draws import monte_carlo
from trueness.typing import Floats

__all__ = ["Path", "ks", "ks_and_kuiper", "kuiper"]


def ks(cells: Cells, ask: Ask) -> Finding:
    """The largest distance of the cumulated differences from 0."""
    return _found(cells, ask, _KS)


def kuiper(cells: Cells, ask: Ask) -> Finding:
    """The range of the cumulated differences."""
    return _found(cells, ask, _KUIPER)


class Path(NamedTuple):
    """How far the cumulated differences Σw(y − p) went, from 0 on; Σw² p(1 − p), and Σw."""

    high: float
    low: float
    variance: float
    total: float


def ks_and_kuiper(path: Path) -> tuple[Finding, Finding]:
    """Both tests, by their limiting distributions, of one path."""
    return _by_limit(_KS, path), _by_limit(_KUIPER, path)


class _Statistic(NamedTuple):
    of: Callable[[Any, Any], Any]
    survival: Callable[[float], Floats]
    what: str


_KS = _Statistic(lambda high, low: np.maximum(high, -low), largest_distance_sf, "largest distance from 0")
_KUIPER = _Statistic(lambda high, low: high - low, range_sf, "range")


def _found(cells: Cells, ask: Ask, statistic: _Statistic) -> Finding:
    total = float(cells.weight.sum())
    expected = cells.weight * cells.score

    def ends(events: Floats) -> tuple[Floats, Floats]:
        path = np.cumsum(events - expected, axis=1)
        # The path starts at 0.
        return np.maximum(path.max(axis=1), 0), np.minimum(path.min(axis=1), 0)

    if ask.resamples:
        observed, pvalue = monte_carlo(
            lambda events: statistic.of(*ends(events)) / total, whole(cells, "redrawing labels"), ask.resamples, ask.rng
        )
        assumed = (
            f"Rows are independent; the level is exact at any n: {ask.resamples:,} sets of labels were drawn "
            "from the scores."
        )
        return Finding(float(observed), float(pvalue), assumed, 1 / (ask.resamples + 1))
    (high,), (low,) = ends(events_of(cells))
    variance = float((squared_weights(cells) * cells.score * (1 - cells.score)).sum())
    return _by_limit(statistic, Path(float(high), float(low), variance, total))


def _by_limit(statistic: _Statistic, path: Path) -> Finding:
    observed = float(statistic.of(path.high, path.low) / path.total)
    spread = math.sqrt(path.variance) / path.total
    never = math.inf if observed > 0 else 0.0  # every score is 0 or 1
    scaled = observed / spread if spread > 0 else never
    assumed = (
        f"Rows are independent; the path is near Brownian motion, whose {statistic.what} gives the p-value: many rows, "
        f"none with much of the variance. Statistic / null deviation: {scaled:.4g}."
    )
    return Finding(observed, float(statistic.survival(scaled)), assumed)
