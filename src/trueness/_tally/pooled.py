"""A tally with fewer cells, for what is drawn or redrawn many times."""

import numpy as np

from trueness._tally.cells import Cells, score_sums, segment_sums
from trueness._tally.rules import BinRule
from trueness.typing import Ints

__all__ = ["pooled_cells"]


def pooled_cells(cells: Cells, most: int, rule: BinRule | None = None) -> Cells:
    """At most about `most` cells of equal mass, each at the mean of its scores; none lies across an edge of `rule`.

    Cells that are few enough come back as they are.
    """
    if cells.size <= most:
        return cells
    start = _starts(cells, most, rule)
    weight = segment_sums(cells.weight, start)
    score = score_sums(cells, start) / weight
    last = np.append(start[1:], cells.size) - 1
    return Cells(
        # A mean that rounding pushes beyond its scores could cross an edge.
        np.clip(score, cells.score[start], cells.score[last]),
        np.asarray(segment_sums(cells.count, start), dtype=np.int64),
        weight,
        segment_sums(cells.events, start),
        None if cells.squares is None else np.asarray(segment_sums(cells.squares, start), dtype=np.float64),
        None if cells.event_squares is None else np.asarray(segment_sums(cells.event_squares, start), dtype=np.float64),
    )


def _starts(cells: Cells, most: int, rule: BinRule | None) -> Ints:
    cuts = _cuts(cells, most)
    edges = np.zeros(0, dtype=np.int64) if rule is None else rule.group(cells).start
    start = np.unique(np.concatenate([[0], cuts, edges]))
    return start[start < cells.size].astype(np.int64)


def _cuts(cells: Cells, most: int) -> Ints:
    """The cells after those in which the weight reaches the first, second, … of `most` equal shares."""
    if not cells.exact:
        reached = np.cumsum(cells.weight)
        return np.asarray(np.searchsorted(reached, np.arange(1, most) * (reached[-1] / most), side="left") + 1)
    total = int(cells.weight.sum())
    # Whole numbers: compared with floats, the weights of all cells would first be made floats.
    wanted = np.ceil(np.arange(1, most) * (total / most)).astype(np.int64)
    if total == cells.size:  # one row each
        return np.asarray(wanted)
    return np.asarray(np.searchsorted(np.cumsum(cells.weight), wanted, side="left") + 1)
