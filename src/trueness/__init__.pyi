# ruff: isort: skip_file
# The names are grouped by the question that they answer. Records live in `trueness.results`,
# warnings in `trueness.errors`, what few people need in the rooms below.

# Rooms
from trueness import errors as errors
from trueness import events as events
from trueness import infer as infer
from trueness import measure as measure
from trueness import plot as plot
from trueness import recalibrate as recalibrate
from trueness import results as results
from trueness import scorers as scorers
from trueness import simulate as simulate
from trueness import sources as sources
from trueness import torch as torch

# One model, every question
from trueness._assess.assessment import Assessment as Assessment
from trueness._assess.assessment import assess as assess
from trueness._assess.verdict import verdict as verdict
from trueness._assess.panel import panel as panel
from trueness._report.rendering import Report as Report
from trueness._report.report import report as report

# How large is the error?
from trueness.measure import ace as ace
from trueness.measure import auc as auc
from trueness.measure import brier as brier
from trueness.measure import calibration_intercept as calibration_intercept
from trueness.measure import calibration_slope as calibration_slope
from trueness.measure import corp as corp
from trueness.measure import e50 as e50
from trueness.measure import e90 as e90
from trueness.measure import emax as emax
from trueness.measure import ece as ece
from trueness.measure import gce as gce
from trueness.measure import ici as ici
from trueness.measure import log_loss as log_loss
from trueness.measure import mce as mce
from trueness.measure import observed_expected as observed_expected
from trueness.measure import preset as preset
from trueness.measure import scaled_brier as scaled_brier
from trueness.measure import smooth_ece as smooth_ece
from trueness.measure import squared_ece as squared_ece
from trueness.measure import tce as tce

# At which scores? Tables, curves and bands
from trueness.infer import curve_band as curve_band
from trueness.measure import bin_table as bin_table
from trueness.measure import reliability_curve as reliability_curve

# How certain is that? Limits, tests and what chance alone would show
from trueness._assess.calibration_test import calibration_test as calibration_test
from trueness._assess.estimate import estimate as estimate
from trueness._assess.interval import ece_interval as ece_interval
from trueness._assess.noise_floor import noise_floor as noise_floor
from trueness.infer import equivalence_test as equivalence_test
from trueness.infer import powered as powered
from trueness.infer import judge as judge

# For whom, since when, and which model is better?
from trueness._assess.segments import segments as segments
from trueness._assess.slices import worst_slices as worst_slices
from trueness.infer import Watch as Watch
from trueness.infer import calibration_series as calibration_series
from trueness.infer import compare as compare
from trueness.infer import group_difference as group_difference
from trueness.infer import grade_table as grade_table
from trueness.infer import pluto_tasche as pluto_tasche
from trueness.infer import prior_shift as prior_shift
from trueness.infer import centres as centres
from trueness.infer import heterogeneity as heterogeneity
from trueness.infer import psi as psi
from trueness._assess.pool import pool as pool

# What does it mean for decisions?
from trueness.infer import accept_threshold as accept_threshold
from trueness._assess.decide import decide as decide
from trueness.infer import decision_certificate as decision_certificate
from trueness.infer import gate as gate
from trueness.infer import net_benefit as net_benefit
from trueness.infer import risk_coverage as risk_coverage
from trueness.infer import route as route

# How is it put right? Calibrators
from trueness._assess.validate import validate as validate
from trueness.recalibrate import AutoCalibration as AutoCalibration
from trueness.recalibrate import IntervalCalibration as IntervalCalibration
from trueness.recalibrate import BetaCalibration as BetaCalibration
from trueness.recalibrate import CalibratedClassifier as CalibratedClassifier
from trueness.recalibrate import HistogramBinning as HistogramBinning
from trueness.recalibrate import IsotonicCalibration as IsotonicCalibration
from trueness.recalibrate import OneVsRest as OneVsRest
from trueness.recalibrate import PlattScaling as PlattScaling
from trueness.recalibrate import PriorCorrection as PriorCorrection
from trueness.recalibrate import ScalingBinning as ScalingBinning
from trueness.recalibrate import SegmentCalibration as SegmentCalibration
from trueness.recalibrate import SplineCalibration as SplineCalibration
from trueness.recalibrate import TemperatureScaling as TemperatureScaling
from trueness.recalibrate import TopLabel as TopLabel
from trueness.recalibrate import VennAbers as VennAbers
from trueness.recalibrate import load_calibrator as load_calibrator

# With which guarantee, and how many rows does it take?
from trueness.infer import validation_size as validation_size
from trueness.infer import next_labels as next_labels
from trueness.recalibrate import epsilon as epsilon
from trueness.recalibrate import max_bins as max_bins
from trueness.recalibrate import sample_size as sample_size
from trueness.recalibrate import validity_curve as validity_curve
from trueness.recalibrate import mean_validity as mean_validity

# Which bins?
from trueness._tally.rules import BlockIsotonic as BlockIsotonic
from trueness._tally.rules import Distinct as Distinct
from trueness._tally.rules import Edges as Edges
from trueness._tally.rules import EqualMass as EqualMass
from trueness._tally.rules import EqualWidth as EqualWidth
from trueness._tally.rules import Isotonic as Isotonic

# More rows than memory holds: sums that add
from trueness._tally.accumulator import Accumulator as Accumulator
from trueness._tally.rows_or_sums import binned as binned
from trueness._tally.rows_or_sums import sketch as sketch
from trueness._tally.rows_or_sums import tally as tally
from trueness._tally.tally import Tally as Tally
from trueness.sources import scan as scan
from trueness.sources import scan_groups as scan_groups

# What went wrong, and with which version?
from trueness.errors import InputError as InputError
from trueness.errors import TruenessError as TruenessError
from trueness.errors import TruenessWarning as TruenessWarning
from trueness._version import __version__ as __version__
from trueness._version import show_versions as show_versions

__all__: list[str]
