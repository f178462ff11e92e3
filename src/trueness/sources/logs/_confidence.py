"""Scores and confidences as numbers: right or wrong, stated numbers and words, probabilities."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from trueness._input.arguments import is_number

CONFIDENCE_WORDS: Mapping[str, float] = {
    "certain": 0.99,
    "almost certain": 0.95,
    "very high": 0.95,
    "very likely": 0.9,
    "highly likely": 0.9,
    "high": 0.85,
    "likely": 0.75,
    "probable": 0.75,
    "moderate": 0.5,
    "medium": 0.5,
    "even": 0.5,
    "low": 0.2,
    "unlikely": 0.2,
    "very low": 0.1,
    "very unlikely": 0.1,
    "highly unlikely": 0.1,
    "almost impossible": 0.05,
}
"""The probabilities that words stand for, unless `words=` of :func:`trueness.sources.eval_log` says
otherwise."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why an answer has no confidence."""

    reason: str


Confidence: TypeAlias = float | Missing


class Verdict(NamedTuple):
    """Whether an answer is right (1) or wrong (0); None if unknown."""

    label: int | None
    trouble: str  # why the answer cannot count; empty if it can


# ---- Right or wrong

_NUMBER_OF_WORD = {
    "C": 1,
    "CORRECT": 1,
    "YES": 1,
    "TRUE": 1,
    "I": 0,
    "INCORRECT": 0,
    "NO": 0,
    "FALSE": 0,
    "P": 0.5,
    "N": 0,
}
# Scores of inspect that are neither right nor wrong, unless the caller says from where they are.
_TROUBLE_BETWEEN = {"P": "partly right (P)", "N": "no answer (N)"}
_ENTRIES_OF_SCORE = ("score", "correct", "accuracy", "grade")


def verdict_of_score(score: Mapping[str, Any], correct_from: float | None) -> Verdict:
    """Right or wrong by what a scorer said, or why neither."""
    value = score.get("value")
    if isinstance(value, Mapping):
        value = _first_entry(value)
    if isinstance(value, str):
        word = value.strip().upper()
        if word in _TROUBLE_BETWEEN and correct_from is None:
            return Verdict(None, _TROUBLE_BETWEEN[word])
        value = _NUMBER_OF_WORD.get(word, value)
    try:
        number = math.nan if value is None else float(cast(float, value))
    except (TypeError, ValueError, OverflowError):
        shown = repr(str(value)[:20])
        return Verdict(None, f"a score that is neither a number nor C, I, P or N: {shown}")
    reason = _unscored_reason(score)
    if reason:
        return Verdict(None, f"not scored ({reason})")
    if math.isnan(number):
        return Verdict(None, "not scored")
    if correct_from is not None:
        return Verdict(int(number >= correct_from), "")
    if number in (0, 1):
        return Verdict(int(number), "")
    return Verdict(None, "a score other than 0 and 1")


def _first_entry(value: Mapping[str, Any]) -> object:
    """The entry of a score with several that says whether the answer is right."""
    for name in _ENTRIES_OF_SCORE:
        if name in value:
            return value[name]
    return None


def _unscored_reason(score: Mapping[str, Any]) -> object:
    """Why the harness did not score the answer; empty or None if it did."""
    if score.get("reason"):
        return score["reason"]
    metadata = score.get("metadata")
    if isinstance(metadata, Mapping):
        return metadata.get("unscored_reason")
    return None


# ---- Stated confidences

# Possessive: what digits and blanks have matched is not tried again in smaller pieces, which is
# quadratic or worse in the length of a run. Nor does a number begin inside of another.
_DIGITS = r"(?:\d++(?:[.,]\d++)?+|\.\d++)(?:e[-+]?\d++)?+"
_UNIT = r"(?:%|percent\b|(?:/|(?:out\s++)?+of\b)\s*+\d++)"
_ABOUT = r"(?:about|around|approximately|roughly|[~≈])"
_DASH = r"(?:-|–|to)[ \t]*+\d"
_NUMBER = (
    rf"(?<!\d)(?P<number>{_DIGITS})"
    rf"(?:\s*+(?P<unit>{_UNIT})(?P<range>[ \t]*+{_DASH})?+|(?P<bare_range>\s*+{_DASH}))?+"
)
_BETWEEN = r"(?:\\boxed\{|[\s\"'*_:=()<>\[\]])*"
_LEAD = (
    r"\b(?:confidence|probability|certainty)(?:\s+(?:level|score|estimate|rating))?"
    rf"{_BETWEEN}(?:(?:is|of){_BETWEEN})?(?:{_ABOUT}{_BETWEEN})?"
)
_SURE = (
    r"(?:\s*+(?:sure|certain|confident)\b|(?<=%)[ \t]++confidence\b(?!\s*+(?:interval|level|:)))"
)


class Stated(NamedTuple):
    """A confidence as it was stated: its scale may follow only from the other rows."""

    value: float
    # What it is a share of: 1, 100 or the number after a slash; None of a bare number.
    scale: float | None = None
    trouble: str = ""  # why it cannot be used

    def probability(self, *, percent: bool) -> Confidence:
        """As a probability; `percent` says whether bare numbers are percentages."""
        if self.trouble:
            return Missing(self.trouble)
        if self.scale is not None:
            return _share(self.value / self.scale)
        if percent and 0 < self.value < 1:
            return Missing("a confidence below 1 among percentages: its scale is unclear")
        if percent:
            return _share(self.value / 100)
        if self.value > 1:
            return Missing("a confidence above 1 among fractions: its scale is unclear")
        return _share(self.value)


def _share(value: float) -> Confidence:
    if 0 <= value <= 1:
        return value
    return Missing("the confidence is outside 0 to 100 %")


def stated_in(
    text: str, words: Mapping[str, float], pattern: re.Pattern[str] | None = None
) -> Stated | None:
    """The last confidence that a text states, such as "Confidence: 90 %"; None if there is none."""
    if pattern is not None:
        return _stated_by_pattern(text, words, pattern)
    for expression in _usual_expressions(tuple(words)):
        matches = list(expression.finditer(text))
        if matches:
            return _stated_by_match(matches[-1], words)
    return None


@lru_cache(maxsize=16)
def _usual_expressions(words: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """How confidences are stated: "confidence: 90 %" or "likely", and "90 % sure"."""
    # The longest word first: "very likely" is not "very" and then something else.
    longest_first = sorted(words, key=len, reverse=True)
    alternatives = "|".join(re.escape(word) for word in longest_first)
    value = f"(?:{_NUMBER}|(?P<word>{alternatives})\\b)" if words else f"(?:{_NUMBER})"
    return (
        re.compile(_LEAD + value, re.IGNORECASE),
        re.compile(_NUMBER + _SURE, re.IGNORECASE),
    )


def _stated_by_pattern(
    text: str, words: Mapping[str, float], pattern: re.Pattern[str]
) -> Stated | None:
    """The last match of the caller's pattern, with the unit behind it."""
    matches = list(pattern.finditer(text))
    if not matches:
        return None
    start, end = matches[-1].span(1 if pattern.groups else 0)
    unit = re.match(rf"\s*{_UNIT}", text[end:], re.IGNORECASE)
    if unit is None:
        return stated(text[start:end], words)
    return stated(text[start:end] + unit[0], words)


def _stated_by_match(match: re.Match[str], words: Mapping[str, float]) -> Stated | None:
    """The confidence in a match of the built-in pattern.

    A range of confidences is none, and its trouble says so; a word has the probability in `words`.
    """
    parts = match.groupdict()
    if parts.get("range") or parts.get("bare_range"):
        return Stated(math.nan, trouble="a range of confidences was stated")
    if parts.get("word"):
        return stated(parts["word"], words)
    unit = parts["unit"] or ""
    return stated(f"{parts['number']}{unit}", words)


def stated(value: object, words: Mapping[str, float]) -> Stated | None:
    """A number, a text such as "8/10", or a word of the table; None if there is nothing."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Stated(float(value)) if is_number(value) else None
    if isinstance(value, str) and not value.strip():
        return None
    text = " ".join(str(value).lower().split()).strip(" \"'*").rstrip(".")
    if text in words:
        return Stated(words[text], 1.0)
    match = re.fullmatch(rf"(?:{_ABOUT} ?)?({_DIGITS})\s*({_UNIT})?", text)
    if match is None:
        shown = repr(text[:20])
        trouble = f"the confidence {shown} is neither a number nor a word of the table"
        return Stated(math.nan, trouble=trouble)
    number = float(match[1].replace(",", "."))
    return _on_stated_scale(number, unit=match[2])


def _on_stated_scale(number: float, unit: str | None) -> Stated:
    """A number with the unit behind it: %, "of 10", or None."""
    if unit is None:
        return Stated(number)
    whole = re.search(r"\d+", unit)
    if whole is None:
        return Stated(number, scale=100.0)
    if number == 50 and whole[0] == "50":  # "50/50" means even chances
        return Stated(number, scale=100.0)
    scale = float(whole[0])
    if scale == 0:
        return Stated(math.nan, trouble="a confidence was stated as a share of 0")
    if math.isinf(scale):
        trouble = "a confidence was stated as a share of a number beyond all floats"
        return Stated(math.nan, trouble=trouble)
    return Stated(number, scale)


def states(text: str, value: float) -> bool:
    """Whether a text has a number, as a fraction or a percentage; `value` is on either scale."""
    spellings = (value, value * 100, value / 100)
    for digits in set(re.findall(r"\d+(?:\.\d+)?|\.\d+", text)):
        number = float(digits)
        if any(abs(number - spelling) < 1e-9 for spelling in spellings):
            return True
    return False


# ---- Probabilities of tokens and options

# `finditer` compares a text with every place of another, which is fast for short texts only.
_LONGEST_COMPARED = 64
# How far before an answer the word "answer" may end.
_REACH_OF_MARK = 12
_MARK = re.compile(r"(?i:answer)\W{0,6}\Z")


def answer_probability(tokens: Sequence[tuple[str, float]], answer: str) -> Confidence:
    """The probability of the tokens that spell the answer."""
    text = "".join(token for token, _ in tokens)
    spelled = answer.strip()
    places = [place for place in _places(text, spelled) if _stands_alone(text, place, len(spelled))]
    if not spelled or not places:
        return Missing("the answer is not among the tokens with log-probabilities")
    start = _place_of_answer(text, places)
    end = start + len(spelled)
    total = 0.0
    position = 0
    for token, logprob in tokens:
        overlaps = position < end and position + len(token) > start
        # A blank before the answer belongs to its token, not to its letters.
        if overlaps and token.strip():
            total += logprob
        position += len(token)
    return from_log(total)


def _place_of_answer(text: str, places: Sequence[int]) -> int:
    """The last place after the word "answer"; without that word, the last place."""
    for place in reversed(places):
        if _MARK.search(text[max(0, place - _REACH_OF_MARK) : place]):
            return place
    return places[-1]


def _places(text: str, part: str) -> list[int]:
    """Every place at which a text has a part."""
    if len(part) <= _LONGEST_COMPARED:
        return [match.start() for match in re.finditer(f"(?={re.escape(part)})", text)]
    # Knuth, Morris and Pratt: in a long text that repeats itself, every place would be compared.
    size = len(part)
    letters = part + text
    # Up to each letter: the length of the longest beginning of the part that ends there.
    border = [0] * len(letters)
    for i in range(1, len(letters)):
        length = border[i - 1]
        while length and (length == size or letters[i] != letters[length]):
            length = border[length - 1]
        border[i] = length + (letters[i] == letters[length])
    last_letters = (i for i in range(2 * size - 1, len(letters)) if border[i] == size)
    return [i + 1 - 2 * size for i in last_letters]


def _stands_alone(text: str, start: int, size: int) -> bool:
    """Whether the word at this place does not go on in the letters around it."""
    around = text[start - 1 : start] + text[start + size : start + size + 1]
    return not re.search(r"\w", around)


def from_log(value: float) -> Confidence:
    """A probability from its logarithm."""
    if math.isnan(value):
        return Missing("a log-probability is nan")
    if value > 1e-9:  # sums of rounded logarithms may be a little above 0
        return Missing("a log-probability is above 0")
    return math.exp(min(value, 0.0))


def softmax(log_likelihoods: Sequence[float]) -> list[float] | Missing:
    """Probabilities of options from their log-likelihoods."""
    if any(math.isnan(value) for value in log_likelihoods):
        return Missing("a log-likelihood is nan")
    top = max(log_likelihoods, default=-math.inf)
    if math.isinf(top):
        return Missing("no option has a finite log-likelihood")
    powers = [math.exp(value - top) for value in log_likelihoods]
    total = math.fsum(powers)
    return [power / total for power in powers]


# ---- Agreement of samples

# With fewer questions, the factor would be noise. In a simulation of four laws of answers (2 to 20
# samples; test_agreement_of_few_samples_is_corrected), shares times the factor were off by .025 to
# .064 at 50 questions, shares of the other samples by .035 to .39.
FEWEST_QUESTIONS = 50


class Agreeing(NamedTuple):
    """How many of the answers to a question are the same as one of them, itself included."""

    alike: int
    answers: int

    @property
    def share(self) -> float:
        return self.alike / self.answers

    @property
    def share_of_others(self) -> float:
        return (self.alike - 1) / (self.answers - 1)


def agreement(answers: Iterable[str | None]) -> list[Agreeing | Missing]:
    """For each of several answers to one question: how many agree with it."""
    spelled = [" ".join((answer or "").casefold().split()) for answer in answers]
    counts = Counter(answer for answer in spelled if answer)
    total = counts.total()
    agreeing: list[Agreeing | Missing] = []
    for answer in spelled:
        if not answer:
            agreeing.append(Missing("no answer was extracted"))
        elif total < 2:
            reason = "fewer than two answers to the question: no share of agreeing samples"
            agreeing.append(Missing(reason))
        else:
            agreeing.append(Agreeing(counts[answer], total))
    return agreeing


def factor_for_few_samples(agreeing: Sequence[Agreeing]) -> float:
    """What the shares of all questions are multiplied by.

    A share counts the answer itself, so it overstates how often another sample would agree. The
    share of the others is right on average, but not for any one share: it is 1 too often.
    """
    shares = math.fsum(answer.share for answer in agreeing)
    shares_of_others = math.fsum(answer.share_of_others for answer in agreeing)
    return shares_of_others / shares
