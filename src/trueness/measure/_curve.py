"""Reliability curves: binned, isotonic or smooth."""

import math
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, score_sums, segment_sums
from trueness._tally.rows_or_sums import as_binned, as_tally, takes_rows
from trueness._tally.rules import BinsLike, Isotonic, as_rule
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.results import Curve
from trueness.typing import ArrayLike, Bools, Floats, Ints, Numbers, RowOptions

__all__ = [
    "CurveMethod",
    "checked_method",
    "curve_of_bins",
    "curve_of_cells",
    "isotonic_curve",
    "reliability_curve",
    "smooth_curve",
    "smooth_fit",
]

CurveMethod: TypeAlias = Literal["binned", "isotonic", "smooth"]
_METHODS = ("binned", "isotonic", "smooth")
# Places at which a smooth curve is given.
_PLACES = 512
# Rows that its kernel must reach, unless there are few in all.
_ENOUGH = 5

_Columns: TypeAlias = dict[str, Any]


@takes_rows
def reliability_curve(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    method: CurveMethod = "binned",
    **rows: Unpack[RowOptions],
) -> Curve:
    r"""How often events happened, against the score they were given.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`. A :class:`Binned` has points for a binned curve only.
    bins : int, sequence of edges or bin rule, optional
        As for :func:`ece`, 10 by default; for a binned curve only.
    method : {'binned', 'isotonic', 'smooth'}, default 'binned'
        - 'binned': a point per bin, at its mean score and event rate.
        - 'isotonic': a point per block of the isotonic regression of labels on scores. The curve is flat
          between the least and the largest score of a block, and straight between blocks.
        - 'smooth': 512 points, kernel means of scores and labels, with the kernel of :func:`smooth_ece`.
    **rows
        As for :func:`ece`.

    Returns
    -------
    Curve
        One row per point, empty bins included (nan). For a matrix, the points of every class one below the other.

    Notes
    -----
    The smooth curve has, for :math:`t` in [0, 1] and the kernel :math:`K_\sigma` of :func:`smooth_ece`,

    .. math:: x(t) = \frac{\sum_i K_\sigma(t, p_i) \, p_i}{\sum_i K_\sigma(t, p_i)}, \qquad
              y(t) = \frac{\sum_i K_\sigma(t, p_i) \, y_i}{\sum_i K_\sigma(t, p_i)} ,

    so that its distance from the diagonal, averaged over the smoothed scores, is the smooth calibration error. It is
    blank where the kernel reaches fewer than 5 rows or less than one of the rarer label (n/20 and n/100, if
    these are less), each row counted by the height of the kernel relative to its middle. Kernels narrower than 0.001
    are taken as that.

    References
    ----------
    Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers",
    Proceedings of the National Academy of Sciences, 2021. Błasiok, Nakkiran, "Smooth ECE: principled reliability
    diagrams via kernel smoothing", 2023.

    Examples
    --------
    >>> from trueness.measure import reliability_curve
    >>> curve = reliability_curve([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.9], method="isotonic")
    >>> curve.low_edge.tolist(), curve.high_edge.tolist(), curve.y.tolist()
    ([0.1, 0.2, 0.8], [0.1, 0.3, 0.9], [0.0, 0.5, 1.0])
    """
    chosen = checked_method(method)
    if chosen != "binned":
        if bins is not None:
            raise InputError("bins", "is for `method='binned'`", f"{chosen!r} has none", remedy="Leave it out.")
        tally = as_tally(y_true, y_prob, rows)
        return _joined([curve_of_cells(part, chosen) for part in tally.parts], tally)
    rule = as_rule(10 if bins is None else bins)
    found = as_binned(y_true, y_prob, rule, rows)
    return _joined([curve_of_bins(part, repr(rule)) for part in found.parts], found)


def checked_method(method: CurveMethod) -> CurveMethod:
    """The name of a curve."""
    if not isinstance(method, str) or method not in _METHODS:
        raise InputError("method", "must be 'binned', 'isotonic' or 'smooth'", f"got {method!r}")
    return method


def curve_of_cells(cells: Cells, method: Literal["isotonic", "smooth"]) -> Curve:
    """The curve of one binary problem."""
    if not cells.size:
        return _curve(_no_points(), method, bandwidth=(float("nan"),) if method == "smooth" else None)
    if method == "isotonic":
        return isotonic_curve(cells, Isotonic().group(cells).start)
    return smooth_curve(cells, smooth_fit(cells)[1])


def smooth_fit(cells: Cells) -> tuple[float, float]:
    """What :func:`smooth_ece` finds, and the width of its kernel."""
    from trueness._numerics.smooth import smooth_error

    return smooth_error(cells.score, cells.weight, cells.events)


def curve_of_bins(bins: Bins, words: str) -> Curve:
    """The curve of the bins of one binary problem; `words` say how they were made."""
    columns = {
        "x": bins.score,
        "y": bins.rate,
        "n": bins.count,
        "weight": bins.weight,
        "low_edge": bins.edges[:-1],
        "high_edge": bins.edges[1:],
    }
    return _curve(columns, "binned", bins=words)


def isotonic_curve(cells: Cells, start: Ints) -> Curve:
    """The isotonic curve of one binary problem, whose blocks begin at `start`; its last entry is their end."""
    first = start[:-1]
    weight = segment_sums(cells.weight, first)
    columns = {
        "x": score_sums(cells, first) / weight,
        "y": segment_sums(cells.events, first) / weight,
        "n": segment_sums(cells.count, first),
        "weight": weight,
        "low_edge": cells.score[first],
        "high_edge": cells.score[start[1:] - 1],
    }
    return _curve(columns, "isotonic")


def smooth_curve(cells: Cells, sigma: float) -> Curve:
    """The smooth curve of one binary problem at a given width of the kernel."""
    from trueness._numerics.smooth import KernelMeans

    means = KernelMeans(cells.score, cells.weight, sigma, _PLACES)
    x, y = means.scores(), means.labels(cells.events)
    rows = float(cells.count.sum())
    blank = _too_few(means.density * rows * max(sigma, 1e-3) * math.sqrt(2 * math.pi), x, y, rows)
    x, y = np.where(blank, np.nan, x), np.where(blank, np.nan, y)
    nearest = np.searchsorted(cells.score, np.arange(_PLACES + 1) / _PLACES)
    nearest[-1] = cells.size
    columns = {
        "x": x,
        "y": y,
        "n": _between(cells.count, nearest),
        "weight": _between(cells.weight, nearest),
        "low_edge": means.place,
        "high_edge": means.place,
    }
    return _curve(columns, "smooth", bandwidth=(sigma,))


def _too_few(reached: Floats, x: Floats, y: Floats, rows: float) -> Bools:
    """Whether the kernel reaches too few rows, or too few of the rarer label, expected or seen, for a rate."""
    with np.errstate(invalid="ignore"):
        rarer = np.minimum(np.maximum(x, y), np.maximum(1 - x, 1 - y))
        # Scores of exactly 0 (or 1) without events (or with nothing else) are as sure as can be.
        noisy = (rarer > 1e-6) & (reached * rarer < min(1.0, rows / 100))
    return np.asarray((reached < min(_ENOUGH, rows / 20)) | noisy)


def _between(values: Numbers, start: Ints) -> Numbers:
    """Sums of the values between neighbouring starts, which may be equal."""
    sums: Any = np.zeros(start.size - 1, dtype=values.dtype)
    filled = start[1:] > start[:-1]
    sums[filled] = segment_sums(values, start[:-1][filled])
    return np.asarray(sums)


def _curve(
    columns: _Columns, method: CurveMethod, *, bins: str = "", bandwidth: tuple[float, ...] | None = None
) -> Curve:
    return Curve(**columns, label=None, method=method, kind="binary", bins=bins, bandwidth=bandwidth)


def _no_points() -> _Columns:
    none: Floats = np.zeros(0)
    count: Ints = np.zeros(0, dtype=np.int64)
    return {"x": none, "y": none, "n": count, "weight": count, "low_edge": none, "high_edge": none}


def _joined(parts: list[Curve], found: Tally | Binned) -> Curve:
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _no_points()}
    label = None
    if len(parts) > 1 and found.classes is not None:
        label = tuple(name for name, part in zip(found.classes, parts, strict=True) for _ in range(len(part)))
    widths = [part.bandwidth[0] for part in parts if part.bandwidth is not None]
    return Curve(
        **columns,
        label=label,
        method=parts[0].method,
        kind=found.kind,
        bins=parts[0].bins,
        bandwidth=tuple(widths) or None,
    )
