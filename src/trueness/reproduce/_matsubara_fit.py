"""How many published digits the end of a fit decides (Tables 6 to 11, test prevalence 50 %)."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness.reproduce._experiment import Experiment, Outcome, Piece, Size
from trueness.reproduce._matsubara_beside import ROUNDING
from trueness.reproduce._matsubara_procedure import MEASURES, TESTS
from trueness.reproduce._matsubara_published import SUPPLEMENT, read
from trueness.reproduce._matsubara_supplement import STUDIED
from trueness.reproduce._paper import MATSUBARA
from trueness.reproduce._table import Row, Table

__all__ = ["FIT", "agreeing"]

# Found by moving both coefficients at random by some 1e-6.
_MOVED = (-1.3412e-6, -1.4015e-6)
_FITS: dict[str, dict[str, Any]] = {
    "ended at scikit-learn's tolerance, 1e-4": {"tolerance": 1e-4},
    "converged (tolerance 1e-9)": {"tolerance": 1e-9},
    "converged, intercept − 1.34e-6, slope − 1.40e-6": {"tolerance": 1e-9, "moved": list(_MOVED)},
}


def agreeing(fit: dict[str, Any], seed: int) -> dict[str, int]:
    """Numbers that come out as published, by the procedure of the code, and how many there are."""
    agree = known = 0
    for study in STUDIED[:6]:
        function, arguments = study.vary("A", seed, "full")
        published = read(SUPPLEMENT[f"{study.file}_A"], TESTS if study.file == "testtype" else MEASURES)
        for label, by in function(**arguments, **fit).items():
            differences = [abs(value - published[label][name]) for name, value in by["code"].items()]
            agree += sum(difference <= ROUNDING for difference in differences)
            known += len(differences)
    return {"agree": agree, "known": known}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # one size fits
    return [Piece(str(i), agreeing, {"fit": fit, "seed": seed}) for i, fit in enumerate(_FITS.values())]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    rows = [Row((words,), found["agree"]) for words, found in zip(_FITS, results.values(), strict=True)]
    known = results["0"]["known"]
    title = f"How many of the {known} numbers of Tables 6 to 11 at a test prevalence of 50 % come out as published"
    table = Table(title, "", ("the logistic regression",), tuple(rows), digits=0)
    return Outcome((table,))


FIT = Experiment(
    name="matsubara-fit",
    paper=MATSUBARA,
    covers="Tables 6 to 11, part of them",
    title="how many published digits the end of the fit decides",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.2,
)
