"""Paired bootstrap: the same resampled rows for all models."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError, NoEstimateWarning, collected_warnings, warn
from trueness.infer.interval._resampling import parallel_draws
from trueness.typing import Floats, Ints, Kind

ResampledValue: TypeAlias = Callable[[Ints], float]
"""The measure of a resample, from the number of copies of each unit (row or cluster)."""


def paired_resamples(
    models: Sequence[ResampledValue],
    units: int,
    resamples: int,
    rng: np.random.Generator,
    workers: int,
    report: Callable[[int, int], None],
) -> Floats:
    """The measure of every model in each resample, of shape (resamples, models); undefined resamples are left out."""

    def draw(stream: np.random.Generator, size: int) -> list[list[float]]:
        counts = (np.bincount(stream.integers(0, units, units), minlength=units) for _ in range(size))
        return [[value(count) for value in models] for count in counts]

    with collected_warnings():  # the sample itself has been warned about
        drawn = np.array(parallel_draws(draw, resamples, rng, workers, report))
    return _finite_resamples(drawn)


def _finite_resamples(drawn: Floats) -> Floats:
    known = np.isfinite(drawn).all(axis=1)
    if not known.any():
        raise InputError("measure", "must be finite in some resample", "it is in none")
    if not known.all():
        warn(
            f"The measure is not finite in {int((~known).sum()):,} of {known.size:,} resamples, which were left out.",
            NoEstimateWarning,
        )
    return drawn[known]


def bootstrap_pvalue(difference: float, drawn: Floats) -> float:
    """The smallest 1 − level at which the centred interval of the resampled differences excludes zero; never 0."""
    rest = drawn - drawn.mean()
    # Values that are equal up to rounding count as equal.
    slack = 1e-12 * max(abs(difference), float(np.abs(rest).max()))
    below = 1 + int((rest <= -difference + slack).sum())
    above = 1 + int((rest >= -difference - slack).sum())
    return float(min(1.0, 2 * min(below, above) / (rest.size + 1)))


class ResampledTally:
    """The tally of a resample, from the number of copies of each row, without sorting the scores again."""

    def __init__(self, sample: Sample, kind: Kind) -> None:
        numbers = np.arange(1.0, sample.y.size + 1)
        numbered = Sample(sample.y, sample.p, numbers, sample.classes, sample.tolerance)
        self._classes = sample.classes
        self._kind: Any = "binary" if sample.p.ndim == 1 else kind
        self._parts: tuple[Callable[[Ints], Cells], ...] = (
            (_ResampledCells(numbered),)
            if sample.p.ndim == 1
            else parts_of(numbered, kind, _ResampledCells, lambda: _no_cells)
        )

    def __call__(self, count: Ints) -> Tally:
        return Tally(self._kind, tuple(part(count) for part in self._parts), self._classes)


def _no_cells(count: Ints) -> Cells:  # noqa: ARG001  # a class that is never predicted has no rows
    return Cells.empty()


class _ResampledCells:
    def __init__(self, part: Sample) -> None:
        assert part.w is not None
        self._row = part.w.astype(np.int64) - 1
        cells = cells_of_rows(Sample(part.y, part.p))
        self._score = cells.score
        self._cell = np.searchsorted(cells.score, np.asarray(part.p, dtype=np.float64))
        self._event = np.asarray(part.y) == 1

    def __call__(self, count: Ints) -> Cells:
        drawn = count[self._row]
        n = np.bincount(self._cell, drawn, self._score.size).astype(np.int64)
        events = np.bincount(self._cell, drawn * self._event, self._score.size).astype(np.int64)
        kept = n > 0
        return Cells(self._score[kept], n[kept], n[kept], events[kept])
