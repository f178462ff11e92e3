"""Confidence ECE from logits against a NumPy softmax and torchmetrics, as a Markdown table.

    python benchmarks/logits.py            # 50,000 rows of 1,000 classes: a minute, 1.5 GB
    python benchmarks/logits.py --quick    # a tenth of the rows

Every contender is given the same float32 logits. The calls take turns in shuffled order, and ratios are taken within a
round. A NumPy softmax, in float32 or in float64, ends with the confidence of each row and whether it was right; it has
not summed a bin yet. torchmetrics takes the softmax itself. All must find the same value or the script ends with an
error: in float64 to 10⁻¹², from a softmax in float32 to 10⁻⁵, and torchmetrics to 10⁻⁴, since it also adds up the
scores of a bin in float32 (adding them so in our bins gives its value). A peer that is not installed is named and left
out.
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from harness.lines import Line, print_head, print_lines, raced
from harness.rounds import Pace

import trueness as tn

BINS = 10
BAR = 3.0


def logits(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of which one is far above the others, in half of the rows for the class that came."""
    rng = np.random.default_rng(0)
    Z = 2 * rng.standard_normal((n, n_classes), dtype=np.float32)
    y = rng.integers(0, n_classes, n)
    right = rng.random(n) < 0.5
    Z[np.arange(n), np.where(right, y, rng.integers(0, n_classes, n))] += rng.uniform(0, 20, n).astype(np.float32)
    return y, Z


def softmax(y: np.ndarray, Z: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and hits, as few steps as NumPy allows."""
    P = np.subtract(Z, Z.max(axis=1, keepdims=True), dtype=dtype)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return P.max(axis=1), P.argmax(axis=1) == y


def torchmetrics(y: np.ndarray, Z: np.ndarray) -> Callable[[], float]:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    # It asks whether the scores are probabilities, and takes the softmax if they are not.
    scores, labels = torch.from_numpy(Z), torch.from_numpy(y)
    return lambda: multiclass_calibration_error(scores, labels, Z.shape[1], n_bins=BINS, validate_args=False).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    n, n_classes = 5_000 if parser.parse_args().quick else 50_000, 1_000
    y, Z = logits(n, n_classes)
    calls: dict[str, Callable[[], object]] = {
        "trueness": lambda: tn.ece(y, Z, bins=BINS, kind="confidence", from_logits=True),
        "class by class": lambda: tn.ece(y, Z, bins=BINS, from_logits=True),
        "NumPy softmax, float32": lambda: softmax(y, Z, np.float32),
        "NumPy softmax, float64": lambda: softmax(y, Z, np.float64),
    }
    if find_spec("torchmetrics") is None:
        print("torchmetrics is not installed, and left out.\n")
    else:
        calls["torchmetrics"] = torchmetrics(y, Z)
    check(calls, y, Z)
    print(f"{n:,} rows of {n_classes:,} classes, float32.\n")
    found = raced(calls, Pace(rounds=9))
    ours = found["trueness"]
    print_head()
    print_lines(
        [
            Line("`tn.ece(kind='confidence', from_logits=True)`", ours),
            Line("`tn.ece(from_logits=True)`, class by class", found["class by class"], against=ours),
            Line("NumPy softmax in float32, without bins", found["NumPy softmax, float32"], against=ours),
            Line("NumPy softmax in float64, without bins", found["NumPy softmax, float64"], against=ours),
            *(
                Line("torchmetrics", found["torchmetrics"], against=ours, at_least=BAR)
                for _ in range("torchmetrics" in found)
            ),
        ]
    )


def check(calls: dict[str, Callable[[], object]], y: np.ndarray, Z: np.ndarray) -> None:
    """The same value by every way, or an end."""
    value = calls["trueness"]()
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        confidence, correct = softmax(y, Z, dtype)
        other = tn.ece(correct, np.minimum(confidence, 1), bins=BINS)
        if abs(other - value) > tolerance:
            raise SystemExit(f"NumPy's softmax in {dtype.__name__} has {other}, trueness {value}")
    if "torchmetrics" in calls and abs(calls["torchmetrics"]() - value) > 1e-4:
        raise SystemExit(f"torchmetrics has {calls['torchmetrics']()}, trueness {value}")


if __name__ == "__main__":
    main()
