"""Fresh Python processes that answer with one line of JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent.parent


def child(module: str, *arguments: str, **settings: str) -> dict[str, Any] | None:
    """Run one of these modules as a program, with more environment variables; None if it fails."""
    path = os.pathsep.join(filter(None, [str(_HERE), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path} | settings
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(f"{module} {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}\n")
        return None
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def cpu_of_statement(statement: str, bytecode: Path) -> float:
    """CPU seconds that a statement takes in a fresh process, the start of Python itself not counted.

    Compiled modules are kept in the folder `bytecode`, for all libraries alike: an installed library has them
    beside its source, a checkout or a shell that forbids to write them may not.
    """
    program = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)
