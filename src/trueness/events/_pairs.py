"""Preferences as events: whether the favoured one of a pair is preferred."""

import numpy as np

from trueness._input.numbers import numbers, probabilities, refuse
from trueness._tally.clusters import codes_of
from trueness._tally.events import Events
from trueness.typing import ArrayLike


def pairs(first_preferred: ArrayLike, p: ArrayLike, *, cluster: ArrayLike | None = None) -> Events:
    """Preferences: the statement is that the first of a pair is preferred to the second.

    "First with probability p" and "second with probability 1 − p" are one statement. So the event
    is that the favoured one is preferred, with the confidence max(p, 1 − p); measures that depend
    on which one is called the first, such as observed/expected, are refused.

    Parameters
    ----------
    first_preferred : array-like of shape (n,)
        1 if the first was preferred, 0 if the second was, 0.5 for a tie.
    p : array-like of shape (n,)
        The predicted probability that the first is preferred.
    cluster : array-like of shape (n,), optional
        A cluster name for each pair, such as its prompt; pairs of one cluster may depend on each
        other.

    Returns
    -------
    Events
        In place of labels and scores. A tie, and a pair with p = 1/2, is an event and a non-event
        of weight 1/2 each. A calibrator that is fitted on them maps the confidence in the favoured
        one: apply it to max(p, 1 − p).

    Examples
    --------
    >>> import trueness as tn
    >>> events = tn.events.pairs([1, 0, 0.5], [0.8, 0.3, 0.6])
    >>> events.event.tolist(), events.p.tolist(), events.weight.tolist()
    ([1, 1, 1, 0], [0.8, 0.7, 0.6, 0.6], [1.0, 1.0, 0.5, 0.5])
    """
    preferred = numbers(first_preferred, "first_preferred")
    n = preferred.size
    refuse("first_preferred", "must be 0, 0.5 or 1", ~np.isin(preferred, (0, 0.5, 1)), preferred)
    stated = probabilities(p, "p", n)
    confidence = np.maximum(stated, 1 - stated)
    right = np.where(stated >= 0.5, preferred, 1 - preferred)
    clusters = codes_of(cluster, n)
    half = (right == 0.5) | (stated == 0.5)
    if not half.any():
        return Events(
            kind="pairs",
            event=right.astype(np.uint8),
            p=confidence,
            weight=None,
            cluster=clusters,
            words="preferences",
            n_input=n,
        )
    row = np.repeat(np.arange(n), np.where(half, 2, 1))
    second = np.concatenate([[False], row[1:] == row[:-1]])
    event = np.where(half[row], ~second, right[row] == 1)
    note = (
        f"{int(half.sum()):,} of {n:,} pairs are ties, or have p = 1/2: each is half a pair either "
        "way."
    )
    return Events(
        kind="pairs",
        event=event.astype(np.uint8),
        p=confidence[row],
        weight=np.where(half[row], 0.5, 1.0),
        cluster=row if clusters is None else clusters[row],
        words="preferences",
        n_input=n,
        weight_type="importance",
        row=row,
        notes=(note,),
    )
