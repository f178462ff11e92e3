"""Shares of trials as events: k of n annotators, answers or repetitions."""

import numpy as np

from trueness._input.numbers import numbers, probabilities, refuse
from trueness._tally.clusters import codes_of
from trueness._tally.events import Events
from trueness.errors import InputError
from trueness.typing import ArrayLike


def counts(
    successes: ArrayLike, trials: ArrayLike, p: ArrayLike, *, cluster: ArrayLike | None = None
) -> Events:
    """Shares: the statement is that each of a row's trials succeeds with probability p.

    Parameters
    ----------
    successes, trials : array-like of shape (n,)
        How many trials of each row succeeded, and how many there were: nine of ten annotators.
    p : array-like of shape (n,)
        The predicted probability that a trial succeeds.
    cluster : array-like of shape (n,), optional
        A cluster name for each row. By default each row is a cluster: its trials share what p does
        not know.

    Returns
    -------
    Events
        In place of labels and scores: of each row its successes and its failures, weighted by their
        number.

    Examples
    --------
    >>> import trueness as tn
    >>> events = tn.events.counts([9, 0], [10, 5], [0.8, 0.1])
    >>> events.event.tolist(), events.weight.tolist(), events.row.tolist()
    ([1, 0, 0], [9.0, 1.0, 5.0], [0, 0, 1])
    """
    k = numbers(successes, "successes")
    n = k.size
    m = numbers(trials, "trials", n)
    for name, values in (("successes", k), ("trials", m)):
        odd = (values < 0) | (values != np.floor(values)) | np.isinf(values)
        remedy = "A share without its number of trials cannot be assessed."
        if odd.any() and ((values >= 0) & (values <= 1)).all():
            got = "got shares" if name == "successes" else "got fractions"
            raise InputError(name, "must be whole numbers ≥ 0", got, remedy=remedy)
        refuse(name, "must be whole numbers ≥ 0", odd, values)
    refuse("successes", "must be at most `trials`", k > m, k)
    if not m.any():
        raise InputError("trials", "must not all be 0", f"all {n:,} are")
    stated = probabilities(p, "p", n)
    weight = np.stack([k, m - k], axis=1).reshape(-1)
    there = np.flatnonzero(weight)
    row = there // 2
    clusters = codes_of(cluster, n)
    cluster_of_row = row if clusters is None else clusters[row]
    empty = int((m == 0).sum())
    return Events(
        kind="counts",
        event=(1 - there % 2).astype(np.uint8),
        p=stated[row],
        weight=weight[there],
        cluster=np.unique(cluster_of_row, return_inverse=True)[1],
        words="shares of trials",
        n_input=n,
        left_out={"without trials": empty} if empty else {},
        weight_type="frequency",
        row=row,
        notes=(
            f"{n:,} rows hold {int(m.sum()):,} trials; those of a row may depend on each other.",
        ),
    )
