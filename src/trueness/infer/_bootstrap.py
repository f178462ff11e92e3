r"""The bootstrap of binned measures, from sums.

Rows drawn with replacement from n rows are a multinomial draw over the kinds of rows there are. With a kind for
every score and label this is the bootstrap itself. With a kind for every bin and label (a few dozen instead of n)
the number of rows of a bin and its events are still drawn from their very law; the sum of their m scores, which is
all that a binned measure needs besides, is drawn from the normal law with its mean :math:`m\mu` and variance
:math:`m\sigma^2`. So a resample costs as much as there are bins, whatever n.

The debiased squared error of a resample is not centred at that of the sample: a row drawn twice makes a pair with
itself. Hence three intervals; near zero the percentile interval covers hardly ever.

References: Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics, 1979; Sun, Chaudhari,
Barnett, Dobriban, "A confidence interval for the l2 expected calibration error", 2025.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trueness._numerics.pairs import pair_mean
from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.infer._analytic import sums_of_bins
from trueness.infer._outcomes import Outcomes
from trueness.typing import Floats, Ints

__all__ = [
    "BinSums",
    "basic_bootstrap",
    "basic_interval",
    "bootstrap_squared_ece",
    "centred_bootstrap",
    "centred_interval",
    "percentile_bootstrap",
    "percentile_interval",
    "resampled_bins",
]

# Numbers drawn at a time, so that memory stays small.
_BATCH = 1 << 19
_HIGH_UNIT, _LOW_UNIT = 2.0**-26, 2.0**-53


class BinSums(NamedTuple):
    """Sums of resamples, each of shape (resamples, bins)."""

    n: Ints
    """Rows."""
    events: Ints
    """Σy."""
    sum_score: Floats
    """Σp."""
    sum_square: Floats
    """Σp²."""
    sum_event_score: Floats
    """Σyp."""

    def squared_ece(self) -> Floats:
        """The debiased squared error of each resample."""
        squares = self.events - 2 * self.sum_event_score + self.sum_square
        return pair_mean(self.n, (self.events - self.sum_score)[..., np.newaxis], squares)

    def ece(self, p: float = 1.0) -> Floats:
        """The calibration error of each resample: the power mean of exponent `p`, the largest gap if infinite."""
        gap = np.abs(self.events - self.sum_score) / np.maximum(self.n, 1)
        if np.isinf(p):
            return np.asarray(gap.max(axis=1))
        return np.asarray((self.n * gap**p).sum(axis=1) / self.n.sum(axis=1)) ** (1 / p)


def resampled_bins(bins: Bins, resamples: int, rng: np.random.Generator) -> Iterator[BinSums]:
    r"""Bootstrap resamples of rows that are known by their sums only, in batches.

    Parameters
    ----------
    bins : Bins
        With second moments; weights must be whole numbers.
    resamples : int
        How many, over all batches.
    rng : Generator

    Yields
    ------
    BinSums

    Notes
    -----
    Of m rows of one bin and label, whose scores have mean :math:`\mu` and variance :math:`\sigma^2` in the sample,
    Σp is drawn from the normal law with mean :math:`m\mu` and variance :math:`m\sigma^2`; and Σp² is set to
    :math:`2\mu\Sigma p - m\mu^2 + m\sigma^2`, which puts the mean in the place of Σ(p − μ)². So the debiased squared
    error of a resample has the same mean as with rows.
    """
    if bins.table is None:
        raise InputError(
            "sample_weight",
            "must be whole numbers that sum to less than 2³⁵ to resample rows, and bins of weighted rows "
            "do not hold counts",
            "pass a Tally, or labels and scores",
        )
    if not bins.moments:
        raise InputError("These bins were made without second moments; pass a Tally, or labels and scores.")
    filled = np.flatnonzero(bins.weight > 0)
    table = bins.table[filled]
    n = table[..., 0]
    safe = np.maximum(n, 1)
    mean = (table[..., 1] * _HIGH_UNIT + table[..., 2] * _LOW_UNIT) / safe
    variance = np.maximum((table[..., 3] * _HIGH_UNIT + table[..., 4] * _LOW_UNIT) / safe - mean**2, 0.0)
    size = max(1, _BATCH // n.size)
    for begin in range(0, resamples, size):
        batch = min(size, resamples - begin)
        m = rng.multinomial(int(n.sum()), (n / n.sum()).ravel(), batch).reshape(batch, *n.shape)
        score = m * mean + np.sqrt(m * variance) * rng.standard_normal(m.shape)
        square = 2 * mean * score + m * (variance - mean**2)
        yield BinSums(m.sum(axis=2), m[..., 1], score.sum(axis=2), square.sum(axis=2), score[..., 1])


def bootstrap_squared_ece(sums: Outcomes | Bins, resamples: int, rng: np.random.Generator) -> Floats:
    """The debiased squared error of bootstrap resamples, in the bins of the whole sample.

    Parameters
    ----------
    sums : Outcomes or Bins
        Kinds of rows, which are drawn; or sums per bin, which are drawn for a cost that does not grow with n.
    resamples : int
        How many.
    rng : Generator

    Returns
    -------
    array of shape (resamples,)
    """
    if isinstance(sums, Bins):
        return np.concatenate([batch.squared_ece() for batch in resampled_bins(sums, resamples, rng)])
    kinds = sums.count.size
    size = max(1, _BATCH // kinds)
    sizes = (min(size, resamples - begin) for begin in range(0, resamples, size))
    return np.concatenate([sums.of_counts(_counts(sums.count, batch, rng)) for batch in sizes])


def _counts(count: Ints, resamples: int, rng: np.random.Generator) -> Ints:
    """How often each kind is drawn, shape (resamples, kinds)."""
    n = int(count.sum())
    if n > count.size:
        return rng.multinomial(n, count / n, resamples)
    # Where every kind is one row, numbers of rows are many times faster to draw than a binomial number each.
    row = rng.integers(0, n, (resamples, n)) + n * np.arange(resamples)[:, np.newaxis]
    return np.bincount(row.ravel(), minlength=n * resamples).reshape(resamples, n)


def percentile_interval(estimate: float, drawn: Floats, level: float) -> tuple[float, float]:  # noqa: ARG001
    """Between the quantiles of the resamples; the estimate itself plays no part."""
    return _quantiles(drawn, level)


def basic_interval(estimate: float, drawn: Floats, level: float) -> tuple[float, float]:
    """The quantiles mirrored at the estimate: what resamples err upwards, the estimate is taken to err too."""
    low, high = _quantiles(drawn, level)
    return 2 * estimate - high, 2 * estimate - low


def centred_interval(estimate: float, drawn: Floats, level: float) -> tuple[float, float]:
    """The quantiles moved so that the resamples have the estimate as their mean."""
    low, high = _quantiles(drawn, level)
    shift = estimate - float(drawn.mean())
    return low + shift, high + shift


def _quantiles(drawn: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def percentile_bootstrap(
    sums: Outcomes | Bins, *, level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile interval for the squared error; ends may be negative."""
    return percentile_interval(*_drawn(sums, resamples, rng), level)


def basic_bootstrap(
    sums: Outcomes | Bins, *, level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Basic interval for the squared error; ends may be negative."""
    return basic_interval(*_drawn(sums, resamples, rng), level)


def centred_bootstrap(
    sums: Outcomes | Bins, *, level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile interval for the squared error, moved to the estimate; ends may be negative."""
    return centred_interval(*_drawn(sums, resamples, rng), level)


def _drawn(sums: Outcomes | Bins, resamples: int, rng: np.random.Generator) -> tuple[float, Floats]:
    """The squared error of the sample and of its resamples."""
    estimate = sums.estimate if isinstance(sums, Outcomes) else sums_of_bins(sums).statistic
    return estimate, bootstrap_squared_ece(sums, resamples, rng)
