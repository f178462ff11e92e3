"""probmetrics."""

import numpy as np
import torch
from adapter import Adapter
from probmetrics.metrics import BrierLoss, CalibrationError, LogLoss


class Library(Adapter):
    name = "probmetrics"
    packages = ("probmetrics", "torchmetrics", "torch")
    notes = (
        "Binary scores are given as two columns. Its calibration errors are those of torchmetrics on scores moved into "
        "[1e-7, 1 − 1e-7], in single precision. The Brier score of two classes is documented as twice the binary one "
        "(with `binary_as_multiclass=False` it is the sum over the rows, not the mean)."
    )

    def calibration_error(self, c):
        self.offers(
            c.w is None,
            c.pos_label is None,
            c.rule == "equal-width",
            c.classes in ("binary", "confidence"),
        )
        self.offers(c.classes == "binary" or c.p.shape[1] > 2)  # two columns are the binary problem
        return CalibrationError(n_bins=c.bins, norm=c.norm).compute_from_labels_probs(*_tensors(c))

    def brier(self, c):
        self.offers(c.w is None)
        return BrierLoss().compute_from_labels_probs(*_tensors(c))

    def log_loss(self, c):
        self.offers(c.w is None)
        return LogLoss().compute_from_labels_probs(*_tensors(c))


def _tensors(c):
    p = c.p if c.p.ndim == 2 else np.column_stack([1 - c.p, c.p])
    return torch.tensor(c.y), torch.tensor(p)
