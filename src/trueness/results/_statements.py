"""What a verdict says of statements other than "the event has this probability"."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from trueness._text.numbers import count, p_value, percent, points
from trueness.results._coverage import Coverage
from trueness.results._inference import Significance
from trueness.results._record import Record


@dataclass(frozen=True)
class KindOfEvent:
    """The words for one kind of event."""

    subject: str
    """What is judged; ``{words}`` is filled in."""
    fewer: str
    """What fewer events than stated mean."""
    more: str
    """What more events than stated mean."""
    extreme: str
    """What rates that follow the stated probabilities too little mean."""
    timid: str
    """What rates that follow the stated probabilities too strongly mean."""
    event: str
    """What the event is."""
    is_score: bool = False
    """Whether the probabilities are scores that tell rows apart, as those of labels are."""

    def finding(self, finding: str) -> str:
        """The finding about a segment or a slice in the words of this kind."""
        words = {
            "over-predicted": self.fewer,
            "under-predicted": self.more,
            "too extreme": self.extreme,
            "too moderate": self.timid,
        }
        return words.get(finding, finding)


KINDS: Mapping[str, KindOfEvent] = {
    "interval": KindOfEvent(
        subject="{words}",
        fewer="too narrow",
        more="too wide",
        extreme="coverage does not follow what is stated",
        timid="coverage does not follow what is stated",
        event="outcome inside",
    ),
    "quantiles": KindOfEvent(
        subject="{words}",
        fewer="too low",
        more="too high",
        extreme="too narrow",
        timid="too wide",
        event="outcome at most the quantile",
    ),
    "horizon": KindOfEvent(
        subject="predictions of the {words}",
        fewer="risk too high",
        more="risk too low",
        extreme="risks too extreme",
        timid="risks too moderate",
        event="event by the horizon",
        is_score=True,
    ),
    "counts": KindOfEvent(
        subject="predicted shares",
        fewer="over-predicted",
        more="under-predicted",
        extreme="too extreme",
        timid="too moderate",
        event="success",
        is_score=True,
    ),
    "pairs": KindOfEvent(
        subject="stated preferences",
        fewer="overconfident",
        more="underconfident",
        extreme="too extreme",
        timid="too moderate",
        event="favoured one preferred",
    ),
}


def drift_in_words(kind: str, *, shift: float, slope: float, ratio: float) -> str:
    """What went wrong, by the clearest alternative and by the ratio of observed to expected events.

    `kind` is that of the events; empty for labels and scores.
    """
    words = KINDS.get(kind)
    if kind == "interval" and ratio != 1:
        width = KINDS[kind].fewer if ratio < 1 else KINDS[kind].more
        return f"{width}: outcomes inside {ratio:.2f} × as often as stated"
    if slope < 1:
        return "overconfident" if words is None else words.extreme
    if slope > 1:
        return "underconfident" if words is None else words.timid
    if kind == "quantiles":
        return KINDS[kind].more if shift > 0 else KINDS[kind].fewer
    if shift > 0 and not ratio > 1:
        return "events more frequent than predicted"
    if ratio > 1 and not shift > 0:
        return "events less frequent than predicted"
    return f"events {ratio:.2f} × as frequent as predicted"


class FlaggedGroup(Protocol):
    """What a statement reads of segments or classes that a verdict flagged."""

    @property
    def kind(self) -> str: ...
    @property
    def own(self) -> int | None: ...
    @property
    def worst(self) -> str: ...
    @property
    def share(self) -> str: ...
    @property
    def worst_in_words(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def finding(self) -> str: ...
    def size(self, unit: str = ...) -> str: ...


class NeededRows(Protocol):
    """What a statement reads of the power to detect a miscalibration."""

    @property
    def rows_needed(self) -> int | None: ...


class Judged(Protocol):
    """What a statement reads of a :class:`trueness.results.Verdict`."""

    @property
    def code(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def rejected(self) -> bool: ...
    @property
    def test(self) -> Significance | None: ...
    @property
    def clustered(self) -> bool: ...
    @property
    def flags(self) -> Sequence[FlaggedGroup]: ...
    @property
    def power(self) -> NeededRows | None: ...


@dataclass(frozen=True)
class Statement(Record):
    """What was stated in place of the probability of a label, and how it turned out."""

    kind: str
    """The kind of :class:`trueness.events.Events`."""
    words: str
    """What is stated."""
    n_input: int
    """Rows that were passed."""
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many rows do not count, by reason."""
    largest_weight: float = 1.0
    """The largest weight."""
    coverage: Coverage | None = None
    """Of intervals and quantiles: stated beside observed shares."""
    errors: tuple[str, ...] = ()
    """Of intervals and quantiles: what is wrong, in words, the clearest first."""

    @property
    def subject(self) -> str:
        """What is judged."""
        kind = KINDS.get(self.kind)
        return self.words if kind is None else kind.subject.format(words=self.words)

    @property
    def is_score(self) -> bool:
        """Whether the probabilities are scores that tell rows apart, as those of labels are."""
        kind = KINDS.get(self.kind)
        return kind is not None and kind.is_score

    @property
    def is_banded(self) -> bool:
        """Whether it is about intervals or quantiles, whose verdict has sentences of its own."""
        return self.kind in _HEADLINES

    def __str__(self) -> str:
        text = f"{self.words}: {self.n_input:,} rows"
        return f"{text}, {self.censored}" if self.censored else text

    def headline(self, verdict: Judged) -> str:
        """The conclusion about intervals or quantiles, without a full stop."""
        return _HEADLINES[self.kind](self, verdict)

    def certainty(self, verdict: Judged) -> list[str]:
        """How certain the conclusion about intervals or quantiles is."""
        parts = []
        test = verdict.test
        if test is not None and verdict.code == "too-good":
            assert test.too_good is not None
            parts.append(f"closer than chance allows ({p_value(test.too_good)}, lower tail)")
        elif test is not None and test.method == "quantiles":
            parts.append(f"joint test of all levels: {test.pvalue_in_words}")
        elif test is not None:
            clusters = ", clusters taken into account" if verdict.clustered else ""
            parts.append(f"{test.method} test{clusters}: {test.pvalue_in_words}")
        if verdict.code == "too-few-rows" and verdict.power is not None:
            rows = verdict.power.rows_needed
            if rows is not None and self.kind != "quantiles":
                parts.append(f"about {rows:,} rows are needed")
        if self.coverage is not None and self.coverage.outside:
            parts.append(self.coverage.outside)
        return parts

    @property
    def censored(self) -> str:
        """How many rows do not count, in words; empty if all do."""
        return ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())


def flagged_in_words(flagged: FlaggedGroup) -> str:
    """How many groups of intervals or quantiles are flagged: these have no scores."""
    return flagged.sentence.replace("at equal scores ", "")


def how_far_in_words(statement: Statement) -> str:
    """How far off intervals or quantiles are, in a few words; empty for anything else."""
    covered = statement.coverage
    if covered is None:
        return ""
    if statement.kind == "interval":
        stated = percent(float(covered.stated[0]))
        return f"{covered.covers} inside, where {stated} is stated"
    (gap,) = points(float(np.abs(covered.value - covered.stated).max()))
    return f"Up to {gap} percentage points between stated and observed shares"


def _intervals_in_words(statement: Statement, v: Judged) -> str:
    coverage = statement.coverage
    assert coverage is not None
    covers = f"The {statement.words} cover {coverage.covers}"
    if statement.words == "intervals":
        covers = f"{covers} where {percent(float(coverage.stated[0]))} is stated"
    if v.code == "miscalibrated" and v.rejected:
        error = " and ".join(statement.errors) or "coverage does not follow what is stated"
        return f"{covers}: {error}{_worst_segment(statement, v)}"
    if v.code == "nearly-calibrated":
        return f"{covers}: slightly {' and '.join(statement.errors) or 'off'}"
    if v.flags:
        return f"{covers}, but {_worst_in_words(v)}"
    if v.code == "too-good":
        return f"Too good to be true for new rows: the {statement.words} cover {coverage.covers}"
    if v.code == "no-evidence":
        return f"{covers}: no sign that they are too narrow or too wide"
    return (
        f"{covers}: {count(v.n, 'row')} {_are(v.n)} too few to tell whether they are too narrow "
        "or too wide"
    )


def _quantiles_in_words(statement: Statement, v: Judged) -> str:
    if v.code in ("miscalibrated", "nearly-calibrated") and v.rejected:
        degree = "slightly " if v.code == "nearly-calibrated" else ""
        errors = " and ".join(statement.errors)
        if not errors:
            return (
                f"The {statement.words} are {degree}off: outcomes are not spread as they "
                f"state{_worst_segment(statement, v)}"
            )
        return f"The {statement.words} are {degree}{errors}{_worst_segment(statement, v)}"
    if v.flags:
        return f"The {statement.words} hold over all rows, but {_worst_in_words(v)}"
    if v.code == "too-good":
        return (
            f"Too good to be true for new rows: outcomes follow the {statement.words} too closely"
        )
    if v.code == "no-evidence":
        return f"No sign that the {statement.words} are too narrow, too wide, too low or too high"
    return f"{count(v.n, 'row')} {_are(v.n)} too few to tell whether the {statement.words} hold"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _worst_segment(statement: Statement, v: Judged) -> str:
    """The segment that differs most from all rows, after the errors of these; empty if none does.

    With a finding that is not among the errors of all rows it has a sentence of its own.
    """
    segments = [flags for flags in v.flags if flags.kind == "segment" and flags.own != 0]
    if not segments:
        return ""
    worst = segments[0]
    if statement.errors and not any(error.startswith(worst.finding) for error in statement.errors):
        return f". Off by itself: {worst.worst_in_words}"
    return f", above all for {worst.worst}"


def _worst_in_words(v: Judged) -> str:
    return " and ".join(f"not in {flags.share}: {flags.worst_in_words}" for flags in v.flags)


_HEADLINES: Mapping[str, Callable[[Statement, Judged], str]] = {
    "interval": _intervals_in_words,
    "quantiles": _quantiles_in_words,
}


def adjust_in_words(statement: Statement, verdict: Judged) -> tuple[str, str]:
    """What to do about intervals or quantiles that do not hold, and why.

    Where they hold over all rows, it is about the rows of the worst segment.
    """
    place = ""
    if verdict.flags and not verdict.rejected:
        place = f" for {verdict.flags[0].worst}"
    if statement.kind == "interval":
        phrase = f"Adjust the intervals{place} with tn.IntervalCalibration"
        return phrase, "Fit it on some rows, and judge its intervals on others."
    phrase = f"Map the levels{place} with a calibrator"
    reason = (
        "tn.SplineCalibration().fit(events) learns how often outcomes are at most the quantile "
        "of each level; read the quantiles at the levels that it maps to the wanted ones."
    )
    return phrase, reason
