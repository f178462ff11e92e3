"""Tables by rating grade, as credit validation reports have them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from trueness._text.numbers import (
    MISSING,
    level_percent,
    number,
    p_value,
    ratio,
    signed,
    span,
    total,
)
from trueness._text.strings import align, display_width, shorten, visible, wrap
from trueness.results._inference import Estimate
from trueness.results._record import Record, Table, html_cell, html_table, html_text

Light: TypeAlias = Literal["green", "amber", "red", "no power", ""]

_WIDTH = 100
_SHORTEST_NAME = 8
_TITLES = {
    "grade": "grade",
    "n": "n",
    "score": "PD %",
    "expected": "exp.",
    "events": "obs.",
    "rate": "rate %",
    "low": "limits",
    "ratio": "O/E",
    "amber_above": "amber >",
    "red_above": "red >",
    "pvalue": "p",
    "light": "light",
}


@dataclass(frozen=True)
class Grade(Record):
    """One grade: events expected and observed, and whether chance explains the difference."""

    grade: str
    """Its name."""
    n: int
    """Rows; a row of weight 2 counts as two if all weights are whole numbers."""
    weight: float
    """Total weight of the rows."""
    score: float
    """Mean score: the predicted probability of default (PD)."""
    expected: float
    """Expected events: the sum of the scores, by weight."""
    events: float
    """Observed events, by weight."""
    rate: float
    """Observed event rate."""
    low: float
    """Lower exact limit of the rate: Clopper and Pearson's, or with a correlation that of the
    one-factor model."""
    high: float
    """Upper limit."""
    ratio: float
    """Observed divided by expected events; if none is expected, inf with events, else nan."""
    ratio_low: float
    """Lower exact limit of the ratio: `low` / `score`."""
    ratio_high: float
    """Upper limit."""
    limit_low: float
    """Lower limit of the event rate if the score is right, two-sided at the level of the table."""
    limit_high: float
    """Upper limit."""
    amber_above: float
    """The largest event rate that is green."""
    red_above: float
    """The largest event rate that is not red."""
    pvalue: float
    """Probability of as many events or more if the score is right."""
    pvalue_few: float
    """Probability of as few events or fewer."""
    pvalue_two_sided: float
    """Twice the smaller of both, at most 1."""
    pvalue_jeffreys: float
    """Jeffreys' test: the posterior probability that the event rate is at most the score."""
    adjusted_pvalue: float
    """`pvalue` adjusted for the number of grades by Holm's method; the total is not adjusted."""
    light: Light
    """'green', 'amber' or 'red' for too many events; 'no power' in place of green if events twice
    as frequent as the score says would more likely than not be green, too; empty without rows."""
    few: bool
    """Whether there are too few events: `pvalue_few` is at most 1 − the level of amber."""
    power: float
    """The probability of amber or red if events are twice as frequent as the score says."""
    conservative: float
    """One-sided upper limit of the rate at the level `margin` of the table; nan without one."""

    def __str__(self) -> str:
        observed = f"{total(self.events)} events, {self.expected:,.1f} expected"
        return (
            f"{self.grade}: {observed} (n = {self.n:,}), {p_value(self.pvalue)}, "
            f"{self.signal or 'no rows'}"
        )

    @property
    def signal(self) -> str:
        """The traffic light, with a remark if there are too few events."""
        if self.few:
            return f"{self.light}, few"
        return self.light


@dataclass(frozen=True)
class GradePeriods(Table):
    """The observed rate of each grade in each period, and its average over periods."""

    _columns = ("period", "grade", "n", "score", "events", "rate")

    period: tuple[str, ...]
    """The period of each line, in ascending order."""
    grade: tuple[str, ...]
    """Its grade; 'total' for all of them."""
    n: tuple[int, ...]
    """Rows."""
    score: tuple[float, ...]
    """Mean score, nan without rows."""
    events: tuple[float, ...]
    """Observed events, by weight."""
    rate: tuple[float, ...]
    """Observed event rate, nan without rows."""
    long_run: Mapping[str, float] = field(hash=False)
    """The long-run average of each grade: the mean of its rates over the periods in which it has
    rows, each period counted once, however many rows it has."""

    def _caption(self) -> str:
        return "Observed rates by grade and period"

    def __str__(self) -> str:
        """A table of rates in percent: grades by periods, with the long-run average last."""
        periods = list(dict.fromkeys(self.period))
        cells = dict(zip(zip(self.grade, self.period, strict=True), self.rate, strict=True))
        lines = [["rate %", *map(visible, periods), "long run"]]
        for grade, average in self.long_run.items():
            rates = [cells.get((grade, period), math.nan) for period in periods]
            texts = [_percent_or_dash(rate) for rate in (*rates, average)]
            lines.append([visible(grade), *texts])
        return align(lines, [False, *([True] * (len(periods) + 1))])


def _percent_or_dash(rate: float) -> str:
    if math.isnan(rate):
        return MISSING
    return f"{100 * rate:.2f}"


@dataclass(frozen=True)
class GradeTable(Table):
    """Events by grade, from low to high risk, and in total.

    Iterate over it, or take a grade by its name: ``table["BB"].ratio``. Frames have the grades
    without the total.
    """

    _columns = ("grades",)
    _also = ("rule",)

    grades: tuple[Grade, ...]
    """The grades in their order."""
    total: Grade
    """All rows together."""
    offset: Estimate
    """Central tendency: the shift of all log-odds after which as many events are expected as were
    observed."""
    inversions: tuple[tuple[str, str], ...]
    """Neighbouring grades of which the riskier has the lower observed rate."""
    level: float
    """Confidence level of the limits."""
    amber: float
    """Above the limit of this one-sided level a grade is amber."""
    red: float
    """Above the limit of this one-sided level a grade is red."""
    correlation: float
    """Asset correlation; 0 if rows are independent."""
    portfolio: Literal["infinite", "finite"]
    """Whether limits and lights with a correlation are those of an infinitely large grade."""
    margin: float | None
    """The one-sided level of `conservative`; None if it was not asked for."""
    notes: tuple[str, ...]
    """Anything else to know."""
    periods: GradePeriods | None = None
    """Each period by itself and the long-run averages; None without a column of periods."""

    def __iter__(self) -> Iterator[Grade]:
        return iter(self.grades)

    def __getitem__(self, name: str) -> Grade:
        """The grade of this name, or the total; an unknown name is an error that lists all."""
        for grade in (*self.grades, self.total):
            if grade.grade == name:
                return grade
        raise KeyError(
            f"{name!r}; there are "
            f"{', '.join(str(grade.grade) for grade in (*self.grades, self.total))}"
        )

    def _entries(self) -> dict[str, Any]:
        """Columns as lists, then the fields that describe the whole table."""
        return self.columns() | {
            name: value for name, value in super()._entries().items() if name != "grades"
        }

    @property
    def rule(self) -> str:
        """The rule behind the traffic lights, in words."""
        law = "the binomial distribution with the mean PD of the grade; rows are independent"
        if self.correlation > 0:
            law = f"Vasicek's one-factor model with asset correlation {self.correlation:g}"
            if self.portfolio == "infinite":
                law += (
                    ", for an infinitely large grade; p-values and few include the chance within "
                    "the grade"
                )
            else:
                law += ", for the number of rows of the grade"
        amber = level_percent(self.amber)
        red = level_percent(self.red)
        return (
            f"Lights, each grade by itself: green up to the {amber} limit of the number of "
            f"events if the PD is right, amber above it, red above the {red} limit; no power: "
            "not above it, but twice as many expected events would more likely than not stay "
            "below it, too; few: this number of events or fewer has a probability of at most "
            f"{level_percent(1 - self.amber)}, so that the PD is conservative. Limits are "
            f"one-sided, from {law}."
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """Central tendency, order of the grades, joint p-value and notes as sentences."""
        offset = self.offset
        centre = (
            f"Central tendency: observed {_rate(self.total.rate)}, predicted "
            f"{_rate(self.total.score)}"
        )
        if offset.bounded:
            limits = span(offset.low, offset.high, partial(signed, decimals=3))
            centre += (
                f"; a shift of all log-odds by {signed(offset.value, 3)} "
                f"({level_percent(self.level)} {limits}) makes them equal"
            )
        sentences = [f"{centre}."]
        if self.margin is not None:
            sentences.append(
                "Margin of conservatism: the observed rate is at most "
                f"{_rate(self.total.conservative)} at {level_percent(self.margin)} confidence, "
                f"one-sided, which is {_rate(self.total.conservative - self.total.rate)} above "
                "the observed one."
            )
        if len(self) > 1:
            sentences.append(self._order)
        pvalues = [grade.adjusted_pvalue for grade in self.grades]
        pvalues = [pvalue for pvalue in pvalues if not math.isnan(pvalue)]
        if pvalues:
            joint = p_value(min(pvalues))
            sentences.append(f"Too many events in any grade: {joint}, adjusted by Holm's method.")
        return (*sentences, *filter(None, self.notes))

    @property
    def _order(self) -> str:
        """Whether observed rates rise from grade to grade."""
        if not self.inversions:
            return "Order: observed rates never fall from grade to grade."
        pairs = ", ".join(f"{b} below {a}" for a, b in self.inversions)
        return f"Order: observed rates are inverted: {pairs}."

    @property
    def titles(self) -> dict[str, str]:
        """The titles of a printed table by the fields of a grade."""
        return _TITLES | {"low": f"{level_percent(self.level)} limits"}

    def texts(self) -> list[dict[str, str]]:
        """The cells of a printed table by the fields of a grade: a dict per grade and the total."""
        lines = (*self.grades, self.total)
        # As many as show two digits of the smallest percentage, between two and four.
        smallest = min((100 * grade.score for grade in lines if grade.score > 0), default=1.0)
        decimals = min(4, max(2, 1 - math.floor(math.log10(smallest))))
        return [_texts(grade, decimals) for grade in lines]

    def _lines(self) -> list[list[str]]:
        """The titles, then the cells of each line."""
        return [
            list(self.titles.values()),
            *([text[key] for key in self.titles] for text in self.texts()),
        ]

    def _repr_html_(self) -> str:
        head, *lines = self._lines()
        notes = map(html_text, (self.rule, *self.findings))
        return html_cell([html_text(self._caption()), html_table(head, lines), *notes])

    def __str__(self) -> str:
        """A table with a line for each grade, the rule and the findings, then the periods if any.

        Long names are shortened to what the other columns leave.
        """
        lines = self._lines()
        right = [key not in ("grade", "light") for key in self.titles]
        spare = _WIDTH - max(
            map(display_width, align([["", *line[1:]] for line in lines], right).splitlines())
        )
        table = align(
            [[shorten(line[0], max(spare, _SHORTEST_NAME)), *line[1:]] for line in lines], right
        )
        below = [wrap(text, _WIDTH) for text in (self.rule, *self.findings)]
        if self.periods is not None:
            below += ["", str(self.periods)]
        return "\n".join([table, "", *below])


def _texts(grade: Grade, decimals: int) -> dict[str, str]:
    """The cells of a grade as text, by column; a grade without rows has its name and 0 only."""

    def percent(value: float) -> str:
        return f"{100 * value:.{decimals}f}"

    def limit(rate: float) -> str:
        events = rate * grade.weight
        if abs(events - round(events)) < 1e-6:
            return f"{events:,.0f}"
        return f"{events:,.1f}"

    cells = {"grade": visible(grade.grade), "n": f"{grade.n:,}"}
    if grade.n == 0:
        return dict.fromkeys(_TITLES, "") | cells
    return cells | {
        "score": percent(grade.score),
        "expected": f"{grade.expected:,.1f}",
        "events": total(grade.events),
        "rate": percent(grade.rate),
        "low": f"{percent(grade.low)}–{percent(grade.high)}",
        "ratio": ratio(grade.ratio),
        "amber_above": limit(grade.amber_above),
        "red_above": limit(grade.red_above),
        "pvalue": p_value(grade.pvalue, named=False),
        "light": grade.signal,
    }


def _rate(value: float) -> str:
    return f"{number(100 * value, 2)} %"
