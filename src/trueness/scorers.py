"""Measures as scikit-learn scorers: ``cross_val_score(model, X, y, scoring=tn.scorers.brier)``.

Every measure of which one can tell whether more or less is better is here by its name. A scorer is
a function of an estimator, its input and the labels whose larger values are better; so all errors
are negated.

.. warning::
    Calibration errors alone reward constants: a model that predicts the event rate for every row
    has an ECE near zero and no use. Select models by ``brier`` or ``log_loss``, which reward
    calibration and discrimination together, and read calibration errors beside them:
    ``scoring={"brier": tn.scorers.brier, "ece": tn.scorers.ece}``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from trueness import measure as measures
from trueness._input.sample import read_sample
from trueness._keywords import suggests_keywords
from trueness.errors import InputError
from trueness.infer._catalogue import MEASURES
from trueness.typing import ArrayLike


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
        estimator: Any,
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
    measure: Callable[..., float], *, greater_is_better: bool = False, **options: Any
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


_BY_NAME = {
    key: scorer(one.function, greater_is_better=one.better == "more")
    for key, one in MEASURES.items()
    if one.better and key in measures.__all__
}
globals().update(_BY_NAME)
__all__ = ["Scorer", "scorer", *_BY_NAME]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Scorer: ...
