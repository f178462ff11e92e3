"""trueness: tells whether predicted probabilities mean what they say, and makes them mean it.

The everyday names live here and are loaded when first used, so that ``import trueness`` costs little more than
``import numpy``. Type checkers read the first list, Python the second; a test compares them.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness import infer as infer
    from trueness import measure as measure
    from trueness import plot as plot
    from trueness import recalibrate as recalibrate
    from trueness import results as results
    from trueness import scorers as scorers
    from trueness import simulate as simulate
    from trueness import sources as sources
    from trueness._report.report import Report as Report
    from trueness._report.report import report as report
    from trueness._tally.accumulator import Accumulator as Accumulator
    from trueness._tally.rows_or_sums import binned as binned
    from trueness._tally.rows_or_sums import sketch as sketch
    from trueness._tally.rows_or_sums import tally as tally
    from trueness._tally.rules import BlockIsotonic as BlockIsotonic
    from trueness._tally.rules import Distinct as Distinct
    from trueness._tally.rules import Edges as Edges
    from trueness._tally.rules import EqualMass as EqualMass
    from trueness._tally.rules import EqualWidth as EqualWidth
    from trueness._tally.rules import Isotonic as Isotonic
    from trueness._tally.rules import MassAndWidth as MassAndWidth
    from trueness._tally.sketch import Sketch as Sketch
    from trueness._tally.tally import Binned as Binned
    from trueness._tally.tally import Tally as Tally
    from trueness._version import __version__ as __version__
    from trueness._version import show_versions as show_versions
    from trueness.errors import CertainScoresWarning as CertainScoresWarning
    from trueness.errors import DroppedRowsWarning as DroppedRowsWarning
    from trueness.errors import FewClustersWarning as FewClustersWarning
    from trueness.errors import FewRowsWarning as FewRowsWarning
    from trueness.errors import InputError as InputError
    from trueness.errors import MissingLibraryError as MissingLibraryError
    from trueness.errors import MovedScoresWarning as MovedScoresWarning
    from trueness.errors import NoEstimateWarning as NoEstimateWarning
    from trueness.errors import NotConvergedWarning as NotConvergedWarning
    from trueness.errors import OneClassWarning as OneClassWarning
    from trueness.errors import OwnRowsWarning as OwnRowsWarning
    from trueness.errors import SeparableWarning as SeparableWarning
    from trueness.errors import TiedScoresWarning as TiedScoresWarning
    from trueness.errors import TruenessError as TruenessError
    from trueness.errors import TruenessWarning as TruenessWarning
    from trueness.infer import calibration_series as calibration_series
    from trueness.infer import calibration_test as calibration_test
    from trueness.infer import compare as compare
    from trueness.infer import cumulative_walk as cumulative_walk
    from trueness.infer import curve_band as curve_band
    from trueness.infer import ece_interval as ece_interval
    from trueness.infer import equivalence_test as equivalence_test
    from trueness.infer import estimate as estimate
    from trueness.infer import gate as gate
    from trueness.infer import grade_table as grade_table
    from trueness.infer import monotone_band as monotone_band
    from trueness.infer import noise_floor as noise_floor
    from trueness.infer import panel as panel
    from trueness.infer import prior_shift as prior_shift
    from trueness.infer import reliability_bands as reliability_bands
    from trueness.infer import segments as segments
    from trueness.infer import validation_size as validation_size
    from trueness.infer import verdict as verdict
    from trueness.measure import ace as ace
    from trueness.measure import auc as auc
    from trueness.measure import bin_table as bin_table
    from trueness.measure import brier as brier
    from trueness.measure import calibration_intercept as calibration_intercept
    from trueness.measure import calibration_slope as calibration_slope
    from trueness.measure import corp as corp
    from trueness.measure import e50 as e50
    from trueness.measure import e90 as e90
    from trueness.measure import ece as ece
    from trueness.measure import emax as emax
    from trueness.measure import estimation_error as estimation_error
    from trueness.measure import gce as gce
    from trueness.measure import ici as ici
    from trueness.measure import log_loss as log_loss
    from trueness.measure import mce as mce
    from trueness.measure import observed_expected as observed_expected
    from trueness.measure import reliability_curve as reliability_curve
    from trueness.measure import scaled_brier as scaled_brier
    from trueness.measure import smooth_ece as smooth_ece
    from trueness.measure import squared_ece as squared_ece
    from trueness.measure import tce as tce
    from trueness.recalibrate import AutoCalibration as AutoCalibration
    from trueness.recalibrate import BayesianBinning as BayesianBinning
    from trueness.recalibrate import BetaCalibration as BetaCalibration
    from trueness.recalibrate import CalibratedClassifier as CalibratedClassifier
    from trueness.recalibrate import DirichletCalibration as DirichletCalibration
    from trueness.recalibrate import EnsembleTemperatureScaling as EnsembleTemperatureScaling
    from trueness.recalibrate import HistogramBinning as HistogramBinning
    from trueness.recalibrate import IsotonicCalibration as IsotonicCalibration
    from trueness.recalibrate import MatrixScaling as MatrixScaling
    from trueness.recalibrate import OneVsRest as OneVsRest
    from trueness.recalibrate import PlattScaling as PlattScaling
    from trueness.recalibrate import PriorCorrection as PriorCorrection
    from trueness.recalibrate import QuadraticScaling as QuadraticScaling
    from trueness.recalibrate import ScalingBinning as ScalingBinning
    from trueness.recalibrate import SplineCalibration as SplineCalibration
    from trueness.recalibrate import StructuredScaling as StructuredScaling
    from trueness.recalibrate import TemperatureScaling as TemperatureScaling
    from trueness.recalibrate import TopLabel as TopLabel
    from trueness.recalibrate import VectorScaling as VectorScaling
    from trueness.recalibrate import VennAbers as VennAbers
    from trueness.recalibrate import apply_calibrator as apply_calibrator
    from trueness.recalibrate import epsilon as epsilon
    from trueness.recalibrate import load_calibrator as load_calibrator
    from trueness.recalibrate import max_bins as max_bins
    from trueness.recalibrate import prior_correction as prior_correction
    from trueness.recalibrate import sample_size as sample_size
    from trueness.recalibrate import validate as validate
    from trueness.recalibrate import validity_curve as validity_curve
    from trueness.results import Bands as Bands
    from trueness.results import Bin as Bin
    from trueness.results import BinTable as BinTable
    from trueness.results import Comparison as Comparison
    from trueness.results import Curve as Curve
    from trueness.results import CurveBand as CurveBand
    from trueness.results import Decomposition as Decomposition
    from trueness.results import Difference as Difference
    from trueness.results import Estimate as Estimate
    from trueness.results import EstimationError as EstimationError
    from trueness.results import Finding as Finding
    from trueness.results import Gate as Gate
    from trueness.results import Grade as Grade
    from trueness.results import GradeTable as GradeTable
    from trueness.results import Guarantee as Guarantee
    from trueness.results import GuaranteePlan as GuaranteePlan
    from trueness.results import Histogram as Histogram
    from trueness.results import Interval as Interval
    from trueness.results import MonotoneBand as MonotoneBand
    from trueness.results import NoiseFloor as NoiseFloor
    from trueness.results import Panel as Panel
    from trueness.results import PriorShift as PriorShift
    from trueness.results import Reliability as Reliability
    from trueness.results import Segments as Segments
    from trueness.results import Significance as Significance
    from trueness.results import TestedBins as TestedBins
    from trueness.results import Validation as Validation
    from trueness.results import ValidationSize as ValidationSize
    from trueness.results import ValidityCurve as ValidityCurve
    from trueness.results import Verdict as Verdict
    from trueness.results import Walk as Walk
    from trueness.sources import scan as scan
    from trueness.sources import scan_groups as scan_groups

_HOMES = {
    "_report.report": "Report report",
    "_tally.accumulator": "Accumulator",
    "_tally.rows_or_sums": "binned sketch tally",
    "_tally.rules": "BlockIsotonic Distinct Edges EqualMass EqualWidth Isotonic MassAndWidth",
    "_tally.sketch": "Sketch",
    "_tally.tally": "Binned Tally",
    "_version": "__version__ show_versions",
    "errors": (
        "CertainScoresWarning DroppedRowsWarning FewClustersWarning FewRowsWarning InputError MissingLibraryError "
        "MovedScoresWarning NoEstimateWarning NotConvergedWarning OneClassWarning OwnRowsWarning SeparableWarning "
        "TiedScoresWarning TruenessError TruenessWarning"
    ),
    "infer": (
        "calibration_series calibration_test compare cumulative_walk curve_band ece_interval equivalence_test estimate "
        "gate grade_table monotone_band noise_floor panel prior_shift reliability_bands segments "
        "validation_size verdict"
    ),
    "measure._auc": "auc",
    "measure._bin_table": "bin_table estimation_error",
    "measure._binned": "ace ece mce",
    "measure._corp": "corp",
    "measure._curve": "reliability_curve",
    "measure._flexible_curve": "e50 e90 emax ici",
    "measure._proper_scores": "brier log_loss scaled_brier",
    "measure._slope": "calibration_intercept calibration_slope observed_expected",
    "measure._smooth": "smooth_ece",
    "measure._squared": "squared_ece",
    "measure._tce": "gce tce",
    "recalibrate": (
        "AutoCalibration BayesianBinning BetaCalibration CalibratedClassifier DirichletCalibration "
        "EnsembleTemperatureScaling HistogramBinning IsotonicCalibration MatrixScaling OneVsRest PlattScaling "
        "PriorCorrection QuadraticScaling ScalingBinning SplineCalibration StructuredScaling TemperatureScaling "
        "TopLabel VectorScaling VennAbers apply_calibrator epsilon load_calibrator max_bins prior_correction "
        "sample_size validate validity_curve"
    ),
    "results": (
        "Bands Bin BinTable Comparison Curve CurveBand Decomposition Difference Estimate EstimationError "
        "Finding Gate Grade GradeTable Guarantee GuaranteePlan Histogram Interval MonotoneBand NoiseFloor Panel "
        "PriorShift Reliability Segments Significance TestedBins Validation ValidationSize ValidityCurve Verdict Walk"
    ),
    "sources": "scan scan_groups",
    "": "infer measure plot recalibrate results scorers simulate sources",
}
__all__ = [*sorted(" ".join(_HOMES.values()).split())]
# Not in __all__: a star import must not hide the library of that name.
__getattr__, __dir__ = lazily(__name__, {**_HOMES, "": f"{_HOMES['']} torch"})
