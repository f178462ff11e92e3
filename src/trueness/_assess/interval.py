"""`ece_interval`: the confidence set of the l2 calibration error, by any method."""

from collections.abc import Hashable, Sequence

import numpy as np

from trueness._assess.asked import INTERVAL
from trueness._assess.reading import asked_of
from trueness._input.arguments import check_flag
from trueness._keywords import suggests_keywords
from trueness._numerics.pairs import Support
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned, Tally
from trueness.infer.interval._ece_interval import Method, checked_question
from trueness.results import Interval
from trueness.typing import ArrayLike, Kind, Missing, WeightType


@suggests_keywords
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
    resamples: int | None = None,
    seed: int | np.random.Generator | None = 0,
    support: Support = "published",
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> Interval:
    r"""Confidence set for the l2 calibration error.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. With k = 1, a :class:`Tally` of a vector of scores, or of kind 'confidence', can
        replace both.
    k : int, optional
        Number of largest probabilities of each row that are examined jointly; 1 by default. For k =
        K all of them, in class order: full calibration. A matrix of two columns is the binary
        problem of its second column unless `k` or `kind` is given; ``k=1`` is the top label.
    bins : int, sequence of edges or bin rule, optional
        An int is the number of cells per axis, the mK of Sun et al. (for k = K the number of parts
        of an edge of the simplex, their m). Rules that depend on the labels are refused;
        ``method="analytic"`` needs cells of equal volume, so an int or :class:`EqualWidth`; and k >
        1 needs an int. By default 'score' with k = 1 uses cells cut by mass and by width (see
        Notes), and everything else max(2, round(n^{2/(4 + d)})) cells with d = min(k, K − 1), or 1
        for a vector. The result names the bins.
    smoothness : float, optional
        Where the default is n^{2/(4 + d)}: the number of cells for an error of Hölder smoothness s,
        0 < s ≤ 1, is max(2, round(n^{2/(4s + d)})); 1 by default. The paper's rule of thumb, its
        Remark 2.1, says so of m, up to a constant; for a matrix and k < K, where cells per axis are
        mK, that constant is 1/K here.
    level : float, default 0.95
        Nominal coverage, more than 1/2.
    method : str, default 'score'
        'score': the set contains zero if a test of calibration with labels drawn from the scores
        does not reject (the omnibus test of :func:`calibration_test`; with `bins`, or k > 1, its
        'exact' test in these cells); the ends invert a test at the spread that each value would
        have. 'analytic': the published set, Algorithm 1 of Sun et al. For comparison: 'bootstrap'
        (percentile), 'basic-bootstrap', 'centred-bootstrap' (around the mean of the resampled
        estimates), 'subsampling' or 'politis-romano' (as the paper's text cites it: ⌊√n⌋ rows
        without replacement, quantiles inverted), 'subsampling-published' (the variant of the
        authors' code: with replacement, not inverted), 'hulc' and 'adaptive-hulc' (the hull of
        estimates from parts of the rows).
    squared : bool, default False
        Whether to return the squared error, whose estimate may be negative.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may be dependent (answers to one prompt,
        visits of a patient), and different clusters are independent. For 'score' with k = 1, from
        labels and scores; see Notes.
    resamples : int, optional
        Number of resamples for the bootstraps, the subsamplings and 'adaptive-hulc', 500 by
        default; the other methods take none.
    seed : int or numpy.random.Generator, default 0
        For random draws: 'score' draws at least 999 sets of labels, and with `cluster` as many sets
        of signs.
    support : {'published', 'reachable'}, default 'published'
        For 'analytic' with 1 < k < K: the scores over which the spread under calibration is
        computed.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. Sampling
        weights are for 'score' with k = 1, see Notes. For a matrix with k = 1, `kind` is
        'confidence'.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    Interval
        The set may be {0} and an interval away from zero (``is_interval`` is then False).

    Notes
    -----
    ``docs/evidence/coverage.md`` has the coverage of all methods in more than a hundred scenarios.

    All methods use the debiased estimate :math:`T` of :func:`squared_ece`, whose target is the
    error of cells, the squared difference of event rate and mean score. Errors that change sign
    within a cell cancel, so that this target may lie below the error of the scores themselves;
    `finer` of the result, the estimate in finer cells, shows how much that may be.

    'analytic' is Algorithm 1 of the paper. Its test of zero compares :math:`T` with a spread that
    assumes that every cell is occupied: far too large with rare events or confident models, so that
    the set contains zero too often, and too small with few rows. If no cell has two rows, :math:`T`
    is 0 whatever the labels; its formulas still give a set, which comes with a warning, and the
    other methods refuse such cells.

    'score', derived in ``docs/methods/score-interval.md``, has by default two partitions, both
    blind to the labels. The estimate and the lower end come from n^0.4 cells of equal mass, cut at
    the edges of n^0.4 cells of equal width too: joining cells can only hide error, so a lower limit
    for the joined ones holds. The upper end comes from n^0.65 cells of equal mass, cut at the same
    edges, in which little can hide. Errors over so few rows that these cells do not separate them
    are still missed: over 1.5 % of 1,500 confident or rare scores the set covers about 0.87 at
    level 0.9.

    **Few events.** If one class has fewer than three rows, or fewer than three labels are the less
    probable one of their cell (confident scores, nearly always right), residuals say little about
    the spread, and the ends rest on exact binomial limits. For 25 events in 25 rows of score 1 the
    upper end is 0.113 at level 0.9: the score may be too high by as much. With three tied scores
    the lower end is a little bold: at level 0.9 the error lies below the set in .055 to .07 of
    samples of 200 and 300 rows, and in .105 of samples of 150 with scores .02, .1 and .3 (200
    samples each), where .05 is meant.

    **Clusters.** Pairs of rows of one cluster are left out of :math:`T`: they would measure
    dependence. For the N rows of a bin, N_g of them and the sum S_g of their residuals y − p in
    cluster g,

    .. math:: T = \frac1n \sum_b N \frac{S^2 - \sum_g S_g^2}{N^2 - \sum_g N_g^2} .

    The set excludes zero if T is large both among its values for random signs of the residuals of
    each cluster and among those for labels drawn from the scores, and its spread comes from sums
    over clusters. This is not exact: it needs many clusters, none of which dominates. Below 20
    effective clusters, :math:`(\sum n_g)^2 / \sum n_g^2` of their sizes, there is a
    :class:`trueness.errors.FewClustersWarning`.

    **Importance weights** give the error of the population that the weights restore, by the
    weighted :math:`T` of :func:`squared_ece`. Every row is then its own cluster: zero must also
    withstand random signs of :math:`T`, because labels cannot be drawn from the scores if weights
    depend on the label.

    **Two columns.** A matrix of two columns is the binary problem of the second, unless `k` or
    `kind` is given; ``k=1`` is the top label, as in the paper.

    **Resampling.** Up to 2,000 rows the bootstraps draw rows. Above that, or from bins, they draw
    the sums of bins: rows and events from their exact distribution and, given these, the sum of the
    scores from the normal distribution with the mean and variance of drawn rows. The resampling
    methods do not keep their level close to zero, where the percentile bootstrap almost never
    covers.

    For k = K the simplex cells depend on the order of the classes when K ≥ 4. For k > 1 sums are
    floats, so another order of the rows changes results by rounding and, with 'score', the labels
    drawn for a seed.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration
    error", 2025. Efron, "Bootstrap methods: another look at the jackknife", 1979. Politis, Romano,
    "Large sample confidence regions based on subsamples under minimal assumptions", 1994.
    Kuchibhotla, Balakrishnan, Wasserman, "The HulC: confidence regions from convex hulls", 2024.

    Examples
    --------
    >>> from trueness import simulate
    >>> from trueness import ece_interval
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
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    checked_question(k, bins, level, method, smoothness, resamples, support)
    check_flag(squared, "squared")
    a = asked_of(y_true, y_prob, rows, cluster=cluster, level=level, seed=seed)
    options = {"k": k, "bins": bins, "method": method, "squared": squared, "smoothness": smoothness}
    return a.ask(INTERVAL, resamples=resamples, support=support, **options)
