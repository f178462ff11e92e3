"""Every calibrator at the ends of what it takes: a finite, right answer, or an error that names the argument."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from trueness import InputError, TruenessWarning
from trueness.recalibrate import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    PriorCorrection,
    ScalingBinning,
    TemperatureScaling,
    TopLabel,
    VectorScaling,
    VennAbers,
)

TINY, ALMOST = 5e-324, 1 - 2**-53
OF_VECTORS = [
    BetaCalibration(),
    BetaCalibration(parameters="ab"),
    BetaCalibration(parameters="am"),
    HistogramBinning(3),
    HistogramBinning(3, "randomized", seed=0),
    HistogramBinning(3, "original"),
    HistogramBinning(3, "split", seed=0),
    HistogramBinning(3, "fixed-width"),
    IsotonicCalibration(),
    IsotonicCalibration(interpolation="step"),
    PlattScaling(),
    PriorCorrection(),
    ScalingBinning(3),
    TemperatureScaling(),
    VennAbers(),
    VennAbers(folds=3, seed=0),
]
OF_MATRICES = [
    DirichletCalibration(),
    MatrixScaling(),
    OneVsRest(BetaCalibration()),
    OneVsRest(IsotonicCalibration()),
    OneVsRest(PlattScaling()),
    PriorCorrection(),
    TemperatureScaling(),
    TopLabel(BetaCalibration()),
    TopLabel(PlattScaling()),
    VectorScaling(),
]
OF_LOGITS = [PlattScaling(from_logits=True), TemperatureScaling(from_logits=True)]
OF_LOGIT_MATRICES = [
    DirichletCalibration(from_logits=True),
    MatrixScaling(from_logits=True),
    OneVsRest(PlattScaling(from_logits=True)),
    TemperatureScaling(from_logits=True),
    VectorScaling(from_logits=True),
]

RNG = np.random.default_rng(11)
USUAL = RNG.random(40)
HALF, QUARTER = np.arange(20) % 2, (np.arange(20) % 4 == 0).astype(int)
SCORES = {
    "mixed": (
        np.r_[USUAL, TINY, 1e-310, 1e-305, 1e-300, ALMOST, 1 - 2**-52, 0.0, 1.0, 0.5, TINY],
        np.r_[RNG.random(40) < USUAL, [0, 1, 0, 1, 1, 0, 1, 0, 1, 1]].astype(int),
    ),
    "subnormal": (10.0 ** RNG.uniform(-323, -306, 40), np.r_[HALF, QUARTER]),
    "almost one": (np.repeat([ALMOST, 1 - 2**-52], 20), np.r_[HALF, QUARTER]),
    "zero and one": (np.repeat([0.0, 1.0], 20), np.r_[QUARTER, 1 - QUARTER]),
    "all tiny": (np.full(20, TINY), HALF),
    "all zero": (np.zeros(20), HALF),
    "all one": (np.ones(20), HALF),
    "all a third": (np.full(20, 1 / 3), HALF),
    "no event": (USUAL, np.zeros(40, int)),
    "events only": (np.tile([TINY, ALMOST, 0.0, 1.0, 0.5], 4), np.ones(20, int)),
    "separable": (np.repeat([TINY, ALMOST], 20), np.repeat([0, 1], 20)),
    "reversed": (np.repeat([TINY, ALMOST], 20), np.repeat([1, 0], 20)),
}
NEW = np.array([0, TINY, 1e-310, 1e-305, 1e-300, 1e-20, 0.3, 0.5, 1 - 1e-10, 1 - 2**-52, ALMOST, 1])
HUGE = [1e4, 1e6, 1e8, 1e151, 1e299, 1e300, 1e301, 1e308]


def answers(calibrator, p, y, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)
        labels = range(p.shape[1]) if p.ndim == 2 else None
        return clone(calibrator).fit(p, y, labels=labels).predict(new)


def as_matrix(p):
    return np.column_stack([1 - p, p / 2, p - p / 2])


@pytest.mark.parametrize("calibrator", OF_VECTORS, ids=repr)
def test_scores_at_the_ends_have_probabilities(calibrator):
    for name, (p, y) in SCORES.items():
        found = answers(calibrator, p, y, NEW)
        assert ((found >= 0) & (found <= 1)).all(), name


@pytest.mark.parametrize("calibrator", OF_MATRICES, ids=repr)
def test_rows_at_the_corners_have_probabilities(calibrator):
    for name, (p, y) in SCORES.items():
        found = answers(
            calibrator, as_matrix(p), np.where(y == 1, 1 + np.arange(y.size) % 2, 0), as_matrix(NEW)
        )
        assert ((found >= 0) & (found <= 1)).all(), name
        assert found.sum(axis=1) == pytest.approx(1), name


@pytest.mark.parametrize("parameters", ["abm", "am"])
@pytest.mark.parametrize("power", [-323, -310, -305, -300, -100, -40, -20, -10])
def test_beta_calibration_of_tiny_scores_meets_the_event_rate(parameters, power):
    p = 10.0 ** np.linspace(power, power + 3, 40)
    y = (np.arange(40) % 7 < 1 + np.arange(40) // 10).astype(int)
    found = answers(BetaCalibration(parameters=parameters), p, y, p[::-1])[::-1]
    assert found.mean() == pytest.approx(y.mean(), abs=1e-9)
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize("calibrator", OF_LOGITS, ids=repr)
def test_huge_logits_meet_the_event_rates_or_are_refused(calibrator, size):
    x, y = (
        np.repeat([size, -size], 30),
        np.r_[np.arange(30) % 3 > 0, np.arange(30) % 3 == 0].astype(int),
    )
    if size > 1e300:
        with pytest.raises(
            InputError,
            match=r"`y_prob` as logits must be within ±1e\+300; 60 of 60 are not, the first is",
        ):
            calibrator.fit(x, y)
    else:
        assert answers(calibrator, x, y, [size, 0.0, -size]) == pytest.approx(
            [2 / 3, 1 / 2, 1 / 3], abs=1e-6
        )


@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize("calibrator", OF_LOGIT_MATRICES, ids=repr)
def test_huge_logits_of_classes_have_probabilities_or_are_refused(calibrator, size):
    rng = np.random.default_rng(5)
    Z, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    Z[:4] = [[size, -size, 0.0], [0.0, size, size], [-size, -size, -size], [-size, 0.0, 1.0]]
    most = (
        1e6 if type(calibrator) in (DirichletCalibration, MatrixScaling, VectorScaling) else 1e300
    )
    if size > most:
        with pytest.raises(
            InputError, match=r"`y_prob` as logits must (be|lie) within ±1e\+(06|300)"
        ):
            calibrator.fit(Z, y)
        with pytest.raises(
            InputError, match=r"`y_prob` as logits must (be|lie) within ±1e\+(06|300)"
        ):
            answers(calibrator, np.clip(Z, -5, 5), y, Z)
        return
    found = answers(calibrator, Z, y, Z[::-1])
    assert ((found >= 0) & (found <= 1)).all()
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("size", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("kind", [DirichletCalibration, MatrixScaling, VectorScaling])
def test_bold_logits_do_not_end_the_search_before_its_optimum(kind, size):
    rng = np.random.default_rng(6)
    Z, y = size * rng.uniform(-1, 1, (60, 3)), rng.integers(0, 3, 60)
    fitted = kind(from_logits=True).fit(Z, y)
    rate = np.bincount(y, minlength=3) / 60
    ridge = fitted.l2 + (2 * fitted.odir / 3 if kind is DirichletCalibration else 0)
    # At the optimum the derivatives in the shifts vanish.
    excess = fitted.predict(Z[::-1]).mean(axis=0) - rate
    assert excess + ridge * fitted.intercept_ == pytest.approx(0, abs=1e-9)


def test_a_margin_of_any_size_is_scaled_like_any_other():
    x = np.linspace(-2, 3, 50)
    y = (np.random.default_rng(1).random(50) < expit(x)).astype(int)
    wanted = answers(PlattScaling(from_logits=True), x, y, x[::-1])
    for size in 1e-200, 1e-20, 1e20, 1e299:
        assert answers(
            PlattScaling(from_logits=True), size * x, y, size * x[::-1]
        ) == pytest.approx(wanted, abs=1e-9)
