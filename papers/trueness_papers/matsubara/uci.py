"""Five models on ten imbalanced data sets (Matsubara et al. 2023, Tables 3, 4 and 14).

The data sets are those of imbalanced-learn's benchmark and spambase, read and split as the authors did.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import numpy as np

from trueness.errors import InputError
from trueness.typing import Floats, Ints
from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Piece, Size, data_file
from trueness_papers.matsubara.procedures import Options, by_both, tables_by_both
from trueness_papers.matsubara.published import SIX, UCI, UCI_TEST, read
from trueness_papers.matsubara.simulation import logistic_scores
from trueness_papers.record import Row, Table

__all__ = ["FILES", "MODELS", "UCI_EXPERIMENTS", "Split", "load_split", "predict"]

# The archive of imbalanced-learn's benchmark (Ding 2011) has a file x<number>data.npz per data set.
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


class Split(NamedTuple):
    """Features and labels, 0 or 1, for training and for test."""

    x_train: Floats
    x_test: Floats
    y_train: Ints
    y_test: Ints


def load_split(name: str) -> Split:
    """Standardised features; a random 30 % of the rows (seed 0) are the test set."""
    from sklearn.model_selection import train_test_split

    if name == "spambase":
        x, y = _spambase()
        spread = x.std(axis=0, ddof=1)
    else:
        x, y = _benchmark(FILES[name])
        spread = x.std(axis=0)
    # A constant feature becomes 0.
    scaled = (x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)
    return Split(*train_test_split(scaled, y, test_size=0.3, random_state=0))


def _benchmark(file: str) -> tuple[Floats, Ints]:
    try:
        with np.load(data_file(file), allow_pickle=False) as data:
            x, label = np.asarray(data["data"], dtype=np.float64), np.asarray(data["label"])
    except (KeyError, ValueError, TypeError, OSError) as reason:
        raise InputError(file, "must contain numeric arrays `data` and `label`", f"got {reason}") from None
    if x.ndim != 2 or label.shape != x.shape[:1] or not np.isin(label, (-1, 1)).all():
        got = f"got shapes {x.shape} and {label.shape}, labels {np.unique(label)[:4].tolist()}"
        raise InputError(file, "must contain a matrix `data` and a `label` of −1 or 1 for each row", got)
    return x, (label == 1).astype(np.int64)


def _spambase() -> tuple[Floats, Ints]:
    file = FILES["spambase"]
    try:
        table = np.loadtxt(data_file(file), delimiter=",", ndmin=2)
    except ValueError as reason:
        raise InputError(file, "must contain comma-separated numbers", f"got {reason}") from None
    if table.shape[1] != _SPAMBASE_COLUMNS or not np.isin(table[:, -1], (0, 1)).all():
        got = f"got {table.shape[1]} columns, the last one with {np.unique(table[:, -1])[:4].tolist()}"
        raise InputError(file, f"must have {_SPAMBASE_COLUMNS} columns, the last one 0 or 1", got)
    return table[:, :-1], table[:, -1].astype(np.int64)


def predict(model: str, data: Split) -> Floats:
    """P(Y = 1) of the test rows by one of the five models."""
    if model == "LR":
        return logistic_scores(data.x_train, data.y_train, data.x_test)
    with catch_warnings():
        # scikit-learn 1.9 deprecates SVC's own probabilities, which the authors used.
        filterwarnings("ignore", message="The `probability` parameter was deprecated", category=FutureWarning)
        scores: Floats = _model(model).fit(data.x_train, data.y_train).predict_proba(data.x_test)[:, 1]
    return scores


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


_QUICK = ("LR", "GB")


def measure_model(data: str, model: str) -> dict[str, Any]:
    """The measures of one model on the test rows of one data set, by both procedures."""
    parts = load_split(data)
    p, y = predict(model, parts), parts.y_test
    measures = by_both(y, p, Options(y.size // 20, y.size // 5))
    return {**measures, "rows": int(y.size), "events": int(y.sum())}


def _pieces(name: str, size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # the seeds are the authors'
    return [
        Piece(model, measure_model, {"data": name, "model": model}) for model in (MODELS if size == "full" else _QUICK)
    ]


def _assemble(name: str, results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    published = read(UCI[name], SIX)
    lines = []
    for model, found in results.items():
        ours = {key: {measure: found[key][measure] for measure in SIX} for key in ("code", "text")}
        lines.append(((model,), ours, published[model]))
    source = f"Tables 3, 4 and 14; digits from the authors' UCI/{name}.csv"
    return Outcome((_rows(name, results), *tables_by_both(f"Tables 3, 4 and 14, {name}", source, ("model",), lines)))


def _rows(name: str, results: Mapping[str, Any]) -> Table:
    found = next(iter(results.values()))
    rows = [Row((what,), found[what], number) for what, number in zip(("rows", "events"), UCI_TEST[name], strict=True)]
    return Table("Test set", "printed by the authors' 02_UCI.ipynb", ("number of",), tuple(rows), digits=0)


# Estimated from the numbers of rows and features.
_MINUTES = {"isolet": 4.0, "webpage": 10.0}


def _experiment(name: str) -> Experiment:
    return Experiment(
        name=f"matsubara-uci-{name.replace('_', '-')}",
        paper=MATSUBARA,
        covers=f"Tables 3, 4 and 14, {name}",
        title="five models on imbalanced data",
        pieces=partial(_pieces, name),
        assemble=partial(_assemble, name),
        minutes=_MINUTES.get(name, 0.5),
        needs=(FILES[name],),
    )


UCI_EXPERIMENTS = tuple(map(_experiment, FILES))
