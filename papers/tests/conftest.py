"""Quick runs of experiments, each done once; settings of Hypothesis."""

import os
from pathlib import Path

import pytest

# One thread of linear algebra in each worker, as in the tests of the library: with two, the logistic
# regression of COIL 2000 differs from the authors' in the fourth digit.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# ruff: noqa: E402  # NumPy reads these variables when it is imported
from hypothesis import HealthCheck, settings

from trueness_papers import EXPERIMENTS, run_experiment
from trueness_papers.experiment import missing_files

settings.register_profile(
    "quick",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def data_folder():
    """The folder with real data, which is not part of the project."""
    folder = os.environ.get("TRUENESS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data are not here: set TRUENESS_DATA to the folder that has them")
    return Path(folder)


@pytest.fixture(scope="session")
def recomputed(tmp_path_factory):
    """The record of a full run by name, for slow tests, or a skip that names the missing data."""
    folder, records = tmp_path_factory.mktemp("full"), {}

    def run(name):
        missing = missing_files(EXPERIMENTS[name].needs)
        if missing:
            pytest.skip(f"TRUENESS_DATA must name a folder with {', '.join(missing)}")
        if name not in records:
            records[name] = run_experiment(
                EXPERIMENTS[name], folder, pictures=False, progress=False
            )
        return records[name]

    return run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """The record of a quick run by name, or a skip that names the missing data."""
    folder, records = tmp_path_factory.mktemp("quick"), {}

    def run(name):
        missing = missing_files(EXPERIMENTS[name].needs)
        if missing:
            pytest.skip(f"TRUENESS_DATA must name a folder with {', '.join(missing)}")
        if name not in records:
            records[name] = run_experiment(EXPERIMENTS[name], folder, size="quick", progress=False)
            for file, _ in records[name].pictures:
                assert (folder / file).stat().st_size > 5_000
        return records[name]

    return run
