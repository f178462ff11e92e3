"""Scorers: a measure of an estimator's predicted probabilities, signed so that larger is better."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from trueness._input.sample import read_sample
from trueness._keywords import suggests_keywords
from trueness.errors import InputError
from trueness.infer._catalogue import MEASURES
from trueness.typing import ArrayLike, Classifier


@suggests_keywords
class Scorer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A measure of an estimator's predicted probabilities, signed so that larger is better.

    Two classes are scored by P(the second of `classes_`), more by the matrix of `predict_proba`.

    Parameters
    ----------
    measure : callable
        A function of labels and scores that returns one number, such as :func:`trueness.ece`.
    greater_is_better : bool, default False
        Whether more of the measure is better; if not, the score is its negative.
    options : dict, optional
        Keywords for the measure, such as ``{"bins": 15}``.
    """

    def __init__(
        self,
        measure: Callable[..., float],
        *,
        greater_is_better: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.measure = measure
        self.greater_is_better = greater_is_better
        self.options = options

    def score(
        self,
        estimator: Classifier,
        X: ArrayLike,
        y_true: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score the estimator on some rows, as a call does.

        By this name scikit-learn routes weights.

        ``set_score_request(sample_weight=True)`` asks for them.
        """
        if not hasattr(estimator, "predict_proba"):
            got = f"{type(estimator).__name__} has none"
            raise InputError("estimator", "must have the method `predict_proba`", got)
        classes = list(estimator.classes_)
        scores = np.asarray(estimator.predict_proba(X))
        options: dict[str, Any] = {"sample_weight": sample_weight, **(self.options or {})}
        if len(classes) == 2:
            events = read_sample(y_true, scores[:, 1], labels=classes).y
            value = self.measure(events, scores[:, 1], **options)
        else:
            value = self.measure(y_true, scores, labels=classes, **options)
        if self.greater_is_better:
            return float(value)
        return -float(value)

    __call__ = score


def scorer(
    measure: Callable[..., float], *, greater_is_better: bool = False, **options: object
) -> Scorer:
    """A scorer of any measure.

    Parameters
    ----------
    measure : callable
        A function of labels and scores that returns one number, such as :func:`trueness.ece`.
    greater_is_better : bool, default False
        Whether more of the measure is better; if not, the score is its negative.
    **options
        Keywords for the measure.

    Returns
    -------
    Scorer
        For `scoring` of `cross_val_score`, `GridSearchCV` and the like. Errors are negated, so that
        more is better. Select models by the Brier score or the log loss: calibration errors alone
        reward constants.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.linspace(-2, 2, 40).reshape(-1, 1)
    >>> y = (X[:, 0] + np.tile([1.5, -1.5], 20) > 0).astype(int)
    >>> model = LogisticRegression().fit(X, y)
    >>> ece = tn.scorers.scorer(tn.ece, bins=5)
    >>> ece(model, X, y) == -tn.ece(y, model.predict_proba(X)[:, 1], bins=5)
    True
    """
    return Scorer(measure, greater_is_better=greater_is_better, options=options or None)


def _scorer_of(key: str) -> Scorer:
    """The scorer of a measure of the catalogue."""
    measure = MEASURES[key]
    return scorer(measure.function, greater_is_better=measure.better == "more")


ace = _scorer_of("ace")
auc = _scorer_of("auc")
brier = _scorer_of("brier")
e50 = _scorer_of("e50")
e90 = _scorer_of("e90")
ece = _scorer_of("ece")
emax = _scorer_of("emax")
gce = _scorer_of("gce")
ici = _scorer_of("ici")
log_loss = _scorer_of("log_loss")
mce = _scorer_of("mce")
scaled_brier = _scorer_of("scaled_brier")
smooth_ece = _scorer_of("smooth_ece")
squared_ece = _scorer_of("squared_ece")
tce = _scorer_of("tce")
