"""calzone."""

import numpy as np
from adapter import Adapter
from calzone.metrics import calculate_ece_mce, cox_regression_analysis
from calzone.utils import reliability_diagram


class Library(Adapter):
    name = "calzone"
    packages = ("calzone-tool",)
    notes = "Scores are given as two columns. Cox's regression clips scores at 1e-7, as documented."

    def calibration_error(self, c):
        self.offers(
            c.w is None, c.pos_label is None, c.norm != "l2", c.classes in ("binary", "confidence")
        )
        p = c.p if c.p.ndim == 2 else _two_columns(c)
        rate, score, _, count = reliability_diagram(
            c.y,
            p,
            num_bins=c.bins,
            class_to_plot=1 if c.classes == "binary" else None,
            is_equal_freq=c.rule == "equal-mass",
        )
        return calculate_ece_mce(rate, score, count)[c.norm == "max"]

    def slope(self, c):
        return cox_regression_analysis(c.y, _two_columns(c))[0]

    def intercept(self, c):
        return cox_regression_analysis(c.y, _two_columns(c), fix_slope=True)[1]


def _two_columns(c):
    return np.column_stack([1 - c.p, c.p])
