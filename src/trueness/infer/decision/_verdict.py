"""The verdict on one model: decided by the omnibus test of all rows, and by joint tests of segments and classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from trueness._input.arguments import Seed, check_seed, generator
from trueness._level import Level, check_drawn_level, checked_level
from trueness._numerics.clustered import design_effect, effective_number
from trueness._tally.accumulator import Accumulator
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import Edges, EqualWidth
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, quietly
from trueness.infer._estimate import estimates_of
from trueness.infer.group._prior_shift import shift_of_limits
from trueness.infer.group._segments import classes_of, describe_segments, segments_of, sums_by_group, worst_class
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.plan._power import detection_power
from trueness.infer.test._calibration_test import test_of
from trueness.infer.test._equivalence import TOO_GOOD
from trueness.infer.test._pair_tests import required_draws
from trueness.measure import ece
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Interval, PriorShift, Segments, Significance, Verdict
from trueness.results._segments import ClassRow
from trueness.results._verdict import Code, DetectionPower, Flags
from trueness.typing import ArrayLike, RowOptions

FEW_ROWS = 20
"""With fewer rows no bin may hold two, so there is no confidence set, and a test has next to no power."""
NEEDED = ("slope", "intercept", "observed_expected")
"""Measures whose limits a verdict needs."""
_SMALL, _SMALL_SHARE = 0.02, 0.1
"""An error is slight if its upper limit is at most this, and this share of the rarer label's."""


@partial(takes_rows, kind="confidence")
def verdict(
    y_true: ArrayLike | Tally | Sketch | Binned | Accumulator,
    y_prob: ArrayLike | None = None,
    *,
    by: Any = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    rounded_to: float | None = None,
    **rows: Unpack[RowOptions],
) -> Verdict:
    """Decide whether scores are calibrated, and say how certain that is.

    This is the verdict of :func:`trueness.report`, without the page.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or sums in place of both; the groups of an Accumulator are segments. For a matrix,
        the largest score of each row is judged and every class beside it; a matrix of two columns is the binary problem
        of its second column.
    by : array-like, mapping of columns or frame, optional
        Columns that divide the rows into segments, which are judged jointly.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    level : float, default 0.95
        One minus the probability of a false answer to each question: whether all rows are calibrated, whether all
        segments are (jointly), and whether all classes are. Labels that agree too well with the scores are called so
        in at most 0.1 % of calibrated data sets.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`trueness.calibration_test`: labels that contradict a
        score of exactly 0 or 1 are then possible.
    cluster, **rows
        As for :func:`trueness.estimate`.

    Returns
    -------
    Verdict
        `code`: 'miscalibrated', 'slightly-miscalibrated' (shown, but at most 0.02 and a tenth of the rarer label's
        share), 'no-evidence', 'too-few-rows' (a miscalibration that matters would be noticed with probability below
        0.8), 'too-good' (the labels agree with the scores better than chance allows) or 'undetermined'. `sentence` says
        it in words; the other fields are the grounds.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo()
    >>> found = tn.verdict(data.y_true, data.y_prob)
    >>> found.code, found.headline
    ('miscalibrated', 'Not calibrated: the predictions are overconfident (too extreme) and too high on average.')
    """
    level = checked_level(level)
    check_drawn_level(level, "a verdict")
    check_seed(seed)
    if isinstance(y_prob, Mapping):
        each = "{name: tn.verdict(y_true, one) for name, one in y_prob.items()}"
        remedy = f"Judge each, {each}, or pass the dict to `tn.report`."
        raise InputError("y_prob", "must be the scores of one model", f"got a dict of {len(y_prob)}", remedy=remedy)
    segments, sums = None, y_true
    if isinstance(sums, Accumulator):
        y_true = sums.total
        if sums.by is not None:
            groups = sums_by_group(sums, None, 1, alone=True)
            segments = quietly(describe_segments, groups, level, None, generator(seed))
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence", cluster=cluster).rounded(rounded_to)
    if evidence.view not in ("binary", "confidence"):
        if evidence.rows is not None:
            evidence.require_one("a verdict")
        remedy = "`tn.report` judges every class of such sums, and its `verdicts` has one for each."
        raise InputError("y_true", "must be one problem for a verdict", "these are class-wise sums", remedy=remedy)
    if by is not None:
        columns = evidence.columns(by, y_true, crossed)
        segments = quietly(segments_of, evidence, columns, level=level, rng=generator(seed))
    return verdict_of(evidence, segments, level=level, seed=seed)


def verdict_of(evidence: Evidence, segments: Segments | None, *, level: float, seed: Seed) -> Verdict:
    """The verdict on rows or sums that have been read, as :func:`verdict`."""
    alpha = Level(level).alpha
    test = attempted(significance_of, evidence, level, generator(seed))
    interval = attempted(interval_of, evidence, level=level, rng=generator(seed))
    # Sums of bins give the ECE in these bins.
    rule = Edges(evidence.given.parts[0].edges) if isinstance(evidence.given, Binned) else EqualWidth(10)
    asked = {**{name: name for name in NEEDED}, "ece": partial(ece, bins=rule)}
    found = quietly(estimates_of, asked, evidence, level=level, floor=True, rng=generator(seed))
    power = shift = classes = None
    if evidence.tally is not None:
        if test is None or test.pvalue > alpha:
            power = power_of(evidence, alpha, generator(seed))
        if evidence.view == "binary":
            shift = shift_of_limits(found["intercept"], found["slope"], inside_cells(evidence.cells), level)
    if evidence.view == "confidence" and evidence.rows is not None:
        classes = quietly(classes_of, evidence, level=level, alpha=alpha, seed=seed)
    grounds: Any = {"power": power, "prior_shift": shift, "segments": segments, "classes": classes}
    return judge(evidence, test, interval, found, level=level, top_label=evidence.view == "confidence", **grounds)


def judge(
    evidence: Evidence,
    test: Significance | None,
    interval: Interval | None,
    estimates: Mapping[str, Estimate],
    *,
    level: float,
    power: DetectionPower | None,
    prior_shift: PriorShift | None,
    segments: Segments | None,
    classes: Sequence[ClassRow] | None,
    top_label: bool,
    of_answers: bool = False,
) -> Verdict:
    """Decide from what is known."""
    alpha = Level(level).alpha
    # Fractional weights in clusters have no test, but a set that zero is tested for.
    rejected = test.pvalue <= alpha if test is not None else interval is not None and not interval.includes_zero
    score, rate, _ = evidence.means
    known: Any = {name: estimates.get(name) for name in ("ece", "slope", "observed_expected")}
    known |= {"rate": rate, "mean_score": score, "test": test, "interval": interval, "top_label": top_label}
    known |= {"prior_shift": prior_shift, "power": power, "clustered": evidence.dependent, "of_answers": of_answers}
    known |= {"segmented": segments is not None, "classes": 0 if classes is None else len(classes)}
    if evidence.tally is not None:
        (part, *_) = evidence.tally.parts
        inside = inside_cells(part)
        known |= {"n_certain": inside.certain, "n_certain_wrong": inside.wrong}
        known["scores"] = float(part.score[0]), float(part.score[-1])
        if rejected and not top_label:
            known |= quietly(estimates_of, ["auc"], evidence, level=level, floor=False, rng=generator(0))
    found = Verdict("undetermined", evidence.sums.n, level, alpha, rejected, **known)
    flags = tuple(filter(None, (_flagged_segments(segments), _flagged_classes(classes))))
    return replace(found, flags=flags, code=_code(replace(found, flags=flags)), all_rows=_code(found))


def _code(v: Verdict) -> Code:
    if v.rejected or v.flags:
        most = min(_SMALL, _SMALL_SHARE * min(v.rate, 1 - v.rate))
        slight = v.interval is not None and v.interval.high <= most and not v.flags
        return "slightly-miscalibrated" if slight else "miscalibrated"
    if v.test is None and v.interval is None:
        return "too-few-rows" if v.n < FEW_ROWS else "undetermined"
    if v.test is not None and v.test.too_good is not None and v.test.too_good <= min(TOO_GOOD, v.alpha / 10):
        return "too-good"
    return "no-evidence" if v.power is not None and v.power.enough else "too-few-rows"


def significance_of(evidence: Evidence, level: float, rng: np.random.Generator) -> Significance:
    """The omnibus test, with as many draws as the level needs."""
    draws = required_draws(Level(level).alpha)  # as for the confidence set, so that both have one p-value
    return test_of(evidence, resamples=draws, rng=rng)


def power_of(evidence: Evidence, alpha: float, rng: np.random.Generator) -> DetectionPower:
    """Power to detect a miscalibration that matters, for as many independent rows as these are worth."""
    cells = evidence.cells
    effective, clusters = float(cells.weight.sum()), None
    if not cells.whole:
        effective = effective if cells.squares is None else effective**2 / float(cells.squares.sum())
    if evidence.cluster is not None:
        rows = evidence.clustered
        clusters = effective_number(rows.cluster, rows.w if rows.counts else None)
        effective /= design_effect(rows.w * rows.u, rows.cluster, float(rows.squares @ rows.u**2))
    return detection_power(cells, alpha, effective, rng, clusters)


def attempted(function: Any, *arguments: Any, **options: Any) -> Any:
    """The result without warnings; None where these rows do not allow it."""
    try:
        return quietly(function, *arguments, **options)
    except InputError:
        return None


def _flagged_segments(segments: Segments | None) -> Flags | None:
    if segments is None or not segments.flagged.any():
        return None
    own = segments.flagged & segments.differs
    i = int(np.argmax(own if own.any() else segments.flagged))  # the costliest comes first
    name = f"{segments.column[i]} = {segments.value[i]}"
    ratio, number = float(segments.ratio[i]), int(segments.flagged.sum())
    tested = None if np.isnan(segments.overall_pvalue).all() else int(own.sum())
    finding, joint = segments.finding[i], segments.joint_pvalue
    return Flags("segment", number, len(segments.value), name, finding, ratio, joint, tested)


def _flagged_classes(classes: Sequence[ClassRow] | None) -> Flags | None:
    worst = worst_class(classes)
    if classes is None or worst is None:
        return None
    bad = [one for one in classes if one.flagged]
    ratio = worst.share / worst.score if worst.score > 0 else math.inf
    finding = f"{'under' if ratio > 1 else 'over'}-predicted"
    pvalue = min(one.adjusted_pvalue or 0.0 for one in bad)
    return Flags("class", len(bad), len(classes), worst.label, finding, ratio, pvalue)
