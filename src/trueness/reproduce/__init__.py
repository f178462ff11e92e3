"""The papers' tables and figures, computed again: one command each."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Picture", "Piece", "Record", "Row", "Table", "conduct", "page"]

if TYPE_CHECKING:
    from trueness.reproduce._catalogue import EXPERIMENTS
    from trueness.reproduce._conduct import conduct
    from trueness.reproduce._experiment import Experiment, Outcome, Picture, Piece
    from trueness.reproduce._page import page
    from trueness.reproduce._record import Record
    from trueness.reproduce._table import Row, Table

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_catalogue": ("EXPERIMENTS",),
        "_conduct": ("conduct",),
        "_experiment": ("Experiment", "Outcome", "Picture", "Piece"),
        "_page": ("page",),
        "_record": ("Record",),
        "_table": ("Row", "Table"),
    },
)
