"""The options of every number of a report, and notes on what could not be computed."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from trueness._tally.rules import BinRule
from trueness.errors import InputError, TruenessWarning

Result = TypeVar("Result")


class Options(NamedTuple):
    """The bins, level and seed for every number of a report."""

    rule: BinRule
    level: float
    seed: int
    intervals: bool = True
    """Whether every measure has its limits or noise floor, or only those that the verdict needs."""

    @property
    def alpha(self) -> float:
        """The error rate of each question: all rows, segments, classes."""
        return round(1 - self.level, 12)


class Notes:
    """Sentences for the reader, each kept once."""

    def __init__(self, wording: Mapping[type[Warning], str] | None = None) -> None:
        self.sentences: list[str] = []
        self.wording = wording or {}
        """Sentences for some classes of warnings, in place of their messages."""

    def add(self, sentence: str) -> None:
        """Keep a sentence."""
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def attempt(
        self, name: str, compute: Callable[[], Result], reason: str | None = None, *, warn: bool = True
    ) -> Result | None:
        """The result; or None and a note with the reason, by default the library's message.

        Warnings become notes, too, unless `warn` is False.
        """
        try:
            with collect_warnings(self if warn else Notes()):
                return compute()
        except InputError as error:
            self.add(f"{name} could not be computed: {reason or error}")
            return None


@contextmanager
def collect_warnings(notes: Notes) -> Iterator[None]:
    """Turn the library's warnings into notes; other warnings are passed on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruenessWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, TruenessWarning):
            notes.add(notes.wording.get(warning.category, str(warning.message)))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
