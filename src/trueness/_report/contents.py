"""Compute the contents of a report, each number by the public function that a user would call."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar

from trueness._assess.advice import advise
from trueness._assess.answers import answer_questions
from trueness._assess.asked import (
    CLASS_ROWS,
    COVERAGE,
    LEVEL_HISTOGRAM,
    REMEDIES,
    SEGMENTS,
    VERDICT,
    Asked,
)
from trueness._assess.commands import command_for
from trueness._assess.notes import Notes, collect_warnings
from trueness._assess.page_decisions import decisions
from trueness._assess.page_parts import (
    note_on_map,
    page_clusters,
    page_comparison,
    page_explorers,
    page_segments,
    page_slices,
)
from trueness._assess.page_pictures import isotonic_blocks, offered
from trueness._assess.page_subject import Options, Subject, are_paired
from trueness._assess.page_summary import (
    ALPHA,
    calibration_curve,
    summarize,
    top_k,
    validation_panel,
)
from trueness._assess.picture import first_picture
from trueness._assess.segment_map import with_advised_map
from trueness._assess.statement import has_one_statement
from trueness._assess.where import Grounds, where
from trueness._level import Level
from trueness._report.answers import conclusion, overall_conclusion
from trueness._tally.tally import Tally
from trueness._text.numbers import level_percent, rule_in_words
from trueness._version import __version__
from trueness.errors import quietly
from trueness.results import Judge, Series, Slices, Verdict
from trueness.results import Segments as Tested
from trueness.results._page import (
    Blocks,
    Contents,
    Model,
    Provenance,
    Segments,
    Settings,
)
from trueness.results._remedies import Remedies

Part = TypeVar("Part", bound=Segments | Slices)
_STEPS = 6
_WORST = 3


class Extras(TypedDict, total=False):
    """What a report of files has beside the models."""

    files: Sequence[Mapping[str, Any]] | None
    series: Series | None
    confidences: Mapping[str, Any] | None
    judge: Judge | None


class Shown(Extras):
    """What `compute_contents` takes beside the models and their options."""

    title: str | None
    progress: Callable[[int, int], None]


def compute_contents(
    subject: Subject,
    by_model: Mapping[str, Asked],
    options: Options,
    provenance: Provenance,
    *,
    title: str | None,
    progress: Callable[[int, int], None],
    files: Sequence[Mapping[str, Any]] | None = None,
    series: Series | None = None,
    confidences: Mapping[str, Any] | None = None,
    judge: Judge | None = None,
) -> Contents:
    """Everything, model by model, from what was asked about each.

    `progress` receives the steps done and their total.

    `files` are the lines of a table of the files or periods that the rows were read from, a
    `series`.
    """
    done = itertools.count(1)
    total = _STEPS * len(subject.models) + 1
    notes = Notes()
    rule = options.rule
    settings = Settings(
        bins=repr(rule),
        bins_in_words=rule_in_words(rule),
        level=options.level,
        seed=options.seed,
        offered=offered(rule),
        intervals=options.intervals,
    )
    models = tuple(
        _model(
            name, by_model[name], subject, options, provenance, lambda: progress(next(done), total)
        )
        for name in subject.models
    )
    differences = None
    are_models = len(models) > 1 and subject.source == "rows" and not subject.has_labels
    if are_models and are_paired(subject.models):
        differences = notes.attempt(
            "The comparison", partial(page_comparison, subject.models, options)
        )
    progress(next(done), total)
    return Contents(
        title=title or "Calibration report",
        version=__version__,
        task="binary" if subject.counts.classes is None else "multiclass",
        provenance=provenance,
        source=subject.source,
        view=subject.view,
        omitted=_omitted(subject, models),
        verdict=overall_conclusion(models, options.alpha if subject.has_labels else 1),
        rows=subject.counts,
        clusters=page_clusters(subject.units, len(models), subject.counts.classes is not None),
        settings=settings,
        models=models,
        comparison=differences,
        notes=(*subject.notes, *notes.sentences),
        definitions=_definitions(settings, subject, segmented=models[0].segments is not None),
        files=None if files is None else tuple(files),
        series=series,
        confidences=confidences,
        judge=judge,
    )


class _Levels(NamedTuple):
    """One model at the levels at which its parts are judged, which differ for several labels."""

    numbers: Asked
    """At the level of the report."""
    verdict: Asked
    """At the level at which Holm's method judges this label."""
    segments: Asked
    """At the level at which all segments of all labels are judged together."""


def _levels(a: Asked, subject: Subject, options: Options) -> _Levels:
    """The questions of one model at the levels of its numbers, its verdict and its segments.

    Of several labels, each has the level of the page; their segments share its error rate.
    """
    if not subject.has_labels:
        return _Levels(numbers=a, verdict=a, segments=a)
    numbers = a.but(level=options.level)
    alpha = options.alpha / len(subject.models)
    segments = numbers
    if len(subject.models) > 1:
        segments = numbers.but(level=Level.of_alpha(alpha).confidence)
    return _Levels(numbers=numbers, verdict=a, segments=segments)


def _model(
    name: str,
    a: Asked,
    subject: Subject,
    options: Options,
    provenance: Provenance,
    step: Callable[[], None],
) -> Model:
    """Everything about one model; `step` is called after each of the parts that take long."""
    notes = Notes()
    rule = options.rule
    level = options.level
    levels = _levels(a, subject, options)
    a = levels.numbers
    data = a.view("confidence")
    with collect_warnings(notes):
        tally = data.tally  # what is unusual about the rows becomes a note
        data.warn_few_clusters()
    step()
    shown, first = first_picture(data, rule, level, notes)
    step()
    summary = summarize(a, options, notes)
    step()
    segments = page_segments(levels.segments, rule, subject.groups.get(name, {}), subject.by)
    step()
    fixes = _remedies(a, notes)
    step()
    largest = top_k(a, notes) if data.classwise is not None else None
    classes = quietly(a.ask, CLASS_ROWS)
    panel = validation_panel(a, options)
    verdict = _verdict(levels, provenance)
    tested = quietly(levels.segments.ask, SEGMENTS)
    wanted = advise(a, verdict, tested)
    slices = page_slices(levels.segments)
    model = Model(
        name=name,
        verdict=conclusion(verdict, name if len(subject.models) > 1 else ""),
        summary=summary,
        picture=shown,
        worst=shown.costliest[:_WORST],
        blocks=_blocks(tally),
        panel=panel,
        curve=None if panel is None else calibration_curve(data, options),
        segments=_with_notes(segments, note_on_map(levels.segments, tested, wanted)),
        slices=_with_notes(slices, note_on_map(levels.segments, slices, wanted)),
        remedies=with_advised_map(a, fixes, wanted),
        advice=wanted,
        decisions=decisions(
            data,
            summary,
            options,
            notes,
            top_label=subject.top_label,
            answers=provenance.of_answers,
        ),
        classes=classes,
        top_k=largest,
        explorers=page_explorers(data, classes, first, level, subject),
        coverage=quietly(a.ask, COVERAGE) if has_one_statement(data) else None,
        level_histogram=quietly(a.ask, LEVEL_HISTOGRAM),
        notes=tuple(notes.sentences),
    )
    step()
    return _with_answers(model, a, verdict, tested, provenance)


def _verdict(levels: _Levels, provenance: Provenance) -> Verdict:
    """The verdict, and what its words need to know of where the rows come from."""
    return replace(
        quietly(levels.verdict.ask, VERDICT),
        of_answers=provenance.of_answers,
        cluster_name=levels.numbers.rows.labels.cluster or provenance.cluster_name,
    )


def _blocks(tally: Tally | None) -> Blocks | None:
    """The test-based diagram; None for bins, and where weights are not whole numbers."""
    if tally is None or not tally.parts[0].whole:
        return None
    return isotonic_blocks(tally.parts[0], ALPHA)


def _remedies(a: Asked, notes: Notes) -> Remedies | None:
    """The calibrators that were tried; None, and a note where clusters are the reason."""
    data = a.view("confidence")
    fixes = quietly(a.ask, REMEDIES)
    if fixes is None and data.dependent and data.events is None:
        notes.add(
            "Calibrators were not tried: there are too few rows, or fewer clusters than the five "
            "folds of held-out rows."
        )
    return fixes


def _with_notes(part: Part | None, notes: tuple[str, ...]) -> Part | None:
    """Segments or slices with further notes; None where there are none of these."""
    if part is None:
        return None
    return replace(part, notes=(*part.notes, *notes))


def _with_answers(
    model: Model, a: Asked, verdict: Verdict, tested: Tested | None, provenance: Provenance
) -> Model:
    """The model with the four answers of the first screen."""
    grounds = Grounds(
        verdict=verdict,
        picture=model.picture,
        segments=tested,
        slices=model.slices,
        classes=model.classes,
        brier=model.summary.brier,
        advice=model.advice,
    )
    command = command_for(
        model.advice, verdict, provenance, model.name, has_remedies=model.remedies is not None
    )
    answers = answer_questions(a, verdict, model.advice, where(grounds), command)
    return replace(model, answers=answers)


def _omitted(subject: Subject, models: tuple[Model, ...]) -> str:
    """What a report of sums lacks."""
    if subject.source == "rows":
        return ""
    lacking = "no calibrators are compared"
    if not subject.by:
        lacking += " and there are no segments"
    text = f"This report was computed from sums, not from rows: {lacking}."
    absent = models[0].summary.absent
    if absent:
        text += f" Sums of bins do not give {', '.join(absent[:-1])} or {absent[-1]}."
    if subject.source == "sketch":
        text += " It is from a sketch: rows count at the mean score of their cell."
    return text


# A sentence on each term, in the order of the page.
_DEFINITIONS = {
    "ECE": (
        "mean over rows of |{rate} − mean score| in {bins}; bins are closed on the left, the "
        "last one on both sides. It is biased upwards: compare it with its noise floor."
    ),
    "typical error": (
        "root of the mean squared gap, debiased, in cells of the scores cut by mass and by width "
        "(one per score if there are few), with a {level} confidence set (method 'score'); zero "
        "belongs to the set unless the test rejects it."
    ),
    "noise floor": (
        "mean of a measure over labels resampled from the scores, as for a calibrated model, and "
        "the value that {level} of these labels do not exceed."
    ),
    "test": (
        "whether the labels could have been drawn from the scores: the omnibus test compares "
        "several statistics with those of labels drawn from the scores, and ranks a sum of their "
        "p-values that grows as they become small (Σ w/√p) among the same draws."
    ),
    "TCE": (
        "percentage of rows whose score an exact binomial test at 5 % rejects, in isotonic "
        "blocks of 5 to 20 % of the rows (neighbours of equal rate are joined). It is not zero "
        "for a calibrated model: compare it with its noise floor."
    ),
    "Brier score": (
        "mean squared error, for several classes summed over them = miscalibration (gap to "
        "isotonic regression of the same rows: above 0 even for a calibrated model, compare it "
        "with its noise floor) − discrimination (gain over the base rate) + uncertainty (score "
        "of the base rate), known as CORP."
    ),
    "slope, intercepts": (
        "of the logistic regression of the labels on the logits of the scores strictly between 0 "
        "and 1. A calibrated model has slope 1; a slope below 1 means scores that are too "
        "extreme. Calibration in the large is the intercept with the slope fixed at 1, the "
        "intercept (free slope) that of the same fit as the slope; both are 0 if calibrated."
    ),
    "observed/expected": "observed divided by expected events.",
    "ICI, E50, E90, Emax": (
        "mean, median, 90 % quantile and maximum, over the rows, of the distance between score "
        "and calibration curve (logistic regression on a restricted cubic spline of the logit "
        "with five knots). They are above 0 even for a calibrated model: compare them with their "
        "noise floors."
    ),
    "scaled Brier score": "1 − Brier score / score of the base rate.",
    "AUC": "probability that an event has a higher score than a non-event.",
    "flagged bins": (
        "the rate lies outside a band that contains the rates of all bins {level} of the time if "
        "the scores are calibrated (exact, Poisson-binomial)."
    ),
    "flagged segments": (
        "gap and slope of all segments are tested jointly (max-T, the same drawn labels for "
        "all); the adjusted p-value is at most {part}{share}. All rows and all segments are two "
        "questions: the probability that any segment of a calibrated model is flagged is at most "
        "{part}, whatever all rows together show."
    ),
    "net benefit": (
        "(events acted on − t / (1 − t) × other rows acted on) / rows, for acting from the "
        "threshold t on. At t = 20 %, a false alarm costs a quarter of what an event found gains."
    ),
    "cross-fitting": (
        "each calibrator is fitted on four fifths of the rows and applied to the rest, five "
        "times; all numbers are for rows that it was not fitted on."
    ),
    "clusters": (
        "rows of one cluster may depend on each other. Sets and tests then draw signs for whole "
        "clusters and leave out pairs of rows of one cluster; differences are judged by sums "
        "over clusters; folds keep clusters whole. Results that treat rows as independent "
        "understate chance: noise floors are too low, bands too narrow."
    ),
    "class-wise ECE": "mean over classes of the ECE of each column against the rest.",
    "share of ECE": "for classes: the share of the class-wise ECE due to the class.",
    "top 1 to k": "Typical error of the k largest scores of a row jointly, given all k of them.",
}


_OF_STATEMENTS = {"ECE", "typical error", "noise floor", "test", "flagged segments", "clusters"}
"""Terms that occur on a page about intervals or quantiles."""


def _definitions(settings: Settings, subject: Subject, *, segmented: bool) -> dict[str, str]:
    """The terms that these rows or sums have, each with a sentence."""
    of_rows = subject.source == "rows"
    absent = set[str]()
    if not of_rows:
        absent.add("cross-fitting")
    if subject.top_label or not settings.intervals:
        absent |= {"ICI, E50, E90, Emax", "scaled Brier score", "AUC", "net benefit"}
    if not segmented:
        absent.add("flagged segments")
    if subject.source == "bins":
        absent |= _DEFINITIONS.keys() - {"ECE", "observed/expected", "clusters"}
    if has_one_statement(subject.first):
        absent |= _DEFINITIONS.keys() - _OF_STATEMENTS
    if not subject.units.clustered:
        absent.add("clusters")
    if subject.view != "confidence" or not of_rows:
        absent |= {"class-wise ECE", "share of ECE", "top 1 to k"}
    words = {
        "level": level_percent(settings.level),
        "part": level_percent(Level(settings.level).alpha),
        "bins": settings.bins_in_words,
        "rate": "accuracy" if subject.top_label else "event rate",
        "share": " divided by the number of labels" if subject.has_labels else "",
    }
    return {term: text.format(**words) for term, text in _DEFINITIONS.items() if term not in absent}
