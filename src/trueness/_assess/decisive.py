"""The one row on which a rejection rests, if its score is extreme and its label the other one."""

import numpy as np

from trueness._assess.asked import TEST, Asked
from trueness._assess.rows import ModelRows
from trueness._level import Level
from trueness.errors import quietly
from trueness.results import Verdict
from trueness.results._verdict import DecisiveRow

# Calibrated scores have a row as surprising as this in at most one of a thousand data sets.
_SURPRISING = 0.001


def decisive_row(a: Asked, verdict: Verdict) -> DecisiveRow | None:
    """The row without which calibration is not rejected, or the slope changes its sign.

    Only the row whose label was least probable is tried, and only if chance would hardly bring one
    like it among all rows. None if calibration is not rejected, for events and several classes, for
    sums, and for scores of exactly 0 or 1, of which the test says more.
    """
    evidence = a.view("confidence")
    if not verdict.rejected or not evidence.has_rows:
        return None
    if not evidence.is_binary or evidence.events is not None:
        return None
    rows = evidence.sample
    chance = np.where(rows.y == 1, rows.p, 1 - rows.p)
    place = int(np.argmin(chance))
    if chance[place] == 0 or chance[place] * rows.y.size > _SURPRISING:
        return None
    others = a.but(rows=ModelRows(evidence.at(np.arange(rows.y.size) != place)))
    test = quietly(others.possible, TEST)
    if test is None:
        return None
    slope = quietly(others.estimate, "slope", "confidence").value
    before = np.nan if verdict.slope is None else verdict.slope.value
    if test.pvalue <= Level(a.level).alpha and not slope * before < 0:
        return None
    return DecisiveRow(
        score=float(rows.p[place]),
        happened=bool(rows.y[place] == 1),
        pvalue=test.pvalue,
        slope=slope,
    )
