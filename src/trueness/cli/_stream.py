"""Rows added up piece by piece.

Tallies of pieces add to the tally of the file, to the bit, and are as large as the file has distinct scores: scores
written with six decimals never make more than a million. Where there are more than fits, the tally is cut into bins,
which add as well and never grow.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import trueness as tn
from trueness._progress import progress_bar
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned
from trueness.cli._columns import Choice, Model
from trueness.cli._measurements import Sums
from trueness.cli._messages import collect_warnings
from trueness.cli._reading import Opened
from trueness.cli._rows import Rows, dropped_in_words
from trueness.errors import FewRowsWarning, InputError, OneClassWarning

__all__ = ["Streamed", "streamed"]

MOST_CELLS = 2_000_000
"""Distinct scores, over all models and classes, that are kept apart; about 65 MB."""


@dataclass(frozen=True)
class Streamed:
    """The sums of a whole file."""

    sums: Mapping[str, Sums]
    """By the name of the model."""
    choice: Choice
    binned: bool
    """Whether there were too many distinct scores to keep them apart."""
    said: tuple[str, ...]
    """What the library warned of, and how many rows were dropped."""


def streamed(opened: Opened, sums_of: Callable[[Rows, Model], Sums], lattice: BinRule) -> Streamed:
    """Add up what `sums_of` makes of each piece and model; `lattice` are the bins to fall back to."""
    total = _Total(opened, sums_of, lattice)
    reading = progress_bar(f"Reading {opened.source.name}")
    with reading as report, collect_warnings() as warned, warnings.catch_warnings():
        # A piece may be short, or have one label only; the measures look at the whole.
        warnings.simplefilter("ignore", FewRowsWarning)
        warnings.simplefilter("ignore", OneClassWarning)
        for rows, read in opened.pieces():
            total.add(rows)
            report(read, opened.source.size)
    return total.found(warned)


class _Total:
    def __init__(self, opened: Opened, sums_of: Callable[[Rows, Model], Sums], lattice: BinRule) -> None:
        self._sums_of = sums_of
        self._name, self._choice, self._lattice = opened.source.name, opened.choice, lattice
        self._sums: dict[str, Sums] = {}
        self._binned = False
        self._seen: set[Any] = set()
        self._rows = self._dropped = 0

    def add(self, rows: Rows) -> None:
        """Add one piece."""
        rows = replace(rows, first=self._rows).alike()
        self._rows += len(rows.label)
        if rows.meaning.rows.get("missing") == "drop":
            rows = rows.complete()
            self._dropped += rows.dropped
        if len(rows.label) == 0:
            return
        for model in self._choice.models:
            with rows.about(model):
                self._put(model, self._sums_of(self._decided(rows, model), model))
        self._cut()

    def _decided(self, rows: Rows, model: Model) -> Rows:
        """Labels as true or false where one was named: a piece need not have both."""
        if rows.meaning.pos_label is None or rows.is_matrix(model):
            return rows
        event = rows.arguments(model).rows["pos_label"]
        self._seen |= set(rows.label.tolist())
        if len(self._seen) > 2 or (len(self._seen) == 2 and event not in self._seen):
            shown = ", ".join(repr(v) for v in sorted(self._seen, key=str)[:6])
            raise InputError(
                "y_true", f"must have two labels, of which `pos_label={event!r}` is one", f"it has {shown}"
            )
        labels = {**rows.columns.labels, rows.choice.label: rows.label == event}
        return replace(
            rows, columns=replace(rows.columns, labels=labels), meaning=replace(rows.meaning, pos_label=None)
        )

    def _put(self, model: Model, piece: Sums) -> None:
        parts = {kind: self._cut_one(t) if self._binned else t for kind, t in piece.parts.items()}
        if model.name in self._sums:
            before: Mapping[str, Any] = self._sums[model.name].parts
            parts = {kind: before[kind] + t for kind, t in parts.items()}
        self._sums[model.name] = Sums(parts, piece.remark)

    def _cut(self) -> None:
        """Fall back to bins when there are too many distinct scores."""
        if self._binned:
            return
        every = [t for sums in self._sums.values() for t in sums.parts.values()]
        if sum(part.size for t in every for part in t.parts) <= MOST_CELLS:
            return
        self._binned = True
        self._sums = {
            name: Sums({kind: self._cut_one(t) for kind, t in sums.parts.items()}, sums.remark)
            for name, sums in self._sums.items()
        }

    def _cut_one(self, t: tn.Tally | Binned) -> Binned:
        if self._lattice.fixed_edges is None:
            raise InputError(
                f"{self._name} has more than {MOST_CELLS:,} distinct scores, too many to keep apart by stream; "
                "`--bins` must then be a number of bins of equal width, or edges. `--no-stream` reads the file whole."
            )
        return t.coarsen(self._lattice)

    def found(self, warned: list[str]) -> Streamed:
        """The sums, if there were rows."""
        if not self._rows:
            raise InputError(f"{self._name} has no rows.")
        if not self._sums:
            raise InputError(f"{self._name} must have at least one complete row; all {self._rows:,} miss a value.")
        said = dropped_in_words(self._dropped, self._rows)
        return Streamed(self._sums, self._choice, self._binned, (*said, *warned))
