"""The data that the command line shows without being given any."""

from dataclasses import replace

from trueness.simulate._arguments import Seed
from trueness.simulate._binary import binary
from trueness.simulate._distortions import Logit
from trueness.simulate._scores import Beta
from trueness.simulate._simulated import Simulated

__all__ = ["demo"]

_SCORES = Beta(0.7, 2.6)
_TRUTH = Logit(slope=0.6)
_RECALIBRATED = Logit(shift=-0.47, slope=0.63)
_PREVALENCE = 0.2


def demo(n: int = 10_000, *, seed: Seed = 0) -> Simulated:
    """
    A model that is too sure of itself, and the same model recalibrated.

    One row in five is an event. High scores are too high and the lowest too low: the true log-odds are
    0.6 times those of the score, moved so that the prevalence comes out. The l1 error is 0.05.

    Parameters
    ----------
    n : int, default 10,000
        How many rows to draw.
    seed : int or numpy.random.Generator, default 0
        Where the randomness comes from; without it the rows are always the same.

    Returns
    -------
    Simulated
        ``columns["recalibrated"]`` holds better scores: one fixed map of `y_prob` that Platt scaling on a few
        thousand other rows could have found. It keeps the order of the scores and is off by 0.004 on average.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.demo()
    >>> round(float(d.y_true.mean()), 2), round(d.true_ece(), 3)
    (0.2, 0.051)
    >>> float(abs(d.truth - d.columns["recalibrated"]).mean().round(3))
    0.004
    """
    d = binary(n, scores=_SCORES, distortion=_TRUTH, prevalence=_PREVALENCE, adjust="truth", seed=seed)
    return replace(d, name="demo: an over-confident model", columns={"recalibrated": _RECALIBRATED(d.y_prob)})
