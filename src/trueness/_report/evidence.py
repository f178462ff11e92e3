"""The data behind a report: the rows of every model, or their sums."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from trueness._input.columns import column
from trueness._input.sample import Sample
from trueness._report.records import RowCounts, Source
from trueness._tally import rows_or_sums
from trueness._tally.accumulator import Accumulator
from trueness._tally.multiclass import binary_of_two_columns, two_columns_in_words
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rules import BinRule, Edges, EqualMass, EqualWidth
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally, binary_of_two_classes
from trueness.errors import DroppedRowsWarning, InputError
from trueness.infer._paired_rows import model_context, top_scores
from trueness.infer._paired_rows import read_rows as paired_rows
from trueness.typing import ArrayLike, Bools, Ints, RowOptions

Sums: TypeAlias = Tally | Sketch | Binned
_SOURCES: dict[type, Source] = {Tally: "tally", Sketch: "sketch", Binned: "bins"}
_MOST_CLASSES = 24  # as many tabs and pictures as a page can hold


@dataclass(frozen=True)
class Evidence:
    """The data about one model: sums and, unless only sums were passed, the rows."""

    sums: Sums
    """Sums of the binary problem: the scores, their top label, or one class against the rest."""
    classwise: Tally | None = None
    """The tally of every class; None for a vector of scores."""
    sample: Sample | None = None
    """The rows as passed; None for sums."""
    view: Sample | None = None
    """The rows of the binary problem; None for sums."""
    groups: Mapping[str, Sums] = field(default_factory=dict)
    """Sums of each group of an Accumulator."""

    @cached_property
    def tally(self) -> Tally | None:
        """The tally of distinct scores; a sketch has its rows at the mean score of their cell, bins have none."""
        if isinstance(self.sums, Sketch):
            return self.sums.as_tally()
        return self.sums if isinstance(self.sums, Tally) else None


@dataclass(frozen=True)
class Subject:
    """The models of a report, all of the same rows."""

    models: Mapping[str, Sample | Sums]
    counts: RowCounts
    source: Source
    view: Literal["binary", "classwise", "confidence", "top-label"]
    """The question asked about every model."""
    kept: Bools | None = None
    """Which of the rows passed are used; None for sums."""
    cluster: Ints | None = None
    """The cluster of each row, numbered from 0 in order of appearance."""
    by: str = ""
    """The name of the groups of an Accumulator."""
    groups: Mapping[str, Mapping[str, Sums]] = field(default_factory=dict)
    """Their sums, by model and group."""
    notes: tuple[str, ...] = ()
    event: Any = None
    """The label that the scores predict; None for sums and for several classes."""
    two_columns: bool = False
    """Whether the scores were passed as a matrix of two columns."""

    def evidence(self, name: str) -> Evidence:
        """The sums of one model, made when they are needed."""
        data = self.models[name]
        if not isinstance(data, Sample):
            return Evidence(data, groups=self.groups.get(name, {}))
        view = top_scores(data)
        classwise = rows_or_sums.tally_of(data, "classwise") if data.p.ndim == 2 else None
        return Evidence(Tally("binary", rows_or_sums.tally_of(view, "classwise").parts), classwise, data, view)


def read_sums(sums: Sums | Accumulator, error: Callable[[Sums], float], notes: Iterable[str] = ()) -> Subject:
    """Take sums apart: one model, or one per class. Of very many classes those with the largest `error` are kept."""
    by = sums.by if isinstance(sums, Accumulator) else None
    total = sums.total if isinstance(sums, Accumulator) else sums
    if total.n == 0:
        raise InputError("y_true", "must hold at least one row", f"this {type(total).__name__} is empty")
    notes = list(notes)
    if total.kind == "classwise" and len(total.parts) == 2:
        notes.append(two_columns_in_words(total.classes or ()))
        total = binary_of_two_classes(total)
    models = _problems(total)
    if len(models) > _MOST_CLASSES:
        worst = sorted(models, key=lambda name: -error(models[name]))[:_MOST_CLASSES]
        notes.append(f"The {_MOST_CLASSES} classes with the largest ECE are shown, of {len(models):,}.")
        models = {name: models[name] for name in models if name in worst}
    groups: dict[str, dict[str, Sums]] = {name: {} for name in models}
    for group, part in sums.groups.items() if isinstance(sums, Accumulator) and by is not None else ():
        for name, problem in _problems(binary_of_two_classes(part)).items():
            if name in groups:
                groups[name][str(group) or "''"] = problem
    counts = RowCounts(total.n, total.n, 0, float(total.weight), _weights(total), total.classes)
    return Subject(models, counts, _SOURCES[type(total)], total.kind, by=by or "", groups=groups, notes=tuple(notes))


def _problems(sums: Sums) -> dict[str, Sums]:
    """The binary problems in the sums: one, or one per class that has rows."""
    parts: tuple[Any, ...] = sums.parts
    make: Any = type(sums)
    if len(parts) == 1:
        return {"scores": make("binary", parts)}
    named = zip(sums.classes or (), parts, strict=True)
    return {f"class {label}": make("binary", (part,)) for label, part in named if part.totals.rows}


def _weights(sums: Sums) -> Literal["none", "whole", "fractional"]:
    whole = all(part.whole for part in sums.parts) if isinstance(sums, Binned) else all(p.exact for p in sums.parts)
    return "fractional" if not whole else "none" if sums.weight == sums.n else "whole"


def means(sums: Sums) -> tuple[float, float, float]:
    """Mean score, event rate and their difference."""
    part = sums.parts[0] if isinstance(sums, Binned) else sums.coarsen(EqualMass(1)).parts[0]
    weight = part.weight.sum()
    return tuple(float(total.sum() / weight) for total in (part.sum_score, part.events, part.excess))  # type: ignore[return-value]


def kept_bins(sums: Any) -> BinRule | None:
    """The bins that were summed; None if any bins can be computed from the sums."""
    total = sums.total if isinstance(sums, Accumulator) else sums
    if not isinstance(total, Binned):
        return None
    edges = total.parts[0].edges
    equal = EqualWidth(edges.size - 1)
    return equal if np.array_equal(edges, equal.fixed_edges) else Edges(edges)


def read_rows(y_true: ArrayLike, y_prob: Any, rows: RowOptions, cluster: Any = None) -> Subject:
    """Check labels and scores. A row with a missing value in any model, or without a cluster, is dropped for all."""
    if "kind" in rows:
        raise InputError("kind", "is not accepted: the report of a matrix shows the top label and every class")
    models = _models(y_prob)
    # Errors name the model if there are several.
    named = models if len(models) > 1 else {"": next(iter(models.values()))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedRowsWarning)  # the report counts them
        paired = paired_rows(y_true, named, cluster, rows, kind="confidence", importance=True, argument="y_prob")
    _check_order(paired.samples)
    for name, sample in paired.samples.items():
        with model_context(name):
            bins_of_rows(top_scores(sample), EqualWidth(1))  # checks every value, so that nothing after needs to
    kept = np.zeros(column(y_true, "y_true").values.shape[0], dtype=bool)
    kept[paired.row] = True
    counts = _counts(next(iter(paired.samples.values())), kept.size, paired.dropped)
    codes = None if paired.cluster is None else _by_appearance(paired.cluster)
    notes: tuple[str, ...] = ()
    two_columns, event = False, None
    samples = list(map(_without_unit_weights, paired.samples.values()))
    if counts.classes is not None and len(counts.classes) == 2:
        notes = (two_columns_in_words(counts.classes),)
        samples = list(map(binary_of_two_columns, samples))
        two_columns, event = True, counts.classes[1]
        counts = replace(counts, classes=None)
    elif counts.classes is None:
        event = _event(y_true, rows)
    view: Literal["binary", "confidence"] = "binary" if counts.classes is None else "confidence"
    return Subject(
        dict(zip(models, samples, strict=True)),
        *(counts, "rows", view, kept, codes),
        notes=notes,
        event=event,
        two_columns=two_columns,
    )


def _event(y_true: Any, rows: RowOptions) -> Any:
    """The label that a vector of scores predicts."""
    if rows.get("pos_label") is not None:
        return rows["pos_label"]
    labels = rows.get("labels")
    if labels is not None:
        return list(labels)[-1]
    return True if column(y_true, "y_true").values.dtype.kind == "b" else 1


def _by_appearance(codes: Ints) -> Ints:
    """The clusters numbered in order of appearance."""
    first = np.unique(codes, return_index=True)[1]
    return np.asarray(np.argsort(np.argsort(first))[codes])


def _models(y_prob: Any) -> Mapping[str, Any]:
    if not isinstance(y_prob, Mapping):
        return {str(getattr(y_prob, "name", None) or "scores"): y_prob}
    if not y_prob:
        raise InputError("y_prob", "must hold at least one model", "the dict is empty")
    for name in y_prob:
        if not isinstance(name, str):
            raise InputError("y_prob", "must have strings as names", f"got {name!r}", remedy=f"Use {str(name)!r}.")
    return y_prob


def _check_order(samples: Mapping[str, Sample]) -> None:
    first, *others = samples
    for name in others:
        if samples[name].classes != samples[first].classes:
            raise InputError(
                "y_prob",
                "must hold models of the same classes in the same order",
                f"{first!r} has {list(samples[first].classes or ())} and {name!r} {list(samples[name].classes or ())}",
            )


def _without_unit_weights(sample: Sample) -> Sample:
    """Drop weights that are all 1, so that methods without weights apply."""
    if sample.w is None or (sample.w != 1).any():
        return sample
    return Sample(sample.y, sample.p, None, sample.classes, sample.tolerance, sample.rows)


def fractional(sample: Sample) -> bool:
    """Whether weights are not whole numbers, and so express importance rather than frequency."""
    return sample.w is not None and bool((sample.w != np.floor(sample.w)).any())


def weight_type(sample: Sample) -> Literal["frequency", "importance"]:
    """The `weight_type` for these weights."""
    return "importance" if fractional(sample) else "frequency"


def _counts(sample: Sample, n: int, dropped: int) -> RowCounts:
    w = sample.w
    return RowCounts(
        given=n,
        used=int(sample.y.size),
        dropped=dropped,
        weight=float(sample.y.size if w is None else w.sum()),
        weights="none" if w is None else "fractional" if fractional(sample) else "whole",
        classes=sample.classes,
    )
