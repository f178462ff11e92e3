"""Bands around a binned reliability curve."""

from collections.abc import Callable
from typing import Literal, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._numerics.poisson_binomial import central_interval
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_binned, as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.measure._bin_table import bin_columns, effective_counts
from trueness.results import Bands
from trueness.typing import ArrayLike, Floats, RowOptions

__all__ = ["Band", "reliability_bands"]

Band: TypeAlias = Literal["pointwise", "simultaneous", "consistency", "simultaneous-consistency"]
_BANDS = ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")

_Ends: TypeAlias = tuple[Floats, Floats]


@takes_rows
def reliability_bands(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike = 10,
    level: float = 0.95,
    band: Band = "pointwise",
    **rows: Unpack[RowOptions],
) -> Bands:
    r"""Bands for a binned reliability curve: where each bin's rate may be, or would be if the scores were true.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`.
    bins : int, sequence of edges or bin rule, default 10
        As for :func:`trueness.ece`. Isotonic rules look at the labels and are refused: no band
        around such bins keeps its level.
    level : float, default 0.95
        Level of the band: of every bin alone, or of all bins together if it is simultaneous.
    band : {'pointwise', 'simultaneous', 'consistency', 'simultaneous-consistency'}, default 'pointwise'
        - 'pointwise': the exact interval of Clopper and Pearson for the rate of each bin.
        - 'simultaneous': the same, widened so that the rates of all bins lie in it together.
        - 'consistency': where the rate of each bin falls when the scores are the true
          probabilities. Drawn around the diagonal; a rate outside speaks against calibration.
        - 'simultaneous-consistency': where the rates of all bins then fall together. That some rate
          lies outside is a test of calibration at 1 − level.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    Bands
        One row per bin, empty bins included (nan). Its `outside` marks the bins that speak against calibration.

    Notes
    -----
    Everything is conditional on the scores; labels of different rows are independent.

    *Rate.* With k events among N rows, [low, high] holds the rates at which neither k or more nor k or fewer events
    have a probability below (1 − level)/2. That is exact if the rows of a bin share one probability. If they differ,
    the number of events varies less than a binomial one with the same mean (Hoeffding 1956), and the mean of
    the probabilities is covered more often still.

    *Consistency.* The number of events is then a sum of draws with the probabilities :math:`p_i` of the bin
    (Poisson-binomial). The band cuts off at most (1 − level)/2 at either end of its law, which is computed
    exactly, or, for bins with more than some 5·10⁴ distinct scores, from three moments.

    *Simultaneous.* Each of B bins that are not empty gets :math:`\text{level}^{1/B}` (Šidák), which is exact since bins
    have different rows. Classes of a class-wise table share their rows: each of K classes first
    gets 1 − (1 − level)/K (Bonferroni).

    Weights that are whole numbers count as rows. Others enter a band for the rate by the effective number of rows,
    (Σw)²/Σw², and a consistency band by the normal law with variance Σw²p(1 − p); the field `interval` says so.

    References
    ----------
    Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika, 1934. Hoeffding, "On the distribution of the number of successes in independent trials", Annals
    of Mathematical Statistics, 1956. Bröcker, Smith, "Increasing the reliability of reliability
    diagrams", Weather and Forecasting, 2007.

    Examples
    --------
    Ten rows of score 0.5: if it is true, from 2 to 8 events come in at least 95 % of cases.

    >>> from trueness.infer import reliability_bands
    >>> found = reliability_bands([1] * 9 + [0], [0.5] * 10, bins=1, band="consistency")
    >>> found.low.tolist(), found.high.tolist(), found.rate.tolist(), found.outside.tolist()
    ([0.2], [0.8], [0.9], [True])
    """
    chosen, whole = _checked_band(band), checked_fraction(level, "level")
    rule = blind_to_labels(as_rule(bins))
    if chosen.endswith("consistency"):
        tally = as_tally(y_true, y_prob, rows, rule=rule)
        found, make = tally.coarsen(rule), _around_scores(tally, rule)
    else:
        found, make = as_binned(y_true, y_prob, rule, rows), _around_rate
    levels = _levels(found, whole) if chosen.startswith("simultaneous") else [whole] * len(found.parts)
    ends = [make(i, part, each) for i, (part, each) in enumerate(zip(found.parts, levels, strict=True))]
    return Bands(
        **bin_columns(found, ends),
        level=whole,
        interval=_method(chosen, exact=all(part.whole for part in found.parts)),
        band=chosen,
        level_each=min(levels),
    )


def _checked_band(band: Band) -> Band:
    if not isinstance(band, str) or band not in _BANDS:
        raise InputError("band", f"must be {', '.join(map(repr, _BANDS[:-1]))} or {_BANDS[-1]!r}", f"got {band!r}")
    return band


def _levels(found: Binned, level: float) -> list[float]:
    """The level of each bin, part by part, at which all of them hold together."""
    filled = [max(1, int((part.count > 0).sum())) for part in found.parts]
    if found.kind == "classwise":
        return [(1 - (1 - level) / len(filled)) ** (1 / b) for b in filled]
    return [level ** (1 / sum(filled))] * len(filled)


def _method(band: Band, *, exact: bool) -> str:
    if band.endswith("consistency"):
        return "Poisson-binomial" if exact else "normal"
    return "exact" if exact else "exact, of effective counts"


def _around_rate(_: int, bins: Bins, level: float) -> _Ends:
    return clopper_pearson(*effective_counts(bins), level)


def _around_scores(tally: Tally, rule: BinRule) -> Callable[[int, Bins, float], _Ends]:
    def ends(i: int, bins: Bins, level: float) -> _Ends:
        cells = tally.parts[i]
        low, high = np.full(bins.size, np.nan), np.full(bins.size, np.nan)
        if not cells.size:
            return low, high
        start = rule.group(cells).start
        for b in np.flatnonzero(start[1:] > start[:-1]):
            low[b], high[b] = _of_one_bin(cells, slice(start[b], start[b + 1]), level)
        return low, high

    return ends


def _of_one_bin(cells: Cells, rows: slice, level: float) -> tuple[float, float]:
    p, w = cells.score[rows], cells.weight[rows]
    total = w.sum()
    if cells.exact:
        few, many = central_interval(p, w.astype(np.int64, copy=False), level)
        return few / total, many / total
    from scipy.special import ndtri

    assert cells.squares is not None
    reach = float(ndtri((1 + level) / 2)) * np.sqrt((cells.squares[rows] * p * (1 - p)).sum())
    mean = (w * p).sum()
    return max(0.0, (mean - reach) / total), min(1.0, (mean + reach) / total)
