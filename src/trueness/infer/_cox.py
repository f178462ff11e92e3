"""Cox's test: whether the calibration line has slope 1 and intercept 0."""

import numpy as np
from scipy.special import chdtrc

from trueness._tally.cells import Cells
from trueness.infer._finding import Ask, Finding, events_of, squared_weights, whole
from trueness.infer._null_draws import monte_carlo, weighted_sums
from trueness.typing import Floats

__all__ = ["cox"]

# Log-odds whose variance is a smaller share of their mean square are equal.
_EQUAL = 1e-12


def cox(cells: Cells, ask: Ask) -> Finding:
    """The score test with the information at slope 1 and intercept 0."""
    score = _Score(cells)
    if ask.resamples:
        found = monte_carlo(score, whole(cells, "redrawing labels"), ask.resamples, ask.rng)
        statistic, pvalue = (float(value) for value in found)
        rest = f"the level is exact at any n: {ask.resamples:,} sets of labels were drawn from the scores"
    else:
        statistic = float(score(events_of(cells))[0])
        pvalue = float(chdtrc(score.freedom, statistic)) if score.freedom else float(statistic == 0)
        rest = "the score is near normal: many rows, none with much of the information"
    assumed = (
        f"Rows are independent; {rest}. Chi-squared with {score.freedom} degrees of freedom: only "
        "departures of slope and intercept of the log-odds are seen."
    )
    return Finding(statistic, pvalue, assumed, 1 / (ask.resamples + 1) if ask.resamples else 0.0)


class _Score:
    """S' V⁻¹ S for S = Σ (y − p)(1, x), x the log-odds, as the squares of two uncorrelated parts.

    Scores of 0 and 1, whose log-odds are infinite, enter by their limits: nothing if the label agrees, an
    infinite score if it does not.
    """

    def __init__(self, cells: Cells) -> None:
        p = cells.score
        self.sure = (p == 0) | (p == 1)
        self.certain = np.where(p == 1, cells.weight, 0)[self.sure]
        self.inside = np.flatnonzero(~self.sure)
        p = p[self.inside]
        v = squared_weights(cells)[self.inside] * p * (1 - p)
        x = np.log(p) - np.log1p(-p)
        self.expected = cells.weight[self.inside] * p
        self.information = float(v.sum())
        centre = float((v * x).sum()) / self.information if self.information > 0 else 0.0
        self.away = x - centre
        self.second = float((v * self.away**2).sum())
        spread = self.second > _EQUAL * self.information * (1 + centre**2)
        self.freedom = int(self.information > 0) + int(spread)

    def __call__(self, events: Floats) -> Floats:
        excess = events[:, self.inside] - self.expected
        value = np.zeros(len(events))
        with np.errstate(over="ignore"):  # an event of score 1e-320 is as good as impossible
            if self.freedom > 0:
                value += excess.sum(axis=1) ** 2 / self.information
            if self.freedom > 1:
                value += weighted_sums(excess, self.away) ** 2 / self.second
        value[(events[:, self.sure] != self.certain).any(axis=1)] = np.inf
        return value
