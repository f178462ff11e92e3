"""``trueness watch``."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._tally.atomic import is_url, place_exists, read_place
from trueness._text.numbers import count, level_percent
from trueness._text.strings import json_ready
from trueness.cli._command import command
from trueness.cli._printing import (
    check_writable,
    note,
    reword_messages,
    warning,
    wording,
    write,
)
from trueness.cli._reading import about, open_data, read
from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._request import EVERY, STATEMENT_OPTIONS, Request

if TYPE_CHECKING:
    from trueness.sources.tables._units import Unit

_SETTINGS = ("alpha", "rate", "name")
_FAR = 0.3
"""Further from ½, the usual event rate matters to the watch."""


@command("watch")
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
@opt.statements
@opt.number(
    "--alpha", "Largest probability of a false alarm, over all looks.  [default: 0.05]", metavar="X"
)
@opt.number(
    "--rate", "Usual event rate, if far from 1/2: slopes turn about its log-odds.", metavar="X"
)
@opt.count("--largest-cluster", "Rows of the largest cluster, if rows are not independent.", 1)
@opt.text("--name", "Name of what is watched.")
@opt.choice(
    "--late",
    "refuse next drop",
    "Rows of a day that was counted: refuse, count in the present look, or leave out.",
    default="refuse",
)
@click.option("--again", is_flag=True, help="Count rows even if the same rows came before.")
@opt.text(
    "--replay",
    "Rebuild STATE from all files of a folder, such as stored sums, and say what changed.",
    metavar="FOLDER",
)
@click.option(
    "--reset",
    is_flag=True,
    help="Begin again after the last look, as after a refit of the model. The promise of --alpha "
    "then holds from there on.",
)
@click.option("--status", is_flag=True, help="Print the state, and count nothing.")
@opt.choice(
    "--fail-on",
    "any new",
    "Exit with 1 for any alarm until --reset, or only for one that this call brought.",
    default="any",
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
def watch(state: str, files: tuple[str, ...], form: str, **values: object) -> None:
    """Watch a model: an alarm that you may check every day.

    STATE is a small file, or a URL, that keeps what was counted; it is made by the first call,
    which names the columns. Each call enters new FILEs, rows or .tally files or folders of these,
    and then rewrites STATE in one step. Rows that were counted are skipped, whatever file they are
    in. Over all looks together, a calibrated model raises an alarm with a probability of at most
    --alpha.

    \b
      trueness watch churn.json monday.csv --label churned --prob model
      trueness watch churn.json tuesday.csv
      trueness watch y.json year.csv --label y --prob p --time day --by region
      trueness watch i.json may.csv --outcome y --lower lo --upper hi
      trueness watch churn.json --status

    Exit code 0: quiet. 1: an alarm, now or before (--fail-on new: only now). 2: the options or the
    data are wrong; STATE is as it was.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    if options["status"] or not (files or options["reset"] or options["replay"]):
        _show(state, files, form, options)
    from trueness.sources.tables._units import units_of

    units = units_of(files)
    rows = [file for unit in units for file in unit.files]
    check_writable(options["page"], state, *rows, option="--page")
    with _alone(state):
        before = _read(state)
        watch = _opened(state, options)
        alarms = _alarms(watch)
        if options["reset"]:
            watch.reset()
            note(_reset_in_words(watch))
        if options["replay"]:
            watch = _replayed(watch, files, options)
        _count_all(watch, units, options)
        if before is None and not watch.history[""].position:
            raise click.UsageError(
                "There is no state yet, and no row was counted: give a FILE with rows."
            )
        _write_page(watch, options)
        if is_url(state) and before != _read(state):
            remedy = "Run it again."
            raise InputError("", f"{state} was changed by another process", remedy=remedy)
        watch.save(state)
    whole = watch.watched[0]
    has_slopes = Request.of_state(watch.about).stated_kind in (None, "horizon")
    is_first = before is None and not opt.is_typed("rate") and has_slopes
    if is_first and abs(whole.expected / whole.n - 0.5) > _FAR:
        rate = f"{whole.expected / whole.n:.2g}"
        note(
            f"The mean score is {rate}: `--rate {rate}` also sees scores that become too extreme "
            "around it."
        )
    click.echo(_printed(watch, form), nl=False)
    failed = watch.alarm
    if options["fail_on"] == "new":
        failed = bool(_alarms(watch) - alarms)
    raise SystemExit(int(failed))


def _show(state: str, files: Sequence[str], form: str, options: dict[str, Any]) -> None:
    """Print a state, or write its page, and end."""
    if files or options["reset"] or options["replay"]:
        raise click.UsageError("--status counts nothing: leave out FILE, --reset and --replay.")
    if not place_exists(state):
        _check_place(state)
        raise click.UsageError(
            "There is no state yet, and no row was counted: give a FILE with rows."
        )
    check_writable(options["page"], state, option="--page")
    watch = _opened(state, options)
    _write_page(watch, options)
    if options["status"] and form == "text":
        click.echo("\n".join(_status(watch)))
    else:
        click.echo(_printed(watch, form), nl=False)
    raise SystemExit(int(watch.alarm and options["fail_on"] == "any"))


def _write_page(watch: "tn.Watch", options: dict[str, Any]) -> None:
    if options["page"] is not None:
        from trueness._report.page import watch_page

        write(options["page"], watch_page(watch), "--page")


def _alarms(watch: "tn.Watch") -> set[str]:
    """The names of what is in alarm; 'together' if the alarm is that of all segments at once."""
    names = {f"segment {watched.segment}" if watched.segment else "all" for watched in watch.alarms}
    return names | {"together"} if watch.alarm else names


def _status(watch: "tn.Watch") -> list[str]:
    """The state in a few lines."""
    history = watch.history[""]
    rows = round(sum(history.n.tolist()))
    looks = count(len(history.position), "look")
    if history.position:
        looks = f"{looks}, {history.position[0]} to {history.position[-1]}"
    lines = [str(watch), f"  {looks}; {count(rows, 'row')}."]
    segments = len(watch.watched) - 1
    if segments:
        columns = ", ".join(watch.about.get("by", []))
        lines.append(f"  {count(segments, 'segment')} of {columns}.")
    if watch.late_rows or watch.dropped_rows:
        late = count(watch.late_rows, "row")
        lines.append(f"  {late} came late and counted, {watch.dropped_rows:,} were left out.")
    if watch.resets:
        lines.append(f"  {_reset_in_words(watch)}")
    return lines + [f"  In alarm: {watched}." for watched in watch.alarms]


def _reset_in_words(watch: "tn.Watch") -> str:
    """What a reset does to the promise."""
    alpha = level_percent(watch.alpha)
    total = level_percent(min(1.0, (watch.resets + 1) * watch.alpha))
    return (
        f"Reset {count(watch.resets, 'time')}: the probability of a false alarm is at most {alpha} "
        f"after each beginning, and {total} over all {watch.resets + 1}."
    )


def _opened(state: str, options: dict[str, Any]) -> "tn.Watch":
    """The watch of a state, if the options agree with it, or a new one."""
    columns = {
        name: options[name]
        for name in ("label", "prob", "by", "time", "every", "pos_label", "missing")
    }
    columns["by"] = list(columns["by"]) if opt.is_typed("by") else None  # sums may know it
    for name in STATEMENT_OPTIONS:
        if opt.is_typed(name):
            value = options[name]
            columns[name] = list(value) if isinstance(value, tuple) else value
    settings = {name: options[name] for name in _SETTINGS if options[name] is not None}
    _check_place(state)
    is_new = not place_exists(state)
    if options["time"] is None and is_new and (opt.is_typed("every") or opt.is_typed("before")):
        raise click.UsageError("--every and --before need --time.")
    watch = tn.Watch(**settings) if is_new else tn.Watch.load(state)
    # A state that was made in Python has no columns.
    watch.about = {**columns, "files": {}, **watch.about}
    for name, value in (columns | settings).items():
        stored = getattr(watch, name) if name in _SETTINGS else watch.about.get(name)
        if opt.is_typed(name) and stored != value:
            remedy = "Another model, or another question, needs a state of its own."
            option = f"--{name.replace('_', '-')}".replace("quantiles", "quantile")
            wanted = "left out" if stored in (None, []) else repr(stored)
            demand = f"must be {wanted}, as in {state}"
            raise InputError(option, demand, f"got {value!r}", remedy=remedy)
    return watch


def _read(state: str) -> bytes | None:
    """The content of a state; None if there is none."""
    return read_place(state) if place_exists(state) else None


def _check_place(state: str) -> None:
    path = Path(state)
    if not is_url(state) and (path.is_dir() or not path.parent.is_dir()):
        raise InputError("STATE", "must be a file in a folder that exists", f"got {state!r}")


@contextmanager
def _alone(state: str) -> Iterator[None]:
    """Let one process at a time change a state; for a URL, one on this machine."""
    from filelock import FileLock, Timeout

    _check_place(state)
    if is_url(state):
        name = hashlib.sha256(state.encode()).hexdigest()[:16]
        place = Path(tempfile.gettempdir()) / f"trueness-{name}.lock"
    else:
        place = Path(state).with_name(f".{Path(state).name}.lock")
    lock = FileLock(place)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            "", f"{state} is being changed by another process", remedy="Run it again."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _count_all(watch: "tn.Watch", units: "Sequence[Unit]", options: dict[str, Any]) -> None:
    with progress_bar("Reading the files") as report:
        for i, unit in enumerate(units):
            _count(watch, unit, options)
            report(i + 1, len(units))


def _count(watch: "tn.Watch", unit: "Unit", options: dict[str, Any]) -> None:
    """Enter a file or a folder.

    Without --time, a file that begins with one that was counted would count its rows twice.
    """
    from trueness.sources.tables._files import is_address
    from trueness.sources.tables._units import checksums

    name = unit.name
    digest = ""
    size = 0
    is_file = unit.files == (name,) and not is_address(name)
    if is_file and not watch.about["time"] and not options["again"]:
        counted = watch.about["files"]
        size = Path(name).stat().st_size
        digests = checksums(
            name, {size, *(n_bytes for n_bytes in counted.values() if n_bytes <= size)}
        )
        # The sizes of counted files with which this one begins.
        begins = [n_bytes for digest, n_bytes in counted.items() if digests.get(n_bytes) == digest]
        if size in begins:
            note(f"{name} was counted before and is skipped.")
            return
        if begins:
            raise InputError(
                "",
                f"{name} must hold new rows",
                "it begins with a file that was counted",
                remedy="Rows that are new belong to a file of their own.",
            )
        digest = digests[size]
    looks = len(watch.history[""].position)
    words = wording(options={column: f"--{column}" for column in ("label", "prob", "by", "late")})
    with reword_messages(words, name) as warned:
        notes = _enter(watch, unit, options)
    # A warning that repeats a note is for Python.
    warning(*(message for message in warned if "before and are skipped" not in message), about=name)
    for sentence in notes:
        note(f"{name}: {sentence}")
    if len(watch.history[""].position) == looks:
        note(f"{name} has no new rows.")
    elif digest:
        watch.about["files"][digest] = size


def _enter(watch: "tn.Watch", unit: "Unit", options: dict[str, Any]) -> tuple[str, ...]:
    """Count the rows and the sums of the files of a unit, and say what was special about them."""
    from trueness.infer.watch._watch import sums_of_kind
    from trueness.sources import _looks as looks

    columns = watch.about
    before = None
    if columns["time"] and options["before"] is not None:
        before = looks.period(options["before"], "--before", columns["every"])
    update = partial(
        watch.update,
        time=columns["time"],
        before=before,
        late=options["late"],
        again=options["again"],
    )
    piece = None
    pieces = []
    rows = []
    for name in unit.files:
        if name.endswith(".tally"):
            pieces.append(looks.of_stored_sums(name, columns))
        else:
            rows.append(name)
    largest_cluster = options["largest_cluster"]
    kind = Request.of_state(columns).stated_kind
    if rows and kind is not None:
        columns["by"] = columns["by"] or []
        stated = _read_statements(Request.of_state(columns, rows))
        with about(stated) as warned:
            events = stated.y_true
        warning(*warned)
        if kind == "horizon":
            _require_no_time(columns)
            _require_no_sums(pieces)
            update(events, by=stated.by or None, largest_cluster=largest_cluster)
            return watch.notes
        largest_cluster *= events.n // events.n_input
        piece = looks.of_events(events, stated.by, columns)
    elif rows:
        _require_columns(columns)
        piece = looks.of_rows(rows, columns)
    if piece is not None:
        pieces.append(piece)
    if not pieces:
        return ()
    with sums_of_kind(watch, kind or ""):
        update(looks.pooled(pieces), largest_cluster=largest_cluster)
    return watch.notes


def _require_columns(columns: Mapping[str, Any]) -> None:
    """Raise unless the columns of labels and scores are named."""
    for option in ("label", "prob"):
        if columns[option] is None:
            raise click.UsageError(f"Name the columns: --label and --prob (--{option} is missing).")


def _read_statements(request: Request) -> DataSet:
    """The intervals, quantiles or risks in some files."""
    with open_data(request) as data:
        rows = read(data).validate()
    if len(rows.models) > 1:
        option = "--lower" if request.horizon is None else "--prob"
        raise InputError(option, "must be given once: each model needs a state of its own")
    return rows


def _require_no_time(columns: Mapping[str, Any]) -> None:
    """Raise if looks are periods: the weights of risks by a horizon need all rows of a look."""
    if columns["time"]:
        demand = (
            "is not for risks by a horizon, whose censoring is estimated from all rows of a look"
        )
        raise InputError("--time", demand, remedy="Give a FILE for each look.")


def _require_no_sums(pieces: Sequence[Any]) -> None:
    """Raise if rows of risks by a horizon are in one folder with sums, which lack the censoring."""
    if pieces:
        demand = "A folder of rows for risks by a horizon must have no .tally files"
        got = f"it has {count(len(pieces), 'file')} of sums, which know nothing of censoring"
        raise InputError("", demand, got, remedy="Give the files of rows alone.")


def _replayed(watch: "tn.Watch", files: Sequence[str], options: dict[str, Any]) -> "tn.Watch":
    """The same watch made again from the files of a folder, and what changed, in notes."""
    from trueness.infer.watch._changes import changes
    from trueness.sources.tables._files import files_below
    from trueness.sources.tables._units import Unit

    folder = options["replay"]
    if files:
        raise click.UsageError("--replay reads a folder: leave out FILE.")
    if not Path(folder).is_dir():
        raise InputError("--replay", "must be a folder", f"got {folder!r}")
    again = tn.Watch(
        watch.alpha,
        alternatives=watch.alternatives,
        rate=watch.rate,
        segments=watch.segments or None,
        eps=watch.eps,
        name=watch.name,
    )
    again.about = {**watch.about, "files": {}}
    again.resets = watch.resets
    names = files_below(folder)
    if watch.about["time"]:
        units = [Unit(folder, names)]  # rows that came late are on their own days
    else:
        units = [Unit(name, (name,)) for name in names]
    _count_all(again, units, {**options, "late": "refuse", "again": False})
    note(*changes(watch, again))
    return again


def _printed(watch: "tn.Watch", form: str) -> str:
    """The state of a watch as text, in Prometheus' format, or as one line of JSON.

    Text lists the alarms of segments below that of the whole. JSON has the whole, and the segments
    marked as listed.
    """
    if form == "prometheus":
        return watch.to_prometheus()
    if form == "text":
        alarms = [f"  {watched}." for watched in watch.alarms if watched.segment]
        return "\n".join([str(watch), *alarms]) + "\n"
    shown = [watched for watched in watch.watched if watched.segment == "" or watched.listed]
    record = {
        "schema": 1,
        "version": tn.__version__,
        "name": watch.name,
        "alpha": watch.alpha,
        "by": watch.about.get("by") or [],
        "looks": len(watch.history[""].position),
        "alarm": watch.alarm,
        "position": watch.position,
        "since": watch.since,
        "direction": watch.direction,
        "resets": watch.resets,
        "late_rows": watch.late_rows,
        "dropped_rows": watch.dropped_rows,
        "segments": [watched.to_dict() for watched in shown],
    }
    return json.dumps(json_ready(record), allow_nan=False) + "\n"
