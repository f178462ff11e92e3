"""Coverage of the intervals in the settings of Sun et al. 2025."""

import math

import pytest

from trueness import ece_interval
from trueness_papers.sun import sun_setting

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")]


def coverage(make, runs, *, k=1, **options):
    """Share of sets that hold the truth, and of those without zero."""
    truth = make(0).true_squared_ece(k=k)
    held = refuted = 0
    for seed in range(runs):
        d = make(seed)
        found = ece_interval(
            d.y_true, d.y_prob, k=k, level=0.9, squared=True, seed=seed + 10**6, **options
        )
        held += truth in found
        refuted += not found.includes_zero
    return held / runs, refuted / runs


def error(p, runs):
    """Four standard errors."""
    return 4 * math.sqrt(p * (1 - p) / runs)


PUBLISHED = [
    *[
        (1, beta, 20, value)
        for beta, value in zip(
            (0, 0.25, 0.5, 0.9, 1), (0.889, 0.878, 0.960, 0.965, 0.880), strict=True
        )
    ],
    *[
        (2, beta, 20, value)
        for beta, value in zip(
            (0, 0.25, 0.4, 0.7, 1), (0.884, 0.875, 0.859, 0.956, 0.907), strict=True
        )
    ],
    *[
        (3, beta, 10, value)
        for beta, value in zip((0, 0.03, 0.07, 0.1), (0.976, 0.955, 0.949, 0.924), strict=True)
    ],
]


@pytest.mark.parametrize(("setting", "beta", "bins", "expected"), PUBLISHED)
def test_the_published_set_covers_as_often_as_it_is_known_to(setting, beta, bins, expected):
    runs, k = 3000, 2 if setting == 3 else 1
    found, _ = coverage(
        lambda seed: sun_setting(setting, 100, beta=beta, seed=seed),
        runs,
        k=k,
        bins=bins,
        method="analytic",
    )
    # The known values come from 20,000 data sets, another error of at most 0.002.
    assert abs(found - expected) < error(expected, runs) + 0.008


@pytest.mark.parametrize(
    ("beta", "expected"),
    [(0, 1.00), (0.25, 0.89), (0.5, 0.46), (1, 0.12)],
)
def test_the_published_set_has_its_known_power(beta, expected):
    runs = 2000
    _, found = coverage(
        lambda seed: sun_setting(1, 100, beta=beta, seed=seed), runs, bins=20, method="analytic"
    )
    assert abs(found - expected) < error(expected, runs) + 0.015


@pytest.mark.parametrize("beta", [0, 0.05])
def test_the_score_interval_covers_the_error_of_two_of_ten_classes(beta):
    runs = 400
    held, _ = coverage(lambda seed: sun_setting(3, 200, beta=beta, seed=seed), runs, k=2)
    assert held > 0.88 - error(0.88, runs)
