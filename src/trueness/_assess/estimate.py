"""Any measure with its uncertainty: one verb for all."""

from collections.abc import Callable
from typing import Literal, cast

from trueness._assess.asked import ESTIMATE
from trueness._assess.reading import asked_of
from trueness._input.arguments import Seed, checked_word
from trueness._input.weights import WEIGHT_TYPES
from trueness.infer._questions import question_of
from trueness.results import Estimate
from trueness.typing import ArrayLike, RowOptions, WeightType


def estimate(
    measure: str | Callable[..., float],
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    seed: Seed = 0,
    floor: bool = True,
    method: Literal["auto", "bootstrap"] = "auto",
    **options: object,
) -> Estimate:
    """A measure with its confidence interval or, where no valid one is known, with its noise floor.

    Parameters
    ----------
    measure : callable or str
        A function of the library (``tn.ece``, ``functools.partial(tn.ece, bins=15)``), its name
        (``"ece"``), a part of :func:`corp` (``"miscalibration"``, ``"discrimination"``,
        ``"uncertainty"``), ``"l2"``, ``"free_intercept"``, ``"prevalence"``, ``"accuracy"``, or
        your own function of a :class:`Tally` that returns one number.
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. A :class:`Tally`, :class:`trueness.sources.Sketch` or
        :class:`trueness.sources.Binned` replaces both; a measure that it does not determine is nan,
        and `note` says why.
    level : float, default 0.95
        Confidence level, more than 1/2.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    seed : int or numpy.random.Generator, default 0
        For noise floors and for limits that redraw labels.
    floor : bool, default True
        Whether to simulate the noise floor of a measure that is biased upwards.
    method : {'auto', 'bootstrap'}, default 'auto'
        'bootstrap', for your own function only: the basic bootstrap with 999 resamples of rows or
        clusters. It assumes that the function varies around its true value, so it fails for a
        calibration error near zero.
    **options
        Options of the measure (`bins`, `norm`, `curve`, …) and of the rows (`kind`, `pos_label`,
        `missing`, …).

    Returns
    -------
    Estimate
        `value` is what the measure itself returns; `low` ≤ `value` ≤ `high`; `method`;
        `standard_error`; `floor` and `floor_high`; `definition`, `kind` and `bins`; `note`.

    Notes
    -----
    ``docs/reference/inference.md`` describes the methods of limits, ``docs/evidence/coverage.md``
    how often they cover. The l2 error and its square have value and limits of :func:`ece_interval`.

    For MCE, TCE, smooth ECE, ICI, E50, E90, Emax, miscalibration and your own functions no valid
    interval is known: they are biased upwards, and a percentile bootstrap would exclude zero for
    most calibrated models. Instead `floor` is the mean of the measure over labels drawn from the
    scores, as a calibrated model would have them, and `floor_high` its upper quantile.

    A matrix of two columns is the binary problem of the second, unless `kind` is given. A mean over
    classes has an interval only if it is a mean of rows too (Brier score, log loss).

    With ``kind="multilabel"`` each label is a binary problem. `each` has them with limits at the
    level 1 − α/L (Bonferroni), which hold for all L labels together; so does their mean, the limits
    of the mean over labels. Images (dense predictions) are clusters by default; the mean over their
    classes is computed in the same way.

    References
    ----------
    W. J. Venables and B. D. Ripley, Modern Applied Statistics with S, 2002 (profile likelihood). E.
    R. DeLong et al., Comparing the areas under two or more correlated receiver operating
    characteristic curves, Biometrics, 1988.

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
    named = [name for name in RowOptions.__annotations__ if name in options]
    rows = cast(RowOptions, {name: options.pop(name) for name in named})
    if sample_weight is not None:
        rows["sample_weight"] = sample_weight
    question = question_of(measure, options)
    checked_word(method, "method", ("auto", "bootstrap"))
    checked_word(weight_type, "weight_type", WEIGHT_TYPES)
    # A measure that was bound to a type of weights asks for rows of it.
    bound = question.options.get("weight_type", "auto")
    rows["weight_type"] = bound if weight_type == "auto" else weight_type
    a = asked_of(
        y_true,
        y_prob,
        rows,
        cluster=cluster,
        level=level,
        seed=seed,
        own_bins=True,
    )
    return a.ask(ESTIMATE, measure=measure, floor=floor, method=method, strict=True, **options)
