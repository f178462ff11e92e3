"""Labels and scores of several models, row by row.

A row that lacks one of its values is dropped for all models.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._input.columns import Column, column
from trueness._input.sample import Sample
from trueness._tally.cells import MOST_WHOLE
from trueness._tally.clusters import cluster_codes, cluster_column
from trueness._tally.rows_or_sums import sample_and_kind
from trueness.errors import (
    DroppedRowsWarning,
    InputError,
    WeightsWarning,
    collected_warnings,
    dropped_rows,
    in_context,
    warn,
)
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, RowOptions, WeightType

INDEPENDENT: Any = object()
"""In place of clusters, for functions that take rows as independent: they refuse images, whose
pixels are not."""


@dataclass(frozen=True)
class SharedRows:
    """The rows that several models scored."""

    samples: dict[str, Sample]
    """Labels and scores of each model."""
    kind: Kind
    """The view of a matrix."""
    cluster: Ints | None
    """The cluster of each row, numbered from 0."""
    kept: Ints | None
    """The place of each row in the input; None if all are there."""
    dropped: int
    """Rows dropped because a value was missing in some model."""
    notes: tuple[str, ...]
    """What was decided about the rows, in sentences."""


def read_shared_rows(
    y_true: ArrayLike,
    models: Mapping[str, Any],
    rows: RowOptions,
    kind: Kind,
    cluster: ArrayLike | None,
    argument: str,
) -> SharedRows:
    """The same rows of all models; `argument` names `models` in messages."""
    check_names(models, argument)
    options: dict[str, Any] = {
        name: value for name, value in rows.items() if name != "kind" or value is not None
    }
    labels = _labels_by_model(y_true, models, argument)
    samples = {}
    shared_kind = kind
    for name, scores in models.items():
        with model_context(name), collected_warnings(DroppedRowsWarning):
            samples[name], shared_kind = sample_and_kind(
                labels[name],
                scores,
                options,  # type: ignore[arg-type]  # names are checked there
                kind=kind,
                keep_logits=True,
            )
    _check_alike(samples, argument)
    first = next(iter(samples.values()))
    n = first.n + first.dropped
    if cluster is INDEPENDENT and first.pixels:
        got = f"got {next(iter(models.values())).ndim}: pixels of an image depend on each other"
        remedy = "`ece_interval`, `calibration_test` and `estimate` take images."
        raise InputError(
            "y_prob",
            "must have at most two dimensions here, with independent rows",
            got,
            remedy=remedy,
        )
    names = None
    if cluster is not None and cluster is not INDEPENDENT:
        names = cluster_column(next(iter(labels.values())), cluster, n, first.pixels)
    elif first.pixels:
        names = Column(np.arange(n) // first.pixels)
    position: Ints | None = None
    drops_missing = options.get("missing") == "drop"
    if drops_missing or first.dropped:
        # Rows may also be left out by `ignore_index`; a missing name of any other is an error then.
        kept = _complete_rows(samples, names if drops_missing else None, n)
        position = np.flatnonzero(kept)
        samples = {
            k: sample if position.size == sample.n else _at(sample, kept, n)
            for k, sample in samples.items()
        }
    dropped = 0 if position is None else n - position.size
    if dropped > first.ignored:
        where = " in some model" if len(models) > 1 else ""
        warn(
            dropped_rows(dropped - first.ignored, n, f"a missing value{where}"), DroppedRowsWarning
        )
    if names is None:
        codes = None
    else:
        codes = cluster_codes(names, np.arange(n) if position is None else position)
    notes = [first.note]
    if codes is not None and cluster is None:
        notes.append(
            f"Each of {int(codes.max()) + 1:,} images is a cluster of {first.pixels:,} pixels."
        )
    if first.ignored:
        notes.append(
            f"{first.ignored:,} labels {options['ignore_index']} (`ignore_index`) were left out."
        )
    return SharedRows(
        samples=samples,
        kind=shared_kind,
        cluster=codes,
        kept=position,
        dropped=dropped,
        notes=tuple(filter(None, notes)),
    )


def check_names(models: Mapping[Any, Any], argument: str) -> None:
    """Raise for a name of a model that is not text."""
    for name in models:
        if not isinstance(name, str):
            raise InputError(
                argument,
                "must have strings as names",
                f"got {name!r}",
                remedy=f"Use {str(name)!r}.",
            )


def weights_in_words(w: Floats, weight_type: WeightType) -> tuple[str, ...]:
    """A note that says what weights were taken for.

    Those that count rows must not sum to too much.
    """
    whole = bool((w == np.floor(w)).all())
    if weight_type == "importance":
        return ("Weights are sampling weights: each row counts once.",) if whole else ()
    if whole and w.sum() >= MOST_WHOLE:
        demand = "must sum to less than 2³⁵ (3·10¹⁰) if it holds whole numbers, which count rows"
        remedy = "Sampling weights have any unit: pass `weight_type='importance'`."
        raise InputError("sample_weight", demand, f"it sums to {w.sum():.3g}", remedy=remedy)
    if not whole:
        return ("Weights are not whole numbers but sampling weights: each row counts once.",)
    if weight_type == "auto" and (w > 1).any():
        return ("Weights are whole numbers and count rows: a weight of 2 is two rows.",)
    return ()


def warn_guessed_counts(rows: int, weight: float) -> None:
    """Warn of weights that were taken as counts because they are whole numbers."""
    if weight <= rows:
        return
    sampling = "If they are sampling weights, pass `weight_type='importance'`"
    warn(
        f"{counts_in_words(rows, weight)}. {sampling}; `weight_type='frequency'` confirms counts.",
        WeightsWarning,
    )


def counts_in_words(rows: int, weight: float) -> str:
    """What was made of weights that are whole numbers, as a sentence without its end."""
    return f"Weights were taken as counts: {rows:,} rows stand for {weight:,.0f}"


def model_context(model: str) -> AbstractContextManager[None]:
    """Add the name of the model to errors, unless it is empty."""
    return in_context(f"Model {model!r}" if model else "")


def _labels_by_model(y_true: ArrayLike, models: Mapping[str, Any], argument: str) -> dict[str, Any]:
    """The labels of each model, all of the same length."""
    if not isinstance(y_true, Mapping):
        return dict.fromkeys(models, y_true)
    if set(y_true) != set(models):
        demand = (
            f"must have the labels of every model, by the names of `{argument}`, if it is a dict"
        )
        raise InputError("y_true", demand, f"got {list(y_true)} for {list(models)}")
    sizes = {name: column(y_true[name], "y_true").values.shape[0] for name in models}
    if len(set(sizes.values())) > 1:
        raise InputError("y_true", "must have the same rows for every model", f"got {sizes} labels")
    return {name: y_true[name] for name in models}


def _check_alike(samples: Mapping[str, Sample], argument: str) -> None:
    """Raise unless all models have scores of one shape, and the same classes in any order."""
    first, *rest = samples
    shape = samples[first].p.shape[1:]
    classes = samples[first].classes
    for name in rest:
        other = samples[name]
        if other.p.shape[1:] != shape:
            demand = "must hold vectors only, or matrices with the same classes"
            raise InputError(
                argument,
                demand,
                f"{first!r} is {_form(samples[first])} and {name!r} is {_form(other)}",
            )
        if set(map(str, other.classes or ())) != set(map(str, classes or ())):
            got = (
                f"{first!r} has {list(classes or ())} and {name!r} has {list(other.classes or ())}"
            )
            raise InputError(argument, "must have the same classes", got)


def _form(sample: Sample) -> str:
    if sample.p.ndim == 1:
        return "a vector"
    return f"a matrix of {sample.p.shape[1]} columns"


def _complete_rows(samples: Mapping[str, Sample], names: Column | None, n: int) -> Bools:
    """Whether each of `n` rows has all values in all models, and a cluster name if there are any.

    At least one row must.
    """
    kept = np.ones(n, dtype=bool)
    for sample in samples.values():
        if sample.rows is not None:
            kept &= np.bincount(sample.rows, minlength=n).astype(bool)
    if names is not None and names.missing is not None:
        kept &= ~names.missing
    if not kept.any():
        raise InputError("", "There must be at least one row without missing values in any model")
    return kept


def _at(sample: Sample, kept: Bools, n: int) -> Sample:
    """The rows kept of a sample that may have dropped others already."""
    is_kept = kept if sample.rows is None else kept[sample.rows]
    w = None if sample.w is None else sample.w[is_kept]
    members = sample.at(is_kept, w)
    members.dropped = n - members.n
    members.ignored = sample.ignored
    return members
