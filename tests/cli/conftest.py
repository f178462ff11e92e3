"""How the tests call the command."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from click.testing import CliRunner, Result

from trueness.cli import main


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
        return _runner().invoke(main, [str(a) for a in arguments], input=stdin, prog_name="trueness")

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
