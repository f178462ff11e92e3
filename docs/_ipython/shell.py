"""Run before every page: `%%bash` prints its output in one piece, and finds the commands of this Python."""

import os
import subprocess
import sys
from pathlib import Path

os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["COLUMNS"] = "88"


def _bash(_: str, script: str) -> None:
    # IPython's own magic passes output on in pieces, between which myst-nb would put line breaks.
    command = ["bash", "-c", script]
    run = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    sys.stdout.write(run.stdout)
    run.check_returncode()


get_ipython().register_magic_function(_bash, "cell", "bash")  # noqa: F821  # given by IPython
