"""How many rows histogram binning needs (Gupta & Ramdas 2021, Section 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness.recalibrate import epsilon, sample_size
from trueness.reproduce._experiment import Experiment, Outcome, Piece, Size
from trueness.reproduce._paper import GUPTA
from trueness.reproduce._table import Row, Table

__all__ = ["SAMPLE_SIZE"]


def _pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # nothing is drawn
    return [Piece("calculation", calculation, {"n_bins": 10, "epsilon_wanted": 0.1, "alpha": 0.1})]


def calculation(n_bins: int, epsilon_wanted: float, alpha: float) -> dict[str, float]:
    """Rows needed for B bins, and epsilon at the published numbers of rows."""
    return {
        "conditional": sample_size(n_bins, epsilon_wanted, alpha=alpha),
        "marginal": sample_size(n_bins, epsilon_wanted, alpha=alpha, kind="marginal"),
        "epsilon at 2900": epsilon(2900, n_bins, alpha=alpha),
        "epsilon at 1500": epsilon(1500, n_bins, alpha=alpha, kind="marginal"),
    }


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # one size fits
    found = results["calculation"]
    rows = (
        Row(("UMD, conditional",), found["conditional"], 2900, printed="2,900"),
        Row(("UMD, marginal",), found["marginal"], 1500, printed="1,500"),
    )
    table = Table("Rows for epsilon 0.1 with 10 bins, alpha 0.1", "Section 4", ("promise",), rows, digits=0)
    return Outcome((table,))


SAMPLE_SIZE = Experiment(
    name="gupta-sample-size",
    paper=GUPTA,
    covers="Section 4",
    title="rows that histogram binning needs",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.1,
)
