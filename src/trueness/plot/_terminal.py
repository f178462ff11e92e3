"""Reliability diagrams for terminals."""

import math
import textwrap
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trueness._keywords import suggests_keywords
from trueness._text.strings import visible
from trueness.errors import InputError
from trueness.plot._canvas import AXIS_NAMES, band_sentence, number_lines, panel_title, probability
from trueness.results import Bands, CurveBand, Reliability
from trueness.typing import Floats

_EIGHTHS = "▁▂▃▄▅▆▇█"
_MARGIN = 7
_MOST_CELLS = 1000
_TICKS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


@suggests_keywords
def unicode_diagram(record: Reliability, *, width: int = 64, height: int = 16) -> str:
    """A reliability diagram as text for a terminal: fixed width, no colour, no matplotlib.

    Parameters
    ----------
    record : Reliability
        One of the `series` of a :class:`ReliabilityDisplay`.
    width, height : int
        Columns and lines of the diagram itself, at least 20 and 6; seven columns are added on the
        left.

    Returns
    -------
    str
        ``●`` is a point (``━`` a curve without bins), ``│`` the band of its rate, ``░`` the band of
        a calibrated model, ``·`` the diagonal. Below are the histogram of the scores, their scale,
        and the numbers.

    Examples
    --------
    >>> from trueness.plot import ReliabilityDisplay
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9]
    >>> display = ReliabilityDisplay.from_predictions(y, p, bins=2, band=None, numbers=False)
    >>> print(display.to_text(width=32, height=7))
    event rate
         1 ┤                           ·····
      0.75 ┤                       ···· ●
           ┤                  ·····
       0.5 ┤              ····
           ┤         ·····
      0.25 ┤   ● ····
         0 ┤·····
           └────────────────────────────────
               █                        ██
            0     0.25    0.5     0.75     1
            predicted probability
            ECE 0.150  (2 bins of equal width)
            n = 8
    """
    for name, value, smallest in (("width", width, 20), ("height", height, 6)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
            raise InputError(name, f"must be a whole number ≥ {smallest}", f"got {value!r}")
        if value > _MOST_CELLS:
            raise InputError(
                name, f"must be at most {_MOST_CELLS:,}, more than a terminal has", f"got {value:,}"
            )
    canvas = np.full((height, width), " ")
    _draw(canvas, record)
    title = " · ".join(visible(part) for part in (record.name, panel_title(record)) if part)
    x_name, y_name = AXIS_NAMES[record.kind]
    pad = " " * (_MARGIN + 1)
    labels = dict(zip(_row(_TICKS, height).tolist(), _ticks(record), strict=True))
    lines = [
        *([title] if title else []),
        y_name,
        *(f"{labels.get(i, ''):>{_MARGIN - 1}} ┤{''.join(line)}" for i, line in enumerate(canvas)),
        " " * _MARGIN + "└" + "─" * width,
        pad + _histogram_line(record.histogram.weight, width),
        pad + _column_labels(record, width),
        pad + x_name,
        *(pad + line for line in [*number_lines(record), *_band_lines(record)]),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _band_lines(record: Reliability) -> list[str]:
    """What the marks of the band mean, wrapped; nothing without a band."""
    if record.band is None or not record.band.band:
        return []
    if isinstance(record.band, CurveBand) or record.band.band.endswith("consistency"):
        mark = "░"
    else:
        mark = "│"
    return textwrap.wrap(f"{mark} {band_sentence(record.band)}", 70, subsequent_indent="  ")


def _draw(canvas: NDArray[np.str_], record: Reliability) -> None:
    """Draw the band, the diagonal and the curve into an array of characters, in this order."""
    height, width = canvas.shape
    middle = (np.arange(width) + 0.5) / width
    if isinstance(record.band, CurveBand):
        _draw_curve_band(canvas, record, record.band)
    canvas[_row(middle, height), np.arange(width)] = "·"
    if isinstance(record.band, Bands):
        _draw_bin_band(canvas, record, record.band)
    curve = record.curve
    defined = np.isfinite(curve.y)
    if curve.method == "binned":
        columns = _column(_place(record, curve.x[defined]), width)
        canvas[_row(_place(record, curve.y[defined]), height), columns] = "●"
    elif defined.any():
        x = curve.x[defined]
        y = curve.y[defined]
        if curve.method == "isotonic":
            x = np.column_stack([curve.low_edge, curve.high_edge]).ravel()
            y = np.repeat(curve.y, 2)
        x = _place(record, x)
        y = _place(record, y)
        inside = (middle >= x[0] - 0.5 / width) & (middle <= x[-1] + 0.5 / width)
        canvas[_row(np.interp(middle[inside], x, y), height), np.flatnonzero(inside)] = "━"


def _draw_bin_band(canvas: NDArray[np.str_], record: Reliability, band: Bands) -> None:
    height, width = canvas.shape
    mark = "░" if band.band.endswith("consistency") else "│"
    for b in np.flatnonzero(np.isfinite(band.low)):
        top, bottom = _row(_place(record, np.array([band.high[b], band.low[b]])), height)
        (column,) = _column(_place(record, band.score[b : b + 1]), width)
        canvas[top : bottom + 1, column] = mark


def _draw_curve_band(canvas: NDArray[np.str_], record: Reliability, band: CurveBand) -> None:
    """Fill the characters between both ends of a band; nothing where it is not finite."""
    height, width = canvas.shape
    is_finite = np.isfinite(band.low)
    if not is_finite.any():
        return
    middle = (np.arange(width) + 0.5) / width
    x = _place(record, band.x[is_finite])

    def rows(end: Floats) -> NDArray[np.int64]:
        return _row(np.interp(middle, x, _place(record, end[is_finite])), height)

    bottom = rows(band.low)
    top = rows(band.high)
    inside = (middle >= x[0] - 0.5 / width) & (middle <= x[-1] + 0.5 / width)
    for column in np.flatnonzero(inside):
        canvas[top[column] : bottom[column] + 1, column] = "░"


def _place(record: Reliability, value: Floats) -> Floats:
    """The position of a probability along the axes, from 0 to 1, on their scale."""
    edges = record.histogram.edges
    return np.interp(value, edges, np.linspace(0, 1, edges.size))


def _row(place: Floats, height: int) -> NDArray[np.int64]:
    return np.clip(np.floor((1 - place) * height), 0, height - 1).astype(np.int64)


def _column(place: Floats, width: int) -> NDArray[np.int64]:
    return np.clip(np.floor(place * width), 0, width - 1).astype(np.int64)


def _ticks(record: Reliability) -> list[str]:
    edges = record.histogram.edges
    values = np.interp(_TICKS, np.linspace(0, 1, edges.size), edges)
    if math.isclose(edges[1] - edges[0], edges[-1] - edges[-2]):
        return [f"{value:.3g}" for value in values]
    return [probability(float(value)) for value in values]


def _column_labels(record: Reliability, width: int) -> str:
    line = [" "] * (width + 6)
    for place, text in zip(_TICKS, _ticks(record), strict=True):
        centred = round(place * width - len(text) / 2)
        start = min(max(0, centred), width - len(text))
        line[start : start + len(text)] = text
    return "".join(line)


def _histogram_line(weight: Floats | NDArray[np.int64], width: int) -> str:
    """The weights as a line of bars of one character each."""
    # Every column shows the largest bar it covers, so that narrow diagrams lose none.
    edges = np.arange(width + 1) * weight.size / width
    heights = []
    for start, end in pairwise(edges):
        first = int(start)
        heights.append(float(weight[first : max(first + 1, int(np.ceil(end)))].max()))
    highest = max(max(heights), 1e-300)
    line = ""
    for height in heights:
        line += _EIGHTHS[min(7, int(8 * height / highest))] if height > 0 else " "
    return line
