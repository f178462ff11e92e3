"""Multiclass views: what of a matrix of scores is compared with what."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.rows import bins_of_rows
from trueness._tally.rules import BinRule, EqualWidth
from trueness.errors import InputError
from trueness.typing import Kind

__all__ = ["View", "check_kind", "class_bins", "parts_of"]

View: TypeAlias = Literal["binary", "classwise", "confidence", "top-label"]
_KINDS = ("classwise", "confidence", "top-label")
_ENTRIES = 1 << 16
Part = TypeVar("Part")


def check_kind(kind: Kind) -> Kind:
    """One of the three, or an error."""
    if kind not in _KINDS:
        raise InputError(f"`kind` must be 'classwise', 'confidence' or 'top-label'; got {kind!r}.")
    return kind


def parts_of(sample: Sample, kind: Kind, make: Callable[[Sample], Part], empty: Callable[[], Part]) -> tuple[Part, ...]:
    """Apply `make` to each binary problem of a matrix: one per class, or one for the top label."""
    top = _top(sample)
    if kind == "confidence":
        return (make(Sample(top.correct, top.confidence, sample.w)),)
    if kind == "classwise":
        columns = range(sample.p.shape[1])
        return tuple(make(Sample((sample.y == k).view(np.uint8), sample.p[:, k], sample.w)) for k in columns)
    return tuple(_of_predicted(sample, top, k, make, empty) for k in range(sample.p.shape[1]))


class _Top(NamedTuple):
    confidence: NDArray[Any]
    predicted: NDArray[np.int64]
    correct: NDArray[np.uint8]


def _of_predicted(sample: Sample, top: _Top, k: int, make: Callable[[Sample], Part], empty: Callable[[], Part]) -> Part:
    rows = top.predicted == k
    if sample.w is not None:
        rows &= sample.w > 0
    if not rows.any():
        return empty()
    return make(Sample(top.correct[rows], top.confidence[rows], None if sample.w is None else sample.w[rows]))


def _top(sample: Sample) -> _Top:
    """The largest probability of each row, whose it is, and whether that class came; every value is checked here."""
    p, y = sample.p, sample.y
    if _is_ready(p):
        return _checked(sample, *_kernels.top1(p, y, sample.tolerance))
    step = max(1, _ENTRIES // p.shape[1])
    pieces = [
        _checked(sample, *_kernels.top1(_as_float(p[i : i + step]), y[i : i + step], sample.tolerance))
        for i in range(0, max(1, p.shape[0]), step)
    ]
    return _Top(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


def _checked(sample: Sample, status: int, *found: Any) -> _Top:
    if status:
        sample.explain()
    return _Top(*found)


def _is_ready(p: NDArray[Any]) -> bool:
    return p.dtype in (np.float32, np.float64) and p.flags.c_contiguous and p.flags.aligned


def _as_float(p: NDArray[Any]) -> NDArray[Any]:
    wanted = np.float32 if p.dtype.kind == "f" and p.dtype.itemsize <= 4 else np.float64
    return np.require(p, dtype=wanted, requirements=["C", "A"])


def class_bins(sample: Sample, rule: BinRule, *, moments: bool) -> tuple[Bins, ...]:
    """The bins of each class against the rest: in one pass over the matrix where that is possible."""
    if not isinstance(rule, EqualWidth) or sample.w is not None or moments:
        return parts_of(
            sample,
            "classwise",
            lambda part: bins_of_rows(part, rule, moments=moments),
            lambda: bins_of_rows(_no_rows(), rule),
        )
    n, k = sample.p.shape
    table = np.zeros((k, rule.n, 2, 3), dtype=np.int64)
    step = n if _is_ready(sample.p) else max(1, _ENTRIES // k)
    status = 0
    for i in range(0, n, max(1, step)):
        block = sample.p[i : i + step] if step == n else _as_float(sample.p[i : i + step])
        status |= _kernels.classwise_sums(block, sample.y[i : i + step], rule.n, table, sample.tolerance)
    if status:
        sample.explain()
    padded = np.zeros((k, rule.n, 2, 5), dtype=np.int64)
    padded[..., :3] = table
    edges = rule.fixed_edges
    return tuple(Bins(edges, table) for table in padded)


def _no_rows() -> Sample:
    return Sample(np.zeros(0, dtype=np.uint8), np.zeros(0))
