"""An assessment as text: the lines that a report prints in a terminal."""

from typing import NamedTuple

from trueness._assess.answers import answer_questions
from trueness._assess.asked import ADVICE, PLACE, REMEDIES, VERDICT, Asked
from trueness._assess.commands import command_for, fit_arguments
from trueness.errors import quietly
from trueness.results import Advice, Verdict
from trueness.results._first_screen import (
    Answer,
    answers_in_lines,
    in_html,
    in_lines,
    rows_and_level,
)
from trueness.results._page import Provenance


class Lines(NamedTuple):
    """What is said of an assessment."""

    headline: str
    answers: dict[str, str]
    """How far off it is, where, what that costs, what to do, and the evidence."""
    settings: str

    def __str__(self) -> str:
        return in_lines(self.headline, self.answers, self.settings)

    @property
    def html(self) -> str:
        """The same for a notebook."""
        return in_html(self.headline, self.answers, self.settings)


def in_words(a: Asked) -> Lines:
    """The verdict and the answers to the questions of a report's first screen.

    For several labels, only the verdict and what to do: a report has the answers of each label.
    """
    verdict = quietly(a.ask, VERDICT)
    advice = quietly(a.ask, ADVICE)
    place = quietly(a.possible, PLACE)
    settings = rows_and_level(verdict.n, a.level, a.seed)
    if place is None:
        action = Answer("What to do?", advice.phrase, advice.reason, {})
        return Lines(
            verdict.headline, answers_in_lines({"action": action}, verdict.evidence), settings
        )
    answers = answer_questions(a, verdict, advice, place, _command(a, verdict, advice))
    return Lines(verdict.headline, answers_in_lines(answers, verdict.evidence), settings)


def _command(a: Asked, verdict: Verdict, advice: Advice) -> str:
    """The lines of Python to copy in order to follow the advice."""
    evidence = a.view("confidence")
    labels = a.rows.labels
    arguments = fit_arguments(evidence, labels.event, several=False, named=labels.named)
    origin = Provenance(
        file=None,
        label=None,
        event=None,
        date="",
        arguments=arguments,
        cluster="" if evidence.cluster is None else "cluster=cluster",
        other=labels.other,
    )
    has_remedies = quietly(a.ask, REMEDIES) is not None
    return command_for(advice, verdict, origin, "", has_remedies=has_remedies)
