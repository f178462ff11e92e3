"""Scikit-learn estimators that make scores true, and what they can promise.

The names are loaded when first used: planning needs neither scikit-learn nor SciPy's statistics.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.recalibrate._calibrator import Calibrator
    from trueness.recalibrate._histogram import HistogramBinning
    from trueness.recalibrate._planning import epsilon, max_bins, sample_size
    from trueness.recalibrate._stored import calibrator_from_dict, load_calibrator

__all__ = [
    "Calibrator",
    "HistogramBinning",
    "calibrator_from_dict",
    "epsilon",
    "load_calibrator",
    "max_bins",
    "sample_size",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_calibrator": ("Calibrator",),
        "_histogram": ("HistogramBinning",),
        "_planning": ("epsilon", "max_bins", "sample_size"),
        "_stored": ("calibrator_from_dict", "load_calibrator"),
    },
)
