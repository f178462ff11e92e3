"""A confidence set on the scale of the squared error."""

from typing import NamedTuple

__all__ = ["Region"]


class Region(NamedTuple):
    """An interval whose lower end may be open, and perhaps the point zero."""

    low: float
    high: float
    low_closed: bool
    includes_zero: bool
