r"""Binned sums of scores in torch operations, for devices without a Triton kernel.

A float32 score is split by its bits: with mantissa :math:`m` and exponent :math:`e` it is :math:`m\,2^{e-150}`, so
:math:`\lfloor 2^{53} p \rfloor` is a shift of :math:`m`. That needs no float64, which some devices do not have.
"""

from typing import NamedTuple

import torch

from trueness.torch._rows import Layout, TensorRows
from trueness.torch._weights import LARGEST, add_weighted, no_weights

COLUMNS = 5
BAD_SCORE, BAD_LABEL, OUTSIDE, BAD_SUM, BAD_WEIGHT = range(5)
FAULTS = 5
_ROWS = 1 << 22  # a few dozen bytes of temporaries for each
_LOW = (1 << 27) - 1


class Sums(NamedTuple):
    """Sums on the device where the rows are."""

    flat: torch.Tensor
    """int64: the table, then the faults, in one tensor, so that one operation adds or moves both."""
    size: int
    """Number of bins."""
    weighted: torch.Tensor | None = None
    """float64 of shape (parts, B, 8): sums of weighted rows, which are not in the table."""

    @property
    def table(self) -> torch.Tensor:
        """(parts, B, 2, 5): Σ1, Σhi, Σlo, Σhi², Σlo² of each bin and label, as the library keeps them."""
        return self.flat[:-FAULTS].view(-1, self.size, 2, COLUMNS)

    @property
    def faults(self) -> torch.Tensor:
        """(5,): rows left out for a bad score, bad label, score outside the edges, sum other than 1, bad weight."""
        return self.flat[-FAULTS:]


def no_sums(parts: int, size: int, device: torch.device, *, weighted: bool = False) -> Sums:
    """Sums of no rows."""
    flat = torch.zeros(parts * size * 2 * COLUMNS + FAULTS, dtype=torch.int64, device=device)
    return Sums(flat, size, no_weights(parts, size, device) if weighted else None)


def score_sums(rows: TensorRows, layout: Layout, part: torch.Tensor | None = None, parts: int = 1) -> Sums:
    """Binned sums of a vector of scores, whose rows may belong to several parts; bad rows are counted as faults."""
    sums = no_sums(parts, layout.ruler.size, rows.p.device, weighted=rows.w is not None)
    for number, few in enumerate(rows.chunks(_ROWS)):
        p = few.p if few.p.dtype == torch.float64 else few.p.float()
        limits = layout.ruler.limits(p.dtype, p.device)
        label = few.codes.to(torch.int64)
        tests = {
            BAD_SCORE: (p >= 0) & (p <= 1),
            BAD_LABEL: (label >= 0) & (label <= 1),
            OUTSIDE: (p >= limits[0]) & (p <= limits[-1]),
        }
        own = 0 if part is None else part[number * _ROWS :][:_ROWS]
        pour(sums, own, label, p, sift(sums, tests, few), layout, few.w)
    return sums


def sift(sums: Sums, tests: dict[int, torch.Tensor], rows: TensorRows) -> torch.Tensor:
    """Count the rows that fail a test, each under the first one it fails; returns which rows pass all."""
    if rows.w is not None:
        tests = {**tests, BAD_WEIGHT: (rows.w >= 0) & (rows.w <= LARGEST)}
    good = rows.keep
    for fault, passed in tests.items():
        sums.faults[fault] += (~passed if good is None else good & ~passed).sum()
        good = passed if good is None else good & passed
    assert good is not None
    return good


def pour(
    sums: Sums,
    part: torch.Tensor | int,
    label: torch.Tensor,
    p: torch.Tensor,
    good: torch.Tensor,
    layout: Layout,
    w: torch.Tensor | None,
) -> None:
    """Add the scores of good rows to the cells of their part, bin and label."""
    # A row that is left out adds zeros to the first cell; selecting rows would wait for the device.
    p = torch.where(good, p, 0.0) + 0.0  # -0.0 becomes 0.0
    place = torch.bucketize(p, layout.ruler.limits(p.dtype, p.device)[1:-1], right=True)
    place = torch.where(good, part * layout.ruler.size + place, 0)
    if w is not None and sums.weighted is not None:
        w = w.view(-1, *(1,) * (p.ndim - 1))
        add_weighted(sums.weighted, place, label, p, torch.where(good, w, 0.0))
        return
    cell = torch.where(good, place * 2 + label, 0).flatten()
    whole = [_whole(p)] + ([_whole_square(p)] if layout.moments else [])
    columns = [good.to(torch.int64)] + [piece for q in whole for piece in (q >> 27, q & _LOW)]
    flat = sums.table.view(-1, COLUMNS)
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
