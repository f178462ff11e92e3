"""`Evidence`: what is known about one model, read once and asked many questions.

Every function above the sums reads its arguments here. What two columns mean, whether weights count
rows and which rows belong together is decided in this file only; the notes say so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_fraction
from trueness._input.sample import Sample
from trueness._input.segment_columns import GROUPS, SegmentColumn, WholeNumbers, read_by
from trueness._tally import multiclass, rows_or_sums
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows, codes_by_content, warn_few_clusters
from trueness._tally.events import Events, clusters_of, events_of_models
from trueness._tally.models import INDEPENDENT, read_models, warn_guessed_counts, weights_in_words
from trueness._tally.multiclass import EACH_ROW, ClassParts, View, parts_of
from trueness._tally.row_sums import cells_of_rows, count_rows
from trueness._tally.rows_or_sums import binned_of, rule_for, tally_of
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.tally import (
    Binned,
    Parts,
    Tally,
    binary_of_two_classes,
    checked_rule,
    need_moments,
    tally_of_sums,
)
from trueness.errors import InputError, TruenessWarning, collected_warnings, warn
from trueness.typing import ArrayLike, Ints, Kind, RowOptions, WeightType

Sums: TypeAlias = Tally | Binned | Sketch
TwoColumns: TypeAlias = Literal["binary", "top-label", "keep"]
_MOST_ROWS = 1 << 28
# Scores of a matrix from which on the sums of its classes, six times its memory, are made when
# needed.
_LARGE = 4 * 10**6


@dataclass(frozen=True)
class Evidence:
    """The rows of one model, or their sums."""

    view: View  # the question: 'binary' for one event per row, else the view of a matrix of scores
    # Rows as read, in input order (two columns: the binary problem); None for sums.
    rows: Sample | None = None
    # The sums, where they are known already: those passed in place of rows.
    given: Sums | None = None
    # The cluster of each row, numbered from 0; of sums, the buckets that they keep.
    cluster: Ints | None = None
    # Whether weights count rows; 'auto': whole numbers do, others express importance.
    weight_type: WeightType = "auto"
    kept: Ints | None = None  # the place of each row in the input; None if all are there
    dropped: int = 0  # rows dropped because a value was missing
    weightless: int = 0  # rows of weight 0 that were left out
    # Whether two columns, or two classes, became the binary problem of the second.
    two_columns: bool = False
    event: Any = None  # the class of the second of two columns
    # The unit to which scores were rounded, if known: 0 and 1 may be others.
    rounded_to: float | None = None
    asked: bool = False  # whether the view of a matrix was asked for, so that every question has it
    notes: tuple[str, ...] = ()  # what was decided about the rows, in sentences
    events: Events | None = None  # the statements that took the place of labels and scores
    # Shared by several questions.
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_prob: Any,
        rows: RowOptions,
        *,
        kind: Kind = "classwise",
        two_columns: TwoColumns = "binary",
        cluster: ArrayLike | None = INDEPENDENT,
    ) -> "Evidence":
        """Read labels and scores, or sums in place of both.

        `kind` is the view of a matrix unless `rows` names one. A matrix of two columns is the
        binary problem of its second, since every class against the rest is the same problem twice;
        unless columns are to be kept, or `rows` asks for the top label. Without `cluster` each
        image of dense predictions is one; functions that do not take clusters leave it out, and
        refuse images.
        """
        if isinstance(y_true, Tally | Binned | Sketch):
            if cluster is not None and cluster is not INDEPENDENT:
                what = type(y_true).__name__
                raise InputError(
                    "cluster", "needs labels and scores", f"a {what} holds only sums of rows"
                )
            rows_or_sums.refuse_row_arguments(y_true, y_prob, rows)
            if cluster is INDEPENDENT and y_true.buckets is not None:
                warn(
                    "Buckets of clusters are not used here: rows count as independent.",
                    TruenessWarning,
                )
            weight_type = rows.get("weight_type", "auto")
            if weight_type == "auto" and all(part.whole for part in y_true.parts):
                warn_guessed_counts(y_true.n, float(y_true.weight))
            return cls.of_sums(y_true, two_columns=two_columns, weight_type=weight_type)
        return cls.several(
            y_true, {"": y_prob}, rows, kind=kind, two_columns=two_columns, cluster=cluster
        )[""]

    @classmethod
    def of_sums(
        cls, sums: Any, *, two_columns: TwoColumns = "binary", weight_type: WeightType = "auto"
    ) -> "Evidence":
        """Take sums as they are.

        class-wise sums of two classes are the binary problem of the second.
        """
        if isinstance(sums, Sketch):
            notes = ["From a sketch: all scores of a cell are at their mean."]
        else:
            notes = []
        two = two_columns != "keep" and sums.kind == "classwise" and len(sums.parts) == 2
        if two:
            notes.append(multiclass.two_columns_in_words(sums.classes))
            sums = binary_of_two_classes(sums)
        cluster = None if sums.buckets is None else np.arange(len(sums.buckets.parts))
        return cls(
            sums.kind,
            given=sums,
            cluster=cluster,
            weight_type=weight_type,
            two_columns=two,
            notes=tuple(notes),
        )

    @classmethod
    def several(
        cls,
        y_true: Any,
        models: Mapping[str, Any],
        rows: RowOptions,
        *,
        kind: Kind = "classwise",
        two_columns: TwoColumns = "binary",
        cluster: ArrayLike | None = INDEPENDENT,
        argument: str = "models",
    ) -> "dict[str, Evidence]":
        """Read the rows that several models scored.

        A row with a missing value in any model is dropped for all.

        `y_true` holds the labels of all models, or labels by model. `argument` is the name of
        `models` in messages.
        """
        statements = events_of_models(y_true, models)
        events: Events | None = None
        if statements is not None:
            y_true, models = statements
            events = next(iter(y_true.values()))
            cluster = _clusters_beside(events, cluster)
        samples, shared_kind, fields = read_models(y_true, models, rows, kind, cluster, argument)
        first = next(iter(samples.values()))
        weight_type = rows.get("weight_type", "auto")
        if events is not None:
            weight_type = events.weight_type
            fields["notes"] += events.notes
        if first.w is not None:
            fields["notes"] += weights_in_words(first.w, weight_type)
            if weight_type == "auto" and count_rows(first):
                warn_guessed_counts(int((first.w > 0).sum()), float(first.w.sum()))
        fields |= {
            "view": "binary" if first.p.ndim == 1 else shared_kind,
            "weight_type": weight_type,
        }
        fields["asked"] = rows.get("kind") is not None
        has_two_columns = first.p.shape[1:] == (2,)
        asks_for_top_label = rows.get("kind") in ("confidence", "top-label")
        if has_two_columns and asks_for_top_label:
            fields["notes"] += (multiclass.TOP_OF_TWO_COLUMNS,)
        if (
            two_columns == "keep"
            or rows.get("kind") not in (None, "classwise")
            or not has_two_columns
        ):
            stated = y_true if events is not None else dict.fromkeys(samples)
            return {
                name: cls(rows=sample, events=stated[name], **fields)
                for name, sample in samples.items()
            }
        fields |= {"view": "binary", "two_columns": True}
        fields["notes"] += (multiclass.two_columns_in_words(first.classes),)
        return {
            name: cls(
                rows=multiclass.binary_of_two_columns(sample),
                event=(sample.classes or (0, 1))[1],
                **fields,
            )
            for name, sample in samples.items()
        }

    def seen_as(self, view: View, two_columns: TwoColumns = "binary") -> "Evidence":
        """The rows of a matrix as another question reads them: all classes, or the top one.

        Two columns are the binary problem of the second, unless they are to be kept or the top
        label is asked for. Sums, vectors of scores and several labels have one view only.
        """
        rows = self.rows
        if rows is None or rows.p.ndim == 1 or self.view == "multilabel":
            if (
                two_columns == "binary"
                and self.given is not None
                and self.given.kind == "classwise"
            ):
                return Evidence.of_sums(self.given, weight_type=self.weight_type)
            return self
        own_view = self.asked and self.view != "classwise"
        has_two_columns = rows.p.shape[1:] == (2,)
        if two_columns != "binary" or own_view or not has_two_columns:
            seen = replace(self, view=self.view if self.asked else view, memory=self._warned)
            if has_two_columns and two_columns == "top-label" and not own_view:
                seen = replace(seen, notes=(*self.notes, multiclass.TOP_OF_TWO_COLUMNS))
            # Of very many scores the sums of each class are made when they are needed.
            if seen.view == "classwise" and rows.p.size > _LARGE:
                return seen.every_class
            return seen
        return replace(
            self,
            view="binary",
            rows=multiclass.binary_of_two_columns(rows),
            two_columns=True,
            event=(rows.classes or (0, 1))[1],
            notes=(*self.notes, multiclass.two_columns_in_words(rows.classes)),
            memory=self._warned,
        )

    # ---- what is known

    @property
    def position(self) -> Ints | None:
        """The place of each row in the input; None for sums."""
        if self.kept is not None or self.rows is None:
            return self.kept
        return np.arange(self.rows.n)

    def columns(
        self,
        by: Any,
        y_true: ArrayLike,
        crossed: int = 1,
        *,
        whole: WholeNumbers = "guess",
        groups: int = GROUPS,
    ) -> tuple[SegmentColumn, ...]:
        """The columns `by` of the rows that were kept; `y_true` is the input as it was passed."""
        if self.position is None:
            raise InputError(
                "by",
                "needs labels and scores",
                f"a {type(y_true).__name__} holds only sums of rows",
            )
        kept = np.zeros(self.position.size + self.dropped, dtype=bool)
        kept[self.position] = True
        weight = None if self.rows is None else self.rows.w
        row = None if self.events is None else self.events.row
        if self.events is not None and row is not None:
            every = np.ones(self.events.n_input, dtype=bool)
            of_input = read_by(by, every, every, crossed, whole=whole, groups=groups)
            return tuple(group_column.at(row[self.position]) for group_column in of_input)
        return read_by(by, y_true, kept, crossed, whole=whole, groups=groups, weight=weight)

    def has_weight(self, some: NDArray[Any]) -> bool:
        """Whether any of these rows has a weight."""
        w = self.need_rows("This needs the rows").w
        return w is None or bool(w[some].any())

    @cached_property
    def sums(self) -> Sums:
        """The sums per distinct score, or those that were passed: the argument of a measure."""
        if self.given is None:
            _ = self.in_clusters  # warns of few clusters
        tally = self._tally() if self.given is None else self.given
        self.warn_one_class(tally)
        return tally

    @property
    def _kind(self) -> Kind:
        if self.view == "binary":
            return "classwise"
        return self.view

    def _tally(self, rule: BinRule | None = None) -> Tally:
        assert self.rows is not None
        with collected_warnings():  # given once, for all questions
            return tally_of(self.rows, self._kind, rule)

    @cached_property
    def tally(self) -> Tally | None:
        """The sums per distinct score; a sketch has its rows at mean scores, and bins have none."""
        if isinstance(self.sums, Binned):
            return None
        return tally_of_sums(self.sums)

    def tally_in(self, rule: BinRule | None = None, what: str = "This measure") -> Tally:
        """The sums per distinct score, in the order that a rule may need; bins are refused."""
        if rule is not None:
            self.warn_few_rows(rule)
            if self.rows is not None and rule.splits_ties:
                return self._tally(rule)
            if self.given is not None:
                checked_rule(rule, self.given)
        if self.tally is None:
            return tally_of_sums(self.sums, what)
        return self.tally

    def binned(self, bins: BinsLike | BySize, *, moments: bool = True) -> Binned:
        """The sums per bin.

        Rows in bins of fixed edges are not sorted, unless their tally is there already.
        """
        rule = rule_for(bins, self.weight)
        own_sums = self.given if self.given is not None else self.__dict__.get("sums")
        if own_sums is None and self.weights == "whole":
            own_sums = self.sums  # exact, which sums of weighted rows in bins are not
        if own_sums is None or (self.rows is not None and rule.splits_ties):
            assert self.rows is not None
            binned_sums = binned_of(self.rows, self._kind, rule, moments=moments)
        else:
            binned_sums = own_sums.coarsen(rule)
        if self.given is not None and moments:
            need_moments(binned_sums)
        self.warn_one_class(binned_sums)
        self.warn_few_rows(rule)
        return binned_sums

    def rule(self, bins: BinsLike | BySize) -> BinRule:
        """The bin rule, which may depend on the number of rows."""
        return rule_for(bins, self.weight)

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

    @cached_property
    def sample(self) -> Sample:
        """One score per row.

        The scores of the binary problem, or the largest of each row and whether it was right.
        """
        rows = self.need_rows("This needs the rows")
        if rows.p.ndim == 1:
            return rows
        if rows.y.ndim == 2:
            self.require_one("this question")
        (top,) = parts_of(rows, "confidence", lambda part: part)
        return top

    @cached_property
    def matrix(self) -> Sample:
        """The matrix of probabilities of all classes."""
        rows = self.need_rows("This needs whole rows of scores")
        self.warn_one_class()
        if rows.y.ndim == 2:
            self.require_one("this question")
        if rows.pixels and not rows.logits:
            rows = Sample(
                rows.y,
                np.asarray(rows.p),
                rows.w,
                rows.classes,
                rows.tolerance,
                rows.rows,
                rows.dropped,
                importance=rows.importance,
            )
        if rows.logits:
            return multiclass.with_probabilities(rows)
        return rows

    @cached_property
    def classwise(self) -> Tally | None:
        """The sums of every class against the rest, or of every label.

        None unless there is a matrix.
        """
        rows = self.rows
        if rows is not None and self._summed_by_class:
            # A sequence that is summed when it is read, for a tuple.
            parts: Any = ClassParts(rows, cells_of_rows)
            return Tally("classwise", parts, rows.classes)
        if self.view in EACH_ROW and self.tally is not None:
            return self.tally
        if rows is None or rows.p.ndim == 1:
            return None
        return tally_of(rows, "classwise", piece=True)

    @property
    def _summed_by_class(self) -> bool:
        """Whether a matrix is so large that its classes are summed one by one, when read."""
        rows = self.rows
        if (
            rows is None
            or rows.p.ndim == 1
            or rows.pixels
            or self.given is not None
            or self.view == "multilabel"
        ):
            return False
        return rows.p.size > _LARGE

    @cached_property
    def every_class(self) -> "Evidence":
        """The same rows, every class of a matrix against the rest."""
        class_sums = self.classwise
        if class_sums is None:
            return self
        return replace(self, view="classwise", given=class_sums, memory=self._warned)

    def each_class(self) -> "Iterator[tuple[Any, Evidence]]":
        """Each class against the rest, or each label, as a binary problem of the same data."""
        if self.rows is None and self.view == "multilabel":
            sums: Any = self.given
            for name, part in zip(sums.classes, sums.parts, strict=True):
                yield name, replace(self, view="binary", given=type(sums)("binary", (part,)))
            return
        rows = self.need_rows("This needs whole rows of scores")
        tally = self.classwise
        assert tally is not None
        self.warn_one_class()
        if isinstance(tally.parts, ClassParts):
            samples: Any = ClassParts(rows, _same)
        else:
            samples = parts_of(rows, tally.kind, _same)  # type: ignore[arg-type]  # of a matrix
        for label, part, class_rows in zip(tally.classes or (), tally.parts, samples, strict=True):
            class_tally = Tally("binary", (part,)) if self.cluster is None else None
            yield (
                label,
                replace(
                    self, view="binary", rows=class_rows, given=class_tally, memory=self._warned
                ),
            )

    def need_rows(self, demand: str) -> Sample:
        """The rows; an error if there are only sums."""
        if self.rows is None:
            got = f"a {type(self.given).__name__} has none"
            raise InputError("", demand, got, remedy="Pass labels and scores.")
        return self.rows

    @cached_property
    def weight(self) -> float:
        if self.rows is None:
            return self.given.weight  # type: ignore[union-attr]  # there are rows or sums
        return float(self.rows.n if self.rows.w is None else self.rows.w.sum())

    @cached_property
    def weights(self) -> Literal["none", "whole", "fractional"]:
        """Whether rows have weights, and whether these are whole numbers that count rows.

        As in `Cells`.

        They then sum to less than 2³⁵; all others are sampling weights.
        """
        if self.rows is not None:
            if self.rows.w is None:
                return "none"
            if count_rows(self.rows):
                return "whole"
            return "fractional"
        whole = all(part.whole for part in self.parts)
        if not whole:
            return "fractional"
        if self.sums.weight == self.sums.n:
            return "none"
        return "whole"

    @property
    def whole(self) -> bool:
        """Whether weights, if any, count rows."""
        return self.weights != "fractional"

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
    def units(self) -> int:
        """Independent units: clusters, or rows without clusters."""
        if self.cluster is not None:
            return int(self.cluster.max()) + 1
        if self.rows is None:
            return self.sums.n
        return self.rows.n

    @property
    def importance(self) -> bool:
        """Whether weights express importance."""
        return self.weights == "fractional"

    @property
    def dependent(self) -> bool:
        """Whether rows are in clusters."""
        return self.cluster is not None

    @property
    def has_images(self) -> bool:
        """Whether every class of images is asked about."""
        return self.view == "classwise" and self.rows is not None and bool(self.rows.pixels)

    @property
    def in_clusters(self) -> "ClusteredRows | None":
        """One score per row in clusters; None if rows are independent, or have several scores."""
        if self.dependent and self.view in ("binary", "confidence"):
            return self.clustered
        return None

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes of a matrix in column order."""
        if self.rows is not None:
            return self.rows.classes
        return self.given.classes  # type: ignore[union-attr]  # sums, if there are no rows

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

    @property
    def note(self) -> str:
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
        if self.view not in ("binary", "confidence"):
            remedy = "For one class against the rest pass its column as a vector."
            raise InputError(
                "kind", f"must be 'confidence' for {what}", f"got {self.view!r}", remedy=remedy
            )

    @cached_property
    def expanded(self) -> "Evidence":
        """The rows of positive weight.

        Weights that count rows as repetitions, other weights kept.
        """
        w = self.need_rows("This needs the rows").w
        if w is None:
            return self
        if self.whole:
            if w.sum() > _MOST_ROWS:
                raise InputError(
                    "sample_weight",
                    f"must sum to at most {_MOST_ROWS:,} rows",
                    f"got {w.sum():,.0f}",
                )
            return self.at(np.repeat(np.arange(w.size), w.astype(np.int64)), weighted=False)
        if w.all():
            return self
        return self.at(np.flatnonzero(w))

    def rounded(self, unit: float | None) -> "Evidence":
        """The same, with scores that were rounded to multiples of a unit."""
        if unit is None:
            return self
        return replace(self, rounded_to=checked_fraction(unit, "rounded_to"))

    def at(self, chosen: NDArray[Any], *, weighted: bool = True) -> "Evidence":
        """Some of the rows, perhaps repeated, with or without their weights."""
        rows = self.need_rows("This needs the rows")
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        w = rows.w[chosen] if weighted and rows.w is not None else None
        if self.cluster is None:
            cluster = None
        else:
            cluster = np.unique(self.cluster[chosen], return_inverse=True)[1].reshape(-1)
        kept = chosen if self.kept is None else self.kept[chosen]
        return replace(
            self, rows=rows.at(chosen, w), cluster=cluster, kept=kept, memory=self._warned
        )

    @cached_property
    def clustered(self) -> "ClusteredRows":
        """One score per row in clusters; without `cluster`, every row is its own.

        Of sums, the buckets are clusters.
        """
        self.require_one("a matrix with `cluster`")
        buckets = None if self.given is None else self.given.buckets
        if buckets is not None and self.rows is None:
            self.warn_one_class(self.given)
            top, bucket = buckets.cells()
            # Some buckets may have no rows.
            codes_of_rows: Ints | None = np.unique(bucket, return_inverse=True)[1].reshape(-1)
            if bucket.size and (bucket == bucket[0]).all():
                got = f"all {self.sums.n:,} rows are in one, so their variation is unknown"
                raise InputError("", "The clusters of sums must fall into at least 2 buckets", got)
        else:
            expanded = self.expanded
            top = expanded.sample
            codes_of_rows = expanded.cluster
            self.warn_one_class()
            cells_of_rows(top)  # checks every value
        if codes_of_rows is None:
            codes_of_rows = np.arange(top.y.size)
        codes = codes_by_content(top, codes_of_rows)
        if top.w is None:
            order = np.lexsort((top.y, top.p, codes))
            ordered = top.at(order, None)
        else:
            order = np.lexsort((top.w, top.y, top.p, codes))
            ordered = top.at(order, top.w[order])
        counts = buckets is not None and self.whole
        clustered_rows = ClusteredRows(ordered, codes[order], counts)
        if self.cluster is None:
            what = "rows by `sample_weight`"
        elif buckets is None:
            what = "clusters"
        else:
            what = "buckets"
        if self.cluster is None or "few clusters" not in self.memory:
            warn_few_clusters(clustered_rows.cluster, clustered_rows.weight, what)
        return clustered_rows

    def __getstate__(self) -> dict[str, Any]:
        """The rows and what is known of them, without what was found on the way to answers."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return kept | {"memory": self._warned}

    @property
    def _warned(self) -> dict[Any, Any]:
        """The memory of evidence derived from this: what has been warned about is not repeated."""
        return {name: True for name in ("one class", "few clusters") if name in self.memory}

    def warn_one_class(self, found: Parts[Any] | None = None) -> None:
        """Warn of labels that are all equal, once."""
        if "one class" in self.memory:
            return
        self.memory["one class"] = True
        if self.rows is None:
            assert found is not None
            equal = found.one_class
            n = found.n
        else:
            y = self.rows.y if self.rows.w is None else self.rows.y[self.rows.w > 0]
            if y.ndim == 2:
                return  # a label that no row has is nothing unusual
            equal = bool((y[:99] == y[0]).all() and (y == y[0]).all())
            n = y.size
        if equal:
            rows_or_sums.warn_one_class(n)

    def warn_few_clusters(self) -> None:
        """Warn of clusters of rows that are worth fewer than 20 of equal size."""
        if self.cluster is not None and self.rows is not None:
            warn_few_clusters(self.cluster, None if self.whole else self.rows.w)

    def warn_few_rows(self, rule: BinRule) -> None:
        """Warn of fewer rows than bins."""
        if rule.n_requested > self.weight:
            rows_or_sums.warn_few_rows(round(self.weight), rule)


def counts_needed(weight_type: WeightType) -> InputError:
    """The error for weights that do not count rows, where they must."""
    got = "`weight_type` is 'importance'" if weight_type == "importance" else "got fractions"
    return InputError("sample_weight", "must be whole numbers, which count rows", got)


def _clusters_beside(events: Events, cluster: Any) -> Any:
    """The clusters of events; functions that take rows as independent refuse dependent ones."""
    if cluster is not INDEPENDENT:
        return clusters_of(events, cluster)
    if events.dependent:
        got = f"got {events.words}, where several events belong to one row"
        remedy = "`assess`, `estimate`, `calibration_test` and `ece_interval` take clusters."
        raise InputError("y_true", "must have independent rows here", got, remedy=remedy)
    return cluster


def _same(part: Sample) -> Sample:
    return part
