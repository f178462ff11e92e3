"""The data of the pictures: isotonic blocks with tests, sums for the offered bins, and axes."""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from trueness.typing import Bools, Floats, Ints, Numbers

_EVENTS: dict[str, Any] = {
    "x_name": "predicted probability",
    "y_name": "how often it happened",
    "happens": "happens",
}
_TOP_LABEL: dict[str, Any] = {
    "x_name": "confidence",
    "y_name": "how often it was right",
    "happens": "right",
}
_STATEMENTS: dict[str, dict[str, Any]] = {
    "interval": {
        "x_name": "stated coverage",
        "y_name": "share of outcomes inside",
        "happens": "inside",
    },
    "quantiles": {
        "x_name": "stated level",
        "y_name": "share of outcomes at most the quantile",
        "happens": "at most it",
    },
    "horizon": {**_EVENTS, "x_name": "predicted risk"},
}
"""The words for kinds of events; others have those of labels."""
OFFERED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 40, 50)
_MOST_OFFERED = 100
_MANY = 2048  # distinct scores
_BARS = 50
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
_LOG_STEPS = [float(f"{first}e-{k}") for k in range(12, 0, -1) for first in (1, 2, 5)] + [1.0]


def isotonic_blocks(cells: Cells, alpha: float) -> Blocks:
    """The blocks of the test-based diagram.

    The shares rejected, averaged over rows, are the TCE.
    """
    rule = BlockIsotonic()
    groups = rule.group(cells)
    first = groups.start[:-1]
    weight = cells.weight
    rejected = rejections(cells, first, alpha, "binomial")
    n = np.add.reduceat(weight, first)
    quartiles = []
    for start, end in pairwise(groups.start):
        # The smallest score that such a share of the rows does not exceed.
        reached = np.cumsum(weight[start:end])
        places = start + np.searchsorted(reached, np.array((0.25, 0.5, 0.75)) * reached[-1])
        quartiles.append(cells.score[places])
    q1, median, q3 = np.array(quartiles).T
    return Blocks(
        low_edge=_floats(groups.edges[:-1]),
        high_edge=_floats(groups.edges[1:]),
        n=_ints(n),
        rate=_floats(np.add.reduceat(cells.events, first) / n),
        score_min=_floats(cells.score[first]),
        score_q1=_floats(q1),
        score_median=_floats(median),
        score_q3=_floats(q3),
        score_max=_floats(cells.score[groups.start[1:] - 1]),
        refuted=_floats(np.add.reduceat(np.where(rejected, weight, 0), first) / n),
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
    rules: dict[str, dict[str, Any]] = {}
    if isinstance(sums, Bins):
        fine = sums.coarsen(rule)
        start = np.arange(fine.size + 1)
        number = str(fine.size)
        is_offered = isinstance(rule, EqualWidth) and rule.n in offered(rule)
        cut = "width" if is_offered else "given"
        rules[cut] = {number: _bins_of(Groups(fine.edges, start), fine, start, level)}
        axes = _axes(fine, fine, level)
    else:
        groups = _offered_groups(sums, rule)
        cut = _cut(rule)
        number = str(rule.n_requested)
        if cut == "given":
            (number,) = groups[cut]
        starts = [group.start for by_number in groups.values() for group in by_number.values()]
        start = np.unique(np.concatenate(starts))
        fine = Bins.from_cells(sums, Groups(start.astype(np.float64), start))
        pooled = sums
        is_pooled = sums.size > _MANY  # scores, then, are pooled before a band is computed
        if is_pooled:
            pooled = pool_runs(sums, start[:-1])
        for offered_cut, by_number in groups.items():
            rules[offered_cut] = {}
            for n, group in by_number.items():
                first = np.searchsorted(start, group.start) if is_pooled else group.start
                limits = _bins_of(group, fine, start, level)
                rules[offered_cut][n] = limits | _band_of(pooled, first, level)
        axes = _axes(sums, Bins.from_cells(sums, EqualMass(10).group(sums)), level)
    return Explorer(name, **_sums(fine), rules=rules, rule=cut, bins=number, **axes, **words)


def _cut(rule: BinRule) -> str:
    """How the page cuts the requested bins: by 'width', 'mass', or as 'given'."""
    if isinstance(rule, EqualWidth | EqualMass) and rule.n in offered(rule):
        return "mass" if isinstance(rule, EqualMass) else "width"
    return "given"


def _offered_groups(cells: Cells, rule: BinRule) -> dict[str, dict[str, Groups]]:
    """The bins of every offered rule and number, and those of another requested rule."""
    numbers = offered(rule)
    groups = {
        "width": {str(n): EqualWidth(n).group(cells) for n in numbers},
        "mass": {str(n): EqualMass(n).group(cells) for n in numbers},
    }
    if _cut(rule) == "given":
        given = rule.group(cells)
        groups["given"] = {str(given.start.size - 1): given}
    return groups


def _axes(sums: Cells | Bins, tenths: Bins, level: float) -> dict[str, Any]:
    """Axes from 0 to 1, and those that fit the scores."""
    whole = _ticked("linear", sums, 0.0, 1.0, linear_ticks(0.0, 1.0))
    near = _fitted_axes(sums, tenths, level)
    fitted = near.scale != "linear" or (near.low, near.high) != (whole.low, whole.high)
    return {"whole": whole, "near": near if fitted else whole}


def _sums(fine: Bins) -> dict[str, Any]:
    """The sums of fine bins as the page's script reads them.

    Exact sums of scores are two whole numbers for each bin, `high` and `low`; those of weighted
    rows are one float, `sum_score`.
    """
    sums: dict[str, Any] = {
        "n": _ints(fine.count),
        "events": _floats(fine.events),
        "weight": _floats(fine.weight),
        "high": None,
        "low": None,
        "sum_score": None,
    }
    if fine.table is None:
        sums["sum_score"] = _floats(fine.sum_score)
    else:
        exact = fine.table.sum(axis=1)
        sums["high"] = _ints(exact[:, 1])
        sums["low"] = _ints(exact[:, 2])
    return sums


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
    n_filled = max(1, int(filled.sum()))
    low, high = consistency_ends(cells, first, level ** (1 / n_filled))
    events = _runs(cells.events, first)
    weight = _runs(cells.weight, first)
    rate = np.full(filled.size, np.nan)
    rate[filled] = events[filled] / weight[filled]
    outside = np.flatnonzero((rate < low) | (rate > high))
    return {"least": _rounded(low), "most": _rounded(high), "outside": _ints(outside)}


def _runs(sums: NDArray[Any], first: Ints) -> NDArray[Any]:
    """Sums of runs that begin at `first` and end where the next begins; a run may be empty."""
    reached = np.concatenate([np.zeros_like(sums[:1]), np.cumsum(sums, axis=0)])
    return np.diff(reached[first], axis=0)


def _ints(values: Iterable[float]) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


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
    lowest = min(_quantile(sums, _RARE), float(np.nanmin(tenths.rate)))
    highest = max(_quantile(sums, 1 - _RARE), float(np.nanmax(tenths.rate)))
    # Long intervals are cut off: they would push all points into a corner.
    lowest = min(lowest, max(float(np.nanmin(lows)), 1 - _REACH * (1 - lowest)))
    highest = max(highest, min(float(np.nanmax(highs)), _REACH * highest))
    low, high = zoomed_ends(lowest, highest)
    if isinstance(sums, Cells):
        at_zero, at_one = _crowds(sums, low, high)
        total = float(sums.weight.sum())
        is_rare = 0 < sums.events.sum() < RARE * total
        has_logarithms = sums.weight[sums.score > 0].sum() >= _HALF * total
        if at_zero or (is_rare and has_logarithms):
            return _logarithmic(sums, highest, tenths.rate)
        if at_one:
            return _logit(sums, lowest)
    return _ticked("linear", sums, low, high, linear_ticks(low, high))


def _quantile(sums: Cells | Bins, share: float, low: float = -1.0, high: float = 2.0) -> float:
    """The smallest score between two that this share of the weight there does not exceed."""
    inside = (sums.weight > 0) & (sums.score > low) & (sums.score < high)
    score = sums.score[inside]
    reached = np.cumsum(sums.weight[inside], dtype=np.float64)
    place = np.searchsorted(reached, share * reached[-1])
    return float(score[min(place, score.size - 1)])


def _crowds(cells: Cells, low: float, high: float) -> tuple[bool, bool]:
    """Whether most scores but 0 and 1 lie in the lower or upper corner of linear axes.

    Few may be far from it.
    """
    p = cells.score
    corner = _CORNER * (high - low)
    far = 0.5 * (high - low)
    weight = cells.weight / cells.weight.sum()

    def share(where: Bools) -> float:
        return float(weight[where].sum())

    at_zero = share((p > 0) & (p < low + corner)) >= _CROWD and share(p > low + far) < _FEW
    at_one = share((p < 1) & (p > high - corner)) >= _CROWD and share(p < high - far) < _FEW
    return at_zero, at_one


def _logarithmic(cells: Cells, highest: float, rates: Floats) -> Axes:
    """From below nearly all positive scores and rates.

    Not below where far less than one event is expected.
    """
    tiny = 0.1 / max(1, int(cells.count.sum()))
    lowest = min(
        max(_quantile(cells, _RARE, 0), tiny),
        _quantile(cells, _HALF, 0),
        *rates[rates > 0].tolist(),
    )
    low = max([step for step in _LOG_STEPS if step <= lowest] or _LOG_STEPS[:1])
    high = min(1.0, max(round_up(highest), 10 * low))
    return _ticked("log", cells, low, high, _log_ticks(low, high))


def _log_ticks(low: float, high: float) -> list[float]:
    """Ticks at 1, 2 and 5 times powers of ten, or only at powers if these are enough."""
    inside = [step for step in _LOG_STEPS if low * 0.999 <= step <= high * 1.001]
    powers = [step for step in inside if f"{step:.0e}".startswith("1")]
    if len(inside) <= _MOST_TICKS:
        return inside
    return powers[:: -(-len(powers) // _MOST_TICKS)]


def joint_axes(plots: list[Axes]) -> Axes:
    """Axes that include all of some, without a histogram; from 0 to 1 unless all have one scale."""
    low = min(axes.low for axes in plots)
    high = max(axes.high for axes in plots)
    scales = {axes.scale for axes in plots}
    for axes in plots:
        if (axes.low, axes.high) == (low, high) and len(scales) == 1:
            return axes
    if scales != {"log"}:
        return Axes("linear", 0.0, 1.0, *_labelled(linear_ticks(0.0, 1.0)), ())
    return Axes("log", low, high, *_labelled(_log_ticks(low, high)), ())


def _labelled(ticks: list[float]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    return tuple(ticks), tuple(map(percent_tick, ticks))


def _logit(cells: Cells, lowest: float) -> Axes:
    """From below nearly all scores and rates to above nearly all scores below 1."""
    tiny = 0.1 / max(1, int(cells.count.sum()))
    highest = _quantile(cells, 1 - _RARE, high=1)
    ninth_decile = _quantile(cells, 0.9, high=1)
    high = 1 - _decade(min(max(1 - highest, tiny), 1 - ninth_decile))
    low = _decade(max(lowest, tiny))
    if lowest > 1 - _HALF:
        low = 1 - round_up(1 - lowest)
    ticks = np.concatenate([_DECADES, [0.5], 1 - _DECADES[::-1]])
    inside = (ticks >= low * 0.999) & (1 - ticks >= (1 - high) * 0.999)
    ticks = ticks[inside]
    step = -(-ticks.size // 6)
    return _ticked("logit", cells, low, high, ticks[::step].tolist())


def _decade(value: float) -> float:
    return float(10.0 ** max(-12, math.floor(math.log10(min(value, 0.1)) + 1e-9)))


def _ticked(scale: str, sums: Cells | Bins, low: float, high: float, ticks: list[float]) -> Axes:
    """The axis of a picture from `low` to `high`, with the histogram of the scores along it.

    `scale` is 'log', 'logit' or 'linear', and the bars are of equal width on it.
    """
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
        heights = np.histogram(sums.score, bins=edges, weights=sums.weight)[0].astype(np.float64)
    return tuple(np.round(heights, 6).tolist())
