"""Pairs of models or groups: each difference by itself, and all of them together."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from trueness._numerics.holm import holm
from trueness.results import Difference


class PairDifference(NamedTuple):
    """A difference with its standard error, p-value, and interval as a function of the level."""

    value: float
    error: float
    pvalue: float
    interval: Callable[[float], tuple[float, float]]


def with_adjustment(
    found: Mapping[tuple[str, str], PairDifference], level: float
) -> tuple[Difference, ...]:
    """Every pair, with p-values adjusted by Holm's method and simultaneous limits by Bonferroni's."""
    adjusted = holm(np.array([d.pvalue for d in found.values()]))
    each = 1 - (1 - level) / len(found)
    return tuple(
        Difference(
            *names, d.value, d.error, *d.interval(level), d.pvalue, float(p), *d.interval(each)
        )
        for (names, d), p in zip(found.items(), adjusted, strict=True)
    )


def multiplicity(compared: str, m: int, level: float) -> str:
    """What was done about the number of pairs; `compared` is how many things of which kind there are."""
    if m == 1:
        return "One comparison: nothing to adjust for."
    return (
        f"{number_of(m)} of {compared}: adjusted p-values by Holm's method; simultaneous intervals by "
        f"Bonferroni's, each of level {100 * (1 - (1 - level) / m):.4g} %, so that all cover jointly with "
        f"probability {100 * level:g} %."
    )


def number_of(comparisons: int) -> str:
    return f"{comparisons:,} comparison{'' if comparisons == 1 else 's'}"
