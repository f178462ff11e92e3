"""calibre."""

from adapter import Adapter
from calibre import metrics


class Library(Adapter):
    name = "calibre"
    packages = ("calibre",)
    notes = "Its root mean square error is a mean over bins, between the smallest and the largest score."

    def calibration_error(self, c):
        self.offers(c.w is None, c.pos_label is None, c.classes == "binary")
        if c.norm == "l2":
            return metrics.binned_calibration_error(c.y, c.p, n_bins=c.bins)
        self.offers(c.rule == "equal-width")
        kind = (
            metrics.maximum_calibration_error
            if c.norm == "max"
            else metrics.expected_calibration_error
        )
        return kind(c.y, c.p, n_bins=c.bins)

    def brier(self, c):
        self.offers(c.w is None, c.p.ndim == 1)
        return metrics.brier_score(c.y, c.p)
