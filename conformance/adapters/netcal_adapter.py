"""netcal."""

import numpy as np
from adapter import Adapter
from netcal.binning import HistogramBinning, IsotonicRegression
from netcal.metrics import ACE, ECE, MCE


class Library(Adapter):
    name = "netcal"
    packages = ("netcal", "torch")
    notes = (
        "Whether a problem is binary is decided by the labels that occur. `ACE` is documented to weight non-empty bins "
        "alike; with `equal_intervals=False` its bins are quantiles."
    )

    def calibration_error(self, c):
        self.offers(
            c.w is None, c.pos_label is None, c.classes in ("binary", "confidence"), c.norm != "l2"
        )
        if c.rule == "equal-mass":
            return ACE(bins=c.bins, equal_intervals=False).measure(c.p, c.y)
        return (MCE if c.norm == "max" else ECE)(bins=c.bins).measure(c.p, c.y)

    def isotonic(self, c):
        self.offers(c.w is None)
        return np.ravel(IsotonicRegression().fit(c.p, c.y).transform(c.p))

    def histogram_binning(self, c):
        return np.ravel(HistogramBinning(bins=c.bins).fit(c.p, c.y).transform(c.at))
