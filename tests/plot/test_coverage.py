"""Pictures of coverage and of the levels of outcomes, by the data of their artists."""

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError

LEVELS = np.array([0.1, 0.5, 0.9])
Z = np.array([-1.2816, 0.0, 1.2816])


@pytest.fixture(scope="module")
def events():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    return tn.events.quantiles(x + rng.normal(size=300), x[:, None] + 0.7 * Z, levels=LEVELS)


def test_the_curve_is_the_coverage_of_the_assessment(events):
    display = tn.plot.CoverageDisplay.from_events(events).plot()
    covered = tn.assess(events).coverage
    np.testing.assert_array_equal(display.line_.get_xdata(), covered.stated)
    np.testing.assert_array_equal(display.line_.get_ydata(), covered.value)
    assert "95 % limits together" in display.ax_.get_ylabel()


def test_an_interval_is_one_point_on_axes_that_begin_below_it():
    found = tn.events.interval([0, 1, 2, 3] * 20, [0] * 80, [2] * 80, coverage=0.9)
    display = tn.plot.CoverageDisplay.from_events({"a": found, "b": found}).plot()
    assert display.line_.get_xdata() == pytest.approx([0.9])
    assert display.ax_.get_xlim()[0] <= 0.6
    assert len(display.lines_) == 2


def test_many_levels_have_a_band_in_place_of_bars():
    levels = np.arange(1, 20) / 20
    rng = np.random.default_rng(1)
    found = tn.events.quantiles(rng.random(100), np.tile(levels, (100, 1)), levels=levels)
    display = tn.plot.CoverageDisplay.from_events(found).plot()
    assert len(display.ax_.collections) == 1
    assert not display.ax_.containers


def test_the_bars_are_the_shares_over_the_stated_shares(events):
    display = tn.plot.LevelHistogramDisplay.from_events(events).plot()
    heights = [bar.get_height() for bar in display.bars_]
    at_most = events.event.reshape(-1, 3).mean(axis=0)
    expected = np.diff([0, *at_most, 1]) / np.diff([0, *LEVELS, 1])
    np.testing.assert_allclose(heights, expected)
    assert display.histogram.outside >= 2
    assert "grey" in display.ax_.get_title()


def test_dependent_rows_have_no_limits(events):
    cluster = np.arange(300) // 5
    display = tn.plot.LevelHistogramDisplay.from_events(events, cluster=cluster).plot()
    assert np.isnan(display.histogram.low).all()
    assert "no limits" in display.ax_.get_title()


@pytest.mark.parametrize("name", ["CoverageDisplay", "LevelHistogramDisplay"])
def test_other_events_are_refused(name):
    found = tn.events.counts([1, 2] * 15, [3, 3] * 15, [0.2, 0.7] * 15)
    with pytest.raises(InputError, match="`events` must be"):
        getattr(tn.plot, name).from_events(found)
