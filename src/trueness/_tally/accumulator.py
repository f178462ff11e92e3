"""`Accumulator`: running sums of batches of rows, and the last batch's position in its stream."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar, cast

import numpy as np

from trueness._input.arguments import check_flag, checked_json, checked_word
from trueness._input.columns import column
from trueness._input.labels import check_pos_label, checked_order
from trueness._input.sample import Sample, read_sample
from trueness._input.weights import WEIGHT_TYPES, check_weights
from trueness._keywords import suggests_keywords
from trueness._tally import group_keys, store
from trueness._tally.buckets import RowClusters, check_buckets, read_clusters
from trueness._tally.events import clusters_of
from trueness._tally.group_keys import Group, Name, names_of, plain_group
from trueness._tally.multiclass import check_kind
from trueness._tally.possible_sums import refuse
from trueness._tally.rows_or_sums import binned_of, by_bucket, sample_and_kind, sketch_of, tally_of
from trueness._tally.rules import BinsLike, EqualWidth, as_rule
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally, list_classes
from trueness._tally.waiting import FEW_ROWS, WaitingRows
from trueness.errors import InputError, in_context
from trueness.typing import ArrayLike, Ints, Json, Kind, Missing, RowOptions, WeightType

Sums: TypeAlias = Tally | Binned | Sketch
Answer = TypeVar("Answer")
_FORMS: dict[str, type[Sums]] = {"sketch": Sketch, "tally": Tally, "binned": Binned}


@suggests_keywords
class Accumulator:
    """Running sums of rows that arrive in batches: streams, files, monitoring.

    Parameters
    ----------
    bins : 'sketch', 'distinct', int, sequence of edges or bin rule, default 'sketch'
        What to store: a :class:`trueness.sources.Sketch` of bounded size, which gives every measure
        approximately; a :class:`Tally`, exact, with one cell per distinct score; or the sums of
        bins with fixed edges.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, default 'classwise'
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    by : str or list of str, optional
        What the groups are: "day", "region". Each group then has its own sums, and every `update`
        needs `group`. Of a list, each combination of names is a group, whose key is a tuple, as
        from :func:`trueness.scan_groups`.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels. Text labels need it, because a batch may lack a class.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1. Without `labels`, the
        other label is learnt from the rows, and a third label in a later batch is an error.
    buckets : 32, 64, 128 or 256, optional
        Keep the sums of this number of buckets of clusters, as :func:`trueness.tally` does; every
        `update` then needs `cluster`.
    about : dict, optional
        Notes to store with the sums, as plain JSON values: column names, a model's version.
        Accumulators with different notes cannot be merged.

    Examples
    --------
    >>> import trueness as tn
    >>> seen = tn.Accumulator(bins=4)
    >>> seen.update([0, 1], [0.25, 0.5])
    >>> seen.update([1, 1], [0.5, 1.0])
    >>> seen.compute(tn.ece, bins=4)
    0.3125

    By group, such as the day; a window of days is a sum:

    >>> seen = tn.Accumulator(by="day")
    >>> seen.update([0, 1, 1, 1], [0.25, 0.5, 0.5, 1.0], group=["Mon", "Mon", "Tue", "Wed"])
    >>> {day: sums.n for day, sums in seen.groups.items()}
    {'Mon': 2, 'Tue': 1, 'Wed': 1}
    >>> sum(seen.groups[day] for day in ("Tue", "Wed"))
    Sketch(binary, 2 rows, 2 cells)
    """

    def __init__(
        self,
        bins: Literal["sketch", "distinct"] | BinsLike = "sketch",
        *,
        kind: Kind = "classwise",
        by: str | Sequence[str] | None = None,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
        missing: Missing = "raise",
        clip_tolerance: float = 0.0,
        sum_tolerance: float | None = None,
        from_logits: bool = False,
        percent: bool = False,
        weight_type: WeightType = "auto",
        buckets: int | None = None,
        about: Mapping[str, Json] | None = None,
    ) -> None:
        self.by: group_keys.By = group_keys.checked_by(by)
        """What the groups are, such as "day"; several columns are a tuple."""
        if by is not None and missing == "drop":
            demand = (
                "`missing='drop'` cannot be combined with `by`: the group of a dropped row would "
                "be lost"
            )
            raise InputError("", demand, remedy="Leave such rows out first.")
        if about is not None and not isinstance(about, Mapping):
            raise InputError("about", "must be a dict, or None", f"got {reprlib.repr(about)}")
        self.bins = _json_bins(bins)
        """The sums that are kept: 'sketch', 'distinct', a number of bins of equal width, or a list
        of edges."""
        self.buckets = None if buckets is None else check_buckets(buckets)
        """The number of buckets of clusters, if any."""
        self.about = checked_json(dict(about or {}), "about")
        """Notes that are kept with the sums."""
        self.position: Json = None
        """Where the last batch ended, as passed to `update`."""
        check_flag(percent, "percent")
        checked_weight_type = checked_word(weight_type, "weight_type", WEIGHT_TYPES)
        options = {
            "kind": check_kind(kind),
            "labels": None if labels is None else checked_order(labels),
            "pos_label": pos_label.item() if isinstance(pos_label, np.generic) else pos_label,
            "missing": missing,
            "clip_tolerance": clip_tolerance,
            "sum_tolerance": sum_tolerance,
            "from_logits": from_logits,
            "percent": percent or None,
            "weight_type": None if checked_weight_type == "auto" else checked_weight_type,
        }
        self._options: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        # No rows yet, but wrong options are an error now, not when the first rows arrive.
        checked = {
            k: v for k, v in self._options.items() if k not in ("kind", "labels", "pos_label")
        }
        read_sample(np.zeros(0), np.zeros(0), allow_empty=True, **checked)
        if "pos_label" in self._options:
            check_pos_label(self._options["pos_label"])
        for name in ("labels", "pos_label"):
            checked_json(self._options.get(name), name)
        self._settled: dict[Group, Sums] = {}
        self._waiting: WaitingRows | None = None
        self._other_label: Name = None

    @property
    def _sums(self) -> dict[Group, Sums]:
        """The sums of each group, in any order."""
        if self._waiting is not None:
            # All sums that wait are sketches.
            earlier = cast(dict[Group, Sketch], self._settled)
            self._sums = dict(self._waiting.added_to(earlier))
        return self._settled

    @_sums.setter
    def _sums(self, sums: dict[Group, Sums]) -> None:
        self._settled = sums
        self._waiting = None

    @suggests_keywords
    def update(
        self,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | Group | Mapping[str, Any] = None,
        cluster: ArrayLike | None = None,
        position: Json = None,
    ) -> None:
        """Add a batch of rows. If anything is wrong with them, nothing is added.

        Parameters
        ----------
        y_true : array-like of shape (n,), (n, L) or (B, …)
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second.
        sample_weight : array-like of shape (n,), optional
            Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. A
            batch may be empty, or consist only of rows of weight 0 or, with ``missing='drop'``, of
            rows with missing values. Classes and labels must match those of earlier batches.
        group : array-like of shape (n,), one value, or dict of these by column
            The group of each row, or of all rows, none of them missing; required if the Accumulator
            has `by`. For several columns a dict of these, or a frame. Names are strings, integers,
            booleans or finite floats, all of one type, because 1, True and 1.0 are the same key.
        cluster : array-like of shape (n,)
            The cluster of each row, as text or whole numbers; required if the Accumulator has
            `buckets`.
        position : optional
            Where the batch ends in the stream, as a plain JSON value: a row number, an offset, file
            names. It is saved with the sums in one step, so that a restart neither repeats nor
            loses rows. With every batch or with none. A batch at the last position is refused,
            since it was added already, and so is an older one, if positions are numbers, or dates
            or times as ISO text; of other text, lists and dicts only the last is known.
        """
        where = checked_json(position, "position")
        cluster = clusters_of(y_true, cluster)
        for name, passed, setting in (("group", group, "by"), ("cluster", cluster, "buckets")):
            if passed is None and getattr(self, setting) is not None:
                raise InputError(
                    name, f"must be passed with every batch, since the Accumulator has `{setting}`"
                )
            if passed is not None and getattr(self, setting) is None:
                raise InputError(name, f"needs an Accumulator that was made with `{setting}`")
        if where is None and self.position is not None:
            demand = "must be passed with every batch or with none"
            remedy = "Set the attribute `position` to None to continue without one."
            raise InputError(
                "position", demand, f"the last one is {reprlib.repr(self.position)}", remedy=remedy
            )
        options = cast(RowOptions, self._options)
        if sample_weight is not None:
            options = {**options, "sample_weight": sample_weight}
        sample, kind = sample_and_kind(
            y_true, y_prob, options, allow_none_left=True, is_part=True, keep_logits=True
        )
        if _precedes(where, self.position) or (
            where is not None and where == self.position and sample.n
        ):
            got = f"got {reprlib.repr(where)}, so that these rows were added already"
            demand = f"must come after the last one, {reprlib.repr(self.position)}"
            raise InputError("position", demand, got, remedy="Leave the batch out.")
        other = self._other_label_with(y_true, sample)
        clusters = (
            None if cluster is None else read_clusters(y_true, cluster, sample, self.buckets, kind)
        )
        groups: list[tuple[Group, Ints]] = [(None, np.arange(sample.n))]
        if group is not None:
            groups = group_keys.rows_by_group(group, sample.n, self.by)
        waiting = self._waiting_with(sample, groups, clusters)
        if waiting is None:
            self._sums = self._with(self._pieces(sample, kind, groups, clusters))
        else:
            self._waiting = waiting
        self._other_label = other
        self.position = where

    def _with(self, pieces: Iterable[tuple[Group, Sums]]) -> dict[Group, Sums]:
        """The sums by group with the pieces of a batch; this accumulator stays as it is.

        Pieces of another kind, or with other classes or groups of another type, are refused; pieces
        without rows are left out.
        """
        added = dict(self._sums)
        for key, piece in pieces:
            name, held = next(iter(added.items()), (key, piece))
            group_keys.refuse_other_type(name, key)
            if (held.kind, held.classes) != (piece.kind, piece.classes):
                earlier, this = (
                    f"{sums.kind} of {list_classes(sums.classes)}" for sums in (held, piece)
                )
                got = f"earlier batches are {earlier}, this one is {this}"
                remedy = "`labels=` of the Accumulator names the classes once for all batches."
                raise InputError(
                    "", "All batches must be of one kind, with the same classes", got, remedy=remedy
                )
            if piece.n:
                added[key] = added[key] + piece if key in added else piece
        return added

    def _other_label_with(self, y_true: ArrayLike, sample: Sample) -> Name:
        """The label beside `pos_label`, if this piece or an earlier one has it.

        `sample` has at most one.
        """
        learns = "pos_label" in self._options and "labels" not in self._options
        if sample.p.ndim == 2 or not learns or sample.y.all():
            return self._other_label
        first = int(np.argmin(sample.y))
        if sample.rows is not None:
            first = sample.rows[first]
        label = column(y_true, "y_true").values[first]
        if isinstance(label, np.generic):
            label = label.item()
        name: Name = checked_json(label, "y_true")
        self._refuse_third_label(name, "this batch")
        if self._other_label is None:
            return name
        return self._other_label

    def _refuse_third_label(self, label: Name, where: str) -> None:
        if None not in (label, self._other_label) and label != self._other_label:
            earlier = f"{self._options['pos_label']!r} (`pos_label`) and {self._other_label!r}"
            got = f"earlier batches have {earlier}, {where} has {label!r}"
            raise InputError("y_true", "must hold two labels in all batches", got)

    def _waiting_with(
        self, sample: Sample, groups: list[tuple[Group, Ints]], clusters: RowClusters | None
    ) -> WaitingRows | None:
        """The rows that wait, with those of a batch; None if the batch is to be added at once.

        A batch has few rows for each of many groups or buckets. To add a sketch for each costs more
        than to sort the rows of all batches once, so they wait until the sums are needed.
        """
        if not self._gains_by_waiting(sample, len(groups)):
            return None
        waiting = self._waiting
        if waiting is None:
            earlier = cast(dict[Group, Sketch], self._settled)
            waiting = WaitingRows.beside(earlier, self.buckets)
        if waiting is None:
            return None
        first_key = next(iter(waiting.groups), groups[0][0])
        for key, _ in groups:
            group_keys.refuse_other_type(first_key, key)
        try:
            return waiting.plus(sample, groups, clusters)
        except InputError:  # which is raised again, with more about it, for the group or the bucket
            return None

    def _gains_by_waiting(self, sample: Sample, n_groups: int) -> bool:
        """Whether unweighted binary rows are few for each of several groups or buckets."""
        n_places = n_groups * (self.buckets or 1)
        if self.bins != "sketch" or sample.w is not None or sample.p.ndim > 1:
            return False
        return n_places > 1 and 0 < sample.n < n_places * FEW_ROWS

    def _pieces(
        self,
        sample: Sample,
        kind: Kind,
        groups: list[tuple[Group, Ints]],
        clusters: RowClusters | None,
    ) -> list[tuple[Group, Sums]]:
        """The sums of each group of a batch that has rows.

        `groups` holds the name and the positions of the rows of each. Where a bad value is the
        reason why the sums of a group fail, the error is that of the whole batch, which counts the
        rows as the user does.
        """
        if len(groups) == 1:
            if sample.n:
                return [(groups[0][0], by_bucket(self._summed, sample, kind, clusters))]
            return []
        try:
            return [
                (
                    key,
                    by_bucket(
                        self._summed,
                        _rows_of_group(sample, key, positions),
                        kind,
                        clusters and clusters.at(positions),
                    ),
                )
                for key, positions in groups
            ]
        except InputError:
            self._summed(sample, kind)  # raises the same of all rows, unless it is about the group
            raise

    def _summed(self, sample: Sample, kind: Kind) -> Sums:
        """The sums of rows in the form of this accumulator: bins, a sketch or distinct scores.

        Rows whose weights are all 0 are checked, and sum to nothing.
        """
        if sample.w is not None and not sample.w.any():
            every = np.arange(sample.n)
            self._summed(sample.at(every, None), kind)  # rows of weight 0 are checked as others are
            return self._summed(sample.at(every[:0], None), kind)
        if isinstance(self.bins, str):
            return (sketch_of if self.bins == "sketch" else tally_of)(sample, kind, piece=True)
        return binned_of(sample, kind, as_rule(self.bins))

    @property
    def groups(self) -> dict[Group, Sums]:
        """The sums of each group, in the order of their names.

        Without `by` there is one, called None.
        """
        return {key: self._sums[key] for key in sorted(self._sums, key=group_keys.group_order)}

    @property
    def total(self) -> Sums:
        """The sums of all rows, in place of labels and scores in any measure."""
        if not self._sums:
            raise InputError("", "An empty Accumulator has no sums", remedy="`update` it first.")
        return sum(self.groups.values())  # type: ignore[return-value]  # there is one at least

    @property
    def n(self) -> int:
        """Rows of positive weight."""
        if self._waiting is not None:
            return self._waiting.n
        return sum(sums.n for sums in self._sums.values())

    def compute(self, measure: Callable[..., Answer], **options: object) -> Answer:
        """Compute a measure of all rows so far, or your own function of sums.

        From a sketch, the measure is approximate.
        """
        return measure(self.total, **options)

    def compute_by(self, measure: Callable[..., Answer], **options: object) -> dict[Group, Answer]:
        """Compute a measure for each group, as a dict."""
        return {key: measure(sums, **options) for key, sums in self.groups.items()}

    def merge(self, other: Accumulator | Sums | Mapping[Any, Sums]) -> None:
        """Add the rows of another accumulator, or sums such as those of :func:`trueness.scan`.

        The position does not change: only the caller knows the position in each stream.

        Parameters
        ----------
        other : Accumulator, Sketch, Tally, Binned, or dict of sums by group
            Made with the same `bins` and row options, from rows with the same labels; an
            Accumulator also with the same `by` and `about`. With `by`, pass sums as a dict. If
            `about` differs, because it names a machine or a day, make it the same first:
            ``other.about = seen.about``.
        """
        pieces, label = self._read(other)
        self._sums = self._with(pieces.items())
        self._other_label = label if self._other_label is None else self._other_label

    def subtract(self, other: Accumulator | Sums | Mapping[Any, Sums]) -> None:
        """Take rows away that were added before, so that a day can be corrected.

        `other` is as for :meth:`merge`.

        Groups without rows are removed. Sums of rows that are not here are refused, and so are sums
        of weights that are not whole numbers, which would leave rounding errors.
        """
        left = dict(self._sums)
        for key, piece in self._read(other)[0].items():
            if key not in left:
                raise InputError(
                    "other", "must have rows that are here", f"there is no group {key!r}"
                )
            with in_context("" if key is None else f"Group {key!r}"):
                left[key] = left[key] - piece
        self._sums = {key: sums for key, sums in left.items() if sums.n}

    def suppress(self, min_rows: int) -> None:
        """Remove groups of fewer rows, so that no small cell is disclosed.

        A warning says how many rows they have.
        """
        if self.by is None:
            raise InputError("min_rows", "needs an Accumulator that was made with `by`")
        self._sums = group_keys.without_small(self._sums, min_rows)

    def _read(
        self, other: Accumulator | Sums | Mapping[Any, Sums]
    ) -> tuple[dict[Group, Sums], Name]:
        """The sums of each group to be merged or subtracted, and the label beside `pos_label`."""
        if isinstance(other, Accumulator):
            self._refuse_other_settings(other)
            pieces = other._sums
            label = other._other_label
        else:
            pieces = self._foreign_sums(other)
            label = None
        self._refuse_third_label(label, "the other one")
        return pieces, label

    def _refuse_other_settings(self, other: Accumulator) -> None:
        """Raise if the other accumulator is this one, or has other settings or options."""
        if other is self:
            raise InputError("other", "must be another Accumulator", "it is this one")
        mine, theirs = (a._settings | a._options for a in (self, other))
        for name in {**mine, **theirs}:
            if mine.get(name) != theirs.get(name):
                got = f"`{name}` is {mine.get(name)!r} here and {theirs.get(name)!r} there"
                raise InputError(
                    "", "Only accumulators with the same settings can be merged or subtracted", got
                )

    def _foreign_sums(self, other: object) -> dict[Group, Sums]:
        """Sums that no accumulator made, by group; without groups, the group is None.

        Sums of another form, of other columns of groups, or with groups where this one has none,
        are refused.
        """
        kept = _FORMS[self._form]
        groups = other if isinstance(other, Mapping) else None
        by_group = groups is not None
        names = names_of(self.by)
        their_names = getattr(groups, "names", names)
        if len(names) > 1 and their_names != names:
            raise InputError("other", f"must be grouped by {names}", f"got {their_names}")
        by_key: dict[Group, Any] = {None: other}
        if groups is not None:
            by_key = {plain_group(key, self.by): sums for key, sums in groups.items()}
        if by_group == (self.by is None) or not all(type(sums) is kept for sums in by_key.values()):
            if self.by is None:
                wanted = f"a {kept.__name__}"
            else:
                wanted = f"a dict of {kept.__name__} by {self.by}"
            got = type(other).__name__
            if by_group and by_key:
                got += f" of {', '.join(sorted({type(sums).__name__ for sums in by_key.values()}))}"
            raise InputError("other", f"must be an Accumulator or {wanted}", f"got {got}")
        for sums in by_key.values():
            self._refuse_other_sums(sums)
        return by_key

    def _refuse_other_sums(self, sums: Sums) -> None:
        """Raise if rows read with these options could not have made the sums."""
        kind = self._options["kind"]
        labels = self._options.get("labels")
        got = ""
        if sums.kind != kind and (sums.kind, kind) != ("binary", "classwise"):
            got = f"`kind` is {kind!r} here and {sums.kind!r} there"
        elif labels is not None and sums.classes is not None and labels != list(sums.classes):
            got = f"`labels` is {labels!r} here and {list(sums.classes)!r} there"
        elif self.buckets != (
            their_buckets := None if sums.buckets is None else len(sums.buckets.parts)
        ):
            got = f"`buckets` is {self.buckets} here and {their_buckets} there"
        elif isinstance(sums, Binned):
            edges = as_rule(self.bins).fixed_edges
            assert edges is not None
            if not all(np.array_equal(part.edges, edges) for part in sums.parts):
                got = f"`bins` is {self.bins!r} here, and the edges differ there"
        if got:
            raise InputError(
                "", "Only sums of the same kind, classes, bins and buckets can be added", got
            )

    @property
    def _settings(self) -> dict[str, Any]:
        return {"bins": self.bins, "by": self.by, "buckets": self.buckets, "about": self.about}

    @property
    def _form(self) -> str:
        return {"sketch": "sketch", "distinct": "tally"}.get(str(self.bins), "binned")

    def reset(self) -> None:
        """Remove all rows, their labels and the position; the settings are kept."""
        self._sums = {}
        self._other_label = None
        self.position = None

    def to_bytes(self) -> bytes:
        """Everything as compact bytes.

        Identical for the same unweighted rows in any order and partition.
        """
        for name in ("about", "position"):
            checked_json(getattr(self, name), name)
        state = {
            "options": self._options,
            "position": self.position,
            "other_label": self._other_label,
        }
        groups = [[key, store.describe(group_sums)] for key, group_sums in self.groups.items()]
        return store.pack(
            {"what": "accumulator", "form": self._form, **self._settings, **state, "groups": groups}
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of :meth:`to_bytes`.

        Nothing in it is executed; other bytes are an error.
        """
        header = store.unpack(data, "accumulator")
        form = header.get("form")
        settings = {"bins", "by", "buckets", "about"}
        other_fields = {"what", "form", "groups", "options", "position", "other_label"}
        if (
            header.keys() != settings | other_fields
            or not isinstance(header["options"], dict)
            or form not in list(_FORMS)
        ):
            refuse("its header is damaged")
        groups = [(key, _FORMS[form](*store.restore(form, sums))) for key, sums in header["groups"]]
        try:
            with in_context("The sums cannot be read"):
                accumulator = cls(**{name: header[name] for name in settings}, **header["options"])
                accumulator._sums = accumulator._checked_groups(groups)
        except TypeError as error:
            refuse(str(error).rstrip("."))  # an unknown option
        accumulator.position = header["position"]
        accumulator._other_label = header["other_label"]
        other = accumulator._other_label
        event = accumulator._options.get("pos_label")
        if other is not None and (
            not isinstance(other, str | int | float | bool) or event is None or event == other
        ):
            refuse("its labels contradict each other")
        return accumulator

    def _checked_groups(self, groups: list[tuple[Any, Sums]]) -> dict[Group, Sums]:
        """Sums from a file, if rows read with these settings could have made them."""
        kept = _FORMS[self._form]
        named = {
            None if self.by is None else plain_group(key, self.by): sums for key, sums in groups
        }
        agree = all(type(sums) is kept and sums.n for sums in named.values()) and len(named) == len(
            groups
        )
        if not agree or (self.by is None and any(key is not None for key, _ in groups)):
            raise InputError("", "The groups do not agree with the settings")
        for sums in named.values():
            self._refuse_other_sums(sums)
        return self._with(named.items())

    def save(self, path: str | Path) -> None:
        """Write sums and position to a file in one step.

        Whatever happens, the file is the old one or the new one.

        The last writer wins: give each process a file of its own, and merge them.
        """
        store.save(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote, to continue from its `position`."""
        accumulator: Self = store.load(path, cls.from_bytes)
        return accumulator

    def __repr__(self) -> str:
        size = f"{self.bins!r}, {self.n:,} rows"
        if self.by is None:
            return f"Accumulator({size})"
        names = " × ".join(map(repr, names_of(self.by)))
        return f"Accumulator({size}, {len(self._sums):,} groups by {names})"


def _precedes(a: Json, b: Json) -> bool:
    """Whether the first position precedes the second.

    It is a smaller number, or as ISO text a time that is not later.
    """
    if isinstance(a, str) and isinstance(b, str):
        try:
            return a != b and datetime.fromisoformat(a) <= datetime.fromisoformat(b)
        except (TypeError, ValueError):  # text of another kind; a time with a zone and one without
            return False
    are_numbers = {type(a), type(b)} <= {int, float}
    return are_numbers and cast(float, a) < cast(float, b)


def _json_bins(bins: BinsLike | None) -> str | int | list[float]:
    """The sums to keep, as JSON has them."""
    if bins is None or isinstance(bins, str):
        if bins is None or bins not in ("sketch", "distinct"):
            raise InputError(
                "bins", "must be 'sketch', 'distinct' or bins with fixed edges", f"got {bins!r}"
            )
        return bins
    rule = as_rule(bins)
    if rule.fixed_edges is None:
        demand = "must have fixed edges, since rows are not seen together"
        raise InputError("bins", demand, f"{rule!r} has none", remedy="Use 'sketch' instead.")
    if isinstance(rule, EqualWidth):
        return rule.n
    edges: list[float] = rule.fixed_edges.tolist()
    return edges


def _rows_of_group(sample: Sample, key: Group, positions: Ints) -> Sample:
    """The rows of a group, whose weights must be fit to be squared, as those of all are."""
    w = None if sample.w is None else sample.w[positions]
    members = sample.at(positions, w)
    if members.w is not None:
        with in_context(f"Group {key!r}"):
            check_weights(members.w, members.rows, allow_zeros=True)
    return members
