"""Quantiles and limits by Student's t."""

import math

import pytest
from scipy import stats

from trueness._numerics.students_t import t_limits, t_over_normal


@pytest.mark.parametrize("freedom", [1, 2.5, 40, math.inf])
def test_limits_are_those_of_students_t(freedom):
    law = stats.norm if math.isinf(freedom) else stats.t(freedom)
    low, high = t_limits(0.2, 0.1, freedom, 0.9)
    assert (low, high) == pytest.approx(
        (0.2 + 0.1 * law.ppf(0.05), 0.2 + 0.1 * law.ppf(0.95)), rel=1e-12
    )
    assert t_over_normal(0.05, freedom) == pytest.approx(
        law.ppf(0.05) / stats.norm.ppf(0.05), rel=1e-12
    )


def test_without_degrees_of_freedom_nothing_is_excluded():
    assert t_limits(0.2, 0.1, 0, 0.9) == (-math.inf, math.inf)
