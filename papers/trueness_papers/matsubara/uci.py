"""Five models on ten data sets of few events (Tables 3, 4 and 14)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Piece, Size
from trueness_papers.matsubara.benchmark import FILES, MODELS, predictions, split
from trueness_papers.matsubara.beside import by_both
from trueness_papers.matsubara.procedures import Limits, by_code, by_text
from trueness_papers.matsubara.published import SIX, UCI, UCI_TEST, read
from trueness_papers.record import Row, Table

__all__ = ["UCI_EXPERIMENTS", "fitted"]

_QUICK = ("LR", "GB")


def fitted(data: str, model: str) -> dict[str, Any]:
    """Both procedures on the test rows of one data set, by one model."""
    parts = split(data)
    p, y = predictions(model, parts), parts.y_test
    limits = Limits(y.size // 20, y.size // 5)
    return {
        "code": by_code(y, p, limits),
        "text": by_text(y, p, limits),
        "rows": int(y.size),
        "events": int(y.sum()),
    }


def _pieces(name: str, size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # the seeds are the authors'
    return [Piece(model, fitted, {"data": name, "model": model}) for model in (MODELS if size == "full" else _QUICK)]


def _assemble(name: str, results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    published = read(UCI[name], SIX)
    lines = []
    for model, found in results.items():
        ours = {key: {measure: found[key][measure] for measure in SIX} for key in ("code", "text")}
        lines.append(((model,), ours, published[model]))
    source = f"Tables 3, 4 and 14; the digits from the authors' UCI/{name}.csv"
    return Outcome((_rows(name, results), *by_both(f"Tables 3, 4 and 14, {name}", source, ("model",), lines)))


def _rows(name: str, results: Mapping[str, Any]) -> Table:
    found = next(iter(results.values()))
    rows = [Row((what,), found[what], number) for what, number in zip(("rows", "events"), UCI_TEST[name], strict=True)]
    return Table("The test part", "printed by the authors' 02_UCI.ipynb", ("number of",), tuple(rows), digits=0)


# Minutes of the two large ones from their numbers of rows and features.
_MINUTES = {"isolet": 4.0, "webpage": 10.0}


def _experiment(name: str) -> Experiment:
    return Experiment(
        name=f"matsubara-uci-{name.replace('_', '-')}",
        paper=MATSUBARA,
        covers=f"Tables 3, 4 and 14, {name}",
        title="five models on data of few events",
        pieces=partial(_pieces, name),
        assemble=partial(_assemble, name),
        minutes=_MINUTES.get(name, 0.5),
        needs=(FILES[name],),
    )


UCI_EXPERIMENTS = tuple(map(_experiment, FILES))
