"""Sample sizes for validation: published numbers, formulas by brute force, simulated power, laws, messages."""

import math
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit, ndtri

import trueness as tn
from trueness.infer._calibration_test import TestMethod
from trueness.infer._score_law import score_law
from trueness.infer._validation_size import _Error

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
    known = {"scores": expit(np.random.default_rng(0).normal(-1, 1, 300)), "tests": "cox", "seed": 0}
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


def test_a_test_without_power_against_the_error_has_no_size():
    # Scores of 1/2 have no influence on Spiegelhalter's test.
    found = tn.validation_size(scores=[0.5] * 4, detect_oe=1.25, tests=["spiegelhalter", "cox"], seed=0)
    assert found.size[0] is None
    assert found.n == found.size[1]
    assert "hardly any power" in str(found)
    # Exact: z = 0.125 √n / 0.5 must reach 1.96 with probability 0.8.
    assert found.n == pytest.approx((Z + 0.8416) ** 2 * 16, rel=0.12)


def test_the_same_seed_gives_the_same_sizes_and_sizes_have_two_digits():
    how = {"prevalence": 0.2, "c_statistic": 0.8, "detect_slope": 0.6, "tests": ["omnibus", "analytic"], "seed": 3}
    found = tn.validation_size(**how)
    assert found == tn.validation_size(**how)
    assert all(size % 10 == 0 for size in found.size)
    assert found.criterion == ("omnibus test", "analytic test")


@pytest.mark.slow
@pytest.mark.parametrize("test", ["omnibus", "cox", "ks", "hosmer-lemeshow"])
@pytest.mark.parametrize(("name", "value"), [("detect_oe", 1.25), ("detect_slope", 0.7)])
def test_fresh_rows_are_rejected_about_as_often_as_planned(test, name, value):
    law = score_law(0.2, 0.8, None, None)
    n = tn.validation_size(prevalence=0.2, c_statistic=0.8, tests=[test], **{name: value}, seed=0).n
    ratio, slope = (value, 1.0) if name == "detect_oe" else (1.0, value)
    rng, shift, runs, rejected = np.random.default_rng(1), law.shift(ratio, slope), 200, 0
    for _ in range(runs):
        p = rng.choice(law.score, n, p=law.share)
        y = (rng.random(n) < expit(slope * np.log(p / (1 - p)) + shift)).astype(int)
        how = {"resamples": 199, "seed": rng} if test == "omnibus" else {}
        rejected += tn.calibration_test(y, p, method=test, **how).pvalue <= 0.05
    # The plan is good to 10 % of the rows, which is about 0.05 of power.
    assert rejected / runs == pytest.approx(0.8, abs=0.06 + 3 * math.sqrt(0.16 / runs))


SLOWER = ("exact", "t-cal", "adaptive-t-cal", "hosmer-lemeshow", "kuiper", "spiegelhalter")


@pytest.mark.parametrize(
    "test", [pytest.param(test, marks=[pytest.mark.slow] * (test in SLOWER)) for test in get_args(TestMethod)]
)
def test_every_test_can_be_planned_for(test):
    found = tn.validation_size(scores=np.linspace(0.05, 0.95, 19), detect_oe=1.9, tests=[test], seed=0)
    assert found.criterion == (f"{test} test",)
    assert 10 <= found.n < 1000


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


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "`prevalence` must be given, or `log_odds` or `scores`"),
        ({"c_statistic": 0.8}, "`prevalence` must be given"),
        ({"prevalence": 0}, "`prevalence` must lie strictly between 0 and 1"),
        ({"prevalence": 0.1, "c_statistic": 0.5}, "`c_statistic` must be above 0.5 and below 1; got 0.5"),
        ({"prevalence": 0.1, "c_statistic": 1 - 1e-9}, "`c_statistic` must not be so near"),
        ({"log_odds": (0, 0)}, "`log_odds` must be the mean and the standard deviation"),
        ({"log_odds": 3}, "`log_odds` must be the mean and the standard deviation"),
        ({"log_odds": (0, 1), "scores": [0.5]}, "`scores` must be given without `log_odds`"),
        ({"scores": [0.2, 1.2]}, r"`scores` must lie in \[0, 1\]"),
        ({"scores": [[0.2, 0.8]]}, "`scores` must be a vector"),
        ({"scores": [0.0, 1.0]}, "`scores` must not all be 0 or 1"),
        ({"scores": [0.3, 0.3], "slope_width": 0.2}, "`slope_width` needs scores that differ"),
        ({"prevalence": 0.1, "slope_width": 0.2}, "`slope_width` needs the spread of the scores"),
        ({"prevalence": 0.1, "c_width": 0.2}, "`c_width` needs the spread of the scores"),
        ({"prevalence": 0.1, "detect_oe": 1.2}, "`detect_oe` needs the spread of the scores"),
        ({"prevalence": 0.1, "oe_width": 0}, "`oe_width` must be a finite number above 0; got 0"),
        ({"prevalence": 0.1, "oe_width": 1, "oe_se": 1}, "`oe_se` must be given without `oe_width`"),
        ({"log_odds": (0, 1), "detect_oe": 1.0}, "`detect_oe` must differ from 1"),
        ({"log_odds": (0, 1), "detect_oe": 2.5}, "`detect_oe` must be below 2, at which every row is an event"),
        ({"log_odds": (0, 1), "detect_oe": 1.2, "tests": ["t"]}, "`tests` must be 'omnibus'"),
        ({"log_odds": (0, 1), "detect_oe": 1.2, "tests": []}, "`tests` must name at least one"),
        ({"prevalence": 0.1, "power": 1}, "`power` must lie strictly between 0 and 1"),
        ({"prevalence": 0.1, "level": 2}, "`level` must"),
    ],
)
def test_what_cannot_be_planned_is_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.validation_size(**how)


def test_widths_that_are_not_given_are_those_of_the_page():
    given = tn.validation_size(
        prevalence=0.1, c_statistic=0.8, oe_width=0.2, slope_width=0.2, brier_width=0.02, c_width=0.1
    )
    assert tn.validation_size(prevalence=0.1, c_statistic=0.8).to_dict() == given.to_dict()


def test_scores_of_0_and_1_are_right_whatever_the_error():
    law = score_law(None, None, None, [0.0, 0.5, 1.0])
    assert _Error(law, 0.5, math.log(3)).truth(np.array([0.0, 0.5, 1.0])).tolist() == [0, pytest.approx(0.75), 1]
