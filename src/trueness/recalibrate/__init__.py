"""Scikit-learn estimators that make scores true, and what they can promise.

The names are loaded when first used: planning needs neither scikit-learn nor SciPy's statistics.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.recalibrate._bbq import BayesianBinning
    from trueness.recalibrate._beta import BetaCalibration
    from trueness.recalibrate._calibrator import Calibrator
    from trueness.recalibrate._histogram import HistogramBinning
    from trueness.recalibrate._isotonic import IsotonicCalibration
    from trueness.recalibrate._multinomial import DirichletCalibration, MatrixScaling, VectorScaling
    from trueness.recalibrate._planning import epsilon, max_bins, sample_size
    from trueness.recalibrate._platt import PlattScaling
    from trueness.recalibrate._scaling_binning import ScalingBinning
    from trueness.recalibrate._stored import calibrator_from_dict, load_calibrator
    from trueness.recalibrate._temperature import TemperatureScaling
    from trueness.recalibrate._venn_abers import ProbabilityPair, VennAbers

__all__ = [
    "BayesianBinning",
    "BetaCalibration",
    "Calibrator",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "MatrixScaling",
    "PlattScaling",
    "ProbabilityPair",
    "ScalingBinning",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "calibrator_from_dict",
    "epsilon",
    "load_calibrator",
    "max_bins",
    "sample_size",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_bbq": ("BayesianBinning",),
        "_beta": ("BetaCalibration",),
        "_calibrator": ("Calibrator",),
        "_histogram": ("HistogramBinning",),
        "_isotonic": ("IsotonicCalibration",),
        "_multinomial": ("DirichletCalibration", "MatrixScaling", "VectorScaling"),
        "_planning": ("epsilon", "max_bins", "sample_size"),
        "_platt": ("PlattScaling",),
        "_scaling_binning": ("ScalingBinning",),
        "_stored": ("calibrator_from_dict", "load_calibrator"),
        "_temperature": ("TemperatureScaling",),
        "_venn_abers": ("ProbabilityPair", "VennAbers"),
    },
)
