"""Measures of calibration: one number, table or curve from labels and scores, or from their sums."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.measure._auc import auc
    from trueness.measure._bin_table import bin_table, estimation_error
    from trueness.measure._binned import ace, ece, mce
    from trueness.measure._corp import corp
    from trueness.measure._curve import reliability_curve
    from trueness.measure._flexible_curve import e50, e90, emax, ici
    from trueness.measure._proper_scores import brier, log_loss, scaled_brier
    from trueness.measure._slope import calibration_intercept, calibration_slope, observed_expected
    from trueness.measure._smooth import smooth_ece
    from trueness.measure._squared import squared_ece
    from trueness.measure._tce import gce, tce

__all__ = [
    "ace",
    "auc",
    "bin_table",
    "brier",
    "calibration_intercept",
    "calibration_slope",
    "corp",
    "e50",
    "e90",
    "ece",
    "emax",
    "estimation_error",
    "gce",
    "ici",
    "log_loss",
    "mce",
    "observed_expected",
    "reliability_curve",
    "scaled_brier",
    "smooth_ece",
    "squared_ece",
    "tce",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_auc": ("auc",),
        "_bin_table": ("bin_table", "estimation_error"),
        "_binned": ("ace", "ece", "mce"),
        "_corp": ("corp",),
        "_curve": ("reliability_curve",),
        "_flexible_curve": ("e50", "e90", "emax", "ici"),
        "_proper_scores": ("brier", "log_loss", "scaled_brier"),
        "_slope": ("calibration_intercept", "calibration_slope", "observed_expected"),
        "_smooth": ("smooth_ece",),
        "_squared": ("squared_ece",),
        "_tce": ("gce", "tce"),
    },
)
