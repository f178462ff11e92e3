"""Coverage, length and power against the calibration error, drawn from what benchmarks/coverage.py kept.

    python benchmarks/coverage.py --only paper --full --json paper.json
    python benchmarks/figures.py paper.json --out docs/figures

One figure per setting, like Figures 3 to 5 and 8 to 10 of Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for
the l2 expected calibration error" (2025): a column per number of rows. The grey band is twice the Monte-Carlo deviation
around the level.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

LEVEL = 0.9
# The colours of Okabe and Ito, told apart without red and green; markers for print.
STYLES = {
    "score": ("#000000", "o"),
    "analytic": ("#0072B2", "s"),
    "bootstrap": ("#D55E00", "^"),
    "centred-bootstrap": ("#E69F00", "v"),
    "subsampling": ("#009E73", "D"),
    "hulc": ("#CC79A7", "P"),
    "adaptive-hulc": ("#56B4E9", "X"),
}
LABELS = {"coverage": "coverage", "length": "mean length (squared error)", "power": "share without zero"}


def panel(ax: Axes, rows: list[dict[str, Any]], what: str) -> None:
    for name, (colour, marker) in STYLES.items():
        points = sorted((row["truth"] ** 0.5, row["found"][name][what]) for row in rows if name in row["found"])
        if points:
            ax.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4, linewidth=1.2, label=name)
    if what == "coverage":
        deviation = (LEVEL * (1 - LEVEL) / rows[0]["runs"]) ** 0.5
        ax.axhspan(LEVEL - 2 * deviation, LEVEL + 2 * deviation, color="0.88", zorder=0)
    if what == "length":
        ax.set_yscale("log")
    else:
        ax.set_ylim(-0.03, 1.03)
    ax.grid(color="0.93")
    ax.set_axisbelow(True)


def figure(rows: list[dict[str, Any]], setting: str) -> Figure:
    sizes = sorted({row["n"] for row in rows})
    drawn = Figure(figsize=(7.5, 8), layout="constrained")
    axes = drawn.subplots(len(LABELS), len(sizes), sharex="col", sharey="row", squeeze=False)
    for column, n in enumerate(sizes):
        part = [row for row in rows if row["n"] == n]
        axes[0, column].set_title(f"{setting}, n = {n:,}, {part[0]['runs']:,} runs", fontsize=10)
        for row, (what, label) in enumerate(LABELS.items()):
            panel(axes[row, column], part, what)
            if column == 0:
                axes[row, 0].set_ylabel(label)
        axes[-1, column].set_xlabel("l2 calibration error, √truth")
    drawn.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("found", type=Path, help="what coverage.py wrote with --json")
    parser.add_argument("--out", type=Path, default=Path("docs/figures"), help="folder of the PNG files")
    asked = parser.parse_args()
    rows = [row for row in json.loads(asked.found.read_text(encoding="utf-8")) if row["group"] == "paper"]
    asked.out.mkdir(parents=True, exist_ok=True)
    for setting in sorted({row["scenario"].split(",")[0] for row in rows}):
        part = [row for row in rows if row["scenario"].startswith(f"{setting},")]
        path = asked.out / f"{setting.replace(' ', '-')}.png"
        figure(part, setting).savefig(path, dpi=90, pil_kwargs={"optimize": True})
        print(path)


if __name__ == "__main__":
    main()
