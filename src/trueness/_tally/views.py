"""Multiclass views: what of a matrix of scores is compared with what."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.blocks import blocks
from trueness._tally.logits import columns_of, row_blocks, softmax_of
from trueness._tally.rows import bins_of_rows
from trueness._tally.rules import BinRule, EqualWidth
from trueness.errors import InputError
from trueness.typing import Kind

__all__ = ["View", "check_kind", "class_bins", "parts_of"]

View: TypeAlias = Literal["binary", "classwise", "confidence", "top-label"]
_KINDS = ("classwise", "confidence", "top-label")
Part = TypeVar("Part")


def check_kind(kind: Kind) -> Kind:
    """One of the three, or an error."""
    if kind not in _KINDS:
        raise InputError("kind", "must be 'classwise', 'confidence' or 'top-label'", f"got {kind!r}")
    return kind


def parts_of(sample: Sample, kind: Kind, make: Callable[[Sample], Part], empty: Callable[[], Part]) -> tuple[Part, ...]:
    """Apply `make` to each binary problem of a matrix: one per class, or one for the top label."""
    if kind == "classwise":
        columns = enumerate(_columns(sample))
        return tuple(make(Sample((sample.y == k).view(np.uint8), p, sample.w)) for k, p in columns)
    top = _top(sample)
    if kind == "confidence":
        return (make(Sample(top.correct, top.confidence, sample.w)),)
    return tuple(_of_predicted(sample, top, k, make, empty) for k in range(sample.p.shape[1]))


def _columns(sample: Sample) -> Iterator[NDArray[Any]]:
    """The probabilities of each class; every value is checked before the first."""
    if sample.logits:
        return columns_of(sample, softmax_of(sample))
    _top(sample)
    return iter(sample.p.T)


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
    if sample.logits:
        softmax = softmax_of(sample)
        return _Top(1 / softmax.total, softmax.predicted, softmax.correct)
    pieces = []
    for rows, P in blocks(sample.p):
        status, *found = _kernels.top1(P, sample.y[rows], sample.tolerance)
        if status:
            sample.explain()
        pieces.append(found)
    return _Top(*(np.concatenate(column) if len(column) > 1 else column[0] for column in zip(*pieces, strict=True)))


def class_bins(sample: Sample, rule: BinRule, *, moments: bool) -> tuple[Bins, ...]:
    """The bins of each class against the rest: in one pass over the matrix where that is possible."""
    if not isinstance(rule, EqualWidth) or sample.w is not None or moments:
        return parts_of(
            sample,
            "classwise",
            lambda part: bins_of_rows(part, rule, moments=moments),
            lambda: bins_of_rows(_no_rows(), rule),
        )
    k = sample.p.shape[1]
    table = np.zeros((k, rule.n, 2, 3), dtype=np.int64)
    status = 0
    for rows, P in row_blocks(sample, softmax_of(sample)) if sample.logits else blocks(sample.p):
        status |= _kernels.classwise_sums(P, sample.y[rows], rule.n, table, sample.tolerance)
    if status:
        sample.explain()
    padded = np.zeros((k, rule.n, 2, 5), dtype=np.int64)
    padded[..., :3] = table
    edges = rule.fixed_edges
    return tuple(Bins(edges, table) for table in padded)


def _no_rows() -> Sample:
    return Sample(np.zeros(0, dtype=np.uint8), np.zeros(0))
