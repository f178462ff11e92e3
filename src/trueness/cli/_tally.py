"""``trueness tally``, and sums instead of rows: of .tally files, and of files read in pieces.

Tallies of pieces add to the tally of the file, to the bit, and have one cell per distinct score:
scores written with six decimals never make more than a million. If there are more than fit, the
tally is cut into bins, which add as well and never grow.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness.cli._printing import (
    check_writable,
    note,
    printed_warnings,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._reading import about, dropped_message, open_data
from trueness.errors import FewRowsWarning, InputError, OneClassWarning, collected_warnings
from trueness.sources._request import Request

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule
    from trueness._tally.tally import Binned
    from trueness.sources._data_set import DataSet

MOST_CELLS = 2_000_000
"""Distinct scores, over all models and classes, that are kept apart; about 65 MB."""
OWN_BINS = "by default the stored ones, else 10 of equal width"
each = click.option(
    "--each", is_flag=True, help="Also each file separately: a line per file, and one for all."
)
_KEPT = (
    "What to store: sketch (any measure, approximately), distinct (exact), 10 (equal-width bins) "
    "or edges 0,0.1,1."
)
_OFTEN = "Save the state for --resume this often."


@opt.command("tally")
@opt.data(shown="FILE...", demo=False)
@opt.choice("--kind", opt.KINDS, "What to compare for several classes.", default="classwise")
@opt.text("--bins", _KEPT, metavar="BINS", default="sketch")
@opt.cluster
@opt.choice(
    "--buckets",
    "32 64 128 256",
    "Buckets of clusters, each with its own sums; more are larger.",
    default="64",
)
@opt.count("--min-rows", "Leave out groups of fewer rows, so that no small cell is disclosed.")
@click.option("--resume", is_flag=True, help="Continue a run that was interrupted or killed.")
@opt.number("--save-every", _OFTEN, 10.0, opt.Between(0), metavar="SECONDS")
@opt.file_output
def tally(request: Request, output: str | None, min_rows: int | None, **options: Any) -> None:
    """Sum the rows of files into a small .tally file.

    Rows are read once, in bounded memory. `measure`, `gate`, `grades` and `report` read .tally
    files in place of rows; several files, such as those of different days or machines, are added
    up. The default, a sketch, gives every measure approximately. If the FILEs are .tally files
    themselves, they are merged. With several --by, every combination of values is a group.

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
    from trueness.sources._logs import uses_logs

    files = request.files
    if not files:
        raise click.UsageError("Give a FILE to tally.")
    sums = any(name.endswith(".tally") for name in files)
    for option, typed in opt.typed_options():
        if sums and option not in ("output", "debug", "min_rows"):
            raise click.UsageError(
                f"{typed} is for rows; .tally files are sums already, and only add."
            )
    if min_rows is not None and not sums and not request.by:
        raise click.UsageError("--min-rows is for groups: give --by as well, or leave it out.")
    if output is None or output == "-":
        raise InputError("--output", "must name the file to write, such as day.tally")
    if not output.endswith(".tally"):
        raise InputError(
            "--output", "must end in .tally, the mark of files with sums", f"got {output!r}"
        )
    files = expand_paths(files)
    check_writable(output, *files)
    if sums:
        from trueness.sources._stored_sums import add, read_sums

        with printed_warnings():
            total = add(read_sums(files))
        _save(total, output, min_rows, f", of {len(files)} files,")
        return
    resume = options.pop("resume")
    save_every = options.pop("save_every")
    bins = options["bins"]
    rule = bins if bins in ("sketch", "distinct") else opt.bin_rule(bins)
    state = _state(rule)
    settings = {
        "bins": rule,
        "kind": options["kind"],
        "buckets": int(options["buckets"]),
    }
    if request.cluster is None and uses_logs(replace(request, files=files)):
        request = replace(request, cluster="question")
    if request.cluster is None:
        del settings["buckets"]
        if opt.is_typed("buckets"):
            raise click.UsageError(
                "--buckets is for clusters: give --cluster as well, or leave it out."
            )
    run = _Run(files, output, settings, save_every, state)
    if resume:
        run.resume()
    for i, name in enumerate(files):
        run.add(i, replace(request, files=(name,)))
    run.finish(min_rows)


def _state(rule: Any) -> dict[str, str]:
    """The options that must be the same when a run is resumed."""
    options = dict(click.get_current_context().params) | {"bins": rule}
    for name in ("files", "output", "min_rows", "resume", "save_every"):
        del options[name]
    return {name: repr(value) for name, value in sorted(options.items())}


def _stamp(name: str) -> list[Any]:
    """Name, size and time of a file, which must not have changed when a run is resumed."""
    if not Path(name).is_file():
        return [name, None, None]
    stat = Path(name).stat()
    return [name, stat.st_size, stat.st_mtime_ns]


class _Run:
    def __init__(
        self,
        files: tuple[str, ...],
        output: str,
        settings: dict[str, Any],
        every: float,
        options: dict[str, str],
    ) -> None:
        self.output = output
        self.partial = Path(f"{output}.partial")
        self.settings = settings
        self.every = every
        self.options = options
        self.inputs = [_stamp(name) for name in files]
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
            demand = (
                f"{str(self.partial)!r} was made from other files, or files that have changed since"
            )
            raise InputError("", demand, "remove it, or leave `--resume` out")
        options = position.get("options", {})
        if options != self.options:
            changed = [name for name, value in self.options.items() if options.get(name) != value]
            which = ", ".join(changed) or "of another version"
            demand = f"{str(self.partial)!r} was made with other options ({which})"
            raise InputError("", demand, "give the same, remove it, or leave `--resume` out")
        self.file = position["file"]
        self.rows = position["rows"]
        self.dropped = position["dropped"]
        note(f"continuing after row {self.rows:,} of {self.inputs[self.file][0]}.")

    def add(self, number: int, request: Request) -> None:
        """Add the rows of one file that were not added before."""
        import numpy as np

        if number < self.file:
            return
        if number > self.file:
            self.file = number
            self.rows = 0
        with open_data(request) as data, progress_bar(f"Reading {data.source}") as report:
            if len(data.models) != 1:
                raise InputError(
                    "--prob", "must name one model for a tally", "make one tally for each"
                )
            for rows, read in data.pieces(data.group_columns):
                end = rows.first + len(rows)
                if end > self.rows:
                    self._add(rows.select(np.arange(rows.first, end) >= self.rows), end)
                report(read, data.origin.size)
            note(*data.origin.note.splitlines())

    def _add(self, rows: "DataSet", end: int) -> None:
        self.rows = end
        rows = rows.complete()
        self.dropped += rows.dropped
        rows.check_groups()
        if len(rows) == 0:  # nothing that shows what the labels are
            return
        with about(rows) as warned:
            options: dict[str, Any] = {**rows.options, "missing": "raise"}
            weight = options.pop("sample_weight", None)
            by, group = _groups_of(rows)
            if self.seen is None:
                self.seen = tn.Accumulator(by=by, about=_about(rows), **self.settings, **options)
                note(*filter(None, [rows.order.remark]))
            self.seen.update(
                rows.y_true,
                rows.y_prob,
                sample_weight=weight,
                group=group,
                cluster=rows.cluster,
                position={
                    "inputs": self.inputs,
                    "options": self.options,
                    "file": self.file,
                    "rows": self.rows,
                    "dropped": self.dropped,
                },
            )
        warning(*warned)
        if time.monotonic() - self.saved >= self.every:
            self.seen.save(self.partial)
            self.saved = time.monotonic()

    def finish(self, min_rows: int | None) -> None:
        """Write the sums of all rows, then remove the saved state."""
        if self.seen is None:
            from trueness.sources._data_set import require_rows

            require_rows(self.inputs[0][0], self.dropped, 0)
        assert self.seen is not None
        if self.seen.n == 0:
            column = self.seen.about["weight"]
            demand = f"{self.inputs[0][0]} must have a weight above zero in column {column!r}"
            raise InputError("", demand, "all are zero")
        warning(*dropped_message(self.dropped, self.seen.n + self.dropped))
        _save(self.seen, self.output, min_rows)
        self.partial.unlink(missing_ok=True)


def _groups_of(rows: "DataSet") -> tuple[str | tuple[str, ...] | None, Any]:
    """The columns of `--by`, and the group of each row, as an Accumulator takes them."""
    names = rows.request.by
    columns = {name: list(map(str, column.tolist())) for name, column in rows.by.items()}
    if not names:
        return None, None
    if len(names) == 1:
        return names[0], columns[names[0]]
    return names, columns


def _about(rows: "DataSet") -> dict[str, Any]:
    """The columns of a tally, as its file keeps them."""
    request = rows.request
    about = {"label": request.label, "prob": rows.model.name, "weight": request.weight}
    if request.cluster is not None:
        about["cluster"] = request.cluster
    return about


def _save(total: "tn.Accumulator", output: str, min_rows: int | None, whose: str = "") -> None:
    """Write the sums without small groups, and say how many rows that hides."""
    total.position = None
    n = total.n
    with reword_messages(wording(options={"min_rows": "--min-rows"})) as warned:
        if min_rows is not None:
            total.suppress(min_rows)
            if total.n == 0:
                raise InputError(
                    "--min-rows", "must leave at least one group", f"it hides all {n:,} rows"
                )
    warning(*warned)
    total.save(output)
    note(f"the sums of {total.n:,} rows{whose} are in {output}.")


@dataclass(frozen=True)
class ModelSums:
    """The tallies of one model by kind, or its bins if there were too many distinct scores."""

    parts: "Mapping[str, tn.Tally | Binned]"
    remark: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def n_cells(self) -> int:
        """The number of distinct scores that are kept apart."""
        return sum(part.size for sums in self.parts.values() for part in sums.parts)

    def after(self, before: "ModelSums") -> "ModelSums":
        """The sums of these rows and those before them."""
        earlier: Mapping[str, Any] = before.parts
        parts = {kind: earlier[kind] + sums for kind, sums in self.parts.items()}
        return replace(self, parts=parts)


def stream_sums(
    data: "DataSet",
    sums_of: "Callable[[DataSet], ModelSums]",
    lattice: "BinRule",
    lost: str,
    *,
    requested: bool,
) -> dict[str, ModelSums]:
    """Add up what `sums_of` makes of each model's rows in each piece.

    `lattice` are the bins to fall back to if there are too many distinct scores; a note then says
    what is `lost`.
    """
    from trueness.sources._data_set import require_rows

    name = data.source
    if not requested:
        note(f"{name} is large and is read by stream; `--no-stream` reads it whole.")

    def coarsen(sums: ModelSums) -> ModelSums:
        if lattice.fixed_edges is None:
            demand = (
                f"{name} has more than {MOST_CELLS:,} distinct scores, too many to keep apart by "
                "stream"
            )
            got = "`--bins` must then be a number of bins of equal width, or edges"
            raise InputError("", demand, got, remedy="`--no-stream` reads the file whole.")
        return replace(sums, parts={kind: t.coarsen(lattice) for kind, t in sums.parts.items()})

    total = dict[str, ModelSums]()
    messages = dict[str, None]()
    seen = set[Any]()
    binned = False
    n = 0
    dropped = 0
    with progress_bar(f"Reading {name}") as report:
        for piece, read in data.pieces():
            piece.check_shapes()
            rows = piece.complete()
            n += len(piece)
            dropped += rows.dropped
            for part in rows.by_model() if len(rows) else ():
                model = part.model.name
                # A piece may be short, or have one label only; the measures look at the whole.
                with about(part) as warned, collected_warnings(FewRowsWarning, OneClassWarning):
                    sums = sums_of(_with_binary_labels(part, seen))
                    if binned:
                        sums = coarsen(sums)
                    if model in total:
                        sums = sums.after(total[model])
                    total[model] = sums
                messages |= dict.fromkeys(warned)
            if not binned and sum(sums.n_cells for sums in total.values()) > MOST_CELLS:
                binned = True
                total = {model: coarsen(sums) for model, sums in total.items()}
            report(read, data.origin.size)
    note(*data.origin.note.splitlines())
    require_rows(name, n, len(total))
    if binned:
        note(f"there are more than {MOST_CELLS:,} distinct scores. {lost}")
    warnings = (*dropped_message(dropped, n), *messages)
    return {model: replace(sums, warnings=warnings) for model, sums in total.items()}


def _with_binary_labels(rows: "DataSet", seen: set[Any]) -> "DataSet":
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


def read_total(
    files: Sequence[str], output: str | None
) -> "tuple[dict[str, tn.Accumulator], tn.Accumulator]":
    """The sums of each file, by name, and of all, which must have rows.

    The output must be none of the files.
    """
    from trueness.sources._stored_sums import add, read_sums

    with printed_warnings():
        sums = read_sums(files)
    check_writable(output, *sums)
    with printed_warnings():
        total = add(sums)
    if total.n == 0:
        verb = "has" if len(files) == 1 else "have"
        raise InputError("", f"{' and '.join(files[:3])} {verb} no rows")
    return sums, total


def own_bins(total: "tn.Accumulator") -> "BinRule":
    """The stored bins, for which every measure of bins is exact; else the usual ones."""
    from trueness._tally.rules import as_rule

    return as_rule(10 if isinstance(total.bins, str) else total.bins)


def file_names(files: Collection[str]) -> str:
    """The names of up to six files, without their folders."""
    names = [Path(name).name for name in files]
    if len(names) > 6:
        names[6:] = ["…"]
    return ", ".join(names)


def sums_sentence(total: "tn.Accumulator", files: Collection[str]) -> str:
    """The files and their columns, as a note below a table describes them."""
    about = total.about
    columns = f"labels {about.get('label')!r}, scores {about.get('prob')!r}"
    return f"{file_names(files)}: {total.n:,} rows; {columns}."


def sums_entry(total: "tn.Accumulator", files: Iterable[str]) -> dict[str, Any]:
    """The files and their columns, as JSON describes them."""
    return {"sources": list(files), **total.about, "by": total.by}
