"""What the library returns when one number is not enough: frozen records with named fields."""

from trueness.results._bands import Bands
from trueness.results._bin import Bin
from trueness.results._bin_table import BinTable
from trueness.results._bounded import Bounded
from trueness.results._comparison import Comparison, Difference
from trueness.results._curve import Curve
from trueness.results._curve_band import CurveBand
from trueness.results._decomposition import Decomposition
from trueness.results._estimation_error import EstimationError
from trueness.results._guarantee import Guarantee
from trueness.results._guarantee_plan import GuaranteePlan
from trueness.results._histogram import Histogram
from trueness.results._interval import Interval
from trueness.results._noise_floor import NoiseFloor
from trueness.results._reliability import Reliability
from trueness.results._significance import Significance
from trueness.results._tested_bins import TestedBins
from trueness.results._validity_curve import ValidityBand, ValidityCurve, ValidityRuns
from trueness.results._walk import Walk

__all__ = [
    "Bands",
    "Bin",
    "BinTable",
    "Bounded",
    "Comparison",
    "Curve",
    "CurveBand",
    "Decomposition",
    "Difference",
    "EstimationError",
    "Guarantee",
    "GuaranteePlan",
    "Histogram",
    "Interval",
    "NoiseFloor",
    "Reliability",
    "Significance",
    "TestedBins",
    "ValidityBand",
    "ValidityCurve",
    "ValidityRuns",
    "Walk",
]
