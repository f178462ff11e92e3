"""For how many predictions the miscalibration stays within a tolerance."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from trueness.errors import InputError
from trueness.results._record import Record
from trueness.typing import ArrayLike, Floats

__all__ = ["ValidityBand", "ValidityCurve", "ValidityRuns"]

# Distances that equal the tolerance but for rounding count as within it: 1 - 0.95 is a little more than 0.05.
_SLACK = 1e-12


def _steps(jumps: Floats, values: Floats, epsilon: ArrayLike) -> Any:
    """A function that is 0, then `values[i]` from `jumps[i]` on; a float for a number, an array for an array."""
    try:
        asked = np.asarray(epsilon, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("epsilon", "must be a number or an array of numbers", f"got {epsilon!r}") from None
    if np.isnan(asked).any():
        raise InputError("epsilon", "must not be nan")
    found = np.concatenate([[0.0], values])[np.searchsorted(jumps, asked + _SLACK, side="right")]
    return float(found) if found.ndim == 0 else found


def _checked_share(level: Any) -> float:
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) <= 1:
        raise InputError("level", "must lie above 0 and be at most 1", f"got {level!r}")
    return float(level)


@dataclass(frozen=True)
class ValidityCurve(Record):
    """V(ε): the share of predictions that are off by at most ε, a step function of ε.

    Off by means: the distance between a predicted value and the mean of the labels where it was predicted.
    """

    jumps: Floats
    """Distances at which V jumps, ascending and distinct; V is 0 below the first."""
    share: Floats
    """V from each jump up to the next; the last is 1."""
    n: int
    """Rows of positive weight."""
    values: int
    """Predicted values that were compared with the labels."""
    kind: str
    """What is compared with what: 'binary', 'classwise', 'confidence' or 'top-label'."""
    expected_area: float | None
    """Mean of `area` over labels drawn from the scores themselves: what valid predictions would show, given so few
    rows at each value. None if that is not known: weights that are not whole numbers, or several scores in a bin."""

    def at(self, epsilon: ArrayLike) -> Any:
        """V at a tolerance: a float, or an array for an array."""
        return _steps(self.jumps, self.share, epsilon)

    __call__ = at

    def epsilon(self, level: float) -> float:
        """The smallest tolerance that a share of at least `level` of the predictions meets."""
        return float(self.jumps[np.searchsorted(self.share[:-1], _checked_share(level) - _SLACK)])

    @property
    def area(self) -> float:
        """The integral of V from 0 to 1: 1 minus the mean distance, which is the l1 calibration error."""
        return float(1 - self.jumps @ np.diff(self.share, prepend=0.0))

    @property
    def largest(self) -> float:
        """The largest distance."""
        return float(self.jumps[-1])

    @property
    def conditional(self) -> "ValidityCurve":
        """1 where every predicted value is off by at most ε, else 0: one jump, at the largest distance."""
        return ValidityCurve(self.jumps[-1:], np.ones(1), self.n, self.values, self.kind, None)

    def __str__(self) -> str:
        tolerances = ", ".join(f"{100 * level:g} % within {self.epsilon(level):.4f}" for level in (0.5, 0.9, 1))
        return f"validity of {self.values:,} predicted values ({self.n:,} rows): {tolerances}; area {self.area:.4f}"


@dataclass(frozen=True)
class ValidityBand(Record):
    """Two curves between which the true validity lies, at all tolerances at once."""

    low: ValidityCurve
    """Every rate is as far from its predicted value as its interval allows."""
    high: ValidityCurve
    """Every rate is as near."""
    level: float
    """Probability that the true curve lies between them throughout."""

    def to_dict(self) -> dict[str, Any]:
        """The two curves as dicts, and the level."""
        return {"low": self.low.to_dict(), "high": self.high.to_dict(), "level": self.level}

    def __str__(self) -> str:
        return f"validity, {100 * self.level:g} % band: area {self.low.area:.4f} to {self.high.area:.4f}"


@dataclass(frozen=True)
class ValidityRuns(Record):
    """The mean of V over many runs, and how sure that mean is."""

    jumps: Floats
    """Every distance at which V jumps in some run, ascending and distinct; the mean is 0 below the first."""
    mean: Floats
    """Mean of V from each jump up to the next."""
    error: Floats
    """Standard deviation of the mean; nan for one run."""
    area: float
    """Mean area."""
    area_error: float
    """Standard deviation of the mean area; nan for one run."""
    runs: int
    """How many runs."""
    conditional: "ValidityRuns | None"
    """The share of runs whose every predicted value is off by at most ε; None in the conditional itself."""

    def at(self, epsilon: ArrayLike) -> Any:
        """Mean of V at a tolerance: a float, or an array for an array."""
        return _steps(self.jumps, self.mean, epsilon)

    __call__ = at

    def error_at(self, epsilon: ArrayLike) -> Any:
        """Standard deviation of that mean."""
        return _steps(self.jumps, self.error, epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Fields by name; the conditional mean as a dict of its own."""
        found = super().to_dict()
        return found | {"conditional": None if self.conditional is None else self.conditional.to_dict()}

    def __str__(self) -> str:
        if self.runs == 1:
            return f"validity of one run: area {self.area:.4f}"
        return f"validity over {self.runs:,} runs: area {self.area:.4f} ± {self.area_error:.4f}"
