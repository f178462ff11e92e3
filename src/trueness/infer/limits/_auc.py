"""Confidence limits for the area under the ROC curve."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from trueness._numerics.proportions import clopper_pearson
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows
from trueness.infer.limits._limits import Limits, wald_limits
from trueness.measure._proper_scores import area, placements
from trueness.typing import Floats

# Of a pseudo-cluster per class, this share: Student's t allows for few clusters already.
_PSEUDO = 0.25


def auc_limits(cells: Cells, level: float, cluster_rows: ClusteredRows | None = None) -> Limits:
    r"""The area :math:`A` under the ROC curve, on the logit scale.

    Its variance is that of the placements of m and n rows. To this :math:`A (1 - A) (1/m^2 +
    1/n^2)` is added: a pseudo-row per class, without which a few well-ranked events would look
    certain (for clusters a quarter of that, with effective numbers and Student's t). Limits are
    never wider than the Clopper-Pearson limits of :math:`\min(m, n)` independent pairs, which are
    all there is at :math:`A = 1`. At 95 % they covered 77 % for heavy tails with :math:`1 - A`
    below one event's share.

    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Comparing the areas under two or more
    correlated receiver operating characteristic curves: a nonparametric approach, Biometrics 44
    (1988), 837-845. N. A. Obuchowski, Nonparametric analysis of clustered ROC curve data,
    Biometrics 53 (1997), 567-578.
    """
    value = area(cells)
    if math.isnan(value):
        return Limits(note="There is only one class: the AUC is undefined.")
    name = "DeLong"
    spread = _independent_spread(cells, value)
    if cluster_rows is not None:
        name = "Obuchowski"
        spread = _clustered_spread(cells, value, cluster_rows)
    method = f"{name} with a pseudo-row per class, on the logit scale"
    return Limits(*_limits(value, spread, level), method, math.sqrt(spread.variance), value=value)


class _Spread(NamedTuple):
    """The variance of the area, and the numbers it rests on."""

    variance: float
    events: float
    """Effective number of independent events."""
    others: float
    """Effective number of independent non-events."""
    freedom: float
    """Degrees of freedom of Student's t; infinite for rows that count alike."""
    pseudo: float = 1.0
    """Pseudo-rows per class that the variance is increased by."""


def _independent_spread(cells: Cells, auc: float) -> _Spread:
    """The variance of the area `auc` for independent rows, from the placements of both classes.

    The placement of an event is the share of non-events with a lower score, that of a non-event the
    share of events with a higher one.
    """
    squares, event_squares = cells.square_sums
    placed = placements(cells)
    assert placed is not None
    other_squares = squares - event_squares
    of_events, events = _class_variance(auc, placed.events, event_squares, placed.below)
    of_others, others = _class_variance(auc, placed.others, other_squares, placed.above)
    freedom = math.inf
    if not cells.whole:
        freedom = max(1.0, float(cells.totals.weight**2 / squares.sum()) - 1)
    return _Spread(of_events + of_others, events, others, freedom)


def _class_variance(
    auc: float, w: Floats, squares: Floats, placement: Floats
) -> tuple[float, float]:
    """The part of the variance that one class contributes, and the effective number of its rows.

    `w` and `squares` are Σw and Σw² of its rows at each score, `placement` the share of the other
    class on the right side of that score. A single row contributes the largest variance it may
    have.
    """
    total = float(w.sum())
    squares_around = float((squares * (placement - auc) ** 2).sum())
    number = total**2 / float(squares.sum())
    if number <= 1:
        return auc * (1 - auc), number
    return squares_around / total**2 * number / (number - 1), number


def _clustered_spread(cells: Cells, auc: float, rows: ClusteredRows) -> _Spread:
    """The variance of the area `auc` for rows in clusters, from the sums of their influence on it.

    `cells` are the sums of the same rows per distinct score. The influence of an event is the share
    of non-events with a lower score less the area, times its weight over that of all events; that
    of a non-event is likewise the share of events with a higher score. The variance is that of the
    cluster sums (Obuchowski 1997). The result also has the effective numbers of independent events
    and non-events, and that of all clusters less 1 as degrees of freedom.
    """
    y = rows.y
    w = rows.w
    place = np.searchsorted(cells.score, rows.p)
    total = float(w @ y)
    rest = float(w @ (1 - y))
    placed = placements(cells)
    assert placed is not None
    of_event = (placed.below[place] - auc) / total
    of_other = (placed.above[place] - auc) / rest
    influence = w * np.where(y > 0, of_event, of_other)
    return _Spread(
        variance=rows.units.variance_of_sum(influence),
        events=rows.units.effective(w * y),
        others=rows.units.effective(w * (1 - y)),
        freedom=rows.units.effective(rows.weight) - 1,
        pseudo=_PSEUDO,
    )


def _limits(auc: float, spread: _Spread, level: float) -> tuple[float, float]:
    """Limits of the area `auc` under the ROC curve, on the logit scale, from its variance.

    `spread` has the variance, the effective numbers of events and non-events, and the degrees of
    freedom. To the variance is added A(1 − A) times the sum of the inverse squares of the two
    numbers, times the share `pseudo` of a pseudo-row per class, without which a few well-ranked
    events would look certain. The limits lie within the Clopper-Pearson limits of as many
    independent pairs as the smaller class has rows, and equal these if the area is 0 or 1.
    Without degrees of freedom they are 0 and 1.
    """
    if spread.freedom <= 0:
        return 0.0, 1.0
    pairs = min(spread.events, spread.others)
    low, high = (float(end) for end in clopper_pearson(min(auc * pairs, pairs), pairs, level))
    binomial = auc * (1 - auc)
    if binomial == 0:
        return low, high
    variance = spread.variance + spread.pseudo * binomial * (spread.events**-2 + spread.others**-2)
    logit_low, logit_high = wald_limits(
        float(logit(auc)), variance / binomial**2, spread.freedom, level
    )
    return max(low, float(expit(logit_low))), min(high, float(expit(logit_high)))
