"""The printed intervals of Sun et al. 2025, Tables 1 to 3, checked against their Algorithm 1 without the data."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from trueness.infer.interval._analytic import (
    Region,
    analytic_region,
    upper_quantile,
    zero_threshold,
)
from trueness_papers.experiment import SUN, Experiment, Outcome, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.simulation import LEVEL

__all__ = ["PRINTED", "implied_region"]

_ALPHA = round(1 - LEVEL, 12)
_ROWS, _CELLS = 10_000, 50
"""Of the test sets of CIFAR, and 1 / (partition width), section 4.2.1."""
_HALF = 0.005
"""Half a unit of the last printed digit, in percent."""

_MODELS = ("DenseNet40", "ResNet110", "WideResNet-28-10")


class Printed(NamedTuple):
    """√T and the ends of the interval for the l2 error, in percent."""

    estimate: float
    low: float
    high: float
    zero: bool = False
    """Whether the bracket before 0.00 is closed."""


_TABLES: dict[str, dict[str, tuple[Printed, ...]]] = {
    "CIFAR-10": {
        "none": (Printed(7.54, 6.69, 8.30), Printed(7.89, 7.03, 8.67), Printed(5.37, 4.45, 6.15)),
        "temperature scaling": (
            Printed(1.05, 0, 2.34, zero=True),
            Printed(1.83, 0, 2.86),
            Printed(2.76, 1.80, 3.64),
        ),
        "matrix scaling": (
            Printed(1.23, 0, 2.36, zero=True),
            Printed(2.04, 0.62, 3.00),
            Printed(3.47, 2.46, 4.32),
        ),
        "focal loss": (
            Printed(1.19, 0, 2.15, zero=True),
            Printed(1.13, 0, 2.37, zero=True),
            Printed(5.63, 5.20, 6.03),
        ),
        "MMCE": (Printed(2.50, 1.38, 3.44), Printed(2.41, 1.20, 3.39), Printed(2.34, 1.17, 3.28)),
    },
    "CIFAR-100": {
        "none": (
            Printed(20.35, 19.55, 21.13),
            Printed(20.28, 19.46, 21.07),
            Printed(12.59, 11.77, 13.36),
        ),
        "temperature scaling": (
            Printed(5.20, 4.26, 5.99),
            Printed(5.84, 4.92, 6.64),
            Printed(6.40, 5.53, 7.17),
        ),
        "matrix scaling": (
            Printed(38.33, 37.52, 39.12),
            Printed(38.00, 37.19, 38.81),
            Printed(30.48, 29.66, 31.27),
        ),
        "focal loss": (
            Printed(7.66, 6.80, 8.43),
            Printed(6.18, 5.27, 6.97),
            Printed(10.64, 9.83, 11.40),
        ),
        "MMCE": (Printed(5.58, 4.63, 6.38), Printed(5.53, 4.60, 6.32), Printed(5.57, 4.68, 6.34)),
    },
}
_CLASSES = {"CIFAR-10": 10, "CIFAR-100": 100}
_ALZHEIMER = Printed(4.52, 0, 8.27, zero=True)


def implied_region(estimate: float, high: float, n: int, cells: int, classes: int) -> Region:
    """The set of Algorithm 1 with this estimate and this upper end, both of the l2 error: they imply σ̂₁."""
    t = estimate**2
    deviation = (high**2 - t) / upper_quantile(_ALPHA / 2)
    return analytic_region(
        t, n * deviation**2, n, zero_threshold(n, _ALPHA, cells, classes), _ALPHA
    )


def lower_ends(printed: Printed, n: int, cells: int, classes: int) -> dict[str, float | bool]:
    """The lower end in percent, its range over the rounding of the printed numbers, and whether zero is included."""

    def low(estimate: float, high: float) -> float:
        return 100 * math.sqrt(implied_region(estimate / 100, high / 100, n, cells, classes).low)

    shifts = product((-_HALF, 0.0, _HALF), repeat=2)
    ends = [low(printed.estimate + a, printed.high + b) for a, b in shifts]
    zero = implied_region(
        printed.estimate / 100, printed.high / 100, n, cells, classes
    ).includes_zero
    return {
        "low": low(printed.estimate, printed.high),
        "least": min(ends),
        "most": max(ends),
        "zero": zero,
    }


def implied_intervals(data: str) -> dict[str, Any]:
    """The lower ends of one table."""
    return {
        method: [lower_ends(one, _ROWS, _CELLS, _CLASSES[data]) for one in printed]
        for method, printed in _TABLES[data].items()
    }


def largest_test_set(estimate: float, cells: int, classes: int) -> int:
    """The largest number of rows for which zero belongs to the set with this estimate of the l2 error."""
    return math.ceil(zero_threshold(1, _ALPHA, cells, classes) / estimate**2) - 1


def _pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # there is nothing to simulate
    return [Piece(data, implied_intervals, {"data": data}) for data in _TABLES]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # only one size
    rows, same = [], 0
    for data, methods in _TABLES.items():
        for method, printed in methods.items():
            for model, one, found in zip(_MODELS, printed, results[data][method], strict=True):
                same += found["zero"] == one.zero
                note = "zero included" if found["zero"] else ""
                labels = (data, model, method)
                rows.append(
                    Row(labels, found["low"], one.low, found["least"], found["most"], note=note)
                )
    most = largest_test_set(_ALZHEIMER.estimate / 100, 20, 2)
    note = (
        "In percent, level 0.9. The printed estimate √T and upper end imply σ̂₁, and (8) then gives the lower end; from "
        "– to: its range over the rounding of the two. Zero is decided by T and the threshold of (5), with 10,000 test "
        f"rows and cells of width 1/50. It is included or excluded as printed in {same} of {len(rows)} intervals."
    )
    headings = ("data", "model", "calibration")
    title = "Lower ends of the printed intervals"
    table = Table(title, "Tables 1 and 2", headings, tuple(rows), _HALF + 1e-9, 2, note)
    remarks = (
        "This checks the printed numbers against the printed algorithm. The estimates themselves cannot be had: the "
        "outputs of the trained networks are not available to us. `sun-tables-1-2` runs the procedure on others.",
        "Table 3 (Alzheimer's disease, √T = 4.52 %): the printed [0, 8.27 %] has the lower end 0 by (8). It includes "
        f"zero only if the test set has at most {most:,} rows, taking the printed width as 1/20 (the paper prints 20); "
        "the paper does not give their number. The predictions are not available to us, so neither this interval nor "
        "that of the bootstrap, [2.97 %, 11.30 %], can be recomputed.",
        "Figure 6 has the reliability diagrams of the DenseNet40 on CIFAR-100 after temperature scaling and with focal "
        "loss. It cannot be had for the same reason; the printed intervals, [4.26, 5.99] and [6.80, 8.43], do not "
        "overlap, which is what the text infers.",
    )
    return Outcome((table,), remarks=remarks)


PRINTED = Experiment(
    name="sun-printed-tables",
    paper=SUN,
    covers="Tables 1, 2 and 3, Figure 6",
    title="the printed intervals, by their own algorithm",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.01,
)
