"""The CORP decomposition, on more rows than fit in a block, and where nothing is to be recalibrated."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import trueness as tn


@pytest.mark.parametrize("weighted", [False, True])
def test_the_parts_of_many_rows_are_those_of_every_row(weighted):
    rng = np.random.default_rng(0)
    p = rng.random(3 * 2**14 + 5)
    y, w = (
        (rng.random(p.size) < p**1.2).astype(int),
        rng.integers(1, 4, p.size) if weighted else np.ones(p.size, int),
    )
    order = np.argsort(p)
    recalibrated = tn.IsotonicCalibration().fit(p, y, sample_weight=w)
    fitted = recalibrated.predict(p[order])
    found = tn.corp(y, p, sample_weight=w)
    squares = [
        np.average((x - y[order]) ** 2, weights=w[order])
        for x in (p[order], fitted, np.average(y, weights=w))
    ]
    assert found.score == pytest.approx(squares[0], rel=1e-13)
    assert found.miscalibration == pytest.approx(squares[0] - squares[1], abs=1e-14)
    assert found.discrimination == pytest.approx(squares[2] - squares[1], abs=1e-14)
    assert found.uncertainty == pytest.approx(squares[2], rel=1e-13)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_scores_that_are_their_own_recalibration_have_no_miscalibration_at_all(score):
    rates = np.arange(1, 20) / 20
    y = np.concatenate([np.arange(20) < round(20 * rate) for rate in rates]).astype(int)
    found = tn.corp(y, np.repeat(rates, 20), score=score)
    assert found.miscalibration == 0
    assert tn.corp([0, 1, 1], [0.5, 0.5, 0.5], score=score).discrimination == 0


@pytest.mark.parametrize("weights", ["none", "any"])
@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("kind", ["binary", "classwise", "confidence", "top-label"])
def test_the_parts_are_those_of_each_binary_problem(weights, score, kind):
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1, 1, 1], 80).round(2).clip(0.01, 0.98)
    P[:, 2] = 1 - P[:, :2].sum(axis=1)
    P = np.where((P > 0).all(axis=1, keepdims=True), P, 1 / 3)
    y, top, largest = rng.integers(0, 3, 80), P.argmax(axis=1), P.max(axis=1)
    given = {"none": None, "any": rng.uniform(0.1, 2, 80)}[weights]
    w, every = np.ones(80) if given is None else given, np.ones(80, bool)
    problems = {
        "binary": [(y == 1, P[:, 1], every)],
        "classwise": [(y == k, P[:, k], every) for k in range(3)],
        "confidence": [(y == top, largest, every)],
        "top-label": [(y == top, largest, top == k) for k in range(3)],
    }[kind]
    parts, shares = [], []
    for label, p, rows in problems:
        label, p, v = label[rows].astype(float), p[rows], w[rows]
        fitted = IsotonicRegression().fit(p, label, sample_weight=v).predict(p)
        own, isotonic, base = (
            np.average(loss(label, q, score), weights=v)
            for q in (p, fitted, np.full(p.size, np.average(label, weights=v)))
        )
        parts.append((own, own - isotonic, base - isotonic, base))
        shares.append(v.sum() if kind == "top-label" else 1)
    factor = 3 if kind == "classwise" and score == "brier" else 1
    expected = factor * np.average(parts, axis=0, weights=shares)
    data = (y == 1, P[:, 1], {}) if kind == "binary" else (y, P, {"kind": kind})
    found = tn.corp(*data[:2], score=score, sample_weight=given, **data[2])
    values = [found.score, found.miscalibration, found.discrimination, found.uncertainty]
    assert values == pytest.approx(expected, abs=1e-10)
    assert (found.rule, found.n) == (score, 80)


def loss(label, forecast, score):
    if score == "brier":
        return (label - forecast) ** 2
    with np.errstate(divide="ignore"):
        return -np.log(np.where(label == 1, forecast, 1 - forecast))


def test_the_log_score_of_an_impossible_label_is_infinite_and_of_a_certain_one_zero():
    found = tn.corp([1, 0, 1], [0.0, 0.5, 0.5], score="log")
    assert (found.score, found.miscalibration) == (np.inf, np.inf)
    assert np.isfinite([found.discrimination, found.uncertainty]).all()
    certain = tn.corp([0, 0, 1], [0.0, 0.0, 1.0], score="log")
    assert (certain.score, certain.miscalibration) == (0, 0)
    assert certain.discrimination == pytest.approx(certain.uncertainty)
