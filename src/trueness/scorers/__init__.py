"""Measures as scikit-learn scorers: ``cross_val_score(model, X, y, scoring=tn.scorers.brier)``.

A scorer is a function of an estimator, its input and the labels whose larger values are better; so all errors are
negated.

.. warning::
    Calibration errors alone reward constants: a model that predicts the event rate for every row has an ECE near zero
    and no use. Select models by :data:`brier` or :data:`log_loss`, which reward calibration and discrimination
    together, and read calibration errors beside them: ``scoring={"brier": tn.scorers.brier, "ece": tn.scorers.ece}``.
"""

from trueness.scorers._scorer import Scorer, ace, brier, ece, log_loss, scaled_brier, scorer, smooth_ece, squared_ece

__all__ = ["Scorer", "ace", "brier", "ece", "log_loss", "scaled_brier", "scorer", "smooth_ece", "squared_ece"]
