"""One measure with its uncertainty."""

import json
import math

from trueness.results import Estimate

NAN = math.nan


def test_an_estimate_without_limits_is_not_bounded_and_says_so():
    bare = Estimate("MCE", 0.2, NAN, NAN, 0.95, "", 10, "Largest gap.")
    assert not bare.bounded
    assert str(bare) == "MCE 0.2000, no interval (n = 10)"
    assert 0.2 not in bare


def test_one_infinite_limit_is_a_limit():
    slope = Estimate("slope", NAN, 0.4, math.inf, 0.95, "profile likelihood", 10, "Slope.")
    assert slope.bounded
    assert 3.0 in slope
    assert str(slope) == "slope –, 95 % 0.4000 to ∞ (profile likelihood, n = 10)"


def test_an_estimate_is_ready_for_json():
    one = Estimate("ECE", 0.02, 0.0, 0.04, 0.9, "redrawn labels", 100, "Mean gap.", floor=0.01)
    assert json.loads(json.dumps(one.to_dict()))["bounded"] is True
