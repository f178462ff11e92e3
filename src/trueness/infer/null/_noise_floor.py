"""The noise floor: what a measure shows for a perfectly calibrated model."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import (
    MOST_WORKERS,
    Seed,
    checked_fraction,
    checked_number,
    checked_resamples,
    checked_whole,
    checked_word,
    generator,
)
from trueness._input.columns import column
from trueness._progress import Progress, reporter
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.tally import Parts, Tally
from trueness.errors import InputError, NoEstimateWarning, OneClassWarning, collected_warnings, warn
from trueness.infer.interval._resampling import parallel_draws
from trueness.infer.null._redrawn_labels import Redraw, WeightType, redraw_of
from trueness.measure._tce import tce, tce_of_tallies
from trueness.results import NoiseFloor
from trueness.typing import ArrayLike, Floats, RowOptions

TallyMeasure: TypeAlias = Callable[[Tally], float]
Alternative: TypeAlias = Literal["greater", "less", "two-sided"]
_ALTERNATIVES = ("greater", "less", "two-sided")
_BATCH = 1 << 18


@takes_rows
def noise_floor(
    measure: TallyMeasure,
    y_prob: ArrayLike | Tally,
    *,
    y_true: ArrayLike | None = None,
    observed: float | None = None,
    resamples: int = 999,
    level: float = 0.95,
    alternative: Alternative = "greater",
    weight_type: WeightType = "frequency",
    seed: Seed = None,
    workers: int = 1,
    progress: Progress = True,
    **rows: Unpack[RowOptions],
) -> NoiseFloor:
    r"""The values of a measure for a perfectly calibrated model with the same scores.

    Labels are drawn from the scores, as if these were the true probabilities, and measured, many times. An observed
    value within the range of the results is no evidence of miscalibration.

    Parameters
    ----------
    measure : callable
        Any function of a :class:`Tally` that returns one number: ``tn.ece``,
        ``functools.partial(tn.tce, bins=5)``, one of your own.
    y_prob : array-like of shape (n,) or (n, K), or Tally
        Scores. The labels of a tally give the observed value. A class-wise tally does not keep the scores of a row
        together and is refused.
    y_true : array-like of shape (n,), optional
        Labels, for the observed value.
    observed : float, optional
        The observed value, if labels are not available.
    resamples : int, default 999
        Number of sets of labels. The smallest p-value is 1/(resamples + 1).
    level : float, default 0.95
        Share of simulated values between `low` and `high`.
    alternative : {'greater', 'less', 'two-sided'}, default 'greater'
        Which values are evidence against calibration: large ones (any calibration error), small ones, or both (for
        example a calibration slope).
    weight_type : {'frequency', 'importance'}, default 'frequency'
        'frequency': whole numbers; a weight of 2 counts the row twice, with a label each.
        'importance': a row of any weight has one label.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same values with any number of workers.
    workers : int, default 1
        Number of threads; a measure of your own must be thread-safe if there are several.
    progress : bool or callable, default True
        A progress bar on stderr, if that is a terminal and the run takes more than half a second; or a function of
        (done, total).
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    NoiseFloor
        Mean, standard deviation and quantiles of the simulated values, the observed value and its p-value.

    Notes
    -----
    With m* the simulated values and m the observed one, the p-value is

    .. math:: \frac{1 + \#\{m^* \ge m\}}{R + 1} ,

    which under calibration is at most α with probability at most α, for any measure, number of rows and R.
    'two-sided' is twice the smaller of the two one-sided p-values. An undefined simulated value (nan) counts as extreme
    and is left out of mean and quantiles; a warning gives their number.

    The events among rows of one score are a binomial draw, so nothing is sorted again. This includes 'confidence' and
    'top-label', where the top label is correct with its predicted probability. For 'classwise' one class is drawn per
    row, since the columns of a row are dependent; rows that do not sum to exactly 1 are divided by their sum.

    References
    ----------
    Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting, 2007. Vaicenavicius,
    Widmann, Andersson, Lindsten, Roll, Schön, "Evaluating model calibration in classification", AISTATS, 2019.

    Examples
    --------
    Four rows of score 1/2. Zero to four events have errors 1/2, 1/4, 0, 1/4, 1/2, and probabilities
    1/16, 4/16, 6/16, 4/16, 1/16, so a calibrated model shows 3/16 on average.

    >>> from functools import partial
    >>> import trueness as tn
    >>> from trueness.infer import noise_floor
    >>> floor = noise_floor(partial(tn.ece, bins=1), [0.5] * 4, observed=0.5, seed=1)
    >>> abs(floor.mean - 3 / 16) < 0.02, abs(floor.pvalue - 2 / 16) < 0.04
    (True, True)
    """
    if not callable(measure):
        raise InputError("measure", "must be a function of a Tally, such as `tn.ece`", f"got {measure!r}")
    checked_word(weight_type, "weight_type", ("frequency", "importance"))
    checked_word(alternative, "alternative", _ALTERNATIVES)
    level, resamples, rng = checked_fraction(level, "level"), checked_resamples(resamples), generator(seed)
    workers = checked_whole(workers, "workers", MOST_WORKERS)
    if observed is not None and y_true is not None:
        raise InputError("observed", "must be left out when `y_true` is given, which determines it")
    summed = isinstance(y_prob, Parts)
    if summed:
        if y_true is not None:
            raise InputError("y_true", "must be left out when `y_prob` is a Tally, which holds labels and scores")
        evidence = replace(Evidence.of(y_prob, None, rows, two_columns="keep"), weight_type=weight_type)
    else:
        labels = _placeholder_labels(y_prob, rows) if y_true is None else y_true
        evidence = Evidence.of(labels, y_prob, rows, two_columns="keep", cluster=None, weight_type=weight_type)
    labelled = summed or y_true is not None
    with nullcontext() if labelled else collected_warnings(OneClassWarning):
        redraw = redraw_of(evidence)
    if observed is not None:
        observed = checked_number(observed, "observed")
    elif labelled:
        observed = measure_value(measure, redraw.tally)
    report = reporter(progress)
    draws = redrawn_values(measure, redraw, rng, resamples, workers=workers, report=report, measured=labelled)
    name, tally = measure_name(measure), redraw.tally
    return floor_of_draws(name, draws, observed, level, alternative, n=tally.n, kind=tally.kind)


def noise_floor_of(
    evidence: Evidence, measure: TallyMeasure, *, resamples: int, level: float, rng: np.random.Generator
) -> NoiseFloor:
    """The noise floor of rows that have been read, as :func:`noise_floor`, without an observed value."""
    with collected_warnings(OneClassWarning):
        redraw = redraw_of(evidence)
    draws, tally = redrawn_values(measure, redraw, rng, resamples, measured=False), redraw.tally
    return floor_of_draws(measure_name(measure), draws, None, level, n=tally.n, kind=tally.kind)


def floor_of_draws(
    name: str,
    draws: Floats,
    observed: float | None,
    level: float = 0.95,
    alternative: Alternative = "greater",
    *,
    n: int,
    kind: str = "binary",
) -> NoiseFloor:
    """The noise floor from the values of a measure for simulated labels."""
    known = _defined(draws)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return NoiseFloor(
        measure=name,
        mean=float(known.mean()),
        std=float(known.std(ddof=1)) if known.size > 1 else float("nan"),
        low=float(low),
        high=float(high),
        level=level,
        observed=observed,
        pvalue=None if observed is None else _pvalue(draws, observed, alternative),
        alternative=alternative,
        resamples=draws.size,
        n=n,
        kind=kind,
        draws=draws,
    )


def _placeholder_labels(y_prob: Any, rows: RowOptions) -> Any:
    """Labels that pass every check, where there are none."""
    shape = column(y_prob, "y_prob").values.shape
    n = next(iter(shape), 1)
    if rows.get("kind") == "multilabel" or len(shape) > 2:
        return np.zeros(shape if len(shape) == 2 else (n, *shape[2:]), dtype=np.uint8)
    named, positive = rows.get("labels"), rows.get("pos_label")
    if named is None and positive is None:
        return np.zeros(n, dtype=np.uint8)
    return [positive if named is None else next(iter(named))] * n


def measure_value(measure: TallyMeasure, tally: Tally) -> float:
    """The measure of a tally, which must be one number."""
    try:
        value = measure(tally)
    except (TypeError, AttributeError) as error:
        got = f"called with one, it raised {type(error).__name__}: {error}"
        raise InputError("measure", "must be a function of a Tally", got) from error
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError("measure", "must return one number", f"it returned {type(value).__name__}")
    return float(value)


def redrawn_values(
    measure: TallyMeasure,
    redraw: Redraw,
    rng: np.random.Generator,
    resamples: int,
    *,
    workers: int = 1,
    report: Callable[[int, int], None] = lambda _done, _total: None,
    measured: bool = True,
) -> Floats:
    """The measure for `resamples` sets of labels."""
    # Equal simulated labels are no concern of the user; warnings about the scores are given once.
    if not measured:
        with collected_warnings(OneClassWarning):
            measure_value(measure, redraw(np.random.default_rng(0)))

    def values(stream: np.random.Generator, size: int) -> list[float]:
        return values_of_tallies(measure, (redraw(stream) for _ in range(size)))

    with collected_warnings():
        return np.array(parallel_draws(values, resamples, rng, workers, report))


def values_of_tallies(measure: TallyMeasure, tallies: Iterable[Tally]) -> list[float]:
    """The measure of each tally: as many calls of it, but those of the TCE are made together."""
    inner = measure.func if isinstance(measure, partial) else measure
    if inner is not tce or (isinstance(measure, partial) and measure.args):
        return [measure_value(measure, tally) for tally in tallies]
    options = measure.keywords if isinstance(measure, partial) else {}
    values: list[float] = []
    left = iter(tallies)
    for first in left:  # as many at a time as stay in the processor's cache
        several = _BATCH // max(1, sum(part.size for part in first.parts))
        values += tce_of_tallies([first, *islice(left, several)], **options)
    return values


def _defined(draws: Floats) -> Floats:
    known = draws[~np.isnan(draws)]
    if known.size < draws.size:
        if not known.size:
            raise InputError("measure", "must be defined for some set of simulated labels", "it is nan for every set")
        warn(
            f"The measure is undefined for {draws.size - known.size:,} of {draws.size:,} sets of simulated labels.",
            NoEstimateWarning,
        )
    return known


def _pvalue(draws: Floats, observed: float, alternative: Alternative) -> float:
    # Values that are equal up to rounding count as equal, in favour of calibration.
    slack = 1e-12 * max(1.0, abs(observed))
    undefined = np.isnan(draws)
    greater = (1 + int((undefined | (draws >= observed - slack)).sum())) / (draws.size + 1)
    less = (1 + int((undefined | (draws <= observed + slack)).sum())) / (draws.size + 1)
    return {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}[alternative]


def measure_name(measure: Any) -> str:
    """``tce(bins=5)`` for a partial function, the name of any other."""
    if isinstance(measure, partial):
        options = [repr(a) for a in measure.args] + [f"{k}={v!r}" for k, v in measure.keywords.items()]
        return f"{measure_name(measure.func)}({', '.join(options)})"
    name = getattr(measure, "__name__", type(measure).__name__)
    return "measure" if name == "<lambda>" else str(name)
