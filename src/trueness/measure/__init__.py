"""Measures of calibration: one number, table or curve from labels and scores, or from their sums."""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
