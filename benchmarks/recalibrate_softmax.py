"""Temperature scaling against scikit-learn's and probmetrics', as a Markdown table.

    python benchmarks/recalibrate_softmax.py            # 50,000 rows of 1,000 classes: a few minutes, 2 GB
    python benchmarks/recalibrate_softmax.py --once     # the peers run once, for a machine that has no minutes to spare
    python benchmarks/recalibrate_softmax.py --quick    # a tenth of the rows; the bar is for the full size

Each contender is given float32 logits in the form it takes most directly, and fits once per round; the rounds are
shuffled, and ratios are taken within a round. All must find the same temperature (the peers work in float32, so to a
part in a thousand), or the script ends with an error. A peer that is not installed is named and left out.
"""

import argparse
import statistics
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness.rounds import Pace, Samples, race, ratio

from trueness.recalibrate import TemperatureScaling

RATIO_BAR = 20.0
TRUE_BETA = 0.6


def logits(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits that are too bold: labels are drawn at 0.6 of them."""
    rng = np.random.default_rng(0)
    Z = 2 * rng.standard_normal((n, n_classes), dtype=np.float32)
    y = np.empty(n, np.int64)
    for i in range(0, n, 1_000):
        noise = rng.gumbel(size=Z[i : i + 1_000].shape)
        y[i : i + 1_000] = (TRUE_BETA * Z[i : i + 1_000] + noise).argmax(axis=1)
    return Z, y


def ours(Z: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    return lambda: 1 / TemperatureScaling(input="logits").fit(Z, y).temperature_


def scikit_learn(Z: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    from sklearn.calibration import _TemperatureScaling

    return lambda: float(_TemperatureScaling().fit(Z, y).beta_)


def probmetrics(Z: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    # numba, which probmetrics needs, would take the script coverage.py beside this one for the library of that name.
    here = sys.path.pop(0)
    try:
        import torch
        from probmetrics.calibrators import TemperatureScalingCalibrator
        from probmetrics.distributions import CategoricalLogits
    finally:
        sys.path.insert(0, here)

    given, labels = CategoricalLogits(torch.from_numpy(Z)), torch.from_numpy(y)

    def fit() -> float:
        calibrator = TemperatureScalingCalibrator()
        calibrator.fit_torch(y_pred=given, y_true_labels=labels)
        return float(calibrator.invtemp_)

    return fit


PEERS = {"scikit-learn": scikit_learn, "probmetrics": probmetrics}


def contenders(Z: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], float]]:
    found = {"trueness": ours(Z, y)}
    for name, make in PEERS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = make(Z, y)
        except ImportError as reason:
            print(f"{name} is left out: {reason}")
    return found


def line(name: str, samples: Samples, own: Samples, judged: bool) -> list[str]:
    wall, cpu = (statistics.median(s.values()) for s in (samples.wall, samples.cpu))
    cells = [name, str(len(samples.wall)), f"{wall:.3g} s", f"{cpu:.3g} s", f"{1 / samples.result:.6f}"]
    if samples is own:
        return [*cells, "", "", ""]
    by_wall, by_cpu = ratio(samples.wall, own.wall).median, ratio(samples.cpu, own.cpu).median
    verdict = "pass" if min(by_wall, by_cpu) >= RATIO_BAR else "**FAIL**"
    bar = f"≥ {RATIO_BAR:g}×: {verdict}" if judged else "not at that size"
    return [*cells, f"{by_wall:,.0f}×", f"{by_cpu:,.0f}×", bar]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer rounds")
    parser.add_argument("--once", action="store_true", help="calls of more than 2 s run once, before the rounds")
    options = parser.parse_args()
    quick = options.quick
    n, n_classes = (5_000 if quick else 50_000), 1_000
    Z, y = logits(n, n_classes)
    pace = Pace(rounds=3, fewest=3, slow_s=2.0 if options.once else 120.0)
    found: dict[str, Any] = race(contenders(Z, y), pace)
    own = found["trueness"]
    for name, samples in found.items():
        if samples.error:
            raise SystemExit(f"{name}: {samples.error}")
        np.testing.assert_allclose(samples.result, own.result, rtol=1e-3, err_msg=name)
    head = [f"fit, {n:,} × {n_classes:,}", "rounds", "wall", "CPU", "T", "wall, times ours", "CPU, times ours", "bar"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for name, samples in found.items():
        print("| " + " | ".join(line(name, samples, own, judged=not quick)) + " |")


if __name__ == "__main__":
    main()
