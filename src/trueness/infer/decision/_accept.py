"""`accept_threshold`: the lowest confidence from which on answers may be accepted, with a guarantee."""

import math
from functools import partial
from typing import Literal, TypeAlias, Unpack

import numpy as np
from scipy.special import bdtr

from trueness._input.arguments import checked_fraction, checked_number, checked_word
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, Wording
from trueness.results import AcceptThreshold
from trueness.typing import ArrayLike, Bools, Floats, RowOptions

_STARTS = 5
_Found: TypeAlias = tuple[int, float, float]
"""The place of a threshold among the scores, the rows that it accepts, and the share of right
answers, or of events."""
_NAMES = Wording({"y_true": "`correct`", "y_prob": "`confidence`"})


@partial(takes_rows, kind="confidence")
def accept_threshold(
    correct: ArrayLike | Tally | Sketch | Binned,
    confidence: ArrayLike | None = None,
    *,
    accuracy: float = 0.95,
    level: float = 0.95,
    criterion: Literal["accuracy", "precision", "recall"] = "accuracy",
    cluster: ArrayLike | None = None,
    **rows: Unpack[RowOptions],
) -> AcceptThreshold:
    r"""The lowest confidence from which on answers are right often enough, certified.

    Parameters
    ----------
    correct, confidence
        Whether each answer was right (0/1), and its confidence; or labels and scores of the event.
        Sums replace both: a tally is exact, of a sketch or bins the thresholds are the starts of
        cells.
    accuracy : float, default 0.95
        The share that must be right among the accepted; for `criterion` 'recall', the share of
        events to be kept.
    level : float, default 0.95
        Confidence that the threshold keeps its promise for new rows.
    criterion : {'accuracy', 'precision', 'recall'}, default 'accuracy'
        'precision' is the same question for a score and its event. 'recall' asks for the *highest*
        threshold that keeps at least that share of the events.
    cluster : array-like, optional
        Rows of one cluster are not independent: rows count as if all clusters were as large as the
        largest, and each all right or all wrong, which is cautious.
    **rows
        As for :func:`ece`.

    Returns
    -------
    AcceptThreshold
        `certified` is False, `threshold` nan and `coverage` 0 if no threshold can be certified;
        then `rows_needed` says how many rows such data would need, if any number would do.

    Notes
    -----
    Five sequences of tests, each at a fifth of 1 − level, go down the distinct scores until the
    first that fails. For independent rows and thresholds fixed beforehand, the chance of too many
    errors is at most 1 − level; that the candidates are scores of the same rows can raise it by a
    factor of at most 1/accuracy, and did not in simulations. ``docs/methods/decisions.md`` has the
    steps.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan, Lei, "Learn then test: calibrating predictive algorithms to
    achieve risk control", 2021. Geifman, El-Yaniv, "Selective classification for deep neural
    networks", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(0.5, 1, 2_000)
    >>> correct = rng.uniform(size=2_000) < confidence
    >>> print(tn.accept_threshold(correct, confidence, accuracy=0.9))
    Accept from 0.8601 on: 28.1 % of rows (26.2 to 30.2 %), accuracy at least 90 %, certified at 95 %.
    """
    goal = checked_number(
        accuracy, "accuracy", "above 0 and at most 1", low=0, high=math.nextafter(1, 2)
    )
    level = checked_fraction(level, "level")
    word = checked_word(criterion, "criterion", ("accuracy", "precision", "recall"))
    try:
        evidence = Evidence.of(correct, confidence, rows, kind="confidence", cluster=cluster)
        evidence.require_one("a threshold", counted=True)
        evidence.memory["one class"] = True  # all right, or all wrong, is an answer here
        return threshold_of(evidence, goal, level, word)
    except InputError as error:
        name = _NAMES.arguments.get(error.argument, error.argument).strip("`")
        raise error.but(
            argument=name, demand=_NAMES.spell(error.demand), got=_NAMES.spell(error.got)
        ) from None


def threshold_of(evidence: Evidence, goal: float, level: float, criterion: str) -> AcceptThreshold:
    """The certified threshold of evidence that holds one score per row, and weights that count rows."""
    (part,) = evidence.cells_at_means
    some = part.weight > 0
    score, n, events = (
        np.asarray(v[some], dtype=np.float64) for v in (part.score, part.weight, part.events)
    )
    size = 1 if evidence.cluster is None else int(np.bincount(evidence.cluster).max())
    found, needed = (
        _recall(n, events, goal, level)
        if criterion == "recall"
        else _right(n, events, goal, level, size)
    )
    threshold, accepted, observed = (
        (math.nan, 0.0, math.nan) if found is None else (float(score[found[0]]), *found[1:])
    )
    coverage, low, high = (
        float(x) for x in (accepted / n.sum(), *clopper_pearson(accepted, n.sum(), level))
    )
    asked = (round(accepted), round(n.sum()), goal, level, criterion, needed)
    return AcceptThreshold(threshold, coverage, low, high, found is not None, observed, *asked)


def _right(
    n: Floats, events: Floats, goal: float, level: float, size: int
) -> tuple[_Found | None, int | None]:
    """The lowest threshold from which on answers are right: candidates go down from the highest score.

    As if rows came in clusters of the largest size, each all right or all wrong: the fewest
    independent answers.
    """
    accepted = np.cumsum(n[::-1])
    errors = np.cumsum((n - events)[::-1])
    units = np.floor(accepted / size)
    wrong = np.ceil(errors / size)
    alpha = (1 - level) / _STARTS
    if goal == 1:
        return None, None
    fewest = math.ceil(
        math.log(alpha) / math.log(goal)
    )  # without an error that many rows are enough
    found = _lowest(
        bdtr(np.minimum(wrong, units), units.astype(np.int64), 1 - goal) <= alpha, units, fewest
    )
    if found is None:
        needed = _rows_needed(units, wrong, goal, alpha, fewest)
        return None, needed and max(needed * size, round(1.1 * accepted[-1]) + 1)
    return (
        n.size - 1 - found,
        float(accepted[found]),
        float(1 - errors[found] / accepted[found]),
    ), None


def _lowest(passes: Bools, accepted: Floats, fewest: int) -> int | None:
    """The last candidate of any sequence before its first failure."""
    if accepted[-1] < fewest:
        return None
    starts = np.searchsorted(accepted, np.geomspace(fewest, accepted[-1], _STARTS + 1)[:-1])
    failed = np.append(np.flatnonzero(~passes), passes.size)
    ends = failed[np.searchsorted(failed, starts)]
    if (ends > starts).any():
        return int(ends[ends > starts].max()) - 1
    return None


def _rows_needed(
    accepted: Floats, errors: Floats, goal: float, alpha: float, fewest: int
) -> int | None:
    """Rows with which the most promising share would be certified, if its observed error rate is the true one."""
    needed: list[float] = []
    some = np.unique(np.linspace(0, accepted.size - 1, 200).astype(np.int64))
    for m, k in zip(accepted[some].tolist(), errors[some].tolist(), strict=True):
        rate = (k + 0.5) / (m + 1) if errors[-1] else 0.0
        if m and rate < 1 - goal:
            size = float(fewest)
            while bdtr(rate * size, math.ceil(size), 1 - goal) > alpha:
                size *= 1.05
            needed.append(size * accepted[-1] / m)
    if needed:
        return math.ceil(min(needed))
    return None


def _recall(
    n: Floats, events: Floats, goal: float, level: float
) -> tuple[_Found | None, int | None]:
    """The highest threshold that keeps the events: candidates go up from the lowest score."""
    positives = float(events.sum())
    total = float(n.sum())
    if positives == 0:
        raise InputError("y_true", "must have an event for the recall", "there is none")
    missed = np.cumsum(events) - events
    below = np.cumsum(n) - n
    passes = bdtr(missed, round(positives), 1 - goal) <= 1 - level if goal < 1 else missed < 0
    last = int(np.append(np.flatnonzero(~passes), passes.size)[0]) - 1
    if last < 0:
        return None, math.ceil(
            math.log(1 - level) / math.log(goal) * total / positives
        ) if goal < 1 else None
    return (last, total - float(below[last]), 1 - float(missed[last]) / positives), None
