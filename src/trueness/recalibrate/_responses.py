"""What an estimator says of rows, in the form that a calibrator takes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from trueness.errors import InputError, MovedScoresWarning, warn
from trueness.recalibrate._rows import Scale
from trueness.typing import Floats

__all__ = ["as_probabilities", "response"]

_EPS = 1e-12


def response(estimator: Any, X: Any, classes: NDArray[Any], scale: Scale, *, matrix: bool) -> Floats:
    """Probabilities or logits of the rows: of the second class, or (`matrix`) a column for each class."""
    _check_classes(estimator, classes)
    if scale == "logits":
        return _logits(estimator, X, classes, matrix)
    found = _proba(estimator, X, classes)
    return found if matrix else found[:, 1]


def as_probabilities(scores: Floats, scale: Scale) -> Floats:
    """Such scores as a matrix of probabilities, uncalibrated."""
    if scale == "logits":
        scores = expit(scores) if scores.ndim == 1 else softmax(scores, axis=1)
    return np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores


def _check_classes(estimator: Any, classes: NDArray[Any]) -> None:
    known = getattr(estimator, "classes_", None)
    if known is None or list(known) != list(classes):
        told = "says of none" if known is None else f"knows {', '.join(map(repr, np.asarray(known).tolist()))}"
        raise InputError(
            "estimator",
            f"must know the classes {', '.join(map(repr, classes.tolist()))} once fitted, in this order",
            f"it {told}",
            remedy="Each part of `cv` that it is fitted on must have rows of every class.",
        )


def _proba(estimator: Any, X: Any, classes: NDArray[Any]) -> Floats:
    if hasattr(estimator, "predict_proba"):
        found = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        return _of_shape(found, (found.shape[0], classes.size), "predict_proba")
    if not hasattr(estimator, "decision_function"):
        raise InputError("estimator", "must have `predict_proba` or `decision_function`", "it has neither")
    return as_probabilities(_margins(estimator, X, classes), "logits")


def _logits(estimator: Any, X: Any, classes: NDArray[Any], matrix: bool) -> Floats:
    if hasattr(estimator, "decision_function"):
        found = _margins(estimator, X, classes)
    else:
        p = _proba(estimator, X, classes)
        if p.size and p.min() < _EPS:
            warn(f"Probabilities of 0 were moved to {_EPS:g}, because their logit is infinite.", MovedScoresWarning)
        log = np.log(np.maximum(p, _EPS))
        found = log[:, 1] - log[:, 0] if classes.size == 2 else log
    if matrix and found.ndim == 1:
        # Not [0, m]: the softmax is the same, but a column by itself (OneVsRest) would know nothing of its class.
        return np.column_stack([-found / 2, found / 2])
    return found


def _margins(estimator: Any, X: Any, classes: NDArray[Any]) -> Floats:
    found = np.asarray(estimator.decision_function(X), dtype=np.float64)
    n = found.shape[0]
    return _of_shape(found, (n,) if classes.size == 2 else (n, classes.size), "decision_function")


def _of_shape(found: Floats, shape: tuple[int, ...], method: str) -> Floats:
    if found.shape != shape:
        raise InputError(f"`estimator.{method}` must return shape {shape}, a column per class; got {found.shape}.")
    return found
