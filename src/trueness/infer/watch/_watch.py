"""`Watch`: has a model drifted? An alarm that you may check every day."""

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from trueness._input.arguments import check_flag, checked_fraction
from trueness._keywords import suggests_keywords
from trueness._level import Level
from trueness._numerics.logistic import logits, recalibration_line
from trueness._tally.accumulator import Accumulator
from trueness._tally.atomic import read_place, replace_place
from trueness._tally.events import Events
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, TruenessWarning, visible, visible_json, warn
from trueness.infer.watch._arrivals import Arrivals, Batch, Late, Memory, checked_late
from trueness.infer.watch._look import (
    Piece,
    Position,
    by_time,
    checked_eps,
    checked_position,
    keys_beside,
    plain_position,
    pooled,
    precedes,
    read_look,
)
from trueness.infer.watch._models import ModelWatch
from trueness.infer.watch._process import (
    ALTERNATIVES,
    REFUTED,
    Look,
    ShiftSequence,
    Streams,
    listed,
)
from trueness.results import Shift, WatchedSegment, WatchHistory
from trueness.results._series import prometheus, watch_table
from trueness.results._statements import drift_in_words
from trueness.typing import (
    ArrayLike,
    Columns,
    Floats,
    Ints,
    Json,
    Kind,
    Missing,
    Option,
    WeightType,
)

_KEPT = math.log(2)
"""A segment's looks are kept from the first at which its evidence reaches 2."""
_FEW = 5
"""With fewer events or non-events, a look has no slope."""
_STEEPEST = 1_000_000
"""Larger shifts and slopes would have likelihoods beyond all floats."""
_FORMAT = {"what": "trueness.Watch", "schema": 2}
_SETTINGS = ("alpha", "alternatives", "rate", "segments", "eps", "name")
_PLAIN = (
    "about",
    "position",
    "alarm",
    "_segmented",
    "_names",
    "_first",
    "_looks",
    "_history",
)
_LATER: dict[str, Any] = {
    "_is_text": {},
    "_keys": [],
    "_parts": {},
    "_whole_rang": False,
    "_kind": "",
    "resets": 0,
    "late_rows": 0,
    "dropped_rows": 0,
}
"""Fields that states of earlier versions lack, with their values."""


class Watch:
    """Evidence that scores are not calibrated, which stays valid however often one looks.

    Every look brings new rows, or their sums. The evidence of a calibrated model reaches 1/alpha
    *ever*, over all looks for ever, with a probability of at most `alpha`. Segments are watched
    together with all rows.

    Parameters
    ----------
    alpha : float, default 0.05
        The largest probability of a false alarm, over all looks.
    alternatives : sequence of (shift, slope), optional
        The errors that are looked for: logit q = shift + slope · logit p, if `rate` is ½. By
        default ten shifts from ±0.1 to ±1.6 and the slopes 0.5, 0.7, 0.85, 1.2 and 1.5.
    rate : float, default 0.5
        The usual event rate: slopes turn about its log-odds. With rates far from ½ it lets the
        watch see scores that become too extreme while events stay as frequent as predicted.
    segments : sequence of str, optional
        All segments that will come, if they are known: they share the weight 1 equally. Otherwise
        those of the first look share ½, and the i-th that comes later has 1/(2i(i + 1)).
    eps : float, optional
        Move scores into [eps, 1 − eps]. By default a label that contradicts a score of 0 or 1
        refutes the scores.
    name : str, default ''
        The name of what is watched. It is kept in the state.
    compare : bool, default False
        Watch two models instead: which has the lower log loss? The result is a
        :class:`trueness.infer.ModelWatch`, which takes `alpha`, `eps` and `name`.

    Attributes
    ----------
    alarm : bool
        True from the first look at which there was an alarm, until :meth:`reset`.
    position : int, float, str or None
        That of the last look.
    resets : int
        How often the watch began again. The promise holds for each beginning by itself.
    late_rows, dropped_rows : int
        Rows that came late and were counted, or left out.
    notes : tuple of str
        What the last update skipped, counted late or left out.

    Notes
    -----
    The evidence E is a weighted mean of the likelihood ratios of all alternatives since any look.
    Without segments the alarm rings when E of all rows reaches 1/alpha; with segments when it, or
    the weighted mean of the evidence of the segments, reaches 2/alpha. Assumed is that labels,
    given the scores and all that came before, are independent and that each row counts once. Labels
    may come late, in any order that does not depend on them. Sums of bins keep the evidence valid.
    ``docs/methods/watch.md`` has formulas and proofs.

    See Also
    --------
    calibration_series : Test one finished series.

    References
    ----------
    A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, Game-theoretic statistics and safe anytime-valid
    inference, Statistical Science 38 (2023), 576-601.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> watch = tn.Watch()
    >>> for day in range(1, 41):
    ...     p = rng.uniform(0.1, 0.6, 200)
    ...     y = rng.uniform(size=200) < (p if day <= 20 else 1.3 * p)
    ...     watch.update(y, p, position=day)
    >>> watch.alarm, watch.since
    (True, 21)
    >>> print(watch)
    Alarm: all rows, since 21: events 1.24 × as frequent as predicted (evidence 4.5e+25, alarm at 20).
    """

    def __new__(cls, *options: Option, compare: bool = False, **named: Option) -> Self:
        """With `compare`, a watch of two models, which has methods of its own."""
        check_flag(compare, "compare")
        if compare:
            return cast(Self, ModelWatch(*options, **named))
        return super().__new__(cls)

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        alternatives: Sequence[tuple[float, float]] | None = None,
        rate: float = 0.5,
        segments: Sequence[str] | None = None,
        eps: float | None = None,
        name: str = "",
        compare: bool = False,  # noqa: ARG002  # read when the object is made
    ) -> None:
        self.alpha = checked_fraction(alpha, "alpha")
        if alternatives is None:
            alternatives = ALTERNATIVES
        self.alternatives = _checked_alternatives(alternatives)
        self.rate = checked_fraction(rate, "rate")
        self.segments = _checked_names(segments)
        self.eps = None if eps is None else checked_eps(eps)
        self.name = str(name)
        self.about: dict[str, Any] = {}
        """Anything for JSON that is to be kept beside the state, such as the names of columns."""
        self.position: Position | None = None
        self.resets = 0
        self.late_rows = 0
        self.dropped_rows = 0
        self.notes: tuple[str, ...] = ()
        self._memory = Memory()
        """What was counted, which a reset does not forget."""
        self._begin()

    def _begin(self) -> None:
        self.alarm = False
        self._segmented: bool | None = bool(self.segments) or None
        """Whether looks have segments; None as long as that is open."""
        self._names = list(self.segments)
        self._is_text: dict[str, list[bool]] = {}
        """Whether the name of a segment was text, in each column: 1 and "1" are different values of
        one name."""
        self._keys: list[str] = []
        """The columns that name segments, if known."""
        self._parts: dict[str, list[str]] = {}
        """The values of these columns for each segment."""
        self._kind = ""
        """The kind of events of all looks; empty if they are labels and scores, or differ."""
        self._whole_rang = False
        """Whether the evidence of all rows reached the alarm."""
        self._first: int | None = None
        """Segments of the first look."""
        self._streams = Streams(len(self.alternatives), 1 + len(self._names))
        self._shift: ShiftSequence | None = ShiftSequence()
        self._looks: list[Position] = []
        self._history: dict[str, list[Sequence[Any]]] = {"": []}
        """The number of a look, its rows, events, Σp and log E, to six digits for segments; for
        all rows also the slope and its limits, None if there is none."""

    # ---- looks

    @suggests_keywords
    def update(
        self,
        y_true: ArrayLike | Tally | Binned | Sketch | Accumulator | Mapping[Any, Any],
        y_prob: ArrayLike | None = None,
        *,
        by: Columns | None = None,
        cluster: ArrayLike | None = None,
        largest_cluster: int = 1,
        position: Json = None,
        time: str | None = None,
        before: Json = None,
        after: Json = None,
        late: Late = "refuse",
        again: bool = False,
        kind: Kind | None = None,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
        sample_weight: ArrayLike | None = None,
        weight_type: WeightType = "auto",
        missing: Missing = "raise",
        clip_tolerance: float = 0.0,
        sum_tolerance: float | None = None,
        from_logits: bool = False,
        percent: bool = False,
        ignore_index: int | None = None,
    ) -> None:
        """Enter one look: rows, their sums, or the sums of each segment.

        Parameters
        ----------
        y_true : array-like of shape (n,), (n, L) or (B, …)
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second. Or sums in place of both, or a dict of the sums of segments, which hold
            every row once.
        by : array-like, dict of array-like or frame, optional
            The segment of each row; of several columns, each combination of their values is a
            segment.
        largest_cluster : int, default 1
            For sums: the size of the largest cluster.
        position : int, float, str or date, optional
            The name of the look, which must be later than all before it. Text is compared letter by
            letter, as in "2025-09" < "2025-10"; times with a zone are compared, and kept, in UTC.
            By default looks are numbered.
        time : str, optional
            For sums from :func:`scan_groups`: the key that is the position. Its values are entered
            one after the other.
        before, after : int, float, str or date, optional
            With `time`: leave out positions from `before` on, such as a day that is not over, and
            those up to `after`, such as ``watch.position``, which were counted already.
        late : {'refuse', 'next', 'drop'}, default 'refuse'
            What becomes of rows of a position that was counted: 'next' counts them in the present
            look, which keeps the promise because each row counts once; 'drop' leaves them out. The
            same rows as before are skipped in any case.
        again : bool, default False
            Count rows even if the same rows were counted or left out before. By default a look is
            skipped, with a warning, if an earlier one has the same sums, and 1,000 rows (at three
            scores or more) or 200 distinct scores.
        cluster : array-like of shape (n,), optional
            A cluster name for each row; rows of one cluster may depend on each other.
        kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
            How a matrix is compared with the labels. 'classwise': each column against the rest,
            averaged over classes. 'confidence': the largest probability of each row (the first, if
            tied) against whether that class is the label. 'top-label': the same for each predicted
            class, weighted by how often it is predicted. 'multilabel': each column is a binary
            problem of its own, averaged over labels; never guessed. By default 'confidence'.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1; for a vector of scores, two
            classes with the positive one last. By default, columns whose names are the classes are
            matched by name. Otherwise the columns are in the order of the categories (of a pandas
            Categorical, Polars Enum or ordered Arrow dictionary, unused categories included) or,
            without categories, in the order of the sorted labels.
        pos_label : optional
            The label that a vector of scores predicts, if labels are not 0/1.
        sample_weight : array-like of shape (n,), optional
            Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
        weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
            What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
            rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes
            whole numbers as frequencies, with a warning in functions that infer, and other weights
            as importance.
        missing : {'raise', 'drop'}, default 'raise'
            What to do with rows that have a missing value: raise an error, or drop them with a
            warning.
        clip_tolerance : float, default 0
            Scores outside [0, 1] by at most this much are set to 0 or 1.
        sum_tolerance : float, optional
            How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
        from_logits : bool, default False
            Whether the scores are logits; the logistic function (softmax for a matrix) is applied
            first.
        percent : bool, default False
            Whether the scores are percentages, from 0 to 100.
        ignore_index : int, optional
            The label of rows that are left out, such as 255 for pixels without a class.

        Raises
        ------
        InputError
            If the input is wrong or the position was counted already. Then the watch is as it was.
        """
        rows = row_options(
            kind,
            labels,
            pos_label,
            sample_weight,
            weight_type,
            missing,
            clip_tolerance,
            sum_tolerance,
            from_logits,
            percent,
            ignore_index,
        )
        for name, limit in (("before", before), ("after", after)):
            if time is None and limit is not None:
                raise InputError(name, "needs `time`", f"got {limit!r}")
        if time is not None and position is not None:
            raise InputError("position", "must not be given beside `time`", f"got {position!r}")
        checked_late(late)
        check_flag(again, "again")
        if time is None:
            looks = [(position, y_true)]
            keys: tuple[str, ...] = ()
        else:
            looks = by_time(y_true, time, before, after)
            keys = keys_beside(y_true, time)
        read = partial(
            read_look,
            y_prob=y_prob,
            by=by,
            cluster=cluster,
            largest_cluster=largest_cluster,
            rows=rows,
            eps=self.eps,
            keys=keys,
        )
        arrivals = Arrivals()
        for look_position, data in looks:
            if look_position is None or (time is None and late == "refuse"):
                place = checked_position(look_position, self.position)
                is_late = False
            else:
                place = plain_position(look_position)
                last = self.position
                is_late = last is not None and not precedes(last, place, "position")
            batch = Batch(place, data, read(data))
            arrivals.sort(batch, self._memory, is_late=is_late, again=again)
        arrivals.decide(late, self._memory, again=again)
        entries = self._entries(arrivals, read)
        types = self._checked_names([piece for _, piece in entries])
        for sentence in arrivals.skipped:
            warn(f"{sentence} `again=True` counts them.", TruenessWarning)
        self.notes = arrivals.notes
        kind_of_event = y_true.kind if isinstance(y_true, Events) else ""
        if entries and kind_of_event != self._kind:
            self._kind = "" if self._looks else kind_of_event
        for place, piece in entries:
            self._enter(place, piece)
        self._is_text = types
        for batch in (*arrivals.new, *arrivals.late):
            self._memory.keep(batch)
        for batch in arrivals.dropped:
            self._memory.keep(batch, is_counted=False)
        self.late_rows += sum(batch.piece.rows for batch in arrivals.late)
        self.dropped_rows += sum(batch.piece.rows for batch in arrivals.dropped)

    def _entries(
        self, arrivals: Arrivals, read: Callable[[Any], Piece]
    ) -> list[tuple[Position, Piece]]:
        """The position and content of each look to enter, in order.

        `arrivals` has new looks and late rows, which belong to positions before the last one. Late
        rows are added to the first new look; if there is none, they are entered as a look at the
        last position. `read` turns data into the content of a look.
        """
        entries = [(batch.position, batch.piece) for batch in arrivals.new]
        if not arrivals.late:
            return entries
        late = [batch.data for batch in arrivals.late]
        if arrivals.new:
            first = arrivals.new[0]
            return [(first.position, read(pooled([first.data, *late]))), *entries[1:]]
        assert self.position is not None  # rows are late only after a look
        return [(self.position, read(pooled(late)))]

    def _checked_names(self, pieces: Sequence[Piece]) -> dict[str, list[bool]]:
        """The types of all names of segments, after checking the segments of new looks.

        Refused are segments at some looks but not at others, a name outside the list that was given
        when the watch began, and a name that was a number before and is text now, or the other way
        round. For each name the result says which of its parts are text. The watch itself is not
        changed.
        """
        segmented = self._segmented
        types = dict(self._is_text)
        for piece in pieces:
            demand = "must be given at all looks or at none"
            if segmented is True and not piece.names:
                raise InputError("by", demand, "this look has none")
            if segmented is False and piece.names:
                raise InputError("by", demand, "this look has some")
            segmented = bool(piece.names)
            unknown = [name for name in piece.names if name not in self.segments]
            if self.segments and unknown:
                raise InputError(
                    "by", f"must be one of the {len(self.segments)} segments", f"got {unknown[0]!r}"
                )
            _learn_types(types, piece)
        return types

    def _enter(self, place: Position, piece: Piece) -> None:
        """Count one look, which was checked, at its position.

        `piece` has its sums. Updated are rows and events, the evidence of all rows and of each
        segment, the confidence sequence of the shift (dropped for good at the first look from
        bins), the history and the alarm. Once on, the alarm stays.
        """
        stream_of = self._streams_of(piece)
        streams = self._streams
        streams.sums[stream_of] += piece.counts
        shift, slope = np.array(self.alternatives).T
        shift += math.log(self.rate / (1 - self.rate)) * (1 - slope)
        ratios = piece.entries.log_ratios(shift, slope, stream_of.size)
        refuted = piece.entries.refuted(stream_of.size)
        present = piece.counts[:, 0] > 0
        streams.step(stream_of[present], ratios[present], refuted[present], len(self._looks))
        self._looks.append(place)
        self.position = place
        if piece.binned:
            self._shift = None
        elif self._shift is not None:
            self._shift.enter(piece.whole, self.alpha)
        self._keep_history(piece, streams.log_evidence[stream_of])
        enough = math.log(self.alarm_at)
        self._whole_rang = self._whole_rang or bool(streams.log_evidence[0] >= enough)
        self.alarm = self.alarm or self._whole_rang
        if self._segmented:
            together = np.logaddexp.reduce(self._weighted[1:])
            self.alarm = self.alarm or bool(together >= enough)

    def _streams_of(self, piece: Piece) -> Ints:
        """The stream of all rows, 0, and of each segment of a look; new segments get streams."""
        stream = {name: i + 1 for i, name in enumerate(self._names)}
        new = [name for name in piece.names if name not in stream]
        for name in new:
            stream[name] = len(stream) + 1
        self._names = list(stream)
        self._segmented = bool(piece.names)
        if self._first is None:
            self._first = len(new)
        self._keys = list(piece.keys)
        self._parts |= dict(zip(piece.names, map(list, piece.parts), strict=False))
        self._streams.grow(len(new))
        return np.array([0, *(stream[name] for name in piece.names)])

    def _keep_history(self, piece: Piece, log_evidence: Floats) -> None:
        """Remember this look of all rows, and of segments whose evidence was ever at least 2.

        `log_evidence` is that of all rows, then of each segment of the look.
        """
        names = ("", *piece.names)
        slopes = _slope(piece.whole)
        for name, counts, log in zip(names, piece.counts.tolist(), log_evidence, strict=True):
            if name not in self._history and log < _KEPT:
                continue
            if name:
                numbers: list[Any] = [float(f"{value:.6g}") for value in (*counts, log)]
            else:
                numbers = [*counts, log, *slopes]
            self._history.setdefault(name, []).append([len(self._looks) - 1, *numbers])

    # ---- answers

    @property
    def alarm_at(self) -> float:
        """The evidence at which the alarm rings: 1/alpha, or 2/alpha with segments."""
        if self._segmented:
            return 2 / self.alpha
        return 1 / self.alpha

    @property
    def _weights(self) -> Floats:
        """The weight of all rows, 1, and of each segment.

        Those of segments have a sum of at most 1.
        """
        if self.segments:
            return np.array([1.0, *[1 / len(self.segments)] * len(self.segments)])
        first = self._first or 0
        later = np.arange(1, len(self._names) - first + 1)
        return np.concatenate(
            [[1.0], np.full(first, 0.5 / max(first, 1)), 0.5 / (later * (later + 1.0))]
        )

    @property
    def _weighted(self) -> Floats:
        """log(weight × E) of all rows and each segment."""
        return self._streams.log_evidence + np.log(self._weights)

    @property
    def evidence(self) -> dict[str, float]:
        """E of every segment; that of '' is for all rows.

        1 before the first look; infinite if labels refute scores.
        """
        return dict(zip(("", *self._names), _exp(self._streams.log_evidence), strict=True))

    @property
    def alarms(self) -> tuple[WatchedSegment, ...]:
        """All rows (``segment == ""``) and segments that are in alarm, the clearest first.

        All rows are in alarm from the look at which their evidence reaches :attr:`alarm_at`, until
        :meth:`reset`. Segments are those that the e-BH procedure names at this look: at any one
        look the expected share of false names is at most alpha/2; not among all that were ever
        listed.
        """
        return tuple(watched for watched in self.watched if watched.listed)

    @property
    def watched(self) -> tuple[WatchedSegment, ...]:
        """All rows, then every segment, those with the largest evidence first."""
        alarms = {self._names[i] for i in listed(self._weighted[1:], self.alpha / 2)}
        if self._whole_rang:
            alarms.add("")
        weights = self._weights.tolist()
        sums: list[list[float]] = self._streams.sums.tolist()
        watched = []
        for i, (name, evidence) in enumerate(self.evidence.items()):
            n, observed, expected = sums[i]
            since, direction = self._error(i)
            watched.append(
                WatchedSegment(
                    segment=name,
                    evidence=evidence,
                    weight=weights[i],
                    n=round(n),
                    observed=observed,
                    expected=expected,
                    since=since,
                    direction=direction,
                    listed=name in alarms,
                )
            )
        order = np.argsort(-self._streams.log_evidence[1:], kind="stable")
        return watched[0], *(watched[1 + i] for i in order)

    @property
    def _clearest(self) -> int:
        """The stream with the largest weighted evidence."""
        return int(np.argmax(self._weighted))

    @property
    def since(self) -> Position | None:
        """The position at which the error of the clearest stream probably began.

        None without evidence.
        """
        return self._error(self._clearest)[0]

    @property
    def direction(self) -> str:
        """The error of the clearest stream in words; '' without evidence."""
        return self._error(self._clearest)[1]

    def _error(self, i: int) -> tuple[Position | None, str]:
        """When the error of the i-th stream probably began, and what it is, in words.

        The onset is the position from which the labels favour the best alternative most. The words
        name the shift or slope with the largest evidence, with observed and expected events since
        then, or count the labels that contradict scores of 0 or 1. None and "" if the evidence is
        at most 1.
        """
        streams = self._streams
        if streams.log_evidence[i] <= 0:
            return None, ""
        first = int(streams.onset[i, np.argmax(streams.best[i])])
        since = self._looks[first]
        refuted = int(streams.refuted[i])
        if refuted == 1:
            return since, "1 label contradicts a score of 0 or 1"
        if refuted:
            return since, f"{refuted:,} labels contradict scores of 0 or 1"
        shift, slope = self.alternatives[int(np.argmax(streams.mass[i]))]
        name = ("", *self._names)[i]
        looks = [look[2:4] for look in self._history.get(name, ()) if look[0] >= first]
        observed, expected = np.sum(looks or streams.sums[[i], 1:], axis=0).tolist()
        ratio = observed / expected if expected else math.inf
        return since, drift_in_words(self._kind, shift=shift, slope=slope, ratio=ratio)

    @property
    def shift(self) -> Shift | None:
        """The shift of all rows with a confidence sequence.

        None if a look came from bins, which do not give one.
        """
        if self._shift is None:
            return None
        return Shift(*self._shift.limits, level=Level.of_alpha(self.alpha).confidence)

    @property
    def history(self) -> dict[str, WatchHistory]:
        """The looks of all rows (''), and of segments since their evidence first reached 2."""
        history = {}
        for name, looks in self._history.items():
            table = np.full((8, len(looks)), math.nan)
            width = 5 if name else 8
            table[:width] = np.array(looks, dtype=np.float64).reshape(len(looks), width).T
            number, n, observed, expected, log, slope, slope_low, slope_high = table
            history[name] = WatchHistory(
                position=tuple(self._looks[int(i)] for i in number),
                n=np.rint(n).astype(np.int64),
                observed=observed,
                expected=expected,
                evidence=np.array(_exp(log)),
                slope=slope,
                slope_low=slope_low,
                slope_high=slope_high,
            )
        return history

    def reset(self, position: Json = None) -> None:
        """Begin again, after the model was refitted.

        Later looks, with segments as before, come after `position`. Rows that were counted up to
        there are not counted again.

        The probability of a false alarm is at most alpha after each beginning. Over several it adds
        up: after k resets at most (k + 1) alpha, if resets have other reasons than the watch
        itself. `resets` counts them.
        """
        last = self.position
        segmented = self._segmented
        if position is not None:
            last = plain_position(position)
            batches = self._memory.batches
            kept = [batch for batch in batches if not precedes(last, batch.position, "position")]
            self._memory = Memory(kept)
        self._begin()
        self.position = last
        self._segmented = segmented
        self.resets += 1

    def __repr__(self) -> str:
        rows = round(self._streams.sums[0, 0])
        return f"Watch({len(self._looks):,} looks, {rows:,} rows, {len(self._names):,} segments)"

    def __str__(self) -> str:
        """Whether the watch is in alarm, with the stream whose weighted evidence is largest.

        An alarm stays on once it is raised. The stream is all rows, or a segment, whose weight is
        then shown too.
        """
        i = self._clearest
        name, value = list(self.evidence.items())[i]
        evidence = "without bound" if value == math.inf else f"{value:.2g}"
        weight = f" at weight {self._weights[i]:.2g}" if i else ""
        numbers = f"(evidence {evidence}{weight}, alarm at {self.alarm_at:.3g})"
        stream = repr(name) if name else "all rows"
        if not self.alarm:
            return visible(f"No alarm: {stream} {numbers}.")
        since = f", since {self.since}: {self.direction}" if self.direction else ""
        return visible(f"Alarm: {stream}{since} {numbers}.")

    def _repr_html_(self) -> str:
        """For a notebook: the verdict, then all rows and the segments."""
        return watch_table(str(self), self.watched)

    # ---- state

    def to_json(self) -> str:
        """The state as text, with the number of its format and a checksum."""
        state: dict[str, Any] = {
            **_FORMAT,
            **{name: getattr(self, name) for name in (*_SETTINGS, *_PLAIN, *_LATER)},
            "_seen": self._memory.batches,
        }
        for name in ("_streams", "_shift"):
            arrays: Streams | None = getattr(self, name)
            state[name] = arrays and {key: getattr(arrays, key).tolist() for key in arrays.stored}
        try:
            text = _text({**state, "checksum": _checksum(state)})
        except (TypeError, ValueError) as reason:
            raise InputError("about", "must be ready for JSON", str(reason)) from None
        # Names may have halves of characters.
        return text if text.isprintable() else visible_json(text)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The watch that :meth:`to_json` wrote.

        Text of another kind or format, and text that is damaged or was changed, is an error.
        """
        try:
            state = json.loads(text)
        except (ValueError, TypeError, RecursionError) as reason:
            got = "it is empty" if text == "" else f"it is cut short or damaged: {reason}"
            raise InputError("state", "must be the state of a watch", got) from None
        if not isinstance(state, dict) or state.get("what") != _FORMAT["what"]:
            raise InputError("state", "must be the state of a watch", "it is something else")
        if state.get("schema") != _FORMAT["schema"]:
            raise InputError(
                "state", f"must have format {_FORMAT['schema']}", f"got {state.get('schema')!r}"
            )
        if state.pop("checksum", None) != _checksum(state):
            raise InputError(
                "state",
                "must be as it was written",
                "its checksum differs: it is damaged or was changed",
            )
        watch = cls(
            alpha=state["alpha"],
            alternatives=state["alternatives"],
            rate=state["rate"],
            segments=state["segments"] or None,
            eps=state["eps"],
            name=state["name"],
        )
        for name in _PLAIN:
            setattr(watch, name, state[name])
        for name, value in _LATER.items():
            setattr(watch, name, state.get(name, copy(value)))
        watch._memory = Memory.of(state.get("_seen", []))
        for name in ("_streams", "_shift"):
            if state[name] is None:
                setattr(watch, name, None)
                continue
            arrays = getattr(watch, name)
            for key, values in state[name].items():
                like = getattr(arrays, key)
                stored = np.array(values, like.dtype).reshape(-1, *like.shape[1:])
                setattr(arrays, key, stored)
        return watch

    def save(self, path: str | Path) -> None:
        """Write the state to a file; a failed write leaves the old file.

        A URL such as ``"s3://bucket/watch.json"`` needs fsspec and what it needs for that place.
        """
        replace_place(path, self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file, or a URL, that :meth:`save` wrote."""
        try:
            return cls.from_json(read_place(path).decode())
        except UnicodeDecodeError:
            raise InputError(
                "", f"{str(path)!r} must be the state of a watch", "it is not text"
            ) from None
        except InputError as reason:
            if reason.argument != "state":
                raise
            remedy = "Put back a copy, or begin with a new file."
            raise InputError(
                "", f"{str(path)!r} {reason.demand}", reason.got, remedy=remedy
            ) from None

    def to_prometheus(self) -> str:
        """Alarm, evidence, rows, observed and expected events in Prometheus' text format.

        Each column that names segments is a label, and the name of the watch is the label
        ``trueness_watch``.
        """
        return prometheus(self.name, self.alarm, self.watched, self._keys, self._parts)


def _learn_types(types: dict[str, list[bool]], piece: Piece) -> None:
    """Remember which names of segments are text.

    Refuse a name that was a number, and is text now.
    """
    for name, is_text in zip(piece.names, map(list, piece.is_text), strict=True):
        if types.setdefault(name, is_text) != is_text:
            before = "text" if any(types[name]) else "not text"
            demand = (
                "must name a segment by values of one type at all looks: 1 and '1' are different"
            )
            remedy = "Text works for all: `[str(g) for g in by]`."
            raise InputError("by", demand, f"{name!r} was {before} before", remedy=remedy)


def _slope(look: Look) -> tuple[float | None, ...]:
    """The calibration slope of one look, and its 95 % confidence limits by Wald's method.

    `look` has scores with their labels; scores of 0 and 1 are left out. An element is None if it is
    not finite, since JSON has no nan; all are with fewer than five events or non-events.
    """
    x = logits(look.score)
    inside = np.isfinite(x)
    x = x[inside]
    n = look.weight[inside]
    events = look.events[inside]
    if min(events.sum(), (n - events).sum()) < _FEW:
        return (None, None, None)
    slope, intercept = recalibration_line(x, n, events)
    q = 1 / (1 + np.exp(-(intercept + slope * x)))
    v = n * q * (1 - q)
    information = float(v @ (x - (v @ x) / v.sum()) ** 2)
    half = 1.96 / math.sqrt(information) if information > 0 else math.nan
    values = (slope, slope - half, slope + half)
    return tuple(value if math.isfinite(value) else None for value in values)


def _checked_alternatives(pairs: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Pairs of a shift and a slope; at least one, and none that changes nothing."""
    try:
        alternatives = tuple((float(shift), float(slope)) for shift, slope in pairs)
    except (TypeError, ValueError, OverflowError) as reason:
        raise InputError(
            "alternatives", "must be pairs of a shift and a slope", str(reason)
        ) from None
    for shift, slope in alternatives:
        if not (abs(shift) <= _STEEPEST and 0 < slope <= _STEEPEST) or (shift, slope) == (0, 1):
            demand = (
                f"must be shifts and positive slopes of at most {_STEEPEST:,}, other than (0, 1)"
            )
            raise InputError("alternatives", demand, f"got {(shift, slope)}")
    if not alternatives:
        raise InputError("alternatives", "must hold at least one pair", "it is empty")
    return alternatives


def _checked_names(segments: Sequence[str] | None) -> tuple[str, ...]:
    """The names of segments that are known beforehand; () for None. They must differ."""
    if segments is None:
        return ()
    try:
        names = () if isinstance(segments, str) else tuple(map(str, segments))
    except TypeError:  # a single value
        names = ()
    if not names or len(set(names)) < len(names) or "" in names:
        raise InputError("segments", "must be a list of different names", f"got {segments!r}")
    return names


def _exp(logarithms: Floats) -> list[float]:
    """The evidence of these logarithms: at most the largest float, unless it is infinite."""
    finite = np.exp(np.minimum(logarithms, 709))
    evidence: list[float] = np.where(logarithms >= REFUTED, math.inf, finite).tolist()
    return evidence


def _text(state: dict[str, Any]) -> str:
    """A state as JSON, in one way of writing."""
    return json.dumps(state, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _checksum(state: dict[str, Any]) -> str:
    """The checksum of a state that has none yet."""
    return hashlib.sha256(_text(state).encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def sums_of_kind(watch: Watch, kind: str) -> Iterator[None]:
    """A context in which a watch counts sums of events of this kind, which sums do not remember.

    The watch has no kind afterwards if earlier looks were of another one.
    """
    is_of_kind = watch._kind == kind or not watch._looks
    yield
    watch._kind = kind if is_of_kind else ""


# The arguments that `help` and editors show: those of a watch, not those that choose its kind.
_arguments = inspect.signature(Watch.__init__)
Watch.__signature__ = _arguments.replace(  # type: ignore[attr-defined]
    parameters=list(_arguments.parameters.values())[1:], return_annotation=inspect.Signature.empty
)
