"""Edges of fixed bins, in the precision of the scores."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from trueness._tally.rules import BinsLike, Edges, EqualWidth, as_rule
from trueness.errors import InputError
from trueness.typing import Floats


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

    def limits(self, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """The smallest score of each bin, and the largest of all, in the scores' own precision.

        A float32 score is at or above a float64 edge if and only if it is at or above the smallest float32 number that
        is, so no score has to be widened.
        """
        return _limits(self.edges.tobytes(), dtype == torch.float64, str(device))


def ruler_of(bins: BinsLike) -> Ruler:
    """The edges of `bins`; rules whose edges depend on the rows are refused."""
    rule = as_rule(bins)
    edges = rule.fixed_edges
    if edges is None:
        raise InputError(
            "bins",
            "must have fixed edges to be summed in one pass: a number, edges, EqualWidth or Edges",
            f"got {rule!r}",
        )
    return Ruler(edges, isinstance(rule, EqualWidth))


@lru_cache(maxsize=64)
def _limits(edges: bytes, wide: bool, device: str) -> torch.Tensor:
    exact = np.frombuffer(edges, dtype=np.float64)
    limits: NDArray[np.floating] = exact.copy() if wide else _not_below(exact)
    if not wide and limits[-1] > exact[-1]:  # the last edge bounds from above
        limits[-1] = np.nextafter(limits[-1], np.float32(0))
    return torch.from_numpy(limits).to(device)


def _not_below(exact: Floats) -> NDArray[np.float32]:
    """The smallest float32 numbers that are not below `exact`."""
    near = exact.astype(np.float32)
    return np.where(near.astype(np.float64) < exact, np.nextafter(near, np.float32(2)), near)
