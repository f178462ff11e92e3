"""Sums of weighted rows: floats, which agree with the library's to 12 digits whatever the device adds first."""

import numpy as np
import torch

from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.torch._edges import Ruler
from trueness.typing import Floats

__all__ = [
    "COLUMNS",
    "LARGEST",
    "add_compensated",
    "add_weighted",
    "float_home",
    "no_weights",
    "of_bins",
    "refuse_light",
    "with_weights",
]

COLUMNS = 8
"""Rows of positive weight, Σw, Σw², Σwy, Σwp, Σwp², Σwyp, rows whose weight is no whole number."""
LARGEST = 1e100
"""Squares of weights must not overflow; the library has the same limit."""

_PLAIN_SUM = 4_096  # a plain sum of so many positive terms is off by less than 4.6e-13, relatively
_CELLS = 1 << 21


def float_home(device: torch.device) -> torch.device:
    """Where float64 sums are kept: with the rows, except on Apple's GPUs, which have no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def no_weights(parts: int, size: int, device: torch.device) -> torch.Tensor:
    """Sums of no weighted rows, of shape (parts, B, 8)."""
    return torch.zeros((parts, size, COLUMNS), dtype=torch.float64, device=float_home(device))


def add_weighted(sums: torch.Tensor, cell: torch.Tensor, y: torch.Tensor, p: torch.Tensor, w: torch.Tensor) -> None:
    """Add rows to the cells that `cell` numbers; a row of weight 0 adds nothing. The first dimension is that of rows.

    Rows are dealt out to as many lanes as keep each sum short: that bounds the error, and fewer rows meet in one cell.
    """
    table = sums.view(-1, COLUMNS)
    n, cells = cell.shape[0], table.shape[0]
    lanes = max(1, min(-(-n // _PLAIN_SUM), _CELLS // cells))
    lane = (torch.arange(n, device=cell.device) % lanes * cells).view(-1, *(1,) * (cell.ndim - 1))
    at = (lane + cell).flatten()
    y, p = y.to(torch.float64), p.to(torch.float64)
    weighted = w * p
    columns = ((w > 0).double(), w, w * w, w * y, weighted, weighted * p, weighted * y, (w != w.floor()).double())
    for j, column in enumerate(columns):
        piece = torch.zeros(lanes * cells, dtype=torch.float64, device=table.device)
        piece.index_add_(0, at, column.expand_as(cell).flatten())
        table[:, j] += piece.view(lanes, cells).sum(dim=0)


def add_compensated(total: torch.Tensor, more: torch.Tensor) -> None:
    """Add to ``total[0]``, and what rounding lost to ``total[1]``."""
    before = total[0].clone()
    after = before + more
    part = after - before
    total[1] += (before - (after - part)) + (more - part)
    total[0] = after


def of_bins(bins: Bins) -> torch.Tensor:
    """The library's sums of weighted rows, in the columns of this file."""
    found = np.zeros((bins.size, COLUMNS))
    if bins.floats is not None:
        found[:, 0], found[:, 1:-1] = bins.count, bins.floats
        found[0, -1] = not bins.whole
    return torch.from_numpy(found)


def with_weights(bins: Bins, weighted: Floats, ruler: Ruler) -> Bins:
    """Unweighted rows and weighted ones, together; parts without weighted rows stay whole numbers."""
    count = weighted[:, 0].astype(np.int64)
    if not count.any():
        return bins
    floats = weighted[:, 1:-1].copy()
    if not bins.moments:
        floats[:, 4] = 0
    found = Bins(ruler.edges, None, floats, count, moments=bins.moments, whole=not weighted[:, -1].any())
    return bins + found if bins.count.any() else found


def refuse_light(weighted: torch.Tensor, n: int = 0) -> None:
    """Raise if the weights of `n` rows are all 0, or so small that their squares vanish."""
    total = float(weighted[..., 1].sum())
    if n and total == 0:
        raise InputError("sample_weight", "must have a weight above 0", f"all {n:,} are 0")
    if 0 < total < 1 / LARGEST:
        raise InputError(
            "sample_weight",
            f"must add up to at least {1 / LARGEST:g}",
            f"got {total:g}",
            remedy="Multiply all weights by one number: calibration errors do not change.",
        )
