"""Every experiment runs at its small size, and its numbers are those that were found."""

import pytest

from trueness.reproduce import EXPERIMENTS, conduct
from trueness.reproduce._data import absent


def recorded(name, tmp_path):
    """A quick run, or a skip that says which data it wants."""
    experiment = EXPERIMENTS[name]
    lacking = absent(experiment.needs)
    if lacking:
        pytest.skip(f"TRUENESS_DATA must name a folder with {', '.join(lacking)}")
    return conduct(experiment, tmp_path, size="quick", progress=False)


def test_names_begin_with_their_paper():
    for name, experiment in EXPERIMENTS.items():
        assert name == experiment.name
        assert name.startswith(f"{experiment.paper.key}-")


def test_sample_sizes(tmp_path):
    record = recorded("gupta-sample-size", tmp_path)
    assert [row.ours for row in record.tables[0].rows] == [2660, 1510]
