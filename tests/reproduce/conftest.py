"""Quick runs of experiments, each done once."""

import pytest

from trueness.reproduce import EXPERIMENTS, conduct
from trueness.reproduce._data import absent


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """The record of a quick run by name, or a skip that says which data it wants."""
    folder, done = tmp_path_factory.mktemp("quick"), {}

    def run(name):
        lacking = absent(EXPERIMENTS[name].needs)
        if lacking:
            pytest.skip(f"TRUENESS_DATA must name a folder with {', '.join(lacking)}")
        if name not in done:
            done[name] = conduct(EXPERIMENTS[name], folder, size="quick", progress=False)
            for file, _ in done[name].pictures:
                assert (folder / file).stat().st_size > 5_000
        return done[name]

    return run
