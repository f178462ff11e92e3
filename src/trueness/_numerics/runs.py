"""Work on long columns piece by piece, so that what it needs on the way stays in the processor's cache."""

from itertools import pairwise

import numpy as np

from trueness.typing import Ints

__all__ = ["whole_runs"]


def whole_runs(first: Ints, size: int, step: int) -> list[tuple[slice, slice, Ints]]:
    """Cut entries into pieces of about `step`, none of which splits a run.

    Parameters
    ----------
    first : int array
        The entries at which runs begin, strictly increasing from 0.
    size : int
        How many entries there are.
    step : int
        Entries of a piece; a run that is larger is a piece of its own.

    Returns
    -------
    list of (slice, slice, int array)
        Of each piece the entries, the runs, and the entries at which these begin, counted from the first of the piece.

    Examples
    --------
    >>> for entries, runs, at in whole_runs(np.array([0, 1, 3, 9]), 11, 3):
    ...     print(entries, runs, at)
    slice(0, 3, None) slice(0, 2, None) [0 1]
    slice(3, 9, None) slice(2, 3, None) [0]
    slice(9, 11, None) slice(3, 4, None) [0]
    """
    last = np.append(first[1:], size)
    ends = np.searchsorted(last, np.arange(step, size + step, step), side="left") + 1
    large = np.flatnonzero(last - first > step)
    ends = np.unique(np.minimum(np.concatenate([ends, large, large + 1]), last.size))
    cuts = [0, *ends[ends > 0].tolist()]
    return [(slice(int(first[a]), int(last[b - 1])), slice(a, b), first[a:b] - first[a]) for a, b in pairwise(cuts)]
