from trueness._tally.rules import MassAndWidth as MassAndWidth
from trueness.measure._bin_table import bin_table as bin_table
from trueness.measure._bin_table import estimation_error as estimation_error
from trueness.measure._binned import ace as ace
from trueness.measure._binned import ece as ece
from trueness.measure._binned import mce as mce
from trueness.measure._curve import reliability_curve as reliability_curve
from trueness.measure._flexible_curve import e50 as e50
from trueness.measure._flexible_curve import e90 as e90
from trueness.measure._flexible_curve import emax as emax
from trueness.measure._flexible_curve import ici as ici
from trueness.measure._flexible_curve import smooth_ece as smooth_ece
from trueness.measure._preset import preset as preset
from trueness.measure._proper_scores import auc as auc
from trueness.measure._proper_scores import brier as brier
from trueness.measure._proper_scores import corp as corp
from trueness.measure._proper_scores import log_loss as log_loss
from trueness.measure._proper_scores import scaled_brier as scaled_brier
from trueness.measure._slope import calibration_intercept as calibration_intercept
from trueness.measure._slope import calibration_slope as calibration_slope
from trueness.measure._slope import observed_expected as observed_expected
from trueness.measure._squared import squared_ece as squared_ece
from trueness.measure._tce import gce as gce
from trueness.measure._tce import tce as tce

__all__: list[str]
