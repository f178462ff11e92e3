"""``trueness tally``."""

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness.cli._columns import Request
from trueness.cli._dataset import Rows, dropped_message, open_dataset, require_rows, uses_logs
from trueness.cli._messages import note, reword_messages, warning, wording
from trueness.cli._sums import add, read_sums
from trueness.cli._writing import check_writable
from trueness.errors import InputError

_KEPT = "What to store: sketch (any measure, approximately), distinct (exact), 10 (equal-width bins) or edges 0,0.1,1."
_OFTEN = "Save the state for --resume this often."


@opt.command("tally")
@opt.data(shown="FILE...", demo=False)
@opt.choice("--kind", opt.KINDS, "classwise", "What to compare for several classes.")
@opt.text("--bins", _KEPT, metavar="BINS", default="sketch")
@opt.cluster
@opt.choice(
    "--buckets", ("32", "64", "128", "256"), "64", "Buckets of clusters, each with its own sums; more are larger."
)
@opt.count("--min-rows", "Leave out groups of fewer rows, so that no small cell is disclosed.")
@click.option("--resume", is_flag=True, help="Continue a run that was interrupted or killed.")
@opt.number("--save-every", _OFTEN, 10.0, opt.Between(0), metavar="SECONDS")
@opt.file_output
def command(files: tuple[str, ...], output: str | None, min_rows: int | None, **options: Any) -> None:
    """Sum the rows of files into a small .tally file.

    Rows are read once, in bounded memory. `measure`, `gate`, `grades` and `report` read .tally files in place of rows;
    several files, such as those of different days or machines, are added up. The default, a sketch, gives every measure
    approximately. If the FILEs are .tally files themselves, they are merged. With several --by, every combination of
    values is a group.

    \b
      trueness tally monday.parquet --label clicked --prob model -o monday.tally
      trueness tally part-*.csv --by region -o all.tally --resume
      trueness tally monday.parquet --cluster user -o monday.tally
      trueness tally monday.tally tuesday.tally -o week.tally
      trueness measure *.tally --each
      trueness report *.tally -o week.html

    Exit code 0: written. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources._files import expand_paths

    if not files:
        raise click.UsageError("Give a FILE to tally.")
    sums = any(name.endswith(".tally") for name in files)
    for ignored in [
        typed for option, typed in opt.typed_options() if sums and option not in ("output", "debug", "min_rows")
    ]:
        raise click.UsageError(f"{ignored} is for rows; .tally files are sums already, and only add.")
    if min_rows is not None and not sums and not options["by"]:
        raise click.UsageError("--min-rows is for groups: give --by as well, or leave it out.")
    if output is None or output == "-":
        raise InputError("--output", "must name the file to write, such as day.tally")
    if not output.endswith(".tally"):
        raise InputError("--output", "must end in .tally, the mark of files with sums", f"got {output!r}")
    files = expand_paths(files)
    check_writable(output, *files)
    if sums:
        total = add(read_sums(files))
        total.position = None
        _suppress(total, min_rows)
        total.save(output)
        note(f"the sums of {total.n:,} rows, of {len(files)} files, are in {output}.")
    else:
        _tally(files, output, min_rows, **options)


def _suppress(total: "tn.Accumulator", min_rows: int | None) -> None:
    """Leave small groups out, and say how many rows that hides."""
    with reword_messages(wording(options={"min_rows": "--min-rows"})) as warned:
        if min_rows is not None:
            n = total.n
            total.suppress(min_rows)
            if total.n == 0:
                raise InputError("--min-rows", "must leave at least one group", f"it hides all {n:,} rows")
    warning(*warned)


def _tally(
    files: tuple[str, ...], output: str, min_rows: int | None, *, resume: bool, save_every: float, **options: Any
) -> None:
    text = options["bins"]
    options["bins"] = text if text in ("sketch", "distinct") else opt.bin_rule(text)
    state = {name: repr(value) for name, value in sorted(options.items())}
    settings = {"bins": options.pop("bins"), "kind": options.pop("kind")}
    buckets = int(options.pop("buckets"))
    request = Request.pop_from(options)
    if request.cluster is None and uses_logs(replace(request, files=files)):
        request = replace(request, cluster="question")
    if request.cluster is None and "buckets" in dict(opt.typed_options()):
        raise click.UsageError("--buckets is for clusters: give --cluster as well, or leave it out.")
    settings |= {} if request.cluster is None else {"buckets": buckets}
    run = _Run(files, Path(output), settings, save_every, state)
    if resume:
        run.resume()
    with ExitStack() as stack:
        for i, name in enumerate(files):
            run.add(i, stack, replace(request, files=(name,)))
    run.finish(min_rows)


def _stamp(name: str) -> list[Any]:
    """Name, size and time of a file, which must not have changed when a run is resumed."""
    if not Path(name).is_file():
        return [name, None, None]
    known = Path(name).stat()
    return [name, known.st_size, known.st_mtime_ns]


class _Run:
    def __init__(
        self, files: tuple[str, ...], output: Path, settings: dict[str, Any], every: float, options: dict[str, str]
    ) -> None:
        self.output, self.partial = output, output.with_name(output.name + ".partial")
        self.settings, self.every = settings, every
        self.inputs = [_stamp(name) for name in files]
        self.options = options
        self.seen: tn.Accumulator | None = None
        self.file = self.rows = self.dropped = 0
        self.saved = time.monotonic()

    def resume(self) -> None:
        """Continue from the saved state, if there is one."""
        if not self.partial.exists():
            note(f"there is no {self.partial}; starting from the first row.")
            return
        if any(size is None for _, size, _ in self.inputs):
            raise InputError("--resume", "needs files", "standard input cannot be read again")
        self.seen = tn.Accumulator.load(self.partial)
        position = self.seen.position
        if not isinstance(position, dict) or position.get("inputs") != self.inputs:
            demand = f"{str(self.partial)!r} was made from other files, or files that have changed since"
            raise InputError("", demand, "remove it, or leave `--resume` out")
        if position.get("options") != self.options:
            other = [name for name, value in self.options.items() if position.get("options", {}).get(name) != value]
            which = ", ".join(other) or "of another version"
            demand = f"{str(self.partial)!r} was made with other options ({which})"
            raise InputError("", demand, "give the same, remove it, or leave `--resume` out")
        self.file, self.rows, self.dropped = position["file"], position["rows"], position["dropped"]
        note(f"continuing after row {self.rows:,} of {self.inputs[self.file][0]}.")

    def add(self, number: int, stack: ExitStack, request: Request) -> None:
        """Add the rows of one file that were not added before."""
        import numpy as np

        if number < self.file:
            return
        if number > self.file:
            self.file, self.rows = number, 0
        data = stack.enter_context(open_dataset(request))
        if len(data.choice.models) != 1:
            raise InputError("--prob", "must name one model for a tally", "make one tally for each")
        with progress_bar(f"Reading {data.source.name}") as report:
            for rows, read in data.pieces(data.choice.groups):
                end = rows.first + len(rows)
                if end > self.rows:
                    self._add(rows.select(np.arange(rows.first, end) >= self.rows), end)
                report(read, data.source.size)

    def _add(self, rows: Rows, end: int) -> None:
        (model,) = rows.choice.models
        self.rows = end
        rows = rows.complete()
        self.dropped += rows.dropped
        rows.check_groups()
        if len(rows) == 0:  # nothing that shows what the labels are
            return
        with rows.about(model) as warned:
            arguments = rows.arguments(model)
            options: dict[str, Any] = {**arguments.rows, "missing": "raise"}
            weight = options.pop("sample_weight", None)
            names = rows.choice.by
            by = names if len(names) > 1 else names[0] if names else None
            if self.seen is None:
                about = {"label": rows.choice.label, "prob": model.name, "weight": rows.choice.weight}
                about |= {} if rows.choice.cluster is None else {"cluster": rows.choice.cluster}
                self.seen = tn.Accumulator(by=by, about=about, **self.settings, **options)
                note(*filter(None, [arguments.remark]))
            groups: Any = {name: [str(value) for value in rows.columns.groups[name].tolist()] for name in names}
            group = None if by is None else groups.get(by, groups)
            position = {name: getattr(self, name) for name in ("inputs", "options", "file", "rows", "dropped")}
            batch: Any = {"sample_weight": weight, "group": group, "cluster": rows.cluster, "position": position}
            self.seen.update(arguments.y_true, arguments.y_prob, **batch)
        warning(*warned)
        if time.monotonic() - self.saved >= self.every:
            self.seen.save(self.partial)
            self.saved = time.monotonic()

    def finish(self, min_rows: int | None) -> None:
        """Write the sums of all rows, then remove the saved state."""
        if self.seen is None:
            require_rows(self.inputs[0][0], self.dropped, 0)
        assert self.seen is not None
        if self.seen.n == 0:
            demand = f"{self.inputs[0][0]} must have a weight above zero in column {self.seen.about['weight']!r}"
            raise InputError("", demand, "all are zero")
        warning(*dropped_message(self.dropped, self.seen.n + self.dropped))
        self.seen.position = None
        _suppress(self.seen, min_rows)
        self.seen.save(self.output)
        self.partial.unlink(missing_ok=True)
        note(f"the sums of {self.seen.n:,} rows are in {self.output}.")
