"""A confidence set for an error that may be zero."""

from dataclasses import dataclass, replace
from typing import Any

from trueness.results._record import Record

__all__ = ["Interval"]


@dataclass(frozen=True)
class Interval(Record):
    """A confidence set for a calibration error: an interval, with or without the point zero.

    The set may be {0} and an interval away from it, because no error at all is a hypothesis of
    its own, with a test of its own.

    Examples
    --------
    >>> print(Interval(0.02, 0.01, 0.04, 0.9, "analytic", 500, True, True, "EqualWidth(12)", False))
    l2 calibration error 0.0200, 90 % confidence set {0} ∪ [0.0100, 0.0400] (analytic, n = 500, EqualWidth(12))
    """

    estimate: float
    """The error; the root of a debiased square, cut at zero, or that square itself, which may be negative."""
    low: float
    """Lower end of the continuous part."""
    high: float
    """Upper end."""
    level: float
    """How often such a set holds the truth, nominally."""
    method: str
    """How it was made."""
    n: int
    """Rows; one of weight 2 is two."""
    low_closed: bool
    """Whether `low` belongs to the set. The upper end always does."""
    includes_zero: bool
    """Whether zero belongs to the set: calibration is not refuted."""
    bins: str = ""
    """What bins were used, in words."""
    squared: bool = False
    """Whether the numbers are of the squared error."""

    @property
    def is_interval(self) -> bool:
        """Whether the set has no gap between the point zero and `low`."""
        return not self.includes_zero or self.low == 0

    @property
    def hull(self) -> tuple[float, float]:
        """The ends of the smallest interval around the set."""
        return (0.0 if self.includes_zero else self.low, self.high)

    def __contains__(self, value: float) -> bool:
        if value == 0:
            return self.includes_zero
        return (self.low < value or (self.low_closed and self.low == value)) and value <= self.high

    def root(self) -> "Interval":
        """The square root of a set for the squared error; negative numbers become zero."""
        if not self.squared:
            return self
        estimate, low, high = (max(0.0, value) ** 0.5 for value in (self.estimate, self.low, self.high))
        return replace(self, estimate=estimate, low=low, high=high, squared=False)

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, and `is_interval` and `hull`."""
        return super().to_dict() | {"is_interval": self.is_interval, "hull": list(self.hull)}

    def __str__(self) -> str:
        what = "squared l2 calibration error" if self.squared else "l2 calibration error"
        how = ", ".join(part for part in (self.method, f"n = {self.n:,}", self.bins) if part)
        return f"{what} {_shown(self.estimate)}, {100 * self.level:g} % confidence set {self._set()} ({how})"

    def _set(self) -> str:
        if self.high == 0:
            return "{0}"
        part = f"{'[' if self.low_closed else '('}{_shown(self.low)}, {_shown(self.high)}]"
        return part if self.is_interval else f"{{0}} ∪ {part}"


def _shown(value: float) -> str:
    """Four decimals, or three digits where these would say little."""
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.001 else f"{value:.3g}"
