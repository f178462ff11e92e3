"""Distortions: the true probability as a function of the score, binary or multiclass."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Any, TypeAlias

import numpy as np

from trueness._numerics.quadrature import expit, logit
from trueness.errors import InputError
from trueness.simulate._arguments import check_array, check_count, check_number
from trueness.typing import ArrayLike, Floats

_MOST_CLASSES = 10**4  # of a matrix: 0.8 GB

Distortion: TypeAlias = Callable[[Floats], Floats]
"""A function from scores to true probabilities, for whole arrays."""


@dataclass(frozen=True)
class Logit:
    r"""Truth that is linear in the log-odds of the score.

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
        return expit(self.log_odds(logit(z)))

    def log_odds(self, s: Floats) -> Floats:
        """Log-odds of the truth where those of the score are `s`."""
        if self.slope == 0:  # not 0 times an infinite logit
            return np.full(s.shape, float(self.shift))
        return self.shift + self.slope * s


@dataclass(frozen=True)
class Power:
    """Truth that is a power of the score.

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
        return z**self.exponent


@dataclass(frozen=True)
class Bump:
    r"""Truth that differs from the score near one value only.

    .. math:: P(Y = 1 \mid z) = z + \text{height} \cdot \cos^2\!\left(
        \frac{\pi}{2} \frac{z - \text{center}}{\text{width}} \right)
        \quad \text{where } |z - \text{center}| < \text{width}

    and z elsewhere.

    Parameters
    ----------
    center : float, default 0.5
        The score at the peak.
    width : float, default 0.1
        Half-width of the bump.
    height : float, default 0.1
        Truth minus score at the peak; negative if the scores are too high.

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
        distance = np.minimum(np.abs(z - self.center) / self.width, 1.0)
        return z + self.height * np.cos(pi / 2 * distance) ** 2 * (distance < 1)

    @property
    def kinks(self) -> Floats:
        """Where integration panels should end."""
        return np.array([self.center - self.width, self.center, self.center + self.width])


@dataclass(frozen=True)
class Oscillation:
    r"""Truth that oscillates around the score.

    .. math:: P(Y = 1 \mid z) = z + 4 \, \text{height} \; z (1 - z) \sin(2 \pi \, \text{cycles} \; z)

    Bins as wide as a cycle average the oscillations away: an error that every binned estimate can miss.

    Parameters
    ----------
    height : float, default 0.1
        Amplitude at z = 1/2; at most 1/4, so that the truth stays within [0, 1].
    cycles : int, default 5
        Number of cycles between 0 and 1.

    Examples
    --------
    >>> float(Oscillation(height=0.1, cycles=1)(np.array([0.25]))[0].round(3))
    0.325
    """

    height: float = 0.1
    cycles: int = 5

    def __post_init__(self) -> None:
        check_number(abs(self.height), "height", "a number from -1/4 to 1/4", high=np.nextafter(0.25, 1))
        check_count(self.cycles, "cycles", most=10**6)

    def __call__(self, z: Floats) -> Floats:
        return z + 4 * self.height * z * (1 - z) * np.sin(2 * pi * self.cycles * z)

    @property
    def kinks(self) -> Floats:
        """Where the truth crosses the score."""
        return np.arange(1, 2 * self.cycles) / (2 * self.cycles)


@dataclass(frozen=True)
class Steps:
    """Truth that is a step function: the midpoint of the score's cell, of `count` equal cells.

    Uniform scores are right on average within a cell, so bins equal to the cells show no error.

    Parameters
    ----------
    count : int, default 5
        Number of steps.

    Examples
    --------
    >>> [float(t) for t in Steps(2)(np.array([0.1, 0.5, 1.0]))]
    [0.25, 0.75, 0.75]
    """

    count: int = 5

    def __post_init__(self) -> None:
        check_count(self.count, "count", most=10**6)

    def __call__(self, z: Floats) -> Floats:
        # The cells are those of a binning with edges b / count: closed on the left.
        cell = np.searchsorted(np.arange(1, self.count) / self.count, z, side="right")
        return (cell + 0.5) / self.count

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
class Shifted:
    """A distortion shifted in log-odds."""

    inner: Distortion
    shift: float

    def __call__(self, z: Floats) -> Floats:
        return expit(self.shift + logit(self.inner(z)))

    def log_odds(self, s: Floats) -> Floats:
        return self.shift + log_odds(self.inner, s)

    @property
    def kinks(self) -> Floats:
        return kinks(self.inner)

    def __repr__(self) -> str:
        before = "" if isinstance(self.inner, _Identity) else f"{self.inner!r}, "
        return f"{before}truth shifted by {self.shift:.4g}"


@dataclass(frozen=True)
class _Checked:
    """A distortion whose values are checked to be probabilities."""

    inner: Distortion

    def __call__(self, z: Floats) -> Floats:
        truth = np.asarray(self.inner(z), dtype=np.float64)
        if truth.shape != z.shape:
            got = f"for scores of shape {z.shape} it returned {truth.shape}"
            raise InputError("distortion", "must return one truth per score", got)
        # Rounding is not an error of the caller.
        outside = ~((truth >= -1e-12) & (truth <= 1 + 1e-12))
        if outside.any():
            at = int(outside.argmax())
            got = f"for the score {z[at]:.6g} it returned {truth[at]:.6g}"
            raise InputError("distortion", "must map [0, 1] into [0, 1]", got)
        return np.clip(truth, 0.0, 1.0)

    @property
    def kinks(self) -> Floats:
        return kinks(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner) if type(self.inner).__module__ == __name__ else "a function as truth"


def as_distortion(distortion: Any) -> Distortion:
    """The distortion, checked to stay within [0, 1]; the identity for None."""
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


def log_odds(distortion: Distortion, s: Floats) -> Floats:
    """Log-odds of the truth where those of the score are `s`; near 1 the score itself has too few digits."""
    own: Callable[[Floats], Floats] = getattr(distortion, "log_odds", lambda s: logit(distortion(expit(s))))
    return own(s)


def kinks(distortion: Distortion) -> Floats:
    """Scores at which integration panels should end."""
    return getattr(distortion, "kinks", np.array([]))


@dataclass(frozen=True)
class Temperature:
    r"""Truth whose logits are those of the scores divided by a temperature.

    .. math:: P(Y = k \mid z) = z_k^{1/T} / \textstyle\sum_j z_j^{1/T}

    Parameters
    ----------
    value : float
        The temperature T that temperature scaling should find; above 1 the scores are over-confident.

    Examples
    --------
    >>> [float(t) for t in Temperature(2).truth(np.array([[0.64, 0.36]]))[0].round(4)]
    [0.5714, 0.4286]
    """

    value: float

    def __post_init__(self) -> None:
        check_number(self.value, "value", "a number above 0", low=0)

    def truth(self, z: Floats) -> Floats:
        """True probabilities for a matrix of scores."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(z) / self.value)


@dataclass(frozen=True)
class LabelNoise:
    """Label noise: classes are drawn from the scores, then recorded with errors.

    Parameters
    ----------
    flip : float or array-like of shape (K, K)
        A number: the fraction of labels replaced by a uniformly drawn class. A matrix: entry (j, k) is the probability
        that class j is recorded as k.

    Examples
    --------
    >>> [float(t) for t in LabelNoise(0.2).truth(np.array([[0.75, 0.25]]))[0].round(4)]
    [0.7, 0.3]
    """

    flip: ArrayLike

    def __post_init__(self) -> None:
        if np.ndim(self.flip) == 0:
            just = np.nextafter([0.0, 1.0], [-1.0, 2.0])
            check_number(self.flip, "flip", "a number from 0 to 1, or a matrix", low=just[0], high=just[1])
            return
        matrix = check_array(self.flip, "flip", dimensions=(2,))
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError("flip", "must be a square matrix", f"got shape {matrix.shape}")
        object.__setattr__(self, "flip", tuple(map(tuple, matrix.tolist())))

    @property
    def even(self) -> float | None:
        """The fraction of labels replaced by a uniformly drawn class; None for a matrix."""
        return None if isinstance(self.flip, tuple) else float(self.flip)

    def matrix(self, classes: int) -> Floats:
        """Probability that class j is recorded as k."""
        if self.even is None:
            return np.array(self.flip)
        check_count(classes, "classes", most=_MOST_CLASSES)
        return (1 - self.even) * np.eye(classes) + self.even / classes

    def truth(self, z: Floats) -> Floats:
        """True probabilities for a matrix of scores."""
        return z @ self.matrix(z.shape[1])

    def __repr__(self) -> str:
        side = len(self.flip) if self.even is None else 0
        return f"LabelNoise({side}x{side})" if side else f"LabelNoise({self.even:g})"


Confusion: TypeAlias = Temperature | LabelNoise


def softmax(logits: Floats) -> Floats:
    """Probabilities of rows of logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def as_confusion(distortion: Any, classes: int) -> Confusion | None:
    """A distortion checked for this number of classes; None for one that does nothing."""
    if distortion is None or distortion == Temperature(1.0) or distortion == LabelNoise(0.0):
        return None
    if not isinstance(distortion, Temperature | LabelNoise):
        raise InputError("distortion", "must be None, Temperature or LabelNoise", f"got {distortion!r}")
    if isinstance(distortion, LabelNoise) and distortion.even is None and len(distortion.flip) != classes:
        side = len(distortion.flip)
        raise InputError("distortion", f"must have one row of `flip` per class, {classes}", f"got {side}")
    return distortion
