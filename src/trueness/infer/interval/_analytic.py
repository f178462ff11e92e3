"""The published confidence set and test for the squared error.

Sun, Chaudhari, Barnett, Dobriban, 2025.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from trueness._numerics.pairs import PairSums, Support, log_null_variance, pair_sums
from trueness._tally.binned_scores import BinnedScores, of_cells
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule, EqualWidth
from trueness.errors import InputError
from trueness.infer.test._method import Options, Outcome, require_counts


class Region(NamedTuple):
    """A confidence set for the squared error.

    It is an interval, which may be open below, and perhaps the point zero.
    """

    low: float
    high: float
    low_closed: bool
    """Whether `low` itself belongs to the set."""
    includes_zero: bool


def upper_quantile(alpha: float) -> float:
    """The value that a standard normal variable exceeds with probability `alpha`."""
    return float(-special.ndtri(alpha))


def null_deviation(
    n: float, cells: int, classes: int | None, k: int = 1, support: Support = "published"
) -> float:
    r"""The limiting standard deviation of T for calibrated scores, :math:`\sigma_0 / (n \sqrt w)`.

    T is the debiased squared error and w the volume of a cell; :math:`\sigma_0^2` depends on
    `classes`, `k` and `support` alone. The formula is that of Sun, Chaudhari, Barnett and Dobriban
    (2025). It is computed by logarithms and limited to e^700.

    `n` is the number of rows. `classes` is the number of classes, or None for one score per row,
    and `k` is how many of the largest scores of each row are tested. `cells` is the number of cells
    on each axis, so that a cell has the volume `cells` to the power −k. If all classes are tested,
    `cells` is the paper's m, and a cell is a simplex of volume m^−(k−1) / (k−1)!. `support` says
    which scores are possible.
    """
    if classes is not None and k == classes:
        log_volume = -math.lgamma(k) - (k - 1) * math.log(cells)
    else:
        log_volume = -k * math.log(cells)
    log_deviation = (log_null_variance(classes, k, support) - log_volume) / 2 - math.log(n)
    return math.exp(min(log_deviation, 700.0))  # no float holds more than e^709


def zero_threshold(
    n: float,
    alpha: float,
    cells: int,
    classes: int | None,
    k: int = 1,
    support: Support = "published",
) -> float:
    """The value of T, the debiased squared error, from which calibration is rejected.

    It is the upper `alpha` quantile of the standard normal distribution, times the limiting
    standard deviation of T for calibrated scores (:func:`null_deviation`). The test is one-sided:
    `alpha` is not halved. The confidence set contains zero if T is below this value.

    `n` is the number of rows. `classes` is the number of classes, or None for one score per row,
    and `k` is how many of the largest scores of each row are tested. `cells` is the number of cells
    on each axis, or the paper's m if simplices are used. `support` says which scores are possible:
    'published' is the set printed in the paper, 'reachable' the smaller one that such scores can
    reach.
    """
    return upper_quantile(alpha) * null_deviation(n, cells, classes, k, support)


def analytic_region(
    statistic: float, variance: float, n: float, threshold: float, alpha: float
) -> Region:
    """The set of Algorithm 1 of the paper, with every branch of its interval (8).

    It is a confidence set for the squared error at level 1 − alpha, with alpha below 1/2.
    `statistic` is T, the debiased squared error of `n` rows, and `variance` is σ̂₁², which divided
    by n estimates the variance of T under miscalibration. Zero belongs to the set if T is below
    `threshold`. If T is not positive and `variance` is 0, the set is zero alone.
    """
    t = max(statistic, 0.0)
    deviation = math.sqrt(variance / n)
    two_sided = t - upper_quantile(alpha / 2) * deviation
    one_sided = t - upper_quantile(alpha) * deviation
    high = t + upper_quantile(alpha / 2) * deviation
    zero = t < threshold
    if t / 2 <= two_sided:
        low = two_sided
    elif one_sided < t / 2:
        low = max(0.0, one_sided)
    else:
        low = t / 2
    only_zero = high == 0
    # An end at zero belongs to the set only if the test of zero does not reject it.
    return Region(
        low,
        high,
        low_closed=low > 0 or zero or only_zero,
        includes_zero=zero or only_zero,
    )


def sums_of_bins(bins: Bins) -> PairSums:
    """The sums over pairs of rows, for one score per row, from bins; empty ones are left out.

    For each bin: its rows N, the sum S of the residuals (label − score) and the sum Q of their
    squares. The variance of T needs further sums of the same. Weights that are not whole numbers
    are refused with InputError, because pairs of rows cannot be counted.
    """
    if not bins.whole:
        raise InputError(
            "sample_weight", "must be whole numbers that sum to less than 2³⁵: they count rows"
        )
    filled = bins.weight > 0
    n = bins.weight[filled]
    s = bins.excess[filled]
    q = (bins.events - 2 * bins.sum_event_score + bins.sum_square)[filled]
    paired = (q[n >= 2] / (n[n >= 2] - 1)).sum()
    return PairSums(
        n=n,
        s=s[:, None],
        q=q,
        along=s**2 * q,
        outer=np.array([[q.sum()]]),
        paired=np.array([[paired]]),
    )


def equal_width(rule: BinRule) -> EqualWidth:
    """The rule itself; one whose cells have no equal volume is refused."""
    if not isinstance(rule, EqualWidth):
        demand = "must be of equal width for `method='analytic'`, whose null deviation assumes it"
        raise InputError(
            "bins", demand, f"got {rule!r}", remedy="The other methods take other bins."
        )
    return rule


def analytic(cells: Cells, options: Options) -> Outcome:
    """The test of calibration by cells of equal width: T over its limiting null deviation.

    The default is n^0.4 cells of the n rows. Weights must count rows.
    """
    n = int(require_counts(cells, "`method='analytic'`").weight.sum())
    rule = equal_width(options.rule or EqualWidth(max(2, round(n**0.4))))
    return analytic_outcome(of_cells(cells, rule, options.classes), rule.n, f"Bins: {rule!r}.")


def analytic_outcome(scores: BinnedScores, cells: int, detail: str) -> Outcome:
    """The test of one or several scores of each row by T, the debiased squared error in cells.

    T is divided by its limiting standard deviation for calibrated scores, and the p-value is the
    upper tail of the normal distribution. `cells` is the number of cells on each axis, or the
    paper's m if all classes are tested. `detail` says in words which cells these are.
    """
    estimate = pair_sums(scores.z, scores.count, scores.hits, scores.first).statistic
    z = estimate / null_deviation(scores.n, cells, scores.classes, scores.k)
    assumptions = (
        "Rows are independent; every cell over the whole range of scores has many rows: "
        "where scores concentrate, the level is not kept. "
        f"{detail} Upper tail of the normal distribution."
    )
    return Outcome(z, float(special.ndtr(-z)), assumptions)
