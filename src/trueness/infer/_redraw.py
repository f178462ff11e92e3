"""Labels redrawn from the scores, without sorting these again."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from trueness._input.columns import column
from trueness._input.sample import Sample
from trueness._tally import rows_or_sums
from trueness._tally.cells import Cells
from trueness._tally.multiclass import View, parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError, OneClassWarning
from trueness.typing import ArrayLike, Floats, Ints, Numbers, RowOptions

__all__ = ["Redraw", "WeightType", "redraw_of_rows", "redraw_of_tally"]

WeightType: TypeAlias = Literal["frequency", "importance"]
_Generator: TypeAlias = np.random.Generator
_Draw: TypeAlias = Callable[[_Generator], Cells]
_DrawAll: TypeAlias = Callable[[_Generator], tuple[Cells, ...]]


@dataclass(frozen=True)
class Redraw:
    """Draws tallies with the scores of one, and labels that come as often as these say."""

    kind: View
    classes: tuple[Any, ...] | None
    n: int
    """Rows."""
    draw: _DrawAll

    def __call__(self, rng: _Generator) -> Tally:
        return Tally(self.kind, self.draw(rng), self.classes)


def redraw_of_tally(tally: Tally, weight_type: WeightType) -> tuple[Redraw, Tally]:
    """From sums; and the tally as it is to be measured."""
    if tally.n == 0:
        raise InputError("y_prob", "is an empty Tally: it has no scores")
    if tally.kind == "classwise":
        raise InputError(
            "y_prob", "is a class-wise Tally, which does not know which scores belong to one row", "pass the matrix"
        )
    if weight_type == "importance":
        return _apart(tally, map(_by_equal_weight, tally.parts)), tally
    tally = _counted(tally)
    return _apart(tally, map(_by_cell, tally.parts)), tally


def redraw_of_rows(
    y_true: ArrayLike | None, y_prob: ArrayLike, rows: RowOptions, weight_type: WeightType
) -> tuple[Redraw, Tally | None]:
    """From rows; and, with labels, the tally that is to be measured."""
    labels = _any_labels(y_prob, rows) if y_true is None else y_true
    sample, kind = rows_or_sums.sample_and_kind(labels, y_prob, rows)
    with warnings.catch_warnings():
        if y_true is None:
            warnings.simplefilter("ignore", OneClassWarning)
        tally = rows_or_sums.tally_of(sample, kind)
    if weight_type == "frequency":
        tally = _counted(tally)
    labelled = None if y_true is None else tally
    if tally.kind == "classwise":
        return Redraw(tally.kind, tally.classes, tally.n, _by_class(sample, tally, weight_type)), labelled
    if weight_type == "frequency" or sample.w is None:
        return _apart(tally, map(_by_cell, tally.parts)), labelled
    if tally.kind == "binary":
        return _apart(tally, [_by_row(sample)]), labelled
    return _apart(tally, parts_of(sample, tally.kind, _by_row, lambda: _by_cell(Cells.empty()))), labelled


def _any_labels(y_prob: ArrayLike, rows: RowOptions) -> Any:
    """Labels that pass every check, in the place of those that are not known."""
    n = column(y_prob, "y_prob").values.shape[0]
    named, positive = rows.get("labels"), rows.get("pos_label")
    if named is None and positive is None:
        return np.zeros(n, dtype=np.uint8)
    return [positive if named is None else next(iter(named))] * n


def _counted(tally: Tally) -> Tally:
    """Weight 2 is the row twice: weights become counts."""
    if not all(part.exact for part in tally.parts):
        raise InputError(
            "sample_weight",
            "must be whole numbers that sum to less than 2³⁵",
            "`weight_type='importance'` takes others, with one label per row",
        )
    counts = (cast(Ints, part.weight) for part in tally.parts)
    parts = (Cells(part.score, n, n, part.events) for part, n in zip(tally.parts, counts, strict=True))
    return Tally(tally.kind, tuple(parts), tally.classes)


def _apart(tally: Tally, draws: Iterable[_Draw]) -> Redraw:
    """Parts that share no row are drawn one after the other."""
    each = list(draws)
    return Redraw(tally.kind, tally.classes, tally.n, lambda rng: tuple(draw(rng) for draw in each))


def _by_cell(cells: Cells) -> _Draw:
    """The rows of a cell share their score, so the number of events is binomial."""
    events_of = _binomial(cells.score, cells.count)
    return lambda rng: Cells(cells.score, cells.count, cells.weight, events_of(rng))


def _binomial(p: Floats, n: Ints) -> Callable[[_Generator], Ints]:
    # A comparison is ten times faster than a binomial draw, and most cells have one row.
    one, several = np.flatnonzero(n == 1), np.flatnonzero(n != 1)
    if not several.size:
        return lambda rng: (rng.random(p.size) < p).astype(np.int64)
    p_one, p_several, n_several = p[one], p[several], n[several]

    def draw(rng: _Generator) -> Ints:
        events = np.empty(p.size, dtype=np.int64)
        events[one] = rng.random(one.size) < p_one
        events[several] = rng.binomial(n_several, p_several)
        return events

    return draw


def _by_equal_weight(cells: Cells) -> _Draw:
    """One label per row, when all rows of a cell have the same weight; else the sums do not say enough."""
    if cells.squares is None:
        return _by_cell(cells)
    if not np.allclose(cells.count * cells.squares, cells.weight.astype(np.float64) ** 2, rtol=1e-9, atol=0):
        raise InputError("y_prob", "is a Tally in which rows of one score have different weights", "pass the rows")
    each: Numbers = cells.weight // cells.count if cells.exact else cells.weight / cells.count
    events_of = _binomial(cells.score, cells.count)

    def draw(rng: _Generator) -> Cells:
        events = events_of(rng)
        squares = np.asarray(events * each * each, dtype=np.float64)
        return Cells(cells.score, cells.count, cells.weight, events * each, cells.squares, squares)

    return draw


def _by_row(sample: Sample) -> _Draw:
    """One label per row, whatever its weight."""
    cells, w = cells_of_rows(sample), sample.w
    assert w is not None
    p = np.asarray(sample.p, dtype=np.float64)[w > 0]
    w = w[w > 0]
    at = np.searchsorted(cells.score, p)

    def draw(rng: _Generator) -> Cells:
        came = rng.random(p.size) < p
        return _weighted(cells, at[came], w[came])

    return draw


def _weighted(cells: Cells, at: Ints, w: Floats) -> Cells:
    """The cells with events of weight `w` in the cells `at`."""
    events: Numbers = np.bincount(at, w, cells.size)
    events = events.astype(np.int64) if cells.exact else events
    # Sums in another order may exceed the cell's total in the last digit.
    events = np.minimum(events, cells.weight)
    squares: Floats = np.asarray(np.bincount(at, w * w, cells.size))
    return Cells(cells.score, cells.count, cells.weight, events, cells.squares, squares)


def _by_class(sample: Sample, tally: Tally, weight_type: WeightType) -> _DrawAll:
    """One class per row: the columns of a row depend on each other."""
    kept = slice(None) if sample.w is None else sample.w > 0
    P = np.asarray(sample.p, dtype=np.float64)[kept]
    w = None if sample.w is None else sample.w[kept]
    rows: Ints = np.arange(P.shape[0])
    if w is not None and weight_type == "frequency":
        rows, w = np.repeat(rows, w.astype(np.int64)), None
    bounds = np.cumsum([0] + [part.size for part in tally.parts])
    cell = np.stack([np.searchsorted(part.score, p) for part, p in zip(tally.parts, P.T, strict=True)], axis=1)
    reached = np.cumsum(P, axis=1)

    def draw(rng: _Generator) -> tuple[Cells, ...]:
        drawn = _classes(reached, rows, rng)
        if w is None:
            events = np.bincount(cell[rows, drawn] + bounds[drawn], minlength=bounds[-1])
            halves = zip(tally.parts, np.split(events, bounds[1:-1]), strict=True)
            return tuple(Cells(part.score, part.count, part.weight, of_part) for part, of_part in halves)
        return tuple(_weighted(part, cell[drawn == k, k], w[drawn == k]) for k, part in enumerate(tally.parts))

    return draw


def _classes(reached: Floats, rows: Ints, rng: _Generator) -> Ints:
    """A class for each row, by bisection of its cumulative probabilities."""
    at = rng.random(rows.size) * reached[rows, -1]
    low = np.zeros(rows.size, dtype=np.int64)
    high = np.full(rows.size, reached.shape[1] - 1)
    while bool((low < high).any()):
        middle = (low + high) // 2
        beyond = reached[rows, middle] <= at
        low, high = np.where(beyond & (low < high), middle + 1, low), np.where(beyond, high, middle)
    return low
