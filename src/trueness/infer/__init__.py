"""Statistical inference: intervals, tests, bands, noise floors and comparisons.

The names are loaded when first used: a command needs a few of them.
"""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

if TYPE_CHECKING:
    from trueness.infer._estimate import estimate
    from trueness.infer._panel import panel
    from trueness.infer.band._curve_bands import curve_band
    from trueness.infer.band._monotone_band import monotone_band
    from trueness.infer.band._reliability_bands import reliability_bands
    from trueness.infer.comparison._compare import compare
    from trueness.infer.decision._gate import gate
    from trueness.infer.decision._verdict import verdict
    from trueness.infer.group._grades import grade_table
    from trueness.infer.group._prior_shift import prior_shift
    from trueness.infer.group._segments import segments
    from trueness.infer.group._series import calibration_series
    from trueness.infer.interval._ece_interval import ece_interval
    from trueness.infer.null._noise_floor import noise_floor
    from trueness.infer.plan._validation_size import validation_size
    from trueness.infer.test._calibration_test import calibration_test
    from trueness.infer.test._cumulative import cumulative_walk
    from trueness.infer.test._equivalence import equivalence_test

__all__ = [
    "calibration_series",
    "calibration_test",
    "compare",
    "cumulative_walk",
    "curve_band",
    "ece_interval",
    "equivalence_test",
    "estimate",
    "gate",
    "grade_table",
    "monotone_band",
    "noise_floor",
    "panel",
    "prior_shift",
    "reliability_bands",
    "segments",
    "validation_size",
    "verdict",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "band._reliability_bands": "reliability_bands",
        "test._calibration_test": "calibration_test",
        "comparison._compare": "compare",
        "test._cumulative": "cumulative_walk",
        "band._curve_bands": "curve_band",
        "test._equivalence": "equivalence_test",
        "_estimate": "estimate",
        "group._grades": "grade_table",
        "interval._ece_interval": "ece_interval",
        "band._monotone_band": "monotone_band",
        "null._noise_floor": "noise_floor",
        "_panel": "panel",
        "decision._gate": "gate",
        "decision._verdict": "verdict",
        "group._prior_shift": "prior_shift",
        "group._segments": "segments",
        "group._series": "calibration_series",
        "plan._validation_size": "validation_size",
    },
)
