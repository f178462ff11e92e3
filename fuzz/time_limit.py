"""`time_limit`: a call that takes too long is a fault, not the end of a run."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the block after this many seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
