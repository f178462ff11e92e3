"""Boundaries of histogram binning: where bins are cut, and which labels each bin averages."""

from typing import NamedTuple

import numpy as np

from trueness._tally.cells import Cells
from trueness.typing import Floats, Ints


class Cuts(NamedTuple):
    """Bins [edges[b], edges[b + 1]), the last one closed, and the labels inside them."""

    edges: Floats
    """0, the scores of the boundary points, 1."""
    ties: Floats | None
    """A random number for each boundary point, which orders it among points of equal score; None if unused."""
    counts: Ints
    """Number of labels inside each bin, without boundary points."""
    events: Floats
    """Events among them."""
    boundary_labels: Floats
    """Labels of the boundary points."""


def boundary_ranks(n: int, n_bins: int) -> Ints:
    """0, ⌈Δ⌉, ⌈2Δ⌉, …, n + 1 with Δ = (n + 1) / B.

    Integer arithmetic throughout: in floats, products such as 1.5 · (50 / 22) may be slightly too large, which would
    raise their ceiling by one.
    """
    kind = np.int64 if (n + 1) * n_bins < 1 << 62 else object  # products of large weights do not fit into int64
    return np.asarray(-(-np.arange(n_bins + 1, dtype=kind) * (n + 1) // n_bins), dtype=np.int64)


def rank_cuts(cells: Cells, n_bins: int, rng: np.random.Generator | None = None) -> Cuts:
    """Cut at order statistics, whose own labels count in no bin.

    `rng` puts points of equal score in random order. Without it, each has the mean label of its cell, which is the
    average over random orders and does not depend on the order of the rows.
    """
    through = np.cumsum(cells.weight)
    n = int(through[-1])
    ranks = boundary_ranks(n, n_bins)
    inner = ranks[1:-1]
    cell = np.searchsorted(through, inner, side="left")
    ahead = inner - 1 - (through[cell] - cells.weight[cell])  # points of the same score before the boundary point
    if rng is None:
        label = cells.events[cell] / cells.weight[cell]
        within, ties = ahead * label, None
    else:
        within, label, ties = _in_random_order(cells, cell, ahead, rng)
    reached = np.cumsum(cells.events)
    before = reached[cell] - cells.events[cell] + within
    events = np.append(before, reached[-1]) - np.concatenate([[0.0], before + label])
    edges = np.concatenate([[0.0], cells.score[cell], [1.0]])
    return Cuts(edges, ties, np.diff(ranks) - 1, events, label.astype(np.float64))


def _in_random_order(cells: Cells, cell: Ints, ahead: Ints, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Events before each boundary point in its cell, its label, and its random number."""
    within, label, ties = np.zeros((3, cell.size))
    # Cells are visited in ascending order of score, so the draws do not depend on the order or repetition of rows.
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    for start, stop in zip(starts, np.append(starts, cell.size)[1:], strict=True):
        count, events = int(cells.weight[cell[start]]), int(cells.events[cell[start]])
        labels = rng.permutation(np.arange(count) < events)
        at = ahead[start:stop]
        within[start:stop] = np.concatenate([[0], np.cumsum(labels)])[at]
        label[start:stop] = labels[at]
        ties[start:stop] = np.sort(rng.random(count))[at]
    return within, label, ties


def split_cuts(cells: Cells, n_bins: int, n_cut: int, rng: np.random.Generator) -> Cuts:
    """Cut at order statistics of `n_cut` points drawn at random; average the labels of the others."""
    n = int(cells.weight.sum())
    # Points in ascending order of (score, label), so that the draw does not depend on the order of the rows.
    of = np.repeat(np.arange(cells.size), cells.weight.astype(np.int64))
    first = np.cumsum(cells.weight) - cells.weight
    label = np.arange(n) - first[of] >= (cells.weight - cells.events)[of]
    drawn = rng.permutation(n) < n_cut
    inner = boundary_ranks(n_cut, n_bins)[1:-1] - 1
    cutting = cells.score[of[drawn]][inner]
    place = np.searchsorted(cutting, cells.score[of[~drawn]], side="right")
    counts = np.bincount(place, minlength=n_bins)
    events = np.bincount(place, weights=label[~drawn], minlength=n_bins).astype(np.float64)
    return Cuts(np.concatenate([[0.0], cutting, [1.0]]), None, counts, events, label[drawn][inner].astype(np.float64))
