"""Exact limits for the squared calibration error if labels almost never contradict the scores."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from trueness._numerics.pairs import event_sums
from trueness.typing import Floats, Ints, Numbers

FEW_EVENTS = 3
"""Below this number of rows with the rarer label, the spread of residuals says nothing about the error."""


class ExactLimits(NamedTuple):
    """Limits for the squared error, and the number of rows with the rarer label."""

    low: float
    high: float
    rarer: float
    surprises: bool = False
    """Whether the rarer label is the less probable one of each bin, and not one class."""


def has_few_events(p: Floats, weight: Ints, hits: Ints, first: Ints) -> bool:
    """Whether :func:`few_events_limits` has fewer than 3 rows with the rarer label; weights count rows."""
    size, events, expected = event_sums(p, weight, hits, first)
    surprises = np.where(2 * expected > size, size - events, events).sum()
    return bool(min(surprises, events.sum(), (size - events).sum()) < FEW_EVENTS)


def few_events_limits(
    p: Floats, weight: Numbers, hits: Numbers, first: Ints, alpha: float, effective: float | None = None
) -> ExactLimits:
    r"""Limits from the Clopper-Pearson interval of the share of the rarer label.

    The rarer label is that of the rarer class; or, in each bin, the one that its mean score makes less probable, if
    fewer rows have that. Let :math:`p_i` be the scores as probabilities of the rarer label, and :math:`[l, u]` the
    limits of its share, each at level α/2. The probabilities :math:`r_b` of the bins b, of N_b rows each, then have the
    mean :math:`\sum N_b r_b / n \le u`. The error is largest if they are 0 in all bins but a few, so that

    .. math:: \theta \le \frac1n \sum p_i^2 + u \max_b \, [\min(1, n u / N_b) - 2 \bar p_b]_+ ,

    with equality if there is one bin. By Jensen's inequality it is at least the squared distance of the mean score from
    [l, u]. Scores `p` have `weight` rows each, `hits` of them events; `first` is the first score of each bin, and
    `effective` the effective number of independent rows.
    """
    n, events = float(weight.sum()), float(hits.sum())
    w = weight.astype(np.float64)
    size = np.add.reduceat(w, first)
    above = 2 * np.add.reduceat(w * p, first) > size
    of_bin = np.add.reduceat(hits.astype(np.float64), first)
    surprises = float(np.where(above, size - of_bin, of_bin).sum())
    folded = surprises < min(events, n - events)
    if folded:
        flipped, events = np.repeat(above, np.diff(np.append(first, p.size))), surprises
        p = np.where(flipped, 1 - p, p)
    elif 2 * events > n:
        p, events = 1 - p, n - events
    trials = n if effective is None else min(effective, n)
    successes = events * trials / n
    low = float(betaincinv(successes, trials - successes + 1, alpha / 2)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - alpha / 2)) if successes < trials else 1.0
    reach = np.minimum(1, n * high / size) - 2 * np.add.reduceat(w * p, first) / size
    mean = float(w @ p) / n
    distance = max(0.0, low - mean, mean - high)
    return ExactLimits(distance**2, float(w @ (p * p)) / n + high * max(0.0, float(reach.max())), events, folded)
