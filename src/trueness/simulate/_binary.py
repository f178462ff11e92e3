"""Binary outcomes with any distribution of scores, any distortion and any prevalence."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._numerics.quadrature import beta_breaks, beta_density, expit, logit, root
from trueness.errors import InputError
from trueness.simulate._arguments import (
    Seed,
    check_array,
    check_choice,
    check_count,
    check_number,
    check_shares,
    generator,
)
from trueness.simulate._distortions import Distortion, Logit, Shifted, as_distortion, kinks, log_odds
from trueness.simulate._population import Finite, Line
from trueness.simulate._simulated import Simulated, draw_labels
from trueness.typing import ArrayLike, Floats


@dataclass(frozen=True)
class Beta:
    """Beta-distributed scores.

    Parameters
    ----------
    a, b : float, default 1
        The shape parameters, above 0: Beta(1, 1) is uniform, Beta(12, 0.25) is concentrated near 1, Beta(0.3, 60)
        suits rare events. The mean is a / (a + b). True errors are accurate to 1e-9 for shapes up to 1e6.
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.a, "a", "a number above 0", low=0)
        check_number(self.b, "b", "a number above 0", low=0)

    def __repr__(self) -> str:
        return f"Beta({self.a:g}, {self.b:g})"


@dataclass(frozen=True)
class Quantiles:
    """Scores given by their quantile function."""

    function: Callable[[Floats], Floats]

    def at(self, u: Floats) -> Floats:
        """The scores at `u`, checked to be probabilities."""
        z = np.asarray(self.function(u), dtype=np.float64)
        demand = "as a function must map an array of numbers in [0, 1) to scores in [0, 1] of the same shape"
        if z.shape != u.shape:
            raise InputError("scores", demand, f"for shape {u.shape} it returned {z.shape}")
        outside = ~((z >= 0) & (z <= 1))
        if outside.any():
            at = int(outside.argmax())
            raise InputError("scores", demand, f"for {u[at]:.6g} it returned {z[at]:.6g}")
        return z

    def __repr__(self) -> str:
        return "a function of uniform numbers"


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
        values = check_array(self.values, "values")
        check_shares(self.weights, values.size, "weights")
        object.__setattr__(self, "values", values)

    @property
    def shares(self) -> Floats:
        """The weights, summing to one."""
        return check_shares(self.weights, self.values.size, "weights")

    def __repr__(self) -> str:
        return f"Discrete({self.values.size} values)"


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution of scores, shifted by `shift` in log-odds."""

    base: Beta | Quantiles | Discrete
    shift: float = 0.0

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Scores of `n` rows."""
        if isinstance(self.base, Beta):
            return self._draw_beta(self.base, n, rng)
        if isinstance(self.base, Quantiles):
            return self.move(self.base.at(rng.random(n)))
        return rng.choice(self.move(self.base.values), n, p=self.base.shares)

    def _draw_beta(self, base: Beta, n: int, rng: np.random.Generator) -> Floats:
        """From two Gamma variables, in logarithms: a score that rounds to 1 could no longer be shifted."""
        s = _log_gammas(base.a, n, rng) - _log_gammas(base.b, n, rng)
        return expit(s + self.shift)

    def move(self, z: Floats) -> Floats:
        """The scores, shifted."""
        if self.shift == 0:
            return z
        return expit(self.shift + logit(z))

    def __repr__(self) -> str:
        return repr(self.base) if self.shift == 0 else f"{self.base!r} shifted by {self.shift:.4g}"


def _log_gammas(shape: float, n: int, rng: np.random.Generator) -> Floats:
    """Logarithms of Gamma variables: one of a shape larger by 1, times a power of a uniform variable."""
    return np.log(rng.standard_gamma(shape + 1, n)) + np.log1p(-rng.random(n)) / shape


Scores: TypeAlias = Beta | Discrete | Callable[[Floats], Floats] | ArrayLike


def as_law(scores: Any) -> Law:
    """The distribution that the argument `scores` stands for."""
    if isinstance(scores, Beta | Discrete):
        return Law(scores)
    if callable(scores):
        return Law(Quantiles(scores))
    return Law(Discrete(check_array(scores, "scores")))


_UNIFORM = Beta()
_FAR = (10.0, 20.0, 40.0, 80.0, 300.0)  # in log-odds; beyond these, scores hardly differ from 0 or 1


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
        The distribution of the scores. An array is :class:`Discrete`: rows are drawn from it with replacement. A
        callable is the quantile function: it maps an array of uniform numbers in [0, 1) to scores.
    distortion : Logit, Power, Bump, Oscillation, Steps or callable, optional
        The true probability as a function of the score, for whole arrays. By default the scores are calibrated.
    prevalence : float, optional
        P(Y = 1) in the population; by default, the result of scores and distortion.
    adjust : {'scores', 'truth'}, default 'scores'
        What to shift, by one constant in log-odds, to reach `prevalence`. Shifted scores keep their distortion, so
        calibrated scores stay calibrated; a shifted truth keeps the scores, which become too high or too low.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        `truth` is P(Y = 1 | score). True errors do not depend on `n`: they are sums for discrete scores, and otherwise
        integrals accurate to 1e-9.

    Notes
    -----
    Jumps and kinks are integrated correctly, but in a callable of your own, features narrower than about 1e-3 may be
    missed; the named distortions declare theirs.

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
    n = check_count(n, "n")
    rng = generator(seed)
    law, truth = as_law(scores), as_distortion(distortion)
    check_choice(adjust, "adjust", ("scores", "truth"))
    if prevalence is not None:
        law, truth = _solve_prevalence(prevalence, adjust, law, truth)
    z = law.draw(n, rng)
    t = truth(z)
    return Simulated(draw_labels(t, rng), z, t, f"{law!r}, {truth!r}", _population(law, truth))


def _solve_prevalence(prevalence: float, adjust: str, law: Law, truth: Distortion) -> tuple[Law, Distortion]:
    """Scores or truth shifted so that the event has this prevalence."""
    wanted = check_number(prevalence, "prevalence", "a number strictly between 0 and 1", low=0, high=1)

    def pair(shift: float) -> tuple[Law, Distortion]:
        return (replace(law, shift=shift), truth) if adjust == "scores" else (law, Shifted(truth, shift))

    def excess(shift: float) -> float:
        # In log-odds, so that the prevalence of a rare event is as accurate as that of a common one.
        mean = np.clip(_mean_truth(*pair(shift)), 1e-300, 1 - 1e-16)
        return float(logit(mean) - logit(wanted))

    found = next((s for far in _FAR if (s := root(excess, -far, far)) is not None), None)
    # A truth with jumps may skip the prevalence.
    if found is None or abs(excess(found)) > 1e-8:
        low, high = (_mean_truth(*pair(shift)) for shift in (-_FAR[-1], _FAR[-1]))
        jumps = "" if found is None else ", and not skipped by a jump"
        other = "truth" if adjust == "scores" else "scores"
        raise InputError(
            "prevalence",
            f"must be in the range that shifting the {adjust} can reach, {low:.4g} to {high:.4g}{jumps}",
            f"got {wanted:g}",
            remedy=f"Try `adjust={other!r}`.",
        )
    return pair(found)


def _mean_truth(law: Law, truth: Distortion) -> float:
    population = _population(law, truth)
    if isinstance(population, Finite):
        return float(population.weight @ population.truths)
    return population.mean_truth()


def _population(law: Law, truth: Distortion) -> "Finite | _Continuous":
    if isinstance(law.base, Discrete):
        values = law.move(law.base.values)
        return Finite(values, truth(values), law.base.shares)
    return _Continuous(law.base, law, truth)


@dataclass(frozen=True, eq=False)
class _Continuous(Line):
    """Scores with a density, on the scale of their log-odds before the shift."""

    base: Beta | Quantiles
    law: Law
    distortion: Distortion

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of a Beta variable; the quantile function takes a uniform one."""
        return beta_density(s, *self._shapes())

    def breaks(self) -> Floats:
        even = logit(np.arange(1, 64) / 64)
        inner = kinks(self.distortion)
        inner = logit(inner[(inner > 0) & (inner < 1)])
        extra = np.concatenate([even, even - self.law.shift, inner - self.law.shift])
        return beta_breaks(*self._shapes(), extra)

    def score(self, s: Floats) -> Floats:
        if isinstance(self.base, Beta):
            return expit(s + self.law.shift)
        return self.law.move(self.base.at(np.minimum(expit(s), np.nextafter(1.0, 0.0))))

    def truth(self, s: Floats) -> Floats:
        z = self.score(s)
        if isinstance(self.base, Quantiles) or not hasattr(self.distortion, "log_odds"):
            return self.distortion(z)
        # Scores that round to 0 or 1 are 0 or 1 in the sample too.
        ends = np.where(z < 0.5, -np.inf, np.inf)
        return expit(log_odds(self.distortion, np.where((z > 0) & (z < 1), s + self.law.shift, ends)))

    def _shapes(self) -> tuple[float, float]:
        return (self.base.a, self.base.b) if isinstance(self.base, Beta) else (1.0, 1.0)


@suggests_keywords
def demo(n: int = 10_000, *, seed: Seed = 0) -> Simulated:
    """The demo data of the command line: an overconfident model, and the same model recalibrated.

    One row in five is an event. High scores are too high and the lowest too low: the true log-odds are 0.6 times those
    of the score, shifted to that prevalence. The l1 error is 0.05.

    Parameters
    ----------
    n : int, default 10,000
        Number of rows.
    seed : int or numpy.random.Generator, default 0
        By default the rows are always the same.

    Returns
    -------
    Simulated
        ``columns["recalibrated"]`` holds better scores: a fixed map of `y_prob`, as Platt scaling on a few thousand
        other rows would find it. It keeps the order of the scores and is off by 0.004 on average.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.demo()
    >>> round(float(d.y_true.mean()), 2), round(d.true_ece(), 3)
    (0.2, 0.051)
    >>> float(abs(d.truth - d.columns["recalibrated"]).mean().round(3))
    0.004
    """
    d = binary(n, scores=Beta(0.7, 2.6), distortion=Logit(slope=0.6), prevalence=0.2, adjust="truth", seed=seed)
    recalibrated = Logit(shift=-0.47, slope=0.63)(d.y_prob)
    return replace(
        d, name="demo: an overconfident model", columns={"recalibrated": recalibrated}, score_name="overconfident"
    )
