"""How many published digits the end of a fit decides (Tables 6 to 13)."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Piece, Size
from trueness_papers.matsubara.beside import ROUNDING
from trueness_papers.matsubara.logistic import Ended
from trueness_papers.matsubara.procedures import MEASURES, TESTS
from trueness_papers.matsubara.published import SUPPLEMENT, read
from trueness_papers.matsubara.supplement import STUDIED
from trueness_papers.record import Row, Table

__all__ = ["FIT", "agreeing"]

_ENDS: dict[Ended, str] = {
    "then": "as scikit-learn did: the sum of the losses falls by less than 2.2e-9 of itself",
    "converged": "at the optimum (tolerance 1e-9)",
    "now": "as scikit-learn does: the gradient of the mean loss is below 1e-4",
}


def agreeing(ended: Ended, settings: str, size: Size, seed: int) -> list[int]:
    """Numbers that come out as published, by the procedure of the code, and how many there are."""
    differences = []
    for study in STUDIED:
        for setting in settings:
            function, arguments = study.vary(setting, seed, size)
            published = read(SUPPLEMENT[f"{study.file}_{setting}"], TESTS if study.file == "testtype" else MEASURES)
            for label, by in function(**arguments, ended=ended).items():
                differences += [abs(value - published[label][name]) for name, value in by["code"].items()]
    return [sum(difference <= ROUNDING for difference in differences), len(differences)]


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    settings = "AB" if size == "full" else "A"
    arguments = {"settings": settings, "size": size, "seed": seed}
    return [Piece(ended, agreeing, {"ended": ended, **arguments}) for ended in _ENDS]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:
    known = results["then"][1]
    part = "" if size == "full" else " (a part of them)"
    rows = tuple(Row((words,), results[ended][0]) for ended, words in _ENDS.items())
    title = f"How many of the {known} numbers of Tables 6 to 13{part} come out as published"
    return Outcome((Table(title, "", ("the logistic regression ends",), rows, digits=0),), remarks=(_version(),))


def _version() -> str:
    from sklearn import __version__

    return f"The last line is scikit-learn {__version__}."


FIT = Experiment(
    name="matsubara-fit",
    paper=MATSUBARA,
    covers="Tables 6 to 13 once more",
    title="how many published digits the end of the fit decides",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.5,
)
