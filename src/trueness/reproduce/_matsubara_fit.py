"""How many published digits the end of a fit decides (Tables 6 to 12)."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness.reproduce._experiment import Experiment, Outcome, Piece, Size
from trueness.reproduce._matsubara_beside import ROUNDING
from trueness.reproduce._matsubara_procedure import MEASURES, TESTS
from trueness.reproduce._matsubara_published import SUPPLEMENT, read
from trueness.reproduce._matsubara_supplement import STUDIED, Found, sizes
from trueness.reproduce._paper import MATSUBARA
from trueness.reproduce._table import Row, Table

__all__ = ["FIT", "largest", "smaller"]

Fit = dict[str, Any]

_EARLY: Fit = {"tolerance": 1e-4}
_CONVERGED: Fit = {"tolerance": 1e-9}
# Found by moving both coefficients at random, by some 1e-6, until every number came out.
_SMALLER: Fit = {**_CONVERGED, "moved": [-2.3696e-6, -5.0392e-7]}
_LARGEST: Fit = {**_CONVERGED, "moved": [8.7304e-7, -1.2804e-6]}


def smaller(fit: Fit, settings: str, seed: int) -> list[int]:
    """Of Tables 6 to 11: numbers that come out as published, by the procedure of the code, and how many there are."""
    counts = []
    for study in STUDIED[:6]:
        for setting in settings:
            function, arguments = study.vary(setting, seed, "full")
            counts.append(_counted(f"{study.file}_{setting}", function(**arguments, **fit)))
    return [sum(agree for agree, _ in counts), sum(known for _, known in counts)]


def largest(fit: Fit, seed: int) -> list[int]:
    """The same of the line of Table 12 with 60,000 rows, at a test prevalence of 50 %."""
    return list(_counted("datasize_A", sizes("A", seed, [60_000], **fit)))


def _counted(file: str, found: Found) -> tuple[int, int]:
    published = read(SUPPLEMENT[file], TESTS if file.startswith("testtype") else MEASURES)
    differences = [
        abs(value - published[label][name]) for label, by in found.items() for name, value in by["code"].items()
    ]
    return sum(difference <= ROUNDING for difference in differences), len(differences)


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    settings = "AB" if size == "full" else "A"
    fits = {"early": _EARLY, "converged": _CONVERGED, "moved": _SMALLER}
    if size == "quick":
        del fits["early"]
    pieces = [
        Piece(f"6-11-{name}", smaller, {"fit": f, "settings": settings, "seed": seed}) for name, f in fits.items()
    ]
    fits = {**fits, "moved": _LARGEST}
    return pieces + [Piece(f"12-{name}", largest, {"fit": f, "seed": seed}) for name, f in fits.items()]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:
    part = "" if size == "full" else ", test prevalence 50 %"
    of = {"6-11": f"Tables 6 to 11{part}", "12": "Table 12, 60,000 rows, test prevalence 50 %"}
    moved = {"6-11": "intercept − 2.4e-6, slope − 5.0e-7", "12": "intercept + 8.7e-7, slope − 1.3e-6"}
    rows = []
    for key, (agree, known) in results.items():
        tables, fit = key.rsplit("-", 1)
        words = {
            "early": "ended at scikit-learn's tolerance, 1e-4",
            "converged": "converged (tolerance 1e-9)",
            "moved": f"converged, then moved: {moved[tables]}",
        }[fit]
        rows.append(Row((of[tables], words, str(known)), agree))
    headings = ("of", "the logistic regression", "numbers")
    return Outcome((Table("Numbers that come out as published", "", headings, tuple(rows), digits=0),))


FIT = Experiment(
    name="matsubara-fit",
    paper=MATSUBARA,
    covers="Tables 6 to 12 once more",
    title="how many published digits the end of the fit decides",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.5,
)
