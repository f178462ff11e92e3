"""Streams of random numbers: one for each kind of thing that is drawn."""

from typing import Literal, TypeAlias
from zlib import crc32

import numpy as np

Drawn: TypeAlias = Literal["labels", "signs", "resample", "folds", "subset", "ties"]
"""What is drawn: labels from the scores, signs of clusters, rows with replacement, parts, some
of the rows, or the side of outcomes that equal a quantile."""


def stream(seed: int, drawn: Drawn) -> np.random.Generator:
    """The random numbers of one kind of draw.

    They depend on the seed and on what is drawn, and on nothing else: not on the measure, the level
    or the class that is asked about. So a test, a confidence set and a noise floor of the same
    scores read the same redrawn labels.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(drawn.encode()),)))
