"""The picture of a watch draws its history."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trueness as tn
from trueness.plot import WatchDisplay


@pytest.fixture(scope="module")
def watch():
    rng, watch = np.random.default_rng(1), tn.Watch()
    for month in range(30):
        p = rng.uniform(0.1, 0.6, 120)
        by = np.where(np.arange(120) % 2, "north", "south")
        truth = np.where((by == "north") & (month > 9), 1.6 * p, p)
        watch.update(rng.uniform(size=120) < truth, p, by=by, position=f"2025-{month:02}")
    return watch


def test_panels_show_the_evidence_and_the_periods(watch):
    display = WatchDisplay.from_watch(watch).plot()
    history = watch.history[""]
    assert display.panels == len(display.axes_) == 3 + len(watch.history) - 1
    assert display.line_.get_ydata().tolist() == history.evidence.tolist()
    assert display.ax_.get_yscale() == "log"
    assert 40 in [line.get_ydata()[0] for line in display.ax_.lines]  # the alarm, with segments
    ratio, slope = display.axes_[1:3]
    drawn = np.sort(np.concatenate([c.lines[0].get_ydata() for c in ratio.containers]))
    groups = np.array_split(np.arange(30), 24)
    expected = [history.observed[at].sum() / history.expected[at].sum() for at in groups]
    assert drawn == pytest.approx(np.sort(expected))
    assert slope.get_ylabel() == "slope of the log-odds"
    assert display.axes_[3].get_title() == "north"


def test_it_is_drawn_at_once_on_the_callers_axes_too(watch):
    display = WatchDisplay.from_watch(watch, segments=1)
    assert display.panels == len(display.figure_.axes) == 4
    own = plt.figure()
    axes = [own.add_subplot(2, 2, 1 + i) for i in range(4)]
    display = WatchDisplay.from_watch(watch, segments=1, ax=axes)
    assert display.figure_ is own
    assert display.axes_ == axes
    with pytest.raises(tn.InputError, match="`ax`"):
        WatchDisplay.from_watch(watch, ax=axes[0])


def test_a_watch_without_looks_has_no_picture():
    with pytest.raises(tn.InputError, match="`watch` must have seen a look"):
        WatchDisplay.from_watch(tn.Watch())
