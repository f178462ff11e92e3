"""Bands for reliability curves: binned, isotonic and smooth."""

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri

from trueness._input.arguments import (
    Seed,
    checked_fraction,
    checked_resamples,
    checked_word,
    whole_seed,
)
from trueness._numerics.poisson_binomial import central_interval
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.smooth import KernelMeans, reflected_kernel
from trueness._numerics.streams import stream
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_runs
from trueness._tally.multiclass import EACH_ROW
from trueness._tally.reading import read_rows
from trueness._tally.rules import BinRule, BinsLike, Isotonic, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import count_entries, label_batches
from trueness.measure._bin_table import bin_columns, effective_counts
from trueness.measure._curve import PLACES, rows_near
from trueness.results import Bands, CurveBand
from trueness.typing import ArrayLike, Floats, Ints, Numbers, RowOptions

Band: TypeAlias = Literal["pointwise", "simultaneous", "consistency", "simultaneous-consistency"]
_BANDS = ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")

_Ends: TypeAlias = tuple[Floats, Floats]
"""Of bins: the lower ends, and the upper ones."""
# For curves without bins: more distinct scores than this are pooled, all but those at either end.
_MANY = 4096
_END = 512
# Isotonic curves are compared at this many places, of which `_END` at either end are neighbours.
_PLACES = 1024
_FIRST = 128
# Curves are ranked at this many places.
_RANKED = 256
# All curves are kept, and ranked.
_MOST_CURVES = 100_000
# The number of curves that a simultaneous band leaves out is at least this: fewer would make its
# ends erratic.
_LEAST_OMITTED = 10


class _Curves(NamedTuple):
    """Curves of the observed labels, first, and of drawn ones."""

    x: Floats
    """The scores at which they are compared."""
    place: Ints
    """The numbers of these scores among all places."""
    height: Floats
    """Of each curve at each score, of shape (curves, scores)."""


def reliability_bands(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None,
    *,
    bins: BinsLike,
    level: float,
    band: Band,
    rows: RowOptions,
) -> Bands:
    """The bands of a binned curve; see :func:`trueness.curve_band`."""
    level = checked_fraction(level, "level")
    checked_word(band, "band", _BANDS)
    rule = blind_to_labels(as_rule(bins))
    evidence = read_rows(y_true, y_prob, rows, two_columns="keep")
    tally = evidence.tally_in(rule) if band.endswith("consistency") else None
    binned = evidence.binned(rule, moments=False) if tally is None else tally.coarsen(rule)
    levels = [level] * len(binned.parts)
    if band.startswith("simultaneous"):
        levels = _levels(binned, level)
    ends = []
    for i, part in enumerate(binned.parts):
        if tally is None:
            ends.append(clopper_pearson(*effective_counts(part), levels[i]))
        else:
            ends.append(_around_scores(tally.parts[i], rule, part, levels[i]))
    return Bands(
        **bin_columns(binned, ends),
        level=level,
        interval=_method(band, exact=all(part.whole for part in binned.parts)),
        band=band,
        level_each=min(levels),
    )


def _levels(binned: Binned, level: float) -> list[float]:
    """The level of each bin, so that all bins of all parts together have `level`.

    The result has one level for the bins of each part. Bins that share no rows get level^(1/bins)
    (Šidák), the bins without rows not counted. Parts that share rows, such as classes, first divide
    the error rate by their number (Bonferroni).
    """
    filled = [max(1, int((part.count > 0).sum())) for part in binned.parts]
    if binned.kind in EACH_ROW:
        return [(1 - (1 - level) / len(filled)) ** (1 / b) for b in filled]
    return [level ** (1 / sum(filled))] * len(filled)


def _method(band: Band, *, exact: bool) -> str:
    """The law that the band rests on, in words; `exact` if weights count rows."""
    if band.endswith("consistency"):
        if exact:
            return "Poisson-binomial"
        return "normal"
    if exact:
        return "exact"
    return "exact, of effective counts"


def _around_scores(cells: Cells, rule: BinRule, bins: Bins, level: float) -> _Ends:
    """The ends of the consistency band of the bins of a rule; nan if there are no rows at all."""
    if not cells.size:
        return np.full(bins.size, np.nan), np.full(bins.size, np.nan)
    return consistency_ends(cells, rule.group(cells).start, level)


def consistency_ends(cells: Cells, start: Ints, level: float) -> _Ends:
    """The range of the event rate of each run of cells, if the scores are the true probabilities.

    Runs lie between consecutive numbers of `start`; an empty one has nan. All lower ends come
    first, then all upper ones.
    """
    low = np.full(start.size - 1, np.nan)
    high = np.full(start.size - 1, np.nan)
    for b in np.flatnonzero(start[1:] > start[:-1]):
        low[b], high[b] = _consistency_of_bin(cells, slice(start[b], start[b + 1]), level)
    return low, high


def _consistency_of_bin(cells: Cells, rows: slice, level: float) -> tuple[float, float]:
    """The range that holds a bin's event rate with probability `level` if the scores are right.

    `rows` are the cells of the bin. The number of events is a sum of independent draws with the
    scores as probabilities (Poisson-binomial). With weights that do not count rows, its
    distribution is taken as normal, and the range is cut to [0, 1].
    """
    p = cells.score[rows]
    w = cells.weight[rows]
    total = w.sum()
    if cells.whole:
        fewest, most_events = central_interval(p, np.asarray(w, np.int64), level)
        return fewest / total, most_events / total
    variance = (cells.square_sums[0][rows] * p * (1 - p)).sum()
    reach = float(ndtri((1 + level) / 2)) * np.sqrt(variance)
    mean = (w * p).sum()
    return max(0.0, (mean - reach) / total), min(1.0, (mean + reach) / total)


def consistency_of_curve(
    cells: Cells,
    method: Literal["isotonic", "smooth"],
    *,
    bandwidth: float = 0.0,
    level: float = 0.95,
    band: Literal["consistency", "simultaneous-consistency"] = "simultaneous-consistency",
    resamples: int = 499,
    seed: Seed = 0,
) -> CurveBand:
    r"""The band of isotonic or smooth curves whose labels are drawn from the scores.

    The curve of the labels and those of R sets of drawn labels are exchangeable if the scores are
    calibrated. The :math:`\lfloor (1 - \text{level})(R + 1) \rfloor` most extreme ones are left
    out; a simultaneous band is the hull of the others. A curve is the more extreme, the smaller its
    rank at any score, counted from the nearer end; among equals, the second smallest rank decides,
    and so on (extreme rank length; Myllymäki, Mrkvička, Grabarnik, Seijo, Hahn, "Global envelope
    tests for spatial processes", Journal of the Royal Statistical Society, Series B, 2017). A
    pointwise band contains the middle `level` of the drawn curves at each score by itself.

    Many distinct scores are pooled. Events of a pool are binomial with its mean score, which varies
    at least as much as the events of the single scores (Hoeffding 1956).
    """
    level = checked_fraction(level, "level")
    resamples = checked_resamples(resamples)
    seed = whole_seed(seed)
    if resamples > _MOST_CURVES:
        demand = f"must be at most {_MOST_CURVES:,} for a band of curves"
        raise InputError("resamples", demand, f"got {resamples:,}")
    if band == "simultaneous-consistency":
        resamples = max(resamples, math.ceil(_LEAST_OMITTED / (1 - level)) - 1)
        if resamples > _MOST_CURVES:
            limit = f"{resamples:,} curves, and {_MOST_CURVES:,} are the limit"
            demand = f"must be smaller for a simultaneous band: {limit}"
            raise InputError("level", demand, f"got {level!r}")
    draw = _isotonic_curves if method == "isotonic" else _smooth_curves
    curves = draw(cells, bandwidth, resamples, seed)
    if band == "simultaneous-consistency":
        kept = curves.height[_inner_curves(curves.height, level, seed)]
        low = kept.min(axis=0)
        high = kept.max(axis=0)
    else:
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, high = np.quantile(curves.height[1:], tails, axis=0, method="median_unbiased")
    # Between places that are not neighbours an increasing curve is at least as high as at the last
    # and at most as high as at the next, and the band is drawn with straight lines.
    skipped = np.diff(curves.place) > 1
    low[1:] = np.where(skipped, low[:-1], low[1:])
    high[:-1] = np.where(skipped, high[1:], high[:-1])
    return CurveBand(
        x=curves.x, low=low, high=high, level=level, method=method, resamples=resamples, band=band
    )


def _inner_curves(curves: Floats, level: float, seed: int) -> Ints:
    """The numbers of all curves but the most extreme ones, of which there are at most 1 − level.

    `curves` are heights of shape (curves, scores). A curve is the more extreme, the smaller its
    rank at any score, counted from the nearer end; among equals the second smallest rank decides,
    and so on, and at last chance.
    """
    compared = curves[:, :: -(-curves.shape[1] // _RANKED)]
    ordered = np.sort(compared, axis=0)
    ranks = np.empty(compared.shape, dtype=np.int32)
    for place in range(compared.shape[1]):
        column = ordered[:, place]
        values = compared[:, place]
        below = np.searchsorted(column, values, side="right")
        above = values.size - np.searchsorted(column, values, side="left")
        ranks[:, place] = np.minimum(below, above)
    ranks.sort(axis=1)
    # Among equals chance decides: the order of the curves would not be fair.
    chance = stream(seed, "subset").permutation(len(curves))
    extreme_first = np.lexsort([chance, *ranks.T[::-1]])
    omitted = math.floor((1 - level) * len(curves) + 1e-9)
    return extreme_first[omitted:]


def _events(cells: Cells, resamples: int, seed: int) -> Iterable[Numbers]:
    """The events of the cells, then as many sets of events drawn from the scores as `resamples`."""
    yield cells.events
    p = cells.score
    rng = stream(seed, "labels")
    if cells.whole:
        for (hits,) in label_batches(*count_entries(cells), resamples, rng):
            yield from hits.T.astype(np.int64, order="C")
        return
    # A row alone at its score has the label 0 or 1, so that a normal law would not do. Rows of one
    # score and several weights are drawn as rows of equal weight that give their sum its variance.
    scale = np.sqrt(cells.square_sums[0] / cells.count)
    for (hits,) in label_batches(p[:, np.newaxis], cells.count, resamples, rng):
        noise = (np.ascontiguousarray(hits.T) - cells.count * p) * scale
        yield from np.clip(cells.weight * p + noise, 0, cells.weight)


def _isotonic_curves(cells: Cells, _: float, resamples: int, seed: int) -> _Curves:
    """The isotonic regressions of the observed and of all drawn labels.

    Above 4,096 distinct scores, those between the ends are pooled; above 1,024, curves are compared
    at some places only. The bandwidth is not used.
    """
    if cells.size > _MANY:  # blocks are short at the ends only
        cells = pool_runs(cells, _spread_places(cells.size, _MANY, _END))
    place = np.arange(cells.size)
    if cells.size > _PLACES:
        place = _spread_places(cells.size, _PLACES, _FIRST)
    curves = np.empty((resamples + 1, place.size))
    for i, drawn in enumerate(_events(cells, resamples, seed)):
        labelled = Cells(cells.score, cells.count, cells.weight, drawn, cells.squares)
        start = Isotonic().group(labelled).start
        rate = np.add.reduceat(drawn, start[:-1]) / np.add.reduceat(cells.weight, start[:-1])
        curves[i] = rate[np.searchsorted(start, place, side="right") - 1]
    return _Curves(cells.score[place], place, curves)


def _spread_places(size: int, count: int, ends: int) -> Ints:
    """About `count` of the numbers below `size`: the first and last `ends`, and some between.

    Those between are evenly spread.
    """
    middle = np.linspace(ends, size - ends, count - 2 * ends).astype(np.int64)
    return np.unique(np.r_[:ends, middle, size - ends : size])


def _smooth_curves(cells: Cells, bandwidth: float, resamples: int, seed: int) -> _Curves:
    """Kernel means of the observed and of all drawn labels, at the places of the curve.

    `bandwidth` is the width of the kernel. Places without a score near have none. With many scores
    those in strips of an eighth of the width are pooled.
    """
    means = KernelMeans(cells.score, cells.weight, bandwidth, PLACES)
    near = rows_near(means.place, cells.score, bandwidth)
    if cells.size > _MANY // 2:
        strip = np.floor(cells.score * (8 / means.sigma))
        cells = pool_runs(cells, np.flatnonzero(np.append(True, strip[1:] > strip[:-1])))
    share = reflected_kernel(means.place[near], 1 / PLACES, cells.score, means.sigma)
    events = np.empty((resamples + 1, cells.size))
    for row, drawn in zip(events, _events(cells, resamples, seed), strict=True):
        row[:] = drawn
    curves = np.clip((events @ share.T) / (share @ cells.weight), 0, 1)
    return _Curves(means.scores()[near], np.arange(near.sum()), curves)
