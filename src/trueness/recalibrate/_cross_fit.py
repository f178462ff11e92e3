"""Cross-fitting of candidates: folds that are the same for rows in any order, weights from losses, and gains."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from trueness.recalibrate._logit_map import LogitCells
from trueness.typing import Floats, Ints

# Rows, weights included, that are dealt one by one; more are dealt by chance.
_MOST_DEALT = 2**22
# The draws that deal rows are always the same.
_SEED = 20_260_101
_IDENTITY_SHARE = 0.5
LEAST_CHANCE = 2 / 3
"""How probably a map must be better in a new sample to be more than noise."""


class Folds(NamedTuple):
    """The weight of events and of other rows in each fold at each log-odds: arrays (deals, folds, cells).

    Rows are dealt several times where they are few, so that chance in the deal matters less.
    """

    events: Floats
    others: Floats
    of_row: Ints | None
    """The fold of each row in each deal, where rows were dealt; None where counts were."""

    def training(self) -> tuple[Floats, Floats]:
        """Weights, and weights of events, of the rows outside each fold, and last of all rows."""
        parts = []
        for side in (self.events + self.others, self.events):
            total = side.sum(axis=1, keepdims=True)
            parts.append(np.vstack([(total - side).reshape(-1, side.shape[2]), total[0]]))
        return parts[0], parts[1]


def number_of_deals(rows: float) -> int:
    """How often rows are dealt: up to five times if they are few."""
    return int(np.clip(2000 / rows, 1, 5))


def deal_folds(cells: LogitCells, y: Ints, w: Floats | None, cluster: Ints | None, number: int, deals: int) -> Folds:
    """Deal the rows into folds at random, but always in the same way, with events spread evenly.

    A row of weight 2 is dealt as two rows, if all weights are whole numbers. Rows of a cluster stay together.
    """
    m = cells.z.size
    if cluster is None and (w is None or ((w == np.rint(w)).all() and w.sum() < 2.0**53)):
        rng = np.random.default_rng(_SEED)
        events = np.rint(cells.events).astype(np.int64)
        others = np.rint(cells.weight).astype(np.int64) - events
        begin = int(events.sum())
        dealt = [(_deal_counts(events, 0, number, rng), _deal_counts(others, begin, number, rng)) for _ in range(deals)]
        return Folds(np.stack([one for one, _ in dealt]), np.stack([other for _, other in dealt]), None)
    fold = deal_rows(cells.z[cells.cell], y, w, cluster, number, deals)
    weight = np.ones(y.size) if w is None else w
    code = (np.arange(deals)[:, None] * number + fold) * m + cells.cell
    both = [
        np.bincount(code.ravel(), np.tile(weight * side, deals), deals * number * m).astype(np.float64)
        for side in (y, 1.0 - y)
    ]
    return Folds(both[0].reshape(deals, number, m), both[1].reshape(deals, number, m), fold)


def _deal_counts(count: Ints, begin: int, number: int, rng: np.random.Generator) -> Floats:
    total = int(count.sum())
    if total > _MOST_DEALT:
        return np.asarray(rng.multinomial(count, np.full(number, 1 / number)).T, np.float64)
    row = rng.permutation(np.repeat(np.arange(count.size), count))
    code = (begin + np.arange(total)) % number * count.size + row
    return np.bincount(code, minlength=number * count.size).reshape(number, count.size).astype(np.float64)


def deal_rows(z: Floats, y: Ints, w: Floats | None, cluster: Ints | None, number: int, deals: int) -> Ints:
    """The fold of each row in each deal, with classes spread evenly; z may have a column per class."""
    rng = np.random.default_rng(_SEED)
    if cluster is not None:
        return np.array([_deal(cluster, number, rng) for _ in range(deals)])
    # Rows are put in an order of their content, so that the one they come in does not matter.
    key = z @ rng.standard_normal(z.shape[1]) if z.ndim == 2 else z
    order = np.lexsort((key if w is None else w, key, y))
    fold = np.empty((deals, y.size), np.int64)
    for deal in fold:
        begin = 0
        for part in np.split(order, np.flatnonzero(np.diff(y[order])) + 1):
            deal[rng.permutation(part)] = (begin + np.arange(part.size)) % number
            begin += part.size  # the next class begins where this one ended, so that folds are of equal size
    return fold


def _deal(cluster: Ints, number: int, rng: np.random.Generator) -> Ints:
    """Whole clusters, the largest first, always to the fold with the fewest rows."""
    code, size = np.unique(cluster, return_inverse=True, return_counts=True)[1:]
    rows, fold = np.zeros(number), np.empty(size.size, np.int64)
    shuffled = rng.permutation(size.size)
    for one in shuffled[np.argsort(-size[shuffled], kind="stable")]:
        fold[one] = int(rows.argmin())
        rows[fold[one]] += size[one]
    return np.asarray(fold[code])


class Gain(NamedTuple):
    """By how much a loss falls, per row, with confidence limits."""

    value: float
    low: float
    high: float


def chance_of_gain(gain: float, low: float, high: float, level: float) -> float:
    """How probably a map with this gain, and limits of this level for it, is better in a new sample of the same size.

    The gain in a new sample differs from this one by the errors of both, of which each has the variance in the limits.

    >>> round(chance_of_gain(0.01, -0.0096, 0.0296, 0.95), 3)  # one standard error above 0
    0.76
    """
    reach = (high - low) / 2
    if not reach > 0:
        return float(gain > 0)
    return float(ndtr(ndtri((1 + level) / 2) / 2**0.5 * gain / reach))


def mixture_weights(loss: Floats, design_effect: float = 1.0) -> Floats:
    """Weights of candidates with these summed losses, of which the first leaves the scores alone.

    It has half of the weight to begin with.

    >>> mixture_weights(np.array([3.0, 3.0, 3.0])).round(6).tolist()
    [0.5, 0.25, 0.25]
    """
    prior = np.full(loss.size, (1 - _IDENTITY_SHARE) / (loss.size - 1))
    prior[0] = _IDENTITY_SHARE
    power = np.log(prior) - loss / design_effect
    weight = np.exp(power - power.max())
    return np.asarray(weight / weight.sum())


def held_out_weights(loss: Floats, design_effect: float = 1.0) -> Floats:
    """Weights for each fold from the losses in the other ones; arrays (candidates, deals, folds)."""
    others = loss.sum(axis=2, keepdims=True) - loss
    columns = others.reshape(loss.shape[0], -1).T
    return np.column_stack([mixture_weights(one, design_effect) for one in columns]).reshape(loss.shape)


def mean_gain(difference: Floats, weight: Floats, cluster: Ints | None, level: float, rows: float) -> Gain:
    """Mean of differences, with limits by Student's t; without clusters, `rows` is how many rows they are worth."""
    mean = float(np.average(difference, weights=weight))
    if cluster is None:
        freedom = rows - 1
        variance = float(np.average((difference - mean) ** 2, weights=weight)) / max(freedom, 1)
    else:
        sums, size = np.bincount(cluster, weight * (difference - mean)), np.bincount(cluster, weight)
        freedom = float(size.sum() ** 2 / (size @ size)) - 1
        variance = float(sums @ sums) / size.sum() ** 2 * sums.size / max(sums.size - 1, 1)
    if freedom <= 0:
        return Gain(mean, -np.inf, np.inf)
    reach = float(stdtrit(freedom, (1 + level) / 2)) * variance**0.5
    return Gain(mean, mean - reach, mean + reach)


def design_effect(difference: Floats, weight: Floats, cluster: Ints) -> float:
    """How much clusters enlarge the variance of a mean; at least 1."""
    away = difference - np.average(difference, weights=weight)
    alone = float(((weight * away) ** 2).sum())
    together = np.bincount(cluster, weight * away)
    return max(1.0, float(together @ together) / alone) if alone > 0 else 1.0
