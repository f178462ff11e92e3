"""What a pass takes: rows of tensors, and what is summed of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from trueness._tally.rules import BinsLike, Edges, EqualWidth, as_rule
from trueness.errors import InputError
from trueness.typing import Floats

WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # torch compares these on the CPU only, if at all
_MOST_CLASSES = 2.0**31


class Ruler(NamedTuple):
    """The edges of fixed bins."""

    edges: Floats
    uniform: bool

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.edges.size - 1

    @property
    def rule(self) -> EqualWidth | Edges:
        """The bin rule of these edges."""
        return EqualWidth(self.size) if self.uniform else Edges(self.edges)

    def limits(self, device: torch.device) -> torch.Tensor:
        """The edges on a device."""
        return _limits(self.edges.tobytes(), str(device))

    def covers(self, p: torch.Tensor) -> torch.Tensor:
        """Whether float64 scores lie between the outer edges."""
        limits = self.limits(p.device)
        return (p >= limits[0]) & (p <= limits[-1])


def ruler_of(bins: BinsLike) -> Ruler:
    """The edges of `bins`; rules whose edges depend on the rows are refused."""
    rule = as_rule(bins)
    edges = rule.fixed_edges
    if edges is None:
        demand = "must have fixed edges to be summed in one pass: a number, edges, EqualWidth or Edges"
        raise InputError("bins", demand, f"got {rule!r}")
    return Ruler(edges, isinstance(rule, EqualWidth))


@lru_cache(maxsize=64)
def _limits(edges: bytes, device: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(edges).copy()).to(device)


class Layout(NamedTuple):
    """What is summed."""

    ruler: Ruler
    kind: str = "classwise"
    """How a matrix is compared with the labels."""
    moments: bool = True
    """Whether squares are summed too."""

    def parts(self, p: torch.Tensor) -> int:
        """How many tables of bins the scores have."""
        return 1 if p.ndim == 1 or self.kind == "confidence" else p.shape[1]


class TensorRows(NamedTuple):
    """Labels and scores as plain tensors, on one device."""

    y: torch.Tensor
    p: torch.Tensor
    w: torch.Tensor | None = None
    """Weights, if there are any."""
    ignored: int | None = None
    """The label of rows that are left out."""
    logits: bool = False
    """Whether the scores are logits."""
    tolerance: float | None = None
    """How far from one the scores of a row may sum; None for the default of their type."""

    @property
    def codes(self) -> torch.Tensor:
        """The labels as bool or integers; -1 for fractions, since selecting rows would wait for the device."""
        if self.y.dtype in WIDE_UNSIGNED:
            return self.y.to(torch.int64)  # 2⁶³ and above turn negative and stay invalid
        if not self.y.dtype.is_floating_point:
            return self.y
        y = self.y.float() if self.y.dtype != torch.float64 else self.y
        return torch.where((y == y.floor()) & (y.abs() < _MOST_CLASSES), y, -1.0).to(torch.int64)

    @property
    def skipped(self) -> int | None:
        """The ignored label, if codes of this type can be it: torch would compare with the wrapped value."""
        if self.ignored is None:
            return None
        codes = self.codes.dtype
        limits = torch.iinfo(torch.uint8 if codes == torch.bool else codes)
        return self.ignored if limits.min <= self.ignored <= limits.max else None

    @property
    def keep(self) -> torch.Tensor | None:
        """Which rows count; None for all of them."""
        skipped = self.skipped
        return None if skipped is None else torch.ne(as_bytes(self.codes), skipped)

    def on(self, device: str) -> TensorRows:
        """The same rows on a device."""
        return self._replace(y=self.y.to(device), p=self.p.to(device), w=None if self.w is None else self.w.to(device))

    def chunks(self, step: int) -> Iterator[TensorRows]:
        """At most `step` rows at a time, in order."""
        for i in range(0, self.p.shape[0], step):
            few = slice(i, i + step)
            yield self._replace(y=self.y[few], p=self.p[few], w=None if self.w is None else self.w[few])

    def select_kept(self) -> TensorRows:
        """The rows that count; waits for the device."""
        keep = self.keep
        if keep is None:
            return self
        w = None if self.w is None else self.w[keep]
        return self._replace(y=self.y[keep], p=self.p[keep], w=w, ignored=None)

    def mask_ignored(self, score: float) -> TensorRows:
        """Ignored rows replaced by valid ones, so that the others keep their row numbers in messages."""
        keep = self.keep
        if keep is None:
            return self
        valid: torch.Tensor | float = score
        if self.p.ndim == 2:
            valid, keep = torch.zeros_like(self.p[:1]), keep[:, None]
            valid[0, 0] = 1
        p = torch.where(keep, self.p, valid)
        keep = keep.flatten()
        w = None if self.w is None else torch.where(keep, self.w, 0)
        return self._replace(y=torch.where(keep, self.y, 0), p=p, w=w, ignored=None)


def images_of(y: Any, p: Any, w: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Labels, scores and weights of each image of dense scores (B, C, …), a row per pixel; others as they are.

    One channel, or a single column, is a vector. With weights all images come together, since one alone may weigh 0.
    """
    one = isinstance(p, torch.Tensor) and isinstance(y, torch.Tensor) and p.ndim > 1 and p.shape[1] == 1
    y = y[:, 0] if one and y.shape == p.shape else y
    if one and p.ndim == 2:
        p = p[:, 0]
    if not isinstance(p, torch.Tensor) or p.ndim < 3 or getattr(y, "shape", None) != p.shape[:1] + p.shape[2:]:
        yield y, p, w
        return
    images = p.flatten(2)
    if w is not None or p.shape[0] == 0:
        rows = images.flatten() if one else images.movedim(1, 2).flatten(0, 1)
        yield y.flatten(), rows, w.flatten() if getattr(w, "shape", None) == y.shape else w
        return
    for labels, image in zip(y, images, strict=True):
        yield labels.flatten(), image[0] if one else image.T.contiguous(), None


def as_bytes(codes: torch.Tensor) -> torch.Tensor:
    """Labels as integers, without a copy."""
    return codes.view(torch.uint8) if codes.dtype == torch.bool else codes
