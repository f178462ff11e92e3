"""Pairs of models or groups: each difference by itself, and all of them together."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from trueness._level import level_percent
from trueness._numerics.holm import holm
from trueness.results import Difference


class PairDifference(NamedTuple):
    """A difference with its standard error, p-value, and interval as a function of the level."""

    value: float
    error: float
    pvalue: float
    interval: Callable[[float], tuple[float, float]]


def with_adjustment(
    pairs: Mapping[tuple[str, str], PairDifference], level: float
) -> tuple[Difference, ...]:
    """Every pair with limits and p-value, and those that allow for the number of pairs.

    `pairs` has each difference by the names of its first and second part. `level` is the confidence
    of `low` and `high` of each pair alone, and of the simultaneous limits of all together
    (Bonferroni). P-values are adjusted by Holm's method.
    """
    adjusted = holm(np.array([pair.pvalue for pair in pairs.values()]))
    pair_level = 1 - (1 - level) / len(pairs)
    differences = []
    for ((first, second), pair), adjusted_pvalue in zip(pairs.items(), adjusted, strict=True):
        low, high = pair.interval(level)
        simultaneous_low, simultaneous_high = pair.interval(pair_level)
        difference = Difference(
            first=first,
            second=second,
            difference=pair.value,
            standard_error=pair.error,
            low=low,
            high=high,
            pvalue=pair.pvalue,
            adjusted_pvalue=float(adjusted_pvalue),
            simultaneous_low=simultaneous_low,
            simultaneous_high=simultaneous_high,
        )
        differences.append(difference)
    return tuple(differences)


def multiplicity(compared: str, m: int, level: float) -> str:
    """What was done about the number of pairs; `compared` says what was compared, "3 models"."""
    if m == 1:
        return "One comparison: nothing to adjust for."
    pair_level = 1 - (1 - level) / m
    return (
        f"{number_of(m)} of {compared}: adjusted p-values by Holm's method; simultaneous intervals "
        f"by Bonferroni's, each of level {level_percent(pair_level)}, so that all cover jointly "
        f"with probability {level_percent(level)}."
    )


def number_of(comparisons: int) -> str:
    """The number of comparisons in words."""
    if comparisons == 1:
        return "1 comparison"
    return f"{comparisons:,} comparisons"
