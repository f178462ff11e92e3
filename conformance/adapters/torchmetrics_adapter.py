"""torchmetrics."""

from typing import ClassVar

import torch
from adapter import Adapter
from torchmetrics.functional.classification import (
    binary_calibration_error,
    multiclass_calibration_error,
)


class Library(Adapter):
    name = "torchmetrics"
    packages = ("torchmetrics", "torch")
    notes = "Scores outside [0, 1] are documented to be logits, to which the logistic function is applied."

    documented: ClassVar = dict.fromkeys(
        ("above-one", "score-negative", "scores-percent", "scores-logits", "rows-of-logits"),
        "scores outside [0, 1] are logits",
    )

    def calibration_error(self, c):
        self.offers(
            c.w is None,
            c.pos_label is None,
            c.rule == "equal-width",
            c.classes in ("binary", "confidence"),
        )
        p, y = torch.tensor(c.p), torch.tensor(c.y)
        if c.classes == "binary":
            return binary_calibration_error(p, y, n_bins=c.bins, norm=c.norm)
        return multiclass_calibration_error(
            p, y, num_classes=p.shape[1], n_bins=c.bins, norm=c.norm
        )
