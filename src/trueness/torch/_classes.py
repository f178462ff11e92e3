"""Binned sums of rows of classes in torch's own operations, a few rows at a time."""

from collections.abc import Iterator

import torch

from trueness.torch._edges import Ruler
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, BAD_SUM, OUTSIDE, Sums, no_sums, pour

__all__ = ["class_sums", "logit_sums", "sum_tolerance"]

_ENTRIES = 1 << 22


def sum_tolerance(dtype: torch.dtype) -> float:
    """How far from one a row of probabilities may sum: as in :func:`trueness.ece`, of which bfloat16 knows nothing."""
    return 2e-3 if dtype == torch.float16 else 1e-6


def class_sums(y: torch.Tensor, p: torch.Tensor, ruler: Ruler, kind: str, moments: bool) -> Sums:
    """Binned sums of rows of probabilities."""
    sums = _zero(p, ruler, kind)
    tolerance = sum_tolerance(p.dtype)
    for label, rows in _chunks(y, p):
        rows = rows if rows.dtype == torch.float64 else rows.float()
        valid = ((rows >= 0) & (rows <= 1)).all(dim=1)
        whole = (rows.sum(dim=1, dtype=_wide(rows)) - 1).abs() <= tolerance
        fair = (label >= 0) & (label < rows.shape[1])
        for fault, bad in ((BAD_SCORE, ~valid), (BAD_SUM, valid & ~whole), (BAD_LABEL, valid & whole & ~fair)):
            sums.faults[fault] += bad.sum()
        top = rows.max(dim=1) if kind == "confidence" else None
        _pour_rows(sums, label, rows, top, valid & whole & fair, ruler, moments)
    return sums


def logit_sums(y: torch.Tensor, logits: torch.Tensor, ruler: Ruler, kind: str, moments: bool) -> Sums:
    """Binned sums of the softmax of rows of logits."""
    sums = _zero(logits, ruler, kind)
    for label, rows in _chunks(y, logits):
        rows = rows.to(_wide(rows))
        top = rows.max(dim=1)
        powers = torch.exp(rows - top.values[:, None])
        total = powers.sum(dim=1)
        # nan and +inf make the sum nan; a row of -inf alone does so too.
        valid = ~total.isnan()
        fair = (label >= 0) & (label < rows.shape[1])
        sums.faults[BAD_SCORE] += (~valid).sum()
        sums.faults[BAD_LABEL] += (valid & ~fair).sum()
        confidence = torch.return_types.max((1 / total, top.indices))
        powers /= total[:, None]
        _pour_rows(sums, label, powers, confidence if kind == "confidence" else None, valid & fair, ruler, moments)
    return sums


def _pour_rows(
    sums: Sums,
    label: torch.Tensor,
    rows: torch.Tensor,
    top: torch.return_types.max | None,
    good: torch.Tensor,
    ruler: Ruler,
    moments: bool,
) -> None:
    if top is not None:
        score, hit = top.values, (top.indices == label).to(torch.int64)
        part: torch.Tensor | int = 0
    else:
        part = torch.arange(rows.shape[1], device=rows.device)
        score, hit = rows, (label[:, None] == part).to(torch.int64)
        good = good[:, None].expand_as(rows)
    limits = ruler.limits(score.dtype, score.device)
    inside = (score >= limits[0]) & (score <= limits[-1])
    sums.faults[OUTSIDE] += (good & ~inside).sum()
    pour(sums.table, part, hit, score, good & inside, ruler, moments)


def _zero(rows: torch.Tensor, ruler: Ruler, kind: str) -> Sums:
    return no_sums(1 if kind == "confidence" else rows.shape[1], ruler.size, rows.device)


def _chunks(y: torch.Tensor, rows: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    step = max(1, _ENTRIES // rows.shape[1])
    for i in range(0, rows.shape[0], step):
        yield y[i : i + step].to(torch.int64), rows[i : i + step]


def _wide(rows: torch.Tensor) -> torch.dtype:
    """Float64, except on Apple's GPUs, which have none."""
    return torch.float32 if rows.device.type == "mps" else torch.float64
