"""What a command prints: messages in its own words on standard error.

Tables in any form, to a terminal or a file.
"""

import errno
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TypeAlias

import click

from trueness._tally.atomic import replace_file
from trueness._text.numbers import span
from trueness._text.strings import json_ready, markdown_text, visible, visible_lines, wrap
from trueness._text.table import Cell, Column, Kind, Table, written
from trueness._version import __version__
from trueness.errors import InputError, Place, TruenessError, Wording, capital, collected_warnings

if TYPE_CHECKING:
    from trueness.results import Estimate

_Names: TypeAlias = Mapping[str, str] | None
_WORDS = (
    *("missing", "from_logits", "percent", "kind", "method", "measure", "scheme", "bound"),
    "fitted",
)
"""Arguments of the library that are options, and whose values are words or nothing."""
_OPTIONS = {
    *_WORDS,
    *("pos_label", "labels", "sum_tolerance", "clip_tolerance", "bins", "level", "weight_type"),
    *("cost_fp", "cost_fn", "rounded_to", "resamples", "alpha", "epsilon", "split", "portfolio"),
}
_REMEDIES = {
    "swapped": "Swap `--label` and `--prob`.",
    "column-stack": "`--prob-columns` names one column per class.",
    "name-grades": "`--grades` names a column of grades, `--bins A=0.01,B=0.1,C=1` cut-offs.",
    "matrix": "Several classes need one column of scores each: `--prob-columns` names them.",
}
MARKDOWN = {".md": "markdown", ".markdown": "markdown"}
SUFFIXES = {".json": "json", **MARKDOWN, ".csv": "csv", ".txt": "table"}


class Refusal(click.ClickException):
    """Wrong input: one paragraph, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002  # click's signature
        print_paragraph(f"Error: {self.message}")


class CommandError(TruenessError):
    """An error of the library in the words of the command line."""


def note(*texts: str) -> None:
    for text in texts:
        print_paragraph(f"note: {text}")


def warning(*texts: str, about: str = "") -> None:
    """Print warnings on standard error, each with what it is about."""
    head = f"warning: {about}: " if about else "warning: "
    for text in texts:
        print_paragraph(f"{head}{text}")


def print_paragraph(text: str) -> None:
    """Print a paragraph on standard error, wrapped on a terminal only: a log has it on one line."""
    # On a terminal a progress bar may stand in the line.
    if sys.stderr.isatty():
        wrapped = f"\r\x1b[K{wrap(text, shutil.get_terminal_size().columns)}"
    else:
        wrapped = visible(text)
    click.echo(wrapped, err=True)


@contextmanager
def errors_as_messages(debug: bool) -> Iterator[None]:
    """Turn any error into a message and exit code 2, which is not the code of a failed gate."""
    try:
        yield
    except Exception as reason:
        # A closed pipe (`| head`) is not an error, and has an exit code of its own.
        is_of_click = isinstance(reason, click.ClickException | click.exceptions.Exit)
        if debug or is_of_click or getattr(reason, "errno", None) == errno.EPIPE:
            raise
        raise Refusal(_message(reason)) from reason


def _message(reason: Exception) -> str:
    """The sentence that is printed for an error.

    Errors of trueness have their own; files that cannot be read, and a lack of memory, are
    described. Anything else is a bug in trueness, and is called so.
    """
    if isinstance(reason, TruenessError):
        return str(reason)
    if isinstance(reason, OSError):
        file = f"{reason.filename}: " if reason.filename else ""
        return f"{file}{reason.strerror or reason}."
    if isinstance(reason, MemoryError):
        return (
            "The rows do not fit into memory. `trueness measure` and `trueness gate` can read with "
            "`--stream`."
        )
    what = ": ".join([type(reason).__name__, *str(reason).strip().splitlines()[:1]])
    return (
        f"This is a bug in trueness, not a problem with your data: {what}. `--debug` shows where."
    )


def wording(
    arguments: _Names = None,
    place: Callable[[Place], str] = str,
    *,
    options: _Names = None,
    remedies: _Names = None,
) -> Wording:
    """How the command line words the library's messages.

    `arguments` names the columns behind the arguments; `options` adds spellings of arguments such
    as ``{"n_bins": "--bins"}``; `remedies` adds ways out.

    >>> print(wording().spell('`missing="drop"` leaves such rows out.'))
    `--missing drop` leaves such rows out.
    """

    def option(name: str, value: str | None) -> str:
        """How an argument is written on the command line, with its value unless that is None.

        _Names that are not options stay as they are in Python.
        """
        if options and name in options:
            return f"`{options[name]}{_plain_value(name, value, '=')}`"
        if name not in _OPTIONS:
            if value is None:
                return f"`{name}`"
            return f"`{name}={value}`"
        return f"`--{name.replace('_', '-')}{_plain_value(name, value, ' ')}`"

    return Wording(arguments or {}, {**_REMEDIES, **(remedies or {})}, place, option)


_CODES = re.compile(r"range\((?:(\d+), )?(\d+)\)")
_MANY_CODES = 12


def _code_names(codes: range) -> str:
    """The class codes as one types them; of many, the first two and the last."""
    if len(codes) > _MANY_CODES:
        return f"{codes[0]},{codes[1]},…,{codes[-1]}"
    return ",".join(map(str, codes))


def _plain_value(name: str, value: str | None, separator: str) -> str:
    """A Python value as one types it after an option."""
    if value is None:
        return ""
    if name == "labels":
        codes = _CODES.fullmatch(value)
        if codes is not None:
            value = _code_names(range(int(codes[1] or 0), int(codes[2])))
        elif "…" in value:
            value = ""
        else:
            value = ",".join(part.strip(" '\"") for part in value.strip("[]").split(","))
    elif name != "pos_label":  # whose quotes show that the label is text
        value = value.strip("'\"")
    if name in _WORDS:
        value = "" if value == "True" else value.replace("_", "-")
    if value:
        return f"{separator}{value}"
    return ""


@contextmanager
def reword_messages(words: Wording, context: str = "") -> Iterator[list[str]]:
    """Reword the library's errors, and collect its warnings, each once."""
    messages: list[str] = []
    prefix = f"{context}: " if context else ""
    with collected_warnings() as caught:
        try:
            yield messages
        except InputError as error:
            counts_rows = error.place is not None and words.place(error.place).startswith("row")
            counting = " Rows count from 0." if counts_rows else ""
            # A model may have a column of its own for the argument.
            column = words.arguments.get(f"{error.context}: {error.argument}")
            if column:
                words = words._replace(arguments={**words.arguments, error.argument: column})
            text = error.render(words)
            if prefix and text.startswith("It "):
                text = f"it{text[2:]}"
            raise CommandError(f"{prefix}{text}{counting}") from error
    messages += dict.fromkeys(capital(words.spell(message)) for _, message in caught)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print the library's warnings, each once, also before an error."""
    with collected_warnings() as caught:
        try:
            yield
        finally:
            warning(*dict.fromkeys(message for _, message in caught))


@dataclass(frozen=True)
class Output:
    """The result of a command: a table, and the same as a JSON object."""

    table: Table
    data: Mapping[str, Any]
    """The JSON object, without its schema and version."""
    details: Sequence[tuple[str, Table]] = ()
    """Further tables with their titles, in all forms but CSV and JSON."""
    csv: Table | None = None
    """The table that CSV has, if it is another one."""


@dataclass(frozen=True)
class Target:
    form: str
    path: str | None
    """A file; None is standard output."""

    @classmethod
    def of(
        cls,
        form: str | None,
        path: str | None,
        read: Sequence[str] = (),
        *,
        suffixes: Mapping[str, str] = SUFFIXES,
        usual: str = "table",
        file: str | None = None,
        demand_suffix: bool = False,
    ) -> "Target":
        """What ``--format`` and ``--output`` say; without either, write to `file`.

        The file must be writable and none of those that are `read`; its suffix says which format.
        """
        if path is None and form in (None, usual):
            path = file
        if path in (None, "-"):
            return cls(form or usual, None)
        assert path is not None
        check_writable(path, *read)
        suffix = Path(path).suffix.lower()
        if form is None and suffix not in suffixes and (suffix or demand_suffix):
            *leading, last = suffixes
            demand = f"must end in {', '.join(leading)} or {last}, or `--format` must be given"
            raise InputError("--output", demand, f"got {path!r}")
        return cls(form or suffixes.get(suffix, usual), path)

    def write(self, content: str | bytes) -> None:
        write(self.path, content)

    def deliver(self, output: Output) -> None:
        """Write the output in this format; on a terminal, draw it."""
        on_terminal = self.path is None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if on_terminal else 80
        if not (on_terminal and self.form == "table" and _draw(output, width)):
            self.write(render(output, self.form, width))


def check_suffix(
    path: str | None, what: str, suffixes: Sequence[str], suffix: str | None = None
) -> None:
    """Refuse a name of another format than the one that is written."""
    suffix = Path(path or "").suffix.lower() if suffix is None else suffix
    if suffix and suffix not in suffixes:
        raise InputError(
            "--output",
            f"must end in {' or '.join(suffixes)}: the output is {what}",
            f"got {path!r}",
        )


def check_table_file(path: str | None, suffixes: Sequence[str]) -> tuple[str, str]:
    """The file for a table and its suffix; a name of another format, or none, is refused."""
    if path is None or path == "-":
        demand = f"must name the file to write, ending in {', '.join(suffixes)}"
        raise InputError("--output", demand)
    suffix = Path(path).suffix.lower()
    check_suffix(path, "a table", suffixes, suffix or "none")
    return path, suffix


def check_writable(path: str | None, *read: str, option: str = "--output") -> None:
    """Refuse, before any work is done, an output that cannot be written or is an input.

    `read` holds names and patterns; `option` is the one that names the output.
    """
    from trueness.sources.tables._files import expand_paths

    if path is None or path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(option, "must be a file", f"{path!r} is a folder")
    if not target.parent.is_dir():
        raise InputError(
            "", f"`{option}` {path!r} cannot be written: there is no folder {str(target.parent)!r}"
        )
    if any(_same_file(target, name) for name in expand_paths(read)):
        raise InputError(
            "", f"`{option}` {path!r} is the file that is read, and would be lost", "name another"
        )


def check_different(option: str, path: str | None, other_option: str, other: str | None) -> None:
    """Refuse two outputs in one file: the second would replace the first."""
    if path is not None and other is not None and _same_file(Path(path), other):
        raise InputError(option, f"must not be the file of `{other_option}`", f"got {path!r}")


def _same_file(target: Path, name: str) -> bool:
    """Whether both names, or the name and standard input, lead to the same file."""
    if name != "-" and target.resolve() == Path(name).resolve():
        return True  # perhaps of a file that does not exist yet
    try:
        there = os.fstat(sys.stdin.fileno()) if name == "-" else Path(name).stat()
        return target.is_file() and os.path.samestat(target.stat(), there)
    except (OSError, ValueError):
        # No such file, or standard input is not a file; reading will raise.
        return False


def write(
    path: str | None,
    content: str | bytes | Callable[[BinaryIO], object],
    option: str = "--output",
) -> None:
    """Write text, bytes or what a function writes, to standard output or to a file.

    The file is replaced when all is written. `option` is the one that names it.
    """
    if path is None and isinstance(content, str):
        click.echo(visible_lines(content), nl=not content.endswith("\n"))
        return
    data = content.encode() if isinstance(content, str) else content
    fill = data if callable(data) else lambda file: file.write(data)
    if path is None:
        fill(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    try:
        # A pipe or a device cannot be replaced; nor resolved: /dev/stdout leads to a pipe that has
        # no name.
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                fill(file)
        else:
            replace_file(target, fill)
    except OSError as reason:
        if reason.errno == errno.EPIPE:
            raise  # the reader has closed the pipe
        raise InputError(
            "", f"`{option}` {path!r} cannot be written: {reason.strerror or reason}"
        ) from reason


def render(output: Output, form: str, width: int = 80) -> str:
    """The text in one of four formats, with a line break at its end."""
    if form == "json":
        data = {"schema": 1, "version": __version__, **output.data}
        return json.dumps(json_ready(data), indent=2, allow_nan=False) + "\n"
    if form == "csv":
        return (output.csv or output.table).to_csv()
    table = replace(output.table, notes=())
    notes = output.table.notes
    if form == "markdown":
        blocks = [table.to_markdown()]
        for title, detail in output.details:
            blocks.append(f"{markdown_text(title)}:\n\n{detail.to_markdown()}")
        blocks += [f"{markdown_text(text)}\n" for text in notes]
        return "\n".join(blocks)
    blocks = [table.to_text(width)]
    for title, detail in output.details:
        blocks.append(f"{visible(title)}\n\n{detail.to_text(width)}")
    if notes:
        blocks.append("".join(f"{wrap(text, width)}\n" for text in notes))
    return "\n".join(blocks)


def _draw(output: Output, width: int) -> bool:
    """Draw the tables with rich; False if rich is not installed, or a table is too wide."""
    tables = [output.table.to_rich(width), *(table.to_rich(width) for _, table in output.details)]
    if any(table is None for table in tables):
        return False
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    console.print(tables[0])
    for (title, _), table in zip(output.details, tables[1:], strict=True):
        console.print(Text(visible(title), style="bold"), table, sep="\n")
    for text in output.table.notes:
        console.print(Text(wrap(text, width), style="dim"))
    return True


LIMITS = ("low", "high", "floor")
"""What tables give of an estimate besides its value."""
VALUE_AND_LIMITS = (
    Column("value", "value", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
)


def data_columns(*keys: str) -> list[Column]:
    """Columns of CSV and JSON alone."""
    return [Column(key, key, forms="data") for key in keys]


def with_limits(key: str, estimate: "Estimate | None") -> dict[str, float]:
    return {f"{key}_{end}": getattr(estimate, end, math.nan) for end in LIMITS}


def in_words(reason: InputError) -> str:
    """An error of the library as a sentence of the command line."""
    return reason.render(wording())


def interval_cell(low: float, high: float, kind: Kind) -> Cell:
    """An interval in a table; a dash if there is none."""
    unknown = math.isnan(low) and math.isnan(high)
    return Cell(low, "–" if unknown else span(low, high, partial(written, kind=kind)))


def group_columns(by: Iterable[str | None]) -> list[Column]:
    """The columns that name the group of a row.

    A table is headed by the name of the column if there is only one.
    """
    names = list(dict.fromkeys(filter(None, by)))
    if len(names) > 1:
        return [Column("by", "by", "name"), Column("group", "group", "name")]
    if names:
        return [Column("by", "by", forms="data"), Column("group", names[0], "name")]
    return []


def model_column(models: Iterable[str], by: Sequence[Column]) -> Column:
    """The column that names the model; a table of the groups of one model goes without it."""
    return model_if(not by or len(set(models)) > 1)


def model_if(several: bool) -> Column:
    """The column that names the model; a table goes without it unless there are several."""
    return Column("model", "model", "name", "all" if several else "data")
