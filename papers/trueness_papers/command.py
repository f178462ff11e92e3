"""The command: ``python -m trueness_papers``."""

# The catalogue imports scikit-learn and SciPy, which `--help` must not wait for: it is imported inside functions.

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueness.errors import InputError, TruenessError

if TYPE_CHECKING:
    from trueness_papers.experiment import Experiment
    from trueness_papers.record import Record

__all__ = ["command"]

_ALL = "all"
_IN_A_CHECKOUT = Path("papers") / "results"


@click.command("trueness_papers", no_args_is_help=True)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "listed", is_flag=True, help="List the experiments.")
@click.option(
    "--out",
    metavar="FOLDER",
    help="Folder for tables and figures. Default: papers/results in a checkout, elsewhere results; with --quick "
    "results-quick.",
)
@click.option(
    "--quick", is_flag=True, help="Run a smaller version: less than a minute per experiment."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed for the simulated data.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes. Default: one per core, with --quick one."
)
@click.option("--fresh", is_flag=True, help="Ignore the results of an earlier or interrupted run.")
@click.option(
    "--page",
    metavar="FILE",
    help="Also write all results in the folder as one Markdown page, with timings.md beside it.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def command(
    names: tuple[str, ...],
    listed: bool,
    out: str | None,
    page: str | None,
    debug: bool,
    **options: Any,
) -> None:
    """Recompute the tables and figures of three papers and compare them with the published numbers.

    NAME is the name of an experiment, the beginning of several names ('sun'), or 'all'.

    \b
      python -m trueness_papers --list
      python -m trueness_papers matsubara-table-5 --quick
      python -m trueness_papers all --page papers/results/README.md

    An interrupted run continues where it stopped when the command is given again.

    Exit code 0: done. 2: wrong options or missing data. 130: interrupted.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    folder = Path(out) if out is not None else _default_folder(options["quick"])
    with _exit_codes(folder, debug):
        if listed:
            _list()
            return
        if not names and page is None:
            raise click.UsageError("Name an experiment, or 'all'; --list shows the names.")
        _run(names, folder, **options)
        if page is not None:
            _write_page(folder, Path(page))


def _default_folder(quick: bool) -> Path:
    """Where results go by default; a quick run must not overwrite the stored results of a checkout."""
    if quick:
        return Path("results-quick")
    return _IN_A_CHECKOUT if _IN_A_CHECKOUT.is_dir() else Path("results")


class _Refusal(click.ClickException):
    exit_code = 2


@contextmanager
def _exit_codes(folder: Path, debug: bool) -> Iterator[None]:
    """Report errors in one paragraph with exit code 2, and Ctrl-C with exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(
            f"Interrupted. Finished pieces are kept in {str(folder / 'pieces')!r}; run the same command to continue.",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    except (TruenessError, OSError) as error:
        if (
            debug or getattr(error, "errno", None) == errno.EPIPE
        ):  # a closed pipe (`| head`), which click handles
            raise
        raise _Refusal(str(error)) from error


def _list() -> None:
    from trueness_papers.catalogue import EXPERIMENTS
    from trueness_papers.experiment import missing_files

    width = max(map(len, EXPERIMENTS))
    for name, experiment in EXPERIMENTS.items():
        missing = missing_files(experiment.needs)
        needs = f" (needs {', '.join(missing)})" if missing else ""
        source = f"{experiment.paper.short}, {experiment.covers}"
        click.echo(
            f"{name:<{width}}  {source}: {experiment.title}; {_estimated_time(experiment)}{needs}"
        )


def _estimated_time(experiment: "Experiment") -> str:
    from trueness_papers.record import duration

    seconds = 60 * experiment.minutes
    return f"{'about ' if seconds >= 1 else ''}{duration(seconds)} of computing"


def _run(
    names: tuple[str, ...], folder: Path, *, quick: bool, jobs: int | None, seed: int, fresh: bool
) -> None:
    from trueness_papers.progress import progress_bars
    from trueness_papers.run import run_experiment

    experiments = _select(names)
    if jobs is None:
        jobs = 1 if quick else os.cpu_count() or 1
    figures = find_spec("matplotlib") is not None
    if not figures:
        click.echo(
            "Tables only, no figures: they need matplotlib (`pip install 'trueness[plot]'`).",
            err=True,
        )
    with progress_bars(experiments) as bars:
        for experiment in experiments:
            size = "at the small size" if quick else _estimated_time(experiment)
            bars.echo(
                f"{experiment.name}: {experiment.covers}, {experiment.title}; {size}.", err=True
            )
            record = run_experiment(
                experiment,
                folder,
                size="quick" if quick else "full",
                seed=seed,
                jobs=jobs,
                fresh=fresh,
                pictures=figures,
                progress=bars.follow(experiment),
            )
            bars.echo(_summary(record, folder))


def _select(names: tuple[str, ...]) -> list["Experiment"]:
    """The named experiments in the order of the list; 'all' and prefixes skip those whose data is missing."""
    from trueness_papers.catalogue import EXPERIMENTS
    from trueness_papers.experiment import contents, missing_files

    wanted = set()
    for name in names:
        if name in EXPERIMENTS:
            wanted.add(name)
            continue
        several = [known for known in EXPERIMENTS if name == _ALL or known.startswith(f"{name}-")]
        if not several:
            raise InputError(
                "NAME", "must be the name of an experiment (--list shows them)", f"got {name!r}"
            )
        for known in several:
            missing = missing_files(EXPERIMENTS[known].needs)
            if missing:
                about = " ".join(
                    f"TRUENESS_DATA has no {file}. {contents(file)}".rstrip() for file in missing
                )
                click.echo(f"Skipping {known}: {about}", err=True)
            else:
                wanted.add(known)
    return [experiment for known, experiment in EXPERIMENTS.items() if known in wanted]


def _summary(record: "Record", folder: Path) -> str:
    counts = {
        "published numbers": record.agreement,
        "numbers of the authors' code": record.authors_agreement,
        "other references": record.reference_agreement,
    }
    compared = ", ".join(f"{a:,} of {n:,} {words}" for words, (a, n) in counts.items() if n)
    return f"{record.name}: {f'{compared} agree' if compared else 'no published numbers'}; {folder / record.name}.md"


def _write_page(folder: Path, target: Path) -> None:
    from trueness_papers.page import TIMINGS, results_page, timings_page

    if target.is_dir() or not target.parent.is_dir():
        raise InputError("--page", "must be a file in an existing folder", f"got {str(target)!r}")
    link = Path(os.path.relpath(folder, target.parent)).as_posix()
    target.write_text(
        results_page(folder, link="" if link == "." else f"{link}/"), encoding="utf-8"
    )
    times = target.with_name(f"{TIMINGS}.md")
    times.write_text(timings_page(folder), encoding="utf-8")
    click.echo(f"Pages: {target}, {times}")
