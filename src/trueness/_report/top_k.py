"""The k largest scores of a matrix jointly."""

from functools import partial

import numpy as np

from trueness._input.arguments import generator
from trueness._report.inference import Notes, Options
from trueness._report.records import TopK
from trueness._tally.evidence import Evidence
from trueness.infer.interval._ece_interval import interval_of

_MOST_K = 5
_MOST_ROWS = 200_000


def top_k(data: Evidence, options: Options, notes: Notes) -> tuple[TopK, ...]:
    """The l2 error of the k largest scores jointly, for k from 1 to 5 or the number of classes."""
    n, classes = data.matrix.p.shape
    most = min(_MOST_K, classes)
    if not data.whole:
        notes.add("The confidence set of several scores jointly requires whole-number weights: k = 1 only.")
        most = 1
    if data.dependent:
        notes.add("No confidence set of several scores jointly takes clusters into account: k = 1 only.")
        most = 1
    if n > _MOST_ROWS:
        data = data.at(np.arange(_MOST_ROWS))
        notes.add(f"The errors of the k largest scores use the first {_MOST_ROWS:,} rows.")
    found = []
    for k in range(1, most + 1):
        ask = partial(interval_of, data, k=k, level=options.level, rng=generator(options.seed))
        one = notes.attempt(f"The error of the {k} largest scores", ask)
        if one is not None:
            found.append(TopK(k, one))
    return tuple(found)
