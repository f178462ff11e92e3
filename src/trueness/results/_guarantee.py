"""What a recalibrated score can be trusted with."""

from dataclasses import dataclass

from trueness.results._record import Record

__all__ = ["Guarantee"]


@dataclass(frozen=True)
class Guarantee(Record):
    """How far the values of histogram binning are from the event rates of their bins, whatever the distribution.

    Examples
    --------
    >>> numbers = 0.0957, 0.0719, 0.0294, 0.1
    >>> print(Guarantee(*numbers, "Theorem 3.", "Rows are independent.", "hoeffding", "umd", n=2900, n_bins=10))
    conditional: every bin is within 0.0957 of its event rate, with probability 90 %
    marginal: the bin of a new row is within 0.0719 of its event rate, with probability 90 %
    expected calibration error: at most 0.0294
    scheme 'umd', 10 bins, n = 2,900, bound 'hoeffding'
    Theorem 3.
    Rows are independent.
    """

    epsilon: float
    """With probability 1 − alpha no bin's value is farther than this from the bin's event rate."""
    marginal: float
    """With probability 1 − alpha the value of a new row's bin is within this of that bin's event rate."""
    expected_ece: float
    """Bound on the expected l1 and l2 calibration error; it does not depend on alpha."""
    alpha: float
    """How often the first two may fail."""
    theorem: str
    """Where each number comes from."""
    assumptions: str
    """What they rest on."""
    bound: str
    """'hoeffding', 'exact', 'clopper-pearson' or 'bernstein'."""
    scheme: str
    """How bins were made."""
    n: int
    """Rows; one of weight 2 is two."""
    n_bins: int
    """Bins that a score can fall into."""

    def __str__(self) -> str:
        sure = f"with probability {100 * (1 - self.alpha):g} %"
        return (
            f"conditional: every bin is within {self.epsilon:.4f} of its event rate, {sure}\n"
            f"marginal: the bin of a new row is within {self.marginal:.4f} of its event rate, {sure}\n"
            f"expected calibration error: at most {self.expected_ece:.4f}\n"
            f"scheme {self.scheme!r}, {self.n_bins} bins, n = {self.n:,}, bound {self.bound!r}\n"
            f"{self.theorem}\n{self.assumptions}"
        )
