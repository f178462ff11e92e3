"""TCE beyond the paper: it grows with the number of rows, depends on their order, and exceeds its own limits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness import BlockIsotonic, EqualMass
from trueness._numerics.proportions import clopper_pearson
from trueness.measure import ece, tce
from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.matsubara.procedures import Options, code_bins
from trueness_papers.record import Row, Table

__all__ = ["SCALE", "tce_for_many_rows"]

_RUNS = {
    "quick": {1_000: 60, 10_000: 20, 100_000: 5},
    "full": {1_000: 2_000, 10_000: 1_000, 100_000: 200, 1_000_000: 50},
}
_ORDERS = 50
_FITS = {"quick": 100, "full": 2_000}
_NORMAL = 1.959963984540054
_BINS = 10
# From here on a bin's test accepts a range narrower than the bin, and its sampling error matters little.
_MANY = 4_000


def measure_calibrated(n: int, runs: int, seed: int) -> dict[str, list[float]]:
    """TCE and ECE of calibrated uniform scores."""
    rng = np.random.default_rng([seed, n])
    found: dict[str, list[float]] = {"TCE(Q)": [], "TCE(P)": [], "ECE": []}
    for _ in range(runs):
        p = rng.random(n)
        y = (rng.random(n) < p).astype(np.int64)
        found["TCE(Q)"].append(tce(y, p, bins=EqualMass(_BINS)))
        found["TCE(P)"].append(tce(y, p))
        found["ECE"].append(ece(y, p))
    return found


def row_orders(n: int, digits: int, seed: int) -> dict[str, list[float]]:
    """TCE of the same rows in different orders, with equal scores split or pooled."""
    rng = np.random.default_rng([seed, n])
    p = np.round(rng.random(n), digits)
    y = (rng.random(n) < p).astype(np.int64)
    orders = [rng.permutation(n) for _ in range(_ORDERS)]
    rules = {"split": BlockIsotonic(ties="split", fuse=False), "pool": BlockIsotonic()}
    return {
        ties: [tce(y[order], p[order], bins=rule) for order in orders]
        for ties, rule in rules.items()
    }


def count_oversized(n: int, runs: int, seed: int) -> dict[str, int]:
    """How often the largest block exceeds N_max when labels do not depend on scores."""
    rng = np.random.default_rng([seed, n, runs])
    limits = Options(n // 20, n // 5)
    largest = {"code": 0, "text": 0}
    over = dict.fromkeys(largest, 0)
    for _ in range(runs):
        y, p = rng.integers(0, 2, n), np.sort(rng.random(n))
        sizes = {"code": _largest_of_code(y, limits), "text": _largest_of_text(y, p, limits)}
        for name, size in sizes.items():
            over[name] += size > limits.n_max
            largest[name] = max(largest[name], size)
    return {
        f"{name} {what}": value[name]
        for name in largest
        for what, value in (("over", over), ("largest", largest))
    }


def _largest_of_code(y: Any, limits: Options) -> int:
    return int(np.diff(np.append(code_bins(y, limits)["P"], y.size)).max())


def _largest_of_text(y: Any, p: Any, limits: Options) -> int:
    from trueness.measure import bin_table

    return int(bin_table(y, p, bins=BlockIsotonic(limits.n_min, limits.n_max, fuse=False)).n.max())


def tce_for_many_rows(n: float) -> float:
    """TCE(Q) of calibrated uniform scores for many rows, from the width of the range that a bin's test accepts.

    A bin of width 1/B and rate r has N/B rows and accepts scores within z √(r(1−r)B/N) of its observed rate.
    """
    rates = (np.arange(_BINS) + 0.5) / _BINS
    accepted = 2 * _NORMAL * np.sqrt(rates * (1 - rates) * _BINS / n) * _BINS
    return float(100 * (1 - np.minimum(accepted, 1)).mean())


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    pieces = [
        Piece(f"rows-{n}", measure_calibrated, {"n": n, "runs": runs, "seed": seed})
        for n, runs in _RUNS[size].items()
    ]
    pieces += [
        Piece(f"orders-{n}", row_orders, {"n": n, "digits": 1, "seed": seed}) for n in (200, 1_000)
    ]
    return [
        *pieces,
        Piece("limits", count_oversized, {"n": 1_000, "runs": _FITS[size], "seed": seed}),
    ]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:
    return Outcome(
        (_growth(results, size), _orders(results), _limits(results, size)),
        (_picture(results, size),),
    )


def _growth(results: Mapping[str, Any], size: Size) -> Table:
    rows = []
    for n, runs in _RUNS[size].items():
        for measure, values in results[f"rows-{n}"].items():
            mean, error = (
                float(np.mean(values)),
                _NORMAL * float(np.std(values, ddof=1)) / np.sqrt(runs),
            )
            unit = 100 if measure == "ECE" else 1
            name = f"{measure}, %"
            rows.append(
                Row(
                    (f"{n:,}", name),
                    unit * mean,
                    low=unit * (mean - error),
                    high=unit * (mean + error),
                )
            )
        if n >= _MANY:
            rows.append(Row((f"{n:,}", "TCE(Q) by the formula, %"), tce_for_many_rows(n)))
    return Table(
        "A calibrated model: scores uniform on [0, 1], labels drawn from them",
        "",
        ("rows", "measure"),
        tuple(rows),
        digits=2,
        note=f"Means over {', '.join(f'{runs:,}' for runs in _RUNS[size].values())} data sets, with their 95 % limits. "
        "The formula, for many rows, is the part of a bin's width that its test rejects.",
        across="measure",
    )


def _orders(results: Mapping[str, Any]) -> Table:
    rows = []
    for n in (200, 1_000):
        for ties, words in (
            ("split", "split by row order (the code)"),
            ("pool", "pooled (this library)"),
        ):
            values = results[f"orders-{n}"][ties]
            labels = (f"{n:,}", words, str(len(set(values))))
            rows += [Row((*labels, "lowest"), min(values)), Row((*labels, "highest"), max(values))]
    return Table(
        f"TCE(P) of one data set in {_ORDERS} orders of its rows; scores rounded to one digit",
        "",
        ("rows", "equal scores", "different values", "number"),
        tuple(rows),
        digits=1,
        across="number",
    )


def _limits(results: Mapping[str, Any], size: Size) -> Table:
    found = results["limits"]
    rows = []
    for name, words in (
        ("code", "2 N_min ≤ N_max (the code)"),
        ("text", "its size + N_min ≤ N_max (the text)"),
    ):
        low, high = map(float, clopper_pearson(found[f"{name} over"], _FITS[size], 0.95))
        share = found[f"{name} over"] / _FITS[size]
        rows.append(
            Row((words, str(found[f"{name} largest"])), 100 * share, low=100 * low, high=100 * high)
        )
    return Table(
        "Bins larger than N_max = 200: 1,000 rows whose labels do not depend on their scores",
        "",
        ("the rows kept back join the last block if", "largest bin"),
        tuple(rows),
        digits=1,
        note=f"Percentage of {_FITS[size]:,} data sets, with 95 % limits; N_min is 50.",
    )


def _picture(results: Mapping[str, Any], size: Size) -> Picture:
    caption = (
        "Calibrated scores: mean and 95 % range of TCE against the number of rows; line: formula."
    )
    return Picture("growth", caption, lambda: _draw(results, size))


def _draw(results: Mapping[str, Any], size: Size) -> Any:
    from matplotlib.figure import Figure

    from trueness.plot._canvas import GREY, style_of

    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    ax = figure.subplots()
    rows = list(_RUNS[size])
    for i, measure in enumerate(("TCE(Q)", "TCE(P)")):
        values = [results[f"rows-{n}"][measure] for n in rows]
        middle, low, high = (
            np.array([f(v) for v in values]) for f in (np.mean, _quantile(0.025), _quantile(0.975))
        )
        look: Any = {
            "color": style_of(i).colour,
            "marker": "os"[i],
            "capsize": 3,
            "linestyle": "none",
            "label": measure,
        }
        ax.errorbar(rows, middle, [middle - low, high - middle], **look)
    many = np.geomspace(_MANY, rows[-1], 100)
    ax.plot(many, [tce_for_many_rows(n) for n in many], color=GREY, linewidth=1, zorder=0)
    ax.set(xscale="log", ylim=(-2, 102), xlabel="rows", ylabel="TCE, % of predictions rejected")
    ax.grid(color=GREY, alpha=0.2, linewidth=0.6)
    ax.legend(fontsize=8)
    return figure


def _quantile(level: float) -> Any:
    return lambda values: np.quantile(values, level)


SCALE = Experiment(
    name="matsubara-scale",
    paper=MATSUBARA,
    covers="Beyond the paper",
    title="how TCE depends on the number and order of rows",
    pieces=_pieces,
    assemble=_assemble,
    minutes=1,
)
