"""The outcome of a gate: every quantity beside its bound, and whether all pass."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trueness._level import Level
from trueness._text.numbers import count, level_percent, number, p_value, rule_in_words
from trueness.results._record import Record

Quantity: TypeAlias = Literal["ece", "l2", "oe"]
Outcome: TypeAlias = Literal[
    "certified", "not certified", "exceeded", "not exceeded", "too good", "unknown"
]
_NAMES = {"ece": "ECE", "l2": "typical error", "oe": "O/E"}
_WORDS = {"l2": "typical error", "oe": "observed/expected"}
_ARROWS = {
    "exceeded": "fails",
    "not exceeded": "passes",
    "too good": "not passed",
    "unknown": "not passed",
}


@dataclass(frozen=True)
class Finding(Record):
    """One quantity of one model in one group, with limits that hold each with confidence `level`."""

    group: str
    """The group; empty for all rows."""
    model: str
    """The model; empty if it has no name."""
    quantity: Quantity
    """The quantity judged."""
    bins: str
    """The bins of the ECE, as Python writes them; empty for other quantities."""
    bound: float
    """How large the quantity may be; for observed/expected how far it may be from 1."""
    n: int
    """Rows."""
    estimate: float
    """Its estimate."""
    low: float
    """Lower limit."""
    high: float
    """Upper limit."""
    level: float
    """Confidence level of each limit."""
    outcome: Outcome
    """What follows."""
    pvalue: float | None = None
    """That of the equivalence test, if the bound had to be shown to be kept."""
    too_good: float | None = None
    """The p-value for labels that agree with the scores better than chance allows, where that
    decided."""
    contradicted: int = 0
    """Labels that contradict a score of exactly 0 or 1, if the bound is certified all the same."""
    condition: str = ""
    """What a certificate presumes, and the rows cannot show: that the error varies smoothly with
    the score."""
    shown_by_ties: float = 0.0
    """The l2 error that rows with the same score show, if that contradicts a certificate; otherwise
    0."""

    @property
    def passed(self) -> bool:
        """Whether the quantity passes."""
        return self.outcome in ("certified", "not exceeded")

    @property
    def name(self) -> str:
        """The quantity in a table."""
        return _NAMES[self.quantity]

    @property
    def demand(self) -> str:
        """The bound."""
        if self.quantity == "oe":
            return f"within 1 ± {self.bound:g}"
        return f"≤ {self.bound:g}"

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value allowed."""
        if self.quantity == "oe":
            return (1 - self.bound, 1 + self.bound)
        return (-math.inf, self.bound)

    @property
    def words(self) -> str:
        """The quantity in full."""
        if self.quantity == "ece":
            return f"ECE in {rule_in_words(self.bins)}"
        return _WORDS[self.quantity]

    @property
    def reason(self) -> str:
        """Why it passes or not."""
        if self.outcome == "too good":
            tail = f"{p_value(self.too_good or 0.0)}, lower tail"
            return f"too good to be true for new rows ({tail}); were the scores fitted on these?"
        if math.isnan(self.estimate):
            return f"cannot be determined{': no event is expected' if self.quantity == 'oe' else ' from sums of bins'}"
        if self.outcome == "unknown":
            return (
                f"cannot be determined from {count(self.n, 'row')}: {self._comparison(lower=False)}"
            )
        least, most = self.ends
        beyond = self.low > most or self.high < least
        if self.pvalue is None:
            return self._comparison(lower=True)
        if self.shown_by_ties:
            above = f"rows that share their score have an error above {number(self.shown_by_ties)} (99 % confidence)"
            return f"not shown to keep it: {above}, so it does not vary smoothly with the score"
        if self.outcome == "not certified":
            return (
                f"not shown to keep it, {p_value(self.pvalue)} ({self._comparison(lower=beyond)})"
            )
        shown = f"shown to keep it, {p_value(self.pvalue)} ({self._comparison(lower=False)})"
        shown += f", if {self.condition}" if self.condition else ""
        if self.contradicted:  # an error may be small and yet the certainty wrong
            which = (
                f"{count(self.contradicted, 'label')} contradict{'s' * (self.contradicted == 1)}"
            )
            shown += f", although {which} a score of exactly 0 or 1"
        return shown

    @property
    def sentence(self) -> str:
        """What was judged against what, and the outcome."""
        return (
            f"{self.words} {self.demand}: {self.reason} → {_ARROWS.get(self.outcome, self.outcome)}"
        )

    def _comparison(self, *, lower: bool) -> str:
        """The limits beside the bound, in words."""
        percent = f"{100 * self.level:.4g} %"
        if self.quantity == "oe":
            low, high = (f"{end:.3g}" for end in self.ends)
            return f"{percent} limits {self.low:.3f} to {self.high:.3f}, allowed {low} to {high}"
        limit, side = (self.low, "lower") if lower else (self.high, "upper")
        return f"{side} {percent} limit {number(limit)} {'>' if limit > self.bound else '≤'} {self.bound:g}"

    def __str__(self) -> str:
        where = ", ".join(filter(None, [self.group, self.model]))
        if where:
            return f"{where}: {self.sentence}."
        return f"{self.sentence}."


_SHOWN = 5
"""Findings that a notebook shows in words."""


@dataclass(frozen=True)
class Gate(Record):
    """Whether calibration errors keep their bounds, for every model, group and quantity."""

    _columns = ("findings",)

    findings: tuple[Finding, ...]
    """One for each model, group and quantity."""
    require: bool
    """Whether the bounds had to be shown to be kept."""
    level: float
    """Confidence level of all limits together, or of each that certifies."""
    notes: tuple[str, ...] = ()
    """What was decided about the rows."""

    @property
    def passed(self) -> bool:
        """Whether all findings pass."""
        return all(one.passed for one in self.findings)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def jointly(self) -> str:
        """What the level holds for, if a gate can fail for several findings."""
        if self.require or len(self.findings) < 2:
            return ""
        most = level_percent(Level(self.level).alpha)
        return f"All {len(self.findings)} comparisons share one error rate of {most}."

    def _caption(self) -> str:
        return "Passed." if self.passed else "Not passed."

    def _opening(self) -> str:
        return "\n".join([self._caption(), *map(str, self.findings[:_SHOWN])])

    def __str__(self) -> str:
        passed = "Passed." if self.passed else "Not passed."
        return "\n".join(
            filter(None, [*map(str, self.findings), *self.notes, self.jointly, passed])
        )
