"""What a test of calibration is asked, and what it answers."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule
from trueness.errors import InputError
from trueness.typing import Floats

__all__ = ["Ask", "Finding", "Test", "events_of", "squared_weights", "whole"]


class Ask(NamedTuple):
    """The options of a test, checked; None where nothing was asked for."""

    rule: BinRule | None
    resamples: int | None
    rng: np.random.Generator
    fitted: bool
    classes: int | None
    """Columns of a matrix of scores whose largest entry is tested; None for a vector."""


class Finding(NamedTuple):
    """The answer of a test."""

    statistic: float
    pvalue: float
    assumptions: str
    least: float = 0.0
    """The smallest p-value that the method could have given."""


Test: TypeAlias = Callable[[Cells, Ask], Finding]


def events_of(cells: Cells) -> Floats:
    """The events that were seen, as a batch of one row."""
    return cells.events.astype(np.float64)[np.newaxis, :]


def squared_weights(cells: Cells) -> Floats:
    """Σw² of each cell: what p(1 − p) is multiplied by in the null variance of Σwy.

    A whole-number weight of 2 is the row twice, so that the sum over its rows of 1² is the weight itself.
    """
    if cells.exact or cells.squares is None:
        return cells.weight.astype(np.float64)
    return cells.squares


def whole(cells: Cells, what: str) -> Cells:
    """Cells whose weights count rows."""
    if not cells.exact:
        raise InputError(
            "sample_weight",
            f"must be whole numbers that sum to less than 2³⁵ for {what}, which counts rows",
            remedy=(
                "Other weights are taken by `method='ks'`, 'kuiper', 'spiegelhalter', 'cox' and "
                "'hosmer-lemeshow' without `resamples`."
            ),
        )
    return cells
