"""A confidence set for the l2 calibration error."""

import math
from functools import partial
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import checked_whole, checked_word, generator
from trueness._numerics.pairs import PairSums, Support, pair_sums
from trueness._tally.binned_scores import (
    BinnedScores,
    bins_in_words,
    cells_per_axis,
    checked_k,
    default_cells,
    of_cells,
    of_matrix,
)
from trueness._tally.bins import Bins
from trueness._tally.rows_or_sums import as_binned, as_sample, as_sums, as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualMass, EqualWidth, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.infer._analytic import analytic_region, sums_of_bins, zero_threshold
from trueness.infer._clustered_rows import clustered_rows
from trueness.infer._clustered_score import clustered_region
from trueness.infer._outcomes import Outcomes
from trueness.infer._region import Region
from trueness.infer._resampled import BOOTSTRAPS, RESAMPLED, resampled_region
from trueness.infer._score import score_region
from trueness.results import Interval
from trueness.typing import ArrayLike, RowOptions

__all__ = ["ece_interval"]

Method: TypeAlias = Literal[
    "score",
    "analytic",
    "bootstrap",
    "basic-bootstrap",
    "centred-bootstrap",
    "subsampling",
    "politis-romano",
    "hulc",
    "adaptive-hulc",
]
_METHODS = ("score", "analytic", *RESAMPLED)
_RESAMPLES = 500
_HIGHEST = 0.9999
# Up to so many rows the bootstrap draws rows; beyond, the sums of bins.
_FEW = 2_000


@partial(takes_rows, kind="confidence")
def ece_interval(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    level: float = 0.9,
    method: Method = "score",
    squared: bool = False,
    cluster: ArrayLike | None = None,
    weight_type: Literal["frequency", "importance"] = "frequency",
    resamples: int | None = None,
    seed: int | np.random.Generator | None = None,
    support: Support = "published",
    **rows: Unpack[RowOptions],
) -> Interval:
    r"""Confidence set for the l2 calibration error.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`. A vector of scores is P(positive). A :class:`Tally` of vector scores, or of
        kind 'confidence', may take the place of both when k = 1.
    k : int, optional
        How many of the largest probabilities of a row of a matrix are looked at, together; one by default. For
        k = K all of them, in class order: full calibration.
    bins : int, sequence of edges or bin rule, optional
        An int is the number of cells per axis (for k = K the number of parts of an edge of the simplex). Rules that
        look at the labels are refused; ``method="analytic"`` needs cells of equal volume, so an int or
        :class:`EqualWidth`; and k > 1 needs an int. By default 'score' with k = 1 uses
        ``EqualMass(max(5, round(n**0.4)))``, and everything else max(2, round(n^{2/(4 + d)})) cells with
        d = min(k, K − 1), or 1 for a vector. The result says what was chosen.
    level : float, default 0.9
        Wanted coverage, more than 1/2.
    method : str, default 'score'
        'score': zero is in the set if an exact test of calibration, with labels drawn from the scores, does not refute
        it; the ends invert a test at the spread that each value would have. 'analytic': the published set.
        To compare with: 'bootstrap' (percentile), 'basic-bootstrap', 'centred-bootstrap' (around the mean of
        the resampled estimates), 'subsampling' (⌊√n⌋ rows, as published), 'politis-romano' (without
        replacement, and inverted), 'hulc' and 'adaptive-hulc' (the hull of estimates from parts of the rows).
    squared : bool, default False
        Whether to return the squared error, which may be estimated as negative.
    cluster : array-like of shape (n,), optional
        A name for each row; rows of one name may depend on each other (answers to one prompt, visits of one patient),
        and different clusters are independent. For 'score' with k = 1, from labels and scores; see Notes.
    weight_type : {'frequency', 'importance'}, default 'frequency'
        'frequency': weight 2 is the row twice, and weights are whole numbers. 'importance': a row of any weight is one
        row, and weights say how much it matters: sampling weights, for 'score' with k = 1; see Notes.
    resamples : int, optional
        How many resamples the bootstraps, the subsamplings and 'adaptive-hulc' draw, 500 by default; the other
        methods take none.
    seed : int or numpy.random.Generator, optional
        For what is drawn: 'score' draws 999 sets of labels or more, and with `cluster` as many sets of signs. Without
        it the lower end may vary from call to call if the test is near its limit.
    support : {'published', 'reachable'}, default 'published'
        For 'analytic' with 1 < k < K: over which scores the spread under calibration is computed,
        see Notes.
    **rows
        As for :func:`ece`; `sample_weight` must be whole numbers unless `weight_type` is 'importance'. For a matrix
        with k = 1, `kind` is 'confidence'.

    Returns
    -------
    Interval
        The set may be {0} and an interval away from zero (``is_interval`` is then False).

    Notes
    -----
    Both methods are built on the debiased estimate :math:`T` of :func:`squared_ece`, whose target is the
    binned error: miscalibration that changes sign within a bin is not seen by either, and a set may lie
    below the truth where the error oscillates within bins (at level 0.9, five oscillations over uniform scores and
    1,000 rows: 'score' covers 0.84, 'analytic' 0.76; a truth of ten steps and 10,000 rows: 0.83, and 0.93 with the
    40 bins of 'analytic', which fit the steps).

    'analytic' is Algorithm 1 of the paper. Its test of zero compares :math:`T` with a spread that assumes that every
    cell is occupied: with rare events or confident models it is far too large, and so the set keeps zero too
    often; with few rows it is too small. Close to zero it covers more than it says, in between less (at level 0.9
    down to 0.76 for concentrated confidences with the paper's bins, and to 0.44 for rare events with the default ones).

    'score' takes all :math:`\theta \ge 0` with

    .. math:: (T - \theta)^2 \le z_{\alpha/2}^2
        \left( \tau^2 + \frac{4 R_1 \theta + R_2 \theta^2}{n} \right) ,

    where :math:`\tau^2` is the exact variance of :math:`T` for calibrated labels given the scores, :math:`R_1` the
    variance of the labels along the error and :math:`R_2` the unevenness of the error over rows; the lower end is zero
    whenever the exact test keeps zero. Bins of equal mass have far more power and right coverage for
    concentrated scores, and less power against local or oscillating miscalibration than bins of
    equal width. At level 0.9 it covers between 0.88 and 0.97 in 84 of the 92 scenarios of
    ``benchmarks/coverage.py``, of 50 to 10,000 rows; six others it covers too often, such as 50 rows of rare events,
    where the statistic has few values to take, and two less, where the error changes sign within bins (0.83 and
    0.84). ``docs/inference.md`` has the tables.

    **Clusters.** Pairs of rows of one cluster are left out of :math:`T`: they would measure how alike the rows are. For
    the N rows of a bin, N_g of them and the sum S_g of their residuals y − p in cluster g,

    .. math:: T = \frac1n \sum_b N \frac{S^2 - \sum_g S_g^2}{N^2 - \sum_g N_g^2} .

    Zero is left out of the set if T is large both among values with a random sign for the residuals of each
    cluster, and among those of labels drawn from the scores. The ends are as above, with the larger of the variances
    of T under such signs and such labels for :math:`\tau^2`, and :math:`R_1` and :math:`R_2` from sums over clusters.
    This needs many clusters, none with much of the rows; nothing is exact. At level 0.9, for 100 clusters of 1 to 10
    rows with labels that go together, it covers between 0.86 and 0.98 (uniform scores, rare events or scores near 1,
    calibrated or with four kinds of error); least for uniform scores too low or too high throughout. There, taking
    rows for independent covers 0.80 if the scores are calibrated and 0.68 to 0.73 if they err. With 5 to 80 clusters,
    or one that holds half of the rows, it covers 0.84 to 1.00 (``benchmarks/clusters.py``), with long sets. Below 20
    clusters, counted as :math:`(\sum n_g)^2 / \sum n_g^2` of their sizes, there is a :class:`FewClustersWarning`.

    The bootstraps draw rows with replacement, up to 2,000 rows. From more rows (or from bins) they draw the sums of
    bins: the rows and events of each bin from their very law, and, given these, the sum of the scores from the normal
    law with the mean and the variance that drawn rows have. Beside the labels that sum hardly varies, and the rows are
    passed over once, without sorting.

    **Importance.** Weights that say how much rows matter give the error of the population that the weights restore, by
    the weighted :math:`T` of :func:`squared_ece`. Rows are then treated as clusters of their own: zero must withstand
    random signs too, because weights that depend on the label leave no labels to be drawn from the scores.

    The competitors do not keep their level close to zero: with Sun et al.'s setting 1, 1,000 rows and a calibrated
    model, at level 0.9 the percentile bootstrap covers about 0.1, the centred bootstrap and subsampling
    nearly always; HulC keeps near its level by splitting the rows at random, which makes its sets long.

    For k = K the simplex cells depend on the order of the classes when K ≥ 4. For k > 1 sums are floats, so that
    another order of the rows changes results by rounding and, with 'score', the labels that a seed draws.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration error", 2025.

    Examples
    --------
    >>> from trueness import simulate
    >>> from trueness.infer import ece_interval
    >>> d = simulate.binary(2000, distortion=simulate.Logit(slope=0.5), seed=1)
    >>> found = ece_interval(d.y_true, d.y_prob, seed=1)
    >>> found.includes_zero, found.low < d.true_ece("l2") < found.high
    (False, True)
    """
    asked, alpha = checked_k(k), _checked_alpha(level)
    if not isinstance(method, str) or method not in _METHODS:
        raise InputError("method", f"must be {' or '.join(map(repr, _METHODS))}", f"got {method!r}")
    if not isinstance(support, str) or support not in ("published", "reachable"):
        raise InputError("support", "must be 'published' or 'reachable'", f"got {support!r}")
    if support != "published" and method != "analytic":
        raise InputError("support", "is for `method='analytic'`", f"{method!r} does not assume how scores are spread")
    if not isinstance(squared, bool | np.bool_):
        raise InputError("squared", "must be True or False", f"got {squared!r}")
    _check_level(level, method)
    drawn = _checked_draws(method, resamples)
    rng = generator(seed)
    importance = checked_word(weight_type, "weight_type", ("frequency", "importance")) == "importance"
    if cluster is not None or importance:
        _check_clustered(method, asked, "cluster" if cluster is not None else "weight_type='importance'")
        estimate, n, region, words = _clustered(y_true, y_prob, cluster, bins, alpha, rng, rows, importance)
        return _interval(estimate, region, level, method, n, words, squared, asked)
    if method == "analytic":
        sums, region, words = _analytic(y_true, y_prob, asked, bins, alpha, support, rows)
    elif method in RESAMPLED:
        sums, region, words = _resampled(y_true, y_prob, asked, bins, method, float(level), drawn, rng, rows)
    else:
        scores = _scores(y_true, y_prob, asked, bins, rows)
        sums, words = pair_sums(scores.z, scores.count, scores.hits, scores.first), scores.bins
        _need_pairs(sums)
        region = score_region(scores, sums, alpha, rng)
    return _interval(sums.statistic, region, level, method, int(sums.total), words, squared, asked)


def _interval(
    estimate: float, region: Region, level: float, method: str, n: int, words: str, squared: bool, k: int
) -> Interval:
    # The squared distance of a rate from a score is at most 1, that of several of a row at most 2.
    most = 1.0 if k == 1 else 2.0
    found = Interval(
        estimate=estimate,
        low=min(region.low, most),
        high=min(region.high, most),
        level=float(level),
        method=method,
        n=n,
        low_closed=region.low_closed,
        includes_zero=region.includes_zero,
        bins=words,
        squared=True,
    )
    return found if squared else found.root()


def _checked_alpha(level: float) -> float:
    number = isinstance(level, int | float | np.floating) and not isinstance(level, bool)
    if not number or not 0.5 < level < 1:
        raise InputError("level", "must lie strictly between 0.5 and 1", f"got {level!r}")
    return round(1 - float(level), 12)


def _check_level(level: float, method: str) -> None:
    """A test by draws cannot refute at a level far below one over their number."""
    if method == "score" and level > _HIGHEST:
        raise InputError(
            "level",
            f"must be at most {_HIGHEST} for `method='score'`, which draws 20 / (1 - level) sets of labels",
            f"got {level!r}",
        )


def _checked_draws(method: str, resamples: int | None) -> int:
    if resamples is not None and (method not in RESAMPLED or method == "hulc"):
        raise InputError(
            "resamples", "is for the bootstraps, subsamplings and 'adaptive-hulc'", f"{method!r} takes none"
        )
    return _RESAMPLES if resamples is None else checked_whole(resamples, "resamples")


def _check_clustered(method: str, k: int, what: str) -> None:
    if method != "score":
        raise InputError(what, "is taken by `method='score'`", f"{method!r} needs rows that are independent and alike")
    if k > 1:
        raise InputError(what, "is taken where one score per row is looked at", f"`k` must be 1; got {k}")


def _clustered(
    y_true: Any,
    y_prob: Any,
    cluster: ArrayLike | None,
    bins: BinsLike | None,
    alpha: float,
    rng: np.random.Generator,
    rows: RowOptions,
    importance: bool,
) -> tuple[float, int, Region, str]:
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    found = clustered_rows(y_true, y_prob, cluster, rows, importance=importance)
    chosen = rule or equal_mass_by_size(found.n)
    residuals = found.residuals(chosen)
    words = bins_in_words(chosen, residuals.first.size)
    return residuals.estimate, found.n, clustered_region(found, residuals, alpha, rng), words


def _resampled(
    y_true: Any,
    y_prob: Any,
    k: int,
    bins: BinsLike | None,
    method: str,
    level: float,
    resamples: int,
    rng: np.random.Generator,
    rows: RowOptions,
) -> tuple[PairSums, Region, str]:
    if k > 1:
        scores = of_matrix(as_sample(y_true, y_prob, rows, kind="confidence"), k, _per_axis(bins))
    else:
        asked = BySize(_equal_width) if bins is None else blind_to_labels(as_rule(bins))
        few = _FEW if method in BOOTSTRAPS else math.inf
        found, rule = as_sums(y_true, y_prob, asked, rows, few=few, kind="confidence")
        _one_score(found)
        if isinstance(found, Binned):
            return _bootstrapped(found.parts[0], rule, method, level, resamples, rng)
        scores = of_cells(found.parts[0], rule, _classes(found))
    sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
    _need_pairs(sums)
    return sums, resampled_region(method, Outcomes(scores), level, resamples, rng), scores.bins


def _bootstrapped(
    bins: Bins, rule: BinRule, method: str, level: float, resamples: int, rng: np.random.Generator
) -> tuple[PairSums, Region, str]:
    if bins.table is None:
        raise InputError("sample_weight", "must be whole numbers that sum to less than 2³⁵: weight 2 is the row twice")
    sums = sums_of_bins(bins)
    _need_pairs(sums)
    return sums, resampled_region(method, bins, level, resamples, rng), bins_in_words(rule, sums.n.size)


def _analytic(
    y_true: Any, y_prob: Any, k: int, bins: BinsLike | None, alpha: float, support: Support, rows: RowOptions
) -> tuple[PairSums, Region, str]:
    if k > 1:
        scores = of_matrix(as_sample(y_true, y_prob, rows, kind="confidence"), k, _per_axis(bins))
        sums, words, classes = pair_sums(scores.z, scores.count, scores.hits, scores.first), scores.bins, scores.classes
        cells = default_cells(sums.total, k, classes) if bins is None else cells_per_axis(bins)
    else:
        rule = BySize(_equal_width) if bins is None else _equal_volume(as_rule(bins))
        binned = as_binned(y_true, y_prob, rule, rows, moments=True, kind="confidence")
        _one_score(binned)
        sums, classes = sums_of_bins(binned.parts[0]), _classes(binned)
        cells = binned.parts[0].size
        words = bins_in_words(EqualWidth(cells), sums.n.size)
    _need_pairs(sums)
    threshold = zero_threshold(sums.total, alpha, cells, classes, k, support)
    return sums, analytic_region(sums.statistic, sums.variance, sums.total, threshold, alpha), words


def _scores(y_true: Any, y_prob: Any, k: int, bins: BinsLike | None, rows: RowOptions) -> BinnedScores:
    if k > 1:
        return of_matrix(as_sample(y_true, y_prob, rows, kind="confidence"), k, _per_axis(bins))
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    tally = as_tally(y_true, y_prob, rows, rule=rule, kind="confidence")
    _one_score(tally)
    return of_cells(tally.parts[0], rule or equal_mass_by_size(tally.weight), _classes(tally))


def _per_axis(bins: BinsLike | None) -> int | None:
    return None if bins is None else cells_per_axis(bins)


def _equal_width(n: float) -> EqualWidth:
    return EqualWidth(default_cells(n, 1, None))


def equal_mass_by_size(n: float) -> EqualMass:
    """The bins of the score interval: as many as n^0.4, of equal mass."""
    return EqualMass(max(5, round(n**0.4)))


def _equal_volume(rule: BinRule) -> EqualWidth:
    if not isinstance(rule, EqualWidth):
        raise InputError(
            "bins",
            "must be cells of equal volume for `method='analytic'`, a whole number or EqualWidth",
            f"got {rule!r}",
            remedy="`method='score'` takes others.",
        )
    return rule


def _one_score(found: Tally | Binned) -> None:
    if found.kind not in ("binary", "confidence"):
        raise InputError(
            "kind",
            "must be 'confidence' for the interval of a matrix, or `k` more than 1",
            f"got {found.kind!r}",
            remedy="For one class against the rest pass its column as a vector.",
        )


def _classes(found: Tally | Binned) -> int | None:
    return None if found.classes is None else len(found.classes)


def _need_pairs(sums: PairSums) -> None:
    alone = int((sums.n == 1).sum())
    if alone == sums.total:
        raise InputError(
            f"No bin holds two rows, so that nothing is known of the error: {alone:,} rows in as many bins. "
            "Use fewer `bins`."
        )
    if 2 * alone > sums.total:
        warn(
            f"{alone:,} of {int(sums.total):,} rows are alone in their bin and add nothing to the estimate, "
            "which is then too low. Use fewer `bins`.",
            FewRowsWarning,
        )
