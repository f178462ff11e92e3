"""Number of bins: the rule n^{2/(4s + d)} of Sun et al. 2025 compared with fewer and more bins."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trueness import ece_interval
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.binned_scores import default_cells
from trueness.errors import TruenessWarning
from trueness.simulate import Logit, binary
from trueness.typing import Floats
from trueness_papers.distortions import Oscillation
from trueness_papers.experiment import SUN, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.figures import draw_bins
from trueness_papers.sun.simulation import LEVEL

__all__ = ["BIN_COUNT"]

_ERRORS: dict[str, Callable[[Floats], Floats]] = {
    "over-confident, β = 0.5": Logit(slope=0.5),
    "5 oscillations of 0.15": Oscillation(0.15, 5),
}
_BINS = {
    100: (2, 4, 6, 10, 20, 40),
    1000: (4, 8, 16, 25, 50, 100),
    10_000: (8, 20, 40, 80, 160, 320),
}
_WHAT = ("bias / true", "sd / true", "rms error / true", "coverage", "share without zero")


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    runs = {100: 4000, 1000: 2000, 10_000: 1000} if size == "full" else {100: 300, 1000: 150}
    return [
        Piece(
            f"error-{i}-n-{n}",
            over_bins,
            {"error": name, "n": n, "runs": runs[n], "seed": [seed, i, n]},
        )
        for i, name in enumerate(_ERRORS)
        for n in runs
    ]


def over_bins(error: str, n: int, runs: int, seed: Sequence[int]) -> dict[str, Any]:
    """Bias, standard deviation, coverage and power of the published interval, by number of bins on the same data."""
    rng = np.random.default_rng(seed)
    true = binary(1, distortion=_ERRORS[error], seed=0).true_squared_ece()
    found = {bins: np.empty((runs, 3)) for bins in _BINS[n]}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", TruenessWarning
        )  # with many bins most rows are alone in theirs
        for run in range(runs):
            data = binary(n, distortion=_ERRORS[error], seed=rng)
            for bins, values in found.items():
                one = ece_interval(
                    data.y_true,
                    data.y_prob,
                    method="analytic",
                    bins=bins,
                    level=LEVEL,
                    squared=True,
                )
                values[run] = one.estimate, true in one, not one.includes_zero
    return {
        "true": true,
        "runs": runs,
        **{str(bins): _summarise(values, true) for bins, values in found.items()},
    }


def _summarise(values: Any, true: float) -> dict[str, float]:
    estimate, covers, power = values.T
    bias, spread = float(estimate.mean()) - true, float(estimate.std())
    moments = (bias, spread, math.hypot(bias, spread))
    shares = (int(covers.sum()), int(power.sum()))
    return dict(zip(_WHAT, (*(value / true for value in moments), *shares), strict=True))


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know their sizes
    rows, best = [], []
    for key, found in results.items():
        _, index, _, n = key.split("-")
        error = list(_ERRORS)[int(index)]
        rule = default_cells(float(n), 1, None)
        runs = found["runs"]
        for bins in _BINS[int(n)]:
            labels = (error, f"{int(n):,}", f"{bins} (the rule)" if bins == rule else str(bins))
            rows += [_row((*labels, what), what, found[str(bins)][what], runs) for what in _WHAT]
        least = min(_BINS[int(n)], key=lambda b: found[str(b)]["rms error / true"])
        at = found[str(rule)]["rms error / true"] / found[str(least)]["rms error / true"]
        best.append(
            f"{error}, {int(n):,} rows: lowest rms error with {least} bins; {at:.2f} times that with the rule's {rule}"
        )
    headings = ("error", "rows", "bins", "published interval")
    note = (
        "P(positive), uniform scores, bins of equal width; the rule with s = 1, d = 1 and the constant 1 is "
        "max(2, round(n^0.4)). Bias, sd and root mean square error of T are relative to the true squared error."
    )
    table = Table(
        "Numbers of bins", "", headings, tuple(rows), digits=3, note=note, across=headings[-1]
    )
    picture = Picture(
        "error",
        "Root mean square error of T, coverage and power against bins; rings: the rule's number.",
        lambda: draw_bins(table.rows),
    )
    return Outcome((table,), (picture,), (*(f"{line}." for line in best), _PAPER))


def _row(labels: tuple[str, ...], what: str, value: float, runs: int) -> Row:
    if what not in ("coverage", "share without zero"):
        return Row(labels, value)
    low, high = clopper_pearson(value, runs, 0.95)
    return Row(labels, value / runs, low=float(low), high=float(high))


_PAPER = (
    "The rule is for m, not for the mK cells per axis, and leaves a constant open. For P(positive), as here, m is the "
    "number of bins. The paper's simulations have m = 10 and 25 in settings 1 and 2, with 100 and 1,000 rows "
    f"(n^(2/5): {default_cells(100, 1, 2)} and {default_cells(1000, 1, 2)}), and m = 1 and 2 in setting 3 (n^(1/3): "
    f"{default_cells(100, 2, 10)} and {default_cells(1000, 2, 10)}). The default of `ece_interval` for a matrix and "
    "k < K takes the number for mK, which is the rule with the constant 1/K."
)

BIN_COUNT = Experiment(
    name="sun-bin-count",
    paper=SUN,
    covers="Number of bins",
    title="n^{2/(4s + d)} compared with fewer and more bins",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.5,
)
