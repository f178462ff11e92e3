"""Any measure with its uncertainty: one verb, and a table that says how each measure's limits are found."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from trueness import measure as measures
from trueness._input.arguments import Seed, checked_word
from trueness._tally.multiclass import has_two_columns
from trueness._tally.rows_or_sums import as_tally
from trueness._tally.rules import BinRule, BlockIsotonic, EqualMass, Isotonic, as_rule
from trueness.errors import InputError
from trueness.infer._bootstrap_limits import bootstrap_limits
from trueness.infer._calibration_test import calibration_test
from trueness.infer._estimate_limits import (
    Limits,
    LimitsOf,
    Options,
    auc_limits,
    biased,
    curve_distances,
    curve_limits,
    discrimination_limits,
    ece_limits_in,
    free_intercept_limits,
    intercept_limits,
    l2_limits,
    limits_or_note,
    loss_limits,
    no_limits,
    rate_limits,
    ratio_limits,
    scaled_brier_limits,
    slope_limits,
    uncertainty_limits,
)
from trueness.infer._interval import checked_level
from trueness.infer._measure_floor import NO_FLOOR, Floor, drawn_floors, floor_of, gap_floor
from trueness.infer._noise_floor import measure_name, measure_value
from trueness.infer._observed_rows import ObservedRows, observe
from trueness.infer._slope_interval import free_intercept_interval
from trueness.measure._binned import checked_norm
from trueness.results import Estimate
from trueness.typing import ArrayLike, Kind, RowOptions


class _Measure(NamedTuple):
    """A measure of the library: its name, its meaning, and how its uncertainty is found."""

    name: str
    definition: str
    function: str | Callable[..., float]
    """A function of the sums, or its name in `trueness.measure`."""
    limits: LimitsOf
    floor: Literal["", "gaps", "pooled", "drawn", "curve"] = ""
    """How the noise floor is simulated: gaps of bins, labels of pooled scores, of every score, or with a curve."""


class _Gaps(NamedTuple):
    """A power mean over bins of a power of |event rate − mean score|."""

    rule: BinRule
    norm: float
    power: int

    @property
    def blind(self) -> bool:
        """Whether the bins do not look at the labels."""
        return not isinstance(self.rule, Isotonic | BlockIsotonic)


def _gaps_of(function: str, options: Options) -> _Gaps | None:
    """The bins and norm of a measure of gaps; None for other losses."""
    bins, norm = options.get("bins", 10), checked_norm(options.get("norm", "l1"))
    if function == "ace":
        return _Gaps(bins if isinstance(bins, BinRule) else EqualMass(bins), norm, 1)
    if function == "mce":
        return _Gaps(as_rule(bins), math.inf, 1)
    loss = options.get("loss", "absolute")
    if loss not in ("absolute", "squared"):
        return None
    return _Gaps(as_rule(bins), norm, 1 if loss == "absolute" else 2)


def _gap_limits(function: str) -> LimitsOf:
    """Limits of the l1 and the l2 error in bins that do not look at the labels; none for other norms."""

    def limits(data: ObservedRows, value: float, options: Options) -> Limits:
        gaps = _gaps_of(function, options)
        if gaps is not None and gaps.blind and (gaps.norm, gaps.power) == (1, 1):
            return ece_limits_in(data, gaps.rule)
        if gaps is not None and gaps.blind and (gaps.norm, gaps.power) in ((2, 1), (1, 2)):
            return l2_limits(data, gaps.rule, squared=gaps.power == 2)
        return biased(data, value, options)

    return limits


def _squared_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001
    return l2_limits(data, options.get("bins"), squared=True, k=options.get("k"))


def _corp(part: str) -> Callable[..., float]:
    def value(sums: Any, *, score: Literal["brier", "log"] = "brier") -> float:
        return float(getattr(measures.corp(sums, score=score), part))

    return value


def _distance(method: Literal["ks", "kuiper"]) -> Callable[..., float]:
    def value(sums: Any) -> float:
        return calibration_test(sums, method=method).statistic

    return value


def _event_rate(sums: Any) -> float:
    return float(sums.average(lambda part: part.totals.events / part.totals.weight))


def _prevalence(sums: Any) -> float:
    if sums.kind != "binary":
        demand = "'prevalence' needs one event per row"
        raise InputError("measure", demand, f"these sums are {sums.kind}", remedy="'accuracy' is for the top class.")
    return _event_rate(sums)


def _accuracy(sums: Any) -> float:
    if sums.kind not in ("confidence", "top-label"):
        remedy = "Pass a matrix with `kind='confidence'`."
        raise InputError(
            "measure", "'accuracy' needs the top class of each row", f"these are {sums.kind}", remedy=remedy
        )
    return _event_rate(sums)


def _free_intercept(sums: Any) -> float:
    return as_tally(sums, None, {}).average(lambda cells: free_intercept_interval(cells, 0.95).intercept)


_MEASURES: dict[str, _Measure] = {
    "ece": _Measure("ECE", "Mean over bins of |event rate − mean score|.", "ece", _gap_limits("ece"), "gaps"),
    "ace": _Measure("ACE", "The same over bins of equal mass.", "ace", _gap_limits("ace"), "gaps"),
    "mce": _Measure("MCE", "Largest |event rate − mean score| of a bin.", "mce", biased, "gaps"),
    "gce": _Measure("GCE", "Power mean over bins of a loss of each bin.", "gce", _gap_limits("gce"), "gaps"),
    "tce": _Measure(
        "TCE", "Percentage of scores that a test rejects as the rate of their bin.", "tce", biased, "pooled"
    ),
    "smooth_ece": _Measure(
        "smooth ECE", "Mean |label − score| after kernel smoothing of the residuals.", "smooth_ece", biased, "pooled"
    ),
    "squared_ece": _Measure(
        "squared ECE", "Mean over bins of (event rate − mean score)², debiased.", "squared_ece", _squared_limits
    ),
    "brier": _Measure("Brier score", "Mean of (score − label)².", "brier", loss_limits("brier")),
    "scaled_brier": _Measure(
        "scaled Brier score", "1 − Brier score / r(1 − r), with event rate r.", "scaled_brier", scaled_brier_limits
    ),
    "log_loss": _Measure(
        "log loss", "Mean of −log(probability of the label), in nats.", "log_loss", loss_limits("log")
    ),
    "calibration_slope": _Measure(
        "slope",
        "Slope of the logistic regression of labels on the logits of the scores.",
        "calibration_slope",
        slope_limits,
    ),
    "calibration_intercept": _Measure(
        "calibration in the large",
        "Intercept of the logistic regression of labels on the logits of the scores, with the slope fixed at 1.",
        "calibration_intercept",
        intercept_limits,
    ),
    "free_intercept": _Measure(
        "intercept (free slope)",
        "Intercept of the logistic regression of labels on the logits of the scores, beside the slope.",
        _free_intercept,
        free_intercept_limits,
    ),
    "observed_expected": _Measure(
        "observed/expected", "Observed events divided by the sum of the scores.", "observed_expected", ratio_limits
    ),
    "auc": _Measure("AUC", "Probability that an event has a higher score than a non-event.", "auc", auc_limits),
    "ici": _Measure("ICI", "Mean |flexible curve − score|.", "ici", curve_limits(0), "curve"),
    "e50": _Measure("E50", "Median of |flexible curve − score|.", "e50", curve_limits(1), "curve"),
    "e90": _Measure("E90", "90 % quantile of |flexible curve − score|.", "e90", curve_limits(2), "curve"),
    "emax": _Measure("Emax", "Largest |flexible curve − score|.", "emax", curve_limits(3), "curve"),
    "miscalibration": _Measure(
        "miscalibration",
        "Score minus that of the isotonic recalibration (CORP).",
        _corp("miscalibration"),
        biased,
        "pooled",
    ),
    "discrimination": _Measure(
        "discrimination",
        "Score of the event rate minus that of the isotonic recalibration (CORP).",
        _corp("discrimination"),
        discrimination_limits,
    ),
    "uncertainty": _Measure(
        "uncertainty",
        "Score of the event rate, for the Brier score r(1 − r).",
        _corp("uncertainty"),
        uncertainty_limits,
    ),
    "ks": _Measure(
        "KS distance", "Largest |mean of label − score| over all scores up to one.", _distance("ks"), biased, "pooled"
    ),
    "kuiper": _Measure(
        "Kuiper distance",
        "Largest |mean of label − score| over all ranges of scores.",
        _distance("kuiper"),
        biased,
        "pooled",
    ),
    "prevalence": _Measure("prevalence", "Share of events.", _prevalence, rate_limits),
    "accuracy": _Measure("accuracy", "Share of rows whose top class is the label.", _accuracy, rate_limits),
}
_ALIASES: dict[str, tuple[str, Options]] = {
    "ece_l2": ("ece", {"norm": "l2"}),
    "slope": ("calibration_slope", {}),
    "intercept": ("calibration_intercept", {}),
    "brier_miscalibration": ("miscalibration", {}),
    "brier_discrimination": ("discrimination", {}),
    "brier_uncertainty": ("uncertainty", {}),
}
_CURVE = {"ici": 0, "e50": 1, "e90": 2, "emax": 3}
# Tally.average sums the parts of these over classes.
_SUMMED = ("miscalibration",)


class _Question(NamedTuple):
    """One measure with its options."""

    key: str
    """In the table; empty for a user's own function."""
    measure: _Measure
    options: Options

    def value(self, sums: Any) -> float:
        """The measure of sums."""
        return measure_value(self.function, sums)

    @property
    def function(self) -> Callable[[Any], float]:
        """The measure as a function of sums alone."""
        function = self.measure.function
        return partial(getattr(measures, function) if isinstance(function, str) else function, **self.options)

    @property
    def kind(self) -> Kind:
        """The default view of a matrix."""
        if self.key == "accuracy":
            return "confidence"
        function = self.measure.function
        named = getattr(measures, function, None) if isinstance(function, str) else None
        known = inspect.signature(named).parameters.get("kind") if named is not None else None
        kind: Kind = "classwise" if known is None else known.default
        return kind


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
        :func:`corp` (``"miscalibration"``, ``"discrimination"``, ``"uncertainty"``), ``"free_intercept"``,
        ``"prevalence"``, ``"accuracy"``, or your own function of a :class:`Tally` that returns one number.
    y_true, y_prob
        As for :func:`ece`. A :class:`Tally`, :class:`Sketch` or :class:`Binned` replaces both; what cannot be had from
        it is nan, and `note` says why.
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
        `value` is what the measure itself returns; `low` and `high`; `method`; `standard_error`; `floor`,
        `floor_high` and `excess`; `definition`; `note`.

    Notes
    -----
    How the limits are found:

    - slope, intercepts: profile likelihood (R's ``confint``); observed/expected, prevalence: Clopper-Pearson; AUC:
      DeLong. Clusters and weights that are not whole numbers: the sandwich variance and Student's t.
    - Brier score and log loss: means of rows, with Student's t corrected for skewness and half a wrong row added;
      scaled Brier score: the delta method; uncertainty: from the limits of the event rate; discrimination: Student's t,
      the lower limit less the gain of fitting.
    - ECE and ACE: two one-sided limits for the error in the given bins; l2 and squared ECE: :func:`ece_interval`.
    - MCE, TCE, smooth ECE, ICI, E50, E90, Emax, miscalibration and your own functions: no valid interval is known.
      They are biased upwards, and a percentile bootstrap would exclude zero for most calibrated models. Instead
      `floor` is the mean of the measure over labels drawn from the scores, as a calibrated model would have them,
      `floor_high` its upper quantile, and `excess` is `value` − `floor`.

    A matrix of two columns is the binary problem of the second, unless `kind` is given. A mean over classes has an
    interval only if it is a mean of rows too (Brier score, log loss). ``docs/inference.md`` has the coverage of each
    interval.

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
    rows, own = _split(options)
    if sample_weight is not None:
        rows["sample_weight"] = sample_weight
    question = _question(measure, own)
    if question.key == "accuracy" and "kind" not in rows and has_two_columns(y_prob):
        rows["kind"] = "confidence"
    if checked_word(method, "method", ("auto", "bootstrap")) == "bootstrap" and question.key:
        raise InputError(
            "method",
            "must be 'auto' for a measure of the library",
            f"got 'bootstrap' with {measure_name(measure) if callable(measure) else measure!r}",
            remedy="A bootstrap does not cover a calibration error near zero.",
        )
    data = observe(
        y_true, y_prob, rows, level=checked_level(level), seed=seed, cluster=cluster, kind=question.kind, floors=floor
    )
    if method == "bootstrap":
        question = question._replace(measure=question.measure._replace(limits=bootstrap_limits(question.function)))
    value, limits = _answer(question, data)
    floors = _floors({"": question}, data) if floor else {}
    return _estimate(question, data, value, limits, floors.get("", NO_FLOOR))


def estimates(
    names: Iterable[str] | Mapping[str, str | Callable[..., float]],
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    seed: Seed = None,
    floor: bool = True,
    **options: Any,
) -> dict[str, Estimate]:
    """Several measures of the same rows or sums, which are read once; the floors share their redrawn labels.

    Parameters
    ----------
    names
        Names of measures, or a mapping from keys of the result to measures as for :func:`estimate`.
    y_true, y_prob, level, cluster, seed, floor
        As for :func:`estimate`.
    **options
        Options of the rows, and those of measures that take them (`bins`, `norm`, …). `kind`, for a matrix, is
        'classwise' by default.

    Returns
    -------
    dict
        Estimates by key. A measure that refuses these sums has the value nan and a note.
    """
    named: Mapping[str, Any] = names if isinstance(names, Mapping) else {name: name for name in names}
    rows, own = _split(options)
    questions = {key: _question(one, own, lenient=True) for key, one in named.items()}
    data = observe(y_true, y_prob, rows, level=checked_level(level), seed=seed, cluster=cluster, floors=floor)
    answers: dict[str, tuple[float, Limits]] = {}
    for key, question in questions.items():
        try:
            answers[key] = _answer(question, data)
        except InputError as reason:
            answers[key] = math.nan, Limits(note=str(reason))
    known = {key: question for key, question in questions.items() if not math.isnan(answers[key][0])}
    floors = _floors(known, data) if floor else {}
    return {
        key: _estimate(question, data, *answers[key], floors.get(key, NO_FLOOR)) for key, question in questions.items()
    }


def _split(options: Options) -> tuple[RowOptions, Options]:
    """Options of the rows, and options of the measure."""
    names = RowOptions.__annotations__
    rows: Any = {name: value for name, value in options.items() if name in names}
    return rows, {name: value for name, value in options.items() if name not in names}


def _question(measure: Any, options: Options, *, lenient: bool = False) -> _Question:
    """The measure in the table, or a user's own function; `lenient` leaves out options that it does not take."""
    if isinstance(measure, partial):
        if measure.args:
            raise InputError("measure", "must have its options by keyword", f"got {measure_name(measure)}")
        inner = _question(measure.func, {**measure.keywords, **({} if lenient else options)})
        return inner if inner.key else inner._replace(measure=inner.measure._replace(name=measure_name(measure)))
    if isinstance(measure, str):
        key, more = _ALIASES.get(measure, (measure, {}))
        if key not in _MEASURES:
            raise InputError(
                "measure", f"must be one of {', '.join(sorted({*_MEASURES, *_ALIASES}))}", f"got {measure!r}"
            )
        options = {**options, **more}
    elif callable(measure):
        key = str(getattr(measure, "__name__", ""))
        if getattr(measures, key, None) is not measure or key not in _MEASURES:
            return _own_question(measure, {} if lenient else options)
    else:
        demand = "must be a function of the library, its name, or a function of a Tally"
        raise InputError("measure", demand, f"got {measure!r}")
    found = _MEASURES[key]
    function = found.function if not isinstance(found.function, str) else getattr(measures, found.function)
    known = inspect.signature(function).parameters
    unknown = options.keys() - known.keys()
    if unknown and not lenient:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r} for {key}")
    options = {name: value for name, value in options.items() if name not in unknown}
    if key == "ece" and checked_norm(options.get("norm", "l1")) == 2:
        found = found._replace(name="ECE, l2", definition="Root mean square over bins of event rate − mean score.")
    return _Question(key, found, options)


def _own_question(measure: Any, options: Options) -> _Question:
    if measure is measures.corp:
        remedy = "Name its part: 'miscalibration', 'discrimination' or 'uncertainty'."
        raise InputError("measure", "must return one number", "corp returns three", remedy=remedy)
    text = (inspect.getdoc(measure) or "").partition("\n")[0] if not isinstance(measure, partial) else ""
    definition = text or "A function of a Tally."
    none = no_limits("No valid interval is known for a function of your own; `method='bootstrap'` assumes one.")
    return _Question("", _Measure(measure_name(measure), definition, measure, none, "drawn"), options)


def _answer(question: _Question, data: ObservedRows) -> tuple[float, Limits]:
    """Value and limits; fits that give both are made once."""
    measure, options = question.measure, question.options
    if question.key == "squared_ece" and not data.whole and "weight_type" not in options:
        question = question._replace(options={**options, "weight_type": "importance"})
    if question.key == "squared_ece" and options.get("k") not in (None, 1) and data.rows is not None:
        y_true, y_prob, rows = data.rows
        value = measures.squared_ece(y_true, y_prob, **options, **rows)
        return value, limits_or_note(measure.limits, data, value, options)
    if (
        measure.limits in (slope_limits, intercept_limits, free_intercept_limits, auc_limits)
        or measure.floor == "curve"
    ):
        limits = limits_or_note(measure.limits, data, math.nan, options)
        if limits.value is not None:
            return limits.value, limits
        return question.value(data.sums), limits
    value = question.value(_sums_of(question, data))
    return value, limits_or_note(measure.limits, data, value, options)


def _sums_of(question: _Question, data: ObservedRows) -> Any:
    """The sums that a measure is asked of: a user's function gets a Tally where there is one."""
    return data.sums if question.key or data.tally is None else data.tally


def _floors(questions: Mapping[str, _Question], data: ObservedRows) -> dict[str, Floor]:
    floors: dict[str, Floor] = {}
    drawn: dict[tuple[bool, bool], dict[str, Callable[[Any], float]]] = {}
    for key, question in questions.items():
        kind = question.measure.floor
        if not kind:
            continue
        curve = curve_distances(data, question.options) if kind == "curve" else None
        if curve is not None:
            floors[key] = floor_of(curve.floors[:, _CURVE[question.key]], data.level)
            continue
        gaps = _gaps_of(question.key, question.options) if kind == "gaps" else None
        if gaps is not None and gaps.blind and data.sums.kind != "classwise":
            floors[key] = gap_floor(data, *gaps)
        else:
            group = kind in ("pooled", "curve"), question.key in _SUMMED
            drawn.setdefault(group, {})[key] = question.function
    for (pooled, summed), functions in drawn.items():
        floors |= drawn_floors(functions, data, pooled=pooled, summed=summed)
    return floors


def _estimate(question: _Question, data: ObservedRows, value: float, limits: Limits, floor: Floor) -> Estimate:
    return Estimate(
        measure=question.measure.name,
        value=value,
        low=limits.low,
        high=limits.high,
        level=data.level,
        method=limits.method,
        n=data.n,
        definition=question.measure.definition,
        standard_error=limits.standard_error,
        floor=floor.mean,
        floor_high=floor.high,
        excess=value - floor.mean,
        note=" ".join(filter(None, [limits.note, data.note])),
    )
