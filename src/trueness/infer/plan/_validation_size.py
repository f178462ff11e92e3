"""Planning a validation: the rows needed to estimate, test or accept calibration."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from trueness._input.arguments import Seed, checked_fraction, is_number, whole_seed
from trueness._keywords import suggests_keywords
from trueness._level import checked_level, level_percent
from trueness._numerics.roots import bracketed_root
from trueness._progress import Progress, reporter
from trueness._tally.cells import Cells
from trueness.errors import InputError
from trueness.infer.plan._power import (
    MOST_ROWS,
    Accepted,
    ScoreLaw,
    acceptance_size,
    moved,
    rows_for,
    score_law,
)
from trueness.infer.test._omnibus import power_function
from trueness.results import ValidationSize
from trueness.typing import ArrayLike

Name = TypeVar("Name", bound=str)

_LEAST_TARGET = 1e-9
_MOST_TARGET = 1e9
# The widths that software for Riley's criteria plans for by default; that of the Brier score is
# ours.
_WIDTHS = {"oe_width": 0.2, "slope_width": 0.2, "brier_width": 0.02, "c_width": 0.1}
_TITLES = {
    "oe_width": "O/E",
    "slope_width": "slope",
    "brier_width": "Brier score",
    "c_width": "c-statistic",
}
# Power is simulated for at most this number of distinct scores; with more, neighbours share one.
_MANY = 1024
_DRAWS = 400
_NULL_DRAWS = 999
_LEAST_ROWS = 10
_STEPS = 12


@suggests_keywords
def validation_size(
    *,
    prevalence: float | None = None,
    c_statistic: float | None = None,
    log_odds: tuple[float, float] | None = None,
    scores: ArrayLike | None = None,
    oe_width: float | None = None,
    oe_se: float | None = None,
    slope_width: float | None = None,
    brier_width: float | None = None,
    c_width: float | None = None,
    detect_oe: float | None = None,
    detect_slope: float | None = None,
    accept_oe: float | None = None,
    accept_l2: float | None = None,
    accept_ece: float | None = None,
    accept_band: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
    seed: Seed = 0,
    progress: Progress = True,
) -> ValidationSize:
    r"""The number of rows that the validation of a model needs.

    Parameters
    ----------
    prevalence : float, optional
        The event rate. Alone, it is enough for O/E; with `c_statistic`, for everything: the
        log-odds are then taken to be normal, with the mean and standard deviation that give these
        two.
    c_statistic : float, optional
        The area under the ROC curve that is expected, above 0.5.
    log_odds : (float, float), optional
        Mean and standard deviation of the log-odds of the scores, which are taken to be normal.
    scores : array-like of shape (n,), optional
        Scores of the model on earlier rows, instead of `log_odds`. Prevalence and c-statistic
        follow from either, unless they are given too.
    oe_width, slope_width, brier_width, c_width : float, optional
        The distance between the confidence limits of observed/expected events, of the calibration
        slope, the Brier score and the c-statistic. By default, if no other criterion is given: 0.2,
        0.2, 0.02 and 0.1, as far as they can be planned.
    oe_se : float, optional
        Standard error of log O/E, instead of `oe_width`.
    detect_oe : float, optional
        A value of O/E that the omnibus test of :func:`trueness.calibration_test` must detect: all
        log-odds are off by the same shift.
    detect_slope : float, optional
        A slope that the omnibus test must detect, at O/E = 1; below 1, the scores are too extreme.
    accept_oe : float, optional
        Margin within which O/E must be shown to be 1 ± margin, by two one-sided tests, if the
        scores are calibrated.
    accept_l2, accept_ece, accept_band : float, optional
        Margin within which :func:`trueness.equivalence_test` must accept calibrated scores by this
        criterion: the l2 error, the ECE in ten bins of equal width, or the monotone band.
    level : float, default 0.95
        Confidence level; tests reject at 1 − level.
    power : float, default 0.8
        Probability with which tests should detect the error, or accept.
    seed : int or numpy.random.Generator, default 0
        For the simulated power: of 400 sets of labels for detection, and of 100 samples for
        acceptance (40 for `accept_band`).
    progress : bool or callable, default True
        Whether to show a progress bar on a terminal if acceptance takes long, or a function of
        (done, total).

    Returns
    -------
    ValidationSize
        Rows and expected events for each criterion, and the rows that meet all.

    Notes
    -----
    A simulated power is known within a few points, and so are the rows: planned for a power of 0.8,
    rows were accepted within 0.04, 0.05 and 0.06 (`accept_l2`) in .88, .92 and .72 of samples, and
    O/E of 1.5 at a rate of 2 % was detected in .78 (60 to 150 samples each).

    With z the normal quantile of the level, φ the prevalence, p the scores and x their log-odds,
    all for a calibrated model (Riley et al. 2021; Brier score: ours):

    .. math::

        n_{O/E} &= \frac{1 - \varphi}{\varphi\, s^2} , \quad s = \mathrm{asinh}(\text{width} / 2) /
        z , \\ n_{slope} &= \frac{I_0}{s^2 (I_0 I_2 - I_1^2)} , \quad I_k = E[p (1 - p) x^k] , \quad
        s = \text{width} / 2z , \\ n_{Brier} &= \frac{E[v (1 - 3 v)] - E[v]^2}{s^2} , \quad v = p
        (1 - p) ,

    and for the c-statistic C the smallest n at which Newcombe's (2006) standard error,

    .. math:: \sqrt{\frac{C (1 - C) \left[
              1 + (n / 2 - 1) \left( \frac{1 - C}{2 - C} + \frac{C}{1 + C} \right)
              \right]}{n^2 \varphi (1 - \varphi)}} ,

    is at most width/2z. O/E has the limits exp(±z s); its size is on the safe side, as it ignores
    how the scores separate the labels.

    **Acceptance of O/E.** With :math:`s = \sqrt{(1 - \varphi)/n\varphi}`, two one-sided tests at 1
    − level accept with probability :math:`\Phi(\log(1 + m)/s - z') + \Phi(-\log(1 - m)/s - z') -
    1`, z' the one-sided quantile.

    **Simulated power.** For detection, 400 sets of labels with log-odds :math:`a + b x` (slope b,
    and the a that gives the O/E) are drawn for each number of rows, at scores on quantiles of their
    distribution; for acceptance of the l2 error, ECE or band up to 100, or 40 for the band, from
    the scores. Numbers are rounded up to two digits, and good to about 10 %.

    References
    ----------
    R. D. Riley, T. P. A. Debray, G. S. Collins, L. Archer, J. Ensor, M. van Smeden, K. I. E. Snell,
    Minimum sample size for external validation of a clinical prediction model with a binary
    outcome, Statistics in Medicine 40 (2021). R. G. Newcombe, Confidence intervals for an effect
    size measure based on the Mann-Whitney statistic. Part 2, Statistics in Medicine 25 (2006).

    Examples
    --------
    Two of the published examples: 1.8 % events, and log-odds of mean −5 and standard deviation 2.5.

    >>> import trueness as tn
    >>> tn.validation_size(prevalence=0.018, oe_se=0.2456).n
    905
    >>> tn.validation_size(log_odds=(-5, 2.5), slope_width=0.2).n
    4554

    All four for a model with 10 % events and a c-statistic of 0.8:

    >>> print(tn.validation_size(prevalence=0.1, c_statistic=0.8))
    criterion    target                   rows  events
    O/E          95 % limits 0.2 apart   3,469     347
    slope        95 % limits 0.2 apart   4,287     429
    Brier score  95 % limits 0.02 apart  1,548     155
    c-statistic  95 % limits 0.1 apart     836      84
    <BLANKLINE>
    4,287 rows meet all criteria, if 10 % of them are events.
    """
    level = checked_level(level)
    power = checked_fraction(power, "power")
    seed = whole_seed(seed)
    widths = {
        "oe_width": oe_width,
        "slope_width": slope_width,
        "brier_width": brier_width,
        "c_width": c_width,
    }
    errors = {"detect_oe": detect_oe, "detect_slope": detect_slope}
    margins: dict[Accepted, float | None] = {
        "l2": accept_l2,
        "ece": accept_ece,
        "band": accept_band,
    }
    accepted = {
        "accept_oe": accept_oe,
        **{f"accept_{name}": margin for name, margin in margins.items()},
    }
    targets = {**widths, "oe_se": oe_se, **errors, **accepted}
    _check_targets(targets)
    law = score_law(prevalence, c_statistic, log_odds, scores)
    if prevalence is not None:
        rate = float(prevalence)
    else:
        assert law is not None  # without a prevalence there is a law
        rate = law.prevalence
    by_default = all(value is None for value in targets.values())
    if by_default and law is None:
        widths["oe_width"] = _WIDTHS["oe_width"]
    elif by_default:
        widths.update(_WIDTHS)
    plan = _Plan(law, rate, c_statistic, level, power)
    criteria = [plan.precision(name, width) for name, width in _given(widths)]
    if oe_se is not None:
        target = f"standard error of log O/E {oe_se:g}"
        criteria.append(_Criterion("O/E", target, _whole((1 - rate) / rate / oe_se**2)))
    criteria += [plan.detection(name, value, seed) for name, value in _given(errors)]
    if accept_oe is not None:
        criteria.append(plan.acceptance(accept_oe))
    criteria += _equivalences(plan, _given(margins), seed, reporter(progress))
    return plan.result(criteria, explain=by_default)


def _given(targets: Mapping[Name, float | None]) -> list[tuple[Name, float]]:
    """The targets that were given, by name."""
    return [(name, value) for name, value in targets.items() if value is not None]


def _equivalences(
    plan: "_Plan",
    margins: Sequence[tuple[Accepted, float]],
    seed: int,
    report: Callable[[int, int], object],
) -> "Iterator[_Criterion]":
    """The rows to accept each margin; progress is reported in steps."""
    total = _STEPS * len(margins)
    for i, (criterion, margin) in enumerate(margins):
        # About ten numbers of rows are tried, each of which is a step.
        steps = (report(done, total) for done in range(_STEPS * i + 1, _STEPS * (i + 1)))
        yield plan.equivalence(criterion, margin, seed, partial(next, steps, None))
        report(_STEPS * (i + 1), total)


class _Criterion(NamedTuple):
    """What is planned for, and the rows it takes."""

    title: str
    target: str
    size: int | None
    """None if there are too many."""


class _Plan(NamedTuple):
    """The law of the scores, the event rate, and the level and power of limits and tests."""

    law: ScoreLaw | None
    rate: float
    c: float | None
    """The c-statistic, if it was given."""
    level: float
    power: float

    @property
    def z(self) -> float:
        """The two-sided normal quantile."""
        return float(ndtri((1 + self.level) / 2))

    @property
    def c_statistic(self) -> float:
        """As given, or as the law implies."""
        implied = math.nan if self.law is None else self.law.c_statistic
        if self.c is None:
            return implied
        return float(self.c)

    def known_law(self, name: str) -> ScoreLaw:
        """The law; an error that names the argument if there is none."""
        if self.law is None:
            remedy = "Give `c_statistic`, `log_odds` or `scores`, too."
            raise InputError(
                name,
                "needs the spread of the scores",
                "only the prevalence is known",
                remedy=remedy,
            )
        return self.law

    def precision(self, name: str, width: float) -> _Criterion:
        """Rows for confidence limits that are `width` apart, of the criterion called `name`.

        O/E needs the event rate alone, the c-statistic also its value, the others the law of the
        scores.
        """
        se = width / 2 / self.z
        if name == "oe_width":
            size = (1 - self.rate) / self.rate / (math.asinh(width / 2) / self.z) ** 2
        elif name == "c_width":
            if self.c is None:
                self.known_law(name)
            size = _c_size(self.rate, self.c_statistic, se)
        elif name == "slope_width":
            size = _slope_size(self.known_law(name), se)
        else:
            size = _brier_size(self.known_law(name), se)
        target = f"{level_percent(self.level)} limits {width:g} apart"
        return _Criterion(_TITLES[name], target, _whole(size))

    def detection(self, name: str, value: float, seed: int) -> _Criterion:
        """Rows with which the omnibus test detects an error with the probability `power`.

        The error is an O/E of `value` ('detect_oe') or a slope of `value`. If there are too many
        rows, the size is None.
        """
        law = self.known_law(name)
        if name == "detect_oe":
            title = "O/E"
            slope = 1.0
            shift = law.shift(value, 1.0)
        else:
            title = "slope"
            slope = value
            shift = law.shift(1.0, value)

        def simulated(n: int) -> float:
            """The share of data sets of n rows that the test rejects."""
            score, count = law.rows(n, _MANY)
            cells = Cells(score, count, count, np.zeros_like(count))
            power_at = power_function(cells, 1 - self.level, null_draws=_NULL_DRAWS, seed=seed)
            return power_at(moved(score, slope, shift), _DRAWS)

        target = f"{title} {value:g} detected with probability {self.power:g}"
        # The rows that the best single test would need.
        strength = law.strength(moved(law.score, slope, shift))
        first = (self.z + max(float(ndtri(self.power)), 0.0)) ** 2 / strength
        size = rows_for(simulated, self.power, first, fewest=_LEAST_ROWS, times=2, draws=_DRAWS)
        if size is not None:
            size = _two_digits(max(size, _LEAST_ROWS))
        return _Criterion("omnibus test", target, size)

    def acceptance(self, margin: float) -> _Criterion:
        """Rows with which two one-sided tests accept O/E = 1 ± margin, if it is 1, with this power.

        Margins of 1 and more have no lower end, so that one test is enough.
        """
        quantile = float(ndtri(self.level))
        above = math.log1p(margin)

        def missing(errors: float) -> float:
            """The power that is missing if log(1 + margin) is `errors` standard errors."""
            below = errors * -math.log1p(-margin) / above if margin < 1 else math.inf
            return 1 + self.power - float(ndtr(errors - quantile) + ndtr(below - quantile))

        # Margins may be smaller than the precision of a root; numbers of standard errors are not.
        errors = bracketed_root(missing, 0.0, 50.0) if missing(0.0) > 0 else 0.0
        target = f"accepted within 1 ± {margin:g} with probability {self.power:g}"
        size = _whole((1 - self.rate) / self.rate * (errors / above) ** 2)
        return _Criterion("O/E", target, size)

    def equivalence(
        self, criterion: Accepted, margin: float, seed: int, step: Callable[[], None]
    ) -> _Criterion:
        """Rows with which the equivalence test accepts calibrated scores within `margin`.

        `step` is called after each number of rows that is tried. If there are too many rows, the
        size is None.
        """
        law = self.known_law(f"accept_{criterion}")
        title = {"l2": "typical error", "ece": "ECE", "band": "monotone band"}[criterion]
        size = acceptance_size(law, criterion, margin, self.level, self.power, seed, step)
        target = f"accepted within {margin:g} with probability {self.power:g}"
        return _Criterion(title, target, None if size is None else _two_digits(size))

    def result(self, criteria: list[_Criterion], *, explain: bool) -> ValidationSize:
        """The record of all criteria, with notes.

        `n` is the largest of their sizes; None if one of them takes too many rows. With `explain` a
        note says what a prevalence alone leaves out.
        """
        sizes = tuple(criterion.size for criterion in criteria)
        notes = []
        if self.law is None and explain:
            notes.append(
                "The prevalence alone plans O/E only; "
                "`c_statistic`, `log_odds` or `scores` plan the others."
            )
        if self.law is not None and not 0.9 < self.law.prevalence / self.rate < 1.1:
            notes.append(
                f"The scores imply a prevalence of {100 * self.law.prevalence:.3g} %; O/E and "
                "c-statistic are planned for the one given, the rest for that of the scores."
            )
        largest: int | None = max(size or 0 for size in sizes)
        if None in sizes:
            notes.append(f"–: more than {MOST_ROWS:,} rows; the test has hardly any power.")
            largest = None
        return ValidationSize(
            n=largest,
            criterion=tuple(criterion.title for criterion in criteria),
            target=tuple(criterion.target for criterion in criteria),
            size=sizes,
            events=tuple(None if size is None else round(size * self.rate) for size in sizes),
            prevalence=self.rate,
            c_statistic=self.c_statistic,
            level=self.level,
            power=self.power,
            notes=tuple(notes),
        )


def _slope_size(law: ScoreLaw, se: float) -> float:
    """Rows with which the slope has the standard error `se`; equal scores are refused."""
    total, first, second = law.information
    determinant = total * second - first**2
    if determinant <= 1e-12 * total * second:
        raise InputError("slope_width", "needs scores that differ", "they are all equal")
    return total / determinant / se**2


def _brier_size(law: ScoreLaw, se: float) -> float:
    """Rows with which the Brier score of calibrated scores has the standard error `se`."""
    v = law.score * (1 - law.score)
    mean_square = float(law.share @ (v * (1 - 3 * v)))
    return (mean_square - float(law.share @ v) ** 2) / se**2


def _c_size(rate: float, c: float, se: float) -> float:
    """Rows with which a c-statistic of `c` has the standard error `se`, at the event rate `rate`.

    Newcombe's formula for n rows is se² = c(1 − c)(1 + (n/2 − 1)a) / (n² rate(1 − rate)) with a =
    (1 − c)/(2 − c) + c/(1 + c). It is a quadratic equation in n, and the result is its larger root.
    """
    a = (1 - c) / (2 - c) + c / (1 + c)
    s = se**2 * rate * (1 - rate) / (c * (1 - c))
    root = math.sqrt(a**2 / 4 + 4 * s * (1 - a))
    return (a / 2 + root) / (2 * s)


def _whole(size: float) -> int:
    """The size rounded up, but for 1e-9 of rounding error; at least 1."""
    return max(1, math.ceil(size - 1e-9))


def _two_digits(n: float) -> int:
    """The number rounded up to two digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return math.ceil(n / unit) * unit


def _check_targets(targets: dict[str, Any]) -> None:
    """Refuse a target that is out of its range, and two that say the same.

    `targets` are the arguments of :func:`validation_size` that are criteria, by name; None is a
    criterion that is not wanted. All must be finite numbers from 1e-9 to 1e9. A target named
    `detect_…` is the wrong O/E or slope to be detected and cannot be 1, which is no error. Margins
    in units of probability are at most 1; that of O/E may be larger. `oe_width` follows from
    `oe_se`, so that only one may be given.
    """
    for name, value in targets.items():
        if value is None:
            continue
        if not (is_number(value) and value > 0):
            raise InputError(name, "must be a finite number above 0", f"got {value!r}")
        if not _LEAST_TARGET <= value <= _MOST_TARGET:
            raise InputError(
                name, f"must lie between {_LEAST_TARGET:g} and {_MOST_TARGET:g}", f"got {value!r}"
            )
        if name.startswith("detect_") and value == 1:
            raise InputError(name, "must differ from 1, which is no error", f"got {value!r}")
        if name in ("accept_l2", "accept_ece", "accept_band") and value > 1:
            raise InputError(name, "must be at most 1", f"got {value!r}")
    if targets["oe_se"] is not None and targets["oe_width"] is not None:
        raise InputError(
            "oe_se", "must be given without `oe_width`, which follows from it", "got both"
        )
