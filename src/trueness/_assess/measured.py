"""Every measure of one model with its limits and noise floor: what ``trueness measure`` asks."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from trueness._assess.asked import ESTIMATE, Asked
from trueness._assess.makers import MAKERS
from trueness._assess.one_measure import draw_together
from trueness._assess.rows import ModelRows
from trueness._tally.evidence import Evidence
from trueness._tally.multiclass import View
from trueness._tally.rules import BinRule, EqualMass
from trueness.errors import InputError, quietly
from trueness.infer._catalogue import MEASURES, Measure
from trueness.infer._estimate import value_of
from trueness.infer._questions import MeasureLike
from trueness.measure._bin_table import bin_table
from trueness.measure._slope import inside_cells
from trueness.results._bins import BinTable
from trueness.results._inference import Estimate
from trueness.typing import Kind

_IMPORTANCE = (
    "Weights are sampling weights: TCE, which counts rows, is left out, and the typical error "
    "takes them as importance."
)
_SCORES_LOST = InputError("", "This measure needs every distinct score; bins do not keep them")
CERTAIN = ("n_certain", "n_certain_wrong")
"""Shown only if there are scores of exactly 0 or 1."""


class Quantity(NamedTuple):
    """One line of a table: a measure of one view, or a count."""

    key: str
    name: str
    meaning: str = ""
    unit: Literal["count", "fraction", "percent", "number"] = "count"
    ask: MeasureLike = ""
    """The measure as `estimates_of` takes it; empty for a count."""
    view: str = "binary"
    scores: bool = True
    """Whether it needs every distinct score."""
    part: bool = False
    """Whether it is a part of the measure above it."""
    ideal: float = math.nan

    @classmethod
    def of(cls, measure: Measure, options: "Options", view: str = "binary") -> "Quantity":
        """A measure of the catalogue, in the bins of the options."""
        return cls(
            key=f"brier_{measure.key}" if measure.part else measure.key,
            name=measure.short or measure.name,
            meaning=measure.brief,
            unit=measure.unit,
            ask=measure.asked(options.bins),
            view=view,
            scores=measure.scores,
            part=measure.part,
            ideal=measure.ideal,
        )

    def named(self, words: str, key: str = "") -> "Quantity":
        """The same measure, with the classes in its name; a part stands below its measure."""
        name = self.name if self.part else f"{self.name} ({words})"
        return self._replace(key=self.key + key, name=name)


@dataclass(frozen=True)
class Options:
    """Bins, kinds, tables and limits to compute."""

    bins: BinRule
    level: float = 0.95
    kinds: tuple[Kind, ...] = ()
    tables: bool = False
    intervals: bool = True
    floors: bool = True
    """Whether the limits come with noise floors, which take longer."""

    @property
    def mass(self) -> EqualMass:
        """Bins of equal mass to go with the bins: as many, if their number is known."""
        if isinstance(self.bins, EqualMass):
            return self.bins
        return EqualMass(self.bins.n_requested or 10)

    @property
    def of_matrix(self) -> tuple[Kind, ...]:
        return self.kinds or ("classwise", "confidence")

    @property
    def summed(self) -> tuple[Kind, ...]:
        """The kinds whose sums a matrix needs: also those of the accuracy and of all classes."""
        return tuple(dict.fromkeys(("classwise", "confidence", *self.of_matrix)))


@dataclass(frozen=True)
class Measured:
    """Every measure of one model, by key."""

    name: str
    columns: tuple[str, ...]
    classes: tuple[Any, ...] | None
    """In column order; None for a vector of scores."""
    values: dict[str, float]
    tables: dict[str, BinTable]
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    """The limits and the noise floor of each measure, unless only the values are needed."""
    reasons: Mapping[str, InputError] = field(default_factory=dict)
    """Why stored sums do not give a measure, by its key."""


def measured(
    name: str,
    columns: tuple[str, ...],
    views: Mapping[str, Evidence],
    options: Options,
    *,
    stored: bool = False,
) -> Measured:
    """Every measure of one model, by the views of its rows or sums.

    Of `stored` sums, the measures that they give.
    """
    whole = views["classwise"] if "classwise" in views else next(iter(views.values()))
    is_matrix = not whole.is_binary
    quantities = [
        quantity
        for quantity in quantities_of(options, views, weighted=True, stored=stored)
        if quantity.ask
    ]
    values = _counts(whole)
    reasons = dict[str, InputError]()
    for quantity in quantities:
        evidence = views[quantity.view]
        lost = evidence.is_binned and quantity.scores
        if lost and stored:
            reasons[quantity.key] = _SCORES_LOST
        values[quantity.key] = math.nan
        # TCE counts rows, which sampling weights do not give.
        if lost or (quantity.unit == "percent" and not evidence.whole):
            continue
        try:
            values[quantity.key] = value_of(quantity.ask, evidence)
        except InputError as reason:
            if not stored:
                raise
            reasons[quantity.key] = reason.but(remedy="", context="")
    estimates = {}
    if options.intervals:
        answered = [quantity for quantity in quantities if quantity.key not in reasons]
        estimates = _estimates(answered, views, options)
    for key, estimate in estimates.items():
        # The l2 error of its confidence set is not quite that of the function without limits.
        if not math.isnan(estimate.value):
            values[key] = estimate.value
    tables = {}
    if options.tables:
        for kind in options.of_matrix if is_matrix else ("binary",):
            sums = views[kind].sums
            tables[kind] = bin_table(sums, bins=options.bins, level=options.level)
    return Measured(
        name=name,
        columns=columns,
        classes=whole.classes if is_matrix else None,
        values=values,
        tables=tables,
        remarks=() if whole.whole else (_IMPORTANCE,),
        estimates=estimates,
        reasons=reasons,
    )


def _counts(evidence: Evidence) -> dict[str, float]:
    """What is counted, not measured: rows, weight, classes and scores of 0 or 1."""
    counts = {
        "n": evidence.sums.n,
        "weight": evidence.sums.weight,
        "classes": len(evidence.classes or ()),
    }
    if evidence.tally is None:
        return counts | dict.fromkeys(CERTAIN, math.nan)
    cells = [inside_cells(part) for part in evidence.tally.parts]
    certain, wrong = CERTAIN
    counts[certain] = sum(part.certain for part in cells)
    counts[wrong] = sum(part.wrong for part in cells)
    return counts


def quantities_of(
    options: Options, views: Collection[str], weighted: bool, *, stored: bool = False
) -> Iterator[Quantity]:
    """The lines for a vector of scores, or for some views of a matrix."""
    yield Quantity("n", "rows", "of positive weight" if weighted else "")
    if weighted:
        yield Quantity("weight", "weight", "in total", "number")
    if "binary" in views:
        places = ("rows", "sums") if stored else ("rows",)
        for measure in shown_measures(*places):
            yield Quantity.of(measure, options)
        yield Quantity("n_certain", "scores of 0 or 1", "no log-odds")
        yield Quantity("n_certain_wrong", "contradicted", "by their label", part=True)
        return
    yield Quantity("classes", "classes")
    if "confidence" in views:
        yield Quantity.of(MEASURES["accuracy"], options, "confidence")
    for kind in options.of_matrix:
        view = "class-wise" if kind == "classwise" else kind
        key = f"_{kind.replace('-', '_')}" if len(views) > 1 else ""
        for measure in shown_measures("matrix"):
            if measure.view in ("classwise", kind):
                yield Quantity.of(measure, options, kind).named(view, key)
    all_classes = "classwise" if "classwise" in views else next(iter(views))
    words = "all classes" if all_classes == "classwise" else all_classes
    for measure in shown_measures("classes"):
        yield Quantity.of(measure, options, all_classes).named(words)


def shown_measures(*where: str) -> Iterator[Measure]:
    """The measures that the catalogue lists in one of these places."""
    for measure in MEASURES.values():
        if not {*where}.isdisjoint(measure.shown.split()):
            yield measure


def _estimates(
    quantities: Iterable[Quantity], views: Mapping[str, Evidence], options: Options
) -> dict[str, Estimate]:
    """The limits and the noise floors of all measures; the values have given their warnings."""
    estimates: dict[str, Estimate] = {}
    for view, evidence in views.items():
        measures = {quantity.key: quantity.ask for quantity in quantities if quantity.view == view}
        answers = Asked(ModelRows(evidence), MAKERS, options.level, seed=0, rule=None)
        kind = answers.kind(cast(View, view))
        if options.floors:
            draw_together(answers, measures.values(), kind)
        for key, measure in measures.items():
            estimates[key] = quietly(
                answers.ask, ESTIMATE, measure=measure, kind=kind, floor=options.floors
            )
    return estimates
