"""The columns that a table has, and how messages name those that it lacks."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from trueness.errors import InputError
from trueness.sources._request import Model

_SHOWN = 12  # names of columns in a message


@dataclass(frozen=True)
class Names:
    """The names of the columns of a table, which messages call `source`."""

    names: tuple[str, ...]
    source: str

    def without(self, taken: Sequence[str]) -> "Names":
        """The columns that are not `taken` for something else."""
        return Names(tuple(name for name in self.names if name not in taken), self.source)

    def guess(self, usual: Sequence[str], what: str, option: str) -> str:
        """The only column that has one of the usual names."""
        fitting = [name for name in self.names if name.lower() in usual]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = list_names(fitting)
            several = f"{self.source} has several columns that may hold {what} ({names})"
            raise InputError("", several, f"`{option}` says which")
        columns, hint = self._overview()
        demand = f"must name the column of {what} in {self.source}"
        raise InputError(option, demand, columns, remedy=hint)

    def check(self, option: str, *wanted: str | None) -> None:
        """Raise for a name that no column has."""
        for name in wanted:
            if name is not None and name not in self.names:
                self._refuse(name, option)

    def _refuse(self, wanted: str, option: str) -> None:
        """Raise because no column has this name, with the names that are close to it."""
        lower = {name.lower(): name for name in self.names}
        close = difflib.get_close_matches(wanted.lower(), list(lower), n=3)
        if any("\ufffd" in name for name in self.names):
            hint = (
                "Some of its names are not UTF-8; convert the file, as `iconv -f latin1 -t utf-8` "
                "does."
            )
        elif close:
            hint = f"Did you mean {' or '.join(repr(lower[c]) for c in close)}?"
        else:
            columns, more = self._overview()
            hint = f"I{columns[1:]}. {more}".strip()
        demand = f"{self.source} has no column {wanted!r}"
        raise InputError("", demand, remedy=hint, context=f"`{option}`")

    def _overview(self) -> tuple[str, str]:
        """Which columns there are, and why they may be the wrong ones."""
        if len(self.names) == 1:
            (name,) = self.names
            overview = f"its only column is {name!r}"
            for separator in (";", "\t", "|", ","):
                if separator in name:
                    typed = "tab" if separator == "\t" else repr(separator)
                    hint = f"If {separator!r} separates columns, say `--separator {typed}`."
                    return overview, hint
            return overview, ""
        hint = ""
        if list(self.names) == [str(i) for i in range(len(self.names))]:
            hint = "Columns of a matrix are numbered: `--label 0 --prob 1`. "
            hint += "A text file names its columns in the first line."
        elif all(re.fullmatch(r"[-+.\deE]+", name) for name in self.names):
            hint = "These look like numbers: the first line must name the columns."
        return f"its columns are {list_names(self.names)}", hint

    def matrix(self, text: str, option: str = "--prob-columns") -> Model:
        """The model whose columns are listed or matched by a pattern: a,b,c or 'p_*'."""
        columns: list[str] = []
        classes: list[str] = []
        for item in (part.strip() for part in text.split(",")):
            if "*" in item and item not in self.names:
                matches = self._matches(item, option)
            else:
                self.check(option, item)
                matches = [(item, item)]
            classes += [part for part, _ in matches]
            columns += [name for _, name in matches]
        if len(set(columns)) < len(columns):
            raise InputError(option, "must name each column once", f"got {text!r}")
        if len(columns) < 2:
            demand = "must give one column per class, at least 2"
            remedy = "`--prob` takes one." if option == "--prob-columns" else ""
            raise InputError(option, demand, f"{text!r} gives one", remedy=remedy)
        return Model(text, tuple(columns), tuple(classes), "*" in text)

    def _matches(self, item: str, option: str) -> list[tuple[str, str]]:
        """What the star matches, and the column."""
        pattern = re.compile(re.escape(item).replace(r"\*", "(.*)"), re.DOTALL)
        matches = [(m[1], m[0]) for m in map(pattern.fullmatch, self.names) if m]
        if not matches:
            overview, hint = self._overview()
            demand = f"no column of {self.source} matches {item!r}"
            raise InputError("", demand, overview, remedy=hint, context=f"`{option}`")
        # p2 before p10, whatever their order in the file.
        if all(part.isdecimal() for part, _ in matches):
            matches.sort(key=lambda pair: int(pair[0]))
        return matches


def list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more
