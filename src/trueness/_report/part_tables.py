"""Tables of parts of the rows: bins, blocks, segments, slices, classes, and the largest scores."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trueness._level import Level
from trueness._report.columns import columns_of
from trueness._report.measure_tables import bracketed
from trueness._report.remedies_table import points_cell, set_in_words
from trueness._text import numbers
from trueness._text.numbers import (
    bin_name,
    count,
    level_percent,
    percent,
    ratio,
    signed_with_limits,
    small_share,
    span,
)
from trueness._text.table import Cell, Table
from trueness.results._coverage import Coverage
from trueness.results._first_screen import Picture
from trueness.results._page import Blocks, Model, Segments
from trueness.results._segments import ClassRow, Slices

_LEAST_LIMIT = 1e-6


def bins_table(model: Model) -> Table:
    """The table of the bins that have rows, those outside the band flagged."""
    picture = model.picture
    b = picture.bins
    level = level_percent(b.level)
    ratio_low, ratio_high = picture.ratio_limits
    columns = columns_of(
        "bin flag n score rate interval gap ratio share",
        interval=f"{level} interval",
        share="Share of ECE",
    )
    lines = []
    for i in np.flatnonzero(b.n > 0):
        name = bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)
        flag = None
        if b.band:
            flag = _flag(bool(b.outside[i]), "too high" if b.gap[i] < 0 else "too low")
        low = picture.interval_low[i]
        lines.append(
            (
                Cell(b.low_edge[i], name),
                flag,
                b.n[i],
                b.score[i],
                b.rate[i],
                Cell(low, span(_or_zero(low), picture.interval_high[i])),
                _gap_of_bin(picture, int(i)),
                _ratio_of_bin(float(b.ratio[i]), ratio_low[i], ratio_high[i]),
                _share(float(picture.shares[i])),
            )
        )
    sentences = [
        "Gap: rate − mean score. Obs./exp.: rate / mean score, with the limits of the rate."
    ]
    if b.band:
        sentences.insert(
            0,
            "Flagged: the rate lies outside the band that would contain the rates of all bins "
            f"{level} of the time if the scores were calibrated.",
        )
    n_empty = int((b.n == 0).sum())
    if n_empty:
        verb = "is" if n_empty == 1 else "are"
        sentences.append(f"{count(n_empty, 'bin')} without rows {verb} omitted.")
    return Table.from_lines(
        columns,
        lines,
        notes=[" ".join(sentences)],
        name="bins",
        caption=f"Bins: {picture.words}",
    )


def coverage_table(covered: Coverage) -> Table:
    """The stated coverage of intervals, or levels of quantiles, beside the observed shares."""
    columns = columns_of(
        "stated rate interval gap",
        rate="Observed",
        interval=f"{level_percent(covered.level)} interval",
    )
    lines = []
    for stated, value, low, high in zip(
        covered.stated, covered.value, covered.low, covered.high, strict=True
    ):
        gap, *_ = signed_with_limits(value - stated, low - stated, high - stated)
        lines.append(
            (
                Cell(stated, percent(stated)),
                Cell(value, percent(value)),
                Cell(low, span(low, high, percent)),
                Cell(value - stated, gap),
            )
        )
    note = f"Gap: observed − stated. Limits: {covered.method}."
    return Table.from_lines(columns, lines, notes=[note], name="coverage", caption=covered.words)


def _or_zero(limit: float) -> float:
    """A limit, or 0 where its digits would only show how an exact limit is computed."""
    return 0.0 if abs(limit) < _LEAST_LIMIT else limit


def _ratio_of_bin(value: float, low: float, high: float) -> Cell:
    """Observed/expected with its limits; of events that had no chance at all, without."""
    if math.isinf(value):
        return Cell(value, ratio(value))
    return bracketed(value, _or_zero(low), _or_zero(high), ratio)


def _gap_of_bin(picture: Picture, i: int) -> Cell:
    """The gap of a bin, with the digits that the limits of its rate justify."""
    bins = picture.bins
    score = float(bins.score[i])
    ends = picture.interval_low[i] - score, picture.interval_high[i] - score
    return Cell(bins.gap[i], signed_with_limits(float(bins.gap[i]), *ends)[0])


def _share(value: float) -> Cell:
    return Cell(value, small_share(value))


_MOST_SEGMENTS = 40
_SEGMENT_TERMS = (
    "P against all rows: whether the segment differs from all rows at equal scores, their common "
    "shift and slope undone. Shrunk gap: small segments are pulled towards the gap of all rows; "
    "its brackets hold at {level} for one segment alone, those of obs./exp. for all together. "
    "Cost: share of the rows × shrunk gap², in percent of the Brier score: what a correct mean in "
    "this segment would save."
)


def _flag(flagged: bool, word: str) -> Cell:
    return Cell(word, None, "flag") if flagged else Cell("")


def blocks_table(blocks: Blocks) -> Table:
    """The table of isotonic blocks: scores, rate, and whether calibration is rejected there."""
    lines = []
    for i, n in enumerate(blocks.n):
        low = blocks.low_edge[i]
        name = bin_name(low, blocks.high_edge[i], last=i == len(blocks.n) - 1)
        lowest = blocks.score_min[i]
        lines.append(
            (
                Cell(low, name),
                n,
                blocks.rate[i],
                Cell(lowest, span(lowest, blocks.score_max[i])),
                blocks.score_median[i],
                blocks.refuted[i],
            )
        )
    columns = columns_of("block n rate scores median rejected")
    return Table.from_lines(columns, lines, name="blocks", caption="Isotonic blocks")


def shown_segments(segments: Segments) -> list[Mapping[str, Any]]:
    """As many of the costliest segments as a page can show; flagged ones come before others."""
    order = sorted(range(len(segments.rows)), key=lambda i: (not segments.rows[i]["flagged"], i))
    return [segments.rows[i] for i in sorted(order[:_MOST_SEGMENTS])]


def _with_limits(value: float, low: float, high: float, decimals: int) -> Cell:
    """A difference with its limits in brackets."""
    text, *limits = signed_with_limits(value, low, high, decimals)
    return Cell(value, f"{text} [{limits[0]} to {limits[1]}]")


def segments_table(segments: Segments, brier: float, covered: Coverage | None = None) -> Table:
    """The table of the segments, the costliest first.

    `brier` is the Brier score of all rows, whose shares the costs are. A note counts those left
    out. Of intervals and quantiles, `covered` is what was stated and observed over all rows.
    """
    titles = {}
    if covered is not None:
        titles = {"score": "Stated", "rate": "Observed", "ratio": "Obs./stated"}
        if covered.stated.size > 1:
            titles["n"] = "Rows × levels"
    columns = columns_of(
        "column value flag n score rate gap shrunk ratio adjusted overall cost", **titles
    )
    shown = shown_segments(segments)
    rows = []
    for row in shown:
        name = f"{row['column']} = {row['value']}"
        gap, *_ = signed_with_limits(row["gap"], row["gap_low"], row["gap_high"])
        cost = row["cost"] / brier if brier > 0 else math.nan
        cells = {
            "flag": _flag(row["flagged"], segments.findings.get(name, "")),
            "gap": Cell(row["gap"], gap),
            "shrunk": _with_limits(row["shrunk_gap"], row["shrunk_low"], row["shrunk_high"], 3),
            "ratio": bracketed(row["ratio"], row["ratio_low"], row["ratio_high"], ratio),
            "adjusted": row["adjusted_pvalue"],
            "overall": row["overall_pvalue"],
            "cost": _share(cost),
        }
        rows.append({**row, **cells})
    terms = _SEGMENT_TERMS.format(level=level_percent(Level.of_alpha(segments.alpha).confidence))
    notes = [f"Tested: {segments.test} {terms}"]
    n_left_out = len(segments.rows) - len(shown)
    if n_left_out:
        left_out = count(n_left_out, "segment")
        notes.append(
            f"{left_out} that cost less and are not flagged are left out here; the JSON has all."
        )
    return Table(columns, rows, notes, "segments", "Segments, the costliest first")


def slices_table(slices: Slices) -> Table:
    """The table of the slices that are shown, with limits that hold for all that were tested."""
    limits = f"Gap, {level_percent(slices.level)} limits"
    columns = columns_of(
        "rule flag n expected observed limits adjusted overall share", limits=limits
    )
    all_rows = slices.rows()
    rows = []
    for i in slices.shown:
        row = all_rows[i]
        cells = {
            "n": row["rows"],
            "adjusted": row["adjusted_p"],
            "overall": row["overall_p"],
            "flag": _flag(row["flagged"], row["finding"]),
            "limits": _with_limits(row["gap"], row["gap_low"], row["gap_high"], 3),
            "expected": Cell(row["expected"], f"{row['expected']:,.1f}"),
            "observed": Cell(row["observed"], numbers.total(row["observed"])),
            "share": _share(row["share"]),
        }
        rows.append({**row, **cells})
    terms = (
        "Slices of one or two columns, the score among them; flagged ones that share the rows of "
        "one above are left out here. Limits hold for all slices that were tested, also for the "
        "worst. Share: of the Brier score, what a correct mean in this slice would save."
    )
    notes = [slices.sentence, f"Tested: {slices.method}. {terms}"]
    return Table(columns, rows, notes, "slices", "Slices, the most reliable finding first")


def classes_table(classes: Iterable[ClassRow], level: float) -> Table:
    """The table of the classes, each against the rest."""
    columns = columns_of("label flag share score gap ratio ece damage p adjusted")
    rows = []
    for row in classes:
        cells = {
            "flag": _flag(row.flagged, "miscalibrated"),
            "p": row.pvalue,
            "adjusted": row.adjusted_pvalue,
            "ratio": bracketed(row.ratio, row.ratio_low, row.ratio_high, ratio),
        }
        rows.append(vars(row) | cells)
    note = (
        f"Obs./exp.: share / mean score, with its {level_percent(level)} interval. Share of ECE: "
        "of the class-wise ECE. Flags use p-values adjusted by Holm's method."
    )
    return Table(columns, rows, [note], "classes", "Each class against the rest, largest ECE first")


def top_k_table(by_k: tuple[Mapping[str, Any], ...]) -> Table:
    """The table of the typical error of the k largest scores, for each k."""
    columns = columns_of(
        "k l2 set bins", set=f"{level_percent(by_k[0]['interval'].level)} interval"
    )
    lines = []
    for entry in by_k:
        interval = entry["interval"]
        limits = Cell(math.nan, set_in_words(interval))
        lines.append(
            (entry["k"], points_cell(interval), limits, numbers.cells_in_words(interval.bins))
        )
    note = "The k largest scores of each row, taken jointly. Errors are in percentage points."
    return Table.from_lines(
        columns, lines, notes=[note], name="top-k", caption="The largest scores jointly"
    )
