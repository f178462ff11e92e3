"""Test-based calibration error with its tested bins, and the general calibration error (GCE)."""

import math
import reprlib
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._keywords import suggests_keywords
from trueness._numerics.averages import exponent, power_mean
from trueness._tally.binned_scores import bin_starts
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import as_binned, as_tally, row_options
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, as_rule
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.results import Bin, TestedBins
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, Missing, Norm, Numbers, WeightType

Test: TypeAlias = (
    Literal["binomial", "t", "t-variance-for-deviation"] | Callable[[Any, Any, Floats], Any]
)
NormFunction: TypeAlias = Callable[[Floats, Any], float]
Loss: TypeAlias = Literal["absolute", "squared", "rejection"] | Callable[[Bin], float]
_TESTS = ("binomial", "t", "t-variance-for-deviation")
# Places at which the density of a bin is given.
_PLACES = 64


@suggests_keywords
def tce(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    alpha: float = 0.05,
    test: Test = "binomial",
    norm: Norm | NormFunction = "l1",
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
    r"""Test-based calibration error: the percentage of scores that a test rejects.

    Group the scores into bins, and test for each score whether it can be the event rate of
    its bin, given the labels there (two-sided, at level `alpha`). The error is the percentage of
    rejections.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    bins : int, sequence of edges or bin rule, optional
        By default :class:`BlockIsotonic`: blocks of N/20 to N/5 rows, of which neighbours of equal
        rate are joined. Where no scores tie, this is the paper's procedure (its Algorithms 1 to 3);
        equal scores are pooled first.
    alpha : float, default 0.05
        Level of each test, from 0 to 1: a score is rejected if its p-value is at most `alpha`. At 0
        only scores that the labels refute are rejected, such as 0 where there are events; at 1 all
        are.
    test : {'binomial', 't', 't-variance-for-deviation'} or callable, default 'binomial'
        The exact binomial test (the decisions of `scipy.stats.binomtest`), which needs
        whole-number weights; the t test, which uses the effective number of rows, (Σw)²/Σw², for
        other weights; or the t test with the variance instead of the standard deviation, as in the
        published code, for comparison only. Or a function ``test(events, n, scores)``, called once
        per bin, that returns the p-value of each score as the event rate, a float; or, for any
        other discrepancy between a score and the labels of its bin, True or the whole number 1
        where the score is rejected; `alpha` then has no effect. Floats that are all 0 or 1, some of
        each, are refused: they may be either.
    norm : {'l1', 'l2', 'max'}, float or callable, default 'l1'
        How the percentages of bins are averaged: the weighted mean, the root mean square, the
        maximum, a power mean with any exponent ≥ 1, or a function of the percentages and weights of
        the non-empty bins.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
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
        Between 0 and 100, a percentage.

    Notes
    -----
    With :math:`N_b` of :math:`N` rows in bin :math:`b`, of which :math:`k_b` are events,

    .. math:: \mathrm{TCE} = 100 \sum_b \frac{N_b}{N} \cdot
        \frac{\#\{ i \in b : \text{the test of } P(Y = 1) = p_i \text{ on } (k_b, N_b) \text{
        rejects} \}}{N_b} .

    The percentage keeps its scale when classes are unbalanced. It does not tend to zero for a
    calibrated model: with more rows the tests gain power while the bins stay as wide, so that
    scores near the ends of a bin are rejected (for uniform calibrated scores and ten bins of equal
    mass: about 13, 51, 84 and 95 % for 10³ to 10⁶ rows). Compare values at equal N, and check the
    widths of the bins with :func:`bin_table`.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration
    error", Uncertainty in Artificial Intelligence, 2023.

    Examples
    --------
    Three events in ten rows reject the score 0.9 but not the score 0.3.

    >>> import trueness as tn
    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> tn.tce(y + y, [0.3] * 10 + [0.9] * 10, bins=2)
    50.0

    Another test, by the normal approximation:

    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> def score_test(events, n, p):
    ...     return 2 * norm.sf(abs(events - n * p) / np.sqrt(n * p * (1 - p)))
    >>> tn.tce(y + y, [0.3] * 10 + [0.9] * 10, bins=2, test=score_test)
    50.0

    A discrepancy without a p-value, the Bayes factor of a rate of which nothing is known against
    the score:

    >>> from scipy.stats import binom
    >>> def bayes_factor_above_3(events, n, p):
    ...     return 1 / (n + 1) > 3 * binom.pmf(events, n, p)
    >>> tn.tce(y + y, [0.3] * 10 + [0.9] * 10, bins=2, test=bayes_factor_above_3)
    50.0
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
    rule = BlockIsotonic() if bins is None else as_rule(bins)
    tally = as_tally(y_true, y_prob, rows, rule=rule)
    return tce_of_tallies([tally], bins=rule, alpha=alpha, test=test, norm=norm)[0]


def tce_of_tallies(
    tallies: Sequence[Tally],
    *,
    bins: BinsLike | None = None,
    alpha: float = 0.05,
    test: Test = "binomial",
    norm: Norm | NormFunction = "l1",
) -> list[float]:
    """:func:`tce` of each tally.

    Their tests are made together, which saves most of the time if they are small.
    """
    rule = BlockIsotonic() if bins is None else as_rule(bins)
    alpha = checked_alpha(alpha)
    test = checked_test(test)
    average = norm_function(norm)
    parts = [cells for tally in tallies for cells in tally.parts if cells.size]
    for cells in parts:
        check_weights(cells, test)
    firsts = [bin_starts(cells, rule) for cells in parts]
    values = {
        id(cells): _percentage(cells, first, rejected, average)
        for cells, first, rejected in zip(
            parts, firsts, _joint_rejections(parts, firsts, alpha, test), strict=True
        )
    }
    return [tally.average(lambda cells: values[id(cells)]) for tally in tallies]


def _joint_rejections(
    parts: Sequence[Cells], firsts: Sequence[Ints], alpha: float, test: Test
) -> list[Bools]:
    """Whether each score of each part is rejected, tested in one call for all parts.

    A part is a binary problem, as cells of distinct scores; `firsts` has for each part the cells at
    which its bins begin. Parts whose weights are of different kinds are tested one by one.
    """
    alike = len({(cells.whole, cells.squares is None) for cells in parts}) == 1
    if len(parts) == 1 or not alike:
        return [
            rejections(cells, first, alpha, test)
            for cells, first in zip(parts, firsts, strict=True)
        ]
    joint = Cells(
        **{
            name: np.concatenate([getattr(cells, name) for cells in parts])
            for name in parts[0].columns()
        }
    )
    end = np.cumsum([cells.size for cells in parts])
    first = np.concatenate(
        [first + (last - cells.size) for cells, first, last in zip(parts, firsts, end, strict=True)]
    )
    return np.split(rejections(joint, first, alpha, test), end[:-1])


def _percentage(cells: Cells, first: Ints, rejected: Bools, average: NormFunction | None) -> float:
    if average is not None:
        return average(_percentages(cells, first, rejected), segment_sums(cells.weight, first))
    # One division, so that simple shares give the exact percentage.
    return float(100 * cells.weight[rejected].sum() / cells.weight.sum())


def _percentages(cells: Cells, first: Ints, rejected: Bools) -> Floats:
    """The percentage of rejected scores in each bin; bins begin at the cells `first`."""
    return np.asarray(
        100 * segment_sums(cells.weight * rejected, first) / segment_sums(cells.weight, first)
    )


def check_weights(cells: Cells, test: Test) -> None:
    """Refuse weights that are not whole numbers for the binomial test."""
    if test == "binomial" and not cells.whole:
        demand = "must be whole numbers that sum to less than 2³⁵ for the binomial test"
        remedy = "Others need `test='t'` and bins that do not count rows, such as `EqualMass(10)`."
        raise InputError("sample_weight", demand, remedy=remedy)


def rejections(cells: Cells, first: Ints, alpha: float, test: Test) -> Bools:
    """For each cell, whether the labels of its bin reject its score as the rate of the bin.

    `first` are the cells at which bins begin, and `alpha` is the level of the test. With fractional
    weights, events and rows of a bin are scaled to its effective number of rows, (Σw)²/Σw². `test`
    is a name, or a user's function of events, rows and scores. For named tests, level 0 rejects
    only scores with a p-value of exactly 0, and level 1 all.
    """
    k = segment_sums(cells.events, first)
    n = segment_sums(cells.weight, first)
    if cells.squares is not None and not cells.whole:
        effective = n * n / segment_sums(cells.squares, first)
        k, n = (
            effective * (k / n),
            effective,
        )  # in this order, equal labels give a rate of exactly 0 or 1
    if callable(test):
        scores = np.split(cells.score, first[1:])
        return _own_rejections(
            list(map(partial(_answer, test), k.tolist(), n.tolist(), scores)), alpha
        )
    if alpha == 1:  # no p-value is larger
        return np.ones(cells.size, dtype=bool)
    if alpha == 0:
        sizes = np.diff(np.append(first, cells.size))
        return _refuted(np.repeat(k, sizes), np.repeat(n, sizes), cells.score, test)
    if test == "binomial":
        from trueness._numerics.binomial import (
            binomial_rejections,
        )  # loads SciPy, which `gce` rarely needs

        return binomial_rejections(k, n, first, cells.score, alpha)
    from trueness._numerics.proportions import t_rejections

    return t_rejections(k, n, first, cells.score, alpha, published=test != "t")


def _refuted(k: NDArray[Any], n: NDArray[Any], score: Floats, test: str) -> Bools:
    """The scores whose p-value is zero: impossible ones, or those at an infinite t."""
    if test == "binomial":
        return np.asarray(((score == 0) & (k > 0)) | ((score == 1) & (k < n)))
    equal = (k == 0) | (k == n)  # labels without variance
    return np.asarray(equal & (n > 1) & (score != k / n) if test == "t" else equal)


def _answer(test: Callable[..., Any], events: float, n: float, scores: Floats) -> NDArray[Any]:
    """The answer of a user's test to one bin: a p-value or a decision for each score.

    InputError unless there is one number from 0 to 1 for each of the `scores`.
    """
    answer = np.asarray(test(events, n, scores))
    good = answer.shape == scores.shape and answer.dtype.kind in "biuf"
    if not good or not ((answer >= 0) & (answer <= 1)).all():  # whole numbers are then 0 and 1
        rows = f"{events:g} events in {n:g} rows and {scores.size:,} scores"
        got = f"it returned {reprlib.repr(answer.tolist())} for {rows}"
        demand = "must return a p-value between 0 and 1 for each score, or whether it is rejected"
        raise InputError("test", demand, got)
    return answer


def _own_rejections(answers: Sequence[NDArray[Any]], alpha: float) -> Bools:
    """Which scores a user's test rejects, from its answers for all bins.

    Bools and whole numbers are decisions, floats are p-values, rejected up to `alpha`. InputError
    if both occur, or if all floats are 0.0 or 1.0, which may be either.
    """
    values = np.concatenate(answers)
    decided = {answer.dtype.kind != "f" for answer in answers}
    if len(decided) > 1 or (decided == {False} and set(np.unique(values)) == {0.0, 1.0}):
        if len(decided) > 1:
            got = "it returned both"
        else:
            got = "it returned 0.0 and 1.0 only, which may be either"
        demand = "must return p-values, as floats, or rejections, as bools or whole numbers"
        raise InputError("test", demand, got, remedy="`p <= alpha` makes rejections of p-values.")
    return np.asarray(values != 0 if True in decided else values <= alpha)


def norm_function(norm: Norm | NormFunction) -> NormFunction | None:
    """The function that combines the losses of cells, given their weights; None for the mean.

    `norm` is a name, an exponent, or a user's function of losses and of weights that add up to 1,
    which must return a number.
    """
    if not callable(norm):
        q = exponent(norm)
        if q == 1:
            return None
        return lambda losses, weight: power_mean(losses, weight, q)

    def own_norm(losses: Floats, weight: Numbers) -> float:
        value = norm(losses, np.asarray(weight / weight.sum(), dtype=np.float64))
        return _number(value, "norm", "must return a number")

    return own_norm


def _number(value: ArrayLike, argument: str, demand: str, where: str = "") -> float:
    """What a user's function returned, if it is a number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InputError(argument, demand, f"it returned {reprlib.repr(value)}{where}")
    return number


def checked_alpha(alpha: float) -> float:
    """The level as a float, or an error."""
    if (
        isinstance(alpha, bool)
        or not isinstance(alpha, int | float | np.floating)
        or not 0 <= alpha <= 1
    ):
        raise InputError("alpha", "must lie between 0 and 1", f"got {alpha!r}")
    return float(alpha)


def checked_test(test: Test) -> Test:
    """The test, or an error."""
    if not callable(test) and (not isinstance(test, str) or test not in _TESTS):
        raise InputError(
            "test", f"must be {', '.join(map(repr, _TESTS))} or a function", f"got {test!r}"
        )
    return test


@suggests_keywords
def gce(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    loss: Loss = "absolute",
    bins: BinsLike = 10,
    norm: Norm | NormFunction = "l1",
    alpha: float = 0.05,
    test: Test = "binomial",
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
    r"""General calibration error: any loss of a bin, any bins, any norm.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    loss : {'absolute', 'squared', 'rejection'} or callable, default 'absolute'
        The loss of a bin: the distance between event rate and mean score; its square; the
        percentage of its scores that a test rejects; or a function of one
        :class:`~trueness.results.Bin`. Empty bins are skipped.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1].
    norm : {'l1', 'l2', 'max'}, float or callable, default 'l1'
        How losses are averaged over bins: the weighted mean, the root mean square, the maximum, a
        power mean with any exponent ≥ 1, or a function of the losses of the non-empty bins and of
        their weights, which sum to one.
    alpha : float, default 0.05
        For ``loss="rejection"``: level of the tests. A score is rejected if its p-value is at most
        `alpha`.
    test : {'binomial', 't', 't-variance-for-deviation'} or callable, default 'binomial'
        For ``loss="rejection"``: the exact binomial test, the t test, the t test of the published
        code, or a function ``test(events, n, scores)`` that returns the p-value of each score, or
        True or 1 where it is rejected. :func:`tce` describes them.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
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
        In the unit of the loss.

    Notes
    -----
    With loss :math:`\ell_b` and weight :math:`w_b` of bin :math:`b`,

    .. math:: \mathrm{GCE} = \Big( \sum_b \frac{w_b}{\sum_c w_c} \, |\ell_b|^q \Big)^{1/q} .

    :func:`ece`, :func:`ace` and :func:`mce` use the absolute loss, :func:`tce` uses rejection.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error",
    UAI 2023.

    Examples
    --------
    >>> import trueness as tn
    >>> y, p = [0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75]
    >>> tn.gce(y, p, bins=2) == tn.ece(y, p, bins=2)
    True
    >>> tn.gce(y, p, bins=2, loss=lambda bin: max(0.0, bin.rate - bin.score), norm="max")
    0.25
    >>> tn.gce(y, p, bins=2, norm=lambda losses, weights: losses.sum())
    0.5
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
    average = norm_function(norm) or power_mean
    rule = as_rule(bins)
    level = checked_alpha(alpha)
    chosen = checked_test(test)
    named = loss if isinstance(loss, str) else ""
    if named in ("absolute", "squared"):
        power = 1 if named == "absolute" else 2
        binned = as_binned(y_true, y_prob, rule, rows)
        return binned.average(
            lambda b: average(np.abs(b.gap[b.weight > 0]) ** power, b.weight[b.weight > 0])
        )
    if named != "rejection" and (named or not callable(loss)):
        raise InputError(
            "loss",
            "must be 'absolute', 'squared', 'rejection' or a function of one bin",
            f"got {loss!r}",
        )

    def norm_of_losses(cells: Cells) -> float:
        """The average loss of bins: that of the user's function, or the share rejected."""
        groups = rule.group(cells)
        bins = Bins.from_cells(cells, groups)
        first = groups.start[:-1][bins.count > 0]
        if isinstance(loss, str):
            check_weights(cells, chosen)
            losses = _percentages(cells, first, rejections(cells, first, level, chosen))
        else:
            losses = _own_losses(loss, cells, bins, first)
        return average(losses, bins.weight[bins.count > 0])

    return as_tally(y_true, y_prob, rows, rule=rule).average(norm_of_losses)


def _own_losses(loss: Callable[[Bin], float], cells: Cells, bins: Bins, first: Ints) -> Floats:
    """The loss of the user for each bin that has rows; an answer that is no number is an error."""
    losses = []
    for b, i, j in zip(
        np.flatnonzero(bins.count > 0).tolist(),
        first,
        np.append(first[1:], cells.size),
        strict=True,
    ):
        low, high = bins.edges[b : b + 2].tolist()
        record = Bin(
            low_edge=low,
            high_edge=high,
            n=int(bins.count[b]),
            weight=float(bins.weight[b]),
            events=float(bins.events[b]),
            score=float(bins.score[b]),
            rate=float(bins.rate[b]),
            scores=cells.score[i:j],
            score_weights=cells.weight[i:j],
        )
        demand = "must return a number for every bin"
        losses.append(_number(loss(record), "loss", demand, f" for bin {b}"))
    return np.array(losses)


def bins_with_rejections(cells: Cells, rule: BinRule, alpha: float, test: Test) -> TestedBins:
    """The bins of one binary problem with the result of the tests of :func:`tce`.

    Empty bins are left out.
    """
    level = checked_alpha(alpha)
    chosen = checked_test(test)
    groups = rule.group(cells)
    bins = Bins.from_cells(cells, groups)
    filled = bins.count > 0
    first = groups.start[:-1][filled]
    last = groups.start[1:][filled]
    rejected = segment_sums(
        np.where(rejections(cells, first, level, chosen), cells.weight, 0), first
    )
    spread = [
        _density(cells.score[a:b], cells.weight[a:b]) for a, b in zip(first, last, strict=True)
    ]
    columns: dict[str, Any] = {
        name: getattr(bins, name)[filled] for name in ("weight", "rate", "score")
    }
    return TestedBins(
        **columns,
        low_edge=groups.edges[:-1][filled],
        high_edge=groups.edges[1:][filled],
        n=bins.count[filled],
        rejected=rejected,
        places=np.stack([places for places, _ in spread]),
        density=np.stack([density for _, density in spread]),
        tce=float(100 * rejected.sum() / columns["weight"].sum()),
        alpha=level,
        test=chosen if isinstance(chosen, str) else getattr(chosen, "__name__", "a function"),
        bins=repr(rule),
    )


def _density(score: Floats, weight: Numbers) -> tuple[Floats, Floats]:
    """A kernel density between the extreme scores, reflected at both, from 64 bars."""
    low = float(score[0])
    high = float(score[-1])
    if high - low < 1e-12:
        return np.full(_PLACES, low), np.ones(_PLACES)
    share = np.minimum(((score - low) / (high - low) * _PLACES).astype(np.int64), _PLACES - 1)
    bars = np.bincount(share, weight, minlength=_PLACES)
    middle = (np.arange(_PLACES) + 0.5) / _PLACES
    total = bars.sum()
    mean = (bars * middle).sum() / total
    deviation = np.sqrt((bars * (middle - mean) ** 2).sum() / total)
    # Silverman's width, but never narrower than the bars.
    width = max(0.9 * float(deviation) * max(float(total), 1.0) ** -0.2, 1.0 / _PLACES)
    away = middle[:, None] - np.concatenate([-middle, middle, 2 - middle])
    density = np.exp(-0.5 * (away / width) ** 2) @ np.tile(bars, 3)
    return low + middle * (high - low), density / density.max()
