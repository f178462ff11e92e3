r"""Binned sums of scores in torch's own operations: for devices that have no kernel of ours.

A float32 score is split by its bits: with mantissa :math:`m` and exponent :math:`e` it is :math:`m\,2^{e-150}`, so
:math:`\lfloor 2^{53} p \rfloor` is a shift of :math:`m`. That needs no float64, which some devices do not have.
"""

from typing import NamedTuple

import torch

from trueness.torch._edges import Ruler

__all__ = ["BAD_LABEL", "BAD_SCORE", "BAD_SUM", "COLUMNS", "FAULTS", "OUTSIDE", "Sums", "no_sums", "pour", "score_sums"]

COLUMNS = 5
BAD_SCORE, BAD_LABEL, OUTSIDE, BAD_SUM = range(4)
FAULTS = 4
_ROWS = 1 << 22  # a few dozen bytes of temporaries for each
_LOW = (1 << 27) - 1


class Sums(NamedTuple):
    """Sums on the device where the rows are, in one piece: it is added, moved and brought back by one operation."""

    flat: torch.Tensor
    """int64: the table, then the faults."""
    size: int
    """Number of bins."""

    @property
    def table(self) -> torch.Tensor:
        """(parts, B, 2, 5): Σ1, Σhi, Σlo, Σhi², Σlo² of each bin and label, as the library keeps them."""
        return self.flat[:-FAULTS].view(-1, self.size, 2, COLUMNS)

    @property
    def faults(self) -> torch.Tensor:
        """(4,): rows left out for a bad score, a bad label, a score outside the edges, or a sum that is not 1."""
        return self.flat[-FAULTS:]


def no_sums(parts: int, size: int, device: torch.device) -> Sums:
    """Of no rows."""
    return Sums(torch.zeros(parts * size * 2 * COLUMNS + FAULTS, dtype=torch.int64, device=device), size)


def score_sums(y: torch.Tensor, p: torch.Tensor, ruler: Ruler, moments: bool) -> Sums:
    """Binned sums of a vector of scores; rows that cannot be summed are counted instead."""
    sums = no_sums(1, ruler.size, p.device)
    for i in range(0, p.shape[0], _ROWS):
        _add(sums, y[i : i + _ROWS], p[i : i + _ROWS], ruler, moments)
    return sums


def _add(sums: Sums, y: torch.Tensor, p: torch.Tensor, ruler: Ruler, moments: bool) -> None:
    p = p if p.dtype == torch.float64 else p.float()
    limits = ruler.limits(p.dtype, p.device)
    valid = (p >= 0) & (p <= 1)
    label = y.to(torch.int64)
    fair = (label >= 0) & (label <= 1)
    inside = (p >= limits[0]) & (p <= limits[-1])
    for fault, rows in ((BAD_SCORE, ~valid), (BAD_LABEL, valid & ~fair), (OUTSIDE, valid & fair & ~inside)):
        sums.faults[fault] += rows.sum()
    pour(sums.table, 0, label, p, valid & fair & inside, ruler, moments)


def pour(
    table: torch.Tensor,
    part: torch.Tensor | int,
    label: torch.Tensor,
    p: torch.Tensor,
    good: torch.Tensor,
    ruler: Ruler,
    moments: bool,
) -> None:
    """Add scores to ``table[part, bin, label]`` where `good` says so."""
    # A row that is left out adds zeros to the first cell: to select rows would wait for the device.
    p = torch.where(good, p, 0.0) + 0.0  # -0.0 becomes 0.0
    place = torch.bucketize(p, ruler.limits(p.dtype, p.device)[1:-1], right=True)
    cell = torch.where(good, (part * ruler.size + place) * 2 + label, 0).flatten()
    whole = [_whole(p)] + ([_whole_square(p)] if moments else [])
    columns = [good.to(torch.int64)] + [piece for q in whole for piece in (q >> 27, q & _LOW)]
    flat = table.view(-1, COLUMNS)
    for j, column in enumerate(columns):
        flat[:, j].index_add_(0, cell, column.flatten())


def _bits(p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    bits = p.view(torch.int32).to(torch.int64)
    exponent = bits >> 23
    mantissa = (bits & 0x7FFFFF) | ((exponent > 0).to(torch.int64) << 23)
    return mantissa, exponent.clamp(min=1)


def _shifted(value: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """value·2^by, rounded down."""
    return (value << by.clamp(min=0)) >> (-by).clamp(0, 63)


def _whole(p: torch.Tensor) -> torch.Tensor:
    """⌊2⁵³ p⌋."""
    if p.dtype == torch.float64:
        return (p * 2.0**53).to(torch.int64)
    mantissa, exponent = _bits(p)
    return _shifted(mantissa, exponent - 97)


def _whole_square(p: torch.Tensor) -> torch.Tensor:
    """⌊2⁵³ p²⌋, of the product as float64 has it; that of two float32 numbers is exact."""
    if p.dtype == torch.float64:
        return _whole(p * p)
    mantissa, exponent = _bits(p)
    return _shifted(mantissa * mantissa, 2 * exponent - 247)
