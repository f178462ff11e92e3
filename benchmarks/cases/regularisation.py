"""Default penalties of matrix and Dirichlet scaling, by cross-validation.

Every penalty is fitted on four fifths of the rows and judged by the log loss of the others: on the validation rows of
CIFAR-10 logits (all of them, and a tenth; they need TRUENESS_DATA) and on simulated scores. A cell is the loss above
that of the best penalty of its row, in thousandths; the default is the penalty with the smallest mean. The test rows of
CIFAR-10 are not used for the choice.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmark import Page, case
from sklearn.model_selection import StratifiedKFold

from trueness import simulate
from trueness.recalibrate import Calibrator, DirichletCalibration, MatrixScaling

FILE = "cifar10_resnet50_logits.npz"
PENALTIES = {
    "MatrixScaling(l2)": (1e-4, 1e-3, 1e-2, 0.1, 1.0),
    "DirichletCalibration(odir)": (0.1, 1.0, 10, 100, 1000),
}
FOLDS = 5


class Rows(NamedTuple):
    """Scores, their kind, and classes."""

    scores: np.ndarray
    from_logits: bool
    y: np.ndarray


def calibrator(name: str, penalty: float, rows: Rows) -> Calibrator:
    if name.startswith("Matrix"):
        return MatrixScaling(l2=penalty, from_logits=rows.from_logits)
    return DirichletCalibration(odir=penalty, from_logits=rows.from_logits)


def data_sets() -> Iterator[tuple[str, Rows]]:
    cifar = cifar10("val")
    if cifar is not None:
        yield "CIFAR-10, 5,000 validation rows", cifar
        yield "CIFAR-10, 500 of them", Rows(cifar.scores[::10], cifar.from_logits, cifar.y[::10])
    for n, n_classes in ((1000, 3), (1000, 10), (5000, 10)):
        for name, truth in truths(n_classes).items():
            d = simulate.multiclass(n, n_classes, alpha=0.3, distortion=truth, seed=n_classes)
            yield (
                f"simulated, {n:,} rows, {n_classes} classes, {name}",
                Rows(d.y_prob, False, d.y_true),
            )
        yield f"simulated, {n:,} rows, {n_classes} classes, some of them rarer", rarer(n, n_classes)


def truths(n_classes: int) -> dict[str, simulate.Temperature | simulate.LabelNoise]:
    """Overconfident scores, noisy labels, and confused classes."""
    next_class = np.roll(np.eye(n_classes), 1, axis=1)
    return {
        "temperature 2": simulate.Temperature(2.0),
        "label noise": simulate.LabelNoise(0.2),
        "confused classes": simulate.LabelNoise(0.7 * np.eye(n_classes) + 0.3 * next_class),
    }


def rarer(n: int, n_classes: int) -> Rows:
    """Calibrated scores after losing half of the rows of half of the classes, which shifts their log-odds."""
    d = simulate.multiclass(2 * n, n_classes, alpha=0.3, seed=n_classes)
    lost = (d.y_true < n_classes // 2) & (np.random.default_rng(n).random(2 * n) < 0.5)
    return Rows(d.y_prob[~lost][:n], False, d.y_true[~lost][:n])


def cifar10(part: str) -> Rows | None:
    path = Path(os.environ.get("TRUENESS_DATA", "")) / FILE
    if not path.is_file():
        return None
    with np.load(path) as data:
        return Rows(data[f"{part}_logits"], True, data[f"{part}_labels"].astype(np.int64))


def held_out_loss(make: Callable[[], Calibrator], rows: Rows) -> float:
    """Mean log loss on the folds that were not fitted."""
    found = np.empty(rows.scores.shape)
    for train, test in StratifiedKFold(FOLDS).split(rows.scores, rows.y):
        found[test] = make().fit(rows.scores[train], rows.y[train]).predict(rows.scores[test])
    return loss_of(rows.y, found)


def loss_of(y: np.ndarray, p: np.ndarray) -> float:
    return float(-np.log(p[np.arange(y.size), y]).mean())


def compare_penalties(page: Page, name: str, quick: bool) -> float:
    """The loss of each penalty on each data set; returns the best penalty."""
    penalties = PENALTIES[name]
    page.head(f"{name}: log loss above the best, × 1,000", *(f"{p:g}" for p in penalties))
    excess = []
    for title, rows in list(data_sets())[-2 if quick else 0 :]:
        losses = np.array(
            [
                held_out_loss(lambda p=p, rows=rows: calibrator(name, p, rows), rows)
                for p in penalties
            ]
        )
        excess.append(1000 * (losses - losses.min()))
        page.row(title, *(f"{v:.2f}" for v in excess[-1]))
    mean = np.mean(excess, axis=0)
    page.row("mean", *(f"{v:.2f}" for v in mean))
    return penalties[int(np.argmin(mean))]


def report_test(page: Page, chosen: dict[str, float]) -> None:
    val, test = cifar10("val"), cifar10("test")
    if val is None or test is None:
        page.text(f"Test rows: set TRUENESS_DATA to a folder that contains {FILE}.")
        return
    logits = test.scores.astype(np.float64)
    plain = np.exp(logits - logits.max(axis=1, keepdims=True))
    page.head("CIFAR-10 test rows", "log loss")
    page.row("as they are", f"{loss_of(test.y, plain / plain.sum(axis=1, keepdims=True)):.4f}")
    for name, penalty in chosen.items():
        p = calibrator(name, penalty, val).fit(val.scores, val.y).predict(test.scores)
        page.row(f"after {name} = {penalty:g}", f"{loss_of(test.y, p):.4f}")


@case(
    "regularisation", "default penalties of matrix and Dirichlet scaling", "2 min", one_thread=True
)
def regularisation(page: Page, quick: bool, *, test: bool = False) -> None:
    """With `test`, also the log loss of the test rows of CIFAR-10."""
    chosen = {name: compare_penalties(page, name, quick) for name in PENALTIES}
    page.text(
        "Best: " + ", ".join(f"{name} = {penalty:g}" for name, penalty in chosen.items()) + "."
    )
    if test:
        report_test(page, chosen)
