"""The forest of centres, by the data of its artists."""

import numpy as np
import pytest

import trueness as tn
from trueness.plot import CentresDisplay


def test_every_centre_has_its_limits_and_the_mean_and_a_new_centre_follow():
    rng = np.random.default_rng(0)
    p, by = rng.beta(2, 8, 600), np.repeat(["a", "$b$", "c"], 200)
    drawn = CentresDisplay.from_predictions(rng.random(600) < p, p, by=by).plot()
    found = drawn.centres
    segments = [segment[:, 0].tolist() for segment in drawn.line_.get_segments()]
    spread = found.heterogeneity["observed_expected"]
    assert segments[:3] == [[one.ratio_low, one.ratio_high] for one in found]
    assert segments[3] == [spread.low, spread.high]
    assert segments[4] == [spread.prediction_low, spread.prediction_high]
    names = [one.get_text() for one in drawn.ax_.get_yticklabels()]
    assert names == ["$b$", "a", "c", "mean of the centres", "a new centre, at least"]
    assert drawn.ax_.lines[0].get_xdata()[0] == 1
    few = CentresDisplay(found).plot(most=1, numbers=False)
    assert len(few.line_.get_segments()) == 3
    assert not few.ax_.texts
    with pytest.raises(tn.InputError, match="`most` must be a whole number"):
        few.plot(most=0)
