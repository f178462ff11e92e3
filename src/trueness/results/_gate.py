"""The outcome of a gate: every quantity beside its bound, and whether all pass."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trueness._level import Level
from trueness._text.numbers import count, level_percent, number, p_value, rule_in_words
from trueness._text.strings import capitalized, uncapitalized
from trueness.results._record import Record

Quantity: TypeAlias = Literal["ece", "l2", "oe", "gap", "brier", "labels"]
Outcome: TypeAlias = Literal[
    "certified", "not certified", "exceeded", "not exceeded", "too good", "unknown"
]
Decision: TypeAlias = Literal["pass", "fail", "investigate"]
_NAMES = {
    "ece": "ECE",
    "l2": "typical error",
    "oe": "O/E",
    "gap": "gap",
    "brier": "Brier score",
    "labels": "labels",
}
_WORDS = {
    "l2": "typical error",
    "oe": "observed/expected",
    "gap": "gap",
    "labels": "agreement of labels and scores",
}
_HEADLINES = {
    "pass": "Passed.",
    "fail": "Failed.",
    "investigate": "Cannot be decided with these rows.",
}
_SHOWN = 3
_ARROWS = {
    "exceeded": "fails",
    "not exceeded": "passes",
    "too good": "not passed",
    "unknown": "not passed",
}


@dataclass(frozen=True)
class Finding(Record):
    """One quantity of one model in one group.

    Its limits hold each with confidence `level`.
    """

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
    """The typical error that rows with the same score show, if that contradicts a certificate;
    otherwise 0."""
    against: str = ""
    """The baseline, for a difference of Brier scores."""
    needed: int | None = None
    """About how many rows would decide, where these do not."""
    few_clusters: int = 0
    """The number of clusters, if there are too few to decide; otherwise 0."""

    @property
    def passed(self) -> bool:
        """Whether the quantity passes."""
        return self.outcome in ("certified", "not exceeded")

    @property
    def name(self) -> str:
        """The quantity in a table."""
        if self.against:
            return f"Brier score against {self.against}"
        return _NAMES[self.quantity]

    @property
    def demand(self) -> str:
        """The bound."""
        if self.quantity == "oe":
            return f"within 1 ± {self.bound:g}"
        if self.quantity == "gap":
            return f"within ± {self.bound:g}"
        return f"≤ {self.bound:g}"

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value allowed."""
        if self.quantity == "oe":
            return (1 - self.bound, 1 + self.bound)
        if self.quantity == "gap":
            return (-self.bound, self.bound)
        return (-math.inf, self.bound)

    @property
    def words(self) -> str:
        """The quantity in full."""
        if self.quantity == "ece":
            return f"ECE in {rule_in_words(self.bins)}"
        if self.quantity == "brier":
            return f"Brier score minus that of {self.against}"
        return _WORDS[self.quantity]

    @property
    def reason(self) -> str:
        """Why it passes or not."""
        if self.outcome == "too good":
            tail = f"{p_value(self.too_good or 0.0)}, lower tail"
            return f"too good to be true for new rows ({tail}); were the scores fitted on these?"
        if math.isnan(self.estimate):
            why = " from sums of bins"
            if self.quantity == "gap":
                why = ": it has too few rows"
            elif self.quantity == "oe":
                why = ": no event is expected"
            return f"cannot be determined{why}"
        if self.outcome == "unknown":
            given = count(self.n, "row")
            if self.few_clusters:
                given = count(self.few_clusters, "cluster")
            return f"cannot be determined from {given}: {self._comparison(lower=False)}"
        smallest, largest = self.ends
        beyond = self.low > largest or self.high < smallest
        if self.pvalue is None or self.outcome == "exceeded":
            return self._comparison(lower=True)
        if self.shown_by_ties:
            above = (
                f"rows that share their score have an error above {number(self.shown_by_ties)} "
                "(99 % confidence)"
            )
            return f"not shown to keep it: {above}, so it does not vary smoothly with the score"
        if self.outcome == "not certified":
            return (
                f"not shown to keep it, {p_value(self.pvalue)} ({self._comparison(lower=beyond)})"
            )
        shown = f"shown to keep it, {p_value(self.pvalue)} ({self._comparison(lower=False)})"
        if self.condition:
            shown += f", if {self.condition}"
        if self.contradicted:  # an error may be small and yet the certainty wrong
            verb = "contradicts" if self.contradicted == 1 else "contradict"
            labels = count(self.contradicted, "label")
            shown += f", although {labels} {verb} a score of exactly 0 or 1"
        return shown

    @property
    def fact(self) -> str:
        """What the limits say beside the bound, in a short sentence."""
        where = ", ".join(filter(None, [self.group, self.model]))
        fact = self._fact()
        if not where:
            return fact
        if not fact.startswith(("ECE", "Brier")):
            fact = uncapitalized(fact)
        return f"{where}: {fact}"

    def _fact(self) -> str:
        """What was found beside what is allowed, in a sentence.

        Labels that agree too well and numbers that cannot be determined come first; an open
        question says how many rows would decide it, if that is known.
        """
        if self.outcome == "too good":
            tail = f"{p_value(self.too_good or 0.0)}, lower tail"
            return (
                f"The labels agree with the scores too well ({tail}): were these rows used to "
                "fit the model?"
            )
        if math.isnan(self.estimate):
            return f"{self._subject} cannot be determined."
        if self.quantity in ("oe", "gap"):
            low, high = (f"{end:.3g}" for end in self.ends)
            allowed = f"{low} to {high} is allowed"
            span = f"{self._subject} lies between {self.low:.3f} and {self.high:.3f}"
        else:
            allowed = f"{self.bound:g} is allowed"
            low = number(self.low) if self.low else "0"
            span = f"{self._subject} lies between {low} and {number(self.high)}"
        if self.outcome == "exceeded":
            if self.quantity in ("oe", "gap"):
                return f"{span}, and {allowed}."
            return f"{self._subject} is at least {number(self.low)}, and {allowed}."
        if self.outcome == "certified" and self.quantity not in ("oe", "gap"):
            confidence = f"{level_percent(self.level)} confidence"
            return f"{self._subject} is at most {number(self.high)}, and {allowed} ({confidence})."
        if self.passed:
            limits = allowed.removesuffix(" is allowed")
            verb = "leave" if self.quantity in ("oe", "gap") else "exceed"
            return f"{span}, which does not show it to {verb} {limits}."
        if self.few_clusters:
            clusters = count(self.few_clusters, "cluster")
            return f"{span}, and {allowed}; {clusters} cannot decide."
        if self.needed is not None:
            needed = count(self.needed, "row")
            return f"{span}, and {allowed}; about {needed} would decide."
        return f"{span}, and {allowed}."

    @property
    def _subject(self) -> str:
        if self.quantity == "l2":
            return "The typical error"
        words = self.words
        return capitalized(words)

    @property
    def sentence(self) -> str:
        """What was judged against what, and the outcome."""
        if self.quantity == "labels":
            return f"the labels are {self.reason} → not passed"
        return (
            f"{self.words} {self.demand}: {self.reason} → {_ARROWS.get(self.outcome, self.outcome)}"
        )

    def _comparison(self, *, lower: bool) -> str:
        """The limits beside the bound, in words."""
        percent = level_percent(self.level)
        if self.quantity in ("oe", "gap"):
            low, high = (f"{end:.3g}" for end in self.ends)
            return f"{percent} limits {self.low:.3f} to {self.high:.3f}, allowed {low} to {high}"
        limit = self.low if lower else self.high
        side = "lower" if lower else "upper"
        relation = ">" if limit > self.bound else "≤"
        return f"{side} {percent} limit {number(limit)} {relation} {self.bound:g}"

    def __str__(self) -> str:
        where = ", ".join(filter(None, [self.group, self.model]))
        if where:
            return f"{where}: {self.sentence}."
        return f"{self.sentence}."


_SHOWN = 3
"""Findings that the headline names."""
_OTHERS = {
    "fail": "{more:,} more of {total:,} findings fail.",
    "investigate": "{more:,} more of {total:,} findings cannot be decided.",
    "pass": "The other {more:,} of {total:,} findings pass, too.",
}
"""What the headline says of those that it does not name."""


@dataclass(frozen=True)
class Gate(Record):
    """Whether calibration errors keep their bounds, for every model, group and quantity."""

    _text_first = True
    _columns = ("findings",)
    _also = ("outcome", "needed")

    findings: tuple[Finding, ...]
    """One for each model, group and quantity."""
    require: bool
    """Whether the bounds had to be shown to be kept."""
    level: float
    """Confidence level of all limits together, or of each that certifies."""
    notes: tuple[str, ...] = ()
    """What was decided about the rows."""
    n: int = 0
    """Rows of the smallest model or group."""
    min_rows: int = 0
    """How many rows were demanded."""
    tests: int = 0
    """How many hypotheses share the error rate: of slices, only the worst are findings."""

    @property
    def outcome(self) -> Decision:
        """Whether it passes, fails, or these rows cannot decide; a failure goes before all else."""
        outcomes = {finding.outcome for finding in self.findings}
        if outcomes & {"exceeded", "too good"}:
            return "fail"
        if not outcomes or outcomes & {"unknown", "not certified"} or self.n < self.min_rows:
            return "investigate"
        return "pass"

    @property
    def passed(self) -> bool:
        """Whether all findings pass."""
        return self.outcome == "pass"

    def __bool__(self) -> bool:
        return self.passed

    @property
    def needed(self) -> int | None:
        """About how many rows would decide; None if the gate has decided, or none can be named."""
        if self.outcome != "investigate":
            return None
        needed = [finding.needed for finding in self.findings if finding.needed is not None]
        if self.n < self.min_rows:
            needed.append(self.min_rows)
        return max(needed, default=None)

    @property
    def headline(self) -> str:
        """The outcome and what decides it."""
        deciding = [finding for finding in self.findings if self._decides(finding)]
        facts = [finding.fact for finding in deciding[:_SHOWN]]
        if len(deciding) > _SHOWN:
            more = len(deciding) - _SHOWN
            facts.append(_OTHERS[self.outcome].format(more=more, total=len(self.findings)))
        if self.outcome == "investigate" and self.n < self.min_rows:
            facts.insert(0, f"{count(self.n, 'row')}, and at least {self.min_rows:,} are demanded.")
        return " ".join([_HEADLINES[self.outcome], *facts])

    def _decides(self, finding: Finding) -> bool:
        if self.outcome == "fail":
            return finding.outcome in ("exceeded", "too good")
        if self.outcome == "investigate":
            return finding.outcome in ("unknown", "not certified")
        return finding.quantity != "labels"

    @property
    def jointly(self) -> str:
        """What the level holds for, if a gate can fail for several findings."""
        tests = self.tests or len(self.findings)
        if self.require or tests < 2:
            return ""
        alpha = level_percent(Level(self.level).alpha)
        return f"All {tests} comparisons share one error rate of {alpha}."

    def _caption(self) -> str:
        return self.headline

    def __str__(self) -> str:
        findings = [f"  {finding}" for finding in self.findings]
        return "\n".join(filter(None, [self.headline, *findings, *self.notes, self.jointly]))


DEFINITIONS = {
    "ece": (
        "Expected calibration error: the mean, over bins, of the distance between event rate and "
        "mean score."
    ),
    "l2": (
        "l2 calibration error: the root mean square distance between event probability and score."
    ),
    "oe": "Observed divided by expected events.",
    "gap": "Event rate minus mean score of a segment or slice.",
    "brier": "Mean squared error of the scores minus that of the baseline, in the same rows.",
    "labels": (
        "Probability that labels agree with true scores at least as well (lower tail of the "
        "omnibus test)."
    ),
    "low, high": "One-sided confidence limits, each with the level of the finding.",
    "pvalue": "The smallest error rate at which the bound is shown to be kept.",
    "bound": "The largest value allowed; of O/E the distance from 1, of a gap the distance from 0.",
    "outcome": (
        "fail: a bound is shown to be exceeded, with one error rate for all hypotheses (Holm). "
        "investigate: these rows do not decide. pass: otherwise."
    ),
    "digest": (
        "SHA-256 of the sorted rows of the columns used; numbers as float64, all else as text."
    ),
}
"""What each number of a gate means."""
