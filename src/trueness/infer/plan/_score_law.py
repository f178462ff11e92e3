"""The distribution of the scores of a calibrated model, for planning: from earlier scores or normal log-odds."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from trueness._input.arguments import checked_fraction, is_number
from trueness._numerics.roots import bracketed_root
from trueness._tally.rows_or_sums import tally
from trueness.errors import InputError, collected_warnings
from trueness.typing import ArrayLike, Floats, Ints

# Points of a normal distribution, in standard deviations.
_GRID = np.linspace(-10, 10, 2001)
# Standard deviations of log-odds between which one is searched for a c-statistic.
_NARROW, _WIDE = 1e-3, 1e3
_FARTHEST = 700.0
_RAREST = 1e-9


class ScoreLaw(NamedTuple):
    """Values of the scores, ascending, and the share of each."""

    score: Floats
    share: Floats

    @property
    def prevalence(self) -> float:
        """The event rate."""
        return float(self.share @ self.score)

    @property
    def c_statistic(self) -> float:
        """The probability that an event has a higher score than a non-event; ties count one half."""
        events, others = self.share * self.score, self.share * (1 - self.score)
        below = np.cumsum(others) - others / 2
        return float(events @ below / (events.sum() * others.sum()))

    @property
    def information(self) -> tuple[float, float, float]:
        """The means of p (1 − p), and of this times the first and the second power of the log-odds."""
        v, x = self.share * self.score * (1 - self.score), log_odds_of(self.score)
        return float(v.sum()), float(v @ x), float(v @ x**2)

    def shift(self, ratio: float, slope: float) -> float:
        """The intercept with which log-odds of this slope have `ratio` times the events that the scores predict."""
        inside = (self.score > 0) & (self.score < 1)
        x, share = log_odds_of(self.score[inside]), self.share[inside]
        target = ratio * self.prevalence - float(self.share[self.score == 1].sum())
        if not 0 < target < share.sum():
            limit = (float(share.sum()) + float(self.share[self.score == 1].sum())) / self.prevalence
            raise InputError(
                "detect_oe", f"must be below {limit:.4g}, at which every row is an event", f"got {ratio:g}"
            )
        return bracketed_root(lambda a: float(share @ expit(slope * x + a)) - target, -_FARTHEST, _FARTHEST, xtol=1e-10)

    def strength(self, truth: Floats) -> float:
        """Non-centrality per row of the score tests of shift and slope together, if these are the event rates."""
        total, first, second = self.information
        gap, spread = self.share * (truth - self.score), second - first**2 / total
        along = float(gap @ np.where((self.score > 0) & (self.score < 1), log_odds_of(self.score) - first / total, 0.0))
        return float(gap.sum()) ** 2 / total + (along**2 / spread if spread > 1e-12 * total else 0.0)

    def rows(self, n: int, most: int) -> tuple[Floats, Ints]:
        """Scores at quantiles of the law, at most `most` distinct ones, and the number of the n rows with each."""
        m = min(n, most)
        at = np.searchsorted(np.cumsum(self.share), (np.arange(m) + 0.5) / m)
        counts = np.diff(np.arange(m + 1) * n // m)
        score, place = np.unique(self.score[np.minimum(at, self.score.size - 1)], return_inverse=True)
        return score, np.bincount(place, counts).astype(np.int64)


def log_odds_of(score: Floats) -> Floats:
    """Log-odds; 0 for scores of 0 and 1, which no shift and no slope moves."""
    inside = (score > 0) & (score < 1)
    return np.where(inside, logit(np.where(inside, score, 0.5)), 0.0)


def moved(score: Floats, slope: float, shift: float) -> Floats:
    """Scores with other log-odds; those of 0 and 1 stay."""
    return np.where((score > 0) & (score < 1), expit(slope * log_odds_of(score) + shift), score)


def score_law(prevalence: Any, c_statistic: Any, log_odds: Any, scores: ArrayLike | None) -> ScoreLaw | None:
    """The law that the arguments describe; None if they give a prevalence only."""
    if scores is not None and log_odds is not None:
        raise InputError("scores", "must be given without `log_odds`", "got both")
    if prevalence is not None:
        checked_fraction(prevalence, "prevalence")
    if c_statistic is not None and not (is_number(c_statistic) and 0.5 < c_statistic < 1):
        raise InputError("c_statistic", "must be above 0.5 and below 1", f"got {c_statistic!r}")
    if scores is not None:
        return _of_scores(scores)
    if log_odds is not None:
        return _of_pair(log_odds)
    if prevalence is None:
        demand = "must be given, or `log_odds` or `scores`"
        raise InputError("prevalence", demand, "got none of them")
    return None if c_statistic is None else _with_c(float(prevalence), float(c_statistic))


def _of_scores(scores: ArrayLike) -> ScoreLaw:
    values = np.asarray(scores)
    if values.ndim != 1 or values.size == 0:
        raise InputError("scores", "must be a vector of probabilities", f"got shape {values.shape}")
    with collected_warnings():  # the labels are stand-ins
        try:
            (cells,) = tally(np.arange(values.size) % 2, scores).parts
        except InputError as error:
            raise error.but(argument="scores") from error
    law = ScoreLaw(cells.score, cells.weight / cells.weight.sum())
    if law.information[0] == 0:
        raise InputError("scores", "must not all be 0 or 1", "such scores leave nothing to plan")
    return law


def _of_pair(log_odds: Any) -> ScoreLaw:
    pair = tuple(log_odds) if isinstance(log_odds, list | tuple) or np.ndim(log_odds) == 1 else ()
    if len(pair) != 2 or not all(map(is_number, pair)) or not (abs(pair[0]) < _FARTHEST and 0 < pair[1] < _WIDE):
        demand = "must be the mean and the standard deviation of the log-odds, the latter above 0"
        raise InputError("log_odds", demand, f"got {log_odds!r}")
    return _normal(float(pair[0]), float(pair[1]))


def _normal(mean: float, deviation: float) -> ScoreLaw:
    density = np.exp(-(_GRID**2) / 2)
    return ScoreLaw(expit(mean + deviation * _GRID), density / density.sum())


def _with_c(prevalence: float, c_statistic: float) -> ScoreLaw:
    """Normal log-odds with this prevalence and c-statistic."""
    if not _RAREST <= prevalence <= 1 - _RAREST:
        demand = f"must not be so near 0 or 1 if `c_statistic` is given: at least {_RAREST:g}, at most 1 - {_RAREST:g}"
        raise InputError("prevalence", demand, f"got {prevalence!r}")

    def law(deviation: float) -> ScoreLaw:
        reach = 40 + 10 * deviation
        mean = bracketed_root(lambda m: _normal(m, deviation).prevalence - prevalence, -reach, reach, xtol=1e-10)
        return _normal(mean, deviation)

    def gap(log_deviation: float) -> float:
        return law(math.exp(log_deviation)).c_statistic - c_statistic

    low, high = math.log(_NARROW), math.log(_WIDE)
    if not gap(low) < 0 < gap(high):
        raise InputError("c_statistic", "must not be so near 0.5 or 1", f"got {c_statistic!r}")
    return law(math.exp(bracketed_root(gap, low, high, xtol=1e-8)))
