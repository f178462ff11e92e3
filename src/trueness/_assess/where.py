"""Where the scores are off: the strongest of ranges, segments, slices and classes, in words."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._text.numbers import number, percent, percents
from trueness._text.strings import capitalized, shorten, uncapitalized
from trueness.infer.group._segments import worst_class
from trueness.results import Segments, Slices, Verdict
from trueness.results._first_screen import Answer, Picture
from trueness.results._remedies import Advice
from trueness.results._segments import ClassRow

SegmentRow: TypeAlias = Mapping[str, Any]
"""One row of `Segments.rows()`."""
OF_A_SEGMENT = ("recalibrate-segment", "check-segment")
"""Advice that is about one segment."""
LONGEST = 30
"""Letters of a name."""
_LONGEST_RULE = 64
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_LEAST_FOLD = 1.25
_MOST_FOLD = 1_000
"""Factors with limits beyond it say nothing: the rates do."""
_MOST_DECIMALS = 6
_SEGMENT = (
    *("column", "value", "n", "score", "rate", "ratio", "ratio_low", "ratio_high"),
    *("adjusted_pvalue", "finding"),
)
_QUESTION = "Where?"


class Grounds(NamedTuple):
    """What is known of the parts of the rows."""

    verdict: Verdict
    picture: Picture
    segments: Segments | None
    slices: Slices | None
    classes: tuple[ClassRow, ...] | None
    brier: float
    advice: Advice

    @property
    def segment(self) -> SegmentRow | None:
        """The worst flagged segment."""
        return None if self.segments is None else worst_segment(self.segments.rows())


@dataclass(frozen=True)
class Place:
    """A part of the rows that is off."""

    section: str
    phrase: str
    detail: str
    """What is wrong there, after the phrase."""
    beside: str
    """What is wrong there, after the phrase of another place."""
    saving: float
    """The share of the Brier score that a correct mean in this part would save."""


def where(grounds: Grounds) -> Answer:
    """The advised segment or else the strongest place in a phrase, and what the others say."""
    verdict = grounds.verdict
    numbers = _numbers(grounds)
    if verdict.has_few_clusters and not verdict.rejected and not verdict.flags:
        detail = _if_independent(grounds.picture)
        return Answer(_QUESTION, f"Not known from {verdict.clusters} clusters", detail, numbers)
    if verdict.decisive is not None:
        detail = f"{capitalized(verdict.decisive.in_words)}."
        phrase = f"In one row, whose score is {verdict.decisive.score_in_words}"
        return Answer(_QUESTION, phrase, detail, numbers)
    places = [*_range_places(grounds), *_group_places(grounds)]
    if not places:
        sentences = [_segments_alike(grounds), _class_sentence(grounds), _calm(grounds.picture)]
        detail = " ".join(filter(None, sentences))
        return Answer(_QUESTION, "No range stands out", detail, numbers)
    places.sort(key=lambda place: (not _leads(place, grounds), -place.saving))
    strongest = places[0]
    sentences = [strongest.detail, *(place.beside for place in places[1:])]
    sentences += [_segments_alike(grounds), "" if _has_class(places) else _class_sentence(grounds)]
    if strongest.section != "bins" and len(places) == 1:
        sentences.append(_calm(grounds.picture))
    return Answer(
        question=_QUESTION,
        phrase=strongest.phrase,
        detail=" ".join(filter(None, sentences)),
        numbers=numbers,
        sections=tuple(place.section for place in places),
    )


def _leads(place: Place, grounds: Grounds) -> bool:
    """Whether this is the segment that the first screen is about."""
    segment = grounds.segment
    if place.section != "segments" or segment is None:
        return False
    return segment_leads(segment["finding"], grounds.verdict, grounds.advice)


def segment_leads(finding: str, verdict: Verdict, advice: Advice) -> bool:
    """Whether the first screen is about a segment with this finding.

    It is if the advice is. Where all rows are off, too, the slope of a segment says less than the
    error of all rows, and does not lead.
    """
    if advice.kind not in OF_A_SEGMENT:
        return False
    return not verdict.rejected or finding in ("over-predicted", "under-predicted")


def _has_class(places: Iterable[Place]) -> bool:
    return any(place.section == "classes" for place in places)


def _numbers(grounds: Grounds) -> dict[str, Any]:
    """The numbers of the worst range and of the worst segment."""
    bins = grounds.picture.bins
    numbers: dict[str, Any] = {
        "flagged": int(bins.outside.sum()) if bins.band else 0,
        "ranges": int((bins.n > 0).sum()),
    }
    segment = grounds.segment
    if segment is not None:
        numbers["segment"] = {key: segment[key] for key in _SEGMENT}
    place = grounds.picture.worst
    if place is None:
        return numbers
    columns = ("low_edge", "high_edge", "score", "rate")
    numbers |= {key: float(getattr(bins, key)[place]) for key in columns}
    return numbers | {
        "rate_low": grounds.picture.interval_low[place],
        "rate_high": grounds.picture.interval_high[place],
        "n": int(bins.n[place]),
        "share": float(grounds.picture.shares[place]),
    }


# ---- ranges


def _range_places(grounds: Grounds) -> list[Place]:
    """The range that contributes most to the error, if one is off."""
    picture = grounds.picture
    verdict = grounds.verdict
    place = picture.worst
    if place is None:
        return []
    share = float(picture.shares[place])
    words = _range_in_words(picture, place)
    off = _ranges_off(picture)
    if verdict.clustered and off:
        off = _if_independent(picture)
    detail = f"{_predicted_and_happened(picture, place, verdict)} {off}".strip()
    if verdict.all_rows in ("no-evidence", "too-few-rows"):
        phrase = f"Perhaps {words}"
        detail = f"{detail} Taken together, they are within chance."
        beside = f"By range, {uncapitalized(phrase)}: {uncapitalized(detail)}"
        return [Place("bins", phrase, detail, beside, saving=0.0)]
    if share > 0.5:
        phrase = f"Mostly {words}"
    elif share == max(picture.shares):
        phrase = f"Most of all {words}"
    else:  # a range that is not flagged has a larger share, which may be chance
        phrase = f"Clearest {words}"
    of_error = f"{percent(share, 0)} of the average error"
    beside = f"By range, {uncapitalized(phrase)} ({of_error}): {uncapitalized(detail)}"
    detail = f"{of_error} comes from there. {detail}"
    return [Place("bins", phrase, detail, beside, _saving(picture, place, grounds.brier))]


def _saving(picture: Picture, place: int, brier: float) -> float:
    """The share of the Brier score that the mean error of a range costs, less its chance."""
    bins = picture.bins
    rate = float(bins.rate[place])
    chance = rate * (1 - rate) / max(1, int(bins.n[place]))
    excess = max(0.0, float(bins.gap[place]) ** 2 - chance)
    weight = float(bins.weight[place] / bins.weight.sum())
    return weight * excess / brier if brier > 0 else 0.0


def _predicted_and_happened(picture: Picture, place: int, verdict: Verdict) -> str:
    """The score and the rate of a range, with the limits of the rate."""
    bins = picture.bins
    predicted, happened, low, high = _percents(
        float(bins.score[place]),
        float(bins.rate[place]),
        picture.interval_low[place],
        picture.interval_high[place],
    )
    limits = f"{low} to {high} %"
    if verdict.top_label:
        words = f"Confidence {predicted} %, correct {happened} % ({limits})"
    else:
        words = f"Predicted {predicted} %, happened {happened} % ({limits})"
    if verdict.rare and float(predicted) > 0:
        ratio = number(float(happened) / float(predicted), 2)
        return f"{words}, {ratio} times as often."
    return f"{words}."


def _percents(score: float, rate: float, *ends: float) -> tuple[str, ...]:
    """Percentages with the decimals of the ends, or as many as show a digit of score and rate."""
    shown = percents(score, rate, *ends)
    decimals = len(shown[0].partition(".")[2])
    for value in (score, rate):
        if value > 0:
            decimals = max(decimals, -math.floor(math.log10(100 * value)))
    return tuple(
        f"{100 * value:.{min(decimals, _MOST_DECIMALS)}f}" for value in (score, rate, *ends)
    )


def _ranges_off(picture: Picture) -> str:
    """How many ranges are outside the band; empty without one."""
    filled = int((picture.bins.n > 0).sum())
    if not picture.bins.band or filled < 2:
        return ""
    flagged = int(picture.bins.outside.sum())
    verb = "is" if flagged == 1 else "are"
    return f"{_word(flagged)} of {_word(filled).lower()} ranges {verb} off."


def _if_independent(picture: Picture) -> str:
    """How many ranges would be outside the band if rows were independent; empty without one."""
    off = _ranges_off(picture).partition(" ranges ")[0].lower()
    return f"If rows were independent, {off} ranges would be off." if off else ""


def _range_is_calm(picture: Picture) -> bool:
    return picture.worst is None


def _calm(picture: Picture) -> str:
    """That no range is off."""
    if not picture.bins.band or picture.worst is not None:
        return ""
    filled = int((picture.bins.n > 0).sum())
    ranges = f"None of the {_word(filled).lower()} ranges" if filled > 1 else "No range"
    return f"{ranges} differs from its prediction by more than chance allows."


def _range_in_words(picture: Picture, place: int) -> str:
    """A range by its edges, without 0 and 1: bins of equal mass reach there without scores."""
    low = float(picture.bins.low_edge[place])
    high = float(picture.bins.high_edge[place])
    if low == high:
        return f"at {percents(float(picture.bins.score[place]))[0]} %"
    if low == 0 and high < 1:
        (top,) = percents(high)
        return f"below {top} %" if float(top) > 0 else "near 0 %"
    if low > 0 and high == 1:
        (bottom,) = percents(low)
        return f"above {bottom} %" if float(bottom) < 100 else "near 100 %"
    return f"between {' and '.join(percents(low, high))} %"


# ---- segments, slices and classes


def _group_places(grounds: Grounds) -> list[Place]:
    """Flagged groups with an error of their own: the worst segment, slice and class."""
    places = []
    segment = grounds.segment
    if segment is not None and not is_as_all_rows(segment, grounds.verdict):
        assert grounds.segments is not None
        total = len(grounds.segments.value)
        flagged = int(grounds.segments.flagged.sum())
        findings = dict(zip(grounds.segments.names, grounds.segments.findings, strict=True))
        name = segment_name(segment)
        saving = segment["cost"] / grounds.brier if grounds.brier > 0 else 0.0
        lead = _lead(flagged, total, "segment")
        detail = f"{lead} {name}, {_finding(segment, findings)}."
        places.append(Place("segments", f"In {name}", detail, detail, float(saving)))
    segment_phrase = "" if segment is None else f"In {segment_name(segment)}"
    for place in _slice_places(grounds.slices):
        if place.phrase != segment_phrase:
            places.append(place)
    bad = worst_class(grounds.classes)
    if bad is not None and not places and _range_is_calm(grounds.picture):
        phrase = f"In class {shorten(bad.label, LONGEST)}"
        sentence = _class_sentence(grounds)
        places.append(Place("classes", phrase, sentence, sentence, saving=0.0))
    return places


def _slice_places(slices: Slices | None) -> list[Place]:
    """The flagged slice with the largest share of the error; an empty list if none is flagged."""
    if slices is None:
        return []
    flagged = np.flatnonzero(slices.flagged & slices.differs & slices.distinct)
    if not flagged.size:
        return []
    worst = int(flagged[np.argmax(slices.share[flagged])])
    name = shorten(slices.rule[worst], _LONGEST_RULE)
    lead = _lead(slices.all_flagged, slices.tried, "slice")
    detail = f"{lead} {name}, {slices.finding[worst]}."
    return [Place("slices", f"In {name}", detail, detail, float(slices.share[worst]))]


def _groups_off(flagged: int, total: int, noun: str) -> str:
    verb = "is" if flagged == 1 else "are"
    nouns = noun if total == 1 else f"{noun}s"
    return f"{flagged:,} of {total:,} {nouns} {verb} off"


def _lead(flagged: int, total: int, noun: str) -> str:
    """How many groups are off, before the name of the worst."""
    return f"{_groups_off(flagged, total, noun)}{':' if flagged == 1 else ', most of all'}"


def _segments_alike(grounds: Grounds) -> str:
    """That flagged segments are off as all rows are."""
    segment = grounds.segment
    if segment is None or not is_as_all_rows(segment, grounds.verdict):
        return ""
    assert grounds.segments is not None
    flagged = int(grounds.segments.flagged.sum())
    off = _groups_off(flagged, len(grounds.segments.value), "segment")
    which = "not" if flagged == 1 else "none was"
    return f"{off}, but at equal scores {which} shown to differ from all rows."


def _class_sentence(grounds: Grounds) -> str:
    """The worst class, predicted beside what happened, in a sentence; empty if no class is off."""
    bad = worst_class(grounds.classes)
    if bad is None:
        return ""
    limits = (bad.ratio_low * bad.score, bad.ratio_high * bad.score)
    predicted, happened, *_ = percents(bad.score, bad.share, *limits)
    rates = f"predicted {predicted} %, happened {happened} %"
    name = f"Class {shorten(bad.label, LONGEST)}"
    if bad.ratio_low <= 1 <= bad.ratio_high:
        return f"{name} is off, though right on average: {rates}."
    return f"{name}: {rates}."


def worst_segment(rows: Iterable[SegmentRow]) -> SegmentRow | None:
    """The flagged segment that costs most, first of those that differ from all rows.

    None if none is flagged.
    """
    flagged = [row for row in rows if row["flagged"]]
    return max(flagged, key=lambda row: bool(row["differs"]), default=None)


def is_as_all_rows(segment: SegmentRow, verdict: Verdict) -> bool:
    """Whether all rows are off, and no flagged segment was shown to differ from them."""
    return bool(
        verdict.rejected and not segment["differs"] and not math.isnan(segment["overall_pvalue"])
    )


def segment_name(segment: SegmentRow) -> str:
    """Column and value."""
    return f"{shorten(segment['column'], LONGEST)} = {shorten(segment['value'], LONGEST)}"


def _finding(segment: SegmentRow, findings: Mapping[str, str]) -> str:
    """How a flagged segment is off: by which factor, or in percentages if that says more."""
    finding = segment["finding"]
    if "predicted" not in finding:
        return findings[f"{segment['column']} = {segment['value']}"]
    ratio = segment["ratio"]
    low = segment["ratio_low"]
    high = segment["ratio_high"]
    if finding == "over-predicted" and min(ratio, low, high) > 0:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    is_known = all(map(math.isfinite, (ratio, low, high)))
    if is_known and min(ratio, low, high) > 0 and ratio >= _LEAST_FOLD and high <= _MOST_FOLD:
        return f"{finding} {ratio:.1f}-fold ({low:.1f} to {high:.1f})"
    predicted, happened = _percents(segment["score"], segment["rate"])
    return f"{finding} (predicted {predicted} %, happened {happened} %)"


def _word(n: int) -> str:
    if n < len(_NUMBERS):
        return _NUMBERS[n]
    return f"{n:,}"
