"""Scikit-learn estimators that recalibrate scores, and their guarantees.

The names are loaded when first used: planning needs neither scikit-learn nor SciPy's statistics.
This is the only list of calibrators: the command line and saved maps find them here.
"""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
