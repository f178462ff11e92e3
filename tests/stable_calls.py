"""Calls of the public functions with small samples, whose answers `stable_numbers.py` keeps and compares."""

import inspect
import re

import numpy as np
from sklearn.linear_model import LogisticRegression

import trueness as tn
from trueness.plot import LevelHistogramDisplay, TestReliabilityDisplay

ROWS = 90


def samples():
    """Rows and options of each sample, by name."""
    rng = np.random.default_rng(20)
    p = rng.beta(1.2, 1.5, ROWS).round(2)
    p[:6] = [0, 0, 1, 1, 0.5, 0.5]
    y = (rng.random(ROWS) < p**1.5).astype(int)
    y[:6] = [0, 0, 1, 1, 0, 1]
    inner = np.clip(p, 0.01, 0.99)
    P = rng.dirichlet([1.0, 2.0, 1.5], ROWS).round(3)
    P[:, 2] = 1 - P[:, 0] - P[:, 1]
    classes = (P.cumsum(axis=1) < rng.random(ROWS)[:, None]).sum(axis=1)
    whole, real = rng.integers(0, 4, ROWS), rng.gamma(2.0, 1.0, ROWS).round(3)
    cluster = np.arange(ROWS) // 4
    many = rng.random(6_000)
    of_many = (rng.random(6_000) < many**1.1).astype(int)
    return {
        "rows": ((y, p), {}),
        "inner scores": ((y, inner), {}),
        "repeated rows": ((y, inner), {"sample_weight": whole}),
        "weights": ((y, inner), {"sample_weight": real}),
        "clusters": ((y, inner), {"cluster": cluster}),
        "weighted clusters": ((y, inner), {"cluster": cluster, "sample_weight": real}),
        "repeated clusters": ((y, p), {"cluster": cluster, "sample_weight": whole}),
        "class-wise": ((classes, P), {"kind": "classwise"}),
        "confidence": ((classes, P), {"kind": "confidence"}),
        "top-label": ((classes, P), {"kind": "top-label", "sample_weight": whole}),
        "clustered classes": ((classes, P), {"kind": "confidence", "cluster": cluster}),
        "three classes": ((classes, P), {}),
        "weighted classes": ((classes, P), {"sample_weight": real}),
        "two classes": ((y, np.stack([1 - inner, inner], axis=1)), {}),
        "rare events": (((np.arange(ROWS) % 30 == 0).astype(int), inner / 12), {}),
        "one label": ((np.zeros(ROWS, int), inner / 12), {}),
        "few rows": ((y[6:12], inner[6:12]), {}),
        "two rows": ((np.array([0, 1]), np.array([0.3, 0.6])), {}),
        "one row": ((np.array([1]), np.array([0.3])), {}),
        "equal scores": ((y[:30], np.full(30, 0.3)), {}),
        "one heavy row": ((y[6:18], inner[6:18]), {"sample_weight": np.array([60.5] + [0.5] * 11)}),
        "separated": (
            (
                np.array([0, 0, 0, 0, 1, 1, 1, 1]),
                np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.6, 0.7, 0.8]),
            ),
            {},
        ),
        "both columns": (
            (y, np.stack([1 - inner, inner], axis=1)),
            {"kind": "classwise", "sample_weight": whole},
        ),
        "two clusters": ((y, inner), {"cluster": np.arange(ROWS) < 45}),
        "one cluster": ((y[:20], inner[:20]), {"cluster": np.zeros(20, int)}),
        "wrong certain score": ((1 - y[:40], p[:40]), {}),
        "many rows": ((of_many, many), {}),
        "many weights": ((of_many, many), {"sample_weight": np.tile([0.3, 1.7, 2.2], 2_000)}),
        "many rows of a tally": ((tn.tally(of_many, many),), {}),
        "large sketch": ((tn.sketch(of_many, many),), {}),
        "large weighted sketch": (
            (tn.sketch(of_many, many, sample_weight=np.tile([0.3, 1.7, 2.2], 2_000)),),
            {},
        ),
        "large class-wise sketch": (
            (tn.sketch(of_many[:1500], np.stack([1 - many, many], axis=1)[:1500]),),
            {},
        ),
        "tally": ((tn.tally(y, p),), {}),
        "weighted tally": ((tn.tally(y, inner, sample_weight=real),), {}),
        "class-wise tally": ((tn.tally(classes, P),), {}),
        "confidence tally": ((tn.tally(classes, P, kind="confidence"),), {}),
        "bins": ((tn.binned(y, inner, bins=5),), {}),
        "class-wise bins": ((tn.binned(classes, P, bins=5, sample_weight=real),), {}),
        "sketch": ((tn.sketch(y, p),), {}),
        "weighted sketch": ((tn.sketch(y, inner, sample_weight=real),), {}),
    }


SAMPLES = samples()
VECTORS = [
    "rows",
    "inner scores",
    "repeated rows",
    "weights",
    "rare events",
    "one label",
    "few rows",
]
MATRICES = ["class-wise", "confidence", "top-label"]
TINY = ["separated", "two rows", "one row", "equal scores", "one heavy row"]
CLUSTERS = [
    "two clusters",
    "one cluster",
    "clusters",
    "weighted clusters",
    "repeated clusters",
    "clustered classes",
]
SUMS = [
    "tally",
    "weighted tally",
    "class-wise tally",
    "confidence tally",
    "bins",
    "class-wise bins",
    "sketch",
]
SUMS = [*SUMS, "weighted sketch"]
ALL = [
    *VECTORS,
    *TINY,
    *MATRICES,
    *CLUSTERS,
    *SUMS,
    "wrong certain score",
    "two classes",
    "both columns",
]
LARGE = [
    "many rows",
    "many weights",
    "large sketch",
    "large weighted sketch",
    "large class-wise sketch",
]
ESTIMATED = [
    *VECTORS,
    *MATRICES,
    "one row",
    "one heavy row",
    "clusters",
    "weighted clusters",
    "clustered classes",
]
ESTIMATED += ["weighted tally", "class-wise tally", "bins", "sketch"]
NO_CLUSTERS = [one for one in ALL if one not in CLUSTERS]
MAPS = ["equal scores", "two rows", "one heavy row", *VECTORS[:6]]
IMPORTANCE = {"weight_type": "importance"}


def grid(names, among, *options):
    """Each function with each sample and each set of options."""
    names = [names] if isinstance(names, str) else names
    return [
        (name, sample, option)
        for name in names
        for sample in among
        for option in (options or ({},))
    ]


def choices(name, values, **others):
    """Sets of options that differ in one."""
    return [{name: value, **others} for value in values]


GOALS = [
    *(
        {"oe_width": 0.3},
        {"oe_se": 0.1},
        {"slope_width": 0.4},
        {"brier_width": 0.05},
        {"c_width": 0.1},
    ),
    *({"accept_oe": 0.3}, {}, {"detect_oe": 1.3}, {"detect_slope": 0.7}),
]
ACCEPTED = [{"accept_l2": 0.15}, {"accept_ece": 0.15}, {"accept_band": 0.2}]
RULES = [
    *(tn.BlockIsotonic(5), tn.BlockIsotonic(5, 12), tn.BlockIsotonic(5, 12, fuse=False)),
    *(tn.BlockIsotonic(5, ties="split"), tn.Isotonic()),
    *(
        tn.Distinct(),
        tn.measure.MassAndWidth(8, 5),
        tn.EqualMass(4),
        tn.EqualWidth(3),
        [0, 0.2, 0.21, 1],
    ),
]
EDGES = [
    [0, 1],
    [0.0, 0.5, 1.2],
    [-0.1, 0.5, 1],
    [0, 0.5, 0.5, 1],
    [0.2, 0.8],
    [0, 0.01, 1],
    [1],
    [],
    [[0, 1]],
    0,
    1,
]
TESTS = [
    "omnibus",
    "exact",
    "analytic",
    "t-cal",
    "adaptive-t-cal",
    "ks",
    "kuiper",
    "spiegelhalter",
    "cox",
]
RESAMPLED = [
    "bootstrap",
    "basic-bootstrap",
    "centred-bootstrap",
    "subsampling",
    "subsampling-published",
]
RESAMPLED += ["adaptive-hulc"]
MEASURES = ["ece", "ece_l2", "l2", "ace", "mce", "gce", "tce", "smooth_ece", "squared_ece", "brier"]
MEASURES += ["scaled_brier", "log_loss"]
MEASURES += [
    "calibration_slope",
    "calibration_intercept",
    "free_intercept",
    "observed_expected",
    "auc",
    "ici",
    "e50",
]
MEASURES += [
    "e90",
    "emax",
    "miscalibration",
    "discrimination",
    "uncertainty",
    "ks",
    "kuiper",
    "prevalence",
    "accuracy",
]
MEASURE_CALLS = [
    *grid("ece", NO_CLUSTERS, {}, {"bins": 4, "norm": "l2"}, {"bins": tn.EqualMass(4), "norm": 3}),
    *grid(
        "ece", ["inner scores", "weights", "tally", "class-wise", "sketch"], *choices("bins", RULES)
    ),
    *grid("ece", ["rows", "tally"], *choices("bins", EDGES)),
    *grid("ace", NO_CLUSTERS, {"bins": 5}, {"bins": 1}),
    *grid("mce", NO_CLUSTERS, {"bins": 5}),
    *grid(
        "tce",
        NO_CLUSTERS,
        {"bins": 5},
        {"test": "t", "bins": 5},
        {"alpha": 0.4, "norm": "l2", "bins": 4},
    ),
    *grid("tce", ["rows", "repeated rows", "tally"], {}, {"test": "t-variance-for-deviation"}),
    *grid("gce", NO_CLUSTERS, {"loss": "squared"}, {"loss": "rejection", "bins": 4}),
    *grid(
        ["brier", "log_loss", "scaled_brier", "auc", "smooth_ece", "observed_expected"], NO_CLUSTERS
    ),
    *grid(
        ["calibration_slope", "calibration_intercept", "e50", "emax", "ici", "estimation_error"],
        NO_CLUSTERS,
    ),
    *grid(["e90", "ici"], ["inner scores", "weights", "sketch"], {"curve": "loess"}, {"knots": 3}),
    *grid("corp", NO_CLUSTERS, {}, {"score": "log"}),
    *grid("squared_ece", NO_CLUSTERS, {}, {"bins": 3}, {"bins": 3, **IMPORTANCE}),
    *grid(
        "squared_ece",
        ["three classes", "weighted classes"],
        {"k": 2},
        {"k": 3, "bins": 4},
        {"smoothness": 0.5},
    ),
    *grid("bin_table", NO_CLUSTERS, {"bins": 4}, {"bins": 4, "interval": "wilson", "level": 0.8}),
    *grid("bin_table", ["rows", "weights"], {"bins": 4, "interval": "jeffreys"}, {"bins": 25}),
    *grid(
        "own test",
        ["rows", "repeated rows", "class-wise"],
        {"bins": 4},
        {"bins": 4, "norm": "max", "alpha": 0.3},
    ),
    *grid(
        "reliability_curve",
        NO_CLUSTERS,
        *choices("method", ["binned", "isotonic", "smooth", "spline", "loess"]),
    ),
    *grid(
        ["ece", "ace", "mce", "brier", "log_loss", "auc", "smooth_ece", "e90", "ici", "corp"], LARGE
    ),
    *grid(
        ["calibration_slope", "calibration_intercept", "squared_ece", "tce", "estimation_error"],
        LARGE,
    ),
    *grid("tested bins", ["tally", "many rows of a tally"], *choices("test", ["binomial", "t"])),
]
SUM_CALLS = [
    *grid(["tally", "binned"], ["rows", "repeated rows", "weights", *MATRICES]),
    *grid("binned", ["rows", "weights", "class-wise"], *choices("bins", RULES)),
    *grid(
        "accumulated",
        ["rows", "repeated rows", "weights", *MATRICES],
        *choices("bins", ["sketch", "distinct", 5]),
    ),
    *grid(
        "accumulated", ["rows", "weights", "confidence"], *choices("bins", ["sketch", 5], by="day")
    ),
]
INFER_CALLS = [
    *grid(
        "ece_interval",
        [*VECTORS, *TINY, *MATRICES, "three classes", "two classes"],
        *choices("method", ["score", "analytic"]),
    ),
    *grid("ece_interval", [*CLUSTERS, *SUMS, "many rows"], {}, {"squared": True, "level": 0.8}),
    *grid(
        "ece_interval",
        ["weights", "weighted clusters", "weighted classes"],
        IMPORTANCE,
        {"bins": 3, **IMPORTANCE},
    ),
    *grid(
        "ece_interval",
        ["three classes", "weighted classes"],
        {"k": 2},
        {"k": 3, "method": "analytic"},
    ),
    *grid(
        "ece_interval",
        ["rows", "three classes"],
        {"method": "analytic", "support": "reachable", "bins": 3},
    ),
    *grid(
        "ece_interval",
        ["inner scores", "repeated rows", "three classes", "equal scores", "many rows"],
        *choices("method", RESAMPLED, resamples=99),
    ),
    *grid("ece_interval", ["inner scores", "three classes", "many rows"], {"method": "hulc"}),
    *grid(
        "noise_floor",
        ["rows", "repeated rows", "class-wise"],
        *choices("measure", ["ece", "tce", "smooth_ece", "ace"]),
    ),
    *grid("calibration_test", ALL, *choices("method", TESTS)),
    *grid("calibration_test", ["many rows"], *choices("method", ["omnibus", "ks", "cox", "t-cal"])),
    *grid("calibration_test", ["wrong certain score"], {"rounded_to": 0.01}),
    *grid("calibration_test", ALL, {"method": "hosmer-lemeshow", "bins": 4}),
    *grid(
        "calibration_test", ["inner scores", "tally"], {"method": "hosmer-lemeshow", "fitted": True}
    ),
    *grid("calibration_test", ["inner scores"], *choices("method", ["t-cal", "analytic"], bins=4)),
    *grid(
        "calibration_test",
        ["three classes", "weighted classes"],
        {},
        {"k": 2},
        {"method": "analytic", "k": 3},
    ),
    *grid("cumulative_walk", NO_CLUSTERS, {}, {"level": 0.8}),
    *grid(
        "curve_band",
        NO_CLUSTERS,
        {"method": "monotone"},
        {"level": 0.8, "method": "monotone"},
    ),
    *grid("curve_band", ALL, *choices("method", ["spline", "loess"], at=[0.1, 0.3, 0.5, 0.8])),
    *grid(
        "curve_band",
        ["rows", "weights", "clusters", "weighted clusters", "class-wise", "tally", "sketch"],
        *choices("method", ["spline", "loess"], band="simultaneous", at=[0.1, 0.3, 0.5, 0.8]),
    ),
    *grid(
        "curve_band",
        NO_CLUSTERS,
        {"bins": 4, "method": "bins"},
        {"bins": 4, "band": "simultaneous", "method": "bins"},
    ),
    *grid(
        "curve_band",
        NO_CLUSTERS,
        *choices("band", ["consistency", "simultaneous-consistency"], bins=4, method="bins"),
    ),
    *grid("prior_shift", ALL),
    *grid("prior_shift", ["rows", "weights", "clusters"], {"level": 0.8}),
    *grid("equivalence_test", ALL, *choices("criterion", ["l2", "ece", "oe", "band"], within=0.2)),
    *grid(
        "equivalence_test",
        ["weights", "weighted clusters"],
        *choices("criterion", ["l2", "ece"], **IMPORTANCE),
    ),
    *grid(
        "equivalence_test",
        ["rows", "many rows"],
        {"criterion": "band", "share": 0.9, "within": 0.1},
    ),
    *grid(
        "grade_table",
        ["rows", "repeated rows", "rare events", "one label", "tally", "bins"],
        {"bins": 3},
    ),
    *grid(
        "graded",
        ["rows", "weights", "repeated rows", "rare events"],
        {},
        {"correlation": 0.1},
        {"level": 0.8},
    ),
    *grid(
        "grade_table",
        ["rows", "rare events"],
        {"bins": 3, "correlation": 0.1, "lights": (0.8, 0.9)},
    ),
    *grid(
        "grade_table", ["rows", "weights"], {"bins": 3, "correlation": 0.1, "portfolio": "finite"}
    ),
    *grid(
        "panel",
        ["rows", "weights", "weighted clusters", "confidence", "one label", "bins"],
        {"floor": False},
    ),
    *grid("panel", ["rows", "clusters", "tally"], {"curve": "loess", "level": 0.8}),
    *grid(
        "segments", [*VECTORS, *TINY, *CLUSTERS, "confidence", "many rows", "wrong certain score"]
    ),
    *grid("segments", ["wrong certain score"], {"rounded_to": 0.01}),
    *grid("segments", ["rows", "weights", "clusters"], {"crossed": 2, "level": 0.8}),
    *grid("estimate", ESTIMATED, *choices("measure", MEASURES, floor=False)),
    *grid(
        "estimate",
        ["rows", "weights", "clusters", "many rows"],
        *choices("measure", ["ece", "smooth_ece", "ici"]),
    ),
    *grid(
        "estimate",
        ["rows", "class-wise", "tally"],
        *choices("measure", ["miscalibration", "tce", "mce", "ks"]),
    ),
    *grid("estimate", LARGE, *choices("measure", MEASURES, floor=False)),
    *grid(["prior_shift", "cumulative_walk", "equivalence_test"], LARGE),
    *grid("curve_band", LARGE, {"method": "monotone"}),
    *grid("curve_band", LARGE, {"bins": 4, "band": "consistency", "method": "bins"}),
    *grid(
        "curve_band",
        LARGE,
        *choices("method", ["spline", "loess"], at=[0.1, 0.3, 0.8], band="simultaneous"),
    ),
    *grid(
        "compare",
        [*VECTORS[:4], *TINY, *CLUSTERS, *MATRICES],
        *choices("measure", ["squared_ece", "brier", "log_loss"]),
    ),
    *grid(
        "compare",
        ["weights", "weighted clusters"],
        *choices("measure", ["squared_ece", "brier"], **IMPORTANCE),
    ),
    *grid("calibration_series", [*VECTORS[:4], *MATRICES], *choices("of", ["tally", "sketch"])),
    *grid(
        "validation_size",
        [""],
        *({"prevalence": 0.1, "c_statistic": 0.75, **goal} for goal in GOALS),
    ),
    *grid("validation_size", [""], *({"scores": [0.1, 0.2, 0.2, 0.7], **goal} for goal in GOALS)),
    *grid("validation_size", [""], *choices("scores", [[], [0.3], [[0.3]]], oe_width=0.3)),
    *grid("validation_size", [""], *({"log_odds": (-2.0, 1.0), **goal} for goal in GOALS)),
    *grid(
        "validation_size",
        [""],
        *({"prevalence": 0.3, "c_statistic": 0.8, **goal} for goal in ACCEPTED),
    ),
]
BINARY = [
    "PlattScaling",
    "BetaCalibration",
    "TemperatureScaling",
    "IsotonicCalibration",
    "HistogramBinning",
]
BINARY += [
    "ScalingBinning",
    "SplineCalibration",
    "QuadraticScaling",
    "VennAbers",
    "AutoCalibration",
]
SEVERAL = [
    "TemperatureScaling",
    "EnsembleTemperatureScaling",
    "VectorScaling",
    "MatrixScaling",
    "DirichletCalibration",
]
SEVERAL += ["StructuredScaling", "OneVsRest", "TopLabel", "AutoCalibration", "PriorCorrection"]
SOME = ["rows", "weights"]
CALIBRATOR_CALLS = [
    *grid([*BINARY, "PriorCorrection"], MAPS),
    *grid(SEVERAL, ["three classes", "weighted classes"]),
    *grid(
        "PlattScaling", SOME, {"targets": "platt"}, {"limits": True}, {"ridge": 1.0}, {"eps": 0.01}
    ),
    *grid("PlattScaling", SOME, {"from_logits": True}),
    *grid(
        "BetaCalibration",
        SOME,
        *choices("parameters", ["am", "ab"]),
        {"ridge": 1.0},
        {"limits": True},
    ),
    *grid(
        "TemperatureScaling",
        SOME,
        {"limits": True},
        {"ridge": 1.0},
        {"eps": 0.01},
        {"from_logits": True},
    ),
    *grid(
        "IsotonicCalibration", SOME, *choices("interpolation", ["step", "centred"]), {"prior": 2.0}
    ),
    *grid("IsotonicCalibration", SOME, {"y_min": 0.1, "y_max": 0.8}),
    *grid(
        "HistogramBinning",
        ["rows", "repeated rows", "weights"],
        *choices("scheme", ["umd", "randomized", "original", "split", "fixed-width"], n_bins=4),
    ),
    *grid("HistogramBinning", ["rows"], {"n_bins": "auto", "epsilon": 0.3}),
    *grid(
        "ScalingBinning", SOME, {"n_bins": 3, "split": "none"}, {"n_bins": 3, "scaler": "identity"}
    ),
    *grid("ScalingBinning", SOME, {"n_bins": 3, "split": "none", "bins": "umd"}),
    *grid(
        "SplineCalibration",
        SOME,
        {"n_knots": 3},
        {"monotone": False},
        {"ridge": 0.1, "limits": True},
    ),
    *grid(
        "QuadraticScaling",
        SOME,
        {"signed": True},
        {"monotone": False},
        {"limits": True},
        {"from_logits": True},
    ),
    *grid("VennAbers", SOME, {"folds": 3}, {"folds": 3, "merge": "brier"}),
    *grid("AutoCalibration", SOME, {"monotone": False}, {"level": 0.5}),
    *grid(
        "PriorCorrection",
        ["rows"],
        {"weight": 3.0},
        {"rate_train": 0.5, "rate_deploy": 0.2},
        {"level": 0.8},
    ),
    *grid(
        "StructuredScaling",
        ["three classes"],
        {"structure": "vector"},
        {"ridge": 0.1},
        {"from_logits": True},
    ),
    *grid("MatrixScaling", ["three classes"], {"odir": 1.0}, {"l2": 0.1}),
    *grid("VectorScaling", ["three classes"], {"l2": 0.1, "limits": True}),
    *grid(
        "DirichletCalibration",
        ["three classes"],
        {"odir": 1.0},
        {"odir": 1.0, "odir_intercept": 0.1},
    ),
    *grid("OneVsRest", ["three classes"], {"normalize": False}),
    *grid("TopLabel", ["three classes"], {"kind": "confidence"}, {"min_rows": 5}),
    *grid("validity_curve", NO_CLUSTERS, {}, {"bins": 4}),
    *grid("validate", ["rows", "weights", "clusters"], {"cv": 3}),
    *grid(
        "clustered map", ["clusters", "weighted clusters", "repeated clusters", "clustered classes"]
    ),
    *grid("CalibratedClassifier", ["rows", "weights"], {"cv": 2}, {"cv": 2, "ensemble": True}),
    *grid("CalibratedClassifier", ["three classes"], {"cv": 2}),
    *grid("prior_correction", ["rows"], {"weight": 3.0}, {"rate_train": 0.5, "rate_deploy": 0.1}),
    *grid("prior_correction", ["three classes"], {"weight": [1.0, 2.0, 0.5]}),
]
PLANS = [
    {"kind": kind, "scheme": scheme, "bound": bound}
    for kind in ("conditional", "marginal", "expected-ece")
    for scheme in ("umd", "randomized", "original", "split", "fixed-width")
    for bound in ("hoeffding", "exact", "clopper-pearson", "bernstein")
]
PLANNING_CALLS = [
    *grid("epsilon", [""], *({"n": 1000, "n_bins": 7, **plan} for plan in PLANS)),
    *grid("sample_size", [""], *({"n_bins": 4, "epsilon": 0.2, **plan} for plan in PLANS)),
    *grid("max_bins", [""], *({"n": 700, "epsilon": 0.2, **plan} for plan in PLANS)),
]
JUDGED = [
    "rows",
    "repeated rows",
    "weights",
    "rare events",
    "clusters",
    "weighted clusters",
    "confidence",
    "tally",
]
DECISION_CALLS = [
    *grid(
        "accept_threshold",
        [*JUDGED, "few rows", "sketch"],
        {"accuracy": 0.6},
        {"accuracy": 0.3, "level": 0.8},
    ),
    *grid(
        "accept_threshold",
        JUDGED[:5],
        *choices("criterion", ["precision", "recall"], accuracy=0.4, level=0.7),
    ),
    *grid(
        "decide",
        ["rows", "weights", "clusters"],
        {"cost_fp": 1, "cost_fn": 3},
        {"cost_fp": 2.5, "cost_fn": 1},
    ),
    *grid(
        "decision_certificate",
        [*JUDGED, *TINY, "one label", "many rows"],
        {},
        {"method": "bernstein", "level": 0.8},
    ),
    *grid(
        "net_benefit",
        [*JUDGED[:6], "tally", "few rows"],
        {},
        {"thresholds": [0.2, 0.5, 0.9], "prevalence": 0.2},
    ),
    *grid("two net benefits", ["rows", "weights", "clusters"]),
    *grid("risk_coverage", [*JUDGED, *TINY, "sketch"], {}, {"level": 0.8}),
    *grid("gate", [*JUDGED], {"max_ece": 0.2, "max_l2": 0.2, "oe_within": 0.5}),
    *grid(
        "gate", ["many rows", "large sketch"], {"max_ece": 0.05, "oe_within": 0.1, "require": True}
    ),
    *grid(
        "verdict",
        [
            *JUDGED,
            *TINY,
            "few rows",
            "one label",
            "two clusters",
            "wrong certain score",
            "many rows",
        ],
    ),
    *grid(
        "watch",
        ["rows", "repeated rows", "clusters", "confidence", "many rows"],
        {},
        {"rate": 0.2, "alpha": 0.2},
    ),
    *grid("watched segments", ["rows", "clusters", "many rows"]),
    *grid("powered", ["inner scores", "clusters", "many rows"], {}, {"bins": 3, "level": 0.8}),
    *grid("judge", ["inner scores", "clusters", "many rows"], {}, {"within": 0.1, "level": 0.8}),
    *grid("next_labels", ["inner scores", "many rows"], {"budget": 12}),
    *grid("route", ["inner scores", "clusters", "many rows"], {}, {"loss": 0.1, "level": 0.8}),
    *grid("judged thresholds", ["inner scores", "clusters", "many rows"], {}),
    *grid(
        "worst_slices",
        ["rows", "weights", "many rows"],
        {"min_rows": 12},
        {"depth": 1, "min_rows": 5},
    ),
    *grid("worst_slices", ["many rows"], {"depth": 3, "min_rows": 200}),
    *grid("worst_slices", ["clusters"], {"min_rows": 12}),
    *grid("slices of sums", ["rows", "repeated rows", "many rows"], {"min_rows": 12}),
    *grid("watched sums", ["rows", "repeated rows", "clusters"]),
    *grid("preset", ["many rows"], {"name": "hle"}),
    *grid(
        "preset",
        ["three classes"],
        *choices("name", ["helm", "torchmetrics", "guo2017", "lm-eval-brier"]),
    ),
]
POLICIES = [
    {"max_ece": 0.2, "max_l2": 0.2, "oe_within": 0.5},
    {"max_ece": 0.02, "max_l2": 0.02, "oe_within": 0.02, "level": 0.8},
    {"by": ["letter", "number"], "segment_gap": 0.3},
    {"by": "letter", "segment_gap": 0.05, "require": True},
    {"columns": ["letter", "third"], "slice_gap": 0.4, "min_rows": 50},
    {"columns": "number", "slice_gap": 0.04, "require": True, "level": 0.9},
    {"baseline": "other", "margin": 0.05},
    {"baseline": "other", "margin": -0.02, "require": True, "max_l2": 0.3},
]
STATEMENTS = ["interval", "quantiles", "at_horizon", "counts", "pairs"]
COUNTED = ["rows", "repeated rows", "weights", "clusters", "two clusters", "few rows", "many rows"]
SAID = ["rows", "weights", "clusters", "few rows", "one label", "rare events", "many rows"]
WORD_CALLS = [
    *(("policy", sample, {"policy": policy}) for sample in COUNTED for policy in POLICIES),
    *grid("said", SAID, *choices("of", ["verdict", "prior_shift"])),
    *grid("said", ["clusters", "one label"], {"of": "panel", "floor": False}),
    *grid("said", SAID, {"of": "gate", "max_ece": 0.02, "oe_within": 0.05, "require": True}),
    *grid("said", SAID, {"of": "gate", "max_l2": 0.5, "oe_within": 0.9, "level": 0.8}),
    *grid("said", SAID, {"of": "decide", "cost_fp": 1, "cost_fn": 9}),
    *grid("said", SAID, {"of": "accept_threshold", "accuracy": 0.5}),
    *grid("said", SAID, {"of": "accept_threshold", "accuracy": 1, "criterion": "recall"}),
    *grid("said", SAID, {"of": "accept_threshold", "accuracy": 0.9, "criterion": "recall"}),
    *grid("said", SAID, {"of": "decision_certificate"}, {"of": "risk_coverage"}),
    *grid("said", SAID, {"of": "net_benefit", "thresholds": [0.01, 0.3, 0.99]}),
    *grid("said", SAID, {"of": "equivalence_test"}, {"of": "equivalence_test", "criterion": "oe"}),
    *grid("said", SAID, {"of": "ece_interval"}, {"of": "calibration_test"}),
    *grid(
        "said", ["class-wise", "confidence", "top-label"], {"of": "verdict"}, {"of": "ece_interval"}
    ),
    *grid("verdict of segments", ["rows", "weights", "clusters", "many rows"]),
    *grid("verdict of segments", ["rows", "rare events"], {"crossed": 2}),
    *grid(
        "routed", ["rows", "clusters", "many rows"], {"loss": 0.2}, {"loss": 0.02, "cost": (2, 5)}
    ),
    *grid("routed", ["rows", "many rows"], {"loss": 0.2, "confidence_is_free": True}),
    *grid("judged segments", ["rows", "clusters", "many rows"], {}, {"within": 0.3}),
    *grid("unequal chances", ["inner scores", "many rows"], {}, {"bins": 4, "level": 0.8}),
    *grid("scores of a judge", ["inner scores", "clusters", "many rows"], {}, {"bins": 3}),
    *grid("more labels", ["inner scores", "many rows"], {"budget": 12}, {"budget": 40}),
    *grid("judged units", ["rows", "clusters", "many rows"], {"accuracy": 0.2}, {"accuracy": 0.01}),
    *grid("psi", ["rows", "many rows"], {}, {"bins": 4, "level": 0.8}, {"bins": [0, 0.2, 1]}),
    *grid("centres", ["rows", "weights", "rare events", "many rows"], {}, {"level": 0.8}),
    *grid(
        "group_difference",
        ["rows", "weights", "many rows"],
        *choices("measure", ["observed_expected", "slope", "l2"]),
    ),
    *grid("heterogeneity", [""], {}, {"level": 0.8}, {"alike": True}, {"two": True}),
    *grid(
        "pluto_tasche",
        [""],
        {"level": 0.9},
        {"level": 0.99, "correlation": 0.2},
        {"level": 0.5, "correlation": 0.9},
    ),
    *grid("SegmentCalibration", ["rows", "weights", "clusters", "many rows"]),
    *grid(
        "IntervalCalibration",
        ["rows", "clusters"],
        {},
        {"coverage": 0.6, "method": "sides"},
        {"change": "stretch"},
    ),
    *grid("stated", ["rows", "clusters"], *choices("kind", STATEMENTS)),
    *grid("two watched models", ["rows", "clusters", "many rows"], {}, {"alpha": 0.3, "eps": 0.01}),
    *grid(
        "watch",
        ["rows", "clusters", "many rows"],
        {"alternatives": [(0.5, 1), (0, 0.7)], "eps": 0.02},
    ),
    *grid(
        "compare",
        ["inner scores", "weights", "clusters"],
        {"method": "bootstrap", "measure": "smooth_ece"},
        {"bins": 3, "level": 0.8},
        {"measure": "auc", "level": 0.9},
    ),
    *grid(
        "graded",
        ["rows", "repeated rows", "rare events"],
        {"margin": 0.2, "lights": (0.5, 0.6)},
        {"portfolio": "finite", "correlation": 0.3},
    ),
    *grid("worst_slices", ["many rows"], {"most": 2, "level": 0.8}, {"min_rows": 1500}),
    *grid("calibration_series", ["rows", "many rows"], {"of": "tally", "bins": 4, "level": 0.8}),
]
CALLS = [
    *SUM_CALLS,
    *MEASURE_CALLS,
    *INFER_CALLS,
    *CALIBRATOR_CALLS,
    *PLANNING_CALLS,
    *DECISION_CALLS,
    *WORD_CALLS,
]


def result_of(name, sample, options, seed=0):
    """The result of one call, with this seed where the function takes one."""
    rows, more = SAMPLES.get(sample, ((), {}))
    more, options = dict(more), dict(options)
    if name in SPECIAL:
        return SPECIAL[name](rows, more, options, seed)
    rooms = (tn, tn.measure, tn.infer, tn.recalibrate)
    function = next(getattr(room, name) for room in rooms if hasattr(room, name))
    options |= {"seed": seed} if name in SEEDED and options.get("method") != "analytic" else {}
    if isinstance(function, type):
        return calibrated(function(**options), *rows, more.get("sample_weight"))
    options |= (
        {"resamples": 39}
        if name == "calibration_test" and options.get("method", "omnibus") == "omnibus"
        else {}
    )
    return function(*rows, **more, **options)


SEEDED = [
    "ece_interval",
    "calibration_test",
    "equivalence_test",
    "panel",
    "validation_size",
    "estimate",
]
SEEDED += ["HistogramBinning", "ScalingBinning", "VennAbers", "gate", "verdict", "decide"]


def calibrated(calibrator, y, p, weight):
    """What a calibrator makes of its own scores and of new ones, as SQL too, and what it promises."""
    if getattr(calibrator, "from_logits", False):
        p = np.log(np.clip(p, 1e-3, 1 - 1e-3))
        p = p if p.ndim == 2 else p - np.log1p(-np.exp(p))
    new = (
        np.linspace(0, 1, 9)
        if p.ndim == 1
        else np.vstack([np.eye(3), np.full((1, 3), 1 / 3), [[0.2, 0.3, 0.5]]])
    )
    fitted = calibrator.fit(p, y, **({} if weight is None else {"sample_weight": weight}))
    found = {"new": fitted.predict(new), "own": fitted.predict(p), "sql": _sql(fitted)}
    if hasattr(fitted, "guarantee"):
        for bound in ("hoeffding", "exact", "clopper-pearson", "bernstein"):
            found[bound] = _unless_refused(lambda: fitted.guarantee(alpha=0.2, bound=bound))  # noqa: B023  # called now
    return found


def _unless_refused(call):
    try:
        return call()
    except tn.InputError:
        return {}


def _sql(fitted):
    """The numbers in the SQL of a map; none if it has none."""
    text = _unless_refused(
        lambda: fitted.to_sql("sqlite", column="p" if fitted.n_classes_ is None else list("abc"))
    )
    return [
        float(one)
        for one in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", str(text or ""))
    ]


def _compare(rows, more, options, seed):
    y, p = rows
    other = (p + np.roll(p, 1, axis=-1)) / 2 if p.ndim == 2 else p**1.5
    models = {"a": p, "b": other, "c": (p + other) / 2}
    return tn.compare(y, models, seed=seed, progress=False, resamples=199, **more, **options)


def _segments(rows, more, options, seed):
    y, p = rows
    by = {
        "letter": np.array(list("aabbbc"))[np.arange(len(y)) % 6],
        "number": np.arange(len(y)) % 4,
    }
    return tn.segments(y, p, by, resamples=39, seed=seed, **more, **options)


def _series(rows, more, options, seed):
    y, p = rows
    weight, make = (
        more.pop("sample_weight", None),
        {"sketch": tn.sketch, "tally": tn.tally}[options["of"]],
    )
    sums = {
        str(i): make(
            y[part], p[part], sample_weight=None if weight is None else weight[part], **more
        )
        for i, part in enumerate(np.array_split(np.arange(len(y)), 3))
    }
    return tn.calibration_series(sums, resamples=39, seed=seed, progress=False)


def _graded(rows, more, options, _):
    y, p = rows
    return tn.grade_table(
        y, p, grades=np.array(list("abc"))[(3 * p).astype(int).clip(0, 2)], **more, **options
    )


def _own_test(rows, more, options, _):
    def distance(events, n, scores):
        return np.exp(-np.abs(events / n - scores) * np.sqrt(n))

    return tn.tce(*rows, test=distance, **more, **options)


def _accumulated(rows, more, options, _):
    y, p = rows
    weight = more.pop("sample_weight", None)
    sums = tn.Accumulator(options["bins"], by=options.get("by"), **more)
    for i, part in enumerate(np.array_split(np.arange(len(y)), 4)):
        extra = {} if weight is None else {"sample_weight": weight[part]}
        extra |= {"group": np.array(list("ab"))[part % 2]} if "by" in options else {}
        sums.update(y[part], p[part], position=i, **extra)
    again = tn.Accumulator.from_bytes(sums.to_bytes())
    bins = {"bins": options["bins"]} if options["bins"] == 5 else {}
    if "by" in options:
        return {"by": again.compute_by(tn.ece, **bins), "all": again.compute(tn.brier)}
    return {
        "ece": again.compute(tn.ece, **bins),
        "brier": again.compute(tn.brier),
        "position": again.position,
    }


def _clustered_map(rows, more, options, _):
    y, p = rows
    more.pop("kind", None)
    fitted = tn.AutoCalibration().fit(p, y, **more)
    return {"own": fitted.predict(p), "gain": [fitted.gain_, fitted.gain_low_, fitted.gain_high_]}


def _tested_bins(rows, more, options, _):
    return TestReliabilityDisplay.from_predictions(
        *rows, bins=tn.EqualMass(5), alpha=0.1, **options
    ).record


def _features(rows):
    y, p = rows
    p = p if p.ndim == 2 else p[:, None]
    return np.hstack([p, np.cos(7 * p[:, :1])]), y


def _validate(rows, more, options, seed):
    X, y = _features(rows)
    if "cluster" in more:
        more["groups"] = more.pop("cluster")
    return tn.validate(
        LogisticRegression(), X, y, floor=False, seed=seed, progress=False, **more, **options
    )


def _classifier(rows, more, options, _):
    X, y = _features(rows)
    classifier = tn.CalibratedClassifier(LogisticRegression(), tn.TemperatureScaling(), **options)
    return classifier.fit(X, y, **more).predict_proba(X)


def _net_benefits(rows, more, _, __):
    y, p = rows
    return tn.net_benefit(
        y, {"a": p, "b": np.full(len(p), 0.4)}, thresholds=[0.2, 0.5, 0.9], **more
    )


def _watch(rows, more, options, _):
    y, p = rows
    watch = tn.Watch(**options)
    for i, part in enumerate(np.array_split(np.arange(len(y)), 5)):
        cut = {
            name: one[part] if isinstance(one, np.ndarray) else one for name, one in more.items()
        }
        watch.update(y[part], p[part] if i < 3 else p[part][::-1], position=i, **cut)
    return {
        "evidence": watch.evidence,
        "alarms": sum(one.segment != "" for one in watch.alarms),
        "history": watch.history,
    }


def _watched_segments(rows, more, options, _):
    y, p = rows
    watch, names = tn.Watch(segments=["a", "b", "c"]), np.array(list("abc"))
    for i, part in enumerate(np.array_split(np.arange(len(y)), 4)):
        wrong = (y[part] | (part % 3 == i % 2)) if i > 1 else y[part]
        cut = {name: one[part] for name, one in more.items()}
        watch.update(wrong, p[part], by=names[part % 3], position=i, **cut)
    found = re.findall(r"[\d.]+", watch.direction)
    return {
        "history": watch.history,
        "since": watch.since,
        "direction": [float(one) for one in found],
    }


def _powered(rows, more, options, seed):
    y, p = rows
    order = np.arange(len(y))
    judge = np.where(order % 7 == 0, 1 - y, y)
    return tn.powered(np.where(order % 3 == 0, y, np.nan), judge, p, seed=seed, **more, **options)


def _judge(rows, more, options, _):
    y, _ = rows
    order = np.arange(len(y))
    human = np.where(order % 3 == 0, y, np.nan)
    return tn.judge(human, np.where(order % 7 == 0, 1 - y, y), **more, **options)


def _next_labels(rows, _, options, __):
    y, p = rows
    found = tn.next_labels(p, y, **options)  # the rows chosen depend on the seed
    return {"chosen": found.chosen, "size": found.size, "relative_length": found.relative_length}


def _route(rows, more, options, _):
    y, p = rows
    order = np.arange(len(y))
    return tn.route(y, p, np.where(order % 4 == 0, 1, y), **more, **options)


def _judged_thresholds(rows, more, _, __):
    y, p = rows
    order = np.arange(len(y))
    human = np.where(order % 3 == 0, y, np.nan)
    judge = np.where(order % 7 == 0, 1 - y, y)
    return {
        "accept": tn.accept_threshold(human, p, judge=judge, accuracy=0.3, level=0.7, **more),
        "units": tn.accept_threshold(y, p, unit=order // 2, accuracy=0.2, level=0.7),
        "risk": tn.risk_coverage(human, p, kind="correct", judge=judge, **more).aurc,
    }


def _slices(rows, more, options, seed):
    y, p = rows
    letter = np.array(list("aabbbc"))[np.arange(len(y)) % 6]
    number = np.sin(np.arange(len(y))).round(2)
    columns = {
        "letter": letter,
        "number": np.where(number < -0.9, np.nan, number),
        "third": np.arange(len(y)) % 3,
    }
    return tn.worst_slices(y, p, columns, resamples=39, seed=seed, **more, **options)


def _slices_of_sums(rows, more, options, seed):
    y, p = rows
    sums, order = tn.Accumulator("distinct", by=["letter", "third"]), np.arange(len(y))
    sums.update(
        y, p, group={"letter": np.array(list("aabbbc"))[order % 6], "third": order % 3}, **more
    )
    return tn.worst_slices(sums, resamples=39, seed=seed, **options)


def _watched_sums(rows, more, options, _):
    y, p = rows
    watch, order = tn.Watch(), np.arange(len(y))
    for i in range(3):
        parts = {name: order % 6 == i + 3 * k for k, name in enumerate("ab")}
        cut = {name: {key: one[part] for key, one in more.items()} for name, part in parts.items()}
        watch.update(
            {name: tn.tally(y[part], p[part], **cut[name]) for name, part in parts.items()},
            position=i,
        )
    return {"evidence": watch.evidence, "shift": watch.shift, "history": watch.history}


def _said(rows, more, options, seed):
    """The result of a function with its own defaults."""
    name = options.pop("of")
    if name in SEEDED:
        options["seed"] = seed
    function = getattr(tn, name)
    if "cluster" in more and "cluster" not in inspect.signature(function).parameters:
        del more["cluster"]
    return function(*rows, **more, **options)


def _columns(rows):
    y, p = rows
    order = np.arange(len(y))
    return {
        "letter": np.array(list("aabbbc"))[order % 6],
        "third": (order % 3).astype(str),
        "number": order % 4,
        "other": np.roll(p, 1),
    }


def _policy(rows, more, options, seed):
    policy = {**options["policy"], "seed": seed}
    found = tn.gate(*rows, data=_columns(rows), policy=policy, **more)
    return {"record": found, "outcome": found.outcome, "needed": found.needed}


def _verdict_of_segments(rows, more, options, seed):
    columns = _columns(rows)
    by = {name: columns[name] for name in ("letter", "third")}
    return tn.verdict(*rows, by=by, seed=seed, **more, **options)


def _routed(rows, more, options, _):
    y, p = rows
    order = np.arange(len(y))
    return tn.route(
        y,
        p,
        np.where(order % 4 == 0, 1, y),
        by=_columns(rows)["letter"],
        level=0.8,
        **more,
        **options,
    )


def _judged_segments(rows, more, options, _):
    y, _ = rows
    order = np.arange(len(y))
    human = np.where(order % 3 == 0, y, np.nan)
    judge = np.where(order % 7 == 0, 1 - y, y)
    return tn.judge(human, judge, by=_columns(rows)["third"], **more, **options)


def _unequal_chances(rows, more, options, seed):
    """Humans look at every second row with an event by the judge, and at every fifth other."""
    y, p = rows
    order = np.arange(len(y))
    judge = np.where(order % 7 == 0, 1 - y, y)
    seen = np.where(judge == 1, order % 2 == 0, order % 5 == 0)
    human = np.where(seen, y, np.nan)
    chance = np.where(judge == 1, 0.5, 0.2)
    return tn.powered(human, judge, p, human_prob=chance, seed=seed, **more, **options)


def _scores_of_a_judge(rows, more, options, seed):
    y, p = rows
    order = np.arange(len(y))
    human = np.where(order % 3 == 0, y, np.nan)
    return tn.powered(human, (y + np.cos(order)) / 2, p, seed=seed, **more, **options)


def _more_labels(rows, _, options, seed):
    y, p = rows
    labelled = np.arange(len(y)) % 9 == 0
    return tn.next_labels(p, p > 0.5, labelled=labelled, seed=seed, **options)


def _judged_units(rows, more, options, _):
    y, p = rows
    order = np.arange(len(y))
    human = np.where(order % 8 < 4, y, np.nan)
    judge = np.where(order % 7 == 0, 1 - y, y)
    return tn.accept_threshold(human, p, judge=judge, unit=order // 2, level=0.7, **more, **options)


def _psi(rows, _, options, seed):
    _, p = rows
    return tn.psi(p[: len(p) // 2], p[len(p) // 2 :] ** 1.4, seed=seed, **options)


def _by_centre(function, *first):
    def call(rows, more, options, seed):
        if function is tn.group_difference:
            options["seed"] = seed
        return function(*first, *rows, by=_columns(rows)["letter"], **more, **options)

    return call


def _heterogeneity(_, __, options, ___):
    values = np.array([0.3, -0.1, 0.8, 0.4, 0.0, 0.9])
    errors = np.array([0.1, 0.2, 0.15, 0.3, 0.1, 0.4])
    if options.pop("alike", False):
        values = values / 20
    if options.pop("two", False):
        values, errors = values[:2], errors[:2]
    return tn.heterogeneity(values, errors, **options)


def _segment_map(rows, more, options, _):
    y, p = rows
    letter = _columns(rows)["letter"]
    fitted = tn.SegmentCalibration(**options).fit(p, y, by=letter, **more)
    gains = [fitted.gain_, fitted.gain_low_, fitted.gain_high_]
    new = fitted.predict(np.linspace(0, 1, 7), by=np.array(list("abcabcd")))
    return {"new": new, "gains": gains, "alone": fitted.leave_alone_, "words": fitted.summary()}


def _interval_map(rows, more, options, _):
    y, p = rows
    lower, upper = p - 0.2, p + 0.1 + p**2 / 3
    cluster = {"cluster": more["cluster"]} if "cluster" in more else {}
    fitted = tn.IntervalCalibration(**options).fit(y * p + p**2, lower, upper, **cluster)
    return fitted.predict(lower, upper)


def _events(rows, more, kind, seed):
    """Events of each kind, made of labels and scores."""
    y, p = rows
    order = np.arange(len(y))
    cluster = {"cluster": more["cluster"]} if "cluster" in more else {}
    outcome = p + np.sin(5.0 * order) / 4
    if kind == "interval":
        return tn.events.interval(outcome, p - 0.2, p + 0.15, coverage=0.8, **cluster)
    if kind == "quantiles":
        forecast = p[:, None] + np.array([-0.22, 0.01, 0.2])
        levels = [0.1, 0.5, 0.8]
        return tn.events.quantiles(outcome, forecast, levels=levels, seed=seed, **cluster)
    if kind == "at_horizon":
        followup = 1 + (7 * order) % 11
        return tn.events.at_horizon(followup, (y + order) % 2, p / 2, horizon=6, **cluster)
    if kind == "counts":
        return tn.events.counts(y * (order % 3), 1 + order % 3, p, **cluster)
    return tn.events.pairs(np.where(order % 9 == 0, 0.5, y), p, **cluster)


def _stated(rows, more, options, seed):
    a = tn.assess(_events(rows, more, options["kind"], seed), level=0.9, seed=seed)
    brier = a.estimate("brier", floor=False)
    answers = {"coverage": a.coverage, "interval": a.interval, "test": a.test, "brier": brier}
    if options["kind"] == "quantiles":
        events = _events(rows, more, "quantiles", seed)
        answers["levels"] = LevelHistogramDisplay.from_events(events).histogram
    return answers


def _watched_models(rows, more, options, _):
    y, p = rows
    watch = tn.Watch(compare=True, **options)
    for i, part in enumerate(np.array_split(np.arange(len(y)), 4)):
        cut = {name: one[part] for name, one in more.items()}
        watch.update(y[part], {"a": p[part], "b": p[part] ** 1.5}, position=i, **cut)
    return {"evidence": watch.evidence, "difference": watch.difference, "words": str(watch)}


SPECIAL = {
    "said": _said,
    "policy": _policy,
    "verdict of segments": _verdict_of_segments,
    "routed": _routed,
    "judged segments": _judged_segments,
    "unequal chances": _unequal_chances,
    "scores of a judge": _scores_of_a_judge,
    "more labels": _more_labels,
    "judged units": _judged_units,
    "psi": _psi,
    "centres": _by_centre(tn.centres),
    "group_difference": lambda rows, more, options, seed: _by_centre(
        tn.group_difference, options.pop("measure")
    )(rows, more, options, seed),
    "heterogeneity": _heterogeneity,
    "pluto_tasche": lambda _, __, options, ___: tn.pluto_tasche(
        {"A": 100, "B": 250, "C": 60}, {"A": 0, "B": 2, "C": 1}, **options
    ),
    "SegmentCalibration": _segment_map,
    "IntervalCalibration": _interval_map,
    "stated": _stated,
    "two watched models": _watched_models,
    "slices of sums": _slices_of_sums,
    "watched sums": _watched_sums,
    "two net benefits": _net_benefits,
    "watch": _watch,
    "watched segments": _watched_segments,
    "noise_floor": lambda rows, more, options, seed: tn.noise_floor(
        getattr(tn.measure, options["measure"]),
        rows[1],
        y_true=rows[0],
        resamples=99,
        seed=seed,
        **more,
    ),
    "powered": _powered,
    "judge": _judge,
    "next_labels": _next_labels,
    "route": _route,
    "judged thresholds": _judged_thresholds,
    "worst_slices": _slices,
    "preset": lambda rows, _, options, __: tn.preset(options["name"])(*rows),
    "estimate": lambda rows, more, options, seed: tn.estimate(
        options.pop("measure"), *rows, seed=seed, **more, **options
    ),
    "compare": _compare,
    "segments": _segments,
    "calibration_series": _series,
    "validate": _validate,
    "CalibratedClassifier": _classifier,
    "graded": _graded,
    "own test": _own_test,
    "accumulated": _accumulated,
    "clustered map": _clustered_map,
    "tested bins": _tested_bins,
    "prior_correction": lambda rows, more, options, _: tn.recalibrate.prior_correction(
        rows[1], **options
    ),
}
