"""Fitted maps that can be written as SQL or ONNX, with awkward scores to ask them for."""

import warnings

import numpy as np

import trueness as tn

_BENT = tn.simulate.binary(1_500, distortion=tn.simulate.Logit(slope=0.5, shift=0.4), seed=0)
_P, _Y = np.array(_BENT.y_prob), np.array(_BENT.y_true)
_P[:8] = [0, 0, 0, 1, 1, 1, 1, 0.5]
_MATRIX = tn.simulate.multiclass(900, 3, distortion=tn.simulate.Temperature(2.0), seed=0)
_FLOATS = np.array(
    [0, 1, 5e-324, 1e-310, 1e-300, 1e-17, 2**-53, 1 - 2**-53, 1 - 2**-52, 0.25, 0.5, 0.75]
)

VECTORS = [
    tn.AutoCalibration(),
    tn.AutoCalibration(limits=True),
    tn.AutoCalibration(from_logits=True),
    tn.BetaCalibration(),
    tn.BetaCalibration(limits=True),
    tn.HistogramBinning(),
    tn.HistogramBinning(30, scheme="fixed-width"),
    tn.VennAbers(),
    tn.IsotonicCalibration(),
    tn.IsotonicCalibration(interpolation="step"),
    tn.IsotonicCalibration(interpolation="centred", prior=1.0),
    tn.PlattScaling(),
    tn.PlattScaling(limits=True),
    tn.PlattScaling(eps=1e-300),
    tn.PlattScaling(from_logits=True),
    tn.PriorCorrection(),
    tn.PriorCorrection(weight=1e200),
    tn.recalibrate.QuadraticScaling(),
    tn.recalibrate.QuadraticScaling(signed=True, limits=True),
    tn.ScalingBinning(split="none"),
    tn.ScalingBinning(split="none", scaler=tn.IsotonicCalibration()),
    tn.ScalingBinning(split="none", scaler=tn.HistogramBinning(7)),
    tn.SplineCalibration(monotone=False),
    tn.SplineCalibration(from_logits=True),
    tn.TemperatureScaling(),
    tn.TemperatureScaling(from_logits=True),
]
MATRICES = [
    tn.AutoCalibration(),
    tn.AutoCalibration(eps=0.01),
    tn.recalibrate.EnsembleTemperatureScaling(),
    tn.recalibrate.StructuredScaling(),
    tn.recalibrate.StructuredScaling(structure="vector", from_logits=True),
    tn.recalibrate.DirichletCalibration(),
    tn.recalibrate.MatrixScaling(),
    tn.recalibrate.MatrixScaling(from_logits=True),
    tn.OneVsRest(),
    tn.OneVsRest(tn.IsotonicCalibration()),
    tn.OneVsRest(tn.BetaCalibration(), normalize=False),
    tn.PriorCorrection(),
    tn.TemperatureScaling(),
    tn.TemperatureScaling(limits=True),
    tn.TemperatureScaling(from_logits=True),
    tn.recalibrate.VectorScaling(),
    tn.recalibrate.VectorScaling(limits=True),
    tn.recalibrate.VectorScaling(from_logits=True),
]
MATRIX_OF_LOGITS = tn.AutoCalibration(from_logits=True)
REFUSED = [
    (tn.HistogramBinning(scheme="randomized", seed=0), "by random numbers"),
    (
        tn.ScalingBinning(split="none", scaler=tn.HistogramBinning(4, "randomized", seed=0)),
        "by random numbers",
    ),
    (tn.TopLabel(min_rows=1), "which of its scores is the largest"),
    (tn.AutoCalibration(limits=True), "which others are 0"),
]


def fitted(calibrator):
    """The calibrator after `fit` on scores of which some are 0 and 1."""
    refused = any(calibrator is other for other, _ in REFUSED) and calibrator._shape != "vector"
    matrix = (
        refused
        or any(calibrator is one for one in [*MATRICES, MATRIX_OF_LOGITS])
        or calibrator._shape == "matrix"
    )
    p, y = (_MATRIX.y_prob, _MATRIX.y_true) if matrix else (_P, _Y)
    if getattr(calibrator, "from_logits", False):
        p = (
            np.log(p)
            if matrix
            else np.log(np.clip(p, 1e-9, 1 - 1e-9) / (1 - np.clip(p, 1e-9, 1 - 1e-9)))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        return calibrator.fit(p, y)


def scores_for(calibrator, n):
    """`n` random scores, and all awkward ones: ends, denormals, edges of the map and their neighbours."""
    rng = np.random.default_rng(1)
    if calibrator.n_classes_ is not None:
        rows = np.concatenate(
            [rng.dirichlet([0.3, 1, 2], n), np.eye(3), [[0.5, 0, 0.5], [0, 0, 1.0]]]
        )
        return (
            np.log(np.maximum(rows, 1e-30)) if getattr(calibrator, "from_logits", False) else rows
        )
    if getattr(calibrator, "from_logits", False):
        knots = np.array(
            [0, 1e-300, 745, -745, 1e4, -1e4, 1e300, -1e300, *getattr(calibrator, "knots_", [])]
        )
        return np.concatenate([rng.normal(0, 6, n), knots])
    edges = [getattr(calibrator, name, []) for name in ("edges_", "low_", "high_", "centre_")]
    eps = getattr(calibrator, "eps_", 0.25)
    edges = np.concatenate([*edges, [eps, 1 - eps]])
    near = [np.nextafter(edges, 0), np.nextafter(edges, 1)]
    return np.concatenate([rng.random(n), rng.beta(0.05, 0.05, n), _FLOATS, edges, *near])


def name_of(calibrator):
    return repr(calibrator).replace("\n", "").replace(" ", "")
