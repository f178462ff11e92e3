"""Reliability curves, their bands and decompositions, and the cumulative walk."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueness._text.numbers import count, level_percent, rule_in_words
from trueness.errors import InputError
from trueness.results._bins import Bands, Histogram
from trueness.results._inference import Estimate, Interval, NoiseFloor, Significance
from trueness.results._record import Record, Table, with_two_columns
from trueness.typing import Floats, Ints, Numbers

CURVE_COLUMNS = ("x", "y", "n", "weight", "low_edge", "high_edge")


@dataclass(frozen=True)
class Curve(Table):
    """Event rate against score: one point per bin, block, kernel position or score.

    The columns are arrays of equal length. For a matrix of scores they list the curves of all
    classes one after the other; :meth:`parts` separates them.
    """

    _columns = (*CURVE_COLUMNS, "label")

    x: Floats
    """Mean score of the rows of the point; nan in an empty bin. The place of a spline or loess."""
    y: Floats
    """Event rate of the rows of the point; nan in an empty bin. The fitted rate of a spline or
    loess."""
    n: Ints
    """Rows of positive weight; without bins or blocks, rows whose scores are nearest to the
    point."""
    weight: Numbers
    """Total weight of these rows."""
    low_edge: Floats
    """Lower edge of the bin; smallest score of the isotonic block; centre of the kernel; place of a
    spline or loess."""
    high_edge: Floats
    """Upper edge of the bin; largest score of the isotonic block; centre of the kernel; place of a
    spline or loess."""
    label: tuple[Any, ...] | None = None
    """The class of each point; None for a single problem."""
    method: str = "binned"
    """'binned', 'isotonic', 'smooth', 'spline' or 'loess'."""
    kind: str = "binary"
    """The view: 'binary', 'classwise', 'confidence' or 'top-label'."""
    bins: str = ""
    """The bin rule, in words; empty unless binned."""
    bandwidth: tuple[float, ...] | None = None
    """Width of the kernel, one per class; None unless smooth."""
    knots: tuple[tuple[float, ...], ...] | None = None
    """Knots of the spline in log-odds, one set per class; None unless a spline."""

    def parts(self) -> Iterator[tuple[Any, "Curve"]]:
        """The classes with their curves, one by one; (None, self) for a single problem."""
        if self.label is None:
            yield None, self
            return
        names = list(dict.fromkeys(self.label))
        for i, name in enumerate(names):
            inside = np.array([label == name for label in self.label])
            columns = {column: getattr(self, column)[inside] for column in CURVE_COLUMNS}
            width = None if self.bandwidth is None else (self.bandwidth[i],)
            knots = None if self.knots is None else (self.knots[i],)
            yield name, replace(self, **columns, label=None, bandwidth=width, knots=knots)

    def _entries(self) -> dict[str, Any]:
        """Columns as lists, then the fields that describe the whole curve."""
        plain = super()._entries()
        if self.label is not None:
            return plain
        return {k: v for k, v in plain.items() if k != "label"}

    def __str__(self) -> str:
        what = rule_in_words(self.bins) if self.method == "binned" else self.method
        filled = int(np.isfinite(self.y).sum())
        return (
            f"reliability curve ({what}, {self.kind}): {filled} points of {int(self.n.sum()):,} "
            "rows"
        )


@dataclass(frozen=True)
class CurveBand(Record):
    """A band for a reliability curve: around the curve, or around the diagonal."""

    _columns = ("x", "y", "low", "high")

    x: Floats
    """Scores, ascending."""
    low: Floats
    """Lower end of the band."""
    high: Floats
    """Upper end."""
    level: float
    """Level of the band: for the whole curve if it is simultaneous, otherwise for each score by
    itself."""
    method: str
    """The curve: 'isotonic', 'smooth', 'spline' or 'loess'."""
    resamples: int
    """Number of sets of labels drawn; 0 for a confidence band."""
    band: str = "simultaneous-consistency"
    """'pointwise' or 'simultaneous': a confidence band around the curve, for each score by itself
    or for all jointly. 'consistency' or 'simultaneous-consistency': the range of the curve of
    calibrated scores. 'monotone': a simultaneous confidence band for any event probability that
    rises with the score."""
    y: Floats | None = None
    """The curve, if the band is around it."""
    note: str = ""
    """What else to know about the rows."""

    @property
    def covers(self) -> str:
        """What the band has its level for, in words; '' for a band around the diagonal."""
        if self.band == "monotone":
            return "any event probability that rises with the score"
        of_curve = {
            "spline": (
                "the spline nearest to the true event probability, not bends that it cannot follow"
            ),
            "loess": "the local mean of the true event probability, not bends within it",
        }
        if self.band.endswith("consistency"):
            return ""
        return of_curve.get(self.method, "")

    def __str__(self) -> str:
        """The kind of band in a sentence; of a confidence band also its width and coverage."""
        level = level_percent(self.level)
        if self.band == "monotone":
            return f"{level} simultaneous confidence band for a rising event probability"
        scope = "simultaneous" if self.band.startswith("simultaneous") else "pointwise"
        if not self.band.endswith("consistency"):
            width = self.high - self.low
            what = (
                f"{level} {scope} confidence band of a {self.method} curve at "
                f"{count(len(self.x), 'score')}"
            )
            if np.isnan(width).all():  # or there is no score
                if len(self.x):
                    return f"{what}: no finite estimate"
                return what
            sentence = f"{what}, at most {np.nanmax(width):.4f} wide. It covers {self.covers}."
            return with_two_columns(sentence, self.note)
        return (
            f"{level} {scope} consistency band of a {self.method} curve ({self.resamples:,} "
            "resamples)"
        )


@dataclass(frozen=True)
class Decomposition(Record):
    """A proper score as miscalibration − discrimination + uncertainty."""

    score: float
    """The mean score of the predictions."""
    miscalibration: float
    """The gap to isotonic regression of the same rows; at least 0, and above it for every
    calibrated model."""
    discrimination: float
    """The gain of the recalibrated predictions over the base rate; at least 0."""
    uncertainty: float
    """The score of the base rate."""
    rule: str
    """The scoring rule: 'brier' or 'log'."""
    n: int
    """Rows of positive weight."""

    def __str__(self) -> str:
        return (
            f"{self.rule} score {self.score:.4f} = miscalibration {self.miscalibration:.4f} − "
            f"discrimination {self.discrimination:.4f} + uncertainty {self.uncertainty:.4f} (n = "
            f"{self.n:,})"
        )


@dataclass(frozen=True)
class Reliability(Record):
    """The contents of one reliability diagram.

    The curve of one model for one class, its band and its numbers.
    """

    name: str
    """The model."""
    label: Any
    """The class; None for a single problem."""
    curve: Curve
    """The points."""
    band: Bands | CurveBand | None
    """The band, if requested."""
    histogram: Histogram
    """The distribution of the scores."""
    kind: str
    """The view: 'binary', 'classwise', 'confidence' or 'top-label'."""
    n: int
    """Rows of positive weight."""
    measure: str
    """The name of the number: 'ECE', 'MCB' (of the Brier score), 'smECE' or 'ICI'."""
    value: float
    """The number; nan if there are no rows."""
    floor: NoiseFloor | None
    """Its noise floor."""
    interval: Interval | None
    """A confidence set for the l2 calibration error."""
    decomposition: Decomposition | None
    """The decomposition of the Brier score; None unless the curve is isotonic."""
    note: str
    """Why the floor or the interval is missing although requested; otherwise empty."""
    estimate: Estimate | None = None
    """The confidence interval of the ECE of bins, or of the Brier score of an isotonic curve. Other
    numbers have none that is valid, only a noise floor."""

    def __str__(self) -> str:
        who = self.name if self.label is None else f"{self.name}, class {self.label}"
        return f"{who}{': ' * bool(who)}{self.measure} {self.value:.4f}; {self.curve}"


@dataclass(frozen=True)
class Walk(Record):
    """Observed minus expected events, cumulated over the rows in order of their scores."""

    _columns = ("share", "score", "height", "half")

    share: Floats
    """Share of the weight passed so far, from 0 to 1."""
    score: Floats
    """The last score passed; at the start the smallest one."""
    height: Floats
    """Σw(y − p) over the rows passed, divided by Σw over all rows; it starts at 0."""
    half: Floats
    """Half-width of the pointwise band: each height lies within ± this with probability `level`
    under calibration."""
    level: float
    """Level of the bands."""
    reach: float
    """Half-width of the simultaneous band: the whole walk stays within ± this with probability
    `level`."""
    ks: Significance
    """Test based on the largest distance from 0."""
    kuiper: Significance
    """Test based on the distance between the highest and the lowest point."""
    n: int
    """Rows of positive weight; a row of weight 2 counts as two if all weights are whole numbers."""
    note: str = ""
    """What else to know about the rows."""

    def __str__(self) -> str:
        tests = f"KS p = {self.ks.pvalue:.2g}, Kuiper p = {self.kuiper.pvalue:.2g}"
        span = f"{self.height.min():+.4f} to {self.height.max():+.4f}"
        sentence = f"cumulative walk from {span} ({tests}, n = {self.n:,})"
        return with_two_columns(sentence, self.note)


@dataclass(frozen=True)
class MonotoneBand(Record):
    """A simultaneous confidence band for event probabilities that rise with the score.

    The columns are arrays of equal length. Between two consecutive scores the lower end is that of
    the left one and the upper end that of the right one; below the first score the lower end is 0,
    above the last the upper end is 1.
    """

    _columns = ("score", "low", "high", "distance", "share")

    score: Floats
    """Scores, ascending: the first and the last of each group of rows."""
    low: Floats
    """Lower end of the band."""
    high: Floats
    """Upper end of the band. Where it lies below `low`, no rising function fits."""
    distance: Floats = field(repr=False)
    """The largest possible distance of a score from its event probability, for the rows from the
    previous score to this one."""
    share: Floats = field(repr=False)
    """The share of these rows in all rows."""
    level: float
    """Probability that the whole band holds."""
    n: int
    """Rows; a row of weight 2 counts as two."""
    runs: int
    """Number of runs of neighbouring groups behind the band."""
    assumptions: str
    """The assumptions behind the band."""

    @property
    def widest(self) -> float:
        """The largest width, high − low."""
        return float((self.high - self.low).max())

    @property
    def rising(self) -> bool:
        """Whether any increasing function lies inside the band.

        If not, the assumption is rejected at this level.
        """
        return bool((self.low <= self.high).all())

    def share_within(self, eps: float) -> float:
        """The share of rows whose event probability is shown to be within `eps` of the score.

        At the lowest and the highest scores there are too few rows to show much, so it is hardly
        ever 1.
        """
        _check_fraction("eps", eps)
        return float(self.share[self.distance <= eps].sum())

    def within(self, eps: float, share: float = 0.95) -> bool:
        """Whether the scores of at least this share of the rows are shown to be right within `eps`.

        False if no rising function fits.
        """
        _check_fraction("share", share)
        return self.share_within(eps) >= share - 1e-12 and self.rising

    def __str__(self) -> str:
        what = f"{level_percent(self.level)} monotone band of {count(self.score.size, 'score')}"
        fits = "" if self.rising else "; no rising function fits"
        return f"{what}: at most {self.widest:.4f} wide (n = {self.n:,}){fits}. {self.assumptions}"


def _check_fraction(name: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not 0 <= value <= 1
    ):
        raise InputError(name, "must be a number between 0 and 1", f"got {value!r}")
