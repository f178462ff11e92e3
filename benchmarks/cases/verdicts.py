"""Verdicts on real models beside Cox's test, with every disagreement explained.

The predictions are those of ``arena.npz`` in the folder that TRUENESS_DATA names: seven kinds of models on 15 data
sets, each judged on rows that it was not fitted on. Scores of several classes are judged by their largest.
"""

import os
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmark import Page, case

import trueness as tn

LEVEL = 0.95
ACCUSED = ("miscalibrated", "nearly-calibrated")


UNITS = {"neighbours": 1 / 15, "forest": 0.01, "extra-trees": 0.01}
"""Votes of 15 neighbours, and of 100 trees."""


class Outcome(NamedTuple):
    name: str
    n: int
    code: str
    pvalue: float
    cox: float
    why: str
    """What explains a disagreement; empty if both refute calibration, or neither does."""


def judge(name: str, y: np.ndarray, p: np.ndarray) -> Outcome:
    """The verdict and Cox's test of one model."""
    labels = {"labels": list(range(p.shape[1]))} if p.ndim == 2 else {}
    unit = UNITS.get(name.split(".")[1], 2.0**-24)  # scores are stored as 32-bit floats
    found = tn.verdict(y, p, level=LEVEL, rounded_to=unit, **labels)
    code, test = found.code, found.test
    assert test is not None
    cox = tn.calibration_test(y, p, method="cox", seed=0, **labels).pvalue
    accused, refuted = code in ACCUSED, cox <= 1 - LEVEL
    why = ""
    if accused and not refuted:
        why = (
            f"neither shift nor slope: {test.strongest}"
            if found.rejected
            else "a class, not the top label"
        )
    elif refuted and code == "too-good":
        why = "too good to be true"
    elif refuted and not accused:
        rounded = "impossible labels, but at scores on a coarse grid, which may have been rounded to 0 or 1"
        why = (
            rounded
            if test.contradicted
            else "a shift or slope that is not clear enough for a test of other shapes, too"
        )
    return Outcome(name, int(y.size), code, test.pvalue, cox, why)


@case("verdicts", "verdicts on real models, beside Cox's test", "2 min")
def verdicts(page: Page, quick: bool) -> None:
    file = Path(os.environ.get("TRUENESS_DATA", "")) / "arena.npz"
    if not os.environ.get("TRUENESS_DATA") or not file.exists():
        page.text("Skipped: TRUENESS_DATA names no folder with arena.npz.")
        return
    with np.load(file) as arrays, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [name.removesuffix(".pt") for name in arrays.files if name.endswith(".pt")][
            :: 8 if quick else 1
        ]
        outcomes = [
            judge(name, arrays[f"{name}.yt"], arrays[f"{name}.pt"].astype(np.float64))
            for name in names
        ]
    counts = Counter((one.code, one.cox <= 1 - LEVEL) for one in outcomes)
    page.head(
        "verdict", "Cox's test refutes", "it does not", title=f"{len(outcomes)} models at 5 %"
    )
    for code in dict.fromkeys(one.code for one in outcomes):
        page.row(code, str(counts[code, True]), str(counts[code, False]))
    page.head("explanation", "models", title="Disagreements by kind")
    kinds = Counter(one.why for one in outcomes if one.why)
    for why, number in kinds.most_common():
        page.row(why, str(number))
    page.head(
        "model",
        "rows",
        "verdict",
        "p (omnibus)",
        "p (Cox)",
        "explanation",
        title="Every disagreement",
    )
    for one in outcomes:
        if one.why:
            page.row(one.name, str(one.n), one.code, f"{one.pvalue:.3g}", f"{one.cox:.3g}", one.why)
    page.data = [one._asdict() for one in outcomes]
