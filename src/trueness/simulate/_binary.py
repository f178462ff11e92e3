"""Binary outcomes: any law of scores, any distortion of the truth, any prevalence."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueness.errors import InputError
from trueness.simulate._arguments import Seed, check_choice, check_count, check_number, generator
from trueness.simulate._distortions import Distortion, checked, kinks, log_odds, shifted
from trueness.simulate._population import Finite, Line
from trueness.simulate._scores import Beta, Discrete, Law, Quantiles, Scores, law_of
from trueness.simulate._simulated import Simulated, categories
from trueness.typing import Floats

__all__ = ["binary"]

_UNIFORM = Beta()
_FAR = (10.0, 20.0, 40.0, 80.0, 300.0)  # in log-odds; hardly a score moved so far is told from 0 or 1


def binary(
    n: int,
    *,
    scores: Scores = _UNIFORM,
    distortion: Distortion | None = None,
    prevalence: float | None = None,
    adjust: Literal["scores", "truth"] = "scores",
    seed: Seed = None,
) -> Simulated:
    """
    Binary outcomes whose probability is a known function of the score.

    Parameters
    ----------
    n : int
        How many rows to draw.
    scores : Beta, Discrete, array-like or callable, default Beta(1, 1)
        The law of the scores. An array stands for :class:`Discrete`: rows are drawn from it with
        replacement. A callable is the quantile function: it turns an array of uniform numbers in
        [0, 1) into scores.
    distortion : Logit, Power, Bump, Oscillation, Steps or callable, optional
        The truth as a function of the score, for whole arrays. Without it the scores are calibrated.
    prevalence : float, optional
        P(Y = 1) that the population shall have; without it, what scores and distortion give.
    adjust : {'scores', 'truth'}, default 'scores'
        What is moved, by one amount for all rows and in log-odds, to reach `prevalence`. Moved scores
        keep their distortion (calibrated scores stay calibrated); a moved truth keeps the scores and
        makes them too high or too low.
    seed : int or numpy.random.Generator, optional
        Where the randomness comes from. The same seed gives the same bytes.

    Returns
    -------
    Simulated
        `truth` is P(Y = 1 | score). The true errors are sums for discrete scores and otherwise
        quadratures accurate to 1e-9, the same whatever `n` is.

    Notes
    -----
    A function that jumps or bends is integrated correctly wherever it does so, but a feature narrower
    than about 1e-3 of the line may be missed if the function is the caller's own; the named
    distortions say where their features are.

    Examples
    --------
    Over-confident scores, and an event that comes once in a thousand rows.

    >>> from trueness import simulate
    >>> d = simulate.binary(100_000, distortion=simulate.Logit(slope=0.5), prevalence=0.001, seed=1)
    >>> round(float(d.truth.mean()), 4)
    0.001
    >>> d.y_prob.shape, d.y_true.dtype
    ((100000,), dtype('int64'))
    """
    n = check_count(n, "n")
    rng = generator(seed)
    law, truth = law_of(scores), checked(distortion)
    check_choice(adjust, "adjust", ("scores", "truth"))
    if prevalence is not None:
        law, truth = _reach(prevalence, adjust, law, truth)
    z = law.draw(n, rng)
    t = truth(z)
    return Simulated(categories(t, rng), z, t, f"{law!r}, {truth!r}", _population(law, truth))


def _reach(prevalence: float, adjust: str, law: Law, truth: Distortion) -> tuple[Law, Distortion]:
    """Scores or truth moved so far that the event has this prevalence."""
    from trueness._numerics.quadrature import logit, root

    wanted = check_number(prevalence, "prevalence", "a number strictly between 0 and 1", low=0, high=1)

    def pair(shift: float) -> tuple[Law, Distortion]:
        return (law.moved(shift), truth) if adjust == "scores" else (law, shifted(truth, shift))

    def excess(shift: float) -> float:
        # In log-odds, so that a rare event is met as closely as a common one.
        mean = np.clip(_mean_truth(*pair(shift)), 1e-300, 1 - 1e-16)
        return float(logit(mean) - logit(wanted))

    found = next((s for far in _FAR if (s := root(excess, -far, far)) is not None), None)
    # A truth that jumps may pass the prevalence without taking its value.
    if found is None or abs(excess(found)) > 1e-8:
        low, high = (_mean_truth(*pair(shift)) for shift in (-_FAR[-1], _FAR[-1]))
        jumps = "" if found is None else ", and not one it jumps over"
        other = "truth" if adjust == "scores" else "scores"
        raise InputError(
            "prevalence",
            f"must be one that moving the {adjust} can reach, from {low:.4g} to {high:.4g}{jumps}",
            f"got {wanted:g}",
            remedy=f"Try `adjust={other!r}`.",
        )
    return pair(found)


def _mean_truth(law: Law, truth: Distortion) -> float:
    population = _population(law, truth)
    if isinstance(population, Finite):
        return float(population.weight @ population.truths)
    return population.mean_truth()


def _population(law: Law, truth: Distortion) -> "Finite | Continuous":
    if isinstance(law.base, Discrete):
        values = law.move(law.base.values)
        return Finite(values, truth(values), law.base.shares)
    return Continuous(law.base, law, truth)


@dataclass(frozen=True, eq=False)
class Continuous(Line):
    """Scores with a density, on the line of their log-odds before they were moved."""

    base: Beta | Quantiles
    law: Law
    distortion: Distortion

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of a Beta variable; a uniform one drives the quantile function."""
        from trueness._numerics.quadrature import beta_density

        return beta_density(s, *self._shapes())

    def breaks(self) -> Floats:
        """Panels of the density, cut where the truth bends and at 63 even scores."""
        from trueness._numerics.quadrature import beta_breaks, logit

        even = logit(np.arange(1, 64) / 64)
        inner = kinks(self.distortion)
        inner = logit(inner[(inner > 0) & (inner < 1)])
        extra = np.concatenate([even, even - self.law.shift, inner - self.law.shift])
        return beta_breaks(*self._shapes(), extra)

    def score(self, s: Floats) -> Floats:
        """Score at `s`."""
        from trueness._numerics.quadrature import expit

        if isinstance(self.base, Beta):
            z: Floats = expit(s + self.law.shift)
            return z
        return self.law.move(self.base.at(np.minimum(expit(s), np.nextafter(1.0, 0.0))))

    def truth(self, s: Floats) -> Floats:
        """Truth at `s`."""
        from trueness._numerics.quadrature import expit

        z = self.score(s)
        if isinstance(self.base, Quantiles) or not hasattr(self.distortion, "log_odds"):
            return self.distortion(z)
        # Scores that round to 0 or 1 are drawn as 0 or 1.
        ends = np.where(z < 0.5, -np.inf, np.inf)
        t: Floats = expit(log_odds(self.distortion, np.where((z > 0) & (z < 1), s + self.law.shift, ends)))
        return t

    def _shapes(self) -> tuple[float, float]:
        return (self.base.a, self.base.b) if isinstance(self.base, Beta) else (1.0, 1.0)
