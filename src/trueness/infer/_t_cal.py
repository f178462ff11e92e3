"""T-Cal: sums over pairs of rows, at one resolution or at every one."""

import math

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.rules import EqualWidth
from trueness.infer._finding import Ask, Finding, whole
from trueness.infer._null_draws import drawn_pvalue, entries_of, redrawn
from trueness.infer._pair_statistic import NestedPairs, PairStatistic, first_cells
from trueness.typing import Ints

__all__ = ["adaptive_t_cal", "resolutions", "t_cal"]


def t_cal(cells: Cells, ask: Ask) -> Finding:
    """T-Cal at one resolution, with a Monte-Carlo p-value."""
    n = int(whole(cells, "T-Cal").weight.sum())
    rule = ask.rule or EqualWidth(max(2, round(n**0.4)))
    resamples = ask.resamples or 999
    z, count = entries_of(cells)
    of_hits = PairStatistic(z, count, first_cells(cells, rule), "rows")
    (statistic,) = of_hits([cells.events[:, np.newaxis]])
    pvalue = drawn_pvalue(statistic, np.concatenate([of_hits(hits) for hits in redrawn(z, count, resamples, ask.rng)]))
    assumed = (
        f"Rows are independent; the level is exact at any n: {resamples:,} sets of labels were drawn from the "
        f"scores. Bins: {rule!r}."
    )
    return Finding(float(statistic), float(pvalue), assumed, 1 / (resamples + 1))


def adaptive_t_cal(cells: Cells, ask: Ask) -> Finding:
    """T-Cal at all resolutions 2, 4, 8, …, with Bonferroni's correction."""
    levels = resolutions(int(whole(cells, "T-Cal").weight.sum()))
    resamples = ask.resamples or max(999, 100 * levels - 1)
    least = min(1.0, levels / (resamples + 1))
    depth, partitions = _partitions(cells, levels)
    if not partitions:
        silent = f"No two rows share a bin at any of {levels} resolutions: nothing can be said."
        return Finding(0.0, 1.0, silent, least)
    z, count = entries_of(cells)
    of_events = NestedPairs(z[:, 0], count, partitions)
    (statistics,) = of_events(cells.events[:, np.newaxis])
    drawn = np.concatenate([of_events(events) for (events,) in redrawn(z, count, resamples, ask.rng)])
    pvalues = drawn_pvalue(statistics, drawn)
    best = int(pvalues.argmin())
    assumed = (
        f"Rows are independent; the level holds at any n: {resamples:,} sets of labels were drawn from the scores. "
        f"The smallest of {levels} p-values, times {levels}: that of {2 ** depth[best]:,} bins of equal width."
    )
    return Finding(float(statistics[best]), min(1.0, levels * float(pvalues[best])), assumed, least)


def resolutions(n: int) -> int:
    """How many resolutions are tried for n rows: ⌈2 log₂(n / √log n)⌉."""
    return max(1, math.ceil(2 * math.log2(n / math.sqrt(math.log(n))))) if n > 1 else 1


def _partitions(cells: Cells, levels: int) -> tuple[list[int], list[Ints]]:
    """Bins of width 2⁻ᵇ for b = 1, …, as long as some bin has two rows; equal partitions are listed once.

    What is left out changes no result: where no bin has two rows, T is 0 for any labels and its p-value 1;
    equal partitions have equal p-values.
    """
    depth: list[int] = []
    partitions: list[Ints] = []
    most = int(cells.weight.max())
    for b in range(1, levels + 1):
        # Times a power of two is exact, so that finer bins lie within coarser ones. 1 is in the last bin.
        place = np.minimum(np.floor(np.ldexp(cells.score, b)), math.ldexp(1.0, b) - 1)
        first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        if first.size == cells.size and most == 1:
            break
        if not partitions or first.size > partitions[-1].size:
            depth.append(b)
            partitions.append(first)
    return depth, partitions
