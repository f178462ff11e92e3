"""Maps on the logit scale: their options, and logits of scores of exactly 0 and 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError, MovedScoresWarning, warn
from trueness.recalibrate._calibration_set import Scale
from trueness.recalibrate._calibrator import Calibrator, check_number


class LogitMap(Calibrator):
    """A calibrator with parameters `from_logits` and `eps`, which works on logits of vectors or logarithms of rows."""

    from_logits: bool
    eps: float

    @property
    def _scale(self) -> Scale:
        return "logits" if self.from_logits else "probabilities"

    def _check_parameters(self) -> None:
        if not isinstance(self.from_logits, bool | np.bool_):
            raise InputError("from_logits", "must be True or False", f"got {self.from_logits!r}")
        check_eps(self.eps)

    def _logits(self, p: NDArray[Any]) -> NDArray[Any]:
        """Logits of P(positive), or logarithms of a matrix; infinite at 0 and 1. Logits are returned unchanged."""
        if self.from_logits:
            return p
        score = p.astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(score) - np.log1p(-score) if p.ndim == 1 else np.log(score))

    def _finite_logits(self, p: NDArray[Any]) -> NDArray[Any]:
        """The same with scores of 0 and 1 moved inwards by `eps`, with a warning."""
        logits = self._logits(p)
        if self.from_logits:
            return logits
        ends = p == 0
        if p.ndim == 1:
            ends |= p == 1
        # 1 − eps may round to 1, so the logit of 1 is minus that of 0.
        if warn_moved(ends, self.eps):
            end = np.log(self.eps) - np.log1p(-self.eps) if p.ndim == 1 else np.log(self.eps)
            logits[ends] = np.where(p[ends] == 1, -end, end)
        return logits


def check_eps(value: Any) -> None:
    """Raise unless scores can be moved inwards by that much."""
    check_number("eps", value, "lie strictly between 0 and 0.5", lambda eps: 0 < eps < 0.5)


def check_penalty(name: str, value: Any, *, positive: bool = False) -> None:
    """Raise unless a penalty is a finite number, at least or above 0."""
    demand = f"be a finite number {'above 0' if positive else '≥ 0'}"
    check_number(name, value, demand, lambda v: 0 <= v < np.inf and not (positive and v == 0))


def warn_moved(ends: NDArray[np.bool_], eps: float) -> bool:
    """Warn if scores are exactly 0 or 1; returns whether any is."""
    count = int(ends.sum())
    if count:
        which = "0 or 1" if ends.ndim == 1 else "0"
        subject = "1 score is" if count == 1 else f"{count:,} scores are"
        moved = "was moved" if count == 1 else "were moved"
        warn(f"{subject} exactly {which} and {moved} inwards by {eps:g}.", MovedScoresWarning)
    return count > 0
