"""The exact conditional test: the unbiased squared error against labels redrawn from the scores."""

from trueness._tally.cells import Cells
from trueness._tally.rules import EqualMass
from trueness.infer._finding import Ask, Finding, whole
from trueness.infer._null_draws import monte_carlo
from trueness.infer._pair_statistic import PairStatistic, first_cells

__all__ = ["exact"]


def exact(cells: Cells, ask: Ask) -> Finding:
    """T with its Monte-Carlo p-value."""
    n = int(whole(cells, "method='exact'").weight.sum())
    rule = ask.rule or EqualMass(max(5, round(n**0.4)))
    resamples = ask.resamples or 999
    pairs = PairStatistic(cells, [first_cells(cells, rule)], "pairs")
    (statistic,), (pvalue,) = monte_carlo(pairs, cells, resamples, ask.rng)
    assumed = (
        f"Rows are independent; the level is exact at any n: {resamples:,} sets of labels were drawn from the "
        f"scores. Bins: {rule!r}."
    )
    return Finding(float(statistic), float(pvalue), assumed, 1 / (resamples + 1))
