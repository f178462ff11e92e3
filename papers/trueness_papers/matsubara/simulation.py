"""The synthetic data of Matsubara et al. 2023: one normal feature, two classes, logistic scores.

`normal_feature` knows the true error of its scores. `authors_rows` draws the same rows as the authors' notebooks: the
published digits depend on the generator, and on where the logistic regression stopped. scikit-learn then minimised
the sum of the losses and stopped when it fell by a relative 2.2e-9, SciPy's default; later versions minimise the mean
and stop elsewhere.
"""

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import Seed, checked_number, checked_whole, generator
from trueness._numerics.quadrature import expit
from trueness.errors import InputError
from trueness.simulate import Simulated
from trueness.simulate._simulated import Finite, Line, Population
from trueness.typing import Floats, Ints

__all__ = ["Rows", "Stop", "add_noise", "authors_rows", "logistic_scores", "normal_feature"]

Stop: TypeAlias = Literal["then", "now", "converged"]
"""Where the fit stops: as scikit-learn did when the paper was written, as it does now, or at the optimum."""


_CENTRE = 0.5
_SPREAD = 2.0
_SLOPE = 2 * _CENTRE / _SPREAD**2  # of the log-odds, in x: 1/4


def normal_feature(
    n: int = 6000,
    *,
    prevalence: float = 0.5,
    coefficients: tuple[float, float] | None = None,
    seed: Seed = None,
) -> Simulated:
    r"""
    Simulate one normal feature per row, with the scores of a logistic regression on it.

    Parameters
    ----------
    n : int, default 6000
        Number of rows: the paper trains on 14,000 and tests on 6,000.
    prevalence : float, default 0.5
        P(Y = 1).
    coefficients : (float, float), optional
        Intercept and slope of the model. By default the scores are the true posterior, which is
        calibrated. The same seed gives the same labels and features for every model.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        ``columns["x"]`` is the feature; `truth` is P(Y = 1 | score). True errors are found by quadrature.

    Notes
    -----
    Labels are drawn first, then the feature :math:`x \mid y \sim N(\pm 1/2, 2^2)`, so that

    .. math:: P(Y = 1 \mid x) = \mathrm{expit}\left( \log \frac{\pi}{1 - \pi} + \frac{x}{4} \right) .

    The authors' code does this; section 4.1 of their paper has other means, and another sign and slope of
    the posterior.

    References
    ----------
    Matsubara, Tax, Mudd, Guy. TCE: a test-based approach to measuring calibration error. UAI 2023.

    Examples
    --------
    A model fitted to balanced classes and used where one in five is positive.

    >>> from trueness_papers.matsubara import normal_feature
    >>> d = normal_feature(1000, prevalence=0.2, coefficients=(0.0, 0.25), seed=0)
    >>> round(d.true_ece(), 4)
    0.2823
    >>> normal_feature(1000, prevalence=0.2, seed=0).true_ece()
    0.0
    """
    n = checked_whole(n, "n")
    rng = generator(seed)
    share = checked_number(
        prevalence, "prevalence", "a number strictly between 0 and 1", low=0, high=1
    )
    population = NormalPair(share, *_check_coefficients(coefficients, share))
    y = (rng.random(n) < share).astype(np.int64)
    x = rng.normal(np.where(y == 1, _CENTRE, -_CENTRE), _SPREAD)
    name = f"normal feature, prevalence {share:g}, " + (
        "true posterior"
        if coefficients is None
        else f"model ({population.intercept:.4g}, {population.slope:.4g})"
    )
    # With a slope of 0 the score carries no information about x.
    t = population.truth(x) if population.slope else np.full(n, share)
    return Simulated(y, population.score(x), t, name, population.as_seen(), {"x": x})


def _check_coefficients(
    coefficients: tuple[float, float] | None, share: float
) -> tuple[float, float]:
    if coefficients is None:
        return _log_odds(share), _SLOPE
    try:
        intercept, slope = coefficients
    except (TypeError, ValueError):
        raise InputError(
            "coefficients", "must be (intercept, slope)", f"got {coefficients!r}"
        ) from None
    demand = "two finite numbers, (intercept, slope)"
    return checked_number(intercept, "coefficients", demand), checked_number(
        slope, "coefficients", demand
    )


def _log_odds(share: float) -> float:
    return log(share) - log(1 - share)


@dataclass(frozen=True, eq=False)
class NormalPair(Line):
    """A normal feature in each class, and a logistic score of it."""

    share: float
    intercept: float
    slope: float

    def as_seen(self) -> Population:
        """The law of the scores; there is only one score when the slope is 0."""
        if self.slope:
            return self
        return Finite(self.score(np.zeros(1)), np.array([self.share]), np.ones(1))

    def density(self, s: Floats) -> Floats:
        """Density of the feature."""
        up, down = (np.exp(-(((s - c) / _SPREAD) ** 2) / 2) for c in (_CENTRE, -_CENTRE))
        density: Floats = (self.share * up + (1 - self.share) * down) / (_SPREAD * sqrt(2 * pi))
        return density

    def breaks(self) -> Floats:
        """A grid of units, refined where the score rises and where it crosses the truth."""
        ends = 24.0
        inner = [np.arange(-ends, ends + 1)]
        if self.slope:
            steps = 2.0 ** np.arange(-2, 6) / abs(self.slope)
            middle = -self.intercept / self.slope
            inner += [middle + steps, middle - steps, np.array([middle])]
        if self.slope != _SLOPE:
            inner.append(
                np.array([(_log_odds(self.share) - self.intercept) / (self.slope - _SLOPE)])
            )
        points = np.concatenate(inner)
        breaks: Floats = np.unique(points[np.abs(points) <= ends])
        return breaks

    def score(self, s: Floats) -> Floats:
        """Score of the model, given the feature."""
        return expit(self.intercept + self.slope * s)

    def truth(self, s: Floats) -> Floats:
        """Posterior, given the feature."""
        return expit(_log_odds(self.share) + _SLOPE * s)


# ------------------------------------------------------------------------------------------ the authors' rows

_TOLERANCE = 1e-4


class Rows(NamedTuple):
    """Test labels, the model's scores for them, and the generator in the state in which the data left it."""

    y: Ints
    p: Floats
    rng: np.random.RandomState


def authors_rows(
    train: float,
    test: float,
    *,
    n_train: int = 14_000,
    n_test: int = 6_000,
    centre: float = 0.5,
    stop: Stop = "then",
    seed: int = 0,
) -> Rows:
    """Scores where P(Y = 1) is `test` by a logistic regression fitted where it is `train`.

    x | y ~ N(±centre, 2²). With NumPy's legacy generator, seed 0 and all labels drawn before the features, these are
    the authors' rows.
    """
    rng = np.random.RandomState(seed)
    y_train, y_test = rng.binomial(1, train, n_train), rng.binomial(1, test, n_test)
    x_train, x_test = (
        centre * (2 * y - 1) + 2 * rng.standard_normal(y.size) for y in (y_train, y_test)
    )
    return Rows(y_test, logistic_scores(x_train[:, None], y_train, x_test[:, None], stop), rng)


def add_noise(rows: Rows, deviations: list[float]) -> list[Floats]:
    """The scores with normal noise added to their log-odds, drawn in turn from the generator of the rows."""
    noisy = []
    for deviation in deviations:
        odds = (
            np.log(rows.p) - np.log(1 - rows.p) + deviation * rows.rng.normal(0.0, 1.0, rows.p.size)
        )
        noisy.append(1 / (1 + np.exp(-odds)))
    return noisy


def logistic_scores(x: Floats, y: Ints, new: Floats, stop: Stop = "then") -> Floats:
    """P(Y = 1) for the rows of `new` by the logistic regression of y on x."""
    if stop == "then":
        weights = _fit_as_then(x, y)
        return expit(new @ weights[:-1] + weights[-1])
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(tol=_TOLERANCE if stop == "now" else 1e-9, max_iter=10_000).fit(x, y)
    return np.asarray(model.predict_proba(new)[:, 1], dtype=np.float64)


def _fit_as_then(x: Floats, y: Ints) -> Floats:
    from scipy.optimize import minimize

    sign = 2.0 * y - 1

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = sign * (x @ weights[:-1] + weights[-1])
        pull = -sign * expit(-margin)
        total = np.logaddexp(0, -margin).sum() + weights[:-1] @ weights[:-1] / 2
        return float(total), np.append(x.T @ pull + weights[:-1], pull.sum())

    options: dict[str, Any] = {"gtol": _TOLERANCE, "ftol": 2.220446049250313e-09, "maxiter": 10_000}
    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=np.float64)
