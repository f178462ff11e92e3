"""Pictures of results, in scikit-learn's habit; matplotlib is loaded when something is drawn."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.plot._bins import BinsDisplay, TestReliabilityDisplay
    from trueness.plot._cumulative import CumulativeDisplay
    from trueness.plot._guarantee import GuaranteeDisplay
    from trueness.plot._interval import IntervalDisplay
    from trueness.plot._reliability import ReliabilityDisplay
    from trueness.plot._terminal import unicode_diagram
    from trueness.plot._validity import ValidityDisplay

__all__ = [
    "BinsDisplay",
    "CumulativeDisplay",
    "GuaranteeDisplay",
    "IntervalDisplay",
    "ReliabilityDisplay",
    "TestReliabilityDisplay",
    "ValidityDisplay",
    "unicode_diagram",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_bins": ("BinsDisplay", "TestReliabilityDisplay"),
        "_cumulative": ("CumulativeDisplay",),
        "_guarantee": ("GuaranteeDisplay",),
        "_interval": ("IntervalDisplay",),
        "_reliability": ("ReliabilityDisplay",),
        "_terminal": ("unicode_diagram",),
        "_validity": ("ValidityDisplay",),
    },
)
