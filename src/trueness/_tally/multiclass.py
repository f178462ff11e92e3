r"""Multiclass views: the binary problems of a matrix of scores, and the softmax of logits.

One pass over the logits finds the largest one of each row, m, and the total :math:`\sum_j e^{z_j -
m}`. The largest probability is one over the total; any other is :math:`e^{z_j - m}` over it,
computed a few at a time when it is needed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.arguments import checked_word
from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.row_sums import as_float, blocks
from trueness._tally.rules import EqualWidth
from trueness.errors import InputError, Remedy
from trueness.typing import Floats, Ints, Kind

View: TypeAlias = Literal["binary", "classwise", "confidence", "top-label", "multilabel"]
_KINDS = ("classwise", "confidence", "top-label", "multilabel")
EACH_ROW: Final = ("classwise", "multilabel")  # views of which every part sees all rows
Part = TypeVar("Part")


def check_kind(kind: Kind) -> Kind:
    checked_word(kind, "kind", _KINDS)
    return kind


def parts_of(sample: Sample, kind: Kind, make: Callable[[Sample], Part]) -> tuple[Part, ...]:
    """Apply `make` to each binary problem of a matrix: each class or label, or the top label."""
    if kind == "multilabel":
        return tuple(_label_part(sample, k, make) for k in range(sample.p.shape[1]))
    if kind == "classwise":
        return tuple(ClassParts(sample, make))
    top = top_of(sample)
    if kind == "confidence":
        return (make(Sample(top.correct, top.confidence, sample.w, importance=sample.importance)),)
    parts = []
    for k in range(sample.p.shape[1]):
        rows = top.predicted == k
        if sample.w is not None:
            rows &= sample.w > 0
        w = None if sample.w is None else sample.w[rows]
        part = Sample(top.correct[rows], top.confidence[rows], w, importance=sample.importance)
        parts.append(make(part))
    return tuple(parts)


class ClassParts(Sequence[Part]):
    """Every class against the rest, made when it is asked for.

    All values are checked before the first.
    """

    def __init__(self, sample: Sample, make: Callable[[Sample], Part]) -> None:
        self.found = softmax_of(sample) if sample.logits else top_of(sample)
        self.sample = sample
        self.make = make
        self.columns = slice(0, 0)
        self.last = -1
        self.step = max(_FEWEST_COLUMNS, _ENTRIES // max(1, sample.p.shape[0]))

    def __len__(self) -> int:
        return int(self.sample.p.shape[1])

    @overload
    def __getitem__(self, at: int) -> Part: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Part, ...]: ...
    def __getitem__(self, at: int | slice) -> Part | tuple[Part, ...]:
        """What is made of class `at` against the rest; of a slice, a tuple.

        The last one is kept, since several questions in a row ask for the same class.
        """
        k = range(len(self))[at]
        if not isinstance(k, int):
            return tuple(self[column] for column in k)
        if k != self.last:
            part = Sample(
                (self.sample.y == k).view(np.uint8),
                self._scores(k),
                self.sample.w,
                importance=self.sample.importance,
            )
            self.part = self.make(part)
            self.last = k
        return self.part

    def _scores(self, k: int) -> NDArray[Any]:
        """The probabilities of a class, those of logits a few classes at a time."""
        if not isinstance(self.found, Softmax):
            return np.asarray(self.sample.p[:, k])
        if not self.columns.start <= k < self.columns.stop:
            self.columns = slice(k, k + self.step)
            block = self.sample.p[:, self.columns]
            self.filled = self.found.fill(block, slice(0, len(block)), np.empty(block.shape))
        return self.filled[:, k - self.columns.start]


def _label_part(sample: Sample, k: int, make: Callable[[Sample], Part]) -> Part:
    """What `make` makes of the rows of label k alone.

    An error names the label, and does not offer a remedy that is meant for one column of labels.
    """
    try:
        part = Sample(
            sample.y[:, k],
            sample.p[:, k],
            sample.w,
            rows=sample.rows,
            importance=sample.importance,
        )
        return make(part)
    except InputError as error:
        if isinstance(error.remedy, Remedy) and error.remedy.name in ("pos-label", "matrix"):
            error = error.but(remedy="")
        raise error.within(f"Label {(sample.classes or range(k + 1))[k]!r}") from None


def binary_of_two_columns(sample: Sample) -> Sample:
    """A matrix of two columns as the binary problem of its second column.

    Any other sample comes back unchanged. Verdicts, reports, gates and intervals use it: the larger
    of two scores would hide errors of opposite sign.
    """
    if sample.p.ndim == 1 or sample.p.shape[1] != 2:
        return sample
    _, second = parts_of(sample, "classwise", lambda part: part)
    return Sample(
        second.y,
        second.p,
        sample.w,
        rows=sample.rows,
        dropped=sample.dropped,
        importance=sample.importance,
    )


TWO_COLUMNS = "The two columns of scores are one binary problem: the event is the second."
# Results show both sentences: `results._record.with_two_columns` knows how they begin.
TOP_OF_TWO_COLUMNS = (
    "The two columns of scores are read as the top label: the larger score of each row, and "
    "whether its class is the label."
)


def two_columns_in_words(classes: Sequence[Any] | None) -> str:
    """The sentence that goes with :func:`binary_of_two_columns`."""
    if classes:
        return f"{TWO_COLUMNS.removesuffix('.')}, {classes[1]!r}."
    return TWO_COLUMNS


class _Top(NamedTuple):
    confidence: NDArray[Any]
    predicted: NDArray[np.int64]
    correct: NDArray[np.uint8]


def top_of(sample: Sample) -> _Top:
    """The largest probability of each row, its class, and whether that was the label.

    Every value is checked here.
    """
    if sample.logits:
        softmax = softmax_of(sample)
        return _Top(1 / softmax.total, softmax.predicted, softmax.correct)
    pieces = []
    for rows, P in blocks(sample.p):
        status, *columns = _kernels.top1(P, sample.y[rows], sample.tolerance)
        if status:
            sample.explain()
        pieces.append(columns)
    return _Top(*_joined(pieces))


def _joined(pieces: list[Any]) -> Iterator[Any]:
    """The columns of all pieces; those of one piece are not copied."""
    return (
        np.concatenate(column) if len(column) > 1 else column[0]
        for column in zip(*pieces, strict=True)
    )


def class_bins(sample: Sample, rule: EqualWidth) -> tuple[Bins, ...]:
    """The bins of each class against the rest, in one pass over a matrix without weights.

    They have no moments.
    """
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


_ENTRIES = 1 << 18  # 2 MB of probabilities; two blocks may exist at a time
_FEWEST_COLUMNS = 4  # a cache line that is read for one column should serve some more


class Softmax(NamedTuple):
    """The result of one pass over the logits, row by row."""

    top: Floats  # the largest logit
    total: Floats  # the sum of the powers of e of all differences from it
    predicted: Ints  # where the largest probability stands, the first if tied
    correct: NDArray[np.uint8]  # whether that class is the label

    def fill(self, logits: NDArray[Any], rows: slice, out: Floats) -> Floats:
        """The probabilities of some rows, or of some of their columns."""
        _kernels.softmax(as_float(logits), self.top[rows], self.total[rows], out)
        return out


def softmax_of(sample: Sample) -> Softmax:
    """The softmax of a sample of logits; every logit is checked here."""
    status = 0
    pieces = []
    for rows, Z in blocks(sample.p):
        block_status, *columns = _kernels.logit_tops(Z, sample.y[rows])
        status |= block_status
        pieces.append(columns)
    if status:
        sample.explain()
    return Softmax(*_joined(pieces))


def row_blocks(sample: Sample, softmax: Softmax) -> Iterator[tuple[slice, Floats]]:
    """The probabilities of all classes, a few rows at a time; each block overwrites the last."""
    n, k = sample.p.shape
    step = max(1, _ENTRIES // k)
    room = np.empty((min(n, step), k))
    for i in range(0, n, step):
        block = sample.p[i : i + step]
        yield slice(i, i + step), softmax.fill(block, slice(i, i + step), room[: block.shape[0]])


def with_probabilities(sample: Sample) -> Sample:
    """The sample with a matrix of probabilities in place of logits."""
    softmax = softmax_of(sample)
    P = np.empty(sample.p.shape)
    for rows, Z in blocks(sample.p):
        softmax.fill(Z, rows, P[rows])
    return Sample(
        sample.y,
        P,
        sample.w,
        sample.classes,
        sample.tolerance,
        sample.rows,
        sample.dropped,
        importance=sample.importance,
    )
