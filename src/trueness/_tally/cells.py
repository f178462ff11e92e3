"""`Cells`: one cell per distinct score, ascending, with the sums of its rows."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._numerics.runs import whole_runs
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

# Whole weights with a smaller sum have exact sums: in units of 2⁻²⁷ and 2⁻⁵³ they fit 64 bits.
MOST_WHOLE = 2**35

MOST_ROWS = 2**53  # most rows that sums may count: every smaller number of rows is a float64, too

_RUN = 512
# Cells whose temporaries stay in the processor's cache.
_BLOCK = 2**15


def check_row_total(count: Ints) -> Ints:
    """The counts, unless they add up to more rows than can be counted exactly."""
    total = float(count.sum(dtype=np.float64))
    if total > MOST_ROWS:
        raise InputError(
            "", f"Sums hold at most {MOST_ROWS:,} rows", f"these have about {total:.3g}"
        )
    return count


class Totals(NamedTuple):
    """Sums over all rows."""

    rows: int
    weight: float
    events: float


class Cells:
    """Sums of the rows that share a score: rows of positive weight (`count`), Σw, Σwy, Σw², Σw²y.

    If all weights are whole numbers that sum to less than 2³⁵, the sums are int64 and exact; else
    they are float64. Rows without weights have weight 1, however many they are, and then `squares`
    is None: Σw² = Σw.
    """

    __slots__ = (
        "_totals",
        "count",
        "event_squares",
        "events",
        "memory",
        "score",
        "squares",
        "weight",
    )

    def __init__(
        self,
        score: Floats,
        count: Ints,
        weight: Numbers,
        events: Numbers,
        squares: Floats | None = None,
        event_squares: Floats | None = None,
    ) -> None:
        self.score = score
        self.count = count
        self.weight = weight
        self.events = events
        self.squares = squares
        self.event_squares = event_squares
        # What many questions about the same cells ask for.
        self._totals: Totals | None = None
        self.memory: dict[Any, Any] = {}

    @classmethod
    def empty(cls) -> "Cells":
        """No cells: adding them changes nothing."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0), none, none, none)

    @property
    def whole(self) -> bool:
        """Whether every weight is known to be a whole number, which counts rows."""
        return self.weight.dtype.kind == "i"

    @property
    def row_counts(self) -> Numbers:
        """Rows of each cell; a row of weight 2 is two rows if weights count rows."""
        if self.whole:
            return self.weight
        return self.count

    @property
    def totals(self) -> Totals:
        """Rows, Σw and Σwy over all cells."""
        if self._totals is None:
            self._totals = Totals(
                int(self.count.sum()), self.weight.sum().item(), self.events.sum().item()
            )
        return self._totals

    def at_means(self) -> "Cells":
        """The cells themselves.

        The rows of a cell share a score, as those of a bin or of a sketch need not.
        """
        return self

    @property
    def square_sums(self) -> tuple[Floats, Floats]:
        """Σw² and Σw²y.

        A whole weight of 2 counts the row twice, and 1² + 1² is the weight itself.
        """
        if self.whole or self.squares is None or self.event_squares is None:
            return self.weight.astype(np.float64), self.events.astype(np.float64)
        return self.squares, self.event_squares

    def residual_squares(self, rate: Floats) -> Floats:
        """Σw²(y − rate)² of each cell."""
        every, of_events = self.square_sums
        return np.asarray(of_events * (1 - rate) ** 2 + (every - of_events) * rate**2)

    @property
    def size(self) -> int:
        return self.score.size

    @property
    def content(self) -> tuple[bytes, ...]:
        """A key by which parts are ordered before draws, whatever the order of their classes."""
        return tuple(
            column.tobytes() for column in (self.score, self.count, self.weight, self.events)
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns that are there, by name."""
        return {name: getattr(self, name) for name in _COLUMNS if getattr(self, name) is not None}

    def __add__(self, other: "Cells") -> "Cells":
        """The sums of both by distinct score, ascending.

        Without cells on one side, the other one; it has floats if the empty side had weights that
        are not whole.
        """
        if self.size == 0 or other.size == 0:
            kept = other if self.size == 0 else self
            dropped = self if self.size == 0 else other
            if dropped.whole or not kept.whole:
                return kept
            return kept.as_floats()
        score = np.concatenate([self.score, other.score])
        order = np.argsort(score, kind="stable")
        score = score[order]
        first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
        weighted = self.squares is not None or other.squares is not None
        mine, theirs = (cells._sums(squares=weighted) for cells in (self, other))
        joined = (np.concatenate(pair)[order] for pair in zip(mine, theirs, strict=True))
        count, *sums = (np.add.reduceat(column, first) for column in joined)
        return Cells(score[first], check_row_total(count), *sums).settled()

    def settled(self) -> "Cells":
        """The same sums as one pass over the rows has them.

        They are floats where whole weights sum to too much.
        """
        if self.squares is None or not self.whole or self.weight.sum() < MOST_WHOLE:
            return self
        return self.as_floats()

    def _sums(self, *, squares: bool) -> list[NDArray[Any]]:
        """The columns beside the score; with `squares`, Σw² is written out even where it is Σw."""
        if squares and self.squares is None:
            return [
                self.count,
                self.weight,
                self.events,
                self.weight.astype(float),
                self.events.astype(float),
            ]
        return list(self.columns().values())[1:]

    def as_floats(self) -> "Cells":
        """The same sums, whole or not, as floats."""
        count, *sums = self._sums(squares=True)
        return Cells(self.score, count, *(column.astype(np.float64) for column in sums))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        pairs = [(getattr(self, name), getattr(other, name)) for name in _COLUMNS]
        return all(same(a, b) and (a is None or a.dtype == b.dtype) for a, b in pairs)


def same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Whether two arrays are equal, or both absent."""
    return (a is None) == (b is None) and (a is None or b is None or np.array_equal(a, b))


_COLUMNS = ("score", "count", "weight", "events", "squares", "event_squares")


def segment_sums(values: Numbers, starts: Ints) -> Numbers:
    """Sums of consecutive segments that begin at `starts` (ascending) and cover all values.

    Integers are exact. Floats are added in runs of 512 and the runs then added,
    so that the error grows with the square root of the length, not with the length.
    """
    if values.dtype.kind != "f" or values.size <= _RUN:
        return np.asarray(np.add.reduceat(values, starts))
    runs = np.union1d(np.arange(0, values.size, _RUN), starts)
    return np.asarray(np.add.reduceat(np.add.reduceat(values, runs), np.searchsorted(runs, starts)))


def score_sums(cells: Cells, starts: Ints) -> Floats:
    """Σwp of consecutive segments of cells, as :func:`segment_sums` adds them."""
    return product_sums(lambda some: cells.weight[some] * cells.score[some], cells.size, starts)


def product_sums(product: Callable[[slice], Floats], size: int, starts: Ints) -> Floats:
    """Sums of consecutive segments of a product of columns.

    The product is never made for all cells at once.
    """
    if size <= _RUN:
        return np.asarray(np.add.reduceat(product(slice(0, size)), starts))
    runs = np.union1d(np.arange(0, size, _RUN), starts)
    sums = [
        np.add.reduceat(product(block), begins)
        for block, _, begins in whole_runs(runs, size, _BLOCK)
    ]
    return np.asarray(np.add.reduceat(np.concatenate(sums), np.searchsorted(runs, starts)))


def pool_cells(
    cells: Cells, most: int = 4096, starts: Ints | None = None, *, ends: int = 0
) -> Cells:
    """Merge neighbouring cells into at most `most` of about equal weight, at their mean scores.

    Counts, weights and events are exact, and Σwp is kept up to rounding. Up to `most` cells are
    returned unchanged. Scores of exactly 0 and 1 are merged like any others: a caller that needs
    log-odds sets them apart first. Beside the `most`, the first cells of bins (`starts`) and `ends`
    outermost cells at either end begin a cell.

    >>> one = np.ones(4, dtype=np.int64)
    >>> few = pool_cells(Cells(np.array([0.1, 0.3, 0.6, 0.8]), one, one, np.array([0, 1, 1, 1])), 2)
    >>> few.score.tolist(), few.weight.tolist(), few.events.tolist()
    ([0.2, 0.7], [2, 2], [1, 2])
    """
    if cells.size <= most:
        return cells
    if starts is None and (most, ends) in cells.memory:
        return cast(Cells, cells.memory[most, ends])
    reached = np.cumsum(cells.weight)
    outermost = np.r_[: ends + 1, cells.size - ends : cells.size]
    share = np.arange(1, most) * (reached[-1] / most)
    if cells.whole:  # compared with floats, the weights of all cells would first be made floats
        share = np.ceil(share).astype(np.int64)
    after = np.searchsorted(reached, share, side="left") + 1
    start = np.unique(np.concatenate([after, outermost, outermost if starts is None else starts]))
    pooled = pool_runs(cells, start[(start >= 0) & (start < cells.size)].astype(np.int64))
    if starts is None:
        cells.memory[most, ends] = pooled
    return pooled


def pool_runs(cells: Cells, start: Ints) -> Cells:
    """One cell for each run of neighbouring cells, at the mean of its scores.

    `start` are the first cells of the runs, ascending. Other columns are added up. The mean is kept
    between the smallest and the largest score of the run.
    """
    sums: dict[str, Any] = {
        name: values for name, values in cells.columns().items() if name != "score"
    }
    total: Floats
    if cells.whole:  # one pass for three sums; whole numbers, as floats, are exact
        n, e = (np.ascontiguousarray(column, np.int64) for column in (cells.weight, cells.events))
        weight, events, total = _kernels.residual_sums(
            np.ascontiguousarray(cells.score), n, e, start
        )[:3]
        whole = {"weight": weight.astype(np.int64), "events": events.astype(np.int64)}
        if cells.squares is None:
            whole["count"] = whole["weight"]
    else:
        whole = {}
        total = score_sums(cells, start)
    sums = {
        name: whole[name] if name in whole else segment_sums(values, start)
        for name, values in sums.items()
    }
    last = np.append(start[1:], cells.size) - 1
    # Rounding could push a mean beyond its scores and across an edge.
    return Cells(np.clip(total / sums["weight"], cells.score[start], cells.score[last]), **sums)
