"""Bootstrap, subsampling and HulC intervals for the debiased squared error.

Rows drawn with replacement are a multinomial draw over the kinds of rows: one kind per score and
label (:class:`RowKinds`) is the bootstrap itself; one per bin and label (:func:`resampled_bins`)
costs the same for any n. The debiased squared error of a resample is not centred at that of the
sample, because a row drawn twice forms a pair with itself. Hence three bootstrap intervals. The
papers are cited by :func:`trueness.ece_interval`.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import numpy as np

from trueness._numerics.pairs import pair_mean
from trueness._tally.binned_scores import BinnedScores
from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.infer.interval._analytic import sums_of_bins
from trueness.typing import Floats, Ints

# Numbers drawn at a time, so that memory stays small.
_BATCH = 1 << 19
# Units of the two halves in which bins hold sums of scores exactly.
_HIGH_UNIT = 2.0**-26
_LOW_UNIT = 2.0**-53

# Draws per stream of random numbers; fixed, so that values do not depend on the number of workers.
_STREAM = 16

_Generator = np.random.Generator
_Ends = tuple[float, float]
_T = TypeVar("_T")


def parallel_draws(
    draw: Callable[[_Generator, int], list[_T]],
    resamples: int,
    rng: _Generator,
    workers: int,
    report: Callable[[int, int], None],
) -> list[_T]:
    """`resamples` results of random draws, the same for any number of threads.

    `draw` takes a generator and a number up to 16, and returns that many results. Every group of 16
    results has a stream of random numbers of its own, spawned from `rng`, so that `workers`, the
    number of threads, changes no result. Results are in the order of the streams. `report` is
    called after each group with (done, total).
    """
    sizes = [min(_STREAM, resamples - begin) for begin in range(0, resamples, _STREAM)]
    results: list[_T] = []
    with ThreadPoolExecutor(workers) as pool:
        run = pool.map if workers > 1 else map
        context = copy_context()  # which says where warnings go
        for batch in run(lambda *job: context.copy().run(draw, *job), rng.spawn(len(sizes)), sizes):
            results += batch
            report(len(results), resamples)
    return results


class RowKinds:
    """The distinct rows of a sample, one kind per score and label, in the order of its bins.

    Resamples keep these bins.
    """

    def __init__(self, scores: BinnedScores) -> None:
        """From the rows of each class at each distinct score; empty kinds are left out.

        `scores` are the scores in bins, with the number of rows and of rows of each class at each
        score. k classes are studied: a row has one of them or none, so that every score has up to k
        + 1 kinds. Kinds are in the order of the bins.
        """
        none = scores.count - scores.hits.sum(axis=1)
        every = np.column_stack([none, scores.hits]).ravel()
        present = np.flatnonzero(every)
        entry, label = np.divmod(present, scores.k + 1)
        self.count: Ints = every[present]
        """Rows of each kind."""
        self.u: Floats = (label[:, np.newaxis] == np.arange(1, scores.k + 1)) - scores.z[entry]
        """Indicators of the k classes minus their scores, of shape (kinds, k)."""
        self.square: Floats = (self.u**2).sum(axis=1)
        self.first: Ints = np.searchsorted(entry, scores.first)
        """The first kind of each bin; no bin is empty."""
        self.bin: Ints = np.searchsorted(scores.first, entry, side="right") - 1

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.count.sum())

    @property
    def estimate(self) -> float:
        """The debiased squared error of the sample."""
        return float(self.of_counts(self.count))

    def of_counts(self, count: Ints) -> Floats:
        """The debiased squared error of samples with `count` rows of each kind.

        The counts are of shape (samples, kinds) and the errors (samples,), or of shape (kinds,) and
        a single number. The bins are those of the whole sample; a bin with fewer than two rows in a
        sample adds nothing to the sum over pairs.
        """
        residual_sums = [np.add.reduceat(count * u, self.first, axis=-1) for u in self.u.T]
        n = np.add.reduceat(count, self.first, axis=-1)
        q = np.add.reduceat(count * self.square, self.first, axis=-1)
        return pair_mean(n, np.stack(residual_sums, axis=-1), q)

    def of_rows(self, row: Ints) -> Floats:
        """The debiased squared error of samples given by their row numbers.

        `row` is of shape (samples, size), with numbers from 0 to n − 1 in the order of the kinds:
        the first numbers are the rows of the first kind, and so on. A number may occur more than
        once in a sample. The errors are of shape (samples,).
        """
        # If every kind is one row, the row number is the kind.
        if self.count.size == self.n:
            kind = row
        else:
            kind = np.searchsorted(np.cumsum(self.count), row, side="right")
        bins = self.first.size
        size = bins * len(row)
        place = (self.bin[kind] + bins * np.arange(len(row))[:, np.newaxis]).ravel()
        kind = kind.ravel()

        def bin_sums(values: Floats) -> Floats:
            return np.bincount(place, values[kind], size).astype(np.float64).reshape(-1, bins)

        n = np.bincount(place, minlength=size).reshape(-1, bins)
        s = np.stack([bin_sums(u) for u in self.u.T], axis=-1)
        return pair_mean(n, s, bin_sums(self.square))


def resampled_bins(bins: Bins, resamples: int, rng: _Generator) -> Floats:
    r"""The debiased squared error of bootstrap resamples, from bins with second moments.

    For m rows of one bin and label, whose scores have mean :math:`\mu` and variance
    :math:`\sigma^2` in the sample, Σp is drawn from the normal distribution with mean
    :math:`m\mu` and variance :math:`m\sigma^2`, and Σp² is set to
    :math:`2\mu\Sigma p - m\mu^2 + m\sigma^2`, which replaces Σ(p − μ)² by its mean. The debiased
    squared error of a resample then has the same mean as with rows. Bins whose weights are not
    whole numbers hold no counts, and are refused.
    """
    if bins.table is None:
        demand = "must be whole numbers that sum to less than 2³⁵ to resample rows"
        remedy = "Pass a Tally, or labels and scores."
        raise InputError(
            "sample_weight", demand, "bins of weighted rows do not hold counts", remedy=remedy
        )
    table = bins.table[np.flatnonzero(bins.weight > 0)]
    n = table[..., 0]
    safe = np.maximum(n, 1)  # a bin may lack one of the labels
    mean = (table[..., 1] * _HIGH_UNIT + table[..., 2] * _LOW_UNIT) / safe
    mean_square = (table[..., 3] * _HIGH_UNIT + table[..., 4] * _LOW_UNIT) / safe
    variance = np.maximum(mean_square - mean**2, 0.0)
    errors = []
    for batch in _batch_sizes(resamples, n.size):
        m = rng.multinomial(int(n.sum()), (n / n.sum()).ravel(), batch).reshape(batch, *n.shape)
        score = m * mean + np.sqrt(m * variance) * rng.standard_normal(m.shape)
        square = 2 * mean * score + m * (variance - mean**2)
        events = m[..., 1]
        residual = (events - score.sum(axis=2))[..., np.newaxis]
        residual_squares = events - 2 * score[..., 1] + square.sum(axis=2)
        errors.append(pair_mean(m.sum(axis=2), residual, residual_squares))
    return np.concatenate(errors)


def _batch_sizes(resamples: int, numbers: int) -> Iterator[int]:
    """Sizes of batches of resamples that add up to `resamples`; each draws `numbers` numbers."""
    size = max(1, _BATCH // numbers)
    return (min(size, resamples - begin) for begin in range(0, resamples, size))


def bootstrap_squared_ece(sums: RowKinds | Bins, resamples: int, rng: _Generator) -> Floats:
    """The debiased squared error of bootstrap resamples, in the bins of the whole sample."""
    if isinstance(sums, Bins):
        return resampled_bins(sums, resamples, rng)
    batches = _batch_sizes(resamples, sums.count.size)
    return np.concatenate(
        [sums.of_counts(_resample_counts(sums.count, batch, rng)) for batch in batches]
    )


def _resample_counts(count: Ints, resamples: int, rng: _Generator) -> Ints:
    """The number of rows of each kind in each bootstrap resample, of shape (resamples, kinds).

    `count` holds the rows of each kind in the sample. Every resample has the same number of rows,
    drawn with replacement.
    """
    n = int(count.sum())
    if n > count.size:
        return rng.multinomial(n, count / n, resamples)
    # If every kind is one row, row numbers are many times faster to draw than one binomial number
    # each.
    row = rng.integers(0, n, (resamples, n)) + n * np.arange(resamples)[:, np.newaxis]
    return np.bincount(row.ravel(), minlength=n * resamples).reshape(resamples, n)


def percentile_interval(_estimate: float, drawn: Floats, level: float) -> _Ends:
    """The quantiles of the resamples; the estimate itself is not used."""
    return _quantiles(drawn, level)


def basic_interval(estimate: float, drawn: Floats, level: float) -> _Ends:
    """The quantiles reflected at the estimate: resamples err from it as it errs from the truth."""
    low, high = _quantiles(drawn, level)
    return 2 * estimate - high, 2 * estimate - low


def centred_interval(estimate: float, drawn: Floats, level: float) -> _Ends:
    """The quantiles shifted so that the mean of the resamples is the estimate."""
    low, high = _quantiles(drawn, level)
    shift = estimate - float(drawn.mean())
    return low + shift, high + shift


def _quantiles(drawn: Floats, level: float) -> _Ends:
    """The quantiles that leave an equal share of the draws on both sides."""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap(
    ends: Callable[[float, Floats, float], _Ends],
    sums: RowKinds | Bins,
    *,
    level: float,
    resamples: int,
    rng: _Generator,
) -> _Ends:
    """A bootstrap interval for the squared error, whose ends may be negative.

    `ends` turns the estimate, the errors of the resamples and `level` into the two ends:
    :func:`percentile_interval`, :func:`basic_interval` or :func:`centred_interval`. `sums` are the
    distinct rows of the sample or, for a cheaper approximation, its bins. `resamples` is the number
    of resamples of all rows, drawn with replacement by `rng`.
    """
    estimate = sums.estimate if isinstance(sums, RowKinds) else sums_of_bins(sums).statistic
    return ends(estimate, bootstrap_squared_ece(sums, resamples, rng), level)


def subsampling(rows: RowKinds, *, level: float, resamples: int, rng: _Generator) -> _Ends:
    r"""The interval of Politis and Romano: :math:`T - \sqrt{b/n}\,(q - T)`.

    T is the debiased squared error of the n rows, and the q are the quantiles of its values in
    `resamples` subsamples, at (1 − level)/2 and (1 + level)/2. Each subsample has b = ⌊√n⌋ rows,
    drawn without replacement. The upper quantile gives the lower end. Ends may be negative.
    """
    low, high = _scaled_errors(rows, level, resamples, rng, replace=False)
    return rows.estimate - high, rows.estimate - low


def published_subsampling(
    rows: RowKinds, *, level: float, resamples: int, rng: _Generator
) -> _Ends:
    r"""The variant in the code of Sun et al.: :math:`T + \sqrt{b/n}\,(q - T)`.

    T is the debiased squared error of the n rows, and the q are the quantiles of its values in
    `resamples` subsamples of b = ⌊√n⌋ rows. Unlike in :func:`subsampling`, these are drawn *with*
    replacement, and tails are *not* exchanged: the upper quantile gives the upper end. Ends may be
    negative.
    """
    low, high = _scaled_errors(rows, level, resamples, rng, replace=True)
    return rows.estimate + low, rows.estimate + high


def _scaled_errors(
    rows: RowKinds, level: float, resamples: int, rng: _Generator, *, replace: bool
) -> _Ends:
    """Quantiles of the errors of subsamples of √n rows, scaled to those of the sample.

    An error is that of the estimate in a subsample about that in the sample; `replace` says whether
    a row may be drawn twice.
    """
    size = math.isqrt(rows.n)
    low, high = _quantiles(subsamples(rows, size, resamples, rng, replace=replace), level)
    scale = math.sqrt(size / rows.n)
    return scale * (low - rows.estimate), scale * (high - rows.estimate)


def subsamples(
    rows: RowKinds, size: int, resamples: int, rng: _Generator, *, replace: bool
) -> Floats:
    """The debiased squared error of `resamples` samples of `size` rows each.

    Samples are drawn from the rows and keep the bins of all rows. `replace` says whether a row may
    be drawn twice. The result is of shape (resamples,).
    """
    batches = []
    for batch in _batch_sizes(resamples, max(size, rows.first.size)):
        if replace:
            row = rng.integers(0, rows.n, (batch, size))
        else:
            row = _distinct_rows(rows.n, size, batch, rng)
        batches.append(rows.of_rows(row))
    return np.concatenate(batches)


def _distinct_rows(n: int, size: int, samples: int, rng: _Generator) -> Ints:
    """Samples of `size` distinct rows, of shape (samples, size).

    Samples with a repeated row are drawn again: √n rows are all distinct with probability about
    0.6, and drawing many samples at once is cheaper.
    """
    rows = rng.integers(0, n, (samples, size))
    again = np.arange(samples)
    while again.size:
        ordered = np.sort(rows[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        rows[again] = rng.integers(0, n, (again.size, size))
    return rows


# The limit of NumPy's hypergeometric draws.
_MOST_ROWS = 10**9


# One form for all methods: `resamples` is for others.
def hulc(rows: RowKinds, *, level: float, resamples: int, rng: _Generator) -> _Ends:  # noqa: ARG001
    """The hull of the debiased squared errors of a few parts of the rows, in the bins of the whole.

    The rows are split at random into B parts of nearly equal size, and the ends are the smallest
    and the largest error of a part; they may be negative. If an estimate falls below the truth as
    often as above, all of B independent ones lie on one side of it with probability 2 · 2⁻ᴮ. B
    follows from `level` and is chosen at random between two neighbouring numbers
    (:func:`number_of_splits`).

    Near zero the estimate of a part is skewed, and the hull covers less often than `level`. With
    fewer than two rows per part the result is an InputError. `resamples` is not used.
    """
    parts = number_of_splits(level, 0.0, rng)
    if rows.n < 2 * parts:
        demand = f"HulC at level {level:g} needs at least {2 * parts} rows, 2 in each part"
        raise InputError("", demand, f"got {rows.n}")
    return _hull(rows, parts, rng)


def adaptive_hulc(rows: RowKinds, *, level: float, resamples: int, rng: _Generator) -> _Ends:
    """The hull of as many parts as the median bias of the estimate requires; ends may be negative.

    The bias is the distance from 1/2 of the share of `resamples` subsamples of ⌊√n⌋ rows below the
    estimate. Every part has at least 2 rows; if the bias requires more parts, the level is not
    kept.
    """
    n = rows.n
    if n < 4:
        raise InputError("", "Adaptive HulC needs at least 4 rows", f"got {n}")
    drawn = subsamples(rows, math.isqrt(n), resamples, rng, replace=False)
    bias = abs(float((drawn < rows.estimate).mean()) - 0.5)
    return _hull(rows, min(number_of_splits(level, bias, rng, limit=n // 2), n // 2), rng)


def number_of_splits(
    level: float, bias: float, rng: np.random.Generator, *, limit: int = 10**9
) -> int:
    r"""The number of parts, randomised between B − 1 and B so that the level is met exactly.

    It is at most `limit`. With the median bias Δ an estimate is below the truth with probability
    1/2 ± Δ. B is the smallest number with
    :math:`q_B = (1/2 - \Delta)^B + (1/2 + \Delta)^B \le \alpha`, α = 1 − level; B − 1 is taken with
    probability :math:`(\alpha - q_B)/(q_{B-1} - q_B)`.
    """
    alpha = 1 - level

    def miss(parts: int) -> float:
        return float((0.5 - bias) ** parts + (0.5 + bias) ** parts)

    start = float(limit)
    if bias < 0.5:
        # The larger term alone gives a number at most one too small.
        start = min(start, math.log(alpha) / math.log(0.5 + bias))
    parts = max(2, math.floor(start))
    while parts < limit and miss(parts) > alpha:
        parts += 1
    if parts >= limit:
        return limit
    fewer = (alpha - miss(parts)) / (miss(parts - 1) - miss(parts))
    if rng.random() < fewer:
        return parts - 1
    return parts


def split_counts(count: Ints, parts: int, rng: np.random.Generator) -> Ints:
    """A random split of rows of several kinds into `parts` parts of nearly equal size.

    `count` holds the rows of each kind. The result is of shape (parts, kinds): the rows of each
    kind in each part. Rows are dealt without replacement, so the parts add up to `count`. With 10⁹
    rows or more the split is refused with InputError, unless every kind is one row.
    """
    n = int(count.sum())
    if n == count.size:  # one row of each kind: a shuffled deck
        part = rng.permutation(np.arange(n) % parts)
        return np.asarray(part == np.arange(parts)[:, np.newaxis], dtype=np.int64)
    if n >= _MOST_ROWS:
        raise InputError("", "HulC splits fewer than 10⁹ rows", f"got {n:,}")
    left = count.copy()
    dealt = []
    for remaining in range(parts, 1, -1):
        size = int(left.sum()) // remaining
        dealt.append(rng.multivariate_hypergeometric(left, size, method="marginals"))
        left -= dealt[-1]
    return np.stack([*dealt, left])


def _hull(rows: RowKinds, parts: int, rng: _Generator) -> _Ends:
    """The smallest and the largest squared error of the parts of a random split."""
    estimates: Floats = rows.of_counts(split_counts(rows.count, parts, rng))
    return float(estimates.min()), float(estimates.max())
