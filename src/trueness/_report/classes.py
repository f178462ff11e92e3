"""A matrix of scores: every class against the rest, and the k largest scores jointly."""

import math
from collections.abc import Iterable

import numpy as np

from trueness._input.sample import Sample
from trueness._report.evidence import fractional, means, weight_type
from trueness._report.inference import Alpha, Clustered, Notes, Options, collect_warnings, draws_for_tests, significance
from trueness._report.records import ClassRow, TopK
from trueness._tally.clusters import ClusteredRows
from trueness._tally.tally import Tally
from trueness.infer import ece_interval
from trueness.infer._paired_rows import some_rows
from trueness.infer.comparison._compare import holm
from trueness.infer.limits._observed_expected import observed_expected_interval
from trueness.measure import ece
from trueness.results import Interval
from trueness.typing import Ints

_MOST_K = 5
_MOST_ROWS = 200_000


def worst_class(classes: Iterable[ClassRow] | None) -> ClassRow | None:
    """The flagged class with the largest gap; None if none is flagged."""
    return max((one for one in classes or () if one.flagged), key=lambda one: abs(one.gap), default=None)


def class_rows(classwise: Tally, sample: Sample, options: Options, *, segmented: bool) -> tuple[ClassRow, ...]:
    """One row per class, the largest ECE first; segments and classes share half of the error rate."""
    rule, level, seed, cluster, _ = options
    tallies = [Tally("binary", (part,)) for part in classwise.parts]
    alpha = Alpha.of_level(level, parts=1 + segmented).part
    draws = draws_for_tests(tallies, alpha)
    with collect_warnings(Notes()):  # the share shows which classes never occur
        errors = [ece(tally, bins=rule) for tally in tallies]
        found = [
            Notes().attempt("The test", lambda k=k, t=tally: significance(t, draws, seed, _one(sample, k, cluster)))  # type: ignore[misc]
            for k, tally in enumerate(tallies)
        ]
    pvalues = [None if one is None else one.pvalue for one in found]
    total = sum(errors)
    rows = []
    adjusted = _holm_adjusted(pvalues)
    for k, (label, tally, error, p, q) in enumerate(
        zip(classwise.classes or (), tallies, errors, pvalues, adjusted, strict=True)
    ):
        score, share, gap = means(tally)
        damage, flagged = error / total if total else 0.0, q is not None and q <= alpha
        ratio = share / score if score > 0 else math.nan
        limits = _ratio_limits(tally, level, _one(sample, k, cluster))
        rows.append(ClassRow(str(label), share, score, gap, error, damage, p, q, flagged, ratio, *limits))
    return tuple(sorted(rows, key=lambda row: -row.ece))


def _ratio_limits(tally: Tally, level: float, rows: Clustered | None) -> tuple[float, float]:
    """Limits of observed/expected for one class."""
    grouped = None if rows is None else ClusteredRows(*rows)
    found = observed_expected_interval(tally.parts[0], level, grouped)
    return found.low, found.high


def _holm_adjusted(pvalues: list[float | None]) -> list[float | None]:
    """Holm's adjustment over the p-values that exist."""
    known = np.array([p for p in pvalues if p is not None], dtype=np.float64)
    done = iter(holm(known).tolist())
    return [None if p is None else next(done) for p in pvalues]


def _one(sample: Sample, k: int, cluster: Ints | None) -> Clustered | None:
    """One class against the rest, with the clusters."""
    if cluster is None:
        return None
    return Clustered(Sample((sample.y == k).view(np.uint8), sample.p[:, k], sample.w), cluster)


def top_k(sample: Sample, options: Options, notes: Notes) -> tuple[TopK, ...]:
    """The l2 error of the k largest scores jointly, for k from 1 to 5 or the number of classes."""
    (n, classes), cluster = sample.p.shape, options.cluster
    most = min(_MOST_K, classes)
    if fractional(sample):
        notes.add("The confidence set of several scores jointly requires whole-number weights: k = 1 only.")
        most = 1
    if cluster is not None:
        notes.add("No confidence set of several scores jointly takes clusters into account: k = 1 only.")
        most = 1
    if n > _MOST_ROWS:
        sample = some_rows(sample, np.arange(_MOST_ROWS))
        options = options._replace(cluster=None if cluster is None else cluster[:_MOST_ROWS])
        notes.add(f"The errors of the k largest scores use the first {_MOST_ROWS:,} rows.")
    found = []
    for k in range(1, most + 1):
        one = notes.attempt(
            f"The error of the {k} largest scores",
            lambda k=k: _interval(sample, k, options),  # type: ignore[misc]
        )
        if one is not None:
            found.append(TopK(k, one))
    return tuple(found)


def _interval(sample: Sample, k: int, options: Options) -> Interval:
    return ece_interval(
        sample.y,
        sample.p,
        k=k,
        cluster=options.cluster,
        level=options.level,
        seed=options.seed,
        sample_weight=sample.w,
        weight_type=weight_type(sample),
        sum_tolerance=sample.tolerance,
    )
