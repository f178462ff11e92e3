"""pycalib."""

from adapter import Adapter
from pycalib import metrics
from pycalib.models.calibrators import BinningCalibration, IsotonicCalibration


class Library(Adapter):
    name = "pycalib"
    packages = ("pycalib",)
    notes = (
        "It needs betacal, which is not among its dependencies. "
        "Class-wise errors, Brier score and log loss take labels as a matrix; the Brier score is documented as the "
        "mean squared error over classes, the class-wise MCE as the largest over classes. Its binning calibrator has "
        "bins between the smallest and the largest score and adds, as documented, `alpha` to both counts."
    )

    def calibration_error(self, c):
        self.offers(
            c.w is None,
            c.pos_label is None,
            c.rule == "equal-width",
            c.norm != "l2",
            c.classes != "top-label",
        )
        name = {"binary": "binary", "classwise": "classwise", "confidence": "conf"}[c.classes]
        kind = "MCE" if c.norm == "max" else "ECE"
        y = c.one_hot if c.classes == "classwise" else c.y
        return getattr(metrics, f"{name}_{kind}")(y, c.p, bins=c.bins)

    def brier(self, c):
        self.offers(c.w is None, c.p.ndim == 2)
        return metrics.brier_score(c.one_hot, c.p)

    def log_loss(self, c):
        self.offers(c.w is None, c.p.ndim == 2)
        return metrics.cross_entropy(c.one_hot, c.p)

    def isotonic(self, c):
        self.offers(c.w is None)
        return IsotonicCalibration().fit(c.p, c.y).predict_proba(c.p)[:, 1]

    def histogram_binning(self, c):
        return BinningCalibration(n_bins=c.bins).fit(c.p, c.y).predict_proba(c.at)[:, 1]
