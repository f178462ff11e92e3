"""What is said about a verdict: every sentence once, for all forms of output."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from trueness._text.numbers import (
    MISSING,
    TOO_SMALL,
    count,
    in_digits,
    level_percent,
    number,
    p_value,
    percent,
    points,
    ratio,
    span,
)
from trueness._text.strings import capitalized
from trueness.results._inference import Estimate, Interval
from trueness.results._statements import flagged_in_words, how_far_in_words

Judged: TypeAlias = Any
"""A `Verdict`, whose module imports this one."""

RATIO = 1.25
"""The factor on the frequency of the rarer label that should not be missed."""
ENOUGH = 0.8
"""The power at which a miscalibration counts as one that would have been noticed."""
SMOOTH = "if it varies smoothly with the score"
"""What every limit on an error of any shape presumes: errors that alternate from score to score are
not seen."""
NOTICED = 0.9
"""The power of what these rows are said to notice."""
_UNRELATED = 0.2
_NO_SKILL = 0.1
"""The distance of the AUC from ½ within which, limits included, scores hardly tell rows apart."""
_STRENGTHS = (
    (0.0001, "overwhelming"),
    (0.001, "very strong"),
    (0.01, "strong"),
    (0.05, "clear, but not strong"),
)
"""Words for the evidence, by the largest p-value that they are used for."""
_CLEAR = 1.05


class Nouns(NamedTuple):
    """What the scores and the outcomes are called in every sentence."""

    scores: str
    events: str
    others: str
    """Rows without the event."""


def nouns(v: Judged) -> Nouns:
    """The nouns of a verdict: the one place where they are chosen."""
    if v.top_label:
        return Nouns("confidences of the top label", "right answers", "wrong answers")
    if v.statement is not None:
        return Nouns(v.statement.subject, "events", "non-events")
    return Nouns("predictions", "events", "non-events")


STATES = {
    "miscalibrated": "Not calibrated",
    "nearly-calibrated": "Nearly calibrated",
    "no-evidence": "No sign of miscalibration",
    "too-few-rows": "Too few rows to tell",
    "too-good": "Too good to be true",
    "undetermined": "Could not be tested",
}
"""Each code in a few words, for a line of a table."""

# ---- the headline


def headline(v: Judged) -> str:
    """The conclusion in one sentence."""
    if v.flags and (not v.rejected or v.is_of_labels):
        where = ", and in ".join(f"{flags.share}: {flags.worst_in_words}" for flags in v.flags)
        return f"Not calibrated in {where}."
    scores = nouns(v).scores
    if v.code == "miscalibrated":
        return f"{_not_calibrated(v)}."
    if v.code == "nearly-calibrated":
        certain = f", and {_wrong_certainties(v)}" if _impossible(v) else ""
        return f"Nearly calibrated: an error is shown, {error(v)}{certain}."
    if v.code == "no-evidence":
        return f"{_no_sign(v)}."
    if v.code == "too-few-rows" and v.has_few_clusters:
        unit = v.cluster_name or "that"
        return f"{v.clusters} clusters are too few to tell: is {unit} the unit that repeats?"
    if v.code == "too-few-rows":
        rows = "One row is" if v.n == 1 else f"{v.n:,} rows are"
        return f"{rows} too few to tell whether the {scores} are calibrated."
    if v.code == "too-good":
        return (
            "Too good to be true for new rows: the labels agree with the "
            f"{scores} better than chance allows."
        )
    return "Calibration could not be tested."


def _not_calibrated(v: Judged) -> str:
    """That an error of size was shown, and of which kinds; or the row that decides alone."""
    opening = "Not calibrated"
    if _rests_on_one_row(v):
        return (
            f"{opening}, but one of {v.n:,} rows decides that: {v.decisive.in_words}. Check this "
            "value first"
        )
    if v.has_few_rows and not _impossible(v):
        events = count(round(v.n * v.rate), nouns(v).events.removesuffix("s"))
        opening = f"Few rows ({v.n:,}, with {events}), but not calibrated"
    uncertain = "; how far off is uncertain" if v.is_size_uncertain else ""
    errors = _errors(v)
    if errors and uncertain:
        by_itself = [flags for flags in v.flags if flags.kind == "segment" and flags.own]
        if by_itself:
            uncertain = f". Off by itself: {by_itself[0].worst_in_words}"
    if errors:
        return f"{opening}: {', and '.join(errors)}{uncertain}"
    if uncertain:
        return f"{opening}{uncertain}"
    return f"{opening}: predicted and observed rates differ"


def _rests_on_one_row(v: Judged) -> bool:
    return v.decisive is not None and not _impossible(v)


def _errors(v: Judged) -> list[str]:
    """Clauses on the kinds of error that were shown."""
    if v.doubt == "confidence":
        clauses = ["no score is below 50 %, as if they were confidences of the predicted class"]
    else:
        kinds = [kind for kind, _ in _kinds_of_error(v)]
        clauses = _times_clause(v)
        if clauses:
            kinds = [kind for kind in kinds if " on average" not in kind]
            if _impossible(v):  # another clause comes first
                clauses = [f"there were {clauses[0]}"]
        if kinds:
            clauses.append(f"the {nouns(v).scores} are {' and '.join(kinds)}")
    if _impossible(v):
        clauses.insert(0, f"{_wrong_certainties(v)} (impossible if calibrated)")
    return clauses


def _times_clause(v: Judged) -> list[str]:
    """The factor of rare events, where it was shown not to be 1."""
    ratio = v.observed_expected
    if not v.rare or ratio is None or not _has_ratio(v) or ratio.low <= 1 <= ratio.high:
        return []
    if ratio.value == 0:
        return [f"no {nouns(v).events}, where about {_expected(v)} were predicted"]
    return [f"{number(ratio.value, 2)} times as many {nouns(v).events} as predicted"]


def _expected(v: Judged) -> str:
    """The number of events that the scores predict."""
    expected = v.n * v.mean_score
    return f"{expected:,.0f}" if expected >= 10 else f"{expected:.2g}"


def _no_sign(v: Judged) -> str:
    if v.top_label:
        return "No sign of miscalibration of the top label or of any class"
    if v.doubt == "constant":
        return (
            "No sign of miscalibration, but one score for all rows tells none of them apart "
            "(AUC 0.5, discrimination 0)"
        )
    return "No sign of miscalibration"


# ---- how far off


def error(v: Judged, unit: str = "percentage points") -> str:
    """How far off, in a few words; the bound alone where nothing was shown.

    Where only a part of the rows is off, it is about the worst part. Of rare events the factor
    leads, unless an error of another kind was shown. Empty where nothing is known.
    """
    if v.flags and not v.rejected and not v.is_of_labels:
        worst: str = v.flags[0].size(unit)
        if worst:
            return worst
    if leads_by_ratio(v):
        return f"{times(v.observed_expected)} times as many {nouns(v).events} as predicted"
    if v.interval is None:
        return _average_gap(v, unit)
    return typical_error(v.interval, rejected=v.rejected, unit=unit)


def leads_by_ratio(v: Judged) -> bool:
    """Whether observed/expected is the size: of rare events, if nothing else was shown."""
    if not v.rare or not _has_ratio(v):
        return False
    includes_one = v.observed_expected.low <= 1 <= v.observed_expected.high
    return not (v.rejected and includes_one and v.interval is not None)


def pvalue_in_words(v: Judged) -> str:
    """The p-value of what decided: of all rows, or of the parts if only these are off."""
    if v.flags and not v.rejected:
        flags = v.flags[0]
        kinds = "classes" if flags.kind == "class" else f"{flags.kind}s"
        return f"{kinds} {p_value(flags.pvalue)}"
    return MISSING if v.test is None else str(v.test.pvalue_in_words)


def how_far_off(v: Judged) -> str:
    """How far off, as the answer to a question; empty where nothing is known."""
    if v.statement is not None and v.statement.coverage is not None:
        return how_far_in_words(v.statement)
    if v.all_rows == "too-good":
        return "These rows cannot show it"
    if v.has_few_clusters and not v.rejected:
        return f"Not known from {v.clusters} clusters"
    return capitalized(error(v))


def typical_error(interval: Interval, *, rejected: bool, unit: str = "percentage points") -> str:
    """The typical error with its limits: the size that was shown, or else the bound."""
    typical, low, high = points(interval.estimate, *interval.hull)
    if not rejected:
        return f"at most {high} {unit}"
    if low == high:
        return f"{low} {unit}"
    if float(typical) == 0:
        return f"{TOO_SMALL} (at most {high} {unit})"
    if float(low) == 0:
        return f"typically {typical} {unit} (at most {high})"
    return f"typically {typical} {unit} ({low} to {high})"


def size(v: Judged) -> str:
    """How far off, in a sentence; empty if the headline says it, or it is not known."""
    if v.interval is None or v.code in ("nearly-calibrated", "too-good") or v.is_of_labels:
        return ""
    level = f"{level_percent(v.interval.level)} confidence"
    if v.has_few_clusters and not v.rejected:
        return ""
    if not v.rejected:
        (high,) = points(v.interval.high)
        limit = f"The typical error is at most {high} percentage points ({level})"
        # With few distinct scores each has a cell of its own, and nothing is presumed of its
        # neighbours.
        smooth = "" if v.interval.bins.startswith("Distinct") else f", {SMOOTH}"
        return f"{limit}{smooth}."
    if v.is_size_uncertain and v.interval.estimate > 0:
        typical, low, high = points(v.interval.estimate, v.interval.low, v.interval.high)
        span_of_error = f"from {low} to {high}" if float(low) > 0 else f"up to {high}"
        return (
            f"Typically off by {typical} percentage points, but anything {span_of_error} "
            f"fits these {v.n:,} rows ({level})."
        )
    return _sentence(_bounded(v.interval, level))


def _bounded(interval: Interval, level: str) -> str:
    """An error that was shown, with its limits."""
    typical, low, high = points(interval.estimate, *interval.hull)
    if low == high:
        return f"the typical error is {low} percentage points ({level})"
    if float(typical) == 0:
        return f"the typical error is {TOO_SMALL} ({level}: at most {high} percentage points)"
    limits = f"at most {high}" if float(low) == 0 else f"{low} to {high}"
    return f"typically off by {typical} percentage points ({level}: {limits})"


def _has_ratio(v: Judged) -> bool:
    ratio = v.observed_expected
    return ratio is not None and math.isfinite(ratio.value)


def times(factor: Estimate) -> str:
    """A factor with its limits, with the digits that these justify."""
    value, low, high = (ratio(end) for end in (factor.value, factor.low, factor.high))
    if factor.value == 0:
        return f"at most {high}"
    return f"{value} ({low} to {high})"


def _average_gap(v: Judged, unit: str) -> str:
    if v.ece is None or not math.isfinite(v.ece.value):
        return ""
    return f"{points(v.ece.value)[0]} {unit} on average (ECE)"


def _sentence(text: str) -> str:
    """With a capital letter and a stop."""
    return f"{capitalized(text)}."


# ---- the evidence


def evidence(v: Judged) -> str:
    """How strong it is, with the p-value and the numbers behind the headline."""
    parts = _grounds(v)
    place = int(v.rejected and v.test is not None) + int(_rests_on_one_row(v))
    if not v.is_of_labels:
        for flags in reversed(v.flags):
            flagged = flags.sentence
            if v.statement is not None and v.statement.is_banded:
                flagged = flagged_in_words(flags)
            parts.insert(place, flagged if v.rejected else flags.strength)
    if v.counted_rows:
        parts.append(f"weights were taken as counts: {v.counted_rows:,} rows stand for {v.n:,}")
    text = "; ".join(parts)
    if text:
        return _sentence(text)
    return ""


def questions(v: Judged) -> str:
    """Which questions were asked, if there are several: each has an error rate of its own."""
    parts = []
    if v.segmented:
        parts.append("segments")
    if v.classes:
        parts.append("classes")
    if not parts or (v.test is None and v.interval is None):
        return ""
    whole = "top label" if v.top_label else "all rows"
    wrong = f"each answered wrongly in at most {level_percent(v.alpha)} of cases"
    if len(parts) == 1:
        return f"{whole} and {parts[0]} are two questions, {wrong}"
    return f"{whole}, {' and '.join(parts)} are three questions, {wrong}"


def _grounds(v: Judged) -> list[str]:
    """Phrases for the test and its p-value, the kinds of error, and the power if nothing was found.

    Some headlines rest on something else, and then on that alone: bands, labels, the size of the
    error without a test, too few clusters, or labels that are too good.
    """
    if v.statement is not None and v.statement.is_banded:
        grounds: list[str] = v.statement.certainty(v)
        return grounds
    if v.is_of_labels:
        return [flags.strength for flags in v.flags]
    test = v.test
    if test is None and v.interval is None:
        return [_ece_in_words(v)]
    if v.has_few_clusters and not v.rejected:
        rows = (
            f"the {v.n:,} rows fall into {v.clusters} clusters, and a cluster counts like one row"
        )
        return [rows, f"no test of {v.clusters} clusters can reach {level_percent(v.alpha)}"]
    of_rows = _tested_rows(v)
    if v.code == "too-good":
        assert test is not None
        assert test.too_good is not None
        cause = (
            "scores fitted on these very rows are the usual cause, duplicates and quotas are others"
        )
        return [strength(test.too_good, f"lower tail of the {test.method} test{of_rows}"), cause]
    parts = []
    if test is not None:
        by = f"{test.method} test{of_rows}"
        within = (
            "labels and predictions differ no more than chance allows "
            f"({test.pvalue_in_words}, {by})"
        )
        if v.flags:
            within = f"over all rows, {within}"
        shown = strength(test.pvalue, by, test.pvalue_in_words)
        parts.append(shown if v.rejected else within)
    if test is not None and test.contradicted and not _impossible(v):
        parts.append(f"{_wrong_certainties(v)}, which is possible only if they were rounded")
    if _rests_on_one_row(v):
        parts.append(v.decisive.without)
    if v.code in ("miscalibrated", "nearly-calibrated"):
        parts += [limits for _, limits in _kinds_of_error(v)]
        parts += _prior_shift_in_words(v)
    if v.code in ("miscalibrated", "nearly-calibrated"):
        parts += _no_skill(v)
    if v.code == "too-few-rows" and _has_ratio(v):
        parts.append(f"observed/expected {times(v.observed_expected)}")
    if v.power is not None and v.code in ("no-evidence", "too-few-rows"):
        names = (nouns(v).others, nouns(v).events)
        parts.append(power_in_words(v.power, rarer=names[v.mean_score <= 0.5]))
    if v.statement is not None and v.statement.censored:
        parts.append(f"of {v.statement.n_input:,} rows, {_left_out(v.statement.left_out)}")
    return parts


def _no_skill(v: Judged) -> list[str]:
    """That the scores hardly tell rows apart, whatever a map does."""
    if v.auc is None or not (v.auc.low > 0.5 - _NO_SKILL and v.auc.high < 0.5 + _NO_SKILL):
        return []
    auc = f"AUC {number(v.auc.value, 2)}, {number(v.auc.low, 2)} to {number(v.auc.high, 2)}"
    return [f"the scores hardly tell rows apart ({auc}), which no map mends"]


def _left_out(rows: Mapping[str, int]) -> str:
    """How many rows do not count, and why: "522 were censored before the horizon"."""
    clauses = []
    for reason, n in rows.items():
        verb = "was" if n == 1 else "were"
        clauses.append(f"{n:,} {verb} {reason}")
    return ", ".join(clauses)


def _tested_rows(v: Judged) -> str:
    """Which rows the test is of, in words that follow its name: " of all rows of the top label"."""
    words = ""
    if v.segmented and (v.rejected or not v.flags):
        words += " of all rows"
    if v.top_label:
        words += " of the top label"
    if v.clustered:
        words += ", clusters taken into account"
    return words


def _prior_shift_in_words(v: Judged) -> list[str]:
    """That one factor on the odds may be the cause, unless a segment has an error of its own."""
    if not v.rejected or v.prior_shift is None or not v.prior_shift.suspected:
        return []
    if any(flags.own for flags in v.flags):
        return []
    if v.prior_shift.shown:
        return [f"it looks like {v.prior_shift.factor}"]
    unclear = "or like another error: the slope is too uncertain to tell"
    return [f"it looks like {v.prior_shift.factor}, {unclear}"]


def is_inverted(v: Judged) -> bool:
    """Whether scores rank the wrong way round.

    The slope ignores scores of exactly 0 and 1, the AUC does not.
    """
    below: bool = v.slope is not None and v.slope.high < 0
    if v.auc is None:
        return below
    return bool((below and v.auc.value < 0.5) or v.auc.high < 0.5)


def _impossible(v: Judged) -> bool:
    """Whether labels contradict scores of exactly 0 or 1 that rounding cannot explain.

    No other statistic counts then.
    """
    return v.test is not None and v.test.contradicted > 0 and not v.test.alone


def _wrong_certainties(v: Judged) -> str:
    """How many scores of exactly 0 or 1 were wrong.

    And of how many, unless weights make these incomparable.
    """
    wrong = 0 if v.test is None else v.test.contradicted
    verb = "was" if wrong == 1 else "were"
    if v.n_certain_wrong == wrong < v.n_certain:
        return f"{wrong:,} of {v.n_certain:,.0f} scores of exactly 0 or 1 {verb} wrong"
    return f"{count(wrong, 'score')} of exactly 0 or 1 {verb} wrong"


def strength(pvalue: float, by: str, shown: str = "") -> str:
    """How strong the evidence is, in words and as the p-value of a test, `shown` with its error."""
    words = next((words for limit, words in _STRENGTHS if pvalue <= limit), "weak")
    return f"the evidence is {words} ({shown or p_value(pvalue)}, {by})"


def _kinds_of_error(v: Judged) -> list[tuple[str, str]]:
    """The kinds of error that an interval of their own shows, in words and as a number.

    The slope comes first, unless the factor of observed/expected is further from 1, which explains
    more of the error, or events are rare.
    """
    kinds = []
    slope = v.slope
    ratio = v.observed_expected
    if v.auc is not None and is_inverted(v) and not (slope is not None and slope.high < 0):
        kinds.append(
            ("the wrong way round", f"AUC {number(v.auc.value, 2)} ({span(v.auc.low, v.auc.high)})")
        )
    elif slope is not None and not math.isnan(slope.low) and not slope.low <= 1 <= slope.high:
        limits = _with_limits(slope)
        if slope.low == -math.inf:
            limits = f"below {number(slope.high, 2)}"
        if slope.high == math.inf:
            limits = f"above {number(slope.low, 2)}"
        kinds.append((_slope_in_words(slope, v), f"slope {limits}"))
    if ratio is not None and math.isfinite(ratio.value) and not ratio.low <= 1 <= ratio.high:
        # "Underconfident and too high on average" would sound like a contradiction.
        kinds = [
            (words.replace("underconfident (too timid)", "too timid"), limits)
            for words, limits in kinds
        ]
        kind = _ratio_in_words(ratio, v), f"observed/expected {_with_limits(ratio)}"
        distance = abs(math.log(ratio.value)) if ratio.value > 0 else math.inf
        has_slope = slope is not None and slope.value > 0
        if v.rare or (has_slope and distance > abs(math.log(slope.value))):
            kinds.insert(0, kind)
        else:
            kinds.append(kind)
    return kinds


def _with_limits(estimate: Estimate) -> str:
    """The value and its limits, with digits enough to show that the limits exclude 1."""
    low = estimate.low
    high = estimate.high
    digits = 2
    while digits < 5 and not (round(low, digits) > 1 or round(high, digits) < 1):
        digits += 1

    def text(value: float) -> str:
        if abs(value) < 0.5 * 10.0**-digits:
            return number(value, digits)
        return in_digits(value, digits)

    return f"{text(estimate.value)} ({text(low)} to {text(high)})"


def _ratio_in_words(ratio: Estimate, v: Judged) -> str:
    """The side on which scores are off on average."""
    if ratio.value < 1:
        return "too high on average (overconfident)" if v.top_label else "too high on average"
    return "too low on average (underconfident)" if v.top_label else "too low on average"


def _slope_in_words(slope: Estimate, v: Judged) -> str:
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
    if is_inverted(v):
        return "the wrong way round"
    if low <= 0 and high < _UNRELATED and not (v.auc is not None and v.auc.low > 0.5):
        if low > -_UNRELATED:
            return "unrelated to the labels"
        return "unrelated to the labels or the wrong way round"
    if top_label:
        return "too extreme"
    return "overconfident (too extreme)"


def fold(ratio: float) -> str:
    """Observed divided by expected as a factor, unless it is close to 1 or infinite."""
    factor = 1 / ratio if 0 < ratio < 1 else ratio
    if _CLEAR <= factor < math.inf:
        return f" {factor:.1f}-fold"
    return ""


def _ece_in_words(v: Judged) -> str:
    """The ECE with its limits and beside that of a calibrated model, where these are known."""
    estimate = v.ece
    if estimate is None:
        return "the ECE is unknown"
    if math.isnan(estimate.floor):
        return f"the ECE is {number(estimate.value)}, without a reference value"
    limits = ""
    if estimate.bounded:
        limits = f" ({level_percent(estimate.level)} {span(estimate.low, estimate.high)})"
    return (
        f"the ECE is {number(estimate.value)}{limits}; a calibrated model would show about "
        f"{number(estimate.floor)}"
    )


def power_in_words(power: Judged, rarer: str) -> str:
    """What these rows notice and, if they are too few, how many would notice what matters."""
    ranges = (("observed/expected", power.noticed_ratio), ("a slope", power.noticed_slope))
    kinds = [f"{name} {_outside(*ends)}" for name, ends in ranges if not all(map(math.isnan, ends))]
    if math.isnan(power.noticed_error):
        error = ""
    else:
        error = f"an error of {points(power.noticed_error)[0]} percentage points"
    often = f"{10 * NOTICED:.0f} times out of 10"
    # In waves, or over few scores, the same error is noticed about half as often.
    shape = f" ({error}, {SMOOTH})" if error else ""
    noticed = f"{' or '.join(kinds)} would have been noticed {often}{shape}"
    if not kinds:
        noticed = f"{error or 'hardly any miscalibration'} would have been noticed {often}"
    if power.rows_needed is None:
        return noticed
    needed = f"{percent(RATIO - 1)} more or {percent(1 - 1 / RATIO)} fewer {rarer} than predicted"
    needed += f", or an error of {points(power.tolerance)[0]} percentage points"
    rows = f"about {power.rows_needed:,} rows would show"
    return f"{noticed}; {rows} {needed}, {10 * ENOUGH:.0f} times out of 10"


def _outside(low: float, high: float) -> str:
    """Values below or above some ends around 1, with digits enough to tell them from 1."""
    digits = 2
    for end in (low, high):
        if not math.isnan(end):
            distance = max(abs(end - 1), 1e-9)
            digits = max(digits, -math.floor(math.log10(distance)))

    def text(end: float) -> str:
        written = f"{end:,.{digits}f}"
        return "0" if written == "0.00" else written

    if math.isnan(low):
        return f"above {text(high)}"
    if math.isnan(high):
        return f"below {text(low)}"
    return f"outside {text(low)} to {text(high)}"
