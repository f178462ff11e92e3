"""Risks by a horizon, from times that may be censored."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._input.arguments import checked_number, checked_whole
from trueness._input.columns import LEAVE_OUT, column, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.numbers import numbers, probabilities, refuse
from trueness._input.scores import numeric
from trueness._numerics.kaplan_meier import uncensored_before
from trueness._tally.clusters import codes_of
from trueness._tally.events import Events
from trueness.errors import InputError, TruenessWarning, warn
from trueness.typing import ArrayLike, Bools, Floats, Ints

STRATA = (4, 3, 2)
"""Parts of the predicted risks, each with its own censoring, the first that rows suffice for. Where
censoring depended on the risk, 300 rows of which two thirds were lost, one estimate for all had the
size .19 at .05 and slopes that covered .80; two to four strata .01 to .04 and .93 to .99, and no
more than one estimate elsewhere (300 simulated data sets each)."""
_ROWS = 50
"""A stratum has at least as many rows: 75 were enough in these simulations."""
_HEAVY = 20.0
"""A larger weight is worth a warning."""


class Followup(NamedTuple):
    """Checked times, what ended them, and the rows that were censored before the horizon."""

    time: Floats
    cause: Ints
    horizon: float

    @property
    def ended(self) -> Bools:
        """Whether an event of any kind occurred by the horizon."""
        return np.asarray((self.cause > 0) & (self.time <= self.horizon))

    @property
    def lost(self) -> Bools:
        """Whether the row was censored before the horizon."""
        return np.asarray((self.cause == 0) & (self.time < self.horizon))

    def weights(self, strata: Ints) -> Floats:
        """One over the probability of being uncensored; 0 for rows that were lost."""
        weight_of_row = np.zeros(self.time.size)
        for stratum in range(int(strata.max()) + 1):
            rows = np.flatnonzero(strata == stratum)
            until = np.minimum(self.time[rows], self.horizon)
            stays = uncensored_before(self.time[rows], self.cause[rows] == 0, until)
            kept = ~self.lost[rows]
            weight_of_row[rows[kept]] = 1 / stays[kept]
        return weight_of_row

    def is_followed(self, strata: Ints) -> Bools:
        """Whether each stratum has a row that was followed up to the horizon, or lost none."""
        size = int(strata.max()) + 1
        reached = np.bincount(strata, self.time >= self.horizon, size) > 0
        return np.asarray(reached | (np.bincount(strata, self.lost, size) == 0))


def at_horizon(
    followup: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    *,
    horizon: float,
    strata: ArrayLike | None = "auto",
    cause: int = 1,
    cluster: ArrayLike | None = None,
) -> Events:
    r"""Predicted risks by a horizon: the statement is that the event occurs by then.

    Rows that were censored before the horizon have weight 0, and the others stand for them.

    Parameters
    ----------
    followup : array-like of shape (n,)
        The time up to which each row was followed, until its event or its censoring.
    event : array-like of shape (n,)
        How that time ended: 0 censored, 1 the predicted event, other whole numbers other causes,
        after which the predicted event cannot occur.
    risk : array-like of shape (n,)
        The predicted probability that the event occurs by the horizon.
    horizon : float
        The time of the prediction, in the unit of `followup`.
    strata : 'auto', None or array-like of shape (n,), default 'auto'
        Parts of the rows within which censoring does not depend on the risk. 'auto': four, three or
        two parts of equal size by the risk, if each has at least 50 rows and somebody in it was
        followed up to the horizon, else all rows together; a note says which. None: all rows
        together.
    cause : int, default 1
        The code of the predicted event.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.

    Returns
    -------
    Events
        In place of labels and scores; `left_out` and `largest_weight` say what censoring cost.

    Warns
    -----
    TruenessWarning
        If a weight is above 20: so few rows reach the horizon that results hang on some of them.

    Notes
    -----
    With :math:`\hat G(t-)`, the Kaplan-Meier estimate of being uncensored just before :math:`t`,
    the weights are

    .. math:: w = \begin{cases} 1 / \hat G(t-) & \text{an event of any kind at } t \le h \\
        1 / \hat G(h-) & \text{no event, followed until } h \\ 0 & \text{censored before } h
        \end{cases}

    and express importance. They sum to the number of rows, and without strata the weighted event
    rate is one minus the Kaplan-Meier estimate at the horizon. A row censored exactly at the
    horizon has survived it. Of several causes the rate is the Aalen-Johansen estimate.

    Censoring may depend on the strata and on nothing else that predicts the event. Left truncation
    (rows that enter late) is not taken into account.

    References
    ----------
    E. Graf, C. Schmoor, W. Sauerbrei, M. Schumacher, Assessment and comparison of prognostic
    classification schemes for survival data, Statistics in Medicine 18 (1999).

    Examples
    --------
    The third row is lost before the horizon; those at risk after it stand for it.

    >>> import trueness as tn
    >>> risk = [0.2, 0.1, 0.3, 0.6, 0.2]
    >>> events = tn.events.at_horizon([1, 5, 2, 4, 5], [1, 0, 0, 1, 0], risk, horizon=5)
    >>> events.event.tolist(), events.weight.round(3).tolist()
    ([1, 0, 0, 1, 0], [1.0, 1.333, 0.0, 1.333, 1.333])
    """
    times = _times(followup)
    n = times.size
    causes = _causes(event, n, cause)
    predicted = probabilities(risk, "risk", n)
    until = checked_number(horizon, "horizon", "a finite number above 0", low=0)
    if until > times.max():
        got = f"got {until:g}, and the longest is {times.max():g}"
        remedy = "Choose an earlier horizon, or check the units."
        raise InputError("horizon", "must be at most the longest follow-up", got, remedy=remedy)
    rows = Followup(times, causes, until)
    if rows.lost.all():
        raise InputError(
            "event", "must have rows that were not censored before the horizon", f"all {n:,} were"
        )
    codes, note = _strata(strata, rows, predicted)
    weight = rows.weights(codes)
    lost = int(rows.lost.sum())
    _warn_heavy(float(weight.max()), until)
    return Events(
        kind="horizon",
        event=(rows.ended & (causes == cause)).astype(np.uint8),
        p=predicted,
        weight=weight if lost else None,
        cluster=codes_of(cluster, n),
        words=f"risk within {until:g}",
        n_input=n,
        left_out={"censored before the horizon": lost} if lost else {},
        weight_type="importance",
        notes=(_lost_in_words(lost, n, until, float(weight.max()), note),),
        horizon=until,
    )


def at_horizons(
    followup: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    *,
    horizons: Sequence[float],
    strata: ArrayLike | None = "auto",
    cause: int = 1,
    cluster: ArrayLike | None = None,
) -> dict[float, Events]:
    """Predicted risks by several horizons, each a problem of its own.

    Parameters
    ----------
    followup, event, strata, cause, cluster
        As for :func:`at_horizon`.
    risk : array-like of shape (n, H)
        The predicted probability that the event occurs by each horizon.
    horizons : sequence of float
        The times of the columns of `risk`.

    Returns
    -------
    dict
        The events of each horizon.

    Examples
    --------
    >>> import trueness as tn
    >>> found = tn.events.at_horizons([1, 2, 3], [1, 0, 0], [[0.3, 0.5]] * 3, horizons=[1, 3])
    >>> {horizon: events.p.tolist() for horizon, events in found.items()}
    {1.0: [0.3, 0.3, 0.3], 3.0: [0.5, 0.5, 0.5]}
    """
    times = numbers(horizons, "horizons")
    if (np.diff(times) <= 0).any():
        raise InputError("horizons", "must ascend", f"got {times.tolist()}")
    risks: Any = numeric(column(risk, "risk"), "risk").values
    if risks.ndim != 2 or risks.shape[1] != times.size:
        demand = f"must have a column per horizon ({times.size})"
        raise InputError("risk", demand, f"got shape {risks.shape}")
    return {
        float(time): at_horizon(
            followup,
            event,
            risks[:, place],
            horizon=time,
            strata=strata,
            cause=cause,
            cluster=cluster,
        )
        for place, time in enumerate(times)
    }


def _times(followup: ArrayLike) -> Floats:
    """The times of follow-up: finite numbers that are not negative; a pair per row is an error."""
    values = column(followup, "followup").values
    if values.ndim == 2 and values.shape[1] == 2:
        got = "got two columns, as if rows entered late (left truncation)"
        remedy = "Late entry is not taken into account here."
        raise InputError("followup", "must have one time per row", got, remedy=remedy)
    times = numbers(followup, "followup")
    refuse("followup", "must lie at or above 0", times < 0, times)
    refuse("followup", "must be finite", np.isinf(times), times)
    return times


def _causes(event: ArrayLike, n: int, cause: int) -> Ints:
    """The codes of what ended the follow-up: 0 for censored rows, and `cause` for the event.

    It is an error if no row has the event.
    """
    codes = numbers(event, "event", n)
    odd = (codes < 0) | (codes != np.floor(codes)) | np.isinf(codes)
    refuse("event", "must be whole numbers, with 0 for censored rows", odd, codes)
    wanted = checked_whole(cause, "cause")
    if not (codes == wanted).any():
        got = f"the codes are {[int(code) for code in np.unique(codes)[:9]]}"
        remedy = "" if codes.any() else "All rows are censored."
        demand = f"must have rows with the predicted event, {wanted}"
        raise InputError("event", demand, got, remedy=remedy)
    return codes.astype(np.int64)


def _strata(strata: object, rows: Followup, risk: Floats) -> tuple[Ints, str]:
    """The stratum of each row, and what was done in words."""
    n = risk.size
    together = np.zeros(n, dtype=np.int64)
    if strata is None:
        _refuse_short(rows, together, "")
        return together, "one estimate of censoring for all rows"
    if isinstance(strata, str):
        if strata != "auto":
            demand = "must be 'auto', None or a column with the stratum of each row"
            raise InputError("strata", demand, f"got {strata!r}")
        return _strata_of_risk(rows, risk)
    read = column(strata, "strata")
    if read.values.shape != (n,):
        demand = f"must have one entry per row ({n:,})"
        raise InputError("strata", demand, f"got shape {read.values.shape}")
    missing = labels_missing(read)
    if missing is not None and missing.any():
        refuse_missing("strata", missing, LEAVE_OUT)
    names, codes = np.unique(read.values, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    followed = rows.is_followed(codes)
    short = "" if followed.all() else f"stratum {names[int(np.argmin(followed))]!s}"
    _refuse_short(rows, codes, short)
    return codes, f"censoring estimated in each of {len(names):,} strata"


def _strata_of_risk(rows: Followup, risk: Floats) -> tuple[Ints, str]:
    """Strata of the risk where each has rows enough, else all rows."""
    for number in STRATA:
        cuts = np.quantile(risk, np.arange(1, number) / number)
        codes = np.searchsorted(cuts, risk, side="left")
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sizes = np.bincount(codes)
        if sizes.size > 1 and sizes.min() >= _ROWS and rows.is_followed(codes).all():
            return (
                codes,
                f"censoring estimated in each of {sizes.size} strata of the predicted risk",
            )
    together = np.zeros(risk.size, dtype=np.int64)
    _refuse_short(rows, together, "")
    return together, "one estimate of censoring for all rows: too few for strata of the risk"


def _refuse_short(rows: Followup, codes: Ints, name: str) -> None:
    """Raise if nobody in a stratum was followed up to the horizon."""
    if rows.is_followed(codes).all():
        return
    where = f" in {name}" if name else ""
    remedy = "Choose an earlier horizon, or larger strata."
    demand = f"must have rows followed up to the horizon{where}"
    raise InputError("followup", demand, "all others are censored", remedy=remedy)


def _lost_in_words(lost: int, n: int, horizon: float, heaviest: float, strata: str) -> str:
    if not lost:
        return f"No row was censored before {horizon:g}."
    return (
        f"{lost:,} of {n:,} rows were censored before {horizon:g} and are represented by weights "
        f"of up to {heaviest:.3g} ({strata})."
    )


def _warn_heavy(heaviest: float, horizon: float) -> None:
    if heaviest > _HEAVY:
        warn(
            f"The largest weight is {heaviest:.3g}: few rows are followed up to {horizon:g}, and "
            "results hang on some of them. An earlier horizon is safer.",
            TruenessWarning,
        )
