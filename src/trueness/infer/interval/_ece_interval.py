"""Confidence sets for the l2 calibration error: one function, a table of methods."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import checked_resamples, checked_word, generator
from trueness._numerics.pairs import PairSums, Support, pair_sums
from trueness._tally.binned_scores import (
    BinnedScores,
    bins_in_words,
    cells_per_axis,
    checked_k,
    checked_smoothness,
    default_cells,
    of_cells,
    of_matrix,
)
from trueness._tally.bins import Bins
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualWidth, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.infer.interval import _resampling as resampling
from trueness.infer.interval._analytic import Region, analytic_region, equal_width, sums_of_bins, zero_threshold
from trueness.infer.interval._residuals import check_pairs
from trueness.infer.interval._score_interval import (
    ScoreSet,
    default_clustered_set,
    default_score_set,
    given_clustered_set,
    given_score_set,
)
from trueness.results import Interval
from trueness.typing import ArrayLike, RowOptions

Method: TypeAlias = Literal[
    "score",
    "analytic",
    "bootstrap",
    "basic-bootstrap",
    "centred-bootstrap",
    "subsampling",
    "politis-romano",
    "subsampling-published",
    "hulc",
    "adaptive-hulc",
]

BOOTSTRAPS: Final[dict[str, Callable[..., tuple[float, float]]]] = {
    "bootstrap": partial(resampling.bootstrap, resampling.percentile_interval),
    "basic-bootstrap": partial(resampling.bootstrap, resampling.basic_interval),
    "centred-bootstrap": partial(resampling.bootstrap, resampling.centred_interval),
}
"""Methods that need only the sums of bins."""
RESAMPLING: Final[dict[str, Callable[..., tuple[float, float]]]] = BOOTSTRAPS | {
    "subsampling": resampling.subsampling,
    "politis-romano": resampling.subsampling,
    "subsampling-published": resampling.published_subsampling,
    "hulc": resampling.hulc,
    "adaptive-hulc": resampling.adaptive_hulc,
}

_RESAMPLES = 500
_HIGHEST = 0.9999
_LEAST_ALPHA = 1e-9
# The bootstrap draws rows up to this number, and the sums of bins beyond.
_FEW = 2_000


@partial(takes_rows, kind="confidence")
def ece_interval(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    method: Method = "score",
    squared: bool = False,
    smoothness: float | None = None,
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
        As for :func:`ece`. With k = 1, a :class:`Tally` of a vector of scores, or of kind 'confidence', can replace
        both.
    k : int, optional
        Number of largest probabilities of each row that are examined jointly; 1 by default. For k = K all of them, in
        class order: full calibration.
    bins : int, sequence of edges or bin rule, optional
        An int is the number of cells per axis, the mK of Sun et al. (for k = K the number of parts of an edge of the
        simplex, their m). Rules that depend on the labels are refused; ``method="analytic"`` needs cells of equal
        volume, so an int or :class:`EqualWidth`; and k > 1 needs an int. By default 'score' with k = 1 uses cells cut
        by mass and by width (see Notes), and everything else max(2, round(n^{2/(4 + d)})) cells with d = min(k, K − 1),
        or 1 for a vector. The result names the bins.
    smoothness : float, optional
        Where the default is n^{2/(4 + d)}: the number of cells for an error of Hölder smoothness s, 0 < s ≤ 1, is
        max(2, round(n^{2/(4s + d)})); 1 by default. The paper's rule of thumb, its Remark 2.1, says so of m, up to a
        constant; for a matrix and k < K, where cells per axis are mK, that constant is 1/K here.
    level : float, default 0.95
        Nominal coverage, more than 1/2.
    method : str, default 'score'
        'score': the set contains zero if a test of calibration with labels drawn from the scores does not reject
        (the omnibus test of :func:`calibration_test`; with `bins`, or k > 1, its 'exact' test in these cells); the ends
        invert a test at the spread that each value would have. 'analytic': the published set, Algorithm 1 of Sun et al.
        For comparison: 'bootstrap' (percentile), 'basic-bootstrap', 'centred-bootstrap' (around the mean of the
        resampled estimates), 'subsampling' or 'politis-romano' (as the paper's text cites it: ⌊√n⌋ rows without
        replacement, quantiles inverted), 'subsampling-published' (the variant of the authors' code: with replacement,
        not inverted), 'hulc' and 'adaptive-hulc' (the hull of estimates from parts of the rows).
    squared : bool, default False
        Whether to return the squared error, whose estimate may be negative.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may be dependent (answers to one prompt, visits of a patient),
        and different clusters are independent. For 'score' with k = 1, from labels and scores; see Notes.
    weight_type : {'frequency', 'importance'}, default 'frequency'
        'frequency': whole numbers; a weight of 2 counts the row twice. 'importance': sampling weights; each row counts
        once, whatever its weight; for 'score' with k = 1; see Notes.
    resamples : int, optional
        Number of resamples for the bootstraps, the subsamplings and 'adaptive-hulc', 500 by default; the other
        methods take none.
    seed : int or numpy.random.Generator, optional
        For random draws: 'score' draws at least 999 sets of labels, and with `cluster` as many sets of signs. Without
        a seed the lower end may vary from call to call if the test is near its limit.
    support : {'published', 'reachable'}, default 'published'
        For 'analytic' with 1 < k < K: the scores over which the spread under calibration is computed.
    **rows
        As for :func:`ece`; `sample_weight` must be whole numbers unless `weight_type` is 'importance'. For a matrix
        with k = 1, `kind` is 'confidence'.

    Returns
    -------
    Interval
        The set may be {0} and an interval away from zero (``is_interval`` is then False).

    Notes
    -----
    ``docs/evidence/coverage.md`` has the coverage of all methods in more than a hundred scenarios.

    All methods use the debiased estimate :math:`T` of :func:`squared_ece`, whose target is the error of cells, the
    squared difference of event rate and mean score. Errors that change sign within a cell cancel, so that this target
    may lie below the error of the scores themselves; `finer` of the result, the estimate in finer cells, shows how much
    that may be.

    'analytic' is Algorithm 1 of the paper. Its test of zero compares :math:`T` with a spread that assumes that every
    cell is occupied: far too large with rare events or confident models, so that the set contains zero too often, and
    too small with few rows. If no cell has two rows, :math:`T` is 0 whatever the labels; its formulas still give a set,
    which comes with a warning, and the other methods refuse such cells.

    'score', derived in ``docs/methods/score-interval.md``, has by default two partitions, both blind to the labels. The
    estimate and the lower end come from n^0.4 cells of equal mass, cut at the edges of n^0.4 cells of equal width too:
    joining cells can only hide error, so a lower limit for the joined ones holds. The upper end comes from n^0.65 cells
    of equal mass, cut at the same edges, in which little can hide. Errors over so few rows that these cells do not
    separate them are still missed: over 1.5 % of 1,500 confident or rare scores the set covers about 0.87 at level 0.9.

    **Few events.** If one class has fewer than three rows, or fewer than three labels are the less probable one of
    their cell (confident scores, nearly always right), residuals say little about the spread, and the ends rest on
    exact binomial limits. For 25 events in 25 rows of score 1 the upper end is 0.113 at level 0.9: the score may be too
    high by as much.

    **Clusters.** Pairs of rows of one cluster are left out of :math:`T`: they would measure dependence. For
    the N rows of a bin, N_g of them and the sum S_g of their residuals y − p in cluster g,

    .. math:: T = \frac1n \sum_b N \frac{S^2 - \sum_g S_g^2}{N^2 - \sum_g N_g^2} .

    The set excludes zero if T is large both among its values for random signs of the residuals of each cluster and
    among those for labels drawn from the scores, and its spread comes from sums over clusters. This is not exact: it
    needs many clusters, none of which dominates. Below 20 effective clusters, :math:`(\sum n_g)^2 / \sum n_g^2` of
    their sizes, there is a :class:`FewClustersWarning`.

    **Importance weights** give the error of the population that the weights restore, by the weighted :math:`T` of
    :func:`squared_ece`. Every row is then its own cluster: zero must also withstand random signs of :math:`T`, because
    labels cannot be drawn from the scores if weights depend on the label.

    **Two columns.** A matrix of two columns is the binary problem of the second, unless `k` or `kind='confidence'` is
    given.

    **Resampling.** Up to 2,000 rows the bootstraps draw rows. Above that, or from bins, they draw the sums of bins:
    rows and events from their exact distribution and, given these, the sum of the scores from the normal distribution
    with the mean and variance of drawn rows. The resampling methods do not keep their level close to zero, where the
    percentile bootstrap almost never covers.

    For k = K the simplex cells depend on the order of the classes when K ≥ 4. For k > 1 sums are floats, so another
    order of the rows changes results by rounding and, with 'score', the labels drawn for a seed.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration error", 2025.
    Efron, "Bootstrap methods: another look at the jackknife", 1979. Politis, Romano, "Large sample confidence regions
    based on subsamples under minimal assumptions", 1994. Kuchibhotla, Balakrishnan, Wasserman, "The HulC: confidence
    regions from convex hulls", 2024.

    Examples
    --------
    >>> from trueness import simulate
    >>> from trueness.infer import ece_interval
    >>> d = simulate.binary(2000, distortion=simulate.Logit(slope=0.5), seed=1)
    >>> interval = ece_interval(d.y_true, d.y_prob, seed=1)
    >>> interval.includes_zero, interval.low < d.true_ece("l2") < interval.high
    (False, True)

    Algorithm 1 of Sun et al., for the two largest of ten classes (k = 2), m = 2 and 1 − α = 0.9:

    >>> d = simulate.multiclass(1000, 10, distortion=simulate.LabelNoise(0.5), seed=0)
    >>> k, m, K = 2, 2, 10
    >>> published = ece_interval(
    ...     d.y_true, d.y_prob, k=k, bins=m * K, level=0.9, method="analytic", squared=True
    ... )
    >>> round(published.estimate, 4), round(published.low, 4), round(published.high, 4)
    (0.0112, 0.0056, 0.0167)
    """
    two_columns: Literal["binary", "keep"] = "binary" if k is None else "keep"
    question = _question(k, bins, level, method, smoothness, resamples, support)
    if not isinstance(squared, bool | np.bool_):
        raise InputError("squared", "must be True or False", f"got {squared!r}")
    checked_word(weight_type, "weight_type", ("frequency", "importance"))
    evidence = Evidence.of(
        y_true, y_prob, rows, kind="confidence", two_columns=two_columns, cluster=cluster, weight_type=weight_type
    )
    return _interval(evidence, question, squared, generator(seed))


def interval_of(
    evidence: Evidence,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    squared: bool = False,
    smoothness: float | None = None,
    rng: np.random.Generator,
) -> Interval:
    """The interval of rows or sums that have been read, as :func:`ece_interval`."""
    return _interval(evidence, _question(k, bins, level, "score", smoothness, None, "published"), squared, rng)


def _interval(evidence: Evidence, question: "_Question", squared: bool, rng: np.random.Generator) -> Interval:
    argument = "cluster" if evidence.dependent else "weight_type='importance'" if evidence.importance else ""
    if argument and question.method != "score":
        got = f"{question.method!r} needs rows that are independent and of equal weight"
        raise InputError(argument, "is only accepted by `method='score'`", got)
    if argument and question.k > 1:
        raise InputError(argument, "is taken for one score per row", f"`k` must be 1; got {question.k}")
    if question.k == 1:
        evidence.require_one("the interval of a matrix, or `k` more than 1")
    found = _METHODS[question.method](evidence, question, rng)
    # The squared distance of a rate from a score is at most 1; that of several scores of a row, at most 2.
    most = 1.0 if question.k == 1 else 2.0
    interval = Interval(
        estimate=found.estimate,
        low=min(found.region.low, most),
        high=min(found.region.high, most),
        level=question.level,
        method=question.method,
        n=found.n,
        low_closed=found.region.low_closed,
        includes_zero=found.region.includes_zero,
        bins=found.bins,
        squared=True,
        finer=found.finer,
        note=" ".join(filter(None, [found.note, evidence.note])),
    )
    return interval if squared else interval.root()


class _Question(NamedTuple):
    """The checked options; None where the default applies."""

    k: int
    bins: BinsLike | None
    level: float
    method: str
    smoothness: float
    resamples: int
    support: Support

    @property
    def alpha(self) -> float:
        return round(1 - self.level, 12)

    @property
    def per_axis(self) -> int | None:
        """Cells per axis for several scores per row."""
        return None if self.bins is None else cells_per_axis(self.bins)

    def rule(self) -> BinRule | None:
        """The bin rule, which must not depend on the labels; None for the default."""
        return None if self.bins is None else blind_to_labels(as_rule(self.bins))

    def default_width(self) -> BySize:
        """The default bins of one score per row, for methods other than 'score'."""
        return BySize(lambda n: EqualWidth(default_cells(n, 1, None, self.smoothness)))


def _question(
    k: Any, bins: Any, level: Any, method: Any, smoothness: Any, resamples: int | None, support: Any
) -> _Question:
    k, level = checked_k(k), checked_level(level)
    checked_word(method, "method", tuple(_METHODS))
    if method == "score":
        check_drawn_level(level, "`method='score'`")
    checked_word(support, "support", ("published", "reachable"))
    if support != "published" and method != "analytic":
        demand = "is only for `method='analytic'`"
        raise InputError("support", demand, f"{method!r} does not assume a distribution of the scores")
    if smoothness is not None and method == "score" and k == 1:
        demand = "is not for `method='score'` with k = 1, whose cells are cut by mass as well"
        raise InputError("smoothness", demand, remedy="Leave it out, or use `method='analytic'`.")
    if resamples is not None and (method not in RESAMPLING or method == "hulc"):
        demand = "is only for the bootstraps, subsamplings and 'adaptive-hulc'"
        raise InputError("resamples", demand, f"{method!r} takes none")
    smoothness, draws = checked_smoothness(smoothness, bins), _RESAMPLES if resamples is None else resamples
    return _Question(k, bins, level, method, smoothness, checked_resamples(draws), support)


def _top_k_scores(evidence: Evidence, question: _Question) -> BinnedScores:
    """The cells of several scores per row."""
    if evidence.view not in ("binary", "confidence"):
        raise InputError("kind", "must be 'confidence' here, or be left out", f"got {evidence.view!r}")
    return of_matrix(evidence.matrix, question.k, question.per_axis, question.smoothness)


def _score(evidence: Evidence, question: _Question, rng: np.random.Generator) -> ScoreSet:
    if question.k > 1:
        return _given_cells(_top_k_scores(evidence, question), question, rng)
    rule = question.rule()
    if evidence.dependent or evidence.importance:
        if evidence.rows is None:
            evidence.tally_in(rule)  # refuses bins
        rows = evidence.clustered
        if rule is None:
            return default_clustered_set(rows, question.alpha, rng)
        return given_clustered_set(rows, rule, question.alpha, rng)
    tally = evidence.tally_in(rule)
    if rule is not None:
        return _given_cells(of_cells(tally.parts[0], rule, _classes(tally)), question, rng)
    if tally.weight < 2 and tally.parts[0].whole:
        check_pairs(1, 1, "two rows")
    return default_score_set(tally.parts[0], question.alpha, rng)


def _given_cells(scores: BinnedScores, question: _Question, rng: np.random.Generator) -> ScoreSet:
    return given_score_set(scores, _pair_sums(scores), question.alpha, rng)


def _analytic(evidence: Evidence, question: _Question, rng: np.random.Generator) -> ScoreSet:  # noqa: ARG001  # one form for all methods
    if question.k > 1:
        scores = _top_k_scores(evidence, question)
        sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
        bins, classes = scores.bins, scores.classes
        cells = question.per_axis or default_cells(sums.total, question.k, classes, question.smoothness)
    else:
        rule = question.default_width() if question.bins is None else equal_width(as_rule(question.bins))
        binned = evidence.binned(rule)
        sums, classes, cells = sums_of_bins(binned.parts[0]), _classes(binned), binned.parts[0].size
        bins = bins_in_words(EqualWidth(cells), sums.n.size)
    note = ""
    if (sums.n == 1).all():
        note = "No bin holds two rows, so the estimate is 0 whatever the labels."
        warn(f"{note} Use fewer `bins`.", FewRowsWarning)
    else:
        _require_pairs(sums)
    threshold = zero_threshold(sums.total, question.alpha, cells, classes, question.k, question.support)
    region = analytic_region(sums.statistic, sums.variance, sums.total, threshold, question.alpha)
    return ScoreSet(sums.statistic, region, int(sums.total), bins, note=note)


def _resampling(evidence: Evidence, question: _Question, rng: np.random.Generator) -> ScoreSet:
    if question.k > 1:
        scores = _top_k_scores(evidence, question)
    else:
        rule = evidence.rule(question.rule() or question.default_width())
        few = _FEW if question.method in BOOTSTRAPS else math.inf
        if evidence.weight > few or (isinstance(evidence.given, Binned) and few < math.inf):
            (part,) = evidence.binned(rule).parts
            sums = sums_of_bins(part)
            _require_pairs(sums)
            region = _resampled_region(part, question, rng)
            return ScoreSet(sums.statistic, region, int(sums.total), bins_in_words(rule, sums.n.size))
        tally = evidence.tally_in(rule)
        scores = of_cells(tally.parts[0], rule, _classes(tally))
    pairs = _pair_sums(scores)
    region = _resampled_region(resampling.RowKinds(scores), question, rng)
    return ScoreSet(pairs.statistic, region, int(pairs.total), scores.bins)


def _resampled_region(sums: resampling.RowKinds | Bins, question: _Question, rng: np.random.Generator) -> Region:
    """The interval of the method; an error is not negative, so values below zero are cut off."""
    method = RESAMPLING[question.method]
    low, high = method(sums, level=question.level, resamples=question.resamples, rng=rng)
    return Region(max(0.0, low), max(0.0, high), True, low <= 0)


_METHODS: Final[Mapping[str, Callable[[Evidence, _Question, np.random.Generator], ScoreSet]]] = {
    "score": _score,
    "analytic": _analytic,
    **dict.fromkeys(RESAMPLING, _resampling),
}


def checked_level(level: Any) -> float:
    """The level of a confidence set, more than 1/2."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0.5 < level < 1:
        raise InputError("level", "must lie strictly between 0.5 and 1", f"got {level!r}")
    if round(1 - float(level), 12) < _LEAST_ALPHA:
        raise InputError("level", f"must be at most 1 - {_LEAST_ALPHA:g}", f"got {level!r}")
    return float(level)


def check_drawn_level(level: float, what: str, remedy: str = "") -> None:
    """Raise if a test that draws labels cannot reject at 1 − level, far below one over the number of draws."""
    if level > _HIGHEST:
        demand = f"must be at most {_HIGHEST} for {what}, which draws 20 / (1 - level) sets of labels"
        raise InputError("level", demand, f"got {level!r}", remedy=remedy)


def _classes(sums: Tally | Binned) -> int | None:
    return None if sums.classes is None else len(sums.classes)


def _pair_sums(scores: BinnedScores) -> PairSums:
    sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
    _require_pairs(sums)
    return sums


def _require_pairs(sums: PairSums) -> None:
    check_pairs(int((sums.n == 1).sum()), int(sums.total), "two rows", "alone in their bin")
