"""`Problem`: the rows of one model with one score each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trueness._input.sample import Sample
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.multiclass import View
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rows import Rows
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned, Tally


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem(Rows):
    """Labels, scores, weights and clusters of one event."""

    @property
    def view(self) -> View:
        """One event per row."""
        return "binary"

    @property
    def sample(self) -> Sample:
        """The rows."""
        return self.rows

    @property
    def matrix(self) -> Sample:
        """The rows."""
        self.warn_one_class()
        return self.rows

    @property
    def classwise(self) -> Tally | None:
        """None: there is one class."""
        return None

    @property
    def every_class(self) -> Evidence:
        """The same problem."""
        return self

    def each_class(self) -> Iterator[tuple[Any, Evidence]]:
        """Nothing: there is one class."""
        return iter(())

    def problems(self) -> dict[Any, Evidence] | None:
        """None: there is one problem."""
        return None

    def seen_as(self, view: View, two_columns: TwoColumns = "binary") -> Evidence:  # noqa: ARG002
        """The same problem, which has one view only."""
        return self

    def _tally_of_rows(self, rule: BinRule | None = None) -> Tally:
        tally = tally_of(self.sample, "classwise", rule)
        return Tally(self.view, tally.parts, self.classes)

    def _binned_rows(self, rule: BinRule, *, moments: bool) -> Binned:
        part = bins_of_rows(self.sample, rule, moments=moments)
        return Binned(self.view, (part,), self.classes)
