"""Area under the ROC curve: how well scores rank events above non-events."""

import math
from typing import NamedTuple, Unpack

import numpy as np

from trueness._tally.by_segment import measured
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_tally
from trueness._tally.tally import Tally
from trueness.errors import NoEstimateWarning, warn
from trueness.typing import ArrayLike, Floats, RowOptions


@measured
def auc(y_true: ArrayLike | Tally, y_prob: ArrayLike | None = None, **rows: Unpack[RowOptions]) -> float:
    r"""Area under the ROC curve (c-statistic): discrimination, not calibration.

    The probability that a random event has a higher score than a random non-event. Any increasing map of the scores
    leaves it unchanged, so a high value says nothing about calibration.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`. A matrix is averaged over its classes, each against the rest.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        Between 0 and 1, without units; 0.5 for scores that do not rank. nan, with a warning, if there is only one
        class.

    Notes
    -----
    .. math:: \mathrm{AUC} = \frac1{m n} \sum_{i: y_i = 1} \sum_{j: y_j = 0} \left(1\{p_i > p_j\} +
        \tfrac12 1\{p_i = p_j\}\right)

    for :math:`m` events and :math:`n` non-events; weights multiply. All rows count, scores of 0 and 1 included. R's
    ``rms::val.prob`` leaves those out and truncates the others to multiples of 0.0002 first.

    References
    ----------
    J. A. Hanley and B. J. McNeil, The meaning and use of the area under a receiver operating characteristic (ROC)
    curve, Radiology 143 (1982), 29-36.

    Examples
    --------
    Of the four pairs, three are in order and one is tied:

    >>> import trueness as tn
    >>> tn.auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    value = as_tally(y_true, y_prob, rows).average(area)
    if math.isnan(value):
        warn("The AUC needs events and non-events; returning nan.", NoEstimateWarning)
    return value


class Placements(NamedTuple):
    """Where the scores of cells stand among those of the other class."""

    events: Floats
    """Weight of the events of each cell."""
    others: Floats
    """Weight of its non-events."""
    below: Floats
    """Share of non-events with a lower score, ties counting half: the placement of the events of the cell."""
    above: Floats
    """Share of events with a higher score, ties counting half: the placement of its non-events."""


def placements(cells: Cells) -> Placements | None:
    """Placements by running sums over the ascending scores; None if a class is absent."""
    _, weight, total = cells.totals
    rest = weight - total
    if total <= 0 or rest <= 0:
        return None
    events = cells.events.astype(np.float64)
    others = cells.weight - events
    below, above = (np.cumsum(others) - others / 2) / rest, 1 - (np.cumsum(events) - events / 2) / total
    return Placements(events, others, below, above)


def area(cells: Cells) -> float:
    """The mean placement of events, which is that of non-events; nan if a class is absent."""
    found = placements(cells)
    # Not `@`: the threads of a linear algebra library cost more than this sum.
    return math.nan if found is None else min(float((found.events * found.below).sum() / cells.totals.events), 1.0)
