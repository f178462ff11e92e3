"""Everything one run has found."""

from dataclasses import asdict, dataclass, field
from typing import Any

from harness.overhead import Overhead
from harness.startup import Startup
from harness.table import Table


@dataclass
class Outcome:
    """Tables, and the single numbers beside them."""

    machine: dict[str, str]
    quick: bool
    tables: list[Table] = field(default_factory=list)
    fallback: Table | None = None
    startup: list[Startup] = field(default_factory=list)
    ten_rows: Overhead | None = None
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def table(self, task: str, n: int, form: str) -> Table | None:
        """The table of that size; in a quick run, of the largest size up to it."""
        fitting = [t for t in self.tables if t.task == task and t.form == form and t.n <= n]
        found = max(fitting, key=lambda t: t.n, default=None)
        return found if found is not None and (self.quick or found.n == n) else None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
