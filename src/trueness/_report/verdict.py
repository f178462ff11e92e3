"""The verdict on one model, decided by the omnibus test and the joint test of its segments, and on several models."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from trueness._report.classes import worst_class
from trueness._report.inference import FEW_ROWS, Alpha
from trueness._report.records import ClassRow, Code, Model, Segments, Summary, Verdict
from trueness._report.segments import worst_segment
from trueness._text.numbers import count, level_percent, number, p_value, percent, points, span
from trueness._text.strings import quoted, shorten
from trueness.infer.plan._detection_power import ENOUGH, RATIO, DetectionPower
from trueness.results import Interval

_SMALL, _SMALL_SHARE = 0.02, 0.1
"""An error is slight if its upper limit is at most this, and this share of the rarer label's."""
_UNRELATED = 0.2
_STRENGTHS = ((0.0001, "overwhelming"), (0.001, "very strong"), (0.01, "strong"), (0.05, "clear, but not strong"))
"""Words for the evidence, by the largest p-value that they are used for."""
_CLEAR = 1.05
_MOST_NAMES = 6
# One model, several models; the worst first.
_CLAUSES: dict[Code, tuple[str, str]] = {
    "miscalibrated": ("is miscalibrated", "are miscalibrated"),
    "too-good": ("is too good to be true", "are too good to be true"),
    "undetermined": ("could not be tested", "could not be tested"),
    "too-few-rows": ("has too few rows to tell", "have too few rows to tell"),
    "slightly-miscalibrated": ("is slightly miscalibrated", "are slightly miscalibrated"),
    "no-evidence": ("shows no miscalibration", "show no miscalibration"),
}


def verdict(
    summary: Summary,
    level: float,
    segments: Segments | None = None,
    classes: Sequence[ClassRow] | None = None,
    *,
    name: str = "",
    top_label: bool = False,
    clustered: bool = False,
) -> Verdict:
    """Judge one model, called `name` if there are several."""
    alpha = Alpha.of_level(level, (segments is not None) + (classes is not None))
    test, found = summary.test, summary.ece_interval
    # Fractional weights in clusters have no test, but a set that zero is tested for.
    rejected = test.pvalue <= alpha.rejection if test is not None else found is not None and not found.includes_zero
    flags = [one for one in (_flagged_segments(segments), _flagged_classes(classes)) if one is not None]
    code = _code(summary, alpha, rejected, bool(flags))
    what = "confidences of the top label" if top_label else "predictions"
    if flags and not rejected:
        headline = f"Not calibrated in {', and in '.join(f'{one.share}: {one.worst}' for one in flags)}"
    else:
        headline = _headline(code, summary, what, top_label)
    over = segments is not None and (rejected or not flags)
    how = (" of all rows" if over else "") + (" of the top label" if top_label else "")
    how += ", clusters taken into account" if clustered else ""
    parts = _evidence(code, summary, _rarer_label(summary, top_label), how, rejected=rejected, flagged=bool(flags))
    place = int(rejected and test is not None)
    parts[place:place] = [one.sentence if rejected else one.strength for one in flags]
    return _compose(code, f"{headline}.", "; ".join(parts), name)


def _compose(code: Code, headline: str, certainty: str, name: str = "") -> Verdict:
    """The verdict with its whole sentence, which begins with `name`; `certainty` has no full stop."""
    certainty = f"{certainty[0].upper()}{certainty[1:]}." if certainty else ""
    opening = f"{quoted(name)}: {headline[0].lower()}{headline[1:]}" if name else headline
    return Verdict(code, headline, certainty, f"{opening} {certainty}".rstrip())


def _code(summary: Summary, alpha: Alpha, rejected: bool, flagged: bool) -> Code:
    test, found = summary.test, summary.ece_interval
    if rejected:
        rare = min(summary.rate, 1 - summary.rate)
        slight = found is not None and found.high <= min(_SMALL, _SMALL_SHARE * rare) and not flagged
        return "slightly-miscalibrated" if slight else "miscalibrated"
    if flagged:
        return "miscalibrated"
    if test is None and found is None:
        return "too-few-rows" if summary.n < FEW_ROWS else "undetermined"
    if test is not None and test.too_good is not None and test.too_good <= alpha.too_good:
        return "too-good"
    return "no-evidence" if summary.power is not None and summary.power.enough else "too-few-rows"


def _headline(code: Code, summary: Summary, what: str, top_label: bool) -> str:
    rows = "One row is" if summary.n == 1 else f"{summary.n:,} rows are"
    kinds = [words for words, _ in _kinds_of_error(summary)]
    errors = [f"the {what} are {' and '.join(kinds)}"] if kinds else []
    if _impossible(summary):
        errors.insert(0, f"{_wrong_certainties(summary)} (impossible if calibrated)")
    how = f": {', and '.join(errors)}" if errors else ""
    return {
        "miscalibrated": f"Not calibrated{how or ': predicted and observed rates differ'}",
        "slightly-miscalibrated": f"Slightly miscalibrated{how}",
        "no-evidence": f"No sign of miscalibration{' of the top label or of any class' if top_label else ''}",
        "too-few-rows": f"{rows} too few to tell whether the {what} are calibrated",
        "too-good": f"Too good to be true for new rows: the labels agree with the {what} better than chance allows",
        "undetermined": "Calibration could not be tested",
    }[code]


def _impossible(summary: Summary) -> bool:
    """Whether labels contradict scores of exactly 0 or 1 that rounding cannot explain: no other statistic counts."""
    return summary.test is not None and summary.test.contradicted > 0 and not summary.test.alone


def _wrong_certainties(summary: Summary) -> str:
    """How many scores of exactly 0 or 1 were wrong, and of how many unless weights make these incomparable."""
    wrong = 0 if summary.test is None else summary.test.contradicted
    total = f" of {summary.n_certain:,.0f}" if summary.n_certain_wrong == wrong < summary.n_certain else ""
    scores = "score" if wrong == 1 and not total else "scores"
    return f"{wrong:,}{total} {scores} of exactly 0 or 1 {'was' if wrong == 1 else 'were'} wrong"


def _strength(pvalue: float, by: str) -> str:
    """How strong the evidence is, in words and as the p-value of a test."""
    words = next((words for most, words in _STRENGTHS if pvalue <= most), "weak")
    return f"the evidence is {words} ({p_value(pvalue)}, {by})"


def _kinds_of_error(summary: Summary) -> list[tuple[str, str]]:
    """The kinds of error whose own confidence interval shows them, in words and as a number with its limits.

    The slope comes first, unless the factor of observed/expected is further from 1: that explains more of the error.
    """
    found, s = [], summary
    if not math.isnan(s.slope_low) and not s.slope_low <= 1 <= s.slope_high:
        limits = _with_limits(s.slope, s.slope_low, s.slope_high)
        limits = f"below {number(s.slope_high, 2)}" if s.slope_low == -math.inf else limits
        limits = f"above {number(s.slope_low, 2)}" if s.slope_high == math.inf else limits
        found.append((_slope_in_words(s.slope_low, s.slope_high), f"slope {limits}"))
    if math.isfinite(s.observed_expected) and not s.observed_expected_low <= 1 <= s.observed_expected_high:
        side = "too high on average" if s.observed_expected < 1 else "too low on average"
        limits = _with_limits(s.observed_expected, s.observed_expected_low, s.observed_expected_high)
        ratio = abs(math.log(s.observed_expected)) if s.observed_expected > 0 else math.inf
        first = s.slope > 0 and ratio > abs(math.log(s.slope))
        found.insert(0 if first else len(found), (side, f"observed/expected {limits}"))
    return found


def _with_limits(value: float, low: float, high: float) -> str:
    """The value and its limits, with digits enough to show that the limits exclude 1."""
    digits = next((d for d in (2, 3, 4) if round(low, d) > 1 or round(high, d) < 1), 5)
    least = 0.5 * 10.0**-digits
    one, *limits = (
        f"{v:,.{digits}f}".replace("-", "−") if abs(v) >= least else number(v, digits) for v in (value, low, high)
    )
    return f"{one} ({' to '.join(limits)})"


def _slope_in_words(low: float, high: float) -> str:
    if low > 1:
        return "too timid"
    if high < 0:
        return "the wrong way round"
    if low <= 0 and high < _UNRELATED:
        return "unrelated to the labels" if low > -_UNRELATED else "unrelated to the labels or the wrong way round"
    return "too extreme"


def _rarer_label(summary: Summary, top_label: bool) -> str:
    """What the rarer label is called, by the scores."""
    names = ("wrong answers", "right answers") if top_label else ("non-events", "events")
    return names[summary.mean_score <= 0.5]


class _Flags(NamedTuple):
    """Flagged segments, or classes."""

    share: str
    """How many of how many."""
    worst: str
    """The worst of them, and what is wrong with it."""
    pvalue: float
    by: str
    """The test of the p-value."""
    several: bool

    @property
    def strength(self) -> str:
        """How strong the evidence is."""
        return _strength(self.pvalue, self.by)

    @property
    def sentence(self) -> str:
        """How many there are, and the worst."""
        which = f"{'are' if self.several else 'is'} flagged, above all {self.worst}"
        return f"{self.share} {which} ({p_value(self.pvalue)}, {self.by})"


def _flagged_segments(segments: Segments | None) -> _Flags | None:
    worst = worst_segment(segments)
    if segments is None or worst is None:
        return None
    number = sum(one.flagged for one in segments.rows)
    fold = _fold(worst.ratio) if worst.finding.endswith("predicted") else ""
    name = f"{shorten(worst.column, 30)} = {shorten(worst.value, 30)}, {worst.finding}{fold}"
    share = f"{number:,} of {count(len(segments.rows), 'segment')}"
    return _Flags(share, name, segments.pvalue, "all segments jointly", number > 1)


def _flagged_classes(classes: Sequence[ClassRow] | None) -> _Flags | None:
    worst = worst_class(classes)
    if classes is None or worst is None:
        return None
    bad = [one for one in classes if one.flagged]
    ratio = worst.share / worst.score if worst.score > 0 else math.inf
    fold = _fold(ratio)
    finding = f", {'under' if ratio > 1 else 'over'}-predicted{fold}" if fold else ""
    share, p = f"{len(bad):,} of {len(classes):,} classes", min(one.adjusted_pvalue or 0.0 for one in bad)
    return _Flags(share, f"{shorten(worst.label, 30)}{finding}", p, "all classes, adjusted", len(bad) > 1)


def _fold(ratio: float) -> str:
    """Observed divided by expected as a factor, unless it is close to 1 or infinite."""
    factor = 1 / ratio if 0 < ratio < 1 else ratio
    return f" {factor:.1f}-fold" if _CLEAR <= factor < math.inf else ""


def _evidence(code: Code, summary: Summary, what: str, how: str, *, rejected: bool, flagged: bool) -> list[str]:
    """How certain it is: strength and p-value, limits of the error, and the power if nothing was found."""
    test, found = summary.test, summary.ece_interval
    if test is None and found is None:
        return [_ece_in_words(summary)]
    if code == "too-good":
        assert test is not None
        assert test.too_good is not None
        cause = "scores fitted on these very rows are the usual cause, duplicates and quotas are others"
        return [_strength(test.too_good, f"lower tail of the {test.method} test{how}"), cause]
    shown, parts = code in ("miscalibrated", "slightly-miscalibrated"), []
    if test is not None:
        by = f"{test.method} test{how}"
        within = f"labels and predictions differ no more than chance allows ({p_value(test.pvalue)}, {by})"
        within = f"over all rows, {within}" if flagged else within
        parts.append(_strength(test.pvalue, by) if rejected else within)
    if test is not None and test.contradicted and not _impossible(summary):
        parts.append(f"{_wrong_certainties(summary)}, which is possible only if they were rounded")
    if shown:
        parts += [limits for _, limits in _kinds_of_error(summary)]
        if rejected and summary.prior_shift is not None and summary.prior_shift.detected:
            parts.append(f"it looks like {summary.prior_shift.factor}")
    if found is not None:
        parts.append(_interval_in_words(found, shown=shown))
    if summary.power is not None and code in ("no-evidence", "too-few-rows"):
        parts.append(_power_in_words(summary.power, what))
    return parts


def _ece_in_words(summary: Summary) -> str:
    """The ECE with its limits and beside that of a calibrated model, where these are known."""
    found = summary.estimates.get("ece")
    if found is None or math.isnan(found.floor):
        return f"the ECE is {number(summary.ece)}, without a reference value"
    limits = f" ({level_percent(found.level)} {span(found.low, found.high)})" if found.bounded else ""
    return f"the ECE is {number(summary.ece)}{limits}; a calibrated model would show about {number(found.floor)}"


def _power_in_words(power: DetectionPower, what: str) -> str:
    """What would have been noticed or, with too few rows, what could have been missed and how many are needed."""
    ratio = f"{percent(RATIO - 1)} more or {percent(1 - 1 / RATIO)} fewer {what} than predicted"
    error = f"a smooth error of {points(power.tolerance)[0]} points"
    least = min(power.ratio, power.error)
    if power.enough:
        often = "almost always" if least > 0.995 else f"with probability {percent(least, 0)} or more"
        return f"{ratio}, or {error}, would have been noticed {often}"
    weakest = error if power.error <= power.ratio else ratio
    often = "hardly ever" if least < 0.05 else f"with probability {percent(least, 0)} only"
    needed = "" if power.rows is None else f"; about {power.rows:,} rows are needed for {percent(ENOUGH)}"
    return f"{weakest} would be noticed {often}{needed}"


def _interval_in_words(found: Interval, *, shown: bool) -> str:
    """Both limits of an error that was found, or the upper one."""
    (low, high), level = points(found.low, found.high), level_percent(found.level)
    if not shown or found.includes_zero:
        return f"the typical error is at most {high} points ({level} confidence)"
    limits = f"is above 0 and at most {high}" if float(low) == 0 else f"lies between {low} and {high}"
    return f"the typical error {limits} points ({level} confidence)"


def overall_verdict(models: Sequence[Model]) -> Verdict:
    """The verdict at the top: that of the only model, or the worst code, with one clause per kind of verdict."""
    if len(models) == 1:
        return models[0].verdict
    by_code: dict[Code, list[str]] = {}
    for model in models:
        by_code.setdefault(model.verdict.code, []).append(quoted(model.name))
    codes = [code for code in _CLAUSES if code in by_code]
    clauses = [f"{_joined(by_code[code])} {_CLAUSES[code][len(by_code[code]) > 1]}" for code in codes]
    return _compose(codes[0], f"{'; '.join(clauses)}.", "")


def _joined(names: list[str]) -> str:
    shown = names[:_MOST_NAMES] + ([f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
