"""Low-default portfolios: the table of the paper's setting, a slow reference, laws and messages."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import trueness as tn

LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
ROWS = {"A": 100, "B": 400, "C": 300}
NONE = dict.fromkeys(ROWS, 0)
# Percentages, computed apart: independent defaults, then asset correlation 0.12.
INDEPENDENT = {
    "A": (0.09, 0.17, 0.29, 0.37, 0.57, 0.86),
    "B": (0.10, 0.20, 0.33, 0.43, 0.66, 0.98),
    "C": (0.23, 0.46, 0.76, 0.99, 1.52, 2.28),
}
CORRELATED = {
    "A": (0.15, 0.40, 0.86, 1.31, 2.66, 5.29),
    "B": (0.17, 0.45, 0.96, 1.45, 2.92, 5.76),
    "C": (0.37, 0.93, 1.89, 2.78, 5.30, 9.84),
}


@pytest.mark.parametrize(("correlation", "expected"), [(0.0, INDEPENDENT), (0.12, CORRELATED)])
def test_three_grades_without_default_have_the_limits_of_the_table(correlation, expected):
    tables = [tn.pluto_tasche(ROWS, NONE, level=one, correlation=correlation) for one in LEVELS]
    for grade, limits in expected.items():
        assert [round(100 * table[grade], 2) for table in tables] == list(limits)


def test_a_published_case_of_one_grade():
    """P. Windridge's calculator: 35 defaults of 9,810, correlation 0.15, 95 %."""
    found = tn.pluto_tasche([9810], [35], level=0.95, correlation=0.15)
    assert found.upper[0] == pytest.approx(0.0334, abs=5e-5)


@pytest.mark.parametrize(("n", "d", "rho"), [(150, 2, 0.08), (40, 0, 0.3), (900, 11, 0.5)])
def test_so_many_defaults_or_fewer_have_the_probability_of_the_level(n, d, rho):
    """By a plain sum over a fine grid of the factor."""
    upper = tn.pluto_tasche([n], [d], level=0.8, correlation=rho).upper[0]
    z = np.linspace(-9, 9, 20_001)
    given = norm.cdf((norm.ppf(upper) - math.sqrt(rho) * z) / math.sqrt(1 - rho))
    probability = float((binom.cdf(d, n, given) * norm.pdf(z)).sum() * (z[1] - z[0]))
    assert probability == pytest.approx(0.2, abs=1e-9)


def test_a_tiny_correlation_is_nearly_none_and_the_last_grade_is_by_itself():
    rows, defaults = [50, 80, 30], [0, 1, 2]
    plain = tn.pluto_tasche(rows, defaults, level=0.9)
    close = tn.pluto_tasche(rows, defaults, level=0.9, correlation=1e-9)
    assert close.upper == pytest.approx(plain.upper, rel=1e-4)
    assert plain.upper[-1] == tn.pluto_tasche([30], [2], level=0.9).upper[0]
    assert plain.pooled_n == (160, 110, 30)
    assert plain.pooled_events == (3, 3, 2)


def test_limits_rise_with_the_level_the_correlation_and_the_defaults():
    def upper(level=0.9, correlation=0.1, events=1):
        return tn.pluto_tasche([200], [events], level=level, correlation=correlation).upper[0]

    assert upper(level=0.8) < upper() < upper(level=0.95)
    assert upper(correlation=0.0) < upper() < upper(correlation=0.2)
    assert upper(events=0) < upper() < upper(events=2)


def test_grades_without_rows_and_grades_that_all_default_have_the_limit_one():
    assert tn.pluto_tasche([10, 0], [0, 0], level=0.9).upper[1] == 1
    assert tn.pluto_tasche([3], [3], level=0.9, correlation=0.2).upper == (1.0,)


def test_limits_that_fall_are_named_among_the_assumptions():
    found = tn.pluto_tasche({"A": 100, "B": 400}, {"A": 20, "B": 0}, level=0.9)
    assert found.inversions == (("A", "B"),)
    assert "B below A" in str(found)


@pytest.mark.parametrize(
    ("n", "events", "options", "message"),
    [
        ([10], [11], {}, "`events` must not exceed `n`; 11 of 10"),
        ([10, 20], [1], {}, "`events` must have one number per grade of `n`; got 1 for 2 grades"),
        ([10.5], [1], {}, "`n` must be whole numbers ≥ 0; got .*10.5"),
        ([-1], [0], {}, "`n` must be whole numbers ≥ 0"),
        ([], [], {}, "`n` must be one number per grade"),
        ({"A": 1}, {"B": 1}, {}, "`events` must have the grades of `n`"),
        ({"A": 1}, [1], {}, "`events` must be a mapping if `n` is one"),
        ([10], [1], {"correlation": 1}, "`correlation` must lie in .0, 1."),
        ([10], [1], {"level": 1}, "`level` must lie strictly between 0 and 1"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(n, events, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.pluto_tasche(n, events, **{"level": 0.9} | options)


def test_the_level_must_be_chosen():
    with pytest.raises(TypeError, match="level"):
        tn.pluto_tasche([10], [1])


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.15])
def test_limits_hold_as_often_as_their_level_says(correlation):
    """The probability of a sample whose limit is below the truth, by simulation of the factor."""
    rng = np.random.default_rng(11)
    truth, n, level, runs = np.array([0.004, 0.01, 0.03]), [150, 120, 80], 0.9, 1_500
    limits = {}
    held = np.zeros(3)
    for _ in range(runs):
        factor = rng.normal()
        scaled = (norm.ppf(truth) - math.sqrt(correlation) * factor) / math.sqrt(1 - correlation)
        events = tuple(rng.binomial(n, norm.cdf(scaled)).tolist())
        if events not in limits:
            found = tn.pluto_tasche(n, events, level=level, correlation=correlation)
            limits[events] = np.array(found.upper)
        held += limits[events] >= truth
    assert (held / runs >= level - 4 * math.sqrt(level * (1 - level) / runs)).all()
