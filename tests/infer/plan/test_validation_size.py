"""Sample sizes for validation: published numbers, formulas by brute force, simulated power, laws, messages."""

import math
import sys

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

import trueness as tn

Z = float(ndtri(0.975))


def test_published_sizes():
    # Riley et al. 2021: 1.8 % events, limits of O/E about 1 apart; limits of the slope 0.2 apart.
    assert tn.validation_size(prevalence=0.018, oe_se=0.2456).n == 905
    assert tn.validation_size(prevalence=0.018, oe_width=2 * math.sinh(Z * 0.2456)).n == 905
    assert tn.validation_size(log_odds=(-5, 2.5), slope_width=0.2).n == 4554


def test_the_slope_has_the_planned_width_in_one_large_sample():
    x = np.random.default_rng(0).normal(-1, 1.3, 200_000)
    p = expit(x)
    found = tn.validation_size(log_odds=(-1, 1.3), slope_width=0.3).n
    X = np.stack([np.ones(x.size), x])
    covariance = np.linalg.inv((X * p * (1 - p)) @ X.T / x.size * found)
    assert 2 * Z * math.sqrt(covariance[1, 1]) == pytest.approx(0.3, rel=0.02)


def test_the_brier_score_has_the_planned_width():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 5, 400_000)
    y = rng.random(p.size) < p
    found = tn.validation_size(scores=p, brier_width=0.03).n
    assert 2 * Z * np.std((y - p) ** 2) / math.sqrt(found) == pytest.approx(0.03, rel=0.01)


def test_the_c_statistic_has_newcombes_standard_error():
    c, rate = 0.75, 0.2
    found = tn.validation_size(prevalence=rate, c_statistic=c, c_width=0.1).n

    def width(n):
        part = 1 + (n / 2 - 1) * ((1 - c) / (2 - c) + c / (1 + c))
        return 2 * Z * math.sqrt(c * (1 - c) * part / (n**2 * rate * (1 - rate)))

    assert width(found) <= 0.1 < width(found - 1)


@pytest.mark.slow
def test_narrower_limits_smaller_errors_and_higher_levels_need_more_rows():
    known = {"scores": expit(np.random.default_rng(0).normal(-1, 1, 300)), "seed": 0}
    for name, wide, narrow in [
        *((f"{criterion}_width", 0.2, 0.1) for criterion in ("oe", "slope", "brier", "c")),
        ("oe_se", 0.2, 0.1),
        ("accept_oe", 0.3, 0.1),
        ("detect_oe", 1.7, 1.3),
    ]:
        few, many = (tn.validation_size(**known, **{name: v}).n for v in (wide, narrow))
        assert few < many, name
        if name not in ("oe_se", "detect_oe"):
            assert tn.validation_size(**known, **{name: wide}, level=0.99).n > few, name


def test_rare_events_and_rare_non_events_need_as_many_rows_but_for_the_ratio():
    one = tn.validation_size(log_odds=(-2, 1), slope_width=0.2, brier_width=0.01, c_width=0.1)
    other = tn.validation_size(log_odds=(2, 1), slope_width=0.2, brier_width=0.01, c_width=0.1)
    assert one.size == other.size


def test_scores_and_the_law_they_come_from_agree():
    p = expit(np.random.default_rng(2).normal(-1, 1, 100_000))
    by_scores, by_law = tn.validation_size(scores=p), tn.validation_size(log_odds=(-1, 1))
    assert by_scores.size == pytest.approx(by_law.size, rel=0.02)
    assert by_scores.criterion == ("O/E", "slope", "Brier score", "c-statistic")
    certain = tn.validation_size(scores=np.r_[p, np.zeros(100_000)], slope_width=0.2).n
    assert certain == pytest.approx(2 * tn.validation_size(scores=p, slope_width=0.2).n, abs=2)


def test_the_acceptance_of_a_ratio_has_the_planned_probability():
    rate, margin = 0.1, 0.2
    n = tn.validation_size(prevalence=rate, accept_oe=margin).n
    se = math.sqrt((1 - rate) / rate / n)
    logs = se * np.random.default_rng(0).normal(size=200_000)
    reach = float(ndtri(0.95)) * se
    accepted = (logs + reach < math.log(1 + margin)) & (logs - reach > math.log(1 - margin))
    assert accepted.mean() == pytest.approx(0.8, abs=0.005)


def test_the_same_seed_gives_the_same_sizes_and_sizes_have_two_digits():
    how = {"prevalence": 0.2, "c_statistic": 0.8, "detect_oe": 1.4, "detect_slope": 0.6, "seed": 3}
    found = tn.validation_size(**how)
    assert found == tn.validation_size(**how)
    assert all(size % 10 == 0 for size in found.size)
    assert found.criterion == ("omnibus test", "omnibus test")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("detect_oe", 1.25), ("detect_slope", 0.7)])
def test_fresh_rows_are_rejected_about_as_often_as_planned(name, value):
    n = tn.validation_size(log_odds=(-1, 1.2), **{name: value}, seed=0).n
    rng, runs, rejected = np.random.default_rng(1), 200, 0
    x = rng.normal(-1, 1.2, 400_000)
    ratio, slope = (value, 1.0) if name == "detect_oe" else (1.0, value)
    shift = brentq(lambda a: expit(slope * x + a).mean() - ratio * expit(x).mean(), -5, 5)
    for _ in range(runs):
        x = rng.normal(-1, 1.2, n)
        y = (rng.random(n) < expit(slope * x + shift)).astype(int)
        rejected += tn.calibration_test(y, expit(x), resamples=199, seed=rng).pvalue <= 0.05
    # The plan is good to 10 % of the rows, which is about 0.05 of power.
    assert rejected / runs == pytest.approx(0.8, abs=0.06 + 3 * math.sqrt(0.16 / runs))


def test_the_record_is_a_table():
    found = tn.validation_size(prevalence=0.1, c_statistic=0.8)
    frame = found.to_frame()
    assert list(frame.columns) == ["criterion", "target", "rows", "events"]
    assert frame["rows"].tolist() == list(found.size)
    assert found.to_dict()["n"] == max(found.size)
    assert found.events[0] == round(found.size[0] * 0.1)
    assert "plan O/E only" not in str(found)
    assert "The prevalence alone plans O/E only" in str(tn.validation_size(prevalence=0.1))
    both = tn.validation_size(prevalence=0.018, log_odds=(-5, 2.5), oe_width=1)
    assert "imply a prevalence of 5.23 %" in str(both)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "`prevalence` must be given, or `log_odds` or `scores`"),
        ({"c_statistic": 0.8}, "`prevalence` must be given"),
        ({"prevalence": 0}, "`prevalence` must lie strictly between 0 and 1"),
        (
            {"prevalence": 0.1, "c_statistic": 0.5},
            "`c_statistic` must be above 0.5 and below 1; got 0.5",
        ),
        ({"prevalence": 0.1, "c_statistic": 1 - 1e-9}, "`c_statistic` must not be so near"),
        ({"log_odds": (0, 0)}, "`log_odds` must be the mean and the standard deviation"),
        ({"log_odds": 3}, "`log_odds` must be the mean and the standard deviation"),
        ({"log_odds": (0, 1, 2)}, "`log_odds` must be the mean"),
        ({"log_odds": (800, 1)}, "`log_odds` must be the mean"),
        ({"prevalence": 1e-12, "c_statistic": 0.7}, "`prevalence` must not be so near 0 or 1"),
        (
            {"prevalence": 0.3, "c_statistic": 0.5 + 1e-9},
            "`c_statistic` must not be so near 0.5 or 1",
        ),
        ({"scores": []}, r"`scores` must be a vector of probabilities; got shape \(0,\)"),
        ({"log_odds": (0, 1), "scores": [0.5]}, "`scores` must be given without `log_odds`"),
        ({"scores": [0.2, 1.2]}, r"`scores` must lie in \[0, 1\]"),
        ({"scores": [[0.2, 0.8]]}, "`scores` must be a vector"),
        ({"scores": [0.0, 1.0]}, "`scores` must not all be 0 or 1"),
        ({"scores": [0.3, 0.3], "slope_width": 0.2}, "`slope_width` needs scores that differ"),
        ({"prevalence": 0.1, "slope_width": 0.2}, "`slope_width` needs the spread of the scores"),
        ({"prevalence": 0.1, "c_width": 0.2}, "`c_width` needs the spread of the scores"),
        ({"prevalence": 0.1, "detect_oe": 1.2}, "`detect_oe` needs the spread of the scores"),
        ({"prevalence": 0.1, "oe_width": 0}, "`oe_width` must be a finite number above 0; got 0"),
        (
            {"prevalence": 0.1, "oe_width": 1, "oe_se": 1},
            "`oe_se` must be given without `oe_width`",
        ),
        ({"log_odds": (0, 1), "detect_oe": 1.0}, "`detect_oe` must differ from 1"),
        (
            {"log_odds": (0, 1), "detect_oe": 2.5},
            "`detect_oe` must be below 2, at which every row is an event",
        ),
        ({"prevalence": 0.1, "power": 1}, "`power` must lie strictly between 0 and 1"),
        ({"prevalence": 0.1, "level": 2}, "`level` must"),
    ],
)
def test_what_cannot_be_planned_is_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.validation_size(**how)


def test_widths_that_are_not_given_are_those_of_the_page():
    given = tn.validation_size(
        prevalence=0.1,
        c_statistic=0.8,
        oe_width=0.2,
        slope_width=0.2,
        brier_width=0.02,
        c_width=0.1,
    )
    assert tn.validation_size(prevalence=0.1, c_statistic=0.8).to_dict() == given.to_dict()


@pytest.mark.parametrize("given", ["oe_se", "oe_width", "brier_width", "c_width", "accept_oe"])
def test_targets_between_1e_minus_9_and_1e9_are_planned_and_others_refused(given):
    how = {"prevalence": 0.1, "log_odds": (-3.0, 1.0)}
    assert tn.validation_size(**how, **{given: 1e-9}).n > 10**12
    assert tn.validation_size(**how, **{given: 1e9}).n == 1
    for outside in (0.99e-9, 1.01e9):
        with pytest.raises(tn.InputError, match=rf"`{given}` must lie between 1e-09 and 1e\+09"):
            tn.validation_size(**how, **{given: outside})


@pytest.mark.parametrize("given", ["accept_l2", "accept_ece", "accept_band"])
def test_a_margin_of_1_is_the_largest_that_can_be_accepted(given):
    with pytest.raises(tn.InputError, match=f"`{given}` must be at most 1; got 1.01"):
        tn.validation_size(log_odds=(0, 1), **{given: 1.01})


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, "0.2", True])
def test_a_target_is_a_finite_number_above_0(value):
    with pytest.raises(tn.InputError, match="`brier_width` must be a finite number above 0"):
        tn.validation_size(log_odds=(0, 1), brier_width=value)


def test_rows_are_rounded_up_but_not_for_the_last_digit_of_a_float():
    """By hand: (1 − φ)/φ/s² is 49/0.49, which in floats is a little above 100; then 9/0.64 = 14.06."""
    assert (1 - 0.02) / 0.02 / 0.7**2 > 100
    assert tn.validation_size(prevalence=0.02, oe_se=0.7).n == 100
    assert tn.validation_size(prevalence=0.1, oe_se=0.8).n == 15
    assert tn.validation_size(prevalence=0.1, oe_se=30).n == 1


@pytest.mark.parametrize("level", [0.8, 0.99])
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.9])
def test_the_limits_of_the_ratio_are_as_far_apart_as_planned(rate, level):
    n = tn.validation_size(prevalence=rate, oe_width=0.5, level=level).n

    def width(n):
        reach = float(ndtri((1 + level) / 2)) * math.sqrt((1 - rate) / rate / n)
        return math.exp(reach) - math.exp(-reach)

    assert width(n) <= 0.5 < width(n - 1)


@pytest.mark.parametrize("c", [0.51, 0.6, 0.75, 0.9, 0.99])
@pytest.mark.parametrize(
    ("rate", "width", "level"), [(0.3, 0.5, 0.95), (0.05, 0.1, 0.9), (0.6, 1.5, 0.999)]
)
def test_the_c_statistic_has_newcombes_standard_error_at_every_c(c, rate, width, level):
    found = tn.validation_size(
        prevalence=rate, log_odds=(0, 1), c_statistic=c, c_width=width, level=level
    )
    assert found.c_statistic == c

    def apart(n):
        part = 1 + (n / 2 - 1) * ((1 - c) / (2 - c) + c / (1 + c))
        return (
            2
            * float(ndtri((1 + level) / 2))
            * math.sqrt(c * (1 - c) * part / (n**2 * rate * (1 - rate)))
        )

    assert apart(found.n) <= width
    assert found.n == 1 or width < apart(found.n - 1)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_slope_and_brier_score_of_three_scores_have_the_planned_width(level):
    """The information and the variance of squared errors of each label, summed over the scores."""
    p, share = np.array([0.1, 0.5, 0.8]), np.array([0.5, 0.25, 0.25])
    found = tn.validation_size(
        scores=[0.1, 0.1, 0.5, 0.8], slope_width=0.5, brier_width=0.05, level=level
    )
    z = float(ndtri((1 + level) / 2))
    X = np.stack([np.ones(3), np.log(p / (1 - p))])
    slope = np.linalg.inv((X * share * p * (1 - p)) @ X.T)[1, 1]
    mean = share @ (p * (1 - p) ** 2 + (1 - p) * p**2)
    brier = share @ (p * (1 - p) ** 4 + (1 - p) * p**4) - mean**2
    assert found.size == tuple(
        math.ceil((2 * z / width) ** 2 * v) for width, v in ((0.5, slope), (0.05, brier))
    )
    assert found.c_statistic == pytest.approx(
        sum(
            share[i] * p[i] * share[j] * (1 - p[j]) * (1 if i > j else 0.5)
            for i in range(3)
            for j in range(i + 1)
        )
        / ((share @ p) * (share @ (1 - p)))
    )


@pytest.mark.parametrize(
    ("margin", "power", "level"), [(0.1, 0.8, 0.95), (0.5, 0.3, 0.9), (0.97, 0.99, 0.99)]
)
def test_the_acceptance_of_a_ratio_has_the_power_of_the_page(margin, power, level):
    n = tn.validation_size(prevalence=0.2, accept_oe=margin, power=power, level=level).n
    z = float(ndtri(level))

    def accepted(n):
        se = math.sqrt(0.8 / 0.2 / n)
        return ndtr(math.log(1 + margin) / se - z) + ndtr(-math.log(1 - margin) / se - z) - 1

    assert accepted(n - 1) < power <= accepted(n)


@pytest.mark.parametrize("margin", [1, 1.5, 1e3])
def test_a_margin_from_1_on_has_no_lower_limit(margin):
    """The upper side alone: log(1 + m)/s = z' + z of the power."""
    n = tn.validation_size(prevalence=0.001, accept_oe=margin, power=0.7, level=0.9).n
    assert n == math.ceil(999 * ((ndtri(0.9) + ndtri(0.7)) / math.log1p(margin)) ** 2)


def test_a_tiny_margin_needs_rows_by_its_square():
    """Both sides of 1 are then equally far: Φ must be 0.9, and the ratio of the sizes exact."""
    n = tn.validation_size(prevalence=0.1, accept_oe=1e-9).n
    assert n == pytest.approx(9 * ((ndtri(0.95) + ndtri(0.9)) / 1e-9) ** 2, rel=1e-8)


@pytest.mark.parametrize(
    "how", [{"accept_oe": 1, "power": 0.01}, {"accept_oe": 0.2, "level": 0.5001, "power": 0.001}]
)
def test_one_row_is_enough_for_less_power_than_any_rows_have(how):
    assert tn.validation_size(prevalence=0.5, **how).n == 1


def test_the_given_prevalence_is_mentioned_if_the_scores_imply_another():
    for rate, differs in [(0.44, True), (0.46, False), (0.5, False), (0.55, False), (0.56, True)]:
        found = tn.validation_size(prevalence=rate, scores=[0.4, 0.6], brier_width=0.1)
        assert bool(found.notes) == differs, rate
    assert tn.validation_size(prevalence=0.1, oe_width=0.3).notes == ()
    assert tn.validation_size(prevalence=0.1).criterion == ("O/E",)


def test_the_record_holds_what_was_asked_and_what_follows():
    found = tn.validation_size(
        prevalence=0.3, oe_width=0.4, oe_se=None, accept_oe=0.3, level=0.9, power=0.6
    )
    assert (found.prevalence, found.level, found.power) == (0.3, 0.9, 0.6)
    assert math.isnan(found.c_statistic)
    assert found.criterion == ("O/E", "O/E")
    assert found.target == ("90 % limits 0.4 apart", "accepted within 1 ± 0.3 with probability 0.6")
    assert found.n == max(found.size)
    assert found.events == tuple(round(0.3 * size) for size in found.size)
    law = tn.validation_size(scores=[0.25, 0.75], oe_se=0.1)
    assert law.target == ("standard error of log O/E 0.1",)
    assert law.c_statistic == pytest.approx(0.75**2 + 0.25 * 0.75)


def test_ten_million_rows_are_the_most_that_are_planned():
    found = tn.validation_size(scores=[0.5] * 4, detect_oe=1.0001, seed=0)
    assert (found.n, found.size, found.events) == (None, (None,), (None,))
    assert found.notes == ("–: more than 10,000,000 rows; the test has hardly any power.",)
    assert "No number of rows that was tried meets all criteria." in str(found)
    both = tn.validation_size(scores=[0.5] * 4, detect_oe=1.0001, oe_width=0.2, seed=0)
    assert both.n is None
    assert (
        f"No number of rows that was tried meets all criteria; {both.size[0]:,} rows meet the others"
        in str(both)
    )


@pytest.mark.parametrize(
    ("given", "ratio", "slope"), [("detect_oe", 1.3, 1.0), ("detect_slope", 1.0, 0.6)]
)
def test_the_omnibus_test_needs_little_more_than_the_best_test_for_the_error(given, ratio, slope):
    """Power 0.8 at 0.05 takes a non-centrality of 7.85 of the one test that knows the direction of the error."""
    p = np.array([0.1, 0.2, 0.3, 0.5, 0.7])
    found = tn.validation_size(scores=p, **{given: ratio * slope}, seed=0)
    X = np.stack([np.ones(5), np.log(p / (1 - p))])
    shift = brentq(lambda a: expit(slope * X[1] + a).sum() - ratio * p.sum(), -5, 5)
    score = X @ (expit(slope * X[1] + shift) - p)
    strength = score @ np.linalg.solve((X * p * (1 - p)) @ X.T, score) / 5
    # The simulated power has an error: six seeds give 160 to 200 rows for O/E, and 300 to 370 for the slope.
    assert 0.85 < found.n * strength / 7.85 < 1.8
    assert found.n % 10 == 0
    weaker = tn.validation_size(scores=p, **{given: (ratio * slope + 1) / 2}, seed=0)
    assert 3 < weaker.n / found.n < 5.5


def test_a_gross_error_needs_ten_rows_at_least():
    assert tn.validation_size(scores=np.linspace(0.02, 0.1, 9), detect_oe=9.0, seed=0).n == 10


def test_scores_of_0_and_1_are_right_whatever_the_error():
    some = tn.validation_size(scores=[0.3, 0.6], detect_slope=0.5, seed=0)
    diluted = tn.validation_size(scores=[0.3, 0.6, 0.0, 1.0], detect_slope=0.5, seed=0)
    assert diluted.n == pytest.approx(2 * some.n, rel=0.2)
    with pytest.raises(tn.InputError, match="`detect_oe` must be below"):
        tn.validation_size(scores=[0.5, 1.0], detect_oe=1.4)


def test_scores_that_differ_in_the_sixth_digit_are_not_all_equal():
    """Log-odds of x(1 ± d): the determinant of the information is d² of its first product, which must exceed 1e-12."""
    x = math.log(0.3 / 0.7)
    n = tn.validation_size(scores=expit([x * (1 - 1.7e-6), x * (1 + 1.7e-6)]), slope_width=1).n
    assert n == pytest.approx((2 * Z) ** 2 / (0.21 * (1.7e-6 * x) ** 2), rel=0.01)
    with pytest.raises(tn.InputError, match="`slope_width` needs scores that differ"):
        tn.validation_size(scores=expit([x * (1 - 5e-7), x * (1 + 5e-7)]), slope_width=1)


@pytest.mark.parametrize(("rows", "size"), [(1234, 1300), (20, 20), (None, None)])
def test_acceptance_by_simulation_is_rounded_up_to_two_digits(monkeypatch, rows, size):
    asked, seen = [], []

    def acceptance_size(law, criterion, margin, level, power, rng, step):
        asked.append((criterion, margin, level, power))
        step()
        return rows

    monkeypatch.setattr("trueness.infer.plan._validation_size.acceptance_size", acceptance_size)
    margins = {"accept_l2": 0.1, "accept_ece": 0.2, "accept_band": 0.3}
    how = {"scores": [0.3, 0.6], "level": 0.9, "power": 0.7}
    found = tn.validation_size(
        **how, **margins, progress=lambda done, total: seen.append(done / total)
    )
    assert asked == [("l2", 0.1, 0.9, 0.7), ("ece", 0.2, 0.9, 0.7), ("band", 0.3, 0.9, 0.7)]
    assert found.criterion == ("typical error", "ECE", "monotone band")
    assert found.target == tuple(
        f"accepted within {m:g} with probability 0.7" for m in margins.values()
    )
    assert found.size == (size,) * 3
    assert found.n == size
    assert seen == sorted(seen)
    assert (len(seen), seen[1], seen[-1]) == (6, pytest.approx(1 / 3), 1)


@pytest.mark.parametrize(
    ("how", "drawn"), [({}, True), ({"progress": True}, True), ({"progress": False}, False)]
)
def test_a_terminal_shows_a_bar_unless_told_not_to(monkeypatch, capsys, how, drawn):
    def acceptance_size(*options):
        options[-1]()
        return 50

    monkeypatch.setattr("trueness.infer.plan._validation_size.acceptance_size", acceptance_size)
    monkeypatch.setattr("trueness._progress._PATIENCE", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    tn.validation_size(scores=[0.3, 0.6], accept_l2=0.1, **how)
    assert ("\r" in capsys.readouterr().err) == drawn


def test_acceptance_needs_at_least_the_rows_from_which_the_search_starts():
    # Twenty rows are enough for a margin this wide; the line through simulated powers led below them.
    size = tn.validation_size(prevalence=0.3, c_statistic=0.8, accept_l2=0.6)
    assert size.n >= 20
