"""What a classifier that is to be calibrated may be given: itself, folds, rows and their classes."""

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from trueness._input.columns import column, refuse_missing
from trueness._input.labels import labels_missing
from trueness.errors import InputError
from trueness.recalibrate._words import own_words
from trueness.typing import ArrayLike

__all__ = ["check_classifier", "check_folds", "rows_and_classes"]


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
