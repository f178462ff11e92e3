"""trueness."""

from adapter import Adapter

import trueness as tn


class Library(Adapter):
    name = "trueness"
    packages = ("trueness",)

    def versions(self):
        return {"trueness": tn.__version__}

    def calibration_error(self, c):
        options = _rows(c)
        if c.p.ndim == 2:
            options["kind"] = c.classes
            # The cases have class codes from 0 on; of few rows class 0 may be absent.
            options["labels"] = range(c.p.shape[1])
        if c.rule == "equal-mass":
            return tn.ace(c.y, c.p, bins=c.bins, norm=c.norm, **options)
        return tn.ece(c.y, c.p, bins=c.bins, norm=c.norm, **options)

    def brier(self, c):
        return tn.brier(c.y, c.p, **_rows(c))

    def log_loss(self, c):
        return tn.log_loss(c.y, c.p, **_rows(c))

    def slope(self, c):
        return tn.calibration_slope(c.y, c.p)

    def intercept(self, c):
        return tn.calibration_intercept(c.y, c.p)

    def observed_expected(self, c):
        return tn.observed_expected(c.y, c.p)

    def tce(self, c):
        return tn.tce(c.y, c.p, bins=c.bins, alpha=c.alpha)

    def squared_ece(self, c):
        return tn.squared_ece(c.y, c.p, bins=c.bins)

    def isotonic(self, c):
        return tn.IsotonicCalibration().fit(c.p, c.y, sample_weight=c.w).predict(c.p)

    def histogram_binning(self, c):
        return tn.HistogramBinning(n_bins=c.bins, scheme="fixed-width").fit(c.p, c.y).predict(c.at)


def _rows(c):
    options = {"sample_weight": c.w, "pos_label": c.pos_label}
    return {name: value for name, value in options.items() if value is not None}
