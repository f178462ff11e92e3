"""Peak memory of one call beyond its inputs, each in a fresh process."""

import contextlib
import ctypes
import gc
import json
import resource
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from contenders import TASKS

from harness.process import child
from harness.rows import rows

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_WARM_ROWS = 1_000


@dataclass(frozen=True)
class Case:
    """What is measured."""

    task: str
    contender: str
    n: int
    form: str


def peak_extra(case: Case) -> int | None:
    """Bytes beyond the inputs at the height of the call; None if the contender fails."""
    found = child("harness.memory", case.task, case.contender, str(case.n), case.form)
    return None if found is None else int(found["extra"])


def _measured(case: Case) -> int:
    contender = TASKS[case.task].contender(case.contender)
    # Loads what the library loads at its first call: code is not what a call needs per row.
    contender.ready(*rows(_WARM_ROWS, case.form))()
    call = contender.ready(*rows(case.n, case.form))
    _give_back()
    before = _reset_peak()
    result = call()
    peak = _peak()
    del result
    return max(0, peak - before)


def _give_back() -> None:
    """Return freed memory to the system: what making the rows left behind would hide what the call takes."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> int:
    """Forget the highest use so far, where the system can; say what is in use now."""
    try:
        _RESET.write_text("5")
    except OSError:
        return _peak()
    return _field("VmRSS")


def _peak() -> int:
    if _STATUS.exists():
        return _field("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _field(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    task, name, n_rows, chosen = sys.argv[1:]
    print(json.dumps({"extra": _measured(Case(task, name, int(n_rows), chosen))}))
