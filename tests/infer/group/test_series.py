"""A series of days: each has its floor, its set and its flag, and the day of a change is named."""

from functools import partial

import numpy as np
import pytest
from grids import slow
from scipy.special import expit, logit

import trueness as tn

FORMS = {"tally": tn.tally, "sketch": tn.sketch, "binned": partial(tn.binned, bins=10)}


# The forms differ in what they know of a day, not in how days are compared: most fast tests have one of them.
FORM = [pytest.param(form, marks=pytest.mark.slow if form != "tally" else ()) for form in FORMS]


def rows(rng, n=400, *, slope=1.0):
    p = rng.beta(1, 3, n)
    return rng.random(n) < expit(slope * logit(p)), p


def series(form, slope, days=30, seed=4, n=400, **options):
    rng = np.random.default_rng(seed)
    sums = {f"day-{d + 1:02}": FORMS[form](*rows(rng, n, slope=slope(d))) for d in range(days)}
    return tn.calibration_series(sums, seed=0, progress=False, **options)


@pytest.mark.parametrize("form", FORM)
def test_thirty_days_that_collapse_on_the_tenth_name_it(form):
    found = series(form, lambda d: 0.3 if d >= 9 else 1.0)
    assert (found.change.first, found.change.lasting, found.change.days) == ("day-10", True, 21)
    assert found.headline.startswith("Calibration changed starting with day-10 (p = 0.002): ECE ")
    assert found.flagged.tolist() == [False] * 9 + [True] * 21
    assert (found.ece[9:] > found.floor_high[9:]).all()
    assert "21 of 30 are miscalibrated: day-10 to day-30." in found.headline
    assert found.change.ece > 0.1
    assert found.change.ece_others < 0.05


@pytest.mark.parametrize("form", FORM)
def test_one_bad_day_is_named(form):
    found = series(form, lambda d: 0.1 if d == 9 else 1.0, days=14)
    assert (found.change.first, found.change.last, found.change.lasting) == (
        "day-10",
        "day-10",
        False,
    )
    assert found.flagged.tolist() == [d == 9 for d in range(14)]


@pytest.mark.slow
def test_days_that_are_miscalibrated_alike_are_flagged_without_a_change():
    found = series("tally", lambda d: 0.4)
    assert found.flagged.all()
    assert found.change is None
    assert "No change of calibration was found" in found.headline


@pytest.mark.parametrize("form", FORM)
def test_calibrated_days_have_neither_flag_nor_change(form):
    found = series(form, lambda d: 1.0, days=12, seed=5)
    assert not found.flagged.any()
    assert found.change is None
    assert found.headline.startswith(
        "None of 12 shows miscalibration. No change of calibration was found (p = "
    )


def test_the_numbers_of_a_day_are_those_of_the_public_functions():
    rng = np.random.default_rng(1)
    y, p = rows(rng, slope=0.5)
    t = tn.tally(y, p)
    found = tn.calibration_series({"a": t}, seed=7)
    interval = tn.ece_interval(t, level=0.95, seed=7)
    assert (found.error[0], found.error_low[0], found.error_high[0]) == (
        interval.estimate,
        interval.low,
        interval.high,
    )
    assert found.includes_zero[0] == interval.includes_zero
    assert found.ece[0] == tn.ece(y, p)
    assert found.ece_low[0] < found.ece[0] < found.ece_high[0]
    assert found.pvalue[0] == tn.calibration_test(t, method="omnibus", seed=7).pvalue
    assert (found.adjusted_pvalue[0], found.change_pvalue) == (found.pvalue[0], None)
    floor = tn.noise_floor(tn.ece, t, seed=8)
    assert abs(found.floor[0] - floor.mean) < 4 * floor.std * np.sqrt(2 / 999)
    assert found.floor_high[0] == pytest.approx(
        np.quantile(floor.draws, 0.95), rel=0.08
    )  # two sets of 999 draws
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
    found = tn.calibration_series(
        {"a": tn.tally(*rows(rng)), "b": empty, "c": tn.tally(*rows(rng))}, seed=0
    )
    assert found.n.tolist() == [400, 0, 400]
    assert np.isnan([found.ece[1], found.pvalue[1]]).all()
    assert not found.flagged[1]
    assert "b" in str(found)


@pytest.mark.parametrize("kind", ["top-label", *slow("classwise", "confidence")])
def test_sums_per_class_are_tested_class_by_class(kind):
    rng = np.random.default_rng(1)

    def day(hot):
        z = rng.normal(size=(300, 3)) * 2
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        true = np.exp(z * (0.2 if hot else 1)) / np.exp(z * (0.2 if hot else 1)).sum(
            axis=1, keepdims=True
        )
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
    assert found.notes == ("Weights do not count rows: there is no noise floor.",)
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
    with pytest.raises(
        tn.InputError, match=r"`sums` must hold a Tally, .* 'a' is of type list. `tn.tally"
    ):
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


def test_the_p_value_of_a_change_between_equal_days_is_one():
    day = tn.tally([0, 1] * 20, [0.3, 0.7] * 20)
    assert (
        tn.calibration_series({"a": day, "b": day, "c": day}, resamples=99, seed=0).change_pvalue
        == 1
    )


def test_two_days_at_99_draws_draw_more_for_a_small_p_value():
    found = series("tally", lambda d: 0.3 if d == 1 else 1.0, days=2, n=40, seed=1, resamples=99)
    assert found.pvalue[1] * 160 == pytest.approx(
        round(found.pvalue[1] * 160)
    )  # 2 · 2 tests at (1 − 0.95) / 2
    assert found.pvalue[1] * 100 != pytest.approx(round(found.pvalue[1] * 100))
    assert found.pvalue[0] == pytest.approx(round(100 * found.pvalue[0]) / 100)


def test_two_days_are_enough_for_a_change():
    found = series("tally", lambda d: -1.0 if d == 1 else 1.0, days=2, n=200, resamples=99)
    assert found.change_pvalue == pytest.approx(2 / 100)
    assert found.change.days == 1


def small_day(slope=1.0, n=200, seed=0, form=tn.tally):
    return form(*rows(np.random.default_rng(seed), n, slope=slope))


def test_a_change_has_the_numbers_of_its_days_and_of_the_others():
    empty = tn.tally([], [])
    slopes = {"a": 1, "b": None, "c": 1, "d": -1, "e": None, "f": -1, "g": 1, "h": None}
    days = {
        name: empty if s is None else small_day(s, seed=i)
        for i, (name, s) in enumerate(slopes.items())
    }
    found = tn.calibration_series(days, seed=0, resamples=99, bins=4).change
    assert (found.first, found.last, found.start, found.days, found.lasting) == (
        "d",
        "f",
        3,
        3,
        False,
    )
    inside, others = days["d"] + days["f"], days["a"] + days["c"] + days["g"]
    assert (found.ece, found.ece_others) == (tn.ece(inside, bins=4), tn.ece(others, bins=4))
    assert (found.slope, found.slope_others) == (
        tn.calibration_slope(inside),
        tn.calibration_slope(others),
    )
    assert found.observed_expected == tn.observed_expected(inside)
    assert found.observed_expected_others == tn.observed_expected(others)
    assert (found.pvalue, found.label) == (pytest.approx(2 / 100), "")


def test_a_change_that_lasts_may_be_followed_by_days_without_rows():
    empty = tn.tally([], [])
    days = {
        "a": empty,
        "b": small_day(),
        "c": small_day(seed=1),
        "d": small_day(-1.0, seed=2),
        "e": empty,
    }
    found = tn.calibration_series(days, seed=0, resamples=99).change
    assert (found.first, found.start, found.days, found.lasting) == ("d", 3, 1, True)


def test_only_classes_that_occur_on_two_days_can_change():
    rng = np.random.default_rng(0)

    def day(classes, wrong):
        P = np.full((150, 3), 0.1)
        top = rng.choice(classes, 150)
        P[np.arange(150), top] = 0.8
        y = np.where(rng.random(150) < (0.2 if wrong else 0.8), top, (top + 1) % 3)
        return tn.tally(y, P, kind="top-label")

    days = {
        "a": day([0, 1], False),
        "b": day([0, 1], False),
        "c": day([0, 2], False),
        "d": day([0, 2], True),
    }
    found = tn.calibration_series(days, seed=0, resamples=199)
    # Class 0 has four days, class 1 and class 2 two each: three p-values, and two questions.
    assert (found.change.first, found.change.lasting) == ("d", True)
    assert found.change.pvalue == found.change_pvalue == pytest.approx(2 * 3 / 200)
    once = {
        "a": day([0, 1], False),
        "b": day([0], False),
        "c": day([0], False),
        "d": day([0], True),
    }
    found = tn.calibration_series(once, seed=0, resamples=199)
    assert found.change_pvalue == pytest.approx(2 / 200)  # class 1 has one day, and is not tried
    apart = {"a": day([0], False), "b": day([1], False), "c": day([2], True)}
    found = tn.calibration_series(apart, seed=0, resamples=99)
    assert (found.change, found.change_pvalue) == (None, 1.0)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("bins", [5, *slow(None)])
@pytest.mark.parametrize("form", FORMS)
def test_every_column_is_that_of_a_function_at_its_level(form, bins, level):
    day = small_day(0.6, seed=3, form=FORMS[form])
    found = tn.calibration_series(
        {"a": day}, bins=bins, level=level, resamples=99, seed=5, progress=False
    )
    rule = (
        tn.EqualWidth(10)
        if bins is None
        else tn.EqualWidth(bins)
        if isinstance(bins, int)
        else bins
    )
    limits = tn.estimate("ece", day, bins=rule, level=level, floor=False, seed=5)
    expected = tn.ece(day, bins=rule), limits.low, limits.high
    assert (found.ece[0], found.ece_low[0], found.ece_high[0]) == pytest.approx(expected, rel=1e-12)
    if form == "binned":
        assert np.isnan([found.error[0], found.error_low[0], found.error_high[0]]).all()
        assert not found.includes_zero[0]
        return
    tally = day.as_tally() if form == "sketch" else day
    interval = tn.ece_interval(tally, level=level, seed=5)
    assert (found.error[0], found.error_low[0], found.error_high[0]) == (
        interval.estimate,
        interval.low,
        interval.high,
    )
    assert found.includes_zero[0] == interval.includes_zero
    assert found.pvalue[0] == tn.calibration_test(tally, resamples=99, seed=5).pvalue
    floor = tn.noise_floor(partial(tn.ece, bins=rule), tally, seed=8)
    assert found.floor[0] == pytest.approx(floor.mean, abs=5 * floor.std * np.sqrt(2 / 999))
    spread = np.quantile(floor.draws, [level - 0.05, min(level + 0.04, 1)])
    assert spread[0] < found.floor_high[0] < spread[1]


@pytest.mark.parametrize("kind", ["top-label", *slow("classwise", "confidence")])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_means_and_floors_of_classes_are_weighted_as_the_measure_weighs_them(kind):
    rng = np.random.default_rng(1)
    P = rng.dirichlet([3, 1, 0.3], 60)
    y = (P.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1)
    tally = tn.tally(y, P, kind=kind)
    found = tn.calibration_series({"a": tally}, resamples=99, seed=0)
    floor = tn.noise_floor(tn.ece, P if kind == "classwise" else tally, seed=8)
    assert found.ece[0] == tn.ece(tally)
    assert found.floor[0] == pytest.approx(floor.mean, abs=5 * floor.std * np.sqrt(2 / 999))
    if kind == "classwise":  # quantiles of classes are added
        parts = [tn.noise_floor(tn.ece, column, seed=8) for column in P.T]
        assert found.floor_high[0] == pytest.approx(
            np.mean([np.quantile(one.draws, 0.95) for one in parts]), rel=0.05
        )
        assert (found.score[0], found.rate[0]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    else:
        assert found.floor_high[0] == pytest.approx(
            np.quantile(floor.draws, 0.95), rel=0.08
        )  # two sets of 999 draws
        assert found.score[0] == pytest.approx(P.max(axis=1).mean())
        assert found.rate[0] == pytest.approx((P.argmax(axis=1) == y).mean())
    each = [
        tn.calibration_test(type(tally)("binary", (part,)), resamples=99, seed=0).pvalue
        for part in tally.parts
    ]
    assert found.pvalue[0] == min(1, len(each) * min(each))


def test_bins_are_tested_at_their_mean_scores():
    y, p = rows(np.random.default_rng(3), 200)
    b = np.minimum((p * 4).astype(int), 3)
    mean = np.array([p[b == i].mean() for i in range(4)])[b]
    for weight in (None, np.full(200, 0.5)):
        binned, cells = (
            tn.binned(y, p, bins=4, sample_weight=weight),
            tn.tally(y, mean, sample_weight=weight),
        )
        found, expected = (
            tn.calibration_series({"a": one}, bins=4, resamples=99, seed=0)
            for one in (binned, cells)
        )
        for name in ("n", "score", "rate", "ece", "pvalue", "floor", "floor_high"):
            values = getattr(found, name), getattr(expected, name)
            assert values[0] == pytest.approx(values[1], rel=1e-6, nan_ok=True), name


def test_holm_adjusts_all_days_and_the_flag_is_at_the_level():
    days = {str(i): small_day(s, 100, i) for i, s in enumerate([1, 0.2, 1, 0.3, 1])}
    found = tn.calibration_series(days, seed=0, resamples=999, level=0.9)
    order, running, expected = np.argsort(found.pvalue, kind="stable"), 0.0, np.empty(5)
    for place, i in enumerate(order):
        running = max(running, 2 * (5 - place) * found.pvalue[i])
        expected[i] = min(1, running)
    assert found.adjusted_pvalue == pytest.approx(expected)
    assert found.flagged.tolist() == (expected <= 0.1).tolist()
    assert 0 < found.flagged.sum() < 5


def test_many_tests_are_those_of_kolmogorov_and_smirnov(monkeypatch):
    days = {str(i): small_day(0.5, 100, i) for i in range(3)}
    plain = tn.calibration_series(days, seed=0, resamples=99)
    monkeypatch.setattr("trueness.infer.group._series._MANY_TESTS", 3)
    assert (
        tn.calibration_series(days, seed=0, resamples=99).pvalue.tolist() == plain.pvalue.tolist()
    )
    monkeypatch.setattr("trueness.infer.group._series._MANY_TESTS", 2)
    found = tn.calibration_series(days, seed=0, resamples=99)
    assert found.pvalue.tolist() == [
        tn.calibration_test(one, method="ks", seed=0).pvalue for one in days.values()
    ]
    assert found.notes == (
        "There are 3 tests of days and classes: p-values are those of the KS test.",
    )


def test_a_generator_is_a_seed_and_decides_every_number():
    days = {"a": small_day(), "b": small_day(0.5, seed=1)}
    one, other = (
        tn.calibration_series(days, resamples=99, seed=np.random.default_rng(3)) for _ in range(2)
    )
    assert one.to_dict() == other.to_dict()
    assert (
        one.to_dict()
        != tn.calibration_series(days, resamples=99, seed=np.random.default_rng(4)).to_dict()
    )


def test_progress_counts_the_days_and_the_search_for_a_change():
    seen = []
    days = {"a": small_day(n=50), "b": tn.tally([], []), "c": small_day(n=50, seed=1)}
    tn.calibration_series(
        days, resamples=39, seed=0, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_accumulators_are_days_and_names_become_text():
    y, p = rows(np.random.default_rng(0), 100)
    sums = tn.Accumulator("distinct")
    sums.update(y, p)
    found = tn.calibration_series({1: sums, 2: tn.tally(y, p)}, resamples=39, seed=0)
    assert found.name == ("1", "2")
    assert found.ece[0] == found.ece[1] == tn.ece(y, p)


def test_one_row_and_weights_have_no_intervals():
    found = tn.calibration_series(
        {"a": tn.tally([1], [0.3]), "b": small_day()}, resamples=39, seed=0
    )
    assert np.isnan([found.ece_low[0], found.ece_high[0], found.error[0]]).all()
    assert not found.includes_zero[0]
    assert (found.n[0], found.score[0], found.rate[0], found.ece[0]) == (
        1,
        0.3,
        1.0,
        pytest.approx(0.7),
    )


def test_notes_and_a_message_about_days_that_do_not_add():
    bins = tn.calibration_series({"a": small_day(form=FORMS["binned"])}, resamples=39, seed=0)
    assert len(bins.notes) == 1
    assert bins.notes[0].startswith(
        "Sums of bins do not hold the scores: tests and noise floors take all rows of a bin"
    )
    assert tn.calibration_series({"a": small_day()}, resamples=39, seed=0).notes == ()
    with pytest.raises(tn.InputError, match="'b' does not add to 'a'"):
        tn.calibration_series(
            {"a": tn.binned([0, 1], [0.2, 0.7], bins=3), "b": tn.binned([0, 1], [0.2, 0.7], bins=4)}
        )


@pytest.mark.parametrize("form", FORMS)
def test_unequal_weights_of_one_score_are_refused_with_a_way_out(form):
    days = {
        name: FORMS[form]([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7], sample_weight=[1, 1.5, 0.5, 1])
        for name in ("mon", "tue")
    }
    with pytest.raises(
        tn.InputError, match=r"must be equal for all rows of a score.*Pass the rows"
    ):
        tn.calibration_series(days, seed=0, progress=False)


@pytest.mark.slow
def test_rows_by_day_are_the_tallies_of_the_days_in_order():
    rng = np.random.default_rng(3)
    day = rng.permutation(np.repeat(np.arange(1, 15), 20))
    p = rng.uniform(size=day.size)
    y = rng.uniform(size=day.size) < p
    options = {"resamples": 19, "seed": 0, "progress": False}
    found = tn.calibration_series(y, p, by=day, **options)
    wanted = tn.calibration_series(
        {str(d): tn.tally(y[day == d], p[day == d]) for d in range(1, 15)}, **options
    )
    assert found == wanted
    assert found.name[8:11] == ("9", "10", "11")  # numbers, not text
    for by, message in (
        (np.where(day > 3, day, np.nan), "some are missing"),
        (day + 0.5, "it has many fractions"),
        ({"a": day, "b": day}, "it has several columns"),
    ):
        with pytest.raises(
            tn.InputError, match=f"`by` must be one column with the day of each row; {message}"
        ):
            tn.calibration_series(y, p, by=by)
    with pytest.raises(tn.InputError, match="`by` must be given beside labels; got None"):
        tn.calibration_series(y, p)


@pytest.mark.slow
def test_draws_follow_the_level_and_too_few_are_said():
    rng = np.random.default_rng(3)
    p = np.repeat([0.1, 0.9], 40)
    days = {
        f"{i}": tn.tally((rng.random(80) < (p if i < 3 else 1 - p)).astype(int), p)
        for i in range(5)
    }
    found = tn.calibration_series(days, level=0.999, seed=0)
    assert (found.change.first, found.notes) == ("3", ())
    few = tn.calibration_series(days, level=0.999, resamples=999, seed=0)
    assert few.change is None
    assert few.notes == (
        "999 resamples cannot show a change at this level: it takes `resamples=2000`.",
    )


def test_tuples_as_names_are_refused():
    with pytest.raises(
        tn.InputError, match=r"`sums` must have one name for each day; got the tuple \('a', 1\)"
    ):
        tn.calibration_series({("a", 1): tn.tally([0, 1], [0.2, 0.7])})


@pytest.mark.parametrize(("resamples", "has_note"), [(198, True), (199, False)])
def test_too_few_resamples_for_a_change_are_noted_up_to_the_last_one_missing(resamples, has_note):
    """The smallest p-value of a change is 2 / (draws + 1)."""
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    sums = {str(i): tn.tally(y[i::4], p[i::4]) for i in range(4)}
    found = tn.calibration_series(sums, resamples=resamples, level=0.99, progress=False)
    assert any("cannot show a change" in note for note in found.notes) == has_note
