"""How much the labels vary within bins."""

from dataclasses import dataclass

from trueness.results._record import Record

__all__ = ["EstimationError"]


@dataclass(frozen=True)
class EstimationError(Record):
    """Variance of the labels within bins, summed up in two ways."""

    total: float
    """Mean over rows: Σ (N_b/N) Var_b."""
    average: float
    """Mean over bins: (1/B) Σ Var_b."""
    n_bins: int
    """Bins that are not empty."""

    def __str__(self) -> str:
        return f"within-bin error {self.total:.4f} in total, {self.average:.4f} on average over {self.n_bins} bins"
