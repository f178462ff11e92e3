"""Confidence ECE from logits against a NumPy softmax and torchmetrics.

Every contender gets the same float32 logits. A NumPy softmax, in float32 or float64, ends with the confidence of each
row and whether it was correct, without summing bins; torchmetrics takes the softmax itself. All must agree: in float64
to 10⁻¹², from a softmax in float32 to 10⁻⁵, and torchmetrics, which also sums bins in float32, to 10⁻⁴.
"""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from benchmark import Page, case
from timing import Line, Pace, race_or_fail, time_table

import trueness as tn

BINS = 10
BAR = 3.0


def logits(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits with one far above the others: in half of the rows that of the true class."""
    rng = np.random.default_rng(0)
    Z = 2 * rng.standard_normal((n, n_classes), dtype=np.float32)
    y = rng.integers(0, n_classes, n)
    right = rng.random(n) < 0.5
    Z[np.arange(n), np.where(right, y, rng.integers(0, n_classes, n))] += rng.uniform(
        0, 20, n
    ).astype(np.float32)
    return y, Z


def softmax(y: np.ndarray, Z: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Confidence and correctness, in as few steps as NumPy allows."""
    P = np.subtract(Z, Z.max(axis=1, keepdims=True), dtype=dtype)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return P.max(axis=1), P.argmax(axis=1) == y


def torchmetrics(y: np.ndarray, Z: np.ndarray) -> Callable[[], float]:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    # It takes the softmax if the scores are not probabilities.
    scores, labels = torch.from_numpy(Z), torch.from_numpy(y)
    return lambda: multiclass_calibration_error(
        scores, labels, Z.shape[1], n_bins=BINS, validate_args=False
    ).item()


def check(calls: dict[str, Callable[[], object]], y: np.ndarray, Z: np.ndarray) -> None:
    """Stop unless all contenders agree."""
    value = calls["trueness"]()
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        confidence, correct = softmax(y, Z, dtype)
        other = tn.ece(correct, np.minimum(confidence, 1), bins=BINS)
        if abs(other - value) > tolerance:
            raise SystemExit(f"NumPy's softmax in {dtype.__name__} has {other}, trueness {value}")
    if "torchmetrics" in calls and abs(calls["torchmetrics"]() - value) > 1e-4:
        raise SystemExit(f"torchmetrics has {calls['torchmetrics']()}, trueness {value}")


@case("logits", "confidence ECE of 1,000-class logits", "1 min, 1.5 GB")
def ece_of_logits(page: Page, quick: bool, *, rows: int = 0) -> None:
    n, n_classes = rows or (5_000 if quick else 50_000), 1_000
    y, Z = logits(n, n_classes)
    calls: dict[str, Callable[[], object]] = {
        "trueness": lambda: tn.ece(y, Z, bins=BINS, kind="confidence", from_logits=True),
        "class by class": lambda: tn.ece(y, Z, bins=BINS, from_logits=True),
        "NumPy softmax, float32": lambda: softmax(y, Z, np.float32),
        "NumPy softmax, float64": lambda: softmax(y, Z, np.float64),
    }
    if find_spec("torchmetrics") is None:
        page.text("torchmetrics is not installed, and left out.")
    else:
        calls["torchmetrics"] = torchmetrics(y, Z)
    check(calls, y, Z)
    found = race_or_fail(calls, Pace(rounds=9))
    ours = found["trueness"]
    lines = [
        Line("`tn.ece(kind='confidence', from_logits=True)`", ours),
        Line("`tn.ece(from_logits=True)`, class by class", found["class by class"], against=ours),
        Line(
            "NumPy softmax in float32, without bins", found["NumPy softmax, float32"], against=ours
        ),
        Line(
            "NumPy softmax in float64, without bins", found["NumPy softmax, float64"], against=ours
        ),
    ]
    if "torchmetrics" in found:
        lines.append(Line("torchmetrics", found["torchmetrics"], against=ours, at_least=BAR))
    time_table(page, f"{n:,} rows of {n_classes:,} classes, float32", lines, judged=not quick)
