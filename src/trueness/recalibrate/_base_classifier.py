"""The classifier inside a `CalibratedClassifier`: its checks, its scores, and the metadata that it requests."""

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
from trueness.errors import InputError, MovedScoresWarning, TruenessWarning, remedies, warn
from trueness.recalibrate._calibration_set import REMEDIES, Scale
from trueness.typing import ArrayLike, Floats, Ints

_EPS = 1e-12
_GROUPS = (
    "`sklearn.set_config(enable_metadata_routing=True)` lets `fit(X, y, groups=groups)` pass them on; without it, pass "
    "the folds themselves: `cv=list({name}(…).split(X, y, groups))`."
)


def check_classifier(estimator: Any) -> None:
    """Raise unless it is a classifier, as far as can be seen before it is fitted."""
    got = remedy = ""
    if isinstance(estimator, type):
        got, remedy = f"got the class {estimator.__name__}", f"`{estimator.__name__}()` makes an instance."
    elif not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        got = f"got {reprlib.repr(estimator)}"
    elif hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        got = f"{type(estimator).__name__} is a regressor"
        remedy = "Use a classifier with `predict_proba` or `decision_function`."
    if got:
        raise InputError(
            "estimator", "must be a classifier such as `LogisticRegression()`, or None", got, remedy=remedy
        )


def check_cv(cv: Any) -> None:
    """Raise unless it can split rows into folds."""
    whole = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    several = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if cv is None or (whole and cv >= 2) or (several and not isinstance(cv, str | bytes)):
        return
    remedy = "Pass a fitted classifier as `FrozenEstimator(classifier)`." if cv == "prefit" else ""
    demand = "must be a whole number ≥ 2, a splitter or an iterable of (train, test)"
    raise InputError("cv", demand, f"got {cv!r}", remedy=remedy)


def rows_and_classes(X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Rows, the class of each, and the classes in ascending order."""
    if y is None:
        raise InputError("y", "must be given: the classifier requires y to be passed, but the target y is None")
    try:
        X, y = indexable(X, y)
    except ValueError as reason:
        raise InputError("", "`X` and `y` must have one entry per row", str(reason).rstrip(".")) from reason
    with remedies(REMEDIES):
        missing = labels_missing(column(y, "y"))
        if missing is not None:
            refuse_missing("y", missing)
    try:
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        classes = np.unique(labels)
    except (TypeError, ValueError) as reason:
        raise InputError("y", "must be a vector of classes", str(reason).rstrip(".")) from reason
    if not labels.size:
        raise InputError("", "`X` and `y` must have at least one row", "both are empty")
    return X, labels, classes


def base_scores(estimator: Any, X: Any, classes: NDArray[Any], scale: Scale, *, matrix: bool) -> Floats:
    """Probabilities or logits of the rows: of the second class, or (`matrix`) one column per class."""
    _check_classes(estimator, classes)
    if scale == "logits":
        return _logits(estimator, X, classes, matrix)
    p = _probabilities(estimator, X, classes)
    return p if matrix else p[:, 1]


def as_probabilities(scores: Floats, scale: Scale) -> Floats:
    """The same scores as a matrix of probabilities, uncalibrated."""
    if scale == "logits":
        scores = expit(scores) if scores.ndim == 1 else softmax(scores, axis=1)
    return np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores


def _check_classes(estimator: Any, classes: NDArray[Any]) -> None:
    known = getattr(estimator, "classes_", None)
    if known is None or list(known) != list(classes):
        has = "no `classes_`" if known is None else f"{', '.join(map(repr, np.asarray(known).tolist()))}"
        raise InputError(
            "estimator",
            f"must have the classes {', '.join(map(repr, classes.tolist()))} once fitted, in this order",
            f"it has {has}",
            remedy="Each training part of `cv` must have rows of every class.",
        )


def _probabilities(estimator: Any, X: Any, classes: NDArray[Any]) -> Floats:
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        return _check_shape(p, (p.shape[0], classes.size), "predict_proba")
    if not hasattr(estimator, "decision_function"):
        raise InputError("estimator", "must have `predict_proba` or `decision_function`", "it has neither")
    return as_probabilities(_margins(estimator, X, classes), "logits")


def _logits(estimator: Any, X: Any, classes: NDArray[Any], matrix: bool) -> Floats:
    if hasattr(estimator, "decision_function"):
        logits = _margins(estimator, X, classes)
    else:
        p = _probabilities(estimator, X, classes)
        if p.size and p.min() < _EPS:
            warn(f"Probabilities of 0 were moved to {_EPS:g}, because their logit is infinite.", MovedScoresWarning)
        log = np.log(np.maximum(p, _EPS))
        logits = log[:, 1] - log[:, 0] if classes.size == 2 else log
    if matrix and logits.ndim == 1:
        # Not [0, m]: the softmax is the same, but the first column alone (OneVsRest) would carry no information.
        return np.column_stack([-logits / 2, logits / 2])
    return logits


def _margins(estimator: Any, X: Any, classes: NDArray[Any]) -> Floats:
    margins = np.asarray(estimator.decision_function(X), dtype=np.float64)
    n = margins.shape[0]
    return _check_shape(margins, (n,) if classes.size == 2 else (n, classes.size), "decision_function")


def _check_shape(scores: Floats, shape: tuple[int, ...], method: str) -> Floats:
    if scores.shape != shape:
        demand = f"`estimator.{method}` must return shape {shape}, one column per class"
        raise InputError("", demand, f"got {scores.shape}")
    return scores


class FitArguments(NamedTuple):
    """What each part of a `CalibratedClassifier` is passed in `fit`."""

    estimator: dict[str, Any]
    """Arguments of the classifier's `fit`."""
    weights: Floats | None
    """Weights for the calibrator."""
    splitter: dict[str, Any]
    """Arguments of the splitter's `split`."""


def router(owner: Any, estimator: Any, calibrator: Any, cv: Any) -> MetadataRouter:
    """scikit-learn's router for the parts that take part in `fit`."""
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    to_split = MethodMapping().add(caller="fit", callee="split")
    own = MetadataRouter(owner=owner).add_self_request(owner)
    own.add(estimator=estimator, method_mapping=to_fit).add(calibrator=calibrator, method_mapping=to_fit)
    return own.add(splitter=cv, method_mapping=to_split)


def fit_arguments(owner: Any, estimator: Any, cv: Any, w: Floats | None, others: dict[str, Any]) -> FitArguments:
    """Distribute the arguments of `fit`: as requested if routing is enabled, else as scikit-learn did before."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", sample_weight=w, **others)
        weights = routed.calibrator.fit.get("sample_weight")
        arguments = FitArguments(dict(routed.estimator.fit), weights, dict(routed.splitter.split))
        takes = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
    else:
        takes = has_fit_parameter(estimator, "sample_weight")
        if "groups" in others and not has_fit_parameter(estimator, "groups"):
            remedy = _GROUPS.format(name="GroupKFold")
            raise InputError("groups", "needs metadata routing", "it is disabled", remedy=remedy)
        arguments = FitArguments(others | ({"sample_weight": w} if takes and w is not None else {}), w, {})
    # A frozen classifier is not fitted, and one that could take weights but did not request them decided so itself.
    indifferent = isinstance(estimator, FrozenEstimator) or has_fit_parameter(estimator, "sample_weight")
    if w is not None and not takes and not indifferent:
        name = type(estimator).__name__
        warn(f"`sample_weight` is used by the calibrator only: {name} does not take it.", TruenessWarning)
    _check_groups(cv, arguments.splitter)
    return arguments


def of_rows(arguments: dict[str, Any], rows: Ints, n: int) -> dict[str, Any]:
    """The arguments for some of n rows: those with one entry per row are subset."""
    return {name: _safe_indexing(value, rows) if _one_per_row(value, n) else value for name, value in arguments.items()}


def _check_groups(cv: Any, arguments: dict[str, Any]) -> None:
    wanted = hasattr(cv, "split") and get_routing_for_object(cv).consumes("split", ["groups"])
    if wanted and arguments.get("groups") is None:
        name = type(cv).__name__
        raise InputError("groups", f"must be given for cv={name}(…)", "got none", remedy=_GROUPS.format(name=name))


def _one_per_row(value: Any, n: int) -> bool:
    if isinstance(value, str | bytes | dict) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    shape = getattr(value, "shape", None) or np.shape(value)[:1]
    return bool(shape) and shape[0] == n
