from trueness.plot._bins import BinsDisplay as BinsDisplay
from trueness.plot._bins import TestReliabilityDisplay as TestReliabilityDisplay
from trueness.plot._coverage import CoverageDisplay as CoverageDisplay
from trueness.plot._coverage import LevelHistogramDisplay as LevelHistogramDisplay
from trueness.plot._cumulative import CumulativeDisplay as CumulativeDisplay
from trueness.plot._decisions import NetBenefitDisplay as NetBenefitDisplay
from trueness.plot._decisions import RiskCoverageDisplay as RiskCoverageDisplay
from trueness.plot._forest import CentresDisplay as CentresDisplay
from trueness.plot._forest import IntervalDisplay as IntervalDisplay
from trueness.plot._forest import SegmentsDisplay as SegmentsDisplay
from trueness.plot._guarantee import GuaranteeDisplay as GuaranteeDisplay
from trueness.plot._guarantee import ValidityDisplay as ValidityDisplay
from trueness.plot._reliability import ReliabilityDisplay as ReliabilityDisplay
from trueness.plot._route import RouteDisplay as RouteDisplay
from trueness.plot._series import SeriesDisplay as SeriesDisplay
from trueness.plot._series import WatchDisplay as WatchDisplay
from trueness.plot._stability import StabilityDisplay as StabilityDisplay
from trueness.plot._terminal import unicode_diagram as unicode_diagram

__all__: list[str]
