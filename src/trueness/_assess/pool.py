"""`pool`: estimates from multiply imputed data, by Rubin's rules."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit

from trueness._assess.assessment import Assessment
from trueness._keywords import suggests_keywords
from trueness._numerics.students_t import t_limits
from trueness.errors import InputError, NoEstimateWarning, collected_warnings
from trueness.infer._catalogue import ALIASES, MEASURES
from trueness.results import Estimate, Pooled
from trueness.typing import Floats

Scale: TypeAlias = Literal["identity", "log", "logit"]

# The scale on which estimates are averaged, by measure; others have no standard error that means
# anything, or are biased by an amount that depends on the rows.
_SCALES: dict[str, Scale] = {
    "prevalence": "logit",
    "accuracy": "logit",
    "auc": "logit",
    "observed_expected": "log",
    "intercept": "identity",
    "slope": "identity",
    "free_intercept": "identity",
    "brier": "identity",
    "scaled_brier": "identity",
    "log_loss": "identity",
}
_KEY_OF = {MEASURES[key].name: key for key in _SCALES}


class _Map(NamedTuple):
    """To the scale and back, and the derivative on the way there."""

    there: Callable[[float], float]
    back: Callable[[float], float]
    derivative: Callable[[float], float]
    inside: Callable[[float], bool]


_MAPS: dict[Scale, _Map] = {
    "identity": _Map(float, float, lambda _: 1.0, math.isfinite),
    "log": _Map(math.log, math.exp, lambda v: 1 / v, lambda v: 0 < v < math.inf),
    "logit": _Map(
        lambda v: float(logit(v)),
        lambda x: float(expit(x)),
        lambda v: 1 / (v * (1 - v)),
        lambda v: 0 < v < 1,
    ),
}


@suggests_keywords
def pool(
    imputations: Iterable[Assessment] | Iterable[Estimate],
    measures: Sequence[str] | None = None,
) -> Pooled:
    r"""Pool the estimates of several imputed data sets by Rubin's rules.

    Missing values were imputed M times, and the model was assessed on each completed data set. The
    pooled limits contain both the chance within a data set and the doubt about what is missing.

    Parameters
    ----------
    imputations : sequence of Assessment, or of Estimate
        One per imputed data set, two or more. Estimates must be of the same measure and level.
    measures : sequence of str, optional
        For assessments: the measures to pool, among prevalence, accuracy, auc, observed_expected,
        intercept, slope, free_intercept, brier, scaled_brier and log_loss. By default all that
        every data set has.

    Returns
    -------
    Pooled
        ``pooled["slope"]`` is an :class:`trueness.results.Estimate`.

    Notes
    -----
    With estimates :math:`q_m` and squared standard errors :math:`u_m`,

    .. math:: \bar q = \frac1M \sum q_m , \qquad T = \bar u + \left(1 + \frac1M\right) b , \qquad
              b = \frac{1}{M - 1} \sum (q_m - \bar q)^2 ,

    and limits by Student's t with the degrees of freedom of Barnard and Rubin. O/E is averaged on
    the log scale, rates (prevalence, accuracy, AUC) on the logit scale, others as they are. Other
    measures are refused: errors such as the ECE or ICI are biased upwards by an amount that depends
    on the rows, and an average over imputations keeps the bias.

    The rules assume that imputations are proper: drawn with the doubt about the parameters of the
    imputation, and with the label among its variables. Impute, then assess; do not average scores.

    **Missing labels** need no imputation if each row's probability of having a label is known:
    assess the labelled rows with ``sample_weight=1 / probability``. Weights that are not whole
    numbers are sampling weights, and the result says so.

    References
    ----------
    D. B. Rubin, Multiple Imputation for Nonresponse in Surveys, 1987. J. Barnard, D. B. Rubin,
    Small-sample degrees of freedom with multiple imputation, Biometrika 86 (1999), 948-955. A.
    Marshall, D. G. Altman, R. L. Holder, P. Royston, Combining estimates of interest in prognostic
    modelling studies after multiple imputation, BMC Medical Research Methodology 9 (2009), 57.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 5, 400)
    >>> y = rng.random(400) < p
    >>> completed = [np.where(np.arange(400) < 80, rng.random(400) < p, y) for _ in range(5)]
    >>> pooled = tn.pool([tn.assess(labels, p) for labels in completed])
    >>> print(pooled["observed_expected"])
    observed/expected 1.1131, 95 % 0.9342 to 1.3263 (Rubin's rules, 5 imputations, n = 400)
    """
    try:
        items: list[Any] = list(imputations)
    except TypeError:  # not even every array can be iterated over
        items = []
    if len(items) < 2:
        got = f"got {len(items)}" if items else f"got {type(imputations).__name__}"
        raise InputError("imputations", "must be two or more assessments or estimates", got)
    if all(isinstance(item, Estimate) for item in items):
        if measures is not None:
            raise InputError("measures", "must be left out for estimates", f"got {measures!r}")
        key = _key_of(items[0])
        return Pooled(names=(key,), estimates=(_pooled(key, items),))
    if not all(isinstance(item, Assessment) for item in items):
        kinds = " and ".join(sorted({type(item).__name__ for item in items}))
        raise InputError("imputations", "must all be assessments, or all estimates", f"got {kinds}")
    if len({(item.n, item.level) for item in items}) > 1:
        got = "numbers of rows or levels differ"
        raise InputError("imputations", "must be the same rows at one level", got)
    if measures is None:
        return _pool_all(items)
    keys = [_checked_key(name) for name in _checked_names(measures)]
    pooled = [_pooled(key, [item.estimate(key, floor=False) for item in items]) for key in keys]
    return Pooled(names=tuple(keys), estimates=tuple(pooled))


def _pool_all(assessments: list[Assessment]) -> Pooled:
    """Every measure that all data sets have."""
    pooled: dict[str, Estimate] = {}
    notes = []
    for key in _SCALES:
        with collected_warnings(NoEstimateWarning):  # the note says so
            estimates = [data_set.estimate(key, floor=False) for data_set in assessments]
        try:
            pooled[key] = _pooled(key, estimates)
        except InputError:
            # Which of prevalence and accuracy there is depends on the scores, and is no news.
            if not all(math.isnan(estimate.value) for estimate in estimates):
                notes.append(
                    f"{estimates[0].measure} is left out: not every imputation has a value inside "
                    "its range with a standard error."
                )
    if not pooled:
        demand = "must have a measure with a standard error in every data set"
        raise InputError("imputations", demand, "none has")
    return Pooled(names=tuple(pooled), estimates=tuple(pooled.values()), notes=tuple(notes))


def _pooled(key: str, estimates: list[Estimate]) -> Estimate:
    """One measure by Rubin's rules."""
    first = estimates[0]
    if len({(estimate.measure, estimate.level, estimate.kind) for estimate in estimates}) > 1:
        raise InputError("imputations", "must be of one measure, level and view", "they differ")
    scale = _MAPS[_SCALES[key]]
    for i, estimate in enumerate(estimates):
        if not (scale.inside(estimate.value) and 0 <= estimate.standard_error < math.inf):
            error = estimate.standard_error
            got = f"number {i + 1} has {estimate.value:g} with standard error {error:g}"
            demand = f"must have a value of {first.measure} inside its range, with a standard error"
            raise InputError("imputations", demand, got)
    values = np.array([scale.there(estimate.value) for estimate in estimates])
    errors = np.array(
        [estimate.standard_error * scale.derivative(estimate.value) for estimate in estimates]
    )
    rubin = _rubin(values, errors, first.n - 1)
    low, high = t_limits(rubin.mean, rubin.error, rubin.freedom, first.level)
    value = scale.back(rubin.mean)
    note = (
        f"{100 * rubin.missing:.0f} % of the variance is doubt about what was imputed. {first.note}"
    )
    return replace(
        first,
        value=value,
        low=scale.back(low),
        high=scale.back(high),
        method=f"Rubin's rules, {len(estimates)} imputations",
        standard_error=rubin.error / scale.derivative(value),
        floor=math.nan,
        floor_high=math.nan,
        note=note.strip(),
    )


class _Rubin(NamedTuple):
    """A pooled estimate on its scale."""

    mean: float
    error: float
    freedom: float
    missing: float
    """The share of the variance between imputations."""


def _rubin(values: Floats, errors: Floats, freedom: float) -> _Rubin:
    """The rules for estimates on their scale; `freedom` is that of complete data."""
    m = values.size
    between = (1 + 1 / m) * float(values.var(ddof=1))
    total = float((errors**2).mean()) + between
    share = between / total if total > 0 else 0.0
    # Degrees of freedom by Barnard and Rubin (1999).
    observed = (freedom + 1) / (freedom + 3) * freedom * (1 - share)
    if share > 0:
        observed = 1 / (1 / observed + share**2 / (m - 1)) if observed > 0 else 0.0
    return _Rubin(float(values.mean()), math.sqrt(total), observed, share)


def _key_of(estimate: Estimate) -> str:
    if estimate.measure not in _KEY_OF:
        demand = f"must be of one of {', '.join(_KEY_OF)}"
        raise InputError("imputations", demand, f"got {estimate.measure!r}")
    return _KEY_OF[estimate.measure]


def _checked_names(measures: object) -> list[object]:
    if isinstance(measures, str) or not isinstance(measures, Sequence) or not measures:
        raise InputError("measures", "must be a sequence of names", f"got {measures!r}")
    return list(measures)


def _checked_key(name: object) -> str:
    key = ALIASES.get(name, name) if isinstance(name, str) else name
    if not isinstance(key, str) or key not in _SCALES:
        raise InputError("measures", f"must be among {', '.join(_SCALES)}", f"got {name!r}")
    return key
