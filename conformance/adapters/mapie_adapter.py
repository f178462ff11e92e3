"""MAPIE."""

import numpy as np
from adapter import Adapter
from mapie.metrics.calibration import expected_calibration_error, top_label_ece


class Library(Adapter):
    name = "MAPIE"
    packages = ("mapie",)
    notes = "`num_bins` is documented as the number of bins."

    def calibration_error(self, c):
        self.offers(c.w is None, c.pos_label is None, c.norm == "l1")
        how = {
            "num_bins": c.bins,
            "split_strategy": "uniform" if c.rule == "equal-width" else "quantile",
        }
        if c.classes == "binary":
            return expected_calibration_error(c.y, c.p, **how)
        if c.classes == "top-label":
            return top_label_ece(c.y, c.p, **how)
        if c.classes == "classwise":
            return expected_calibration_error(None, c.p, classwise=True, class_labels=c.y, **how)
        self.offers(
            set(c.y) <= set(range(c.p.shape[1])), len(c.y) == len(c.p)
        )  # MAPIE needs to know which rows are correct
        return expected_calibration_error((np.argmax(c.p, axis=1) == c.y).astype(int), c.p, **how)
