"""Scikit-learn estimators that recalibrate scores, and their guarantees.

The names are loaded when first used: planning needs neither scikit-learn nor SciPy's statistics.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.recalibrate._apply import apply_calibrator
    from trueness.recalibrate._auto import AutoCalibration
    from trueness.recalibrate._bayesian_binning import BayesianBinning
    from trueness.recalibrate._beta import BetaCalibration
    from trueness.recalibrate._calibrator import Calibrator
    from trueness.recalibrate._classifier import CalibratedClassifier
    from trueness.recalibrate._histogram import HistogramBinning
    from trueness.recalibrate._internal_validation import validate
    from trueness.recalibrate._isotonic import IsotonicCalibration
    from trueness.recalibrate._multinomial import DirichletCalibration, MatrixScaling, VectorScaling
    from trueness.recalibrate._one_vs_rest import OneVsRest
    from trueness.recalibrate._planning import epsilon, max_bins, sample_size
    from trueness.recalibrate._platt import PlattScaling
    from trueness.recalibrate._prior_correction import PriorCorrection, prior_correction
    from trueness.recalibrate._quadratic import QuadraticScaling
    from trueness.recalibrate._saving import calibrator_from_dict, load_calibrator
    from trueness.recalibrate._scaling_binning import ScalingBinning
    from trueness.recalibrate._spline import SplineCalibration
    from trueness.recalibrate._structured import EnsembleTemperatureScaling, StructuredScaling
    from trueness.recalibrate._temperature import TemperatureScaling
    from trueness.recalibrate._top_label import TopLabel
    from trueness.recalibrate._validity_curve import validity_curve
    from trueness.recalibrate._venn_abers import ProbabilityPair, VennAbers

__all__ = [
    "AutoCalibration",
    "BayesianBinning",
    "BetaCalibration",
    "CalibratedClassifier",
    "Calibrator",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IsotonicCalibration",
    "MatrixScaling",
    "OneVsRest",
    "PlattScaling",
    "PriorCorrection",
    "ProbabilityPair",
    "QuadraticScaling",
    "ScalingBinning",
    "SplineCalibration",
    "StructuredScaling",
    "TemperatureScaling",
    "TopLabel",
    "VectorScaling",
    "VennAbers",
    "apply_calibrator",
    "calibrator_from_dict",
    "epsilon",
    "load_calibrator",
    "max_bins",
    "prior_correction",
    "sample_size",
    "validate",
    "validity_curve",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_apply": ("apply_calibrator",),
        "_auto": ("AutoCalibration",),
        "_bayesian_binning": ("BayesianBinning",),
        "_beta": ("BetaCalibration",),
        "_calibrator": ("Calibrator",),
        "_classifier": ("CalibratedClassifier",),
        "_histogram": ("HistogramBinning",),
        "_isotonic": ("IsotonicCalibration",),
        "_multinomial": ("DirichletCalibration", "MatrixScaling", "VectorScaling"),
        "_one_vs_rest": ("OneVsRest",),
        "_planning": ("epsilon", "max_bins", "sample_size"),
        "_platt": ("PlattScaling",),
        "_prior_correction": ("PriorCorrection", "prior_correction"),
        "_quadratic": ("QuadraticScaling",),
        "_scaling_binning": ("ScalingBinning",),
        "_saving": ("calibrator_from_dict", "load_calibrator"),
        "_spline": ("SplineCalibration",),
        "_structured": ("EnsembleTemperatureScaling", "StructuredScaling"),
        "_temperature": ("TemperatureScaling",),
        "_top_label": ("TopLabel",),
        "_internal_validation": ("validate",),
        "_validity_curve": ("validity_curve",),
        "_venn_abers": ("ProbabilityPair", "VennAbers"),
    },
)
