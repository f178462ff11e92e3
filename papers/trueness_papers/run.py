"""Run an experiment: compute the missing pieces, save each when it is finished, write tables and figures."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from trueness import __version__
from trueness._progress import Progress, reporter
from trueness._tally.atomic import replace_file
from trueness.errors import InputError
from trueness_papers.experiment import Experiment, Picture, Piece, Size, data_file
from trueness_papers.page import TIMINGS, read_timings, section
from trueness_papers.record import Record, Timing

__all__ = ["run_experiment"]


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    *,
    size: Size = "full",
    seed: int = 0,
    jobs: int = 1,
    fresh: bool = False,
    pictures: bool = True,
    progress: Progress = True,
) -> Record:
    """Run an experiment and write `<name>.json`, `<name>.md`, its figures and its line of `timings.json`.

    Parameters
    ----------
    experiment : Experiment
    out : path
        A folder, created if necessary. Finished pieces are saved in its sub-folder ``pieces``, and an interrupted run
        continues from them.
    size : 'quick' or 'full'
    seed : int
    jobs : int
        Number of processes.
    fresh : bool
        Whether saved pieces are ignored.
    pictures : bool
        Whether figures are drawn; they need matplotlib.
    progress : bool or function of (done, total)

    Returns
    -------
    Record
        The contents of `<name>.json`: the same in every run, since computing times are in `timings.json`.
    """
    for name in experiment.needs:
        data_file(name)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "out", "must be a folder", f"got {str(folder)!r} ({error.strerror or error})"
        ) from error
    store = folder / "pieces" / experiment.name / f"{size}-{seed}"
    pieces = _run_pieces(
        experiment.pieces(size, seed), store, jobs=jobs, fresh=fresh, report=reporter(progress)
    )
    outcome = experiment.assemble({key: piece.result for key, piece in pieces.items()}, size)
    files = (
        [_save_figure(picture, experiment.name, folder) for picture in outcome.pictures]
        if pictures
        else []
    )
    record = Record(
        name=experiment.name,
        size=size,
        seed=seed,
        version=__version__,
        tables=outcome.tables,
        pictures=tuple(files),
        remarks=outcome.remarks,
    )
    seconds = sum(piece.seconds for piece in pieces.values())
    timing = Timing(experiment.name, size, seconds, outcome.timings, outcome.timing_remarks)
    timings = read_timings(folder) | {experiment.name: timing}
    _write_json(folder / f"{TIMINGS}.json", [one.to_dict() for one in timings.values()])
    _write_json(folder / f"{experiment.name}.json", record.to_dict())
    _write(folder / f"{experiment.name}.md", section(experiment, record))
    return record


def _save_figure(picture: Picture, name: str, folder: Path) -> tuple[str, str]:
    import matplotlib.pyplot as plt

    file = f"{name}-{picture.name}.png"
    figure = picture.draw()
    replace_file(folder / file, lambda target: figure.savefig(target, format="png", dpi=110))
    plt.close(figure)  # pyplot keeps every figure that it made, and warns about the twenty-first
    return file, picture.caption


def _write(path: Path, text: str) -> None:
    replace_file(path, lambda file: file.write(f"{text}\n".encode()))


def _write_json(path: Path, data: dict[str, Any] | list[Any]) -> None:
    _write(path, json.dumps(data, indent=1, ensure_ascii=False))


# ---------------------------------------------------------------------------------------------------- pieces


class _Finished(NamedTuple):
    result: Any
    seconds: float
    """Processor time."""


def _run_pieces(
    pieces: Sequence[Piece],
    folder: Path,
    *,
    jobs: int,
    fresh: bool,
    report: Callable[[int, int], None],
) -> dict[str, _Finished]:
    """All results by key, read from the folder where an earlier run saved them."""
    assert len({piece.key for piece in pieces}) == len(pieces), "two pieces have one key"
    folder.mkdir(parents=True, exist_ok=True)
    finished = (
        {} if fresh else {p.key: saved for p in pieces if (saved := _load(folder, p)) is not None}
    )
    left = [piece for piece in pieces if piece.key not in finished]
    report(len(finished), len(pieces))
    for piece, result in _compute(left, jobs):
        _save(folder, piece, result)
        finished[piece.key] = result
        report(len(finished), len(pieces))
    return {piece.key: finished[piece.key] for piece in pieces}


def _compute(pieces: Sequence[Piece], jobs: int) -> Iterator[tuple[Piece, _Finished]]:
    if jobs == 1 or len(pieces) < 2:
        yield from ((piece, _timed(piece.function, piece.arguments)) for piece in pieces)
        return
    finished: SimpleQueue[Future[_Finished] | None] = SimpleQueue()
    with _interrupts_queued(finished), _pool(min(jobs, len(pieces))) as pool:
        with _interrupts_blocked():  # the processes start with the first piece, and inherit this
            running = {
                pool.submit(_timed, piece.function, piece.arguments): piece for piece in pieces
            }
        for future in running:
            future.add_done_callback(finished.put)
        for _ in pieces:
            done = finished.get()
            if done is None:
                raise KeyboardInterrupt
            yield running[done], done.result()


@contextmanager
def _interrupts_queued(queue: "SimpleQueue[Any]") -> Iterator[None]:
    """Put None into the queue on Ctrl-C, in the place of an exception.

    An exception could be raised anywhere, also while the locks of a future are taken, which then stay locked: the
    thread that manages the processes would wait for them, and Python for this thread, forever.
    """
    before = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or before is not signal.default_int_handler
    ):
        yield
        return
    pressed: list[None] = []

    def press(*_: object) -> None:
        pressed.append(None)
        queue.put(None)

    signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:  # after the last result
        raise KeyboardInterrupt


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that leave Ctrl-C to their parent, which then ends them."""
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_ignore_interrupts
    )
    try:
        yield pool
    except BaseException:
        # There is no public way to end a running piece at once, and after `shutdown` not even a private one.
        working = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in working:
            process.terminate()
        raise
    pool.shutdown()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Hold back Ctrl-C until the end of the block, and for ever in processes that start inside."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _timed(function: Callable[..., Any], arguments: dict[str, Any]) -> _Finished:
    start = time.process_time()  # other work on the machine does not count
    result = function(**arguments)
    return _Finished(result, time.process_time() - start)


def _identity(piece: Piece) -> dict[str, Any]:
    """A saved piece with another function, other arguments or another version is not reused."""
    what = {
        "function": piece.function.__qualname__,
        "with": piece.arguments,
        "version": __version__,
    }
    identity: dict[str, Any] = json.loads(json.dumps(what))
    return identity


def _path(folder: Path, piece: Piece) -> Path:
    return folder / f"{piece.key}.json"


def _load(folder: Path, piece: Piece) -> _Finished | None:
    try:
        data = json.loads(_path(folder, piece).read_text(encoding="utf-8"))
        return (
            _Finished(data["result"], data["seconds"])
            if data["piece"] == _identity(piece)
            else None
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save(folder: Path, piece: Piece, finished: _Finished) -> None:
    data = {"piece": _identity(piece), "seconds": finished.seconds, "result": finished.result}
    _write(_path(folder, piece), json.dumps(data))
