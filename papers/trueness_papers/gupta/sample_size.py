"""How many rows histogram binning needs (Gupta & Ramdas 2021: Example 1, Sections 1 and 4, Figure 2)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness.recalibrate import epsilon, sample_size
from trueness.simulate import binned
from trueness_papers.experiment import GUPTA, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.record import Row, Table

__all__ = ["EXAMPLE_1", "FIGURE_2", "SAMPLE_SIZE"]

_RECOMMENDED = {1_000: (5, 0.12), 5_000: (10, 0.08), 20_000: (22, 0.06)}


# ------------------------------------------------------------------------------------------------ Example 1


def _example_pieces(size: Size, seed: int) -> Sequence[Piece]:
    return [Piece("example", example, {"n": 2_000 if size == "quick" else 200_000, "seed": seed})]


def example(n: int, seed: int) -> dict[str, Any]:
    """Errors and validity of a predictor that is off by 0.1 nine times in ten, and by 0.2 otherwise."""
    data = binned(n, [0.3, 0.6], [0.4, 0.8], weights=[0.9, 0.1], seed=seed)
    off = np.abs(data.truth - data.y_prob)
    return {
        "l1": data.true_ece("l1"),
        "l2": data.true_ece("l2"),
        "share": {f"{e:g}": float(np.mean(off <= e + 1e-12)) for e in (0.05, 0.1, 0.2)},
        "rows": n,
    }


def _example_outcome(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the example is the same
    found = results["example"]
    errors = (Row(("l1-ECE",), found["l1"], 0.11), Row(("l2-ECE",), found["l2"], 0.1140, printed="0.114"))
    share = {e: float(v) for e, v in found["share"].items()}
    rows = tuple(
        Row((e,), share[e], true, *_normal_limits(true, found["rows"]))
        for e, true in (("0.05", 0.0), ("0.1", 0.9), ("0.2", 1.0))
    )
    return Outcome(
        (
            Table("Errors of the example", "Example 1", ("error",), errors, within=5e-5),
            Table(
                f"Share of {found['rows']:,} simulated rows whose prediction is off by at most ε",
                "Example 1: off by 0.1 with probability 0.9, by 0.2 with probability 0.1",
                ("ε",),
                rows,
                within=1e-12,
            ),
        ),
        remarks=(
            "The example is (0.1, α)-marginally calibrated for every α of *at least* 0.1, since a tenth of the rows is "
            'off by more; the printed "α ≤ 0.9" should read α ≥ 0.1.',
        ),
    )


def _normal_limits(share: float, n: int) -> tuple[float, float]:
    half = 1.96 * (share * (1 - share) / n) ** 0.5
    return share - half, share + half


EXAMPLE_1 = Experiment(
    name="gupta-example-1",
    paper=GUPTA,
    covers="Example 1",
    title="a predictor whose calibration error hides a tenth of its rows",
    pieces=_example_pieces,
    assemble=_example_outcome,
    minutes=0.02,
)


# ---------------------------------------------------------------------------------------------- sample sizes


def _size_pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # nothing is drawn
    return [Piece("required", required_rows, {})]


def required_rows() -> dict[str, Any]:
    """Rows needed, and ε, by each theorem, for ε = α = 0.1 and 10 bins."""
    sizes = {}
    for scheme in ("umd", "original", "split"):
        for kind in ("conditional", "marginal"):
            sizes[f"{scheme} {kind}"] = sample_size(10, 0.1, scheme=scheme, kind=kind)
    sizes["exact conditional"] = sample_size(10, 0.1, bound="exact")
    sizes["exact marginal"] = sample_size(10, 0.1, bound="exact", kind="marginal")
    return {
        "sizes": sizes,
        "at 2,900": {"umd": epsilon(2_900, 10), "original": epsilon(2_900, 10, scheme="original")},
        "at 1,500": epsilon(1_500, 10, kind="marginal"),
        "at 1,510": epsilon(1_510, 10, kind="marginal"),
        "bins": {str(B): sample_size(B, 0.1) for B in (5, 10, 15, 20)},
    }


def _claims(sizes: Mapping[str, float]) -> tuple[Row, ...]:
    return (
        Row(
            ("conditional", "sample splitting (UMS)"),
            sizes["split conditional"],
            17_500,
            printed="17,500",
            note="uses an assumed constant; ours is a proved bound (docs/guide/recalibration.md)",
        ),
        Row(
            ("conditional", "histogram binning as used (Corollary 1)"),
            sizes["original conditional"],
            2_900,
            printed="2,900",
            note="2,860 rounded up",
        ),
        Row(("conditional", "UMD (Theorem 3)"), sizes["umd conditional"]),
        Row(("conditional", "UMD, exact binomial instead of Hoeffding"), sizes["exact conditional"]),
        Row(
            ("marginal", "UMD (Theorem 4 without ties)"),
            sizes["umd marginal"],
            1_500,
            printed="1,500",
            note="at 1,500 ε is 0.1003",
        ),
        Row(("marginal", "UMD, exact binomial instead of Hoeffding"), sizes["exact marginal"]),
    )


def _values(found: Mapping[str, Any]) -> tuple[Row, ...]:
    return (
        Row(("2,900", "Theorem 3"), found["at 2,900"]["umd"]),
        Row(("2,900", "Corollary 1"), found["at 2,900"]["original"], 0.1, printed="< 0.1", at_most=True),
        Row(
            ("1,500", "marginal"),
            found["at 1,500"],
            0.1,
            printed="< 0.1",
            note="not below 0.1 as printed",
            at_most=True,
        ),
        Row(("1,510", "marginal"), found["at 1,510"]),
    )


def _size_outcome(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # a calculation has one size
    found = results["required"]
    claims, values = _claims(found["sizes"]), _values(found)
    return Outcome(
        (
            Table(
                "Rows for ε = 0.1 at α = 0.1 with 10 bins",
                "Sections 1 and 4",
                ("guarantee", "method"),
                claims,
                within=45,
                digits=0,
            ),
            Table("ε at the published numbers of rows", "Sections 1 and 4", ("rows", "theorem"), values),
            Table(
                "Rows for ε = 0.1 at α = 0.1 by Theorem 3",
                "no number is published",
                ("bins",),
                tuple(Row((B,), n) for B, n in found["bins"].items()),
                digits=0,
            ),
        ),
        remarks=(
            "The calculation, Theorem 3: ε = √(log(2B/α) / (2(⌊n/B⌋ − 1))). For B = 10 and α = 0.1, log(200) is "
            "5.298, so ε ≤ 0.1 needs ⌊n/B⌋ − 1 ≥ 264.9, that is n ≥ 2,660. Corollary 1 adds 1/⌊n/B⌋: n ≥ 2,860. For "
            "one bin (marginal) log(2/α) = 2.996, so ⌊n/B⌋ − 1 ≥ 149.8, that is n ≥ 1,510.",
            "The published number for sample splitting uses a constant that the cited source leaves open, and is not "
            "recomputed; with the constant of the cited proof it would be about ten times as large. Ours uses the "
            "distribution of the counts, which are beta-binomial for any scores.",
        ),
    )


SAMPLE_SIZE = Experiment(
    name="gupta-sample-size",
    paper=GUPTA,
    covers="the 17,500, 2,900 and 1,500 rows of Sections 1 and 4",
    title="how many rows histogram binning needs",
    pieces=_size_pieces,
    assemble=_size_outcome,
    minutes=0.05,
)


# -------------------------------------------------------------------------------------------------- Figure 2


def _bins_pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # nothing is drawn
    return [Piece("recommended", recommended_bins, {})]


def recommended_bins() -> dict[str, float]:
    """ε of Theorem 3 at the recommended numbers of bins."""
    return {str(n): epsilon(n, bins) for n, (bins, _) in _RECOMMENDED.items()}


def _bins_outcome(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # one size
    found = results["recommended"]
    rows = tuple(
        Row(
            (f"{n:,}", str(bins)),
            found[str(n)],
            bound,
            printed=f"≤ {bound:g}",
            at_most=True,
        )
        for n, (bins, bound) in _RECOMMENDED.items()
    )
    table = Table("ε at the recommended number of bins", "Section 4 and Figure 2", ("rows", "bins"), rows)
    return Outcome((table,), (Picture("bins", "ε of Theorem 3 against the number of bins (Figure 2)", _draw_bins),))


def _draw_bins() -> Any:
    from trueness.plot import GuaranteeDisplay

    chosen = {n: bins for n, (bins, _) in _RECOMMENDED.items()}
    return GuaranteeDisplay.from_sizes(list(_RECOMMENDED), range(2, 51), chosen=chosen).plot().figure_


FIGURE_2 = Experiment(
    name="gupta-figure-2",
    paper=GUPTA,
    covers="Figure 2",
    title="ε against the number of bins",
    pieces=_bins_pieces,
    assemble=_bins_outcome,
    minutes=0.05,
)
