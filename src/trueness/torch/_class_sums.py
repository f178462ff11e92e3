"""Binned sums of rows of probabilities or logits in torch operations, in chunks."""

from collections.abc import Iterator

import torch

from trueness.torch._edges import Ruler
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, BAD_SUM, OUTSIDE, Sums, no_sums, pour, sift

_ENTRIES = 1 << 22


def sum_tolerance(dtype: torch.dtype) -> float:
    """How far from one a row of probabilities may sum, as in :func:`trueness.ece`."""
    return 2e-3 if dtype == torch.float16 else 1e-6


def class_sums(
    y: torch.Tensor,
    p: torch.Tensor,
    ruler: Ruler,
    kind: str,
    moments: bool,
    *,
    w: torch.Tensor | None = None,
    keep: torch.Tensor | None = None,
    tolerance: float | None = None,
) -> Sums:
    """Binned sums of rows of probabilities, viewed as `kind`."""
    sums = _zero(p, ruler, kind, w)
    tolerance = sum_tolerance(p.dtype) if tolerance is None else tolerance
    for label, rows, weight, kept in _chunks(y, p, w, keep):
        rows = rows if rows.dtype == torch.float64 else rows.float()
        tests = {
            BAD_SCORE: ((rows >= 0) & (rows <= 1)).all(dim=1),
            BAD_SUM: (rows.sum(dim=1, dtype=_wide(rows)) - 1).abs() <= tolerance,
            BAD_LABEL: (label >= 0) & (label < rows.shape[1]),
        }
        good = sift(sums, tests, kept, weight)
        score, place = rows.max(dim=1) if kind != "classwise" else (rows, None)
        _pour_rows(sums, label, score, place, good, ruler, kind, moments, weight)
    return sums


def logit_sums(
    y: torch.Tensor,
    logits: torch.Tensor,
    ruler: Ruler,
    kind: str,
    moments: bool,
    *,
    w: torch.Tensor | None = None,
    keep: torch.Tensor | None = None,
) -> Sums:
    """Binned sums of the softmax of rows of logits, viewed as `kind`."""
    sums = _zero(logits, ruler, kind, w)
    for label, rows, weight, kept in _chunks(y, logits, w, keep):
        rows = rows.to(_wide(rows))
        largest, place = rows.max(dim=1)
        powers = torch.exp(rows - largest[:, None])
        total = powers.sum(dim=1)
        # nan, +inf and rows of -inf alone make the sum nan.
        tests = {BAD_SCORE: ~total.isnan(), BAD_LABEL: (label >= 0) & (label < rows.shape[1])}
        good = sift(sums, tests, kept, weight)
        score = 1 / total if kind != "classwise" else powers.div_(total[:, None])
        _pour_rows(sums, label, score, place, good, ruler, kind, moments, weight)
    return sums


def _pour_rows(
    sums: Sums,
    label: torch.Tensor,
    score: torch.Tensor,
    place: torch.Tensor | None,
    good: torch.Tensor,
    ruler: Ruler,
    kind: str,
    moments: bool,
    w: torch.Tensor | None,
) -> None:
    """Add one score per row with its class, or all entries of a matrix."""
    if kind == "classwise":
        part: torch.Tensor | int = torch.arange(score.shape[1], device=score.device)
        hit = (label[:, None] == part).to(torch.int64)
        good = good[:, None].expand_as(score)
    else:
        assert place is not None
        part = place if kind == "top-label" else 0
        hit = (place == label).to(torch.int64)
    limits = ruler.limits(score.dtype, score.device)
    inside = (score >= limits[0]) & (score <= limits[-1])
    sums.faults[OUTSIDE] += (good & ~inside).sum()
    pour(sums, part, hit, score, good & inside, ruler, moments, w)


def _zero(rows: torch.Tensor, ruler: Ruler, kind: str, w: torch.Tensor | None) -> Sums:
    parts = 1 if kind == "confidence" else rows.shape[1]
    return no_sums(parts, ruler.size, rows.device, weighted=w is not None)


_Few = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]


def _chunks(y: torch.Tensor, rows: torch.Tensor, *others: torch.Tensor | None) -> Iterator[_Few]:
    step = max(1, _ENTRIES // rows.shape[1])
    for i in range(0, rows.shape[0], step):
        w, keep = (None if column is None else column[i : i + step] for column in others)
        yield y[i : i + step].to(torch.int64), rows[i : i + step], w, keep


def _wide(rows: torch.Tensor) -> torch.dtype:
    """Float64, except on Apple GPUs, which have none."""
    return torch.float32 if rows.device.type == "mps" else torch.float64
