"""The table of calibrators that were tried on held-out rows."""

import math
from typing import Any

from trueness._report.columns import columns_of
from trueness._text import numbers
from trueness._text.numbers import confidence_set, count, level_percent, signed_with_limits
from trueness._text.strings import capitalized
from trueness._text.table import Cell, Table
from trueness.results import Interval
from trueness.results._page import Model
from trueness.results._remedies import Remedies, Remedy


def remedies_table(remedies: Remedies, model: Model, level: float, views: tuple[str, str]) -> Table:
    """The scores before and after each map, on held-out rows; the advised one is marked.

    `views` are the words for which scores the ECE and the Brier score are of.
    """
    confidence, all_classes = views
    columns = columns_of(
        "name note ece l2 set brier gain chance log_loss",
        ece=f"ECE{confidence}",
        set=f"{level_percent(level)} interval",
        brier=f"Brier score{all_classes}",
        gain=f"Gain, {level_percent(level)} interval",
    )
    word = "optional" if model.advice.kind == "optional" else "recommended"
    rows = []
    for remedy in (remedies.before, *remedies.after):
        row = _remedy_row(remedy)
        if remedy is model.advised:
            row["note"] = Cell(word, None, "good")
        rows.append(row)
    dealt = ", dealt twice" if remedies.deals > 1 else ""
    note = (
        f"{count(remedies.n, 'row')}, {remedies.folds} folds{dealt}: each row is scored by a "
        "calibrator fitted without it. Gain: reduction of the Brier score, compared row by row. "
        "Chance: how often the map would have the lower Brier score in a new sample of as many "
        "rows."
    )
    return Table(columns, rows, [note], "remedies", "Before and after, on held-out data")


def _remedy_row(remedy: Remedy) -> dict[str, Any]:
    """The cells of one map; empty where it has no gain or no chance."""
    gain = ""
    if not math.isnan(remedy.gain):
        _, low, high = signed_with_limits(remedy.gain, remedy.gain_low, remedy.gain_high, 5)
        gain = f"{low} to {high}"
    if math.isnan(remedy.chance):
        chance = ""
    elif remedy.chance > 0.99:
        chance = "> 99 %"
    elif remedy.chance < 0.01:
        chance = "< 1 %"
    else:
        chance = numbers.percent(remedy.chance, 0)
    return vars(remedy) | {
        "name": capitalized(remedy.name),
        "note": "",
        "l2": points_cell(remedy.ece_interval),
        "set": Cell(math.nan, set_in_words(remedy.ece_interval)),
        "gain": Cell(remedy.gain, gain),
        "chance": Cell(remedy.chance, chance),
    }


def points_cell(interval: Interval | None) -> Cell | None:
    if interval is None:
        return None
    return Cell(interval.estimate, one_in_points(interval.estimate))


def set_in_words(interval: Interval | None) -> str:
    """A confidence set in percentage points: "0 to 3.4", and "above 0 to 3.4" without zero."""
    if interval is None or not interval.is_interval or interval.high == 0:
        return confidence_set(interval, one_in_points)
    low, high = numbers.points(interval.low, interval.high)
    if interval.low == 0:
        low = "0" if interval.low_closed else "above 0"
    return f"{low} to {high}"


def one_in_points(error: float) -> str:
    return numbers.points(error)[0]
