"""The built-in simulated data, as a source of columns."""

from collections.abc import Sequence

from trueness.sources._table import Columns, Table

__all__ = ["Demo"]


class Demo(Table):
    """Simulated rows whose truth is known: labels ``y``, the models' scores, and ``truth``."""

    def __init__(self, rows: int, seed: int) -> None:
        from trueness import simulate

        self.name = f"simulated data (seed {seed})"
        self._columns = simulate.demo(rows, seed=seed).table()
        self.names = tuple(self._columns)
        self.models = tuple(name for name in self.names if name not in ("y", "truth"))

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Give the columns."""
        found = ({name: self._columns[name] for name in names} for names in (labels, numbers, groups))
        return Columns(*found)
