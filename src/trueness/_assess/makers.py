"""The one maker of each answer: a function of an assessment and of the options of a question."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np

from trueness._assess.advice import advice
from trueness._assess.asked import (
    CLASS_ROWS,
    CLASSES,
    ESTIMATE,
    INTERVAL,
    POWER,
    PRIOR_SHIFT,
    SEGMENTS,
    SLICES,
    TEST,
    VERDICT,
    Asked,
)
from trueness._assess.held_out import FOLDS, LEAST_ROWS, has_scores, is_splittable
from trueness._assess.judgement import NEEDED, is_rejected, joint_verdict, judge, power_of
from trueness._assess.notes import Notes
from trueness._assess.picture import first_picture
from trueness._assess.rows import ModelRows
from trueness._assess.statement import (
    coverage,
    decisive_test,
    in_own_words,
    level_histogram,
    refuse_asymmetric,
    with_statement,
)
from trueness._assess.where import Grounds, where
from trueness._input.arguments import check_flag, checked_word
from trueness._level import Level
from trueness._numerics.holm import holm
from trueness._numerics.pairs import Support
from trueness._tally.binned_scores import checked_k
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.multiclass import View
from trueness._tally.rules import BinsLike, EqualMass
from trueness.errors import InputError, quietly
from trueness.infer._estimate import answers, is_by_row, mean_over_labels, unknown_estimate
from trueness.infer._floors import floor_draws
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer._questions import MeasureLike, Question, measure_name, own_question, question_of
from trueness.infer.decision._gate import Bound, Names, gate_of
from trueness.infer.group._prior_shift import shift_of_limits
from trueness.infer.group._segments import classes_of, describe_segments, draws_for, segments_of
from trueness.infer.group._slices import SlicePlan, slices_of
from trueness.infer.interval._ece_interval import Method, interval_of
from trueness.infer.limits._limits import bootstrap_limits
from trueness.infer.null._noise_floor import Alternative, noise_floor_of
from trueness.infer.test._calibration_test import TestMethod, test_of
from trueness.infer.test._pair_tests import required_draws
from trueness.measure import bin_table
from trueness.measure._flexible_curve import METHODS, FlexibleMethod
from trueness.measure._slope import inside_cells
from trueness.results import (
    BinTable,
    Estimate,
    Gate,
    Interval,
    NoiseFloor,
    Panel,
    PriorShift,
    Segments,
    Significance,
    Slices,
    Verdict,
)
from trueness.results._first_screen import Answer
from trueness.results._remedies import Remedies
from trueness.results._segments import ClassRow
from trueness.results._verdict import DetectionPower
from trueness.typing import Floats

# Draws for a p-value whose decision fewer leave open, and the most labels that are drawn for it.
_SETTLING = (4_999, 19_999)
_MOST_LABELS = 2 * 10**8
_ABOUT_ROWS = ("", "y_true", "y_prob", "measure", "sample_weight", "kind", "cluster")
"""The arguments of errors that are due to the rows, not to the caller's options."""


class TestOptions(TypedDict, total=False):
    """The options of :func:`trueness.calibration_test`."""

    method: TestMethod
    bins: BinsLike | None
    k: int | None
    resamples: int | None
    fitted: bool


class IntervalOptions(TypedDict, total=False):
    """The options of :func:`trueness.ece_interval`."""

    k: int | None
    bins: BinsLike | None
    method: Method
    squared: bool
    smoothness: float | None
    resamples: int | None
    support: Support


# ---- all rows


def test(a: Asked, **options: Unpack[TestOptions]) -> Significance:
    """A test of calibration, at the level of the assessment; `options` are its method and others.

    Unless the number of draws is given, the omnibus test takes as many as the level needs. As long
    as the Monte-Carlo error of its p-value leaves the decision open, it is repeated with more, up
    to a limit; that is only done for independent rows of one score.
    """
    evidence = a.view("confidence", _two_columns_for(options.get("k")))
    is_default = options.get("resamples") is None
    is_omnibus = options.get("method", "omnibus") in ("omnibus", "quantiles")
    if is_default and is_omnibus and evidence.has_one_score:
        # As for the confidence set, so that both have one p-value.
        options["resamples"] = a.draws or required_draws(Level(a.level).alpha)
    is_plain = evidence.has_one_score and evidence.is_plain
    may_settle = is_default and is_plain and a.draws is None
    result = replace(test_of(evidence, seed=a.seed, **options), level=a.level)
    for draws in _SETTLING if may_settle and evidence.tally is not None else ():
        if not result.is_open or draws * evidence.cells.size > _MOST_LABELS:
            break
        if draws <= 1 / result.smallest_pvalue:
            continue
        options["resamples"] = draws
        result = replace(test_of(evidence, seed=a.seed, **options), level=a.level)
    return result


def _settled_draws(a: Asked, options: IntervalOptions) -> int | None:
    """The number of draws with which the confidence set decides about zero, or None for its own.

    It is the number that the test took, so that both have one p-value. If the assessment fixes a
    number, or the set has a method, bins or classes of its own, it is the fixed number, which may
    be None. It is None too for dependent rows, and where no test was made.
    """
    evidence = a.view("confidence")
    has_own_cells = any(options.get(name) is not None for name in ("k", "bins", "smoothness"))
    if a.draws is not None or has_own_cells or options.get("method", "score") != "score":
        return a.draws
    if not (evidence.has_one_score and evidence.is_plain):
        return None
    decided = quietly(a.possible, TEST)
    if decided is None or not decided.smallest_pvalue:
        return None
    return round(1 / decided.smallest_pvalue) - 1


def interval(a: Asked, **options: Unpack[IntervalOptions]) -> Interval:
    """A confidence set of the l2 error."""
    evidence = a.view("confidence", _two_columns_for(options.get("k")))
    draws = _settled_draws(a, options)
    return interval_of(evidence, level=a.level, seed=a.seed, draws=draws, **options)


def power(a: Asked) -> DetectionPower | None:
    """What these rows would have shown; None for several problems and for sums of bins."""
    evidence = a.view("confidence")
    if not evidence.has_one_score or evidence.tally is None:
        return None
    return power_of(evidence, Level(a.level).alpha, a.seed)


def prior_shift(a: Asked) -> PriorShift | None:
    """The factor by which the odds of all scores are off, with its limits.

    None for a top label, for several problems and for sums of bins.
    """
    evidence = a.view("confidence")
    if not evidence.is_binary or evidence.tally is None:
        return None
    intercept = a.estimate("intercept")
    slope = a.estimate("slope")
    shift = shift_of_limits(intercept, slope, inside_cells(evidence.cells), a.level)
    return replace(shift, note=evidence.note)


def verdict(a: Asked) -> Verdict:
    """Whether the scores are calibrated, decided from the other answers."""
    evidence = a.view("confidence")
    if not evidence.has_one_score:
        return _joint_verdict(a)
    found_test = quietly(lambda: a.possible(TEST, **decisive_test(evidence)))
    found_interval = quietly(a.possible, INTERVAL)
    rejected = is_rejected(found_test, found_interval, a.level)
    keys = [*NEEDED, "ece"]
    if rejected and evidence.is_binary and evidence.tally is not None:
        keys.append("auc")
    shown = found_test is not None and rejected
    estimates = {key: quietly(a.estimate, key, "confidence") for key in keys}
    judged = judge(
        evidence,
        found_test,
        found_interval,
        estimates,
        level=a.level,
        power=None if shown else quietly(a.possible, POWER),
        prior_shift=quietly(a.ask, PRIOR_SHIFT),
        segments=quietly(a.ask, SEGMENTS),
        classes=quietly(a.ask, CLASS_ROWS),
    )
    return with_statement(a, replace(judged, cluster_name=a.rows.labels.cluster))


def _joint_verdict(a: Asked) -> Verdict:
    """Whether all labels, or classes, are calibrated."""
    verdicts = {name: quietly(problem.ask, VERDICT) for name, problem in a.ask(CLASSES).items()}
    joint = quietly(a.possible, TEST)
    return joint_verdict(a.view("confidence"), verdicts, joint, level=a.level)


# ---- measures


def estimate(
    a: Asked,
    measure: MeasureLike,
    kind: View | None = None,
    floor: bool = True,
    method: str = "auto",
    strict: bool = False,
    **options: object,
) -> Estimate:
    """A measure with its limits or its noise floor.

    `measure` is a name or a function, `kind` the view of several classes, and `options` are those
    of the measure. `floor` asks for the value that calibrated scores would have; `method`
    "bootstrap" is for functions that are not the library's. If the rows do not allow the measure,
    the value is nan and a note says why; with `strict` that is an error, as it always is for wrong
    options.
    """
    question = asked_question(a, measure, options)
    if checked_word(method, "method", ("auto", "bootstrap")) == "bootstrap":
        question = _with_bootstrap(question, measure)
    evidence = a.view(kind or question.measure.view, _two_columns_of(question))
    draws = partial(_draws, a)
    try:
        refuse_asymmetric(evidence, question.measure.key)
        if evidence.has_labels or (evidence.has_images and not is_by_row(question)):
            return mean_over_labels(question, evidence, a.level, a.seed, floor=floor)
        estimates = answers({"": question}, evidence, a.level, a.seed, floor=floor, draws=draws)
    except InputError as error:
        about_options = error.argument in options or error.argument not in (*_ABOUT_ROWS, "bins")
        no_measure = error.argument == "measure" and not question.measure.key
        if strict or about_options or no_measure:
            raise
        return unknown_estimate(question, evidence, a.level, str(error))
    return estimates[""]


def _with_bootstrap(question: Question, measure: MeasureLike) -> Question:
    """The question with bootstrap limits; an error if the measure is one of the library."""
    if question.measure.key:
        got = f"got 'bootstrap' with {measure_name(measure) if callable(measure) else measure!r}"
        remedy = "A bootstrap does not cover a calibration error near zero."
        raise InputError(
            "method", "must be 'auto' for a measure of the library", got, remedy=remedy
        )
    limits = partial(bootstrap_limits, question.function)
    return question._replace(measure=question.measure._replace(limits=limits))


def asked_question(a: Asked, measure: MeasureLike, options: Mapping[str, object]) -> Question:
    """The measure with its options, in the bins of the assessment unless it has bins of its own.

    A measure that needs bins of equal mass gets as many of these as the assessment has bins, or 10.
    """
    question = question_of(measure, dict(options))
    kind = question.measure.bins
    if not kind or "bins" in question.options or a.rule is None:
        return question
    rule = a.rule
    if kind == "mass" and not isinstance(rule, EqualMass):
        rule = EqualMass(rule.n_requested or 10)
    return question._replace(options={**question.options, "bins": rule})


def _two_columns_of(question: Question) -> TwoColumns:
    """What a matrix of two columns is to a measure: for the accuracy, the top label."""
    if question.measure.key == "accuracy":
        return "top-label"
    return _two_columns_for(question.options.get("k"))


def _two_columns_for(k: int | None) -> TwoColumns:
    """What a matrix of two columns is where the `k` largest scores of each row are asked for."""
    if k is None:
        return "binary"
    if checked_k(k) == 1:
        return "top-label"
    return "keep"


def _draws(
    a: Asked,
    questions: Mapping[str, Question],
    evidence: Evidence,
    seed: int,
    *,
    resamples: int | None = None,
    workers: int = 1,
    report: Callable[[int, int], None] | None = None,
) -> dict[str, Floats]:
    """The values of each measure for redrawn labels: of calibrated scores, as a noise floor needs.

    They do not depend on the level, and are drawn once for limits and floors. The result has the
    keys of `questions`.
    """

    def of_one(question: Question) -> Floats:
        drawn = floor_draws(
            {"": question}, evidence, seed, resamples=resamples, workers=workers, report=report
        )
        return drawn[""]

    return {
        key: a.shared(_draws_of(question, evidence, resamples), partial(of_one, question))
        for key, question in questions.items()
    }


def _draws_of(
    question: Question, evidence: Evidence, resamples: int | None = None
) -> tuple[Any, ...]:
    """What identifies the draws of a measure."""
    return (
        "draws",
        question.measure.key or question.measure.function,
        question.options,
        evidence.view,
        resamples,
    )


def draw_together(a: Asked, measures: Iterable[MeasureLike], kind: View | None = None) -> None:
    """Draw labels once for the noise floors of several measures, and remember the values.

    Each floor is what it would be alone. Measures whose floor is not drawn, or is known, are
    skipped.
    """
    evidence = a.view(kind or "classwise")
    missing: dict[str, Question] = {}
    for measure in measures:
        question = asked_question(a, measure, {})
        is_drawn = question.measure.floor in ("pooled", "drawn")
        if is_drawn and not a.is_known(_draws_of(question, evidence)):
            missing[question.measure.key] = question
    for key, draws in floor_draws(missing, evidence, a.seed).items():
        a.shared(_draws_of(missing[key], evidence), partial(_same, draws))


def _same(draws: Floats) -> Floats:
    return draws


def floor(
    a: Asked,
    measure: MeasureLike,
    kind: View | None = None,
    *,
    observed: float | None = None,
    labelled: bool = True,
    resamples: int | None = None,
    alternative: Alternative = "greater",
    workers: int = 1,
    report: Callable[[int, int], None] | None = None,
    **options: object,
) -> NoiseFloor:
    """The values of a measure that a calibrated model would show.

    Labels are drawn from the scores for them.

    `observed` is a value to compare with them, and `alternative` says which values are as extreme.
    `labelled` says whether the rows have labels. `report` receives the progress; `workers` is the
    number of threads.
    """
    by_position = isinstance(measure, partial) and measure.args
    question = own_question(measure) if by_position else asked_question(a, measure, options)
    evidence = a.view(kind or question.measure.view, _two_columns_of(question))
    draws = partial(_draws, a, resamples=resamples, workers=workers, report=report)
    # The bins of the assessment are no option of the measure.
    name = question.display_name if by_position else question_of(measure, options).display_name
    return noise_floor_of(
        evidence,
        question,
        name=name,
        level=a.level,
        seed=a.seed,
        draws=draws,
        observed=observed,
        labelled=labelled,
        alternative=alternative,
    )


def bins(a: Asked) -> BinTable:
    """The bins of the assessment."""
    return bin_table(a.view("confidence").sums, bins=a.rule, level=a.level)


def place(a: Asked) -> Answer | None:
    """Where the scores are off: the strongest of ranges, segments, slices and classes.

    None for several problems.
    """
    evidence = a.view("confidence")
    if not evidence.has_one_score:
        return None
    picture, _ = first_picture(evidence, a.rule or evidence.default_rule, a.level, Notes())
    return where(
        Grounds(
            verdict=quietly(a.ask, VERDICT),
            picture=picture,
            segments=quietly(a.possible, SEGMENTS),
            slices=quietly(a.possible, SLICES),
            classes=quietly(a.ask, CLASS_ROWS),
            brier=quietly(a.estimate, "brier").value,
        )
    )


def panel(a: Asked, curve: FlexibleMethod = "spline", floor: bool = True) -> Panel | None:
    """The numbers of a validation; None for a matrix and for sums of bins."""
    checked_word(curve, "curve", METHODS)
    check_flag(floor, "floor")
    evidence = a.view("classwise")
    if not evidence.is_binary or evidence.tally is None:
        return None
    estimates = {}
    for key in NAMES:
        options: dict[str, object] = {}
        if key in ("ici", "e50", "e90", "emax") and curve != "spline":
            options["curve"] = curve
        if not floor:
            options["floor"] = False
        estimates[key] = quietly(partial(a.ask, ESTIMATE, measure=key, kind=None, **options))
    clustered = evidence.in_clusters
    methods = ["spiegelhalter", "cox"]
    if clustered is not None:
        # With clusters only the first test, whose weights must count rows.
        methods = ["spiegelhalter"] if evidence.whole else []
    tests = [quietly(a.possible, TEST, method=method) for method in methods]
    return panel_of_answers(
        estimates,
        tuple(filter(None, tests)),
        evidence.cells,
        a.level,
        curve,
        None if clustered is None else clustered.clusters,
        in_buckets=not evidence.has_rows,
    )


# ---- parts of the rows


def segments(a: Asked, resamples: int | None = None) -> Segments | None:
    """All segments, tested jointly; None without columns."""
    rows = a.rows
    if rows.groups is not None:
        return describe_segments(rows.groups, a.level, resamples, a.seed, rows.evidence.rounded_to)
    if not rows.columns:
        return None
    evidence = a.view("confidence")
    tested = segments_of(evidence, rows.columns, level=a.level, resamples=resamples, seed=a.seed)
    return in_own_words(evidence, tested)


def slices(
    a: Asked,
    *,
    most: int = 100,
    depth: int = 2,
    least: int | None = None,
    resamples: int | None = None,
) -> Slices | None:
    """The worst slices; None with fewer than two columns."""
    if not a.rows.slice_columns:
        return None
    plan = SlicePlan(a.seed, a.level, most, depth, least, resamples)
    evidence = a.view("confidence")
    return in_own_words(evidence, slices_of(evidence, a.rows.slice_columns, plan))


def class_rows(a: Asked) -> tuple[ClassRow, ...] | None:
    """Every class of a matrix against the rest, the largest ECE first."""
    evidence = a.view("confidence")
    if evidence.classwise is None or not evidence.is_top_label:
        return None
    alpha = Level(a.level).alpha
    return classes_of(evidence, bins=a.rule, level=a.level, alpha=alpha, seed=a.seed)


def classes(a: Asked) -> dict[str, Asked]:
    """Each class against the rest, or each label, judged at the level of Holm's method.

    Empty for one problem.
    """
    problems = _problems(a)
    if not problems:
        return {}
    return joint_levels({name: a.but(rows=rows) for name, rows in problems.items()}, a.level)


def joint_levels(problems: Mapping[str, Asked], level: float) -> dict[str, Asked]:
    """Several problems at the levels of Holm's method, so that all verdicts hold jointly."""
    alpha = Level(level).alpha
    strictest = Level.of_alpha(alpha / len(problems)).confidence
    # As many draws for each, so that p-values and confidence sets of any level agree.
    draws = draws_for(len(problems), alpha)
    pvalues = []
    for problem in problems.values():
        test = quietly(problem.but(level=strictest, draws=draws).possible, TEST)
        # A problem whose test is not possible counts as one that shows nothing.
        pvalues.append(1.0 if test is None else test.pvalue)
    levels = _holm_levels(np.array(pvalues), alpha)
    judged = {}
    for name, own_level in zip(problems, levels, strict=True):
        judged[name] = problems[name].but(level=own_level, draws=draws)
    return judged


def _problems(a: Asked) -> dict[str, ModelRows]:
    """The rows of each class or label; empty for one problem."""
    evidence = a.view("confidence")
    problems = evidence.problems()
    if problems is None:
        return {}
    columns = a.rows.columns
    slice_columns = a.rows.slice_columns
    if not evidence.has_labels:  # the segments of a matrix are those of its top label
        columns = ()
        slice_columns = ()
    return {
        str(name): ModelRows(problem, columns=columns, slice_columns=slice_columns)
        for name, problem in problems.items()
    }


def _holm_levels(pvalues: Floats, alpha: float) -> list[float]:
    """The level at which Holm's method judges each p-value.

    In ascending order p ≤ α/(m − i) is rejected, up to the first that is larger.
    """
    number = pvalues.size
    rejected = int((holm(pvalues) <= alpha).sum())
    levels = np.empty(number)
    for place, which in enumerate(np.argsort(pvalues, kind="stable")):
        left = number - min(place, rejected)
        levels[which] = Level.of_alpha(alpha / left).confidence
    return levels.tolist()


def gate(a: Asked, bounds: Sequence[Bound], require: bool = False) -> Gate:
    """Whether errors keep their bounds."""
    return gate_of(
        {("", ""): a.view("confidence")},
        bounds,
        require=require,
        level=a.level,
        seed=a.seed,
        about=_no_name,
    )


def _no_name(_names: Names) -> AbstractContextManager[None]:
    return nullcontext()


# ---- what to do


def remedies(a: Asked) -> Remedies | None:
    """Calibrators on held-out rows; None where the rows cannot be split."""
    # Loads scikit-learn, which other questions do not need.
    from trueness._assess.remedies import remedies as compute_remedies

    return compute_remedies(a)


# ---- what is absent


def absent_answers(a: Asked) -> Iterator[str]:
    """Why some answers are None."""
    evidence = a.view("confidence")
    if a.rows.groups is None and not a.rows.columns:
        if evidence.has_rows:
            why = "no column was passed as `by`"
        else:
            why = "these are sums without groups"
        yield f"There are no segments: {why}."
    elif evidence.has_labels:
        yield "There are no segments: each label has its own, in `classes`."
    if not a.rows.slice_columns:
        if not evidence.has_rows:
            why = "slices need labels and scores"
        else:
            why = "slices need two columns in `by`"
        yield f"There are no slices: {why}."
    if not is_splittable(evidence):
        yield f"There are no remedies: {_why_not_split(evidence)}."
    if evidence.is_binary:
        yield "There are no classes: this is one problem."
    if evidence.is_binned:
        yield (
            "Sums of bins do not keep the scores: there is no test, no confidence set and no panel."
        )
        return
    for question, name in ((TEST, "The test"), (INTERVAL, "The confidence set")):
        reason = a.reason_against(question)
        if reason:
            yield f"{name} could not be computed: {reason}"


def _why_not_split(evidence: Evidence) -> str:
    """Why calibrators cannot be tried on held-out rows of this evidence, in words."""
    if not evidence.has_rows:
        return "calibrators need labels and scores"
    if evidence.has_labels:
        return "each label has its own"
    if not has_scores(evidence):
        return "a map of their probabilities leaves intervals and quantiles as they are"
    return f"{LEAST_ROWS} rows and {FOLDS} clusters are the fewest that can be split"


MAKERS: Mapping[str, Callable[..., Any]] = {
    "test": test,
    "interval": interval,
    "power": power,
    "prior_shift": prior_shift,
    "verdict": verdict,
    "estimate": estimate,
    "floor": floor,
    "bins": bins,
    "place": place,
    "panel": panel,
    "segments": segments,
    "slices": slices,
    "class_rows": class_rows,
    "classes": classes,
    "gate": gate,
    "remedies": remedies,
    "advice": advice,
    "coverage": coverage,
    "level_histogram": level_histogram,
}
