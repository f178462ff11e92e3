"""Candidates for a vector of scores, fitted on all folds at once, and their mixture."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from trueness._numerics.ridge_logistic import ridge_logistic
from trueness._tally.cells import Cells
from trueness._tally.rules import Isotonic
from trueness.recalibrate._cross_fit import Folds
from trueness.recalibrate._logit_shapes import Bend, Line, LogitShape, LogScores, Spline, spline_knots
from trueness.recalibrate._shaped_map import LogitCells
from trueness.typing import Floats

N_KNOTS = 5


class Points(NamedTuple):
    """Log-odds that are joined by straight lines, with slope 1 outside."""

    x: Floats
    y: Floats

    def __call__(self, z: Floats) -> Floats:
        inside = np.clip(z, self.x[0], self.x[-1])
        return np.asarray(np.interp(inside, self.x, self.y) + (z - inside))


class Curve(NamedTuple):
    """A shape with its coefficients."""

    shape: LogitShape
    theta: Floats

    def __call__(self, z: Floats) -> Floats:
        return np.asarray(np.einsum("ij,j->i", self.shape.basis(z), self.theta))  # unlike `@`, wakes no threads


def vector_shapes(reach: float, knots: Floats) -> dict[str, LogitShape]:
    """The parametric candidates by name, for log-odds up to `reach` from 0."""
    return {
        "Platt scaling": Line(),
        "beta calibration": LogScores(),
        "quadratic scaling": Bend(reach, signed=False),
        "signed quadratic scaling": Bend(reach, signed=True),
        "spline": Spline(knots),
    }


def isotonic_points(z: Floats, weight: Floats, events: Floats) -> Points:
    """Isotonic regression with blocks at their mean log-odds, and one row as the score predicts added to each."""
    some = weight > 0
    if not some.any():
        return Points(np.zeros(1), np.zeros(1))
    z, weight, events = z[some], weight[some], events[some]
    first = Isotonic().group(Cells(expit(z), np.ones(z.size, np.int64), weight, events)).start[:-1]
    mass = np.add.reduceat(weight, first)
    centre = np.add.reduceat(weight * z, first) / mass
    rate = (np.add.reduceat(events, first) + expit(centre)) / (mass + 1)
    value = np.maximum.accumulate(np.log(rate) - np.log1p(-rate))
    return Points(centre, value)


class Candidate(NamedTuple):
    """One candidate: its map from all rows, and the log-odds of each fold from the map of the others."""

    map: Points | Curve | None
    held_out: Floats


def fit_candidates(cells: LogitCells, folds: Folds, *, monotone: bool, ridge: float = 1.0) -> dict[str, Candidate]:
    """Fit every candidate on all rows and without each fold; the first one leaves the scores alone."""
    weight, events = folds.training()
    shape_of_folds = folds.events.shape
    found = {"identity": Candidate(None, np.broadcast_to(cells.z, shape_of_folds))}
    reach = max(float(np.abs(cells.z).max()), 1.0)
    for name, shape in vector_shapes(reach, spline_knots(cells.z, cells.weight, N_KNOTS)).items():
        X = shape.basis(cells.z)
        bounded = shape.bounded if monotone else None
        theta = ridge_logistic(X, weight, events, shape.identity, ridge * shape.ridge, bounded)
        found[name] = Candidate(Curve(shape, theta[-1]), (theta[:-1] @ X.T).reshape(shape_of_folds))
    points = [isotonic_points(cells.z, *one) for one in zip(weight, events, strict=True)]
    found["isotonic regression"] = Candidate(
        points[-1], np.array([one(cells.z) for one in points[:-1]]).reshape(shape_of_folds)
    )
    return found


class Held(NamedTuple):
    """Losses of rows that were held out, with the weight of such rows."""

    loss: Floats
    """Of shape (candidates, deals, folds): log losses summed over rows."""
    folds: Folds
    log_odds: Floats
    """Of shape (candidates, deals, folds, cells)."""


def held_out(candidates: dict[str, Candidate], folds: Folds) -> Held:
    """The log loss of each candidate in each fold."""
    log_odds = np.array([one.held_out for one in candidates.values()])
    loss = folds.events * np.logaddexp(0, -log_odds) + folds.others * np.logaddexp(0, log_odds)
    return Held(loss.sum(axis=3), folds, log_odds)


def loss_differences(plain: Floats, mixed: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Losses of the scores as they are minus those of a map, by name: for events, and for other rows."""
    p, q = expit(plain), expit(mixed)
    return {
        "log": (np.logaddexp(0, -plain) - np.logaddexp(0, -mixed), np.logaddexp(0, plain) - np.logaddexp(0, mixed)),
        "brier": ((1 - p) ** 2 - (1 - q) ** 2, p**2 - q**2),
    }
