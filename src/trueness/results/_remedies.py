"""What would mend the scores: calibrators tried on held-out rows, and the advice that follows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from trueness._text.numbers import changed, level_percent, points, shares
from trueness.results._bins import BinTable
from trueness.results._inference import Interval
from trueness.results._record import Record
from trueness.typing import Floats

PRIOR_CORRECTION = "prior correction"
"""Name of the map that is tried if a prior shift was shown."""
_COUNTABLE = ("spline", PRIOR_CORRECTION)
_LEAST_GAIN = 0.001
_LEAST_LOG_LOSS_GAIN = 0.005
"""Shares of the scores that the lower limits of a gain must exceed: with many rows a second map
after a good one still gains a little, and the advice would never end (chosen on the laws of the
benchmark `gains`, 20,000 rows: 2 of 34 were advised again without them, none with them)."""
_SMALL_GAIN = 0.01
_LARGE_GAIN = 0.1
"""Shares of a score: a gain below the first is called small, one above the second large."""

Limits: TypeAlias = Sequence[float] | Floats

AdviceKind: TypeAlias = Literal[
    "leave",
    "recalibrate",
    "optional",
    "recalibrate-segment",
    "correct-prior",
    "collect",
    "check-segment",
    "check-labels",
    "check-clusters",
    "new-rows",
    "need-rows",
    "adjust",
]


@dataclass(frozen=True)
class Course(Record):
    """Mean scores of bins with their rates and the limits of these."""

    score: tuple[float, ...]
    """Mean score of each bin."""
    rate: tuple[float, ...]
    """Event rate of each bin."""
    low: tuple[float, ...]
    """Lower limits of the rates."""
    high: tuple[float, ...]
    """Upper limits of the rates."""

    @classmethod
    def of(cls, bins: BinTable, low: Limits, high: Limits, least: int) -> "Course":
        """The bins with at least `least` rows."""
        kept = bins.n >= least
        return cls(
            *(
                tuple(np.array(column)[kept].tolist())
                for column in (bins.score, bins.rate, low, high)
            )
        )


class Saved(NamedTuple):
    """What a map gains in a proper score, with limits."""

    score: str
    before: float
    """The score without the map."""
    gain: float
    low: float
    high: float


class Unfitted(Protocol):
    """A calibrator whose options can be read."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name."""


@dataclass(frozen=True)
class Remedy(Record):
    """A calibrator, fitted on some folds and measured on the others; or the scores as they are."""

    name: str
    """What the map is called in a sentence."""
    calibrator: Unfitted | None
    """The unfitted calibrator; None for the scores as they are."""
    ece: float
    """Expected calibration error on held-out rows."""
    ece_interval: Interval | None
    """Its limits; None where there are none."""
    brier: float
    """Brier score on held-out rows."""
    log_loss: float
    """Log loss on held-out rows."""
    course: Course | None = None
    """Up to ten bins of equal mass, after the map."""
    gain: float = math.nan
    """The reduction of the Brier score on held-out rows."""
    gain_low: float = math.nan
    """Its lower limit."""
    gain_high: float = math.nan
    """Its upper limit."""
    chance: float = math.nan
    """How probably the map is better than the scores as they are in a new sample of as many
    rows."""
    log_loss_chance: float = math.nan
    """The same by the log loss; nan where it is infinite."""
    log_loss_gain: float = math.nan
    """The reduction of the log loss on held-out rows; nan where it is infinite."""
    log_loss_gain_low: float = math.nan
    """Its lower limit."""
    log_loss_gain_high: float = math.nan
    """Its upper limit."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """The name and the share of each map that the automatic one averages, fitted on all rows; the
    largest first."""

    def _entries(self) -> dict[str, Any]:
        """With the call that makes the calibrator in place of it."""
        call = "" if self.calibrator is None else repr(self.calibrator)
        return super()._entries() | {"calibrator": call}

    @property
    def with_article(self) -> str:
        """Its name in a sentence: "a spline", but "isotonic regression"."""
        if self.name in _COUNTABLE:
            return f"a {self.name}"
        return self.name

    def is_clear(self, before: "Remedy") -> bool:
        """Whether a gain in the Brier score or the log loss is shown to be above negligible."""
        return self._lowers_brier(before) or (
            self.gain > 0
            and self.log_loss_gain_low > _LEAST_LOG_LOSS_GAIN * max(before.log_loss, 0)
        )

    def is_better_than(self, other: "Remedy", before: "Remedy") -> bool:
        """Whether it gains more than another map, by more than is negligible.

        Also if the gain of the other is not known.
        """
        if math.isnan(other.gain):
            return True
        return self.gain - other.gain > _LEAST_GAIN * before.brier

    def _lowers_brier(self, before: "Remedy") -> bool:
        return self.gain_low > _LEAST_GAIN * before.brier

    def gain_in_words(self, before: "Remedy", level: float) -> str:
        """What it gains on held-out rows, as a share: "lowers the Brier score by 2.8 % (…)"."""
        saved = saved_by(self, before)
        # No map saves more than all of a score, whose mean is uncertain, too.
        ends = (saved.gain, saved.low, min(saved.high, saved.before))
        gain, low, high = shares(*(end / saved.before for end in ends))
        limits = f"({level_percent(level)} confidence: {low} to {high} %)"
        if saved.gain > 0:
            return f"lowers the {saved.score} by {gain} % {limits}"
        return f"does not lower the {saved.score}: by {gain} % {limits}"

    @property
    def error_left(self) -> str:
        """The bound on the typical error after it, as a clause; empty where there is none."""
        if self.ece_interval is None:
            return ""
        (high,) = points(self.ece_interval.high)
        return f"the typical error is then at most {high} percentage points"

    def size_of_gain(self, before: "Remedy") -> str:
        """Its gain in words: "a small but clear gain"."""
        if not self.is_clear(before):
            return "no clear gain"
        if self.gain < _SMALL_GAIN * before.brier:
            return "a small but clear gain"
        if self.gain > _LARGE_GAIN * before.brier:
            return "a large gain"
        return "a clear gain"

    @property
    def promise(self) -> str:
        """How often the map is better: "be better in about 7 of 10 new samples".

        By the score that it gains in.
        """
        better = "have the lower log loss"
        chance = self.log_loss_chance
        if self.gain > 0:
            better = "be better"
            chance = self.chance
        often = "more than 9" if chance > 0.95 else f"about {10 * chance:.0f}"
        return f"{better} in {often} of 10 new samples of this size"

    def score_from(self, before: "Remedy") -> str:
        """The score that a map gains in, before and after: "Brier score from 0.2040 to 0.2031"."""
        if self.gain > 0:
            return f"Brier score from {changed(before.brier, self.brier)}"
        return f"log loss from {changed(before.log_loss, self.log_loss)}"

    def __str__(self) -> str:
        if math.isnan(self.gain):
            return f"{self.name}: Brier score {self.brier:.4f}."
        limits = f"{self.gain_low:.5f} to {self.gain_high:.5f}"
        return f"{self.name}: Brier score {self.brier:.4f}, lower by {self.gain:.5f} ({limits})."


def saved_by(remedy: Remedy, before: Remedy) -> Saved:
    """What a map gains in the Brier score, or in the log loss if only that gain is clear."""
    if remedy.is_clear(before) and not remedy._lowers_brier(before):
        ends = (remedy.log_loss_gain, remedy.log_loss_gain_low, remedy.log_loss_gain_high)
        return Saved("log loss", before.log_loss, *ends)
    return Saved("Brier score", before.brier, remedy.gain, remedy.gain_low, remedy.gain_high)


@dataclass(frozen=True)
class BinningGuarantee(Record):
    """The distribution-free guarantee of histogram binning fitted on all rows."""

    n: int
    """Number of rows."""
    n_bins: int
    """Number of bins."""
    scheme: str
    """How the bins are cut."""
    epsilon: float
    """With probability `level`, no bin's rate is farther than this from its score."""
    level: float
    """The probability of the promise."""
    marginal: float
    """The same distance for the bin of a new row, instead of all bins together."""


@dataclass(frozen=True)
class Remedies(Record):
    """The scores as they are beside each calibrator that was tried, on held-out rows."""

    _columns = ("after",)

    before: Remedy
    """The scores as they are."""
    after: tuple[Remedy, ...]
    """Each calibrator that was tried."""
    best: str | None
    """The name of the map whose gain is more than noise; None if there is none."""
    folds: int
    """Number of folds."""
    deals: int
    """How often the rows were dealt into folds; numbers are means over deals."""
    n: int
    """Number of rows."""
    guarantee: BinningGuarantee | None
    """What histogram binning promises; None where it promises nothing."""
    notes: tuple[str, ...]
    """What a reader should know about the numbers."""

    @property
    def most_promising(self) -> Remedy | None:
        """The map that `best` names.

        If it names none, the prior correction or the map with the largest gain.

        The prior correction is tried only if its limits exclude 1, which shows more than a gain
        can.
        """

        def preference(remedy: Remedy) -> tuple[bool, bool, float]:
            return (
                remedy.name == self.best,
                remedy.name == PRIOR_CORRECTION and remedy.gain > 0,
                remedy.gain,
            )

        return max(
            (remedy for remedy in self.after if math.isfinite(remedy.gain)),
            key=preference,
            default=None,
        )

    def other_that_gains(self, best: Remedy) -> Remedy | None:
        """The map with the largest gain of those whose limits exclude 0, if it is not the best one.

        None if the best one's limits do, or if no map's do.
        """
        gaining = [remedy for remedy in self.after if remedy.gain_low > 0]
        if best.gain_low > 0:
            return None
        return max(gaining, key=lambda remedy: remedy.gain, default=None)

    def other_gain(self, best: Remedy, level: float) -> str:
        """A sentence about that map, after one about the best; empty if there is none."""
        other = self.other_that_gains(best)
        if other is None:
            return ""
        gain = other.gain_in_words(self.before, level)
        return f" Of the {len(self.after)} maps that were tried, {other.with_article} {gain}."

    def __str__(self) -> str:
        """Which of the calibrators that were tried gains most; or that none is expected to gain."""
        best = self.most_promising
        tried = f"{len(self.after)} calibrators were tried on {self.n:,} held-out rows"
        if self.best is None or best is None:
            return f"{tried}: none is expected to gain more than noise on new rows."
        return (
            f"{tried}: {best.with_article} would lower the {best.score_from(self.before)}, and "
            f"{best.promise}."
        )


@dataclass(frozen=True)
class Advice(Record):
    """What to do about the scores."""

    kind: AdviceKind
    """What sort of step it is."""
    phrase: str
    """The step in a few words."""
    reason: str
    """Why, in a sentence or two."""
    calibrator: Unfitted | None = None
    """The unfitted calibrator to use, for 'recalibrate', 'recalibrate-segment' and 'correct-prior';
    else None."""
    column: str | None = None
    """The column of the segment that needs a map of its own."""
    value: str | None = None
    """The value of that column."""
    rows_needed: int | None = None
    """About how many rows would settle the question, for 'collect'; None if that is not known."""
    gain: float = math.nan
    """The reduction of the Brier score by the map, on held-out rows."""
    gain_low: float = math.nan
    """Its lower limit."""
    gain_high: float = math.nan
    """Its upper limit."""
    numbers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Further numbers of the sentences."""

    def _entries(self) -> dict[str, Any]:
        """With the type and the parameters of the calibrator in place of it."""
        entries = super()._entries()
        if self.calibrator is not None:
            entries["calibrator"] = _outline(self.calibrator)
        return entries

    def __str__(self) -> str:
        stop = "" if self.phrase.endswith((".", "?")) else "."
        return f"{self.phrase}{stop} {self.reason}".strip()


class _Unfitted(Protocol):
    """A calibrator, of which a record shows the parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


def _outline(calibrator: _Unfitted) -> dict[str, Any]:
    """The type and the parameters of an unfitted calibrator, in which there may be others."""
    parameters = {
        name: _outline(value) if hasattr(value, "get_params") else value
        for name, value in calibrator.get_params(deep=False).items()
    }
    return {"type": type(calibrator).__name__, "parameters": parameters}
