"""`Sketch`: sums of bounded size that serve every measure, within bounds that can be stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from trueness._tally.bins import Bins
from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, Distinct, as_rule
from trueness._tally.tally import Binned, Parts, Tally, edges_of
from trueness.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Sketch", "served"]


class Sketch(Parts[GridCells]):
    """The sums of the rows in each of 7,684 cells, which the data do not move.

    Cells are fine near 0 and near 1: none is wider than 1/128 of the distance of its scores from the nearer end,
    down to 2⁻³¹. Memory is bounded whatever the number of rows; sketches add; without weights they are the
    same bits for any order and any split of the rows. :func:`trueness.sketch` makes one.

    Every measure takes a sketch in place of labels and scores. Sums over whole cells are exact; what depends on the
    order of scores inside a cell is not known, and a measure then sees all rows of the cell at their mean score:
    its value is an approximation. :func:`trueness.bounded` says how far the value of the rows can be from it.

    Examples
    --------
    >>> import trueness as tn
    >>> monday, tuesday = tn.sketch([0, 1], [0.2, 0.7]), tn.sketch([1, 1], [0.7, 0.9])
    >>> monday + tuesday
    Sketch(binary, 4 rows, 3 cells)
    >>> tn.brier(monday + tuesday) == tn.brier([0, 1, 1, 1], [0.2, 0.7, 0.7, 0.9])
    True
    """

    __slots__ = ()

    def coarsen(self, bins: BinsLike) -> Binned:
        """Sum the cells of each bin; a cell that an edge cuts goes whole to the bin of its mean score.

        Parameters
        ----------
        bins : int, sequence of edges or bin rule

        Returns
        -------
        Binned
        """
        rule = served(as_rule(bins))
        parts = (
            part.as_bins(rule.group(part.as_cells())) if part.size else Bins.empty(edges_of(rule))
            for part in self.parts
        )
        return Binned(self.kind, tuple(parts), self.classes)

    def pooled(self) -> Tally:
        """The tally of rows that lie at the mean score of their cell.

        Returns
        -------
        Tally
        """
        return Tally(self.kind, tuple(part.as_cells() for part in self.parts), self.classes)

    def to_bytes(self) -> bytes:
        """The sketch in few bytes; without weights, the same for the same rows in any order and partition.

        Returns
        -------
        bytes
            Some 40 bytes per cell that has rows, up to 65 where rows are many, and up to 80 with weights.
        """
        return bytes(_wire().to_bytes(self.kind, self.classes, self.parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote. Nothing in it is executed; anything else is an error.

        Parameters
        ----------
        data : bytes

        Returns
        -------
        Sketch
        """
        return cls(*_wire().from_bytes(data))

    def save(self, path: str | Path) -> None:
        """Write the bytes to a file; a failed write leaves what was there.

        Parameters
        ----------
        path : str or Path
        """
        from pathlib import Path

        from trueness._tally.atomic import replace_file

        data = self.to_bytes()
        replace_file(Path(path), lambda file: file.write(data))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Sketch
        """
        from pathlib import Path

        from trueness._tally.atomic import naming, read_file

        data, _ = read_file(Path(path))
        with naming(path):
            return cls.from_bytes(data)

    def __repr__(self) -> str:
        return f"Sketch({self.kind}, {self.n:,} rows, {sum(part.size for part in self.parts):,} cells)"


def _wire() -> Any:
    """The wire format, loaded when it is used: most calls need no JSON."""
    from trueness._tally import sketch_wire

    return sketch_wire


def served(rule: BinRule) -> BinRule:
    """The rule, unless it asks for what a sketch has not kept."""
    if isinstance(rule, Distinct):
        raise InputError("`Distinct()` bins need every distinct score, which a sketch does not keep; pass a Tally.")
    if isinstance(rule, BlockIsotonic) and rule.ties == "split":
        raise InputError('`ties="split"` needs the rows in order; a sketch has none. Pass `y_true` and `y_prob`.')
    return rule
