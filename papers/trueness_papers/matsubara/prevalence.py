"""A logistic regression when the prevalence changes between training and test (Table 2)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.matsubara.diagrams import rejection_diagram
from trueness_papers.matsubara.procedures import (
    Line,
    Options,
    by_both,
    comparison,
    four_by_text,
    percent,
    uncounted,
)
from trueness_papers.matsubara.published import (
    FOUR,
    SIX,
    TABLE_2,
    TABLE_2_PRINTED,
    read,
    read_printed,
)
from trueness_papers.matsubara.simulation import authors_rows
from trueness_papers.record import Row, Table

__all__ = ["TABLE_TWO"]

# Prevalence in training and test, by label of Table 2.
_SETTINGS = {
    "50-50": (0.5, 0.5),
    "50-40": (0.5, 0.4),
    "50-60": (0.5, 0.6),
    "1-1": (0.01, 0.01),
    "1-0": (0.01, 0.0),
    "1-2": (0.01, 0.02),
}
# The prevalences to which the other numbers of the authors' file belong, by its labels.
_STORED = {"01-01": (0.02, 0.02), "01-00": (0.02, 0.0), "01-02": (0.02, 0.04)}
_USUAL = Options(300, 1200)
_RUNS = {"quick": (1, 20), "full": (4, 125)}
_SOURCE = "Table 2; authors' code: GDA/summary.csv"
_HEADINGS = ("in training", "in test")


def one_data_set(
    settings: dict[str, list[float]], centre: float, seed: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Both procedures on one data set of each setting."""
    found = {}
    for name, (train, test) in settings.items():
        data = authors_rows(train, test, centre=centre, seed=seed)
        found[name] = by_both(data.y, data.p, _USUAL)
    return found


def data_sets(train: float, test: float, seeds: list[int]) -> dict[str, list[float]]:
    """The printed measures of many data sets of one setting."""
    found = [
        four_by_text(data.y, data.p, _USUAL)
        for data in (authors_rows(train, test, seed=seed) for seed in seeds)
    ]
    return {measure: [one[measure] for one in found] for measure in FOUR}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    settings = {name: list(shares) for name, shares in _SETTINGS.items()}
    stored = {name: list(shares) for name, shares in _STORED.items()}
    pieces = [
        Piece("printed", one_data_set, {"settings": settings, "centre": 0.5, "seed": seed}),
        Piece("stored", one_data_set, {"settings": stored, "centre": 0.5, "seed": seed}),
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
    printed, authors = read_printed(TABLE_2_PRINTED, FOUR), read(TABLE_2, SIX)
    lines = [
        Line(
            _shares(_SETTINGS[name]),
            _six(by["text"]),
            _six(by["code"]),
            authors.get(name, {}),
            printed[name],
        )
        for name, by in results["printed"].items()
    ]
    note = (
        "The authors' file has no run with 1 % (see the next table), and the paper does not print MCE and MCE(Q). "
        "Bold: without an event all blocks have the same rate, and Algorithm 3 makes one bin of them."
    )
    first = comparison("Table 2", _SOURCE, _HEADINGS, lines, note=note)
    lines = [
        Line((name, *_shares(_STORED[name])), _six(by["text"]), _six(by["code"]), authors[name])
        for name, by in results["stored"].items()
    ]
    title = "The last three lines of the authors' file, which are not those of the paper"
    note = "Bold: without an event all blocks have the same rate, and Algorithm 3 makes one bin of them."
    second = comparison(title, "", ("label of the file", *_HEADINGS), lines, note=note)
    others = [
        (_shares(_SETTINGS[name]), _six(by["code"]), printed[name])
        for name, by in results["means"].items()
    ]
    note = "In brackets: the published numbers, which belong to means of ±0.5."
    third = uncounted("The class means of the text, ±1", _SOURCE, _HEADINGS, others, note=note)
    return Outcome((first, second, third, _spread(results, printed, size)), _pictures())


def _six(found: Mapping[str, float]) -> dict[str, float]:
    return {measure: found[measure] for measure in SIX}


def _shares(shares: Sequence[float]) -> tuple[str, ...]:
    return tuple(map(percent, shares))


def _spread(
    results: Mapping[str, Any], printed: Mapping[str, Mapping[str, str]], size: Size
) -> Table:
    parts, runs = _RUNS[size]
    rows, inside = [], 0
    for name, shares in _SETTINGS.items():
        for measure in FOUR:
            values = np.concatenate(
                [results[f"sets-{name}-{part}"][measure] for part in range(parts)]
            )
            low, high = map(float, np.quantile(values, [0.025, 0.975]))
            inside += low <= float(printed[name][measure]) <= high
            labels = (*_shares(shares), measure)
            rows.append(Row(labels, float(values.mean()), None, low, high, printed[name][measure]))
    return Table(
        f"Mean over {parts * runs:,} other data sets, and the range of 95 % of them (every block a bin)",
        _SOURCE,
        (*_HEADINGS, "measure"),
        tuple(rows),
        note=f"Each published number comes from one data set; {inside} of {len(rows)} lie in the range of 95 % of "
        "other data sets from the same distribution.",
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
    data = authors_rows(train, test)
    return rejection_diagram(data.y, data.p, "logistic regression")


TABLE_TWO = Experiment(
    name="matsubara-table-2",
    paper=MATSUBARA,
    covers="Table 2",
    title="six measures of a logistic regression when prevalence changes",
    pieces=_pieces,
    assemble=_assemble,
    minutes=3,
)
