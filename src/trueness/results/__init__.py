"""Results that are more than one number: frozen records with named fields."""

from trueness.results._answers import Answers
from trueness.results._bins import Bands, Bin, BinTable, EstimationError, Histogram, TestedBins
from trueness.results._comparison import Comparison, Difference
from trueness.results._curves import Curve, CurveBand, Decomposition, MonotoneBand, Reliability, Walk
from trueness.results._decisions import AcceptThreshold, Decision, NetBenefit, RiskCoverage
from trueness.results._estimate import Estimate
from trueness.results._gate import Finding, Gate
from trueness.results._grades import Grade, GradeTable
from trueness.results._guarantee import Guarantee, GuaranteePlan, ValidityCurve
from trueness.results._inference import Interval, NoiseFloor, Significance
from trueness.results._panel import Panel
from trueness.results._powered import Powered
from trueness.results._prior_shift import PriorShift
from trueness.results._segments import Segments, Slices
from trueness.results._series import Change, Series
from trueness.results._validation import Validation, ValidationSize
from trueness.results._verdict import Flags, Verdict
from trueness.results._watch import Shift, WatchedSegment, WatchHistory

__all__ = [
    "AcceptThreshold",
    "Answers",
    "Bands",
    "Bin",
    "BinTable",
    "Change",
    "Comparison",
    "Curve",
    "CurveBand",
    "Decision",
    "Decomposition",
    "Difference",
    "Estimate",
    "EstimationError",
    "Finding",
    "Flags",
    "Gate",
    "Grade",
    "GradeTable",
    "Guarantee",
    "GuaranteePlan",
    "Histogram",
    "Interval",
    "MonotoneBand",
    "NetBenefit",
    "NoiseFloor",
    "Panel",
    "Powered",
    "PriorShift",
    "Reliability",
    "RiskCoverage",
    "Segments",
    "Series",
    "Shift",
    "Significance",
    "Slices",
    "TestedBins",
    "Validation",
    "ValidationSize",
    "ValidityCurve",
    "Verdict",
    "Walk",
    "WatchHistory",
    "WatchedSegment",
]
