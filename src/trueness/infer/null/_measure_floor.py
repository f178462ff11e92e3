"""The noise floor of any measure: its distribution if the scores were the true probabilities."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from trueness._numerics.averages import exponent
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_cells, pool_runs, product_sums, segment_sums
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, Distinct
from trueness._tally.tally import Tally
from trueness.errors import InputError, quietly
from trueness.infer.null._noise_floor import redrawn_values, values_of_tallies
from trueness.infer.null._redrawn_labels import Redraw, WeightType, draw_hits, redraw_of, redraw_of_tally
from trueness.typing import Floats, Ints

# Sets of labels drawn for a floor, by the number of distinct scores.
_DRAWS = {20_000: 99, 200_000: 39, math.inf: 19}
# The gaps of bins are drawn by themselves, and are normal if the variance of the events is at least this.
_GAP_DRAWS, _NORMAL = 999, 25.0
_MOST_CELLS = 4096
# Sets of labels that are kept at a time.
_TOGETHER = 32


class Floor(NamedTuple):
    """Mean and upper quantile of a measure for a calibrated model; nan if unknown."""

    mean: float
    high: float


NO_FLOOR = Floor(math.nan, math.nan)
TallyFunction = Callable[[Any], float]


def gap_floor(
    evidence: Evidence, rule: BinRule, norm: str | float, power: int, *, level: float, rng: np.random.Generator
) -> Floor:
    """The floor of a power mean of gaps (rate − mean score) over bins that do not depend on the labels.

    The events of a bin are normal if their variance is large, else drawn from its scores. `power` is that of the loss.
    Not for class-wise sums, where the classes of a row depend on each other.
    """
    parts = [part for part in evidence.parts if part.totals.rows > 0]
    drawn = [_gap_draws(part, rule, norm, power, rng) for part in parts]
    draws = np.average(drawn, axis=0, weights=[part.totals.weight for part in parts])
    return floor_of(draws, level)


def floor_of(draws: Floats, level: float) -> Floor:
    """Mean and quantile of simulated values; those that are nan are left out."""
    known = draws[~np.isnan(draws)]
    return Floor(float(known.mean()), float(np.quantile(known, level))) if known.size else NO_FLOOR


def _gap_draws(part: Cells | Bins, rule: BinRule, norm: str | float, power: int, rng: np.random.Generator) -> Floats:
    """The norm of the gaps for many sets of labels drawn from the scores of one part."""
    shrink: Floats | float = 1.0
    if isinstance(part, Bins):
        bins = part.coarsen(rule)
        cells, rule = bins.at_means(), Distinct()
        if bins.moments:  # rows of unequal scores vary less than rows at their mean
            filled = bins.weight > 0
            p, w = bins.score[filled], bins.weight[filled]
            shrink = np.clip(p - bins.sum_square[filled] / w, 0, None) / np.maximum(p * (1 - p), 1e-300)
    else:
        cells = part
    first = rule.group(cells).start
    first = np.asarray(first[:-1][np.diff(first) > 0], np.int64)
    weight = segment_sums(cells.weight, first).astype(np.float64)
    squares = cells.weight if cells.whole or cells.squares is None else cells.squares

    def of_labels(some: slice) -> Floats:
        p = cells.score[some]
        return np.asarray(squares[some] * (p * (1 - p)))

    variance = product_sums(of_labels, cells.size, first) * shrink
    # In units of rows: the sums of a few heavy rows are not normal.
    unit = 1.0 if cells.whole else segment_sums(np.asarray(squares, np.float64), first) / weight
    normal = variance >= _NORMAL * unit**2
    gaps = rng.standard_normal((_GAP_DRAWS, first.size)) * (np.sqrt(variance) / weight)
    if not normal.all():
        few = _few_event_gaps(cells, first, ~normal, rng)
        gaps[:, ~normal] = few * np.sqrt(np.broadcast_to(shrink, first.shape)[~normal]) / weight[~normal]
    return _power_means(np.abs(gaps) ** power, weight, exponent(norm))


def _few_event_gaps(cells: Cells, first: Ints, chosen: Any, rng: np.random.Generator) -> Floats:
    """Events − expected events of the chosen bins, drawn score by score, or for pools of scores."""
    size = np.diff(np.append(first, cells.size))
    kept = np.flatnonzero(np.repeat(chosen, size))
    some = Cells(**{name: column[kept] for name, column in cells.columns().items()})
    start = np.concatenate([[0], np.cumsum(size[chosen])[:-1]]).astype(np.int64)
    number = np.repeat(np.arange(start.size), size[chosen])
    if some.size > _MOST_CELLS:
        runs = np.unique(np.concatenate([start, np.arange(0, some.size, -(-some.size // _MOST_CELLS))]))
        some, number = pool_runs(some, runs), number[runs]
    n = some.weight.astype(np.int64) if some.whole else some.count
    # Rows of other weights are drawn as rows of the weight that gives the sum its variance.
    scale = np.sqrt(some.square_sums[0] / n)
    sums = np.empty((_GAP_DRAWS, start.size))
    begin = np.searchsorted(number, np.arange(start.size))
    for few in np.array_split(np.arange(_GAP_DRAWS), max(1, _GAP_DRAWS * some.size // 2**20)):
        (events,) = draw_hits(some.score[:, np.newaxis], n, few.size, rng)
        noise = (events - (n * some.score)[:, np.newaxis]) * scale[:, np.newaxis]
        sums[few] = np.add.reduceat(noise, begin, axis=0).T
    return sums


def _power_means(values: Floats, weight: Floats, q: float) -> Floats:
    if q == math.inf:
        return np.asarray(values.max(axis=1))
    share = weight / weight.sum()
    return np.asarray((values**q @ share) ** (1 / q)) if q != 1 else np.asarray(values @ share)


def drawn_floors(
    functions: Mapping[str, TallyFunction],
    evidence: Evidence,
    *,
    pooled: bool,
    summed: bool = False,
    level: float,
    rng: np.random.Generator,
) -> dict[str, Floor]:
    """The floors of any functions of a tally, all of the same sets of labels.

    `pooled` takes up to 4,096 pools of neighbouring scores, for functions that do not depend on single scores;
    `summed` says that the functions are summed over classes.
    """
    tally = evidence.tally
    if not functions or tally is None:
        return dict.fromkeys(functions, NO_FLOOR)
    weight_type: WeightType = "frequency" if evidence.whole else "importance"
    draws = _number_of_draws(tally)
    if tally.kind == "classwise" and evidence.rows is None:
        factor = tally.class_factor if summed else 1
        return {key: _class_floor(one, tally, factor, level, rng) for key, one in functions.items()}
    try:
        if tally.kind == "classwise":  # one class is drawn per row
            redraw = redraw_of(evidence)
        else:
            few = Tally(tally.kind, tuple(map(pool_cells, tally.parts)), tally.classes) if pooled else tally
            redraw = redraw_of_tally(few, weight_type)
            return _shared_floors(functions, redraw, _number_of_draws(few), level, rng)
    except InputError:  # weights that differ at one score: only the rows know them
        if evidence.rows is None or evidence.dependent or tally.kind == "classwise":
            return dict.fromkeys(functions, NO_FLOOR)
        redraw = redraw_of(evidence)
    values = {key: quietly(redrawn_values, one, redraw, rng, draws) for key, one in functions.items()}
    return {key: floor_of(each, level) for key, each in values.items()}


def _shared_floors(
    functions: Mapping[str, TallyFunction], redraw: Redraw, draws: int, level: float, rng: np.random.Generator
) -> dict[str, Floor]:
    """The floors of functions of the same redrawn labels."""
    values: dict[str, list[float]] = {key: [] for key in functions}
    for few in range(0, draws, _TOGETHER):
        labels = [redraw(rng) for _ in range(min(_TOGETHER, draws - few))]
        for key, function in functions.items():
            values[key] += quietly(values_of_tallies, function, labels)
    return {key: floor_of(np.array(each), level) for key, each in values.items()}


def _number_of_draws(tally: Tally) -> int:
    cells = max(part.size for part in tally.parts)
    return next(draws for most, draws in _DRAWS.items() if cells <= most)


def _class_floor(function: TallyFunction, tally: Tally, factor: int, level: float, rng: np.random.Generator) -> Floor:
    """The floor of a measure of class-wise sums: the mean over classes."""
    parts = (Evidence.of_sums(Tally("binary", (part,))) for part in tally.parts)
    means = [drawn_floors({"": function}, part, pooled=False, level=level, rng=rng)[""].mean for part in parts]
    return Floor(float(np.mean(means)) * factor, math.nan)
