"""Statistical inference: intervals, tests, bands, noise floors and comparisons.

The names are loaded when first used: a command needs a few of them.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.infer._bands import reliability_bands
    from trueness.infer._calibration_test import calibration_test
    from trueness.infer._compare import compare
    from trueness.infer._cumulative import cumulative_walk
    from trueness.infer._curve_bands import curve_band
    from trueness.infer._equivalence import equivalence_test
    from trueness.infer._estimate import estimate
    from trueness.infer._grades import grade_table
    from trueness.infer._interval import ece_interval
    from trueness.infer._monotone_band import monotone_band
    from trueness.infer._noise_floor import noise_floor
    from trueness.infer._panel import panel
    from trueness.infer._prior_shift import prior_shift
    from trueness.infer._segments import segments
    from trueness.infer._series import calibration_series
    from trueness.infer._validation_size import validation_size

__all__ = [
    "calibration_series",
    "calibration_test",
    "compare",
    "cumulative_walk",
    "curve_band",
    "ece_interval",
    "equivalence_test",
    "estimate",
    "grade_table",
    "monotone_band",
    "noise_floor",
    "panel",
    "prior_shift",
    "reliability_bands",
    "segments",
    "validation_size",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_bands": "reliability_bands",
        "_calibration_test": "calibration_test",
        "_compare": "compare",
        "_cumulative": "cumulative_walk",
        "_curve_bands": "curve_band",
        "_equivalence": "equivalence_test",
        "_estimate": "estimate",
        "_grades": "grade_table",
        "_interval": "ece_interval",
        "_monotone_band": "monotone_band",
        "_noise_floor": "noise_floor",
        "_panel": "panel",
        "_prior_shift": "prior_shift",
        "_segments": "segments",
        "_series": "calibration_series",
        "_validation_size": "validation_size",
    },
)
