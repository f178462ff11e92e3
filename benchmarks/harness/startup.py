"""What `import trueness` and a first call cost, beside `import numpy`, in fresh processes."""

import contextlib
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.process import cpu_of_statement
from harness.rounds import Ratio, ratio

NUMPY = "import numpy"
_FIRST_CALL = "import numpy, trueness; trueness.ece(numpy.array([0, 1]), numpy.array([.2, .8]), bins=2)"
STATEMENTS = {
    NUMPY: NUMPY,
    "import trueness": "import trueness",
    "import trueness, first ece": _FIRST_CALL,
    "import sklearn.calibration": "import sklearn.calibration",
    "import torchmetrics": "import torchmetrics",
}
_PEERS = ("import sklearn.calibration", "import torchmetrics")


@dataclass(frozen=True)
class Startup:
    """Median CPU seconds, and the ratio to NumPy's."""

    name: str
    cpu: float
    to_numpy: Ratio
    rounds: int


def startup(rounds: int, peer_rounds: int, tick: Callable[[str], None]) -> list[Startup]:
    """Peers take long to import, so they get fewer rounds; with -1, none."""
    seconds: dict[str, dict[int, float]] = {name: {} for name in STATEMENTS}
    with TemporaryDirectory() as bytecode:
        for i in range(-1, rounds):  # round -1 compiles
            tick(f"round {i + 1} of {rounds}")
            names = [name for name in STATEMENTS if i < peer_rounds or name not in _PEERS]
            for name in names[i % len(names) :] + names[: i % len(names)]:
                with contextlib.suppress(subprocess.CalledProcessError):  # not installed
                    seconds[name][i] = cpu_of_statement(STATEMENTS[name], Path(bytecode))
    for found in seconds.values():
        found.pop(-1, None)
    return [
        Startup(name, statistics.median(found.values()), ratio(found, seconds[NUMPY]), len(found))
        for name, found in seconds.items()
        if found
    ]
