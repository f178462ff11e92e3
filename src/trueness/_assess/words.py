"""An assessment as text: the answers of the first screen, one a line."""

from collections.abc import Iterator

import numpy as np

from trueness._assess.asked import Asked
from trueness._text.numbers import level_percent, percent, points
from trueness.errors import quietly
from trueness.results import BinTable, Coverage, Interval, Segments, Slices, Verdict

_MOST_NAMED = 3


def in_words(a: Asked) -> Iterator[str]:
    """Whether it is calibrated, how far off it is, where, and what to do."""
    verdict: Verdict = quietly(a.ask, "verdict")
    yield f"Calibrated? {verdict.sentence}"
    far = _how_far(quietly(a.possible, "interval"), rejected=verdict.rejected)
    if far:
        yield f"How far off? {far}"
    where = _where(a)
    if where:
        yield f"Where? {where}"
    yield f"What to do? {quietly(a.ask, 'advice')}"
    rows = a.rows.evidence.n if verdict.statement is None else verdict.statement.n_input
    yield f"{rows:,} rows, level {level_percent(a.level)}, seed {a.seed}."


def _how_far(interval: Interval | None, *, rejected: bool) -> str:
    if interval is None:
        return ""
    low, high = points(interval.low, interval.high)
    level = level_percent(interval.level)
    if not rejected:
        return f"At most {high} percentage points ({level} confidence)."
    if interval.estimate == 0:
        return f"Above zero, but too small to be estimated (at most {high} percentage points, {level} confidence)."
    (typical,) = points(interval.estimate)
    return f"Typically {typical} percentage points ({level} {low} to {high})."


def _where(a: Asked) -> str:
    slices: Slices | None = quietly(a.possible, "slices")
    if slices is not None and slices.flagged.any():
        first = int(np.argmax(slices.flagged))
        return f"Worst slice: {slices.rule[first]}, {slices.finding[first]}."
    segments: Segments | None = quietly(a.possible, "segments")
    if segments is not None and segments.flagged.any():
        names = [
            f"{column} = {value} ({finding})"
            for column, value, finding, flagged in zip(
                segments.column, segments.value, segments.finding, segments.flagged, strict=True
            )
            if flagged
        ]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"{', '.join(names[:_MOST_NAMED])}{more}."
    covered: Coverage | None = quietly(a.ask, "coverage")
    if covered is not None:
        return covered.farthest
    if a.view("confidence").view not in ("binary", "confidence"):
        return ""
    return _worst_bin(quietly(a.ask, "bins"))


def _worst_bin(table: BinTable) -> str:
    """The bin with the largest share of the error, among those whose limits exclude their mean score."""
    outside = (table.n > 0) & ((table.low > table.score) | (table.high < table.score))
    if not outside.any():
        return "No range of scores stands out."
    cost = np.where(outside, table.weight * np.abs(np.nan_to_num(table.gap)), -1.0)
    worst = int(np.argmax(cost))
    low = table.low_edge[worst]
    high = table.high_edge[worst]
    predicted = percent(float(table.score[worst]))
    observed = percent(float(table.rate[worst]))
    limits = f"{percent(float(table.low[worst]))} to {percent(float(table.high[worst]))}"
    return f"Scores from {low:.3g} to {high:.3g}: predicted {predicted}, observed {observed} ({limits})."
