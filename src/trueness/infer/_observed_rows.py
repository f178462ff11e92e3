"""Labels and scores of one model, read once for many measures: sums, rows where they are needed, and clusters."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trueness._input.arguments import Seed, generator
from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows
from trueness._tally.multiclass import TWO_COLUMNS, has_two_columns
from trueness._tally.rows_or_sums import check_one_class, sample_and_kind, tally_of
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally, binary_of_two_classes
from trueness.errors import InputError, TruenessWarning
from trueness.infer._clustered_rows import clustered_rows
from trueness.infer._paired_rows import read_rows
from trueness.typing import ArrayLike, Ints, Kind, RowOptions


@dataclass(frozen=True)
class ObservedRows:
    """What is known of the rows. Sums suffice for most measures; the rows are kept for those that need them."""

    sums: Tally | Binned | Sketch
    """The argument of a measure."""
    level: float
    rng: np.random.Generator
    rows: tuple[Any, Any, RowOptions] | None = None
    """Labels, scores and options as passed; None if there are only sums."""
    sample: Sample | None = None
    """The rows of a class-wise matrix, whose sums do not keep the scores of a row together."""
    sample_cluster: Ints | None = None
    """Their clusters."""
    clustered: ClusteredRows | None = None
    """The rows in clusters, for one score per row."""
    cluster: ArrayLike | None = None
    note: str = ""
    floors: bool = True
    """Whether noise floors will be needed."""
    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    """Results that several measures share."""

    @cached_property
    def tally(self) -> Tally | None:
        """The sums per distinct score; those of a sketch are at mean scores. None for bins."""
        if isinstance(self.sums, Binned):
            return None
        return self.sums.as_tally() if isinstance(self.sums, Sketch) else self.sums

    @property
    def parts(self) -> tuple[Cells, ...] | tuple[Bins, ...]:
        """The sums of one score of each row, or of each class."""
        if self.tally is not None:
            return self.tally.parts
        assert isinstance(self.sums, Binned)
        return self.sums.parts

    @property
    def one(self) -> Cells | Bins | None:
        """The sums of the only score of each row; None if there are several."""
        return self.parts[0] if len(self.parts) == 1 else None

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers."""
        return all(part.whole if isinstance(part, Bins) else part.exact for part in self.parts)

    @property
    def n(self) -> int:
        """Rows; a row of weight 2 counts as two if all weights are whole numbers."""
        return round(self.sums.weight) if self.whole else self.sums.n

    @property
    def dependent(self) -> bool:
        """Whether rows are in clusters."""
        return self.cluster is not None


def observe(
    y_true: Any,
    y_prob: Any,
    rows: RowOptions,
    *,
    level: float,
    seed: Seed,
    cluster: ArrayLike | None = None,
    kind: Kind = "classwise",
    floors: bool = True,
) -> ObservedRows:
    """Read labels and scores, or sums in place of both; `kind` is the view of a matrix unless `rows` names another."""
    rng = generator(seed)
    if isinstance(y_true, Tally | Binned | Sketch):
        return _of_sums(y_true, y_prob, rows, cluster, level, rng, floors)
    two = rows.get("kind") is None and has_two_columns(y_prob)
    note = TWO_COLUMNS if two else ""
    settings: RowOptions = {**rows, "kind": "classwise"} if two else rows
    sample, chosen = sample_and_kind(y_true, y_prob, settings, kind=kind)
    grouped, codes = None, None
    if cluster is None:
        tally = tally_of(sample, chosen)
    else:
        importance = sample.w is not None and bool((sample.w % 1 != 0).any())
        if sample.p.ndim == 1 or two or chosen == "confidence":
            own: RowOptions = rows if sample.p.ndim == 1 else {**rows, "kind": chosen}
            grouped = clustered_rows(y_true, y_prob, cluster, own, importance=importance, binary=two)
            top = chosen == "confidence" and sample.p.ndim == 2 and not two
            view: Literal["binary", "confidence"] = "confidence" if top else "binary"
            tally = Tally(view, (grouped.cells,), None if view == "binary" else sample.classes)
        else:
            paired = read_rows(
                y_true, {"": y_prob}, cluster, {**rows, "kind": chosen}, kind=chosen, importance=importance
            )
            sample, codes = paired.samples[""], paired.cluster
            tally = tally_of(sample, chosen)
    if two:
        tally = binary_of_two_classes(tally)
    if tally.one_class:
        check_one_class(sample)
    kept = sample if tally.kind == "classwise" else None
    return ObservedRows(tally, level, rng, (y_true, y_prob, rows), kept, codes, grouped, cluster, note, floors)


def _of_sums(
    sums: Tally | Binned | Sketch,
    y_prob: Any,
    rows: RowOptions,
    cluster: ArrayLike | None,
    level: float,
    rng: np.random.Generator,
    floors: bool,
) -> ObservedRows:
    what = type(sums).__name__
    if cluster is not None:
        raise InputError("cluster", "needs labels and scores", f"a {what} holds only sums of rows")
    if y_prob is not None:
        raise InputError("y_prob", f"must be left out when a {what} is passed: it holds labels and scores")
    for name, value in rows.items():
        if value is not None and not (name == "kind" and value == sums.kind):
            raise InputError(name, "describes rows", f"this {what} already holds their sums")
    if sums.n == 0:
        raise InputError("", f"An empty {what} has no calibration error", remedy="Add rows to it first.")
    note = "From a sketch: all scores of a cell are at their mean." if isinstance(sums, Sketch) else ""
    return ObservedRows(sums, level, rng, note=note, floors=floors)


def quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function without the library's warnings, which the measure itself has given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)
        return function(*arguments, **options)
