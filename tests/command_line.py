"""Fixtures that run the command, and the tables that it reads."""

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from click.testing import CliRunner, Result

from trueness.cli._main import main


@pytest.fixture
def process(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command in a process of its own."""

    def run(
        *arguments: str, begin=("-m", "trueness"), **options
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *begin, *map(str, arguments)],
            **{
                "capture_output": True,
                "text": True,
                "encoding": "utf-8",
                "cwd": tmp_path,
                "timeout": 300,
            }
            | options,
            env={**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1"},
        )

    return run


_WITH_PEAK = """
import sys
from trueness.cli import main
sys.argv[0] = "trueness"
try:
    main()
finally:
    with open("peak", "w") as file:
        file.write(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@pytest.fixture
def peak_of(process, tmp_path) -> Callable[..., tuple[subprocess.CompletedProcess[str], int]]:
    """Run the command as `process` does; also the kilobytes that it had at most."""

    def run(*arguments: str) -> tuple[subprocess.CompletedProcess[str], int]:
        # Not ru_maxrss, which a new process has from the one that started it.
        done = process(*arguments, begin=("-c", _WITH_PEAK))
        return done, int((tmp_path / "peak").read_text())

    return run


def _runner() -> CliRunner:
    try:
        return CliRunner(mix_stderr=False)  # before click 8.2 the two streams came as one
    except TypeError:
        return CliRunner()


@pytest.fixture
def call(tmp_path, monkeypatch) -> Callable[..., Result]:
    """Run the command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return _runner().invoke(
            main, [str(a) for a in arguments], input=stdin, prog_name="trueness"
        )

    return run


@pytest.fixture
def fails(call) -> Callable[..., str]:
    """Run a command that must be refused in one paragraph with exit code 2; give the paragraph."""

    def run(*arguments: str, stdin: str | bytes | None = None) -> str:
        result = call(*arguments, stdin=stdin)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        (paragraph,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert result.stderr.endswith(f"{paragraph}\n")
        return paragraph.removeprefix("Error: ")

    return run


@pytest.fixture
def without(monkeypatch) -> Callable[..., None]:
    """Make libraries look as if they were not installed."""

    def block(*libraries: str) -> None:
        for library in libraries:
            for module in [library, *(m for m in sys.modules if m.startswith(f"{library}."))]:
                monkeypatch.setitem(sys.modules, module, None)

    return block


@pytest.fixture(scope="session")
def binary() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and whole-number weights of 400 rows."""
    rng = np.random.default_rng(7)
    p = rng.beta(1, 2, 400)
    return (rng.random(400) < p).astype(int), p, rng.integers(0, 4, 400)


@pytest.fixture(scope="session")
def multiclass() -> tuple[np.ndarray, np.ndarray]:
    """Labels 0 to 2 and a matrix of scores, 300 rows."""
    rng = np.random.default_rng(8)
    P = rng.dirichlet([1, 1, 1], 300)
    return (rng.random(300)[:, None] > np.cumsum(P, axis=1)[:, :2]).sum(axis=1), P


@pytest.fixture(scope="session")
def grouped() -> dict[str, np.ndarray]:
    """Two models, groups, clusters and weights of 600 rows; the first model is too sure of itself in the south."""
    rng = np.random.default_rng(9)
    p = rng.uniform(0.05, 0.95, 600).round(4)
    region = np.where(np.arange(600) % 3 == 0, "south", "north")
    truth = np.where(region == "south", 0.5 + 0.2 * (p - 0.5), p)
    return {
        "y": (rng.random(600) < truth).astype(np.int64),
        "p": p,
        "q": np.clip(p + 0.15, 0, 0.99).round(4),
        "region": region,
        "who": np.arange(600) // 4,
        "w": rng.integers(1, 4, 600),
    }
