"""Calibrators by name, wherever a calibrator is an argument, and what a fitted one prints."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import trueness as tn
from trueness import InputError, simulate

ROWS = simulate.binary(300, distortion=simulate.Logit(slope=0.5), seed=0)
NEW = simulate.binary(50, seed=1).y_prob
NEW_THREE = simulate.multiclass(50, 3, seed=1).y_prob
THREE = simulate.multiclass(300, 3, distortion=simulate.LabelNoise(0.3), seed=0)


@pytest.mark.parametrize("name", ["isotonic", "isotonic-calibration", "IsotonicCalibration"])
def test_a_name_is_the_calibrator_with_its_defaults(name):
    one = tn.OneVsRest(name).fit(THREE.y_prob, THREE.y_true)
    other = tn.OneVsRest(tn.IsotonicCalibration()).fit(THREE.y_prob, THREE.y_true)
    assert np.array_equal(one.predict(NEW_THREE), other.predict(NEW_THREE))
    assert one.get_params(deep=False)["calibrator"] == name
    again = type(one).from_dict(one.to_dict())
    assert np.array_equal(again.predict(NEW_THREE), one.predict(NEW_THREE))


def test_names_serve_in_every_place_that_takes_a_calibrator():
    p, y = ROWS.y_prob, ROWS.y_true
    X = np.log(p / (1 - p))[:, None]
    by_name, by_itself = (
        tn.CalibratedClassifier(LogisticRegression(), calibrator, cv=3).fit(X, y).predict_proba(X)
        for calibrator in ("platt", tn.PlattScaling())
    )
    assert np.array_equal(by_name, by_itself)
    top = tn.TopLabel("histogram").fit(THREE.y_prob, THREE.y_true)
    assert np.array_equal(
        top.predict(NEW_THREE),
        tn.TopLabel(tn.HistogramBinning()).fit(THREE.y_prob, THREE.y_true).predict(NEW_THREE),
    )
    scaled = tn.ScalingBinning(4, scaler="beta").fit(p, y).predict(NEW)
    itself = tn.ScalingBinning(4, scaler=tn.BetaCalibration()).fit(p, y).predict(NEW)
    assert np.array_equal(scaled, itself)
    a = tn.assess(y, p)
    assert a.cross_fitted("platt").estimate("brier") == (
        a.cross_fitted(tn.PlattScaling()).estimate("brier")
    )


def test_a_name_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(
        InputError, match=r"`calibrator` must be one of auto-calibration, .*isotonic"
    ):
        tn.OneVsRest("isotnic").fit(THREE.y_prob, THREE.y_true)
    with pytest.raises(InputError, match="`calibrator` must take a single score"):
        tn.OneVsRest("matrix-scaling").fit(THREE.y_prob, THREE.y_true)
    with pytest.raises(InputError, match="'platt' takes no other calibrator after a colon"):
        tn.assess(ROWS.y_true, ROWS.y_prob).cross_fitted("platt:isotonic")


def test_a_fitted_calibrator_prints_what_was_chosen_and_gained():
    p, y = ROWS.y_prob, ROWS.y_true
    assert str(tn.PlattScaling()) == "PlattScaling()"
    fitted = tn.PlattScaling().fit(p, y)
    assert str(fitted).startswith("PlattScaling(). ")
    assert f"{fitted.slope_:.4g}" in str(fitted)
    assert repr(fitted) == "PlattScaling()"
    automatic = tn.AutoCalibration().fit(p, y)
    assert str(automatic) == f"AutoCalibration(). {automatic.summary()}"
    assert "log loss of new rows" in str(automatic)
