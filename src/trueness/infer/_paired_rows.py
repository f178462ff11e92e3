"""The rows that several models scored, with their clusters and weights."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column, column, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.sample import Sample, refuse_shuffled_index
from trueness._tally import rows_or_sums
from trueness._tally.evidence import bin_starts
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rules import BinRule
from trueness._tally.tally import Parts
from trueness.errors import DroppedRowsWarning, FewRowsWarning, InputError, warn
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, RowOptions

_MOST_ROWS = 1 << 28


@dataclass(frozen=True)
class PairedRows:
    """Rows that every model scored. Rows of weight 2 are repeated and rows of weight 0 left out."""

    samples: dict[str, Sample]
    """The rows by model, without weights."""
    kind: Kind
    """The view of a matrix of scores."""
    row: Ints
    """The position of each row in the input."""
    cluster: Ints | None = None
    """The cluster of each row, numbered from 0."""
    weight: Floats | None = None
    """Importance weights; None if weights count rows."""
    dropped: int = 0
    """Rows that missed a value."""

    @property
    def n(self) -> int:
        """Rows."""
        return self.row.size

    @property
    def units(self) -> int:
        """Independent units: clusters, or rows without clusters."""
        return self.n if self.cluster is None else int(self.cluster.max()) + 1


@contextmanager
def model_context(model: str) -> Iterator[None]:
    """Add the name of the model to errors, unless it is empty."""
    try:
        yield
    except InputError as error:
        if not model:
            raise
        raise error.within(f"Model {model!r}") from None


def read_rows(
    y_true: ArrayLike | Mapping[str, ArrayLike],
    models: Mapping[str, ArrayLike],
    cluster: ArrayLike | None,
    rows: RowOptions,
    *,
    kind: Kind,
    importance: bool = False,
    argument: str = "models",
) -> PairedRows:
    """Read the rows of every model; ``missing="drop"`` drops rows with a missing value in any model.

    `y_true` holds the labels of all models, or labels by model. Weights repeat rows, unless they are importance
    weights, which are kept; rows of weight 0 are left out. `argument` is the name of `models` in error messages.
    """
    options: dict[str, Any] = {name: value for name, value in rows.items() if name != "kind" or value is not None}
    labels = _labels_by_model(y_true, models)
    first = next(iter(labels.values()))
    n = column(first, "y_true").values.size  # a label without rows is refused below, with the scores
    names = None if cluster is None else _cluster_column(first, cluster, n)
    samples = {}
    for name, scores in models.items():
        with model_context(name), warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedRowsWarning)
            samples[name], kind = rows_or_sums.sample_and_kind(labels[name], scores, options, kind=kind)  # type: ignore[arg-type]  # names are checked there
    _check_alike(samples, argument)
    kept = np.ones(n, dtype=bool)
    if options.get("missing") == "drop":
        kept = _complete_rows(samples, names, n)
    dropped = n - int(kept.sum())
    if dropped:
        samples = {name: some_rows(one, kept if one.rows is None else kept[one.rows]) for name, one in samples.items()}
        where = " in some model" if len(models) > 1 else ""
        warn(f"{dropped:,} of {n:,} rows have a missing value{where} and were dropped.", DroppedRowsWarning)
    paired = PairedRows(samples, kind, np.flatnonzero(kept), dropped=dropped)
    paired = _with_weights(paired) if importance else _with_repeats(paired)
    if paired.n == 0:
        raise InputError("sample_weight", "must be above 0 in at least one row", "all weights are 0")
    return paired if names is None else replace(paired, cluster=_cluster_codes(names, paired.row))


def _labels_by_model(y_true: Any, models: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """The labels of each model, all of the same length."""
    if not isinstance(y_true, Mapping):
        return dict.fromkeys(models, y_true)
    if set(y_true) != set(models):
        raise InputError(
            "y_true",
            "must have the labels of every model, by the names of `models`, if it is a dict",
            f"got {list(y_true)} for {list(models)}",
        )
    sizes = {name: column(y_true[name], "y_true").values.shape[0] for name in models}
    if len(set(sizes.values())) > 1:
        raise InputError("y_true", "must have the same rows for every model", f"got {sizes} labels")
    return {name: y_true[name] for name in models}


def some_rows(sample: Sample, some: NDArray[Any]) -> Sample:
    """Some of the rows, with their weights."""
    return sample.at(some, None if sample.w is None else sample.w[some])


def check_models(models: Any) -> None:
    """Raise unless there are two models or more, by name, with their scores."""
    if not isinstance(models, Mapping):
        frame = "Use `{name: frame[name] for name in frame.columns}`." if hasattr(models, "columns") else ""
        raise InputError(
            "models",
            "must be a dict of names and scores, {'a': p_a, 'b': p_b}",
            f"got {type(models).__name__}",
            remedy=frame,
        )
    if len(models) < 2:
        raise InputError("models", "must hold at least 2 models to compare", f"got {len(models)}")
    for name, scores in models.items():
        if not isinstance(name, str):
            raise InputError("models", "must have strings as names", f"got {name!r}", remedy=f"Use {str(name)!r}.")
        if isinstance(scores, Parts):
            raise InputError(
                "models",
                "must hold the scores of every row",
                f"{name!r} is a {type(scores).__name__}, which holds only sums of rows",
            )


def _complete_rows(samples: dict[str, Sample], names: Column | None, n: int) -> Bools:
    """Whether each row has all values, in all models."""
    kept = np.ones(n, dtype=bool)
    for sample in samples.values():
        if sample.rows is not None:
            kept &= np.bincount(sample.rows, minlength=n).astype(bool)
    if names is not None and names.missing is not None:
        kept &= ~names.missing
    if not kept.any():
        raise InputError("", "There must be at least one row without missing values in any model")
    return kept


def _check_alike(samples: dict[str, Sample], argument: str) -> None:
    first, *others = samples
    shape, classes = samples[first].p.shape[1:], samples[first].classes
    for name in others:
        other = samples[name]
        if other.p.shape[1:] != shape:
            raise InputError(
                argument,
                "must hold vectors only, or matrices with the same classes",
                f"{first!r} is {_form(samples[first])} and {name!r} is {_form(other)}",
            )
        if set(map(str, other.classes or ())) != set(map(str, classes or ())):
            raise InputError(
                argument,
                "must have the same classes",
                f"{first!r} has {list(classes or ())} and {name!r} has {list(other.classes or ())}",
            )


def _form(sample: Sample) -> str:
    return "a vector" if sample.p.ndim == 1 else f"a matrix of {sample.p.shape[1]} columns"


def _with_repeats(paired: PairedRows) -> PairedRows:
    """Every row repeated as its weight says."""
    w = next(iter(paired.samples.values())).w
    if w is None:
        return paired
    if (w != np.floor(w)).any():
        where, remedy = "with `cluster`", ""
        if len(paired.samples) > 1:
            where, remedy = "to compare models", "For other weights use `weight_type='importance'`."
        raise InputError("sample_weight", f"must be whole numbers {where}: they count rows", remedy=remedy)
    if w.sum() > _MOST_ROWS:
        raise InputError("sample_weight", f"must sum to at most {_MOST_ROWS:,} rows", f"got {w.sum():,.0f}")
    return _select(paired, np.repeat(np.arange(w.size), w.astype(np.int64)), None)


def _with_weights(paired: PairedRows) -> PairedRows:
    """Every row of positive weight, with its weight."""
    w = next(iter(paired.samples.values())).w
    if w is None or w.all():
        return replace(paired, weight=w)
    at = np.flatnonzero(w)
    return _select(paired, at, w[at])


def _select(paired: PairedRows, at: Ints, weight: Floats | None) -> PairedRows:
    samples = {name: sample.at(at, weight) for name, sample in paired.samples.items()}
    return replace(paired, samples=samples, row=paired.row[at], weight=weight)


def top_scores(sample: Sample) -> Sample:
    """The largest score of each row and whether its class is the label; a vector unchanged."""
    if sample.p.ndim == 1:
        return sample
    (top,) = parts_of(sample, "confidence", lambda part: part, lambda: sample)
    return top


def require_confidence(kind: str, what: str) -> None:
    """Raise unless a matrix is seen through its largest scores, or there is a vector."""
    if kind not in ("binary", "confidence"):
        raise InputError(
            "kind",
            f"must be 'confidence' for {what}",
            f"got {kind!r}",
            remedy="For one class against the rest pass its column as a vector.",
        )


def warn_few_rows(n: int, rule: BinRule) -> None:
    """Warn if there are fewer rows than bins."""
    if rule.n_requested > n:
        warn(f"There are fewer rows ({n:,}) than bins ({rule.n_requested:,}).", FewRowsWarning)


def bin_numbers(top: Sample, rule: BinRule) -> Ints:
    """The bin of each row, numbered from 0 over the non-empty bins."""
    cells = cells_of_rows(top)
    lowest = cells.score[bin_starts(cells, rule)]
    return np.searchsorted(lowest, np.asarray(top.p, dtype=np.float64), side="right") - 1


def _cluster_column(y_true: Any, cluster: Any, n: int) -> Column:
    """The cluster names, one per row, and which of them are missing."""
    refuse_shuffled_index(y_true, {"cluster": cluster})
    names = column(cluster, "cluster")
    if names.values.shape != (n,):
        raise InputError("cluster", f"must have one entry per row ({n:,})", f"got shape {names.values.shape}")
    return names._replace(missing=labels_missing(names))


def _cluster_codes(names: Column, row: Ints) -> Ints:
    """The clusters of some rows as numbers from 0."""
    if names.missing is not None and names.missing[row].any():
        refuse_missing("cluster", names.missing)
    values = names.values[row]
    if values.dtype.kind == "O":
        codes = _codes_by_hash(values)
    else:
        codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    if codes.max() == 0:
        raise InputError(
            "cluster",
            "must name at least 2 clusters",
            f"all {codes.size:,} rows are in one, so their variation is unknown",
        )
    return codes


def _codes_by_hash(values: NDArray[Any]) -> Ints:
    """Numbers in order of appearance, since objects need not be ordered."""
    seen: dict[Any, int] = {}
    try:
        return np.fromiter((seen.setdefault(name, len(seen)) for name in values), dtype=np.int64, count=values.size)
    except TypeError as reason:
        demand = "must hold names that can be compared, such as numbers or strings"
        raise InputError("cluster", demand, str(reason)) from None
