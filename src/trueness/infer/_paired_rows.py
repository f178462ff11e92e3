"""The same rows, as several models scored them."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._input.columns import column
from trueness._input.labels import labels_missing
from trueness._input.sample import Sample, refuse_shuffled_index
from trueness._input.weights import row_weights
from trueness._tally import rows_or_sums
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rules import BinRule
from trueness._tally.tally import Parts
from trueness.errors import DroppedRowsWarning, InputError, warn
from trueness.infer._clusters import cluster_codes, cluster_column
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, RowOptions

__all__ = ["PairedRows", "about", "bin_numbers", "paired_rows", "read_rows", "top_scores"]

_MOST_ROWS = 1 << 28


@dataclass(frozen=True)
class PairedRows:
    """Rows that every model has scored. A row of weight 2 is there twice, one of weight 0 not at all."""

    samples: dict[str, Sample]
    """The rows by model, without weights."""
    kind: Kind
    """The view of a matrix of scores."""
    cluster: Ints | None
    """The cluster of each row, numbered from 0."""
    row: Ints
    """The number of each row among those passed."""
    weight: Floats | None = None
    """How much each row matters, where weights are not numbers of rows."""

    @property
    def n(self) -> int:
        """Rows."""
        return self.row.size


@contextmanager
def about(model: str) -> Iterator[None]:
    """Say which model an error is about; the empty name is that of an only model."""
    try:
        yield
    except InputError as reason:
        if not model:
            raise
        raise InputError(f"Model {model!r}: {reason}") from None


def paired_rows(
    y_true: ArrayLike,
    models: Mapping[str, ArrayLike],
    cluster: ArrayLike | None,
    rows: RowOptions,
    *,
    kind: Kind,
    importance: bool = False,
) -> PairedRows:
    """The rows of two models or more."""
    _check_models(models)
    return read_rows(y_true, models, cluster, rows, kind=kind, importance=importance)


def read_rows(
    y_true: ArrayLike,
    models: Mapping[str, ArrayLike],
    cluster: ArrayLike | None,
    rows: RowOptions,
    *,
    kind: Kind,
    importance: bool = False,
) -> PairedRows:
    """Read the rows of every model; with ``missing="drop"`` only those that miss a value in none of them.

    A row of weight 2 is there twice, unless weights say how much a row matters (`importance`): then they are kept.
    """
    options: dict[str, Any] = {name: value for name, value in rows.items() if name != "kind" or value is not None}
    n = column(y_true, "y_true").values.shape[0]
    names = None
    if cluster is not None:
        refuse_shuffled_index(y_true, {"cluster": cluster})
        names = cluster_column(cluster, n)
    kept = np.ones(n, dtype=bool)
    if options.get("missing") == "drop":
        kept = _complete(y_true, models, options, n)
        if names is not None and names.missing is not None:
            kept &= ~names.missing
        options["sample_weight"] = _weights_of(kept, options.get("sample_weight"))
    samples = {}
    for name, scores in models.items():
        with about(name), warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedRowsWarning)
            samples[name], kind = rows_or_sums.sample_and_kind(y_true, scores, options, kind=kind)  # type: ignore[arg-type]  # names are checked there
    if not kept.all():
        where = " in some model" if len(models) > 1 else ""
        warn(f"{n - int(kept.sum()):,} of {n:,} rows miss a value{where} and were dropped.", DroppedRowsWarning)
    _check_alike(samples)
    codes = (
        None
        if names is None
        else cluster_codes(names._replace(values=names.values[kept], missing=_some(names.missing, kept)))
    )
    at = np.flatnonzero(kept)
    return _weighed(samples, kind, codes, at) if importance else _repeated(samples, kind, codes, at)


def _check_models(models: Any) -> None:
    if not isinstance(models, Mapping):
        frame = " Use `{name: frame[name] for name in frame.columns}`." if hasattr(models, "columns") else ""
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
                f"`models[{name!r}]` is a {type(scores).__name__}, which has lost which rows belong together; "
                "pass the scores of every row."
            )


def _complete(y_true: Any, models: Mapping[str, Any], options: dict[str, Any], n: int) -> Bools:
    """Which rows miss nothing in any model."""
    numbers = np.arange(1.0, n + 1)
    given = options.get("sample_weight")
    if given is not None:
        weights = row_weights(given, n)
        missing = labels_missing(weights)
        if missing is not None:
            numbers[missing] = np.nan
    kept = np.ones(n, dtype=bool)
    for name, scores in models.items():
        with about(name), warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedRowsWarning)
            # The number of a row in the place of its weight: so one sees which rows were left.
            sample, _ = rows_or_sums.sample_and_kind(y_true, scores, options | {"sample_weight": numbers})  # type: ignore[arg-type]
        assert sample.w is not None
        left = np.zeros(n, dtype=bool)
        left[sample.w.astype(np.int64) - 1] = True
        kept &= left
    return kept


def _weights_of(kept: Bools, given: Any) -> Any:
    """Weights that are missing wherever any value is: so all models drop the same rows."""
    weights = np.ones(kept.size) if given is None else row_weights(given, kept.size).values
    return np.where(kept, weights, np.nan)


def _some(missing: Bools | None, kept: Bools) -> Bools | None:
    return None if missing is None or not missing[kept].any() else missing[kept]


def _check_alike(samples: dict[str, Sample]) -> None:
    first, *others = samples
    shape, classes = samples[first].p.shape[1:], samples[first].classes
    for name in others:
        other = samples[name]
        if other.p.shape[1:] != shape:
            raise InputError(
                "models",
                "must all be vectors, or matrices with the same classes",
                f"{first!r} is {_said(samples[first])} and {name!r} is {_said(other)}",
            )
        if set(map(str, other.classes or ())) != set(map(str, classes or ())):
            raise InputError(
                "models",
                "must have the same classes",
                f"{first!r} has {list(classes or ())} and {name!r} has {list(other.classes or ())}",
            )


def _said(sample: Sample) -> str:
    return "a vector" if sample.p.ndim == 1 else f"a matrix of {sample.p.shape[1]} columns"


def _repeated(samples: dict[str, Sample], kind: Kind, cluster: Ints | None, row: Ints) -> PairedRows:
    """Every row as often as its weight says."""
    w = next(iter(samples.values())).w
    if w is None:
        return PairedRows(samples, kind, cluster, row)
    if (w != np.floor(w)).any():
        where, way_out = "with `cluster`", "other weights do not say how sure the result is"
        if len(samples) > 1:
            where, way_out = "to compare models", "`weight_type='importance'` takes others"
        raise InputError("sample_weight", f"must be whole numbers {where}: weight 2 is the row twice", way_out)
    if w.sum() > _MOST_ROWS:
        raise InputError("sample_weight", f"must sum to at most {_MOST_ROWS:,} rows", f"got {w.sum():,.0f}")
    at = np.repeat(np.arange(w.size), w.astype(np.int64))
    repeated = {name: sample.at(at, None) for name, sample in samples.items()}
    codes = None if cluster is None else np.unique(cluster[at], return_inverse=True)[1].reshape(-1)
    return PairedRows(repeated, kind, codes, row[at])


def _weighed(samples: dict[str, Sample], kind: Kind, cluster: Ints | None, row: Ints) -> PairedRows:
    """Every row of positive weight, with its weight."""
    w = next(iter(samples.values())).w
    if w is None or w.all():
        return PairedRows(samples, kind, cluster, row, w)
    at = np.flatnonzero(w)
    left = {name: sample.at(at, w[at]) for name, sample in samples.items()}
    codes = None if cluster is None else np.unique(cluster[at], return_inverse=True)[1].reshape(-1)
    return PairedRows(left, kind, codes, row[at], w[at])


def top_scores(sample: Sample) -> Sample:
    """The largest score of each row and whether its class came; a vector as it is."""
    if sample.p.ndim == 1:
        return sample
    (top,) = parts_of(sample, "confidence", lambda part: part, lambda: sample)
    return top


def bin_numbers(top: Sample, rule: BinRule) -> Ints:
    """The bin of each row, numbered from 0 over the bins that hold rows."""
    cells = cells_of_rows(top)
    start = rule.group(cells).start
    lowest = cells.score[start[:-1][start[1:] > start[:-1]]]
    return np.searchsorted(lowest, np.asarray(top.p, dtype=np.float64), side="right") - 1
