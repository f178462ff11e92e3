r"""Sums that rows can have: given the others, each column of stored sums has a range.

A file of sums has a checksum against damage, but anybody can write one. The scores of a cell lie
between its ends, :math:`l \le p \le h`, so that for the rows of either label

.. math:: l W \le S_1 \le h W, \qquad S_1^2 / W \le S_2 \le (l + h) S_1 - l h W,

with :math:`W = \sum w`, :math:`S_1 = \sum w p`, :math:`S_2 = \sum w p^2`. Likewise :math:`\sum w^2`
of `n` rows lies between :math:`W^2 / n` and :math:`W^2`. Whole numbers are compared exactly, floats
with a tolerance of 1e-9.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.fixed import HI_SCALE, LO_SCALE
from trueness._kernels.grid import cell_of
from trueness._tally.bins import MOST_EXACT, Bins
from trueness._tally.cells import MOST_ROWS, MOST_WHOLE, Cells
from trueness._tally.grid import GridCells
from trueness._tally.multiclass import EACH_ROW, View
from trueness.errors import InputError
from trueness.typing import Floats, Numbers

Part: TypeAlias = Cells | Bins | GridCells

_ROUNDING = 1e-9  # what rounding may do to a sum, relative to the largest value that it can have
_LABEL = 1e-6  # a label of a smaller share of the weight may be nothing but rounding
_HEAVIEST = 1e100  # the largest weight of a row; see `check_weights`
_VANISHING = 1e-300  # below it, squares of weights lose their digits


def refuse(reason: str, remedy: str = "") -> NoReturn:
    raise InputError("", f"The sums cannot be read: {reason}", remedy=remedy) from None


def check_sums(part: Part) -> None:
    """Refuse sums that no rows have.

    Files have a checksum too; dicts and the states of torch metrics have none.
    """
    if not all(bool((np.isfinite(v) & (v >= 0)).all()) for v in _arrays(part)):
        refuse("its sums must be finite and not below 0")
    _check_ends(part)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _check_rows(part)
        _check_whole_sums(part)
        _check_scores(part)
        if not isinstance(part, Cells):
            _check_square_scores(part)
        _check_square_weights(part)


def check_parts(kind: View, parts: Sequence[Part], largest: int | None) -> None:
    """Refuse parts that are not of the same rows, or that lack the largest cluster."""
    totals = [part.totals for part in parts]
    every = sum(total.rows for total in totals)
    weight = math.fsum(total.weight for total in totals)
    if every and weight < 1 / _HEAVIEST:
        refuse("its weights are too small")
    if largest is not None:
        fullest = max(math.ceil(total.weight * (1 + _ROUNDING)) for total in totals)
        if type(largest) is not int or not min(every, 1) <= largest <= fullest:
            if not every:
                refuse("it has a largest cluster and no rows")
            refuse("no bucket holds its largest cluster")
    if kind not in EACH_ROW:
        return
    first, *rest = totals
    if any(total.rows != first.rows or not _close(total.weight, first.weight) for total in rest):
        refuse("its parts have different numbers of rows")
    if kind == "classwise" and not _close(
        math.fsum(total.events for total in totals), first.weight
    ):
        refuse("each row must have one class")


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=0)


def _arrays(part: Part) -> list[NDArray[Any]]:
    if isinstance(part, Cells):
        return list(part.columns().values())
    names = ("edges", "count", "table", "floats") if isinstance(part, Bins) else GridCells.__slots__
    return [column for name in names if (column := getattr(part, name)) is not None]


def _check_ends(part: Part) -> None:
    """Cells and edges ascend, and the scores of a cell of a sketch lie in it."""
    if isinstance(part, Bins):
        steps: list[Numbers] = [part.edges]
        fits = part.edges.size > 1 and part.edges[-1] <= 1
    elif isinstance(part, Cells):
        steps = [part.score]
        fits = not part.size or part.score[-1] <= 1
    else:
        steps = [part.cell]
        ordered = (part.ends[:, 0] <= part.ends[:, 1]) & (part.ends[:, 1] <= 1)
        fits = bool(ordered.all()) and bool((cell_of(part.ends) == part.cell[:, None]).all())
    if not fits or any((np.diff(values) <= 0).any() for values in steps):
        refuse("its scores or edges must ascend in [0, 1]")


def _check_rows(part: Part) -> None:
    """Rows and their weights: there are both or neither, and no weight is too large for one row."""
    count = part.count
    weight = part.weight
    possible = (count > 0) == (weight > 0) if isinstance(part, Bins) else (count > 0) & (weight > 0)
    unweighted = not isinstance(part, Bins) and part.squares is None
    if part.whole:
        possible &= count == weight if unweighted else count <= weight
    elif unweighted:
        refuse("its weights have no squares")
    if not (possible & (weight <= _HEAVIEST * count)).all():
        refuse("its rows and their weights contradict each other")
    if count.sum(dtype=np.float64) > MOST_ROWS:
        refuse(f"it has more than {MOST_ROWS:,} rows")
    if (part.events > weight * (1 if part.whole else 1 + _ROUNDING)).any():
        refuse("it has more events than rows")


def _check_whole_sums(part: Part) -> None:
    """Sums of whole numbers are whole, and small enough to be added."""
    weight = part.weight
    events = part.events
    if not part.whole:
        if isinstance(part, Bins) and part.table is not None:
            refuse("its weights are not whole numbers")
        return
    if (
        weight.dtype.kind == "f"
        and ((weight != np.floor(weight)) | (events != np.floor(events))).any()
    ):
        refuse("its weights are not whole numbers")
    if (
        isinstance(part, Cells | GridCells)
        and part.squares is not None
        and weight.sum(dtype=np.float64) >= MOST_WHOLE
    ):
        refuse("its whole weights sum to too much")
    if isinstance(part, Cells) or part.table is None:
        return
    n = part.table[:, :, :1]
    of_cell = n.sum(axis=1) if isinstance(part, Bins) else n
    if (n > MOST_EXACT).any() or (of_cell > MOST_EXACT).any():
        refuse("a bin or cell has too many rows for exact sums")
    hi = part.table[:, :, 1::2]
    lo = part.table[:, :, 2::2]
    if ((hi > n * int(HI_SCALE)) | (lo > n * int(LO_SCALE - 1))).any():
        refuse("its exact sums are too large for its rows")


class _Scores(NamedTuple):
    """Ends of the cells, of shape (m, 1), and sums by label, of shape (m, 2)."""

    low: Floats
    high: Floats
    weight: Numbers
    score: Floats


def _by_label(part: Bins | GridCells) -> _Scores:
    if isinstance(part, GridCells):
        return _Scores(part.ends[:, :1], part.ends[:, 1:], part.by_label, part.scores_by_label)
    weight = np.column_stack([part.weight - part.events, part.events])
    score = np.column_stack([part.sum_score - part.sum_event_score, part.sum_event_score])
    return _Scores(part.edges[:-1, None], part.edges[1:, None], weight, score)


def _check_scores(part: Part) -> None:
    """The mean score of either label lies between the ends."""
    if isinstance(part, Cells):
        return
    low, high, weight, score = _by_label(part)
    slack = _ROUNDING * part.weight[:, None]
    if not ((score >= low * weight - slack) & (score <= high * weight + slack)).all():
        refuse("a mean score must lie in its bin")


def _check_square_scores(part: Bins | GridCells) -> None:
    """Σwp² lies in its range, by label where it is stored so."""
    low, high, weight, score = _by_label(part)
    slack = _ROUNDING * part.weight[:, None]
    lowest = np.where(weight > slack, score**2 / weight, 0)
    highest = (low + high) * score - low * high * weight
    if isinstance(part, GridCells):
        square = part.squares_by_label
        has_lowest = True
    else:
        square = part.columns[:, 4:5]
        has_lowest = part.moments
        lowest = lowest.sum(axis=1, keepdims=True)
        highest = highest.sum(axis=1, keepdims=True)
    if not (square <= highest + slack).all() or (
        has_lowest and not (square >= lowest - slack).all()
    ):
        refuse("a mean squared score must lie in its range")


def _check_square_weights(part: Part) -> None:
    """Σw² lies in its range, given Σw and the number of rows."""
    if isinstance(part, Bins):
        if part.floats is not None:
            _check_square_weights_of_bins(part, part.floats)
        return
    if part.squares is None:
        return
    if isinstance(part, GridCells):
        weight = part.by_label
        squares = part.squares
    else:
        weight = np.column_stack([part.weight - part.events, part.events])
        event_squares = part.event_squares
        assert event_squares is not None  # beside the squares
        squares = np.column_stack([part.squares - event_squares, event_squares])
    total = part.weight[:, None].astype(np.float64)
    rows = part.count[:, None]
    slack = _ROUNDING * squares.sum(axis=1, keepdims=True) + _VANISHING
    square = weight.astype(np.float64) ** 2
    possible = (squares <= square + _ROUNDING * total**2 + _VANISHING) & (
        square <= rows * (squares + slack)
    )
    # The rows of a label are at least as many as rows of equal weight with these sums.
    matters = (weight > _LABEL * total) & (squares > _LABEL * squares.sum(axis=1, keepdims=True))
    rows_needed = np.where(matters, square / squares, 0).sum(axis=1)
    possible &= (rows_needed <= part.count * (1 + _LABEL))[:, None]
    if part.whole:
        possible &= squares >= weight - slack
    if not possible.all():
        refuse("its weights and their squares contradict each other")


def _check_square_weights_of_bins(part: Bins, floats: Floats) -> None:
    """As for cells, but Σw² of whole weights may be Σw.

    A row of weight 2 may stand for two rows.
    """
    weight = floats[:, 0]
    squares = floats[:, 1]
    rows = part.count
    slack = _ROUNDING * squares + _VANISHING
    possible = (squares <= weight**2 * (1 + _ROUNDING) + _VANISHING) & (
        weight**2 <= (rows + weight) * (squares + slack)
    )
    if part.whole:
        possible &= squares >= weight - slack
    if not possible.all():
        refuse("its weights and their squares contradict each other")
