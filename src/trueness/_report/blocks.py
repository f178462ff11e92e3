"""The test-based reliability diagram: isotonic blocks, and which of their scores an exact test refutes."""

from itertools import pairwise

import numpy as np

from trueness._report.records import Blocks
from trueness._tally.cells import Cells
from trueness._tally.rules import BlockIsotonic
from trueness.measure._tce import rejections
from trueness.typing import Floats, Ints

__all__ = ["blocks_of"]

_QUARTILES = (0.25, 0.5, 0.75)


def blocks_of(cells: Cells, alpha: float) -> Blocks:
    """One column entry per block; the shares refuted, averaged over rows, are the TCE."""
    rule = BlockIsotonic()
    groups = rule.group(cells)
    start, weight = groups.start, cells.weight
    refuted = rejections(cells, start[:-1], alpha, "binomial")
    n = np.add.reduceat(weight, start[:-1])
    quartiles = np.array([_quartiles(cells, a, b) for a, b in pairwise(start)])
    return Blocks(
        low_edge=_listed(groups.edges[:-1]),
        high_edge=_listed(groups.edges[1:]),
        n=tuple(int(v) for v in n),
        rate=_listed(np.add.reduceat(cells.events, start[:-1]) / n),
        score_min=_listed(cells.score[start[:-1]]),
        score_q1=_listed(quartiles[:, 0]),
        score_median=_listed(quartiles[:, 1]),
        score_q3=_listed(quartiles[:, 2]),
        score_max=_listed(cells.score[start[1:] - 1]),
        refuted=_listed(np.add.reduceat(np.where(refuted, weight, 0), start[:-1]) / n),
        alpha=alpha,
        rule=repr(rule),
    )


def _quartiles(cells: Cells, first: int, end: int) -> Floats:
    """The least score that a quarter, half and three quarters of the rows do not exceed."""
    reached: Ints = np.cumsum(cells.weight[first:end])
    at = np.searchsorted(reached, np.array(_QUARTILES) * reached[-1], side="left")
    return np.asarray(cells.score[first:end][at])


def _listed(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())
