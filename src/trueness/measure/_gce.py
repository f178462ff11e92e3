"""The general calibration error: a loss per bin, and a norm over bins."""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from trueness._numerics.power_mean import power_mean
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_binned, as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, as_rule
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.measure._tce import (
    NormFunction,
    Test,
    checked_alpha,
    checked_test,
    norm_function,
    rejection_percentages,
)
from trueness.results import Bin
from trueness.typing import ArrayLike, Floats, Norm, RowOptions

Loss: TypeAlias = Literal["absolute", "squared", "rejection"] | Callable[[Bin], float]


@takes_rows
def gce(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    loss: Loss = "absolute",
    bins: BinsLike = 10,
    norm: Norm | NormFunction = "l1",
    alpha: float = 0.05,
    test: Test = "binomial",
    **rows: Unpack[RowOptions],
) -> float:
    r"""General calibration error: any loss of a bin, any bins, any norm.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    loss : {'absolute', 'squared', 'rejection'} or callable, default 'absolute'
        The loss of a bin: the distance between event rate and mean score; its square; the
        percentage of its scores that a test rejects; or a function of one
        :class:`~trueness.Bin`. Empty bins are skipped.
    bins : int, sequence of edges or bin rule, default 10
        As for :func:`ece`.
    norm : {'l1', 'l2', 'max'}, float or callable, default 'l1'
        How losses are averaged over bins: the weighted mean, the root mean square, the maximum, a power mean with any
        exponent ≥ 1, or a function of the losses of the non-empty bins and of their weights, which sum to one.
    alpha : float, default 0.05
        For ``loss="rejection"``: level of the tests. A score is rejected if its p-value is at most `alpha`.
    test : {'binomial', 't', 't-variance-for-deviation'} or callable, default 'binomial'
        For ``loss="rejection"``: the exact binomial test, the t test, the t test of the published code, or a function
        ``test(events, n, scores)`` that returns the p-value of each score. :func:`tce` describes them.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        In the unit of the loss.

    Notes
    -----
    With loss :math:`\ell_b` and weight :math:`w_b` of bin :math:`b`,

    .. math:: \mathrm{GCE} = \Big( \sum_b \frac{w_b}{\sum_c w_c} \, |\ell_b|^q \Big)^{1/q} .

    :func:`ece`, :func:`ace` and :func:`mce` use the absolute loss, :func:`tce` uses rejection.

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
    average = norm_function(norm) or power_mean
    rule = as_rule(bins)
    level, chosen = checked_alpha(alpha), checked_test(test)
    named = loss if isinstance(loss, str) else ""
    if named in ("absolute", "squared"):
        power = 1 if named == "absolute" else 2
        binned = as_binned(y_true, y_prob, rule, rows)
        return binned.average(lambda b: _norm_of_gaps(b, power, average))
    if named == "rejection":
        return _over_cells(
            y_true, y_prob, rule, rows, lambda c, _, s: rejection_percentages(c, s, level, chosen), average
        )
    if isinstance(loss, str) or not callable(loss):
        raise InputError("loss", "must be 'absolute', 'squared', 'rejection' or a function of one bin", f"got {loss!r}")
    return _over_cells(y_true, y_prob, rule, rows, lambda c, b, s: _own_losses(loss, c, b, s), average)


def _over_cells(
    y_true: Any,
    y_prob: Any,
    rule: BinRule,
    rows: RowOptions,
    losses: Callable[[Cells, Bins, Any], Floats],
    average: NormFunction,
) -> float:
    tally = as_tally(y_true, y_prob, rows, rule=rule)

    def norm_of_losses(cells: Cells) -> float:
        groups = rule.group(cells)
        bins = Bins.from_cells(cells, groups)
        first = groups.start[:-1][bins.count > 0]
        return average(losses(cells, bins, first), bins.weight[bins.count > 0])

    return tally.average(norm_of_losses)


def _norm_of_gaps(bins: Bins, power: int, average: NormFunction) -> float:
    filled = bins.weight > 0
    return average(np.abs(bins.gap[filled]) ** power, bins.weight[filled])


def _own_losses(loss: Callable[[Bin], float], cells: Cells, bins: Bins, first: Any) -> Floats:
    last = np.append(first[1:], cells.size)
    filled = np.flatnonzero(bins.count > 0)
    return np.array(
        [
            _loss_of(loss, _bin(cells, bins, int(b), slice(i, j)), int(b))
            for b, i, j in zip(filled, first, last, strict=True)
        ]
    )


def _bin(cells: Cells, bins: Bins, b: int, of: slice) -> Bin:
    return Bin(
        low_edge=float(bins.edges[b]),
        high_edge=float(bins.edges[b + 1]),
        n=int(bins.count[b]),
        weight=float(bins.weight[b]),
        events=float(bins.events[b]),
        score=float(bins.score[b]),
        rate=float(bins.rate[b]),
        scores=cells.score[of],
        score_weights=cells.weight[of],
    )


def _loss_of(loss: Callable[[Bin], float], bin_: Bin, b: int) -> float:
    value = loss(bin_)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InputError("loss", "must return a number for every bin", f"it returned {value!r} for bin {b}")
    return number
