"""Simulated data with known true probabilities.

Every generator returns a :class:`Simulated`: labels, scores, the true probability of each row, and
the exact calibration errors of the population. Compare ``tn.ece(d.y_true, d.y_prob)`` with
``d.true_ece()``.

- :func:`binary`: any distribution of scores (:class:`Beta`, :class:`Discrete`, an array, a quantile
  function), any distortion (:class:`Logit`, :class:`Power`, a function), any prevalence.
- :func:`multiclass`: Dirichlet scores, with a :class:`Temperature` or :class:`LabelNoise`.
- :func:`binned`: a score and a rate for each of finitely many bins. :func:`outcomes`: labels for
  your own scores.
- :func:`demo`: the demo data of the command line.
"""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
