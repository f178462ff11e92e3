"""Bins by PAVA, PAVA-BC and quantiles compared (Matsubara et al. 2023, Table 1 and Figures 2 to 4)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness import BlockIsotonic, EqualMass, Isotonic
from trueness.measure import bin_table
from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.matsubara.procedures import (
    RULES,
    Line,
    comparison,
    errors_by_code,
    errors_by_text,
)
from trueness_papers.matsubara.published import TABLE_1, TABLE_1_PRINTED, read, read_printed
from trueness_papers.matsubara.simulation import authors_rows
from trueness_papers.matsubara.uci import FILES, load_split, predict
from trueness_papers.record import Row, Table

__all__ = ["BINS", "TABLE_ONE"]

_SYNTHETIC = {"prevalence 50 %": 0.5, "prevalence 2 %": 0.02}
_ERRORS = ("total", "average")


def _forest(name: str) -> tuple[Any, Any]:
    data = load_split(name)
    return data.y_test, predict("RF", data)


def _regression(name: str) -> tuple[Any, Any]:
    data = authors_rows(_SYNTHETIC[name], _SYNTHETIC[name])
    return data.y, data.p


_SOURCES: dict[str, Callable[[str], tuple[Any, Any]]] = {
    "forest": _forest,
    "regression": _regression,
}


def estimate_errors(source: str, name: str) -> dict[str, dict[str, list[float]]]:
    """Within-bin variance of the labels over rows and over bins, and the number of bins, by both procedures."""
    y, p = _SOURCES[source](name)
    found = {"code": errors_by_code(y, p), "text": errors_by_text(y, p)}
    numbers = {
        key: {rule: list(errors) for rule, errors in by.items()} for key, by in found.items()
    }
    rates = bin_table(y, p, bins=BlockIsotonic()).rate
    return {**numbers, "falls": {"PAVA-BC": [int((np.diff(rates) < 0).sum())]}}


def _pieces(source: str, names: Sequence[str], size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001
    return [Piece(name, estimate_errors, {"source": source, "name": name}) for name in names]


def _assemble(source: str, results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    lines = []
    for name, found in results.items():
        authors = read(TABLE_1[name], RULES) if name in TABLE_1 else {}
        printed = read_printed(TABLE_1_PRINTED[name], RULES) if name in TABLE_1 else {}
        for i, error in enumerate(_ERRORS):
            text, code = ({rule: found[key][rule][i] for rule in RULES} for key in ("text", "code"))
            lines.append(
                Line((name, error), text, code, authors.get(error, {}), printed.get(error, {}))
            )
    where = "Table 1 and Appendix B; authors' code: S2_UCI.ipynb" if source == "forest" else ""
    title = "Variance of the labels within bins, averaged over rows (total) and over bins (average)"
    note = f"{_counts(results)} {_WHY if source == 'forest' else ''}".strip()
    table = comparison(title, where, ("data", "variance"), lines, note=note)
    remarks = (_STEPS,) if source == "forest" else ()
    return Outcome((table, _falls(source, results)), _pictures(source, tuple(results)), remarks)


def _falls(source: str, results: Mapping[str, Any]) -> Table:
    printed = {"satimage": "none", "coil_2000": "some"} if source == "forest" else {}
    rows = [
        Row((name,), found["falls"]["PAVA-BC"][0], printed=printed.get(name, ""))
        for name, found in results.items()
    ]
    title = "Bins of PAVA-BC with a lower event rate than the bin before"
    return Table(
        title, "Appendix B, Figures 3 and 4" if printed else "", ("data",), tuple(rows), digits=0
    )


_WHY = (
    "Bold, satimage: the printed 0.047 is 0.0480 in the authors' notebook; by the text, equal scores share a bin, "
    "which leaves nine of ten quantile bins (two cuts fall into the rows of score 0), and Algorithm 3 joins the two "
    "blocks of PAVA-BC that have no event; Table 1 counts them apart."
)
_STEPS = (
    "The authors' panels of event rates do not show the rates of their bins: the notebook (S2_UCI.ipynb, "
    "`figure_val`) gives Matplotlib the edges and the rates with drawstyle='steps', which draws each bin at the rate "
    "of the next one, and the last at 1. The pictures here show each bin at its own rate."
)


def _counts(results: Mapping[str, Any]) -> str:
    parts = [
        f"{name} {', '.join(f'{rule} {_both(found, rule)}' for rule in RULES)}"
        for name, found in results.items()
    ]
    return f"Numbers of bins by the text (and by the code, where it differs): {'; '.join(parts)}."


def _both(found: Mapping[str, Any], rule: str) -> str:
    text, code = (found[key][rule][2] for key in ("text", "code"))
    return f"{text:g}" if text == code else f"{text:g} ({code:g})"


def _pictures(source: str, names: Sequence[str]) -> tuple[Picture, ...]:
    kind = "random forest" if source == "forest" else "logistic regression"
    return tuple(
        Picture(
            name.replace(" %", "").replace(" ", "-"),
            f"{name}, {kind}: event rates and bin sizes by three rules, as in Figures 2 to 4.",
            partial(_panels, source, name),
        )
        for name in names
    )


def _panels(source: str, name: str) -> Any:
    from trueness.plot import BinsDisplay

    y, p = _SOURCES[source](name)
    # With rare events most scores lie in a corner that a linear axis does not show.
    scale: Any = "log" if y.mean() < 0.1 else "linear"
    # As in the authors' panels, every block of Algorithm 2 is a bin.
    rules = dict(zip(RULES, (Isotonic(), BlockIsotonic(fuse=False), EqualMass(10)), strict=True))
    return BinsDisplay.from_predictions(y, p, bins=rules, scale=scale).plot().figure_


TABLE_ONE = Experiment(
    name="matsubara-table-1",
    paper=MATSUBARA,
    covers="Table 1 and Figures 2 to 4",
    title="three binning rules on two benchmark data sets",
    pieces=partial(_pieces, "forest", tuple(TABLE_1)),
    assemble=partial(_assemble, "forest"),
    minutes=0.2,
    needs=tuple(FILES[name] for name in TABLE_1),
)
BINS = Experiment(
    name="matsubara-bins",
    paper=MATSUBARA,
    covers="Table 1 and Figures 2 to 4, with other data",
    title="three binning rules on synthetic data",
    pieces=partial(_pieces, "regression", tuple(_SYNTHETIC)),
    assemble=partial(_assemble, "regression"),
    minutes=0.1,
)
