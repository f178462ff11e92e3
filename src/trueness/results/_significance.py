"""What a test of calibration found."""

from dataclasses import dataclass

from trueness.results._record import Record

__all__ = ["Significance"]


@dataclass(frozen=True)
class Significance(Record):
    """The outcome of a test whose null hypothesis is that the scores are calibrated."""

    statistic: float
    """What was measured; its scale is that of the method."""
    pvalue: float
    """Probability, if the scores were calibrated, of a statistic at least as extreme."""
    method: str
    """The test: 'exact', 'analytic', 't-cal', 'adaptive-t-cal', 'ks', 'kuiper', 'spiegelhalter', 'cox' or
    'hosmer-lemeshow'."""
    n: int
    """Rows of positive weight; one of weight 2 is two where weights are whole."""
    assumptions: str
    """What the p-value rests on, and what was chosen where nothing was asked for."""

    def __str__(self) -> str:
        return (
            f"{self.method} test of calibration: statistic {self.statistic:.4g}, {_said(self.pvalue)} "
            f"(n = {self.n:,}). {self.assumptions}"
        )


def _said(pvalue: float) -> str:
    return f"p = {pvalue:.2g}" if pvalue < 0.1 else f"p = {pvalue:.3f}"
