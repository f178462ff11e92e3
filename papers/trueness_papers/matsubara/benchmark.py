"""Ten data sets of few events: the benchmark of imbalanced-learn and spambase, read and split as the authors did."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness_papers.experiment import data_file
from trueness_papers.matsubara.logistic import fitted_scores

__all__ = ["FILES", "MODELS", "Split", "predictions", "split"]

# imbalanced-learn's benchmark (Ding 2011) has a number for every data set, and its archive a file x<number>data.npz.
FILES = {
    "spambase": "spambase.data",
    "optical_digits": "x2data.npz",
    "satimage": "x3data.npz",
    "pen_digits": "x4data.npz",
    "abalone": "x5data.npz",
    "isolet": "x9data.npz",
    "coil_2000": "x15data.npz",
    "letter_img": "x21data.npz",
    "webpage": "x23data.npz",
    "mammography": "x25data.npz",
}
MODELS = ("LR", "SVM", "RF", "GB", "MLP")

_SPAMBASE_COLUMNS = 58

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Split(NamedTuple):
    """Features and labels, 0 or 1, for training and for test."""

    x_train: Floats
    x_test: Floats
    y_train: Ints
    y_test: Ints


def split(name: str) -> Split:
    """Scaled features; 30 % of the rows, drawn with seed 0, are the test."""
    from sklearn.model_selection import train_test_split

    if name == "spambase":
        x, y = _spambase()
        spread = x.std(axis=0, ddof=1)
    else:
        x, y = _benchmark(FILES[name])
        spread = x.std(axis=0)
    # A feature that is the same everywhere stays at 0.
    scaled = (x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)
    return Split(*train_test_split(scaled, y, test_size=0.3, random_state=0))


def _benchmark(file: str) -> tuple[Floats, Ints]:
    try:
        with np.load(data_file(file), allow_pickle=False) as data:
            x, label = np.asarray(data["data"], dtype=np.float64), np.asarray(data["label"])
    except (KeyError, ValueError, TypeError, OSError) as reason:
        raise InputError(f"{file} must hold the arrays `data` and `label` of numbers ({reason}).") from None
    if x.ndim != 2 or label.shape != x.shape[:1] or not np.isin(label, (-1, 1)).all():
        raise InputError(
            f"{file} must hold a table `data` and for every row a `label`, −1 or 1; got shapes {x.shape} and "
            f"{label.shape}, labels {np.unique(label)[:4].tolist()}."
        )
    return x, (label == 1).astype(np.int64)


def _spambase() -> tuple[Floats, Ints]:
    file = FILES["spambase"]
    try:
        table = np.loadtxt(data_file(file), delimiter=",", ndmin=2)
    except ValueError as reason:
        raise InputError(f"{file} must hold numbers, separated by commas ({reason}).") from None
    if table.shape[1] != _SPAMBASE_COLUMNS or not np.isin(table[:, -1], (0, 1)).all():
        raise InputError(
            f"{file} must have {_SPAMBASE_COLUMNS} columns, the last one 0 or 1; got {table.shape[1]} columns, "
            f"the last one with {np.unique(table[:, -1])[:4].tolist()}."
        )
    return table[:, :-1], table[:, -1].astype(np.int64)


def predictions(model: str, data: Split) -> Floats:
    """P(Y = 1) of the test rows, by one of the five models."""
    from warnings import catch_warnings, filterwarnings

    if model == "LR":
        return fitted_scores(data.x_train, data.y_train, data.x_test)
    with catch_warnings():
        # scikit-learn 1.9 announces the end of SVC's own probabilities, which are what the authors used.
        filterwarnings("ignore", message="The `probability` parameter was deprecated", category=FutureWarning)
        found: Floats = _model(model).fit(data.x_train, data.y_train).predict_proba(data.x_test)[:, 1]
    return found


def _model(name: str):  # type: ignore[no-untyped-def]  # scikit-learn has no types
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    return {
        "SVM": SVC(kernel="rbf", probability=True, random_state=0),
        "RF": RandomForestClassifier(max_depth=10, random_state=0),
        "GB": GradientBoostingClassifier(random_state=0),
        "MLP": MLPClassifier(hidden_layer_sizes=(1000,), max_iter=10_000, random_state=0),
    }[name]
