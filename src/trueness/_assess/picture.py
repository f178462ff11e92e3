"""The bins of the first diagram, with the band of a calibrated model."""

import math

import numpy as np

from trueness._assess.notes import Notes, collect_warnings
from trueness._tally.evidence import AnySums, Evidence
from trueness._tally.rules import BinRule, EqualMass, EqualWidth
from trueness._tally.tally import Binned
from trueness._text.numbers import percent, rule_in_words
from trueness.errors import InputError
from trueness.infer import curve_band
from trueness.measure import bin_table
from trueness.results import Bands
from trueness.results._first_screen import Picture

_ORDINARY_BINS = 10
_CROWDED = 0.8
_FILLED = 0.4
"""The share of the rows in one bin from which on, and the share of bins with rows up to which, bins
of equal width show too little."""
MOST_BINS = 1_000
"""The most bins that a page can show."""


def _picture(sums: AnySums, rule: BinRule, level: float, notes: Notes) -> Picture:
    """The bins of a reliability diagram, with limits and the band of calibrated scores.

    Warnings go into `notes`. Sums in bins have no band, which needs the distinct scores.
    """
    with collect_warnings(notes):
        table = bin_table(sums, bins=rule, level=level)
        if isinstance(sums, Binned):  # a band needs the distinct scores
            unknown = np.full(len(table), math.nan)
            bands = Bands(
                **vars(table) | {"low": unknown, "high": unknown}, band="", level_each=level
            )
        else:
            bands = curve_band(
                sums, bins=rule, level=level, band="simultaneous-consistency", method="bins"
            )
    return Picture(
        bands, tuple(table.low.tolist()), tuple(table.high.tolist()), rule_in_words(rule)
    )


def first_picture(
    data: Evidence, rule: BinRule, level: float, notes: Notes
) -> tuple[Picture, BinRule]:
    """The picture of the first diagram, and its bins.

    They have equal mass if most rows lie in one bin of equal width, or if few of these have rows.
    """
    picture = _picture(data.sums, rule, level, notes)
    if len(picture.bins) > MOST_BINS:
        got = f"{rule!r} makes {len(picture.bins):,}"
        raise InputError("bins", f"must make at most {MOST_BINS:,} bins for a report", got)
    tally = data.tally
    if tally is None or not isinstance(rule, EqualWidth) or rule.n == 1:
        return picture, rule
    first = EqualMass(rule.n)
    share = float(picture.bins.weight.max() / picture.bins.weight.sum())
    filled = int((picture.bins.n > 0).sum())
    more = tally.coarsen(first).parts[0].size
    if share > _CROWDED and tally.coarsen(EqualMass(_ORDINARY_BINS)).parts[0].size > 2:
        reason = f"{percent(share)} of the rows lie in one bin of equal width"
    elif filled <= _FILLED * rule.n and more > filled:
        reason = f"The scores lie in {filled:,} of {rule.n:,} bins of equal width"
    else:
        return picture, rule
    notes.add(
        f"{reason}: picture and table show {rule_in_words(first)}, the ECE of the summary keeps "
        f"{rule_in_words(rule)}."
    )
    return _picture(data.sums, first, level, notes), first
