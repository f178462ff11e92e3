"""Sums instead of rows, of files that are read in pieces.

Tallies of pieces add to the tally of the file, to the bit, and have one cell per distinct score:
scores written with six decimals never make more than a million. If there are more than fit, the
tally is cut into bins, which add as well and never grow.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, OneClassWarning, collected_warnings
from trueness.sources._data_set import DataSet

MOST_CELLS = 2_000_000
"""Distinct scores, over all models and classes, that are kept apart; about 65 MB."""
About: TypeAlias = Callable[[DataSet], AbstractContextManager[list[str]]]
"""Words errors in terms of some rows, and collects the library's warnings."""


@dataclass(frozen=True)
class ModelSums:
    """The tallies of one model by kind, or its bins if there were too many distinct scores."""

    parts: Mapping[str, Tally | Binned]
    remark: str | None = None

    @property
    def n_cells(self) -> int:
        """The number of distinct scores that are kept apart."""
        return sum(part.size for sums in self.parts.values() for part in sums.parts)

    def after(self, before: "ModelSums") -> "ModelSums":
        """The sums of these rows and those before them."""
        earlier: Mapping[str, Any] = before.parts
        parts = {kind: earlier[kind] + sums for kind, sums in self.parts.items()}
        return replace(self, parts=parts)

    def coarsen(self, lattice: BinRule) -> "ModelSums":
        """The sums of bins in place of those of distinct scores."""
        parts = {kind: sums.coarsen(lattice) for kind, sums in self.parts.items()}
        return replace(self, parts=parts)


@dataclass(frozen=True)
class SumsOfPieces:
    """The sums of each model, by name, and what was special about the rows."""

    models: Mapping[str, ModelSums]
    n: int
    dropped: int
    warnings: tuple[str, ...]
    is_binned: bool
    """Whether there were too many distinct scores to keep them apart."""


def sum_pieces(
    data: DataSet,
    sums_of: Callable[[DataSet], ModelSums],
    lattice: BinRule,
    *,
    about: About,
    report: Callable[[int, int], object],
) -> SumsOfPieces:
    """Add up what `sums_of` makes of each model's rows in each piece.

    `lattice` are the bins to fall back to if there are too many distinct scores.
    """
    total = dict[str, ModelSums]()
    messages = dict[str, None]()
    seen = set[Any]()
    is_binned = False
    n = 0
    dropped = 0
    for piece, n_bytes in data.pieces():
        piece.check_shapes()
        rows = piece.complete()
        n += len(piece)
        dropped += rows.dropped
        for part in rows.by_model() if len(rows) else ():
            name = part.model.name
            # A piece may be short, or have one label only; the measures look at the whole.
            with about(part) as warned, collected_warnings(FewRowsWarning, OneClassWarning):
                sums = sums_of(_with_binary_labels(part, seen))
                if is_binned:
                    sums = sums.coarsen(lattice)
                if name in total:
                    sums = sums.after(total[name])
                total[name] = sums
            messages |= dict.fromkeys(warned)
        if not is_binned and sum(sums.n_cells for sums in total.values()) > MOST_CELLS:
            _check_lattice(lattice, data.source)
            is_binned = True
            total = {name: sums.coarsen(lattice) for name, sums in total.items()}
        report(n_bytes, data.origin.size)
    return SumsOfPieces(total, n, dropped, tuple(messages), is_binned)


def _check_lattice(lattice: BinRule, source: str) -> None:
    """Raise if the bins depend on rows that are not read yet."""
    if lattice.fixed_edges is None:
        demand = (
            f"{source} has more than {MOST_CELLS:,} distinct scores, too many to keep apart by "
            "stream"
        )
        got = "`--bins` must then be a number of bins of equal width, or edges"
        raise InputError("", demand, got, remedy="`--no-stream` reads the file whole.")


def _with_binary_labels(rows: DataSet, seen: set[Any]) -> DataSet:
    """Labels as true or false if ``--pos-label`` names one: a piece need not have both.

    `seen` are those of all.
    """
    if rows.request.pos_label is None or rows.is_matrix():
        return rows
    event = rows.options["pos_label"]
    name = rows.model.label or str(rows.request.label)
    label = rows.columns.labels[name]
    seen |= set(label.tolist())
    if len(seen) > 2 or (len(seen) == 2 and event not in seen):
        shown = ", ".join(repr(v) for v in sorted(seen, key=str)[:6])
        demand = f"must have two labels, of which `pos_label={event!r}` is one"
        raise InputError("y_true", demand, f"it has {shown}")
    labels = {**rows.columns.labels, name: label == event}
    return replace(
        rows,
        columns=replace(rows.columns, labels=labels),
        request=replace(rows.request, pos_label=None),
    )
