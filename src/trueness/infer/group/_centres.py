"""Calibration by centre: hospitals, sites, branches."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._tally.cells import Cells
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rows_or_sums import row_options
from trueness.errors import InputError
from trueness.infer.group._heterogeneity import random_effects
from trueness.infer.group._segment_rows import event_rows, places_by_value
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.limits._slope import fit_line
from trueness.results import Centre, Centres, Heterogeneity
from trueness.results._centres import few_in_words
from trueness.typing import ArrayLike, Columns, Floats, Kind, Missing, WeightType

# With fewer rows of either class, the standard error of a slope says next to nothing.
_FEWEST_FOR_SLOPE = 3


@suggests_keywords
def centres(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    by: Columns,
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
) -> Centres:
    r"""Calibration in each centre, and how far centres differ.

    A model that is right on average may be wrong in every hospital. The table has a row per centre;
    the heterogeneity says what a new centre has to expect.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. A matrix must have two columns, of which the second is the score.
    by : array-like of shape (n,)
        The centre of each row.
    level : float, default 0.95
        Confidence level of all limits.
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
    Centres
        `centres`, those without events included, and `heterogeneity` by measure:
        'observed_expected' and 'slope'.

    Notes
    -----
    **Limits of a centre** are those of :func:`trueness.estimate` for 'observed_expected', for the
    centre by itself: of 20 calibrated centres one excludes 1 on average. :func:`trueness.segments`
    tests all of them together.

    **Observed/expected** over centres, by :func:`trueness.heterogeneity` on the log scale: with
    :math:`O_k` and :math:`E_k` observed and expected events, :math:`\bar e_k` the mean score and
    :math:`\hat\theta` the ratio of all rows,

    .. math:: y_k = \log\frac{O_k + \frac12}{E_k} , \qquad
              v_k = \frac{1 - \hat\theta \bar e_k}{\hat\theta E_k} .

    The variance rests on expected, not on observed events: else centres with few events by chance
    would weigh less, and the mean would be too high.

    **Slopes** are averaged as they are, with their standard errors; a centre with fewer than three
    events or non-events, or without a finite slope, is left out.

    The range of a new centre is too narrow with few centres; see :func:`trueness.heterogeneity`.

    References
    ----------
    T. P. A. Debray, J. A. A. G. Damen, R. D. Riley, K. Snell, J. B. Reitsma, L. Hooft, G. S.
    Collins, K. G. M. Moons, A framework for meta-analysis of prediction model studies with binary
    and time-to-event outcomes, Statistical Methods in Medical Research 28 (2019), 2768-2786.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p, hospital = rng.beta(2, 8, 1200), np.repeat(list("ABCDEF"), 200)
    >>> y = rng.random(1200) < p
    >>> found = tn.centres(y, p, by=hospital)
    >>> print(found["B"])
    B: O/E 0.94 (0.69 to 1.24, n = 200)
    >>> spread = found.heterogeneity["observed_expected"]
    >>> spread.low < 1 < spread.high
    True
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
    level = checked_level(level)
    evidence = event_rows(y_true, y_prob, rows)
    if by is None:
        raise InputError("by", "must have a centre for each row", "got None")
    column, *further_columns = evidence.columns(by, y_true, whole="names")
    if further_columns:
        raise InputError("by", "must be one column", f"got {1 + len(further_columns)}")
    cells_by_name = {
        name: cells_of_rows(evidence.at(place).sample)
        for name, place in places_by_value(column, evidence)
    }
    table = tuple(_centre(name, cells, level) for name, cells in cells_by_name.items())
    by_measure: dict[str, Heterogeneity] = {}
    notes = [*evidence.notes]
    if column.note:
        notes.append(column.note)
    ratios = _ratios(cells_by_name.values())
    if ratios is None:
        notes.append(
            "O/E has no heterogeneity: it needs two centres with expected events, and an event."
        )
    else:
        log_ratio = random_effects(ratios.value, ratios.variance, level)
        by_measure["observed_expected"] = _exponential(log_ratio)
    slopes = np.array([centre.slope for centre in table])
    errors = np.array([centre.slope_error for centre in table])
    has_slope = ~np.isnan(errors)
    if has_slope.sum() >= 2:
        by_measure["slope"] = random_effects(slopes[has_slope], errors[has_slope] ** 2, level)
    without_slope = [centre.centre for centre in table if math.isnan(centre.slope_error)]
    if without_slope:
        text = "Centres without a slope, which are left out of its mean"
        notes.append(few_in_words(without_slope, text))
    return Centres(centres=table, heterogeneity=by_measure, level=level, notes=tuple(notes))


def _centre(name: str, cells: Cells, level: float) -> Centre:
    """The line of one centre, from the sums of its rows.

    `cells` are the sums at each distinct score. Observed/expected has limits at `level`. The slope
    and its standard error are nan with fewer than three events or non-events; weights that do not
    count rows are first divided by their average over the weights, Σw²/Σw.
    """
    totals = _totals(cells)
    limits = ratio_limits(cells, level)
    rarer = min(totals.events, totals.weight - totals.events) / totals.inflation
    slope = slope_error = math.nan
    if rarer >= _FEWEST_FOR_SLOPE:
        line = fit_line(cells)
        slope = line.slope.value
        slope_error = line.slope.error
    return Centre(
        centre=name,
        n=int(totals.weight if cells.whole else cells.count.sum()),
        events=totals.events,
        expected=totals.expected,
        ratio=limits.value,
        ratio_low=limits.low,
        ratio_high=limits.high,
        slope=slope,
        slope_error=slope_error,
    )


class _Totals(NamedTuple):
    """The sums of one centre."""

    weight: float
    events: float
    expected: float
    inflation: float
    """The weight of a row, on average over the weights: 1 if weights count rows."""


def _totals(cells: Cells) -> _Totals:
    """The sums of the rows of one centre."""
    weight = float(cells.weight.sum())
    squares, _ = cells.square_sums
    return _Totals(
        weight=weight,
        events=float(cells.events.sum()),
        expected=float((cells.weight * cells.score).sum()),
        inflation=1.0 if cells.whole else float(squares.sum()) / weight,
    )


class _LogRatios(NamedTuple):
    """The log of observed/expected of several centres."""

    value: Floats
    variance: Floats


def _ratios(centres: Iterable[Cells]) -> _LogRatios | None:
    """The log of observed/expected of each centre in which events are expected, and its variance.

    Half an event is added, so that a centre without events has a finite value: log((events +
    ½)/expected). The variance is (1 − rate)/(expected events), where events are expected at the
    observed/expected of all centres together; so it does not depend on a centre's own events. With
    weights that do not count rows, an event counts Σw²/Σw. None if fewer than two centres expect
    events, or if no event occurred.
    """
    sums = np.array([_totals(cells) for cells in centres])
    expects_events = sums[:, 2] > 0
    weight, events, expected, inflation = sums[expects_events].T
    if expected.size < 2 or events.sum() == 0:
        return None
    overall = events.sum() / expected.sum()
    # Where scores are far too low, the expected rate at the overall ratio may exceed 1.
    non_event_rate = np.maximum(1 - overall * expected / weight, inflation / (2 * weight))
    value = np.log((events + inflation / 2) / expected)
    return _LogRatios(value, inflation * non_event_rate / (overall * expected))


def _exponential(log_ratio: Heterogeneity) -> Heterogeneity:
    """Mean and limits of log ratios as those of ratios; the variance stays on the log scale."""
    return replace(
        log_ratio,
        mean=math.exp(log_ratio.mean),
        low=math.exp(log_ratio.low),
        high=math.exp(log_ratio.high),
        prediction_low=math.exp(log_ratio.prediction_low),
        prediction_high=math.exp(log_ratio.prediction_high),
        scale="log",
    )
