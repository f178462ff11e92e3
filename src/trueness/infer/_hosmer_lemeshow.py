"""Hosmer-Lemeshow: observed and expected events of groups of rows."""

import numpy as np
from scipy.special import chdtrc

from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rules import EqualMass
from trueness.errors import InputError
from trueness.infer._finding import Ask, Finding, events_of, squared_weights, whole
from trueness.infer._null_draws import monte_carlo
from trueness.infer._pair_statistic import first_cells
from trueness.typing import Floats

__all__ = ["hosmer_lemeshow"]


def hosmer_lemeshow(cells: Cells, ask: Ask) -> Finding:
    """Σ (observed − expected)² / (n p̄ (1 − p̄)) over the groups."""
    rule = ask.rule or EqualMass(10)
    first = first_cells(cells, rule)
    weight, squares = (segment_sums(w.astype(np.float64), first) for w in (cells.weight, squared_weights(cells)))
    expected = segment_sums(cells.weight * cells.score, first)
    mean = np.clip(expected / weight, 0, 1)
    variance = squares * mean * (1 - mean)
    varies = variance > 0

    def statistic(events: Floats) -> Floats:
        excess = np.add.reduceat(events, first, axis=1) - expected
        # A group whose scores are all 0, or all 1, adds nothing if its labels agree.
        impossible = (excess[:, ~varies] != 0).any(axis=1)
        with np.errstate(over="ignore"):  # an event of score 1e-320 is as good as impossible
            value = (excess[:, varies] ** 2 / variance[varies]).sum(axis=1)
        return np.where(impossible, np.inf, value)

    groups = int(varies.sum())
    if ask.resamples:
        value, pvalue = monte_carlo(statistic, whole(cells, "redrawing labels"), ask.resamples, ask.rng)
        assumed = (
            "Rows are independent and were not used to fit the model; the level is exact at any n: "
            f"{ask.resamples:,} sets of labels were drawn from the scores. Groups: {rule!r}, {first.size} of them."
        )
        return Finding(float(value), float(pvalue), assumed, 1 / (ask.resamples + 1))
    (value,) = statistic(events_of(cells))
    freedom = _freedom(groups, ask.fitted, cells)
    held = "were used to fit a logistic model with intercept" if ask.fitted else "were not used to fit the model"
    assumed = (
        f"Rows are independent and {held}: {freedom} degrees of freedom. Every group has several expected events "
        f"and non-events. Groups: {rule!r}, {first.size} of them."
    )
    return Finding(float(value), float(chdtrc(freedom, value)) if freedom else float(value == 0), assumed)


def _freedom(groups: int, fitted: bool, cells: Cells) -> int:
    if not fitted:
        return groups
    whole(cells, "`fitted=True`")
    if groups < 3:
        raise InputError(
            f"`fitted=True` leaves g − 2 degrees of freedom and needs g ≥ 3 groups; there are {groups}. "
            "Ask for more with `bins=EqualMass(10)`, or test on rows that were not used to fit."
        )
    return groups - 2
