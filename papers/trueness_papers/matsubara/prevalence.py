"""A logistic regression when the prevalence changes between training and test (Table 2)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.matsubara.procedures import (
    ROUNDING,
    Options,
    by_both,
    by_text,
    comparison,
    percent,
    tables_by_both,
)
from trueness_papers.matsubara.published import SIX, TABLE_2, read
from trueness_papers.matsubara.simulation import authors_rows
from trueness_papers.record import Row, Table

__all__ = ["TABLE_TWO"]

# Prevalence in training and test, by label of the authors' file, which says 1 % where the numbers belong to 2 %.
_SETTINGS = {
    "50-50": (0.5, 0.5),
    "50-40": (0.5, 0.4),
    "50-60": (0.5, 0.6),
    "01-01": (0.02, 0.02),
    "01-00": (0.02, 0.0),
    "01-02": (0.02, 0.04),
}
_AS_LABELLED = {"01-01": (0.01, 0.01), "01-00": (0.01, 0.0), "01-02": (0.01, 0.02)}
_USUAL = Options(300, 1200)
_RUNS = {"quick": (1, 20), "full": (4, 250)}
_SOURCE = "Table 2; digits from the authors' GDA/summary.csv"


def one_data_set(settings: dict[str, list[float]], centre: float, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """Both procedures on one data set of each setting."""
    found = {}
    for name, (train, test) in settings.items():
        data = authors_rows(train, test, centre=centre, seed=seed)
        found[name] = by_both(data.y, data.p, _USUAL)
    return found


def data_sets(train: float, test: float, seeds: list[int]) -> dict[str, list[float]]:
    """The measures of many data sets of one setting."""
    found = [by_text(data.y, data.p, _USUAL) for data in (authors_rows(train, test, seed=seed) for seed in seeds)]
    return {measure: [one[measure] for one in found] for measure in SIX}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    settings = {name: list(shares) for name, shares in _SETTINGS.items()}
    labelled = {name: list(shares) for name, shares in _AS_LABELLED.items()}
    pieces = [
        Piece("code", one_data_set, {"settings": settings, "centre": 0.5, "seed": seed}),
        Piece("labelled", one_data_set, {"settings": labelled, "centre": 0.5, "seed": seed}),
        Piece("means", one_data_set, {"settings": settings, "centre": 1.0, "seed": seed}),
    ]
    parts, runs = _RUNS[size]
    for name, (train, test) in _SETTINGS.items():
        for part in range(parts):
            # Without the authors' seed: their data set must not vouch for itself.
            first = 1_000 + 1_000_000 * seed + part * runs
            arguments = {"train": train, "test": test, "seeds": list(range(first, first + runs))}
            pieces.append(Piece(f"sets-{name}-{part}", data_sets, arguments))
    return pieces


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:
    published = read(TABLE_2, SIX)
    settings = results["code"].items()
    both = [(_shares(_SETTINGS[name]), {k: _six(v) for k, v in by.items()}, published[name]) for name, by in settings]
    tables = tables_by_both("Table 2", _SOURCE, ("in training", "in test"), both)
    lines = [(_shares(_AS_LABELLED[n]), _six(by["code"]), published[n]) for n, by in results["labelled"].items()]
    note = "In brackets: the numbers stored under these labels, which belong to twice the prevalence."
    title = "The prevalences named by the file's labels (01-01, 01-00, 01-02)"
    tables.append(comparison(title, _SOURCE, ("in training", "in test"), lines, note=note, counted=False))
    lines = [(_shares(_SETTINGS[name]), _six(by["code"]), published[name]) for name, by in results["means"].items()]
    note = "In brackets: the published numbers, which belong to means of ±0.5."
    title = "The class means of the text, ±1"
    tables.append(comparison(title, _SOURCE, ("in training", "in test"), lines, note=note, counted=False))
    return Outcome((*tables, _spread(results, published, size)), _pictures())


def _six(found: Mapping[str, float]) -> dict[str, float]:
    return {measure: found[measure] for measure in SIX}


def _shares(shares: Sequence[float]) -> tuple[str, ...]:
    return tuple(map(percent, shares))


def _spread(results: Mapping[str, Any], published: Mapping[str, Mapping[str, float]], size: Size) -> Table:
    parts, runs = _RUNS[size]
    rows = []
    for name, shares in _SETTINGS.items():
        for measure in SIX:
            values = np.concatenate([results[f"sets-{name}-{part}"][measure] for part in range(parts)])
            low, high = np.quantile(values, [0.025, 0.975])
            row = Row(
                (*_shares(shares), measure), float(values.mean()), published[name][measure], float(low), float(high)
            )
            rows.append(row)
    return Table(
        f"Mean over {parts * runs:,} other data sets, and the range of 95 % of them",
        _SOURCE,
        ("in training", "in test", "measure"),
        tuple(rows),
        within=ROUNDING,
        note="The published number comes from one data set: the limits are those of single data sets, not of the mean.",
    )


def _pictures() -> tuple[Picture, ...]:
    return tuple(
        Picture(
            name,
            f"Test-based reliability diagram: prevalence {percent(train)} in training, {percent(test)} in test.",
            partial(_diagram, train, test),
        )
        for name, (train, test) in _SETTINGS.items()
        if name in ("50-50", "50-40")
    )


def _diagram(train: float, test: float) -> Any:
    from trueness.plot import TestReliabilityDisplay

    data = authors_rows(train, test)
    return TestReliabilityDisplay.from_predictions(data.y, data.p, name="logistic regression").plot().figure_


TABLE_TWO = Experiment(
    name="matsubara-table-2",
    paper=MATSUBARA,
    covers="Table 2",
    title="six measures of a logistic regression when prevalence changes",
    pieces=_pieces,
    assemble=_assemble,
    minutes=3,
)
