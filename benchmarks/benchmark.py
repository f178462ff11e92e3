"""How a benchmark is written: a function that fills a `Page`, declared with `@case`."""

import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["CASES", "Bar", "Case", "Page", "Table", "case", "load_cases"]


@dataclass(frozen=True)
class Bar:
    """A promise about speed or memory. `kept` is None if it was not measured, or not at that size."""

    promise: str
    found: str
    kept: bool | None

    @property
    def verdict(self) -> str:
        if self.kept is None:
            return "not at that size" if self.found else "not measured"
        return "pass" if self.kept else "**FAIL**"


@dataclass
class Table:
    """Rows of text under a heading."""

    title: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)


class Page:
    """What a case prints, line by line while it runs, and keeps for `--out` and `--json`."""

    def __init__(self, title: str) -> None:
        self.lines: list[str] = []
        self.tables: list[Table] = []
        self.bars: list[Bar] = []
        self.data: Any = None
        """Anything else that `--json` should keep."""
        self.text(f"## {title}")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._print(*([""] if self.lines else []), text)

    def head(self, *columns: str, title: str = "") -> None:
        """Begin a table."""
        self.tables.append(Table(title, list(columns)))
        if title:
            self.text(f"### {title}")
        self._print("", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|")

    def row(self, *cells: str) -> None:
        """Add a row to the table begun last."""
        texts = [cell.replace("|", "/") for cell in cells]
        self.tables[-1].rows.append(texts)
        self._print(f"| {' | '.join(texts)} |")

    def bar(self, promise: str, found: str = "", kept: bool | None = None) -> str:
        """Record a promise, and return its verdict; all bars are printed at the end of the case."""
        self.bars.append(Bar(promise, found, kept))
        return self.bars[-1].verdict

    def close(self) -> None:
        """Print the bars."""
        if self.bars:
            self._print("", "| bar | found | |", "|---|---|---|")
            self._print(*(f"| {bar.promise} | {bar.found} | {bar.verdict} |" for bar in self.bars))

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": "\n".join(self.lines) + "\n",
            "tables": [asdict(table) for table in self.tables],
            "bars": [asdict(bar) for bar in self.bars],
            "data": self.data,
        }

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False), encoding="utf-8")

    def _print(self, *lines: str) -> None:
        self.lines += lines
        print("\n".join(lines), flush=True)


@dataclass(frozen=True)
class Case:
    """A benchmark by name.

    The function takes a `Page`, `quick` (a smaller size, seconds to a minute), and options of its own as keywords with
    defaults, which become options of the command.
    """

    name: str
    title: str
    time: str
    function: Callable[..., None]
    one_thread: bool
    """Whether matrix products must use one thread: others would blur CPU times, or fight with worker processes."""
    default: bool
    """Whether it runs when no name is given."""

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.function).parameters
        return {
            name: p for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY
        }

    def run(self, *, quick: bool, **options: Any) -> Page:
        page = Page(self.title)
        self.function(page, quick, **options)
        page.close()
        return page


CASES: dict[str, Case] = {}


def case(
    name: str, title: str, time: str, *, one_thread: bool = False, default: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a function as a benchmark."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        assert name not in CASES, name
        CASES[name] = Case(name, title, time, function, one_thread, default)
        return function

    return declare


def load_cases() -> dict[str, Case]:
    """Import every file of the folder `cases`; libraries that a case needs are imported when it runs."""
    for path in sorted((Path(__file__).parent / "cases").glob("[!_]*.py")):
        import_module(f"cases.{path.stem}")
    return CASES
