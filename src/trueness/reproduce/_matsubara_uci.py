"""Five models on ten data sets of few events (Tables 3, 4 and 14)."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness.reproduce._experiment import Experiment, Outcome, Piece, Size
from trueness.reproduce._matsubara_benchmark import FILES, MODELS, predictions, split
from trueness.reproduce._matsubara_beside import by_both
from trueness.reproduce._matsubara_procedure import Limits, by_code, by_text
from trueness.reproduce._matsubara_published import SIX, UCI, UCI_TEST, read
from trueness.reproduce._paper import MATSUBARA
from trueness.reproduce._table import Row, Table

__all__ = ["TABLES_UCI", "fitted"]

_QUICK = (("abalone", "spambase", "mammography"), ("LR", "GB"))
_SOURCE = "Tables 3, 4 and 14; the digits from the authors' UCI/*.csv"


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


def _pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # the authors' seeds are part of the protocol
    names, models = (tuple(FILES), MODELS) if size == "full" else _QUICK
    return [Piece(f"{name}-{model}", fitted, {"data": name, "model": model}) for name in names for model in models]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    published = {name: read(block, SIX) for name, block in UCI.items()}
    lines = []
    for piece, found in results.items():
        name, model = piece.rsplit("-", 1)
        ours = {key: {measure: found[key][measure] for measure in SIX} for key in ("code", "text")}
        lines.append(((name, model), ours, published[name][model]))
    return Outcome((_rows(results), *by_both("Tables 3, 4 and 14", _SOURCE, ("data", "model"), lines)))


def _rows(results: Mapping[str, Any]) -> Table:
    found = {piece.rsplit("-", 1)[0]: one for piece, one in results.items()}
    rows = []
    for name, one in found.items():
        for what, published in zip(("rows", "events"), UCI_TEST[name], strict=True):
            rows.append(Row((name, what), one[what], published))
    source = "printed by the authors' 02_UCI.ipynb"
    return Table("Test rows, and events among them", source, ("data", "number"), tuple(rows), digits=0, across="number")


TABLES_UCI = Experiment(
    name="matsubara-tables-3-4-14",
    paper=MATSUBARA,
    covers="Tables 3, 4 and 14",
    title="five models on ten data sets of few events",
    pieces=_pieces,
    assemble=_assemble,
    minutes=20,
    needs=tuple(FILES.values()),
)
