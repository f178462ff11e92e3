"""Where and with what the numbers were made."""

import os
import platform
from pathlib import Path

import numpy as np
from contenders import TASKS


def description() -> dict[str, str]:
    import trueness as tn
    from trueness._kernels import implementation

    versions = {c.package: c.version() for task in TASKS.values() for c in task.contenders if c.package != "trueness"}
    peers = ", ".join(f"{name} {version}" for name, version in versions.items() if version and name != "numpy")
    return {
        "trueness": f"{tn.__version__}, {implementation()} kernels",
        "machine": f"{_processor()}, {_cores()} cores, {platform.system()} {platform.machine()}",
        "python": f"{platform.python_version()}, NumPy {np.__version__}",
        "peers": peers,
    }


def available_memory() -> int | None:
    """Bytes that may be taken without swapping; None where the system does not say."""
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
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
