"""ONNX models reproduce `predict`."""

import numpy as np
import pytest
from grids import slow
from travelling_maps import (
    MATRICES,
    MATRIX_OF_LOGITS,
    REFUSED,
    VECTORS,
    fitted,
    name_of,
    scores_for,
)

import trueness as tn

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

TOLERANCE = {"float64": 1e-12, "float32": 1e-6}
every_type = pytest.mark.parametrize("dtype", TOLERANCE)


def run(model, scores):
    session = runtime.InferenceSession(
        model if isinstance(model, str) else model.SerializeToString()
    )
    (found,) = session.run(["calibrated"], {"scores": scores})
    return found


def assert_equals_predict(calibrator, dtype, n):
    made = fitted(calibrator)
    scores = scores_for(made, n)
    scores = scores[np.abs(scores).reshape(len(scores), -1).max(axis=1) < 1e30].astype(dtype)
    found = run(made.to_onnx(dtype=dtype), scores)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, made.predict(scores), rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", *slow("float64")])
@pytest.mark.parametrize("calibrator", VECTORS + MATRICES, ids=name_of)
def test_a_model_equals_predict(calibrator, dtype):
    assert_equals_predict(calibrator, dtype, 200)


@pytest.mark.slow
@every_type
@pytest.mark.parametrize("calibrator", VECTORS + MATRICES, ids=name_of)
def test_a_model_equals_predict_on_many_scores(calibrator, dtype):
    assert_equals_predict(calibrator, dtype, 100_000)


def test_scores_that_predict_refuses_are_nan():
    model = fitted(tn.HistogramBinning()).to_onnx()
    assert np.isnan(run(model, np.array([np.nan, -0.1, 1.1, np.inf, 0.5]))).tolist() == [
        True
    ] * 4 + [False]
    rows = np.array([[np.nan, 0.5, 0.5], [0.2, 0.3, 0.5]])
    assert (
        np.isnan(
            run(
                fitted(tn.TemperatureScaling().set_params(eps=0.01)).to_onnx(), np.array([0.5, 2.0])
            )
        ).sum()
        == 1
    )
    for made in (tn.recalibrate.VectorScaling(), tn.OneVsRest()):
        assert np.isnan(run(fitted(made).to_onnx(), rows)).tolist() == [[True] * 3, [False] * 3]


def test_a_model_is_written_to_a_file_and_checked(tmp_path):
    made = fitted(tn.PlattScaling())
    model = made.to_onnx(tmp_path / "map.onnx")
    assert onnx.load(tmp_path / "map.onnx") == model
    assert model.producer_name == "trueness"
    np.testing.assert_allclose(
        run(str(tmp_path / "map.onnx"), np.array([0.3])), made.predict([0.3]), atol=1e-12
    )


@pytest.mark.parametrize(
    ("calibrator", "reason"), REFUSED, ids=lambda v: name_of(v) if hasattr(v, "fit") else ""
)
def test_maps_that_are_no_formula_are_refused(calibrator, reason):
    with pytest.raises(tn.InputError, match=f"cannot be written as one formula: .*{reason}"):
        fitted(calibrator).to_onnx()


def test_types_are_named():
    with pytest.raises(
        tn.InputError, match="`dtype` must be 'float64' or 'float32'; got 'float16'"
    ):
        fitted(tn.PlattScaling()).to_onnx(dtype="float16")


@every_type
@pytest.mark.parametrize("interpolation", ["linear", "step", "centred"])
def test_scores_outside_the_fitted_ones_have_the_values_of_the_ends(dtype, interpolation):
    p, y = [0.25, 0.375, 0.5, 0.625, 0.75, 0.875], [0, 1, 0, 1, 0, 1]
    made = tn.IsotonicCalibration(interpolation=interpolation, prior=1.0).fit(p, y)
    scores = np.linspace(0, 1, 17).astype(dtype)
    np.testing.assert_allclose(
        run(made.to_onnx(dtype=dtype), scores), made.predict(scores), atol=TOLERANCE[dtype]
    )
    assert made.predict([0.1]) == made.predict([0.25])


def test_a_model_runs_in_runtimes_of_2022():
    """ONNX 1.12 of June 2022 reads operators up to version 17 in files of version 8."""
    model = fitted(tn.PlattScaling()).to_onnx()
    assert model.ir_version <= 8
    assert [one.version <= 17 for one in model.opset_import] == [True]


@pytest.mark.parametrize(
    "calibrator",
    [MATRIX_OF_LOGITS, tn.recalibrate.DirichletCalibration(from_logits=True)],
    ids=name_of,
)
def test_a_model_may_normalize_logits_first(calibrator):
    assert_equals_predict(calibrator, "float64", 200)


def test_rows_with_one_logit_too_large_are_nan():
    made = fitted(tn.recalibrate.MatrixScaling(from_logits=True))
    rows = np.array([[-1e6, 0, 1e6], [-1.1e6, 0, 0], [0, 1.1e6, 0], [1, 2, np.nan]])
    assert np.isnan(run(made.to_onnx(), rows)[:, 0]).tolist() == [False, True, True, True]
    line = run(
        fitted(tn.PlattScaling(from_logits=True)).to_onnx(),
        np.array([-1e300, 2.0, 1e300, -1e301, 1e301]),
    )
    assert np.isnan(line).tolist() == [False] * 3 + [True] * 2
