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

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
