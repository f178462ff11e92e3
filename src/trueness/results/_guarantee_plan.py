"""What histogram binning promises for several numbers of rows and bins."""

from dataclasses import dataclass

from trueness.results._record import Record
from trueness.typing import Floats, Ints

__all__ = ["GuaranteePlan"]


@dataclass(frozen=True)
class GuaranteePlan(Record):
    """ε against the number of bins, a line per number of rows."""

    n: Ints
    """Rows, ascending."""
    n_bins: Ints
    """Bins, ascending."""
    epsilon: Floats
    """ε of each number of rows (down) and bins (across); nan where there are fewer than two rows a bin."""
    chosen: Ints
    """The number of bins chosen for each number of rows; 0 for none."""
    alpha: float
    """How often the promise may fail."""
    kind: str
    """'conditional', 'marginal' or 'expected-ece'."""
    scheme: str
    """How bins are made."""
    bound: str
    """The inequality."""

    def chosen_epsilon(self, i: int) -> float:
        """ε of the bins chosen for the i-th number of rows; nan if none were."""
        found = self.epsilon[i][self.n_bins == self.chosen[i]]
        return float(found[0]) if found.size else float("nan")
