"""From options to rows: the file is opened, its columns chosen, and what was guessed is said aloud."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from trueness.cli._columns import Choice, choose
from trueness.cli._messages import note
from trueness.cli._rows import Meaning, Rows
from trueness.errors import InputError
from trueness.sources._table import Columns, Table

__all__ = ["Opened", "Request", "guessed", "opening", "read_rows", "source_of"]

_LARGE = 256 * 1000 * 1000
_UNPACKED = 4  # how much longer the text is than the packed file, about


@dataclass(frozen=True)
class Request:
    """The options about files, columns and their meaning, as they were typed."""

    file: str | None = None
    files: tuple[str, ...] = ()
    """Several, of which all rows are one data set."""
    rows: int = 10_000
    seed: int = 0
    label: str | None = None
    probs: tuple[str, ...] = ()
    matrices: tuple[str, ...] = ()
    weight: str | None = None
    by: tuple[str, ...] = ()
    cluster: str | None = None
    pos_label: str | None = None
    labels: str | None = None
    missing: str = "raise"
    from_logits: bool = False
    clip_tolerance: float = 0.0
    sum_tolerance: float | None = None
    input_format: str | None = None
    separator: str | None = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> "Request":
        """Take what belongs here out of a command's options; `seed` stays there as well."""
        names = {f.name for f in fields(cls)}
        taken = {name: options[name] for name in names & options.keys()}
        for name in taken.keys() - {"seed"}:
            del options[name]
        return cls(**taken)

    def with_probs(self, *probs: str) -> "Request":
        """The same for other scores."""
        return replace(self, probs=probs)

    @property
    def meaning(self) -> Meaning:
        """What was said of labels and scores."""
        labels = None if self.labels is None else tuple(name.strip() for name in self.labels.split(","))
        return Meaning(
            pos_label=self.pos_label,
            labels=labels,
            rows={
                "missing": self.missing,  # type: ignore[typeddict-item]  # one of the two words
                "clip_tolerance": self.clip_tolerance,
                "sum_tolerance": self.sum_tolerance,
                "from_logits": self.from_logits,
            },
        )


@dataclass(frozen=True)
class Opened:
    """A source whose columns have been chosen."""

    source: Table
    choice: Choice
    meaning: Meaning

    def rows(self) -> Rows:
        """All rows at once."""
        columns = self.source.read(self.choice.labels, self.choice.numbers, self.choice.groups)
        self._say_how_many()
        return Rows(columns, self.choice, self.source.name, self.meaning, place=self.source.place)

    def pieces(self) -> Iterator[tuple[Rows, int]]:
        """Some rows at a time, with the bytes read so far."""
        for columns, read in self.source.batches(self.choice.labels, self.choice.numbers):
            yield Rows(columns, self.choice, self.source.name, self.meaning, place=self.source.place), read
        self._say_how_many()

    def _say_how_many(self) -> None:
        if self.source.note:
            note(self.source.note)

    @contextmanager
    def about(self, name: str) -> Iterator[None]:
        """Let errors about the sums of a model speak of its column."""
        models = [model for model in self.choice.models if model.name == name]
        with Rows(Columns({}, {}), self.choice, self.source.name, self.meaning).about(*models):
            yield

    @property
    def large(self) -> bool:
        """Whether it is read by stream unless told otherwise."""
        return self.source.size * (1 if self.source.compression is None else _UNPACKED) > _LARGE


@contextmanager
def opening(request: Request) -> Iterator[Opened]:
    """Open the file, or make the demo data, and choose columns."""
    if request.file is None and not request.files:
        from trueness.cli._demo import Demo

        demo = Demo(request.rows, request.seed)
        yield Opened(demo, _choice(demo, request, label="y", probs=demo.models), request.meaning)
        return
    with source_of(request) as source:
        yield Opened(source, _choice(source, request), request.meaning)


@contextmanager
def source_of(request: Request) -> Iterator[Table]:
    """Open the file, or several as one."""
    from trueness.sources._concatenated import expand_paths
    from trueness.sources._open import open_tables

    separator = _separator(request.separator)
    paths = expand_paths(request.files) if request.file is None else (request.file,)
    with open_tables(paths, separator, request.input_format) as table:
        yield table


def read_rows(request: Request, *, alike: bool = True) -> Rows:
    """All rows, checked to be there."""
    with opening(request) as found:
        return found.rows().checked(alike=alike)


def _choice(source: Table, request: Request, label: str | None = None, probs: Sequence[str] = ()) -> Choice:
    choice = choose(
        source.names,
        source.name,
        label=request.label or label,
        probs=request.probs or (() if request.matrices else probs),
        matrices=request.matrices,
        weight=request.weight,
        by=request.by,
        cluster=request.cluster,
    )
    guessed(choice.guesses)
    return choice


def guessed(guesses: Sequence[str]) -> None:
    """Say what was guessed."""
    if guesses:
        note(f"{', '.join(guesses)}.")


def _separator(asked: str | None) -> str | None:
    if asked is None:
        return None
    found = {"tab": "\t", "\\t": "\t"}.get(asked, asked)
    if len(found) != 1 or found in '"\r\n' or not found.isascii():
        raise InputError(f"`--separator` must be one character, or tab; got {asked!r}.")
    return found
