"""What the first screen of a report shows: the diagram, and short answers to its questions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from trueness._text.numbers import count, level_percent
from trueness._text.strings import capitalized, uncapitalized, visible, wrap
from trueness.results._bins import Bands
from trueness.results._record import Record, html_text
from trueness.typing import Floats

WIDTH = 100
"""The longest line of a text whose reader's terminal is not known."""
IN_BRIEF = {
    "how_far": "How far off",
    "where": "Where",
    "cost": "What it costs",
    "action": "What to do",
}
"""The questions of the first screen in a few words."""
_PREDICTION = re.compile(r"(?:Predicted|Confidence) [^(]* %(?= \()")


@dataclass(frozen=True)
class Answer(Record):
    """A short answer to one question of the first screen."""

    question: str
    """The question."""
    phrase: str
    """A short answer."""
    detail: str
    """Its numbers in a sentence."""
    numbers: Mapping[str, Any]
    """The numbers in the answer, by name; probabilities, not percentages."""
    sections: tuple[str, ...] = ()
    """Where a page says more: 'bins', 'segments', 'slices' or 'classes', the strongest first."""
    command: str = ""
    """What to copy in order to follow the advice."""

    @property
    def in_brief(self) -> str:
        """The phrase, of a range with what was predicted and happened, and the lines to copy."""
        phrase = self.phrase
        prediction = _PREDICTION.search(self.detail)
        if self.sections[:1] == ("bins",) and prediction is not None:
            phrase = f"{phrase}: {uncapitalized(prediction[0])}"
        return f"{phrase}\n{self.command}".rstrip()

    def __str__(self) -> str:
        stop = "" if self.phrase.endswith("?") else "."
        return f"{self.phrase}{stop} {self.detail}".strip()


def answers_in_lines(answers: Mapping[str, Answer], evidence: str) -> dict[str, str]:
    """Each answer in a few words, with the lines to copy, and the evidence for the verdict."""
    lines = {IN_BRIEF[question]: answer.in_brief for question, answer in answers.items()}
    return lines | {"Evidence": capitalized(evidence.removeprefix("The evidence is "))}


def rows_and_level(n: int, level: float, seed: int | None = None) -> str:
    """The number of rows and the settings, which end the lines below."""
    settings = [count(n, "row"), f"limits at {level_percent(level)} confidence"]
    if seed is not None:
        settings.append(f"seed {seed}")
    return f"{'; '.join(settings)}."


def in_lines(headline: str, answers: Mapping[str, str], settings: str, width: int = WIDTH) -> str:
    """The headline, below it a line for each answer that is not empty, and the settings.

    Of an answer of several lines only the first is wrapped: the others are to be copied.
    """
    answered = {label: answer for label, answer in answers.items() if answer}
    margin = max(map(len, answered), default=0) + 4
    indent = "\n" + " " * margin
    text = wrap(headline, width)
    for label, answer in answered.items():
        phrase, *to_copy = answer.split("\n")
        wrapped = wrap(phrase, width - margin).split("\n")
        text += "\n" + f"  {label}".ljust(margin) + indent.join([*wrapped, *to_copy])
    return f"{text}\n{settings}"


def in_html(headline: str, answers: Mapping[str, str], settings: str) -> str:
    """The same for a notebook, as a table of the answers."""
    rows = []
    for label, answer in answers.items():
        phrase, *to_copy = map(visible, answer.split("\n"))
        lines = "\n".join(map(escape, to_copy))
        code = f'<pre style="margin:0;white-space:pre-wrap">{lines}</pre>' if lines else ""
        if phrase:
            name = (
                f'<th scope="row" style="text-align:left;white-space:nowrap">{escape(label)}</th>'
            )
            rows.append(f'<tr>{name}<td style="text-align:left">{escape(phrase)}{code}</td></tr>')
    table = f"<table><tbody>\n{chr(10).join(rows)}\n</tbody></table>" if rows else ""
    return "\n".join([html_text(headline), table, html_text(settings)])


@dataclass(frozen=True)
class Picture:
    """The bins of the first diagram and its table.

    The requested ones, unless most rows lie in one of them.
    """

    bins: Bands
    interval_low: tuple[float, ...]
    interval_high: tuple[float, ...]
    words: str
    """The bin rule in words."""

    @property
    def ratio_limits(self) -> tuple[Any, ...]:
        """The limits of the rates over the mean scores."""
        return tuple(
            self.bins.over_score(np.array(ends)) for ends in (self.interval_low, self.interval_high)
        )

    @property
    def worst(self) -> int | None:
        """The flagged bin that contributes most to the error; None if none is flagged."""
        b = self.bins
        low = np.array(self.interval_low)
        high = np.array(self.interval_high)
        outside = np.nan_to_num(
            np.fmax(low - b.score, b.score - high)
        )  # empty bins have neither score nor rate
        candidates = b.outside & (b.n > 0) if b.band else outside > 0
        return next((i for i in self.costliest if candidates[i]), None)

    @property
    def shares(self) -> Floats:
        """The share of each bin in the ECE."""
        damage: Floats = np.nan_to_num(self.bins.weight * np.abs(self.bins.gap))
        return damage / max(float(damage.sum()), 1e-300)

    @property
    def costliest(self) -> tuple[int, ...]:
        """The bins that contribute to the error, the largest share first."""
        return tuple(int(i) for i in np.argsort(-self.shares, kind="stable") if self.shares[i] > 0)
