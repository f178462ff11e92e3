"""`Accumulator`: sums of rows that come piece by piece, and where the last piece ended."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column
from trueness._input.sample import Sample
from trueness._tally import accumulator_wire
from trueness._tally.accept import binned_of, sample_and_kind, sketch_of, tally_of
from trueness._tally.atomic import replace_file
from trueness._tally.rules import BinsLike, EqualWidth, as_rule
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness._tally.views import check_kind
from trueness.errors import InputError, OneClassWarning
from trueness.typing import ArrayLike, Kind, Missing

__all__ = ["Accumulator"]

Sums: TypeAlias = Tally | Binned | Sketch
Group: TypeAlias = str | int | float | bool | None


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
    about : dict, optional
        Anything else to be kept with the sums, ready for JSON: names of columns, a model's version.

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
            raise InputError(f"`by` must be the name of the groups, or None; got {by!r}.")
        if by is not None and missing == "drop":
            raise InputError(
                "`missing='drop'` cannot say of which group a row was; with `by`, leave such rows out first."
            )
        self.bins = _checked_bins(bins)
        """What is kept: 'sketch', 'distinct', a number of bins of equal width, or a list of edges."""
        self.by = by
        """What groups are called."""
        self.about = accumulator_wire.plain(dict(about or {}), "about")
        """What else is kept with the sums."""
        self.position: Any = None
        """Where the last piece ended, as `update` was told."""
        options = {
            "kind": check_kind(kind),
            "labels": None if labels is None else list(labels),
            "pos_label": pos_label,
            "missing": missing,
            "clip_tolerance": clip_tolerance,
            "sum_tolerance": sum_tolerance,
            "from_logits": from_logits,
        }
        self._options: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        accumulator_wire.plain(self._options, "labels")
        self._sums: dict[Group, Sums] = {}

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
            As for :func:`trueness.ece`. No rows at all are fine.
        group : array-like of shape (n,), or one value
            The group of each row, or of all of them; demanded if there is `by`, refused otherwise.
        position : optional
            Where the piece ends in the stream, ready for JSON: a row number, an offset, names of files. It is
            saved with the sums, in one step, so that whoever goes on from there counts no row twice and loses none.
        """
        where = accumulator_wire.plain(position, "position")
        if (group is None) != (self.by is None):
            raise InputError(
                "`group` must be said with every piece, since there is `by`."
                if self.by is not None
                else "`group` needs an Accumulator that was made with `by`."
            )
        added = dict(self._sums)
        for key, piece in self._pieces(y_true, y_prob, sample_weight, group):
            added[key] = added[key] + piece if key in added else piece
        self._sums, self.position = added, where

    def _pieces(self, y: Any, p: Any, w: Any, group: Any) -> list[tuple[Group, Sums]]:
        options: Any = self._options if w is None else {**self._options, "sample_weight": w}
        sample, kind = sample_and_kind(y, p, options, allow_empty=True, keep_logits=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OneClassWarning)  # of a piece, which says nothing of the whole
            if group is None or isinstance(group, str | bytes) or np.ndim(group) == 0:
                return [(None if group is None else _plain_group(group), self._made(sample, kind))]
            keys = column(group, "group").values
            if keys.shape != sample.y.shape:
                raise InputError(
                    f"`group` must have one entry per row; got {keys.shape[0]:,} for {sample.y.size:,} rows."
                )
            try:
                return [(key, self._made(_some(sample, at), kind)) for key, at in _rows_by_group(keys) if at.size]
            except InputError:
                self._made(sample, kind)  # raises the same, with the number that a row has among all
                raise

    def _made(self, sample: Sample, kind: Kind) -> Sums:
        if self.bins == "sketch":
            return sketch_of(sample, kind)
        return tally_of(sample, kind) if self.bins == "distinct" else binned_of(sample, kind, as_rule(self.bins))

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
            Made with the same `bins` and row options, an Accumulator also with the same `by`; where there is `by`,
            sums come as a dict.

        Examples
        --------
        >>> import trueness as tn
        >>> seen = tn.Accumulator()
        >>> seen.update([0, 1], [0.2, 0.7])
        >>> seen.merge(tn.sketch([1, 1], [0.7, 0.9]))
        >>> seen.n
        4
        """
        pieces = self._alike(other)._sums if isinstance(other, Accumulator) else self._made_elsewhere(other)
        added = dict(self._sums)
        for key, sums in pieces.items():
            added[key] = added[key] + sums if key in added else sums
        self._sums = added

    def _alike(self, other: Accumulator) -> Accumulator:
        for name in ("bins", "by", "_options"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise InputError(
                    f"Only accumulators made alike add; `{name.strip('_')}` is {mine!r} here and {theirs!r} there."
                )
        return other

    def _made_elsewhere(self, other: Any) -> dict[Group, Sums]:
        kept = self._kept()
        by_group = isinstance(other, Mapping)
        found = list(other.values()) if by_group else [other]
        if by_group == (self.by is None) or not all(type(sums) is kept for sums in found):
            wanted = f"a {kept.__name__}" if self.by is None else f"a dict of {kept.__name__} by {self.by}"
            held = {type(sums).__name__ for sums in found} - {kept.__name__} if by_group else ()
            got = type(other).__name__ + (f" of {', '.join(sorted(held))}" if held else "")
            raise InputError(f"`other` must be an Accumulator or {wanted}; got {got}.")
        for sums in found:
            self._refuse_unlike(sums)
        return {_plain_group(key): sums for key, sums in other.items()} if by_group else {None: other}

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
        """Forget all rows, and the position."""
        self._sums, self.position = {}, None

    def to_bytes(self) -> bytes:
        """Everything, in few bytes; the same for the same unweighted rows in any order and partition.

        Returns
        -------
        bytes
        """
        header = {
            "bins": self.bins,
            "options": self._options,
            "by": self.by,
            "about": self.about,
            "position": self.position,
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
        except (TypeError, ValueError) as reason:
            raise InputError(f"The sums cannot be read: {reason}.") from None
        kept = found._kept()
        named = all((key is None) == (found.by is None) for key in groups)
        if not named or not all(type(sums) is kept for sums in groups.values()):
            raise InputError("The sums cannot be read: they do not agree with their settings.")
        found._sums, found.position = groups, header["position"]
        return found

    def save(self, path: str | Path) -> None:
        """Write sums and position to a file in one step: whatever happens, the file is the old one or the new one.

        Parameters
        ----------
        path : str or Path
        """
        data = self.to_bytes()
        replace_file(Path(path), lambda file: file.write(data))

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
        return cls.from_bytes(Path(path).read_bytes())

    def __repr__(self) -> str:
        groups = "" if self.by is None else f", {len(self._sums):,} groups by {self.by}"
        return f"Accumulator({self.bins!r}, {self.n:,} rows{groups})"


def _checked_bins(bins: Any) -> Any:
    """What is kept, as JSON would have it."""
    if isinstance(bins, str):
        if bins not in ("sketch", "distinct"):
            raise InputError(f"`bins` must be 'sketch', 'distinct' or bins with fixed edges; got {bins!r}.")
        return bins
    rule = as_rule(bins)
    if rule.fixed_edges is None:
        raise InputError(
            f"`bins` must have fixed edges, since rows are not seen together; {rule!r} has none. A 'sketch' serves it."
        )
    return rule.n if isinstance(rule, EqualWidth) else rule.fixed_edges.tolist()


def _some(sample: Sample, at: NDArray[np.int64]) -> Sample:
    """Some of the rows. Of no weight at all they are none, which sums of weights would refuse."""
    w = None if sample.w is None else sample.w[at]
    if w is not None and not w.any():
        at, w = at[:0], None
    return Sample(sample.y[at], sample.p[at], w, sample.classes, sample.tolerance, logits=sample.logits)


def _rows_by_group(keys: NDArray[Any]) -> list[tuple[Group, NDArray[np.int64]]]:
    """The rows of each group."""
    if keys.dtype.kind == "O":
        number = {key: i for i, key in enumerate(dict.fromkeys(keys.tolist()))}
        names, codes = list(number), np.array([number[key] for key in keys.tolist()], dtype=np.int64)
    else:
        distinct, inverse = np.unique(keys, return_inverse=True)
        names, codes = distinct.tolist(), inverse.reshape(-1)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return [(_plain_group(key), order[ends[i] : ends[i + 1]]) for i, key in enumerate(names)]


def _plain_group(key: Any) -> str | int | float | bool:
    found = key.item() if isinstance(key, np.generic) else key
    if not isinstance(found, str | int | float | bool) or found != found:
        raise InputError(f"`group` must hold text or numbers, none of them missing; got {key!r}.")
    return found
