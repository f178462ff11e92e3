"""Validity of calibrators on the CREDIT data (Gupta & Ramdas 2021, Figures 1 and 3 to 6)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness.recalibrate import validity_curve
from trueness.results import ValidityCurve, ValidityRuns
from trueness_papers.experiment import GUPTA, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.gupta.credit import (
    CODE,
    FILE,
    METHODS,
    conditional_share,
    guaranteed,
    least_margin,
    marginal_share,
    piece_key,
    validity_piece,
)
from trueness_papers.gupta.runs import draw_runs, runs_from_dict
from trueness_papers.record import Estimate, Row, Table

__all__ = ["FIGURES_4_5", "FIGURE_1", "FIGURE_3", "FIGURE_6"]

_ALL = (*METHODS, CODE)
_BANDS = "mean ± 2 standard errors (the paper draws one)"


def _pieces(
    sizes: Sequence[int],
    methods: Sequence[str],
    quick: int,
    split: Mapping[str, int],
    size: Size,
    seed: int,
) -> list[Piece]:
    return [
        validity_piece(method, n, quick, size, seed, **split) for n in sizes for method in methods
    ]


def _runs(
    results: Mapping[str, Any], n: int, methods: Sequence[str] = _ALL
) -> dict[str, ValidityRuns]:
    """The runs of the methods with n rows."""
    return {m: runs_from_dict(results[piece_key(m, n)]) for m in methods}


def _share_rows(
    runs: Mapping[int, Mapping[str, ValidityRuns]], share: Any, e: float
) -> tuple[Row, ...]:
    """A row per number of rows and method; UMD also by the authors' code."""
    return tuple(
        Row(
            (f"{n:,}", method),
            text=share(found[method], e),
            code=share(found[CODE], e) if method == "UMD" else None,
        )
        for n, found in runs.items()
        for method in METHODS
    )


def _share_tables(
    runs: Mapping[int, Mapping[str, ValidityRuns]], figure: str
) -> tuple[Table, Table]:
    headings, source = ("n", "method"), f"{figure}, without numbers in the text"
    first = next(iter(runs.values()))["UMD"].runs
    return (
        Table(
            f"Marginal: V(0.05), the share of rows off by at most 0.05, mean of {first} runs",
            source,
            headings,
            _share_rows(runs, marginal_share, 0.05),
            digits=3,
        ),
        Table(
            f"Conditional: share of {first} runs with every predicted value within 0.1",
            source,
            headings,
            _share_rows(runs, conditional_share, 0.1),
            digits=3,
        ),
    )


def _less(labels: tuple[str, str, str], difference: float, note: str = "") -> Row:
    """An observation that a difference is negative."""
    return Row(labels, published=0.0, printed="< 0", text=difference, at_most=True, note=note)


def _lower(
    runs: Mapping[str, ValidityRuns], n: int, kind: str, e: float, first: str, second: str
) -> Row:
    """The observation that one method has a lower validity than another."""
    marginal = kind == "marginal"
    a, b = (runs[m](e) if marginal else runs[m].conditional(e) for m in (first, second))  # type: ignore[misc]  # two items
    what = f"V({e:g})" if marginal else f"share of runs within {e:g}"
    return _less((f"{n:,}", f"{first} − {second}", what), float(a - b))


_OBSERVATIONS = ("n", "difference", "of")
_TOLERANCES = np.arange(1, 151) / 1000
# Shares of 100 runs, or means of them, that are equal but for rounding.
_EQUAL = 1e-9


def _rank_tables(runs: Mapping[int, Mapping[str, ValidityRuns]]) -> tuple[Table, Table]:
    """Which method is ahead at how many tolerances, and by how much at most."""
    counts, most = [], []
    for n, found in runs.items():
        for kind in ("marginal", "conditional"):
            for pair, difference in _differences(found, kind).items():
                counts.append(Row((f"{n:,}", kind, pair), float((difference > _EQUAL).sum())))
                most.append(Row((f"{n:,}", kind, pair), max(0.0, float(difference.max()))))
    headings = ("n", "validity", "which is ahead")
    where = f"of the {_TOLERANCES.size} tolerances ε = 0.001, 0.002, …, 0.150"
    note = "Best other: of UMS, isotonic regression and fixed-width bins, at each tolerance."
    return (
        Table(
            f"At how many {where} a method is ahead",
            "",
            headings,
            tuple(counts),
            0,
            0,
            note,
            headings[-1],
        ),
        Table(
            "The largest difference by which it is ahead",
            "",
            headings,
            tuple(most),
            0,
            3,
            note,
            headings[-1],
        ),
    )


def _differences(found: Mapping[str, ValidityRuns], kind: str) -> dict[str, Any]:
    curves = {
        name: found[name] if kind == "marginal" else found[name].conditional for name in METHODS
    }
    at = {name: curve(_TOLERANCES) for name, curve in curves.items()}  # type: ignore[misc]  # means of runs have both
    umd, scaling = at["UMD"], at["scaling-binning"]
    others = np.max([at[name] for name in ("UMS", "isotonic", "fixed-width")], axis=0)
    return {
        "UMD > scaling-binning": umd - scaling,
        "scaling-binning > UMD": scaling - umd,
        "UMS > scaling-binning": at["UMS"] - scaling,
        "isotonic > scaling-binning": at["isotonic"] - scaling,
        "best other > UMD": others - umd,
    }


# -------------------------------------------------------------------------------------------------- pictures


def _draw_grid(
    runs: Mapping[int, Mapping[str, ValidityRuns]], panels: Sequence[tuple[int, str]]
) -> Any:
    """Panels, each of a number of rows and a kind of validity, with one legend below."""
    import matplotlib.pyplot as plt

    columns = 2
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(9.2, 0.6 + 3.6 * lines), layout="constrained"
    )
    for ax, (n, kind) in zip(axes.flat, panels, strict=True):
        every = {
            m: r if kind == "marginal" else r.conditional
            for m, r in runs[n].items()
            if m in METHODS
        }
        found = {m: r for m, r in every.items() if r is not None}
        draw_runs(found, ax, guaranteed(n, kind))
        share = (
            "share of rows within ε"
            if kind == "marginal"
            else "share of runs with all values within ε"
        )
        ax.set(xlim=(0, 0.15), ylabel=share)
        ax.set_title(f"{kind}, n = {n:,}", fontsize=10, loc="left")
        ax.get_legend().remove()
    drawn = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    figure.legend(
        drawn,
        [*METHODS, "Theorem 4"],
        loc="outside lower center",
        ncols=3,
        fontsize=9,
        handlelength=3,
    )
    return figure


# -------------------------------------------------------------------------------------------------- Figure 1

_PRINTED_GAPS = (1.5, 2, 8, 16, 17, 19, 22, 29, 39, 71)  # in thousandths, one per bin
_SIZES_1 = (500, 1_000, 2_000, 4_000)
_METHODS_1 = ("UMD", "UMS")
_PUBLISHED_1 = {"UMD": 0.79, "UMS": 0.63}


def printed_curve() -> ValidityCurve:
    """The curve of Figure 1a: ten bins of 2,000 rows whose predictions are off as printed."""
    rows = 2_000
    rates = np.arange(1, 11) / 11
    events = np.rint(rates * rows).astype(int)
    y = (np.arange(rows) < events[:, None]).astype(int)
    p = np.repeat(events / rows + np.array(_PRINTED_GAPS) / 1000, rows)
    return validity_curve(y.ravel(), p)


def _table_1a() -> Table:
    curve = printed_curve()
    return Table(
        "Figure 1a: readings of the curve with the ten printed distances",
        "caption of Figure 1a",
        ("reading",),
        (
            Row(("1 − V(0.04)",), published=0.1, printed="0.1", text=1 - curve(0.04)),
            Row(("1 − V(0.03)",), published=0.2, printed="0.2", text=1 - curve(0.03)),
            Row(("l1-ECE = 1 − area",), published=0.023, printed="≈ 0.023", text=1 - curve.area),
        ),
        within=0.0005,
        note="Section 2.1 has the distances: 0.0015, 0.002, 0.008, 0.016, 0.017, 0.019, 0.022, 0.029, 0.039 and 0.071. "
        'Here each has a tenth of the rows, which gives 0.0224; the paper says "roughly" a tenth, and "roughly" 0.023.',
    )


def _tables_1b(runs: Mapping[int, Mapping[str, ValidityRuns]]) -> tuple[Table, Table, Table]:
    limits = (
        "The limits are those of the mean over draws from one split of the data; another split (`--seed`) changes the "
        "shares by a few hundredths (see `gupta-splits`)."
    )
    shares = []
    for n, found in runs.items():
        for m in _METHODS_1:
            known = _PUBLISHED_1[m] if n == 1_000 else None
            shares.append(
                Row(
                    (f"{n:,}", m),
                    published=known,
                    printed="" if known is None else f"≈ {known:g}",
                    text=marginal_share(found[m], 0.05),
                    code=marginal_share(found[CODE], 0.05) if m == "UMD" else None,
                )
            )
    nearly = 'the paper says "nearly"'
    claims = (
        _off(runs, 1_000, "UMS", 0.1),
        _off(runs, 500, "UMD", 0.1),
        _off(runs, 4_000, "UMS", 0.05, printed="≈ 0.1", note=nearly),
    )
    order = tuple(_lower(found, n, "marginal", 0.05, "UMS", "UMD") for n, found in runs.items())
    return (
        Table(
            f"Figure 1b: V(0.05), the share of rows off by at most 0.05, mean of {runs[500]['UMD'].runs} runs",
            "caption of Figure 1b",
            ("n", "method"),
            tuple(shares),
            within=0.03,
            digits=3,
            note=f"{limits} Numbers read off a figure cannot be exact: 0.03 is allowed for both.",
        ),
        Table(
            "Figure 1b: α for which marginal calibration is achieved, 1 − V(ε)",
            "Section 2.2",
            ("n", "method", "ε"),
            claims,
            within=0.03,
            digits=3,
        ),
        Table(
            "Figure 1b: UMD has the higher validity",
            "caption of Figure 1b",
            _OBSERVATIONS,
            order,
            digits=3,
        ),
    )


def _off(runs: Any, n: int, method: str, e: float, printed: str = "≤ 0.1", note: str = "") -> Row:
    """α for which the method is (ε, α)-marginally calibrated."""
    value, low, high = marginal_share(runs[n][method], e)
    found = Estimate(1 - value, 1 - high, 1 - low)
    labels = (f"{n:,}", method, f"{e:g}")
    return Row(
        labels,
        published=0.1,
        printed=printed,
        text=found,
        at_most=printed.startswith("≤"),
        note=note,
    )


def _assemble_1(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know
    runs = {n: _runs(results, n, (*_METHODS_1, CODE)) for n in _SIZES_1}
    by_method = {m: {f"n = {n:,}": runs[n][m] for n in _SIZES_1} for m in _METHODS_1}
    pictures = [
        Picture("a", "Figure 1a: validity of ten bins with the printed distances", _draw_1a)
    ]
    for m in _METHODS_1:
        caption = f"Figure 1b: validity of {m} on CREDIT, {_BANDS}"
        pictures.append(Picture(f"b-{m.lower()}", caption, partial(_draw_1b, by_method[m])))
    return Outcome((_table_1a(), *_tables_1b(runs)), tuple(pictures))


def _draw_1a() -> Any:
    from trueness.plot import ValidityDisplay

    return ValidityDisplay({"": printed_curve()}).plot().figure_


def _draw_1b(runs: Mapping[str, ValidityRuns]) -> Any:
    display = draw_runs(dict(runs))
    display.ax_.set_xlim(0, 0.15)
    return display.figure_


FIGURE_1 = Experiment(
    name="gupta-figure-1",
    paper=GUPTA,
    covers="Figure 1",
    title="what sample splitting costs, on CREDIT",
    pieces=partial(_pieces, _SIZES_1, (*_METHODS_1, CODE), 20, {}),
    assemble=_assemble_1,
    minutes=0.1,
    needs=(FILE,),
)


# -------------------------------------------------------------------------------------------------- Figure 3


def _observations_3(runs: Mapping[int, Mapping[str, ValidityRuns]]) -> Table:
    rows = []
    for n, found in runs.items():
        rows += [
            _lower(found, n, "marginal", 0.05, "UMS", "UMD"),
            _lower(found, n, "conditional", 0.1, "UMS", "UMD"),
            _lower(found, n, "conditional", 0.1, "fixed-width", "UMD"),
            _lower(found, n, "conditional", 0.1, "isotonic", "UMD"),
            _lower(found, n, "marginal", 0.05, "scaling-binning", "UMD"),
            _lower(found, n, "conditional", 0.05, "scaling-binning", "UMD"),
        ]
    umd = runs[7_000]["UMD"]
    note = "the paper's curves cross, ours in some splits of the data (`gupta-splits`)"
    rows += [
        _less(
            ("7,000", "UMD − Theorem 4, least over ε", kind),
            least_margin(umd, 7_000, kind),
            note=note,
        )
        for kind in ("marginal", "conditional")
    ]
    return Table(
        "Observations of Section 4: the first has a lower validity than the second",
        "Section 4",
        _OBSERVATIONS,
        tuple(rows),
        digits=3,
    )


def _assemble_3(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know
    runs = {n: _runs(results, n) for n in (3_000, 7_000)}
    panels = [(n, kind) for n in runs for kind in ("marginal", "conditional")]
    picture = Picture(
        "validity",
        f"Figure 3: validity of five methods on CREDIT, {_BANDS}",
        partial(_draw_grid, runs, panels),
    )
    tables = (*_share_tables(runs, "Figure 3"), _observations_3(runs), *_rank_tables(runs))
    return Outcome(tables, (picture,), (_PROTOCOL, _IN_BINS))


_PROTOCOL = (
    "The paper does not say what Platt scaling is fitted to. Here it is a sigmoid of the probability of the logistic "
    "regression: with a sigmoid of the log-odds, scaling-binning would be far worse than published (`gupta-splits`). "
    "UMD, UMS and isotonic regression depend on the order of the scores alone, which no sigmoid changes."
)
_IN_BINS = (
    "Scaling-binning has the bins of UMD, as in the paper: the two differ only in what is averaged. Isotonic "
    "regression is a step function, that is a binning method."
)

FIGURE_3 = Experiment(
    name="gupta-figure-3",
    paper=GUPTA,
    covers="Figure 3",
    title="five methods on CREDIT, n = 3,000 and 7,000",
    pieces=partial(_pieces, (3_000, 7_000), _ALL, 10, {}),
    assemble=_assemble_3,
    minutes=0.1,
    needs=(FILE,),
)


# ------------------------------------------------------------------------------------------- Figures 4 and 5

_SIZES_4_5 = (1_000, 3_000, 5_000, 7_000)


def _observations_4_5(runs: Mapping[int, Mapping[str, ValidityRuns]]) -> Table:
    rows = [
        _lower(runs[1_000], 1_000, "marginal", 0.05, "UMD", "scaling-binning"),
        _lower(runs[1_000], 1_000, "conditional", 0.1, "UMD", "scaling-binning"),
        *(_lower(runs[n], n, "marginal", 0.05, "scaling-binning", "UMD") for n in (5_000, 7_000)),
        *(
            _lower(runs[n], n, "conditional", 0.05, "scaling-binning", "UMD")
            for n in (5_000, 7_000)
        ),
    ]
    return Table(
        "Observations of Appendix C: the first has a lower validity than the second",
        "Appendix C and the caption of Figure 5",
        _OBSERVATIONS,
        tuple(rows),
        digits=3,
    )


def _assemble_4_5(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know
    runs = {n: _runs(results, n) for n in _SIZES_4_5}
    pictures = tuple(
        Picture(
            kind,
            f"Figure {number}: {kind} validity of five methods on CREDIT, {_BANDS}",
            partial(_draw_grid, runs, [(n, kind) for n in _SIZES_4_5]),
        )
        for number, kind in ((4, "marginal"), (5, "conditional"))
    )
    tables = (*_share_tables(runs, "Figures 4 and 5"), _observations_4_5(runs), *_rank_tables(runs))
    return Outcome(tables, pictures, _REMARKS_4_5)


_REMARKS_4_5 = (
    "The caption of Figure 5 calls UMD and scaling-binning the best methods at nearly all n and ε, and their "
    "differences slight. Here UMS is ahead of scaling-binning at half of the tolerances for n = 5,000 and 7,000, and "
    "UMD is ahead of it by up to 0.8 of the runs.",
    "At n = 1,000 scaling-binning is ahead of UMD, as published. The order is reversed if scaling-binning rescales "
    "with a third of the rows for each step, after a sigmoid of the log-odds: `gupta-splits` takes these steps apart.",
)

FIGURES_4_5 = Experiment(
    name="gupta-figures-4-5",
    paper=GUPTA,
    covers="Figures 4 and 5",
    title="five methods on CREDIT, n = 1,000 to 7,000",
    pieces=partial(_pieces, _SIZES_4_5, _ALL, 6, {}),
    assemble=_assemble_4_5,
    minutes=0.2,
    needs=(FILE,),
)


# -------------------------------------------------------------------------------------------------- Figure 6


def _assemble_6(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know
    runs = {1_000: _runs(results, 1_000)}
    found = runs[1_000]
    observations = Table(
        "Observations of Appendix C: the first has a lower validity than the second",
        "Appendix C and the caption of Figure 6",
        _OBSERVATIONS,
        (
            _lower(found, 1_000, "marginal", 0.05, "UMD", "scaling-binning"),
            _lower(found, 1_000, "conditional", 0.1, "UMD", "scaling-binning"),
        ),
        digits=3,
        note="A sigmoid fitted to 1,000 rows varies, and with it scaling-binning, from split to split: `gupta-splits`.",
    )
    picture = Picture(
        "validity",
        f"Figure 6: validity with 14,000 rows for the model and 1,000 each for Platt scaling and binning, {_BANDS}",
        partial(_draw_grid, runs, [(1_000, "marginal"), (1_000, "conditional")]),
    )
    return Outcome((*_share_tables(runs, "Figure 6"), observations), (picture,))


FIGURE_6 = Experiment(
    name="gupta-figure-6",
    paper=GUPTA,
    covers="Figure 6",
    title="five methods on CREDIT, 14,000 rows for the model and 1,000 for Platt scaling",
    pieces=partial(_pieces, (1_000,), _ALL, 10, {"n_train": 14_000, "n_platt": 1_000}),
    assemble=_assemble_6,
    minutes=0.05,
    needs=(FILE,),
)
