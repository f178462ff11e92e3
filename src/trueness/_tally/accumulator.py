"""`Accumulator`: sums of rows that come piece by piece, and where the last piece ended."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from trueness._input.columns import column
from trueness._input.labels import checked_order
from trueness._input.sample import Sample, read_sample
from trueness._input.weights import check_weights
from trueness._tally import accumulator_wire
from trueness._tally.atomic import Stamp, naming, read_file, replace_file
from trueness._tally.group_keys import Group, is_one_group, plain_group, refuse_other_type, rows_by_group
from trueness._tally.multiclass import check_kind
from trueness._tally.rows_or_sums import binned_of, sample_and_kind, sketch_of, tally_of
from trueness._tally.rules import BinsLike, EqualWidth, as_rule
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally, named_classes
from trueness.errors import InputError
from trueness.typing import ArrayLike, Ints, Kind, Missing

__all__ = ["Accumulator"]

Sums: TypeAlias = Tally | Binned | Sketch


class Accumulator:
    """Sums that grow by pieces of rows, for streams, files and monitoring.

    Parameters
    ----------
    bins : 'sketch', 'distinct', int, sequence of edges or bin rule, default 'sketch'
        What is kept: a :class:`Sketch`, of bounded size and good for every measure within limits; a :class:`Tally`,
        exact and as large as there are distinct scores; or the sums of bins with fixed edges.
    kind : {'classwise', 'confidence', 'top-label'}, default 'classwise'
        For a matrix of scores, what is compared with what; see :func:`trueness.ece`.
    by : str, optional
        What groups of rows are called; each then has sums of its own, and `group` must be said with every piece.
    labels, pos_label, missing, clip_tolerance, sum_tolerance, from_logits
        As for :func:`trueness.ece`, the same for every piece. Text labels need `labels`: a piece may lack a class.
        With `pos_label` alone the other label is learnt from the rows, and a third one is refused whenever it comes.
    about : dict, optional
        Anything else to be kept with the sums, ready for JSON: names of columns, a model's version. What differs in
        it does not merge.

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
        by: str | None = None,
        labels: Any = None,
        pos_label: Any = None,
        missing: Missing = "raise",
        clip_tolerance: float = 0.0,
        sum_tolerance: float | None = None,
        from_logits: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        if by is not None and not isinstance(by, str):
            raise InputError("by", "must be the name of the groups, or None", f"got {by!r}")
        if by is not None and missing == "drop":
            raise InputError(
                "`missing='drop'` cannot say of which group a row was; with `by`, leave such rows out first."
            )
        self.bins = _checked_bins(bins)
        """What is kept: 'sketch', 'distinct', a number of bins of equal width, or a list of edges."""
        self.by = by
        """What groups are called."""
        if about is not None and not isinstance(about, Mapping):
            raise InputError("about", "must be a dict, or None", f"got {reprlib.repr(about)}")
        self.about = accumulator_wire.plain(dict(about or {}), "about")
        """What else is kept with the sums."""
        self.position: Any = None
        """Where the last piece ended, as `update` was told."""
        options = {
            "kind": check_kind(kind),
            "labels": None if labels is None else checked_order(labels),
            "pos_label": pos_label.item() if isinstance(pos_label, np.generic) else pos_label,
            "missing": missing,
            "clip_tolerance": clip_tolerance,
            "sum_tolerance": sum_tolerance,
            "from_logits": from_logits,
        }
        self._options: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        _check_options(missing, clip_tolerance, sum_tolerance, from_logits)
        for name in ("labels", "pos_label"):
            accumulator_wire.plain(self._options.get(name), name)
        self._sums: dict[Group, Sums] = {}
        self._other_label: Any = None
        self._known: tuple[Path, Stamp] | None = None

    def update(
        self,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | Group = None,
        position: Any = None,
    ) -> None:
        """Add a piece of rows. If anything is wrong with them, nothing of the piece is added.

        Parameters
        ----------
        y_true, y_prob, sample_weight
            As for :func:`trueness.ece`. No rows at all are fine, and so are rows of which all have weight 0 or, with
            ``missing='drop'``, miss a value. Classes and labels must be those of earlier pieces.
        group : array-like of shape (n,), or one value
            The group of each row, or of all of them; demanded if there is `by`, refused otherwise. Names of groups are
            text, whole numbers, true/false or finite numbers, and of one of these types throughout: to Python 1, True
            and 1.0 are one key. No group may be missing.
        position : optional
            Where the piece ends in the stream, ready for JSON: a row number, an offset, names of files. It is
            saved with the sums, in one step, so that whoever goes on from there counts no row twice and loses none.
            Said once, it must be said with every piece.
        """
        where = accumulator_wire.plain(position, "position")
        if (group is None) != (self.by is None):
            raise InputError(
                "`group` must be said with every piece, since there is `by`."
                if self.by is not None
                else "`group` needs an Accumulator that was made with `by`."
            )
        if where is None and self.position is not None:
            raise InputError(
                "position",
                "must be said with every piece once it was said",
                f"the last one is {reprlib.repr(self.position)}",
                remedy="Set the attribute `position` to None to go without.",
            )
        options: Any = self._options if sample_weight is None else {**self._options, "sample_weight": sample_weight}
        try:
            sample, kind = sample_and_kind(
                y_true, y_prob, options, allow_empty=True, allow_none_left=True, keep_logits=True
            )
        except InputError as reason:
            raise InputError(f"{reason}{self._labels_before(str(reason))}") from reason
        other = self._checked_other(y_true, sample)
        added = self._with(self._pieces(sample, kind, group))
        self._sums, self._other_label, self.position = added, other, where

    def _with(self, pieces: Iterable[tuple[Group, Sums]]) -> dict[Group, Sums]:
        added = dict(self._sums)
        for key, piece in pieces:
            _check_alike(added, key, piece)
            if piece.n:
                added[key] = added[key] + piece if key in added else piece
        return added

    def _labels_before(self, reason: str) -> str:
        """The labels of earlier pieces, if `pos_label` alone was said and the reason is about labels."""
        about_labels = any(words in reason for words in ("`pos_label`", "must hold two values", "labels of one type"))
        if not self._sums or "pos_label" not in self._options or "labels" in self._options or not about_labels:
            return ""
        known = [self._options["pos_label"], *([] if self._other_label is None else [self._other_label])]
        return f" Labels of earlier pieces are {' and '.join(map(repr, known))}."

    def _checked_other(self, y_true: Any, sample: Sample) -> Any:
        """The label beside `pos_label`, if any piece had it; `sample` has made sure that it is one."""
        if sample.p.ndim == 2 or "pos_label" not in self._options or "labels" in self._options or sample.y.all():
            return self._other_label
        at = int(np.argmin(sample.y))
        found = column(y_true, "y_true").values[at if sample.rows is None else sample.rows[at]]
        found = accumulator_wire.plain(found.item() if isinstance(found, np.generic) else found, "y_true")
        self._check_other(found, "this piece")
        return found if self._other_label is None else self._other_label

    def _check_other(self, found: Any, where: str) -> None:
        if None not in (found, self._other_label) and found != self._other_label:
            raise InputError(
                "y_true",
                "must hold two labels in all pieces",
                f"{self._options['pos_label']!r} (`pos_label`) and {self._other_label!r} came before, and "
                f"{where} has {found!r}",
            )

    def _pieces(self, sample: Sample, kind: Kind, group: Any) -> list[tuple[Group, Sums]]:
        if group is None or is_one_group(group):
            key = None if group is None else plain_group(group)
            return [(key, self._made(sample, kind))] if sample.y.size else []
        found = rows_by_group(group, sample.y.size)
        if len(found) == 1:
            return [(found[0][0], self._made(sample, kind))]
        try:
            return [(key, self._made(_of_group(sample, key, at), kind)) for key, at in found]
        except InputError:
            self._made(sample, kind)  # raises the same of all rows, if it is not about the group
            raise

    def _made(self, sample: Sample, kind: Kind) -> Sums:
        if sample.w is not None and not sample.w.any():
            every = np.arange(sample.y.size)
            self._made(sample.at(every, None), kind)  # rows of no weight are looked at, as those of others are
            return self._made(sample.at(every[:0], None), kind)
        if self.bins == "sketch":
            return sketch_of(sample, kind, piece=True)
        if self.bins == "distinct":
            return tally_of(sample, kind, piece=True)
        return binned_of(sample, kind, as_rule(self.bins))

    @property
    def groups(self) -> dict[Group, Sums]:
        """The sums of each group, in the order of their names; without `by` there is one, called None."""
        return {key: self._sums[key] for key in sorted(self._sums, key=accumulator_wire.order)}

    @property
    def total(self) -> Sums:
        """The sums of all rows, in place of labels and scores in any measure."""
        if not self._sums:
            raise InputError("An empty Accumulator has no sums; `update` it first.")
        return sum(self.groups.values())  # type: ignore[return-value]  # there is one at least

    @property
    def n(self) -> int:
        """Rows of positive weight."""
        return sum(sums.n for sums in self._sums.values())

    def compute(self, measure: Callable[..., Any], **options: Any) -> Any:
        """What a function says of all rows so far.

        Parameters
        ----------
        measure : function
            Any measure, or a function of one's own that takes sums.
        **options
            For the measure.

        Returns
        -------
        What the measure returns
            For a sketch an approximation, whose limits :func:`trueness.bounded` of `total` has.
        """
        return measure(self.total, **options)

    def compute_by(self, measure: Callable[..., Any], **options: Any) -> dict[Group, Any]:
        """What a function says of the rows of each group.

        Parameters
        ----------
        measure, **options
            As for :meth:`compute`.

        Returns
        -------
        dict
            By group.
        """
        return {key: measure(sums, **options) for key, sums in self.groups.items()}

    def merge(self, other: Accumulator | Sums | Mapping[Any, Sums]) -> None:
        """Add what another one has seen, or sums made elsewhere, as by :func:`trueness.scan`.

        The position stays: where it is in which stream, only the caller knows.

        Parameters
        ----------
        other : Accumulator, Sketch, Tally, Binned, or dict of sums by group
            Made with the same `bins` and row options, from rows with the same labels; an Accumulator also with the same
            `by` and `about`; where there is `by`, sums come as a dict. If `about` may differ, because it names a
            machine or a day, make it the same first: ``other.about = seen.about``.

        Examples
        --------
        >>> import trueness as tn
        >>> seen = tn.Accumulator()
        >>> seen.update([0, 1], [0.2, 0.7])
        >>> seen.merge(tn.sketch([1, 1], [0.7, 0.9]))
        >>> seen.n
        4
        """
        if isinstance(other, Accumulator):
            pieces, label = self._alike(other)._sums, other._other_label
        else:
            pieces, label = self._made_elsewhere(other), None
        self._check_other(label, "the other one")
        self._sums = self._with(pieces.items())
        self._other_label = label if self._other_label is None else self._other_label

    def _alike(self, other: Accumulator) -> Accumulator:
        if other is self:
            raise InputError("other", "is this very Accumulator: its rows would count twice")
        for name, mine, theirs in _settings(self, other):
            if mine != theirs:
                raise InputError(f"Only accumulators made alike add; `{name}` is {mine!r} here and {theirs!r} there.")
        return other

    def _made_elsewhere(self, other: Any) -> dict[Group, Sums]:
        kept = self._kept()
        by_group = isinstance(other, Mapping)
        found = list(other.values()) if by_group else [other]
        if by_group == (self.by is None) or not all(type(sums) is kept for sums in found):
            wanted = f"a {kept.__name__}" if self.by is None else f"a dict of {kept.__name__} by {self.by}"
            held = {type(sums).__name__ for sums in found} - {kept.__name__} if by_group else ()
            got = type(other).__name__ + (f" of {', '.join(sorted(held))}" if held else "")
            raise InputError("other", f"must be an Accumulator or {wanted}", f"got {got}")
        for sums in found:
            self._refuse_unlike(sums)
        return {plain_group(key): sums for key, sums in other.items()} if by_group else {None: other}

    def _refuse_unlike(self, sums: Sums) -> None:
        """Raise if rows told as here could not have made the sums."""
        kind, labels = self._options["kind"], self._options.get("labels")
        if sums.kind != kind and (sums.kind, kind) != ("binary", "classwise"):
            raise InputError(f"Only sums of one kind add; `kind` is {kind!r} here and {sums.kind!r} there.")
        if labels is not None and sums.classes is not None and labels != list(sums.classes):
            raise InputError(
                f"Only sums of the same classes add; `labels` is {labels!r} here and {list(sums.classes)!r} there."
            )
        if isinstance(sums, Binned):
            edges = as_rule(self.bins).fixed_edges
            assert edges is not None
            if not all(np.array_equal(part.edges, edges) for part in sums.parts):
                raise InputError(f"Only sums of the same bins add; `bins` is {self.bins!r} here and others there.")

    def _kept(self) -> type[Sums]:
        return {"sketch": Sketch, "distinct": Tally}.get(self.bins if isinstance(self.bins, str) else "", Binned)

    def reset(self) -> None:
        """Forget all rows, their labels, and the position; settings stay."""
        self._sums, self._other_label, self.position = {}, None, None

    def to_bytes(self) -> bytes:
        """Everything, in few bytes; the same for the same unweighted rows in any order and partition.

        Returns
        -------
        bytes
        """
        header = {
            "bins": self.bins,
            "options": self._options,
            "other_label": self._other_label,
            "by": self.by,
            "about": accumulator_wire.plain(self.about, "about"),
            "position": accumulator_wire.plain(self.position, "position"),
        }
        return accumulator_wire.to_bytes(header, self.groups)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote. Nothing in it is executed; anything else is an error.

        Parameters
        ----------
        data : bytes

        Returns
        -------
        Accumulator
        """
        header, groups = accumulator_wire.from_bytes(data)
        try:
            found = cls(header["bins"], by=header["by"], about=header["about"], **header["options"])
            found._sums = found._read(groups)
        except (TypeError, ValueError) as reason:
            accumulator_wire.refuse(reason)
        found.position, found._other_label = header["position"], header["other_label"]
        if found._other_label is not None and found._other_label == found._options.get("pos_label", found._other_label):
            accumulator_wire.refuse("its labels contradict each other")
        return found

    def _read(self, groups: dict[Group, Sums]) -> dict[Group, Sums]:
        """Sums from a file, if rows could have made them here."""
        kept = self._kept()
        for key, sums in groups.items():
            if (key is None) != (self.by is None) or type(sums) is not kept or not sums.n:
                raise InputError("they do not agree with their settings")
            self._refuse_unlike(sums)
        return self._with(groups.items())

    def save(self, path: str | Path) -> None:
        """Write sums and position to a file in one step: whatever happens, the file is the old one or the new one.

        A file that was loaded or saved before and that something else has written since is not replaced: the rows
        that the other one had added would be lost.

        Parameters
        ----------
        path : str or Path
        """
        data, place = self.to_bytes(), Path(path).resolve()
        known = self._known[1] if self._known is not None and self._known[0] == place else None
        self._known = place, replace_file(place, lambda file: file.write(data), known=known)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote, and go on from `position`.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Accumulator
        """
        data, stamp = read_file(Path(path))
        with naming(path):
            found = cls.from_bytes(data)
        found._known = Path(path).resolve(), stamp
        return found

    def __repr__(self) -> str:
        groups = "" if self.by is None else f", {len(self._sums):,} groups by {self.by}"
        return f"Accumulator({self.bins!r}, {self.n:,} rows{groups})"


def _check_options(missing: Missing, clip_tolerance: float, sum_tolerance: float | None, from_logits: bool) -> None:
    """Say what is wrong with them now, not when the first rows come."""
    read_sample(
        np.zeros(0),
        np.zeros(0),
        missing=missing,
        clip_tolerance=clip_tolerance,
        sum_tolerance=sum_tolerance,
        from_logits=from_logits,
        allow_empty=True,
    )


def _checked_bins(bins: Any) -> Any:
    """What is kept, as JSON would have it."""
    if bins is None or isinstance(bins, str):
        if bins not in ("sketch", "distinct"):
            raise InputError("bins", "must be 'sketch', 'distinct' or bins with fixed edges", f"got {bins!r}")
        return bins
    rule = as_rule(bins)
    if rule.fixed_edges is None:
        raise InputError(
            "bins",
            "must have fixed edges, since rows are not seen together",
            f"{rule!r} has none",
            remedy="A 'sketch' serves it.",
        )
    return rule.n if isinstance(rule, EqualWidth) else rule.fixed_edges.tolist()


def _settings(one: Accumulator, two: Accumulator) -> list[tuple[str, Any, Any]]:
    """Each setting of two accumulators."""
    found = [(name, getattr(one, name), getattr(two, name)) for name in ("bins", "by", "about")]
    names = dict.fromkeys((*one._options, *two._options))
    return found + [(name, one._options.get(name), two._options.get(name)) for name in names]


def _of_group(sample: Sample, key: Group, at: Ints) -> Sample:
    """The rows of a group, whose weights must be fit to be squared, as those of all are."""
    found = sample.at(at, None if sample.w is None else sample.w[at])
    if found.w is not None:
        try:
            check_weights(found.w, found.rows, allow_zeros=True)
        except InputError as reason:
            raise InputError(f"Group {key!r}: {reason}") from reason
    return found


def _check_alike(known: dict[Group, Sums], key: Group, piece: Sums) -> None:
    """Refuse other classes and names of another type than before, also where nothing is to be added yet."""
    for name, sums in known.items():
        refuse_other_type([name], key)
        if sums.kind != piece.kind:
            raise InputError(
                f"Only sums of one kind add; earlier pieces are {sums.kind!r} (scores of shape {_shape(sums)}), "
                f"this one is {piece.kind!r} ({_shape(piece)})."
            )
        if sums.classes != piece.classes:
            raise InputError(
                f"Labels and scores must have the classes of earlier pieces, {named_classes(sums.classes)}; now "
                f"there are {named_classes(piece.classes)}. `labels=` of the Accumulator names them once for all."
            )
        return


def _shape(sums: Sums) -> str:
    return "(n,)" if sums.kind == "binary" else "(n, K)"
