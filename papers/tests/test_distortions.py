"""Distortions that are hard to see: their shapes and errors by hand, and bad parameters."""

import numpy as np
import pytest

from trueness import simulate
from trueness.errors import InputError
from trueness_papers.distortions import Bump, Oscillation, Steps


@pytest.mark.parametrize(
    ("distortion", "l1", "squared", "largest"),
    [
        (Steps(5), 1 / 20, 1 / 300, 1 / 10),
        (Bump(center=0.3, width=0.2, height=0.1), 0.02, 0.2 * 0.01 * 3 / 4, 0.1),
        (
            Oscillation(0.25, 1),
            1 / (4 * np.pi) + 1 / np.pi**3,
            1 / 60 + 12 / (4 * np.pi) ** 4,
            None,
        ),
    ],
    ids=str,
)
def test_uniform_scores_have_errors_known_by_hand(distortion, l1, squared, largest):
    d = simulate.binary(1, distortion=distortion)
    assert d.true_ece() == pytest.approx(l1, abs=1e-11)
    assert d.true_squared_ece() == pytest.approx(squared, abs=1e-11)
    if largest is not None:
        assert d.true_ece("max") == pytest.approx(largest, abs=1e-9)


@pytest.mark.parametrize(
    "scores", [simulate.Beta(0.3, 60), simulate.Discrete([0.0, 0.2, 0.9, 1.0], [4, 3, 2, 1])]
)
@pytest.mark.parametrize(
    "distortion", [Bump(0.9, 0.05, -0.3), Oscillation(-0.25, 40), Steps(7)], ids=str
)
def test_the_true_error_is_the_mean_distance_of_truth_and_score(scores, distortion):
    d = simulate.binary(20_000, scores=scores, distortion=distortion, seed=1)
    for p in (1, 2, 3.5):
        powers = np.abs(d.truth - d.y_prob) ** p
        assert d.true_ece(p) ** p == pytest.approx(
            powers.mean(), abs=5.5 * powers.std() / np.sqrt(len(d)) + 1e-9
        )


def test_high_powers_do_not_vanish():
    assert 0.00095 < simulate.binary(1, distortion=Bump(height=0.001)).true_ece(1000) < 0.001


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Bump(center=1.0), "`center` must be a number strictly between 0 and 1; got 1.0"),
        (lambda: Oscillation(height=0.3), "`height` must be a number from -1/4 to 1/4; got 0.3"),
        (lambda: Oscillation(cycles=0.5), "`cycles` must be a whole number ≥ 1; got 0.5"),
        (lambda: Steps(0), "`count` must be a whole number ≥ 1; got 0"),
        (lambda: Steps(10**9), "`count` must be at most 1,000,000"),
        (
            lambda: simulate.binary(5, distortion=Bump(center=0.95, height=0.2)),
            r"must map \[0, 1\] into \[0, 1\]",
        ),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
