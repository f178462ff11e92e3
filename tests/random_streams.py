"""The random numbers of one kind of draw, as docs/design.md defines them."""

from zlib import crc32

import numpy as np


def stream(seed, drawn):
    """The stream of what is drawn: 'labels', 'signs', 'resample', 'folds' or 'subset'."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(drawn.encode()),)))
