"""What an adapter is: a class that answers cases with one library.

An adapter has one method per measure it offers, named as in `MEASURES`; it takes a `Case` and returns a number (or a
list of numbers, for maps). A measure or option that the library lacks is `raise NotOfferedError`. Anything else that is
raised is the library's answer: a refusal.
"""

from importlib import metadata
from typing import ClassVar

import numpy as np

BINNED = ("ece", "ace", "mce", "rmsce")
MEASURES = (
    *BINNED,
    "brier",
    "log_loss",
    "slope",
    "intercept",
    "observed_expected",
    "tce",
    "squared_ece",
    "isotonic",
    "histogram_binning",
)


class NotOfferedError(Exception):
    """The library has no such measure or option."""


class Case:
    """The inputs of one case, as NumPy arrays of the types that it names."""

    def __init__(self, entry):
        types = entry.get("dtype", {})
        self.measure = entry["measure"]
        self.y = _array(entry["y_true"], types.get("y_true"))
        self.p = _array(entry["y_prob"], types.get("y_prob"))
        weight = entry.get("sample_weight")
        self.w = None if weight is None else _array(weight, "float64")
        self.bins = entry.get("bins")
        self.alpha = entry.get("alpha")
        self.pos_label = entry.get("pos_label")
        self.at = None if "at" not in entry else _array(entry["at"], "float64")
        convention = entry["convention"]
        self.rule = convention.get("bin_rule")
        self.norm = convention.get("norm")
        self.classes = convention.get("classes")

    @property
    def one_hot(self):
        """Labels as a matrix of zeros and ones; labels that are not columns cannot be asked in this form."""
        if len(self.y) != len(self.p) or not set(self.y) <= set(range(self.p.shape[1])):
            raise NotOfferedError
        return np.eye(self.p.shape[1])[self.y]


def _array(values, dtype):
    if dtype is None:
        integers = values and all(isinstance(value, int) for value in values)
        dtype = "int64" if integers else "float64"
    if dtype == "str":
        return np.array(values)
    return np.array(
        [[float(v) for v in row] if isinstance(row, list) else float(row) for row in values]
    ).astype(dtype)


class Adapter:
    """The base of all adapters."""

    name = ""
    packages = ()
    notes = ""
    documented: ClassVar = {}  # end of a case's name → what the documentation says about such input

    def versions(self):
        return {package: metadata.version(package) for package in self.packages}

    def answer(self, entry):
        case = Case(entry)
        method = getattr(
            self, "calibration_error" if case.measure in BINNED else case.measure, None
        )
        if method is None:
            raise NotOfferedError
        value = method(case)
        return [float(v) for v in value] if np.ndim(value) else float(value)

    @staticmethod
    def offers(*conditions):
        """Stop unless all hold: `self.offers(c.w is None, c.rule == "equal-width")`."""
        if not all(conditions):
            raise NotOfferedError
