"""How often the sets hold the truth, against what is published and what is promised."""

import math

import numpy as np
import pytest

from trueness import simulate
from trueness.infer import ece_interval

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")]


def coverage(make, runs, *, k=1, **options):
    """Share of sets that hold the truth, and of those without zero."""
    truth = make(0).true_squared_ece(k=k)
    held = refuted = 0
    for seed in range(runs):
        d = make(seed)
        found = ece_interval(d.y_true, d.y_prob, k=k, squared=True, seed=seed + 10**6, **options)
        held += truth in found
        refuted += not found.includes_zero
    return held / runs, refuted / runs


def error(p, runs):
    """Four standard errors."""
    return 4 * math.sqrt(p * (1 - p) / runs)


LAWS = {
    "uniform": {},
    "rare": {"scores": simulate.Beta(0.3, 60)},
    "confident": {"scores": simulate.Beta(12, 0.25)},
    "very confident": {"scores": simulate.Beta(50, 1)},
    "two digits": {"scores": simulate.Discrete(np.arange(101) / 100)},
}


@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("law", LAWS)
def test_the_exact_test_keeps_its_level_for_calibrated_scores(law, n):
    runs = 600
    held, _ = coverage(lambda seed: simulate.binary(n, seed=seed, **LAWS[law]), runs)
    assert held > 0.9 - error(0.9, runs)


@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("law", LAWS)
def test_the_score_interval_covers_an_error(law, n):
    runs = 400
    distortion = simulate.Logit(shift=1.0 if law == "rare" else -0.8)
    held, _ = coverage(lambda seed: simulate.binary(n, distortion=distortion, seed=seed, **LAWS[law]), runs)
    assert held > 0.88 - error(0.88, runs)


def test_equal_mass_finds_what_equal_width_misses_in_confident_scores():
    make = lambda seed: simulate.binary(  # noqa: E731
        400, scores=simulate.Beta(12, 0.25), distortion=simulate.Logit(shift=-1), seed=seed
    )
    _, mass = coverage(make, 200)
    _, width = coverage(make, 200, method="analytic")
    assert mass > width + 0.2
