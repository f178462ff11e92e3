"""Tests and confidence sets within a budget of random draws, and notes on what could not be computed."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeVar

from trueness._input.arguments import generator
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule
from trueness._tally.tally import Tally
from trueness.errors import InputError, TruenessWarning
from trueness.infer.comparison._compare import compare_of
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.test._calibration_test import test_of
from trueness.infer.test._exact_test import required_draws
from trueness.results import Comparison, Interval, Significance

Result = TypeVar("Result")


class Options(NamedTuple):
    """The bins, level and seed for every number of a report."""

    rule: BinRule
    level: float
    seed: int
    intervals: bool = True
    """Whether every measure has its limits or noise floor, or only those that the verdict needs."""


class Alpha(NamedTuple):
    """How the error rate of a report, 1 − level, is spent."""

    rejection: float
    """On a verdict against calibration of all rows."""
    too_good: float
    """On the verdict that labels agree with the scores better than chance allows."""
    part: float
    """On false flags of all segments together, and as much on those of all classes of a matrix."""

    @classmethod
    def of_level(cls, level: float, parts: int = 0) -> "Alpha":
        """All of it for all rows, or half of it if there are segments, classes or both; 0.001 is for the lower tail."""
        alpha = round(1 - level, 12)
        whole = alpha / 2 if parts else alpha
        good = min(TOO_GOOD, whole / 10)
        return cls(whole - good, good, (alpha - whole) / max(parts, 1))


TOO_GOOD = 0.001
"""Part of the error rate that is spent on the lower tail of the test."""
FLOOR_DRAWS = 999
FEW_ROWS = 20
"""With fewer rows no bin may hold two, so there is no confidence set, and a test has next to no power."""
_LEAST_DRAWS = 39
_DRAWN_LABELS = 2e7
_TEST_LABELS = 2e8  # each costs some 20 ns


class Notes:
    """Sentences for the reader, each kept once."""

    def __init__(self, wording: Mapping[type[Warning], str] | None = None) -> None:
        self.sentences: list[str] = []
        self.wording = wording or {}
        """Sentences for some classes of warnings, in place of their messages."""

    def add(self, sentence: str) -> None:
        """Keep a sentence."""
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def attempt(
        self, name: str, compute: Callable[[], Result], reason: str | None = None, *, warn: bool = True
    ) -> Result | None:
        """The result; or None and a note with the reason, by default the library's message.

        Warnings become notes, too, unless `warn` is False.
        """
        try:
            with collect_warnings(self if warn else Notes()):
                return compute()
        except InputError as error:
            self.add(f"{name} could not be computed: {reason or error}")
            return None


@contextmanager
def collect_warnings(notes: Notes) -> Iterator[None]:
    """Turn the library's warnings into notes; other warnings are passed on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruenessWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, TruenessWarning):
            notes.add(notes.wording.get(warning.category, str(warning.message)))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def draws_for_floor(cells: int) -> int:
    """How often a noise floor redraws the labels: 999 times, fewer if there are many distinct scores."""
    return max(_LEAST_DRAWS, min(FLOOR_DRAWS, int(_DRAWN_LABELS / max(1, cells))))


def draws_for_tests(tallies: Sequence[Tally], alpha: float) -> int | None:
    """Draws that let the smallest p-value survive a correction for all the tests; None if that costs too much."""
    draws = max(FLOOR_DRAWS, math.ceil(round(2 * len(tallies) / alpha, 6)) - 1)
    cells = sum(part.size for tally in tallies for part in tally.parts)
    exact = all(part.exact for tally in tallies for part in tally.parts)
    return draws if exact and cells * draws <= _TEST_LABELS else None


def significance(one: Evidence, draws: int | None, seed: int) -> Significance:
    """The omnibus test, or the Kolmogorov–Smirnov test if redrawing costs too much or weights are fractional.

    With clusters it is always the omnibus test: all methods then draw.
    """
    if one.dependent:
        return test_of(one, resamples=draws or FLOOR_DRAWS, rng=generator(seed))
    if draws is None:
        return test_of(one, method="ks", rng=generator(seed))
    return test_of(one, resamples=draws, rng=generator(seed))


def significance_of_all_rows(one: Evidence, options: Options) -> Significance:
    """The omnibus test, with as many draws as the level needs."""
    draws = required_draws(round(1 - options.level, 12))  # as for the confidence set, so that both have one p-value
    return test_of(one, resamples=draws, rng=generator(options.seed))


def confidence_set(one: Evidence, options: Options) -> Interval:
    """The confidence set of the l2 error."""
    return interval_of(one, level=options.level, rng=generator(options.seed))


def comparison(
    models: Mapping[str, Evidence], options: Options, measure: Literal["squared_ece", "brier"]
) -> Comparison:
    """The differences between models of the same rows."""
    return compare_of(models, measure, level=options.level, rng=generator(options.seed))
