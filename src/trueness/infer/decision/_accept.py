"""`accept_threshold`: the lowest confidence at which answers may be accepted, with a guarantee."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import bdtr

from trueness._input.arguments import checked_fraction, checked_number, checked_word
from trueness._input.columns import refuse_bad, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.sample import refuse_shuffled_index
from trueness._input.zero_one import finite_numbers, one_column, zero_one
from trueness._keywords import suggests_keywords
from trueness._level import Level
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.units import ClusterUnits, Units
from trueness._tally.clusters import distinct_clusters, read_units
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import are_sums, row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, Wording
from trueness.infer.limits._judged_rate import judged_rate_at
from trueness.results import AcceptThreshold
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, Missing, WeightType

_STARTS = 5
"""Sequences of tests, which share the error rate. A single one, from the most confident rows down,
fails early when a few confident answers are wrong."""
_CANDIDATES = 40
"""Quantiles of the confidence that are tried; they do not depend on labels."""
_EXPECTED_ERRORS = 20
"""In simulations a judge gained nothing with 15 expected human errors, and something with 40."""
_NAMES = Wording({"y_true": "`correct`", "y_prob": "`confidence`"})


class _Cut(NamedTuple):
    """A threshold among the distinct scores."""

    place: int
    accepted: float
    """Rows with at least this score."""
    observed: float
    """The share of right answers among them; for the recall, of events that are kept."""


@suggests_keywords
def accept_threshold(
    correct: ArrayLike | Tally | Sketch | Binned,
    confidence: ArrayLike | None = None,
    *,
    accuracy: float = 0.95,
    level: float = 0.95,
    criterion: Literal["accuracy", "precision", "recall"] = "accuracy",
    cluster: ArrayLike | None = None,
    judge: ArrayLike | None = None,
    unit: ArrayLike | None = None,
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
) -> AcceptThreshold:
    r"""The lowest confidence at which answers are right often enough, certified.

    Parameters
    ----------
    correct, confidence
        Whether each answer was right (0/1), and its confidence; or labels and scores of the event.
        Sums replace both: a tally is exact, of a sketch or bins the thresholds are the starts of
        cells. With a judge, `correct` is nan or None where no human looked.
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
        largest, and each all right or all wrong, which is cautious. For the recall, so do events.
    judge : array-like of shape (n,), optional
        Labels of a judge for every row, 1 if it finds the answer right. Human labels are a random
        sample of the rows; the judge need not be good. It is used if at least 20 human errors can
        be expected at the accuracy demanded, or else humans alone are asked, and `note` says so.
    unit : array-like of shape (n,), optional
        The answer that each row, such as a claim, belongs to. An answer is accepted if all of its
        rows reach the threshold, and right if all of them are; shares are those of answers.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1. With `judge` or `unit`
        the only one of the options from `kind` on.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
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
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    AcceptThreshold
        `certified` is False, `threshold` nan and `coverage` 0 if no threshold can be certified;
        then `rows_needed` says how many rows, or human labels, such data would need, if any number
        would do.

    Notes
    -----
    Five sequences of tests, each at a fifth of 1 − level, go down the distinct scores until the
    first that fails. For independent rows and thresholds fixed beforehand, the chance of too many
    errors is at most 1 − level; that the candidates are scores of the same rows can raise it by a
    factor of at most 1/accuracy, and did not in simulations. ``docs/methods/decisions.md`` has the
    steps.

    With a judge, the error rate at each of at most 40 quantiles of the confidence is the
    prediction-powered one, and its p-value that of as many human labels as have its variance; both
    trust the judge the less the fewer human errors there are.

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
    goal = checked_number(
        accuracy, "accuracy", "above 0 and at most 1", low=0, high=math.nextafter(1, 2)
    )
    level = checked_fraction(level, "level")
    word = checked_word(criterion, "criterion", ("accuracy", "precision", "recall"))
    if judge is not None or unit is not None:
        answers = _read_answers(correct, confidence, judge, unit, cluster, dict(rows))
        if judge is not None:
            return _with_judge(answers, goal, level, word)
        evidence = read_rows(answers.right, answers.confidence, {}, cluster=answers.units.cluster)
        evidence.said.one_class = True
        return replace(threshold_of(evidence, goal, level, word), noun=answers.noun)
    try:
        evidence = read_rows(correct, confidence, rows, kind="confidence", cluster=cluster)
        evidence.require_one("a threshold", counted=True)
        evidence.said.one_class = True  # all right, or all wrong, is an answer here
        return threshold_of(evidence, goal, level, word)
    except InputError as error:
        name = _NAMES.arguments.get(error.argument, error.argument).strip("`")
        raise error.but(
            argument=name, demand=_NAMES.spell(error.demand), got=_NAMES.spell(error.got)
        ) from None


def threshold_of(evidence: Evidence, goal: float, level: float, criterion: str) -> AcceptThreshold:
    """The record of the certified threshold, for one score per row and weights that count rows.

    `goal` is the share of right answers, or of events kept ('recall'), that is promised. If no
    threshold is certified, it is nan and nothing is accepted.
    """
    (part,) = evidence.cells_at_means
    present = part.weight > 0
    score, n, events = (
        np.asarray(sums[present], dtype=np.float64)
        for sums in (part.score, part.weight, part.events)
    )
    largest = _largest_clusters(evidence)
    if criterion == "recall":
        cut, needed = _recall(n, events, goal, level, largest.events)
    else:
        cut, needed = _right(n, events, goal, level, largest.rows)
    total = float(n.sum())
    accepted = 0.0 if cut is None else cut.accepted
    low, high = clopper_pearson(accepted / largest.rows, total / largest.rows, level)
    return AcceptThreshold(
        threshold=math.nan if cut is None else float(score[cut.place]),
        coverage=accepted / total,
        coverage_low=float(low),
        coverage_high=float(high),
        certified=cut is not None,
        observed=math.nan if cut is None else cut.observed,
        accepted=round(accepted),
        n=round(total),
        accuracy=goal,
        level=level,
        criterion=criterion,
        rows_needed=needed,
    )


class _Largest(NamedTuple):
    """What the largest cluster holds; 1 if rows are independent."""

    rows: int
    events: int
    """Events of the cluster that has most of them; at least 1."""


def _largest_clusters(evidence: Evidence) -> _Largest:
    """The largest cluster by rows, and by events; a weight of 2 is two rows.

    Sums of clusters in buckets know the rows of the largest, which bound its events.
    """
    if not evidence.dependent:
        return _Largest(1, 1)
    if not evidence.has_rows:
        buckets = evidence.sums.buckets
        assert buckets is not None
        return _Largest(buckets.largest, buckets.largest)
    sample = evidence.sample
    weight = np.ones(sample.n) if sample.w is None else sample.w
    rows = evidence.units.sums(weight).max()
    events = evidence.units.sums(weight * sample.y).max()
    return _Largest(int(rows), max(1, int(events)))


def _right(
    n: Floats, events: Floats, goal: float, level: float, cluster_size: int
) -> tuple[_Cut | None, int | None]:
    """The lowest threshold above which enough answers are right; if there is none, the rows needed.

    `n` and `events` are the rows and the right answers at each score, ascending; `goal` is the
    share of right answers to be shown at `level`. Each threshold, from the highest score down, has
    a binomial test that at most 1 − goal of the answers above it are wrong. All rows count as if
    they were in clusters of `cluster_size` whose answers are all right or all wrong. The result is
    a threshold and None, or None and the rows needed. A goal of 1, which no number of rows can
    show, has neither.
    """
    accepted = np.cumsum(n[::-1])
    errors = np.cumsum((n - events)[::-1])
    units = np.floor(accepted / cluster_size)
    wrong = np.ceil(errors / cluster_size)
    alpha = Level(level).alpha / _STARTS
    if goal == 1:
        return None, None
    fewest = _fewest_rows(alpha, goal)
    pvalue = bdtr(np.minimum(wrong, units), units.astype(np.int64), 1 - goal)
    last = _lowest(pvalue <= alpha, units, fewest)
    if last is None:
        needed = _rows_needed(units, wrong, goal, alpha, fewest)
        return None, needed and max(needed * cluster_size, round(1.1 * accepted[-1]) + 1)
    rate = float(1 - errors[last] / accepted[last])
    return _Cut(n.size - 1 - last, float(accepted[last]), rate), None


def _fewest_rows(alpha: float, goal: float) -> int:
    """Rows that show at error rate `alpha` that `goal` are right, if none of them is wrong."""
    return math.ceil(math.log(alpha) / math.log(goal))


def _lowest(passes: Bools, accepted: Floats, fewest: int) -> int | None:
    """The place of the lowest candidate threshold that passes; None if there is none.

    `passes` says whether the test of each candidate rejects, and `accepted` how many rows it
    accepts, from the highest threshold down. Five sequences of tests begin where `fewest` rows or
    more are accepted, at five sizes up to all rows. Each goes on until its first failure. The
    lowest candidate before a failure counts. As each sequence stops at its first failure, its error
    rate is that of one test; it must be a fifth of the whole.
    """
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
    """Rows that would certify the most promising threshold, if its error rate is as observed.

    `accepted` and `errors` are the rows above each candidate and the wrong ones among them, from
    the highest threshold down. `alpha` is the error rate of a test, and `fewest` are the rows
    needed without an error. Up to 200 candidates are tried. If some answer is wrong, error rates
    are (wrong + ½)/(n + 1). The result is the number of all rows, accepted or not. None if no
    candidate has an error rate below 1 − goal.
    """
    needed: list[float] = []
    tried = np.unique(np.linspace(0, accepted.size - 1, 200).astype(np.int64))
    for n, wrong in zip(accepted[tried].tolist(), errors[tried].tolist(), strict=True):
        rate = (wrong + 0.5) / (n + 1) if errors[-1] else 0.0
        if n and rate < 1 - goal:
            size = float(fewest)
            while bdtr(rate * size, math.ceil(size), 1 - goal) > alpha:
                size *= 1.05
            needed.append(size * accepted[-1] / n)
    if needed:
        return math.ceil(min(needed))
    return None


def _recall(
    n: Floats, events: Floats, goal: float, level: float, cluster_size: int
) -> tuple[_Cut | None, int | None]:
    """The highest threshold that keeps a share `goal` of the events; without one, the rows needed.

    `n` and `events` are the rows and events at each score, ascending. Candidates go up from the
    lowest score, each with a binomial test at `level` that at most 1 − goal of the events are
    below, until the first failure. Events count as if they were in clusters of `cluster_size`, all
    of which are kept or missed together. The result is a threshold and None, or None and the rows
    needed. A goal of 1 has neither; rows without an event are refused.
    """
    positives = float(events.sum())
    total = float(n.sum())
    if positives == 0:
        raise InputError("y_true", "must have an event for the recall", "there is none")
    missed = np.cumsum(events) - events
    below = np.cumsum(n) - n
    if goal == 1:
        return None, None
    units = math.floor(positives / cluster_size)
    units_missed = np.minimum(np.ceil(missed / cluster_size), units)
    passes = bdtr(units_missed, units, 1 - goal) <= Level(level).alpha
    last = int(np.append(np.flatnonzero(~passes), passes.size)[0]) - 1
    if last < 0:
        fewest = cluster_size * math.log(1 - level) / math.log(goal)
        return None, math.ceil(fewest * total / positives)
    return _Cut(last, total - float(below[last]), 1 - float(missed[last]) / positives), None


@dataclass(frozen=True)
class _Answers:
    """Rows, or answers made of rows."""

    right: Floats
    """1 for a right answer, 0 for a wrong one, nan where no human looked."""
    confidence: Floats
    judge: Floats
    """1 where the judge takes the answer for right."""
    units: Units
    noun: str
    """What one of them is called."""

    @property
    def has_label(self) -> Bools:
        """Which answers a human looked at."""
        return ~np.isnan(self.right)

    @property
    def largest_cluster(self) -> int:
        """Answers with a human label in the largest cluster; 1 if they are independent."""
        return self.units.at(self.has_label).largest


def _read_answers(
    correct: ArrayLike,
    confidence: ArrayLike | None,
    judge: ArrayLike | None,
    unit: ArrayLike | None,
    cluster: ArrayLike | None,
    rows: dict[str, Any],
) -> _Answers:
    """The rows, checked, and taken together if several of them are one answer.

    `unit` names the answer of each row, `cluster` its cluster. `rows` are the other options of
    rows, which must be left out but for `pos_label`. Sums are refused.
    """
    argument = "unit" if judge is None else "judge"
    if are_sums(correct):
        raise InputError(argument, "needs the rows", f"got a {type(correct).__name__}")
    pos_label = rows.pop("pos_label", None)
    for name, value in rows.items():
        if value is not None:
            raise InputError(name, f"must be left out with `{argument}`")
    refuse_shuffled_index(correct, {"confidence": confidence, "judge": judge})
    right = zero_one(correct, "correct", gaps=judge is not None, pos_label=pos_label)
    n = right.size
    if confidence is None:
        raise InputError("confidence", "is missing", "pass one number per row")
    score = finite_numbers(confidence, "confidence", n)
    outside = (score < 0) | (score > 1)
    if outside.any():
        refuse_bad("confidence", "must lie in [0, 1]", outside, "values do not, the first")
    if np.isnan(right).all():
        raise InputError("correct", "must have a label in at least one row", "got none")
    verdict = np.ones(n)
    if judge is not None:
        remedy = "Scores need a cut first, such as `score >= 0.5`."
        verdict = zero_one(judge, "judge", n, pos_label=pos_label, remedy=remedy)
    rows_read = _Answers(right, score, verdict, read_units(correct, cluster, n), "row")
    if unit is None:
        return rows_read
    return _together(rows_read, _units(unit, n))


def _units(unit: ArrayLike, n: int) -> Ints:
    """The number of the answer that each of `n` rows belongs to; missing names are refused."""
    names = one_column(unit, "unit", n)
    gone = labels_missing(names)
    if gone is not None and gone.any():
        refuse_missing("unit", gone)
    return distinct_clusters(names, np.arange(n))[1]


def _together(rows: _Answers, unit: Ints) -> _Answers:
    """Answers made of several rows; `unit` is the number of the answer of each row.

    An answer is right if all of its rows are, and so for the judge. It is as confident as its least
    confident row, and has no human label if one of its rows has none. Refused are an answer with
    rows in two clusters, and labels that are complete for no answer.
    """
    answers = int(unit.max()) + 1
    right, confidence, judge = np.full((3, answers), np.inf)
    np.fmin.at(right, unit, rows.right)
    np.fmin.at(confidence, unit, rows.confidence)
    np.fmin.at(judge, unit, rows.judge)
    # An answer is labelled if all of its rows are: which rows humans skipped must not decide.
    incomplete = np.bincount(unit, np.isnan(rows.right), answers) > 0
    right[incomplete] = np.nan
    if np.isnan(right).all():
        raise InputError("correct", "must have labels of all rows of at least one unit", "got none")
    if not rows.units.clustered:
        return _Answers(right, confidence, judge, Units(answers), "answer")
    codes = np.zeros(answers, np.int64)
    codes[unit] = rows.units.code
    torn = codes[unit] != rows.units.code
    if torn.any():
        refuse_bad(
            "cluster", "must be the same in all rows of a unit", torn, "rows differ, the first"
        )
    return _Answers(right, confidence, judge, ClusterUnits(codes).renumbered(), "answer")


def _with_judge(rows: _Answers, goal: float, level: float, criterion: str) -> AcceptThreshold:
    """The threshold by human labels and a judge or, with few human errors, by human labels alone.

    `goal` is the share of right answers to be shown at `level`. If this share is right, n human
    labels hold n(1 − goal) wrong answers. The judge is used if these are at least 20; below, the
    rows with a human label are tested alone. The criterion 'recall' is refused.
    """
    if criterion == "recall":
        raise InputError(
            "criterion", "must be 'accuracy' or 'precision' with `judge`", "got 'recall'"
        )
    # Rounded: 200 * (1 - 0.9) is a little below 20.
    expected = round(int(rows.has_label.sum()) * (1 - goal), 9)
    if expected >= _EXPECTED_ERRORS:
        return _judged(rows, goal, level, criterion)
    right = rows.right[rows.has_label]
    score, code = np.unique(rows.confidence[rows.has_label], return_inverse=True)
    n = np.bincount(code).astype(np.float64)
    n_right = np.bincount(code, right).astype(np.float64)
    cut, needed = _right(n, n_right, goal, level, rows.largest_cluster)
    note = (
        f"Humans alone: {expected:.3g} human errors can be expected at this accuracy, and a judge "
        f"helps from about {_EXPECTED_ERRORS} on."
    )
    record = partial(_of_all_rows, rows, goal=goal, level=level, criterion=criterion, note=note)
    if cut is None:
        return record(needed=needed)
    return record(threshold=float(score[cut.place]), observed=cut.observed)


def _judged(rows: _Answers, goal: float, level: float, criterion: str) -> AcceptThreshold:
    """The threshold by human labels and a judge: prediction-powered tests of each candidate.

    A prediction-powered estimate is the judge's error rate over all rows, corrected by the
    difference of human and judge where humans looked. At each of at most 40 thresholds it is tested
    that at most 1 − goal of the answers above are wrong. Candidates do not depend on labels.
    Without a threshold the record has the rows needed, if they are known. A goal of 1 has neither.
    """
    record = partial(_of_all_rows, rows, goal=goal, level=level, criterion=criterion)
    if goal == 1:
        return record()
    order = np.argsort(-rows.confidence, kind="stable")
    score = rows.confidence[order]
    ends = candidate_ends(score)
    labelled = rows.has_label[order]
    wrong = 1 - rows.right[order]
    doubted = 1 - rows.judge[order]
    cluster_size = rows.largest_cluster
    alpha = Level(level).alpha / _STARTS
    pvalue = np.ones(ends.size)
    error = np.full(ends.size, np.nan)
    for i, end in enumerate(ends.tolist()):
        inside = labelled[: end + 1]
        if inside.any():
            rate = judged_rate_at(
                y=wrong[: end + 1][inside],
                judge=doubted[: end + 1][inside],
                judge_mean=float(doubted[: end + 1].mean()),
                n_all=end + 1,
                rate=1 - goal,
            )
            error[i] = rate.value
            pvalue[i] = rate._replace(rows=rate.rows / cluster_size).below(1 - goal)
    labels = np.cumsum(labelled)[ends].astype(np.float64)
    fewest = _fewest_rows(alpha, goal)
    units = np.floor(labels / cluster_size)
    last = _lowest(pvalue <= alpha, units, fewest)
    if last is not None:
        return record(threshold=float(score[ends[last]]), observed=1 - float(error[last]))
    errors = np.cumsum(np.where(labelled, wrong, 0.0))[ends]
    needed = _rows_needed(units, np.ceil(errors / cluster_size), goal, alpha, fewest)
    return record(needed=needed and max(needed * cluster_size, round(1.1 * labels[-1]) + 1))


def candidate_ends(confidence: Floats) -> Ints:
    """The last row of each candidate threshold, where rows go from the highest confidence down.

    Candidates are the distinct values of `confidence`; if there are more than 40, those at 40
    quantiles of the rows.
    """
    ends = np.flatnonzero(np.append(confidence[1:] < confidence[:-1], True))
    if ends.size <= _CANDIDATES:
        return ends
    wanted = np.arange(1, _CANDIDATES + 1) / _CANDIDATES * confidence.size
    return np.unique(ends[np.searchsorted(ends + 1, np.floor(wanted))])


def _of_all_rows(
    rows: _Answers,
    *,
    goal: float,
    level: float,
    criterion: str,
    threshold: float = math.nan,
    observed: float = math.nan,
    needed: int | None = None,
    note: str = "",
) -> AcceptThreshold:
    """The record, with the share of all rows that are accepted, which needs no labels.

    Without a threshold nothing is accepted; then `needed` rows would be enough.
    """
    n = rows.confidence.size
    accepted = 0 if math.isnan(threshold) else int((rows.confidence >= threshold).sum())
    size = rows.units.largest
    low, high = (float(end) for end in clopper_pearson(accepted / size, n / size, level))
    return AcceptThreshold(
        threshold=threshold,
        coverage=accepted / n,
        coverage_low=low,
        coverage_high=high,
        certified=not math.isnan(threshold),
        observed=observed,
        accepted=accepted,
        n=n,
        accuracy=goal,
        level=level,
        criterion=criterion,
        rows_needed=needed,
        humans=int(rows.has_label.sum()),
        noun=rows.noun,
        note=note,
    )
