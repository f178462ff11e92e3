"""``trueness watch``."""

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.strings import json_ready
from trueness.cli._messages import note
from trueness.cli._writing import check_writable, write
from trueness.errors import InputError

EVERY = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}


@opt.command("watch")
@click.argument("state", metavar="STATE")
@click.argument("files", nargs=-1, metavar="FILE...")
@opt.text("--label", "Column of labels: 0/1, true/false or text.")
@opt.text("--prob", "Column of scores.")
@opt.text("--by", "Column of segments. Repeatable: rows with the same values are a segment.", multiple=True)
@opt.text("--time", "Column of dates: its days, weeks or months are looks. By default each FILE is one.")
@opt.choice("--every", tuple(EVERY), "day", "The looks of --time.")
@opt.text("--before", "Leave out the look of this date and later ones, such as a day that is not over.", metavar="DATE")
@opt.text("--pos-label", "The label that the scores predict, if labels are not 0/1.", metavar="LABEL")
@opt.missing
@opt.number("--alpha", "Largest probability of a false alarm, over all looks.  [default: 0.05]", metavar="X")
@opt.count("--largest-cluster", "Rows of the largest cluster, if rows are not independent.", 1)
@opt.text("--name", "Name of what is watched.")
@click.option("--reset", is_flag=True, help="Begin again after the last look, as after a refit of the model.")
@opt.choice(
    "--format", ("text", "json", "prometheus"), "text", "A line per alarm, one line of JSON, or metrics.", "form"
)
@opt.text("--page", "Write a page, such as watch.html, that shows what was seen.", metavar="FILE")
@click.option("--debug", is_flag=True, hidden=True)
def command(state: str, files: tuple[str, ...], form: str, debug: bool, **options: Any) -> None:
    """Watch a model: an alarm that one may look at every day.

    STATE is a small file that keeps what was counted; it is made by the first call, which names the columns. Each call
    enters new FILEs, rows or .tally files, and rewrites STATE after each of them in one step. A file that was counted
    is skipped. Over all looks together, a calibrated model raises an alarm with a probability of at most --alpha.

    \b
      trueness watch churn.json monday.csv --label churned --prob model
      trueness watch churn.json tuesday.csv
      trueness watch y.json year.csv --label y --prob p --time day --by region
      trueness watch churn.json --format json

    Exit code 0: quiet. 1: an alarm, now or before. 2: the options or the data are wrong; STATE is as it was.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources._files import expand_paths

    del debug
    check_writable(options["page"], state, *files)
    path = Path(state)
    watch = _opened(path, options)
    if options["reset"]:
        watch.reset()
        watch.save(path)
    counted = watch.about["files"]
    files = expand_paths(files) if files else ()
    with progress_bar("Reading the files") as report:
        for i, name in enumerate(files):
            with Path(name).open("rb") as file:
                known = hashlib.file_digest(file, "sha256").hexdigest()
            if known in counted.values():
                note(f"{name} was counted before and is skipped.")
            else:
                if Path(name).name in counted:
                    remedy = "Rows that are new belong to a file of their own."
                    demand = f"{name} must be as it was when it was counted"
                    raise InputError("", demand, "its content differs", remedy=remedy)
                _enter(watch, name, options)
                counted[Path(name).name] = known
                watch.save(path)
            report(i + 1, len(files))
    if not path.exists():
        raise click.UsageError("Give a FILE: there is no state yet.")
    if options["page"] is not None:
        from trueness._report.watch_page import watch_page

        write(options["page"], watch_page(watch))
    click.echo(_printed(watch, form), nl=False)
    raise SystemExit(1 if watch.alarm else 0)


def _opened(path: Path, options: dict[str, Any]) -> "tn.Watch":
    """The watch of a state, if the options agree with it, or a new one."""
    asked = {name: options[name] for name in ("label", "prob", "by", "time", "every", "pos_label", "missing")}
    asked["by"] = list(asked["by"])
    if not path.exists():
        watch = tn.Watch(0.05 if options["alpha"] is None else options["alpha"], name=options["name"] or "")
        watch.about = {**asked, "files": {}}
        return watch
    watch = tn.Watch.load(path)
    watch.about = {**asked, "files": {}, **watch.about}  # a state that was made in Python has none
    typed = {name: value for name, value in asked.items() if opt.is_typed(name)}
    typed |= {name: options[name] for name in ("alpha", "name") if opt.is_typed(name)}
    for name, value in typed.items():
        known = getattr(watch, name) if name in ("alpha", "name") else watch.about.get(name)
        if known != value:
            remedy = "Another model, or another question, needs a state of its own."
            option, demand = f"--{name.replace('_', '-')}", f"must be {known!r}, as in {path}"
            raise InputError(option, demand, f"got {value!r}", remedy=remedy)
    return watch


def _enter(watch: "tn.Watch", name: str, options: dict[str, Any]) -> None:
    about, cluster = watch.about, options["largest_cluster"]
    if name.endswith(".tally"):
        if about["time"]:
            raise InputError("--time", "needs rows", f"{name} holds sums")
        watch.update(tn.Accumulator.load(name), largest_cluster=cluster)
        return
    for option in ("label", "prob"):
        if about[option] is None:
            raise click.UsageError(f"Name the columns: --label and --prob (--{option} is missing).")
    keys = [*([about["time"]] if about["time"] else []), *about["by"]]
    rows = {key: about[key] for key in ("label", "prob", "pos_label", "missing")}
    if not keys:
        watch.update(tn.scan(name, bins="sketch", **rows), largest_cluster=cluster)
        return
    groups: Any = tn.scan_groups(name, by=keys, bins="sketch", **rows)
    if about["time"] is None:
        watch.update(groups, largest_cluster=cluster)
        return
    looks = _by_period(groups, about["time"], about["every"])
    before = None if options["before"] is None else period(options["before"], "--before", about["every"])
    watch.update(looks, time=about["time"], before=before, largest_cluster=cluster)


def _by_period(groups: Any, time: str, every: str) -> Any:
    """The groups with a day, week or month in place of the time; sums of one period are added."""
    found: dict[Any, Any] = {}
    for key, sums in groups.items():
        if key[0] is None:
            raise InputError("--time", "must not be missing", f"{sums.n:,} rows have none in column {time!r}")
        place = (period(key[0], "--time", every), *key[1:])
        found[place] = found[place] + sums if place in found else sums
    return type(groups)(groups.names, found)


def period(value: Any, option: str, every: str) -> str:
    try:
        return date.fromisoformat(str(value)[:10]).strftime(EVERY[every])
    except ValueError:
        raise InputError(option, "must hold dates such as 2025-01-31", f"got {value!r}") from None


def _printed(watch: "tn.Watch", form: str) -> str:
    if form == "prometheus":
        return watch.to_prometheus()
    if form == "json":
        about = {"schema": 1, "version": tn.__version__, "name": watch.name, "alpha": watch.alpha}
        record = {"alarm": watch.alarm, "position": watch.position, "since": watch.since, "direction": watch.direction}
        segments = [one.to_dict() for one in watch.watched if one.segment == "" or one.listed]
        return json.dumps(json_ready({**about, **record, "segments": segments}), allow_nan=False) + "\n"
    return "\n".join([str(watch), *(f"  {one}." for one in watch.watched if one.listed)]) + "\n"
