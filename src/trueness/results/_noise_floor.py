"""What a calibrated model would have shown."""

from dataclasses import dataclass, field
from typing import Any

from trueness.results._record import Record
from trueness.typing import Floats

__all__ = ["NoiseFloor"]


@dataclass(frozen=True)
class NoiseFloor(Record):
    """The values a measure takes when the scores are the true probabilities, and where the observed one lies."""

    measure: str
    """The measure, by name."""
    mean: float
    """Mean of the redrawn values."""
    std: float
    """Their standard deviation."""
    low: float
    """Their lower quantile: a share (1 − level)/2 lies below."""
    high: float
    """Their upper quantile."""
    level: float
    """Share of redrawn values between `low` and `high`."""
    observed: float | None
    """The value at the labels that came; None if they are not known."""
    pvalue: float | None
    """How often a calibrated model shows a value at least as far out; never 0. None without an observed value."""
    alternative: str
    """What counts as far out: 'greater', 'less' or 'two-sided'."""
    resamples: int
    """How many times the labels were redrawn."""
    n: int
    """Rows."""
    kind: str
    """What is compared with what: 'binary', 'classwise', 'confidence' or 'top-label'."""
    draws: Floats = field(repr=False, compare=False)
    """The redrawn values in the order of drawing; not part of :meth:`to_dict`."""

    @property
    def excess(self) -> float | None:
        """Observed value − mean of the redrawn ones; None without an observed value."""
        return None if self.observed is None else self.observed - self.mean

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, the draws left out."""
        return {name: value for name, value in super().to_dict().items() if name != "draws"}

    def __str__(self) -> str:
        floor = f"{self.mean:.4f} ± {self.std:.4f}"
        if self.observed is None:
            span = f"{100 * self.level:g} % between {self.low:.4f} and {self.high:.4f}"
            return f"{self.measure}: a calibrated model would show {floor} ({span})"
        return f"{self.measure} {self.observed:.4f}; a calibrated model would show {floor} ({self._p()})"

    def _p(self) -> str:
        assert self.pvalue is not None
        # Two digits, but no fewer than it takes to tell the smallest p-value from 0.
        return f"p = {self.pvalue:.2f}" if self.pvalue >= 0.095 else f"p = {self.pvalue:.2g}"
