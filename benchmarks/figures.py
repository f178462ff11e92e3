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

import matplotlib

matplotlib.use("Agg")

from trueness.plot import CoverageDisplay

LEVEL = 0.9


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
        drawn = CoverageDisplay.from_rows(part, level=LEVEL, title=setting).plot()
        drawn.figure_.savefig(path, dpi=90, pil_kwargs={"optimize": True})
        print(path)


if __name__ == "__main__":
    main()
