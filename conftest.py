"""What is collected, and where compiled modules are kept."""

import os
import sys
from importlib.util import find_spec

import pytest

# As many workers run as there are cores: several threads of linear algebra in each only wait for one another.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

collect_ignore_glob = []
if (
    find_spec("torch") is None
):  # modules that need a missing library hold no examples that could run
    collect_ignore_glob.append("src/trueness/torch/*")
if find_spec("torchmetrics") is None:
    collect_ignore_glob.append("src/trueness/torch/_torchmetrics.py")
if find_spec("triton") is None:
    collect_ignore_glob += ["src/trueness/torch/_kernels.py", "src/trueness/torch/_launch.py"]


def pytest_configure(config):
    """Where Python is to write no bytecode beside the sources, keep it in pytest's cache.

    Otherwise every run rewrites the assertions of all tests, and every command that a test starts compiles the library.
    """
    if sys.dont_write_bytecode and hasattr(config, "cache"):
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(config.cache.mkdir("bytecode"))
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    """Close what tests and examples have drawn: displays draw when they are made."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
