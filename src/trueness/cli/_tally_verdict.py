"""What sums say of calibration itself, in one sentence."""

import warnings
from typing import Any, NamedTuple

from trueness.errors import InputError, TruenessWarning

__all__ = ["Verdict", "verdict_of"]

_LEVEL = 0.9


class Verdict(NamedTuple):
    """A sentence, and the confidence set of the l2 calibration error behind it, if there is one."""

    verdict: str
    interval: dict[str, Any] | None


def verdict_of(sums: Any, kept: Any) -> Verdict:
    """The verdict of a confidence set: calibrated is what cannot be refuted."""
    import trueness as tn

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruenessWarning)  # the measures have said it
            found = tn.ece_interval(sums, level=_LEVEL, seed=0)
    except InputError as reason:
        said = str(reason).partition(". ")[0].rstrip(".")
        return Verdict(f"No verdict: sums of these bins have no confidence set ({said}).", None)
    low, high = found.hull
    limits = f"{100 * _LEVEL:g} % confidence set {low:.4f} to {high:.4f}, {sums.n:,} rows"
    if found.includes_zero:
        sentence = f"Nothing speaks against calibration: the l2 calibration error may be zero ({limits})."
    else:
        sentence = f"Not calibrated: the l2 calibration error is {found.estimate:.4f} ({limits})."
    if kept == "sketch":
        sentence += " Rows are taken at the mean score of their cell."
    return Verdict(sentence, found.to_dict())
