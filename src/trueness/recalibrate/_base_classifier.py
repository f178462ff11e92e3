"""What a classifier is given besides rows and labels, and for whom: scikit-learn's metadata."""

import reprlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn import get_config
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from trueness._input.columns import column, refuse_missing
from trueness._input.labels import labels_missing
from trueness.errors import InputError, MovedScoresWarning, TruenessWarning, warn
from trueness.recalibrate._calibration_set import Scale
from trueness.recalibrate._words import own_words
from trueness.typing import ArrayLike, Floats, Ints

__all__ = [
    "Routed",
    "as_probabilities",
    "check_classifier",
    "check_folds",
    "of_rows",
    "response",
    "routed",
    "router",
    "rows_and_classes",
]


_GROUPS = (
    "`sklearn.set_config(enable_metadata_routing=True)` lets `fit(X, y, groups=groups)` hand them over; without it, "
    "`cv=list({name}(…).split(X, y, groups))` holds the folds themselves."
)


class Routed(NamedTuple):
    """Who gets what in `fit`."""

    estimator: dict[str, Any]
    """Arguments of the classifier's `fit`."""
    weights: Floats | None
    """Weights for the calibrator."""
    splitter: dict[str, Any]
    """Arguments of the splitter's `split`."""


def router(owner: Any, estimator: Any, calibrator: Any, cv: Any) -> MetadataRouter:
    """Who inside takes part in `fit`."""
    found = MetadataRouter(owner=owner).add_self_request(owner)
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    found.add(estimator=estimator, method_mapping=to_fit).add(calibrator=calibrator, method_mapping=to_fit)
    return found.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))


def routed(owner: Any, estimator: Any, cv: Any, w: Floats | None, others: dict[str, Any]) -> Routed:
    """Deal out what `fit` was given: as requested if routing is enabled, else as scikit-learn did before."""
    if get_config()["enable_metadata_routing"]:
        found = process_routing(owner, "fit", sample_weight=w, **others)
        routes = Routed(
            dict(found.estimator.fit), found.calibrator.fit.get("sample_weight"), dict(found.splitter.split)
        )
        takes = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
    else:
        takes = has_fit_parameter(estimator, "sample_weight")
        if "groups" in others and not has_fit_parameter(estimator, "groups"):
            raise InputError(
                "groups", "must come with metadata routing", "it is off", remedy=_GROUPS.format(name="GroupKFold")
            )
        routes = Routed(others | ({"sample_weight": w} if takes and w is not None else {}), w, {})
    if w is not None and not takes and not _can_take(estimator):
        warn(
            f"`sample_weight` goes to the calibrator only: {type(estimator).__name__} does not take it.",
            TruenessWarning,
        )
    _check_groups(cv, routes.splitter)
    return routes


def of_rows(arguments: dict[str, Any], rows: Ints, n: int) -> dict[str, Any]:
    """The arguments for some of n rows: those that have an entry per row are cut."""
    return {name: _safe_indexing(value, rows) if _one_per_row(value, n) else value for name, value in arguments.items()}


def _can_take(estimator: Any) -> bool:
    """Whether it is the estimator's own wish to have no weights, or of no matter."""
    return isinstance(estimator, FrozenEstimator) or bool(has_fit_parameter(estimator, "sample_weight"))


def _check_groups(cv: Any, given: dict[str, Any]) -> None:
    wants = hasattr(cv, "split") and get_routing_for_object(cv).consumes("split", ["groups"])
    if wants and given.get("groups") is None:
        name = type(cv).__name__
        raise InputError("groups", f"must be given for cv={name}(…)", "got none", remedy=_GROUPS.format(name=name))


def _one_per_row(value: Any, n: int) -> bool:
    if isinstance(value, str | bytes | dict) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    shape = getattr(value, "shape", None) or np.shape(value)[:1]
    return bool(shape) and shape[0] == n


def check_classifier(estimator: Any) -> None:
    """Raise unless it is a classifier, as far as can be told before it is fitted."""
    demand = "`estimator` must be a classifier such as `LogisticRegression()`, or None"
    if isinstance(estimator, type):
        raise InputError(f"{demand}; got the class {estimator.__name__}. `{estimator.__name__}()` makes one.")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InputError(f"{demand}; got {reprlib.repr(estimator)}.")
    if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        raise InputError(
            f"{demand}; {type(estimator).__name__} is a regressor. What it predicts is no score of a class: use a "
            "classifier with `predict_proba` or `decision_function`."
        )


def check_folds(cv: Any) -> None:
    """Raise unless it can say which rows are tested together."""
    whole = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    several = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if cv is None or (whole and cv >= 2) or (several and not isinstance(cv, str | bytes)):
        return
    way_out = " A fitted classifier is given as `FrozenEstimator(classifier)`." if cv == "prefit" else ""
    raise InputError(
        "cv", "must be a whole number ≥ 2, a splitter or an iterable of (train, test)", f"got {cv!r}", remedy=way_out
    )


def rows_and_classes(X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Rows, the class of each, and the classes in ascending order."""
    if y is None:
        raise InputError("y", "must be given: the classifier requires y to be passed, but the target y is None")
    try:
        X, y = indexable(X, y)
    except ValueError as reason:
        raise InputError(f"`X` and `y` must have one entry per row. {reason}") from reason
    with own_words(takes_logits=False):
        missing = labels_missing(column(y, "y"))
        if missing is not None:
            refuse_missing("y", missing)
    try:
        check_classification_targets(y)
        found = column_or_1d(y, warn=True)
        classes = np.unique(found)
    except (TypeError, ValueError) as reason:
        raise InputError("y", "must be a vector of classes", remedy=reason) from reason
    if not found.size:
        raise InputError("`X` and `y` must have at least one row; both are empty.")
    return X, found, classes


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
