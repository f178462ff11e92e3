"""Makers of the answers about measures: estimates, noise floors and the panel."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from trueness._assess.asked import ESTIMATE, TEST, Asked
from trueness._assess.rows import two_columns_for
from trueness._assess.statement import refuse_asymmetric
from trueness._input.arguments import check_flag, checked_word
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.multiclass import View
from trueness._tally.rules import EqualMass
from trueness.errors import InputError, quietly
from trueness.infer._estimate import answers, is_by_row, mean_over_labels, unknown_estimate
from trueness.infer._floors import floor_draws
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer._questions import MeasureLike, Question, measure_name, own_question, question_of
from trueness.infer.limits._limits import bootstrap_limits
from trueness.infer.null._noise_floor import Alternative, noise_floor_of
from trueness.measure._flexible_curve import METHODS, FlexibleMethod
from trueness.results import Estimate, NoiseFloor, Panel
from trueness.typing import Floats

_ABOUT_ROWS = ("", "y_true", "y_prob", "measure", "sample_weight", "kind", "cluster")
"""The arguments of errors that are due to the rows, not to the caller's options."""


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
    return two_columns_for(question.options.get("k"))


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
    has_positions = isinstance(measure, partial) and bool(measure.args)
    if callable(measure) and has_positions:
        question = own_question(measure)
    else:
        question = asked_question(a, measure, options)
    evidence = a.view(kind or question.measure.view, _two_columns_of(question))
    draws = partial(_draws, a, resamples=resamples, workers=workers, report=report)
    # The bins of the assessment are no option of the measure.
    name = question.display_name if has_positions else question_of(measure, options).display_name
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
    clusters = None
    in_buckets = False
    methods = ["spiegelhalter", "cox"]
    if clustered is not None:
        clusters = clustered.clusters
        in_buckets = not evidence.has_rows
        # With clusters only the first test, whose weights must count rows.
        methods = ["spiegelhalter"] if evidence.whole else []
    tests = [quietly(a.possible, TEST, method=method) for method in methods]
    return panel_of_answers(
        estimates,
        tuple(filter(None, tests)),
        evidence.cells,
        a.level,
        curve,
        clusters,
        in_buckets=in_buckets,
    )
