"""``trueness tally``."""

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import errors_as_messages, note, warning
from trueness.cli._options import Between, data_options, plain_output_options
from trueness.cli._writing import check_writable
from trueness.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trueness._tally.accumulator import Accumulator
    from trueness.cli._reading import Opened, Request
    from trueness.cli._rows import Rows

__all__ = ["command"]


@click.command("tally", no_args_is_help=True)
@data_options(several=True, shown="FILE...", demo=False)
@click.option(
    "--kind",
    type=click.Choice(["classwise", "confidence", "top-label"]),
    default="classwise",
    show_default=True,
    help="What to compare for several classes.",
)
@click.option(
    "--bins",
    default="sketch",
    show_default=True,
    metavar="BINS",
    help="What to keep: sketch (any measure, within limits), distinct (exact), 10 (equal width) or edges 0,0.1,1.",
)
@click.option("--resume", is_flag=True, help="Go on where a run that was interrupted or killed had come to.")
@click.option(
    "--save-every",
    type=Between(0),
    metavar="SECONDS",
    default=10.0,
    show_default=True,
    help="How often to save what --resume goes on from.",
)
@plain_output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], output: str | None, debug: bool, **options: Any) -> None:
    """Add up the rows of files, in one pass and bounded memory; `measure` and `report` take the sums.

    Sums of days, shops or machines add: name several .tally files, and all their rows are measured together. A sketch
    serves every measure, and says within which limits. FILES that are sums themselves become one.

    \b
      trueness tally monday.parquet --label clicked --prob model -o monday.tally
      trueness tally part-*.csv --by region -o all.tally --resume
      trueness tally monday.tally tuesday.tally -o week.tally
      trueness measure *.tally --each
      trueness report *.tally -o week.html

    Exit code 0: written. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if not files:
        raise click.UsageError("Give a FILE to tally.")
    sums = any(name.endswith(".tally") for name in files)
    if sums:
        _refuse_row_options(context)
    with errors_as_messages(debug):
        from trueness.sources._concatenated import expand_paths

        if output is None or output == "-":
            raise InputError("`--output` must name the file to write, such as day.tally.")
        if not output.endswith(".tally"):
            raise InputError(f"`--output` must end in .tally, by which sums are known; got {output!r}.")
        files = expand_paths(files)
        check_writable(output, *files)
        if sums:
            _add_sums(files, output)
        else:
            _tally(files, output, **options)


def _refuse_row_options(context: click.Context) -> None:
    for name in context.params.keys() - {"files", "output", "debug"}:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            said = next(p.opts[-1] for p in context.command.params if p.name == name)
            raise click.UsageError(f"{said} is for rows; .tally files are sums already, and only add.")


def _add_sums(files: tuple[str, ...], output: str) -> None:
    from trueness.cli._tally_sums import added, read_sums

    total = added(read_sums(files))
    total.position = None
    total.save(output)
    note(f"the sums of {total.n:,} rows, of {len(files)} files, are in {output}.")


def _tally(files: tuple[str, ...], output: str, *, resume: bool, save_every: float, **asked: Any) -> None:
    from trueness.cli._reading import Request

    if len(asked["by"]) > 1:
        raise InputError("`--by` must name one column for a tally; cross them in the file, or make two tallies.")
    kind, bins = asked.pop("kind"), _kept(asked.pop("bins"))
    options = _in_text({**asked, "kind": kind, "bins": bins})
    request = Request.taken_from(asked)
    work = _Work(files, Path(output), bins, kind, save_every, options)
    if resume:
        work.resume()
    with ExitStack() as stack:
        for i, name in enumerate(files):
            work.add(i, stack, replace(request, file=name))
    work.finish()


def _in_text(options: dict[str, Any]) -> dict[str, str]:
    """What decides the sums, so that a run goes on only with the same."""
    return {name: repr(value) for name, value in sorted(options.items()) if name not in ("file", "files", "debug")}


def _stamp(name: str) -> list[Any]:
    """Name, size and time of a file: what is read again must be what was read."""
    if not Path(name).is_file():
        return [name, None, None]
    known = Path(name).stat()
    return [name, known.st_size, known.st_mtime_ns]


def _kept(text: str) -> Any:
    from trueness.cli._bins import bin_rule

    return text if text in ("sketch", "distinct") else bin_rule(text)


class _Work:
    """Sums, and how far they have come."""

    def __init__(
        self, files: tuple[str, ...], output: Path, bins: Any, kind: str, every: float, options: dict[str, str]
    ) -> None:
        self.output, self.partial = output, output.with_name(output.name + ".partial")
        self.bins, self.kind, self.every = bins, kind, every
        self.inputs = [_stamp(name) for name in files]
        self.options = options
        self.seen: Accumulator | None = None
        self.file = self.rows = self.dropped = 0
        self.saved = time.monotonic()

    def resume(self) -> None:
        """Go on from what was saved, if anything was."""
        import trueness as tn

        if not self.partial.exists():
            note(f"there is no {self.partial}; starting from the first row.")
            return
        if any(size is None for _, size, _ in self.inputs):
            raise InputError("`--resume` needs files; standard input cannot be read again.")
        self.seen = tn.Accumulator.load(self.partial)
        position = self.seen.position
        if not isinstance(position, dict) or position.get("inputs") != self.inputs:
            raise InputError(
                f"{str(self.partial)!r} was made of other files, or files that have changed since; remove it, or leave "
                "`--resume` out."
            )
        if position.get("options") != self.options:
            other = [name for name, value in self.options.items() if position.get("options", {}).get(name) != value]
            raise InputError(
                f"{str(self.partial)!r} was made with other options ({', '.join(other) or 'of another version'}); give "
                "the same, remove it, or leave `--resume` out."
            )
        self.file, self.rows, self.dropped = position["file"], position["rows"], position["dropped"]
        note(f"going on after row {self.rows:,} of {self.inputs[self.file][0]}.")

    def add(self, number: int, stack: ExitStack, request: "Request") -> None:
        """Add the rows of one file that were not added before."""
        from trueness._progress import progress_bar
        from trueness.cli._reading import opening

        if number < self.file:
            return
        if number > self.file:
            self.file, self.rows = number, 0
        opened = stack.enter_context(opening(request))
        if len(opened.choice.models) != 1:
            raise InputError("`--prob` must name one model for a tally; make one for each.")
        first = 0
        with progress_bar(f"Reading {opened.source.name}") as report:
            for rows, read in _pieces(opened):
                end = first + len(rows.label)
                if end > self.rows:
                    self._add(replace(rows.some(_from(self.rows - first, rows)), first=first), end)
                first = end
                report(read, opened.source.size)

    def _add(self, rows: "Rows", end: int) -> None:
        from trueness.sources._concatenated import as_text

        (model,) = rows.choice.models
        self.rows = end
        if rows.meaning.rows.get("missing") == "drop":
            rows = rows.complete()
            self.dropped += rows.dropped
        rows.check_groups()
        if len(rows.label) == 0:  # nothing that tells what labels are
            return
        with rows.about(model):
            given = rows.arguments(model)
            options: dict[str, Any] = {**given.rows, "missing": "raise"}
            weight = options.pop("sample_weight", None)
            by = rows.choice.by[0] if rows.choice.by else None
            if self.seen is None:
                self.seen = _made(self.bins, self.kind, by, options, rows)
                if given.remark:
                    note(f"{given.remark}")
            group = None if by is None else as_text(rows.columns.groups[by])
            self.seen.update(given.y_true, given.y_prob, sample_weight=weight, group=group, position=self._position())
        if time.monotonic() - self.saved >= self.every:
            self._save()

    def _save(self) -> None:
        assert self.seen is not None
        try:
            self.seen.save(self.partial)
        except InputError as reason:
            raise InputError(
                f"Another process is writing {str(self.partial)!r}, too: both make {str(self.output)!r}. Let it end, "
                "or name another `--output`."
            ) from reason
        self.saved = time.monotonic()

    def _position(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs,
            "options": self.options,
            "file": self.file,
            "rows": self.rows,
            "dropped": self.dropped,
        }

    def finish(self) -> None:
        """Write the sums of all rows, then forget what was saved on the way."""
        from trueness.cli._rows import dropped_in_words

        if self.seen is None or self.seen.n == 0:
            raise InputError(f"{self.inputs[0][0]} {self._why_none()}")
        for line in dropped_in_words(self.dropped, self.seen.n + self.dropped):
            warning(f"{line}")
        self.seen.position = None
        self.seen.save(self.output)
        self.partial.unlink(missing_ok=True)
        note(f"the sums of {self.seen.n:,} rows are in {self.output}.")

    def _why_none(self) -> str:
        if self.seen is not None:
            return f"must have a weight above 0 in column {self.seen.about['weight']!r}; all are 0."
        if self.dropped:
            return f"must have at least one complete row; all {self.dropped:,} miss a value."
        return "has no rows."


def _made(bins: Any, kind: Any, by: str | None, options: dict[str, Any], rows: "Rows") -> "Accumulator":
    import trueness as tn

    (model,) = rows.choice.models
    about = {"label": rows.choice.label, "score": model.name, "weight": rows.choice.weight}
    return tn.Accumulator(bins, kind=kind, by=by, about=about, **options)


def _from(row: int, rows: "Rows") -> Any:
    """Which rows come from that one on."""
    import numpy as np

    return np.arange(len(rows.label)) >= row


def _pieces(opened: "Opened") -> "Iterator[tuple[Rows, int]]":
    """Some rows at a time, with their groups."""
    from trueness.cli._rows import Rows

    choice = opened.choice
    for columns, read in opened.source.batches(choice.labels, choice.numbers, choice.by):
        yield Rows(columns, choice, opened.source.name, opened.meaning), read
