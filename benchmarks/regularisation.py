"""How strong the default penalties of matrix and Dirichlet scaling should be, by cross-validation.

    TRUENESS_DATA=… python benchmarks/regularisation.py           # a minute or two
    TRUENESS_DATA=… python benchmarks/regularisation.py --test    # and the log loss of rows that chose nothing

Every penalty is fitted on four fifths of the rows and judged by the log loss of the others: on the validation rows of
CIFAR-10 logits (all of them, and a tenth) and on simulated scores. A cell is what the penalty loses against the best
one of its row, in thousandths; the default is the penalty with the smallest mean. The test rows of CIFAR-10 take no
part in the choice. Without the data the simulations stand alone.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import StratifiedKFold

from trueness import TruenessWarning, simulate
from trueness.recalibrate import Calibrator, DirichletCalibration, MatrixScaling

FILE = "cifar10_resnet50_logits.npz"
PENALTIES = {"MatrixScaling(l2)": (1e-4, 1e-3, 1e-2, 0.1, 1.0), "DirichletCalibration(odir)": (0.1, 1.0, 10, 100, 1000)}
FOLDS = 5


class Rows(NamedTuple):
    """Scores, what they are, and classes."""

    scores: np.ndarray
    input: str
    y: np.ndarray


def made(name: str, penalty: float, rows: Rows) -> Calibrator:
    if name.startswith("Matrix"):
        return MatrixScaling(l2=penalty, input=rows.input)
    return DirichletCalibration(odir=penalty, input=rows.input)


def data_sets() -> Iterator[tuple[str, Rows]]:
    cifar = cifar10("val")
    if cifar is not None:
        yield "CIFAR-10, 5,000 validation rows", cifar
        yield "CIFAR-10, 500 of them", Rows(cifar.scores[::10], cifar.input, cifar.y[::10])
    for n, n_classes in ((1000, 3), (1000, 10), (5000, 10)):
        for name, truth in truths(n_classes).items():
            d = simulate.multiclass(n, n_classes, alpha=0.3, distortion=truth, seed=n_classes)
            yield f"simulated, {n:,} rows, {n_classes} classes, {name}", Rows(d.y_prob, "probabilities", d.y_true)
        yield f"simulated, {n:,} rows, {n_classes} classes, some of them rarer", rarer(n, n_classes)


def truths(n_classes: int) -> dict[str, simulate.Temperature | simulate.LabelNoise]:
    """Scores that are too bold, labels that are noise now and then, and classes that are taken for each other."""
    next_class = np.roll(np.eye(n_classes), 1, axis=1)
    return {
        "temperature 2": simulate.Temperature(2.0),
        "label noise": simulate.LabelNoise(0.2),
        "confused classes": simulate.LabelNoise(0.7 * np.eye(n_classes) + 0.3 * next_class),
    }


def rarer(n: int, n_classes: int) -> Rows:
    """Calibrated scores, of which half the rows of the first half of the classes were lost: their log-odds shift."""
    d = simulate.multiclass(2 * n, n_classes, alpha=0.3, seed=n_classes)
    lost = (d.y_true < n_classes // 2) & (np.random.default_rng(n).random(2 * n) < 0.5)
    return Rows(d.y_prob[~lost][:n], "probabilities", d.y_true[~lost][:n])


def cifar10(part: str) -> Rows | None:
    path = Path(os.environ.get("TRUENESS_DATA", "")) / FILE
    if not path.is_file():
        return None
    with np.load(path) as data:
        return Rows(data[f"{part}_logits"], "logits", data[f"{part}_labels"].astype(np.int64))


def held_out_loss(make: Callable[[], Calibrator], rows: Rows) -> float:
    """The mean log loss of rows in folds that the map was not fitted on."""
    found = np.empty(rows.scores.shape)
    for train, test in StratifiedKFold(FOLDS).split(rows.scores, rows.y):
        found[test] = make().fit(rows.scores[train], rows.y[train]).predict(rows.scores[test])
    return loss_of(rows.y, found)


def loss_of(y: np.ndarray, p: np.ndarray) -> float:
    return float(-np.log(p[np.arange(y.size), y]).mean())


def table(name: str) -> float:
    """Print what each penalty loses on each data set; the penalty that loses least."""
    penalties = PENALTIES[name]
    print(f"| {name}: log loss above the best, × 1,000 | " + " | ".join(f"{p:g}" for p in penalties) + " |")
    print("|---" * (1 + len(penalties)) + "|")
    every = []
    for title, rows in data_sets():
        losses = np.array([held_out_loss(lambda p=p, rows=rows: made(name, p, rows), rows) for p in penalties])
        every.append(1000 * (losses - losses.min()))
        print(f"| {title} | " + " | ".join(f"{v:.2f}" for v in every[-1]) + " |", flush=True)
    mean = np.mean(every, axis=0)
    print("| mean | " + " | ".join(f"{v:.2f}" for v in mean) + " |\n")
    return penalties[int(np.argmin(mean))]


def report_test(chosen: dict[str, float]) -> None:
    val, test = cifar10("val"), cifar10("test")
    if val is None or test is None:
        raise SystemExit(f"set TRUENESS_DATA to a folder that has {FILE}")
    logits = test.scores.astype(np.float64)
    plain = np.exp(logits - logits.max(axis=1, keepdims=True))
    print(f"CIFAR-10 test rows: log loss {loss_of(test.y, plain / plain.sum(axis=1, keepdims=True)):.4f} as they are")
    for name, penalty in chosen.items():
        found = made(name, penalty, val).fit(val.scores, val.y).predict(test.scores)
        print(f"  {loss_of(test.y, found):.4f} after {name} = {penalty:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--test", action="store_true", help="also report the test rows of CIFAR-10")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", TruenessWarning)
    chosen = {name: table(name) for name in PENALTIES}
    for name, penalty in chosen.items():
        print(f"{name}: {penalty:g} loses least")
    if asked.test:
        report_test(chosen)


if __name__ == "__main__":
    main()
