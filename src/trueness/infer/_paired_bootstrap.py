"""The bootstrap of several models at once: the same rows are drawn for all of them."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError, NoEstimateWarning, TruenessWarning, warn
from trueness.infer._bootstrap import centred_interval
from trueness.typing import Floats, Ints, Kind

__all__ = ["Redrawn", "RedrawnTally", "drawn_interval", "drawn_pvalue", "paired_draws"]

Redrawn: TypeAlias = Callable[[Ints], float]
"""A number of a sample in which each unit (row or cluster) was drawn so many times."""

# Resamples that share a stream of random numbers; fixed, so that values do not depend on the number of workers.
_BATCH = 16


def paired_draws(
    models: Sequence[Redrawn],
    units: int,
    resamples: int,
    rng: np.random.Generator,
    workers: int,
    report: Callable[[int, int], None],
) -> Floats:
    """The number of every model in each resample, of shape (resamples, models); undefined resamples are left out.

    Units are drawn with replacement and never copied: only how often each came is passed on.
    """
    sizes = [min(_BATCH, resamples - at) for at in range(0, resamples, _BATCH)]

    def batch(stream: np.random.Generator, size: int) -> list[list[float]]:
        counts = (np.bincount(stream.integers(0, units, units), minlength=units) for _ in range(size))
        return [[of(count) for of in models] for count in counts]

    found: list[list[float]] = []
    with warnings.catch_warnings(), ThreadPoolExecutor(workers) as pool:
        warnings.simplefilter("ignore", TruenessWarning)  # what the sample itself deserves has been said
        for values in (pool.map if workers > 1 else map)(batch, rng.spawn(len(sizes)), sizes):
            found += values
            report(len(found), resamples)
    return _defined(np.array(found))


def _defined(drawn: Floats) -> Floats:
    known = np.isfinite(drawn).all(axis=1)
    if not known.any():
        raise InputError("measure", "is not finite in any resample, so that its differences have no spread")
    if not known.all():
        warn(
            f"The measure is not finite in {int((~known).sum()):,} of {known.size:,} resamples, which were left out.",
            NoEstimateWarning,
        )
    return drawn[known]


def drawn_interval(difference: float, drawn: Floats, level: float) -> tuple[float, float]:
    """Between the quantiles of the resampled differences, moved so that their mean is the difference."""
    return centred_interval(difference, drawn, level)


def drawn_pvalue(difference: float, drawn: Floats) -> float:
    """The level at which the interval of the resampled differences begins to hold zero; never 0."""
    rest = drawn - drawn.mean()
    # Values that are equal but for rounding count as equal.
    slack = 1e-12 * max(abs(difference), float(np.abs(rest).max()))
    below = 1 + int((rest <= -difference + slack).sum())
    above = 1 + int((rest >= -difference - slack).sum())
    return float(min(1.0, 2 * min(below, above) / (rest.size + 1)))


class RedrawnTally:
    """The tally of a sample in which each row was drawn so many times, without sorting the scores again."""

    def __init__(self, sample: Sample, kind: Kind) -> None:
        numbers = np.arange(1.0, sample.y.size + 1)
        numbered = Sample(sample.y, sample.p, numbers, sample.classes, sample.tolerance)
        self._classes = sample.classes
        self._kind: Any = "binary" if sample.p.ndim == 1 else kind
        self._parts: tuple[Callable[[Ints], Cells], ...] = (
            (_RedrawnCells(numbered),)
            if sample.p.ndim == 1
            else parts_of(numbered, kind, _RedrawnCells, lambda: _no_cells)
        )

    def __call__(self, count: Ints) -> Tally:
        return Tally(self._kind, tuple(part(count) for part in self._parts), self._classes)


def _no_cells(count: Ints) -> Cells:  # noqa: ARG001  # a class that is predicted nowhere has no rows to draw
    return Cells.empty()


class _RedrawnCells:
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
