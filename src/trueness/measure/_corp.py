"""The CORP decomposition of a proper score."""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import checked_word
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import as_tally, takes_rows
from trueness._tally.rules import Isotonic
from trueness._tally.tally import Tally
from trueness.results import Decomposition
from trueness.typing import ArrayLike, Ints, RowOptions

# Cells whose temporaries stay in the processor's cache.
_BLOCK = 2**14

_Loss: TypeAlias = Callable[[Any, Any, Any], Any]
"""A function of events, weight and prediction that returns the sum of losses."""


@takes_rows
def corp(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    score: Literal["brier", "log"] = "brier",
    **rows: Unpack[RowOptions],
) -> Decomposition:
    r"""Miscalibration, discrimination and uncertainty of a proper score.

    The scores are compared with their isotonic recalibration, and that with the base rate. There are no bins to
    choose.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    score : {'brier', 'log'}, default 'brier'
        Brier score or logarithmic score.
    **rows
        As for :func:`ece`. With 'classwise', the components of the Brier score are summed over the classes, so that
        `score` equals :func:`brier`; those of the log score are averaged over the classes.

    Returns
    -------
    Decomposition
        score = miscalibration − discrimination + uncertainty. With the log score,
        score and miscalibration are inf if the label of a row had probability 0.

    Notes
    -----
    With :math:`\hat p` the isotonic regression of labels on scores (ties pooled first),
    :math:`\bar y` the base rate and :math:`\bar S` the mean score,

    .. math:: \mathrm{MCB} = \bar S(p) - \bar S(\hat p), \quad
              \mathrm{DSC} = \bar S(\bar y) - \bar S(\hat p), \quad
              \mathrm{UNC} = \bar S(\bar y) .

    Both differences are at least zero; a negative rounding error is returned as zero. The miscalibration is therefore
    above zero for every calibrated model (about 0.015 for 200 rows, where recalibrating would make new scores worse):
    compare it with ``noise_floor(lambda t: tn.corp(t).miscalibration, y_prob)``. The gain of a calibrator on rows that
    it was not fitted on is in :func:`report`.

    References
    ----------
    Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers",
    Proceedings of the National Academy of Sciences, 2021.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.corp([0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9])
    >>> print(d)
    brier score 0.2267 = miscalibration 0.1017 − discrimination 0.1250 + uncertainty 0.2500 (n = 6)
    """
    checked_word(score, "score", ("brier", "log"))
    return corp_of_blocks(as_tally(y_true, y_prob, rows), _blocks, score)


def corp_of_blocks(
    sums: Tally, blocks: Callable[[Cells], Ints], score: Literal["brier", "log"] = "brier"
) -> Decomposition:
    """The decomposition of a tally; `blocks` returns the cells at which isotonic blocks begin."""
    loss = _brier if score == "brier" else _log
    means = {id(cells): _means(cells, blocks(cells), loss) for cells in sums.parts if cells.size}

    factor = sums.class_factor if score == "brier" else 1

    def average(part: Callable[[_Means], float]) -> float:
        return factor * sums.average(lambda cells: part(means[id(cells)]))

    return Decomposition(
        score=average(lambda m: m.scores),
        miscalibration=average(lambda m: max(0.0, m.scores - m.isotonic)),
        discrimination=average(lambda m: max(0.0, m.base - m.isotonic)),
        uncertainty=average(lambda m: m.base),
        rule=score,
        n=sums.n,
    )


class _Means(NamedTuple):
    """The mean loss of the scores, of their isotonic recalibration, and of the base rate."""

    scores: float
    isotonic: float
    base: float


def _blocks(cells: Cells) -> Ints:
    return Isotonic().group(cells).start[:-1]


def _means(cells: Cells, first: Ints, loss: _Loss) -> _Means:
    weight, events = (segment_sums(column, first) for column in (cells.weight, cells.events))
    total, all_events = cells.weight.sum(), cells.events.sum()
    sums = (
        _loss_of_scores(cells, loss),
        float(loss(events, weight, events / weight).sum()),
        float(loss(all_events, total, all_events / total)),
    )
    return _Means(*(float(each / total) for each in sums))


def _loss_of_scores(cells: Cells, loss: _Loss) -> float:
    parts = (slice(i, i + _BLOCK) for i in range(0, cells.size, _BLOCK))
    return math.fsum(float(loss(cells.events[few], cells.weight[few], cells.score[few]).sum()) for few in parts)


def _brier(events: Any, weight: Any, p: Any) -> Any:
    return events * (1 - p) ** 2 + (weight - events) * p**2


def _log(events: Any, weight: Any, p: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        ones, zeros = events * np.log(p), (weight - events) * np.log1p(-p)
    return -(np.where(events > 0, ones, 0) + np.where(weight > events, zeros, 0))
