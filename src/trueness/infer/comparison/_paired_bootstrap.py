"""Paired bootstrap: the same resampled rows for all models."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from trueness._input.sample import Sample
from trueness._numerics.streams import stream
from trueness._progress import Report
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
    seed: int,
    workers: int,
    report: Report,
) -> Floats:
    """The measure of every model in each resample, of shape (resamples, models).

    `models` are their measures of a resample, and `units` the number of rows or clusters, which are
    drawn with replacement. Resamples in which a measure is not finite are left out, with a warning;
    an error if it is finite in none.
    """

    def draw(stream: np.random.Generator, size: int) -> list[list[float]]:
        """The measures of this number of resamples."""
        counts = (
            np.bincount(stream.integers(0, units, units), minlength=units) for _ in range(size)
        )
        return [[value(count) for value in models] for count in counts]

    with collected_warnings():  # the sample itself has been warned about
        drawn: Floats = np.array(
            parallel_draws(draw, resamples, stream(seed, "resample"), workers, report)
        )
    finite = np.isfinite(drawn).all(axis=1)
    if not finite.any():
        raise InputError("measure", "must be finite in some resample", "it is in none")
    if not finite.all():
        left_out = f"{int((~finite).sum()):,} of {finite.size:,} resamples, which were left out"
        warn(f"The measure is not finite in {left_out}.", NoEstimateWarning)
    return drawn[finite]


def pvalue(difference: float, drawn: Floats) -> float:
    """The smallest 1 − level at which the interval of the resampled differences excludes 0.

    `drawn` are the differences in R resamples. They are shifted so that their mean is `difference`,
    and the p-value is 2(1 + number of these on the rarer side of 0) / (R + 1), at most 1: those
    equal to 0 count on both sides. It is never 0.
    """
    rest = drawn - drawn.mean()
    # Values that are equal up to rounding count as equal.
    slack = 1e-12 * max(abs(difference), float(np.abs(rest).max()))
    below = 1 + int((rest <= -difference + slack).sum())
    above = 1 + int((rest >= -difference - slack).sum())
    return float(min(1.0, 2 * min(below, above) / (rest.size + 1)))


def resampled_tally(sample: Sample, kind: Kind) -> Callable[[Ints], Tally]:
    """A function from the number of copies of each row to the tally of this resample.

    `sample` has the rows, and `kind` is how a matrix is compared with the labels. The scores are
    sorted only once, for all resamples.
    """
    numbered = Sample(
        sample.y, sample.p, np.arange(1.0, sample.y.size + 1), sample.classes, sample.tolerance
    )
    if sample.p.ndim == 1:
        cells = _resampled_cells(numbered)
        return lambda count: Tally("binary", (cells(count),), sample.classes)
    parts = parts_of(numbered, kind, _resampled_cells)
    return lambda count: Tally(kind, tuple(part(count) for part in parts), sample.classes)


def _resampled_cells(part: Sample) -> Callable[[Ints], Cells]:
    """A function from the number of copies of each row to the sums at each distinct score.

    `part` has rows of one binary problem, perhaps not all rows. Its weights are not weights: they
    are the numbers of its rows among all, from 1 on. Scores without a copy are left out.
    """
    assert part.w is not None
    row = part.w.astype(np.int64) - 1
    event = np.asarray(part.y) == 1
    score = cells_of_rows(Sample(part.y, part.p)).score
    cell = np.searchsorted(score, np.asarray(part.p, dtype=np.float64))

    def of_counts(count: Ints) -> Cells:
        drawn = count[row]
        n = np.bincount(cell, drawn, score.size).astype(np.int64)
        events = np.bincount(cell, drawn * event, score.size).astype(np.int64)
        kept = n > 0
        return Cells(score[kept], n[kept], n[kept], events[kept])

    return of_counts
