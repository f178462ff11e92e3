"""`Watch`: has a model drifted? An alarm that one may look at every day."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._numerics.logistic import recalibration_line
from trueness._tally.accumulator import Accumulator
from trueness._tally.atomic import as_path, replace_file
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.watch import _state
from trueness.infer.watch._look import Piece, Position, by_time, checked_position, plain_position, read_look
from trueness.infer.watch._process import ALTERNATIVES, Look, ShiftSequence, Streams, listed, weights_of
from trueness.results import Shift, WatchedSegment, WatchHistory
from trueness.results._watch import prometheus
from trueness.typing import ArrayLike, Floats, RowOptions

_KEPT = math.log(2)
"""A segment's looks are kept from the first at which its evidence reaches 2."""
_FEW = 5
"""Fewer events, or fewer rows without, give no slope of a look."""
_LATER = 2**20
"""So many entries of looks may wait."""
_MOST = sys.float_info.max


class Watch:
    """Evidence that scores are not calibrated, which stays valid however often and whenever one looks.

    Every look brings new rows, or their sums. The evidence of a calibrated model reaches 1/alpha *ever*, over all looks
    for ever, with a probability of at most `alpha`. Segments are watched together with all rows.

    Parameters
    ----------
    alpha : float, default 0.05
        The largest probability of a false alarm, over all looks.
    alternatives : sequence of (shift, slope), optional
        The errors that are looked for: logit q = shift + slope · logit p. By default ten shifts from ±0.1 to ±1.6 and
        the slopes 0.5, 0.7, 0.85, 1.2 and 1.5.
    segments : sequence of str, optional
        All segments that will come, if they are known: they share the weight 1 equally. Otherwise those of the first
        look share ½, and each that comes later has less.
    eps : float, optional
        Move scores into [eps, 1 − eps]. By default a label that contradicts a score of 0 or 1 refutes the scores.
    name : str, default ''
        The name of what is watched. It is kept in the state.

    Attributes
    ----------
    alarm : bool
        True from the first look at which there was an alarm, until :meth:`reset`.
    position : int, float, str or None
        That of the last look.

    Notes
    -----
    The labels of a look are compared with every alternative by their likelihood ratio; the error may have begun at any
    look, the j-th with weight 1/(j(j + 1)), and the evidence E is the weighted mean of all these ratios. Without
    segments the alarm rings when E of all rows reaches 1/alpha; with segments when it, or the weighted mean of the
    evidence of the segments, reaches 2/alpha. :attr:`alarms` are named by the e-BH procedure at alpha/2: the expected
    share of false names among them is at most that at any one time; it is not promised for all names ever listed.

    Assumed is that labels, given the scores and all that came before, are independent and that each row counts once.
    Labels may come late, in any order that does not depend on them. Rows of a cluster in one look count as their mean.
    Sums of bins, with all rows at the mean score of their bin, keep the evidence valid.

    See Also
    --------
    calibration_series : Test one finished series.

    References
    ----------
    A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, Game-theoretic statistics and safe anytime-valid inference, Statistical
    Science 38 (2023), 576-601.

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

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        alternatives: Sequence[tuple[float, float]] | None = None,
        segments: Sequence[str] | None = None,
        eps: float | None = None,
        name: str = "",
    ) -> None:
        self.alpha = checked_fraction(alpha, "alpha")
        self.alternatives = _checked_alternatives(ALTERNATIVES if alternatives is None else alternatives)
        self.segments = _checked_names(segments)
        self.eps = None if eps is None else checked_fraction(eps, "eps")
        if self.eps is not None and self.eps >= 0.5:
            raise InputError("eps", "must be below 1/2", f"got {self.eps}")
        self.name = str(name)
        self.about: dict[str, Any] = {}
        """Anything for JSON that is to be kept beside the state, such as the names of columns."""
        self.position: Position | None = None
        self._begin()

    def _begin(self) -> None:
        self.alarm = False
        self._segmented: bool | None = True if self.segments else None
        self._names: dict[str, int] = {}
        """The number of each segment; that of all rows is 0, and is not here."""
        self._first = 0
        """Segments of the first look."""
        self._streams = Streams(np.array(self.alternatives, dtype=np.float64))
        self._streams.grow(1)
        self._sums = np.zeros((1, 3))
        self._shift: ShiftSequence | None = ShiftSequence()
        self._looks: list[Position] = []
        self._history: dict[str, list[tuple[Any, ...]]] = {"": []}
        self._later: list[Look] = []

    # ---- looks

    @partial(takes_rows, kind="confidence")
    def update(
        self,
        y_true: ArrayLike | Tally | Binned | Sketch | Accumulator | Mapping[Any, Any],
        y_prob: ArrayLike | None = None,
        *,
        by: Any = None,
        cluster: ArrayLike | None = None,
        largest_cluster: int = 1,
        position: Any = None,
        time: str | None = None,
        before: Any = None,
        after: Any = None,
        **rows: Unpack[RowOptions],
    ) -> None:
        """Enter one look: rows, their sums, or the sums of each segment.

        Parameters
        ----------
        y_true, y_prob
            As for :func:`ece`; or sums in place of both, or a dict of the sums of segments, which hold every row once.
        by : array-like, dict of array-like or frame, optional
            The segment of each row; several columns give the segments of each column.
        cluster : array-like, optional
            Rows of one cluster are not independent of each other.
        largest_cluster : int, default 1
            For sums: the size of the largest cluster.
        position : int, float, str or date, optional
            The name of the look, which must be later than all before it. Text is compared letter by letter, as in
            "2025-09" < "2025-10". By default looks are numbered.
        time : str, optional
            For sums from :func:`scan_groups`: the key that is the position. Its values are entered one after the other.
        before : int, float, str or date, optional
            With `time`: leave out this position and later ones, such as a day that is not over.
        after : int, float, str or date, optional
            With `time`: leave out positions up to this one, such as ``watch.position``, which were counted already.
        **rows
            As for :func:`ece`.

        Raises
        ------
        InputError
            If the input is wrong or the position was counted already. Then the watch is as it was.
        """
        if time is not None:
            if position is not None:
                raise InputError("position", "must not be given beside `time`", f"got {position!r}")
            looks: list[tuple[Any, Any]] = by_time(y_true, time, before, after)
        elif before is not None or after is not None:
            raise InputError("after" if before is None else "before", "needs `time`", f"got {before or after!r}")
        else:
            looks = [(position, y_true)]
        checked, last = [], self.position
        for given, data in looks:
            last = checked_position(given, last)
            checked.append((last, read_look(data, y_prob, by, cluster, largest_cluster, rows, self.eps)))
        self._check_segments([piece for _, piece in checked])
        for place, piece in checked:
            self._enter(place, piece)

    def _check_segments(self, pieces: list[Piece]) -> None:
        """Refuse what would change the rule of the alarm on the way, or a segment that has no weight."""
        segmented = self._segmented
        for piece in pieces:
            if segmented is None:
                segmented = bool(piece.names)
            if segmented is not bool(piece.names):
                got = "this look has none" if segmented else "this look has some"
                raise InputError("by", "must be given at all looks or at none", got)
            for name in piece.names:
                if self.segments and name not in self.segments:
                    raise InputError("by", f"must be one of the {len(self.segments)} segments", f"got {name!r}")

    def _enter(self, place: Position, piece: Piece) -> None:
        """Count a look that was checked."""
        self._segmented = bool(piece.names)
        new = [name for name in piece.names if name not in self._names]
        if not self._names:
            self._first = len(new)
        for name in new:
            self._names[name] = len(self._names) + 1
        size = len(self._names) + 1
        self._streams.grow(size)
        self._sums = np.concatenate([self._sums, np.zeros((len(new), 3))])
        at = np.array([0, *(self._names[name] for name in piece.names)])
        self._sums[at] += piece.counts
        self._looks.append(place)
        self.position = place
        shift, slope = self._streams.alternatives.T
        whole = piece.whole.pooled
        both = (whole, 1), (piece.parts, len(piece.names))
        ratios = np.concatenate([look.log_ratios(shift, slope, size) for look, size in both])
        refuted = np.concatenate([look.refuted(size) for look, size in both])
        there = piece.counts[:, 0] > 0
        self._streams.step(at[there], ratios[there], refuted[there], len(self._looks) - 1)
        if piece.binned:
            self._shift = None
        evidence = self._streams.log_evidence[at]
        for i, name in enumerate(("", *piece.names)):
            if i == 0 or name in self._history or evidence[i] >= _KEPT:
                look = (place, *piece.counts[i].tolist(), float(evidence[i]), *(math.nan,) * 3)
                self._history.setdefault(name, []).append(look)
        self._later.append(whole)
        if sum(look.score.size for look in self._later) > _LATER:
            self._settle()
        self.alarm = self.alarm or self._rings()

    def _settle(self) -> None:
        """The slope of each look and the sequence of the shift, which no alarm needs: computed when they are asked."""
        looks = self._history[""]
        for i, look in enumerate(self._later, start=len(looks) - len(self._later)):
            looks[i] = (*looks[i][:5], *_slope(look))
            if self._shift is not None:
                self._shift.step(look, self.alpha)
        self._later = []

    def _rings(self) -> bool:
        log = self._streams.log_evidence
        if not self._segmented:
            return bool(log[0] >= -math.log(self.alpha))
        together = np.logaddexp.reduce(log[1:] + np.log(self._weights))
        return bool(max(log[0], together) >= math.log(2 / self.alpha))

    # ---- answers

    @property
    def _weights(self) -> Floats:
        return weights_of(list(self._names), self.segments, self._first)

    @property
    def evidence(self) -> dict[str, float]:
        """E of every segment; that of '' is for all rows. 1 before the first look; infinite if labels refute scores."""
        return {name: _exp(value) for name, value in zip(("", *self._names), self._streams.log_evidence, strict=True)}

    @property
    def alarms(self) -> tuple[str, ...]:
        """The segments that the e-BH procedure names at this look, the clearest first."""
        if not self._names:
            return ()
        names = list(self._names)
        return tuple(names[i] for i in listed(self._streams.log_evidence[1:] + np.log(self._weights), self.alpha / 2))

    @property
    def watched(self) -> tuple[WatchedSegment, ...]:
        """All rows, then every segment, those with the largest evidence first."""
        names, log = ("", *self._names), self._streams.log_evidence
        weights, named = (1.0, *self._weights), set(self.alarms)
        order = [0, *(1 + np.argsort(-log[1:], kind="stable"))]
        return tuple(
            WatchedSegment(
                segment=names[i],
                evidence=_exp(log[i]),
                weight=float(weights[i]),
                n=round(self._sums[i, 0]),
                observed=float(self._sums[i, 1]),
                expected=float(self._sums[i, 2]),
                since=self._onset(i),
                direction=self._words(i),
                listed=names[i] in named,
            )
            for i in order
        )

    @property
    def _clearest(self) -> int:
        """The stream with the largest weighted evidence."""
        log = self._streams.log_evidence
        return int(np.argmax(np.concatenate([log[:1], log[1:] + np.log(self._weights)])))

    @property
    def since(self) -> Position | None:
        """The position at which the error of the clearest stream probably began; None without evidence."""
        return self._onset(self._clearest)

    @property
    def direction(self) -> str:
        """The error of the clearest stream in words; '' without evidence."""
        return self._words(self._clearest)

    def _onset(self, stream: int) -> Position | None:
        if self._streams.log_evidence[stream] <= 0:
            return None
        return self._looks[self._streams.leading(stream)[0]]

    def _words(self, stream: int) -> str:
        """What the alternative that fits best says of the rows since the onset."""
        since = self._onset(stream)
        if since is None:
            return ""
        if self._streams.refuted[stream]:
            wrong = int(self._streams.refuted[stream])
            return f"{wrong:,} label{' contradicts a score' if wrong == 1 else 's contradict scores'} of 0 or 1"
        shift, slope = self.alternatives[self._streams.leading(stream)[1]]
        if slope != 1:
            return "overconfident" if slope < 1 else "underconfident"
        name = ("", *self._names)[stream]
        looks = [one for one in self._history.get(name, ()) if one[0] >= since]
        observed, expected = (sum(one[k] for one in looks) for k in (2, 3)) if looks else self._sums[stream, 1:]
        ratio = observed / expected if expected else math.inf
        if (ratio > 1) is not (shift > 0):
            return f"events {'more' if shift > 0 else 'less'} frequent than predicted"
        return f"events {ratio:.2f} × as frequent as predicted"

    @property
    def shift(self) -> Shift | None:
        """The shift of all rows with a confidence sequence; None if a look came from bins, which do not give one."""
        self._settle()
        if self._shift is None:
            return None
        return Shift(*self._shift.limits, level=round(1 - self.alpha, 12))

    @property
    def history(self) -> dict[str, WatchHistory]:
        """The looks of all rows (''), and of a segment from the first at which its evidence reached 2."""
        self._settle()
        found = {}
        for name, looks in self._history.items():
            place, *columns = zip(*looks, strict=True) if looks else ((),) * 8
            n, observed, expected, log, *slopes = (np.array(values, dtype=np.float64) for values in columns)
            evidence = np.array([_exp(value) for value in log])
            found[name] = WatchHistory(tuple(place), n.astype(np.int64), observed, expected, evidence, *slopes)
        return found

    def reset(self, position: Any = None) -> None:
        """Begin again, after the model was refitted; later looks must come after `position`."""
        last = self.position if position is None else plain_position(position)
        self._begin()
        self.position = last

    def __repr__(self) -> str:
        return f"Watch({len(self._looks):,} looks, {round(self._sums[0, 0]):,} rows, {len(self._names):,} segments)"

    def __str__(self) -> str:
        i, line = self._clearest, (2 if self._segmented else 1) / self.alpha
        what = ("all rows", *map(repr, self._names))[i]
        value = _exp(self._streams.log_evidence[i])
        found = "without bound" if value == math.inf else f"{value:.2g}"
        weight = f" at weight {self._weights[i - 1]:.2g}" if i else ""
        evidence = f"evidence {found}{weight}, alarm at {line:.3g}"
        state = "Alarm" if self.alarm else "No alarm"
        since = f", since {self.since}: {self.direction}" if self.direction and self.alarm else ""
        return f"{state}: {what}{since} ({evidence})."

    # ---- state

    def to_json(self) -> str:
        """The state as text, with the number of its format and a checksum."""
        self._settle()
        return _state.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the result of :meth:`to_json`; other or damaged text is an error."""
        found: Self = _state.from_json(cls, text)
        return found

    def save(self, path: str | Path) -> None:
        """Write the state to a file; a failed write leaves the old file."""
        text = self.to_json().encode()
        replace_file(as_path(path), lambda file: file.write(text))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote."""
        return _state.read(as_path(path), cls.from_json)

    def to_prometheus(self) -> str:
        """Alarm, evidence, rows, observed and expected events in Prometheus' text format."""
        return prometheus(self.name, self.alarm, self.watched)


def _slope(look: Look) -> tuple[float, float, float]:
    """The slope of a look and ordinary limits of 95 %."""
    at = np.flatnonzero(look.inside)
    n, events = look.weight[at], look.events[at]
    if min(events.sum(), n.sum() - events.sum()) < _FEW:
        return (math.nan,) * 3
    x = np.log(look.score[at]) - np.log1p(-look.score[at])
    slope, intercept = recalibration_line(x, n, events)
    q = 1 / (1 + np.exp(-(intercept + slope * x)))
    v = n * q * (1 - q)
    centred = x - (v @ x) / v.sum()
    spread = float(v @ centred**2)
    half = 1.959963984540054 / math.sqrt(spread) if spread > 0 else math.nan
    return slope, slope - half, slope + half


def _checked_alternatives(given: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    try:
        found = tuple((float(shift), float(slope)) for shift, slope in given)
    except (TypeError, ValueError) as reason:
        raise InputError("alternatives", "must be pairs of a shift and a slope", str(reason)) from None
    for shift, slope in found:
        if not math.isfinite(shift) or not math.isfinite(slope) or slope <= 0 or (shift, slope) == (0, 1):
            demand = "must be finite shifts and positive slopes other than (0, 1)"
            raise InputError("alternatives", demand, f"got {(shift, slope)}")
    if not found:
        raise InputError("alternatives", "must hold at least one pair", "it is empty")
    return found


def _checked_names(given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(map(str, given)) if not isinstance(given, str) else ()
    if not names or len(set(names)) < len(names) or "" in names:
        raise InputError("segments", "must be a list of different names", f"got {given!r}")
    return names


def _exp(value: float) -> float:
    """E; as large as a float can be, unless it is infinite."""
    return math.inf if value == math.inf else math.exp(value) if value < 700 else _MOST
