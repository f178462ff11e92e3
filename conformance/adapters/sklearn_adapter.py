"""scikit-learn."""

from typing import ClassVar

import numpy as np
from adapter import Adapter
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss


class Library(Adapter):
    name = "scikit-learn"
    packages = ("scikit-learn",)
    notes = (
        "It has no calibration error; `calibration_curve` returns the bins without counts, which is enough for the "
        "largest gap. The log loss clips, as documented, at the machine precision of the scores."
    )

    documented: ClassVar = {
        "labels-1-2": "the greater label is the event",
        "labels-minus-one": "of −1 and 1, 1 is the event",
        "log_loss-labels-text": "labels are ordered alphabetically",
    }

    def calibration_error(self, c):
        self.offers(
            c.classes == "binary",
            c.norm == "max" or c.rule != "equal-width",
            c.norm == "max",
            c.w is None,
        )
        strategy = "uniform" if c.rule == "equal-width" else "quantile"
        rate, score = calibration_curve(
            c.y, c.p, n_bins=c.bins, strategy=strategy, pos_label=c.pos_label
        )
        return np.abs(rate - score).max()

    def brier(self, c):
        labels = list(range(c.p.shape[1])) if c.p.ndim == 2 else None
        return brier_score_loss(c.y, c.p, sample_weight=c.w, pos_label=c.pos_label, labels=labels)

    def log_loss(self, c):
        labels = list(range(c.p.shape[1] if c.p.ndim == 2 else 2))
        return log_loss(
            c.y,
            c.p,
            sample_weight=c.w,
            labels=labels if set(np.unique(c.y)) <= set(labels) else None,
        )

    def isotonic(self, c):
        return (
            IsotonicRegression(out_of_bounds="clip").fit(c.p, c.y, sample_weight=c.w).predict(c.p)
        )
