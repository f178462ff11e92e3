"""The number of events among independent trials of unequal probability (Poisson-binomial)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from trueness._level import Level
from trueness.typing import Floats, Ints

# Beyond the window lies less than 2·exp(−37) < 2e-16.
_TAIL = 37.0
# Above this many factors the normal distribution with a correction for skewness takes over.
_MOST_WORK = 3e7
# And above this variance, where the two differ in one end of a thousand, by one count.
_LARGE_VARIANCE = 1e4
_BLOCK = 1 << 18
# Up to this many trials are convolved one by one.
_CONVOLVED = 128
# Steps of arcsin √p per unit within which probabilities may share their mean.
_ANGLES = 1024


class Distribution(NamedTuple):
    """Probabilities of the counts from `first` on; all others together have less than 2e-16."""

    first: int
    pmf: Floats


def distribution(p: Floats, count: Ints) -> Distribution:
    r"""Probabilities of the number of events in count[j] trials of each p[j].

    The absolute error is about 1e-15.

    The characteristic function :math:`\varphi(\omega) = \prod_j (1 - p_j + p_j e^{-i\omega})^{c_j}`
    is evaluated at :math:`2\pi l/L` and transformed back. L needs to cover only the counts within
    :math:`t` of the mean, :math:`t^2 = 74 (\sigma^2 + t/3)`: by Bernstein's inequality the others
    are negligible. So a million rare trials cost a few dozen frequencies.

    Y. Hong, On computing the distribution function for the Poisson binomial distribution,
    Computational Statistics & Data Analysis 59 (2013), 41-51.
    """
    first, length = _window(p, count)
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    pmf = np.fft.irfft(_transform(p, count, np.exp(-1j * angles) - 1), length)
    cut = first % length  # Two slices take a third of the time of np.roll.
    return Distribution(first, np.maximum(np.concatenate([pmf[cut:], pmf[:cut]]), 0.0))


def _window(p: Floats, count: Ints) -> tuple[int, int]:
    """The range of numbers of events that can occur with a probability that matters.

    `p` are distinct probabilities and `count` how many trials have each. The result is the first
    number and how many numbers the range has; Bernstein's inequality bounds what lies outside.
    """
    n = int(count.sum())
    mean = float(count @ p)
    variance = float(count @ (p * (1 - p)))
    reach = _TAIL / 3 + math.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance)
    first = max(0, math.floor(mean - reach))
    last = min(n, math.ceil(mean + reach))
    return first, last - first + 1


def _transform(p: Floats, count: Ints, steps: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """The product Π (1 + p·s) over all trials, for each entry s of `steps`.

    `p` are distinct probabilities and `count` how many trials have each. With s = exp(−iω) − 1, the
    product is the characteristic function of the number of events. It may underflow to 0, which is
    accurate enough.
    """
    total = np.ones(steps.size, dtype=np.complex128)
    rows = max(1, _BLOCK // steps.size)
    single = p[count == 1]
    tied = p[count > 1]
    times = count[count > 1]
    for begin in range(0, single.size, rows):
        total *= np.multiply.reduce(1 + single[begin : begin + rows, None] * steps, axis=0)
    for begin in range(0, tied.size, rows):
        factors = 1 + tied[begin : begin + rows, None] * steps
        total *= np.multiply.reduce(factors ** times[begin : begin + rows, None], axis=0)
    return total


def central_interval(p: Floats, count: Ints, level: float) -> tuple[int, int]:
    """The first and the last count left when at most (1 − level)/2 is cut off at either end.

    Exact, unless the variance exceeds 10⁴ or that takes more than 3·10⁷ factors (some 5·10⁴
    distinct scores); then the quantiles of the normal distribution corrected for skewness (Cornish
    and Fisher), which are at most one count off.
    """
    tail = Level(level).tail
    if (
        count @ (p * (1 - p)) > _LARGE_VARIANCE
        or p.size * float(_window(p, count)[1]) / 2 > _MOST_WORK
    ):
        return _corrected_normal(p, count, tail)
    first, pmf = distribution(p, count)
    below = np.cumsum(pmf)
    above = np.cumsum(pmf[::-1])
    low = int(np.searchsorted(below, tail, side="right"))
    high = pmf.size - 1 - int(np.searchsorted(above, tail, side="right"))
    return first + min(low, pmf.size - 1), first + max(high, 0)


def _corrected_normal(p: Floats, count: Ints, tail: float) -> tuple[int, int]:
    """The range of the number of events between two tails of probability `tail` each.

    `p` are distinct probabilities and `count` how many trials have each. The normal quantile is
    corrected for skewness (Cornish and Fisher's first term), and for events being whole numbers.
    """
    v = p * (1 - p)
    mean = float(count @ p)
    sd = math.sqrt(float(count @ v))
    skew = float(count @ (v * (1 - 2 * p))) / sd**3
    z = float(ndtri(tail))
    correction = skew * (z * z - 1) / 6
    low = mean + sd * (z + correction)
    high = mean + sd * (-z + correction)
    # X takes whole numbers: F(k) is the normal distribution function at k + 1/2.
    return max(0, math.ceil(low - 0.5)), min(int(count.sum()), math.ceil(high - 0.5))


class Tails(NamedTuple):
    """Two-sided tails of the number of events, for several groups of trials.

    The tail is 2·min(P(X ≤ k), P(X ≥ k)), at most 1.
    """

    first: Ints
    """The least count in the table of each group, less one: each table begins and ends with a tail
    of zero."""
    start: Ints
    """Where the table of each group begins, and the end."""
    table: Floats

    def of(self, events: Ints) -> Floats:
        """The tails of counts, whose first axis is groups.

        Zero outside the table, where less than 2e-16 is left.
        """
        shape = (-1, *[1] * (events.ndim - 1))
        length = np.diff(self.start).reshape(shape)
        places = np.clip(events - self.first.reshape(shape), 0, length - 1)
        return np.asarray(self.table[places + self.start[:-1].reshape(shape)])


def tails(p: Floats, count: Ints, starts: Ints) -> Tails:
    """The tails of groups of trials that begin at `starts`: count[j] trials of probability p[j].

    Groups of up to 128 trials are convolved, many groups at once; larger ones go through
    :func:`distribution`. Where that would take more than 3·10⁷ factors, nearly equal probabilities
    share their mean, which widens the distribution by less than a millionth of its variance
    (Hoeffding 1956: a mean makes tails larger, not smaller).
    """
    trials = np.add.reduceat(count, starts)
    ends = np.append(starts[1:], p.size)
    laws: list[Distribution] = [Distribution(0, np.ones(1))] * starts.size
    for small in _batches_of_size(trials):
        for group, pmf in zip(small, _convolved(p, count, starts[small], ends[small]), strict=True):
            laws[group] = Distribution(0, pmf[: trials[group] + 1])
    for group in np.flatnonzero(trials > _CONVOLVED):
        group_cells = slice(starts[group], ends[group])
        laws[group] = distribution(*_pooled(p[group_cells], count[group_cells]))
    length = np.array([law.pmf.size + 2 for law in laws])
    table = np.concatenate([_two_sided(law.pmf) for law in laws])
    return Tails(
        np.array([law.first - 1 for law in laws]), np.concatenate([[0], np.cumsum(length)]), table
    )


def _batches_of_size(trials: Ints) -> list[Ints]:
    """Groups whose numbers of trials are similar, in batches that are convolved together.

    `trials` is the number of trials of each group. Groups with more than `_CONVOLVED` are left out.
    In a batch, the numbers of trials have equally many binary digits, and the tables fit in memory.
    The result is arrays of numbers of groups.
    """
    width = np.frexp(trials.astype(np.float64))[1]
    batches = []
    for width_of_batch in np.unique(width[trials <= _CONVOLVED]):
        groups = np.flatnonzero((width == width_of_batch) & (trials <= _CONVOLVED))
        batches += np.array_split(groups, -(-groups.size * 2 ** int(width_of_batch) // _BLOCK))
    return batches


def _convolved(p: Floats, count: Ints, starts: Ints, ends: Ints) -> Floats:
    """The distribution of the number of events of each group, of shape (groups, trials + 1).

    Group i has the probabilities from `starts[i]` up to `ends[i]` in `p`, each for `count` trials.
    One trial after another is added, for all groups at once; shorter groups are padded with trials
    of probability 0.
    """
    groups = [np.repeat(p[a:b], count[a:b]) for a, b in zip(starts, ends, strict=True)]
    padded = np.zeros((len(groups), max(group.size for group in groups)))
    for row, group in zip(padded, groups, strict=True):
        row[: group.size] = group
    pmf = np.zeros((len(groups), padded.shape[1] + 1))
    pmf[:, 0] = 1.0
    for i in range(padded.shape[1]):
        chance = padded[:, i, np.newaxis]
        pmf[:, 1 : i + 2] += chance * (pmf[:, : i + 1] - pmf[:, 1 : i + 2])
        pmf[:, 0] *= 1 - padded[:, i]
    return pmf


def _pooled(p: Floats, count: Ints) -> tuple[Floats, Ints]:
    if p.size * float(_window(p, count)[1]) / 2 <= _MOST_WORK:
        return p, count
    step = np.floor(np.arcsin(np.sqrt(p)) * _ANGLES).astype(np.int64)
    number = np.bincount(step, count)
    there = number > 0
    return np.bincount(step, count * p)[there] / number[there], number[there].astype(np.int64)


def _two_sided(pmf: Floats) -> Floats:
    tail = np.zeros(pmf.size + 2)
    tail[1:-1] = np.minimum(1.0, 2 * np.minimum(np.cumsum(pmf), np.cumsum(pmf[::-1])[::-1]))
    return tail
