"""Squared calibration error without the bias of the plug-in."""

from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from trueness._numerics.pairs import pair_sums
from trueness._tally.binned_scores import cells_per_axis, checked_k, of_matrix
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import as_binned, as_sample, as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualWidth, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.typing import ArrayLike, Floats, Ints, RowOptions

__all__ = ["default_width", "squared_ece"]


@partial(takes_rows, kind="confidence")
def squared_ece(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    weight_type: Literal["frequency", "importance"] = "frequency",
    **rows: Unpack[RowOptions],
) -> float:
    r"""Squared l2 calibration error, debiased.

    Within a bin, the mean of (label − score) · (label′ − score′) over pairs of different rows:
    noise of one row is independent of that of another, so a calibrated model has mean zero.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    k : int, optional
        How many of the largest probabilities of a row are looked at, together; one by default. With k > 1,
        u is a vector and products are inner products; for k = K all classes are looked at, in class order.
    bins : int, sequence of edges or bin rule, optional
        By default max(2, round(n^0.4)) bins of equal width. Isotonic rules look at the
        labels, which would bring a bias back, and are refused. With 1 < k < K an int, the cells per axis of a
        partition into cubes; for k = K the parts of an edge of the simplex, in cells of equal volume. Then by
        default max(2, round(n^{2/(4 + d)})), d = min(k, K − 1).
    weight_type : {'frequency', 'importance'}, default 'frequency'
        'frequency': weight 2 is the row twice, and weights are whole numbers. 'importance':
        a row of any weight is one row, and is paired with other rows only; for k = 1.
    **rows
        As for :func:`ece`, but for a matrix `kind` is 'confidence' unless it says otherwise: the largest
        probability of each row is looked at.

    Returns
    -------
    float
        In squared units of probability. May be negative, as an unbiased estimate of a number
        near zero must.

    Notes
    -----
    With :math:`u = y - p` and :math:`n_b` rows in bin :math:`b`,

    .. math:: T = \frac1n \sum_{n_b \ge 2} \frac{(\sum u)^2 - \sum u^2}{n_b - 1} ,

    and for importance weights of total :math:`W`

    .. math:: T = \frac1W \sum_b W_b \frac{(\sum w u)^2 - \sum w^2 u^2}{W_b^2 - \sum w^2} .

    Bins with one row have no pair and add nothing; so do rows of one score if all but one of them weigh so little that
    their pairs are lost in rounding. For k = K ≥ 4 the cells depend on the order of the classes.

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
    asked = checked_k(k)
    if not isinstance(weight_type, str) or weight_type not in ("frequency", "importance"):
        raise InputError("weight_type", "must be 'frequency' or 'importance'", f"got {weight_type!r}")
    if asked > 1:
        return _several(y_true, y_prob, asked, bins, weight_type, rows)
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    if weight_type == "importance":
        tally = as_tally(y_true, y_prob, rows, rule=rule, kind="confidence")
        return tally.average(lambda cells: _importance(cells, rule or default_width(tally.n)))
    binned = as_binned(y_true, y_prob, rule or BySize(default_width), rows, moments=True, kind="confidence")
    return binned.average(_frequency)


def _several(y_true: Any, y_prob: Any, k: int, bins: BinsLike | None, weight_type: str, rows: RowOptions) -> float:
    if weight_type != "frequency":
        raise InputError("weight_type", "must be 'frequency' when k > 1", f"got {weight_type!r}")
    sample = as_sample(y_true, y_prob, rows, kind="confidence")
    scores = of_matrix(sample, k, None if bins is None else cells_per_axis(bins))
    return pair_sums(scores.z, scores.count, scores.hits, scores.first).statistic


def default_width(n: float) -> EqualWidth:
    """The bins that are used unless others are named."""
    return EqualWidth(max(2, round(n**0.4)))


def _frequency(bins: Bins) -> float:
    n = bins.weight
    if not bins.whole:
        raise InputError(
            "sample_weight",
            "must be whole numbers that sum to less than 2³⁵",
            "`weight_type='importance'` takes others",
        )
    squares = bins.events - 2 * bins.sum_event_score + bins.sum_square
    pairs = n >= 2
    return float(((bins.excess**2 - squares)[pairs] / (n[pairs] - 1)).sum() / n.sum())


def _importance(cells: Cells, rule: BinRule) -> float:
    """Of each bin, pairs with a row of the heaviest cell and pairs of others are added up apart.

    Where one row has nearly all the weight, squares of sums less sums of squares would be rounding and no more.
    """
    start = rule.group(cells).start
    first = start[:-1][start[1:] > start[:-1]]
    p, e, w = (np.asarray(c, dtype=np.float64) for c in (cells.score, cells.events, cells.weight))
    w2, e2 = (w, e) if cells.squares is None or cells.event_squares is None else (cells.squares, cells.event_squares)
    u, u2 = e - w * p, e2 * (1 - p) ** 2 + (w2 - e2) * p**2
    lead = _heaviest(w, first)
    own_weight, own_product = _pairs_of_ties(
        *(np.asarray(c[lead], dtype=np.float64) for c in (p, w, e, w2, e2, cells.count))
    )
    others = np.ones(w.size)
    others[lead] = 0.0
    weight, weight2, excess, squares = (segment_sums(np.asarray(others * s), first) for s in (w, w2, u, u2))
    together = own_weight + 2 * w[lead] * weight + np.maximum(weight**2 - weight2, 0)
    product = own_product + 2 * u[lead] * excess + (excess**2 - squares)
    pairs = (segment_sums(cells.count, first) >= 2) & (together > 0)
    means = np.clip(product[pairs] / together[pairs], -1, 1)  # of products, which are at most 1
    return float(((w[lead] + weight)[pairs] * means).sum() / w.sum())


def _heaviest(weight: Floats, first: Ints) -> Ints:
    """The heaviest cell of each bin, the first of equals."""
    sizes = np.diff(np.append(first, weight.size))
    top = np.flatnonzero(weight == np.repeat(np.maximum.reduceat(weight, first), sizes))
    return np.asarray(top[np.searchsorted(top, first)])


def _pairs_of_ties(p: Floats, w: Floats, e: Floats, w2: Floats, e2: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Σww′ and Σww′uu′ over the pairs of rows that share a score; none where their weight is lost in rounding."""
    o, o2 = w - e, w2 - e2
    both, none, mixed = np.maximum(e**2 - e2, 0), np.maximum(o**2 - o2, 0), 2 * e * o
    weight = both + none + mixed
    seen = (count >= 2) & (weight > count * 2.0**-51 * w**2)
    product = (1 - p) ** 2 * both + p**2 * none - p * (1 - p) * mixed
    return np.where(seen, weight, 0.0), np.where(seen, product, 0.0)
