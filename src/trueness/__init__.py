"""trueness: whether predicted probabilities mean what they say, and how sure we are of it.

The everyday names live here and are loaded when first used, so that ``import trueness`` costs little
more than ``import numpy``.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

__version__ = "0.1.0"

__all__ = [
    "Bands",
    "Bin",
    "BinTable",
    "Binned",
    "BlockIsotonic",
    "Comparison",
    "Decomposition",
    "Difference",
    "Distinct",
    "DroppedRowsWarning",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "EstimationError",
    "FewRowsWarning",
    "InputError",
    "Interval",
    "Isotonic",
    "MissingLibraryError",
    "MovedScoresWarning",
    "NoEstimateWarning",
    "NoiseFloor",
    "OneClassWarning",
    "OwnRowsWarning",
    "Report",
    "SeparableWarning",
    "Significance",
    "Tally",
    "TiedScoresWarning",
    "TruenessError",
    "TruenessWarning",
    "__version__",
    "ace",
    "bin_table",
    "binned",
    "brier",
    "calibration_intercept",
    "calibration_slope",
    "calibration_test",
    "compare",
    "corp",
    "ece",
    "ece_interval",
    "estimation_error",
    "gce",
    "infer",
    "log_loss",
    "mce",
    "measure",
    "noise_floor",
    "observed_expected",
    "recalibrate",
    "reliability_bands",
    "report",
    "results",
    "show_versions",
    "simulate",
    "smooth_ece",
    "squared_ece",
    "tally",
    "tce",
]

if TYPE_CHECKING:
    from trueness import infer, measure, recalibrate, results, simulate
    from trueness._report.report import Report, report
    from trueness._tally.accept import binned, tally
    from trueness._tally.rules import BlockIsotonic, Distinct, Edges, EqualMass, EqualWidth, Isotonic
    from trueness._tally.tally import Binned, Tally
    from trueness._versions import show_versions
    from trueness.errors import (
        DroppedRowsWarning,
        FewRowsWarning,
        InputError,
        MissingLibraryError,
        MovedScoresWarning,
        NoEstimateWarning,
        OneClassWarning,
        OwnRowsWarning,
        SeparableWarning,
        TiedScoresWarning,
        TruenessError,
        TruenessWarning,
    )
    from trueness.infer import calibration_test, compare, ece_interval, noise_floor, reliability_bands
    from trueness.measure import (
        ace,
        bin_table,
        brier,
        calibration_intercept,
        calibration_slope,
        corp,
        ece,
        estimation_error,
        gce,
        log_loss,
        mce,
        observed_expected,
        smooth_ece,
        squared_ece,
        tce,
    )
    from trueness.results import (
        Bands,
        Bin,
        BinTable,
        Comparison,
        Decomposition,
        Difference,
        EstimationError,
        Interval,
        NoiseFloor,
        Significance,
    )

__getattr__, __dir__ = lazily(
    __name__,
    {
        "measure._binned": (
            "ace",
            "ece",
            "mce",
        ),
        "measure._corp": ("corp",),
        "measure._gce": ("gce",),
        "measure._line": (
            "calibration_intercept",
            "calibration_slope",
            "observed_expected",
        ),
        "measure._scores": (
            "brier",
            "log_loss",
        ),
        "measure._smooth": ("smooth_ece",),
        "measure._squared": ("squared_ece",),
        "measure._table": (
            "bin_table",
            "estimation_error",
        ),
        "measure._tce": ("tce",),
        "_tally.accept": (
            "binned",
            "tally",
        ),
        "_tally.tally": (
            "Binned",
            "Tally",
        ),
        "_tally.rules": (
            "BlockIsotonic",
            "Distinct",
            "Edges",
            "EqualMass",
            "EqualWidth",
            "Isotonic",
        ),
        "infer": ("calibration_test", "compare", "ece_interval", "noise_floor", "reliability_bands"),
        "results": (
            "Bands",
            "Bin",
            "BinTable",
            "Comparison",
            "Decomposition",
            "Difference",
            "EstimationError",
            "Interval",
            "NoiseFloor",
            "Significance",
        ),
        "errors": (
            "DroppedRowsWarning",
            "FewRowsWarning",
            "InputError",
            "MissingLibraryError",
            "MovedScoresWarning",
            "NoEstimateWarning",
            "OneClassWarning",
            "OwnRowsWarning",
            "SeparableWarning",
            "TiedScoresWarning",
            "TruenessError",
            "TruenessWarning",
        ),
        "_report.report": ("Report", "report"),
        "_versions": ("show_versions",),
        "": (
            "infer",
            "measure",
            "recalibrate",
            "results",
            "simulate",
        ),
    },
)
