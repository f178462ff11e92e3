"""Fresh Python processes, peak memory, and the machine."""

import contextlib
import ctypes
import gc
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def child(module: str, *arguments: str, **settings: str) -> dict[str, Any] | None:
    """The line of JSON that a module of this folder prints when run as a program; None if it fails."""
    path = os.pathsep.join(filter(None, [str(_HERE), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path} | settings
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(
            f"{module} {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}\n"
        )
        return None
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def cpu_of_statement(statement: str, bytecode: Path) -> float:
    """CPU seconds that a statement takes in a fresh process, without the start of Python itself.

    Compiled modules are kept in the folder `bytecode` for all libraries: an installed library has them beside its
    source, a checkout may not.
    """
    program = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def peak_beyond(call: Callable[[], Any]) -> int:
    """Bytes in use at the height of a call, beyond those before it."""
    _give_back()
    before = _reset_peak()
    result = call()
    peak = _peak()
    del result
    return max(0, peak - before)


def _give_back() -> None:
    """Return freed memory to the system: it would hide what the call takes."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> int:
    """Forget the peak so far, where the system can, and return the memory in use."""
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


def machine() -> dict[str, str]:
    """Versions and hardware."""
    import trueness as tn
    from trueness._kernels import implementation

    return {
        "trueness": f"{tn.__version__}, {implementation()} kernels",
        "machine": f"{_processor()}, {_cores()} cores, {platform.system()} {platform.machine()}",
        "python": f"{platform.python_version()}, NumPy {np.__version__}",
    }


def available_memory() -> int | None:
    """Bytes that can be taken without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def _cores() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
