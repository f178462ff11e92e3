"""Sums of a file that is read in pieces.

Tallies of pieces add to the tally of the file, to the bit, and have one cell per distinct score: scores written with
six decimals never make more than a million. If there are more than fit, the tally is cut into bins, which add as well
and never grow.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import trueness as tn
from trueness._progress import progress_bar
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned
from trueness.cli._columns import Model
from trueness.cli._messages import note
from trueness.cli._rows import Dataset, Rows, dropped_message
from trueness.errors import FewRowsWarning, InputError, OneClassWarning

__all__ = ["MOST_CELLS", "Sums", "stream_sums"]

MOST_CELLS = 2_000_000
"""Distinct scores, over all models and classes, that are kept apart; about 65 MB."""


@dataclass(frozen=True)
class Sums:
    """The tallies of one model by kind, or its bins if there were too many distinct scores."""

    parts: Mapping[str, tn.Tally | Binned]
    remark: str | None = None
    """How the classes were inferred."""
    warnings: tuple[str, ...] = ()

    @property
    def binned(self) -> bool:
        """Whether only the sums of bins are left."""
        return any(isinstance(t, Binned) for t in self.parts.values())


def stream_sums(
    data: Dataset, sums_of: Callable[[Rows, Model], Sums], lattice: BinRule, *, asked: bool
) -> dict[str, Sums]:
    """Add up what `sums_of` makes of each piece, by model; `lattice` are the bins to fall back to."""
    if not asked:
        note(f"{data.source.name} is large and is read by stream; `--no-stream` reads it whole.")
    total = _Total(data, sums_of, lattice)
    with progress_bar(f"Reading {data.source.name}") as report:
        for rows, read in data.pieces():
            total.add(rows)
            report(read, data.source.size)
    return total.finish()


class _Total:
    def __init__(self, data: Dataset, sums_of: Callable[[Rows, Model], Sums], lattice: BinRule) -> None:
        self._sums_of = sums_of
        self._name, self._choice, self._lattice = data.source.name, data.choice, lattice
        self._sums: dict[str, Sums] = {}
        self._binned = False
        self._seen: set[Any] = set()
        self._rows = self._dropped = 0
        self._warnings: list[str] = []

    def add(self, rows: Rows) -> None:
        """Add one piece."""
        rows.check_shapes()
        self._rows += len(rows)
        if rows.meaning.rows.get("missing") == "drop":
            rows = rows.complete()
            self._dropped += rows.dropped
        if len(rows) == 0:
            return
        for model in self._choice.models:
            with rows.about(model) as warned:
                # A piece may be short, or have one label only; the measures look at the whole.
                warnings.simplefilter("ignore", FewRowsWarning)
                warnings.simplefilter("ignore", OneClassWarning)
                self._put(model, self._sums_of(self._decided(rows, model), model))
            self._warnings += [message for message in warned if message not in self._warnings]
        self._cut()

    def _decided(self, rows: Rows, model: Model) -> Rows:
        """Labels as true or false if ``--pos-label`` names one: a piece need not have both."""
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
        parts = {kind: self._coarsen(t) if self._binned else t for kind, t in piece.parts.items()}
        if model.name in self._sums:
            before: Mapping[str, Any] = self._sums[model.name].parts
            parts = {kind: before[kind] + t for kind, t in parts.items()}
        self._sums[model.name] = Sums(parts, piece.remark)

    def _cut(self) -> None:
        """Fall back to bins when there are too many distinct scores."""
        every = [t for sums in self._sums.values() for t in sums.parts.values()]
        if self._binned or sum(part.size for t in every for part in t.parts) <= MOST_CELLS:
            return
        self._binned = True
        self._sums = {
            name: replace(sums, parts={kind: self._coarsen(t) for kind, t in sums.parts.items()})
            for name, sums in self._sums.items()
        }

    def _coarsen(self, t: tn.Tally | Binned) -> Binned:
        if self._lattice.fixed_edges is None:
            raise InputError(
                "",
                f"{self._name} has more than {MOST_CELLS:,} distinct scores, too many to keep apart by stream",
                "`--bins` must then be a number of bins of equal width, or edges",
                remedy="`--no-stream` reads the file whole.",
            )
        return t.coarsen(self._lattice)

    def finish(self) -> dict[str, Sums]:
        """The sums, if there were rows."""
        if not self._rows:
            raise InputError("", f"{self._name} has no rows")
        if not self._sums:
            demand = f"{self._name} must have at least one complete row"
            raise InputError("", demand, f"all {self._rows:,} miss a value")
        messages = (*dropped_message(self._dropped, self._rows), *self._warnings)
        return {name: replace(sums, warnings=messages) for name, sums in self._sums.items()}
