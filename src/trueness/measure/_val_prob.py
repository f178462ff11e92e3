"""`preset("val.prob")`: the numbers of R's ``rms::val.prob``, by its names."""

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from trueness._input.sample import Sample
from trueness._numerics.logistic import log_likelihood, logits, recalibration_line
from trueness._numerics.lowess import lowess
from trueness._tally.reading import read_rows
from trueness._tally.row_sums import cells_of_rows
from trueness.errors import CertainScoresWarning, InputError, warn
from trueness.measure._proper_scores import area
from trueness.typing import ArrayLike, Floats, RowOptions

# `lrm.fit` ranks probabilities as multiples of this, rounded down.
_RANKED = 5_000
_LARGE = 0.9
_INTERCEPT = (
    "Intercept and Slope are fitted together; the intercept at slope 1, calibration in the large, "
    "is another number: `tn.calibration_intercept`."
)


class ValProb(dict[str, float]):
    """The numbers by the names of rms, in its order; printed, the intercept is explained."""

    def __str__(self) -> str:
        names = {"Intercept": "Intercept (beside the slope)"}
        width = max(len(names.get(name, name)) for name in self)
        lines = [f"{names.get(name, name):<{width}}  {value:.6g}" for name, value in self.items()]
        return "\n".join([*lines, _INTERCEPT])


@dataclass(frozen=True)
class ValProbPreset:
    """The numbers of ``rms::val.prob``: call it with labels and scores."""

    name: str = "val.prob"
    measure: str = "val.prob of the R package rms"
    view: str = "labels and the probability of an event"
    conventions: str = (
        "Dxy, C, R2, D, U, Q, Intercept and Slope leave out scores of 0 and 1; the others have "
        "all rows\nC and Dxy truncate scores to multiples of 0.0002; D:p is not available, as in "
        "R\nEmax, E90 and Eavg are distances to lowess(iter = 0), not to a loess curve\n"
        f"{_INTERCEPT}\n"
        "code: rms 6, R 4.2"
    )
    reference: str = "F. E. Harrell, Regression Modeling Strategies, 2nd edition, 2015."

    def cite(self) -> str:
        """What to cite for the numbers."""
        return self.reference

    def __repr__(self) -> str:
        lines = [
            f"preset({self.name!r}): {self.measure}",
            f"takes: {self.view}",
            *self.conventions.split("\n"),
        ]
        return "\n  ".join(lines)

    def __call__(self, y_true: ArrayLike, y_prob: ArrayLike, **rows: Unpack[RowOptions]) -> ValProb:
        """The numbers by name. `rows` are options of :func:`trueness.ece`, without weights."""
        for name in ("kind", "sample_weight"):
            if rows.get(name) is not None:
                got = f"{self.name!r} takes {self.view}"
                raise InputError(name, "must be left out of a preset", got)
        evidence = read_rows(y_true, y_prob, rows)
        if not evidence.is_binary:
            got = f"got {len(evidence.classes or ())} classes"
            raise InputError("y_prob", "must be the probability of an event", got)
        evidence.need_rows("A preset needs the rows")
        y = np.asarray(evidence.sample.y, np.float64)
        p = np.asarray(evidence.sample.p, np.float64)
        return _numbers(y, p)


VAL_PROB = ValProbPreset()


def _numbers(y: Floats, p: Floats) -> ValProb:
    """The eighteen numbers of `val.prob`; scores of 0 and 1 are left out of most, with a warning.

    It is an error if the scores in between have no events, or nothing else.
    """
    inside = (p > 0) & (p < 1)
    certain = int((~inside).sum())
    if certain:
        text = (
            f"{certain:,} scores of exactly 0 or 1 are left out of all but Brier, Emax, E90, "
            "Eavg and S."
        )
        warn(text, CertainScoresWarning)
    events = y[inside]
    if not 0 < events.sum() < events.size:
        demand = "must have events and non-events with scores strictly between 0 and 1"
        raise InputError("y_true", demand, f"got {int(events.sum()):,} events of {events.size:,}")
    n = events.size
    fit = _Deviances.of(events, p[inside], contradicted=bool(((p == 0) & (y == 1)).any()))
    gain = fit.constant - fit.scores
    lack = fit.scores_of_all - fit.line
    concordance = _truncated_area(events, p[inside])
    distance = np.abs(p - lowess(p, y))
    z = _spiegelhalter(y, p)
    discrimination = (gain - 1) / n
    unreliability = (lack - 2) / n
    return ValProb(
        {
            "Dxy": 2 * (concordance - 0.5),
            "C (ROC)": concordance,
            "R2": -math.expm1(-gain / n) / -math.expm1(-fit.constant / n),
            "D": discrimination,
            "D:Chi-sq": gain,
            "D:p": math.nan,
            "U": unreliability,
            "U:Chi-sq": lack,
            "U:p": math.exp(-lack / 2),  # of χ² with two degrees of freedom
            "Q": discrimination - unreliability,
            "Brier": float(np.mean((y - p) ** 2)),
            "Intercept": fit.intercept,
            "Slope": fit.slope,
            "Emax": float(distance.max()),
            "E90": float(np.quantile(distance, _LARGE)),
            "Eavg": float(distance.mean()),
            "S:z": z,
            "S:p": math.erfc(abs(z) / math.sqrt(2)),
        }
    )


@dataclass(frozen=True)
class _Deviances:
    """Minus twice the log-likelihood of four predictions of the same labels."""

    constant: float
    """The event rate."""
    scores: float
    """The scores."""
    scores_of_all: float
    """The scores, infinite if there is an event at score 0."""
    line: float
    """Intercept and slope, fitted."""
    intercept: float
    slope: float

    @classmethod
    def of(cls, y: Floats, p: Floats, *, contradicted: bool) -> "_Deviances":
        """The deviances of a constant, of the scores and of the best line of their log-odds.

        The deviance of all scores is infinite if one of them was `contradicted`.
        """
        x = logits(p)
        ones = np.ones(y.size)
        slope, intercept = recalibration_line(x, ones, y)
        rate = float(y.mean())
        constant = -2 * log_likelihood(np.full(y.size, math.log(rate / (1 - rate))), ones, y)
        scores = -2 * log_likelihood(x, ones, y)
        return cls(
            constant=constant,
            scores=scores,
            scores_of_all=math.inf if contradicted else scores,
            line=-2 * log_likelihood(intercept + slope * x, ones, y),
            intercept=intercept,
            slope=slope,
        )


def _truncated_area(y: Floats, p: Floats) -> float:
    truncated = np.floor(_RANKED * p) / _RANKED
    return area(cells_of_rows(Sample(y.astype(np.int64), truncated)))


def _spiegelhalter(y: Floats, p: Floats) -> float:
    """Spiegelhalter's z; nan if every score is 0, 1/2 or 1."""
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    if variance == 0:
        return math.nan
    return float(((y - p) * (1 - 2 * p)).sum()) / math.sqrt(variance)
