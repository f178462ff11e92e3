"""Guarantees of recalibrated scores, and validity curves."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from trueness._text.numbers import level_percent
from trueness.errors import InputError
from trueness.results._record import Record
from trueness.typing import ArrayLike, Floats, Ints

# Distances that equal the tolerance up to rounding count as within it: 1 - 0.95 is slightly more
# than 0.05.
_SLACK = 1e-12


@dataclass(frozen=True)
class Guarantee(Record):
    """Distribution-free bounds on how far histogram binning is from the event rates of its bins.

    Examples
    --------
    >>> numbers = 0.0957, 0.0719, 0.0294, 0.1
    >>> print(Guarantee(*numbers, "Theorem 3.", "Rows are independent.", "hoeffding", "umd",
    ...     n=2900, n_bins=10))
    conditional: every bin is within 0.0957 of its event rate, with probability 90 %
    marginal: the bin of a new row is within 0.0719 of its event rate, with probability 90 %
    expected calibration error: at most 0.0294
    scheme 'umd', 10 bins, n = 2,900, bound 'hoeffding'
    Theorem 3.
    Rows are independent.
    """

    epsilon: float
    """With probability 1 − alpha, every bin's value is within this of its event rate."""
    marginal: float
    """With probability 1 − alpha, the value of a new row's bin is within this of that bin's event
    rate."""
    expected_ece: float
    """Bound on the expected l1 and l2 calibration error; it does not depend on alpha."""
    alpha: float
    """Probability that `epsilon`, or `marginal`, fails."""
    theorem: str
    """The source of each number."""
    assumptions: str
    """The assumptions behind them."""
    bound: str
    """'hoeffding', 'exact', 'clopper-pearson' or 'bernstein'."""
    scheme: str
    """The binning scheme."""
    n: int
    """Rows; a row of weight 2 counts as two."""
    n_bins: int
    """Number of bins."""

    def __str__(self) -> str:
        """What is guaranteed in three lines, then the scheme, the theorem and its assumptions."""
        confidence = f"with probability {level_percent(1 - self.alpha)}"
        return (
            f"conditional: every bin is within {self.epsilon:.4f} of its event rate, "
            f"{confidence}\nmarginal: the bin of a new row is within {self.marginal:.4f} of its "
            f"event rate, {confidence}\nexpected calibration error: at most "
            f"{self.expected_ece:.4f}\nscheme {self.scheme!r}, {self.n_bins} bins, n = "
            f"{self.n:,}, bound {self.bound!r}\n{self.theorem}\n{self.assumptions}"
        )


@dataclass(frozen=True)
class GuaranteePlan(Record):
    """ε as a function of the number of bins, one line per number of rows."""

    _columns = ("n", "n_bins", "epsilon", "chosen")

    n: Ints
    """Rows, ascending."""
    n_bins: Ints
    """Bins, ascending."""
    epsilon: Floats
    """ε for each number of rows (down) and bins (across); nan if there are fewer than two rows per
    bin."""
    chosen: Ints
    """The number of bins chosen for each number of rows; 0 for none."""
    alpha: float
    """Probability that the guarantee fails."""
    kind: str
    """'conditional', 'marginal' or 'expected-ece'."""
    scheme: str
    """The binning scheme."""
    bound: str
    """The inequality."""

    def columns(self) -> dict[str, list[Any]]:
        """One row per number of rows and of bins: ε, and whether these bins are the ones chosen."""
        n, n_bins = (grid.ravel() for grid in np.meshgrid(self.n, self.n_bins, indexing="ij"))
        chosen = np.repeat(self.chosen, self.n_bins.size) == n_bins
        columns = {"n": n, "n_bins": n_bins, "epsilon": self.epsilon.ravel(), "chosen": chosen}
        return {name: values.tolist() for name, values in columns.items()}

    def chosen_epsilon(self, i: int) -> float:
        """ε of the bins chosen for the i-th number of rows; nan if none were."""
        chosen = self.epsilon[i][self.n_bins == self.chosen[i]]
        if chosen.size:
            return float(chosen[0])
        return float("nan")

    def __str__(self) -> str:
        """The chosen number of bins and its ε for each number of rows."""
        pairs = zip(self.n.tolist(), self.chosen.tolist(), strict=True)
        plans = [
            f"{n:,} rows: {b} bins, ε = {self.chosen_epsilon(i):.4f}"
            for i, (n, b) in enumerate(pairs)
        ]
        level = level_percent(1 - self.alpha)
        return f"{self.kind} guarantee at {level} ({self.scheme}, {self.bound}): {'; '.join(plans)}"


@dataclass(frozen=True)
class _StepCurve(Record):
    """A share of predictions, or of runs, as a step function of a tolerance."""

    _columns: ClassVar[tuple[str, ...]] = ("jumps", "share")

    jumps: Floats
    """Distances at which V jumps, ascending and distinct; V is 0 below the first."""
    share: Floats
    """V from each jump up to the next; the last is 1."""

    def at(self, epsilon: ArrayLike) -> ArrayLike:
        """V at a tolerance: a float, or an array for an array."""
        return self._step(self.share, epsilon)

    __call__ = at

    def _step(self, values: Floats, epsilon: ArrayLike) -> ArrayLike:
        """The value that belongs to the last jump up to a tolerance; 0 before the first."""
        try:
            x = np.asarray(epsilon, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "epsilon", "must be a number or an array of numbers", f"got {epsilon!r}"
            ) from None
        if np.isnan(x).any():
            raise InputError("epsilon", "must not be nan")
        y = np.concatenate([[0.0], values])[np.searchsorted(self.jumps, x + _SLACK, side="right")]
        if y.ndim == 0:
            return float(y)
        return y

    def epsilon(self, level: float) -> float:
        """The smallest tolerance that a share of at least `level` of the predictions meets."""
        share: Any = level
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) <= 1:
            raise InputError("level", "must lie above 0 and be at most 1", f"got {level!r}")
        return float(self.jumps[np.searchsorted(self.share[:-1], float(share) - _SLACK)])


@dataclass(frozen=True)
class ValidityCurve(_StepCurve):
    """V(ε): the share of predictions that are off by at most ε, a step function of ε.

    A prediction is off by the distance between the predicted value and the mean label of the rows
    that share it.
    """

    n: int
    """Rows of positive weight."""
    values: int
    """Number of predicted values compared with the labels."""
    kind: str
    """The view: 'binary', 'classwise', 'confidence' or 'top-label'."""

    @property
    def area(self) -> float:
        """The integral of V from 0 to 1: 1 minus the l1 calibration error."""
        return float(1 - self.jumps @ np.diff(self.share, prepend=0.0))

    def __str__(self) -> str:
        """The tolerances that half, nine tenths and all of the predictions meet, and the area."""
        tolerances = ", ".join(
            f"{level_percent(level)} within {self.epsilon(level):.4f}" for level in (0.5, 0.9, 1)
        )
        return (
            f"validity of {self.values:,} predicted values ({self.n:,} rows): {tolerances}; area "
            f"{self.area:.4f}"
        )


@dataclass(frozen=True)
class ValidityRuns(_StepCurve):
    """V(ε) over several runs: its mean.

    `conditional` is the share of runs whose largest distance is at most ε.
    """

    _columns = ("jumps", "share", "error")

    error: Floats
    """Standard error of the mean, from each jump up to the next; nan for one run."""
    runs: int
    """Number of runs."""
    conditional: "ValidityRuns | None" = None
    """The share of runs in which every predicted value is off by at most ε; None in the conditional
    itself."""

    def error_at(self, epsilon: ArrayLike) -> ArrayLike:
        """Standard error of the mean at a tolerance."""
        return self._step(self.error, epsilon)

    def __str__(self) -> str:
        """The tolerances that half and nine tenths of the predictions meet on average over runs.

        If this is the conditional curve, those that all predictions meet in as many of the runs.
        """
        half, nine_tenths = (f"{self.epsilon(level):.4f}" for level in (0.5, 0.9))
        if self.conditional is None:
            return (
                f"all predicted values within {half} in 50 % of {self.runs:,} runs, within "
                f"{nine_tenths} in 90 %"
            )
        return (
            f"validity, mean of {self.runs:,} runs: 50 % within {half}, 90 % within "
            f"{nine_tenths}; {self.conditional}"
        )
