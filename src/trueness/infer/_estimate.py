"""Any measure with its uncertainty: one verb for all."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from trueness import measure as measures
from trueness._input.arguments import Seed, checked_word, generator, spelled_out
from trueness._keywords import unknown_keyword
from trueness._level import checked_level
from trueness._numerics.averages import exponent
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.rules import BinRule, EqualMass, as_rule
from trueness.errors import InputError, did_you_mean
from trueness.infer._catalogue import ALIASES, MEASURES, Measure
from trueness.infer.limits._curve_errors import CURVE_ERRORS, curve_distances
from trueness.infer.limits._ece import gaps_of, squared_error_of
from trueness.infer.limits._limits import Asked, Limits, Options, bootstrap_limits, limits_or_note, no_limits
from trueness.infer.null._measure_floor import NO_FLOOR, Floor, drawn_floors, floor_of, gap_floor
from trueness.infer.null._noise_floor import measure_name, measure_value
from trueness.results import Estimate
from trueness.results._inference import INDEPENDENT_FLOOR
from trueness.typing import ArrayLike, RowOptions

_BY_ROW = ("brier", "miscalibration", "discrimination", "uncertainty", "scaled_brier", "log_loss")
"""Scores of a row of several classes, not means over classes."""
_AVERAGED = ("value", "low", "high", "floor", "floor_high")


class _Question(NamedTuple):
    """One measure with its options; the key of a user's own function is empty."""

    measure: Measure
    options: Options

    @property
    def function(self) -> Callable[[Any], float]:
        """The measure as a function of sums alone."""
        return partial(self.measure.function, **self.options)

    @property
    def bins(self) -> str:
        """The rule of the bins, if it can be chosen."""
        if not self.measure.bins:
            return ""
        bins = self.options.get("bins", 10)
        count = self.measure.bins == "mass" and not isinstance(bins, BinRule)
        return repr(EqualMass(bins) if count else as_rule(bins))

    def value(self, evidence: Evidence) -> float:
        """The measure of rows or sums."""
        if self.measure.key in ("l2", "squared_ece"):
            error = squared_error_of(evidence, **self.options)
            return error if self.measure.key == "squared_ece" else max(0.0, error) ** 0.5
        # A user's function gets a Tally where there is one.
        own = not self.measure.key and evidence.tally is not None
        return measure_value(self.function, evidence.tally if own else evidence.sums)  # type: ignore[arg-type]  # own functions have a tally


@spelled_out
def estimate(
    measure: str | Callable[..., float],
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    seed: Seed = None,
    floor: bool = True,
    method: Literal["auto", "bootstrap"] = "auto",
    **options: Any,
) -> Estimate:
    r"""A measure with its confidence interval or, where no valid one is known, with its noise floor.

    Parameters
    ----------
    measure : callable or str
        A function of the library (``tn.ece``, ``functools.partial(tn.ece, bins=15)``), its name (``"ece"``), a part of
        :func:`corp` (``"miscalibration"``, ``"discrimination"``, ``"uncertainty"``), ``"l2"``, ``"free_intercept"``,
        ``"prevalence"``, ``"accuracy"``, or your own function of a :class:`Tally` that returns one number.
    y_true, y_prob
        As for :func:`ece`. A :class:`Tally`, :class:`Sketch` or :class:`Binned` replaces both; a measure that it does
        not determine is nan, and `note` says why.
    level : float, default 0.95
        Confidence level, more than 1/2.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    sample_weight : array-like of shape (n,), optional
        Whole numbers are frequencies: a weight of 2 counts the row twice. Others are sampling weights.
    seed : int or numpy.random.Generator, optional
        For noise floors and for limits that redraw labels.
    floor : bool, default True
        Whether to simulate the noise floor of a measure that is biased upwards.
    method : {'auto', 'bootstrap'}, default 'auto'
        'bootstrap', for your own function only: the basic bootstrap with 999 resamples of rows or clusters. It assumes
        that the function varies around its true value, so it fails for a calibration error near zero.
    **options
        Options of the measure (`bins`, `norm`, `curve`, …) and of the rows (`kind`, `pos_label`, `missing`, …).

    Returns
    -------
    Estimate
        `value` is what the measure itself returns; `low` ≤ `value` ≤ `high`; `method`; `standard_error`; `floor` and
        `floor_high`; `definition`, `kind` and `bins`; `note`.

    Notes
    -----
    ``docs/guide/inference.md`` describes the methods of limits, and ``docs/evidence/coverage.md`` has their coverage.
    The l2 error and its square have value and limits of :func:`ece_interval`.

    For MCE, TCE, smooth ECE, ICI, E50, E90, Emax, miscalibration and your own functions no valid interval is known:
    they are biased upwards, and a percentile bootstrap would exclude zero for most calibrated models. Instead `floor`
    is the mean of the measure over labels drawn from the scores, as a calibrated model would have them, and
    `floor_high` its upper quantile.

    A matrix of two columns is the binary problem of the second, unless `kind` is given. A mean over classes has an
    interval only if it is a mean of rows too (Brier score, log loss).

    With ``kind="multilabel"`` each label is a binary problem. `each` has them with limits at the level 1 − α/L
    (Bonferroni), which hold for all L labels together; so does their mean, the limits of the mean over labels. Images
    (dense predictions) are clusters by default; the mean over their classes is computed in the same way.

    References
    ----------
    W. J. Venables and B. D. Ripley, Modern Applied Statistics with S, 2002 (profile likelihood). E. R. DeLong et al.,
    Comparing the areas under two or more correlated receiver operating characteristic curves, Biometrics, 1988.

    Examples
    --------
    >>> import trueness as tn
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1] * 25, [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9] * 25
    >>> print(tn.estimate(tn.calibration_slope, y, p))
    slope 0.8049, 95 % 0.5582 to 1.0752 (profile likelihood, n = 200)
    >>> smooth = tn.estimate("smooth_ece", y, p, seed=1)
    >>> smooth.bounded, 0 < smooth.floor < smooth.value
    (False, True)
    """
    rows: Any = {name: options.pop(name) for name in RowOptions.__annotations__ if name in options}
    if sample_weight is not None:
        rows["sample_weight"] = sample_weight
    question = _question(measure, options)
    if checked_word(method, "method", ("auto", "bootstrap")) == "bootstrap" and question.measure.key:
        got = f"got 'bootstrap' with {measure_name(measure) if callable(measure) else measure!r}"
        remedy = "A bootstrap does not cover a calibration error near zero."
        raise InputError("method", "must be 'auto' for a measure of the library", got, remedy=remedy)
    if method == "bootstrap":
        limits = partial(bootstrap_limits, question.function)
        question = question._replace(measure=question.measure._replace(limits=limits))
    level, view = checked_level(level), question.measure.view
    several = question.options.get("k") not in (None, 1)  # scores of a row together, which sums do not keep
    keep: TwoColumns = "keep" if several or question.measure.key == "accuracy" else "binary"
    weight_type = "auto" if y_prob is None else question.options.get("weight_type", "auto")
    settings: Any = {"two_columns": keep, "cluster": cluster, "weight_type": weight_type}
    evidence = Evidence.of(y_true, y_prob, rows, kind=view, **settings)
    if evidence.view == "multilabel" or (evidence.has_images and question.measure.key not in _BY_ROW):
        return _mean_over_labels(question, evidence, level, generator(seed), floor=floor)
    return _answers({"": question}, evidence, level, generator(seed), floor=floor)[""]


def _mean_over_labels(
    question: _Question, evidence: Evidence, level: float, rng: np.random.Generator, *, floor: bool
) -> Estimate:
    """Each label, or class, as a binary problem, and the mean over them; all limits hold together."""
    problems = dict(evidence.each_class())
    each = 1 - (1 - level) / len(problems)
    found = [_answers({"": question}, one, each, rng, floor=floor)[""] for one in problems.values()]
    what = "labels" if evidence.view == "multilabel" else "classes"
    together = f"Limits hold for all {len(found)} {what} together, however these depend on each other."
    lacking = next((one.note for one in found if not one.bounded), "")
    numbers = np.mean([[getattr(one, name) for name in _AVERAGED] for one in found], axis=0).tolist()
    about: Any = dict(zip(_AVERAGED, numbers, strict=True)) | {"n": evidence.n, "kind": evidence.view, "level": level}
    about["method"] = "" if lacking else f"mean of {len(found)} limits at {100 * each:.5g} %: {found[0].method}"
    about["note"] = " ".join(filter(None, [lacking or together, evidence.note]))
    about["each"] = dict(zip(map(str, problems), found, strict=True))
    return replace(found[0], **about, standard_error=math.nan, where="", low_open=False)


def value_of(measure: str | Callable[..., float], evidence: Evidence) -> float:
    """The value alone of one measure of rows or sums that have been read."""
    return _question(measure, {}).value(evidence)


def estimates_of(
    names: Iterable[str] | Mapping[str, str | Callable[..., float]],
    evidence: Evidence,
    *,
    level: float = 0.95,
    floor: bool = True,
    limits: bool = True,
    rng: np.random.Generator,
    **options: Any,
) -> dict[str, Estimate]:
    """Several measures, perhaps by keys of their own, whose floors share their redrawn labels.

    `options` go to the measures that take them. A measure that refuses these sums has the value nan and a note.
    """
    named: Mapping[str, Any] = names if isinstance(names, Mapping) else {name: name for name in names}
    questions = {key: _question(one, options, lenient=True) for key, one in named.items()}
    return _answers(questions, evidence, checked_level(level), rng, floor=floor, limits=limits, lenient=True)


def _answers(
    questions: Mapping[str, _Question],
    evidence: Evidence,
    level: float,
    rng: np.random.Generator,
    *,
    floor: bool,
    limits: bool = True,
    lenient: bool = False,
) -> dict[str, Estimate]:
    """Each measure with its limits and floor; if `lenient`, a measure that refuses these sums is nan."""
    if not isinstance(floor, bool | np.bool_):
        raise InputError("floor", "must be True or False", f"got {floor!r}")
    found: dict[str, Limits] = {}
    asked = {key: Asked(evidence, one.value, one.options, level, rng, floor) for key, one in questions.items()}
    for key, one in questions.items():
        try:
            # The four distances of a curve come with their limits, of one fit.
            some = limits or one.measure.floor == "curve"
            ends = limits_or_note(one.measure.limits, asked[key]) if some else Limits()
            found[key] = ends if ends.known else ends._replace(value=asked[key].value)
        except InputError as reason:
            if not lenient:
                raise
            found[key] = Limits(note=str(reason))
    known = {key: one for key, one in questions.items() if floor and not math.isnan(found[key].value)}
    floors = dict.fromkeys(questions, NO_FLOOR) | _floors(known, asked)
    return {key: _estimate(one, evidence, level, found[key], floors[key]) for key, one in questions.items()}


def _question(measure: Any, options: Options, *, lenient: bool = False) -> _Question:
    """The measure in the catalogue, or a user's own function; `lenient` leaves out options that it does not take."""
    if isinstance(measure, partial):
        if measure.args:
            raise InputError("measure", "must have its options by keyword", f"got {measure_name(measure)}")
        inner = _question(measure.func, {**measure.keywords, **({} if lenient else options)})
        own = not inner.measure.key
        return inner._replace(measure=inner.measure._replace(name=measure_name(measure))) if own else inner
    if isinstance(measure, str):
        key = ALIASES.get(measure, measure)
        if key not in MEASURES:
            names = sorted({*MEASURES, *ALIASES})
            remedy = did_you_mean(measure, names)
            raise InputError("measure", f"must be one of {', '.join(names)}", f"got {measure!r}", remedy=remedy)
    elif callable(measure):
        key = next((one.key for one in MEASURES.values() if one.function is measure), "")
        if not key:
            return _own_question(measure, {} if lenient else options)
    else:
        raise InputError("measure", "must be a measure, its name, or a function of a Tally", f"got {measure!r}")
    found = MEASURES[key]
    known = {name: one for name, one in inspect.signature(found.function).parameters.items() if name != "by"}
    unknown = options.keys() - known.keys()
    if unknown and not lenient:
        raise unknown_keyword(key, min(unknown), known)
    options = {name: value for name, value in options.items() if name not in unknown} | dict(found.preset)
    if key == "ece" and exponent(options.get("norm", "l1")) == 2:
        found = MEASURES["ece_l2"]
    return _Question(found, options)


def _own_question(measure: Any, options: Options) -> _Question:
    if measure is measures.corp:
        remedy = "Name its part: 'miscalibration', 'discrimination' or 'uncertainty'."
        raise InputError("measure", "must return one number", "corp returns three", remedy=remedy)
    definition = (inspect.getdoc(measure) or "").partition("\n")[0] or "A function of a Tally."
    none = no_limits("No valid interval is known for a function of your own; `method='bootstrap'` assumes one.")
    return _Question(Measure("", measure_name(measure), definition, "", "", measure, none, "drawn"), options)


def _floors(questions: Mapping[str, _Question], asked: Mapping[str, Asked]) -> dict[str, Floor]:
    floors: dict[str, Floor] = {}
    drawn: dict[tuple[bool, bool], dict[str, Callable[[Any], float]]] = {}
    for key, (measure, options) in questions.items():
        one = asked[key]
        settings: Any = {"level": one.level, "rng": one.rng}
        curve = curve_distances(one) if measure.floor == "curve" else None
        gaps = gaps_of(measure.key, options) if measure.floor == "gaps" else None
        if curve is not None:
            floors[key] = floor_of(curve.floors[:, CURVE_ERRORS.index(measure.key)], one.level)
        elif gaps is not None and gaps.blind and one.evidence.view != "classwise":
            floors[key] = gap_floor(one.evidence, *gaps, **settings)
        elif measure.floor:
            group = measure.floor in ("pooled", "curve"), measure.summed
            drawn.setdefault(group, {})[key] = questions[key].function
    for (pooled, summed), functions in drawn.items():
        floors |= drawn_floors(functions, one.evidence, pooled=pooled, summed=summed, **settings)
    return floors


def _estimate(question: _Question, evidence: Evidence, level: float, limits: Limits, floor: Floor) -> Estimate:
    measure, value = question.measure, limits.value
    independent = INDEPENDENT_FLOOR if evidence.dependent and not math.isnan(floor.mean) else ""
    # The limits may have said of the two columns what the evidence says.
    notes = [limits.note, independent, "" if evidence.note in limits.note else evidence.note]
    # A debiased square may be negative, and a biased mean above every error that the rows allow.
    low, high, n = min(limits.low, value), max(limits.high, value), evidence.n
    return Estimate(
        *(measure.name, value, low, high, level, limits.method, n, measure.definition, limits.standard_error, *floor),
        note=" ".join(filter(None, notes)),
        ideal=measure.ideal,
        kind=evidence.view,
        bins=question.bins,
        where=limits.where,
        low_open=limits.low_open and value >= limits.low,
    )
