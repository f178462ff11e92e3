"""Differences between models."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, floor, isclose, isinf, log10
from typing import Any, Literal

from trueness._level import Level
from trueness._text.numbers import (
    TOO_SMALL,
    level_percent,
    number,
    p_value,
    points,
    ratio,
    rules_in_words,
)
from trueness._text.strings import align, quoted, visible
from trueness.errors import InputError
from trueness.results._inference import Estimate
from trueness.results._record import Record, Table, with_two_columns

_SQUARED = "squared_ece"
"""The measure that is shown as the typical error, its root."""


@dataclass(frozen=True)
class Difference(Record):
    """One model minus another, on the same rows."""

    first: str
    """The model subtracted from."""
    second: str
    """The model subtracted."""
    difference: float
    """The measure of the first − that of the second."""
    standard_error: float
    """Standard error of the difference."""
    low: float
    """Lower end of the interval for this difference by itself."""
    high: float
    """Upper end."""
    pvalue: float
    """Two-sided p-value of no difference, by itself."""
    adjusted_pvalue: float
    """The p-value adjusted for the number of comparisons."""
    simultaneous_low: float
    """Lower end of the simultaneous interval, which covers jointly with those of all other
    comparisons."""
    simultaneous_high: float
    """Upper end."""

    def __neg__(self) -> "Difference":  # the second minus the first
        """The second minus the first: signs change, and lower limits become upper ones."""
        changed: dict[str, Any] = {
            "first": self.second,
            "second": self.first,
            "difference": 0.0 - self.difference,
        }
        for low, high in (("low", "high"), ("simultaneous_low", "simultaneous_high")):
            changed |= {low: 0.0 - getattr(self, high), high: 0.0 - getattr(self, low)}
        return replace(self, **changed)

    def __str__(self) -> str:
        digits = _digits([self])
        return (
            f"{visible(self.first)} − {visible(self.second)}: {self.difference:+z.{digits}f}, "
            f"interval {_span(self.low, self.high, digits)}, {p_value(self.pvalue)}"
        )


@dataclass(frozen=True)
class Comparison(Table):
    """Models compared pair by pair on the same rows.

    ``comparison["a", "b"]`` is the difference a − b, in either order.

    Examples
    --------
    >>> pair = Difference("a", "b", -0.012, 0.005, -0.0202, -0.0038, 0.017, 0.017, -0.0202, -0.0038)
    >>> estimates = {"a": 0.184, "b": 0.196}
    >>> comparison = Comparison("brier", (pair,), estimates, 0.9, "influence", 500, None, "",
    ...     "One comparison.", "")
    >>> print(comparison)
    'a' has the lower brier (p = 0.017).
    brier of 2 models (influence, n = 500)
    model  estimate
    a        0.1840
    b        0.1960
    pair   difference       90 % interval      p
    a − b     -0.0120  -0.0202 to -0.0038  0.017
    One comparison.
    >>> comparison["b", "a"].difference
    0.012
    """

    _text_first = True
    _columns = ("pairs",)
    _also = ("sentence",)

    measure: str
    """The measure compared."""
    pairs: tuple[Difference, ...]
    """Every pair of models, in the order passed."""
    estimates: dict[str, float]
    """The measure of each model."""
    level: float
    """Level of the intervals."""
    method: str
    """'influence' or 'bootstrap'."""
    n: int
    """Rows; a row of weight 2 counts as two."""
    clusters: int | None
    """Number of clusters; None if rows are independent."""
    bins: str
    """The bins, in words; empty if there are none."""
    multiplicity: str
    """The correction for the number of comparisons, in words."""
    assumptions: str
    """The assumptions behind intervals and p-values, in words."""
    name: str = ""
    """The measure in words; empty if only its key is known."""
    better: str = "less"
    """Whether 'less' or 'more' is better; empty if neither is."""
    compared: Literal["models", "groups"] = "models"
    """Models on the same rows, or groups of rows under the same model."""
    chosen: Estimate | None = None
    """The measure of the model with the best estimate, with limits that hold although it was chosen
    for that; None where neither less nor more is better."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order passed."""
        return tuple(self.estimates)

    def __getitem__(self, names: tuple[str, str]) -> Difference:
        """The difference of two models, by their names in either order; others are an error."""
        for pair in self.pairs:
            if names == (pair.first, pair.second):
                return pair
            if names == (pair.second, pair.first):
                return -pair
        raise InputError(
            "", f"There is no pair {names!r}", f"the models are {', '.join(map(repr, self.models))}"
        )

    def _entries(self) -> dict[str, Any]:
        """The pairs as columns, the fields that describe the whole comparison, and its sentence."""
        return self.columns() | {
            name: value for name, value in super()._entries().items() if name != "pairs"
        }

    @property
    def _ahead(self) -> tuple[str, str, float]:
        """The model with the best estimate, its closest rival, and their adjusted p-value."""
        choose = max if self.better == "more" else min
        best = choose(self.estimates, key=lambda name: self.estimates[name])
        rivals = {name: self[best, name].adjusted_pvalue for name in self.estimates if name != best}
        rival = max(rivals, key=lambda name: rivals[name])
        return best, rival, rivals[rival]

    @property
    def winner(self) -> str | None:
        """The model that is better than every other by adjusted p-values of at most 1 − level.

        None without one.
        """
        best, _, pvalue = self._ahead
        if self.better and pvalue <= Level(self.level).alpha:
            return best
        return None

    @property
    def sentence(self) -> str:
        """Which model is the best, or that none is; of groups, whether they differ."""
        if self.compared == "groups":
            return self._sentence_of_groups
        if self.measure == _SQUARED:
            return self._calibration_sentence
        name, (best, rival, pvalue) = self.name or self.measure, self._ahead
        several = len(self.pairs) > 1
        more = self.better == "more"
        if not self.better:
            differ = sum(pair.adjusted_pvalue <= Level(self.level).alpha for pair in self.pairs)
            if not several and not differ:
                return f"No winner: the difference in {name} may be chance ({p_value(pvalue)})."
            pairs = f"{differ} of {len(self.pairs)} pairs" if several else "the models"
            return f"No winner: {pairs} differ in {name}, of which neither less nor more is better."
        if several:
            degree = "highest" if more else "lowest"
        elif more:
            degree = "higher"
        else:
            degree = "lower"
        p = ("adjusted " if several else "") + p_value(pvalue)
        if self.winner is not None:
            return f"{best!r} has the {degree} {name} ({p})."
        if isclose(self.estimates[best], self.estimates[rival], rel_tol=1e-12, abs_tol=1e-12):
            return f"No winner: {best!r} and {rival!r} have the same {name}."
        return (
            f"No winner: {best!r} has the {degree} {name}, but it may be chance (against "
            f"{rival!r}: {p})."
        )

    @property
    def _calibration_sentence(self) -> str:
        """Which model is better calibrated, by the typical errors of which squares are compared."""
        best, rival, pvalue = self._ahead
        several = len(self.pairs) > 1
        p = ("adjusted " if several else "") + p_value(pvalue)
        errors = points(*(max(0.0, self.estimates[name]) ** 0.5 for name in (best, rival)))
        first, second = (error if float(error) > 0 else TOO_SMALL for error in errors)
        sizes = f"typical error {first} against {second} percentage points"
        rivals = "every other model" if several else quoted(rival)
        if self.winner is not None:
            return f"{quoted(best)} is better calibrated than {rivals}: {sizes} ({p})."
        if second == TOO_SMALL:
            both = f"{quoted(best)} and {quoted(rival)}"
            return f"No difference is shown: typical errors of {both} are {TOO_SMALL} ({p})."
        return f"No difference is shown: {sizes} for {quoted(best)} and {quoted(rival)} ({p})."

    @property
    def _sentence_of_groups(self) -> str:
        """Which two groups differ most, and by how much; or that no difference is shown."""
        name = self.name or self.measure
        several = len(self.pairs) > 1
        pair = min(self.pairs, key=lambda pair: pair.adjusted_pvalue)
        p = ("adjusted " if several else "") + p_value(pair.adjusted_pvalue)
        if pair.adjusted_pvalue > Level(self.level).alpha:
            which = "any two groups" if several else "the groups"
            return f"No difference in {name} between {which} is shown ({p}); there may be one."
        if pair.difference < 0:
            pair = -pair
        low = pair.low
        high = pair.high
        if several:
            low = pair.simultaneous_low
            high = pair.simultaneous_high
        first = pair.first
        second = pair.second
        level = level_percent(self.level)
        if self.measure == "observed_expected" and isinf(high):
            return (
                f"O/E of {first!r} is at least {ratio(exp(low))} times that of {second!r}, which "
                f"has no events ({p})."
            )
        if self.measure == "observed_expected":
            limits = f"{level} {ratio(exp(low))} to {ratio(exp(high))}"
            return (
                f"O/E of {first!r} is {ratio(exp(pair.difference))} times that of {second!r} "
                f"({limits}, {p})."
            )
        limits = f"{level} {number(low)} to {number(high)}"
        return (
            f"The {name} of {first!r} is {number(pair.difference)} above that of {second!r} "
            f"({limits}, {p})."
        )

    def __str__(self) -> str:
        """A table of the models, a table of their pairs, and what was concluded.

        Squared errors are shown as their roots, in percentage points.
        """
        details = [self.method, f"n = {self.n:,}"]
        if self.clusters is not None:
            details.append(f"{self.clusters:,} clusters")
        if self.bins:
            details.append(rules_in_words(self.bins))
        digits = _digits(self.pairs)
        if self.measure == _SQUARED and self.compared == "models":
            title = "typical error, in percentage points,"
            roots = points(*(max(0.0, value) ** 0.5 for value in self.estimates.values()))
            errors = (root if float(root) > 0 else TOO_SMALL for root in roots)
            models = [["model", "typical error"]]
            models += map(list, zip(self.estimates, errors, strict=True))
        else:
            title = self.measure if self.compared == "models" else self.name
            models = [[self.compared.removesuffix("s"), "estimate"]]
            models += [[name, f"{value:z.{digits}f}"] for name, value in self.estimates.items()]
        lines = [
            f"{title} of {len(self.estimates)} {self.compared} ({', '.join(details)})",
            align(models, [False, True]),
        ]
        pairs = self._table(digits)
        table = align(pairs, [i > 0 for i in range(len(pairs[0]))])
        text = "\n".join([self.sentence, *lines, table, self.multiplicity])
        return with_two_columns(text, self.assumptions)

    def _caption(self) -> str:
        return self.sentence

    def _table(self, digits: int) -> list[list[str]]:
        """A line for each pair below the titles; a single pair has no joint limits and p-value."""
        table = [
            [
                "pair",
                "difference of squares" if self.measure == _SQUARED else "difference",
                f"{level_percent(self.level)} interval",
                "p",
                "simultaneous",
                "adjusted p",
            ]
        ]
        for pair in self.pairs:
            line = [f"{pair.first} − {pair.second}", f"{pair.difference:+z.{digits}f}"]
            line += [_span(pair.low, pair.high, digits), p_value(pair.pvalue, named=False)]
            line += [_span(pair.simultaneous_low, pair.simultaneous_high, digits)]
            table.append([*line, p_value(pair.adjusted_pvalue, named=False)])
        if len(table) > 2:
            return table
        return [line[:4] for line in table]


def _digits(pairs: Iterable[Difference]) -> int:
    """Decimals that show two digits of the smallest standard error; at least four."""
    errors = [pair.standard_error for pair in pairs if pair.standard_error > 0]
    if errors:
        return max(4, 1 - floor(log10(min(errors))))
    return 4


def _span(low: float, high: float, digits: int) -> str:
    return f"{low:+z.{digits}f} to {high:+z.{digits}f}"
