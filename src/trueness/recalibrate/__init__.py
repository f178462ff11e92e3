"""Scikit-learn estimators that make scores true, and what they can promise.

The names are loaded when first used: planning needs neither scikit-learn nor SciPy's statistics.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.recalibrate._calibrator import Calibrator
    from trueness.recalibrate._classifier import CalibratedClassifier
    from trueness.recalibrate._one_vs_rest import OneVsRest
    from trueness.recalibrate._stored import calibrator_from_dict, load_calibrator
    from trueness.recalibrate._top_label import TopLabel
    from trueness.recalibrate._validity import validity_band, validity_curve
    from trueness.recalibrate._validity_runs import mean_validity, validity_runs

__all__ = [
    "CalibratedClassifier",
    "Calibrator",
    "OneVsRest",
    "TopLabel",
    "calibrator_from_dict",
    "load_calibrator",
    "mean_validity",
    "validity_band",
    "validity_curve",
    "validity_runs",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_calibrator": ("Calibrator",),
        "_classifier": ("CalibratedClassifier",),
        "_one_vs_rest": ("OneVsRest",),
        "_stored": ("calibrator_from_dict", "load_calibrator"),
        "_top_label": ("TopLabel",),
        "_validity": ("validity_band", "validity_curve"),
        "_validity_runs": ("mean_validity", "validity_runs"),
    },
)
