"""PyCalEva."""

from adapter import Adapter
from pycaleva import CalibrationEvaluator


class Library(Adapter):
    name = "PyCalEva"
    packages = ("pycaleva",)
    notes = "It refuses data with fewer than two events or two non-events, and averages over groups, not rows."

    def calibration_error(self, c):
        self.offers(
            c.w is None,
            c.pos_label is None,
            c.classes == "binary",
            c.rule == "equal-mass",
            c.norm == "l1",
        )
        return CalibrationEvaluator(c.y, c.p, outsample=False, n_groups=c.bins).ace

    def brier(self, c):
        self.offers(c.w is None, c.p.ndim == 1)
        return CalibrationEvaluator(c.y, c.p, outsample=False, n_groups=2).brier
