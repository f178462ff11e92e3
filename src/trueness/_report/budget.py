"""How much may be drawn, and how what cannot be computed is noted."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeVar

from trueness._input.sample import Sample
from trueness._tally.tally import Tally
from trueness.errors import InputError, TruenessWarning
from trueness.infer import calibration_test, ece_interval
from trueness.results import Interval, Significance
from trueness.typing import Ints

__all__ = [
    "FEW_ROWS",
    "FLOOR_DRAWS",
    "Clustered",
    "Notes",
    "confidence_set",
    "draws_for",
    "heard",
    "tested",
    "tests_by_drawing",
]

Found = TypeVar("Found")


class Clustered(NamedTuple):
    """Rows, and the cluster of each."""

    view: Sample
    cluster: Ints


FLOOR_DRAWS = 999
FEW_ROWS = 20
"""Below, a set is missing because no bin holds two rows, and a test has next to no power."""
_LEAST_DRAWS = 39
_DRAWN_LABELS = 2e7
# Drawing labels for the exact test costs some 20 ns each.
_TEST_LABELS = 2e8


class Notes:
    """What a reader should know beside the numbers, each thing once."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, what: str) -> None:
        """Keep a sentence."""
        if what not in self.said:
            self.said.append(what)

    def tried(self, what: str, make: Callable[[], Found], why: str | None = None) -> Found | None:
        """The result, or None and a note that says why there is none, in the library's words unless told others."""
        try:
            with heard(self):
                return make()
        except InputError as reason:
            self.say(f"{what} could not be computed: {why or reason}")
            return None


@contextmanager
def heard(notes: Notes) -> Iterator[None]:
    """Turn the library's warnings into notes; others go on to whoever listens."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", TruenessWarning)
        yield
    for warning in found:
        if issubclass(warning.category, TruenessWarning):
            notes.say(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def draws_for(cells: int) -> int:
    """How often a noise floor redraws labels of so many distinct scores: 999 times, fewer if they are many."""
    return max(_LEAST_DRAWS, min(FLOOR_DRAWS, int(_DRAWN_LABELS / max(1, cells))))


def tests_by_drawing(tallies: list[Tally], alpha: float) -> int | None:
    """How many draws let the smallest p-value pass a correction for all the tests; None if that costs too much."""
    draws = max(FLOOR_DRAWS, math.ceil(round(2 * len(tallies) / alpha, 6)) - 1)
    cells = sum(part.size for tally in tallies for part in tally.parts)
    exact = all(part.exact for tally in tallies for part in tally.parts)
    return draws if exact and cells * draws <= _TEST_LABELS else None


def tested(tally: Tally, draws: int | None, seed: int, rows: Clustered | None) -> Significance:
    """The exact test; where labels are too many to be redrawn, or weights not whole, the cumulative one.

    With clusters it is always the exact one: all tests then draw, and it does so fastest.
    """
    if rows is not None:
        view, cluster = rows
        resamples = draws or FLOOR_DRAWS
        return calibration_test(view.y, view.p, cluster=cluster, sample_weight=view.w, resamples=resamples, seed=seed)
    options: dict[str, Any] = {"method": "ks"} if draws is None else {"resamples": draws, "seed": seed}
    return calibration_test(tally, **options)


def confidence_set(view: Sample, tally: Tally, level: float, seed: int, cluster: Ints | None = None) -> Interval:
    """The set of the l2 error: from the tally of the rows, or from the rows where weights or clusters need them."""
    exact = tally.parts[0].exact
    if exact and cluster is None:
        return ece_interval(tally, level=level, seed=seed)
    kind: Literal["frequency", "importance"] = "frequency" if exact else "importance"
    return ece_interval(view.y, view.p, sample_weight=view.w, weight_type=kind, cluster=cluster, level=level, seed=seed)
