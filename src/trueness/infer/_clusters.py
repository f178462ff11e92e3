"""Rows that come in clusters: several answers to one prompt, several visits of one patient."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column, column, refuse_missing
from trueness._input.labels import labels_missing
from trueness.errors import InputError
from trueness.typing import Floats, Ints

__all__ = ["cluster_codes", "cluster_column", "error_of_mean"]


def cluster_column(cluster: Any, n: int) -> Column:
    """One name per row, as an array, and which of them are missing."""
    found = column(cluster, "cluster")
    if found.values.shape != (n,):
        raise InputError("cluster", f"must have one entry per row ({n:,})", f"got shape {found.values.shape}")
    return found._replace(missing=labels_missing(found))


def cluster_codes(given: Column) -> Ints:
    """Numbers from 0 in the place of names."""
    if given.missing is not None:
        refuse_missing("cluster", given.missing)
    codes = _by_hash(given.values) if given.values.dtype.kind == "O" else _by_value(given.values)
    if codes.size and codes.max() == 0:
        raise InputError(
            "cluster",
            "must name at least 2 clusters",
            f"all {codes.size:,} rows are in one, which says nothing of how clusters differ",
        )
    return codes


def _by_value(values: NDArray[Any]) -> Ints:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _by_hash(values: NDArray[Any]) -> Ints:
    """In the order in which they come: objects need not have an order of their own."""
    seen: dict[Any, int] = {}
    try:
        return np.fromiter((seen.setdefault(name, len(seen)) for name in values), dtype=np.int64, count=values.size)
    except TypeError as reason:
        raise InputError(
            "cluster", "must hold names that can be compared, such as numbers or strings", reason
        ) from None


def error_of_mean(values: Floats, cluster: Ints | None) -> tuple[float, int]:
    r"""Standard error of the mean over rows, and how many independent units it rests on.

    Parameters
    ----------
    values : array of shape (n,)
        A value d for each row.
    cluster : int array of shape (n,), optional
        The cluster of each row, numbered from 0. Rows of different clusters are independent; without it all rows are.

    Returns
    -------
    error : float
        :math:`\frac1n \sqrt{\frac{G}{G - 1} \sum_g \big( \sum_{i \in g} (d_i - \bar d) \big)^2}` for G clusters,
        which is the usual standard error when every row is a cluster of its own. Zero where all values are equal.
    units : int
        G, or n.
    """
    rest = values - values.mean()
    sums = rest if cluster is None else np.bincount(cluster, rest)
    units = sums.size
    # Equal values leave only the rounding of their mean.
    spread = 0.0 if (values == values[0]).all() else float(sums @ sums) * units / (units - 1)
    return float(np.sqrt(spread)) / values.size, units
