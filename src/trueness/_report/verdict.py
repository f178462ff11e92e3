"""The verdict on one model, decided by the omnibus test and the joint test of its segments, and on several models."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from trueness._report.classes import worst_class
from trueness._report.inference import FEW_ROWS, Alpha
from trueness._report.records import ClassRow, Code, Model, Segments, Summary, Verdict
from trueness._report.segments import worst_segment
from trueness._text.numbers import count, level_percent, number, p_value, percent
from trueness._text.strings import quoted, shorten
from trueness.infer._detection_power import ENOUGH, RATIO, DetectionPower
from trueness.results import Interval

_SMALL, _SMALL_SHARE = 0.02, 0.1
"""An error is slight if its upper limit is at most this, and this share of the rarer label's."""
_UNRELATED = 0.2
_NEARLY_ZERO = 1e-6
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
    how = (" of all rows" if segments is not None else "") + (" of the top label" if top_label else "")
    how += ", clusters taken into account" if clustered else ""
    parts = _evidence(code, summary, _rarer_label(summary, top_label), how)
    place = int(rejected and test is not None)
    parts[place:place] = [one.sentence if rejected else one.pvalue for one in flags]
    return _compose(code, f"{headline}.", "; ".join(parts), name)


def _compose(code: Code, headline: str, certainty: str, name: str = "") -> Verdict:
    """The verdict with its whole sentence, which begins with `name`; `certainty` has no full stop."""
    certainty = f"{certainty[0].upper()}{certainty[1:]}." if certainty else ""
    certainty = f"p{certainty[1:]}" if certainty.startswith(("P =", "P <")) else certainty
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
        assert summary.test is not None
        one = summary.test.contradicted == 1
        which = "label is impossible under its score" if one else "labels are impossible under their scores"
        errors.insert(0, f"{summary.test.contradicted:,} {which} of exactly 0 or 1")
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


def _kinds_of_error(summary: Summary) -> list[tuple[str, str]]:
    """The kinds of error whose own confidence interval shows them, in words and as a number with its limits."""
    found, s = [], summary
    if not math.isnan(s.slope_low) and not s.slope_low <= 1 <= s.slope_high:
        limits = _with_limits(s.slope, s.slope_low, s.slope_high)
        limits = f"below {number(s.slope_high, 2)}" if s.slope_low == -math.inf else limits
        limits = f"above {number(s.slope_low, 2)}" if s.slope_high == math.inf else limits
        found.append((_slope_in_words(s.slope_low, s.slope_high), f"slope {limits}"))
    if math.isfinite(s.observed_expected) and not s.observed_expected_low <= 1 <= s.observed_expected_high:
        side = "too high on average" if s.observed_expected < 1 else "too low on average"
        limits = _with_limits(s.observed_expected, s.observed_expected_low, s.observed_expected_high)
        found.append((side, f"observed/expected {limits}"))
    return found


def _with_limits(value: float, low: float, high: float) -> str:
    """The value and its limits, with digits enough to show that the limits exclude 1."""
    digits = next((d for d in (2, 3, 4) if round(low, d) > 1 or round(high, d) < 1), 5)
    return f"{number(value, digits)} ({number(low, digits)} to {number(high, digits)})"


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
    pvalue: str
    several: bool

    @property
    def sentence(self) -> str:
        """How many there are, and the worst."""
        return f"{self.share} {'are' if self.several else 'is'} flagged, above all {self.worst}; {self.pvalue}"


def _flagged_segments(segments: Segments | None) -> _Flags | None:
    worst = worst_segment(segments)
    if segments is None or worst is None:
        return None
    number = sum(one.flagged for one in segments.rows)
    fold = _fold(worst.ratio) if worst.finding.endswith("predicted") else ""
    name = f"{shorten(worst.column, 30)} = {shorten(worst.value, 30)}, {worst.finding}{fold}"
    share, p = f"{number:,} of {count(len(segments.rows), 'segment')}", p_value(segments.pvalue)
    return _Flags(share, name, f"{p} (all segments jointly)", number > 1)


def _flagged_classes(classes: Sequence[ClassRow] | None) -> _Flags | None:
    worst = worst_class(classes)
    if classes is None or worst is None:
        return None
    bad = [one for one in classes if one.flagged]
    ratio = worst.share / worst.score if worst.score > 0 else math.inf
    fold = _fold(ratio)
    finding = f", {'under' if ratio > 1 else 'over'}-predicted{fold}" if fold else ""
    share, p = f"{len(bad):,} of {len(classes):,} classes", min(one.adjusted_pvalue or 0.0 for one in bad)
    return _Flags(share, f"{shorten(worst.label, 30)}{finding}", f"{p_value(p)} (all classes, adjusted)", len(bad) > 1)


def _fold(ratio: float) -> str:
    """Observed divided by expected as a factor, unless it is close to 1 or infinite."""
    factor = 1 / ratio if 0 < ratio < 1 else ratio
    return f" {factor:.1f}-fold" if _CLEAR <= factor < math.inf else ""


def _evidence(code: Code, summary: Summary, what: str, how: str) -> list[str]:
    """How certain it is: p-value, limits of the error, and the power if nothing was found."""
    test, found = summary.test, summary.ece_interval
    if test is None and found is None:
        return [f"the ECE is {number(summary.ece)}, without a reference value"]
    if code == "too-good":
        assert test is not None
        assert test.too_good is not None
        tail = "p < 0.001" if test.too_good < 0.001 else p_value(test.too_good)
        cause = "scores fitted on these very rows are the usual cause, duplicates and quotas are others"
        return [f"{tail} (lower tail of the {test.method} test{how})", cause]
    parts = [] if test is None else [f"{p_value(test.pvalue)} ({test.method} test{how})"]
    if test is not None and test.contradicted and not _impossible(summary):
        rows = "row has a label" if test.contradicted == 1 else "rows have labels"
        parts.append(f"{test.contradicted:,} {rows} that a score of exactly 0 or 1, taken literally, rules out")
    if code in ("miscalibrated", "slightly-miscalibrated"):
        parts += [limits for _, limits in _kinds_of_error(summary)]
    if found is not None:
        parts.append(_interval_in_words(found, shown=code in ("miscalibrated", "slightly-miscalibrated")))
    if summary.power is not None and code in ("no-evidence", "too-few-rows"):
        parts.append(_power_in_words(summary.power, what))
    return parts


def _power_in_words(power: DetectionPower, what: str) -> str:
    """What would have been noticed or, with too few rows, what could have been missed and how many are needed."""
    ratio = f"{percent(RATIO - 1)} more or {percent(1 - 1 / RATIO)} fewer {what} than predicted"
    error = f"a smooth error of {number(power.tolerance, 2)}"
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
    level, error = level_percent(found.level), "the l2 calibration error"
    if shown and not found.includes_zero and found.low < _NEARLY_ZERO:
        return f"{error} is above 0 and at most {number(found.high)} ({level} confidence)"
    if shown and not found.includes_zero:
        return f"{error} lies between {number(found.low)} and {number(found.high)} ({level} confidence)"
    return f"{error} is at most {number(found.high)} ({level} confidence)"


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
