"""Laws of binary scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError
from trueness.simulate._arguments import check_array, check_number, check_shares
from trueness.typing import ArrayLike, Floats

__all__ = ["Beta", "Discrete", "Law", "Quantiles", "law_of"]


@dataclass(frozen=True)
class Beta:
    """
    Scores with a Beta law.

    Parameters
    ----------
    a, b : float, default 1
        The two shapes, above 0: Beta(1, 1) is uniform, Beta(12, 0.25) is concentrated near 1,
        Beta(0.3, 60) suits rare events. The mean is a / (a + b). True errors are accurate to
        1e-9 for shapes up to 1e6.

    Examples
    --------
    >>> Beta(2, 3)
    Beta(2, 3)
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.a, "a", "a number above 0", low=0)
        check_number(self.b, "b", "a number above 0", low=0)

    def __repr__(self) -> str:
        return f"Beta({self.a:g}, {self.b:g})"


@dataclass(frozen=True)
class Quantiles:
    """Scores that are a function of a uniform number: the law of ``function(U)``."""

    function: Callable[[Floats], Floats]

    def at(self, u: Floats) -> Floats:
        """The scores at `u`, seen to be probabilities."""
        z = np.asarray(self.function(u), dtype=np.float64)
        demand = "`scores`, as a function, must turn an array of numbers in [0, 1) into as many scores in [0, 1]"
        if z.shape != u.shape:
            raise InputError(f"{demand}; for shape {u.shape} it gave {z.shape}.")
        outside = ~((z >= 0) & (z <= 1))
        if outside.any():
            at = int(outside.argmax())
            raise InputError(f"{demand}; for {u[at]:.6g} it gave {z[at]:.6g}.")
        return z

    def __repr__(self) -> str:
        return "a function of uniform numbers"


@dataclass(frozen=True, eq=False)
class Discrete:
    """
    Scores that take finitely many values.

    Parameters
    ----------
    values : array-like of shape (m,)
        The values, in [0, 1].
    weights : array-like of shape (m,), optional
        How often each occurs, in any unit; equally often when not given.

    Examples
    --------
    >>> Discrete([0.1, 0.5], weights=[3, 1])
    Discrete(2 values)
    """

    values: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        values = check_array(self.values, "values")
        check_shares(self.weights, values.size, "weights")
        object.__setattr__(self, "values", values)

    @property
    def shares(self) -> Floats:
        """The weights, summing to one."""
        return check_shares(self.weights, self.values.size, "weights")

    def __repr__(self) -> str:
        return f"Discrete({self.values.size} values)"


@dataclass(frozen=True, eq=False)
class Law:
    """A law of scores, all moved by `shift` in log-odds."""

    base: Beta | Quantiles | Discrete
    shift: float = 0.0

    def moved(self, shift: float) -> "Law":
        """The same law, its scores moved by `shift` in log-odds."""
        return replace(self, shift=shift)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Scores of `n` rows."""
        if isinstance(self.base, Beta):
            return self._draw_beta(self.base, n, rng)
        if isinstance(self.base, Quantiles):
            return self.move(self.base.at(rng.random(n)))
        drawn: Floats = rng.choice(self.move(self.base.values), n, p=self.base.shares)
        return drawn

    def _draw_beta(self, base: Beta, n: int, rng: np.random.Generator) -> Floats:
        """Two Gamma variables, in logarithms: a score that rounds to 1 could not be moved any more."""
        from trueness._numerics.quadrature import expit

        s = _log_gammas(base.a, n, rng) - _log_gammas(base.b, n, rng)
        z: Floats = expit(s + self.shift)
        return z

    def move(self, z: Floats) -> Floats:
        """Scores, moved."""
        from trueness._numerics.quadrature import expit, logit

        if self.shift == 0:
            return z
        moved: Floats = expit(self.shift + logit(z))
        return moved

    def __repr__(self) -> str:
        return repr(self.base) if self.shift == 0 else f"{self.base!r} moved by {self.shift:.4g}"


def _log_gammas(shape: float, n: int, rng: np.random.Generator) -> Floats:
    """A Gamma variable is one of a shape larger by 1, times a power of a uniform one."""
    logs: Floats = np.log(rng.standard_gamma(shape + 1, n)) + np.log1p(-rng.random(n)) / shape
    return logs


Scores: TypeAlias = Beta | Discrete | Callable[[Floats], Floats] | ArrayLike


def law_of(scores: Any) -> Law:
    """The law that an argument `scores` stands for."""
    if isinstance(scores, Beta | Discrete):
        return Law(scores)
    if callable(scores):
        return Law(Quantiles(scores))
    return Law(Discrete(check_array(scores, "scores")))
