"""How the truth departs from the score."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError
from trueness.simulate._arguments import check_count, check_number
from trueness.typing import Floats

__all__ = ["Bump", "Distortion", "Logit", "Oscillation", "Power", "Steps", "checked", "kinks", "log_odds", "shifted"]

Distortion: TypeAlias = Callable[[Floats], Floats]
"""A function from scores to true probabilities, for whole arrays."""


@dataclass(frozen=True)
class Logit:
    r"""
    Truth that is a line in the log-odds of the score.

    .. math:: P(Y = 1 \mid z) = \mathrm{expit}(\text{shift} + \text{slope} \cdot \mathrm{logit}\, z)

    Parameters
    ----------
    shift : float, default 0
        Below 0 the scores are too high, above 0 too low.
    slope : float, default 1
        Below 1 the scores are over-confident (too near 0 and 1), above 1 under-confident.

    Examples
    --------
    >>> float(Logit(slope=0)(np.array([0.9]))[0])
    0.5
    """

    shift: float = 0.0
    slope: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.shift, "shift")
        check_number(self.slope, "slope")

    def __call__(self, z: Floats) -> Floats:
        """Truth at the scores `z`."""
        from trueness._numerics.quadrature import expit, logit

        truth: Floats = expit(self.log_odds(logit(z)))
        return truth

    def log_odds(self, s: Floats) -> Floats:
        """Log-odds of the truth where those of the score are `s`."""
        if self.slope == 0:  # not 0 times an infinite logit
            return np.full(s.shape, float(self.shift))
        return self.shift + self.slope * s


@dataclass(frozen=True)
class Power:
    """
    Truth that is a power of the score.

    Parameters
    ----------
    exponent : float
        Above 1 the scores are too high, between 0 and 1 too low.

    Examples
    --------
    >>> float(Power(2)(np.array([0.5]))[0])
    0.25
    """

    exponent: float

    def __post_init__(self) -> None:
        check_number(self.exponent, "exponent", "a number above 0", low=0)

    def __call__(self, z: Floats) -> Floats:
        """Truth at the scores `z`."""
        truth: Floats = z**self.exponent
        return truth


@dataclass(frozen=True)
class Bump:
    r"""
    Truth that leaves the score in one place only.

    .. math:: P(Y = 1 \mid z) = z + \text{height} \cdot \cos^2\!\left(
        \frac{\pi}{2} \frac{z - \text{center}}{\text{width}} \right)
        \quad \text{where } |z - \text{center}| < \text{width}

    and z elsewhere.

    Parameters
    ----------
    center : float, default 0.5
        Where the truth is farthest from the score.
    width : float, default 0.1
        How far from the centre the bump ends.
    height : float, default 0.1
        How far the truth is from the score at the centre; negative where the scores are too high.

    Examples
    --------
    >>> [float(t) for t in Bump(height=0.25)(np.array([0.3, 0.45, 0.5])).round(4)]
    [0.3, 0.575, 0.75]
    """

    center: float = 0.5
    width: float = 0.1
    height: float = 0.1

    def __post_init__(self) -> None:
        check_number(self.center, "center", "a number strictly between 0 and 1", low=0, high=1)
        check_number(self.width, "width", "a number above 0", low=0)
        check_number(self.height, "height", "a number between -1 and 1", low=-1, high=1)

    def __call__(self, z: Floats) -> Floats:
        """Truth at the scores `z`."""
        distance = np.minimum(np.abs(z - self.center) / self.width, 1.0)
        truth: Floats = z + self.height * np.cos(pi / 2 * distance) ** 2 * (distance < 1)
        return truth

    @property
    def kinks(self) -> Floats:
        """Where a quadrature should stop."""
        return np.array([self.center - self.width, self.center, self.center + self.width])


@dataclass(frozen=True)
class Oscillation:
    r"""
    Truth that swings about the score.

    .. math:: P(Y = 1 \mid z) = z + 4 \, \text{height} \; z (1 - z) \sin(2 \pi \, \text{cycles} \; z)

    Bins as wide as a cycle average the swings away: an error that every binned estimate can miss.

    Parameters
    ----------
    height : float, default 0.1
        How far the truth swings at z = 1/2; at most 1/4, so that it stays within [0, 1].
    cycles : int, default 5
        How many swings there are between 0 and 1.

    Examples
    --------
    >>> float(Oscillation(height=0.1, cycles=1)(np.array([0.25]))[0].round(3))
    0.325
    """

    height: float = 0.1
    cycles: int = 5

    def __post_init__(self) -> None:
        check_number(abs(self.height), "height", "a number from -1/4 to 1/4", high=np.nextafter(0.25, 1))
        check_count(self.cycles, "cycles")

    def __call__(self, z: Floats) -> Floats:
        """Truth at the scores `z`."""
        truth: Floats = z + 4 * self.height * z * (1 - z) * np.sin(2 * pi * self.cycles * z)
        return truth

    @property
    def kinks(self) -> Floats:
        """Where the truth crosses the score."""
        return np.arange(1, 2 * self.cycles) / (2 * self.cycles)


@dataclass(frozen=True)
class Steps:
    """
    Truth that climbs in steps: the middle of the score's cell, of `count` equal cells.

    Given the cell, uniform scores are right on average, so bins that are the cells see no error.

    Parameters
    ----------
    count : int, default 5
        How many steps there are.

    Examples
    --------
    >>> [float(t) for t in Steps(2)(np.array([0.1, 0.5, 1.0]))]
    [0.25, 0.75, 0.75]
    """

    count: int = 5

    def __post_init__(self) -> None:
        check_count(self.count, "count")

    def __call__(self, z: Floats) -> Floats:
        """Truth at the scores `z`."""
        # The cells are those of a binning with edges b / count: closed on the left.
        cell = np.searchsorted(np.arange(1, self.count) / self.count, z, side="right")
        truth: Floats = (cell + 0.5) / self.count
        return truth

    @property
    def kinks(self) -> Floats:
        """Where the truth jumps, and where it crosses the score."""
        return np.arange(1, 2 * self.count) / (2 * self.count)


@dataclass(frozen=True)
class _Identity:
    def __call__(self, z: Floats) -> Floats:
        return z

    def log_odds(self, s: Floats) -> Floats:
        return s

    def __repr__(self) -> str:
        return "calibrated"


@dataclass(frozen=True)
class _Shifted:
    """A distortion whose log-odds are moved."""

    inner: Distortion
    shift: float

    def __call__(self, z: Floats) -> Floats:
        from trueness._numerics.quadrature import expit, logit

        truth: Floats = expit(self.shift + logit(self.inner(z)))
        return truth

    def log_odds(self, s: Floats) -> Floats:
        return self.shift + log_odds(self.inner, s)

    @property
    def kinks(self) -> Floats:
        return kinks(self.inner)

    def __repr__(self) -> str:
        before = "" if isinstance(self.inner, _Identity) else f"{self.inner!r}, "
        return f"{before}truth moved by {self.shift:.4g}"


@dataclass(frozen=True)
class _Checked:
    """A distortion whose values are seen to be probabilities."""

    inner: Distortion

    def __call__(self, z: Floats) -> Floats:
        truth = np.asarray(self.inner(z), dtype=np.float64)
        if truth.shape != z.shape:
            raise InputError(
                "distortion", "must give one truth per score", f"for scores of shape {z.shape} it gave {truth.shape}"
            )
        # A hair of rounding is not an error of the caller.
        outside = ~((truth >= -1e-12) & (truth <= 1 + 1e-12))
        if outside.any():
            at = int(outside.argmax())
            raise InputError(
                "distortion", "must map [0, 1] into [0, 1]", f"for the score {z[at]:.6g} it gives {truth[at]:.6g}"
            )
        return np.clip(truth, 0.0, 1.0)

    @property
    def kinks(self) -> Floats:
        return kinks(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner) if type(self.inner).__module__ == __name__ else "a function as truth"


def checked(distortion: Any) -> Distortion:
    """A distortion that never leaves [0, 1]; the identity for None."""
    if distortion is None:
        return _Identity()
    if isinstance(distortion, Logit):
        return distortion
    if not callable(distortion):
        raise InputError(
            "distortion",
            "must be None, Logit, Power, Bump, Oscillation, Steps or a function from scores to truths",
            f"got {distortion!r}",
        )
    careful = _Checked(distortion)
    careful(np.linspace(0, 1, 4097))
    return careful


def shifted(distortion: Distortion, shift: float) -> Distortion:
    """The same with its log-odds moved."""
    return _Shifted(distortion, shift)


def log_odds(distortion: Distortion, s: Floats) -> Floats:
    """Log-odds of the truth where those of the score are `s`; near 1 the score itself has too few digits left."""
    from trueness._numerics.quadrature import expit, logit

    own: Callable[[Floats], Floats] = getattr(distortion, "log_odds", lambda s: logit(distortion(expit(s))))
    return own(s)


def kinks(distortion: Distortion) -> Floats:
    """Scores at which a quadrature should stop."""
    own: Floats = getattr(distortion, "kinks", np.array([]))
    return own
