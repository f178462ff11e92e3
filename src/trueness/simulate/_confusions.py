"""How the true probabilities of several classes depart from the scores."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError
from trueness.simulate._arguments import check_array, check_number
from trueness.typing import ArrayLike, Floats

__all__ = ["Confusion", "LabelNoise", "Temperature", "checked_confusion"]


@dataclass(frozen=True)
class Temperature:
    r"""
    Truth whose logits are those of the scores divided by a temperature.

    .. math:: P(Y = k \mid z) = z_k^{1/T} / \textstyle\sum_j z_j^{1/T}

    Parameters
    ----------
    value : float
        The temperature T that scaling should find: above 1 the scores are over-confident.

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
            logits = np.log(z) / self.value
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        truth: Floats = powers / powers.sum(axis=1, keepdims=True)
        return truth


@dataclass(frozen=True)
class LabelNoise:
    """
    Truth blurred by mistaken labels: the true class comes from the scores, and is then recorded wrongly.

    Parameters
    ----------
    flip : float or array-like of shape (K, K)
        A number: the share of labels that are replaced by one drawn evenly from all classes. A matrix:
        entry (j, k) is the probability that class j is recorded as k.

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
        """The share of labels that are replaced evenly, when that is all that happens."""
        return None if isinstance(self.flip, tuple) else float(self.flip)

    def matrix(self, classes: int) -> Floats:
        """Probability that class j is recorded as k."""
        if self.even is None:
            return np.array(self.flip)
        return (1 - self.even) * np.eye(classes) + self.even / classes

    def truth(self, z: Floats) -> Floats:
        """True probabilities for a matrix of scores."""
        truth: Floats = z @ self.matrix(z.shape[1])
        return truth

    def __repr__(self) -> str:
        side = len(self.flip) if self.even is None else 0
        return f"LabelNoise({side}x{side})" if side else f"LabelNoise({self.even:g})"


Confusion: TypeAlias = Temperature | LabelNoise


def checked_confusion(distortion: Any, classes: int) -> Confusion | None:
    """A distortion that suits this number of classes; None for one that does nothing."""
    if distortion is None or distortion == Temperature(1.0) or distortion == LabelNoise(0.0):
        return None
    if not isinstance(distortion, Temperature | LabelNoise):
        raise InputError("distortion", "must be None, Temperature or LabelNoise", f"got {distortion!r}")
    if isinstance(distortion, LabelNoise) and distortion.even is None and len(distortion.flip) != classes:
        side = len(distortion.flip)
        raise InputError("distortion", f"must have one row of `flip` per class, {classes}", f"got {side}")
    return distortion
