"""Maps on the logit scale: the scores near 0 and 1, and the shapes of curves of log-odds.

One rule holds for scores of 0 and 1, whose log-odds are infinite (`_least_distance`): the votes of
a forest, which are 0 for lack of trees, become modest, and the scores of a model that grades its
certainty keep nearly all of their range.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import MOST_ITERATIONS, checked_whole
from trueness.errors import MovedScoresWarning, NotConvergedWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet, Scale
from trueness.recalibrate._calibrator import Calibrator, check_number
from trueness.recalibrate._formula import (
    LARGEST_LOGIT,
    Curve,
    LogOdds,
    Logs,
    bounded_logits,
    line,
    log_scores,
    with_slopes,
)
from trueness.recalibrate._saving import Field, number
from trueness.typing import Bools, Floats, Ints

EPS_STATE = {
    "eps": Field(
        "scores nearer to 0 or 1 than this are moved to that distance", number(above=0, below=0.5)
    )
}
"""What a map keeps that moves scores."""

_ABOUT = {
    "from_logits": """    from_logits : bool, default False
        Whether the scores are logits; otherwise they are P(positive), whose logit is taken.""",
    "eps": """    eps : float, optional
        Scores are clipped to [eps, 1 − eps], because 0 and 1 have infinite log-odds; `fit` warns if
        some are exactly 0 or 1. Default: 1 / (2 (n + 1)) for n rows, or less if some scores are
        nearer to 0 or 1, but at least the square of that.""",
    "limits": """    limits : bool, default False
        Whether `predict` uses scores outside [eps, 1 − eps] unchanged, so that 0 and 1 are mapped
        to the limits of the map.""",
    "ridge": """    ridge : float, default 0
        Half this, times the squared distance of the parameters from those of the identity, is added
        to the log loss summed over rows: it shrinks the map towards the identity where rows are
        few. 1 is a good choice.""",
}
ABOUT_MATRIX = {
    "from_logits": """    from_logits : bool, default False
        Whether the scores are logits. Probabilities enter by their logarithms.""",
    "eps": """    eps : float, optional
        Smaller probabilities are set to this; `fit` warns if some are exactly 0. Default:
        1 / (K (n + 1)) for n rows and K classes, or less if there are smaller probabilities, but at
        least the square of that.""",
    "max_iter": """    max_iter : int, default 100
        Maximum number of Newton steps; about ten are usual. Beyond it, a warning is given.""",
}
"""What maps of several classes have in common."""

# Above this many distinct scores, neighbours are pooled, each cell at the mean of its log-odds.
MOST_CELLS = 4096


class LogitMap(Calibrator):
    """A calibrator with a parameter `eps` that works on log-odds or logarithms.

    It may also have the parameters `from_logits` and `limits`.
    """

    _shared_parameters: ClassVar = _ABOUT
    _positive: ClassVar[str] = ""  # the penalty that must be above 0
    eps: float | None
    eps_: float

    @property
    def _takes_logits(self) -> bool:
        return bool(getattr(self, "from_logits", False))

    @property
    def _scale(self) -> Scale:
        if self._takes_logits:
            return "logits"
        return "probabilities"

    def _check_parameters(self) -> None:
        """Check the parameters that maps of log-odds share, wherever they are among its own."""
        parameters = vars(self)
        for name in filter(parameters.__contains__, ("ridge", "l2", "odir")):
            check_penalty(name, parameters[name], positive=name == self._positive)
        if "max_iter" in parameters:
            checked_whole(parameters["max_iter"], "max_iter", MOST_ITERATIONS)
        if self.eps is not None:
            check_number(
                "eps",
                self.eps,
                "be None or lie strictly between 0 and 0.5",
                lambda eps: 0 < eps < 0.5,
            )

    def _fit_logits(self, rows: CalibrationSet) -> NDArray[Any]:
        """Logits of the rows to learn from, after the decision how near to 0 and 1 they may be."""
        self.eps_ = self._least_distance(rows)
        if self._takes_logits:
            return rows.p
        _warn_moved(rows.p, self.eps_)
        score = rows.p.astype(np.float64)
        with np.errstate(divide="ignore"):
            logits = np.log(score) - np.log1p(-score) if score.ndim == 1 else np.log(score)
        return bounded_logits(logits, self.eps_)

    def _least_distance(self, rows: CalibrationSet) -> float:
        """How near to 0 and 1 scores may be: `eps`, or by default δ.

        δ is about the resolution of as many rows.

        If some scores are nearer without being 0 or 1, it is their least distance, but at least δ².
        """
        if self.eps is not None:
            return float(self.eps)
        n = float(rows.y.size if rows.w is None else rows.w.sum())
        p = rows.p
        delta = 1 / ((p.shape[1] if p.ndim == 2 else 2) * (n + 1))
        if self._takes_logits:
            return delta
        # The mask takes ten times as long.
        nearest = float(p.min(initial=1)) or float(np.min(p, where=p > 0, initial=1))
        if p.ndim == 1:
            nearest = min(nearest, 1 - float(np.max(p, where=p < 1, initial=0)))
        return max(min(delta, nearest), delta * delta)

    @property
    def _moved_by(self) -> float:
        if self._takes_logits or getattr(self, "limits", False):
            return 0.0
        return float(self.eps_)

    def _log_odds(self, curve: Curve) -> LogOdds:
        """The map of one score that a curve of its log-odds makes."""
        return LogOdds(curve, self._takes_logits, self._moved_by)

    def _logs(self, *, normalized: bool = False, largest: float = LARGEST_LOGIT) -> Logs:
        """What a map of a row of scores begins with."""
        return Logs(self._takes_logits, self._moved_by, normalized, largest)


def check_penalty(name: str, value: object, *, positive: bool = False) -> None:
    limit = "above 0" if positive else "≥ 0"
    demand = f"be a finite number {limit}"
    check_number(name, value, demand, lambda v: 0 <= v < np.inf and not (positive and v == 0))


def warn_not_converged(steps: int) -> None:
    stopped = f"The optimisation stopped after {steps} steps without converging."
    warn(f"{stopped} Increase `max_iter` or the penalty.", NotConvergedWarning)


def _warn_moved(p: NDArray[Any], eps: float) -> None:
    """Warn if scores are exactly 0 or 1, which only moving makes finite.

    Scores near them are moved as well.
    """
    vector = p.ndim == 1
    ends = int((p == 0).sum())
    if vector:
        ends += int((p == 1).sum())
    if not ends:
        return
    moved = int((p < eps).sum())
    values, where = "0", f"to {eps:.3g}"
    if vector:
        moved += int((1 - p < eps).sum())
        values, where = "0 or 1", f"into [{eps:.3g}, 1 − {eps:.3g}]"
    near = moved - ends
    subject = "1 score is" if ends == 1 else f"{ends:,} scores are"
    nearly_so = ""
    if near > 0:
        nearly_so = f" ({near:,} more {'are' if near > 1 else 'is'} nearly so)"
    verb = "was moved" if ends + max(near, 0) == 1 else "were moved"
    warn(f"{subject} exactly {values}{nearly_so} and {verb} {where}.", MovedScoresWarning)


class LogitShape(NamedTuple):
    """A family of maps from log-odds to log-odds that is linear in its coefficients.

    All coefficients but the first are not negative.

    The first column of the basis is 1; the others do not decrease in z over the range of the
    scores. With the bounds, a map never decreases. The identity has the coefficients 0, 1, …, 1.
    """

    natural: Floats  # the matrix that takes the coefficients to those that are penalized
    basis: Callable[[Floats], Floats]  # the columns that the coefficients multiply, at log-odds
    curve: Callable[[Floats], Curve]  # the map with these coefficients

    @property
    def bounded(self) -> Bools:
        """The coefficients that must not be negative for the map to increase."""
        return np.arange(len(self.natural)) > 0

    @property
    def identity(self) -> Floats:
        return self.bounded.astype(np.float64)

    @property
    def ridge(self) -> Floats:
        """The penalty of strength 1.

        Half the squared distance from the identity in the natural coefficients.
        """
        return np.asarray(self.natural.T @ self.natural)


# a + bz.
LINE = LogitShape(
    np.eye(2), lambda z: np.column_stack([np.ones_like(z), z]), lambda theta: line(*theta)
)
LOG_SCORES = LogitShape(
    np.eye(3), log_scores, lambda theta: line(theta[0], 0.0, *map(float, theta[1:]))
)
"""c + a log p − b log(1 − p), with p the probability of log-odds z."""


def bend(reach: float, *, signed: bool) -> LogitShape:
    """A + bz + c z² (`signed`: c z|z|) for |z| up to `reach`, straight beyond.

    Coefficients are a and the slopes at two points between which the slope is linear: −reach and
    reach; signed, 0 and reach. The slopes are not negative exactly if the map increases.
    """
    if signed:
        slope, c = [0.0, 1.0, 0.0], 0.5 / reach
    else:
        slope, c = [0.0, 0.5, 0.5], 0.25 / reach
    natural = np.array([[1, 0, 0], slope, [0, -c, c]])

    def basis(z: Floats) -> Floats:
        """The columns 1, and z split between the slopes at two points; straight outside."""
        inside = np.clip(z, -reach, reach)
        beyond = z - inside
        if signed:
            square = inside * np.abs(inside) + 2 * beyond * reach
        else:
            square = inside * inside + 2 * np.abs(beyond) * reach
        # The product with `natural`, without waking threads.
        return np.column_stack(
            [np.ones_like(z), *(z * natural[1, j] + square * natural[2, j] for j in (1, 2))]
        )

    def curve(theta: Floats) -> Curve:
        _, low, high = theta
        if signed:
            breaks, slopes = np.array([-reach, 0.0, reach]), np.array([high, low, high])
        else:
            breaks, slopes = np.array([-reach, reach]), np.array([low, high])
        return with_slopes(breaks, basis(breaks) @ theta, slopes)

    return LogitShape(natural, basis, curve)


def spline(knots: Floats) -> LogitShape:
    """A curve whose slope is linear between knots and constant outside.

    coefficients: value at 0, slopes at knots.
    """

    def areas(z: Floats) -> Floats:
        """The integral of each knot's hat, from the first knot to z."""
        areas_below = np.zeros((z.size, knots.size))
        areas_below[:, 0] += np.minimum(z - knots[0], 0)
        areas_below[:, -1] += np.maximum(z - knots[-1], 0)
        for j, width in enumerate(np.diff(knots)):
            inside = np.clip(z - knots[j], 0, width)
            rising = inside * inside / (2 * width)
            areas_below[:, j + 1] += rising
            areas_below[:, j] += inside - rising
        return areas_below

    def basis(z: Floats) -> Floats:
        return np.column_stack([np.ones_like(z), areas(z) - areas(np.zeros(1))])

    return LogitShape(
        np.eye(1 + knots.size),
        basis,
        lambda theta: with_slopes(knots, basis(knots) @ theta, theta[1:]),
    )


def spline_knots(z: Floats, weight: Floats, number: int) -> Floats:
    """Quantiles of ascending log-odds from 5 to 95 %, each well above the one before."""
    reached = (np.cumsum(weight) - weight / 2) / weight.sum()
    quantiles = np.interp(np.linspace(0.05, 0.95, number), reached, z)
    # Slopes at knots closer than this could not be distinguished.
    return np.asarray(quantiles[np.concatenate([[True], np.diff(quantiles) > 1e-6])])


class LogitCells(NamedTuple):
    """Log-odds in ascending order, and the weights of rows and events at each of them."""

    z: Floats
    weight: Floats
    events: Floats
    cell: Ints  # the cell of each row

    @property
    def reach(self) -> float:
        """The largest distance of log-odds from 0, at least 1."""
        return max(float(np.abs(self.z).max()), 1.0)


def logit_cells(z: Floats, y: Ints, w: Floats | None) -> LogitCells:
    """One cell for each distinct log-odds, or fewer of about equal weight."""
    z = np.asarray(z, np.float64)
    value, cell = np.unique(z, return_inverse=True)
    if value.size > MOST_CELLS:
        reached = np.cumsum(np.bincount(cell, w, value.size))
        pool = np.minimum((reached * (MOST_CELLS / reached[-1])).astype(np.int64), MOST_CELLS - 1)
        cell = np.unique(pool, return_inverse=True)[1][cell]
    weight = np.bincount(cell, w).astype(np.float64)
    weighted_y = y if w is None else w * y
    events = np.bincount(cell, weighted_y, weight.size).astype(np.float64)
    mean = value
    if value.size > MOST_CELLS:
        weighted_z = z if w is None else w * z
        mean = np.bincount(cell, weighted_z) / weight
    return LogitCells(mean, weight, events, cell)
