"""Bands for reliability curves: binned, isotonic and smooth."""

from collections.abc import Callable
from typing import Literal, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import Seed, checked_fraction, checked_whole, checked_word, generator
from trueness._numerics.poisson_binomial import central_interval
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.smooth import KernelMeans
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_binned, as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, Isotonic, as_rule, blind_to_labels, pooled_cells
from trueness._tally.tally import Binned, Tally
from trueness.measure._bin_table import bin_columns, effective_counts
from trueness.results import Bands, CurveBand
from trueness.typing import ArrayLike, Floats, Ints, Numbers, RowOptions

Band: TypeAlias = Literal["pointwise", "simultaneous", "consistency", "simultaneous-consistency"]
_BANDS = ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")

_Curve: TypeAlias = tuple[Floats, Callable[[Numbers], Floats]]
"""The scores at which a curve is drawn, and its height as a function of the events of the cells."""
_Ends: TypeAlias = tuple[Floats, Floats]
# Cells for which labels of a curve without bins are redrawn, and places of a smooth curve.
_CELLS, _PLACES = 1024, 256


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
    r"""Bands for a binned reliability curve: for the rate of each bin, or for what calibrated scores would show.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`.
    bins : int, sequence of edges or bin rule, default 10
        As for :func:`trueness.ece`. Isotonic rules depend on the labels and are refused: no band
        around such bins keeps its level.
    level : float, default 0.95
        Level of the band: of every bin by itself, or of all bins jointly if it is simultaneous.
    band : {'pointwise', 'simultaneous', 'consistency', 'simultaneous-consistency'}, default 'pointwise'
        - 'pointwise': the exact interval of Clopper and Pearson for the rate of each bin.
        - 'simultaneous': the same, widened so that it covers the rates of all bins jointly.
        - 'consistency': the range of each bin's rate if the scores are the true
          probabilities. Drawn around the diagonal; a rate outside is evidence against calibration.
        - 'simultaneous-consistency': the joint range of the rates of all bins. Any rate outside
          rejects calibration at 1 − level.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    Bands
        One row per bin, including empty bins (nan). `outside` marks the bins that are evidence against calibration.

    Notes
    -----
    All statements are conditional on the scores; labels of different rows are independent.

    *Rate.* With k events among N rows, [low, high] contains the rates at which neither k or more nor k or fewer events
    have a probability below (1 − level)/2. This is exact if the rows of a bin share one probability. If they differ,
    the number of events varies less than a binomial number with the same mean (Hoeffding 1956), and the mean of
    the probabilities is covered more often.

    *Consistency.* The number of events is a sum of independent draws with the probabilities :math:`p_i` of the bin
    (Poisson-binomial). The band cuts off at most (1 − level)/2 at either end of its distribution, which is computed
    exactly or, for bins with more than about 5·10⁴ distinct scores, from three moments.

    *Simultaneous.* Each of B non-empty bins gets :math:`\text{level}^{1/B}` (Šidák), which is exact since bins
    share no rows. The classes of a class-wise table do share rows, so each of K classes first
    gets 1 − (1 − level)/K (Bonferroni).

    Whole-number weights count rows. For other weights a band for the rate uses the effective number of rows,
    (Σw)²/Σw², and a consistency band the normal distribution with variance Σw²p(1 − p); the field `interval` says so.

    References
    ----------
    Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika, 1934. Hoeffding, "On the distribution of the number of successes in independent trials", Annals
    of Mathematical Statistics, 1956. Bröcker, Smith, "Increasing the reliability of reliability
    diagrams", Weather and Forecasting, 2007.

    Examples
    --------
    Ten rows of score 0.5: if it is correct, 2 to 8 events occur in at least 95 % of samples.

    >>> from trueness.infer import reliability_bands
    >>> bands = reliability_bands([1] * 9 + [0], [0.5] * 10, bins=1, band="consistency")
    >>> bands.low.tolist(), bands.high.tolist(), bands.rate.tolist(), bands.outside.tolist()
    ([0.2], [0.8], [0.9], [True])
    """
    level = checked_fraction(level, "level")
    checked_word(band, "band", _BANDS)
    rule = blind_to_labels(as_rule(bins))
    if band.endswith("consistency"):
        tally = as_tally(y_true, y_prob, rows, rule=rule)
        binned, ends_of = tally.coarsen(rule), _around_scores(tally, rule)
    else:
        binned, ends_of = as_binned(y_true, y_prob, rule, rows), _around_rate
    levels = _levels(binned, level) if band.startswith("simultaneous") else [level] * len(binned.parts)
    ends = [ends_of(i, part, each) for i, (part, each) in enumerate(zip(binned.parts, levels, strict=True))]
    return Bands(
        **bin_columns(binned, ends),
        level=level,
        interval=_method(band, exact=all(part.whole for part in binned.parts)),
        band=band,
        level_each=min(levels),
    )


def _levels(binned: Binned, level: float) -> list[float]:
    """The level of each bin, part by part, that gives the joint level."""
    filled = [max(1, int((part.count > 0).sum())) for part in binned.parts]
    if binned.kind == "classwise":
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
        if not cells.size:
            return np.full(bins.size, np.nan), np.full(bins.size, np.nan)
        return consistency_ends(cells, rule.group(cells).start, level)

    return ends


def consistency_ends(cells: Cells, start: Ints, level: float) -> _Ends:
    """The range of the rate of each run of cells between consecutive starts, if the scores are the true probabilities.

    An empty run has nan.
    """
    low, high = np.full(start.size - 1, np.nan), np.full(start.size - 1, np.nan)
    for b in np.flatnonzero(start[1:] > start[:-1]):
        low[b], high[b] = _consistency_of_bin(cells, slice(start[b], start[b + 1]), level)
    return low, high


def _consistency_of_bin(cells: Cells, rows: slice, level: float) -> tuple[float, float]:
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


def consistency_of_curve(
    cells: Cells,
    method: Literal["isotonic", "smooth"],
    *,
    bandwidth: float = 0.0,
    level: float = 0.95,
    resamples: int = 199,
    seed: Seed = None,
) -> CurveBand:
    """Pointwise quantiles of isotonic or smooth curves whose labels are drawn from the scores.

    Scores are first pooled to about 1,024 cells of equal mass. Their events are binomial with the mean score, which
    varies at least as much as the events of the single scores (Hoeffding 1956). For weights that are not whole numbers,
    events are normal with variance Σw²p(1 − p).
    """
    level, resamples, rng = checked_fraction(level, "level"), checked_whole(resamples, "resamples"), generator(seed)
    pooled = pooled_cells(cells, _CELLS)
    x, curve = _isotonic_curve(pooled) if method == "isotonic" else _smooth_curve(pooled, bandwidth)
    drawn = [curve(_draw_events(pooled, rng)) for _ in range(resamples)]
    defined = np.isfinite(x)
    low, high = np.quantile(
        np.stack([y[defined] for y in drawn]), [(1 - level) / 2, (1 + level) / 2], axis=0, method="median_unbiased"
    )
    return CurveBand(x[defined], low, high, level, method, resamples)


def _draw_events(cells: Cells, rng: np.random.Generator) -> Numbers:
    p = np.clip(cells.score, 0, 1)
    if cells.exact:
        return rng.binomial(cells.weight.astype(np.int64, copy=False), p)
    assert cells.squares is not None
    events = cells.weight * p + np.sqrt(cells.squares * p * (1 - p)) * rng.standard_normal(cells.size)
    return np.clip(events, 0, cells.weight)


def _isotonic_curve(cells: Cells) -> _Curve:
    def curve(events: Numbers) -> Floats:
        start = Isotonic().group(Cells(cells.score, cells.count, cells.weight, events, cells.squares)).start
        rate = np.add.reduceat(events, start[:-1]) / np.add.reduceat(cells.weight, start[:-1])
        return np.repeat(rate, np.diff(start))

    return cells.score, curve


def _smooth_curve(cells: Cells, bandwidth: float) -> _Curve:
    means = KernelMeans(cells.score, cells.weight, bandwidth, _PLACES)
    return means.scores(), means.labels
