"""Sums of weighted rows: floats that agree with the library's to 12 digits in any order of addition."""

import numpy as np
import torch

from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.torch._edges import Ruler
from trueness.typing import Floats

COLUMNS = 8
"""Rows of positive weight, Σw, Σw², Σwy, Σwp, Σwp², Σwyp, rows of fractional weight."""
LARGEST = 1e100
"""Squares of weights must not overflow; the library has the same limit."""

_PLAIN_SUM = 4_096  # a plain sum of this many positive terms has a relative error below 4.6e-13
_CELLS = 1 << 21


def float_home(device: torch.device) -> torch.device:
    """Where float64 sums are kept: with the rows, except on Apple GPUs, which have no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def no_weights(parts: int, size: int, device: torch.device) -> torch.Tensor:
    """Sums of no weighted rows, of shape (parts, B, 8)."""
    return torch.zeros((parts, size, COLUMNS), dtype=torch.float64, device=float_home(device))


def add_weighted(sums: torch.Tensor, cell: torch.Tensor, y: torch.Tensor, p: torch.Tensor, w: torch.Tensor) -> None:
    """Add rows to the cells numbered by `cell`; the first dimension is rows, and weight 0 adds nothing.

    Rows are distributed over lanes to keep each sum short, which bounds the error and reduces collisions.
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
    """Add to ``total[0]``, and the rounding error to ``total[1]``."""
    before = total[0].clone()
    after = before + more
    part = after - before
    total[1] += (before - (after - part)) + (more - part)
    total[0] = after


def weighted_sums(bins: Bins) -> torch.Tensor:
    """The library's sums of weighted rows, in the columns of this file."""
    table = np.zeros((bins.size, COLUMNS))
    if bins.floats is not None:
        table[:, 0], table[:, 1:-1] = bins.count, bins.floats
        table[0, -1] = not bins.whole
    return torch.from_numpy(table)


def with_weights(bins: Bins, weighted: Floats, ruler: Ruler) -> Bins:
    """Unweighted and weighted rows together; parts without weighted rows stay whole numbers."""
    count = weighted[:, 0].astype(np.int64)
    if not count.any():
        return bins
    floats = weighted[:, 1:-1].copy()
    if not bins.moments:
        floats[:, 4] = 0
    own = Bins(ruler.edges, None, floats, count, moments=bins.moments, whole=not weighted[:, -1].any())
    return bins + own if bins.count.any() else own


def refuse_light(weighted: torch.Tensor, n: int = 0) -> None:
    """Raise if the weights of `n` rows are all 0, or so small that their squares vanish."""
    total = float(weighted[..., 1].sum())
    if n and total == 0:
        raise InputError("sample_weight", "must have a weight above zero", f"all {n:,} are zero")
    if 0 < total < 1 / LARGEST:
        raise InputError(
            "sample_weight",
            f"must add up to at least {1 / LARGEST:g}",
            f"got {total:g}",
            remedy="Multiply all weights by a constant: calibration errors do not change.",
        )
