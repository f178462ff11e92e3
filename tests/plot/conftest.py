"""Figures are drawn without a screen."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _settings_are_left_alone():
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
