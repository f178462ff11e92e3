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
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned
from trueness._text.numbers import rule_in_words
from trueness.cli._columns import Choice, Group, Model
from trueness.cli._dataset import Arguments, Dataset, Rows, dropped_message, sort_values
from trueness.cli._printing import reword_messages, warning, with_limits, wording
from trueness.cli._tally import ModelSums, file_names, stream_sums
from trueness.errors import InputError, quietly
from trueness.infer._catalogue import MEASURES, Measure
from trueness.infer._estimate import value_of
from trueness.measure._slope import inside_cells
from trueness.typing import Kind, RowOptions

_IMPORTANCE = "Weights are sampling weights: TCE, which counts rows, is left out, and the typical error takes them as importance."
_SKETCH = (
    "From a sketch: rows count at the mean score of their cell. The largest errors seen in experiments are in "
    "docs/guide/sketch.md. Equal-width bins are exact if their number is a power of two up to 512."
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
    def of(cls, one: Measure, options: "Options", view: str = "binary") -> "Quantity":
        """A measure of the catalogue, in the bins of the options."""
        key = f"brier_{one.key}" if one.part else one.key
        name = one.short or one.name
        ask = one.asked(options.bins)
        return cls(key, name, one.brief, one.unit, ask, view, one.scores, one.part, one.ideal)

    def named(self, words: str, key: str = "") -> "Quantity":
        """The same, whose name says of what; a part is below the measure that says so."""
        return self._replace(
            key=self.key + key, name=self.name if self.part else f"{self.name} ({words})"
        )


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
        """The kinds whose sums are needed for a matrix: those, and what is said of all classes and of accuracy."""
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
        found = {}
        for q in quantities:
            found[q.key] = self.values.get(q.key, math.nan)
            if self.estimates and q.ask is not None:
                found |= with_limits(q.key, self.estimates.get(q.key))
        return found


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
        rules = (self.options.bins, self.options.mass, tn.BlockIsotonic())
        own, mass, blocks = map(rule_in_words, rules)
        chosen = [one for one in shown_measures("rows") if one.bins and not one.preset]
        chosen = [one for one in chosen if not (self.binned and one.scores)]
        bins = {one.key: mass if one.bins == "mass" else own for one in chosen}
        bins |= {} if self.binned else {"tce": blocks}
        if any(q.key.startswith("l2") for q in self.quantities):
            bins["l2"] = (
                own if self.binned else "n^0.4 bins of equal mass, cut at as many of equal width"
            )
        return bins


def measure_all(rows: Rows, options: Options, group: Group | None = None) -> Measurements:
    """Measure every model; an error names the file and the column."""
    dropped = dropped_message(rows.dropped, len(rows) + rows.dropped)
    results = []
    for model, own in rows.by_model():
        with own.about(model, group=group) as warned:
            one = _arguments(own, model, options)
            read = Evidence.of(
                one.y_true, one.y_prob, one.rows, two_columns="keep", cluster=own.cluster
            )
            kinds = () if read.view == "binary" else options.summed
            views: dict[str, Evidence] = {
                kind: replace(read, view=kind, memory={}) for kind in kinds
            }
            found = measure_views(model, views or {"binary": read}, options, one.remark)
        results.append(replace(found, warnings=(*dropped, *warned)))
    return _of_columns(rows.choice, rows.source, results, options)


def measure_stream(data: Dataset, options: Options, *, asked: bool) -> Measurements:
    """The same of rows that are read in pieces."""

    def sums_of(rows: Rows, model: Model) -> ModelSums:
        one = _arguments(rows, model, options)
        if not rows.is_matrix(model):
            return ModelSums({"binary": tn.tally(one.y_true, one.y_prob, **one.rows)})
        settings: dict[str, RowOptions] = {
            kind: {**one.rows, "kind": kind} for kind in options.summed
        }
        return ModelSums(
            {k: tn.tally(one.y_true, one.y_prob, **own) for k, own in settings.items()}, one.remark
        )

    names = ", ".join(one.short or one.name for one in shown_measures("rows") if one.scores)
    lost = f"Measures that need each of them are left out: {names}. `--no-stream` computes them."
    total = stream_sums(data, sums_of, options.bins, lost, asked=asked)
    results = []
    for model in data.choice.models:
        sums = total[model.name]
        with data.about(model) as warned:
            views = {
                kind: Evidence.of_sums(part, two_columns="keep")
                for kind, part in sums.parts.items()
            }
            found = measure_views(model, views, options, sums.remark)
        results.append(replace(found, warnings=(*sums.warnings, *warned)))
    binned = any(
        isinstance(part, Binned) for sums in total.values() for part in sums.parts.values()
    )
    return _of_columns(data.choice, data.source.name, results, options, binned)


def _arguments(rows: Rows, model: Model, options: Options) -> Arguments:
    if options.kinds and not rows.is_matrix(model):
        raise InputError(
            "--kind",
            "is only for scores of several classes (a matrix)",
            "these are one column of scores",
        )
    return rows.arguments(model)


def _of_columns(
    choice: Choice,
    source: str,
    models: Sequence[ModelMeasures],
    options: Options,
    binned: bool = False,
) -> Measurements:
    views = ("binary",) if models[0].classes is None else options.summed
    quantities = tuple(_quantities(options, views, choice.weight is not None))
    about = {"data": choice.about(source)}
    notes = (f"{choice.in_words(source)}.",)
    return Measurements(
        quantities, tuple(models), about, notes, options, binned, choice.cluster is not None
    )


def measure_sums(
    total: tn.Accumulator, names: Sequence[str], options: Options, where: str = ""
) -> list[tuple[Group, Measurements]]:
    """All measures of all rows that files sum up, then of each group.

    `where` begins the warnings.
    """
    name, label, weight = (total.about.get(key) for key in ("prob", "label", "weight"))
    about = {"data": {"sources": list(names), **total.about, "by": total.by}, "kept": total.bins}
    source = f"{file_names(names)}: {total.n:,} rows; labels {label!r}, scores {name!r}."
    notes = (source, *([_SKETCH] if total.bins == "sketch" else []))
    model = Model(str(name), (str(name),))
    if total.n == 0:
        none = ModelMeasures(model.name, model.columns, None, {"n": 0}, {})
        return [(Group(), Measurements((Quantity("n", "rows"),), (none,), about, notes, options))]
    groups: Any = {} if total.by is None else total.groups
    parts: dict[Group, Any] = {Group(): total.total}
    parts |= {Group.of_sums(total.by, key): groups[key] for key in sort_values(groups)}
    results = []
    for group, sums in parts.items():
        evidence = Evidence.of_sums(sums, two_columns="keep")
        views: dict[str, Evidence] = {evidence.view: evidence}
        own = options if evidence.view == "binary" else replace(options, kinds=(evidence.view,))
        with reword_messages(wording()) as warned:
            one = measure_views(model, views, own, stored=True)
        warning(
            *warned,
            about=": ".join(filter(None, [where, "" if group.by is None else str(group.value)])),
        )
        quantities = tuple(_quantities(own, views, weight is not None, stored=True))
        results.append(
            (group, Measurements(quantities, (one,), about, notes, own, isinstance(sums, Binned)))
        )
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

    Of `stored` sums, those that they give.
    """
    whole = views["classwise"] if "classwise" in views else next(iter(views.values()))
    matrix = whole.view != "binary"
    quantities = tuple(_quantities(options, views, weighted=True, stored=stored))
    values = _counts(whole)
    reasons = dict[str, str]()
    for q in (one for one in quantities if one.ask is not None):
        lost = isinstance(views[q.view].sums, Binned) and q.scores
        if lost and stored:
            reasons[q.key] = _SCORES_LOST
        try:
            given = not lost and (q.unit != "percent" or views[q.view].whole)
            values[q.key] = value_of(q.ask, views[q.view]) if given else math.nan
        except InputError as reason:
            if not stored:
                raise
            values[q.key] = math.nan
            reasons[q.key] = reason.but(remedy="", context="").render(wording())
    known = [q for q in quantities if q.key not in reasons]
    estimates = _estimates(known, views, options) if options.intervals else {}
    # The l2 error of its confidence set is not quite that of the function without limits.
    values |= {key: one.value for key, one in estimates.items() if not math.isnan(one.value)}
    tabled = (options.of_matrix if matrix else ("binary",)) if options.tables else ()
    tables = {
        kind: tn.bin_table(views[kind].sums, bins=options.bins, level=options.level)
        for kind in tabled
    }
    remarks = tuple(filter(None, [remark, "" if whole.whole else _IMPORTANCE]))
    classes = whole.classes if matrix else None
    return ModelMeasures(
        model.name, model.columns, classes, values, tables, remarks, (), estimates, reasons
    )


def _counts(evidence: Evidence) -> dict[str, float]:
    """What is counted, not measured: rows, weight, classes and scores of 0 or 1."""
    found = {
        "n": evidence.sums.n,
        "weight": evidence.sums.weight,
        "classes": len(evidence.classes or ()),
    }
    if evidence.tally is not None:
        inside = [inside_cells(part) for part in evidence.tally.parts]
    else:
        inside = None
    for name, key in zip(CERTAIN, ("certain", "wrong"), strict=True):
        found[name] = math.nan if inside is None else sum(getattr(x, key) for x in inside)
    return found


def _quantities(
    options: Options, views: Collection[str], weighted: bool, *, stored: bool = False
) -> Iterator[Quantity]:
    """The lines for a vector of scores, or for some views of a matrix."""
    yield Quantity("n", "rows", "of positive weight" if weighted else "")
    if weighted:
        yield Quantity("weight", "weight", "in total", "number")
    if "binary" in views:
        yield from (
            Quantity.of(one, options)
            for one in shown_measures("rows", *(["sums"] if stored else []))
        )
        yield Quantity("n_certain", "scores of 0 or 1", "no log-odds")
        yield Quantity("n_certain_wrong", "contradicted", "by their label", part=True)
        return
    yield Quantity("classes", "classes")
    if "confidence" in views:
        yield Quantity.of(MEASURES["accuracy"], options, "confidence")
    for kind in options.of_matrix:
        view = "class-wise" if kind == "classwise" else kind
        for one in shown_measures("matrix"):
            if one.view in ("classwise", kind):
                key = f"_{kind.replace('-', '_')}" if len(views) > 1 else ""
                yield Quantity.of(one, options, kind).named(view, key)
    all_classes = "classwise" if "classwise" in views else next(iter(views))
    words = "all classes" if all_classes == "classwise" else all_classes
    yield from (
        Quantity.of(one, options, all_classes).named(words) for one in shown_measures("classes")
    )


def shown_measures(*where: str) -> Iterator[Measure]:
    """The measures that the catalogue lists in one of these places."""
    return (one for one in MEASURES.values() if not {*where}.isdisjoint(one.shown.split()))


def _estimates(
    quantities: Iterable[Quantity], views: Mapping[str, Evidence], options: Options
) -> dict[str, tn.results.Estimate]:
    """The limits and the noise floors of all measures, whose values have been warned about."""
    found: dict[str, tn.results.Estimate] = {}
    for view, evidence in views.items():
        measures = {q.key: q.ask for q in quantities if q.view == view and q.ask is not None}
        asked = Asked(ModelRows(evidence), MAKERS, options.level, seed=0, rule=None)
        kind = asked.kind(view)
        if options.floors:
            draw_together(asked, measures.values(), kind)
        for key, measure in measures.items():
            found[key] = quietly(
                asked.ask, "estimate", measure=measure, kind=kind, floor=options.floors
            )
    return found


def group_name(group: Any) -> Any:
    """The group in a table, where an empty cell stands for all groups."""
    if group == "":
        return "''"
    return group
