"""Everything that one reliability diagram shows."""

from dataclasses import dataclass, fields
from typing import Any

from trueness.results._bands import Bands
from trueness.results._curve import Curve
from trueness.results._curve_band import CurveBand
from trueness.results._decomposition import Decomposition
from trueness.results._histogram import Histogram
from trueness.results._interval import Interval
from trueness.results._noise_floor import NoiseFloor
from trueness.results._record import Record, plain

__all__ = ["Reliability"]


@dataclass(frozen=True)
class Reliability(Record):
    """The reliability curve of one model for one class, with its band, its scores and its numbers."""

    name: str
    """The model."""
    label: Any
    """The class; None when there is one problem only."""
    curve: Curve
    """The points."""
    band: Bands | CurveBand | None
    """The band, if one was asked for."""
    histogram: Histogram
    """How the scores are spread."""
    kind: str
    """What is compared with what: 'binary', 'classwise', 'confidence' or 'top-label'."""
    n: int
    """Rows of positive weight."""
    measure: str
    """The number, by name: 'ECE', 'MCB' (of the Brier score) or 'smECE'."""
    value: float
    """The number; nan if there are no rows."""
    floor: NoiseFloor | None
    """What a calibrated model would have shown for it."""
    interval: Interval | None
    """A confidence set for the l2 calibration error."""
    decomposition: Decomposition | None
    """The Brier score taken apart; None unless the curve is isotonic."""
    note: str
    """Why floor or interval are missing though they were asked for; else empty."""

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, records as dicts."""
        every = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v.to_dict() if isinstance(v, Record) else plain(v) for k, v in every.items()}
