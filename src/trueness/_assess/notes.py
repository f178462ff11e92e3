"""Notes for the reader: warnings, and why something could not be computed, as sentences."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from trueness.errors import InputError, collected_warnings

Result = TypeVar("Result")


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
        self,
        name: str,
        compute: Callable[[], Result],
        reason: str | None = None,
        *,
        warn: bool = True,
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
    """Turn the library's warnings into notes."""
    with collected_warnings() as caught:
        yield
    for kind, message in caught:
        notes.add(
            notes.wording.get(kind, message.replace("; returning nan.", "."))
        )  # a page returns nothing
