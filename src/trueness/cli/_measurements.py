"""The numbers of ``trueness measure``, of rows and of sums.

Their tables are in ``_measures_table``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import trueness as tn
from trueness._assess.measured import (
    Measured,
    Options,
    Quantity,
    measured,
    quantities_of,
    shown_measures,
)
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rules import BinRule
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned
from trueness._text.numbers import rule_in_words
from trueness.cli._printing import reword_messages, warning, with_limits, wording
from trueness.cli._reading import about, dropped_message
from trueness.cli._tally import own_bins, stream_sums, sums_entry, sums_sentence
from trueness.errors import InputError
from trueness.sources._columns import sort_values
from trueness.sources._data_set import DataSet
from trueness.sources._pieces import ModelSums
from trueness.sources._request import Group
from trueness.sources._stored_sums import groups_of

_SKETCH = (
    "From a sketch: rows count at the mean score of their cell. The largest errors seen in "
    "experiments are in docs/reference/sums.md. Equal-width bins are exact if their number is a "
    "power of two up to 512."
)


@dataclass(frozen=True)
class Measurements:
    quantities: tuple[Quantity, ...]
    models: tuple[Measured, ...]
    about: Mapping[str, Any]
    """The data as JSON output describes them."""
    notes: tuple[str, ...]
    """The data as notes below a table describe them."""
    options: Options
    binned: bool = False
    clustered: bool = False
    kept: BinRule | None = None
    """The bins of stored sums without scores: those of the typical error, whatever is chosen."""

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
            bins["l2"] = self._bins_of_typical_error()
        return bins

    def _bins_of_typical_error(self) -> str:
        if not self.binned:
            return "n^0.4 bins of equal mass, cut at as many of equal width"
        return rule_in_words(self.kept or self.options.bins)


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
            measures = measured(part.model.name, part.model.columns, views, options)
            remarks = (*filter(None, [part.order.remark]), *measures.remarks)
        results.append(replace(measures, remarks=remarks, warnings=(*dropped, *warned)))
    return _of_columns(rows, results, options)


def measure_stream(data: DataSet, options: Options, *, requested: bool) -> Measurements:
    """The measures of rows that are read in pieces."""

    def sums_of(part: DataSet) -> ModelSums:
        _check_kinds(part, options)
        if not part.is_matrix():
            return ModelSums({"binary": part.ask(tn.tally)})
        sums = {str(kind): part.ask(tn.tally, kind=kind) for kind in options.summed}
        return ModelSums(sums, part.order.remark)

    exact = [measure for measure in shown_measures("rows") if measure.scores]
    names = ", ".join(measure.short or measure.name for measure in exact)
    lost = f"Measures that need each of them are left out: {names}. `--no-stream` computes them."
    total = stream_sums(data, sums_of, options.bins, lost, requested=requested)
    results = []
    for part in data.by_model():
        sums = total.models[part.model.name]
        with about(part) as warned:
            views = {
                kind: Sums.read(tally, two_columns="keep") for kind, tally in sums.parts.items()
            }
            measures = measured(part.model.name, part.model.columns, views, options)
        remarks = (*filter(None, [sums.remark]), *measures.remarks)
        results.append(replace(measures, remarks=remarks, warnings=(*total.warnings, *warned)))
    return _of_columns(data, results, options, total.is_binned)


def _check_kinds(rows: DataSet, options: Options) -> None:
    if options.kinds and not rows.is_matrix():
        raise InputError(
            "--kind",
            "is only for scores of several classes (a matrix)",
            "these are one column of scores",
        )


def _of_columns(
    data: DataSet, models: Sequence[Measured], options: Options, binned: bool = False
) -> Measurements:
    """The measurements of the models of a data set.

    Measures of several classes are given in the views that the options ask for; those of one score
    are binary. `binned` says whether only sums in bins were kept.
    """
    views = ("binary",) if models[0].classes is None else options.summed
    return Measurements(
        quantities=tuple(quantities_of(options, views, data.request.weight is not None)),
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
    name = str(total.about.get("prob"))
    is_weighted = total.about.get("weight") is not None
    data = {"data": sums_entry(total, names), "kept": total.bins}
    notes = [sums_sentence(total, names)]
    if total.bins == "sketch":
        notes.append(_SKETCH)

    def measurements(
        quantities: Iterable[Quantity], measures: Measured, chosen: Options, binned: bool
    ) -> Measurements:
        kept = own_bins(total) if binned else None
        return Measurements(
            tuple(quantities), (measures,), data, tuple(notes), chosen, binned, kept=kept
        )

    if total.n == 0:
        empty = Measured(name, (name,), None, {"n": 0}, {})
        return [(Group(), measurements([Quantity("n", "rows")], empty, options, False))]
    results = []
    for group, sums in [(Group(), total.total), *groups_of(total, sort_values(total.groups))]:
        evidence = Sums.read(sums, two_columns="keep")
        views: dict[str, Evidence] = {evidence.view: evidence}
        wanted = options
        if evidence.view != "binary":
            wanted = replace(options, kinds=(evidence.view,))
        with reword_messages(wording()) as warned:
            measures = measured(name, (name,), views, wanted, stored=True)
        value = "" if group.by is None else str(group.value)
        warning(*warned, about=": ".join(filter(None, [where, value])))
        quantities = quantities_of(wanted, views, is_weighted, stored=True)
        is_binned = isinstance(sums, Binned)
        results.append((group, measurements(quantities, measures, wanted, is_binned)))
    return results


def numbers_of(measures: Measured, quantities: Iterable[Quantity]) -> dict[str, float]:
    """The values by key, each followed by its limits and its noise floor."""
    numbers = {}
    for quantity in quantities:
        numbers[quantity.key] = measures.values.get(quantity.key, math.nan)
        if measures.estimates and quantity.ask:
            numbers |= with_limits(quantity.key, measures.estimates.get(quantity.key))
    return numbers


def group_name(group: object) -> object:
    """The group in a table, where an empty cell stands for all groups."""
    if group == "":
        return "''"
    return group
