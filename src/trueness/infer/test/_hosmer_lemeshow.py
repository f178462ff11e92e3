"""The Hosmer-Lemeshow test: observed and expected events in groups of rows."""

import numpy as np
from scipy.special import chdtrc

from trueness._tally.cells import Cells, segment_sums
from trueness._tally.evidence import bin_starts
from trueness._tally.rules import EqualMass
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import caveat, monte_carlo_outcome, of_events, with_draws
from trueness.infer.test._method import Options, Outcome, observed_events, require_counts, squared_weights
from trueness.typing import Floats

# Variance of the events of a group from which on their number is nearly normal.
_LEAST_VARIANCE = 5.0


def hosmer_lemeshow(cells: Cells, options: Options) -> Outcome:
    """Σ (observed − expected)² / (n p̄ (1 − p̄)) over the groups."""
    rule = options.rule or EqualMass(10)
    first = bin_starts(cells, rule)
    weight, squares = (segment_sums(w.astype(np.float64), first) for w in (cells.weight, squared_weights(cells)))
    expected = segment_sums(cells.weight * cells.score, first)
    mean = np.clip(expected / weight, 0, 1)
    variance = squares * mean * (1 - mean)
    varies = variance > 0

    def statistic(events: Floats) -> Floats:
        excess = np.add.reduceat(events, first, axis=1) - expected
        # A group whose scores are all 0, or all 1, adds nothing if its labels agree.
        impossible = (excess[:, ~varies] != 0).any(axis=1)
        with np.errstate(over="ignore"):  # an event of score 1e-320 is practically impossible
            value = (excess[:, varies] ** 2 / variance[varies]).sum(axis=1)
        return np.where(impossible, np.inf, value)

    groups = f"Groups: {rule!r}, {first.size} of them."
    (value,) = statistic(observed_events(cells))
    # In units of the mean weight, so that fractional weights count too. An infinite value is impossible.
    enough = variance * weight**2 >= _LEAST_VARIANCE * squares**2
    accurate = bool(enough[varies].all() or np.isinf(value))
    if not options.fitted:
        options = with_draws(cells, options, accurate=accurate)
    if options.resamples:
        rows = "Rows are independent and were not used to fit the model"
        return monte_carlo_outcome(of_events(statistic), cells, options, rows=rows, detail=groups)
    freedom = _freedom(int(varies.sum()), options.fitted, cells)
    fitted = "were used to fit a logistic model with intercept" if options.fitted else "were not used to fit the model"
    assumptions = (
        f"Rows are independent and {fitted}: {freedom} degrees of freedom. Every group has several expected events "
        f"and non-events. {groups}{caveat(accurate=accurate)}"
    )
    return Outcome(float(value), float(chdtrc(freedom, value)) if freedom else float(value == 0), assumptions)


def _freedom(groups: int, fitted: bool, cells: Cells) -> int:
    if not fitted:
        return groups
    require_counts(cells, "`fitted=True`")
    if groups < 3:
        raise InputError(
            "fitted",
            "leaves g − 2 degrees of freedom and needs g ≥ 3 groups",
            f"there are {groups}",
            remedy="Increase it with `bins=EqualMass(10)`, or test on rows that were not used to fit.",
        )
    return groups - 2
