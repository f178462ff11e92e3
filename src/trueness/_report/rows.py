"""The rows that a report is about: the same for every model."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueness._input.columns import Column, column, refuse_missing
from trueness._input.sample import Sample, refuse_shuffled_index
from trueness._input.weights import row_weights
from trueness._report.records import RowCounts
from trueness._tally import rows_or_sums
from trueness._tally.multiclass import parts_of
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rules import EqualWidth
from trueness._tally.tally import Parts
from trueness.errors import DroppedRowsWarning, InputError
from trueness.infer._paired_rows import cluster_codes, cluster_column
from trueness.typing import ArrayLike, Bools, Ints, RowOptions

__all__ = ["ReportRows", "about", "fractional", "main_view", "read", "weight_type"]


@dataclass(frozen=True)
class ReportRows:
    """Rows without missing values and of positive weight, as every model scored them."""

    samples: dict[str, Sample]
    kept: Bools
    """Which of the rows passed are here."""
    counts: RowCounts
    cluster: Ints | None = None
    """The cluster of each row, numbered from 0 in the order in which they come."""

    @property
    def multiclass(self) -> bool:
        """Whether scores are matrices."""
        return self.counts.classes is not None


@contextmanager
def about(name: str, several: bool) -> Iterator[None]:
    """Say which model an error is about, if there are several."""
    try:
        yield
    except InputError as reason:
        if not several:
            raise
        raise InputError(f"Model {name!r}: {reason}") from None


def read(y_true: ArrayLike, y_prob: Any, rows: RowOptions, cluster: Any = None) -> ReportRows:
    """Check labels and scores; a row that misses a value in one model, or its cluster, is dropped for all."""
    if "kind" in rows:
        raise InputError("kind", "is not taken: the report of a matrix shows the top label and every class")
    models = _models(y_true, y_prob)
    n = column(y_true, "y_true").values.shape[0]
    for scores in models.values():
        refuse_shuffled_index(y_true, {"y_prob": scores})
    options: dict[str, Any] = dict(rows)
    names = _cluster_names(y_true, cluster, n)
    kept = np.ones(n, dtype=bool)
    if options.get("missing") == "drop":
        given = options.get("sample_weight")
        kept = _complete(y_true, models, options, n)
        if names is not None and names.missing is not None:
            kept &= ~names.missing
        options["sample_weight"] = np.where(kept, 1.0 if given is None else row_weights(given, n).values, np.nan)
        samples = _samples(y_true, models, options)
        if given is None:
            samples = {name: Sample(s.y, s.p, None, s.classes, s.tolerance, s.rows) for name, s in samples.items()}
    else:
        samples = _samples(y_true, models, options)
    dropped = n - int(kept.sum())
    _check_alike(samples)
    samples, kept = _of_positive_weight(samples, kept)
    for name, sample in samples.items():
        with about(name, len(models) > 1):
            _check_values(sample)
    counts = _counts(next(iter(samples.values())), n, dropped)
    codes = None if names is None else _cluster_codes(names, kept)
    return ReportRows({name: _plainly(sample) for name, sample in samples.items()}, kept, counts, codes)


def _cluster_names(y_true: Any, cluster: Any, n: int) -> Column | None:
    if cluster is None:
        return None
    refuse_shuffled_index(y_true, {"cluster": cluster})
    return cluster_column(cluster, n)


def _cluster_codes(names: Column, kept: Bools) -> Ints:
    left = None if names.missing is None or not names.missing[kept].any() else names.missing
    if left is not None:  # rows are dropped only where that was asked for, and messages count all of them
        refuse_missing("cluster", left)
    codes = cluster_codes(Column(names.values[kept]))
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return np.asarray(rank[which.reshape(-1)])


def _samples(y_true: Any, models: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Sample]:
    found = {}
    for name, scores in models.items():
        with about(name, len(models) > 1), warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedRowsWarning)  # the report counts them
            found[name], _ = rows_or_sums.sample_and_kind(y_true, scores, options)  # type: ignore[arg-type]  # checked there
    return found


def _complete(y_true: Any, models: Mapping[str, Any], options: dict[str, Any], n: int) -> Bools:
    """Which rows miss nothing in any model."""
    numbers = np.arange(1.0, n + 1)
    if options.get("sample_weight") is not None:
        weights = row_weights(options["sample_weight"], n)
        numbers[np.isnan(weights.values)] = np.nan
        if weights.missing is not None:
            numbers[weights.missing] = np.nan
    kept = np.ones(n, dtype=bool)
    # The number of a row in the place of its weight: so one sees which rows were left.
    for sample in _samples(y_true, models, options | {"sample_weight": numbers}).values():
        assert sample.w is not None
        left = np.zeros(n, dtype=bool)
        left[sample.w.astype(np.int64) - 1] = True
        kept &= left
    return kept


def _models(y_true: Any, y_prob: Any) -> Mapping[str, Any]:
    if isinstance(y_true, Parts):
        raise InputError(
            f"A report needs the rows: it fits calibrators and looks at segments. A {type(y_true).__name__} has none; "
            "pass labels and scores."
        )
    if not isinstance(y_prob, Mapping):
        return {str(getattr(y_prob, "name", None) or "scores"): y_prob}
    if not y_prob:
        raise InputError("y_prob", "must hold at least one model", "the dict is empty")
    for name in y_prob:
        if not isinstance(name, str):
            raise InputError(f"`y_prob` as a dict must have strings as names; got {name!r}. Use {str(name)!r}.")
    return y_prob


def _check_alike(samples: dict[str, Sample]) -> None:
    first, *others = samples
    for name in others:
        if samples[name].p.shape[1:] != samples[first].p.shape[1:]:
            raise InputError(
                "y_prob",
                "must hold vectors only, or matrices with the same classes",
                f"{first!r} has shape {samples[first].p.shape} and {name!r} {samples[name].p.shape}",
            )
        if samples[name].classes != samples[first].classes:
            raise InputError(
                "y_prob",
                "must hold models of the same classes in the same order",
                f"{first!r} has {list(samples[first].classes or ())} and {name!r} {list(samples[name].classes or ())}",
            )


def _of_positive_weight(samples: dict[str, Sample], kept: Bools) -> tuple[dict[str, Sample], Bools]:
    w = next(iter(samples.values())).w
    if w is None or (w > 0).all():
        return samples, kept
    some = w > 0
    if not some.any():
        raise InputError("sample_weight", "must be above 0 in at least one row", "all weights are 0")
    left = kept.copy()
    left[kept] = some
    return {name: s.at(some, None if s.w is None else s.w[some]) for name, s in samples.items()}, left


def _plainly(sample: Sample) -> Sample:
    """Weights that are all 1 are no weights, and stand in the way of nothing that ties or ranks decide."""
    if sample.w is None or (sample.w != 1).any():
        return sample
    return Sample(sample.y, sample.p, None, sample.classes, sample.tolerance, sample.rows)


def _check_values(sample: Sample) -> None:
    """Look at every value once, so that what follows need not."""
    bins_of_rows(main_view(sample), EqualWidth(1))


def main_view(sample: Sample) -> Sample:
    """The one score of each row and whether it came true: a vector as it is, a matrix by its top label."""
    if sample.p.ndim == 1:
        return sample
    (top,) = parts_of(sample, "confidence", lambda part: part, lambda: sample)
    return top


def fractional(sample: Sample) -> bool:
    """Whether weights are not whole numbers, so that they say how much a row matters, not how often it came."""
    return sample.w is not None and bool((sample.w != np.floor(sample.w)).any())


def weight_type(sample: Sample) -> Literal["frequency", "importance"]:
    """The same as the library calls it."""
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
