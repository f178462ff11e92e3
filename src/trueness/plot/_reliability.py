"""Reliability diagrams."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, Unpack

import numpy as np

from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import BinRule, BinsLike, EqualMass, EqualWidth, Isotonic, as_rule, pooled_cells
from trueness._tally.tally import Tally
from trueness.errors import InputError, TruenessWarning
from trueness.plot._models import Problem, problems, scores_of, tallies
from trueness.plot._reliability_drawing import drawn
from trueness.plot._scale import edges_of, histogram_of, scale_of
from trueness.plot._text import unicode_diagram
from trueness.results import Curve, Decomposition, Reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from trueness._tally.cells import Cells
    from trueness.plot._canvas import Scale
    from trueness.typing import ArrayLike, Floats, RowOptions

__all__ = ["ReliabilityDisplay"]

Band: TypeAlias = Literal["pointwise", "simultaneous", "consistency", "simultaneous-consistency"]
CurveMethod: TypeAlias = Literal["binned", "isotonic", "smooth"]
_BANDS = ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")
_MEASURES = {"binned": "ECE", "isotonic": "MCB", "smooth": "smECE"}
# Above so many distinct scores, what is redrawn is redrawn for so many pools of them.
_MANY, _POOLS, _BAND_POOLS = 100_000, 4096, 512


class ReliabilityDisplay:
    """Reliability diagram: how often events happened, against the score they were given.

    Make one with :meth:`from_predictions` or :meth:`from_estimator`; :meth:`plot` draws it and :meth:`to_text`
    writes it for a terminal. The display holds its numbers and computes nothing while drawing.

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
    histogram_axes_ : list of matplotlib Axes
        The axes below the panels, empty without histograms.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from trueness.plot import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2)
    >>> round(display.series[0].value, 6)
    0.15
    >>> display.series[0].curve.y.tolist()
    [0.0, 1.0]
    """

    line_: Line2D
    lines_: list[Line2D]
    ax_: Axes
    axes_: list[Axes]
    histogram_axes_: list[Axes]
    figure_: Any

    def __init__(self, series: Sequence[Reliability], *, scale: Scale = "linear") -> None:
        if not series:
            raise InputError("series", "must hold at least one record", "got none")
        self.series = tuple(series)
        self.scale = scale

    @classmethod
    @takes_rows
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
        **rows: Unpack[RowOptions],
    ) -> Self:
        """Everything that the diagram of labels and scores needs.

        Parameters
        ----------
        y_true : array-like of shape (n,), Tally, or mapping of names to tallies
            As for :func:`trueness.ece`.
        y_prob : array-like of shape (n,) or (n, K), or mapping of names to such
            As for :func:`trueness.ece`; a mapping holds one set of scores per model, drawn on one axes.
        curve : {'binned', 'isotonic', 'smooth'}, default 'binned'
            As `method` of :func:`trueness.reliability_curve`. An isotonic curve comes with the decomposition of the
            Brier score (:func:`trueness.corp`).
        bins : int, sequence of edges or bin rule, optional
            For a binned curve. By default 10 bins of equal width, or of equal mass if the scale is not linear.
        band : {'auto', 'pointwise', 'simultaneous', 'consistency', 'simultaneous-consistency'} or None, default 'auto'
            As for :func:`trueness.reliability_bands`. 'auto' is 'pointwise' for the bins of one model, if they do not
            look at the labels, 'consistency' for its isotonic or smooth curve, and none for several models. Curves
            without bins have a 'consistency' band only, from curves of redrawn labels.
        level : float, default 0.95
            Level of the band.
        scale : {'auto', 'linear', 'log', 'logit'}, default 'auto'
            'auto' is linear unless events are rare (a rate below 2 %, and nine of ten scores below 0.1): then it is
            log, or logit if some of the scores are large as well. The same the other way round, for rare non-events.
        numbers : bool, default True
            Whether to find the noise floor of the number that is shown, and the interval of the l2 calibration error.
        resamples : int, default 99
            How many times labels are redrawn for a noise floor, and for the band of a curve without bins.
        seed : int or numpy.random.Generator, default 0
            For what is drawn; one number gives one picture.
        classes : sequence, optional
            Which classes of a matrix to show, one panel each.
        name : str, optional
            The model, for the legend.
        **rows
            As for :func:`trueness.ece`; for a matrix `kind` is 'classwise' (a panel per class), 'confidence' (one panel
            for the top label) or 'top-label' (a panel per predicted class).

        Returns
        -------
        ReliabilityDisplay

        Notes
        -----
        Curve, number and pointwise bands are those of all rows. With more than 100,000 distinct scores, noise
        floor and interval are found after pooling scores of one bin, to about 4,096 cells in all, and the bands of
        more than 100,000 rows after pooling to about 512.
        """
        from trueness.measure._curve import checked_method

        method = checked_method(curve)
        rule = None if bins is None else as_rule(bins)
        models = tallies(y_true, y_prob, name, rows, rule)
        found = problems(models, classes)
        chosen = scale_of(found, scale)
        if rule is None:
            rule = EqualWidth(10) if chosen == "linear" else EqualMass(10)
        elif method != "binned":
            raise InputError("bins", "is for `curve='binned'`", f"{method!r} has none", remedy="Leave it out.")
        wanted = _band(band, method, rule, len(models))
        with warnings.catch_warnings():
            # What there is to say of the rows has been said of all of them.
            warnings.simplefilter("ignore", TruenessWarning)
            seen = [from_rows(problem, method, rule) for problem in found]
        edges = edges_of(found, chosen, [*(s.curve.x for s in seen), *(s.curve.y for s in seen)])
        make = partial(from_problem, method, rule, wanted, level, edges, resamples if numbers else 0, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruenessWarning)
            return cls([make(*each) for each in zip(seen, found, strict=True)], scale=chosen)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """The diagram of a fitted scikit-learn classifier.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
            Two classes give the scores of the second one, or of `pos_label`; more, a matrix.
        X : array-like of shape (n, p)
            Features of rows that the estimator was not fitted on.
        y : array-like of shape (n,)
            What happened.
        **options
            As for :meth:`from_predictions`; the name is that of the estimator's class unless given.

        Returns
        -------
        ReliabilityDisplay
        """
        y_prob, options = scores_of(estimator, X, options)
        return cls.from_predictions(y, y_prob, **({"name": type(estimator).__name__} | options))

    def plot(
        self,
        ax: Any = None,
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
            Where to draw; without it a new figure is made. Its lower part becomes the histogram.
        style : {'markers', 'bars'}, default 'markers'
            Binned curves as markers whose area grows with the number of rows, joined by lines; or as bars.
        histogram : bool, default True
            Whether to draw how the scores are spread, under the diagram.
        numbers : bool, default True
            Whether to write the number, its noise floor and its interval: in a corner, or in the legend of several
            models.
        legend : bool, default True
            Whether to name several models.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        if style not in ("markers", "bars"):
            raise InputError("style", "must be 'markers' or 'bars'", f"got {style!r}")
        if style == "bars" and len({record.name for record in self.series}) > 1:
            raise InputError("`style='bars'` draws one model, since bars of several hide each other; use 'markers'.")
        found = drawn(
            self.series, self.scale, ax, bars=style == "bars", histogram=histogram, numbers=numbers, legend=legend
        )
        self.lines_, self.axes_, self.histogram_axes_ = found
        self.line_, self.ax_ = self.lines_[0], self.axes_[0]
        self.figure_ = self.ax_.figure
        return self

    def to_text(self, *, width: int = 64, height: int = 16) -> str:
        """The diagram in letters, for a terminal; needs no matplotlib.

        Parameters
        ----------
        width, height : int
            Columns and lines of the diagram itself.

        Returns
        -------
        str
            One diagram per model and class, one below the other.
        """
        return "\n\n".join(unicode_diagram(record, width=width, height=height) for record in self.series)


class _Seen(NamedTuple):
    """What all rows of a problem show."""

    curve: Curve
    value: float
    decomposition: Decomposition | None


def from_rows(problem: Problem, method: CurveMethod, rule: BinRule) -> _Seen:
    """The curve and its number."""
    from trueness.measure._binned import norm_of_gaps
    from trueness.measure._corp import corp_of_blocks
    from trueness.measure._curve import curve_of_bins, curve_of_cells, isotonic_curve, smooth_curve, smooth_fit

    if method == "binned":  # one pass over the scores serves both
        (bins,) = problem.tally.coarsen(rule).parts
        value = norm_of_gaps(bins, 1.0) if problem.cells.size else float("nan")
        return _Seen(curve_of_bins(bins, repr(rule)), value, None)
    if not problem.cells.size:
        return _Seen(curve_of_cells(problem.cells, method), float("nan"), None)
    if method == "smooth":
        value, width = smooth_fit(problem.cells)
        return _Seen(smooth_curve(problem.cells, width), value, None)
    start = Isotonic().group(problem.cells).start
    apart = corp_of_blocks(problem.tally, lambda _: start[:-1])
    return _Seen(isotonic_curve(problem.cells, start), apart.miscalibration, apart)


def from_problem(
    method: CurveMethod,
    rule: BinRule,
    band: Band | None,
    level: float,
    edges: Floats,
    resamples: int,
    seed: Any,
    seen: _Seen,
    problem: Problem,
) -> Reliability:
    """The record of one model and class."""
    cells, known = problem.cells, seen._asdict()
    known |= {
        "name": problem.name,
        "label": problem.label,
        "histogram": histogram_of(cells, edges),
        "kind": problem.kind,
        "n": int(cells.count.sum()),
        "measure": _MEASURES[method],
    }
    if not cells.size:
        return Reliability(**known, band=None, floor=None, interval=None, note="no rows")
    width = 0.0 if seen.curve.bandwidth is None else seen.curve.bandwidth[0]
    few = _few(cells, _POOLS, rule if method == "binned" else None)
    return Reliability(
        **known,
        band=from_band(few, method, rule, band, level, width, resamples or 99, seed),
        **from_numbers(seen.value, few, method, rule, resamples, seed),
    )


def from_band(
    few: Tally,
    method: Any,
    rule: BinRule | None,
    band: Band | None,
    level: float,
    width: float,
    resamples: int,
    seed: Any,
) -> Any:
    """The band that was asked for."""
    if band is None:
        return None
    if method == "binned":
        from trueness.infer import reliability_bands

        if few.n > _MANY:  # the exact law of many rows takes time, and fewer pools do as well
            few = Tally("binary", (pooled_cells(few.parts[0], _BAND_POOLS, rule),))
        return reliability_bands(few, bins=rule, band=band, level=level)
    from trueness.infer._bands import consistency_of_curve

    return consistency_of_curve(
        few.parts[0], method, bandwidth=width, level=level, resamples=max(99, resamples), seed=seed
    )


def from_numbers(
    value: float, few: Tally, method: CurveMethod, rule: BinRule, resamples: int, seed: Any
) -> dict[str, Any]:
    """What a calibrated model would show, and the interval; what cannot be had is None, and why."""
    from trueness.infer import ece_interval, noise_floor
    from trueness.measure import corp, ece, smooth_ece

    def miscalibration(tally: Tally) -> float:
        return corp(tally).miscalibration

    measure: Any = {"binned": partial(ece, bins=rule), "isotonic": miscalibration, "smooth": smooth_ece}[method]
    found: dict[str, Any] = {"floor": None, "interval": None, "note": ""}
    if resamples:
        try:
            # A smooth error is found by long transforms, which leave the interpreter to other threads.
            workers = 2 if method == "smooth" else 1
            found["floor"] = noise_floor(
                measure, few, observed=value, resamples=resamples, seed=seed, workers=workers, progress=False
            )
            found["interval"] = ece_interval(few, seed=seed)
        except InputError as reason:
            found["note"] = str(reason)
    return found


def _few(cells: Cells, most: int, rule: BinRule | None) -> Tally:
    return Tally("binary", (cells if cells.size <= _MANY else pooled_cells(cells, most, rule),))


def _band(band: Any, method: str, rule: BinRule, models: int) -> Band | None:
    looks = type(rule).__name__ in ("Isotonic", "BlockIsotonic")
    if band == "auto":
        if models > 1 or (looks and method == "binned"):
            return None
        return "pointwise" if method == "binned" else "consistency"
    if band is not None and band not in _BANDS:
        raise InputError("band", f"must be 'auto', {', '.join(map(repr, _BANDS))} or None", f"got {band!r}")
    if method != "binned" and band not in (None, "consistency"):
        raise InputError("band", f"must be 'consistency' or None for a curve that is {method}", f"got {band!r}")
    checked: Band | None = band
    return checked
