"""Squared calibration error without the bias of the plug-in estimate."""

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from trueness._input.arguments import checked_word
from trueness._input.sample import Sample
from trueness._input.weights import WEIGHT_TYPES
from trueness._keywords import suggests_keywords
from trueness._numerics.pairs import pair_mean, pair_sums
from trueness._tally.binned_scores import (
    bin_starts,
    cells_per_axis,
    checked_k,
    checked_smoothness,
    default_cells,
    default_rule,
    of_matrix,
)
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import as_binned, as_sample, as_tally, row_options
from trueness._tally.rules import (
    BinRule,
    BinsLike,
    BySize,
    Edges,
    EqualWidth,
    as_rule,
    blind_to_labels,
)
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.typing import ArrayLike, Floats, Ints, Kind, Missing, WeightType


@suggests_keywords
def squared_ece(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    smoothness: float | None = None,
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
) -> float:
    r"""Squared l2 calibration error, debiased.

    Within a bin, the mean of (label − score) · (label′ − score′) over pairs of different rows:
    their noise is independent, so the expected value is zero for a calibrated model.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    k : int, optional
        How many of the largest probabilities of a row are used together; one by default. With k >
        1, u is a vector and products are inner products; for k = K all classes are used, in class
        order. A matrix of two columns is the binary problem of its second column unless `k` or
        `kind` is given; ``k=1`` is the top label.
    bins : int, sequence of edges or bin rule, optional
        By default the cells of :func:`ece_interval`: about n^0.4 of equal mass, cut at the edges of
        as many of equal width; each score by itself if there are few; a
        :class:`trueness.sources.Binned` has its own bins. Isotonic rules depend on the labels,
        which would bring the bias back, and are refused. With 1 < k < K an int is the number of
        cells per axis of a partition into cubes; for k = K, the number of parts of an edge of the
        simplex, in cells of equal volume; the default is then max(2, round(n^{2/(4 + d)})), d =
        min(k, K − 1).
    smoothness : float, optional
        In place of `bins`: the Hölder exponent s of the error as a function of the scores, 0 < s ≤
        1, for which max(2, round(n^{2/(4s + d)})) bins of equal width per axis make the mean
        squared error of T smallest in order (the constant is not known; see :func:`ece_interval`).
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
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. A row
        with a sampling weight is one row, paired with other rows only; for k = 1.
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
    float
        In squared units of probability. It can be negative, as an unbiased estimate of a number
        near zero must be.

    Notes
    -----
    With :math:`u = y - p` and :math:`n_b` rows in bin :math:`b`,

    .. math:: T = \frac1n \sum_{n_b \ge 2} \frac{(\sum u)^2 - \sum u^2}{n_b - 1} ,

    and for importance weights of total :math:`W`

    .. math:: T = \frac1W \sum_b W_b \frac{(\sum w u)^2 - \sum w^2 u^2}{W_b^2 - \sum w^2} .

    Bins with one row have no pair and add nothing; nor do rows with the same score if all but one
    of them have so little weight that their pairs are lost in rounding. For k = K ≥ 4 the cells
    depend on the order of the classes.

    References
    ----------
    Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration
    error", 2025.

    Examples
    --------
    Two rows in one bin, u = 1/2 and u = −1/2: their product, −1/4.

    >>> import trueness as tn
    >>> tn.squared_ece([0, 1], [0.5, 0.5], bins=1)
    -0.25
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
    checked_word(weight_type, "weight_type", WEIGHT_TYPES)
    n_largest = checked_k(k)
    # Class-wise, the two columns are the same problem twice.
    two_columns = k is None and rows.get("kind", "classwise") == "classwise"
    s = checked_smoothness(smoothness, bins)
    if n_largest > 1:
        sample = as_sample(y_true, y_prob, rows, kind="confidence")
        return top_k_squared_ece(sample, n_largest, bins, smoothness)
    if bins is None and isinstance(y_true, Binned):
        bins = Edges(y_true.parts[0].edges)
    rule: BinRule | BySize | None = None if bins is None else blind_to_labels(as_rule(bins))
    if smoothness is not None:
        rule = BySize(partial(default_width, smoothness=s))
    if rule is not None and rows.get("weight_type") != "importance":
        binned = as_binned(
            y_true,
            y_prob,
            rule,
            rows,
            moments=True,
            kind="confidence",
            two_columns=two_columns,
        )
        if isinstance(y_true, Binned) or all(part.whole for part in binned.parts):
            return binned.average(_frequency)
    tally = as_tally(
        y_true,
        y_prob,
        rows,
        rule=rule if isinstance(rule, BinRule) else None,
        kind="confidence",
        two_columns=two_columns,
    )
    wanted = rule.rule(tally.n) if isinstance(rule, BySize) else rule

    def of_part(cells: Cells) -> float:
        rows, weight, _ = cells.totals
        if not cells.whole:
            return _importance(cells, wanted or default_rule(cells, rows))
        part_rule = wanted or default_rule(cells, weight)
        return _frequency(Bins.from_cells(cells, part_rule.group(cells)))

    return tally.average(of_part)


def top_k_squared_ece(
    sample: Sample,
    k: int,
    bins: BinsLike | None = None,
    smoothness: float | None = None,
) -> float:
    """The squared error of the k largest probabilities of each row."""
    per_axis = None if bins is None else cells_per_axis(bins)
    scores = of_matrix(sample, checked_k(k), per_axis, checked_smoothness(smoothness, bins))
    return pair_sums(scores.z, scores.count, scores.hits, scores.first).statistic


def default_width(n: float, smoothness: float = 1.0) -> EqualWidth:
    """The default bins for n rows."""
    return EqualWidth(default_cells(n, 1, None, smoothness))


def _frequency(bins: Bins) -> float:
    """The mean product of residuals over pairs of different rows of a bin, with whole weights.

    A weight of 2 counts the row twice. Weights that are not whole raise InputError.
    """
    n = bins.weight
    if not bins.whole:
        demand = "must be whole numbers that sum to less than 2³⁵ where bins are passed"
        remedy = "For other weights pass a Tally, or labels and scores."
        raise InputError("sample_weight", demand, remedy=remedy)
    squares = bins.events - 2 * bins.sum_event_score + bins.sum_square
    return float(pair_mean(n, bins.excess[:, np.newaxis], squares))


def _importance(cells: Cells, rule: BinRule) -> float:
    """The mean product of residuals over pairs of rows in a bin, with importance weights.

    A row has the residual y − p; a pair of rows has the product of its weights. Each bin counts by
    its weight; bins with fewer than two rows count as 0. If one row had nearly all the weight,
    squares of sums minus sums of squares would be pure rounding error. So in each bin the pairs
    within its heaviest cell, those between that cell and others, and those among others are summed
    separately. Means of a bin are cut to [−1, 1], as products are.
    """
    first = bin_starts(cells, rule)
    p = np.asarray(cells.score, dtype=np.float64)
    e = np.asarray(cells.events, dtype=np.float64)
    w = np.asarray(cells.weight, dtype=np.float64)
    w2 = w
    e2 = e
    if cells.squares is not None and cells.event_squares is not None:
        w2 = cells.squares
        e2 = cells.event_squares
    u = e - w * p
    u2 = e2 * (1 - p) ** 2 + (w2 - e2) * p**2
    lead = _heaviest(w, first)
    lead_weight, lead_product = _pairs_of_ties(
        *(c[lead].astype(np.float64) for c in (p, w, e, w2, e2, cells.count))
    )
    is_other = np.ones(w.size)
    is_other[lead] = 0.0
    weight, weight2, excess, squares = (
        segment_sums(np.asarray(is_other * s), first) for s in (w, w2, u, u2)
    )
    together = lead_weight + 2 * w[lead] * weight + np.maximum(weight**2 - weight2, 0)
    product = lead_product + 2 * u[lead] * excess + (excess**2 - squares)
    pairs = (segment_sums(cells.count, first) >= 2) & (together > 0)
    means = np.clip(product[pairs] / together[pairs], -1, 1)  # each product is at most 1
    return float(((w[lead] + weight)[pairs] * means).sum() / w.sum())


def _heaviest(weight: Floats, first: Ints) -> Ints:
    """The heaviest cell of each bin, the first if tied."""
    sizes = np.diff(np.append(first, weight.size))
    top = np.flatnonzero(weight == np.repeat(np.maximum.reduceat(weight, first), sizes))
    return np.asarray(top[np.searchsorted(top, first)])


def _pairs_of_ties(
    p: Floats, w: Floats, e: Floats, w2: Floats, e2: Floats, count: Floats
) -> tuple[Floats, Floats]:
    """Σww′ and Σww′uu′ over pairs of different rows in each cell, where all have the score `p`.

    `w` and `e` are the weights of the rows and of those with an event, `w2` and `e2` the sums of
    the squared weights, and `count` the rows; u = y − p is the residual of a row. Both are 0 with
    fewer than two rows, and where the weight of the pairs is lost in rounding.
    """
    o = w - e
    o2 = w2 - e2
    both_events = np.maximum(e**2 - e2, 0)
    no_events = np.maximum(o**2 - o2, 0)
    mixed = 2 * e * o
    weight = both_events + no_events + mixed
    resolved = (count >= 2) & (weight > count * 2.0**-51 * w**2)
    product = (1 - p) ** 2 * both_events + p**2 * no_events - p * (1 - p) * mixed
    return np.where(resolved, weight, 0.0), np.where(resolved, product, 0.0)
