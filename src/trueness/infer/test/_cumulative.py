"""Kolmogorov-Smirnov and Kuiper: observed minus expected events, cumulated over the scores."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from trueness._input.arguments import checked_fraction
from trueness._keywords import suggests_keywords
from trueness._numerics.brownian import largest_distance_sf, range_sf
from trueness._numerics.roots import bracketed_root
from trueness._tally.cells import Cells
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import (
    caveat,
    is_nearly_normal,
    monte_carlo_outcome,
    of_events,
    with_draws,
)
from trueness.infer.test._method import Options, Outcome, observed_events, significance
from trueness.results import Walk
from trueness.typing import ArrayLike, Floats, Ints, Kind, Missing, WeightType

# A walk is cut into this number of stretches, each of which keeps its highest and lowest step.
_STRETCHES = 1000
# From this number of equal steps on, a path is close to Brownian motion.
_STEPS = 100


Heights = TypeVar("Heights", float, Floats)


def ks_statistic(high: Heights, low: Heights) -> Heights:
    """The largest distance of a path from 0, from its highest and lowest points."""
    highest: Heights = np.maximum(high, -low)
    return highest


def kuiper_statistic(high: Heights, low: Heights) -> Heights:
    """The range of a path."""
    return high - low


class _Statistic(NamedTuple):
    """A statistic of a path, and its limiting distribution."""

    of_extremes: Callable[[Any, Any], Any]
    """From the highest and the lowest points of paths."""
    survival: Callable[[float], Floats]
    """The probability that Brownian motion exceeds a value."""
    name: str


_KS = _Statistic(ks_statistic, largest_distance_sf, "largest distance from 0")
_KUIPER = _Statistic(kuiper_statistic, range_sf, "range")


def _outcome(cells: Cells, options: Options, statistic: _Statistic) -> Outcome:
    """The test of the path of Σ w(y − p)/Σw along ascending scores by one of its statistics.

    Labels are redrawn if draws are requested, or if the path is not close to Brownian motion;
    otherwise the p-value is that of the limiting distribution.
    """
    total = float(cells.weight.sum())
    expected = cells.weight * cells.score

    def extremes(events: Floats) -> tuple[Floats, Floats]:
        """The highest and the lowest points of the paths of events, of shape (draws, cells)."""
        path = np.cumsum(events - expected, axis=1)
        # The path starts at 0.
        return np.maximum(path.max(axis=1), 0), np.minimum(path.min(axis=1), 0)

    accurate = is_nearly_normal(cells, np.ones(cells.size))
    v = cells.square_sums[0] * cells.score * (1 - cells.score)
    # A path of few steps reaches less far than Brownian motion.
    smooth = float(v.sum()) ** 2 >= _STEPS * float(v @ v)
    options = with_draws(cells, options, accurate=accurate and smooth)
    if options.resamples:
        distance = of_events(lambda events: statistic.of_extremes(*extremes(events)) / total)
        return monte_carlo_outcome(distance, cells, options)
    (high,), (low,) = extremes(observed_events(cells))
    outcome = _limit_outcome(statistic, float(high), float(low), float(v.sum()), total)
    return outcome._replace(assumptions=outcome.assumptions + caveat(accurate=accurate))


def _limit_outcome(
    statistic: _Statistic, high: float, low: float, variance: float, total: float
) -> Outcome:
    """From the highest and lowest of the sums Σw(y − p), which start at 0, Σw² p(1 − p) and Σw."""
    observed = float(statistic.of_extremes(high, low) / total)
    spread = math.sqrt(variance) / total
    certain = math.inf if observed > 0 else 0.0  # every score is 0 or 1
    scaled = observed / spread if spread > 0 else certain
    assumptions = (
        f"Rows are independent; the path is approximately Brownian motion, whose {statistic.name} "
        "gives the p-value: this needs many rows, none of which dominates the variance. "
        f"Statistic / null deviation: {scaled:.4g}."
    )
    return Outcome(observed, float(statistic.survival(scaled)), assumptions)


ks = partial(_outcome, statistic=_KS)
kuiper = partial(_outcome, statistic=_KUIPER)


@suggests_keywords
def cumulative_walk(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
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
) -> Walk:
    r"""Observed minus expected events, cumulated over the rows in order of their scores.

    Where the walk climbs, events are more frequent than predicted; its slope is the miscalibration
    there. It needs neither bins nor a kernel.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or a :class:`trueness.Tally` in place of both. For a matrix, the largest score of
        each row is examined; a matrix of two columns is the binary problem of its second column.
    level : float, default 0.95
        Level of the band.
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
    Walk
        At most about 2,000 points, including the highest and the lowest, and the tests 'ks' and
        'kuiper' by their limiting distributions.

    Notes
    -----
    Equal scores are one step. With :math:`W = \sum w`, the height after score :math:`s` and its
    variance are

    .. math:: C(s) = \frac1W \sum_{p_i \le s} w_i (y_i - p_i), \qquad
              \frac{1}{W^2} \sum_{p_i \le s} w_i^2 p_i (1 - p_i) ,

    the latter for calibrated scores. `reach` is the quantile of the largest distance of Brownian
    motion from 0, times the final standard deviation: accurate for many rows, none of which
    dominates the variance.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic
    predictions", Journal of Machine Learning Research, 2022.

    Examples
    --------
    >>> from trueness.infer import cumulative_walk
    >>> walk = cumulative_walk([0, 1, 1, 1], [0.25, 0.5, 0.5, 1.0])
    >>> walk.share.tolist(), walk.height.tolist()
    ([0.0, 0.25, 0.75, 1.0], [0.0, -0.0625, 0.1875, 0.1875])
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
    level = checked_fraction(level, "level")
    evidence = read_rows(y_true, y_prob, rows, kind="confidence")
    evidence.require_one("the walk of a matrix")
    return replace(walk_of_cells(evidence.cells, level), note=evidence.note)


def walk_of_cells(cells: Cells, level: float) -> Walk:
    """The walk of one binary problem: the path of Σ w (y − p) along ascending scores.

    y is the label, p the score and w the weight of a row; rows of one score are one step, and
    `cells` are their sums. The result has the path divided by the total weight (`height`), over the
    share of the weight so far. `half` is half the width of the band around 0 in which the path lies
    at each place with probability `level` if the scores are right. `reach` is the height that it
    then exceeds anywhere with probability 1 − `level`.

    It also has the tests of the largest distance from 0 ('ks') and of the range ('kuiper'). Long
    walks are thinned for the result, but not for the tests. Without rows there is an InputError.
    """
    if not cells.size:
        raise InputError("", "A walk needs rows", "there are none")
    total = float(cells.weight.sum())
    path = np.cumsum(cells.events - cells.weight * cells.score)
    variances = cells.square_sums[0] * cells.score * (1 - cells.score)
    high = max(path.max(), 0.0)
    low = min(path.min(), 0.0)
    variance = float(variances.sum())
    passed = _kept_steps(path)[1:] - 1
    deviation = _from_zero(np.sqrt(np.cumsum(variances)[passed]) / total)
    reach = bracketed_root(
        lambda x: math.log(float(largest_distance_sf(x)) / (1 - level)), 1e-2, 30.0
    )
    return Walk(
        share=_from_zero(np.cumsum(cells.weight)[passed] / total),
        score=cells.score[np.concatenate([[0], passed])],
        height=_from_zero(path[passed] / total),
        half=float(ndtri((1 + level) / 2)) * deviation,
        level=level,
        reach=reach * float(deviation[-1]),
        ks=significance(cells, "ks", _limit_outcome(_KS, high, low, variance, total)),
        kuiper=significance(cells, "kuiper", _limit_outcome(_KUIPER, high, low, variance, total)),
        n=int(cells.weight.sum() if cells.whole else cells.count.sum()),
    )


def _from_zero(values: NDArray[Any]) -> Floats:
    """The values after a 0, where a walk starts."""
    return np.concatenate([[0.0], values])


def _kept_steps(path: Floats) -> Ints:
    """The steps of a path that are kept for drawing, in order; all if there are at most 2,000.

    Otherwise they are the start, the last step, and the highest and lowest step of each of 1,000
    stretches with about equal numbers of steps. Step 0 is the start, at height 0, so that step i is
    the entry i − 1 of `path`.
    """
    heights = _from_zero(path)
    if heights.size <= 2 * _STRETCHES:
        return np.arange(heights.size)
    ends = np.linspace(0, heights.size, _STRETCHES + 1).astype(np.int64)
    steps = [0, heights.size - 1]
    for start, end in pairwise(ends):
        stretch = heights[start:end]
        steps += [start + stretch.argmin(), start + stretch.argmax()]
    return np.unique(np.array(steps, dtype=np.int64))
