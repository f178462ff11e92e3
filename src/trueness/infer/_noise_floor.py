"""What a measure shows when nothing is wrong."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import Seed, checked_fraction, checked_whole, generator
from trueness._progress import Progress, reporter
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError, NoEstimateWarning, OneClassWarning, TruenessWarning, warn
from trueness.infer._redraw import Redraw, WeightType, redraw_of_rows, redraw_of_tally
from trueness.results import NoiseFloor
from trueness.typing import ArrayLike, Floats, RowOptions

__all__ = ["Alternative", "TallyMeasure", "noise_floor"]

TallyMeasure: TypeAlias = Callable[[Tally], float]
Alternative: TypeAlias = Literal["greater", "less", "two-sided"]
_ALTERNATIVES = ("greater", "less", "two-sided")
# Redraws that share a stream of random numbers; fixed, so that values do not depend on the number of workers.
_BATCH = 16


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
    r"""What a perfectly calibrated model with these very scores would show for a measure.

    Labels are redrawn from the scores, as if these were the true probabilities, and measured; many times.
    An observed value within that range is no evidence of miscalibration.

    Parameters
    ----------
    measure : callable
        Any function of a :class:`Tally` that returns one number: ``tn.ece``,
        ``functools.partial(tn.tce, bins=5)``, one of your own.
    y_prob : array-like of shape (n,) or (n, K), or Tally
        Scores. A tally gives its scores, and its labels give the observed value. A class-wise tally has lost
        which entries of the matrix belong to one row, and is refused.
    y_true : array-like of shape (n,), optional
        Labels, for the observed value.
    observed : float, optional
        The observed value itself, if labels are not at hand.
    resamples : int, default 999
        How many times labels are redrawn. The smallest p-value is 1/(resamples + 1).
    level : float, default 0.95
        Share of redrawn values between `low` and `high`.
    alternative : {'greater', 'less', 'two-sided'}, default 'greater'
        Which values speak against calibration: large ones (any calibration error), small ones, or both (say, a
        calibration slope).
    weight_type : {'frequency', 'importance'}, default 'frequency'
        'frequency': weight 2 is the row twice, with a label each, and weights are whole numbers.
        'importance': a row of any weight has one label.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same values, whatever the number of workers.
    workers : int, default 1
        Threads. Your own measure must allow for that if there is more than one.
    progress : bool or callable, default True
        A bar on stderr, if that is a terminal and the run takes more than two seconds; or a function of (done, total).
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    NoiseFloor
        Mean, standard deviation and quantiles of the redrawn values, the observed value and its p-value.

    Notes
    -----
    With m* the redrawn values and m the observed one, the p-value is

    .. math:: \frac{1 + \#\{m^* \ge m\}}{R + 1} ,

    which under calibration is at most α with probability at most α, for any measure, number of rows and R.
    'two-sided' is twice the smaller of the two one-sided ones. A redrawn value that is undefined (nan) counts as far
    out and is left out of mean and quantiles; a warning says how many there are.

    The events among rows of one score are a binomial draw, so that nothing is sorted again. This holds for
    'confidence' and 'top-label' too, where the top label comes with the probability it was given. For 'classwise' one
    class is drawn per row, since the columns of a row depend on each other; rows that do not sum to 1 exactly are
    divided by their sum.

    References
    ----------
    Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting, 2007. Vaicenavicius,
    Widmann, Andersson, Lindsten, Roll, Schön, "Evaluating model calibration in classification", AISTATS, 2019.

    Examples
    --------
    Four rows of score 1/2. Zero to four events have errors 1/2, 1/4, 0, 1/4, 1/2, and probabilities
    1/16, 4/16, 6/16, 4/16, 1/16, so that a calibrated model shows 3/16 on average.

    >>> from functools import partial
    >>> import trueness as tn
    >>> from trueness.infer import noise_floor
    >>> floor = noise_floor(partial(tn.ece, bins=1), [0.5] * 4, observed=0.5, seed=1)
    >>> abs(floor.mean - 3 / 16) < 0.02, abs(floor.pvalue - 2 / 16) < 0.04
    (True, True)
    """
    if not callable(measure):
        raise InputError("measure", "must be a function of a Tally, such as `tn.ece`", f"got {measure!r}")
    if not isinstance(alternative, str) or alternative not in _ALTERNATIVES:
        raise InputError("alternative", "must be 'greater', 'less' or 'two-sided'", f"got {alternative!r}")
    level, resamples = checked_fraction(level, "level"), checked_whole(resamples, "resamples")
    workers = checked_whole(workers, "workers")
    rng = generator(seed)
    redraw, labelled = _accept(y_prob, y_true, weight_type, rows)
    if observed is not None and y_true is not None:
        raise InputError("observed", "must be left out when `y_true` is given: the labels give the observed value")
    if observed is None and labelled is not None:
        observed = checked_number(measure, labelled)
    elif observed is not None:
        observed = _checked_observed(observed)
    draws = _draws(measure, redraw, rng, resamples, workers, reporter(progress), told=labelled is not None)
    known = _defined(draws)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return NoiseFloor(
        measure=measure_name(measure),
        mean=float(known.mean()),
        std=float(known.std(ddof=1)) if known.size > 1 else float("nan"),
        low=float(low),
        high=float(high),
        level=level,
        observed=observed,
        pvalue=None if observed is None else _pvalue(draws, observed, alternative),
        alternative=alternative,
        resamples=resamples,
        n=redraw.n,
        kind=redraw.kind,
        draws=draws,
    )


def _accept(
    y_prob: ArrayLike | Tally, y_true: ArrayLike | None, weight_type: WeightType, rows: RowOptions
) -> tuple[Redraw, Tally | None]:
    if not isinstance(weight_type, str) or weight_type not in ("frequency", "importance"):
        raise InputError("weight_type", "must be 'frequency' or 'importance'", f"got {weight_type!r}")
    if not isinstance(y_prob, Tally):
        return redraw_of_rows(y_true, y_prob, rows, weight_type)
    if y_true is not None or rows:
        name = "y_true" if y_true is not None else next(iter(rows))
        raise InputError(name, "must be left out when `y_prob` is a Tally: it holds labels and scores")
    return redraw_of_tally(y_prob, weight_type)


def _checked_observed(observed: Any) -> float:
    if isinstance(observed, bool) or not isinstance(observed, int | float | np.integer | np.floating):
        raise InputError("observed", "must be a number", f"got {observed!r}")
    if not np.isfinite(observed):
        raise InputError("observed", "must be finite", f"got {observed!r}")
    return float(observed)


def checked_number(measure: TallyMeasure, tally: Tally) -> float:
    value = measure(tally)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError("measure", "must return one number", f"it returned {type(value).__name__}")
    return float(value)


def _draws(
    measure: TallyMeasure,
    redraw: Redraw,
    rng: np.random.Generator,
    resamples: int,
    workers: int,
    report: Callable[[int, int], None],
    *,
    told: bool,
) -> Floats:
    """The measure at `resamples` redrawn sets of labels, in batches with a stream of random numbers each."""
    sizes = [min(_BATCH, resamples - at) for at in range(0, resamples, _BATCH)]

    def batch(stream: np.random.Generator, size: int) -> list[float]:
        return [checked_number(measure, redraw(stream)) for _ in range(size)]

    values: list[float] = []
    with warnings.catch_warnings():
        # Redrawn labels that are all equal are no news to the user; what is said of the scores is said once.
        warnings.simplefilter("ignore", OneClassWarning)
        if not told:
            measure(redraw(np.random.default_rng(0)))
        warnings.simplefilter("ignore", TruenessWarning)
        with ThreadPoolExecutor(workers) as pool:
            run = pool.map if workers > 1 else map
            for found in run(batch, rng.spawn(len(sizes)), sizes):
                values += found
                report(len(values), resamples)
    return np.array(values)


def _defined(draws: Floats) -> Floats:
    known = draws[~np.isnan(draws)]
    if known.size < draws.size:
        if not known.size:
            raise InputError("measure", "is nan for every set of redrawn labels, so it has no noise floor")
        warn(
            f"The measure is undefined for {draws.size - known.size:,} of {draws.size:,} sets of redrawn labels.",
            NoEstimateWarning,
        )
    return known


def _pvalue(draws: Floats, observed: float, alternative: Alternative) -> float:
    # Values that are equal but for rounding count as equal: a tie speaks for calibration.
    slack = 1e-12 * max(1.0, abs(observed))
    undefined = np.isnan(draws)
    greater = (1 + int((undefined | (draws >= observed - slack)).sum())) / (draws.size + 1)
    less = (1 + int((undefined | (draws <= observed + slack)).sum())) / (draws.size + 1)
    return {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}[alternative]


def measure_name(measure: Any) -> str:
    """``tce(bins=5)`` for a partial function, the name of any other."""
    if isinstance(measure, partial):
        told = [repr(a) for a in measure.args] + [f"{k}={v!r}" for k, v in measure.keywords.items()]
        return f"{measure_name(measure.func)}({', '.join(told)})"
    name = getattr(measure, "__name__", type(measure).__name__)
    return "measure" if name == "<lambda>" else str(name)
