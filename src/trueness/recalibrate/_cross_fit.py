"""Folds of the rows of a calibration set, as counts at each log-odds: the same for rows in any order."""

from typing import NamedTuple

import numpy as np

from trueness._input.columns import column
from trueness.errors import InputError
from trueness.recalibrate._shaped_map import LogitCells
from trueness.typing import ArrayLike, Floats, Ints

# Rows, weights included, that are dealt one by one; more are dealt by chance.
_MOST_DEALT = 2**22
# The draws that deal rows are always the same.
_SEED = 20_260_101


class Folds(NamedTuple):
    """The weight of events and of other rows in each fold (row) at each log-odds (column)."""

    events: Floats
    others: Floats
    of_row: Ints | None
    """The fold of each row, where rows were dealt; None where counts were."""

    @property
    def weight(self) -> Floats:
        """Weights of all rows."""
        return self.events + self.others

    @property
    def number(self) -> int:
        """How many folds there are."""
        return int(self.events.shape[0])

    def training(self) -> tuple[Floats, Floats]:
        """Weights, and weights of events, of the rows outside each fold, and last of all rows."""
        with_all = [np.vstack([side.sum(axis=0) - side, side.sum(axis=0)]) for side in (self.weight, self.events)]
        return with_all[0], with_all[1]


def deal_folds(cells: LogitCells, y: Ints, w: Floats | None, cluster: Ints | None, number: int) -> Folds:
    """Deal the rows into folds at random, but always in the same way, with events spread evenly.

    A row of weight 2 is dealt as two rows, if all weights are whole numbers. Rows of a cluster stay together.
    """
    rng, m = np.random.default_rng(_SEED), cells.z.size
    if cluster is None and (w is None or (w == np.rint(w)).all()):
        events = np.rint(cells.events).astype(np.int64)
        others = np.rint(cells.weight).astype(np.int64) - events
        return Folds(_deal_counts(events, number, rng), _deal_counts(others, number, rng), None)
    fold = _deal_rows(y, cells.z[cells.cell], w, number, rng) if cluster is None else _deal(cluster, number, rng)
    weight = np.ones(y.size) if w is None else w
    code = fold * m + cells.cell
    events, others = (np.bincount(code, weight * side, number * m).reshape(number, m) for side in (y, 1.0 - y))
    return Folds(events, others, fold)


def _deal_counts(count: Ints, number: int, rng: np.random.Generator) -> Floats:
    total = int(count.sum())
    if total > _MOST_DEALT:
        return np.asarray(rng.multinomial(count, np.full(number, 1 / number)).T, np.float64)
    row = rng.permutation(np.repeat(np.arange(count.size), count))
    code = np.arange(total) % number * count.size + row
    return np.bincount(code, minlength=number * count.size).reshape(number, count.size).astype(np.float64)


def _deal_rows(y: Ints, z: Floats, w: Floats | None, number: int, rng: np.random.Generator) -> Ints:
    order = np.lexsort((z if w is None else w, z, y))
    fold = np.empty(y.size, np.int64)
    start = int((y == 0).sum())
    for part in (order[:start], order[start:]):
        fold[rng.permutation(part)] = np.arange(part.size) % number
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


def cluster_codes(cluster: ArrayLike, n: int) -> Ints:
    """Clusters as numbers from 0 on."""
    found = column(cluster, "cluster")
    if found.values.shape != (n,):
        raise InputError("cluster", f"must have one entry per row ({n:,})", f"got shape {found.values.shape}")
    if found.missing is not None:
        raise InputError("cluster", "must not have missing values", f"{int(found.missing.sum()):,} are missing")
    return np.unique(found.values, return_inverse=True)[1].astype(np.int64)
