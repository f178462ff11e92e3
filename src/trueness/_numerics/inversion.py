"""Many random numbers of each of several binomial distributions, by tables of their distribution functions.

A table pays off from about a hundred numbers per distribution: each then costs a few nanoseconds, where a general
method needs fifty.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness.typing import Floats, Ints

MOST_OUTCOMES = 1 << 14
"""Most outcomes of one table."""
# A tail of less than e to the minus this is left out: less than the rounding of a distribution function.
_TAIL = 40.0
_UNIT = 1 << 16


class Tables(NamedTuple):
    """Distribution functions of several distributions on whole numbers."""

    low: Ints
    """The smallest outcome of each."""
    start: Ints
    """Where the thresholds of each begin; it has one more outcome than thresholds."""
    cdf: Floats
    """Thresholds: the probabilities of at most each outcome, times 2¹⁶."""

    def draw(self, draws: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Independent numbers, of shape (distributions, draws).

        A number is the first outcome whose threshold exceeds 2¹⁶ U, U uniform. The whole part of 2¹⁶ U mostly decides;
        the rest is drawn only where it does not.
        """
        size = self.low.size * draws
        # Little-endian, so that a seed gives the same numbers on every machine.
        bits = rng.integers(0, 1 << 64, -(-size // 4), dtype=np.uint64).astype("<u8", copy=False)
        words = bits.view("<u2")[:size].astype(np.uint16, copy=False).reshape(-1, draws)
        whole = np.minimum(self.cdf, _UNIT - 1).astype(np.uint16)
        found = _kernels.outcomes(words, whole, self.start, self.low)
        flat = found.reshape(-1)
        undecided = np.flatnonzero(flat < 0)
        entry = undecided // draws if draws else undecided
        rest = words.reshape(-1)[undecided] + rng.random(undecided.size)
        flat[undecided] = self.low[entry] + self._bisect(entry, rest)
        return found

    def _bisect(self, entry: Ints, value: Floats) -> Ints:
        """The number of thresholds of each entry that are at most the value."""
        low, high = self.start[entry], self.start[entry + 1]
        while bool((low < high).any()):
            middle = (low + high) // 2
            above = (low < high) & (self.cdf[np.minimum(middle, self.cdf.size - 1)] <= value)
            low, high = np.where(above, middle + 1, low), np.where(above, high, middle)
        return low - self.start[entry]


def binomial_tables(n: Ints, p: Floats) -> Tables:
    """Tables of the numbers of successes in `n` trials of probability `p`."""
    low, high = _ends(n * p, n * p * (1 - p))
    most = np.where(p > 0, np.minimum(high, n), 0).astype(np.int64)
    least = np.where(p < 1, np.minimum(low, most), n).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(most - least)]).astype(np.int64)
    odds = np.divide(p, 1 - p, out=np.ones(p.size), where=(p > 0) & (p < 1))
    mode = np.clip(np.floor((n + 1) * p).astype(np.int64), least, most)
    return Tables(least, start, _kernels.outcome_tables(n.astype(np.int64), odds, mode, least, start))


def binomial_outcomes(n: Ints, p: Floats) -> Ints:
    """How many outcomes the table of each binomial distribution would have."""
    low, high = _ends(n * p, n * p * (1 - p))
    return (np.minimum(high, n) - low + 1).astype(np.int64)


def _ends(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest outcome of a table; Bernstein's inequality bounds what lies beyond."""
    reach = _TAIL / 3 + np.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance)
    return np.maximum(np.floor(mean - reach), 0), np.ceil(mean + reach)
