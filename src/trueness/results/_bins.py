"""Tables and summaries of binned rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._text.numbers import bin_name, level_percent, ratio, rule_in_words, span
from trueness._text.strings import align
from trueness.results._record import Record, Table
from trueness.typing import Bools, Floats, Ints, Numbers

_COLUMNS: tuple[str, ...] = (
    "label",
    "low_edge",
    "high_edge",
    "n",
    "weight",
    "score",
    "rate",
    "low",
    "high",
    "gap",
    "ratio",
    "ratio_low",
    "ratio_high",
)


@dataclass(frozen=True)
class Bin(Record):
    """One non-empty bin, as passed to a loss function of your own."""

    _columns = ("scores", "score_weights")

    low_edge: float
    """Lower edge, inside the bin."""
    high_edge: float
    """Upper edge, outside the bin unless it is the last."""
    n: int
    """Rows of positive weight."""
    weight: float
    """Total weight of the rows."""
    events: float
    """Weight of the rows whose label is 1."""
    score: float
    """Mean score."""
    rate: float
    """Event rate."""
    scores: Floats
    """The distinct scores, ascending."""
    score_weights: Numbers
    """The weight of each distinct score."""

    def __str__(self) -> str:
        edges = bin_name(self.low_edge, self.high_edge, last=self.high_edge == 1)
        return f"bin {edges}: score {self.score:.4f}, rate {self.rate:.4f} (n = {self.n:,})"


@dataclass(frozen=True)
class BinTable(Record):
    """One row per bin, including empty bins.

    The columns are arrays of equal length; :meth:`to_dict`, :meth:`rows` and :meth:`to_frame` give
    the same numbers in other forms.
    """

    _columns = _COLUMNS

    low_edge: Floats
    """Lower edge, inside the bin."""
    high_edge: Floats
    """Upper edge, outside the bin unless it is the last."""
    n: Ints
    """Rows of positive weight."""
    weight: Numbers
    """Total weight of the rows."""
    score: Floats
    """Mean score; nan in an empty bin."""
    rate: Floats
    """Event rate; nan in an empty bin."""
    low: Floats
    """Lower end of the interval for the event rate."""
    high: Floats
    """Upper end."""
    gap: Floats
    """Event rate − mean score."""
    label: tuple[Any, ...] | None
    """The class of each row of the table; None for a single problem."""
    kind: str
    """The view: 'binary', 'classwise', 'confidence', 'top-label' or 'multilabel'."""
    level: float
    """Level of each interval by itself."""
    interval: str
    """The kind of interval, and the counts it uses."""

    def __len__(self) -> int:
        return int(self.n.size)

    @property
    def ratio(self) -> Floats:
        """Observed / expected events: event rate / mean score.

        If none is expected: inf with events, else nan.
        """
        return self.over_score(self.rate)

    @property
    def ratio_low(self) -> Floats:
        """`low` / mean score: the lower limit of the ratio.

        Exact if the interval of the rate is.
        """
        return self.over_score(self.low)

    @property
    def ratio_high(self) -> Floats:
        """`high` / mean score: the upper limit."""
        return self.over_score(self.high)

    def over_score(self, rates: Floats) -> Floats:
        """Rates divided by the mean score of their bin."""
        with np.errstate(divide="ignore", invalid="ignore"):
            # Without expected events all three are 0/0 or all are infinite, whatever the limits of
            # the rate.
            return np.asarray(np.where(self.score == 0, self.rate, rates) / self.score)

    def _entries(self) -> dict[str, Any]:
        """Columns as lists, then kind, level and interval."""
        return self.columns() | {"kind": self.kind, "level": self.level, "interval": self.interval}

    def __str__(self) -> str:
        """A table with a line for each bin, and the class of each if there are several."""
        limits = f"{level_percent(self.level)} interval"
        head = ["bin", "n", "score", "rate", limits, "gap", "O/E", limits]
        lines = [self._line(i) for i in range(len(self))]
        if self.label is not None:
            title = "label" if self.kind == "multilabel" else "class"
            head.insert(0, title)
            lines = [[str(name), *line] for name, line in zip(self.label, lines, strict=True)]
        return align([head, *lines], [i >= len(head) - 7 for i in range(len(head))])

    def _line(self, i: int) -> list[str]:
        """The cells of the i-th bin as text; a bin without rows has its name and 0 only."""
        last = i == len(self) - 1 or self.low_edge[i + 1] < self.high_edge[i]
        start = bin_name(self.low_edge[i], self.high_edge[i], last=last), f"{self.n[i]:,}"
        if self.n[i] == 0:
            return [*start, *[""] * 6]
        interval = "" if np.isnan(self.low[i]) else f"{self.low[i]:.4f} to {self.high[i]:.4f}"
        if np.isnan(self.ratio_low[i]):
            limits = ""
        else:
            limits = span(self.ratio_low[i], self.ratio_high[i], ratio)
        numbers = f"{self.score[i]:.4f}", f"{self.rate[i]:.4f}", interval, f"{self.gap[i]:+.4f}"
        return [*start, *numbers, ratio(self.ratio[i]), limits]


@dataclass(frozen=True)
class Bands(BinTable):
    """A table of bins whose columns `low` and `high` are a band.

    'pointwise' and 'simultaneous' bands surround the rate and should contain the mean score;
    'consistency' bands surround the score and should contain the rate.
    """

    _columns = (*_COLUMNS, "outside")

    band: str
    """'pointwise', 'simultaneous', 'consistency' or 'simultaneous-consistency'."""
    level_each: float
    """Level of each bin by itself (the smallest, if classes differ); equals `level` unless
    simultaneous."""

    @property
    def outside(self) -> Bools:
        """Whether the mean score (the rate, for consistency) lies outside the band.

        False in an empty bin.
        """
        value = self.rate if self.band.endswith("consistency") else self.score
        with np.errstate(invalid="ignore"):
            return np.asarray((value < self.low) | (value > self.high))

    def _entries(self) -> dict[str, Any]:
        """Columns as lists, then the fields that describe the whole table."""
        return super()._entries() | {"band": self.band, "level_each": self.level_each}


@dataclass(frozen=True)
class TestedBins(Table):
    """The bins behind the test-based calibration error.

    One row per non-empty bin, in order of the scores.
    """

    __test__ = False
    _columns = ("low_edge", "high_edge", "n", "weight", "rejected", "rate", "score")

    low_edge: Floats
    """Lower edge, inside the bin."""
    high_edge: Floats
    """Upper edge, outside the bin unless it is the last."""
    n: Ints
    """Rows of positive weight."""
    weight: Numbers
    """Total weight of the rows."""
    rejected: Numbers
    """Weight of the rows whose prediction the test rejects."""
    rate: Floats
    """Event rate."""
    score: Floats
    """Mean score."""
    places: Floats
    """A grid from the smallest to the largest score of the bin, one row per bin."""
    density: Floats
    """Density of the scores at each place; the largest value in a bin is 1."""
    tce: float
    """Test-based calibration error, a percentage."""
    alpha: float
    """Level of each test."""
    test: str
    """The test."""
    bins: str
    """The bin rule as a Python expression."""

    def __str__(self) -> str:
        bins = rule_in_words(self.bins)
        details = f"{self.test} test at {self.alpha:g}, {bins}, n = {self.n.sum():,}"
        return f"test-based calibration error {self.tce:.4g} % ({details})"


@dataclass(frozen=True)
class Histogram(Record):
    """The weight of the scores between neighbouring edges."""

    _columns = ("edges", "weight")

    edges: Floats
    """Edges, one more than there are bars; a bar includes its left edge, the last one both."""
    weight: Numbers
    """Total weight of each bar: the number of rows if there are no sample weights."""

    def columns(self) -> dict[str, list[Any]]:
        """One row per bar: its edges and its weight."""
        edges = self.edges.tolist()
        weight = self.weight.tolist()
        return {"low_edge": edges[:-1], "high_edge": edges[1:], "weight": weight}

    def __str__(self) -> str:
        return f"histogram of {self.weight.size} bars, total weight {self.weight.sum():,g}"


@dataclass(frozen=True)
class EstimationError(Record):
    """Variance of the labels within bins, summarised in two ways."""

    total: float
    """Mean over rows: Σ (N_b/N) Var_b."""
    average: float
    """Mean over bins: (1/B) Σ Var_b."""
    n_bins: int
    """Non-empty bins."""

    def __str__(self) -> str:
        return (
            f"within-bin error {self.total:.4f} in total, {self.average:.4f} on average over "
            f"{self.n_bins} bins"
        )
