"""How many rows histogram binning needs (Gupta & Ramdas 2021: Example 1, Sections 2 and 3, Figure 2, Appendix B)."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import ceil, exp, log, sqrt
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
    data = binned(n, [0.2, 0.8], [0.3, 0.6], weights=[0.9, 0.1], seed=seed)
    off = np.abs(data.truth - data.y_prob)
    return {
        "l1": data.true_ece("l1"),
        "l2": data.true_ece("l2"),
        "max": data.true_ece("max"),
        "share": {f"{e:g}": float(np.mean(off <= e + 1e-12)) for e in (0.05, 0.1, 0.2)},
        "rows": n,
    }


def _example_outcome(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the example is the same
    found = results["example"]
    errors = (
        Row(("l1-ECE",), published=0.11, printed="0.11", text=found["l1"]),
        Row(("l2-ECE",), published=0.114, printed="0.114", text=found["l2"]),
        Row(
            ("least ε of conditional calibration",), published=0.2, printed="0.2", text=found["max"]
        ),
    )
    share = {e: float(v) for e, v in found["share"].items()}
    rows = tuple(
        Row((e,), share[e], true, *_normal_limits(true, found["rows"]))
        for e, true in (("0.05", 0.0), ("0.1", 0.9), ("0.2", 1.0))
    )
    return Outcome(
        (
            Table("Errors of the example", "Example 1", ("error",), errors),
            Table(
                f"Share of {found['rows']:,} simulated rows whose prediction is off by at most ε",
                "off by 0.1 with probability 0.9, by 0.2 with probability 0.1",
                ("ε",),
                rows,
                within=1e-12,
                against="exact",
            ),
        ),
        remarks=(
            "The example is (0.1, α)-marginally calibrated for every α of *at least* 0.1, since a tenth of the rows is "
            'off by more. "ε ≥ 0.1, α ≤ 0.9" is printed: for α below 0.1 and ε below 0.2 Definition 1 is not met.',
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
    """Rows needed by each theorem for ε = α = 0.1 and 10 bins, and ε at the published numbers of rows."""
    plans: dict[str, dict[str, Any]] = {
        "split marginal": {"scheme": "split", "kind": "marginal"},
        "split conditional": {"scheme": "split"},
        "original": {"scheme": "original"},
        "original exact": {"scheme": "original", "bound": "exact"},
        "umd": {},
        "umd exact": {"bound": "exact"},
        "marginal": {"kind": "marginal"},
        "marginal exact": {"kind": "marginal", "bound": "exact"},
    }
    return {
        "sizes": {name: sample_size(10, 0.1, **plan) for name, plan in plans.items()},
        "appendix B": appendix_b(),
        "at 2,900": epsilon(2_900, 10, scheme="original"),
        "at 1,500": epsilon(1_500, 10, kind="marginal"),
        "at 1,510": epsilon(1_510, 10, kind="marginal"),
        "fewest per bin": least_rows_per_bin(5, 0.1, 0.5),
        "validity at 1,000": {"hoeffding": _hoeffding_validity(0.1), "exact": _exact_validity(0.1)},
        "bins": {str(B): sample_size(B, 0.1) for B in (5, 10, 15, 20)},
    }


def appendix_b(e: float = 0.1, alpha: float = 0.1, B: int = 10, c: float = 100) -> dict[str, float]:
    """The calculation for sample splitting step by step, without the paper's rounding; c is the assumed constant."""
    labels = log(2 * B / (alpha / 2)) / (2 * e * e)
    delta = alpha / 4
    first = c * B * log(10 * B / delta)
    # n'/2B − √(n' log(2B/δ)/2) ≥ labels, a quadratic inequality for √n'.
    spread = sqrt(log(2 * B / delta) / 2)
    second = (B * (spread + sqrt(spread**2 + 2 * labels / B))) ** 2
    return {
        "labels": ceil(labels),
        "first": ceil(first),
        "second": ceil(second),
        "all": ceil(first) + ceil(second),
    }


def least_rows_per_bin(B: int, e: float, alpha: float) -> int:
    """⌊n/B⌋ that (8) requires."""
    return sample_size(B, e, alpha=alpha) // B


def _hoeffding_validity(e: float, n: int = 1_000, B: int = 10) -> float:
    """1 − α of Theorem 4 at which ε is guaranteed marginally."""
    return 1 - 2 * exp(-2 * (n // B - 1) * e * e)


def _exact_validity(e: float, n: int = 1_000, B: int = 10) -> float:
    """The same with the exact binomial distribution, to three digits."""

    def exceeds(thousandths: int) -> bool:
        return epsilon(n, B, alpha=1 - thousandths / 1_000, kind="marginal", bound="exact") > e

    return (bisect_left(range(1_000), True, lo=1, key=exceeds) - 1) / 1_000


def _claims(sizes: Mapping[str, float]) -> tuple[Row, ...]:
    return (
        Row(
            ("marginal", "UMS (Appendix B)"),
            published=17_500,
            printed="17,500",
            improved=sizes["split marginal"],
            note="published: with an assumed constant, recomputed below; improved: a proved bound",
        ),
        Row(
            ("conditional", "UMS"),
            improved=sizes["split conditional"],
            note="for comparison; 17,500 is a claim about marginal calibration",
        ),
        Row(
            ("conditional", "original UMD (Corollary 1)"),
            published=2_900,
            printed="2,900",
            text=sizes["original"],
            improved=sizes["original exact"],
            at_most=True,
            note="printed as sufficient: 2,860 are",
        ),
        Row(("conditional", "UMD (Theorem 3)"), text=sizes["umd"], improved=sizes["umd exact"]),
        Row(
            ("marginal", "UMD (Theorem 4, δ → 0)"),
            published=1_500,
            printed="1,500",
            text=sizes["marginal"],
            improved=sizes["marginal exact"],
            at_most=True,
            note="printed as sufficient: at 1,500 ε is 0.1003",
        ),
    )


def _by_hand(by_hand: Mapping[str, float]) -> Table:
    rows = (
        Row(("labels in every bin",), published=300, printed="300", text=by_hand["labels"]),
        Row(
            ("rows of the first split, c = 100",),
            printed="≥ 8,000",
            text=by_hand["first"],
            note="a lower bound",
        ),
        Row(
            ("rows of the second split",), published=9_500, printed="9,500", text=by_hand["second"]
        ),
        Row(
            ("rows in all",),
            published=17_500,
            printed="17,500",
            text=by_hand["all"],
            note="8,000 + 9,500",
        ),
    )
    proved = appendix_b(c=2_000)["all"]
    return Table(
        "Appendix B: rows for sample splitting, step by step",
        "Appendix B, rounded",
        ("step",),
        rows,
        within=50,
        digits=0,
        note="The paper rounds every step and says so; our numbers are those without rounding, and agree if they round "
        "to the same hundred. The constant c = 100 is a supposition of the paper. With c = 2,000, as in the proof it "
        f"cites, {proved:,} rows are needed. In the formula for the second split our copy of the paper divides by "
        "log(2B/δ); Section 3.2 has it as a factor, which is what we compute.",
    )


def _values(found: Mapping[str, Any]) -> Table:
    rows = (
        Row(
            ("2,900 rows, 10 bins: ε of Corollary 1",),
            published=0.1,
            printed="< 0.1",
            text=found["at 2,900"],
            at_most=True,
        ),
        Row(
            ("1,500 rows, 10 bins: marginal ε",),
            published=0.1,
            printed="< 0.1",
            text=found["at 1,500"],
            note="not below 0.1 as printed, however small δ is",
            at_most=True,
        ),
        Row(("1,510 rows, 10 bins: marginal ε",), text=found["at 1,510"]),
        Row(
            ("150 rows, 1 bin: ε by Hoeffding",),
            published=0.1,
            printed="≈ 0.1",
            text=sqrt(log(2 / 0.1) / 300),
        ),
        Row(
            ("largest 1/⌊n/B⌋ under (8) with ε ≤ 0.1, α ≤ 0.5, B ≥ 5",),
            published=0.007,
            printed="≤ 0.007",
            text=1 / found["fewest per bin"],
            at_most=True,
            note=f"⌊n/B⌋ is at least {found['fewest per bin']}; printed: n/B ≥ 150",
        ),
    )
    return Table(
        "Numbers of Sections 2.2 and 3", "Sections 2.2 and 3", ("quantity",), rows, within=1e-3
    )


def _small_sample(found: Mapping[str, float]) -> Table:
    row = Row(("1,000", "0.1"), text=found["hoeffding"], improved=found["exact"])
    return Table(
        "Validity that is guaranteed with 10 bins, marginally",
        "Appendix C, without numbers",
        ("rows", "ε"),
        (row,),
        digits=3,
        note="Appendix C reports that Clopper-Pearson intervals instead of Hoeffding's inequality give nearly the same "
        "curve at n = 1,000, without showing it. The exact binomial distribution at its worst rate (improved) gives a "
        "clearly higher one.",
    )


def _size_outcome(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # a calculation has one size
    found = results["required"]
    return Outcome(
        (
            Table(
                "Rows for ε = 0.1 at α = 0.1 with 10 bins",
                "Sections 2, 2.2 and 3.2",
                ("guarantee", "method"),
                _claims(found["sizes"]),
                digits=0,
            ),
            _by_hand(found["appendix B"]),
            _values(found),
            _small_sample(found["validity at 1,000"]),
            Table(
                "Rows for ε = 0.1 at α = 0.1 by Theorem 3",
                "",
                ("bins",),
                tuple(Row((B,), n) for B, n in found["bins"].items()),
                digits=0,
            ),
        ),
        remarks=(
            "The calculation, Theorem 3: ε = √(log(2B/α) / (2(⌊n/B⌋ − 1))). For B = 10 and α = 0.1, log(200) is "
            "5.298, so ε ≤ 0.1 needs ⌊n/B⌋ − 1 ≥ 264.9, that is n ≥ 2,660. Corollary 1 adds 1/⌊n/B⌋: n ≥ 2,860. For "
            "one bin (marginal) log(2/α) = 2.996, so ⌊n/B⌋ − 1 ≥ 149.8, that is n ≥ 1,510.",
            "Improved: for sample splitting the numbers of rows in the bins are beta-binomial for any scores without "
            "ties, which needs no constant; for UMD and the original, the binomial distribution at its worst rate "
            "replaces Hoeffding's inequality.",
        ),
    )


SAMPLE_SIZE = Experiment(
    name="gupta-sample-size",
    paper=GUPTA,
    covers="Sections 2 and 3, Appendix B",
    title="how many rows histogram binning needs",
    pieces=_size_pieces,
    assemble=_size_outcome,
    minutes=0.1,
)


# -------------------------------------------------------------------------------------------------- Figure 2


def _bins_pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # nothing is drawn
    return [Piece("recommended", recommended_bins, {})]


def recommended_bins() -> dict[str, dict[str, float]]:
    """ε at the recommended numbers of bins: Theorem 3, its approximation in the text, and the exact bound."""
    return {
        str(n): {
            "theorem": epsilon(n, B),
            "approximation": sqrt(B * log(20 * B) / (2 * n)),
            "exact": epsilon(n, B, bound="exact"),
        }
        for n, (B, _) in _RECOMMENDED.items()
    }


def _bins_outcome(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # one size
    found = results["recommended"]
    rows = tuple(
        Row(
            (f"{n:,}", str(B)),
            published=bound,
            printed=f"≤ {bound:g}",
            text=found[str(n)]["theorem"],
            improved=found[str(n)]["exact"],
            at_most=True,
        )
        for n, (B, bound) in _RECOMMENDED.items()
    )
    rough = tuple(
        Row((f"{n:,}", str(B)), found[str(n)]["approximation"], found[str(n)]["theorem"])
        for n, (B, _) in _RECOMMENDED.items()
    )
    return Outcome(
        (
            Table(
                "ε at the recommended number of bins", "caption of Figure 2", ("rows", "bins"), rows
            ),
            Table(
                "√(B log(20B) / 2n), which Section 3.2 uses in place of (8)",
                "ε of (8)",
                ("rows", "bins"),
                rough,
                within=0.001,
                against="exact",
            ),
        ),
        (Picture("bins", "Figure 2: ε of Theorem 3 against the number of bins", _draw_bins),),
    )


def _draw_bins() -> Any:
    from trueness.plot import GuaranteeDisplay

    chosen = {n: bins for n, (bins, _) in _RECOMMENDED.items()}
    return (
        GuaranteeDisplay.from_sizes(list(_RECOMMENDED), range(2, 51), chosen=chosen).plot().figure_
    )


FIGURE_2 = Experiment(
    name="gupta-figure-2",
    paper=GUPTA,
    covers="Figure 2",
    title="ε against the number of bins",
    pieces=_bins_pieces,
    assemble=_bins_outcome,
    minutes=0.05,
)
