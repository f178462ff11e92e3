"""``trueness reproduce``."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import errors_as_messages, print_paragraph
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.reproduce import Experiment, Record

__all__ = ["command"]

_ALL = "all"


@click.command("reproduce", no_args_is_help=True)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "listed", is_flag=True, help="Say which experiments there are.")
@click.option(
    "--out", metavar="FOLDER", default="reproduction", show_default=True, help="Where tables and figures are written."
)
@click.option("--quick", is_flag=True, help="A smaller version, in less than a minute each.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of what is drawn.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; by default one for each core, with --quick one.")
@click.option("--fresh", is_flag=True, help="Do again what an earlier run has done.")
@click.option("--page", "to", metavar="FILE", help="Also write all results of the folder as one page in Markdown.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def command(names: tuple[str, ...], listed: bool, to: str | None, debug: bool, **options: Any) -> None:
    """Compute the tables and figures of three papers again, beside the published numbers.

    NAME is an experiment of the list, the beginning of several names ('sun'), or 'all'.

    \b
      trueness reproduce --list
      trueness reproduce matsubara-table-5 --quick
      trueness reproduce all --out results --page results/page.md

    A run that was interrupted goes on where it was when the command is given again.

    Exit code 0: done. 2: the options are wrong or data are missing. 130: interrupted.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    with errors_as_messages(debug):
        if listed:
            _list()
            return
        if not names and to is None:
            raise click.UsageError("Name an experiment, or 'all'; --list says which there are.")
        _reproduce(names, **options)
        if to is not None:
            _write_page(options["out"], to)


def _list() -> None:
    from trueness.reproduce import EXPERIMENTS
    from trueness.reproduce._data import absent

    width = max(map(len, EXPERIMENTS))
    for name, experiment in EXPERIMENTS.items():
        paper = f"{experiment.paper.authors.split(',')[0]} {experiment.paper.year}"
        needed = absent(experiment.needs)
        missing = f" (needs {', '.join(needed)})" if needed else ""
        click.echo(f"{name:<{width}}  {paper}, {experiment.covers}: {experiment.title}; {_time(experiment)}{missing}")


def _time(experiment: "Experiment") -> str:
    from trueness.reproduce._record import duration

    return f"about {duration(60 * experiment.minutes)} of computing"


def _reproduce(names: tuple[str, ...], *, out: str, quick: bool, jobs: int | None, seed: int, fresh: bool) -> None:
    from trueness._progress import progress_bar
    from trueness.reproduce import conduct

    experiments = _chosen(names)
    if jobs is None:
        jobs = 1 if quick else os.cpu_count() or 1
    figures = find_spec("matplotlib") is not None
    if not figures:
        print_paragraph("Tables only, no figures: these need matplotlib (`pip install 'trueness[plot]'`).")
    for experiment in experiments:
        size = "at the small size" if quick else _time(experiment)
        print_paragraph(f"{experiment.name}: {experiment.covers}, {experiment.title}; {size}.")
        try:
            with progress_bar(experiment.name) as bar:
                record = conduct(
                    experiment,
                    out,
                    size="quick" if quick else "full",
                    seed=seed,
                    jobs=jobs,
                    fresh=fresh,
                    pictures=figures,
                    progress=bar,
                )
        except KeyboardInterrupt:
            print_paragraph(
                f"Finished pieces are in {str(Path(out) / 'pieces')!r}; the same command goes on from there."
            )
            raise
        _tell(record, Path(out))


def _chosen(names: tuple[str, ...]) -> list["Experiment"]:
    """The experiments named, in the order of the list; of 'all' and of beginnings, those whose data are there."""
    from trueness.reproduce import EXPERIMENTS
    from trueness.reproduce._data import absent

    wanted = set()
    for name in names:
        several = [known for known in EXPERIMENTS if name == _ALL or known.startswith(f"{name}-")]
        if name not in EXPERIMENTS and not several:
            raise InputError(f"There is no experiment {name!r}; `trueness reproduce --list` says which there are.")
        for known in [name] if name in EXPERIMENTS else several:
            lacking = absent(EXPERIMENTS[known].needs)
            if lacking and known != name:
                print_paragraph(f"{known} is left out: it needs {', '.join(lacking)} in the folder TRUENESS_DATA.")
            else:
                wanted.add(known)
    return [experiment for known, experiment in EXPERIMENTS.items() if known in wanted]


def _tell(record: "Record", out: Path) -> None:
    from trueness.reproduce._record import duration

    (agree, known), (near, others) = record.agreement, record.beside
    beside = f"{agree:,} of {known:,} published numbers agree" if known else "no number is in print"
    more = f", {near:,} of {others:,} other references agree" if others else ""
    click.echo(f"{record.name}: {beside}{more}; {duration(record.seconds)} of computing; {out / record.name}.md")


def _write_page(out: str, to: str) -> None:
    from trueness.cli._writing import check_writable, write
    from trueness.reproduce import page

    check_writable(to)
    link = Path(os.path.relpath(out, Path(to).parent)).as_posix()
    write(to, page(out, link="" if link == "." else f"{link}/"))
    click.echo(f"The page: {to}")
