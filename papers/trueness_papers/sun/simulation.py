"""The simulated settings of Sun et al. 2025, with their grids of β, cells and seeds."""

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from trueness._input.arguments import Seed, checked_number, checked_whole, generator
from trueness._numerics.quadrature import beta_breaks, beta_density, expit, logit
from trueness.errors import InputError
from trueness.simulate import Simulated
from trueness.simulate._simulated import Line, Population, draw_labels
from trueness.typing import Floats, Kind

__all__ = [
    "LEVEL",
    "SETTINGS",
    "SHAPES",
    "generator_for",
    "simulate_run",
    "sun_setting",
    "true_squared_error",
]

LEVEL = 0.9
SHAPES = {1: (1.0, 1.0), 2: (5.0, 0.5)}
"""Beta laws of the score of the first class, by setting."""
_CLASSES = 10


class Setting(NamedTuple):
    """A setting, with the paper's choices for it."""

    number: int
    classes: int
    k: int
    cells: dict[int, int]
    """Cells per axis, by the number of rows."""
    betas: tuple[float, ...]
    calibrated: float
    """The β of a calibrated model."""
    law: str


_SLOPES = tuple(round(0.05 * i, 2) for i in range(21))
_SHIFTS = tuple(round(0.005 * i, 3) for i in range(21))

SETTINGS = {
    1: Setting(1, 2, 1, {100: 20, 1000: 50}, _SLOPES, 1.0, "2 classes, uniform scores"),
    2: Setting(2, 2, 1, {100: 20, 1000: 50}, _SLOPES, 1.0, "2 classes, one score Beta(5, 1/2)"),
    3: Setting(3, 10, 2, {100: 10, 1000: 20}, _SHIFTS, 0.0, "10 classes, uniform scores"),
}


def generator_for(
    seed: int, setting: int, n: int, index: int, run: int, purpose: int
) -> np.random.Generator:
    """The generator of one run for one purpose: 0 is the data, others are methods, so that none affects another."""
    return np.random.default_rng(np.random.SeedSequence([seed, setting, n, index, run, purpose]))


def simulate_run(seed: int, setting: int, n: int, index: int, run: int) -> Simulated:
    """The data set of one run at the β of that index; every method sees the same one."""
    rng = generator_for(seed, setting, n, index, run, 0)
    return sun_setting(setting, n, beta=SETTINGS[setting].betas[index], seed=rng)


def true_squared_error(setting: int, beta: float) -> float:
    """The squared error of the population, for the setting's k."""
    return sun_setting(setting, 1, beta=beta, seed=0).true_squared_ece(k=SETTINGS[setting].k)


def sun_setting(setting: int, n: int = 100, *, beta: float, seed: Seed = None) -> Simulated:
    r"""
    Simulate one of the three settings of Sun et al., with a matrix of scores.

    Parameters
    ----------
    setting : {1, 2, 3}
        1: two classes, uniform scores. 2: two classes, the score of a randomly chosen class is Beta(5, 1/2).
        3: ten classes, scores uniform on the simplex.
    n : int, default 100
        Number of rows; the paper has 100 and 1000.
    beta : float
        The distance from calibration. Settings 1 and 2: the slope of the true log-odds against the log-odds of
        the score, from 0 to 1 in the paper; 1 is calibrated. Setting 3: the excess of the largest score and
        the deficit of the second largest, at most 1/10; 0 is calibrated.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        `y_prob` has shape (n, 2) or (n, 10). The paper looks at the largest score in settings 1 and 2 (k = 1), and
        at the two largest in setting 3 (k = 2), where the squared error is 2 beta².

    Notes
    -----
    Settings 1 and 2: :math:`P(Y = 1 \mid z) = \mathrm{expit}(\beta \, \mathrm{logit}\, z_1)`, the same
    function for both classes, so all kinds of error are equal. Its square is found by quadrature.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban. A confidence interval for the l2 expected calibration error. 2025.

    Examples
    --------
    >>> from trueness_papers.sun import sun_setting
    >>> [round(sun_setting(1, beta=b).true_squared_ece(), 7) for b in (0, 0.5, 1)]
    [0.0833333, 0.0114306, 0.0]
    >>> round(sun_setting(2, beta=0).true_squared_ece(), 5)
    0.18007
    >>> round(sun_setting(3, beta=0.1).true_squared_ece(k=2), 12)
    0.02
    """
    if setting not in (1, 2, 3):
        raise InputError("setting", "must be 1, 2 or 3", f"got {setting!r}")
    n = checked_whole(n, "n")
    rng = generator(seed)
    population: Population
    if setting == 3:
        just = np.nextafter([0.0, 0.1], [-1.0, 1.0])
        beta = checked_number(
            beta, "beta", "a number from 0 to 0.1 in setting 3", low=just[0], high=just[1]
        )
        z = rng.dirichlet(np.ones(_CLASSES), n)
        t, population = _exchange(z, beta), TopExchange(beta)
    else:
        beta = checked_number(beta, "beta")
        population = SymmetricPair(*SHAPES[setting], beta)
        first = rng.beta(*SHAPES[setting], n)
        if setting == 2:
            first = np.where(rng.random(n) < 0.5, first, 1 - first)
        z, t = (np.stack([p, 1 - p], axis=1) for p in (first, population.distorted(first)))
    return Simulated(draw_labels(t, rng), z, t, f"Sun setting {setting}, beta={beta:g}", population)


def _exchange(z: Floats, beta: float) -> Floats:
    """Truth of setting 3: `beta` moves from the largest score to the second largest."""
    rows = np.arange(len(z))
    first, second = np.argsort(-z, axis=1, kind="stable")[:, :2].T
    t = z.copy()
    t[rows, first] -= beta
    t[rows, second] += beta
    return t


@dataclass(frozen=True, eq=False)
class SymmetricPair(Line):
    """Two exchangeable classes: every kind of error is that of one Beta score."""

    a: float
    b: float
    slope: float

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of the score."""
        return beta_density(s, self.a, self.b)

    def breaks(self) -> Floats:
        """Panels of the density; they include 0, where truth and score cross."""
        return beta_breaks(self.a, self.b)

    def score(self, s: Floats) -> Floats:
        """Score at `s`."""
        return expit(s)

    def truth(self, s: Floats) -> Floats:
        """Truth at `s`."""
        return self.score(self.slope * s)

    def distorted(self, z: Floats) -> Floats:
        """Truth at the score `z`."""
        # A score of exactly 0 or 1 stays there when the slope is not 0.
        return self.truth(logit(z)) if self.slope else np.full(z.shape, 0.5)

    def squared_error(self, k: int) -> float:
        """The error of one column, once or for both columns."""
        return k * self.error(2, "confidence") ** 2


@dataclass(frozen=True)
class TopExchange:
    """Uniform scores of ten classes; the largest is too high and the second largest too low by the same amount."""

    beta: float

    def error(self, power: float, kind: Kind) -> float:
        """The error in the norm with this exponent."""
        if kind != "classwise" or self.beta == 0:
            return self.beta
        return ExchangedColumn(self.beta).error(power, kind)

    def squared_error(self, k: int) -> float:
        """One gap if only the largest score is seen, two if the second largest is seen as well."""
        return (1 if k == 1 else 2) * self.beta**2


@dataclass(frozen=True, eq=False)
class ExchangedColumn(Line):
    r"""
    One column of setting 3; all columns have the same law.

    Given its score z, the others are (1 − z) times a uniform vector of K − 1 entries. Any j of these all
    exceed x with probability :math:`(1 - j x)_+^{K-2}`. Inclusion and exclusion give the probabilities that none
    exceeds x = z / (1 − z), and that exactly one does.
    """

    beta: float

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of the score."""
        return beta_density(s, 1.0, _CLASSES - 1.0)

    def breaks(self) -> Floats:
        """Panels of the density, cut where one more score can be larger."""
        return beta_breaks(1.0, _CLASSES - 1.0, -np.log(np.arange(1, _CLASSES)))

    def score(self, s: Floats) -> Floats:
        """Score at `s`."""
        return expit(s)

    def truth(self, s: Floats) -> Floats:
        """Truth given this score alone."""
        return self.score(s) + self.beta * self.change(s)

    def gap(self, s: Floats) -> Floats:
        """Distance between score and truth."""
        distance: Floats = self.beta * np.abs(self.change(s))
        return distance

    def change(self, s: Floats) -> Floats:
        """P(second largest) − P(largest), given the score."""
        others = _CLASSES - 1
        x = np.exp(np.minimum(s, 1.0))
        exceed = np.stack([np.maximum(1 - j * x, 0) ** (others - 1) for j in range(others + 1)])
        sign = (-1.0) ** np.arange(others + 1)
        ways = np.array([comb(others, j) for j in range(others + 1)])
        largest = (sign * ways) @ exceed
        second = (-sign * np.arange(others + 1) * ways) @ exceed
        change: Floats = second - largest
        return change
