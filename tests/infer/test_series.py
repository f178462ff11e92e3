"""A series of days: each has its floor, its set and its flag, and the day of a change is named."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness.infer._series import _Tests

FORMS = {"tally": tn.tally, "sketch": tn.sketch, "binned": partial(tn.binned, bins=10)}


# The forms differ in what they know of a day, not in how days are compared: one test has all of them in the fast run.
FORM = [pytest.param(form, marks=pytest.mark.slow if form != "tally" else ()) for form in FORMS]


def rows(rng, n=400, *, slope=1.0):
    p = rng.beta(1, 3, n)
    return rng.random(n) < expit(slope * logit(p)), p


def series(form, slope, days=30, seed=4, n=400, **options):
    rng = np.random.default_rng(seed)
    sums = {f"day-{d + 1:02}": FORMS[form](*rows(rng, n, slope=slope(d))) for d in range(days)}
    return tn.calibration_series(sums, seed=0, progress=False, **options)


@pytest.mark.parametrize("form", FORMS)
def test_thirty_days_that_collapse_on_the_tenth_name_it(form):
    found = series(form, lambda d: 0.3 if d >= 9 else 1.0)
    assert (found.change.first, found.change.lasting, found.change.days) == ("day-10", True, 21)
    assert found.headline.startswith("Calibration changed on day-10 (p = 0.002): ECE ")
    assert found.flagged.tolist() == [False] * 9 + [True] * 21
    assert (found.ece[9:] > found.floor_high[9:]).all()
    assert "21 of 30 are miscalibrated: day-10 to day-30." in found.headline
    assert found.change.ece > 0.1
    assert found.change.ece_others < 0.05


@pytest.mark.parametrize("form", FORM)
def test_one_bad_day_is_named(form):
    found = series(form, lambda d: 0.1 if d == 9 else 1.0)
    assert (found.change.first, found.change.last, found.change.lasting) == ("day-10", "day-10", False)
    assert found.flagged.tolist() == [d == 9 for d in range(30)]


@pytest.mark.slow
def test_days_that_are_miscalibrated_alike_are_flagged_without_a_change():
    found = series("tally", lambda d: 0.4)
    assert found.flagged.all()
    assert found.change is None
    assert "No change of calibration was found" in found.headline


@pytest.mark.parametrize("form", FORM)
def test_calibrated_days_have_neither_flag_nor_change(form):
    found = series(form, lambda d: 1.0)
    assert not found.flagged.any()
    assert found.change is None
    assert found.headline.startswith("None of 30 shows miscalibration. No change of calibration was found (p = ")


def test_the_numbers_of_a_day_are_those_of_the_public_functions():
    rng = np.random.default_rng(1)
    y, p = rows(rng, slope=0.5)
    t = tn.tally(y, p)
    found = tn.calibration_series({"a": t}, seed=7)
    interval = tn.ece_interval(t, level=0.95, seed=7)
    assert (found.error[0], found.error_low[0], found.error_high[0]) == (interval.estimate, interval.low, interval.high)
    assert found.includes_zero[0] == interval.includes_zero
    assert found.ece[0] == tn.ece(y, p)
    assert found.ece_low[0] < found.ece[0] < found.ece_high[0]
    assert found.pvalue[0] == tn.calibration_test(t, method="omnibus", seed=7).pvalue
    assert (found.adjusted_pvalue[0], found.change_pvalue) == (found.pvalue[0], None)
    floor = tn.noise_floor(tn.ece, t, seed=8)
    assert abs(found.floor[0] - floor.mean) < 4 * floor.std * np.sqrt(2 / 999)
    assert found.floor_high[0] == pytest.approx(np.quantile(floor.draws, 0.95), rel=0.05)
    assert found.score[0] == pytest.approx(p.mean())
    assert found.rate[0] == y.mean()
    assert found.rows()[0]["name"] == "a"
    assert "omnibus" not in str(found.to_dict()["change"])


def test_adjusted_p_values_are_twice_those_of_holm():
    found = series("tally", lambda d: 0.3 if d == 2 else 1.0, days=4)
    order = np.argsort(found.pvalue)
    assert found.adjusted_pvalue[order[0]] == pytest.approx(min(1, 2 * 4 * found.pvalue[order[0]]))


@pytest.mark.slow
def test_a_long_series_draws_more_for_small_p_values():
    found = series("tally", lambda d: 0.0 if d == 9 else 1.0, days=60, n=60)
    assert found.adjusted_pvalue[9] <= 0.05
    assert found.flagged.tolist() == [d == 9 for d in range(60)]


def test_a_day_without_rows_is_a_line_without_numbers():
    rng = np.random.default_rng(1)
    empty = tn.tally([], [])
    found = tn.calibration_series({"a": tn.tally(*rows(rng)), "b": empty, "c": tn.tally(*rows(rng))}, seed=0)
    assert found.n.tolist() == [400, 0, 400]
    assert np.isnan([found.ece[1], found.pvalue[1]]).all()
    assert not found.flagged[1]
    assert "b" in str(found)


@pytest.mark.parametrize("kind", ["classwise", "top-label", "confidence"])
def test_sums_per_class_are_tested_class_by_class(kind):
    rng = np.random.default_rng(1)

    def day(hot):
        z = rng.normal(size=(300, 3)) * 2
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        true = np.exp(z * (0.2 if hot else 1)) / np.exp(z * (0.2 if hot else 1)).sum(axis=1, keepdims=True)
        y = (true.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
        return tn.tally(y, p, kind=kind)

    found = tn.calibration_series({str(d): day(d >= 5) for d in range(10)}, seed=0)
    assert found.flagged.tolist() == [d >= 5 for d in range(10)]
    assert found.change.first == "5"
    assert (found.change.label == "") == (kind == "confidence")


def test_fractional_weights_have_flags_and_a_change():
    rng = np.random.default_rng(1)
    days = {}
    for d in range(10):
        y, p = rows(rng, slope=0.2 if d >= 4 else 1.0)
        days[str(d)] = tn.tally(y, p, sample_weight=rng.choice([0.5, 1.5], y.size))
    found = tn.calibration_series(days, seed=0)
    assert found.flagged.tolist() == [d >= 4 for d in range(10)]
    assert found.change.first == "4"
    assert found.notes == ("Weights are not whole numbers: there is no noise floor.",)
    assert found.pvalue[0] == tn.calibration_test(days["0"], seed=0).pvalue


@pytest.mark.parametrize("score", [0.0, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 40])
def test_constant_scores_and_labels_give_a_line_without_a_warning(score, n):
    days = {str(d): tn.sketch(np.zeros(n + d), np.full(n + d, score)) for d in range(3)}
    found = tn.calibration_series(days, seed=0)  # a warning would be an error
    assert found.flagged.tolist() == [score == 1 or (score == 0.3 and n == 40)] * 3
    assert found.change is None


def test_messages():
    t = tn.tally([0, 1], [0.2, 0.7])
    with pytest.raises(tn.InputError, match="`sums` must be a dict of names and sums; got Tally"):
        tn.calibration_series(t)
    with pytest.raises(tn.InputError, match=r"`sums` must hold a Tally, .* 'a' is of type list. `tn.tally"):
        tn.calibration_series({"a": [0.5]})
    with pytest.raises(tn.InputError, match="'a' is a Tally and 'b' a Sketch"):
        tn.calibration_series({"a": t, "b": tn.sketch([0, 1], [0.2, 0.7])})
    with pytest.raises(tn.InputError, match="must have rows on some day; all days are empty"):
        tn.calibration_series({"a": tn.tally([], [])})
    with pytest.raises(tn.InputError, match="the dict is empty"):
        tn.calibration_series({})


@pytest.mark.slow
def test_thirty_calibrated_days_rarely_have_a_flag_or_a_change():
    runs = 35
    found = [series("sketch", lambda d: 1.0, seed=seed, n=60) for seed in range(runs)]
    false = np.mean([one.flagged.any() or one.change is not None for one in found])
    assert false <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_only_small_p_values_are_drawn_again_and_only_if_the_adjustment_needs_it():
    rng = np.random.default_rng(0)
    tests = _Tests({str(d): tn.tally(*rows(rng, 50)) for d in range(3)}, 99, 0)
    given = np.array([0.01, 0.021, 0.9])
    refined = tests.refined(given, 0.025, rng)  # 2 · 3 / 0.025 = 240 draws are needed, and 99 were made
    assert (refined != given).tolist() == [True, False, False]
    assert refined[0] * 240 == pytest.approx(round(refined[0] * 240))
    assert tests.refined(given, 0.07, rng).tolist() == given.tolist()


def test_the_p_value_of_a_change_between_equal_days_is_one():
    day = tn.tally([0, 1] * 20, [0.3, 0.7] * 20)
    assert tn.calibration_series({"a": day, "b": day, "c": day}, resamples=99, seed=0).change_pvalue == 1


def test_two_days_at_99_draws_draw_more_for_a_small_p_value():
    found = series("tally", lambda d: 0.3 if d == 1 else 1.0, days=2, n=40, seed=1, resamples=99)
    assert found.pvalue[1] == pytest.approx(1 / 160)  # 2 · 2 tests at (1 − 0.95) / 2
    assert found.pvalue[0] == pytest.approx(round(100 * found.pvalue[0]) / 100)


def test_two_days_are_enough_for_a_change():
    found = series("tally", lambda d: -1.0 if d == 1 else 1.0, days=2, n=200, resamples=99)
    assert found.change_pvalue == pytest.approx(2 / 100)
    assert found.change.days == 1
