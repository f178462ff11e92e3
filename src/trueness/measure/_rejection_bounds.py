"""Limits of a norm over bins of the percentage of their scores that a test refutes."""

import math

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule
from trueness.measure._bin_bounds import Ends, bins_between, root_mean
from trueness.measure._cuts import Cuts
from trueness.measure._mass_cuts import doubt_of
from trueness.measure._tce import Test
from trueness.measure._tested_bounds import decisions, refuted
from trueness.typing import Floats

__all__ = ["rejection_norm"]


def rejection_norm(part: GridCells, cuts: Cuts, rule: BinRule, alpha: float, test: Test, norm: float) -> Ends:
    r"""The norm of 100·R/(R + A), for bins in which R of the weight is refuted and A is not.

    The share rises with R and falls with A, and so does the term :math:`R^q (R + A)^{1 - q}` of the q-th power.
    """
    if norm == 1:
        return refuted(part, cuts, rule, alpha, test)
    at, rejects, accepts = decisions(part, cuts, rule, alpha, test)
    weight = np.asarray(part.weight, dtype=np.float64)[at.cell]
    bins = bins_between(cuts.weight, floor=True)
    room = 0.0 if part.exact else doubt_of(part) * float(part.weight.sum())
    least_refuted, least_not = at.surely(weight * rejects), at.surely(weight * accepts)
    most_refuted, most_not = (
        np.minimum(at.possibly(weight * ~sure), np.maximum(bins.high + room - least, 0))
        for sure, least in ((accepts, least_not), (rejects, least_refuted))
    )
    low = _norm(least_refuted, most_not, float(part.weight.sum()), norm)
    return Ends(low, _norm(most_refuted, least_not, float(part.weight.sum()), norm))


def _norm(refuted: Floats, not_refuted: Floats, total: float, norm: float) -> float:
    some = refuted > 0
    r, w = refuted[some], (refuted + not_refuted)[some]
    if norm == math.inf:
        return 100 * float(np.max(r / w, initial=0.0))
    return 100 * root_mean(r / w, w, total, norm)
