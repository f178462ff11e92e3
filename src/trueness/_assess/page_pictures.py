"""The data of the pictures.

Isotonic blocks with their tests, sums for the bins that the page offers, and axes.
"""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_runs
from trueness._tally.rules import BinRule, BlockIsotonic, EqualMass, EqualWidth, Groups
from trueness._text.numbers import linear_ticks, percent_tick, round_up, zoomed_ends
from trueness.infer.band._reliability_bands import consistency_ends
from trueness.measure._bin_table import effective_counts
from trueness.measure._tce import rejections
from trueness.results._page import Axes, Blocks, Explorer
from trueness.results._verdict import RARE
from trueness.typing import Floats, Ints, Numbers


class _Words(NamedTuple):
    """The names of both axes, and what an event does."""

    x_name: str
    y_name: str
    happens: str


_EVENTS = _Words("predicted probability", "how often it happened", "happens")
_TOP_LABEL = _Words("confidence", "how often it was right", "right")
_STATEMENTS = {
    "interval": _Words("stated coverage", "share of outcomes inside", "inside"),
    "quantiles": _Words("stated level", "share of outcomes at most the quantile", "at most it"),
    "horizon": _EVENTS._replace(x_name="predicted risk"),
}
"""The words for kinds of events; others have those of labels."""
OFFERED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 40, 50)
_MOST_OFFERED = 100
_MANY = 2048  # distinct scores
_BARS = 50
_QUARTILES = np.array((0.25, 0.5, 0.75))
_RARE = 0.01
_HALF = 0.5
_MOST_TICKS = 7
# Logit axes, if this share of the rows lies within this part of linear axes, at one end, and few at
# the other half.
_CROWD = 0.75
_CORNER = 0.04
_FEW = 0.1
_REACH = 1.5
_DECADES = np.array([10.0**-k for k in range(12, 0, -1)])
_LOG_STEPS = [*(float(f"{first}e-{k}") for k in range(12, 0, -1) for first in (1, 2, 5)), 1.0]


def isotonic_blocks(cells: Cells, alpha: float) -> Blocks:
    """The blocks of the test-based diagram.

    The shares rejected, averaged over rows, are the TCE.
    """
    rule = BlockIsotonic()
    groups = rule.group(cells)
    start = groups.start[:-1]
    end = groups.start[1:]
    weight = cells.weight
    rejected = rejections(cells, start, alpha, "binomial")
    n = np.add.reduceat(weight, start)
    # The smallest score that a share of the rows of the block does not exceed.
    places = []
    for first, after in pairwise(groups.start):
        reached = np.cumsum(weight[first:after])
        places.append(first + np.searchsorted(reached, _QUARTILES * reached[-1]))
    quartiles = cells.score[np.array(places)].T
    return Blocks(
        low_edge=_floats(groups.edges[:-1]),
        high_edge=_floats(groups.edges[1:]),
        n=_ints(n),
        rate=_floats(np.add.reduceat(cells.events, start) / n),
        score_min=_floats(cells.score[start]),
        score_q1=_floats(quartiles[0]),
        score_median=_floats(quartiles[1]),
        score_q3=_floats(quartiles[2]),
        score_max=_floats(cells.score[end - 1]),
        refuted=_floats(np.add.reduceat(np.where(rejected, weight, 0), start) / n),
        alpha=alpha,
        rule=repr(rule),
    )


def offered(rule: BinRule) -> tuple[int, ...]:
    """The numbers of bins that the page offers: a fixed list, and the requested one."""
    if isinstance(rule, EqualWidth | EqualMass) and rule.n <= _MOST_OFFERED:
        return tuple(sorted({*OFFERED, rule.n}))
    return OFFERED


def explorer(
    name: str,
    sums: Cells | Bins,
    rule: BinRule,
    level: float,
    *,
    top_label: bool = False,
    kind: str = "",
) -> Explorer:
    """Cut the cells wherever any offered rule does, and sum what lies between.

    Sums of bins have these bins only.

    A bin of any offered rule is then a run of fine cells, and its sums are sums of theirs: whole
    numbers if the weights are, so that the page computes exactly what the library does.
    """
    words = _TOP_LABEL if top_label else _STATEMENTS.get(kind, _EVENTS)
    if isinstance(sums, Bins):
        fine = sums.coarsen(rule)
        start = np.arange(fine.size + 1)
        is_width = isinstance(rule, EqualWidth) and rule.n in offered(rule)
        requested = _Requested("width" if is_width else "given", str(fine.size))
        bins = _bins_of(Groups(fine.edges, start), fine, start, level)
        rules = {requested.rule: {requested.bins: bins}}
        axes = _axes(fine, fine, level)
    else:
        groups, requested = _offered_groups(sums, rule)
        starts = [cut.start for by_number in groups.values() for cut in by_number.values()]
        start = np.unique(np.concatenate(starts))
        fine = Bins.from_cells(sums, Groups(start.astype(np.float64), start))
        rules = _bins_and_bands(groups, sums, fine, start, level)
        axes = _axes(sums, Bins.from_cells(sums, EqualMass(10).group(sums)), level)
    high = low = sum_score = None
    if fine.table is None:
        sum_score = _floats(fine.sum_score)
    else:
        both_labels = fine.table.sum(axis=1)
        high = _ints(both_labels[:, 1])
        low = _ints(both_labels[:, 2])
    return Explorer(
        name,
        n=_ints(fine.count),
        events=_floats(fine.events),
        weight=_floats(fine.weight),
        high=high,
        low=low,
        sum_score=sum_score,
        rules=rules,
        rule=requested.rule,
        bins=requested.bins,
        whole=axes.whole,
        near=axes.near,
        x_name=words.x_name,
        y_name=words.y_name,
        happens=words.happens,
    )


class _Requested(NamedTuple):
    """Which of the offered bins were requested: 'width', 'mass' or 'given', and their number."""

    rule: str
    bins: str


def _offered_groups(cells: Cells, rule: BinRule) -> tuple[dict[str, dict[str, Groups]], _Requested]:
    """The bins of every offered rule and number."""
    numbers = offered(rule)
    groups = {
        "width": {str(n): EqualWidth(n).group(cells) for n in numbers},
        "mass": {str(n): EqualMass(n).group(cells) for n in numbers},
    }
    if isinstance(rule, EqualWidth | EqualMass) and rule.n in numbers:
        kind = "mass" if isinstance(rule, EqualMass) else "width"
        return groups, _Requested(kind, str(rule.n_requested))
    given = rule.group(cells)
    number = str(given.start.size - 1)
    groups["given"] = {number: given}
    return groups, _Requested("given", number)


def _bins_and_bands(
    groups: dict[str, dict[str, Groups]], cells: Cells, fine: Bins, start: Ints, level: float
) -> dict[str, dict[str, dict[str, tuple[float, ...]]]]:
    """The bins of each rule and number, with their intervals and bands.

    Many scores are pooled in the fine cells, which begin at `start`, before a band is computed.
    """
    is_pooled = cells.size > _MANY
    pooled = pool_runs(cells, start[:-1]) if is_pooled else cells
    rules: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {}
    for kind, by_number in groups.items():
        rules[kind] = {}
        for number, cut in by_number.items():
            first = np.searchsorted(start, cut.start) if is_pooled else cut.start
            bins = _bins_of(cut, fine, start, level)
            rules[kind][number] = bins | _band_of(pooled, first, level)
    return rules


class _AxesPair(NamedTuple):
    """Axes from 0 to 1, and those that fit the scores."""

    whole: Axes
    near: Axes


def _axes(sums: Cells | Bins, tenths: Bins, level: float) -> _AxesPair:
    whole = _ticked("linear", sums, 0.0, 1.0, linear_ticks(0.0, 1.0))
    near = _fitted_axes(sums, tenths, level)
    if near.scale == "linear" and (near.low, near.high) == (whole.low, whole.high):
        return _AxesPair(whole, whole)
    return _AxesPair(whole, near)


def _bins_of(groups: Groups, fine: Bins, start: Ints, level: float) -> dict[str, tuple[float, ...]]:
    """Where the bins of one rule begin among the fine cells, and the interval of each rate."""
    first = np.searchsorted(start, groups.start)
    merged = Bins(
        groups.edges,
        None if fine.table is None else _runs(fine.table, first),
        None if fine.floats is None else _runs(fine.floats, first),
        _runs(fine.count, first),
        moments=True,
        whole=fine.whole,
    )
    low, high = clopper_pearson(*effective_counts(merged), level)
    return {
        "start": _ints(first),
        "edges": _rounded(groups.edges),
        "low": _rounded(low),
        "high": _rounded(high),
    }


def _band_of(cells: Cells, first: Ints, level: float) -> dict[str, tuple[float, ...]]:
    """The simultaneous band of bins that begin at these cells, and the bins outside it."""
    filled = first[1:] > first[:-1]
    level_of_each = level ** (1 / max(1, int(filled.sum())))
    low, high = consistency_ends(cells, first, level_of_each)
    rate = np.full(filled.size, np.nan)
    rate[filled] = _runs(cells.events, first)[filled] / _runs(cells.weight, first)[filled]
    outside = np.flatnonzero((rate < low) | (rate > high))
    return {"least": _rounded(low), "most": _rounded(high), "outside": _ints(outside)}


def _runs(sums: Any, first: Ints) -> Any:
    """Sums of runs that begin at `first` and end where the next begins; a run may be empty."""
    reached = np.concatenate([np.zeros_like(sums[:1]), np.cumsum(sums, axis=0)])
    return reached[first[1:]] - reached[first[:-1]]


def _ints(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _floats(values: Numbers) -> tuple[float, ...]:
    return tuple(values.tolist())


def _rounded(values: Floats) -> tuple[float, ...]:
    """Six decimals are enough to draw with."""
    return tuple(np.round(values, 6).tolist())


def _fitted_axes(sums: Cells | Bins, tenths: Bins, level: float) -> Axes:
    """Axes that show nearly all scores and the intervals of the rates of `tenths`.

    They are linear and zoom in on one end of [0, 1]; logarithmic for rare events (if at least half
    of the scores have a logarithm), or if most scores would crowd near 0 even then; and logit if
    these would crowd near 1.
    """
    with np.errstate(invalid="ignore"):
        lows, highs = clopper_pearson(*effective_counts(tenths), level)
    least = min(_quantile(sums, _RARE), float(np.nanmin(tenths.rate)))
    most = max(_quantile(sums, 1 - _RARE), float(np.nanmax(tenths.rate)))
    # Long intervals are cut off: they would push all points into a corner.
    least = min(least, max(float(np.nanmin(lows)), 1 - _REACH * (1 - least)))
    most = max(most, min(float(np.nanmax(highs)), _REACH * most))
    low, high = zoomed_ends(least, most)
    if isinstance(sums, Cells):
        at_zero, at_one = _crowds(sums, low, high)
        total = float(sums.weight.sum())
        is_rare = 0 < sums.events.sum() < RARE * total
        have_logarithms = sums.weight[sums.score > 0].sum() >= _HALF * total
        if at_zero or (is_rare and have_logarithms):
            return _logarithmic(sums, most, tenths.rate)
        if at_one:
            return _logit(sums, least)
    return _ticked("linear", sums, low, high, linear_ticks(low, high))


def _quantile(sums: Cells | Bins, share: float, low: float = -1.0, high: float = 2.0) -> float:
    """The smallest score between two that this share of the weight there does not exceed."""
    inside = (sums.weight > 0) & (sums.score > low) & (sums.score < high)
    score = sums.score[inside]
    reached = np.cumsum(sums.weight[inside], dtype=np.float64)
    place = np.searchsorted(reached, share * reached[-1])
    return float(score[min(place, score.size - 1)])


def _crowds(cells: Cells, low: float, high: float) -> tuple[bool, bool]:
    """Whether most scores crowd in the lower, and in the upper corner of linear axes, few far off.

    Scores of exactly 0 or 1 are in no corner.
    """
    p = cells.score
    corner = _CORNER * (high - low)
    far = 0.5 * (high - low)
    share = cells.weight / cells.weight.sum()
    near_low = share[(p > 0) & (p < low + corner)].sum() >= _CROWD
    near_high = share[(p < 1) & (p > high - corner)].sum() >= _CROWD
    few_above = share[p > low + far].sum() < _FEW
    few_below = share[p < high - far].sum() < _FEW
    return bool(near_low and few_above), bool(near_high and few_below)


def _least_shown(cells: Cells) -> float:
    """The rate at which all rows together would have a tenth of an event."""
    return 0.1 / max(1, int(cells.count.sum()))


def _logarithmic(cells: Cells, most: float, rates: Floats) -> Axes:
    """From below nearly all positive scores and rates.

    Unless far less than one event is expected there.
    """
    least = min(
        max(_quantile(cells, _RARE, 0), _least_shown(cells)),
        _quantile(cells, _HALF, 0),
        *rates[rates > 0].tolist(),
    )
    low = max((step for step in _LOG_STEPS if step <= least), default=_LOG_STEPS[0])
    high = min(1.0, max(round_up(most), 10 * low))
    return _ticked("log", cells, low, high, _log_ticks(low, high))


def _log_ticks(low: float, high: float) -> list[float]:
    """Ticks at 1, 2 and 5 times powers of ten, or only at powers if these are enough."""
    inside = [step for step in _LOG_STEPS if low * 0.999 <= step <= high * 1.001]
    powers = [step for step in inside if f"{step:.0e}".startswith("1")]
    if len(inside) <= _MOST_TICKS:
        return inside
    return powers[:: -(-len(powers) // _MOST_TICKS)]


def joint_axes(axes: list[Axes]) -> Axes:
    """Axes that include all of some, without a histogram; from 0 to 1 unless all have one scale."""
    low = min(model.low for model in axes)
    high = max(model.high for model in axes)
    scales = {model.scale for model in axes}
    if len(scales) == 1:
        for model in axes:
            if (model.low, model.high) == (low, high):
                return model
    if scales != {"log"}:
        return Axes("linear", 0.0, 1.0, *_labelled(linear_ticks(0.0, 1.0)), ())
    return Axes("log", low, high, *_labelled(_log_ticks(low, high)), ())


def _labelled(ticks: list[float]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    return tuple(ticks), tuple(map(percent_tick, ticks))


def _logit(cells: Cells, least: float) -> Axes:
    """From below nearly all scores and rates to above nearly all scores below 1."""
    tiny = _least_shown(cells)
    most = _quantile(cells, 1 - _RARE, high=1)
    ninth_decile = _quantile(cells, 0.9, high=1)
    high = 1 - _decade(min(max(1 - most, tiny), 1 - ninth_decile))
    low = 1 - round_up(1 - least) if least > 1 - _HALF else _decade(max(least, tiny))
    ticks = np.concatenate([_DECADES, [0.5], 1 - _DECADES[::-1]])
    ticks = ticks[(ticks >= low * 0.999) & (1 - ticks >= (1 - high) * 0.999)]
    step = -(-ticks.size // 6)
    return _ticked("logit", cells, low, high, ticks[::step].tolist())


def _decade(value: float) -> float:
    """The largest power of ten from 1e-12 to 0.1 that is not above the value."""
    exponent = math.floor(math.log10(min(value, 0.1)) + 1e-9)
    return float(10.0 ** max(-12, exponent))


def _ticked(scale: str, sums: Cells | Bins, low: float, high: float, ticks: list[float]) -> Axes:
    if scale == "log":
        edges = np.geomspace(low, high, _BARS + 1)
    elif scale == "logit":
        first = math.log(low / (1 - low))
        last = math.log(high / (1 - high))
        edges = 1 / (1 + np.exp(-np.linspace(first, last, _BARS + 1)))
    else:
        edges = np.linspace(low, high, _BARS + 1)
    return Axes(scale, low, high, *_labelled(ticks), _histogram(sums, edges))


def _histogram(sums: Cells | Bins, edges: Floats) -> tuple[float, ...]:
    """Weight per bar; that of a bin is spread evenly over its width.

    The outer bars include the scores beyond.
    """
    edges = np.concatenate([[0.0], edges[1:-1], [1.0]])
    if isinstance(sums, Bins):
        reached = np.concatenate([[0.0], np.cumsum(sums.weight, dtype=np.float64)])
        heights = np.diff(np.interp(edges, sums.edges, reached))
    else:
        counts, _ = np.histogram(sums.score, bins=edges, weights=sums.weight)
        heights = counts.astype(np.float64)
    return tuple(np.round(heights, 6).tolist())
