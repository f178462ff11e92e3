"""Pictures of results, in scikit-learn's habit; matplotlib is loaded when something is drawn."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.plot._reliability import ReliabilityDisplay
    from trueness.plot._text import unicode_diagram

__all__ = [
    "ReliabilityDisplay",
    "unicode_diagram",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_reliability": ("ReliabilityDisplay",),
        "_text": ("unicode_diagram",),
    },
)
