"""Scores of exactly 0 and 1: labels they rule out, and rounding that may have produced them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._tally.cells import Cells
from trueness.typing import Floats

_DECIMAL = (10, 20, 100, 200, 1000, 2000, 10_000)
_MOST_PARTS = 1000
# Relative precision of a score that was stored as a 32-bit float.
_SINGLE = 1.2e-7
# Spacing of 32-bit floats below 1.
_SPACING = float(np.finfo(np.float32).epsneg)
# Fewer distinct scores between 0 and 1 show no grid, and this many are tried on every grid.
_FEWEST, _SAMPLE = 3, 64


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


def grid_unit(score: Floats) -> float | None:
    """The unit of the grid on which all scores lie, or None.

    A unit is 0.1, 0.05, 0.01, …, 0.0001; or 1/m with m up to 1,000, as for the votes of a forest; or the spacing of
    32-bit floats below 1. At least three distinct scores between 0 and 1 must show it.
    """
    inside = score[(score > 0) & (score < 1)]
    if inside.size < _FEWEST:
        return None
    few = inside[:: -(-inside.size // _SAMPLE)]
    for parts in (*_DECIMAL, *range(2, _MOST_PARTS + 1)):
        if _on_grid(few, parts) and _on_grid(inside, parts):
            return float(1 / parts)
    single = bool((inside == inside.astype(np.float32)).all())
    return _SPACING if single else None


def _on_grid(score: Floats, parts: int) -> bool:
    scaled = score * parts
    nearest = np.rint(scaled)
    return bool(((np.abs(scaled - nearest) <= _SINGLE * parts) & (nearest > 0) & (nearest < parts)).all())


def moved_inside(cells: Cells, distance: float) -> Cells:
    """The cells with scores of 0 and 1 moved: see :func:`moved_scores`."""
    score = moved_scores(cells.score, cells.weight, cells.events, distance)
    return Cells(score, cells.count, cells.weight, cells.events, cells.squares, cells.event_squares)


def moved_scores(score: Floats, rows: NDArray[Any], hits: NDArray[Any], distance: float) -> Floats:
    """Ascending scores, those of 0 and 1 moved to the share of their labels 1, by at most `distance`.

    A rounded score may be anything within the distance; among many rows, its end would be refuted as well. Scores do
    not pass others that are nearer to 0 or 1.
    """
    inside, zero, one = score[(score > 0) & (score < 1)], score == 0, score == 1
    low = min(distance, inside[0] / 2, hits[zero].sum() / max(rows[zero].sum(), 1))
    high = min(distance, (1 - inside[-1]) / 2, (rows - hits)[one].sum() / max(rows[one].sum(), 1))
    return np.where(zero, low, np.where(one, 1 - high, score))


def impossible_but_rounded(impossible: str, unit: float) -> str:
    """The sentence about labels that are impossible only because scores were rounded."""
    grid = "32-bit floats" if unit < 1e-6 else f"multiples of {_as_fraction(unit)}"
    return (
        f"Labels are impossible under the scores as they stand (p = 0): {impossible}. But all scores are {grid}, so "
        "rounding may have made them 0 and 1; with these moved by up to half a unit, as their labels suggest, the "
        "p-value is the one reported."
    )


def _as_fraction(unit: float) -> str:
    return f"{unit:g}" if round(unit, 4) == unit else f"1/{round(1 / unit)}"
