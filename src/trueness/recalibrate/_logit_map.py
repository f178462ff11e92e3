r"""Maps on the logit scale: their options, and the scores near 0 and 1.

The log-odds of scores 0 and 1 are infinite. One rule holds for all maps: `fit` and `predict` move scores into
:math:`[\varepsilon, 1 - \varepsilon]` (matrices: to at least :math:`\varepsilon`). With n rows and K classes,
:math:`\delta = 1 / (K (n + 1))` is about the resolution of n rows that contain no such class; :math:`\varepsilon` is
:math:`\delta` or, if some scores are nearer to 0 or 1 without being there, their least distance, but at least
:math:`\delta^2`. So the votes of a forest, which are 0 for lack of trees, become modest, and the scores of a model that
grades its certainty keep their order and nearly all of their range.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.errors import MovedScoresWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet, Scale
from trueness.recalibrate._calibrator import Calibrator, check_flag, check_number
from trueness.recalibrate._fitted_state import Field, number
from trueness.typing import Floats

EPS_STATE = {"eps": Field("scores nearer to 0 or 1 than this are moved to that distance", number(above=0))}
"""What a map keeps that moves scores."""


def rows_eps(eps: float | None, rows: CalibrationSet, *, from_logits: bool = False) -> float:
    """How near to 0 and 1 scores may be: as set, or by the rule, with weights as numbers of rows; of logits, δ."""
    if eps is not None:
        return float(eps)
    n = float(rows.y.size if rows.w is None else rows.w.sum())
    p = rows.p
    delta = 1 / ((p.shape[1] if p.ndim == 2 else 2) * (n + 1))
    if from_logits:
        return delta
    least = float(p.min(initial=1)) or float(np.min(p, where=p > 0, initial=1))  # the mask takes ten times as long
    if p.ndim == 1:
        least = min(least, 1 - float(np.max(p, where=p < 1, initial=0)))
    return max(min(delta, least), delta * delta)


class LogitMap(Calibrator):
    """A calibrator with parameters `from_logits` and `eps`, which works on logits of vectors or logarithms of rows."""

    from_logits: bool
    eps: float | None
    eps_: float

    @property
    def _scale(self) -> Scale:
        return "logits" if self.from_logits else "probabilities"

    def _check_parameters(self) -> None:
        check_flag("from_logits", self.from_logits)
        check_eps(self.eps)
        if hasattr(self, "limits"):
            check_flag("limits", self.limits)

    def _fit_logits(self, rows: CalibrationSet) -> NDArray[Any]:
        """Logits of the rows to learn from; decides how near to 0 and 1 scores may be, and warns of moved ones."""
        self.eps_ = rows_eps(self.eps, rows, from_logits=self.from_logits)
        if not self.from_logits:
            warn_moved(rows.p, self.eps_)
        return self._bounded_logits(rows.p)

    def _logits(self, p: NDArray[Any]) -> NDArray[Any]:
        """Logits of scores to be mapped; infinite at 0 and 1 if `limits` is set."""
        return self._unbounded_logits(p) if getattr(self, "limits", False) else self._bounded_logits(p)

    def _bounded_logits(self, p: NDArray[Any]) -> NDArray[Any]:
        logits = self._unbounded_logits(p)
        return logits if self.from_logits else bounded_logits(logits, self.eps_)

    def _unbounded_logits(self, p: NDArray[Any]) -> NDArray[Any]:
        """Logits of P(positive), or logarithms of a matrix; infinite at 0 and 1. Logits are returned unchanged."""
        if self.from_logits:
            return p
        score = p.astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(score) - np.log1p(-score) if p.ndim == 1 else np.log(score))


def bounded_logits(logits: Floats, eps: float) -> Floats:
    """Logits of scores moved into [eps, 1 − eps], or logarithms of scores of at least `eps`."""
    if logits.ndim == 2:
        return np.maximum(logits, np.log(eps))
    end = np.log1p(-eps) - np.log(eps)  # 1 − eps may round to 1: the logit of the upper end is minus that of the lower
    return np.clip(logits, -end, end)


def check_eps(value: Any) -> None:
    """Raise unless scores can be moved inwards by that much."""
    if value is not None:
        check_number("eps", value, "be None or lie strictly between 0 and 0.5", lambda eps: 0 < eps < 0.5)


def check_penalty(name: str, value: Any, *, positive: bool = False) -> None:
    """Raise unless a penalty is a finite number, at least or above 0."""
    demand = f"be a finite number {'above 0' if positive else '≥ 0'}"
    check_number(name, value, demand, lambda v: 0 <= v < np.inf and not (positive and v == 0))


def warn_moved(p: NDArray[Any], eps: float) -> None:
    """Warn if scores are exactly 0 or 1, which only moving makes finite; scores near them are moved as well."""
    vector = p.ndim == 1
    ends = int((p == 0).sum()) + (int((p == 1).sum()) if vector else 0)
    if not ends:
        return
    subject = "1 score is" if ends == 1 else f"{ends:,} scores are"
    near = int((p < eps).sum()) + (int((1 - p < eps).sum()) if vector else 0) - ends
    others = f" ({near:,} more {'are' if near > 1 else 'is'} nearly so)" if near > 0 else ""
    where = f"into [{eps:.3g}, 1 − {eps:.3g}]" if vector else f"to {eps:.3g}"
    verb = "was moved" if ends + max(near, 0) == 1 else "were moved"
    warn(f"{subject} exactly {'0 or 1' if vector else '0'}{others} and {verb} {where}.", MovedScoresWarning)
