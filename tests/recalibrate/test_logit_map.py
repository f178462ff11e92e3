"""How near to 0 and 1 scores may be in maps on logits."""

import numpy as np
import pytest

from trueness.errors import InputError, MovedScoresWarning
from trueness.recalibrate import BetaCalibration, PlattScaling, QuadraticScaling, TemperatureScaling, VectorScaling
from trueness.recalibrate._logit_map import bounded_logits, warn_moved

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


@pytest.mark.parametrize(
    ("p", "eps", "message"),
    [
        ([0.0, 0.3, 0.5], 0.1, r"1 score is exactly 0 or 1 and was moved into \[0\.1, 1 − 0\.1\]\."),
        ([0.0, 1.0, 0.5], 0.1, r"2 scores are exactly 0 or 1 and were moved into \[0\.1, 1 − 0\.1\]\."),
        ([1.0, 0.95, 0.1], 0.1, r"1 score is exactly 0 or 1 \(1 more is nearly so\) and were moved into \["),
        ([1.0, 0.95, 0.05], 0.1, r"1 score is exactly 0 or 1 \(2 more are nearly so\) and were moved into \["),
        (
            [[0.0, 0.95, 0.05], [0.0, 1.0, 0.0]],
            0.1,
            r"3 scores are exactly 0 \(1 more is nearly so\) and were moved to 0\.1",
        ),
    ],
)
def test_moved_scores_are_counted(p, eps, message):
    with pytest.warns(MovedScoresWarning, match=f"^{message}"):
        warn_moved(np.array(p), eps)


def test_scores_that_are_near_the_ends_but_not_there_are_moved_in_silence():
    warn_moved(np.array([0.01, 0.99, 0.5]), 0.1)
    warn_moved(np.array([[1.0 - 1e-9, 1e-9]]), 0.1)


@pytest.mark.parametrize("eps", [0, 0.5, -0.1, 1e400, "x"])
def test_scores_are_moved_by_less_than_one_half(eps):
    with pytest.raises(InputError, match=r"`eps` must be None or lie strictly between 0 and 0\.5; got"):
        PlattScaling(eps=eps).fit(np.linspace(0.1, 0.9, 9), Y)


def test_the_least_and_the_largest_eps_are_accepted():
    for eps in (1e-300, 0.499):
        assert PlattScaling(eps=eps).fit(np.linspace(0.1, 0.9, 9), Y).eps_ == eps


def test_a_penalty_may_be_zero_unless_it_must_not():
    PlattScaling(ridge=0).fit(np.linspace(0.1, 0.9, 9), Y)
    with pytest.raises(InputError, match="`ridge` must be a finite number above 0; got 0"):
        QuadraticScaling(ridge=0).fit(np.linspace(0.1, 0.9, 9), Y)
    with pytest.raises(InputError, match="`ridge` must be a finite number ≥ 0; got inf"):
        PlattScaling(ridge=np.inf).fit(np.linspace(0.1, 0.9, 9), Y)


@pytest.mark.filterwarnings("ignore::trueness.errors.MovedScoresWarning")
def test_the_least_score_of_a_matrix_decides_if_it_is_not_zero():
    rest = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1]]
    y = [2, 1, 0, 1]
    assert VectorScaling(l2=1.0).fit([[0.6, 0.38, 0.02], *rest], y).eps_ == 0.02
    assert VectorScaling(l2=1.0).fit([[0.6, 0.399999, 0.000001], *rest], y).eps_ == pytest.approx(1 / 15**2)
    assert VectorScaling(l2=1.0).fit([[0.98, 0.02, 0.0], *rest], y).eps_ == 0.02


def test_logits_are_bounded_on_both_sides():
    ends = bounded_logits(np.array([-1e9, -0.1, 0.2, 1e9]), 0.1)
    assert ends == pytest.approx([np.log(0.1 / 0.9), -0.1, 0.2, np.log(0.9 / 0.1)])
    assert bounded_logits(np.log([[0.01, 0.99]]), 0.1) == pytest.approx(np.log([[0.1, 0.99]]))
