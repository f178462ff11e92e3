"""trueness: whether predicted probabilities mean what they say, and how sure we are of it.

The everyday names live here and are loaded when first used, so that ``import trueness`` costs little
more than ``import numpy``.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "measure": (
        "ace",
        "bin_table",
        "brier",
        "calibration_intercept",
        "calibration_slope",
        "corp",
        "ece",
        "estimation_error",
        "gce",
        "log_loss",
        "mce",
        "observed_expected",
        "smooth_ece",
        "squared_ece",
        "tce",
    ),
    "_tally.accept": ("binned", "tally"),
    "_tally.tally": ("Binned", "Tally"),
    "_tally.rules": ("BlockIsotonic", "Distinct", "Edges", "EqualMass", "EqualWidth", "Isotonic"),
    "results": ("Bin", "BinTable", "Decomposition", "EstimationError"),
    "errors": (
        "DroppedRowsWarning",
        "FewRowsWarning",
        "InputError",
        "MissingLibraryError",
        "MovedScoresWarning",
        "NoEstimateWarning",
        "OneClassWarning",
        "TruenessError",
        "TruenessWarning",
    ),
    "_versions": ("show_versions",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_PACKAGES = ("measure", "results", "simulate")

__all__ = [
    "Bin",
    "BinTable",
    "Binned",
    "BlockIsotonic",
    "Decomposition",
    "Distinct",
    "DroppedRowsWarning",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "EstimationError",
    "FewRowsWarning",
    "InputError",
    "Isotonic",
    "MissingLibraryError",
    "MovedScoresWarning",
    "NoEstimateWarning",
    "OneClassWarning",
    "Tally",
    "TruenessError",
    "TruenessWarning",
    "__version__",
    "ace",
    "bin_table",
    "binned",
    "brier",
    "calibration_intercept",
    "calibration_slope",
    "corp",
    "ece",
    "estimation_error",
    "gce",
    "log_loss",
    "mce",
    "measure",
    "observed_expected",
    "results",
    "show_versions",
    "simulate",
    "smooth_ece",
    "squared_ece",
    "tally",
    "tce",
]

if TYPE_CHECKING:
    from trueness import measure, results, simulate
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
        TruenessError,
        TruenessWarning,
    )
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
    from trueness.results import Bin, BinTable, Decomposition, EstimationError


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"trueness.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'trueness' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"trueness.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
