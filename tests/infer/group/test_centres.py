"""Centres: by hand, against the functions of one centre, laws, and the coverage of the mean."""

import math

import numpy as np
import pytest

import trueness as tn


def three_hospitals():
    rng = np.random.default_rng(1)
    p = rng.beta(2, 8, 450)
    by = np.repeat(["a", "b", "c"], [100, 150, 200])
    return rng.random(450) < p, p, by


def test_a_centre_has_the_numbers_of_its_rows_alone():
    y, p, by = three_hospitals()
    found = tn.centres(y, p, by=by, level=0.9)
    assert [centre.centre for centre in found] == ["a", "b", "c"]
    rows = by == "b"
    alone = tn.estimate("observed_expected", y[rows], p[rows], level=0.9)
    centre = found["b"]
    assert (centre.ratio, centre.ratio_low, centre.ratio_high) == (
        alone.value,
        alone.low,
        alone.high,
    )
    assert centre.slope == tn.calibration_slope(y[rows], p[rows])
    assert (centre.n, centre.events) == (150, y[rows].sum())
    assert centre.expected == pytest.approx(p[rows].sum())


def test_the_mean_ratio_is_that_of_the_formula():
    y, p, by = three_hospitals()
    found = tn.centres(y, p, by=by).heterogeneity["observed_expected"]
    events, expected, n = (
        np.array([values[by == name].sum() for name in "abc"]) for values in (y, p, np.ones(450))
    )
    overall = y.sum() / p.sum()
    variance = (1 - overall * expected / n) / (overall * expected)
    by_hand = tn.heterogeneity(np.log((events + 0.5) / expected), np.sqrt(variance))
    assert found.mean == pytest.approx(math.exp(by_hand.mean))
    assert found.prediction_high == pytest.approx(math.exp(by_hand.prediction_high))
    assert found.tau2 == pytest.approx(by_hand.tau2)
    assert found.scale == "log"


def test_a_centre_without_events_has_a_row_and_a_limit():
    y, p, by = three_hospitals()
    y = np.where(by == "a", 0, y)
    found = tn.centres(y, p, by=by)
    assert found["a"].ratio == 0
    assert 0 < found["a"].ratio_high < 1
    assert math.isnan(found["a"].slope)
    assert found.heterogeneity["observed_expected"].centres == 3
    assert found.heterogeneity["slope"].centres == 2
    assert any("without a slope" in note and "a" in note for note in found.notes)


def test_without_any_event_or_with_one_centre_nothing_is_averaged():
    _, p, by = three_hospitals()
    none = tn.centres(np.zeros(450, int), p, by=by)
    assert dict(none.heterogeneity) == {}
    assert any("needs two centres" in note for note in none.notes)
    assert len(none) == 3
    y, p, _ = three_hospitals()
    assert "observed_expected" not in tn.centres(y, p, by=["x"] * 450).heterogeneity


def test_a_weight_of_two_is_the_row_twice_and_other_weights_have_no_unit():
    y, p, by = three_hospitals()
    weight = np.tile([1, 2, 1], 150)
    twice = np.repeat(np.arange(450), weight)
    weighted = tn.centres(y, p, by=by, sample_weight=weight)
    repeated = tn.centres(y[twice], p[twice], by=by[twice])
    for key in ("observed_expected", "slope"):
        one, other = weighted.heterogeneity[key], repeated.heterogeneity[key]
        assert one.mean == pytest.approx(other.mean, rel=1e-9)
        assert one.high == pytest.approx(other.high, rel=1e-9)
    real = np.linspace(0.3, 1.9, 450)
    first = tn.centres(y, p, by=by, sample_weight=real)
    second = tn.centres(y, p, by=by, sample_weight=7.3 * real)
    key = "observed_expected"
    assert first.heterogeneity[key].mean == pytest.approx(second.heterogeneity[key].mean)
    assert first.heterogeneity[key].low == pytest.approx(second.heterogeneity[key].low)


def test_the_order_of_rows_changes_nothing():
    y, p, by = three_hospitals()
    order = np.random.default_rng(0).permutation(450)
    assert tn.centres(y, p, by=by) == tn.centres(y[order], p[order], by=by[order])


def test_numbers_of_hospitals_are_names():
    y, p, _ = three_hospitals()
    found = tn.centres(y, p, by=np.arange(450) % 30)
    assert len(found) == 30


def test_several_classes_and_several_columns_are_refused():
    y, p, by = three_hospitals()
    with pytest.raises(tn.InputError, match="`y_prob` must be the probability of an event"):
        tn.centres([0, 1, 2], np.eye(3), by=["a", "b", "c"])
    with pytest.raises(tn.InputError, match="`by` must be one column; got 2"):
        tn.centres(y, p, by={"a": by, "b": by})


def test_the_text_has_a_row_per_centre_and_the_range_of_a_new_one():
    y, p, by = three_hospitals()
    text = str(tn.centres(y, p, by=by))
    assert text.splitlines()[1].startswith("a ")
    assert "in a new centre at least" in text


def centres_in(rng, k, n, tau):
    """k centres of n rows whose log O/E has the standard deviation tau."""
    p = rng.beta(2, 10, (k, n))
    truth = np.clip(p * np.exp(rng.normal(0, tau, (k, 1)) - tau**2 / 2), 0, 1)
    return rng.random((k, n)) < truth, p, np.repeat(np.arange(k), n)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n", "tau"), [(8, 100, 0.0), (8, 100, 0.5), (20, 400, 0.2)])
def test_the_mean_ratio_is_covered_as_often_as_its_level_says(k, n, tau):
    """The mean of the logarithms is −tau²/2, so that rows of all centres together are calibrated."""
    rng = np.random.default_rng(5)
    runs = 300
    held = {"observed_expected": 0, "slope": 0}
    for _ in range(runs):
        y, p, by = centres_in(rng, k, n, tau)
        found = tn.centres(y.ravel(), p.ravel(), by=by).heterogeneity
        ratio, slope = found["observed_expected"], found["slope"]
        held["observed_expected"] += ratio.low <= math.exp(-(tau**2) / 2) <= ratio.high
        held["slope"] += slope.low <= 1 <= slope.high
    least = 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert held["observed_expected"] / runs >= least
    assert tau > 0.3 or held["slope"] / runs >= least  # a slope of 1 needs true scores


def test_a_centre_has_a_slope_from_three_events_and_three_others_on():
    p = np.random.default_rng(0).uniform(0.3, 0.7, 80)
    by = np.repeat(["a", "b"], 40)
    other = np.arange(40) % 2
    for few, has_slope in ((2, False), (3, True)):
        for labels in (np.arange(40) < few, np.arange(40) >= few):
            centre = tn.centres(np.concatenate([labels, other]), p, by=by)["a"]
            assert np.isfinite(centre.slope) == has_slope


@pytest.mark.parametrize("low", [1.0, 0.05])
def test_weights_count_by_their_average_over_the_weights(low):
    """Scores that are far too low expect more events than rows at the ratio of all centres."""
    y, p, by = three_hospitals()
    p = low * p
    w = 0.5 + np.arange(450) % 5 / 2
    found = tn.centres(y, p, by=by, sample_weight=w, level=0.8)
    rows = [by == name for name in "abc"]
    total, events, expected, squares = (
        np.array([values[inside].sum() for inside in rows]) for values in (w, w * y, w * p, w * w)
    )
    unit = squares / total
    overall = events.sum() / expected.sum()
    rest = np.maximum(1 - overall * expected / total, unit / 2 / total)
    by_hand = tn.heterogeneity(
        np.log((events + unit / 2) / expected),
        np.sqrt(unit * rest / (overall * expected)),
        level=0.8,
    )
    ratio = found.heterogeneity["observed_expected"]
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx(
        tuple(math.exp(end) for end in (by_hand.mean, by_hand.low, by_hand.high)), rel=1e-9
    )
    assert (ratio.prediction_low, ratio.prediction_high) == pytest.approx(
        (math.exp(by_hand.prediction_low), math.exp(by_hand.prediction_high)), rel=1e-9
    )
    lines = [tn.estimate("slope", y[i], p[i], sample_weight=w[i], floor=False) for i in rows]
    slopes = tn.heterogeneity(
        [line.value for line in lines], [line.standard_error for line in lines], level=0.8
    )
    slope = found.heterogeneity["slope"]
    assert (slope.mean, slope.high, slope.tau2, slope.pvalue) == pytest.approx(
        (slopes.mean, slopes.high, slopes.tau2, slopes.pvalue), rel=1e-9
    )
    assert [centre.n for centre in found] == [100, 150, 200]
    assert [centre.slope_error for centre in found] == [line.standard_error for line in lines]


def test_weighted_events_make_a_slope_if_they_are_worth_three_rows():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 0.7, 80)
    by = np.repeat(["a", "b"], 40)
    y = np.concatenate([np.arange(40) < 4, np.arange(40) % 2])
    for event, other in ((1.5, 1.5), (1.0, 1.5), (3.0, 0.5), (2.0, 0.5)):
        w = np.where((by == "a") & (y == 0), other, event)
        mine = w[by == "a"]
        worth = 4 * event * mine.sum() / (mine @ mine)
        centre = tn.centres(y, p, by=by, sample_weight=w)["a"]
        assert np.isfinite(centre.slope) == (worth >= 3)


def test_centres_where_nothing_is_expected_are_left_out_of_the_ratio():
    y = np.array([0, 0, 1, 0, 1, 0, 1, 1, 0])
    p = np.array([0, 0, 0.2, 0.3, 0.6, 0.4, 0.5, 0.7, 0.2])
    found = tn.centres(y, p, by=list("aabbbcccc"))
    assert found.heterogeneity["observed_expected"].centres == 2
    assert math.isnan(found["a"].ratio)
    two = tn.centres(y[:5], p[:5], by=list("aabbb"))
    assert "observed_expected" not in two.heterogeneity
