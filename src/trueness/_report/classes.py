"""A matrix of scores: every class against the rest, and the k largest scores jointly."""

import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from trueness._input.arguments import generator
from trueness._report.inference import Alpha, Notes, Options, collect_warnings, draws_for_tests, significance
from trueness._report.records import ClassRow, TopK
from trueness._report.subject import means
from trueness._tally.evidence import Evidence
from trueness.infer.comparison._compare import holm
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._observed_expected import observed_expected_interval
from trueness.measure import ece

_MOST_K = 5
_MOST_ROWS = 200_000


def worst_class(classes: Iterable[ClassRow] | None) -> ClassRow | None:
    """The flagged class with the largest gap; None if none is flagged."""
    return max((one for one in classes or () if one.flagged), key=lambda one: abs(one.gap), default=None)


def class_rows(data: Evidence, options: Options, *, segmented: bool) -> tuple[ClassRow, ...]:
    """One row per class, the largest ECE first; segments and classes share half of the error rate."""
    rule, level, seed, _ = options
    classes, alpha = data.by_class(), Alpha.of_level(level, parts=1 + segmented).part
    tallies = [one.tally for one in classes.values() if one.tally is not None]
    draws = draws_for_tests(tallies, alpha)
    with collect_warnings(Notes()):  # the share shows which classes never occur
        errors = {label: float(ece(one.sums, bins=rule)) for label, one in classes.items()}
        found = [Notes().attempt("The test", partial(significance, one, draws, seed)) for one in classes.values()]
    pvalues = [None if one is None else one.pvalue for one in found]
    total, rows = sum(errors.values()), []
    for label, p, q in zip(classes, pvalues, _holm_adjusted(pvalues), strict=True):
        one = classes[label]
        score, share, gap = means(one.sums)
        limits = observed_expected_interval(one.cells, level, one.clustered if one.dependent else None)
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


def _holm_adjusted(pvalues: list[float | None]) -> list[float | None]:
    """Holm's adjustment over the p-values that exist."""
    known = np.array([p for p in pvalues if p is not None], dtype=np.float64)
    done = iter(holm(known).tolist())
    return [None if p is None else next(done) for p in pvalues]


def top_k(data: Evidence, options: Options, notes: Notes) -> tuple[TopK, ...]:
    """The l2 error of the k largest scores jointly, for k from 1 to 5 or the number of classes."""
    n, classes = data.matrix.p.shape
    most = min(_MOST_K, classes)
    if not data.whole:
        notes.add("The confidence set of several scores jointly requires whole-number weights: k = 1 only.")
        most = 1
    if data.dependent:
        notes.add("No confidence set of several scores jointly takes clusters into account: k = 1 only.")
        most = 1
    if n > _MOST_ROWS:
        data = data.at(np.arange(_MOST_ROWS))
        notes.add(f"The errors of the k largest scores use the first {_MOST_ROWS:,} rows.")
    found = []
    for k in range(1, most + 1):
        ask = partial(interval_of, data, k=k, level=options.level, rng=generator(options.seed))
        one = notes.attempt(f"The error of the {k} largest scores", ask)
        if one is not None:
            found.append(TopK(k, one))
    return tuple(found)
