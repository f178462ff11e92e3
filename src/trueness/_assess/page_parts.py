"""The parts of a page that are about some of the rows, and what several models have in common."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueness._assess.asked import SEGMENTS, SLICES, Asked
from trueness._assess.notes import Notes, collect_warnings
from trueness._assess.page_pictures import explorer
from trueness._assess.page_subject import Groups, Options, Subject
from trueness._numerics.holm import holm_adjusted
from trueness._numerics.units import Units
from trueness._tally.evidence import AnySums, Evidence
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule
from trueness.errors import quietly
from trueness.infer.comparison._compare import compare_of
from trueness.measure import ece
from trueness.recalibrate._segment import advice
from trueness.results import Comparison, Slices
from trueness.results import Segments as Tested
from trueness.results._page import Clusters, Explorer, Model, Segments
from trueness.results._remedies import Advice
from trueness.results._segments import ClassRow

_MOST_VIEWS = 24
_MOST_SLICES = 40
_MAPS_OF_ALL_ROWS = ("recalibrate", "optional", "correct-prior")
_CONSIDERED = (
    "verdict",
    "confidence sets",
    "test",
    "segments",
    "gain of a calibrator",
    "folds",
    "decisions",
)
_IGNORED = ("noise floors", "TCE", "intervals of bins", "flagged bins", "test-based diagram")


def page_comparison(models: Mapping[str, Evidence], options: Options) -> Comparison:
    """The paired differences of several models."""
    return compare_of(models, "squared_ece", level=options.level, seed=options.seed, choose=True)


def adjusted_pvalues(models: Sequence[Model]) -> list[float | None]:
    """The p-values of the tests of all rows, adjusted for the number of models by Holm's method."""
    return holm_adjusted([model.summary.pvalue for model in models])


def page_segments(
    a: Asked, rule: BinRule, groups: Groups, names: tuple[str, ...]
) -> Segments | None:
    """Every segment of one model, measured and tested, the costliest first.

    None without columns.
    """
    with collect_warnings(Notes()):  # the table shows which segments are small
        tested = a.ask(SEGMENTS)
        if tested is None:
            return None
        errors = {}
        for segment, sums in _segment_sums(a, groups, names):
            errors[segment] = float(ece(sums, bins=rule))
    rows = []
    for row in tested.rows():
        row.pop("weight", None)
        rows.append(row | {"ece": errors[row["column"], row["value"]]})
    findings = zip(tested.names, tested.findings, strict=True)
    return Segments(
        rows=tuple(rows),
        pvalue=tested.joint_pvalue,
        alpha=tested.alpha,
        test=tested.assumptions,
        notes=tested.notes,
        findings={name: finding for name, finding in findings if finding},
    )


def page_slices(a: Asked) -> Slices | None:
    """The worst slices of several columns.

    None of one column, or where no slice has enough rows.
    """
    return quietly(a.possible, SLICES, most=_MOST_SLICES)


def note_on_map(a: Asked, tested: Tested | Slices | None, wanted: Advice) -> tuple[str, ...]:
    """That a map by the columns of segments or slices is better than one map for all rows.

    Only beside the advice to fit a map for all rows: any other advice stands alone.
    """
    data = a.view("confidence")
    if tested is None or wanted.kind not in _MAPS_OF_ALL_ROWS or data.events is not None:
        return ()
    by = a.rows.columns if isinstance(tested, Tested) else a.rows.slice_columns
    columns: dict[str, Any] = {
        column.name: np.array(column.values, dtype=object)[column.code]
        for column in by
        if not column.edges
    }
    if not columns:
        return ()
    sample = data.sample
    return advice(tested, sample.p, sample.y, columns, sample_weight=sample.w, cluster=data.cluster)


def _segment_sums(
    a: Asked, groups: Groups, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, str], AnySums]]:
    """The sums of each segment by column and value."""
    if groups:
        of_value: dict[tuple[str, str], Any] = {}
        for group, sums in groups.items():
            for name_and_value in zip(names, group, strict=True):
                of_value[name_and_value] = of_value.get(name_and_value, 0) + sums
        yield from of_value.items()
        return
    sample = a.view("confidence").sample
    for column in a.rows.columns:
        order = np.argsort(column.code, kind="stable")
        ends = np.cumsum(np.bincount(column.code, minlength=len(column.values)))
        for value, rows in zip(column.values, np.split(order, ends[:-1]), strict=True):
            weights = None if sample.w is None else sample.w[rows]
            yield (column.name, value), tally_of(sample.at(rows, weights), "classwise")


def page_clusters(units: Units, models: int, multiclass: bool) -> Clusters | None:
    """The number of clusters, and which results account for them; None without clusters."""
    if not units.clustered:
        return None
    considered = [*_CONSIDERED]
    if multiclass:
        considered.append("classes")
    if models > 1:
        considered.append("comparison")
    return Clusters(units.number, units.effective(), tuple(considered), _IGNORED)


def page_explorers(
    data: Evidence,
    classes: tuple[ClassRow, ...] | None,
    rule: BinRule,
    level: float,
    subject: Subject,
) -> tuple[Explorer, ...]:
    """All rows, and the classes with the largest ECE, as many as a page of 2 MB can hold."""
    name = "All rows" if data.classwise is None else "Top label"
    kind = "" if data.events is None else data.events.kind
    views = [explorer(name, data.parts[0], rule, level, top_label=subject.top_label, kind=kind)]
    if data.classwise is not None and classes is not None:
        names = list(map(str, data.classwise.classes or ()))
        n_views = max(0, _MOST_VIEWS // len(subject.models) - 1)
        for row in classes[:n_views]:
            part = data.classwise.parts[names.index(row.label)]
            views.append(explorer(f"Class {row.label}", part, rule, level))
    return tuple(views)
