"""The numbers of ``trueness measure``, of rows and of sums.

Their tables are in ``_measures_table``.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import trueness as tn
from trueness._assess.asked import Asked
from trueness._assess.makers import MAKERS, draw_together
from trueness._assess.rows import ModelRows
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rules import BinRule
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned
from trueness._text.numbers import rule_in_words
from trueness.cli._printing import reword_messages, warning, with_limits, wording
from trueness.cli._reading import about, dropped_message
from trueness.cli._tally import ModelSums, file_names, stream_sums
from trueness.errors import InputError, quietly
from trueness.infer._catalogue import MEASURES, Measure
from trueness.infer._estimate import value_of
from trueness.measure._slope import inside_cells
from trueness.sources._columns import sort_values
from trueness.sources._data_set import DataSet
from trueness.sources._request import Group, Model
from trueness.typing import Kind

_IMPORTANCE = (
    "Weights are sampling weights: TCE, which counts rows, is left out, and the typical error "
    "takes them as importance."
)
_SKETCH = (
    "From a sketch: rows count at the mean score of their cell. The largest errors seen in "
    "experiments are in docs/reference/sums.md. Equal-width bins are exact if their number is a "
    "power of two up to 512."
)
_SCORES_LOST = "This measure needs every distinct score; bins do not keep them."
CERTAIN = ("n_certain", "n_certain_wrong")
"""Shown only if there are scores of exactly 0 or 1."""


class Quantity(NamedTuple):
    """One line of a table: a measure of one view, or a count."""

    key: str
    name: str
    meaning: str = ""
    unit: Literal["count", "fraction", "percent", "number"] = "count"
    ask: Any = None
    """The measure as `estimates_of` takes it; None for a count."""
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
    def mass(self) -> tn.EqualMass:
        """Bins of equal mass to go with the bins: as many, if their number is known."""
        if isinstance(self.bins, tn.EqualMass):
            return self.bins
        return tn.EqualMass(self.bins.n_requested or 10)

    @property
    def of_matrix(self) -> tuple[Kind, ...]:
        return self.kinds or ("classwise", "confidence")

    @property
    def summed(self) -> tuple[Kind, ...]:
        """The kinds whose sums a matrix needs: also those of the accuracy and of all classes."""
        return tuple(dict.fromkeys(("classwise", "confidence", *self.of_matrix)))


@dataclass(frozen=True)
class ModelMeasures:
    name: str
    columns: tuple[str, ...]
    classes: tuple[Any, ...] | None
    """In column order; None for a vector of scores."""
    values: dict[str, float]
    tables: dict[str, tn.results.BinTable]
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    estimates: Mapping[str, tn.results.Estimate] = field(default_factory=dict)
    """The limits and the noise floor of each measure, unless only the values are needed."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why stored sums do not give a measure, by its key."""

    def numbers(self, quantities: Iterable[Quantity]) -> dict[str, float]:
        """The values by key, each followed by its limits and its noise floor."""
        numbers = {}
        for quantity in quantities:
            numbers[quantity.key] = self.values.get(quantity.key, math.nan)
            if self.estimates and quantity.ask is not None:
                numbers |= with_limits(quantity.key, self.estimates.get(quantity.key))
        return numbers


@dataclass(frozen=True)
class Measurements:
    quantities: tuple[Quantity, ...]
    models: tuple[ModelMeasures, ...]
    about: Mapping[str, Any]
    """The data as JSON output describes them."""
    notes: tuple[str, ...]
    """The data as notes below a table describe them."""
    options: Options
    binned: bool = False
    clustered: bool = False

    @property
    def level(self) -> float | None:
        """The level of the intervals, if there are any."""
        if self.options.intervals:
            return self.options.level
        return None

    @property
    def bins(self) -> dict[str, str]:
        """The bins in words, by measure."""
        equal_mass = rule_in_words(self.options.mass)
        chosen = rule_in_words(self.options.bins)
        bins = {}
        for measure in shown_measures("rows"):
            if measure.bins and not measure.preset and not (self.binned and measure.scores):
                bins[measure.key] = equal_mass if measure.bins == "mass" else chosen
        if not self.binned:
            bins["tce"] = rule_in_words(tn.BlockIsotonic())
        if any(quantity.key.startswith("l2") for quantity in self.quantities):
            preset = "n^0.4 bins of equal mass, cut at as many of equal width"
            bins["l2"] = chosen if self.binned else preset
        return bins


def measure_all(rows: DataSet, options: Options) -> Measurements:
    """Measure every model; an error names the file and the column."""
    dropped = dropped_message(rows.dropped, len(rows) + rows.dropped)
    results = []
    for part in rows.by_model():
        with about(part) as warned:
            _check_kinds(part, options)
            evidence = read_rows(
                part.y_true,
                part.y_prob,
                part.options,
                two_columns="keep",
                cluster=part.cluster,
            )
            views = evidence.in_views(options.summed)
            measures = measure_views(part.model, views, options, part.order.remark)
        results.append(replace(measures, warnings=(*dropped, *warned)))
    return _of_columns(rows, results, options)


def measure_stream(data: DataSet, options: Options, *, requested: bool) -> Measurements:
    """The measures of rows that are read in pieces."""

    def sums_of(part: DataSet) -> ModelSums:
        _check_kinds(part, options)
        if not part.is_matrix():
            return ModelSums({"binary": part.ask(tn.tally)})
        sums = {str(kind): part.ask(tn.tally, kind=kind) for kind in options.summed}
        return ModelSums(sums, part.order.remark)

    measures = [measure for measure in shown_measures("rows") if measure.scores]
    names = ", ".join(measure.short or measure.name for measure in measures)
    lost = f"Measures that need each of them are left out: {names}. `--no-stream` computes them."
    total = stream_sums(data, sums_of, options.bins, lost, requested=requested)
    results = []
    for part in data.by_model():
        sums = total[part.model.name]
        with about(part) as warned:
            views = {
                kind: Sums.read(tally, two_columns="keep") for kind, tally in sums.parts.items()
            }
            measured = measure_views(part.model, views, options, sums.remark)
        results.append(replace(measured, warnings=(*sums.warnings, *warned)))
    binned = any(
        isinstance(part, Binned) for sums in total.values() for part in sums.parts.values()
    )
    return _of_columns(data, results, options, binned)


def _check_kinds(rows: DataSet, options: Options) -> None:
    if options.kinds and not rows.is_matrix():
        raise InputError(
            "--kind",
            "is only for scores of several classes (a matrix)",
            "these are one column of scores",
        )


def _of_columns(
    data: DataSet, models: Sequence[ModelMeasures], options: Options, binned: bool = False
) -> Measurements:
    views = ("binary",) if models[0].classes is None else options.summed
    return Measurements(
        quantities=tuple(_quantities(options, views, data.request.weight is not None)),
        models=tuple(models),
        about={"data": data.entry},
        notes=(data.sentence,),
        options=options,
        binned=binned,
        clustered=data.request.cluster is not None,
    )


def measure_sums(
    total: tn.Accumulator, names: Sequence[str], options: Options, where: str = ""
) -> list[tuple[Group, Measurements]]:
    """All measures of all rows that files sum up, then of each group.

    `where` begins the warnings.
    """
    name, label, weight = (total.about.get(key) for key in ("prob", "label", "weight"))
    data = {"data": {"sources": list(names), **total.about, "by": total.by}, "kept": total.bins}
    notes = [f"{file_names(names)}: {total.n:,} rows; labels {label!r}, scores {name!r}."]
    if total.bins == "sketch":
        notes.append(_SKETCH)
    model = Model(str(name), (str(name),))

    def measurements(
        quantities: Iterable[Quantity], measures: ModelMeasures, chosen: Options, binned: bool
    ) -> Measurements:
        return Measurements(tuple(quantities), (measures,), data, tuple(notes), chosen, binned)

    if total.n == 0:
        empty = ModelMeasures(model.name, model.columns, None, {"n": 0}, {})
        return [(Group(), measurements([Quantity("n", "rows")], empty, options, False))]
    parts: dict[Group, Any] = {Group(): total.total}
    if total.by is not None:
        for key in sort_values(total.groups):
            parts[Group.of_sums(total.by, key)] = total.groups[key]
    results = []
    for group, sums in parts.items():
        evidence = Sums.read(sums, two_columns="keep")
        views: dict[str, Evidence] = {evidence.view: evidence}
        wanted = options
        if evidence.view != "binary":
            wanted = replace(options, kinds=(evidence.view,))
        with reword_messages(wording()) as warned:
            measures = measure_views(model, views, wanted, stored=True)
        value = "" if group.by is None else str(group.value)
        warning(*warned, about=": ".join(filter(None, [where, value])))
        quantities = _quantities(wanted, views, weight is not None, stored=True)
        is_binned = isinstance(sums, Binned)
        results.append((group, measurements(quantities, measures, wanted, is_binned)))
    return results


def measure_views(
    model: Model,
    views: Mapping[str, Evidence],
    options: Options,
    remark: str | None = None,
    *,
    stored: bool = False,
) -> ModelMeasures:
    """Every measure of one model, by the views of its rows or sums.

    Of `stored` sums, the measures that they give.
    """
    whole = views["classwise"] if "classwise" in views else next(iter(views.values()))
    is_matrix = not whole.is_binary
    quantities = [
        quantity
        for quantity in _quantities(options, views, weighted=True, stored=stored)
        if quantity.ask is not None
    ]
    values = _counts(whole)
    reasons = dict[str, str]()
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
            reasons[quantity.key] = reason.but(remedy="", context="").render(wording())
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
            tables[kind] = tn.bin_table(sums, bins=options.bins, level=options.level)
    remarks = [remark] if remark else []
    if not whole.whole:
        remarks.append(_IMPORTANCE)
    return ModelMeasures(
        name=model.name,
        columns=model.columns,
        classes=whole.classes if is_matrix else None,
        values=values,
        tables=tables,
        remarks=tuple(remarks),
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


def _quantities(
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
) -> dict[str, tn.results.Estimate]:
    """The limits and the noise floors of all measures; the values have given their warnings."""
    estimates: dict[str, tn.results.Estimate] = {}
    for view, evidence in views.items():
        measures = {quantity.key: quantity.ask for quantity in quantities if quantity.view == view}
        answers = Asked(ModelRows(evidence), MAKERS, options.level, seed=0, rule=None)
        kind = answers.kind(view)
        if options.floors:
            draw_together(answers, measures.values(), kind)
        for key, measure in measures.items():
            estimates[key] = quietly(
                answers.ask, "estimate", measure=measure, kind=kind, floor=options.floors
            )
    return estimates


def group_name(group: Any) -> Any:
    """The group in a table, where an empty cell stands for all groups."""
    if group == "":
        return "''"
    return group
