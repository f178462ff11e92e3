"""How valid recalibrated probabilities are on the CREDIT data, as Markdown tables.

python benchmarks/credit_validity.py

The protocol of Gupta & Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
splitting" (2021), Section 5: a logistic regression of 10,000 rows, Platt scaling of 5,000 more, then from the other
15,000, again and again, n rows for the calibrator and 5,000 for the test.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import trueness as tn
from trueness.recalibrate import HistogramBinning, IsotonicCalibration, PlattScaling, ScalingBinning, validity_runs

FILE = "credit_default.csv.gz"
ABSENT = f"""The data are not here: set TRUENESS_DATA to a folder that has {FILE}.
They are "default of credit card clients" (Yeh & Lien 2009), number 350 at the UCI machine learning repository: 30,000
rows of an id, 23 features and `default_payment_next_month`, as comma-separated text with one line of names, gzipped."""

# Predictions of these are nearly all distinct, so that they are judged in as many bins as the others have values.
TEN = tn.EqualMass(10)
METHODS: dict[str, tuple[Any, Any]] = {
    "UMD": (HistogramBinning(n_bins=10, scheme="umd"), None),
    "UMS": (HistogramBinning(n_bins=10, scheme="split"), None),
    "isotonic, steps": (IsotonicCalibration(interpolation="step"), None),
    "isotonic, 10 bins": (IsotonicCalibration(), TEN),
    "Platt once more, 10 bins": (PlattScaling(), TEN),
    "Platt alone, 10 bins": (None, TEN),
    "scaling-binning": (ScalingBinning(n_bins=10), None),
    # As far as its numbers tell, the paper's Figure 3 has a sigmoid of the probability itself, not of its log-odds.
    "scaling-binning of p": (ScalingBinning(n_bins=10, scaler=PlattScaling(input="logits")), None),
}
PUBLISHED = {("UMS", 1000): "≈ 0.63", ("UMD", 1000): "≈ 0.79"}


def rows() -> tuple[np.ndarray, np.ndarray]:
    path = Path(os.environ.get("TRUENESS_DATA", "")) / FILE
    if not path.is_file():
        sys.exit(ABSENT)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, 1:-1], table[:, -1].astype(int)


def scores(split: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and Platt-scaled probabilities of the last 15,000 rows of a shuffle."""
    features, y = rows()
    order = np.random.default_rng(split).permutation(y.size)
    first, second, third = np.split(order, [10_000, 15_000])
    scaler = StandardScaler().fit(features[first])
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(features[first]), y[first])
    p = model.predict_proba(scaler.transform(features))[:, 1]
    return y[third], PlattScaling().fit(p[second], y[second]).predict(p[third])


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--runs", type=int, default=100, help="draws of calibration and test rows")
    asked.add_argument("--n", type=int, nargs="+", default=[1000, 3000, 7000], help="rows for the calibrator")
    asked.add_argument("--split", type=int, default=0, help="seed of the one split of the data")
    asked.add_argument("--seed", type=int, default=0, help="seed of the draws")
    asked.add_argument("--json", type=Path, help="keep the numbers in this file")
    given = asked.parse_args()
    warnings.simplefilter("ignore", tn.TruenessWarning)
    y, p = scores(given.split)
    kept: dict[str, dict[str, Any]] = {}
    for n in given.n:
        print(f"\n{n:,} rows for the calibrator, 5,000 for the test, {given.runs:,} runs\n")
        print("| method | V(0.03) | V(0.05) | published | V(0.1) | area | all within 0.05 | all within 0.1 |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for name, (calibrator, bins) in METHODS.items():
            options = {"n_fit": n, "n_test": 5_000, "runs": given.runs, "bins": bins, "seed": given.seed}
            found = validity_runs(calibrator, y, p, **options)
            kept.setdefault(str(n), {})[name] = {
                "marginal": found(0.05),
                "error": found.error_at(0.05),
                "conditional": found.conditional(0.1),
                "area": found.area,
            }
            print(f"| {name} | {row(found, PUBLISHED.get((name, n), ''))} |", flush=True)
    if given.json:
        given.json.write_text(json.dumps(kept, indent=1))


def row(found: tn.results.ValidityRuns, published: str) -> str:
    at = [f"{found(epsilon):.2f} ± {found.error_at(epsilon):.2f}" for epsilon in (0.03, 0.05, 0.1)]
    every = [f"{found.conditional(epsilon):.2f}" for epsilon in (0.05, 0.1)]
    return " | ".join([*at[:2], published, at[2], f"{found.area:.4f}", *every])


if __name__ == "__main__":
    main()
