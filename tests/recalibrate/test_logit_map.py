"""How near to 0 and 1 scores may be in maps on logits."""

import numpy as np
import pytest

from trueness.errors import InputError, MovedScoresWarning
from trueness.recalibrate import BetaCalibration, PlattScaling, TemperatureScaling, VectorScaling

Y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0])
DELTA = 1 / 20


@pytest.mark.parametrize(
    ("ends", "eps"),
    [([0.0, 1.0], DELTA), ([0.01, 1.0], 0.01), ([0.0, 1 - 1 / 128], 1 / 128), ([1e-9, 0.5], DELTA**2)],
    ids=["grid", "low", "high", "far"],
)
@pytest.mark.filterwarnings("ignore::trueness.errors.MovedScoresWarning")
def test_eps_follows_from_the_rows_and_the_least_distance(ends, eps):
    p = np.concatenate([ends, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]])
    for kind in PlattScaling, BetaCalibration, TemperatureScaling:
        assert kind().fit(p, Y).eps_ == pytest.approx(eps, rel=1e-12)
        assert kind(eps=1e-7).fit(p, Y).eps_ == 1e-7
    twice = PlattScaling().fit(np.repeat(p, 2), np.repeat(Y, 2)).eps_
    assert PlattScaling().fit(p, Y, np.full(9, 2.0)).eps_ == twice


def test_the_values_of_logits_say_nothing_about_eps():
    logits = np.array([-3.0, 2.0, 1e-9, -0.5, 3.0, -1.0, 0.5, 1.0, 0.0])
    for kind in PlattScaling, TemperatureScaling:
        assert kind(from_logits=True).fit(logits, Y).eps_ == DELTA
        assert kind(from_logits=True, eps=1e-7).fit(logits, Y).eps_ == 1e-7


def test_the_rule_of_a_matrix_counts_its_classes():
    P = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    with pytest.warns(MovedScoresWarning, match=r"1 score is exactly 0 and was moved to 0\.0667\."):
        assert VectorScaling(l2=1.0).fit(P, [2, 1, 0, 1]).eps_ == pytest.approx(1 / 15)


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, TemperatureScaling])
def test_no_score_overtakes_another_near_the_ends(kind):
    p = np.array([0.0, 0.02, 0.05, 0.1, 0.3, 0.6, 0.9, 0.97, 1.0])
    with pytest.warns(
        MovedScoresWarning, match=r"2 scores are exactly 0 or 1 and were moved into \[0\.02, 1 − 0\.02\]"
    ):
        fitted = kind().fit(p, [0, 0, 1, 0, 0, 1, 1, 0, 1])
    found = fitted.predict([0.0, 1e-300, 1e-5, 0.019, 0.02, 0.5, 0.98, 1 - 1e-9, 1.0])
    assert (np.diff(found) >= 0).all()
    assert 0 < found[0] == found[3]
    assert found[-1] < 1
    limits = kind(limits=True).fit(p[1:-1], [0, 1, 0, 0, 1, 0, 1])
    assert limits.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="`limits` must be True or False; got 1"):
        kind(limits=1).fit(p, Y)


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, TemperatureScaling])
def test_a_ridge_pulls_towards_the_identity(kind):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 60)
    y = rng.binomial(1, p**3)
    new = np.linspace(0.06, 0.94, 9)
    off = [np.abs(kind(ridge=ridge).fit(p, y).predict(new) - new).max() for ridge in (0, 1, 100, 1e9)]
    assert off[0] > off[1] > off[2] > off[3]
    assert off[3] < 1e-6
    with pytest.raises(InputError, match="`ridge` must be a finite number ≥ 0; got -1"):
        kind(ridge=-1).fit(p, y)
