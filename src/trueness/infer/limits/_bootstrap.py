"""Basic bootstrap limits for any function of a tally."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.tally import Tally
from trueness.errors import quietly
from trueness.infer.interval._resampling import basic_interval
from trueness.infer.limits._limits import Asked, Limits, LimitsOf

_RESAMPLES = 999


def bootstrap_limits(function: Callable[[Any], float]) -> LimitsOf:
    """Limits reflected about the value: 2 · value − quantiles of the resampled values.

    They make up for a bias that is the same for rows and resamples, as percentile limits do not.
    """

    def limits(asked: Asked) -> Limits:
        value, draw = asked.value, _resampler(asked.evidence, asked.rng)
        if draw is None:
            return Limits(note="No bootstrap: these sums do not keep the rows apart. Pass labels and scores.")
        drawn = np.array([float(quietly(function, draw())) for _ in range(_RESAMPLES)])
        known = drawn[~np.isnan(drawn)]
        if known.size < 2 or math.isnan(value):
            return Limits(note="No bootstrap: the measure is undefined for the resampled rows.")
        low, high = basic_interval(value, known, asked.level)
        what = "clusters" if asked.evidence.dependent else "rows"
        return Limits(low, high, f"basic bootstrap of {what}", float(known.std(ddof=1)))

    return limits


def _resampler(evidence: Evidence, rng: np.random.Generator) -> Callable[[], Tally] | None:
    """A function that resamples clusters, or rows of whole weights, as a tally."""
    tally, rows = evidence.tally, evidence.in_clusters
    sample, codes = (None, None) if rows is None else (rows.top, rows.cluster)
    if evidence.view == "classwise" and evidence.rows is not None:
        sample, codes = evidence.matrix, None
        if evidence.dependent:
            sample, codes = evidence.expanded.matrix, evidence.expanded.cluster
    if sample is not None and tally is not None and (codes is not None or sample.w is None):
        groups = []
        if codes is not None:
            order = np.argsort(codes, kind="stable")
            groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)

        def of_sample() -> Tally:
            n = len(groups) or sample.y.size
            some = rng.integers(0, n, n)
            some = np.concatenate([groups[i] for i in some]) if groups else some
            cells = tally_of(sample.at(some, None if sample.w is None else sample.w[some]), "classwise").parts
            return Tally(tally.kind, cells, tally.classes)

        return of_sample
    if tally is None or not evidence.whole or len(tally.parts) != 1:
        return None
    (cells,) = tally.parts
    counts = np.concatenate([cells.events, cells.weight - cells.events]).astype(np.float64)
    n = int(cells.weight.sum())

    def rows_of_cells() -> Tally:
        events, others = np.split(rng.multinomial(n, counts / counts.sum()), 2)
        weight = events + others
        kept = weight > 0
        part = Cells(cells.score[kept], weight[kept], weight[kept], events[kept])
        return Tally(tally.kind, (part,), tally.classes)

    return rows_of_cells
