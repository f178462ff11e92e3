"""The numbers of ``rms::val.prob``: R's own, by hand, and what is refused."""

import math

import numpy as np
import pytest

import trueness as tn
from trueness._numerics.lowess import lowess


@pytest.mark.filterwarnings("ignore::trueness.errors.CertainScoresWarning")
def test_every_number_is_that_of_r_on_real_data(clinical):
    for name, (y, p, r) in clinical.items():
        found = tn.preset("val.prob")(y, p)
        assert list(found) == list(r["val_prob"]), name
        for key, expected in r["val_prob"].items():
            number = {"NA": math.nan, "Inf": math.inf, "-Inf": -math.inf}.get(expected, expected)
            assert found[key] == pytest.approx(number, rel=1e-6, abs=1e-9, nan_ok=True), (name, key)


def test_the_numbers_by_hand():
    y = [0, 0, 1, 0, 1, 1]
    p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8]
    found = tn.preset("val.prob")(y, p)
    assert found["C (ROC)"] == pytest.approx(8 / 9)
    assert found["Dxy"] == pytest.approx(7 / 9)
    assert found["Brier"] == pytest.approx(0.15)
    gain = 2 * sum(math.log(2 * (a if label else 1 - a)) for label, a in zip(y, p, strict=True))
    assert found["D:Chi-sq"] == pytest.approx(gain)
    assert found["D"] == pytest.approx((gain - 1) / 6)
    assert found["Q"] == pytest.approx(found["D"] - found["U"])
    assert found["R2"] == pytest.approx((1 - math.exp(-gain / 6)) / (1 - 0.25))
    assert found["Slope"] == pytest.approx(tn.calibration_slope(y, p))
    assert found["Intercept"] == pytest.approx(tn.estimate("free_intercept", y, p).value)
    line = [found["Intercept"] + found["Slope"] * math.log(a / (1 - a)) for a in p]
    fitted = [1 / (1 + math.exp(-eta)) for eta in line]
    lack = 2 * sum(
        math.log(q / a if label else (1 - q) / (1 - a))
        for label, a, q in zip(y, p, fitted, strict=True)
    )
    assert found["U:Chi-sq"] == pytest.approx(lack)
    assert found["U:p"] == pytest.approx(math.exp(-lack / 2))
    score = sum((label - a) * (1 - 2 * a) for label, a in zip(y, p, strict=True))
    spread = sum((1 - 2 * a) ** 2 * a * (1 - a) for a in p)
    assert found["S:z"] == pytest.approx(score / math.sqrt(spread))


def slow_lowess(x, y):
    """Rows in order of x, a line at each of them: right where no step is skipped."""
    n = len(x)
    size = max(2, int(2 / 3 * n + 1e-7))
    curve = []
    for place in x:
        nearest = np.sort(np.abs(x - place))[:size]
        radius = nearest[-1]
        u = np.abs(x - place) / radius
        w = np.where(u <= 0.001, 1.0, np.where(u <= 0.999, (1 - np.minimum(u, 1) ** 3) ** 3, 0))
        slope, intercept = np.polyfit(x, y, 1, w=np.sqrt(w))
        curve.append(intercept + slope * place)
    return np.array(curve)


def test_the_curve_is_a_line_at_every_place_if_places_are_far_apart():
    rng = np.random.default_rng(0)
    x = np.sort((np.arange(30) + rng.uniform(0, 0.5, 30)) / 30)
    y = (rng.random(30) < x).astype(float)
    assert lowess(x, y) == pytest.approx(slow_lowess(x, y), abs=1e-9)
    order = rng.permutation(30)
    assert lowess(x[order], y[order]) == pytest.approx(lowess(x, y)[order])


def test_equal_scores_have_one_curve_and_one_score_has_the_mean():
    x = np.repeat([0.2, 0.5, 0.9], 5)
    y = (np.arange(15) % 3 == 0).astype(float)
    curve = lowess(x, y)
    assert all(np.ptp(part) == 0 for part in np.split(curve, 3))
    assert lowess(np.full(6, 0.3), y[:6]).tolist() == [2 / 6] * 6


def test_the_intercept_says_which_it_is():
    preset = tn.preset("val.prob")
    assert "at slope 1" in repr(preset)
    text = str(preset([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]))
    assert "Intercept (beside the slope)" in text
    assert "calibration in the large" in text
    assert "Harrell" in preset.cite()


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 0], [0.1, 0.2], {}, "`y_true` must have events and non-events"),
        ([0, 1], [0.0, 1.0], {}, "`y_true` must have events and non-events"),
        ([0, 1, 2], np.eye(3), {}, "`y_prob` must be the probability of an event"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1, 2]}, "`sample_weight` must be left out"),
        ([0, 1], [0.1, 1.2], {}, "`y_prob` must lie in .0, 1."),
    ],
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_what_rms_has_no_numbers_for_is_refused(y, p, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.preset("val.prob")(y, p, **options)
