"""A measure with its options, as a question about sums.

The measure is one of the catalogue, or a function of the user.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness import measure as measures
from trueness._keywords import unknown_keyword
from trueness._numerics.averages import exponent
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, EqualMass, as_rule
from trueness._tally.tally import Tally
from trueness.errors import InputError, did_you_mean
from trueness.infer._catalogue import ALIASES, MEASURES, Measure
from trueness.infer.limits._ece import squared_error_of
from trueness.infer.limits._limits import Options, no_limits
from trueness.measure._flexible_curve import smooth_ece, smooth_ece_of_tallies
from trueness.measure._tce import tce, tce_of_tallies

MeasureLike: TypeAlias = str | Callable[..., float]
TallyMeasure: TypeAlias = Callable[[Tally], float]
# Cells of the tallies that are measured at a time, which stay in the processor's cache.
_BATCH = 1 << 18
_NO_LIMITS = (
    "No valid interval is known for a function of your own; `method='bootstrap'` assumes one."
)


class Question(NamedTuple):
    """One measure with its options; the key of a user's own function is empty."""

    measure: Measure
    options: Options

    @property
    def function(self) -> Callable[[Any], float]:
        """The measure as a function of sums alone."""
        return partial(self.measure.function, **self.options)

    @property
    def display_name(self) -> str:
        """The function with its options, as a noise floor is called."""
        name = measure_name(self.function if self.options else self.measure.function)
        if name == "measure" and self.measure.key:
            return self.measure.key
        return name

    @property
    def bins(self) -> str:
        """The rule of the bins, if it can be chosen."""
        if not self.measure.bins:
            return ""
        bins = self.options.get("bins", 10)
        if self.measure.bins == "mass" and not isinstance(bins, BinRule):
            return repr(EqualMass(bins))
        return repr(as_rule(bins))

    def value_of_tally(self, tally: Tally) -> float:
        """The measure of a tally."""
        return measure_value(self.function, tally)

    def value(self, evidence: Evidence) -> float:
        """The measure of rows or sums, as a number.

        A user's own function gets a tally where there is one; our own measures take sums of bins,
        too.
        """
        if self.measure.key in ("l2", "squared_ece"):
            error = squared_error_of(evidence, **self.options)
            if self.measure.key == "squared_ece":
                return error
            root: float = max(0.0, error) ** 0.5
            return root
        # A user's function gets a Tally where there is one.
        if not self.measure.key and evidence.tally is not None:
            return measure_value(self.function, evidence.tally)
        # Our own measures take sums of bins as well.
        return measure_value(self.function, evidence.sums)  # type: ignore[arg-type]


def question_of(measure: MeasureLike, options: Options, *, lenient: bool = False) -> Question:
    """A measure with its options: one of the catalogue, by its name or function, or a user's own.

    `options` that it does not take are an error or, if `lenient`, left out. A partial function has
    its options as keywords.
    """
    if isinstance(measure, partial):
        if measure.args:
            raise InputError(
                "measure", "must have its options by keyword", f"got {measure_name(measure)}"
            )
        inner = question_of(measure.func, {**measure.keywords, **({} if lenient else options)})
        if inner.measure.key:
            return inner
        return inner._replace(measure=inner.measure._replace(name=measure_name(measure)))
    key = _key_of(measure)
    if not key:
        assert callable(measure)  # anything else has been refused
        return own_question(measure, {} if lenient else options)
    entry = MEASURES[key]
    parameters = dict(inspect.signature(entry.function).parameters)
    parameters.pop("by", None)
    unknown = options.keys() - parameters.keys()
    if unknown and not lenient:
        raise unknown_keyword(key, min(unknown), parameters)
    options = {name: value for name, value in options.items() if name not in unknown}
    options |= entry.preset
    if key == "ece" and exponent(options.get("norm", "l1")) == 2:
        entry = MEASURES["ece_l2"]
    return Question(entry, options)


def _key_of(measure: object) -> str:
    """The key of a measure in the catalogue; empty for a user's own function."""
    if isinstance(measure, str):
        key = ALIASES.get(measure, measure)
        if key in MEASURES:
            return key
        names = sorted({*MEASURES, *ALIASES})
        demand = f"must be one of {', '.join(names)}"
        raise InputError("measure", demand, f"got {measure!r}", remedy=did_you_mean(measure, names))
    if not callable(measure):
        demand = "must be a measure, its name, or a function of a Tally"
        raise InputError("measure", demand, f"got {measure!r}")
    for entry in MEASURES.values():
        if entry.function is measure:
            return entry.key
    return ""


def own_question(measure: Callable[..., Any], options: Options | None = None) -> Question:
    """A user's own function of a tally as a question, with the first line of its docstring.

    `corp`, which returns three numbers, is refused.
    """
    if measure is measures.corp:
        remedy = "Name its part: 'miscalibration', 'discrimination' or 'uncertainty'."
        raise InputError("measure", "must return one number", "corp returns three", remedy=remedy)
    definition = (inspect.getdoc(measure) or "").partition("\n")[0] or "A function of a Tally."
    entry = Measure(
        key="",
        name=measure_name(measure),
        definition=definition,
        meaning="",
        brief="",
        function=measure,
        limits=no_limits(_NO_LIMITS),
        floor="drawn",
    )
    return Question(entry, options or {})


def measure_value(measure: TallyMeasure, tally: Tally) -> float:
    """The measure of a tally as a float; a function that gives anything but a number is refused."""
    try:
        value = measure(tally)
    except (TypeError, AttributeError) as error:
        got = f"called with one, it raised {type(error).__name__}: {error}"
        raise InputError("measure", "must be a function of a Tally", got) from error
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError("measure", "must return one number", f"it returned {type(value).__name__}")
    return float(value)


def values_of_tallies(measure: TallyMeasure, tallies: Iterable[Tally]) -> list[float]:
    """The measure of each tally; some measures are computed for several tallies at a time."""
    partial_measure = measure if isinstance(measure, partial) else partial(measure)
    options = partial_measure.keywords
    if partial_measure.func is smooth_ece and not (partial_measure.args or options):
        return smooth_ece_of_tallies(list(tallies))
    if partial_measure.func is not tce or partial_measure.args:
        return [measure_value(measure, tally) for tally in tallies]
    values: list[float] = []
    remaining = iter(tallies)
    for first in remaining:  # as many at a time as stay in the processor's cache
        count = _BATCH // max(1, sum(part.size for part in first.parts))
        values += tce_of_tallies([first, *islice(remaining, count)], **options)
    return values


def measure_name(measure: object) -> str:
    """``tce(bins=5)`` for a partial function, the name of any other."""
    if isinstance(measure, partial):
        options = [repr(value) for value in measure.args]
        options += [f"{name}={value!r}" for name, value in measure.keywords.items()]
        return f"{measure_name(measure.func)}({', '.join(options)})"
    name = getattr(measure, "__name__", type(measure).__name__)
    if name == "<lambda>":
        return "measure"
    return str(name)
