"""One feature, two classes: the synthetic data of Matsubara et al."""

from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np

from trueness.errors import InputError
from trueness.simulate._arguments import Seed, check_count, check_number, generator
from trueness.simulate._population import Finite, Line, Population
from trueness.simulate._simulated import Simulated
from trueness.typing import Floats

__all__ = ["normal_feature"]

_CENTRE = 0.5
_SPREAD = 2.0
_SLOPE = 2 * _CENTRE / _SPREAD**2  # of the log-odds, in x: 1/4


def normal_feature(
    n: int = 6000, *, prevalence: float = 0.5, coefficients: tuple[float, float] | None = None, seed: Seed = None
) -> Simulated:
    r"""
    One normal feature per row, and the scores of a logistic regression on it.

    Parameters
    ----------
    n : int, default 6000
        How many rows to draw: the paper trains on 14,000 and tests on 6,000.
    prevalence : float, default 0.5
        P(Y = 1).
    coefficients : (float, float), optional
        Intercept and slope of the model whose scores are wanted, as a logistic regression would find
        them. Without them the scores are the true posterior, which is calibrated. They change neither
        labels nor feature: the same seed gives the same rows for every model.
    seed : int or numpy.random.Generator, optional
        Where the randomness comes from. The same seed gives the same bytes.

    Returns
    -------
    Simulated
        ``columns["x"]`` is the feature; `truth` is P(Y = 1 | score). True errors are quadratures.

    Notes
    -----
    Labels first, then the feature :math:`x \mid y \sim N(\pm 1/2, 2^2)`, so that

    .. math:: P(Y = 1 \mid x) = \mathrm{expit}\left( \log \frac{\pi}{1 - \pi} + \frac{x}{4} \right) .

    This is what the authors ran; the text of their section 4.1 has other means, and another sign and slope
    of the posterior.

    References
    ----------
    Matsubara, Tax, Mudd, Guy. TCE: a test-based approach to measuring calibration error. UAI 2023.

    Examples
    --------
    A model fitted to balanced classes, used where one in five is positive.

    >>> from trueness_papers.matsubara import normal_feature
    >>> d = normal_feature(1000, prevalence=0.2, coefficients=(0.0, 0.25), seed=0)
    >>> round(d.true_ece(), 4)
    0.2823
    >>> normal_feature(1000, prevalence=0.2, seed=0).true_ece()
    0.0
    """
    n = check_count(n, "n")
    rng = generator(seed)
    share = check_number(prevalence, "prevalence", "a number strictly between 0 and 1", low=0, high=1)
    population = NormalPair(share, *_checked(coefficients, share))
    y = (rng.random(n) < share).astype(np.int64)
    x = rng.normal(np.where(y == 1, _CENTRE, -_CENTRE), _SPREAD)
    name = f"normal feature, prevalence {share:g}, " + (
        "true posterior" if coefficients is None else f"model ({population.intercept:.4g}, {population.slope:.4g})"
    )
    # With a slope of 0 the score says nothing about x.
    t = population.truth(x) if population.slope else np.full(n, share)
    return Simulated(y, population.score(x), t, name, population.seen(), {"x": x})


def _checked(coefficients: tuple[float, float] | None, share: float) -> tuple[float, float]:
    if coefficients is None:
        return _log_odds(share), _SLOPE
    try:
        intercept, slope = coefficients
    except (TypeError, ValueError):
        raise InputError("coefficients", "must be (intercept, slope)", f"got {coefficients!r}") from None
    demand = "two finite numbers, (intercept, slope)"
    return check_number(intercept, "coefficients", demand), check_number(slope, "coefficients", demand)


def _log_odds(share: float) -> float:
    return log(share) - log(1 - share)


@dataclass(frozen=True, eq=False)
class NormalPair(Line):
    """Two normal laws of x, and a logistic score of it."""

    share: float
    intercept: float
    slope: float

    def seen(self) -> Population:
        """The law as its scores show it: a single score when the slope is 0."""
        if self.slope:
            return self
        return Finite(self.score(np.zeros(1)), np.array([self.share]), np.ones(1))

    def density(self, s: Floats) -> Floats:
        """Density of the feature."""
        up, down = (np.exp(-(((s - c) / _SPREAD) ** 2) / 2) for c in (_CENTRE, -_CENTRE))
        density: Floats = (self.share * up + (1 - self.share) * down) / (_SPREAD * sqrt(2 * pi))
        return density

    def breaks(self) -> Floats:
        """Every unit, and closer where the score rises and where it crosses the truth."""
        ends = 24.0
        inner = [np.arange(-ends, ends + 1)]
        if self.slope:
            steps = 2.0 ** np.arange(-2, 6) / abs(self.slope)
            middle = -self.intercept / self.slope
            inner += [middle + steps, middle - steps, np.array([middle])]
        if self.slope != _SLOPE:
            inner.append(np.array([(_log_odds(self.share) - self.intercept) / (self.slope - _SLOPE)]))
        points = np.concatenate(inner)
        breaks: Floats = np.unique(points[np.abs(points) <= ends])
        return breaks

    def score(self, s: Floats) -> Floats:
        """What the model predicts at a feature."""
        from trueness._numerics.quadrature import expit

        z: Floats = expit(self.intercept + self.slope * s)
        return z

    def truth(self, s: Floats) -> Floats:
        """Posterior at a feature."""
        from trueness._numerics.quadrature import expit

        t: Floats = expit(_log_odds(self.share) + _SLOPE * s)
        return t
