"""Which rows are new: looks that were counted before, and rows that come late."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, TypeAlias, cast, get_args

from trueness._input.arguments import checked_word
from trueness.errors import InputError
from trueness.infer.watch._look import Piece, Position
from trueness.typing import ArrayLike

Late: TypeAlias = Literal["refuse", "next", "drop"]
_MANY_ROWS = 1_000
_ENOUGH_SCORES = 3
_MANY_SCORES = 200
"""Two looks of independent rows have equal sums by chance if rows and scores are few: 1,000 rows at
three scores do so about once in 10⁸ pairs, at two once in 10⁵, at one score once in 56."""


def checked_late(late: str) -> Late:
    """Refuse other words."""
    checked_word(late, "late", get_args(Late))
    return cast(Late, late)


class Batch(NamedTuple):
    """The rows of one look, or of one position of a file."""

    position: Position
    data: ArrayLike
    piece: Piece

    @property
    def is_recognisable(self) -> bool:
        """Whether equal sums mean the same rows, whatever the position."""
        piece = self.piece
        if piece.scores >= _MANY_SCORES:
            return True
        return piece.rows >= _MANY_ROWS and piece.scores >= _ENOUGH_SCORES


class Counted(NamedTuple):
    """What is kept of a batch that was entered."""

    digest: str
    position: Position
    rows: int


@dataclass
class Memory:
    """The batches that were entered, by content."""

    batches: list[Counted] = field(default_factory=list)

    @classmethod
    def of(cls, stored: Iterable[Any]) -> Self:
        """The memory of a stored state."""
        return cls([Counted(*entry) for entry in stored])

    def __post_init__(self) -> None:
        self._position: dict[str, list[Position]] = {}
        self._counted: set[str] = set()
        self._rows: dict[Position, int] = {}
        for batch in self.batches:
            self._note(batch)

    def _note(self, batch: Counted) -> None:
        self._position.setdefault(batch.digest, []).append(batch.position)
        self._rows[batch.position] = self._rows.get(batch.position, 0) + batch.rows
        if batch.rows > 0:
            self._counted.add(batch.digest)

    def keep(self, batch: Batch, *, is_counted: bool = True) -> None:
        """Remember a batch; of one that was left out, no row was counted."""
        rows = batch.piece.rows if is_counted else 0
        counted = Counted(batch.piece.digest, batch.position, rows)
        self.batches.append(counted)
        self._note(counted)

    def positions(self, batch: Batch) -> list[Position]:
        """Where the same sums were entered."""
        return self._position.get(batch.piece.digest, [])

    def was_left_out(self, batch: Batch) -> bool:
        """Whether the same sums were left out whenever they came."""
        digest = batch.piece.digest
        return digest in self._position and digest not in self._counted

    def rows_at(self, position: Position) -> int:
        """The rows that were entered for a position."""
        return self._rows.get(position, 0)


@dataclass
class Arrivals:
    """The batches of one update, by what becomes of them."""

    new: list[Batch] = field(default_factory=list)
    """Later than all looks so far."""
    late: list[Batch] = field(default_factory=list)
    """Rows of earlier positions, which are counted in the present look."""
    dropped: list[Batch] = field(default_factory=list)
    """Rows of earlier positions, which are left out."""
    repeated: list[Batch] = field(default_factory=list)
    """Counted before."""
    ignored: list[Batch] = field(default_factory=list)
    """Left out before."""
    similar: list[Batch] = field(default_factory=list)
    """Too small to say whether they were counted before: they are among the new ones."""

    def sort(self, batch: Batch, memory: Memory, *, is_late: bool, again: bool) -> None:
        """Put a batch, the rows of one position, into one of the lists of this update.

        A batch whose sums were entered before is put into `repeated`, or into `ignored` if it was
        left out then. It must have been at the same position, or at any if it has enough rows for
        equal sums to mean the same rows. Other batches are late or new, as `is_late` says. With
        `again`, no batch counts as entered before.
        """
        earlier = memory.positions(batch)
        is_known = batch.position in earlier or (bool(earlier) and batch.is_recognisable)
        if is_known and not again:
            counted = batch.position if batch.position in earlier else earlier[-1]
            known = self.ignored if memory.was_left_out(batch) else self.repeated
            known.append(batch._replace(position=counted))
        elif is_late:
            self.late.append(batch)
        else:
            self.new.append(batch)
            if earlier and not again:
                self.similar.append(batch)

    def decide(self, late: Late, memory: Memory, *, again: bool) -> None:
        """Decide what becomes of late rows: drop them, keep them for this look, or refuse them.

        `late` is 'drop', 'next' or 'refuse'; without late rows there is nothing to do. With 'next'
        they are refused, too, if the data also hold rows that were counted, since a whole day that
        is sent again would count twice; not with `again`.
        """
        if not self.late:
            return
        if late == "drop":
            self.dropped = self.late
            self.late = []
            return
        rows = rows_of(self.late)
        which = in_words([batch.position for batch in self.late])
        if late == "refuse":
            raise InputError(
                "late",
                f"must say what becomes of rows of positions that were counted: {rows} of {which}",
                "now these hold other rows than then",
                remedy="'next' counts late rows in the present look, if the data hold new rows "
                "only; 'drop' leaves them out. Where days were replaced, "
                "`trueness watch --replay` rebuilds the state.",
            )
        # A whole day that is sent again with some more rows is not a batch of late rows.
        whole = [
            batch for batch in self.late if 0 < memory.rows_at(batch.position) <= batch.piece.rows
        ]
        if (self.repeated or whole) and not again:
            raise InputError(
                "late",
                f"'next' needs late rows by themselves: {rows} of {which} would count again",
                "the data also hold rows that were counted",
                remedy="Send new rows only; 'drop' leaves these out; `trueness watch --replay` "
                "rebuilds the state from whole days.",
            )

    @property
    def skipped(self) -> tuple[str, ...]:
        """Sentences about rows that are skipped because they came before."""
        sentences = []
        for batches, fate in ((self.repeated, "counted"), (self.ignored, "left out")):
            if batches:
                which = in_words([batch.position for batch in batches])
                sentences.append(
                    f"{rows_of(batches)} of {which} were {fate} before and are skipped."
                )
        return tuple(sentences)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about rows that were skipped, late or left out."""
        sentences = [*self.skipped]
        if self.similar:
            rows = rows_of(self.similar)
            sentences.append(
                f"An earlier look has the same sums. {rows} are too few to tell whether they are "
                "the same rows, and are counted."
            )
        if self.late:
            which = in_words([batch.position for batch in self.late])
            sentences.append(f"{rows_of(self.late)} of {which} came late and are counted now.")
        if self.dropped:
            which = in_words([batch.position for batch in self.dropped])
            sentences.append(f"{rows_of(self.dropped)} of {which} came late and are left out.")
        return tuple(sentences)


def rows_of(batches: Iterable[Batch]) -> str:
    """How many rows, in words."""
    rows = sum(batch.piece.rows for batch in batches)
    return "1 row" if rows == 1 else f"{rows:,} rows"


def in_words(positions: list[Position]) -> str:
    """The positions, or the first and the last of many."""
    names = [str(position) for position in dict.fromkeys(positions)]
    if len(names) > 3:
        return f"{len(names):,} looks from {names[0]} to {names[-1]}"
    return ", ".join(names)
