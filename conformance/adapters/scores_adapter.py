"""scores."""

from typing import ClassVar

import xarray
from adapter import Adapter
from scores.probability import brier_score
from scores.processing import isotonic_fit


class Library(Adapter):
    name = "scores"
    packages = ("scores",)
    notes = "Missing values are allowed, and left out in pairs."

    documented: ClassVar = {
        "score-nan": "rows with a missing value are left out",
        "label-nan": "rows with a missing value are left out",
    }

    def brier(self, c):
        self.offers(c.p.ndim == 1)
        return brier_score(
            _column(c.p), _column(c.y), weights=None if c.w is None else _column(c.w)
        )

    def isotonic(self, c):
        fit = isotonic_fit(c.p, c.y, functional="mean", weight=c.w)
        values = dict(zip(fit["fcst_sorted"], fit["regression_values"], strict=True))
        return [values[p] for p in c.p]


def _column(values):
    return xarray.DataArray(values, dims="row")
