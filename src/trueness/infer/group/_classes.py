"""Every class of a matrix of scores against the rest, tested jointly."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trueness._input.arguments import generator
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinsLike
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.test._calibration_test import test_of
from trueness.infer.test._method import holm
from trueness.measure import ece
from trueness.results._segments import ClassRow

_DRAWS = 999
_TEST_LABELS = 2e8  # each costs some 20 ns


def classes_of(
    evidence: Evidence, *, bins: BinsLike = 10, level: float = 0.95, alpha: float, seed: Any = 0
) -> tuple[ClassRow, ...]:
    """One row per class, the largest ECE first; flags have joint level `alpha`."""
    classes = evidence.by_class()
    draws = _draws([one.tally for one in classes.values() if one.tally is not None], alpha)
    errors = {label: float(ece(one.sums, bins=bins)) for label, one in classes.items()}
    pvalues = [_pvalue(one, draws, seed) for one in classes.values()]
    total, rows = sum(errors.values()), []
    for label, p, q in zip(classes, pvalues, holm_adjusted(pvalues), strict=True):
        one = classes[label]
        score, share, gap = one.means
        limits = ratio_limits(one.cells, level, one.clustered if one.dependent else None)
        rows.append(
            ClassRow(
                label=str(label),
                share=share,
                score=score,
                gap=gap,
                ece=errors[label],
                damage=errors[label] / total if total else 0.0,
                pvalue=p,
                adjusted_pvalue=q,
                flagged=q is not None and q <= alpha,
                ratio=share / score if score > 0 else math.nan,
                ratio_low=limits.low,
                ratio_high=limits.high,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.ece))


def worst_class(classes: Iterable[ClassRow] | None) -> ClassRow | None:
    """The flagged class with the largest gap; None if none is flagged."""
    return max((one for one in classes or () if one.flagged), key=lambda one: abs(one.gap), default=None)


def _pvalue(one: Evidence, draws: int | None, seed: Any) -> float | None:
    """The omnibus test, or the Kolmogorov–Smirnov test if redrawing costs too much or weights are fractional.

    With clusters it is always the omnibus test: all methods then draw.
    """
    try:
        if draws is None and not one.dependent:
            return test_of(one, method="ks", rng=generator(seed)).pvalue
        return test_of(one, resamples=draws or _DRAWS, rng=generator(seed)).pvalue
    except InputError:
        return None


def _draws(tallies: Sequence[Tally], alpha: float) -> int | None:
    """Draws that let the smallest p-value survive a correction for all the tests; None if that costs too much."""
    draws = max(_DRAWS, math.ceil(round(2 * len(tallies) / alpha, 6)) - 1)
    cells = sum(part.size for tally in tallies for part in tally.parts)
    exact = all(part.whole for tally in tallies for part in tally.parts)
    return draws if exact and cells * draws <= _TEST_LABELS else None


def holm_adjusted(pvalues: list[float | None]) -> list[float | None]:
    """Holm's adjustment over the p-values that exist."""
    known = np.array([p for p in pvalues if p is not None], dtype=np.float64)
    done = iter(holm(known).tolist())
    return [None if p is None else next(done) for p in pvalues]
