"""The data of the pictures: isotonic blocks with their tests, sums for the bins that the page offers, and axes."""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

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
_LOG_STEPS = [*(float(f"{first}e-{k}") for k in range(12, 0, -1) for first in (1, 2, 5)), 1.0]


def isotonic_blocks(cells: Cells, alpha: float) -> Blocks:
    """The blocks of the test-based diagram.

    The shares rejected, averaged over rows, are the TCE.
    """
    rule = BlockIsotonic()
    groups = rule.group(cells)
    start = groups.start
    weight = cells.weight
    rejected = rejections(cells, start[:-1], alpha, "binomial")
    n = np.add.reduceat(weight, start[:-1])
    places = []
    for first, end in pairwise(
        start
    ):  # the smallest score that such a share of the rows does not exceed
        reached = np.cumsum(weight[first:end])
        places.append(first + np.searchsorted(reached, np.array((0.25, 0.5, 0.75)) * reached[-1]))
    columns: Any = {"low_edge": groups.edges[:-1], "high_edge": groups.edges[1:]}
    columns |= dict(
        zip(("score_q1", "score_median", "score_q3"), cells.score[np.array(places)].T, strict=True)
    )
    columns |= {"score_min": cells.score[start[:-1]], "score_max": cells.score[start[1:] - 1]}
    columns["rate"] = np.add.reduceat(cells.events, start[:-1]) / n
    columns["refuted"] = np.add.reduceat(np.where(rejected, weight, 0), start[:-1]) / n
    fields: Any = {name: _floats(column) for name, column in columns.items()}
    return Blocks(n=_ints(n), alpha=alpha, rule=repr(rule), **fields)


def offered(rule: BinRule) -> tuple[int, ...]:
    """The numbers of bins that the page offers: a fixed list, and the requested one."""
    asked = (
        {rule.n} if isinstance(rule, EqualWidth | EqualMass) and rule.n <= _MOST_OFFERED else set()
    )
    return tuple(sorted({*OFFERED, *asked}))


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
        bins = sums.coarsen(rule)
        start = np.arange(bins.size + 1)
        cut = "width" if isinstance(rule, EqualWidth) and rule.n in offered(rule) else "given"
        rules = {cut: {str(bins.size): _bins_of(Groups(bins.edges, start), bins, start, level)}}
        axes = _axes(bins, bins, level)
        return Explorer(
            name, **_sums(bins), rules=rules, rule=cut, bins=str(bins.size), **axes, **words
        )
    groups, asked = _offered_groups(sums, rule)
    start = np.unique(
        np.concatenate([one.start for by_number in groups.values() for one in by_number.values()])
    )
    fine = Bins.from_cells(sums, Groups(start.astype(np.float64), start))
    many = sums.size > _MANY  # then they are pooled in the fine cells before a band is computed
    pooled = pool_runs(sums, start[:-1]) if many else sums
    rules = {
        cut: {
            n: _bins_of(one, fine, start, level)
            | _band_of(pooled, np.searchsorted(start, one.start) if many else one.start, level)
            for n, one in by_number.items()
        }
        for cut, by_number in groups.items()
    }
    axes = _axes(sums, Bins.from_cells(sums, EqualMass(10).group(sums)), level)
    number = next(iter(groups["given"])) if asked == "given" else str(rule.n_requested)
    return Explorer(name, **_sums(fine), rules=rules, rule=asked, bins=number, **axes, **words)


def _offered_groups(cells: Cells, rule: BinRule) -> tuple[dict[str, dict[str, Groups]], str]:
    """The bins of every offered rule and number, and the kind of the requested rule."""
    kinds: dict[str, Any] = {"width": EqualWidth, "mass": EqualMass}
    groups = {
        kind: {str(n): of(n).group(cells) for n in offered(rule)} for kind, of in kinds.items()
    }
    if isinstance(rule, EqualWidth | EqualMass) and rule.n in offered(rule):
        return groups, "mass" if isinstance(rule, EqualMass) else "width"
    asked = rule.group(cells)
    return groups | {"given": {str(asked.start.size - 1): asked}}, "given"


def _axes(sums: Cells | Bins, tenths: Bins, level: float) -> dict[str, Any]:
    """Axes from 0 to 1, and those that fit the scores."""
    whole = _ticked("linear", sums, 0.0, 1.0, linear_ticks(0.0, 1.0))
    near = _fitted_axes(sums, tenths, level)
    fitted = near.scale != "linear" or (near.low, near.high) != (whole.low, whole.high)
    return {"whole": whole, "near": near if fitted else whole}


def _sums(fine: Bins) -> dict[str, Any]:
    both = None if fine.table is None else fine.table.sum(axis=1)
    return {
        "n": _ints(fine.count),
        "events": _floats(fine.events),
        "weight": _floats(fine.weight),
        "high": None if both is None else _ints(both[:, 1]),
        "low": None if both is None else _ints(both[:, 2]),
        "sum_score": _floats(fine.sum_score) if both is None else None,
    }


def _bins_of(groups: Groups, fine: Bins, start: Ints, level: float) -> dict[str, tuple[float, ...]]:
    """Where the bins of one rule begin among the fine cells, and the interval of each rate."""
    first = np.searchsorted(start, groups.start)
    table, floats = (
        None if sums is None else _runs(sums, first) for sums in (fine.table, fine.floats)
    )
    merged = Bins(
        groups.edges, table, floats, _runs(fine.count, first), moments=True, whole=fine.whole
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
    low, high = consistency_ends(cells, first, level ** (1 / max(1, int(filled.sum()))))
    rate = np.full(filled.size, np.nan)
    rate[filled] = _runs(cells.events, first)[filled] / _runs(cells.weight, first)[filled]
    outside = np.flatnonzero((rate < low) | (rate > high))
    return {"least": _rounded(low), "most": _rounded(high), "outside": _ints(outside)}


def _runs(sums: Any, first: Ints) -> Any:
    """Sums of runs that begin at `first` and end where the next begins; a run may be empty."""
    reached = np.concatenate([np.zeros_like(sums[:1]), np.cumsum(sums, axis=0)])
    return reached[first[1:]] - reached[first[:-1]]


def _ints(values: Iterable[Any]) -> tuple[int, ...]:
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
    least = min(_quantile(sums, _RARE), float(np.nanmin(tenths.rate)))
    most = max(_quantile(sums, 1 - _RARE), float(np.nanmax(tenths.rate)))
    # Long intervals are cut off: they would push all points into a corner.
    least = min(least, max(float(np.nanmin(lows)), 1 - _REACH * (1 - least)))
    most = max(most, min(float(np.nanmax(highs)), _REACH * most))
    low, high = zoomed_ends(least, most)
    if isinstance(sums, Cells):
        at_zero, at_one = _crowds(sums, low, high)
        total = float(sums.weight.sum())
        rare = (
            0 < sums.events.sum() < RARE * total
            and sums.weight[sums.score > 0].sum() >= _HALF * total
        )
        if at_zero or rare:
            return _logarithmic(sums, most, tenths.rate)
        if at_one:
            return _logit(sums, least)
    return _ticked("linear", sums, low, high, linear_ticks(low, high))


def _quantile(sums: Cells | Bins, share: float, low: float = -1.0, high: float = 2.0) -> float:
    """The smallest score between two that this share of the weight there does not exceed."""
    inside = (sums.weight > 0) & (sums.score > low) & (sums.score < high)
    score = sums.score[inside]
    reached = np.cumsum(sums.weight[inside], dtype=np.float64)
    return float(score[min(np.searchsorted(reached, share * reached[-1]), score.size - 1)])


def _crowds(cells: Cells, low: float, high: float) -> tuple[bool, bool]:
    """Whether most scores strictly between 0 and 1 lie in the lower or upper corner of linear axes, few far from it."""
    p = cells.score
    corner = _CORNER * (high - low)
    far = 0.5 * (high - low)
    share = cells.weight / cells.weight.sum()
    at_zero = (
        share[(p > 0) & (p < low + corner)].sum() >= _CROWD and share[p > low + far].sum() < _FEW
    )
    at_one = (
        share[(p < 1) & (p > high - corner)].sum() >= _CROWD and share[p < high - far].sum() < _FEW
    )
    return bool(at_zero), bool(at_one)


def _logarithmic(cells: Cells, most: float, rates: Floats) -> Axes:
    """From below nearly all positive scores and rates, unless far less than one event is expected there."""
    tiny = 0.1 / max(1, int(cells.count.sum()))
    least = min(
        max(_quantile(cells, _RARE, 0), tiny),
        _quantile(cells, _HALF, 0),
        *rates[rates > 0].tolist(),
    )
    low = max([step for step in _LOG_STEPS if step <= least] or _LOG_STEPS[:1])
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
    low = min(one.low for one in axes)
    high = max(one.high for one in axes)
    scales = {one.scale for one in axes}
    widest = next((one for one in axes if (one.low, one.high) == (low, high)), None)
    if widest is not None and len(scales) == 1:
        return widest
    if scales != {"log"}:
        return Axes("linear", 0.0, 1.0, *_labelled(linear_ticks(0.0, 1.0)), ())
    return Axes("log", low, high, *_labelled(_log_ticks(low, high)), ())


def _labelled(ticks: list[float]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    return tuple(ticks), tuple(map(percent_tick, ticks))


def _logit(cells: Cells, least: float) -> Axes:
    """From below nearly all scores and rates to above nearly all scores below 1."""
    tiny = 0.1 / max(1, int(cells.count.sum()))
    most, ninth = (_quantile(cells, share, high=1) for share in (1 - _RARE, 0.9))
    high = 1 - _decade(min(max(1 - most, tiny), 1 - ninth))
    low = 1 - round_up(1 - least) if least > 1 - _HALF else _decade(max(least, tiny))
    ticks = np.concatenate([_DECADES, [0.5], 1 - _DECADES[::-1]])
    ticks = ticks[(ticks >= low * 0.999) & (1 - ticks >= (1 - high) * 0.999)]
    return _ticked("logit", cells, low, high, ticks[:: -(-ticks.size // 6)].tolist())


def _decade(value: float) -> float:
    return float(10.0 ** max(-12, math.floor(math.log10(min(value, 0.1)) + 1e-9)))


def _ticked(scale: str, sums: Cells | Bins, low: float, high: float, ticks: list[float]) -> Axes:
    edges = np.linspace(low, high, _BARS + 1)
    if scale == "log":
        edges = np.geomspace(low, high, _BARS + 1)
    elif scale == "logit":
        first, last = (math.log(end / (1 - end)) for end in (low, high))
        edges = 1 / (1 + np.exp(-np.linspace(first, last, _BARS + 1)))
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
