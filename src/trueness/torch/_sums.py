"""Binned sums, and torch operations that make them, in chunks of rows.

They are for every device and view without a kernel.
"""

from typing import NamedTuple

import numpy as np
import torch

from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.torch._rows import (
    BAD_LABEL,
    BAD_SCORE,
    BAD_SUM,
    BAD_WEIGHT,
    OUTSIDE,
    Layout,
    TensorRows,
)
from trueness.typing import Floats

COLUMNS = FAULTS = 5
# Rows of positive weight, Σw, Σw², Σwy, Σwp, Σwp², Σwyp, rows of fractional weight.
WEIGHT_COLUMNS = 8
LARGEST = 1e100  # squares of weights must not overflow; the library has the same limit
_ENTRIES = 1 << 22  # of one chunk; a few dozen bytes of temporaries for each
_PLAIN_SUM = 4_096  # a plain sum of this many positive terms has a relative error below 4.6e-13
_CELLS = 1 << 21


class Sums(NamedTuple):
    """Sums on the device where the rows are."""

    # int64: the table, then the faults, in one tensor, so that one operation adds or moves both.
    flat: torch.Tensor
    size: int  # number of bins
    # float64, (parts, B, 8): sums of weighted rows, which are not in the table.
    weighted: torch.Tensor | None = None

    @property
    def table(self) -> torch.Tensor:
        """(parts, B, 2, 5): Σ1, Σhi, Σlo, Σhi², Σlo² of each bin and label, as in the library."""
        return self.flat[:-FAULTS].view(-1, self.size, 2, COLUMNS)

    @property
    def faults(self) -> torch.Tensor:
        """(5,): rows left out.

        For a bad score, a bad label, a score outside the edges, a sum other than 1, a bad weight.
        """
        return self.flat[-FAULTS:]

    def on_host(self) -> "Sums":
        """The sums on the CPU; waits for the device."""
        return Sums(
            self.flat.cpu(), self.size, None if self.weighted is None else self.weighted.cpu()
        )


def no_sums(parts: int, size: int, device: torch.device, *, weighted: bool = False) -> Sums:
    """Sums of no rows."""
    flat = torch.zeros(parts * size * 2 * COLUMNS + FAULTS, dtype=torch.int64, device=device)
    return Sums(flat, size, no_weights(parts, size, device) if weighted else None)


def no_weights(parts: int, size: int, device: torch.device) -> torch.Tensor:
    """Sums of no weighted rows, of shape (parts, B, 8)."""
    return torch.zeros(
        (parts, size, WEIGHT_COLUMNS), dtype=torch.float64, device=float_home(device)
    )


def float_home(device: torch.device) -> torch.device:
    """Where float64 sums are kept: with the rows, except on Apple GPUs, which have no float64."""
    if device.type == "mps":
        return torch.device("cpu")
    return device


def score_sums(
    rows: TensorRows, layout: Layout, part: torch.Tensor | None = None, parts: int = 1
) -> Sums:
    """Binned sums of a vector of scores, whose rows may belong to several parts.

    Bad rows are counted as faults.
    """
    sums = no_sums(parts, layout.size, rows.p.device, weighted=rows.w is not None)
    for number, chunk in enumerate(rows.chunks(_ENTRIES)):
        p = chunk.p.double()
        label = chunk.codes.to(torch.int64)
        tests = {
            BAD_SCORE: (p >= 0) & (p <= 1),
            BAD_LABEL: (label >= 0) & (label <= 1),
            OUTSIDE: layout.covers(p),
        }
        good = sift(sums, tests, chunk)
        chunk_part = 0 if part is None else part[number * _ENTRIES :][:_ENTRIES]
        _pour(sums, chunk_part, chunk._replace(y=label, p=p), good, layout)
    return sums


def class_sums(rows: TensorRows, layout: Layout) -> Sums:
    """Binned sums of rows of probabilities, or of the softmax of rows of logits."""
    sums = no_sums(layout.parts(rows.p), layout.size, rows.p.device, weighted=rows.w is not None)
    by_class = layout.kind == "classwise"
    n_classes = rows.p.shape[1]
    scores_of = _softmax if rows.logits else _probabilities
    for chunk in rows.chunks(max(1, _ENTRIES // n_classes)):
        score, place, tests = scores_of(chunk, by_class)
        label = chunk.codes.to(torch.int64)
        good = sift(sums, {**tests, BAD_LABEL: (label >= 0) & (label < n_classes)}, chunk)
        part: torch.Tensor | int = place if layout.kind == "top-label" else 0
        if by_class:
            part = torch.arange(n_classes, device=score.device)
            label = label[:, None]
            place = part
            good = good[:, None].expand_as(score)
        inside = layout.covers(score)
        sums.faults[OUTSIDE] += (good & ~inside).sum()
        chunk = chunk._replace(y=(place == label).to(torch.int64), p=score)
        _pour(sums, part, chunk, good & inside, layout)
    return sums


def sift(sums: Sums, tests: dict[int, torch.Tensor], rows: TensorRows) -> torch.Tensor:
    """Count the rows that fail a test, each under the first one it fails.

    Returns which rows pass all.
    """
    if rows.w is not None:
        w = rows.w.double()  # float32 has no number so large but infinity
        tests = {**tests, BAD_WEIGHT: (w >= 0) & (w <= LARGEST)}
    good = rows.keep
    for fault, passed in tests.items():
        sums.faults[fault] += (~passed if good is None else good & ~passed).sum()
        good = passed if good is None else good & passed
    assert good is not None
    return good


_Scores = tuple[torch.Tensor, torch.Tensor, dict[int, torch.Tensor]]


def _probabilities(rows: TensorRows, by_class: bool) -> _Scores:
    """All scores or the largest of each row, its class, and the tests that rows must pass."""
    p = rows.p.double()
    largest, place = p.max(dim=1)
    tolerance = rows.tolerance
    if tolerance is None:  # as in :func:`trueness.ece`
        tolerance = 2e-3 if rows.p.dtype == torch.float16 else 1e-6
    tests = {
        BAD_SCORE: ((p >= 0) & (p <= 1)).all(dim=1),
        BAD_SUM: (p.sum(dim=1) - 1).abs() <= tolerance,
    }
    return p if by_class else largest, place, tests


def _softmax(rows: TensorRows, by_class: bool) -> _Scores:
    """The probabilities of all classes or the largest of each row, its class, and its test.

    Rows of logits that have no softmax fail the test.
    """
    z = rows.p.double()
    largest, place = z.max(dim=1)
    powers = torch.exp(z - largest[:, None])
    total = powers.sum(dim=1)
    score = powers.div_(total[:, None]) if by_class else 1 / total
    # nan, +inf and rows of -inf alone make the sum nan.
    return score, place, {BAD_SCORE: ~total.isnan()}


def _pour(
    sums: Sums, part: torch.Tensor | int, rows: TensorRows, good: torch.Tensor, layout: Layout
) -> None:
    """Add the scores of good rows to the cells of their part, bin and label."""
    # A row that is left out adds zeros to the first cell; selecting rows would wait for the device.
    p = torch.where(good, rows.p, 0.0)
    label = rows.y
    w = rows.w
    place = torch.bucketize(p, layout.limits(p.device)[1:-1], right=True)
    place = torch.where(good, part * layout.size + place, 0)
    if w is not None and sums.weighted is not None:
        w = w.double().view(-1, *(1,) * (p.ndim - 1))
        _add_weighted(sums.weighted, place, label, p, torch.where(good, w, 0.0))
        return
    cell = torch.where(good, place * 2 + label, 0).flatten()
    columns = [good.to(torch.int64)]
    for score in (p, p * p) if layout.moments else (p,):
        whole = (score * 2.0**53).to(torch.int64)
        columns += [whole >> 27, whole & ((1 << 27) - 1)]
    flat = sums.table.view(-1, COLUMNS)
    for j, column in enumerate(columns):
        flat[:, j].index_add_(0, cell, column.flatten())


def _add_weighted(
    sums: torch.Tensor, cell: torch.Tensor, y: torch.Tensor, p: torch.Tensor, w: torch.Tensor
) -> None:
    """Add rows to the cells numbered by `cell`.

    The first dimension is rows, and weight 0 adds nothing.
    """
    # Rows are distributed over lanes to keep each sum short, which bounds the error and reduces
    # collisions.
    table = sums.view(-1, WEIGHT_COLUMNS)
    n = cell.shape[0]
    cells = table.shape[0]
    lanes = max(1, min(-(-n // _PLAIN_SUM), _CELLS // cells))
    lane = (torch.arange(n, device=cell.device) % lanes * cells).view(-1, *(1,) * (cell.ndim - 1))
    lane_cell = (lane + cell).flatten()
    y = y.double()
    weighted = w * p
    columns = (
        (w > 0).double(),
        w,
        w * w,
        w * y,
        weighted,
        weighted * p,
        weighted * y,
        (w != w.floor()).double(),
    )
    for j, column in enumerate(columns):
        piece = torch.zeros(lanes * cells, dtype=torch.float64, device=table.device)
        piece.index_add_(0, lane_cell, column.expand_as(cell).flatten())
        table[:, j] += piece.view(lanes, cells).sum(dim=0)


def add_compensated(total: torch.Tensor, more: torch.Tensor) -> None:
    """Add to ``total[0]``, and the rounding error to ``total[1]``."""
    before = total[0].clone()
    after = before + more
    part = after - before
    total[1] += (before - (after - part)) + (more - part)
    total[0] = after


def weighted_sums(bins: Bins) -> torch.Tensor:
    """The library's sums of weighted rows, in the columns of this file."""
    table = np.zeros((bins.size, WEIGHT_COLUMNS))
    if bins.floats is not None:
        table[:, 0] = bins.count
        table[:, 1:-1] = bins.floats
        table[0, -1] = not bins.whole
    return torch.from_numpy(table)


def with_weights(bins: Bins, weighted: Floats) -> Bins:
    """Unweighted and weighted rows together; parts without weighted rows stay whole numbers."""
    count = weighted[:, 0].astype(np.int64)
    if not count.any():
        return bins
    floats = weighted[:, 1:-1].copy()
    if not bins.moments:
        floats[:, 4] = 0
    is_whole = not weighted[:, -1].any()
    weighted_bins = Bins(bins.edges, None, floats, count, moments=bins.moments, whole=is_whole)
    if bins.count.any():
        return bins + weighted_bins
    return weighted_bins


def refuse_light(weighted: torch.Tensor, n: int = 0) -> None:
    """Raise if the weights of `n` rows are all 0, or so small that their squares vanish."""
    total = float(weighted[..., 1].sum())
    if n and total == 0:
        raise InputError("sample_weight", "must have a weight above zero", f"all {n:,} are zero")
    if 0 < total < 1 / LARGEST:
        remedy = "Multiply all weights by a constant: calibration errors do not change."
        raise InputError(
            "sample_weight",
            f"must add up to at least {1 / LARGEST:g}",
            f"got {total:g}",
            remedy=remedy,
        )
