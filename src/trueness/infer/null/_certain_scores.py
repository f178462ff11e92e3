"""Scores of exactly 0 and 1: labels they rule out, and rounding that may have produced them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._tally.cells import Cells
from trueness.typing import Floats

IF_ROUNDED = (
    "If scores were rounded, say to 0.01, pass `rounded_to=0.01`: those of 0 and 1 are then moved by up to half of it."
)


def contradictions(cells: Cells) -> int:
    """Rows whose label has probability zero under their score: events at score 0, non-events at score 1."""
    return sum(wrong for _, wrong, _ in _wrong_rows(cells))


def contradictions_in_words(cells: Cells) -> str:
    """How many rows of score 0 and 1 have the label that is impossible."""
    places = (
        f"{wrong:,} of {rows:,} rows with score exactly {score} {'has' if wrong == 1 else 'have'} label {1 - score}"
        for score, wrong, rows in _wrong_rows(cells)
        if wrong
    )
    return " and ".join(places)


def _wrong_rows(cells: Cells) -> list[tuple[int, int, int]]:
    """Score, wrong rows and rows, for scores of 0 and 1."""
    # Scores ascend.
    zero = slice(0, int(np.searchsorted(cells.score, 0.0, side="right")))
    one = slice(int(np.searchsorted(cells.score, 1.0, side="left")), cells.size)
    others = (cells.weight[one] - cells.events[one]).sum()
    return [
        (0, int(cells.events[zero].sum()), int(cells.weight[zero].sum())),
        (1, int(others), int(cells.weight[one].sum())),
    ]


def moved_inside(cells: Cells, unit: float) -> Cells:
    """The cells with scores of 0 and 1 moved: see :func:`moved_scores`."""
    score = moved_scores(cells.score, cells.weight, cells.events, unit)
    return Cells(score, cells.count, cells.weight, cells.events, cells.squares, cells.event_squares)


def moved_scores(score: Floats, rows: NDArray[Any], hits: NDArray[Any], unit: float) -> Floats:
    """Ascending scores, those of 0 and 1 moved to the share of their labels 1, by at most half a unit.

    A rounded score may be anything within half a unit; among many rows, its end would be refuted as well. Scores do
    not pass others that are nearer to 0 or 1.
    """
    zero, one = score == 0, score == 1
    inside = score[~(zero | one)]
    low, high = (inside[0], 1 - inside[-1]) if inside.size else (1.0, 1.0)
    low = min(unit / 2, low / 2, hits[zero].sum() / max(rows[zero].sum(), 1))
    high = min(unit / 2, high / 2, (rows - hits)[one].sum() / max(rows[one].sum(), 1))
    return np.where(zero, low, np.where(one, 1 - high, score))


def impossible_in_words(impossible: str, unit: float | None) -> str:
    """The sentences about labels that are impossible, or only so because scores were rounded to multiples of a unit."""
    if unit is None:
        return f"Labels are impossible under the scores: {impossible}. {IF_ROUNDED}"
    return (
        f"Labels are impossible under the scores as they stand (p = 0): {impossible}. But scores were rounded to "
        f"multiples of {unit:.4g}; with those of 0 and 1 moved by up to half of it, as their labels suggest, the "
        "p-value is the one reported."
    )
