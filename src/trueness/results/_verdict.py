"""The verdict on one model: what was decided, on what grounds, and both in words."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trueness._text.numbers import count, level_percent, number, p_value, percent, points, span
from trueness._text.strings import shorten
from trueness.results._inference import Estimate, Interval, PriorShift, Significance
from trueness.results._record import Record

Code: TypeAlias = Literal[
    "miscalibrated",
    "slightly-miscalibrated",
    "no-evidence",
    "too-few-rows",
    "too-good",
    "undetermined",
]
RATIO = 1.25
"""The factor on the frequency of the rarer label that should not be missed."""
ENOUGH = 0.8
"""The power at which a miscalibration counts as one that would have been noticed."""
SMOOTH = "if it varies smoothly with the score"
"""What every limit on an error of any shape presumes: errors that alternate from score to score are
not seen."""
NOTICED = 0.9
"""The power of what these rows are said to notice."""
RARE = 0.05
"""Below this event rate ratios say more than differences."""
_UNRELATED = 0.2
_STRENGTHS = (
    (0.0001, "overwhelming"),
    (0.001, "very strong"),
    (0.01, "strong"),
    (0.05, "clear, but not strong"),
)
"""Words for the evidence, by the largest p-value that they are used for."""
_CLEAR = 1.05


@dataclass(frozen=True)
class DetectionPower(Record):
    """Probabilities with which miscalibrations that matter would have been noticed."""

    ratio: float
    """Rarer label 1.25 times as frequent as predicted, or as rare: the smaller probability of the
    two."""
    error: float
    """An l2 error as large as the tolerance."""
    tolerance: float
    """The l2 error that matters: 0.05, or half the expected share of the rarer label if that is
    less."""
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
    """The l2 error from which such shifts and slopes are noticed with probability 0.9; nan if none is.
    One in waves, or over few scores, must be larger."""

    @property
    def enough(self) -> bool:
        """Whether each of them would have been noticed with probability 0.8."""
        return min(self.ratio, self.error) >= ENOUGH


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

    @property
    def share(self) -> str:
        """How many of how many."""
        plural = "classes" if self.kind == "class" else f"{self.kind}s"
        total = (
            count(self.total, self.kind) if self.kind == "segment" else f"{self.total:,} {plural}"
        )
        return f"{self.flagged:,} of {total}"

    @property
    def worst_in_words(self) -> str:
        """The worst of them, and what is wrong with it."""
        fold = _fold(self.ratio) if self.finding.endswith("predicted") else ""
        clear = fold or (self.finding and self.kind == "segment")
        kind = "" if self.kind == "segment" else f"{self.kind} "
        worst = f"{kind}{shorten(self.worst, 64)}"
        if clear:
            return f"{worst}, {self.finding}{fold}"
        return worst

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
        return _strength(self.pvalue, self.by)

    @property
    def sentence(self) -> str:
        """How many there are, and the worst."""
        which = f"{self.share} {'are' if self.flagged > 1 else 'is'} flagged ({p_value(self.pvalue)}, {self.by})"
        if self.own == 0:
            return f"{which}, {'none' if self.flagged > 1 else 'but not'} with an error other than that of all rows"
        return f"{which}{', above all ' if self.flagged > 1 else ': '}{self.worst_in_words}"

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
    """The confidence set of the l2 error."""
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
        least = self.scores[0]
        most = self.scores[-1]
        if self.top_label or self.n < 2:
            return ""
        if not self.rejected:
            if least == most and self.code == "no-evidence":
                return "constant"
            return ""
        low = math.nan if self.slope is None else self.slope.low
        if (
            not self.of_answers
            and 0.5 <= least < most
            and self.rate > 0
            and (self.rate < 0.5 or low <= 0)
        ):
            return "confidence"
        if _inverted(self):
            return "inverted"
        return ""

    @property
    def headline(self) -> str:
        """The conclusion in one sentence."""
        if self.flags and (not self.rejected or self._of_labels):
            where = ", and in ".join(f"{one.share}: {one.worst_in_words}" for one in self.flags)
            return f"Not calibrated in {where}."
        return f"{_headline(self)}."

    @property
    def _of_labels(self) -> bool:
        """Whether it is a verdict on several labels, whose worst stands for all."""
        return any(flags.kind == "label" for flags in self.flags)

    @property
    def certainty(self) -> str:
        """How certain it is: the p-value, and the limits of the error."""
        parts = _grounds(self)
        place = int(self.rejected and self.test is not None)
        if not self._of_labels:
            parts[place:place] = [
                one.sentence if self.rejected else one.strength for one in self.flags
            ]
        parts += [self.questions] if self.questions else []
        if self.counted_rows:
            stand = f"{self.counted_rows:,} rows stand for {self.n:,}"
            parts.append(f"weights were taken as counts: {stand}")
        text = "; ".join(parts)
        if text:
            return f"{text[0].upper()}{text[1:]}."
        return ""

    @property
    def questions(self) -> str:
        """Which questions were asked, if there are several: each has an error rate of its own."""
        others = ["segments"] * self.segmented + ["classes"] * bool(self.classes)
        if not others or (self.test is None and self.interval is None):
            return ""
        number = ("two", "three")[len(others) - 1]
        whole = "top label" if self.top_label else "all rows"
        asked = (
            f"{whole} and {others[0]}" if len(others) == 1 else f"{whole}, {' and '.join(others)}"
        )
        return f"{asked} are {number} questions, each answered wrongly in at most {level_percent(self.alpha)} of cases"

    @property
    def sentence(self) -> str:
        """Conclusion and certainty."""
        return f"{self.headline} {self.certainty}".rstrip()

    def __str__(self) -> str:
        return self.sentence


def _headline(v: Verdict) -> str:
    what = "confidences of the top label" if v.top_label else "predictions"
    rows = "One row is" if v.n == 1 else f"{v.n:,} rows are"
    kinds = [words for words, _ in _kinds_of_error(v)]
    doubt = v.doubt
    errors = [f"the {what} are {' and '.join(kinds)}"] if kinds else []
    if doubt == "confidence":
        errors = ["no score is below 50 %, as if they were confidences of the predicted class"]
    apart = ", but one score for all rows tells none of them apart (AUC 0.5, discrimination 0)"
    apart = apart if doubt == "constant" else ""
    if _impossible(v):
        errors.insert(0, f"{_wrong_certainties(v)} (impossible if calibrated)")
    how = f": {', and '.join(errors)}" if errors else ""
    return {
        "miscalibrated": f"Not calibrated{how or ': predicted and observed rates differ'}",
        "slightly-miscalibrated": f"Slightly miscalibrated{how}",
        "no-evidence": f"No sign of miscalibration{' of the top label or of any class' if v.top_label else ''}{apart}",
        "too-few-rows": f"{rows} too few to tell whether the {what} are calibrated",
        "too-good": f"Too good to be true for new rows: the labels agree with the {what} better than chance allows",
        "undetermined": "Calibration could not be tested",
    }.get(v.code, v.code)


def _inverted(v: Verdict) -> bool:
    """Whether scores rank the wrong way round: the slope ignores scores of exactly 0 and 1, the AUC does not."""
    below = v.slope is not None and v.slope.high < 0
    if v.auc is None:
        return below
    return (below and v.auc.value < 0.5) or v.auc.high < 0.5


def _impossible(v: Verdict) -> bool:
    """Whether labels contradict scores of exactly 0 or 1 that rounding cannot explain: no other statistic counts."""
    return v.test is not None and v.test.contradicted > 0 and not v.test.alone


def _wrong_certainties(v: Verdict) -> str:
    """How many scores of exactly 0 or 1 were wrong, and of how many unless weights make these incomparable."""
    wrong = 0 if v.test is None else v.test.contradicted
    total = f" of {v.n_certain:,.0f}" if v.n_certain_wrong == wrong < v.n_certain else ""
    scores = "score" if wrong == 1 and not total else "scores"
    return f"{wrong:,}{total} {scores} of exactly 0 or 1 {'was' if wrong == 1 else 'were'} wrong"


def _strength(pvalue: float, by: str, shown: str = "") -> str:
    """How strong the evidence is, in words and as the p-value of a test, `shown` with its error."""
    words = next((words for most, words in _STRENGTHS if pvalue <= most), "weak")
    return f"the evidence is {words} ({shown or p_value(pvalue)}, {by})"


def _kinds_of_error(v: Verdict) -> list[tuple[str, str]]:
    """The kinds of error whose own confidence interval shows them, in words and as a number with its limits.

    The slope comes first, unless the factor of observed/expected is further from 1, which explains
    more of the error, or events are rare.
    """
    found = []
    slope = v.slope
    ratio = v.observed_expected
    if v.auc is not None and _inverted(v) and not (slope is not None and slope.high < 0):
        found.append(
            ("the wrong way round", f"AUC {number(v.auc.value, 2)} ({span(v.auc.low, v.auc.high)})")
        )
    elif slope is not None and not math.isnan(slope.low) and not slope.low <= 1 <= slope.high:
        limits = _with_limits(slope)
        limits = f"below {number(slope.high, 2)}" if slope.low == -math.inf else limits
        limits = f"above {number(slope.low, 2)}" if slope.high == math.inf else limits
        found.append((_slope_in_words(slope, v), f"slope {limits}"))
    if ratio is not None and math.isfinite(ratio.value) and not ratio.low <= 1 <= ratio.high:
        side = "too high on average" if ratio.value < 1 else "too low on average"
        if v.top_label:
            side = f"{side} ({'over' if ratio.value < 1 else 'under'}confident)"
        distance = abs(math.log(ratio.value)) if ratio.value > 0 else math.inf
        # "Underconfident and too high on average" would sound like a contradiction.
        found = [
            (words.replace("underconfident (too timid)", "too timid"), limits)
            for words, limits in found
        ]
        first = v.rare or (
            slope is not None and slope.value > 0 and distance > abs(math.log(slope.value))
        )
        found.insert(0 if first else len(found), (side, f"observed/expected {_with_limits(ratio)}"))
    return found


def _with_limits(found: Estimate) -> str:
    """The value and its limits, with digits enough to show that the limits exclude 1."""
    value = found.value
    low = found.low
    high = found.high
    digits = next((d for d in (2, 3, 4) if round(low, d) > 1 or round(high, d) < 1), 5)
    least = 0.5 * 10.0**-digits
    one, *limits = (
        f"{v:,.{digits}f}".replace("-", "−") if abs(v) >= least else number(v, digits)
        for v in (value, low, high)
    )
    return f"{one} ({' to '.join(limits)})"


def _slope_in_words(slope: Estimate, v: Verdict) -> str:
    """The spread of the scores.

    Of a top label the mean, not the spread, is what overconfident means.
    """
    low = slope.low
    high = slope.high
    top_label = v.top_label
    if low > 1:
        if top_label:
            return "too timid"
        return "underconfident (too timid)"
    if _inverted(v):
        return "the wrong way round"
    if low <= 0 and high < _UNRELATED and not (v.auc is not None and v.auc.low > 0.5):
        if low > -_UNRELATED:
            return "unrelated to the labels"
        return "unrelated to the labels or the wrong way round"
    if top_label:
        return "too extreme"
    return "overconfident (too extreme)"


def _fold(ratio: float) -> str:
    """Observed divided by expected as a factor, unless it is close to 1 or infinite."""
    factor = 1 / ratio if 0 < ratio < 1 else ratio
    if _CLEAR <= factor < math.inf:
        return f" {factor:.1f}-fold"
    return ""


def _grounds(v: Verdict) -> list[str]:
    """How certain it is: strength and p-value, limits of the error, and the power if nothing was found."""
    if v._of_labels:
        return [flags.strength for flags in v.flags]
    test = v.test
    found = v.interval
    flagged = bool(v.flags)
    if test is None and found is None:
        return [_ece_in_words(v)]
    how = " of all rows" if v.segmented and (v.rejected or not flagged) else ""
    how += (" of the top label" if v.top_label else "") + (
        ", clusters taken into account" if v.clustered else ""
    )
    if v.code == "too-good":
        assert test is not None
        assert test.too_good is not None
        cause = (
            "scores fitted on these very rows are the usual cause, duplicates and quotas are others"
        )
        return [_strength(test.too_good, f"lower tail of the {test.method} test{how}"), cause]
    shown = v.code in ("miscalibrated", "slightly-miscalibrated")
    parts = []
    if test is not None:
        by = f"{test.method} test{how}"
        within = f"labels and predictions differ no more than chance allows ({test.pvalue_in_words}, {by})"
        within = f"over all rows, {within}" if flagged else within
        shown_pvalue = test.pvalue_in_words if test.is_open else ""
        parts.append(_strength(test.pvalue, by, shown_pvalue) if v.rejected else within)
    if test is not None and test.contradicted and not _impossible(v):
        parts.append(f"{_wrong_certainties(v)}, which is possible only if they were rounded")
    if shown:
        parts += [limits for _, limits in _kinds_of_error(v)]
        if v.rejected and v.prior_shift is not None and v.prior_shift.suspected:
            if v.prior_shift.shown:
                unclear = ""
            else:
                unclear = ", or like another error: the slope is too uncertain to tell"
            parts.append(f"it looks like {v.prior_shift.factor}{unclear}")
    if v.power is not None and v.code in ("no-evidence", "too-few-rows"):
        names = ("wrong answers", "right answers") if v.top_label else ("non-events", "events")
        parts.append(_power_in_words(v.power, rarer=names[v.mean_score <= 0.5]))
    if found is not None:
        parts.append(_interval_in_words(found, shown=v.rejected))
    return parts


def _ece_in_words(v: Verdict) -> str:
    """The ECE with its limits and beside that of a calibrated model, where these are known."""
    found = v.ece
    if found is None:
        return "the ECE is unknown"
    if math.isnan(found.floor):
        return f"the ECE is {number(found.value)}, without a reference value"
    limits = (
        f" ({level_percent(found.level)} {span(found.low, found.high)})" if found.bounded else ""
    )
    return f"the ECE is {number(found.value)}{limits}; a calibrated model would show about {number(found.floor)}"


def _power_in_words(power: DetectionPower, rarer: str) -> str:
    """What these rows notice and, if they are too few, how many would notice what matters."""
    ranges = (("observed/expected", power.noticed_ratio), ("a slope", power.noticed_slope))
    kinds = [f"{name} {_outside(*ends)}" for name, ends in ranges if not all(map(math.isnan, ends))]
    if math.isnan(power.noticed_error):
        error = ""
    else:
        error = f"an error of {points(power.noticed_error)[0]} percentage points"
    often = f"with probability {percent(NOTICED)}"
    # In waves, or over few scores, the same error is noticed about half as often.
    shape = f" (by then {error}; one in waves, or over few scores, must be larger)" if error else ""
    noticed = f"{' or '.join(kinds)} would have been noticed {often}{shape}"
    if not kinds:
        noticed = f"{error or 'hardly any miscalibration'} would have been noticed {often}"
    if power.rows_needed is None:
        return noticed
    needed = f"{percent(RATIO - 1)} more or {percent(1 - 1 / RATIO)} fewer {rarer} than predicted"
    needed += f" and such an error of {points(power.tolerance)[0]} percentage points"
    rows = f"about {power.rows_needed:,} rows are needed"
    return f"{noticed}; {rows} to notice {needed} with probability {percent(ENOUGH)}"


def _outside(low: float, high: float) -> str:
    """Values below or above some ends around 1, with digits enough to tell them from 1."""
    digits = [
        2 if math.isnan(v) else max(2, -math.floor(math.log10(max(abs(v - 1), 1e-9))))
        for v in (low, high)
    ]
    ends = [f"{v:,.{max(digits)}f}" for v in (low, high)]
    if math.isnan(low) or math.isnan(high):
        if math.isnan(low):
            return f"above {ends[1]}"
        return f"below {ends[0]}"
    return f"outside {ends[0]} to {ends[1]}"


def _interval_in_words(found: Interval, *, shown: bool) -> str:
    """Both limits of an error that was found, or the upper one."""
    (low, high), level = points(found.low, found.high), level_percent(found.level)
    if not shown:
        limit = f"the typical error is at most {high} percentage points ({level} confidence)"
        # With few distinct scores each has a cell of its own, and nothing is presumed of its
        # neighbours.
        return limit + ("" if found.bins.startswith("Distinct") else f", {SMOOTH}")
    limits = (
        f"is above 0 and at most {high}" if float(low) == 0 else f"lies between {low} and {high}"
    )
    limits = f"is {low}" if low == high else limits
    if found.estimate == 0:
        limits = f"is too small to be estimated, but above 0 and at most {high}"
    else:
        limits = limits
    return f"the typical error {limits} percentage points ({level} confidence)"
