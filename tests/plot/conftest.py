"""Figures are drawn without a screen, and closed."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before
