"""Formulas of fitted maps give what `predict` gives, read as their fields are described."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logit
from travelling_maps import MATRICES, VECTORS, name_of, scores_for

import trueness as tn
from trueness.recalibrate._formula import (
    Blend,
    LogOdds,
    Odds,
    PerClass,
    Steps,
    _distinct_steps,
    _points,
    _steps_of,
    first_scores,
    formula_of,
)

_RNG = np.random.default_rng(0)
P = np.concatenate([[0, 0, 1, 1, 0.5], _RNG.beta(0.7, 0.9, 195)])
Y = (_RNG.random(200) < expit(0.5 * logit(np.clip(P, 0.01, 0.99)) + 0.3)).astype(int)
M = _RNG.dirichlet([0.4, 1, 2], 90)
YM = np.array([_RNG.choice(3, p=(row**0.5 + [0.2, 0, 0]) / (row**0.5 + [0.2, 0, 0]).sum()) for row in M])


def fitted(calibrator, matrix=False, turned=False):
    p, y = (M, YM) if matrix else (P, 1 - Y if turned else Y)
    if getattr(calibrator, "from_logits", False):
        p = np.log(p) if matrix else logit(np.clip(p, 1e-9, 1 - 1e-9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        return calibrator.fit(p, y)


def log_odds_at(inside, p, from_logits):
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = p if from_logits else np.log(p) - np.log1p(-p)
        _, at, value, slope, bend = inside.pieces
        i = np.searchsorted(inside.edges, p, side="right")
        away = z - at[i]
        found = value[i] + away * (slope[i] + bend[i] * away)
        if inside.a:
            found = found + inside.a * (-np.logaddexp(0, -z) if from_logits else np.log(p))
        if inside.b:
            found = found + inside.b * (np.logaddexp(0, z) if from_logits else -np.log1p(-p))
    return found


def vector_at(formula, p):
    inside = formula.inside
    if isinstance(inside, Steps):
        return inside.values[np.searchsorted(inside.edges, p, side="right")]
    if isinstance(inside, Odds):
        return p / (p + inside.weight * (1 - p))
    if not isinstance(inside, LogOdds):
        return np.interp(p, inside.x, inside.y)
    with np.errstate(over="ignore", invalid="ignore"):
        found = expit(log_odds_at(inside, p, formula.from_logits))
    if formula.ends is not None:
        cut, low, high = formula.ends
        found = np.where(p <= cut, low, np.where(1 - p <= cut, high, found))
    return found


def softmax_at(formula, rows):
    if formula.from_logits:
        z = rows
    elif formula.least:
        z = np.log(np.maximum(rows, formula.least))
    else:
        z = np.log(np.maximum(rows, 1e-320))
    found = z @ formula.matrix.T + formula.shift
    if formula.beta is not None:
        share = log_softmax(z, axis=1)
        for k, (c, a, b) in enumerate(formula.beta):
            own = np.exp(share[:, k])
            rest = np.maximum(np.exp(np.delete(share, k, axis=1)).sum(axis=1), 1e-300)
            found[:, k] -= formula.beta_weight * np.logaddexp(0, -(c + a * np.log(own) - b * np.log(rest)))
    found = np.exp(log_softmax(found, axis=1))
    if not formula.from_logits and not formula.least:
        found = np.where(rows == 0, 0, found)
        found = found / found.sum(axis=1, keepdims=True)
    return found


def at(formula, scores):
    if scores.ndim == 1:
        return vector_at(formula, scores)
    if isinstance(formula, PerClass):
        found = np.column_stack([vector_at(one, scores[:, k]) for k, one in enumerate(formula.columns)])
        return found / found.sum(axis=1, keepdims=True) if formula.normalize else found
    if isinstance(formula, Blend):
        parts = zip(formula.weights, formula.parts, strict=True)
        return formula.constant + sum(weight * softmax_at(part, scores) for weight, part in parts)
    return softmax_at(formula, scores)


@pytest.mark.all_cases
@pytest.mark.parametrize("calibrator", VECTORS, ids=name_of)
def test_a_formula_of_a_vector_equals_predict(calibrator):
    made = fitted(calibrator)
    scores = scores_for(made, 60)
    assert formula_of(made).from_logits == getattr(made, "from_logits", False)
    np.testing.assert_allclose(at(formula_of(made), scores), made.predict(scores), rtol=0, atol=1e-12)


@pytest.mark.all_cases
@pytest.mark.parametrize("calibrator", [*MATRICES, tn.AutoCalibration(from_logits=True)], ids=name_of)
def test_a_formula_of_a_matrix_equals_predict(calibrator):
    made = fitted(calibrator, matrix=True)
    scores = scores_for(made, 60)
    np.testing.assert_allclose(at(formula_of(made), scores), made.predict(scores), rtol=0, atol=1e-12)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    "scaler",
    [tn.PlattScaling(), tn.TemperatureScaling(), tn.QuadraticScaling(), tn.HistogramBinning(4), tn.PriorCorrection()],
    ids=name_of,
)
@pytest.mark.parametrize("turned", [False, True])
def test_steps_of_a_scaled_score_are_where_its_scaler_reaches_an_edge(scaler, turned):
    made = fitted(tn.ScalingBinning(5, split="none", scaler=scaler), turned=turned)
    scores = np.concatenate([scores_for(made, 300), formula_of(made).inside.edges])
    near = np.concatenate([scores, np.nextafter(scores, 0), np.nextafter(scores, 1)])
    assert at(formula_of(made), near).tolist() == made.predict(near).tolist()


def test_an_edge_that_only_the_score_of_one_reaches_is_a_step():
    class Level:
        def _map(self, p):
            return np.searchsorted([0.5, 1.0], p, side="right")

    found = _steps_of(Level(), lambda p: p, np.array([0.5, 1.0]))
    assert found.edges.tolist() == [0.5, 1.0]
    assert found.values.tolist() == [0, 1, 2]


@pytest.mark.parametrize("weight", [1e-200, 3.0, 1e200])
def test_odds_are_divided_or_subtracted_from(weight):
    made = tn.PriorCorrection(weight=weight).fit([0.2, 0.4, 0.6], [0, 1, 0])
    scores = np.array([0.0, 1e-210, 1e-190, 0.3, 1 - 1e-12, 1.0])
    np.testing.assert_allclose(at(formula_of(made), scores), made.predict(scores), rtol=1e-9, atol=0)


def test_of_equal_edges_the_last_one_counts():
    found = _distinct_steps(np.array([0.2, 0.5, 0.5, 0.7, 0.7]), np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.edges.tolist() == [0.2, 0.5, 0.7]
    assert found.values.tolist() == [0.0, 1.0, 3.0, 5.0]
    single = _distinct_steps(np.zeros(0), np.array([0.3]))
    assert (single.edges.tolist(), single.values.tolist()) == ([], [0.3])


def test_points_at_the_same_log_odds_are_one():
    pieces = _points(np.array([-1.0, 0.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0, 4.0]))
    assert pieces.breaks.tolist() == [-1.0, 0.0, 2.0]
    assert pieces.slope.tolist() == [1.0, 1.0, 1.5, 1.0]
    assert pieces.value.tolist() == [0.0, 0.0, 1.0, 4.0]
    assert pieces.at.tolist() == [-1.0, -1.0, 0.0, 2.0]


def test_the_first_float_that_reaches_a_level():
    levels = np.array([0.0, 5e-324, 0.25, 1.0, 1.5])
    assert first_scores(lambda p: p, levels).tolist() == [0.0, 5e-324, 0.25, 1.0, 2.0]
    assert first_scores(lambda p: (p >= 0.3).astype(float), np.array([0.5])).tolist() == [0.3]
    found = first_scores(np.sqrt, np.array([0.1, 0.7]))
    assert (np.sqrt(found) >= [0.1, 0.7]).all()
    assert (np.sqrt(np.nextafter(found, 0)) < [0.1, 0.7]).all()
