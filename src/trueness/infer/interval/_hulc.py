r"""Convex hulls of estimates from separate parts of the data (HulC).

If an estimate falls below the truth as often as above, all of B independent estimates lie on one side of the truth with
probability 2 · 2⁻ᴮ; otherwise their hull covers it. This needs neither a variance nor a limiting distribution.

Reference: Kuchibhotla, Balakrishnan, Wasserman, "The HulC: confidence regions from convex hulls", Journal of the
Royal Statistical Society B, 2024.
"""

import math

import numpy as np

from trueness.errors import InputError
from trueness.infer.interval._resampling import RowKinds, subsamples
from trueness.typing import Floats, Ints

# The limit of NumPy's hypergeometric draws.
_MOST_ROWS = 10**9


def hulc(rows: RowKinds, *, level: float, resamples: int, rng: np.random.Generator) -> tuple[float, float]:  # noqa: ARG001  # a LimitsOf
    """The hull of the squared errors of a few parts; ends may be negative.

    The parts have nearly equal sizes and keep the bins of the whole sample. Near zero the estimate of a part is
    skewed: its median lies below its mean, and the hull covers less often than `level`. `resamples` is not used.
    """
    parts = number_of_splits(level, 0.0, rng)
    if rows.n < 2 * parts:
        raise InputError(
            "", f"HulC at level {level:g} needs at least {2 * parts} rows, 2 in each part", f"got {rows.n}"
        )
    return _hull(rows, parts, rng)


def adaptive_hulc(rows: RowKinds, *, level: float, resamples: int, rng: np.random.Generator) -> tuple[float, float]:
    """The hull of as many parts as the median bias of the estimate requires; ends may be negative.

    The bias is the distance from 1/2 of the share of `resamples` subsamples of ⌊√n⌋ rows below the estimate. Every
    part has at least 2 rows; if the bias requires more parts, the level is not kept.
    """
    n = rows.n
    if n < 4:
        raise InputError("", "Adaptive HulC needs at least 4 rows", f"got {n}")
    drawn = subsamples(rows, math.isqrt(n), resamples, rng, replace=False)
    bias = abs(float((drawn < rows.estimate).mean()) - 0.5)
    return _hull(rows, min(number_of_splits(level, bias, rng, most=n // 2), n // 2), rng)


def number_of_splits(level: float, bias: float, rng: np.random.Generator, *, most: int = 10**9) -> int:
    r"""The number of parts, randomised between B − 1 and B so that the level is met exactly; at most `most`.

    With the median bias Δ an estimate is below the truth with probability 1/2 ± Δ. B is the smallest number with
    :math:`q_B = (1/2 - \Delta)^B + (1/2 + \Delta)^B \le \alpha`, α = 1 − level; B − 1 is taken with probability
    :math:`(\alpha - q_B)/(q_{B-1} - q_B)`.
    """
    alpha = 1 - level

    def miss(parts: int) -> float:
        return float((0.5 - bias) ** parts + (0.5 + bias) ** parts)

    # The larger term alone gives a number at most one too small.
    least = most if bias >= 0.5 else min(float(most), math.log(alpha) / math.log(0.5 + bias))
    parts = max(2, math.floor(least))
    while parts < most and miss(parts) > alpha:
        parts += 1
    if parts >= most:
        return most
    fewer = (alpha - miss(parts)) / (miss(parts - 1) - miss(parts))
    return parts - 1 if rng.random() < fewer else parts


def split_counts(count: Ints, parts: int, rng: np.random.Generator) -> Ints:
    """Random split of rows of several kinds into parts of nearly equal size: counts of shape (parts, kinds)."""
    n = int(count.sum())
    if n == count.size:  # one row of each kind: a shuffled deck
        part = rng.permutation(np.arange(n) % parts)
        return np.asarray(part == np.arange(parts)[:, np.newaxis], dtype=np.int64)
    if n >= _MOST_ROWS:
        raise InputError("", "HulC splits fewer than 10⁹ rows", f"got {n:,}")
    left, dealt = count.copy(), []
    for remaining in range(parts, 1, -1):
        dealt.append(rng.multivariate_hypergeometric(left, int(left.sum()) // remaining, method="marginals"))
        left -= dealt[-1]
    return np.stack([*dealt, left])


def _hull(rows: RowKinds, parts: int, rng: np.random.Generator) -> tuple[float, float]:
    estimates: Floats = rows.of_counts(split_counts(rows.count, parts, rng))
    return float(estimates.min()), float(estimates.max())
