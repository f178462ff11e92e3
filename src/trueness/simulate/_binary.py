"""Binary outcomes with any distribution of scores, any distortion and any prevalence."""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from trueness._input.arguments import Seed, checked_number, checked_word, generator
from trueness._keywords import suggests_keywords
from trueness._numerics.quadrature import beta_breaks, beta_density, expit, logit
from trueness._numerics.roots import bracketed_root
from trueness.errors import InputError
from trueness.simulate._simulated import (
    Finite,
    Line,
    Simulated,
    check_array,
    check_rows,
    check_shares,
    draw_labels,
)
from trueness.typing import ArrayLike, Floats


@dataclass(frozen=True)
class Beta:
    """Beta-distributed scores.

    Parameters
    ----------
    a, b : float, default 1
        The shape parameters, above 0: Beta(1, 1) is uniform, Beta(12, 0.25) is concentrated near 1,
        Beta(0.3, 60) suits rare events. The mean is a / (a + b). True errors are accurate to 1e-9
        for shapes up to 1e6.
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        checked_number(self.a, "a", "a number above 0", low=0)
        checked_number(self.b, "b", "a number above 0", low=0)

    def __repr__(self) -> str:
        return f"Beta({self.a:g}, {self.b:g})"

    def _draw(self, n: int, rng: np.random.Generator, shift: float) -> Floats:
        # From two Gamma variables, in logarithms: a score that rounds to 1 could no longer be
        # shifted.
        return expit(_log_gammas(self.a, n, rng) - _log_gammas(self.b, n, rng) + shift)


def _log_gammas(shape: float, n: int, rng: np.random.Generator) -> Floats:
    """Logarithms of Gamma variables.

    Each is one of a shape larger by 1, times a power of a uniform variable.
    """
    return np.log(rng.standard_gamma(shape + 1, n)) + np.log1p(-rng.random(n)) / shape


@dataclass(frozen=True, eq=False)
class Discrete:
    """Scores with finitely many values.

    Parameters
    ----------
    values : array-like of shape (m,)
        The values, in [0, 1].
    weights : array-like of shape (m,), optional
        Relative frequencies, in any unit; equal by default.
    """

    values: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", check_array(self.values, "values"))
        check_shares(self.weights, self.values.size, "weights")

    @property
    def shares(self) -> Floats:
        """The weights, summing to one."""
        return check_shares(self.weights, self.values.size, "weights")

    def __repr__(self) -> str:
        return f"Discrete({self.values.size} values)"

    def _draw(self, n: int, rng: np.random.Generator, shift: float) -> Floats:
        return rng.choice(_move(self.values, shift), n, p=self.shares)


@dataclass(frozen=True)
class _Quantiles:
    """Scores given by their quantile function."""

    function: Callable[[Floats], Floats]

    def at(self, u: Floats) -> Floats:
        demand = (
            "as a function must map an array of numbers in [0, 1) to scores in [0, 1] of the same "
            "shape"
        )
        return _probabilities(self.function, u, "scores", demand)

    def __repr__(self) -> str:
        return "a function of uniform numbers"

    def _draw(self, n: int, rng: np.random.Generator, shift: float) -> Floats:
        return _move(self.at(rng.random(n)), shift)


def _probabilities(
    function: Callable[[Floats], Floats], points: Floats, name: str, demand: str
) -> Floats:
    """The values of a function of the caller's, checked to be probabilities but for rounding."""
    rates = np.asarray(function(points), dtype=np.float64)
    if rates.shape != points.shape:
        raise InputError(name, demand, f"for shape {points.shape} it returned {rates.shape}")
    outside = ~((rates >= -1e-12) & (rates <= 1 + 1e-12))
    if outside.any():
        raise InputError(
            name, demand, f"for {points[outside][0]:.6g} it returned {rates[outside][0]:.6g}"
        )
    return np.clip(rates, 0.0, 1.0)


def _move(z: Floats, shift: float) -> Floats:
    """The scores, shifted in log-odds."""
    if shift == 0:
        return z
    return expit(shift + logit(z))


Scores: TypeAlias = Beta | Discrete | Callable[[Floats], Floats] | ArrayLike
_Law: TypeAlias = Beta | Discrete | _Quantiles
Distortion: TypeAlias = Callable[
    [Floats], Floats
]  # a function from scores to true probabilities, for whole arrays


@dataclass(frozen=True)
class Logit:
    r"""Truth that is linear in the log-odds of the score.

    .. math:: P(Y = 1 \mid z) = \mathrm{expit}(\text{shift} + \text{slope} \cdot \mathrm{logit}\, z)

    Parameters
    ----------
    shift : float, default 0
        Below 0 the scores are too high, above 0 too low.
    slope : float, default 1
        Below 1 the scores are over-confident (too near 0 and 1), above 1 under-confident.

    Examples
    --------
    >>> float(Logit(slope=0)(np.array([0.9]))[0])
    0.5
    """

    shift: float = 0.0
    slope: float = 1.0

    def __post_init__(self) -> None:
        checked_number(self.shift, "shift")
        checked_number(self.slope, "slope")

    def __call__(self, z: Floats) -> Floats:
        return expit(self.log_odds(logit(z)))

    def log_odds(self, s: Floats) -> Floats:
        """Log-odds of the truth where those of the score are `s`."""
        if self.slope == 0:  # not 0 times an infinite logit
            return np.full(s.shape, float(self.shift))
        return self.shift + self.slope * s


@dataclass(frozen=True)
class Power:
    """Truth that is a power of the score.

    Parameters
    ----------
    exponent : float
        Above 1 the scores are too high, between 0 and 1 too low.

    Examples
    --------
    >>> float(Power(2)(np.array([0.5]))[0])
    0.25
    """

    exponent: float

    def __post_init__(self) -> None:
        checked_number(self.exponent, "exponent", "a number above 0", low=0)

    def __call__(self, z: Floats) -> Floats:
        return z**self.exponent


@dataclass(frozen=True)
class _Identity:
    def __call__(self, z: Floats) -> Floats:
        return z

    def log_odds(self, s: Floats) -> Floats:
        return s

    def __repr__(self) -> str:
        return "calibrated"


@dataclass(frozen=True)
class _Shifted:
    """A distortion shifted in log-odds."""

    inner: Distortion
    shift: float

    def __call__(self, z: Floats) -> Floats:
        return expit(self.shift + logit(self.inner(z)))

    def log_odds(self, s: Floats) -> Floats:
        return self.shift + _log_odds(self.inner, s)

    def __repr__(self) -> str:
        before = "" if isinstance(self.inner, _Identity) else f"{self.inner!r}, "
        return f"{before}truth shifted by {self.shift:.4g}"


@dataclass(frozen=True)
class _Checked:
    """A distortion whose values are checked to be probabilities."""

    inner: Distortion

    def __call__(self, z: Floats) -> Floats:
        return _probabilities(
            self.inner, z, "distortion", "must map [0, 1] into [0, 1], one truth per score"
        )

    def __repr__(self) -> str:
        return repr(self.inner) if is_dataclass(self.inner) else "a function as truth"


def _as_distortion(distortion: object) -> Distortion:
    """The distortion, checked to stay within [0, 1]; the identity for None."""
    if distortion is None:
        return _Identity()
    if isinstance(distortion, Logit):
        return distortion
    if not callable(distortion):
        demand = "must be None, Logit, Power or a function from scores to truths"
        raise InputError("distortion", demand, f"got {distortion!r}")
    careful = _Checked(distortion)
    careful(np.linspace(0, 1, 4097))
    return careful


def _log_odds(distortion: Distortion, s: Floats) -> Floats:
    """Log-odds of the truth where those of the score are `s`.

    Near 1 the score itself has too few digits.
    """
    stated: Callable[[Floats], Floats] = getattr(
        distortion, "log_odds", lambda s: logit(distortion(expit(s)))
    )
    return stated(s)


_UNIFORM = Beta()
# In log-odds; beyond these, scores hardly differ from 0 or 1.
_FAR = (
    10.0,
    20.0,
    40.0,
    80.0,
    300.0,
)


@suggests_keywords
def binary(
    n: int,
    *,
    scores: Scores = _UNIFORM,
    distortion: Distortion | None = None,
    prevalence: float | None = None,
    adjust: Literal["scores", "truth"] = "scores",
    seed: Seed = None,
) -> Simulated:
    """Binary outcomes whose probability is a known function of the score.

    Parameters
    ----------
    n : int
        Number of rows.
    scores : Beta, Discrete, array-like or callable, default Beta(1, 1)
        The distribution of the scores. An array is :class:`Discrete`: rows are drawn from it with
        replacement. A callable is the quantile function: it maps an array of uniform numbers in [0,
        1) to scores.
    distortion : Logit, Power or callable, optional
        The true probability as a function of the score, for whole arrays. By default the scores are
        calibrated.
    prevalence : float, optional
        P(Y = 1) in the population; by default, the result of scores and distortion.
    adjust : {'scores', 'truth'}, default 'scores'
        What to shift, by one constant in log-odds, to reach `prevalence`. Shifted scores keep their
        distortion, so calibrated scores stay calibrated; a shifted truth keeps the scores, which
        become too high or too low.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        `truth` is P(Y = 1 | score). True errors do not depend on `n`: they are sums for discrete
        scores, and otherwise integrals accurate to 1e-9.

    Notes
    -----
    Jumps and kinks are integrated correctly, but features of a callable narrower than about 1e-3
    may be missed, unless its attribute `kinks` is an array of the scores at which they begin and
    end.

    Examples
    --------
    Over-confident scores, and an event in one of a thousand rows.

    >>> from trueness import simulate
    >>> d = simulate.binary(100_000, distortion=simulate.Logit(slope=0.5), prevalence=0.001, seed=1)
    >>> round(float(d.truth.mean()), 4)
    0.001
    >>> d.y_prob.shape, d.y_true.dtype
    ((100000,), dtype('int64'))
    """
    n = check_rows(n)
    rng = generator(seed)
    has_law = isinstance(scores, Beta | Discrete)
    law: Any = scores
    if not has_law:
        law = _Quantiles(scores) if callable(scores) else Discrete(check_array(scores, "scores"))
    shift = 0.0
    truth = _as_distortion(distortion)
    checked_word(adjust, "adjust", ("scores", "truth"))
    if prevalence is not None:
        shift, truth = _solve_prevalence(prevalence, adjust, law, truth)
    z = law._draw(n, rng, shift)
    t = truth(z)
    name = f"{law!r}, {truth!r}" if shift == 0 else f"{law!r} shifted by {shift:.4g}, {truth!r}"
    return Simulated(draw_labels(t, rng), z, t, name, _population(law, shift, truth))


def _solve_prevalence(
    prevalence: float, adjust: str, law: _Law, truth: Distortion
) -> tuple[float, Distortion]:
    """A shift of the scores, or of the truth, with which the event has this prevalence."""
    wanted = checked_number(
        prevalence, "prevalence", "a number strictly between 0 and 1", low=0, high=1
    )

    def shifted(by: float) -> tuple[float, Distortion]:
        if adjust == "scores":
            return (by, truth)
        return (0.0, _Shifted(truth, by))

    def mean(by: float) -> float:
        return _population(law, *shifted(by)).mean_truth()

    def excess(by: float) -> float:
        # In log-odds, so that the prevalence of a rare event is as accurate as that of a common
        # one.
        return float(logit(np.clip(mean(by), 1e-300, 1 - 1e-16)) - logit(wanted))

    reach = next((far for far in _FAR if excess(-far) * excess(far) <= 0), None)
    root = None if reach is None else bracketed_root(excess, -reach, reach, xtol=1e-13)
    # A truth with jumps may skip the prevalence.
    if root is None or abs(excess(root)) > 1e-8:
        jumps = "" if root is None else ", and not skipped by a jump"
        reached = f"{mean(-_FAR[-1]):.4g} to {mean(_FAR[-1]):.4g}{jumps}"
        demand = f"must be in the range that shifting the {adjust} can reach, {reached}"
        other = "truth" if adjust == "scores" else "scores"
        remedy = f"Try `adjust={other!r}`."
        raise InputError("prevalence", demand, f"got {wanted:g}", remedy=remedy)
    return shifted(root)


def _population(law: _Law, shift: float, truth: Distortion) -> "Finite | _Continuous":
    if isinstance(law, Discrete):
        values = _move(law.values, shift)
        return Finite(values, truth(values), law.shares)
    return _Continuous(law, shift, truth)


@dataclass(frozen=True, eq=False)
class _Continuous(Line):
    """Scores with a density, on the scale of their log-odds before the shift."""

    law: Beta | _Quantiles
    shift: float
    distortion: Distortion

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of a Beta variable; the quantile function takes a uniform one."""
        return beta_density(s, *self._shapes())

    def breaks(self) -> Floats:
        """Where an integral over the scores is split, so that each piece is smooth.

        They are 63 points of even steps, moved by the shift too, and the kinks of the distortion.
        """
        even = logit(np.arange(1, 64) / 64)
        function = self.distortion
        while isinstance(function, _Shifted | _Checked):
            function = function.inner
        inner = getattr(function, "kinks", np.array([]))
        inner = logit(inner[(inner > 0) & (inner < 1)])
        return beta_breaks(
            *self._shapes(), np.concatenate([even, even - self.shift, inner - self.shift])
        )

    def score(self, s: Floats) -> Floats:
        if isinstance(self.law, Beta):
            return expit(s + self.shift)
        return _move(self.law.at(np.minimum(expit(s), np.nextafter(1.0, 0.0))), self.shift)

    def truth(self, s: Floats) -> Floats:
        z = self.score(s)
        if isinstance(self.law, _Quantiles) or not hasattr(self.distortion, "log_odds"):
            return self.distortion(z)
        # Scores that round to 0 or 1 are 0 or 1 in the sample too.
        ends = np.where(z < 0.5, -np.inf, np.inf)
        return expit(_log_odds(self.distortion, np.where((z > 0) & (z < 1), s + self.shift, ends)))

    def _shapes(self) -> tuple[float, float]:
        if isinstance(self.law, Beta):
            return (self.law.a, self.law.b)
        return (1.0, 1.0)


@suggests_keywords
def demo(n: int = 10_000, *, seed: Seed = 0) -> Simulated:
    """The demo data of the command line: an overconfident model, and the same model recalibrated.

    One row in five is an event. High scores are too high and the lowest too low: the true log-odds
    are 0.6 times those of the score, shifted to that prevalence. The l1 error is 0.05.

    Parameters
    ----------
    n : int, default 10,000
        Number of rows.
    seed : int or numpy.random.Generator, default 0
        By default the rows are always the same.

    Returns
    -------
    Simulated
        ``columns["recalibrated"]`` holds better scores: a fixed map of `y_prob`, as Platt scaling
        on a few thousand other rows would find it. It keeps the order of the scores and is off by
        0.004 on average.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.demo()
    >>> round(float(d.y_true.mean()), 2), round(d.true_ece(), 3)
    (0.2, 0.051)
    >>> float(abs(d.truth - d.columns["recalibrated"]).mean().round(3))
    0.004
    """
    d = binary(
        n,
        scores=Beta(0.7, 2.6),
        distortion=Logit(slope=0.6),
        prevalence=0.2,
        adjust="truth",
        seed=seed,
    )
    columns = {"recalibrated": Logit(shift=-0.47, slope=0.63)(d.y_prob)}
    return replace(
        d, name="demo: an overconfident model", columns=columns, score_name="overconfident"
    )
