"""Sums instead of rows: those of a file that is read in pieces, and those in .tally files.

Tallies of pieces add to the tally of the file, to the bit, and have one cell per distinct score: scores written with
six decimals never make more than a million. If there are more than fit, the tally is cut into bins, which add as well
and never grow.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
from trueness._progress import progress_bar
from trueness.cli._columns import Model
from trueness.cli._dataset import Dataset, Rows, dropped_message, require_rows
from trueness.cli._messages import note, warning
from trueness.cli._writing import check_writable
from trueness.errors import FewRowsWarning, InputError, OneClassWarning, collected_warnings

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule
    from trueness._tally.tally import Binned

MOST_CELLS = 2_000_000
"""Distinct scores, over all models and classes, that are kept apart; about 65 MB."""


@dataclass(frozen=True)
class ModelSums:
    """The tallies of one model by kind, or its bins if there were too many distinct scores."""

    parts: "Mapping[str, tn.Tally | Binned]"
    remark: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def binned(self) -> bool:
        return not all(isinstance(t, tn.Tally) for t in self.parts.values())


def stream_sums(
    data: Dataset, sums_of: "Callable[[Rows, Model], ModelSums]", lattice: "BinRule", lost: str, *, asked: bool
) -> dict[str, ModelSums]:
    """Add up what `sums_of` makes of each piece, by model.

    `lattice` are the bins to fall back to if there are too many distinct scores; a note then says what is `lost`.
    """
    if not asked:
        note(f"{data.source.name} is large and is read by stream; `--no-stream` reads it whole.")
    total = _Total(data, sums_of, lattice)
    with progress_bar(f"Reading {data.source.name}") as report:
        for rows, read in data.pieces():
            total.add(rows)
            report(read, data.source.size)
    found = total.finish()
    if any(sums.binned for sums in found.values()):
        note(f"there are more than {MOST_CELLS:,} distinct scores. {lost}")
    return found


class _Total:
    def __init__(self, data: Dataset, sums_of: "Callable[[Rows, Model], ModelSums]", lattice: "BinRule") -> None:
        self._sums_of = sums_of
        self._name, self._choice, self._lattice = data.source.name, data.choice, lattice
        self._sums: dict[str, ModelSums] = {}
        self._binned = False
        self._seen: set[Any] = set()
        self._rows = self._dropped = 0
        self._warnings: list[str] = []

    def add(self, rows: Rows) -> None:
        rows.check_shapes()
        self._rows += len(rows)
        rows = rows.complete()
        self._dropped += rows.dropped
        if len(rows) == 0:
            return
        for model in self._choice.models:
            # A piece may be short, or have one label only; the measures look at the whole.
            with rows.about(model) as warned, collected_warnings(FewRowsWarning, OneClassWarning):
                piece = self._sums_of(self._binary_labels(rows, model), model)
                parts: Mapping[str, Any] = self._coarsen(piece.parts) if self._binned else piece.parts
                if model.name in self._sums:
                    before: Mapping[str, Any] = self._sums[model.name].parts
                    parts = {kind: before[kind] + t for kind, t in parts.items()}
                self._sums[model.name] = ModelSums(parts, piece.remark)
            self._warnings += [message for message in warned if message not in self._warnings]
        every = [t for sums in self._sums.values() for t in sums.parts.values()]
        if not self._binned and sum(part.size for t in every for part in t.parts) > MOST_CELLS:
            self._binned = True
            self._sums = {name: replace(sums, parts=self._coarsen(sums.parts)) for name, sums in self._sums.items()}

    def _binary_labels(self, rows: Rows, model: Model) -> Rows:
        """Labels as true or false if ``--pos-label`` names one: a piece need not have both."""
        if rows.request.pos_label is None or rows.is_matrix(model):
            return rows
        event = rows.arguments(model).rows["pos_label"]
        name = model.label or rows.choice.label
        label = rows.columns.labels[name]
        self._seen |= set(label.tolist())
        if len(self._seen) > 2 or (len(self._seen) == 2 and event not in self._seen):
            shown = ", ".join(repr(v) for v in sorted(self._seen, key=str)[:6])
            demand = f"must have two labels, of which `pos_label={event!r}` is one"
            raise InputError("y_true", demand, f"it has {shown}")
        labels = {**rows.columns.labels, name: label == event}
        request = replace(rows.request, pos_label=None)
        return replace(rows, columns=replace(rows.columns, labels=labels), request=request)

    def _coarsen(self, parts: "Mapping[str, tn.Tally | Binned]") -> "Mapping[str, Binned]":
        if self._lattice.fixed_edges is None:
            demand = f"{self._name} has more than {MOST_CELLS:,} distinct scores, too many to keep apart by stream"
            got = "`--bins` must then be a number of bins of equal width, or edges"
            raise InputError("", demand, got, remedy="`--no-stream` reads the file whole.")
        return {kind: t.coarsen(self._lattice) for kind, t in parts.items()}

    def finish(self) -> dict[str, ModelSums]:
        require_rows(self._name, self._rows, len(self._sums))
        messages = (*dropped_message(self._dropped, self._rows), *self._warnings)
        return {name: replace(sums, warnings=messages) for name, sums in self._sums.items()}


OWN_BINS = "by default the stored ones, else 10 of equal width"
each = click.option("--each", is_flag=True, help="Also each file separately: a line per file, and one for all.")


class SumsFile(NamedTuple):
    name: str
    sums: "tn.Accumulator"


def read_total(files: Sequence[str], output: str | None) -> "tuple[list[SumsFile], tn.Accumulator]":
    """The sums of each file, and of all, which must have rows; the output must be none of the files."""
    sums = read_sums(files)
    check_writable(output, *(name for name, _ in sums))
    total = add(sums)
    if total.n == 0:
        raise InputError("", f"{' and '.join(files[:3])} {'has' if len(files) == 1 else 'have'} no rows")
    return sums, total


def read_sums(files: Sequence[str]) -> list[SumsFile]:
    """The sums of each file, or of the files that a pattern matches."""
    from trueness.sources._files import expand_paths

    names = expand_paths(files)
    for name in names:
        if not name.endswith(".tally"):
            demand = f"{name!r} is not a .tally file: sums and rows cannot be taken together"
            raise InputError("", demand, remedy="`trueness tally` makes sums of rows.")
    sums = [SumsFile(name, _load(name)) for name in names]
    for (first, one), (second, two) in combinations(sums, 2):
        if 0 < one.n == two.n and one.groups == two.groups:
            warning(f"{first} and {second} hold exactly the same sums. If one is a copy, its rows are counted twice.")
    return sums


def _load(name: str) -> "tn.Accumulator":
    try:
        return tn.Accumulator.load(name)
    except FileNotFoundError:
        raise InputError("", f"There is no file {name!r}") from None
    except IsADirectoryError:
        raise InputError("", f"{name!r} is a folder, not a file of sums") from None
    except OSError as reason:
        raise InputError("", f"{name!r} cannot be read: {reason.strerror or reason}") from reason


def add(sums: Sequence[SumsFile]) -> "tn.Accumulator":
    total = _total(sums)
    for one in sums:
        others = [other for other in sums if other is not one]
        if len(sums) > 2 and 0 < 2 * one.sums.n == total.n and one.sums.groups == _total(others).groups:
            warning(f"{one.name} holds exactly the sums of all the others together; their rows are counted twice.")
    return total


def _total(sums: Sequence[SumsFile]) -> "tn.Accumulator":
    first = sums[0]
    total = copy.copy(first.sums)  # `merge` replaces the sums of the copy, and leaves the others alone
    for name, one in sums[1:]:
        if one.about != total.about:
            demand = f"{name} is about other columns ({one.about}) than {first.name} ({total.about})"
            raise InputError("", demand)
        try:
            total.merge(one)
        except InputError as reason:
            raise reason.within(f"{name} does not add to {first.name}") from reason
    return total


def own_bins(total: "tn.Accumulator") -> "BinRule":
    """The stored bins, for which every measure of bins is exact; else the usual ones."""
    from trueness._tally.rules import as_rule

    return as_rule(10 if isinstance(total.bins, str) else total.bins)


def file_names(files: Sequence[str]) -> str:
    """The names of up to six files, without their folders."""
    return ", ".join(Path(name).name for name in files[:6]) + (", …" if len(files) > 6 else "")
