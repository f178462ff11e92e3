"""What is said of several measures with their limits and noise floors, below a table."""

import math
from collections.abc import Iterable, Sequence

from trueness._text.numbers import number
from trueness._text.strings import grouped
from trueness.results._inference import INDEPENDENT_FLOOR, Estimate

_NO_INTERVAL = "no valid interval is known; compare with the value if calibrated."
_FLOORS = "If calibrated: the mean over labels drawn from the scores (noise floor)."


def limits_notes(
    estimates: Sequence[tuple[str, Estimate]], *, clustered: bool = False
) -> list[str]:
    """The meaning of the value if calibrated, and which measures, by name, have no interval."""
    with_floor = {name for name, estimate in estimates if not math.isnan(estimate.floor)}
    unbounded = []
    places = []
    for name, estimate in estimates:
        if not estimate.bounded and math.isfinite(estimate.value):
            reason = f"{estimate.note[:1].lower()}{estimate.note[1:]}"
            unbounded.append((_NO_INTERVAL if name in with_floor else reason, name))
        if estimate.where:
            value = f"{join_names([name])} {number(estimate.value)}"
            places.append(f"{value}: the gap of {estimate.where}.")
    notes = []
    if with_floor:
        notes.append(f"{_FLOORS} {INDEPENDENT_FLOOR}" if clustered else _FLOORS)
    for reason, names in grouped(unbounded).items():
        if reason:
            notes.append(f"{join_names(names)}: {reason}")
    return [*notes, *dict.fromkeys(places)]


def join_names(names: Iterable[str]) -> str:
    """The names of measures in a sentence, each once."""
    plain = [name.removeprefix("– ").replace(", %", "").replace(",", "") for name in names]
    return ", ".join(dict.fromkeys(plain))
