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
from trueness._input.weights import row_weights
from trueness._tally import rows_or_sums
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rules import BinRule
from trueness._tally.tally import Parts
from trueness.errors import DroppedRowsWarning, FewRowsWarning, InputError, warn
from trueness.infer._test_method import bin_starts
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, RowOptions

_MOST_ROWS = 1 << 28


@dataclass(frozen=True)
class PairedRows:
    """Rows that every model scored. Rows of weight 2 are repeated and rows of weight 0 left out."""

    samples: dict[str, Sample]
    """The rows by model, without weights."""
    kind: Kind
    """The view of a matrix of scores."""
    cluster: Ints | None
    """The cluster of each row, numbered from 0."""
    row: Ints
    """The position of each row in the input."""
    weight: Floats | None = None
    """Importance weights; None if weights count rows."""

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
    y_true: ArrayLike,
    models: Mapping[str, ArrayLike],
    cluster: ArrayLike | None,
    rows: RowOptions,
    *,
    kind: Kind,
    importance: bool = False,
) -> PairedRows:
    """Read the rows of every model; ``missing="drop"`` drops a row from all models if any of them misses a value.

    Weights repeat rows, unless they are importance weights, which are kept.
    """
    options: dict[str, Any] = {name: value for name, value in rows.items() if name != "kind" or value is not None}
    n = column(y_true, "y_true").values.shape[0]
    names = None
    if cluster is not None:
        refuse_shuffled_index(y_true, {"cluster": cluster})
        names = cluster_column(cluster, n)
    kept = np.ones(n, dtype=bool)
    if options.get("missing") == "drop":
        kept = _complete_rows(y_true, models, options, n)
        if names is not None and names.missing is not None:
            kept &= ~names.missing
        options["sample_weight"] = _masked_weights(kept, options.get("sample_weight"))
    samples = {}
    for name, scores in models.items():
        with model_context(name), warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedRowsWarning)
            samples[name], kind = rows_or_sums.sample_and_kind(y_true, scores, options, kind=kind)  # type: ignore[arg-type]  # names are checked there
    if not kept.all():
        where = " in some model" if len(models) > 1 else ""
        warn(f"{n - int(kept.sum()):,} of {n:,} rows miss a value{where} and were dropped.", DroppedRowsWarning)
    _check_alike(samples)
    codes = None if names is None else cluster_codes(_kept_names(names, kept))
    rest = PairedRows(samples, kind, codes, np.flatnonzero(kept))
    return _with_weights(rest) if importance else _with_repeats(rest)


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


def _complete_rows(y_true: Any, models: Mapping[str, Any], options: dict[str, Any], n: int) -> Bools:
    """Whether each row is complete in all models."""
    numbers = np.arange(1.0, n + 1)
    sample_weight = options.get("sample_weight")
    if sample_weight is not None:
        missing = labels_missing(row_weights(sample_weight, n))
        if missing is not None:
            numbers[missing] = np.nan
    kept = np.ones(n, dtype=bool)
    for name, scores in models.items():
        with model_context(name), warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedRowsWarning)
            # Row numbers as weights show which rows were kept.
            sample, _ = rows_or_sums.sample_and_kind(y_true, scores, options | {"sample_weight": numbers})  # type: ignore[arg-type]
        assert sample.w is not None
        left = np.zeros(n, dtype=bool)
        left[sample.w.astype(np.int64) - 1] = True
        kept &= left
    return kept


def _masked_weights(kept: Bools, sample_weight: Any) -> Any:
    """Weights that are missing wherever any value is, so that all models drop the same rows."""
    weights = np.ones(kept.size) if sample_weight is None else row_weights(sample_weight, kept.size).values
    return np.where(kept, weights, np.nan)


def _kept_names(names: Column, kept: Bools) -> Column:
    missing = None if names.missing is None or not names.missing[kept].any() else names.missing[kept]
    return names._replace(values=names.values[kept], missing=missing)


def _check_alike(samples: dict[str, Sample]) -> None:
    first, *others = samples
    shape, classes = samples[first].p.shape[1:], samples[first].classes
    for name in others:
        other = samples[name]
        if other.p.shape[1:] != shape:
            raise InputError(
                "models",
                "must all be vectors, or matrices with the same classes",
                f"{first!r} is {_form(samples[first])} and {name!r} is {_form(other)}",
            )
        if set(map(str, other.classes or ())) != set(map(str, classes or ())):
            raise InputError(
                "models",
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
            where, remedy = "to compare models", "`weight_type='importance'` takes others."
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
    codes = None if paired.cluster is None else np.unique(paired.cluster[at], return_inverse=True)[1].reshape(-1)
    return PairedRows(samples, paired.kind, codes, paired.row[at], weight)


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


def cluster_column(cluster: Any, n: int) -> Column:
    """The cluster names, one per row, and which of them are missing."""
    names = column(cluster, "cluster")
    if names.values.shape != (n,):
        raise InputError("cluster", f"must have one entry per row ({n:,})", f"got shape {names.values.shape}")
    return names._replace(missing=labels_missing(names))


def cluster_codes(names: Column) -> Ints:
    """The clusters as numbers from 0."""
    if names.missing is not None:
        refuse_missing("cluster", names.missing)
    if names.values.dtype.kind == "O":
        codes = _codes_by_hash(names.values)
    else:
        codes = np.unique(names.values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if codes.size and codes.max() == 0:
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
