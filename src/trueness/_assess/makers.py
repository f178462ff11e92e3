"""The one maker of each answer: a function of an assessment and of the options of a question."""

from collections.abc import Callable, Mapping
from typing import Any

from trueness._assess.advice import advice
from trueness._assess.all_rows import bins, gate, interval, place, power, prior_shift, test, verdict
from trueness._assess.asked import Asked
from trueness._assess.one_measure import estimate, floor, panel
from trueness._assess.parts_of_rows import class_rows, classes, segments, slices
from trueness._assess.statement import coverage, level_histogram
from trueness.results._remedies import Remedies


def remedies(a: Asked) -> Remedies | None:
    """Calibrators on held-out rows; None where the rows cannot be split."""
    # Loads scikit-learn, which other questions do not need.
    from trueness._assess.remedies import remedies as compute_remedies

    return compute_remedies(a)


MAKERS: Mapping[str, Callable[..., Any]] = {
    "test": test,
    "interval": interval,
    "power": power,
    "prior_shift": prior_shift,
    "verdict": verdict,
    "estimate": estimate,
    "floor": floor,
    "bins": bins,
    "place": place,
    "panel": panel,
    "segments": segments,
    "slices": slices,
    "class_rows": class_rows,
    "classes": classes,
    "gate": gate,
    "remedies": remedies,
    "advice": advice,
    "coverage": coverage,
    "level_histogram": level_histogram,
}
