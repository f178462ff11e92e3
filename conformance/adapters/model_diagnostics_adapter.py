"""model-diagnostics."""

from typing import ClassVar

from adapter import Adapter
from model_diagnostics.scoring import LogLoss, SquaredError


class Library(Adapter):
    name = "model-diagnostics"
    packages = ("model-diagnostics",)
    notes = "Scoring functions for regression: the squared error takes any numbers, the log loss observations in [0, 1]."

    documented: ClassVar = {"log_loss-label-half": "observations between 0 and 1"} | {
        f"brier-{name}": "the squared error of any numbers"
        for name in (
            *("score-above-one", "score-negative", "scores-percent", "scores-logits", "label-half"),
            *("labels-1-2", "labels-minus-one", "three-labels", "swapped"),
        )
    }

    def brier(self, c):
        self.offers(c.p.ndim == 1)
        return SquaredError()(c.y, c.p, weights=c.w)

    def log_loss(self, c):
        self.offers(c.p.ndim == 1)
        return LogLoss()(c.y, c.p, weights=c.w)
