"""Scikit-learn estimators that recalibrate scores, and their guarantees.

The names are loaded when first used: planning needs neither scikit-learn nor SciPy's statistics. This is the only list
of calibrators: the command line and saved maps find them here.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.recalibrate._apply import apply_calibrator as apply_calibrator
    from trueness.recalibrate._auto import AutoCalibration as AutoCalibration
    from trueness.recalibrate._bayesian_binning import BayesianBinning as BayesianBinning
    from trueness.recalibrate._beta import BetaCalibration as BetaCalibration
    from trueness.recalibrate._calibrator import Calibrator as Calibrator
    from trueness.recalibrate._classifier import CalibratedClassifier as CalibratedClassifier
    from trueness.recalibrate._histogram import HistogramBinning as HistogramBinning
    from trueness.recalibrate._internal_validation import validate as validate
    from trueness.recalibrate._isotonic import IsotonicCalibration as IsotonicCalibration
    from trueness.recalibrate._multinomial import DirichletCalibration as DirichletCalibration
    from trueness.recalibrate._multinomial import MatrixScaling as MatrixScaling
    from trueness.recalibrate._multinomial import VectorScaling as VectorScaling
    from trueness.recalibrate._one_vs_rest import OneVsRest as OneVsRest
    from trueness.recalibrate._planning import epsilon as epsilon
    from trueness.recalibrate._planning import max_bins as max_bins
    from trueness.recalibrate._planning import sample_size as sample_size
    from trueness.recalibrate._platt import PlattScaling as PlattScaling
    from trueness.recalibrate._prior_correction import PriorCorrection as PriorCorrection
    from trueness.recalibrate._prior_correction import prior_correction as prior_correction
    from trueness.recalibrate._quadratic import QuadraticScaling as QuadraticScaling
    from trueness.recalibrate._saving import calibrator_from_dict as calibrator_from_dict
    from trueness.recalibrate._saving import load_calibrator as load_calibrator
    from trueness.recalibrate._scaling_binning import ScalingBinning as ScalingBinning
    from trueness.recalibrate._spline import SplineCalibration as SplineCalibration
    from trueness.recalibrate._structured import EnsembleTemperatureScaling as EnsembleTemperatureScaling
    from trueness.recalibrate._structured import StructuredScaling as StructuredScaling
    from trueness.recalibrate._temperature import TemperatureScaling as TemperatureScaling
    from trueness.recalibrate._top_label import TopLabel as TopLabel
    from trueness.recalibrate._validity_curve import validity_curve as validity_curve
    from trueness.recalibrate._venn_abers import ProbabilityPair as ProbabilityPair
    from trueness.recalibrate._venn_abers import VennAbers as VennAbers

_HOMES = {
    "_apply": "apply_calibrator",
    "_auto": "AutoCalibration",
    "_bayesian_binning": "BayesianBinning",
    "_beta": "BetaCalibration",
    "_calibrator": "Calibrator",
    "_classifier": "CalibratedClassifier",
    "_histogram": "HistogramBinning",
    "_internal_validation": "validate",
    "_isotonic": "IsotonicCalibration",
    "_multinomial": "DirichletCalibration MatrixScaling VectorScaling",
    "_one_vs_rest": "OneVsRest",
    "_planning": "epsilon max_bins sample_size",
    "_platt": "PlattScaling",
    "_prior_correction": "PriorCorrection prior_correction",
    "_quadratic": "QuadraticScaling",
    "_saving": "calibrator_from_dict load_calibrator",
    "_scaling_binning": "ScalingBinning",
    "_spline": "SplineCalibration",
    "_structured": "EnsembleTemperatureScaling StructuredScaling",
    "_temperature": "TemperatureScaling",
    "_top_label": "TopLabel",
    "_validity_curve": "validity_curve",
    "_venn_abers": "ProbabilityPair VennAbers",
}
__all__ = [*sorted(" ".join(_HOMES.values()).split())]
__getattr__, __dir__ = lazily(__name__, _HOMES)
