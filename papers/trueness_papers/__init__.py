"""The tables and figures of the papers that trueness rests on, recomputed: one command each."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

__all__ = [
    "EXPERIMENTS",
    "Estimate",
    "Experiment",
    "Outcome",
    "Picture",
    "Piece",
    "Record",
    "Row",
    "Table",
    "Timing",
    "results_page",
    "run_experiment",
    "timings_page",
]

if TYPE_CHECKING:
    from trueness_papers.catalogue import EXPERIMENTS
    from trueness_papers.experiment import Experiment, Outcome, Picture, Piece
    from trueness_papers.page import results_page, timings_page
    from trueness_papers.record import Estimate, Record, Row, Table, Timing
    from trueness_papers.run import run_experiment

# Lazily: `trueness --help` imports this package, and must not wait for scikit-learn.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "catalogue": ("EXPERIMENTS",),
        "experiment": ("Experiment", "Outcome", "Picture", "Piece"),
        "page": ("results_page", "timings_page"),
        "record": ("Estimate", "Record", "Row", "Table", "Timing"),
        "run": ("run_experiment",),
    },
)
