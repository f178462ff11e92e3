"""``trueness watch``."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.strings import json_ready
from trueness.cli._printing import note, reword_messages, warning, wording, write
from trueness.errors import InputError

_SETTINGS = ("alpha", "rate", "name")
_FAR = 0.3
"""Further from ½, the usual event rate matters to the watch."""
EVERY = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}


@opt.command("watch")
@click.argument("state", metavar="STATE")
@click.argument("files", nargs=-1, metavar="FILE...")
@opt.text("--label", "Column of labels: 0/1, true/false or text.")
@opt.text("--prob", "Column of scores.")
@opt.text(
    "--by",
    "Column of segments. With several, rows with the same values are a segment.",
    multiple=True,
)
@opt.text(
    "--time", "Column of dates: its days, weeks or months are looks. By default each FILE is one."
)
@opt.choice("--every", EVERY, "The looks of --time.", default="day")
@opt.text(
    "--before",
    "Leave out the look of this date and later ones, such as a day that is not over.",
    metavar="DATE",
)
@opt.text(
    "--pos-label", "The label that the scores predict, if labels are not 0/1.", metavar="LABEL"
)
@opt.missing
@opt.number(
    "--alpha", "Largest probability of a false alarm, over all looks.  [default: 0.05]", metavar="X"
)
@opt.number(
    "--rate", "Usual event rate, if far from 1/2: slopes turn about its log-odds.", metavar="X"
)
@opt.count("--largest-cluster", "Rows of the largest cluster, if rows are not independent.", 1)
@opt.text("--name", "Name of what is watched.")
@click.option(
    "--reset", is_flag=True, help="Begin again after the last look, as after a refit of the model."
)
@opt.choice(
    "--format",
    "text json prometheus",
    "A line per alarm, one line of JSON, or metrics.",
    "form",
    default="text",
)
@opt.text("--page", "Write a page, such as watch.html, that shows what was seen.", metavar="FILE")
@click.option("--debug", is_flag=True, hidden=True, expose_value=False)
def watch(state: str, files: tuple[str, ...], form: str, **options: Any) -> None:
    """Watch a model: an alarm that one may look at every day.

    STATE is a small file that keeps what was counted; it is made by the first call, which names the
    columns. Each call enters new FILEs, rows or .tally files, and then rewrites STATE in one step.
    What was counted is skipped. Over all looks together, a calibrated model raises an alarm with a
    probability of at most --alpha.

    \b
      trueness watch churn.json monday.csv --label churned --prob model
      trueness watch churn.json tuesday.csv
      trueness watch y.json year.csv --label y --prob p --time day --by region
      trueness watch churn.json --format json

    Exit code 0: quiet. 1: an alarm, now or before. 2: the options or the data are wrong; STATE is
    as it was.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources._files import expand_paths

    path = Path(state)
    files = expand_paths(files) if files else ()
    new = not path.exists()
    with _alone(path), progress_bar("Reading the files") as report:
        watch = _opened(path, options)
        if options["reset"]:
            watch.reset()
        for i, name in enumerate(files):
            _count(watch, name, options)
            report(i + 1, len(files))
        if new and not watch.history[""].position:
            raise click.UsageError(
                "There is no state yet, and no row was counted: give a FILE with rows."
            )
        if options["page"] is not None:
            from trueness._report.page import watch_page

            write(options["page"], watch_page(watch))
        if files or options["reset"]:
            watch.save(path)
    whole = watch.watched[0]
    if new and not opt.is_typed("rate") and abs(whole.expected / whole.n - 0.5) > _FAR:
        rate = f"{whole.expected / whole.n:.2g}"
        note(
            f"The mean score is {rate}: `--rate {rate}` also sees scores that become too extreme around it."
        )
    click.echo(_printed(watch, form), nl=False)
    raise SystemExit(1 if watch.alarm else 0)


def _opened(path: Path, options: dict[str, Any]) -> "tn.Watch":
    """The watch of a state, if the options agree with it, or a new one."""
    asked = {
        name: options[name]
        for name in ("label", "prob", "by", "time", "every", "pos_label", "missing")
    }
    asked["by"] = list(asked["by"])
    settings = {name: options[name] for name in _SETTINGS if options[name] is not None}
    new = not path.exists()
    if options["time"] is None and new and (opt.is_typed("every") or opt.is_typed("before")):
        raise click.UsageError("--every and --before need --time.")
    watch = tn.Watch(**settings) if new else tn.Watch.load(path)
    watch.about = {**asked, "files": {}, **watch.about}  # a state that was made in Python has none
    for name, value in (asked | settings).items():
        known = getattr(watch, name) if name in _SETTINGS else watch.about.get(name)
        if opt.is_typed(name) and known != value:
            remedy = "Another model, or another question, needs a state of its own."
            option = f"--{name.replace('_', '-')}"
            wanted = "left out" if known in (None, []) else repr(known)
            demand = f"must be {wanted}, as in {path}"
            raise InputError(option, demand, f"got {value!r}", remedy=remedy)
    return watch


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time change a state, where the system has locks."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError("STATE", "must be a file in a folder that exists", f"got {str(path)!r}")
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.with_name(f".{path.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                "", f"{path} is being changed by another process", remedy="Run it again."
            ) from None
        yield


def _count(watch: "tn.Watch", name: str, options: dict[str, Any]) -> None:
    """Enter a file, unless it was counted.

    One that has grown would count twice, unless --before cut it short.
    """
    counted = watch.about["files"]
    size = Path(name).stat().st_size
    digests = _digests(name, {size, *(known for known, _ in counted.values() if known <= size)})
    begins = [
        (known, cut) for digest, (known, cut) in counted.items() if digests.get(known) == digest
    ]
    after = max((cut for _, cut in begins if cut is not None), default=None)
    whole = [known for known, cut in begins if cut is None]
    if size in whole:
        note(f"{name} was counted before and is skipped.")
        return
    if whole:
        remedy = "Rows that are new belong to a file of their own."
        raise InputError(
            "",
            f"{name} must hold new rows",
            "it begins with a file that was counted",
            remedy=remedy,
        )
    looks = len(watch.history[""].position)
    with reword_messages(
        wording(options={one: f"--{one}" for one in ("label", "prob", "by")}), name
    ) as warned:
        _enter(watch, name, after, options)
    warning(*warned, about=name)
    if len(watch.history[""].position) == looks:
        note(f"{name} has no new rows.")
    else:
        counted[digests[size]] = size, None if options["before"] is None else watch.position


def _digests(name: str, sizes: set[int]) -> dict[int, str]:
    """The checksums of the first bytes of a file, for several numbers of bytes."""
    found = {}
    total = hashlib.sha256()
    with Path(name).open("rb") as file:
        for size in sorted(sizes):
            while piece := file.read(min(size - file.tell(), 1 << 20)):
                total.update(piece)
            found[size] = total.hexdigest()
    return found


def _enter(watch: "tn.Watch", name: str, after: Any, options: dict[str, Any]) -> None:
    """Count the rows, or the sums, of one file."""
    about = watch.about
    given = {"largest_cluster": options["largest_cluster"]}
    if name.endswith(".tally"):
        sums: Any = tn.Accumulator.load(name)
        if about["time"]:
            raise InputError("--time", "needs rows", f"{name} holds sums")
        if bool(about["by"]) is not bool(sums.by):
            got = f"{name} has {'none' if about['by'] else repr(sums.by)}"
            raise InputError("--by", "must be as in the sums", got)
        watch.update(_named_by_text(sums.groups) if sums.by else sums, **given)
        return
    for option in ("label", "prob"):
        if about[option] is None:
            raise click.UsageError(f"Name the columns: --label and --prob (--{option} is missing).")
    keys = [*([about["time"]] if about["time"] else []), *about["by"]]
    rows = {key: about[key] for key in ("label", "prob", "pos_label", "missing")}
    if not keys:
        sums = tn.scan(name, bins="sketch", **rows)
    else:
        sums = tn.scan_groups(name, by=keys, bins="sketch", **rows)
    if about["time"]:
        sums = _by_period(sums, about["time"], about["every"])
        if options["before"] is None:
            before = None
        else:
            before = period(options["before"], "--before", about["every"])
        given |= {"time": about["time"], "before": before, "after": after}
    if sums.n if not keys else sums:
        watch.update(_named_by_text(sums) if about["by"] else sums, **given)


def _named_by_text(groups: Any) -> Any:
    """The groups, named by text: a column may be read as numbers from one file and as text from the next."""

    def text(key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(map(text, key))
        if key is None:
            return None
        return str(key)

    found = {text(key): sums for key, sums in groups.items()}
    if hasattr(groups, "names"):
        return type(groups)(groups.names, found)
    return found


def _by_period(groups: Any, time: str, every: str) -> Any:
    """The groups with a day, week or month in place of the time; sums of one period are added."""
    found: dict[Any, Any] = {}
    for key, sums in groups.items():
        if key[0] is None:
            raise InputError(
                "--time", "must not be missing", f"{sums.n:,} rows have none in column {time!r}"
            )
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
        record = {
            "alarm": watch.alarm,
            "position": watch.position,
            "since": watch.since,
            "direction": watch.direction,
        }
        segments = [one.to_dict() for one in watch.watched if one.segment == "" or one.listed]
        return (
            json.dumps(json_ready({**about, **record, "segments": segments}), allow_nan=False)
            + "\n"
        )
    return "\n".join([str(watch), *(f"  {one}." for one in watch.watched if one.listed)]) + "\n"
