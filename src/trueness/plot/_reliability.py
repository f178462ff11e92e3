"""Reliability diagrams."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from trueness._input.arguments import check_seed, checked_whole, checked_word
from trueness._keywords import suggests_keywords
from trueness._tally.cells import pool_cells
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, Isotonic, as_rule
from trueness._tally.tally import Tally
from trueness.errors import InputError, collected_warnings
from trueness.plot._problems import (
    FromEstimator,
    Problem,
    bins_of,
    edges_of,
    histogram_of,
    problems,
    scale_of,
    tallies,
)
from trueness.plot._reliability_drawing import draw_series
from trueness.plot._terminal import unicode_diagram
from trueness.results import CurveBand, Reliability
from trueness.typing import Kind, Missing, WeightType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from trueness._input.arguments import Seed
    from trueness.plot._canvas import Panels, Scale
    from trueness.results import Bands
    from trueness.typing import ArrayLike, Floats, Option

Band: TypeAlias = Literal[
    "pointwise", "simultaneous", "consistency", "simultaneous-consistency", "monotone"
]
CurveMethod: TypeAlias = Literal["binned", "isotonic", "smooth", "spline", "loess"]
BANDS: dict[str, tuple[Band, ...]] = {
    "binned": ("pointwise", "simultaneous", "consistency", "simultaneous-consistency", "monotone"),
    "isotonic": ("simultaneous-consistency", "consistency", "monotone"),
    "spline": ("pointwise", "simultaneous", "monotone"),
}
BANDS |= {"smooth": BANDS["isotonic"], "loess": BANDS["spline"]}
"""The bands that each curve can have; the first is the usual one."""
_MEASURES = {"binned": "ECE", "isotonic": "MCB", "smooth": "smECE", "spline": "ICI", "loess": "ICI"}
# Above this many distinct scores, scores are pooled to this many cells before resampling.
_MANY = 100_000
_POOLS = 4096
_BAND_POOLS = 512
# Least number of curves of redrawn labels for a band.
_CURVES = 499
_MOST_DRAWS = 10_000  # each draws the labels of up to 4,096 pools


class ReliabilityDisplay(FromEstimator):
    """Reliability diagram: event rate against score.

    Make one with :meth:`from_predictions` or :meth:`from_estimator`; :meth:`plot` draws it and
    :meth:`to_text` prints it in a terminal. The display holds its numbers and computes nothing
    while drawing.

    Parameters
    ----------
    series : sequence of Reliability
        One record per model and class. Models of one class share a panel.
    scale : {'linear', 'log', 'logit'}, default 'linear'
        The axes.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        The first curve, and all of them in the order of `series`.
    ax_, axes_ : matplotlib Axes, list of them
        The first panel, and all of them.
    histogram_axes_, figure_ : list of matplotlib Axes, matplotlib Figure
        The axes below the panels, empty without histograms; and the figure.

    Examples
    --------
    >>> from trueness.plot import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2)
    >>> round(display.series[0].value, 6)
    0.15
    >>> display.series[0].curve.y.tolist()
    [0.0, 1.0]
    """

    histogram_axes_: list[Axes]

    def __init__(self, series: Sequence[Reliability], *, scale: Scale = "linear") -> None:
        if not series:
            raise InputError("series", "must hold at least one record", "got none")
        self.series = tuple(series)
        self.scale = scale

    @classmethod
    @suggests_keywords
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        curve: CurveMethod = "binned",
        bins: BinsLike | None = None,
        band: Band | Literal["auto"] | None = "auto",
        level: float = 0.95,
        scale: Scale | Literal["auto"] = "auto",
        numbers: bool = True,
        resamples: int = 99,
        seed: int | np.random.Generator | None = 0,
        classes: Sequence[Any] | None = None,
        name: str | None = None,
        ax: Panels | None = None,
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
    ) -> Self:
        """Compute the contents of the diagram.

        Parameters
        ----------
        y_true : array-like of shape (n,), Tally, or mapping of names to tallies
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,) or (n, K), or mapping of names to such
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second. A mapping holds one set of scores per model, drawn on one axes.
        curve : {'binned', 'isotonic', 'smooth', 'spline', 'loess'}, default 'binned'
            A point per bin; isotonic regression; kernel means; logistic regression on a spline of
            the log-odds; or local quadratic regression. :func:`trueness.reliability_curve`
            describes them. An isotonic curve includes the decomposition of the Brier score
            (:func:`trueness.corp`); splines and loess include their mean distance from the diagonal
            (:func:`trueness.ici`).
        bins : int, sequence of edges or bin rule, optional
            For a binned curve. By default 10 bins of equal width, or of equal mass if the scale is
            not linear or more than 80 % of the rows lie in one bin of equal width.
        band : str or None, default 'auto'
            One of these; a legend says which.

            - 'pointwise', 'simultaneous': confidence bands for each rate or for all jointly, of
              bins, splines and loess (:func:`trueness.curve_band`).
            - 'consistency', 'simultaneous-consistency': the range of each rate, or of all jointly,
              if the scores were calibrated; around the diagonal, for bins, isotonic and smooth
              curves (from curves of redrawn labels).
            - 'monotone': for any curve, a confidence band for any event probability that rises with
              the score (:func:`trueness.curve_band`).
            - 'auto': for one model, 'pointwise' for bins that do not depend on the labels, splines
              and loess, and 'simultaneous-consistency' for isotonic and smooth curves; none for
              several models.
        level : float, default 0.95
            Level of the band and of the intervals.
        scale : {'auto', 'linear', 'log', 'logit'}, default 'auto'
            'auto' is linear unless events are rare (a rate below 2 %, and 90 % of the scores below
            0.1): then it is log, or logit if some scores are large. Likewise for rare non-events.
            Linear axes then zoom in on one end of [0, 1] if nearly all scores and rates lie in that
            half; 'linear' shows all of it.
        numbers : bool, default True
            Whether to compute the noise floor of the measure, the interval of the ECE or the Brier
            score, and that of the l2 calibration error.
        resamples : int, default 99
            Number of sets of labels for the noise floor; the band of a curve without bins takes 499
            or more.
        seed : int or numpy.random.Generator, default 0
            For random draws.
        classes : sequence, optional
            The classes of a matrix to show, one panel each.
        name : str, optional
            The model, for the legend.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
            How a matrix is compared with the labels. 'classwise': each column against the rest,
            averaged over classes. 'confidence': the largest probability of each row (the first, if
            tied) against whether that class is the label. 'top-label': the same for each predicted
            class, weighted by how often it is predicted. 'multilabel': each column is a binary
            problem of its own, averaged over labels; never guessed. By default 'classwise'.
            'classwise' draws a panel per class, 'confidence' one panel, 'top-label' a panel per
            predicted class.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1; for a vector of scores, two
            classes with the positive one last. By default, columns whose names are the classes are
            matched by name. Otherwise the columns are in the order of the categories (of a pandas
            Categorical, Polars Enum or ordered Arrow dictionary, unused categories included) or,
            without categories, in the order of the sorted labels.
        pos_label : optional
            The label that a vector of scores predicts, if labels are not 0/1.
        sample_weight : array-like of shape (n,), optional
            Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
        weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
            What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
            rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes
            whole numbers as frequencies, with a warning in functions that infer, and other weights
            as importance.
        missing : {'raise', 'drop'}, default 'raise'
            What to do with rows that have a missing value: raise an error, or drop them with a
            warning.
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
        ReliabilityDisplay

        Notes
        -----
        Curve, measure and pointwise bands use all rows. With more than 100,000 distinct scores,
        noise floor and interval use scores pooled within bins to about 4,096 cells, and the bands
        of more than 100,000 rows about 512. The labels of a curve without bins are redrawn for at
        most about 4,096 cells, the outermost 512 scores at either end being cells of their own.
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
        from trueness.measure._curve import CURVE_METHODS

        check_seed(seed)
        checked_whole(resamples, "resamples", _MOST_DRAWS)
        method: Any = checked_word(curve, "curve", CURVE_METHODS)
        rule = None if bins is None else as_rule(bins)
        models = tallies(y_true, y_prob, name, rows, rule)
        data = problems(models, classes)
        chosen = scale_of(data, scale)
        if rule is None:
            rule = bins_of(data, chosen)
        elif method != "binned":
            raise InputError(
                "bins",
                "is only for `curve='binned'`",
                f"{method!r} has none",
                remedy="Leave it out.",
            )
        band = _checked_band(band, method, rule, len(models))
        if method == "spline":
            from trueness.measure._flexible_curve import warn_certain_scores

            for tally in models.values():
                warn_certain_scores(tally)
        with collected_warnings():
            # Reading the rows has given all warnings about them.
            curves = [from_rows(problem, method, rule) for problem in data]
            points = [column for c in curves for column in (c["curve"].x, c["curve"].y)]
            edges = edges_of(data, chosen, points, zoom=scale == "auto")
            make = partial(
                from_problem,
                band=band,
                edges=edges,
                method=method,
                rule=rule,
                level=level,
                seed=seed,
            )
            draws = resamples if numbers else 0
            record = [
                make(problem, computed, resamples=draws)
                for problem, computed in zip(data, curves, strict=True)
            ]
        return cls(record, scale=chosen)._drawn(ax)

    def plot(
        self,
        ax: Panels | None = None,
        *,
        style: Literal["markers", "bars"] = "markers",
        histogram: bool = True,
        numbers: bool = True,
        legend: bool = True,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, or one per class, optional
            Where to draw; by default a new figure. Its lower part becomes the histogram.
        style : {'markers', 'bars'}, default 'markers'
            Binned curves as connected markers whose area grows with the number of rows, or as bars.
        histogram : bool, default True
            Whether to draw the distribution of the scores below the diagram.
        numbers : bool, default True
            Whether to write the measure, its noise floor and the interval: in a corner, or in the
            legend for several models.
        legend : bool, default True
            Whether to name the models and to say what the band is.
        """
        if style not in ("markers", "bars"):
            raise InputError("style", "must be 'markers' or 'bars'", f"got {style!r}")
        if style == "bars" and len({record.name for record in self.series}) > 1:
            raise InputError(
                "style",
                "must be 'markers' for several models, whose bars hide each other",
                "got 'bars'",
            )
        self._close_replaced()
        self.lines_, self.axes_, self.histogram_axes_ = draw_series(
            self.series,
            self.scale,
            ax,
            bars=style == "bars",
            histogram=histogram,
            numbers=numbers,
            legend=legend,
        )
        self.line_ = self.lines_[0]
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        return self

    def to_text(self, *, width: int = 64, height: int = 16) -> str:
        """The diagram as text for a terminal; needs no matplotlib.

        Parameters
        ----------
        width, height : int
            Columns and lines of the diagram itself.

        Returns
        -------
        str
            One diagram per model and class, one below the other.
        """
        return "\n\n".join(
            unicode_diagram(record, width=width, height=height) for record in self.series
        )


def from_rows(problem: Problem, method: CurveMethod, rule: BinRule) -> dict[str, Any]:
    """The curve of all rows, its number and, if isotonic, the decomposition of the score."""
    from trueness.measure import _curve, corp, ece, ici, smooth_ece

    computed: dict[str, Any] = {"value": float("nan"), "decomposition": None}
    if method == "binned":
        computed["curve"] = _curve.curve_of_bins(problem.tally.coarsen(rule).parts[0], repr(rule))
    elif method == "isotonic" or method == "smooth":
        computed["curve"] = _curve.curve_of_cells(problem.cells, method)
    else:
        from trueness.measure._flexible_curve import fit_curve

        computed["curve"] = _curve.flexible_curve(problem.cells, fit_curve(problem.cells, method))
    if problem.cells.size and method == "isotonic":
        computed["decomposition"] = corp(problem.tally)
        computed["value"] = computed["decomposition"].miscalibration
    elif problem.cells.size:
        measures: dict[str, Any] = {
            "binned": partial(ece, bins=rule),
            "smooth": smooth_ece,
            "spline": partial(ici, curve="spline"),
            "loess": partial(ici, curve="loess"),
        }
        computed["value"] = measures[method](problem.tally)
    return computed


def from_problem(
    problem: Problem,
    computed: dict[str, Any],
    band: Band | None,
    edges: Floats,
    *,
    method: CurveMethod,
    rule: BinRule,
    **draws: Option,
) -> Reliability:
    """The record of one model and class; `draws` are the level, the resamples and the seed."""
    name, label, kind, cells = problem
    fields = computed | {
        "name": name,
        "label": label,
        "kind": kind,
        "histogram": histogram_of(cells, edges),
    }
    fields |= {"n": int(cells.count.sum()), "measure": _MEASURES[method]}
    if not cells.size:
        return Reliability(**fields, band=None, floor=None, interval=None, note="no rows")
    (width,) = computed["curve"].bandwidth or (0.0,)
    if cells.size > _MANY:
        cells = pool_cells(cells, _POOLS, rule.group(cells).start if method == "binned" else None)
    pooled = Tally("binary", (cells,))
    around = pooled if method == "binned" else problem.tally
    fields["band"] = from_band(around, band, width, method, rule, **draws)
    return Reliability(**fields, **from_numbers(computed["value"], pooled, method, rule, **draws))


def from_band(
    pooled: Tally,
    band: Band | None,
    width: float,
    method: CurveMethod,
    rule: BinRule,
    level: float,
    resamples: int,
    seed: Seed,
) -> Bands | CurveBand | None:
    """The band of this kind around the curve; None if there is no kind or nothing is finite."""
    if band is None:
        return None
    if band == "monotone":
        return from_monotone_band(pooled, method, level)
    if method == "spline" or method == "loess":
        from trueness.infer.band._flexible_bands import band_of_cells

        kind: Any = "pointwise" if band == "pointwise" else "simultaneous"
        around = band_of_cells(pooled.parts[0], method, kind, level)
        if np.isnan(around.low).all():
            return None
        return around
    if method == "binned":
        from trueness.infer import curve_band

        if pooled.n > _MANY:  # the exact distribution of many rows is slow, and fewer cells suffice
            cells = pooled.parts[0]
            pooled = Tally("binary", (pool_cells(cells, _BAND_POOLS, rule.group(cells).start),))
        return curve_band(pooled, bins=rule, band=band, level=level, method="bins")
    from trueness.infer.band._reliability_bands import consistency_of_curve

    kind = "consistency" if band == "consistency" else "simultaneous-consistency"
    draws: Any = {"resamples": max(_CURVES, resamples), "seed": seed}
    return consistency_of_curve(
        pooled.parts[0], method, bandwidth=width, level=level, band=kind, **draws
    )


def from_monotone_band(tally: Tally, method: CurveMethod, level: float) -> CurveBand:
    """The monotone band with its steps written out, so that straight lines join its points."""
    from trueness.infer import curve_band

    band = curve_band(tally, level=level, method="monotone")
    # From one score to the next, the lower end is that of the left one and the upper end that of
    # the right one.
    x = np.repeat(band.score, 3)
    low = np.repeat(band.low, 3)
    high = np.repeat(band.high, 3)
    low[3::3] = band.low[:-1]
    high[2:-1:3] = band.high[1:]
    return CurveBand(x, low, high, level, method, 0, "monotone")


def from_numbers(
    value: float,
    pooled: Tally,
    method: CurveMethod,
    rule: BinRule,
    level: float,
    resamples: int,
    seed: Seed,
) -> dict[str, Any]:
    """The noise floor and the intervals; None, with a note, if they cannot be computed."""
    from trueness._assess.estimate import estimate
    from trueness._assess.interval import ece_interval
    from trueness._assess.noise_floor import noise_floor
    from trueness.measure import ece, ici

    measures: dict[str, Any] = {
        "binned": partial(ece, bins=rule),
        "isotonic": "miscalibration",
        "smooth": "smooth_ece",
        "spline": partial(ici, curve="spline"),
        "loess": partial(ici, curve="loess"),
    }
    measure = measures[method]
    numbers: dict[str, Any] = {"floor": None, "interval": None, "note": ""}
    if resamples:
        try:
            if not np.isnan(value):
                draws: dict[str, Any] = {"resamples": resamples, "seed": seed, "progress": False}
                numbers["floor"] = noise_floor(measure, pooled, observed=value, **draws)
            numbers["interval"] = ece_interval(pooled, level=level, seed=seed)
            if method == "binned":
                numbers["estimate"] = estimate(
                    "ece", pooled, bins=rule, level=level, seed=seed, floor=False
                )
            elif method == "isotonic":
                numbers["estimate"] = estimate("brier", pooled, level=level)
        except InputError as reason:
            numbers["note"] = str(reason)
    return numbers


def _checked_band(band: Option, method: CurveMethod, rule: BinRule, models: int) -> Band | None:
    """The kind of band to compute; None for no band.

    'auto' is the first one for the curve, and none for several models or for bins that depend on
    the labels.
    """
    if band == "auto":
        depends_on_labels = method == "binned" and isinstance(rule, Isotonic | BlockIsotonic)
        if models > 1 or depends_on_labels:
            return None
        return BANDS[method][0]
    if band is not None and band not in BANDS["binned"]:
        raise InputError(
            "band",
            f"must be 'auto', {', '.join(map(repr, BANDS['binned']))} or None",
            f"got {band!r}",
        )
    if band is not None and band not in BANDS[method]:
        allowed = ", ".join(map(repr, BANDS[method]))
        raise InputError(
            "band", f"must be {allowed} or None for `curve={method!r}`", (f"got {band!r}")
        )
    checked: Band | None = band
    return checked
