"""Scores and confidences as numbers: right or wrong, stated numbers and words, probabilities of tokens and options."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trueness._input.arguments import is_number

_WORDS = {
    0.99: "certain",
    0.95: "almost certain, very high",
    0.9: "very likely, highly likely",
    0.85: "high",
    0.75: "likely, probable",
    0.5: "moderate, medium, even",
    0.2: "low, unlikely",
    0.1: "very low, very unlikely, highly unlikely",
    0.05: "almost impossible",
}
CONFIDENCE_WORDS: Mapping[str, float] = {
    word: p for p, words in _WORDS.items() for word in words.split(", ")
}
"""The probabilities that words stand for, unless `words=` of :func:`trueness.sources.eval_log` says
otherwise."""

_RIGHT = {"C": 1, "CORRECT": 1, "YES": 1, "TRUE": 1, "I": 0, "INCORRECT": 0, "NO": 0, "FALSE": 0}
_ODD = {"P": (0.5, "partly right (P)"), "N": (0.0, "no answer (N)")}
# Possessive: what digits and blanks have matched is not tried again in smaller pieces, which is
# quadratic or worse in the length of a run. Nor does a number begin inside of one.
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

_MARK = re.compile(r"(?i:answer)\W{0,6}\Z")
_SHORT = 64
"""Texts of this many characters are sought by comparing them at every place."""


class Stated(NamedTuple):
    """A confidence as it was stated: its scale may follow only from the other rows."""

    value: float
    scale: float | None = (
        None  # what it is a share of: 1, 100 or the number after a slash; None of a bare number
    )
    trouble: str = ""  # why it cannot be used

    def probability(self, *, percent: bool) -> float | str:
        """As a probability, or why it has none.

        `percent` says whether bare numbers are percentages.
        """
        if self.trouble:
            return self.trouble
        if self.scale is None and (0 < self.value < 1 if percent else self.value > 1):
            kind = "below 1 among percentages" if percent else "above 1 among fractions"
            return f"a confidence {kind}: its scale is unclear"
        value = self.value / (self.scale or (100.0 if percent else 1.0))
        if 0 <= value <= 1:
            return value
        return "the confidence is outside 0 to 100 %"


def stated_in(
    text: str, words: Mapping[str, float], pattern: re.Pattern[str] | None = None
) -> Stated | None:
    """The last confidence that a text states, such as "Confidence: 90 %" or "I am 75% sure", or None."""
    named = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    value = f"(?:{_NUMBER}|(?P<word>{named})\\b)" if named else f"(?:{_NUMBER})"
    usual = (re.compile(one, re.IGNORECASE) for one in (_LEAD + value, _NUMBER + _SURE))
    found = next(
        filter(None, ([*one.finditer(text)] for one in ([pattern] if pattern else usual))), None
    )
    if found is None:
        return None
    if pattern is not None:
        start, end = found[-1].span(1 if pattern.groups else 0)
        unit = re.match(rf"\s*{_UNIT}", text[end:], re.IGNORECASE)
        return stated(text[start:end] + (unit[0] if unit else ""), words)
    parts = found[-1].groupdict()
    if parts.get("range") or parts.get("bare_range"):
        return Stated(math.nan, trouble="a range of confidences was stated")
    return stated(parts.get("word") or f"{parts['number']}{parts['unit'] or ''}", words)


def stated(value: Any, words: Mapping[str, float]) -> Stated | None:
    """A number, a text of one such as "8/10", or a word of the table; None if there is nothing."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, int | float):
        if is_number(value):
            return Stated(float(value))
        return None
    text = " ".join(str(value).lower().split()).strip(" \"'*").rstrip(".")
    if text in words:
        return Stated(words[text], 1.0)
    found = re.fullmatch(rf"(?:{_ABOUT} ?)?({_DIGITS})\s*({_UNIT})?", text)
    if not found:
        return Stated(
            math.nan,
            trouble=f"the confidence {text[:20]!r} is neither a number nor a word of the table",
        )
    number = float(found[1].replace(",", "."))
    whole = re.search(r"\d+", found[2] or "")
    if number == 50 and whole and whole[0] == "50":  # even chances
        return Stated(number, 100.0)
    if whole:
        scale = float(whole[0])
    elif found[2]:
        scale = 100.0
    else:
        scale = None
    if scale == 0:
        return Stated(math.nan, trouble="a confidence was stated as a share of 0")
    if scale is not None and math.isinf(scale):
        return Stated(
            math.nan, trouble="a confidence was stated as a share of a number beyond all floats"
        )
    return Stated(number, scale)


def states(text: str, value: float) -> bool:
    """Whether a text has a number, as a fraction or a percentage; `value` is on either scale."""
    numbers = {float(found) for found in re.findall(r"\d+(?:\.\d+)?|\.\d+", text)}
    return any(
        abs(number - one) < 1e-9 for number in numbers for one in (value, value * 100, value / 100)
    )


def answer_probability(tokens: Sequence[tuple[str, float]], answer: str) -> float | str:
    """The probability of the tokens that spell the answer; or why there is none."""
    text = "".join(token for token, _ in tokens)
    named = answer.strip()
    places = [start for start in _places(text, named) if _stands_alone(text, start, len(named))]
    if not named or not places:
        return "the answer is not among the tokens with log-probabilities"
    marked = (start for start in reversed(places) if _MARK.search(text[max(0, start - 12) : start]))
    start = next(marked, places[-1])
    end = start + len(named)
    total = 0.0
    at = 0
    for token, logprob in tokens:
        # A blank before the answer belongs to its token, not to its letters.
        if at < end and at + len(token) > start and token.strip():
            total += logprob
        at += len(token)
    return from_log(total)


def _places(text: str, named: str) -> list[int]:
    """Every place at which a text has another."""
    if len(named) <= _SHORT:
        return [found.start() for found in re.finditer(f"(?={re.escape(named)})", text)]
    # Knuth, Morris and Pratt: a regular expression would compare a long text that repeats itself at
    # every place.
    both = named + text
    size = len(named)
    border = [0] * len(both)
    for i in range(1, len(both)):
        k = border[i - 1]
        while k and (k == size or both[i] != both[k]):
            k = border[k - 1]
        border[i] = k + (both[i] == both[k])
    ends = (i for i in range(2 * size - 1, len(both)) if border[i] == size)
    return [end + 1 - 2 * size for end in ends]


def _stands_alone(text: str, start: int, size: int) -> bool:
    """Whether what is found does not go on in the letters around it."""
    around = text[start - 1 : start] + text[start + size : start + size + 1]
    return not re.search(r"\w", around)


def from_log(value: float) -> float | str:
    """A probability from its logarithm, or why there is none."""
    if value <= 1e-9:
        return math.exp(min(value, 0.0))
    if math.isnan(value):
        return "a log-probability is nan"
    return "a log-probability is above 0"


def softmax(logs: Sequence[float]) -> list[float] | str:
    """Probabilities of options from their log-likelihoods, or why there are none."""
    top = max(logs, default=-math.inf)
    if any(math.isnan(one) for one in logs):
        return "a log-likelihood is nan"
    if math.isinf(top):
        return "no option has a finite log-likelihood"
    powers = [math.exp(one - top) for one in logs]
    total = math.fsum(powers)
    return [power / total for power in powers]


def agreement(answers: Sequence[str | None]) -> list[float | str]:
    """For each of several answers to one question, the share of the *other* answers that agree with it."""
    given = [" ".join((one or "").casefold().split()) for one in answers]
    known = Counter(one for one in given if one)
    answers_given = known.total()
    few = "fewer than two answers to the question: no share of agreeing samples"
    if answers_given < 2:
        return [few if one else "no answer was extracted" for one in given]
    shares = {one: (number - 1) / (answers_given - 1) for one, number in known.items()}
    return [shares.get(one, "no answer was extracted") for one in given]


def label(score: Mapping[str, Any], correct_from: float | None) -> tuple[int | None, str]:
    """1 for right, 0 for wrong; or None, and why."""
    value = score.get("value")
    metadata = score.get("metadata")
    reason = score.get("reason") or (
        isinstance(metadata, Mapping) and metadata.get("unscored_reason")
    )
    if isinstance(value, Mapping):
        value = next(
            (value[one] for one in ("score", "correct", "accuracy", "grade") if one in value), None
        )
    if isinstance(value, str):
        word = value.strip().upper()
        if word in _ODD and correct_from is None:
            return None, _ODD[word][1]
        value = _ODD[word][0] if word in _ODD else _RIGHT.get(word, value)
    try:
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return None, f"a score that is neither a number nor C, I, P or N: {str(value)[:20]!r}"
    if reason or math.isnan(number):
        return None, f"not scored ({reason})" if reason else "not scored"
    if correct_from is not None:
        return int(number >= correct_from), ""
    if number in (0, 1):
        return (int(number), "")
    return (None, "a score other than 0 and 1")
