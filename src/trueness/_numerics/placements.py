"""Placements of scores among those of the other class, summed."""

import numpy as np

from trueness import _kernels
from trueness.typing import Floats, Numbers


def placement_sums(weight: Numbers, events: Numbers, area: float = 0.5) -> Floats | None:
    """Sums over cells in order of their scores that decide the area under the ROC curve and its variance.

    The placement of an event is the share of non-events with a lower score, ties counting half; that of a non-event,
    the share of events with a higher score. Returned are the sum of the placements of events, which is the area times
    the number of events, and the sums of squared distances from `area` over events and over non-events. None if a
    class is absent.

    >>> placement_sums(np.array([2, 1, 1]), np.array([0, 1, 1]))
    array([2. , 0.5, 0.5])
    """
    total = events.sum().item()
    rest = weight.sum().item() - total
    if total <= 0 or rest <= 0:
        return None
    kind = np.int64 if weight.dtype.kind == events.dtype.kind == "i" else np.float64
    w: Numbers = np.ascontiguousarray(weight, dtype=kind)  # type: ignore[assignment]  # one of the two kinds
    e: Numbers = np.ascontiguousarray(events, dtype=kind)  # type: ignore[assignment]  # likewise
    return _kernels.placement_sums(w, e, total, rest, area)
