"""Distortions of binary scores that are hard to see: local, oscillating or piecewise constant errors.

Each is a function of the scores for :func:`trueness.simulate.binary`, and declares where integrals should be cut.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

from trueness._input.arguments import checked_number, checked_whole
from trueness.typing import Floats

__all__ = ["Bump", "Oscillation", "Steps"]


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
        checked_number(self.center, "center", "a number strictly between 0 and 1", low=0, high=1)
        checked_number(self.width, "width", "a number above 0", low=0)
        checked_number(self.height, "height", "a number between -1 and 1", low=-1, high=1)

    def __call__(self, z: Floats) -> Floats:
        """The truth at these scores."""
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
        checked_number(
            abs(self.height), "height", "a number from -1/4 to 1/4", high=np.nextafter(0.25, 1)
        )
        checked_whole(self.cycles, "cycles", 10**6)

    def __call__(self, z: Floats) -> Floats:
        """The truth at these scores."""
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
        checked_whole(self.count, "count", 10**6)

    def __call__(self, z: Floats) -> Floats:
        """The truth at these scores."""
        # The cells are those of a binning with edges b / count: closed on the left.
        cell = np.searchsorted(np.arange(1, self.count) / self.count, z, side="right")
        return (cell + 0.5) / self.count

    @property
    def kinks(self) -> Floats:
        """Where the truth jumps, and where it crosses the score."""
        return np.arange(1, 2 * self.count) / (2 * self.count)
