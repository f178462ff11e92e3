"""Five models on ten real data sets, nine of them imbalanced (Matsubara et al. 2023, Tables 3, 4 and 14).

The data sets are those of imbalanced-learn's benchmark and spambase, read and split as the authors did.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import numpy as np

from trueness.errors import InputError
from trueness.typing import Floats, Ints
from trueness_papers.experiment import (
    MATSUBARA,
    Experiment,
    Outcome,
    Picture,
    Piece,
    Size,
    data_file,
)
from trueness_papers.matsubara.diagrams import rejection_diagram, reliability_diagrams
from trueness_papers.matsubara.procedures import (
    ROUNDING,
    Line,
    Options,
    by_both,
    comparison,
    tce_variant,
)
from trueness_papers.matsubara.published import (
    SIX,
    UCI,
    UCI_PRINTED,
    UCI_TEST,
    WITHOUT_QUANTILE,
    read,
    read_printed,
)
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
        raise InputError(
            file, "must contain numeric arrays `data` and `label`", f"got {reason}"
        ) from None
    if x.ndim != 2 or label.shape != x.shape[:1] or not np.isin(label, (-1, 1)).all():
        got = f"got shapes {x.shape} and {label.shape}, labels {np.unique(label)[:4].tolist()}"
        raise InputError(
            file, "must contain a matrix `data` and a `label` of −1 or 1 for each row", got
        )
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
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # has no types

    if model == "LR":
        return logistic_scores(data.x_train, data.y_train, data.x_test)
    # One thread: sums of several threads depend on their number.
    with catch_warnings(), threadpool_limits(1):
        # scikit-learn 1.9 deprecates SVC's own probabilities, which the authors used.
        filterwarnings(
            "ignore", message="The `probability` parameter was deprecated", category=FutureWarning
        )
        scores: Floats = (
            _model(model).fit(data.x_train, data.y_train).predict_proba(data.x_test)[:, 1]
        )
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
# Random orders of rows with equal scores.
_ORDERS = 100
_TESTED = ("TCE(P)", "TCE(Q)")


def measure_model(data: str, model: str) -> dict[str, Any]:
    """The measures of one model on the test rows of one data set, by both procedures and by order of equal scores."""
    parts = load_split(data)
    p, y = predict(model, parts), parts.y_test
    options = Options(y.size // 20, y.size // 5)
    return {
        **by_both(y, p, options),
        "rows": int(y.size),
        "events": int(y.sum()),
        "tied": int(y.size - _singles(p)),
        "row order": tce_variant(y, p, options, ties="rows"),
        "printed end": tce_variant(y, p, options, end="text"),
        "random orders": _random_orders(y, p, options),
    }


def _singles(p: Floats) -> int:
    """Rows whose score no other row has."""
    return int((np.unique(p, return_counts=True)[1] == 1).sum())


def _random_orders(y: Ints, p: Floats, options: Options) -> dict[str, list[float]]:
    rng = np.random.default_rng(0)
    orders = (rng.permutation(y.size) for _ in range(_ORDERS))
    found = [tce_variant(y[order], p[order], options, ties="rows") for order in orders]
    return {measure: [one[measure] for one in found] for measure in _TESTED}


def _pieces(name: str, size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # the seeds are the authors'
    return [
        Piece(model, measure_model, {"data": name, "model": model})
        for model in (MODELS if size == "full" else _QUICK)
    ]


def _assemble(name: str, results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    authors = read(UCI[name], SIX)
    printed = (
        read_printed(UCI_PRINTED[name], WITHOUT_QUANTILE)
        if name in UCI_PRINTED
        else read_printed(UCI[name], SIX)
    )
    lines = []
    for model, found in results.items():
        text, code = ({measure: found[key][measure] for measure in SIX} for key in ("text", "code"))
        line = Line((model,), text, code, authors[model], printed[model])
        lines.append(line._replace(note=_reason(line, found)))
    title, source = f"Table {_TABLES.get(name, 14)}, {name}", f"authors' code: UCI/{name}.csv"
    table = comparison(title, f"Table {_TABLES.get(name, 14)}; {source}", ("model",), lines)
    return Outcome((_rows(name, results), table, *_orders(results)), _pictures(name))


def _reason(line: Line, found: Mapping[str, Any]) -> str:
    """Why our numbers differ; empty if they do not."""

    def differ(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
        return any(abs(value - other[measure]) > ROUNDING for measure, value in one.items())

    reasons = []
    if differ(line.code, line.authors):
        reasons.append(f"{line.labels[0]} of another version of scikit-learn")
    by_the_text = []
    if differ(line.text, found["blocks"]):
        by_the_text.append("neighbouring blocks of equal rate are one bin")
    if differ(line.code, found["blocks"]):
        kept = f"the {found['tied']:,} rows with equal scores are kept together"
        by_the_text.append(
            kept if found["tied"] else "quantile bins are cut without rounding errors"
        )
    if by_the_text:
        reasons.append(f"by the text, {' and '.join(by_the_text)}")
    if differ(found["printed end"], _tested(line.code)):
        reasons.append("the code's last bin exceeds N_max")
    return "; ".join(reasons)


def _tested(found: Mapping[str, float]) -> dict[str, float]:
    return {measure: found[measure] for measure in _TESTED}


def _orders(results: Mapping[str, Any]) -> tuple[Table, ...]:
    rows = []
    for model, measure in product(results, _TESTED):
        found = results[model]
        orders = found["random orders"][measure]
        values = {
            "NumPy's sort (the code)": found["code"][measure],
            "NumPy's sort, N_max as printed": found["printed end"][measure],
            "row order": found["row order"][measure],
            f"lowest of {_ORDERS} orders": min(orders),
            f"highest of {_ORDERS} orders": max(orders),
            "pooled (this library)": found["text"][measure],
        }
        labels = (model, f"{found['tied']:,}", measure)
        matters = found["tied"] or found["printed end"] != _tested(found["code"])
        rows += [Row((*labels, order), value) for order, value in values.items() if matters]
    table = Table(
        "The same numbers by the order of rows with equal scores, and with a last bin within N_max",
        "",
        ("model", "rows with equal scores", "measure", "order"),
        tuple(rows),
        digits=2,
        note="If equal scores are split, TCE depends on the order of the rows, which carries no information; pooled, "
        "it does not. Models without equal scores are left out.",
        across="order",
    )
    return (table,) if rows else ()


def _rows(name: str, results: Mapping[str, Any]) -> Table:
    found = next(iter(results.values()))
    rows = [
        Row((what,), authors=number, code=found[what])
        for what, number in zip(("rows", "events"), UCI_TEST[name], strict=True)
    ]
    return Table(
        "Test set", "", ("number of",), tuple(rows), digits=0, note="Authors' code: 02_UCI.ipynb."
    )


def _pictures(name: str) -> tuple[Picture, ...]:
    """Figures 1, 5 and 6."""
    pictures = []
    for model in _DRAWN.get(name, ()):
        figure = {"LR": "Figure 5", "GB": "Figure 6"}[model]
        figure = "Figures 1 and 6" if (name, model) == ("abalone", "GB") else figure
        caption = f"{name}, {model}: test-based reliability diagram, as {figure} (left)."
        pictures.append(Picture(f"{model}-tce", caption, partial(_diagram, name, model)))
        caption = (
            f"{name}, {model}: reliability diagrams of ECE and ACE, as {figure} (middle and right)."
        )
        pictures.append(Picture(f"{model}-ece-ace", caption, partial(_reliability, name, model)))
    return tuple(pictures)


_DRAWN = {
    "abalone": ("LR", "GB"),
    "coil_2000": ("LR", "GB"),
    "isolet": ("LR", "GB"),
    "webpage": ("LR", "GB"),
}


def _diagram(name: str, model: str) -> Any:
    data = load_split(name)
    return rejection_diagram(data.y_test, predict(model, data), f"{name}, {model}")


def _reliability(name: str, model: str) -> Any:
    data = load_split(name)
    return reliability_diagrams(data.y_test, predict(model, data))


_NAMES = {
    "spambase": "matsubara-uci-spambase",
    "optical_digits": "matsubara-uci-optical-digits",
    "satimage": "matsubara-uci-satimage",
    "pen_digits": "matsubara-uci-pen-digits",
    "abalone": "matsubara-uci-abalone",
    "isolet": "matsubara-uci-isolet",
    "coil_2000": "matsubara-uci-coil-2000",
    "letter_img": "matsubara-uci-letter-img",
    "webpage": "matsubara-uci-webpage",
    "mammography": "matsubara-uci-mammography",
}
_TABLES = {"abalone": 3, "webpage": 4}
# Estimated from the numbers of rows and features.
_MINUTES = {"isolet": 4.0, "webpage": 10.0, "satimage": 1.0, "coil_2000": 2.0, "letter_img": 1.0}


def _experiment(name: str) -> Experiment:
    figures = f" and Figures {'1, 5' if name == 'abalone' else '5'} and 6" if name in _DRAWN else ""
    return Experiment(
        name=_NAMES[name],
        paper=MATSUBARA,
        covers=f"Table {_TABLES.get(name, 14)}{figures}, {name}",
        title="five models on real data",
        pieces=partial(_pieces, name),
        assemble=partial(_assemble, name),
        minutes=_MINUTES.get(name, 0.5),
        needs=(FILES[name],),
    )


UCI_EXPERIMENTS = tuple(map(_experiment, FILES))
