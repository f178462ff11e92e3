"""Scores on the logit scale, for the maps that work there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError, MovedScoresWarning, warn
from trueness.recalibrate._calibration_set import Scale

__all__ = ["check_eps", "check_input", "check_penalty", "logits_of", "movable_logits", "moved"]


def check_input(value: Any) -> None:
    """Raise unless scores are said to be probabilities or logits."""
    if not (isinstance(value, str) and value in ("probabilities", "logits")):
        raise InputError("input", "must be 'probabilities' or 'logits'", f"got {value!r}")


def check_eps(value: Any) -> None:
    """Raise unless scores can be moved inwards by that much."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < 0.5:
        raise InputError("eps", "must lie strictly between 0 and 0.5", f"got {value!r}")


def check_penalty(name: str, value: Any, *, positive: bool = False) -> None:
    """Raise unless a penalty is a finite number, at least or above 0."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value < 0 or (positive and value == 0):
        raise InputError(name, f"must be a finite number {('above 0' if positive else '≥ 0')}", f"got {value!r}")


def logits_of(p: NDArray[Any], scale: Scale) -> NDArray[Any]:
    """Logits of P(positive), or logarithms of a matrix; infinite at 0 and 1. Logits are returned as they are."""
    if scale == "logits":
        return p
    score = p.astype(np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(score) - np.log1p(-score) if p.ndim == 1 else np.log(score))


def movable_logits(p: NDArray[Any], scale: Scale, eps: float) -> NDArray[Any]:
    """The same, all of them finite: scores at the ends are moved inwards, with a warning."""
    if scale == "logits":
        return p
    logits = logits_of(p, scale)
    ends = p == 0
    if p.ndim == 1:
        ends |= p == 1
    # 1 − eps may round to 1, so the logit of 1 is minus that of 0.
    if moved(ends, eps):
        end = np.log(eps) - np.log1p(-eps) if p.ndim == 1 else np.log(eps)
        logits[ends] = np.where(p[ends] == 1, -end, end)
    return logits


def moved(ends: NDArray[np.bool_], eps: float) -> bool:
    """Say how many scores are at the ends; whether any is."""
    count = int(ends.sum())
    if count:
        which = "0 or 1" if ends.ndim == 1 else "0"
        are, were = ("is", "was") if count == 1 else ("are", "were")
        what = "score" if count == 1 else "scores"
        warn(f"{count:,} {what} {are} exactly {which} and {were} moved inwards by {eps:g}.", MovedScoresWarning)
    return count > 0
