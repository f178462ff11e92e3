"""``trueness tally``, and sums instead of rows: of .tally files, and of files read in pieces."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness.cli._command import command
from trueness.cli._printing import (
    check_writable,
    note,
    printed_warnings,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._reading import about, dropped_message, open_data
from trueness.errors import InputError
from trueness.sources._data_set import DataSet, require_rows
from trueness.sources._request import Request

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule
    from trueness.sources._pieces import ModelSums, SumsOfPieces
    from trueness.sources._resumable import ResumableSums

OWN_BINS = "by default the stored ones, else 10 of equal width"
each = click.option(
    "--each", is_flag=True, help="Also each file separately: a line per file, and one for all."
)
_KEPT = (
    "What to store: sketch (any measure, approximately), distinct (exact), 10 (equal-width bins) "
    "or edges 0,0.1,1."
)
_OFTEN = "Save the state for --resume this often."


@command("tally")
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
def tally(request: Request, output: str | None, min_rows: int | None, **options: object) -> None:
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
    from trueness.sources.tables._files import expand_paths

    if not request.files:
        raise click.UsageError("Give a FILE to tally.")
    holds_sums = any(name.endswith(".tally") for name in request.files)
    if holds_sums:
        _refuse_options_of_rows()
    elif min_rows is not None and not request.by:
        raise click.UsageError("--min-rows is for groups: give --by as well, or leave it out.")
    output = _checked_output(output)
    files = expand_paths(request.files)
    check_writable(output, *files)
    if holds_sums:
        _merge(files, output, min_rows)
    else:
        _sum_rows(replace(request, files=files), output, min_rows, options)


def _refuse_options_of_rows() -> None:
    """Raise for options that say how rows are summed: the files hold sums."""
    for option, typed in opt.typed_options():
        if option not in ("output", "debug", "min_rows"):
            raise click.UsageError(
                f"{typed} is for rows; .tally files are sums already, and only add."
            )


def _checked_output(output: str | None) -> str:
    """The file to write, whose name must end in .tally."""
    if output is None or output == "-":
        raise InputError("--output", "must name the file to write, such as day.tally")
    if not output.endswith(".tally"):
        raise InputError(
            "--output", "must end in .tally, the mark of files with sums", f"got {output!r}"
        )
    return output


def _merge(files: Sequence[str], output: str, min_rows: int | None) -> None:
    """Add up the sums of .tally files."""
    from trueness.sources._stored_sums import add, read_sums

    with printed_warnings():
        total = add(read_sums(files))
    _save(total, output, min_rows, f", of {len(files)} files,")


def _sum_rows(request: Request, output: str, min_rows: int | None, options: dict[str, Any]) -> None:
    """Sum the rows of all files, one after the other; questions of logs are clusters."""
    from trueness.sources._resumable import ResumableSums
    from trueness.sources.logs._command_logs import uses_logs

    bins = options["bins"]
    rule = bins if bins in ("sketch", "distinct") else opt.bin_rule(bins)
    settings = {
        "bins": rule,
        "kind": options["kind"],
        "buckets": int(options["buckets"]),
    }
    if request.cluster is None and uses_logs(request):
        request = replace(request, cluster="question")
    if request.cluster is None:
        del settings["buckets"]
        if opt.is_typed("buckets"):
            raise click.UsageError(
                "--buckets is for clusters: give --cluster as well, or leave it out."
            )
    run = ResumableSums(
        request.files, output, settings=settings, options=_state(rule), every=options["save_every"]
    )
    if options["resume"]:
        note(run.resume())
    for i, name in enumerate(request.files):
        if i >= run.file:
            _add_file(run, i, replace(request, files=(name,)))
    total = run.total()
    warning(*dropped_message(run.dropped, total.n + run.dropped))
    _save(total, output, min_rows)
    run.partial.unlink(missing_ok=True)


def _add_file(run: "ResumableSums", number: int, request: Request) -> None:
    """Add the rows of one file that were not added before."""
    with open_data(request) as data, progress_bar(f"Reading {data.source}") as report:
        if len(data.models) != 1:
            raise InputError("--prob", "must name one model for a tally", "make one tally for each")
        for rows, n_bytes in run.pieces(number, data):
            if len(rows):  # else nothing shows what the labels are
                with about(rows) as warned:
                    note(*filter(None, [run.add(rows)]))
                warning(*warned)
                run.save()
            report(n_bytes, data.origin.size)
        note(*data.origin.note.splitlines())


def _state(rule: object) -> dict[str, str]:
    """The options that must be the same when a run is resumed."""
    options = dict(click.get_current_context().params) | {"bins": rule}
    for name in ("files", "output", "min_rows", "resume", "save_every"):
        del options[name]
    return {name: repr(value) for name, value in sorted(options.items())}


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


def stream_sums(
    data: DataSet,
    sums_of: "Callable[[DataSet], ModelSums]",
    lattice: "BinRule",
    lost: str,
    *,
    requested: bool,
) -> "SumsOfPieces":
    """The sums of each model's rows, read in pieces.

    `lattice` are the bins to fall back to if there are too many distinct scores; a note then says
    what is `lost`.
    """
    from trueness.sources._pieces import MOST_CELLS, sum_pieces

    if not requested:
        note(f"{data.source} is large and is read by stream; `--no-stream` reads it whole.")
    with progress_bar(f"Reading {data.source}") as report:
        total = sum_pieces(data, sums_of, lattice, about=about, report=report)
    note(*data.origin.note.splitlines())
    require_rows(data.source, total.n, len(total.models))
    if total.is_binned:
        note(f"there are more than {MOST_CELLS:,} distinct scores. {lost}")
    dropped = dropped_message(total.dropped, total.n)
    return replace(total, warnings=(*dropped, *total.warnings))


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
