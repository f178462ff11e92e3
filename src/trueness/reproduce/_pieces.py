"""Work that survives an interruption: each piece is written when it is done, and not done again."""

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from trueness._tally.atomic import replace_file
from trueness._version import __version__
from trueness.reproduce._experiment import Piece

__all__ = ["Done", "do_pieces"]


class Done(NamedTuple):
    """What a piece gave, and the seconds of computing it took."""

    result: Any
    seconds: float


def do_pieces(
    pieces: Sequence[Piece], folder: Path, *, jobs: int, fresh: bool, report: Callable[[int, int], None]
) -> dict[str, Done]:
    """All results by key, those from an earlier run read from the folder."""
    assert len({piece.key for piece in pieces}) == len(pieces), "two pieces have one key"
    folder.mkdir(parents=True, exist_ok=True)
    kept = {} if fresh else {p.key: done for p in pieces if (done := _kept(folder, p)) is not None}
    left = [piece for piece in pieces if piece.key not in kept]
    report(len(kept), len(pieces))
    for piece, done in _computed(left, jobs):
        _keep(folder, piece, done)
        kept[piece.key] = done
        report(len(kept), len(pieces))
    return {piece.key: kept[piece.key] for piece in pieces}


def _computed(pieces: Sequence[Piece], jobs: int) -> Iterator[tuple[Piece, Done]]:
    if jobs == 1 or len(pieces) < 2:
        yield from ((piece, _timed(piece.function, piece.arguments)) for piece in pieces)
        return
    with _pool(min(jobs, len(pieces))) as pool:
        running = {pool.submit(_timed, piece.function, piece.arguments): piece for piece in pieces}
        while running:
            finished: set[Future[Done]] = wait(running, return_when=FIRST_COMPLETED).done
            for future in finished:
                yield running.pop(future), future.result()


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that leave Ctrl-C to their parent, which then drops what has not begun."""
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_deaf)
    try:
        yield pool
    except BaseException:
        # There is no public way to end a piece of minutes at once, and after `shutdown` not even a private one.
        working = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in working:
            process.terminate()
        raise
    pool.shutdown()


def _deaf() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _timed(function: Callable[..., Any], arguments: dict[str, Any]) -> Done:
    began = time.process_time()  # not the clock, which other work on the machine moves
    result = function(**arguments)
    return Done(result, time.process_time() - began)


def _path(folder: Path, piece: Piece) -> Path:
    return folder / f"{piece.key}.json"


def _asked(piece: Piece) -> dict[str, Any]:
    """What the piece was: a kept one with other arguments, or of another version, is another one."""
    what = {"function": piece.function.__qualname__, "with": piece.arguments, "version": __version__}
    asked: dict[str, Any] = json.loads(json.dumps(what))
    return asked


def _kept(folder: Path, piece: Piece) -> Done | None:
    try:
        data = json.loads(_path(folder, piece).read_text())
        return Done(data["result"], data["seconds"]) if data["asked"] == _asked(piece) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(folder: Path, piece: Piece, done: Done) -> None:
    text = json.dumps({"asked": _asked(piece), "seconds": done.seconds, "result": done.result})
    replace_file(_path(folder, piece), lambda file: file.write(text.encode()))
