"""Confidence limits of any measure: what they are made from and what they may depend on.

Bootstrap limits are here, too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._level import Level
from trueness._numerics.streams import stream
from trueness._numerics.students_t import t_limits
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.tally import Tally
from trueness.errors import InputError, quietly
from trueness.infer.interval._resampling import basic_interval

SEVERAL = "No interval: the value is a mean over classes, which depend on each other."
BIASED = (
    "No valid interval is known, since the value is biased upwards and a bootstrap would miss the "
    "truth near zero. Compare the value with its noise floor."
)

Options: TypeAlias = dict[str, Any]


class Limits(NamedTuple):
    """Confidence limits and how they were found."""

    low: float = math.nan
    high: float = math.nan
    method: str = ""
    standard_error: float = math.nan
    note: str = ""
    value: float = math.nan
    """The value, where it comes with the limits."""
    known: bool = False
    """Whether `value` is that of the measure, which then need not be computed."""
    where: str = ""
    """The rows that decide the value, if it is that of a single bin."""
    low_open: bool = False
    """Whether `low` itself is excluded."""


@dataclass(frozen=True)
class Asked:
    """A measure of evidence: all that its limits may depend on."""

    evidence: Evidence
    measure: Callable[[Evidence], float]
    options: Options
    level: float
    seed: int

    @cached_property
    def value(self) -> float:
        """The value of the measure."""
        return self.measure(self.evidence)

    @property
    def tail(self) -> float:
        """Probability beyond each limit."""
        return Level(self.level).tail


LimitsOf: TypeAlias = Callable[[Asked], Limits]


def no_limits(note: str) -> LimitsOf:
    """A measure for which no valid interval is known, and why."""
    return lambda _asked: Limits(note=note)


biased = no_limits(BIASED)


def of_one(
    limits: Callable[[Any, float, ClusteredRows | None], Limits],
    question: Asked,
    *,
    bins: bool = False,
) -> Limits:
    """Limits from sums of one score per row, and its clusters.

    The sums are those of distinct scores or, if the limits take `bins`, of bins.
    """
    sums = question.evidence.one
    if sums is None or (isinstance(sums, Bins) and not bins):
        return Limits(note=SEVERAL)
    return limits(sums, question.level, question.evidence.in_clusters)


def limits_or_note(limits: LimitsOf, question: Asked) -> Limits:
    """The limits; where the rows do not allow any, a note that says why."""
    try:
        return limits(question)
    except InputError as reason:
        text = str(reason)
        return Limits(note=f"No interval: {text[:1].lower()}{text[1:]}")


def wald_limits(
    estimate: float, variance: float, freedom: float, level: float
) -> tuple[float, float]:
    """Limits by Student's t, or by the normal law if the degrees of freedom are infinite.

    Without an estimate or a positive variance (0 or nan) they are infinite.
    """
    if not variance > 0 or math.isnan(estimate):
        return -math.inf, math.inf
    return t_limits(estimate, math.sqrt(variance), freedom, level)


_RESAMPLES = 999


def bootstrap_limits(function: Callable[[Any], float], question: Asked) -> Limits:
    """Limits of a function of a tally: 2 · value − quantiles of the values of 999 resamples.

    They make up for a bias that is the same for rows and resamples, as percentile limits do not. A
    note replaces them if the rows cannot be resampled, or if their value or that of nearly all
    resamples is undefined.
    """
    value = question.value
    draw = _resampler(question.evidence, stream(question.seed, "resample"))
    if draw is None:
        note = "No bootstrap: these sums do not keep the rows apart. Pass labels and scores."
        return Limits(note=note)
    drawn = np.array([float(quietly(function, draw())) for _ in range(_RESAMPLES)])
    defined = drawn[~np.isnan(drawn)]
    if defined.size < 2 or math.isnan(value):
        return Limits(note="No bootstrap: the measure is undefined for the resampled rows.")
    low, high = basic_interval(value, defined, question.level)
    units = question.evidence.units.word
    return Limits(low, high, f"basic bootstrap of {units}", float(defined.std(ddof=1)))


def _resampler(evidence: Evidence, rng: np.random.Generator) -> Callable[[], Tally] | None:
    """A function that draws a resample of the rows as a tally, clusters or single rows at a time.

    It draws from the rows if they are at hand in one of the forms that keep them together, or else
    from the cells of sums with whole weights. None if neither is possible.
    """
    tally = evidence.tally
    rows = evidence.in_clusters
    units = evidence.units
    sample = None
    if rows is not None:
        units = rows.units
        sample = rows.top
    elif evidence.has_class_rows:
        of_classes = evidence.expanded if units.clustered else evidence
        units = of_classes.units
        sample = of_classes.matrix
    if sample is not None and tally is not None and (units.clustered or sample.w is None):

        def of_sample() -> Tally:
            place = units.resampled(rng)
            weight = None if sample.w is None else sample.w[place]
            cells = tally_of(sample.at(place, weight), "classwise").parts
            return Tally(tally.kind, cells, tally.classes)

        return of_sample
    if tally is None or not evidence.whole or len(tally.parts) != 1:
        return None
    (cells,) = tally.parts
    counts = np.concatenate([cells.events, cells.weight - cells.events]).astype(np.float64)
    n = int(cells.weight.sum())

    def rows_of_cells() -> Tally:
        events, non_events = np.split(rng.multinomial(n, counts / counts.sum()), 2)
        weight = events + non_events
        kept = weight > 0
        part = Cells(cells.score[kept], weight[kept], weight[kept], events[kept])
        return Tally(tally.kind, (part,), tally.classes)

    return rows_of_cells
