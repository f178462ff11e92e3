"""
Data whose truth is known.

Every generator returns a :class:`Simulated`: labels, scores, the probability that was true in each row, and
the calibration errors of the population, without bins and without chance. The scores go straight to a
measure: ``tn.ece(d.y_true, d.y_prob)`` against ``d.true_ece()``.

- :func:`binary`: any law of scores (:class:`Beta`, :class:`Discrete`, an array, a quantile function), any
  distortion of the truth (:class:`Logit`, :class:`Power`, :class:`Bump`, :class:`Oscillation`, :class:`Steps`,
  a function), any prevalence.
- :func:`multiclass`: Dirichlet scores, with a :class:`Temperature` or :class:`LabelNoise`.
- :func:`binned`: a score and a rate for each of finitely many bins. :func:`outcomes`: labels for scores you have.
- :func:`demo`: what the command line shows.
"""

from trueness.simulate._binary import binary
from trueness.simulate._confusions import LabelNoise, Temperature
from trueness.simulate._demo import demo
from trueness.simulate._distortions import Bump, Logit, Oscillation, Power, Steps
from trueness.simulate._finite import binned, outcomes
from trueness.simulate._multiclass import multiclass
from trueness.simulate._population import TrueError
from trueness.simulate._scores import Beta, Discrete
from trueness.simulate._simulated import Simulated

__all__ = [
    "Beta",
    "Bump",
    "Discrete",
    "LabelNoise",
    "Logit",
    "Oscillation",
    "Power",
    "Simulated",
    "Steps",
    "Temperature",
    "TrueError",
    "binary",
    "binned",
    "demo",
    "multiclass",
    "outcomes",
]
