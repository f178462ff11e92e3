"""Simulated data with known true probabilities.

Every generator returns a :class:`Simulated`: labels, scores, the true probability of each row, and the exact
calibration errors of the population. Compare ``tn.ece(d.y_true, d.y_prob)`` with ``d.true_ece()``.

- :func:`binary`: any distribution of scores (:class:`Beta`, :class:`Discrete`, an array, a quantile function), any
  distortion (:class:`Logit`, :class:`Power`, a function), any prevalence.
- :func:`multiclass`: Dirichlet scores, with a :class:`Temperature` or :class:`LabelNoise`.
- :func:`binned`: a score and a rate for each of finitely many bins. :func:`outcomes`: labels for your own scores.
- :func:`demo`: the demo data of the command line.
"""

from trueness.simulate._binary import Beta, Discrete, Logit, Power, binary, demo
from trueness.simulate._binned import binned, outcomes
from trueness.simulate._multiclass import LabelNoise, Temperature, multiclass
from trueness.simulate._simulated import Simulated

__all__ = [
    "Beta",
    "Discrete",
    "LabelNoise",
    "Logit",
    "Power",
    "Simulated",
    "Temperature",
    "binary",
    "binned",
    "demo",
    "multiclass",
    "outcomes",
]
