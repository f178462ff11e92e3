"""Temperature scaling of 1,000-class logits against scikit-learn's and probmetrics'.

Each contender gets float32 logits in the form it takes most directly. All must find the same temperature (the peers
work in float32, so to one part in a thousand). A peer that is not installed is left out.
"""

from collections.abc import Callable

import numpy as np
from benchmark import Page, case
from timing import Line, Pace, race_or_fail, time_table

from trueness.recalibrate import TemperatureScaling

RATIO_BAR = 40.0
TRUE_BETA = 0.6


def logits(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident logits: labels are drawn from 0.6 times them."""
    rng = np.random.default_rng(0)
    Z = 2 * rng.standard_normal((n, n_classes), dtype=np.float32)
    y = np.empty(n, np.int64)
    for i in range(0, n, 1_000):
        noise = rng.gumbel(size=Z[i : i + 1_000].shape)
        y[i : i + 1_000] = (TRUE_BETA * Z[i : i + 1_000] + noise).argmax(axis=1)
    return Z, y


def ours(Z: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    return lambda: 1 / TemperatureScaling(from_logits=True).fit(Z, y).temperature_


def scikit_learn(Z: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    from sklearn.calibration import _TemperatureScaling

    return lambda: float(_TemperatureScaling().fit(Z, y).beta_)


def probmetrics(Z: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    import torch
    from probmetrics.calibrators import TemperatureScalingCalibrator
    from probmetrics.distributions import CategoricalLogits

    given, labels = CategoricalLogits(torch.from_numpy(Z)), torch.from_numpy(y)

    def fit() -> float:
        calibrator = TemperatureScalingCalibrator()
        calibrator.fit_torch(y_pred=given, y_true_labels=labels)
        return float(calibrator.invtemp_)

    return fit


PEERS = {"scikit-learn": scikit_learn, "probmetrics": probmetrics}


@case("temperature", "temperature scaling of 1,000-class logits: fit", "5 min, 2 GB")
def temperature(page: Page, quick: bool, *, rows: int = 0, once: bool = False) -> None:
    """With `once`, calls of more than 2 s run once, before the rounds."""
    n, n_classes = rows or (5_000 if quick else 50_000), 1_000
    Z, y = logits(n, n_classes)
    calls = {"trueness": ours(Z, y)}
    for name, make in PEERS.items():
        try:
            calls[name] = make(Z, y)
        except ImportError as error:
            page.text(f"{name} is left out: {error}.")
    found = race_or_fail(calls, Pace(rounds=3, fewest=3, slow_s=2.0 if once else 120.0))
    own = found["trueness"]
    lines = []
    for name, samples in found.items():
        np.testing.assert_allclose(samples.result, own.result, rtol=1e-3, err_msg=name)
        against = None if samples is own else own
        value = f"T = {1 / samples.result:.6f}"
        lines.append(
            Line(name, samples, against=against, at_least=against and RATIO_BAR, value=value)
        )
    time_table(page, f"fit of a temperature, {n:,} × {n_classes:,}", lines, judged=not quick)
