"""`Evidence`: what is known about one model, whatever it was read from.

There are three types: :class:`~trueness._tally.problem.Problem`, one score per row;
:class:`~trueness._tally.classes.Classes`, several; and :class:`~trueness._tally.sums_of_rows.Sums`.
:mod:`trueness._tally.reading` makes them. What differs between them is a method of the type.
"""

# A default takes the arguments of the types that use them.
# ruff: noqa: ARG002

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_fraction
from trueness._input.sample import Sample
from trueness._input.segment_columns import GROUPS, SegmentColumn, WholeNumbers
from trueness._numerics.units import Units
from trueness._tally import rows_or_sums
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows, codes_by_content, warn_few_clusters
from trueness._tally.events import Events
from trueness._tally.multiclass import View
from trueness._tally.rows_or_sums import rule_for
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualMass, EqualWidth
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.typing import ArrayLike, Columns, Floats, Ints, WeightType

AnySums: TypeAlias = Tally | Binned | Sketch
Answer = TypeVar("Answer")
TwoColumns: TypeAlias = Literal["binary", "top-label", "keep"]
Weights: TypeAlias = Literal["none", "whole", "fractional"]


@dataclass
class Said:
    """The warnings that have been given about some rows, or that are not to be given."""

    one_class: bool = False
    """All labels are equal."""
    few_clusters: bool = False
    """The clusters are worth fewer than 20 of equal size."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence(ABC):
    """What is known about one model: its rows, or their sums."""

    cluster: Ints | None = None
    """The cluster of each row, numbered from 0; of sums, the buckets that they keep."""
    weight_type: WeightType = "auto"
    """Whether weights count rows; 'auto': whole numbers do, others express importance."""
    two_columns: bool = False
    """Whether two columns, or two classes, became the binary problem of the second."""
    event: Hashable | None = None
    """The class of the second of two columns."""
    rounded_to: float | None = None
    """The unit to which scores were rounded, if known: 0 and 1 may be others."""
    asked: bool = False
    """Whether the view of a matrix was asked for, so that every question has it."""
    notes: tuple[str, ...] = ()
    """What was decided about the rows, in sentences."""
    said: Said = field(default_factory=Said)
    """The warnings that have been given."""

    if TYPE_CHECKING:  # fields of `Rows` or of `Sums`; the other has None or 0 in their place

        @property
        def rows(self) -> Sample | None: ...
        @property
        def given(self) -> AnySums | None: ...
        @property
        def events(self) -> Events | None: ...
        @property
        def dropped(self) -> int: ...
        @property
        def weightless(self) -> int: ...

    @cached_property
    def _answers(self) -> dict[Any, Any]:
        return {}

    def once(self, find: Callable[..., Answer], *details: Hashable) -> Answer:
        """What `find` says of these rows, found once although several questions ask."""
        if (find, details) not in self._answers:
            self._answers[find, details] = find(self, *details)
        return self._answers[find, details]  # type: ignore[no-any-return]  # what `find` returned

    def __getstate__(self) -> dict[str, Any]:
        """What was read, without what was found on the way to answers."""
        return {known.name: getattr(self, known.name) for known in fields(self)}

    # ---- what each type answers in its own way; the default is that of one problem without rows

    @property
    @abstractmethod
    def view(self) -> View:
        """The question: 'binary' for one event per row, else the view of a matrix of scores."""

    @property
    @abstractmethod
    def sums(self) -> AnySums:
        """The sums per distinct score, or those that were passed: the argument of a measure."""

    @property
    @abstractmethod
    def tally(self) -> Tally | None:
        """The sums per distinct score; a sketch has its rows at mean scores, and bins have none."""

    @abstractmethod
    def tally_in(self, rule: BinRule | None = None, what: str = "This measure") -> Tally:
        """The sums per distinct score, in the order that a rule may need; bins are refused."""

    @abstractmethod
    def binned(self, bins: BinsLike | BySize, *, moments: bool = True) -> Binned:
        """The sums per bin."""

    @property
    def classwise(self) -> Tally | None:
        """The sums of every class against the rest, or of every label; None for one problem."""
        return None

    @property
    def every_class(self) -> "Evidence":
        """The same rows, every class of a matrix against the rest."""
        return self

    def each_class(self) -> "Iterator[tuple[Any, Evidence]]":
        """Each class against the rest, or each label, as a binary problem of the same data."""
        return iter(())

    def problems(self) -> "dict[Any, Evidence] | None":
        """Each class or label that has rows, to be judged on its own; None for one problem."""
        return None

    def seen_as(self, view: View, two_columns: TwoColumns = "binary") -> "Evidence":
        """The same rows as another question reads them: all classes, or the top one.

        Two columns are the binary problem of the second, unless they are to be kept or the top
        label is asked for. Sums, vectors of scores and several labels have one view only.
        """
        return self

    def in_views(self, views: Iterable[View]) -> "dict[str, Evidence]":
        """The same rows in several views of a matrix; what is no matrix has its own."""
        return {self.view: self}

    @property
    def sample(self) -> Sample:
        """The binary problem, or the largest score of each row and whether it was right."""
        return self.need_rows("This needs the rows")

    @property
    def matrix(self) -> Sample:
        """The rows, of a matrix with the probabilities of all classes."""
        return self.need_rows("This needs whole rows of scores")

    @property
    def expanded(self) -> "Evidence":
        """The rows of positive weight, those of weights that count rows repeated."""
        self.need_rows("This needs the rows")
        return self

    def at(self, chosen: NDArray[Any], *, weighted: bool = True) -> Self:
        """Some of the rows, perhaps repeated, with or without their weights."""
        self.need_rows("This needs the rows")
        return self

    @abstractmethod
    def need_rows(self, demand: str) -> Sample:
        """The rows; an error if there are only sums."""

    def has_weight(self, some: NDArray[Any]) -> bool:
        """Whether any of these rows has a weight."""
        self.need_rows("This needs the rows")
        return False

    def with_scores(self, rows: Sample) -> Self:
        """The same rows with other scores, of which nothing has been said."""
        self.need_rows("This needs the rows")
        return self

    def to_keep(self, *, copied: bool) -> "Evidence":
        """What many questions are asked about.

        Rows of weight 0 are left out, and the rest is copied unless the caller asks only one
        question. What is unusual about all rows is said here, so that no later question says it.
        """
        self.warn_one_class()
        return self

    @property
    def position(self) -> Ints | None:
        """The place of each row in the input; None for sums."""
        return None

    def columns(
        self,
        by: Columns,
        y_true: ArrayLike,
        crossed: int = 1,
        *,
        whole: WholeNumbers = "guess",
        groups: int = GROUPS,
    ) -> tuple[SegmentColumn, ...]:
        """The columns `by` of the rows that were kept; `y_true` is the input as it was passed."""
        got = f"a {type(y_true).__name__} holds only sums of rows"
        raise InputError("by", "needs labels and scores", got)

    @property
    @abstractmethod
    def weight(self) -> float:
        """The sum of the weights; the number of rows without."""

    @property
    @abstractmethod
    def weights(self) -> Weights:
        """Whether rows have weights, and whether these are whole numbers that count rows.

        These sum to less than 2³⁵; all others are sampling weights.
        """

    @property
    @abstractmethod
    def units(self) -> Units:
        """What is independent: clusters, or rows without clusters."""

    @property
    @abstractmethod
    def classes(self) -> tuple[Any, ...] | None:
        """The classes of a matrix in column order."""

    @property
    @abstractmethod
    def clustered(self) -> ClusteredRows:
        """One score per row in clusters; without `cluster`, every row is its own."""

    def clustered_for(self, rule: BinRule | None) -> ClusteredRows:
        """The same for bins of a rule, which sums of bins are refused for."""
        return self.clustered

    def warn_about_rows(self) -> None:
        """Warn of what is unusual about all rows, as their sums do."""
        self.warn_one_class()

    @abstractmethod
    def warn_one_class(self) -> None:
        """Warn of labels that are all equal, once."""

    # ---- what follows from these for all types

    @property
    def has_rows(self) -> bool:
        """Whether there are rows, not only their sums."""
        return False

    @property
    def is_binned(self) -> bool:
        """Whether there are only sums of bins, which do not keep the scores."""
        return False

    @property
    def is_binary(self) -> bool:
        """Whether there is one event per row."""
        return self.view == "binary"

    @property
    def is_top_label(self) -> bool:
        """Whether the event is that the largest score of a row is right."""
        return self.view == "confidence"

    @property
    def is_classwise(self) -> bool:
        """Whether every class is asked about."""
        return self.view == "classwise"

    @property
    def is_by_predicted_class(self) -> bool:
        """Whether the top label is asked about, class by class."""
        return self.view == "top-label"

    @property
    def keeps_scores(self) -> bool:
        """Whether every distinct score is known, not only the mean of a cell or bin."""
        return True

    @property
    def has_class_sums(self) -> bool:
        """Whether there are only sums of each class, which do not keep the scores of a row."""
        return False

    @property
    def has_class_rows(self) -> bool:
        """Whether every class is asked about, of rows that keep their scores together."""
        return False

    @property
    def has_one_score(self) -> bool:
        """Whether there is one score per row, of one event or of the top label."""
        return self.view in ("binary", "confidence")

    @property
    def has_labels(self) -> bool:
        """Whether there are several labels per row, each a binary problem."""
        return self.view == "multilabel"

    @property
    def has_choice_of_views(self) -> bool:
        """Whether these are rows of a matrix, which questions read in several ways."""
        return False

    @property
    def has_images(self) -> bool:
        """Whether every class of images is asked about."""
        return False

    @property
    def default_rule(self) -> BinRule:
        """The bins of questions that name none: ten of equal width."""
        return EqualWidth(10)

    def with_bins_as_cells(self, fewest: int) -> "Evidence":
        """The same; sums in at least that many bins have their rows at mean scores."""
        return self

    @property
    def parts(self) -> tuple[Cells, ...] | tuple[Bins, ...]:
        """The sums of one score of each row, or of each class."""
        if self.tally is not None:
            return self.tally.parts
        return self.sums.parts  # type: ignore[return-value]  # no sketch

    @property
    def one(self) -> Cells | Bins | None:
        """The sums of the only score of each row; None if there are several."""
        if len(self.parts) == 1:
            return self.parts[0]
        return None

    @property
    def cells(self) -> Cells:
        """The sums per distinct score of the only score of each row."""
        (only,) = self.tally_in().parts
        return only

    @property
    def cells_at_means(self) -> tuple[Cells, ...]:
        """The cells of each part.

        Rows of a cell of a sketch, or of a bin, are at their mean score.
        """
        return tuple(part.at_means() for part in self.parts)

    @cached_property
    def means(self) -> tuple[float, float, float]:
        """Mean score, event rate and their difference, of one score per row."""
        (part,) = (
            self.sums if isinstance(self.sums, Binned) else self.sums.coarsen(EqualMass(1))
        ).parts
        weight = part.weight.sum()
        score, rate, gap = (
            float(total.sum() / weight) for total in (part.sum_score, part.events, part.excess)
        )
        return score, rate, gap

    def rule(self, bins: BinsLike | BySize) -> BinRule:
        """The bin rule, which may depend on the number of rows."""
        return rule_for(bins, self.weight)

    @property
    def whole(self) -> bool:
        """Whether weights, if any, count rows."""
        return self.weights != "fractional"

    @property
    def importance(self) -> bool:
        """Whether weights express importance."""
        return self.weights == "fractional"

    @property
    def n(self) -> int:
        """Rows; a row of weight 2 counts as two if weights count rows."""
        if self.whole:
            return round(self.weight)
        return self.sums.n

    @property
    def guessed_counts(self) -> bool:
        """Whether weights were taken as counts only because they are whole numbers."""
        return self.weight_type == "auto" and self.weights == "whole" and self.weight > self.sums.n

    @property
    def dependent(self) -> bool:
        """Whether rows are in clusters."""
        return self.cluster is not None

    @property
    def is_plain(self) -> bool:
        """Whether rows are independent and count once, or as often as their weights say."""
        return self.whole and not self.dependent

    @property
    def in_clusters(self) -> ClusteredRows | None:
        """One score per row in clusters; None if rows are independent, or have several scores."""
        if self.dependent and self.has_one_score:
            return self.clustered
        return None

    @property
    def note(self) -> str:
        """The notes as one text."""
        return " ".join(self.notes)

    def require_one(self, what: str, *, counted: bool = False) -> None:
        """Raise unless there is one score per row, binary or the largest of a matrix.

        `counted`: weights count rows.
        """
        if counted and not self.whole:
            raise counts_needed(self.weight_type)
        if self.view == "multilabel":
            demand = f"must not be 'multilabel' for {what.removesuffix(' of a matrix')}"
            remedy = (
                "Pass a column of labels and of scores at a time; `estimate` and `report` take "
                "all of them."
            )
            raise InputError("kind", demand, "each label is a problem of its own", remedy=remedy)
        if not self.has_one_score:
            remedy = "For one class against the rest pass its column as a vector."
            raise InputError(
                "kind", f"must be 'confidence' for {what}", f"got {self.view!r}", remedy=remedy
            )

    def rounded(self, unit: float | None) -> Self:
        """The same, with scores that were rounded to multiples of a unit."""
        if unit is None:
            return self
        return replace(self, rounded_to=checked_fraction(unit, "rounded_to"))

    @abstractmethod
    def warn_few_clusters(self) -> None:
        """Warn of clusters of rows that are worth fewer than 20 of equal size."""

    def warn_few_rows(self, rule: BinRule) -> None:
        """Warn of fewer rows than bins."""
        if rule.n_requested > self.weight:
            rows_or_sums.warn_few_rows(round(self.weight), rule)

    def _in_order_of_content(
        self, top: Sample, codes: Ints, what: str, *, counts: bool = False
    ) -> ClusteredRows:
        """One score per row and its cluster, sorted by cluster, score and label.

        `what` names the clusters in the warning that there are few of them; `counts` says that
        weights count rows.
        """
        number = codes_by_content(top, codes)
        keys: tuple[NDArray[Any], ...] = (top.y, top.p, number)
        if top.w is not None:
            keys = (top.w, *keys)
        order = np.lexsort(keys)
        w: Floats | None = None if top.w is None else top.w[order]
        rows = ClusteredRows(top.at(order, w), number[order], counts)
        if self.cluster is None or not self.said.few_clusters:
            warn_few_clusters(rows.units, rows.weight, what)
        return rows


def counts_needed(weight_type: WeightType) -> InputError:
    """The error for weights that do not count rows, where they must."""
    got = "`weight_type` is 'importance'" if weight_type == "importance" else "got fractions"
    return InputError("sample_weight", "must be whole numbers, which count rows", got)
