"""The picture of a route, by the data of its artists."""

import numpy as np
import pytest

import trueness as tn
from trueness.plot import RouteDisplay


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 1_000)
    return rng.random(1_000) < confidence, confidence, rng.random(1_000) < 0.95


def test_the_curve_starts_with_nothing_routed_and_ends_with_all(rows):
    drawn = RouteDisplay.from_predictions(*rows, loss=0.05).plot()
    found = drawn.found
    assert found == tn.route(*rows, loss=0.05)
    share, difference = drawn.line_.get_data()
    assert (share[0], difference[0], share[-1]) == (0, 0, 1)
    assert difference[1:].tolist() == (100 * found.curve.difference).tolist()
    _, random, allowed, certified = drawn.lines_
    assert random.get_ydata()[-1] == pytest.approx(difference[-1])
    assert set(allowed.get_ydata()) == {-5.0}
    assert certified.get_xdata() == [found.share.value]
    band = drawn.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(100 * found.curve.low.min())


def test_without_a_certified_threshold_no_point_is_drawn(rows):
    drawn = RouteDisplay(tn.route(*rows, loss=1e-4)).plot()
    assert len(drawn.lines_) == 3
    assert [text.get_text() for text in drawn.figure_.legends[0].get_texts()] == [
        "routed by confidence (95 % limits at one threshold)",
        "routed at random",
        "may lose 0.01 points",
    ]
