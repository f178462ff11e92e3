"""The verdict on one model: what was decided, on what grounds, and both in words."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trueness._text.numbers import count, number, p_value, points
from trueness._text.strings import capitalized, shorten
from trueness.results import _verdict_words as words
from trueness.results._first_screen import in_html, in_lines, rows_and_level
from trueness.results._inference import Estimate, Interval, PriorShift, Significance
from trueness.results._record import Record, with_two_columns
from trueness.results._segments import finding_in_words
from trueness.results._statements import Statement

Code: TypeAlias = Literal[
    "miscalibrated",
    "nearly-calibrated",
    "no-evidence",
    "too-few-rows",
    "too-good",
    "undetermined",
]
RARE = 0.05
"""Below this event rate ratios say more than differences."""
FEW_ROWS = 100
FEW_EVENTS = 10
"""With fewer rows, or fewer of the rarer label, a verdict says first that they are few."""
FEWEST_CLUSTERS = 6
"""With fewer, no test by the signs of clusters reaches 0.05."""
_POINT = 0.01
_WIDE = 2.0


@dataclass(frozen=True)
class DetectionPower(Record):
    """Probabilities with which miscalibrations that matter would have been noticed."""

    ratio: float
    """Rarer label 1.25 times as frequent as predicted, or as rare: the smaller probability of the
    two."""
    error: float
    """A typical error as large as the tolerance."""
    tolerance: float
    """The typical error that matters: 0.05, or half the expected share of the rarer label if that
    is less."""
    rows_needed: int | None
    """About how many rows, weighted as these, would notice all of them with probability 0.8; None
    if these do."""
    noticed_ratio: tuple[float, float]
    """Observed/expected events below the first or above the second are noticed with probability
    0.9; nan if none is."""
    noticed_slope: tuple[float, float]
    """Slopes below the first or above the second are noticed with probability 0.9; nan if none
    is."""
    noticed_error: float
    """The typical error from which such shifts and slopes are noticed with probability 0.9; nan if
    none is. One in waves, or over few scores, must be larger."""

    def __str__(self) -> str:
        return capitalized(f"{words.power_in_words(self, rarer='events')}.")

    @property
    def enough(self) -> bool:
        """Whether each of them would have been noticed with probability 0.8."""
        return min(self.ratio, self.error) >= words.ENOUGH


@dataclass(frozen=True)
class DecisiveRow(Record):
    """A row on which the verdict rests: its score is extreme, and its label the other one."""

    score: float
    """Its score."""
    happened: bool
    """Whether the event happened."""
    pvalue: float
    """The p-value of the omnibus test without it."""
    slope: float
    """The calibration slope without it; nan if it has no estimate."""

    @property
    def in_words(self) -> str:
        """Score and label: "its score is 8.5e-22, and the event happened"."""
        label = "the event happened" if self.happened else "the event did not happen"
        return f"its score is {self.score_in_words}, and {label}"

    @property
    def score_in_words(self) -> str:
        """The score with two digits of its distance from 0 or 1."""
        if self.score < 0.5:
            return f"{self.score:.2g}"
        return f"1 − {1 - self.score:.2g}"

    @property
    def without(self) -> str:
        """The evidence without it: "Without it p = 0.30, slope 1.02"."""
        slope = "" if math.isnan(self.slope) else f", slope {number(self.slope, 2)}"
        return f"without it {p_value(self.pvalue)} (omnibus test){slope}"

    def __str__(self) -> str:
        return capitalized(f"{self.in_words}; {self.without}.")


@dataclass(frozen=True)
class Flags(Record):
    """Segments, or classes, that were found to be miscalibrated."""

    kind: Literal["segment", "class", "label"]
    """What was examined."""
    flagged: int
    """How many were flagged."""
    total: int
    """Out of how many."""
    worst: str
    """The name of the worst."""
    finding: str
    """What is wrong with it."""
    ratio: float
    """Its observed divided by expected events."""
    pvalue: float
    """The p-value of all of them jointly."""
    own: int | None = None
    """How many of them differ from the error of all rows; None if that was not tested. The worst is
    one of these."""
    gap: float = math.nan
    """Event rate − mean score of the worst."""
    gap_low: float = math.nan
    """Its lower limit, for all of them together."""
    gap_high: float = math.nan
    """Its upper limit."""
    slope: float = math.nan
    """The calibration slope of the worst, if that was flagged; else nan."""
    slope_low: float = math.nan
    """Its lower limit, for all of them together."""
    slope_high: float = math.nan
    """Its upper limit."""

    @property
    def share(self) -> str:
        """How many of how many."""
        if self.kind == "segment":
            return f"{self.flagged:,} of {count(self.total, self.kind)}"
        plural = "classes" if self.kind == "class" else f"{self.kind}s"
        return f"{self.flagged:,} of {self.total:,} {plural}"

    @property
    def worst_in_words(self) -> str:
        """The worst of them, and what is wrong with it."""
        fold = words.fold(self.ratio) if self.finding.endswith("predicted") else ""
        clear = fold or (self.finding and self.kind == "segment")
        kind = "" if self.kind == "segment" else f"{self.kind} "
        worst = f"{kind}{shorten(self.worst, 64)}"
        if clear:
            slope = (self.slope, self.slope_low, self.slope_high)
            return f"{worst}, {finding_in_words(self.finding, *slope)}{fold}"
        return worst

    def size(self, unit: str = "percentage points") -> str:
        """How far the worst is off: its slope if that was flagged, else its gap; empty if unknown.

        "2.8 percentage points in age = to 29 (0.7 to 4.9)".
        """
        worst = shorten(self.worst, 64)
        if not math.isnan(self.slope):
            low, high = number(self.slope_low, 2), number(self.slope_high, 2)
            return f"slope {number(self.slope, 2)} in {worst} ({low} to {high})"
        if math.isnan(self.gap_low):
            return ""
        ends = (self.gap_low, self.gap_high)
        if self.gap < 0:
            ends = (-self.gap_high, -self.gap_low)
        gap, low, high = points(abs(self.gap), *ends)
        return f"{gap} {unit} in {worst} ({low} to {high})"

    @property
    def by(self) -> str:
        """The test of the p-value."""
        if self.kind == "segment":
            return "all segments jointly"
        if self.kind == "class":
            return "all classes, adjusted"
        return "all labels, adjusted"

    @property
    def strength(self) -> str:
        """How strong the evidence is."""
        return words.strength(self.pvalue, self.by)

    @property
    def sentence(self) -> str:
        """How many there are, and the worst."""
        verb = "is"
        worst = f": {self.worst_in_words}"
        if self.flagged > 1:
            verb = "are"
            worst = f", above all {self.worst_in_words}"
        which = f"{self.share} {verb} flagged ({p_value(self.pvalue)}, {self.by})"
        if self.own == 0:
            return f"{which}, but at equal scores not shown to differ from all rows"
        return f"{which}{worst}"

    def __str__(self) -> str:
        return f"{self.sentence}."


@dataclass(frozen=True)
class Verdict(Record):
    """Whether the scores of one model are calibrated, and the grounds for saying so."""

    code: Code
    """The decision."""
    n: int
    """Rows; a row of weight 2 counts as two if weights count rows."""
    level: float
    """Confidence level."""
    alpha: float
    """The error rate at which each question was judged: all rows, segments, classes."""
    rejected: bool
    """Whether calibration of all rows together was rejected."""
    rate: float
    """Event rate."""
    mean_score: float
    """Mean score."""
    test: Significance | None
    """The omnibus test of all rows."""
    interval: Interval | None
    """The confidence set of the typical error."""
    ece: Estimate | None
    """The expected calibration error."""
    slope: Estimate | None
    """The calibration slope."""
    observed_expected: Estimate | None
    """Observed divided by expected events."""
    prior_shift: PriorShift | None = None
    """One factor on the odds of all scores."""
    power: DetectionPower | None = None
    """Power to detect a miscalibration that matters, unless one was found."""
    scores: tuple[float, float] = (math.nan, math.nan)
    """The smallest and the largest score; nan if they are not known."""
    n_certain: int = 0
    """Rows with a score of exactly 0 or 1."""
    n_certain_wrong: float = 0
    """Those among them whose label contradicts the score; of sampling weights, their weight."""
    flags: tuple[Flags, ...] = ()
    """Segments and classes that were flagged."""
    segmented: bool = False
    """Whether segments were examined."""
    classes: int = 0
    """How many classes were examined beside the top label."""
    top_label: bool = False
    """Whether the scores are the largest of several classes."""
    clustered: bool = False
    """Whether rows of one cluster may depend on each other."""
    clusters: int | None = None
    """How many clusters there are; None if rows are independent."""
    cluster_name: str = ""
    """The name of their column, if it is known."""
    of_answers: bool = False
    """Whether labels say which answers are right, and scores are confidences in them."""
    auc: Estimate | None = None
    """The AUC of all rows if they were rejected: whether scores that look inverted rank the wrong
    way round."""
    all_rows: Code = "undetermined"
    """The decision on all rows together, whatever segments and classes show."""
    counted_rows: int = 0
    """How many rows stand for `n`, if weights were taken as counts only because they are whole
    numbers; else 0."""

    statement: Statement | None = None
    """What was stated, if it is not the probability of a label."""
    decisive: DecisiveRow | None = None
    """The row with an extreme score and the other label that decides alone, if there is one."""

    @property
    def rare(self) -> bool:
        """Whether events are so rare that ratios lead."""
        return not self.top_label and self.rate < RARE

    @property
    def doubt(self) -> Literal["", "inverted", "confidence", "constant"]:
        """Why these may not be the scores that were meant, if something looks like it.

        'inverted': higher scores go with fewer events, also by the AUC of all rows; 'confidence':
        no score is below 1/2, and events do not follow the scores or are the rarer label;
        'constant': all rows have the same score, and nothing else is wrong.
        """
        lowest = self.scores[0]
        highest = self.scores[-1]
        if self.top_label or self.n < 2:
            return ""
        if self.statement is not None and not self.statement.is_score:
            return ""
        if not self.rejected:
            if lowest == highest and self.code == "no-evidence":
                return "constant"
            return ""
        low = math.nan if self.slope is None else self.slope.low
        if (
            not self.of_answers
            and 0.5 <= lowest < highest
            and self.rate > 0
            and (self.rate < 0.5 or low <= 0)
        ):
            return "confidence"
        if words.is_inverted(self):
            return "inverted"
        return ""

    @property
    def is_size_uncertain(self) -> bool:
        """Whether an error was shown that may be below 1 percentage point, or more than twice that.

        Of rare events the factor of observed/expected is the size, where it excludes 1.
        """
        if self.code != "miscalibrated" or not self.rejected or self.interval is None:
            return False
        ratio = self.observed_expected
        if self.rare and ratio is not None and not ratio.low <= 1 <= ratio.high:
            return False
        return self.interval.low < _POINT and self.interval.high > _WIDE * self.interval.low

    @property
    def has_few_clusters(self) -> bool:
        """Whether clusters are so few that no test by their signs reaches 0.05."""
        return self.clusters is not None and self.clusters < FEWEST_CLUSTERS

    @property
    def has_few_rows(self) -> bool:
        """Whether there are fewer than 100 rows, or fewer than 10 of the rarer label."""
        return self.n < FEW_ROWS or self.n * min(self.rate, 1 - self.rate) < FEW_EVENTS

    @property
    def headline(self) -> str:
        """The conclusion in one sentence."""
        if self.statement is not None and self.statement.is_banded:
            return f"{self.statement.headline(self)}."
        return words.headline(self)

    @property
    def is_of_labels(self) -> bool:
        """Whether it is a verdict on several labels, whose worst stands for all."""
        return any(flags.kind == "label" for flags in self.flags)

    @property
    def error(self) -> str:
        """How far off, in a few words: "typically 6.4 percentage points (5.5 to 7.5)"."""
        return words.error(self)

    @property
    def size(self) -> str:
        """How far off, in a sentence; empty if the headline says it, or it is not known."""
        return words.size(self)

    @property
    def evidence(self) -> str:
        """How strong the evidence is, with the p-value and the numbers behind the headline."""
        return words.evidence(self)

    @property
    def certainty(self) -> str:
        """How far off, and how strong the evidence is."""
        return f"{self.size} {self.evidence}".strip()

    @property
    def questions(self) -> str:
        """Which questions were asked, if there are several: each has an error rate of its own."""
        return words.questions(self)

    @property
    def sentence(self) -> str:
        """Conclusion, size and evidence."""
        return f"{self.headline} {self.certainty}".rstrip()

    def __str__(self) -> str:
        return in_lines(self.headline, self._answers(), rows_and_level(self.n, self.level))

    def _html_opening(self) -> str:
        return in_html(self.headline, self._answers(), rows_and_level(self.n, self.level))

    def _answers(self) -> dict[str, str]:
        """How far off, and the evidence: what is known without fitting a map."""
        evidence = self.evidence.removeprefix("The evidence is ")
        note = "" if self.test is None else self.test.assumptions
        return {
            "How far off": words.how_far_off(self),
            "Evidence": capitalized(with_two_columns(evidence, note)),
        }
