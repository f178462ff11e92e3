"""Binned sums of rows of probabilities or logits in torch operations, in chunks."""

import torch

from trueness.torch._rows import Layout, TensorRows
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, BAD_SUM, OUTSIDE, Sums, no_sums, pour, sift

_ENTRIES = 1 << 22


def class_sums(rows: TensorRows, layout: Layout) -> Sums:
    """Binned sums of rows of probabilities, or of the softmax of rows of logits."""
    sums = no_sums(layout.parts(rows.p), layout.ruler.size, rows.p.device, weighted=rows.w is not None)
    by_class, n_classes = layout.kind == "classwise", rows.p.shape[1]
    for few in rows.chunks(max(1, _ENTRIES // n_classes)):
        score, place, tests = (_softmax if rows.logits else _probabilities)(few, by_class)
        label = few.codes.to(torch.int64)
        good = sift(sums, {**tests, BAD_LABEL: (label >= 0) & (label < n_classes)}, few)
        part: torch.Tensor | int = 0
        if by_class:
            part = torch.arange(n_classes, device=score.device)
            hit = label[:, None] == part
            good = good[:, None].expand_as(score)
        else:
            assert place is not None
            part = place if layout.kind == "top-label" else 0
            hit = place == label
        limits = layout.ruler.limits(score.dtype, score.device)
        inside = (score >= limits[0]) & (score <= limits[-1])
        sums.faults[OUTSIDE] += (good & ~inside).sum()
        pour(sums, part, hit.to(torch.int64), score, good & inside, layout, few.w)
    return sums


_Scores = tuple[torch.Tensor, torch.Tensor | None, dict[int, torch.Tensor]]


def _probabilities(rows: TensorRows, by_class: bool) -> _Scores:
    """All scores or the largest of each row with its class, and the tests that rows must pass."""
    p = rows.p if rows.p.dtype == torch.float64 else rows.p.float()
    usual = 2e-3 if rows.p.dtype == torch.float16 else 1e-6  # as in :func:`trueness.ece`
    tests = {
        BAD_SCORE: ((p >= 0) & (p <= 1)).all(dim=1),
        BAD_SUM: (p.sum(dim=1, dtype=_wide(p)) - 1).abs() <= (usual if rows.tolerance is None else rows.tolerance),
    }
    return (p, None, tests) if by_class else (*p.max(dim=1), tests)


def _softmax(rows: TensorRows, by_class: bool) -> _Scores:
    z = rows.p.to(_wide(rows.p))
    largest, place = z.max(dim=1)
    powers = torch.exp(z - largest[:, None])
    total = powers.sum(dim=1)
    # nan, +inf and rows of -inf alone make the sum nan.
    return powers.div_(total[:, None]) if by_class else 1 / total, place, {BAD_SCORE: ~total.isnan()}


def _wide(rows: torch.Tensor) -> torch.dtype:
    """Float64, except on Apple GPUs, which have none."""
    return torch.float32 if rows.device.type == "mps" else torch.float64
