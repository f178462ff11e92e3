"""The CORP decomposition of a proper score."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Unpack

import numpy as np

from trueness._tally.accept import as_tally, takes_rows
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rules import Isotonic
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.results import Decomposition
from trueness.typing import ArrayLike, Floats, RowOptions

__all__ = ["corp"]

# Cells whose temporaries stay in the processor's cache.
_BLOCK = 2**14


@takes_rows
def corp(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    score: Literal["brier", "log"] = "brier",
    **rows: Unpack[RowOptions],
) -> Decomposition:
    r"""Miscalibration, discrimination and uncertainty of a proper score.

    The predictions are compared with their own isotonic recalibration, and that with the base rate:
    no bins to choose.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    score : {'brier', 'log'}, default 'brier'
        The scoring rule.
    **rows
        As for :func:`ece`. For a matrix each part is averaged as :func:`ece` is.

    Returns
    -------
    Decomposition
        score = miscalibration − discrimination + uncertainty. With the log score,
        score and miscalibration are inf if something happened that was given probability 0.

    Notes
    -----
    With :math:`\hat p` the isotonic regression of labels on scores (ties pooled first),
    :math:`\bar y` the base rate and :math:`\bar S` the mean score,

    .. math:: \mathrm{MCB} = \bar S(p) - \bar S(\hat p), \quad
              \mathrm{DSC} = \bar S(\bar y) - \bar S(\hat p), \quad
              \mathrm{UNC} = \bar S(\bar y) .

    Both differences are at least zero; a rounding error below it is returned as zero.

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
    if not isinstance(score, str) or score not in ("brier", "log"):
        raise InputError(f"`score` must be 'brier' or 'log'; got {score!r}.")
    mean = _brier if score == "brier" else _log
    found = as_tally(y_true, y_prob, rows)
    means = {id(cells): _means(cells, mean) for cells in found.parts if cells.size}

    def averaged(of: Callable[[_Means], float]) -> float:
        return found.average(lambda cells: of(means[id(cells)]))

    return Decomposition(
        score=averaged(lambda m: m.given),
        miscalibration=averaged(lambda m: max(0.0, m.given - m.fitted)),
        discrimination=averaged(lambda m: max(0.0, m.base - m.fitted)),
        uncertainty=averaged(lambda m: m.base),
        rule=score,
        n=found.n,
    )


class _Means(NamedTuple):
    """Mean scores of the predictions as given, after isotonic recalibration, and of the base rate."""

    given: float
    fitted: float
    base: float


def _means(cells: Cells, mean: Callable[[Cells, Floats], float]) -> _Means:
    return _Means(*(mean(cells, p) for p in (cells.score, _fitted(cells), _base(cells))))


def _fitted(cells: Cells) -> Floats:
    start = Isotonic().group(cells).start
    rate = segment_sums(cells.events, start[:-1]) / segment_sums(cells.weight, start[:-1])
    return np.repeat(rate, np.diff(start))


def _base(cells: Cells) -> Floats:
    return np.broadcast_to(cells.events.sum() / cells.weight.sum(), cells.size)


def _brier(cells: Cells, p: Floats) -> float:
    squares = np.empty(cells.size)
    for i in range(0, cells.size, _BLOCK):
        few = slice(i, i + _BLOCK)
        e, w = cells.events[few], cells.weight[few]
        squares[few] = e * (1 - p[few]) ** 2 + (w - e) * p[few] ** 2
    return float(squares.sum() / cells.weight.sum())


def _log(cells: Cells, p: Floats) -> float:
    happened, did_not = cells.events, cells.weight - cells.events
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(happened > 0, happened * np.log(p), 0) + np.where(did_not > 0, did_not * np.log1p(-p), 0)
    return float(-logs.sum() / cells.weight.sum())
