from trueness.recalibrate._apply import apply_calibrator as apply_calibrator
from trueness.recalibrate._auto import AutoCalibration as AutoCalibration
from trueness.recalibrate._calibrator import Calibrator as Calibrator
from trueness.recalibrate._classifier import CalibratedClassifier as CalibratedClassifier
from trueness.recalibrate._equal_mass import ScalingBinning as ScalingBinning
from trueness.recalibrate._histogram import HistogramBinning as HistogramBinning
from trueness.recalibrate._interval_calibration import IntervalCalibration as IntervalCalibration
from trueness.recalibrate._isotonic import IsotonicCalibration as IsotonicCalibration
from trueness.recalibrate._isotonic import ProbabilityPair as ProbabilityPair
from trueness.recalibrate._isotonic import VennAbers as VennAbers
from trueness.recalibrate._logistic import BetaCalibration as BetaCalibration
from trueness.recalibrate._logistic import PlattScaling as PlattScaling
from trueness.recalibrate._logistic import QuadraticScaling as QuadraticScaling
from trueness.recalibrate._logistic import SplineCalibration as SplineCalibration
from trueness.recalibrate._multiclass import OneVsRest as OneVsRest
from trueness.recalibrate._multiclass import TopLabel as TopLabel
from trueness.recalibrate._multinomial import DirichletCalibration as DirichletCalibration
from trueness.recalibrate._multinomial import MatrixScaling as MatrixScaling
from trueness.recalibrate._multinomial import VectorScaling as VectorScaling
from trueness.recalibrate._planning import epsilon as epsilon
from trueness.recalibrate._planning import max_bins as max_bins
from trueness.recalibrate._planning import sample_size as sample_size
from trueness.recalibrate._prior_correction import PriorCorrection as PriorCorrection
from trueness.recalibrate._prior_correction import prior_correction as prior_correction
from trueness.recalibrate._saving import calibrator_from_dict as calibrator_from_dict
from trueness.recalibrate._saving import load_calibrator as load_calibrator
from trueness.recalibrate._segment import SegmentCalibration as SegmentCalibration
from trueness.recalibrate._temperature import (
    EnsembleTemperatureScaling as EnsembleTemperatureScaling,
)
from trueness.recalibrate._temperature import StructuredScaling as StructuredScaling
from trueness.recalibrate._temperature import TemperatureScaling as TemperatureScaling
from trueness.recalibrate._validity_curve import mean_validity as mean_validity
from trueness.recalibrate._validity_curve import validity_curve as validity_curve

__all__: list[str]
