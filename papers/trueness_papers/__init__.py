"""The tables and figures of the papers that trueness rests on, recomputed: one command each."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Outcome",
    "Picture",
    "Piece",
    "Record",
    "Row",
    "Table",
    "results_page",
    "run_experiment",
]

if TYPE_CHECKING:
    from trueness_papers.catalogue import EXPERIMENTS
    from trueness_papers.experiment import Experiment, Outcome, Picture, Piece
    from trueness_papers.page import results_page
    from trueness_papers.record import Record, Row, Table
    from trueness_papers.run import run_experiment

# Lazily: `trueness --help` imports this package, and must not wait for scikit-learn.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "catalogue": ("EXPERIMENTS",),
        "experiment": ("Experiment", "Outcome", "Picture", "Piece"),
        "page": ("results_page",),
        "record": ("Record", "Row", "Table"),
        "run": ("run_experiment",),
    },
)
