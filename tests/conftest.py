"""Settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Generated data take as long as the machine lets them; a deadline would only test the machine. The quick run has the
# same examples each time, so that a change is judged by what it changed; the thorough one has new ones.
settings.register_profile(
    "quick",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1_000, derandomize=False)
settings.load_profile(os.environ.get("TRUENESS_EXAMPLES", "quick"))


@pytest.fixture(scope="session")
def data_folder():
    """The folder with real data, which is not part of the project."""
    folder = os.environ.get("TRUENESS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data are not here: set TRUENESS_DATA to the folder that has them")
    return Path(folder)
