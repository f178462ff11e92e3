"""How far centres differ from each other, and a table of centres."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from trueness._text.numbers import count, level_percent, number, p_value, ratio, span
from trueness._text.strings import align, quoted, shorten, visible, wrap
from trueness.results._record import Record, Table

_WIDTH = 100
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Heterogeneity(Record):
    """The mean of an estimate over centres, and the values to be expected in a new centre.

    Examples
    --------
    >>> print(Heterogeneity(0.9, 0.8, 1.0, 0.05, 0.6, 1.3, 0.03, 0.01, 0.2, 0.002, 12, 0.95))
    Mean of 12 centres 0.9000 (95 % 0.8000 to 1.0000); between centres tau² = 0.0300 (95 % 0.0100 to 0.2000, p = 0.002); in a new centre at least 0.6000 to 1.3000.
    """

    mean: float
    """The mean over centres; on a log scale, exp of the mean of the logarithms."""
    low: float
    """Lower confidence limit of the mean."""
    high: float
    """Upper limit."""
    standard_error: float
    """Standard error of the mean, on the scale of `tau2`."""
    prediction_low: float
    """Lower end of the range in which the true value of a new centre lies."""
    prediction_high: float
    """Upper end. With few centres the range is too narrow more often than its level says."""
    tau2: float
    """Variance of the true values between centres (restricted maximum likelihood)."""
    tau2_low: float
    """Its lower confidence limit."""
    tau2_high: float
    """Its upper limit."""
    pvalue: float
    """The probability of differences at least as large if all centres had one true value."""
    centres: int
    """Number of centres."""
    level: float
    """Confidence level of all limits."""
    scale: Literal["identity", "log"] = "identity"
    """The scale on which centres are averaged: that of `tau2` and `standard_error`."""

    @property
    def sentence(self) -> str:
        """The finding in words."""
        level = level_percent(self.level)
        mean = (
            f"Mean of {count(self.centres, 'centre')} {number(self.mean)} ({level} "
            f"{span(self.low, self.high)})"
        )
        tau2_limits = f"{level} {span(self.tau2_low, self.tau2_high)}"
        spread = (
            f"between centres tau² = {number(self.tau2)} ({tau2_limits}, {p_value(self.pvalue)})"
        )
        new = f"in a new centre at least {span(self.prediction_low, self.prediction_high)}"
        return f"{mean}; {spread}; {new}."

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Centre(Record):
    """One centre."""

    centre: str
    """Its name."""
    n: int
    """Rows; a row of weight 2 counts as two if all weights are whole numbers."""
    events: float
    """Observed events, by weight."""
    expected: float
    """Expected events: the sum of the scores, by weight."""
    ratio: float
    """Observed divided by expected events."""
    ratio_low: float
    """Its lower limit, for this centre by itself."""
    ratio_high: float
    """Its upper limit."""
    slope: float
    """Calibration slope; nan with too few events or without a finite estimate."""
    slope_error: float
    """Its standard error."""

    def __str__(self) -> str:
        limits = f"{ratio(self.ratio_low)} to {ratio(self.ratio_high)}"
        return f"{visible(self.centre)}: O/E {ratio(self.ratio)} ({limits}, n = {self.n:,})"


@dataclass(frozen=True)
class Centres(Table):
    """Calibration centre by centre, and how far centres differ.

    Iterate over it, or take a centre by its name.
    """

    _columns = ("centres",)

    centres: tuple[Centre, ...]
    """The centres, those without events included."""
    heterogeneity: Mapping[str, Heterogeneity] = field(hash=False)
    """By measure, 'observed_expected' and 'slope', as far as two centres have it."""
    level: float
    """Confidence level of all limits; those of a centre hold for it by itself."""
    notes: tuple[str, ...] = ()
    """Anything else to know."""

    def __iter__(self) -> Iterator[Centre]:
        return iter(self.centres)

    def __getitem__(self, name: str) -> Centre:
        for centre in self.centres:
            if centre.centre == name:
                return centre
        raise KeyError(f"{name!r}; there are {', '.join(centre.centre for centre in self.centres)}")

    def _caption(self) -> str:
        return f"{count(len(self), 'centre')}: observed/expected events"

    @property
    def findings(self) -> tuple[str, ...]:
        """What is known of all centres together, and the notes, in sentences."""
        names = {"observed_expected": "O/E", "slope": "Slope"}
        spreads = [
            f"{names.get(key, key)}: {spread.sentence}"
            for key, spread in self.heterogeneity.items()
        ]
        return (*spreads, *self.notes)

    def __str__(self) -> str:
        """A table with a line for each centre, then the findings."""
        level = level_percent(self.level)
        lines = [["centre", "n", "observed", "expected", "O/E", f"{level} limits", "slope"]]
        for centre in self.centres:
            slope = number(centre.slope, 2) if not math.isnan(centre.slope) else ""
            lines.append(
                [
                    visible(shorten(centre.centre, _LONGEST_NAME)),
                    f"{centre.n:,}",
                    f"{centre.events:,.6g}",
                    f"{centre.expected:,.1f}",
                    ratio(centre.ratio),
                    f"{ratio(centre.ratio_low)}–{ratio(centre.ratio_high)}",
                    slope,
                ]
            )
        table = align(lines, [False, True, True, True, True, True, True])
        return "\n".join([table, "", *(wrap(text, _WIDTH) for text in self.findings)])


def few_in_words(names: list[str], what: str) -> str:
    """A note that leaves centres out, with the names of the first three."""
    shown = ", ".join(quoted(name) for name in names[:3])
    more = f" and {len(names) - 3:,} others" if len(names) > 3 else ""
    return f"{what}: {shown}{more}."
