"""The CORP decomposition, on more rows than fit in a block, and where nothing is to be recalibrated."""

import numpy as np
import pytest

import trueness as tn
from trueness.measure._corp import _BLOCK


@pytest.mark.parametrize("weighted", [False, True])
def test_the_parts_of_many_rows_are_those_of_every_row(weighted):
    rng = np.random.default_rng(0)
    p = rng.random(3 * _BLOCK + 5)
    y, w = (rng.random(p.size) < p**1.2).astype(int), rng.integers(1, 4, p.size) if weighted else np.ones(p.size, int)
    order = np.argsort(p)
    recalibrated = tn.IsotonicCalibration().fit(p, y, sample_weight=w)
    fitted = recalibrated.predict(p[order])
    found = tn.corp(y, p, sample_weight=w)
    squares = [np.average((x - y[order]) ** 2, weights=w[order]) for x in (p[order], fitted, np.average(y, weights=w))]
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
