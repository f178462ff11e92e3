"""Statements with a probability: prediction intervals, quantiles, risks, shares, preferences.

Each function returns :class:`Events`, which stand in place of labels and scores in `assess`,
`verdict`, `report`, `estimate` and every other function of rows.
"""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
